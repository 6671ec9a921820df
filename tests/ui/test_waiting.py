"""The prompts that wait, the todo list, and a person's own commands, on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.fake import FakeSession, Todo
from tests.ui.stage import Stage, stage
from tui_agent import events as said
from tui_agent.ui.chat.todo import rows
from tui_agent.ui.waiting import Waiting


async def _queue(made: Stage, *prompts: str) -> Waiting:
    """Let these prompts wait, and open the list."""
    made.session.begin()
    for prompt in prompts:
        await made.type(prompt)
        await made.press("enter")
        await made.settle()
    await made.press("ctrl+x", "w")
    await made.until(lambda: isinstance(made.app.screen, Waiting))
    place = made.app.screen
    assert isinstance(place, Waiting)
    return place


def _waits(session: FakeSession) -> list[tuple[str, str]]:
    return [(prompt.text, prompt.when) for prompt in session.queue]


async def test_waiting_prompts_are_moved_dropped_brought_back_and_switched(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _queue(made, "first", "second", "third")
        assert [line for line in made.lines if "second" in line and "next step" in line]
        assert "j down" in made.text and "k up" not in made.text, "it is the first one"
        await made.press("j")
        await made.settle()
        assert [text for text, _ in _waits(made.session)] == ["second", "first", "third"]
        await made.press("s")
        await made.settle()
        assert _waits(made.session)[1] == ("first", "turn")
        await made.press("d")
        await made.settle()
        assert [text for text, _ in _waits(made.session)] == ["second", "third"]
        await made.press("u")
        await made.settle()
        assert _waits(made.session) == [("second", "step"), ("first", "turn"), ("third", "step")]
        await made.press("escape")
        await made.until(lambda: made.app.screen is made.chat)
        assert "waits, at the next step (+2 more): second" in made.text


async def test_a_waiting_prompt_is_taken_back_into_the_composer_beside_a_draft(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.type("first")
        await made.press("enter")
        await made.type("a draft")
        await made.press("ctrl+x", "w")
        await made.until(lambda: isinstance(made.app.screen, Waiting))
        await made.press("enter")
        await made.until(lambda: made.app.screen is made.chat)
        await made.settle()
        assert made.chat.composer.text == "first"
        assert not made.session.queue
        await made.press("up")
        await made.until(lambda: made.chat.composer.text == "a draft")


async def test_a_prompt_that_was_just_sent_is_not_taken_back(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        place = await _queue(made, "first")
        made.session.queue = ()
        await made.press("d")
        await made.settle()
        assert "it was just sent" in made.text
        assert not len(place.rows)


async def test_a_held_queue_is_let_go_on(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.paused = True
        place = await _queue(made, "first")
        assert "held since the interrupt" in made.text
        assert place.offered()[0].words == "go on"
        await made.press("g")
        await made.until(lambda: made.app.screen is made.chat)
        assert not made.session.paused


async def test_an_empty_queue_says_how_prompts_come_to_wait(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/queue")
        await made.press("escape")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.screen, Waiting))
        assert "Nothing waits" in made.text


async def test_a_list_that_is_open_follows_the_queue(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        place = await _queue(made, "first", "second")
        made.session._wait(made.session.queue[1:])
        await made.until(lambda: len(place.rows) == 1)


async def test_the_todo_list_shows_and_follows(tmp_path: Path) -> None:
    def prepare(session: FakeSession) -> None:
        session.todos = [Todo("read the report", "done"), Todo("add the [flag]", "active"), Todo("test it")]

    async with stage(tmp_path, prepare=prepare) as made:
        assert "read the report" not in made.text
        await made.press("ctrl+t")
        await made.settle()
        assert "todo  1 of 3 done" in made.text
        assert "[>] add the [flag]" in made.text
        made.session.todos[1].status = "done"
        made.session.emit(said.StateChanged("todo", []))
        await made.until(lambda: "2 of 3 done" in made.text)
        await made.press("ctrl+t")
        await made.settle()
        assert "of 3 done" not in made.text


@pytest.mark.usefixtures("quick")
async def test_the_todo_list_gives_way_to_a_card_and_the_chat(tmp_path: Path) -> None:
    def prepare(session: FakeSession) -> None:
        session.todos = [Todo(f"step {number}", "done" if number < 3 else "pending") for number in range(20)]

    async with stage(tmp_path, prepare=prepare) as made:
        await made.press("ctrl+t")
        await made.settle()
        assert made.chat.todo.size.height == 8
        made.session.ask(body="\n".join(f"line {number}" for number in range(50)))
        await made.until(lambda: made.chat.dock.has_keys)
        await made.settle()
        assert made.chat.transcript.size.height >= 8
        assert made.chat.todo.size.height >= 1
        assert "todo  3 of 20 done" in made.text
        assert "[y] once" in made.text


@pytest.mark.parametrize("height", range(1, 9))
@pytest.mark.parametrize("done", [0, 3, 10])
def test_the_todo_list_fits_its_rows_and_shows_what_is_next(height: int, done: int) -> None:
    items = [Todo(f"step {number}", "done" if number < done else "pending") for number in range(10)]
    made = [row.plain for row in rows(items, 40, height)]
    assert len(made) <= height
    assert f"{done} of 10 done" in made[0]
    assert f"step {min(done, 9)}" in "\n".join(made)


@pytest.mark.parametrize("height", [1, 2, 3])
def test_an_item_of_the_todo_list_is_as_wide_as_its_characters_are(height: int) -> None:
    made = rows([Todo("日本語の長い項目 " * 20)], 40, height)
    assert len(made) <= height
    assert all(row.cell_length <= 40 for row in made)
    assert made[-1].plain.startswith(" todo  0 of 1 done  日本" if height == 1 else " [ ] 日本語")


async def test_an_exclamation_mark_runs_a_command(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("!git  status")
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("run", "git  status")]
        assert not made.session.submitted


async def test_an_exclamation_mark_alone_asks_for_a_command_and_is_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("!")
        await made.press("enter")
        await made.until(lambda: "a command goes behind the !" in made.text)
        assert not made.session.submitted
        await made.type("ls")
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("run", "ls")])


async def test_an_own_command_is_shown_to_run_after_a_turn_has_ended(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(said.ToolStarted("own1", "!bash", "sleep 60", {"command": "sleep 60"}))
        made.session.begin("and meanwhile")
        made.session.end()
        await made.until(lambda: "and meanwhile" in made.text)
        assert "running !bash" in made.lines[0]
        made.session.emit(said.ToolProgress("own1", "still here\n"))
        await made.until(lambda: "still here" in made.text)
        assert "no result" not in made.text
        made.session.emit(
            said.ToolEnded("own1", "!bash", "sleep 60", "ok", "exit 0", "still here\n", 11, 1.0)
        )
        await made.until(lambda: "exit 0" in made.text)
        assert "ready" in made.lines[0]
