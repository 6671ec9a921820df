"""Compaction at work in a session: asked for by a person, due by itself, or needed because a request did not fit.

It runs in the task that runs the turns, between two steps, so that no other request is sent meanwhile and prompts
queue as they do behind a turn. Commands of a person's own and marks go on; they follow the summary.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tui_agent.changes import CompactionStage
from tui_agent.compaction.around import Around, Fresh
from tui_agent.compaction.budget import Budget, Room
from tui_agent.compaction.compactor import Compactor
from tui_agent.compaction.hooks import Hooks
from tui_agent.compaction.micro import Micro
from tui_agent.compaction.model import Asking
from tui_agent.compaction.outlook import Outlook, outlook
from tui_agent.compaction.policy import Policy
from tui_agent.compaction.relief import Relief
from tui_agent.context import ContextError
from tui_agent.events import Emit, Notice
from tui_agent.llm.provider import ProviderError
from tui_agent.messages.tokens import Estimator
from tui_agent.settings.rules import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.agent.questions import Questions
    from tui_agent.agent.replies import Overflowed, Replies
    from tui_agent.agent.speaker import Speaker
    from tui_agent.compaction.making import Wanted
    from tui_agent.compaction.strategy import Compaction, Model
    from tui_agent.context import Context
    from tui_agent.settings.schema import Compaction as Keys
    from tui_agent.settings.schema import Price, Settings


class Shrinking:
    """The compactor of one session, and when it runs.

    Args:
        settings: those in force.
        fresh: prompt and tools as they would be written now.
        attended: somebody is there to be asked, and to wait at the end of a turn for what the next one needs.
        is_busy: whether the session's task runs.
        wake: lets the session's task run, so that what is wanted is done.
        spawn: runs something beside, under a name.
        on_compacted: told of each compaction.
    """

    def __init__(
        self,
        *,
        context: Context,
        replies: Replies,
        speaker: Speaker,
        questions: Questions,
        settings: Callable[[], Settings],
        workspace: Path,
        gate: asyncio.Lock,
        emit: Emit,
        fresh: Callable[[], Awaitable[Fresh]],
        attended: bool,
        is_busy: Callable[[], bool],
        wake: Callable[[], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        on_compacted: Sequence[Callable[[], object]] = (),
    ) -> None:
        self._context = context
        self._replies = replies
        self._speaker = speaker
        self._settings = settings
        self._workspace = workspace
        self._emit = emit
        self._attended = attended
        self._is_busy = is_busy
        self._wake = wake
        self._wanted: Wanted | None = None
        self._doing = False
        """True while what was wanted is done."""
        self._running: asyncio.Task[bool] | None = None
        around = Around(
            policy=lambda: Policy(self.keys),
            model=self._model,
            window=lambda: self._replies.limits.window,
            thinking=lambda: self._replies.limits.thinking,
            strategy=_strategy,
            hooks=lambda: Hooks(self._settings().hooks, self._workspace),
            fresh=fresh,
            price=self._price,
            settled=self._settled,
            spawn=spawn,
            ask=questions.ask if attended else None,
            guessed=lambda: self._replies.limits.guessed,
        )
        self.compactor = Compactor(
            context=context, around=around, gate=gate, emit=emit, on_compacted=on_compacted
        )
        self._micro = Micro(
            context=context,
            policy=around.policy,
            emit=emit,
            announce=self._shortened,
            price=self._price,
        )
        self._relief = Relief(
            context=context,
            compactor=self.compactor,
            micro=self._micro,
            around=around,
            emit=emit,
            budget=Budget(context=context, policy=around.policy, emit=emit, announce=self._shortened),
            room=self._room,
            run=self._run,
            free=self._is_free,
        )

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> Keys:
        """The settings of compaction in force: those of the profile that answers."""
        settings = self._settings()
        try:
            return settings.compaction_of(self._speaker.now.profile)
        except SettingsError:
            return settings.compaction

    @property
    def busy(self) -> bool:
        """True while a compaction runs."""
        return self.compactor.busy

    @property
    def due(self) -> tuple[int, int]:
        """The weights, in tokens, above which old results are shortened next, and at which a summary is due."""
        window = self._replies.limits.window
        return self._micro.due_above(window), Policy(self.keys).limit(window)

    @property
    def most(self) -> int:
        """The most tokens that a summary may have."""
        return Policy(self.keys).summary_most(self._replies.limits.window)

    @property
    def waits(self) -> bool:
        """True if one is wanted that has not begun."""
        return self._wanted is not None

    @property
    def held(self) -> bool:
        """True while nothing is compacted unasked, because a person took a compaction back."""
        return self._relief.held

    async def outlook(self) -> Outlook:
        """How the history stands to the model's window, and what follows of that."""
        window = self._replies.limits.window
        return await asyncio.to_thread(outlook, self._context, Policy(self.keys), window)

    # --- what can be asked -------------------------------------------------------------------------------------------

    def want(self, wanted: Wanted) -> None:
        """Compact as soon as no step runs; what runs or waits already gives way to it."""
        self._wanted = wanted
        if self._running is not None:
            self.compactor.cancelled_by = "anew"
            self._running.cancel()
        elif self._is_busy():
            self._emit(CompactionStage("waiting for the step to end"))
        self._wake()

    def forget(self) -> None:
        """What is wanted is not wanted any more."""
        self._wanted = None

    async def relieve(self, *, ended: bool = False) -> None:
        """Do what is wanted, then make room if it is due. `ended`: no step follows at once."""
        await self.do_wanted()
        total = self._replies.weigh().count
        await self._relief.relieve(total, summaries=self._attended or not ended, sending=not ended)

    async def do_wanted(self) -> bool:
        """Compact if a person asked for it; True if a summary is in force."""
        done = False
        while (wanted := self._wanted) is not None:
            self._wanted, self._doing = None, True
            try:
                done = await self._run(wanted)
            finally:
                self._doing = False
                self._relief.tell_held()
                if wanted.again and self.held:
                    self._emit(Notice(_TAKEN_BACK, "warning", "compaction"))
        return done

    async def recover(self, overflow: Overflowed) -> bool:
        """Make room because a request did not fit; True if there is more of it."""
        return await self._relief.recover(tokens=overflow.tokens, window=overflow.window)

    def superseded(self) -> None:
        """Something else is about to change the history: what is cancelled next gives way to it."""
        self.compactor.cancelled_by = "superseded"
        self.compactor.ahead.discard()
        self._wanted = None

    def rotated(self) -> None:
        """The history was rewritten."""
        if not (self._wanted or self._doing):  # else it is held only if that comes to nothing
            self._relief.tell_held()

    async def prune(self) -> None:
        """Delete backups beyond what settings keep, and say which."""
        limits = self._settings().backups
        if limits.keep is None and limits.max_bytes is None:
            return
        gone = await self._context.prune_backups(keep=limits.keep, max_bytes=limits.max_bytes)
        if gone:
            names = ", ".join(backup.name for backup in gone)
            self._emit(Notice(f"no longer kept, as settings say: {names}", "info", "backups"))

    # --- how it works ------------------------------------------------------------------------------------------------

    async def _run(self, wanted: Wanted) -> bool:
        with contextlib.suppress(ProviderError):
            # a strategy that asks the model will say it; one that asks none needs none
            await self._replies.prepare()
        await self._replies.recall()
        self._running = asyncio.create_task(self.compactor.compact(wanted), name="compaction")
        try:
            return await self._running
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return await self.do_wanted()  # it gave way to another one
        finally:
            self._running = None

    async def _settled(self) -> None:
        self._replies.watch.announce("a compaction")
        try:
            await self.prune()
        except (ContextError, OSError) as error:
            self._emit(Notice(f"old backups were not deleted: {error}", "warning", "backups"))
        self._replies.weigh()
        self._relief.tell_held()

    def _shortened(self) -> None:
        self._replies.watch.announce("old results were shortened")
        self._replies.weigh()

    def _room(self) -> Room:
        limits = self._replies.limits
        return Room(limits.budget, limits.most)

    def _model(self, emit: Emit) -> Model:
        provider = self._speaker.now.provider
        return Asking(
            provider,
            emit,
            estimator=Estimator(provider.model, factor=self._context.factor),
            answered=self._replies.watch.beside,
        )

    def _price(self) -> Price | None:
        return self._settings().prices.get(self._speaker.now.provider.model)

    def _is_free(self) -> bool:
        """True if asking is known to cost nothing: the demo model, or an endpoint on this machine without a price."""
        if self._speaker.now.demo:
            return True
        price, profile = self._price(), self._settings().profiles.get(self._speaker.now.profile)
        if price is not None:
            return not (price.input or price.output)
        return profile is not None and _is_here(profile.base_url)


_TAKEN_BACK = "the history is as it was before the compaction; /undo puts the summary in force again"


def _strategy(name: str) -> Compaction:
    from tui_agent.compaction.registry import strategy  # it reads the names of installed packages

    return strategy(name)


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
