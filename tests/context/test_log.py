"""Disk first: what is not safely written is not there, and what was written is never lost by us."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.context.compare import check, everything, fresh, talk, text
from tui_agent.context import Context, LogWriteError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "context.jsonl"


def failing(code: int) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return refuse


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EROFS])
async def test_a_write_that_fails_adds_nothing_and_says_why(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    context = Context(path)
    await talk(context, 1)
    data, before = path.read_bytes(), everything(context)
    for change in (
        lambda: context.append_message(text("x")),
        lambda: context.checkpoint(),
        lambda: context.set_state("goal", 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing(code))
            with pytest.raises(LogWriteError) as caught:
                await change()
        assert caught.value.errno == code and caught.value.path == path
        assert str(path) in str(caught.value) and os.strerror(code) in str(caught.value)
        assert caught.value.ways
        assert (path.read_bytes(), everything(context)) == (data, before)
    await context.append_message(text("x"))
    await check(context)


@pytest.mark.parametrize("part", [1, 30])
async def test_a_short_write_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    context = Context(path)
    await talk(context, 1)
    data, before = path.read_bytes(), everything(context)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:part]))
        with pytest.raises(LogWriteError, match=rf"{part} of \d+ bytes.*cut short"):
            await context.append_message(text("x"))
    assert (path.read_bytes(), everything(context)) == (data, before)
    await context.append_message(text("x"))
    await check(context)


async def test_a_half_record_that_cannot_be_taken_back_stops_the_writer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 1)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:30]))
        patch.setattr(os, "ftruncate", failing(errno.EIO))
        with pytest.raises(LogWriteError):
            await context.append_message(text("x"))
    assert len(context.history) == 4
    with pytest.raises(Exception, match="was changed"):
        await context.append_message(text("y"))
    await context.restore()
    assert len(context.damage) == 1
    await context.append_message(text("y"))
    assert (len(context.history), len(context.damage)) == (5, 1)
    await check(context)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_real_limit_on_the_file_is_met_without_loss(path: Path) -> None:
    context = Context(path)
    await talk(context, 1)
    data, before = path.read_bytes(), everything(context)
    for room in (0, 50):
        with file_size_limit(len(data) + room):
            with pytest.raises(LogWriteError):
                await context.append_message(text("x" * 500))
            assert path.read_bytes() == data
            with pytest.raises(LogWriteError):
                await context.write_system_prompt("x" * 500)
    with file_size_limit(200), pytest.raises(LogWriteError, match="File too large"):
        await context.revert_to(1)
    assert (path.read_bytes(), everything(context)) == (data, before)
    assert sorted(file.name for file in path.parent.iterdir()) == ["context.jsonl", "lock"]
    await context.append_message(text("x" * 500))
    await check(context)


Durability = Literal["step", "record", "off"]


@pytest.mark.parametrize(("durability", "expected"), [("record", 3), ("step", 1), ("off", 0)])
async def test_the_disk_is_waited_for_as_often_as_was_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability, expected: int
) -> None:
    context = Context(path, durability=durability)
    await context.append_message(text("0"))
    await context.sync()
    synced: list[int] = []
    fdatasync = os.fdatasync

    def note(descriptor: int) -> None:
        synced.append(descriptor)
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", note)
    for number in range(3):
        await context.append_message(text(str(number)))
    await context.sync()
    await context.sync()
    assert len(synced) == expected


async def test_a_new_file_gets_its_name_synced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[bool] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        folders.append(os.path.isdir(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    context = Context(path)
    await context.append_message(text("x"))
    await context.sync()
    await context.append_message(text("y"))
    await context.sync()
    assert folders == [True]


async def test_after_a_failed_fsync_the_file_is_written_anew_and_the_descriptor_is_not_trusted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 1)
    await context.sync()
    inode = path.stat().st_ino
    await context.append_message(text("not safe yet"))
    data = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing(errno.EIO))
        await context.sync()
    assert path.stat().st_ino != inode
    assert path.read_bytes() == data
    assert context.backups() == []
    await check(context)
    await context.append_message(text("on"))
    await context.sync()
    await check(context)


async def test_what_the_failed_disk_forgot_is_remembered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed fsync the system may show bytes that never reached the disk, or drop them."""
    context = Context(path)
    await talk(context, 1)
    await context.sync()
    safe = path.stat().st_size
    await context.append_message([text("one"), text("two")])
    await context.checkpoint()
    expected = path.read_bytes()

    def forget(descriptor: int) -> None:
        os.pwrite(os.open(path, os.O_WRONLY), b"\x00" * (len(expected) - safe), safe)
        raise OSError(errno.EIO, "")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", forget)
        await context.sync()
    assert path.read_bytes() == expected
    await check(context)


async def test_a_disk_that_confirms_nothing_stops_the_writer_loudly(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing(errno.EIO))
        patch.setattr(os, "fsync", failing(errno.EIO))
        with pytest.raises(LogWriteError, match="did not confirm"):
            await context.sync()
        for change in (context.append_message(text("x")), context.clear(), context.sync()):
            with pytest.raises(LogWriteError, match="did not confirm"):
                await change
    before = everything(context)
    assert not path.with_name("context.jsonl.tmp").exists()
    with pytest.raises(LogWriteError, match="did not confirm"):
        await context.append_message(text("x"))
    assert everything(await fresh(path)) == before
    await context.restore()
    await context.append_message(text("x"))
    await check(context)


async def test_a_rewrite_waits_for_a_disk_that_failed_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 2)
    data = path.read_bytes()
    calls = []
    fdatasync = os.fdatasync

    def once(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(errno.EIO, "")
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", once)
    backup = await context.revert_to(3)
    assert (path.parent / backup.name).read_bytes() == data
    await check(context)


async def test_more_than_is_kept_in_memory_waits_for_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    synced: list[int] = []
    fdatasync = os.fdatasync

    def note(descriptor: int) -> None:
        synced.append(path.stat().st_size)
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", note)
    for _ in range(8):
        await context.append_message(text("x" * 10_000_000))
    assert 1 <= len(synced) <= 3
    assert len(context.history) == 8


async def test_appends_go_on_while_the_disk_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(path)
    await talk(context, 1)
    loop = asyncio.get_running_loop()
    begun, appended = asyncio.Event(), asyncio.Event()
    fdatasync = os.fdatasync

    def slow(descriptor: int) -> None:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(appended.wait(), loop).result()
        fdatasync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", slow)
        sync = asyncio.ensure_future(context.sync())
        await begun.wait()
        await context.append_message(text("meanwhile"))
        appended.set()
        await sync
    assert context.history[-1].text == "meanwhile"
    await context.sync()
    await check(context)


async def test_closing_syncs_and_gives_back_the_lease(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(path)
    await context.append_message(text("x"))
    synced: list[int] = []
    fdatasync = os.fdatasync

    def note(descriptor: int) -> None:
        synced.append(descriptor)
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", note)
    await context.close()
    await context.close()
    assert len(synced) == 1
    assert context.history[0].text == "x"
    other = Context(path)
    await other.append_message(text("y"))
    await other.close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing(errno.EIO))
        patch.setattr(os, "fsync", failing(errno.EIO))
        await other.append_message(text("z"))
        with pytest.raises(LogWriteError):
            await other.close()
    third = Context(path)
    await third.append_message(text("the lease is free"))
