"""The commands that open a place on the screen, as lists; and those that only make sense without one.

A command is an async function of the talk and its arguments; its docstring's first line is its help, what it
gives back is said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_agent import literal
from tui_agent.commands import CommandError
from tui_agent.messages.blocks import result_text
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import SessionError
from tui_agent.ui import words
from tui_agent.ui.plain import reading
from tui_agent.ui.plain.requests import request

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message
    from tui_agent.ui.plain.talk import Talk

_WORDS = 80
"""Characters of a title or of first words in a list."""
_MESSAGES = 10
_FOUND = 20
"""Places of a search that are read out, the last ones."""
_RESULT_LINES = 12
"""Lines of a call's result in the history."""

Said = Sequence[str]
"""What a command says: each text begins a line of its own."""

Command = Callable[..., Awaitable[Said]]


async def help_(talk: Talk) -> Said:
    """List the commands"""
    rows = {
        f"{name} {_ARGUMENT.get(name, '')}".strip(): (command.__doc__ or "").strip().splitlines()[0]
        for name, command in COMMANDS.items()
    }
    for known in talk.session.commands:
        rows.setdefault(f"{known.name} {known.argument}".strip(), known.words)
    return (
        "What you type is sent to the model. \\ at the end of a line goes on in the next one.",
        "Control C stops what runs; twice, it quits. !COMMAND runs a command of yours into the context.",
        *(f"/{name}: {said}" for name, said in sorted(rows.items())),
    )


async def quit_(talk: Talk) -> Said:
    """Leave; the session stays on disk"""
    talk.leave()
    return ()


async def history(talk: Talk, count: str = "") -> Said:
    """Read the last messages, or the last N"""
    if count and not (count.isascii() and count.isdigit()):
        raise CommandError("usage: /history [N]")
    messages = talk.session.context.shown
    wanted = int(count or _MESSAGES)
    first = max(0, len(messages) - wanted)
    return [
        f"{len(messages):,} messages in all",
        *(line for index in range(first, len(messages)) for line in told(messages[index])),
    ]


async def find(talk: Talk, *words_: str) -> Said:
    """Read the messages that say TEXT"""
    wanted = " ".join(words_).casefold()
    if not wanted:
        raise CommandError("usage: /find TEXT")
    messages = talk.session.context.shown
    found: list[str] = []
    async for index in words.in_slices(range(len(messages))):
        found += [line for line in told(messages[index]) if wanted in line.casefold()]
    return [reading.count(len(found), "place says it", "places say it"), *found[-_FOUND:]]


async def queue(talk: Talk, number: str = "") -> Said:
    """List the messages of yours that wait; with a number: take that one back"""
    waiting = talk.session.queue
    if not number:
        rows = [f"{place} {_first(prompt.text)}" for place, prompt in enumerate(waiting, 1)]
        return ["/queue NUMBER takes one back", *rows] if rows else ["no message of yours waits"]
    if not (number.isascii() and number.isdigit() and 1 <= int(number) <= len(waiting)):
        raise CommandError("usage: /queue [NUMBER]")
    prompt = talk.session.withdraw(waiting[int(number) - 1].id)
    return ["taken back, it was:", f"you: {prompt.text}"] if prompt is not None else ["it was sent just now"]


async def output(talk: Talk, line: str = "1") -> Said:
    """Read the last result of a tool, a page of it; with a number: from that line on"""
    if not (line.isascii() and line.isdigit() and int(line)):
        raise CommandError("usage: /output [LINE]")
    if not talk.telling.output.strip():
        return ["no tool has given a result yet"]
    return reading.page(talk.telling.output, int(line), "/output") or ["it has no such line"]


async def again(talk: Talk) -> Said:
    """Repeat the question that waits"""
    if not talk.asking:
        return ["no question waits"]
    talk.asking.repeat()
    return ()


async def copy(talk: Talk) -> Said:
    """Copy the last answer to the clipboard"""
    # a screen's module, which only this command pays for
    from tui_agent.ui.terminal import clipboard_command, copy_with

    messages = talk.session.context.shown
    for index in range(len(messages) - 1, -1, -1):
        text = messages[index].text
        if messages[index].role == "assistant" and text.strip():
            break
    else:
        return ["there is no answer to copy yet"]
    program = await asyncio.to_thread(clipboard_command)
    if program is not None and await asyncio.to_thread(copy_with, program, literal.inert(text)):
        return ["copied"]
    return ["no clipboard can be reached from here; this is the answer:", f"model: {text}"]


async def checkpoints(talk: Talk) -> Said:
    """List the turns that /revert goes back to"""
    points = [point for point in talk.session.context.checkpoints() if point.turn]
    rows = [f"{point.id}: {words.clock(point.at)} {_first(words.said_at(point.words))}" for point in points]
    return ["/revert NUMBER goes back to before it", *rows] if rows else ["there is no checkpoint yet"]


async def backups(talk: Talk) -> Said:
    """List the backups that /restore brings back"""
    kept = talk.session.context.backups()
    rows = [f"{b.name}: {b.op}, {words.clock(b.at)}, {words.size(b.bytes)}" for b in kept if b.exists]
    return rows or ["there is no backup yet: each change of the history makes one"]


async def sessions(talk: Talk, *which: str) -> Said:
    """List the sessions of this folder; with all: of every folder"""
    place = None if which[:1] == ("all",) else talk.session.workspace
    try:
        entries = await asyncio.to_thread(Catalog().list, place)
    except SessionError as error:
        raise CommandError(str(error)) from error
    rows = [f"{entry.id}: {_first(entry.title) or 'untitled'}" for entry in entries]
    return ["/resume ID goes on with one", *rows] if rows else ["there is no session here yet"]


async def resume(talk: Talk, session: str = "latest") -> Said:
    """Go on with another session: its id or the beginning of it"""
    await talk.change(session)
    return ()


async def new(talk: Talk) -> Said:
    """Begin a new session"""
    await talk.change(None)
    return ()


async def settings(talk: Talk) -> Said:
    """Say where the settings are"""
    return [f"settings are in {talk.session.settings.file}; a change counts from the next start"]


async def connect(talk: Talk) -> Said:
    """Say how to connect to a model"""
    return [
        "For Claude, set ANTHROPIC_API_KEY before the start.",
        f"For another endpoint, write a profile into {talk.session.settings.file}: a table [profiles.NAME] with "
        'base_url, model, and api_key_env (the variable that holds the key) or auth = "none".',
        "After the next start, /model NAME chooses it.",
    ]


async def inspect(talk: Talk) -> Said:
    """Say how to look into the log"""
    return [
        f"the log is {talk.session.folder.path}/context.jsonl; "
        "tui-agent context show, checkpoints, backups and tokens tell what is in it"
    ]


COMMANDS: Mapping[str, Command] = {
    "help": help_, "keys": help_, "quit": quit_, "history": history, "output": output, "again": again,
    "copy": copy, "checkpoints": checkpoints, "backups": backups, "sessions": sessions, "resume": resume,
    "new": new, "find": find, "queue": queue, "settings": settings, "connect": connect, "inspect": inspect,
    "request": request,
}  # fmt: skip
"""By name, without the slash. The session's own commands come besides."""

_ARGUMENT = {
    "find": "TEXT",
    "output": "[LINE]",
    "queue": "[NUMBER]",
    "request": "[N]",
    "history": "[N]",
    "sessions": "[all]",
    "resume": "ID",
}

NEED_A_SCREEN = frozenset(("theme", "keys", "mouse", "tour"))
"""Commands of the screen that mean nothing here, or are done otherwise."""


def told(message: Message) -> Said:
    """A message of the history in a few lines; empty if there is nothing to read in it."""
    label = (
        "you" if message.is_words else "model" if message.role == "assistant" else message.origin or "note"
    )
    said = []
    for block in message.content:
        match block.get("type"):
            case "text" if str(block.get("text", "")).strip():
                said.append(f"{label}: {block['text']}")
            case "tool_use":
                said.append(
                    f"tool {block.get('name')}: called, {_first(reading.arguments(block.get('input')))}"
                )
            case "tool_result":
                said.append(f"result: {_shortened(block)}")
            case "image":
                said.append(f"{label}: an image")
            case _:
                pass
    return said


def _shortened(block: Block) -> str:
    lines = result_text(block).rstrip().split("\n")
    more = [f"and {len(lines) - _RESULT_LINES:,} more lines"] if len(lines) > _RESULT_LINES else []
    return "\n".join([*lines[:_RESULT_LINES], *more])


def _first(text: str) -> str:
    return literal.one_line(text.strip(), _WORDS)
