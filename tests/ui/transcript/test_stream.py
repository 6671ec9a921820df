"""Cutting Markdown into chunks: the same however it arrives, nothing lost, nothing too long."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.hostile import TEXTS
from tui_agent.ui.transcript.stream import CHARACTERS, CODE_LINES, TABLE_ROWS, Chunk, Splitter

TABLE = "| a | b |\n|---|--:|\n"

PIECES = [
    "a paragraph\nof two lines\n\n",
    "# heading\n",
    "Title\n-----\n",
    "- one\n- two\n  - nested\n\n  more of two\n- three\n",
    "9. nine\n10. ten\n",
    "* other\n\n* loose\n",
    "1. code in a list\n   ```sh\n   - not an item\n   ```\n2. after\n",
    "```python\n# not a heading\n\n- not an item\n```\n",
    "~~~~\n```\n~~~\n~~~~\n",
    "    indented code\n\n    more of it\n",
    "> quoted\n> - a list\n\n",
    TABLE + "| 1 | 2 |\n\n",
    "***\n",
    "[ref]: https://example.org/x\n\n",
    "see [ref] and <b>html</b>\n",
    "\n\n",
    "text right before\n- an item\n",
    "```\nnever closed\n",
]


def told(splitter: Splitter) -> list[tuple[object, ...]]:
    return [
        (c.source, c.gap, c.start, c.indent, c.body, c.closed, c.table and c.table.sample)
        for c in splitter.chunks
    ]


def streamed(source: str, cuts: list[int]) -> Splitter:
    splitter = Splitter()
    places = sorted({0, *(cut % (len(source) + 1) for cut in cuts), len(source)})
    for start, stop in pairwise(places):
        splitter.feed(source[start:stop])
        _ = splitter.tail
    splitter.finish()
    return splitter


def kept(chunks: list[Chunk]) -> str:
    """The source the chunks stand for: repeated heads, fences and indents taken off, blank lines left out."""
    lines: list[str] = []
    for chunk in chunks:
        own = chunk.source.split("\n")
        if chunk.body:
            own = own[2:]
        elif lines and not chunk.gap and own[0].lstrip().startswith(("```", "~~~")):
            own = own[1:]
        lines += [" " * chunk.indent + line for line in own]
    return "".join("".join(line.split()) for line in lines)


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.lists(st.integers(0, 10**6), max_size=30))
@examples(80)
def test_the_chunks_depend_on_the_source_alone(pieces: list[str], cuts: list[int]) -> None:
    source = "".join(pieces)
    whole = Splitter.whole(source)
    assert told(streamed(source, cuts)) == told(whole)
    assert whole.source == source
    assert kept(whole.chunks) == "".join(source.split())


def test_hostile_texts_are_cut_the_same_way_and_in_small_chunks() -> None:
    for name, hostile in TEXTS.items():
        source, places = hostile * 3, random.Random(name)
        whole = Splitter.whole(source)
        assert told(streamed(source, [places.randrange(len(source) + 1) for _ in range(20)])) == told(
            whole
        ), name
        assert all(len(chunk.source) <= 2 * CHARACTERS for chunk in whole.chunks), name


def test_finished_blocks_leave_the_open_end_as_they_come() -> None:
    splitter = Splitter()
    seen = []
    for line in ("one", "", "two", "", "- a", "- b", "", "# h", "end"):
        splitter.feed(line + "\n")
        seen.append((len(splitter.chunks), splitter.tail.source if splitter.tail else None))
    assert seen == [
        (0, "one\n"),
        (0, "one\n\n"),
        (1, "two\n"),
        (1, "two\n\n"),
        (2, "- a\n"),
        (2, "- a\n- b\n"),
        (2, "- a\n- b\n\n"),
        (3, "# h\n"),
        (4, "end\n"),
    ]


def test_a_blank_row_stands_before_every_block_but_the_first() -> None:
    chunks = Splitter.whole("one\n\n- a\n\ntwo\n# h\n```\nx\n```\nthree").chunks
    assert [chunk.gap for chunk in chunks] == [False, True, True, True, True, True]


def test_a_long_list_goes_on_with_its_numbers() -> None:
    chunks = Splitter.whole("".join(f"1. item {number}\n" for number in range(30))).chunks
    assert [chunk.start for chunk in chunks] == [None, 9, 17, 25]
    assert not any(chunk.gap for chunk in chunks)


def test_a_long_fence_repeats_its_first_line_in_every_chunk() -> None:
    lines = [f"line {number}" for number in range(CODE_LINES * 3)]
    chunks = Splitter.whole("```python\n" + "\n".join(lines) + "\n```\nafter").chunks
    assert all(chunk.source.startswith("```python\n") for chunk in chunks[:-1])
    assert len(chunks) == 4
    assert (chunks[-1].source, chunks[-1].gap) == ("after\n", True)


def test_a_long_table_repeats_its_head_and_shares_its_columns() -> None:
    rows = [f"| row {number} | {number} |\n" for number in range(TABLE_ROWS * 2 + 5)]
    chunks = Splitter.whole(TABLE + "".join(rows)).chunks
    assert [chunk.body for chunk in chunks] == [False, True, True]
    assert all(chunk.source.startswith(TABLE) for chunk in chunks)
    assert len({id(chunk.table) for chunk in chunks}) == 1


def test_what_looks_like_an_item_inside_a_fence_in_a_list_is_code() -> None:
    source = "- a\n  ```\n" + "  - x\n" * 30 + "  ```\n- b\n"
    assert [chunk.source for chunk in Splitter.whole(source).chunks][-1].endswith("- b\n")


def test_a_paragraph_without_an_end_is_cut_at_spaces() -> None:
    splitter = Splitter()
    for _ in range(20_000):
        splitter.feed("word ")
    assert splitter.tail is not None
    assert len(splitter.tail.source) <= 2 * CHARACTERS
    splitter.finish()
    assert all("wordword" not in chunk.source for chunk in splitter.chunks)
    assert sum(chunk.source.count("word") for chunk in splitter.chunks) == 20_000


def test_the_rest_of_something_nested_keeps_its_place() -> None:
    source = "- top\n" + "".join(f"    - nested {'x' * 200} {number}\n" for number in range(60))
    chunks = Splitter.whole(source).chunks
    assert len(chunks) > 1
    assert chunks[1].indent == 4
    assert chunks[1].source.startswith("- nested")
