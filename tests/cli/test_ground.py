"""The colour of the terminal's ground, asked for by the real program on a real terminal."""

from __future__ import annotations

from pathlib import Path

from tests.cli import terminal

ASKED = b"\x1b]11;?\x1b\\"
LIGHT = b"48;5;231m"
"""The light theme's ground, on a terminal of 256 colours."""


def test_a_light_terminal_gets_the_light_theme_and_its_answer_is_no_text(home: Path, shop: Path) -> None:
    with terminal.run(str(shop), "--demo", cwd=shop) as screen:
        screen.until(ASKED, b"ready")
        assert LIGHT not in screen.shown
        screen.press(b"be\x1b]11;rgb:ffff/ffff/ffff\x1b\\fore")
        screen.until(LIGHT)
        screen.until(b"before")
        assert b"rgb:" not in screen.shown
        screen.press(b"\x03")
        screen.until_quiet()
        screen.press(b"\x11")
        assert screen.end() == 0


def test_a_terminal_that_does_not_answer_is_dark_and_a_theme_in_settings_asks_nothing(
    home: Path, shop: Path
) -> None:
    settings = home / "config" / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('theme = "light"\n')
    with terminal.run(str(shop), "--demo", cwd=shop) as screen:
        screen.until(LIGHT, b"ready")
        assert ASKED not in screen.shown
        screen.press(b"\x11")
        assert screen.end() == 0
