"""The transaction of a compaction: look at the log, let a strategy summarise, put the summary in force in one rewrite.

    hook (may say no) -> look -> summarise, nothing is held meanwhile -> check -> review -> gate: contract, rewrite
    -> whoever must be told -> hook, beside

Whatever fails before the rewrite leaves the log as it was, byte for byte; what was appended meanwhile stays.
Cancelling the task that runs it is normal and leaves the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from tui_agent.changes import (
    CompactionCompleted,
    CompactionSkipped,
    CompactionStage,
    CompactionStarted,
    CompactionSummary,
    Rotated,
)
from tui_agent.changes import CompactionFailed as Failed
from tui_agent.compaction.ahead import Ahead
from tui_agent.compaction.consent import Consent
from tui_agent.compaction.cutting import Cutting
from tui_agent.compaction.making import Made, Skipped, Wanted, look, made, renewed, summary_body
from tui_agent.compaction.outlook import outlook
from tui_agent.compaction.retention import Contract
from tui_agent.compaction.strategy import CompactionFailed
from tui_agent.context import ContextError
from tui_agent.context.compacted import Replacement
from tui_agent.events import Emit, Event, Notice
from tui_agent.llm.money import cost
from tui_agent.llm.provider import ProviderError, Usage

if TYPE_CHECKING:
    from tui_agent.compaction.around import Around, Fresh
    from tui_agent.compaction.hooks import Hooks
    from tui_agent.compaction.making import Look
    from tui_agent.compaction.strategy import Model
    from tui_agent.context import Backup, Context, Weight
    from tui_agent.context.reading import Shown
    from tui_agent.settings.schema import Price

T = TypeVar("T")

_LEAST_GAIN = 0.1
"""A run that nobody asked for and that frees less than this part of the limit is fruitless: the next would be due at
once."""
_WITHOUT_MODEL = "extractive"


class Compactor:
    """Compacts one log, one run at a time. `gate` is held while the log is rewritten.

    `on_compacted` are told of each compaction; what one of them raises becomes a notice.
    """

    def __init__(
        self,
        *,
        context: Context,
        around: Around,
        gate: asyncio.Lock,
        emit: Emit,
        on_compacted: Sequence[Callable[[], object]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._around = around
        self._gate = gate
        self._emit = emit
        self.on_compacted = on_compacted
        self._clock = clock
        self._consent = Consent(context, around, emit, self._say)
        self._cutting = Cutting(context, around, gate, emit)
        self.ahead = Ahead(context, self._prepared, around.spawn, emit)
        self.busy = False
        """True while a summary is made or put in force."""
        self.stage = ""
        """What is done now, in words."""
        self.cancelled_by = "cancelled"
        """What the next cancellation comes of: cancelled (by a person), superseded, or anew (another one is wanted)."""
        self._in_force = False
        """True once the running one can be stopped no more."""
        self._told: asyncio.Task[None] | None = None
        """The hook after a compaction."""
        self.fruitless = 0
        """How many runs in a row failed or gained next to nothing."""

    async def compact(self, wanted: Wanted) -> bool:
        """Compact; True if a summary is in force. Tells what happens, and why nothing did."""
        started, name = self._clock(), wanted.strategy or self._around.policy().settings.strategy
        self.busy, self._in_force, self.cancelled_by = True, False, "cancelled"
        if wanted.trigger == "manual":
            self.fruitless = 0
        try:
            return await self._compact(wanted, name, started)
        except Skipped as skipped:
            self.fruitless += skipped.reason == "cut"
            self._emit(CompactionSkipped(wanted.trigger, skipped.reason, str(skipped)))
        except asyncio.CancelledError:
            if not self._in_force:
                self._emit(CompactionSkipped(wanted.trigger, *_STOPPED[self.cancelled_by]))
            raise
        except (CompactionFailed, ProviderError, ContextError) as error:
            self.fruitless += 1
            ways = tuple(getattr(error, "ways", ()))
            self._emit(Failed(wanted.trigger, name, str(error), self._clock() - started, ways))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self._emit(Failed(wanted.trigger, name, reason, self._clock() - started))
            raise
        finally:
            self.busy, self.stage = False, ""
        return False

    async def _compact(self, wanted: Wanted, name: str, started: float) -> bool:
        policy = self._around.policy()
        ready = await self.ahead.take(wanted, policy.limit(self._around.window()))
        if ready is not None:
            wanted = replace(wanted, trigger="ahead")
        self._begin(wanted, name)
        await self._consent.of_hook(wanted, name)
        found = ready or await self._made(wanted, name)
        self._emit(CompactionSummary(found.text, found.tokens))
        asked = self._clock()
        found = await self._consent.to_summary(found)
        started += self._clock() - asked  # a person's reading is no time that it took
        await self._commit(found, wanted, started)
        return True

    def _begin(self, wanted: Wanted, name: str) -> None:
        weight, window = self._context.weigh(), wanted.window or self._around.window()
        self._emit(
            CompactionStarted(
                trigger=wanted.trigger,
                strategy=name,
                tokens=weight.total,
                mark=weight.mark,
                window=window,
                limit=self._around.policy().limit(window),
                instruction=wanted.instruction,
                guessed=wanted.window is None and self._around.guessed(),
            )
        )

    def _say(self, stage: str) -> None:
        self.stage = stage
        self._emit(CompactionStage(stage))

    def _hear(self, event: Event) -> None:
        if isinstance(event, CompactionStage):
            self.stage = event.stage
        self._emit(event)

    # --- making ------------------------------------------------------------------------------------------------------

    async def _made(self, wanted: Wanted, name: str) -> Made:
        """A summary by the strategy; without a model where that fails and nothing can be sent otherwise."""
        self._say("looking at the history")
        found = await self._look(wanted)
        if not found.retained.replaced:
            await self._cutting.only(found)
        model = self._around.model(self._hear)
        self._say("summarising")
        try:
            return _with_usage(await self._summarised(found, name, model), model)
        except (CompactionFailed, ProviderError) as error:
            await self._cutting.instead(found, error)
            if name == _WITHOUT_MODEL or not await self._consent.to_fall_back(wanted, found, error):
                raise
        self._say("summarising without a model")
        return _with_usage(await self._summarised(found, _WITHOUT_MODEL, model), model)

    async def _look(self, wanted: Wanted) -> Look:
        around, window = self._around, wanted.window or self._around.window()
        policy, thinking = around.policy(), around.thinking()
        async with self._gate:  # not between a command's checkpoint and its record
            return await asyncio.to_thread(
                look, self._context, wanted, policy, window=window, thinking=thinking
            )

    async def _summarised(self, found: Look, name: str, model: Model) -> Made:
        strategy = await asyncio.to_thread(self._around.strategy, name)
        try:
            return await made(found, strategy, model)
        except CompactionFailed as error:
            if not found.burden:
                raise
            raise CompactionFailed(f"{error}. Besides, {found.burden}", ways=error.ways) from error

    async def _prepared(self) -> Made | None:
        """A summary to have at hand, made without a word; None if there is nothing to gain."""
        wanted, name = Wanted("ahead"), self._around.policy().settings.strategy
        found = await self._look(wanted)
        if not found.retained.replaced:
            return None
        model = self._around.model(lambda event: None)
        return _with_usage(await self._summarised(found, name, model), model)

    # --- putting in force --------------------------------------------------------------------------------------------

    async def _commit(self, found: Made, wanted: Wanted, started: float) -> None:
        self._say("putting it in force")
        fresh = await self._around.fresh()
        async with self._gate:
            found = replace(found, look=await asyncio.to_thread(renewed, self._context, found.look))
            before = self._context.weigh()
            backup, cancelled = await self._rewritten(found, wanted, started, fresh)
        self._in_force = True
        _, later = await _to_its_end(self._tell(found, wanted, backup, before, started, fresh))
        if (stopped := later or cancelled) is not None:
            raise stopped

    async def _rewritten(
        self, found: Made, wanted: Wanted, started: float, fresh: Fresh
    ) -> tuple[Backup, asyncio.CancelledError | None]:
        """The backup, and the cancellation that came while the log was rewritten."""
        seen = found.look
        summary, states = summary_body(found.text, seen.ledger), {"ledger": seen.ledger.value()}
        contract = Contract(seen.retained, state=states, summary=summary["id"])
        change = Replacement(
            summary=summary,
            kept=seen.retained.preserved,
            until=seen.upto,
            generation=seen.generation,
            states=states,
            prompt=fresh.prompt,
            tools=fresh.tools,
            elided=seen.retained.cut,
        )

        def check(after: Shown) -> None:
            if missing := contract.missing(after, self._context):
                raise CompactionFailed(f"what must stay would be missing: {', '.join(missing)}")

        figures = self._figures(found, wanted, started)
        try:
            return await _to_its_end(self._context.compact(change, figures=figures, check=check))
        except ContextError as error:
            if self._context.generation == seen.generation:
                raise
            # it is in force, and the disk did not confirm it
            self._emit(Notice(str(error), "error", "compaction"))
            return self._context.backups()[0], None

    def _figures(self, found: Made, wanted: Wanted, started: float) -> dict[str, Any]:
        replaced, usage = found.look.retained.replaced, found.usage or Usage()
        return {
            "trigger": wanted.trigger,
            "strategy": found.strategy,
            "replaces": [replaced[0].id, replaced[-1].id],
            "replaced": len(replaced),
            "kept": list(found.look.retained.words()),
            "newest": found.look.terms.newest,
            "budget": found.look.terms.budget,
            "seconds": round(self._clock() - started, 3),
            "input": usage.total - usage.output,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "model": self._context.model,
            "cost": cost_of(found.usage, self._around.price()),
            "mark": self._context.weigh().mark,
            **({"instruction": wanted.instruction} if wanted.instruction else {}),
            **({"doubts": list(found.doubts)} if found.doubts else {}),
        }

    async def _tell(
        self, found: Made, wanted: Wanted, backup: Backup, before: Weight, started: float, fresh: Fresh
    ) -> None:
        head, after = backup.figures, self._context.weigh().total
        limit = self._around.policy().limit(wanted.window or self._around.window())
        gained = after < limit and _freed(found, before.total - after) >= _LEAST_GAIN * limit
        self.fruitless = 0 if gained or wanted.trigger == "manual" else self.fruitless + 1
        for told in self.on_compacted:
            try:
                told()
            except Exception as error:  # noqa: BLE001 - the summary is in force, whatever a listener makes of it
                self._emit(Notice(f"after the compaction: {type(error).__name__}: {error}", "warning"))
        await self._around.settled()
        self._emit(Rotated("compaction", backup.name, len(self._context.records)))
        completed = CompactionCompleted(
            trigger=wanted.trigger,
            strategy=found.strategy,
            before=before.total,
            after=after,
            seconds=self._clock() - started,
            backup=backup.name,
            summary=str(head["summary"]),
            text=found.text,
            replaced=int(head["replaced"]),
            kept=tuple(head["kept"]),
            doubts=found.doubts,
            lost=int(head.get("dropped", 0)),
            input=int(head["input"]),
            output=int(head["output"]),
            cache_read=int(head["cache_read"]),
            cache_write=int(head["cache_write"]),
            cost=head["cost"],
            model=str(head["model"]),
            mark=before.mark,
        )
        self._emit(completed)
        for text in (*found.notes, *fresh.words):
            self._emit(Notice(text, "info", "compaction"))
        if after >= limit:
            await self._warn(wanted.window or self._around.window())
        hooks = self._around.hooks()
        if hooks.has("post_compact"):
            self._told = self._around.spawn(self._after(hooks, completed), "post_compact hook")

    async def _warn(self, window: int) -> None:
        """Say why there is still no room, and what follows."""
        found = await asyncio.to_thread(outlook, self._context, self._around.policy(), window)
        self._emit(Notice(f"the next request has {found.words}", "warning", "compaction"))

    async def until_told(self) -> None:
        """Wait until the hook after the newest compaction has ended."""
        if self._told is not None:
            await asyncio.wait([self._told])

    async def _after(self, hooks: Hooks, completed: CompactionCompleted) -> None:
        figures = {
            key: getattr(completed, key) for key in ("trigger", "strategy", "before", "after", "backup")
        }
        verdict = await hooks.after({**figures, "session": str(self._context.path.parent)})
        if verdict.notice:
            self._emit(Notice(verdict.notice, "warning", "compaction"))


_STOPPED = {
    "cancelled": ("cancelled", "stopped before anything was changed"),
    "superseded": ("superseded", "the history was changed meanwhile, so it was given up"),
    "anew": ("superseded", "another one was asked for"),
}


def _freed(found: Made, less: int) -> int:
    """The tokens that a summary freed, where the next request is thought to weigh so much `less`.

    That is partly because what stays is estimated now, and was counted before; so what went is asked too.
    """
    retained = found.look.retained
    return less if retained.cut else min(less, retained.tokens.count - found.tokens)


def cost_of(usage: Usage | None, price: Price | None) -> float | None:
    """What requests cost in US dollars; None where no price is set or nothing was counted."""
    return None if usage is None or price is None else cost(usage, price)


def _with_usage(found: Made, model: Model) -> Made:
    """With the figures of all requests, those of a strategy that failed before among them."""
    usage = getattr(model, "usage", None)
    return replace(found, usage=usage) if isinstance(usage, Usage) else found


async def _to_its_end(work: Coroutine[Any, Any, T]) -> tuple[T, asyncio.CancelledError | None]:
    """`work`, to its end whatever happens to the caller, and the cancellation that came meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    return task.result(), cancelled
