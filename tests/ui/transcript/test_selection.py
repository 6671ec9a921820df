"""Selecting in the transcript: what is copied, what is marked, what stays as it is."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual import events

from tests.ui.transcript.host import Lazy, Running, answer, result, running, turns, use, words
from tui_agent.events import (
    ReplyEnded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from tui_agent.ui.themes import ASCII
from tui_agent.ui.transcript.layout import READ

CJK = "日本語の文章はとても長いので、画面の幅に合わせて何行にも折り返されます。" * 3
CODE = "```python\ndef f():\n    x = 1\n\n\n    return x\n```"
LIST = "- one **bold** item\n  - an inner one\n    that goes on\n- last\n\n1. first\n2. second"
TABLE = "| name | value |\n|------|------:|\n| `a`  | 1 |\n| long words that wrap in a narrow cell | 22 |"
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"


async def drag(host: Running, start: tuple[int, int], *over: tuple[int, int], release: bool = True) -> None:
    """Press the mouse at a cell of the transcript, move it over others, release it."""
    pilot, view = host.pilot, host.transcript
    await pilot.mouse_down(view, offset=start)
    for place in over:
        await move(host, *place)
    if release:
        x, y = over[-1]
        inside = (min(max(x, 0), view.size.width - 1), min(max(y, 0), view.size.height - 1))
        await pilot.mouse_up(view, offset=inside)
        await pilot.pause()


async def move(host: Running, x: int, y: int) -> None:
    """Move the mouse with its button held down; also to cells outside the transcript."""
    region = host.transcript.region
    x, y = x + region.x, y + region.y
    event = events.MouseMove(None, x, y, 0, 0, 1, False, False, False, x, y)
    host.app.screen._forward_event(event)
    await host.pilot.pause()


async def everything(host: Running) -> str:
    """Drag from the first to the last cell of the screen."""
    await drag(host, (0, 0), (host.transcript.size.width - 1, host.transcript.size.height - 1))
    return await host.transcript.selected_text()


def at(host: Running, text: str) -> tuple[int, int]:
    """The cell at which a text begins on the screen."""
    y, row = next((y, row) for y, row in enumerate(host.rows) if text in row)
    return cell_len(row[: row.index(text)]), y


def shown(host: Running) -> list[str]:
    """What is marked of each row."""
    found = []
    style = host.transcript.get_component_rich_style("transcript--selected")
    for y in range(host.transcript.size.height):
        strip = host.transcript.render_line(y)
        cells = [
            part.text
            for part in strip
            if part.style is not None
            and (part.style.bgcolor, bool(part.style.reverse)) == (style.bgcolor, bool(style.reverse))
        ]
        found.append("".join(cells))
    return [text for text in found if text]


async def shows(host: Running, *messages: object) -> None:
    host.transcript.load(list(messages), [])  # type: ignore[arg-type]
    await host.pilot.pause()


# --- what is copied ------------------------------------------------------------------------------------------------


async def test_copy_wrapped_cjk() -> None:
    async with running(41, 20, glyphs=ASCII) as host:
        await shows(host, answer(CJK))
        assert await everything(host) == CJK
        await drag(host, (2, 0), (2, 1))
        assert await host.transcript.selected_text() == CJK[:20]
        await drag(host, (5, 0), (6, 0))
        assert await host.transcript.selected_text() == CJK[1:3], (
            "either cell of a wide character is that character"
        )


async def test_copy_code_with_blank_lines() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer(f"See:\n\n{CODE}\n\nDone."))
        assert await everything(host) == f"See:\n\n{CODE}\n\nDone."
        await drag(host, (0, 2), (50, 6))
        assert await host.transcript.selected_text() == "def f():\n    x = 1\n\n\n    return x", (
            "only the code"
        )
        await drag(host, at(host, "x = 1"), at(host, "rn x"))
        assert await host.transcript.selected_text() == "x = 1\n\n\n    retur"
        await drag(host, at(host, "See"), (50, 6))
        assert await host.transcript.selected_text() == f"See:\n\n{CODE}"


async def test_copy_code_inside_a_list_and_a_quote_without_their_marks() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        text = "- item\n\n  ```\n  one\n\n    two\n  ```\n\n> ```\n> three\n> four\n> ```"
        await shows(host, answer(text))
        assert await everything(host) == text
        await drag(host, at(host, "one"), (50, at(host, "two")[1]))
        assert await host.transcript.selected_text() == "one\n\n  two"
        await drag(host, at(host, "three"), (50, at(host, "four")[1]))
        assert await host.transcript.selected_text() == "three\nfour"


async def test_copy_a_fence_that_was_laid_out_in_pieces() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        code = "\n".join(f"line {number}" if number % 7 else "" for number in range(1, 300))
        await shows(host, answer(f"```\n{code}\n```"))
        host.transcript.focus()
        await host.press("home")
        await host.press("right", *["shift+pagedown"] * 40, "shift+end")
        assert await host.transcript.selected_text() == code


async def test_copy_a_list() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer(LIST))
        assert await everything(host) == LIST
        await drag(host, at(host, "bold"), at(host, "item"))
        assert await host.transcript.selected_text() == "bold** i"
        await drag(host, at(host, "an inner"), (50, at(host, "an inner")[1]))
        assert await host.transcript.selected_text() == "an inner one\n    that goes on"
        await drag(host, at(host, "last"), (50, at(host, "second")[1]))
        assert await host.transcript.selected_text() == "- last\n\n1. first\n2. second"


@pytest.mark.parametrize("width", [80, 30])
async def test_copy_a_table(width: int) -> None:
    async with running(width, 20, glyphs=ASCII) as host:
        await shows(host, answer(TABLE))
        assert await everything(host) == TABLE
        x, y = at(host, "22")
        await drag(host, (x, y), (x + 1, y))
        assert await host.transcript.selected_text() == "22"


async def test_copy_across_two_messages() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer("one\n\ntwo"), words("a question\nof two lines"), answer("three"))
        assert await everything(host) == "one\n\ntwo\n\na question\nof two lines\n\nthree"
        await drag(host, at(host, "two"), at(host, "of two"))
        assert await host.transcript.selected_text() == "two\n\na question\no"


async def test_copy_across_a_collapsed_card() -> None:
    async with running(70, 20, glyphs=ASCII) as host:
        command = "make " + "very-long-target " * 6 + "all"
        call = result("c", "out 1\nout 2", outcome="ok", ms=1200)
        await shows(host, answer("before", use("c", command=command)), call, answer("after"))
        assert await everything(host) == f"before\n\nbash {command}  ok  11 B  1.2 s\n\nafter"
        host.transcript.toggle(1)
        await host.pilot.pause()
        assert await everything(host) == f"before\n\nbash {command}  ok  11 B  1.2 s\nout 1\nout 2\n\nafter"
        await drag(host, at(host, "out 1"), at(host, "t 2"))
        assert await host.transcript.selected_text() == "out 1\nout"


async def test_copy_across_folded_thinking_and_other_lines() -> None:
    async with running(70, 20, glyphs=ASCII) as host:
        thought = {"type": "thinking", "thinking": "Hm.\nI see.", "signature": "s"}
        await shows(host, answer(thought, "said"))
        assert await everything(host) == "thinking  10 B  Hm. I see.\n\nsaid"
        host.transcript.toggle(0)
        await host.pilot.pause()
        assert await everything(host) == "thinking  10 B\nHm.\nI see.\n\nsaid"


async def test_copy_a_diff_with_its_signs_and_a_part_of_its_line_without() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(
            host,
            answer(use("c", "edit_file", path="x.py")),
            result("c", "edited", outcome="ok", diff=DIFF),
        )
        host.transcript.toggle(0)
        await host.pilot.pause()
        await drag(host, at(host, "same"), (50, at(host, "new")[1]))
        assert await host.transcript.selected_text() == " same\n-old\n+new"
        x, y = at(host, "new")
        await drag(host, (x, y), (x + 2, y))
        assert await host.transcript.selected_text() == "new"


async def test_copy_during_streaming() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await host.feed(TurnStarted("u", 1, "go"), TextDelta("A **first** paragraph\n\n- an it"))
        await drag(host, (0, 1), (59, 5))
        assert await host.transcript.selected_text() == "go\n\nA **first** paragraph\n\n- an it"
        await host.feed(TextDelta("em that\n- goes on\n\nMore."))
        assert await host.transcript.selected_text() == "go\n\nA **first** paragraph\n\n- an it"
        source = "A **first** paragraph\n\n- an item that\n- goes on\n\nMore."
        await host.feed(ReplyEnded("r", "end_turn", source))
        assert await host.transcript.selected_text() == "go\n\nA **first** paragraph\n\n- an it"


async def test_copy_the_source_of_what_is_shown_otherwise() -> None:
    async with running(100, 12, glyphs=ASCII) as host:
        text = (
            "an \\*escape\\*, &amp; an entity, a [link](https://example.org/a_(b) 'title'), "
            "`` ` ``, \t tab, \x1b[1m and\u202e end"
        )
        await shows(host, answer(text))
        assert await everything(host) == text
        x, y = at(host, "link")
        await drag(host, (x, y), (x + 3, y))
        assert await host.transcript.selected_text() == "link"
        x, y = at(host, "& an")
        await drag(host, (x, y), (x + 3, y))
        assert await host.transcript.selected_text() == "&amp; an"


async def test_copy_long_words_of_a_person_that_are_folded() -> None:
    async with running(60, 30, glyphs=ASCII) as host:
        text = "\n".join(f"line {number}" for number in range(100))
        await shows(host, words(text), answer("ok"))
        assert await everything(host) == f"{text}\n\nok"


async def test_copy_of_ten_thousand_messages_reads_them_only_then() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        history = Lazy(turns(2500))
        host.transcript.load(history, [])
        await host.pilot.pause()
        near = len(history.read)
        await drag(host, (10, 9), (10, 3), (3, 5), (20, 2))
        assert len(history.read) == near, "a move of the mouse reads nothing"
        host.transcript.clear_selection()
        host.transcript.focus()
        host.transcript.scroll_home()
        await host.press("home", "right", *["shift+down"] * 3)
        before = len(history.read)
        assert before < 6 * READ
        await drag(host, (0, 0), (5, 3), release=False)
        host.transcript.action_scroll_end()
        await host.pilot.pause()
        await move(host, 59, 11)
        assert len(history.read) - before < 6 * READ
        text = await host.transcript.selected_text()
        assert text.startswith("prompt 0\n\nI will run **0**.\n\nbash make 0  ok  30 B  20 ms"[:40])
        assert [f"prompt {number}" in text for number in (0, 1, 1250, 2499)] == [True] * 4
        assert text.count("It is done, ") == 2500


# --- the mouse ---------------------------------------------------------------------------------------------------


async def test_a_drag_beyond_the_bottom_scrolls_and_selects() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await shows(host, answer("\n\n".join(f"line {number}" for number in range(100))))
        host.transcript.action_scroll_home()
        await host.pilot.pause()
        await drag(host, (2, 2), (5, 4), (5, 12), release=False)
        while host.transcript.scroll_y < 60:
            await host.pilot.pause(0.01)
        await host.pilot.mouse_up(host.transcript, offset=(5, 9))
        text = await host.transcript.selected_text()
        lines = text.split("\n\n")
        assert lines[:2] == ["line 1", "line 2"]
        assert len(lines) > 30
        still = host.transcript.scroll_y
        await host.pilot.pause(0.2)
        assert host.transcript.scroll_y == still, "released, it scrolls no more"
        assert await host.transcript.selected_text() == text


async def test_a_drag_beyond_the_top_scrolls_and_selects() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await shows(host, answer("\n\n".join(f"line {number}" for number in range(100))))
        bottom = host.transcript.scroll_y
        await drag(host, (8, 9), (5, 4), (5, -3), release=False)
        while host.transcript.scroll_y > bottom - 60:
            await host.pilot.pause(0.01)
        await host.pilot.mouse_up(host.transcript, offset=(5, 0))
        lines = (await host.transcript.selected_text()).split("\n\n")
        assert lines[-1] == "line 99"
        assert len(lines) > 30


async def test_the_wheel_takes_a_drag_along() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await shows(host, answer("\n\n".join(f"line {number}" for number in range(100))))
        host.transcript.action_scroll_home()
        await host.pilot.pause()
        await drag(host, (2, 0), (5, 4), release=False)
        for _ in range(4):
            wheel = events.MouseScrollDown(None, 5, 4, 0, 0, 0, False, False, False, 5, 4)
            host.app.screen._forward_event(wheel)
            await host.pilot.pause()
        assert host.transcript.scroll_y > 4
        text = await host.transcript.selected_text()
        assert text.startswith("line 0\n\nline 1\n\n")
        assert len(text.split("\n\n")) == 1 + (round(host.transcript.scroll_y) + 4) // 2
        await host.pilot.mouse_up(host.transcript, offset=(5, 4))


async def test_a_drag_that_ends_outside_ends_at_the_nearest_character_on_the_screen() -> None:
    async with running(60, 30, glyphs=ASCII) as host:
        await shows(host, words("a"), answer("one\n\ntwo"), answer("three"))
        await drag(host, at(host, "two"), (70, 45))
        assert await host.transcript.selected_text() == "two\n\nthree"
        await drag(host, at(host, "two"), (-5, -5))
        assert await host.transcript.selected_text() == "a\n\none\n\nt"


async def test_a_drag_on_blank_cells_selects_nothing_and_every_row_has_a_place() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer("one\n\ntwo"))
        await drag(host, (20, 1), (30, 1))
        assert not host.transcript.has_selection
        await drag(host, (20, 1), (40, 2))
        assert await host.transcript.selected_text() == "two"
        await drag(host, (40, 1), (2, 0))
        assert await host.transcript.selected_text() == "one"


async def test_a_double_click_selects_a_word_and_a_triple_click_the_block() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer(f"see `src/report.py`, **two** lines\n\n{LIST}\n\n{CODE}"))
        for text, word, block in (
            ("report", "src/report.py", "see `src/report.py`, **two** lines"),
            ("lines", "lines", "see `src/report.py`, **two** lines"),
            ("inner", "inner", LIST.partition("\n\n")[0]),
            ("return", "return", "def f():\n    x = 1\n\n\n    return x"),
        ):
            await host.pilot.click(host.transcript, offset=at(host, text), times=2)
            await host.pilot.pause()
            assert await host.transcript.selected_text() == word
            await host.pilot.click(host.transcript, offset=at(host, text), times=3)
            await host.pilot.pause()
            assert await host.transcript.selected_text() == block
        await host.pilot.click(host.transcript, offset=(30, 1))
        await host.pilot.pause()
        assert not host.transcript.has_selection, "a click selects nothing"


async def test_a_click_with_shift_moves_the_end_of_the_selection_and_opens_nothing() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        view, pilot = host.transcript, host.pilot
        await shows(host, answer("zero one two three", use("c", command="make")), result("c", "built"))
        await pilot.click(view, offset=at(host, "one"))
        await pilot.click(view, offset=(at(host, "three")[0] - 2, at(host, "three")[1]), shift=True)
        assert await view.selected_text() == "one two"
        await pilot.click(view, offset=at(host, "zero"), shift=True)
        assert await view.selected_text() == "zero o", "from where it was begun, to the other side"
        await pilot.click(view, offset=at(host, "make"), shift=True)
        assert (await view.selected_text()).startswith("one two three\n")
        assert "built" not in host.text
        await pilot.click(view, offset=at(host, "two"))
        assert not view.has_selection


async def test_a_double_click_on_a_card_leaves_it_as_it_was_and_a_drag_does_not_open_it() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer(use("c", command="make all")), result("c", "out", outcome="ok"))
        await host.pilot.click(host.transcript, offset=at(host, "make"), times=2)
        await host.pilot.pause()
        assert await host.transcript.selected_text() == "make"
        assert "out" not in host.text
        await drag(host, at(host, "make"), at(host, "all"))
        assert "out" not in host.text
        assert await host.transcript.selected_text() == "make a"


async def test_a_click_on_what_was_held_still_acts_on_what_is_under_it() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await shows(host, *turns(3))
        await host.feed(TurnStarted("u", 7, "go"))
        await drag(host, at(host, "go"), (30, at(host, "go")[1]))
        mark = at(host, "checkpoint 7")
        await host.feed(TextDelta("\n\n".join(f"line {number}" for number in range(30))))
        assert at(host, "checkpoint 7") == mark
        await drag(host, (40, 0), (50, 0))
        assert at(host, "checkpoint 7") == mark, "a drag holds it still too"
        await host.pilot.click(host.transcript, offset=mark)
        await host.pilot.pause()
        assert host.app.chosen == [7]
        assert host.rows[-1] == "  line 29", "and follows the end again"


async def test_the_caret_begins_on_the_screen() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await shows(host, *turns(30))
        host.transcript.focus()
        await host.press("home", "right", "shift+end")
        assert await host.transcript.selected_text() == "prompt 0"
        assert host.transcript.scroll_y == 0


async def test_a_caret_that_was_scrolled_away_begins_anew_on_the_screen() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await shows(host, *turns(30))
        host.transcript.focus()
        await host.press("home", "right", "end")
        shown = host.rows
        await host.press("shift+up")
        assert host.rows == shown
        assert await host.transcript.selected_text() in host.text.strip()


async def test_a_mouse_released_elsewhere_ends_the_drag() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer("one two three"))
        await drag(host, (2, 0), (4, 0), release=False)
        await host.pilot.hover(host.transcript, offset=(9, 0))
        await move(host, 10, 0)
        assert await host.transcript.selected_text() == "one"


# --- keys ----------------------------------------------------------------------------------------------------------


async def test_selecting_by_keys() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer("one two three\n\nfour five"))
        host.transcript.focus()
        for keys, text in (
            (["right", "shift+right", "shift+right"], "on"),
            (["shift+left"], "o"),
            (["ctrl+shift+right"], "one "),
            (["shift+end"], "one two three"),
            (["shift+down"], "one two three\n\nfour five"),
            (["shift+up", "shift+home"], ""),
            (["ctrl+right", "shift+end"], "two three"),
            (["down", "shift+left"], "e"),
            (["up", "shift+down"], "three\n\nfour fiv"),
        ):
            await host.press(*keys)
            assert await host.transcript.selected_text() == text, keys


async def test_everything_is_selected_by_keys_without_reading_it() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        history = Lazy(turns(500))
        host.transcript.load(history, [])
        await host.pilot.pause()
        host.transcript.focus()
        await host.press("home", "right", "ctrl+shift+end")
        assert len(history.read) < 8 * READ
        text = await host.transcript.selected_text()
        assert text.startswith("prompt 0\n\nI will run **0**.")
        assert text.endswith("and more words ")
        assert text.count("It is done, ") == 500
        await host.press("ctrl+shift+home")
        assert not host.transcript.has_selection
        assert host.transcript.scroll_y == 0


async def test_keys_go_on_with_what_the_mouse_began() -> None:
    async with running(60, 20, glyphs=ASCII) as host:
        await shows(host, answer("one two three\n\nfour five"))
        host.transcript.focus()
        await drag(host, (2, 0), (4, 0))
        await host.press("shift+right", "shift+right")
        assert await host.transcript.selected_text() == "one t"
        await host.press("shift+pagedown", "shift+end")
        assert await host.transcript.selected_text() == "one two three\n\nfour five"


# --- it stays what it is -------------------------------------------------------------------------------------------


async def test_a_selection_held_while_an_answer_streams_does_not_move() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await shows(host, *turns(5))
        await host.feed(TurnStarted("u", 1, "go"), TextDelta("first sentence\n\nsecond"))
        await drag(host, at(host, "sentence"), at(host, "second"))
        rows, marks = host.rows, shown(host)
        assert marks == ["sentence", "s"]
        for number in range(200):
            await host.feed(TextDelta(f" token{number}" + ("\n\n" if number % 20 == 0 else "")))
        assert host.rows[:6] == rows[:6], "the screen holds still"
        assert shown(host) == marks
        assert await host.transcript.selected_text() == "sentence\n\ns"
        assert host.app.new_lines[-1] > 5
        host.transcript.clear_selection()
        await host.pilot.pause()
        assert host.transcript.follow, "it followed the end before, and goes on with that"
        assert host.rows[-1].endswith("token199")


@pytest.mark.parametrize("text", [CJK, LIST, TABLE, CODE])
async def test_another_size_keeps_the_selection(text: str) -> None:
    async with running(80, 30, glyphs=ASCII) as host:
        await shows(host, words("go"), answer(text))
        whole = await everything(host)
        assert whole == f"go\n\n{text}"
        for width, height in ((30, 12), (120, 40), (80, 30)):
            await host.pilot.resize_terminal(width, height)
            await host.pilot.pause()
            assert await host.transcript.selected_text() == whole
        assert shown(host)[0] == "go"


async def test_what_opens_inside_a_selection_is_part_of_it() -> None:
    async with running(60, 30, glyphs=ASCII) as host:
        await shows(
            host, answer("a", use("c", command="make")), result("c", "out", outcome="ok"), answer("b")
        )
        await everything(host)
        host.transcript.toggle(1)
        await host.pilot.pause()
        assert "\nout\n\nb" in await host.transcript.selected_text()


async def test_what_is_taken_out_or_read_anew_is_selected_no_more() -> None:
    async with running(60, 30, glyphs=ASCII) as host:
        await shows(host, words("go"))
        await host.feed(ToolStarted("c", "bash", "make"), ThinkingDelta("hm"))
        await everything(host)
        host.transcript.drop(host.transcript.entries[-1])
        await host.pilot.pause()
        assert not host.transcript.has_selection
        await everything(host)
        assert host.transcript.has_selection
        await shows(host, words("go"))
        assert not host.transcript.has_selection


async def test_a_call_that_goes_on_running_stays_selected() -> None:
    async with running(60, 30, glyphs=ASCII) as host:
        await host.feed(ToolStarted("c", "bash", "make"))
        await drag(host, at(host, "bash"), at(host, "ke"))
        await host.feed(ToolEnded("c", "bash", "make", "ok", "", "out", 3, 0.2))
        assert await host.transcript.selected_text() == "bash mak"


async def test_a_selection_in_output_whose_beginning_is_let_go_stays_what_it_is() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        view = host.transcript
        await host.feed(ToolStarted("c", "bash", "make"))
        view.toggle(0)
        lines = [f"line {number} of much output" for number in range(5500)]
        await host.feed(ToolProgress("c", "\n".join(lines[:4000]) + "\n"))
        view.action_scroll_end()
        await host.pilot.pause()
        await drag(host, at(host, "3995 of"), at(host, "3996 of"))
        chosen = await view.selected_text()
        assert chosen.startswith("3995 of much output\nline ")
        rows, below = host.rows, view.new_lines
        await host.feed(ToolProgress("c", "\n".join(lines[4000:]) + "\n"))
        assert len(view.entries[0].text) < sum(map(len, lines)), "not all of it is kept"
        assert await view.selected_text() == chosen
        assert host.rows[1:] == rows[1:], "what is read stays where it is"
        assert view.new_lines == below + 1500
        await host.feed(
            ToolEnded("c", "bash", "make", "ok", "", "\n".join(lines) + "\n[exit code 0]", 1, 1.0)
        )
        assert await view.selected_text() == chosen
        assert host.rows[1:] == rows[1:]


async def test_what_was_selected_in_output_that_is_not_kept_is_selected_no_more() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        view = host.transcript
        await host.feed(ToolStarted("c", "bash", "make"))
        view.toggle(0)
        lines = [f"line {number} of much output" for number in range(8000)]
        await host.feed(ToolProgress("c", "\n".join(lines[:10])))
        await drag(host, at(host, "3 of"), at(host, "4 of"))
        assert view.has_selection
        await host.feed(ToolProgress("c", "\n".join(lines)))
        assert not view.has_selection
        view.action_scroll_end()
        await host.pilot.pause()
        await drag(host, at(host, "7996 of"), at(host, "7997 of"))
        assert view.has_selection
        await host.feed(ToolEnded("c", "bash", "make", "ok", "", "line 0\n[shortened]\nline 7999", 1, 1.0))
        assert not view.has_selection


# --- looks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["tui-agent-dark", "tui-agent-light", "tui-agent-ansi"])
async def test_what_is_selected_is_seen(theme: str) -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        host.app.theme = theme
        await shows(host, words("go"), answer("plain and `code` and **bold**\n\n```\nx = 1\n```"))
        plain = {
            part.style.bgcolor for y in range(8) for part in host.transcript.render_line(y) if part.style
        }
        await everything(host)
        style = host.transcript.get_component_rich_style("transcript--selected")
        assert style.bgcolor is not None
        assert style.bgcolor not in plain
        assert style.color != style.bgcolor
        assert shown(host) == ["go", "plain and code and bold", "x = 1"]


async def test_what_is_selected_is_seen_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(60, 12, glyphs=ASCII) as host:
        await shows(host, answer("one two"))
        await drag(host, at(host, "two"), (50, 0))
        reversed_ = [
            part.text for part in host.transcript.render_line(0) if part.style and part.style.reverse
        ]
        assert reversed_ == ["two"]


async def test_a_blank_line_of_code_is_seen_as_selected() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await shows(host, answer(CODE))
        await everything(host)
        assert shown(host) == ["def f():", "    x = 1", " ", " ", "    return x"]


async def test_a_held_selection_costs_nothing_and_a_move_paints_the_rows_it_changes() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await shows(host, answer("\n\n".join(f"line {number}" for number in range(6))))
        await drag(host, (2, 0), (4, 4), release=False)
        painted: list[int] = []
        line = host.transcript.render_line
        host.transcript.render_line = lambda y: painted.append(y) or line(y)  # type: ignore[method-assign,func-returns-value]
        await move(host, 6, 4)
        assert set(painted) == {4}
        painted.clear()
        await move(host, 6, 4)
        assert painted == []
        await host.pilot.mouse_up(host.transcript, offset=(6, 4))
        for x in range(0, 30, 3):
            await host.pilot.hover(host.transcript, offset=(x, 2))
        await host.pilot.pause()
        assert painted == []


async def test_a_style_of_its_own_says_where_the_caret_is() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await shows(host, answer("one two"))
        host.transcript.focus()
        await host.press("right", "right")
        cursor = host.transcript.get_component_rich_style("transcript--cursor")
        cells = [
            part.text
            for part in host.transcript.render_line(0)
            if part.style and part.style.bgcolor == cursor.bgcolor
        ]
        assert cells[-1] == "n"
