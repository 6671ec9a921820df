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
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from tui_agent.ui import words
from tui_agent.ui.inspector import request_said
from tui_agent.ui.inspector.request_rows import Differing, History, Said
from tui_agent.ui.inspector.request_text import change_text, item_text, request_json
from tui_agent.ui.inspector.request_tree import Tree
from tui_agent.ui.inspector.requested import Requested
from tui_agent.ui.inspector.tab import Key

if TYPE_CHECKING:
    from textual import events

    from tui_agent.ui.inspector.folding import Folding
    from tui_agent.ui.inspector.grouping import Place


class RequestTab(Requested):
    """The request. Enter opens a row's text or unfolds it, Space folds; `o` and `n` step to an older or newer request.

    `l` lists all requests, `d` shows what differs from the one before or from the one marked with `m`, `j` shows all
    of it as JSON, `x` has the endpoint count it, `r` leads to the record of the row.
    """

    NAME = "Request"
    SHORT = "Sent"
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

    _read: Hashable = None
    """What text was opened last: while it is the same one stays where one was reading."""

    # --- the text of a row

    def open(self, index: int) -> None:
        view, tree = self._view, self._tree
        key = (self._whole, self._place, self._whole or view.key(index))
        if self._whole and tree is not None:
            request = tree.built.request
            title, make = f"{request_said.name(tree.built)} as JSON", lambda: request_json(request)
        elif isinstance(view, Tree) and (item := view.item(index)) is not None:
            title, make = f"{item.section}: {item.name}", lambda: item_text(view, item)
        elif isinstance(view, Tree) and (way := view.way(index)):
            title, make = "a way out", lambda: way
        elif isinstance(view, Differing):
            change = view.found.changes[index]
            title, make = f"{change.what}: {change.item.name}", lambda: change_text(view, index)
        else:
            title, make = "", str
        self._opened.show(title, make, top=key != self._read)
        self._read = key

    def chosen(self, index: int) -> None:
        """Enter on a row: open its text, unfold it, or show the request that it stands for."""
        view = self._view
        if self._waits(lambda: self.chosen(self.rows.cursor)):
            return
        if isinstance(view, History):
            self._go(view.place(index))
        elif isinstance(view, Tree) and view.folds(index):
            self._turn(view.head(index))
        elif not isinstance(view, Said):
            self._whole = False
            super().chosen(index)
        elif not self._fault and self._place is not None:
            self._asked_for = self._place
            self._go(self._place)

    def action_json(self) -> None:
        """Show the whole request as JSON, or close it again."""
        if self._waits(self.action_json):
            return
        if not isinstance(self._view, Tree):
            return
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

    def on_folding_folded(self, event: Folding.Folded) -> None:
        event.stop()
        if isinstance(self._view, Tree) and self._view.folds(event.index):
            self._turn(self._view.head(event.index))

    def action_fold(self) -> None:
        """Fold what the row belongs to, or unfold it."""
        if self._waits(self.action_fold):
            return
        if self._view is self._tree and self._tree is not None and self.rows.cursor >= 0:
            self._turn(self._tree.head(self.rows.cursor))

    # --- which request

    def action_older(self) -> None:
        """The request before this one."""
        if self._waits(self.action_older, on_rows=False):
            return
        if self._many and self._place != 0:
            self._go(self._many - 1 if self._place is None else self._place - 1)

    def action_newer(self) -> None:
        """The request after this one; behind the last that was sent comes the next one."""
        if self._waits(self.action_newer, on_rows=False):
            return
        requests = self._requests
        if self._place is not None and requests is not None:
            behind = self._place + 1
            if behind < self._many or requests.has_next:
                self._go(behind if behind < self._many else None)

    def show_at(self, place: int | None) -> None:
        """Show the one at that place, counted from the oldest (None: the next one), whatever was left open."""
        if self._place != place or isinstance(self._view, History | Differing):
            self._close()
            self._go(place)

    def action_list(self) -> None:
        """List every request of the session, or leave the list."""
        if self._waits(self.action_list, on_rows=False):
            return
        if isinstance(self._view, History):
            self._go(self._place)
            return
        self._close()
        self._list(first=True)

    def _close(self) -> None:
        if self.detail_open:
            super().action_close_detail()

    def action_mark(self) -> None:
        """Mark the request for a diff with another one, or take the mark back."""
        if self._waits(self.action_mark, on_rows=False):
            return
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
        if self._waits(self.action_differ, on_rows=False):
            return
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
        for place in (before, after):
            if (size := await self._too_large(place)) is not None:
                self.say(Content.styled(f"not compared: one of them holds {size:,} tokens", "$text-warning"))
                return
        first, second = await requests.look(before), await requests.look(after)
        found = await asyncio.to_thread(requests.between, first, second)
        trees = await asyncio.to_thread(lambda: (Tree(first), Tree(second)))
        self.rows.empty = "They are the same."
        self._show(Differing(found, *trees), 0)

    # --- counting

    def action_count(self) -> None:
        """Have the endpoint count the request."""
        if self._waits(self.action_count):
            return
        if isinstance(self._view, Tree):
            self._counted = (self._place, "the endpoint counts ...")
            self._tell()
            self._count(self._view)

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
        if self._waits(self.action_record):
            return
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

    @property
    def closes(self) -> bool:
        return super().closes or isinstance(self._view, History | Differing)

    def action_close_detail(self) -> None:
        """Take back what waits, or close what is open (text, filter, list, diff); else leave it to the screen."""
        if self._later:
            self._later.clear()
        elif not super().closes and isinstance(self._view, History | Differing):
            self._go(self._place)
        else:
            super().action_close_detail()

    # --- what can be pressed

    def keys(self) -> Sequence[Key]:
        view = self._view
        if isinstance(view, Said):
            large = [Key("Enter", "build", "choose", rank=0)] if len(view) and not self._fault else []
            steps = [Key("o", "older", "older"), Key("n", "newer", "newer"), Key("l", "all", "list")]
            return [*large, *steps] if self._many else []
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
        folds = isinstance(view, Tree) and view.folds(self.rows.cursor)
        return [
            Key("Enter", "fold" if folds else "text", "choose", rank=0),
            Key("d", "differs", "differ", rank=1),
            *([Key("x", "count", "count", rank=1)] if self._requests and self._requests.can_count else []),
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
