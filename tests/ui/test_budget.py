"""How the rows and columns are shared out on a running screen, at six widths and on the way through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.examples import some
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent import events as said
from tui_agent.ui.chat.layout import LEAST_CHAT_ROWS, MOST_CARD_ROWS

WIDTHS = (80, 100, 117, 120, 148, 200)
LEAST_CHAT = 72
"""Columns of the chat beside a panel."""
MOST_PROSE = 100
PROSE = "words that are long enough to be wrapped on every screen " * 12


def _fill(session: FakeSession) -> None:
    session.workspace = Path.home() / "work" / "shop"
    conversation(session.context, 3)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("widths", some([WIDTHS, WIDTHS[::-1]], 2), ids=["wider", "narrower"])
async def test_rows_and_columns_are_shared_out_at_every_width(
    widths: tuple[int, ...], tmp_path: Path
) -> None:
    async with stage(tmp_path, size=(widths[0], 24), prepare=_fill) as made:
        made.session.begin("add a --json flag")
        made.session.emit(said.TextDelta(PROSE), said.ReplyEnded("r99", "end_turn", PROSE))
        await made.type("a draft that waits behind the card")
        made.session.ask(body="\n".join(f"echo {number}" for number in range(40)))
        made.session.emit(said.QueueChanged((said.QueuedPrompt("p1", "then this"),)))
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is not None and made.chat.dock.card is not None)
        for width in _through(widths):
            await made.pilot.resize_terminal(width, 24)
            await made.settle()
            _check(made, width)


def _through(widths: tuple[int, ...]) -> list[int]:
    """The widths, and the last one on either side of every change."""
    beside = {116, 117, 118, 199, 200, 201, *widths}
    return sorted(beside, reverse=widths[0] > widths[-1])


def _check(made: Stage, width: int) -> None:
    chat, panel, card = made.chat, made.chat.panel, made.chat.dock.card
    assert panel is not None and card is not None
    docked = 0 if width < 117 else 64 if width >= 200 else 44
    assert panel.has_class("-over") == (not docked), width
    assert chat.transcript.size.width == width - docked, width
    assert not docked or (panel.outer_size.width == docked and width - docked >= LEAST_CHAT), width
    assert chat.transcript.size.height >= LEAST_CHAT_ROWS, width
    assert card.outer_size.height <= MOST_CARD_ROWS, width
    rows = [chat.transcript.render_line(y).text.rstrip() for y in range(chat.transcript.size.height)]
    prose = [row.strip() for row in rows if "wrapped on every screen" in row]
    assert prose and max(map(len, prose)) <= min(MOST_PROSE, width - docked), (width, prose)
    status = made.lines[0]
    assert "18,734 ~+1,204" in status and "1 to answer" in status, status
    given_up = [word for word in ("shop", "~/work/shop", "[=", "/ 200,000") if word not in status]
    assert width < 117 or not given_up, (width, given_up)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("width", some(WIDTHS, 3))
async def test_the_composer_folds_to_a_row_while_a_card_has_the_focus(width: int, tmp_path: Path) -> None:
    async with stage(tmp_path, size=(width, 24), prepare=_fill) as made:
        made.chat.composer.add("\n".join(f"line {number}" for number in range(9)))
        await made.settle()
        assert made.chat.composer.size.height > 1
        made.session.ask()
        await made.press("f7")
        await made.until(lambda: made.chat.dock.has_keys)
        await made.settle()
        assert made.chat.composer.size.height == 1
        assert made.chat.transcript.size.height >= LEAST_CHAT_ROWS
