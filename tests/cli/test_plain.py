"""Without a screen: labelled lines on a real terminal, and what can be answered and asked there."""

from __future__ import annotations

import difflib
import io
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from tests.cli import terminal
from tests.cli.command import command, environment, session
from tests.cli.terminal import Terminal
from tests.support.compactions import COMPACTED
from tests.support.hostile import NAMES, SMALL, TEXTS, acts
from tests.support.script import Hold, Reply
from tests.support.served import Served
from tui_agent import changes
from tui_agent import events as said
from tui_agent.sessions.catalog import Catalog
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.plain.asking import Asking
from tui_agent.ui.plain.places import COMMANDS, NEED_A_SCREEN
from tui_agent.ui.plain.telling import Telling
from tui_agent.ui.plain.voice import Voice

READY = b"you: "
CTRL_C, CTRL_D = b"\x03", b"\x04"
TOO_SOON_S = 0.5


@pytest.fixture
def plain(shop: Path) -> Iterator[Terminal]:
    """The demo model without a screen, on a terminal that cannot move its cursor."""
    (shop / "a.txt").write_text("hello\n")
    with terminal.run("--demo", cwd=shop, controls=True, changes={"TERM": "dumb"}) as made:
        made.until(READY)
        yield made


def say(screen: Terminal, words: str, *signs: bytes) -> str:
    """Type a line; what was written until the signs came and a new prompt."""
    start = len(screen.shown)
    screen.press(words.encode() + b"\n")
    screen.until_after(start + 1, *signs)
    return screen.shown[start:].decode()


def read_question(screen: Terminal) -> None:
    """Nobody answers sooner than this; what is typed sooner was not meant for the question."""
    time.sleep(TOO_SOON_S)


def test_a_turn_is_told_in_words_and_nothing_moves_the_cursor(plain: Terminal) -> None:
    text = say(plain, "read a.txt", b"done:", READY)
    assert "model: working" in text
    assert "tool read_file: called, a.txt" in text
    assert re.search(r"tool read_file: ok, .* 7 B, 0 seconds", text)
    assert re.search(r"model: done: 2 steps, \d seconds?, context [\d,]+ of 200,000 tokens, 1%", text)
    plain.press(b"/quit\n")
    assert plain.end() == 0
    assert b"To go on: tui-agent --resume " in plain.shown
    assert b"this time: 2 requests" in plain.shown
    assert b"\x1b" not in plain.shown
    assert not acts(plain.shown.decode(), allowed="\r\n")


def test_a_question_is_answered_by_its_number_and_by_nothing_else(plain: Terminal, shop: Path) -> None:
    text = say(plain, "run touch made", b"answer, 1 to ")
    assert "question: may bash do this?" in text
    assert "| touch made" in text
    assert "1 yes, once" in text
    assert "2 yes, and write a rule that allows its like: bash:touch *" in text
    read_question(plain)
    for words in ("y", "yes but use pnpm", "0", "9", "-1", "１"):
        assert "nothing was answered" in say(plain, words, b"answer, 1 to ")
    assert not (shop / "made").exists()
    say(plain, "1", b"answered: yes", b"done:", READY)
    assert (shop / "made").exists()


def test_what_is_typed_before_a_question_is_there_does_not_answer_it(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.tools(("bash", {"command": "touch made"})).holding(hold))
    with terminal.run("--plain", "--profile", "scripted", cwd=shop) as screen:
        screen.until(READY)
        screen.press(b"go\n")
        server.wait(hold.reached)
        start = len(screen.shown)
        server.let_go(hold)
        screen.until_after(start, b"question: ")
        screen.press(b"1\n")
        screen.until_after(start, b"typed before the question was there")
        assert not (shop / "made").exists()
        read_question(screen)
        say(screen, "3", b"answered: no", b"stopped, because you said no", READY)
        assert not (shop / "made").exists()


def test_a_proposal_is_answered_by_its_number_and_stands_in_nobody_s_way(plain: Terminal) -> None:
    text = say(plain, "remember that I use tabs", b"remember it? 1 to 5, or write on: ")
    assert "memory: remember for you, everywhere? i-use-tabs" in text and "| I use tabs" in text
    assert "1 remember it" in text and "5 later" in text
    read_question(plain)
    text = say(plain, "read a.txt", b"done:", READY)
    assert "left for later" in text and "tool read_file: ok" in text
    text = say(plain, "/memory", READY)
    assert "[user] (proposed) i-use-tabs: I use tabs" in text
    text = say(plain, "remember that I never push", b"remember it? 1 to 5, or write on: ")
    read_question(plain)
    text = say(plain, "1", b"remembered: ", READY)
    assert "[user] i-never-push: I never push" in text


def test_a_rule_is_shown_before_it_is_written(plain: Terminal, shop: Path) -> None:
    say(plain, "run touch one", b"answer, 1 to ")
    read_question(plain)
    text = say(plain, "2", b"answer, 1 to 3")
    assert "rule: from now on without asking: bash:touch *" in text
    say(plain, "1", b"done:", READY)
    assert "question" not in say(plain, "run touch two", b"done:", READY)
    assert (shop / "two").exists()


def test_no_with_a_reason_tells_the_model_and_an_edited_command_runs_instead(
    server: Served, shop: Path
) -> None:
    server.script(
        Reply.tools(("bash", {"command": "touch first"})),
        Reply.tools(("bash", {"command": "touch second"})),
        Reply.text("good"),
    )
    with terminal.run("--plain", "--profile", "scripted", cwd=shop) as screen:
        screen.until(READY)
        say(screen, "go", b"answer, 1 to ")
        read_question(screen)
        say(screen, "4", b"tell the model why: ")
        say(screen, "use another name", b"touch second", b"answer, 1 to ")
        read_question(screen)
        say(screen, "5", b"the command to run instead: ")
        say(screen, "touch third", b"it would run: touch third", b"answer, 1 to ")
        say(screen, "1", b"done:", READY)
    assert "use another name" in str(server.requests[1]["messages"])
    assert [path.name for path in shop.iterdir()] == ["third"]


def test_ctrl_c_stops_what_runs_and_then_quits(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.text("never told").holding(hold, after=1))
    with terminal.run("--plain", "--profile", "scripted", cwd=shop, controls=True) as screen:
        screen.until(READY)
        screen.press(b"go\n")
        server.wait(hold.reached)
        screen.press(CTRL_C)
        place = screen.until_after(0, b"model: stopped:")
        screen.until_after(place - 8, READY)
        screen.press(CTRL_C)
        screen.until_after(place, b"control C again quits")
        screen.press(CTRL_C)
        assert screen.end() == 0
    (entry,) = Catalog().list(shop)
    assert entry.title == "go"


def test_lines_that_go_on_and_what_is_sent_meanwhile(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.text("one").holding(hold), Reply.text("two"))
    with terminal.run("--plain", "--profile", "scripted", cwd=shop) as screen:
        screen.until(READY)
        screen.press(b"first\\\n")
        screen.until(b"more: ")
        screen.press(b"second\n")
        server.wait(hold.reached)
        say(screen, "third", b"1 message of yours waits; sent at the next step")
        say(screen, "fourth", b"2 messages of yours wait")
        assert "2 fourth" in say(screen, "/queue", b"2 fourth")
        say(screen, "/queue 2", b"taken back, it was:", b"1 message of yours waits")
        server.let_go(hold)
        screen.until(b"model: one", b"model: two")
        screen.press(CTRL_D)
        assert screen.end() == 0
    assert server.requests[0]["messages"][-1]["content"][0]["text"] == "first\nsecond"
    assert "fourth" not in str(server.requests)
    assert "third" in str(server.requests[1]["messages"][-1])


def test_errors_and_retries_are_told_with_the_ways_out(server: Served, shop: Path) -> None:
    server.script(Reply.error(529), Reply.error(401))
    with terminal.run("--plain", "--profile", "scripted", cwd=shop) as screen:
        screen.until(READY)
        text = say(screen, "go", b"model: failed:", READY)
    assert re.search(r"retry: .*; asking again in \d+ seconds?, attempt \d of \d", text)
    assert "error: " in text
    assert "you can: " in text


def test_sessions_are_listed_left_begun_and_gone_on_with(plain: Terminal, shop: Path) -> None:
    made = session(shop, "words of old")
    text = say(plain, "/sessions", made.id.encode(), READY)
    assert f"{made.id}: words of old" in text
    text = say(plain, f"/resume {made.id[:20]}", b"answer to words of old", READY)
    assert "you: words of old" in text
    assert "model: answer to words of old" in text
    assert "2 places say it" in say(plain, "/find WORDS of", b"answer to words of old", READY)
    assert "0: " in say(plain, "/checkpoints", b"words of old", READY)
    say(plain, "/revert 0", b"back before checkpoint 0", READY)
    say(plain, "/new", b"session: a new session", READY)
    assert "error: there is no session" in say(plain, "/resume nowhere", b"error: ", READY)
    assert "0 messages in all" in say(plain, "/history", b"in all", READY)


def test_every_command_of_the_screen_is_known(plain: Terminal) -> None:
    text = say(plain, "/help", b"/unpin", READY)
    listed = set(re.findall(r"^/(\w+)", text, re.MULTILINE))
    assert set(COMMANDS) <= listed
    for action in ACTIONS:
        if action.slash:
            assert action.slash in listed | NEED_A_SCREEN, action.slash
    for name in sorted(NEED_A_SCREEN - listed):
        assert "needs the screen" in say(plain, f"/{name}", b"needs the screen", READY)
    assert "there is no command" in say(plain, "/nothing", b"error: there is no command", READY)
    assert "error: it does not take these words" in say(plain, "/again and again", b"error: ", READY)


def test_a_pipe_is_answered_to_its_end(shop: Path) -> None:
    (shop / "a.txt").write_text("hello\n")
    ended = command("--plain", "--demo", cwd=shop, stdin="read a.txt\nread a.txt")
    assert ended.code == 0
    assert ended.out.count("model: done:") >= 1
    assert "To go on" in ended.out
    assert ended.err == ""


def test_nothing_is_imported_of_the_screen(shop: Path) -> None:
    script = (
        "import sys; from tui_agent.cli.main import main; code = main(sys.argv[1:]); "
        "print('textual' in sys.modules, 'rich' in sys.modules); sys.exit(code)"
    )
    with terminal.python(script, ["--plain", "--demo"], shop) as screen:
        screen.until(READY)
        screen.press(CTRL_D)
        assert screen.end() == 0
    assert screen.shown.split()[-2:] == [b"False", b"False"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_closes_the_session(plain: Terminal, number: signal.Signals, shop: Path) -> None:
    say(plain, "read a.txt", b"done:", READY)
    plain.process.send_signal(number)
    assert plain.end() == 128 + number
    assert [entry.title for entry in Catalog().list(shop)] == ["read a.txt"]


def test_a_terminal_that_goes_away_ends_it(plain: Terminal, shop: Path) -> None:
    say(plain, "read a.txt", b"done:", READY)
    plain.hang_up()
    assert plain.process.wait(terminal.SECONDS) in (0, 128 + signal.SIGHUP)
    assert [entry.title for entry in Catalog().list(shop)] == ["read a.txt"]


def test_a_session_that_cannot_be_opened_is_an_error(shop: Path) -> None:
    ended = command("--plain", "--resume", "nowhere", cwd=shop, env=environment(), stdin="")
    assert ended.code == 1
    assert "error: " in ended.out


# --- the parts


class Ears:
    """A voice that is listened to, with a clock that is set."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.voice = Voice(self.out)
        self.now = 100.0
        self.telling = Telling(self.voice, lambda: self.now)
        self.answers: list[tuple[str, said.Answer]] = []
        self.asking = Asking(self.voice, lambda *answer: self.answers.append(answer), lambda: self.now)

    @property
    def text(self) -> str:
        return self.out.getvalue()

    @property
    def labels(self) -> list[str]:
        """What stands at the first column of each line, up to its colon or space."""
        return [re.split("[: ]", line)[0] for line in self.text.split("\n") if line and line[0] != " "]


def test_a_text_is_written_by_whole_sentences_and_lines() -> None:
    ears = Ears()
    ears.voice.piece("One sen", "model")
    assert ears.text == ""
    ears.voice.piece("tence. And ano", "model")
    assert ears.text == "model: One sentence. "
    ears.voice.piece("ther\nline, 3.", "model")
    assert ears.text == "model: One sentence. And another\n"
    ears.voice.piece("14 is no end", "model")
    ears.voice.say("something else", "note")
    ears.voice.piece("more", "model")
    ears.voice.end_piece()
    assert ears.text == (
        "model: One sentence. And another\n  line, 3.14 is no end\nnote: something else\nmodel: more\n"
    )


def test_what_the_model_is_told_beside_the_words_is_a_line() -> None:
    ears = Ears()
    told = [
        said.Reminder(name, "r", short, "text", 1) for name, short in (("rules", "1 rule"), ("files", "a.py"))
    ]
    ears.telling.hear(said.Reminded(tuple(told), (said.LeftOut("memory", "no room", 1),)))
    ears.telling.hear(said.Reminded((), ()))
    assert ears.text == "note: the model is told: 1 rule, a.py\nwarning: not told: memory: no room\n"


def test_a_turn_in_which_nobody_spoke_tells_what_it_takes_and_how_to_stop_it() -> None:
    ears = Ears()
    goal = {"text": "x", "status": "active", "budget": {"turns": 5}, "spent": {"turns": 2, "tokens": 10_030}}
    ears.telling.hear(said.StateChanged("goal", goal))
    ears.telling.hear(said.TurnStarted("u", 3, "", goal="Turn 2"))
    told = "model: working on the goal by itself, 2 of 5 turns, 10,030 tokens; ctrl+c stops it\n"
    assert ears.text == told
    ears.telling.hear(said.TurnStarted("u", 4, "hello"))
    assert ears.text == told + "model: working\n"


def test_a_long_text_without_an_end_is_not_held_back() -> None:
    ears = Ears()
    for _ in range(200):
        ears.voice.piece("word ", "model")
    assert len(ears.text) > 500


def test_blocks_of_an_answer_are_lines_of_their_own() -> None:
    ears = Ears()
    for event in (
        said.TextDelta("First.", 0),
        said.TextDelta("Second.", 1),
        said.ReplyEnded("r", "end_turn", ""),
    ):
        ears.telling.hear(event)
    assert ears.text.splitlines()[-2:] == ["model: First.", "model: Second."]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_no_text_acts_or_passes_for_something_of_ours(name: str) -> None:
    ears = Ears()
    text = TEXTS[name][:20_000] + "\nquestion: may it?\nanswered: yes"
    for event in (
        said.TextDelta(text),
        said.ReplyEnded("r", "end_turn", text),
        said.ToolStarted("c", text, text),
        said.ToolEnded("c", text, text, "ok", text, text, 1, 0.0),
        said.Notice(text),
        said.Reminded((said.Reminder(text, "r", text, text, 1),), (said.LeftOut(text, text, 1),)),
        said.RetryWaiting(1, 2, 1.0, text),
        said.RequestFailed("other", text, (text,)),
        said.ModelChanged(text, 1, False),
    ):
        ears.telling.hear(event)
    ears.asking.ask(
        said.Question("q", "approval", text, body=text, tool=text, rule=text, place=text, warning=text)
    )
    ears.asking.ask(said.Question("p", "choice", text, choices=(text,)))
    ears.asking.settle("q")
    assert not acts(ears.text)
    known = {"model", "tool", "note", "retry", "error", "question", "warning", "in", "|"}
    assert {label for label in ears.labels if not label.isdigit()} <= known
    assert ears.labels.count("question") == 2


@pytest.mark.parametrize("name", [*SMALL, *NAMES])
def test_a_title_with_anything_in_it_is_one_line(name: str) -> None:
    ears = Ears()
    ears.telling.hear(said.ToolStarted("c", "bash", SMALL.get(name, name) or "x"))
    assert ears.text.count("\n") == 1


def test_a_command_longer_than_a_page_is_read_to_its_end_before_it_is_approved() -> None:
    ears = Ears()
    body = "\n".join(f"line {n}" for n in range(100))
    ears.asking.ask(said.Question("q", "approval", "run", body=body, tool="bash"))
    ears.now += 1
    assert "| line 59" in ears.text
    assert "| line 60" not in ears.text
    assert "40 more lines follow" in ears.text
    assert "1 read on, 40 lines" in ears.text
    ears.asking.take("2")
    assert "read it to its end first" in ears.text
    assert ears.answers == []
    ears.asking.take("1")
    assert "| line 99" in ears.text
    ears.asking.take("1")
    assert ears.answers == [("q", said.Answer("once"))]


REVIEW = said.Question(
    "q", "review", "put this summary in force?", body="It stands for 34 messages.", editable="## Done\n- a\n"
)


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (("1",), said.Answer("once")),
        (("2", "only this", "1"), said.Answer("once", edited="only this")),
        (("3",), said.Answer("no")),
        (("4", "the tests fail"), said.Answer("no", note="the tests fail")),
    ],
)
def test_a_summary_is_read_and_answered_by_number(lines: tuple[str, ...], answer: said.Answer) -> None:
    ears = Ears()
    ears.asking.ask(REVIEW)
    ears.now += 1
    for words in ("It stands for 34 messages.", "| ## Done", "1 accept it", "3 discard it"):
        assert words in ears.text
    assert "run" not in ears.text
    for line in lines:
        ears.asking.take(line)
    assert ears.answers == [("q", answer)]


PLAN = said.Question(
    "q", "plan", "accept this plan?", rule="ask", editable="# a\n\nWhy.\n\n## Steps\n\n1. look\n2. write"
)
OTHER_STEPS = "# a\n\nWhy.\n\n## Steps\n\n1. read\n2. test"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (("1",), said.Answer("once", rule="ask")),
        (("2",), said.Answer("once", rule="auto-edit")),
        (("3", "read; test;", "1"), said.Answer("once", rule="ask", edited=OTHER_STEPS)),
        (("4",), said.Answer("no")),
        (("5", "too large"), said.Answer("no", note="too large")),
    ],
)
def test_a_plan_is_read_and_answered_by_number(lines: tuple[str, ...], answer: said.Answer) -> None:
    ears = Ears()
    ears.asking.ask(PLAN)
    ears.now += 1
    for words in ("accept this plan?", "| 2. write", "1 accept it, then ask before each change", "4 reject"):
        assert words in ears.text
    for line in lines:
        ears.asking.take(line)
    assert ears.answers == [("q", answer)]


DONE = replace(
    COMPACTED,
    kept=("the last 2 messages",),
    doubts=("it says that pytest passes; exit code 1",),
)


def test_what_becomes_of_the_context_is_told_in_words() -> None:
    ears = Ears()
    ears.telling.hear(changes.CompactionStarted("auto", "summary", 150_212, "estimated", 200_000, 150_000))
    assert "compaction: Compacting about 150,212 of 200,000 tokens, due at 150,000" in ears.text
    assert ears.telling.doing == "compacting"
    ears.telling.hear(changes.CompactionStage("summarising (2 of 5)"))
    ears.telling.hear(changes.CompactionStage("summarising (2 of 5)"))
    ears.telling.hear(DONE)
    assert ears.text.count("compaction: summarising (2 of 5)") == 1
    assert "the summary is in force, from 150,212 to about 41,300 tokens, 73% less" in ears.text
    assert "warning: the log says otherwise: it says that pytest passes; exit code 1" in ears.text
    assert "went into the summary: 34 messages, whole in context_3.jsonl" in ears.text
    assert "/undo takes it back" in ears.text and ears.telling.doing == ""
    assert "->" not in ears.text and "~" not in ears.text


def test_a_summary_that_comes_before_its_number_says_what_called_for_it() -> None:
    ears = Ears()
    ears.telling.hear(changes.CompactionStarted("auto", "summary", 101_000, "exact", 200_000, 150_000))
    assert "Compacting 101,000 of 200,000 tokens, as shortening old results frees too little" in ears.text
    assert "due at" not in ears.text


def test_words_of_a_command_that_an_idle_session_takes_at_once_do_not_wait() -> None:
    ears, waiting = Ears(), (said.QueuedPrompt("1", "/skill notes", "turn"),)
    ears.telling.hear(said.QueueChanged(waiting, False))
    assert ears.text == "" and ears.telling.sends
    ears.telling.hear(said.QueueChanged(waiting, True))
    assert "1 message of yours waits" in ears.text and not ears.telling.sends


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            changes.CompactionFailed("auto", "summary", "overloaded", 31.0, ("wait (/compact)",)),
            ("error: Compaction failed after 31 s: overloaded.", "you can: wait (/compact)"),
        ),
        (changes.CompactionSkipped("auto", "hook", "not now"), ("warning: Not compacted: not now",)),
        (changes.CompactionHeld(True), ("warning: Nothing is compacted by itself now",)),
        (
            changes.MicroCompacted("e9", ("a", "b"), 101_000, 80_100),
            ("2 old items shortened, from about 101,000 to about 80,100 tokens", "/unelide e9 brings back"),
        ),
    ],
    ids=["failed", "hook", "held", "micro"],
)
def test_why_nothing_was_compacted_and_what_was_shortened_is_told(
    event: said.Event, words: tuple[str, ...]
) -> None:
    ears = Ears()
    ears.telling.hear(said.TurnStarted("u1", 1, "go on"))
    ears.telling.hear(changes.CompactionStarted("auto", "summary", 150_212, "exact", 200_000, 150_000))
    ears.telling.hear(event)
    assert all(word in ears.text for word in words), ears.text
    ends = isinstance(event, changes.CompactionFailed | changes.CompactionSkipped)
    assert ears.telling.doing == ("asking the model" if ends else "compacting")


def test_questions_come_one_after_the_other() -> None:
    ears = Ears()
    ears.asking.ask(said.Question("a", "text", "your name?"))
    ears.asking.ask(said.Question("b", "choice", "which?", choices=("red", "blue")))
    ears.now += 1
    assert ears.asking.prompt == "answer: "
    ears.asking.take("")
    assert ears.answers == []
    ears.asking.take("Ann")
    assert ears.asking.prompt == "answer, 1 to 2: "
    ears.now += 1
    ears.asking.take("2")
    assert ears.answers == [
        ("a", said.Answer("answer", note="Ann")),
        ("b", said.Answer("answer", note="blue")),
    ]
    assert not ears.asking


def ended(tool: str, outcome: Literal["ok", "error"], text: str, **more: str) -> said.ToolEnded:
    return said.ToolEnded("c", tool, "x", outcome, "", text, 10, 0.0, **more)


def test_results_tell_what_a_person_has_to_know() -> None:
    ears = Ears()
    ears.telling.hear(ended("read_file", "ok", "not read out"))
    assert ears.text == "tool read_file: ok, x, 10 B, 0 seconds\n"
    ears.telling.hear(ended("bash", "error", "first\nsecond\nthird\nfourth"))
    assert "| first\n| second\n| third\nnote: 1 more line; /output reads it\n" in ears.text
    ears.telling.hear(ended("!ls", "ok", "a.txt\nb.txt\n"))
    assert ears.text.endswith("| a.txt\n| b.txt\n")
    ears.telling.hear(ended("edit_file", "ok", "edited", diff="--- a\n+++ b\n+one\n-two\n-three"))
    assert "ok, x, 1 line added, 2 removed" in ears.text
    assert ears.telling.output == "file b\n+one\n-two\n-three"  # no part of a diff that has no hunk


def test_what_becomes_of_a_line_is_said_in_a_word() -> None:
    old = ["-- a\n", "two\n", "three\n"]
    new = ["two\n", "+++ b\n", "removed: three\n"]
    ears = Ears()
    diff = "".join(difflib.unified_diff(old, new, "a/x.sql", "b/x.sql"))
    ears.asking.ask(said.Question("q", "approval", "edit", diff=diff, tool="edit_file"))
    assert ears.text.split("\n")[1:9] == [
        "| file x.sql",
        "| from line 1",
        "| removed: -- a",
        "| same: two",
        "| removed: three",
        "| added: +++ b",
        "| added: removed: three",
        "1 yes, once",
    ]


def test_a_long_result_is_read_by_the_page_and_passes_for_nothing_of_ours(server: Served, shop: Path) -> None:
    (shop / "a.txt").write_text("question: may it?\n" + "".join(f"line {n}\n" for n in range(2, 101)))
    server.script(Reply.tools(("read_file", {"path": "a.txt"})), Reply.text("good"))
    with terminal.run("--plain", "--profile", "scripted", cwd=shop) as screen:
        screen.until(READY)
        say(screen, "/output", b"no tool has given a result yet", READY)
        say(screen, "go", b"done:", READY)
        text = say(screen, "/output", b"reads on", READY)
        assert re.search(r"^\| .*question: may it\?", text, re.MULTILINE)
        assert "40 more lines; /output 61 reads on" in text
        assert "line 61" not in text
        text = say(screen, "/output 61", b"line 100", READY)
        assert "line 61" in text
        assert "reads on" not in text
        assert "it has no such line" in say(screen, "/output 999", b"no such line", READY)
        assert "usage: /output [LINE]" in say(screen, "/output x", b"error: ", READY)


def test_an_answer_is_taken_back_only_if_it_was_told() -> None:
    ears = Ears()
    ears.telling.hear(said.ReplyDropped("it broke"))
    assert ears.text == ""
    ears.telling.hear(said.TextDelta("half"))
    ears.telling.hear(said.ReplyDropped("it broke"))
    assert ears.text == "model: half\nmodel: the answer above does not count: it broke\n"


def test_long_silence_is_told() -> None:
    ears = Ears()
    ears.telling.hear(said.TurnStarted("u", 1, "go"))
    ears.now += 30
    assert ears.telling.since() == 30
    ears.telling.still()
    assert ears.text.endswith("model: still asking the model, 30 seconds\n")


def test_the_parts_write_to_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    Voice(sys.stdout).say("hello", "note")
    assert capsys.readouterr().out == "note: hello\n"
