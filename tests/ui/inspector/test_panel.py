"""The inspector: what is on disk, where one can go back to, what every rewrite left."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.inspector.logs import TABS, is_at
from tests.ui.stage import Stage, stage
from tui_agent import changes
from tui_agent.context import Elision
from tui_agent.messages.blocks import text_block
from tui_agent.ui import words
from tui_agent.ui.inspector.checkpoints import Checkpoints
from tui_agent.ui.inspector.panel import Panel
from tui_agent.ui.inspector.records import Records
from tui_agent.ui.themes import UNICODE

WIDE = (120, 36)


async def _open(made: Stage, tab: int = 0) -> Panel:
    await made.press("ctrl+x", "i")
    await made.until(
        lambda: made.chat.panel is not None and made.chat.panel.has_focus_within, "the inspector"
    )
    panel = made.chat.panel
    assert panel is not None
    for shown in TABS[1 : tab + 1]:
        await made.press("right")
        await made.until(partial(is_at, made, shown))
    return panel


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_every_line_of_the_log_stands_in_its_place_damaged_ones_too(
    size: tuple[int, int], tmp_path: Path
) -> None:
    def fill(session: FakeSession) -> None:
        session.context.line({"role": "_system_prompt", "content": "You are an agent."})
        session.context.line(b"{torn", damaged="it is not JSON")
        session.context.say("user", text_block("hello"))

    async with stage(tmp_path, size=size, prepare=fill) as made:
        await _open(made)
        rows = [line[line.rindex("▏") :] if "▏" in line else line for line in made.lines]
        at = [next(i for i, row in enumerate(rows) if words in row) for words in ("prompt", "damaged", "you")]
        assert at == sorted(at)
        assert "it is not JSON" in rows[at[1]]
        assert "hello" in rows[at[2]]
        assert "1 damaged" in made.text


async def test_a_window_that_nobody_told_is_a_guess_in_the_tokens_and_on_the_status_line(
    tmp_path: Path,
) -> None:
    def fill(session: FakeSession) -> None:
        session.guessed = True
        session.context.say("user", text_block("hello"))

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        await _open(made, TABS.index("Tokens"))
        await made.until(lambda: "of ~200,000 tokens" in made.text and words.GUESSED in made.text)
        assert "/ ~200,000" in made.lines[0]


async def test_it_is_beside_a_wide_chat_and_over_a_narrow_one(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made)
        assert panel.size.width >= 42
        assert made.chat.transcript.size.width >= 72
        await made.pilot.resize_terminal(100, 36)
        await made.settle()
        assert panel.has_class("-over")
        assert made.chat.transcript.size.width == 100
        await made.press("escape")
        await made.until(lambda: made.chat.panel is None, "it closed")


async def test_enter_shows_a_record_as_it_reads_and_as_it_is_on_disk(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(80, 50)) as made:
        await _open(made)
        await made.press("home", "down", "down", "enter")
        await made.until(lambda: "as it is on disk" in made.text, "the detail")
        for words in (
            "line 3",
            "offset",
            "id r3",
            "as it reads",
            "question 1",
            '"role": "user"',
            "after checkpoint 0",
        ):
            assert words in made.text, words
        await made.press("down", "down")
        await made.until(lambda: "read_file" in made.text and "line 5" in made.text, "the next ones")
        await made.press("escape")
        await made.settle()
        assert "as it is on disk" not in made.text
        assert made.chat.panel is not None


async def test_y_copies_the_opened_record_in_whole_lines(tmp_path: Path, clipboard: list[str]) -> None:
    async with stage(tmp_path, size=(80, 50)) as made:
        panel = await _open(made)
        await made.press("home", "down", "down", "enter")
        await made.until(lambda: "y copy" in made.lines[-1], "the footer")
        await made.press("y")
        await made.until(lambda: "copied: " in made.text)
        assert '"content": "question 1"' in clipboard[0] or '"text": "question 1"' in clipboard[0]
        await made.press("enter")
        await made.until(lambda: not panel.tab.detail_open)
        await made.press("y")
        await made.settle()
        assert len(clipboard) == 1
        assert made.chat.composer.text == "y", "without an opened record it is a letter as any other"


async def test_a_click_on_the_sign_of_a_turn_folds_it(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made, tab=1)
        await made.until(lambda: "2 turns, 2 steps" in made.text)
        row = next(index for index, line in enumerate(made.lines) if "question 1" in line.rpartition("▏")[2])
        await made.pilot.click(offset=(made.lines[row].rindex(UNICODE.closed), row))
        await made.until(lambda: _order(made, "question 1", "model: I"), "its step")
        assert made.chat.jump is None
        await made.pilot.click(offset=(made.lines[row].rindex(UNICODE.opened), row))
        await made.until(lambda: len(panel.tab.rows) == 2, "it is folded")


async def test_slash_filters_by_words_and_escape_shows_all_again(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made)
        count = len(panel.tab.rows)
        await made.press("slash")
        await made.type("json flag")
        await made.until(lambda: 0 < len(panel.tab.rows) < count, "the filtered rows")
        await made.until(lambda: f" {len(panel.tab.rows)} of {count} records, " in made.text, "how many")
        await made.press("enter")
        await made.settle()
        assert panel.tab.rows.has_focus
        await made.press("escape")
        await made.until(lambda: len(panel.tab.rows) == count, "all rows")
        assert made.chat.panel is panel
        await made.press("slash")
        await made.type("json flag")
        await made.until(lambda: 0 < len(panel.tab.rows) < count, "the filtered rows")
        await made.press("escape")
        await made.until(lambda: len(panel.tab.rows) == count, "all rows")


async def test_what_is_typed_at_once_after_a_slash_is_the_filter_and_no_action(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made)
        before = [record.id for record in made.session.context.records]
        await made.type("/pepe json")
        await made.settle()
        assert (panel.tab._filter.value, made.chat.composer.text) == ("pepe json", "")
        assert [record.id for record in made.session.context.records] == before
        assert not made.chat.leading


async def test_a_record_is_pinned_left_out_and_brought_back(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(160, 36)) as made:
        panel = await _open(made)
        record = made.session.context.records[panel.tab.rows.cursor].id
        await made.press("p")
        await made.until(lambda: "pinned: " in made.text)
        await made.press("p")
        await made.until(lambda: "pinned: " not in made.text)
        await made.press("e")
        await made.until(lambda: "shortened: " in made.text)
        await made.press("b")
        await made.until(lambda: made.session.performed[-1] == ("unelide", record))
        assert made.session.performed == [
            ("pin", record),
            ("unpin", record),
            ("elide", record),
            ("unelide", record),
        ]
        await made.until(lambda: "about 690 tokens" in made.text, "what leaving out did")


async def test_a_record_is_dropped_and_what_was_done_is_taken_back(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(160, 36)) as made:
        panel = await _open(made)
        record = made.session.context.records[panel.tab.rows.cursor].id
        assert "u undo" not in made.lines[-1]
        await made.press("d")
        await made.until(lambda: "dropped: " in made.text and "u undo" in made.lines[-1])
        await made.press("u")
        await made.until(lambda: made.session.performed[-1] == ("unelide", record))
        await made.until(lambda: "u undo" not in made.lines[-1])
        for key, back in (("p", "unpin"), ("e", "unelide")):
            await made.press(key)
            await made.until(lambda: "u undo" in made.lines[-1])
            await made.press("u")
            await made.until(lambda back=back: made.session.performed[-1] == (back, record))
            await made.until(lambda: "u undo" not in made.lines[-1])
        await made.press("d")
        await made.until(lambda: "b bring back" in made.lines[-1])
        await made.press("b")
        await made.until(lambda: "d drop" in made.lines[-1])
        await made.press("u")
        await made.until(lambda: made.session.performed[-1] == ("drop", record), "dropped, as it was before")


async def test_a_key_that_is_not_offered_does_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(160, 36)) as made:
        await _open(made)
        await made.press("b", "u")
        await made.press("p")
        await made.until(lambda: "pinned: " in made.text)
        await made.press("e", "d")
        await made.settle()
        assert [name for name, _ in made.session.performed] == ["pin"]


async def test_a_batch_that_was_left_out_comes_back_together(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context)
        named = [record.id for record in session.context.records if record.role == "assistant"][:2]
        session.context.line(
            {"role": "_elide", "id": "e9", "items": [{"record": name, "block": 0} for name in named]}
        )
        for item, name in enumerate(named):
            session.context._elided[name] = [Elision("e9", item, 0, "[truncated]", "auto", "micro")]

    async with stage(tmp_path, size=(160, 36), prepare=fill) as made:
        await _open(made)
        assert made.text.count("shortened: ") == 2
        await made.until(lambda: "b bring all back" in made.lines[-1])
        await made.press("b")
        await made.until(lambda: made.session.performed == [("unelide", "e9")])


async def test_how_much_a_record_matters_is_said(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context)
        last = session.context.records[-1].id
        session.context._marks[last] = {"priority": 25, "ttl": 20, "compressible": False, "pinned": True}

    async with stage(tmp_path, size=(200, 50), prepare=fill) as made:
        await _open(made)
        # the first line names the folder, which may hold any figure
        shown = "\n".join(made.lines[1:])
        assert "pinned: " in shown and "25" not in shown, "a figure without words is no use in a row"
        await made.press("enter")
        await made.until(lambda: "priority 25 of 100: the lowest is shortened first" in made.text)
        assert "never shortened, never summarised" in made.text
        assert "worth keeping for 20 answers" in made.text


async def test_records_follow_the_log_and_keep_the_chosen_row(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made)
        rows = panel.tab.rows
        await made.press("home")
        context = made.session.context
        for number in range(50):
            record = context.line({"role": "user", "content": f"word {number}"})
            made.session.emit(changes.Appended("user", record.id, record.line))
        await made.until(lambda: len(rows) == len(context.records), "the new rows")
        assert rows.cursor == 0
        assert rows.scroll_offset.y == 0


async def test_closed_and_opened_again_it_is_as_it_was_with_what_came_meanwhile(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made, tab=1)
        await made.until(lambda: "2 turns, 2 steps" in made.text)
        await made.press("down", "ctrl+x", "i")
        await made.until(lambda: made.chat.panel is None and "2 turns" not in made.text)
        assert made.chat.composer.has_focus
        made.session.context.mark_turn("third one")
        made.session.context.say("user", text_block("third one"))
        assert await _open(made) is panel
        await made.until(lambda: "3 turns, 2 steps" in made.text)
        assert _order(made, "third one", "add a --json", "question 1")
        assert isinstance(panel.tab, Checkpoints)


async def test_checkpoints_show_turns_first_and_enter_opens_the_jump_card(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        await _open(made, tab=1)
        await made.until(lambda: "2 turns, 2 steps" in made.text)
        assert _order(made, "add a --json", "question 1")
        assert "model: I" not in made.text
        await made.press("down", "enter")
        await made.until(lambda: made.chat.jump is not None and "go back to before" in made.text)
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("revert", "0")])


async def test_the_steps_of_a_turn_unfold_below_it_and_can_be_jumped_to(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        await _open(made, tab=1)
        await made.until(lambda: "2 turns, 2 steps" in made.text)
        await made.press("space")
        await made.until(lambda: _order(made, "add a --json", "model: I", "question 1"), "its step")
        await made.press("down", "enter")
        await made.until(lambda: made.chat.jump is not None and "a step of the turn" in made.text)
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("revert", "3")])


async def test_folding_leads_from_a_step_to_its_turn_and_s_shows_the_steps_of_all(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made, tab=1)
        await made.until(lambda: "2 turns, 2 steps" in made.text)
        await made.press("space", "down", "space")
        await made.until(lambda: len(panel.tab.rows) == 2, "it is folded")
        assert panel.tab.rows.cursor == 0
        await made.press("end", "s")
        await made.until(lambda: len(panel.tab.rows) == 4, "the steps of all")
        assert panel.tab.rows.cursor == 2
        await made.press("s")
        await made.until(lambda: len(panel.tab.rows) == 2, "no steps")


def _order(made: Stage, *words: str) -> bool:
    """True if the words stand in the panel, in this order."""
    rows = [line[line.rindex("▏") :] for line in made.lines if "▏" in line]
    found = [next((i for i, row in enumerate(rows) if word in row), -1) for word in words]
    return -1 not in found and found == sorted(found)


async def test_backups_say_what_made_them_and_are_previewed_restored_and_pinned(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context, 3)
        session.context.rewrite("revert", 8)
        session.context.rewrite("clear", 8)

    async with stage(tmp_path, size=(200, 50), prepare=fill) as made:
        await _open(made, tab=2)
        await made.until(
            lambda: "2 backups, 36 KB; none is deleted unless settings say so" in made.text, made.text
        )
        for words in ("context_2.jsonl", "clear", "context_1.jsonl", "revert", "18 KB", "18,734"):
            assert words in made.text, words
        await made.press("enter")
        await made.until(lambda: made.text.count("question 1") >= 2, "the preview")
        await made.press("p")
        await made.until(lambda: ("keep", "context_2.jsonl") in made.session.performed)
        await made.press("r")
        await made.until(lambda: ("restore", "context_2.jsonl") in made.session.performed)
        await made.until(lambda: "context_2.jsonl is the history again" in made.text)


async def test_a_pinned_backup_says_so_also_where_it_is_narrow(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context, 3)
        session.context.rewrite("revert", 8)
        session.context._backups[0].pinned = True

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        await _open(made, tab=2)
        await made.until(lambda: "pinned: revert" in made.text)


async def test_a_backup_that_is_gone_says_so_and_offers_nothing(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        session.context.rewrite("revert", 0).exists = False

    async with stage(tmp_path, size=(120, 36), prepare=fill) as made:
        await _open(made, tab=2)
        await made.until(lambda: "gone" in made.text)
        assert "restore" not in made.lines[-1]


@pytest.mark.parametrize(
    ("tab", "words"), [(0, "Nothing is on disk yet"), (1, "No checkpoint yet"), (2, "No backup yet")]
)
async def test_an_empty_tab_says_what_fills_it(tab: int, words: str, tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=lambda session: None) as made:
        await _open(made, tab=tab)
        await made.until(lambda: words in made.text)


async def test_a_read_only_session_offers_no_change(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context)
        session.read_only = "the session is open elsewhere"

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        await _open(made)
        assert "shorten" not in made.lines[-1] and "drop" not in made.lines[-1]
        await made.press("e", "p")
        await made.settle()
        assert made.session.performed == []
        assert "read-only" in made.lines[0]


async def test_a_click_on_a_tab_shows_it(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE) as made:
        await _open(made)
        row = next(i for i, line in enumerate(made.lines) if "Points" in line)
        await made.pilot.click(offset=(made.lines[row].index("Points") + 2, row))
        await made.until(lambda: "2 turns, 2 steps" in made.text)


async def test_a_giant_record_is_shown_in_part(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        session.context.say("user", text_block("x" * 3_000_000))

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        await _open(made)
        await made.press("enter")
        await made.until(lambda: "3.0 MB" in made.text)


NESTED = [
    {
        "type": "tool_result",
        "is_error": True,
        "content": [{"type": "text", "text": "deep"}, {"type": "image"}],
    }
]
ODD: list[dict[str, object]] = [
    {"role": "user", "content": None},
    {"role": "user", "content": [{"type": "hologram"}]},
    {"role": "_tools", "tools": 7},
    {"role": "_usage"},
    {"role": "_aura", "glow": 1},
    {"role": "user", "origin": "tool", "content": NESTED},
]


async def test_records_of_odd_shapes_are_shown_and_opened(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        for body in ODD:
            session.context.line(body)

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        await _open(made)
        await made.press("home", "enter")
        for _ in ODD:
            await made.press("down")
            await made.settle()
        assert "error: deep" in made.text
        assert "aura" in made.text


async def test_many_records_at_once_are_followed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = 0
    follow = Records.follow

    def counted(self: Records) -> None:
        nonlocal followed
        followed += 1
        follow(self)

    monkeypatch.setattr(Records, "follow", counted)
    async with stage(tmp_path, size=WIDE) as made:
        panel = await _open(made)
        await made.press("home", "down")
        context = made.session.context
        for number in range(100):
            record = context.line({"role": "user", "content": f"word {number}"})
            made.session.emit(changes.Appended("user", record.id, record.line))
        await made.until(lambda: len(panel.tab.rows) == len(context.records), "the new rows")
        assert followed <= 2
        assert panel.tab.rows.cursor == 1


async def test_on_80_columns_every_key_that_changes_a_record_is_offered(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _open(made)
        await made.press("d")
        await made.until(lambda: "u undo" in made.lines[-1])
        assert all(words in made.lines[-1] for words in ("p pin", "b bring back", "compact", "jump back"))
        await made.press("u")
        await made.until(lambda: "d drop" in made.lines[-1])
        assert all(words in made.lines[-1] for words in ("p pin", "e shorten", "compact", "jump back"))
        await made.press("p")
        await made.until(lambda: "p unpin" in made.lines[-1] and "u undo" in made.lines[-1])
