"""Every place that can have the keys: how a test gets there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.memories import proposal, proposed, remembered
from tests.ui.stage import Stage, app_with, stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.ui.app import Wanted
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.listing import Listing
from tui_agent.ui.over import Place
from tui_agent.ui.tour import WORDS, Tour

LINES = 40
"""Lines of the first answer: more than the chat shows."""


@dataclass(frozen=True)
class Spot:
    """A place: how to get there. `over` lies over the chat and is opened by the action `own`, which closes it too."""

    go: Callable[[Stage], Awaitable[None]]
    own: str = ""
    prepare: Callable[[FakeSession], None] | None = None
    opened: bool = True

    @property
    def over(self) -> bool:
        return bool(self.own)


def long(session: FakeSession) -> None:
    """Two turns, the first one longer than the chat."""
    conversation(session.context)
    session.context.history[1].content[0]["text"] = "\n\n".join(f"line {n}" for n in range(LINES))


def read_only(session: FakeSession) -> None:
    """A session that another program has open."""
    long(session)
    session.read_only = "another program has it open"


@asynccontextmanager
async def at(tmp_path: Path, spot: Spot, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Stage]:
    """The app, with the focus in a place."""
    if spot.opened:
        async with stage(tmp_path, size=size, prepare=spot.prepare or long) as made:
            await spot.go(made)
            yield made
        return
    app = app_with(tmp_path)
    never = asyncio.Event()

    async def opener(wanted: Wanted, listen: Callable[[Any], None]) -> Any:
        await never.wait()

    app._opener = opener
    async with app.run_test(size=size, notifications=True) as pilot:
        made = Stage(app, pilot)
        await spot.go(made)
        yield made


# --- on the chat


async def _composer(made: Stage) -> None:
    await made.settle()


async def _draft(made: Stage) -> None:
    await made.type("half a thought")


async def _lines(made: Stage) -> None:
    await made.type("first")
    await made.press("ctrl+j")
    await made.type("second")


async def _completion(made: Stage) -> None:
    await made.type("/re")
    await made.until(lambda: made.chat.completion.is_open)


async def _search(made: Stage) -> None:
    made.chat.composer.past.add(Prompt("sent before"))
    made.chat.composer.search()
    await made.until(lambda: made.chat.completion.is_open)


async def _chat(made: Stage) -> None:
    made.chat.set_focus(made.chat.transcript)
    await made.settle()


async def _selection(made: Stage) -> None:
    await _chat(made)
    await made.press("shift+up", "shift+up")
    await made.until(lambda: made.chat.selected is not None)


async def _find(made: Stage) -> None:
    made.chat.open_find("line")
    await made.until(lambda: made.chat.find_bar is not None and "hit" in made.chat.find_bar.said)


async def _hits(made: Stage) -> None:
    await _find(made)
    await made.press("tab")
    await made.until(lambda: made.chat.transcript.has_focus)


async def _card(made: Stage) -> None:
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)


def _line_of_card(*keys: str) -> Callable[[Stage], Awaitable[None]]:
    async def go(made: Stage) -> None:
        await _card(made)
        await made.press(*keys)
        card = made.chat.dock.card
        await made.until(
            lambda: card is not None and made.app.focused is not card and made.chat.dock.has_keys
        )

    return go


async def _in_chat(made: Stage) -> None:
    done = changes.CompactionCompleted(
        "manual", "summary", 150_212, 41_300, 12.0, "context_3.jsonl", "s1", "what was said", 34
    )
    made.session.emit(done)
    await made.until(lambda: made.chat.transcript.waiting is not None)
    await made.press("ctrl+x", "a")
    await made.until(lambda: made.chat.results.current is not None)


async def _proposal(made: Stage) -> None:
    await proposed(made, proposal(made.session))
    await made.press("ctrl+x", "a")
    await made.until(lambda: made.chat.results.current is not None)


async def _proposal_text(made: Stage) -> None:
    await _proposal(made)
    await made.press("e")
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes)


def _memory(then: str = "") -> Callable[[Stage], Awaitable[None]]:
    async def go(made: Stage) -> None:
        await made.chat.shelf.open()
        sidebar = made.chat.sidebar
        assert sidebar is not None
        await made.until(lambda: sidebar.current is not None and made.app.focused is sidebar.rows)
        if then == "search":
            await made.press("slash")
            await made.type("tabs")
        elif then == "detail":
            await made.press("enter")
            await made.until(lambda: "written by you" in made.text)
        elif then == "editor":
            await made.press("e")
        await made.settle()

    return go


def _with_memories(session: FakeSession) -> None:
    long(session)
    remembered(session)


async def _review(made: Stage) -> None:
    question = said.Question("q1", "review", "put it in force?", editable="what was said")
    made.session.emit(said.Asked(question))
    await made.until(lambda: made.chat.dock.has_keys)


def _plan(*keys: str) -> Callable[[Stage], Awaitable[None]]:
    async def go(made: Stage) -> None:
        question = said.Question("q1", "plan", "accept this plan?", rule="ask", editable="# a plan")
        made.session.emit(said.Asked(question))
        await made.until(lambda: made.chat.dock.has_keys)
        await made.press(*keys)
        card = made.chat.dock.card
        await made.until(lambda: card is not None and card.writes == bool(keys))

    return go


async def _rule(made: Stage) -> None:
    await _card(made)
    await made.press("w")
    await made.until(lambda: "[n] back" in made.text)


async def _jump(made: Stage) -> None:
    await made.chat.open_jump()
    await made.until(lambda: made.chat.jump is not None and made.app.focused is made.chat.jump.rows)


def _tab(number: int, then: str = "") -> Callable[[Stage], Awaitable[None]]:
    async def go(made: Stage) -> None:
        await made.chat.toggle_panel()
        panel = made.chat.panel
        assert panel is not None
        await panel.show(number)
        filled = TABS[number] != "events"  # nothing has happened yet
        await made.until(lambda: len(panel.tab.rows) >= filled and made.app.focused is panel.tab.rows)
        if then == "filter":
            await made.press("slash")
            await made.type("line")
        elif then == "detail":
            await made.press("enter")
            await made.until(lambda: panel.tab.detail_open)
        await made.settle()

    return go


def _request(then: str) -> Callable[[Stage], Awaitable[None]]:
    async def go(made: Stage) -> None:
        await _tab(TABS.index("request"))(made)
        panel = made.chat.panel
        assert panel is not None
        await made.press(then)
        await made.until(lambda: panel.tab.detail_open if then == "j" else "every request" in made.text)

    return go


def _with_backup(session: FakeSession) -> None:
    long(session)
    session.context.rewrite("revert", 4)


async def _tour(made: Stage) -> None:
    await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))
    await made.settle()


# --- over the chat


def _place(name: str, then: str = "") -> Callable[[Stage], Awaitable[None]]:
    async def go(made: Stage) -> None:
        if name == "sessions":
            made.app.show_sessions()
        else:
            made.chat.tell_app(made.chat.ScreenWanted(name))
        await made.until(lambda: isinstance(made.app.screen, Place) and made.app.focused is not None)
        place = made.app.screen
        if then == "filter":
            assert isinstance(place, Listing)
            place.action_filter()
        elif then == "value":
            assert isinstance(place, Listing)
            place.ask("a value", "half a thought", lambda text: None)
        await made.settle()

    return go


TABS = ("records", "checkpoints", "backups", "tokens", "request", "events")

ON_CHAT: dict[str, Spot] = {
    "composer": Spot(_composer),
    "draft": Spot(_draft),
    "several lines": Spot(_lines),
    "completion": Spot(_completion),
    "history search": Spot(_search),
    "chat": Spot(_chat),
    "selection": Spot(_selection),
    "find bar": Spot(_find),
    "hits": Spot(_hits),
    "card": Spot(_card),
    "reply line": Spot(_line_of_card("u", "s", "e")),
    "edit line": Spot(_line_of_card("e")),
    "rule line": Spot(_rule),
    "jump card": Spot(_jump),
    "card in the chat": Spot(_in_chat),
    "review": Spot(_review),
    "plan": Spot(_plan()),
    "reason": Spot(_plan("r")),
    "proposal": Spot(_proposal),
    "text of a proposal": Spot(_proposal_text),
    "memory": Spot(_memory(), prepare=_with_memories),
    "search in memory": Spot(_memory("search"), prepare=_with_memories),
    "detail of memory": Spot(_memory("detail"), prepare=_with_memories),
    "memory editor": Spot(_memory("editor"), prepare=_with_memories),
    **{name: Spot(_tab(number), prepare=_with_backup) for number, name in enumerate(TABS)},
    "filter of records": Spot(_tab(0, "filter")),
    "detail of records": Spot(_tab(0, "detail")),
    "detail of backups": Spot(_tab(2, "detail"), prepare=_with_backup),
    "text of a request": Spot(_request("j")),
    "requests": Spot(_request("l")),
    "tour": Spot(_tour),
    "read-only session": Spot(_composer, prepare=read_only),
    "no session yet": Spot(_composer, opened=False),
}
OVER: dict[str, Spot] = {
    "help": Spot(_place("help"), "help"),
    "palette": Spot(_place("commands"), "commands"),
    "sessions": Spot(_place("sessions"), "sessions"),
    "filter of sessions": Spot(_place("sessions", "filter"), "sessions"),
    "title of a session": Spot(_place("sessions", "value"), "sessions"),
    "settings": Spot(_place("settings"), "settings"),
    "value of a setting": Spot(_place("settings", "value"), "settings"),
    "connect": Spot(_place("connect"), "connect"),
    "field of connect": Spot(_place("connect", "value"), "connect"),
    "models": Spot(_place("model"), "model"),
    "themes": Spot(_place("theme"), "theme"),
    "queue": Spot(_place("queue"), "queue"),
}
EVERY = ON_CHAT | OVER
