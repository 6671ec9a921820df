"""How much messages matter: the marks they get when they are appended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.compaction.priority import Priorities
from tui_agent.context import Context
from tui_agent.settings.schema import Priorities as Table


def words(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "hello"}], **fields}


def result(text: str = "ok", *, error: bool = False, **meta: Any) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t", "content": text}
    block |= {"is_error": True} if error else {}
    return {"role": "user", "origin": "tool", "content": [block], "meta": meta}


CALL = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
WROTE: dict[str, Any] = {"tool": "write_file", "read": [], "changed": ["a.py"]}


@pytest.mark.parametrize(
    ("body", "marks"),
    [
        (words(), {"priority": 75}),
        (words(content="as a bare string"), {"priority": 75}),
        (words(origin="injection", sources=[{"name": "goal", "fp": "1"}]), {"priority": 100}),
        (
            words(origin="injection", sources=[{"name": "git", "fp": "1"}, {"name": "plan"}]),
            {"priority": 100},
        ),
        (words(origin="injection", sources=[{"name": "mode", "fp": "1"}]), {"priority": 100}),
        (words(origin="injection", sources=[{"name": "git", "fp": "1"}]), {}),
        (words(origin="injection", sources="damaged"), {}),
        (words(origin="repair"), {}),
        (words(origin="summary"), {}),
        ({"role": "assistant", "content": [{"type": "text", "text": "done"}]}, {}),
        ({"role": "assistant", "content": [{"type": "text", "text": "so"}, CALL]}, {"priority": 25}),
        (result("4 passed", tool="bash", exit=0), {}),
        (result("1 failed", error=True, tool="bash", exit=1), {"priority": 75}),
        (result("1 failed", tool="bash", exit=1), {"priority": 75}),
        (result("wrote a.py", **WROTE), {"priority": 0, "ttl": 20}),
        (result("x" * 501, **WROTE), {}),
        (result("no such folder", error=True, **WROTE), {"priority": 75}),
        (result("a.py and what it says", tool="x", read=["a.py"], changed=["a.py"]), {}),
        ({**result("from elsewhere"), "origin": None, "meta": "damaged"}, {}),
    ],
)
def test_the_table(body: dict[str, Any], marks: dict[str, Any]) -> None:
    priorities = Priorities(Table())
    assert priorities.of(body) == marks
    assert priorities.priority_of(body, {}) == marks.get("priority", 50)
    assert priorities.ttl_of(marks.get("priority", 50), {}) == marks.get("ttl")


def test_the_table_is_in_settings() -> None:
    priorities = Priorities(Table(words=60, confirmations=50, failures=0, trivial_steps=7))
    assert priorities.of(words()) == {"priority": 60}
    assert priorities.of(result("wrote a.py", **WROTE)) == {}, "what is true of most messages is not written"
    assert priorities.of(result("no", error=True)) == {"priority": 0, "ttl": 7}


def test_a_mark_goes_before_the_table() -> None:
    priorities = Priorities(Table())
    assert priorities.priority_of(words(), {"priority": 10}) == 10
    assert priorities.ttl_of(75, {"ttl": 3}) == 3
    assert priorities.ttl_of(0, {"ttl": 3}) == 3


async def test_a_context_marks_what_is_appended_and_leaves_marks_that_are_there(tmp_path: Path) -> None:
    context = Context(tmp_path / "context.jsonl", assign=Priorities(Table()).of)
    said, mine = await context.append_message([words(), words(priority=5, ttl=1)])
    await context.checkpoint(add_user_message=True)
    answer = (await context.append_message({"role": "assistant", "content": [CALL]}))[0]
    assert dict(context.marks(said.id)) == {"priority": 75}
    assert dict(context.marks(mine.id)) == {"priority": 5, "ttl": 1}
    assert dict(context.marks(answer.id)) == {"priority": 25}
    told = context.history[2]
    assert (told.origin, dict(context.marks(told.id))) == ("checkpoint", {})
    await context.close()
    fresh = Context(context.path, read_only=True)
    await fresh.restore()
    assert dict(fresh.marks(said.id)) == {"priority": 75}, "they are on disk"


async def test_a_session_marks_its_messages(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        write = ("write_file", {"path": "a.py", "content": "x = 1\n"})
        server.script(Reply.tools(write), Reply.text("done"))
        await run.say("write a.py")
        marks = [dict(run.context.marks(message.id)) for message in run.context.history]
        assert marks == [{"priority": 75}, {"priority": 25}, {"priority": 0, "ttl": 20}, {}]
