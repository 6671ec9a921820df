"""What differs between two requests, item by item; the tokens close whatever differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.messages.blocks import Message, text_block
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator, Tokens
from tui_agent.prompt.difference import Difference, difference
from tui_agent.prompt.manifest import About, Item, Manifest, Total


class _Books:
    """Each record weighs as many tokens as its text has characters."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._weights = weights

    def tokens(self, record: str) -> Tokens:
        return Tokens(self._weights[record], "estimated")

    def message(self, record: str) -> About:
        return About("words", "your words", record=record)

    def layers(self) -> Sequence[About]:
        return [About("layer", "builtin")]

    def tools(self) -> About:
        return About("tool", "")

    def memories(self) -> Sequence[Mapping[str, Any]]:
        return ()

    def left_out(self) -> Iterable[Item]:
        return ()


@dataclass
class _Side:
    manifest: Manifest
    items: list[Item]


def _side(
    said: Sequence[tuple[str, str]],
    *,
    tools: Sequence[str] = ("bash",),
    system: str = "Be brief.",
    more: int = 5,
) -> _Side:
    """A request of these records, each an id and its words."""
    history = [Message("user", [text_block(text)], name) for name, text in said]
    request = Request.make(
        model="m",
        system=[text_block(system)],
        history=history,
        max_tokens=9,
        tools=[{"name": name, "description": name * 3, "input_schema": {}} for name in tools],
    )
    count = sum(len(text) for _, text in said) + more
    books = _Books({name: len(text) for name, text in said})
    manifest = Manifest(request, Total(count, count, 0, "exact"), 0, 9, books, Estimator("m"))
    return _Side(manifest, manifest.items)


def _told(found: Difference) -> list[tuple[str, str]]:
    return [(change.what, change.item.record or change.item.name) for change in found.changes]


def test_added_gone_shortened_and_changed() -> None:
    before = _side([("a", "one"), ("b", "a long text"), ("c", "same"), ("d", "abc")])
    after = _side([("b", "short"), ("c", "same"), ("d", "abd"), ("e", "new one")])
    found = difference(before, after, lambda item: f"why {item.record}")
    assert _told(found) == [("gone", "a"), ("shortened", "b"), ("changed", "d"), ("added", "e")]
    assert [change.why for change in found.changes] == ["why a", "why b", "why d", ""]
    assert [(change.before.count, change.after.count) for change in found.changes] == [
        (3, 0),
        (11, 5),
        (3, 3),
        (0, 7),
    ]
    assert (found.tokens("gone"), found.tokens("added"), found.tokens()) == (-3, 7, -2)


def test_tools_layers_and_parameters_are_told_apart() -> None:
    before = _side([("a", "one")], tools=("bash", "glob"), system="Be brief.")
    after = _side([("a", "one")], tools=("bash", "grep"), system="Be brief, and kind.")
    assert _told(difference(before, after)) == [("gone", "glob"), ("added", "grep"), ("longer", "builtin")]


def test_what_stands_elsewhere_has_moved_and_what_it_passed_has_not() -> None:
    before = _side([("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")])
    after = _side([("b", "two"), ("c", "three"), ("d", "four"), ("a", "one")])
    assert _told(difference(before, after)) == [("moved", "a")]


def test_what_weighs_otherwise_though_it_is_the_same_is_counted_anew() -> None:
    found = difference(_side([("a", "one")], more=5), _side([("a", "one")], more=9))
    assert (found.changes, found.counted_anew) == ([], 4)


_SAID = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.text("xyz", min_size=1, max_size=9)),
    unique_by=lambda one: one[0],
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(_SAID, _SAID, st.integers(-9, 9))
def test_the_tokens_close_and_each_record_is_told_once(
    before: list[tuple[str, str]], after: list[tuple[str, str]], more: int
) -> None:
    found = difference(_side(before), _side(after, more=more))
    assert found.before.count + found.tokens() + found.counted_anew == found.after.count
    told = [name for what, name in _told(found) if len(name) == 1]
    assert len(told) == len(set(told))
    old, new = dict(before), dict(after)
    assert {name for what, name in _told(found) if what == "gone"} == old.keys() - new.keys()
    assert {name for what, name in _told(found) if what == "added"} == new.keys() - old.keys()
    changed = {name for name in old.keys() & new.keys() if old[name] != new[name]}
    assert {name for what, name in _told(found) if what in ("shortened", "longer", "changed")} == changed
