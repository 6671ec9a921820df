"""What a session is made of; wiring puts it together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.agent.bus import Bus
    from tui_agent.agent.calls import Calls
    from tui_agent.agent.premises import Premises
    from tui_agent.agent.questions import Questions
    from tui_agent.agent.recall import Recall
    from tui_agent.agent.replies import Replies
    from tui_agent.agent.speaker import Chosen
    from tui_agent.commands import Commands
    from tui_agent.context import Context
    from tui_agent.events import Reminded
    from tui_agent.planning.goal import Goal
    from tui_agent.planning.plan import Plans
    from tui_agent.planning.todo import TodoList
    from tui_agent.sessions.folder import SessionFolder
    from tui_agent.settings.schema import Settings
    from tui_agent.timeline.timeline import Timeline
    from tui_agent.tools.mcp.servers import Servers
    from tui_agent.tools.permission import Rules
    from tui_agent.tools.toolbox import Toolbox


class Parts(Struct, frozen=True):
    """What a session is made of. `choose` connects another profile or model, from the settings that `choose_from` was
    told last; `premises` are prompt and tools, `remind` appends what the model should be told beside a person's words;
    `attended`: somebody is there to be asked. `on_compacted` are told of each compaction."""

    folder: SessionFolder
    workspace: Path
    settings: Settings
    context: Context
    timeline: Timeline
    todo: TodoList
    plans: Plans
    goal: Goal
    memories: Recall
    bus: Bus
    questions: Questions
    replies: Replies
    calls: Calls
    commands: Commands
    chosen: Chosen
    toolbox: Toolbox
    rules: Rules
    redact: Callable[[str], str]
    choose: Callable[[str], Awaitable[Chosen]]
    choose_from: Callable[[Settings], None]
    premises: Premises
    remind: Callable[[str], Awaitable[Reminded | None]]
    servers: Servers | None = None
    attended: bool = True
    on_compacted: tuple[Callable[[], object], ...] = ()
