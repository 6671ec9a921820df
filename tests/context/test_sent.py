"""Where the requests of a log lie: whole files, damaged ones, files that grow and are rewritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tui_agent.context import Context
from tui_agent.context.sent import LOG, SentRequests


def _usage(number: int, **more: Any) -> dict[str, Any]:
    params = {"model": "m-1", "max_tokens": 9, "thinking": None}
    return {
        "role": "_usage", "token_count": 100 + number, "input": number, "output": 1, "cache_read": 90,
        "cache_write": 0, "params": params, "request": f"{number:064}", **more,
    }  # fmt: skip


def _turn(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "_checkpoint", "id": number, "turn": True},
        {"role": "user", "content": f"words {number}"},
        _usage(number),
    ]


def _lines(*records: dict[str, Any] | bytes) -> bytes:
    return b"".join((r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in records)


async def _of(path: Path) -> SentRequests:
    context = Context(path)
    await context.restore()
    return SentRequests(context)


async def test_damaged_lines_and_foreign_words_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    talks_of_it = {"role": "user", "content": [{"type": "text", "text": '{"role":"_usage"} "_usage"'}]}
    estimate = {"role": "_usage", "token_count": 7, "exact": False}
    odd = _usage(3, input="many", output=-1, predicted=True, params=None, at=None)
    path.write_bytes(
        _lines(*_turn(4), b'{"role":"_usage","request":', b"\xff\xfe", talks_of_it, estimate, odd)
    )
    found = await _of(path)
    assert found.follow() == 2
    assert (found[0].turn, found[0].input, found[0].total_input, found[0].n) == (4, 4, 94, 1)
    assert (found[1].turn, found[1].input, found[1].output, found[1].predicted, found[1].model) == (
        4,
        0,
        0,
        None,
        "",
    )


@pytest.mark.parametrize(
    ("minute", "more", "why"),
    [
        (7, {"predicted": 0}, "nothing was said for 7 minutes, and the cache had let go of the one before"),
        (4, {"predicted": 0}, ""),
        (7, {"predicted": 90}, ""),
        (7, {"predicted": 0, "parted": "a compaction"}, "it does not extend the one before: a compaction"),
        (7, {"predicted": 0, "at": "later"}, ""),
    ],
    ids=["silence", "too small to be kept", "served", "parted", "no time"],
)
async def test_why_the_cache_did_not_serve_a_request_is_known(
    minute: int, more: dict[str, Any], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "context.jsonl"
    second = _usage(2, **{"at": f"2026-03-05T12:{minute:02}:59+00:00", **more})
    path.write_bytes(_lines(_usage(1, predicted=0, at="2026-03-05T12:00:00+00:00"), second))
    found = await _of(path)
    assert found.follow() == 2
    assert (found[0].uncached, found[1].uncached) == ("", why)


async def test_a_torn_last_line_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    whole = _lines(*_turn(0), *_turn(1))
    path.write_bytes(whole[:-9])
    found = await _of(path)
    assert found.follow() == 1
    path.write_bytes(whole)
    assert found.follow() == 2
    assert [found[place].turn for place in range(2)] == [0, 1]


async def test_an_empty_and_a_missing_log_tell_of_none(tmp_path: Path) -> None:
    assert (await _of(tmp_path / "context.jsonl")).follow() == 0
    (tmp_path / "context.jsonl").write_bytes(b"")
    assert (await _of(tmp_path / "context.jsonl")).follow() == 0


async def test_each_request_is_there_once_wherever_rewrites_have_copied_it(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    path.write_bytes(_lines({"role": "_system_prompt", "content": "p"}, *_turn(0), *_turn(1), *_turn(2)))
    context = Context(path)
    await context.restore()
    found = SentRequests(context)
    try:
        assert found.follow() == 3
        await context.revert_to(1)
        assert found.follow() == 3
        assert [found[place].file for place in range(3)] == [LOG, "context_1.jsonl", "context_1.jsonl"]
        await context.append(_usage(9))
        assert found.follow() == 4
        await context.undo()
        assert found.follow() == 4
        assert [found[place].file for place in range(4)] == [LOG, LOG, LOG, "context_2.jsonl"]
        assert [found[place].input for place in range(4)] == [0, 1, 2, 9]
        for place in range(3):
            assert context.record_at(found[place].offset).body["input"] == found[place].input
        again = SentRequests(context)
        assert again.follow() == 4
        assert {again[place].input for place in range(4)} == {0, 1, 2, 9}
    finally:
        await context.close()


async def test_a_request_is_found_though_the_log_was_rewritten_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    path.write_bytes(_lines({"role": "_system_prompt", "content": "p"}, *_turn(0), *_turn(1)))
    context = Context(path)
    await context.restore()
    found = SentRequests(context)
    try:
        found.follow()
        await context.clear()
        assert (found[1].input, found[1].file) == (1, "context_1.jsonl")
    finally:
        await context.close()


async def test_no_record_begins_between_two(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    path.write_bytes(_lines(*_turn(0)))
    context = Context(path, read_only=True)
    await context.restore()
    assert context.record_at(0).role == "_checkpoint"
    for offset in (1, path.stat().st_size):
        with pytest.raises(ValueError, match="offset"):
            context.record_at(offset)
