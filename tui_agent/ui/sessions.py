"""The sessions that can be gone on with: found, opened, renamed, archived and deleted, all of it with a way back.

SessionList is a `Browser` of them. What is done to a session is done on the disk in a thread and shown at once; if it
fails the row comes back with the reason.

It posts `Wanted` (open this one), `Renamed` (the open session is to be called otherwise) and `DeleteWanted` (the open
session is to be deleted) to the app.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace
from textual.message import Message

from tui_agent import literal
from tui_agent.sessions.folder import SessionError
from tui_agent.ui.browser import Browser
from tui_agent.ui.inspector.tab import Key

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.sessions.catalog import Catalog
    from tui_agent.sessions.entry import Entry
    from tui_agent.ui.bindings import Keys


@dataclass
class Shelf:
    """What the list remembers while the program runs: how to take back what was done, the last thing last."""

    undo: list[tuple[str, Callable[[], Entry]]] = field(default_factory=list)


class SessionList(Browser):
    """The list of sessions. `current` is the id of the open one, `typed` what the filter begins with."""

    ACTION: ClassVar[str] = "sessions"
    FILTER_RANK: ClassVar[int] = 2

    @dataclass
    class Wanted(Message):
        """This session is to be opened."""

        entry: Entry

    @dataclass
    class Renamed(Message):
        """The open session is to have this title."""

        title: str

    class DeleteWanted(Message):
        """The open session is to be deleted."""

    def __init__(
        self,
        keys: Keys,
        catalog: Catalog,
        *,
        workspace: Path,
        current: str = "",
        shelf: Shelf | None = None,
        typed: str = "",
    ) -> None:
        super().__init__(keys, catalog, workspace=workspace, current=current, typed=typed)
        self._shelf = shelf or Shelf()

    # --- keys

    def offered(self) -> Sequence[Key]:
        entry = self._entry
        keys: list[Key] = []
        if entry is not None and self._view == "deleted":
            keys = [Key("Enter", "bring back", "choose")]
        elif entry is not None:
            keys = [
                Key("Enter", "open", "choose"),
                Key("r", "rename", "rename"),
                Key("d", "delete", "delete"),
                Key("a", "archive" if self._view == "kept" else "bring back", "archive"),
            ]
        if self._shelf.undo:
            keys.insert(1 if keys else 0, Key("u", "undo", "undo"))
        return [*keys, *super().offered()]

    def action_choose(self) -> None:
        """Open the session under the cursor."""
        self.rows.action_choose()

    def choose(self, index: int) -> None:
        entry = self._listed[index]
        if self._view == "deleted":
            self._take_out(entry, self._catalog.undelete, "is back", ("bringing back", self._catalog.delete))
        elif self.is_current:
            self.leave()
            if entry.id != self._current:
                self.app.post_message(self.Wanted(entry))

    def action_rename(self) -> None:
        """Ask for another title."""
        entry = self._entry
        if entry is not None and self._view != "deleted":
            self.ask("title", entry.title, lambda title: self._rename(entry, title.strip()))

    def _rename(self, entry: Entry, title: str) -> None:
        if title == entry.title or (not title and entry.id == self._current):
            return
        if entry.id == self._current:
            self.app.post_message(self.Renamed(title))
            self._replace(replace(entry, title=title))
        else:
            self._act(self._renamed(entry, title))

    async def _renamed(self, entry: Entry, title: str) -> None:
        def rename() -> tuple[str, Entry]:
            return entry.folder.meta.title, self._catalog.rename(entry.id, title)

        try:
            before, after = await asyncio.to_thread(rename)
        except SessionError as error:
            self.note(str(error), "$text-error")
            return
        self._shelf.undo.append(("renaming", lambda: self._catalog.rename(entry.id, before)))
        self._replace(after)
        self.note(f"called {_named(after)}; u takes it back")

    def action_archive(self) -> None:
        """Take the session out of the usual list, or put it back."""
        entry = self._entry
        if entry is None or self._view == "deleted":
            return
        if self._view == "kept":
            back = ("archiving", self._catalog.unarchive)
            self._take_out(entry, self._catalog.archive, "is archived", back)
        else:
            self._take_out(
                entry,
                self._catalog.unarchive,
                "is in the list again",
                ("bringing back", self._catalog.archive),
            )

    def action_delete(self) -> None:
        """Move the session into the trash."""
        entry = self._entry
        if entry is None or self._view == "deleted":
            return
        if entry.id == self._current:
            self.leave()
            self.app.post_message(self.DeleteWanted())
        else:
            self._take_out(entry, self._catalog.delete, "is deleted", ("deleting", self._catalog.undelete))

    def _take_out(
        self, entry: Entry, do: Callable[[str], Entry], what: str, back: tuple[str, Callable[[str], Entry]]
    ) -> None:
        """Take the row out and do it on the disk; if that fails the row comes back with the reason."""
        place = self._listed.index(entry)
        self._listed.remove(entry)
        self._show()
        self._act(self._taken_out(entry, place, do, what, back))

    async def _taken_out(
        self,
        entry: Entry,
        place: int,
        do: Callable[[str], Entry],
        what: str,
        back: tuple[str, Callable[[str], Entry]],
    ) -> None:
        try:
            await asyncio.to_thread(do, entry.id)
        except SessionError as error:
            self._listed.insert(place, entry)
            self._show()
            self.note(str(error), "$text-error")
            return
        name, undo = back
        self._shelf.undo.append((name, lambda: undo(entry.id)))
        self.note(f"{_named(entry)} {what}; u takes it back{self._also()}")
        self.refresh_keys()

    def action_undo(self) -> None:
        """Take back what was done last."""
        if self._shelf.undo:
            self._act(self._undone(*self._shelf.undo.pop()))

    async def _undone(self, name: str, undo: Callable[[], Entry]) -> None:
        try:
            entry = await asyncio.to_thread(undo)
        except SessionError as error:
            self.note(f"{name} could not be taken back: {error}", "$text-error")
            return
        self.note(f"{name} {_named(entry)} is taken back{self._also()}")
        self._replace(entry)

    def _also(self) -> str:
        """What went wrong with what belongs to the session elsewhere."""
        return f" ({self._catalog.trouble})" if self._catalog.trouble else ""

    def _act(self, doing: Coroutine[Any, Any, None]) -> None:
        self.run_worker(doing, group="act", exit_on_error=False)


def _named(entry: Entry) -> str:
    return f'"{literal.one_line(entry.title, 40)}"'
