"""The demo model at work on a goal, in a session with real tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.context.compare import check
from tests.support.engine import Run, engine
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, MicroCompacted
from tui_agent.events import Answer, Asked, Notice, ToolEnded
from tui_agent.llm.demo import DemoProvider
from tui_agent.planning.goal import State
from tui_agent.settings.schema import Compaction, Profile, Settings


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers come in one go."""
    fast = DemoProvider.__init__.__kwdefaults__ | {"delay": 0}
    monkeypatch.setattr(DemoProvider.__init__, "__kwdefaults__", fast)


async def worked(run: Run, words: str) -> State:
    await run.session.perform("goal", words)
    await run.session.until_idle()
    state = run.session.goal.now
    assert state is not None
    return state


async def test_it_does_a_milestone_in_each_turn_and_completes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with engine(tmp_path, allow=["write_file"]) as run:
        state = await worked(run, "read a.txt, then create b.txt with `two`, then list *.txt")
        assert (state.status, state.done, state.spent.turns) == ("complete", 3, 4)
        assert state.milestones[0].text == "read `a.txt`"
        assert (tmp_path / "b.txt").read_text() == "two\n"
        tools = [event.tool for event in run.all(ToolEnded) if event.outcome == "ok"]
        assert tools == ["goal", "read_file", "goal", "write_file", "goal", "glob", "goal"]


async def test_what_it_does_not_understand_it_still_works_on(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        state = await worked(run, "bring about world peace")
        assert (state.status, state.done) == ("complete", 3)
        assert "no AI" in run.context.history[-1].text


async def test_a_failure_blocks_it_and_a_refusal_pauses_it(tmp_path: Path) -> None:
    def refuse(asked: Asked) -> Answer:
        return Answer("no")

    async with engine(tmp_path, answers=refuse) as run:
        state = await worked(run, "read missing.txt, then list *")
        assert state.status == "blocked" and "missing.txt" in state.reason
        await run.session.perform("goal", "clear")
        state = await worked(run, "run `ls`, then list *")
        assert (state.status, state.reason, state.done) == ("paused", "you refused a call", 0)
        heard = await run.say("hello")
        assert heard.reason == "end_turn" and "Hello" in run.context.history[-1].text


async def test_a_goal_outlasts_summaries_and_shortened_results_in_a_small_window(tmp_path: Path) -> None:
    """Old results are shortened, the history is summarised, and no request is without the goal."""
    (tmp_path / "long.txt").write_text("a line of some length to read\n" * 160)
    demo = Profile(name="demo", provider="demo", auth="none", context_window=18_000)
    made = Settings(profile="demo", profiles={"demo": demo})
    made = replace(made, compaction=Compaction(micro_ratio=0.3, trigger_ratio=0.6))
    async with engine(tmp_path, settings=made, allow=["bash"]) as run:
        parts = ", then ".join(["read long.txt", "run `cat long.txt`"] * 5)
        state = await worked(run, f"turns=20 {parts}")
        assert (state.status, state.done) == ("complete", 10), state.reason
        assert run.all(CompactionCompleted) and run.all(MicroCompacted)
        for usage, built in requests(run.context):
            assert usage["request"] == built.sha256
            assert "read long.txt, then run" in str(built.messages)
        assert not [notice.text for notice in run.all(Notice) if notice.source == "cache"]
        await check(run.context)
