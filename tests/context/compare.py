"""What a context shows, whole, so that the live one can be held against a fresh process's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui_agent.context import Context


def everything(context: Context) -> dict[str, Any]:
    """All that can be asked of a context."""
    records = list(context.records)
    return {
        "history": list(context.history),
        "prompt": (context.system_prompt, context.system_layers, context.system_blocks),
        "tools": context.tools,
        "state": dict(context.state),
        "records": [
            (record.line, record.id, record.role, record.origin, record.offset, record.length, record.raw)
            for record in records
        ],
        "bodies": [record.body for record in records],
        "damage": context.damage,
        "marks": [dict(context.marks(record.id)) for record in records if not record.damaged],
        "elided": [context.elided(record.id) for record in records],
        "batches": [record.id for record in context.batches],
        "brought back": [context.brought_back(record.id) for record in records],
        "estimated": [context.estimated(record.id) for record in records],
        "checkpoints": list(context.checkpoints()),
        "next checkpoint": context.n_checkpoints,
        "weight": (context.token_count, context.token_count_with_pending, context.weigh()),
        "tokens": [context.tokens(record.id) for record in records],
        "sums": (context.system_tokens, context.tools_tokens, context.unattributed),
        "head": context.head,
        "leads": (context.can_undo, context.can_redo),
        "backups": context.backups(),
        "size": context.size,
    }


async def fresh(path: Path, **options: Any) -> Context:
    """The session as another process reads it."""
    context = Context(path, read_only=True, **options)
    await context.restore()
    return context


async def check(context: Context) -> dict[str, Any]:
    """The live context equals a fresh restore, and its figures add up; what it shows."""
    live = everything(context)
    other = everything(await fresh(context.path, model=context.model))
    for what, value in live.items():
        assert value == other[what], what
    weight = context.weigh()
    items = sum(context.tokens_of(record).count for record in context.records)
    assert weight.total == weight.exact + weight.pending == context.token_count_with_pending
    assert items + context.unattributed == weight.total
    return live


def text(words: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": words}]}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "bash", "input": arguments}


def result(name: str, content: str) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": name, "content": content}],
    }


async def talk(context: Context, turns: int = 3, *, start: int = 0) -> None:
    """Some turns: words, a call with its result, an answer, and what the endpoint counted."""
    if context.system_prompt is None:
        await context.write_system_prompt("You are careful.")
        await context.write_tools(
            [{"name": "bash", "description": "run", "input_schema": {"type": "object"}}]
        )
    count = max(context.token_count, 500)
    for turn in range(start, start + turns):
        await context.checkpoint(turn=True)
        await context.append_message(text(f"do thing number {turn}"))
        for step, content in enumerate(
            ([{"type": "text", "text": f"I look {turn}."}, call(f"t{turn}", command="ls")], "Done. " * 20)
        ):
            await context.checkpoint()
            through = context.checkpoints()[-1].uid
            [answer] = await context.append_message(
                {"role": "assistant", "content": content}, model="claude-x", stop_reason="end_turn"
            )
            count += 90 + 10 * step
            await context.update_token_count(
                count, through=through, produced=answer.id, output=30, params={"model": "claude-x"}
            )
            if not step:
                await context.append_message(result(f"t{turn}", "a.py\nb.py\n" * 20), origin="tool")
