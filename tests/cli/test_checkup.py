from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ended, Inside, conversation, session, write
from tui_agent.context.lease import Lease
from tui_agent.sessions.folder import SessionFolder


def lines(ended: Ended, level: str) -> list[str]:
    return [line for line in ended.out.splitlines() if line.startswith(level)]


def with_open_call(folder: SessionFolder) -> None:
    call: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "sleep 9"}}],
        "id": "A9",
        "model": "m-1",
        "stop_reason": "tool_use",
    }
    write(folder.context_path, [*conversation("hello")[:-1], call])


def test_a_sound_session_has_nothing_bad(run: Inside, shop: Path) -> None:
    made = session(shop, "hello", title="Mine")
    ended = run("doctor", made.id[:12])
    assert (ended.code, lines(ended, "bad"), ended.err) == (0, [], "")
    for text in (
        "Mine",
        "session.toml: sound",
        "4 records, 2 messages",
        "next request: valid",
        "undo: there is nothing",
    ):
        assert text in ended.out


def test_a_session_is_named_by_its_path_too(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    for name in (str(made.path), str(made.context_path), os.path.relpath(made.path, shop)):
        assert run("doctor", name).code == 0
    ended = run("doctor", "01ARZ3NDEK")
    assert (ended.code, ended.err.count("\n")) == (1, 1)


def test_open_calls_are_closed_by_an_append(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    with_open_call(made)
    before = made.context_path.read_bytes()
    ended = run("doctor", made.id)
    assert (ended.code, "1 without a result (bash)" in ended.out) == (1, True)
    assert made.context_path.read_bytes() == before
    fixed = run("doctor", made.id, "--fix")
    assert (fixed.code, "fixed open calls" in fixed.out) == (0, True)
    after = made.context_path.read_bytes()
    assert after.startswith(before)
    (repair,) = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert (repair["role"], repair["origin"]) == ("user", "repair")
    assert repair["content"][0]["tool_use_id"] == "toolu_1"
    assert run("doctor", made.id).code == 0


def test_what_breaks_a_rule_of_the_api_is_listed_by_rule_with_its_records(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    first, words, answer, *rest = conversation("hello")
    lost = {"type": "tool_result", "tool_use_id": "t9", "content": "lost"}
    broken = [
        {"role": "user", "content": [lost, {"type": "text", "text": " "}], "id": f"B{n}"} for n in range(10)
    ]
    write(made.context_path, [first, words, *broken, answer, *rest])
    before = made.context_path.read_bytes()
    ended = run("doctor", made.id, "--fix")
    assert (ended.code, made.context_path.read_bytes()) == (0, before)
    blank, orphan = [line for line in lines(ended, "note") if " rule: " in line]
    assert "10 x blank_text: a text is more than white space; it is left out" in blank
    assert "10 x orphan_result: a result answers a call of the message before; it is left out" in orphan
    assert blank.endswith("(records 3, 4, 5, 6, 7, 8, 9, 10 and 2 more)")
    assert "next request: valid" in ended.out


def test_leftovers_are_removed_and_nothing_else(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    (made.path / "context.jsonl.tmp").write_text("half")
    os.link(made.context_path, made.path / "context_1.jsonl")
    before = made.context_path.read_bytes()
    ended = run("doctor", made.id)
    assert (ended.code, len([line for line in lines(ended, "bad") if "leftover" in line])) == (1, 2)
    fixed = run("doctor", made.id, "--fix")
    assert (fixed.code, len(lines(fixed, "fixed"))) == (0, 2)
    assert sorted(path.name for path in made.path.iterdir() if path.name != "lock") == [
        "context.jsonl",
        "session.toml",
    ]
    assert made.context_path.read_bytes() == before


def test_a_broken_session_toml_is_set_aside(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    (made.path / "session.toml").write_text("= x")
    assert run("doctor", made.id).code == 1
    assert "session.toml.broken" in run("doctor", made.id, "--fix").out
    assert (made.path / "session.toml.broken").read_text() == "= x"
    assert run("doctor", made.id).code == 0


def test_damaged_lines_are_told_with_their_numbers(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    made.context_path.write_bytes(made.context_path.read_bytes() + b"{broken\n" * 20)
    ended = run("doctor", made.id)
    assert "line 5" in ended.out
    assert "10 more lines" in ended.out


def test_media_and_outputs_are_checked_by_their_hashes(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    kept, lost = made.blobs.put(b"kept"), made.blobs.put(b"lost")
    output = made.outputs.put_text("long output")
    records = conversation("hello")
    for digest in (kept, lost):
        records[2]["content"].append(
            {
                "type": "image",
                "source": {"type": "blob", "sha256": digest, "media_type": "image/png", "bytes": 4},
            }
        )
    write(made.context_path, records)
    assert "3 media and outputs" in run("doctor", made.id).out
    (made.path / "blobs" / lost).unlink()
    (made.path / "outputs" / output).write_text("changed")
    ended = run("doctor", made.id)
    assert ended.code == 1
    assert f"blobs/{lost} is missing" in ended.out
    assert f"outputs/{output} is not what its name says" in ended.out


def test_backups_are_compared_with_what_was_kept(run: Inside, shop: Path) -> None:
    made = session(shop, "hello", "again")
    name = run("context", "revert", "1", "--json").data["backup"]
    assert "undo: undo possible" in run("doctor", made.id).out
    backup = made.path / name
    backup.write_bytes(backup.read_bytes().replace(b"again", b"agaim"))
    ended = run("doctor", made.id)
    assert (ended.code, "another program changed it" in ended.out) == (1, True)
    backup.unlink()
    ended = run("doctor", made.id)
    assert "no longer kept" in ended.out


def test_a_session_in_use_is_read_and_left_alone(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    with_open_call(made)
    (made.path / ".x.tmp").write_text("being written")
    lease = Lease(made.lock_path)
    lease.acquire()
    try:
        ended = run("doctor", made.id, "--fix")
        assert (ended.code, lines(ended, "bad"), lines(ended, "fixed")) == (0, [], [])
        assert "a program is writing this session" in ended.out
    finally:
        lease.release()
    assert (made.path / ".x.tmp").exists()


@pytest.mark.parametrize("data", [b"", b"\x00" * 100, b"not json"])
def test_a_log_with_nothing_in_it_is_said(run: Inside, shop: Path, data: bytes) -> None:
    made = session(shop, "hello")
    made.context_path.write_bytes(data)
    ended = run("doctor", str(made.path))
    assert ended.code in (0, 1)
    assert "log" in ended.out


def test_other_peoples_files_and_folders_are_only_read(run: Inside, shop: Path) -> None:
    file = shop / "some.jsonl"
    made = session(shop, "hello")
    with_open_call(made)
    file.write_bytes(made.context_path.read_bytes())
    shop.chmod(0o755)
    (shop / "x.tmp").write_text("mine")
    ended = run("doctor", str(file), "--fix")
    assert (ended.code, lines(ended, "bad"), lines(ended, "fixed")) == (0, [], [])
    assert "it is only read" in ended.out
    assert "open calls" in ended.out
    assert shop.stat().st_mode & 0o777 == 0o755
    assert file.read_bytes() == made.context_path.read_bytes()
    assert (shop / "x.tmp").exists()
