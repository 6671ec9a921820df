"""What was sent before and what is not sent yet, on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui_agent.ui.chat import history
from tui_agent.ui.chat.history import Draft, History, append_history, read_draft, read_history, write_draft


def test_walking_back_and_forth_returns_to_what_was_being_written() -> None:
    past = History(["one", "two"])
    assert [past.earlier("draft"), past.earlier("two"), past.earlier("one")] == ["two", "one", None]
    assert [past.later(), past.later(), past.later()] == ["two", "draft", None]


def test_the_same_words_twice_are_one_entry_and_blank_ones_none() -> None:
    past = History()
    for text in ("a", "a", "  ", "b"):
        past.add(text)
    assert len(past) == 2


def test_entries_of_a_file_come_before_those_of_now() -> None:
    past = History()
    past.add("now")
    past.extend_before(["old"])
    assert past.earlier("") == "now"
    assert past.earlier("") == "old"


def test_a_file_gives_back_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    for text in ("first", 'two\nlines "quoted"', "\ud83d lone half", "日本"):
        append_history(path, text)
    assert read_history(path) == ["first", 'two\nlines "quoted"', "\ud83d lone half", "日本"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_file_is_empty_and_damaged_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    assert read_history(path) == []
    path.write_bytes(b'"one"\n\xff\xfe\n{"a": 1}\n"two"\n"torn')
    assert read_history(path) == ["one", "two"]


def test_a_long_file_is_shortened_to_its_newest_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "KEPT", 3)
    path = tmp_path / "prompts.jsonl"
    for number in range(8):
        append_history(path, str(number))
    assert read_history(path) == ["5", "6", "7"]
    assert path.read_bytes() == b'"5"\n"6"\n"7"\n'


def test_a_draft_is_written_whole_read_back_and_removed_when_empty(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    write_draft(path, Draft("half a thought", ("waits",)))
    assert read_draft(path) == Draft("half a thought", ("waits",))
    assert read_draft(path).words == "waits\n\nhalf a thought"
    assert [file.name for file in tmp_path.iterdir()] == ["draft.json"]
    write_draft(path, Draft())
    assert not path.exists()
    write_draft(path, Draft())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"text": 3, "queue": "x"}', b"\xff"])
def test_what_is_no_draft_is_an_empty_one(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    path.write_bytes(data)
    assert not read_draft(path)
