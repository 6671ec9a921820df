"""What is left out where a request has no room and no summary makes any: the oldest, and never what must stay."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import sessions, validity
from tests.support.examples import examples
from tui_agent.agent.building import assemble
from tui_agent.changes import MicroCompacted
from tui_agent.compaction.budget import SHARE, Budget, Room, cut
from tui_agent.compaction.policy import Policy
from tui_agent.context import Context
from tui_agent.events import Event
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.prompt.assembler import Limits
from tui_agent.settings.schema import Compaction

POLICY = Policy(Compaction())
LIMITS = Limits(sessions.MODEL, 10_000_000, 4_096)


async def marked(path: Path, seed: int, messages: int) -> tuple[Context, set[str]]:
    """A random log in which some must stay, and what that is."""
    sessions.write(path, messages, seed)
    context = Context(path, durability="off", model=sessions.MODEL)
    await context.restore()
    chance = random.Random(seed)
    stays = set()
    for message in chance.sample(list(context.history), min(len(context.history), chance.randint(0, 4))):
        await context.mark(
            message.id, **chance.choice([{"pinned": True}, {"compressible": False}, {"priority": 100}])
        )
        stays.add(message.id)
    for origin in ("summary", "injection"):
        said = [{"role": "user", "content": [text_block(f"what the {origin} says")]}]
        stays |= {record.id for record in await context.append_message(said, origin=origin)}
    answer = {"role": "assistant", "content": [text_block("so it is")], "model": sessions.MODEL}
    await context.append_message(answer)
    if chance.random() < 0.7:
        await context.append_message({"role": "user", "content": "the newest words"})
    if chance.random() < 0.5:
        use = {"type": "tool_use", "id": "open", "name": "bash", "input": {}}
        await context.append_message({**answer, "content": [use]})
        await context.append_message(
            {"role": "user", "content": [tool_result("open", "done")]}, origin="tool"
        )
    back = chance.choice(context.history).id
    await context.elide([{"record": back, "as": None}], by="user", reason="drop")
    await context.restore_elided(context.batches[-1].id)
    return context, stays | {back}


def newest(history: list[Message]) -> set[str]:
    """The newest words, and the calls that the model has not answered to with their results."""
    words = next(at for at in range(len(history) - 1, -1, -1) if history[at].is_words)
    answers = [at for at, message in enumerate(history) if message.role == "assistant"]
    open_from = len(history)
    if answers and any(history[answers[-1]].blocks("tool_use")):
        open_from = answers[-1]
    return {history[words].id, *(message.id for message in history[open_from:])}


async def _holds(seed: int, messages: int, share: float) -> None:
    with TemporaryDirectory() as folder:
        context, stays = await marked(Path(folder) / "context.jsonl", seed, messages)
        history = list(context.history)
        stays |= newest(history)
        total = context.weigh().total
        room = Room(int(total * share), int(total * (share + 1) / 2))
        found = cut(context, POLICY, total=total, room=room)
        heard: list[Event] = []
        freed = await Budget(context=context, policy=lambda: POLICY, emit=heard.append).fit(total, room, "so")
        gone = [item.record for item in found.items]
        assert not stays & set(gone)
        assert [message.id for message in context.history] == [m.id for m in history if m.id not in gone]
        request, _ = assemble(context, LIMITS)
        assert not validity.check({**request.body(), "stream": True})
        if not gone:
            assert not freed and not heard
        else:
            assert freed > 0 and context.weigh().total <= room.most
            assert [type(event) for event in heard] == [MicroCompacted]
            assert [batch.body["reason"] for batch in context.batches].count("budget") == 1
            await context.restore_elided(context.batches[-1].id)
            assert list(context.history) == history
        await context.close()


_cases = (st.integers(0, 10_000), st.integers(4, 60), st.floats(0.05, 0.99))


@examples(20)
@given(*_cases)
def test_in_any_log_what_must_stay_stays_and_what_is_left_is_valid(
    seed: int, messages: int, share: float
) -> None:
    asyncio.run(_holds(seed, messages, share))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(*_cases)
def test_in_any_log_what_must_stay_stays_and_what_is_left_is_valid_thoroughly(
    seed: int, messages: int, share: float
) -> None:
    asyncio.run(_holds(seed, messages, share))


async def test_it_goes_down_to_a_share_of_the_budget_from_the_oldest_calls_on(tmp_path: Path) -> None:
    sessions.write(tmp_path / "context.jsonl", 60, 3)
    context = Context(tmp_path / "context.jsonl", read_only=True, model=sessions.MODEL)
    await context.restore()
    total = context.weigh().total
    room = Room(int(total * 0.9), total)
    found = cut(context, POLICY, total=total, room=room)
    stop = SHARE * room.budget
    last = context.estimated(found.items[-1].record) + context.estimated(found.items[-2].record)
    assert total - found.freed <= stop < total - found.freed + 2 * last
    order = [message.id for message in context.history]
    places = [order.index(item.record) for item in found.items]
    between = order[: places[-1] + 1]
    left = [context.record(name) for name in between if name not in {item.record for item in found.items}]
    assert places == sorted(places)
    assert not [record for record in left if record.origin == "tool"]
    assert all("and what came of it" in words for words in found.words)


async def test_what_would_not_let_the_request_be_sent_is_not_left_out(tmp_path: Path) -> None:
    sessions.write(tmp_path / "context.jsonl", 30, 3)
    context = Context(tmp_path / "context.jsonl", read_only=True, model=sessions.MODEL)
    await context.restore()
    total = context.weigh().total
    floor = context.system_tokens.count + context.tools_tokens.count
    assert cut(context, POLICY, total=total, room=Room(floor - 1_000, floor)).items == ()
    assert cut(context, POLICY, total=total, room=Room(total // 2, total)).items


async def test_what_is_pinned_while_a_batch_is_looked_for_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions.write(tmp_path / "context.jsonl", 40, 3)
    context = Context(tmp_path / "context.jsonl", durability="off", model=sessions.MODEL)
    await context.restore()
    total = context.weigh().total
    room = Room(total // 2, total)
    first = cut(context, POLICY, total=total, room=room).items[0].record
    loop, estimated = asyncio.get_running_loop(), Context.estimated
    pinned: list[str] = []

    def meanwhile(self: Context, record: str) -> int:
        if not pinned:  # in the thread that looks for the batch
            pinned.append(first)
            asyncio.run_coroutine_threadsafe(context.mark(first, pinned=True), loop).result()
        return estimated(self, record)

    monkeypatch.setattr(Context, "estimated", meanwhile)
    await Budget(context=context, policy=lambda: POLICY, emit=lambda event: None).fit(total, room, "so")
    assert context.marks(first)["pinned"] and not context.elided(first)
    assert context.batches[-1].body["items"]
    await context.close()
