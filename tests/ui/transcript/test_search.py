"""Search: what is counted, in which order it is visited, and that it keeps numbers alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.ui.transcript.host import Lazy, answer, result, turns, use, words
from tui_agent.messages.blocks import Message, tool_result
from tui_agent.ui.transcript.search import Hit, Search, pieces


def by_hand(messages: Sequence[Message], needle: str) -> int:
    """The hits of a needle, counted by a script that knows nothing of the transcript."""

    def fits(text: str) -> str:
        return text if needle != needle.lower() else text.lower()

    def texts(block: dict[str, Any]) -> list[str]:
        match block["type"]:
            case "text":
                return [block["text"]]
            case "thinking":
                return [block["thinking"]]
            case "tool_use":
                said = [
                    f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
                    for key, value in block["input"].items()
                ]
                return [block["name"], *said]
            case "tool_result":
                content = block["content"]
                return [content] if isinstance(content, str) else [t for part in content for t in texts(part)]
            case _:
                return []

    found = [text for message in messages for block in message.content for text in texts(block)]
    return sum(fits(text).count(needle) for text in found)


def looked(search: Search) -> Search:
    while search.busy:
        search.look()
    return search


def all_hits(search: Search) -> list[Hit]:
    """Every hit, from the first one on until it comes again."""
    first = search.first()
    if first is None:
        return []
    hits = [first]
    while (hit := search.beside(hits[-1], 1)) != first:
        hits.append(hit)
    return hits


TEXT = st.text(alphabet="aAbB é漢\n\t\r*_`|[]()#", max_size=24)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "ab", "n"]), st.one_of(TEXT, st.integers(0, 99), st.lists(TEXT))
)
BLOCKS = st.one_of(
    TEXT.map(lambda text: {"type": "text", "text": text}),
    TEXT.map(lambda text: {"type": "thinking", "thinking": text, "signature": "ab"}),
    st.builds(lambda made: use("ab1", "bash", **made), ARGUMENTS),
)
MESSAGES = st.one_of(
    TEXT.map(words),
    st.lists(BLOCKS, min_size=1, max_size=4).map(lambda blocks: Message("assistant", blocks)),
    TEXT.map(lambda text: result("ab1", text)),
    st.lists(TEXT, min_size=1, max_size=3).map(
        lambda texts: Message(
            "user", [tool_result("ab1", [{"type": "text", "text": text} for text in texts])], origin="tool"
        )
    ),
    TEXT.map(lambda text: Message("user", [{"type": "text", "text": text}], origin="summary")),
)


@given(
    st.lists(MESSAGES, max_size=8),
    st.sampled_from(["a", "ab", "aa", "A", "b a", "*", "é", "漢", "[", "zz", "a_"]),
    st.integers(0, 9),
)
def test_every_hit_is_counted_and_comes_once_in_order(
    messages: list[Message], needle: str, start: int
) -> None:
    search = looked(Search(needle, messages, start))
    assert search.total == by_hand(messages, needle)
    hits = all_hits(search)
    assert sorted(search.number(hit) for hit in hits) == list(range(1, search.total + 1))
    assert sorted(hits) == sorted(hits, key=search.number)
    for hit in hits:
        found = search.find(hit)
        assert found is not None
        text = found.pieces[found.piece].text[found.start : found.start + len(needle)]
        assert text == needle or (needle == needle.lower() and text.lower() == needle)
        assert search.beside(search.beside(hit, 1), -1) == hit


def test_the_first_hit_is_the_next_one_from_where_the_reader_is() -> None:
    messages = [words(f"say zebra {n}" if n in (2, 5, 7) else "nothing") for n in range(9)]
    assert looked(Search("zebra", messages, 5)).first() == Hit(5, 0)
    assert looked(Search("zebra", messages, 6)).first() == Hit(7, 0)
    assert looked(Search("zebra", messages, 8)).first() == Hit(7, 0)
    assert looked(Search("horse", messages, 8)).first() is None


def test_a_large_letter_finds_only_itself() -> None:
    messages = [words("Zebra zebra ZEBRA")]
    assert [looked(Search(needle, messages)).total for needle in ("zebra", "Zebra", "ZEBRA")] == [3, 1, 1]
    assert [Search(needle, messages).ignores_case for needle in ("zebra", "Zebra")] == [True, False]


def test_blanks_alone_find_nothing() -> None:
    search = Search("  ", [words("a  b")])
    assert not search.busy
    assert search.total == 0


def test_what_is_added_is_found_and_nothing_is_counted_twice() -> None:
    messages = turns(30)
    search = looked(Search("make", messages, 50))
    before = search.total
    messages += turns(2)
    search.grow(messages)
    assert search.busy
    looked(search)
    assert search.total == before + by_hand(turns(2), "make") == by_hand(messages, "make")


def test_the_history_is_read_once_and_the_rest_of_a_long_one_a_slice_at_a_time() -> None:
    history = Lazy(turns(5_000))
    search = Search("it is done", history, len(history) - 4)
    search.look()
    first = search.first()
    assert first is not None
    assert first.message == len(history) - 1
    slices = 1
    while search.busy:
        search.look()
        slices += 1
    assert slices > 1
    assert sorted(history.read) == list(range(len(history)))
    assert search.total == 5_000
    assert search.number(first) == 5_000


def test_arguments_are_searched_as_a_person_reads_them() -> None:
    said = list(pieces(answer(use("c", "edit_file", path="a.py", new='x = "1"\ny', count=3))))
    assert [piece.text for piece in said] == ['edit_file\npath: a.py\nnew: x = "1"\ny\ncount: 3']
