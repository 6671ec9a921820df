"""Every byte that reaches the terminal while a model, files and an endpoint send whatever breaks terminals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import terminal
from tests.cli.terminal import Terminal
from tests.support.hostile import BYTE_NAMES, NAMES, SMALL, TEXTS, acts
from tests.support.script import Reply
from tests.support.sequences import foreign
from tests.support.served import Served, served

SIZE = (110, 32)
CTRL_C, CTRL_P, CTRL_Q, CTRL_X, ESC, ENTER, F3 = b"\x03", b"\x10", b"\x11", b"\x18", b"\x1b", b"\r", b"\x1bOR"
PAGE_UP, DOWN, TAB = b"\x1b[5~", b"\x1b[B", b"\t"
DANGEROUS = (
    "markup unbalanced", "csi colour", "csi clear", "csi modes", "csi unfinished", "osc 52", "osc 8", "osc title",
    "osc unfinished", "dcs", "c1", "c0 all", "bidi override", "bidi unclosed", "emoji joined", "lone surrogates",
)  # fmt: skip
ALLOW = '[approvals]\nallow = ["bash:cat *"]\n'


@pytest.fixture
def model(home: Path) -> Iterator[Served]:
    with served(home, ALLOW) as made:
        yield made


@pytest.fixture
def place(shop: Path) -> Path:
    """A workspace with files of any name, and of any content."""
    for name in [*(name.encode() for name in NAMES), *BYTE_NAMES]:
        try:
            (shop.parent / "shop" / os.fsdecode(name)).write_text("x")
        except OSError:
            continue  # not every file system takes every name
    (shop / "texts").mkdir()
    for number, text in enumerate(TEXTS.values()):
        (shop / "texts" / f"{number}.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
    return shop


def started(place: Path, *options: str) -> Terminal:
    """The screen on a terminal of true colours."""
    changes = {"COLORTERM": "truecolor"}
    return terminal.run("--profile", "scripted", *options, cwd=place, size=SIZE, changes=changes)


def say(screen: Terminal, words: str, sign: str) -> None:
    """Send words and wait until a sign was drawn after them."""
    start = len(screen.shown)
    screen.press(paste(words))
    screen.press(ENTER)
    screen.until_after(start, sign.encode())


def paste(text: str) -> bytes:
    return b"\x1b[200~" + text.encode("utf-8", "replace") + b"\x1b[201~"


def cleared(screen: Terminal, keys: bytes, sign: str) -> None:
    """Press keys, wait until the composer shows a sign, and clear it."""
    start = len(screen.shown)
    screen.press(keys)
    start = screen.until_after(start, sign.encode())
    screen.press(CTRL_C)
    screen.until_after(start, b"sk, or / for")


def leave(screen: Terminal) -> list[str]:
    """Quit; what was written that should not have been."""
    screen.press(CTRL_Q)
    assert screen.end() == 0, screen.shown[screen.shown.rindex(b"?1049l") :].decode()
    return foreign(screen.shown, titles=("shop", "go "))


def batches(texts: list[str], size: int) -> list[list[str]]:
    return [texts[at : at + size] for at in range(0, len(texts), size)]


def test_answers_thinking_and_calls(model: Served, place: Path) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in SMALL.values() if text.strip()]
    groups = batches(texts, 6)
    for number, group in enumerate(groups):
        thoughts = Reply.thinking("\n".join(group)).content
        answers = [{"type": "text", "text": text} for text in group]
        model.script(
            Reply.blocks(
                *thoughts, *answers, {"type": "text", "text": f"\n\nover{number:02}"}, stop_reason="end_turn"
            )
        )
    with started(place) as screen:
        screen.until(b"ready")
        for number in range(len(groups)):
            say(screen, f"go {number}", f"over{number:02}")
        for _ in range(20):
            screen.press(PAGE_UP)
        assert leave(screen) == []
    # once more, from the log
    with started(place, "--continue") as screen:
        screen.until(f"over{len(groups) - 1:02}".encode())
        for _ in range(60):
            screen.press(PAGE_UP)
        screen.until(b"go 0")
        assert leave(screen) == []


def test_results_and_arguments(model: Served, place: Path) -> None:
    count = len(TEXTS)
    cats = [("bash", {"command": f"cat texts/{number}.txt"}) for number in range(count)]
    reads = [("read_file", {"path": f"texts/{number}.txt"}) for number in range(count)]
    unknown = [(name, {"path": text}) for name, text in SMALL.items() if text][:20]
    model.script(
        Reply.tools(*cats[: count // 2]),
        Reply.tools(*cats[count // 2 :]),
        Reply.tools(*reads),
        Reply.tools(
            ("glob", {"pattern": "*"}), ("grep", {"pattern": "."}), ("bash", {"command": "cat -- */*"})
        ),
        Reply.tools(*[("no such " + name, arguments) for name, arguments in unknown]),
        Reply.text("over00"),
    )
    with started(place) as screen:
        screen.until(b"ready")
        say(screen, "go on", "over00")
        screen.press(F3)
        screen.until(b"Records")
        for _ in range(30):
            screen.press(b"\x1b[A")
        screen.press(ENTER)
        for _ in range(10):
            screen.press(b"\x1b[A" + ENTER + ESC)
        assert leave(screen) == []


def test_cards_of_commands(model: Served, place: Path) -> None:
    # no program takes a NUL in an argument
    names = [name for name in DANGEROUS if "\x00" not in TEXTS[name]][::2]
    for name in names:
        model.script(Reply.tools(("bash", {"command": TEXTS[name].encode("utf-8", "replace").decode()})))
    with started(place) as screen:
        screen.until(b"ready")
        for number in range(len(names)):
            start = len(screen.shown)
            screen.press(b"go %d" % number)
            start = screen.until_after(start, b"go %d" % number)
            screen.press(ENTER)
            start = screen.until_after(start, b"run this command?")
            screen.press(CTRL_C)
            screen.until_after(start, b"ready")
        assert leave(screen) == []


def test_errors_of_the_endpoint(model: Served, place: Path) -> None:
    for number, name in enumerate(DANGEROUS):
        text = TEXTS[name].encode("utf-8", "replace").decode()
        page = number % 2
        model.script(Reply.page(403, f"<html>{text}") if page else Reply.error(400, text, kind=text))
    with started(place) as screen:
        screen.until(b"ready")
        for number in range(len(DANGEROUS)):
            start = len(screen.shown)
            screen.press(b"go %d" % number + ENTER)
            screen.until_after(start, b"ready")
        assert leave(screen) == []


def test_titles_words_and_file_names(model: Served, place: Path) -> None:
    texts = [TEXTS[name].encode("utf-8", "replace").decode() for name in DANGEROUS]
    model.always(Reply.text("over00"))
    with started(place) as screen:
        screen.until(b"ready")
        for number, text in enumerate(texts):
            cleared(screen, paste(f"{text} mark{number:02}"), f"mark{number:02}")
        for name in "aexcbn[@~$-# ":
            cleared(screen, b"@" + name.encode() + DOWN * 3 + TAB + b"mark ", "mark")
        say(screen, "go " + texts[1], "over00")
        for text in texts:
            start = len(screen.shown)
            screen.press(paste(f"/rename go {text}".replace("\n", " ").replace("\r", " ")) + ENTER)
            screen.until_after(start, b"the session is called")
        for text in texts:
            screen.press(CTRL_P + paste(text))
            screen.press(ESC)
            screen.press(paste(f"/{text}") + ENTER)
        screen.until(b"over00")
        assert leave(screen) == []
    model.always(None)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_reader_of_sequences_finds_what_is_foreign(name: str) -> None:
    """The test of the tests: each text, written raw, is found if it acts."""
    raw = TEXTS[name].encode("utf-8", "surrogatepass")
    found = [line for line in foreign(raw) if "was written 0 times" not in line]
    if acts(TEXTS[name], allowed="\r\n\x07"):
        assert found
