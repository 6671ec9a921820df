"""Every action, from every place, by key, by click and by the palette."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.examples import some
from tests.ui.spots import EVERY, ON_CHAT, OVER, at
from tests.ui.stage import Stage, stage
from tui_agent.ui.actions import ACTIONS, BY_ID, LEADER
from tui_agent.ui.bindings import SIGN_NAMES
from tui_agent.ui.footer import MOST
from tui_agent.ui.over import Place
from tui_agent.ui.remap import resolve

SIZE = (120, 36)
KEYS = resolve({})
OFFERED = [action.id for action in ACTIONS if not action.fixed and action.id != LEADER]
"""Every action that has a key of its own."""

_CLOSES = "the key that opens it closes it"
NOT_OFFERED = {(place, spot.own): _CLOSES for place, spot in OVER.items() if KEYS.direct[spot.own]}
"""(place, action) -> why its key does something else there. All other pairs have to work, and these must not."""

NOT_HERE = {("memory editor", "mode"): "it goes back to the line before"}
"""(place on the chat, action) -> why its key does something else there."""

NOT_LISTED = {"tour": "its letter ends the tour, and is listed only while there is one"}
"""action -> why its letter cannot be clicked at other places than the one that is called as it is."""

CLICKED = ("composer", "card", "filter of records")
"""Places from which every letter is clicked, from the first one in CI too; from the others every fifth, another fifth
from each."""


def _record(made: Stage) -> list[str]:
    """Have the actions only say that they were reached."""
    done: list[str] = []

    async def leave() -> None:
        done.append("quit")

    for name in made.chat.acts:
        if name != LEADER:
            made.chat.acts[name] = lambda name=name: done.append(name)  # type: ignore[misc]
    made.app.action_quit = leave  # type: ignore[method-assign]
    return done


def _key(letter: str) -> str:
    return SIGN_NAMES.get(letter, letter)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(CLICKED, len(CLICKED)))
async def test_every_letter_is_clicked(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, ON_CHAT[place], SIZE) as made:
        done = _record(made)
        for letter, name in KEYS.letters.items():
            if name not in NOT_LISTED:
                await _click_letter(made, letter, name)
                assert done == [name], f"a click on {letter} from {place}"
                done.clear()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(ON_CHAT, 5))
async def test_every_action_is_reached_from_every_place_on_the_chat(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, ON_CHAT[place], SIZE) as made:
        focused, draft = made.app.focused, made.chat.composer.text
        done = _record(made)
        for letter, name in KEYS.letters.items():
            await made.press("ctrl+x", _key(letter))
            assert done == [name], f"^x {letter} from {place}"
            done.clear()
        for name in OFFERED:
            for key in KEYS.direct[name] if (place, name) not in NOT_HERE else ():
                await made.press(key)
                assert done == [name], f"{key} from {place}"
                done.clear()
        await made.press("ctrl+x")
        listed = {entry.words for entry in made.chat.key_line.entries}
        await made.press("escape")
        letters = [(letter, name) for letter, name in KEYS.letters.items() if BY_ID[name].words in listed]
        assert {name for _, name in letters} == set(KEYS.letters.values()) - (set(NOT_LISTED) - {place})
        shift = list(ON_CHAT).index(place) % 5
        for letter, name in letters[shift::5]:
            await _click_letter(made, letter, name)
            assert done == [name], f"a click on {letter} from {place}"
            done.clear()
        rows = {offer.words: offer for offer in reversed(made.chat.offers())}
        for name in OFFERED:
            if name != "commands":
                rows[BY_ID[name].words].run()
                assert done.pop() == name, f"the palette over {place}"
        assert made.app.focused is focused
        assert made.chat.composer.text == draft


async def _click_letter(made: Stage, letter: str, name: str) -> None:
    await made.press("ctrl+x")
    await made.settle()
    words = f"{letter} {BY_ID[name].words}"
    found = [index for index, line in enumerate(made.lines) if f" {words} " in f"{line} "]
    assert found, f"{words} is not listed\n{made.text}"
    row = found[-1]
    await made.pilot.click(offset=(f" {made.lines[row]} ".index(f" {words} ") + 1, row))
    await made.settle()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(OVER, 3))
async def test_every_direct_key_is_heard_in_every_place_over_the_chat(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, OVER[place], SIZE) as made:
        done, screen = _record(made), made.app.screen
        assert isinstance(screen, Place)
        screen.leave = lambda action="": done.append(action)  # type: ignore[method-assign]
        for name in (*OFFERED, LEADER):
            for key in KEYS.direct[name]:
                await made.press(key)
                reached = done == [name]
                assert reached != ((place, name) in NOT_OFFERED), f"{key} from {place}: {done}"
                done.clear()
        assert made.app.screen is screen


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(OVER, 3))
async def test_letters_act_from_every_place_over_the_chat_by_key_in_one_read_and_by_click(
    place: str, tmp_path: Path
) -> None:
    spot = OVER[place]
    letters = list(KEYS.letters.items())
    shift = list(OVER).index(place)
    async with at(tmp_path, spot, SIZE) as made:
        done = _record(made)
        for letter, name in letters[shift :: len(OVER)]:
            await made.press("ctrl+x", _key(letter))
            assert done == [name], f"^x {letter} from {place}"
            assert made.app.screen is made.chat
            done.clear()
            await spot.go(made)
            if name in NOT_LISTED:
                continue
            await _click_letter(made, letter, name)
            assert done == [name], f"a click on {letter} from {place}"
            assert made.app.screen is made.chat
            done.clear()
            await spot.go(made)
        assert made.chat.composer.text == ""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(EVERY, 8))
async def test_ctrl_q_leaves_from_every_place(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, EVERY[place]) as made:
        done = _record(made)
        await made.press("ctrl+q")
        assert done == ["quit"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "place", some([place for place in ON_CHAT if place not in ("jump card", "no session yet")], 5)
)
async def test_the_chat_is_scrolled_from_every_place(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, ON_CHAT[place]) as made:
        view = made.chat.transcript
        await made.press("ctrl+home")
        assert view.scroll_y == 0
        await made.press("pagedown")
        assert view.scroll_y > 0
        await made.press("pageup")
        assert view.scroll_y == 0
        await made.press("ctrl+end")
        assert view.scroll_y == view.max_scroll_y > 0


_TYPING = (
    *("draft", "several lines", "completion", "history search", "find bar", "filter of records"),
    *("search in memory", "memory editor"),
)
_LINES = (
    "card",
    "review",
    "plan",
    "reason",
    "reply line",
    "edit line",
    "rule line",
    "jump card",
    "text of a proposal",
)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "place", some([place for place in (*ON_CHAT, "help") if place not in (*_TYPING, *_LINES)], 4)
)
async def test_a_letter_that_means_nothing_is_typed_from_every_place(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, EVERY[place]) as made:
        before = made.chat.composer.text
        await made.type("z1 x")
        await made.until(lambda: made.app.screen is made.chat)
        assert made.chat.composer.text in ("z1 x" + before, before + "z1 x")
        assert made.app.focused is made.chat.composer


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("width", some([80, 100, 117, 120, 148, 200], 6))
@pytest.mark.parametrize("place", some([place for place in EVERY if place not in ("help", "palette")], 4))
async def test_the_footer_names_the_way_back_in_every_place(place: str, width: int, tmp_path: Path) -> None:
    async with at(tmp_path, EVERY[place], (width, 24)) as made:
        line = made.app.screen.query_one("#keys")
        shown = "".join(segment.text for segment in line.render_line(0))
        words = [entry for entry in line.entries if f" {entry.key} {entry.words} " in f" {shown} "]  # type: ignore[attr-defined]
        assert len(words) <= MOST
        back = "go back here" if place == "jump card" else f"{KEYS.shown('jump')} jump back"
        assert f" {back} " in f" {shown} ".replace("Enter go", " go"), shown
        left = shown
        for entry in words:
            left = left.replace(f"{entry.key} {entry.words}", "", 1)
        assert not left.strip(), f"{left.strip()!r} is a part of no entry"


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
