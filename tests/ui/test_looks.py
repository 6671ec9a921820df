"""How the screen looks at three sizes, as pictures and as text. Pictures: `pytest tests/ui --snapshot-update`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine
from textual.pilot import Pilot

from tests.ui.fake import FakeSession, conversation
from tests.ui.stage import Stage, app_with
from tui_agent import events as said
from tui_agent.ui.transcript import code, sheet, view

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}

LONG_ANSWER = """## What changes

1. `report` gets a flag `--json`; the rows are printed as one JSON document.
2. The table stays the default.

| flag | prints |
|---|---|
| (none) | a table |
| `--json` | one document |

```python
def report(rows: list[Row], *, as_json: bool = False) -> str:
    return json.dumps([asdict(row) for row in rows]) if as_json else table(rows)
```
"""


async def _empty(made: Stage) -> None:
    pass


async def _busy(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        said.TextDelta("I will look at the command first.\n\n"),
        said.ToolStarted("c1", "bash", "pnpm test --filter web"),
        said.ToolProgress("c1", "ran 12 of 40\n"),
    )
    await made.type("also mention it in the README")


async def _waiting(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    made.session.ask(body="git push")
    await made.until(lambda: "answer 1 of 2" in made.text)


async def _error(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        said.RequestFailed(
            "overflow",
            "prompt is too long: 212,000 tokens do not fit 200,000",
            ("go back to an earlier checkpoint (/revert)", "elide the largest item in the inspector"),
        )
    )
    made.session.end("failed")


async def _long(made: Stage) -> None:
    code.warm()
    made.session.begin("explain")
    made.session.emit(said.TextDelta(LONG_ANSWER), said.ReplyEnded("r99", "end_turn", LONG_ANSWER))
    made.session.end()
    await made.type("/re")


async def _inspector(made: Stage) -> None:
    await made.press("f3")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)


async def _jump(made: Stage) -> None:
    await made.press("f6")
    await made.until(lambda: made.chat.jump is not None and "messages leave the chat" in made.text)


STATES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "empty": _empty,
    "busy": _busy,
    "waiting": _waiting,
    "error": _error,
    "long": _long,
    "inspector": _inspector,
    "jump": _jump,
}


def _fill(state: str) -> Callable[[FakeSession], None]:
    def fill(session: FakeSession) -> None:
        session.workspace = Path.home() / "work" / "shop"
        if state != "empty":
            conversation(session.context, 12 if state == "long" else 3)
        if state == "inspector":
            session.context.line(b'{"role": "user", "content": [', damaged="it is not a JSON object")

    return fill


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One time zone, and clocks that stand: what is shown of time is always the same."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    for module in (view, sheet):
        monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    with time_machine.travel(datetime(2024, 3, 5, 12, 40, tzinfo=UTC), tick=False):
        yield


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", STATES)
def test_the_screen_looks_as_it_did(state: str, size: str, tmp_path: Path, snap_compare: Any) -> None:
    sessions: list[FakeSession] = []
    app = app_with(tmp_path, prepare=_fill(state), sessions=sessions)
    seen: dict[str, Any] = {}

    async def before(pilot: Pilot[Any]) -> None:
        made = Stage(app, pilot, sessions)
        await made.until(lambda: made.chat.session is not None)
        made.chat.status._clock = lambda: 0.0
        await made.settle()
        await STATES[state](made)
        await made.settle()
        made.chat.transcript.flush()
        await made.settle()
        seen["lines"], seen["chat"] = made.lines, made.chat.transcript.size.height

    assert snap_compare(app, terminal_size=SIZES[size], run_before=before)
    _check(state, SIZES[size], seen["lines"], seen["chat"])


def _check(state: str, size: tuple[int, int], lines: list[str], chat: int) -> None:
    """What every state promises at every size."""
    width, height = size
    assert len(lines) == height
    assert all(len(line) <= width for line in lines)
    assert chat >= 8, "the chat keeps eight rows"
    status, footer = lines[0], lines[-1]
    if state != "empty":
        assert "18,734 ~+1,204" in status, "the number is never given up"
    expected = {
        "empty": ("Ask, or / for commands", "ready"),
        "busy": ("pnpm test --filter web", "running bash", "Enter: at the next step", "stop"),
        "waiting": ("run this command?", "2 to answer", "answer 1 of 2", "[y] once"),
        "error": ("prompt is too long", "/revert", "ready"),
        "long": ("/revert CHECKPOINT", "/restore BACKUP"),
        "inspector": ("Records", "damaged", "it is not a", "filter"),
        "jump": ("go back to before", "your words", "Enter goes back"),
    }[state]
    whole = "\n".join(lines)
    for words in expected:
        assert words in whole, f"{words!r} is on the screen"
    if state not in ("jump",):
        assert "jump back" in footer, "the way back is always among the keys"
