"""The palette: every action with its key and every command with its spelling, found by a few letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui_agent import literal

if TYPE_CHECKING:
    from tui_agent.ui.commands import Offer


class Offering(Protocol):
    """A screen that has something for the palette."""

    def offers(self) -> Sequence[Offer]:
        """All of it."""
        ...


class Palette(Provider):
    """What the screen in front offers."""

    def _offers(self) -> Sequence[Offer]:
        screen = self.screen
        return cast(Offering, screen).offers() if hasattr(screen, "offers") else ()

    async def discover(self) -> Hits:
        for offer in self._offers():
            yield DiscoveryHit(literal.one_line(offer.words), offer.run, help=_plain(offer.help))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for offer in self._offers():
            words = literal.one_line(offer.words)
            score = max(matcher.match(words), 0.9 * matcher.match(offer.help))
            if score > 0:
                yield Hit(score, matcher.highlight(words), offer.run, help=_plain(offer.help))


def _plain(text: str) -> str:
    """Text for a place that reads markup: its brackets are brackets."""
    return literal.one_line(text).replace("\\", "\\\\").replace("[", "\\[")
