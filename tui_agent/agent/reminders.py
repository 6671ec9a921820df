"""What the model is told at the end of a person's message: what changed since the prompt in front was written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.events import Emit, Notice
from tui_agent.prompt import injections, remembered, reread
from tui_agent.prompt.injections import Source, Told

if TYPE_CHECKING:
    from tui_agent.agent.recall import Recall
    from tui_agent.context import Context
    from tui_agent.prompt.system import SystemPrompt


class Reminders:
    """The reminders of one session: of its instruction files, and of memories."""

    def __init__(self, *, context: Context, recall: Recall, prompt: SystemPrompt, emit: Emit) -> None:
        self._context = context
        self._recall = recall
        self._prompt = prompt
        self._emit = emit
        self._changed: tuple[str, ...] = ()
        self._sources = (Source(reread.SOURCE, self._files), Source(remembered.SOURCE, self._memories))

    async def remind(self) -> None:
        """Append what the model does not know yet.

        Raises:
            ContextError: it could not be written.
        """
        told = await injections.inject(self._context, self._sources)
        if reread.SOURCE in told:
            names = ", ".join(self._changed) or "the instructions are as at first"
            self._emit(Notice(f"the model is told what has changed: {names}", "info", "prompt"))

    async def _files(self) -> Told:
        now = await asyncio.to_thread(self._prompt.instructions)
        for notice in self._prompt.untold():
            self._emit(Notice(notice, "warning", "prompt"))
        changed = reread.changes(self._context.system_layers, now)
        self._changed = tuple(changed.names)
        return Told(changed.text, reread.AS_AT_FIRST)

    async def _memories(self) -> Told | None:
        told = await asyncio.to_thread(self._recall.changes)
        if told is None:
            return None
        return Told(told.text, remembered.AS_LISTED, {"memories": list(told.memories)})
