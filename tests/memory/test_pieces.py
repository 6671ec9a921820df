"""In whatever pieces a text comes: the same is shown and found, no marker is seen, and the work is in its length."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.hostile import HOSTILE, OPEN, read, repeated
from tests.support.examples import examples, some
from tests.support.hostile import TEXTS
from tui_agent.memory.markers import Found, Malformed, Marker, MarkerParser, clean, may_hold
from tui_agent.memory.schema import SCOPES

SOUP = st.lists(
    st.sampled_from(
        ["<memory", "</memory>", "<memory>", "</memory", OPEN, "<memory key='b'>", "<memory x>", "<memory/>"] * 2
        + ["<mem", "ory", "<", ">", "/", "/>", " scope=", '"', "'", '"user"', "key='", "=", "MEMORY", "</"]
        + ["`", "``", "```", "```\n", "~~~\n", "\n", "\n\n", "\n", "- ", "> ", "    ", "\\", "a", "b ", "日", "\r\n"]
        + ["# ", "x" * 300, "é" * 1500, "\ud83d", "\ude42", "y " * 120]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@st.composite
def split(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, list[str]]:
    text = draw(texts)
    cuts = draw(st.sets(st.integers(0, len(text)), max_size=12))
    places = sorted({0, len(text), *cuts})
    return text, [text[start:end] for start, end in pairwise(places)]


@examples(200)
@pytest.mark.timeout(900)
@given(split(SOUP))
def test_any_pieces_show_and_find_the_same(given: tuple[str, list[str]]) -> None:
    text, pieces = given
    whole = read(text)
    assert read(*pieces) == whole
    assert read(*text) == whole
    assert clean(text) == whole[0]
    assert may_hold(text) or whole == (text, [])
    check(text, *whole)


def check(text: str, visible: str, found: Sequence[Found]) -> None:
    """What is found lies in the text, in its order; what is visible is the text with parts left out."""
    at = 0
    for number, each in enumerate(found):
        assert at <= each.start < each.end <= len(text)
        assert each.ordinal == number
        at = each.end
        raw = text[each.start : each.end]
        assert raw.lower().startswith(("<memory", "</memory"))
        if isinstance(each, Malformed):
            assert each.raw == raw
        else:
            assert raw.lower().startswith("<memory")
            assert raw.endswith(">")
            assert each.scope in SCOPES
            assert each.body
    rest = iter(text)
    assert all(character in rest for character in visible)


LINES = (
    *["</memory>", f"{OPEN}b</memory>", "<memory key='b'>c</memory>", "<memory/>", "<memory key=x>d</memory>", OPEN],
    *["<memory key='x'>e\n\nf</memory>", "\n", "\n", "\n", "\n\n", "`", "``", "```", "```\n", "```\n", "~~~\n"],
    *["- ", "* ", "> ", "> ", "1. ", "# ", "    ", "  ", " ", " ", "\\", "a", "b ", "\r\n"],
)  # fmt: skip


def test_what_is_shown_is_shown_whole_when_it_is_read_again() -> None:
    random = Random(3)
    for _ in range(4000):
        text = "".join(random.choices(LINES, k=random.randint(2, 14)))
        # without the marker between them, backticks are one run
        if not re.search("`<|>`", text):
            assert clean(clean(text)) == clean(text)


Part = tuple[str, str, str]
"""What stands in the text, what is visible of it, and the body that is found ("?": something malformed)."""

SECRET = st.text(st.sampled_from("\ue001\ue002\ue003"), min_size=1, max_size=3)
PROSE = st.lists(
    st.sampled_from(
        ["a", "b c. ", "\n", "\n\n", "<", "</", "<mem", "<memor", "<b>", ">", '"', "<memory-x>", "&lt;memory&gt;", "日"]
    ),
    max_size=4,
).map("".join)  # fmt: skip
CODE = ["`{}`", "`` ` {} ``", "\n\n```\n{}\n```\n\n", "\n\n~~~ {}\n`\n{}\n~~~\n\n", "\n\n> ```\n> {}\n\n"]


@st.composite
def parts(draw: st.DrawFn) -> Part:
    prose, secret = draw(PROSE), draw(SECRET)
    kind = draw(st.sampled_from(["prose", "marker", "malformed", "code"]))
    if kind == "prose":
        return prose, prose, ""
    if kind == "code":
        code = draw(st.sampled_from(CODE)).replace("{}", "<memory key='x'>y</memory>")
        return f" {code} ", f" {code} ", ""
    quote = draw(st.sampled_from("'\""))
    attributes = [f"key={quote}{secret}{quote}", f"scope={quote}{draw(st.sampled_from(SCOPES))}{quote}"]
    if kind == "malformed":
        attributes.append(draw(st.sampled_from([f"x={secret}", secret, f"key='{secret}'", "scope='all'"])))
    space = draw(st.sampled_from([" ", "\n", "  "]))
    tag = "<memory" + "".join(f"{space}{each}" for each in draw(st.permutations(attributes)))
    end = draw(st.sampled_from(["</memory>", "</MEMORY\n>"]))
    body = draw(st.sampled_from(["{}", "`{}`", "{}\n\n```\n{}", "{} < {} > {}", "<b>{}</b>"])).replace(
        "{}", secret
    )
    return f"{tag}>{body}{end}", "", body if kind == "marker" else "?"


@examples(200)
@pytest.mark.timeout(900)
@given(st.lists(parts(), max_size=8), st.data())
def test_no_character_of_a_marker_is_ever_visible(drawn: list[Part], data: st.DataObject) -> None:
    raw = "".join(text for text, _, _ in drawn)
    wanted = "".join(visible for _, visible, _ in drawn)
    _, pieces = data.draw(split(st.just(raw)))
    parser = MarkerParser()
    shown = ""
    bodies: list[str] = []
    for fed in [*map(parser.feed, pieces), parser.finish()]:
        shown += fed.visible
        bodies += [each.body if isinstance(each, Marker) else "?" for each in fed.found]
        assert wanted.startswith(shown)
    assert shown == wanted
    assert bodies == [body for _, _, body in drawn if body]


EARLY = [
    ("a", "a"),
    ("a <", "a "),
    ("a </memor", "a "),
    ("a <memo", "a "),
    ("a <memos", "a <memos"),
    ("a <memory", "a "),
    ("a <memory-", "a <memory-"),
    ("a <memory scope='user' ", "a "),
    ("a <memory scope='user' < b", "a < b"),
    ("a <memory of <", "a <memory of "),
    ("a < b <", "a < b "),
    ("`<memory", "`"),
    ("`<memory>", "`"),
    ("`<memory>`", "`"),
    ("`<memory>` ", "`<memory>` "),
    ("```\n<memory>", "```\n<memory>"),
    ("a ` b <memory>c</memory> d", "a ` b "),
    ("a ` b <memory>c</memory> d\n\ne", "a ` b  d\n\ne"),
    (f"{OPEN}b", ""),
    (f"{OPEN}b</memory> c", " c"),
    (f"{OPEN}{'b' * 4097}", "b" * 4097),
    (f"<memory x>{'b' * 257}", f"<memory x>{'b' * 257}"),
    ("#include <memory>\n", "#include "),
    ("#include <memory>\n<memory key='a'>", "#include <memory>\n"),
]


@pytest.mark.parametrize(("text", "shown"), EARLY, ids=[text[:40] for text, _ in EARLY])
def test_text_is_shown_as_soon_as_it_cannot_be_of_a_marker(text: str, shown: str) -> None:
    parser = MarkerParser()
    assert "".join(parser.feed(character).visible for character in text) == shown


@examples(100)
@given(st.text(st.characters(exclude_characters="<")), st.lists(PROSE, max_size=5))
def test_no_more_than_the_beginning_of_a_tag_is_held_back(plain: str, prose: list[str]) -> None:
    parser = MarkerParser()
    assert parser.feed(plain).visible == plain
    text, shown = "", ""
    for character in "".join(prose):
        text, shown = text + character, shown + parser.feed(character).visible
        assert "</memory".startswith(text[len(shown) :]) or "<memory".startswith(text[len(shown) :])


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_are_read_like_any(name: str) -> None:
    text = TEXTS[name]
    whole = read(text)
    check(text, *whole)
    assert read(*(text[at : at + 7] for at in range(0, len(text), 7))) == whole
    if "memory" not in text:
        assert whole == (text, [])


# --- the work that it takes


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, those of the interpreter among them."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", some(HOSTILE, 2))
@pytest.mark.parametrize("size", [7, 1_000_000])
def test_four_times_the_text_is_four_times_the_work(name: str, size: int) -> None:
    def work(length: int) -> int:
        text = repeated(HOSTILE[name], length)
        pieces = [text[at : at + size] for at in range(0, length, size)]
        return calls(lambda: read(*pieces))

    assert work(16_000) < 6 * work(4_000) + 2000


def test_blocks_inside_each_other_are_no_more_work_than_beside_each_other() -> None:
    def work(length: int) -> int:
        return calls(lambda: read("- " * length + "a\n" + "\n" * length + "<memory>b</memory>"))

    assert work(2000) < 6 * work(500)
