"""Another program on the same terminal: an editor, a pager.

The screen leaves the terminal to it and comes back when it ends. Meanwhile the event loop goes on: an answer that
streams is heard, only nothing is drawn.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from textual.app import App

_PATIENCE = 1.0
"""Seconds that a program which is told to end may take."""

_turns: WeakKeyDictionary[App[Any], asyncio.Lock] = WeakKeyDictionary()
"""One program at a time has the terminal of an app."""


async def run_outside(app: App[Any], argv: Sequence[str], *, stdin: IO[str] | None = None) -> int:
    """Give the terminal to a program until it ends; returns its exit code (negative: the signal that ended it).

    Args:
        app: Whose terminal it is.
        argv: The program and its arguments.
        stdin: What it reads, if not the keyboard; keys it takes from its terminal.

    Raises:
        OSError: The program cannot be started.
        SuspendNotSupported: The app has no terminal to give away.
    """
    async with _turns.setdefault(app, asyncio.Lock()):
        ended: int | BaseException
        # without the batch the screen would be drawn for a terminal that nobody writes to, and the loop would stand
        with app.batch_update(), app.suspend(), _ours_goes_on():
            try:
                ended = await _run(argv, stdin)
            except (OSError, asyncio.CancelledError) as error:
                ended = error  # raised inside, it would leave the terminal as it is
        if isinstance(ended, BaseException):
            raise ended
        return ended


async def _run(argv: Sequence[str], stdin: IO[str] | None) -> int:
    child = await asyncio.create_subprocess_exec(*argv, stdin=stdin)
    try:
        return await child.wait()
    finally:
        await _ended(child)


async def _ended(child: asyncio.subprocess.Process) -> None:
    """See to it that the program is gone, also when this one ends first."""
    if child.returncode is not None:
        return
    child.terminate()
    try:
        await asyncio.wait_for(child.wait(), _PATIENCE)
    except TimeoutError:
        child.kill()
        await child.wait()


@contextmanager
def _ours_goes_on() -> Iterator[None]:
    """ctrl+c and ctrl+\\ on the terminal are meant for the other program, though both get the signal."""

    def not_ours(number: int, frame: FrameType | None) -> None:
        """Not ignored: the other program would inherit that."""

    before = {number: signal.signal(number, not_ours) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
