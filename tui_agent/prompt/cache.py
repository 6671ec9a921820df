"""The provider's prefix cache: where it may stop reading, whether the prefix still stands, and what will be read.

Rules taken from the Messages API's prompt caching: at most four breakpoints, never on thinking or empty text; order
tools -> system -> messages. Each breakpoint writes an entry, and from each the server looks back over 20 blocks for an
entry that was written before; entries lapse five minutes after their last use and are not made of a prefix below the
model's minimum. Other tools or another model part everything, another system prompt all behind it, another thinking
setting or the first image the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.messages.request import MAX_BREAKPOINTS, Breakpoint
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.held import (
    CROWDED,
    MESSAGES,
    OTHER_MODEL,
    OTHER_THINKING,
    Entry,
    Front,
    Line,
    Place,
    back,
    breakpoint_of,
    least_cached,
    place_of,
)

if TYPE_CHECKING:
    from tui_agent.llm.provider import Usage
    from tui_agent.messages.request import Request

LASTS = timedelta(minutes=5)
"""How long an entry of the cache is kept after its last use."""
_LOOK_BACK = 20
"""Blocks that are tried for an entry from each breakpoint back, its own among them."""
_LOOK_BACK_BLOCKS = 18
"""A message that has more blocks than this gets a breakpoint inside, two below the API's look-back of 20."""
_MOST_LINES = 4
"""So many histories are kept in mind: that of the last request, and those it was parted from."""
_MOST_LEAST = 4_096
"""Tokens: no model's minimum is larger. An endpoint that caches nothing of a request above it has no cache."""
_FEW = 8
"""With so few messages a request's figures tell what its tools and prompt weigh."""


def clock() -> datetime:
    """The time of now, by which entries of the cache lapse."""
    return datetime.now(UTC)


def breakpoints(request: Request) -> list[Breakpoint]:
    """Where the cache of this request may end, at most four places.

    The last two user messages (the last but one is where the request before ended), the system prompt, and the tools;
    instead of the tools, which the system prompt contains, a place inside the last message where that is long: an
    earlier request may have ended inside it, further back than the server looks.
    """
    found: list[Breakpoint] = []
    users = [i for i, message in _from_the_end(request.messages) if message["role"] == "user"]
    for index in users:
        content = request.messages[index]["content"]
        last = _legal(content, len(content) - 1)
        if last is not None:
            found.append(("message", index, last))
    if request.system:
        found.append(("system", len(request.system) - 1))
    if users:
        content = request.messages[users[0]]["content"]
        inside = _legal(content, len(content) - 1 - _LOOK_BACK_BLOCKS)
        if inside is not None:
            found.append(("message", users[0], inside))
    if request.tools:
        found.append(("tool", len(request.tools) - 1))
    return list(dict.fromkeys(found))[:MAX_BREAKPOINTS]


def _from_the_end(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The newest messages, the last first: two of the user are among the last three, or no such two are sent."""
    for index in range(len(messages) - 1, max(-1, len(messages) - 4), -1):
        yield index, messages[index]


def _legal(content: Sequence[Mapping[str, Any]], start: int) -> int | None:
    for index in range(start, -1, -1):
        block = content[index]
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            continue
        if kind == "text" and not str(block.get("text", "")).strip():
            continue
        return index
    return None


class Prediction(Struct, frozen=True):
    """What the cache is expected to do for a request, in tokens: what it serves (`read`) and takes in (`written`).

    `edge` is the last block that it serves, None where it serves nothing. `why` says in words why it does not serve all
    of what was sent last, "" where it does. `marks` are the breakpoints and what the prefix up to each weighs.
    """

    read: int = 0
    written: int = 0
    edge: Breakpoint | None = None
    why: str = ""
    marks: tuple[tuple[Place, int], ...] = ()


NOTHING = Prediction()


class PrefixWatch:
    """Follows the requests of a session: whether each extends the one before, and what the cache has of them.

    A request extends another if its model, tools, system and thinking are equal, and the messages of the other are
    an element-wise prefix of its own, where the last of them may have gained blocks at its end. `predict` may run in a
    thread; the rest belongs to one task.
    """

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._front: Front | None = None
        self._habits: dict[str, _Habit] = {}
        self._announced: dict[str, None] | None = None
        """Why the next request may part from the last, in words, as far as it was said; None: it may not."""
        self._asked: _Asked | None = None
        self._excused = frozenset((CROWDED,))
        """Breaks that are no surprise to whoever asks, though nobody announces them."""
        self.parted = ""
        """Why the last request does not extend the one before, announced or not; "" if it does."""

    def announce(self, why: str = "") -> None:
        """The next request need not extend the last; `why` in words, where more is known than the requests tell."""
        self._announced = (self._announced or {}) | ({why: None} if why else {})

    def predict(
        self, request: Request, at: datetime, *, total: int, estimator: Estimator | None = None
    ) -> Prediction:
        """What the cache will do for a request sent at a time; `total` is its weight in tokens as far as is known."""
        if not request.breakpoints:
            return NOTHING
        estimator = estimator or Estimator(request.model)
        habit = self._habit(request.model)
        found, place = self._found(request, at)
        marks = self._marks(request, total, estimator)
        if habit.none:
            return Prediction(why="the endpoint tells of no cache", marks=marks)
        if found is None or found.tokens < habit.least:
            written = total if total >= habit.least else 0
            return Prediction(0, written, why=self._why(request, at, habit.least, total), marks=marks)
        why = "" if self._is_all(place) else self._why(request, at, habit.least, total)
        return Prediction(found.tokens, max(0, total - found.tokens), breakpoint_of(place), why, marks)

    def sent(
        self, request: Request, at: datetime | None = None, predicted: Prediction = NOTHING
    ) -> str | None:
        """Note a request that goes out; why it does not extend the last one although it should, or None."""
        at = at or clock()
        last = self._lines[0] if self._lines else None
        difference = last.difference(request) if last is not None else ""
        announced, self._announced = self._announced, None
        self.parted = (", ".join(announced or ()) or difference) if difference else ""
        self._follow(request, at, parted=bool(difference))
        self._asked = _Asked(request, predicted, at)
        excused, self._excused = self._excused, frozenset((CROWDED,))
        return difference if difference and announced is None and difference not in excused else None

    def begun(self, at: datetime) -> None:
        """The answer to the last request begins: by now the server has read its cache and written to it, whatever
        becomes of the answer."""
        if self._asked is not None:
            self._asked.at = at
            self._note(self._asked.request, self._asked.predicted, at, None)

    def answered(self, usage: Usage | None) -> tuple[Prediction, datetime]:
        """The last request was answered, with these figures, if the endpoint told any; what was predicted for it, and
        when its answer began."""
        asked, self._asked = self._asked, None
        if asked is None:
            return NOTHING, clock()
        if usage is not None:
            self._note(asked.request, asked.predicted, asked.at, usage)
        return asked.predicted, asked.at

    def recall(self, request: Request, at: datetime, usage: Usage, estimator: Estimator) -> None:
        """A request that was sent in an earlier run, with its figures. What was announced is of the next request."""
        announced = self._announced
        total = usage.total - usage.output
        self.sent(request, at, self.predict(request, at, total=total, estimator=estimator))
        self.answered(usage)
        self._announced, self.parted = announced, ""
        # a session may be opened with another profile
        self._excused |= {OTHER_MODEL, OTHER_THINKING}

    def beside(self, request: Request, at: datetime | None = None) -> None:
        """Another request was answered, which may begin as these do: one for a summary."""
        at = at or clock()
        for line in self._lines:
            shared = line.shared(request)
            for place in map(place_of, request.breakpoints):
                if shared is None or place > shared:
                    continue
                line.used = max(line.used, at)
                if tokens := self._known(line, place):
                    line.entries[place] = Entry(tokens, at)

    # --- how it works ------------------------------------------------------------------------------------------------

    def _note(self, request: Request, predicted: Prediction, at: datetime, usage: Usage | None) -> None:
        """Write down what the server has in its cache now."""
        self._lines[0].used = at
        entries, marks = self._lines[0].entries, dict(predicted.marks)
        if not marks:
            return
        last = max(marks)
        shift = 0
        habit = self._habit(request.model)
        if usage is not None:
            habit.learn(usage)
            exact = _up_to_last(usage)
            self._learn(request, predicted, usage, exact)
            shift = exact - marks[last]
        for place, weight in marks.items():
            if place[0] != MESSAGES and self._front is not None:
                tokens = self._front.tokens(place, 1.0) if self._front.ratio else weight
            elif place in entries and place != last:
                tokens = entries[place].tokens
            else:
                tokens = weight + shift
            if tokens >= habit.least:
                entries[place] = Entry(tokens, at)

    def _habit(self, model: str) -> _Habit:
        return self._habits.setdefault(model, _Habit(least_cached(model)))

    def _found(self, request: Request, at: datetime) -> tuple[Entry | None, Place]:
        """The entry of the longest prefix that the server finds, and where it ends."""
        best: tuple[Entry | None, Place] = (None, (0, -1, 0))
        places = {
            place
            for breakpoint in request.breakpoints
            for place in islice(back(request, place_of(breakpoint)), _LOOK_BACK)
        }
        for line in tuple(self._lines):
            shared = line.shared(request)
            if shared is None:
                continue
            for place in places:
                entry = line.entries.get(place) if best[1] < place <= shared else None
                if entry is not None and at - entry.used <= LASTS:
                    best = (entry, place)
        return best

    def _is_all(self, place: Place) -> bool:
        """Is that all of what was sent last?"""
        return bool(self._lines) and place >= max(self._lines[0].entries, default=place)

    def _why(self, request: Request, at: datetime, least: int, total: int) -> str:
        if not self._lines:
            return "nothing was sent before"
        line = self._lines[0]
        if at - line.used > LASTS:
            minutes = (at - line.used) // timedelta(minutes=1)
            return f"the last request was {minutes:,} minutes ago, so its cache is gone"
        if difference := line.difference(request):
            return ", ".join(self._announced or ()) or difference
        if total < least:
            return f"the model caches nothing below {least:,} tokens"
        return "what was sent last ends further back than the cache looks"

    def _marks(self, request: Request, total: int, estimator: Estimator) -> tuple[tuple[Place, int], ...]:
        """The breakpoints with what the prefix up to each weighs; the last one ends, about, where the request does."""
        found: list[tuple[Place, int]] = []
        places = sorted((place_of(breakpoint) for breakpoint in request.breakpoints), reverse=True)
        behind, last = total, places[0]
        for place in places:
            if place[0] != MESSAGES:
                found.append((place, self._weighed(request, estimator).tokens(place, estimator.factor)))
                continue
            behind -= estimator.count(list(_between(request, place, last))) if place != last else 0
            found.append((place, max(0, behind)))
            last = place
        return tuple(found)

    def _weighed(self, request: Request, estimator: Estimator) -> Front:
        """What tools and prompt weigh; counted once."""
        front = self._front
        if front is None or not front.is_of(request):
            messages = request.messages
            few = len(messages) <= _FEW
            front = self._front = Front(
                request.tools,
                request.system,
                estimator.weigh(request.tools),
                estimator.weigh(list(request.system)),
                estimator.weigh(messages) if few else None,
            )
        return front

    def _known(self, line: Line, place: Place) -> int:
        """What a prefix weighs by exact figures, 0 where there are none."""
        if place in line.entries:
            return line.entries[place].tokens
        front = self._front
        if front is None or front.ratio is None or place[0] == MESSAGES:
            return 0
        return front.tokens(place, front.ratio)

    def _follow(self, request: Request, at: datetime, *, parted: bool) -> None:
        """A line for the request, with the entries of the others that hold for it too."""
        line = Line(request, at, self._lines[0] if self._lines else None)
        for other in self._lines:
            shared = other.shared(request)
            for place, entry in other.entries.items():
                if shared is not None and place <= shared and at - entry.used <= LASTS:
                    known = line.entries.get(place)
                    line.entries[place] = entry if known is None or known.used < entry.used else known
        kept = self._lines if parted else self._lines[1:]
        self._lines = [line, *(other for other in kept if at - other.used <= LASTS)][:_MOST_LINES]

    def _learn(self, request: Request, predicted: Prediction, usage: Usage, exact: int) -> None:
        """What the figures tell of tools and prompt."""
        front, edge = self._front, predicted.edge and place_of(predicted.edge)
        if front is None or not front.is_of(request):
            return
        if edge is not None and edge[0] != MESSAGES:
            # a figure far off is of another prefix, which somebody else put into the cache
            if abs(usage.cache_read - predicted.read) < predicted.read / 2:
                front.learn(edge, usage.cache_read)
        elif len(request.messages) <= _FEW:
            front.learn(None, exact)


class _Asked(Struct):
    """A request that was sent and not answered yet; `at` is when it was sent, then when its answer began."""

    request: Request
    predicted: Prediction
    at: datetime


class _Habit(Struct):
    """What is known of a model's cache: the tokens that a prefix has to have, and whether there is none at all."""

    least: int
    none: bool = False

    def learn(self, usage: Usage) -> None:
        """Take note of the figures of a request with breakpoints."""
        total = usage.input + usage.cache_read + usage.cache_write
        if usage.cache_read or usage.cache_write:
            self.none = False
            self.least = min(self.least, usage.cache_read + usage.cache_write)
        elif total > _MOST_LEAST:
            self.none = True
        elif total >= self.least:
            self.least = total + 1


def _up_to_last(usage: Usage) -> int:
    """The tokens up to the last breakpoint. An endpoint that caches by itself tells of no writing."""
    cached = usage.cache_read + usage.cache_write
    return cached if usage.cache_write else cached + usage.input


def _between(request: Request, first: Place, last: Place) -> Iterator[Mapping[str, Any]]:
    """The blocks of messages behind the first place up to the last."""
    for index in range(first[1], last[1] + 1):
        content = request.messages[index]["content"]
        start = first[2] + 1 if index == first[1] else 0
        yield from content[start : last[2] + 1 if index == last[1] else None]
