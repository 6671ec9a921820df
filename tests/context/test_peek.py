"""What the catalog tells of a session comes from the two ends of its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tui_agent.context.peek import peek

SAMPLES = Path(__file__).parent / "samples" / "kimi-cli"


def log(path: Path, *records: dict[str, Any] | bytes) -> Path:
    lines = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def user(text: str, number: int = 0, **more: Any) -> dict[str, Any]:
    record = {
        "role": "user",
        "content": [{"type": "text", "text": text}],
        "id": f"u{number}",
        "at": at(number),
    }
    return record | more


def answer(text: str, number: int = 0, model: str = "m") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"role": "assistant", "content": content, "id": f"a{number}", "at": at(number), "model": model}


def usage(count: Any) -> dict[str, Any]:
    return {"role": "_usage", "token_count": count, "exact": True}


def at(number: int) -> str:
    return f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}+00:00"


def test_first_and_last_words_tokens_model_and_time(tmp_path: Path) -> None:
    path = log(
        tmp_path / "c",
        {"role": "_system_prompt", "content": "be good"},
        user("fix the bug", 1),
        answer("done", 2, "old"),
        usage(10),
        user("thanks", 3),
        answer("welcome", 4, "new"),
        usage(25),
    )
    seen = peek(path)
    assert (seen.first, seen.last, seen.tokens, seen.model) == ("fix the bug", "thanks", 25, "new")
    assert (seen.at, seen.bytes, seen.damaged, seen.messages) == (at(4), path.stat().st_size, 0, 4)
    assert seen.titles == ("fix the bug", "thanks")


def test_only_a_persons_words_count(tmp_path: Path) -> None:
    path = log(
        tmp_path / "c",
        user("summary of before", 1, origin="summary"),
        user("real", 2),
        user("result", 3, origin="tool"),
        user("reminder", 4, origin="injection"),
    )
    assert (peek(path).first, peek(path).last) == ("real", "real")


@pytest.mark.parametrize(
    ("sample", "first", "last", "tokens"),
    [
        ("plain", "list files", "what is in this image?", 6712),
        ("dmail", "count to five", "count to five", 910),
        ("compact", "how are you", "next", 69),
    ],
)
def test_kimi_cli_sessions_are_told_too(sample: str, first: str, last: str, tokens: int) -> None:
    seen = peek(SAMPLES / sample / "context.jsonl")
    assert (seen.first, seen.last, seen.tokens, seen.damaged) == (first, last, tokens, 0)


def test_a_large_log_is_read_at_its_ends_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [user("first words", 1)]
    for number in range(2000):
        records += [answer("x" * 2000, number), user("y" * 2000, number, origin="tool"), usage(number)]
    path = log(tmp_path / "c", *records, user("last words", 59), answer("ok", 60), usage(4242))
    read = 0
    pread = __import__("os").pread

    def counted(descriptor: int, count: int, offset: int) -> bytes:
        nonlocal read
        data: bytes = pread(descriptor, count, offset)
        read += len(data)
        return data

    monkeypatch.setattr("os.pread", counted)
    seen = peek(path)
    assert (seen.first, seen.last, seen.tokens) == ("first words", "last words", 4242)
    assert seen.bytes > 8_000_000
    assert read < 200_000
    assert 3600 < seen.messages < 4400


def test_words_behind_a_long_prompt_and_before_a_long_result_are_found(tmp_path: Path) -> None:
    path = log(
        tmp_path / "c",
        {"role": "_system_prompt", "content": "p" * 500_000},
        user("first words"),
        answer("a" * 300_000),
        usage(7),
        user("last words"),
        answer("b" * 900_000),
        user("c" * 900_000, origin="tool"),
    )
    seen = peek(path)
    assert (seen.first, seen.last, seen.tokens, seen.damaged) == ("first words", "last words", 7, 0)


def test_a_line_longer_than_what_is_read_hides_words_and_raises_nothing(tmp_path: Path) -> None:
    path = log(tmp_path / "c", user("first"), answer("x" * 9_000_000), user("z" * 9_000_000, origin="tool"))
    seen = peek(path)
    assert (seen.first, seen.last, seen.damaged) == ("first", "first", 0)


def test_damage_is_counted_and_steps_aside(tmp_path: Path) -> None:
    path = log(
        tmp_path / "c",
        b"{torn",
        b'{"role":"user","content":"\xff"}',
        b"[1]",
        b"[" * 100_000,
        {"role": ["user"]},
        {"role": "user", "content": {"type": "text"}, "id": 7, "at": "yesterday"},
        {"role": "assistant", "content": 3, "model": 4, "id": "x"},
        usage(True),
        usage(-3),
        usage("9"),
        user("words", 1),
        usage(12),
        usage(10**30),
        b"",
    )
    with path.open("ab") as file:
        file.write(b'{"role":"user","content":[{"type":"te')
    seen = peek(path)
    assert (seen.first, seen.last, seen.tokens, seen.damaged) == ("words", "words", 12, 8)


def test_what_the_fast_decoder_refuses_is_tried_again(tmp_path: Path) -> None:
    path = log(tmp_path / "c", b'{"role":"user","id":"1","content":[{"type":"text","text":"a\\ud800\tb"}]}')
    assert (peek(path).first, peek(path).damaged) == ("a\ufffd\tb", 0)


def test_an_empty_log_tells_its_time(tmp_path: Path) -> None:
    path = log(tmp_path / "c")
    seen = peek(path)
    assert (seen.first, seen.last, seen.tokens, seen.model, seen.bytes, seen.messages) == (
        "",
        "",
        None,
        "",
        0,
        0,
    )
    assert seen.at.endswith("+00:00")
    assert seen.titles == ()


def test_a_missing_log_or_a_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        peek(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        peek(tmp_path)


def test_a_title_is_one_short_line_with_letters(tmp_path: Path) -> None:
    path = log(tmp_path / "c", user("\n  ***\n\tplease   look at " + "this " * 40), user("世界\nmore", 1))
    first, last = peek(path).titles
    assert first.startswith("please look at this")
    assert len(first) <= 60
    assert last == "世界"
