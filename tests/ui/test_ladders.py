"""ctrl+c and Esc do the nearest thing first: every state, both keys, step by step."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.ui.spots import EVERY, Spot, at
from tests.ui.stage import Stage
from tui_agent.ui.chat import ladders
from tui_agent.ui.over import Place

State = Callable[[Stage], Awaitable[None]]


async def _busy(made: Stage) -> None:
    made.session.begin()
    await made.settle()


async def _busy_card(made: Stage) -> None:
    await _busy(made)
    await EVERY["card"].go(made)


def _and_busy(place: str) -> State:
    async def go(made: Stage) -> None:
        await EVERY[place].go(made)
        await _busy(made)

    return go


STATES: dict[str, State] = {
    **{
        place: EVERY[place].go for place in ("composer", "draft", "completion", "history search", "selection")
    },
    **{place: EVERY[place].go for place in ("find bar", "hits", "chat", "jump card", "records")},
    **{place: EVERY[place].go for place in ("detail of records", "filter of records", "card", "reply line")},
    "busy": _busy,
    "busy card": _busy_card,
    **{
        f"busy {place}": _and_busy(place)
        for place in (
            "draft",
            "completion",
            "selection",
            "find bar",
            "jump card",
            "records",
            "help",
            "settings",
        )
    },
    **{place: EVERY[place].go for place in ("help", "palette", "settings", "filter of sessions")},
}

_STEPS: dict[str, tuple[str, str]] = {
    # state: what ctrl+c does, and again; what Esc does, and again
    "composer": ("again to quit, quits", "nothing, jump back"),
    "draft": ("clears, again to quit", "nothing, jump back"),
    "completion": ("clears, again to quit", "closes completion, nothing"),
    "history search": ("leaves search, again to quit", "leaves search, nothing"),
    "selection": ("copies, again to quit", "deselects, composer"),
    "find bar": ("copies, again to quit", "closes find, nothing"),
    "hits": ("again to quit, quits", "closes find, nothing"),
    "chat": ("again to quit, quits", "composer, nothing"),
    "jump card": ("again to quit, quits", "closes jump, nothing"),
    "records": ("again to quit, quits", "composer, nothing"),
    "detail of records": ("again to quit, quits", "closes detail, composer"),
    "filter of records": ("again to quit, quits", "takes filter, composer"),
    "card": ("again to quit, quits", "composer, nothing"),
    "reply line": ("again to quit, quits", "to the card, composer"),
    "busy": ("cancels, again to quit", "cancels, nothing"),
    "busy card": ("cancels, again to quit", "composer, cancels"),
    "busy draft": ("cancels, clears", "cancels, nothing"),
    "busy completion": ("cancels, clears", "closes completion, cancels"),
    "busy selection": ("copies, cancels", "cancels, deselects"),
    "busy find bar": ("copies, cancels", "closes find, cancels"),
    "busy jump card": ("cancels, again to quit", "closes jump, cancels"),
    "busy records": ("cancels, again to quit", "cancels, composer"),
    "busy help": ("cancels, closes place", "closes place, cancels"),
    "busy settings": ("cancels, closes place", "closes place, cancels"),
    "help": ("closes place, again to quit", "closes place, nothing"),
    "palette": ("closes place, again to quit", "closes place, nothing"),
    "settings": ("closes place, again to quit", "closes place, nothing"),
    "filter of sessions": ("closes place, again to quit", "takes filter, closes place"),
}


class Seen:
    """What a key has done: the difference between two looks at the screen."""

    def __init__(self, made: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = made
        self.copied: list[str] = []
        self.said: list[str] = []
        self.quits = 0
        chat = made.chat
        monkeypatch.setattr(chat, "copy", self.copied.append)

        async def copied(text: str) -> None:
            self.copied.append(text)

        monkeypatch.setattr(chat, "_copied", copied)
        monkeypatch.setattr(chat, "notify", lambda text, **_: self.said.append(text))

        async def leave() -> None:
            self.quits += 1

        made.app.action_quit = leave  # type: ignore[method-assign]

    def look(self) -> dict[str, object]:
        """What is there now."""
        made = self.made
        chat, focused = made.chat, made.app.focused
        card, panel = chat.dock.card, chat.panel
        return {
            "quits": self.quits,
            "again to quit": len(self.said),
            "copies": len(self.copied),
            "cancels": made.session.cancels,
            "closes place": isinstance(made.app.screen, Place),
            "leaves search": chat.composer.searching,
            "clears": chat.composer.is_blank,
            "closes completion": chat.completion.is_open,
            "closes jump": chat.jump is not None,
            "closes find": chat.find_bar is not None,
            "takes filter": bool(_filters(made)),
            "closes detail": panel is not None and panel.tab.detail_open,
            "deselects": chat.selected is not None,
            "composer": focused is chat.composer,
            "to the card": focused is card if card is not None else None,
        }


def _filters(made: Stage) -> bool:
    words = getattr(made.app.screen, "words", None)
    panel = made.chat.panel
    shown = panel.tab._filter.display if panel is not None else False
    return bool(words.display if words is not None else shown)


_KEYS = ("ctrl+c", "escape")
_SLOW = [
    (state, key)
    for number, (state, key) in enumerate(itertools.product(STATES, _KEYS))
    if number % 4 in (1, 2) and state not in ("busy", "busy card", "card", "selection", "draft")
]
"""One key of every second state, the other one of those between; the states where most is at stake keep both in CI."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("state", "key"),
    [
        pytest.param(*pair, marks=pytest.mark.slow if pair in _SLOW else ())
        for pair in itertools.product(STATES, _KEYS)
    ],
)
async def test_a_key_does_the_nearest_thing_first(
    state: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "_AGAIN", 3600.0)
    monkeypatch.setattr(ladders, "_TWICE", 3600.0)
    async with at(tmp_path, Spot(STATES[state])) as made:
        seen = Seen(made, monkeypatch)
        for step in _STEPS[state][key == "escape"].split(", "):
            before = seen.look()
            await made.press(key)
            await made.settle()
            after = seen.look()
            did = next((name for name in before if before[name] != after[name]), "nothing")
            if step == "jump back":
                assert made.chat.jump is not None
            elif step == "quits":
                assert did == "quits"
            else:
                assert did == step, f"{key} in {state}"


async def test_up_brings_back_what_ctrl_c_cleared(tmp_path: Path) -> None:
    async with at(tmp_path, EVERY["draft"]) as made:
        await made.press("ctrl+c", "up")
        assert made.chat.composer.text == "half a thought"


async def test_a_docked_panel_stays_where_an_overlaid_one_is_closed(tmp_path: Path) -> None:
    for size, stays in (((120, 36), True), ((80, 24), False)):
        async with at(tmp_path / str(stays), EVERY["records"], size) as made:
            await made.press("escape")
            await made.settle()
            assert (made.chat.panel is not None) == stays
            assert made.app.focused is made.chat.composer


async def test_a_key_that_stops_or_scrolls_ends_the_waiting_for_a_letter(tmp_path: Path) -> None:
    async with at(tmp_path, EVERY["composer"]) as made:
        for key in ("ctrl+c", "escape", "enter", "up", "f1", "ctrl+x"):
            await made.press("ctrl+x")
            assert made.chat.leading
            await made.press(key)
            assert not made.chat.leading, key
