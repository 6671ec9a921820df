"""JSON data that does not change: dicts and lists that refuse to, all the way down.

They compare, iterate and encode as dicts and lists do, so that they can be read without a copy; `thaw` gives a
plain copy to change, and so does `copy.deepcopy`.
"""

from __future__ import annotations

from typing import Any, NoReturn


def freeze(value: Any) -> Any:
    """A copy of JSON data that does not change; what is frozen already is taken as it is."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList([freeze(item) for item in value])
    return value


def thaw(value: Any) -> Any:
    """A copy of JSON data in plain dicts and lists."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list):
        return [thaw(item) for item in value]
    return value


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError("this is part of a request, which does not change; copy it first (copy.deepcopy)")


class FrozenDict(dict[str, Any]):
    """A dict that refuses to change."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = thaw(self)
        return plain

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (dict(self),))


class FrozenList(list[Any]):
    """A list that refuses to change."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        plain: list[Any] = thaw(self)
        return plain

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (list(self),))
