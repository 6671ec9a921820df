"""Where entries stand: pages that join without a gap, spots that stay, nothing measured that nobody sees."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tui_agent.ui.transcript.entries import Entry, Gap, Note, Words
from tui_agent.ui.transcript.layout import READ, Layout, Spot
from tui_agent.ui.transcript.paint import Part

PAGE = 10


class World:
    """Messages of known heights (a list of parts each) behind a layout; it counts what is measured."""

    def __init__(self, heights: list[list[int]], *, apart: bool = True) -> None:
        self.heights = heights
        self.kind = Words if apart else Note
        self.true: dict[Part, tuple[int, int, int]] = {}
        self.measured: list[Part] = []
        self.read = 0
        self._parts: dict[Entry, list[Part]] = {}
        self._numbers: dict[Entry, int] = {}
        self.layout = Layout(self.parts, self.measure, self.messages)
        self.layout.width = 40
        self.layout.load([Gap(0, len(heights))] if heights else [])

    def parts(self, entry: Entry) -> list[Part]:
        if entry not in self._parts:
            number = self._numbers.get(entry, -1)
            own = []
            for place, height in enumerate(self.heights[number] if number >= 0 else [1]):
                part = Part(lambda width: [], beyond=(number * 7 + place) % 5 * 40)
                self.true[part] = number, place, height
                own.append(part)
            self._parts[entry] = own
        return self._parts[entry]

    def measure(self, part: Part) -> int:
        self.measured.append(part)
        return self.true[part][2]

    def messages(self, gap: Gap, start: int, stop: int) -> tuple[int, int, list[Entry]]:
        start, stop = max(start, gap.start), min(stop, gap.stop)
        entries: list[Entry] = []
        for number in range(start, stop):
            entry = self.kind(str(number))
            self._numbers[entry] = number
            entries.append(entry)
        self.read += len(entries)
        return start, stop, entries

    def rows(self, spot: Spot, count: int) -> list[tuple[int, int, int]]:
        """The rows from a spot on: message, part, row; the blank ones have part -1."""
        found = []
        for placed, part, first, shown in self.layout.parts(spot, count):
            number = self._numbers[placed.entry]
            found += [(number, part, first + row) for row in range(shown)]
        return found

    @property
    def all(self) -> list[tuple[int, int, int]]:
        """Every row there is."""
        found: list[tuple[int, int, int]] = []
        for number, parts in enumerate(self.heights):
            if number and self.kind is Words:
                found.append((number, -1, 0))
            found += [(number, place, row) for place, height in enumerate(parts) for row in range(height)]
        return found


worlds = st.builds(
    World,
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=3), min_size=1, max_size=80),
    apart=st.booleans(),
)


@given(worlds)
@examples(40)
def test_pages_from_the_end_to_the_beginning_join(world: World) -> None:
    spot = world.layout.last_page(PAGE)
    assert spot is not None
    pages = [world.rows(spot, PAGE)]
    while (above := world.layout.up(spot, PAGE)) != spot:
        pages.append(world.rows(above, world.layout.y(spot) - world.layout.y(above)))
        spot = above
    assert [row for page in reversed(pages) for row in page] == world.all
    assert world.layout.total == len(world.all)


@given(worlds)
@examples(40)
def test_pages_from_the_beginning_to_the_end_join(world: World) -> None:
    spot = world.layout.first()
    assert spot is not None
    rows = world.rows(spot, PAGE)
    while world.layout.y(spot) + PAGE < world.layout.total:
        spot = world.layout.down(spot, PAGE)
        rows += world.rows(spot, PAGE)
    # where the last part turns out to be empty, the last page shows some rows again
    assert list(dict.fromkeys(rows)) == world.all


@given(worlds, st.lists(st.integers(-30, 30), max_size=20))
@examples(40)
def test_up_and_down_move_by_exactly_so_many_rows(world: World, moves: list[int]) -> None:
    layout, every = world.layout, world.all
    spot = layout.last_page(1)
    assert spot is not None
    at = len(every) - 1
    if not every:
        return
    for by in moves:
        spot = layout.up(spot, -by) if by < 0 else layout.down(spot, by)
        at = max(0, min(at + by, len(every) - 1))
        assert world.rows(spot, 1) == [every[at]]


@given(worlds, st.floats(0, 1), st.integers(0, 50))
@examples(40)
def test_a_jump_lands_in_order_and_its_row_stays_when_rows_above_become_known(
    world: World, share: float, up: int
) -> None:
    layout = world.layout
    spot = layout.spot(int(share * (layout.total - 1)))
    assert spot is not None
    page = world.rows(spot, PAGE)
    assert page == sorted(page)
    layout.up(spot, up)
    kept = world.rows(spot, PAGE)
    # the one row that may come is the blank one, once it is known what stands above
    assert kept[-len(page) :][: len(page) - 1] == page[: len(page) - 1] or kept[: len(page)] == page


def test_only_what_is_near_the_screen_is_read_and_measured() -> None:
    world = World([[3, 2]] * 10_000)
    spot = world.layout.last_page(PAGE)
    assert spot is not None
    world.rows(spot, PAGE)
    assert world.read <= READ
    assert len(world.measured) <= 2 * PAGE
    middle = world.layout.spot(world.layout.total // 2)
    assert middle is not None
    world.rows(middle, PAGE)
    assert world.read <= 3 * READ


def test_a_height_that_was_guessed_wrong_leaves_the_spot_where_it_is() -> None:
    world = World([[50]] * 100)
    layout = world.layout
    spot = layout.spot(layout.total // 2)
    assert spot is not None
    row = world.rows(spot, 1)
    before = layout.y(spot)
    layout.measure(Spot(layout.up(spot, 400).placed, 0, 0), 300)
    assert world.rows(spot, 1) == row
    assert layout.y(spot) != before, "its number changes, not its place"


def test_rows_of_entries_that_come_go_and_change_add_up() -> None:
    world = World([[2]] * 3)
    layout = world.layout
    layout.last_page(100)
    note = Note("one")
    layout.add(note)
    layout.last_page(100)
    assert layout.total == 2 + 3 + 3 + 2
    layout.remove(note)
    assert layout.total == 2 + 3 + 3
    first = next(iter(layout)).entry
    world.heights[0] = [5, 5]
    world._parts.pop(first)
    layout.change(first)
    layout.measure(layout.spot(0) or Spot(next(iter(layout)), 0, 0), 100)
    assert layout.total == 10 + 3 + 3
    layout.resize(20)
    layout.last_page(100)
    assert layout.total == 10 + 3 + 3


def test_a_history_that_became_shorter_is_no_error() -> None:
    world = World([[1]] * 50)
    world.messages = lambda gap, start, stop: (gap.start, gap.start, [])  # type: ignore[method-assign]
    world.layout._read = world.messages
    assert world.layout.last_page(PAGE) is None
    assert world.layout.total == 0


@pytest.mark.parametrize("count", [0, 1, 30])
def test_the_last_page_of_little_is_all_of_it(count: int) -> None:
    world = World([[1]] * count, apart=False)
    spot = world.layout.last_page(100)
    assert (spot is None) == (count == 0)
    assert spot is None or world.rows(spot, 100) == world.all


def test_tops_ascend() -> None:
    world = World([[number % 4] for number in range(60)])
    world.layout.last_page(PAGE)
    tops = [world.layout.top(placed) for placed in world.layout]
    assert all(one <= other for one, other in pairwise(tops))
