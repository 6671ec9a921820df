"""Every request of a session: those that were sent, built again from the log and its backups, and the next one.

Nothing is read before somebody looks, and what takes long is done in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.agent.building import assemble
from tui_agent.agent.past import request_of
from tui_agent.commands import CommandError
from tui_agent.context import ContextError
from tui_agent.context.sent import LOG, Sent, SentRequests
from tui_agent.llm.provider import ProviderError
from tui_agent.prompt.assembler import DoesNotFit
from tui_agent.prompt.cache import breakpoints

if TYPE_CHECKING:
    from tui_agent.agent.parts import Parts
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.llm.provider import Provider
    from tui_agent.messages.request import Breakpoint, Request
    from tui_agent.prompt.difference import Difference
    from tui_agent.prompt.manifest import Item, Manifest

Upcoming = Callable[[], Awaitable[tuple["Request", "Manifest"]]]
"""Gives the request that the next prompt would send; may raise DoesNotFit and ProviderError."""


_LOOKED_AT = 64
"""So many of the requests before one are looked at for where its cache ended."""
_NEAR = 0.02
"""By so much the tokens of a request and those that were read of it may differ."""


class NotBuilt(CommandError):
    """There is no such request, or it cannot be built or counted; says why. `ways` are the ways out, in words."""

    def __init__(self, error: Exception | str) -> None:
        super().__init__(str(error))
        self.ways: tuple[str, ...] = tuple(getattr(error, "ways", ()))


class Built(Struct, frozen=True):
    """A request, word for word, and what it is made of. `sent` is None for the next one, which was not sent yet.

    `refusal` says why the next one would not be sent, with the numbers and the ways out; None if it fits.
    """

    sent: Sent | None
    request: Request
    manifest: Manifest
    items: list[Item]
    left_out: list[Item]
    log: Shown
    """The log that tells of it."""
    refusal: DoesNotFit | None = None
    stays: Mapping[str, str] = {}
    """Of a refused one: the records that are never left out, each with the reason in a few words."""


class Requests:
    """The requests of one session. Their places count from 0, the oldest first; None stands for the next one.

    Args:
        context: The log.
        upcoming: Builds the next one; None: nothing can be sent from here.
        count: Asks the endpoint how many input tokens a request has; may raise ProviderError.
        window: The model's, in tokens.
    """

    def __init__(
        self,
        context: Context,
        *,
        upcoming: Upcoming | None = None,
        count: Callable[[Request], Awaitable[int]] | None = None,
        window: Callable[[], int] = lambda: 0,
    ) -> None:
        self._context = context
        self._sent = SentRequests(context)
        self._upcoming = upcoming
        self._count = count
        self._window = window
        self._backup: tuple[str, Shown] | None = None
        self._building = asyncio.Lock()
        """One is built at a time: who steps through many of them leaves none behind that nobody wants."""

    @classmethod
    def of(
        cls, parts: Parts, provider: Callable[[], Provider], prepare: Callable[[], Awaitable[None]]
    ) -> Requests:
        """Those of a session. `provider` is asked now; `prepare` learns the model's limits where they are not known."""
        context, replies, premises = parts.context, parts.replies, parts.premises

        async def upcoming() -> tuple[Request, Manifest]:
            if not provider().window:
                await prepare()
            if context.system_prompt is not None:
                return await replies.build()
            layers, tools = await premises.begun()
            return await asyncio.to_thread(assemble, context, replies.limits, layers=layers, tools=tools)

        return cls(
            context,
            upcoming=upcoming,
            count=lambda request: provider().count(request),
            window=lambda: provider().window,
        )

    def __len__(self) -> int:
        """How many were sent, as of the last `follow`."""
        return len(self._sent)

    def __getitem__(self, place: int) -> Sent:
        """One that was sent; its line is read from the disk.

        Raises:
            NotBuilt: the file that tells of it is no longer kept.
        """
        try:
            return self._sent[place]
        except ContextError as error:
            raise NotBuilt(error) from error

    @property
    def has_next(self) -> bool:
        """True where something can be sent."""
        return self._upcoming is not None

    @property
    def can_count(self) -> bool:
        """True where an endpoint can be asked."""
        return self._count is not None

    async def follow(self) -> int:
        """Take note of what was sent since; how many there are now.

        Raises:
            NotBuilt: a file cannot be read.
        """
        try:
            return await asyncio.to_thread(self._sent.follow)
        except OSError as error:
            raise NotBuilt(error) from error

    async def next(self) -> Built:
        """What the next prompt would send, the person's words aside.

        Raises:
            NotBuilt: there is no room for it, its model is not known, or nothing can be sent from here.
        """
        return await self.build(None)

    async def build(self, place: int | None) -> Built:
        """The request at a place again, word for word as it was sent; None: the next one.

        Raises:
            NotBuilt: the file that tells of it is no longer kept; and as `next`.
        """
        built = await self.look(place)
        if built.refusal is not None:
            raise NotBuilt(built.refusal) from built.refusal
        return built

    async def look(self, place: int | None) -> Built:
        """The same to be looked at: also the next one that is not sent because there is no room for it.

        Raises:
            NotBuilt: as `build`, but for want of room.
        """
        try:
            async with self._building:
                if place is None:
                    return await self._next()
                try:
                    return await self._build(place)
                except ValueError:
                    return await self._build(place)  # the log was rewritten meanwhile
        except (ContextError, ProviderError, OSError, ValueError) as error:
            raise NotBuilt(error) from error

    async def _build(self, place: int) -> Built:
        sent = await asyncio.to_thread(self._sent.__getitem__, place)
        return await asyncio.to_thread(self._again, sent, await self._log(sent.file))

    async def _log(self, file: str) -> Shown:
        """The log, or the backup of that name; who steps through the requests of one has it read once."""
        if file == LOG:
            return self._context
        if self._backup is None or self._backup[0] != file:
            self._backup = file, await self._context.backup(file)
        return self._backup[1]

    async def _next(self) -> Built:
        if self._upcoming is None:
            raise NotBuilt("nothing is sent from here: the log is only looked at")
        try:
            request, manifest = await self._upcoming()
        except DoesNotFit as refusal:
            manifest = refusal.manifest
            built = await asyncio.to_thread(_built, None, manifest.request, manifest, self._context)
            from tui_agent.agent.staying import staying  # not needed while requests fit

            return replace(built, refusal=refusal, stays=await asyncio.to_thread(staying, self._context))
        return await asyncio.to_thread(_built, None, request, manifest, self._context)

    async def diff(self, before: int | None, after: int | None) -> Difference:
        """What differs between two requests, with what took out of the later one what is gone.

        Raises:
            NotBuilt: as `look`.
        """
        first, second = await self.look(before), await self.look(after)
        return await asyncio.to_thread(self.between, first, second)

    def between(self, before: Built, after: Built) -> Difference:
        """The same for two that are built. It takes long: for threads."""
        rewrites = ", ".join(self._rewrites(before.sent, after.sent))
        from tui_agent.prompt.difference import difference  # not needed to open a session

        return difference(before, after, lambda item: _why(item, after.log, rewrites))

    def _rewrites(self, before: Sent | None, after: Sent | None) -> list[str]:
        """What rewrote the log between two requests: each operation once, in the order in which they came."""
        start, end = _moment(before), _moment(after)
        made = ((backup.op, _time(backup.at)) for backup in reversed(self._context.backups()))
        return list(dict.fromkeys(op for op, at in made if op and at is not None and start <= at < end))

    async def count(self, request: Request) -> int:
        """The endpoint's own count of a request's input tokens.

        Raises:
            NotBuilt: there is none to ask, it cannot be reached, refuses, or has no such count.
        """
        if self._count is None:
            raise NotBuilt("there is no endpoint to ask: the log is only looked at")
        try:
            return await self._count(request)
        except ProviderError as error:
            raise NotBuilt(error) from error

    def _again(self, sent: Sent, log: Shown) -> Built:
        usage = log.record_at(sent.offset)
        request, manifest = request_of(log, usage, window=self._window())
        request = request.marked(breakpoints(request))
        built = _built(sent, request, manifest, log)
        if not sent.cache_read:
            return built
        upto, served = _served(built, log.before(usage.id), sent.cache_read)
        items = [replace(item, cached=True) if at < upto else item for at, item in enumerate(built.items)]
        return replace(built, items=items, manifest=replace(manifest, served=served))


def _built(sent: Sent | None, request: Request, manifest: Manifest, log: Shown) -> Built:
    return Built(sent, request, manifest, manifest.items, manifest.left_out, log)


def _served(built: Built, log: Shown, read: int) -> tuple[int, Breakpoint | None]:
    """How many items an endpoint that read so many tokens from its cache has read there, and the place of the last.

    As a rule that is where a request before it ended, which had as many tokens. Else it is the end of the item that
    comes nearest by the weights of the items, which are shares and estimates; but not behind a summary in the first
    request after it, for nobody has sent it before.
    """
    through, upto = _ended(log, read), 0
    has_sent = any(usage.get("through") for usage in log.usages())
    nearest, running = read, 0
    for at, item in enumerate(built.items):
        running += item.tokens.count
        if item.section == "frame" or (through < 0 and item.kind == "summary" and not has_sent):
            break
        if through < 0:
            if abs(running - read) > nearest:
                break
            nearest, upto = abs(running - read), at + 1
        elif item.message is None or _index(log, item.record) <= through:
            upto = at + 1
    return upto, _place_of(built, upto - 1) if upto else None


def _place_of(built: Built, at: int) -> Breakpoint | None:
    """The place in the request at which an item ends."""
    item = built.items[at]
    if item.message is not None:
        starts = built.request.spans.blocks(item.message)[:-1]
        return ("message", item.message, sum(start < item.end for start in starts) - 1)
    number = sum(other.section == item.section for other in built.items[:at])
    return ("tool" if item.section == "tools" else "system", number)


def _ended(log: Shown, tokens: int) -> int:
    """The index of the last record of the newest request of about so many tokens; -1 if there was none."""
    usages = log.usages()
    for at in range(len(usages) - 1, max(-1, len(usages) - 1 - _LOOKED_AT), -1):
        size = sum(_whole(usages[at].get(key)) for key in ("input", "cache_read", "cache_write"))
        if abs(size - tokens) <= _NEAR * tokens:
            return _index(log, str(usages[at].get("through") or ""))
    return -1


def _index(log: Shown, record: str) -> int:
    """Where a record stands in the log; -1 if it does not."""
    try:
        return log.record(record).index
    except ValueError:
        return -1


def _whole(value: object) -> int:
    return value if type(value) is int else 0


def _moment(sent: Sent | None) -> datetime:
    """When a request was sent; the next one is later than any."""
    found = None if sent is None else _time(sent.at)
    return datetime.max.replace(tzinfo=UTC) if found is None else found


def _time(at: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _why(item: Item, log: Shown, rewrites: str) -> str:
    """What took an item out of a later request, or changed it there, by the log of that one; "" if it does not tell."""
    if not item.record:
        return ""
    try:
        elisions = log.elided(item.record)
    except ValueError:
        return rewrites
    if not elisions:
        return ""
    newest = elisions[-1]
    what = "dropped" if newest.placeholder is None else "shortened"
    return f"{what} by you" if newest.by == "user" else f"{what}: {newest.reason}"
