"""Whatever is drawn from foreign text: nothing in it acts, hides or turns a line around."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.content import Content

from tests.support.hostile import NAMES, TEXTS, acts
from tests.ui.context import FakeContext
from tui_agent.changes import (
    CompactionCompleted,
    CompactionFailed,
    CompactionSkipped,
    CompactionStarted,
    MicroCompacted,
)
from tui_agent.events import Question, QueuedPrompt
from tui_agent.messages.blocks import text_block
from tui_agent.ui import footer, help, remap, words
from tui_agent.ui.cards.approval import diff_content
from tui_agent.ui.cards.compaction import ReviewCard
from tui_agent.ui.chat import queue, status
from tui_agent.ui.chat.completion import Candidate, Completion
from tui_agent.ui.commands import Listed, Offer
from tui_agent.ui.inspector.records import Records
from tui_agent.ui.inspector.tab import Around
from tui_agent.ui.palette import row as found
from tui_agent.ui.themes import UNICODE
from tui_agent.ui.transcript.compacted import completed, told
from tui_agent.ui.transcript.render import Parts

EVERY = (
    {**TEXTS, **{f"name {name}": text for name, text in NAMES.items()}} if isinstance(NAMES, dict) else TEXTS
)


def _harmless(content: Content) -> None:
    for line in content.plain.split("\n"):
        assert not acts(line), line


@pytest.mark.parametrize("name", sorted(EVERY))
def test_no_line_of_the_screen_acts(name: str) -> None:
    text = EVERY[name][:20_000]
    facts = status.Facts(name=text, path=text, model=text, state="ready", trouble=text, total=1)
    _harmless(status.line(facts, 200, 0.0))
    _harmless(status.line(status.Facts(state="ready", total=1, compacting=0.0, stage=text), 200, 0.0))
    for said in _compaction(text):
        assert not acts(said), said
    review = ReviewCard(Question("q", "review", text, text, editable=text))
    _harmless(review.body())
    for fact in review.facts():
        _harmless(fact)
    prompts = [QueuedPrompt("p1", text)]
    row = queue.line(prompts, paused=False, writing=False, starting=False, width=80)
    assert row is not None
    _harmless(row)
    _harmless(diff_content(f"--- a/{text}\n+++ b/{text}\n+{text}"))
    _harmless(help.page(remap.resolve({}), [Listed("x", text)], [text], 80))
    _harmless(footer.line([footer.Entry("^x g", "jump back", "a")], 80))
    _harmless(found(Content("words"), Offer("words", text, text, print)))
    _harmless(Completion()._row(0, Candidate(text, text, text), 10))
    assert not acts(words.clock(text))


def _compaction(text: str) -> Iterator[str]:
    """What the chat shows of a compaction that is full of a text."""
    done = CompactionCompleted(
        "manual", "summary", 9, 8, 1.0, "context_1.jsonl", "s", text, 3, (text,), (text,), cost=0.1
    )
    parts = Parts(UNICODE, lambda: 0.0)
    for entry in (
        completed(done),
        told(CompactionFailed("auto", text, text, 1.0, (text,))),
        told(CompactionSkipped("auto", "hook", text)),
        told(CompactionStarted("manual", text, 9, "exact", 10, 8, text)),
        told(MicroCompacted("e", (text, text), 9, 8, text)),
    ):
        assert entry is not None
        entry.opened = True
        for part in parts.of(entry):
            for line in part.make(80):
                yield line.content.plain.replace("\n", " ")


async def test_rows_of_the_records_are_one_harmless_line_each() -> None:
    context = FakeContext()
    for text in EVERY.values():
        context.say("user", text_block(text[:20_000]))
        context.line(b"{", damaged=text[:2_000] or "empty")
    tab = Records(context, Around)  # type: ignore[arg-type]
    tab._records = context.records  # type: ignore[assignment]
    for index in range(len(context.records)):
        for cell in tab.cells(index):
            if isinstance(cell, Content):
                assert "\n" not in cell.plain
                _harmless(cell)


def test_a_path_is_shortened_only_where_it_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert words.short_path("/home/ann/work") == "~/work"
    assert words.short_path("/home/anna/work") == "/home/anna/work"
    assert words.short_path(str(Path.home())) == "~"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (2_100, "2.1 KB"),
        (18_220, "18 KB"),
        (3_000_000, "3.0 MB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert words.size(count) == text


def test_a_time_that_is_none_is_nothing() -> None:
    for at in (None, "", "yesterday", "9999-99-99T00:00:00Z"):
        assert words.clock(at) == ""
