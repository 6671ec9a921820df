"""What a log begins with, its prompt and tools: written where they are missing, compared with what they would be now.

What an old log has stays in force: what differs is said, and put in force at the next compaction, or when asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.agent.building import lacking
from tui_agent.changes import Rotated
from tui_agent.compaction.around import Fresh
from tui_agent.context import Backup, Context
from tui_agent.context.appending import tools_body
from tui_agent.events import Notice
from tui_agent.prompt import reread
from tui_agent.prompt.injections import newest
from tui_agent.prompt.remembered import SOURCE
from tui_agent.prompt.system import OPTION, Layer, SystemPrompt, record

if TYPE_CHECKING:
    from tui_agent.events import Emit
    from tui_agent.prompt.skills import Found

Definitions = list[dict[str, Any]]


class Premises:
    """The prompt and the tools of one session.

    `offer` gives the tools as they would be defined now; `anew=True`: where the cache begins anew anyway.
    """

    def __init__(
        self,
        context: Context,
        prompt: SystemPrompt,
        offer: Callable[..., Definitions],
        emit: Emit,
        skills: Callable[[], Found],
    ) -> None:
        self._order = asyncio.Lock()
        self.prompt = prompt
        self.skills = skills
        """Finds the skills there are; reads files."""
        self._context = context
        self._offer = offer
        self.settled: Callable[[], Awaitable[None]] | None = None
        """Waits for tools that are still being asked for, but not long."""
        self._emit = emit

    async def settle(self) -> None:
        """Wait for tools that are still being asked for, if a new log is to be given its tools."""
        if self.settled is not None and self._context.tools is None:
            await self.settled()

    async def write_missing(self) -> None:
        """Write what a new log lacks: its system prompt and its tools. What an old log has stays in force.

        Raises:
            ContextError: it could not be written.
        """
        context = self._context
        async with self._order:  # a person may choose a mode while the first words are on their way
            if context.system_prompt is None:
                fields = record(await self._layers())
                written = await context.write_system_prompt(fields.pop("content"), **fields)
                if isinstance(written, Backup):
                    self._emit(Rotated("prompt", written.name, len(context.records)))
            if context.tools is None:
                await context.write_tools(self._offer())

    def lacking(self) -> int:
        """The estimated tokens of what a new log will be given first. Reads files."""
        if self._context.system_prompt is not None:
            return 0
        return lacking(self._context, self.layers(), self._offer())

    def layers(self) -> list[Layer]:
        """The layers of the prompt as they would be written now. Reads files: call it in a thread.

        What the session was begun with on the command line goes on to hold where it is resumed without.
        """
        layers = self.prompt.layers()
        begun = [layer for layer in self._context.system_layers if layer["source"] == OPTION]
        if begun and not any(layer.source == OPTION for layer in layers):
            place = next((at for at, one in enumerate(layers) if one.layer == SOURCE), len(layers))
            layers.insert(place, Layer("session", OPTION, str(begun[-1]["text"]).strip()))
        return layers

    async def begun(self) -> tuple[list[Layer], Definitions]:
        """The layers and the tools that a new log will be given first."""
        return await asyncio.to_thread(self.layers), self._offer()

    async def fresh(self) -> Fresh:
        """Prompt and tools that differ from those in force, to be put in force instead."""
        context = self._context
        layers, offered = await self._layers(), await asyncio.to_thread(self._offer, anew=True)
        written = {"role": "_system_prompt", **record(layers)}
        words = []
        if context.system_prompt is not None and _differs(context, layers):
            words.append(
                "the instructions had changed since this session began: the new ones are in force now"
            )
        if context.tools not in (None, self._offer()):
            words.append("the tools had changed since this session began: the new ones are in force now")
        return Fresh(
            written if written["content"] != context.system_prompt else None,
            tools_body(offered) if offered != context.tools else None,
            tuple(words),
        )

    async def differences(self) -> list[str]:
        """What a resumed session was begun with and is different now, in words."""
        context, found = self._context, []
        if context.system_prompt is not None:
            layers = await asyncio.to_thread(self.layers)
            told = reread.changes(context.system_layers, layers)
            if told.text:
                changed = ", ".join(told.names)
                known = newest(context, reread.SOURCE)
                when = "has been told" if known is not None and known[0] == told.text else "is told next"
                found.append(
                    f"the instructions have changed since this session began ({changed}); the model {when}, "
                    "and /refresh puts them in the prompt"
                )
            elif _differs(context, layers):
                found.append(
                    "the instructions have changed since this session began; it goes on with those it has "
                    "until /refresh or a compaction"
                )
        if context.tools is not None and context.tools != self._offer():
            found.append(
                "the tools have changed since this session began; it goes on with those it has until /refresh "
                "or a compaction"
            )
        return found

    async def _layers(self) -> list[Layer]:
        layers = await asyncio.to_thread(self.layers)
        for notice in self.prompt.untold():
            self._emit(Notice(notice, "warning", "prompt"))
        return layers


def _differs(context: Context, layers: Sequence[Layer]) -> bool:
    """True if the instructions would be others now; what is remembered is none."""
    old = [layer["text"].strip() for layer in context.system_layers if layer["layer"] != SOURCE]
    return old != [layer.text.strip() for layer in layers if layer.layer != SOURCE]
