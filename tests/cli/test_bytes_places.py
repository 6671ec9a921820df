"""Every byte that reaches the terminal from the places over the chat, while all that they list is hostile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import terminal
from tests.cli.command import session
from tests.cli.terminal import Terminal
from tests.support.hostile import TEXTS
from tests.support.script import Hold, Reply
from tests.support.sequences import foreign
from tests.support.served import served
from tui_agent import paths
from tui_agent.sessions.folder import bucket

SOME = ("markup unbalanced", "csi clear", "osc 52", "c1", "bidi unclosed", "c0 all")
BATCH = 12
BATCHES = [tuple(TEXTS)[at : at + BATCH] for at in range(0, len(TEXTS), BATCH)]
SOME_OR_ALL = pytest.mark.parametrize(
    "names",
    [SOME, *(pytest.param(names, marks=pytest.mark.slow) for names in BATCHES)],
    ids=["some", *map(str, range(len(BATCHES)))],
)
SIZE = (120, 32)
CTRL_C, CTRL_F, CTRL_Q, CTRL_R, CTRL_T, CTRL_X = b"\x03", b"\x06", b"\x11", b"\x12", b"\x14", b"\x18"
ENTER, DOWN, UP, RIGHT, END, F3, ESC = b"\r", b"\x1b[B", b"\x1b[A", b"\x1b[C", b"\x1b[F", b"\x1bOR", b"\x1b"
EMPTY = b"sk, or / for"
"""What the composer says while nothing stands in it (its first letter is under the cursor)."""


def quoted(text: str) -> str:
    """A text as TOML writes it."""
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


def settings(texts: list[str]) -> str:
    """Profiles, keys and tables with these names and values."""
    made = ["[keys]", *(f"{quoted(text[:50])} = {quoted(text[:50])}" for text in texts)]
    for text in texts:
        made += [
            f"[{quoted('u' + text[:50])}]",
            f"[profiles.{quoted('p' + text[:50])}]",
            f"model = {quoted(text)}",
        ]
        made += ['base_url = "http://127.0.0.1:9"', 'auth = "none"']
    return "\n".join(made)


def themes(folder: Path, texts: list[str]) -> None:
    """A person's own themes: sound and broken ones, with names of any kind."""
    folder.mkdir()
    for number, text in enumerate(texts):
        name = text.replace("/", "_").replace("\x00", "")[:40]
        (folder / f"{name}.toml").write_text(
            'base = "dark"' if number % 2 else f"{quoted(text)} = {quoted(text)}"
        )


def paste(text: str) -> bytes:
    return b"\x1b[200~" + text.encode("utf-8", "replace") + b"\x1b[201~"


def visit(screen: Terminal, keys: bytes, sign: bytes, *then: bytes) -> None:
    """Open a place, press further keys there, and close it."""
    said(screen, keys, sign, *then)
    said(screen, CTRL_C, EMPTY)


def left(screen: Terminal) -> list[str]:
    """Quit; what was written that should not have been."""
    screen.press(CTRL_Q)
    assert screen.end() == 0
    return foreign(screen.shown, titles=("shop", "go "))


def said(screen: Terminal, keys: bytes, sign: bytes, *then: bytes) -> None:
    """Press keys and wait for a sign; press further ones."""
    start = len(screen.shown)
    screen.press(keys)
    screen.until_after(start, sign)
    for keys in then:
        screen.press(keys)


@SOME_OR_ALL
def test_the_places_over_the_chat(names: tuple[str, ...], home: Path, shop: Path) -> None:
    texts = [TEXTS[name][:200].encode("utf-8", "replace").decode() for name in names if TEXTS[name].strip()]
    count = len(texts)
    for text in texts:
        session(shop, f"needle {text}", f"{text} needle", title=text)
    with served(home, settings(texts)):
        themes(home / "config" / "themes", texts)
        with terminal.run(cwd=shop, size=SIZE, changes={"COLORTERM": "truecolor"}) as screen:
            screen.until(b"ready")
            visit(screen, CTRL_X + b"l", b"last words", DOWN * count)
            visit(screen, CTRL_X + b"l", b"last words", b"/", b"needle", DOWN * count)
            visit(screen, CTRL_X + b",", b"durability", END, UP * 9 * count)
            # Not over the themes of 16 colours, which would be tried on in passing: they have other sequences.
            visit(screen, CTRL_X + b"t", b"own themes:", b"/", paste("your own"), DOWN * count)
            visit(screen, CTRL_X + b"m", b"window", DOWN * count)
            visit(screen, CTRL_X + b"o", b"address", DOWN * count)
            visit(screen, CTRL_X + b"h", b"[keys]", END)
            assert left(screen) == []


@SOME_OR_ALL
def test_what_stands_around_the_chat(names: tuple[str, ...], home: Path, shop: Path) -> None:
    texts = [TEXTS[name][:200].encode("utf-8", "replace").decode() for name in names if TEXTS[name].strip()]
    place = paths.sessions_dir() / bucket(shop)
    place.mkdir(parents=True)
    (place / "prompts.jsonl").write_text("".join(json.dumps(f"needle {text}") + "\n" for text in texts))
    hold = Hold()
    items = [{"text": f"todo{n:02} {text}", "status": "active"} for n, text in enumerate(texts)]
    with served(home) as model:
        model.script(
            Reply.tools(("todo", {"items": items}), *(("grep", {"pattern": text}) for text in texts)),
            Reply.text("\n\n".join([*(f"{text} needle" for text in texts), "all was said"])),
            Reply.text("over").holding(hold),
        )
        model.always(Reply.text("over"))
        with terminal.run(
            "--profile", "scripted", cwd=shop, size=SIZE, changes={"COLORTERM": "truecolor"}
        ) as screen:
            screen.until(b"ready")
            said(screen, CTRL_R, b"sent before")
            said(screen, b"needle", b"needle")
            screen.until_quiet()
            screen.press(CTRL_R * len(texts))
            screen.until_quiet()
            said(screen, CTRL_C, EMPTY, UP * 200)
            screen.until_quiet()
            said(screen, CTRL_C, EMPTY)
            said(screen, paste("go 1") + ENTER, b"all was said")
            screen.press(CTRL_T)
            screen.until_quiet()
            for text in texts:
                said(screen, CTRL_F, b"find", paste(f"{text}"), ENTER)
                screen.until_quiet()
                said(screen, ESC, EMPTY)
            said(screen, paste("go 2") + ENTER, b"go 2")
            model.wait(hold.reached)
            for text in texts:
                screen.press(paste(text) + ENTER)
                screen.until_quiet()
            screen.press(CTRL_X + b"w" + DOWN * len(texts))
            screen.until_quiet()
            screen.press(F3)
            screen.until_quiet()
            for _ in range(5):
                screen.press(UP * 12 + ENTER + RIGHT)
                screen.until_quiet()
            assert left(screen) == []
