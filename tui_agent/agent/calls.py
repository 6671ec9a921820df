"""A tool call from request to result. Every call gets a result: run, failed, refused, cancelled or crashed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.agent import pictures
from tui_agent.agent.questions import CALLING
from tui_agent.events import Emit, ToolEnded, ToolProgress, ToolStarted, ToolWaiting
from tui_agent.messages.blocks import Block, text_block, tool_result
from tui_agent.messages.shorten import shorten
from tui_agent.tools.tool import Output, ToolError

if TYPE_CHECKING:
    from tui_agent.agent.approvals import Approvals, Permit
    from tui_agent.context import Context
    from tui_agent.context.blobs import BlobStore, OutputStore
    from tui_agent.tools.tool import Call, Need, Tool
    from tui_agent.tools.toolbox import Toolbox

RESULT_CHARACTERS = 30_000
"""A longer result is stored as its head and tail; the full text goes to outputs/."""

_MALFORMED_CHARACTERS = 2_000

Outcome = Literal["ok", "error", "denied", "cancelled"]


class Redacting(Protocol):
    """Takes credentials out of text that comes in pieces."""

    def feed(self, text: str) -> str:
        """The text that may be shown now."""
        ...

    def finish(self) -> str:
        """What was held back, at the end."""
        ...


class _Running(Struct):
    """A call on its way. `started`: when it began to run, if it did. `explained`: a person refused it and said why."""

    call: Call
    title: str = ""
    started: float | None = None
    explained: bool = False


class Calls:
    """Settles the calls of one session.

    Calls that only read run side by side; the others one after another, in the model's order. `redact` takes our own
    credentials out of what is stored, `redacting` makes the like for text that comes in pieces.
    """

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        approvals: Approvals,
        context: Context,
        outputs: OutputStore,
        blobs: BlobStore,
        emit: Emit,
        redact: Callable[[str], str],
        redacting: Callable[[], Redacting],
    ) -> None:
        self._toolbox = toolbox
        self._approvals = approvals
        self._context = context
        self._outputs = outputs
        self._blobs = blobs
        self._emit = emit
        self._redact = redact
        self.redacting = redacting

    async def settle(self, calls: Sequence[Call]) -> str:
        """Bring every call to its result, each appended as it arrives.

        Returns why the turn ends with them, or `""`: `denied` if a person refused one without a word to the model, so
        that they speak next, or what a tool says (`Output.ends`); then those that wait are not run.
        On cancellation what runs is stopped, and it and the rest get results that say so, before the cancellation
        goes on.

        Raises:
            ContextError: a result could not be written; calls may be left open on disk for the next repair.
        """
        waiting = [self._toolbox.resolve(call) for call in calls]
        for call in waiting[1:]:
            self._emit(ToolWaiting(call.id, call.tool, call.arguments))
        try:
            while waiting:
                group = self._next_group(waiting)
                if ends := await self._together(group, waiting):
                    why = "the person refused the call before it" if ends == "denied" else "the turn was over"
                    await self._close(waiting, f"not run: {why}", "denied")
                    return ends
        except asyncio.CancelledError:
            await self._close(waiting, "not run: the person interrupted", "cancelled")
            raise
        return ""

    def _next_group(self, waiting: Sequence[Call]) -> list[Call]:
        group = []
        for call in waiting:
            tool = self._toolbox.find(call.tool)
            if tool is None or not tool.read_only:
                break
            group.append(call)
        return group or [waiting[0]]

    async def _together(self, group: Sequence[Call], waiting: list[Call]) -> str:
        """Run a group side by side, taking each from `waiting` once its result is stored."""
        tasks = [asyncio.create_task(self._one(call, waiting), name=f"tool {call.tool}") for call in group]
        try:
            return next(filter(None, await asyncio.gather(*tasks)), "")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _close(self, waiting: list[Call], text: str, outcome: Outcome) -> None:
        for call in tuple(waiting):
            await self._store(_Running(call), Output(text, error=True), outcome)
            waiting.remove(call)

    async def _one(self, call: Call, waiting: list[Call]) -> str:
        running = _Running(call)
        try:
            output, outcome = await self._run(running)
        except asyncio.CancelledError:
            output, outcome = Output("stopped: the person interrupted this call", error=True), "cancelled"
            await self._store(running, output, outcome)
            waiting.remove(call)
            raise
        await self._store(running, output, outcome)
        waiting.remove(call)
        return "denied" if outcome == "denied" and not running.explained else output.ends

    async def _run(self, running: _Running) -> tuple[Output, Outcome]:
        call = running.call
        CALLING.set(call.id)  # each call runs in a task of its own
        self._emit(ToolStarted(call.id, call.tool, "", call.arguments))
        tool = self._toolbox.find(call.tool)
        if tool is None:
            names = ", ".join(sorted(d["name"] for d in self._toolbox.offer()))
            return Output(f"there is no tool {call.tool!r}; there are: {names}", error=True), "error"
        if call.cut:
            return Output(call.cut, error=True), "error"
        if call.malformed is not None:
            raw = shorten(call.malformed, _MALFORMED_CHARACTERS)
            return Output(
                f"the arguments were not a JSON object, so {call.tool} was not run. They were:\n{raw}",
                error=True,
            ), "error"
        try:
            return await self._permitted(tool, running)
        except ToolError as error:
            return Output(str(error), error=True), "error"
        except Exception as error:  # noqa: BLE001 - a tool's crash must become a result, or the history is broken
            return Output(f"{call.tool} crashed: {type(error).__name__}: {error}", error=True), "error"

    async def _permitted(self, tool: Tool, running: _Running) -> tuple[Output, Outcome]:
        call, arguments = running.call, dict(running.call.arguments)
        need = await asyncio.to_thread(tool.needs, arguments)
        self._name(running, need)
        permit = await self._approvals.permit(tool, need, call.id)
        if not permit.allowed:
            return _refused(running, permit)
        told = ""
        if permit.edited is not None and need.editable:
            arguments[need.editable] = permit.edited
            need = await asyncio.to_thread(tool.needs, arguments)
            self._name(running, need)
            if (refused := await self._approvals.barred(tool, need)) is not None:
                return _refused(running, refused)
            told = f"(the person changed {need.editable} before it ran to: {permit.edited})\n"
        if not tool.read_only:
            await self._context.sync()
        running.started = time.monotonic()
        output = await self._called(tool, arguments, call.id)
        if told:
            content = (
                told + output.content
                if isinstance(output.content, str)
                else [text_block(told), *output.content]
            )
            output = replace(output, content=content)
        return output, "error" if output.error else "ok"

    async def _called(self, tool: Tool, arguments: Mapping[str, Any], call: str) -> Output:
        shown = self.redacting()

        def progress(text: str) -> None:
            if visible := shown.feed(text):
                self._emit(ToolProgress(call, visible))

        output = await tool.call(arguments, progress)
        if rest := shown.finish():
            self._emit(ToolProgress(call, rest))
        return output

    def _name(self, running: _Running, need: Need) -> None:
        running.title = need.title
        self._emit(ToolStarted(running.call.id, running.call.tool, need.title, running.call.arguments))

    async def _store(self, running: _Running, output: Output, outcome: Outcome) -> None:
        call = running.call
        seconds = time.monotonic() - running.started if running.started is not None else 0.0
        content, text, size = await self._content(output)
        meta = {**output.meta, "tool": call.tool, "outcome": outcome, "ms": round(seconds * 1000)}
        if running.title:
            meta["title"] = self._redact(running.title)
        if output.summary:
            meta["summary"] = output.summary
        if output.diff:
            meta["diff"] = shorten(self._redact(output.diff), RESULT_CHARACTERS)
        block = tool_result(call.id, content, error=output.error or outcome != "ok")
        (record,) = await self._context.append_message(
            {"role": "user", "content": [block]}, origin="tool", meta=meta
        )
        self._emit(
            ToolEnded(
                call=call.id,
                tool=call.tool,
                title=running.title,
                outcome=outcome,
                summary=output.summary,
                text=text,
                size=size,
                seconds=seconds,
                diff=output.diff,
                record=record.id,
            )
        )

    async def _content(self, output: Output) -> tuple[str | list[Block], str, int]:
        """What is stored for the model, its text for the screen, and the size of the full text in bytes."""
        if isinstance(output.content, str):
            text, size = await self.capped(output.content)
            return text, text, size
        blocks, texts, total = [], [], 0
        for block in output.content:
            if block.get("type") == "text":
                text, size = await self.capped(str(block.get("text", "")))
                blocks.append(text_block(text))
                texts.append(text)
            else:
                block, size = await pictures.keep(self._blobs, block)
                blocks.append(block)
                texts.append(f"[{block.get('type', 'media')}]")
            total += size
        return blocks, "\n".join(texts), total

    async def capped(self, text: str) -> tuple[str, int]:
        """A text as it is stored: redacted, and if too long its head and tail, the full text in outputs/; its bytes."""
        text = self._redact(text)
        size = len(text.encode("utf-8", "replace"))
        if len(text) <= RESULT_CHARACTERS:
            return text, size
        name = await asyncio.to_thread(self._outputs.put_text, text)
        short = shorten(text, RESULT_CHARACTERS)
        where = self._outputs.path(name)
        return (
            f"{short}\n[shortened: all {size:,} bytes are in {where}; read_file and grep can read it]",
            size,
        )


def _refused(running: _Running, permit: Permit) -> tuple[Output, Outcome]:
    running.explained = bool(permit.note)
    if permit.by == "mode":
        return Output(f"not run: {permit.note}", "plan mode", error=True), "denied"
    if permit.by != "person":
        return Output(f"not run: {permit.note}", error=True), "denied"
    why = f": {permit.note}" if permit.note else "."
    return Output(f"not run: the person refused this call{why}", error=True), "denied"
