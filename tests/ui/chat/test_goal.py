"""How a goal is shown: the line above the composer, the panel, the transcript, its key."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.content import Content

from tests.support.hostile import SMALL, acts
from tests.ui.stage import stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.agent.commands import goal
from tui_agent.context import Context
from tui_agent.messages.blocks import text_block
from tui_agent.planning import briefing
from tui_agent.planning.goal import Budget, Milestone, Spent, State
from tui_agent.ui.chat.goal import line
from tui_agent.ui.chat.todo import rows
from tui_agent.ui.transcript.entries import Aside, Gap, Mark
from tui_agent.ui.transcript.history import History

GOAL = State(
    "mend the parser",
    milestones=(Milestone("read it", done=True), Milestone("write tests", done=True), Milestone("mend it")),
    budget=Budget(turns=10, tokens=50_000),
    spent=Spent(tokens=12_345, turns=3, seconds=600),
)


def plain(rows: list[Content]) -> list[str]:
    return [row.plain for row in rows]


def test_the_line_says_how_far_it_is_and_why_it_stands_still() -> None:
    assert (
        line(GOAL, 100).plain
        == " goal active  3 of 10 turns, 12,345 of 50,000 tokens, 2 of 3 done  mend the parser"
    )
    paused = State("mend the parser", "paused", "you stopped it", spent=Spent(tokens=9, turns=1, seconds=90))
    assert line(paused, 80).plain == " goal paused: you stopped it  1 turn, 9 tokens  mend the parser"
    assert line(State("x"), 80).plain == " goal active  x"
    spent = State(
        "x", "paused", "out of budget: 2 of 2 turns are spent", budget=Budget(turns=2), spent=Spent(9, 2)
    )
    assert line(spent, 80).plain == " goal paused: out of budget: 2 of 2 turns are spent  9 tokens  x"
    for width in (1, 10, 40, 79):
        assert line(GOAL, width).cell_length <= width


@pytest.mark.parametrize("text", SMALL.values(), ids=SMALL)
def test_no_words_of_it_act(text: str) -> None:
    hostile = State(text, "paused", text, milestones=(Milestone(text),))
    for shown in (line(hostile, 80), *rows((), 80, 8, goal=hostile)):
        assert "\n" not in shown.plain and not acts(shown.plain)


def test_the_panel_shows_the_milestones_around_the_first_open_one() -> None:
    class Todo:
        text, status, step = "a thing", "active", 0

    head = " goal  active, 3 of 10 turns, 12,345 of 50,000 tokens, 2 of 3 done  mend the parser"
    done, tested, open_ = " [x] read it", " [x] write tests", " [ ] mend it"
    assert plain(rows((), 100, 8, goal=GOAL)) == [head, done, tested, open_]
    assert plain(rows((), 100, 3, goal=GOAL)) == [head, tested, open_]
    assert plain(rows((), 100, 2, goal=GOAL)) == [head, open_]
    assert plain(rows((), 100, 1, goal=GOAL)) == [head]
    assert plain(rows((), 80, 1, goal=State("x", "paused", "you stopped it"))) == [
        " goal  paused: you stopped it  x"
    ]
    both = plain(rows([Todo()], 100, 4, goal=GOAL))  # type: ignore[list-item]
    assert both == [head, open_, " todo  0 of 1 done", " [>] a thing"]
    assert plain(rows([Todo()], 100, 1, goal=GOAL))[0].startswith(" todo")  # type: ignore[list-item]


async def test_it_is_on_the_screen_and_has_a_key(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("ctrl+x", "d")
        assert made.chat.composer.text == "/goal "
        await made.press("ctrl+c")
        made.session.goal.now = GOAL
        made.session.emit(said.StateChanged("goal", {}))
        await made.until(lambda: "goal active  3 of 10 turns" in made.text)
        await made.press("ctrl+x", "d")
        await made.until(lambda: ("goal", "pause") in made.session.performed)
        made.session.goal.now = State("mend the parser", "paused", "you paused it")
        made.session.emit(said.StateChanged("goal", {}))
        await made.until(lambda: "goal paused: you paused it" in made.text)
        await made.press("ctrl+x", "d")
        await made.until(lambda: ("goal", "resume") in made.session.performed)
        made.session.goal.now = GOAL
        await made.pilot.click("#goal")
        await made.until(lambda: "[ ] mend it" in made.text)
        assert "goal active  3 of 10" not in made.text, "it is not said twice"
        await made.press("ctrl+t")
        await made.until(lambda: "goal active  3 of 10 turns" in made.text)
        made.session.goal.now = State("mend the parser", "complete")
        made.session.emit(said.StateChanged("goal", {}))
        await made.until(lambda: " goal " not in made.text)
        made.chat.composer.put("/goal turns=3 one\n  two")
        await made.press("enter")
        await made.until(lambda: ("goal", "turns=3 one\n  two") in made.session.performed)
        made.chat.composer.put("/goal\nturns=3 three\nfour")
        await made.press("enter")
        await made.until(lambda: ("goal", "turns=3 three\nfour") in made.session.performed)
        made.session.emit(said.TurnStarted("u", 1, "", goal=briefing.opening(State("five"))))
        await made.until(lambda: "goal  Turn 0 of the work on the goal." in made.text)
        assert "What stands between" not in made.text, "what is the same each time is folded"
        goal.add_to(made.session.commands)
        await made.type("/goal mil")
        await made.until(lambda: "done, open or drop" in made.text)
        await made.press("tab")
        await made.until(lambda: made.chat.composer.text == "/goal milestone")


async def test_a_turn_of_it_is_read_from_the_log_as_it_was_shown(tmp_path: Path) -> None:
    context = Context(tmp_path / "context.jsonl")
    await context.restore()
    await context.checkpoint(turn=True)
    await context.append_message({"role": "user", "content": "hello"})
    await context.append_message({"role": "assistant", "content": "hi"})
    number = await context.checkpoint(turn=True)
    later = "2100-01-01T00:00:00.000Z"
    state = State("mend the parser", spent=Spent(turns=1))
    text = briefing.opening(state)
    (record,) = await context.append_message(
        {"role": "user", "content": [text_block(text)]},
        origin="injection",
        sources=[briefing.origin(state, text)],
        meta={"turn": 1},
    )
    await context.append_message(
        {"role": "user", "content": "something else"},
        origin="injection",
        sources=[{"name": "files"}],
        at=later,
    )
    await context.append_message({"role": "assistant", "content": "on it"}, at=later)
    history = History(context.shown, context.checkpoints())
    read = history.read(Gap(0, len(context.history)), 0, len(context.history))[2]
    marks = [entry.number for entry in read if isinstance(entry, Mark)]
    goals = [entry for entry in read if isinstance(entry, Aside) and entry.label == "goal"]
    assert marks.count(number) == 1
    assert [entry.record for entry in goals] == [record.id]
    assert goals[0].text.startswith("Turn 1 of the work on the goal")
    assert [entry.label for entry in read if isinstance(entry, Aside)][1:] != ["goal"]
    async with stage(tmp_path / "screen") as made:
        made.session.emit(changes.Appended("user", record.id, 5))
        made.session.emit(said.TurnStarted("u", number, "", goal=text))
        await made.until(lambda: "Turn 1 of the work on the goal" in made.text)
        shown = [entry for entry in made.chat.transcript.entries if isinstance(entry, Aside)]
        assert [(one.label, one.text, one.record) for one in shown] == [("goal", goals[0].text, record.id)]
    await context.close()
