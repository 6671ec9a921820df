"""What grows or shrinks on the screen takes one layout of it, not one more for each widget whose size that changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import stage
from tui_agent.ui import footer


@pytest.mark.usefixtures("quick")
async def test_the_footer_and_a_detail_take_one_layout_to_open_and_one_to_close(tmp_path: Path) -> None:
    def many(session: FakeSession) -> None:
        conversation(session.context, 40)

    async with stage(tmp_path, size=(140, 36), prepare=many) as made:
        layouts: list[object] = []
        made.chat.screen_layout_refresh_signal.subscribe(made.chat, layouts.append)
        for key in ("ctrl+x", "escape"):
            layouts.clear()
            await made.press(key)
            await made.settle()
            assert len(layouts) == 1, key
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is not None and len(made.chat.panel.tab.rows))
        await made.press("enter")
        await made.settle()
        for key in ("escape", "enter"):
            layouts.clear()
            await made.press(key)
            await made.settle()
            assert len(layouts) == 1, key


async def test_the_footer_covers_no_row_of_the_composer_on_a_screen_that_became_narrower(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, size=(200, 50)) as made:
        for columns, rows in ((100, 30), (80, 24)):
            await made.pilot.resize_terminal(columns, rows)
            await made.settle()
            await made.type("word")
            await made.settle()
            assert made.chat.key_line.region.height == 1
            assert made.lines[-2].strip().startswith("> word")


async def test_the_letters_take_the_rows_of_the_width_that_is_there(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50)) as made:
        await made.press("ctrl+x")
        await made.settle()
        for columns, rows in ((80, 24), (120, 36), (200, 50)):
            await made.pilot.resize_terminal(columns, rows)
            await made.settle()
            line = made.chat.key_line
            assert line.region.height == len(footer.rows(line.entries, columns))
