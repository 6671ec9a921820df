"""read_file and write_file."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import stat
import subprocess
import sys
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from PIL import Image

from tests.support import hostile
from tui_agent.tools import textfile
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.tool import Output, Tool, ToolError
from tui_agent.workspace.reads import Reads


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def reads() -> Reads:
    return Reads()


@pytest.fixture
def reader(root: Path, reads: Reads) -> ReadFile:
    return ReadFile(root, reads)


@pytest.fixture
def writer(root: Path, reads: Reads) -> WriteFile:
    return WriteFile(root, reads)


async def use(tool: Tool, **arguments: Any) -> Output:
    """A call as the session makes it: first what it needs, then the call."""
    await asyncio.to_thread(tool.needs, arguments)
    return await tool.call(arguments, lambda text: None)


async def text_of(tool: Tool, **arguments: Any) -> str:
    output = await use(tool, **arguments)
    assert isinstance(output.content, str)
    return output.content


def picture(kind: str, size: tuple[int, int], mode: str = "RGB", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, 77 if mode in ("L", "P") else (200, 30, 90, 128)[: len(mode)]).save(
        buffer, kind, **options
    )
    return buffer.getvalue()


def test_they_are_tools(reader: ReadFile, writer: WriteFile) -> None:
    assert isinstance(reader, Tool) and reader.read_only
    assert isinstance(writer, Tool) and not writer.read_only


# --- reading text ------------------------------------------------------------------------------------------------


async def test_lines_come_with_their_numbers(root: Path, reader: ReadFile, reads: Reads) -> None:
    (root / "a.py").write_text("one\n\tTwo\n\nfour")
    output = await use(reader, path="a.py")
    assert output.content == "1\tone\n2\t\tTwo\n3\t\n4\tfour"
    assert output.summary == "14 bytes"
    assert output.meta == {"tool": "read_file", "read": ["a.py"], "changed": [], "seen": ANY}
    assert set(output.meta["seen"]) == {"a.py"}
    assert reads.known(root / "a.py")


async def test_a_part_can_be_read(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    assert await text_of(reader, path="a", offset=99) == " 99\tline 99\n100\tline 100\n[lines 99-100 of 100]"
    assert await text_of(reader, path="a", offset=9, limit=2) == (
        " 9\tline 9\n10\tline 10\n[lines 9-10 of 100; the next ones: offset=11]"
    )


async def test_following_the_offsets_reads_it_all(root: Path, reader: ReadFile) -> None:
    lines = [f"{'x' * (n % 300)} {n}" for n in range(5_000)]
    (root / "a").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    offset: int | None = 1
    while offset is not None:
        text = await text_of(reader, path="a", offset=offset)
        assert len(text) <= 30_000
        *rows, note = text.split("\n") if "[lines" in text else [*text.split("\n"), ""]
        seen += [row.partition("\t")[2] for row in rows]
        offset = int(note.rpartition("offset=")[2].rstrip("]")) if "offset=" in note else None
    assert seen == lines


async def test_an_offset_behind_the_end_is_said(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("one\n")
    with pytest.raises(ToolError, match="has only 1 line; offset is 5"):
        await use(reader, path="a", offset=5)


async def test_an_empty_file_is_said(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("")
    assert await text_of(reader, path="a") == "[the file is empty]"


async def test_a_long_line_is_cut(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("x" * 10_000 + "\nend\n")
    text = await text_of(reader, path="a")
    assert text == f"1\t{'x' * 2000} [... 8000 more characters in this line]\n2\tend"


async def test_only_a_newline_ends_a_line(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("a\u2028b\x0bc\x0cd\x85e\rf\n", newline="")
    assert await text_of(reader, path="a") == "1\ta\u2028b\x0bc\x0cd\x85e\rf"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\r\nb\r\n", "1\ta\n2\tb\n[lines end in CR LF]"),
        (b"a\r\nb\n", "1\ta\n2\tb\n[line ends are mixed: some CR LF, some LF]"),
        (b"\xef\xbb\xbfa\n", "1\ta"),
        ("a日\n".encode("utf-16"), "1\ta日\n[encoded as UTF-16-LE]"),
        (b"caf\xe9\n", "1\tcaf\ufffd\n[1 byte is not UTF-8 and shown as U+FFFD]"),
        (b"\xff\xfe\xff" * 3, "1\t" + "\ufffd" * 9 + "\n[9 bytes are not UTF-8 and shown as U+FFFD]"),
    ],
)
async def test_what_is_odd_about_a_text_is_said(root: Path, reader: ReadFile, data: bytes, text: str) -> None:
    (root / "a").write_bytes(data)
    assert await text_of(reader, path="a") == text


@pytest.mark.parametrize("name", hostile.TEXTS)
async def test_a_hostile_text_is_read(root: Path, reader: ReadFile, name: str) -> None:
    (root / "a").write_bytes(hostile.TEXTS[name].encode("utf-8", "replace"))
    if name in ("nul", "nul run", "c0 all"):
        with pytest.raises(ToolError, match="binary"):
            await use(reader, path="a")
        return
    (await text_of(reader, path="a")).encode()


# --- what cannot be read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF\x02\x01\x01\0\0", "an ELF program"),
        (b"PK\x03\x04\0\0", "a zip archive"),
        (b"a\0b", "not text"),
        (b"%PDF-1.7\n\0", "a PDF"),
    ],
)
async def test_a_binary_file_is_named(root: Path, reader: ReadFile, data: bytes, words: str) -> None:
    (root / "a").write_bytes(data)
    with pytest.raises(ToolError, match=f"a is binary .*{words}"):
        await use(reader, path="a")


async def test_a_huge_file_is_refused_without_reading_it(root: Path, reader: ReadFile) -> None:
    with (root / "a").open("wb") as file:
        file.truncate(20_000_000_000)
    with pytest.raises(ToolError, match=r"too large .*20\.0 GB.* bash"):
        await use(reader, path="a")


async def test_a_file_that_grows_while_it_is_read_is_refused(root: Path, reader: ReadFile) -> None:
    # files of the kernel say that they are empty
    loaded = textfile.load(Path("/proc/self/status"), "status")
    assert loaded.data and loaded.status.st_size == 0
    with pytest.raises(ToolError, match="too large"):
        textfile.load(Path("/proc/self/status"), "status", most=10)


@pytest.mark.parametrize("make", ["pipe", "device", "socket", "folder"])
async def test_what_is_no_file_does_not_hang(root: Path, reader: ReadFile, make: str) -> None:
    if make == "pipe":
        os.mkfifo(root / "a")
        words = "a is a named pipe"
    elif make == "device":
        (root / "a").symlink_to("/dev/zero")
        words = "/dev/zero is a device"
    elif make == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(root / "a"))
        words = "a is a socket"
    else:
        (root / "a").mkdir()
        words = "a is a folder"
    with pytest.raises(ToolError, match=words):
        await use(reader, path="a")


async def test_a_pipe_put_in_place_of_a_file_does_not_hang(
    root: Path, reader: ReadFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "a")
    monkeypatch.setattr(textfile, "refuse_special", lambda path, name: None)
    with pytest.raises(ToolError, match="no file any more"):
        await use(reader, path="a")


async def test_a_missing_file_is_said_with_names_like_it(root: Path, reader: ReadFile) -> None:
    (root / "src").mkdir()
    (root / "src" / "Report.py").write_text("")
    with pytest.raises(ToolError, match=r"there is no src/reprot.py; near it: src/Report\.py"):
        await use(reader, path="src/reprot.py")
    with pytest.raises(ToolError, match=r"there is no zzz$"):
        await use(reader, path="zzz")
    with pytest.raises(ToolError, match="nor the folder"):
        await use(reader, path="gone/a")


async def test_a_file_removed_between_is_said(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("x")
    reader.needs({"path": "a"})
    (root / "a").unlink()
    with pytest.raises(ToolError, match="there is no a"):
        await reader.call({"path": "a"}, lambda text: None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
async def test_a_file_that_may_not_be_read_is_said(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0)
    with pytest.raises(ToolError, match="permission denied"):
        await use(reader, path="a")


# --- pictures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
async def test_a_picture_is_shown_as_it_is(
    root: Path, reader: ReadFile, reads: Reads, kind: str, media_type: str
) -> None:
    data = picture(kind, (40, 30))
    (root / "logo.bin").write_bytes(data)
    output = await use(reader, path="logo.bin")
    assert isinstance(output.content, list)
    words, block = output.content
    assert words["text"].startswith(f"logo.bin: {media_type} 40x30, ")
    assert block["source"] == {
        "type": "base64",
        "media_type": media_type,
        "data": base64.b64encode(data).decode(),
        "width": 40,
        "height": 30,
    }
    assert output.meta["read"] == ["logo.bin"]
    assert reads.known(root / "logo.bin")


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "RGB", {}),
        ("PNG", "RGBA", {}),
        ("PNG", "P", {}),
        ("PNG", "L", {}),
        ("PNG", "1", {}),
        ("PNG", "I;16", {}),
        ("JPEG", "RGB", {}),
        ("JPEG", "CMYK", {}),
        ("WEBP", "RGBA", {}),
        ("GIF", "P", {"transparency": 0}),
    ],
)
async def test_a_large_picture_is_scaled(
    root: Path, reader: ReadFile, kind: str, mode: str, options: dict[str, Any]
) -> None:
    buffer = io.BytesIO()
    Image.new(mode, (4000, 1000)).save(buffer, kind, **options)
    (root / "a").write_bytes(buffer.getvalue())
    output = await use(reader, path="a")
    assert isinstance(output.content, list)
    source = output.content[1]["source"]
    assert (source["width"], source["height"]) == (1568, 392)
    with Image.open(io.BytesIO(base64.b64decode(source["data"]))) as image:
        assert image.size == (1568, 392)
        assert source["media_type"] == f"image/{str(image.format).lower()}"
    assert "scaled from 4000x1000" in output.summary


async def test_a_picture_of_too_many_bytes_is_made_smaller(root: Path, reader: ReadFile) -> None:
    data = os.urandom(1500 * 1500 * 4)
    buffer = io.BytesIO()
    Image.frombytes("RGBA", (1500, 1500), data).save(buffer, "PNG", compress_level=0)
    (root / "a.png").write_bytes(buffer.getvalue())
    output = await use(reader, path="a.png")
    assert isinstance(output.content, list)
    assert len(base64.b64decode(output.content[1]["source"]["data"])) <= 3_750_000


async def test_a_picture_taken_on_its_side_is_turned_when_scaled(root: Path, reader: ReadFile) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    (root / "a.jpg").write_bytes(picture("JPEG", (4000, 2000), exif=exif))
    output = await use(reader, path="a.jpg")
    assert isinstance(output.content, list)
    source = output.content[1]["source"]
    assert (source["width"], source["height"]) == (784, 1568)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_damaged_picture_is_said(root: Path, reader: ReadFile, kind: str) -> None:
    data = picture(kind, (300, 300))
    for cut in (13, 20, len(data) // 2):
        (root / "a").write_bytes(data[:cut])
        try:
            # some damage can be looked through
            await use(reader, path="a")
        except ToolError as error:
            assert "damaged" in str(error)
    (root / "b").write_bytes(data[:12] + b"\xff" * 40)
    with pytest.raises(ToolError, match="damaged"):
        await use(reader, path="b")


async def test_a_picture_that_would_fill_the_memory_is_refused(root: Path, reader: ReadFile) -> None:
    small = picture("PNG", (1, 1))
    side = (60_000).to_bytes(4, "big")
    header = b"IHDR" + side + side + small[24:29]
    (root / "a.png").write_bytes(small[:12] + header + zlib.crc32(header).to_bytes(4, "big") + small[33:])
    with pytest.raises(ToolError, match="too large a picture"):
        await use(reader, path="a.png")


def test_pillow_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, tui_agent.tools.files; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- what a call needs -------------------------------------------------------------------------------------------


def test_reading_inside_is_a_read(root: Path, reader: ReadFile) -> None:
    need = reader.needs({"path": "src/../a.py", "offset": 10, "limit": 5})
    assert (need.kind, need.title, need.outside, need.warning) == ("read", "a.py 10-14", False, "")
    assert list(need.paths) == [root / "a.py"]


@pytest.mark.parametrize("text", ["../secret", "/etc/passwd", "~/.ssh/id", "out/key", "/proc/self/environ"])
def test_leaving_the_workspace_is_said(root: Path, reader: ReadFile, writer: WriteFile, text: str) -> None:
    (root.parent / "beyond").mkdir()
    (root / "out").symlink_to(root.parent / "beyond")
    need = reader.needs({"path": text})
    assert need.outside
    assert need.warning.startswith("outside the workspace: /")
    if text != "/etc/passwd" and not text.startswith("/proc"):
        need = writer.needs({"path": text, "content": "x"})
        assert (need.outside, need.rule) == (True, "")
        assert need.warning.startswith("outside the workspace: /")


async def test_a_folder_that_may_be_read_besides_does_not_ask(root: Path, reads: Reads) -> None:
    outputs = root.parent / "outputs"
    outputs.mkdir()
    (outputs / "a.txt").write_text("x")
    (outputs / "out").symlink_to("/etc")
    reader = ReadFile(root, reads, readable=[outputs])
    assert not reader.needs({"path": str(outputs / "a.txt")}).outside
    assert reader.needs({"path": str(outputs / "out" / "passwd")}).outside
    assert reader.needs({"path": str(outputs.parent / "b")}).outside
    assert await text_of(reader, path=str(outputs / "a.txt")) == "1\tx"


async def test_links_in_a_circle_are_said(root: Path, reader: ReadFile, writer: WriteFile) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(ToolError, match="cannot be looked at: too many levels of symbolic links"):
        await use(reader, path="a")
    with pytest.raises(ToolError, match="too many levels"):
        await use(writer, path="a", content="x")


def test_a_title_is_one_safe_line(reader: ReadFile) -> None:
    assert reader.needs({"path": "a\n\x1b[31mb"}).title == "a␤␛[31mb"


async def test_a_link_turned_elsewhere_after_it_was_judged_is_not_followed(
    root: Path, reader: ReadFile, writer: WriteFile
) -> None:
    (root / "inner").mkdir()
    (root / "inner" / "a").write_text("in")
    beyond = root.parent / "beyond"
    beyond.mkdir()
    (beyond / "a").write_text("out")
    link = root / "link"
    link.symlink_to("inner")
    read, write = {"path": "link/a"}, {"path": "link/new", "content": "x"}
    assert not reader.needs(read).outside
    assert not writer.needs(write).outside
    link.unlink()
    link.symlink_to(beyond)
    with pytest.raises(ToolError, match="another place"):
        await reader.call(read, lambda text: None)
    with pytest.raises(ToolError, match="another place"):
        await writer.call(write, lambda text: None)
    assert not (beyond / "new").exists()


def test_writing_inside_git_is_said(root: Path, writer: WriteFile) -> None:
    need = writer.needs({"path": ".git/hooks/pre-commit", "content": "x"})
    assert "inside .git" in need.warning
    assert need.rule == ""
    assert not need.outside


def test_a_write_shows_its_change_and_changes_nothing(root: Path, writer: WriteFile, reads: Reads) -> None:
    (root / "a").write_text("one\ntwo\n")
    reads.note(root / "a", b"one\ntwo\n")
    need = writer.needs({"path": "a", "content": "one\n2\n"})
    assert (need.kind, need.title, need.rule) == ("write", "a", "write_file")
    assert need.diff == "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert (root / "a").read_text() == "one\ntwo\n"
    assert writer.needs({"path": "deep/er/b", "content": "x"}).diff.startswith(
        "--- /dev/null\n+++ b/deep/er/b\n"
    )
    assert not (root / "deep").exists()


# --- writing -----------------------------------------------------------------------------------------------------


async def test_a_new_file_is_made_with_its_folders(root: Path, writer: WriteFile, reads: Reads) -> None:
    output = await use(writer, path="a/b/c.txt", content="one\ntwo")
    assert (root / "a" / "b" / "c.txt").read_bytes() == b"one\ntwo"
    assert output.content == "created a/b/c.txt: 2 lines, 7 bytes"
    assert output.summary == "+2 -0"
    assert output.meta == {"tool": "write_file", "read": [], "changed": ["a/b/c.txt"], "seen": ANY}
    assert "+two\n\\ No newline at end of file\n" in output.diff
    assert not reads.changed(root / "a" / "b" / "c.txt")
    await use(writer, path="a/b/c.txt", content="three")
    assert (root / "a" / "b" / "c.txt").read_text() == "three"


async def test_a_file_never_read_is_not_overwritten(root: Path, writer: WriteFile, reader: ReadFile) -> None:
    (root / "a").write_text("the person's work")
    with pytest.raises(ToolError, match="a exists and was not read in this session: read it first"):
        writer.needs({"path": "a", "content": "x"})
    with pytest.raises(ToolError, match="read it first"):
        await writer.call({"path": "a", "content": "x"}, lambda text: None)
    assert (root / "a").read_text() == "the person's work"
    await use(reader, path="a")
    await use(writer, path="a", content="x")
    assert (root / "a").read_text() == "x"


async def test_a_file_changed_since_it_was_read_is_not_overwritten(
    root: Path, writer: WriteFile, reader: ReadFile
) -> None:
    (root / "a").write_text("one")
    await use(reader, path="a")
    (root / "a").write_text("two")
    with pytest.raises(ToolError, match="has changed since it was read: read it again"):
        await use(writer, path="a", content="x")
    assert (root / "a").read_text() == "two"


async def test_a_file_changed_while_the_person_decides_is_not_overwritten(
    root: Path, writer: WriteFile, reader: ReadFile
) -> None:
    (root / "a").write_text("one")
    await use(reader, path="a")
    arguments = {"path": "a", "content": "x"}
    writer.needs(arguments)
    (root / "a").write_text("two")
    with pytest.raises(ToolError, match="has changed"):
        await writer.call(arguments, lambda text: None)
    assert (root / "a").read_text() == "two"


async def test_a_file_made_while_the_person_decides_is_not_overwritten(root: Path, writer: WriteFile) -> None:
    arguments = {"path": "a", "content": "x"}
    writer.needs(arguments)
    (root / "a").write_text("two")
    with pytest.raises(ToolError, match="read it first"):
        await writer.call(arguments, lambda text: None)


async def test_an_empty_file_and_the_same_content_may_be_written(root: Path, writer: WriteFile) -> None:
    (root / "empty").touch()
    (root / "same").write_text("same")
    await use(writer, path="empty", content="x")
    output = await use(writer, path="same", content="same")
    assert output.content == "wrote (nothing changed) same: 1 line, 4 bytes"
    assert output.diff == ""


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o4711])
async def test_the_mode_stays(root: Path, writer: WriteFile, reader: ReadFile, mode: int) -> None:
    file = root / "run.sh"
    file.write_text("old")
    file.chmod(mode)
    await use(reader, path="run.sh")
    await use(writer, path="run.sh", content="new")
    assert stat.S_IMODE(file.stat().st_mode) == mode


async def test_a_new_file_has_the_usual_mode(root: Path, writer: WriteFile) -> None:
    await use(writer, path="a", content="x")
    (root / "b").touch()
    assert (root / "a").stat().st_mode == (root / "b").stat().st_mode


async def test_a_link_inside_is_written_through_and_stays(
    root: Path, writer: WriteFile, reader: ReadFile
) -> None:
    (root / "real").write_text("old")
    (root / "link").symlink_to("real")
    await use(reader, path="link")
    output = await use(writer, path="link", content="new")
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "new"
    assert output.meta["changed"] == ["real"]


async def test_a_file_with_two_names_keeps_both(root: Path, writer: WriteFile, reader: ReadFile) -> None:
    (root / "a").write_text("a long old text")
    (root / "b").hardlink_to(root / "a")
    await use(reader, path="a")
    await use(writer, path="a", content="new")
    assert (root / "b").read_text() == "new"


async def test_readers_see_the_old_or_the_new_file(root: Path, writer: WriteFile, reader: ReadFile) -> None:
    (root / "a").write_text("a" * 200_000)
    await use(reader, path="a")
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.add("".join(sorted(set((root / "a").read_text()))))

    thread = threading.Thread(target=look)
    thread.start()
    for letter in "bcdefgh" * 3:
        await use(writer, path="a", content=letter * 200_000)
    over.set()
    thread.join()
    assert all(len(found) == 1 for found in seen)


async def test_a_failed_write_leaves_the_old_file_and_no_scraps(
    root: Path, writer: WriteFile, reader: ReadFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    await use(reader, path="a")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match="a could not be written: no space left on device"):
        await use(writer, path="a", content="new")
    assert (root / "a").read_text() == "old"
    assert os.listdir(root) == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
async def test_a_read_only_file_is_not_replaced(root: Path, writer: WriteFile, reader: ReadFile) -> None:
    (root / "a").write_text("old")
    (root / "a").chmod(0o444)
    await use(reader, path="a")
    with pytest.raises(ToolError, match="read-only"):
        await use(writer, path="a", content="new")


async def test_where_no_file_can_be_is_said(root: Path, writer: WriteFile) -> None:
    (root / "file").write_text("x")
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    for path, words in (
        ("file/a", "cannot be there: .*file is not a folder"),
        ("folder", "is a folder"),
        ("folder/", "names a folder"),
        ("pipe", "is a named pipe"),
        ("x" * 300, "file name too long"),
        ("/dev/null", "is a device"),
    ):
        with pytest.raises(ToolError, match=words):
            await use(writer, path=path, content="x")


@pytest.mark.parametrize("name", [n for n in hostile.NAMES if n != "~"])
async def test_hostile_names_are_written_and_read(
    root: Path, writer: WriteFile, reader: ReadFile, name: str
) -> None:
    await use(writer, path=name, content="x\n")
    assert (root / name).read_text() == "x\n"
    assert await text_of(reader, path=name) == "1\tx"


@pytest.mark.parametrize(
    "name", [n for n in hostile.TEXTS if n not in ("lone surrogates", "escaped bytes", "surrogate pair")]
)
async def test_a_hostile_text_is_written_as_it_is(root: Path, writer: WriteFile, name: str) -> None:
    need = writer.needs({"path": "a", "content": hostile.TEXTS[name]})
    output = await use(writer, path="a", content=hostile.TEXTS[name])
    assert (root / "a").read_bytes() == hostile.TEXTS[name].encode()
    assert need.diff == output.diff


async def test_other_line_ends_are_written_as_given_and_said(
    root: Path, writer: WriteFile, reader: ReadFile
) -> None:
    (root / "a").write_bytes(b"one\r\ntwo\r\n")
    await use(reader, path="a")
    output = await use(writer, path="a", content="one\n")
    assert (root / "a").read_bytes() == b"one\n"
    assert "(its lines ended in CR LF and now end in LF)" in str(output.content)


async def test_a_binary_file_can_be_replaced_once_it_is_known(
    root: Path, writer: WriteFile, reads: Reads
) -> None:
    (root / "a").write_bytes(b"a\0b")
    reads.note(root / "a", b"a\0b")
    output = await use(writer, path="a", content="x")
    assert "binary file a (3 bytes) is replaced" in output.diff


async def test_a_cancelled_write_is_whole_or_not_there(root: Path, writer: WriteFile) -> None:
    task = asyncio.create_task(writer.call({"path": "a", "content": "x" * 1_000_000}, lambda text: None))
    await asyncio.sleep(0)
    task.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (root / "a").exists() or (root / "a").stat().st_size == 1_000_000
    assert [name for name in os.listdir(root) if name != "a"] == []


async def test_writes_side_by_side_do_not_lose_each_other(root: Path, writer: WriteFile) -> None:
    outputs = await asyncio.gather(
        *(writer.call({"path": f"d/{n}", "content": str(n)}, lambda text: None) for n in range(20)),
        *(writer.call({"path": "same", "content": f"{n}"}, lambda text: None) for n in range(10)),
    )
    assert len(outputs) == 30
    assert [(root / "d" / str(n)).read_text() for n in range(20)] == [str(n) for n in range(20)]
    assert (root / "same").read_text() in map(str, range(10))


# --- arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "read_file needs the argument 'path'"),
        ({"path": None}, "needs the argument 'path'"),
        ({"path": 3}, "'path' must be a text, not a number"),
        ({"path": ["a"]}, "'path' must be a text, not a list"),
        ({"path": ""}, "the path is empty"),
        ({"path": "a\0b"}, "no path"),
        ({"path": "a\ud800"}, r"half a character \(U\+D800\) at position 1"),
        ({"path": "a", "offset": 0}, "'offset' is 0; it must be from 1"),
        ({"path": "a", "offset": "x"}, "'offset' must be a whole number, not a text"),
        ({"path": "a", "offset": 1.5}, "'offset' must be a whole number"),
        ({"path": "a", "offset": True}, "'offset' must be a whole number, not true or false"),
        ({"path": "a", "offset": "9" * 5000}, "must be from 1"),
        ({"path": "a", "limit": 10**9}, "'limit' is 1000000000; it must be from 1 to 2000"),
        ({"path": "a", "limit": {}}, "not an object"),
        ({"path": "a", "file": "b"}, "takes no argument 'file'; it takes: path, offset, limit"),
    ],
)
async def test_bad_arguments_are_explained(
    reader: ReadFile, arguments: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(ToolError, match=words):
        reader.needs(arguments)
    with pytest.raises(ToolError, match=words):
        await reader.call(arguments, lambda text: None)


async def test_numbers_in_other_clothes_are_taken(root: Path, reader: ReadFile) -> None:
    (root / "a").write_text("one\ntwo\nthree\n")
    assert (await text_of(reader, path="a", offset="2", limit=1.0)).startswith("2\ttwo")


def test_a_content_with_half_a_character_is_refused(writer: WriteFile) -> None:
    with pytest.raises(ToolError, match="'content' holds half a character"):
        writer.needs({"path": "a", "content": "x\udc80"})
    with pytest.raises(ToolError, match="too long"):
        writer.needs({"path": "a", "content": "x" * 10_000_001})
