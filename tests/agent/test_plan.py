"""Plan mode and plans in a real session: nothing is written, a plan is accepted, changed or rejected, and it lasts."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_compaction import SUMMARY, settings
from tests.agent.test_reminders import extends, last_words
from tests.support.engine import engine, once
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted
from tui_agent.commands import CommandError
from tui_agent.events import Answer, Asked, Notice, StateChanged, ToolEnded, ToolStarted, TurnEnded
from tui_agent.planning.mode import MEANS

PLAN = {"title": "a report", "text": "Why: it is missing.", "steps": ["write it", "test it"]}
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("write_file", {"path": "made.txt", "content": "x"}),
    ("edit_file", {"path": "a.txt", "old": "alpha", "new": "beta"}),
    ("bash", {"command": "touch made.txt"}),
    ("bash", {"command": "echo x > made.txt"}),
    ("bash", {"command": "find . -name a.txt -delete"}),
    ("bash", {"command": "sort -o made.txt a.txt"}),
    ("bash", {"command": "cat a.txt | tee made.txt"}),
    ("bash", {"command": "git diff --output=made.txt"}),
    ("bash", {"command": "PAGER='touch made.txt' git log"}),
)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workspace with one file."""
    made = tmp_path / "shop"
    made.mkdir()
    (made / "a.txt").write_text("alpha\n")
    return made


def untouched(shop: Path) -> bool:
    return [path.name for path in shop.iterdir()] == ["a.txt"] and (shop / "a.txt").read_text() == "alpha\n"


def results(server: ScriptedServer, at: int = -1) -> list[dict[str, Any]]:
    """The tool results that came with a request."""
    return [
        block for block in server.requests[at]["messages"][-1]["content"] if block["type"] == "tool_result"
    ]


def answering(plan: Answer) -> Callable[[Asked], Answer]:
    """Answers plans so, and says yes to everything else."""
    return lambda asked: plan if asked.question.kind == "plan" else once(asked)


async def test_in_plan_mode_no_tool_writes_whatever_is_allowed(shop: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(*WRITES), Reply.text("I see"))
    async with engine(shop, server, allow=["bash", "write_file", "edit_file"]) as run:
        await run.session.perform("mode", "plan")
        ended = await run.say("write it")
        assert ended.reason == "end_turn", "the model is told why and goes on"
        assert untouched(shop) and not run.all(Asked)
        refused = results(server)
        assert len(refused) == len(WRITES) and all(block["is_error"] for block in refused)
        for block in refused:
            assert "plan mode is on" in str(block) and "present_plan" in str(block)
            assert "the person refused" not in str(block)
        assert {event.outcome for event in run.all(ToolEnded)} == {"denied"}


async def test_in_plan_mode_one_may_look_and_a_command_of_ones_own_runs(
    shop: Path, server: ScriptedServer
) -> None:
    looks = (
        ("read_file", {"path": "a.txt"}),
        ("bash", {"command": "cat a.txt"}),
        ("todo", {"items": [{"text": "x"}]}),
    )
    server.script(Reply.tools(*looks), Reply.text("seen"))
    async with engine(shop, server) as run:
        await run.session.perform("mode", "plan")
        await run.say("look")
        assert [event.outcome for event in run.all(ToolEnded)] == ["ok", "ok", "ok"]
        assert [asked.question.tool for asked in run.all(Asked)] == ["bash"], "as it asks without plan mode"
        await run.session.perform("run", "touch mine.txt")
        assert (shop / "mine.txt").exists()


async def test_an_answer_given_before_plan_mode_opens_nothing_in_it(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("write_file", {"path": "made.txt", "content": "x"})), Reply.text("ok"))
    async with engine(shop, server, answers=lambda asked: None) as run:
        await run.session.submit("write it")
        asked = await run.until(Asked)
        await run.session.perform("mode", "plan")
        await run.session.answer(asked.question.id, Answer("always"))
        await run.until(TurnEnded)
        assert untouched(shop) and "plan mode is on" in str(results(server))


async def test_nor_does_a_command_that_a_person_changed_on_its_card(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("bash", {"command": "cat a.txt"})), Reply.text("ok"))
    async with engine(shop, server, answers=lambda asked: Answer("once", edited="touch made.txt")) as run:
        await run.session.perform("mode", "plan")
        await run.say("look")
        assert untouched(shop) and "plan mode is on" in str(results(server))


async def test_a_mode_that_changes_while_a_turn_runs_holds_from_the_next_call_on(
    shop: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    write = Reply.tools(("write_file", {"path": "made.txt", "content": "x"}))
    server.script(write.holding(hold), Reply.text("ok"))
    async with engine(shop, server) as run:
        await run.session.submit("write it")
        await hold.reached.wait()
        said = await run.session.perform("mode", "plan")
        assert "from the next call on" in said.text
        hold.release.set()
        await run.until(TurnEnded)
        assert untouched(shop)


async def test_auto_edit_writes_in_the_workspace_and_asks_for_the_rest(
    shop: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    (shop / "out").symlink_to(tmp_path)
    server.script(
        Reply.tools(
            ("write_file", {"path": "made.txt", "content": "x"}),
            ("edit_file", {"path": "a.txt", "old": "alpha", "new": "beta"}),
            ("write_file", {"path": "out/evil.txt", "content": "x"}),
            ("write_file", {"path": ".git/hooks/pre-commit", "content": "x"}),
            ("bash", {"command": "touch evil.txt"}),
        ),
        Reply.text("ok"),
    )
    no = Answer("no", note="not that")
    async with engine(shop, server, answers=lambda asked: no) as run:
        await run.session.perform("mode", "auto-edit")
        await run.say("write")
        assert (shop / "made.txt").read_text() == "x" and (shop / "a.txt").read_text() == "beta\n"
        assert [asked.question.tool for asked in run.all(Asked)] == ["write_file", "write_file", "bash"]
        assert not (tmp_path / "evil.txt").exists() and not (shop / ".git").exists()


async def test_an_accepted_plan_ends_plan_mode_and_is_done(shop: Path, server: ScriptedServer) -> None:
    server.script(
        Reply.tools(("present_plan", PLAN)),
        Reply.tools(
            ("write_file", {"path": "made.txt", "content": "x"}),
            ("todo", {"items": [{"text": "write it", "status": "done"}]}),
        ),
        Reply.text("done"),
        Reply.text("yes"),
        Reply.text("yes"),
    )
    async with engine(shop, server) as run:
        await run.session.perform("plan", "make", "a", "report")
        await run.until(TurnEnded)
        await run.session.until_idle()
        assert last_words(server.requests[0])[0] == "make a report"
        assert "Plan mode is on" in last_words(server.requests[0])[1]
        assert "accepted" in str(results(server, 1))
        assert (shop / "made.txt").exists() and run.session.plans.mode.now == "ask"
        shown = await run.session.perform("plan")
        assert "1 of 2 steps done" in shown.text and shown.data["plan"]["steps"][1]["status"] == "pending"
        await run.say("and now?")
        words, plan, mode = last_words(server.requests[-1])
        assert (words, "2. test it" in plan, "Plan mode is over" in mode) == ("and now?", True, True)
        await run.say("and now?")
        assert last_words(server.requests[-1]) == ["and now?"]
        assert all(map(extends, server.requests, server.requests[1:]))
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_a_plan_is_done_as_the_person_changed_it(shop: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.text("done"))
    edited = Answer("once", rule="auto-edit", edited="# b\n\ntext\n\n## Steps\n\n1. only this")
    async with engine(shop, server, answers=answering(edited)) as run:
        await run.session.perform("mode", "plan")
        await run.say("plan it")
        assert "1. only this" in str(results(server)) and run.session.plans.mode.now == "auto-edit"
        assert [item.text for item in run.session.todo.items()] == ["only this"]


async def test_a_plan_waits_for_the_person_in_the_name_of_its_call(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.text("done"))
    async with engine(shop, server, answers=answering(Answer("once"))) as run:
        await run.say("plan it")
        (question,) = [event.question for event in run.all(Asked)]
        assert question.call == run.all(ToolEnded)[0].call, "so its line says that it asks"


async def test_a_rejected_plan_is_presented_again_and_without_a_reason_the_turn_ends(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.tools(("present_plan", PLAN), WRITES[0]))
    verdicts = iter((Answer("no", note="too large"), Answer("no")))
    async with engine(shop, server, answers=lambda asked: next(verdicts)) as run:
        await run.session.perform("mode", "plan")
        ended = await run.say("plan it")
        assert ended.reason == "denied" and len(server.requests) == 2
        assert "rejected: too large" in str(results(server))
        assert run.session.plans.mode.now == "plan" and untouched(shop)
        assert [event.outcome for event in run.all(ToolEnded)] == ["error", "error", "denied"]


async def test_a_plan_that_waits_is_withdrawn_with_its_turn(shop: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.text("again"))
    async with engine(shop, server, answers=lambda asked: None) as run:
        await run.session.perform("mode", "plan")
        await run.session.submit("plan it")
        await run.until(Asked)
        await run.session.cancel()
        assert run.session.plans.now is None and not run.session.questions.open()
        assert (await run.say("again")).reason == "end_turn"


async def test_mode_and_plan_come_back_with_the_session_and_leave_to_edit_does_not(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), *[Reply.text("yes")] * 3)
    async with engine(shop, server, answers=answering(Answer("once", rule="auto-edit"))) as run:
        await run.session.perform("mode", "plan")
        await run.say("plan it")
        session = run.session.id
    async with engine(shop, server, resume=session) as run:
        assert run.session.plans.mode.now == "ask" and run.session.plans.now is not None
        assert [notice for notice in run.all(Notice) if "auto-edit does not come back" in notice.text]
        await run.say("go on")
        assert "1. write it" in "\n".join(last_words(server.requests[-1]))
        await run.session.perform("mode", "plan")
    async with engine(shop, server, resume=session) as run:
        assert run.session.plans.mode.now == "plan" and not run.all(Notice)
        await run.say("go on")
        assert "Plan mode is on" in last_words(server.requests[-1])[1]


async def test_mode_and_plan_revert_and_are_told_again(shop: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("hi"), Reply.tools(("present_plan", PLAN)), *[Reply.text("yes")] * 4)
    async with engine(shop, server) as run:
        await run.say("hello")
        await run.session.perform("mode", "plan")
        await run.say("plan it")
        await run.say("go on")
        told = last_words(server.requests[-1])
        number = run.context.checkpoints()[-2].id
        assert run.context.checkpoints()[-2].turn
        await run.session.perform("revert", str(number))
        await run.say("go on")
        assert last_words(server.requests[-1]) == told, "the same, once more"
        await run.session.perform("revert", "1")
        assert run.session.plans.now is None and run.session.todo.items() == []
        await run.session.perform("undo")
        assert run.session.plans.now is not None


async def test_a_summary_loses_neither_plan_nor_mode(shop: Path, server: ScriptedServer) -> None:
    server.script(
        Reply.tools(("present_plan", PLAN)),
        *[Reply.text("word " * 400)] * 6,
        Reply.text(SUMMARY),
        Reply.text("yes"),
    )
    async with engine(shop, server) as run:
        await run.session.perform("mode", "plan")
        await run.say("plan it")
        await run.session.perform("mode", "plan")
        for number in range(5):
            await run.say(f"question {number}")
        await run.session.perform("compact")
        await run.session.until_idle()
        await run.say("go on")
        assert not server.remaining
        sent = str(server.requests[-1]["messages"])
        assert sent.count("Plan mode is on") == 1 and sent.count("The person accepted this plan") == 1
        assert run.session.plans.progress()[0].text == "write it"


@pytest.mark.parametrize("steps", [0, 3, 8])
async def test_a_mode_chosen_while_the_first_words_are_on_their_way_finds_one_prompt(
    shop: Path, server: ScriptedServer, steps: int
) -> None:
    server.script(Reply.text("hi"))
    async with engine(shop, server) as run:
        await run.session.submit("hello")
        for _ in range(steps):
            await asyncio.sleep(0)
        await run.session.perform("mode", "plan")
        await run.until(TurnEnded)
        roles = [record.role for record in run.context.records]
        assert roles[:2] == ["_system_prompt", "_tools"]
        assert (roles.count("_system_prompt"), roles.count("_tools"), roles.count("_state")) == (1, 1, 1)


@pytest.mark.parametrize("lines", [200, 2000], ids=["a summary", "an elision"])
async def test_what_went_in_the_middle_of_a_turn_is_told_before_its_next_step(
    shop: Path, server: ScriptedServer, lines: int
) -> None:
    """For a request that did not fit: where the summary is too short for what it stands for, old calls are left out."""
    step = Reply.tools(("bash", {"command": f"seq {lines}"}), text="word " * 300)
    plan = Reply.tools(("present_plan", PLAN))
    server.script(
        plan, *[step] * 7, Reply.overflow(), Reply.text(SUMMARY), Reply.text("done"), Reply.text("yes")
    )
    keys = {"keep_messages": 2}
    async with engine(shop, server, settings=settings(server, **keys), allow=["bash"]) as run:
        await run.session.perform("mode", "plan")
        assert (await run.say("plan it")).reason == "end_turn"
        assert bool(run.all(CompactionCompleted)) == (lines == 200)
        sent = str(server.requests[-1]["messages"])
        assert "'name': 'present_plan'" not in sent, "what was presented is not sent any more"
        assert sent.count("The person accepted this plan") == 1 and "1. write it" in sent
        assert "This is your todo list" in sent
        await run.say("go on")
        assert str(server.requests[-1]["messages"]).count("The person accepted this plan") == 1
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_a_session_is_opened_in_a_mode_that_holds_before_anything_is_written(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("hi"), Reply.text("again"))
    async with engine(shop, server, mode="auto-edit") as run:
        assert run.session.plans.mode.allows == "auto-edit" and not len(run.context.records)
        await run.say("hello")
        assert run.context.state["mode"] == "auto-edit"
    async with engine(shop, server, resume="latest", mode="plan") as run:
        assert run.session.plans.mode.now == "plan"
        assert not [notice for notice in run.all(Notice) if notice.source == "mode"], "nothing lapsed"
        await run.say("go on")
        assert "Plan mode is on" in str(last_words(server.requests[-1]))
        assert run.context.state["mode"] == "plan"
        assert [event.value for event in run.all(StateChanged)] == ["plan"]


async def test_commands_say_what_there_is_and_what_is_wrong(shop: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.text("yes"))
    async with engine(shop, server) as run:
        perform = run.session.perform
        shown = await perform("mode")
        assert shown.data["mode"] == "ask" and shown.text.startswith("mode ask: ")
        assert all(f"  {name}: {MEANS[name]}" in shown.text for name in ("auto-edit", "plan"))
        assert [(await perform("mode", "next")).data["mode"] for _ in range(3)] == [
            "auto-edit",
            "plan",
            "ask",
        ]
        assert [event.value for event in run.all(StateChanged)] == ["auto-edit", "plan", "ask"]
        await asyncio.gather(*(perform("mode", "next") for _ in range(2)))
        assert (await perform("mode")).data["mode"] == "plan", "a key that is pressed twice goes two modes on"
        assert (await perform("mode", "auto", "edit")).data["mode"] == "auto-edit"
        said = await perform("permissions")
        assert said.text.startswith("mode auto-edit: files of the workspace are written without asking")
        with pytest.raises(CommandError, match="there are ask, auto-edit, plan"):
            await perform("mode", "yolo")
        assert "no accepted plan" in (await perform("plan")).text
        assert "no accepted plan" in (await perform("plan", "clear")).text
        await run.say("plan it")
        assert "cleared" in (await perform("plan", "clear")).text
        assert run.session.todo.items() == [] and run.session.plans.now is None
        run.session.read_only = "another program has it open"
        with pytest.raises(CommandError, match="another program"):
            await perform("mode", "plan")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
async def test_the_demo_plans_and_does_it(shop: Path) -> None:
    async with engine(shop) as run:
        await run.session.perform("mode", "plan")
        await run.say("create b.txt with hello, then run `git --version`")
        assert (shop / "b.txt").read_text() == "hello\n"
        assert [item.status for item in run.session.plans.progress()] == ["done", "done"]
        assert next(event.tool for event in run.all(ToolStarted) if event.title) == "present_plan"


async def test_a_clear_keeps_plan_mode_and_tells_the_model_again(shop: Path, server: ScriptedServer) -> None:
    write = Reply.tools(("write_file", {"path": "made.txt", "content": "x"}))
    server.script(Reply.text("hi"), Reply.text("planning"), write, Reply.text("refused"), Reply.text("yes"))
    async with engine(shop, server, allow=["write_file"]) as run:
        await run.session.perform("mode", "plan")
        await run.say("plan it")
        cleared = await run.session.perform("clear")
        assert "the mode is still plan" in cleared.text
        await run.say("go on")
        assert "Plan mode is on" in last_words(server.requests[1])[1], "its next request, at once"
        assert str(server.requests[1]["messages"]).count("Plan mode is on") == 1
        await run.say("write it")
        assert untouched(shop) and "plan mode is on" in str(results(server))
        await run.session.perform("mode", "ask")
        await run.say("and now?")
        assert "Plan mode is over" in last_words(server.requests[-1])[1]
        session = run.session.id
        await run.session.perform("mode", "plan")
        await run.session.perform("clear")
    async with engine(shop, server, resume=session) as run:
        assert run.session.plans.mode.now == "plan" and not len(run.context.history)


async def test_a_clear_takes_an_accepted_plan_and_says_so_and_an_undo_brings_it_back(
    shop: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.text("yes"), Reply.text("fresh"))
    async with engine(shop, server, answers=answering(Answer("once", rule="auto-edit"))) as run:
        await run.session.perform("mode", "plan")
        await run.say("plan it")
        cleared = await run.session.perform("clear")
        assert "with it went the accepted plan and the todo list" in cleared.text
        assert run.session.plans.now is None and run.session.todo.items() == []
        assert run.session.plans.mode.now == "auto-edit", "as it was chosen with the plan"
        await run.say("go on")
        assert len(last_words(server.requests[-1])) == 1, "there is nothing to tell of plan or mode"
        await run.session.perform("undo")
        assert run.session.plans.now is not None


async def test_a_clear_withdraws_a_plan_that_waits_for_its_answer(shop: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("present_plan", PLAN)), Reply.tools(("present_plan", PLAN)), Reply.text("yes"))
    async with engine(shop, server, answers=lambda asked: None) as run:
        await run.session.perform("mode", "plan")
        await run.session.submit("plan it")
        await run.until(Asked)
        assert (await run.session.perform("clear")).text.startswith("the history is empty; the mode is still")
        assert not run.session.questions.open() and not run.session.busy
        assert run.session.plans.now is None and not len(run.context.history)
        await run.session.submit("again")
        asked = await run.until(Asked)
        await run.session.answer(asked.question.id, Answer("once"))
        assert (await run.until(TurnEnded, lambda ended: ended.reason == "end_turn")).steps == 2
        assert run.session.plans.now is not None and run.session.plans.mode.now == "ask"
