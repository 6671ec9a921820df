"""Gives entries back to the log that holds them, so that a session of any length takes the same memory on the screen.

A gap stands in their place, as high as they were, and the messages are read again when they come near the screen.
Entries go by whole messages, a reply together with the results of its calls, and only if the log gives every one of
them again. What stays: whatever is near the screen or near the end, what something points at, what still goes on, what
a person opened or folded, and what is in no record (notices, failures, requests that were sent again).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from tui_agent.ui.transcript.entries import Entry, Gap, Mark, Thinking, ToolCall
from tui_agent.ui.transcript.history import entry_key, entry_names, gives_results, record_name
from tui_agent.ui.transcript.said import WORTH_TELLING_S
from tui_agent.ui.transcript.seek import Seeking

if TYPE_CHECKING:
    from textual.timer import Timer

    from tui_agent.context import Checkpoint
    from tui_agent.messages.blocks import Message
    from tui_agent.ui.themes import Glyphs
    from tui_agent.ui.transcript.history import History
    from tui_agent.ui.transcript.layout import Layout, Placed

NEAR = 200
"""Entries before and after a place in use, and before the end, that are kept."""
MOST = 450
"""Entries from which on some are given back."""
SLICE_S, REST_S = 0.004, 0.05
"""Seconds for which entries are given back before other work has its turn, and until that goes on."""
_GOES_ON = ("writing", "waiting", "running", "asks")


class Sparing(Seeking):
    """A sheet that keeps what is near the screen."""

    def __init__(self, *, glyphs: Glyphs, name: str | None, id: str | None, classes: str | None) -> None:
        super().__init__(glyphs=glyphs, name=name, id=id, classes=classes)
        self._enough = MOST
        """More entries than these make a look at what is spare worth while."""
        self._sparing: Timer | None = None

    def grow(self, history: Sequence[Message], checkpoints: Sequence[Checkpoint]) -> None:
        """The log holds more now: of what is shown that is in it, what is spare is given back in time."""
        moves = self._history.grow(history, checkpoints)
        if moves is not None:
            self._sheet.move(moves)

    def _load(self, entries: Sequence[Entry]) -> None:
        self._enough = MOST
        super()._load(entries)

    def flush(self) -> None:
        """Bring the screen up to date now; what is spare goes later."""
        super().flush()
        if self._sparing is None and len(self._sheet) > self._enough and self.is_attached:
            self._sparing = self.set_timer(REST_S, self._spare)

    def _spare(self) -> None:
        self._sparing = None
        near = [spot.placed for spot in (self._spot, self._seen) if spot is not None]
        spare = Spare(self._sheet, self._history, near, set(self._held()), self.opened_for_hits)
        if not spare.give_back():
            self._enough = max(MOST, len(self._sheet) + NEAR // 4)
        self.forget_given_back()
        self.flush()


class Spare:
    """One walk over a layout from its first entry to its last.

    Args:
        layout: Where the entries stand.
        history: The log they can be read from again.
        near: Places in use: entries around them stay.
        held: Entries that something points at: they stay.
        unfolded: Entries whose being open is nobody's wish.
    """

    def __init__(
        self,
        layout: Layout,
        history: History,
        near: Collection[Placed],
        held: Collection[Placed],
        unfolded: Collection[Entry],
    ) -> None:
        self._layout = layout
        self._history = history
        self._unfolded = unfolded
        self._kept = {*held, *layout.newest(NEAR)}
        self._holders: dict[str, list[Placed]] = {}
        places = {layout.index(placed) for placed in near}
        for index, placed in enumerate(layout):
            if any(abs(index - place) <= NEAR for place in places):
                self._kept.add(placed)
            for name in entry_names(placed.entry):
                self._holders.setdefault(name, []).append(placed)

    def give_back(self) -> bool:
        """Give back for a slice of time; returns whether there may be more."""
        until, index = perf_counter() + SLICE_S, 0
        while index < len(self._layout):
            index = self._pass(index)
            if perf_counter() > until:
                return index < len(self._layout)
        return False

    def _pass(self, index: int) -> int:
        """Give back what begins with that entry, if it may go; the number of the entry after it."""
        placed = self._layout.at(index)
        if placed is None or not self._may_go(placed):
            return index + 1
        before = self._layout.at(index - 1) if index else None
        if before is not None and isinstance(before.entry, Mark):
            return index + 1  # the log would give the checkpoint once more, which stays before the words
        head = self._layout.at(index + 1) if isinstance(placed.entry, Mark) else placed
        start = self._place(head.entry) if head is not None else None
        if start is None or gives_results(self._history[start]):
            return index + 1
        stop = start + 1
        while stop < len(self._history) and gives_results(self._history[stop]):
            stop += 1
        names = set(self._message_names(start, stop))
        block = list(self._block(index, names))
        after = index + len(block)
        if stop == len(self._history) or not all(map(self._may_go, block)):
            return after  # more results may come
        if any(holder not in block for name in names for holder in self._holders.get(name, ())):
            return after
        if not self._in_order(index, start, stop):
            return after
        start = self._unseen_before(index, start)
        lost = self._lost(block, start, stop)
        if lost is not None:
            lost.stays = True
            return after
        for name in names:
            self._history.forget(name)
        return self._layout.give_back(index, after, Gap(start, stop)) + 1

    def _may_go(self, placed: Placed) -> bool:
        entry = placed.entry
        goes_on = isinstance(entry, ToolCall) and entry.state in _GOES_ON
        return not (placed in self._kept or placed.stays or goes_on or isinstance(entry, Gap))

    def _place(self, entry: Entry) -> int | None:
        """The message that an entry begins with."""
        if entry.index >= 0:
            return entry.index
        return next(
            filter(lambda place: place is not None, map(self._history.place, entry_names(entry))), None
        )

    def _message_names(self, start: int, stop: int) -> Iterator[str]:
        return (record_name(self._history[at], at) for at in range(start, stop))

    def _block(self, index: int, names: Collection[str]) -> Iterator[Placed]:
        """The entries from one on that belong to these messages; the checkpoint before a person's words does."""
        first = True
        while (placed := self._layout.at(index)) is not None:
            begins = first and isinstance(placed.entry, Mark)
            if not begins and not any(name in names for name in entry_names(placed.entry)):
                return
            yield placed
            first, index = False, index + 1

    def _in_order(self, index: int, start: int, stop: int) -> bool:
        """Do these messages stand after those of the gap above, and before those of the one below?"""
        entries = [placed.entry for placed in self._layout]
        above = next((entry.stop for entry in entries[index::-1] if isinstance(entry, Gap)), 0)
        below = next((entry.start for entry in entries[index:] if isinstance(entry, Gap)), stop)
        return above <= start and stop <= below

    def _unseen_before(self, index: int, start: int) -> int:
        """The first of the messages right before one that no entry shows, from the gap above on."""
        above = self._layout.at(index - 1)
        first = above.entry.stop if above is not None and isinstance(above.entry, Gap) else start
        first = 0 if not index else first
        unseen = all(name not in self._holders for name in self._message_names(first, start))
        return first if first < start and unseen else start

    def _lost(self, block: Sequence[Placed], start: int, stop: int) -> Placed | None:
        """The first entry that the log does not give again, in this order and folded like this."""
        read = self._history.read(Gap(start, stop), start, stop)[2]
        left, shown = iter(read), [placed.entry for placed in block]
        for placed, entry in zip(block, shown, strict=True):
            again = next((other for other in left if entry_key(other) == entry_key(entry)), None)
            if again is None or (again.opened != entry.opened and entry not in self._unfolded):
                return placed
        for name in {entry.record for entry in shown if isinstance(entry, Thinking)}:
            seconds = [entry.seconds for entry in _thoughts(shown, name)]
            told = any(time is not None and time >= WORTH_TELLING_S for time in seconds)
            if told and len(seconds) == len(_thoughts(read, name)):
                self._history.remember(name, seconds)
        return None


def _thoughts(entries: Sequence[Entry], name: str) -> list[Thinking]:
    return [entry for entry in entries if isinstance(entry, Thinking) and entry.record == name]
