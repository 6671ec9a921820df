"""A bare app around a transcript, and histories to load into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from textual.app import App, ComposeResult
from textual.pilot import Pilot

import tui_agent
from tui_agent.events import Event
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.ui import themes
from tui_agent.ui.transcript import code
from tui_agent.ui.transcript.view import Transcript

STYLES = Path(tui_agent.__file__).parents[1] / "styles" / "transcript.tcss"


class Host(App[None]):
    """A transcript alone on the screen; it keeps what the transcript said."""

    CSS_PATH = STYLES
    AUTO_FOCUS = None

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript
        self.chosen: list[int] = []
        self.links: list[str] = []
        self.new_lines: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        for theme in themes.THEMES:
            self.register_theme(theme)
        self.theme = themes.DARK_NAME

    def on_transcript_checkpoint_chosen(self, message: Transcript.CheckpointChosen) -> None:
        self.chosen.append(message.id)

    def on_transcript_link_chosen(self, message: Transcript.LinkChosen) -> None:
        self.links.append(message.target)

    def on_transcript_new_lines(self, message: Transcript.NewLines) -> None:
        self.new_lines.append(message.count)


@dataclass
class Running:
    """A running host."""

    app: Host
    pilot: Pilot[None]
    transcript: Transcript

    @property
    def rows(self) -> list[str]:
        """The rows of the screen, without trailing blanks."""
        return [self.transcript.render_line(y).text.rstrip() for y in range(self.transcript.size.height)]

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.rows).rstrip()

    async def feed(self, *events: Event) -> None:
        """Tell events and wait until they are on the screen."""
        for event in events:
            self.transcript.feed(event)
        self.transcript.flush()
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys and wait for what they do."""
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def running(
    width: int = 80, height: int = 24, *, cold: bool = False, **options: Any
) -> Iterator[Running]:
    """An app of that size with an empty transcript, its highlighter loaded unless it is to be `cold`."""
    if not cold:
        code.warm()
    transcript = Transcript(**options)
    app = Host(transcript)
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.pause()
        yield Running(app, pilot, transcript)


class Lazy(Sequence[Message]):
    """A history that counts what is read of it."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self.messages = list(messages)
        self.read: list[int] = []

    def __len__(self) -> int:
        return len(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        assert isinstance(index, int)
        self.read.append(index)
        return self.messages[index]


@dataclass(frozen=True)
class Checkpoint:
    """What the transcript reads of a checkpoint."""

    id: int
    uid: str = ""
    at: str = ""
    turn: bool = True
    line: int = 0
    words: str = ""
    tokens: int = 0


def words(text: str, **fields: Any) -> Message:
    """What a person said."""
    return Message("user", [text_block(text)], **fields)


def answer(*blocks: str | dict[str, Any], **fields: Any) -> Message:
    """What the model said."""
    content = [text_block(block) if isinstance(block, str) else block for block in blocks]
    return Message("assistant", content, **fields)


def use(call: str, tool: str = "bash", **arguments: Any) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": call, "name": tool, "input": arguments}


def result(call: str, text: str = "done", *, error: bool = False, **meta: Any) -> Message:
    """The record of a tool's result."""
    return Message("user", [tool_result(call, text, error=error)], origin="tool", meta=meta)


def turns(count: int) -> list[Message]:
    """Turns of a person's words, an answer with a call, its result, and an answer: four messages each."""
    messages = []
    for number in range(count):
        messages += [
            words(f"prompt {number}"),
            answer(f"I will run **{number}**.", use(f"c{number}", command=f"make {number}")),
            result(f"c{number}", f"line of {number}\n" * 3, outcome="ok", ms=20),
            answer(f"It is done, {number}.\n\n- one\n- two " + "and more words " * 10),
        ]
    return messages
