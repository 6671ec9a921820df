"""The requests that a log tells of: where their usages lie, in the log and in the files it was before.

A rewrite keeps the old file whole, so every request of a session is found in some file. Files are read line by line,
and of each request a few numbers are kept; what it says is read when it is looked at.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.context.errors import NoSuchBackup
from tui_agent.context.records import UNREADABLE, Damaged, decode
from tui_agent.context.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.context.reading import Reading

LOG = ""
"""Stands for the log itself where files are named."""
_NO_TURN = -1
_KEPT = 5
"""Minutes that a provider's cache keeps what nobody uses."""
_USAGE, _POINT = b'"_usage"', b'"_checkpoint"'


class Sent(msgspec.Struct, frozen=True):
    """A request that was answered. Figures are in tokens, as the endpoint counted them; None: it did not tell.

    `n` counts from 1, in the order in which they were sent. `turn` is the checkpoint of its turn, None without one.
    `input` is what was neither read from the provider's cache nor written to it; `predicted` what was expected to be
    read; `parted` why it does not extend the one before, "" if it does; `silence` the minutes since that one, where the
    cache had let go of it meanwhile, else 0. The record that tells of it lies at `offset` in `file`: a backup or `LOG`.
    """

    n: int
    turn: int | None
    at: str
    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    predicted: int | None
    file: str
    offset: int
    parted: str = ""
    silence: int = 0

    @property
    def uncached(self) -> str:
        """Why the cache could not serve what the one before had left there, in words; "" if it could."""
        if self.parted:
            return f"it does not extend the one before: {self.parted}"
        if self.silence:
            return f"nothing was said for {self.silence} minutes, and the cache had let go of the one before"
        return ""

    @property
    def total_input(self) -> int:
        """All of what was sent."""
        return self.input + self.cache_read + self.cache_write


class _Head(msgspec.Struct):
    role: str
    id: int | str | None = None
    turn: bool | None = None
    request: str | None = None


_read_head = msgspec.json.Decoder(_Head).decode


class SentRequests:
    """Every request of a session, the oldest first. `follow` reads what is new; it and all else may run in threads."""

    def __init__(self, context: Reading) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._names: list[str] = [LOG]
        self._files = array("H")
        self._offsets = array("Q")
        self._lengths = array("I")
        self._turns = array("q")
        self._prints = array("Q")
        self._places: dict[int, int] = {}
        """What tells the lines of usages apart, and the place of each: rewrites copy a line as it is."""
        self._generation: object = None
        self._end, self._turn = 0, _NO_TURN
        """How far the log was read, and the turn it had come to there."""

    def __len__(self) -> int:
        return len(self._offsets)

    def follow(self) -> int:
        """Read what is new in the log, and the backups that were made since; how many requests there are now.

        Raises:
            OSError: a file cannot be read.
        """
        with self._lock:
            while True:
                generation = self._context.generation
                if generation != self._generation:
                    self._read_backups()
                    self._end, self._turn = 0, _NO_TURN
                self._read_log()
                if generation == self._context.generation:
                    self._generation = generation
                    return len(self)

    def __getitem__(self, place: int) -> Sent:
        """The request at a place, counted from 0.

        Raises:
            NoSuchBackup: the file that tells of it is no longer kept.
        """
        file, offset, line = self._line(place)
        if _print(line) != self._prints[place]:
            self.follow()  # the log was rewritten meanwhile
            file, offset, line = self._line(place)
        try:
            body = decode(line)
        except Damaged:
            body = {}
        turn, parted = self._turns[place], str(body.get("parted") or "")
        predicted = body["predicted"] if type(body.get("predicted")) is int else None
        params = body.get("params")
        model = params.get("model") if isinstance(params, Mapping) else None
        return Sent(
            n=place + 1,
            turn=None if turn == _NO_TURN else turn,
            at=str(body.get("at") or ""),
            model=str(model or ""),
            input=_count(body, "input"),
            output=_count(body, "output"),
            cache_read=_count(body, "cache_read"),
            cache_write=_count(body, "cache_write"),
            predicted=predicted,
            file=file,
            offset=offset,
            parted=parted,
            silence=self._silence(place, body.get("at")) if predicted == 0 and not parted else 0,
        )

    def _silence(self, place: int, at: object) -> int:
        """The minutes between the request before and that time, if a cache lapses in so many."""
        try:
            before = decode(self._line(place - 1)[2]).get("at") if place else None
            passed = datetime.fromisoformat(str(at)) - datetime.fromisoformat(str(before))
        except (Damaged, NoSuchBackup, TypeError, ValueError):
            return 0
        minutes = int(passed.total_seconds() // 60)
        return minutes if minutes >= _KEPT else 0

    def _line(self, place: int) -> tuple[str, int, bytes]:
        with self._lock:
            file = self._names[self._files[place]]
            offset, length = self._offsets[place], self._lengths[place]
        try:
            return file, offset, Source(self._path(file)).read(offset, length)
        except OSError:
            raise NoSuchBackup(file or self._context.path.name, "it is no longer kept") from None

    def _path(self, name: str) -> Path:
        return self._context.path.with_name(name) if name else self._context.path

    def _read_backups(self) -> None:
        for backup in reversed(self._context.backups()):
            if backup.exists and backup.name not in self._names:
                self._names.append(backup.name)
                self._read(backup.name, 0, _NO_TURN)

    def _read_log(self) -> None:
        if self._path(LOG).exists():  # a new log is not there before its first record
            self._end, self._turn = self._read(LOG, self._end, self._turn)

    def _read(self, name: str, start: int, turn: int) -> tuple[int, int]:
        """Take note of the requests of a file from an offset on; the end of its last whole line, and the turn there."""
        end = start
        file = self._names.index(name)
        for offset, line in _lines(Source(self._path(name)), start):
            end = offset + len(line) + 1
            if _USAGE not in line and _POINT not in line:
                continue
            try:
                head = _read_head(line)
            except UNREADABLE:
                continue
            if head.role == "_checkpoint" and head.turn and isinstance(head.id, int):
                turn = head.id
            elif head.role == "_usage" and head.request:
                self._note(_print(line), file, offset, len(line), turn)
        return end, turn

    def _note(self, mark: int, file: int, offset: int, length: int, turn: int) -> None:
        place = self._places.setdefault(mark, len(self))
        if place == len(self):
            self._files.append(file)
            self._offsets.append(offset)
            self._lengths.append(length)
            # what a rewrite leaves of a turn may begin behind its checkpoint
            before = self._turns[-1] if len(self._turns) else _NO_TURN
            self._turns.append(turn if turn != _NO_TURN else before)
            self._prints.append(mark)
        else:
            self._files[place], self._offsets[place], self._lengths[place] = file, offset, length


def _lines(source: Source, start: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file from an offset on, and where each begins."""
    for offset, lines, _, whole in source.batches(start=start):
        if not whole:
            return
        for line in lines:
            yield offset, line
            offset += len(line) + 1


def _print(line: bytes) -> int:
    return int.from_bytes(sha256(line).digest()[:8], "big")


def _count(body: Mapping[str, Any], key: str) -> int:
    value = body.get(key)
    return value if type(value) is int and value > 0 else 0
