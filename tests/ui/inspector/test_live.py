"""The inspector beside a session at work: the real engine, the demo model."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from tests.ui.inspector.logs import TABS, is_at
from tests.ui.stage import Stage
from tests.ui.test_session import opened
from tui_agent.ui.inspector.tokens import TokenFigures

pytestmark = pytest.mark.usefixtures("quick")


async def _show(made: Stage, tab: str) -> None:
    if made.chat.panel is None:
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
    panel = made.chat.panel
    assert panel is not None
    for shown in TABS[TABS.index(panel.tab.NAME) + 1 : TABS.index(tab) + 1]:
        await made.press("right")
        await made.until(partial(is_at, made, shown))


async def _say(made: Stage, words: str) -> None:
    session = made.chat.session
    assert session is not None
    await session.submit(words)
    await session.until_idle()


def _sum(made: Stage) -> tuple[int, int]:
    """What the parts of the sum line come to, and the total behind it."""
    assert made.chat.panel is not None
    left, _, right = str(made.chat.panel.tab._sum.content).partition("=")
    parts = [int(number.replace(",", "")) for number in re.findall(r"[+-]?[\d,]+", left)]
    return sum(parts), int(re.sub(r"\D", "", right) or -1)


@pytest.mark.parametrize(
    "size", [(80, 24), *(pytest.param(size, marks=pytest.mark.slow) for size in ((120, 36), (200, 50)))]
)
async def test_the_sum_line_is_the_number_of_the_status_line(size: tuple[int, int], tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", size=size) as made:

        def closes() -> bool:
            parts, total = _sum(made)
            return parts == total == made.chat.status.facts.total

        await _show(made, "Tokens")
        await made.until(closes, "a new session")
        assert made.chat.status.facts.total
        await _say(made, "hello")
        await made.until(closes, "a turn")
        await _say(made, "be long")
        await made.until(closes, "another")
        session = made.chat.session
        assert session is not None
        await session.perform("elide", next(m.id for m in session.context.history if m.role == "assistant"))
        await made.until(closes, "a record left out")
        await session.perform("revert", "2")
        await made.until(closes, "going back")
        await session.perform("undo")
        await made.until(closes, "undo")
        await session.perform("clear")
        await made.until(closes, "clear")


async def test_figures_change_under_a_cursor_and_a_scroll_that_stay(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", size=(120, 16)) as made:
        await _say(made, "hello")
        await _show(made, "Tokens")
        tab = made.chat.panel.tab if made.chat.panel is not None else None
        assert isinstance(tab, TokenFigures)

        def added_up() -> bool:
            """All that was said is in the figures; until then a line more says what came since."""
            total = f"{made.chat.status.facts.total:,} of"
            shown = any(total in line.said.plain for line in tab._lines)
            return shown and tab._added is not None and tab._added.total == tab._total

        await made.until(added_up)
        assert any("tool definitions" in line.said.plain for line in tab._lines)
        tab.rows.move([line.name for line in tab._lines].index("share answers"))
        tab.rows.scroll_to(y=tab.rows.max_scroll_y, animate=False)
        await made.settle()
        top = tab.rows.scroll_offset.y
        assert top
        await _say(made, "be long")
        await made.until(added_up)
        assert tab.rows.scroll_offset.y == top
        assert tab._lines[tab.rows.cursor].name == "share answers"


async def test_events_follow_the_session(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", size=(120, 36)) as made:
        await _show(made, "Events")
        await made.until(lambda: "session opened" in made.text)
        await _say(made, "hello")
        await made.until(lambda: "turn ended" in made.text, "the end of the turn")
        panel = made.chat.panel
        assert panel is not None
        assert panel.tab.rows.cursor == len(panel.tab.rows) - 1
        await made.press("home")
        count = len(panel.tab.rows)
        await _say(made, "hello again")
        await made.until(lambda: len(panel.tab.rows) > count, "more events")
        assert panel.tab.rows.cursor == 0


async def test_a_toast_leaves_the_last_line_of_the_inspector_free(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", size=(80, 24)) as made:
        await _say(made, "hello")
        await _show(made, "Backups")
        session = made.chat.session
        assert session is not None
        made.app.notify("what was before is context_1.jsonl (/undo brings it back)", markup=False)
        await session.perform("clear")
        await made.until(lambda: "context_1.jsonl (/undo" in made.text, "the toast")
        await made.until(lambda: "1 backup, " in made.lines[-2], "the sum")
        assert "settings say so" in made.lines[-2]
