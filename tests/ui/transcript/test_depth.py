"""Any Markdown at any width: it renders, fits, and says every word; streamed it looks the same as when it is loaded."""

from __future__ import annotations

import itertools
import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.style import Style

from tests.support.examples import examples
from tests.support.hostile import SMALL, TEXTS
from tui_agent.ui.themes import ASCII, UNICODE
from tui_agent.ui.transcript.entries import Answer
from tui_agent.ui.transcript.paint import Painter
from tui_agent.ui.transcript.render import Parts
from tui_agent.ui.transcript.stream import Splitter

BARE: Any = SimpleNamespace(
    visual_style=Style(),
    app=SimpleNamespace(stylesheet=SimpleNamespace(parse_style=lambda _: Style())),
    get_visual_style=lambda *_, **__: Style(),
    get_component_styles=lambda _: SimpleNamespace(has_rule=lambda _: False),
)
"""A widget without looks."""


def rows(body: Splitter, width: int, glyphs: Any = UNICODE) -> list[str]:
    painter = Painter(BARE)
    parts = Parts(glyphs, lambda: 0.0).of(Answer(body))
    strips = [row.strip for part in parts for row in painter.rows(part, width)]
    assert {strip.cell_length for strip in strips} <= {width}
    assert all(sum(segment.cell_length for segment in strip) == width for strip in strips)
    return [strip.text for strip in strips]


def streamed(source: str, cuts: list[int]) -> Splitter:
    splitter = Splitter()
    places = sorted({0, *(cut % (len(source) + 1) for cut in cuts), len(source)})
    for start, stop in pairwise(places):
        splitter.feed(source[start:stop])
        rows(splitter, 60)
    splitter.finish()
    return splitter


class Words:
    """Gives every word a name of its own."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self._numbers = itertools.count()

    def __call__(self, kind: str) -> str:
        word = f"{kind}{next(self._numbers)}q"
        self.given.append(word)
        return word


KINDS = st.sampled_from(["w", "w", "w", "中文", "한", "x" * 30])
SHORT = st.sampled_from(["w", "中"])
FRAMES = st.sampled_from(
    ["{}", "*{}*", "**{}**", "`{}`", "~~{}~~", "***{}***", "[{}](https://e.org/a)", "[{}](x.md)"]
)
PHRASE = st.lists(st.tuples(KINDS, FRAMES), min_size=1, max_size=6)
CELL = st.lists(st.tuples(SHORT, st.sampled_from(["{}", "**{}**", "`{}`"])), max_size=4)

LEAF = st.one_of(
    st.tuples(st.just("p"), PHRASE),
    st.tuples(st.just("h"), st.integers(1, 6), PHRASE),
    st.tuples(st.just("code"), st.sampled_from(["", "python", "nolang"]), st.lists(PHRASE, max_size=4)),
    st.tuples(st.just("table"), st.lists(st.lists(CELL, min_size=1, max_size=6), min_size=1, max_size=4)),
    st.tuples(st.just("rule")),
)


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Blocks, and lists and quotes of such."""
    item = st.tuples(st.sampled_from(["", "[ ] ", "[x] "]), PHRASE, st.lists(inner, max_size=1))
    return st.one_of(
        inner,
        st.tuples(st.just("list"), st.sampled_from(["-", "*", "1."]), st.lists(item, min_size=1, max_size=3)),
        st.tuples(st.just("quote"), st.lists(inner, min_size=1, max_size=2)),
    )


BLOCK = around(around(around(LEAF)))


def phrase(words: Words, made: list[tuple[str, str]]) -> str:
    return " ".join(frame.format(words(kind)) for kind, frame in made)


def written(words: Words, block: Any) -> list[str]:
    """The block in Markdown, line by line."""
    match block:
        case ("p", said):
            return [phrase(words, said)]
        case ("h", level, said):
            return [f"{'#' * level} {phrase(words, said)}"]
        case ("code", language, lines):
            return [
                f"```{language}",
                *("  " + phrase(words, [(k, "{}") for k, _ in line]) for line in lines),
                "```",
            ]
        case ("list", mark, items):
            out: list[str] = []
            for task, said, inner in items:
                out.append(f"{mark} {task}{phrase(words, said)}")
                pad = " " * (len(mark) + 1)
                for child in inner:
                    out += ["", *(pad + line if line else "" for line in written(words, child)), ""]
            return out
        case ("quote", blocks):
            inner = [line for child in blocks for line in [*written(words, child), ""]]
            return ["> " + line for line in inner]
        case ("table", cells):
            columns = max(1, len(cells[0]))
            told = ["| " + " | ".join(phrase(words, cell) for cell in row) + " |" for row in cells]
            return [told[0], "|" + "---|" * columns, *told[1:]]
        case _:
            return ["***"]


@given(st.lists(BLOCK, min_size=1, max_size=6), st.integers(20, 200), st.booleans())
@examples(40)
def test_every_word_of_any_document_is_shown_at_any_width(blocks: list[Any], width: int, plain: bool) -> None:
    words = Words()
    source = "\n\n".join("\n".join(written(words, block)) for block in blocks)
    shown = rows(Splitter.whole(source), width, ASCII if plain else UNICODE)
    glyphs = ASCII if plain else UNICODE
    signs = re.compile(f"[\\s{re.escape(glyphs.bar)}]+")
    text = signs.sub("", "".join(shown))
    missing = [word for word in words.given if word not in text]
    assert not missing, (source, "\n".join(shown))


GARBAGE = st.text(alphabet="ab1 \n\n\t-*_`#>|[]()!~:.\\&;=+<漢é\u0301\x1b\u202e", max_size=160)


@given(GARBAGE, st.integers(20, 200), st.lists(st.integers(0, 10**6), max_size=12))
@examples(80)
def test_any_text_renders_and_looks_the_same_streamed_as_loaded(
    source: str, width: int, cuts: list[int]
) -> None:
    whole = rows(Splitter.whole(source), width)
    assert rows(streamed(source, cuts), width) == whole


@given(st.lists(BLOCK, min_size=1, max_size=5), st.lists(st.integers(0, 10**6), max_size=12))
@examples(30)
def test_any_document_looks_the_same_streamed_as_loaded(blocks: list[Any], cuts: list[int]) -> None:
    source = "\n\n".join("\n".join(written(Words(), block)) for block in blocks)
    assert rows(streamed(source, cuts), 72) == rows(Splitter.whole(source), 72)


FRAMES = ("{}", "# {}", "- {}", "> {}", "| a | b |\n|---|---|\n| {} | x |", "```\n{}\n```")


@pytest.mark.parametrize("frame", FRAMES)
def test_hostile_texts_render_in_any_frame(frame: str) -> None:
    for number, name in enumerate(SMALL):
        rows(Splitter.whole(frame.format(SMALL[name])), 20 + 31 * number % 180)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TEXTS))
@pytest.mark.parametrize("width", [20, 79, 200])
def test_hostile_texts_render_at_any_width(name: str, width: int) -> None:
    for frame in FRAMES:
        rows(Splitter.whole(frame.format(TEXTS[name])), width)
