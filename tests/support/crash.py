"""Faults in real processes: a kill, a full disk or a cut write at a chosen system call of an operation on a session.

A driver process (`python -m tests.support.crash`) imports the program once and forks a child for each case. The child
restores the session, stops, and goes on when strace holds it; so the first call that strace sees is the first of the
operation. The test says what to do (`Case`) and hears what came of it (`Outcome`); what is on disk then, it looks at
itself.

    pytest  <- JSON lines ->  driver  <- socket, strace -p ->  child
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_agent.context import Context

CALLS = (
    *(
        "write",
        "pwrite64",
        "writev",
        "pwritev",
        "pwritev2",
        "sendfile",
        "copy_file_range",
        "splice",
        "fallocate",
    ),
    *(
        "ftruncate",
        "truncate",
        "fsync",
        "fdatasync",
        "sync_file_range",
        "fchmod",
        "chmod",
        "fchmodat",
        "utimensat",
    ),
    *("openat", "open", "creat", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"),
    *("mkdir", "mkdirat", "rmdir", "symlinkat", "flock"),
)
"""System calls that change files, or the lock."""


# --- what can be done to a session ------------------------------------------------------------------------------


async def append(context: Context) -> None:
    await context.append_message({"role": "user", "content": "one more thing 再一件"})


async def append_many(context: Context) -> None:
    content = [
        {"type": "text", "text": "on it"},
        {"type": "tool_use", "id": "call_x", "name": "bash", "input": {}},
    ]
    result = {"type": "tool_result", "tool_use_id": "call_x", "content": "x" * 5000}
    await context.append_message(
        [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    )


async def revert(context: Context) -> None:
    await context.revert_to(2)


async def clear(context: Context) -> None:
    await context.clear()


async def clear_with_prompt(context: Context) -> None:
    await context.clear("a new prompt")


async def restore(context: Context) -> None:
    await context.restore_backup("context_1.jsonl")


async def undo(context: Context) -> None:
    await context.undo()


async def redo(context: Context) -> None:
    await context.redo()


async def prompt(context: Context) -> None:
    await context.write_system_prompt("a prompt, late")


async def compact(context: Context) -> None:
    """The whole transaction, with the strategy that asks no model."""
    from tests.compaction.lone import Alone
    from tests.compaction.stories import Scripted
    from tui_agent.changes import CompactionFailed
    from tui_agent.compaction.making import Wanted
    from tui_agent.context import LogWriteError
    from tui_agent.events import Notice

    alone = Alone(context, Scripted(lambda text: ""))
    await alone.compactor.compact(Wanted("manual"))
    reasons = [event.reason for event in alone.all(CompactionFailed)]
    reasons += [event.text for event in alone.all(Notice) if event.level == "error"]
    for reason in reasons:
        raise LogWriteError(context.path, 0, reason)


async def sync(context: Context) -> None:
    await context.sync()


async def reload(context: Context) -> None:
    await context.restore()


async def append_and_sync(context: Context) -> None:
    await append(context)
    await context.sync()


OPERATIONS: dict[str, Callable[[Context], Awaitable[None]]] = {
    operation.__name__: operation
    for operation in (
        *(append, append_many, append_and_sync, sync, reload),
        *(revert, clear, clear_with_prompt, restore, undo, redo, prompt, compact),
    )
}


def snapshot(context: Context) -> dict[str, Any]:
    """What a context shows, without the ids and times that are made anew each time."""
    shown = {
        "prompt": context.system_prompt,
        "history": [[message.role, list(message.content), message.origin] for message in context.history],
        "state": dict(context.state),
        "checkpoints": [[mark.id, mark.turn, mark.words] for mark in context.checkpoints()],
        "tokens": [context.token_count, context.token_count_with_pending],
        "undo": [context.can_undo, context.can_redo],
        "damage": len(context.damage),
    }
    result: dict[str, Any] = json.loads(json.dumps(shown))
    return result


# --- the test's side --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """The first of `steps` runs under the fault, the others after it is gone.

    `inject` holds strace's expressions (`write:signal=KILL:when=2`); `limit` is the size in bytes above which no file
    may grow; `log` a file for the calls that were made.
    """

    folder: str
    steps: Sequence[str]
    inject: Sequence[str] = ()
    limit: int | None = None
    log: str = ""


@dataclass(frozen=True)
class Outcome:
    """`status`: killed, or ended. `steps`: for each step that came to its end its error (type, text) or "" and what
    the context showed then.
    """

    status: str
    steps: list[dict[str, Any]] = field(default_factory=list)

    def error(self, step: int = 0) -> str:
        text: str = self.steps[step]["error"]
        return text

    def shown(self, step: int = 0) -> dict[str, Any]:
        shown: dict[str, Any] = self.steps[step]["shown"]
        return shown


class Driver:
    """Runs cases, one after the other, in children of one process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, case: Case) -> Outcome:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(case)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended: {self._process.poll()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return Outcome(**answer)


@contextmanager
def driver() -> Iterator[Driver]:
    """A running driver; it ends with the block."""
    command = [sys.executable, "-m", "tests.support.crash"]
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        yield Driver(process)
        assert process.stdin is not None
        process.stdin.close()


def why_not() -> str:
    """Why faults cannot be injected here; empty if they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            _attach(sleeper.pid, Case(folder="", steps=())).terminate()
        except RuntimeError as error:
            return f"strace cannot attach to a process here: {error}"
        finally:
            sleeper.kill()
    return ""


@dataclass(frozen=True)
class Call:
    """A system call of a log: its name, its arguments as strace prints them, what it returned."""

    name: str
    arguments: str
    returned: int

    @property
    def changes(self) -> bool:
        """True if it can change what is on disk: an `open` does only if it creates or cuts."""
        return not self.name.startswith("open") or "O_CREAT" in self.arguments or "O_TRUNC" in self.arguments


_LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+)")
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)")


def read_log(path: Path) -> list[Call]:
    """The calls of a log that came to their end, in the order of their ends."""
    calls = []
    begun: dict[str, str] = {}
    for line in path.read_text().splitlines():
        thread, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[thread] = text.removesuffix("<unfinished ...>")
            continue
        if resumed := _RESUMED.match(text):
            text = begun.pop(thread) + resumed[1]
        if match := _LINE.match(text):
            calls.append(Call(match[1], match[2].rstrip(), int(match[3])))
    return calls


def points(calls: Sequence[Call]) -> list[tuple[str, int]]:
    """Where to strike: the name of each changing call, and which of that name it is (from 1)."""
    seen: dict[str, int] = {}
    found = []
    for call in calls:
        seen[call.name] = seen.get(call.name, 0) + 1
        if call.changes:
            found.append((call.name, seen[call.name]))
    return found


# --- the driver's side ------------------------------------------------------------------------------------------


class _Inline(ThreadPoolExecutor):
    """Runs what is given at once, so that all calls are made by one thread and can be counted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 (whoever waits for the future gets it)
            future.set_exception(error)
        return future


def _attach(pid: int, case: Case) -> subprocess.Popen[str]:
    command = ["strace", "-f", "-p", str(pid), "-e", f"trace={','.join('?' + call for call in CALLS)}"]
    command += ["-y", "-xx", "-s", "10000000", "-o", case.log or "/dev/null"]
    for expression in case.inject:
        command += ["-e", f"inject={expression}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    if "attached" not in line:
        process.kill()
        process.wait()
        raise RuntimeError(line.strip())
    return process


def _detach(strace: subprocess.Popen[str], *, dead: bool) -> None:
    """Let go of a process. Of a dead one with threads strace may wait for ever for news."""
    if dead:
        strace.kill()
    else:
        strace.terminate()
    strace.wait()


def _child(case: Case, line: socket.socket) -> None:
    """Restore, do one step each time the driver says so, and close when it says so."""
    from tui_agent.context import Context, ContextError

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(_Inline())
        context = Context(Path(case.folder) / "context.jsonl")
        await context.restore()
        line.send(b"ready\n")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for index, step in enumerate(case.steps):
            line.recv(1)
            if case.limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (case.limit if index == 0 else soft, hard))
            error, known = "", set(sys.modules)
            try:
                await OPERATIONS[step](context)
            except (ContextError, OSError, ValueError) as caught:
                error = f"{type(caught).__name__}: {caught}"
            if imported := set(sys.modules) - known:
                error = (
                    f"imported under the fault, so that its calls are others next time: {sorted(imported)}"
                )
            line.sendall(json.dumps({"error": error, "shown": snapshot(context)}).encode() + b"\n")
        line.recv(1)
        await context.close()

    asyncio.run(run())


@contextmanager
def _exit_of_child() -> Iterator[None]:
    """End the forked process with the block, without what the driver would do at its own end."""
    try:
        yield
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(1)


def _run(case: Case) -> Outcome:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        with _exit_of_child():
            _child(case, theirs)
    theirs.close()
    with ours, ours.makefile("r") as answers:
        if answers.readline() != "ready\n":
            os.waitpid(pid, 0)
            raise RuntimeError("the session could not be opened")
        strace = _attach(pid, case) if case.inject or case.log else None
        steps = []
        for _ in case.steps:
            ours.send(b"!")
            answer = answers.readline()
            if strace is not None:
                _detach(strace, dead=not answer)
                strace = None
            if not answer:
                break
            steps.append(json.loads(answer))
        else:
            ours.send(b"!")
        _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Outcome("killed", steps)
    if os.WEXITSTATUS(status):
        raise RuntimeError("the child failed")
    return Outcome("ended", steps)


def _serve(requests: IO[str], answers: IO[str]) -> None:
    # imported before the forks: an import makes other calls once its bytecode is written
    import tests.compaction.lone
    import tests.compaction.stories  # noqa: F401
    import tui_agent.compaction.registry
    import tui_agent.context  # noqa: F401

    for line in requests:
        try:
            answer = asdict(_run(Case(**json.loads(line))))
        except (RuntimeError, OSError) as error:
            answer = {"failed": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.stdin, sys.stdout)
