"""The chat: widgets' messages become calls on the session, the session's events become changes of widgets.

    ChatScreen
      StatusLine                      who is asked, how full, what happens
      #body
        #chat
          #view      Transcript, and over it the line that says how much is new below
          Dock       one card at a time
          QueueLine, Completion
          #prompt    Composer
        Sidebar      memories, beside the chat or over it
        Panel        the inspector, the same
        Jump         the card that goes back to a checkpoint, over the chat
      KeyLine                         what can be pressed now

It takes `Composer.Submitted`, `Dock.Chosen`, `Panel.Asked`, `Jump.Chosen` and the transcript's `CheckpointChosen` and
`NewLines`; it posts `ScreenWanted`, `QuitWanted` and `WayOut` to the app. The session comes late: until it is attached,
words that were sent wait. It is a tower: `Keyed` (keys), `Asking` (commands), `Places` (inspector, jump card),
`Ladders` (what ctrl+c and Esc mean), `Writing` (what is sent), `Answering` (cards), this.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tui_agent.ui import footer, words
from tui_agent.ui.actions import LEADER
from tui_agent.ui.chat import layout
from tui_agent.ui.chat.answering import Answering
from tui_agent.ui.chat.keyed import Keyed
from tui_agent.ui.chat.todo import GoalLine, Todo
from tui_agent.ui.still import Across, Covered, Text
from tui_agent.ui.terminal import on_another_machine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

    from tui_agent.agent.session import Session
    from tui_agent.changes import Rotated
    from tui_agent.context import Context
    from tui_agent.events import Emit, Event
    from tui_agent.ui import bindings
    from tui_agent.ui.chat.attachments import Prompt
    from tui_agent.ui.chat.hearing import Hearing
    from tui_agent.ui.tour import Tour
    from tui_agent.ui.transcript.view import Transcript

_HOLDS = ("compaction", "edit", "prompt", "refresh", "reload")
"""Rewrites that no person goes back or forth by: who has scrolled up stays there."""


class ChatScreen(Answering, Keyed):
    """The one screen of a conversation."""

    AUTO_FOCUS = "#composer"

    def __init__(self, keys: bindings.Keys, workspace: Path, tell: Emit) -> None:
        super().__init__(keys, workspace, tell)
        self.todo = Todo(id="todo")
        self.goal_line = GoalLine(id="goal")
        self.key_line = footer.KeyLine(id="keys")
        self._workspace = workspace
        self.guide: Tour | None = None
        """The guided demo, while it is on."""
        self._previewed: tuple[Context, int, int] | None = None
        """The history that is shown already: its log, which writing of it, how many messages."""
        self._behind: Widget | None = None
        """What has the focus under a place."""
        self.ended = ""
        """How the last turn ended."""
        self.acts |= {
            "goal": self._turn_goal,
            "queue": lambda: self.tell_app(self.ScreenWanted("queue")),
            "todo": self._toggle_todo,
            "tour": self._end_tour,
            "undo": lambda: self.results.undo(),
        }

    def compose(self) -> ComposeResult:
        yield self.status
        with Covered(id="body"), Covered(id="chat"):
            with Covered(id="view"):
                yield self.transcript
                yield Text(id="below", markup=False)
            yield self.dock
            yield self.todo
            yield self.goal_line
            yield self.queue_line
            yield self.completion
            with Across(id="prompt"):
                yield Text(">", id="sign", markup=False)
                yield self.composer
        yield self.key_line
        yield Text(id="foot")  # the row of the footer, which lies over it

    def on_mount(self) -> None:
        self.query_one("#below").display = False
        self.status.tell(name=self._workspace.name)
        self.show_keys()
        self._fit()  # before the first layout, which would be followed by another one

    # --- the session comes and is heard

    def preview(self, context: Context) -> None:
        """Show the history of a log whose session is still being opened."""
        self.transcript.load(context.shown, context.checkpoints(), summary=self.results.entry_of(context))
        self._previewed = (context, context.generation, len(context.history))

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
            guessed=session.guessed,
        )
        self.status.tell(held=session.shrinking.held)
        self.status.rest("read-only" if session.read_only else "ready")
        await self.offer_draft(session)
        for question in session.questions.open():
            await self.ask(question)
        self.queue_line.show(session.queue, paused=session.paused)
        self.tell_todo()
        self.work(self._hearing.count(), "cost")
        await self.send_early()
        self.results.remembering.begin()
        self.show_keys()

    @cached_property
    def _hearing(self) -> Hearing:
        from tui_agent.ui.chat.hearing import Hearing  # not needed before the first frame

        return Hearing(self)

    async def hear(self, event: Event) -> None:
        """An event of the session."""
        await self._hearing.hear(event)

    def reload(self, *, hold: bool = False) -> None:
        """Read the history anew. `hold`: at the row where the person is."""
        if self.session is None:
            return
        context = self.session.context
        previewed, self._previewed = self._previewed, None
        if previewed != (context, context.generation, len(context.history)):
            notes = () if len(context.history) else self._first_words(self.session)
            history, points = context.shown, context.checkpoints()
            summary = self.results.entry_of(context)
            self.transcript.load(history, points, notes=notes, summary=summary, hold=hold)
        self.find_again()
        weight = context.weigh()
        self.status.tell(
            total=weight.total,
            exact=weight.exact,
            pending=weight.pending,
            mark=weight.mark,
            window=self.session.window,
            guessed=self.session.guessed,
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
        if self.jump is not None:
            self.work(self.close_jump(), "jump")  # what it offers is no more
        self.reload(hold=event.op in _HOLDS)
        self.tell_todo()
        if self.panel is not None:
            self.panel.changed()
        self.words_back(event)
        self.show_keys()

    # --- the todo list, and the prompts that wait

    def tell_todo(self) -> None:
        """Read the todo list, the plan, the goal and the mode anew."""
        if (session := self.session) is None:
            return
        plan, goal = session.plans.now, session.goal.now
        self.todo.tell(session.todo.items(), plan=plan.title if plan is not None else "", goal=goal)
        self.goal_line.show(None if self.todo.display else goal)  # the panel shows it too
        self.status.tell(mode=session.plans.mode.now)
        self._fit()

    def _turn_goal(self) -> None:
        """Pause the work on the goal, or go on with it; where there is none, begin to write one."""
        goal = self.session.goal.now if self.session is not None else None
        if goal is None or goal.status == "complete":
            self.set_focus(self.composer)
            self.composer.add("/goal ")
        else:
            self.work(self.perform("goal", "pause" if goal.status == "active" else "resume"), "perform")

    def _toggle_todo(self) -> None:
        self.todo.display = not self.todo.display
        self.tell_todo()
        self._fit()

    # --- the guided demo

    async def begin_tour(self, guide: Tour, first: Prompt) -> None:
        """Guide through this session; `first` is put into the composer."""
        self.guide = guide
        if self.composer.is_blank:
            self.composer.offer(first)
        # outside of what a panel or the jump card may cover
        await self.mount(guide, before=self.key_line)
        self.show_keys()

    async def _end_tour(self) -> None:
        guide, self.guide = self.guide, None
        if guide is None:
            self.say("no tour is on; in a shell: tui-agent --demo")
        else:
            await guide.remove()
            self.set_focus(self.composer)
            self.show_keys()

    # --- other keys

    def on_key(self, event: events.Key) -> None:
        """A printable key that nobody wanted is the composer's, also one that was on its way when the focus moved.

        `?` asks for help wherever it would begin a draft.
        """
        if event.character == "?" and self.composer.is_blank:
            event.stop()
            self.act("help")
            return
        if self.transcript.result is not None and self.results.take(event):
            event.stop()
            return
        if event.key == "tab" and self.focused is self.transcript:
            event.stop()
            self._go_on()
            return
        wanted = self.jump is not None or event.key in self.active_bindings
        if event.is_printable and event.character and not wanted:
            event.stop()
            self.set_focus(self.composer)
            self.composer.add(event.character)
            if self.covered:
                self.expect(self.uncover(), "act-uncover")

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.id == "below":
            self.action_scroll_chat("edge", 1)
        elif event.widget is self.goal_line:
            self.act("todo")

    def on_descendant_focus(self) -> None:
        if self.leading:
            self.lead(False)
        if self.session is not None:
            self.results.leave()
        self.show_keys()

    # --- looks

    def on_transcript_new_lines(self, event: Transcript.NewLines) -> None:
        event.stop()
        below = self.query_one("#below", Static)
        lines = "line" if event.count == 1 else "lines"
        said = Content(f" {event.count:,} new {lines} below, End ")
        # a layout draws the whole screen: while an answer streams, one for each new digit is enough
        below.update(said, layout=said.cell_length != below.size.width)
        below.display = event.count > 0

    def on_transcript_way_chosen(self, event: Transcript.WayChosen) -> None:
        event.stop()
        self.slash(event.command)

    async def on_transcript_ways_wanted(self, event: Transcript.WaysWanted) -> None:
        event.stop()
        await self.results.refusing.ask(event.ways)

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
            if self.guide is not None:
                self.guide.look()
            if self.jump is not None:
                self.jump.tell()
            self._fit()

    def _entries(self) -> list[footer.Entry]:
        if self.leading:
            return self.letters()
        jump, inspect = self.entry("jump", rank=-1), self.entry("inspect", rank=2)
        compact = self.entry("compact", rank=0)
        keys, palette = self.entry("help", right=True), self.entry("commands", right=True)
        more = self.entry(LEADER, right=True, rank=4)
        stop = footer.Entry("^c", "copy" if self.selected is not None else "stop", "screen.stop", rank=0)
        if self.jump is not None:
            back = footer.Entry("Enter", "go back here", "screen.in_jump", rank=0)
            return [back, footer.Entry("Esc", "stay here", "screen.leave", rank=0), more]
        if self.composer.searching and self.composer.has_focus:
            older = footer.Entry(self.keys.shown("search_sent"), "older", "screen.act('search_sent')", rank=0)
            take = footer.Entry("Enter", "take", "screen.take_found", rank=0)
            draft = footer.Entry("Esc", "draft", "screen.leave", rank=0)
            return [take, older, compact, jump, draft, keys, palette]
        if self.panel is not None and self.panel.has_focus_within:
            says, does = "chat", "screen.leave"
            if self.panel.closes:
                says, does = "back", "screen.in_panel('close_detail')"
            leave = footer.Entry("Esc", says, does, right=True, rank=2)
            return [*self.panel_entries(), compact, jump, leave]
        if self.sidebar is not None and self.sidebar.has_focus_within:
            leave = footer.Entry("Esc", "chat", "screen.leave", right=True, rank=2)
            return [*self.sidebar.offered(), jump, leave]
        if self.find_bar is not None and (self.find_bar.has_focus_within or self.transcript.has_focus):
            return [*self.find_entries(), compact, jump]
        if self.dock.has_keys:
            return [footer.Entry("Tab", "write", "screen.write"), compact, jump, stop, more, palette]
        if self.transcript.result is not None and self.results.current is not None:
            return [*self.results.entries(), compact, jump, footer.Entry("Esc", "write", "screen.write")]
        waits = [footer.Entry("Tab", "answer", "screen.act('card')", rank=0)] if self.dock.waiting else []
        if self.session is not None and self.session.active:
            return [*waits, stop, compact, jump, inspect, keys, palette]
        undo = (
            [self.entry("undo", rank=3)] if self.session is not None and self.session.context.can_undo else []
        )
        copy = [stop] if self.selected is not None else []
        return [*waits, *copy, compact, jump, inspect, *undo, keys, palette]

    def letters(self) -> list[footer.Entry]:
        """The letters after the leader key; the one that ends the tour only while there is one."""
        end = self.keys.letter("tour") if self.guide is None else ""
        return [entry for entry in super().letters() if entry.key != end]

    def action_write(self) -> None:
        """Give the focus back to the composer."""
        self.set_focus(self.composer)

    def on_screen_suspend(self) -> None:
        """A place is over this screen and takes the keys: nothing here shows a cursor."""
        self._behind = self.focused
        if self._behind is not None:
            self._behind.add_class("-behind")

    def on_screen_resume(self) -> None:
        """The keys come here again."""
        behind, self._behind = self._behind, None
        if behind is not None:
            behind.remove_class("-behind")

    def on_resize(self) -> None:
        self.place()
        self._fit()

    @property
    def _guide_rows(self) -> int:
        return self.guide.rows if self.guide is not None else 0

    def _fit(self) -> None:
        rows = layout.share(
            self.app.size.height,
            fixed=2
            + int(self.queue_line.display)
            + int(self.goal_line.display)
            + int(self.find_bar is not None)
            + self._guide_rows,
            card=self.dock.card is not None,
            answering=self.dock.has_keys,
            completing=self.completion.wanted_rows,
            todo=self.todo.wanted_rows,
        )
        self.todo.styles.height = rows.todo
        self.composer.styles.max_height = rows.composer
        self.completion.styles.max_height = max(int(not self.dock.has_keys), rows.completion)
        self.dock.fit(max(layout.LEAST_CARD_ROWS, rows.card))
