"""What makes room next, and what it saved so far: by the figures that the engine goes by."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.ui.context import Weight, conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent.context import Backup
from tui_agent.messages.tokens import Tokens
from tui_agent.ui.inspector.backups import cause
from tui_agent.ui.inspector.tokens import bar

MADE = Backup(
    name="context_3.jsonl",
    n=3,
    op="compaction",
    at="2024-03-05T12:30:00Z",
    bytes=18_220,
    records=40,
    tokens=150_212,
    pinned=False,
    exists=True,
    figures={"tokens": 150_212, "after": 41_300},
)


def _compacted(session: FakeSession) -> None:
    context = session.context
    conversation(context)
    figures = {
        "summary": "s1",
        "tokens": 150_212,
        "after": 41_300,
        "cost": 0.043,
        "input": 149_800,
        "output": 1_204,
        "cache_read": 140_000,
    }
    head = SimpleNamespace(
        index=2, op="compaction", backup="context_3.jsonl", at="2024-03-05T12:30:00Z", figures=figures
    )
    context.heads = [head]
    context.line({"role": "_elide", "id": "e1", "before": 90_000, "after": 70_000, "items": []})
    context.line({"role": "_elide", "id": "e2", "before": 95_000, "after": 80_000, "items": []})


async def _tokens(made: Stage) -> None:
    await made.press("ctrl+x", "i")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
    await made.press("right", "right", "right")
    await made.until(lambda: "what fills it" in made.text, "the figures")


async def test_what_makes_room_next_and_how_far_it_is(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50)) as made:
        await _tokens(made)
        assert "19,938 of 200,000 tokens" in made.text.replace("~", "")
        # the number of the status line, from the limits of the engine
        assert "100,000  ===              in 80,062: shortening" in made.text
        assert "150,000  ==               in 130,062: summary" in made.text
        made.session.context.weight = Weight(150_001, 150_001, 0, "exact")
        made.session.emit()
        made.chat.panel.changed()  # type: ignore[union-attr]
        await made.until(lambda: "now: summary" in made.text, "what is due")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"held": True}, "held since you undid one: /compact"),
        ({"auto": False}, "not by itself: compaction.auto is off"),
    ],
)
async def test_why_nothing_happens_by_itself(changes: dict[str, bool], words: str, tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context)
        session.shrinking.held = changes.get("held", False)
        session.shrinking.keys = replace(session.shrinking.keys, auto=changes.get("auto", True))

    async with stage(tmp_path, size=(200, 50), prepare=fill) as made:
        await _tokens(made)
        assert words in made.text
        assert ("auto-compaction held: /compact" in made.lines[0]) == bool(changes.get("held"))


async def test_what_the_last_compaction_and_the_batches_since_saved(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_compacted) as made:
        await _tokens(made)
        for words in (
            "what compaction saved",
            "~108,912  summary, ~150,212 -> ~41,300",
            "151,004  read and written for it, 93% cached, $0.0430",
            "~35,000  old results, in 2 batches",
        ):
            assert words in made.text, made.text


async def test_what_it_saved_is_exact_once_the_next_request_was_counted(tmp_path: Path) -> None:
    def counted(session: FakeSession) -> None:
        _compacted(session)
        session.context.heads[0].figures["mark"] = "exact"
        session.context.counted = Tokens(41_880, "exact")

    async with stage(tmp_path, size=(200, 50), prepare=counted) as made:
        await _tokens(made)
        assert " 108,332  summary, 150,212 -> 41,880" in made.text


async def test_where_nothing_was_saved_nothing_is_said(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50)) as made:
        await _tokens(made)
        assert "what compaction saved" not in made.text


@pytest.mark.parametrize(
    ("count", "most", "shown"),
    [(0, 10, "=   "), (5, 10, "==  "), (10, 10, "===="), (25, 10, "===="), (1, 0, "====")],
)
def test_a_bar_is_as_long_as_the_share(count: int, most: int, shown: str) -> None:
    assert bar(count, most, 4) == shown


def test_backups_say_what_a_compaction_made_of_what() -> None:
    assert cause(MADE) == "compaction ~150,212 -> ~41,300"
    exact = replace(MADE, figures={**MADE.figures, "mark": "exact"})
    assert cause(exact) == "compaction 150,212 -> ~41,300"
    assert cause(replace(MADE, figures={})) == "compaction"
    assert cause(replace(MADE, op="edit")) == "summary edited"
