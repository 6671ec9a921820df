"""The card of a plan, the sign of the mode and the panel of the steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from textual.widgets._toast import ToastHolder

from tests.support.hostile import TEXTS, acts
from tests.ui.cards.clock import Clock
from tests.ui.fake import Todo
from tests.ui.stage import Stage, stage
from tui_agent import events as said
from tui_agent.commands import Outcome
from tui_agent.planning.plan import Plan
from tui_agent.planning.todo import Item
from tui_agent.ui.cards.plan import PlanCard
from tui_agent.ui.chat.status import Facts, line
from tui_agent.ui.chat.todo import rows

PLAN = Plan("a report", "Why: it is missing.", ("write it", "test it"))
SIZES = [
    (80, 24),
    pytest.param((120, 36), marks=pytest.mark.slow),
    pytest.param((200, 50), marks=pytest.mark.slow),
]


async def presented(made: Stage, plan: Plan = PLAN, mode: str = "ask") -> PlanCard:
    """A plan waits, and its card has the keys."""
    made.session.begin()
    await made.settle()
    question = said.Question("p1", "plan", "accept this plan?", rule=mode, editable=plan.document())
    made.session.emit(said.Asked(question))
    await made.until(lambda: made.chat.dock.card is not None, "the card")
    card = made.chat.dock.card
    assert isinstance(card, PlanCard)
    return card


@pytest.fixture
def quickly(quick: None) -> None:
    """Keys count at once."""


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("size", SIZES)
async def test_it_shows_the_plan_its_answers_and_what_follows(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(tmp_path, size=size) as made:
        await presented(made)
        await made.until(lambda: made.chat.dock.has_keys)
        for words in (
            "accept this plan?",
            "# a report",
            "[a] accept",
            "[e] edit",
            "[r] reject, tell why",
            "[s] then auto-edit",
        ):
            assert words in made.text, made.text
        assert "accepted: then you are asked before each change" in made.text
        await made.press("down", "down", "down", "down", "down")
        assert "2. test it" in made.text


Act = Callable[[Stage], Awaitable[None]]


def _press(*keys: str) -> Act:
    async def act(made: Stage) -> None:
        for key in keys:
            await made.press(key)

    return act


def _type(*keys: str, words: str, then: str = "enter") -> Act:
    async def act(made: Stage) -> None:
        await made.press(*keys)
        card = made.chat.dock.card
        await made.until(lambda: card is not None and card.writes, "the reply line")
        await made.type(words)
        await made.press(then)

    return act


def _shows(made: Stage, words: str) -> bool:
    return words in made.text


ANSWERS = (
    (_press("a"), said.Answer("once", rule="ask"), "the plan is accepted; mode ask"),
    (_press("s", "a"), said.Answer("once", rule="auto-edit"), "the plan is accepted; mode auto-edit"),
    (_press("s", "s", "a"), said.Answer("once", rule="ask"), "mode ask"),
    (_type("r", words="too large"), said.Answer("no", note="too large"), "the plan is rejected: too large"),
    (_type("n", words="why"), said.Answer("no", note="why"), "the plan is rejected: why"),
    (_type("r", words=""), said.Answer("no"), "the plan is rejected"),
)


@pytest.mark.usefixtures("quickly")
async def test_its_letters_answer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for act, answer, told in ANSWERS:
            made.session.answers.clear()
            await presented(made)
            await made.until(lambda: made.chat.dock.has_keys)
            await act(made)
            await made.until(lambda: bool(made.session.answers), "the answer")
            assert made.session.answers == [("p1", answer)]
            await made.until(partial(_shows, made, told), told)
            assert made.chat.dock.card is None


@pytest.mark.usefixtures("quickly")
async def test_it_is_accepted_as_it_was_written_anew(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await presented(made)
        await made.until(lambda: made.chat.dock.has_keys)
        await made.press("e")
        await made.until(lambda: card.writes)
        await made.type(" now")
        await made.press("enter")
        await made.until(lambda: "as edited by you" in made.text)
        await made.press("a")
        await made.until(lambda: bool(made.session.answers))
        ((_, answer),) = made.session.answers
        assert Plan.read(answer.edited or "") == Plan(PLAN.title, PLAN.text, ("write it", "test it now"))
        assert (answer.verdict, answer.rule) == ("once", "ask")


@pytest.mark.usefixtures("quickly")
async def test_that_edits_would_run_without_asking_is_never_out_of_sight(tmp_path: Path) -> None:
    long = Plan("long", "\n".join(f"line {number}" for number in range(60)), ("one",))
    async with stage(tmp_path) as made:
        await made.type("half a thought")  # the card is small while somebody writes
        await presented(made, long, "auto-edit")
        assert not made.chat.dock.has_keys
        assert "edited without asking" in made.text and "[s] then ask" in made.text


async def test_a_stray_key_accepts_no_plan(tmp_path: Path, clock: Clock) -> None:
    """The rule of every card: not while somebody writes, not at once, not as the beginning of a word."""
    async with stage(tmp_path) as made:
        await clock.type(made, "yes")
        await presented(made)
        await clock.type(made, " aa a")
        await clock.advance(made, 5)
        assert made.session.answers == [] and made.chat.composer.text == "yes aa a"
        await clock.press(made, "ctrl+x", "a")
        await clock.advance(made, 1)
        await clock.type(made, "as", every=0.1)
        await clock.advance(made, 1)
        card = made.chat.dock.card
        assert card is not None and card.writes and card.words == "as"
        await clock.press(made, "escape")
        await clock.advance(made, 1)
        await clock.type(made, "a", every=0)
        await clock.advance(made, 0.29)
        assert made.session.answers == []
        await clock.advance(made, 0.2)
        assert [answer.verdict for _, answer in made.session.answers] == ["once"]


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(
    "name",
    [name if at % 20 == 0 else pytest.param(name, marks=pytest.mark.slow) for at, name in enumerate(TEXTS)],
)
async def test_a_plan_is_literal_text(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    async with stage(tmp_path) as made:
        await presented(made, Plan(text[:100].strip() or "t", text[:2_000], (text[:100].strip() or "s",)))
        made.session.plans.now = SimpleNamespace(title=text)
        made.session.todos = [Todo(text, "active", 1)]
        await made.press("ctrl+t")
        assert not acts(made.text)


# --- the mode


@pytest.mark.usefixtures("quickly")
async def test_the_mode_is_gone_through_by_key_by_click_and_by_command(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for way, before, after in (
            ("shift+tab", "ask", "auto-edit"),
            ("click", "auto-edit", "plan"),
            ("/mode next", "plan", "ask"),
        ):
            assert f"  {before}  " in made.lines[0]
            made.session.performed.clear()
            if way == "click":
                await made.pilot.click(offset=(made.lines[0].index(f" {before} ") + 2, 0))
            elif way == "shift+tab":
                await made.press(way)
            else:
                await made.type(way)
                await made.press("enter")
            await made.until(lambda: ("mode", "next") in made.session.performed, "the command")
            made.session.plans.mode.now = after
            made.session.emit(said.StateChanged("mode", after))
            await made.until(partial(_shows, made, f"  {after}  "), "the sign")


@pytest.mark.usefixtures("quickly")
async def test_what_a_mode_means_is_told_for_a_while_and_not_in_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as made:

        async def perform(name: str, *arguments: str) -> Outcome:
            return Outcome(f"mode plan: [b]nothing[/b] is written {name} {arguments}")

        monkeypatch.setattr(made.session, "perform", perform)
        await made.press("shift+tab")
        await made.until(lambda: "[b]nothing[/b] is written" in made.text, "the words")
        assert not [entry for entry in made.chat.transcript.entries if "nothing" in str(entry)]


@pytest.mark.usefixtures("quickly")
async def test_of_the_modes_that_are_gone_through_only_the_newest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as made:
        told = iter(f"mode {name}: what it means" for name in ("one", "two", "three", "four"))

        async def perform(name: str, *arguments: str) -> Outcome:
            return Outcome(next(told))

        monkeypatch.setattr(made.session, "perform", perform)
        made.app.notify("something else", markup=False, timeout=60)
        await made.press("shift+tab", "shift+tab", "shift+tab", "shift+tab")
        await made.until(lambda: "mode four: what it means" in made.text, "the newest")
        await made.until(lambda: len(made.chat.query(ToastHolder)) == 2, "in the place of those before")
        assert made.text.count("what it means") == 1
        assert "something else" in made.text


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_another_mode_than_the_usual_one_gives_way_last(width: int) -> None:
    facts = Facts(
        name="a long name of a session",
        model="claude-sonnet-5-5",
        total=18_734,
        exact=18_734,
        mark="exact",
        window=200_000,
    )
    for mode in ("auto-edit", "plan"):
        shown = line(replace(facts, mode=mode, state="2 to answer"), width, 0.0).plain
        assert f" {mode} " in shown and "18,734" in shown


def test_steps_stand_under_their_plan() -> None:
    items = [Item("write it", "done", 1), Item("test it", "active", 2), Item("buy milk", "pending")]
    shown = [row.plain for row in rows(items, 60, 6, plan="a report")]
    assert shown == [
        " plan  1 of 3 done  a report",
        " [x] 1. write it",
        " [>] 2. test it",
        " [ ] buy milk",
    ]
    (only,) = rows(items, 60, 1, plan="a report")
    assert only.plain.startswith(" plan  1 of 3 done")


async def test_a_plan_takes_the_keys_of_an_idle_composer_and_swallows_those_that_come_at_once(
    tmp_path: Path, clock: Clock
) -> None:
    async with stage(tmp_path) as made:
        await clock.advance(made, 5)
        await presented(made)
        await made.until(lambda: made.chat.dock.has_keys)
        await clock.type(made, "a")
        await clock.advance(made, 0.4)
        assert made.session.answers == [] and "not taken: a" in made.text
        await clock.advance(made, 1)
        await clock.type(made, "a")
        await clock.advance(made, 0.4)
        assert [answer.verdict for _, answer in made.session.answers] == ["once"]
