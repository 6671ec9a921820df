"""What can be asked of the session itself: its model, title, costs, rules, and a copy to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.agent.commands.cost import cost
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.llm.provider import window_of
from tui_agent.messages.blocks import Message, result_text
from tui_agent.planning.mode import MEANS
from tui_agent.settings.schema import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_agent.agent.session import Session


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    for command in (
        Command("model", model, "[PROFILE or MODEL]"),
        Command("thinking", thinking, "[off, low, medium or high]"),
        Command("rename", rename, "TITLE"),
        Command("archive", archive),
        Command("unarchive", unarchive),
        Command("cost", cost),
        Command("export", export, "[FILE]"),
        Command("status", status),
        Command("permissions", permissions),
        Command("todo", todo),
        Command("run", run, "COMMAND"),
    ):
        commands.add(command)


async def model(session: Session, *name: str) -> Outcome:
    """Show the model, or ask another profile or model from the next turn on"""
    if not name:
        profiles = ", ".join(sorted(session.settings.profiles)) or "none in settings"
        return Outcome(
            f"{session.model} (profile {session.profile}); profiles: {profiles}",
            {
                "model": session.provider.model,
                "profile": session.profile,
                "window": session.window,
                "window_guessed": session.guessed,
            },
        )
    chosen = await session.use_model(" ".join(name))
    when = "from the next turn on" if session.busy else "from now on"
    return Outcome(
        f"{chosen.provider.label} answers {when} (window {window_of(chosen.provider)} tokens)",
        {
            "model": chosen.provider.model,
            "profile": chosen.profile,
            "window": chosen.provider.window,
            "window_guessed": chosen.provider.guessed,
        },
    )


async def thinking(session: Session, *level: str) -> Outcome:
    """Show how much the model may think, or change it from the next turn on"""
    if not level:
        return Outcome(f"thinking: {session.thinking}", {"thinking": session.thinking})
    if len(level) != 1 or level[0] not in LEVELS:
        raise CommandError(f"thinking is one of {', '.join(LEVELS)}")
    await session.use_thinking(level[0])
    when = "from the next turn on" if session.busy else "from now on"
    return Outcome(f"thinking {when}: {session.thinking}", {"thinking": session.thinking})


async def rename(session: Session, *title: str) -> Outcome:
    """Give the session another title"""
    words = " ".join(" ".join(title).split())
    if not words:
        raise CommandError("usage: /rename TITLE")
    await session.rename(words)
    return Outcome(f"the session is called {words!r}", {"title": words})


async def archive(session: Session) -> Outcome:
    """Leave the session out of the usual lists and of --continue; /unarchive or your next words take it back"""
    await session.save_meta(archived=True)
    await session.memories.end()
    return Outcome(
        "archived: it is left out of the usual lists; /unarchive or your next words take it back",
        {"archived": True},
    )


async def unarchive(session: Session) -> Outcome:
    """Put the session back into the usual lists"""
    await session.save_meta(archived=False)
    await session.memories.come_back()
    return Outcome("it is in the usual lists", {"archived": False})


async def export(session: Session, *file: str) -> Outcome:
    """Write the conversation as Markdown"""
    name = " ".join(file) or f"{session.id}.md"
    path = Path(name).expanduser()
    path = path if path.is_absolute() else session.workspace / path
    text = session.redact(_markdown(session.title or "Conversation", session.context.shown))
    import aiofiles  # not needed to open a session

    try:
        async with aiofiles.open(path, "x", encoding="utf-8", errors="replace") as copy:
            await copy.write(text)
    except FileExistsError:
        raise CommandError(f"{path} is there already: name another file") from None
    except OSError as error:
        raise CommandError(f"{path} could not be written: {error.strerror or error}") from error
    return Outcome(f"written to {path}", {"path": str(path)})


def _markdown(title: str, history: Sequence[Message]) -> str:
    parts = [f"# {title}\n"]
    for message in history:
        if message.is_words:
            parts.append(f"## You\n\n{message.text}\n")
        elif message.role == "assistant":
            parts.append(f"## {message.model or 'Model'}\n\n{_answer(message)}\n")
        elif message.origin == "tool":
            parts.extend(_fenced("result", result_text(block)) for block in message.blocks("tool_result"))
        else:
            parts.append(f"## ({message.origin})\n\n{message.text}\n")
    return "\n".join(parts)


def _answer(message: Message) -> str:
    pieces = []
    for block in message.content:
        if block.get("type") == "text":
            pieces.append(str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            pieces.append(_fenced(str(block.get("name")), str(block.get("input"))))
    return "\n\n".join(pieces)


def _fenced(label: str, text: str) -> str:
    # The fence is longer than any run of backticks in the text, so that nothing in it can close it.
    longest = max((len(run) for run in _runs(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{label}\n{text}\n{fence}\n"


def _runs(text: str) -> list[str]:
    return "".join(c if c == "`" else " " for c in text).split()


async def status(session: Session) -> Outcome:
    """Say which session this is, where it lies and who answers"""
    state = "working" if session.busy else "waiting for you"
    waiting = len(session.queue)
    queued = f", {waiting} prompt{'s' if waiting > 1 else ''} queued" if waiting else ""
    lines = [
        f"{session.title or 'untitled'} ({session.id})",
        f"workspace {session.workspace}",
        f"files {session.folder.path}",
        f"model {session.model}, profile {session.profile}, window {window_of(session.provider)} tokens",
        f"{state}, mode {session.plans.mode.now}{queued}",
    ]
    if (goal := session.goal.now) is not None:
        lines.append(f"goal {'; '.join((goal.status, *goal.figures()))} (/goal)")
    if session.read_only:
        lines.append(session.read_only)
    return Outcome(
        "\n".join(lines),
        {
            "session": session.id,
            "title": session.title,
            "workspace": str(session.workspace),
            "folder": str(session.folder.path),
            "model": session.provider.model,
            "busy": session.busy,
            "mode": session.plans.mode.now,
            "queued": waiting,
        },
    )


async def permissions(session: Session) -> Outcome:
    """List the rules that allow tool calls, and what the mode makes of them"""
    rules, mode = session.rules.allowed(), session.plans.mode.now
    said = "allowed without asking:\n" + "\n".join(f"  {rule} ({scope})" for rule, scope in rules)
    if not rules:
        said = "no rules: reads inside the workspace are free, everything else asks"
    first = f"mode {mode}: {MEANS[mode]}\n" if mode != "ask" else ""
    return Outcome(first + said, {"allow": [{"rule": r, "scope": s} for r, s in rules], "mode": mode})


async def todo(session: Session) -> Outcome:
    """Show the todo list"""
    items = session.todo.items()
    return Outcome(
        "\n".join(item.line() for item in items) or "the todo list is empty",
        {"items": [{"text": item.text, "status": item.status} for item in items]},
    )


async def run(session: Session, *words: str) -> Outcome:
    """Run a command yourself; what it prints goes into the context (!COMMAND too)"""
    command = " ".join(words)
    if not command.strip():
        raise CommandError("usage: /run COMMAND, or !COMMAND")
    if session.read_only:
        raise CommandError(session.read_only)
    if session.errand is None:
        raise CommandError("this session has no shell")
    await session.errand.run(command)
    session.weigh()
    return Outcome()
