"""What an MCP server says it can do: checked, since a stranger wrote it, and kept on disk for the next session."""

from __future__ import annotations

import fnmatch
import itertools
import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from tui_agent import literal, paths
from tui_agent.messages.wellformed import encodable, sanitised

if TYPE_CHECKING:
    from tui_agent.tools.mcp.config import Spec

MOST_TOOLS = 500
"""Tools of one server; what comes behind is left out."""
_MOST_NAME = 64
"""Characters of a tool's name as models are told it: what older endpoints take."""
_MOST_DESCRIPTION = 2_000
_MOST_SCHEMA = 50_000
"""Characters of a schema."""
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NOT_ON_TOP = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else")
"""What endpoints refuse at the top of a schema; the server checks it."""


class Listed(Struct, frozen=True):
    """A tool of a server as it was listed. `fault` says why it cannot be offered."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    fault: str = ""


def checked(name: object, description: object, schema: object) -> Listed:
    """A tool as a server told it, made fit to be offered."""
    if not isinstance(name, str) or not name.strip():
        return Listed("unnamed", fault="it has no name")
    name = str(encodable(name))
    # a stranger's words: what a person would not see in them is not told to a model either
    words = literal.visible(description).strip() if isinstance(description, str) else ""
    if len(words) > _MOST_DESCRIPTION:
        words = words[:_MOST_DESCRIPTION].rstrip() + " [...]"
    found = encodable(schema)
    if not isinstance(found, dict):
        found = {}
    found = {key: value for key, value in found.items() if key not in _NOT_ON_TOP and key != "$schema"}
    if found.get("type", "object") != "object":
        return Listed(name, words, fault="its arguments are no object")
    properties = found.get("properties", {})
    if not isinstance(properties, dict):
        return Listed(name, words, fault="its schema cannot be read")
    if odd := [key for key in properties if not _PROPERTY.fullmatch(key)]:
        return Listed(name, words, fault=f"endpoints do not take an argument called {odd[0]!r:.40}")
    found = {"type": "object", "properties": properties, **found}
    if len(json.dumps(found)) > _MOST_SCHEMA:
        return Listed(name, words, fault=f"its schema is longer than {_MOST_SCHEMA:,} characters")
    return Listed(name, words, found)


def wanted(listed: Iterable[Listed], spec: Spec) -> list[Listed]:
    """The tools that settings let through, each name once."""
    found: dict[str, Listed] = {}
    for tool in listed:
        let_in = not spec.include or _fits(tool.name, spec.include)
        if let_in and not _fits(tool.name, spec.exclude):
            found.setdefault(tool.name, tool)
    return list(found.values())


def names(tools: Iterable[tuple[str, str]]) -> list[str]:
    """A name for each tool in the API's alphabet, `mcp__server__tool`, numbered where two are alike.

    Of each the server is given by its part of names, as `parts` has it, and the tool by its own name.
    """
    taken: set[str] = set()
    found = []
    for server, tool in tools:
        whole = f"mcp__{server}__{sanitised(tool, 'tool')}"
        if len(whole) > _MOST_NAME:
            whole = whole[: _MOST_NAME - 7] + "_" + sha256(whole.encode()).hexdigest()[:6]
        name = _numbered(whole, taken)
        taken.add(name)
        found.append(name)
    return found


def parts(servers: Iterable[str]) -> dict[str, str]:
    """The part that each server has in the names of its tools, no two the same.

    It holds no double underscore, so that a name can be taken apart again.
    """
    found: dict[str, str] = {}
    for server in servers:
        found[server] = _numbered(part(server), set(found.values()))
    return found


def _numbered(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken."""
    if name not in taken:
        return name
    tails = (f"_{number}" for number in itertools.count(2))
    return next(one for tail in tails if (one := name[: _MOST_NAME - len(tail)] + tail) not in taken)


def part(server: str) -> str:
    """A server's name as it stands in the names of its tools."""
    return re.sub(r"_+", "_", sanitised(server, "server")).strip("_")[:24] or "server"


def load(folder: Path, key: str) -> list[Listed] | None:
    """The list that was kept of a configuration; None if there is none that can be read."""
    try:
        return msgspec.json.decode((folder / "tools" / f"{key}.json").read_bytes(), type=list[Listed])
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


def save(folder: Path, key: str, tools: list[Listed]) -> None:
    """Keep a list for the next session.

    Raises:
        OSError: it cannot be written.
    """
    paths.write_private(folder / "tools" / f"{key}.json", msgspec.json.encode(tools))


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
