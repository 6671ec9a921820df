"""What a session shows: the side of a `Session` that one looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.agent.errand import Errand
    from tui_agent.agent.queue import Queue
    from tui_agent.agent.speaker import Speaker
    from tui_agent.agent.work import Work
    from tui_agent.events import QueuedPrompt
    from tui_agent.llm.provider import Provider
    from tui_agent.sessions.folder import SessionFolder

TITLE_CHARACTERS = 60


class Showing:
    """Who answers, what runs, what waits."""

    folder: SessionFolder
    errand: Errand | None
    _queue: Queue
    _speaker: Speaker
    _work: Work

    @property
    def id(self) -> str:
        """The session's id, the name of its folder."""
        return self.folder.id

    @property
    def provider(self) -> Provider:
        """The model's endpoint."""
        return self._speaker.now.provider

    @property
    def model(self) -> str:
        """The model's name as shown; the demo's says that it is no AI."""
        return self._speaker.now.provider.label

    @property
    def profile(self) -> str:
        """The profile the model came from."""
        return self._speaker.now.profile

    @property
    def thinking(self) -> str:
        """How much the model may think from the next turn on."""
        return (self._speaker.next or self._speaker.now).thinking

    @property
    def next_model(self) -> str:
        """The model that answers from the next turn on, where it is another one; else empty."""
        return self._speaker.next.provider.label if self._speaker.next is not None else ""

    @property
    def demo(self) -> bool:
        """True while the offline demo model answers."""
        return self._speaker.now.demo

    @property
    def window(self) -> int:
        """The model's context window in tokens."""
        return self._speaker.now.provider.window

    @property
    def guessed(self) -> bool:
        """True while that window is a guess, since nobody has told it."""
        return self._speaker.now.provider.guessed

    @property
    def busy(self) -> bool:
        """True while a turn or a compaction runs."""
        return self._work.busy

    @property
    def active(self) -> bool:
        """True while there is something that `cancel` stops: a turn, a compaction, a command of the person's own."""
        return self.busy or (self.errand is not None and self.errand.busy)

    @property
    def queue(self) -> tuple[QueuedPrompt, ...]:
        """The prompts that wait, in order."""
        return self._queue.prompts

    @property
    def paused(self) -> bool:
        """True if an interrupt holds the queue: it goes on with the next prompt that is sent."""
        return self._queue.paused


def title_of(words: str) -> str:
    """The title of a session that begins with these words."""
    first = " ".join(words.split())
    return first if len(first) <= TITLE_CHARACTERS else first[: TITLE_CHARACTERS - 1].rstrip() + "…"
