"""Going to hits and turns: every one is gone to, on the row where it is, whether that was seen before or not."""

from __future__ import annotations

import pytest
from textual.theme import Theme

from tests.ui.transcript.host import Checkpoint, Running, answer, result, running, turns, use, words
from tests.ui.transcript.test_search import all_hits, by_hand, looked
from tui_agent import changes, events
from tui_agent.messages.blocks import Message
from tui_agent.ui import themes
from tui_agent.ui.transcript.entries import ToolCall
from tui_agent.ui.transcript.search import Hit, Search

TABLE = "| a | b |\n|---|---|\n" + "".join(
    f"| row {n} | cell *zebra{n + 100}z* of a wide table row |\n" for n in range(40)
)
CODE = "```python\n" + "".join(f"line_{n} = 'zebra{n + 200}z'\n" for n in range(70)) + "```\n"
WIDE = "y" * 11_998 + "zebra700z" + "y" * 11_998 + "zebra701z"
OUTPUT = "".join(f"\x1b[31mout {n}\tzebra{n + 1000}z\r\n" if n % 9 == 0 else f"out {n}\n" for n in range(900))
LONG = "很长的一行 word " * 80 + "zebra300z " + "x" * 7000 + " zebra301z end"
MARKDOWN = f"""# A zebra1z heading

Some **zebra2z** words and `zebra3z`, [zebra4z](https://example.org/a) &amp; \\*zebra5z\\*
and a quote:

> quoted zebra6z 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 zebra7z

1. first
   - [ ] nested zebra8z
   - [x] done zebra9z

{TABLE}
{CODE}
{LONG}
"""
MANY_WORDS = "\n".join(f"asked zebra{n + 400}z" for n in range(40))


def history() -> list[Message]:
    """A hit of every kind, far from each other; each has a number of its own."""
    return [
        *turns(40),
        words(MANY_WORDS),
        answer(
            {"type": "thinking", "thinking": "think\n\nof zebra500z", "signature": ""},
            MARKDOWN,
            use("m1", "bash", command="echo zebra501z", extra={"deep": ["zebra502z"]}),
            use("m2", "edit_file", path="zebra503z.py", old="a", new="b"),
            use("m3", "bash", command="wide"),
        ),
        Message(
            "user",
            [
                {"type": "tool_result", "tool_use_id": "m1", "content": OUTPUT},
                {"type": "tool_result", "tool_use_id": "m3", "content": WIDE},
            ],
            origin="tool",
            meta={"outcome": "ok"},
        ),
        result("gone", "of a call that is not there: zebra506z"),
        result("m2", "edited zebra504z.py", outcome="ok", diff="--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n"),
        words("zebra505z", origin="summary"),
        *turns(40),
    ]


def marked(app: Running) -> list[tuple[int, str, str]]:
    """Rows on which the hit that was gone to is marked: row, what is marked, what follows on the row."""
    found = []
    for y in range(app.transcript.size.height):
        here, after = "", ""
        for text, style, _ in app.transcript.render_line(y):
            if style is not None and style.reverse and style.bold:
                here += text
            elif here:
                after += text
        if here:
            found.append((y, here, after))
    return found


def go(app: Running, search: Search, hit: Hit) -> bool | None:
    found = search.find(hit)
    assert found is not None
    return app.transcript.visit(found, hit.message)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (120, 30)])
async def test_every_hit_is_gone_to_on_its_row(width: int, height: int) -> None:
    messages = history()
    async with running(width, height) as app:
        app.transcript.load(messages, [])
        search = looked(Search("zebra", messages, len(messages)))
        assert search.total == by_hand(messages, "zebra") > 250
        app.transcript.mark(search.pattern, len("zebra"))
        for hit in all_hits(search):
            assert go(app, search, hit) is True
            found = search.find(hit)
            assert found is not None
            text = found.pieces[found.piece].text
            name = text[found.start : text.index("z", found.start + 5) + 1]
            rows = marked(app)
            assert "".join(what for _, what, _ in rows) == "zebra", (name, rows)
            y, _, after = rows[-1]
            below = app.rows[y + 1].strip(" ╎") if y + 1 < height else ""
            assert (after.strip() + below).startswith(name.removeprefix("zebra")), (name, app.text)


async def test_a_hit_on_the_screen_moves_nothing() -> None:
    messages = [words("zebra one"), answer("zebra two")]
    async with running() as app:
        app.transcript.load(messages, [])
        search = looked(Search("zebra", messages))
        app.transcript.mark(search.pattern, 5)
        before = app.rows
        for hit in all_hits(search):
            go(app, search, hit)
        assert app.rows == before
        assert app.transcript.follow


async def test_a_hit_that_markdown_hides_is_gone_to_as_near_as_can_be() -> None:
    messages = [*turns(20), answer("one\n\nsee [here](https://zebra.example/) for it\n\nthree"), *turns(20)]
    async with running() as app:
        app.transcript.load(messages, [])
        search = looked(Search("zebra", messages))
        app.transcript.mark(search.pattern, 5)
        first = search.first()
        assert first is not None
        assert go(app, search, first) is False
        assert "see here for it" in app.text
        assert marked(app) == []


async def test_what_was_opened_for_a_hit_is_folded_again_unless_it_was_touched_or_is_looked_at() -> None:
    messages = history()
    async with running() as app:
        transcript = app.transcript
        transcript.load(messages, [])
        search = looked(Search("zebra", messages, len(messages)))
        transcript.mark(search.pattern, 5)
        for hit in all_hits(search):
            go(app, search, hit)
        opened = [entry for entry in transcript.entries if entry.opened]
        assert len(opened) == 7
        call = next(entry for entry in opened if isinstance(entry, ToolCall) and entry.call == "m1")
        transcript.toggle(transcript.entries.index(call))
        transcript.toggle(transcript.entries.index(call))
        transcript.action_scroll_home()
        transcript.leave_hits()
        assert [entry for entry in transcript.entries if entry.opened] == [call]
        assert marked(app) == []


async def test_leaving_keeps_the_view_where_it_is() -> None:
    messages = history()
    async with running() as app:
        app.transcript.load(messages, [])
        search = looked(Search("zebra1450z", messages))
        app.transcript.mark(search.pattern, 10)
        first = search.first()
        assert first is not None
        go(app, search, first)
        before = app.rows
        app.transcript.leave_hits()
        assert app.rows == before


async def test_what_came_while_the_program_runs_is_gone_to_as_the_log_has_it() -> None:
    log = turns(30)
    async with running() as app:
        transcript = app.transcript
        transcript.load(list(log), [])
        await app.feed(
            changes.Appended("user", "r1", 1),
            events.TurnStarted("u", 1, "please find the zebra"),
            events.ThinkingDelta("hm, zebra"),
            events.TextDelta("I run **zebra** now."),
            events.ToolUseDelta("c1", "bash", 10),
            changes.Appended("assistant", "r2", 2),
            events.ReplyEnded("r2", "tool_use", "I run **zebra** now."),
            events.ToolStarted("c1", "bash", "zebra -v", {"command": "zebra -v"}),
            events.ToolProgress("c1", "zebra 1"),
            changes.Appended("user", "r3", 3),
            events.ToolEnded("c1", "bash", "zebra -v", "ok", "", "zebra 1.0", 9, 0.1, record="r3"),
        )
        log += [
            words("please find the zebra", id="r1"),
            answer(
                {"type": "thinking", "thinking": "hm, zebra", "signature": ""},
                "I run **zebra** now.",
                use("c1", command="zebra -v"),
                id="r2",
            ),
            result("c1", "zebra 1.0 and more", outcome="ok"),
        ]
        log[-1] = Message(log[-1].role, log[-1].content, "r3", "tool")
        before = len(transcript.entries)
        search = looked(Search("zebra", log, len(log)))
        assert search.total == by_hand(log, "zebra") == 5
        transcript.mark(search.pattern, 5)
        for hit in all_hits(search):
            assert go(app, search, hit) is True
            assert [what for _, what, _ in marked(app)] == ["zebra"]
        assert "zebra 1.0 and more" in app.text
        assert len(transcript.entries) == before


async def test_turns_are_gone_to_one_by_one_and_held_at_the_top() -> None:
    messages = turns(30)
    points = [Checkpoint(n, words=f"prompt {n}") for n in range(30)]
    async with running() as app:
        transcript = app.transcript
        transcript.load(messages, points)
        tops = []
        while await transcript.go_to_turn(-1):
            tops.append(app.rows[:2])
        assert [mark.split()[2] for mark, _ in tops] == [str(number) for number in range(28, -1, -1)]
        assert [row for _, row in tops] == [f"> prompt {number}" for number in range(28, -1, -1)]
        for number in range(1, 30):
            assert await transcript.go_to_turn(1)
            assert f"> prompt {number}" in app.text
            assert number > 26 or app.rows[1] == f"> prompt {number}"
        assert not await transcript.go_to_turn(1)
        assert "> prompt 29" in app.text


async def test_from_inside_a_turn_the_earlier_one_is_its_own_beginning() -> None:
    messages = [words("first"), answer("- item\n" * 200), words("second"), answer("- item\n" * 200)]
    async with running() as app:
        transcript = app.transcript
        transcript.load(messages, [])
        assert await transcript.go_to_turn(-1)
        assert app.rows[0] == "> second"
        transcript.scroll_relative(y=30, animate=False)
        await app.pilot.pause()
        assert await transcript.go_to_turn(-1)
        assert app.rows[0] == "> second"
        assert await transcript.go_to_turn(-1)
        assert app.rows[0] == "> first"


async def test_a_turn_far_away_is_found_without_reading_what_is_between() -> None:
    messages = [words("the one turn"), *[answer(f"step {n}") for n in range(3_000)]]
    async with running() as app:
        app.transcript.load(messages, [])
        assert await app.transcript.go_to_turn(-1)
        assert app.rows[0] == "> the one turn"
        assert len(app.transcript.entries) < 200


async def test_the_newest_call_on_the_screen_opens_and_folds() -> None:
    messages = turns(10)
    async with running() as app:
        transcript = app.transcript
        transcript.load(messages, [])
        assert transcript.open_output()
        assert "line of 9" in app.text
        assert transcript.open_output()
        assert "line of 9" not in app.text
        transcript.load([words("hello")], [])
        assert not transcript.open_output()


async def test_an_output_that_opens_below_the_screen_comes_into_view() -> None:
    messages = [*turns(10), answer(use("z", command="ls")), result("z", "the output\n" * 5)]
    async with running() as app:
        app.transcript.load(messages, [])
        assert app.rows[-1].startswith("▸ bash")
        assert app.transcript.open_output()
        assert app.rows[-1].endswith("the output")


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT, themes.ANSI], ids=lambda theme: theme.name)
async def test_the_hit_that_was_gone_to_is_told_from_the_others_without_colour(theme: Theme) -> None:
    messages = [words("one zebra"), answer("two **zebra** and `zebra`")]
    async with running() as app:
        app.app.register_theme(theme)
        app.app.theme = theme.name
        app.transcript.load(messages, [])
        search = looked(Search("zebra", messages))
        app.transcript.mark(search.pattern, 5)
        first = search.first()
        assert first is not None
        go(app, search, first)
        await app.pilot.pause()
        looks = [
            (bool(style.reverse), bool(style.underline))
            for y in range(app.transcript.size.height)
            for text, style, _ in app.transcript.render_line(y)
            if text == "zebra" and style is not None
        ]
        assert looks == [(True, False), (False, True), (False, True)]
