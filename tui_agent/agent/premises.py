"""What a log begins with, its prompt and tools: written where they are missing, compared with what they would be now.

What an old log has stays in force: what differs is said, and put in force at the next compaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent.compaction.around import Fresh
from tui_agent.context import Backup, Context
from tui_agent.context.context import tools_body
from tui_agent.events import Notice, Rotated
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt import reread
from tui_agent.prompt.remembered import SOURCE
from tui_agent.prompt.system import Layer, SystemPrompt, pieces, record

if TYPE_CHECKING:
    from tui_agent.agent.bus import Bus
    from tui_agent.tools.toolbox import Toolbox


async def write_missing(context: Context, prompt: SystemPrompt, toolbox: Toolbox, bus: Bus) -> None:
    """Write what a new log lacks: its system prompt and its tools. What an old log has stays in force."""
    if context.system_prompt is None:
        fields = record(await asyncio.to_thread(prompt.layers))
        for notice in prompt.untold():
            bus.emit(Notice(notice, "warning", "prompt"))
        written = await context.write_system_prompt(fields.pop("content"), **fields)
        if isinstance(written, Backup):
            bus.emit(Rotated("prompt", written.name, len(context.records)))
    if context.tools is None:
        await context.write_tools(toolbox.offer())


def lacking(context: Context, prompt: SystemPrompt, toolbox: Toolbox) -> int:
    """The estimated tokens of what a new log will be given first."""
    if context.system_prompt is not None:
        return 0
    estimator = Estimator(context.model)
    system = sum(estimator.count(piece) for piece in pieces(prompt.layers()))
    return system + (estimator.count(toolbox.offer()) if context.tools is None else 0)


async def fresh(context: Context, prompt: SystemPrompt, toolbox: Toolbox) -> Fresh:
    """Prompt and tools that differ from those in force, to be put in force at a compaction."""
    layers = await asyncio.to_thread(prompt.layers)
    written = {"role": "_system_prompt", **record(layers)}
    words = []
    other_prompt = other_tools = None
    if written["content"] != context.system_prompt:
        other_prompt = written
    if context.system_prompt is not None and _differs(context, layers):
        words.append("the instructions had changed since this session began: the new ones are in force now")
    if (offered := toolbox.offer()) != context.tools:
        other_tools = tools_body(offered)
    if context.tools not in (None, offered):
        words.append("the tools had changed since this session began: the new ones are in force now")
    return Fresh(other_prompt, other_tools, tuple(words))


def _differs(context: Context, layers: Sequence[Layer]) -> bool:
    """True if the instructions would be others now; what is remembered is none."""
    old = [layer["text"].strip() for layer in context.system_layers if layer["layer"] != SOURCE]
    return old != [layer.text.strip() for layer in layers if layer.layer != SOURCE]


async def differences(context: Context, prompt: SystemPrompt, toolbox: Toolbox) -> list[str]:
    """What a resumed session was begun with and is different now, in words."""
    found = []
    if context.system_prompt is not None:
        layers = await asyncio.to_thread(prompt.layers)
        told = reread.changes(context.system_layers, layers)
        if told.text:
            changed = ", ".join(told.names)
            found.append(
                f"the instructions have changed since this session began ({changed}); the model is told next"
            )
        elif _differs(context, layers):
            found.append(
                "the instructions have changed since this session began; it goes on with those it has"
            )
    if context.tools is not None and context.tools != toolbox.offer():
        found.append("the tools have changed since this session began; it goes on with those it has")
    return found
