"""A long day in the transcript: few entries are kept, and none that the log does not give again is lost."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import pytest

from tests.ui.transcript.host import Checkpoint, Running, answer, result, running, use, words
from tests.ui.transcript.test_search import all_hits, by_hand, looked
from tests.ui.transcript.test_seek import go
from tui_agent import changes, events
from tui_agent.events import OWN_COMMAND
from tui_agent.messages.blocks import Message
from tui_agent.ui.themes import ASCII
from tui_agent.ui.transcript.entries import Failure, Mark, Note, ToolCall, Words
from tui_agent.ui.transcript.live import Live
from tui_agent.ui.transcript.search import Search
from tui_agent.ui.transcript.spare import MOST, NEAR
from tui_agent.ui.transcript.view import Transcript

TURNS = 150
"""More turns than are kept."""


class Day:
    """A transcript that hears of turns, and the log they are written to."""

    def __init__(self, host: Running, *, grows: bool = True) -> None:
        self.host = host
        self.messages: list[Message] = []
        self.checkpoints: list[Checkpoint] = []
        self._grows = grows
        self._names = (f"r{number}" for number in count())

    @property
    def transcript(self) -> Transcript:
        return self.host.transcript

    def say(self, event: events.Event) -> None:
        self.transcript.feed(event)

    def keep(self, message: Message) -> str:
        """Write a message; the name of its record."""
        name = next(self._names)
        at = f"2026-01-01T10:00:00.{len(self.messages):06}Z"
        self.messages.append(
            Message(message.role, message.content, name, message.origin, at=at, meta=message.meta)
        )
        return name

    def turn(self, number: int, *, text: str = "", injected: str = "") -> None:
        """A person's words, a reply that calls a tool, its result, an answer."""
        call, prompt = f"c{number}", f"prompt {number}"
        if injected:
            self.keep(words(injected, origin="injection"))
        at = f"2026-01-01T10:00:00.{len(self.messages):06}A"
        self.checkpoints.append(Checkpoint(number, at=at, words=prompt))
        self.say(changes.Appended("user", self.keep(words(prompt)), 1))
        self.say(events.TurnStarted("u", number, prompt))
        self.say(events.StepStarted(1))
        thinking = {"type": "thinking", "thinking": "what is there?", "signature": ""}
        reply = self.keep(answer(thinking, f"I run **{number}**.", use(call, command=f"make {number}")))
        self.say(events.ThinkingDelta("what is there?"))
        self.say(events.TextDelta(f"I run **{number}**.", 1))
        self.say(events.ToolUseDelta(call, "bash", 20))
        self.say(events.ReplyEnded(reply, "tool_use", f"I run **{number}**."))
        self.say(events.ToolStarted(call, "bash", f"make {number}"))
        output = f"line of {number}\n" * 3
        given = self.keep(result(call, output, outcome="ok", ms=20))
        self.say(
            events.ToolEnded(call, "bash", f"make {number}", "ok", "", output, len(output), 0.02, "", given)
        )
        self.say(events.StepStarted(2))
        done = text or f"It is done, {number}.\n\n- one\n- two " + "and more words " * 10
        self.say(events.TextDelta(done))
        self.say(events.ReplyEnded(self.keep(answer(done)), "end_turn", done))
        self.say(events.TurnEnded("end_turn", 2, 1.0))
        self.grow()

    def grow(self) -> None:
        if self._grows:
            self.transcript.grow(list(self.messages), list(self.checkpoints))

    async def turns(self, first: int, stop: int) -> None:
        """Turns, as they come in time: what is spare is given back in between."""
        for number in range(first, stop):
            self.turn(number)
            if not number % 20:
                await self.rest()
        await self.rest()

    async def rest(self) -> None:
        """Until nothing is spare any more."""
        await self.host.feed()
        while self.transcript._sparing is not None:
            await self.host.pilot.pause()


@asynccontextmanager
async def day(width: int = 80, height: int = 24, *, grows: bool = True) -> AsyncIterator[Day]:
    async with running(width, height, glyphs=ASCII) as host:
        yield Day(host, grows=grows)


async def whole(host: Running) -> list[str]:
    """Every row from the first to the last, as somebody reads them who goes down page by page."""
    host.transcript.action_scroll_home()
    await host.pilot.pause()
    rows = list(host.rows)
    for _ in range(1000):
        top = round(host.transcript.scroll_y)
        host.transcript.scroll_relative(y=host.transcript.size.height, animate=False, immediate=True)
        by = round(host.transcript.scroll_y) - top
        rows += host.rows[host.transcript.size.height - by :] if by else []
        if not by:
            return rows
    raise AssertionError("there is no end")


def prompts(transcript: Transcript) -> Sequence[str]:
    return [entry.text for entry in transcript.entries if isinstance(entry, Words)]


async def test_a_long_session_keeps_a_bounded_number_of_entries() -> None:
    async with day() as made:
        await made.turns(0, TURNS)
        few = len(made.transcript.entries)
        assert few <= MOST < 6 * TURNS
        total = made.transcript.virtual_size.height
        await made.turns(TURNS, 2 * TURNS)
        assert len(made.transcript.entries) <= MOST
        assert made.transcript.virtual_size.height > 1.9 * total, "what was given back has its rows"
        assert "done, 299" in made.host.text
        assert made.transcript.follow


async def test_a_checkpoint_that_the_cursor_is_on_keeps_the_words_behind_it() -> None:
    async with day() as made:
        await made.turns(0, 8)
        transcript = made.transcript
        transcript.focus()
        await made.host.pilot.pause()
        while transcript._cursor is None or not isinstance(transcript._cursor.entry, Mark):
            transcript.action_block(-1)
        mark = transcript._cursor.entry
        transcript.action_scroll_end()
        await made.turns(8, TURNS)
        entries = transcript.entries
        assert "prompt 2" not in prompts(transcript)
        behind = entries[entries.index(mark) + 1]
        assert isinstance(behind, Words) and behind.text == f"prompt {mark.number}"


async def test_whoever_scrolls_back_reads_the_same_rows() -> None:
    seen: list[list[str]] = []
    for grows in (False, True):
        async with day(60, 20, grows=grows) as made:
            times = iter(range(10_000))
            made.transcript._live = Live(made.transcript, lambda: float(next(times)))  # noqa: B023
            await made.turns(0, TURNS)
            assert ("prompt 0" in prompts(made.transcript)) is not grows
            seen.append([row.rstrip(" -") for row in await whole(made.host)])
    kept, read = seen
    assert any("thinking" in row and "1.0 s" in row for row in kept), "what the log does not hold is told too"
    assert [_timeless(row) for row in read] == [_timeless(row) for row in kept]


def _timeless(row: str) -> str:
    """A row without the time of a checkpoint, which is that of the clock on the wall while it is made."""
    return " ".join(row.split()[:3]) if "checkpoint" in row else row


async def test_the_row_at_the_top_stays_while_entries_above_and_below_are_given_back() -> None:
    async with day() as made:
        await made.turns(0, 70)
        made.transcript.scroll_to(y=made.transcript.virtual_size.height // 2, animate=False)
        await made.host.pilot.pause()
        before = made.host.rows
        await made.turns(70, 70 + TURNS)
        assert made.host.rows == before
        # those around the screen, around the lowest row that was seen, before the end, and a few more
        assert len(made.transcript.entries) <= 5.5 * NEAR < 6 * (70 + TURNS)
        shown = prompts(made.transcript)
        assert f"prompt {70 + TURNS - 1}" in shown
        assert len(shown) < 70 + TURNS
        assert made.transcript.new_lines > 10 * TURNS
        made.transcript.action_scroll_end()
        await made.host.pilot.pause()
        assert made.transcript.new_lines == 0


async def test_every_hit_is_gone_to_in_what_was_given_back() -> None:
    async with day() as made:
        await made.turns(0, TURNS)
        search = looked(Search("line of", made.messages, len(made.messages)))
        assert search.total == by_hand(made.messages, "line of") == 3 * TURNS
        made.transcript.mark(search.pattern, len("line of"))
        for number, hit in enumerate(all_hits(search)):
            assert go(made.host, search, hit) is True
            if not number % 50:
                await made.rest()
        await made.rest()
        assert len(made.transcript.entries) <= MOST + NEAR, "what was opened for hits is not kept for them"
        made.transcript.leave_hits()
        seen = {placed.entry for placed, _ in made.transcript._screen_rows}
        assert {entry for entry in made.transcript.entries if entry.opened} <= seen


async def test_turns_that_were_given_back_are_gone_to_one_by_one() -> None:
    async with day() as made:
        await made.turns(0, TURNS)
        found = 0
        while await made.transcript.go_to_turn(-1):
            found += 1
        assert found in (TURNS, TURNS - 1)
        assert "prompt 0" in made.host.text


async def test_what_is_selected_is_still_copied_after_its_middle_was_given_back() -> None:
    async with day() as made:
        await made.turns(0, 20)
        made.transcript.focus()
        await made.host.press("home", "right", "ctrl+shift+end")
        text = await made.transcript.selected_text()
        assert "prompt 0" in text and "done, 19" in text
        await made.turns(20, 20 + TURNS)
        assert made.transcript.has_selection
        assert await made.transcript.selected_text() == text
        made.transcript.action_scroll_end()
        await made.rest()
        assert await made.transcript.selected_text() == text
        assert "prompt 10" not in prompts(made.transcript), "something of it was given back"


@pytest.mark.parametrize("far", [False, True])
async def test_what_a_person_opened_stays_open_until_it_is_folded(far: bool) -> None:
    async with day() as made:
        await made.turns(0, 4)
        call = next(entry for entry in made.transcript.entries if isinstance(entry, ToolCall))
        made.transcript.toggle(made.transcript.entries.index(call))
        made.transcript.action_scroll_end()
        await made.turns(4, TURNS if far else 10)
        assert call in made.transcript.entries
        assert call.opened
        made.transcript.toggle(made.transcript.entries.index(call))
        made.transcript.action_scroll_end()
        await made.turns(TURNS, 2 * TURNS)
        assert call not in made.transcript.entries


async def test_what_is_in_no_record_stays() -> None:
    async with day() as made:
        made.turn(0)
        made.say(events.Notice("the disk is nearly full", "warning"))
        made.turn(1)
        made.say(events.RequestFailed("down", "The provider is down.", ("try again (/retry)",)))
        await made.turns(2, TURNS)
        kept = [entry for entry in made.transcript.entries if isinstance(entry, Note | Failure)]
        assert [entry.text for entry in kept] == ["the disk is nearly full", "The provider is down."]
        rows = await whole(made.host)
        order = ["prompt 0", "disk is nearly", "prompt 1", "provider is down", "prompt 2"]
        found = [next(y for y, row in enumerate(rows) if name in row) for name in order]
        assert found == sorted(found)


async def test_a_message_with_a_notice_in_its_middle_stays_with_it() -> None:
    async with day() as made:
        made.say(events.ThinkingDelta("hm"))
        made.say(events.Notice("saved"))
        made.say(events.TextDelta("an answer", 1))
        thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
        made.say(events.ReplyEnded(made.keep(answer(thinking, "an answer")), "end_turn", "an answer"))
        await made.turns(1, TURNS)
        rows = await whole(made.host)
        assert [row.split()[0] for row in rows[:3] if row] == ["+", "saved"]
        assert sum("an answer" in row for row in rows) == 1


async def test_a_command_that_runs_for_long_gets_its_result_where_it_stands() -> None:
    async with day() as made:
        made.say(events.ToolStarted("own", OWN_COMMAND, "sleep"))
        await made.turns(0, TURNS)
        command = made.transcript.entries[0]
        assert isinstance(command, ToolCall)
        assert command.state == "running"
        name = made.keep(words("A person ran\nsleep\nslept", origin="command"))
        made.say(events.ToolEnded("own", OWN_COMMAND, "sleep", "ok", "", "slept", 5, 9.0, "", name))
        await made.turns(TURNS, 2 * TURNS)
        rows = await whole(made.host)
        assert sum("slept" in row for row in rows) == 1


async def test_a_reminder_that_was_not_shown_is_not_lost_and_parts_nothing() -> None:
    async with day() as made:
        for number in range(TURNS):
            made.turn(number, injected=f"reminder {number}")
            if not number % 20:
                await made.rest()
        await made.rest()
        assert len(list(made.transcript._sheet)) <= MOST
        rows = await whole(made.host)
        assert sum(f"prompt {number}" in " ".join(rows) for number in range(TURNS)) == TURNS


async def test_a_history_that_was_loaded_and_read_is_given_back_too() -> None:
    async with day(grows=False) as made:
        for number in range(TURNS):
            made.turn(number)
        made.transcript.load(made.messages, made.checkpoints)
        first = await whole(made.host)
        made.transcript.action_scroll_end()
        await made.rest()
        assert len(made.transcript.entries) <= MOST
        assert await whole(made.host) == first


async def test_a_checkpoint_that_the_log_does_not_hold_stays() -> None:
    async with day() as made:
        made.turn(0)
        made.checkpoints.clear()
        await made.turns(1, TURNS)
        marks = [entry.number for entry in made.transcript.entries if isinstance(entry, Mark)]
        assert marks[:2] == [0, TURNS - len(marks) + 1]
        rows = await whole(made.host)
        assert "checkpoint 0" in rows[0]
        assert "prompt 0" in rows[1]


async def test_what_another_history_numbers_otherwise_is_kept_and_not_mixed_up() -> None:
    async with day() as made:
        await made.turns(0, 50)
        del made.messages[:4]
        await made.turns(50, TURNS)
        rows = " ".join(await whole(made.host))
        assert all(f"prompt {number}" in rows for number in range(TURNS))


async def test_messages_that_were_left_out_renumber_those_behind_them_and_all_is_given_back() -> None:
    async with day() as made:
        await made.turns(0, TURNS)
        left_out = made.messages[8:16]
        del made.messages[8:16]
        await made.turns(TURNS, 2 * TURNS)
        assert len(list(made.transcript._sheet)) <= MOST
        assert _numbers(await whole(made.host)) == [*range(2), *range(4, 2 * TURNS)]
        made.messages[8:8] = left_out
        made.transcript.action_scroll_end()
        await made.turns(2 * TURNS, 3 * TURNS)
        assert len(list(made.transcript._sheet)) <= MOST
        assert _numbers(await whole(made.host)) == list(range(3 * TURNS))


def _numbers(rows: Sequence[str]) -> list[int]:
    """The turns that rows show, by their prompts."""
    found = (re.search(r"\bprompt (\d+)$", row) for row in rows)
    return [int(match[1]) for match in found if match]


async def test_an_entry_on_the_screen_whose_message_was_left_out_stays() -> None:
    async with day() as made:
        await made.turns(0, 3)
        del made.messages[8:12]
        made.grow()
        await made.turns(3, 6)
        assert _numbers(await whole(made.host)) == list(range(6))


@pytest.mark.parametrize("row", [3, 40], ids=["near the end", "farther up"])
async def test_whoever_scrolled_up_stays_at_the_row_when_the_history_is_rewritten(row: int) -> None:
    async with day() as made:
        await made.turns(0, 40)
        made.transcript.scroll_relative(
            y=-row - made.host.transcript.size.height, animate=False, immediate=True
        )
        await made.host.pilot.pause()
        before = [_timeless(shown) for shown in made.host.rows]
        made.messages[:120] = [words("what was done", origin="summary")]
        made.transcript.load(made.messages, made.checkpoints, hold=True)
        await made.rest()
        assert [_timeless(shown) for shown in made.host.rows] == before
        assert not made.transcript.follow


async def test_whoever_reads_what_is_summarised_finds_the_summary_at_the_top() -> None:
    async with day() as made:
        await made.turns(0, 40)
        made.transcript.action_scroll_home()
        made.messages[:120] = [words("what was done", origin="summary")]
        made.transcript.load(made.messages, made.checkpoints, hold=True)
        await made.rest()
        assert "summary of what came before" in made.host.rows[0]
        assert not made.transcript.follow


async def test_whoever_follows_the_end_follows_it_in_a_history_that_was_rewritten() -> None:
    async with day() as made:
        await made.turns(0, 40)
        before = [_timeless(shown) for shown in made.host.rows]
        made.messages[:120] = [words("what was done", origin="summary")]
        made.transcript.load(made.messages, made.checkpoints, hold=True)
        await made.rest()
        assert [_timeless(shown) for shown in made.host.rows] == before
        assert made.transcript.follow
