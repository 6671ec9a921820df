"""Markdown as lines: every construct keeps its text and its shape, and nothing acts."""

from __future__ import annotations

import pytest
from textual.content import Content

from tests.support.hostile import SMALL, TEXTS, acts
from tests.ui.transcript.host import running
from tui_agent.events import ReplyEnded, TextDelta
from tui_agent.ui.themes import ASCII
from tui_agent.ui.transcript import markdown
from tui_agent.ui.transcript.inline import web_link
from tui_agent.ui.transcript.lines import Line
from tui_agent.ui.transcript.markdown import fitted
from tui_agent.ui.transcript.stream import Splitter


def lines(source: str, width: int = 80) -> list[Line]:
    return [line for chunk in Splitter.whole(source).chunks for line in markdown.lines(chunk, width, ASCII)]


def text(source: str, width: int = 80) -> list[str]:
    return [f"{line.first.plain}{line.content.plain}".rstrip() for line in lines(source, width)]


def styled(content: Content) -> dict[str, set[str]]:
    """The styles of each run of text that has some."""
    return {
        content.plain[span.start : span.end]: {
            str(other.style)
            for other in content.spans
            if (other.start, other.end) == (span.start, span.end) and isinstance(other.style, str)
        }
        for span in content.spans
    }


def links(source: str) -> dict[str, str]:
    """The active links: text and where it leads."""
    return {
        line.content.plain[span.start : span.end]: span.style.link
        for line in lines(source)
        for span in line.content.spans
        if not isinstance(span.style, str) and span.style.link
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one\ntwo\n\nthree", ["one two", "", "three"]),
        ("one  \ntwo", ["one", "two"]),
        ("# head\ntext", ["head", "", "text"]),
        ("head\n====\ntext", ["head", "", "text"]),
        ("before\n- a\n- b\n\nafter", ["before", "", "* a", "* b", "", "after"]),
        ("- a\n\n- b", ["* a", "* b"]),
        ("- a\n\n  more\n- b", ["* a", "", "  more", "* b"]),
        (
            "1. a\n   - b\n     - c\n       - d\n2. e",
            ["1. a", "   - b", "     + c", "       + d", "2. e"],
        ),
        ("9. a\n10. b", ["9. a", "10. b"]),
        ("- [x] done\n- [ ] open", ["* [x] done", "* [ ] open"]),
        ("-\n- b", ["*", "* b"]),
        ("> a\n> b\n>\n> c", ["| a b", "|", "| c"]),
        ("> - a\n>   > b", ["| * a", "|", "|   | b"]),
        ("- > a", ["* | a"]),
        ("```\nx\n\n  y\n```", ["  x", "", "    y"]),
        ("- a\n  ```\n  x\n  ```\n- b", ["* a", "", "    x", "* b"]),
        ("    x\n    y", ["  x", "  y"]),
        ("a\n\n***\n\nb", ["a", "", "-" * 80, "", "b"]),
        ("![alt](a.png) <b>x</b> &amp; &copy;", ["[image alt a.png] <b>x</b> & ©"]),
        ("~~no~~ `a  b` **b** *i*", ["no a  b b i"]),
    ],
)
def test_constructs(source: str, expected: list[str]) -> None:
    assert text(source) == expected


def test_emphasis_and_code_are_styles_and_not_signs() -> None:
    (line,) = lines("**bold** *italic* ~~gone~~ `code`")
    assert styled(line.content) == {
        "bold": {"bold"},
        "italic": {"italic"},
        "gone": {"strike"},
        "code": {".transcript--inline"},
    }


def test_links_to_the_web_are_active_and_cleaned_and_no_others_are() -> None:
    assert links("[a](https://x.org/a) <http://x.org/b> see https://x.org/c?d=(e), ok") == {
        "a": "https://x.org/a",
        "http://x.org/b": "http://x.org/b",
        "https://x.org/c?d=(e": "https://x.org/c?d=(e",
    }
    assert links("[a](file:///etc/passwd) [b](x.py) [c](javascript:x) <ftp://x.org> [d](mailto:a@b.c)") == {}
    assert text("[a](docs/x.py)") == ["a (docs/x.py)"], "where an inactive link leads is said"
    assert web_link("https://x.org/ü\x1b]8;;\x07 \u202e<") == "https://x.org/%C3%BC%1B]8;;%07%20%E2%80%AE%3C"
    assert web_link("https://x.org/" + "a" * 5000) is None


def test_a_link_can_be_defined_after_it_is_used() -> None:
    source = "see [the docs][d]\n\n" + "text\n\n" * 5 + "[d]: https://x.org/docs"
    assert links(source) == {"the docs": "https://x.org/docs"}


def test_a_table_is_aligned_and_its_wide_cells_wrap() -> None:
    source = "| a | number | c |\n|:--|--:|:-:|\n| `x` | 1 | mid |\n| wide words that wrap here | 1000 | m |"
    assert text(source) == [
        "a                         | number |  c",
        "-" * len("wide words that wrap here | number | mid"),
        "x                         |      1 | mid",
        "wide words that wrap here |   1000 |  m",
    ]
    narrow = text(source, 30)
    assert all(len(row) <= 30 for row in narrow)
    assert " ".join(row.partition("|")[0].strip() for row in narrow[3:]) == "wide words that wrap here"


def test_a_table_with_more_columns_than_room_is_told_cell_by_cell() -> None:
    head = "|" + "|".join(f"c{number}" for number in range(30)) + "|\n|" + "-|" * 30 + "\n"
    assert all(f"c{number}" in " ".join(text(head, 40)) for number in range(30))


def test_a_long_table_keeps_its_columns_over_all_its_chunks() -> None:
    source = "| name | n |\n|---|---|\n" + "".join(f"| row {number} | {number} |\n" for number in range(200))
    rows = text(source)
    assert len(rows) == 202
    assert len({row.index("|") for row in rows if "|" in row}) == 1


@pytest.mark.parametrize("widths", [[5, 5], [40, 5], [40, 40, 40], [1, 100], [7, 7, 7, 7]])
def test_columns_fit_and_the_widest_give_first(widths: list[int]) -> None:
    room = 40
    result = fitted(widths, room)
    assert result is not None
    assert sum(result) + 3 * (len(result) - 1) <= max(room, 0)
    assert all(got <= wanted for got, wanted in zip(result, widths, strict=True))
    if sum(widths) + 3 * (len(widths) - 1) <= room:
        assert result == widths


FRAMES = ["{}", "- {}", "> {}", "`{}`", "# {}", "| {} |\n|--|\n| {} |", "```\n{}\n```", "[{}]({})"]


@pytest.mark.parametrize("texts", [SMALL, pytest.param(TEXTS, marks=pytest.mark.slow)], ids=["small", "all"])
@pytest.mark.parametrize("frame", FRAMES)
def test_hostile_text_in_any_construct_shows_and_never_acts(frame: str, texts: dict[str, str]) -> None:
    for name, hostile in texts.items():
        for line in lines(frame.replace("{}", hostile), 40):
            assert not acts(line.first.plain + line.rest.plain + line.content.plain, allowed=""), name
            for span in line.content.spans:
                if not isinstance(span.style, str) and span.style.link:
                    assert span.style.link.isascii(), name
                    assert span.style.link.isprintable(), name


def test_entities_do_not_bring_back_what_was_taken_out() -> None:
    shown = "".join(text("&#x202e;a &ZeroWidthSpace; &#8203; &#27; &#x9b;31m `&#x202e;` [x](&#x202e;y)"))
    assert not acts(shown)


async def test_a_line_of_code_that_is_broken_keeps_the_margin_of_its_fence() -> None:
    async with running(20, 12) as host:
        source = "```\n0123456789abcdefghij\n```\n\n- a\n  ```\n  0123456789abcdefghij\n  ```"
        await host.feed(TextDelta(source), ReplyEnded("r", "end_turn", source))
        rows = [row for row in host.rows if row]
        margins = [len(row) - len(row.lstrip()) for row in rows]
        assert "".join(row.strip() for row in rows).count("0123456789abcdefghij") == 2
        assert margins[0] == margins[1] and margins[3] == margins[4] == margins[0] + 2, rows


async def test_known_languages_are_coloured_and_unknown_ones_are_plain() -> None:
    async with running(60, 12) as host:
        source = (
            "```python\nif x:\n    return 'y'\n```\n\n```no-such-language\nif x\n```\n\n```\nplain\n```\n"
        )
        await host.feed(TextDelta(source), ReplyEnded("r", "end_turn", source))
        colours = []
        for y, row in enumerate(host.rows):
            if row:
                strip = host.transcript.render_line(y)
                colours.append(len({s.style.color for s in strip if s.style and s.text.strip()}))
        assert colours == [2, 2, 1, 1]
