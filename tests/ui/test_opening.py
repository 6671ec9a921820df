"""What is asked for while the session is still being opened: it waits, and is carried out in its order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, folder
from tui_agent.settings.schema import Settings
from tui_agent.ui.app import TuiAgent, Wanted
from tui_agent.ui.chat import ladders
from tui_agent.ui.models import ModelScreen


class Door:
    """Opens a session when the test lets it, or fails to."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.let = asyncio.Event()
        self.fails = False
        self.opened: list[FakeSession] = []

    async def __call__(self, wanted: Wanted, listen: Any) -> Any:
        await self.let.wait()
        if self.fails:
            raise RuntimeError("no such session")
        session = FakeSession(self.place, listen)
        conversation(session.context)
        self.opened.append(session)
        return session


@asynccontextmanager
async def before(tmp_path: Path) -> AsyncIterator[tuple[Stage, Door]]:
    """The app, its session not open yet."""
    place = folder(tmp_path)
    door = Door(place)
    app = TuiAgent(Wanted(place.parent / "shop"), Settings(), opener=door)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        made = Stage(app, pilot, door.opened)
        await made.settle()
        yield made, door


@pytest.mark.parametrize(
    ("keys", "there"),
    [
        (("ctrl+x", "i"), "panel"),
        (("ctrl+x", "g"), "jump"),
        (("ctrl+f",), "find_bar"),
    ],
    ids=["the inspector", "the card that goes back", "find"],
)
async def test_a_place_opens_once_the_session_is_there(
    keys: tuple[str, ...], there: str, tmp_path: Path
) -> None:
    async with before(tmp_path) as (made, door):
        await made.press(*keys)
        assert getattr(made.chat, there) is None
        door.let.set()
        await made.until(lambda: getattr(made.chat, there) is not None)
        assert made.app.focused is not made.chat.composer


async def test_commands_and_prompts_are_carried_out_in_the_order_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "_TWICE", 0.0)
    async with before(tmp_path) as (made, door):
        done: list[str] = []
        for words in ("/model demo", "first", "/context", "second"):
            await made.type(words)
            await made.press("escape", "enter")
        assert "no session" not in made.text and "not open" not in made.text

        original = FakeSession.submit

        async def submit(self: FakeSession, text: str, **options: Any) -> None:
            done.append(f"{text} after {[name for name, *_ in self.performed]}")
            await original(self, text, **options)

        FakeSession.submit = submit  # type: ignore[method-assign]
        try:
            door.let.set()
            await made.until(lambda: len(done) == 2 and len(made.session.performed) == 2)
        finally:
            FakeSession.submit = original  # type: ignore[method-assign]
        assert done == ["first after ['model']", "second after ['model', 'context']"]


async def test_what_waited_for_a_session_that_cannot_be_opened_is_dropped_with_a_word(
    tmp_path: Path,
) -> None:
    async with before(tmp_path) as (made, door):
        await made.type("/undo")
        await made.press("escape", "enter", "ctrl+x", "i")
        await made.type("a prompt")
        await made.press("enter")
        door.fails = True
        door.let.set()
        await made.until(lambda: "no session is open; what now" in made.text)
        await made.until(lambda: "/undo: no session is open" in made.text)
        assert "the inspector: no session is open" in made.text and made.chat.panel is None
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.text.count("the inspector: no session is open") == 2)

        door.fails = False
        await made.press("ctrl+x", "a")
        await made.until(lambda: made.chat.dock.has_keys)
        await asyncio.sleep(0)
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.armed)
        await made.press("down", "enter")  # try again
        await made.until(lambda: made.sessions and made.session.submitted)
        assert made.session.submitted == [("a prompt", "step")], "a prompt waits for the next session"
        assert made.session.performed == []


async def test_a_model_that_is_chosen_early_is_taken_once_the_session_is_there(tmp_path: Path) -> None:
    async with before(tmp_path) as (made, door):
        await made.press("ctrl+x", "m")
        await made.until(lambda: isinstance(made.app.screen, ModelScreen))
        await made.press("enter")
        assert isinstance(made.app.screen, ModelScreen)
        door.let.set()
        await made.until(lambda: made.sessions and made.session.performed)
        assert made.session.performed[0][0] == "model"
        await made.until(lambda: made.app.screen is made.chat)


async def test_a_new_session_that_is_asked_for_while_it_is_being_opened_is_that_one(tmp_path: Path) -> None:
    async with before(tmp_path) as (made, door):
        await made.press("ctrl+x", "n")
        door.let.set()
        await made.until(lambda: made.chat.session is not None)
        await made.settle()
        assert len(made.sessions) == 1
