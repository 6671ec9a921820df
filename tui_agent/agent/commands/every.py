"""The one list of commands: every subject's, in the order in which they are shown."""

from __future__ import annotations

from tui_agent.agent.commands import (
    compaction,
    context,
    goal,
    mcp,
    memory,
    planning,
    prompting,
    records,
    session,
    sharing,
)
from tui_agent.commands import Commands


def every_command() -> Commands:
    """All that can be asked of a session."""
    commands = Commands()
    for subject in (
        context,
        records,
        compaction,
        session,
        memory,
        prompting,
        sharing,
        planning,
        mcp,
        goal,
    ):
        subject.add_to(commands)
    return commands
