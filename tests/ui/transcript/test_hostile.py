"""Text from models, tools and files shows literally, in every field, and never stops the program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.hostile import TEXTS, acts
from tests.ui.transcript.host import Checkpoint, Running, running
from tui_agent.changes import LogFailed
from tui_agent.events import (
    Answer,
    Answered,
    Asked,
    Event,
    ModelChanged,
    Notice,
    Question,
    ReplyDropped,
    ReplyEnded,
    RequestFailed,
    RetryWaiting,
    SessionOpened,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    ToolUseDelta,
    TurnEnded,
    TurnStarted,
)
from tui_agent.messages.blocks import Message, text_block

SHARES = 4
"""Tests the texts are shared out to."""
LONGEST = 2000
"""Characters of a text; the layout's tests have longer ones."""
PAGES = 3
"""Pages looked at of one text."""
OUTCOMES = ("ok", "error", "denied", "cancelled")


def events(text: str) -> Iterator[Event]:
    """Every event with that text in every field that takes one."""
    yield SessionOpened(text, text, text, text, False, 1, True, (text, text))
    yield TurnStarted(text, 3, text)
    yield ThinkingDelta(text)
    yield TextDelta(text)
    yield ToolUseDelta(text, text, 3)
    yield ReplyDropped(text)
    yield TextDelta(text)
    yield ReplyEnded(text, text, text, partial=True)
    yield RetryWaiting(1, 2, 3.0, text)
    for outcome in OUTCOMES:
        call = outcome + text
        yield ToolStarted(call, text, text, {text: text, "n": 1})
        yield ToolProgress(call, text)
        yield Asked(Question(text, "text", text, call=call, rule=text))
        yield Answered(text, Answer("always", text, text))
        diff = f"--- a/{text}\n+++ b/{text}\n@@ -1,2 +1,2 @@ {text}\n-{text}\n+{text}"
        yield ToolEnded(call, text, text, outcome, text, text, 9, 0.1, diff, text)  # type: ignore[arg-type]
    yield RequestFailed(text, text, (text,))
    yield LogFailed(text, (text,))
    yield Notice(text, "warning", text)
    yield ModelChanged(text, 1, False)
    yield TurnEnded(text, 1, 1.0, text)


def history(text: str) -> list[Message]:
    """Messages with that text everywhere."""
    use = {"type": "tool_use", "id": text, "name": text, "input": {"command": text, text: text}}
    image = {"type": "image", "source": {"type": "blob", "media_type": text, "sha256": text}}
    done = {"type": "tool_result", "tool_use_id": text, "content": [text_block(text), image]}
    meta = {"tool": text, "outcome": "ok", "title": text, "summary": text, "diff": text}
    return [
        Message("user", [text_block(text), image], at=text, id=text),
        Message(
            "assistant", [{"type": "thinking", "thinking": text}, text_block(text), use], stop_reason=text
        ),
        Message("user", [done, text_block(text)], origin="tool", meta=meta),
        Message("user", [text_block(text)], origin=text),
        Message("assistant", [{"type": text, text: text}, text_block(text)], partial=True),
    ]


async def look_at_everything(host: Running, name: str) -> None:
    """Open every block and go through all rows; each must be safe and exactly as wide as the screen."""
    transcript = host.transcript
    for entry in transcript.entries:
        entry.opened = entry.foldable
        transcript.changed(entry)
    transcript.action_scroll_home()
    width, seen = transcript.scrollable_content_region.width, 0
    while True:
        for y in range(transcript.size.height):
            strip = transcript.render_line(y)
            assert strip.cell_length == width, name
            assert not acts(strip.text, allowed=""), name
            for segment in strip:
                link = segment.style.link if segment.style else None
                assert not link or (link.startswith("http") and link.isascii() and link.isprintable())
        seen += 1
        if transcript.follow or seen > PAGES:
            break
        transcript.scroll_page_down()


@pytest.mark.parametrize("share", range(SHARES))
async def test_every_field_of_events_and_messages(share: int) -> None:
    async with running(40, 30) as host:
        for name in list(TEXTS)[share::SHARES]:
            text = TEXTS[name][:LONGEST]
            host.transcript.load(history(text), [Checkpoint(0, at=text, words=text)], notes=[text])
            await look_at_everything(host, name)
            host.transcript.load([], [])
            await host.feed(*events(text))
            await look_at_everything(host, name)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9, 14])
async def test_screens_too_narrow_for_anything_do_not_raise(width: int) -> None:
    async with running(width, 5) as host:
        for name in ("wide", "markdown", "tabs", "emoji"):
            host.transcript.load(history(TEXTS[name]), [])
            await host.feed(*events(TEXTS[name]))
        for entry in host.transcript.entries:
            entry.opened = True
            host.transcript.changed(entry)
        for _ in range(5):
            host.transcript.scroll_page_up()
            await host.pilot.pause()
