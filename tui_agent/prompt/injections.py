"""What the model is told beside a person's words, so that the prompt in front stays as it is.

Sources are asked each time somebody has spoken. Nothing is kept of what was told: that is the newest injection of a
source in the log, as it is sent now. A source is told again exactly if what it has to tell differs from that, also
after a revert, an elision, a compaction or a restart that lost it. What another source has told in nearly the same
words is not told twice, and where the window is tight what matters least is left out. Each that is told is a record
of its own, the highest priority first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.events import Emit, Notice
from tui_agent.messages.blocks import text_block
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.asking import LIMIT_SECONDS, Asking, ended, in_thread
from tui_agent.prompt.likeness import Likeness, fingerprint
from tui_agent.prompt.telling import (
    InjectionSource as InjectionSource,
)  # who writes a source takes these from here
from tui_agent.prompt.telling import Moment as Moment
from tui_agent.prompt.telling import Told as Told

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown

More = Callable[[frozenset[str], Callable[[str], None]], Iterable[InjectionSource]]
"""Gives sources under names that are not known yet, and reports what cannot be used."""

ALWAYS = 80
"""What has this priority or a higher one is told however tight the window is."""


class Put(Struct, frozen=True):
    """An injection that was appended as `record`."""

    name: str
    record: str
    text: str
    short: str
    tokens: int


class Left(Struct, frozen=True):
    """An injection that was due and left out, and why."""

    name: str
    why: str
    tokens: int
    twin: str = ""
    """The source that tells it already."""


class Collected(Struct, frozen=True):
    """What came of asking the sources once."""

    told: tuple[Put, ...] = ()
    left: tuple[Left, ...] = ()


class Sent(Struct, frozen=True):
    """An injection as it is sent now: its place in the log, its text, and what its record says of the source."""

    place: int
    text: str
    source: Mapping[str, Any]


class _Offer(Struct, frozen=True):
    """What a source wants told, under the name that the log gives it."""

    name: str
    priority: int
    told: Told
    own: bool = False
    """It takes back what the source itself had told, which no other can tell for it."""

    @property
    def may_go(self) -> bool:
        """True if it may be left out where the window is tight."""
        return self.priority < ALWAYS and not self.own


class Injections:
    """The sources of one session, and what becomes of what they tell. `limit` is what each may take, in seconds.

    `more` gives further sources once a turn asks, none by a name that is known, and reports what cannot be used. It
    runs in a thread.
    """

    def __init__(
        self,
        context: Context,
        sources: Iterable[InjectionSource],
        *,
        emit: Emit,
        limit: float = LIMIT_SECONDS,
        more: More | None = None,
    ) -> None:
        self._context = context
        self._emit = emit
        self._limit = limit
        self._more = more
        self._coming: Future[list[InjectionSource]] | None = None
        self._asked: list[Asking] = []
        self._take(sources)

    async def collect(self, moment: Moment) -> Collected:
        """Append what the sources have to tell that the model does not know.

        Raises:
            ContextError: it could not be written.
        """
        await self._load()
        answers = await asyncio.gather(*(asked.ask(moment) for asked in self._asked))
        offers = [
            _offer(asked, told) for asked, answer in zip(self._asked, answers, strict=True) for told in answer
        ]
        chosen, left = await asyncio.to_thread(self._choose, offers, moment.room)
        put = [await self._append(offer, tokens) for offer, tokens in chosen]
        return Collected(tuple(put), tuple(left))

    def on_compacted(self) -> None:
        """Tell every source that the history was compacted; one that fails does not keep it from the others."""
        for asked in self._asked:
            asked.on_compacted()

    def _take(self, sources: Iterable[InjectionSource]) -> None:
        known = {asked.name for asked in self._asked}
        for source in sources:
            if source.name not in known:
                known.add(source.name)
                self._asked.append(Asking(source, self._emit, self._limit))

    async def _load(self) -> None:
        """Take the further sources; those that are not there within the limit come with a later turn."""
        if self._more is not None:
            more, known, self._more = self._more, frozenset(asked.name for asked in self._asked), None
            self._coming = in_thread(lambda: list(more(known, self._report)), "extensions")
            if not await ended(self._coming, self._limit):
                self._report(f"reminders of installed packages were not ready within {self._limit:g} s")
        coming = self._coming
        if coming is None or not coming.done():
            return
        self._coming = None
        if (error := coming.exception()) is not None:
            self._report(f"reminders of installed packages cannot be used: {type(error).__name__}: {error}")
        else:
            self._take(coming.result())

    def _report(self, text: str) -> None:
        self._emit(Notice(text, "warning", "prompt"))

    def _choose(
        self, offers: Sequence[_Offer], room: int | None
    ) -> tuple[list[tuple[_Offer, int]], list[Left]]:
        sent = newest_of_all(self._context)
        due = [one for offer in offers if (one := _due(offer, sent.get(offer.name))) is not None]
        estimator, factor = Estimator(self._context.model), self._context.factor
        chosen: list[tuple[_Offer, int]] = []
        left: list[Left] = []
        for offer, twin in _apart(sorted(due, key=lambda one: -one.priority), sent):
            tokens = round(estimator.weigh(text_block(offer.told.text)) * factor)
            if twin:
                left.append(Left(offer.name, f"{twin} tells it already", tokens, twin))
            elif room is not None and offer.may_go and tokens > room:
                left.append(
                    Left(offer.name, f"no room: about {tokens:,} tokens, {max(0, room):,} are free", tokens)
                )
            else:
                chosen.append((offer, tokens))
                room = None if room is None else room - tokens
        return chosen, left

    async def _append(self, offer: _Offer, tokens: int) -> Put:
        told, short = offer.told, offer.told.short or offer.name
        source = {key: value for key, value in told.fields.items() if key != "version"}
        source |= {"name": offer.name, "fp": fingerprint(told.text, told.version)}
        if told.version:
            source["version"] = told.version
        (record,) = await self._context.append_message(
            {"role": "user", "content": [text_block(told.text)]},
            origin="injection",
            sources=[source],
            meta={"told": short},
        )
        return Put(offer.name, record.id, told.text, short, tokens)


def newest(context: Shown, name: str) -> tuple[str, Mapping[str, Any]] | None:
    """The newest text of a source that is sent, and what its record says of it; None if there is none."""
    found = next((one for known, one in _sent(context) if known == name), None)
    return (found.text, found.source) if found is not None else None


def newest_of_all(context: Shown) -> dict[str, Sent]:
    """What each source has told last, as it is sent now."""
    found: dict[str, Sent] = {}
    for name, one in _sent(context):
        found.setdefault(name, one)
    return found


def _sent(context: Shown) -> Iterator[tuple[str, Sent]]:
    """What every source has told that is sent now, the newest first."""
    for record in context.newest_of("injection"):
        named = [one for one in record.body.get("sources") or () if isinstance(one, dict)]
        message = context.message(record.id) if named else None
        if message is None:
            continue
        for source in named:
            yield str(source.get("name")), Sent(record.index, message.text, source)


def _offer(asked: Asking, told: Told) -> _Offer:
    return _Offer(f"{asked.name}:{told.about}" if told.about else asked.name, asked.priority, told)


def _due(offer: _Offer, before: Sent | None) -> _Offer | None:
    """What is to be told; None if it is what was told last, or nothing and nothing had been told."""
    told = offer.told
    if not told.text.strip():
        if before is None or not told.withdrawn or before.text == told.withdrawn:
            return None
        return replace(offer, told=replace(told, text=told.withdrawn, version=""), own=True)
    if before is not None and before.text == told.text and before.source.get("version", "") == told.version:
        return None
    return offer


def _apart(due: Sequence[_Offer], sent: Mapping[str, Sent]) -> Iterator[tuple[_Offer, str]]:
    """Each with the name of another source that tells the same: before it here, or in the log behind its own last.

    What another has told counts no more where it tells something else now.
    """
    changing = {offer.name for offer in due}
    likeness = {name: Likeness(one.text) for name, one in sent.items() if name not in changing}
    taken: dict[str, Likeness] = {}
    for offer in due:
        like = Likeness(offer.told.text)
        place = sent[offer.name].place if offer.name in sent else -1
        known = {name: one for name, one in likeness.items() if sent[name].place > place} | taken
        others = (name for name, one in known.items() if like.is_like(one))
        twin = "" if offer.own or offer.told.own else next(others, "")
        if not twin:
            taken[offer.name] = like
        yield offer, twin
