"""What the model wants to remember, as entries: one proposal, and those that are folded into one line.

A proposal waits right under the answer that made it, with what a person has to know before it agrees: the scope, the
key, what had been read from outside, and the text, or what changes in the one that it would replace. Decided, it is a
line that opens again, from which the decision is undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent.literal import one_line
from tui_agent.ui.remembering import after, changes, written
from tui_agent.ui.transcript.entries import Result

if TYPE_CHECKING:
    from tui_agent.changes import MemoryProposed
    from tui_agent.ui.transcript.entries import FactLevel

ACCEPT, REJECT, EDIT, SCOPE, UNDO, LOOK = (
    ("a", "accept"),
    ("r", "reject"),
    ("e", "edit"),
    ("s", "scope"),
    ("u", "undo"),
    ("p", "look at them"),
)
"""What can be done, each with its letter."""
_LINES, _CHARACTERS = 8, 600
"""The most of a text that stands on a card which is not opened."""
_ASKED = "remember?"
_NAME = 60
"""Characters of a key."""
_SHOWN = 3
"""Of those that are folded, so many are named while they wait."""


class Proposal(Result, eq=False, kw_only=True):
    """One thing to remember. `edited` is the text that a person wrote in its place and has not accepted yet.

    One that stands in a `file` tells by `diff` how that would change.
    """

    ABOUT = "memory"

    scope: str
    key: str
    body: str
    old: str = ""
    outside: Sequence[str] = ()
    file: str = ""
    diff: str = ""
    edited: str | None = None

    @property
    def open(self) -> bool:
        """True while nobody has decided, also while its text is written anew elsewhere."""
        return self.label == _ASKED

    @property
    def wanted(self) -> str:
        """The text that would be remembered."""
        return self.body if self.edited is None else self.edited

    @property
    def foldable(self) -> bool:
        return True

    @property
    def told(self) -> Sequence[tuple[str, FactLevel]]:
        facts: list[tuple[str, FactLevel]] = []
        if self.outside:
            facts.append((after(self.outside), "warning"))
        if self.edited is not None:
            facts.append(("as edited by you", "warning"))
        facts += self._shown
        if self.cut:
            facts.append(("there is more of it: Enter shows all", "warning"))
        return facts

    @property
    def cut(self) -> bool:
        """True while not all of the text is shown."""
        return not self.opened and self._shown != self._whole

    @property
    def _shown(self) -> list[tuple[str, FactLevel]]:
        return self._whole if self.opened else list(_beginning(self._whole))

    @property
    def _whole(self) -> list[tuple[str, FactLevel]]:
        if self.diff and self.edited is None:
            return list(written(self.file, self.diff))
        return list(changes(self.old, self.wanted))


class Folded(Result, eq=False, kw_only=True):
    """Proposals beyond the handful that a turn may show, and those that only tell how the work stands."""

    ABOUT = "memory"

    proposals: list[MemoryProposed]

    @property
    def foldable(self) -> bool:
        return True

    @property
    def told(self) -> Sequence[tuple[str, FactLevel]]:
        return () if self.opened else self.facts


def proposed(event: MemoryProposed) -> Proposal:
    """The card of a proposal; a line if it was refused before."""
    entry = Proposal(
        "",
        "",
        of=event.id,
        scope=event.scope,
        key=event.key,
        body=event.body,
        old=event.old,
        outside=event.outside,
        file=event.file,
        diff=event.diff,
        waits=not event.refused,
    )
    if event.refused:
        settle(entry, "refused before", (ACCEPT,))
    else:
        tell(entry)
    return entry


def tell(entry: Proposal) -> None:
    """Say anew what is proposed: it still waits."""
    _name(entry, _ASKED, (ACCEPT, REJECT, EDIT, SCOPE))


def settle(entry: Proposal, label: str, choices: Sequence[tuple[str, str]] = (UNDO,)) -> None:
    """It is decided, or is no question any more: a line that says so."""
    entry.waits = False
    _name(entry, label, choices)


def _name(entry: Proposal, label: str, choices: Sequence[tuple[str, str]]) -> None:
    entry.label, entry.choices = label, choices
    entry.figures = "  ".join(filter(None, (entry.scope, one_line(entry.key, _NAME))))


def _beginning(facts: Sequence[tuple[str, FactLevel]]) -> Iterator[tuple[str, FactLevel]]:
    """As much of the text as stands on a card."""
    lines, characters = _LINES, _CHARACTERS
    for text, level in facts:
        kept = "\n".join(text.split("\n")[:lines])[:characters]
        if kept:
            yield kept, level
        lines -= kept.count("\n") + 1
        characters -= len(kept)
        if lines <= 0 or characters <= 0:
            return


def folded() -> Folded:
    """A line for proposals that get no card of their own."""
    return Folded("", "", proposals=[])


def fold(entry: Folded, event: MemoryProposed) -> None:
    """Add a proposal to those of a line."""
    entry.proposals.append(event)
    count_again(entry)


def count_again(entry: Folded) -> None:
    """Say anew how many wait. It waits for a person if one of them is more than the state of some work."""
    many = [event for event in entry.proposals if not event.noise]
    noise = len(entry.proposals) - len(many)
    entry.waits = bool(many)
    entry.label = "remember?" if many else "status, not worth remembering?"
    said = [f"{len(many):,} more"] if many else []
    if noise:
        said.append(f"{noise:,} that only {'tells' if noise == 1 else 'tell'} how the work stands")
    entry.figures = ", ".join(said)
    entry.text = "\n".join(map(_line, entry.proposals))
    entry.choices = (LOOK, ("r", "reject all"))
    entry.facts = [(line, "info") for line in map(_line, many[:_SHOWN])]


def _line(event: MemoryProposed) -> str:
    said = [event.scope, one_line(event.key, _NAME), one_line(" ".join(event.body.split()), 200)]
    if event.noise:
        said.insert(0, "status:")
    if event.outside:
        said.append(f"({after(event.outside)})")
    return "  ".join(filter(None, said))


def dissolve(entry: Folded, label: str) -> None:
    """None of them waits any more."""
    entry.label, entry.waits, entry.choices, entry.facts = label, False, (), ()
