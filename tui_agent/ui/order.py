"""One key after the other: what one does is done before the next is looked at.

Textual hands a key to what has the focus when the app sees it. What the key does there - a line closes, a place opens,
the focus moves - happens some messages later, and the keys behind it in the same burst, or those that came while the
program stood still, are with the old one by then: where they mean something else, or nothing, and are lost. Here a key
that comes before the last one is dealt with waits, and a click with it. A key is dealt with when what took it, and
every node above it up to the app, has handled it and what it sent over it. Who takes longer than `PATIENCE` seconds
(it looks at the disk, say) has its keys wait in its own queue. Who changes in a worker what keys mean holds them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from textual import events
from textual.screen import Screen

if TYPE_CHECKING:
    from textual.app import App
    from textual.message_pump import MessagePump

PATIENCE = 0.2
"""Seconds for which keys wait for the one before."""
HOLDING = 1.0
"""Seconds for which they are held at most."""
_ROUNDS = 3
"""How often a node is asked again whether it has sent itself something more."""

Pressed = events.Key | events.Paste | events.MouseEvent


def _has_more(node: MessagePump) -> bool:
    """Has a node something to handle? It looks one message ahead, which is in its queue no more."""
    return bool(node.message_queue_size) or node._pending_message is not None


class Hold:
    """Keys wait from its making until it is left; entered once what was pressed before is dealt with."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._limit = asyncio.get_running_loop().call_later(HOLDING, order.let_go, self)

    async def __aenter__(self) -> None:
        await self._order.quiet()

    async def __aexit__(self, *_: object) -> None:
        self._limit.cancel()
        self._order.let_go(self)


class Order:
    """The order of what is pressed in one app. `take` handles an event whose turn has come."""

    def __init__(self, app: App[int], take: Callable[[Pressed], Awaitable[None]]) -> None:
        self._app = app
        self._take = take
        self._kept: deque[Pressed] = deque()
        self._holds: set[Hold] = set()
        self._turn: Pressed | None = None
        """What is being dealt with."""
        self._patience: asyncio.TimerHandle | None = None
        self._over: list[asyncio.Future[None]] = []
        """Who waits until nothing is being dealt with."""

    @property
    def busy(self) -> bool:
        """True while something that was pressed is not dealt with, or is held."""
        return self._turn is not None or bool(self._kept) or bool(self._holds)

    def keeps(self, event: Pressed) -> bool:
        """True if the event has to wait for what was pressed before it; then it is kept here."""
        if not self.busy:
            return False
        self._kept.append(event)
        return True

    def first(self, waited: Iterable[events.Key]) -> None:
        """Keys that waited elsewhere come before those that wait here: they are older."""
        for event in reversed(list(waited)):
            key = events.Key(event.key, event.character)
            key.time = event.time  # a card counts from when it was pressed
            self._kept.appendleft(key)
        self._go_on()

    # --- holding

    def hold(self) -> Hold:
        """Let what is pressed from now on wait."""
        hold = Hold(self)
        self._holds.add(hold)
        return hold

    def let_go(self, hold: Hold) -> None:
        """This is no reason to wait any more."""
        self._holds.discard(hold)
        self._go_on()

    async def quiet(self) -> None:
        """Wait until nothing is being dealt with."""
        if self._turn is not None:
            over = asyncio.get_running_loop().create_future()
            self._over.append(over)
            await over

    def _go_on(self) -> None:
        if self._turn is None and self._kept:
            self._app.call_later(self._next, None)

    # --- following a key

    def follow(self, event: Pressed, taker: MessagePump) -> None:
        """`taker` was given the event: let no other one pass before it is dealt with."""
        self._turn = event
        if self._patience is not None:
            self._patience.cancel()
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(PATIENCE, self._app.call_later, self._next, event)
        self._ask(event, taker, _ROUNDS)

    def _ask(self, turn: Pressed, node: MessagePump, rounds: int) -> None:
        while not node.call_later(self._had, turn, node, rounds):
            if node is self._app:
                return  # it ends
            node, rounds = self._above(node), _ROUNDS

    def _above(self, node: MessagePump) -> MessagePump:
        """The next node up that may have something to handle; a box whose queue is empty has not."""
        above = node._parent or self._app
        while not (above is self._app or isinstance(above, Screen) or _has_more(above)):
            above = above._parent or self._app
        return above

    async def _had(self, turn: Pressed, node: MessagePump, rounds: int) -> None:
        """A node has handled what was sent to it before it was asked."""
        if turn is not self._turn:
            return
        if rounds and _has_more(node):
            self._ask(turn, node, rounds - 1)
        elif node is self._app:
            await self._next(turn)
        else:
            self._ask(turn, self._above(node), _ROUNDS)

    async def _next(self, turn: Pressed | None) -> None:
        """The event is dealt with, or takes too long: the next one has its turn."""
        if turn is not self._turn:
            return
        self._turn = None
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        over, self._over = self._over, []
        for each in over:
            if not each.done():
                each.set_result(None)
        while self._kept and self._turn is None and not self._holds:
            await self._take(self._kept.popleft())
