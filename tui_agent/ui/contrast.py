"""How well a theme can be read: the contrast of its texts on the grounds they stand on, as WCAG 2 measures it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.color import Color

if TYPE_CHECKING:
    from textual.theme import Theme

AA = 4.5
"""The least contrast of text at level AA."""

_HUES = ("primary", "secondary", "accent", "warning", "error", "success")
_TEXTS = (
    *("text", "text-muted", "foreground", "text-primary", "text-secondary", "text-accent"),
    *("text-warning", "text-error", "text-success"),
)
_GROUNDS = ("background", "surface", "panel")

PAIRS: tuple[tuple[str, str], ...] = (
    *itertools.product(_TEXTS, _GROUNDS),
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("text-success", "success-muted"),
    ("text-error", "error-muted"),
    *(("text", f"{hue}-muted") for hue in _HUES),
)
"""Variables of a theme that stand on each other on the screen: a text and its ground."""


@dataclass(frozen=True, slots=True)
class Weak:
    """A text that cannot be read well on a ground."""

    text: str
    ground: str
    ratio: float

    @property
    def shown(self) -> str:
        """The contrast with one decimal, never rounded up to what is enough."""
        return f"{math.floor(self.ratio * 10) / 10:.1f}"

    def __str__(self) -> str:
        return f"{self.text} on {self.ground} has {self.shown} to 1"


def luminance(color: Color) -> float:
    """Relative luminance, 0 (black) to 1 (white)."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def ratio(text: Color, ground: Color) -> float:
    """The contrast of a text on an opaque ground, 1 to 21."""
    high, low = sorted((luminance(ground + text), luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _colour(value: str, ground: Color) -> Color:
    """A colour as a style sheet has it, such as `#949cbb 30%`; `auto 87%` is the better read of black and white."""
    name, _, share = value.partition(" ")
    colour = ground.get_contrast_text(1.0) if name == "auto" else Color.parse(name)
    return colour.multiply_alpha(float(share.rstrip("%")) / 100) if share else colour


def weak(theme: Theme) -> list[Weak]:
    """What in a theme has less contrast than `AA`, the weakest first. A theme of 16 colours cannot be measured."""
    if theme.ansi:
        return []
    names = {**theme.to_color_system().generate(), **theme.variables}
    background = Color.parse(names["background"])
    found = []
    for text, ground in PAIRS:
        if text == "screen-selection-foreground" and text not in theme.variables:
            continue  # the selected text keeps its colours
        under = background + _colour(names[ground], background)
        found.append(Weak(text, ground, ratio(_colour(names[text], under), under)))
    return sorted((each for each in found if each.ratio < AA), key=lambda each: each.ratio)
