"""The todo list: what the model may send, and that it lives in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_agent.context import Context
from tui_agent.planning.todo import MAX_ITEMS, Item, TodoList, TodoTool, parse_items
from tui_agent.tools.tool import Tool, ToolError


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "must be a list"),
        ("x", "must be a list"),
        ([1], "item 1"),
        ([{"text": " "}], "item 1 has no text"),
        ([{"text": "a", "status": "later"}], "pending, active or done"),
        ([{"text": "a" * 501}], "longer"),
        ([{"text": "a"}] * (MAX_ITEMS + 1), "too many"),
        ([{"text": "a", "status": "active"}, {"text": "b", "status": "active"}], "only one"),
    ],
)
def test_what_is_no_list_is_told_apart(value: object, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        parse_items(value)


async def test_the_list_reverts_with_the_conversation(tmp_path: Path) -> None:
    context = Context(tmp_path / "context.jsonl")
    await context.restore()
    todo = TodoList(context)
    changed: list[list[dict[str, str]]] = []
    tool = TodoTool(todo, changed.append)
    assert isinstance(tool, Tool)
    await context.checkpoint(turn=True)
    arguments = {"items": [{"text": "look  around", "status": "active"}, {"text": "write"}]}
    assert tool.needs(arguments).title == "0 of 2 done"
    output = await tool.call(arguments, lambda text: None)
    assert output.content == "[>] look around\n[ ] write"
    assert changed == [[{"text": "look around", "status": "active"}, {"text": "write", "status": "pending"}]]
    assert todo.items() == [Item("look around", "active"), Item("write", "pending")]
    await context.revert_to(0)
    assert todo.items() == []
    await context.undo()
    assert todo.items()[0].status == "active"
    await context.close()


async def test_a_list_of_another_program_is_read_as_far_as_it_is_one(tmp_path: Path) -> None:
    context = Context(tmp_path / "context.jsonl")
    await context.restore()
    await context.set_state("todo", [{"text": "fine", "status": "done"}, {"title": "odd"}, 7])
    assert TodoList(context).items() == [Item("fine", "done")]
    await context.set_state("todo", "not a list")
    assert TodoList(context).items() == []
    await context.close()
