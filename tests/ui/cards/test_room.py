"""A card never hides what matters: its answers, its warning, the beginning of what is decided, the chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.fake import Todo
from tests.ui.stage import Stage, stage
from tui_agent.events import Asked, Question, StateChanged
from tui_agent.ui.chat import layout
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.tour import WORDS, Tour

pytestmark = pytest.mark.usefixtures("quick")

LONG = "\n".join(f"echo line {number}" for number in range(40))
WARNING = "outside the workspace: /etc/nginx/sites-enabled/default"
PLACE = "/srv/workspaces/of/a/name/that/is/long"


async def _ask(made: Stage, **changes: object) -> None:
    made.session.begin()
    made.session.ask(**changes)
    await made.until(lambda: made.chat.dock.card is not None, "the card")


def _card_rows(made: Stage) -> list[str]:
    card = made.chat.dock.card
    assert card is not None
    return made.lines[card.region.y : card.region.bottom]


@pytest.mark.parametrize("rows", [5, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (6, 7)), 10])
@pytest.mark.parametrize("body", ["pnpm test", LONG], ids=["short", "long"])
@pytest.mark.parametrize("warning", ["", WARNING, WARNING * 4], ids=["none", "one row", "many"])
async def test_a_squeezed_card_shows_its_first_line_its_warning_and_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, body: str, warning: str
) -> None:
    monkeypatch.setattr(layout, "share", lambda *_, **__: layout.Share(rows, 1, 1))
    async with stage(tmp_path) as made:
        await _ask(made, body=body, warning=warning, place=PLACE)
        shown = _card_rows(made)
        assert len(shown) <= rows
        assert "$ " + body.split("\n")[0] in shown[1]
        assert any("[y] once" in line and "[t] no, tell why" in line for line in shown)
        if warning:
            assert any("outside the workspace: /etc/nginx" in line for line in shown)


async def test_an_unfocused_card_at_80x24_shows_the_command_and_the_answers(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("a draft")
        await _ask(made, body=LONG, warning=WARNING, place=PLACE)
        assert not made.chat.dock.has_keys
        shown = "\n".join(_card_rows(made))
        for words in ("$ echo line 0", "[y] once", WARNING, "Tab to answer"):
            assert words in shown


async def test_the_chat_keeps_eight_rows_with_all_that_can_stand_around_a_card(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))
        made.session.todos = [Todo(f"step {number}") for number in range(9)]
        made.session.emit(StateChanged("todo", []))
        await _ask(made, body=LONG, warning=WARNING, place=PLACE)
        await made.session.submit("and then")
        if not made.chat.todo.display:
            await made.press("ctrl+t")
        await made.press("ctrl+f")
        await made.until(lambda: made.chat.find_bar is not None, "the find bar")
        assert made.chat.todo.display and made.chat.queue_line.display and made.chat.guide is not None
        for name in ("composer", "card"):
            made.chat.set_focus(made.chat.composer)
            if name == "card":
                await made.press("ctrl+x", "a")
                assert made.chat.dock.has_keys
            await made.settle()
            assert made.chat.transcript.size.height >= 8, (name, made.text)
            shown = "\n".join(_card_rows(made))
            assert "$ echo line 0" in shown and "[y] once" in shown and WARNING in shown


async def test_many_answers_go_by_under_the_one_that_is_marked(tmp_path: Path) -> None:
    choices = tuple(f"answer number {number} of the many" for number in range(30))
    async with stage(tmp_path) as made:
        made.session.begin()
        made.session.emit(Asked(Question("c1", "choice", "which one?", "Choose.", choices=choices)))
        await made.until(lambda: made.chat.dock.card is not None)
        assert len(_card_rows(made)) <= 10
        assert "answer number 0 of" in made.text and "answer number 29" not in made.text
        await made.press(*["down"] * 30)
        await made.settle()
        assert "answer number 29 of the many" in made.text
        await made.press("enter")
        await made.until(lambda: made.session.answers)
        assert made.session.answers[0][1].note == choices[29]


async def test_a_narrow_card_cuts_no_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(40, 30)) as made:
        await _ask(made)
        shown = "\n".join(_card_rows(made))
        for words in ("[y] once", "[w] write a rule", "[n] no", "[t] no, tell why", "[e] edit first"):
            assert words in shown


async def test_a_kind_of_question_that_is_not_known_is_still_a_question(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        vote = Question("p1", "vote", "go on with this?", "1. read\n2. write", choices=("go on", "stop"))  # type: ignore[arg-type]
        made.session.emit(Asked(vote))
        await made.until(lambda: made.chat.dock.card is not None)
        assert "1. read" in made.text and "go on" in made.text
        await made.press("down", "down", "enter")
        await made.until(lambda: made.session.answers)
        assert made.session.answers[0][1].note == "stop"
