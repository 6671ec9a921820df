"""The first line: who is asked, how full the context is, what is happening.

`StatusLine` takes facts through its methods and draws one row. When the row is too narrow it gives up, in this
order, the name, the path, the bar, the cost, the window size, the usual mode, the share, the model, another mode, and
what the state says besides itself (the stage of a compaction, that it is held); never the number, the state or the demo
model's label. A click on the mode goes to the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace
from textual.content import Content

from tui_agent import literal
from tui_agent.ui.cells import cut
from tui_agent.ui.still import Still
from tui_agent.ui.words import number, window

if TYPE_CHECKING:
    from textual.app import RenderResult
    from textual.timer import Timer

Mark = Literal["exact", "reconciled", "estimated"]

_BAR = 10
"""Cells of the bar that shows how full the window is."""
_TICK = 1.0
"""Seconds between two redraws while something runs."""
_ROOMY = 100
"""Columns from which the bar and the path are shown at all."""
_SILENT = 10.0
"""Seconds without a byte of the model after which the line says so."""
_NAME = 24
"""Cells that a session's name may take."""
_STAGE = 32
"""Cells that the stage of a compaction may take."""
_HELD = "auto-compaction held: /compact"
_MODES = {"auto-edit": "bold $text-warning", "plan": "bold $text-accent"}
"""Modes that are not the usual one, and their styles."""


def weight(total: int, exact: int, pending: int, mark: Mark) -> str:
    """The size of the context: the exact number and what is pending on it, or one marked number."""
    if mark == "exact" and not pending:
        return number(total)
    if exact > 0 and mark != "reconciled":
        sign = "+" if pending >= 0 else "-"
        return f"{number(exact)} ~{sign}{abs(pending):,}"
    return number(total, mark if mark != "exact" else "estimated")


class Facts(Struct, frozen=True):
    """What the line says. Token figures are None until they are known."""

    name: str = ""
    path: str = ""
    model: str = ""
    demo: bool = False
    mode: str = "ask"
    total: int | None = None
    exact: int = 0
    pending: int = 0
    mark: Mark = "estimated"
    window: int = 0
    guessed: bool = False
    """Nobody has told that window."""
    cost: str = ""
    """What the session came to: how much of it the provider's cache served, and money where there is a price."""
    state: str = "starting"
    since: float | None = None
    waiting: int = 0
    asking: int = 0
    """Cards in the chat that wait; nothing stands still for them."""
    trouble: str = ""
    heard: float | None = None
    """When the last bytes of an open stream came."""
    compacting: float | None = None
    """Since when the history is being summarised; `stage` is what is done for it now."""
    stage: str = ""
    ahead: bool = False
    """Nothing waits for that summary yet."""
    held: bool = False
    """Compaction by itself is held."""


Part = tuple[str, str]
"""A text and its style."""
_LAST = ("state", "besides")
"""The parts at the right edge."""


def line(facts: Facts, width: int, now: float) -> Content:
    """The row for `facts`, exactly `width` cells wide unless even what is never given up is wider."""
    left: dict[str, Part] = {}
    if facts.name:
        left["name"] = (cut(Content(literal.one_line(facts.name, _NAME)), _NAME).plain, "bold")
    if facts.path and width >= _ROOMY:
        left["path"] = (literal.one_line(facts.path, 40), "$text-muted")
    if facts.model:
        left["model"] = (literal.one_line(facts.model, 48), "$text-warning" if facts.demo else "$text-accent")
    if facts.mode:
        left["mode"] = (facts.mode, f"{_MODES.get(facts.mode, '$text-muted')} @click=screen.next_mode")
    right: dict[str, Part] = {}
    if facts.total is not None:
        right["number"] = (weight(facts.total, facts.exact, facts.pending, facts.mark), "bold")
        if facts.window > 0:
            share = facts.total / facts.window
            right["window"] = (f"/ {window(facts.window, guessed=facts.guessed)}", "$text-muted")
            right["percent"] = (f"{share:.0%}", _share_style(share))
            if width >= _ROOMY:
                right["bar"] = (_bar(share), _share_style(share))
    if facts.cost:
        right["cost"] = (facts.cost, "$text-muted")
    right["state"] = _state(facts, now)
    if besides := _besides(facts):
        right["besides"] = besides
    kept = "" if facts.demo else "model"
    usual, other = ("mode", "") if facts.mode not in _MODES else ("", "mode")
    for part in ("", "name", "path", "bar", "cost", "window", usual, "percent", kept, other, "besides"):
        left.pop(part, None)
        right.pop(part, None)
        if _length(left) + _length(right) + 4 <= width:
            break
    gap = max(2, width - _length(left) - _length(right) - 2)
    return Content.assemble(" ", *_spaced(left.values(), "  "), " " * gap, *_joined(right), " ")


def _state(facts: Facts, now: float) -> Part:
    if facts.trouble:
        return literal.one_line(facts.trouble, 30), "bold $text-error"
    if facts.waiting or (facts.asking and not _is_at_work(facts)):
        return _to_answer(facts)
    if (since := facts.compacting) is not None and _compacts(facts):
        doing = "preparing a summary" if facts.ahead else "compacting"
        return f"{doing} {_seconds(now - since)}", "$text-accent"
    if facts.since is not None and facts.heard is not None and now - facts.heard >= _SILENT:
        return f"no bytes for {_seconds(now - facts.heard)}", "$text-warning"
    if facts.since is not None:
        return f"{facts.state} {_seconds(now - facts.since)}", "$text-accent"
    if facts.held:
        return _HELD, "$text-warning"
    return facts.state, "$text-muted"


def _to_answer(facts: Facts) -> Part:
    return f"{facts.waiting + facts.asking} to answer", "bold $text-warning"


def _is_at_work(facts: Facts) -> bool:
    return facts.since is not None or facts.compacting is not None


def _compacts(facts: Facts) -> bool:
    """Is a compaction the state? One that nothing waits for is not while something else runs."""
    return facts.compacting is not None and not (facts.ahead and facts.since is not None)


def _besides(facts: Facts) -> Part | None:
    """What is said beside the state while there is room for it."""
    if facts.trouble or facts.waiting:
        return None
    if facts.asking and _is_at_work(facts):
        return _to_answer(facts)
    if _compacts(facts):
        stage = literal.one_line(facts.stage, _STAGE)
        return (stage, "$text-muted") if stage else None
    return (_HELD, "$text-warning") if facts.held and facts.since is not None else None


def _seconds(value: float) -> str:
    whole = max(0, int(value))
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60:02} s"


def _share_style(share: float) -> str:
    return "$text-error" if share >= 0.85 else "$text-warning" if share >= 0.5 else "$text-muted"


def _bar(share: float) -> str:
    full = min(_BAR, max(0, round(share * _BAR)))
    return "[" + "=" * full + "-" * (_BAR - full) + "]"


def _joined(parts: dict[str, Part]) -> Iterable[Part | str]:
    """The figures with one space between them, the state three spaces after, two more before what stands beside it."""
    figures = [part for name, part in parts.items() if name not in _LAST]
    yield from _spaced(figures, " ")
    if figures:
        yield "   "
    yield from _spaced((parts[name] for name in _LAST if name in parts), "  ")


def _spaced(parts: Iterable[Part], gap: str) -> Iterable[Part | str]:
    for index, part in enumerate(parts):
        if index:
            yield gap
        yield part


def _length(parts: dict[str, Part]) -> int:
    gap = 2 if "state" not in parts else 1
    cells = sum(Content(text).cell_length for text, _ in parts.values()) + int("besides" in parts)
    figures = any(name not in _LAST for name in parts)
    return cells + gap * max(0, len(parts) - 1) + (2 if "state" in parts and figures else 0)


class StatusLine(Still):
    """The status line. It redraws when a fact changes and, while something runs, once a second."""

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(id=id)
        self.auto_links = False  # the mode is a sign, not a link that is underlined
        self.facts = Facts()
        self._clock = clock
        self._heard: float | None = None
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        self._timer = self.set_interval(_TICK, self.refresh, pause=True)

    def render(self) -> RenderResult:
        return line(replace(self.facts, heard=self._heard), self.size.width, self._clock())

    def tell(self, **changes: object) -> None:
        """Change facts (the names are those of `Facts`) and redraw if something differs."""
        facts = replace(self.facts, **changes)
        if facts != self.facts:
            self.facts = facts
            self.refresh()
        if self._timer is not None:
            (self._timer.resume if self._ticks else self._timer.pause)()

    @property
    def _ticks(self) -> bool:
        runs = self.facts.since is not None or self.facts.compacting is not None
        return runs and not self.facts.waiting and not self.facts.trouble

    def begin(self, state: str, *, streams: bool = False) -> None:
        """Something runs from now on: its name and the seconds since are shown.

        With `streams` it is the model, of whom something was just heard; if nothing more comes, that is said.
        """
        self._heard = self._clock() if streams else None
        if self.facts.state != state or self.facts.since is None:
            self.tell(state=state, since=self._clock())

    def rest(self, state: str = "ready") -> None:
        """Nothing runs."""
        self.tell(state=state, since=None)

    def compact(self, *, ahead: bool = False) -> None:
        """The history is being summarised from now on, for what waits for it or `ahead` of time."""
        self.tell(compacting=self._clock(), stage="", ahead=ahead)

    def compacted(self) -> None:
        """It is not any more."""
        self.tell(compacting=None, stage="", ahead=False)
