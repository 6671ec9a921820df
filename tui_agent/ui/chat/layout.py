"""How the rows and columns of the screen are shared out. Pure arithmetic, in cells.

The chat keeps at least eight rows in every state of a screen of 24, a card takes at most ten, and the composer is one
row while a card has the focus. A panel stands beside the chat only while the chat keeps 72 columns.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

LEAST_CHAT_ROWS = 8
MOST_CARD_ROWS = 10
QUIET_CARD_ROWS = 6
"""Rows of a card that does not have the focus, when rows are scarce."""
MOST_COMPOSER_ROWS = 6
LEAST_CARD_ROWS = 5
DOCKED_FROM = 117
"""Columns from which a panel stands beside the chat."""
PANEL_COLUMNS, WIDE_FROM, WIDE_PANEL_COLUMNS = 44, 200, 64
BOTH_FROM, SIDEBAR_COLUMNS = 148, 30
"""Columns from which the inspector and the memory sidebar do, and those that the sidebar has then."""


class Share(Struct, frozen=True):
    """The most rows that each part may take."""

    card: int
    composer: int
    completion: int
    todo: int = 0


def share(height: int, *, fixed: int, card: bool, answering: bool, completing: int, todo: int = 0) -> Share:
    """Share out the rows of a screen.

    Args:
        height: Rows of the screen.
        fixed: Rows of what never gives way: status line, footer, queue line.
        card: A card is shown.
        answering: It has the focus.
        completing: Completions that are offered.
        todo: Rows that the todo list would fill; it keeps one, and gets what a card and two rows to write leave.
    """
    free = max(2, height - fixed - LEAST_CHAT_ROWS)
    if todo:
        needed = MOST_CARD_ROWS + 1 if answering else QUIET_CARD_ROWS + 2 if card else 2 + min(completing, 2)
        rows = max(1, min(todo, free - needed))
        rest = share(height, fixed=fixed + rows, card=card, answering=answering, completing=completing)
        return replace(rest, todo=rows)
    roomy = height >= 32
    if not card:
        completion = min(completing, max(1, free - 2))
        return Share(0, max(1, min(MOST_COMPOSER_ROWS, free - completion)), completion)
    if answering:
        return Share(max(LEAST_CARD_ROWS, min(MOST_CARD_ROWS, free - 1)), 1, 0)  # nobody writes
    rows = min(MOST_CARD_ROWS if roomy else QUIET_CARD_ROWS, free - 2)
    rows = max(LEAST_CARD_ROWS, rows)
    completion = min(completing, max(1, free - rows - 2))
    return Share(rows, max(1, min(MOST_COMPOSER_ROWS, free - rows - completion)), completion)


def panel_columns(width: int) -> int | None:
    """Columns of the inspector beside the chat, or None: then it lies over the chat."""
    if width < DOCKED_FROM:
        return None
    return WIDE_PANEL_COLUMNS if width >= WIDE_FROM else PANEL_COLUMNS


class Sides(Struct, frozen=True):
    """Columns of the inspector and of the memory sidebar beside the chat; None: if it is open it lies over it."""

    inspector: int | None = None
    memory: int | None = None


def sides(width: int, *, inspector: bool, memory: bool, memory_first: bool) -> Sides:
    """Give both the columns that the chat leaves. Where there is room for one, the one that was there first has it."""
    beside = panel_columns(width)
    if beside is None:
        return Sides()
    if not (inspector and memory):
        return Sides(beside, PANEL_COLUMNS)
    if width >= BOTH_FROM:
        return Sides(beside, SIDEBAR_COLUMNS)
    return Sides(None, PANEL_COLUMNS) if memory_first else Sides(beside, None)


def overlay_columns(width: int) -> int:
    """Columns of a panel that lies over the chat: all of a narrow screen."""
    return width if width < 100 else WIDE_PANEL_COLUMNS
