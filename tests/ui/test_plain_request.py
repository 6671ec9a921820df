"""`/request` without a screen: words that can be read aloud, figures that are those of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.engine import Run, engine, scripted_settings
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.commands import CommandError
from tui_agent.ui.plain.places import COMMANDS


async def _ask(run: Run, *words: str) -> Sequence[str]:
    talk: Any = SimpleNamespace(session=run.session)
    return await COMMANDS["request"](talk, *words)


async def _talk(run: Run, server: ScriptedServer, *words: str) -> None:
    for text in words:
        server.script(Reply.text(f"answer to {text}"))
        await run.say(text)


async def test_a_request_is_read_out_by_section_and_kind(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one", "two")
        said = "\n".join(await _ask(run))
        total = run.context.weigh().total
        assert said.startswith(f"the next request, scripted-1: {total:,} tokens")
        assert "of messages: your words, 2 items, " in said
        assert "of system: builtin" in said
        assert "request 1, turn 0" in "\n".join(await _ask(run, "1"))
        await run.session.perform("drop", run.context.history[1].id)
        assert "left out, elided by you: 1 item, about" in "\n".join(await _ask(run, "next"))
        listed = await _ask(run, "list")
        assert listed[0] == "2 requests were sent" and len(listed) == 3
        told = "\n".join(await _ask(run, "diff", "2", "next"))
        assert "gone: answer" in told and "less, dropped by you" in told
        assert "added: answer" in told
        assert "the endpoint counts" in (await _ask(run, "count"))[0]
        for sign in ("~", "≃", "+", "->"):
            assert sign not in said + told, "a reader of screens leaves signs out"


async def test_what_does_not_fit_is_read_out_behind_the_ways_out(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        settings = scripted_settings(server, context_window=8_000, max_output_tokens=1_024)
        async with engine(tmp_path, server, settings=settings) as run:
            await run.context.append_message({"role": "user", "content": "word " * 9_000})
            said = await _ask(run)
            assert said[1].startswith("refused: the next request would be about ")
            ways = [line for line in said if line.startswith("way out: ")]
            assert ways and said[2 : 2 + len(ways)] == ways
            assert any(line.startswith("of messages: your words, 1 item, about ") for line in said)


@pytest.mark.parametrize("words", [("7",), ("first",), ("diff", "1"), ("diff", "1", "x"), ("a", "b", "c")])
async def test_what_it_does_not_know_is_said_with_the_usage(words: tuple[str, ...], tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        with pytest.raises(CommandError, match="usage: /request"):
            await _ask(run, *words)
