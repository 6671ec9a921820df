"""What was sent before and what is not sent yet, on disk."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from tui_agent.ui.chat import history
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.history import Draft, History, append_history, read_draft, read_history, write_draft

IMAGE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "blob", "sha256": "a" * 64, "media_type": "image/png"},
}
FOLDED = Prompt(
    "look [Image #2] at [Pasted #1, 2 lines]", {"[Pasted #1, 2 lines]": "a\nb"}, {"[Image #2]": IMAGE}
)


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(text) for text in texts]


def texts(found: list[Prompt | None]) -> list[str | None]:
    return [prompt.text if prompt is not None else None for prompt in found]


def test_walking_back_and_forth_returns_to_what_was_being_written() -> None:
    past = History(prompts("one", "two"))
    assert texts([past.earlier(FOLDED), past.earlier(Prompt("two")), past.earlier(Prompt("one"))]) == [
        "two",
        "one",
        None,
    ]
    assert [past.later(), past.later(), past.later()] == [Prompt("two"), FOLDED, None]


def test_the_same_words_twice_are_one_entry_and_blank_ones_none() -> None:
    past = History()
    for prompt in prompts("a", "a", "  ", "b"):
        past.add(prompt)
    assert len(past) == 2


def test_entries_of_a_file_come_before_those_of_now() -> None:
    past = History()
    past.add(Prompt("now"))
    past.extend_before(prompts("old"))
    assert past.earlier(Prompt()) == Prompt("now")
    assert past.earlier(Prompt()) == Prompt("old")


def test_a_search_finds_the_newest_first_each_once_by_all_words_and_inside_pastes() -> None:
    past = History([*prompts("fix the Report", "other", "report fix", "fix the Report"), FOLDED])
    assert texts([*past.search("FIX rep")]) == ["fix the Report", "report fix"]
    assert past.search("a\nb") == [FOLDED]
    assert len(past.search("")) == 4
    assert len(past.search("", limit=2)) == 2
    assert past.search("nowhere") == []


def test_words_that_were_sent_are_folded_again_as_they_were() -> None:
    past = History([FOLDED])
    assert FOLDED.words == "look [Image #1] at a\nb"
    assert past.folded(FOLDED.words, FOLDED.pictures) == FOLDED
    assert past.folded(FOLDED.words, ()) == Prompt(FOLDED.words)
    assert past.folded("other [Image #1]", [IMAGE]) == Prompt(
        "other [Image #1]", images={"[Image #1]": IMAGE}
    )


def test_a_file_gives_back_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    added = [*prompts("first", 'two\nlines "quoted"', "\ud83d lone half", "日本"), FOLDED]
    for prompt in added:
        append_history(path, prompt)
    assert read_history(path) == added
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_file_is_empty_and_damaged_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    assert read_history(path) == []
    path.write_bytes(
        b'"one"\n\xff\xfe\n{"a": 1}\n{"text": "two", "pastes": 3, "images": {"[Image #1]": {}}}\n"three"\n"torn'
    )
    assert read_history(path) == prompts("one", "two", "three")


def test_a_long_file_is_shortened_to_its_newest_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "KEPT", 3)
    path = tmp_path / "prompts.jsonl"
    for number in range(8):
        append_history(path, Prompt(str(number)))
    assert read_history(path) == prompts("5", "6", "7")
    assert path.read_bytes() == b'"5"\n"6"\n"7"\n'


def test_an_entry_of_megabytes_is_left_to_its_session(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    append_history(path, Prompt("x" * 2_000_000))
    append_history(path, Prompt("short"))
    assert read_history(path) == prompts("short")


def test_a_draft_is_written_whole_read_back_and_removed_when_empty(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    draft = Draft(FOLDED, (Prompt("waits"), FOLDED))
    write_draft(path, draft)
    assert read_draft(path) == draft
    assert [file.name for file in tmp_path.iterdir()] == ["draft.json"]
    write_draft(path, Draft())
    assert not path.exists()
    write_draft(path, Draft())


def test_what_waited_and_what_was_written_become_one_draft() -> None:
    whole = Draft(FOLDED, (Prompt("waits"), FOLDED)).whole
    assert whole.words == ("waits\n\nlook [Image #1] at a\nb\n\nlook [Image #2] at a\nb"), (
        "each paste in its place, each picture its number"
    )
    assert whole.pictures == (IMAGE, IMAGE)
    assert Draft(Prompt("half a thought"), (Prompt("waits"),)).whole.text == "waits\n\nhalf a thought"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"draft": 3, "queue": "x"}', b"\xff"])
def test_what_is_no_draft_is_an_empty_one(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    path.write_bytes(data)
    assert not read_draft(path)


def test_a_draft_of_the_first_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    path.write_text('{"text": "half", "queue": ["whole"]}')
    draft = read_draft(path)
    assert (draft.prompt.text, [prompt.text for prompt in draft.queue]) == ("half", ["whole"])
