"""The draft in the person's own editor, while everything else goes on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pyte
import pytest
from textual import events

from tests.cli import terminal
from tests.support.script import Hold, Reply
from tests.support.served import served
from tests.ui.stage import Stage, stage
from tui_agent.ui.chat import dropped, editor
from tui_agent.ui.chat.editor import NotEdited

PATIENCE = 180.0
PASTE = "\n".join(f"line {number}" for number in range(240))
SIGN = "[Pasted #1, 240 lines]"


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


# --- which one


def test_visual_comes_before_editor_and_both_may_have_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "nano")
    monkeypatch.setenv("VISUAL", "'/opt/my editor' --wait")
    assert editor.editor() == ["/opt/my editor", "--wait"]
    monkeypatch.setenv("VISUAL", " ")
    assert editor.editor() == ["nano"]


def test_without_a_word_of_the_person_s_it_is_vi_else_nano_else_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotEdited, match=r"set \$VISUAL or \$EDITOR"):
        editor.editor()
    for name in ("nano", "vi"):
        program(tmp_path, name, "exit 0")
        assert editor.editor() == [name]


def test_a_variable_that_is_no_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vi 'oops")
    with pytest.raises(NotEdited, match=r"\$VISUAL is no command"):
        editor.editor()


# --- what becomes of the draft; the terminal is the next part's


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """Runs editors without a terminal; what each found in its file."""
    found: list[str] = []

    async def outside(app: object, argv: list[str]) -> int:
        found.append(Path(argv[-1]).read_text())
        return subprocess.run(argv, check=False).returncode

    monkeypatch.setattr(editor, "run_outside", outside)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(editor.tempfile, "tempdir", str(tmp_path))
    yield found
    assert not list(tmp_path.glob("tui-agent-*")), "no file is left behind"


async def edit(made: Stage, done: Callable[[], object]) -> None:
    await made.press("ctrl+g")
    await made.until(done, "the editor's end")


async def test_what_is_saved_is_the_draft_and_is_not_sent(
    tmp_path: Path, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", str(program(tmp_path, "ed", 'echo "and more" >> "$1"')))
    async with stage(tmp_path) as made:
        await made.type("half a thought")
        await edit(made, lambda: made.chat.composer.text == "half a thought\nand more")
        assert written == ["half a thought\n"]
        assert made.session.submitted == []
        await made.press("ctrl+x", "e")
        await made.until(lambda: made.chat.composer.text.endswith("more\nand more"), "its other key")


async def test_words_that_come_late_do_not_end_the_leader_key_pressed_after_them(
    tmp_path: Path, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Event()
    monkeypatch.setattr(dropped, "may_be_dropped", lambda text: True)
    monkeypatch.setattr(dropped, "dropped", lambda text, workspace: slow.wait(5.0) and [])
    monkeypatch.setenv("EDITOR", str(program(tmp_path, "ed", 'echo "and more" >> "$1"')))
    async with stage(tmp_path) as made:
        made.app.post_message(events.Paste("half "))
        for key in (*"thought", "ctrl+x"):
            made.app.post_message(events.Key(key, None if len(key) > 1 else key))
        while not made.chat.leading:
            await asyncio.sleep(0)
        assert made.chat.composer.text == "", "the disk has not answered yet"
        slow.set()
        await made.until(lambda: made.chat.composer.text == "half thought")
        await made.press("e")
        await made.until(lambda: made.chat.composer.text == "half thought\nand more")
        assert written == ["half thought\n"]


async def test_a_paste_is_shown_whole_and_folded_again(
    tmp_path: Path, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", str(program(tmp_path, "ed", 'echo "what is it?" >> "$1"')))
    async with stage(tmp_path) as made:
        made.app.post_message(events.Paste(PASTE))
        await made.until(lambda: made.chat.composer.text == SIGN)
        await edit(made, lambda: made.chat.composer.text == f"{SIGN}\nwhat is it?")
        assert written == [f"{PASTE}\n"]
        assert made.chat.composer.prompt.words == f"{PASTE}\nwhat is it?"


async def test_an_editor_that_fails_leaves_the_draft_as_it_was(
    tmp_path: Path, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", str(program(tmp_path, "ed", 'echo "lost" > "$1"; exit 3')))
    async with stage(tmp_path) as made:
        await made.type("half a thought")
        await edit(made, lambda: "ended with 3: the words stay as they were" in " ".join(made.text.split()))
        assert made.chat.composer.text == "half a thought"
        monkeypatch.setenv("EDITOR", "/nowhere/editor")
        await edit(made, lambda: "No such file or directory" in made.text)
        assert made.chat.composer.text == "half a thought"


async def test_without_a_terminal_to_give_away_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "true")
    async with stage(tmp_path) as made:
        await made.type("draft")
        await edit(made, lambda: "this terminal cannot be given to an editor" in made.text)
        assert made.chat.composer.text == "draft"


# --- on a real terminal, while an answer streams


def wait(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.05)


def log(home: Path) -> str:
    return "".join(path.read_text() for path in home.rglob("context.jsonl"))


@pytest.mark.parametrize(
    ("words", "pace"), [(20, 0.0), pytest.param(600, 0.1, marks=pytest.mark.slow, id="a minute")]
)
def test_an_editor_that_is_open_while_an_answer_streams_loses_nothing(
    words: int, pace: float, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop := tmp_path / "shop").mkdir()
    os.mkfifo(pipe := tmp_path / "pipe")
    opened = tmp_path / "opened"
    script = f'cp "$1" {opened}.new; mv {opened}.new {opened}; cat {pipe}; printf "edited" >> "$1"'
    monkeypatch.setenv("VISUAL", str(program(tmp_path, "ed", script)))
    answer = [f"word{number} " for number in range(words)] + ["the-end"]
    hold = Hold()
    with served(home) as server, terminal.run("--profile", "scripted", cwd=shop) as run:
        server.script(Reply.text(answer).paced(pace).holding(hold, after=5))
        run.until(b"ready")
        run.press(b"go\r")
        server.wait(hold.reached)
        run.press(b"my draft\x07")
        wait(opened.exists, "the editor")
        assert opened.read_text() == "my draft\n"
        server.let_go(hold)
        wait(lambda: "the-end" in log(home), "the answer on disk, while the editor is open")
        run.shown = b""
        pipe.write_text("")
        run.until(b"edited", b"the-end", b"ready")
        screen = pyte.Screen(80, 24)
        pyte.ByteStream(screen).feed(run.shown)
        shown = "\n".join(screen.display)
        assert f"word{words - 1} the-end" in " ".join(shown.split()), shown
        run.press(b"\x11")
        assert run.end() == 0
    said = [json.loads(line) for line in log(home).splitlines() if '"assistant"' in line]
    assert said[-1]["content"][0]["text"] == "".join(answer)
    drafts = [json.loads(path.read_text()) for path in home.rglob("draft.json")]
    assert [draft["draft"] for draft in drafts] == ["my draft\nedited"]


@pytest.mark.parametrize("ending", ["the terminal is closed", "somebody ends the program"])
def test_what_was_saved_in_the_editor_is_the_draft_when_all_ends_before_the_editor(
    ending: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop := tmp_path / "shop").mkdir()
    os.mkfifo(pipe := tmp_path / "pipe")
    saved = tmp_path / "saved"
    script = f'printf "written at length" > "$1"; touch {saved}; cat {pipe}'
    monkeypatch.setenv("VISUAL", str(program(tmp_path, "ed", script)))
    with terminal.run("--demo", ".", cwd=shop, controls=True) as run:
        run.until(b"ready")
        run.press(b"my draft\x07")
        wait(saved.exists, "what the editor saved")
        if ending == "the terminal is closed":
            run.hang_up()
        else:
            run.process.terminate()
        assert run.process.wait(PATIENCE)
    drafts = [json.loads(path.read_text()) for path in home.rglob("draft.json")]
    assert [draft["draft"] for draft in drafts] == ["written at length"]
