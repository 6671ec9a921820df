"""The demo model in plan mode, or where a plan is asked for: it presents the tasks, and does them once it may.

The todo list goes along: each step is active while it is done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui_agent.llm.demo import talk
from tui_agent.llm.demo import tasks as work
from tui_agent.llm.demo.tasks import Call, Done, Task
from tui_agent.llm.demo.words import first_line, plural

_ASKED = re.compile(
    r"(?:please\s+)?(?:(?:make|present)\s+(?:me\s+)?a\s+)?plan\b(?:\s+(?:to|for|how to))?\s*:?\s+(.+)",
    re.I | re.S,
)
_ON = "<system-reminder>\nPlan mode is on"
_OVER = "<system-reminder>\nPlan mode is over"
_TITLE = 80
"""Characters of a plan's title."""
_WRITING = (work.Write, work.Replace, work.AddLine, work.Run)


@dataclass(frozen=True, slots=True)
class Present:
    """Present a plan and wait for the answer."""

    title: str
    steps: tuple[str, ...]
    thinking: str = ""
    fault: work.Fault = ""

    @property
    def intro(self) -> str:
        return f"This takes {plural(len(self.steps), 'step')}. I present the plan first."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        text = "The demo model plans as it works: a task for each thing that was asked for, in the order of the words."
        arguments = {"title": self.title, "text": text, "steps": list(self.steps)}
        return () if done else (Call("present_plan", arguments),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return f"The plan was not accepted ({first_line(result.text)}). Say what should be done instead."
        return "The plan is accepted: I do it now."


def wanted(words: str) -> str:
    """What a plan is asked for in words, or `""`."""
    found = _ASKED.fullmatch(words.strip())
    return found[1] if found else ""


def is_on(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Is plan mode on, as the newest reminder has it?"""
    for message in reversed(messages):
        for block in reversed(talk.blocks(message)):
            text = str(block.get("text", ""))
            if text.startswith((_ON, _OVER)):
                return text.startswith(_ON)
    return False


def planned(tasks: Sequence[Task], words: str) -> list[Task]:
    """The same tasks behind a plan that presents them, each between two states of the todo list."""
    steps = tuple(_step(task) for task in tasks)
    made: list[Task] = [Present(" ".join(words.split())[:_TITLE], steps)]
    for at, task in enumerate(tasks):
        made += [_list(steps, at), task]
    return [*made, _list(steps, len(steps))]


def needed(tasks: Sequence[Task]) -> bool:
    """True if one of the tasks would be refused in plan mode."""
    inner = [part for task in tasks for part in (task.tasks if isinstance(task, work.Parallel) else (task,))]
    return any(isinstance(task, _WRITING) for task in inner)


def _step(task: Task) -> str:
    said = (task.intro or "Answer").removeprefix("I'll ").rstrip(".")
    return said[:1].upper() + said[1:]


def _list(steps: Sequence[str], active: int) -> Task:
    status = ["done" if at < active else "active" if at == active else "pending" for at in range(len(steps))]
    return work.Todo(tuple(zip(steps, status, strict=True)), quiet=active < len(steps))
