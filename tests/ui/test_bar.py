"""The scroll bar: it looks like Textual's, and is drawn only when it looks otherwise."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.ui.bar import QuietBar, QuietScroll


class _Lines:
    def render_line(self, y: int) -> Strip:
        return Strip([Segment("line")])


class _Quiet(_Lines, QuietScroll):
    pass


class _Plain(_Lines, ScrollView):
    pass


class _Two(App[None]):
    CSS = "_Quiet, _Plain { height: 20; scrollbar-size-vertical: 1; }"

    def compose(self) -> ComposeResult:
        yield _Quiet()
        yield _Plain()

    def both(self) -> tuple[_Quiet, _Plain]:
        return self.query_one(_Quiet), self.query_one(_Plain)

    def bars(self) -> tuple[list[Strip], list[Strip]]:
        quiet, plain = (
            view.vertical_scrollbar.render_lines(view.vertical_scrollbar.size.region) for view in self.both()
        )
        return quiet, plain


async def test_it_looks_like_the_bar_of_textual_wherever_it_stands() -> None:
    app = _Two()
    async with app.run_test(size=(40, 40)) as pilot:
        for height, y in (
            (100, 0),
            (100, 3),
            (101, 50),
            (5_000, 50),
            (5_001, 4_000),
            (60, 40),
            (60, 39),
            (21, 1),
        ):
            for view in app.both():
                view.virtual_size = Size(20, height)
                view.scroll_to(y=y, animate=False)
            await pilot.pause()
            assert isinstance(app.both()[0].vertical_scrollbar, QuietBar)
            quiet, plain = app.bars()
            assert quiet == plain, (height, y)


async def test_a_row_that_comes_to_very_many_does_not_draw_it_again() -> None:
    app = _Two()
    async with app.run_test(size=(40, 40)) as pilot:
        quiet, _ = app.both()
        quiet.virtual_size = Size(20, 10_000)
        await pilot.pause()
        bar = quiet.vertical_scrollbar
        drawn = bar._styles_cache
        assert not any(drawn.is_dirty(y) for y in range(20))
        bar.window_virtual_size = 10_001
        assert not any(drawn.is_dirty(y) for y in range(20))
        bar.position = 6_000
        assert any(drawn.is_dirty(y) for y in range(20))


async def test_the_mouse_over_it_and_other_colours_show() -> None:
    app = _Two()
    async with app.run_test(size=(40, 40)) as pilot:
        for view in app.both():
            view.virtual_size = Size(20, 100)
        await pilot.pause()
        for view in app.both():
            view.vertical_scrollbar.mouse_over = True
        await pilot.pause()
        assert app.bars()[0] == app.bars()[1]
        app.theme = "textual-light"
        await pilot.pause()
        assert app.bars()[0] == app.bars()[1]


async def test_a_frame_that_was_due_when_it_was_taken_away_shows_it_as_it_was() -> None:
    app = _Two()
    async with app.run_test(size=(40, 40)) as pilot:
        view, _ = app.both()
        view.virtual_size = Size(20, 100)
        await pilot.pause()
        bar = view.vertical_scrollbar
        region = bar.size.region
        shown = bar.render_lines(region)
        await view.remove()
        assert bar.parent is None
        assert bar.refresh().render_lines(region) == shown


async def test_another_size_alone_is_drawn_with_the_layout_that_gives_it() -> None:
    app = _Two()
    async with app.run_test(size=(40, 40)) as pilot:
        for view in app.both():
            view.virtual_size = Size(20, 100)
        await pilot.pause()
        bar = app.both()[0].vertical_scrollbar
        while bar.size.height != 20:
            await pilot.pause()
        bar.refresh()  # it knows how it looks
        bar._repaint_required = False
        bar._size = Size(1, 12)
        assert not bar.refresh()._repaint_required
        bar.window_size = 12
        assert bar._repaint_required
        for view in app.both():
            view.styles.height = 12
        await pilot.pause()
        assert app.bars()[0] == app.bars()[1]
