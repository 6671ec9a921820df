"""The session that the screen shows, opened with the engine: imported in threads while the first frame is there.

The start runs without garbage collection; it begins again here.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_agent.agent.session import Session
    from tui_agent.events import Event
    from tui_agent.opening import Log
    from tui_agent.settings.schema import Settings
    from tui_agent.ui.switching import Wanted

_DRAWS_HISTORY = ("tui_agent.ui.transcript.render", "markdown_it")


async def read(wanted: Wanted, settings: Settings, listen: Callable[[Event], None]) -> Log:
    """Read the log of the session that is wanted, or begin one."""
    opening = await asyncio.to_thread(imported, "tui_agent.opening")
    reading = opening.read(wanted.workspace, settings, resume=wanted.resume, listen=listen)
    # what the history is drawn with comes meanwhile: the loop would stand still for it
    drawing = asyncio.to_thread(imported, *_DRAWS_HISTORY)
    log: Log = (await asyncio.gather(reading, drawing))[0]
    return log


async def open_session(
    wanted: Wanted, settings: Settings, listen: Callable[[Event], None], log: Log
) -> Session:
    """Open the session whose log was read."""
    wiring = await asyncio.to_thread(imported, "tui_agent.wiring")
    session: Session = await wiring.open_session(
        wanted.workspace,
        settings,
        resume=wanted.resume,
        profile=wanted.profile,
        model=wanted.model,
        demo=wanted.demo,
        append_system=wanted.append_system,
        mode=wanted.mode,
        listen=listen,
        log=log,
    )
    return session


def imported(*names: str) -> Any:
    """Import these without a garbage collection in between: it would stop the loop for tens of milliseconds.

    It gives back the last of them.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return [importlib.import_module(name) for name in names][-1]
    finally:
        if collecting:
            gc.enable()


def collect_again() -> None:
    """The start is over, which ran without garbage collection: what it made stays, so it is left out from now on."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def give_back() -> None:
    """Give the system the memory that only the opening took."""
    from tui_agent.llm.heap import trim

    trim()
