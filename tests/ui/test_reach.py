"""Every action, from every place, by key and by mouse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.keys import _character_to_key

from tests.ui.stage import Stage, stage
from tui_agent.ui.bindings import ACTIONS, BY_ID
from tui_agent.ui.remap import resolve

SIZE = (120, 36)
KEYS = resolve({})


async def _composer(made: Stage) -> None:
    await made.settle()


async def _draft(made: Stage) -> None:
    await made.type("half a thought")


async def _chat(made: Stage) -> None:
    made.chat.set_focus(made.chat.transcript)
    await made.settle()


async def _card(made: Stage) -> None:
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)


async def _reply(made: Stage) -> None:
    await _card(made)
    await made.type("use")
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.words == "use")


async def _records(made: Stage) -> None:
    await made.press("f3")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)


async def _filter(made: Stage) -> None:
    await _records(made)
    await made.press("slash")
    await made.settle()


async def _jump(made: Stage) -> None:
    await made.press("f6")
    await made.until(lambda: made.chat.jump is not None)


PLACES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "composer": _composer,
    "draft": _draft,
    "chat": _chat,
    "card": _card,
    "reply line": _reply,
    "records": _records,
    "filter": _filter,
    "jump card": _jump,
}


CLICKED = ("composer", "card", "filter")
"""Places from which the mouse is tried too: it does not go through the focus."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", PLACES)
async def test_every_action_is_reached_by_key_and_by_click(place: str, tmp_path: Path) -> None:
    async with stage(tmp_path, size=SIZE) as made:
        await PLACES[place](made)
        focused, draft = made.app.focused, made.chat.composer.text
        done: list[str] = []
        for name in made.chat.acts:
            if name != "leader":
                made.chat.acts[name] = lambda name=name: done.append(name)  # type: ignore[misc]
        for letter, name in KEYS.letters.items():
            await made.press("ctrl+x", letter if letter.isalnum() else _character_to_key(letter))
            assert done == [name], f"^x {letter} from {place}"
            done.clear()
            if place not in CLICKED:
                continue
            await made.press("ctrl+x")
            await made.settle()
            words = f"{letter} {BY_ID[name].words}"
            row = next(
                index for index, line in enumerate(made.lines) if words in line and index > SIZE[1] - 4
            )
            await made.pilot.click(offset=(made.lines[row].index(words) + 2, row))
            await made.settle()
            assert done == [name], f"a click on {words} from {place}"
            done.clear()
        for action in ACTIONS:
            # ctrl+q is the app's own, so that it works over every other screen too
            if not action.fixed and action.id not in ("leader", "quit"):
                for key in action.keys:
                    await made.press(key)
                    assert done == [action.id], f"{key} from {place}"
                    done.clear()
        assert made.app.focused is focused
        assert made.chat.composer.text == draft


@pytest.mark.usefixtures("quick")
async def test_the_screen_keeps_its_promises_while_it_is_resized(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        made.session.ask(body="\n".join(f"line {number}" for number in range(50)))
        await made.until(lambda: made.chat.dock.has_keys)
        for width, height in (
            (80, 24),
            (100, 30),
            (117, 24),
            (120, 36),
            (148, 24),
            (200, 50),
            (80, 24),
            (40, 12),
        ):
            await made.pilot.resize_terminal(width, height)
            await made.settle()
            assert "18,734" in made.lines[0]
            assert "1 to answer" in made.lines[0]
            card = made.chat.dock.card
            assert card is not None
            assert card.size.height + 2 <= 10
            assert made.chat.composer.size.height == 1
            if height >= 24:
                assert made.chat.transcript.size.height >= 8
                assert "[y] once" in made.text
                assert "jump back" in made.lines[-1]
