"""Tab in the chat: from card to card, and behind the last one to the composer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.memories import proposal, proposed
from tests.ui.stage import Stage, stage
from tui_agent.events import Question

pytestmark = pytest.mark.usefixtures("quick")


def _here(made: Stage) -> str:
    """What has the keys: the key of a proposal, or a place."""
    if made.chat.dock.has_keys:
        return "dock"
    if (result := made.chat.transcript.result) is not None:
        return result.figures.split()[-1]
    return (made.app.focused.id or "") if made.app.focused is not None else ""


async def test_tab_in_the_chat_leads_back_to_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for place in ("transcript", "composer", "transcript"):
            await made.press("tab")
            await made.until(lambda place=place: _here(made) == place, place)


async def test_tab_goes_from_proposal_to_proposal_and_behind_the_last_to_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await proposed(made, proposal(made.session, key="one"), proposal(made.session, key="two"))
        for place in ("one", "two", "composer", "one"):
            await made.press("tab")
            await made.until(lambda place=place: _here(made) == place, place)


async def test_tab_goes_from_the_last_proposal_to_the_question_over_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await proposed(made, proposal(made.session, key="one"))
        await made.type("a draft")
        await made.chat.ask(Question("q", "choice", "which?", choices=("this", "that")))
        made.chat.results.next()
        await made.until(lambda: _here(made) == "one", "the proposal")
        await made.press("tab")
        await made.until(lambda: _here(made) == "dock", "the question")
