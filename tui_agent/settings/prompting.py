"""Settings of what the model is told: instructions and rules of the user's own, and skills."""

from __future__ import annotations

from tui_agent.settings.table import Table, now


class Prompt(Table, frozen=True):
    """What the model is told beside what the program and the workspace say."""

    append_system: str = now(
        "", "text", "Instructions of your own, at the end of every session's system prompt."
    )
    rules: tuple[str, ...] = now(
        (), "list", "Rules that the model is told beside your words; a change is told with the next ones."
    )
    skills: bool = now(
        True,
        "switch",
        "Tell the model which skills there are, and a skill's text when your words call for it.",
    )
    claude_skills: bool = now(
        True, "switch", "Read the skills in ~/.claude/skills too, behind your own and the workspace's."
    )
