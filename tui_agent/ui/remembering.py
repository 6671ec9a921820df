"""Memories in words, for a screen and for those without one: where they count, what came before them, what changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING

from tui_agent.literal import one_line
from tui_agent.ui.words import short_path

if TYPE_CHECKING:
    from tui_agent.ui.transcript.entries import FactLevel

HANDFUL = 4
"""Proposals of a turn that are asked one by one."""
SCOPES = ("workspace", "user", "session")
"""In the order in which a proposal is given another one."""
PLACES = {"user": "for you, everywhere", "workspace": "in this workspace", "session": "in this session"}
"""Where a memory of each scope counts."""
NAMED = 3
"""Of what was read from outside, as many are named."""
_NAME = 60
"""Characters of a name."""


def next_scope(scope: str) -> str:
    """The scope after one, around."""
    return SCOPES[(SCOPES.index(scope) + 1) % len(SCOPES)]


def after(outside: Sequence[str]) -> str:
    """What had been read from outside by then, in words."""
    named = ", ".join(one_line(name, _NAME) for name in outside[:NAMED])
    more = f" and {len(outside) - NAMED:,} more" if len(outside) > NAMED else ""
    return f"after reading {named}{more}"


def changes(old: str, new: str) -> Iterator[tuple[str, FactLevel]]:
    """What changes, line by line: those that go, those that come, and those between them that stay.

    Where nothing is replaced it is the text.
    """
    if not old:
        yield new, "info"
        return
    from difflib import SequenceMatcher  # not needed before something is replaced

    before, now = old.split("\n"), new.split("\n")
    for kind, start, stop, first, last in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "\n".join(f"  {line}" for line in before[start:stop]), "info"
            continue
        if stop > start:
            yield "\n".join(f"- {line}" for line in before[start:stop]), "removed"
        if last > first:
            yield "\n".join(f"+ {line}" for line in now[first:last]), "added"


def written(file: str, diff: str) -> Iterator[tuple[str, FactLevel]]:
    """What changes in a file, if a proposal is accepted that stands in one."""
    yield f"written into {one_line(short_path(file), 200)}", "warning"
    signs: dict[str, FactLevel] = {"+": "added", "-": "removed"}
    for line in dropwhile(lambda line: not line.startswith("@@"), diff.split("\n")):
        if not line.startswith("@@"):
            yield f"{line[:1]} {line[1:]}", signs.get(line[:1], "info")
