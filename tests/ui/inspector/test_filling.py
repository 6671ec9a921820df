"""What fills a context: sums that close to the token, for whatever is in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import sessions
from tests.support.examples import examples
from tests.ui.inspector.logs import write
from tui_agent.context import Context
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.tokens import Tokens
from tui_agent.ui.inspector.filling import LARGEST, Filling, shared_out
from tui_agent.ui.inspector.tokens import Sum, added_up


async def _sum(path: Path) -> tuple[Context, Sum]:
    context = Context(path, read_only=True)
    await context.restore()
    return context, await added_up(context, 0)


@examples(15)
@given(messages=st.integers(1, 120), seed=st.integers(0, 10_000), cut=st.integers(0, 400))
def test_items_and_unattributed_are_the_total_of_any_session(messages: int, seed: int, cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "context.jsonl"
        sessions.write(path, messages, seed)
        path.write_bytes(path.read_bytes()[: -cut or None])  # also one that was cut off in the middle
        context, found = asyncio.run(_sum(path))
        weight = context.weigh()
        assert found.filling.total + found.unattributed == weight.total == context.token_count_with_pending
        assert found.unattributed == context.unattributed
        assert sum(share.count for share in found.filling.shares) == found.filling.total
        assert sum(found.filling.by_mark.values()) == found.filling.total


def test_a_log_without_a_prompt_closes_with_what_is_still_to_come(tmp_path: Path) -> None:
    async def check() -> None:
        context = Context(write(tmp_path / "context.jsonl", []), read_only=True)
        await context.restore()
        found = await added_up(context, 1_300)
        assert (found.total, found.unattributed) == (1_300, 0)
        assert [share.name for share in found.filling.shares] == ["system prompt and tools to come"]

    asyncio.run(check())


@given(st.integers(0, 10**7), st.dictionaries(st.text(max_size=3), st.integers(0, 10**6), min_size=1))
def test_shares_add_up(count: int, parts: dict[str, int]) -> None:
    shares = shared_out(count, parts)
    assert [name for name, _ in shares] == list(parts)
    if sum(parts.values()):
        assert sum(share for _, share in shares) == count
        assert all(share >= 0 for _, share in shares)


def _filled(*messages: tuple[Message, Tokens]) -> Filling:
    filling = Filling()
    for message, tokens in messages:
        filling.take(message, tokens)
    return filling


CALL = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}


@pytest.mark.parametrize(
    ("message", "names"),
    [
        (Message("user", [text_block("hello")]), {"your words"}),
        (Message("assistant", [text_block("hello")]), {"answers"}),
        (Message("assistant", [{"type": "thinking", "thinking": "hm"}, CALL]), {"thinking", "tool calls"}),
        (Message("user", [tool_result("c9", "x")], meta={"tool": "grep"}, origin="tool"), {"grep results"}),
        (Message("user", [tool_result("c9", "x")], origin="tool"), {"a tool results"}),
        (Message("user", [{"type": "image", "source": {}}]), {"images"}),
        (Message("user", [text_block("told")], origin="injection"), {"reminders"}),
        (Message("user", [], origin="magic"), {"magic notes"}),
    ],
)
def test_each_kind_of_content_has_a_name(message: Message, names: set[str]) -> None:
    filling = _filled((message, Tokens(1_000, "estimated")))
    assert {share.name for share in filling.shares} == names
    assert filling.total == 1_000


def test_a_result_is_named_by_the_call_it_answers() -> None:
    filling = _filled(
        (Message("assistant", [CALL]), Tokens(10, "exact")),
        (Message("user", [tool_result("c1", "x" * 40)], origin="tool"), Tokens(90, "reconciled")),
    )
    assert [(share.name, share.count) for share in filling.shares] == [
        ("bash results", 90),
        ("tool calls", 10),
    ]


def test_the_part_of_an_exact_figure_is_a_share_and_a_sum_is_as_sure_as_its_least_part() -> None:
    both = Message("assistant", [text_block("hello"), CALL], id="a1")
    alone = Message("assistant", [text_block("hello")], id="a2")
    filling = _filled((both, Tokens(50, "exact")), (alone, Tokens(60, "exact")))
    marks: Mapping[str, Any] = {share.name: share.mark for share in filling.shares}
    assert marks == {"answers": "reconciled", "tool calls": "reconciled"}
    assert filling.by_mark == {"exact": 110, "reconciled": 0, "estimated": 0}
    assert next(share.record for share in filling.shares if share.name == "answers") == "a2"


def test_the_largest_items_are_named_largest_first() -> None:
    messages = [
        (Message("user", [text_block(f"word {n}")], id=f"m{n}"), Tokens(n, "exact")) for n in range(50)
    ]
    largest = _filled(*messages).largest
    assert [item.count for item in largest] == list(range(49, 49 - LARGEST, -1))
    assert (largest[0].record, largest[0].who, largest[0].words) == ("m49", "you", "word 49")
