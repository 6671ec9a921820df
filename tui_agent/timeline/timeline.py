"""Travel in the conversation: back to a checkpoint, a backup back, undo, redo. Every step of it is reversible."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.context import Backup, Checkpoint, Context
    from tui_agent.messages.blocks import Block, Message


class Travelled(Struct, frozen=True):
    """Where a travel led. `backup` names the file that holds what was before.

    `words` and `images` are for the composer.
    """

    op: str
    backup: str
    words: str = ""
    images: tuple[Block, ...] = ()


class Timeline:
    """The travels of one session. They run between turns: whoever calls sees to that."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def turns(self) -> list[Checkpoint]:
        """The checkpoints at which a person spoke, oldest first."""
        return [checkpoint for checkpoint in self._context.checkpoints() if checkpoint.turn]

    def can_undo(self) -> bool:
        """True if the last rewrite can be taken back."""
        return self._context.can_undo

    def can_redo(self) -> bool:
        """True if an undo can be taken back."""
        return self._context.can_redo

    async def preview(self, at: int | str) -> Sequence[Message]:
        """The history as it would be after going to a checkpoint (int) or restoring a backup (its name)."""
        return await self._context.preview(at)

    async def revert(self, checkpoint: int) -> Travelled:
        """Go back to just before a checkpoint; what followed stays in the backup.

        Raises:
            ValueError: there is no such checkpoint; nothing was changed.
        """
        said = self._context.said_after(checkpoint)
        rewrite = self._context.revert_to(checkpoint)
        if said is None:
            return await self._travel("revert", rewrite)
        return await self._travel("revert", rewrite, said.text, tuple(said.blocks("image")))

    async def restore(self, backup: str) -> Travelled:
        """Make a backup the history again; the present one becomes a backup.

        Raises:
            NoSuchBackup: there is none of that name.
        """
        return await self._travel("restore", self._context.restore_backup(backup))

    async def clear(self, states: Collection[str] = ()) -> Travelled:
        """Begin anew under the prompt in force; these keys of the state keep their values."""
        return await self._travel("clear", self._context.clear(states=states))

    async def undo(self) -> Travelled:
        """Take back the last rewrite.

        Raises:
            NothingToUndo: there is none, or its backup is no longer kept.
        """
        return await self._travel("undo", self._context.undo())

    async def take_back(self) -> Travelled:
        """Take back the newest compaction; what was said since follows what was there before.

        Raises:
            NothingToUndo: the last rewrite was no compaction, nor an edit of its summary.
            NoSuchBackup: what was before it is no longer kept.
        """
        return await self._travel("undo", self._context.take_back())

    async def redo(self) -> Travelled:
        """Take back the last undo.

        Raises:
            NothingToUndo: there is none, or something was said since.
        """
        return await self._travel("redo", self._context.redo())

    async def _travel(
        self, op: str, rewrite: Awaitable[Backup], words: str = "", images: tuple[Block, ...] = ()
    ) -> Travelled:
        backup = await rewrite
        return Travelled(op, backup.name, words, images)
