"""The end of a trace, followed as it grows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_agent.ui.inspector import trace
from tui_agent.ui.inspector.events import told
from tui_agent.ui.inspector.trace import MOST, Trace, decoded


def _line(number: int) -> bytes:
    return json.dumps({"at": "2026-01-01T10:00:00Z", "event": "step_started", "step": number}).encode()


def _append(path: Path, *numbers: int) -> None:
    with path.open("ab") as file:
        file.writelines(_line(number) + b"\n" for number in numbers)


def _steps(read: Trace) -> list[object]:
    return [decoded(line).get("step") for line in read.lines]


def test_it_goes_on_where_it_stopped_also_in_the_middle_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    read = Trace(path)
    with pytest.raises(FileNotFoundError):
        read.read()
    _append(path, 1, 2)
    assert read.read()
    with path.open("ab") as file:
        file.write(_line(3)[:20])
    read.read()
    assert _steps(read) == [1, 2]
    with path.open("ab") as file:
        file.write(_line(3)[20:] + b"\n")
    assert read.read()
    assert not read.read()
    assert _steps(read) == [1, 2, 3]


def test_of_a_long_trace_only_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    _append(path, *range(100))
    monkeypatch.setattr(trace, "_TAIL", 5 * len(_line(99)))
    read = Trace(path)
    read.read()
    assert read.earlier
    assert _steps(read) == list(range(100 - len(read.lines), 100))
    assert 3 <= len(read.lines) <= 5


def test_some_thousands_are_kept_and_each_stays_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    _append(path, *range(MOST))
    read = Trace(path)
    read.read()
    assert (len(read.lines), read.dropped, read.earlier) == (MOST, 0, False)
    _append(path, *range(MOST, MOST + 10))
    read.read()
    assert (len(read.lines), read.dropped, read.earlier) == (MOST, 10, True)
    assert _steps(read)[0] == 10


def test_a_trace_that_was_set_aside_goes_on_in_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    _append(path, 1, 2)
    read = Trace(path)
    read.read()
    path.rename(tmp_path / "events.1.jsonl")
    _append(path, 3)
    assert read.read()
    assert _steps(read) == [1, 2, 3]


@pytest.mark.parametrize("line", [b"{torn", b"7", b"\xff\xfe", b"[" * 100_000])
def test_a_line_that_is_no_event_is_shown_as_it_is(line: bytes) -> None:
    event = decoded(line)
    assert event["event"] == ""
    assert told(event) == line.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            {"event": "tool_ended", "tool": "bash", "outcome": "ok", "size": 2100, "seconds": 0.12},
            "bash ok, 2.1 KB, 0.1 s",
        ),
        (
            {"event": "turn_ended", "reason": "end_turn", "steps": 1, "seconds": 1.2},
            "end_turn, 1 step, 1.2 s",
        ),
        (
            {"event": "weighed", "total": 1204, "mark": "estimated", "window": 200000},
            "~1,204 of 200,000 tokens",
        ),
        (
            {"event": "answered", "question": "q1", "answer": {"verdict": "once", "note": ""}},
            "q1: once",
        ),
        (
            {"event": "answered", "question": "q2", "answer": {"verdict": "no", "note": 12}},
            "q2: no, with words",
        ),
        (
            {"event": "asked", "question": {"id": "q1", "kind": "approval", "tool": "bash", "title": 17}},
            "q1: approval of bash",
        ),
        ({"event": "asked", "question": "q3"}, "question q3"),
        ({"event": "tool_waiting", "call": "c", "tool": "bash", "arguments": 1}, "bash"),
        ({"event": "tool_started", "tool": "bash", "title": 0}, "bash"),
        ({"event": "tool_started", "tool": "bash", "title": 9}, "bash: arguments accepted"),
        (
            {"event": "notice", "text": 12, "level": "warning", "source": ""},
            "text of 12 characters, level warning",
        ),
        ({"event": "queue_changed", "prompts": 1066, "paused": True}, "prompts of 1,066 characters, paused"),
        ({"event": "reply_ended", "stop_reason": "cut", "text": 0, "partial": True}, "cut, partial"),
        ({"event": "usage_reported"}, "? tokens: new ?, cache read ?, written ?, answer ?"),
    ],
)
def test_figures_are_told_in_words(event: dict[str, object], words: str) -> None:
    assert told(event) == words
