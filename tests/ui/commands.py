"""The commands of a fake session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.ui.context import WINDOW
from tui_agent import changes
from tui_agent import events as said
from tui_agent.agent.commands import memory, sharing
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.context import Elision

if TYPE_CHECKING:
    from tests.ui.fake import FakeSession


def commands() -> Commands:
    """The commands of a fake session; each says what it did."""
    made = Commands()

    async def revert(session: FakeSession, checkpoint: str) -> Outcome:
        """Go back to before a checkpoint; what followed is kept as a backup"""
        point = next(p for p in session.context.checkpoints() if p.id == int(checkpoint))
        backup = session.context.rewrite("revert", point.history)
        session.emit(changes.Rotated("revert", backup.name, len(session.context.records), point.words))
        return Outcome(f"back before checkpoint {checkpoint}; what was before is {backup.name}")

    async def undo(session: FakeSession, later: str = "") -> Outcome:
        """Take back the last change of history"""
        if not session.context.can_undo:
            raise CommandError("there is nothing to undo")
        return Outcome("the last change of history is undone")

    async def redo(session: FakeSession) -> Outcome:
        """Take back the last undo"""
        raise CommandError("there is nothing to redo")

    async def restore(session: FakeSession, backup: str) -> Outcome:
        """Make a backup the history again"""
        return Outcome(f"{backup} is the history again")

    async def pin(session: FakeSession, record: str) -> Outcome:
        """Pin a record: it is never elided or compacted away"""
        session.context._marks[record] = {"pinned": True}
        return Outcome("pinned")

    async def unpin(session: FakeSession, record: str) -> Outcome:
        """Take the pin off a record"""
        session.context._marks.pop(record, None)
        return Outcome("not pinned any more")

    async def elide(session: FakeSession, record: str) -> Outcome:
        """Leave a record out of what is sent"""
        instead = "[truncated: read_file result, 2061 chars]"
        session.context._elided[record] = [Elision("e1", 0, None, instead, "user", "drop")]
        return Outcome("shortened: about 690 tokens")

    async def drop(session: FakeSession, record: str) -> Outcome:
        """Send nothing of a record, nor anything in its place"""
        session.context._elided[record] = [Elision("e1", 0, None, None, "user", "drop")]
        return Outcome("dropped: about 690 tokens")

    async def compact(session: FakeSession, *instruction: str) -> Outcome:
        """Put a summary in the place of what was said"""
        weight = session.context.weigh()
        session.emit(
            changes.CompactionStarted(
                "manual", "summary", weight.total, "estimated", WINDOW, 150_000, " ".join(instruction)
            )
        )
        return Outcome()

    async def keepmore(session: FakeSession) -> Outcome:
        """Undo the newest compaction and make it again, keeping twice as much"""
        return Outcome("made again, keeping more")

    async def summary(session: FakeSession, *text: str) -> Outcome:
        """Show the newest summary; with TEXT: put it in its place"""
        return Outcome("the summary reads otherwise now" if text else "nothing was summarised yet")

    async def unelide(session: FakeSession, record: str) -> Outcome:
        """Bring a record that was left out back"""
        session.context._elided.pop(record, None)
        return Outcome("brought back")

    async def keep(session: FakeSession, backup: str) -> Outcome:
        """Pin a backup: pruning never takes it"""
        return Outcome(f"{backup} is pinned")

    async def run(session: FakeSession, command: str) -> Outcome:
        """Run a command yourself"""
        return Outcome()

    async def context(session: FakeSession) -> Outcome:
        """Say what the context holds and weighs"""
        return Outcome("19,938 of 200,000 tokens")

    async def rename(session: FakeSession, *title: str) -> Outcome:
        """Give the session another title"""
        session.title = " ".join(title)
        session.emit(said.TitleChanged(session.title))
        return Outcome(f"the session is called {session.title!r}")

    async def model(session: FakeSession, *name: str) -> Outcome:
        """Ask another model"""
        session.next_model = " ".join(name) if session.busy else ""
        session.picked = name[0], " ".join(name[1:])
        if not session.busy:
            session.profile, _, session.model = " ".join(name).partition(" ")
            session.emit(said.ModelChanged(session.model, WINDOW, session.profile == "demo"))
        return Outcome(
            f"{' '.join(name)} answers " + ("from the next turn on" if session.busy else "from now on")
        )

    async def thinking(session: FakeSession, level: str) -> Outcome:
        """Change how much the model may think"""
        session.thinking = level
        return Outcome(f"thinking from now on: {level}")

    made.add(Command("model", model, "[PROFILE or MODEL]"))
    made.add(Command("thinking", thinking, "LEVEL"))
    made.add(Command("revert", revert, "CHECKPOINT", names=("rewind",), rewrites=True))
    for name, perform, argument in (
        ("undo", undo, ""),
        ("redo", redo, ""),
        ("restore", restore, "BACKUP"),
        ("pin", pin, "RECORD"),
        ("unpin", unpin, "RECORD"),
        ("elide", elide, "RECORD"),
        ("drop", drop, "RECORD"),
        ("compact", compact, "[INSTRUCTION]"),
        ("keepmore", keepmore, ""),
        ("summary", summary, "[TEXT]"),
        ("unelide", unelide, "RECORD"),
        ("keep", keep, "BACKUP"),
        ("context", context, ""),
        ("run", run, "COMMAND"),
        ("rename", rename, "TITLE"),
    ):
        made.add(Command(name, perform, argument))
    memory.add_to(made)
    sharing.add_to(made)
    return made
