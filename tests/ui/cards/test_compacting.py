"""A session of the demo model with a small window: old results are shortened, then all of it is summarised."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.ui.stage import Stage
from tests.ui.test_session import opened
from tui_agent.llm.demo import DemoProvider
from tui_agent.settings.schema import Compaction, Profile, Settings
from tui_agent.ui.transcript.entries import Result

pytestmark = pytest.mark.usefixtures("quick", "at_once")

WINDOW = 16_000
LINES = 80
LONG = "What I think about it, at length and in words of my own. " * 160


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo model says all of an answer at once."""
    monkeypatch.setitem(DemoProvider.__init__.__kwdefaults__, "delay", 0.0)


def _settings(**compaction: object) -> Settings:
    demo = Profile(name="demo", provider="demo", auth="none", context_window=WINDOW)
    return Settings(profiles={"demo": demo}, compaction=Compaction(ahead="off", **compaction))  # type: ignore[arg-type]


def _files(shop: Path) -> Path:
    shop.mkdir()
    for number in range(8):
        lines = (f"line {line} of file {number}, words and more words" for line in range(LINES))
        (shop / f"f{number}.txt").write_text("\n".join(lines))
    return shop


async def _say(made: Stage, words: str) -> None:
    session = made.chat.session
    assert session is not None
    await session.submit(words)
    await session.until_idle()
    await made.settle()


def _history(made: Stage) -> str:
    """What the messages are, as they are sent."""
    session = made.chat.session
    assert session is not None
    sent = [[message.role, list(message.content)] for message in session.context.history]
    return sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()


def _results(made: Stage) -> list[str]:
    """What the program did to the context, as the chat tells it."""
    return [entry.label for entry in made.chat.transcript.entries if isinstance(entry, Result)]


async def _card(made: Stage) -> None:
    await made.until(lambda: made.chat.status.facts.compacting is None, "the end")
    await made.until(lambda: "[k] keep more" in made.text, "the card")


async def test_old_results_are_shortened_then_all_of_it_is_summarised_by_itself(tmp_path: Path) -> None:
    async with opened(_files(tmp_path / "shop"), size=(120, 36), settings=_settings()) as made:
        session = made.chat.session
        assert session is not None
        for number in range(8):
            await made.type("x")  # somebody types all the while
            await _say(made, f"read f{number}.txt")
            if any(record.role == "_elide" for record in session.context.records):
                break
        await made.until(lambda: "shortened" in _results(made), "the line")
        assert not session.context.heads
        for _ in range(6):
            await made.type("x")
            await _say(made, LONG)
            if session.context.heads:
                break
        await made.until(lambda: "compacted" in _results(made), "what it came to")
        assert [head.op for head in session.context.heads] == ["compaction"]
        assert set(made.chat.composer.text) == {"x"} and made.app.focused is made.chat.composer
        weight = session.context.weigh()
        assert made.chat.status.facts.total == weight.total < session.shrinking.due[1]


async def test_by_key_and_back_to_the_very_same_history(tmp_path: Path) -> None:
    async with opened(_files(tmp_path / "shop"), size=(120, 36), settings=_settings()) as made:
        for number in range(4):
            await _say(made, f"read f{number}.txt")
        before = _history(made)
        await made.press("f5")
        await made.until(lambda: _history(made) != before, "the summary in force")
        await _card(made)
        assert made.app.focused is made.chat.composer
        await made.until(lambda: "stop" not in made.lines[-1] and "undo" in made.lines[-1], "the footer")
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("u")
        await made.until(lambda: _history(made) == before, "the very same history")
        await made.until(lambda: "auto-compaction held: /compact" in made.lines[0], "that it is held")
        assert "[k] keep more" not in made.text


async def test_what_was_said_since_comes_behind_the_history_that_comes_back(tmp_path: Path) -> None:
    async with opened(_files(tmp_path / "shop"), size=(120, 36), settings=_settings()) as made:
        session = made.chat.session
        assert session is not None
        for number in range(4):
            await _say(made, f"read f{number}.txt")
        count = len(session.context.history)
        await made.press("f5")
        await made.until(lambda: session.context.heads, "the summary in force")
        await _card(made)
        await _say(made, "read f7.txt")
        await made.press("ctrl+x", "u")
        await made.until(lambda: made.chat.dock.card is not None, "the question")
        assert "1 turn was said since" in made.text
        await made.press("down", "enter")
        await made.until(lambda: len(session.context.history) == count + 4, "both")
        await made.until(lambda: "with the 4 messages since behind it" in made.text, "what was done")


async def test_keep_more_keeps_more_and_the_summary_can_be_another_one(tmp_path: Path) -> None:
    async with opened(_files(tmp_path / "shop"), size=(120, 36), settings=_settings()) as made:
        session = made.chat.session
        assert session is not None
        for number in range(6):
            await _say(made, f"read f{number}.txt")
        await made.press("f5")
        await made.until(lambda: session.context.heads, "the summary in force")
        await _card(made)
        count = len(session.context.history)
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("k")
        # the second backup is the one of the way back
        await made.until(lambda: session.context.heads[-1].backup == "context_3.jsonl", "the next one")
        await _card(made)
        assert len(session.context.history) > count
        await made.press("tab")
        await made.until(lambda: made.chat.transcript.result is not None, "the keys")
        await made.press("e")
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes, "the line")
        await made.type(" Tests first.")
        await made.press("enter")
        await made.until(lambda: "as edited by you" in made.text, "the summary")
        await made.press("a")
        await made.until(lambda: session.context.heads[-1].op == "edit", "the other one")
        await made.until(lambda: "edited by you" in made.text and made.chat.dock.card is None, "its card")
        assert any("Tests first." in message.text for message in session.context.history)


async def test_a_review_decides_whether_the_summary_is_in_force(tmp_path: Path) -> None:
    async with opened(_files(tmp_path / "shop"), size=(120, 36), settings=_settings(review=True)) as made:
        session = made.chat.session
        assert session is not None
        for number in range(4):
            await _say(made, f"read f{number}.txt")
        before = _history(made)
        for letter in ("r", "a"):
            await made.press("f5")
            await made.until(lambda: made.chat.dock.has_keys, "the review")
            assert "with this summary?" in made.text and _history(made) == before
            await made.press(letter)
            await made.until(lambda: made.chat.dock.card is None, "the answer")
            await made.until(lambda: made.chat.status.facts.compacting is None, "the end")
            assert (_history(made) == before) == (letter == "r")
        await _card(made)


async def test_esc_stops_it_and_nothing_is_changed(tmp_path: Path) -> None:
    async with opened(_files(tmp_path / "shop"), size=(120, 36), settings=_settings(review=True)) as made:
        for number in range(3):
            await _say(made, f"read f{number}.txt")
        before = _history(made)
        await made.press("f5")
        await made.until(lambda: made.chat.dock.has_keys, "the review")
        await made.press("escape")
        await made.until(lambda: made.app.focused is made.chat.composer, "later")
        await made.press("escape")
        await made.until(lambda: "Not compacted: stopped" in made.text, "that it is stopped")
        assert _history(made) == before and "compacting" not in made.lines[0]
        assert made.chat.dock.card is None
