"""What can be done about results in the transcript: a compaction that is in force, old items that were shortened.

The card of a compaction stands in the chat, takes the focus only when a person goes there, and outlives that the
history is read anew: a compaction is a rewrite. When the next turn begins it is a line, which opens again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING

from tui_agent import changes
from tui_agent import events as said
from tui_agent.commands import CommandError
from tui_agent.events import Question

if TYPE_CHECKING:
    from textual import events

    from tui_agent.context import Context
    from tui_agent.events import Answer, Event
    from tui_agent.messages.blocks import Message
    from tui_agent.ui import footer
    from tui_agent.ui.cards.card import Card
    from tui_agent.ui.cards.compaction import Letters
    from tui_agent.ui.chat.refusing import Refusing
    from tui_agent.ui.chat.remembering import Remembering
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.transcript.entries import Entry, Result

_UNDO, _SUMMARY = "undo compaction", "summary"
"""Ids of the screen's own questions."""
_WITH, _WITHOUT, _LEAVE = (
    "with what was said since, behind the history that comes back",
    "without what was said since, which stays in a backup",
    "leave it as it is",
)
_COMPACTIONS = ("compaction", "edit")
"""What the rewrites that put a summary in force are called."""


class Results:
    """The results in the transcript of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._made: Result | None = None
        """The card of the newest compaction, while it is the last rewrite."""
        self._uncounted: changes.CompactionCompleted | None = None
        """What its weight after is estimated of, until the endpoint has counted it."""
        self._letters: Letters | None = None

    def entry_of(self, context: Context) -> Callable[[Message], Entry]:
        """Makes the entries of summaries in the history of a log."""

        def entry(message: Message) -> Entry:
            from tui_agent.ui.transcript.compacted import of_summary  # not needed before there is one

            return of_summary(message, context)

        return entry

    @cached_property
    def refusing(self) -> Refusing:
        """What can be done about failures."""
        from tui_agent.ui.chat.refusing import Refusing  # not needed before the first frame

        return Refusing(self._screen)

    @cached_property
    def remembering(self) -> Remembering:
        """The proposals of memories."""
        from tui_agent.ui.chat.remembering import Remembering  # not needed before the first frame

        return Remembering(self._screen)

    # --- how they come and go

    def hear(self, event: Event) -> None:
        """Something happened; of a rewrite `rotated` is told."""
        if isinstance(event, said.RequestFailed) or "refusing" in self.__dict__:  # none is made for nothing
            self.refusing.hear(event)
        match event:
            case changes.CompactionCompleted():
                from tui_agent.ui.transcript.compacted import completed  # not needed before there is one

                self._settle()
                self._made, self._uncounted = completed(event), event
                self._show(self._made)
            case said.UsageReported() if self._uncounted is not None:
                self._count()
            case said.TurnStarted():
                self._settle()
                self.remembering.hear(event)
            case changes.MemoryProposed() | changes.MemoryChanged():
                self.remembering.hear(event)

    def rotated(self, event: changes.Rotated) -> None:
        """The history was read anew after a rewrite."""
        self._screen.work(self._screen.withdraw(_UNDO), "cards")
        made = self._made
        if made is not None and event.op in _COMPACTIONS and event.backup == made.of:
            self._screen.transcript.put(made)
        elif made is not None:
            self._made = None
        self.remembering.rotated()
        self._tell()

    def come_to_front(self) -> None:
        """A result has just come: nobody can have read it."""
        self._keys().come_to_front()

    def _show(self, result: Result) -> None:
        self.come_to_front()
        self._screen.transcript.put(result)
        self._tell()

    def _count(self) -> None:
        """Say of the newest compaction what the endpoint counted."""
        from tui_agent.ui.transcript.compacted import counted  # not needed before there is one

        made, event, session = self._made, self._uncounted, self._screen.session
        if made is None or event is None or session is None:
            return
        if (figures := counted(event, session.context)) is not None:
            made.figures, self._uncounted = figures, None
            self._screen.transcript.changed(made)

    def _settle(self) -> None:
        """The card waits no more: it is a line."""
        if self._made is not None and self._made.waits:
            self._made.waits = False
            self._screen.transcript.changed(self._made)
            self._tell()

    def _tell(self) -> None:
        self._screen.tell_cards()

    # --- who has the keys

    @property
    def current(self) -> Result | None:
        """The result that has the keys and something to answer."""
        result = self._screen.transcript.result
        return result if result is not None and result.choices and result.shows_facts else None

    def next(self, *, around: bool = True) -> bool:
        """Give the keys to the next result that waits; False if there is none.

        After the last one comes the first, if it goes `around`.
        """
        screen = self._screen
        waiting, here = screen.transcript.all_waiting, screen.transcript.result
        after = waiting.index(here) + 1 if here in waiting else 0
        if after >= len(waiting):
            after = 0
            if not around or not waiting or waiting[0] is here:
                return False
        screen.set_focus(screen.transcript)
        screen.transcript.go_to_result(waiting[after])
        screen.show_keys()
        return True

    @property
    def questions(self) -> int:
        """How many of those that wait are questions."""
        return sum(result.ABOUT == "memory" for result in self._screen.transcript.all_waiting)

    def leave(self) -> None:
        """The focus went elsewhere."""
        if self._letters is not None:
            self._letters.leave(self.current)

    def take(self, event: events.Key) -> bool:
        """Take a key that was pressed in the chat; False if it means nothing to the result under the cursor."""
        result = self.current
        return result is not None and self._keys().take(event, result)

    def entries(self) -> list[footer.Entry]:
        """What can be pressed on the result that has the keys."""
        from tui_agent.ui import footer

        result = self.current
        choices = result.choices if result is not None else ()
        return [
            footer.Entry(letter, words, f"screen.result('{letter}')", rank=0) for letter, words in choices
        ]

    def _keys(self) -> Letters:
        if self._letters is None:
            from tui_agent.ui.cards.compaction import Letters  # not needed before the first frame

            self._letters = Letters(self._screen, self.choose, self._write)
        return self._letters

    def _write(self, text: str) -> None:
        """What was typed on is no answer: it is words."""
        self._screen.set_focus(self._screen.composer)
        self._screen.composer.add(text)

    # --- what is done

    async def edit_outside(self, card: Card) -> None:
        """Write the reply of a card in the person's own editor."""
        from tui_agent.ui.chat import editor

        try:
            text = await editor.edited(self._screen.app, card.words, lambda path: None)
        except editor.NotEdited as reason:
            self._screen.say(str(reason), "warning")
            return
        if card.is_attached and card.writes:
            card.rewrite(text)

    def clicked(self, result: Result, letter: str) -> None:
        """An answer was clicked. One that has just come under the mouse was not meant."""
        if not result.waits or self._keys().armed:
            self.choose(result, letter)

    def choose(self, result: Result, letter: str) -> None:
        """Carry out what can be done about a result."""
        if result.ABOUT == "memory":
            self.remembering.choose(result, letter)
            return
        screen = self._screen
        match letter:
            case "u":
                screen.work(self.undo(), "perform")
            case "e":
                screen.work(self._edit(result), "perform")
            case "k":
                self._settle()
                screen.set_focus(screen.composer)
                screen.work(screen.perform("keepmore"), "perform")
            case "b":
                screen.work(self._bring_back(result), "perform")

    async def _bring_back(self, result: Result) -> None:
        result.choices = ()
        self._screen.transcript.changed(result)
        await self._screen.perform("unelide", result.of)

    async def undo(self) -> None:
        """Undo the last rewrite; of a compaction since which something was said, ask what becomes of that."""
        screen = self._screen
        if not await screen.opened("/undo"):
            return
        context = screen.session.context if screen.session is not None else None
        change = context.change if context is not None else None
        if context is None or change is None or change.op not in _COMPACTIONS or not _said_since(context):
            await screen.perform("undo")
            return
        turns = _turns_since(context)
        since = "1 turn was" if turns == 1 else f"{turns:,} turns were" if turns else "A part of a turn was"
        body = f"{since} said since. The history that the summary stands for comes back either way."
        choices = (_WITH, _WITHOUT, _LEAVE)
        question = Question(_UNDO, "choice", "undo the compaction?", body, choices=choices)

        def done(answer: Answer) -> None:
            if answer.note == _WITH:
                screen.work(screen.perform("undo", "later"), "perform")
            elif answer.note == _WITHOUT:
                screen.work(screen.perform("undo"), "perform")
            elif answer.note != _LEAVE:
                screen.composer.append(answer.note)

        await screen.offer(question, done)

    async def _edit(self, result: Result) -> None:
        """Let the person write the summary anew."""
        screen = self._screen
        text = result.text
        if result.record and screen.session is not None:
            # what is sent says what it is besides, which is no part of the summary
            try:
                outcome = await screen.session.perform("summary")
            except CommandError as error:
                screen.performed(str(error), "error")
                return
            text = str(outcome.data.get("text") or outcome.text)
        body = "in the place of the summary that is in force; undo brings that back"
        most = screen.session.shrinking.most if screen.session is not None else 0
        question = Question(_SUMMARY, "review", "the summary, as you want it", body, editable=text, most=most)

        def done(answer: Answer) -> None:
            if answer.verdict == "once" and answer.edited is not None:
                screen.work(screen.perform("summary", answer.edited), "perform")

        await screen.offer(question, done)
        from tui_agent.ui.cards.compaction import ReviewCard

        if isinstance(card := screen.dock.card, ReviewCard) and card.question is question:
            card.call_after_refresh(partial(card.edit))


def _said_since(context: Context) -> bool:
    """Was anything said since the last change of history?"""
    change, records = context.change, context.records
    start = change.index + 1 if change is not None else 0
    return any(records[index].role in ("user", "assistant") for index in range(start, len(records)))


def _turns_since(context: Context) -> int:
    """How many turns began since the last change of history."""
    change = context.change
    line = context.records[change.index].line if change is not None else 0
    newer = takewhile(lambda point: point.line > line, reversed(context.checkpoints()))
    return sum(point.turn for point in newer)
