"""The todo list: kept in the log as `_state`, so that it reverts, undoes and resumes with the conversation.

The steps of an accepted plan are items of it that carry their number: a list of the model's that leaves one out does
not lose it, since a person agreed to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from msgspec import Struct

from tui_agent.tools.tool import Need, Output, Progress, ToolError

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown

Status = Literal["pending", "active", "done"]
STATE_KEY = "todo"
TOOL = "todo"
"""The name of the tool that changes the list."""
MAX_ITEMS = 50
MAX_ITEM_CHARACTERS = 500

_SIGNS: dict[Status, str] = {"pending": "[ ]", "active": "[>]", "done": "[x]"}


class Item(Struct, frozen=True):
    """One thing to do. `step`: which step of the accepted plan it is, counted from 1; 0: none."""

    text: str
    status: Status
    step: int = 0

    def line(self) -> str:
        """The item as a line for people and models."""
        return f"{_SIGNS[self.status]} {self.text}"


def read(context: Shown) -> list[Item]:
    """The items as the log has them. What another program wrote and cannot be read as an item is left out."""
    value = context.state.get(STATE_KEY)
    found = []
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("text"), str) and entry.get("status") in _SIGNS:
            step = entry.get("step")
            found.append(Item(entry["text"], entry["status"], step if type(step) is int else 0))
    return found


class TodoList:
    """The list as the log has it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def items(self) -> list[Item]:
        """The items in force."""
        return read(self._context)

    async def replace(self, items: Sequence[Item]) -> Sequence[Item]:
        """Put a whole new list into the log, with the steps of the plan that it leaves out; gives what is in force."""
        items = self.completed(items)
        await self._context.set_state(STATE_KEY, values(items))
        return items

    def completed(self, items: Sequence[Item]) -> Sequence[Item]:
        """A new list with the steps of the plan that it leaves out."""
        return with_steps(items, [item for item in self.items() if item.step])


def values(items: Sequence[Item]) -> list[dict[str, Any]]:
    """The items as the log has them."""
    return [
        {"text": item.text, "status": item.status} | ({"step": item.step} if item.step else {})
        for item in items
    ]


def text_of(items: Sequence[Item]) -> str:
    """The items as lines."""
    return "\n".join(item.line() for item in items)


def with_steps(items: Sequence[Item], steps: Sequence[Item]) -> list[Item]:
    """A list that knows which of its items are steps, those that it leaves out behind the step before them."""
    known = {_fold(step.text): step.step for step in steps}
    made: list[Item] = []
    for item in items:
        taken = {other.step for other in made}
        number = known.get(_fold(item.text), 0)
        made.append(Item(item.text, item.status, 0 if number in taken else number))
    active = any(item.status == "active" for item in made)
    for step in steps:
        if any(item.step == step.step for item in made):
            continue
        place = max((at for at, item in enumerate(made, 1) if 0 < item.step < step.step), default=0)
        made.insert(
            place, Item(step.text, "pending", step.step) if active and step.status == "active" else step
        )
    return made


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def parse_items(value: object) -> list[Item]:
    """The items of a tool call.

    Raises:
        ToolError: they are not a list of texts with a status; says which and why.
    """
    if not isinstance(value, list):
        raise ToolError("items must be a list of {text, status}")
    if len(value) > MAX_ITEMS:
        raise ToolError(f"{len(value)} items are too many: keep at most {MAX_ITEMS}")
    items = []
    for number, entry in enumerate(value, 1):
        if not isinstance(entry, dict):
            raise ToolError(f"item {number} must be an object with text and status")
        text, status = entry.get("text"), entry.get("status", "pending")
        if not isinstance(text, str) or not text.strip():
            raise ToolError(f"item {number} has no text")
        if len(text) > MAX_ITEM_CHARACTERS:
            raise ToolError(f"item {number} is longer than {MAX_ITEM_CHARACTERS} characters")
        if status not in get_args(Status):
            raise ToolError(f"item {number} has status {status!r}: use pending, active or done")
        items.append(Item(" ".join(text.split()), status))
    if sum(item.status == "active" for item in items) > 1:
        raise ToolError("only one item may be active at a time")
    return items


class TodoTool:
    """The model's way to the list: it sends the whole list anew each time."""

    name = TOOL
    read_only = False
    description = (
        "Replace your todo list for this conversation. Use it for work of three or more steps: one item active at a "
        "time, done as soon as it is done. The person sees the list."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "maxItems": MAX_ITEMS,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "what is to be done, in a few words"},
                        "status": {"type": "string", "enum": list(get_args(Status))},
                    },
                    "required": ["text", "status"],
                },
            }
        },
        "required": ["items"],
    }

    def __init__(self, todo: TodoList, changed: Callable[[list[dict[str, Any]]], None]) -> None:
        self._todo = todo
        self._changed = changed

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """Nothing that has to be allowed: the list is part of the conversation."""
        items = self._todo.completed(parse_items(arguments.get("items")))
        done = sum(item.status == "done" for item in items)
        return Need("none", f"{done} of {len(items)} done")

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Replace the list and give it back."""
        items = await self._todo.replace(parse_items(arguments.get("items")))
        self._changed(values(items))
        return Output(text_of(items) or "the list is empty", f"{len(items)} items")
