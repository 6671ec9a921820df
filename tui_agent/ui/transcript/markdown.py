"""Markdown as lines: what markdown-it reads of a chunk becomes `Line`s of Textual `Content`.

Nothing in it is ever taken as markup: text goes through `visible`, styles are names of ours, and a link is only
active if it leads to the web. HTML is shown as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from textual.content import Content

from tui_agent.literal import clean
from tui_agent.ui.transcript import code
from tui_agent.ui.transcript.inline import inline
from tui_agent.ui.transcript.lines import EMPTY, PROSE, Line, literal, wrapped
from tui_agent.ui.transcript.origin import Origin, Run, Source, part_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from tui_agent.ui.themes import Glyphs
    from tui_agent.ui.transcript.stream import Chunk

_CELL_END = re.compile(r"(?<!\\)\|")
_INDENT = Content("  ")
"""Before every row of code."""
_NARROWEST = 6
"""Cells a column of a table keeps; if there is no room for that, the table is shown as written."""


def lines(chunk: Chunk, width: int, glyphs: Glyphs) -> list[Line]:
    """The lines of a chunk for a transcript `width` cells wide."""
    env: dict[str, Any] = {}
    if chunk.links:
        _tokens("\n".join(chunk.links), env)
    writer = _Writer(chunk, width, glyphs)
    writer.blocks(_tokens(chunk.source, env))
    return writer.lines


def _tokens(source: str, env: dict[str, Any] | None = None) -> list[Token]:
    return _parser().parse(clean(source), env)


@lru_cache(1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 50 ms: not before there is something to read

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Container(Struct):
    """A quote or a list item around what is written: what stands before its first line, and before the others."""

    first: Content
    rest: Content
    used: bool = False


class _Writer:
    """Walks the tokens of a chunk and writes its lines."""

    def __init__(self, chunk: Chunk, width: int, glyphs: Glyphs) -> None:
        self.lines: list[Line] = []
        self._chunk = chunk
        self._source = Source(chunk)
        self._width = width
        self._glyphs = glyphs
        self._around: list[_Container] = []
        if chunk.indent:
            pad = Content(" " * min(chunk.indent, max(0, width // 2)))
            self._around.append(_Container(pad, pad))
        self._lists: list[tuple[bool, int]] = []
        self._gap = chunk.gap
        self._start = chunk.start
        self._table_body = chunk.body

    def blocks(self, tokens: Sequence[Token]) -> None:
        """Write every block."""
        index = 0
        while index < len(tokens):
            token = tokens[index]
            match token.type:
                case "inline":
                    heading = index > 0 and tokens[index - 1].type == "heading_open"
                    self._inline(token, tokens[index - 1].tag if heading else "")
                case "fence" | "code_block":
                    self._code(token)
                case "hr":
                    room = max(3, min(self._width, PROSE) - self._inset)
                    rule = Content.styled(self._glyphs.rule * room, ".transcript--dim")
                    self._write(rule, origin=self._source.whole(token, len(rule)))
                case "bullet_list_open" | "ordered_list_open":
                    self._open_list(token)
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._open_item()
                case "list_item_close":
                    self._close()
                case "blockquote_open":
                    self._gap_before()
                    bar = Content.styled(self._glyphs.bar + " ", ".transcript--dim")
                    self._around.append(_Container(bar, bar))
                case "blockquote_close":
                    self._around.pop()
                case "table_open":
                    index = self._table(tokens, index)
                case _:
                    pass
            index += 1

    # --- containers

    @property
    def _inset(self) -> int:
        return sum(container.rest.cell_length for container in self._around)

    def _open_list(self, token: Token) -> None:
        ordered = token.type == "ordered_list_open"
        start = int(token.attrs.get("start", 1) or 0) if ordered else 0
        if not self._lists:
            start = start if self._start is None else self._start
        else:
            self._gap = False
        self._lists.append((ordered, start))

    def _open_item(self) -> None:
        ordered, number = self._lists[-1]
        if ordered:
            self._lists[-1] = (ordered, number + 1)
            mark = f"{number}. "
        else:
            bullets = self._glyphs.bullets
            mark = bullets[min(len(self._lists), len(bullets)) - 1] + " "
        self._around.append(_Container(Content.styled(mark, ".transcript--mark"), Content(" " * len(mark))))

    def _close(self) -> None:
        container = self._around.pop()
        if not container.used:  # an item without words still has its mark
            self._around.append(container)
            self._write(EMPTY)
            self._around.pop()
        # between items no blank row, whether the source has one or not
        self._gap = False if self._lists else self._gap

    def _gap_before(self) -> None:
        """A blank row, if one is due, inside the containers that have begun."""
        if self._gap:
            bars = EMPTY.join(
                container.rest
                for container in self._around
                if container.used or container is self._around[-1]
            )
            self._blank(bars)
        self._gap = False

    def _blank(self, before: Content) -> None:
        self.lines.append(Line(EMPTY, before, before))

    def _write(
        self,
        content: Content,
        *,
        fold: bool = False,
        wide: bool = False,
        ground: str = "",
        origin: Origin | None = None,
    ) -> None:
        if self._gap:
            begun = [container.rest for container in self._around if container.used]
            self._blank(EMPTY.join(begun))
            self._gap = False
        first = EMPTY.join(c.rest if c.used else c.first for c in self._around)
        rest = EMPTY.join(c.rest for c in self._around)
        for container in self._around:
            container.used = True
        self.lines.append(Line(content, first, rest, fold, wide, ground, origin=origin))

    # --- leaves

    def _inline(self, token: Token, heading: str) -> None:
        content = inline(token)
        if heading:
            content = content.stylize_before(".transcript--heading" if heading in ("h1", "h2") else "bold")
        origins = self._source.paragraph(token, content.plain)
        for line, origin in zip(content.split("\n", allow_blank=True), origins, strict=False):
            self._write(line, origin=origin)
        self._gap = True

    def _code(self, token: Token) -> None:
        language = token.info.split()[0] if token.info.split() else ""
        text = token.content.removesuffix("\n")
        content = code.highlighted(text, language) if self._chunk.closed else literal(text)
        lines = content.split("\n", allow_blank=True)
        origins = self._source.code(token, [line.plain for line in lines])
        self._around.append(_Container(_INDENT, _INDENT))
        for line, origin in zip(lines, origins, strict=False):
            self._write(line, fold=True, wide=True, ground=".transcript--code", origin=origin)
        self._around.pop()
        self._gap = True

    # --- tables

    def _table(self, tokens: Sequence[Token], index: int) -> int:
        """Write the table that opens at `index`; returns where it closes."""
        close, rows, aligns = read_table(tokens, index, clean(self._chunk.source).split("\n"))
        inlines = _inlines(tokens, index)
        room = self._width - self._inset
        widths = self._column_widths(rows, room)
        if self._table_body:
            self._gap, rows, inlines = False, rows[1:], inlines[1:]
            self._table_body = False
        if widths is None:
            for row, tokens_of in zip(rows, inlines, strict=False):
                line, runs = self._joined(row, self._source.row(tokens_of, [cell.plain for cell in row]))
                self._write(line, wide=True, origin=self._source.row_line(tokens_of[0], runs))
        else:
            for number, (row, tokens_of) in enumerate(zip(rows, inlines, strict=True)):
                head = number == 0 and not self._chunk.body
                sources = self._source.row(tokens_of, [cell.plain for cell in row])
                for line, runs in self._row(row, sources, widths, aligns, head=head):
                    self._write(line, wide=True, origin=self._source.row_line(tokens_of[0], runs))
                if head:
                    rule = f"{self._glyphs.rule}{self._glyphs.rule}{self._glyphs.rule}".join(
                        self._glyphs.rule * width for width in widths
                    )
                    origin = self._source.row_line(tokens_of[0], (), below=1)
                    origin = origin._replace(runs=(Run(0, len(rule), origin.start, origin.stop),))
                    self._write(Content.styled(rule, ".transcript--dim"), wide=True, origin=origin)
        self._gap = True
        return close

    def _column_widths(self, rows: Sequence[Sequence[Content]], room: int) -> list[int] | None:
        table = self._chunk.table
        if table is None:
            return fitted(natural(rows), room)
        if room not in table.widths:
            tokens = _tokens(table.sample)
            opens = [index for index, token in enumerate(tokens) if token.type == "table_open"]
            sample = read_table(tokens, opens[-1])[1] if opens else rows
            # rows that come later may be somewhat wider than those at the beginning
            table.widths[room] = fitted([width + width // 4 + 2 for width in natural(sample)], room) or []
        return table.widths[room] or None

    def _row(
        self,
        cells: Sequence[Content],
        sources: Sequence[Sequence[Run]],
        widths: Sequence[int],
        aligns: Sequence[str],
        *,
        head: bool,
    ) -> Iterator[tuple[Content, list[Run]]]:
        """A row's lines, as many as its highest cell has, and where they come from."""
        levels = [
            wrapped(cell.stylize_before("bold") if head else cell, width)
            for cell, width in zip(cells, widths, strict=False)
        ]
        begins = [_begins(cell.plain, level) for cell, level in zip(cells, levels, strict=False)]
        for number in range(max((len(cell) for cell in levels), default=0)):
            parts: list[Content] = []
            runs: list[list[Run]] = []
            for column, (width, align) in enumerate(zip(widths, aligns, strict=True)):
                here = levels[column][number] if number < len(levels[column]) else EMPTY
                begin = begins[column][number] if here else 0
                parts.append(_aligned(here, width, align))
                shift = (
                    len(parts[-1].plain) - len(parts[-1].plain.lstrip(" "))
                    if align in ("right", "center")
                    else 0
                )
                runs.append(list(part_of(sources[column], begin, begin + len(here), shift)) if here else [])
            yield self._joined(parts, runs)

    def _joined(self, parts: Sequence[Content], runs: Sequence[Sequence[Run]]) -> tuple[Content, list[Run]]:
        """Cells beside each other, and where they come from."""
        separator = Content.styled(f" {self._glyphs.bar} ", ".transcript--dim")
        moved, at = [], 0
        for part, here in zip(parts, runs, strict=False):
            moved += [run._replace(at=run.at + at) for run in here]
            at += len(part) + len(separator)
        return separator.join(parts), moved


def _begins(plain: str, levels: Sequence[Content]) -> list[int]:
    """At which character each of the lines begins to which a cell was wrapped."""
    begins: list[int] = []
    at = 0
    for number, level in enumerate(levels):
        while number and at < len(plain) and plain[at] == " ":
            at += 1
        begins.append(at)
        at += len(level)
    return begins


def _inlines(tokens: Sequence[Token], index: int) -> list[list[Token]]:
    """The tokens of a table's cells, row by row."""
    rows: list[list[Token]] = []
    while tokens[index].type != "table_close":
        if tokens[index].type == "tr_open":
            rows.append([])
        elif tokens[index].type == "inline":
            rows[-1].append(tokens[index])
        index += 1
    return rows


def read_table(
    tokens: Sequence[Token], index: int, source: Sequence[str] = ()
) -> tuple[int, list[list[Content]], list[str]]:
    """A table's cells and alignments, and the index of the token that closes it.

    Cells beyond the head's columns, which the parser drops, are put into the last column; `source` are its lines.
    """
    rows: list[list[Content]] = []
    aligns: list[str] = []
    number = len(source)
    while tokens[index].type != "table_close":
        token = tokens[index]
        if token.type == "tr_open":
            rows.append([])
            number = token.map[0] if token.map else number
        elif token.type == "th_open":
            aligns.append(str(token.attrs.get("style", "")).rpartition(":")[2])
        elif token.type == "inline":
            rows[-1].append(inline(token))
        elif token.type == "tr_close" and rows[-1] and number < len(source):
            rows[-1][-1] += _beyond(source[number], len(aligns))
        index += 1
    return index, rows, aligns


def _beyond(line: str, columns: int) -> Content:
    """What a row of a table has after so many cells, as it is written."""
    inside = line.lstrip("> \t").strip().removeprefix("|")
    cells = [cell.strip() for cell in _CELL_END.split(inside)[columns:]]
    return literal("".join(f" | {cell}" for cell in cells if cell).replace("\\|", "|"))


def natural(rows: Iterable[Sequence[Content]]) -> list[int]:
    """The widths columns would like, in cells."""
    widths: list[int] = []
    for row in rows:
        for column, cell in enumerate(row):
            if column == len(widths):
                widths.append(1)
            widths[column] = max(widths[column], cell.cell_length)
    return widths


def fitted(widths: Sequence[int], room: int) -> list[int] | None:
    """Widths that fit in `room` cells with three between columns: the widest give first. None if too little is left."""
    room -= 3 * (len(widths) - 1)
    result = list(widths)
    over = sum(result) - room
    while over > 0:
        widest = max(result)
        if widest <= _NARROWEST:
            return None
        wide = [column for column, width in enumerate(result) if width == widest]
        below = max((width for width in result if width < widest), default=_NARROWEST)
        floor = max(below, _NARROWEST, widest - -(-over // len(wide)))
        for column in wide:
            give = min(over, widest - floor)
            result[column] -= give
            over -= give
    return result


def _aligned(cell: Content, width: int, align: str) -> Content:
    spare = max(0, width - cell.cell_length)
    match align:
        case "right":
            return cell.pad_left(spare)
        case "center":
            return cell.pad(spare // 2, spare - spare // 2)
        case _:
            return cell.pad_right(spare)
