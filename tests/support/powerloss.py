"""What a disk may hold after a power loss, worked out from the system calls that a process made.

A log of strace (`crash.Case.log`) is replayed on a model of a disk: data reaches it for certain with fsync of the file,
names with fsync of the folder; before that, data may be missing or half there, names may be as before. `replay` gives
every folder that may be found when the power fails after each call.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.crash import Call

Files = dict[str, bytes]
"""A folder: content by name."""

_PATH = re.compile(r'(?:AT_FDCWD(?:<[^>]*>)?, )?"((?:\\x[0-9a-f]{2})*)"')
_DESCRIPTOR = re.compile(r"^(-?\d+)<([^>]*)>")
_IN_BRACKETS = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")
_DATA = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass
class _File:
    """An inode: what is certainly on the disk, what was written, and the states in between that were written."""

    safe: bytes
    now: bytearray
    between: list[bytes] = field(default_factory=list)

    def sync(self) -> None:
        self.safe = bytes(self.now)
        self.between = []

    def change(self, data: bytes, offset: int) -> None:
        self.between.append(bytes(self.now))
        if offset > len(self.now):
            self.now.extend(bytes(offset - len(self.now)))
        self.now[offset : offset + len(data)] = data

    def cut(self, size: int) -> None:
        self.between.append(bytes(self.now))
        del self.now[size:]
        self.now.extend(bytes(size - len(self.now)))

    def variants(self) -> list[bytes]:
        """What may be found: as synced, as written, each write missing from some point on, half of the last, and the
        length without the data."""
        now = bytes(self.now)
        if now == self.safe and not self.between:
            return [now]
        found = [self.safe, *self.between, now]
        if len(now) > len(self.safe):
            middle = (len(self.safe) + len(now)) // 2
            found += [now[:middle], now[: len(now) - 1], self.safe + bytes(len(now) - len(self.safe))]
        return list(dict.fromkeys(found))


class Disk:
    """The files of one folder as they are now, taken as certain, and what calls make of them.

    The file of the lease is left out: it holds nothing that lasts.
    """

    def __init__(self, folder: Path, *, lease: str = "lock") -> None:
        self._folder = folder
        self._lease = lease
        self._inodes: list[_File] = []
        self._safe_names: dict[str, int] = {}
        known: dict[int, int] = {}
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name != lease:
                status = path.stat()
                if status.st_ino not in known:
                    known[status.st_ino] = len(self._inodes)
                    data = path.read_bytes()
                    self._inodes.append(_File(data, bytearray(data)))
                self._safe_names[path.name] = known[status.st_ino]
        self._names = dict(self._safe_names)
        self._steps: list[dict[str, int | None]] = []
        """Changes of names since the folder was synced; None: the name is removed."""
        self._open: dict[int, tuple[int, int | None]] = {}
        """For a descriptor its inode and where it writes next; None: at the end."""
        self.unknown: list[Call] = []
        """Calls on the folder that this model does not know: there must be none."""

    def states(self) -> Iterator[Files]:
        """What may be in the folder if the power fails now: any of the changes of names may be missing."""
        for chosen in itertools.product((False, True), repeat=len(self._steps)):
            names = self._safe_names
            for step in itertools.compress(self._steps, chosen):
                names = _changed(names, step)
            used = sorted(set(names.values()))
            for contents in itertools.product(*(self._inodes[inode].variants() for inode in used)):
                by_inode = dict(zip(used, contents, strict=True))
                yield {name: by_inode[inode] for name, inode in names.items()}

    @property
    def now(self) -> Files:
        """What a running system sees."""
        return {name: bytes(self._inodes[inode].now) for name, inode in self._names.items()}

    def apply(self, call: Call) -> None:
        """Take one call that came to its end without an error."""
        handler = getattr(self, f"_do_{call.name}", None)
        if handler is not None:
            handler(call)
        elif self._concerns(call):
            self.unknown.append(call)

    # --- names -------------------------------------------------------------------------------------------------

    def _do_openat(self, call: Call) -> None:
        [name] = self._paths(call)
        if name is None:
            return
        if name not in self._names and "O_CREAT" in call.arguments:
            self._inodes.append(_File(b"", bytearray()))
            self._change({name: len(self._inodes) - 1})
        if name in self._names:
            inode = self._names[name]
            self._open[call.returned] = (inode, None if "O_APPEND" in call.arguments else 0)
            if "O_TRUNC" in call.arguments and self._inodes[inode].now:
                self._inodes[inode].cut(0)

    _do_open = _do_creat = _do_openat

    def _do_linkat(self, call: Call) -> None:
        old, new = self._paths(call)
        if old is not None and new is not None:
            self._change({new: self._names[old]})

    _do_link = _do_linkat

    def _do_renameat2(self, call: Call) -> None:
        old, new = self._paths(call)
        if old is not None and new is not None:
            self._change({new: self._names[old], old: None})

    _do_rename = _do_renameat = _do_renameat2

    def _do_unlinkat(self, call: Call) -> None:
        [name] = self._paths(call)
        if name is not None:
            self._change({name: None})

    _do_unlink = _do_unlinkat

    def _change(self, step: dict[str, int | None]) -> None:
        self._names = _changed(self._names, step)
        self._steps.append(step)

    # --- data --------------------------------------------------------------------------------------------------

    def _do_write(self, call: Call) -> None:
        match = _DATA.search(call.arguments)
        self._append(call, _unhex(match[1])[: call.returned] if match else b"")

    def _do_pwrite64(self, call: Call) -> None:
        file = self._file(call)
        match = _DATA.search(call.arguments)
        if file is not None and match is not None:
            file.change(_unhex(match[1])[: call.returned], int(call.arguments.rsplit(", ", 1)[1]))

    def _do_sendfile(self, call: Call) -> None:
        source = _DESCRIPTOR.match(call.arguments.split(", ")[1])
        offset = re.search(r"\[(\d+)\]", call.arguments)
        if source is not None and offset is not None:
            name = self._name(_unhex(source[2]))
            if name is not None:
                data = bytes(self._inodes[self._names[name]].now)
                self._append(call, data[int(offset[1]) :][: call.returned])

    def _do_ftruncate(self, call: Call) -> None:
        file = self._file(call)
        if file is not None:
            file.cut(int(call.arguments.rsplit(", ", 1)[1]))

    def _do_fsync(self, call: Call) -> None:
        match = _DESCRIPTOR.match(call.arguments)
        if match is not None and _unhex(match[2]) == str(self._folder).encode():
            self._safe_names, self._steps = self._names, []
        file = self._file(call)
        if file is not None:
            file.sync()

    _do_fdatasync = _do_fsync

    def _do_flock(self, call: Call) -> None:
        """Locks are gone after a power loss."""

    def _append(self, call: Call, data: bytes) -> None:
        file = self._file(call)
        if file is None:
            return
        descriptor = int(call.arguments.split("<", 1)[0])
        inode, place = self._open.get(descriptor, (self._inodes.index(file), None))
        file.change(data, len(file.now) if place is None else place)
        if place is not None:
            self._open[descriptor] = (inode, place + len(data))

    def _file(self, call: Call) -> _File | None:
        """The file that the call's descriptor means, if it lies in the folder."""
        match = _DESCRIPTOR.match(call.arguments)
        if match is None or self._name(_unhex(match[2])) is None:
            return None
        opened = self._open.get(int(match[1]))
        name = self._name(_unhex(match[2]))
        if opened is not None:
            return self._inodes[opened[0]]
        return self._inodes[self._names[name]] if name in self._names else None

    def _paths(self, call: Call) -> list[str | None]:
        return [self._name(_unhex(path)) for path in _PATH.findall(call.arguments)]

    def _name(self, path: bytes) -> str | None:
        """The name in the folder that a path means, or None if it lies elsewhere."""
        found = Path(path.decode().removesuffix(" (deleted)"))
        return found.name if found.parent == self._folder and found.name != self._lease else None

    def _concerns(self, call: Call) -> bool:
        found = [
            _unhex(path) for path in (*_PATH.findall(call.arguments), *_IN_BRACKETS.findall(call.arguments))
        ]
        return any(self._name(path) is not None for path in found)


def replay(disk: Disk, calls: Sequence[Call]) -> Iterator[tuple[int, Files]]:
    """For each number of calls made, the folders that may be found after a power loss and were not found before.

    Raises:
        ValueError: a call on the folder is not known here, so that the states would be wrong.
    """
    seen: set[tuple[tuple[str, bytes], ...]] = set()
    for number in range(len(calls) + 1):
        if number and calls[number - 1].returned >= 0:
            disk.apply(calls[number - 1])
        for files in disk.states():
            key = tuple(sorted(files.items()))
            if key not in seen:
                seen.add(key)
                yield number, files
    if disk.unknown:
        raise ValueError(f"not known: {disk.unknown[0].name}({disk.unknown[0].arguments[:200]})")


def _changed(names: dict[str, int], step: dict[str, int | None]) -> dict[str, int]:
    return {name: inode for name, inode in (names | step).items() if inode is not None}


def _unhex(text: str) -> bytes:
    return re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode())
