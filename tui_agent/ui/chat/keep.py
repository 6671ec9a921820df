"""Keeps what was sent and what is not sent yet on disk, in threads, a moment after it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.ui.chat.history import Draft, append_history, read_draft, read_history, write_draft

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.sessions.folder import SessionFolder
    from tui_agent.ui.chat.attachments import Prompt

HISTORY = "prompts.jsonl"
"""The file beside a workspace's sessions that holds what was sent in any of them."""


class Keep:
    """The two files of a session's composer. `trouble` is told once what could not be read or written."""

    def __init__(self, folder: SessionFolder, trouble: Callable[[str], None]) -> None:
        self._draft: Path = folder.draft_path
        self._history: Path = folder.path.parent / HISTORY
        self._trouble = trouble
        self._told = False
        self._written = Draft()
        self._lock = asyncio.Lock()

    async def load(self) -> tuple[list[Prompt], Draft]:
        """What was sent before, oldest first, and the draft that was left."""
        entries: list[Prompt] = []
        draft = Draft()
        try:
            entries = await asyncio.to_thread(read_history, self._history)
            draft = await asyncio.to_thread(read_draft, self._draft)
        except OSError as error:
            self._tell(error)
        self._written = draft
        return entries, draft

    async def sent(self, prompt: Prompt) -> None:
        """Remember what was sent."""
        try:
            async with self._lock:
                await asyncio.to_thread(append_history, self._history, prompt)
        except OSError as error:
            self._tell(error)

    async def draft(self, draft: Draft) -> None:
        """Keep the draft; nothing is written if it is what the file holds."""
        async with self._lock:
            if draft == self._written:
                return
            try:
                await asyncio.to_thread(write_draft, self._draft, draft)
            except OSError as error:
                self._tell(error)
            else:
                self._written = draft

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            self._trouble(f"drafts are not kept: {error.filename}: {error.strerror or error}")
