"""Settings one by one, to be shown and changed: every place with its value, and values as people type them."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tomli_w

from tui_agent.settings.load import accept, quote
from tui_agent.settings.schema import SETTINGS

if TYPE_CHECKING:
    from tui_agent.settings.rules import Rule, Setting
    from tui_agent.settings.schema import Settings

WHEN = {
    "now": "at once",
    "choice": "when this model is chosen the next time",
    "session": "in the next session",
    "start": "when the program starts the next time",
}
"""When a change takes effect, in words."""


@dataclass(frozen=True, slots=True)
class Place:
    """One setting: `key` as `save` takes it, the value in force, the default, and whether the file gives it.

    A value or default of None is a setting that is left out; `inherited` is what counts for a profile then, None where
    nothing does.
    """

    key: str
    rule: Rule
    value: Any
    default: Any
    given: bool
    inherited: Any = None

    @property
    def shown(self) -> str:
        """The value, for a person."""
        return written(self.value)

    @property
    def shown_default(self) -> str:
        """The default, for a person."""
        return written(self.default)


def places(settings: Settings, tables: Mapping[str, Any]) -> list[Place]:
    """Every setting: once, or once in each of the tables the user named. Free tables (`keys`) are left out.

    `tables` are what the file says, `settings` what follows from it.
    """
    return [
        Place(
            ".".join(quote(part) for part in path),
            setting.rule,
            _value(settings, path),
            setting.default,
            _given(tables, path),
            _inherited(settings, path),
        )
        for setting, path in _paths(settings)
    ]


def _paths(settings: Settings) -> Iterator[tuple[Setting, tuple[str, ...]]]:
    """Every setting with its place; the tables that the user named one after the other."""
    for above, group in itertools.groupby(SETTINGS, lambda setting: setting.key.split(".*.")[0]):
        members = [
            (setting, tuple(setting.key.split("."))) for setting in group if setting.rule.kind != "map"
        ]
        if any("*" in path for _, path in members):
            for name in _value(settings, tuple(above.split("."))):
                yield from (
                    (setting, tuple(name if part == "*" else part for part in path))
                    for setting, path in members
                )
        else:
            yield from members


def _value(settings: Settings, path: tuple[str, ...]) -> Any:
    value: Any = settings
    for part in path:
        value = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return value


def _inherited(settings: Settings, path: tuple[str, ...]) -> Any:
    """What a profile that says nothing of its own takes from the table for all; None for any other setting."""
    match path:
        case ("profiles", _, "compaction", name):
            return getattr(settings.compaction, name)
    return None


def _given(tables: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    value: Any = tables
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True


def written(value: Any) -> str:
    """A value as a person types it; `typed` reads it back. Empty for what is left out."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return str(value)


def _toml(text: str) -> str:
    return tomli_w.dumps({"x": text}).removeprefix("x = ").rstrip("\n")


def typed(rule: Rule, text: str, key: str) -> Any:
    """The value that a person typed for a setting.

    Raises:
        SettingsError: it is none that the setting allows; in the schema's words.
    """
    text = text.strip() if rule.kind != "text" else text
    value: Any = text
    if rule.kind in ("integer", "number"):
        value = _number(text)
    elif rule.kind == "switch":
        value = {"true": True, "false": False, "on": True, "off": False}.get(text.lower(), text)
    elif rule.kind == "list":
        value = _list(text)
    accepted = accept(rule, value, key)
    return list(accepted) if isinstance(accepted, tuple) else accepted


def _number(text: str) -> Any:
    plain = text.replace(",", "").replace("_", "").replace(" ", "")
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return text


def _list(text: str) -> Any:
    """A list as TOML writes it; without brackets, texts parted by commas."""
    if not text.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
