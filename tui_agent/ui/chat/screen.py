"""The chat: widgets' messages become calls on the session, the session's events become changes of widgets.

    ChatScreen
      StatusLine                      who is asked, how full, what happens
      #body
        #chat
          #view      Transcript, and over it the line that says how much is new below
          Dock       one card at a time
          QueueLine, Completion
          #prompt    Composer
        Panel        the inspector, beside the chat or over it
        Jump         the card that goes back to a checkpoint, over the chat
      KeyLine                         what can be pressed now

It takes `Composer.Submitted`, `Dock.Chosen`, `Panel.Asked`, `Jump.Chosen` and the transcript's `CheckpointChosen` and
`NewLines`; it posts `ScreenWanted`, `QuitWanted` and `WayOut` to the app. The session comes late: until it is attached,
words that were sent wait. It is a tower: `Keyed` (keys), `Asking` (commands), `Places` (inspector, jump card),
`Ladders` (what ctrl+c and Esc mean), this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual import work
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui_agent.commands import CommandError
from tui_agent.events import Question, QueuedPrompt
from tui_agent.ui import footer, words
from tui_agent.ui.cards.dock import Dock
from tui_agent.ui.chat import layout
from tui_agent.ui.chat.completion import Completion, Files, matching_commands
from tui_agent.ui.chat.hearing import Hearing
from tui_agent.ui.chat.history import Draft
from tui_agent.ui.chat.keep import Keep
from tui_agent.ui.chat.ladders import Ladders
from tui_agent.ui.chat.queue import QueueLine
from tui_agent.ui.chat.todo import Todo
from tui_agent.ui.commands import listed
from tui_agent.ui.terminal import on_another_machine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

    from tui_agent.agent.session import Session
    from tui_agent.events import Emit, Event, Rotated
    from tui_agent.ui import bindings
    from tui_agent.ui.chat.composer import Composer
    from tui_agent.ui.transcript.view import Transcript

_IDLE = 1.0
"""Seconds without a key after which a card may take the focus from an empty composer."""
_KEEP_AFTER = 1.0
"""Seconds after a change until the draft is written."""

WAYS_OUT = ("Try again", "Begin a new session", "Use the demo model", "Quit")
"""What can be done when a session cannot be opened."""
_OPENING = "opening"


class ChatScreen(Ladders):
    """The one screen of a conversation."""

    AUTO_FOCUS = "#composer"

    @dataclass
    class WayOut(Message):
        """The session could not be opened; this is what to do (one of `WAYS_OUT`)."""

        choice: str

    def __init__(self, keys: bindings.Keys, workspace: Path, tell: Emit) -> None:
        super().__init__(keys, tell)
        self.dock = Dock(id="dock")
        self.queue_line = QueueLine(id="queue")
        self.todo = Todo(id="todo")
        self.key_line = footer.KeyLine(id="keys")
        self._workspace = workspace
        self._files = Files(workspace)
        self._hearing = Hearing(self)
        self._keep: Keep | None = None
        self._keep_timer: Timer | None = None
        self._early: list[QueuedPrompt] = []
        self._given = ""
        """The words that going back put into the composer."""
        self.acts |= {
            "card": self._next_card,
            "queue": lambda: self.tell_app(self.ScreenWanted("queue")),
            "todo": self._toggle_todo,
        }

    def compose(self) -> ComposeResult:
        yield self.status
        with Horizontal(id="body"), Vertical(id="chat"):
            with Container(id="view"):
                yield self.transcript
                yield Static(id="below", markup=False)
            yield self.dock
            yield self.todo
            yield self.queue_line
            yield self.completion
            with Horizontal(id="prompt"):
                yield Static(">", id="sign", markup=False)
                yield self.composer
        yield self.key_line

    def on_mount(self) -> None:
        self.query_one("#below").display = False
        self.status.tell(name=self._workspace.name)
        self.show_keys()

    # --- the session comes and is heard

    async def attach(self, session: Session) -> None:
        """The session is open: show it, and send what was written meanwhile."""
        self.session = session
        self.reload()
        self.status.tell(
            name=session.title or self._workspace.name,
            path=words.short_path(str(session.workspace)),
            model=session.model,
            demo=session.demo,
            window=session.window,
        )
        self.status.rest("read-only" if session.read_only else "ready")
        self._keep = Keep(session.folder, lambda text: self.say(text, "warning"))
        entries, draft = await self._keep.load()
        self.composer.past.extend_before(entries)
        self._offer_draft(draft)
        for question in session.questions.open():
            await self.ask(question)
        early, self._early = self._early, []
        self.queue_line.show(session.queue, paused=session.paused)
        self.tell_todo()
        for prompt in early:
            await self._submit(prompt.text, prompt.when)
        self.show_keys()

    def _offer_draft(self, draft: Draft) -> None:
        if not draft:
            return
        count = len(draft.queue)
        what = (
            f"{count} unsent prompts" if count > 1 else "unsent words" if draft.text else "an unsent prompt"
        )
        if self.composer.is_blank:
            self.composer.put(draft.words)
            self.say(f"{what} of last time: in the composer again; Enter sends, ctrl+c clears")
        else:
            self.composer.past.add(draft.words)
            self.say(f"{what} of last time: Up brings them back")

    async def hear(self, event: Event) -> None:
        """An event of the session."""
        await self._hearing.hear(event)

    async def open_failed(self, error: BaseException) -> None:
        """The session could not be opened: say why, and offer the ways out."""
        self.status.rest("not open")
        self.status.tell(trouble="no session")
        self.say(f"The session could not be opened. {error}", "error")
        title = "no session is open; what now?"
        await self.ask(Question(_OPENING, "choice", title, body=str(error), choices=WAYS_OUT))

    def reload(self) -> None:
        """Read the history anew."""
        if self.session is None:
            return
        context = self.session.context
        notes = () if len(context.history) else self._first_words(self.session)
        self.transcript.load(context.history, context.checkpoints(), notes=notes)
        self.find_again()
        weight = context.weigh()
        self.status.tell(
            total=weight.total,
            exact=weight.exact,
            pending=weight.pending,
            mark=weight.mark,
            window=self.session.window,
        )

    def _first_words(self, session: Session) -> Sequence[str]:
        """What an empty chat says."""
        place = words.short_path(str(session.workspace))
        jump, inspect = self.keys.shown("jump"), self.keys.shown("inspect")
        return (
            f"Say what should be done in {place}. Before anything is written or run, you are asked.",
            f"Nothing is lost: {jump} goes back to a checkpoint, {inspect} shows what is on disk, ? all keys.",
        )

    def rotated(self, event: Rotated) -> None:
        """The history was rewritten."""
        self.reload()
        self.tell_todo()
        if self.panel is not None:
            self.panel.changed()
        if event.op == "undo" and self._given and self.composer.text == self._given:
            # the words of the turn are back in the chat
            self.composer.take(remember=False)
        self._given = ""
        if event.words and event.op == "revert":
            if self.composer.is_blank:
                self.composer.offer(event.words)
                self._given = self.composer.text
            else:
                self.composer.past.add(event.words)
                self.say("the words of that turn: Up brings them back")
        self.show_keys()

    # --- sending

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        event.stop()
        if self._keep is not None:
            self.work(self._keep.sent(event.text), "keep")
        if self.slash(event.text) or self.bang(event.text):
            return
        if self.session is None:
            self._early.append(QueuedPrompt(f"early{len(self._early)}", event.text, event.when))
            self.queue_line.show(self._early, starting=True)
        else:
            self.work(self._submit(event.text, event.when), "submit")
        self.transcript.action_scroll_end()

    async def _submit(self, text: str, when: Literal["step", "turn"]) -> None:
        assert self.session is not None
        try:
            await self.session.submit(text, when=when)
        except CommandError as error:
            self.say(str(error), "error")
            if self.composer.is_blank:
                self.composer.put(text)

    # --- cards

    async def ask(self, question: Question) -> None:
        """A question waits: its card takes the focus only from an idle, empty composer."""
        composer = self.composer
        free = self.focused is composer and composer.is_blank and composer.idle(_IDLE) and not self.leading
        await self.dock.ask(question, take_focus=free)

    def on_dock_chosen(self, event: Dock.Chosen) -> None:
        event.stop()
        if event.question.id == _OPENING:
            self.work(self.dock.settle(_OPENING), "cards")
            self.tell_app(self.WayOut(event.answer.note))
        elif self.session is not None:
            self.work(self.session.answer(event.question.id, event.answer), "answer")

    def on_dock_left(self, event: Dock.Left) -> None:
        event.stop()
        if event.words:
            self.composer.add(event.words)
        self.set_focus(self.composer)

    def on_dock_changed(self, event: Dock.Changed) -> None:
        event.stop()
        waiting = len(self.dock.waiting)
        self.composer.cards_wait = waiting > 0
        self.status.tell(waiting=waiting)
        self.show_keys()

    async def _next_card(self) -> None:
        if not await self.dock.next():
            self.say("no card waits for an answer")

    # --- the composer

    def on_composer_edited(self, event: Composer.Edited) -> None:
        event.stop()
        if self.leading:
            self.lead(False)
        writing = not self.composer.is_blank
        self.queue_line.write(writing and self.session is not None and self.session.busy)
        self.keep_soon()
        self._complete()
        self._fit()

    @work(group="complete", exclusive=True, exit_on_error=False)
    async def _complete(self) -> None:
        word = self.composer.word()
        if word is None:
            self.completion.close()
        elif word.kind == "command":
            commands = self.session.commands if self.session is not None else ()
            self.completion.offer(word, matching_commands(word.typed, listed(commands)))
        else:
            self.completion.offer(word, await self._files.match(word.typed))
        self.show_keys()

    def on_completion_taken(self, event: Completion.Taken) -> None:
        event.stop()
        self.composer.complete(event.candidate)
        self.set_focus(self.composer)

    def on_composer_wanted(self, event: Composer.Wanted) -> None:
        event.stop()
        self.act(event.action)

    def keep_soon(self) -> None:
        """Write the draft a moment from now."""
        if self._keep is not None and self._keep_timer is None:
            self._keep_timer = self.set_timer(_KEEP_AFTER, self._keep_now)

    async def _keep_now(self) -> None:
        self._keep_timer = None
        await self.keep()

    async def keep(self) -> None:
        """Write the draft and the queue now."""
        if self._keep is not None:
            await self._keep.draft(Draft(self.composer.text, tuple(p.text for p in self.queue_line.prompts)))

    # --- the todo list, and the prompts that wait

    def tell_todo(self) -> None:
        """Read the todo list anew."""
        if self.session is not None:
            self.todo.tell(self.session.todo.items())
            self._fit()

    def _toggle_todo(self) -> None:
        self.todo.display = not self.todo.display
        self.tell_todo()
        self._fit()

    def take_back(self, prompt: QueuedPrompt) -> None:
        """Put a prompt that waited into the composer; a draft that is there is kept behind Up."""
        if not self.composer.is_blank:
            self.composer.take()
            self.say("the draft that was in the composer: Up brings it back")
        self.composer.put(prompt.text)
        self.set_focus(self.composer)

    # --- other keys

    def on_key(self, event: events.Key) -> None:
        """A printable key that nobody wanted is the composer's, also one that was on its way when the focus moved."""
        wanted = self.jump is not None or event.key in self.active_bindings
        if event.is_printable and event.character and not wanted:
            event.stop()
            self.set_focus(self.composer)
            self.composer.add(event.character)

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "below":
            self.action_scroll_chat("edge", 1)

    def on_descendant_focus(self) -> None:
        if self.leading:
            self.lead(False)
        self.show_keys()

    # --- looks

    def on_transcript_new_lines(self, event: Transcript.NewLines) -> None:
        event.stop()
        below = self.query_one("#below", Static)
        lines = "line" if event.count == 1 else "lines"
        below.update(Content(f" {event.count:,} new {lines} below, End "))
        below.display = event.count > 0

    def on_transcript_link_chosen(self, event: Transcript.LinkChosen) -> None:
        event.stop()
        # over ssh a browser would open on the wrong machine
        if on_another_machine():
            self.copy(event.target)
        else:
            self.app.open_url(event.target)

    def show_keys(self) -> None:
        """Show what can be pressed now, and share the rows out again."""
        if self.is_mounted:
            self.key_line.show(self._entries(), many=self.leading)
            self._fit()

    def _entries(self) -> list[footer.Entry]:
        if self.leading:
            return self.letters()
        jump, inspect = self.entry("jump", rank=0), self.entry("inspect", rank=2)
        keys, palette = self.entry("help", right=True), self.entry("commands", right=True)
        more = footer.Entry("^x", "more", "screen.act('leader')", right=True, rank=4)
        stop = footer.Entry("^c", "copy" if self.selected is not None else "stop", "screen.stop", rank=0)
        if self.jump is not None:
            back = footer.Entry("Enter", "go back here", "screen.in_jump", rank=0)
            return [back, footer.Entry("Esc", "stay here", "screen.leave", rank=0), more]
        if self.panel is not None and self.panel.has_focus_within:
            leave = footer.Entry("Esc", "chat", "screen.leave", right=True, rank=2)
            return [*self.panel_entries(), jump, leave]
        if self.find_bar is not None and (self.find_bar.has_focus_within or self.transcript.has_focus):
            return self.find_entries()
        if self.dock.has_keys:
            return [footer.Entry("Tab", "write", "screen.write"), jump, stop, more, palette]
        waits = [footer.Entry("Tab", "answer", "screen.act('card')", rank=0)] if self.dock.waiting else []
        if self.session is not None and self.session.active:
            return [*waits, stop, jump, inspect, keys, palette]
        undo = (
            [self.entry("undo", rank=3)] if self.session is not None and self.session.context.can_undo else []
        )
        copy = [stop] if self.selected is not None else []
        return [*waits, *copy, jump, inspect, *undo, keys, palette]

    def action_write(self) -> None:
        """Give the focus back to the composer."""
        self.set_focus(self.composer)

    def on_resize(self) -> None:
        self.place()
        self._fit()

    def _fit(self) -> None:
        rows = layout.share(
            self.size.height,
            fixed=2 + int(self.queue_line.display) + int(self.find_bar is not None),
            card=self.dock.card is not None,
            answering=self.dock.has_keys,
            completing=self.completion.wanted_rows,
            todo=self.todo.wanted_rows,
        )
        self.todo.styles.height = rows.todo
        self.composer.styles.max_height = rows.composer
        self.completion.styles.max_height = max(1, rows.completion)
        self.dock.fit(max(layout.LEAST_CARD_ROWS, rows.card))
