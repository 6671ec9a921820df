"""Long pastes, pictures and dropped files: signs in the composer, whole when they are sent."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.ui.stage import Stage, stage
from tui_agent.ui.chat import dropped
from tui_agent.ui.chat.attachments import Prompt, is_long, joined, received
from tui_agent.ui.chat.history import read_draft, read_history
from tui_agent.ui.chat.keep import HISTORY

PASTE = "\n".join(f"line {number}" for number in range(240))
SIGN = "[Pasted #1, 240 lines]"
PNG = b"\x89PNG\r\n\x1a\n"


def block(data: bytes = PNG) -> dict[str, Any]:
    source = {
        "type": "blob",
        "sha256": sha256(data).hexdigest(),
        "media_type": "image/png",
        "bytes": len(data),
    }
    return {"type": "image", "source": source}


async def paste(made: Stage, text: str, shown: str) -> None:
    """Paste, and wait until the composer shows it."""
    made.app.post_message(events.Paste(text))
    await made.until(lambda: made.chat.composer.text == shown, shown)


# --- the words


def test_what_is_long_is_folded_and_what_fits_is_not() -> None:
    assert is_long(PASTE)
    assert is_long("x" * 1001)
    assert not is_long("a\nb\nc")


def test_pictures_are_numbered_as_they_come_and_signs_without_one_are_words() -> None:
    one, two = block(b"1"), block(b"2")
    prompt = Prompt(
        "[Image #3] [Image #9] [Image #2] [Image #3]", images={"[Image #2]": two, "[Image #3]": one}
    )
    assert prompt.words == "[Image #1] [Image #9] [Image #2] [Image #1]"
    assert prompt.pictures == (one, two)
    assert received(prompt.words, prompt.pictures).pictures == (one, two)


def test_a_sign_inside_a_paste_is_text() -> None:
    prompt = Prompt(f"{SIGN} [Image #1]", {SIGN: "see [Image #1]"}, {"[Image #1]": block()})
    assert prompt.words == "see [Image #1] [Image #1]"
    assert prompt.pictures == (block(),)


def test_a_picture_whose_sign_was_lost_comes_back_with_one() -> None:
    assert received("look", [block()]) == Prompt("look\n[Image #1]", images={"[Image #1]": block()})
    assert received("", [block()]).text == "[Image #1]"


def test_what_an_editor_left_unchanged_of_a_paste_is_folded_again() -> None:
    prompt = Prompt(f"see {SIGN}", {SIGN: PASTE})
    assert prompt.unfolded == f"see {PASTE}"
    assert prompt.rewritten(f"look at {PASTE} now") == Prompt(f"look at {SIGN} now", {SIGN: PASTE})
    assert prompt.rewritten("all gone") == Prompt("all gone")


def test_joined_prompts_keep_what_their_signs_stand_for() -> None:
    first, second = Prompt(f"a {SIGN}", {SIGN: "1\n" * 240}), Prompt(f"b {SIGN}", {SIGN: PASTE})
    both = joined([first, Prompt(" "), second])
    assert both.text == f"a {SIGN}\n\nb [Pasted #2, 240 lines]"
    assert both.words == f"a {first.pastes[SIGN]}\n\nb {PASTE}"


# --- pastes


async def test_a_long_paste_is_folded_and_sent_whole(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("see ")
        await paste(made, PASTE.replace("\n", "\r\n"), f"see {SIGN}")
        await made.type(" please")
        await made.press("enter")
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [(f"see {PASTE} please", "step")]
        assert read_history(made.session.folder.path.parent / HISTORY)[-1].words == f"see {PASTE} please"


async def test_a_short_paste_takes_the_place_of_what_is_selected(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("old")
        await made.press("shift+home")
        await paste(made, "new\n", "new\n")


@pytest.mark.parametrize("key", ["backspace", "ctrl+w", "delete", "ctrl+u"])
async def test_deleting_a_part_of_a_sign_deletes_it_with_its_paste_and_undo_brings_both_back(
    key: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await paste(made, PASTE, SIGN)
        if key == "delete":
            await made.press("home")
        await made.press(key)
        await made.until(lambda: made.chat.composer.text == "")
        await made.press("ctrl+underscore")
        await made.until(lambda: made.chat.composer.prompt.words == PASTE)


async def test_the_cursor_steps_over_a_sign(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await paste(made, PASTE, SIGN)
        composer = made.chat.composer
        await made.press("left")
        assert composer.cursor_location == (0, 0)
        await made.type("a")
        await made.press("right")
        assert composer.cursor_location == (0, 1 + len(SIGN))
        await made.press("ctrl+left")
        await made.type("b")
        assert composer.text == f"ab{SIGN}"
        composer.move_cursor((0, 8))
        await made.type("c")
        assert composer.prompt.words == f"ab{PASTE}c"


async def test_up_brings_back_the_sign_and_what_it_stands_for(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await paste(made, PASTE, SIGN)
        await made.press("enter")
        await made.until(lambda: len(made.session.submitted) == 1)
        await made.press("up")
        assert made.chat.composer.text == SIGN
        await made.press("enter")
        await made.until(lambda: len(made.session.submitted) == 2)
        assert made.session.submitted[1][0] == PASTE
    async with stage(tmp_path) as made:
        await made.press("up")
        assert made.chat.composer.prompt.words == PASTE, "another run of the program"


async def test_two_pastes_have_two_signs(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await paste(made, PASTE, SIGN)
        await paste(made, "x" * 2400, f"{SIGN}[Pasted #2, 2,400 characters]")
        assert made.chat.composer.prompt.words == PASTE + "x" * 2400


async def test_a_draft_on_disk_keeps_what_its_signs_stand_for(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await paste(made, PASTE, SIGN)
        await made.until(lambda: made.session.folder.draft_path.exists(), "the draft")
        assert read_draft(made.session.folder.draft_path).prompt == Prompt(SIGN, {SIGN: PASTE})
    async with stage(tmp_path) as made:
        assert made.chat.composer.text == SIGN
        assert made.chat.composer.prompt.words == PASTE


async def test_a_prompt_that_waits_keeps_its_signs_in_the_draft(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.settle()
        await paste(made, PASTE, SIGN)
        await made.press("enter")
        path = made.session.folder.draft_path
        await made.until(lambda: path.exists() and read_draft(path).queue, "the queue on disk")
        assert read_draft(path).queue == (Prompt(SIGN, {SIGN: PASTE}),)
    async with stage(tmp_path) as made:
        assert made.chat.composer.prompt == Prompt(SIGN, {SIGN: PASTE})


async def test_a_paste_goes_to_the_composer_from_everywhere(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.chat.set_focus(made.chat.transcript)
        await paste(made, "words", "words")
        assert made.chat.focused is made.chat.composer


# --- dropped files


@pytest.mark.parametrize(
    ("name", "form", "shown"),
    [
        ("src/a.py", "{}", "@src/a.py "),
        ("src/a b.py", "{}", '@"src/a b.py" '),
        ("src/a b.py", "'{}'", '@"src/a b.py" '),
        ("src/a'b.py", '"{}"\n', "@src/a'b.py "),
        ("src/a b.py", "escaped", '@"src/a b.py" '),
        ("src/a b.py", "file", '@"src/a b.py" '),
        ("src", "{}", "@src/ "),
    ],
)
async def test_a_dropped_path_of_the_workspace_is_named_from_there(
    name: str, form: str, shown: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        path = made.app.wanted.workspace / name
        (path.parent if path.suffix else path).mkdir(parents=True, exist_ok=True)
        if path.suffix:
            path.write_text("x")
        text = {"escaped": str(path).replace(" ", "\\ "), "file": path.as_uri()}.get(form, form.format(path))
        await paste(made, text, shown)


async def test_several_dropped_files_stand_apart_and_outside_ones_whole(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        paths = [tmp_path / "one.txt", made.app.wanted.workspace / "two.txt"]
        for path in paths:
            path.write_text("x")
        await made.type("see")
        await paste(made, " ".join(map(str, paths)), f"see @{paths[0]} @two.txt ")
        await paste(made, "\n".join(map(str, paths)), f"see @{paths[0]} @two.txt @{paths[0]} @two.txt ")


async def test_a_path_that_is_not_there_and_words_about_one_are_text(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await paste(made, "/nowhere/at/all", "/nowhere/at/all")
        await made.press("ctrl+u")
        text = f"{tmp_path} is full, '"
        await paste(made, text, text)


async def test_a_disk_that_does_not_answer_leaves_the_path_as_text_and_what_was_typed_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    from tui_agent.ui.chat import pasting

    stands = Event()
    monkeypatch.setattr(pasting, "_DISK_PATIENCE", 0.05)
    monkeypatch.setattr(dropped, "dropped", lambda *_: stands.wait(20))
    try:
        async with stage(tmp_path) as made:
            made.app.post_message(events.Paste("/mnt/gone/x.py"))
            await made.type(" why")
            await made.until(lambda: made.chat.composer.text == "/mnt/gone/x.py why")
    finally:
        stands.set()


# --- pictures


async def test_a_dropped_picture_becomes_a_sign_and_is_sent_with_the_words(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for name in ("one.png", "two.PNG"):
            (tmp_path / name).write_bytes(PNG + name.encode())
        await made.type("compare ")
        await paste(made, f"{tmp_path}/one.png {tmp_path}/two.PNG", "compare [Image #1] [Image #2] ")
        await made.press("enter")
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [("compare [Image #1] [Image #2] ", "step")]
        assert made.session.pictures == [(block(PNG + b"one.png"), block(PNG + b"two.PNG"))]


async def test_pictures_go_along_with_words_that_call_a_skill(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.chat.composer.show(Prompt("/skill look at [Image #1]", images={"[Image #1]": block()}))
        await made.press("enter")
        await made.until(lambda: made.session.submitted, "the prompt")
        assert made.session.submitted == [("/skill look at [Image #1]", "step")]
        assert made.session.pictures == [(block(),)]
        assert made.session.performed == []


async def test_a_picture_whose_sign_is_deleted_is_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for name in ("one.png", "two.png"):
            (tmp_path / name).write_bytes(PNG + name.encode())
        await paste(made, f"{tmp_path}/one.png {tmp_path}/two.png", "[Image #1] [Image #2] ")
        await made.press("home", "delete", "delete")
        assert made.chat.composer.text == "[Image #2] "
        await made.press("enter")
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [("[Image #1] ", "step")]
        assert made.session.pictures == [(block(PNG + b"two.png"),)]


async def test_a_file_that_is_no_picture_is_named_instead_and_said(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        (tmp_path / "broken.png").write_bytes(b"nothing")
        await paste(made, str(tmp_path / "broken.png"), f"@{tmp_path}/broken.png ")
        await made.until(lambda: "broken.png is a damaged picture" in made.text)


async def test_going_back_brings_words_and_pictures_into_the_composer(tmp_path: Path) -> None:
    from tui_agent.changes import Rotated

    async with stage(tmp_path) as made:
        made.session.emit(Rotated("revert", "context_1.jsonl", 1, "see [Image #1]", (block(),)))
        await made.until(lambda: made.chat.composer.text == "see [Image #1]")
        assert made.chat.composer.prompt.pictures == (block(),)


def _program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, in front of the others; no ssh, and a display."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name in ("SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":7")
    return programs


async def test_ctrl_v_takes_the_picture_on_the_clipboard(tmp_path: Path, clipboard: Path) -> None:
    (tmp_path / "held").write_bytes(PNG)
    _program(clipboard, "xclip", f'case "$*" in *image/png*) cat {tmp_path}/held;; *) exit 1;; esac')
    async with stage(tmp_path) as made:
        await made.press("ctrl+v")
        await made.type("!")
        await made.until(lambda: made.chat.composer.text == "[Image #1] !", "the sign, then what was typed")
        assert made.chat.composer.prompt.pictures == (block(),)


async def test_ctrl_v_takes_wayland_s_picture_too(
    tmp_path: Path, clipboard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    (tmp_path / "held").write_bytes(PNG)
    _program(clipboard, "wl-paste", f'case "$*" in *image/png*) cat {tmp_path}/held;; *) exit 1;; esac')
    async with stage(tmp_path) as made:
        await made.press("ctrl+v")
        await made.until(lambda: made.chat.composer.text == "[Image #1] ")


async def test_ctrl_v_takes_text_where_there_is_no_picture(tmp_path: Path, clipboard: Path) -> None:
    _program(clipboard, "xclip", 'case "$*" in *image/png*) exit 1;; *) printf "some words";; esac')
    async with stage(tmp_path) as made:
        await made.press("ctrl+v")
        await made.until(lambda: made.chat.composer.text == "some words")


async def test_ctrl_v_says_in_words_why_nothing_comes(
    tmp_path: Path, clipboard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as made:
        _program(clipboard, "xclip", "exit 1")
        await made.press("ctrl+v")
        await made.until(lambda: "the clipboard holds neither a picture nor text" in made.text)
        monkeypatch.delenv("DISPLAY")
        await made.press("ctrl+v")
        await made.until(lambda: "no program reads the clipboard here" in made.text)
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
        await made.press("ctrl+v")
        await made.until(lambda: "over ssh the clipboard cannot be read" in made.text)
        made.app.copy_to_clipboard("copied here")
        await made.press("ctrl+v")
        await made.until(lambda: made.chat.composer.text == "copied here", "what was copied in the program")


async def test_a_draft_on_disk_keeps_its_pictures(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        (tmp_path / "one.png").write_bytes(PNG)
        await paste(made, f"{tmp_path}/one.png", "[Image #1] ")
        await made.until(lambda: made.session.folder.draft_path.exists(), "the draft")
    async with stage(tmp_path) as made:
        assert made.chat.composer.prompt.pictures == (block(),)


async def test_an_unsent_picture_that_the_session_refuses_stays_in_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        (tmp_path / "one.png").write_bytes(PNG)
        await paste(made, f"{tmp_path}/one.png", "[Image #1] ")
        made.session.refuse = "picture 1 of these words is not kept any more"
        await made.press("enter")
        await made.until(lambda: "is not kept any more" in made.text)
        assert made.chat.composer.prompt.pictures == (block(),)


def test_a_mac_s_clipboard_is_read_by_pngpaste_or_in_osascript_s_hex(
    clipboard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropped.sys, "platform", "darwin")
    _program(clipboard, "osascript", f"printf '\\302\\253data PNGf{PNG.hex().upper()}\\302\\273\\n'")
    assert dropped.clipboard() == PNG
    _program(clipboard, "pngpaste", "printf '\\211PNGother'")
    assert dropped.clipboard() == b"\x89PNGother"
    _program(clipboard, "pngpaste", "exit 1")
    _program(clipboard, "osascript", "exit 1")
    _program(clipboard, "pbpaste", "printf words")
    assert dropped.clipboard() == "words"
