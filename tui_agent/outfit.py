"""What a session can do: its tools, put together. The concrete ones are named here alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.events import Emit, StateChanged
from tui_agent.planning.plan import PresentPlan
from tui_agent.planning.todo import STATE_KEY, TodoList, TodoTool
from tui_agent.tools.edit import EditFile
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.search import Glob, Grep
from tui_agent.tools.shell import Bash
from tui_agent.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tui_agent.planning.plan import Plans
    from tui_agent.sessions.folder import SessionFolder
    from tui_agent.tools.tool import Tool
    from tui_agent.workspace.reads import Reads


def toolbox(
    workspace: Path, folder: SessionFolder, reads: Reads, todo: TodoList, plans: Plans, emit: Emit
) -> Toolbox:
    """The tools of a session in a workspace, with its todo list and its plans."""

    def todo_changed(items: list[dict[str, str]]) -> None:
        emit(StateChanged(STATE_KEY, items))

    return Toolbox([*_builtin(workspace, folder, reads), TodoTool(todo, todo_changed), PresentPlan(plans)])


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
