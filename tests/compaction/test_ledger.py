"""The ledger: what happened by the log, through a hundred compactions, in 4 KiB."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.compaction.logs import Said, begun
from tests.support.engine import engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.compaction.ledger import MAX_BYTES, STATE_KEY, Ledger
from tui_agent.compaction.tally import only_looks
from tui_agent.context import Context
from tui_agent.events import Answer, Asked


async def ledger(said: Said) -> Ledger:
    """The ledger of the log as it is now."""
    return Ledger.of(said.context.records, said.context.state)


async def test_a_real_session_leaves_its_files_commands_and_failures(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.script(
            Reply.tools(("read_file", {"path": "a.py"}), ("read_file", {"path": "missing.py"})),
            Reply.tools(("edit_file", {"path": "a.py", "old": "nowhere", "new": "x"})),
            Reply.tools(("edit_file", {"path": "a.py", "old": "one", "new": "eins"})),
            Reply.tools(("write_file", {"path": "new.txt", "content": "hello\n"})),
            Reply.tools(("bash", {"command": "cat new.txt; false"}), ("bash", {"command": "test -f b.txt"})),
            Reply.tools(
                ("bash", {"command": "touch b.txt; test -f b.txt"}), ("bash", {"command": "test -f b.txt"})
            ),
            Reply.text("done"),
        )
        await run.say("go")
        found = Ledger.of(run.context.records, run.context.state)
        assert [(file.path, file.state) for file in found.files] == [
            ("a.py", "changed"),
            ("new.txt", "changed"),
        ]
        commands = {command.text: command.exit for command in found.commands}
        assert commands == {"cat new.txt; false": 1, "touch b.txt; test -f b.txt": 0, "test -f b.txt": 0}
        failures = {(f.tool, f.subject): (f.outcome, f.overcome) for f in found.failures}
        assert failures == {
            ("read_file", "missing.py"): ("failed", False),
            ("edit_file", "a.py"): ("failed", True),
            ("bash", "cat new.txt; false"): ("failed", False),
            ("bash", "test -f b.txt"): ("failed", True),
        }
        words = found.words()
        assert "- a.py (+1 -1)" in words
        assert "- `cat new.txt; false`: exit code 1" in words
        assert "missing.py" in words.split("Failures not overcome")[1].split("Failures overcome")[0]


async def test_what_a_person_refused_and_ran_themselves_is_in_it(tmp_path: Path) -> None:
    def no(asked: Asked) -> Answer:
        return Answer("no", note="never push")

    async with ScriptedServer() as server, engine(tmp_path, server, answers=no) as run:
        server.script(Reply.tools(("bash", {"command": "git push --force"})), Reply.text("I will not."))
        await run.say("publish it")
        await run.session.perform("run", "echo mine; exit 3")
        found = Ledger.of(run.context.records, run.context.state)
        (refused,) = [failure for failure in found.failures if failure.outcome == "denied"]
        assert refused.subject == "git push --force" and "never push" in refused.note
        assert [(c.text, c.exit, c.own) for c in found.commands if c.own] == [("echo mine; exit 3", 3, True)]
        assert "refused by the user" in found.words() and "(run by the user)" in found.words()


async def test_todos_and_tasks_are_those_in_force_and_the_open_ones_are_pending(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    await said.context.set_state(
        "todo",
        [
            {"text": "read it", "status": "done"},
            {"text": "write the test", "status": "pending"},
            {"text": "mend it", "status": "active"},
        ],
    )
    await said.context.set_state("tasks", [{"id": "1", "command": "npm run watch"}])
    found = await ledger(said)
    assert found.pending == ["mend it", "write the test", "running in the background: npm run watch"]
    assert "read it (done)" in found.words()
    await said.context.close()


async def test_merging_counts_nothing_twice_whatever_of_the_tail_is_kept(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    for _ in range(2):
        await said.act("bash", {"command": "pytest"}, "1 failed", title="pytest", exit=1)
    await said.act("edit_file", {"path": "a.py"}, "edited", title="a.py", changed=["a.py"], summary="+1 -1")
    first = await ledger(said)
    await said.context.set_state(STATE_KEY, first.value())
    again = await ledger(said)
    assert again.value() == first.value()
    await said.act("edit_file", {"path": "a.py"}, "edited", title="a.py", changed=["a.py"], summary="+2 -2")
    await said.act("bash", {"command": "pytest"}, "ok", title="pytest")
    third = await ledger(said)
    assert [(f.path, f.changes, f.note) for f in third.files] == [("a.py", 2, "+2 -2")]
    assert [(f.times, f.overcome) for f in third.failures] == [(2, True)]
    assert [(c.text, c.exit) for c in third.commands] == [("pytest", 0)]
    await said.context.close()


async def test_a_file_that_was_changed_stays_so_when_it_is_read_again(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    await said.act("read_file", {"path": "a.py"}, "x", title="a.py", read=["a.py"])
    await said.act("read_file", {"path": "b.py"}, "x", title="b.py", read=["b.py"])
    await said.act("edit_file", {"path": "a.py"}, "x", title="a.py", changed=["a.py"])
    await said.act("read_file", {"path": "a.py"}, "x", title="a.py", read=["a.py"])
    assert [(f.path, f.state) for f in (await ledger(said)).files] == [("b.py", "read"), ("a.py", "changed")]
    await said.context.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
async def test_a_hundred_rounds_stay_in_4_kib_and_keep_what_is_hard_to_find_out_again(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    state: dict[str, Any] = {}
    for number in range(100):
        said = await begun(tmp_path / f"{number}")
        for _ in range(chance.randint(1, 12)):
            path = f"src/{'x' * chance.randint(1, 60)}/{chance.randint(0, 99)}.py"
            await said.act("read_file", {"path": path}, "x", title=path, read=[path])
            await said.act(
                "bash", {"command": f"ls {path}"}, "x", title=f"ls {path} " + "y" * chance.randint(0, 300)
            )
        path = f"changed{number}.py"
        await said.act("edit_file", {"path": path}, "edited", title=path, changed=[path], summary="+1 -1")
        await said.act(
            "bash", {"command": "make"}, f"broken in round {number}\n[exit code 2]", title="make", exit=2
        )
        found = Ledger.of(said.context.records, state)
        value = msgspec.json.decode(msgspec.json.encode(found.value()))
        assert len(msgspec.json.encode(value)) <= MAX_BYTES
        state = {STATE_KEY: value}
        await said.context.close()
    assert found.files[-1].path == "changed99.py"
    assert [f.path for f in found.files if f.path.startswith("changed")][-30:] == [
        f"changed{n}.py" for n in range(70, 100)
    ]
    (failing,) = [failure for failure in found.failures if failure.subject == "make"]
    assert (failing.times, failing.note, failing.overcome) == (100, "broken in round 99", False)
    assert "Older, not listed" in found.words()
    assert len(found.words().encode()) < 2 * MAX_BYTES


async def test_a_command_that_was_cut_short_is_known_again(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    long = "pytest -q " + " ".join(f"tests/part{n}.py" for n in range(9))
    await said.act("bash", {"command": long}, "1 failed", title=long, exit=1)
    for number in range(120):
        await said.act(
            "edit_file", {"path": "x"}, "edited", title=f"f{number}", changed=[f"src/file{number}.py"]
        )
    short = await ledger(said)
    assert [command.text for command in short.commands] == [long[:79] + "⋯"]
    await said.context.set_state(STATE_KEY, short.value())
    await said.act("bash", {"command": long}, "1 failed", title=long, exit=1)
    again = await ledger(said)
    assert len(again.commands) == 1 and [failure.times for failure in again.failures] == [2]
    await said.act("bash", {"command": long}, "ok", title=long)
    last = await ledger(said)
    assert [command.exit for command in last.commands] == [0]
    assert [failure.overcome for failure in last.failures] == [True]
    await said.context.close()


async def test_in_a_small_window_it_is_smaller_and_says_what_is_not_listed(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    for number in range(40):
        await said.act("edit_file", {"path": "x"}, "edited", title=f"f{number}.py", changed=[f"f{number}.py"])
    whole, small = await ledger(said), Ledger.of(said.context.records, said.context.state, most=500)
    assert len(msgspec.json.encode(whole.value())) > 500 >= len(msgspec.json.encode(small.value()))
    assert len(whole.files) == 40 and small.files[-1].path == "f39.py"
    assert f"{40 - len(small.files)} files" in small.words()
    await said.context.close()


async def test_commands_that_only_look_make_room_for_those_that_did_something(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    await said.act("bash", {"command": "x"}, "ok", title="deploy --ticket ABC-1234 --now")
    for number in range(200):
        await said.act("bash", {"command": "x"}, "ok", title=f"grep -rn word{number} src | head -{number}")
    found = await ledger(said)
    assert "deploy --ticket ABC-1234 --now" in [command.text for command in found.commands]
    assert "commands" in found.words().split("Older, not listed")[1]
    await said.context.close()


_ACTING = [
    "",
    "make",
    "ls > a.txt",
    "cat a | tee b",
    "sed -i s/a/b/ c",
    "find . -delete",
    "fd x -x rm",
    "git push",
]
_ACTING += [
    "git",
    "echo $(rm a)",
    "ls; rm a",
    "ls\nrm a",
    "pytest -q",
    "echo `rm a`",
    "grep x a && ./deploy.sh",
]


@pytest.mark.parametrize("command", _ACTING)
def test_what_may_change_something(command: str) -> None:
    assert not only_looks(command)


@pytest.mark.parametrize("value", [None, 7, "x", [], {"files": 3}, {"files": [["a", "read"], 5]}, {"v": 2}])
async def test_what_another_program_wrote_as_a_ledger_is_no_obstacle(tmp_path: Path, value: Any) -> None:
    said = await begun(tmp_path)
    await said.act("bash", {"command": "ls"}, "x", title="ls")
    found = Ledger.of(said.context.records, {STATE_KEY: value, "todo": value, "tasks": value})
    assert [command.text for command in found.commands] == ["ls"]
    await said.context.close()


async def test_results_that_say_nothing_of_themselves_are_known_by_their_calls(tmp_path: Path) -> None:
    context = Context(tmp_path / "context.jsonl")
    use = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make all"}}
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "no rule", "is_error": True}
    await context.append_message({"role": "assistant", "content": [use]})
    await context.append_message({"role": "user", "content": [block]}, origin="tool")
    found = Ledger.of(context.records, context.state)
    assert [(c.text, c.exit) for c in found.commands] == [("make all", None)]
    assert [(f.subject, f.note) for f in found.failures] == [("make all", "no rule")]
    await context.close()


async def test_foreign_text_in_it_cannot_act(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    await said.act("bash", {"command": "x"}, "\x1b[31mred\u202e\n", title="echo \x1b[2J", exit=1)
    words = (await ledger(said)).words()
    assert "\x1b" not in words and "\u202e" not in words
    await said.context.close()


# --- a summary held against it ---------------------------------------------------------------------------------------


async def known(tmp_path: Path) -> Said:
    said = await begun(tmp_path)
    await said.act("read_file", {"path": "data.py"}, "x", title="data.py", read=["data.py"])
    await said.act("edit_file", {"path": "a.py"}, "x", title="a.py", changed=["a.py"])
    await said.act("bash", {"command": "pytest -q"}, "1 failed", title="pytest -q", exit=1)
    await said.act("bash", {"command": "ruff check ."}, "ok", title="ruff check .")
    todo = [{"text": "write the changelog", "status": "active"}, {"text": "mend a.py", "status": "done"}]
    await said.context.set_state("todo", todo)
    return said


LIES = {
    "a failing command passes": "## Done\n- `pytest -q` passes.",
    "a failing command exits with 0": "## Done\n- pytest -q: exit code 0",
    "a failing command passes, in Chinese": "## Done\n- `pytest -q` 通过",
    "a passing command fails": "## In progress\n- `ruff check .` fails with 12 errors",
    "a changed file is untouched": "## Files and their state\n- a.py: not changed yet",
    "a changed file is unchanged, in Chinese": "## Files and their state\n- a.py：未修改",
    "nothing was changed": "## Done\nNo files were changed so far.",
    "all tests pass": "## Done\n- All 14 tests pass now.",
    "everything is done": "## In progress\nNothing is left to do.",
    "an open todo is done": "## Done\n- write the changelog",
    "a finished todo is open": "## In progress\n- [ ] mend a.py",
}

TRUTHS = {
    "as it is": "## Done\n- mend a.py\n- ruff check . passes\n## In progress\n- write the changelog\n- pytest -q fails",
    "what is wanted": "## In progress\n- `pytest -q` must pass before the release\n- make pytest -q pass",
    "what was": "## Done\n- `ruff check .` failed first and passes now\n- a.py was unchanged, then it was edited",
    "what failed once": "## Failed approaches\n- `ruff check .`: error, 12 findings in vendor/",
    "another file": "## Files and their state\n- data.py: not changed\n- b/a.py: not changed\n- a.pyi: unchanged",
    "a todo spoken of": "## Done\n- it was agreed to write the changelog last",
    "tests that shall pass": "## In progress\n- all tests should pass before the release\n- make the tests pass",
    "not yet": "## In progress\n- pytest -q does not pass yet",
    "a goal": "## Goal and current request\nAll of it: `pytest -q` passes, a.py is unchanged.",
    "nothing": "",
}


@pytest.mark.parametrize("name", LIES)
async def test_what_contradicts_the_log_is_found_and_named(tmp_path: Path, name: str) -> None:
    said = await known(tmp_path)
    doubts = (await ledger(said)).contradictions(LIES[name])
    assert len(doubts) == 1, doubts
    await said.context.close()


@pytest.mark.parametrize("name", TRUTHS)
async def test_what_agrees_with_the_log_raises_no_doubt(tmp_path: Path, name: str) -> None:
    said = await known(tmp_path)
    assert (await ledger(said)).contradictions(TRUTHS[name]) == []
    await said.context.close()


async def test_a_file_that_was_only_read_was_not_changed_unless_a_command_may_have(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    await said.act("read_file", {"path": "data.py"}, "x", title="data.py", read=["data.py"])
    lie = "## Done\n- data.py was rewritten"
    assert len((await ledger(said)).contradictions(lie)) == 1
    await said.act("bash", {"command": "make"}, "x", title="make")
    assert (await ledger(said)).contradictions(lie) == []
    await said.context.close()
