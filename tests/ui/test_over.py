"""Places over the chat: how they are left, and that no key of the table is dead in them."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from tests.ui.stage import stage
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing
from tui_agent.ui.over import Over
from tui_agent.ui.remap import resolve

FRUIT = ("apple", "pear", "quince")


class Fruit(Listing):
    """A list of three."""

    def __init__(self) -> None:
        super().__init__(resolve(), "fruit", empty="no fruit")
        self.chosen: list[str] = []
        self.eaten: list[str] = []

    def load(self) -> None:
        self.rows.show(lambda index: FRUIT[index], len(FRUIT))

    def choose(self, index: int) -> None:
        self.chosen.append(FRUIT[index])

    def about(self, index: int) -> Content:
        return Content(f"about {FRUIT[index]}")

    def offered(self) -> list[Key]:
        return [Key("e", "eat", "eat")]

    def action_eat(self) -> None:
        self.eaten.append(FRUIT[self.rows.cursor])


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
