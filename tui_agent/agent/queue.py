"""The prompts that wait: in order, each for the next step or the end of the turn, held after an interrupt."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tui_agent.events import Emit, QueueChanged, QueuedPrompt

if TYPE_CHECKING:
    from tui_agent.agent.turn import Say
    from tui_agent.messages.blocks import Block


class Queue:
    """Tells every change. `paused`: an interrupt, or a turn that failed, holds it."""

    def __init__(self, emit: Emit) -> None:
        self.paused = False
        self._emit = emit
        self._prompts: list[QueuedPrompt] = []
        self._numbers = itertools.count(1)

    @property
    def prompts(self) -> tuple[QueuedPrompt, ...]:
        """What waits, in order."""
        return tuple(self._prompts)

    def __len__(self) -> int:
        return len(self._prompts)

    def add(self, text: str, when: Literal["step", "turn"], images: Sequence[Block]) -> None:
        """Let a prompt wait at the end; the queue goes on."""
        self._prompts.append(QueuedPrompt(f"p{next(self._numbers)}", text, when, tuple(images)))
        self.go_on()

    def withdraw(self, prompt: str) -> QueuedPrompt | None:
        """Take a prompt out by its id; None if it does not wait any more."""
        found = next((waiting for waiting in self._prompts if waiting.id == prompt), None)
        if found is not None:
            self._prompts.remove(found)
            self.tell()
        return found

    def insert(self, place: int, prompt: QueuedPrompt) -> None:
        """Let a prompt wait before the one at `place`, counted from 0."""
        self._prompts.insert(place, prompt)
        self.tell()

    def hold(self) -> None:
        """Send nothing by itself until `go_on`."""
        self.paused = bool(self._prompts)
        self.tell()

    def go_on(self) -> None:
        """Hold nothing any more."""
        self.paused = False
        self.tell()

    def first(self) -> QueuedPrompt | None:
        """Take the first prompt out, unless the queue is held or empty."""
        if self.paused or not self._prompts:
            return None
        prompt = self._prompts.pop(0)
        self.tell()
        return prompt

    async def deliver(self, say: Say) -> bool:
        """Say what waits for a step; words that do not reach the disk wait on. False if there was nothing."""
        heard = False
        while (prompt := next((p for p in self._prompts if p.when == "step"), None)) is not None:
            place = self._prompts.index(prompt)
            del self._prompts[place]
            self.tell()
            try:
                await say(prompt.text, prompt.images)
            except BaseException:
                self.insert(place, prompt)
                raise
            heard = True
        return heard

    def tell(self) -> None:
        """Say what waits now."""
        self._emit(QueueChanged(self.prompts, self.paused))
