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
`NewLines`; it posts `HelpWanted`, `QuitWanted` and `WayOut` to the app. The session comes late: until it is attached,
words that were sent wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.keys import key_to_character
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from tui_agent.commands import CommandError
from tui_agent.events import Notice, Question, QueuedPrompt
from tui_agent.ui import bindings
from tui_agent.ui.cards.dock import Dock
from tui_agent.ui.cards.jump import Jump
from tui_agent.ui.chat import footer, layout
from tui_agent.ui.chat.completion import Completion, Files, matching_commands
from tui_agent.ui.chat.composer import Composer
from tui_agent.ui.chat.hearing import Hearing
from tui_agent.ui.chat.history import Draft
from tui_agent.ui.chat.keep import Keep
from tui_agent.ui.chat.queue import QueueLine
from tui_agent.ui.chat.status import StatusLine
from tui_agent.ui.commands import ACTION_OF, Offer, listed
from tui_agent.ui.inspector.panel import Panel
from tui_agent.ui.terminal import clipboard_command, copy_with
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

    from tui_agent.agent.session import Session
    from tui_agent.events import Event, Level, Rotated

_AGAIN = 3.0
"""Seconds within which a second ctrl+c quits."""
_TWICE = 0.8
"""Seconds within which a second Esc goes back."""
_LEADING = 8.0
"""Seconds the letters stay listed after the leader key."""
_IDLE = 1.0
"""Seconds without a key after which a card may take the focus from an empty composer."""
_KEEP_AFTER = 1.0
"""Seconds after a change until the draft is written."""

WAYS_OUT = ("Try again", "Begin a new session", "Use the demo model", "Quit")
"""What can be done when a session cannot be opened."""
_OPENING = "opening"


class ChatScreen(Screen[None]):
    """The one screen of a conversation."""

    AUTO_FOCUS = "#composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings.screen_bindings(),
        Binding("ctrl+c,super+c", "stop", "Stop", show=False, priority=True),
        Binding("escape", "leave", "Leave", show=False),
        Binding("pageup", "scroll_chat('page', -1)", show=False, priority=True),
        Binding("pagedown", "scroll_chat('page', 1)", show=False, priority=True),
        Binding("ctrl+home", "scroll_chat('edge', -1)", show=False, priority=True),
        Binding("ctrl+end", "scroll_chat('edge', 1)", show=False, priority=True),
    ]

    class HelpWanted(Message):
        """Show the keys."""

    class QuitWanted(Message):
        """End the program."""

    @dataclass
    class WayOut(Message):
        """The session could not be opened; this is what to do (one of `WAYS_OUT`)."""

        choice: str

    def __init__(self, keys: bindings.Keys, workspace: Path) -> None:
        super().__init__()
        self.keys = keys
        self.session: Session | None = None
        self.leading = False
        self.panel: Panel | None = None
        self.jump: Jump | None = None
        self.status = StatusLine(id="status")
        self.transcript = Transcript(id="transcript")
        self.dock = Dock(id="dock")
        self.queue_line = QueueLine(id="queue")
        self.completion = Completion(id="completion")
        self.composer = Composer(self.completion, id="composer")
        self.key_line = footer.KeyLine(id="keys")
        self._workspace = workspace
        self._files = Files(workspace)
        self._hearing = Hearing(self)
        self._keep: Keep | None = None
        self._keep_timer: Timer | None = None
        self._lead_timer: Timer | None = None
        self._early: list[QueuedPrompt] = []
        self._stopped = self._escaped = float("-inf")
        self._acts: dict[str, Callable[[], Awaitable[None] | None]] = {
            "copy": self._copy_answer,
            "jump": self.open_jump,
            "undo": partial(self._perform, "undo"),
            "redo": partial(self._perform, "redo"),
            "inspect": self._toggle_panel,
            "card": self._next_card,
            "commands": self._palette,
            "help": lambda: self._tell_app(self.HelpWanted()),
            "redraw": self._redraw,
            "suspend": self._suspend,
            "quit": lambda: self._tell_app(self.QuitWanted()),
            bindings.LEADER: self._lead,
            "bottom": lambda: self.action_scroll_chat("edge", 1),
            "next_place": self._next_place,
        }

    def compose(self) -> ComposeResult:
        yield self.status
        with Horizontal(id="body"), Vertical(id="chat"):
            with Container(id="view"):
                yield self.transcript
                yield Static(id="below", markup=False)
            yield self.dock
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
            model=session.model,
            demo=session.demo,
            window=session.window,
        )
        self.status.rest("ready" if not session.read_only else "read-only")
        self._keep = Keep(session.folder, lambda text: self.say(text, "warning"))
        entries, draft = await self._keep.load()
        self.composer.past.extend_before(entries)
        self._offer_draft(draft)
        for question in session.questions.open():
            await self.ask(question)
        early, self._early = self._early, []
        self.queue_line.show(session.queue)
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
            self.say(f"{what} of last time are in the composer again; Enter sends, ctrl+c clears")
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
        self.transcript.load(context.history, context.checkpoints())
        weight = context.weigh()
        self.status.tell(
            total=weight.total,
            exact=weight.exact,
            pending=weight.pending,
            mark=weight.mark,
            window=self.session.window,
        )

    def rotated(self, event: Rotated) -> None:
        """The history was rewritten."""
        self.reload()
        if self.panel is not None:
            self.panel.changed()
        if event.words and event.op == "revert":
            if self.composer.is_blank:
                self.composer.put(event.words)
            else:
                self.composer.past.add(event.words)
                self.say("the words of that turn: Up brings them back")
        self.show_keys()

    def say(self, text: str, level: Level = "info") -> None:
        """A line of the screen's own in the chat."""
        self.transcript.feed(Notice(text, level, "screen"))

    # --- sending, commands

    async def on_composer_submitted(self, event: Composer.Submitted) -> None:
        event.stop()
        if self._keep is not None:
            self.run_worker(self._keep.sent(event.text), group="keep", exit_on_error=False)
        if self._slash(event.text):
            return
        if self.session is None:
            self._early.append(QueuedPrompt(f"early{len(self._early)}", event.text, event.when))
            self.queue_line.show(self._early, starting=True)
        else:
            self._work(self._submit(event.text, event.when), "submit")
        self.transcript.scroll_end(animate=False)

    async def _submit(self, text: str, when: Literal["step", "turn"]) -> None:
        assert self.session is not None
        try:
            await self.session.submit(text, when=when)
        except CommandError as error:
            self.say(str(error), "error")
            if self.composer.is_blank:
                self.composer.put(text)

    def _slash(self, text: str) -> bool:
        """Carry out a `/command`; False if the words are not one."""
        name, _, rest = text.strip().partition(" ")
        if not name.startswith("/") or "/" in name[1:] or len(name) < 2 or "\n" in name:
            return False
        name = name[1:]
        known = self.session.commands.find(name) if self.session is not None else None
        jump = known is not None and known.name == "revert" and not rest
        if name in ACTION_OF and (known is None or jump or (not rest and name in ("undo", "redo"))):
            self._act(ACTION_OF[name])
        elif jump:
            self._act("jump")
        elif self.session is None:
            self.say(f"{text.strip()}: the session is not open yet", "warning")
        else:
            self._work(self._perform(name, *rest.split()), "perform")
        return True

    async def _perform(self, name: str, *arguments: str) -> None:
        if self.session is None:
            self.say("the session is not open yet", "warning")
            return
        try:
            outcome = await self.session.perform(name, *arguments)
        except CommandError as error:
            self.say(str(error), "error")
        else:
            if outcome.text:
                self.say(outcome.text)
            if self.panel is not None:
                self.panel.changed()

    def _work(self, work: Coroutine[Any, Any, None], group: str) -> None:
        self.run_worker(work, group=group, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.say(f"{type(error).__name__}: {error}", "error")

    def offers(self) -> Sequence[Offer]:
        """What the palette finds: every action with its key, every command with its spelling."""
        made = [
            Offer(
                action.words, f"{self.keys.shown(action.id)}   {action.help}", partial(self._act, action.id)
            )
            for action in bindings.ACTIONS
            if action.id in self._acts and action.id not in (bindings.LEADER, "commands")
        ]
        commands = self.session.commands if self.session is not None else ()
        for command in listed(commands):
            if command.name not in ACTION_OF:
                spelling = f"/{command.name} {command.argument}".rstrip()
                made.append(
                    Offer(command.words, spelling, partial(self._spell, command.name, command.argument))
                )
        return made

    def _spell(self, name: str, argument: str) -> None:
        if argument:
            self.composer.put(f"/{name} ")
            self.set_focus(self.composer)
        else:
            self._slash(f"/{name}")

    # --- cards

    async def ask(self, question: Question) -> None:
        """A question waits: its card takes the focus only from an idle, empty composer."""
        composer = self.composer
        free = self.focused is composer and composer.is_blank and composer.idle(_IDLE) and not self.leading
        await self.dock.ask(question, take_focus=free)

    def on_dock_chosen(self, event: Dock.Chosen) -> None:
        event.stop()
        if event.question.id == _OPENING:
            self._work(self.dock.settle(_OPENING), "cards")
            self._tell_app(self.WayOut(event.answer.note))
        elif self.session is not None:
            self._work(self.session.answer(event.question.id, event.answer), "answer")

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
            self._lead(False)
        writing = not self.composer.is_blank
        self.queue_line.write(writing and self.session is not None and self.session.busy)
        self.keep_soon()
        self.run_worker(self._complete, group="complete", exclusive=True, exit_on_error=False)
        self._fit()

    async def _complete(self) -> None:
        word = self.composer.word()
        if word is None:
            self.completion.close()
        elif word.kind == "command":
            commands = self.session.commands if self.session is not None else ()
            self.completion.offer(word, matching_commands(word.typed, listed(commands)))
        else:
            self.completion.offer(word, await self._files.match(word.typed))
        self._fit()

    def on_completion_taken(self, event: Completion.Taken) -> None:
        event.stop()
        self.composer.complete(event.candidate)
        self.set_focus(self.composer)

    def on_composer_wanted(self, event: Composer.Wanted) -> None:
        event.stop()
        self._act(event.action)

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

    # --- places

    async def _toggle_panel(self) -> None:
        if self.panel is not None:
            await self._close_panel()
        elif self.session is None:
            self.say("the session is not open yet", "warning")
        else:
            self.panel = Panel(self.session.context, writable=not self.session.read_only, id="panel")
            self._place_panel()
            await self.query_one("#body").mount(self.panel)
            self.panel.enter()
        self.show_keys()

    async def _close_panel(self) -> None:
        panel, self.panel = self.panel, None
        if panel is not None:
            self.set_focus(self.composer)
            await panel.remove()
            self.show_keys()

    def _place_panel(self) -> None:
        width = self.size.width
        columns = layout.panel_columns(width)
        for over, shown in ((self.panel, columns is None), (self.jump, True)):
            if over is not None:
                over.set_class(shown, "-over")
                over.styles.width = layout.overlay_columns(width) if shown else columns or 0
        if self.jump is not None:
            self.jump.styles.width = "100%"

    async def on_panel_asked(self, event: Panel.Asked) -> None:
        event.stop()
        self._work(self._perform(event.name, *event.arguments), "perform")

    def on_panel_keys_changed(self, event: Panel.KeysChanged) -> None:
        event.stop()
        self.show_keys()

    async def on_panel_jump_wanted(self, event: Panel.JumpWanted) -> None:
        event.stop()
        await self.open_jump(event.checkpoint)

    async def on_transcript_checkpoint_chosen(self, event: Transcript.CheckpointChosen) -> None:
        event.stop()
        await self.open_jump(event.id)

    async def open_jump(self, checkpoint: int | None = None) -> None:
        """Open the card that goes back, at a checkpoint or at the newest turn."""
        if self.session is None or self.jump is not None:
            return
        turns = [point for point in self.session.context.checkpoints() if point.turn]
        if not turns and checkpoint is None:
            self.say("there is no checkpoint yet: each prompt makes one")
            return
        self.jump = Jump(self.session.context, checkpoint, id="jump")
        self._place_panel()
        await self.query_one("#body").mount(self.jump)
        self.jump.enter()
        self.show_keys()

    async def on_jump_chosen(self, event: Jump.Chosen) -> None:
        event.stop()
        await self._close_jump()
        self._work(self._perform("revert", str(event.checkpoint)), "perform")

    async def on_jump_left(self, event: Jump.Left) -> None:
        event.stop()
        await self._close_jump()

    async def _close_jump(self) -> None:
        jump, self.jump = self.jump, None
        if jump is not None:
            self.set_focus(self.composer)
            await jump.remove()
            self.show_keys()

    def _next_place(self) -> None:
        self.focus_next()

    def on_transcript_new_lines(self, event: Transcript.NewLines) -> None:
        event.stop()
        below = self.query_one("#below", Static)
        lines = "line" if event.count == 1 else "lines"
        below.update(Content(f" {event.count:,} new {lines} below, End "))
        below.display = event.count > 0

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "below":
            self.action_scroll_chat("edge", 1)

    # --- keys

    def action_act(self, name: str) -> None:
        """Carry out an action of the table."""
        self._act(name)

    def _act(self, name: str) -> None:
        done = self._acts[name]()
        if isinstance(done, Coroutine):
            self._work(done, f"act-{name}")

    def _lead(self, leading: bool | None = None) -> None:
        self.leading = not self.leading if leading is None else leading
        if self._lead_timer is not None:
            self._lead_timer.stop()
            self._lead_timer = None
        if self.leading:
            self._lead_timer = self.set_timer(_LEADING, partial(self._lead, False))
        self.refresh_bindings()
        self.show_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The letters are bound only after the leader key."""
        return self.leading if action == "after_leader" else True

    def action_after_leader(self, key: str) -> None:
        """A key after the leader key."""
        self._lead(False)
        letter = key_to_character(key) or key
        action = self.keys.letters.get(letter)
        if action is not None:
            self._act(action)
        elif key != "escape":
            self.notify(f"{bindings.short(self.keys.leader)} {letter} does nothing", markup=False, timeout=2)

    def action_scroll_chat(self, how: Literal["page", "edge"], step: int) -> None:
        """Scroll the chat, or the preview that lies over it."""
        view = self.jump.preview if self.jump is not None else self.transcript
        match how, step:
            case "page", -1:
                view.scroll_page_up(animate=False)
            case "page", _:
                view.scroll_page_down(animate=False)
            case _, -1:
                view.scroll_home(animate=False)
            case _:
                view.scroll_end(animate=False)

    async def action_stop(self) -> None:
        """Copy a selection; else stop what runs; else clear the draft; else, again, quit."""
        chosen = self.get_selected_text() or self.composer.selected_text
        now = time.monotonic()
        if chosen:
            self.clear_selection()
            self._copy(chosen)
        elif self.session is not None and self.session.busy:
            self._work(self._cancel(), "cancel")
        elif not self.composer.is_blank:
            self.composer.take()
            self.set_focus(self.composer)
        elif now - self._stopped < _AGAIN:
            self._tell_app(self.QuitWanted())
        else:
            self._stopped = now
            self.notify("again to quit", markup=False, timeout=_AGAIN)

    async def action_leave(self) -> None:
        """Close what is on top; else stop what runs; else, twice, go back to a checkpoint."""
        now = time.monotonic()
        if self.completion.is_open:
            self.completion.close()
            self._fit()
        elif self.jump is not None:
            await self._close_jump()
        elif self.panel is not None and self.panel.has_class("-over"):
            await self._close_panel()
        elif self.session is not None and self.session.busy:
            self._work(self._cancel(), "cancel")
        elif self.focused is not self.composer:
            self.set_focus(self.composer)
        elif now - self._escaped < _TWICE:
            self._escaped = float("-inf")
            await self.open_jump()
        else:
            self._escaped = now

    async def _cancel(self) -> None:
        if self.session is not None:
            self.status.begin("stopping")
            await self.session.cancel()
            self.status.rest()
            self.show_keys()

    def on_key(self, event: events.Key) -> None:
        """A printable key that nobody wanted is the composer's."""
        if event.is_printable and event.character and self.focused is not self.composer and self.jump is None:
            event.stop()
            self.set_focus(self.composer)
            self.composer.add(event.character)

    def on_descendant_focus(self) -> None:
        if self.leading:
            self._lead(False)
        self.show_keys()

    # --- looks

    def show_keys(self) -> None:
        """Show what can be pressed now, and share the rows out again."""
        if not self.is_mounted:
            return
        self.key_line.show(self._entries(), many=self.leading)
        self._fit()

    def _entries(self) -> list[footer.Entry]:
        entry = self._entry
        if self.leading:
            letters = self.keys.letters.items()
            return [
                footer.Entry(letter, bindings.BY_ID[name].words, f"screen.after_leader('{letter}')")
                for letter, name in letters
            ]
        jump, more = (
            entry("jump", rank=0),
            footer.Entry("^x", "more", "screen.act('leader')", right=True, rank=4),
        )
        palette, keys = entry("commands", right=True), entry("help", right=True, key="?")
        stop = footer.Entry("^c", "stop", "screen.stop", rank=0)
        if self.jump is not None:
            back, stay = ("Enter", "go back here", "in_jump('choose')"), ("Esc", "stay here", "leave")
            return [footer.Entry(key, said, f"screen.{act}", rank=0) for key, said, act in (back, stay)] + [
                more
            ]
        if self.panel is not None and self.panel.has_focus_within:
            leave = footer.Entry("Esc", "chat", "screen.leave", right=True, rank=2)
            made = [
                footer.Entry(k.key, k.words, f"screen.in_panel('{k.action}')") for k in self.panel.offered()
            ]
            return [*made, jump, leave]
        if self.dock.has_keys:
            write = footer.Entry("Tab", "write", "screen.leave_card")
            return [write, jump, stop, more, palette]
        waits = [footer.Entry("Tab", "answer", "screen.act('card')", rank=0)] if self.dock.waiting else []
        if self.session is not None and self.session.busy:
            return [*waits, stop, jump, entry("inspect", rank=2), keys, palette]
        undo = [entry("undo", rank=3)] if self.session is not None and self.session.context.can_undo else []
        return [*waits, jump, entry("inspect", rank=2), *undo, keys, palette]

    def _entry(self, action: str, *, right: bool = False, rank: int = 1, key: str = "") -> footer.Entry:
        shown = key or self.keys.shown(action)
        if action == "commands":
            shown = bindings.short(self.keys.direct[action][0])
        return footer.Entry(shown, bindings.BY_ID[action].words, f"screen.act('{action}')", right, rank)

    async def action_in_panel(self, name: str) -> None:
        """An action of the inspector, clicked in the footer."""
        if self.panel is not None:
            node = self.panel if name.startswith("turn") else self.panel.tab
            await self.app.run_action(name, node)

    def action_in_jump(self, name: str) -> None:
        """An action of the jump card, clicked in the footer."""
        if self.jump is not None and name == "choose":
            self.jump.rows.action_choose()

    def action_leave_card(self) -> None:
        """Give the focus back to the composer."""
        self.set_focus(self.composer)

    def on_resize(self) -> None:
        self._place_panel()
        self._fit()

    def _fit(self) -> None:
        rows = layout.share(
            self.size.height,
            fixed=2 + int(self.queue_line.display),
            card=self.dock.card is not None,
            answering=self.dock.has_keys,
            completing=self.completion.wanted_rows,
        )
        self.composer.styles.max_height = rows.composer
        self.completion.styles.max_height = max(1, rows.completion)
        self.dock.fit(max(layout.LEAST_CARD_ROWS, rows.card))

    def _tell_app(self, message: Message) -> None:
        self.app.post_message(message)

    def _palette(self) -> None:
        self.app.action_command_palette()

    def _redraw(self) -> None:
        self.app.refresh(repaint=True, layout=True)

    def _suspend(self) -> None:
        self.app.action_suspend_process()

    def _copy_answer(self) -> None:
        text = self._last_answer()
        if text:
            self._copy(text)
        else:
            self.say("there is no answer to copy yet")

    def _last_answer(self) -> str:
        if self.session is None:
            return ""
        history = self.session.context.history
        for index in range(len(history) - 1, -1, -1):
            if history[index].role == "assistant" and history[index].text.strip():
                return history[index].text
        return ""

    def _copy(self, text: str) -> None:
        self._work(self._copied(text), "copy")

    async def _copied(self, text: str) -> None:
        command = clipboard_command()
        if command is not None and await asyncio.to_thread(copy_with, command, text):
            said = "copied"
        else:
            self.app.copy_to_clipboard(text)
            said = "sent to the terminal's clipboard"
        self.notify(said, markup=False, timeout=2)
