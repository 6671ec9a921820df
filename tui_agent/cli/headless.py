"""`tui-agent -p PROMPT`: one prompt, answered without a screen.

`text` streams the answer to the standard output and what went on around it (notices, refused calls, errors) to the
standard error. `json` prints one object at the end, with what the run and the session cost; `stream-json` a line for
each event. Nobody can be asked here:
a tool call that no rule allows is refused, and the model is told so; a plan is printed, and ends the turn. An
interrupt stops the turn, leaves a sound session and ends with 130. With `--goal` the prompt is a goal, which is worked
on until it is complete (code 0), or blocked, paused or out of budget (code 1).
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.changes import (
    CompactionCompleted,
    CompactionFailed,
    CompactionSkipped,
    LogFailed,
    MemoryChanged,
    MemoryProposed,
)
from tui_agent.cli.failures import Failed
from tui_agent.cli.report import complain, say, say_json
from tui_agent.cli.ways import in_shell, with_ways
from tui_agent.commands import CommandError
from tui_agent.events import (
    Answer,
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
    TurnStarted,
    UsageReported,
)
from tui_agent.literal import one_line, visible
from tui_agent.llm.money import KINDS, Tally, figures
from tui_agent.settings.secrets import redact

if TYPE_CHECKING:
    import argparse

    from tui_agent.agent.session import Session
    from tui_agent.settings.schema import Price, Settings

NOBODY = "Nobody can be asked: there is no screen, and no rule allows the call. Do without it, or say what is needed."
"""What the model is told when a call would need an answer."""

_FAILED, _INTERRUPTED = 1, 128
_STATEMENT_CHARACTERS = 200

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(options: argparse.Namespace, workspace: Path, settings: Settings, resume: str | None) -> int:
    """Answer `options.prompt`; returns the exit code.

    Raises:
        Failed: no session could be opened, or nothing could be asked.
    """
    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    if not prompt.strip():
        raise Failed("the prompt is empty")
    for notice in settings.notices:
        complain(notice)
    reporter = _REPORTERS[options.output_format or "text"](settings.prices)
    return asyncio.run(_Run(options, workspace, settings, resume, reporter).talk(prompt))


class _Run:
    """One prompt from opening the session to closing it."""

    def __init__(
        self,
        options: argparse.Namespace,
        workspace: Path,
        settings: Settings,
        resume: str | None,
        reporter: _Reporter,
    ) -> None:
        self._options = options
        self._workspace = workspace
        self._settings = settings
        self._resume = resume
        self._reporter = reporter
        self._heard: asyncio.Queue[Event | None] = asyncio.Queue()
        self._signal = 0

    async def talk(self, prompt: str) -> int:
        """Open, ask, hear to the end, close; returns the exit code."""
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        opening = True

        def stop(number: int) -> None:
            self._signal = number
            for other in handled:  # whoever cannot wait for a clean end sends a second one
                loop.remove_signal_handler(other)
            if opening:
                task.cancel()
            else:
                self._heard.put_nowait(None)

        # nohup stays nohup
        handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in handled:
            loop.add_signal_handler(number, stop, number)
        try:
            session = await self._open()
        except asyncio.CancelledError:
            if self._signal:
                return _INTERRUPTED + self._signal
            raise
        opening = False
        try:
            return await self._ask(session, prompt)
        finally:
            await session.close()

    async def _open(self) -> Session:
        from tui_agent.settings.rules import SettingsError
        from tui_agent.wiring import OpenError, open_session

        options = self._options
        try:
            return await open_session(
                self._workspace,
                self._settings,
                resume=self._resume,
                profile=options.profile,
                demo=options.demo,
                append_system=options.append_system,
                mode=options.mode,
                allow=options.allow,
                listen=self._heard.put_nowait,
                attended=False,
            )
        except (OpenError, SettingsError) as error:
            raise Failed(str(error)) from error

    async def _ask(self, session: Session, prompt: str) -> int:
        try:
            await self._begin(session, prompt)
        except CommandError as error:
            raise Failed(str(error)) from error
        ended = None
        try:
            while ended is None or session.driver.due:
                event = await self._heard.get()
                if event is None:
                    await session.cancel()
                    continue
                self._reporter.hear(event)
                if isinstance(event, Asked):
                    if event.question.kind == "plan":
                        self._reporter.presented(event.question.editable)
                    else:
                        self._reporter.refused(event)
                    answer = Answer("dismissed", note=NOBODY)
                    await session.answer(event.question.id, answer)
                elif isinstance(event, TurnStarted):
                    ended = None
                elif isinstance(event, TurnEnded):
                    ended = event
        except (BrokenPipeError, Failed):
            await session.cancel()
            raise
        await session.until_idle()
        await session.shrinking.compactor.until_told()
        while not self._heard.empty():
            late = self._heard.get_nowait()
            if late is not None:
                self._reporter.hear(late)
            if isinstance(late, TurnEnded):
                ended = late
        goal = session.goal.now if self._options.goal else None
        await self._reporter.close(session)
        self._reporter.end(session.id, ended, None if goal is None else msgspec.to_builtins(goal))
        if self._signal:
            return _INTERRUPTED + self._signal
        reached = goal is None or goal.status == "complete"
        return 0 if reached and ended.reason != "failed" else _FAILED

    async def _begin(self, session: Session, prompt: str) -> None:
        """Say the prompt, or set it as the goal.

        Raises:
            CommandError: it cannot be.
        """
        if not self._options.goal:
            await session.submit(prompt)
            return
        from tui_agent.planning.goal import is_budget

        if not all(is_budget(word) for word in self._options.goal):
            raise CommandError("a budget is turns=10, tokens=50000 or minutes=30")
        if (old := session.goal.now) is not None and old.status != "complete":
            raise CommandError(
                f"the session has a goal already ({old.status}): {_opened(session.id)} shows it; there /goal resume "
                "goes on with it, and /goal clear drops it"
            )
        await session.perform("goal", "--", *self._options.goal, prompt)


def _opened(session: str) -> str:
    return f"tui-agent --resume {session}"


class _Reporter:
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


class _Text(_Reporter):
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
                complain(f"to go on with the goal: {_opened(session)}")
            return
        if ended.reason not in ("end_turn", "stop_sequence", "planned", "failed"):
            complain(f"the turn ended early: {ended.reason}")

    def _finish_line(self) -> None:
        if not self._at_line_start:
            say("")
        self._at_line_start = True
        self._told = False


class _Json(_Reporter):
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


class _StreamJson(_Reporter):
    """Each event a line."""

    def hear(self, event: Event) -> None:
        say_json(redact(event.as_json()), lines=True)


_REPORTERS: dict[str, type[_Reporter]] = {"text": _Text, "json": _Json, "stream-json": _StreamJson}


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
