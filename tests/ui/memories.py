"""Memories in the store of a fake session: proposals as the engine makes them, and what a person wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.ui.fake import FakeSession
from tests.ui.stage import Stage
from tui_agent import changes
from tui_agent.memory import ledger
from tui_agent.memory.schema import Memory, Scope


@contextmanager
def on_a_day(at: str = "2024-03-05T12:02:00Z") -> Iterator[None]:
    """What is stored meanwhile is stored then."""
    now, ledger.now = ledger.now, lambda: at
    try:
        yield
    finally:
        ledger.now = now


def proposal(
    session: FakeSession,
    body: str = "Conventional Commits with a scope.",
    *,
    scope: Scope = "workspace",
    key: str = "commit.style",
    outside: tuple[str, ...] = (),
    record: str = "r9",
    source: str = "",
) -> changes.MemoryProposed:
    """A proposal, stored; returns what the session says of it. `source` is the session that it came from."""
    recall = session.memories
    wanted = Memory(
        id=f"{key}-{len(recall.list())}",
        scope=scope,
        key=key,
        body=body,
        workspace_id=recall.workspace,
        session_id=recall.session,
        source_session=source or recall.session,
        source_record=record,
        tainted=bool(outside),
        outside=outside,
    )
    made = recall.store.propose(wanted)
    return recall.proposal(made.memory, refused=made.outcome == "refused")


def remembered(
    session: FakeSession, body: str = "I use tabs.", *, scope: Scope = "user", key: str = "indent"
) -> Memory:
    """What a person had remembered."""
    recall = session.memories
    return recall.store.add(scope, key, body, workspace=recall.workspace, session=recall.session)


def now(session: FakeSession) -> dict[str, tuple[str, str, str]]:
    """Key -> scope, status and text of all that is stored."""
    return {m.key: (m.scope, m.status, m.body) for m in session.memories.list()}


async def proposed(made: Stage, *events: changes.MemoryProposed) -> None:
    """The model proposes these at the end of an answer."""
    made.session.emit(*events)
    shown = {event.id for event in events}
    cards = made.chat.results.remembering
    await made.until(lambda: shown <= cards.known, "the cards")
    await made.until(lambda: "remember" in made.text or "refused before" in made.text, "the cards")
