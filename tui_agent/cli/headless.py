"""`tui-agent -p PROMPT`: one prompt, answered without a screen.

`text` streams the answer to the standard output and what went on around it (notices, refused calls, errors) to the
standard error. `json` prints one object at the end, with what the run and the session cost; `stream-json` a line for
each event. Nobody can be asked here: a tool call that no rule allows is refused, and the model is told so; a plan is
printed, and ends the turn. An interrupt stops the turn, leaves a sound session and ends with 130. With `--goal` the
prompt is a goal, which is worked on until it is complete (code 0), or blocked, paused or out of budget (code 1).
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui_agent.cli.failures import Failed
from tui_agent.cli.formats import REPORTERS, Reporter, opened
from tui_agent.cli.report import complain
from tui_agent.commands import CommandError
from tui_agent.events import Answer, Asked, Event, TurnEnded, TurnStarted

if TYPE_CHECKING:
    import argparse

    from tui_agent.agent.session import Session
    from tui_agent.settings.schema import Settings

NOBODY = "Nobody can be asked: there is no screen, and no rule allows the call. Do without it, or say what is needed."
"""What the model is told when a call would need an answer."""

_FAILED, _INTERRUPTED = 1, 128

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
    reporter = REPORTERS[options.output_format or "text"](settings.prices)
    return asyncio.run(_Run(options, workspace, settings, resume, reporter).talk(prompt))


class _Run:
    """One prompt from opening the session to closing it."""

    def __init__(
        self,
        options: argparse.Namespace,
        workspace: Path,
        settings: Settings,
        resume: str | None,
        reporter: Reporter,
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
                f"the session has a goal already ({old.status}): {opened(session.id)} shows it; there /goal resume "
                "goes on with it, and /goal clear drops it"
            )
        await session.perform("goal", "--", *self._options.goal, prompt)
