"""What a session can do: its tools, put together. The concrete ones are named here alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.events import Emit, StateChanged
from tui_agent.planning.goaltool import GoalTool
from tui_agent.planning.plan import PresentPlan
from tui_agent.planning.todo import STATE_KEY, TodoList, TodoTool
from tui_agent.settings import secrets
from tui_agent.settings.serving import FILE
from tui_agent.tools.edit import EditFile
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.search import Glob, Grep
from tui_agent.tools.shell import Bash
from tui_agent.tools.toolbox import Toolbox
from tui_agent.workspace.root import find_root

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tui_agent.context import Context
    from tui_agent.events import Answer, Question
    from tui_agent.planning.goal import Goal
    from tui_agent.planning.plan import Plans
    from tui_agent.sessions.folder import SessionFolder
    from tui_agent.settings.schema import Settings
    from tui_agent.tools.mcp.servers import Servers
    from tui_agent.tools.tool import Tool
    from tui_agent.workspace.reads import Reads


def toolbox(
    workspace: Path, folder: SessionFolder, reads: Reads, todo: TodoList, goal: Goal, plans: Plans, emit: Emit
) -> Toolbox:
    """The tools of a session in a workspace, with its todo list, its goal and its plans."""

    def todo_changed(items: list[dict[str, str]]) -> None:
        emit(StateChanged(STATE_KEY, items))

    return Toolbox(
        [
            *_builtin(workspace, folder, reads),
            TodoTool(todo, todo_changed),
            PresentPlan(plans),
            GoalTool(goal),
        ]
    )


def _builtin(workspace: Path, folder: SessionFolder, reads: Reads) -> list[Tool]:
    # Results too long to send are kept beside the log; the model may read the rest of them there.
    readable = [folder.path / "outputs"]
    return [
        ReadFile(workspace, reads, readable),
        WriteFile(workspace, reads),
        EditFile(workspace, reads),
        Glob(workspace),
        Grep(workspace, readable),
        Bash(workspace),
    ]


async def serve(
    toolbox: Toolbox,
    workspace: Path,
    settings: Settings,
    context: Context,
    *,
    window: Callable[[], int],
    emit: Emit,
    ask: Callable[[Question], Awaitable[Answer]] | None = None,
) -> Servers | None:
    """Add the tools of MCP servers, as far as it is known what they offer; None where none are configured.

    Starts nothing. `ask` puts a question to a person.
    """
    root = find_root(workspace)
    if not settings.mcp.servers and not await asyncio.to_thread((root / FILE).is_file):
        return None
    from tui_agent.tools.mcp.config import configured
    from tui_agent.tools.mcp.servers import Servers
    from tui_agent.tools.selection import Selection

    found = await asyncio.to_thread(configured, settings.mcp, workspace, root, secrets.variables(settings))
    always = settings.mcp.workspace == "always"
    servers = await asyncio.to_thread(Servers, found, emit, ask=ask, always=always)
    toolbox.serve(servers, Selection(context, lambda: settings.tools, window, lambda: servers.asks))
    return servers
