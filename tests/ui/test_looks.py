"""How every screen and state looks at three sizes, with sixteen colours and with none; and what each of them promises.

CI draws each of them at one size, another one in turn, and with sixteen colours or none; the slow tests draw them all.

After a change that you meant: `pytest tests/ui/test_looks.py --snapshot-update`, and read the difference. With
`PICTURES=FOLDER` every screen is written there as an SVG too.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import category, combining, east_asian_width

import pytest
import time_machine
from rich.cells import cell_len
from rich.color import ColorType
from rich.segment import Segment
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SerializableData, SnapshotIndex
from textual.color import Color
from textual.containers import VerticalScroll
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget

from tests.ui.drawn import rows, strips_of, styles
from tests.ui.fake import FakeSession
from tests.ui.inspector.logs import SHORT, TABS
from tests.ui.scenes import SCENES, Scene
from tests.ui.stage import Stage, stage
from tui_agent.llm.connect import PRESETS
from tui_agent.settings import secrets
from tui_agent.settings.schema import Settings
from tui_agent.ui.cards.card import Card
from tui_agent.ui.chat import status
from tui_agent.ui.chat.layout import LEAST_CHAT_ROWS, MOST_CARD_ROWS
from tui_agent.ui.footer import MOST, KeyLine
from tui_agent.ui.rows import Rows
from tui_agent.ui.themes import UNICODE
from tui_agent.ui.transcript import sheet, view
from tui_agent.ui.transcript.view import Transcript

SIZES = ((80, 24), (120, 36), (200, 50))
WHOLE = "-whole"
_BETWEEN = re.compile(r"(?<=\n)\n(?=\d+ x \d+\n)")
"""What stands in a sheet between a scene at one size and at the next."""
MOST_WIDGETS = 80
_ID = re.compile("01[0-9A-HJKMNP-TV-Z]{24}|(?<=/shop-)[0-9a-f]{8}(?=/)")
"""A session's id, and what tells the folder of one workspace from another's; no two are the same."""


class Sheet(SingleFileSnapshotExtension):
    """A file of text for each scene, in which the scene at one size is a part."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return super().get_snapshot_name(test_location=test_location, index=index).replace(WHOLE, "")

    def matches(self, *, serialized_data: SerializableData, snapshot_data: SerializableData) -> bool:
        return serialized_data == snapshot_data or serialized_data in _BETWEEN.split(str(snapshot_data))


@pytest.fixture
def sheets(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """What was drawn when it was last approved of."""
    return snapshot.use_extension(Sheet)


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One time zone, clocks that stand, and no keys: what is shown is always the same."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    for module in (view, sheet):
        monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    monkeypatch.setattr(secrets, "has_keyring", lambda: False)
    for preset in PRESETS:
        monkeypatch.delenv(preset.api_key_env or "NO_SUCH_KEY", raising=False)
    with time_machine.travel(datetime(2024, 3, 5, 12, 40, tzinfo=UTC), tick=False):
        yield


@asynccontextmanager
async def shown(scene: Scene, tmp_path: Path) -> AsyncIterator[Stage]:
    """The scene at 80x24."""

    def fill(session: FakeSession) -> None:
        session.workspace = Path.home() / "work" / "shop"
        scene.fill(session)

    async with stage(tmp_path, size=SIZES[0], prepare=fill, settings=Settings(**scene.settings)) as made:
        made.chat.status._clock = lambda: 0.0
        await made.settle()
        await scene.reach(made)
        await at_rest(made)
        yield made


async def at_rest(made: Stage) -> None:
    """Let everything be drawn."""
    await made.settle()
    made.chat.transcript.flush()
    await made.settle()


def _in_turn() -> Iterator[object]:
    """Each scene at one of the sizes, and at all of them when all slow tests run."""
    for number, name in enumerate(SCENES):
        yield pytest.param(name, [SIZES[number % len(SIZES)]], id=name)
        yield pytest.param(name, SIZES, id=f"{name}{WHOLE}", marks=pytest.mark.slow)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "sizes"), _in_turn())
async def test_it_looks_as_it_did(
    name: str, sizes: Sequence[tuple[int, int]], tmp_path: Path, sheets: SnapshotAssertion
) -> None:
    scene, drawn = SCENES[name], []
    async with shown(scene, tmp_path) as made:
        for width, height in SIZES if sheets.update_snapshots else sizes:
            if (width, height) != SIZES[0]:  # as it is shown first
                await made.pilot.resize_terminal(width, height)
                await at_rest(made)
            _draw(made, f"{name}-{width}")
            check(made, scene, width, height)
            strips = strips_of(made)
            drawn.append(f"{width} x {height}\n{rows(strips)}\n{styles(strips)}\n")
    assert _masked("\n".join(drawn)) == sheets


PLAIN = (
    "busy",
    "failed",
    "diff_open",
    "selection",
    "completion",
    "find",
    "approval",
    "approval_edit",
    "jump",
)
PLAIN += ("records", "tokens", "queue", "connect_failed", "letters")
PLAIN += ("request_found", "request_diff")
PLAIN += ("compacting", "compacted_doubts", "review", "records_picked", "tokens_saved")
"""Scenes in which colours say something."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("name", "colours"),
    [
        pytest.param(name, colours, marks=pytest.mark.slow if (number + turn) % 2 else ())
        for number, name in enumerate(PLAIN)
        for turn, colours in enumerate(("ansi", "none"))
    ],
)
async def test_sixteen_colours_and_none_say_the_same(
    name: str, colours: str, tmp_path: Path, sheets: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    if colours == "none":
        monkeypatch.setenv("NO_COLOR", "1")
    scene = replace(SCENES[name], settings={"theme": "ansi"})
    async with shown(scene, tmp_path) as made:
        _draw(made, f"{name}-{colours}")
        for words in scene.words:
            assert words in made.text, made.text
        strips = strips_of(made)
        found = {colour for strip in strips for part in strip for colour in _colours(part)}
        assert len(found) <= (0 if colours == "none" else 8), "the terminal's own colours, or none"
        assert (
            any(part.style and part.style.reverse for strip in strips for part in strip)
            or UNICODE.here in made.text
        )
        drawn = f"{rows(strips)}\n{styles(strips)}\n"
    assert _masked(drawn) == sheets


def _masked(drawn: str) -> str:
    return _ID.sub(lambda found: "0" * len(found[0]), drawn)


def _colours(part: Segment) -> set[str]:
    """The colours of a piece of a row that are not the terminal's own two."""
    both = (part.style.color, part.style.bgcolor) if part.style else ()
    assert not any(colour and colour.type is ColorType.TRUECOLOR for colour in both), part
    return {colour.name for colour in both if colour and colour.type is not ColorType.DEFAULT}


def _draw(made: Stage, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        Path(folder, f"{name}.svg").write_text(made.app.export_screenshot(), encoding="utf-8")


def check(made: Stage, scene: Scene, width: int, height: int) -> None:
    """What every state promises at every size."""
    strips = strips_of(made)
    lines = [strip.text for strip in strips]
    text = "\n".join(lines)
    at = f"{scene.name} at {width} x {height}:\n{text}"
    for words in scene.words:
        assert words in text, f"{words!r} is not to be seen, {at}"
    assert [cell_len(line) for line in lines] == [width] * height, at
    assert not [line for line in lines if combining(line[0])], at
    assert not _ambiguous(text), at
    widgets = [widget for screen in made.app.screen_stack for widget in screen.walk_children(with_self=True)]
    assert len(widgets) <= MOST_WIDGETS
    _check_titles(made, strips, at)
    _check_footer(made, strips, at)
    _check_focus(made, strips, at)
    if made.app.screen is made.chat:
        _check_status(made, lines[0], at)
        _check_rows(made, at)


def _ambiguous(text: str) -> set[str]:
    """Signs that are two cells wide in some terminals. Lines and bars may be, and the dots of a hidden key."""
    signs = {sign for sign in text if category(sign)[0] in "PS" and not "\u2500" <= sign <= "\u259f"}
    return {sign for sign in signs if east_asian_width(sign) == "A"} - {"\u2022"}


def _row(strips: list[Strip], widget: Widget, y: int) -> str:
    """What is on the screen in a row of the widget."""
    return strips[y].crop(widget.region.x, widget.region.right).text


def _check_titles(made: Stage, strips: list[Strip], at: str) -> None:
    """The title of every frame is whole, and so are the names of the tabs."""
    for widget in made.app.screen.walk_children():
        if widget.region and widget.display and widget.styles.border_top[0]:
            top, bottom = (_row(strips, widget, y) for y in (widget.region.y, widget.region.bottom - 1))
            for title, row in ((widget.border_title, top), (widget.border_subtitle, bottom)):
                assert not title or Content(str(title)).plain in row, at
    if made.chat.panel is not None and made.app.screen is made.chat:
        names = _row(strips, made.chat.panel, made.chat.panel.region.y) + " "
        assert any(all(f" {tab} " in names for tab in tabs) for tabs in (TABS, SHORT)), at


def _check_footer(made: Stage, strips: list[Strip], at: str) -> None:
    """Every entry is whole, at most six of them, and the way back is among them."""
    for line in made.app.screen.query("#keys").results(KeyLine):
        whole = {f"{entry.key} {entry.words}" for entry in line.entries}
        text = "  ".join(_row(strips, line, y).strip() for y in range(line.region.y, line.region.bottom))
        shown = re.split(" {2,}", text.strip())
        assert set(shown) <= whole, (set(shown) - whole, at)
        if not made.chat.leading:
            assert len(shown) <= MOST, at
        assert any(words in entry for entry in shown for words in ("jump back", "go back here")), at


def _check_focus(made: Stage, strips: list[Strip], at: str) -> None:
    """One place shows that it has the focus: a row, a cursor, or the frame of a card.

    What is empty has no row, and the letters after the leader key lie over the composer.
    """
    theme, focused = made.app.theme_variables, made.app.focused
    if isinstance(focused, Transcript):
        assert [strip.text[0] for strip in strips].count(UNICODE.cursor) == 1, at
        return
    rows = _drawn_on(strips, theme["block-cursor-background"])
    cursors = _drawn_on(strips, theme["input-cursor-background"])
    if isinstance(focused, Card):
        assert (rows, cursors) == ([], []), at
        assert focused.styles.border_top[1] == Color.parse(theme["border"]), at
    else:
        nothing = isinstance(focused, VerticalScroll) or (isinstance(focused, Rows) and not len(focused))
        marks = len(rows) + len(cursors)
        assert marks == int(not nothing) or (made.chat.leading and not marks), (rows, cursors, at)


def _drawn_on(strips: list[Strip], ground: str) -> list[int]:
    """The rows of the screen that have cells on a ground of that colour."""
    colour = Color.parse(ground).hex.lower()
    return [
        y
        for y, strip in enumerate(strips)
        if any(
            part.style and part.style.bgcolor and part.style.bgcolor.get_truecolor().hex == colour
            for part in strip
        )
    ]


def _check_status(made: Stage, line: str, at: str) -> None:
    """The number is whole, and a demo says that it is one."""
    weight = made.session.context.weigh()
    number = status.weight(weight.total, weight.exact, weight.pending, weight.mark)
    assert f" {number} " in line, at
    assert made.session.demo == ("demo model - no AI" in line), at


def _check_rows(made: Stage, at: str) -> None:
    """How many rows every part has."""
    chat = made.chat
    assert chat.transcript.size.height >= LEAST_CHAT_ROWS, at
    if chat.dock.card is not None:
        assert chat.dock.card.outer_size.height <= MOST_CARD_ROWS, at
    if chat.dock.has_keys:
        assert chat.composer.size.height == 1, at
