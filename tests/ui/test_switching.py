"""From one session to another, with the program running: nothing of the old one is lost, nothing of it is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import session as on_disk
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage
from tui_agent import paths
from tui_agent.memory.store import MemoryStore
from tui_agent.planning.goal import State
from tui_agent.sessions.catalog import Catalog
from tui_agent.settings.schema import Settings
from tui_agent.ui.app import TuiAgent
from tui_agent.ui.chat.answering import WAYS_OUT
from tui_agent.ui.sessions import SessionList
from tui_agent.ui.switching import BACK, FINISH, STAY, STOP, Wanted

pytestmark = pytest.mark.usefixtures("quick")


class House:
    """Opens fake sessions in the folders of real ones, and fails as often as it is told."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.wanted: list[Wanted] = []
        self.sessions: list[FakeSession] = []
        self.failures = 0
        self.let = asyncio.Event()
        self.let.set()

    async def __call__(self, wanted: Wanted, listen: Callable[[Any], None]) -> Any:
        self.wanted.append(wanted)
        await self.let.wait()
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the log is on fire")
        path = Catalog().find(wanted.resume).path if wanted.resume else on_disk(wanted.workspace).path
        session = FakeSession(path, listen)
        session.title = wanted.resume or f"new {len(self.sessions)}"
        session.workspace = wanted.workspace
        if wanted.resume:
            conversation(session.context)
        self.sessions.append(session)
        return session


@asynccontextmanager
async def house(tmp_path: Path, resume: str | None = None) -> AsyncIterator[tuple[Stage, House]]:
    workspace = tmp_path / "shop"
    workspace.mkdir(exist_ok=True)
    opener = House(workspace)
    app = TuiAgent(Wanted(workspace, resume, profile="p"), Settings(), opener=opener)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        made = Stage(app, pilot, opener.sessions)
        await made.until(lambda: made.chat.session is not None, "the session")
        yield made, opener


async def opened(made: Stage, count: int) -> None:
    await made.until(lambda: len(made.sessions) == count and made.chat.session is made.session, "the session")


async def test_a_new_session_is_opened_as_at_the_start_and_the_old_one_is_closed(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        old = made.chat
        await made.type("half a thought")
        await made.press("ctrl+x", "n")
        await opened(made, 2)
        first, second = made.sessions
        assert (first.closed, second.closed) == (True, False)
        assert first.folder.draft_path.exists(), "its draft is kept with it"
        assert made.chat is not old
        assert made.chat.composer.text == ""
        assert opener.wanted[-1] == Wanted(opener.workspace, None, profile="p")
        assert len(made.app.screen_stack) == 1
        assert old not in made.app._registry, "the old screen is gone"
        await made.type("words")
        await made.press("enter")
        await made.until(lambda: second.submitted == [("words", "step")])
        assert first.submitted == []


async def test_a_new_session_asks_the_model_that_was_chosen_in_the_old_one(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        await made.session.perform("model", "work", "opus")
        await made.press("ctrl+x", "n")
        await opened(made, 2)
        assert opener.wanted[-1] == Wanted(opener.workspace, None, profile="work", model="opus")
        await made.press("ctrl+x", "n")
        await opened(made, 3)
        assert opener.wanted[-1] == Wanted(opener.workspace, None, profile="work", model="opus")


async def test_words_typed_while_the_next_session_opens_are_its_own(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        opener.let.clear()
        await made.type("/new")
        await made.press("escape", "enter")
        await made.until(lambda: len(opener.wanted) == 2)
        await made.type("for the new one")
        await made.press("ctrl+x", "n")
        await made.until(lambda: "not open yet" in made.text or len(opener.wanted) == 2)
        opener.let.set()
        await opened(made, 2)
        assert made.chat.composer.text == "for the new one"


async def test_nothing_of_the_old_chat_is_left(tmp_path: Path) -> None:
    saved = on_disk(tmp_path / "shop" if (tmp_path / "shop").exists() else tmp_path, "hello")
    async with house(tmp_path, saved.id) as (made, _):
        made.session.ask()
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None and made.chat.dock.card is not None)
        await made.press("ctrl+x", "n")
        await opened(made, 2)
        assert made.chat.panel is None
        assert made.chat.dock.card is None
        made.sessions[0].emit()
        assert "json flag" not in made.text
        made.sessions[0].begin("a ghost")
        await made.settle()
        assert "a ghost" not in made.text, "the old session is heard no more"


@pytest.mark.parametrize("words", ["pick me", "{id}"])
async def test_resume_opens_by_id_or_words(tmp_path: Path, words: str) -> None:
    (tmp_path / "shop").mkdir()
    saved = on_disk(tmp_path / "shop", "please pick me")
    on_disk(tmp_path / "shop", "something else")
    async with house(tmp_path) as (made, opener):
        await made.type("/resume " + words.format(id=saved.id[:14].lower()))
        await made.press("enter")
        await opened(made, 2)
        assert opener.wanted[-1].resume == saved.id
        assert "json flag" in made.text


async def test_words_of_several_sessions_or_none_open_the_list(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    on_disk(tmp_path / "shop", "pick one")
    on_disk(tmp_path / "shop", "pick two")
    async with house(tmp_path) as (made, opener):
        await made.type("/resume pick")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.screen, SessionList) and "pick two" in made.text)
        assert "pick one" in made.text
        assert len(opener.wanted) == 1
        await made.press("enter", "enter")
        await opened(made, 2)


async def test_the_session_that_is_open_is_not_opened_again(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    saved = on_disk(tmp_path / "shop", "hello")
    async with house(tmp_path, saved.id) as (made, opener):
        await made.type(f"/resume {saved.id}")
        await made.press("enter")
        await made.until(lambda: "this session is open" in made.text)
        assert len(opener.wanted) == 1


async def test_a_session_of_another_workspace_works_in_its_own(tmp_path: Path) -> None:
    (tmp_path / "blog").mkdir()
    saved = on_disk(tmp_path / "blog", "a post")
    async with house(tmp_path) as (made, opener):
        await made.type(f"/resume {saved.id}")
        await made.press("enter")
        await opened(made, 2)
        assert opener.wanted[-1].workspace == tmp_path / "blog"


async def test_a_session_whose_workspace_is_gone_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "blog").mkdir()
    saved = on_disk(tmp_path / "blog", "a post")
    (tmp_path / "blog").rmdir()
    async with house(tmp_path) as (made, opener):
        await made.type(f"/resume {saved.id}")
        await made.press("enter")
        await made.until(lambda: "is gone. To go on" in " ".join(made.text.split()))
        assert (len(opener.wanted), made.session.closed) == (1, False)


async def answer(made: Stage, choice: str) -> None:
    """Choose an answer of the card about the turn that runs."""
    await made.until(lambda: made.chat.dock.card is not None and FINISH in made.text, "the card")
    if not made.chat.dock.has_keys:
        await made.press("tab")
    await made.press(*["down"] * ((FINISH, STOP, STAY).index(choice) + 1), "enter")


async def test_a_turn_that_runs_may_be_finished_first(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.begin()
        await made.press("ctrl+x", "n")
        await answer(made, FINISH)
        await made.until(lambda: "is opened when this is finished" in made.text)
        assert (len(opener.wanted), made.session.cancels) == (1, 0)
        made.session.end()
        await opened(made, 2)
        assert made.sessions[0].cancels == 1, "closing stops what runs: nothing"


async def test_a_turn_that_did_not_end_well_keeps_one_here(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.begin()
        await made.press("ctrl+x", "n")
        await answer(made, FINISH)
        await made.until(lambda: "is opened when this is finished" in made.text)
        made.session.end("failed")
        await made.until(lambda: "was not opened" in made.text)
        assert len(opener.wanted) == 1


@pytest.mark.parametrize("reached", [True, False])
async def test_a_goal_that_is_worked_on_may_be_reached_first(reached: bool, tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.goal.now = State("mend it")
        made.session.begin()
        await made.press("ctrl+x", "n")
        await made.until(lambda: "still working on the goal" in made.text)
        await answer(made, FINISH)
        await made.until(lambda: "is opened when this is finished" in made.text)
        made.session.goal.now = State("mend it", "complete" if reached else "paused", "out of budget")
        made.session.end()
        if reached:
            await opened(made, 2)
        else:
            await made.until(lambda: "was not opened" in made.text)
        assert len(opener.wanted) == (2 if reached else 1)


async def test_a_turn_that_runs_may_be_stopped(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, _):
        made.session.begin()
        await made.press("ctrl+x", "n")
        await answer(made, STOP)
        await opened(made, 2)
        assert made.sessions[0].cancels == 1
        assert made.sessions[0].closed


@pytest.mark.usefixtures("writing")
async def test_the_question_comes_before_cards_that_wait_and_has_the_focus(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.begin()
        made.session.ask()
        await made.until(lambda: made.chat.dock.card is not None)
        await made.press("ctrl+x", "n")
        await made.until(lambda: FINISH in made.text and made.chat.dock.has_keys, "the card")
        await made.press("down", "down", "down", "enter")
        await made.until(lambda: FINISH not in made.text)
        assert (len(opener.wanted), made.session.answers) == (1, [])
        assert "pnpm test" in made.text, "the other one waits on"


async def test_one_may_stay(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.begin()
        await made.press("ctrl+x", "n")
        await answer(made, STAY)
        await made.until(lambda: made.chat.dock.card is None)
        made.session.end()
        await made.settle()
        assert (len(opener.wanted), made.session.closed, made.session.cancels) == (1, False, 0)


async def test_words_that_are_no_answer_go_to_the_composer_and_one_stays(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.begin()
        await made.press("ctrl+x", "n")
        await made.until(lambda: made.chat.dock.has_keys, "the question")
        await made.press("enter")
        await made.until(lambda: "choose with Down and Enter" in made.text)
        assert "press a letter" not in made.text, "no answer has one"
        await made.type("also this")
        await made.press("enter")
        await made.until(lambda: made.chat.composer.text == "also this")
        assert (len(opener.wanted), made.session.closed) == (1, False)


async def test_a_session_that_cannot_be_opened_gives_the_old_one_back(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    saved = on_disk(tmp_path / "shop", "hello")
    async with house(tmp_path, saved.id) as (made, opener):
        opener.failures = 1
        await made.press("ctrl+x", "n")
        await made.until(lambda: "the log is on fire" in made.text and "what now?" in made.text)
        for way in (BACK, *WAYS_OUT):
            assert way in made.text
        if not made.chat.dock.has_keys:
            await made.press("tab")
        await made.press("down", "enter")
        await opened(made, 2)
        assert opener.wanted[-1].resume == saved.id


async def test_a_session_that_cannot_be_closed_is_said_and_the_next_one_opens(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, _):

        async def broken() -> None:
            raise OSError("[/]the disk is gone")

        made.session.close = broken  # type: ignore[method-assign]
        await made.press("ctrl+x", "n")
        await opened(made, 2)
        await made.until(lambda: "OSError: [/]the disk is gone" in made.text)


async def test_deleting_the_open_session_begins_a_new_one_and_can_be_undone(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    saved = on_disk(tmp_path / "shop", "hello")
    memories = MemoryStore(paths.memory_db())
    memories.add("session", "k", "noted", session=saved.id)
    async with house(tmp_path, saved.id) as (made, _):
        await made.type("/delete")
        await made.press("escape", "enter")
        await opened(made, 2)
        await made.until(lambda: "is deleted" in made.text)
        assert [entry.id for entry in Catalog().deleted()] == [saved.id]
        assert memories.list() == []
        await made.press("f4")
        await made.until(lambda: isinstance(made.app.screen, SessionList) and "u undo" in made.text)
        await made.press("u")
        await made.until(lambda: not Catalog().deleted() and len(memories.list()) == 1)


async def test_an_open_session_that_another_program_writes_is_not_left_to_delete_it(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        made.session.read_only = "process 4711 writes it"
        await made.type("/delete")
        await made.press("escape", "enter")
        await made.until(lambda: "nothing is deleted" in made.text)
        assert (len(opener.wanted), made.session.closed) == (1, False)


async def test_quitting_while_the_next_session_opens_closes_the_old_one(tmp_path: Path) -> None:
    async with house(tmp_path) as (made, opener):
        opener.let.clear()
        await made.press("ctrl+x", "n")
        await made.until(lambda: len(opener.wanted) == 2)
        await made.press("ctrl+q")
        await made.until(lambda: made.app.return_value == 0)
        assert made.sessions[0].closed
