"""The card that asks whether what a file names may be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile import TEXTS, acts
from tests.ui.stage import Stage, stage
from tui_agent import events as said
from tui_agent.ui.cards.agree import AgreeCard

QUESTION = said.Question(
    "q1",
    "agree",
    "use the MCP servers that this workspace names?",
    body="tracker: npx tracker-server\n  TOKEN=${TOKEN}",
    place="/work/.mcp.json",
    warning="they run on this machine with your rights",
)


async def asked(made: Stage, question: said.Question = QUESTION) -> AgreeCard:
    """The question waits, and its card has the keys."""
    made.session.emit(said.Asked(question))
    await made.until(lambda: made.chat.dock.card is not None, "the card")
    card = made.chat.dock.card
    assert isinstance(card, AgreeCard)
    await made.until(lambda: made.chat.dock.has_keys, "its keys")
    return card


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("key", "verdict"), [("y", "once"), ("n", "no")])
async def test_it_shows_what_would_be_started_and_takes_yes_or_no(
    tmp_path: Path, key: str, verdict: str
) -> None:
    async with stage(tmp_path, size=(80, 24)) as made:
        await asked(made)
        for words in (
            "use the MCP servers",
            "tracker: npx tracker-server",
            "TOKEN=${TOKEN}",
            "with your rights",
        ):
            assert words in made.text, made.text
        assert "[y] yes, and do not ask again" in made.text
        await made.press(key)
        await made.until(lambda: bool(made.session.answers), "the answer")
        ((_, answer),) = made.session.answers
        assert answer.verdict == verdict


@pytest.mark.usefixtures("quick")
async def test_what_was_not_seen_is_not_agreed_to(tmp_path: Path) -> None:
    body = "\n".join(f"server {number}: program" for number in range(60))
    async with stage(tmp_path, size=(80, 24)) as made:
        card = await asked(made, said.Question("q1", "agree", "use them?", body=body))
        await made.press("y")
        await made.until(lambda: "scroll to the end first" in made.text)
        assert not made.session.answers
        while card.unseen:
            await made.press("space")
        await made.press("y")
        await made.until(lambda: bool(made.session.answers), "the answer")


@pytest.mark.usefixtures("quick")
async def test_nothing_in_it_acts(tmp_path: Path) -> None:
    first, second, *rest = (text[:300] for text in TEXTS.values())
    async with stage(tmp_path, size=(120, 36)) as made:
        await asked(made, said.Question("q1", "agree", first, body="\n".join(rest), place=second))
        assert not acts(made.text)
