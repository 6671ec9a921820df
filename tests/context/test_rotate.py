"""A rewrite is one step, keeps the old file whole, and can be undone."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.context.compare import check, everything, fresh, talk, text
from tui_agent.context import (
    Backup,
    Cause,
    Context,
    ContextError,
    Keep,
    LogWriteError,
    NoSuchBackup,
    NothingToUndo,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "context.jsonl"


def texts(context: Context) -> list[str]:
    return [message.text for message in context.history]


def head(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_bytes().splitlines()[-1])
    return body


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if file.name != "lock")


async def test_revert_excludes_the_checkpoint_and_what_follows_and_copies_bytes(path: Path) -> None:
    context = Context(path)
    await talk(context, 3)
    before = path.read_bytes()
    cut = context.record(context.checkpoints()[3].uid).offset
    tokens = context.token_count_with_pending
    backup = await context.revert_to(3)
    after = path.read_bytes()
    body = head(path)
    assert after[:cut] == before[:cut]
    assert after[cut:].count(b"\n") == 1
    assert (path.parent / "context_1.jsonl").read_bytes() == before
    assert body["role"] == "_rewind"
    assert (body["op"], body["n"], body["backup"], body["undo"], body["redo"]) == (
        "revert",
        1,
        "context_1.jsonl",
        "context_1.jsonl",
        None,
    )
    assert (body["bytes"], body["sha256"]) == (len(before), sha256(before).hexdigest())
    assert (body["checkpoint"], body["checkpoints"], body["tokens"]) == (3, 9, tokens)
    assert (backup.name, backup.op, backup.bytes, backup.tokens) == (
        "context_1.jsonl",
        "revert",
        len(before),
        tokens,
    )
    assert (context.n_checkpoints, len(context.history)) == (3, 4)
    assert body["to"] not in context.path.read_text().rsplit("_rewind", 1)[0]
    await check(context)


@pytest.mark.parametrize("wrong", [-1, 3, 10**30, True, "nobody", 1.5, None])
async def test_a_checkpoint_that_is_not_there_is_a_value_error_with_the_valid_range(
    path: Path, wrong: Any
) -> None:
    context = Context(path)
    await talk(context, 1)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="0 to 2"):
        await context.revert_to(wrong)
    with pytest.raises(ValueError, match="0 to 2"):
        await context.preview(wrong)
    with pytest.raises(ValueError, match="0 to 2"):
        context.words_after(wrong)
    assert (path.read_bytes(), names(path)) == (before, ["context.jsonl"])
    with pytest.raises(ValueError, match="has none"):
        await Context(path.parent / "new" / "context.jsonl").revert_to(0)


async def test_a_damaged_bookmark_cannot_be_gone_back_to_and_its_id_is_not_given_again(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    await context.close()
    path.write_bytes(path.read_bytes().replace(b'"_checkpoint","id":3', b'"_checkpoint","id":"3'))
    await context.restore()
    assert [damage.line for damage in context.damage] == [12]
    with pytest.raises(ValueError, match="0 to 5, without 1 that are gone or damaged"):
        await context.revert_to(3)
    assert await context.checkpoint() == 6
    await context.revert_to(4)
    await check(context)


async def test_a_checkpoint_can_be_named_by_its_uid(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    mark = context.checkpoints()[3]
    preview = await context.preview(mark.uid)
    await context.revert_to(mark.uid)
    assert list(context.history) == list(preview)
    assert context.head is not None and context.head.to == mark.uid


async def test_state_prompt_tools_marks_and_elisions_are_those_of_the_checkpoint(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    first = context.history[0]
    await context.set_state("goal", "early")
    await context.elide([{"record": context.history[2].id, "as": "[early]"}], by="user", reason="drop")
    number = await context.checkpoint(turn=True)
    at = everything(context)
    await context.set_state("goal", "late")
    await context.write_system_prompt("late")
    await context.write_tools([])
    await context.elide([{"record": first.id, "as": None}], by="user", reason="drop")
    await context.mark(first.id, priority=0, by="auto")
    await context.revert_to(number)
    seen = await check(context)
    for what in ("history", "prompt", "tools", "state", "weight", "sums"):
        assert seen[what] == at[what], what
    assert dict(context.marks(first.id)) == {}


async def test_marks_a_person_set_survive_a_revert_if_their_record_does(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    early, late = context.history[0].id, context.history[-1].id
    await context.mark(early, pinned=True)
    await context.mark(early, priority=5, by="auto")
    await context.mark(late, pinned=True)
    await context.mark(early, note="keep")
    await context.revert_to(3)
    assert dict(context.marks(early)) == {"pinned": True, "by": "user", "note": "keep"}
    with pytest.raises(ValueError, match="no record"):
        context.marks(late)
    await check(context)
    await context.undo()
    assert context.marks(early)["priority"] == 5 and context.marks(late)["pinned"]
    await check(context)


async def test_clear_keeps_the_prompt_and_the_tools_in_force(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.set_state("goal", 1)
    await context.write_system_prompt("second", memories=[{"id": "m"}])
    await context.clear()
    assert (context.system_prompt, len(context.history), dict(context.state)) == ("second", 0, {})
    assert context.tools is not None and context.tools[0]["name"] == "bash"
    assert [record.role for record in context.records] == ["_system_prompt", "_tools", "_rewind"]
    assert context.records[0].body["memories"] == [{"id": "m"}]
    assert await context.checkpoint() == 0
    await context.clear("third")
    assert (context.system_prompt, context.n_checkpoints) == ("third", 0)
    await check(context)
    assert [backup.op for backup in context.backups()] == ["clear", "clear"]


async def test_clear_of_nothing_can_be_undone_too(path: Path) -> None:
    context = Context(path)
    await context.clear("new")
    await check(context)
    await context.undo()
    assert (context.system_prompt, len(context.records)) == (None, 1)
    await check(context)


async def test_undo_and_redo_bring_back_every_byte(path: Path) -> None:
    context = Context(path)
    await talk(context, 3)
    full = path.read_bytes()
    await context.revert_to(3)
    reverted = path.read_bytes()
    await context.undo()
    assert path.read_bytes().startswith(full)
    assert path.read_bytes()[len(full) :].count(b"\n") == 1
    assert (context.can_undo, context.can_redo) == (False, True)
    await check(context)
    await context.redo()
    assert path.read_bytes().startswith(reverted)
    assert (context.can_undo, context.can_redo) == (True, False)
    await context.undo()
    await context.redo()
    await context.undo()
    assert path.read_bytes().startswith(full)
    await check(context)


async def test_undo_goes_back_through_several_operations_and_redo_forth(path: Path) -> None:
    context = Context(path)
    states = []
    await talk(context, 4)
    for number in (9, 6, 3):
        states.append(texts(context))
        await context.revert_to(number)
    states.append(texts(context))
    for expected in reversed(states[:-1]):
        assert context.can_undo
        await context.undo()
        assert texts(context) == expected
        await check(context)
    assert not context.can_undo
    with pytest.raises(NothingToUndo, match="no operation to undo"):
        await context.undo()
    for expected in states[1:]:
        assert context.can_redo
        await context.redo()
        assert texts(context) == expected
        await check(context)
    with pytest.raises(NothingToUndo, match="nothing to redo"):
        await context.redo()


async def test_a_message_after_undo_makes_redo_unavailable_and_other_records_do_not(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    await context.revert_to(3)
    await context.undo()
    await context.checkpoint()
    await context.set_state("goal", 1)
    await context.update_token_count(5)
    assert context.can_redo
    await context.append_message(text("new words"))
    assert not context.can_redo
    with pytest.raises(NothingToUndo, match=r"messages were added.*context_2\.jsonl"):
        await context.redo()
    await check(context)
    await context.restore_backup("context_2.jsonl")
    assert len(context.history) == 4


async def test_a_redo_that_was_given_up_stays_given_up(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    await context.revert_to(3)
    await context.append_message(text("A"))
    await context.undo()
    await context.append_message(text("B"))
    assert not context.can_redo
    await context.revert_to(3)
    await context.undo()
    assert context.can_redo
    await context.redo()
    assert (context.can_undo, context.can_redo) == (True, False)
    await check(context)


async def test_undo_of_a_backup_that_is_gone_is_said(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    await context.revert_to(3)
    (path.parent / "context_1.jsonl").unlink()
    before = path.read_bytes()
    assert not context.can_undo
    with pytest.raises(NoSuchBackup, match=r"context_1\.jsonl"):
        await context.undo()
    assert path.read_bytes() == before
    await check(context)


async def test_restoring_a_backup_keeps_what_was_there(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    full = path.read_bytes()
    await context.clear()
    await context.append_message(text("new life"))
    now = path.read_bytes()
    backup = await context.restore_backup("context_1.jsonl")
    assert path.read_bytes().startswith(full)
    assert (path.parent / backup.name).read_bytes() == now
    assert (context.can_undo, context.can_redo) == (True, False)
    await check(context)
    await context.undo()
    assert texts(context) == ["new life"]


@pytest.mark.parametrize("name", ["context_9.jsonl", "context.jsonl", "../context_1.jsonl", "", "lock"])
async def test_a_name_that_is_no_backup_is_refused(path: Path, name: str) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.clear()
    with pytest.raises(NoSuchBackup, match=r"context_1\.jsonl"):
        await context.restore_backup(name)
    await check(context)


async def test_numbers_ascend_and_are_never_used_again(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    (path.parent / "context_7.jsonl").write_bytes(b"somebody's\n")
    assert (await context.revert_to(3)).name == "context_8.jsonl"
    for file in path.parent.glob("context_*.jsonl"):
        file.unlink()
    assert (await context.clear()).name == "context_9.jsonl"
    assert (await context.restore_backup("context_9.jsonl")).name == "context_10.jsonl"
    await context.close()
    for file in path.parent.glob("context_*.jsonl"):
        file.unlink()
    other = Context(path)
    assert (await other.clear()).name == "context_11.jsonl"


async def test_a_name_taken_in_the_last_moment_is_passed_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 1)
    link = os.link

    def late(source: Any, target: Any) -> None:
        if str(target).endswith("_1.jsonl"):
            Path(target).write_bytes(b"first\n")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert (await context.clear()).name == "context_2.jsonl"
    assert (path.parent / "context_1.jsonl").read_bytes() == b"first\n"
    await check(context)


async def test_without_hard_links_the_backup_is_a_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    context = Context(path)
    await talk(context, 2)
    before = path.read_bytes()
    (path.parent / "context_1.jsonl").write_bytes(b"somebody's\n")
    backup = await context.revert_to(3)
    assert (backup.name, (path.parent / backup.name).read_bytes()) == ("context_2.jsonl", before)
    await context.undo()
    await check(context)
    assert names(path) == [
        "context.jsonl",
        "context_1.jsonl",
        "context_2.jsonl",
        "context_3.jsonl",
    ]


async def test_what_a_killed_rewrite_left_is_removed_by_the_next_writer(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.clear()
    await context.close()
    os.link(path, path.parent / "context_2.jsonl")
    (path.parent / "context_3.jsonl").write_bytes(b"")
    (path.parent / "context.jsonl.tmp").write_bytes(b"half")
    (path.parent / "context_2.jsonl.tmp").write_bytes(b"half")
    for theirs in ("session.toml.tmp", "context_x.jsonl.tmp", "context_2.jsonl.bak", "other_2.jsonl"):
        (path.parent / theirs).write_bytes(b"theirs")
    reader = await fresh(path)
    assert (path.parent / "context.jsonl.tmp").exists()
    assert reader.swept == ()
    assert [backup.name for backup in reader.backups()] == ["context_1.jsonl"]
    other = Context(path)
    await other.restore()
    await other.checkpoint()
    assert sorted(other.swept) == [
        "context.jsonl.tmp",
        "context_2.jsonl",
        "context_2.jsonl.tmp",
        "context_3.jsonl",
    ]
    assert names(path) == [
        "context.jsonl",
        "context_1.jsonl",
        "context_2.jsonl.bak",
        "context_x.jsonl.tmp",
        "other_2.jsonl",
        "session.toml.tmp",
    ]
    assert (path.parent / "context_1.jsonl").stat().st_nlink == 1
    await check(other)


Operation = Callable[[Context], Any]
OPERATIONS: dict[str, Operation] = {
    "revert": lambda context: context.revert_to(3),
    "clear": lambda context: context.clear(),
    "restore": lambda context: context.restore_backup("context_1.jsonl"),
    "undo": lambda context: context.undo(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("call", ["sendfile", "write", "link", "replace", "fsync", "fdatasync", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
async def test_a_disk_that_refuses_leaves_all_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, call: str, code: int
) -> None:
    if (operation, call) == ("clear", "sendfile"):
        pytest.skip("a clear copies nothing in bulk")
    context = Context(path)
    await talk(context, 2)
    await context.revert_to(3)
    await talk(context, 1, start=5)
    await context.sync()
    before, files = everything(context), {name: (path.parent / name).read_bytes() for name in names(path)}

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        if call == "open":
            opened = os.open

            def refuse_new(name: Any, flags: int, *rest: Any, **options: Any) -> int:
                return refuse() if flags & os.O_CREAT else opened(name, flags, *rest, **options)

            patch.setattr(os, call, refuse_new)
        elif call == "replace":
            patch.setattr(Path, "replace", refuse)
        else:
            patch.setattr(os, call, refuse)
        with pytest.raises(LogWriteError, match=r"context\.jsonl") as caught:
            await OPERATIONS[operation](context)
    assert caught.value.errno == code
    assert os.strerror(code) in str(caught.value) and caught.value.ways
    assert everything(context) == before
    assert {name: (path.parent / name).read_bytes() for name in names(path)} == files
    await OPERATIONS[operation](context)
    await check(context)


async def test_a_name_that_the_disk_does_not_confirm_is_said_and_nothing_more_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 2)
    replace, fsync, replaced = Path.replace, os.fsync, []

    def note(self: Path, target: Any) -> Any:
        replaced.append(target)
        return replace(self, target)

    def refuse(descriptor: int) -> None:
        if replaced:
            raise OSError(errno.EIO, "")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", note)
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(LogWriteError, match="did not confirm"):
            await context.revert_to(3)
    assert len(context.history) == 4
    await check(context)
    with pytest.raises(LogWriteError, match="did not confirm"):
        await context.append_message(text("more"))
    assert await context.restore()
    await context.append_message(text("more"))
    await check(context)


async def test_a_cancelled_rewrite_is_finished_and_disk_and_memory_agree(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    await context.clear()
    for turns in range(24):
        task = asyncio.ensure_future(
            context.restore_backup("context_1.jsonl") if turns % 2 else context.clear()
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await context.append_message(text(f"on {turns}"))
        assert not path.with_name("context.jsonl.tmp").exists()
        await check(context)


async def test_rotate_puts_new_lines_between_what_is_kept(path: Path) -> None:
    context = Context(path)
    await talk(context, 3)
    records = list(context.records)
    kept = [record for record in records if record.role == "_system_prompt"]
    source = context.size
    await context.append_message(text("while it thought"))
    last = context.history[-3]
    backup = await context.rotate(
        [
            *kept,
            {"role": "_checkpoint", "id": 0, "turn": False},
            {**text("what was"), "origin": "summary", "id": "summary"},
            context.record(last.id),
            {"role": "_usage", "token_count": 300, "exact": False, "through": last.id},
        ],
        keep=Keep(after=source, generation=context.generation),
        cause=Cause("compaction", figures={"replaces": ["a", "b"], "summary": "summary"}),
    )
    assert [record.role for record in context.records] == [
        "_system_prompt",
        "_checkpoint",
        "user",
        last.role,
        "_usage",
        "user",
        "_compaction",
    ]
    assert texts(context) == ["what was", last.text, "while it thought"]
    weight = context.weigh()
    assert (weight.exact, weight.mark, weight.pending > 300) == (0, "estimated", True)
    assert backup.figures["summary"] == "summary"
    await check(context)
    await context.undo()
    assert len(context.history) == 13
    await check(context)


async def test_the_tail_of_a_rewrite_drops_what_aims_at_nothing(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    source, old = context.size, context.history[0]
    new = (await context.append_message(text("new")))[0]
    await context.mark(old.id, pinned=True)
    await context.mark(new.id, pinned=True)
    elide = await context.elide([{"record": old.id, "as": None}], by="user", reason="drop")
    await context.restore_elided(elide)
    both = await context.elide(
        [{"record": old.id, "as": None}, {"record": new.id, "as": "[short]"}], by="user", reason="drop"
    )
    await context.rotate([], keep=Keep(after=source), cause=Cause("compaction"))
    assert [record.role for record in context.records] == ["user", "_mark", "_elide", "_compaction"]
    assert context.head is not None and context.head.figures["dropped"] == 3
    assert (texts(context), dict(context.marks(new.id))["pinned"]) == (["[short]"], True)
    assert context.record(both.id)
    await check(context)


async def test_a_rewrite_prepared_for_another_generation_is_refused(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    generation = context.generation
    await context.revert_to(3)
    before = path.read_bytes()
    with pytest.raises(ContextError, match="rewritten meanwhile"):
        await context.rotate([], keep=Keep(generation=generation), cause=Cause("compaction"))
    assert (path.read_bytes(), len(names(path))) == (before, 2)


async def test_appends_during_a_rewrite_follow_it_or_are_in_it(path: Path) -> None:
    context = Context(path)
    await talk(context, 2)
    task = asyncio.ensure_future(context.revert_to(3))
    await asyncio.sleep(0)
    await context.append_message(text("during"))
    await task
    assert texts(context)[-1] == "during"
    await check(context)
    task = asyncio.ensure_future(context.rotate([], keep=Keep(after=0), cause=Cause("edit")))
    for number in range(20):
        await context.append_message(text(f"n{number}"))
        await asyncio.sleep(0)
    await task
    assert texts(context)[-20:] == [f"n{number}" for number in range(20)]
    await check(context)


async def test_previews_show_what_would_be_and_touch_nothing(path: Path) -> None:
    context = Context(path)
    await talk(context, 3)
    await context.revert_to(6)
    before = (path.read_bytes(), names(path), everything(context))
    checkpoint = await context.preview(3)
    backup = await context.preview("context_1.jsonl")
    assert (path.read_bytes(), names(path), everything(context)) == before
    reader = await fresh(path)
    assert await reader.preview("context_1.jsonl") == backup
    with pytest.raises(NoSuchBackup):
        await context.preview("context_5.jsonl")
    await context.revert_to(3)
    assert list(context.history) == list(checkpoint)
    await context.restore_backup("context_1.jsonl")
    assert list(context.history) == list(backup)


async def test_the_past_shows_what_a_file_that_ends_there_shows(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.elide([{"record": context.history[0].id, "as": "[x]"}], by="user", reason="drop")
    await context.write_system_prompt("second")
    await talk(context, 1, start=1)
    other = path.with_name("past.jsonl")
    for record in context.records:
        past = context.before(record.id)
        other.write_bytes(path.read_bytes()[: record.offset])
        expected = await fresh(other)
        assert list(past.history) == list(expected.history)
        assert (past.system_blocks, past.tools) == (expected.system_blocks, expected.tools)
        assert list(past.checkpoints()) == list(expected.checkpoints())
        assert [dict(past.marks(r.id)) for r in past.records] == [
            dict(expected.marks(r.id)) for r in expected.records
        ]


async def test_backups_are_listed_with_what_made_them_from_any_state(path: Path) -> None:
    context = Context(path)
    await talk(context, 4)
    for number in (9, 6):
        await context.revert_to(number)
    await context.undo()
    await context.clear()
    await context.restore_backup("context_2.jsonl")
    expected = ["restore", "clear", "undo", "revert", "revert"]
    listed = context.backups()
    assert [backup.op for backup in listed] == expected
    assert [backup.n for backup in listed] == [5, 4, 3, 2, 1]
    assert all(backup.at and backup.exists and backup.records and backup.tokens for backup in listed)
    assert [backup.bytes for backup in listed] == [
        (path.parent / backup.name).stat().st_size for backup in listed
    ]
    assert listed[-1].figures["checkpoint"] == 9
    assert (await fresh(path)).backups() == listed
    (path.parent / "context_3.jsonl").unlink()
    assert [(backup.n, backup.op, backup.exists) for backup in context.backups()] == [
        (5, "restore", True),
        (4, "clear", True),
        (3, "undo", False),
        (2, "", True),
        (1, "", True),
    ]


async def test_backups_are_pruned_oldest_first_when_asked_and_pinned_ones_stay(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    for _ in range(6):
        await context.clear()
    (path.parent / "session.toml").write_text('title = "x"\npinned = ["context_2.jsonl"]\n')
    assert [backup.n for backup in context.backups() if backup.pinned] == [2]
    assert await context.prune_backups() == []
    gone = await context.prune_backups(keep=4)
    assert [backup.name for backup in gone] == ["context_1.jsonl", "context_3.jsonl"]
    sizes: list[Backup] = [backup for backup in context.backups() if backup.exists]
    gone = await context.prune_backups(max_bytes=sum(backup.bytes for backup in sizes) - 1)
    assert [backup.name for backup in gone] == ["context_4.jsonl"]
    await context.prune_backups(keep=0)
    assert [backup.n for backup in context.backups() if backup.exists] == [2]
    assert not context.can_undo
    (path.parent / "session.toml").write_text("not toml [")
    assert not any(backup.pinned for backup in context.backups())
    await check(context)


async def test_other_file_names_have_their_own_backups(tmp_path: Path) -> None:
    context = Context(tmp_path / "notes [1].jsonl")
    await talk(context, 1)
    await context.clear()
    await context.undo()
    await check(context)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "notes [1].jsonl",
        "notes [1].jsonl.lock",
        "notes [1]_1.jsonl",
        "notes [1]_2.jsonl",
    ]
