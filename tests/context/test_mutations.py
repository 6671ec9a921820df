"""Damaged session files open; what is not damaged in them is all there, and work goes on.

What is damaged is judged by a reading of the file that shares no code with the program (tests/support/mutations).
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support import mutations, validity
from tests.support.examples import some
from tui_agent.context import Context, ContextError
from tui_agent.messages.request import Request

SEEDS = mutations.seeds()
SAMPLE, ALL = 100, 2000
BATCH = 100


def mutated(number: int) -> tuple[str, bytes]:
    """The `number`-th damaged file and what was done to it."""
    name, data = SEEDS[number % len(SEEDS)]
    kind, damaged = mutations.mutate(data, random.Random(number))
    return f"{number}: {kind} of {name}", damaged


def batches(start: int, stop: int) -> list[range]:
    return [range(first, min(first + BATCH, stop)) for first in range(start, stop, BATCH)]


@pytest.mark.parametrize("numbers", batches(0, SAMPLE), ids=str)
def test_damaged_files_open_whole_and_go_on(tmp_path: Path, numbers: range) -> None:
    for number in numbers:
        case, data = mutated(number)
        asyncio.run(opens_and_goes_on(tmp_path / str(number), case, data))


@pytest.mark.slow
@pytest.mark.parametrize("numbers", batches(SAMPLE, ALL), ids=str)
def test_many_damaged_files_open_whole_and_go_on(tmp_path: Path, numbers: range) -> None:
    for number in numbers:
        case, data = mutated(number)
        asyncio.run(opens_and_goes_on(tmp_path / str(number), case, data))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [name for name, _ in SEEDS if name != "own"])
def test_any_type_in_the_place_of_any_field_opens_and_goes_on(tmp_path: Path, seed: str) -> None:
    for number, data in enumerate(mutations.type_swaps(dict(SEEDS)[seed])):
        asyncio.run(opens_and_goes_on(tmp_path / str(number), f"{seed}, swap {number}", data))


@pytest.mark.parametrize(("name", "data"), SEEDS, ids=[name for name, _ in SEEDS])
def test_the_seeds_are_sound(tmp_path: Path, name: str, data: bytes) -> None:
    asyncio.run(opens_and_goes_on(tmp_path / name, name, data))
    assert None not in mutations.independent(data).values()


@pytest.mark.parametrize("seed", some(["elided", "kimi-plain-context"], 2))
def test_every_cut_of_a_file_opens_and_goes_on(tmp_path: Path, seed: str) -> None:
    data = dict(SEEDS)[seed]
    for size in range(len(data) - 250, len(data)):
        asyncio.run(opens_and_goes_on(tmp_path / str(size), f"{seed} cut to {size}", data[:size]))


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../context_1.jsonl", "context.jsonl", "lock", "\x00", "x" * 5000]
)
async def test_a_head_that_names_no_backup_offers_nothing_to_undo(tmp_path: Path, name: str) -> None:
    path = tmp_path / "context.jsonl"
    path.write_text(
        json.dumps({"role": "_rewind", "n": 1, "op": "revert", "backup": name, "undo": name, "redo": name})
        + "\n"
    )
    context = Context(path)
    await context.restore()
    assert (context.can_undo, context.can_redo) == (False, False)
    for operation in (context.undo, context.redo):
        with pytest.raises(ContextError):
            await operation()
    context.backups()
    await context.close()


async def opens_and_goes_on(folder: Path, case: str, data: bytes) -> None:
    """Open, compare with the independent reading, append, ask, open again."""
    folder.mkdir()
    path = folder / "context.jsonl"
    path.write_bytes(data)
    expected = mutations.independent(data)
    context = Context(path)
    assert await context.restore() is (len(data) > 0), case
    try:
        holds_what_is_there(context, expected, case)
        request_is_valid(context, case)
        assert path.read_bytes() == data, f"{case}: opening changed the file"
        [record] = await context.append_message(
            {"role": "user", "content": [{"type": "text", "text": "go on"}]}
        )
        assert context.history[-1].text == "go on", case
        request_is_valid(context, case)
        await context.checkpoint()
        live = shown(context)
    finally:
        await context.close()

    again = Context(path)
    assert await again.restore(), case
    assert shown(again) == live, case
    assert again.history[-1].id == record.id, case
    lines = dict(expected)
    last = len(data.split(b"\n"))
    appended = path.read_bytes()[len(data) :].lstrip(b"\n").split(b"\n")
    lines |= {
        last + (not data.endswith(b"\n") and bool(data)) + n: line for n, line in enumerate(appended) if line
    }
    holds_what_is_there(again, lines, case)
    await again.close()


def holds_what_is_there(context: Context, expected: dict[int, bytes | None], case: str) -> None:
    """Records and damage are those of the independent reading, line by line."""
    records = list(context.records)
    assert [record.line for record in records] == list(expected), case
    for record in records:
        line = expected[record.line]
        assert (record.damaged is None) == (line is not None), f"{case}, line {record.line}: {record.damaged}"
        if line is not None:
            assert record.raw == line.removeprefix(b"\xef\xbb\xbf"), f"{case}, line {record.line}"
            assert "role" in record.body, f"{case}, line {record.line} has no body"
    damaged = [number for number, line in expected.items() if line is None]
    assert [damage.line for damage in context.damage] == damaged, case
    messages = [
        json.loads(line.decode().removeprefix("\ufeff"), strict=False) for line in expected.values() if line
    ]
    texts = [text for message in messages for text in _texts(message)]
    shown_texts = [block.get("text") for message in context.history for block in message.content]
    if not any(message["role"] in ("_elide", "_restore_elided") for message in messages):
        assert [text for text in shown_texts if text in texts] == texts, case


def _texts(message: dict[str, Any]) -> list[str]:
    """The text blocks of a user's or the model's message, as far as they need no interpretation."""
    if message["role"] not in ("user", "assistant"):
        return []
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    texts = [part.get("text") for part in content or [] if part.get("type") == "text"]
    return [text for text in texts if isinstance(text, str) and text and text.isascii()]


def shown(context: Context) -> Any:
    """All that a context shows."""
    return (
        context.system_prompt,
        [(message.id, message.role, message.origin, list(message.content)) for message in context.history],
        dict(context.state),
        [(mark.id, mark.uid, mark.turn, mark.words) for mark in context.checkpoints()],
        (context.token_count, context.token_count_with_pending, context.unattributed),
        [
            dict(context.marks(record.id))
            for record in context.records
            if record.role in ("user", "assistant")
        ],
        [(record.line, record.id, record.origin) for record in context.records],
        (context.can_undo, context.can_redo, context.n_checkpoints, context.tools),
    )


def request_is_valid(context: Context, case: str) -> None:
    """The next request is one that the API takes."""
    request = Request.make(
        model="claude-sonnet-5-5",
        system=[{"type": "text", "text": context.system_prompt or "be good"}],
        history=[*context.history],
        max_tokens=100,
        tools=[],
    )
    body = request.body()
    for message in body["messages"]:
        message["content"] = [_with_bytes(block) for block in message["content"]]
    problems = validity.check(body)
    if not len(context.history):
        problems = [problem for problem in problems if not problem.startswith("messages")]
    assert problems == [], case


def _with_bytes(block: dict[str, Any]) -> dict[str, Any]:
    """The block as a provider sends it: media by their bytes, or a text that says they are missing."""
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        return block | {"content": [_with_bytes(part) for part in block["content"]]}
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "blob":
        return block
    data = mutations.blobs().get(str(source.get("sha256")))
    if data is None:
        return {"type": "text", "text": "[image missing]"}
    encoded = base64.b64encode(data).decode()
    return block | {"source": {"type": "base64", "media_type": source.get("media_type"), "data": encoded}}
