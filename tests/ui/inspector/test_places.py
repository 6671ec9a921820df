"""The tabs over logs on disk, read by the real engine."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.support import sessions
from tests.support.engine import engine
from tests.support.examples import some
from tests.support.hostile import TEXTS
from tests.ui.inspector.logs import SHORT, TABS, Looking, looking, write
from tui_agent.context import Context
from tui_agent.messages.blocks import text_block
from tui_agent.settings.schema import Settings
from tui_agent.ui.chat import copying
from tui_agent.ui.inspector.records import Records
from tui_agent.ui.inspector.tokens import TokenFigures


def _total(line: str) -> tuple[list[int], int]:
    """The parts and the total of a sum line."""
    left, _, right = line.partition("=")
    numbers = [int(text.replace(",", "")) for text in re.findall(r"[+-]?[\d,]+", left)]
    return numbers, int(re.sub(r"[^\d]", "", right))


async def _figures(made: Looking) -> TokenFigures:
    tab = made.panel.tab
    assert isinstance(tab, TokenFigures)
    await made.until(lambda: "in items" in made.text, "the sum")
    return tab


# --- records


@pytest.mark.parametrize("words", some(["{id}", "{end}"], 2))
@pytest.mark.parametrize("number", [17, 1998])
async def test_the_filter_finds_one_record_of_many(number: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    records = [{"role": "user", "id": f"id{n}", "content": f"{'word ' * 500}end{n}"} for n in range(1, 2001)]
    write(path, records)
    async with looking(path) as made:
        rows = made.panel.tab.rows
        await made.press("slash")
        await made.type(words.format(id=f"ID{number}", end=f"end{number}"))
        await made.press("enter")
        await made.until(
            lambda: not rows.filtering and len(rows) == (111 if number == 17 else 1), "the record"
        )
        await made.press("home")
        assert rows.cursor == number - 1


@pytest.mark.parametrize(
    ("typed", "found"), [("17", [17, 1_217]), ("#1,998", [1_998]), ("1234567890123456789012", [])]
)
async def test_a_number_finds_the_record_of_that_number_too(
    typed: str, found: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "context.jsonl"
    said = {1_217: "17 files"}
    write(path, [{"role": "user", "id": f"a{n:b}", "content": said.get(n, "word")} for n in range(1, 2001)])
    async with looking(path) as made:
        rows = made.panel.tab.rows
        await made.press("slash")
        await made.type(typed)
        await made.press("enter")
        await made.until(lambda: not rows.filtering and len(rows) == len(found), "the records")
        assert f"{len(found)} of 2,000 records" in made.text
        for line in found:
            assert any(row.split()[:2] in (["❯", str(line)], [str(line), "you"]) for row in made.lines), line


async def test_what_is_left_out_is_said_in_the_opened_record(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    context = Context(path)
    made_records = await context.append_message([{"role": "user", "content": [text_block("hello")]}])
    await context.elide([{"record": made_records[0].id, "as": "[gone]"}], by="user", reason="drop")
    await context.close()
    async with looking(path) as made:
        await made.press("home", "enter")
        await made.until(lambda: "all of it is sent as [gone] (by you)" in made.text)
        assert "shortened: hello" in made.text


async def test_an_opened_record_is_copied_where_there_is_no_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "clipboard_command", lambda: None)
    write(tmp_path / "context.jsonl", [{"role": "user", "id": "r1", "content": "some words"}])
    async with looking(tmp_path / "context.jsonl") as made:
        await made.press("enter")
        await made.until(lambda: "y copy" in made.text, "the keys")
        await made.press("y")
        await made.until(lambda: "some words" in made.app.clipboard, "the terminal's clipboard")
        assert "1 record," in made.text


async def test_ctrl_d_and_ctrl_u_page_the_list_and_the_opened_row(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    write(path, [{"role": "user", "content": "line\n" * 400} for _ in range(200)])
    async with looking(path) as made:
        rows = made.panel.tab.rows
        await made.press("home", "ctrl+d")
        page = rows.cursor
        assert page > 10
        await made.press("ctrl+u")
        assert rows.cursor == 0
        await made.press("enter")
        await made.until(lambda: "as it reads" in made.text)
        await made.press("ctrl+d", "ctrl+d")
        await made.until(lambda: "as it reads" not in made.text, "the next page of the record")
        assert rows.cursor == 0


# --- checkpoints


async def test_turns_of_a_long_log_are_found_from_the_newest_back(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    sessions.write(path, 2_000, seed=2)
    context = Context(path, read_only=True)
    await context.restore()
    turns = [point for point in context.checkpoints() if point.turn]
    steps = len(context.checkpoints()) - len(turns)
    async with looking(path, "Checkpoints") as made:
        await made.until(lambda: f"{len(turns):,} turns, {steps:,} steps" in made.text)
        assert len(made.panel.tab.rows) == len(turns)
        await made.press("s")
        await made.until(lambda: len(made.panel.tab.rows) == len(context.checkpoints()))
        assert made.panel.tab.rows.cursor == 0


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_long_numbers_of_checkpoints_are_shown_whole(size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    records: list[dict[str, object]] = []
    for number in (7, 1_032_556):
        records += [
            {"role": "_checkpoint", "id": number, "uid": f"c{number}", "turn": True},
            {"role": "user", "id": f"u{number}", "content": f"question {number}"},
            {"role": "assistant", "id": f"a{number}", "content": "answer"},
            {"role": "_usage", "token_count": 12_345_678},
        ]
    write(path, records)
    async with looking(path, "Checkpoints", size=size) as made:
        await made.until(lambda: "question 7" in made.text)
        newest = next(line for line in made.lines if "question 1032556" in line)
        assert "1032556" in newest.split("question")[0].split() and "12,345,678" in newest.split()


# --- backups


async def _rewritten(path: Path) -> None:
    context = Context(path)
    for turn in range(4):
        await context.checkpoint(turn=True)
        await context.append_message([{"role": "user", "content": [text_block(f"question {turn}")]}])
        await context.append_message([{"role": "assistant", "content": [text_block(f"answer {turn}")]}])
    await context.revert_to(2)
    await context.undo()
    await context.clear()
    await context.close()


async def test_backups_tell_what_made_them_and_how_they_differ_from_now(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    await _rewritten(path)
    async with looking(path, "Backups") as made:
        await made.until(lambda: "3 backups" in made.text)
        for words in ("clear", "undo 1", "revert 3 -> 2"):
            assert words in made.text, words
        await made.press("end", "enter")
        await made.until(lambda: "messages only here (-): 8, only now (+): 0, in both: 0" in made.text)
        assert "question 3" in made.text
        await made.press("d")
        await made.until(lambda: made.text.count("question ") == 4, "each that differs")
        await made.press("d")
        await made.until(lambda: "❯ question" not in made.text and "answer 3" in made.text, "the chat")


async def test_a_backup_that_was_changed_is_gone_or_cannot_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    await _rewritten(path)
    (tmp_path / "context_1.jsonl").unlink()
    with (tmp_path / "context_2.jsonl").open("ab") as file:
        file.write(b"{torn\n")
    newest = tmp_path / "context_3.jsonl"
    newest.write_bytes(newest.read_bytes().replace(b"question 0", b"question X"))
    async with looking(path, "Backups", size=(120, 40)) as made:
        await made.until(
            lambda: "3 backups" in made.text and "1 no longer kept, 1 changed since" in made.text
        )
        await made.press("home", "enter")
        await made.until(lambda: "its bytes are not those that were set aside" in made.text)
        await made.press("down")
        await made.until(lambda: "1 damaged line, left out" in made.text)
        await made.press("down")
        await made.until(lambda: "it can be neither shown nor restored" in made.text)
        (tmp_path / "context_2.jsonl").unlink()
        await made.press("up")
        await made.until(lambda: "it cannot be shown" in made.text)


# --- tokens


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_the_sum_line_closes_and_is_the_weight_of_the_context(
    size: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "context.jsonl"
    sessions.write(path, 120, seed=3)
    async with looking(path, "Tokens", size=size) as made:
        tab = await _figures(made)
        parts, total = _total(next(line for line in made.lines if "in items" in line))
        assert sum(parts) == total == tab.context.weigh().total


async def test_enter_on_an_item_leads_to_its_record(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    sessions.write(path, 60, seed=3)
    async with looking(path, "Tokens", size=(120, 60)) as made:
        tab = await _figures(made)
        at = next(index for index, line in enumerate(tab._lines) if "largest items" in line.said.plain) + 1
        record = tab.context.record(tab._lines[at].record)
        tab.rows.move(at)
        await made.until(lambda: "Enter its record" in made.lines[-1])
        await made.press("enter")
        await made.until(lambda: isinstance(made.panel.tab, Records), "the records")
        await made.until(lambda: f"line {record.line:,} " in made.text and "as it reads" in made.text)
        assert made.panel.tab.rows.cursor == record.index


# --- events


async def test_events_are_read_beside_the_log_and_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    async with engine(tmp_path / "shop", settings=Settings(profile="demo")) as run:
        await run.say("hello")
        path = run.context.path
    async with looking(path, "Events") as made:
        await made.until(lambda: "turn ended" in made.text and "end_turn, 1 step" in made.text)
        await made.press("slash")
        await made.type("turn_ended")
        await made.press("enter")
        await made.until(lambda: len(made.panel.tab.rows) == 1)
        await made.press("enter")
        await made.until(lambda: '"event": "turn_ended"' in made.text)


async def test_without_a_trace_the_events_say_so(tmp_path: Path) -> None:
    async with looking(
        write(tmp_path / "context.jsonl", [{"role": "user", "content": "x"}]), "Events"
    ) as made:
        await made.until(lambda: "There is no events.jsonl beside this log" in made.text)


# --- all of them


@pytest.mark.parametrize("tab", TABS)
async def test_hostile_texts_act_in_no_tab(tab: str, tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    context = Context(path)
    for text in TEXTS.values():
        await context.checkpoint(turn=True)
        body = {"role": "user", "content": [text_block(text)]}
        await context.append_message([body], origin=None)
    await context.clear()
    await context.undo()
    await context.close()
    (tmp_path / "events.jsonl").write_text(
        "\n".join(
            f'{{"event": "notice", "at": "x", "source": "{chr(27)}[2J{chr(0x202E)}"}}' for _ in range(3)
        )
    )
    from tests.support.hostile import acts

    async with looking(path, tab) as made:
        await made.settle()
        await made.press("home", "enter")
        await made.settle()
        await asyncio.sleep(0)
        assert not [line for line in made.lines if acts(line)]


@pytest.mark.parametrize("size", [(44, 20), (80, 24), (120, 36), (200, 50)])
async def test_the_footer_has_at_most_six_entries_and_the_tabs_are_whole(
    size: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "context.jsonl"
    await _rewritten(path)
    async with looking(path, TABS[0], size=size) as made:
        for tab in TABS:
            assert tab == made.panel.tab.NAME
            names = next(line for line in made.lines if "Records" in line)
            assert all(name in names for name in (SHORT if size[0] < 50 else TABS))
            entries = [entry for entry in re.split(r"\s{2,}", made.lines[-1].strip()) if entry]
            assert 1 <= len(entries) <= 6
            assert "q leave" in entries
            await made.press("right")
            await made.settle()
