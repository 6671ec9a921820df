"""The demo model in plan mode: it presents what it would do, and does it once it may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tui_agent.llm.demo.planner import Answer, plan
from tui_agent.planning.mode import ModeSource
from tui_agent.prompt.injections import Told

TOOLS = frozenset({"read_file", "write_file", "edit_file", "bash", "glob", "grep", "todo", "present_plan"})
WORDS = "create b.txt with hi, then run `ls`"
ON = "<system-reminder>\nPlan mode is on. Look.\n</system-reminder>"
OVER = "<system-reminder>\nPlan mode is over.\n</system-reminder>"


def said(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def talk(*messages: dict[str, Any], answer: str = "accepted: do it", error: bool = False) -> list[Answer]:
    """What it says and calls until it has no call; every plan is answered so, every other call with `ok`."""
    history, answers = list(messages), list[Answer]()
    while len(answers) < 20:
        answers.append(plan(history, TOOLS))
        calls = answers[-1].calls
        if not calls:
            return answers
        uses, results = [], []
        for number, call in enumerate(calls):
            name = f"t{len(answers)}-{number}"
            planned = call.tool == "present_plan"
            uses.append({"type": "tool_use", "id": name, "name": call.tool, "input": dict(call.arguments)})
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": name,
                    "content": answer if planned else "ok",
                    "is_error": error and planned,
                }
            )
        history += [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    raise AssertionError("it does not come to an end")


def called(answers: list[Answer]) -> list[str]:
    return [call.tool for answer in answers for call in answer.calls]


@pytest.mark.parametrize("words", [said(f"plan to {WORDS}"), said(f"make a plan: {WORDS}"), said(WORDS, ON)])
def test_a_plan_comes_first_and_the_list_goes_along(words: dict[str, Any]) -> None:
    answers = talk(words)
    assert called(answers) == ["present_plan", "todo", "write_file", "todo", "bash", "todo"]
    (first, *_) = answers
    assert first.calls[0].arguments["steps"] == ["Write `b.txt`", "Run `ls`"]
    last = answers[-2].calls[0].arguments["items"]
    assert [item["status"] for item in last] == ["done", "done"]


@pytest.mark.parametrize(
    "messages",
    [[said(WORDS)], [said("hello", ON), said(WORDS, OVER)], [said("read a.txt", ON)]],
    ids=["not asked for", "over", "only looking"],
)
def test_nothing_is_planned_where_nothing_calls_for_it(messages: list[dict[str, Any]]) -> None:
    assert "present_plan" not in called(talk(*messages))


def test_a_rejected_plan_is_not_done() -> None:
    answers = talk(said(WORDS, ON), answer="rejected: too large", error=True)
    assert called(answers) == ["present_plan"]
    assert "rejected: too large" in answers[-1].text


def test_it_reads_what_the_session_tells() -> None:
    def told(mode: str) -> Told:
        moment = SimpleNamespace(context=SimpleNamespace(state={"mode": mode}))
        return ModeSource().generate(moment)  # type: ignore[arg-type]

    on, over = told("plan").text, told("ask").withdrawn
    assert "present_plan" in called(talk(said(WORDS, on)))
    assert "present_plan" not in called(talk(said("hello", on), said(WORDS, over)))
