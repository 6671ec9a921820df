"""Of which parts an entry consists, and what their lines say.

A part is what is laid out at once: a page at most, however long the entry is. Naming the parts costs nothing; their
lines are made when they come into view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual.content import Content
from textual.style import Style

from tui_agent.literal import one_line
from tui_agent.ui.transcript import markdown
from tui_agent.ui.transcript.entries import (
    Answer,
    Aside,
    Entry,
    Failure,
    Mark,
    Note,
    Result,
    Retry,
    Thinking,
    ToolCall,
    Words,
    human_size,
    short_time,
)
from tui_agent.ui.transcript.lines import EMPTY, PROSE, Line, literal
from tui_agent.ui.transcript.origin import Origin, Run, line_origin, whole_origin
from tui_agent.ui.transcript.pages import diff_pages, pages
from tui_agent.ui.transcript.paint import MARGIN, Part, beyond
from tui_agent.ui.transcript.said import (
    GAP,
    OUTPUT,
    STATES,
    TITLE_CHARACTERS,
    beginning,
    call_words,
    fold_words,
    plain_text,
    retry_words,
    way_command,
    way_lines,
)

if TYPE_CHECKING:
    from tui_agent.ui.themes import Glyphs
    from tui_agent.ui.transcript.stream import Chunk

_LEAST_ROOM = 8
_NARROW = 50
"""Cells below which a call's line leaves its time out."""
_COLUMNS = ((72, 18), (_NARROW, 12), (0, 8))
"""From how many cells on a call's summary has how many. One width for all calls keeps their lines in columns."""
_TIME = 8
_FACTS = {
    "info": "",
    "warning": "bold $text-warning",
    "error": "bold $text-error",
    "added": ".transcript--added",
    "removed": ".transcript--removed",
}
"""What the facts of a result look like."""
_LEVELS = {"info": ".transcript--dim", "warning": ".transcript--warning", "error": ".transcript--error"}


# --- of what an entry consists -----------------------------------------------------------------------------------


class Parts:
    """Says of what entries consist. `clock` gives seconds, for calls that still run."""

    def __init__(self, glyphs: Glyphs, clock: Callable[[], float]) -> None:
        self._glyphs = glyphs
        self._clock = clock

    def of(self, entry: Entry) -> list[Part]:
        """The parts of an entry as it is now."""
        match entry:
            case Answer():
                return self._answer(entry)
            case Words():
                return self._words(entry)
            case ToolCall():
                return self._call(entry)
            case Thinking():
                style = ".transcript--thinking"
                text = pages(entry.text, style=style, section=1) if entry.opened else ()
                return [self._fold(entry), *text]
            case Result():
                return [self._fold(entry), *self._result(entry)]
            case Aside():
                return [self._fold(entry), *(pages(entry.text, section=1) if entry.opened else ())]
            case Mark():
                return [Part(lambda width: [self._mark(entry, width)])]
            case Note():
                sign = "" if entry.level == "info" else "!"
                return self._said(entry.text, (), _LEVELS[entry.level], sign, section=0)
            case Failure():
                sign = "" if entry.level == "info" else "!"
                return self._said(entry.text, entry.ways, _LEVELS[entry.level], sign, section=0)
            case Retry():
                style = ".transcript--dim" if entry.over else ".transcript--busy"
                return self._said(retry_words(entry), (), style, "!", section=0)
            case _:
                return []

    def _answer(self, entry: Answer) -> list[Part]:
        chunks = [*entry.body.chunks, tail] if (tail := entry.body.tail) else entry.body.chunks
        parts = [self._chunk(chunk) for chunk in chunks]
        if entry.partial:
            parts += self._said("The answer was cut off here.", (), ".transcript--warning", "!")
        return parts

    def _chunk(self, chunk: Chunk) -> Part:
        if chunk.part is None:
            lines = chunk.source.strip("\n").split("\n")
            chunk.part = Part(
                lambda width: markdown.lines(chunk, width, self._glyphs),
                beyond(lines),
                len(lines) - 1 + chunk.gap,
                section=0,
                stop=chunk.starts[-1] if chunk.starts else 0,
            )
        return chunk.part

    def _words(self, entry: Words) -> list[Part]:
        text, more = entry.text, 0
        if entry.foldable and not entry.opened:
            lines = text.split("\n")
            text, more = "\n".join(lines[: Words.SHOWN]), len(lines) - Words.SHOWN
        sign = Content.styled(self._glyphs.prompt, ".transcript--sign")
        parts = list(pages(text, ground=".transcript--words", sign=sign, section=0))
        if more:
            said = f"{self._glyphs.more} {more:,} more lines, Enter or a click shows them"
            rest = literal(said, ".transcript--dim")
            line = Line(
                rest,
                ground=".transcript--words",
                origin=whole_origin(0, len(plain_text(text)) + 1, len(plain_text(entry.text)), len(rest)),
            )
            parts.append(Part(lambda width: [line]))
        return parts

    def _call(self, entry: ToolCall) -> list[Part]:
        parts = [Part(lambda width: [self._call_head(entry, width)])]
        if not entry.opened:
            return parts
        bar = self._glyphs.bar
        if entry.written:
            parts += pages(entry.written, style=".transcript--title", bar=bar, fold=True, section=4)
        else:
            parts += [
                self._if_cut(entry, page)
                for page in pages(entry.title, style=".transcript--title", bar=bar, section=1)
            ]
        if entry.diff:
            parts += diff_pages(entry.diff)
        if entry.shows_text:
            output = beginning(entry, OUTPUT)
            parts += pages(
                entry.text, style=".transcript--output", bar=bar, fold=True, section=OUTPUT, start=output
            )
        elif not entry.diff:
            said = "no output yet" if entry.state in ("running", "asks") else "no output"
            parts += pages(said, style=".transcript--dim", bar=bar)
        return parts

    def _call_head(self, entry: ToolCall, width: int) -> Line:
        left, right = self._call_name(entry), self._call_state(entry, width)
        room = _title_room(right, width)
        cut = _cut(left, room, self._glyphs.more)
        before = cut + Content(" " * (room - cut.cell_length + GAP))
        words, figures = call_words(entry)
        end = len(words) + GAP + len(figures)
        shown = Run(len(before), len(right), len(words) + GAP, end)
        origin = self._head_origin(cut.plain, words, shown)
        return Line(before + right, sign=self._sign(entry), fold=True, origin=origin)

    def _head_origin(self, shown: str, words: str, *more: Run) -> Origin:
        """The origin of a line that is cut where it is too long for the screen: the end stands for all that was cut."""
        same = len(shown) if shown == words else max(0, len(shown) - len(self._glyphs.more))
        runs = [Run(0, same, 0, same)]
        if same < len(words):
            runs.append(Run(same, len(shown) - same, same, len(words)))
        stop = more[-1].stop if more else len(words)
        return Origin(0, 0, stop, (*runs, *more), 0, stop, 0, 0)

    def _cuts_title(self, entry: ToolCall, width: int) -> bool:
        """Is the call's title too long for its line? Then it is said again when the call is opened."""
        room = _title_room(self._call_state(entry, width), width)
        return "\n" in entry.title or self._call_name(entry).cell_length > room

    def _if_cut(self, entry: ToolCall, page: Part) -> Part:
        return Part(lambda width: page.make(width) if self._cuts_title(entry, width) else [])

    def _call_name(self, entry: ToolCall) -> Content:
        name = literal(one_line(entry.tool or "tool", 40), ".transcript--tool")
        return name + literal(" " + one_line(entry.title[:TITLE_CHARACTERS])) if entry.title else name

    def _call_state(self, entry: ToolCall, width: int) -> Content:
        """State, size, time: the right end of a call's line."""
        word, style = STATES[entry.state]
        room = next(cells for least, cells in _COLUMNS if width >= least)
        said = one_line(entry.summary[:TITLE_CHARACTERS]) or (human_size(entry.size) if entry.size else "")
        summary = _cut(literal(said), room, self._glyphs.more)
        seconds = entry.seconds
        if entry.state == "running":
            seconds = max(0.0, self._clock() - entry.started)
        figures = literal(" " * (room - summary.cell_length + 1)) + summary
        if width >= _NARROW:
            figures += literal(f" {'' if seconds is None else short_time(seconds):>{_TIME}}")
        return Content.styled(f"{word:<9}", style) + figures.stylize(".transcript--dim")

    def _result(self, entry: Result) -> Iterator[Part]:
        """What stands below a result's line: facts, answers, and when it is open its text."""
        bar = self._glyphs.bar
        if entry.shows_facts:
            at = 0
            for fact, level in entry.told:
                grave = level in ("warning", "error")
                sign = Content.styled("!" if grave else "", _LEVELS[level] if grave else "")
                yield from pages(fact, style=_FACTS[level], sign=sign, bar=bar, section=2, start=at)
                at += len(plain_text(fact)) + 1
            if entry.choices:
                yield Part(lambda width: [self._choices(entry, bar)])
        if not entry.opened or not entry.text:
            return
        if entry.summary is None:
            yield from pages(entry.text, style=".transcript--output", bar=bar, section=1)
        else:
            yield from map(_below, map(self._chunk, entry.summary.chunks))

    def _choices(self, entry: Result, bar: str) -> Line:
        """The answers, each to be clicked."""
        parts = []
        for letter, words in entry.choices:
            text = Content.assemble((f"[{letter}]", "bold $text-accent"), " ", one_line(words, 40))
            parts.append(text.stylize(Style.from_meta({"answer": letter})))
        if entry.waits:
            parts.append(Content.styled("Tab or click to answer", ".transcript--dim"))
        before = Content.styled(f"{bar} ", ".transcript--dim")
        return Line(Content("  ").join(parts), before, before)

    def _fold(self, entry: Thinking | Aside) -> Part:
        """A line that opens to more."""

        def make(width: int) -> list[Line]:
            label, rest = fold_words(entry)
            dim = "" if isinstance(entry, Result) else ".transcript--dim"
            head = literal(label, ".transcript--tool") + literal(rest, dim)
            cut = _cut(head, max(_LEAST_ROOM, min(width, PROSE)), self._glyphs.more)
            origin = self._head_origin(cut.plain, label + rest)
            return [Line(cut, sign=self._sign(entry), fold=True, origin=origin)]

        return Part(make)

    def _sign(self, entry: Entry) -> Content:
        if not entry.foldable:
            return EMPTY
        return Content.styled(
            self._glyphs.opened if entry.opened else self._glyphs.closed, ".transcript--sign"
        )

    def _mark(self, entry: Mark, width: int) -> Line:
        rule, time = self._glyphs.rule, local_time(entry.at)
        words = f" checkpoint {entry.number} "
        end = f" {time} {rule * 2}" if time else ""
        spare = max(0, min(width, PROSE) - len(words) - len(end))
        line = literal(words + rule * spare + end, ".transcript--checkpoint")
        return Line(line, sign=Content.styled(rule * MARGIN, ".transcript--checkpoint"), fold=True)

    def _said(
        self, text: str, ways: Sequence[str], style: str, sign: str, *, section: int | None = None
    ) -> list[Part]:
        text = text.strip() or "no reason given"
        parts = list(pages(text, style=style, sign=Content.styled(sign, style), section=section))
        bullet = Content.styled(f"{self._glyphs.bullets[0]} ", style)
        lines: list[Line] = []
        at = 0
        for way in way_lines(ways):
            content = _answerable(literal(way))
            lines.append(Line(content, bullet, Content("  "), origin=line_origin(1, at, way, content.plain)))
            at += len(way) + 1
        return [*parts, Part(lambda width: lines, beyond(ways), len(lines) - 1)] if lines else parts


def _below(part: Part) -> Part:
    """Text whose source is section 0 as that of something that folds, whose line is section 0."""

    def make(width: int) -> list[Line]:
        return [
            line if line.origin is None else replace(line, origin=line.origin._replace(section=1))
            for line in part.make(width)
        ]

    return Part(make, part.beyond, part.breaks, None if part.section is None else 1, part.stop)


def _answerable(way: Content) -> Content:
    """A way out that names a command is an answer: a click carries it out."""
    place = way_command(way.plain)
    if place is None:
        return way
    command = Style.from_meta({"way": way.plain[slice(*place)]})
    return way.stylize(".transcript--link", *place).stylize(command)


def _title_room(right: Content, width: int) -> int:
    return max(_LEAST_ROOM, min(width, PROSE) - right.cell_length - GAP)


def _cut(content: Content, width: int, more: str) -> Content:
    """The content in at most `width` cells, with a sign if something was cut off."""
    if content.cell_length <= width:
        return content
    return content.truncate(max(0, width - len(more))) + Content(more)


def local_time(at: str) -> str:
    """A time in ISO 8601 as a person here reads it: `12:04`, on another day `3 May 12:04`; "" if it is none."""
    try:
        then = datetime.fromisoformat(at).astimezone()
    except (ValueError, OverflowError, OSError):
        return ""
    time = f"{then:%H:%M}"
    return time if then.date() == datetime.now().date() else f"{then.day} {then:%b} {time}"
