"""Logs for tests of compaction: a session said in a few words, and the log a compaction would write of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_agent.compaction.retention import Retained
from tui_agent.context import Context, Record
from tui_agent.context.encoding import ulid


class Said:
    """A context and shorthands to write into it; each gives the id of what it wrote."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._calls = 0

    async def words(self, text: str, **marks: Any) -> str:
        """A person's words, with the bookmark of their turn."""
        await self.context.checkpoint(turn=True)
        return await self._message("user", [{"type": "text", "text": text}], **marks)

    async def answer(self, text: str, **fields: Any) -> str:
        """An answer of the model without calls."""
        return await self._message("assistant", [{"type": "text", "text": text}], **fields)

    async def calls(self, *commands: str, text: str = "", **fields: Any) -> tuple[str, list[str]]:
        """An answer with parallel calls of bash: its record, and the ids of the calls."""
        ids = []
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for command in commands:
            self._calls += 1
            ids.append(f"toolu_{self._calls:04}")
            content.append({"type": "tool_use", "id": ids[-1], "name": "bash", "input": {"command": command}})
        await self.context.checkpoint()
        return await self._message("assistant", content, stop_reason="tool_use", **fields), ids

    async def result(self, call: str, text: str, *, error: bool = False, **meta: Any) -> str:
        """The result of a call."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": text}
        if error:
            block["is_error"] = True
        known = {"tool": "bash", "exit": int(error), "ms": 3} | meta
        return await self._message("user", [block], origin="tool", meta=known)

    async def step(self, command: str, output: str, **meta: Any) -> tuple[str, str]:
        """A call and its result: both records."""
        record, (call,) = await self.calls(command)
        return record, await self.result(call, output, **meta)

    async def note(self, text: str, origin: str) -> str:
        """A message of role user that no person wrote."""
        return await self._message("user", [{"type": "text", "text": text}], origin=origin)

    async def _message(self, role: str, content: list[dict[str, Any]], **fields: Any) -> str:
        (record,) = await self.context.append_message({"role": role, "content": content}, **fields)
        return record.id


async def begun(path: Path) -> Said:
    """A new log with a prompt, tools, a goal and a todo list."""
    context = Context(path / "context.jsonl", model="claude-sonnet-5-5")
    await context.write_system_prompt("be good")
    await context.write_tools([{"name": "bash", "description": "run", "input_schema": {"type": "object"}}])
    await context.set_state("goal", {"text": "make the tests pass"})
    await context.set_state("todo", [{"text": "mend the parser", "status": "active"}])
    return Said(context)


def compacted(
    context: Context, retained: Retained, *, summary: str = "All that was done.", drop: Sequence[str] = ()
) -> tuple[str, list[Record | Mapping[str, Any]]]:
    """The summary's id and the lines of the log that a compaction would write, without the records in `drop`."""
    name = ulid()
    lines: list[Record | Mapping[str, Any]] = [
        {"role": "_system_prompt", "content": context.system_prompt},
        {"role": "_tools", "sha256": "", "tools": context.tools},
        {"role": "_checkpoint", "id": 0, "turn": False},
        {
            "role": "user",
            "origin": "summary",
            "content": [{"type": "text", "text": summary}],
            "id": name,
        },
        *(line for line in retained.lines if _id(line) not in drop),
        *({"role": "_state", "key": key, "value": value} for key, value in context.state.items()),
    ]
    return name, [line for line in lines if _id(line) not in drop]


def _id(line: Record | Mapping[str, Any]) -> str:
    if isinstance(line, Record):
        return line.id
    return str(line.get("key") or line.get("id") or line["role"])


def ids(context: Any) -> list[str]:
    """The ids of the messages that are sent."""
    return [message.id for message in context.history]
