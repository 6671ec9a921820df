"""Events out to every listener, and their trace into events.jsonl (ids and figures, no bodies)."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from tui_agent.changes import MemoryChanged, MemoryProposed
from tui_agent.events import Event, Notice, TextDelta, ThinkingDelta, ToolProgress, ToolUseDelta

TRACE_BYTES = 8 * 1024 * 1024
"""A trace that would grow over this is set aside as events.1.jsonl, replacing the one before."""

_UNTRACED = (TextDelta, ThinkingDelta, ToolProgress, ToolUseDelta)
_BODIES = frozenset(
    {
        "text",
        "body",
        "detail",
        "doubts",
        "instruction",
        "items",
        "diff",
        "prompt",
        "prompts",
        "arguments",
        "editable",
        "edited",
        "note",
        "value",
        "words",
        "title",
        "images",
        "goal",
    }
)
"""Fields that hold words or file contents: the trace keeps only how many characters, or items of a list, there are."""
_MEMORY_BODIES = _BODIES | {"key", "old", "outside"}


class Trace:
    """events.jsonl: one line an event. Nothing the program decides reads it; if it cannot be written it stops."""

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self._path = path
        self._redact = redact
        self._file: int | None = None
        self._size = 0
        self._broken = False

    def write(self, event: Event) -> str:
        """Write an event. Returns a notice the first time it cannot, else an empty string."""
        if self._broken or isinstance(event, _UNTRACED):
            return ""
        bodies = _MEMORY_BODIES if isinstance(event, MemoryProposed | MemoryChanged) else _BODIES
        figures = _figures(to_builtins(event), bodies)
        line = self._redact(json.dumps({"at": now(), "event": event.name, **figures})) + "\n"
        data = line.encode("utf-8", "replace")
        try:
            if self._file is None or self._size + len(data) > TRACE_BYTES:
                self._open(len(data))
            if self._file is not None:
                self._size += os.write(self._file, data)
        except OSError as error:
            self._broken = True
            self.close()
            return f"the trace {self._path.name} is no longer written: {error.strerror or error}"
        return ""

    def _open(self, coming: int) -> None:
        self.close()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._file).st_size
        if self._size and self._size + coming > TRACE_BYTES:
            self.close()
            self._path.replace(self._path.with_suffix(".1.jsonl"))
            self._file = os.open(self._path, flags, 0o600)
            self._size = 0

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _figures(value: Any, bodies: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {k: _length(v) if k in bodies else _figures(v, bodies) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_figures(item, bodies) for item in value]
    return value


def _length(value: Any) -> int:
    return len(value if isinstance(value, str | list | tuple) else json.dumps(value, default=str))


def now() -> str:
    """The time in UTC, as ISO 8601 with milliseconds and a `Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Bus:
    """Gives every event to each follower, in the order they were emitted.

    `emit` may be called from any thread; from another than the loop's the event is handed over to the loop.
    """

    def __init__(self, trace: Trace | None = None) -> None:
        self._trace = trace
        self._followers: set[asyncio.Queue[Event | None]] = set()
        self._listeners: list[Callable[[Event], None]] = []
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event from now on, on the loop's thread."""
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Tell everybody."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.emit, event)
            return
        trouble = self._trace.write(event) if self._trace is not None else ""
        for listener in tuple(self._listeners):
            listener(event)
        for follower in tuple(self._followers):
            follower.put_nowait(event)
        if trouble:
            self.emit(Notice(trouble, "warning", "trace"))

    def follow(self) -> AsyncIterator[Event]:
        """Every event from this call on, until the bus is closed."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._followers.add(queue)

        async def events() -> AsyncIterator[Event]:
            try:
                while (event := await queue.get()) is not None:
                    yield event
            finally:
                self._followers.discard(queue)

        return events()

    def close(self) -> None:
        """End every `follow()` and close the trace."""
        for follower in tuple(self._followers):
            follower.put_nowait(None)
        if self._trace is not None:
            self._trace.close()
