"""One turn: the person's words, then reply, act, again, until the model has no more calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tui_agent.agent.replies import Overflowed, ReplyFailed
from tui_agent.changes import LogFailed, LogRecovered, Rotated
from tui_agent.context import ContextError, LogChanged
from tui_agent.events import Emit, Notice, StepStarted, TurnEnded, TurnStarted
from tui_agent.messages.blocks import text_block

if TYPE_CHECKING:
    from tui_agent.agent.answers import Stored
    from tui_agent.agent.calls import Calls
    from tui_agent.agent.replies import Replies
    from tui_agent.context import Context
    from tui_agent.events import Reminded
    from tui_agent.messages.blocks import Block

_MAX_CUT_REPLIES = 3
"""So many replies in a row may end at the output limit inside a call before the turn gives up."""

_MAX_PAUSES = 20
"""So often in a row a model that paused is asked to go on before the turn gives up."""

_STOPPED_EARLY = {
    "pause_turn": "the model paused again and again and was not asked to go on: ask it to, if it should",
    "max_tokens": "the answer reached its output limit and is not finished: ask to go on, or raise max_output_tokens",
    "model_context_window_exceeded": "the answer filled the model's window: go back (/revert), elide what is large, "
    "or switch to a larger model (/model)",
}


T = TypeVar("T")
Say = Callable[[str, "Sequence[Block]"], Awaitable[None]]
"""Puts a person's words into the log, with the pictures that go before them."""


class Turn:
    """Runs turns over one log. `gate` is held while a step touches it; whoever rewrites the log takes it too.

    `begin` prepares the log for the words it is given. `deliver` puts the prompts that wait for a step into the log,
    each by the function it is given, and says whether there were any. `remind` appends what the model should be told
    beside the words it is given, and says what that was. `relieve` makes room before a step where it is due; `recover`
    does because a request did not fit, and says whether it could. `may_ask` is asked before each request; where it says
    no, a turn in which nobody spoke ends.
    """

    def __init__(
        self,
        *,
        context: Context,
        replies: Replies,
        calls: Calls,
        emit: Emit,
        gate: asyncio.Lock,
        begin: Callable[[str], Awaitable[None]],
        deliver: Callable[[Say], Awaitable[bool]],
        remind: Callable[[str], Awaitable[Reminded | None]],
        relieve: Callable[[], Awaitable[None]],
        recover: Callable[[Overflowed], Awaitable[bool]],
        may_ask: Callable[[], Awaitable[bool]],
    ) -> None:
        self._context = context
        self._replies = replies
        self._calls = calls
        self._emit = emit
        self._gate = gate
        self._begin = begin
        self._deliver = deliver
        self._remind = remind
        self._relieve = relieve
        self._recover = recover
        self._may_ask = may_ask
        self._spoken = True
        """A person has spoken in the turn that runs: it is theirs, and no budget cuts it short."""
        self._goal = ""
        """What began the newest turn in which nobody spoke."""
        self._step = 0
        self._unwritten = False
        self._reminded: Reminded | None = None
        self._stood = (0, 0)
        """How the log stood when the model was reminded last."""
        self._begun = ""
        """The record that began the newest turn; "" if it is asked for again."""
        self.said = False
        """True once the prompt of the newest turn is on disk."""

    async def run(self, words: str, images: Sequence[Block] = ()) -> str:
        """Work on a prompt; returns why the turn ended, which `TurnEnded` says too.

        Cancelling it leaves a sound log: open calls get results, a half answer is kept and marked.
        """
        self.said, self._spoken = False, True
        return await self._run(words, images, self._open)

    async def pursue(self, goal: str, begin: Callable[[], Awaitable[str]]) -> str:
        """Work on a goal with nothing said: `begin` puts into the log what begins the turn, and gives it back. Returns
        as `run` does.
        """
        self.said, self._spoken = True, False
        self._goal = ""

        async def open_turn(words: str, images: Sequence[Block]) -> None:
            await self._context.checkpoint(turn=True)
            self._goal = await begin()
            self._begun = self._context.records[-1].id
            await self._remember("")

        return await self._run("", (), open_turn, about=goal)

    async def retry(self) -> str:
        """Ask once more for the step that failed, in the turn that it belongs to; returns as `run` does."""
        return await self._run("", (), self._go_on)

    async def _run(
        self,
        words: str,
        images: Sequence[Block],
        begin: Callable[[str, Sequence[Block]], Awaitable[None]],
        *,
        about: str = "",
    ) -> str:
        started, self._step, self._begun = time.monotonic(), 0, ""
        reason, error, told = "failed", "", False
        try:
            await self._begin(words or about)
            async with self._gate:
                await begin(words, images)
                await self._context.sync()
            if self._unwritten:
                self._unwritten = False
                self._emit(LogRecovered())
            told = True
            self._tell_started(words, images, about)
            self._tell_reminded()
            reason = await self._steps()
        except asyncio.CancelledError:
            reason = "cancelled"
            if self._begun and not told:  # while sources were asked: what was said is in the log all the same
                self._tell_started(words, images, about)
            raise
        except ReplyFailed as failure:
            error = str(failure)
        except ContextError as failure:
            error, self._unwritten = str(failure), True
            self._emit(LogFailed(error, failure.ways))
            if isinstance(failure, LogChanged):
                await self._reread()
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            if reason in ("cancelled", "failed"):
                self._replies.weigh()  # what was kept of an unfinished step weighs too
            self._emit(TurnEnded(reason, self._step, time.monotonic() - started, error))
        return reason

    def _tell_started(self, words: str, images: Sequence[Block], about: str) -> None:
        turn = next(point for point in reversed(self._context.checkpoints()) if point.turn)
        goal = self._goal if about else ""
        self._emit(TurnStarted(turn.uid, turn.id, words, tuple(images), goal, self._begun))

    async def _open(self, words: str, images: Sequence[Block]) -> None:
        await self._context.checkpoint(turn=True)
        self._begun = await self._say(words, images)
        self.said = True
        await self._remember(words)

    async def _go_on(self, words: str, images: Sequence[Block]) -> None:
        if not any(point.turn for point in self._context.checkpoints()):
            await self._context.checkpoint(turn=True)
        await self._remember(words)

    async def _remember(self, words: str) -> None:
        self._reminded = await self._remind(words)
        self._stood = self._standing

    @property
    def _standing(self) -> tuple[int, int]:
        """Changes with whatever takes away or brings back what is sent."""
        return self._context.generation, self._context.n_elisions

    def _tell_reminded(self) -> None:
        told, self._reminded = self._reminded, None
        if told is not None:
            self._emit(told)

    async def _reread(self) -> None:
        """Take the log as another program left it; one that is gone is not begun anew behind the person's back."""
        if not await asyncio.to_thread(self._context.path.exists):
            return
        try:
            await self._context.restore()
        except ContextError as error:
            self._emit(LogFailed(str(error), error.ways))
            return
        self._emit(Rotated("reload", "", len(self._context.records)))

    async def _say(self, words: str, images: Sequence[Block]) -> str:
        message = {"role": "user", "content": [*images, text_block(words)]}
        (record,) = await self._context.append_message(message)
        return record.id

    async def _steps(self) -> str:
        cut = paused = 0
        while True:
            if not (await self._may_ask() or self._spoken):
                return "budget"
            await self._make_room(self._relieve())
            self._step += 1
            self._emit(StepStarted(self._step))
            reply, ends, heard = await self._one_step()
            self._replies.weigh()
            if heard:
                self._spoken = True
                cut = paused = 0
                continue
            if ends:
                return ends
            if reply.calls:
                paused = 0
                cut = cut + 1 if reply.stop_reason == "max_tokens" else 0
                if cut < _MAX_CUT_REPLIES:
                    continue
            elif reply.stop_reason == "pause_turn" and paused < _MAX_PAUSES:
                paused += 1
                await self._replies.go_on()
                continue
            if reply.stop_reason in _STOPPED_EARLY:
                self._emit(Notice(_STOPPED_EARLY[reply.stop_reason], "warning", "model"))
            return reply.stop_reason

    async def _make_room(self, making: Awaitable[T]) -> T:
        """Make room, and tell again what went with what is not sent any more: a turn may go on for long."""
        made = await making
        if self._standing != self._stood:
            async with self._gate:
                await self._remember("")
            self._tell_reminded()
        return made

    async def _one_step(self) -> tuple[Stored, str, bool]:
        """Reply and act: the reply, why the turn ends with its calls if it does, and whether prompts were delivered.

        A request that does not fit is sent once more, if room can be made.
        """
        try:
            return await self._try_step()
        except Overflowed as overflow:
            if not await self._make_room(self._recover(overflow)):
                raise self._replies.give_up(overflow) from overflow
        try:
            return await self._try_step()
        except Overflowed as overflow:
            raise self._replies.give_up(overflow) from overflow

    async def _try_step(self) -> tuple[Stored, str, bool]:
        async with self._gate:
            await self._context.checkpoint()
            reply = await self._replies.next()
            await self._context.sync()
            ends = await self._calls.settle(reply.calls) if reply.calls else ""
            await self._context.sync()
            said: list[str] = []

            async def say(words: str, images: Sequence[Block]) -> None:
                await self._say(words, images)
                said.append(words)

            heard = await self._deliver(say)
            if heard:
                await self._remember("\n\n".join(said))
                self._tell_reminded()
            return reply, ends, heard
