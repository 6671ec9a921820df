"""Places over the chat: how they are left, and that no key of the table is dead in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.content import Content
from textual.keys import _character_to_key

from tests.support.examples import some
from tests.ui.stage import Stage, stage
from tui_agent.ui.help import HelpScreen
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing
from tui_agent.ui.over import Over
from tui_agent.ui.remap import resolve

FRUIT = ("apple", "pear", "quince")
KEYS = {"slash": "/"}


class Fruit(Listing):
    """A list of three."""

    def __init__(self) -> None:
        super().__init__(resolve(), "fruit", empty="no fruit")
        self.chosen: list[str] = []
        self.eaten: list[str] = []
        self.named: list[str] = []

    def load(self) -> None:
        self.rows.show(lambda index: FRUIT[index], len(FRUIT))

    def choose(self, index: int) -> None:
        self.chosen.append(FRUIT[index])

    def about(self, index: int) -> Content:
        return Content(f"about {FRUIT[index]}")

    def offered(self) -> list[Key]:
        return [Key("e", "eat", "eat"), Key("n", "name", "name")]

    def action_eat(self) -> None:
        self.eaten.append(FRUIT[self.rows.cursor])

    def action_name(self) -> None:
        self.ask("its name", "", self.named.append)


async def test_help_is_closed_by_the_keys_that_open_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for key in ("f1", "escape", "q"):
            await made.press("f1")
            await made.until(lambda: isinstance(made.app.screen, Over))
            await made.press(key)
            await made.until(lambda: made.app.screen is made.chat)


async def test_keys_of_the_table_work_over_the_chat(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f1")
        await made.until(lambda: isinstance(made.app.screen, Over))
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None, "the inspector")
        assert made.app.screen is made.chat
        await made.press("f1")
        await made.until(lambda: isinstance(made.app.screen, Over))
        await made.press("ctrl+x")
        await made.until(lambda: made.chat.leading, "the letters")
        await made.press("i")
        await made.until(lambda: made.chat.panel is None)


@pytest.mark.parametrize(
    "place", some(["settings", "theme", "model", "connect", "help", "queue", "commands"], 3)
)
async def test_a_letter_right_behind_the_leader_key_acts_over_every_place(place: str, tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        done: list[str] = []
        made.chat.acts["undo"] = lambda: done.append("undo")
        for _ in range(2):
            made.chat.act(place)
            await made.until(lambda: made.app.screen is not made.chat)
            await made.press("ctrl+x", "u")
            assert done.pop() == "undo"
            await made.until(lambda: made.app.screen is made.chat)
        assert not made.chat.leading
        assert made.chat.composer.text == ""


async def test_the_key_of_a_place_pressed_twice_at_once_opens_and_closes_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("f1", "f1")
        await made.settle()
        assert made.app.screen is made.chat
        await made.press("ctrl+p", "ctrl+p")
        await made.settle()
        assert made.app.screen is made.chat


async def test_help_lies_over_a_place_and_gives_it_back(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        made.chat.act("queue")
        await made.until(lambda: isinstance(made.app.screen, Over))
        place = made.app.screen
        await made.press("f1")
        await made.until(lambda: isinstance(made.app.screen, HelpScreen))
        await made.press("escape")
        await made.until(lambda: made.app.screen is place)
        await made.press("f1")
        await made.until(lambda: isinstance(made.app.screen, HelpScreen))
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None, "the inspector")
        assert made.app.screen is made.chat


async def test_redraw_and_suspend_leave_a_place_open(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        done: list[str] = []
        for name in ("redraw", "suspend"):
            made.chat.acts[name] = lambda name=name: done.append(name)  # type: ignore[misc]
        made.chat.act("queue")
        await made.until(lambda: isinstance(made.app.screen, Over))
        await made.press("ctrl+l", "ctrl+z")
        assert done == ["redraw", "suspend"]
        assert isinstance(made.app.screen, Over)


async def test_ctrl_c_in_a_place_copies_then_stops_what_runs_then_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as made:
        copied: list[str] = []
        monkeypatch.setattr(made.chat, "copy", copied.append)
        made.session.begin()
        made.chat.act("queue")
        await made.until(lambda: isinstance(made.app.screen, Listing))
        place = made.app.screen
        assert isinstance(place, Listing)
        await made.press("slash")
        await made.type("words")
        await made.settle()
        place.words.action_select_all()
        await made.press("ctrl+c")
        assert copied == ["words"]
        assert made.session.cancels == 0
        await made.press("ctrl+c")
        await made.until(lambda: made.session.cancels == 1)
        assert made.app.screen is place
        await made.press("ctrl+c")
        await made.until(lambda: made.app.screen is made.chat)


async def test_a_list_chooses_filters_and_acts_on_letters_and_clicks(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        place = Fruit()
        await made.app.push_screen(place)
        await made.settle()
        assert "about apple" in made.text
        await made.press("down", "enter", "e")
        await made.settle()
        assert (place.chosen, place.eaten) == (["pear"], ["pear"])
        await made.press("slash")
        await made.type("quin")
        await made.settle()
        assert "apple" not in "\n".join(made.lines[:4])
        await made.press("enter")
        await made.until(lambda: made.app.focused is place.rows)
        await made.press("enter")
        await made.settle()
        assert place.chosen == ["pear", "quince"]
        await made.press("escape")
        await made.settle()
        assert "apple" in made.text
        row = next(index for index, line in enumerate(made.lines) if "e eat" in line)
        await made.pilot.click(offset=(made.lines[row].index("e eat") + 2, row))
        await made.settle()
        assert place.eaten == ["pear", "quince"]
        await made.press("escape")
        await made.until(lambda: made.app.screen is made.chat)


@pytest.mark.parametrize("opening", ["slash", "n"])
async def test_letters_right_behind_one_that_opens_a_line_are_written_there(
    tmp_path: Path, opening: str
) -> None:
    async with stage(tmp_path) as made:
        place = Fruit()
        await made.app.push_screen(place)
        await made.settle()
        for key in (opening, *"pen e?"):  # as a slow line brings them: all at once
            made.app.post_message(events.Key(key, KEYS.get(key, key)))
        await made.settle()
        line = place.words if opening == "slash" else place.entry.line
        await made.until(lambda: line.value == "pen e?", "every letter, in its order")
        assert place.eaten == [] and made.app.screen is place


BEHIND = {
    "a line that Enter opened": (("down", "enter", "x", "y", "enter", "e"), ["pear: xy"], ["pear"]),
    "the list, from the filter": (("/", "p", "e", "enter", "e"), [], ["pear"]),
    "a row, from the filter": (("/", "q", "enter", "enter", "z", "enter"), ["quince: z"], []),
    "the line, by a second Enter": (("enter", "enter", "x", "enter"), ["apple: x"], []),
    "a list that was filtered again": (
        ("/", "p", "enter", "/", "e", "a", "enter", "e"),
        [],
        ["pear"],
    ),
}
"""What keys in one burst lead to: what was entered, and what was eaten."""


async def burst(made: Stage, keys: Sequence[str]) -> None:
    """Keys, and the letters of a text, that come in one read of the terminal."""
    for key in keys:
        letter = len(key) == 1
        made.app.post_message(events.Key(_character_to_key(key) if letter else key, key if letter else None))
    await made.settle()


class Asking(Fruit):
    """A list whose rows ask for a word, and refuse an empty one."""

    def choose(self, index: int) -> None:
        def done(text: str) -> None:
            self.named.append(f"{FRUIT[index]}: {text}")

        self.ask("its name", "", done, check=lambda text: "" if text else "it has to have one")


@pytest.mark.parametrize("at_once", [True, False], ids=["in one burst", "one by one"])
@pytest.mark.parametrize("name", some(BEHIND, 2))
async def test_what_is_pressed_behind_enter_goes_to_what_enter_led_to(
    name: str, at_once: bool, tmp_path: Path
) -> None:
    keys, entered, eaten = BEHIND[name]
    async with stage(tmp_path) as made:
        place = Asking()
        await made.app.push_screen(place)
        await made.settle()
        for together in [keys] if at_once else [(key,) for key in keys]:
            await burst(made, together)
        assert (place.named, place.eaten) == (entered, eaten)


class Leaving(Fruit):
    """A list that is left by a choice."""

    def choose(self, index: int) -> None:
        super().choose(index)
        self.leave()


@pytest.mark.parametrize("keys", [("enter",), ("/", "q", "enter", "enter")], ids=["a row", "the filter"])
async def test_letters_right_behind_a_choice_that_closes_the_list_are_words(
    keys: tuple[str, ...], tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        place = Leaving()
        await made.app.push_screen(place)
        await made.settle()
        await burst(made, [*keys, *"new"])
        await made.until(lambda: made.app.screen is made.chat and len(made.chat.composer.text) == 3)
        assert len(place.chosen) == 1
        assert (made.chat.composer.text, place.eaten, place.named) == ("new", [], [])


@pytest.mark.parametrize(
    ("keys", "entered", "eaten"),
    [
        (("down", "e", "ctrl+c"), [], ["pear"]),
        (("/", "p", "e", "ctrl+c"), [], []),
        (("n", "x", "y", "ctrl+c"), [], []),
        (("n", "x", "y", "enter", "ctrl+c"), ["xy"], []),
        (("n", "x", "enter", "e", "ctrl+c"), ["x"], ["apple"]),
    ],
)
async def test_ctrl_c_closes_a_list_when_its_turn_has_come(
    keys: tuple[str, ...], entered: list[str], eaten: list[str], tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        place = Fruit()
        await made.app.push_screen(place)
        await made.settle()
        await burst(made, [*keys, *"new"])
        await made.until(lambda: made.app.screen is made.chat and len(made.chat.composer.text) >= 3)
        await made.settle()
        assert (made.chat.composer.text, place.named, place.eaten) == ("new", entered, eaten)
