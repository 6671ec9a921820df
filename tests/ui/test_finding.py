"""Finding in a real session: what was just said, and the same after it is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tests.ui.stage import Stage
from tests.ui.test_session import opened
from tests.ui.transcript.test_search import by_hand
from tui_agent.settings.schema import Profile, Settings

pytestmark = pytest.mark.usefixtures("quick")


def settings(server: ScriptedServer, folder: Path) -> Settings:
    profile = Profile(
        name="scripted",
        model="scripted-1",
        base_url=server.url,
        auth="none",
        context_window=200_000,
        max_output_tokens=4_096,
    )
    return Settings(profile="scripted", profiles={"scripted": profile}, file=folder / "settings.toml")


async def find_all(view: Stage, words: str) -> int:
    """Look for words and go to every hit; returns how many there are."""
    await view.press("ctrl+f")
    await view.type(words)
    await view.until(lambda: view.chat.search is not None and view.chat.search.words == words, "the search")
    await view.until(lambda: view.chat.search is not None and not view.chat.search.busy, "its end")
    assert view.chat.session is not None
    assert view.chat.search is not None
    history = view.chat.session.context.history
    total = by_hand(history, words)
    assert view.chat.search.total == total
    numbers = set()
    for _ in range(total):
        await view.press("enter")
        await view.settle()
        bar = view.chat.find_bar
        assert bar is not None
        assert "not shown" not in bar.said, (bar.said, view.text)
        numbers.add(int(bar.said.split()[1]))
        assert words in view.text.lower()
    assert numbers == set(range(1, total + 1))
    await view.press("escape")
    await view.until(lambda: view.chat.find_bar is None, "the bar to close")
    return total


async def test_what_was_just_said_is_found_and_found_again_when_it_is_resumed(tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "zebra.py").write_text("def zebra():\n    return 'a zebra'\n")
    (workspace / "other.py").write_text("# no zebra, one zebra\n")
    async with ScriptedServer() as server:
        server.script(
            Reply.tools(
                ("read_file", {"path": "zebra.py"}),
                ("read_file", {"path": "other.py"}),
                text="I read **zebra** first.",
                thinking="Is it the zebra?",
            ),
            Reply.text("There is a `zebra` in it:\n\n- zebra one\n- zebra two"),
            Reply.text("It is striped, the zebra."),
        )
        async with opened(workspace, settings(server, tmp_path)) as view:
            for words in ("where is the zebra", "what is a zebra like"):
                await view.type(words)
                await view.press("enter")
                await view.until(lambda: view.chat.session is not None and view.chat.session.busy)
                await view.until(lambda: view.chat.session is not None and not view.chat.session.busy)
            await view.type("!echo zebra zebra")
            await view.press("enter")
            await view.until(lambda: "bash" in view.text, "the command")
            assert view.chat.session is not None
            session = view.chat.session
            await view.until(lambda: not session.active, "its end")
            entries = view.chat.transcript.entries
            total = await find_all(view, "zebra")
            assert total >= 15
            assert view.chat.transcript.entries == entries
            name = session.id
        async with opened(workspace, settings(server, tmp_path), resume=name) as view:
            assert await find_all(view, "zebra") == total


async def test_while_an_answer_streams_hits_are_gone_to_and_new_ones_follow(tmp_path: Path) -> None:
    hold = Hold()
    async with ScriptedServer() as server:
        server.script(Reply.text("A zebra runs, a zebra stands.").holding(hold, after=2))
        async with opened(tmp_path / "shop", settings(server, tmp_path)) as view:
            await view.type("tell me of a zebra")
            await view.press("enter")
            await view.until(lambda: view.chat.session is not None and view.chat.session.busy)
            assert await find_all(view, "zebra") == 1
            await view.press("ctrl+f")
            await view.type("zebra")
            await view.until(
                lambda: view.chat.find_bar is not None and view.chat.find_bar.said == "hit 1 of 1"
            )
            hold.release.set()
            await view.until(
                lambda: view.chat.find_bar is not None and view.chat.find_bar.said == "hit 1 of 3"
            )
