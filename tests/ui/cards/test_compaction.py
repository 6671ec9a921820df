"""The card of a compaction in the chat, and the one on which a summary is read before it takes effect."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.support.compactions import COMPACTED
from tests.support.examples import some
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.messages.blocks import text_block
from tui_agent.messages.tokens import Tokens
from tui_agent.ui.cards.compaction import ReviewCard
from tui_agent.ui.chat import editor

pytestmark = pytest.mark.usefixtures("quick")

SUMMARY = """## Goal and current request

Add a `--json` flag to the report command.

## Done

- `report.py` prints rows as JSON
"""

DONE = replace(COMPACTED, text=SUMMARY)
STARTED = changes.CompactionStarted("auto", "summary", 150_212, "exact", 200_000, 150_000)


def rewritten(session: FakeSession, op: str = "compaction", backup: str = "context_3.jsonl") -> None:
    """The log is what it is after a compaction: a summary, and the last two messages."""
    context = session.context
    tail = list(context.history[-2:])
    context.history = [
        replace(
            tail[0], role="user", origin="summary", id="s1", content=[text_block(f"<summary>\n{SUMMARY}")]
        ),
        *tail,
    ]
    context.records, context._checkpoints = context.records[:2], []
    context.line({"role": "user", "origin": "summary", "id": "s1", "content": SUMMARY})
    context.line({"role": "_compaction", "op": op, "backup": backup, "summary": "s1"})
    figures = {"summary": "s1", "tokens": 150_212}
    head = SimpleNamespace(index=len(context.records) - 1, op=op, backup=backup, figures=figures)
    context.heads = [head]
    context.can_undo = True
    session.emit(changes.Rotated(op, backup, len(context.records)))


async def compacted(made: Stage, done: changes.CompactionCompleted = DONE) -> None:
    """A compaction begins and comes into force."""
    made.session.emit(STARTED)
    rewritten(made.session)
    made.session.emit(done)
    await made.until(lambda: "[k] keep more" in made.text, "the card")


def _place(made: Stage, words: str) -> tuple[int, int]:
    row = next(number for number, line in enumerate(made.lines) if words in line)
    return made.lines[row].index(words) + 1, row


async def test_the_card_says_what_became_of_what_and_takes_no_focus(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("half a")
        await compacted(made)
        await made.type(" thought uek")
        for words in (
            "compacted  150,212 -> ~41,300 tokens, 73% less",
            "word for word: the last 2 messages; 1 pinned message",
            "went into the summary: 34 messages, whole in context_3.jsonl",
            "because the window filled up, 12 s, $0.04",
            "149,800 tokens read",
            "(140,000 from the cache), 1,204 written",
            "[u] undo  [e] edit the summary  [k] keep more  Tab or click to answer",
        ):
            assert words in made.text, made.text
        assert made.app.focused is made.chat.composer
        assert made.chat.composer.text == "half a thought uek"
        assert made.session.performed == []


async def test_when_the_next_request_is_counted_the_card_says_what_is_left_exactly(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        usage = said.UsageReported(input=1_880, output=40, cache_read=40_000, cache_write=0, total=41_920)
        made.session.emit(usage)
        await made.settle()
        assert "150,212 -> ~41,300 tokens, 73% less" in made.text
        made.session.context.counted = Tokens(41_880, "exact")
        made.session.emit(usage)
        await made.until(lambda: "150,212 -> 41,880 tokens, 72% less" in made.text, "the exact figure")
        made.session.context.counted = Tokens(50_000, "exact")
        made.session.emit(usage)
        await made.settle()
        assert "150,212 -> 41,880 tokens" in made.text


async def test_what_the_log_says_otherwise_stands_first(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made, replace(DONE, doubts=("it says that pytest passes; exit code 1",), lost=2))
        lines = made.lines
        doubt = next(
            at for at, line in enumerate(lines) if "the log says otherwise: it says that pytest" in line
        )
        assert "compacted" in lines[doubt - 1] and lines[doubt].lstrip().startswith("!")
        assert "2 marks are gone" in made.text


async def test_a_summary_that_was_written_anew_does_not_claim_to_have_what_went(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        rewritten(made.session, "edit", "context_4.jsonl")
        edited = replace(DONE, edited=True, backup="context_4.jsonl", before=41_300, after=41_250, input=0)
        made.session.emit(edited)
        await made.until(lambda: "[k] keep more" in made.text, "the card")
        assert "summary replaced  41,300 -> ~41,250 tokens  edited by you" in made.text
        assert "the one that was in force is in" in made.text and "whole in" not in made.text
        assert "because" not in made.text


@pytest.mark.parametrize("first", ["rotated", "completed"])
async def test_the_card_outlives_that_the_history_is_read_anew(first: str, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        if first == "completed":
            made.session.emit(STARTED, DONE)
            rewritten(made.session)
        else:
            await compacted(made)
        await made.until(lambda: "[k] keep more" in made.text, "the card")
        assert made.text.count("[k] keep more") == 1
        assert "summary of what came before" in made.text


@pytest.mark.parametrize("way", some(["tab", "ctrl+x a", "f7", "click"], 3))
@pytest.mark.parametrize(
    ("letter", "asked"), [("u", ("undo",)), ("k", ("keepmore",))], ids=["undo", "keep more"]
)
async def test_its_letters_act_where_a_person_went_to_it(
    way: str, letter: str, asked: tuple[str, ...], tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        if way == "click":
            words = {"u": "[u] undo", "k": "[k] keep more"}[letter]
            await made.pilot.click(offset=_place(made, words))
        else:
            await made.press(*way.split())
            await made.until(lambda: made.chat.transcript.result is not None, "the keys")
            await made.press(letter)
        await made.until(lambda: made.session.performed == [asked], "what was asked")


@pytest.mark.usefixtures("typist")
async def test_a_letter_followed_by_another_is_words(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.type("under the table")
        await made.until(lambda: made.chat.composer.text == "under the table", "the words")
        assert made.app.focused is made.chat.composer and made.session.performed == []


@pytest.mark.usefixtures("unarmed")
async def test_nothing_counts_in_the_half_second_in_which_nobody_can_have_read_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        await made.pilot.click(offset=_place(made, "[u] undo"))
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("u", "k")
        await made.settle()
        assert made.session.performed == [] and made.chat.composer.text == ""


async def test_esc_leaves_it_for_later_and_stops_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        made.session.begin("go on")
        await made.settle()
        made.session.emit(STARTED)
        rewritten(made.session, backup="context_4.jsonl")
        made.session.emit(replace(DONE, backup="context_4.jsonl"))
        await made.until(lambda: "context_4.jsonl" in made.text, "the card")
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("escape")
        assert made.app.focused is made.chat.composer and made.session.cancels == 0
        await made.press("escape")
        await made.until(lambda: made.session.cancels == 1, "the stop")


async def test_the_next_turn_makes_it_a_line_that_opens_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        made.session.begin("go on")
        made.session.end()
        await made.until(lambda: "[k] keep more" not in made.text, "the line")
        assert "compacted  150,212 -> ~41,300 tokens" in made.text
        await made.pilot.click(offset=_place(made, "compacted  150,212"))
        await made.until(lambda: "[k] keep more" in made.text, "all of it")
        assert "report.py prints rows as JSON" in made.text, "the summary, as Markdown"
        assert "Tab or click" not in made.text


async def test_enter_on_the_card_shows_the_summary(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await compacted(made)
        assert "Goal and current request" not in made.text
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("enter")
        await made.until(lambda: "Goal and current request" in made.text, "the summary")
        assert "report.py prints rows as JSON" in made.text, (
            "all of it, where it was at the end of the screen"
        )


async def test_the_footer_and_the_help_name_its_letters(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await compacted(made)
        await made.press("tab")
        await made.until(lambda: "u undo" in made.lines[-1], "the footer")
        assert "k keep more" in made.lines[-1] and "jump back" in made.lines[-1]
        await made.press("f1")
        await made.until(lambda: "Here: the card in the chat" in made.text, "the help")


def _later(session: FakeSession) -> None:
    session.context.mark_turn("and now the tests")
    session.context.say("user", text_block("and now the tests"))


@pytest.mark.parametrize(
    ("downs", "asked"),
    [(1, [("undo", "later")]), (2, [("undo",)]), (3, [])],
    ids=["with", "without", "leave"],
)
@pytest.mark.parametrize("way", some(["card", "ctrl+x u"], 2))
async def test_undo_asks_what_becomes_of_what_was_said_since(
    way: str, downs: int, asked: list[tuple[str, ...]], tmp_path: Path
) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await compacted(made)
        _later(made.session)
        if way == "card":
            await made.pilot.click(offset=_place(made, "[u] undo"))
        else:
            await made.press("ctrl+x", "u")
        await made.until(lambda: made.chat.dock.card is not None, "the question")
        assert "1 turn was said since" in made.text and made.session.performed == []
        await made.press(*["down"] * downs, "enter")
        await made.until(lambda: made.chat.dock.card is None, "the answer")
        assert made.session.performed == asked


async def test_words_of_ones_own_at_a_question_stand_behind_the_draft(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await compacted(made)
        _later(made.session)
        made.chat.composer.put("a draft")
        await made.press("ctrl+x", "u")
        await made.until(lambda: made.chat.dock.card is not None, "the question")
        await made.type("neither of them")
        await made.press("enter")
        await made.until(lambda: made.chat.dock.card is None, "the answer")
        assert made.chat.composer.text == "a draft\nneither of them" and made.session.performed == []


async def test_the_question_goes_when_another_change_of_history_comes_first(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await compacted(made)
        _later(made.session)
        await made.press("ctrl+x", "u")
        await made.until(lambda: made.chat.dock.card is not None, "the question")
        made.session.emit(changes.Rotated("revert", "context_4.jsonl", 9))
        await made.until(lambda: made.chat.dock.card is None, "it is withdrawn")
        await made.press("down", "enter")
        await made.settle()
        assert made.session.performed == []
        assert made.app.focused is made.chat.composer


async def test_undo_of_a_compaction_that_was_made_again_asks_too(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        rewritten(made.session)
        _later(made.session)
        context = made.session.context
        context.line({"role": "_rewind", "op": "redo", "backup": "context_5.jsonl"})
        redone = SimpleNamespace(
            index=len(context.records) - 1, op="redo", backup="context_5.jsonl", figures={}
        )
        context.heads.append(redone)
        made.session.emit(changes.Rotated("redo", "context_5.jsonl", len(context.records)))
        await made.press("ctrl+home")
        await made.until(lambda: "summary of what came before" in made.text, "the summary")
        await made.pilot.click(offset=_place(made, "summary of what came before"))
        await made.until(lambda: "[u] undo  [e] edit the summary  [k] keep more" in made.text, "its keys")
        await made.press("ctrl+x", "u")
        await made.until(lambda: "1 turn was said since" in made.text, "the question")


async def test_the_summary_is_written_anew_and_put_in_force(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await compacted(made)
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("e")
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes, "the line")
        card = made.chat.dock.card
        assert isinstance(card, ReviewCard) and card.words == SUMMARY.rstrip("\n")
        await made.type(" and more")
        await made.press("enter")
        await made.until(lambda: "as edited by you" in made.text, "the summary")
        assert "are meant at most" not in made.text
        await made.press("a")
        await made.until(lambda: made.session.performed != [], "what was asked")
        assert made.session.performed == [("summary", SUMMARY.rstrip("\n") + " and more")]


async def test_of_a_summary_written_too_long_it_is_said_before_it_is_put_in_force(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        made.session.shrinking.most = 60
        await compacted(made)
        await made.pilot.click(offset=_place(made, "[e] edit the summary"))
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes, "the line")
        card = made.chat.dock.card
        assert isinstance(card, ReviewCard)
        card.rewrite(SUMMARY + " and much more" * 20)
        await made.press("enter")
        await made.until(lambda: "60 are meant at most; it is summarised again" in made.text, "the summary")


async def test_the_summary_is_written_in_the_person_s_own_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    async def edited(app: object, text: str, began: object) -> str:
        given.append(text)
        return "## Goal\n\nanother one"

    monkeypatch.setattr(editor, "edited", edited)
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.type("a draft")
        await compacted(made)
        await made.pilot.click(offset=_place(made, "[e] edit the summary"))
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes, "the line")
        card = made.chat.dock.card
        assert card is not None
        await made.press("ctrl+g")
        await made.until(lambda: card.words == "## Goal\n\nanother one", "what was saved")
        assert given == [SUMMARY.rstrip("\n")] and made.chat.composer.text == "a draft"
        await made.press("enter")
        await made.until(lambda: "as edited by you" in made.text, "the summary")
        await made.press("a")
        await made.until(lambda: made.session.performed == [("summary", "## Goal\n\nanother one")])


async def test_old_items_come_back_together(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        items = ("read_file src/report.py, 2,061 characters", "bash pnpm test, 9,120 characters")
        made.session.emit(
            changes.MicroCompacted("e9", items, 101_000, 80_100, "20,900 tokens saved, 3 turns")
        )
        await made.until(
            lambda: "shortened  2 old items  ~101,000 -> ~80,100 tokens" in made.text, "the line"
        )
        assert "[b]" not in made.text
        await made.pilot.click(offset=_place(made, "shortened"))
        await made.press("ctrl+end")
        await made.until(lambda: "[b] bring back" in made.text, "all of it")
        assert "bash pnpm test, 9,120 characters" in made.text and "20,900 tokens saved" in made.text
        await made.pilot.click(offset=_place(made, "[b] bring back"))
        await made.until(lambda: made.session.performed == [("unelide", "e9")], "what was asked")
        await made.until(lambda: "[b] bring back" not in made.text, "it is answered")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            changes.CompactionFailed(
                "auto", "summary", "the model is overloaded", 31.0, ("wait (/compact)",)
            ),
            (
                "Compaction failed after 31 s: the model is overloaded.",
                "wait (/compact)",
                "The history is as it",
            ),
        ),
        (
            changes.CompactionSkipped("auto", "hook", "not before the tests are green"),
            ("Not compacted: not before the tests are green", "(/settings)"),
        ),
        (changes.CompactionSkipped("manual", "short", ""), ("Not compacted: there is too little",)),
        (
            changes.CompactionSkipped("auto", "floor", ""),
            ("the system prompt and the tools alone", "(/model)"),
        ),
        (changes.CompactionHeld(True), ("Nothing is compacted by itself now",)),
    ],
    ids=["failed", "hook", "short", "floor", "held"],
)
async def test_why_there_is_none_is_said_with_the_ways_out(
    event: said.Event, words: tuple[str, ...], tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(*(() if isinstance(event, changes.CompactionHeld) else (STARTED,)), event)
        await made.until(lambda: words[0] in made.text, "the line")
        assert all(word in made.text for word in words), made.text
        assert "compacting" not in made.lines[0]


async def test_a_way_out_of_it_is_a_click(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(changes.CompactionSkipped("auto", "held", ""))
        await made.until(lambda: "compact now (/compact)" in made.text, "the line")
        await made.pilot.click(offset=_place(made, "(/compact)"))
        await made.until(lambda: made.session.performed == [("compact",)], "what was asked")


# --- while it runs


async def test_while_it_runs_the_stage_is_shown_and_words_are_queued(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("f5")
        await made.until(lambda: "compacting" in made.lines[0], "the status line")
        made.session.emit(changes.CompactionStage("summarising (2 of 5)"))
        await made.until(lambda: "summarising (2 of 5)" in made.lines[0], "the stage")
        await made.type("then this")
        assert made.chat.composer.text == "then this"
        made.session.busy = True
        await made.type(".")
        await made.until(lambda: "Enter: when the summary is there" in made.text, "when they are sent")
        made.session.emit(said.QueueChanged((said.QueuedPrompt("p1", "then this", "turn"),)))
        await made.until(lambda: "waits, when the summary is there: then this" in made.text, "the queue")
        made.session.busy = False
        made.session.emit(said.QueueChanged(()), changes.CompactionSkipped("manual", "cancelled", ""))
        await made.until(lambda: "ready" in made.lines[0], "the end")
        assert "Enter:" not in made.text


async def test_a_rewrite_in_a_turn_loses_no_queued_words_and_no_command_that_runs(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        session = made.session
        session.begin("go on")
        session.emit(
            said.QueueChanged((said.QueuedPrompt("p1", "then the tests", "step"),)),
            said.ToolStarted("own1", said.OWN_COMMAND, "make watch"),
        )
        session.emit(STARTED)
        rewritten(session)
        session.emit(DONE)
        await made.until(lambda: "[k] keep more" in made.text, "the card")
        session.emit(said.ToolProgress("own1", "built twice\n"))
        session.emit(said.QueueChanged(()), changes.Appended("user", "r60", 9), said.StepStarted(2))
        await made.until(lambda: "> then the tests" in made.text, "the words")
        await made.until(lambda: "built twice" in made.text, "what it printed")
        session.emit(
            said.ToolEnded("own1", said.OWN_COMMAND, "make watch", "ok", "", "built twice\n", 12, 3.0)
        )
        await made.until(lambda: made.chat.transcript.running == [], "its end")
        assert made.text.count("make watch") == 1


async def test_words_behind_the_command_are_what_it_is_to_dwell_on(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/compact focus on the tests")
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("compact", "focus", "on", "the", "tests")])
        await made.until(lambda: "It is to dwell on: focus on the tests" in made.text, "the line")


async def test_one_made_ahead_of_time_is_no_line_before_it_is_in_force(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(replace(STARTED, trigger="ahead"))
        await made.until(lambda: "preparing a summary" in made.lines[0], "the status line")
        assert "Compacting" not in made.text


# --- after the program was opened again


def _resumed(session: FakeSession) -> None:
    conversation(session.context)
    rewritten(session)
    session.context.heads[-1].figures = {
        "summary": "s1",
        "tokens": 150_212,
        "after": 41_300,
        "replaced": 34,
        "kept": ["the last 2 messages"],
        "seconds": 12.4,
        "trigger": "auto",
    }


async def test_after_it_was_opened_again_the_summary_has_its_figures(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=_resumed) as made:
        line = "summary of what came before  ~150,212 -> ~41,300 tokens"
        assert line in made.text
        await made.pilot.click(offset=_place(made, "summary of what"))
        await made.until(lambda: "Goal and current request" in made.text, "the summary")
        assert "went into the summary: 34 messages" in made.text
        await made.pilot.click(offset=_place(made, "[k] keep more"))
        await made.until(lambda: made.session.performed == [("keepmore",)], "what was asked")


# --- the review


REVIEW = said.Question(
    id="q1", kind="review", title="put this summary in force?", body="for 34 messages", editable=SUMMARY
)


async def _review(made: Stage) -> ReviewCard:
    made.session.emit(said.Asked(REVIEW))
    await made.until(lambda: made.chat.dock.has_keys, "the card")
    card = made.chat.dock.card
    assert isinstance(card, ReviewCard)
    return card


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("a",), said.Answer("once")),
        (("r",), said.Answer("no")),
        (("n",), said.Answer("no")),
        (("N",), said.Answer("no")),
    ],
)
async def test_a_review_is_accepted_or_discarded(
    keys: tuple[str, ...], answer: said.Answer, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await _review(made)
        assert "[a] accept  [e] edit  [r] discard" in made.text and "for 34 messages" in made.text
        await made.press(*keys)
        await made.until(lambda: made.session.answers == [("q1", answer)], "the answer")


async def test_a_review_is_edited_first(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _review(made)
        await made.press("e")
        await made.type("x")
        await made.press("enter")
        await made.until(lambda: "as edited by you" in made.text)
        await made.press("a")
        await made.until(lambda: made.session.answers != [], "the answer")
        assert made.session.answers == [("q1", said.Answer("once", edited=SUMMARY + "x"))]


async def test_words_typed_at_a_review_say_why_it_is_discarded(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _review(made)
        await made.type("no, the tests fail")
        await made.press("enter")
        await made.until(lambda: made.session.answers != [], "the answer")
        assert made.session.answers == [("q1", said.Answer("no", note="no, the tests fail"))]


async def test_all_of_a_long_summary_can_be_read(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        text = "\n".join(f"- fact {number}" for number in range(60))
        made.session.emit(said.Asked(replace(REVIEW, editable=text)))
        await made.until(lambda: made.chat.dock.has_keys, "the card")
        assert "fact 0" in made.text and "more lines below" in made.text
        for _ in range(30):
            if "fact 59" in made.text:
                break
            await made.press("space")
            await made.settle()
        assert "fact 59" in made.text
        assert made.session.answers == []
