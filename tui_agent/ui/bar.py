"""A scroll view that grows without a stir, and its scroll bar, drawn again only when it looks otherwise.

Every row that comes to a long list changes the figures behind its bar, hardly ever the bar: Textual's own would have
the whole height of the list drawn for it, and the whole screen laid out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget

from tui_agent.ui.still import Still

if TYPE_CHECKING:
    from textual.geometry import Region, Size
    from textual.strip import Strip


class QuietBar(ScrollBar, Still):
    """The bar. What it is told and what does not show is kept for the next time that it is drawn."""

    _look: tuple[object, ...] | None = None
    _figures: tuple[object, ...] | None = None
    """What its looks followed from."""
    _drawn: tuple[object, list[Strip]] = (None, [])
    """Its lines, and what they were drawn for: one that is shown again looks as it did."""

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        if self.is_mounted and self.parent is not None and not (layout or recompose):
            bar = self.render()
            assert isinstance(bar, ScrollBarRender)
            figures = self._figures_of(bar)
            if figures == self._figures:
                return self
            before, self._figures = self._figures, figures
            look = self._looks(bar)
            if look == self._look:
                return self
            self._look = look
            if before is not None and _but_size(before) == _but_size(figures):
                return self  # who gives it another size draws it then
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.parent is None:
            return self._drawn[1]  # what it was in is gone, and a frame that still shows it was due
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        figures = (*self._figures_of(bar), crop, self.get_line_filters())
        if figures != self._drawn[0]:
            self._drawn = figures, super().render_lines(crop)
        return self._drawn[1]

    def _figures_of(self, bar: ScrollBarRender) -> tuple[object, ...]:
        return bar.style, self.size, bar.virtual_size, bar.window_size, bar.position

    def _looks(self, bar: ScrollBarRender) -> tuple[object, ...]:
        """Its colours and its cells."""
        drawn = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
        )
        return bar.style, self.size, *drawn.segments


def _but_size(figures: tuple[object, ...]) -> tuple[object, ...]:
    style, _, *rest = figures
    return style, *rest


class QuietScroll(ScrollView):
    """A scroll view with such a bar."""

    def hold(self, size: Size) -> None:
        """What is in it is so large now."""
        if self.styles.auto_dimensions:
            self.virtual_size = size
        elif size != self.virtual_size:
            # set without the layout that the reactive asks for: nothing else depends on it
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The bar (made when it is first asked for)."""
        if self._vertical_scrollbar is None:
            bar = QuietBar(name="vertical", thickness=self.scrollbar_size_vertical)
            bar.display = False
            self._vertical_scrollbar = bar
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar
