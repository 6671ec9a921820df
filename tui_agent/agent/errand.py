"""Commands that a person runs themselves (`!git status`): no model is asked, what they print goes into the context.

A command runs at once, also while the model works; its record is written between two steps, because nothing may stand
between a call and its result. A checkpoint before it makes it a place to go back to.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tui_agent.events import Emit, ToolEnded, ToolProgress, ToolStarted
from tui_agent.messages.blocks import text_block
from tui_agent.tools.tool import Output, ToolError

if TYPE_CHECKING:
    from tui_agent.agent.calls import Calls, Outcome
    from tui_agent.context import Context
    from tui_agent.tools.tool import Tool

ORIGIN = "command"
"""The origin of the record: neither a person's words nor a result that a model asked for."""
NAME = "!bash"
"""How such a command is called on the screen, apart from the model's calls."""


def told(command: str, output: str) -> str:
    """The record's text for the model."""
    return f"[The person ran this command themselves, for your information; it asks nothing.]\n$ {command}\n{output}"


class Errand:
    """Runs a person's commands, one after another. `prepare` writes what a new log needs first."""

    def __init__(
        self,
        *,
        context: Context,
        tool: Tool,
        calls: Calls,
        emit: Emit,
        gate: asyncio.Lock,
        prepare: Callable[[], Awaitable[None]],
        redact: Callable[[str], str],
    ) -> None:
        self._context = context
        self._tool = tool
        self._calls = calls
        self._emit = emit
        self._gate = gate
        self._prepare = prepare
        self._redact = redact
        self._order = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._running: asyncio.Task[Output] | None = None
        self._whole: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """True while a command runs or its record waits to be written."""
        return bool(self._whole)

    async def run(self, command: str) -> None:
        """Run a command and put what it printed into the context.

        Raises:
            ContextError: its record could not be written.
        """
        task = asyncio.create_task(self._do(command), name="errand")
        self._whole.add(task)
        task.add_done_callback(self._whole.discard)
        # whoever waits may go away; the command and its record are seen through, or stopped by `stop`
        await asyncio.shield(task)

    async def stop(self) -> bool:
        """Stop what runs and wait until its record is written; False if nothing runs."""
        whole = tuple(self._whole)
        if self._running is not None:
            self._running.cancel()
        await asyncio.gather(*whole, return_exceptions=True)
        return bool(whole)

    async def _do(self, command: str) -> None:
        async with self._order:
            call, started = f"own{next(self._numbers)}", time.monotonic()
            title = self._redact(" ".join(command.split()))
            self._emit(ToolStarted(call, NAME, title, {"command": command}))
            output, outcome = await self._output(call, command)
            seconds = time.monotonic() - started
            text, size = await self._calls.capped(str(output.content))
            record = await self._store(command, text, title, output, outcome, seconds)
            self._emit(
                ToolEnded(call, NAME, title, outcome, output.summary, text, size, seconds, record=record)
            )

    async def _output(self, call: str, command: str) -> tuple[Output, Outcome]:
        shown, printed = self._calls.redacting(), list[str]()

        def show(visible: str) -> None:
            if visible:
                printed.append(visible)
                self._emit(ToolProgress(call, visible))

        def progress(text: str) -> None:
            show(shown.feed(text))

        longest = self._tool.schema["properties"]["timeout"]["maximum"]
        arguments = {"command": command, "timeout": longest}
        self._running = asyncio.create_task(self._tool.call(arguments, progress), name="own command")
        try:
            output = await self._running
        except asyncio.CancelledError:
            show(shown.finish())
            return Output(
                "".join([*printed, "\n[stopped by the person]"]).strip(), "stopped", error=True
            ), "cancelled"
        except ToolError as error:
            return Output(str(error), "not run", error=True), "error"
        finally:
            self._running = None
        show(shown.finish())
        return output, "error" if output.error else "ok"

    async def _store(
        self, command: str, text: str, title: str, output: Output, outcome: Outcome, seconds: float
    ) -> str:
        meta = {
            **output.meta,
            "tool": NAME,
            "title": title,
            "outcome": outcome,
            "summary": output.summary,
            "ms": round(seconds * 1000),
        }
        content = [text_block(told(self._redact(command), text))]
        async with self._gate:
            await self._prepare()
            await self._context.checkpoint()
            (record,) = await self._context.append_message(
                {"role": "user", "content": content}, origin=ORIGIN, meta=meta
            )
            await self._context.sync()
        return record.id
