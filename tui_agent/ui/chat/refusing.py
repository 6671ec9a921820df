"""What can be done when the model could not be asked: the ways out as a card, and the records that are meant.

The card of a request whose records the endpoint named comes by itself, as a question does; any other failure has one
when a person goes there. Once a record is shortened, left out or written anew, a key sends the request again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tui_agent import changes
from tui_agent import events as said
from tui_agent.commands import CommandError
from tui_agent.events import Question

if TYPE_CHECKING:
    from tui_agent.events import Answer, Event
    from tui_agent.ui.chat.screen import ChatScreen

_WAYS, _EDIT = "ways", "edit record"
"""Ids of the screen's own questions."""
_NOTHING = "nothing"
_RETRY = "send the request again (/retry)"
_MENDS = ("elide", "drop", "edit")
"""Commands after which the request is another one."""


class Refusing:
    """The ways out of failures of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._failed = False
        """The last request failed, and could be sent again."""
        self._asked = False
        """A card may be there."""
        self.refused: Mapping[str, str] = {}
        """The records that the endpoint refused last, each with its words; none once it took a request."""

    def hear(self, event: Event) -> None:
        """Something happened."""
        match event:
            case said.RequestFailed(message=message, ways=ways, records=records):
                self._failed = True
                self._refuses(dict.fromkeys(records, message.partition("\n")[0]))
                if records:
                    self._screen.work(self.ask(ways, asked=False), "cards")
            case said.TurnStarted() | changes.Rotated():
                self._failed = False
                if self._asked:
                    self._asked = False
                    self._screen.work(self._screen.withdraw(_WAYS), "cards")
            case said.ReplyEnded():
                self._refuses({})

    def _refuses(self, refused: Mapping[str, str]) -> None:
        if refused != self.refused:
            self.refused = refused
            if self._screen.panel is not None:
                self._screen.panel.changed()

    async def ask(self, ways: Sequence[str], *, asked: bool = True) -> None:
        """Ask which way out of a failure to go; each names a command. `asked`: a person wants to be asked."""
        from tui_agent.ui.transcript.said import way_command, way_lines  # not needed before a failure

        lines = way_lines(ways)
        commands = {way: way[slice(*place)] for way in lines if (place := way_command(way)) is not None}

        def done(answer: Answer) -> None:
            if answer.note in commands:
                self._screen.slash(commands[answer.note])
            elif answer.note != _NOTHING:
                self._screen.composer.append(answer.note)

        await self._screen.withdraw(_WAYS)  # what it offers may be done
        self._asked = True
        question = Question(_WAYS, "ways", "what now?", choices=(*commands, _NOTHING))
        await self._screen.offer(question, done, at_once=asked)

    async def mend(self, name: str, *arguments: str) -> None:
        """Carry out a command on a record; if it mends one that is refused, ask whether to send the request again."""
        screen = self._screen
        if not await screen.opened(f"/{name}") or screen.session is None:
            return
        try:
            outcome = await screen.session.perform(name, *arguments)
        except CommandError as error:
            screen.performed(str(error), "error")
            return
        screen.performed(outcome.text)
        screen.show_keys()
        if self._failed and name in _MENDS and outcome.data.get("record") in self.refused:
            await self.ask((_RETRY,))

    # --- /record and /edit, as they are written

    def look(self, words: str) -> None:
        """`/record 17`: go to that record in the inspector."""
        self._screen.expect(self._look(words), "act-inspect")

    async def _look(self, words: str) -> None:
        screen = self._screen
        if not await screen.opened("/record") or screen.session is None:
            return
        if not words:
            screen.say("usage: /record RECORD", "warning")
            return
        found = screen.session.context.find(words)
        if len(found) != 1:
            screen.say(f"there is no record {words!r}: the inspector lists them", "warning")
            return
        await screen.show_record(found[0].id)

    def edit(self, words: str) -> None:
        """`/edit 17`: write the text of that record anew; `/edit 17 TEXT` gives it at once."""
        record, _, text = words.partition(" ")
        work = self.mend("edit", record, text) if text.strip() else self._edit(record)
        self._screen.work(work, "perform")

    async def _edit(self, record: str) -> None:
        screen = self._screen
        if not await screen.opened("/edit") or screen.session is None:
            return
        if not record:
            screen.say("usage: /edit RECORD [TEXT]", "warning")
            return
        try:
            outcome = await screen.session.perform("edit", record)
        except CommandError as error:
            screen.performed(str(error), "error")
            return

        def done(answer: Answer) -> None:
            if answer.verdict == "once" and answer.edited is not None:
                screen.work(self.mend("edit", record, answer.edited), "perform")

        body = "sent in its place from now on; the record stays as it is on disk, and can be brought back"
        text = str(outcome.data["text"])
        question = Question(_EDIT, "review", f"record {record}, as you want it", body, editable=text)
        await screen.offer(question, done)
        from tui_agent.ui.cards.compaction import ReviewCard

        if isinstance(card := screen.dock.card, ReviewCard) and card.question is question:
            card.call_after_refresh(partial(card.edit))
