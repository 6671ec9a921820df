"""What follows a change of history, whichever command made it: backups pruned, the event, the words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.commands import Outcome
from tui_agent.events import Rotated

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.timeline.timeline import Travelled


async def arrived(session: Session, travelled: Travelled, text: str) -> Outcome:
    """Tell of a travel, and how to take it back."""
    records = len(session.context.records)
    await session.shrinking.prune()
    session.emit(Rotated(travelled.op, travelled.backup, records, travelled.words, travelled.images))
    way = "" if travelled.op in ("undo", "redo") else " (/undo brings it back)"
    return Outcome(
        f"{text}; what was before is {travelled.backup}{way}",
        {"op": travelled.op, "backup": travelled.backup, "records": records, "words": travelled.words},
    )
