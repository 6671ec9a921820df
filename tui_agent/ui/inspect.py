"""The inspector alone, over any context.jsonl: nothing is written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from tui_agent import literal
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import Settings
from tui_agent.ui import footer
from tui_agent.ui.chat.copying import SAID_S, clip
from tui_agent.ui.hosted import HostedApp
from tui_agent.ui.inspector.panel import Panel
from tui_agent.ui.inspector.tab import Around
from tui_agent.ui.looks import AUTO, Looks, style_sheets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path, PurePath

    from textual.app import ComposeResult

    from tui_agent.agent.requests import Requests
    from tui_agent.context import Context
    from tui_agent.ui.answers import GroundTold


class LogScreen(Screen[None]):
    """A line that says which file, the inspector, the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "app.quit", "Leave", show=False),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._head = Static(id="log-head", markup=False)
        self._keys = footer.KeyLine(id="keys")
        self.panel: Panel | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._keys

    def on_mount(self) -> None:
        self.head("reading")
        self._show_keys()

    def head(self, state: str, style: str = "$text-muted") -> None:
        """Say what state the reading is in."""
        self._head.update(
            Content.assemble(
                " ", (literal.one_line(str(self._path)), "bold"), "  ", (literal.one_line(state), style)
            )
        )

    async def fail(self, error: BaseException) -> None:
        """The log cannot be read: say why."""
        self.head("not read", "bold $text-error")
        text = Content.styled(literal.visible(str(error)), "$text-error")
        await self.mount(Static(text, id="log-error", markup=False), after=self._head)

    async def show(self, context: Context, requests: Requests) -> None:
        """The log is read."""
        trace = context.path.with_name("events.jsonl")
        around = Around(trace=trace if trace.exists() else None, requests=requests)
        self.panel = Panel(context, lambda: around, id="panel")
        await self.mount(self.panel, after=self._head)
        self.panel.enter()
        damaged = len(context.damage)
        lines = "line" if damaged == 1 else "lines"
        self.head("read-only" + (f", {damaged} damaged {lines}" if damaged else ""))

    def on_panel_copy_wanted(self, event: Panel.CopyWanted) -> None:
        event.stop()
        self.run_worker(self._copy(event.text), group="copy", exit_on_error=False)

    async def _copy(self, text: str) -> None:
        self.notify(await clip(self.app, text), markup=False, timeout=SAID_S)

    def on_panel_keys_changed(self, event: Panel.KeysChanged) -> None:
        event.stop()
        self._show_keys()

    async def action_in_panel(self, name: str) -> None:
        """An action of the inspector, clicked in the footer."""
        if self.panel is not None:
            await self.app.run_action(name, self.panel if name.startswith("turn") else self.panel.tab)

    def _show_keys(self) -> None:
        keys = self.panel.offered() if self.panel is not None else []
        entries = [
            footer.Entry(key.key, key.words, f"screen.in_panel('{key.action}')", rank=key.rank)
            for key in keys
        ]
        self._keys.show([*entries, footer.Entry("q", "leave", "app.quit", right=True)])


class LogApp(HostedApp):
    """The program of `tui-agent inspect`."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        path: Path,
        css: list[str | PurePath],
        *,
        read: Callable[[Path], Awaitable[tuple[Context, Requests]]],
        settings: Settings | None = None,
    ) -> None:
        settings = settings or Settings()
        super().__init__(css, keyboard=settings.terminal.keyboard)
        self._path = path
        self._read = read
        self._log_screen = LogScreen(path)
        self._looks = Looks(self, settings)
        self.asks_ground = settings.theme == AUTO

    def on_ground_told(self, event: GroundTold) -> None:
        self._looks.ground_told(dark=event.dark)

    def get_default_screen(self) -> Screen[Any]:
        return self._log_screen

    def on_mount(self) -> None:
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.run_worker(self._reading(), name="read", exit_on_error=False)

    async def _reading(self) -> None:
        await self._log_screen.show(*await self._read(self._path))

    async def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """What went wrong is shown."""
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            await self._log_screen.fail(event.worker.error)


async def read_with_engine(path: Path) -> tuple[Context, Requests]:
    """Open a log to be read, and the requests that it tells of.

    Raises:
        FileNotFoundError: there is none.
        Exception: what the log's own errors are; they say what is wrong with the file.
    """
    import importlib

    log = path / "context.jsonl" if path.is_dir() else path
    if not log.exists():
        raise FileNotFoundError(f"{log}: there is no such file")
    wiring = await asyncio.to_thread(importlib.import_module, "tui_agent.wiring")
    context: Context = await wiring.open_log(log)
    return context, wiring.requests_in(context)


def run(path: Path) -> int:
    """Show any context.jsonl, or the one in a folder, without writing anything; returns the exit code."""
    try:
        settings = load()
    except SettingsError:
        settings = None  # a log can be looked at while they are mended
    app = LogApp(path, style_sheets(), read=read_with_engine, settings=settings)
    code = app.run()
    return code if code is not None else (app.return_code or 0)
