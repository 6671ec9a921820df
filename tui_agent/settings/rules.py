"""What a setting may be, in types and in words; the schema is written with these, and errors speak with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

Kind = Literal["text", "name", "url", "variable", "choice", "integer", "number", "switch", "list", "map"]
"""How a value is written and edited. `variable` is the name of an environment variable, `list` a list of texts,
`map` a table of texts whose keys are free."""

When = Literal["now", "choice", "session", "start"]
"""When a change takes effect: at once, when a model is chosen next, in the next session, when the program starts."""


class SettingsError(Exception):
    """Settings cannot be used. The message is whole; `file`, `line` (from 1), `key` and `allowed` (what may be
    written there) are its parts, None or empty where they are not known."""

    def __init__(
        self,
        problem: str,
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str = "",
        allowed: str = "",
    ) -> None:
        place = f"{file}" + (f":{line}" if line is not None else "") + ": " if file is not None else ""
        super().__init__(f"{place}{problem}" + (f"; allowed: {allowed}" if allowed else ""))
        self.problem = problem
        self.file = file
        self.line = line
        self.key = key
        self.allowed = allowed


class Rule(Struct, frozen=True):
    """What one setting may be, and when a change takes effect. `minimum` and `maximum` belong to what is allowed."""

    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    when: When = "session"

    @property
    def allowed(self) -> str:
        """The values that may be written, in words."""
        unit = f" {self.unit}" if self.unit else ""
        between = ""
        if self.minimum is not None:
            between = f", at least {self.minimum:,.15g}"
            if self.maximum is not None:
                between = f" from {self.minimum:,.15g} to {self.maximum:,.15g}"
        match self.kind:
            case "choice":
                return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
            case "integer":
                return f"a whole number{between}{unit}"
            case "number":
                return f"a number{between}{unit}"
            case "switch":
                return "true or false"
            case "list":
                return 'a list of texts, such as ["read_file", "bash:git status"]'
            case "map":
                return "a table of texts"
            case "url":
                return "an address that begins with http:// or https://"
            case "variable":
                return (
                    "the name of an environment variable (letters, digits, underscores), never the key itself"
                )
            case "name":
                return "a text that is not empty"
            case "text":
                return "a text"


class Setting(Struct, frozen=True):
    """A setting, its place and its default.

    `key` is dotted: `compaction.auto`, or `profiles.*.model` where `*` is a name the user chose. A default of None is
    a setting that can only be left out or given.
    """

    key: str
    rule: Rule
    default: Any
