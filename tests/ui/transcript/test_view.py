"""The transcript on a screen: what is shown, how it scrolls, folds and follows."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from tests.ui.transcript.host import Checkpoint, Lazy, answer, result, running, turns, use, words
from tui_agent.events import (
    ReplyEnded,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnStarted,
)
from tui_agent.ui.themes import ASCII
from tui_agent.ui.transcript import code
from tui_agent.ui.transcript.entries import Answer, ToolCall

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"


def ended(call: str = "c", **fields: object) -> ToolEnded:
    known: dict[str, object] = {
        "tool": "bash",
        "title": "make",
        "outcome": "ok",
        "summary": "",
        "text": "out",
        "size": 3,
        "seconds": 0.1,
    }
    return ToolEnded(call, **{**known, **fields})  # type: ignore[arg-type]


async def test_a_turn_looks_like_a_conversation() -> None:
    async with running(64, 14, glyphs=ASCII) as host:
        await host.feed(
            TurnStarted("u", 4, "add a flag"),
            ThinkingDelta("I should look."),
            TextDelta("I will *look* first."),
            ReplyEnded("r", "tool_use", "I will *look* first."),
            ToolStarted("a", "read_file", "src/report.py 1-80"),
            ended("a", tool="read_file", title="src/report.py 1-80", summary="2.1 KB"),
            ToolStarted("b", "edit_file", "src/report.py"),
            ended(
                "b", tool="edit_file", title="src/report.py", summary="+6 -1", outcome="error", seconds=62.0
            ),
        )
        rows = host.rows
        assert rows[0].startswith("-- checkpoint 4 ----")
        assert rows[1:] == [
            "> add a flag",
            "",
            "+ thinking  14 B  I should look.",
            "",
            "  I will look first.",
            "",
            "+ read_file src/report.py 1-80  ok              2.1 KB    0.1 s",
            "+ edit_file src/report.py       error            +6 -1    1m 2s",
            *[""] * 5,
        ]


@pytest.mark.parametrize("width", [44, 60, 78, 118])
async def test_states_sizes_and_times_of_calls_are_in_columns(width: int) -> None:
    summaries = ["", "exit 0", "2000 of 123456 lines", "PNG 1200x800, 日本語 " * 3, "+6 -1", "no match"]
    async with running(width, 14, glyphs=ASCII) as host:
        for number, summary in enumerate(summaries):
            await host.feed(
                ToolStarted(f"c{number}", "bash", "make " * number),
                ended(f"c{number}", title="make " * number, summary=summary, seconds=number * 40.0),
            )
        rows = host.rows[: len(summaries)]
        ends = {cell_len(row) for row in rows}
        states = {cell_len(re.sub(r"\bok .*", "", row)) for row in rows}
        assert (len(ends), len(states)) == (1, 1), rows


async def test_a_history_opens_at_its_end_and_reads_only_that() -> None:
    history = Lazy(turns(2500))
    async with running() as host:
        host.transcript.load(history, [Checkpoint(0, words="prompt 2499")], notes=["back at checkpoint 3"])
        await host.pilot.pause()
        assert host.rows[-1] == "  back at checkpoint 3"
        assert "It is done, 2499." in host.text
        assert len(history) == 10_000
        assert len(history) - min(history.read) < 100
        assert len(history.read) < 200


@pytest.mark.parametrize(("width", "height"), [(80, 24), (34, 9), (120, 36)])
async def test_every_row_is_seen_once_going_up_page_by_page(width: int, height: int) -> None:
    async with running(width, height) as host:
        host.transcript.load(turns(12), [])
        await host.pilot.pause()
        page = host.rows
        up = [page]
        while host.transcript.scroll_y > 0:
            before = host.transcript.scroll_y
            total = host.transcript.virtual_size.height
            host.transcript.action_page_up()
            await host.pilot.pause()
            moved = round(before - host.transcript.scroll_y) + host.transcript.virtual_size.height - total
            up.append(host.rows[:moved])
        walked = [row for rows in reversed(up) for row in rows]
        down = [row for rows in [host.rows] for row in rows]
        while not host.transcript.follow:
            at = host.transcript.scroll_y
            host.transcript.action_page_down()
            await host.pilot.pause()
            down += host.rows[height - round(host.transcript.scroll_y - at) :]
        assert walked == down
        assert [row for row in walked if row.startswith("> ")] == [f"> prompt {n}" for n in range(12)]


async def test_home_is_the_beginning_and_end_the_end() -> None:
    async with running() as host:
        host.transcript.load(turns(400), [])
        host.transcript.focus()
        await host.press("home")
        assert host.rows[0] == "> prompt 0"
        assert host.transcript.scroll_y == 0
        await host.press("end")
        assert host.transcript.follow
        host.transcript.scroll_home()
        await host.pilot.pause()
        assert host.rows[0] == "> prompt 0"
        host.transcript.scroll_end()
        await host.pilot.pause()
        await host.pilot.pause()
        assert host.transcript.follow


async def test_a_jump_into_the_middle_shows_a_whole_page() -> None:
    async with running() as host:
        host.transcript.load(turns(400), [])
        await host.pilot.pause()
        for share in (0.5, 0.1, 0.9, 0.52):
            host.transcript.scroll_to(y=int(host.transcript.max_scroll_y * share))
            await host.pilot.pause()
            assert sum(row.startswith(("> prompt", "▸ bash")) for row in host.rows) >= 3
            assert host.transcript.max_scroll_y * (share - 0.2) < host.transcript.scroll_y


async def test_it_follows_its_end_until_one_scrolls_up_and_counts_what_comes() -> None:
    async with running(40, 8) as host:
        await host.feed(*(TextDelta(f"line {number}\n\n") for number in range(20)))
        assert host.text.endswith("line 19")
        host.transcript.focus()
        await host.press("pageup")
        top = host.rows
        assert not host.transcript.follow
        assert host.transcript.new_lines == 0
        await host.feed(TextDelta("one more\n\n"), TextDelta("and another\n\n"))
        assert host.rows == top, "what one reads stays where it is"
        assert host.transcript.new_lines == 4
        assert host.app.new_lines[-1] == 4
        await host.press("end")
        assert host.text.endswith("and another")
        assert (host.transcript.new_lines, host.app.new_lines[-1]) == (0, 0)
        await host.feed(TextDelta("last\n\n"))
        assert host.text.endswith("last")


async def test_scrolling_down_by_hand_to_the_end_follows_again() -> None:
    async with running(40, 8) as host:
        await host.feed(*(TextDelta(f"line {number}\n\n") for number in range(20)))
        host.transcript.scroll_up()
        await host.pilot.pause()
        assert not host.transcript.follow
        host.transcript.scroll_down()
        await host.pilot.pause()
        assert host.transcript.follow


async def test_a_streamed_answer_ends_as_the_history_shows_it() -> None:
    source = "# Head\n\nText *one*\ntwo.\n\n1. a\n2. b\n   - c\n\n```python\nx = 1\n```\n\n"
    source += "| a | b |\n|---|---|\n| 1 | 2 |\n"
    async with running() as host:
        for start in range(0, len(source), 3):
            await host.feed(TextDelta(source[start : start + 3]))
        await host.feed(ReplyEnded("r", "end_turn", source))
        streamed = host.rows
        host.transcript.load([answer(source)], [])
        await host.pilot.pause()
        assert host.rows == streamed


async def test_what_was_kept_replaces_what_was_streamed() -> None:
    async with running() as host:
        await host.feed(TextDelta("visible <memory>"), ReplyEnded("r", "end_turn", "visible"))
        assert host.text == "  visible"
        await host.feed(StepStarted(2), ReplyEnded("r", "end_turn", "never streamed"))
        assert host.text == "  visible\n\n  never streamed"
        await host.feed(TextDelta("half"), ReplyEnded("r", "cut", "", partial=True))
        assert host.text.endswith("  half\n! The answer was cut off here.")


async def test_a_click_and_a_key_fold_and_open_a_call() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await host.feed(ToolStarted("c", "bash", "make"), ended(text="one\ntwo\n"))
        folded = host.rows
        await host.pilot.click(host.transcript, offset=(5, 0))
        await host.pilot.pause()
        assert host.rows[1:3] == ["  | one", "  | two"]
        await host.pilot.click(host.transcript, offset=(5, 1))
        await host.pilot.pause()
        assert host.rows[1] == "  | one", "a click inside an open block leaves it open"
        await host.pilot.click(host.transcript, offset=(5, 0))
        await host.pilot.pause()
        assert host.rows == folded
        assert not host.transcript.has_focus, "a click does not take the focus"
        host.transcript.focus()
        for key in ("enter", "space"):
            await host.press(key)
        assert host.transcript.entries[0].opened is False
        host.transcript.toggle(0)
        await host.pilot.pause()
        assert host.rows[1] == "  | one"


async def test_an_edit_opens_to_its_diff() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await host.feed(ended(tool="edit_file", title="x.py", diff=DIFF, text="edited x.py"))
        host.transcript.toggle(0)
        await host.pilot.pause()
        assert host.rows[1:6] == ["  @@", "  1   same", "  2 - old", "  2 + new", ""]


async def test_a_block_opens_in_place_and_what_is_above_stays() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await host.feed(*(TextDelta(f"line {number}\n\n") for number in range(20)), ReplyEnded("r", "x", ""))
        await host.feed(ToolStarted("c", "bash", "make"), ended(text="\n".join(map(str, range(3000)))))
        before = host.rows
        host.transcript.toggle(len(host.transcript.entries) - 1)
        await host.pilot.pause()
        assert host.rows[:11] == before[:11]
        assert host.rows[11] == before[11].replace("+ bash", "- bash")
        assert host.transcript.new_lines == 0
        host.transcript.focus()
        await host.press("end")
        assert host.rows[-1] == "  | 2999"
        host.transcript.scroll_to(y=host.transcript.scroll_y - 1500)
        await host.pilot.pause()
        host.transcript.toggle(len(host.transcript.entries) - 1)
        await host.pilot.pause()
        assert any("bash make" in row for row in host.rows)
        assert "2999" not in host.text


async def test_the_cursor_goes_from_block_to_block_and_reads_long_ones() -> None:
    async with running(60, 8, glyphs=ASCII) as host:
        host.transcript.load([*turns(5), answer("\n\n".join(f"line {number}" for number in range(30)))], [])
        host.transcript.focus()
        await host.press("[")
        assert host.rows[-1] != "  line 29"
        marked = [row for row in host.rows if row.startswith("> ")]
        assert marked
        await host.press("]", "]")
        assert host.transcript.scroll_y > 0
        at = host.transcript.scroll_y
        await host.press("down", "down")
        assert host.transcript.scroll_y == at + 2, "a long block is read row by row"
        for _ in range(30):
            host.transcript.action_step(-1)
        await host.pilot.pause()
        assert host.transcript.scroll_y < at


async def test_going_through_a_whole_history_by_blocks_reaches_its_beginning() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        host.transcript.load(turns(9), [])
        host.transcript.focus()
        await host.pilot.pause()
        for _ in range(40):
            host.transcript.action_block(-1)
            await host.pilot.pause()
        assert host.transcript.scroll_y == 0
        assert host.rows[0] == "> prompt 0"


async def test_a_checkpoint_is_chosen_by_click_and_by_key() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await host.feed(TurnStarted("u", 7, "go"))
        await host.pilot.click(host.transcript, offset=(5, 0))
        await host.pilot.pause()
        assert host.app.chosen == [7]
        host.transcript.focus()
        await host.press("up", "up", "enter")
        assert host.app.chosen == [7, 7]


async def test_a_link_is_told_and_not_opened() -> None:
    async with running(60, 10) as host:
        await host.feed(TextDelta("see https://example.org/a now\n\n"))
        await host.pilot.click(host.transcript, offset=(10, 0))
        await host.pilot.pause()
        assert host.app.links == ["https://example.org/a"]


@pytest.mark.parametrize("follows", [True, False])
async def test_another_width_wraps_anew_and_keeps_the_place(follows: bool) -> None:
    async with running(80, 20) as host:
        host.transcript.load(turns(50), [])
        await host.pilot.pause()
        if not follows:
            host.transcript.scroll_to(y=host.transcript.scroll_y - 60)
            await host.pilot.pause()
        before = next(row for row in host.rows if row.startswith("> "))
        for width in (50, 120, 80):
            await host.pilot.resize_terminal(width, 20)
            await host.pilot.pause()
            rows = host.rows
            assert all(len(row) <= width for row in rows)
            assert host.transcript.follow == follows
            if follows:
                assert rows[-1].endswith("words")
        assert before in host.rows


async def test_prose_wraps_at_100_cells_however_wide_the_screen_is() -> None:
    async with running(200, 20) as host:
        await host.feed(TextDelta("word " * 200))
        assert 95 < max(map(len, host.rows)) <= 102


async def test_only_rows_that_changed_are_painted_again() -> None:
    async with running(60, 12) as host:
        await host.feed(TextDelta("one\n\ntwo\n\nthree"))
        asked: list[tuple[int, int]] = []
        refresh = host.transcript.refresh

        def spy(*regions: object, **options: object) -> object:
            asked.extend((region.y, region.bottom) for region in regions)  # type: ignore[attr-defined]
            return refresh(*regions, **options)  # type: ignore[arg-type]

        host.transcript.refresh = spy  # type: ignore[method-assign,assignment]
        await host.feed(TextDelta(" more"))
        assert asked == [(4, 5)]
        asked.clear()
        await host.feed(TextDelta(""))
        assert asked == []


async def test_the_mouse_moving_over_it_paints_nothing() -> None:
    async with running(60, 12) as host:
        await host.feed(TextDelta("a [link](https://example.org) and text\n\n"))
        painted: list[int] = []
        line = host.transcript.render_line
        host.transcript.render_line = lambda y: painted.append(y) or line(y)  # type: ignore[method-assign,func-returns-value]
        for x in range(0, 30, 3):
            await host.pilot.hover(host.transcript, offset=(x, 0))
        await host.pilot.pause()
        assert painted == []


async def test_one_block_of_20_000_lines_is_laid_out_page_by_page() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        text = "\n".join(f"line {number}" for number in range(20_000))
        host.transcript.load([answer(use("c", command="make")), result("c", text)], [])
        await host.pilot.pause()
        host.transcript.toggle(0)
        painted = sum(len(rows) for rows in host.transcript._painter._kept.values())
        assert painted < 1000
        host.transcript.focus()
        await host.press("end")
        assert host.rows[-1] == "  | line 19999"
        assert host.transcript.virtual_size.height == 20_001
        await host.press("home")
        await host.press("pagedown")
        assert host.rows[-1] == "  | line 22"


async def test_long_words_of_a_person_are_folded_and_open() -> None:
    async with running(60, 30, glyphs=ASCII) as host:
        host.transcript.load([words("\n".join(f"line {number}" for number in range(500)))], [])
        await host.pilot.pause()
        assert host.rows[16] == "  ~ 484 more lines, Enter or a click shows them"
        host.transcript.toggle(0)
        await host.pilot.pause()
        host.transcript.focus()
        await host.press("end")
        assert host.rows[-1] == "  line 499"


async def test_a_theme_and_the_highlighter_change_colours_and_nothing_else() -> None:
    async with running(60, 12) as host:
        await host.feed(TextDelta("**bold** `code`\n\n```python\nif x: pass\n```\n"))
        rows = host.rows
        for theme in ("tui-agent-light", "tui-agent-ansi", "textual-dark", "ansi-light"):
            host.app.theme = theme
            await host.pilot.pause()
            assert host.rows == rows


async def test_code_shows_plain_at_once_and_coloured_when_the_highlighter_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(code, "_warm", False)
    async with running(60, 12, cold=True) as host:
        await host.feed(TextDelta("```python\nif x: pass\n```\n\n"))

        def colours() -> int:
            return len(
                {
                    part.style.color
                    for part in host.transcript.render_line(0)
                    if part.style and part.text.strip()
                }
            )

        assert (host.rows[0], colours()) == ("    if x: pass", 1)
        while colours() == 1:
            await host.pilot.pause(0.02)
        assert host.rows[0] == "    if x: pass"


async def test_it_works_before_it_has_a_size() -> None:
    async with running(60, 12) as host:
        host.transcript.display = False
        await host.pilot.pause()
        await host.feed(TextDelta("unseen"), ReplyEnded("r", "end_turn", "unseen"))
        host.transcript.load(turns(3), [])
        await host.feed(ThinkingDelta("hm"))
        host.transcript.display = True
        await host.pilot.pause()
        assert "It is done, 2." in host.text
        assert not any(
            isinstance(entry, Answer) and "unseen" in entry.body.source for entry in host.transcript.entries
        )


async def test_an_empty_transcript_takes_every_key() -> None:
    async with running(60, 12) as host:
        host.transcript.focus()
        await host.press("up", "down", "[", "]", "enter", "space", "pageup", "pagedown", "home", "end")
        host.transcript.load([], [])
        await host.press("up", "end")
        assert host.text == ""


async def test_a_result_finds_its_call_of_before_the_load() -> None:
    async with running() as host:
        host.transcript.load([words("go"), answer(use("c", command="make"))], [])
        await host.pilot.pause()
        await host.feed(ended("c"))
        calls = [entry for entry in host.transcript.entries if isinstance(entry, ToolCall)]
        assert [call.state for call in calls] == ["ok"]
