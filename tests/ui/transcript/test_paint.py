"""What the painter keeps."""

from __future__ import annotations

import pytest
from textual.content import Content

from tests.ui.transcript.host import answer, running, words
from tui_agent.ui.transcript.lines import Line
from tui_agent.ui.transcript.paint import Painter, Part
from tui_agent.ui.transcript.sheet import Sheet


class Counted(Part):
    """A part that knows for which widths its lines were made."""

    def __init__(self) -> None:
        self.made: list[int] = []
        super().__init__(self._make)

    def _make(self, width: int) -> list[Line]:
        self.made.append(width)
        return [Line(Content("some words that are wrapped"))]


async def test_rows_are_kept_for_the_width_before_until_things_look_different() -> None:
    async with running(60, 12) as host:
        painter, part = Painter(host.app.transcript), Counted()
        wide, narrow = painter.rows(part, 60), painter.rows(part, 12)
        assert len(narrow) > len(wide)
        assert painter.rows(part, 60) is wide and painter.rows(part, 12) is narrow
        assert len(part.made) == 2
        painter.rows(part, 30)
        assert painter.rows(part, 12) is narrow and painter.rows(part, 60) is not wide
        painter.clear()
        assert painter.rows(part, 12) is not narrow


async def test_many_rows_are_not_kept_for_the_width_before() -> None:
    async with running(60, 12) as host:
        painter, parts = Painter(host.app.transcript), [Counted() for _ in range(1_000)]
        for width in (60, 30, 60):
            for part in parts:
                painter.rows(part, width)
        made = [len(part.made) for part in parts]
        assert set(made) == {2, 3} and made.index(2) >= 500, "the newest ones are kept"


async def test_the_frame_in_which_the_view_is_lower_shows_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sheet, "on_resize", lambda view: None)  # it comes after that frame
    async with running(60, 12) as host:
        view = host.app.transcript
        view.load([each for n in range(9) for each in (words(f"say {n}"), answer(f"said {n}"))], ())
        await host.pilot.pause()
        assert "said 8" in host.rows[-1]
        await host.pilot.resize_terminal(60, 8)
        await host.pilot.pause()
        assert len(host.rows) == 8 and "said 8" in host.rows[-1]


async def test_a_size_that_a_frame_has_shown_already_works_nothing_out_again() -> None:
    async with running(60, 12) as host:
        view = host.app.transcript
        view.load([each for n in range(9) for each in (words(f"say {n}"), answer(f"said {n}"))], ())
        await host.pilot.resize_terminal(40, 12)
        await host.pilot.pause()
        assert host.rows and not view._stale
        placed: list[int] = []
        place = view._place
        view._place = lambda: (placed.append(1), place())[1]  # type: ignore[func-returns-value]
        view.on_resize()
        assert not view._stale and view._frame is None and not placed
