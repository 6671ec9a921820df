"""Selecting and copying in a real tmux with an empty tmux.conf: the source arrives in its paste buffer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tests.tmux.terminal import Terminal, missing
from tests.tmux.walk import program, say

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

PROSE = "日本語の文章はとても長いので、画面の幅に合わせて何行にも折り返されます。" * 3
CODE = "```python\ndef f():\n    x = 1\n\n\n    return x\n```"
LIST = "- one **bold** item\n- two\n  - inner"
TABLE = "| name | value |\n|------|------:|\n| `a` | 4711 |"
ANSWER = f"First words.\n\n{PROSE}\n\n{CODE}\n\n{LIST}\n\n{TABLE}"
STREAMED = "Second words.\n\nThey go on"


def _settings(config: Path, url: str) -> None:
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(
        'profile = "scripted"\n\n[profiles.scripted]\nprovider = "anthropic"\n'
        f'model = "{DEFAULT_MODEL["id"]}"\nbase_url = "{url}"\nauth = "none"\n'
    )


def _cell(terminal: Terminal, text: str, *, end: bool = False) -> tuple[int, int]:
    """The cell, counted from 1, at which a text begins or ends on the screen; its last place if it is there twice."""
    lines = terminal.pane().split("\n")
    y = max(y for y, line in enumerate(lines) if text in line)
    before = lines[y][: lines[y].rindex(text) + (len(text) - 1 if end else 0)]
    return cell_len(before) + 1, y + 1


def _copied(terminal: Terminal, first: str, last: str) -> str:
    """Drag from the beginning of one text to the end of another, press ctrl+c, and take what tmux has then."""
    start, end = _cell(terminal, first), _cell(terminal, last, end=True)
    before = terminal.buffer()
    terminal.mouse((0, *start, True), (32, *end, True), (0, *end, False))
    terminal.wait("copy")
    terminal.keys("C-c")
    return terminal.buffer_after(before)


def _try(terminal: Terminal, held: Hold, loop: asyncio.AbstractEventLoop) -> None:
    terminal.wait("ready")
    say(terminal, "show me")
    terminal.wait("inner")
    terminal.wait("ready")
    assert _copied(terminal, "First words", "return x") == f"First words.\n\n{PROSE}\n\n{CODE}"
    assert _copied(terminal, "def f", "return x") == CODE.removeprefix("```python\n").removesuffix("\n```")
    assert _copied(terminal, "one bold", "inner") == LIST
    assert _copied(terminal, "name", "4711") == TABLE
    assert _copied(terminal, "show me", "First words.") == "show me\n\nFirst words."
    say(terminal, "and while it streams")
    terminal.wait("They go on")
    assert _copied(terminal, "value", "They go on").endswith(f"and while it streams\n\n{STREAMED}")
    loop.call_soon_threadsafe(held.release.set)
    terminal.wait("to the end")
    terminal.wait("copied: ")
    terminal.keys("C-x", "s")
    terminal.wait("the terminal has the mouse")
    assert not terminal.takes_mouse()
    terminal.keys("C-x", "s")
    terminal.wait("the mouse is back")
    assert terminal.takes_mouse()


async def test_what_is_selected_with_the_mouse_arrives_in_the_paste_buffer(tmp_path: Path) -> None:
    held = Hold()
    shop = tmp_path / "shop"
    shop.mkdir()
    async with ScriptedServer() as server:
        server.script(Reply.text(ANSWER), Reply.text(f"{STREAMED} to the end.").holding(held, after=5))
        _settings(tmp_path / "home" / "config", server.url)
        environment = {
            "TUI_AGENT_HOME": str(tmp_path / "home"),
            "HOME": str(tmp_path),
            "TERM": "tmux-256color",
        }
        with Terminal(program(), cwd=shop, environment=environment, size=(80, 50)) as terminal:
            loop = asyncio.get_running_loop()
            await asyncio.to_thread(_try, terminal, held, loop)
