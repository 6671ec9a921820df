"""The log as it is on disk: every line in its place, damaged ones too, and what each weighs."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector.tab import Key, Tab
from tui_agent.ui.rows import Cell, Column, Rows

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Context, Record

_MOST_SHOWN = 64 * 1024
"""Bytes of a record that its detail shows."""
_MOST_SEARCHED = 256 * 1024
"""Bytes of a record that a filter looks at."""
_FIRST_WORDS = 400
"""Characters of a record's words that a row takes; no screen is wider."""


_META_NAMES = {
    "_system_prompt": "prompt",
    "_restore_elided": "restored",
    "_elide": "elided",
    "_checkpoint": "point",
}


def who(record: Record) -> str:
    """Who wrote a record, in a word."""
    if record.damaged:
        return "damaged"
    if record.role.startswith("_"):
        return _META_NAMES.get(record.role, record.role[1:])
    if record.origin:
        return "result" if record.origin == "tool" else record.origin
    return {"user": "you", "assistant": "model"}.get(record.role, record.role)


def first_words(record: Record) -> str:
    """What a record says, shortly."""
    if record.damaged:
        return record.damaged
    body = record.body
    match record.role:
        case "_usage":
            return f"{_count(body.get('token_count'))} tokens, output {_count(body.get('output'))}"
        case "_checkpoint":
            return f"{body.get('id')}" + (" turn" if body.get("turn") else "")
        case "_state":
            return f"{body.get('key')} {_short(body.get('value'))}"
        case "_tools":
            tools = body.get("tools")
            return (
                ", ".join(str(tool.get("name")) for tool in tools if isinstance(tool, dict))
                if isinstance(tools, list)
                else ""
            )
        case "_compaction" | "_rewind":
            return f"{body.get('op')}, before: {body.get('backup')}"
        case "_mark" | "_elide" | "_restore_elided":
            return _short({key: value for key, value in body.items() if key not in ("role", "id", "at")})
    return _content_words(body.get("content"))


def _content_words(content: Any) -> str:
    if isinstance(content, str):
        return content[:_FIRST_WORDS]
    parts = (
        [_block_words(block) for block in content if isinstance(block, Mapping)]
        if isinstance(content, list)
        else []
    )
    return " ".join(filter(None, parts))[:_FIRST_WORDS]


def _block_words(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))[:_FIRST_WORDS]
        case "tool_use":
            return f"{block.get('name')} {_short(block.get('input'))}"
        case "tool_result":
            return ("error: " if block.get("is_error") else "") + _content_words(block.get("content"))
        case kind:
            return f"[{kind}]"


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:_FIRST_WORDS]


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


class Records(Tab):
    """The records. Enter opens one, `p` pins, `e` leaves it out, `b` brings it back."""

    NAME = "Records"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pin", show=False),
        Binding("e", "elide", show=False),
        Binding("b", "bring_back", show=False),
    ]

    def __init__(self, context: Context, *, writable: bool) -> None:
        rows = Rows(
            self.cells,
            key=self._identity,
            text=self._text,
            empty="Nothing is on disk yet: send some words.",
        )
        super().__init__(context, rows, writable=writable)
        self._records: Sequence[Record] = ()

    def columns(self) -> Sequence[Column]:
        number = Column("", max(3, len(str(len(self)))), "right")
        who_wrote, weight = (7, 7) if self.narrow else (10, 8)
        return (number, Column("who", who_wrote), Column("tokens", weight, "right"), Column("first words"))

    def __len__(self) -> int:
        return len(self._records)

    def detail(self) -> Widget:
        return VerticalScroll(Static(markup=False))

    def load(self) -> None:
        first = not len(self._records)
        self._records = self.context.records
        self.rows.show(self.cells, len(self._records), columns=self.columns())
        if first:
            self.rows.move(len(self._records) - 1)
        self._measure()

    @work(group="measure", exclusive=True, exit_on_error=False)
    async def _measure(self) -> None:
        await self.context.measure()
        self.rows.redraw()
        self._sums()

    def follow(self) -> None:
        self._records = self.context.records
        self.rows.grow(len(self._records))
        # a usage or a mark changes what rows above it say
        self.rows.redraw()
        self._sums()

    def _sums(self) -> None:
        weight = self.context.weigh()
        parts = [f"{len(self._records):,} records, {words.number(weight.total, weight.mark)} tokens"]
        if self.context.unattributed:
            parts.append(f"{self.context.unattributed:+,} unattributed")
        damaged = len(self.context.damage)
        text = Content(", ".join(parts))
        if damaged:
            text += Content.styled(f", {damaged} damaged", "$text-error")
        self.say(text)

    def _identity(self, index: int) -> str:
        return self._records[index].id

    def _text(self, index: int) -> str:
        record = self._records[index]
        return f"{who(record)} {record.raw[:_MOST_SEARCHED].decode('utf-8', 'replace')}"

    def cells(self, index: int) -> Sequence[Cell]:
        record = self._records[index]
        name = who(record)
        if record.damaged:
            return (f"{record.line}", Content.styled(name, "bold $text-error"), "", record.damaged)
        meta = record.role.startswith("_")
        weight = self.context.tokens_of(record)
        count = words.tokens(weight) if weight.count or not meta else ""
        text = literal.one_line(first_words(record), _FIRST_WORDS)
        flags = self._flags(record)
        said = Content.assemble(
            (flags, "bold $text-warning"), (text, "$text-muted" if meta or "left out" in flags else "")
        )
        return (
            f"{record.line}",
            Content.styled(name, "$text-muted" if meta else "$text-primary"),
            count,
            said,
        )

    def _flags(self, record: Record) -> str:
        pinned = "pinned: " if self.context.marks(record.id).get("pinned") else ""
        return pinned + ("left out: " if self.context.elided(record.id) else "")

    def open(self, index: int) -> None:
        scroll = self.query_one(VerticalScroll)
        scroll.query_one(Static).update(self._page(self._records[index]))
        scroll.scroll_home(animate=False)

    def _page(self, record: Record) -> Content:
        raw = record.raw[:_MOST_SHOWN].decode("utf-8", "replace")
        facts = [
            f"line {record.line:,}",
            f"offset {record.offset:,}",
            words.size(record.length),
            record.at or "",
        ]
        parts = [Content.styled("  ".join(filter(None, facts)), "bold")]
        facts = [f"id {record.id}", who(record), f"origin {record.origin}" if record.origin else ""]
        parts.append(Content(literal.one_line("  ".join(filter(None, facts)))))
        checkpoint = self._checkpoint(record)
        if checkpoint:
            parts.append(Content(checkpoint))
        if record.damaged:
            parts.append(Content.styled(f"damaged: {literal.one_line(record.damaged)}", "$text-error"))
        else:
            parts += self._rendered(record)
            if record.length <= _MOST_SHOWN:
                raw = json.dumps(record.body, ensure_ascii=False, indent=1, default=str)
        parts += [
            Content(""),
            Content.styled("as it is on disk", "bold $text-primary"),
            Content(literal.visible(raw)),
        ]
        if record.length > _MOST_SHOWN:
            parts.append(Content.styled(f"... of {words.size(record.length)}", "$text-warning"))
        return Content("\n").join(parts)

    def _rendered(self, record: Record) -> list[Content]:
        content = record.body.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            return []
        parts = [Content(""), Content.styled("as it reads", "bold $text-primary")]
        room = _MOST_SHOWN
        for block in blocks:
            if isinstance(block, Mapping) and room > 0:
                text = _whole(block)
                parts.append(Content(literal.visible(text[:room])))
                room -= len(text)
        return parts

    def _checkpoint(self, record: Record) -> str:
        points = self.context.checkpoints()
        at = bisect_right(points, record.line, key=lambda point: point.line) - 1
        return f"after checkpoint {points[at].id}" if at >= 0 else ""

    # --- what can be done

    def keys(self) -> Sequence[Key]:
        made = [Key("Enter", "open", "choose"), Key("/", "filter", "filter")]
        record = self._current()
        if self.writable and record is not None and not record.role.startswith("_") and not record.damaged:
            pinned = bool(self.context.marks(record.id).get("pinned"))
            made.append(Key("p", "unpin" if pinned else "pin", "pin"))
            if self.context.elided(record.id):
                made.append(Key("b", "bring back", "bring_back"))
            elif not pinned:
                made.append(Key("e", "leave out", "elide"))
        return made

    def _current(self) -> Record | None:
        index = self.rows.cursor
        return self._records[index] if 0 <= index < len(self._records) else None

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        self.rows.action_choose()

    def action_pin(self) -> None:
        """Pin the record, or take the pin off."""
        self._ask("unpin" if self._is_pinned() else "pin")

    def _is_pinned(self) -> bool:
        record = self._current()
        return record is not None and bool(self.context.marks(record.id).get("pinned"))

    def action_elide(self) -> None:
        """Leave the record out of what is sent."""
        self._ask("elide")

    def action_bring_back(self) -> None:
        """Bring it back."""
        self._ask("unelide")

    def _ask(self, command: str) -> None:
        record = self._current()
        if record is not None and self.writable:
            self.post_message(self.Asked(command, (record.id,)))


def _whole(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))
        case "tool_use":
            return f"{block.get('name')} {json.dumps(block.get('input'), ensure_ascii=False, indent=1, default=str)}"
        case "tool_result":
            content = block.get("content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return "\n".join(_whole(part) for part in parts if isinstance(part, Mapping))
        case kind:
            return f"[{kind}]"
