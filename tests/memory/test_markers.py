"""Markers are read as they were meant, and of those that cannot be, it is said why."""

from __future__ import annotations

import pytest

from tests.memory.hostile import OPEN, read
from tui_agent.memory.markers import Malformed, Marker, MarkerParser, clean
from tui_agent.memory.schema import LARGEST_BODY, LONGEST_KEY


def markers(text: str) -> list[tuple[str, str, str]]:
    """Scope, key and body of the markers in a text, which are all well-formed."""
    found = [marker for marker in read(text)[1] if isinstance(marker, Marker)]
    assert len(found) == len(read(text)[1])
    return [(marker.scope, marker.key, marker.body) for marker in found]


# --- well-formed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('<memory scope="user" key="indent">I use tabs</memory>', ("user", "indent", "I use tabs")),
        ("<memory key='indent' scope='workspace'>x</memory>", ("workspace", "indent", "x")),
        ('<MEMORY Scope="USER" KEY="Indent">X</Memory>', ("user", "Indent", "X")),
        ("<memory>x</memory>", ("session", "", "x")),
        ("<memory >x</memory >", ("session", "", "x")),
        ('<memory\n  scope = "user"\n  key = "a b"\n>\n x\n</memory\n>', ("user", "a b", "x")),
        (f"<memory{' ' * 60}>x</memory{' ' * 64}>", ("session", "", "x")),
        ('<memory scope="user"key="a">x</memory>', ("user", "a", "x")),
        ('<memory scope=" user " key="  a  b ">x</memory>', ("user", "a b", "x")),
        ('<memory key="a > b" scope="user">x</memory>', ("user", "a > b", "x")),
        ('<memory key="List<int>" scope="user">x</memory>', ("user", "List<int>", "x")),
        ("""<memory key='say "hi"' scope="user">x</memory>""", ("user", 'say "hi"', "x")),
        ('<memory key="a" scope="user" why="asked" x-y:z.1="">x</memory>', ("user", "a", "x")),
        ('<memory key="">x</memory>', ("session", "", "x")),
        ('<memory key="a&amp;b&quot;">x &lt; y</memory>', ("session", "a&amp;b&quot;", "x &lt; y")),
        ("<memory>a < b, <b>c</b>, </memo>, <memoir></memory>", ("session", "", "a < b, <b>c</b>, </memo>, <memoir>")),
        ("<memory>run `make`, then ```\nmake\n``` \\</memory>", ("session", "", "run `make`, then ```\nmake\n``` \\")),
        ("<memory>one\r\n\r\ntwo</memory>", ("session", "", "one\n\ntwo")),
        ("<memory>日本語を使う 🙂</memory>", ("session", "", "日本語を使う 🙂")),
        (f"<memory>{'é' * (LARGEST_BODY // 2)}</memory>", ("session", "", "é" * (LARGEST_BODY // 2))),
        (f'<memory key="{"日" * LONGEST_KEY}">x</memory>', ("session", "日" * LONGEST_KEY, "x")),
    ],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_a_marker_is_read(text: str, wanted: tuple[str, str, str]) -> None:
    assert markers(text) == [wanted]
    assert read(*text) == read(text)
    assert clean(text) == ""
    assert clean(f"before {text} after") == "before  after"


def test_several_markers_are_counted_and_know_where_they_stood() -> None:
    text = 'a<memory>x</memory>b<memory scope="all">y</memory>c<memory>z</memory>'
    visible, found = read(text)
    assert visible == "abc"
    assert [each.ordinal for each in found] == [0, 1, 2]
    assert [text[each.start : each.end] for each in found] == [
        "<memory>x</memory>",
        '<memory scope="all">y</memory>',
        "<memory>z</memory>",
    ]
    assert [each.ordinal for each in MarkerParser(5).feed(text).found] == [5, 6, 7]


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "<mem",
        "</mem",
        "<",
        "<memo>x</memo>",
        "<memories>x",
        "<memory-bank>x</memory-bank>",
        "<memory:x>",
        "< memory>x",
        "<\nmemory>x",
        "&lt;memory&gt;x&lt;/memory&gt;",
        "#include <memory>\nint main",
        "#include <memory>\n#include <memory>",
        "docker run -m <memory limit> image",
        "if size <memory < other",
        "<memory of the machine\n\nis small",
    ],
)
def test_what_is_no_marker_is_text(text: str) -> None:
    assert read(text) == (text, [])
    assert read(*text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        "`{}`",
        "``a ` {}``",
        "`a\nb {} c`",
        "```\n{}\n```",
        "```xml\n{}",
        "``` {}\n```",
        "~~~~ `\n~~~\n{}\n~~~~",
        "> ```\n> {}\n> ```",
        "1. a\n\n   ```\n   {}\n   ```\n",
        "`a` `` {} `` `b`",
        "\\\\`{}`",
    ],
)
def test_markers_in_code_are_text(text: str) -> None:
    text = text.format('<memory scope="user" key="a">b</memory>')
    assert read(text) == (text, [])
    assert read(*text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        "a ` b {}",
        "a ` b {}\n\n`",
        "\\`{}`",
        "`` {} `",
        "`a`{}`b`",
        "```\nx\n```\n{}",
        "> ```\n> x\n{}",
        "- ```\n  x\n\n{}",
        "``` {} `",
        "    {}",
        "<!-- {} -->",
        "{}```\nx\n```",
        "# `a\n{} `",
    ],
)
def test_markers_beside_code_are_markers(text: str) -> None:
    marker = '<memory scope="user" key="a">b</memory>'
    assert markers(text.format(marker)) == [("user", "a", "b")]
    assert clean(text.format(marker)) == text.format("")


@pytest.mark.parametrize(
    "first", ["<memory>a</memory>", "</memory>", "<memory/>", OPEN, "- <memory>a</memory>"]
)
def test_a_marker_that_stood_before_a_fence_leaves_it_one(first: str) -> None:
    fence = "```\n  <memory>b</memory>\n  ```\n"
    before = "- " if first.startswith("-") else ""
    assert read(f"{first}{fence}")[0] == f"{before}{fence}"


def test_a_marker_that_stood_before_a_quote_leaves_it_the_fence_in_it() -> None:
    text = "> ```\n<memory>a</memory>> <memory>b</memory>\n"
    assert clean(text) == "> ```\n> <memory>b</memory>\n"
    assert markers(text) == [("session", "", "a")]


# --- malformed


MALFORMED: dict[str, tuple[str, str, str]] = {
    "unknown scope": ('x<memory scope="all" key="a">b</memory>y', "there is no scope 'all'; there are session", "xy"),
    "empty scope": ('<memory scope="" key="a">b</memory>', "there is no scope ''", ""),
    "two scopes": ('<memory scope="user" scope="session" key="a">b</memory>', "it has scope twice", ""),
    "two keys": ("<memory key='a' KEY='b'>b</memory>", "it has key twice", ""),
    "no key": ('<memory scope="user">b</memory>', "a user memory needs a key", ""),
    "empty key": ("<memory scope='workspace' key=' '>b</memory>", "a workspace memory needs a key", ""),
    "long key": (f'<memory key="{"k" * 129}">b</memory>', "the key is 129 characters long; 128", ""),
    "control in key": ('<memory key="a\x07b">b</memory>', "control characters", ""),
    "escape in key": ('<memory key="\x1b[31m">b</memory>', "control characters", ""),
    "no body": (f"{OPEN}</memory>", "there is nothing to remember", ""),
    "blank body": (f"{OPEN} \n\t </memory>", "there is nothing to remember", ""),
    "no quotes": ("<memory scope=user key=a>b</memory>", "straight quotes: scope=user key=a", ""),
    "one without quotes": ('<memory scope="user" key=a>b</memory>', "straight quotes: key=a", ""),
    "curly quotes": ("<memory scope=“user” key=“a”>b</memory>", "straight quotes: scope=“user” key=“a”", ""),
    "mixed quotes": ("<memory key=\"a'>b</memory>", "a quote in it does not end", ""),
    "backquotes": ("<memory key=`a`>b</memory>", "straight quotes: key=`a`", ""),
    "entity quotes": ("<memory key=&quot;a&quot;>b</memory>", "straight quotes: key=&quot;a", ""),
    "open quote": ('<memory scope="user key="a">b</memory>', "no attribute: a\"", ""),
    "mixed quotes, not closed": ("<memory key=\"a'>bc", "it is not closed", "bc"),
    "inner one closed, bare": ("<memory>a<memory>b</memory>", "it is not closed", "ab"),
    "no equals": ('<memory scope "user">b</memory>', "no attribute: scope \"user\"", ""),
    "bare word": ('<memory scope="user" key="a" now>b</memory>', "no attribute: now", ""),
    "words alone": ("<memory user>b</memory>", "no attribute: user", ""),
    "no name": ('<memory ="user">b</memory>', "straight quotes: =\"user\"", ""),
    "marker in value": ('<memory key="a <memory>b</memory>', "its tag does not end", ""),
    "less-than in a tag": ("<memory key='a' <b>c</memory>", "its tag does not end", "<b>c"),
    "self-closing": ('x<memory scope="user" key="a"/>y', "it closes itself", "xy"),
    "self-closing, bare": ("x<memory/>y", "it closes itself", "xy"),
    "self-closing, then closed": ('<memory key="a" />b</memory>c', "it closes itself", "bc"),
    "nested": (f"x{OPEN}b<memory>c</memory>d</memory>y", "another one inside", "xy"),
    "nested deeper": (f"{OPEN}{OPEN}{OPEN}b</memory></memory></memory>y", "another one inside", "y"),
    "nested, bare": ("<memory>a<memory>b</memory>c</memory>", "another one inside", ""),
    "nested, self-closing": (f"{OPEN}a<memory/>b</memory>c", "another one inside", "c"),
    "not closed": (f"x{OPEN}b\n\nthe rest", "it is not closed", "xb\n\nthe rest"),
    "not closed, in parts": (f"x{OPEN}b</mem", "it is not closed", "xb</mem"),
    "inner one closed": (f"x{OPEN}b<memory key='c'>d</memory>e", "it is not closed", "xbde"),
    "closed only in code": (f"{OPEN}b `</memor`", "it is not closed", "b `</memor`"),
    "too large": (f"x{OPEN}{'b' * 5000}</memory>y", "longer than 4,096 bytes", f"x{'b' * 5000}y"),
    "too large by bytes": (f"{OPEN}{'é' * 2049}</memory>", "longer than 4,096 bytes", "é" * 2049),
    "too large with tags": (f"{OPEN}{'<memory/>' * 400}{'b' * 500}", "longer than 4,096 bytes", "b" * 500),
    "closed again": (f"x{OPEN}b</memory>c</memory>y", "no opening tag for a closing one", "xcy"),
    "only closed": ("x</memory >y", "no opening tag for a closing one", "xy"),
    "closing tag cut off": (f"x{OPEN}b</memory", "its closing tag is broken", "x"),
    "closing tag with words": (f"x{OPEN}b</memory user>y", "its closing tag is broken", "xuser>y"),
    "closing tag with many spaces": (f"{OPEN}b</memory{' ' * 65}>", "its closing tag is broken", " >"),
    "tag cut off": ('x<memory scope="user" key="a', "it is cut off", "x"),
    "tag cut off in a name": ("x<memory scope='user' ke", "it is cut off", "x"),
    "tag cut off at once": ("x<memory", "it is cut off", "x"),
    "tag ends in a paragraph": ('<memory scope="user" key="a"\n\nb', "its tag does not end", "\n\nb"),
    "tag without an end": (f"<memory key='a' {'b ' * 300}>", "its tag does not end", f"{'b ' * 300}>"),
    "tag in a tag": (f"<memory scope='user' {OPEN}b</memory>", "its tag does not end", ""),
    "key of two paragraphs": ('<memory key="a\n\nb">c</memory>', "its tag does not end", '\n\nb">c'),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_marker_is_said_and_hidden(name: str) -> None:
    text, words, visible = MALFORMED[name]
    for pieces in ([text], list(text), [text[:9], text[9:]]):
        shown, found = read(*pieces)
        malformed = [each for each in found if isinstance(each, Malformed)]
        assert len(malformed) == 1
        assert malformed[0].notice.startswith("a <memory> marker is not stored: ")
        assert words in malformed[0].notice
        assert malformed[0].raw == text[malformed[0].start : malformed[0].end]
        assert shown == visible
        stored = [each for each in found if isinstance(each, Marker)]
        assert len(stored) == (name in ("closed again", "tag in a tag", "marker in value"))


def test_there_are_notices_without_anything_that_a_terminal_obeys() -> None:
    text = '<memory scope="\x1b[2J\u202e\n" \x07>b</memory>'
    (found,) = read(text)[1]
    assert isinstance(found, Malformed)
    assert found.notice.isprintable()


def test_two_that_are_wrong_are_both_said() -> None:
    found = read('<memory scope="all">a</memory> <memory key=b>c</memory>')[1]
    notices = [each.notice for each in found if isinstance(each, Malformed)]
    assert ["'all'" in notices[0], "key=b" in notices[1]] == [True, True]


def test_closing_tags_that_are_too_many_are_counted() -> None:
    text = f"{OPEN}a{OPEN}b{'c' * 5000}</memory></memory></memory>d"
    visible, found = read(text)
    assert visible == f"ab{'c' * 5000}d"
    assert [each.start for each in found] == [0, len(text) - len("</memory>d")]


def test_after_one_that_is_not_closed_nothing_is_stored_but_nothing_is_lost() -> None:
    text = f"{OPEN}b\n\n{OPEN}c</memory>\n\nthe rest"
    visible, found = read(text)
    assert visible == "b\n\nc\n\nthe rest"
    assert [type(each) for each in found] == [Malformed]


@pytest.mark.parametrize("body", ["b" * 5000, "é" * 2049, "日" * 1400], ids="bé日")
def test_after_one_that_was_too_large_others_are_read(body: str) -> None:
    visible, found = read(f"{OPEN}{body}</memory> {OPEN}c</memory>")
    assert visible == f"{body} "
    assert [type(each) for each in found] == [Malformed, Marker]
