"""Files that were dropped onto the terminal, which pastes their paths, and pictures on the clipboard."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tui_agent.ui.chat.attachments import mention
from tui_agent.ui.terminal import on_another_machine

_MOST_CHARACTERS = 8000
"""A paste longer than this is no list of dropped files."""
MOST_BYTES = 50_000_000
"""Bytes of a picture's file that are read; a large picture is scaled before it is sent."""
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_PATIENCE = 2.0
"""Seconds a clipboard program may take."""
_HEX = re.compile(rb"PNGf([0-9A-Fa-f]+)")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A path that was pasted and exists. `mention` is how words name it, `is_picture` by its name."""

    path: Path
    mention: str
    is_picture: bool


def dropped(paste: str, workspace: Path) -> list[Dropped]:
    """The files of a paste that is nothing but paths of files and folders that exist; else none. Asks the disk.

    Paths are absolute, below `~`, or `file://` addresses, a line each or separated by blanks; they may be quoted, or
    have their blanks escaped.
    """
    found: list[Dropped] = []
    for line in paste.strip().splitlines() if len(paste) <= _MOST_CHARACTERS else ():
        line = line.strip()
        if not line:
            continue
        paths = _existing([line]) or _existing(_parted(line))
        if not paths:
            return []
        found += [_mentioned(path, workspace) for path in paths]
    return found


def may_be_dropped(paste: str) -> bool:
    """True for a paste that may be a list of dropped files: only then is the disk asked."""
    return len(paste) <= _MOST_CHARACTERS and paste.lstrip().startswith(
        ("/", "~/", "'/", '"/', "file://", "'~/")
    )


def _parted(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _existing(names: list[str]) -> list[Path]:
    """The paths, if all of them are there."""
    paths = []
    for name in names:
        if name.startswith("file://"):
            address = urlsplit(name)
            name = unquote(address.path) if address.netloc in ("", "localhost") else ""
        path = Path(name).expanduser() if name.startswith("~/") else Path(name)
        try:
            if not path.is_absolute() or not path.exists():
                return []
        except (OSError, ValueError):
            return []
        paths.append(path)
    return paths


def _mentioned(path: Path, workspace: Path) -> Dropped:
    root, real = Path(os.path.realpath(workspace)), Path(os.path.realpath(path))
    inside = real.is_relative_to(root) and real != root
    name = str(real.relative_to(root)) if inside else str(path)
    is_file = path.is_file()
    if not is_file and not name.endswith("/"):
        name += "/"
    return Dropped(path, mention(name), is_file and path.suffix.lower() in _PICTURES)


def read_picture(path: Path) -> bytes:
    """The bytes of a picture's file. For a thread.

    Raises:
        OSError: it cannot be read, or is larger than MOST_BYTES.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise OSError(
            f"{path.name} has {size / 1e6:,.0f} MB, the limit for a picture is {MOST_BYTES / 1e6:.0f} MB"
        )
    return path.read_bytes()


# --- the clipboard


class NoClipboard(Exception):
    """Nothing can be read from the clipboard here; the message says why."""


def clipboard() -> bytes | str:
    """What the clipboard holds: the bytes of a picture, else its text (`""` if it holds neither). For a thread.

    Raises:
        NoClipboard: it cannot be read here.
    """
    if on_another_machine():
        raise NoClipboard(
            "over ssh the clipboard cannot be read: drop the picture's file here, or paste its path"
        )
    picture, text = _programs()
    for command in picture:
        if data := _png(_run(command)):
            return data
    return _run(text).decode("utf-8", "replace")


def _programs() -> tuple[list[list[str]], list[str]]:
    """The programs that give the clipboard's picture, best first, and the one that gives its text."""
    if sys.platform == "darwin":
        pictures = [["osascript", "-e", "get the clipboard as «class PNGf»"]]
        if shutil.which("pngpaste"):
            pictures.insert(0, ["pngpaste", "-"])
        return pictures, ["pbpaste"]
    if os.environ.get("WAYLAND_DISPLAY") and shutil.which("wl-paste"):
        return [["wl-paste", "--type", "image/png"]], ["wl-paste", "--no-newline", "--type", "text"]
    if os.environ.get("DISPLAY") and shutil.which("xclip"):
        read = ["xclip", "-selection", "clipboard", "-o"]
        return [[*read, "-t", "image/png"]], read
    raise NoClipboard(
        "no program reads the clipboard here (wl-paste, or xclip): install one, or drop the picture's file here"
    )


def _run(command: list[str]) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _png(output: bytes) -> bytes:
    """The picture in a program's output; osascript writes it in hex."""
    if output.startswith(b"\x89PNG"):
        return output
    match = _HEX.search(output)
    return bytes.fromhex(match[1].decode()) if match else b""
