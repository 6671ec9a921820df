"""A history read as entries: who said what, which call came to what, where turns begin."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tests.ui.transcript.host import Checkpoint, Lazy, answer, result, turns, use, words
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.ui.transcript.entries import (
    Answer,
    Aside,
    Entry,
    Gap,
    Mark,
    Note,
    Thinking,
    ToolCall,
    Words,
    human_size,
    human_time,
    short_time,
)
from tui_agent.ui.transcript.history import History
from tui_agent.ui.transcript.render import local_time


def read(messages: list[Message], *checkpoints: Checkpoint) -> list[Entry]:
    history = History(messages, checkpoints)
    return history.read(Gap(0, len(messages)), 0, len(messages))[2]


def call(*messages: Message) -> ToolCall:
    (found,) = (entry for entry in read(list(messages)) if isinstance(entry, ToolCall))
    return found


def test_a_turn_becomes_words_thinking_answer_and_call_in_order() -> None:
    entries = read(
        [
            words("do it"),
            answer({"type": "thinking", "thinking": "hm"}, "I will.", use("c", command="ls\n-l")),
            result("c", "a\nb", outcome="ok", ms=1500, summary="2 files", title="ls -l", diff="@@ x"),
            answer("done"),
        ]
    )
    assert [type(entry) for entry in entries] == [Words, Thinking, Answer, ToolCall, Answer]
    made = entries[3]
    assert isinstance(made, ToolCall)
    assert (made.tool, made.title, made.state, made.summary) == ("bash", "ls -l", "ok", "2 files")
    assert (made.text, made.seconds, made.size, made.diff) == ("a\nb", 1.5, 3, "@@ x")


@pytest.mark.parametrize("outcome", ["ok", "error", "denied", "cancelled"])
def test_the_outcome_is_the_one_on_record(outcome: str) -> None:
    assert call(answer(use("c")), result("c", error=outcome != "ok", outcome=outcome)).state == outcome


def test_without_a_record_of_it_the_outcome_is_told_by_the_result() -> None:
    assert call(answer(use("c")), result("c")).state == "ok"
    assert call(answer(use("c")), result("c", error=True)).state == "error"
    assert call(answer(use("c"))).state == "interrupted"
    repaired = Message("user", [tool_result("c", "interrupted", error=True)], origin="repair")
    assert call(answer(use("c")), repaired).state == "interrupted"


def test_parallel_results_in_one_record_or_in_many_find_their_calls() -> None:
    asked = answer(use("a", command="1"), use("b", command="2"))
    together = Message("user", [tool_result("b", "two"), tool_result("a", "one")], origin="tool")
    for results in ([together], [result("b", "two"), result("a", "one")]):
        entries = [entry for entry in read([asked, *results]) if isinstance(entry, ToolCall)]
        assert [(entry.title, entry.text) for entry in entries] == [("1", "one"), ("2", "two")]


def test_a_result_without_its_call_and_an_unknown_block_are_shown() -> None:
    odd = Message("assistant", [{"type": "server_tool", "x": 1}])
    entries = read([result("nobody", "orphan"), odd])
    assert [type(entry) for entry in entries] == [Aside, Aside]
    assert isinstance(entries[0], Aside)
    assert entries[0].text == "orphan"
    assert isinstance(entries[1], Aside)
    assert (entries[1].label, '"x": 1' in entries[1].text) == ("block of type server_tool", True)


def test_a_reminder_says_what_the_model_was_told_by_it() -> None:
    text = "<system-reminder>\nUse tabs.\n</system-reminder>"
    (entry,) = read([Message("user", [text_block(text)], origin="injection", meta={"told": "1 rule"})])
    assert isinstance(entry, Aside) and (entry.label, entry.text) == ("told: 1 rule", "Use tabs.")


@pytest.mark.parametrize(
    "origin", ["summary", "injection", "dmail", "checkpoint", "background", "repair", "new one"]
)
def test_what_no_person_said_is_labelled(origin: str) -> None:
    (entry,) = read([Message("user", [text_block("text")], origin=origin)])
    assert isinstance(entry, Aside)
    assert entry.label
    assert entry.foldable


def test_a_partial_answer_says_so_and_so_does_a_reply_without_text() -> None:
    first, second = read([answer("half", partial=True), answer(use("c"), partial=True)])[0:3:2]
    assert isinstance(first, Answer)
    assert first.partial
    assert isinstance(second, Note)


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
def test_an_answer_that_stopped_early_says_why(reason: str) -> None:
    assert isinstance(read([answer("so", stop_reason=reason)])[-1], Note)
    assert len(read([answer("so", stop_reason="end_turn")])) == 1


def test_images_are_placeholders_with_what_is_known_of_them() -> None:
    source = {
        "type": "blob",
        "sha256": "0",
        "media_type": "image/png",
        "bytes": 34_000,
        "width": 10,
        "height": 20,
    }
    blocks = [
        text_block("look"),
        {"type": "image", "source": source},
        {"type": "image", "source": {}},
        {"type": "image"},
    ]
    (entry,) = read([Message("user", blocks)])
    assert isinstance(entry, Words)
    assert entry.text == "look\n[image png 10x20 34 KB]\n[image]\n[image]"


@pytest.mark.parametrize(
    "content",
    [
        [{}],
        [{"type": None}],
        [{"type": "text"}],
        [{"type": "tool_use"}],
        [{"type": "tool_result"}],
        [{"type": "tool_result", "content": [1, None, {"type": "image"}]}],
        [{"type": "image", "source": 3}],
        [],
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_odd_blocks_never_raise(content: list[dict[str, object]], role: str) -> None:
    read([Message(role, content)])  # type: ignore[arg-type]


def test_marks_stand_before_the_words_of_their_turns() -> None:
    messages = [
        words("first turn", at="2026-01-01T10:00:01Z"),
        answer("ok", at="2026-01-01T10:00:02Z"),
        words("queued, in the same turn", at="2026-01-01T10:00:03Z"),
        answer("ok", at="2026-01-01T10:00:04Z"),
        words("second turn", at="2026-01-01T10:01:00.500Z"),
    ]
    checkpoints = [
        Checkpoint(0, at="2026-01-01T10:00:00Z", words="first turn"),
        Checkpoint(1, at="2026-01-01T10:00:01.5Z", turn=False, words="first turn"),
        Checkpoint(2, at="2026-01-01T10:01:00.500Z", words="second turn"),
    ]
    entries = read(messages, *checkpoints)
    assert [type(entry) for entry in entries] == [Mark, Words, Answer, Words, Answer, Mark, Words]
    assert [entry.number for entry in entries if isinstance(entry, Mark)] == [0, 2]


def test_of_a_thousand_checkpoints_those_are_read_that_are_needed() -> None:
    def at(minute: int, second: int) -> str:
        return f"2026-01-{1 + minute // 1440:02}T{minute // 60 % 24:02}:{minute % 60:02}:{second:02}Z"

    read: list[int] = []

    class Counted(list[Checkpoint]):
        def __getitem__(self, place: Any) -> Any:
            read.append(place)
            return super().__getitem__(place)

        def __iter__(self) -> Iterator[Checkpoint]:
            raise AssertionError("all of them are read")

    messages = [words(f"turn {number}", at=at(number, 1)) for number in range(1000)]
    checkpoints = Counted(Checkpoint(n, at=at(n, 0), words=f"turn {n}") for n in range(1000))
    history = History(messages, checkpoints)
    assert not read
    entries = history.read(Gap(0, 1000), 995, 1000)[2]
    assert [entry.number for entry in entries if isinstance(entry, Mark)] == [995, 996, 997, 998, 999]
    assert len(set(read)) < 30


def test_without_times_only_words_that_stand_once_are_marked() -> None:
    messages = [words("same"), answer("a"), words("unlike   the others"), answer("b"), words("same")]
    checkpoints = [
        Checkpoint(number, words=text) for number, text in enumerate(["same", "unlike the others", "same"])
    ]
    assert [entry.number for entry in read(messages, *checkpoints) if isinstance(entry, Mark)] == [1]


def test_a_stretch_is_widened_so_that_calls_keep_their_results() -> None:
    messages = Lazy(turns(10))
    history, gap = History(messages, ()), Gap(0, 40)
    for start in range(36):
        first, end, entries = history.read(gap, start, start + 4)
        assert first <= start < start + 4 <= end
        assert not [
            e for e in entries if isinstance(e, Aside) or (isinstance(e, ToolCall) and e.state != "ok")
        ]


def test_a_history_that_was_rewritten_meanwhile_gives_what_is_left() -> None:
    messages = turns(10)
    history, gap = History(messages, ()), Gap(0, 40)
    del messages[10:]
    assert history.read(gap, 36, 40) == (10, 10, [])
    assert history.read(gap, 8, 40)[:2] == (8, 10)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (2148, "2.1 KB"),
        (34_000, "34 KB"),
        (999_600, "1.0 MB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_sizes_in_words(count: int, text: str) -> None:
    assert human_size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.9, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (192, "3 min 12 s"),
        (7260, "2 h 1 min"),
        (-1, "0.0 s"),
    ],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert human_time(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(59.4, "59 s"), (59.6, "1m 0s"), (3599, "59m 59s"), (7260, "2h 1m"), (3_599_940, "999h 59m")],
)
def test_durations_in_a_column(seconds: float, text: str) -> None:
    assert short_time(seconds) == text
    assert len(text) <= 8


def test_times_are_told_as_a_person_here_reads_them() -> None:
    now = datetime.now().astimezone()
    assert local_time(now.astimezone(timezone(timedelta(hours=-9))).isoformat()) == f"{now:%H:%M}"
    old = now - timedelta(days=40)
    assert local_time(old.isoformat()).split()[0] == str(old.day)
    assert [local_time(text) for text in ("", "yesterday", "2026-13-01")] == ["", "", ""]
