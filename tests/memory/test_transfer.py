"""What is exported is imported as it was, character for character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.memory.made import proposed
from tests.support.hostile import TEXTS
from tui_agent.memory.schema import LARGEST_BODY, SCOPES, STATUSES, Memory, StoreError, fitted
from tui_agent.memory.transfer import dump, parse

CHARACTERS = st.characters(exclude_categories=["Cs"])
WORDS = st.text(CHARACTERS, max_size=20)
BODIES = st.text(st.one_of(CHARACTERS, st.sampled_from("\n\"'\\\t\r#=[]")), min_size=1, max_size=80)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    memory = Memory(
        id=draw(WORDS),
        scope=draw(st.sampled_from(SCOPES)),
        key=draw(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)) + "k",
        body=draw(BODIES) + ".",
        status=draw(st.sampled_from(STATUSES)),
        workspace_id="shop-1",
        session_id="S1",
        source_session=draw(WORDS),
        source_record=draw(WORDS),
        tainted=draw(st.booleans()),
        outside=tuple(draw(st.lists(WORDS, max_size=3))),
        created_at="2026-11-30T04:25:37.000+00:00",
        approved_at=draw(st.sampled_from(["", "2026-11-30T04:25:38.000+00:00"])),
    )
    return fitted(memory)


@given(st.lists(memories(), max_size=4))
def test_any_memories_come_back_as_they_were(made: list[Memory]) -> None:
    assert parse(dump(made)) == made


@pytest.mark.parametrize("name", sorted(name for name, text in TEXTS.items() if text.strip()))
def test_hostile_text_comes_back_as_it_was(name: str) -> None:
    text = TEXTS[name].encode(errors="replace")[: LARGEST_BODY - 3].decode(errors="ignore")
    (memory,) = made = [fitted(proposed(body=text + "."))]
    assert parse(dump(made)) == [memory]
    assert parse(dump(made).replace("\n", "\r\n"))[0].key == memory.key


def test_nothing_hidden_is_written_as_it_is() -> None:
    text = dump([proposed(body="a\u202eb\x9bc\u2066d", outside=("x\r\n\ufeffy",))])
    assert not set(text) & set("\u202e\x9b\u2066\ufeff\r")
    assert parse(text)[0].outside == ("x\r\n\ufeffy",)


def test_texts_of_many_lines_are_written_so_that_people_can_read_them() -> None:
    text = dump([replace(proposed(body="first line\nsecond line"), rev=3)])
    assert "first line\nsecond line" in text
    assert text.startswith('format = 1\n\n[[memory]]\nkey = "indent"\nscope = "user"\n')
    assert "rev" not in text
    assert "workspace_id" not in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "`format = 1` is missing"),
        ("format = 2", "`format = 1` is missing"),
        ("format = ", "no TOML"),
        ("format = 1\nmemory = 3", "list of tables"),
        ("format = 1\nmemory = [3]", "memory 1: "),
        ('format = 1\n[[memory]]\nkey = "k"\nscope = "user"', r"memory 1 \(k\): .*body"),
        ('format = 1\n[[memory]]\nkey = "k"\nscope = "all"\nbody = "x"', r"memory 1 \(k\): .*all"),
        ('format = 1\n[[memory]]\nscope = "user"\nbody = "x"', "memory 1: a user memory needs a key"),
        ('format = 1\n[[memory]]\nkey = "k"\nscope = "user"\nbody = " "', "empty"),
        ('format = 1\n[[memory]]\nkey = "k"\nscope = "user"\nbody = 3', "str"),
    ],
)
def test_what_is_no_export_is_said(text: str, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        parse(text)
