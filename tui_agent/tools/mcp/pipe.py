"""A server that is a program: started in a session of its own, spoken to in lines of JSON over its input and output.

What it writes to its standard error goes to a file, up to a limit. It is ended with all its children: its input is
closed, then it gets SIGTERM and SIGKILL. If this program is killed, the end of its input tells the server.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tui_agent import paths
from tui_agent.literal import one_line
from tui_agent.process.job import ProcessError, spawn
from tui_agent.process.session import POLL_SECONDS, Ending, members, over
from tui_agent.settings import secrets
from tui_agent.tools.mcp.loop import ENDING

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from tui_agent.tools.mcp.config import Spec

LINE_BYTES = 16_000_000
"""A longer answer is refused."""
LOG_BYTES = 1_000_000
"""Of what a server writes to its standard error, from its start."""
GRACE_SECONDS = 1.0
"""How long a server may take to end once its input is closed."""

_LAST_LINES = 3
_INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""Variables that a server gets beside its own: no key that is meant for this program."""


class Pipe:
    """The connection to one program; a transport as the `mcp` package takes it. `fault` says why it is lost."""

    def __init__(self, spec: Spec, log: Path) -> None:
        self.fault = ""
        self._spec = spec
        self._log = _Log(log)
        self._process: subprocess.Popen[bytes] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._ends: list[asyncio.BaseTransport] = []

    async def __aenter__(self) -> TransportStreams:
        """Start it.

        Raises:
            ProcessError: it cannot be started.
        """
        # a thread goes on when nobody waits for it any more, and what it starts has to be ended all the same
        starting = asyncio.create_task(asyncio.to_thread(self._start), name=ENDING)
        try:
            return await self._connected(await asyncio.shield(starting))
        except BaseException:
            await asyncio.shield(asyncio.create_task(self._abandoned(starting), name=ENDING))
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        spec = self._spec
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return spawn(
            [spec.command, *spec.args],
            cwd=spec.cwd,
            env={**inherited, **spec.env},
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE,
        )

    async def _connected(self, process: subprocess.Popen[bytes]) -> TransportStreams:
        import anyio
        from mcp.shared.message import SessionMessage

        self._process = process
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=LINE_BYTES, loop=loop)
        output, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
        errors, _ = await loop.connect_read_pipe(lambda: self._log, process.stderr)
        entry, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self._ends = [entry, output, errors]
        heard, inward = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outward, said = anyio.create_memory_object_stream[SessionMessage](0)
        self._tasks = [
            asyncio.create_task(self._read(reader, heard)),
            asyncio.create_task(self._write(said, entry)),
        ]
        return inward, outward

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it with all its children."""
        await self._silenced()
        await asyncio.shield(asyncio.create_task(self._end(), name=ENDING))

    async def _abandoned(self, starting: asyncio.Task[subprocess.Popen[bytes]]) -> None:
        with suppress(ProcessError):
            self._process = await starting
        await self._silenced()
        await self._end()

    async def _silenced(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def last_words(self) -> str:
        """What it wrote to its standard error last, on one line."""
        return one_line(" ".join(self._log.last).strip(), 300)

    async def _read(self, reader: asyncio.StreamReader, heard: Any) -> None:
        async with heard:
            while not self.fault:
                try:
                    line = await reader.readline()
                except ValueError:
                    self.fault = f"it sent an answer of more than {LINE_BYTES // 1_000_000} MB"
                    return
                if not line.endswith(b"\n"):
                    self.fault = await self._how_it_ended()
                    return
                if (message := self._message(line)) is not None:
                    await heard.send(message)

    def _message(self, line: bytes) -> Any:
        """A line as a message; None for one that is none. What was meant to be one and is not ends the connection."""
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            text = line.decode("utf-8", "replace")
            if text.lstrip().startswith("{"):
                self.fault = f"it sent what is no JSON-RPC: {one_line(text.strip(), 200)}"
            elif text.strip():
                self._log.data_received(line)  # many servers print where they should not
            return None

    async def _write(self, said: Any, entry: asyncio.WriteTransport) -> None:
        async with said:
            async for message in said:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                entry.write(text.encode() + b"\n")

    async def _how_it_ended(self) -> str:
        assert self._process is not None
        await _ended(self._process)
        code = self._process.returncode
        how = "it closed its output" if code is None else f"it ended with exit code {code}"
        if code is not None and code < 0:
            how = f"it was ended by signal {-code}"
        return f"{how}: {self.last_words}" if self.last_words else how

    async def _end(self) -> None:
        process = self._process
        if process is None:
            return
        if self._ends:
            self._ends[0].close()
        elif process.stdin is not None:
            process.stdin.close()
        await _ended(process)
        if members(process.pid):
            ending = Ending(process.pid, time.monotonic())
            while not ending.over(time.monotonic(), hard=False):
                process.poll()
                await asyncio.sleep(POLL_SECONDS)
        over(process.pid)
        process.poll()
        for end in self._ends:
            end.close()
        self._log.close()


async def _ended(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a program, but not long."""
    until = time.monotonic() + GRACE_SECONDS
    while process.poll() is None and time.monotonic() < until:  # noqa: ASYNC110 - nothing tells of it here
        await asyncio.sleep(POLL_SECONDS)


class _Log(asyncio.Protocol):
    """A file that keeps what a server says beside its answers, without credentials; opened when there is something."""

    def __init__(self, path: Path) -> None:
        self.last: deque[str] = deque(maxlen=_LAST_LINES)
        self._path = path
        self._room = LOG_BYTES
        self._begun = False
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        """Keep whole lines; a line without an end is cut where it gets too long."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LOG_BYTES:
            lines, self._rest = [*lines, self._rest[:LOG_BYTES]], b""
        if lines:
            self._keep(lines)

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        """Keep what is left."""
        if self._rest:
            self._keep([self._rest])
            self._rest = b""

    def _keep(self, lines: list[bytes]) -> None:
        text = secrets.redact("\n".join(line.decode("utf-8", "replace") for line in lines)) + "\n"
        self.last.extend(line for line in text.splitlines()[-_LAST_LINES:] if line.strip())
        data = text.encode("utf-8", "replace")[: self._room]
        self._room -= len(data)
        if not data:
            return
        try:
            if self._begun:
                with self._path.open("ab") as file:
                    file.write(data)
            else:
                paths.write_private(self._path, data)
        except OSError:
            self._room = 0  # nobody reads it before something fails
        self._begun = True
