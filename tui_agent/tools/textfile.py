"""Files read whole and written at once, with their encoding, byte order mark, line ends and mode kept."""

from __future__ import annotations

import codecs
import os
import re
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tui_agent.tools.arguments import reason
from tui_agent.tools.tool import ToolError
from tui_agent.workspace import guard

MOST_BYTES = 32 * 1024 * 1024
"""A larger file is neither read nor edited as a whole."""

_BINARY_HEAD = 8192

_ODD_BYTES = re.compile("[\udc80-\udcff]")
"""What `surrogateescape` makes of a byte that is not UTF-8."""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

writing = threading.Lock()
"""Held from the last look at a file until it is replaced, so that two calls cannot overwrite each other's change."""


class Loaded(Struct, frozen=True):
    """The bytes of a file, and what the system said of it when they were read."""

    data: bytes
    status: os.stat_result


class Text(Struct, frozen=True):
    """A file's text. Bytes that are not of its encoding are kept (as `surrogateescape` does)."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """The line end that most of its lines have."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    @property
    def mixed(self) -> bool:
        """True if some lines end in CR LF and others do not."""
        return 0 < self.text.count("\r\n") < self.text.count("\n")

    @property
    def invalid(self) -> int:
        """How many bytes are not of its encoding."""
        try:
            self.text.encode()
        except UnicodeEncodeError:
            return len(_ODD_BYTES.findall(self.text))
        return 0

    def shown(self) -> str:
        """The text for a reader: U+FFFD for what is not of its encoding."""
        return (
            self.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            if self.invalid
            else self.text
        )

    def encode(self) -> bytes:
        """The bytes of the file again."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        return self.mark + self.text.encode(self.encoding, errors)


def load(path: Path, name: str, most: int = MOST_BYTES) -> Loaded:
    """The file at `path`, called `name` in errors.

    Raises:
        ToolError: it is no file, too large, or cannot be read.
        FileNotFoundError: there is none.
    """
    refuse_special(path, name)
    try:
        # not blocking: it may have become a pipe since it was looked at
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ToolError(
            f"{name} cannot be read: {reason(error) if isinstance(error, OSError) else error}"
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ToolError(f"{name} is no file any more")
            data = b"" if status.st_size > most else file.read(most + 1)
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {reason(error)}") from error
    if status.st_size > most or len(data) > most:
        raise ToolError(
            f"{name} is too large to be read whole ({size_words(max(status.st_size, len(data)))}; at most "
            f"{size_words(most)}): search it with grep, or take a part with bash (sed -n '1,200p', head, tail)"
        )
    return Loaded(data, status)


def refuse_special(path: Path, name: str) -> None:
    """
    Raises:
        ToolError: what lies at `path` is neither a file nor nothing, or cannot be looked at.
    """
    try:
        kind = guard.kind(path)
    except OSError as error:
        raise ToolError(f"{name} cannot be looked at: {reason(error)}") from error
    if kind == "folder":
        raise ToolError(f"{name} is a folder: list it with glob or bash")
    if kind not in ("file", "nothing"):
        raise ToolError(f"{name} is {kind}, not a file")


def is_binary(data: bytes) -> bool:
    """True if the bytes do not look like text: a NUL near the beginning, without a mark of UTF-16."""
    return b"\0" in data[:_BINARY_HEAD] and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def decode(data: bytes) -> Text:
    """The text of a file: UTF-8, or UTF-16 if it begins with that mark."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            body = data[len(mark) :]
            if encoding == "utf-8":
                return Text(body.decode(encoding, "surrogateescape"), encoding, mark)
            try:
                return Text(body.decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                break
    return Text(data.decode("utf-8", "surrogateescape"))


def replace(path: Path, data: bytes, *, like: os.stat_result | None) -> os.stat_result:
    """Write the whole file at once: readers find the old or the new one. `like` is the file it replaces, None if new.

    Mode and, where permitted, owner stay. A file with several names, or in a folder that takes no new file, is
    written in place.

    Raises:
        OSError: it could not be written; the old file is as it was (unless it had to be written in place).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if like is not None and not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(path))
    if like is not None and like.st_nlink > 1:
        return _write_in_place(path, data)
    scratch = path.with_name(f".tui-agent-{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except PermissionError:
        if like is None:
            raise
        return _write_in_place(path, data)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if like is not None:
                _keep_owner(descriptor, like)
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            os.fsync(descriptor)
            status = os.fstat(descriptor)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    return status


def _write_in_place(path: Path, data: bytes) -> os.stat_result:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _keep_owner(descriptor: int, like: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) == (like.st_uid, like.st_gid):
        return
    try:
        os.fchown(descriptor, like.st_uid, like.st_gid)
    except PermissionError:
        pass  # only root may give files away: it stays ours


@contextmanager
def as_tool_error(name: str) -> Iterator[None]:
    """Turn an OSError inside into a ToolError that names the file."""
    try:
        yield
    except OSError as error:
        raise ToolError(f"{name} could not be written: {reason(error)}") from error


def size_words(size: int) -> str:
    """`340 bytes`, `2.1 KB`, `3.4 MB`."""
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    for unit, factor in (("KB", 1e3), ("MB", 1e6)):
        if size < factor * 999.95:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e9:.1f} GB"
