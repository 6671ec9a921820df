"""Settings, every one: what it is, what it may be, what it is now, and changing it.

Enter changes the row under the cursor: a switch turns, a choice takes its next value, anything else is typed in a line
below. `x` takes the value out of the file, so that the default holds. Each change is written at once (settings/save)
and takes effect when the note says so. The file is read again when another program has changed it, and a file that
cannot be used is shown with what is wrong in it, and left alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.content import Content

from tui_agent import paths
from tui_agent.literal import one_line
from tui_agent.settings import edit, load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.save import drafted, loses, save
from tui_agent.settings.watch import stamp
from tui_agent.ui.actions import ACTIONS, BY_ID
from tui_agent.ui.cells import Column
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing
from tui_agent.ui.remap import resolve
from tui_agent.ui.themes import UNICODE
from tui_agent.ui.words import short_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui_agent.settings.schema import Settings
    from tui_agent.ui.bindings import Keys
    from tui_agent.ui.cells import Cell
    from tui_agent.ui.desk import Desk

LOOK_S = 2.0
"""Seconds between two looks at whether the file has changed."""
_NAME, _DEFAULT = 36, 14
_CANNOT = "settings.toml cannot be used as it is"


@dataclass(frozen=True, slots=True)
class Read:
    """The file as it was read: its text and tables, and the settings that follow, or what is wrong with it."""

    text: str = ""
    tables: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings | None = None
    error: SettingsError | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A row: a setting (`place`), the keys of an action (`action`), or a table that nothing uses."""

    key: str
    value: str
    default: str
    given: bool
    place: edit.Place | None = None
    action: str = ""


class SettingsScreen(Listing):
    """The list of settings."""

    ACTION: ClassVar[str] = "settings"
    ENTER: ClassVar[str] = "change"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.keys, "settings", empty="reading ...")
        self._desk = desk
        self._file = desk.settings_path or paths.settings_file()
        self._read = Read()
        self._stamp: object = None
        self._items: list[Item] = []
        self._writing = asyncio.Lock()

    # --- what is listed

    def load(self) -> None:
        columns = (Column("setting", _NAME), Column("value"), Column("default", _DEFAULT))
        self.rows.show(self._cells, 0, columns=columns)
        self.headline(one_line(short_path(str(self._file))))
        self.run_worker(self._again(), group="settings", exit_on_error=False)
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        if stamp(self._file) != self._stamp and not self._writing.locked():
            self.run_worker(self._again(changed=True), group="settings", exit_on_error=False)

    async def _again(self, *, changed: bool = False) -> None:
        """Read the file, if nobody is writing it here."""
        async with self._writing:
            before = self._read.text
            await self._take()
            if changed and self._read.error is None and self._read.text != before:
                self.note(
                    "the file was changed by another program: this is what it says now", "$text-warning"
                )

    async def _take(self) -> None:
        """Read the file and show it."""
        self._stamp = stamp(self._file)
        self._read = await asyncio.to_thread(_read, self._file)
        if self._read.settings is None:
            self._show([])
            self._say_broken()
            return
        if self._read.settings != self._desk.settings:
            self._desk.take_settings(self._read.settings)
        self._show(_items(self._read))

    def _say_broken(self) -> None:
        self.rows.empty = _CANNOT
        self.rows.refresh()
        error = self._read.error
        assert error is not None
        kept = "Nothing is written to it meanwhile; r reads it again."
        self.note(f"{error}\n{kept} {load.way_back(error)}", "$text-error")

    def _show(self, items: list[Item]) -> None:
        self._items = items
        self.keys = self._desk.keys
        self.rows.empty = "reading ..."
        self.rows.show(
            self._cells,
            len(items),
            key=lambda index: self._items[index].key,
            text=lambda index: f"{self._items[index].key} {self._items[index].value} {self._help(index)}",
        )
        self.refresh_keys()

    def _cells(self, index: int) -> Sequence[Cell]:
        item = self._items[index]
        value = Content(one_line(item.value) or _left_out(item))
        style = "bold" if item.given else "$text-muted"
        # Of a long name the end tells more than the beginning.
        name = item.key if len(item.key) <= _NAME else UNICODE.more + item.key.partition(".")[2]
        return name, value.stylize(style), (item.default or "left out") if item.given else "default"

    def _help(self, index: int) -> str:
        item = self._items[index]
        if item.place is not None:
            return item.place.rule.help
        return BY_ID[item.action].help if item.action in BY_ID else ""

    # --- a row

    def about(self, index: int) -> Content:
        item = self._items[index]
        if item.place is None and not item.action:
            return Content("nothing uses this table; it is kept as it is")
        problems = [
            p for p in self._desk.keys.problems if item.action and p.startswith(f"[keys] {item.action}:")
        ]
        allowed = item.place.rule.allowed if item.place is not None else _KEYS_ALLOWED
        if item.key == "profile" and self._read.settings is not None:
            allowed = "one of " + ", ".join(self._read.settings.profiles)
        when = edit.WHEN[item.place.rule.when if item.place is not None else "now"]
        default = item.default or "left out"
        lines = [
            Content(self._help(index)),
            Content.assemble(("allowed: ", "$text-muted"), one_line(allowed)),
            Content.assemble(
                ("default: ", "$text-muted"), one_line(default), ("   a change is felt ", "$text-muted"), when
            ),
            *(Content.styled(one_line(problem), "$text-error") for problem in problems),
        ]
        return Content("\n").join(lines)

    def offered(self) -> Sequence[Key]:
        if not self._items or self.rows.cursor < 0:
            return [Key("r", "read again", "again")] if self._read.error is not None else []
        reset = [Key("x", "default", "reset")] if self._items[self.rows.cursor].given else []
        return reset if self._is_kept(self._items[self.rows.cursor]) is False else []

    @staticmethod
    def _is_kept(item: Item) -> bool:
        """True for a table that nothing uses."""
        return item.place is None and not item.action

    def choose(self, index: int) -> None:
        item = self._items[index]
        if item.key == "theme":
            self.leave("theme")
        elif item.action:
            self._ask_keys(item)
        elif item.place is not None and (
            item.place.rule.kind in ("switch", "choice") or item.key == "profile"
        ):
            self._write(item.key, self._next)
        elif item.place is not None:
            self._ask(item.place)

    def _next(self, item: Item) -> Any:
        """The value after the one that a row has now."""
        assert item.place is not None and self._read.settings is not None
        if item.place.rule.kind == "switch":
            return not item.place.value
        values = item.place.rule.choices or tuple(self._read.settings.profiles)
        if item.place.value is None:
            return values[0]
        return values[(values.index(item.place.value) + 1) % len(values)]

    def _ask(self, place: edit.Place) -> None:
        def check(text: str) -> str:
            try:
                drafted(self._read.tables, {place.key: edit.typed(place.rule, text, place.key)})
            except SettingsError as error:
                return _in_words(error)
            return ""

        def done(text: str) -> None:
            self._write(place.key, lambda item: edit.typed(place.rule, text, place.key))

        self.ask(f"{place.key}: {place.rule.allowed}", place.shown, done, check=check)

    def _ask_keys(self, item: Item) -> None:
        assert self._read.settings is not None
        others = {name: keys for name, keys in self._read.settings.keys.items() if name != item.action}
        known = set(resolve(others).problems)

        def check(text: str) -> str:
            found = [p for p in resolve({**others, item.action: text}).problems if p not in known]
            return "; ".join(found) if text.strip() else "no key; x takes the change back"

        value = item.value if item.given else _typed_keys(self._desk.keys, item.action)
        label = f"keys of {item.action} ({_KEYS_ALLOWED})"
        self.ask(label, value, lambda text: self._write(item.key, lambda _: text.strip()), check=check)

    def action_reset(self) -> None:
        """Take the value out of the file."""
        if self.rows.cursor >= 0 and self._items and not self._is_kept(self._items[self.rows.cursor]):
            self._write(self._items[self.rows.cursor].key, lambda item: None)

    def action_again(self) -> None:
        """Read the file again."""
        self.note("")
        self.run_worker(self._again(), group="settings", exit_on_error=False)

    # --- writing

    def _write(self, key: str, value: Any) -> None:
        self.run_worker(self._written(key, value), group="write", exit_on_error=False)

    async def _written(self, key: str, value: Any) -> None:
        """Write one setting; `value` gives it from its row, as the file stands then."""
        async with self._writing:
            shown, before = self._find(key), self._read.text
            await self._take()
            now = self._find(key)
            if self._read.settings is None or now is None:
                return
            if shown is not None and (now.value, now.given) != (shown.value, shown.given):
                said = (
                    f"{key} was changed by another program, to {now.value or 'left out'}: nothing was written"
                )
                self.note(said, "$text-warning")
                return
            kept = "; what another program changed in it is kept" if self._read.text != before else ""
            if loses(self._read.tables, self._read.text):
                kept += f"; as it was, with comments, it is {self._file.name}.bak"
            try:
                await asyncio.to_thread(save, self._file, {key: value(now)})
            except SettingsError as error:
                self.note(_in_words(error), "$text-error")
                return
            await self._take()
            self._say_written(key, kept)

    def _say_written(self, key: str, kept: str) -> None:
        item = self._find(key)
        if item is None:
            return
        when = edit.WHEN[item.place.rule.when if item.place is not None else "now"]
        what = f"is {item.value or 'left out'}" if item.given else "is the default again"
        self.note(f"{key} {what}, {when}. Written to {self._file.name}{kept}")

    def _find(self, key: str) -> Item | None:
        return next((item for item in self._items if item.key == key), None)


def _left_out(item: Item) -> str:
    """What stands for a value that is left out: what counts instead, if that is known."""
    inherited = item.place.inherited if item.place is not None else None
    return "left out" if inherited is None else f"{edit.written(inherited)} as for all"


_KEYS_ALLOWED = "such as ctrl+x j, f6, alt+j; parted by commas"


def _read(file: Path) -> Read:
    """Read a file; never raises."""
    try:
        tables, text = load.read(file)
        return Read(text, tables, load.check(tables, text, file))
    except SettingsError as error:
        return Read(error=error)


def _items(read: Read) -> list[Item]:
    settings = read.settings
    assert settings is not None
    found = [
        Item(place.key, place.shown, place.shown_default, place.given, place=place)
        for place in edit.places(settings, read.tables)
    ]
    keys, usual = resolve(settings.keys), resolve()
    ids = [action.id for action in ACTIONS if not action.fixed]
    for name in (*ids, *(name for name in settings.keys if name not in ids)):
        given = settings.keys.get(name)
        value = given if given is not None else _typed_keys(keys, name)
        default = _typed_keys(usual, name) if name in BY_ID else ""
        found.append(Item(f"keys.{load.quote(name)}", value, default, given is not None, action=name))
    found += [
        Item(f"[{load.quote(name)}]", "not used by anything", "", given=False) for name in settings.unknown
    ]
    return found


def _typed_keys(keys: Keys, action: str) -> str:
    """The keys of an action as they stand in a file."""
    first = [f"{keys.leader} {letter}" for letter in keys.letters_of(action)]
    return ", ".join([*first, *keys.direct.get(action, ())])


def _in_words(error: SettingsError) -> str:
    """An error without the place in the file, which was not written."""
    return f"{error.problem}; allowed: {error.allowed}" if error.allowed else error.problem
