"""Commands that a person runs themselves (`!git status`): no model is asked, what they print goes into the context.

A command runs at once, also while the model works; its record is written between two steps, because nothing may stand
between a call and its result. A checkpoint before it makes it a place to go back to.

Before it starts it stands in a file beside the log (running.json), until its record is written: if the program is
killed meanwhile, the next one that opens the session writes a record that says so. The command itself may go on then:
nothing that the system offers ends the children of a program, and theirs, in step with it.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent import paths
from tui_agent.commands import CommandError
from tui_agent.context.records import ulid
from tui_agent.events import OWN_COMMAND, Emit, ToolEnded, ToolProgress, ToolStarted
from tui_agent.messages.blocks import text_block
from tui_agent.tools.tool import Output, ToolError

if TYPE_CHECKING:
    from tui_agent.agent.calls import Calls, Outcome
    from tui_agent.agent.parts import Parts
    from tui_agent.context import Context
    from tui_agent.tools.tool import Tool

ORIGIN = "command"
"""The origin of the record: neither a person's words nor a result that a model asked for."""
_CUT_OFF = "[cut off: the program stopped while this ran. What it printed is lost, and it may have gone on.]"


class Noted(msgspec.Struct, frozen=True):
    """A command that runs, as it stands on disk."""

    run: str
    command: str


def told(command: str, output: str) -> str:
    """The record's text for the model."""
    return f"[The person ran this command themselves, for your information; it asks nothing.]\n$ {command}\n{output}"


class Errand:
    """Runs a person's commands, one after another. `prepare` writes what a new log needs first, `note` is the file that
    says what runs.
    """

    def __init__(
        self,
        *,
        context: Context,
        tool: Tool,
        calls: Calls,
        emit: Emit,
        gate: asyncio.Lock,
        prepare: Callable[[], Awaitable[None]],
        redact: Callable[[str], str],
        note: Path,
    ) -> None:
        self._context = context
        self._tool = tool
        self._calls = calls
        self._emit = emit
        self._gate = gate
        self._prepare = prepare
        self._redact = redact
        self._note = note
        self._ours = ""
        """The id of the command that runs here, or whose record waits."""
        self._order = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._running: asyncio.Task[Output] | None = None
        self._whole: set[asyncio.Task[None]] = set()

    @classmethod
    def of(cls, parts: Parts, gate: asyncio.Lock, prepare: Callable[[], Awaitable[None]]) -> Errand | None:
        """The errands of a session; None without a shell."""
        shell = parts.toolbox.find("bash")
        if shell is None:
            return None
        return cls(
            context=parts.context,
            tool=shell,
            calls=parts.calls,
            emit=parts.bus.emit,
            gate=gate,
            prepare=prepare,
            redact=parts.redact,
            note=parts.folder.running_path,
        )

    @property
    def busy(self) -> bool:
        """True while a command runs or its record waits to be written."""
        return bool(self._whole)

    async def run(self, command: str) -> None:
        """Run a command and put what it printed into the context.

        Raises:
            CommandError: it was not started, because it could not be noted on disk.
            ContextError: its record could not be written.
        """
        task = asyncio.create_task(self._do(command), name="errand")
        self._whole.add(task)
        task.add_done_callback(self._whole.discard)
        # whoever waits may go away; the command and its record are seen through, or stopped by `stop`
        await asyncio.shield(task)

    async def stop(self) -> bool:
        """Stop what runs and wait until its record is written; False if nothing runs."""
        whole = tuple(self._whole)
        if self._running is not None:
            self._running.cancel()
        await asyncio.gather(*whole, return_exceptions=True)
        return bool(whole)

    async def _do(self, command: str) -> None:
        async with self._order:
            call, title = f"own{next(self._numbers)}", self._redact(" ".join(command.split()))
            await self._begin(command)
            started = time.monotonic()
            self._emit(ToolStarted(call, OWN_COMMAND, title, {"command": command}))
            output, outcome = await self._output(call, command)
            seconds = time.monotonic() - started
            text, size = await self._calls.capped(str(output.content))
            meta = {**output.meta, "title": title, "outcome": outcome, "summary": output.summary}
            record = await self._store(command, text, {**meta, "ms": round(seconds * 1000)})
            self._emit(
                ToolEnded(
                    call, OWN_COMMAND, title, outcome, output.summary, text, size, seconds, record=record
                )
            )

    async def _output(self, call: str, command: str) -> tuple[Output, Outcome]:
        shown, printed = self._calls.redacting(), list[str]()

        def show(visible: str) -> None:
            if visible:
                printed.append(visible)
                self._emit(ToolProgress(call, visible))

        def progress(text: str) -> None:
            show(shown.feed(text))

        longest = self._tool.schema["properties"]["timeout"]["maximum"]
        arguments = {"command": command, "timeout": longest}
        self._running = asyncio.create_task(self._tool.call(arguments, progress), name="own command")
        try:
            output = await self._running
        except asyncio.CancelledError:
            show(shown.finish())
            return Output(
                "".join([*printed, "\n[stopped by the person]"]).strip(), "stopped", error=True
            ), "cancelled"
        except ToolError as error:
            return Output(str(error), "not run", error=True), "error"
        finally:
            self._running = None
        show(shown.finish())
        return output, "error" if output.error else "ok"

    async def _begin(self, command: str) -> None:
        """Note on disk what is about to run."""
        self._ours = ulid()
        noted = msgspec.json.encode(Noted(self._ours, self._redact(command)))
        try:
            await asyncio.to_thread(paths.write_private, self._note, noted)
        except OSError as error:
            raise CommandError(f"not run: {self._note} cannot be written: {error.strerror}") from error

    async def _store(self, command: str, text: str, meta: Mapping[str, Any]) -> str:
        async with self._gate:
            await self._prepare()
            await self._context.checkpoint()
            record = await self._append(command, text, {**meta, "run": self._ours})
        await asyncio.to_thread(self._note.unlink, missing_ok=True)
        return record

    async def _append(self, command: str, text: str, meta: Mapping[str, Any]) -> str:
        content = [text_block(told(self._redact(command), text))]
        (record,) = await self._context.append_message(
            {"role": "user", "content": content}, origin=ORIGIN, meta={**meta, "tool": OWN_COMMAND}
        )
        await self._context.sync()
        return record.id

    async def mend(self) -> list[str]:
        """Write the record of a command during which the program was killed. Returns what was done, in words.

        Raises:
            ContextError: it could not be written.
        """
        noted = await asyncio.to_thread(_read, self._note)
        if noted is None or noted.run == self._ours:
            return []
        title = " ".join(noted.command.split())
        known = any(message.meta.get("run") == noted.run for message in self._context.history)
        if not known:
            meta = {"title": title, "outcome": "interrupted", "summary": "cut off", "run": noted.run}
            await self._append(noted.command, _CUT_OFF, meta)
        await asyncio.to_thread(self._note.unlink, missing_ok=True)
        if known:
            return []
        return [f"your command was cut off when the program stopped, and may have gone on: {title}"]


def _read(note: Path) -> Noted | None:
    """What was running, if the note says so."""
    try:
        return msgspec.json.decode(note.read_bytes(), type=Noted)
    except (OSError, msgspec.DecodeError):
        return None
