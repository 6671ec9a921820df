"""The palette: every action with its keys and its command, every command with its spelling, found by a few letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from rich.segment import Segment
from rich.style import Style
from textual.command import (
    CommandInput,
    CommandList,
    CommandPalette,
    DiscoveryHit,
    Hit,
    Hits,
    Provider,
    SearchIcon,
)
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Input, LoadingIndicator

from tui_agent import literal
from tui_agent.ui.over import PLACE_KEYS, Place
from tui_agent.ui.themes import UNICODE

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tui_agent.ui.commands import Offer

_HELP_WEIGHT = 0.9
"""What a match in the help counts, beside one in the words or the spelling."""
_MARGIN = 2
"""Columns before the words of a row; the sign of the chosen one stands there."""


class Offering(Protocol):
    """A screen that has something for the palette."""

    def offers(self) -> Sequence[Offer]:
        """All of it."""
        ...


class Offers(Provider):
    """What the screen under the palette offers."""

    def _offers(self) -> Sequence[Offer]:
        screen = self.screen
        return cast(Offering, screen).offers() if hasattr(screen, "offers") else ()

    async def discover(self) -> Hits:
        for offer in self._offers():
            words = literal.one_line(offer.words)
            yield DiscoveryHit(row(Content(words), offer), offer.run, text=words)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for offer in self._offers():
            words = literal.one_line(offer.words)
            score, marked = matcher.fuzzy_search.match(query, words)
            score = max(score, matcher.match(offer.keys), _HELP_WEIGHT * matcher.match(offer.help))
            if score > 0:
                # not `Matcher.highlight`, which reads the words as markup
                shown = Content(words)
                for place in marked:
                    shown = shown.stylize(matcher.match_style, place, place + 1)
                yield Hit(score, row(shown, offer), offer.run, text=words)


def row(words: Content, offer: Offer) -> Content:
    """Words with their keys, and the help below."""
    keys = (literal.one_line(offer.keys), "not bold")
    return Content.assemble(words, "  ", keys, "\n", (literal.one_line(offer.help), "not bold $text-muted"))


class Found(CommandList):
    """The rows of the palette, with the sign of a chosen row; reversed where the terminal's colours say nothing."""

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        if line >= len(self._lines) or self._lines[line][0] != self.highlighted:
            return strip
        if self._lines[line][1] == 0:
            style = next(iter(strip)).style
            strip = Strip.join([Strip([Segment(f"{UNICODE.here} ", style)]), strip.crop(_MARGIN)])
        plain = self.app.native_ansi_color or self.app.no_color
        return _reversed(strip) if plain else strip


def _reversed(strip: Strip) -> Strip:
    # Textual forgets the rule `reverse` of an option
    turned = [
        Segment(text, (style or Style()) + Style(reverse=True), control) for text, style, control in strip
    ]
    return Strip(turned, strip.cell_length)


class Finder(CommandPalette, Place):
    """Textual's palette as a place of ours: the keys of the table work in it."""

    ACTION: ClassVar[str] = "commands"
    BINDINGS: ClassVar[list[BindingType]] = PLACE_KEYS

    def __init__(self) -> None:
        super().__init__([Offers], placeholder="words, a key or a command")

    def compose(self) -> ComposeResult:
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield SearchIcon()
                yield CommandInput(placeholder=self._placeholder, select_on_focus=False)
            with Vertical(id="--results"):
                yield Found()
                yield LoadingIndicator()

    def on_mount(self) -> None:
        # Textual's own icon is two cells in some terminals and one in others
        self.query_one(SearchIcon).icon = ">"
        # nothing is drawn while nothing happens
        self.query_one(Input).cursor_blink = False
        self.call_after_refresh(self._still)

    def _still(self) -> None:
        self.query_one(LoadingIndicator).auto_refresh = None
