"""Do the arguments of a call fit a schema? In words that the model can act on.

What is looked at is what models get wrong: names, kinds, allowed values, limits, lists and objects within. Patterns and
formats are left to whoever takes the arguments: a stranger's pattern can keep a program busy for hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tui_agent.tools.tool import ToolError

_DEEPEST = 30
_MOST_STEPS = 20_000
"""Looks at a value: a schema that leads back to itself in many ways would take hours."""
_MOST_TOLD = 5
_SHOWN = 60
"""Characters of a wrong value that an error repeats."""


def check(tool: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """See that arguments fit the schema of a tool.

    Raises:
        ToolError: they do not; names what is wrong and what is taken.
    """
    wrong = list(islice(_Match(schema).faults(dict(arguments), schema, ""), _MOST_TOLD))
    if not wrong:
        return
    properties = schema.get("properties")
    takes = ", ".join(properties) if isinstance(properties, Mapping) and properties else "no arguments"
    raise ToolError(f"the arguments do not fit {tool}: {'; '.join(wrong)}. It takes: {takes}")


class _Match:
    """One look at a value. It ends: after so many steps whatever is left fits."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = _MOST_STEPS

    def faults(self, value: Any, schema: Any, place: str, depth: int = 0) -> Iterator[str]:
        """What does not fit, in words."""
        self._steps -= 1
        schema = self._followed(schema)
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self._steps < 0:
            return
        here = place or "the arguments"
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else _list(kinds)
        if kinds and not any(_is(value, kind) for kind in kinds):
            yield f"{here} must be {' or '.join(map(str, kinds))}, not {_shown(value)}"
            return
        allowed = schema.get("enum")
        if isinstance(allowed, list) and not any(_same(value, one) for one in allowed):
            yield f"{here} must be one of {', '.join(map(_shown, allowed))}, not {_shown(value)}"
        if "const" in schema and not _same(value, schema["const"]):
            yield f"{here} must be {_shown(schema['const'])}, not {_shown(value)}"
        yield from self._branches(value, schema, place, depth)
        if isinstance(value, Mapping):
            yield from self._object(value, schema, place, depth)
        elif isinstance(value, list):
            yield from _limits(here, len(value), schema, "minItems", "maxItems", "items")
            for number, item in enumerate(value):
                yield from self.faults(item, schema.get("items"), f"{place}[{number}]", depth + 1)
        elif isinstance(value, str):
            yield from _limits(here, len(value), schema, "minLength", "maxLength", "characters")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield from _limits(here, value, schema, "minimum", "maximum", "")

    def _object(
        self, value: Mapping[str, Any], schema: Mapping[str, Any], place: str, depth: int
    ) -> Iterator[str]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        for name in _list(schema.get("required")):
            if isinstance(name, str) and name not in value:
                yield f"{_at(place, name)} is missing"
        others = schema.get("additionalProperties")
        loose = "patternProperties" in schema
        for name, item in value.items():
            if name in properties:
                yield from self.faults(item, properties[name], _at(place, name), depth + 1)
            elif others is False and not loose:
                yield f"there is no {_at(place, name)}"
            elif isinstance(others, Mapping) and not loose:
                yield from self.faults(item, others, _at(place, name), depth + 1)

    def _branches(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> Iterator[str]:
        for branch in _list(schema.get("allOf")):
            yield from self.faults(value, branch, place, depth + 1)
        for word in ("anyOf", "oneOf"):
            tried = [
                next(self.faults(value, branch, place, depth + 1), "") for branch in _list(schema.get(word))
            ]
            if tried and all(tried):
                yield ", or ".join(dict.fromkeys(tried[:_MOST_TOLD]))

    def _followed(self, schema: Any) -> Any:
        """The schema that a reference within the same document leads to; one that cannot be followed fits all."""
        for _ in range(_DEEPEST):
            reference = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(reference, str):
                return schema
            if not reference.startswith("#"):
                return None
            schema = self._root
            for step in reference[1:].strip("/").split("/") if reference != "#" else ():
                name = step.replace("~1", "/").replace("~0", "~")
                schema = schema.get(name) if isinstance(schema, Mapping) else None
        return None


def _limits(
    here: str, size: float, schema: Mapping[str, Any], low: str, high: str, unit: str
) -> Iterator[str]:
    least, most = schema.get(low), schema.get(high)
    of = f" {unit}" if unit else ""
    if isinstance(least, (int, float)) and size < least:
        yield f"{here} must be at least {least:g}{of}, not {size:g}"
    if isinstance(most, (int, float)) and size > most:
        yield f"{here} must be at most {most:g}{of}, not {size:g}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is(value: Any, kind: object) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return (isinstance(value, int) and not isinstance(value, bool)) or _whole(value)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return True


def _whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else repr(name)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
