"""What is left on the terminal when the program itself fails: where it happened, and no key."""

from __future__ import annotations

from pathlib import Path

from tests.cli import terminal

KEY = "sk-test-0123456789abcdef"

FAILS = f"""
import os
from tui_agent.settings import secrets
from tui_agent.settings.schema import Profile, Settings
from tui_agent.ui.hosted import HostedApp

class Failing(HostedApp):
    def on_mount(self):
        key = "{KEY[:8]}" + "{KEY[8:]}"
        secrets.conceal("THE_KEY", key)
        raise RuntimeError(f"it was refused: {{key}}")

Failing([]).run()
"""


def test_an_error_says_where_it_happened_and_shows_no_key(shop: Path) -> None:
    with terminal.python(FAILS, [], cwd=shop) as screen:
        screen.end()
        assert b"RuntimeError: it was refused: [redacted THE_KEY]" in screen.shown
        assert b"on_mount" in screen.shown
        assert KEY.encode() not in screen.shown and KEY[8:].encode() not in screen.shown
