"""Colours and signs: a light and a dark theme, one for terminals with 16 colours, and the glyphs of the screen.

Every text colour of the light and the dark theme has a contrast of at least 4.5 to 1 (WCAG 2, level AA) on every
background it stands on, also where the terminal has 256 colours. The 16-colour theme uses the terminal's own palette.
No state is told by colour alone. Glyphs outside borders are narrow or neutral in Unicode's East Asian Width, so that a
terminal set to a Chinese, Japanese or Korean locale does not show them two cells wide.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from textual.theme import Theme

DARK_NAME = "tui-agent-dark"
LIGHT_NAME = "tui-agent-light"
ANSI_NAME = "tui-agent-ansi"

DARK = Theme(
    name=DARK_NAME,
    dark=True,
    primary="#6cb6f0",
    secondary="#8fb0cc",
    accent="#c9a7f2",
    warning="#e5b567",
    error="#ff8f8f",
    success="#86d293",
    foreground="#dde3ea",
    background="#11151a",
    surface="#181e25",
    panel="#212932",
    variables={
        "text": "#dde3ea",
        "text-muted": "#a3afbc",
        "text-disabled": "#94a0ad",
        "text-primary": "#86c5f7",
        "text-secondary": "#a9c4dc",
        "text-accent": "#d0b4f5",
        "text-warning": "#ebc077",
        "text-error": "#ff9d9d",
        "text-success": "#93d99f",
        "foreground-muted": "#a3afbc",
        "foreground-disabled": "#94a0ad",
        "primary-muted": "#1d3347",
        "secondary-muted": "#263442",
        "accent-muted": "#352a45",
        "warning-muted": "#3a2f10",
        "error-muted": "#46201f",
        "success-muted": "#183422",
        "block-cursor-background": "#2c5f8a",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-blurred-background": "#29333e",
        "block-cursor-blurred-foreground": "#dde3ea",
        "block-hover-background": "#1f2730",
        "border": "#6cb6f0",
        "border-blurred": "#3a4551",
        "button-color-foreground": "#0b0e12",
        "footer-background": "#181e25",
        "footer-foreground": "#dde3ea",
        "footer-key-foreground": "#86c5f7",
        "footer-description-foreground": "#c3ccd6",
        "input-cursor-background": "#dde3ea",
        "input-cursor-foreground": "#11151a",
        "input-selection-background": "#2c5f8a",
        "input-selection-foreground": "#ffffff",
        "screen-selection-background": "#2c5f8a",
        "screen-selection-foreground": "#ffffff",
        "link-color": "#86c5f7",
        "link-color-hover": "#ffffff",
        "link-background-hover": "#2c5f8a",
        "scrollbar": "#3a4551",
        "scrollbar-hover": "#4d5b69",
        "scrollbar-active": "#6cb6f0",
        "scrollbar-background": "#161b21",
        "scrollbar-background-hover": "#161b21",
        "scrollbar-background-active": "#161b21",
        "scrollbar-corner-color": "#161b21",
    },
)

LIGHT = Theme(
    name=LIGHT_NAME,
    dark=False,
    primary="#0b62a8",
    secondary="#3d5a73",
    accent="#6a2fb0",
    warning="#8a5a00",
    error="#b3261e",
    success="#1e6b34",
    foreground="#1c2229",
    background="#fbfbfa",
    surface="#f1f3f4",
    panel="#e6e9ec",
    variables={
        "text": "#1c2229",
        "text-muted": "#4d5862",
        "text-disabled": "#5b6670",
        "text-primary": "#0a5694",
        "text-secondary": "#38536b",
        "text-accent": "#5f2ba0",
        "text-warning": "#7a4f00",
        "text-error": "#a3211a",
        "text-success": "#1a5f2e",
        "foreground-muted": "#4d5862",
        "foreground-disabled": "#5b6670",
        "primary-muted": "#dbe8f4",
        "secondary-muted": "#dfe6ec",
        "accent-muted": "#e9e0f5",
        "warning-muted": "#f8eed2",
        "error-muted": "#f9e0de",
        "success-muted": "#dcefe1",
        "block-cursor-background": "#0b62a8",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-blurred-background": "#d3dbe2",
        "block-cursor-blurred-foreground": "#1c2229",
        "block-hover-background": "#e9edf0",
        "border": "#0b62a8",
        "border-blurred": "#b9c2ca",
        "button-color-foreground": "#ffffff",
        "footer-background": "#f1f3f4",
        "footer-foreground": "#1c2229",
        "footer-key-foreground": "#0a5694",
        "footer-description-foreground": "#353f48",
        "input-cursor-background": "#1c2229",
        "input-cursor-foreground": "#fbfbfa",
        "input-selection-background": "#bcd7ee",
        "input-selection-foreground": "#1c2229",
        "screen-selection-background": "#bcd7ee",
        "screen-selection-foreground": "#1c2229",
        "link-color": "#0a5694",
        "link-color-hover": "#ffffff",
        "link-background-hover": "#0b62a8",
        "scrollbar": "#b9c2ca",
        "scrollbar-hover": "#98a4ae",
        "scrollbar-active": "#0b62a8",
        "scrollbar-background": "#eef0f1",
        "scrollbar-background-hover": "#eef0f1",
        "scrollbar-background-active": "#eef0f1",
        "scrollbar-corner-color": "#eef0f1",
    },
)

ANSI = Theme(
    name=ANSI_NAME,
    ansi=True,
    dark=True,
    primary="ansi_cyan",
    secondary="ansi_cyan",
    accent="ansi_magenta",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        # half-bright text is unreadable in many 16-colour palettes: everything that is said is said in full colour
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "text-muted": "ansi_default",
        "text-disabled": "ansi_default",
        "foreground-muted": "ansi_default",
        # nor are there shades for a ground: it would be the colour of the text on it
        "primary-muted": "ansi_default",
        "secondary-muted": "ansi_default",
        "accent-muted": "ansi_default",
        "warning-muted": "ansi_default",
        "error-muted": "ansi_default",
        "success-muted": "ansi_default",
        # black on black in most palettes
        "border": "ansi_cyan",
        "border-blurred": "ansi_default",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "scrollbar-corner-color": "ansi_default",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
        "input-selection-background": "ansi_cyan",
        "input-selection-foreground": "ansi_black",
        "screen-selection-background": "ansi_cyan",
        "screen-selection-foreground": "ansi_black",
    },
)

THEMES = (DARK, LIGHT, ANSI)
NAMED = {"dark": DARK, "light": LIGHT, "ansi": ANSI}
"""Our themes by their names in settings."""


def textual_themes(known: Iterable[str]) -> list[str]:
    """Those of the themes an app knows that come with Textual; their contrast is not ours to promise."""
    ours = {theme.name for theme in THEMES}
    return sorted(
        name for name in known if name not in ours and not name.startswith(("own-", "textual-ansi"))
    )


class Glyphs(Struct, frozen=True):
    """The signs of the screen, each one cell wide.

    `closed`, `opened`: a folded and an unfolded block; `rule`, `bar`: a horizontal and a vertical line; `prompt`:
    before a person's words; `cursor`: beside the block under the cursor; `bullets`: list items by depth; `more`:
    text was cut off; `here`: a chosen row.
    """

    closed: str
    opened: str
    rule: str
    bar: str
    prompt: str
    cursor: str
    bullets: tuple[str, ...]
    more: str
    here: str


UNICODE = Glyphs(
    closed="▸",
    opened="▾",
    rule="╌",
    bar="╎",
    prompt=">",
    cursor="❯",
    bullets=("∙", "◦", "▪"),
    more="⋯",
    here="❯",
)

ASCII = Glyphs(
    closed="+",
    opened="-",
    rule="-",
    bar="|",
    prompt=">",
    cursor=">",
    bullets=("*", "-", "+"),
    more="~",
    here=">",
)
