"""What settings are written with: tables whose fields say what may stand in them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct, StructMeta, field

from tui_agent.settings.rules import Kind, Rule

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Part(Struct, frozen=True):
    """What a field of a table may hold: a value that a rule allows, a table, or tables with names of the user's."""

    default: Any
    rule: Rule | None = None
    table: type[Table] | None = None
    named: bool = False


class _TableMeta(StructMeta):
    """Keeps in `parts` what the fields of a table may hold; their defaults stay where they are."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        parts = {key: value for key, value in namespace.items() if isinstance(value, Part)}
        defaults = {key: part.default for key, part in parts.items()}
        return super().__new__(cls, name, bases, {**namespace, **defaults, "parts": parts}, **options)


class Table(Struct, frozen=True, metaclass=_TableMeta):
    """A table of settings.toml."""

    parts: ClassVar[Mapping[str, Part]]


def rule(default: Any, kind: Kind, help: str, **limits: Any) -> Any:
    """A setting: its default, what may be written, and one line of help."""
    return Part(default, Rule(kind, help, **limits))


def table(kind: type[Table]) -> Any:
    """A table of its own."""
    return Part(field(default_factory=kind), table=kind)


def tables(kind: type[Table]) -> Any:
    """Tables with names that the user gives."""
    return Part(EMPTY, table=kind, named=True)


def now(default: Any, kind: Kind, help: str, **limits: Any) -> Any:
    """A setting whose change takes effect at once."""
    return rule(default, kind, help, when="now", **limits)
