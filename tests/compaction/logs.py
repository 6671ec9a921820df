"""Logs for tests of compaction: a session said in a few words, and the log a compaction would write of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tui_agent.compaction.retention import Retained
from tui_agent.context import Context
from tui_agent.context.compacted import Replacement
from tui_agent.context.encoding import ulid


class Said:
    """A context and shorthands to write into it; each gives the id of what it wrote."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._calls = 0

    async def say(self, content: list[dict[str, Any]], **fields: Any) -> str:
        """An answer of the model of these blocks."""
        return await self._message("assistant", content, **fields)

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

    async def act(self, tool: str, arguments: Mapping[str, Any], output: str, **meta: Any) -> str:
        """A call of any tool and its result, with what the log knows of it; the result's record."""
        self._calls += 1
        call = f"toolu_{self._calls:04}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": dict(arguments)}
        await self.context.checkpoint()
        await self._message("assistant", [use], stop_reason="tool_use")
        failed = bool(meta.get("exit"))
        return await self.result(
            call, output, error=failed, tool=tool, outcome="error" if failed else "ok", **meta
        )

    async def note(self, text: str, origin: str) -> str:
        """A message of role user that no person wrote."""
        return await self._message("user", [{"type": "text", "text": text}], origin=origin)

    async def _message(self, role: str, content: list[dict[str, Any]], **fields: Any) -> str:
        (record,) = await self.context.append_message({"role": role, "content": content}, **fields)
        return record.id


async def begun(path: Path, *, prompt: str = "be good", tools: int = 1) -> Said:
    """A new log with a prompt, so many tools, a goal and a todo list."""
    context = Context(path / "context.jsonl", model="claude-sonnet-5-5")
    await context.write_system_prompt(prompt)
    more = [f"tool_{number}" for number in range(1, tools)]
    described = {"description": "run it " * (1 if tools == 1 else 80), "input_schema": {"type": "object"}}
    await context.write_tools([{"name": name, **described} for name in ("bash", *more)])
    await context.set_state("goal", {"text": "make the tests pass"})
    await context.set_state("todo", [{"text": "mend the parser", "status": "active"}])
    return Said(context)


Lines = list[dict[str, Any]]


async def compacted(
    context: Context,
    retained: Retained,
    *,
    summary: str = "All that was done.",
    change: Callable[[Lines], Lines] = lambda lines: lines,
) -> tuple[str, Context]:
    """The id of the summary, and a reader of the log that a compaction makes of a copy of this one.

    `change` may make something else of the lines of that log.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "context.jsonl"
        shutil.copy(context.path, path)
        copy = Context(path, model=context.model)
        await copy.restore()
        await copy.compact(replacement(copy, retained, summary), figures={})
        await copy.close()
        lines = change([json.loads(line) for line in path.read_bytes().splitlines()])
        path.write_bytes(b"".join(_line(line) for line in lines))
        reader = Context(path, model=context.model, read_only=True)
        await reader.restore()
        return next(line["id"] for line in lines if line.get("origin") == "summary"), reader


def replacement(context: Context, retained: Retained, summary: str = "All that was done.") -> Replacement:
    """What a compaction puts in the place of the history, when this is retained."""
    message = {
        "role": "user",
        "origin": "summary",
        "id": ulid(),
        "content": [{"type": "text", "text": summary}],
    }
    return Replacement(
        summary=message,
        kept=retained.preserved,
        elided=retained.cut,
        until=context.size if retained.upto is None else retained.upto,
        generation=context.generation,
    )


def named(line: Mapping[str, Any]) -> str:
    """What a line may be called: the key of a state, the id of a message, its role."""
    return str(line.get("key") or line.get("id") or line["role"])


def ids(context: Any) -> list[str]:
    """The ids of the messages that are sent."""
    return [message.id for message in context.history]


def _line(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
