"""Where what is shown comes from, for any Markdown at any width."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.ui.transcript.test_depth import BARE, BLOCK, GARBAGE, Words, written
from tui_agent.literal import visible
from tui_agent.ui.themes import UNICODE
from tui_agent.ui.transcript import markdown
from tui_agent.ui.transcript.entries import Answer
from tui_agent.ui.transcript.layout import Layout
from tui_agent.ui.transcript.lines import Line
from tui_agent.ui.transcript.origin import aligned
from tui_agent.ui.transcript.paint import Painter
from tui_agent.ui.transcript.places import FAR, Places
from tui_agent.ui.transcript.render import Parts
from tui_agent.ui.transcript.selection import between, copied, spans
from tui_agent.ui.transcript.stream import Splitter

WORD = re.compile(r"(?:w|中文|한|中|x{30})\d+q")


def lines(source: str, width: int) -> list[Line]:
    return [line for chunk in Splitter.whole(source).chunks for line in markdown.lines(chunk, width, UNICODE)]


def check(source: str, made: list[Line]) -> None:
    """Runs lie in their line and in the source, in order, and a line without words has none."""
    for line in made:
        if line.origin is None:
            continue
        end = 0
        for run in line.origin.runs:
            assert end <= run.at
            assert 0 <= run.start <= run.stop <= len(source)
            end = run.at + run.size
            assert run.size > 0
        assert end <= len(line.content)
        assert 0 <= line.origin.start <= line.origin.stop <= len(source)


@given(st.lists(BLOCK, min_size=1, max_size=6), st.integers(20, 200))
@examples(60)
def test_every_word_that_is_shown_is_found_in_the_source(blocks: list[Any], width: int) -> None:
    words = Words()
    source = "\n\n".join("\n".join(written(words, block)) for block in blocks)
    made = lines(source, width)
    check(source, made)
    for line in made:
        for word in WORD.finditer(line.content.plain):
            assert line.origin is not None
            told = "".join(
                source[slice(*run.source(at))]
                for run in line.origin.runs
                for at in range(max(run.at, word.start()), min(run.at + run.size, word.end()))
            )
            assert told == word[0], (source, line.content.plain, line.origin)


@given(GARBAGE, st.integers(20, 200))
@examples(100)
def test_whatever_is_written_has_an_origin_inside_the_source(source: str, width: int) -> None:
    check(source, lines(source, width))


@given(st.text(alphabet="ab \t\x1b\u202e\u200b\u200b漢e\u0301👍🏽\ufe0f\u200d", max_size=60))
@examples(80)
def test_foreign_text_comes_from_where_it_is_written(raw: str) -> None:
    shown = visible(raw.expandtabs(4) if "\t" in raw else raw)
    at = start = 0
    for run in aligned(shown, raw, 0):
        assert run.at >= at
        assert run.start >= start
        at, start = run.at + run.size, run.stop
        if not run.whole and raw[run.start : run.stop].isalpha():
            assert shown[run.at : at] == raw[run.start : run.stop]
    assert at <= len(shown)
    assert start <= len(raw)


def laid_out(source: str, width: int) -> tuple[Layout, Places]:
    """An answer that stands alone in a layout."""
    painter = Painter(BARE)
    layout = Layout(
        Parts(UNICODE, lambda: 0.0).of,
        lambda part: len(painter.rows(part, width)),
        lambda gap, a, b: (0, 0, []),
    )
    layout.resize(width)
    layout.load([Answer(Splitter.whole(source))])
    return layout, Places(layout, painter)


@given(st.lists(BLOCK, min_size=1, max_size=6), st.integers(20, 200))
@examples(60)
async def test_all_of_any_document_is_copied_as_its_source(blocks: list[Any], width: int) -> None:
    inside = "\n\n".join("\n".join(written(Words(), block)) for block in blocks)
    source = f"first\n\n{inside}\n\nlast"
    layout, places = laid_out(source, width)
    first = layout.first()
    assert first is not None
    start, end = places.point(first, -1, -1), places.point(layout.end_of(first.placed), FAR, FAR)
    assert start is not None
    assert end is not None
    for one, other in ((start, end), (end, start)):
        chosen = between(layout, one, other)
        assert chosen is not None
        assert await copied(layout, chosen, lambda gap, a, b: (0, 0, [])) == source


@given(
    GARBAGE,
    st.integers(20, 200),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 90)), min_size=2, max_size=2),
)
@examples(80)
async def test_whatever_is_selected_is_a_piece_of_the_source(
    inside: str, width: int, cells: list[tuple[int, int]]
) -> None:
    source = f"first\n\n{inside}\n\nlast"
    layout, places = laid_out(source, width)
    first = layout.first()
    assert first is not None
    spots = list(places.rows_from(first, 1))
    points = [places.point(spots[row % len(spots)], index, index) for row, index in cells]
    assert points[0] is not None
    assert points[1] is not None
    chosen = between(layout, points[0], points[1])
    if chosen is None:
        return
    text = await copied(layout, chosen, lambda gap, a, b: (0, 0, []))
    if not chosen.margin:
        assert text in source
    marked = [
        spans(layout, chosen, first.placed, row) for spot in spots if (row := places.row(spot)) is not None
    ]
    assert any(marked) or not text.strip()
