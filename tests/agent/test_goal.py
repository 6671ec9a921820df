"""A goal in a real session: turns that nobody speaks in, what stops them, and that nothing loses it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.running import Windowed, compacting, is_compaction
from tests.context.compare import check
from tests.support.engine import Run, engine, scripted_settings
from tests.support.script import Hold, Reply, Step
from tests.support.server import ScriptedServer
from tui_agent.agent.driver import IDLE_TURNS
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, Rotated
from tui_agent.commands import CommandError
from tui_agent.compaction.instructions import OPENING
from tui_agent.context import Context
from tui_agent.context.errors import LogWriteError
from tui_agent.events import Answer, Asked, Notice, RequestFailed, TurnEnded, TurnStarted, UsageReported
from tui_agent.planning import goal
from tui_agent.planning.goal import State

SUMMARY = """\
## Goal and current request
Ten parts are to be written.

## Done
- Some parts were written.

## In progress
None.

## Decisions and why
None.

## Failed approaches
None.

## Open questions
None.

## Files and their state
None.
"""


ABOUT_PARTS = SUMMARY.replace(
    "Some parts were written", "The parser reads a line of each part; 解析器 60 lines"
)


def goal_of(run: Run) -> State:
    state = run.session.goal.now
    assert state is not None
    return state


def texts(message: dict[str, Any]) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def turn_of(body: dict[str, Any]) -> int:
    """The turn of the goal that a request belongs to."""
    found = re.findall(
        r"^Turn (\d+) ", "\n".join(t for m in body["messages"] for t in texts(m)), re.MULTILINE
    )
    return int(found[-1])


def is_summariser(body: dict[str, Any]) -> bool:
    return OPENING in str(body["messages"][-1]["content"])


class Worker:
    """A model that writes a part in each turn: a call, then a few words; `before` may give another answer instead."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.written = 0
        self.before: Callable[[int], Step | None] = lambda turn: None
        self.summaries = 0

    def __call__(self, body: dict[str, Any]) -> Any:
        if is_summariser(body):
            self.summaries += 1
            return Reply.text(SUMMARY)
        if any(block["type"] == "tool_result" for block in body["messages"][-1]["content"]):
            return Reply.text(f"part {self.written} is written. " + "It reads well. " * 60)
        if (step := self.before(turn_of(body))) is not None:
            return step if isinstance(step, Reply) else step(body)
        self.written += 1
        report: dict[str, Any] = {"done": [self.written]}
        if self.written == 1:
            report["add"] = [f"part {number}" for number in range(1, self.parts + 1)]
        if self.written == self.parts:
            report |= {"status": "complete", "reason": "all parts are written"}
        return Reply.tools(("bash", {"command": f"echo part {self.written}"}), ("goal", report))


async def test_ten_turns_through_compactions_a_busy_endpoint_an_interrupt_and_a_restart(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        worker, held = Worker(10), {turn: Hold() for turn in (3, 5, 8, 9)}
        busy = [Reply.error(529, retry_after=0.01)]
        told: list[UsageReported | CompactionCompleted] = []

        def before(turn: int) -> Step | None:
            if turn == 2 and busy:
                return busy.pop()
            hold = held.get(turn)
            if hold is None or hold.reached.is_set():
                return None
            if turn in (3, 8):  # a compaction is asked for meanwhile; the turn goes on
                return replace(worker_step(), held=hold, held_after=0)
            return Reply.text("half of an answer").holding(hold, after=2)

        def worker_step() -> Reply:
            worker.before = lambda turn: None
            made = worker({"messages": [{"content": [{"type": "text", "text": "Turn 1 "}]}]})
            worker.before = before
            assert isinstance(made, Reply)
            return made

        def count(run: Run) -> None:
            assert not [notice.text for notice in run.all(Notice) if notice.source == "cache"]
            told.extend(run.all(UsageReported))
            told.extend(run.all(CompactionCompleted))

        worker.before = before
        server.always(worker)
        chosen = scripted_settings(server)
        async with engine(tmp_path, server, settings=chosen, allow=["bash"]) as run:
            await run.session.perform("goal", "tokens=10m", "write ten parts")
            await held[3].reached.wait()
            await run.session.perform("compact")
            held[3].release.set()
            await held[5].reached.wait()
            assert len(run.all(CompactionCompleted)) == 1
            assert await run.session.cancel()
            assert (goal_of(run).status, goal_of(run).reason) == ("paused", "you stopped it")
            await run.session.until_idle()
            sent = len(server.requests)
            await run.session.perform("goal", "resume")
            await held[8].reached.wait()
            await run.session.perform("compact")
            held[8].release.set()
            await held[9].reached.wait()
            assert len(run.all(CompactionCompleted)) == 2 and len(server.requests) > sent
            folder = run.session.folder.path
            await run.session.close()
            count(run)
        async with engine(tmp_path, server, settings=chosen, allow=["bash"], resume="latest") as run:
            assert (goal_of(run).status, goal_of(run).reason) == ("paused", "the program was closed")
            sent = len(server.requests)
            await run.session.until_idle()
            assert len(server.requests) == sent, "it never goes on by itself after a restart"
            await run.session.perform("goal", "resume")
            await run.session.until_idle()
            state = goal_of(run)
            assert (state.status, state.reason, state.done) == ("complete", "all parts are written", 10)
            assert state.spent.turns == 12, "ten that wrote a part, and the two that were cut short"
            assert worker.summaries == 2
            count(run)
            taken = sum(e.total if isinstance(e, UsageReported) else e.input + e.output for e in told)
            assert state.spent.tokens == taken
            for body in server.requests:
                assert "write ten parts" in str(body["messages"]), "no request is without the goal"
            await check(run.context)
        for path in sorted(folder.glob("context*.jsonl")):
            context = Context(path, read_only=True)
            await context.restore()
            for usage, built in requests(context):
                assert usage["request"] == built.sha256, path


def steady(body: dict[str, Any]) -> Reply:
    """A call in each turn, then a word; 100 tokens a request, most of them read from the cache."""
    reply = (
        Reply.text("on")
        if body["messages"][-1]["content"][-1]["type"] == "tool_result"
        else Reply.tools(("bash", {"command": "true"}))
    )
    return reply.using(input=10, output=10, cache_read=70, cache_write=10)


@pytest.mark.parametrize(
    ("budget", "sent", "turns", "says"),
    [
        ("turns=3", 6, 3, "3 of 3 turns are spent"),
        ("turns=1", 2, 1, "1 of 1 turns are spent"),
        ("tokens=500", 5, 3, "500 of 500 tokens are spent"),
        ("tokens=501", 6, 3, "600 of 501 tokens are spent"),
        ("tokens=1", 1, 1, "100 of 1 tokens are spent"),
        ("minutes=1.5", 3, 2, "1.5 of 1.5 minutes are spent"),
    ],
)
async def test_a_budget_stops_it_before_the_request_that_would_be_one_too_many(
    budget: str, sent: int, turns: int, says: str, tmp_path: Path
) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        seconds = [0.0]
        run.session.driver.clock = lambda: seconds[0]

        def half_a_minute(body: dict[str, Any]) -> Reply:
            seconds[0] += 30
            return steady(body)

        server.always(half_a_minute)
        await run.session.perform("goal", budget, "go on and on")
        await run.session.until_idle()
        state = goal_of(run)
        assert (len(server.requests), state.spent.turns) == (sent, turns)
        assert (state.spent.tokens, state.spent.seconds) == (100 * sent, 30 * sent)
        assert (state.status, state.reason) == ("paused", f"out of budget: {says}")
        cut = sent % 2 == 1
        assert run.all(TurnEnded)[-1].reason == ("budget" if cut else "end_turn")
        with pytest.raises(CommandError, match="/goal budget"):
            await run.session.perform("goal", "resume")
        kind = budget.partition("=")[0]
        await run.session.perform("goal", "budget", f"{kind}=none", "turns=5")
        await run.session.perform("goal", "resume")
        await run.session.until_idle()
        assert goal_of(run).spent.turns == 5, "what was spent before counts"


async def test_the_model_cannot_forge_its_budget_nor_its_words(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.script(
            Reply.tools(
                ("goal", {"budget": {"turns": 99}}),
                ("goal", {"text": "something else"}),
                ("goal", {"spent": {"turns": 0}, "status": "active"}),
                ("goal", {"status": "active"}),
                ("goal", {"status": "blocked"}),
                ("goal", {"done": [7]}),
            ),
            Reply.text("so be it"),
        )
        await run.session.perform("goal", "turns=1 keep to it")
        await run.session.until_idle()
        state = goal_of(run)
        assert (state.text, state.budget.turns, state.spent.turns, state.status) == (
            "keep to it",
            1,
            1,
            "paused",
        )
        results = server.requests[-1]["messages"][-1]["content"]
        assert len(results) == 6 and all(result["is_error"] for result in results)


async def test_a_persons_words_come_first_and_then_it_goes_on(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        hold = Hold()
        server.script(
            Reply.tools(("bash", {"command": "true"})).holding(hold, after=0),
            Reply.text("heard at the step"),
            Reply.text("answered after the turn"),
        )
        server.always(steady)
        await run.session.perform("goal", "turns=2 go on")
        await hold.reached.wait()
        await run.session.submit("use tabs", when="step")
        assert ", 1 prompt queued" in (await run.session.perform("status")).text
        await run.session.submit("what time is it?", when="turn")
        assert ", 2 prompts queued" in (await run.session.perform("status")).text
        hold.release.set()
        await run.session.until_idle()
        assert [started.prompt for started in run.all(TurnStarted)] == ["", "what time is it?", ""]
        assert texts(server.requests[1]["messages"][-1]) == ["use tabs"]
        assert texts(server.requests[2]["messages"][-1])[0] == "what time is it?"
        assert turn_of(server.requests[3]) == 2
        assert goal_of(run).spent.turns == 2, "a person's own turn is none of the goal's"


async def test_a_budget_does_not_cut_short_what_a_person_says_meanwhile(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        hold = Hold()
        server.script(
            Reply.tools(("bash", {"command": "true"})).using(input=90, output=10).holding(hold, after=0),
            Reply.text("an answer"),
        )
        await run.session.perform("goal", "tokens=100 go on")
        await hold.reached.wait()
        await run.session.submit("wait, what is that?")
        hold.release.set()
        await run.session.until_idle()
        assert run.context.history[-1].text == "an answer"
        assert goal_of(run).reason.startswith("out of budget")


async def test_a_goal_in_place_of_one_that_runs_does_not_pay_for_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        hold = Hold()
        server.script(Reply.text("x").using(input=900, output=100).holding(hold, after=0))
        server.always(steady)
        await run.session.perform("goal", "turns=9 the first")
        await hold.reached.wait()
        await run.session.perform("goal", "clear")
        await run.session.perform("goal", "turns=2 the second")
        hold.release.set()
        await run.session.until_idle()
        state = goal_of(run)
        assert (state.text, state.spent.turns, state.spent.tokens) == ("the second", 2, 400)
        assert "the first" not in str(server.requests[-1]["messages"][-1])


async def test_a_failing_endpoint_pauses_it_with_the_reason(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.script(*[Reply.error(529, "all busy", retry_after=0.01)] * 8)
        await run.session.perform("goal", "go on")
        await run.session.until_idle()
        state = goal_of(run)
        assert state.status == "paused" and "busy" in state.reason
        assert server.remaining == 0 and state.spent.turns == 1
        server.script(Reply.tools(("goal", {"status": "complete"})), Reply.text("done"))
        await run.session.perform("goal", "resume")
        await run.session.until_idle()
        assert goal_of(run).status == "complete"


@pytest.mark.parametrize("whose", ["the goal's", "a person's"])
async def test_a_turn_that_fails_pauses_it_and_holds_what_waits(whose: str, tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        hold = Hold()
        theirs = whose == "a person's"
        first = Reply.text("on") if theirs else Reply.error(401)
        server.script(first.holding(hold, after=-1), *[Reply.error(401)] * theirs)
        await run.session.perform("goal", "go on")
        await hold.reached.wait()
        if theirs:
            await run.session.submit("what?", when="turn")
        await run.session.submit("hello?", when="turn")
        hold.release.set()
        await run.session.until_idle()
        assert goal_of(run).status == "paused" and "401" in goal_of(run).reason + str(
            run.all(TurnEnded)[-1].error
        )
        assert run.session.paused and [prompt.text for prompt in run.session.queue] == ["hello?"]
        assert server.remaining == 0


async def test_a_fault_of_the_program_pauses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)

        def broken(**options: Any) -> Any:
            raise ZeroDivisionError("no such thing")

        with monkeypatch.context() as patched:
            patched.setattr(run.session.shrinking, "relieve", broken)
            await run.session.perform("goal", "turns=2", "go on")
            await run.session.until_idle()
        assert goal_of(run).reason == "ZeroDivisionError: no such thing"
        await run.session.perform("goal", "resume")
        await run.session.until_idle()
        assert goal_of(run).spent.turns == 2


async def test_an_overflow_that_nothing_helps_pauses_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.always(Reply.overflow())
        await run.session.perform("goal", "go on")
        await run.session.until_idle()
        assert goal_of(run).status == "paused" and "tokens" in goal_of(run).reason


async def test_a_log_that_cannot_be_written_stops_it_though_that_cannot_be_written_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)
        hold = Hold()
        server.script(steady({"messages": [{"content": [{"type": "text"}]}]}).holding(hold, after=0))
        await run.session.perform("goal", "go on")
        await hold.reached.wait()

        async def full(self: Context, *arguments: Any, **fields: Any) -> Any:
            raise LogWriteError(self.path, 28, "a record could not be written")

        with monkeypatch.context() as patched:
            patched.setattr(Context, "append_message", full)
            patched.setattr(Context, "set_state", full)
            hold.release.set()
            await run.session.until_idle()
        assert goal_of(run).status == "active", "the log says so, and nobody works on it"
        assert len(server.requests) == 1 and not run.session.busy
        ended = await run.say("and now?")
        assert ended.reason == "end_turn"
        assert goal_of(run).status == "paused" and "could not be written" in goal_of(run).reason


@pytest.mark.parametrize("note", ["", "not that one, use pnpm"])
async def test_a_refused_call_pauses_it_unless_the_reason_says_how_to_go_on(
    note: str, tmp_path: Path
) -> None:
    def refuse(asked: Asked) -> Answer:
        return Answer("no", note=note)

    async with ScriptedServer() as server, engine(tmp_path, server, answers=refuse) as run:
        server.script(
            Reply.tools(("bash", {"command": "npm test"})), *[Reply.text("with pnpm then")] * bool(note)
        )
        await run.session.perform("goal", "turns=1 test it")
        await run.session.until_idle()
        says = "out of budget: 1 of 1 turns are spent" if note else "you refused a call"
        assert (goal_of(run).status, goal_of(run).reason) == ("paused", says)


async def test_turns_in_which_nothing_is_done_end_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.always(Reply.text("I shall begin at once."))
        await run.session.perform("goal", "begin")
        await run.session.until_idle()
        assert len(server.requests) == IDLE_TURNS
        assert goal_of(run).reason == f"no tool was called in {IDLE_TURNS} turns"


async def test_what_the_model_calls_blocked_waits_for_a_person(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.script(
            Reply.tools(("goal", {"status": "blocked", "reason": "the password is missing"})),
            Reply.text("I cannot go on"),
            Reply.text("good"),
        )
        await run.session.perform("goal", "log in")
        await run.session.until_idle()
        assert goal_of(run).status == "blocked"
        assert any("the password is missing" in notice.text for notice in run.all(Notice))
        await run.say("it is swordfish")
        told = str(server.requests[-1]["messages"][-1])
        assert "It is blocked" in told and "the password is missing" in told
        assert str(server.requests[-1]["messages"]).count("log in") == 1, "its words are known"


async def test_a_compaction_that_runs_is_waited_for(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)
        for number in range(4):
            await run.say(f"part {number}")
        hold = Hold()
        server.script(Reply.text(SUMMARY).holding(hold, after=1))
        await run.session.perform("compact")
        await hold.reached.wait()
        await run.session.perform("goal", "turns=1", "go on")
        sent = len(server.requests)
        assert goal_of(run).spent.turns == 0
        hold.release.set()
        await run.session.until_idle()
        assert run.all(CompactionCompleted) and len(server.requests) == sent + 2
        assert "go on" in str(server.requests[-1]["messages"])
        await check(run.context)


async def test_a_jump_brings_the_goal_of_that_point_back_and_nothing_into_the_composer(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)
        await run.session.perform("goal", "turns=3", "go on")
        await run.session.until_idle()
        last = goal_of(run)
        turns = run.session.timeline.turns()
        assert [turn.words for turn in turns] == ["", "", ""]
        await run.session.perform("revert", str(turns[1].id))
        assert run.all(Rotated)[-1].words == ""
        now = goal_of(run)
        assert (now.spent.turns, now.status, now.reason) == (1, "paused", "the history was changed")
        assert run.session.timeline.can_redo() is False and not run.session.busy
        await check(run.context)
        await run.session.perform("undo")
        assert goal_of(run) == last
        await run.session.perform("redo")
        assert goal_of(run).spent.turns == 1
        backup = run.context.backups()[-1].name
        await run.session.perform("restore", backup)
        assert goal_of(run) == last
        await run.session.perform("clear")
        assert run.session.goal.now is None


async def test_a_killed_program_loses_nothing_that_was_spent(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(
            Reply.tools(("goal", {"add": ["one"]})).using(input=90, output=10),
            Reply.tools(("bash", {"command": "true"})).using(input=190, output=10),
        )
        async with engine(tmp_path, server, answers=lambda asked: None) as run:
            await run.session.perform("goal", "turns=9", "go on")
            await run.until(Asked)  # the second usage is on disk, and not noted yet
            assert goal_of(run).spent.tokens == 100
            folder = run.session.folder
            died = tmp_path / "died" / folder.id
            shutil.copytree(folder.path, died)
        shutil.rmtree(folder.path)
        died.rename(folder.path)
        async with engine(tmp_path, server, resume="latest") as run:
            state = goal_of(run)
            assert (state.status, state.reason) == ("paused", "the program was closed")
            assert (state.spent.tokens, state.spent.turns) == (300, 1)
            assert any("/goal resume" in notice.text for notice in run.all(Notice))
            server.always(steady)
            await run.session.perform("goal", "resume")
            await run.session.until_idle()
            assert goal_of(run).spent.turns == 9
            await check(run.context)


async def test_a_session_that_can_only_be_read_shows_it_and_starts_nothing(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, answers=lambda asked: None) as run:
        server.script(Reply.tools(("bash", {"command": "true"})))
        await run.session.perform("goal", "go on")
        await run.until(Asked)
        async with engine(tmp_path, server, resume=run.session.id) as other:
            assert other.session.read_only
            assert "go on" in (await other.session.perform("goal")).text
            for words in (("pause",), ("resume",), ("clear",), ("edit", "x"), ("another",)):
                with pytest.raises(CommandError, match="only be read"):
                    await other.session.perform("goal", *words)
        assert goal_of(run).status == "active"


async def test_it_is_told_once_per_change_in_a_persons_turns(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)
        await run.session.perform("goal", "turns=1", "A")
        await run.session.until_idle()

        async def told(*commands: str) -> int:
            for command in commands:
                await run.session.perform("goal", *command.split())
            before = len(run.context.history)
            await run.say("and?")
            return sum(
                message.origin == "injection" and "<goal-" in message.text
                for message in list(run.context.history)[before:]
            )

        assert await told() == 1, "that it is paused"
        assert await told() == 0
        assert await told("edit B") == 1
        assert await told("edit A") == 1, "A after B is news"
        assert await told("budget turns=7") == 0
        record = next(iter(run.context.newest_of("injection")))
        await run.session.perform("drop", record.id)
        assert await told() == 1, "it was lost"
        await run.session.perform("goal", "clear")
        await run.say("and?")
        assert "no goal any more" in str(server.requests[-1]["messages"])


async def test_its_turns_do_not_tell_it_again_until_it_changes_or_is_lost(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)

        async def told(*command: str) -> list[int]:
            """How often each request of the turns that follow holds the goal's words."""
            before = len(server.requests)
            await run.session.perform("goal", *command)
            await run.session.until_idle()
            return [str(body["messages"]).count("write the parts") for body in server.requests[before:]]

        assert set(await told("turns=3", "write the parts")) == {1}
        await run.session.perform("goal", "budget", "turns=5")
        assert set(await told("resume")) == {1}, "it is known as it stood"
        full = [m for m in run.context.history if "write the parts" in m.text and m.origin == "injection"]
        await run.session.perform("drop", full[-1].id)
        await run.session.perform("goal", "budget", "turns=7")
        assert set(await told("resume")) == {1}, "it was lost, and is told again, once"
        await run.session.perform("goal", "milestone", "one more")
        await run.session.perform("goal", "budget", "turns=8")
        assert set(await told("resume")) == {1}, "its words are the same"
        assert "1. [ ] one more" in str(server.requests[-1]["messages"]), "how far it is now is told"
        assert goal_of(run).spent.turns == 8
        await check(run.context)


async def test_its_words_are_told_once_while_its_milestones_change(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:

        async def newest(*commands: str) -> str:
            """What the model is told last after these commands and a person's words."""
            for command in commands:
                await run.session.perform("goal", *command.split())
            server.always(Reply.text("noted"))
            await run.say("and?")
            messages = server.requests[-1]["messages"]
            assert str(messages).count("write the parts") == 1
            return str(messages[-1])

        server.always(steady)
        await run.session.perform("goal", "turns=1", "write the parts")
        await run.session.until_idle()
        assert "It is paused" in await newest()
        one = await newest("milestone one")
        assert "1. [ ] one" in one and "as they were" in one
        assert "1. [x] one" in await newest("milestone done 1")
        assert "1. [ ] one" in await newest("milestone open 1"), "A after B is news"
        assert "There are no milestones." in await newest("milestone drop 1")
        assert "goal" not in await newest("budget turns=9"), "what it may take is no news"
        records = [r for r in run.context.newest_of("injection") if r.body["sources"][0]["name"] == "goal"]
        await run.session.perform("drop", records[0].id)
        await newest()  # its words were lost, and are told again
        await check(run.context)


async def test_of_a_goal_that_is_reached_its_words_are_not_told_again(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.script(Reply.tools(("goal", {"status": "complete"})), Reply.text("done"), Reply.text("yes"))
        await run.session.perform("goal", "write the parts")
        await run.session.until_idle()
        await run.say("is it done?")
        messages = server.requests[-1]["messages"]
        assert "The goal of this session is complete" in str(messages[-1])
        assert str(messages).count("write the parts") == 1
        server.script(Reply.text("yes, it is"))
        await run.say("sure?")
        assert "is complete" not in str(server.requests[-1]["messages"][-1]), "it is told once"


async def test_the_title_is_the_goal_and_every_record_of_a_turn_has_an_origin(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.always(steady)
        await run.session.perform("goal", "turns=1", "mend the parser")
        await run.session.until_idle()
        assert run.session.title == "mend the parser"
        assert not any(message.is_words for message in run.context.history)
        assert not server.violations


async def test_commands_say_what_is_wrong_and_change_nothing(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        perform = run.session.perform

        async def refused(*words: str) -> str:
            with pytest.raises(CommandError) as raised:
                await perform("goal", *words)
            return str(raised.value)

        for words in (
            ("pause",),
            ("clear",),
            ("edit", "x"),
            ("budget", "turns=3"),
            ("milestone", "x"),
            ("resume",),
        ):
            assert "there is no goal" in await refused(*words)
        assert "4,001" in await refused("x" * 4_001)
        assert run.session.goal.now is None and not server.requests
        server.script(Reply.text("fine").stopping("refusal"))
        await perform("goal", "turns=2 clear the\n  backlog")
        await run.session.until_idle()
        assert goal_of(run).text == "clear the\n  backlog"
        assert goal_of(run).reason == "the model refused to answer"
        assert "/goal edit TEXT" in await refused("another")
        assert "tokens=50000" in await refused("budget", "lots")
        assert "above 0" in await refused("budget", "turns=0")
        assert "4,001" in await refused("edit", "x" * 4_001)
        assert "no milestone 2" in await refused("milestone", "done", "2")
        assert (await perform("goal", "milestone", "read", "it")).data["goal"]["milestones"]
        await perform("goal", "milestone", "done", "1")
        assert goal_of(run).done == 1
        await perform("goal", "milestone", "drop", "1")
        assert goal_of(run).milestones == ()
        await perform("goal", "complete")
        assert "complete already" in await refused("complete")
        server.script(Reply.text("fine").stopping("refusal"))
        await perform("goal", "--", "pause", "the", "music")
        await run.session.until_idle()
        assert goal_of(run).text == "pause the music"
        assert json.loads(json.dumps((await perform("goal")).data))["goal"]["status"] == "paused"


class Restless:
    """Somebody who does one thing after another to a goal, waiting now and then until nothing runs."""

    def __init__(self, seed: int, run: Run) -> None:
        self.random = random.Random(seed)
        self.run = run
        self.done: list[str] = []

    async def act(self) -> None:
        name = self.random.choice(("set", "goal", "cancel", "compact", "travel", "say", "steps", "idle"))
        self.done.append(name)
        with contextlib.suppress(CommandError):
            await getattr(self, f"_{name}")()

    async def _set(self) -> None:
        await self.run.session.perform("goal", "turns=3", f"goal {len(self.done)}")

    async def _goal(self) -> None:
        words = self.random.choice(
            ("pause", "resume", "resume", "clear", "complete", "budget turns=9", "edit other")
        )
        await self.run.session.perform("goal", *words.split())

    async def _cancel(self) -> None:
        await self.run.session.cancel()

    async def _compact(self) -> None:
        await self.run.session.perform("compact")

    async def _travel(self) -> None:
        turns = self.run.session.timeline.turns()
        if turns and self.random.random() < 0.5:
            await self.run.session.perform("revert", str(self.random.choice(turns).id))
        else:
            await self.run.session.perform(self.random.choice(("undo", "undo", "redo")))

    async def _say(self) -> None:
        await self.run.session.submit("a word", when=self.random.choice(("step", "turn")))

    async def _steps(self) -> None:
        for _ in range(self.random.randrange(1, 40)):
            await asyncio.sleep(0)

    async def _idle(self) -> None:
        await self.run.session.until_idle()
        self.run.session.go_on()
        await self.run.session.until_idle()
        state = self.run.session.goal.now
        assert state is None or state.status != "active", "what is active is worked on"
        assert not self.run.session.driver.due


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 60))]
)
async def test_whatever_is_done_to_it_the_log_is_sound_and_what_is_active_is_worked_on(
    seed: int, tmp_path: Path
) -> None:
    def model(body: dict[str, Any]) -> Reply:
        return Reply.text(SUMMARY) if is_summariser(body) else steady(body)

    async with ScriptedServer() as server:
        server.always(model)
        for resume in (None, "latest"):
            async with engine(tmp_path, server, allow=["bash"], resume=resume) as run:
                somebody = Restless(seed, run)
                for _ in range(14):
                    await somebody.act()
                await somebody._idle()
                await check(run.context)
                for usage, built in requests(run.context):
                    assert usage["request"] == built.sha256, somebody.done


async def test_in_plan_mode_it_waits_with_the_plan_for_a_person(tmp_path: Path) -> None:
    plan = {"title": "mend it", "text": "In two steps.", "steps": ["read it", "mend it"]}
    answers = iter((Answer("dismissed"), Answer("once")))

    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, answers=lambda asked: next(answers)) as run,
    ):
        await run.session.perform("mode", "plan")
        server.script(Reply.tools(("write_file", {"path": "a", "content": "b"}), ("present_plan", plan)))
        await run.session.perform("goal", "turns=3", "mend it")
        await run.session.until_idle()
        assert not (tmp_path / "a").exists()
        assert (goal_of(run).status, goal_of(run).reason) == ("paused", "a plan waits for a person")
        server.script(
            Reply.tools(("present_plan", plan)),
            Reply.tools(("goal", {"status": "complete"})),
            Reply.text("it is mended"),
        )
        await run.session.perform("goal", "resume")
        await run.session.until_idle()
        assert goal_of(run).status == "complete"
        await check(run.context)


LONG = "请把解析器的每一部分都改写成新的格式，并且在每次修改之后运行测试，确认没有任何一行丢失。" * 100


class Parts:
    """A model that reads a part in each turn of the goal, adds a milestone, and calls it complete in the last."""

    def __init__(self, turns: int) -> None:
        self._left = turns

    def __call__(self, body: dict[str, Any]) -> Reply:
        if "tool_result" in str(body["messages"][-1]):
            return Reply.text("read. " + "The parser reads a line. " * 20)
        self._left -= 1
        if not self._left:
            return Reply.tools(("goal", {"status": "complete"}))
        return Reply.tools(("bash", {"command": "seq 60"}), ("goal", {"add": [f"read part {self._left}"]}))


async def test_four_thousand_characters_of_chinese_are_worked_on_in_a_window_of_8k(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(Windowed(8_000, Reply.text(ABOUT_PARTS), Parts(8)))
        settings = compacting(server, window=8_000)
        async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
            done = await run.session.perform("goal", LONG[: goal.MAX_CHARACTERS])
            assert "there is little room beside them" in done.text
            await run.session.until_idle()
            state = goal_of(run)
            assert (state.status, len(state.text)) == ("complete", goal.MAX_CHARACTERS), state.reason
            assert state.done == 0 and len(state.milestones) == state.spent.turns - 1
            assert run.all(CompactionCompleted) and not run.all(RequestFailed)
            for body in server.requests:
                assert is_compaction(body) or str(body["messages"]).count(state.text) == 1
            await check(run.context)


async def test_a_goal_for_which_the_window_is_too_small_is_refused_when_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("- mind the parser and its tests\n" * 160)
    async with ScriptedServer() as server:
        server.always(Reply.text("noted"))
        async with engine(tmp_path, server, settings=compacting(server, window=8_000)) as run:
            with pytest.raises(CommandError, match="the goal does not fit") as refused:
                await run.session.perform("goal", LONG[: goal.MAX_CHARACTERS])
            assert run.session.goal.now is None and not server.requests
            for way in ("/model", "into a file", "8,000"):
                assert way in str(refused.value)
            (fits,) = re.findall(r"in about ([\d,]+) characters", str(refused.value))
            length = int(fits.replace(",", ""))
            await run.session.perform("goal", "turns=1", LONG[:length])
            await run.session.until_idle()
            with pytest.raises(CommandError, match="the goal does not fit"):
                await run.session.perform("goal", "edit", LONG[: goal.MAX_CHARACTERS])
            assert goal_of(run).text == LONG[:length]


async def test_a_goal_that_a_smaller_window_has_no_room_for_goes_on_in_fewer_words(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("- mind the parser and its tests\n" * 110)
    async with ScriptedServer() as server:
        parts = Parts(6)
        server.always(Windowed(40_000, Reply.text(ABOUT_PARTS), parts))
        settings = compacting(server, window=40_000)
        async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
            await run.session.perform("goal", "turns=2", LONG[: goal.MAX_CHARACTERS])
            await run.session.until_idle()
            run.session.take_settings(compacting(server, window=8_000))
            server.always(Windowed(8_000, Reply.text(ABOUT_PARTS), parts))
            await run.session.perform("model", "scripted")
            await run.session.perform("goal", "budget", "turns=9")
            await run.session.perform("goal", "resume")
            await run.session.until_idle()
            told = run.all(RequestFailed)[-1]
            assert goal_of(run).status == "paused"
            assert any("/goal edit TEXT" in way for way in told.ways), told.ways
            await run.session.perform("goal", "edit", "read the parts")
            await run.session.perform("goal", "resume")
            await run.session.until_idle()
            assert goal_of(run).status == "complete", goal_of(run).reason
            await check(run.context)
