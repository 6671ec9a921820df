"""What is written is there: for this process, for the next one, and as it was written."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.context.compare import call, check, everything, fresh, result, talk, text
from tui_agent.context import (
    Context,
    ContextError,
    LogBusy,
    LogChanged,
    LogReadError,
    ReadOnlyLog,
    Record,
)
from tui_agent.messages.blocks import Message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session" / "context.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


async def test_a_session_that_is_not_there_restores_to_nothing_and_is_made_by_the_first_write(
    path: Path,
) -> None:
    context = Context(path)
    assert await context.restore() is False
    assert (len(context.history), len(context.records), context.system_prompt) == (0, 0, None)
    assert not path.parent.exists()
    await context.append_message(text("hello"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await context.close()
    again = Context(path)
    assert await again.restore() is True
    assert again.history[0].text == "hello"


async def test_live_equals_a_fresh_restore_after_every_operation(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    await check(context)
    answer, tool = context.history[1], context.history[2]
    elide = await context.elide(
        [
            {"record": tool.id, "block": 0, "as": "[truncated: bash result, 220 chars]"},
            {"record": answer.id, "block": 0, "as": None},
            {"record": context.history[3].id, "as": None},
        ],
        by="user",
        reason="drop",
    )
    await check(context)
    await context.restore_elided(elide.id, [1])
    await check(context)
    await context.mark(tool.id, pinned=True)
    await context.mark(tool.id, priority=75, by="auto")
    await check(context)
    await context.set_state("goal", {"text": "finish"})
    await context.set_state("goal", {"text": "rest"})
    await check(context)
    await context.write_system_prompt("You are bold.", memories=[{"id": "m", "rev": 2}])
    await check(context)
    await context.write_tools([])
    await check(context)
    await talk(context, 2, start=1)
    await check(context)
    await context.revert_to(4)
    await check(context)
    await context.undo()
    await check(context)
    await context.redo()
    await check(context)
    await context.append_message(text("on"))
    await check(context)
    await context.clear()
    await check(context)
    await context.clear("Anew.")
    await check(context)
    await context.restore_backup("context_1.jsonl")
    await check(context)
    await context.restore_elided(elide)
    await check(context)
    await context.close()
    await check(context)


async def test_records_have_the_documented_form(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    prompt, tools, checkpoint, words, step, answer, usage, tool, *_ = lines(path)
    assert prompt == {"role": "_system_prompt", "content": "You are careful."}
    assert (tools["role"], tools["tools"][0]["name"], len(tools["sha256"])) == ("_tools", "bash", 64)
    assert list(checkpoint) == ["role", "id", "turn", "uid", "at"]
    assert (checkpoint["id"], checkpoint["turn"], step["turn"]) == (0, True, False)
    assert words["content"] == [{"type": "text", "text": "do thing number 0"}]
    assert len(words["id"]) == len(checkpoint["uid"]) == 26
    assert "origin" not in words and tool["origin"] == "tool"
    assert (answer["model"], answer["stop_reason"]) == ("claude-x", "end_turn")
    assert (usage["through"], usage["produced"]) == (step["uid"], answer["id"])
    assert (usage["exact"], usage["token_count"]) == (True, 590)


async def test_ids_and_times_that_are_given_are_kept_and_an_id_is_used_once(path: Path) -> None:
    context = Context(path)
    [record] = await context.append_message({**text("a"), "id": "mine", "at": "2026-01-01T00:00:00Z"})
    assert (record.id, record.at) == ("mine", "2026-01-01T00:00:00Z")
    size = path.stat().st_size
    with pytest.raises(ValueError, match="mine"):
        await context.append_message({**text("b"), "id": "mine"})
    with pytest.raises(ValueError, match="twin"):
        await context.append_message([{**text("b"), "id": "twin"}, {**text("c"), "id": "twin"}])
    assert path.stat().st_size == size
    await check(context)


async def test_several_messages_are_one_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(path, durability="off")
    await context.append_message(text("first"))
    writes: list[bytes] = []
    write = os.write

    def watched(descriptor: int, data: bytes) -> int:
        writes.append(bytes(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", watched)
    records = await context.append_message([text("a"), Message("assistant", [{"type": "text", "text": "b"}])])
    number = await context.checkpoint(add_user_message=True)
    assert [record.role for record in records] == ["user", "assistant"]
    assert [data.count(b"\n") for data in writes] == [2, 2]
    assert context.history[-1].text == f"<system>CHECKPOINT {number}</system>"
    assert context.history[-1].origin == "checkpoint"
    assert await context.append_message([]) == []


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "x"},
        {"content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": [{"text": "without a type"}]},
        {"role": "user", "content": ["bare"]},
        {"role": "user", "content": [{"type": "text", "text": object()}]},
        {"role": "user", "content": {"type": "text"}},
    ],
)
async def test_a_message_that_could_not_be_read_back_is_refused_and_not_written(
    path: Path, message: dict[str, Any]
) -> None:
    context = Context(path)
    await context.append_message(text("before"))
    data = path.read_bytes()
    with pytest.raises(ValueError):
        await context.append_message(message)
    assert path.read_bytes() == data
    await check(context)


@pytest.mark.parametrize(
    "body",
    [
        {"role": "_checkpoint", "id": -1},
        {"role": "_checkpoint"},
        {"role": "_usage", "token_count": -5},
        {"role": "_usage", "token_count": 2**53},
        {"role": "_elide", "items": "all"},
        {"role": "_mark", "pinned": True},
        {"role": "_state", "key": "goal"},
        {"role": "_rewind", "n": 1},
        {"role": "_system_prompt", "content": None},
        {"role": "_tools", "tools": {}},
        {"role": "_restore_elided"},
        {"no": "role"},
    ],
)
async def test_a_record_of_a_known_role_without_what_it_needs_is_refused(
    path: Path, body: dict[str, Any]
) -> None:
    context = Context(path)
    await context.append_message(text("before"))
    data = path.read_bytes()
    with pytest.raises(ValueError, match="could not be read back"):
        await context.append(body)
    assert path.read_bytes() == data


HOSTILE = {
    "lone surrogate": "a\ud800b\udfff",
    "surrogate pair": "\ud83d\ude00",
    "NUL run": "\x00" * 1000,
    "controls": "".join(map(chr, range(32))) + "\x7f\x85",
    "line separators": "a\u2028b\u2029c\u0085d",
    "bidi": "\u202eabc\u202c",
    "markup": "[bold]x[/bold] \x1b[31mred\x1b]52;c;aGk=\x07",
    "wide": "界" * 3000,
    "quotes": '"\\"\\\\ \\u0000 \\ud800',
    "noncharacters": "\ufffe\uffff\U0010ffff",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_text_survives_the_round_trip(path: Path, name: str) -> None:
    words = HOSTILE[name]
    context = Context(path)
    await context.append_message([text(words), {"role": "assistant", "content": words}], meta={words: words})
    await context.write_system_prompt(words)
    await context.set_state(words, [words])
    expected = words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    seen = await check(context)
    assert [message.text for message in seen["history"]] == [expected, expected]
    assert seen["state"] == {expected: [expected]}
    assert context.damage == []


async def test_a_line_of_50_megabytes_is_an_ordinary_record(path: Path) -> None:
    context = Context(path, durability="off")
    big = "x" * 50_000_000
    await context.append_message([text("before"), result("t", big), text("after")])
    other = await fresh(path)
    assert [message.id for message in other.history] == [message.id for message in context.history]
    assert other.history[1].content[0]["content"] == big
    assert (
        other.records[1].length
        == path.stat().st_size - sum(other.records[index].length for index in (0, 2)) - 3
    )


async def test_odd_values_are_stored_as_json_can_hold_them(path: Path) -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    context = Context(path)
    use = call("t", nan=float("nan"), inf=float("inf"), big=10**300, tuple=(1, 2), path=Path("/a"), deep=deep)
    await context.append_message({"role": "assistant", "content": (use,)})
    stored = context.history[0].content[0]["input"]
    assert (stored["nan"], stored["inf"], stored["big"]) == (None, None, 10**300)
    assert (stored["tuple"], stored["path"]) == ([1, 2], "/a")
    depth, value = 0, stored["deep"]
    while isinstance(value, list):
        depth, value = depth + 1, value[0]
    assert (value, depth < 250) == ("[nested too deeply]", True)
    await check(context)


async def test_the_newest_prompt_and_tools_count(path: Path) -> None:
    context = Context(path)
    await context.write_system_prompt("one")
    await context.write_system_prompt("two")
    await context.write_tools([{"name": "a"}])
    await context.write_tools([{"name": "b"}])
    assert (context.system_prompt, context.tools) == ("two", [{"name": "b"}])
    assert context.backups() == []


async def test_a_prompt_is_put_in_front_of_records_that_have_none(path: Path) -> None:
    context = Context(path)
    await context.append_message(text("hello"))
    await context.checkpoint()
    before = path.read_bytes()
    await context.write_system_prompt("late")
    assert [line["role"] for line in lines(path)] == ["_system_prompt", "user", "_checkpoint", "_rewind"]
    assert (context.head and context.head.op) == "prompt"
    assert (path.parent / "context_1.jsonl").read_bytes() == before
    await check(context)
    await context.undo()
    assert context.system_prompt is None
    await check(context)


async def test_layers_of_a_prompt_are_blocks(path: Path) -> None:
    context = Context(path)
    prompt = "Base é.\n\n# AGENTS.md\nBe kind."
    cut = len("Base é.".encode())
    blocks = [
        {"layer": "builtin", "source": "", "bytes": [0, cut]},
        {"layer": "workspace", "source": "AGENTS.md", "bytes": [cut + 2, len(prompt.encode())]},
    ]
    await context.write_system_prompt(prompt, blocks=blocks)
    assert [block["text"] for block in context.system_blocks] == ["Base é.", "# AGENTS.md\nBe kind."]
    assert [(layer["layer"], layer["source"]) for layer in context.system_layers] == [
        ("builtin", ""),
        ("workspace", "AGENTS.md"),
    ]
    for wrong in (
        [{"bytes": [0, 3]}],
        [{"bytes": [0, 6]}, {"bytes": [2, 34]}],
        [{"bytes": [0, 999]}],
        ["x"],
        [{}],
    ):
        await context.write_system_prompt(prompt, blocks=wrong)
        assert context.system_blocks == [{"type": "text", "text": prompt}]
    await context.write_system_prompt("")
    assert (context.system_prompt, context.system_blocks) == ("", [])


async def test_history_is_a_lazy_sequence_of_the_moment(path: Path) -> None:
    context = Context(path, durability="off")
    for number in range(10):
        await context.append_message(text(f"m{number}"))
    history = context.history
    await context.append_message(text("later"))
    assert (len(history), len(context.history)) == (10, 11)
    assert [history[0].text, history[-1].text, history[9].text] == ["m0", "m9", "m9"]
    assert [message.text for message in history[2:8:2]] == ["m2", "m4", "m6"]
    assert [message.text for message in reversed(history)][:2] == ["m9", "m8"]
    assert (history == list(history), history == [], history[3:3] == []) == (True, False, True)
    for wrong in (10, -11):
        with pytest.raises(IndexError):
            history[wrong]
    await context.elide([{"record": history[0].id, "as": None}], by="user", reason="drop")
    assert (history[0].text, context.history[0].text) == ("m0", "m1")
    await context.clear()
    assert [message.text for message in history] == [f"m{number}" for number in range(10)]


async def test_what_is_handed_out_stays_readable_when_the_file_is_replaced(path: Path) -> None:
    context = Context(path)
    await talk(context)
    history, records, checkpoints = context.history, context.records, context.checkpoints()
    before = (list(history), [record.raw for record in records], list(checkpoints))
    await context.revert_to(0)
    await context.append_message(text("x" * 5000))
    assert (list(history), [record.raw for record in records], list(checkpoints)) == before


async def test_each_append_is_told_once_it_is_on_disk(path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    def tell(record: Record) -> None:
        told.append((record.role, record.line, path.stat().st_size - record.offset - record.length))

    rotated: list[tuple[str, str]] = []
    context = Context(path, on_append=tell, on_rotate=lambda backup, op: rotated.append((backup.name, op)))
    await context.append_message(text("a"))
    await context.checkpoint()
    await context.revert_to(0)
    await context.undo()
    assert told == [("user", 1, 1), ("_checkpoint", 2, 1)]
    assert rotated == [("context_1.jsonl", "revert"), ("context_2.jsonl", "undo")]


async def test_read_only_changes_nothing_and_takes_no_lease(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.checkpoint()
    await context.revert_to(2)
    reader = Context(path, read_only=True)
    assert await reader.restore()
    for change in (
        reader.append_message(text("x")),
        reader.checkpoint(),
        reader.revert_to(0),
        reader.clear(),
        reader.undo(),
        reader.write_system_prompt("x"),
        reader.update_token_count(3),
        reader.set_state("goal", 1),
        reader.mark(reader.history[0].id, pinned=True),
        reader.prune_backups(keep=0),
    ):
        with pytest.raises(ReadOnlyLog, match=r"context\.jsonl"):
            await change
    await reader.close()
    await context.append_message(text("still mine"))
    await check(context)


async def test_a_second_writer_is_told_who_holds_the_session_and_can_read_on(path: Path) -> None:
    first, second = Context(path), Context(path)
    await first.append_message(text("one"))
    assert await second.restore()
    with pytest.raises(LogBusy) as caught:
        await second.append_message(text("two"))
    assert (caught.value.holder.pid, caught.value.holder.host != "") == (os.getpid(), True)
    assert second.history[0].text == "one"
    await first.append_message(text("two"))
    await first.close()
    with pytest.raises(LogChanged):
        await second.append_message(text("three"))
    assert await second.restore()
    await second.append_message(text("three"))
    assert [message.text for message in second.history] == ["one", "two", "three"]
    await check(second)


async def test_a_reader_follows_a_file_that_was_replaced(path: Path) -> None:
    writer = Context(path)
    await talk(writer, 2)
    reader = await fresh(path)
    await writer.revert_to(0)
    await writer.append_message(text("after"))
    assert await reader.restore()
    assert everything(reader) == everything(writer)


@pytest.mark.parametrize("change", ["grown", "cut", "replaced", "removed"])
async def test_a_file_that_somebody_else_changed_is_not_written_to(path: Path, change: str) -> None:
    context = Context(path)
    await talk(context, 1)
    data = path.read_bytes()
    match change:
        case "grown":
            with path.open("ab") as file:
                file.write(b'{"role":"user","content":"theirs","id":"theirs"}\n')
        case "cut":
            os.truncate(path, len(data) - 10)
        case "replaced":
            (path.parent / "other").write_bytes(data)
            (path.parent / "other").replace(path)
        case "removed":
            path.unlink()
    changed = path.read_bytes() if path.exists() else None
    for attempt in (context.append_message(text("x")), context.revert_to(0), context.clear()):
        with pytest.raises(LogChanged, match=r"context\.jsonl"):
            await attempt
    assert (path.read_bytes() if path.exists() else None) == changed
    assert await context.restore() is (change != "removed")
    await context.append_message(text("mine"))
    assert context.history[-1].text == "mine"
    await check(context)


async def test_a_write_before_a_restore_restores_first(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.close()
    other = Context(path)
    assert await other.checkpoint() == 3
    assert len(other.history) == 4
    await check(other)


async def test_a_folder_a_file_without_permission_and_a_pipe_are_named(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(LogReadError, match=r"folder\.jsonl.*folder"):
        await Context(tmp_path / "folder.jsonl").restore()
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(LogReadError, match=r"pipe\.jsonl.*no file"):
        await Context(tmp_path / "pipe.jsonl").restore()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LogReadError, match="Not a directory"):
        await Context(tmp_path / "file" / "context.jsonl").restore()
    (tmp_path / "empty.jsonl").write_bytes(b"")
    empty = Context(tmp_path / "empty.jsonl")
    assert await empty.restore() is False
    await empty.append_message(text("x"))
    await check(empty)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0)
    with pytest.raises(LogReadError, match="Permission denied"):
        await Context(path).restore()


async def test_the_errors_are_one_family() -> None:
    for error in (LogBusy, LogChanged, LogReadError, ReadOnlyLog):
        assert issubclass(error, ContextError)


async def test_a_link_to_a_log_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real" / "context.jsonl"
    context = Context(real)
    await talk(context, 1)
    await context.close()
    (tmp_path / "link.jsonl").symlink_to(real)
    linked = Context(tmp_path / "link.jsonl")
    await linked.restore()
    await linked.clear()
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (real.parent / "context_1.jsonl").exists()
    await check(linked)


async def test_appends_from_many_tasks_all_arrive(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)

    async def write(who: int) -> None:
        for number in range(10):
            await context.append_message(text(f"{who}.{number}"))
            await asyncio.sleep(0)
            if number == 5 and who == 3:
                await context.revert_to(0)

    await asyncio.gather(*(write(who) for who in range(6)))
    reverted = [message.text for message in await context.preview("context_1.jsonl")]
    seen = [message.text for message in context.history]
    for who in range(6):
        mine = [words for words in reverted + seen if words.startswith(f"{who}.")]
        assert mine == [f"{who}.{number}" for number in range(10)]
    assert "3.9" in seen and "3.5" in reverted
    await check(context)
