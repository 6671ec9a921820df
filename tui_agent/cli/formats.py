"""What a run without a screen tells: as text while it happens, as one object at the end, or a line for each event."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.changes import (
    CompactionCompleted,
    CompactionFailed,
    CompactionSkipped,
    LogFailed,
    MemoryChanged,
    MemoryProposed,
)
from tui_agent.cli.report import complain, say, say_json
from tui_agent.cli.ways import in_shell, with_ways
from tui_agent.events import (
    Asked,
    Event,
    Notice,
    ReplyDropped,
    ReplyEnded,
    RequestFailed,
    RetryWaiting,
    SessionOpened,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from tui_agent.literal import one_line, visible
from tui_agent.llm.money import KINDS, Tally, figures
from tui_agent.settings.secrets import redact

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.settings.schema import Price

_STATEMENT_CHARACTERS = 200


def opened(session: str) -> str:
    """The command that opens a session on the screen."""
    return f"tui-agent --resume {session}"


class Reporter:
    """Hears the events of a run and tells them in one of the formats. `prices` are those of settings, by model."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices

    def hear(self, event: Event) -> None:
        """Something happened."""

    def refused(self, asked: Asked) -> None:
        """A question is being answered with no."""

    def presented(self, plan: str) -> None:
        """A plan was presented, as Markdown."""

    async def close(self, session: Session) -> None:
        """All is over, and the session still open."""

    def end(self, session: str, ended: TurnEnded, goal: Mapping[str, Any] | None) -> None:
        """All is over. `goal`: how it stands, where it was one."""


class _Text(Reporter):
    """The answer as it comes; everything else on the standard error."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        super().__init__(prices)
        self._show = visible if sys.stdout.isatty() else str
        self._at_line_start = True
        self._block = 0
        self._told = False
        self._failed = False
        self._in_the_way = ""
        """Why it was not compacted, told last: a turn meets the same more than once."""

    def hear(self, event: Event) -> None:
        match event:
            case TextDelta(text=text, block=block) if text:
                if block != self._block and not self._at_line_start:
                    say("")
                self._block = block
                say(self._show(text), end="")
                self._at_line_start = text.endswith("\n")
                self._told = True
            case ReplyEnded() | ReplyDropped() if self._told:
                self._finish_line()
                if isinstance(event, ReplyDropped):
                    complain(f"the answer above does not count: {event.reason}")
            case Notice(text=text):
                complain(text)
            case SessionOpened(repaired=texts):
                for text in texts:
                    complain(text)
            case MemoryChanged(what="accepted", scope="session", key=key):
                complain(
                    f"noted for this session: {one_line(key or 'a few words')}; tui-agent memory list --all"
                )
            case MemoryProposed(refused=False):
                complain(_proposed(event))
            case CompactionCompleted(before=before, after=after, backup=backup):
                complain(f"compacted from about {before:,} to {after:,} tokens; what was before is {backup}")
            case CompactionFailed(reason=why) | CompactionSkipped(detail=why):
                if why != self._in_the_way:
                    complain(f"not compacted: {in_shell(why)}")
                self._in_the_way = why
            case RetryWaiting(attempt=attempt, attempts=attempts, seconds=seconds, reason=reason):
                complain(f"{reason}; asking again in {seconds:.0f} s ({attempt} of {attempts})")
            case RequestFailed() | LogFailed():
                self._failed = True
                complain(_told(event))
            case TurnEnded(error=error) if error and not self._failed:
                complain(error)

    def refused(self, asked: Asked) -> None:
        question = asked.question
        rule = f"; --allow {question.rule!r} would allow it" if question.rule else ""
        what = f"{question.tool}: {question.body}" if question.body else question.title
        complain(f"refused: {one_line(what.strip(), _STATEMENT_CHARACTERS)}{rule}")

    def presented(self, plan: str) -> None:
        self._finish_line()
        say(self._show(plan))

    def end(self, session: str, ended: TurnEnded, goal: Mapping[str, Any] | None) -> None:
        self._finish_line()
        if goal is not None:
            if (
                goal["status"] != "complete"
            ):  # why the work on it ended was said, not where it can be gone on with
                complain(f"to go on with the goal: {opened(session)}")
            return
        if ended.reason not in ("end_turn", "stop_sequence", "planned", "failed"):
            complain(f"the turn ended early: {ended.reason}")

    def _finish_line(self) -> None:
        if not self._at_line_start:
            say("")
        self._at_line_start = True
        self._told = False


class _Json(Reporter):
    """One object when all is over."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        super().__init__(prices)
        self._text = ""
        self._calls: dict[str, dict[str, Any]] = {}
        self._tally = Tally(prices)
        self._summaries = 0
        self._session: Mapping[str, Any] | None = None
        """What the whole session came to; None if that cannot be read."""
        self._error = self._plan = ""

    def presented(self, plan: str) -> None:
        self._plan = plan

    def hear(self, event: Event) -> None:
        match event:
            case ReplyEnded(text=text):
                self._text = text
            case ToolStarted(call=call, tool=tool, arguments=arguments):
                self._calls[call] = {"id": call, "name": tool, "input": dict(arguments)}
            case ToolEnded(call=call, tool=tool, outcome=outcome, summary=summary):
                entry = self._calls.setdefault(call, {"id": call, "name": tool, "input": {}})
                entry.update(outcome=outcome, summary=summary)
            case UsageReported():
                self._add(event, event.input, predicted=event.predicted)
            case Notice(text=text, source="compaction", level="warning" | "error"):
                complain(text)
            case CompactionCompleted() if event.output:
                self._summaries += 1
                self._add(event, event.input - event.cache_read - event.cache_write)
            case RequestFailed() | LogFailed():
                self._error = _told(event)

    def _add(
        self, event: UsageReported | CompactionCompleted, plain: int, predicted: int | None = None
    ) -> None:
        self._tally.add(
            event.model,
            input=plain,
            output=event.output,
            cache_read=event.cache_read,
            cache_write=event.cache_write,
            predicted=predicted,
        )

    async def close(self, session: Session) -> None:
        from tui_agent.agent.commands.cost import cost
        from tui_agent.agent.requests import NotBuilt

        try:
            self._session = (await cost(session)).data
        except (NotBuilt, OSError) as error:
            complain(f"what the session cost cannot be read: {error}")

    def end(self, session: str, ended: TurnEnded, goal: Mapping[str, Any] | None) -> None:
        total = self._tally.total
        result = {
            "session": session,
            "text": self._text,
            "tool_calls": list(self._calls.values()),
            "usage": {kind: getattr(total, kind) for kind in KINDS},
            "cost": {"run": figures(self._tally, self._summaries), "session": self._session},
            "stop_reason": ended.reason,
        }
        if self._plan:
            result["plan"] = self._plan
        if goal is not None:
            result["goal"] = goal
        if ended.reason == "failed":
            result["error"] = self._error or ended.error
            complain(str(result["error"]) or "the turn failed")
        say_json(result)


class _StreamJson(Reporter):
    """Each event a line."""

    def hear(self, event: Event) -> None:
        say_json(redact(event.as_json()), lines=True)


REPORTERS: dict[str, type[Reporter]] = {"text": _Text, "json": _Json, "stream-json": _StreamJson}
"""By the name of the format."""


def _proposed(event: MemoryProposed) -> str:
    after = f", after reading {', '.join(map(one_line, event.outside))}" if event.outside else ""
    what = one_line(f"{event.key}: {event.body}", _STATEMENT_CHARACTERS)
    return f"to be remembered ({event.scope}{after}), if you agree: {what}; tui-agent memory accept {event.id[:10]}"


def _told(failure: RequestFailed | LogFailed) -> str:
    """The failure with its ways out; a log's message names them already."""
    if isinstance(failure, LogFailed) or not failure.ways:
        return failure.message
    message = "; ".join(failure.message.splitlines())
    return with_ways(message, failure.ways)
