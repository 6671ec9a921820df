"""The composer, and what stands around it."""

from __future__ import annotations

from tests.ui.context import conversation
from tests.ui.fake import FakeSession, Todo
from tests.ui.scenes.scene import scene
from tests.ui.stage import Stage
from tui_agent import events as said
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.history import append_history
from tui_agent.ui.chat.keep import HISTORY


def _some(session: FakeSession) -> None:
    conversation(session.context, 3)


@scene("completion", "/restore BACKUP", "/resume")
async def _completion(made: Stage) -> None:
    await made.type("/res")


def _sent_before(session: FakeSession) -> None:
    _some(session)
    for text in ("fix the report command", "write tests", "fix the parser\nand its tests"):
        append_history(session.folder.path.parent / HISTORY, Prompt(text))


@scene("history_search", "fix the parser", "older", fill=_sent_before)
async def _history_search(made: Stage) -> None:
    await made.press("ctrl+r")
    await made.until(lambda: made.chat.composer.searching, "the search")
    await made.type("fix")


@scene("long_draft", "the last line of a draft")
async def _long_draft(made: Stage) -> None:
    lines = [*(f"line {number} of a draft" for number in range(12)), "the last line of a draft"]
    made.chat.composer.add("\n".join(lines))


@scene("queue_held", "waits, paused", "then this")
async def _queue_held(made: Stage) -> None:
    made.session.paused = True
    made.session.emit(
        said.QueueChanged((said.QueuedPrompt("p1", "then this"), said.QueuedPrompt("p2", "x")), True)
    )


@scene("todo", "write the flag", "say it in the README")
async def _todo(made: Stage) -> None:
    made.session.todos = [
        Todo("read the command", "done"),
        Todo("write the flag", "active"),
        Todo("say it in the README"),
    ]
    made.session.emit(said.StateChanged("todo", None))
    await made.press("ctrl+t")


@scene("find", "hit", "find")
async def _find(made: Stage) -> None:
    await made.press("ctrl+f")
    await made.type("rows as json")
    await made.until(lambda: made.chat.search is not None and made.chat.search.words == "rows as json")
    await made.until(lambda: not made.chat.search or not made.chat.search.busy)


@scene("letters", "sessions", "settings", "jump back")
async def _letters(made: Stage) -> None:
    await made.press("ctrl+x")
