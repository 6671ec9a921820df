"""The draft in the person's own editor: `$VISUAL`, else `$EDITOR`, else `vi` or `nano`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from tui_agent import literal
from tui_agent.ui.outside import run_outside

if TYPE_CHECKING:
    from textual.app import App

_FALLBACKS = ("vi", "nano")


class NotEdited(Exception):
    """The draft stays as it was; the message says why."""


def editor() -> list[str]:
    """The editor's program and its arguments.

    Raises:
        NotEdited: there is none, or its variable cannot be read as a command.
    """
    for name in ("VISUAL", "EDITOR"):
        value = os.environ.get(name, "").strip()
        if value:
            try:
                return shlex.split(value)
            except ValueError as error:
                raise NotEdited(f"${name} is no command: {error}") from error
    for fallback in _FALLBACKS:
        if shutil.which(fallback):
            return [fallback]
    raise NotEdited("there is no editor: set $VISUAL or $EDITOR to one")


async def edited(app: App[Any], text: str, began: Callable[[Path], None]) -> str:
    """What becomes of the text in the editor; `began` is told its file. The app's own work goes on meanwhile.

    Raises:
        NotEdited: there is no editor, it failed, or what it left cannot be read.
    """
    command = editor()
    path = await asyncio.to_thread(_write, text)
    began(path)
    try:
        code = await run_outside(app, [*command, str(path)])
        if code:
            raise NotEdited(f"{command[0]} ended with {code}: the words stay as they were")
        return await asyncio.to_thread(saved, path)
    except SuspendNotSupported as error:
        raise NotEdited("this terminal cannot be given to an editor") from error
    except OSError as error:
        raise NotEdited(f"{error.filename or command[0]}: {error.strerror or error}") from error
    finally:
        await asyncio.to_thread(_remove, path)


def _write(text: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tui-agent-"))
    path = folder / "prompt.md"
    path.write_text(f"{literal.clean(text)}\n" if text else "", encoding="utf-8")
    return path


def saved(path: Path) -> str:
    """What the editor has written into its file so far."""
    text = path.read_bytes().decode("utf-8", "replace")
    return text.replace("\r\n", "\n").rstrip("\n")


def _remove(path: Path) -> None:
    """Take the folder away, with what the editor left there beside the file."""
    with contextlib.suppress(OSError):
        shutil.rmtree(path.parent)
