"""The exact request: the next one, or any that was sent, as a tree of what it is made of and what was left out.

    RequestTab
      .which    which request it is, and its figures
      Rows      the tree; or the requests of the session (`l`), or what differs between two of them (`d`)
      Filter    words to filter the rows by, or to look for in the text that is open
      Opened    the exact text of a row, or the whole request as JSON (`j`)
      .sum      sections = the number on the status line

Requests are built in a worker and in threads. The next one is built again as the log grows, at most four times a second
and less often where that takes long; the row under the cursor stays what it is.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.exact import Exact
from tui_agent.ui.inspector.request_rows import Differing, History, Listed, Place, Said, Tree, percent
from tui_agent.ui.inspector.request_text import change_text, item_text, request_json
from tui_agent.ui.inspector.tab import FOLLOW, Around, Key, Tab
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.still import Text

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer
    from textual.widget import Widget

    from tui_agent.agent.requests import Built, Requests
    from tui_agent.context import Context
    from tui_agent.prompt.difference import What

_REST = 12
"""After building nothing is built again for so many times as long as it took."""
_WAYS = "what makes room"


class Opened(Vertical):
    """A text: what it is of and how a search in it stands, and the text."""

    DEFAULT_CSS = """
    Opened .facts { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.facts = Text(classes="facts", markup=False)
        self.exact = Exact()
        self._title = ""

    def compose(self) -> ComposeResult:
        yield self.facts
        yield self.exact

    def show(self, title: str, make: Callable[[], str], *, top: bool) -> None:
        """Show what `make` gives."""
        self._title = title
        self.tell()
        self.exact.show(make, top=top)

    def tell(self) -> None:
        """Say what it shows, and how the search stands."""
        found = self.exact.said
        title = (literal.one_line(self._title, 80), "bold")
        self.facts.update(Content.assemble(title, f"  {found}" if found else ""), layout=False)

    def on_exact_looked(self, event: Exact.Looked) -> None:
        event.stop()
        self.tell()


class RequestTab(Tab):
    """The request. Enter opens a row's text or unfolds it, Space folds; `o` and `n` step to an older or newer request.

    `l` lists all requests, `d` shows what differs from the one before or from the one marked with `m`, `j` shows all
    of it as JSON, `x` has the endpoint count it, `r` leads to the record of the row.
    """

    NAME = "Request"
    SHORT = "Sent"
    OF_LOG = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "fold", show=False),
        Binding("o", "older", show=False),
        Binding("n", "newer", show=False),
        Binding("l", "list", show=False),
        Binding("m", "mark", show=False),
        Binding("d", "differ", show=False),
        Binding("j", "json", show=False),
        Binding("x", "count", show=False),
        Binding("r", "record", show=False),
    ]

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        self._view: Listed = Said()
        rows = Rows(
            self.cells,
            key=lambda index: self._view.key(index),
            text=lambda index: self._view.words(index),
            empty="Building the request ...",
        )
        super().__init__(context, rows, around)
        self._which = Text(classes="which", markup=False)
        self._place: int | None = None
        """Which request is shown, counted from the oldest; None is the next one."""
        self._many = 0
        self._tree: Tree | None = None
        self._turned: set[Place] = set()
        """Sections that are folded and groups that are not."""
        self._marked: list[int | None] = []
        """The request that is marked for a diff, if one is."""
        self._counted: tuple[int | None, str] = (None, "")
        """What the endpoint said of which request, in words."""
        self._whole = False
        """The open text is that of the whole request."""
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

    @work(group="build", exclusive=True, exit_on_error=False)
    async def _build(self) -> None:
        if self._again is not None:
            self._again.stop()
            self._again = None
        requests = self._requests
        if requests is None:
            return
        began, seen = perf_counter(), self._state
        self._not_before = math.inf
        self._many = await requests.follow()
        if self._place is None and not requests.has_next:
            self._place = self._many - 1 if self._many else None
        if self._place is None and not requests.has_next:
            self._nothing("No request was sent yet.")
            return
        if self._tree is None or self._place is None or self._tree.built.sent is None or self._stale:
            built = await requests.build(self._place)
            self._tree = await asyncio.to_thread(Tree, built)
        self._not_before = perf_counter() + _REST * (perf_counter() - began)
        self._put()
        if self._place is None and self._state != seen:
            self.follow()

    @property
    def _stale(self) -> bool:
        """The request that is shown is another one than the tree's."""
        sent = self._tree.built.sent if self._tree is not None else None
        return (None if sent is None else sent.n - 1) != self._place

    def _nothing(self, why: str) -> None:
        self._not_before = 0.0
        self.rows.empty = why
        self._tree = None
        self._show(Said())

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
        lines = [Content.styled(literal.one_line(str(error)), "$text-error")]
        if ways := getattr(error, "ways", ()):
            lines.append(Content.styled(_WAYS, "bold $text-primary"))
            lines += [Content(f"  {literal.one_line(str(way))}") for way in ways]
        self._show(Said(lines))

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
            first = 0 if self._view is not self._tree and not isinstance(self._view, Tree) else None
            self._show(self._tree, self._tree.find(at) if at is not None else first)

    def _list(self, at: int | None = None) -> None:
        requests = self._requests
        if requests is not None:
            made = History(self._many, requests.__getitem__, has_next=requests.has_next, marked=self._marked)
            self._show(made, at)

    def _tell(self) -> None:
        """Which request it is."""
        self._which.update(Content("\n").join([*self._title(), *self._figures()]))

    def _title(self) -> list[Content]:
        if isinstance(self._view, History):
            return [Content.styled("every request of this session", "bold")]
        if isinstance(self._view, Differing):
            names = [_name(tree.built) for tree in (self._view.before, self._view.after)]
            return [Content.assemble(("what differs: ", "bold"), f"{names[0]} -> {names[1]}")]
        if self._tree is None:
            return [Content.styled("the request", "bold")]
        built = self._tree.built
        sent = built.sent
        parts = [] if sent is None else [f"of {self._many:,}"]
        if sent is not None and sent.turn is not None:
            parts.append(f"turn {sent.turn}")
        parts += [words.clock(sent.at)] if sent is not None else []
        marked = ("  *marked", "$text-warning") if self._place in self._marked else ""
        said = "  ".join([*filter(None, parts), literal.one_line(built.request.model, 40)])
        return [Content.assemble((_name(built), "bold"), f"  {said}", marked)]

    def _figures(self) -> list[Content]:
        if self._tree is None or self._view is not self._tree:
            return []
        manifest, sent = self._tree.built.manifest, self._tree.built.sent
        if sent is None:
            total = words.number(manifest.total.count, manifest.total.mark)
            of = f" of {manifest.window:,}" if manifest.window else ""
            said = f"{total}{of}, {manifest.reserve:,} kept for the answer"
        else:
            foreseen = "" if sent.predicted is None else f" ({sent.predicted:,} foreseen)"
            said = (
                f"cache {percent(sent.cache_read, sent.total_input)}: {sent.cache_read:,} read{foreseen}, "
                f"{sent.cache_write:,} written, {sent.input:,} plain; {sent.output:,} answered"
            )
        lines = [Content.styled(said, "$text-muted")]
        place, counted = self._counted
        if counted and place == self._place:
            lines.append(Content.styled(literal.one_line(counted), "$text-secondary"))
        return lines

    def _sums(self) -> None:
        view, tree = self._view, self._tree
        if isinstance(view, Differing):
            self.say(_difference(view))
        elif isinstance(view, History):
            self.say(Content(f"{self._many:,} request{'' if self._many == 1 else 's'}, newest first"))
        elif tree is None:
            self.say(Content(""))
        else:
            total = tree.total.count
            parts = [f"{tokens.count:+,} {name}" for name, tokens in tree.sums()]
            if tree.built.sent is None:
                now = self.context.weigh().total + self.around.lacking
                parts += [f"{now - total:+,} since"] if now != total else []
                total = now
            self.say(Content(f"{' '.join(parts).lstrip('+')} = {words.number(total, tree.total.mark)}"))

    def on_resize(self) -> None:
        super().on_resize()
        self._tell()

    # --- the text of a row

    def open(self, index: int) -> None:
        view, opened = self._view, self._opened
        if self._whole and self._tree is not None:
            request = self._tree.built.request
            opened.show(f"{_name(self._tree.built)} as JSON", lambda: request_json(request), top=True)
        elif isinstance(view, Tree) and (item := view.item(index)) is not None:
            opened.show(f"{item.section}: {item.name}", lambda: item_text(view, item), top=True)
        elif isinstance(view, Differing):
            change = view.found.changes[index]
            opened.show(f"{change.what}: {change.item.name}", lambda: change_text(view, index), top=True)
        else:
            opened.show("", lambda: "", top=True)

    def chosen(self, index: int) -> None:
        """Enter on a row: open its text, unfold it, or show the request that it stands for."""
        view = self._view
        if isinstance(view, History):
            self._go(view.place(index))
        elif isinstance(view, Tree) and view.item(index) is None:
            self._turn(view.head(index))
        elif not isinstance(view, Said):
            self._whole = False
            super().chosen(index)

    def action_json(self) -> None:
        """Show the whole request as JSON, or close it again."""
        if self._tree is not None:
            was, self._whole = self._whole and self.detail_open, True
            if was or not self.detail_open:
                super().chosen(max(0, self.rows.cursor))
            else:
                self.open(self.rows.cursor)
            self._whole = not was

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`y` is a letter as any other while no text is open."""
        return action != "copy" or self.detail_open

    def action_copy(self) -> None:
        """Copy the exact text that is open."""
        self.post_message(self.CopyWanted(self._opened.exact.text))

    # --- folding

    def _turn(self, place: Place) -> None:
        self._turned ^= {place}
        self._lay_out(place)

    def action_fold(self) -> None:
        """Fold what the row belongs to, or unfold it."""
        if self._view is self._tree and self._tree is not None and self.rows.cursor >= 0:
            self._turn(self._tree.head(self.rows.cursor))

    # --- which request

    def _go(self, place: int | None) -> None:
        self._place = place
        if not isinstance(self._view, Tree):
            self._view = Said()
        self.rows.empty = "Building the request ..."
        self.load()

    def action_older(self) -> None:
        """The request before this one."""
        if self._many and self._place != 0:
            self._go(self._many - 1 if self._place is None else self._place - 1)

    def action_newer(self) -> None:
        """The request after this one; behind the last that was sent comes the next one."""
        requests = self._requests
        if self._place is not None and requests is not None:
            behind = self._place + 1
            if behind < self._many or requests.has_next:
                self._go(behind if behind < self._many else None)

    def action_list(self) -> None:
        """List every request of the session, or leave the list."""
        if isinstance(self._view, History):
            self._go(self._place)
            return
        requests = self._requests
        if requests is not None:
            self._close()
            at = History(self._many, requests.__getitem__, has_next=requests.has_next)
            self._list(at.row(self._place))

    def _close(self) -> None:
        if self.detail_open:
            super().action_close_detail()

    def action_mark(self) -> None:
        """Mark the request for a diff with another one, or take the mark back."""
        view = self._view
        place = (
            view.place(self.rows.cursor)
            if isinstance(view, History) and self.rows.cursor >= 0
            else self._place
        )
        self._marked = [] if place in self._marked else [place]
        if isinstance(view, History):
            self._list()
        self._tell()
        self.post_message(self.KeysChanged())

    # --- what differs

    def action_differ(self) -> None:
        """Show what differs between the marked request, or the one before, and this one; or leave that."""
        view = self._view
        if isinstance(view, Differing):
            self._go(self._place)
            return
        if isinstance(view, History) and self.rows.cursor >= 0:
            self._place = view.place(self.rows.cursor)
        here = self._place
        other = (
            self._marked[0] if self._marked else self._many - 1 if self._place is None else self._place - 1
        )
        if not self._marked and (not self._many or self._place == 0):
            self.say(Content.styled("there is no request before it; m marks another one", "$text-warning"))
        elif other == here:
            self.say(Content.styled("this is the marked one: step to another, then d", "$text-warning"))
        else:
            self._close()
            self._compare(*sorted((other, here), key=lambda place: math.inf if place is None else place))

    @work(group="differ", exclusive=True, exit_on_error=False)
    async def _compare(self, before: int | None, after: int | None) -> None:
        requests = self._requests
        assert requests is not None
        self.say(Content("Comparing ..."))
        first, second = await requests.build(before), await requests.build(after)
        found = await asyncio.to_thread(requests.between, first, second)
        trees = await asyncio.to_thread(lambda: (Tree(first), Tree(second)))
        self.rows.empty = "They are the same."
        self._show(Differing(found, *trees), 0)

    # --- counting

    def action_count(self) -> None:
        """Have the endpoint count the request."""
        if self._tree is not None:
            self._counted = (self._place, "the endpoint counts ...")
            self._tell()
            self._count(self._tree)

    @work(group="count", exclusive=True, exit_on_error=False)
    async def _count(self, tree: Tree) -> None:
        requests = self._requests
        assert requests is not None
        theirs, ours = await requests.count(tree.built.request), tree.total.count
        off = f"{(ours - theirs) / theirs:+.1%}" if theirs else ""
        said = f"the endpoint counts {theirs:,}; here {words.number(ours, tree.total.mark)}, {off}"
        sent = tree.built.sent
        self._counted = (None if sent is None else sent.n - 1, said)
        self._tell()

    # --- its record

    def action_record(self) -> None:
        """Go to the record of the row."""
        record = self._record
        if not record:
            return
        try:
            self.context.record(record)
        except ValueError:
            said = "its record is not in the log any more: it went with a rewrite (Backups)"
            self.say(Content.styled(said, "$text-warning"))
            return
        self.post_message(self.RecordWanted(record))

    @property
    def _record(self) -> str:
        """The id of the record of the row under the cursor; "" if it has none."""
        view, at = self._view, self.rows.cursor
        if isinstance(view, Tree):
            item = view.item(at)
            return "" if item is None else item.record
        return view.found.changes[at].item.record if isinstance(view, Differing) and at >= 0 else ""

    # --- looking for words: in the rows, or in the text that is open

    def sifted(self, looked_for: str) -> str | None:
        if isinstance(self._view, Tree):
            self._view.lay_out(self._turned, everything=bool(looked_for))
            self.rows.show(self.cells, len(self._view))
        return looked_for or None

    def unfilter(self) -> None:
        self._opened.exact.look_for("")
        super().unfilter()
        if isinstance(self._view, Tree):
            self._lay_out()

    def looked_for(self, words: str) -> None:
        if self.detail_open:
            self._opened.exact.look_for(words)
        else:
            super().looked_for(words)

    def entered(self) -> None:
        if self.detail_open:
            self._opened.exact.step(1)
            self._filter.go_on()
        else:
            super().entered()

    def on_key(self, event: events.Key) -> None:
        """Up and Down in the line that looks for words in a text go from hit to hit."""
        if self.screen.focused is self._filter and self.detail_open and event.key in ("up", "down"):
            event.stop()
            event.prevent_default()
            self._opened.exact.step(1 if event.key == "down" else -1)

    def action_close_detail(self) -> None:
        """Close what is open: the text, the filter, a list or a diff; else leave it to the screen."""
        if not self.detail_open and not self._filter.display and isinstance(self._view, History | Differing):
            self._go(self._place)
        else:
            super().action_close_detail()

    # --- what can be pressed

    def keys(self) -> Sequence[Key]:
        view = self._view
        if isinstance(view, Said):
            return []
        if self.detail_open:
            return [
                Key("Enter", "close", "choose", rank=2),
                Key("y", "copy", "copy"),
                Key("/", "look for", "filter"),
            ]
        if isinstance(view, History):
            return [
                Key("Enter", "show", "choose", rank=0),
                Key("d", "differs", "differ"),
                Key("m", "mark", "mark"),
                Key("l", "back", "list", rank=2),
            ]
        if isinstance(view, Differing):
            return [Key("Enter", "text", "choose", rank=0), Key("d", "back", "differ"), *self._to_record()]
        folds = isinstance(view, Tree) and view.item(self.rows.cursor) is None
        return [
            Key("Enter", "fold" if folds else "text", "choose", rank=0),
            Key("d", "differs", "differ", rank=1),
            Key("x", "count", "count", rank=1),
            *self._to_record(),
            Key("o", "older", "older", rank=2),
            Key("n", "newer", "newer", rank=2),
            Key("l", "all", "list", rank=2),
            Key("j", "JSON", "json", rank=2),
            Key("m", "mark", "mark", rank=3),
            Key("/", "filter", "filter", rank=3),
        ]

    def _to_record(self) -> list[Key]:
        return [Key("r", "record", "record", rank=1)] if self._record else []


def _name(built: Built) -> str:
    return "the next request" if built.sent is None else f"request {built.sent.n:,}"


def _difference(view: Differing) -> Content:
    """What a diff adds up to: the weights of both requests, and what led from one to the other."""
    found = view.found
    kinds: list[tuple[str, tuple[What, ...]]] = [
        ("added", ("added",)),
        ("gone", ("gone",)),
        ("shortened", ("shortened",)),
        ("changed", ("longer", "changed", "moved")),
    ]
    parts = [
        f"{found.tokens(*of):+,} {name}" for name, of in kinds if any(c.what in of for c in found.changes)
    ]
    if found.counted_anew:
        parts.append(f"{found.counted_anew:+,} counted anew")
    before, after = found.before, found.after
    said = f"{words.number(before.count, before.mark)} {' '.join(parts)} = {words.number(after.count, after.mark)}"
    return Content(f"{said}; {found.same:,} the same")
