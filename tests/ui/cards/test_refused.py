"""The card of a request that the endpoint refused: its record is looked at, mended, and the request sent again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tests.ui.stage import Stage
from tests.ui.test_session import _idle, _say, _served, opened

pytestmark = pytest.mark.usefixtures("quick")

REFUSED = "messages.2.content.0.tool_result: the endpoint does not take this"


def _refusing(server: ScriptedServer, *answers: Reply, error: str = REFUSED) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}}
    server.script(Reply.blocks(call, stop_reason="tool_use"), Reply.error(400, error), *answers)


async def _refused(made: Stage, workspace: Path) -> None:
    (workspace / "a.txt").write_text("UGLY text\n")
    await _say(made, "read it", "> read it")
    await made.until(lambda: made.chat.dock.card is not None, "the ways out")
    await _idle(made)
    if not made.chat.dock.has_keys:
        await made.press("tab")


@pytest.mark.parametrize("typed", [False, True])
async def test_a_record_is_shortened_by_a_key_or_a_command_and_the_request_sent_again_by_a_key(
    tmp_path: Path, *, typed: bool
) -> None:
    async with ScriptedServer() as server:
        _refusing(server, Reply.text("it is done"))
        async with opened(tmp_path, _served(server, tmp_path)) as made:
            await _refused(made, tmp_path)
            assert "is meant: the result of read_file" in made.text and "[d] leave out record" in made.text
            if typed:
                await made.press("escape")
                await made.type("/elide 8")
                await made.press("enter")
            else:
                await made.press("s")
            await made.until(lambda: "shortened: about" in made.text, "that it is")
            await made.until(
                lambda: "[a] send the request again  \u2219 nothing" in made.text, "whether to send it again"
            )
            if not made.chat.dock.has_keys:
                await made.press("tab")
            await made.press("a")
            await made.until(lambda: "it is done" in made.text, "the answer")
            await _idle(made)
            assert made.chat.dock.card is None
            assert made.text.count("> read it") == len(re.findall(r"checkpoint \d", made.text)) == 1
        assert "[truncated: read_file result" in str(server.requests[-1]["messages"][2])


async def test_its_text_is_written_anew_on_a_card(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        _refusing(server, Reply.text("it is done"))
        async with opened(tmp_path, _served(server, tmp_path)) as made:
            await _refused(made, tmp_path)
            await made.press("e")
            await made.until(
                lambda: made.chat.dock.card is not None and made.chat.dock.card.writes, "the line"
            )
            assert "UGLY text" in made.text and "edit the text: Enter gives it" in made.text
            await made.press("ctrl+a", "ctrl+k")
            await made.type("a plain text")
            await made.press("enter")
            await made.until(lambda: "as edited by you" in made.text)
            await made.press("a")
            await made.until(lambda: "edited: about" in made.text, "that it is")
            await made.until(lambda: made.chat.dock.card is not None, "whether to send it again")
            await made.press("a")
            await made.until(lambda: "it is done" in made.text, "the answer")
        assert server.requests[-1]["messages"][2]["content"][0]["content"].startswith("a plain text")


async def test_enter_on_the_first_way_leads_to_the_record_in_the_inspector(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        _refusing(server)
        async with opened(tmp_path, _served(server, tmp_path), size=(130, 40)) as made:
            await _refused(made, tmp_path)
            await made.press("down", "enter")
            await made.until(lambda: made.chat.panel is not None, "the inspector")
            await made.until(lambda: "as it is on disk" in made.text, "the record, opened")
            assert "origin tool" in made.text and "toolu_1" in made.text
            assert "refused: 1 UGLY" in made.text and "refused: http" in made.text
            await made.press("w")
            await made.until(
                lambda: made.chat.dock.card is not None and made.chat.dock.card.writes, "the line"
            )
            await made.type(" and more")
            await made.press("enter")
            await made.until(lambda: "as edited by you" in made.text)
            await made.press("a")
            await made.until(lambda: "refused, edited" in made.text, "the record's row")
            await made.until(lambda: made.chat.dock.card is not None, "whether to send it again")
            server.script(Reply.text("it is done"))
            await made.press("tab", "a") if not made.chat.dock.has_keys else await made.press("a")
            await made.until(
                lambda: "it is done" in made.text and "refused" not in made.text, "that it is none"
            )


async def test_the_next_turn_takes_the_card_away_and_a_key_asks_again_without_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        _refusing(server, Reply.error(400, REFUSED), Reply.text("it is done"))
        async with opened(tmp_path, _served(server, tmp_path)) as made:
            await _refused(made, tmp_path)
            await made.press("escape")
            await made.type("never mind")
            await made.press("enter")
            await made.until(lambda: len(server.requests) == 3)
            await made.until(lambda: made.chat.dock.card is not None, "the ways out of the next one")
            await _idle(made)
            await made.press("escape", "ctrl+x", "x")
            await made.until(lambda: "it is done" in made.text, "the answer")
            await made.until(lambda: made.chat.dock.card is None, "no card")
