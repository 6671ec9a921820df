"""The demo model at work on a goal: its words are tasks, each a milestone; a turn does one of them and says so.

It goes by what it is told at the beginning of the turn alone: the goal's words, and which milestones are reached.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui_agent.llm.demo import phrases, talk
from tui_agent.llm.demo import tasks as work
from tui_agent.llm.demo.tasks import Call, Done, Task
from tui_agent.llm.demo.words import code, first_line, plural

_TURN = re.compile(r"<system-reminder>\nTurn [\d,]+ .*?of the work on the goal", re.DOTALL)
_DATA = re.compile(r"^<(goal-\w+)>\n(.*)\n</\1>$", re.DOTALL | re.MULTILINE)
_NEWS = re.compile(r"^<(goal-news-\w+)>\n(.*)\n</\1>$", re.DOTALL | re.MULTILINE)
_MILESTONES = "\n\nMilestones:\n"
_MILESTONE = re.compile(r"^\d+\. \[([ x])\] (.*)$", re.MULTILINE)
_TITLE = 120
"""Characters of a milestone."""


def begun(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Where the turn of a goal began in which nobody has spoken since; None if the newest turn is none."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].get("role") != "user":
            continue
        for block in reversed(talk.blocks(messages[at])):
            text = str(block.get("text", "")) if block.get("type") == "text" else ""
            if talk.is_words(text):
                return None
            if _TURN.match(text):
                return at
    return None


def task(messages: Sequence[Mapping[str, Any]]) -> Task:
    """What is to be done in the turn that the last of the messages begins."""
    texts = [
        str(block.get("text", "")) for message in reversed(messages) for block in reversed(_texts(message))
    ]
    told = next((at for at, text in enumerate(texts) if _DATA.search(text)), len(texts))
    found = _DATA.search(texts[told]) if told < len(texts) else None
    words, _, listed = (found[2] if found else "").partition(_MILESTONES)
    listed = next((news[2] for text in texts[:told] if (news := _NEWS.search(text)) is not None), listed)
    jobs = phrases.tasks(words, ()) or [work.List("*"), work.Search("TODO"), work.Say(_HONEST)]
    milestones = _MILESTONE.findall(listed)
    if not milestones:
        return _Begin(_names(jobs))
    number = next((at for at, (sign, _) in enumerate(milestones, 1) if sign == " "), 0)
    if not number:
        return _Finish(len(milestones))
    job = jobs[number - 1] if number <= len(jobs) else work.Say(_HONEST)
    return _Step(job, number, last=sum(sign == " " for sign, _ in milestones) == 1)


def _texts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The texts of a message that is not the model's own."""
    return (
        [b for b in talk.blocks(message) if b.get("type") == "text"] if message.get("role") == "user" else []
    )


_HONEST = "I am a demo model, no AI: this is as far as I can work on it."


def _names(jobs: Sequence[Task]) -> tuple[str, ...]:
    """What the milestones are called; those that are alike are told apart by number."""
    named: list[str] = []
    for job in jobs:
        intro = job.intro.removeprefix("I'll ").rstrip(".")
        name = (intro or "say what can be said")[:_TITLE]
        times = 1 + sum(other == name or other.startswith(f"{name}, time ") for other in named)
        named.append(name if times == 1 else f"{name}, time {times}")
    return tuple(named)


@dataclass(frozen=True, slots=True)
class _Begin:
    """Write the milestones down."""

    names: tuple[str, ...]
    thinking: str = ""
    fault: work.Fault = ""

    @property
    def intro(self) -> str:
        return f"The goal takes {plural(len(self.names), 'step')}. I write them down as milestones."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        return () if done else (Call("goal", {"add": list(self.names)}),)

    def report(self, done: Sequence[Done]) -> str:
        if done[-1].error:
            return work.failure(done[-1], "The milestones were not written")
        return "The milestones stand. The next turn begins with the first."


@dataclass(frozen=True, slots=True)
class _Step:
    """Do a task, then mark its milestone; one that fails blocks the goal."""

    job: Task
    number: int
    last: bool

    @property
    def intro(self) -> str:
        return self.job.intro or f"Milestone {self.number} comes now."

    @property
    def thinking(self) -> str:
        return self.job.thinking

    @property
    def fault(self) -> work.Fault:
        return self.job.fault

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if done and done[-1].call.tool == "goal":
            return ()
        if calls := self.job.calls(done):
            return calls
        failed = next((result for result in done if result.error), None)
        if failed is not None:
            reason = f"milestone {self.number} failed: {first_line(failed.text)}"
            return (Call("goal", {"status": "blocked", "reason": reason}),)
        report: dict[str, Any] = {"done": [self.number]}
        if self.last:
            report |= {"status": "complete", "reason": "every milestone is reached"}
        return (Call("goal", report),)

    def report(self, done: Sequence[Done]) -> str:
        mine, told = done[:-1], done[-1]
        text = self.job.report(mine) if mine or not self.job.calls(()) else ""
        if told.error:
            return f"{text}\n\n{work.failure(told, 'The goal was not marked')}"
        state = "blocked" if any(result.error for result in mine) else "complete" if self.last else ""
        end = (
            f"The goal is {state}."
            if state
            else f"Milestone {self.number} is reached; the next turn goes on."
        )
        return f"{text}\n\n{end}".strip()


@dataclass(frozen=True, slots=True)
class _Finish:
    """Every milestone is reached: say so."""

    count: int
    intro: str = "Every milestone is reached."
    thinking: str = ""
    fault: work.Fault = ""

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        reason = f"{plural(self.count, 'milestone')} reached"
        return () if done else (Call("goal", {"status": "complete", "reason": reason}),)

    def report(self, done: Sequence[Done]) -> str:
        return f"The goal is complete. The tool said: {code(done[-1].text.splitlines()[0] if done[-1].text else '')}"
