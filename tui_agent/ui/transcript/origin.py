"""Where what is shown comes from: characters of a line on the screen, and characters of the source behind it.

Each `Line` may know its `Origin`. Its `Run`s say which shown characters are which characters of the source; what lies
between them (emphasis, the address of a link, a table's pipes) is not shown. A line's `start` and `stop` also hold
what stands before and after the shown words: list marks, number signs, the lines that open and close a fence.

`Source` finds the origins of what markdown-it read of a chunk. Offsets are always those of the whole answer, so they
stay true while it grows, is wrapped anew or is cut into other chunks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it.token import Token

    from tui_agent.ui.transcript.stream import Chunk

_TAB = 4
_SIGN = re.compile(r"<(?:U\+([0-9A-F]{4,6})(?: x(\d+))?|\+\d+ (?:joined|marks))>")
_ENTITY = re.compile(r"&(?:#\w{1,8}|\w{2,32});")
_LINK_TAIL = re.compile(
    r"\](?:\(\s*(?:<[^>\n]*>|(?:\\.|\([^()\s]*\)|[^()\s\\])*)"
    r"(?:\s+(?:\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|\((?:\\.|[^()])*\)))?\s*\)|\[[^\]]*\])?"
)


class Run(NamedTuple):
    """Shown characters `at` to `at + size` are characters `start` to `stop` of the source.

    One by one if these are as many; else all of them stand for all of those.
    """

    at: int
    size: int
    start: int
    stop: int

    @property
    def whole(self) -> bool:
        """Can it only be taken as a whole?"""
        return self.size != self.stop - self.start

    def source(self, index: int) -> tuple[int, int]:
        """The source of one shown character."""
        if self.whole:
            return self.start, self.stop
        start = self.start + index - self.at
        return start, start + 1


class Origin(NamedTuple):
    """Where a line comes from: section of its entry's source, range there, runs.

    `first` and `last` bound the words with their own markup, `left` what also has the marks that are shown before
    them. A selection inside one `unit` (a line; all lines of a fence) takes none of the marks around it. `code`: it is
    a line of code.
    """

    section: int
    start: int
    stop: int
    runs: tuple[Run, ...]
    first: int
    last: int
    left: int
    unit: int
    code: bool = False


def line_origin(section: int, start: int, raw: str, shown: str) -> Origin:
    """The origin of a line of foreign text, shown as it is but for tabs and signs."""
    stop = start + len(raw)
    runs = tuple(aligned(shown, raw, start)) if shown else ()
    return Origin(section, start, stop, runs, start, stop, start, start)


def whole_origin(section: int, start: int, stop: int, size: int) -> Origin:
    """The origin of a line that can only be taken as a whole; `size` characters are shown."""
    return Origin(section, start, stop, (Run(0, size, start, stop),), start, stop, start, start)


def aligned(shown: str, raw: str, start: int, at: int = 0, *, stops: bool = True) -> Iterator[Run]:
    """The runs of foreign text after `literal.visible` and the expansion of tabs.

    `stops`: tabs go to every fourth character; else each of them is four blanks.
    """
    if len(shown) == len(raw):
        if shown:
            yield Run(at, len(shown), start, start + len(raw))
        return
    i = j = columns = counted = 0
    while i < len(shown) and j < len(raw):
        same = 0
        while i + same < len(shown) and j + same < len(raw) and _same(shown[i + same], raw[j + same]):
            same += 1
        if same:
            yield Run(at + i, same, start + j, start + j + same)
            i, j = i + same, j + same
        elif raw[j] == "\t":
            columns += j - counted
            width = _TAB - columns % _TAB if stops else _TAB
            columns, counted = columns + width, j + 1
            yield Run(at + i, width, start + j, start + j + 1)
            i, j = i + width, j + 1
        elif sign := _SIGN.match(shown, i):
            end = _signed(sign, shown, raw, j)
            yield Run(at + i, len(sign[0]), start + j, start + end)
            i, j = sign.end(), end
        else:
            j += 1  # what is not shown at all


def _same(shown: str, raw: str) -> bool:
    return shown == raw or "\u2400" <= shown <= "\u2421" or (shown == "\ufffd" and not raw.isprintable())


def _signed(sign: re.Match[str], shown: str, raw: str, start: int) -> int:
    """Where what a sign stands for ends."""
    if sign[1]:
        hidden, count = chr(int(sign[1], 16)), int(sign[2] or 1)
        place = raw.find(hidden, start)
        return min(len(raw), place + count) if place >= 0 else start
    after = shown[sign.end() : sign.end() + 1]
    place = raw.find(after, start) if after else -1
    return place if place >= 0 else len(raw)


def part_of(runs: Sequence[Run], start: int, stop: int, at: int) -> Iterator[Run]:
    """The runs of shown characters `start` to `stop`, moved so that these begin at `at`."""
    for run in runs:
        first, last = max(run.at, start), min(run.at + run.size, stop)
        if first >= last:
            continue
        if run.whole:
            yield Run(first - start + at, last - first, run.start, run.stop)
        else:
            begin = run.start + first - run.at
            yield Run(first - start + at, last - first, begin, begin + last - first)


class Source:
    """The source of a chunk: finds the origins of what was read of it."""

    def __init__(self, chunk: Chunk) -> None:
        self._lines: list[tuple[str, int]] = []
        for text, start in zip(chunk.source.split("\n"), chunk.starts, strict=False):
            place = start
            for line in text.removesuffix("\r").split("\r"):
                self._lines.append((line, place))
                place += len(line) + 1

    def _line(self, number: int) -> tuple[str, int]:
        return self._lines[min(max(0, number), len(self._lines) - 1)] if self._lines else ("", 0)

    def _end(self, number: int) -> int:
        line, start = self._line(number)
        return start + len(line)

    def paragraph(self, token: Token, shown: str) -> list[Origin]:
        """The origins of the lines of an inline token that is a block of its own."""
        first, end = _range(token)
        bases = self._bases(token)
        runs = list(_placed(token, shown, bases))
        start, stop = self._line(first)[1], self._end(end - 1)
        broken = "\n" in shown
        origins = list(_broken(runs, shown, start, stop)) if broken else [_words(tuple(runs), start, stop)]
        # emphasis at either end belongs to the words
        begin = bases[0][1]
        close = bases[-1][1] + len(token.content) - bases[-1][0]
        origins[0] = origins[0]._replace(first=min(begin, origins[0].first))
        origins[-1] = origins[-1]._replace(last=max(close, origins[-1].last))
        return origins

    def _bases(self, token: Token) -> list[tuple[int, int]]:
        """Where each line of a token's content begins: in the content, and in the source."""
        number, at = _range(token)[0], 0
        bases: list[tuple[int, int]] = []
        for content in token.content.split("\n"):
            line, start = self._line(number)
            bases.append((at, start + _column(line, content)))
            number, at = number + 1, at + len(content) + 1
        return bases

    def row(self, tokens: Sequence[Token], cells: Sequence[str]) -> list[list[Run]]:
        """The runs of the cells of a table's row, as they are shown before they are wrapped."""
        cursor, found = 0, []
        for token, shown in zip(tokens, cells, strict=False):
            line, start = self._line(_range(token)[0])
            written = token.content.replace("|", "\\|")
            place = line.find(written, cursor)
            column = place if place >= 0 else cursor
            found.append(list(_placed(token, shown, [(0, start + column)], escaped="\\|" in line)))
            cursor = column + len(written)
        if found:
            found[-1] += self._beyond(tokens[-1], cells[-1], cursor)
        return found

    def _beyond(self, token: Token, shown: str, cursor: int) -> Iterator[Run]:
        """The runs of cells beyond the last column, which are shown in it, each after a bar."""
        line, start = self._line(_range(token)[0])
        edges = token.meta.get("edges", ())
        at = edges[-1] if edges else 0
        for cell in shown[at:].split(" | ")[1:]:
            at += len(" | ")
            place = line.find(cell, cursor)
            if cell and place >= 0:
                yield Run(at, len(cell), start + place, start + place + len(cell))
                cursor = place + len(cell)
            at += len(cell)

    def row_line(self, token: Token, runs: Sequence[Run], below: int = 0) -> Origin:
        """The origin of a line of a table: of the row of this cell, or of a line `below` it."""
        number = _range(token)[0] + below
        start, stop = self._line(number)[1], self._end(number)
        return Origin(0, start, stop, tuple(runs), start, stop, start, start)

    def whole(self, token: Token, size: int) -> Origin:
        """The origin of a block shown as one line of `size` characters."""
        first, end = _range(token)
        return whole_origin(0, self._line(first)[1], self._end(end - 1), size)

    def code(self, token: Token, shown: Sequence[str]) -> list[Origin]:
        """The origins of lines of code; of a fence also the lines around them."""
        first, end = _range(token)
        fence = token.type == "fence"
        unit = self._line(first)[1]
        texts = token.content.removesuffix("\n").split("\n")
        origins = []
        for number, (raw, said) in enumerate(zip(texts, shown, strict=False)):
            line, start = self._line(first + fence + number)
            if fence and not token.content:
                line, start = "", self._end(first)
            column = len(line) - len(raw) if line.endswith(raw) else 0
            origin = line_origin(0, start + column, line[column:], said)
            origins.append(origin._replace(unit=unit, code=True))
        follows = not fence or self._line(first + 1)[1] != self._end(first) + 1
        if not (fence and follows) and origins:
            origins[0] = origins[0]._replace(start=unit)
        if fence and origins and token.content and end - first == len(texts) + 2:
            origins[-1] = origins[-1]._replace(stop=self._end(end - 1))
        return origins


def _words(runs: tuple[Run, ...], start: int, stop: int) -> Origin:
    inner = (runs[0].start, runs[-1].stop) if runs else (start, stop)
    return Origin(0, start, stop, runs, *inner, start, start)


def _broken(runs: Sequence[Run], shown: str, start: int, stop: int) -> Iterator[Origin]:
    """The origins of lines that end in hard breaks."""
    at = 0
    for line in shown.split("\n"):
        here = tuple(part_of(runs, at, at + len(line), 0))
        at += len(line)
        broken = next((run for run in runs if run.at == at and at < len(shown)), None)
        yield _words(here, start, broken.start if broken is not None else stop)
        start = broken.stop if broken is not None else stop
        at += 1


def _column(line: str, content: str) -> int:
    """Where a line of a token's content stands in its line of the source."""
    bare, whole = content.rstrip(), line.rstrip()
    if whole.endswith(bare):
        return len(whole) - len(bare)
    marks = len(line) - len(line.lstrip("#> \t"))
    return max(0, line.find(bare, marks))


def _placed(
    token: Token, shown: str, bases: Sequence[tuple[int, int]], *, escaped: bool = False
) -> Iterator[Run]:
    """The runs of an inline token, placed in the source; `escaped`: its pipes are written with a backslash."""
    content, base = token.content, bases[0][1]
    for at, size, start, stop in _inline_runs(token, shown):
        if len(bases) > 1:
            yield Run(at, size, _base(bases, start), _base(bases, stop))
        elif escaped:
            pipes = content.count("|", 0, start), content.count("|", 0, stop)
            yield Run(at, size, base + start + pipes[0], base + stop + pipes[1])
        else:
            yield Run(at, size, base + start, base + stop)


def _range(token: Token) -> tuple[int, int]:
    """The lines of a token: first, end."""
    return (token.map[0], token.map[1]) if token.map else (0, 1)


def _base(bases: Sequence[tuple[int, int]], place: int) -> int:
    """A place in a token's content as a place in the source."""
    begin, start = next((base for base in reversed(bases) if base[0] <= place), bases[0])
    return start + place - begin


def _inline_runs(token: Token, shown: str) -> Iterator[Run]:
    """The runs of an inline token, with offsets in its own content.

    `inline` left the ends of what each child shows in `token.meta["edges"]`.
    """
    content, place, at = token.content, 0, 0
    for child, edge in zip(token.children or (), token.meta.get("edges", ()), strict=False):
        piece = shown[at:edge]
        match child.type:
            case "text":
                runs, place = _text(piece, child.content, content, place, at)
                yield from runs
            case "code_inline":
                start = content.find(child.markup, place) + len(child.markup)
                ticks = re.compile(rf"(?<!`){child.markup}(?!`)").search(content, start)
                end = ticks.start() if ticks is not None else len(content)
                lead = int(end - start == len(child.content) + 2)
                yield from aligned(piece, child.content, start + lead, at, stops=False)
                place = end + len(child.markup)
            case "softbreak" | "hardbreak":
                line = content.find("\n", place) + 1
                end = line + len(content[line:]) - len(content[line:].lstrip(" \t")) if line else place
                yield Run(at, len(piece), place, end)
                place = end
            case "link_open":
                place += content[place : place + 1] in ("[", "<")
            case "link_close":
                tail = _LINK_TAIL.match(content, place)
                end = tail.end() if tail is not None else place + (content[place : place + 1] == ">")
                if piece:
                    yield Run(at, len(piece), place, end)
                place = end
            case "image":
                tail = _LINK_TAIL.search(content, place)
                end = tail.end() if tail is not None else len(content)
                yield Run(at, len(piece), place, end)
                place = end
            case _:
                if child.markup and content.startswith(child.markup, place):
                    place += len(child.markup)
                elif piece:
                    runs, place = _text(piece, child.content, content, place, at)
                    yield from runs
        at = edge


def _text(piece: str, raw: str, content: str, place: int, at: int) -> tuple[list[Run], int]:
    """The runs of words, and where they end in the content; escapes and entities in them are written longer."""
    if content.startswith(raw, place):
        return list(aligned(piece, raw, place, at, stops=False)), place + len(raw)
    runs: list[Run] = []
    start, i = place, 0
    while i < len(raw) and place < len(content):
        entity = _ENTITY.match(content, place)
        said = html.unescape(entity[0]) if entity is not None else ""
        if said and said != entity[0] and raw.startswith(said, i):  # type: ignore[index]
            runs.append(Run(at + i, len(said), place, entity.end()))  # type: ignore[union-attr]
            i, place = i + len(said), entity.end()  # type: ignore[union-attr]
            continue
        begin = place
        if content[place] != raw[i] or content[place : place + 2] == "\\" + raw[i]:
            place = content.find(raw[i], place)
            if place < 0:
                return [Run(at, len(piece), start, len(content))], len(content)
        begin = begin if content[begin] == "\\" else place
        runs.append(Run(at + i, 1, begin, place + 1))
        i, place = i + 1, place + 1
    if len(piece) != len(raw):
        return [Run(at, len(piece), start, place)], place
    return runs, place
