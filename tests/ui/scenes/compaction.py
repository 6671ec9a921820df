"""The context made smaller."""

from __future__ import annotations

from types import SimpleNamespace

from msgspec.structs import replace

from tests.support.compactions import COMPACTED
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.scenes.scene import scene
from tests.ui.stage import Stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.messages.blocks import text_block

_STARTED = changes.CompactionStarted("auto", "summary", 19_938, "estimated", 200_000, 19_000)
_SUMMARY = """## Goal and current request

Add a `--json` flag to the report command, and say so in the README.

## Done

- `report.py` prints its rows as JSON

## In progress

The tests of the new flag.
"""
_COMPACTED = replace(
    COMPACTED,
    text=_SUMMARY,
    kept=("your last 2 requests", "1 pinned message", "the call that is open"),
)


@scene("compacting", "compacting 0 s", "summarising (2 of 5)", "waits, when the summary is there", "stop")
async def _compacting(made: Stage) -> None:
    made.session.busy = True
    made.session.emit(_STARTED, changes.CompactionStage("summarising (2 of 5)"))
    made.session.emit(said.QueueChanged((said.QueuedPrompt("p1", "then write the tests"),)))
    await made.type("and mention it")


@scene("compacted", "73% less", "word for word", "[u] undo", "[k] keep more", "Tab or click to answer")
async def _compacted(made: Stage) -> None:
    made.session.emit(_STARTED, _COMPACTED)
    await made.until(lambda: "[k] keep more" in made.text)


@scene("compacted_doubts", "the log says otherwise", "[u] undo", "k keep more")
async def _compacted_doubts(made: Stage) -> None:
    doubts = ("it says that all tests pass; `pnpm test` ended with exit code 1",)
    made.session.emit(_STARTED, replace(_COMPACTED, doubts=doubts, lost=2))
    await made.until(lambda: "[k] keep more" in made.text)
    await made.press("tab")
    await made.until(lambda: made.chat.transcript.result is not None)


@scene("compacted_open", "Goal and current request", "[u] undo")
async def _compacted_open(made: Stage) -> None:
    await _compacted(made)
    await made.press("tab")
    await made.until(lambda: made.chat.transcript.result is not None)
    await made.press("enter")
    await made.until(lambda: "Goal and current request" in made.text)


@scene("compacted_undo", "undo the compaction?", "with what was said since", "1 turn was said since")
async def _compacted_undo(made: Stage) -> None:
    session = made.session
    session.context.heads = [
        SimpleNamespace(index=len(session.context.records) - 1, op="compaction", figures={})
    ]
    session.context.can_undo = True
    session.emit(_STARTED, _COMPACTED)
    session.context.mark_turn("and now the tests")
    session.context.say("user", text_block("and now the tests"))
    await made.press("ctrl+x", "u")
    await made.until(lambda: made.chat.dock.has_keys)


@scene("compaction_failed", "Compaction failed after 31 s", "(/model)", "ready")
async def _compaction_failed(made: Stage) -> None:
    ways = ("choose another model (/model)", "try again (/compact)")
    made.session.emit(_STARTED, changes.CompactionFailed("auto", "summary", "overloaded", 31.0, ways))


@scene("compaction_blocked", "Not compacted: not before the tests are green", "(/settings)")
async def _compaction_blocked(made: Stage) -> None:
    made.session.emit(_STARTED, changes.CompactionSkipped("auto", "hook", "not before the tests are green"))


@scene("compaction_held", "auto-compaction held: /compact", "Nothing is compacted by itself now")
async def _compaction_held(made: Stage) -> None:
    made.session.emit(changes.CompactionHeld(True))


@scene("shortened", "shortened  2 old items", "bash pnpm test, 9,120 characters", "[b] bring back")
async def _shortened(made: Stage) -> None:
    items = ("read_file src/report.py, 2,061 characters", "bash pnpm test, 9,120 characters")
    why = "frees 20,900 of 101,000 tokens; a summary would be due in about 5 requests"
    made.session.emit(changes.MicroCompacted("e9", items, 101_000, 80_100, why))
    await made.until(lambda: "shortened" in made.text)
    made.chat.set_focus(made.chat.transcript)
    await made.settle()
    await made.press("enter")
    await made.until(lambda: "[b] bring back" in made.text)


def summarised(session: FakeSession) -> None:
    context = session.context
    conversation(context)
    kept, context.history = context.history, []
    context.say("user", text_block(_SUMMARY), origin="summary", id="s1")
    context.history += kept
    figures = {"summary": "s1", "tokens": 150_212, "after": 41_300, "replaced": 34, "seconds": 12.4}
    context.heads = [
        SimpleNamespace(
            index=len(context.records) - 1, op="compaction", backup="context_3.jsonl", at="", figures=figures
        )
    ]


@scene("resumed_summary", "summary of what came before  ~150,212 -> ~41,300", fill=summarised)
async def _resumed_summary(made: Stage) -> None:
    await made.press("ctrl+home")


@scene("review", "41,300 tokens with this summary?", "Doubtful: it says", "[r] discard", "more lines below")
async def _review(made: Stage) -> None:
    body = "It stands for 34 messages of 120,300 tokens.\nDoubtful: it says that all tests pass."
    title = "Compact from 150,212 to about 41,300 tokens with this summary?"
    question = said.Question("q1", "review", title, body, editable=_SUMMARY)
    made.session.emit(_STARTED, changes.CompactionStage("waiting for your review"), said.Asked(question))
    await made.until(lambda: made.chat.dock.has_keys)


@scene("review_edit", "as edited by you", "[a] accept")
async def _review_edit(made: Stage) -> None:
    await _review(made)
    await made.press("e")
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes)
    await made.type("Tests first.")
    await made.press("enter")
    await made.until(lambda: "as edited by you" in made.text)
