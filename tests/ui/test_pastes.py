"""A paste is one message, whatever stands in it and however it comes; and no key is pressed by it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from tests.support.hostile import TEXTS, acts
from tui_agent.ui import pastes
from tui_agent.ui.pastes import Pastes


def read(*pieces: str) -> list[object]:
    reader = Pastes(XTermParser())
    return [message for piece in pieces for message in reader.feed(piece)]


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_any_text_is_one_paste_that_does_not_act(name: str) -> None:
    (message,) = read(pasted(TEXTS[name]))
    assert isinstance(message, events.Paste)
    assert not [code for code in acts(message.text, allowed="\r\n\t") if int(code[2:], 16) < 0xAD]
    assert len(message.text) >= len(TEXTS[name])


@given(text=st.text(max_size=40), cuts=st.sets(st.integers(0, 60)))
def test_it_may_come_in_any_pieces(text: str, cuts: set[int]) -> None:
    whole = "a" + pasted(text.replace("\x1b[201~", "")) + "b"
    # an escape character that comes alone is the Esc key
    places = [0, *sorted(cut for cut in cuts if 2 < cut < len(whole)), len(whole)]
    pieces = [whole[a:b] for a, b in itertools.pairwise(places) if a < b]
    kinds = [type(message).__name__ for message in read(*pieces)]
    assert kinds == ["Key", "Paste", "Key"]


def test_keys_beside_pastes_are_keys() -> None:
    messages = read("x", pasted("one") + "\x1b[A" + pasted("two") + "\r")
    shown = [m.text if isinstance(m, events.Paste) else m.key for m in messages]  # type: ignore[attr-defined]
    assert shown == ["x", "one", "up", "two", "enter"]


def test_what_began_no_paste_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pastes, "_PATIENCE_S", -1.0)
    reader = Pastes(XTermParser())
    assert list(reader.feed("\x1b[2")) == []
    list(reader.tick())
    keys = [m.key for m in reader.feed("4~") if isinstance(m, events.Key)]
    assert keys == ["f12"]
