"""Every request of a session, also those from before a rewrite, and what differs between two of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.agent.test_compaction import SUMMARY, compacted, running, talked
from tests.support.engine import Run, engine, reread, scripted_settings
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.requests import NotBuilt, Requests
from tui_agent.changes import CompactionCompleted
from tui_agent.events import Weighed


async def _talk(run: Run, server: ScriptedServer, *words: str) -> None:
    for text in words:
        server.script(Reply.text(f"answer to {text}"))
        await run.say(text)


async def test_requests_from_before_rewrites_are_built_again_as_they_were_sent(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n" * 9)
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one", "two")
        server.script(Reply.tools(("read_file", {"path": "a.txt"})), Reply.text("read"))
        await run.say("read it")
        await run.session.perform("revert", str(run.session.timeline.turns()[1].id))
        await _talk(run, server, "another way")
        await run.session.perform("undo")
        await _talk(run, server, "on again")
        found = run.session.requests
        assert await found.follow() == len(server.requests) == 6
        for place, sent in enumerate(server.requests):
            built = await found.build(place)
            assert {**built.request.body(), "stream": True} == sent, f"{place}, the marks of the cache too"
            assert sum(item.tokens.count for item in built.items) == built.manifest.total.count
        assert [found[place].turn for place in range(6)] == [0, 2, 4, 4, 2, 7]
        assert {found[place].file for place in (0, 1, 2, 3, 5)} == {""}
        assert found[4].file == "context_2.jsonl"
        assert [found[place].n for place in range(6)] == [1, 2, 3, 4, 5, 6]


def _uncached(value: object) -> object:
    if isinstance(value, dict):
        return {key: _uncached(inner) for key, inner in value.items() if key != "cache_control"}
    return [_uncached(inner) for inner in value] if isinstance(value, list) else value


async def test_a_request_says_what_the_endpoint_told_of_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one", "two")
        found = run.session.requests
        await found.follow()
        usages = run.context.usages()
        for place, usage in enumerate(usages):
            sent = found[place]
            assert sent.model == "scripted-1"
            for key in ("input", "output", "cache_read", "cache_write"):
                assert getattr(sent, key) == usage[key]
            built = await found.build(place)
            assert built.manifest.total.count == sent.total_input == usage["token_count"] - usage["output"]
            assert built.manifest.total.mark == "exact"


async def test_what_was_read_from_the_cache_is_what_was_sent_before(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.caching()
        await _talk(run, server, "one " * 3_000, "two")
        found = run.session.requests
        await found.follow()
        first, second = await found.build(0), await found.build(1)
        upcoming = await found.next()
    assert not any(item.cached for item in first.items)
    assert found[1].cache_read and found[1].predicted is not None
    for earlier, later in ((first, second), (second, upcoming)):
        cached = [item.record for item in later.items if item.cached and item.message is not None]
        assert cached == [item.record for item in earlier.items if item.message is not None]
        assert all(item.cached for item in later.items if item.section in ("tools", "system"))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
async def test_the_next_request_weighs_what_the_status_line_says(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    (tmp_path / "a.txt").write_text("alpha\n" * 50)
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _closes(run)
        for number in range(6):
            if chance.random() < 0.4:
                server.script(Reply.tools(("read_file", {"path": "a.txt"})))
            await _talk(run, server, f"words {number} " * chance.randrange(1, 40))
            await _closes(run)
            match chance.randrange(5):
                case 0:
                    await run.session.perform("drop", chance.choice(run.context.history[:-1]).id)
                case 1:
                    await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
                case 2 if run.context.can_undo:
                    await run.session.perform("undo")
                case 3:
                    await run.session.perform("pin", run.context.history[0].id)
                case _:
                    pass
            run.session.weigh()
            await _closes(run)


async def _closes(run: Run) -> None:
    """The items of the next request sum up to its total, which is the one that was told last."""
    await run.until(Weighed)
    built = await run.session.requests.next()
    told = run.all(Weighed)[-1]
    assert sum(item.tokens.count for item in built.items) == built.manifest.total.count == told.total
    assert built.manifest.total.mark == told.mark
    spans = sorted((item.start, item.end) for item in built.items)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (0, len(built.request.encode()))
    run._taken = 0


async def test_a_new_session_shows_what_its_first_prompt_will_send(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        built = await run.session.requests.next()
        assert not len(run.context.records)
        assert "Use tabs." in str(built.request.system)
        assert "read_file" in [tool["name"] for tool in built.request.tools]
        await _talk(run, server, "hello")
    (sent,) = server.requests
    assert _uncached(sent["system"]) == _uncached(built.request.body()["system"])
    assert _uncached(sent["tools"]) == _uncached(built.request.body()["tools"])


async def test_what_left_the_context_and_why(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one", "two", "three")
        dropped, shortened, gone = (run.context.history[at].id for at in (1, 3, 4))
        await run.session.perform("revert", str(run.session.timeline.turns()[2].id))
        await run.session.perform("drop", dropped)
        await run.session.perform("elide", shortened)
        await _talk(run, server, "instead")
        found = run.session.requests
        assert await found.follow() == 4
        differs = await found.diff(2, 3)
    by_record = {change.item.record: change for change in differs.changes}
    assert (by_record[dropped].what, by_record[dropped].why) == ("gone", "dropped by you")
    assert (by_record[gone].what, by_record[gone].why) == ("gone", "revert")
    assert by_record[shortened].what in ("shortened", "longer", "changed")
    assert [change.what for change in differs.changes].count("added") == 1
    moved = differs.tokens() + differs.counted_anew
    assert differs.before.count + moved == differs.after.count


async def test_nothing_differs_from_itself(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one")
        await run.session.requests.follow()
        differs = await run.session.requests.diff(0, 0)
    assert (differs.changes, differs.counted_anew) == ([], 0)
    assert differs.same


async def test_a_compaction_is_named_as_what_took_messages_out(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY))
        assert isinstance(await compacted(run), CompactionCompleted)
        await _talk(run, server, "after it")
        found = run.session.requests
        many = await found.follow()
        differs = await found.diff(many - 2, many - 1)
    gone = [change for change in differs.changes if change.what == "gone"]
    assert gone
    assert {change.why for change in gone} == {"compaction"}
    assert "summary" in [change.item.kind for change in differs.changes if change.what == "added"]


async def test_a_new_summary_is_not_said_to_come_from_the_cache(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        server.caching()
        await talked(run, server)
        server.script(Reply.text(SUMMARY))
        assert isinstance(await compacted(run), CompactionCompleted)
        await _talk(run, server, "after it")
        found = run.session.requests
        last = await found.follow() - 1
        built = await found.build(last)
    assert found[last].cache_read, "tools and system prompt are what they were"
    assert {item.section for item in built.items if item.cached} == {"tools", "system"}


async def test_a_request_whose_file_is_no_longer_kept_says_so(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one", "two")
        await run.session.perform("clear")
        found = run.session.requests
        assert await found.follow() == 2
        await run.context.prune_backups(keep=0)
        with pytest.raises(NotBuilt, match="no longer kept"):
            await found.build(1)
        with pytest.raises(NotBuilt, match="no longer kept"):
            found[1]


async def test_what_does_not_fit_is_refused_with_the_ways_out(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        settings = scripted_settings(server, context_window=8_000, max_output_tokens=1_024)
        async with engine(tmp_path, server, settings=settings) as run:
            await run.context.append_message({"role": "user", "content": "word " * 9_000})
            with pytest.raises(NotBuilt, match="8,000") as refused:
                await run.session.requests.next()
    assert refused.value.ways


async def test_what_is_refused_can_be_looked_at_and_its_items_are_the_total_that_is_too_much(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        settings = scripted_settings(server, context_window=8_000, max_output_tokens=1_024)
        async with engine(tmp_path, server, settings=settings) as run:
            await _talk(run, server, "one")
            await run.context.append_message({"role": "user", "content": "word " * 9_000})
            looked = await run.session.requests.look(None)
            assert looked.refusal is not None and looked.refusal.ways
            assert looked.manifest.total.count == run.context.weigh().total > looked.manifest.window == 8_000
            assert sum(item.tokens.count for item in looked.items) == looked.manifest.total.count
            assert "word word" in str(looked.request.body())
            assert looked.stays == {run.context.history[-1].id: "newest words"}
            assert [len(server.requests), len(run.context.usages())] == [1, 1], "it is only looked at"
            await run.session.requests.follow()
            found = await run.session.requests.diff(0, None)
            assert found.tokens("added") > 8_000
            assert (await run.session.requests.look(0)).refusal is None


async def test_the_endpoint_counts_and_what_it_refuses_is_said(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one")
        built = await run.session.requests.next()
        assert await run.session.requests.count(built.request) > 0
    with pytest.raises(NotBuilt):
        await run.session.requests.count(built.request)


async def test_a_log_that_is_only_looked_at_tells_what_was_sent_and_has_no_next(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        await _talk(run, server, "one", "two")
        found = Requests(await reread(run))
        assert await found.follow() == 2
        assert (await found.build(1)).request.sha256 == run.context.usages()[1]["request"]
        assert not found.has_next
        with pytest.raises(NotBuilt, match="only looked at"):
            await found.next()
        with pytest.raises(NotBuilt, match="only looked at"):
            await found.count((await found.build(1)).request)


async def test_a_request_that_comes_while_it_is_looked_at_is_found(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        found = run.session.requests
        for number in range(3):
            await _talk(run, server, f"words {number}")
            assert await found.follow() == number + 1
        await run.session.perform("clear")
        assert (await found.build(2)).sent == found[2]  # it lies in a backup now
        assert found[2].file == "context_1.jsonl"
