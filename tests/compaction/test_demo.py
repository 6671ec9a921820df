"""The demo model summarises what it was given: what a new user sees of a compaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.compaction.asked import Talk
from tests.llm.asking import hear, request
from tests.support.engine import engine
from tui_agent.changes import CompactionStage
from tui_agent.compaction.handover import handover
from tui_agent.compaction.model import Asking
from tui_agent.compaction.sections import (
    DECISIONS,
    DONE,
    FAILED,
    FILES,
    GOAL,
    IN_PROGRESS,
    SECTIONS,
    sections,
)
from tui_agent.compaction.strategy import Source
from tui_agent.compaction.summary import Summary
from tui_agent.events import Event
from tui_agent.llm.demo import DemoProvider
from tui_agent.messages.tokens import Estimator, Tokens


async def summarised(messages: Any, *, window: int = 200_000, **fields: Any) -> tuple[str, list[Event]]:
    """The demo's summary of all but the newest two messages, and what was emitted."""
    count = Estimator("demo").count
    known: dict[str, Any] = {
        "tokens": Tokens(sum(map(count, messages[:-2])), "estimated"),
        "budget": window * 15 // 100,
    }
    given = Source(replaced=messages[:-2], kept=messages[-2:], history=list(messages), **(known | fields))
    events: list[Event] = []
    model = Asking(DemoProvider(delay=0, window=window), events.append)
    result = await Summary().compact(given, model)
    return result.summary, events


def stages(events: list[Event]) -> list[str]:
    return [event.stage for event in events if isinstance(event, CompactionStage)]


def said() -> Talk:
    return (
        Talk()
        .user("read greeting.txt, and never touch vendor/")
        .call("read_file", {"path": "greeting.txt"}, "1\thello\n2\tworld\n" * 60)
        .assistant("It says hello.")
        .user("run `make`")
        .call("bash", {"command": "make"}, "no rule to make it\n[exit code 2]", error=True)
        .assistant("It failed.")
        .user("edit greeting.txt: replace hello with hi")
        .call("edit_file", {"path": "greeting.txt"}, "edited greeting.txt: line 1 (+1 -1)")
        .assistant("Done.")
    )


async def test_a_real_demo_session_is_summed_up_truly(tmp_path: Path) -> None:
    (tmp_path / "greeting.txt").write_text("hello world\n" * 40)
    async with engine(tmp_path) as run:
        await run.say("read greeting.txt")
        await run.say("run `ls no-such-thing`")
        await run.say("edit greeting.txt: replace hello with hi")
        await run.say("todo: write a test, say goodbye")
        await run.say("hello")
        history = list(run.context.history)
        text, events = await summarised(
            history,
            system=run.context.system_blocks,
            tools=run.context.tools,
            pending=["write a test", "say goodbye"],
        )
        parts = sections(text)
        assert list(parts) == list(SECTIONS)
        assert '"read greeting.txt"' in parts[GOAL] and "ls no-such-thing" in parts[GOAL]
        assert "read_file `greeting.txt`" in parts[DONE]
        assert "bash `ls no-such-thing`" in parts[FAILED] and "No such file" in parts[FAILED]
        assert parts[IN_PROGRESS] == "- write a test\n- say goodbye"
        assert "`greeting.txt`: changed" in parts[FILES]
        assert stages(events) == ["summarising"]


async def test_as_text_it_says_the_same() -> None:
    messages = said().user("go on").assistant("yes").messages
    whole, _ = await summarised(messages)
    long = (
        said().call("bash", {"command": "seq 9"}, "noise\n" * 30_000).user("go on").assistant("yes").messages
    )
    cut, _ = await summarised(long, window=20_000)
    for name in (DECISIONS, FAILED, FILES):
        assert sections(cut)[name] == sections(whole)[name]
    assert "never touch vendor/" in sections(cut)[DECISIONS]
    assert "`greeting.txt`: changed" in sections(cut)[FILES]


async def test_of_a_result_that_was_elided_it_makes_nothing_up() -> None:
    made = (
        Talk()
        .user("read a.txt")
        .call("read_file", {"path": "a.txt"}, "[truncated: read_file result, 9 chars]\nin x")
    )
    made.assistant("Read. " * 60).user("go on").assistant("yes")
    text, _ = await summarised(made.messages)
    assert sections(text)[DONE] == "- read_file `a.txt`: its result is no longer sent"


async def test_in_chunks_nothing_of_the_first_is_lost() -> None:
    made = said()
    for number in range(40):
        made.user(f"run `echo {number}`").call(
            "bash", {"command": f"echo {number}"}, "word " * 400
        ).assistant("Ran.")
    text, events = await summarised(made.user("go on").assistant("yes").messages, window=16_000)
    assert any("of" in stage for stage in stages(events)[1:])
    assert "never touch vendor/" in sections(text)[DECISIONS]
    assert "echo 39" in sections(text)[GOAL]


async def test_an_earlier_summary_goes_on() -> None:
    first, _ = await summarised(said().user("go on").assistant("yes").messages)
    made = Talk().user(handover(first, ledger="Commands"), "summary").user("run `ls`")
    made.call("bash", {"command": "ls"}, "a.txt\n" * 300).assistant("Ran.").user("go on").assistant("yes")
    second, _ = await summarised(made.messages, pending=["the next thing"])
    parts = sections(second)
    assert "never touch vendor/" in parts[DECISIONS] and "bash `ls`" in parts[DONE]
    assert "no rule to make it" in parts[FAILED]
    assert parts[IN_PROGRESS] == "- the next thing"


async def test_it_keeps_to_the_words_it_may_use_and_to_what_the_person_asked_about() -> None:
    made = Talk().user("look at zebra.txt").call("read_file", {"path": "zebra.txt"}, "stripes\n" * 50)
    for number in range(60):
        made.user(f"run `echo number {number}`").call(
            "bash", {"command": f"echo {number}"}, "x\n" * 20
        ).assistant("Ran.")
    messages = made.user("go on").assistant("yes").messages
    text, _ = await summarised(messages, budget=1_200)
    assert len(text.split()) <= 600 and "zebra" not in sections(text)[GOAL]
    focused, _ = await summarised(messages, budget=1_200, instruction="zebra.txt above all")
    assert "zebra.txt" in sections(focused)[GOAL]


async def test_requests_that_stay_for_their_wording_are_not_done_again() -> None:
    made = (
        Talk()
        .user(handover("## Done\n- ran `echo old`"), "summary")
        .user("run `echo old`")
        .user("run `echo fresh`")
    )
    _, reply = await hear(DemoProvider(delay=0), request(*made.messages, model="demo", max_tokens=1_000))
    calls = [block["input"]["command"] for block in reply.content if block["type"] == "tool_use"]
    assert calls == ["echo fresh"]


async def test_after_a_compaction_the_demo_goes_by_the_persons_words_not_by_the_summary(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path) as run:
        await run.context.append_message(
            {"role": "user", "content": [{"type": "text", "text": handover("## Done\n- run `false`")}]},
            origin="summary",
        )
        await run.say("run `echo fine`")
        assert "fine" in run.context.history[-1].text
