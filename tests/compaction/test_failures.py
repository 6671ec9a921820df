"""Whatever goes wrong with a compaction: the log is the same, byte for byte, nothing is left beside it, it is said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.compaction.logs import ids
from tests.compaction.running import SUMMARY, compacted, compacting, files, offer, talked
from tests.support import faults
from tests.support.engine import Run, engine, reread
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, CompactionFailed, CompactionSkipped, CompactionStage
from tui_agent.compaction.retention import Contract
from tui_agent.compaction.strategy import CompactionFailed as Failure
from tui_agent.compaction.strategy import CompactionResult
from tui_agent.messages.tokens import Tokens
from tui_agent.settings.schema import Hooks

OTHER = """\
## Goal and current request
The user bakes sourdough bread with rye flour; the oven is in kitchen/oven.rs, its door in kitchen/door.rs, and the
recipe for the dough in recipes/dough.rs and recipes/crust.rs.

## Done
- The dough of recipes/dough.rs rose overnight.
"""
"""A faultless summary of somebody else's conversation."""

ANSWERS: dict[str, tuple[Reply, ...]] = {
    "empty": (Reply.blocks(),),
    "whitespace": (Reply.text(" \n\t\n "),),
    "acknowledgement": (Reply.text("ACK"),),
    "acknowledgement with a number": (Reply.text("ACK_21"),),
    "polite acknowledgement": (Reply.text("Understood, I will summarise the conversation."),),
    "error text": (Reply.text("Error: 529 overloaded_error, please try again later"),),
    "error page": (Reply.text("<html><body>502 Bad Gateway</body></html>"),),
    "error object": (Reply.text('{"error": {"type": "overloaded_error", "message": "Overloaded"}}'),),
    "apology": (Reply.text("I'm sorry, but I can't help with summarising that."),),
    "larger than its source": (Reply.text("the parser of alpha.py reads each line of the file. " * 4000),),
    "another task": (Reply.text(OTHER),),
    "content filter": (Reply.refusal(),),
    "refusal with words": (Reply.refusal("I won't."),),
    "cut off again and again": (Reply.text(SUMMARY, stop_reason="max_tokens"),),
    "calls and nothing else": (
        Reply.tools(("bash", {"command": "ls"})),
        Reply.tools(("bash", {"command": "ls"})),
        Reply.blocks(),
    ),
    "thinking alone": (Reply.thinking("what shall I say"),),
    "no access": (Reply.error(403, "not allowed"),),
    "no key": (Reply.error(401, "invalid x-api-key"),),
    "no money": (Reply.error(402, "credit balance is too low"),),
    "not the protocol": (Reply.page(404, "<html>nothing here</html>"),),
    "too long, always": (Reply.overflow(),),
    "broken off, always": (Reply.error(400, "the stream is broken"),),
}


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as running:
        yield running


async def unchanged_by(
    run: Run, fails: Callable[[], Any], kind: str = ""
) -> CompactionFailed | CompactionSkipped:
    """Compact so that it fails: nothing has changed, and how it ended."""
    folder = run.context.path.parent
    await run.context.sync()
    before, history = files(folder), list(run.context.history)
    ended = await fails()
    assert isinstance(ended, (CompactionFailed, CompactionSkipped)), (kind, ended)
    assert files(folder) == before, kind
    assert list(run.context.history) == history, kind
    assert not run.session.shrinking.busy, kind
    return ended


async def goes_on(run: Run, server: ScriptedServer) -> None:
    """After whatever failed: a turn, and a compaction that works."""
    server.always(None)
    server.script(Reply.text("the parser of alpha.py goes on"), Reply.text(SUMMARY))
    await run.say("go on with alpha.py")
    assert isinstance(await compacted(run), CompactionCompleted)


# --- what a model answers --------------------------------------------------------------------------------------------


async def test_an_answer_that_is_no_summary_changes_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server, settings=compacting(server), allow=["bash"]) as run:
        await talked(run, server)
        for kind, (*first, last) in ANSWERS.items():
            server.script(*first)
            server.always(last)
            ended = await unchanged_by(run, lambda: compacted(run), kind)
            assert isinstance(ended, CompactionFailed), kind
            assert ended.reason and ended.ways, kind
        await goes_on(run, server)


# --- what a strategy does --------------------------------------------------------------------------------------------


class Hostile:
    """A strategy that does what a test says."""

    name = "hostile"

    def __init__(self) -> None:
        self.do: Callable[[Any, Any], Any] = _raise(RuntimeError("it was told nothing"))

    async def compact(self, source: Any, model: Any) -> CompactionResult:
        found: CompactionResult = self.do(source, model)
        return found


def _raise(error: BaseException) -> Callable[[Any, Any], Any]:
    def do(source: Any, model: Any) -> Any:
        raise error

    return do


def _result(summary: Any = SUMMARY, preserved: Any = None) -> Callable[[Any, Any], Any]:
    def do(source: Any, model: Any) -> Any:
        kept = [message.id for message in source.kept]
        return CompactionResult(
            summary=summary,
            preserved=kept if preserved is None else preserved(kept),
            before=source.tokens,
            after=Tokens(10, "estimated"),
        )

    return do


STRATEGIES: dict[str, Callable[[Any, Any], Any]] = {
    "raises": _raise(RuntimeError("it broke")),
    "raises what it should": _raise(Failure("no idea")),
    "raises a key error": _raise(KeyError("x")),
    "gives nothing back": lambda source, model: None,
    "gives text back": lambda source, model: "a summary",
    "no text": _result(b"bytes"),
    "an empty text": _result("  "),
    "larger than its source": _result("word " * 50_000),
    "drops what must stay": _result(preserved=lambda kept: kept[:-1]),
    "keeps what is not there": _result(preserved=lambda kept: [*kept, "no such message"]),
    "keeps in another order": _result(preserved=lambda kept: kept[::-1]),
}


async def test_a_strategy_that_breaks_changes_nothing(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = Hostile()
    offer(monkeypatch, hostile)
    settings = compacting(server, strategy="hostile")
    async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
        await talked(run, server)
        for kind, do in STRATEGIES.items():
            hostile.do = do
            ended = await unchanged_by(run, lambda: compacted(run), kind)
            assert isinstance(ended, CompactionFailed), kind
            assert ended.reason, kind
        hostile.do = _result()
        assert isinstance(await compacted(run), CompactionCompleted)


async def test_a_contract_that_misses_something_stops_the_rewrite(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(tmp_path, server, settings=compacting(server), allow=["bash"]) as run:
        await talked(run, server)
        with monkeypatch.context() as patch:
            patch.setattr(Contract, "missing", lambda *_: ["your words 'never touch vendor'"])
            server.script(Reply.text(SUMMARY))

            async def fails() -> Any:
                ended = await compacted(run)
                patch.undo()
                return ended

            ended = await unchanged_by(run, fails)
        assert isinstance(ended, CompactionFailed)
        assert "never touch vendor" in ended.reason
        await goes_on(run, server)


# --- who stops it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [-1, 0, 3])
async def test_cancelled_while_the_model_answers_it_changes_nothing(
    tmp_path: Path, server: ScriptedServer, after: int
) -> None:
    async with engine(tmp_path, server, settings=compacting(server), allow=["bash"]) as run:
        await talked(run, server)
        hold = Hold()
        server.script(Reply.text(SUMMARY).holding(hold, after=after))

        async def fails() -> Any:
            await run.session.perform("compact")
            await hold.reached.wait()
            assert run.session.shrinking.busy
            await run.session.cancel()
            await run.session.until_idle()
            return run.all(CompactionSkipped)[-1]

        ended = await unchanged_by(run, fails)
        assert isinstance(ended, CompactionSkipped)
        assert ended.reason == "cancelled"
        await goes_on(run, server)


@pytest.mark.parametrize("moment", ["looking at the history", "summarising", "putting it in force"])
async def test_cancelled_at_each_stage_it_is_there_or_it_is_not(
    tmp_path: Path, server: ScriptedServer, moment: str
) -> None:
    async with engine(tmp_path, server, settings=compacting(server), allow=["bash"]) as run:
        await talked(run, server)
        server.always(Reply.text(SUMMARY))
        await run.context.sync()
        before, told = files(run.context.path.parent), len(run.heard)
        await run.session.perform("compact")
        await run.until(CompactionStage, lambda event: event.stage == moment)
        await run.session.cancel()
        await run.session.until_idle()
        after = files(run.context.path.parent)
        if any(isinstance(event, CompactionCompleted) for event in run.heard[told:]):
            assert after["context_1.jsonl"] == before["context.jsonl"]
            assert set(after) == {*before, "context_1.jsonl"}
        else:
            assert after == before
        await run.say("go on with alpha.py")


async def test_a_hook_that_says_no_changes_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    flag = tmp_path / "no"
    flag.touch()
    hooks = Hooks(pre_compact=f"test ! -e '{flag}' || {{ echo 'a release is being cut' >&2; exit 2; }}")
    settings = replace(compacting(server), hooks=hooks)
    async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
        await talked(run, server)

        async def fails() -> Any:
            ended = await compacted(run)
            flag.unlink()
            return ended

        ended = await unchanged_by(run, fails)
        assert isinstance(ended, CompactionSkipped)
        assert ended.reason == "hook"
        assert "a release is being cut" in ended.detail
        await goes_on(run, server)


# --- the disk --------------------------------------------------------------------------------------------------------


async def full_at_each_call(
    workspace: Path, server: ScriptedServer, first: int, *, lasting: bool
) -> tuple[int, bool]:
    """Compact a session again and again, on a disk that is full at one call and then at the next, until it works.

    Returns the last call that was struck, and whether all were passed.
    """
    settings = compacting(server, strategy="extractive")
    async with engine(workspace, server, settings=settings, allow=["bash"]) as run:
        await talked(run, server)
        await run.context.sync()
        before, history = files(run.context.path.parent), list(run.context.history)
        for number in range(first, 200):
            with faults.fail_at(number, lasting=lasting) as fired:
                ended = await compacted(run)
            after = files(run.context.path.parent)
            if isinstance(ended, CompactionCompleted):
                assert after["context_1.jsonl"] == before["context.jsonl"], f"at call {number}"
                assert set(after) == {*before, "context_1.jsonl"}
                assert ids(await reread(run)) == ids(run.context)
                return number, fired.calls < number
            assert isinstance(ended, CompactionFailed), ended
            assert after == before, f"at call {number}"
            assert list(run.context.history) == history
    pytest.fail("it never worked")


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
async def test_a_disk_that_is_full_at_any_call_leaves_before_or_after(
    tmp_path: Path, server: ScriptedServer, lasting: bool
) -> None:
    number, done, workspace = 0, False, tmp_path / "work"
    workspace.mkdir()
    while not done:
        number, done = await full_at_each_call(workspace, server, number + 1, lasting=lasting)
    assert number > 10
