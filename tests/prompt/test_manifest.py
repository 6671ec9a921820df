"""The manifest is the request: its items tile the bytes that are sent, and their sum is the number that is shown."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support import sessions
from tests.support.engine import Run, engine, scripted_settings
from tests.support.examples import examples
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import paths
from tui_agent.agent.building import assemble
from tui_agent.agent.past import request_of
from tui_agent.context import Context
from tui_agent.events import Weighed
from tui_agent.memory.store import MemoryStore
from tui_agent.messages.blocks import text_block
from tui_agent.prompt.assembler import Limits
from tui_agent.prompt.manifest import Item, Manifest

LIMITS = Limits(sessions.MODEL, 10_000_000, 4_096)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


def tile(manifest: Manifest) -> None:
    """Each byte of what is hashed belongs to one item; the tokens of all items are the total."""
    request, items = manifest.request, sorted(manifest.items, key=lambda item: item.start)
    assert items[0].start == 0 and all(first.end == second.start for first, second in pairwise(items))
    encoded = request.encode()
    assert items[-1].end == len(encoded) and all(item.start < item.end for item in items)
    assert "".join(map(manifest.text, items)) == encoded.decode()
    assert sum(item.tokens.count for item in items) == manifest.total.count
    assert not [item for item in items if not item.kept or item.reason]
    assert all(not item.kept and item.reason and item.start == item.end for item in manifest.left_out)


def named(items: Iterable[Item], kind: str, name: str = "") -> list[Item]:
    return [item for item in items if item.kind == kind and name in item.name]


# --- random sessions -----------------------------------------------------------------------------------------------


async def _changed(context: Context, seed: int) -> None:
    """Leave out, shorten and bring back some of it; say more."""
    chance = random.Random(seed)
    for _ in range(chance.randint(0, 4)):
        if not len(context.history):
            break
        record = chance.choice(context.history).id
        text = chance.choice([None, "[truncated]"])
        await context.elide(
            [{"record": record, "as": text}], by=chance.choice(["user", "auto"]), reason="micro"
        )
    if context.batches and chance.random() < 0.5:
        await context.restore_elided(chance.choice(context.batches).id)
    if chance.random() < 0.5:
        await context.append_message({"role": "user", "content": 'and 漢字 "quoted"\n'})


async def _random_session(seed: int, messages: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "context.jsonl"
        sessions.write(path, messages, seed)
        context = Context(path, durability="off", model=sessions.MODEL)
        await context.restore()
        await _changed(context, seed)
        _, manifest = assemble(context, LIMITS)
        tile(manifest)
        assert manifest.total.count == context.token_count_with_pending
        _as_the_log_has_it(context, manifest)
        usages = [record for record in context.records if record.role == "_usage"]
        for usage in usages[:: max(1, len(usages) // 3)]:
            _, past = request_of(context, usage)
            tile(past)
            body = usage.body
            assert past.total.count == body["input"] + body["cache_read"] + body["cache_write"]
            assert past.total.mark == "exact"
        await context.close()


def _as_the_log_has_it(context: Context, manifest: Manifest) -> None:
    """Every record weighs what the log says; what is left out is what the log leaves out."""
    weights: dict[str, int] = {}
    for item in manifest.items:
        if item.section == "messages" and item.record:
            weights[item.record] = weights.get(item.record, 0) + item.tokens.count
    assert weights == {record: context.tokens(record).count for record in weights}
    elided = {record.id for record in context.records if context.elided(record.id)}
    assert {item.record for item in manifest.left_out if item.kind != "block"} == elided


@examples(12)
@given(st.integers(0, 10_000), st.integers(1, 90))
def test_the_items_of_any_session_tile_its_request_and_sum_up_to_its_weight(seed: int, messages: int) -> None:
    asyncio.run(_random_session(seed, messages))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 400))
def test_the_items_of_any_longer_session_tile_its_request_too(seed: int, messages: int) -> None:
    asyncio.run(_random_session(seed, messages))


# --- what the server gets ------------------------------------------------------------------------------------------


def received(body: dict[str, Any]) -> bytes:
    """A body as the server got it, in canonical form, without cache_control and stream."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key != "cache_control"}
        return [plain(item) for item in value] if isinstance(value, list) else value

    params = {"model": body["model"], "max_tokens": body["max_tokens"], "thinking": body.get("thinking")}
    parts = {"messages": body["messages"], "system": body["system"], "tools": body["tools"], "params": params}
    return json.dumps(plain(parts), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_random_session_that_goes_on_is_sent_as_its_manifest_says(
    tmp_path: Path, server: ScriptedServer, seed: int
) -> None:
    settings = scripted_settings(server, model=sessions.MODEL, thinking=("off", "low")[seed % 2])
    server.script(Reply.text("begun"), Reply.tools(("glob", {"pattern": "*"})), Reply.text("done"))
    async with engine(tmp_path, server, settings=settings) as run:
        await run.say("begin")
        path = run.context.path
    with path.open("a") as log:
        log.writelines(json.dumps(record) + "\n" for record in list(sessions.records(40, seed))[2:])
    async with engine(tmp_path, server, settings=settings, resume="latest") as run:
        tile(await run.session.manifest())
        assert (await run.session.manifest()).total.count == run.all(Weighed)[-1].total
        await run.say("go on")
        usages = [
            record for record in run.context.records if record.role == "_usage" and record.body.get("at")
        ]
        for usage, body in zip(usages[-2:], server.requests[-2:], strict=True):
            request, manifest = request_of(run.context, usage)
            tile(manifest)
            assert received(body) == request.encode()
            assert usage.body["request"] == request.sha256
        manifest = await run.session.manifest()
        assert manifest.total.count == run.all(Weighed)[-1].total == run.context.token_count_with_pending


# --- a real session ------------------------------------------------------------------------------------------------

_WEATHER = """
class Weather:
    priority = 30
    def generate(self, moment):
        return "It rains in Kyoto."

class Drizzle(Weather):
    priority = 20
"""
_SKILL = "---\nname: tides\ndescription: Reads tables of tides.\n---\nHigh water comes twice a day.\n"


def furnished(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """A workspace with instructions and a skill, a profile, a memory, and two installed sources of one reminder."""
    site, workspace = folder / "site", folder / "w"
    info = site / "rain-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "rain_of_manifests.py").write_text(_WEATHER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rain\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tui_agent.injections]\nrain = rain_of_manifests:Weather\ndrizzle = rain_of_manifests:Drizzle\n"
    )
    patch.syspath_prepend(str(site))
    skill = workspace / ".claude/skills/tides/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(_SKILL)
    (workspace / "AGENTS.md").write_text("Never touch vendor.")
    (workspace / "a.txt").write_text("alpha\n")
    paths.profile_file().parent.mkdir(parents=True, exist_ok=True)
    paths.profile_file().write_text("Likes short answers.")
    MemoryStore(paths.memory_db()).add("user", "indent", "Uses tabs.")
    return workspace


async def _talked(run: Run, server: ScriptedServer) -> None:
    await run.session.context.set_state(
        "goal",
        {
            "text": "Chart the harbour.", "status": "paused", "reason": "", "milestones": [],
            "budget": {"tokens": None, "turns": None, "minutes": None},
            "spent": {"tokens": 0, "turns": 0, "seconds": 0}, "set_at": "2026-01-01T00:00:00Z",
        },
    )  # fmt: skip
    server.script(
        Reply.tools(("read_file", {"path": "a.txt"}), ("glob", {"pattern": "*"}), thinking="look"),
        Reply.text("seen"),
        Reply.text("on"),
    )
    await run.say("use the skill tides")
    await run.say("and on")


async def test_whatever_the_manifest_names_is_in_the_body_that_the_server_gets(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(furnished(tmp_path, monkeypatch), server) as run:
        await _talked(run, server)
        server.script(Reply.text("done"))
        await run.say("last")
        usage = [record for record in run.context.records if record.role == "_usage"][-1]
        request, manifest = request_of(run.context, usage)
        sent = server.requests[-1]
        tile(manifest)
        assert request.sha256 == usage.body["request"]
        assert manifest.total.count == sum(usage.body[k] for k in ("input", "cache_read", "cache_write"))

        body = json.dumps(sent, ensure_ascii=False)
        items = manifest.items
        for kind, name, text in (
            ("layer", "workspace", "Never touch vendor."),
            ("layer", "profile", "Likes short answers."),
            ("layer", "memory", "Uses tabs."),
            ("injection", "goal", "Chart the harbour."),
            ("injection", "skills", "High water comes twice a day."),
            ("injection", "rain", "It rains in Kyoto."),
            ("result", "read_file", "alpha"),
            ("result", "glob", "a.txt"),
            ("words", "", "use the skill tides"),
            ("answer", "", "seen"),
        ):
            held = [item for item in named(items, kind, name) if text in manifest.text(item)]
            assert held, (kind, name)
            assert text in body
        assert {item.name for item in named(items, "tool")} == {tool["name"] for tool in sent["tools"]}
        assert [entry["key"] for entry in manifest.memories] == ["indent"]
        assert named(items, "layer", "workspace")[0].source == "AGENTS.md"
        assert named(items, "result", "glob")[0].tokens.mark in ("exact", "reconciled")


async def test_the_sum_of_the_items_is_the_number_on_the_status_bar_and_the_trigger(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(furnished(tmp_path, monkeypatch), server) as run:
        await _talked(run, server)
        await run.session.perform(
            "elide", str(named((await run.session.manifest()).items, "result")[0].record)
        )
        manifest = await run.session.manifest()
        tile(manifest)
        shown = run.all(Weighed)[-1]
        assert manifest.total.count == shown.total == run.context.weigh().total
        assert manifest.total.mark == shown.mark == "estimated"
        elided = [item for item in manifest.left_out if item.record]
        assert [item.reason for item in elided] == ["shortened by you"]


async def test_before_the_first_words_it_tells_what_a_new_log_will_get(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(furnished(tmp_path, monkeypatch), server) as run:
        manifest = await run.session.manifest()
        tile(manifest)
        assert manifest.total.count == run.all(Weighed)[-1].total > 1_000
        assert {item.name for item in named(manifest.items, "layer")} >= {
            "builtin",
            "workspace",
            "profile",
            "memory",
        }
        assert [entry["key"] for entry in manifest.memories] == ["indent"]


# --- what is cached, and what is left out ----------------------------------------------------------------------------


async def test_what_is_in_front_of_the_last_place_that_is_served_is_cached(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    sessions.write(path, 30, 1)
    context = Context(path, read_only=True, model=sessions.MODEL)
    await context.restore()
    _, manifest = assemble(context, LIMITS)
    for served, cached in (
        (None, set()),
        (("tool", 1), {"tools"}),
        (("system", 0), {"tools", "system"}),
        (("message", 2, 0), {"tools", "system", "messages"}),
    ):
        found = [item for item in replace(manifest, served=served).items if item.cached]
        assert {item.section for item in found} == cached
    assert {item.message for item in found if item.section == "messages"} <= {0, 1, 2}
    tools = [item.cached for item in replace(manifest, served=("tool", 1)).items if item.section == "tools"]
    assert tools == [True, True, False, False, False]


async def test_the_cache_reads_in_the_second_turn_what_was_sent_in_the_first(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("Mind the parser. " * 900)
    server.caching()
    async with engine(tmp_path, server) as run:
        assert not [item for item in (await run.session.manifest()).items if item.cached]
        server.script(Reply.text("one"))
        await run.say("first")
        await run.context.append_message({"role": "user", "content": "second"})
        items = (await run.session.manifest()).items
        assert [item.name for item in items if item.section == "messages" and item.cached] == ["your words"]
        assert all(item.cached for item in items if item.section in ("tools", "system"))


async def test_memories_without_room_and_blocks_that_are_not_valid_are_listed_with_the_reason(
    tmp_path: Path, server: ScriptedServer
) -> None:
    store = MemoryStore(paths.memory_db())
    for number in range(40):
        store.add("user", f"key {number}", "x " * 400)
    async with engine(tmp_path, server) as run:
        server.script(Reply.text("hello"))
        await run.say("hello")
        answer = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, text_block("so")]}
        await run.context.append_message(answer, model="scripted-1")
        manifest = await run.session.manifest()
        tile(manifest)
        left = named(manifest.left_out, "memory")
        assert left and all("no room" in item.reason for item in left)
        assert len(left) + len(manifest.memories) == 40
        (block,) = named(manifest.left_out, "block")
        assert "no signature" in block.reason and block.record == run.context.history[-1].id


async def test_a_reminder_that_another_tells_already_is_listed(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(furnished(tmp_path, monkeypatch), server) as run:
        server.script(Reply.text("so"))
        await run.say("hello")
        manifest = await run.session.manifest()
        assert named(manifest.items, "injection", "rain")
        (left,) = named(manifest.left_out, "injection")
        assert (left.name, left.reason) == ("drizzle", "rain tells it already") and left.tokens.count > 0
