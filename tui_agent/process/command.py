"""A command run and waited for, a helper program captured."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tui_agent.process.job import OUTPUT_LIMIT, Job, ProcessError, Result, arguments, environment, spawn
from tui_agent.process.output import Kept, Spool
from tui_agent.process.session import over, signal_session


async def run(
    command: Sequence[str] | str,
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    on_output: Callable[[str], None] | None = None,
    limit: int = OUTPUT_LIMIT,
    enough: int | None = None,
    spool: Path | None = None,
    input: bytes = b"",
) -> Result:
    """Run a program (a sequence of arguments) or a shell command (a string) and wait for its end.

    It gets a session and process group of its own, no terminal, `input` to read and one pipe for both output streams,
    decoded as UTF-8 with U+FFFD for what is not. When `timeout` seconds are over, or when the awaiting task is
    cancelled, the whole group gets SIGTERM and two seconds later SIGKILL; a cancelled call returns only when the
    group is gone, a second cancellation kills at once. A child in the background does not delay the return.

    Args:
        env: added to this program's environment; None takes a variable out.
        on_output: called in the event loop with new output, at most 20 times a second; must not block or raise.
        limit: characters of output kept, see Result.
        enough: bytes of output after which it is ended, because nobody will read more.
        input: what it reads from its standard input; nothing is waited for if it does not.
        spool: a file that gets the whole output as UTF-8 (up to SPOOL_LIMIT bytes); made when there is some.

    Raises:
        ProcessError: it could not be started.
    """
    # whoever only captures does without the half of the start-up time that this costs
    import asyncio

    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        elif result is not None:
            done.set_result(result)

    job = Job(
        arguments(command),
        cwd=cwd,
        env=environment(env),
        timeout=timeout,
        enough=enough,
        kept=Kept(limit),
        spool=Spool(spool) if spool is not None else None,
        later=loop.call_soon_threadsafe,
        on_output=on_output,
        settle=settle,
        input=input,
    )
    job.start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        job.stop()
        while not done.done():
            try:
                await asyncio.wait([done])
            except asyncio.CancelledError:
                job.stop()
        # looked at, so that nobody is told of an error that nobody waits for
        done.exception()
        raise


def capture(
    argv: Sequence[str], *, cwd: Path | str, env: Mapping[str, str | None] | None = None, timeout: float
) -> tuple[int, bytes]:
    """Run a helper program to its end and give back its exit code and what it wrote to its standard output. Blocks.

    Raises:
        ProcessError: it could not be started, or ran longer than `timeout` seconds (it is killed with its group).
    """
    process = spawn(argv, cwd=cwd, env=environment(env), stderr=subprocess.DEVNULL)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise ProcessError(f"{argv[0]} did not end within {timeout:g} s") from None
    finally:
        if process.poll() is None:
            signal_session(process.pid, signal.SIGKILL)
            process.wait()
        over(process.pid)
        if process.stdout is not None:
            process.stdout.close()
    return process.returncode, output
