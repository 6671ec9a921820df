"""Proposals of memories in the chat: which have a card, what is done about them, and what became of them.

A turn gets a handful of cards, each right under the answer that proposed it; the rest, and what only tells how the work
stands, is folded into one line. A card waits over turns, rewrites of the history and restarts, until somebody decides:
here, in the sidebar, or in another program.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent import changes
from tui_agent import events as said
from tui_agent.commands import CommandError
from tui_agent.events import Answer, Question
from tui_agent.ui.remembering import HANDFUL, PLACES, after, next_scope
from tui_agent.ui.transcript import remembered
from tui_agent.ui.transcript.remembered import Folded, Proposal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_agent.changes import MemoryChanged, MemoryProposed
    from tui_agent.memory.schema import Memory
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.transcript.entries import Result

_DECIDED = {
    "accepted": "remembered",
    "rejected": "not remembered",
    "suspended": "set aside with its turn",
    "deleted": "forgotten",
}
"""What became of a proposal, in words."""
_EDITED = "memory "
"""Begins the ids of the questions in which a text is written."""


class Remembering:
    """The proposals in the transcript of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._cards: dict[str, Proposal] = {}
        self._folded: list[Folded] = []
        self._turn: list[Proposal] = []
        """The cards of this turn."""
        self._fold: Folded | None = None
        """The line of this turn."""

    @property
    def known(self) -> set[str]:
        """The ids of all that stand in the chat."""
        return {*self._cards, *(one.id for line in self._folded for one in line.proposals)}

    # --- how they come and go

    def begin(self) -> None:
        """The session is open: show what waits since it was open last."""
        self._screen.work(self._waiting(), "memories")

    async def _waiting(self) -> None:
        session = self._screen.session
        if session is not None:
            for event in await asyncio.to_thread(session.memories.waiting):
                self._propose(event)

    def hear(self, event: said.Event) -> None:
        """Something happened."""
        match event:
            case said.TurnStarted():
                self._turn, self._fold = [], None
            case changes.MemoryProposed():
                self._propose(event)
            case changes.MemoryChanged():
                self._changed(event)

    def _propose(self, event: MemoryProposed) -> None:
        if event.id in self.known and not event.refused:  # what was refused is said each time
            return
        if event.noise or (len(self._turn) >= HANDFUL and not event.refused):
            self._add_to_line(event)
            return
        entry = self._cards[event.id] = remembered.proposed(event)
        if entry.waits:
            self._turn.append(entry)
        self._show(entry)

    def _add_to_line(self, event: MemoryProposed) -> None:
        if self._fold is None:
            self._fold = remembered.folded()
            remembered.fold(self._fold, event)
            self._folded.append(self._fold)
            self._show(self._fold)
        else:
            remembered.fold(self._fold, event)
            self._tell(self._fold)

    def _show(self, entry: Result) -> None:
        if entry.waits:
            self._screen.results.come_to_front()
        self._screen.transcript.put(entry)
        self._screen.tell_cards()

    def _tell(self, entry: Result) -> None:
        self._screen.transcript.changed(entry)
        self._screen.tell_cards()

    def rotated(self) -> None:
        """The history was read anew, without the cards: those that wait are shown behind it."""
        self._folded = [line for line in self._folded if line.waits]
        self._cards = {name: card for name, card in self._cards.items() if card.open}
        for entry in (*self._cards.values(), *self._folded):
            self._screen.transcript.put(entry)
        self._screen.tell_cards()

    # --- what became of them

    def _changed(self, event: MemoryChanged) -> None:
        if (label := _DECIDED.get(event.what)) is None or event.id not in self._cards:
            self._screen.work(self._look(event), "memories")
        else:
            self._settle(self._cards[event.id], label)
        self._leave_line(event)
        place = event.scope, event.key
        like = [card for card in self._cards.values() if card.open and (card.scope, card.key) == place]
        self._screen.work(self._compare_all([card for card in like if card.of != event.id]), "memories")

    def _settle(self, entry: Proposal, label: str) -> None:
        """Make a card a line."""
        if entry.label == label:
            return
        if entry.edited is not None and label == _DECIDED["accepted"]:
            entry.body, entry.edited = entry.edited, None
        undone = label == _DECIDED["suspended"]
        remembered.settle(entry, label, () if undone else (remembered.UNDO,))
        self._tell(entry)
        self._screen.work(self._screen.dock.settle(_EDITED + entry.of), "cards")

    def _leave_line(self, event: MemoryChanged) -> None:
        """One that is folded into a line was decided elsewhere."""
        for line in self._folded:
            left = [one for one in line.proposals if one.id != event.id]
            if len(left) < len(line.proposals) and event.what in _DECIDED:
                line.proposals[:] = left
                if left:
                    remembered.count_again(line)
                else:
                    remembered.dissolve(line, "decided")
                self._tell(line)

    async def _look(self, event: MemoryChanged) -> None:
        """Read what a memory is now: it was changed, or a card is not known for it."""
        session, entry = self._screen.session, self._cards.get(event.id)
        if session is None:
            return
        found = await asyncio.to_thread(session.memories.list)
        memory = next((one for one in found if one.id == event.id), None)
        if entry is not None and memory is None:
            self._settle(entry, _DECIDED["deleted"])
        elif entry is not None and memory is not None:
            await self._read(entry, memory)
        elif memory is not None and event.what == "accepted" and memory.scope == "session":
            self._tell_of_session(memory)
        elif memory is not None and memory.status == "proposed" and memory.source_session == session.id:
            # it is back with its turn, or somebody has taken a decision back
            self._propose(await asyncio.to_thread(session.memories.proposal, memory))

    async def _read(self, entry: Proposal, memory: Memory) -> None:
        entry.scope, entry.key, entry.body = memory.scope, memory.key, memory.body
        session = self._screen.session
        if memory.status != "proposed" or session is None:
            entry.label = ""
            self._settle(entry, _DECIDED.get(memory.status, memory.status))
            return
        told = await asyncio.to_thread(session.memories.proposal, memory)
        entry.old, entry.file, entry.diff, entry.waits = told.old, told.file, told.diff, True
        remembered.tell(entry)
        self._tell(entry)

    async def _compare(self, entry: Proposal) -> bool:
        """Show what a proposal would replace by now; True if that is what was shown."""
        session = self._screen.session
        if session is None:
            return True
        found = await asyncio.to_thread(session.memories.list)
        memory = next((one for one in found if one.id == entry.of and one.status == "proposed"), None)
        if memory is None:  # whoever decides about it is told
            return True
        told = await asyncio.to_thread(session.memories.proposal, memory)
        if (told.old, told.file, told.diff) == (entry.old, entry.file, entry.diff):
            return True
        entry.old, entry.file, entry.diff = told.old, told.file, told.diff
        remembered.tell(entry)
        self._tell(entry)
        return False

    async def _compare_all(self, cards: Sequence[Proposal]) -> None:
        for card in cards:
            await self._compare(card)

    def _tell_of_session(self, memory: Memory) -> None:
        """What the model remembers for this session alone needs nobody's consent, but is said."""
        if not memory.source_record:
            return  # a person's own, of which the command has told
        entry = Proposal(
            "",
            "",
            of=memory.id,
            scope=memory.scope,
            key=memory.key,
            body=memory.body,
            outside=memory.outside,
        )
        self._cards[memory.id] = entry
        remembered.settle(entry, _DECIDED["accepted"])
        self._show(entry)

    # --- what is done

    def choose(self, entry: Result, letter: str) -> None:
        """Carry out what can be done about a proposal, or about those of a line."""
        work = self._screen.work
        if isinstance(entry, Folded):
            if letter == "p":
                self._screen.expect(self._screen.shelf.open(inbox=True), "act-memory")
            else:
                work(self._reject_all(entry), "perform")
        elif isinstance(entry, Proposal):
            match letter:
                case "a" if entry.cut:
                    self._read_on(entry)
                case "a":
                    work(self._accept(entry), "perform")
                case "r":
                    work(self._decide(entry, "rejected", "reject", entry.of), "perform")
                case "e":
                    work(self._edit(entry), "perform")
                case "s":
                    work(self._ask("scope", entry.of, next_scope(entry.scope)), "perform")
                case _:
                    work(self._ask("unmemory", entry.of), "perform")

    def _read_on(self, entry: Proposal) -> None:
        """Nobody agrees to what they have not seen: show all of it first."""
        self._screen.transcript.open_result(entry)
        self._screen.notify("all of it is shown now; a again accepts", markup=False, timeout=3)

    async def _accept(self, entry: Proposal) -> None:
        """Nobody agrees to lose a text that they have not seen."""
        if await self._compare(entry):
            changed = () if entry.edited is None else (entry.edited,)
            await self._decide(entry, "accepted", "accept", entry.of, *changed)
        else:
            said = "what it replaces is another text now: a again accepts"
            self._screen.notify(said, markup=False, timeout=3)

    async def _decide(self, entry: Proposal, what: str, name: str, *arguments: str) -> None:
        if await self._carried_out(name, *arguments):
            self._settle(entry, _DECIDED[what])
            self._go_on()

    def _go_on(self) -> None:
        """One is decided: the keys go to the next, or to who writes."""
        screen = self._screen
        if screen.focused is screen.transcript and not screen.results.next():
            screen.set_focus(screen.composer)

    async def _carried_out(self, name: str, *arguments: str) -> bool:
        """Ask the session for it; what cannot be done is said."""
        session = self._screen.session
        try:
            if session is not None:
                await session.perform(name, *arguments)
        except CommandError as error:
            self._screen.performed(str(error), "error")
            return False
        return session is not None

    async def _ask(self, name: str, *arguments: str) -> None:
        await self._carried_out(name, *arguments)

    async def _reject_all(self, line: Folded) -> None:
        for event in list(line.proposals):
            if not await self._carried_out("reject", event.id):
                return
        remembered.dissolve(line, _DECIDED["rejected"])
        self._tell(line)
        self._go_on()

    async def _edit(self, entry: Proposal) -> None:
        """Let the person write the text anew, on a card; meanwhile the proposal is asked there."""
        from tui_agent.ui.cards.memory import MemoryCard

        screen = self._screen
        where = PLACES.get(entry.scope, entry.scope)
        question = Question(
            _EDITED + entry.of,
            "memory",
            f"remember {where}: {entry.key}",
            warning=after(entry.outside) if entry.outside else "",
            editable=entry.wanted,
        )
        entry.waits = False
        self._tell(entry)

        def done(answer: Answer) -> None:
            entry.waits = entry.open
            entry.edited = answer.edited if answer.edited != entry.body else None
            self._tell(entry)
            self._back_to(entry)
            if answer.verdict == "once":
                screen.work(self._accept(entry), "perform")

        await screen.offer(question, done)
        if isinstance(card := screen.dock.card, MemoryCard) and card.question is question:
            card.call_after_refresh(card.edit)

    def _back_to(self, entry: Proposal) -> None:
        """Give the keys to the proposal, from which one came."""
        screen = self._screen
        screen.set_focus(screen.transcript)
        screen.transcript.go_to_result(entry)
