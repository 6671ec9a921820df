"""What the colours and signs of the screen promise."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from textual.app import App
from textual.color import Color
from textual.theme import Theme

from tui_agent.ui import themes

AA = 4.5
"""The least contrast of text that WCAG 2 asks for at level AA."""

HUES = ["primary", "secondary", "accent", "warning", "error", "success"]
TEXTS = [
    *(f"text-{name}" for name in [*HUES, "muted", "disabled"]),
    *("text", "foreground", "foreground-muted", "foreground-disabled", "link-color", *HUES),
]
BACKGROUNDS = ["background", "surface", "panel", "block-hover-background"]

PAIRS = [
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("footer-foreground", "footer-background"),
    ("footer-key-foreground", "footer-background"),
    ("footer-description-foreground", "footer-background"),
    ("link-color-hover", "link-background-hover"),
    *((f"text-{name}", f"{name}-muted") for name in HUES),
    *(("text", f"{name}-muted") for name in HUES),
    *(("button-color-foreground", name) for name in ["primary", "warning", "error", "success"]),
]


def luminance(color: Color) -> float:
    """Relative luminance as WCAG 2 defines it."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two opaque colours, 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def variables(theme: Theme) -> dict[str, str]:
    return {**theme.to_color_system().generate(), **theme.variables}


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT], ids=lambda theme: theme.name)
def test_every_text_colour_can_be_read_on_every_background(theme: Theme) -> None:
    names = variables(theme)
    pairs = [*itertools.product(TEXTS, BACKGROUNDS), *PAIRS]
    found = {
        f"${text} on ${ground}": contrast(
            Color.parse(names[ground]) + Color.parse(names[text]), Color.parse(names[ground])
        )
        for text, ground in pairs
    }
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < AA} == {}


def test_the_measure_of_contrast_is_the_published_one() -> None:
    assert contrast(Color(255, 255, 255), Color(0, 0, 0)) == 21
    assert round(contrast(Color(119, 119, 119), Color(255, 255, 255)), 2) == 4.48


@pytest.mark.parametrize("set_of", [themes.UNICODE, themes.ASCII], ids=["unicode", "ascii"])
def test_every_glyph_is_one_cell_wide_in_any_locale(set_of: themes.Glyphs) -> None:
    signs = [sign for name in set_of.__slots__ for sign in getattr(set_of, name)]
    assert all(unicodedata.east_asian_width(sign) in ("N", "Na", "H") for sign in signs)
    if set_of is themes.ASCII:
        assert all(sign.isascii() for sign in signs)


def test_the_16_colour_theme_names_only_colours_of_the_palette() -> None:
    named = [themes.ANSI.primary, themes.ANSI.error, themes.ANSI.success, *themes.ANSI.variables.values()]
    assert all(value is not None and value.startswith("ansi_") for value in named)


async def test_an_app_takes_each_theme_and_refuses_an_unknown_one() -> None:
    app: App[object] = App()
    async with app.run_test() as pilot:
        for theme in themes.THEMES:
            themes.register(app, theme=theme.name)
            await pilot.pause()
            assert app.theme == theme.name
        with pytest.raises(ValueError, match="no theme is called 'none'"):
            themes.register(app, theme="none")
