"""What happens is shown: every event a person should see, in words, and nothing twice."""

from __future__ import annotations

import pytest

from tests.ui.transcript.host import Host, Running, running
from tui_agent.changes import Appended, LogFailed, LogRecovered
from tui_agent.events import (
    Answer,
    Answered,
    Asked,
    LeftOut,
    ModelChanged,
    Notice,
    Question,
    QueueChanged,
    QueuedPrompt,
    Reminded,
    Reminder,
    ReplyDropped,
    ReplyEnded,
    RequestFailed,
    RetryWaiting,
    SessionOpened,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    ToolUseDelta,
    ToolWaiting,
    TurnEnded,
    TurnStarted,
    Weighed,
)
from tui_agent.ui.themes import ASCII
from tui_agent.ui.transcript.entries import OUTPUT_CHARACTERS
from tui_agent.ui.transcript.live import Live
from tui_agent.ui.transcript.sheet import FRAME_S


def ended(call: str = "c", outcome: str = "ok", text: str = "out", record: str = "") -> ToolEnded:
    return ToolEnded(call, "bash", "make", outcome, "", text, len(text), 0.1, "", record)  # type: ignore[arg-type]


def state(host: Running, row: int = 0) -> str:
    """The state word of the call on that row."""
    return host.rows[row].split("make")[-1].strip().partition("  ")[0]


@pytest.mark.parametrize(
    ("outcome", "word"), [("ok", "ok"), ("error", "error"), ("denied", "denied"), ("cancelled", "stopped")]
)
async def test_a_call_goes_from_being_written_to_its_outcome_on_one_line(outcome: str, word: str) -> None:
    async with running(60, 6, glyphs=ASCII) as host:
        await host.feed(ToolUseDelta("c", "bash", 1200))
        assert host.rows[0].split() == ["bash", "writing", "1.2", "KB"]
        await host.feed(
            ReplyEnded("r", "tool_use", ""), ToolStarted("c", "bash", ""), ToolStarted("c", "bash", "make")
        )
        assert state(host) == "running"
        await host.feed(Asked(Question("q", "approval", "run?", call="c")))
        assert state(host) == "asks you"
        await host.feed(Answered("q", Answer("once")))
        assert state(host) == "running"
        await host.feed(ended(outcome=outcome))
        assert state(host) == word
        assert host.rows[1:] == [""] * 5


async def test_what_the_model_is_told_beside_the_words_is_a_line_each_that_opens() -> None:
    async with running(72, 12, glyphs=ASCII) as host:
        text = "<system-reminder>\nAnswer in [b]German[/b].\n</system-reminder>"
        told = (
            Reminder("rules", "r2", "1 rule", text, 9),
            Reminder("files", "r3", "2 files changed", "a.py", 9),
        )
        await host.feed(
            Appended("user", "r1", 1),
            Appended("user", "r2", 2),
            Appended("user", "r3", 3),
            TurnStarted("u", 1, "go on", record="r1"),
            Reminded(told, (LeftOut("memory", "no room: about 900 tokens, 20 are free", 900),)),
        )
        shown = "\n".join(host.rows)
        assert "told: 1 rule  Answer in [b]German[/b]." in shown and "told: 2 files changed  a.py" in shown
        assert "Not told: memory: no room: about 900 tokens, 20 are free." in shown
        entries = [entry for entry in host.transcript.entries if entry.record]
        assert [entry.record for entry in entries] == ["r1", "r2", "r3"]


async def test_a_call_of_several_waits_for_its_turn() -> None:
    async with running(60, 6, glyphs=ASCII) as host:
        await host.feed(ToolUseDelta("a", "bash", 12), ToolUseDelta("b", "grep", 1200))
        await host.feed(ReplyEnded("r", "tool_use", ""), ToolStarted("a", "bash", "make"))
        assert host.rows[1].split() == ["grep", "waiting"]
        await host.feed(TurnEnded("cancelled", 1, 1.0))
        assert "no result" in host.rows[1]


async def test_a_call_that_waits_says_what_it_is_and_still_does_if_it_never_runs() -> None:
    async with running(60, 6, glyphs=ASCII) as host:
        await host.feed(
            ToolUseDelta("a", "bash", 12), ToolUseDelta("b", "bash", 12), ReplyEnded("r", "tool_use", "")
        )
        await host.feed(ToolWaiting("b", "bash", {"command": "make b"}), ToolStarted("a", "bash", "make a"))
        assert [row.split()[:4] for row in host.rows[:2]] == [
            ["+", "bash", "make", "a"],
            ["bash", "make", "b", "waiting"],
        ]
        await host.feed(ToolEnded("b", "bash", "", "cancelled", "", "not run", 7, 0.0))
        assert host.rows[1].split()[:5] == ["+", "bash", "make", "b", "stopped"]


async def test_output_of_a_running_call_shows_when_it_is_opened_and_its_end_is_kept() -> None:
    async with running(60, 8, glyphs=ASCII) as host:
        await host.feed(ToolStarted("c", "bash", "make"))
        host.transcript.toggle(0)
        await host.feed()
        assert host.rows[1] == "  | no output yet"
        await host.feed(ToolProgress("c", "one\n"), ToolProgress("c", "two\n"))
        assert host.rows[1:3] == ["  | one", "  | two"]
        await host.feed(*(ToolProgress("c", f"line {number}\n" * 100) for number in range(300)))
        call = host.transcript.entries[0]
        assert len(getattr(call, "text")) <= 2 * OUTPUT_CHARACTERS  # noqa: B009
        assert getattr(call, "size") > 200_000  # noqa: B009
        await host.feed(ended(text="whole"))
        assert host.rows[1] == "  | whole"


async def test_seconds_are_counted_only_while_a_call_runs() -> None:
    async with running(60, 6) as host:
        timer = host.transcript._seconds
        assert timer is not None
        assert not timer._active.is_set()
        await host.feed(ToolStarted("c", "bash", "make"))
        assert timer._active.is_set()
        await host.feed(Asked(Question("q", "approval", "run?", call="c")))
        assert not timer._active.is_set(), "who waits for a person is not running"
        await host.feed(Answered("q", Answer("once")), ended())
        assert not timer._active.is_set()


async def test_thinking_is_a_line_that_grows_and_opens() -> None:
    async with running(60, 6, glyphs=ASCII) as host:
        await host.feed(ThinkingDelta("I should "))
        assert host.rows[0] == "+ thinking ...  9 B  I should"
        await host.feed(ThinkingDelta("look."), TextDelta("Yes."))
        assert host.rows[:3] == ["+ thinking  14 B  I should look.", "", "  Yes."]
        host.transcript.toggle(0)
        await host.feed()
        assert host.rows[:4] == ["- thinking  14 B", "  I should look.", "", "  Yes."]


async def test_long_thinking_says_how_long_it_was() -> None:
    async with running(60, 6, glyphs=ASCII) as host:
        times = iter([100.0, 112.4])
        host.transcript._live = Live(host.transcript, lambda: next(times))
        await host.feed(ThinkingDelta("I should "), ThinkingDelta("look."), TextDelta("Yes."))
        assert host.rows[0] == "+ thinking  14 B  12 s  I should look."


async def test_blocks_of_a_reply_are_shown_apart_while_they_come_and_after_it_ended() -> None:
    async with running(60, 16, glyphs=ASCII) as host:
        await host.feed(
            ThinkingDelta("one", 0), ThinkingDelta("two", 1), TextDelta("First ", 2), TextDelta("block.", 2),
            ToolUseDelta("c", "make", 0), TextDelta("Second.", 4), TextDelta("Third.", 5),
        )  # fmt: skip
        shown = [row for row in host.rows if row]
        assert [row.split("  ")[-1].split()[-1] for row in shown if "thinking" in row] == ["one", "two"]
        assert [row.split()[-1] for row in shown if "thinking" not in row] == [
            "block.",
            "writing",
            "Second.",
            "Third.",
        ]
        await host.feed(ReplyEnded("r", "tool_use", "First block.\nSecond.\nThird."))
        after = [row.replace("waiting", "writing") for row in host.rows if row]
        assert after == shown
        assert [entry.record for entry in host.transcript.entries] == ["r"] * 6


async def test_a_retry_counts_down_on_one_line_and_says_what_it_was() -> None:
    async with running(60, 8) as host:
        await host.feed(*(RetryWaiting(2, 5, seconds, "overloaded") for seconds in (3.0, 2.0, 1.0)))
        assert host.text == "! asking again in 1.0 s (2 of 5): overloaded"
        await host.feed(RetryWaiting(3, 5, 12.0, "cut"))
        assert host.rows[:2] == [
            "! asked again (2 of 5): overloaded",
            "! asking again in 12 s (3 of 5): cut",
        ]
        await host.feed(TextDelta("here"))
        assert host.rows[1] == "! asked again (3 of 5): cut"
        await host.feed(RetryWaiting(2, 5, 3.0, "cut"), TurnEnded("cancelled", 1, 1.0))
        assert "! stopped before an answer (2 of 5): cut" in host.rows


async def test_a_dropped_reply_is_one_line_that_opens_to_what_was_shown() -> None:
    async with running(60, 12, glyphs=ASCII) as host:
        await host.feed(
            ThinkingDelta("hm"),
            TextDelta("half an"),
            ToolUseDelta("c", "bash", 40),
            ReplyDropped("the line was cut"),
        )
        assert host.rows[0] == "+ not kept: the line was cut  hm half an [bash: 40 bytes o~"
        host.transcript.toggle(0)
        await host.feed(TextDelta("again"))
        assert host.text == (
            "- not kept: the line was cut\n  hm\n\n  half an\n\n  [bash: 40 bytes of a call]\n\n  again"
        )


async def test_nothing_shown_and_dropped_is_nothing_said() -> None:
    async with running(60, 6) as host:
        await host.feed(ReplyDropped("nothing had arrived"))
        assert host.text == ""


async def test_a_failed_request_says_the_ways_out_and_is_said_once() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await host.feed(
            RequestFailed("overflow", "too long", ("go back (/revert)", "a larger model (/model)")),
            TurnEnded("failed", 1, 2.0, "too long"),
        )
        assert host.text == "! too long\n  * go back (/revert)\n  * a larger model (/model)"
        await host.feed(TurnEnded("failed", 1, 2.0, "something else"))
        assert host.text.endswith("\n\n! something else")


async def test_a_log_that_fails_and_recovers_is_told() -> None:
    async with running(60, 10, glyphs=ASCII) as host:
        await host.feed(
            LogFailed("disk full", ("free space",)), TurnEnded("failed", 1, 1.0, "disk full"), LogRecovered()
        )
        assert host.rows[:4] == [
            "! The session could not be written. disk full",
            "  * free space",
            "",
            "  The session is written again.",
        ]


async def test_a_stopped_turn_says_so_and_leaves_no_call_running() -> None:
    async with running(60, 8, glyphs=ASCII) as host:
        await host.feed(
            TextDelta("half"),
            ToolUseDelta("w", "bash", 3),
            ToolStarted("c", "bash", "make"),
            TurnEnded("cancelled", 1, 1.0),
        )
        assert "no result" in host.rows[2]
        assert "no result" in host.rows[3]
        assert host.rows[4:6] == ["! Stopped.", ""]
        await host.feed(ended(outcome="cancelled"))
        assert state(host, 3) == "stopped", "a result that comes late still finds its call"


async def test_notices_repairs_and_another_model_are_lines() -> None:
    async with running(60, 8) as host:
        await host.feed(
            SessionOpened("s", "t", "/w", "m", False, 1000, True, ("a call was closed",)),
            Notice("kept", "info"),
            Notice("careful", "warning"),
            Notice("broken", "error"),
            ModelChanged("m", 2000, False),
            ModelChanged("large", 1, False),
        )
        assert host.rows[:5] == [
            "! a call was closed",
            "  kept",
            "! careful",
            "! broken",
            "  The next turn asks large.",
        ]


async def test_answers_to_questions_become_lines() -> None:
    async with running(60, 8) as host:
        approval = Question("a", "approval", "run?", call="c", rule="bash:make*")
        await host.feed(Asked(approval), Answered("a", Answer("session")))
        await host.feed(Asked(approval), Answered("a", Answer("always", rule="bash:make all")))
        await host.feed(Asked(approval), Answered("a", Answer("no")))
        await host.feed(Asked(approval), Answered("a", Answer("no", note="use\nmake -j2")))
        await host.feed(Asked(approval), Answered("a", Answer("once", edited="make -j2")))
        await host.feed(Asked(Question("t", "text", "which port?")), Answered("t", Answer("answer", "8080")))
        await host.feed(
            Asked(Question("t", "text", "why?")),
            Answered("t", Answer("dismissed")),
            Answered("x", Answer("no")),
        )
        assert host.text == (
            "  allowed for this session: bash:make*\n  allowed from now on: bash:make all\n"
            "  refused: use␤make -j2\n  edited by you: make -j2\n  which port?: 8080"
        )


async def test_what_became_of_a_summary_at_its_review_is_said() -> None:
    async with running(60, 8) as host:
        review = Question("r", "review", "with this summary?", editable="what was")
        for answer in (
            Answer("once"),
            Answer("once", edited="better"),
            Answer("no"),
            Answer("no", note="the tests\nfail"),
            Answer("dismissed"),
        ):
            await host.feed(Asked(review), Answered("r", answer))
        assert host.text.splitlines() == [
            "  with this summary? accepted",
            "  with this summary? accepted, as edited by you",
            "  with this summary? discarded",
            "  with this summary? discarded: the tests␤fail",
        ]


async def test_queued_words_show_when_they_are_delivered_inside_a_turn() -> None:
    first, second = QueuedPrompt("1", "and the docs"), QueuedPrompt("2", "later", "turn")
    async with running(60, 10) as host:
        await host.feed(TurnStarted("u", 1, "go"), QueueChanged((first, second)))
        await host.feed(QueueChanged((second,)), Appended("user", "r", 9), Weighed(1, 1, 0, "exact", 10))
        assert host.rows[3] == "> and the docs"
        before = host.text
        await host.feed(QueueChanged(()), Appended("_checkpoint", "k", 10), Appended("user", "r2", 11))
        await host.feed(StepStarted(1))
        assert host.text == before, "a prompt of the next turn is shown by its turn"


async def test_queued_words_that_were_taken_back_are_not_shown() -> None:
    waiting = QueuedPrompt("1", "and the docs")
    async with running(60, 10) as host:
        await host.feed(ToolStarted("c", "bash", "make"), QueueChanged((waiting,)), QueueChanged(()))
        await host.feed(Appended("user", "r", 9), ended(record="r"), StepStarted(2))
        assert "docs" not in host.text
        await host.feed(
            QueueChanged((waiting,)),
            QueueChanged(()),
            TextDelta("x"),
            Appended("user", "r", 9),
            StepStarted(3),
        )
        assert "docs" not in host.text


async def test_bursts_are_gathered_into_frames() -> None:
    async with running(60, 10) as host:
        frames = []
        flush = host.transcript.flush

        def counted() -> None:
            frames.append(1)
            flush()

        host.transcript.flush = counted  # type: ignore[method-assign]
        for _ in range(500):
            host.transcript.feed(TextDelta("word "))
        assert frames == [], "nothing is laid out while deltas pour in"
        while host.transcript._frame is not None:
            await host.pilot.pause(FRAME_S / 5)
        assert len(frames) == 1
        assert host.text.count("word") > 50


async def test_a_terminal_that_does_not_keep_up_gets_no_new_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = True
    monkeypatch.setattr("tui_agent.ui.transcript.sheet.behind", lambda app: waiting)
    async with running(60, 10) as host:
        await host.feed(Notice("early"))
        host.transcript.feed(TextDelta("late"))
        for _ in range(5):
            await host.pilot.pause(FRAME_S)
        assert host.text == "  early"
        waiting = False
        while "late" not in host.text:
            await host.pilot.pause(FRAME_S)


async def test_the_app_has_one_widget_for_any_number_of_entries() -> None:
    async with running(60, 10) as host:
        for number in range(200):
            await host.feed(TurnStarted("u", number, "go")) if number % 50 == 0 else None
            host.transcript.feed(Notice(f"line {number}"))
        await host.feed()
        assert isinstance(host.app, Host)
        assert len(list(host.transcript.query("*"))) == 0
