"""What grows or shrinks on the screen takes one layout of it, not one more for each widget whose size that changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.fake import FakeSession, conversation
from tests.ui.stage import stage


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
