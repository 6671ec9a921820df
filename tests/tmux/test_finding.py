"""Find and the pager in a real terminal, while an answer streams."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tests.tmux.terminal import Terminal, missing
from tests.tmux.walk import program, say

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

FIRST = "First words, with a zebra.\n\n" + "\n".join(f"- line {number}" for number in range(80))
STREAMED = "".join(f"word{number} " for number in range(400))


def _settings(config: Path, url: str) -> None:
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(
        'profile = "scripted"\n\n[profiles.scripted]\nprovider = "anthropic"\n'
        f'model = "{DEFAULT_MODEL["id"]}"\nbase_url = "{url}"\nauth = "none"\n'
    )


def _try(terminal: Terminal, held: Hold, loop: asyncio.AbstractEventLoop) -> None:
    terminal.wait("ready")
    say(terminal, "show me")
    terminal.wait("line 79")
    terminal.wait("ready")
    terminal.keys("C-x", "/")
    terminal.type("a zebra")
    terminal.wait("hit 1 of 1")
    terminal.wait("First words, with a zebra")
    terminal.keys("Escape")
    terminal.wait("hit 1 of 1", gone=True)
    terminal.wait("First words, with a zebra")
    say(terminal, "go on")
    terminal.wait("word0 ")
    terminal.keys("C-x", "[")
    terminal.wait("this is the pager")
    terminal.wait("First words, with a zebra")
    loop.call_soon_threadsafe(held.release.set)
    terminal.wait("all of it is in the log")
    assert "word399" not in terminal.pane()
    terminal.keys("Enter")
    terminal.wait("word399")
    terminal.wait("ready")
    terminal.keys("C-q")
    terminal.wait_dead()


async def test_an_answer_that_streams_goes_on_behind_the_pager(tmp_path: Path) -> None:
    home, shop, pager = tmp_path / "home", tmp_path / "shop", tmp_path / "pager"
    shop.mkdir()
    pager.write_text(
        "#!/bin/sh\necho this is the pager\nhead -n 6\n"
        f'until grep -rqs word399 --include=context.jsonl "{home}"; do :; done\n'
        "echo all of it is in the log\nread line < /dev/tty\n"
    )
    pager.chmod(0o755)
    held = Hold()
    environment = {
        "TUI_AGENT_HOME": str(home),
        "HOME": str(tmp_path),
        "TERM": "tmux-256color",
        "PAGER": str(pager),
        "PATH": os.environ["PATH"],
    }
    async with ScriptedServer() as server:
        _settings(home / "config", server.url)
        server.script(Reply.text(FIRST), Reply.text(STREAMED).holding(held, after=4))
        with Terminal(program(), cwd=shop, environment=environment, size=(80, 24)) as terminal:
            await asyncio.to_thread(_try, terminal, held, asyncio.get_running_loop())
