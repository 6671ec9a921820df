"""An app that minds its terminal: it draws no faster than the terminal takes, and ends when the terminal is gone."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from textual import events
from textual.app import App, ScreenStackError
from textual.filter import Monochrome, NoColor
from textual.widget import Widget

from tui_agent.ui import terminal
from tui_agent.ui.harmless import Harmless, Row
from tui_agent.ui.order import Hold, Order, Pressed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import PurePath

    from rich.console import RenderableType
    from textual.filter import LineFilter
    from textual.screen import Screen

    from tui_agent.ui.terminal import Keyboard

Kept = TypeVar("Kept", bound="Screen[Any]")

_HEARD_S = 0.2
"""Seconds after which nobody waits for a widget to hear."""


async def heard(widget: Widget) -> None:
    """Wait until a widget has taken what was sent to it so far: that it has the focus, say."""
    taken = asyncio.Event()
    widget.call_later(taken.set)
    with suppress(TimeoutError):  # it went away
        await asyncio.wait_for(taken.wait(), _HEARD_S)


class HostedApp(App[int]):
    """The base of every screen program here. It returns an exit code."""

    TITLE = "tui-agent"

    def __init__(
        self,
        css_path: list[str | PurePath],
        *,
        keyboard: Keyboard = "auto",
        later_styles: Sequence[PurePath] = (),
    ) -> None:
        no_color = os.environ.get("NO_COLOR")
        super().__init__(driver_class=terminal.Terminal, css_path=css_path)
        if no_color is not None:
            os.environ["NO_COLOR"] = (
                no_color  # taken out by Textual; the programs that are started want it too
            )
        self._later_styles = later_styles
        self.keyboard: Keyboard = keyboard
        self.asks_ground = False
        """Whether the terminal is asked for the colour of its ground, which `GroundTold` then tells."""
        self.sign_filters: list[LineFilter] = []
        """Put other signs in the place of those that are drawn."""
        self._harmless, self._row = Harmless(), Row(())
        self._without_colour, self._in_grey = NoColor(), Monochrome()
        self._holds_frames = self._owes_frame = False
        self._kept: list[Screen[Any]] = []
        self._order = Order(self, self._take)
        self._newest_key, self.streak = "", 0
        """The newest key, and the number of its streak: the same as long as nothing else is pressed."""

    # --- what is pressed

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, Pressed) or event.is_forwarded:
            await super().on_event(event)
        elif not self._order.keeps(event):
            await self._take(event)

    async def _take(self, event: Pressed) -> None:
        """Hand on what was pressed to what has the focus now."""
        if not isinstance(event, events.MouseEvent) or isinstance(event, events.MouseDown):
            key = event.key if isinstance(event, events.Key) else ""
            self.streak += key != self._newest_key
            self._newest_key = key
        taker = self.focused or self.screen
        await super().on_event(event)
        if isinstance(event, events.Key | events.Paste):
            self._order.follow(event, taker if event.is_forwarded else self)

    def press_first(self, waited: Iterable[events.Key]) -> None:
        """Take keys that waited in a widget, before those that came since."""
        self._order.first(waited)

    async def press_now(self, key: events.Key) -> None:
        """Take a key at once, in the app's own turn."""
        await self._take(key)

    def hold_keys(self) -> Hold:
        """Let keys wait from now on, for who changes in a worker what they mean."""
        return self._order.hold()

    @property
    def pressing(self) -> bool:
        """True while something that was pressed is not dealt with; once the app ends nothing is any more."""
        return self._order.busy and not self._exit

    # --- looks

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        if self.no_color:
            # Textual chose between the two before the theme was known: grey made of no colour is black
            colourless = self._without_colour if self.native_ansi_color else self._in_grey
            kinds = (NoColor, Monochrome)
            filters = [colourless if isinstance(each, kinds) else each for each in filters]
        filters = [*filters, self._harmless, *self.sign_filters]
        if filters != self._row.filters:
            self._row = Row(filters)  # another one: lines are kept by the filter that they passed
        return [self._row]

    def refresh_css(self, animate: bool = True) -> None:
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            # a theme set before the start: no style sheet was read with another one
            self.stylesheet.set_variables(self.get_css_variables())
        self._forget_screens()

    def read_later_styles(self) -> None:
        """Read the style sheets that the first frame does without. Every widget that they are for comes after this."""
        later, self._later_styles = self._later_styles, ()
        for sheet in later:
            self.stylesheet.read(sheet)
        if later:
            self.stylesheet.parse()  # else the rules that are in use are looked at as before

    def _load_screen_css(self, screen: Screen[Any]) -> None:
        self.read_later_styles()
        super()._load_screen_css(screen)

    def copy_to_clipboard(self, text: str) -> None:
        # an input of Textual's copies nothing too, which would empty the person's clipboard
        if text:
            super().copy_to_clipboard(text)

    def repaint(self) -> None:
        """Draw everything anew."""
        if self.is_running:
            for screen in self.screen_stack:
                for widget in screen.walk_children(Widget, with_self=True):
                    widget.refresh()
            self._forget_screens()

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._resumed)

    def _resumed(self, _: Any) -> None:
        """The screen that was there before a suspend is gone."""
        self.screen.refresh(layout=True)

    # --- screens that are shown again

    def keep_screen(self, screen: Screen[Any]) -> None:
        """Keep a screen when it is left, for `kept_screen`: until things look different."""
        self.install_screen(screen, f"kept-{id(screen)}")
        self._kept.append(screen)

    def kept_screen(self, kind: type[Kept]) -> Kept | None:
        """The kept screen of a kind; None while there is none that is not shown."""
        free = (screen for screen in self._kept if screen not in self.screen_stack)
        return next((screen for screen in free if isinstance(screen, kind)), None)

    def _forget_screens(self) -> None:
        """Those that are not shown do not hear of it; one that is shown takes the new looks and stays."""
        shown = []
        for screen in self._kept:
            try:
                self.uninstall_screen(screen)
            except ScreenStackError:
                shown.append(screen)
            else:
                screen.remove()
        self._kept[:] = shown

    # --- a slow terminal

    def hold_frames(self) -> None:
        """The terminal is behind: what changes is collected and drawn when it has caught up."""
        if not self._holds_frames:
            self._holds_frames = True
            self._begin_batch()

    def release_frames(self) -> None:
        """It has caught up: draw what has changed since, in one frame."""
        if not self._holds_frames:
            return
        self._holds_frames = False
        self._end_batch()
        if self._batch_count or not self.is_running:
            return
        if self._owes_frame:
            self._owes_frame = False
            self.screen.refresh()
        self.screen.check_idle()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        # a frame that was made all the same, of a screen that was just opened or laid out, is made up for
        self._owes_frame = self._owes_frame or (self._holds_frames and renderable is not None)
        super()._display(screen, renderable)

    # --- a lost terminal

    def terminal_lost(self) -> None:
        """Nothing can be read or written any more: end."""
        os._exit(128 + signal.SIGHUP)

    # --- an error of the program's own

    def _fatal_error(self) -> None:
        """Leave, and say where it happened: without the values of variables, and without keys."""
        import traceback

        from rich.text import Text

        from tui_agent import literal
        from tui_agent.settings import secrets

        self.bell()
        said = literal.visible(secrets.redact(traceback.format_exc()))
        self._exit_renderables.append(Text(said, no_wrap=True, overflow="ignore"))
        self._close_messages_no_wait()
