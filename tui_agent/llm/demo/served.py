"""The demo model and tools of MCP servers: it calls one whose name and arguments it is given.

Where descriptions are held back it asks for that of the tool first, as a model would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tui_agent.llm.demo.tasks import Call, Done, Fault, failure
from tui_agent.llm.demo.words import code, filled, quote

_ASKED = re.compile(
    r"(?:please\s+)?(?:call|use)\s+`?((?:mcp__|list_mcp_|read_mcp_)[A-Za-z0-9_-]+)`?\s*(?:with\s+)?(\{.*\})?\s*",
    re.IGNORECASE | re.DOTALL,
)
_SELECT, _USE = "select_tools", "use_tool"


@dataclass(frozen=True, slots=True)
class Use:
    """Call a tool; `held_back`: its description was."""

    tool: str
    arguments: dict[str, Any]
    held_back: bool
    thinking: str = ""
    fault: Fault = ""

    @property
    def intro(self) -> str:
        return (
            f"I'll look up {code(self.tool)} and call it."
            if self.held_back
            else f"I'll call {code(self.tool)}."
        )

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if not self.held_back:
            return () if done else (Call(self.tool, self.arguments),)
        if not done:
            return (Call(_SELECT, {"names": [self.tool]}),)
        if len(done) == 1 and not done[0].error:
            return (Call(_USE, {"name": self.tool, "arguments": self.arguments}),)
        return ()

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return failure(result, f"{code(self.tool)} did not do it")
        return f"{code(self.tool)} answers:\n\n{quote(filled(result.text))}"


def wanted(words: str, tools: frozenset[str]) -> Use | None:
    """The call that a person asks for by name; None if they ask for none. `tools` are those described in full."""
    found = _ASKED.fullmatch(words.strip())
    if found is None:
        return None
    try:
        arguments = json.loads(found[2] or "{}")
    except (ValueError, RecursionError):
        return None
    return Use(found[1], arguments, found[1] not in tools and _SELECT in tools)
