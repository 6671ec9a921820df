"""Foreign text, safe to store and safe to show."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import hostile
from tui_agent.literal import clean, inert, one_line, visible

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.lists(
    st.sampled_from(sorted(hostile.SMALL.values()))
).map("".join)


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_a_hostile_text_can_be_shown(name: str) -> None:
    assert hostile.acts(visible(hostile.TEXTS[name])) == []


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_a_hostile_text_can_be_stored(name: str) -> None:
    clean(hostile.TEXTS[name]).encode()


@given(ANY_TEXT)
def test_any_text_can_be_shown(text: str) -> None:
    shown = visible(text)
    assert hostile.acts(shown) == []
    assert visible(shown) == shown
    shown.encode()


@given(ANY_TEXT)
def test_any_text_can_be_stored_and_stays_what_it_is_where_it_can(text: str) -> None:
    stored = clean(text)
    stored.encode()
    assert clean(stored) == stored
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert stored == text


def test_every_character_of_unicode_is_shown_or_becomes_a_sign() -> None:
    assert hostile.acts(visible("x".join(map(chr, range(sys.maxunicode + 1))))) == []


def test_letters_digits_and_signs_are_left_alone() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        kept = category[0] in "LNPS" or category == "Zs"
        if kept and hostile.acts(character) == []:
            assert visible(character) == character


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a␛[31mb"),
        ("a\x00b\x7fc", "a␀b␡c"),
        ("a\r\nb", "a␍\nb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x9b31m", "<U+009B>31m"),
        ("a\u202eb", "a<U+202E>b"),
        ("a\u200bb", "a<U+200B>b"),
        ("a" + "\u200b" * 12 + "b", "a<U+200B x12>b"),
        ("a\u2028b", "a<U+2028>b"),
        ("\ufeffx", "<U+FEFF>x"),
        ("a\ud800b", "a\ufffdb"),
        ("[bold]x[/] [/a]", "[bold]x[/] [/a]"),
    ],
)
def test_what_could_act_becomes_a_sign(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("❤\ufe0f!", "❤!"),
        ("👍🏽!", "👍!"),
        ("👨\u200d👩\u200d👧!", "👨!"),
        ("👩🏽\u200d🚀!", "👩!"),
        ("❤\ufe0f\u200d🔥!", "❤!"),
        ("1\ufe0f\u20e3", "1\u20e3"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", "🏴!"),
        ("می\u200cخواهم", "میخواهم"),
        ("葛\U000e0100城", "葛城"),
    ],
)
def test_what_terminals_disagree_about_is_dropped(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "🏴\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065\U000e0061\U000e006c\U000e006c",
        "x\ufe01\ufe02\ufe03",
        "a\ufe01b\ufe02",
        "a\u200db",
    ],
)
def test_a_message_hidden_in_what_is_dropped_elsewhere_is_shown(text: str) -> None:
    assert "<U+" in visible(text)


def test_more_joined_emoji_than_any_real_one_has_are_counted() -> None:
    assert visible("👨" + "\u200d👩" * 20 + "x") == "👨<+20 joined>x"


def test_a_tower_of_marks_is_counted() -> None:
    assert visible("e" + "\u0301" * 50 + "x") == "e" + "\u0301" * 4 + "<+46 marks>x"
    assert visible("e\u0301\u0302x") == "e\u0301\u0302x"


def test_halves_of_one_character_are_joined() -> None:
    assert clean("\ud83d\ude00 \ud83d x \ude00") == "😀 \ufffd x \ufffd"


def test_one_line_stays_one_line() -> None:
    assert one_line("a\n\tb\x1bc") == "a␤ b␛c"
    assert one_line("x" * 1000, 10) == "x" * 9 + "⋯"
    assert one_line("x" * 10, 10) == "x" * 10
    assert one_line("\u200b" * 100, 20)[-1] == "⋯"
    for text in hostile.TEXTS.values():
        line = one_line(text, 80)
        assert len(line) <= 80
        assert hostile.acts(line, allowed="") == []


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_nothing_that_is_copied_acts_where_it_is_pasted(name: str) -> None:
    text = hostile.TEXTS[name]
    copied = inert(text)
    assert not [c for c in copied if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    kept = [c for c in text.replace("\r\n", "\n") if unicodedata.category(c) != "Cc" or c in "\n\t"]
    rest = iter(copied)
    assert all(c in rest for c in kept), "all other characters are there, in their order"


def test_what_is_copied_keeps_what_only_the_screen_leaves_out() -> None:
    text = "\u202bשלום\u202c 👩\u200d👧 ❤\ufe0f a\u0301\tb\r\nc"
    assert inert(text) == text.replace("\r\n", "\n")
    assert inert("\x1b[201~\rrm\x9b") == "␛[201~␍rm<U+009B>"
