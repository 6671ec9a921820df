"""Memories in words: a row of the list, and one that is opened, with where it came from and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.cells import Cell, Column, cut
from tui_agent.ui.remembering import after, changes, written
from tui_agent.ui.themes import UNICODE

if TYPE_CHECKING:
    from tui_agent.changes import MemoryProposed
    from tui_agent.memory.schema import Change, Memory
    from tui_agent.ui.memory.tree import Heading

_ROOMY = 60
"""Columns from which keys, texts and times have a column each."""
_LEAST_KEY = 14
"""Cells of a key where it shares a column with the text."""
_KEYS, _TIMES = 22, 12
"""Cells of the columns beside the texts."""
_SIGNS = 8
"""The most cells of a row that signs and gaps take."""
_KEY, _TEXT = 60, 400
"""Characters of a key and a text that a row can show."""
_LOOKS = {"added": "$text-success", "removed": "$text-error", "warning": "$text-warning"}
_ACTIONS = {
    "proposed": "proposed",
    "added": "written by you",
    "accepted": "accepted",
    "replaced": "replaced by a proposal",
    "merged": "went into the one with its key",
    "rejected": "refused",
    "edited": "changed",
    "deleted": "forgotten",
    "suspended": "set aside with its turn",
    "resumed": "back with its turn",
    "ended": "ended with its session",
    "restored": "back with its session",
    "undone": "taken back",
}


def columns(width: int) -> Sequence[Column]:
    """The columns of the list."""
    return (Column(),) if width < _ROOMY else (Column("", _KEYS), Column(), Column("", _TIMES))


def heading(item: Heading) -> Sequence[Cell]:
    """The row of a scope."""
    sign = UNICODE.closed if item.folded else UNICODE.opened
    return (Content.styled(f"{sign} {item.words}", "bold"), f"{item.count:,}", "")


def row(memory: Memory, *, noise: bool, width: int) -> Sequence[Cell]:
    """The row of a memory: `!` tells that text from outside had been read before it."""
    text = Content(literal.one_line(" ".join(memory.body.split()), _TEXT))
    key = Content.styled(f"  {literal.one_line(memory.key, _KEY) or '-'}", "$text-secondary")
    if memory.tainted:
        text = Content.styled("! ", "bold $text-warning") + text
    if noise:
        text = Content.styled("status: ", "$text-muted") + text
    if width < _ROOMY:  # the text is worth as much as the key
        return (Content.assemble(cut(key, max(_LEAST_KEY, width * 2 // 5)), "  ", text),)
    return (key, text, words.clock(memory.updated_at))


def is_cut(memory: Memory, width: int) -> bool:
    """Is the text of a memory longer than its row may show?"""
    beside = max(_LEAST_KEY, width * 2 // 5) if width < _ROOMY else _KEYS + _TIMES
    return "\n" in memory.body or Content(memory.body).cell_length > width - beside - _SIGNS


def said(
    memory: Memory, told: MemoryProposed | None, past: Sequence[Change], *, session: str
) -> Iterator[tuple[str, str]]:
    """A memory that is opened, line by line with styles. `told` is what is said of it while it is a proposal."""
    yield f"{memory.scope}  {memory.key}", "bold"
    if memory.tainted:
        yield f"! {after(memory.outside) if memory.outside else 'from outside'}", "bold $text-warning"
    if told is not None and told.noise:
        yield "it only tells how the work stands", "$text-warning"
    if told is not None and told.diff:
        shown = written(told.file, told.diff)
    else:
        shown = changes(told.old if told is not None else "", memory.body)
    for text, level in shown:
        yield text, _LOOKS.get(level, "")
    yield "", ""
    yield _origin(memory, session), "$text-muted"
    yield from _past(past)


def _origin(memory: Memory, session: str) -> str:
    if not memory.source_session:
        return "written by you"
    if memory.source_session == session:
        return "proposed in this session: m goes to the message"
    return f"proposed in session {memory.source_session}"


def _past(changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
    """A memory's changes, the newest first, each in words with the text that it had then if that is another one."""
    for change in reversed(changes):
        yield f"{words.clock(change.at)}  {_ACTIONS.get(change.action, change.action)}", ""
        before, after = change.before, change.after
        if after is not None and (before is None or before.body != after.body):
            yield "\n".join(f"    {line}" for line in after.body.split("\n")), "$text-muted"
        if before is not None and after is not None and before.key != after.key:
            yield f"    {before.key} -> {after.key}", "$text-muted"
        if before is not None and after is not None and before.scope != after.scope:
            yield f"    {before.scope} -> {after.scope}", "$text-muted"
