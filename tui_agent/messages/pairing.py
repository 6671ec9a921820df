"""Calls and their results, put side by side in the drafts of a history: one result for each call, in their order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from tui_agent.messages import wellformed
from tui_agent.messages.blocks import tool_result
from tui_agent.messages.drafts import Draft, Item

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block
    from tui_agent.messages.drafts import Work

MISSING_RESULT = (
    "[no result: the call was interrupted or its result was lost; it may have run in whole or in part]"
)
"""Stands for the result of a call that has none."""


def _is_server_result(block: Block) -> bool:
    kind: str = block["type"]
    return kind.endswith("_tool_result")


def halves(draft: Draft) -> list[Item]:
    """The server calls and results of a message that have no counterpart."""
    waiting: dict[object, Item] = {}
    alone: list[Item] = []
    for item in draft.items:
        if item.block["type"] in wellformed.SERVER_CALLS:
            call = item.block.get("id")
            if wellformed.is_blank(call) or call in waiting:
                alone.append(item)
            else:
                waiting[call] = item
        elif _is_server_result(item.block):
            call = item.block.get("tool_use_id")
            if not isinstance(call, str) or waiting.pop(call, None) is None:
                alone.append(item)
    return alone + list(waiting.values())


def number(work: Work, draft: Draft, used: dict[str, int]) -> list[tuple[Item, object]]:
    """Give every call of the message an id of its own; the calls, each with the id that it had."""
    calls: list[tuple[Item, object]] = []
    for item in draft.items:
        if item.block["type"] != "tool_use":
            continue
        had = item.block.get("id")
        base = wellformed.sanitised(had if isinstance(had, str) else "", "call")
        name = base
        while name in used:
            used[base] += 1
            draft.numbers.append((base, used[base]))
            name = f"{base}-{used[base]}"
        if name != had:
            work.say("call_ids", item.record, f"the call's id {had!r:.60} is sent as {name}")
            item.block = {**item.block, "id": name}
        used[name] = 1
        draft.numbers.append((name, 1))
        calls.append((item, had))
    return calls


def answered(work: Work, draft: Draft, calls: list[tuple[Item, object]]) -> Draft:
    """The user message behind these calls: their results first and in order, then the rest."""
    waiting: dict[object, deque[Item]] = {}
    rest: list[Item] = []
    for item in draft.items:
        if item.block["type"] == "tool_result":
            waiting.setdefault(_answers(item.block), deque()).append(item)
        else:
            rest.append(item)
    results: list[Item] = []
    for call, had in calls:
        queue = waiting.get(had) if isinstance(had, str) else None
        if not queue:
            work.say(
                "missing_result",
                call.record,
                f"the call {call.block['id']} had no result: one that says so was put in",
            )
            results.append(_missing(call.block["id"], had))
            continue
        item = queue.popleft()
        if item.block.get("tool_use_id") != call.block["id"]:
            item.block = {**item.block, "tool_use_id": call.block["id"]}
        results.append(item)
    known = [had for _, had in calls]
    for call_id, queue in waiting.items():
        for item in queue:
            if call_id in known:
                work.say(
                    "second_result", item.record, "a tool result is left out: the call had a result already"
                )
            else:
                work.say(
                    "orphan_result",
                    item.record,
                    "a tool result is left out: there is no call that it answers",
                )
    _say_moved(work, draft, results)
    return Draft("user", results + rest, own=False)


def _say_moved(work: Work, draft: Draft, results: list[Item]) -> None:
    """Say it if something stands before results in their message; the order among results is no fault."""
    first = next((i for i, item in enumerate(draft.items) if item.block["type"] != "tool_result"), None)
    answers = set(map(id, results))
    if first is not None and any(id(item) in answers for item in draft.items[first:]):
        work.say(
            "results_first", draft.items[first].record, "what stood before a tool result was put behind it"
        )


def _answers(block: Block) -> str | None:
    call = block.get("tool_use_id")
    return call if isinstance(call, str) else None


def _missing(call: str, had: object) -> Item:
    repair = tool_result(had, MISSING_RESULT, error=True) if isinstance(had, str) else None
    return Item(tool_result(call, MISSING_RESULT, error=True), "", repair)
