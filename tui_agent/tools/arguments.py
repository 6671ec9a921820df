"""The arguments of a call, checked by hand: the model reads what was wrong and calls again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tui_agent.literal import one_line
from tui_agent.tools.tool import ToolError
from tui_agent.workspace import guard

Result = TypeVar("Result")

_MOST_REMEMBERED = 1_000
_TITLE_CHARACTERS = 200


class Arguments:
    """The arguments of one call of `tool`, which takes `known` and nothing else.

    Raises:
        ToolError: there is one that the tool does not take.
    """

    def __init__(self, tool: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        self._tool = tool
        self._given = given
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ToolError(f"{tool} takes no argument {unknown[0]!r}; it takes: {', '.join(known)}")

    def text(self, name: str, default: str | None = None) -> str:
        """A text; the argument is required when there is no default.

        Raises:
            ToolError: it is missing, no text, or holds half characters that no file can.
        """
        value = self._given.get(name)
        if value is None:
            if default is None:
                raise ToolError(f"{self._tool} needs the argument {name!r}")
            return default
        if not isinstance(value, str):
            raise ToolError(f"{name!r} must be a text, not {_kind(value)}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            bad = value[error.start]
            raise ToolError(
                f"{name!r} holds half a character (U+{ord(bad):04X}) at position {error.start}"
            ) from error
        return value

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from `least` to `most`; digits in a text are taken too.

        Raises:
            ToolError: it is none, or out of range.
        """
        value = self._given.get(name)
        if value is None:
            return default
        if isinstance(value, str) and value.strip().removeprefix("-").isdecimal():
            # int() refuses thousands of digits; so few are out of every range
            value = int(value.strip()[:20])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ToolError(f"{name!r} must be a whole number, not {_kind(value)}")
        if not least <= value <= most:
            raise ToolError(f"{name!r} is {value}; it must be from {least} to {most}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false; the words are taken too.

        Raises:
            ToolError: it is neither.
        """
        value = self._given.get(name)
        if value is None:
            return default
        if isinstance(value, str):
            value = {"true": True, "false": False}.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise ToolError(f"{name!r} must be true or false, not {_kind(value)}")
        return value


class Places:
    """The places that the paths of one tool's calls lead to.

    A call is judged by where its path led when it was asked about. A link that was turned elsewhere since must not take
    the call along.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._judged: dict[str, Path] = {}

    def at_need(self, text: str) -> Path:
        """Where a path leads, every link followed; remembered for the call.

        Raises:
            ToolError: it is no path.
        """
        path = self._resolve(text)
        self._judged.pop(text, None)
        while len(self._judged) >= _MOST_REMEMBERED:
            self._judged.pop(next(iter(self._judged)))
        self._judged[text] = path
        return path

    def at_call(self, text: str) -> Path:
        """Where a path leads now.

        Raises:
            ToolError: it is no path, or leads elsewhere than when it was judged.
        """
        path = self._resolve(text)
        if self._judged.get(text, path) != path:
            raise ToolError(
                f"{text!r} leads to another place than when this call was judged: nothing was done"
            )
        return path

    def _resolve(self, text: str) -> Path:
        try:
            return guard.resolve(self._root, text)
        except guard.PathError as error:
            raise ToolError(str(error)) from error


async def finished(work: Callable[..., Result], *arguments: object) -> Result:
    """Do short work in a thread, to its end: what is cancelled meanwhile goes on being cancelled after it."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            # looked at, so that nobody is told of an error that nobody waits for
            task.exception()
        raise


def title_of(text: str) -> str:
    """Foreign text as a title: one line, nothing in it acts."""
    return one_line(text, _TITLE_CHARACTERS)


def is_outside(root: Path, path: Path, readable: Sequence[Path] = ()) -> bool:
    """True if a path lies neither in the workspace nor in one of the folders that may be read besides."""
    return not any(guard.inside(folder, path) for folder in (root, *readable))


def write_warning(root: Path, path: Path) -> str:
    """What a person should know of a path before it is written; empty if there is nothing."""
    if not guard.inside(root, path):
        return f"outside the workspace: {path}"
    if guard.in_git(Path(guard.relative(root, path))):
        return "inside .git: what is written there can run as a program"
    return ""


def reason(error: OSError) -> str:
    """Why a file could not be used, in the system's words."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
