"""What is on the screen, as a text that a person can read and compare: its rows, and how they are drawn.

A sheet has the rows between bars. Below them stand, for every row, its runs of cells in one style (`3  a2 b18 a60` is
row 3 with two cells in style a, eighteen in b and sixty in a), and then what the letters stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import ColorType

if TYPE_CHECKING:
    from rich.color import Color
    from rich.segment import Segment
    from textual.strip import Strip

    from tests.ui.stage import Stage

_LOOKS = ("bold", "dim", "italic", "underline", "strike", "reverse")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def strips_of(made: Stage) -> list[Strip]:
    """The rows of the screen as they are drawn."""
    return made.app.screen._compositor.render_strips()


def rows(strips: Sequence[Strip]) -> str:
    """The text of the screen, each row between bars."""
    return "\n".join(f"|{strip.text}|" for strip in strips)


def styles(strips: Sequence[Strip]) -> str:
    """How the rows are drawn. Rows that are drawn alike stand together."""
    names: dict[str, str] = {}
    drawn = [_runs(strip, names) for strip in strips]
    lines, number = [], 1
    for runs, alike in groupby(drawn):
        last = number + len(list(alike)) - 1
        rows = str(number) if last == number else f"{number}-{last}"
        lines.append(f"{rows:>5}  {runs}")
        number = last + 1
    return "\n".join([*lines, *(f"{name:>5} = {style}" for style, name in names.items())])


def _runs(strip: Strip, names: dict[str, str]) -> str:
    parts = []
    for style, run in groupby(_styled(strip), lambda part: part[0]):
        name = names.setdefault(
            style, _LETTERS[len(names)] if len(names) < len(_LETTERS) else str(len(names))
        )
        parts.append(f"{name}{sum(cells for _, cells in run)}")
    return " ".join(parts)


def _styled(strip: Strip) -> Iterable[tuple[str, int]]:
    return ((described(part), cell_len(part.text)) for part in strip if part.text)


def described(part: Segment) -> str:
    """How a piece of a row is drawn, in words: `#dde3ea on #11151a bold`. Of a blank only what is seen."""
    style = part.style
    if style is None:
        return "as it is"
    blank = not part.text.strip() and not style.reverse
    looks = [
        look for look in _LOOKS if getattr(style, look) and not (blank and look in ("bold", "dim", "italic"))
    ]
    words = [f"on {_colour(style.bgcolor)}"] if style.bgcolor is not None else []
    if style.color is not None and (not blank or "underline" in looks):
        words.insert(0, _colour(style.color))
    return " ".join([*words, *looks]) or "as it is"


def _colour(colour: Color) -> str:
    if colour.type is ColorType.DEFAULT:
        return "default"
    return colour.get_truecolor().hex if colour.type is ColorType.TRUECOLOR else colour.name
