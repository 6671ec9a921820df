"""How much a message matters, said when it is appended: what matters least is shortened first.

The table is in settings. A mark that says what is true of most messages (priority `NORMAL`) is not written, so that
it is a few bytes on few records; who reads marks asks `priority_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.messages.blocks import result_text

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block
    from tui_agent.settings.schema import Priorities as Table

NORMAL = 50
"""The priority of a record that carries none."""
CRITICAL = 100
"""What has this priority is never shortened."""
TRIVIAL = 0
"""What has this priority expires."""

GUIDING = {"goal": "goal", "goal:news": "goal", "goal-turn": "goal", "plan": "plan", "mode": "mode"}
"""Sources of injections that tell the model what it is after, and whether it may begin; each with the key of the state
that it tells of."""
_WHOLE = {"goal": frozenset(("goal:news", "goal-turn"))}
"""A source that tells all of something, and those that tell what is new of it: what these told before is old then."""
_CONFIRMATION_CHARACTERS = 500
"""A longer result of a write says more than that it succeeded."""

Marks = dict[str, Any]


class Priorities:
    """Gives a message its marks: `priority` (0 to 100) and, for what is trivial, `ttl` (answers of the model)."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def of(self, body: Mapping[str, Any]) -> Marks:
        """The marks of a message by its role, origin, tool, size and whether it failed; {} for a normal one."""
        priority = self._priority(body)
        if priority == NORMAL:
            return {}
        marks: Marks = {"priority": priority}
        if priority == TRIVIAL:
            marks["ttl"] = self._table.trivial_steps
        return marks

    def priority_of(self, body: Mapping[str, Any], marks: Mapping[str, Any]) -> int:
        """The priority in force: as it is marked, else as the table has it."""
        marked = marks.get("priority")
        return marked if type(marked) is int else self._priority(body)

    def ttl_of(self, priority: int, marks: Mapping[str, Any]) -> int | None:
        """After how many answers of the model what has this priority expires; None: never. A mark says it first."""
        marked = marks.get("ttl")
        if type(marked) is int:
            return marked
        return self._table.trivial_steps if priority == TRIVIAL else None

    @property
    def superseded(self) -> int:
        """The priority of an injection of which a newer one was told."""
        return self._table.superseded

    def _priority(self, body: Mapping[str, Any]) -> int:
        table, origin, content = self._table, body.get("origin"), body.get("content")
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        if body.get("role") == "assistant":
            return table.reasoning if any(b.get("type") == "tool_use" for b in blocks) else table.normal
        results = [block for block in blocks if block.get("type") == "tool_result"]
        if results:
            return self._of_results(body, results)
        if origin is None:
            return table.words
        guides = origin == "injection" and not GUIDING.keys().isdisjoint(sources_of(body))
        return table.goal if guides else table.normal

    def _of_results(self, body: Mapping[str, Any], results: list[Block]) -> int:
        meta = body.get("meta")
        meta = meta if isinstance(meta, Mapping) else {}
        if any(block.get("is_error") for block in results) or meta.get("exit") not in (None, 0):
            return self._table.failures
        size = sum(len(result_text(block)) for block in results)
        if meta.get("changed") and not meta.get("read") and size <= _CONFIRMATION_CHARACTERS:
            return self._table.confirmations
        return self._table.normal


def sources_of(body: Mapping[str, Any]) -> frozenset[str]:
    """The names of the sources that an injection tells of."""
    sources = body.get("sources")
    named = sources if isinstance(sources, list) else []
    return frozenset(
        source["name"] for source in named if isinstance(source, dict) and isinstance(source.get("name"), str)
    )


def renewed_by(body: Mapping[str, Any]) -> frozenset[str]:
    """The names of the sources of which an injection makes old what they told before it."""
    named = sources_of(body)
    return named.union(*(_WHOLE[name] for name in named & _WHOLE.keys()))
