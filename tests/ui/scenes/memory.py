"""Memories: their cards, and the list at the side."""

from __future__ import annotations

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.memories import on_a_day, proposal, proposed, remembered
from tests.ui.scenes.scene import nothing, scene
from tests.ui.stage import Stage


def _remembering(session: FakeSession) -> None:
    conversation(session.context, 3)
    with on_a_day():
        remembered(session, "I use tabs, four wide.")
        remembered(session, "Answer in German; code and commits in English.", key="language")
        remembered(session, "pnpm test --filter web", scope="workspace", key="tests")
        remembered(session, "Conventional Commits.", scope="workspace", key="commit.style")
        remembered(session, "The branch is called next.", scope="session", key="branch")


def _proposing(session: FakeSession) -> None:
    _remembering(session)
    with on_a_day():
        proposal(
            session,
            "Conventional Commits with a scope.",
            outside=("README.md", "curl -s https://example.org"),
        )
        proposal(session, "Never push to main.", key="push")
        proposal(session, "All tests passed.", key="status")


@scene("memory_asked", "remember?", "after reading README.md", "- Conventional", "to answer", fill=_proposing)
async def _memory_asked(made: Stage) -> None:
    await made.until(lambda: "+ Conventional Commits with a scope." in made.text)
    await made.press("ctrl+x", "a")
    await made.until(lambda: made.chat.results.current is not None)


@scene("memory_folded", "more, 1 that only tells how the work stands", "reject all", fill=_remembering)
async def _memory_folded(made: Stage) -> None:
    with on_a_day():
        events = [proposal(made.session, f"fact {number}", key=f"key.{number}") for number in range(6)]
        events.append(proposal(made.session, "All tests passed.", key="status"))
    await proposed(made, *events)
    await made.press("ctrl+end")


@scene("memory_edit", "remember in this workspace", "Enter gives it", fill=_proposing)
async def _memory_edit(made: Stage) -> None:
    await _memory_asked(made)
    await made.press("e")
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes)


@scene("memory_decided", "remembered  workspace  push", fill=_remembering)
async def _memory_decided(made: Stage) -> None:
    with on_a_day():
        await proposed(made, proposal(made.session, "Never push to main.", key="push"))
    await made.press("ctrl+x", "a")
    await made.until(lambda: made.chat.results.current is not None)
    await made.press("a")
    await made.until(lambda: "remembered  workspace  push" in made.text)


async def _sidebar(made: Stage, *keys: str) -> None:
    await made.press("ctrl+x", "b")
    await made.until(lambda: made.chat.sidebar is not None and made.chat.sidebar.has_focus_within)
    await made.until(lambda: "Inbox" in made.text)
    await made.settle()
    for key in keys:
        await made.press(key)
        await made.settle()


@scene("memory", "Kept", "for you, everywhere", "commit.style", "e edit", fill=_proposing)
async def _memory(made: Stage) -> None:
    await _sidebar(made)


@scene("memory_empty", "Nothing is remembered yet", fill=nothing)
async def _memory_empty(made: Stage) -> None:
    await _sidebar(made)


@scene("memory_open", "Long ones.", "changed", "m goes to", fill=_remembering)
async def _memory_open(made: Stage) -> None:
    with on_a_day():
        event = proposal(made.session, "Short ones.", key="branches", outside=("README.md",))
        made.session.memories.store.accept(event.id)
        made.session.memories.store.edit(event.id, body="Long ones.")
    await _sidebar(made, "down", "down", "down", "enter")
    await made.until(lambda: "changed" in made.text)


@scene("memory_inbox", "Inbox 3", "status: All", "a accept", fill=_proposing)
async def _memory_inbox(made: Stage) -> None:
    await _sidebar(made, "right")


@scene("memory_search", "german", "language", fill=_proposing)
async def _memory_search(made: Stage) -> None:
    await _sidebar(made, "slash")
    await made.type("german")


@scene("memory_new", "new memory", "(*) workspace", "Enter saves", fill=_proposing)
async def _memory_new(made: Stage) -> None:
    await _sidebar(made, "n")
    await made.type("quotes")
    await made.press("enter")
    await made.type("Double ones, everywhere.")


@scene("memory_share", "into MEMORY.md?", "### ", "do it", fill=_remembering)
async def _memory_share(made: Stage) -> None:
    await _sidebar(made, "w")
    await made.until(lambda: made.chat.dock.has_keys)


@scene("memory_inspector", "Records", fill=_proposing)
async def _memory_inspector(made: Stage) -> None:
    await _sidebar(made)
    await made.press("ctrl+x", "i")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
