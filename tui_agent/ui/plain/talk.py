"""The loop: what is typed, what happens, and signals, one after the other; and the end, whatever ends it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tui_agent.changes import MemoryChanged, MemoryProposed
from tui_agent.commands import CommandError, arguments
from tui_agent.events import Answer, Answered, Asked, Event, TurnStarted
from tui_agent.settings.rules import SettingsError
from tui_agent.ui.farewell import Totals, farewell
from tui_agent.ui.plain.asking import Asking
from tui_agent.ui.plain.listener import Listener
from tui_agent.ui.plain.memory import Proposals
from tui_agent.ui.plain.places import COMMANDS, NEED_A_SCREEN, Command, Said, told
from tui_agent.ui.plain.telling import Telling
from tui_agent.wiring import OpenError, open_session

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.agent.session import Session
    from tui_agent.settings.schema import Settings
    from tui_agent.tools.permission import Mode
    from tui_agent.ui.plain.voice import Voice

_AGAIN_S = 3.0
"""Seconds within which a second ctrl+c quits."""
_QUIET_S = 15.0
"""Seconds of silence after which it is said that something still runs; then twice as long, and so on."""
_CLOSE_S = 1.5
"""Seconds for closing the session when somebody ends the program."""
_RECENT = 4
"""Messages of a resumed session that are read out."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which session to open."""

    workspace: Path
    resume: str | None = None
    profile: str | None = None
    demo: bool = False
    append_system: str = ""
    model: str = ""
    mode: Mode | None = None
    """Of this session alone: leave to write is given each time."""


@dataclass(frozen=True, slots=True)
class _Typed:
    line: str | None


@dataclass(frozen=True, slots=True)
class _Signalled:
    number: int


@dataclass(frozen=True, slots=True)
class _Did:
    lines: tuple[str, ...]
    failed: bool = False


_Item = Event | _Typed | _Signalled | _Did


class _Ears:
    """What hears the events of one session, until another one is open."""

    def __init__(self, put: Callable[[_Item], None]) -> None:
        self.open = True
        self._put = put

    def __call__(self, event: Event) -> None:
        if self.open:
            self._put(event)


class Talk:
    """One run without a screen. `run` gives back the exit code."""

    session: Session
    telling: Telling
    asking: Asking
    proposals: Proposals
    _ears: _Ears

    def __init__(self, wanted: Wanted, settings: Settings, voice: Voice) -> None:
        self._wanted = wanted
        self._settings = settings
        self._voice = voice
        self._items: asyncio.Queue[_Item] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun: list[str] = []
        """Lines of a message that is not complete."""
        self._leaving = False
        self._ended = False
        self._code = 0
        self._stopped = float("-inf")
        self._patience = _QUIET_S
        self._started = time.monotonic()
        self._totals = Totals(settings.prices)

    async def run(self) -> int:
        """Talk until it is left.

        Raises:
            OpenError: there is no such session, or it cannot be read.
            SettingsError: there is no such profile.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._items.put_nowait, _Signalled(number))
        await self._open()
        try:
            Listener(lambda line: self._items.put_nowait(_Typed(line))).start()
            while not self._leaving:
                await self._next()
        except OSError:  # the terminal is gone
            self._code = 128 + signal.SIGHUP
        finally:
            for task in tuple(self._tasks):
                task.cancel()
            # a second signal while it closes changes nothing: what closes is short
            goodbye = await self._close()
        if goodbye and not self._code:
            for line in goodbye.splitlines():
                self._voice.say(line)
        return self._code

    def leave(self) -> None:
        """End the talk."""
        self._leaving = True

    async def change(self, resume: str | None) -> None:
        """Go on with another session, or a new one.

        Raises:
            CommandError: it cannot be opened; this one stays.
        """
        before, old, ears = self._wanted, self.session, self._ears
        await old.cancel()
        self._wanted = replace(before, resume=resume, mode=None)
        if resume is None and old.picked is not None:
            profile, model = old.picked
            self._wanted = replace(self._wanted, profile=profile, model=model, demo=False)
        try:
            await self._open()
        except (OpenError, SettingsError) as error:
            self._wanted, self._ears = before, ears
            raise CommandError(str(error)) from error
        ears.open = False
        await old.close()

    # --- opening and closing

    async def _open(self) -> None:
        wanted, self._ears = self._wanted, _Ears(self._items.put_nowait)
        session = self.session = await open_session(
            wanted.workspace,
            self._settings,
            resume=wanted.resume,
            profile=wanted.profile,
            model=wanted.model,
            demo=wanted.demo,
            append_system=wanted.append_system,
            mode=wanted.mode,
            listen=self._ears,
        )
        self.telling = Telling(self._voice, time.monotonic)
        self.asking = Asking(self._voice, self._answer, time.monotonic)
        self.proposals = Proposals(self._voice, self._decide, time.monotonic, busy=lambda: bool(self.asking))
        history = session.context.shown
        self._voice.say(
            f"{session.title or 'a new session'}, in {session.workspace}, {session.model} answers", "session"
        )
        if len(history):
            self._voice.say(f"{len(history):,} messages so far; /history reads more of them. The last ones:")
            for index in range(max(0, len(history) - _RECENT), len(history)):
                for line in told(history[index]):
                    self._voice.say(line)
        else:
            self._voice.say(
                "before anything is written or run, you are asked. /help lists the commands", "note"
            )
        for question in session.questions.open():
            self.asking.ask(question)
        for proposal in await asyncio.to_thread(session.memories.waiting):
            self.proposals.hear(proposal)

    async def _close(self) -> str:
        goodbye = farewell(self.session, self._totals.line(time.monotonic() - self._started))
        with suppress(TimeoutError):
            await asyncio.wait_for(self.session.close(), _CLOSE_S if self._code else None)
        return goodbye

    # --- one thing after the other

    async def _next(self) -> None:
        if self._items.empty():
            self._prompt()
        try:
            item = await asyncio.wait_for(self._items.get(), 1.0)
        except TimeoutError:
            self._quiet()
            return
        match item:
            case _Typed(line=line):
                self._typed(line)
            case _Signalled(number=number):
                await self._signalled(number)
            case _Did(lines=lines, failed=failed):
                for line in filter(None, lines):
                    self._voice.say(line, "error" if failed else "")
            case _:
                self._heard(item)

    def _prompt(self) -> None:
        if self.asking:
            self._voice.ask(self.asking.prompt)
        elif self.proposals and not self._ended:
            self._voice.ask(self.proposals.prompt)
        elif self._begun:
            self._voice.ask("more: ")
        elif not (self.telling.doing or self.telling.sends or self._tasks):
            if self._ended:
                self.leave()
            else:
                self._voice.ask("you: ")

    def _quiet(self) -> None:
        if self.telling.doing and not self.asking and self.telling.since() >= self._patience:
            self._patience *= 2
            self.telling.still()

    def _heard(self, event: Event) -> None:
        self._patience = _QUIET_S
        self._totals.hear(event)
        self.telling.hear(event)
        if isinstance(event, Asked):
            self.asking.ask(event.question)
        elif isinstance(event, Answered):
            self.asking.settle(event.question)
            self.proposals.go_on()
        elif isinstance(event, MemoryProposed):
            self.proposals.hear(event)
        elif isinstance(event, MemoryChanged):
            self.proposals.changed(event)
        elif isinstance(event, TurnStarted):
            self.proposals.begin_turn()

    async def _signalled(self, number: int) -> None:
        now = time.monotonic()
        if number != signal.SIGINT:
            self._code = 128 + number
            self.leave()
        elif self.session.busy:
            self._voice.say("stopping", "note")
            self._work(self._cancel())
        elif self._begun:
            self._begun.clear()
            self._voice.say("the message that was begun is dropped", "note")
        elif now - self._stopped < _AGAIN_S:
            self.leave()
        else:
            self._stopped = now
            self._voice.say("control C again quits", "note")

    async def _cancel(self) -> Said:
        await self.session.cancel()
        return ()

    # --- what is typed

    def _typed(self, line: str | None) -> None:
        self._voice.answered()
        if line is None:
            # a pipe that ends: what was asked is answered first; nobody can answer questions any more
            self._ended = True
            if self.asking:
                self.leave()
            return
        command = line.strip() if line.startswith("/") and not self._begun else ""
        if command and self._slash(command):
            return
        if self.asking:
            self.asking.take(line)
            return
        if not self._begun and self.proposals.take(line):
            return
        if line.endswith("\\"):
            self._begun.append(line[:-1])
            return
        text = "\n".join([*self._begun, line])
        self._begun.clear()
        if not text.strip():
            return
        if text.startswith("!") and text[1:].strip():
            self._work(self._perform("run", text[1:].strip()))
        else:
            self._work(self._submit(text))

    def _slash(self, text: str) -> bool:
        """Carry out a `/command`; False if the words are not one, such as a path."""
        name, _, rest = text[1:].partition(" ")
        if not name or "/" in name:
            return False
        here = COMMANDS.get(name)
        if here is not None and (name == "quit" or not self._claimed(name, rest)):
            self._work(self._ask_here(here, *rest.split()))
        elif name in NEED_A_SCREEN and self.session.commands.find(name) is None:
            self._voice.say(f"/{name} needs the screen: tui-agent without --plain", "note")
        else:
            known = self.session.commands.find(name)
            self._work(self._perform(name, *arguments(known.name if known is not None else "", rest)))
        return True

    def _claimed(self, name: str, rest: str) -> bool:
        """True if the session has a command of that name that takes what was typed behind it."""
        known = self.session.commands.find(name)
        return known is not None and bool(rest)

    async def _ask_here(self, command: Command, *arguments: str) -> Said:
        try:
            done = await command(self, *arguments)
        except TypeError as error:
            # a wrong number of words, not a fault inside the command
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise CommandError("it does not take these words; /help lists the commands") from error
            raise
        return done

    async def _perform(self, name: str, *arguments: str) -> Said:
        outcome = await self.session.perform(name, *arguments)
        return [outcome.text] if outcome.text else ()

    async def _submit(self, text: str) -> Said:
        self.telling.sends = not self.telling.doing
        try:
            await self.session.submit(text)
        except CommandError:
            self.telling.sends = False
            raise
        return ()

    def _answer(self, question: str, answer: Answer) -> None:
        self._work(self._answering(question, answer))

    async def _answering(self, question: str, answer: Answer) -> Said:
        await self.session.answer(question, answer)
        return ()

    def _decide(self, name: str, *arguments: str) -> None:
        self._work(self._perform(name, *arguments))

    def _work(self, work: Coroutine[Any, Any, Said]) -> None:
        """Do something beside the loop; what it comes to is said in its turn."""

        async def done() -> None:
            try:
                did = _Did(tuple(await work))
            except CommandError as error:
                did = _Did((str(error),), failed=True)
            self._items.put_nowait(did)

        task = asyncio.create_task(done())
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._items.put_nowait(_Did((f"{type(error).__name__}: {error}",), failed=True))
