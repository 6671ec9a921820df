"""The side of the Request tab that shows: which request is built, what is listed of it, how it follows the session."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from textual import work
from textual.content import Content

from tui_agent.ui.cells import GAP
from tui_agent.ui.inspector import request_said
from tui_agent.ui.inspector.folding import Folding
from tui_agent.ui.inspector.request_rows import Differing, History, Listed, Said
from tui_agent.ui.inspector.request_text import Opened
from tui_agent.ui.inspector.request_tree import Tree
from tui_agent.ui.inspector.tab import FOLLOW, Around, Tab
from tui_agent.ui.still import Text

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer
    from textual.widget import Widget

    from tui_agent.agent.requests import Requests
    from tui_agent.context import Context
    from tui_agent.ui.inspector.grouping import Place
    from tui_agent.ui.rows import Cell, Column, Rows

_REST = 12
"""After building nothing is built again for so many times as long as it took."""
_SIGNS = GAP + 3
"""Columns up to the sign in front of a kind."""
_BUILDING = "Building the request ..."
_MOVES: dict[str, Callable[[Rows], None]] = {
    "up": lambda rows: rows.action_step(-1),
    "down": lambda rows: rows.action_step(1),
    "pageup": lambda rows: rows.action_page(-1),
    "pagedown": lambda rows: rows.action_page(1),
    "home": lambda rows: rows.action_edge(-1),
    "end": lambda rows: rows.action_edge(1),
}
"""What the keys of the list do."""
_LARGEST = 2_000_000
"""Tokens above which a request is built only if that is asked for: it takes long, and room in memory."""


class Requested(Tab):
    """The tab as far as it shows something. `_place` says which request, `_view` what is listed."""

    OF_LOG = True

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        self._view: Listed = Said()
        rows = Folding(
            model=self.cells,
            signs=_SIGNS,
            key=lambda index: self._view.key(index),
            text=lambda index: self._view.words(index),
            empty=_BUILDING,
        )
        super().__init__(context, rows, around)
        self._which = Text(classes="which", markup=False)
        self._place: int | None = None
        """Which request is shown, counted from the oldest; None is the next one."""
        self._many = 0
        self._tree: Tree | None = None
        self._fault = ""
        """Why there is none."""
        self._asked_for: int | None = None
        """A very large request that is to be built all the same."""
        self._turned: set[Place] = set()
        """Sections that are folded and groups that are not."""
        self._marked: list[int | None] = []
        """The request that is marked for a diff, if one is."""
        self._counted: tuple[int | None, str] = (None, "")
        """What the endpoint said of which request, in words."""
        self._whole = False
        """The open text is that of the whole request."""
        self._is_coming = False
        """Another request was asked for and is not shown yet."""
        self._later: list[Callable[[], object]] = []
        """What was pressed since then and acts on a row: it is done with the rows of that request, in its order."""
        self._again: Timer | None = None
        self._not_before = 0.0

    def compose(self) -> ComposeResult:
        yield self._which
        yield from super().compose()

    def detail(self) -> Widget:
        return Opened()

    @property
    def _opened(self) -> Opened:
        return self.query_one(Opened)

    @property
    def _requests(self) -> Requests | None:
        return self.around.requests

    def columns(self) -> Sequence[Column]:
        return self._view.columns(narrow=self.narrow)

    def __len__(self) -> int:
        return len(self._view)

    def cells(self, index: int) -> Sequence[Cell]:
        return self._view.cells(index)

    # --- building, and how it follows

    def load(self) -> None:
        self._not_before = 0.0
        self._build()

    def follow(self) -> None:
        """The log grew: build it again when it is time."""
        self._sums()
        wait = self._not_before - perf_counter()
        if wait <= 0:
            self._build()
        elif self._again is None and wait < math.inf:
            self._again = self.set_timer(max(wait, FOLLOW), self._build)

    def heard(self) -> None:
        """The session said something: of the model, say, or of its limits."""
        if self._drawn and self._as_read != self._state:
            self.soon(self._follow)

    # --- what is pressed while another request is on its way

    def _waits(self, act: Callable[[], object], *, on_rows: bool = True) -> bool:
        """Put off what acts on the rows, and what is pressed behind that, until they are those of the request that
        was asked for; False if there is nothing to wait for.
        """
        waits = bool(self._later) or (on_rows and self._is_coming and isinstance(self._view, Tree | Said))
        if waits:
            self._later.append(act)
        return waits

    def on_key(self, event: events.Key) -> None:
        """Behind a key that waits the cursor moves in its turn."""
        if self._later and (move := _MOVES.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            self._later.append(partial(move, self.rows))

    def _came(self) -> None:
        """It is shown, or cannot be: then nothing is done with what stands in its place."""
        self._is_coming = False
        later, self._later = self._later, []
        while later and not self._is_coming and isinstance(self._view, Tree):
            later.pop(0)()
        if self._is_coming:
            self._later = later

    @work(group="build", exclusive=True, exit_on_error=False)
    async def _build(self) -> None:
        if self._again is not None:
            self._again.stop()
            self._again = None
        requests = self._requests
        if requests is None:
            self._came()
            return
        began, seen = perf_counter(), self._state
        self._not_before = math.inf
        self._many = await requests.follow()
        if self._place is None and not requests.has_next:
            self._place = self._many - 1 if self._many else None
        if self._place is None and not requests.has_next:
            self._nothing("No request was sent yet.")
            return
        if self._place != self._asked_for and (size := await self._too_large(self._place)) is not None:
            self._nothing(f"It holds {size:,} tokens: Enter builds it all the same.")
            return
        if self._place is None or self._is_stale:
            built = await requests.look(self._place)
            self._tree = await asyncio.to_thread(Tree, built)
        self._fault = ""
        self._not_before = perf_counter() + _REST * (perf_counter() - began)
        self._put()
        self._came()
        if self._place is None and self._state != seen:
            self.follow()

    async def _too_large(self, place: int | None) -> int | None:
        """The tokens of a request that was sent, if they are so many that it is not built unasked."""
        requests = self._requests
        if place is None or requests is None:
            return None
        size = (await asyncio.to_thread(requests.__getitem__, place)).total_input
        return size if size > _LARGEST else None

    @property
    def _is_stale(self) -> bool:
        """The request that is shown is another one than the tree's."""
        sent = self._tree.built.sent if self._tree is not None else None
        return (None if sent is None else sent.n - 1) != self._place

    def _nothing(self, why: str) -> None:
        self._not_before, self._tree, self._fault = 0.0, None, ""
        self.rows.empty = why
        self._show(Said([Content(why)] if self._many else ()))
        self._came()

    def failed(self, error: BaseException, group: str) -> None:
        """It cannot be built: say the numbers and the ways out. What fails otherwise is said under the list."""
        if group == "count":
            self._counted = (self._place, f"not counted by the endpoint: {error}")
            self._tell()
            return
        if group != "build":
            super().failed(error, group)
            return
        self._not_before = 0.0
        self._tree = None
        self._fault, self.rows.empty = str(error), ""
        self._show(Said(request_said.ways_out(getattr(error, "ways", ()))))
        self._came()

    # --- what is listed

    def _put(self) -> None:
        """Show what was built; a list or a diff that is open stays."""
        if isinstance(self._view, History):
            self._list()
        elif isinstance(self._view, Differing):
            self._sums()
            self._tell()
        elif self._tree is not None:
            self._lay_out()

    def _show(self, view: Listed, at: int | None = None) -> None:
        """Show these rows; with the cursor on one of them, or on what it is on."""
        self._view = view
        self.rows.show(self.cells, len(view), columns=self.columns())
        if at is not None and at >= 0:
            self.rows.move(at)
        self._tell()
        self._sums()

    def _lay_out(self, at: Place | None = None) -> None:
        if self._tree is not None:
            self._tree.lay_out(self._turned, everything=bool(self._filter.value) and not self.detail_open)
            first = None if isinstance(self._view, Tree) else 0
            self._show(self._tree, first if at is None else self._tree.find(at))

    def _list(self, *, first: bool = False) -> None:
        """List the requests; at `first` with the cursor on the one that is shown."""
        requests = self._requests
        if requests is not None:
            made = History(self._many, requests.__getitem__, has_next=requests.has_next, marked=self._marked)
            self._show(made, made.row(self._place) if first else None)

    def _go(self, place: int | None) -> None:
        """Show another request, as a tree."""
        self._place, self.rows.empty, self._is_coming = place, _BUILDING, True
        if not isinstance(self._view, Tree):
            self._show(Said())
        self.load()

    def _tell(self) -> None:
        """Which request it is."""
        tree, counted = self._tree, self._counted[1] if self._counted[0] == self._place else ""
        marked = self._place in self._marked
        lines = [request_said.title(self._view, tree, self._many, fault=self._fault, marked=marked)]
        if tree is not None and self._view is tree:
            lines += request_said.figures(tree.built, counted)
            if self.narrow and tree.has_cached:
                lines.append(request_said.legend())
        self._which.update(Content("\n").join(lines))

    def _sums(self) -> None:
        view, tree = self._view, self._tree
        if isinstance(view, Differing):
            self.say(request_said.difference(view.found))
        elif isinstance(view, History):
            self.say(request_said.many(self._many))
        elif tree is None:
            self.say(Content(""))
        else:
            now = self.context.weigh().total + self.around.lacking if tree.built.sent is None else None
            self.say(request_said.sums(tree, now))

    def on_resize(self) -> None:
        super().on_resize()
        self._tell()
