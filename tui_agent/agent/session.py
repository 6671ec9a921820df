"""The actor: one turn at a time, a queue, and a gate for whoever rewrites the log.

Whoever wants something calls `submit`, `perform`, `cancel` or `answer`; whoever shows something reads `context`,
`timeline`, `queue` and follows the events. A session has no method per feature: see agent/commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from tui_agent.agent import performing, pictures, shelf
from tui_agent.agent.driver import CLOSED, REWRITTEN, STOPPED, Driver
from tui_agent.agent.errand import Errand
from tui_agent.agent.heeding import Heeding
from tui_agent.agent.mending import close_calls
from tui_agent.agent.queue import Queue
from tui_agent.agent.requests import Requests
from tui_agent.agent.showing import Showing, title_of
from tui_agent.agent.shrinking import Shrinking
from tui_agent.agent.speaker import Chosen, Speaker
from tui_agent.agent.spending import Spending
from tui_agent.agent.turn import Turn
from tui_agent.agent.work import Work
from tui_agent.changes import LogFailed
from tui_agent.commands import CommandError, Outcome
from tui_agent.context import ContextError
from tui_agent.events import Answer, Event, ModelChanged, Notice, QueuedPrompt, Reminded, TitleChanged
from tui_agent.messages.exchange import open_calls
from tui_agent.sessions.folder import SessionError
from tui_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from tui_agent.agent.parts import Parts
    from tui_agent.messages.blocks import Block
    from tui_agent.planning.goal import State
    from tui_agent.prompt.manifest import Manifest
    from tui_agent.settings.schema import Settings


class Session(Showing):
    """One conversation. `read_only` says why nothing can be written, or is empty."""

    def __init__(self, parts: Parts, *, title: str = "") -> None:
        self.folder = parts.folder
        self.workspace = parts.workspace
        self.settings = parts.settings
        self.context = parts.context
        self.timeline = parts.timeline
        self.todo = parts.todo
        self.plans = parts.plans
        self.goal = parts.goal
        self.memories = parts.memories
        self.questions = parts.questions
        self.commands = parts.commands
        self.rules = parts.rules
        self.servers = parts.servers
        self.redact = parts.redact
        self.title = title
        """Given by a person, or the first words said; empty before."""
        self.read_only = ""
        self.picked: tuple[str, str] | None = None
        """The profile and the model that a person chose here; None while it is the one it was opened with."""
        self._toolbox = parts.toolbox
        self._bus = parts.bus
        self._replies = parts.replies
        self._choose = parts.choose
        self._choose_from = parts.choose_from
        self.premises = parts.premises
        self._gate, self._readying = asyncio.Lock(), asyncio.Lock()
        self._queue = Queue(parts.bus.emit)
        self._speaker = Speaker(parts.chosen, self._adopted)
        self.shrinking = Shrinking(
            context=parts.context,
            replies=parts.replies,
            speaker=self._speaker,
            questions=parts.questions,
            settings=lambda: self.settings,
            workspace=parts.workspace,
            gate=self._gate,
            emit=parts.bus.emit,
            fresh=parts.premises.fresh,
            attended=parts.attended,
            is_busy=lambda: self.busy,
            wake=lambda: self._work.start(),
            spawn=self.beside,
            on_compacted=parts.on_compacted,
        )
        """What makes the context smaller: by itself, and on demand."""
        self.driver = Driver(goal=parts.goal, context=parts.context, emit=parts.bus.emit)
        """What works on the goal without a person's words."""
        parts.bus.listen(self.driver.hear)
        turn = Turn(
            context=parts.context,
            replies=parts.replies,
            calls=parts.calls,
            emit=parts.bus.emit,
            gate=self._gate,
            begin=self._begin,
            deliver=self._queue.deliver,
            remind=self._remind,
            relieve=self.shrinking.relieve,
            recover=self.shrinking.recover,
            may_ask=self.driver.may_ask,
        )
        self._work = Work(
            turn=turn,
            queue=self._queue,
            driver=self.driver,
            shrinking=self.shrinking,
            speaker=self._speaker,
            emit=parts.bus.emit,
        )
        self.requests = Requests.of(parts, lambda: self.provider, self.prepare)
        """Every request that was sent, and the next one."""
        self.spending = Spending(self.requests, parts.context, lambda: self.settings.prices)
        """What they came to."""
        self.errand = Errand.of(parts, self._gate, self._ready)
        """Runs what a person wants to run themselves; None without a shell."""
        self._reminders = parts.remind
        self.heeding = Heeding(lambda: self.settings, self.take_settings, parts.bus.emit)
        """Takes settings that were changed by hand."""

    # --- what is told ----------------------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """Tell everybody who follows."""
        self._bus.emit(event)

    def follow(self) -> AsyncIterator[Event]:
        """Every event from this call on, until the session is closed."""
        return self._bus.follow()

    # --- what can be asked -----------------------------------------------------------------------------------

    async def submit(
        self, text: str, *, when: Literal["step", "turn"] = "step", images: Sequence[Block] = ()
    ) -> None:
        """Say something to the model. While a turn runs it waits: for the next step, or for the end of the turn.

        `images` are blocks that `picture` gave; in the message they stand before the words, in this order.

        Raises:
            CommandError: the words are blank, a picture is gone, or the session can only be read.
        """
        if not text.strip():
            raise CommandError("there is nothing to send")
        self.check_writable()
        try:
            await pictures.at_hand(self.folder.blobs, images, self.folder.path.parent)
        except (ToolError, ContextError) as error:
            raise CommandError(str(error)) from error
        if not (self.busy or self._queue):
            when = "turn"
        self._queue.add(text, when, images)
        self._work.start()

    def check_writable(self) -> None:
        """Nothing, if something may be written.

        Raises:
            CommandError: the session can only be read, and why.
        """
        if self.read_only:
            raise CommandError(self.read_only)

    def retry(self) -> None:
        """Send the request that failed once more, with nothing said before it.

        Raises:
            CommandError: a turn runs, or nothing waits for an answer.
        """
        self.check_writable()
        if self.busy:
            raise CommandError("a turn runs: it is sent when it is its time")
        history = self.context.history
        if not len(history) or (history[-1].role != "user" and not open_calls(history)):
            raise CommandError("nothing waits for an answer: say something")
        self._work.retry()

    async def picture(self, data: bytes, name: str) -> Block:
        """Keep a picture, so that it can be sent: the block for `submit`. A large one is scaled.

        Raises:
            CommandError: it cannot be sent or kept, and why.
        """
        self.check_writable()
        try:
            return await pictures.from_person(self.folder.blobs, data, name)
        except (ToolError, ContextError) as error:
            raise CommandError(str(error)) from error

    async def begun(self) -> None:
        """Write what a log begins with where that is missing, so that a record may follow.

        Raises:
            CommandError: the session can only be read.
        """
        self.check_writable()
        if self.context.system_prompt is None:
            async with self._gate:
                await self.premises.write_missing()  # what is still asked for is not waited for

    def withdraw(self, prompt: str) -> QueuedPrompt | None:
        """Take a waiting prompt out of the queue and give it back; None if it is not waiting any more."""
        return self._queue.withdraw(prompt)

    def requeue(self, prompt: QueuedPrompt, place: int) -> None:
        """Let a prompt that was withdrawn wait again, before the one at `place` (counted from 0)."""
        self._queue.insert(place, prompt)
        if not self._queue.paused:
            self._work.start()

    def go_on(self) -> None:
        """Let a queue that an interrupt holds go on."""
        self._queue.go_on()
        self._work.start()

    async def perform(self, name: str, *arguments: str) -> Outcome:
        """Carry out a command by any of its names. One that rewrites history stops the running turn first.

        A name that is no command's but a skill's calls the skill, and that of a server's prompt the prompt.

        Raises:
            CommandError: there is no such command, or it cannot be carried out; says why.
        """
        return await performing.perform(self, name, *arguments)

    async def pursue(self, how: Callable[[], Awaitable[State]]) -> State:
        """Set the goal or resume it as `how` does, and let the work on it begin as soon as no turn runs.

        Raises:
            CommandError: the session can only be read.
            GoalError, ContextError: as `how`.
        """
        await self.begun()
        state = await how()
        self._work.start()
        return state

    async def cancel(self, why: str = STOPPED) -> bool:
        """Stop what runs and wait until its log is sound; False if nothing does. The queue is held.

        A goal that is worked on is paused, for the reason given.
        """
        stopped = await self._work.stop(why)
        if self.errand is not None:
            return await self.errand.stop() or stopped
        return stopped

    async def answer(self, question: str, answer: Answer) -> None:
        """Answer what waits.

        Raises:
            NoSuchQuestion: it does not wait any more.
        """
        self.questions.answer(question, answer)

    @asynccontextmanager
    async def between_turns(self) -> AsyncIterator[None]:
        """Stop what runs, then hold the gate: nothing else touches the log meanwhile."""
        self.shrinking.superseded()
        await self.cancel(REWRITTEN)
        async with self._gate:
            try:
                with self.plans.mode.followed(self.emit):
                    yield
            finally:
                self.driver.rewritten()
                await self.driver.settle()
                await self.memories.follow()
        heads = self.context.heads
        self.announce_break(f"the history was changed ({heads[-1].op})" if heads else "")
        self._replies.weigh()
        self.shrinking.rotated()

    async def until_idle(self) -> None:
        """Wait until no turn runs and nothing waits to be sent."""
        await self._work.until_idle()

    def weigh(self, *, lacking: int | None = None) -> None:
        """Tell the weight of the next request (`Weighed`); `lacking`: tokens that a new log still lacks."""
        if lacking is not None:
            self._replies.lacking = lacking
        self._replies.weigh()

    def announce_break(self, why: str = "") -> None:
        """What is sent next does not extend what was sent last, and is meant not to; `why` in words, where known."""
        self._replies.watch.announce(why)

    def beside(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run something beside the turns, under a name; `close` stops it. What it raises becomes a notice."""
        return self._work.beside(work, name)

    async def manifest(self) -> Manifest:
        """The manifest of the request that the next prompt would send.

        Raises:
            NotBuilt: it cannot be built, as there is no room for it; says the ways out.
        """
        return (await self.requests.next()).manifest

    async def use_model(self, name: str) -> Chosen:
        """Ask another profile or model from the next turn on.

        Raises:
            CommandError: it cannot be connected; the old one stays.
        """
        chosen = await self._speaker.choose(self._choose(name))
        self.picked = chosen.profile, chosen.provider.model
        if not self.busy:
            await self._speaker.adopt()
        return chosen

    async def use_thinking(self, level: str) -> None:
        """Let the model think so much from the next turn on."""
        self._speaker.think(level)
        if not self.busy:
            await self._speaker.adopt()

    def take_settings(self, settings: Settings) -> None:
        """Choose models by these settings from now on."""
        self.settings = settings
        self._choose_from(settings)

    async def rename(self, title: str) -> None:
        """Give the session another title.

        Raises:
            CommandError: it could not be written.
        """
        title = self.redact(title)
        await self.save_meta(title=title)
        self.title = title
        self.emit(TitleChanged(title))

    async def save_meta(self, **changes: Any) -> None:
        """Change what session.toml says.

        Raises:
            CommandError: it could not be written.
        """
        try:
            await asyncio.to_thread(self.folder.save_meta, **changes)
        except SessionError as error:
            raise CommandError(str(error)) from error

    async def prepare(self) -> None:
        """Learn the model's name and limits where settings leave them open, and tell them.

        Raises:
            ProviderError: the endpoint cannot be reached, refuses, or names no model.
        """
        provider = self.provider
        before = provider.model, provider.window, provider.guessed
        await self._replies.prepare()
        for assumed in provider.assumed:
            self.emit(Notice(assumed, "info", "model"))
        if provider is self.provider and (provider.model, provider.window, provider.guessed) != before:
            self.emit(ModelChanged(self.model, self.window, self.demo, self.guessed))
            self.weigh()

    async def mend(self) -> list[str]:
        """Close what a killed program left open, with records that say so. Returns what was done, in words."""
        mended = await close_calls(self.context, self.provider.model)
        # only now, since nothing may stand between a call and its result
        return mended + (await self.errand.mend() if self.errand is not None else [])

    async def close(self) -> None:
        """Stop what runs, give the log back, and remove the folder of a session in which nothing was said."""
        if self._work.closed:
            return
        self._work.closed = True  # before what runs is stopped: nothing may begin in its place
        await self.cancel(CLOSED)
        await self._work.close()
        await self._toolbox.close()
        await self._speaker.close()
        try:
            await self.context.close()
        except ContextError as error:
            self.emit(LogFailed(str(error), error.ways))
        self._bus.close()
        await asyncio.to_thread(self.folder.remove_if_unused)

    # --- how it works ----------------------------------------------------------------------------------------

    async def _begin(self, words: str) -> None:
        await self.heeding.heed()
        await self._speaker.adopt()
        await self._ready()
        await self.driver.settle()
        if not self.title and words:
            title = title_of(words)
            try:
                await self.rename(title)
            except CommandError as error:
                self.title = title
                self.emit(Notice(f"the title was not kept: {error}", "warning", "session"))

    async def _remind(self, words: str) -> Reminded | None:
        await self.heeding.heed()  # words that came in the middle of a turn are asked for here alone
        if words:
            await shelf.take_out(self.folder, self.memories, self.emit)
        return await self._reminders(words)

    async def _ready(self) -> None:
        """Make the log one that a message may be appended to; who asks meanwhile waits."""
        async with self._readying:
            await self._make_ready()

    async def _make_ready(self) -> None:
        await self.premises.settle()
        await self.premises.write_missing()
        await self.plans.mode.keep(self.emit)
        for text in await self.mend():
            self.emit(Notice(text, "warning", "session"))

    def _adopted(self, chosen: Chosen) -> None:
        self.announce_break()
        self._replies.use(chosen.provider, chosen.thinking)
        self.emit(ModelChanged(self.model, self.window, self.demo, self.guessed))
        self._replies.weigh()
