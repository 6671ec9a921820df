"""How rows and columns are shared out."""

from __future__ import annotations

import itertools

import pytest

from tui_agent.ui.chat import layout


@pytest.mark.parametrize(("card", "answering"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("height", [24, 30, 36, 50])
def test_the_chat_keeps_eight_rows_in_every_state(height: int, card: bool, answering: bool) -> None:
    # beside status line and footer: the queue, the find bar, the tour
    for around, completing, todo in itertools.product(range(6), range(9), range(10)):
        fixed = 2 + around
        rows = layout.share(
            height, fixed=fixed, card=card, answering=answering, completing=completing, todo=todo
        )
        taken = (
            fixed + (rows.card if card else 0) + rows.composer + rows.todo + min(completing, rows.completion)
        )
        assert height - taken >= layout.LEAST_CHAT_ROWS
        assert rows.card <= layout.MOST_CARD_ROWS
        assert rows.card >= layout.LEAST_CARD_ROWS or not card
        assert rows.composer >= 1
        assert rows.todo >= min(todo, 1)
        if answering:
            assert rows.composer == 1


@pytest.mark.parametrize("height", [24, 36, 50])
def test_a_card_with_the_focus_gets_ten_rows(height: int) -> None:
    rows = layout.share(height, fixed=3, card=True, answering=True, completing=0)
    assert rows.card == layout.MOST_CARD_ROWS


@pytest.mark.parametrize("height", [5, 10, 15, 20])
def test_a_small_screen_still_gives_every_part_a_row(height: int) -> None:
    rows = layout.share(height, fixed=3, card=True, answering=False, completing=6)
    assert rows.composer >= 1 and rows.card >= layout.LEAST_CARD_ROWS and rows.completion >= 1


@pytest.mark.parametrize(
    ("width", "columns"), [(80, None), (100, None), (116, None), (117, 44), (148, 44), (199, 44), (200, 64)]
)
def test_the_inspector_stands_beside_the_chat_where_that_keeps_72_columns(
    width: int, columns: int | None
) -> None:
    assert layout.panel_columns(width) == columns
    if columns is not None:
        assert width - columns >= 72


def test_over_a_narrow_chat_the_inspector_takes_all_of_it() -> None:
    assert layout.overlay_columns(80) == 80
    assert layout.overlay_columns(110) < 110
