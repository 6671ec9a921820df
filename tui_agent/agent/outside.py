"""What the model had read from outside when it wrote an answer: files, command output, web pages.

Taken from the log alone, so that it is the same again after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.agent.prompted import SOURCE
from tui_agent.literal import one_line

if TYPE_CHECKING:
    from tui_agent.context import Context, Record

OWN = frozenset({"todo", "present_plan", "goal"})
"""Tools whose results hold nothing but what the model itself or the person wrote."""

_READ = ("tool", "command", "background")
"""Origins of records that hold what tools and commands brought."""

SUMMARY = "what a summary tells of"
"""Said of a turn whose beginning was compacted: what it had read is not known any more."""

_LONGEST = 80
"""Characters of a title."""


def outside(context: Context, record: str) -> tuple[str, ...]:
    """What was read in the turn of this answer, and just before it, in words and in order."""
    found = dict.fromkeys(_backwards(context, record))
    return tuple(reversed(found))


def _backwards(context: Context, record: str) -> Iterator[str]:
    records = context.records
    in_turn = True
    for index in range(context.record(record).index - 1, -1, -1):
        seen = records[index]
        if seen.role == "_checkpoint" and seen.body.get("turn"):
            in_turn = False
        if seen.role == "assistant" and not in_turn:
            return
        name = _name(seen, in_turn=in_turn)
        if name:
            yield name


def _prompt(body: Mapping[str, Any]) -> str:
    """The prompt of a server that an injection tells, or nothing."""
    names = (str(source.get("name")) for source in body.get("sources") or () if isinstance(source, Mapping))
    called = (name.partition(":")[2] for name in names if name.startswith(f"{SOURCE}:"))
    return one_line(", ".join(f"the prompt {name}" for name in called), _LONGEST)


def _name(seen: Record, *, in_turn: bool) -> str:
    """What this record brought in from outside, or nothing."""
    if seen.role != "user":
        return ""
    origin = seen.body.get("origin")
    if origin == "summary" and in_turn:
        return SUMMARY
    if origin == "injection":
        return _prompt(seen.body)
    if origin not in _READ:
        return ""
    meta: Mapping[str, Any] = seen.body.get("meta") or {}
    tool = str(meta.get("tool") or origin)
    if tool in OWN or (origin == "tool" and meta.get("outcome") in ("denied", "cancelled")):
        return ""  # nothing but words of ours came back
    title = str(meta.get("title") or "")
    if tool.startswith("mcp__"):
        title = f"{tool} {title}".strip()  # its arguments alone say little
    return one_line(title or tool, _LONGEST)
