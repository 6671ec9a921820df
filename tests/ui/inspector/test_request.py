"""The tab of the exact request: the tree, its sums, the text of an item, older ones, what differs, what is counted."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.inspector.logs import TABS, is_at, looking
from tests.ui.stage import Stage, stage
from tests.ui.test_session import opened
from tui_agent import changes
from tui_agent.agent.requests import NotBuilt
from tui_agent.messages.blocks import text_block
from tui_agent.messages.tokens import Tokens
from tui_agent.prompt.manifest import Item
from tui_agent.ui.inspector.panel import Panel
from tui_agent.ui.inspector.request import RequestTab
from tui_agent.ui.themes import UNICODE

pytestmark = pytest.mark.usefixtures("quick")

WIDE, NARROW = (120, 36), (80, 24)


def _fill(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.requests.send(4, turn=0)
    session.requests.send(8, turn=2, predicted=16_900)


async def _open(made: Stage) -> RequestTab:
    await made.press("ctrl+x", "v")
    await made.until(lambda: is_at(made, "Request"), "the tab")
    assert made.chat.panel is not None and isinstance(made.chat.panel.tab, RequestTab)
    tab = made.chat.panel.tab
    await made.until(lambda: len(tab.rows), "the tree")
    return tab


async def _to(made: Stage, words: str) -> None:
    """Put the cursor on the first row that says these words."""
    assert made.chat.panel is not None
    tab = made.chat.panel.tab
    found = next(
        i for i in range(len(tab)) if words in str(tab.cells(i)[0]) or words in str(tab.cells(i)[-1])
    )
    tab.rows.move(found)
    await made.settle()


@pytest.mark.parametrize(
    "size", [NARROW, *(pytest.param(s, marks=pytest.mark.slow) for s in (WIDE, (200, 50)))]
)
async def test_sections_kinds_shares_and_the_cache_are_told_and_the_sum_closes(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with stage(tmp_path, size=size, prepare=_fill) as made:
        tab = await _open(made)
        rows = {str(tab.cells(index)[0]).strip(" ▾▸"): tab.cells(index) for index in range(len(tab))}
        assert {"tools  5", "built in  3", "server tracker  2", "system  2", "messages  13"} <= set(rows)
        assert {"your words  3", "answers  6", "read_file results  3"} <= set(rows)
        assert rows["answers  6"][1] == "297"
        assert str(rows["tools  5"][1]).startswith("~")
        assert [rows[name][3][:1] for name in ("tools  5", "messages  13", "answers  6")] == ["c", "p", ""]
        assert "the next request" in made.text
        left, _, right = str(tab._sum.content).partition("=")
        parts = [int(number.replace(",", "")) for number in re.findall(r"[+-]?[\d,]+", left)]
        assert sum(parts) == 19_938
        assert right.strip() == "~19,938"


async def test_enter_unfolds_a_kind_and_opens_the_text_of_an_item(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        tab = await _open(made)
        count = len(tab)
        await _to(made, "your words")
        await made.press("enter")
        await made.until(lambda: len(tab) == count + 3)
        await made.press("down", "enter")
        await made.until(lambda: "--- as it is sent ---" in made.text, "its text")
        assert '"text": "question 1"' in made.text
        await made.press("down")
        await made.until(lambda: '"text": "question 2"' in made.text, "the next one")
        await made.press("escape")
        await made.until(lambda: not tab.detail_open)
        await made.press("space")
        await made.until(lambda: len(tab) == count, "it is folded")
        assert "your words" in str(tab.cells(tab.rows.cursor)[0])


async def test_a_click_unfolds_and_opens(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_fill) as made:
        tab = await _open(made)
        for words in ("server tracker", "mcp__tracker__find"):
            await _click(made, words)
            await made.until(partial(_is_under_cursor, tab, words), "the cursor")
            await _click(made, words)
        await made.until(lambda: tab.detail_open and '"name": "mcp__tracker__find_issue"' in made.text)
        await _click(made, "close", row=-1)
        await made.until(lambda: not tab.detail_open)
        count = len(tab)
        row = next(i for i, line in enumerate(made.lines) if "server tracker" in line)
        await made.pilot.click(offset=(made.lines[row].rindex(UNICODE.opened), row))
        await made.until(lambda: len(tab) == count - 2, "a click on its sign folds it")


def _is_under_cursor(tab: RequestTab, words: str) -> bool:
    return words in str(tab.cells(tab.rows.cursor)[0])


async def _click(made: Stage, words: str, row: int | None = None) -> None:
    at = (
        next(i for i, line in enumerate(made.lines) if words in line)
        if row is None
        else len(made.lines) + row
    )
    await made.pilot.click(offset=(made.lines[at].rindex(words) + 1, at))
    await made.settle()


async def test_the_exact_text_is_literal_and_copied_word_for_word(
    tmp_path: Path, clipboard: list[str]
) -> None:
    hostile = "[bold]not markup[/] \x1b[31mred\u202e end"

    def fill(session: FakeSession) -> None:
        session.context.say("user", text_block(hostile))

    async with stage(tmp_path, size=(100, 40), prepare=fill) as made:
        tab = await _open(made)
        await _to(made, "not markup")
        await made.press("enter")
        await made.until(lambda: "[bold]not markup[/] ␛[31mred<U+202E> end" in made.text)
        await made.until(lambda: "y copy" in made.lines[-1])
        await made.press("y")
        await made.until(lambda: clipboard)
        assert clipboard[0].startswith("[bold]not markup[/] ")
        assert "\u202e end" in clipboard[0]
        assert tab.detail_open


async def test_words_are_looked_for_in_an_open_text(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" + (" Needle" if number % 40 == 7 else "") for number in range(200))

    def fill(session: FakeSession) -> None:
        session.context.say("user", text_block(text))

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        tab = await _open(made)
        await _to(made, "line 0")
        await made.press("enter")
        await made.until(lambda: "line 3" in made.text)
        await made.type("/needle")
        await made.until(
            lambda: "hit 1 of 10" in made.text, "the first hit"
        )  # as it reads, and as it is sent
        await made.press("enter")
        await made.until(lambda: "hit 2 of 10" in made.text and "line 47 Needle" in made.text, "the next")
        await made.press("up", "up")
        await made.until(lambda: "hit 10 of 10" in made.text, "around")
        await made.press("down")
        await made.until(lambda: "hit 1 of 10" in made.text)
        await made.type("x")
        await made.until(lambda: "no hit" in made.text)
        await made.press("escape")
        await made.until(lambda: tab.rows.has_focus and "hit" not in made.text)
        assert tab.detail_open


async def test_a_filter_finds_what_is_folded(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        tab = await _open(made)
        count = len(tab.rows)
        await made.type("/question 2")
        await made.until(lambda: len(tab.rows) == 1 and "question 2" in made.text)
        await made.press("enter", "enter")
        await made.until(lambda: '"text": "question 2"' in made.text)
        await made.press("escape", "escape")
        await made.until(lambda: len(tab.rows) == count, "all rows, folded as before")


async def test_the_whole_request_is_shown_as_json(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        tab = await _open(made)
        await made.press("j")
        await made.until(lambda: '"model": "claude-sonnet-5-5"' in made.text)
        body = json.loads(tab._opened.exact.text)
        built = tab._tree.built  # type: ignore[union-attr]
        assert body == built.request.body()
        await made.press("j")
        await made.until(lambda: not tab.detail_open)
        await made.press("y")
        await made.until(
            lambda: made.chat.composer.text == "y", "without an open text there is nothing to copy"
        )


async def test_a_huge_request_is_paged_and_drawn_only_where_it_is_seen(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        session.context.say("user", text_block("漢字 and more " * 60_000))

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        tab = await _open(made)
        await made.press("j")
        exact = tab._opened.exact
        await made.until(lambda: len(exact._broken) > 10_000, "it is broken into rows")
        await made.press("ctrl+d")
        await made.until(lambda: exact.scroll_offset.y > 0)
        exact.scroll_end(animate=False)
        await made.until(lambda: "}" in made.text)


async def test_older_and_newer_requests(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        await _open(made)
        await made.press("o")
        await made.until(lambda: "request 2" in made.text and "turn 2" in made.text)
        assert "17,000 read (16,900 f" in made.text.replace("\n", "")
        await made.press("o")
        await made.until(lambda: "request 1 " in made.text and "messages  5" in made.text)
        await made.press("o", "d")
        await made.until(lambda: "there is no request before it" in made.text)
        await made.press("n", "n")
        await made.until(lambda: "the next request" in made.text)
        await made.press("n")
        await made.settle()
        assert "the next request" in made.text


async def test_keys_behind_the_one_for_another_request_act_on_that_request_in_their_order(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        tab = await _open(made)
        await _to(made, "answers")
        count, held = len(tab), asyncio.Event()
        made.session.requests.held = held
        await made.press("o", "enter", "down", "enter")
        await made.settle()
        assert len(tab) == count and not tab.detail_open, "nothing is done with the rows of another request"
        held.set()
        await made.until(lambda: tab.detail_open and "request 2" in made.text)
        at = tab.rows.cursor
        assert "answers" in str(tab.cells(at - 1)[0]), (
            "its answers are unfolded, and the first of them is open"
        )
        assert UNICODE.opened in str(tab.cells(at - 1)[0])
        await made.press("escape", "home")
        held.clear()
        await made.press("o", "space", "n", "escape")
        await made.settle()
        held.set()
        await made.until(lambda: "request 1 " in made.text and "messages  5" in made.text)
        assert "built in" in made.text, "esc took back what waited"


async def test_a_very_large_request_is_built_only_if_that_is_asked_for(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        session.requests.send(9, read=37_000_000)

    async with stage(tmp_path, size=(200, 50), prepare=fill) as made:
        await _open(made)
        await made.press("o")
        await made.until(lambda: "It holds 37,000,834 tokens: Enter builds it all the same." in made.text)
        assert 2 not in made.session.requests.built
        await made.press("o")
        await made.until(lambda: "request 2" in made.text)
        await made.press("n", "n")
        await made.until(lambda: "the next request" in made.text and "what is sent" in made.text)
        await made.press("d")
        await made.until(lambda: "not compared: one of them holds 37,000,834 tokens" in made.text)
        await made.press("o")
        await made.until(lambda: "It holds 37,000,834 tokens: Enter builds it all the same." in made.text)
        await made.press("enter")
        await made.until(lambda: "request 3" in made.text and "what is sent" in made.text)


async def test_the_list_of_requests_leads_to_one(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_fill) as made:
        await _open(made)
        await made.press("l")
        await made.until(lambda: "every request of this session" in made.text)
        assert "2 requests, newest first" in made.text
        made.session.requests.lost = {0}
        made.chat.panel.tab.rows.redraw()  # type: ignore[union-attr]
        await made.until(lambda: "not kept" in made.text, "a file is gone")
        await made.press("end", "enter")
        await made.until(lambda: "context_1.jsonl: it is no longer kept." in made.text)
        made.session.requests.lost = set()
        await made.press("l")
        await made.until(lambda: "every request" in made.text)
        await made.press("end", "enter")
        await made.until(lambda: "request 1 " in made.text and "what is sent" in made.text)
        await made.press("l")
        await made.until(lambda: "every request" in made.text)
        assert made.chat.panel is not None
        assert made.chat.panel.tab.rows.cursor == 2, "it stands on the one that is shown"
        await made.press("escape")
        await made.until(lambda: "request 1 " in made.text and "what is sent" in made.text)


async def test_what_differs_from_the_one_before_and_from_a_marked_one(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_fill) as made:
        tab = await _open(made)
        await made.press("d")
        await made.until(lambda: "what differs: request 2 -> the next request" in made.text)
        assert "+176 added" in made.text
        left, _, right = str(tab._sum.content).partition("=")
        parts = [int(number.replace(",", "")) for number in re.findall(r"[+-]?[\d,]+", left)]
        assert sum(parts) == int(re.findall(r"[\d,]+", right)[0].replace(",", "")) == 19_938
        await made.press("enter")
        await made.until(lambda: "--- before ---" in made.text and "(nothing)" in made.text)
        await made.press("escape", "escape")
        await made.until(lambda: "what is sent" in made.text)
        await made.press("o", "o", "m")
        await made.until(lambda: "*marked" in made.text)
        await made.press("n", "n")
        await made.until(lambda: "the next request" in made.text and "what is sent" in made.text)
        await made.press("d")
        await made.until(lambda: "what differs: request 1 -> the next request" in made.text)


async def test_the_endpoint_counts_and_what_it_refuses_is_said(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_fill) as made:
        await _open(made)
        await made.press("x")
        await made.until(lambda: "the endpoint counts 18,800; here ~19,938, +6.1%" in made.text)
        made.session.requests.counts = NotBuilt("the endpoint has no count_tokens")
        await made.press("x")
        await made.until(lambda: "not counted by the endpoint: the endpoint has no count_tokens" in made.text)
        await made.press("o")
        await made.until(lambda: "request 2" in made.text and "not counted" not in made.text)


async def test_an_item_leads_to_its_record_and_back(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(160, 50), prepare=_fill) as made:
        tab = await _open(made)
        await _to(made, "your words")
        await made.press("enter", "down", "down")
        await made.until(lambda: "r record" in made.lines[-1])
        at = tab.rows.cursor
        await made.press("r")
        await made.until(lambda: "as it is on disk" in made.text and '"question 2"' in made.text)
        await made.until(lambda: "r to Request" in made.lines[-1])
        await made.press("r")
        await made.until(lambda: is_at(made, "Request"))
        assert tab.rows.cursor == at
        assert "question 2" in str(tab.cells(at)[0])


async def test_a_record_that_went_with_a_rewrite_is_said_to_be_gone(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_fill) as made:
        tab = await _open(made)
        await _to(made, "your words")
        await made.press("enter", "down")

        def gone(name: str) -> Any:
            raise ValueError(name)

        made.session.context.record = gone  # type: ignore[method-assign]
        await made.press("r")
        await made.until(lambda: "not in the log any more" in str(tab._sum.content))
        assert is_at(made, "Request")


async def test_what_is_left_out_is_told_with_the_reason(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        for name in ("read_file", "bash"):
            tokens, reason = Tokens(690, "estimated"), "shortened by you"
            session.requests.left.append(Item("messages", "result", name, tokens, kept=False, reason=reason))

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        tab = await _open(made)
        await _to(made, "shortened by you")
        assert "left out  2" in made.text
        assert tab.cells(tab.rows.cursor)[1] == "~1,380"
        await made.press("enter", "down", "enter")
        await made.until(lambda: "is not sent: shortened by you" in made.text)
        assert str(tab._sum.content).endswith("= ~19,938"), "it is no part of the sum"


WAYS = ("compact (/compact)", "elide the largest item (/elide 9)", "a larger model (/model)")


def _refused(session: FakeSession) -> None:
    _fill(session)
    session.window = 19_000
    session.requests.ways = WAYS
    session.requests.stays = {session.context.history[0].id: "pinned"}
    session.requests.left = [
        Item("messages", "result", "bash", Tokens(90, "estimated"), kept=False, reason="old")
    ]


@pytest.mark.parametrize(
    "size", [NARROW, *(pytest.param(s, marks=pytest.mark.slow) for s in ((44, 24), WIDE, (200, 50)))]
)
async def test_what_does_not_fit_is_shown_as_a_tree_below_the_ways_out(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with stage(tmp_path, size=size, prepare=_refused) as made:
        tab = await _open(made)
        assert "refused: it does not fit" in made.text, "in words"
        assert "~1,962 too many" in made.text
        rows = [str(tab.cells(index)[0]).strip(" ▾▸") for index in range(len(tab))]
        assert rows[0] == "ways out  3" and rows[1].startswith("/compact  compact")
        heads = ["tools  5", "system  2", "messages  13", "left out  1"]
        assert [row for row in rows if row in heads] == heads
        assert "~19,938, too many" in str(tab._sum.content)
        left, _, _ = str(tab._sum.content).partition("=")
        assert sum(int(n.replace(",", "")) for n in re.findall(r"[+-]?[\d,]+", left)) == 19_938


async def test_of_what_does_not_fit_it_is_said_what_stays_and_all_of_it_can_be_looked_at(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_refused) as made:
        tab = await _open(made)
        await made.press("down", "down", "enter")
        await made.until(lambda: "a way out" in made.text and "item (/elide 9)" in made.text, "in full")
        await made.press("escape")
        await _to(made, "your words")
        await made.press("enter", "down", "enter")
        await made.until(lambda: "never leaves it out by itself: pinned." in tab._opened.exact.text)
        assert str(tab.cells(tab.rows.cursor)[3]) == "pinned"
        await made.press("down")
        await made.until(lambda: "may leave it out to make room" in tab._opened.exact.text)
        await made.press("escape", "j")
        await made.until(lambda: '"model": "claude-sonnet-5-5"' in made.text, "the whole of it")
        await made.press("escape", "d")
        await made.until(lambda: "what differs: request 2 -> the next request" in made.text)
        await made.press("escape", "home", "space")
        await made.until(lambda: len(made.lines) and "/compact" not in made.text, "they are folded")
        made.session.requests.ways = ()
        made.session.context.say("user", text_block("again"))
        made.session.emit(changes.Appended("user", "r99", 99))
        await made.until(lambda: "refused" not in made.text and "what is sent" in made.text, "now it fits")


async def test_what_the_estimates_are_too_high_is_taken_off_in_words(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        session.context.say("user", text_block("word " * 2_000))
        session.requests.send(1, read=0)

    async with stage(tmp_path, size=(200, 50), prepare=fill) as made:
        tab = await _open(made)
        await made.press("o")
        await made.until(lambda: "request 1" in made.text)
        await _to(made, "taken off: the estimates are too high")
        assert str(tab.cells(tab.rows.cursor)[1]).startswith("~-")
        assert re.search(r"-[\d,]+ estimated too high = 834", str(tab._sum.content))
        await made.press("enter")
        await made.until(lambda: "so that all rows sum up" in tab._opened.exact.text)


async def test_the_letters_of_the_cache_are_explained_where_there_is_no_room_for_words(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, size=(44, 24), prepare=_fill) as made:
        await _open(made)
        assert "c: all of it cached, p: a part" in made.text


async def test_what_cannot_be_built_is_said_with_the_ways_out(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        session.requests.fails = NotBuilt("the next request would be about 212,000 tokens")
        session.requests.fails.ways = ("compact (/compact)", "switch to a larger model")

    async with stage(tmp_path, size=WIDE, prepare=fill) as made:
        tab = await _open(made)
        assert "212,000" in made.text and "ways out" in made.text
        assert "compact (/compact)" in made.text
        await made.press("enter", "space", "j", "x", "r")
        await made.settle()
        made.session.requests.fails = None
        made.session.context.say("user", text_block("again"))
        made.session.emit(changes.Appended("user", "r99", 99))
        await made.until(lambda: "what is sent" in made.text, "it can be built again")
        assert len(tab.rows) > 3


async def test_it_follows_the_session_and_the_cursor_stays_on_its_row(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        tab = await _open(made)
        await _to(made, "answers")
        built = len(made.session.requests.built)
        for number in range(40):
            made.session.context.say("user", text_block(f"word {number}"))
            made.session.emit(changes.Appended("user", f"r{number}", number))
        await made.until(lambda: "your words  43" in made.text)
        assert len(made.session.requests.built) - built <= 4, "not once for each record"
        assert "answers" in str(tab.cells(tab.rows.cursor)[0])
        made.session.context.rewrite("revert", 4)
        made.session.emit(changes.Rotated("revert", "context_1.jsonl", 9))
        await made.until(lambda: "answers  2" in made.text, "after going back")


async def test_an_older_request_stays_while_the_session_goes_on(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        await _open(made)
        await made.press("o")
        await made.until(lambda: "request 2" in made.text)
        built = list(made.session.requests.built)
        made.session.context.say("user", text_block("more"))
        made.session.requests.send(9)
        made.session.emit(changes.Appended("user", "r99", 99))
        await made.until(lambda: "of 3" in made.text, "there is one more")
        assert made.session.requests.built == built, "what was sent is not built again"


async def test_the_key_opens_it_and_closes_it(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        await _open(made)
        await made.press("ctrl+x", "v")
        await made.until(lambda: made.chat.panel is None)
        await made.type("/request")
        await made.press("enter")
        await made.until(lambda: is_at(made, "Request"))
        await made.press("left")
        await made.until(lambda: is_at(made, "Tokens"))
        await made.press("ctrl+x", "v")
        await made.until(lambda: is_at(made, "Request"))


async def test_a_number_behind_the_command_opens_that_request(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        await made.type("/request 1")
        await made.press("enter")
        await made.until(lambda: "request 1  of 2" in made.text and "what is sent" in made.text)
        await made.press("escape")
        for words in ("99", "0", "x"):
            made.chat.composer.put(f"/request {words}")
            await made.press("enter")
            await made.until(lambda: f"there is no request {words}: 2 were" in made.text)  # noqa: B023
        made.chat.composer.put("/request next")
        await made.press("enter")
        await made.until(lambda: "the next request  " in made.text and "what is sent" in made.text)


@pytest.mark.parametrize("left_open", ["o", *(pytest.param(key, marks=pytest.mark.slow) for key in "ld")])
async def test_the_key_shows_the_next_request_whatever_was_looked_at_before(
    left_open: str, tmp_path: Path
) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        await _open(made)
        await made.press(left_open)
        await made.until(lambda: "the next request  " not in made.text, "something else is looked at")
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is None)
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is not None)
        assert "the next request  " not in made.text, "the inspector opens where it was left"
        await made.press("ctrl+x", "v")
        await made.until(lambda: made.chat.panel is None)
        await made.press("ctrl+x", "v")
        await made.until(lambda: "the next request  " in made.text and "what is sent" in made.text)


async def test_the_footer_says_that_esc_leads_back_where_something_is_open(tmp_path: Path) -> None:
    async with stage(tmp_path, size=WIDE, prepare=_fill) as made:
        await _open(made)
        for opened_by, is_clicked in (("j", False), ("d", True)):
            assert "Esc back" not in made.lines[-1]
            await made.press(opened_by)
            await made.until(lambda: "Esc back" in made.lines[-1], f"after {opened_by}")
            if is_clicked:
                await made.pilot.click(offset=(made.lines[-1].index("Esc back") + 1, len(made.lines) - 1))
            else:
                await made.press("escape")
            await made.until(lambda: "Esc back" not in made.lines[-1] and "what is sent" in made.text)
        await made.press("escape")
        await made.until(lambda: made.chat.focused is made.chat.composer)


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ((), "what is sent"),
        *(
            pytest.param(keys, shown, marks=pytest.mark.slow)
            for keys, shown in ((("l",), "every request"), (("d",), "what differs"), (("j",), "as JSON"))
        ),
    ],
)
async def test_what_the_footer_offers_can_be_clicked(
    keys: tuple[str, ...], shown: str, tmp_path: Path
) -> None:
    async with stage(tmp_path, size=(200, 50), prepare=_fill) as made:
        tab = await _open(made)
        await made.press(*keys)
        await made.until(lambda: shown in made.text)
        panel = made.chat.panel
        assert panel is not None
        entries = [
            entry for entry in made.chat.panel_entries() if f" {entry.key} {entry.words}" in made.lines[-1]
        ]
        assert len(entries) >= 3
        for key in panel.offered():
            name = key.action.partition("(")[0]
            assert callable(getattr(panel if name == "turn" else tab, f"action_{name}")), key
        entry = entries[-1]
        at = made.lines[-1].index(f" {entry.key} {entry.words}") + 1
        before = made.text
        await made.pilot.click(offset=(at, len(made.lines) - 1))
        await made.until(lambda: made.text != before, f"{entry.words} was clicked")


# --- over the real engine


async def _say(made: Stage, words: str) -> None:
    session = made.chat.session
    assert session is not None
    await session.submit(words)
    await session.until_idle()


def _closes(tab: RequestTab, made: Stage) -> bool:
    left, _, right = str(tab._sum.content).partition("=")
    parts = [int(number.replace(",", "")) for number in re.findall(r"[+-]?[\d,]+", left)]
    total = int(re.sub(r"\D", "", right) or -1)
    return sum(parts) == total == made.chat.status.facts.total and "since" not in left


@pytest.mark.parametrize(
    "size", [NARROW, *(pytest.param(s, marks=pytest.mark.slow) for s in (WIDE, (200, 50)))]
)
async def test_the_sum_is_the_number_of_the_status_line(size: tuple[int, int], tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", size=size) as made:
        tab = await _open(made)
        closes = partial(_closes, tab, made)
        await made.until(closes, "a new session")
        await _say(made, "hello")
        await made.until(closes, "a turn")
        session = made.chat.session
        assert session is not None
        await session.perform("elide", next(m.id for m in session.context.history if m.role == "assistant"))
        await made.until(closes, "a record left out")
        await _say(made, "hello again")
        await made.until(closes, "another")
        await session.perform("revert", str(session.timeline.turns()[-1].id))
        await made.until(closes, "going back")
        await session.perform("undo")
        await made.until(closes, "undo")
        await made.press("o")
        await made.until(lambda: "request 2" in made.text)
        await made.press("x")
        await made.until(lambda: "the endpoint counts" in made.text, "the demo counts too")


async def test_a_log_that_is_only_looked_at_shows_its_newest_request(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", size=WIDE) as made:
        await _say(made, "hello")
        await _say(made, "hello again")
        session = made.chat.session
        assert session is not None
        path = session.context.path
    async with looking(path, "Request") as alone:
        await alone.until(lambda: "request 2  of 2" in alone.text)
        await alone.press("o")
        await alone.until(lambda: "request 1  of 2" in alone.text)
        await alone.press("n", "n")
        await alone.settle()
        assert "request 2  of 2" in alone.text, "there is no next one here"
        await alone.press("x")
        await alone.until(lambda: "not counted by the endpoint" in alone.text)


async def test_a_log_without_requests_says_so(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    path.write_text('{"role":"user","content":"hello"}\n')
    async with looking(path, "Request") as alone:
        await alone.until(lambda: "No request was sent yet." in alone.text)
        await alone.press("o", "n", "d", "j", "x", "m", "r", "space", "enter", "l")
        await alone.settle()
        assert isinstance(alone.panel, Panel) and TABS[4] == alone.panel.tab.NAME
