"""The palette: every action with its keys and its command, every command with its spelling, found by a few letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider, SearchIcon
from textual.content import Content
from textual.widgets import Input, LoadingIndicator

from tui_agent import literal
from tui_agent.ui.over import PLACE_KEYS, Place

if TYPE_CHECKING:
    from textual.binding import BindingType

    from tui_agent.ui.commands import Offer

_HELP_WEIGHT = 0.9
"""What a match in the help counts, beside one in the words or the spelling."""


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


class Finder(CommandPalette, Place):
    """Textual's palette as a place of ours: the keys of the table work in it."""

    ACTION: ClassVar[str] = "commands"
    BINDINGS: ClassVar[list[BindingType]] = PLACE_KEYS

    def __init__(self) -> None:
        super().__init__([Offers], placeholder="words, a key or a command")

    def on_mount(self) -> None:
        # Textual's own icon is two cells in some terminals and one in others
        self.query_one(SearchIcon).icon = ">"
        # nothing is drawn while nothing happens
        self.query_one(Input).cursor_blink = False
        self.call_after_refresh(self._still)

    def _still(self) -> None:
        self.query_one(LoadingIndicator).auto_refresh = None
