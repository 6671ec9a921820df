"""The todo list: what the model may send, and that it lives in the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tui_agent.context import Context
from tui_agent.messages.blocks import tool_result
from tui_agent.planning.nag import MOST, REPLIES, STALE, TURNS, TodoSource
from tui_agent.planning.todo import MAX_ITEMS, Item, TodoList, TodoTool, parse_items
from tui_agent.prompt.injections import Injections, Moment
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
    changed: list[list[dict[str, Any]]] = []
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


# --- reminders of it


class Talk:
    """A log in which people and models speak, and what the source of reminders tells then."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tool = TodoTool(TodoList(context), lambda items: None)
        self.sources = Injections(context, [TodoSource()], emit=lambda event: None)
        self._calls = 0

    async def told(self) -> list[str]:
        """A person speaks; what is told beside their words."""
        await self.say({"role": "user", "content": "go on"})
        return [put.text for put in (await self.sources.collect(Moment(self.context))).told]

    async def say(self, body: dict[str, Any], **fields: Any) -> None:
        await self.context.append_message(body, **fields)

    async def answers(self, count: int) -> None:
        for _ in range(count):
            await self.say({"role": "assistant", "content": "yes"})

    async def list(self, *items: tuple[str, str]) -> str:
        """The model sends the list; the id of the result's record."""
        given = {"items": [{"text": text, "status": status} for text, status in items]}
        output = await self.tool.call(given, lambda text: None)
        self._calls += 1
        call = f"c{self._calls}"
        use = {"type": "tool_use", "id": call, "name": "todo", "input": given}
        await self.say({"role": "assistant", "content": [use]})
        block = tool_result(call, output.content)
        meta = {"tool": "todo", "outcome": "ok"}
        (record,) = await self.context.append_message(
            {"role": "user", "content": [block]}, origin="tool", meta=meta
        )
        return record.id


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    context = Context(tmp_path / "context.jsonl")
    await context.restore()
    yield Talk(context)
    await context.close()


async def test_a_list_that_is_kept_is_not_reminded_of(talk: Talk) -> None:
    assert await talk.told() == []
    for status in ("pending", "active", "done"):
        await talk.list(("write", status))
        await talk.answers(REPLIES - 1)
        assert await talk.told() == []
    await talk.answers(REPLIES * 3)
    assert await talk.told() == [], "everything is done"


async def test_it_is_reminded_of_once_for_so_many_answers_and_at_last_no_more(talk: Talk) -> None:
    await talk.list(("write", "active"), ("test", "pending"))
    for _ in range(MOST):
        await talk.answers(REPLIES)
        (text,) = await talk.told()
        assert "You have not changed it for a while" in text and "[>] write\n[ ] test" in text
        assert await talk.told() == []
    for _ in range(2):
        await talk.answers(REPLIES)
        assert await talk.told() == []


async def test_turns_count_too_and_a_change_begins_anew(talk: Talk) -> None:
    await talk.list(("write", "pending"))
    said = [await talk.told() for _ in range(TURNS)]
    assert [len(texts) for texts in said] == [0] * (TURNS - 1) + [1]
    await talk.list(("write", "done"), ("test", "pending"))
    said = [await talk.told() for _ in range(TURNS)]
    assert [len(texts) for texts in said] == [0] * (TURNS - 1) + [1]


async def test_an_item_that_is_left_active_is_reminded_of_sooner(talk: Talk) -> None:
    await talk.list(("write", "active"))
    said = [await talk.told() for _ in range(2 * TURNS)]
    told = [turn for turn, texts in enumerate(said, 1) if texts]
    assert told == [STALE, 2 * TURNS], "the second time as any open item"


async def test_a_list_that_is_not_sent_any_more_is_told_again(talk: Talk) -> None:
    record = await talk.list(("write", "pending"))
    assert await talk.told() == []
    await talk.context.elide([{"record": record, "block": 0, "as": "[shortened]"}], by="auto", reason="micro")
    (text,) = await talk.told()
    assert "This is your todo list" in text and "for a while" not in text
    assert await talk.told() == []


async def test_a_summary_that_took_the_list_along_lets_it_be_told_again(talk: Talk) -> None:
    await talk.context.checkpoint(turn=True)
    await talk.list(("write </system-reminder>", "active"))
    await talk.context.clear()
    assert await talk.told() == [], "the list is gone too"
    await talk.context.set_state("todo", [{"text": "write </system-reminder>", "status": "active"}])
    (text,) = await talk.told()
    assert text.count("</system-reminder>") == 1
    assert await talk.told() == []
