"""The list of sessions: what it shows, finds and does, on the disk, and how all of it is taken back."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.command import session as on_disk
from tests.support.hostile import TEXTS, acts
from tests.ui.stage import Stage, stage
from tui_agent.context.lease import Lease
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.entry import Entry
from tui_agent.sessions.folder import SessionFolder
from tui_agent.ui.listing import Listing
from tui_agent.ui.session_rows import age
from tui_agent.ui.sessions import SessionList


@asynccontextmanager
async def listing(tmp_path: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Stage]:
    """The list over a chat in the workspace called shop, once everything is read."""
    async with stage(tmp_path, size=size) as made:
        await made.press("f4")
        await made.until(lambda: isinstance(made.app.screen, SessionList), "the list")
        await read(made)
        yield made


async def read(made: Stage) -> None:
    await made.until(lambda: "reading" not in made.lines[1] and "looking" not in made.lines[1], "all read")


def shop(tmp_path: Path) -> Path:
    place = tmp_path / "sessions" / "shop"
    place.mkdir(parents=True, exist_ok=True)
    return place


def titles(made: Stage) -> list[str]:
    """The titles of the rows on the screen."""
    rows = made.app.screen.rows  # type: ignore[attr-defined]
    entries: Sequence[Entry] = made.app.screen._listed  # type: ignore[attr-defined]
    return [entries[rows._sieve.index(position)].title for position in range(len(rows))]


def unwrapped(made: Stage) -> str:
    """The screen as one line, without its frame: how long a path is decides where a message breaks."""
    return " ".join(made.text.replace("│", " ").split())


async def test_without_sessions_it_says_what_to_do(tmp_path: Path) -> None:
    async with listing(tmp_path) as made:
        assert "what you say begins one" in made.text
        await made.press("v")
        await made.until(lambda: "Nothing is archived" in made.text)
        await made.press("v")
        await made.until(lambda: "Nothing is deleted" in made.text)
        await made.press("v", "escape")
        await made.until(lambda: made.app.screen is made.chat)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_a_row_shows_title_age_model_tokens_words_and_size(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    session = on_disk(shop(tmp_path), "the first words", "the last words", age=3 * 3600)
    with session.context_path.open("a") as log:
        log.write('{"role": "_usage", "token_count": 18734, "exact": false}\n')
    os.utime(session.context_path, (0, datetime.now(UTC).timestamp() - 3 * 3600))
    async with listing(tmp_path, size) as made:
        await made.until(lambda: "2 checkpoints" in made.text, "that the log is counted")
        row = next(line for line in made.lines if "3 h" in line)
        for shown in ("the first words", "~18,734", "B"):
            assert shown in row
        for shown in ("first   the first words", "last    the last words", "m-1", "8 records", session.id):
            assert shown in made.text
        if size[0] >= 120:
            assert "the last words" in row
            assert "m-1" in row


async def test_damaged_ones_and_those_in_use_are_marked(tmp_path: Path) -> None:
    broken = on_disk(shop(tmp_path), "broken")
    broken.context_path.write_bytes(broken.context_path.read_bytes() + b"{broken\n")
    busy = on_disk(shop(tmp_path), "busy", age=99)
    lease = Lease(busy.lock_path)
    lease.acquire()
    try:
        async with listing(tmp_path) as made:
            assert next(line for line in made.lines if "damaged" in line and "broken" in line)
            assert "damaged 1 damaged line" in made.text
            await made.press("down")
            await made.until(lambda: f"process {os.getpid()}" in made.text)
            await made.press("d")
            await made.until(lambda: "is in use" in made.text)
            assert titles(made) == ["broken", "busy"], "the row is back"
    finally:
        lease.release()


async def test_titles_and_words_filter_at_once_and_what_was_said_by_the_index(tmp_path: Path) -> None:
    place = shop(tmp_path)
    on_disk(place, "plain", "the middle says load_user_name", "end")
    on_disk(place, "second", "会话选择器的错误在这里", "end", age=10)
    on_disk(place, "third user", "x", age=20)
    async with listing(tmp_path) as made:
        await made.press("slash")
        await made.type("user")
        await made.until(lambda: titles(made) == ["plain", "third user"])
        await made.press("up")
        await made.until(lambda: "said    the middle says load_user_name" in made.text)
        await made.press("escape")
        await made.until(lambda: len(titles(made)) == 3)
        await made.press("slash")
        await made.type("选择器")
        await made.until(lambda: titles(made) == ["second"])
        await made.until(lambda: "said    会话选择器的错误在这里" in made.text)
        await made.press("escape")
        await made.until(lambda: len(titles(made)) == 3)


async def test_letters_act_on_what_a_search_found(tmp_path: Path) -> None:
    on_disk(shop(tmp_path), "plain", "the needle", "end")
    async with listing(tmp_path) as made:
        await made.press("slash")
        await made.type("needle")
        await made.until(lambda: titles(made) == ["plain"])
        await made.press("enter")
        await made.settle()
        await made.press("r")
        await made.until(lambda: isinstance(made.app.screen, Listing) and made.app.screen.entry.display)


async def test_other_workspaces_are_shown_on_request(tmp_path: Path) -> None:
    on_disk(shop(tmp_path), "here")
    (tmp_path / "blog").mkdir()
    on_disk(tmp_path / "blog", "there", age=10)
    async with listing(tmp_path, (120, 36)) as made:
        assert titles(made) == ["here"]
        await made.press("w")
        await made.until(lambda: titles(made) == ["here", "there"])
        assert "blog" in next(line for line in made.lines if "there" in line)
        row = next(number for number, line in enumerate(made.lines) if "this workspace" in line)
        await made.pilot.click(offset=(made.lines[row].index("this workspace") + 3, row))
        await made.until(lambda: titles(made) == ["here"])


async def test_a_filter_stays_in_force_in_every_workspace_and_view(tmp_path: Path) -> None:
    on_disk(shop(tmp_path), "here", "a needle", "end")
    (tmp_path / "blog").mkdir()
    on_disk(tmp_path / "blog", "there", "a needle", "end", age=10)
    on_disk(tmp_path / "blog", "nowhere", age=20)
    async with listing(tmp_path) as made:
        await made.press("slash")
        await made.type("needle")
        await made.until(lambda: titles(made) == ["here"])
        await made.press("enter")
        await made.until(lambda: made.app.focused is made.app.screen.rows)  # type: ignore[attr-defined]
        await made.press("w")
        await made.until(lambda: titles(made) == ["here", "there"])
        assert made.app.focused is made.app.screen.rows  # type: ignore[attr-defined]
        await made.press("v")
        await made.until(lambda: "archived, every workspace: 0" in made.lines[1])
        assert titles(made) == []


async def test_renaming_and_back(tmp_path: Path) -> None:
    session = on_disk(shop(tmp_path), "old words")
    async with listing(tmp_path) as made:
        await made.press("r")
        await made.until(lambda: made.app.screen.entry.display)  # type: ignore[attr-defined]
        await made.press("ctrl+u")
        await made.type("题 [b]new[/b]")
        await made.press("enter")
        await made.until(lambda: SessionFolder(session.path).meta.title == "题 [b]new[/b]")
        await made.until(lambda: "题 [b]new[/b]" in made.lines[3])
        await made.press("u")
        await made.until(lambda: titles(made) == ["old words"])
        assert SessionFolder(session.path).meta.title == ""


async def test_archiving_and_back_from_both_sides(tmp_path: Path) -> None:
    on_disk(shop(tmp_path), "one")
    on_disk(shop(tmp_path), "two", age=10)
    async with listing(tmp_path) as made:
        await made.press("a")
        await made.until(lambda: "is archived" in made.text)
        assert titles(made) == ["two"]
        await made.press("u")
        await made.until(lambda: titles(made) == ["one", "two"])
        await made.press("a")
        await made.until(lambda: len(Catalog().list(shop(tmp_path))) == 1)
        await made.press("v")
        await made.until(lambda: titles(made) == ["one"])
        await made.press("a")
        await made.until(lambda: len(Catalog().list(shop(tmp_path))) == 2)
        assert titles(made) == []


async def test_deleting_several_quickly_and_all_of_them_back(tmp_path: Path) -> None:
    for number in range(4):
        on_disk(shop(tmp_path), f"number {number}", age=number * 10)
    async with listing(tmp_path) as made:
        await made.press("down", "d", "d")
        await made.until(lambda: len(Catalog().deleted()) == 2)
        assert titles(made) == ["number 0", "number 3"]
        await made.press("v", "v")
        await made.until(lambda: len(titles(made)) == 2 and "number 0" not in made.text)
        await made.press("enter")
        await made.until(lambda: len(Catalog().deleted()) == 1)
        await made.press("v")
        await made.until(lambda: len(titles(made)) == 3)
        await made.press("u", "u", "u")
        await made.until(lambda: not Catalog().deleted() or len(Catalog().deleted()) == 1)
        await made.until(lambda: "u undo" not in made.text)


async def test_hundreds_open_at_once_and_are_all_there(tmp_path: Path) -> None:
    for number in range(120):
        on_disk(shop(tmp_path), f"number {number}", age=number)
    async with listing(tmp_path) as made:
        assert "shop: 120" in made.lines[1]
        await made.press("end")
        await made.until(lambda: "number 119" in made.text)


async def test_hostile_titles_and_words_are_shown_literally(tmp_path: Path) -> None:
    place = shop(tmp_path)
    dangerous = [text for text in TEXTS.values() if acts(text)]
    for number, text in enumerate(dangerous):
        session = on_disk(place, text, age=number)
        session.save_meta(title=text[:200])
    async with listing(tmp_path, (120, 36)) as made:
        for _ in dangerous:
            assert not set(made.text) & {chr(c) for c in [*range(10), *range(11, 32), 127, *range(128, 160)]}
            await made.press("down")
            await made.settle()


async def test_a_broken_index_is_said_and_search_goes_on(tmp_path: Path, home: Path) -> None:
    on_disk(shop(tmp_path), "plain", "the needle", "end")
    (home / "data" / "sessions.db").write_bytes(b"no database " * 50)
    async with listing(tmp_path) as made:
        await made.press("slash")
        await made.type("needle")
        await made.until(lambda: titles(made) == ["plain"])
        await made.until(lambda: "was broken" in unwrapped(made))


def test_an_age_is_said_in_one_unit() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    for seconds, said in (
        (5, "now"),
        (300, "5 min"),
        (7200, "2 h"),
        (86_400 * 12, "12 d"),
        (86_400 * 100, "3 mo"),
        (86_400 * 800, "2 y"),
    ):
        assert age((now - timedelta(seconds=seconds)).isoformat(), now) == said
    assert age("nonsense", now) == ""
    assert json.dumps(age("2026-01-01", now)) == '""', "a time without a zone is none"


async def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path, home: Path) -> None:
    (home / "data").mkdir(exist_ok=True)
    (home / "data" / "sessions").write_text("in the way")
    async with stage(tmp_path) as made:
        await made.press("f4")
        await made.until(lambda: isinstance(made.app.screen, SessionList))
        await made.press("w")
        await made.until(
            lambda: "cannot be read" in unwrapped(made) and "every workspace: 0" in made.lines[1]
        )
