"""The program without a screen: lines that are only ever appended, each beginning with who says it.

For screen readers, braille displays, and terminals that cannot move their cursor. No colour, no cursor movement,
nothing that spins; every state is said in words, questions are answered by number, and the terminal's own line editing
is used. It speaks to the same `Session` and hears the same events as the screen does.

    talk.py        the loop: lines in, events out
    listener.py    lines that are typed, while everything else goes on
    voice.py       how something is written
    reading.py     long results by the page, changes with a word for each line
    telling.py     events in words
    compacting.py  what becomes of the context
    asking.py      questions and their numbered answers
    places.py      the commands that open a place on the screen: lists instead
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.settings.schema import Settings
    from tui_agent.tools.permission import Mode


def run(
    *,
    workspace: Path,
    settings: Settings,
    resume: str | None = None,
    profile: str | None = None,
    demo: bool = False,
    append_system: str = "",
    mode: Mode | None = None,
) -> int:
    """Talk in lines until it is left; returns the exit code."""
    from tui_agent.settings.rules import SettingsError
    from tui_agent.ui.plain.talk import Talk, Wanted
    from tui_agent.ui.plain.voice import Voice
    from tui_agent.wiring import OpenError

    voice = Voice()
    for notice in settings.notices:
        voice.say(notice, "warning")
    try:
        talk = Talk(Wanted(workspace, resume, profile, demo, append_system, mode=mode), settings, voice)
        return asyncio.run(talk.run())
    except (OpenError, SettingsError) as error:
        voice.say(f"{error}", "error")
        return 1
