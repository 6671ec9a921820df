"""The sessions as they are listed: read, looked through, counted.

Browser is a `Listing`: a row for each session, the newest first, below it more about the row under the cursor. Rows
come as they are read, the newest at once. `/` filters titles and words while one types; what was said is looked for
beside that, in the index of all sessions. It changes nothing on the disk.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from textual import work
from textual.content import Content
from textual.style import Style

from tui_agent import literal
from tui_agent.sessions.folder import SessionError
from tui_agent.ui import session_rows
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing
from tui_agent.ui.looking import looking

if TYPE_CHECKING:
    from pathlib import Path

    from textual import events

    from tui_agent.sessions.catalog import Catalog, Census
    from tui_agent.sessions.entry import Entry
    from tui_agent.ui.bindings import Keys
    from tui_agent.ui.cells import Cell, Column
    from tui_agent.ui.rows import Rows

View = Literal["kept", "archived", "deleted"]
"""Which sessions are shown."""

_NEXT: dict[View, View] = {"kept": "archived", "archived": "deleted", "deleted": "kept"}
_SHOWS: dict[View, str] = {"kept": "the usual ones", "archived": "archived ones", "deleted": "deleted ones"}
_EMPTY: dict[View, str] = {
    "kept": "No session here yet: what you say begins one. w looks elsewhere.",
    "archived": "Nothing is archived. v shows the deleted ones.",
    "deleted": "Nothing is deleted. v shows the usual ones.",
}

_AT_ONCE = 40
"""Sessions read before they are shown."""
_WIDEST, _FRAME = 132, 6
"""Cells that the list takes at most, and of them beside its words: border, padding, scrollbar."""
_TYPING = 0.15
"""Seconds without a key after which what was said is searched."""
_STILL = 0.1
"""Seconds on a row after which its log is counted."""


class Browser(Listing):
    """The list of sessions, to be read. `current` is the id of the open one, `typed` what the filter begins with."""

    def __init__(
        self,
        keys: Keys,
        catalog: Catalog,
        *,
        workspace: Path,
        current: str = "",
        typed: str = "",
    ) -> None:
        super().__init__(keys, "sessions", empty="Reading ...")
        self._catalog = catalog
        self._workspace = workspace
        self._current = current
        self._typed = typed
        self._view: View = "kept"
        self._everywhere = False
        self._listed: list[Entry] = []
        self._reading = True
        self._looking = False
        self._hits: dict[Path, str] = {}
        self._counted: dict[tuple[Path, str, int], Census] = {}

    # --- reading

    def load(self) -> None:
        """Read the sessions of the view anew."""
        self._listed, self._reading, self._hits = [], True, {}
        self.rows.empty = "Reading ..."
        self._show()
        self._read()
        if self._typed and not self.words.display:
            self.action_filter()
            self.words.value = self._typed

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        try:
            found = await asyncio.to_thread(self._source)
            while batch := await asyncio.to_thread(lambda: list(itertools.islice(found, _AT_ONCE))):
                self._listed += batch
                self._show()
        except SessionError as error:
            self.note(str(error), "$text-error")
        self._reading = False
        self.rows.empty = _EMPTY[self._view]
        self._show()
        if self.words.value:
            self._look(self.words.value)

    def _source(self) -> Iterator[Entry]:
        where = None if self._everywhere else self._workspace
        if self._view != "deleted":
            return self._catalog.each(where, self._view == "archived")
        return iter([entry for entry in self._catalog.deleted() if self._is_here(entry)])

    def _is_here(self, entry: Entry) -> bool:
        return self._everywhere or entry.path.parent.name == self._catalog.bucket(self._workspace)

    def _show(self) -> None:
        self.rows.show(
            self._cells,
            len(self._listed),
            columns=self._columns(),
            key=lambda index: self._listed[index].id,
            text=self._text,
        )
        self._tell()
        self.refresh_keys()

    def _tell(self) -> None:
        """The first line: what is listed, and the keys that list something else."""
        where = "every workspace" if self._everywhere else literal.one_line(self._workspace.name, 24)
        kind = "" if self._view == "kept" else f"{self._view}, "
        count = "reading ..." if self._reading else f"{len(self._listed):,}"
        looking = "  looking ..." if self._looking else ""
        other = "this workspace" if self._everywhere else "every workspace"
        self.headline(
            Content.assemble(
                (f"{kind}{where}: {count}{looking}", "$text-muted"),
                "   ",
                _click("w", other, "screen.elsewhere"),
                "   ",
                _click("v", _SHOWS[_NEXT[self._view]], "screen.other_view"),
            )
        )

    # --- rows

    def _columns(self) -> Sequence[Column]:
        return session_rows.columns(self.size.width, places=self._everywhere)

    def _cells(self, index: int) -> Sequence[Cell]:
        entry = self._listed[index]
        return session_rows.cells(
            entry,
            self.size.width,
            places=self._everywhere,
            current=entry.id == self._current,
            said=self._hits.get(entry.path, ""),
        )

    def _text(self, index: int) -> str:
        return session_rows.searched(self._listed[index])

    def about(self, index: int) -> Content:
        if not 0 <= index < len(self._listed):
            return Content("")
        entry = self._listed[index]
        return session_rows.detail(
            entry,
            min(self.size.width, _WIDEST) - _FRAME,
            place=self._everywhere,
            current=entry.id == self._current,
            said=self._hits.get(entry.path, ""),
            counted=self._counted.get(_key(entry)),
        )

    def on_rows_moved(self, event: Rows.Moved) -> None:
        super().on_rows_moved(event)
        if 0 <= event.index < len(self._listed):
            self._count(self._listed[event.index])

    @work(group="count", exclusive=True, exit_on_error=False)
    async def _count(self, entry: Entry) -> None:
        if _key(entry) in self._counted:
            return
        await asyncio.sleep(_STILL)
        self._counted[_key(entry)] = await asyncio.to_thread(self._catalog.census, entry)
        self.refresh_keys()

    def on_resize(self, event: events.Resize) -> None:
        if self.is_mounted:
            self._show()

    # --- searching

    def filtered(self, words: str) -> None:
        if words != self._typed:
            self._typed, self._hits = words, {}
        self._refilter()
        self._looking = False
        self._look(words)

    def _refilter(self) -> None:
        wanted = self._typed.casefold().split()
        if not wanted:
            self.rows.filter(None)
            return

        def holds(index: int) -> bool:
            text = self._text(index).casefold()
            return self._listed[index].path in self._hits or all(word in text for word in wanted)

        self.rows.filter(holds)

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _look(self, typed: str) -> None:
        """Look for the words in what was said: at once with what the index knows, and again while it reads on."""
        if not typed.strip() or self._view == "deleted":
            self._tell()
            return
        await asyncio.sleep(_TYPING)
        self._looking = True
        self._tell()
        async for found in looking(self._catalog, typed, list(self._listed)):
            self._take(found)
        self._looking = False
        self._tell()
        if self._catalog.notice:
            self.note(self._catalog.notice, "$text-warning")

    def _take(self, found: dict[Path, str]) -> None:
        """So much was found until now."""
        if found.keys() != self._hits.keys():
            self._hits = found
            self._refilter()
            self.rows.redraw()
            self.refresh_keys()

    # --- what is listed

    def offered(self) -> Sequence[Key]:
        """The letters that list something else."""
        return [Key("w", "workspaces", "elsewhere"), Key("v", _SHOWS[_NEXT[self._view]], "other_view")]

    @property
    def _entry(self) -> Entry | None:
        index = self.rows.cursor
        shown = 0 <= index < len(self._listed) and len(self.rows)
        return self._listed[index] if shown else None

    def action_elsewhere(self) -> None:
        """Show the sessions of every workspace, or of this one again."""
        self._everywhere = not self._everywhere
        self.load()

    def action_other_view(self) -> None:
        """Show the archived ones, the deleted ones, the usual ones."""
        self._view = _NEXT[self._view]
        self.load()

    def _replace(self, entry: Entry) -> None:
        """Show a session as it is now: in its row, in a new one, or not at all."""
        mine = [known for known in self._listed if known.id != entry.id]
        deleted = self._catalog.trash in entry.path.parents
        view = "deleted" if deleted else "archived" if entry.archived else "kept"
        if view == self._view and self._is_here(entry):
            mine.append(entry)
            if view != "deleted":
                mine.sort(key=lambda known: known.at, reverse=True)
        self._listed = mine
        self._show()
        self._refilter()
        if entry in mine:
            self.rows.move(mine.index(entry))


def _click(key: str, text: str, action: str) -> Content:
    made = Content.assemble((key, "bold $text-accent"), " ", (text, "$text-muted"))
    return made.stylize(Style.from_meta({"@click": action}))


def _key(entry: Entry) -> tuple[Path, str, int]:
    return entry.path, entry.at, entry.bytes
