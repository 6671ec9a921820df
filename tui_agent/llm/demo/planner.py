"""One step of the demo model: from a request's messages to what it says and calls next.

It keeps no state: the tasks come from the newest words in the request, how far they are from the tool results after
them. So it goes on after a restart, a revert or a refusal as a model would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_agent.llm.demo import goals, phrases, plans, recall, recap, served, talk
from tui_agent.llm.demo.tasks import Call, Done, Fault, Task
from tui_agent.llm.demo.words import code
from tui_agent.messages.blocks import result_text


@dataclass(frozen=True, slots=True)
class Answer:
    """What the demo model says and calls. `fault` is how the request is to fail, if it was asked to."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    fault: Fault = ""


@dataclass(slots=True)
class _Turn:
    """The newest words, the messages before them, and the results that came after them."""

    words: str = ""
    before: Sequence[Mapping[str, Any]] = ()
    done: list[Done] = field(default_factory=list)


def plan(
    messages: Sequence[Mapping[str, Any]], tools: frozenset[str], system: Sequence[Mapping[str, Any]] = ()
) -> Answer:
    """The next step.

    Args:
        messages: the request's messages, in API form.
        tools: the names of the tools that may be called.
        system: the request's system prompt, as blocks.
    """
    if recap.wanted(messages):
        return Answer(text=recap.recap(messages))
    if (start := goals.begun(messages)) is not None:
        return _drive([goals.task(messages[: start + 1])], _done(messages[start + 1 :]), tools)
    turn = _turn(messages)
    if recall.wanted(turn.words):
        return Answer(text=recall.answer(system, messages))
    use = served.wanted(turn.words, tools)
    tasks = phrases.tasks(turn.words, turn.before) if use is None else [use]
    if not tasks:
        return Answer(text=talk.unknown(turn.words))
    if plans.needed(tasks) and plans.is_on(messages):
        tasks = plans.planned(tasks, turn.words)
    return _drive(tasks, turn.done, tools)


def _drive(tasks: Sequence[Task], done: Sequence[Done], tools: frozenset[str]) -> Answer:
    """Go through the tasks with the results there are; stop at the first that has to wait for more."""
    rest = list(done)
    said: list[str] = []
    thinking: list[str] = []
    fault: Fault = ""
    for task in tasks:
        mine: list[Done] = []
        while calls := task.calls(mine):
            if len(rest) < len(calls):
                if not mine:
                    said.append(task.intro)
                return _calling(said, thinking, calls, tools)
            mine, rest = mine + rest[: len(calls)], rest[len(calls) :]
        if not rest:
            # With results left over, this was said in an earlier step.
            said.append(task.report(mine))
            if task.thinking:
                thinking.append(task.thinking)
            fault = task.fault or fault
        if any(result.refused for result in mine):
            if task is not tasks[-1]:
                said.append("So I stop here.")
            break
    text = "\n\n".join(part for part in said if part)
    return Answer(text=text, thinking="\n\n".join(thinking), fault=fault)


def _calling(said: list[str], thinking: list[str], calls: tuple[Call, ...], tools: frozenset[str]) -> Answer:
    missing = sorted({call.tool for call in calls} - tools)
    if missing:
        names = ", ".join(code(name) for name in missing)
        said.append(f"But I have no tool {names} in this session, so I stop here.")
        calls = ()
    return Answer(
        text="\n\n".join(part for part in said if part), thinking="\n\n".join(thinking), calls=calls
    )


def _turn(messages: Sequence[Mapping[str, Any]]) -> _Turn:
    start = next((at for at in range(len(messages) - 1, -1, -1) if talk.words_of(messages[at])), None)
    if start is None:
        return _Turn()
    return _Turn(talk.words_of(messages[start]), messages[:start], _done(messages[start + 1 :]))


def _done(messages: Sequence[Mapping[str, Any]]) -> list[Done]:
    """The calls in messages that have their results."""
    done: list[Done] = []
    called: dict[str, Call] = {}
    for message in messages:
        for block in talk.blocks(message):
            if block.get("type") == "tool_use":
                arguments = block.get("input")
                called[str(block.get("id"))] = Call(
                    str(block.get("name")), arguments if isinstance(arguments, dict) else {}
                )
            elif block.get("type") == "tool_result":
                call = called.get(str(block.get("tool_use_id")), Call("", {}))
                done.append(Done(call, result_text(block), bool(block.get("is_error"))))
    return done
