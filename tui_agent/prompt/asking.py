"""A source of injections is asked in a thread of its own, so that one that hangs or raises costs nothing but itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from tui_agent.events import Emit, Notice
from tui_agent.literal import clean
from tui_agent.prompt.telling import Told

if TYPE_CHECKING:
    from tui_agent.prompt.telling import InjectionSource, Moment

T = TypeVar("T")

LIMIT_SECONDS = 2.0
"""A source that takes longer is skipped."""

_SLICES = 10
"""Parts in which an answer is waited for: a machine that stands still for a while uses up one of them, not all."""

_TEXTS = ("text", "withdrawn", "version", "about", "short")


class Fault(Exception):
    """What a source gave is nothing that can be told; says why."""


class Asking:
    """One source, and what went wrong with it so far. `limit` is in seconds.

    The thread does not keep the program from ending, and a source whose last answer is not there yet is not asked
    again before it is.
    """

    def __init__(self, source: InjectionSource, emit: Emit, limit: float) -> None:
        self._source = source
        self._emit = emit
        self._limit = limit
        self._running: Future[Sequence[Told]] | None = None
        self._hangs = False
        self._faults: set[str] = set()
        self.name = source.name
        self.priority = source.priority

    async def ask(self, moment: Moment) -> Sequence[Told]:
        """What the source tells; nothing if it hangs or raises, which is said once for each fault."""
        before = self._running
        if before is not None and not before.done() and (self._hangs or not await self._ended(before)):
            return ()
        self._running = running = in_thread(
            lambda: tellings(self._source.generate(moment)), f"injection {self.name}"
        )
        if not await self._ended(running):
            return ()
        if (error := running.exception()) is not None:
            self._failed(f"{error}" if isinstance(error, Fault) else f"{type(error).__name__}: {error}")
            return ()
        return running.result()

    async def _ended(self, running: Future[Sequence[Told]]) -> bool:
        self._hangs = not await ended(running, self._limit)
        if self._hangs:
            self._failed(f"no answer within {self._limit:g} s")
        return not self._hangs

    def on_compacted(self) -> None:
        """Tell the source that the history was compacted."""
        try:
            self._source.on_compacted()
        except Exception as error:  # noqa: BLE001 - one source's fault must not keep it from the others
            self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, fault: str) -> None:
        if fault not in self._faults:
            self._faults.add(fault)
            self._emit(Notice(f"reminders of {self.name} are left out: {fault}", "warning", "prompt"))


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Begin some work in a thread that does not keep the program from ending."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer = work()
        except BaseException as error:  # noqa: BLE001 - whatever it raises, who asked is told
            future.set_exception(error)
        else:
            future.set_result(answer)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


async def ended(running: Future[Any], limit: float) -> bool:
    """Wait until some work has ended, or so many seconds; True if it has."""
    answer = asyncio.wrap_future(running)
    try:
        for _ in range(_SLICES):
            if answer.done():
                break
            await asyncio.wait([answer], timeout=limit / _SLICES)
        return answer.done()
    finally:
        answer.cancel()  # of the thread nothing more is heard here


def tellings(answer: Any) -> Sequence[Told]:
    """What a source gave, as what is to be told; each thing by its own name.

    Raises:
        Fault: it is neither text nor what `Told` says.
    """
    if answer is None:
        return ()
    told = (
        answer if isinstance(answer, (list, tuple)) else [Told(answer) if isinstance(answer, str) else answer]
    )
    if not all(isinstance(one, Told) for one in told):
        raise Fault(f"gave {type(answer).__name__}, not a text")
    cleaned = [_clean(one) for one in told]
    if len({one.about for one in cleaned}) < len(cleaned):
        raise Fault("tells of one thing twice")
    return cleaned


def _clean(told: Told) -> Told:
    """The same as the log will hold it, so that it compares equal with what was told."""
    texts = {name: getattr(told, name) for name in _TEXTS}
    if not all(isinstance(text, str) for text in texts.values()):
        raise Fault("gave something that is not a text")
    try:
        msgspec.json.encode(dict(told.fields))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise Fault(f"gave fields that the log cannot hold: {error}") from error
    return replace(told, **{name: clean(text) for name, text in texts.items()})
