"""What a person asks of memories in a session: remember, decide, change, forget, take back, find."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import Run, engine
from tui_agent import paths
from tui_agent.changes import MemoryChanged
from tui_agent.commands import CommandError
from tui_agent.memory.schema import Memory
from tui_agent.memory.store import MemoryStore


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    async with engine(tmp_path) as opened:
        yield opened


def told(run: Run) -> list[tuple[str, str]]:
    return [(event.what, event.key) for event in run.all(MemoryChanged)]


def bodies(run: Run, status: str = "accepted") -> list[tuple[str, str, str]]:
    return [(m.scope, m.key, m.body) for m in run.session.memories.list() if m.status == status]


def proposal(run: Run, name: str, key: str, body: str, **fields: object) -> Memory:
    """A proposal that waits, as an answer of this session made it."""
    memory = Memory(
        id=name * 16,
        scope="user",
        key=key,
        body=body,
        source_session=run.session.id,
        **fields,  # type: ignore[arg-type]
    )
    return run.session.memories.store.propose(memory).memory


async def test_nothing_is_made_on_disk_by_looking(run: Run) -> None:
    assert (await run.session.perform("memory")).text == "nothing is remembered yet"
    assert (await run.session.perform("memory", "tabs")).text == "no memory says 'tabs'"
    assert not run.session.memories.counts() and not run.session.memories.waiting()
    assert not paths.memory_db().exists()


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        ("I use tabs", ("user", "i-use-tabs", "I use tabs")),
        ("indent: tabs: always", ("user", "indent", "tabs: always")),
        ("workspace build: make -j2", ("workspace", "build", "make -j2")),
        ("session we look at a.py", ("session", "we-look-at-a.py", "we look at a.py")),
        ("user", ("user", "user", "user")),
        ("the rule that all of us keep is this: be kind", ("user", "the-rule-that-all-of",
         "the rule that all of us keep is this: be kind")),
    ],
)  # fmt: skip
async def test_remember_takes_scope_key_and_text(run: Run, words: str, stored: tuple[str, str, str]) -> None:
    await run.session.perform("remember", *words.split(" "))
    assert bodies(run) == [stored]
    assert told(run) == [("accepted", stored[1])]


async def test_to_remember_nothing_says_how_it_is_meant(run: Run) -> None:
    with pytest.raises(CommandError, match="say what: /remember"):
        await run.session.perform("remember", " ")
    assert bodies(run) == []


async def test_the_same_key_again_is_the_new_text_and_can_be_taken_back(run: Run) -> None:
    await run.session.perform("remember", "indent: tabs")
    await run.session.perform("remember", "indent: two spaces")
    assert bodies(run) == [("user", "indent", "two spaces")]
    await run.session.perform("unmemory", "indent")
    assert bodies(run) == [("user", "indent", "tabs")]
    await run.session.perform("amend", "indent", "four", "spaces")
    await run.session.perform("rekey", "indent", "code style")
    await run.session.perform("scope", "code style", "workspace")
    assert bodies(run) == [("workspace", "code style", "four spaces")]
    for _ in range(3):
        await run.session.perform("unmemory", "code style" if _ < 2 else "indent")
    assert bodies(run) == [("user", "indent", "tabs")]


async def test_what_was_forgotten_comes_back_by_its_key(run: Run) -> None:
    await run.session.perform("remember", "indent: tabs")
    await run.session.perform("forget", "indent")
    assert bodies(run) == []
    with pytest.raises(CommandError, match="there is no memory 'indent'"):
        await run.session.perform("forget", "indent")
    await run.session.perform("unmemory", "indent")
    assert bodies(run) == [("user", "indent", "tabs")]
    assert told(run) == [("accepted", "indent"), ("deleted", "indent"), ("undone", "indent")]


async def test_a_proposal_is_accepted_as_it_is_or_with_another_text(run: Run) -> None:
    proposal(run, "a1", "indent", "tabs")
    proposal(run, "b2", "tests", "pytest")
    await run.session.perform("accept", "a1a1")
    await run.session.perform("accept", "tests", "pytest", "-q")
    assert sorted(bodies(run)) == [("user", "indent", "tabs"), ("user", "tests", "pytest -q")]
    proposal(run, "c3", "indent", "spaces")
    assert [waiting.old for waiting in run.session.memories.waiting()] == ["tabs"]
    await run.session.perform("accept", "c3c3")
    assert ("user", "indent", "spaces") in bodies(run)
    assert not run.session.memories.waiting()


async def test_a_refused_proposal_does_not_wait_any_more(run: Run) -> None:
    proposal(run, "a1", "indent", "tabs")
    await run.session.perform("reject", "indent")
    assert bodies(run) == []
    assert bodies(run, "rejected") == [("user", "indent", "tabs")]
    with pytest.raises(CommandError, match="there is no memory 'other'"):
        await run.session.perform("reject", "other")


async def test_accepting_all_leaves_what_came_after_text_from_outside(run: Run) -> None:
    proposal(run, "a1", "indent", "tabs")
    proposal(run, "b2", "tests", "pytest", tainted=True, outside=("README.md",))
    done = await run.session.perform("accept", "all")
    assert bodies(run) == [("user", "indent", "tabs")]
    assert bodies(run, "proposed") == [("user", "tests", "pytest")]
    assert done.data["left"] == 1


async def test_accepting_all_leaves_noise_and_what_would_change_something(run: Run) -> None:
    await run.session.perform("remember", "indent: tabs")
    proposal(run, "a1", "indent", "spaces")
    proposal(run, "b2", "state", "All tests passed.")
    proposal(run, "c3", "profile.md: tone", "Short answers.")
    proposal(run, "d4", "lang", "German")
    done = await run.session.perform("accept", "all")
    assert sorted(bodies(run)) == [("user", "indent", "tabs"), ("user", "lang", "German")]
    assert done.data["left"] == 3


@pytest.mark.parametrize(("command", "body"), [("accept", "spaces"), ("reject", "tabs")])
async def test_a_decision_by_key_is_about_the_proposal_and_not_what_it_would_replace(
    run: Run, command: str, body: str
) -> None:
    await run.session.perform("remember", "indent: tabs")
    proposal(run, "a1", "indent", "spaces")
    await run.session.perform(command, "indent")
    assert bodies(run) == [("user", "indent", body)] and not run.session.memories.waiting()


async def test_an_unknown_scope_and_an_ambiguous_name_change_nothing(run: Run) -> None:
    await run.session.perform("remember", "indent: tabs")
    await run.session.perform("remember", "workspace indent: spaces")
    with pytest.raises(CommandError, match="no scope 'team'"):
        await run.session.perform("scope", "indent", "team")
    with pytest.raises(CommandError, match="2 memories are called 'indent'"):
        await run.session.perform("amend", "indent", "x")
    assert sorted(bodies(run)) == [("user", "indent", "tabs"), ("workspace", "indent", "spaces")]


async def test_memories_are_found_by_their_words(run: Run) -> None:
    await run.session.perform("remember", "indent: 我喜欢制表符")
    await run.session.perform("remember", "tests: pytest")
    found = await run.session.perform("memory", "喜欢")
    assert [memory["key"] for memory in found.data["memories"]] == ["indent"]


async def test_what_belongs_to_another_workspace_is_not_seen(run: Run, tmp_path: Path) -> None:
    MemoryStore(paths.memory_db()).add("workspace", "build", "make", workspace="elsewhere-1")
    assert bodies(run) == [] and run.session.memories.search("make") == []
