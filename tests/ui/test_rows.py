"""What a list promises: any length at once, a cursor that stays on its row, filters that do not block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot

from tests.support.hostile import TEXTS, acts
from tui_agent.ui.rows import Cell, Column, Rows

MANY = 100_000


class Host(App[None]):
    """An app with one list; it keeps what the list said."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.rows = rows
        self.said: list[tuple[str, int]] = []

    def compose(self) -> ComposeResult:
        yield self.rows

    def on_mount(self) -> None:
        self.rows.focus()

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        self.said.append(("chosen", message.index))

    def on_rows_moved(self, message: Rows.Moved) -> None:
        self.said.append(("moved", message.index))


def shown(rows: Rows) -> list[str]:
    """The rows of the screen as text, without trailing blanks."""
    return [rows.render_line(y).text.rstrip() for y in range(rows.size.height)]


async def until(pilot: Pilot[None], done: Callable[[], bool]) -> None:
    """Let the app work until it is done (the test's time limit ends a hang)."""
    while not done():
        await pilot.pause(0.01)


async def test_a_list_is_drawn_at_its_cursor_from_the_first_frame_on() -> None:
    asked: list[int] = []

    def model(index: int) -> str:
        asked.append(index)
        return f"row {index}"

    rows = Rows(model, MANY)
    rows.move(MANY - 1)
    async with Host(rows).run_test(size=(40, 10)):
        assert asked
        assert min(asked) == MANY - 10
        assert shown(rows)[-1].endswith(f"row {MANY - 1}")


async def test_a_long_list_asks_only_for_the_rows_on_the_screen() -> None:
    asked: list[int] = []

    def model(index: int) -> str:
        asked.append(index)
        return f"row {index}"

    rows = Rows(model, MANY)
    async with Host(rows).run_test(size=(40, 10)) as pilot:
        await pilot.press("end")
        assert rows.cursor == MANY - 1
        assert shown(rows)[-1].endswith(f"row {MANY - 1}")
        assert len(set(asked)) < 40


async def test_keys_move_the_cursor_and_enter_chooses() -> None:
    rows = Rows(lambda index: f"row {index}", 50)
    app = Host(rows)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("down", "down", "up", "pagedown", "enter", "home", "end")
        await pilot.pause()
    assert app.said == [
        *(("moved", index) for index in (1, 2, 1, 10)),
        ("chosen", 10),
        ("moved", 0),
        ("moved", 49),
    ]


async def test_a_click_moves_and_a_second_click_chooses() -> None:
    rows = Rows(lambda index: [f"row {index}"], 50, columns=[Column("name")])
    app = Host(rows)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.click(rows, offset=(3, 4))
        await pilot.pause()
        assert app.said == [("moved", 3)]
        await pilot.click(rows, offset=(3, 4))
        await pilot.pause()
        assert app.said[-1] == ("chosen", 3)
        await pilot.click(rows, offset=(3, 0))
        assert rows.cursor == 3, "the header is no row"


async def test_columns_are_cut_padded_and_aligned() -> None:
    columns = [Column("no", 4, "right"), Column("words"), Column("size", 6, "right")]
    rows = Rows(lambda index: [str(index), "many words " * 9, "1 KB"], 3, columns=columns)
    async with Host(rows).run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        assert shown(rows)[:3] == [
            "    no  words                      size",
            "❯    0  many words many words ⋯    1 KB",
            "     1  many words many words ⋯    1 KB",
        ]


async def test_the_cursor_stays_on_its_row_when_rows_come_and_go() -> None:
    names = [f"n{number}" for number in range(100)]
    rows = Rows(lambda index: names[index], len(names), key=lambda index: names[index])
    app = Host(rows)
    async with app.run_test(size=(40, 10)) as pilot:
        rows.move(40)
        await pilot.pause()
        said = len(app.said)
        names[:0] = ["new 1", "new 2"]
        del names[10:20]
        rows.show(lambda index: names[index], len(names))
        await pilot.pause()
        assert names[rows.cursor] == "n40"
        assert len(app.said) == said, "the same row is under the cursor: nothing to say"
        del names[rows.cursor]
        rows.show(lambda index: names[index], len(names))
        await pilot.pause()
        assert app.said[-1] == ("moved", rows.cursor)


async def test_the_cursor_is_back_on_its_row_after_a_filter_that_found_nothing() -> None:
    rows = Rows(lambda index: f"row {index}", 50)
    app = Host(rows)
    async with app.run_test(size=(40, 10)) as pilot:
        rows.move(7)
        rows.filter("nowhere")
        await pilot.pause()
        assert (rows.cursor, len(rows)) == (-1, 0)
        rows.filter(None)
        await pilot.pause()
        assert rows.cursor == 7
        assert app.said[-1] == ("moved", 7)
        rows.filter("nowhere")
        rows.filter("row 8")
        await pilot.pause()
        assert rows.cursor == 8, "the nearest that there is"


async def test_rows_that_were_scrolled_to_stay_when_the_list_is_shown_anew() -> None:
    rows = Rows(lambda index: f"row {index}", 100)
    async with Host(rows).run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        rows.scroll_to(y=50, animate=False)
        await pilot.pause()
        rows.show(lambda index: f"new {index}", 100)
        await pilot.pause()
        assert (rows.cursor, shown(rows)[0].split()) == (0, ["new", "50"])
        rows.move(60)
        await pilot.pause()
        rows.show(lambda index: f"newer {index}", 55)
        await pilot.pause()
        assert any("newer 54" in line for line in shown(rows)), "a cursor in view stays in view"


async def test_a_growing_list_follows_only_from_its_end() -> None:
    rows = Rows(lambda index: f"row {index}", 50)
    async with Host(rows).run_test(size=(40, 10)) as pilot:
        rows.grow(60)
        await pilot.pause()
        assert (rows.cursor, shown(rows)[0].split()[-1]) == (0, "0")
        await pilot.press("end")
        rows.grow(70)
        await pilot.pause()
        assert (rows.cursor, shown(rows)[-1].split()[-1]) == (69, "69")
        await pilot.press("up")
        rows.grow(80)
        await pilot.pause()
        assert (rows.cursor, shown(rows)[-1].split()[-1]) == (68, "69")


async def test_a_filter_keeps_the_models_indexes_and_a_cursor_near_by() -> None:
    rows = Rows(
        lambda index: [f"Row {index}", "even" if index % 2 == 0 else "odd"], 200, columns=[Column()] * 2
    )
    app = Host(rows)
    async with app.run_test(size=(40, 10)) as pilot:
        rows.move(101)
        rows.filter("EVEN row")
        await until(pilot, lambda: not rows.filtering)
        assert len(rows) == 100
        assert rows.cursor in (100, 102)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.said[-1] == ("chosen", rows.cursor)
        assert rows.cursor % 2 == 0
        rows.filter("nowhere")
        await until(pilot, lambda: not rows.filtering)
        await pilot.pause()
        assert (len(rows), rows.cursor) == (0, -1)
        assert shown(rows)[0] == "No row holds these words."
        await pilot.press("down", "pagedown", "enter")
        rows.filter("")
        await pilot.pause()
        assert len(rows) == 200


async def test_a_filter_over_a_long_list_lets_keys_through_and_ends() -> None:
    rows = Rows(lambda index: f"row {index}", MANY)
    async with Host(rows).run_test(size=(40, 10)) as pilot:
        rows.filter("99")
        assert rows.filtering, "not everything is looked at in one go"
        await pilot.press("down")
        await until(pilot, lambda: not rows.filtering)
        assert len(rows) == sum("99" in str(index) for index in range(MANY))
        rows.grow(MANY + 100)
        await until(pilot, lambda: not rows.filtering)
        assert len(rows) == sum("99" in str(index) for index in range(MANY + 100))


async def test_a_filter_brings_the_cursor_to_the_nearest_row_however_late_it_is_found() -> None:
    rows = Rows(lambda index: f"row {index}", MANY)
    async with Host(rows).run_test(size=(40, 10)) as pilot:
        rows.move(MANY - 50)
        rows.filter("99")
        await until(pilot, lambda: not rows.filtering)
        assert rows.cursor == MANY - 50
        assert "99950" in "".join(shown(rows))


async def test_an_empty_list_says_what_to_do() -> None:
    rows = Rows(empty="No backups yet. A revert makes one.")
    app = Host(rows)
    async with app.run_test(size=(50, 5)) as pilot:
        await pilot.press("down", "enter", "end")
        assert shown(rows)[0] == "No backups yet. A revert makes one."
        assert app.said == []
        rows.show(lambda index: "first", 1)
        await pilot.press("enter")
        await pilot.pause()
        assert app.said[-1] == ("chosen", 0)


async def test_an_empty_list_that_is_narrow_says_all_of_it() -> None:
    words = "Nothing waits. While the model works, what you send does."
    rows = Rows(empty=words, columns=[Column("when")])
    async with Host(rows).run_test(size=(20, 8)) as pilot:
        await pilot.pause()
        assert " ".join(shown(rows)[1:]).split() == words.split()


@pytest.mark.parametrize("cell", [str, Content], ids=["text", "content"])
async def test_hostile_cells_are_shown_literally_on_one_line(cell: type[str] | type[Content]) -> None:
    texts = list(TEXTS.values())

    def model(index: int) -> Sequence[Cell]:
        return [cell(texts[index]), cell(texts[-index - 1])]

    columns = [Column("a", 20, style="bold $text-primary"), Column("b")]
    rows = Rows(model, len(texts), columns=columns)
    async with Host(rows).run_test(size=(60, 24)) as pilot:
        await pilot.pause()
        for _ in range(0, len(texts), rows.size.height // 2):
            for y in range(rows.size.height):
                strip = rows.render_line(y)
                assert strip.cell_length == rows.scrollable_content_region.width
                assert not acts(strip.text)
            rows.action_step(rows.size.height // 2)
            await pilot.pause()


async def test_content_cells_keep_their_styles() -> None:
    rows = Rows(lambda index: Content.styled("hot", "$text-error"), 2)
    async with Host(rows).run_test(size=(20, 4)) as pilot:
        await pilot.pause()
        colours = {segment.text: segment.style.color for segment in rows.render_line(1) if segment.style}
        assert colours["hot"] != colours["  "]
