"""Write settings back: atomically, for their user alone, unknown tables kept, never a key."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from tui_agent import paths
from tui_agent.settings import load, secrets
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import Settings


def save(path: Path | None, changes: Mapping[str, Any]) -> Settings:
    """Change settings in a file, by default the user's, and return what it then says.

    Keys of `changes` are dotted as in TOML (`compaction.auto`, `profiles."my model".base_url`); a value of None
    takes the key or table out, any other value is written there. What is not changed stays, tables that nothing
    knows included. The result is checked before it is written. TOML is written anew, so comments are lost; the file
    as somebody last wrote it stays beside it as `settings.toml.bak`.

    Raises:
        SettingsError: the file as it stands or as it would be is not allowed (nothing was written), or cannot be
            written.
    """
    file = path if path is not None else paths.settings_file()
    tables, before = load.read(file)
    settings, text = drafted(tables, changes, file)
    try:
        if loses(tables, before):
            paths.write_private(file.with_name(file.name + ".bak"), before.encode())
        paths.write_private(file, text.encode())
    except OSError as error:
        raise SettingsError(f"cannot be written: {error.strerror}", file=file) from error
    secrets.watch(settings)
    return settings


def loses(tables: Mapping[str, Any], text: str) -> bool:
    """Whether writing a file of this text anew loses comments, or the way somebody wrote it."""
    return text != tomli_w.dumps(tables)


def drafted(
    tables: Mapping[str, Any], changes: Mapping[str, Any], file: Path | None = None
) -> tuple[Settings, str]:
    """What a file with these tables would say after `changes`, checked, and its text. Nothing is written.

    A file that names no default profile takes its first one; a new profile before that does not become it unasked.

    Raises:
        SettingsError: it would not be allowed.
    """
    changed = copy.deepcopy(dict(tables))
    for key, value in changes.items():
        _change(changed, parts_of(key), value)
    if "profile" not in changed and "profile" not in changes:
        first = next(iter(tables.get("profiles") or ()), Settings().profile)
        if next(iter(changed.get("profiles") or ()), first) != first:
            changed = {"profile": first, **changed}
    text = tomli_w.dumps(changed)
    return load.check(tomllib.loads(text), text, file), text


def add_rule(path: Path | None, rule: str) -> Settings:
    """Add an approval rule to `approvals.allow` in a file, by default the user's; one that is there is left alone.

    Raises:
        SettingsError: as `save`.
    """
    settings = load.load(path)
    if rule in settings.approvals.allow:
        return settings
    return save(path, {"approvals.allow": [*settings.approvals.allow, rule]})


def parts_of(key: str) -> list[str]:
    """The parts of a dotted key, read as TOML reads them.

    Raises:
        SettingsError: it is no key.
    """
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{key!r} is not a key", key=key, allowed="parts joined by dots, as TOML writes them"
        ) from error
    parts = []
    while isinstance(table, dict):
        if len(table) != 1:
            raise SettingsError(f"{key!r} is not one key", key=key)
        name, table = next(iter(table.items()))
        parts.append(name)
    return parts


def _change(tables: dict[str, Any], parts: list[str], value: Any) -> None:
    *above, last = parts
    for part in above:
        below = tables.get(part)
        if not isinstance(below, dict):
            if value is None:
                return
            below = tables[part] = {}
        tables = below
    if value is None:
        tables.pop(last, None)
    else:
        tables[last] = value
