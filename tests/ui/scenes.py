"""Every screen and state of the program, each reached by the keys that a person presses.

A scene says what the session holds (`fill`), how the state is come to (`reach`) and which words have to be there. They
are shown over a fake session; nothing in them depends on the clock, on this machine or on where the tests run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace
from textual.widgets import Input

from tests.cli import command
from tests.support.compactions import COMPACTED
from tests.ui.fake import FakeSession, Todo, conversation
from tests.ui.memories import on_a_day, proposal, proposed, remembered
from tests.ui.stage import Stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.context import Elision
from tui_agent.llm.connect import Offered
from tui_agent.messages.blocks import text_block, tool_result
from tui_agent.messages.tokens import Tokens
from tui_agent.prompt.manifest import Item
from tui_agent.sessions.folder import SessionFolder
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.history import append_history
from tui_agent.ui.chat.keep import HISTORY
from tui_agent.ui.connect_form import FIELDS
from tui_agent.ui.transcript import code

Reach = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """A state of the screen. `place` is where it is: chat, jump, over (a screen over the chat) or palette."""

    name: str
    reach: Reach
    words: tuple[str, ...]
    place: str = "chat"
    fill: Callable[[FakeSession], None] = lambda session: conversation(session.context, 3)
    """Puts into the session what it holds."""
    settings: Mapping[str, Any] = field(default_factory=dict)


SCENES: dict[str, Scene] = {}


def _scene(name: str, *words: str, **more: Any) -> Callable[[Reach], Reach]:
    """This function reaches the scene; `words` are on the screen then."""

    def taken(reach: Reach) -> Reach:
        SCENES[name] = Scene(name, reach, words, **more)
        return reach

    return taken


# --- the chat, and what happens in it


def _nothing(session: FakeSession) -> None:
    """A session that has just begun."""


def _some(session: FakeSession) -> None:
    conversation(session.context, 3)


def _many(session: FakeSession) -> None:
    conversation(session.context, 60)


def _demo(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.demo, session.model, session.profile = True, "demo model - no AI", "demo"


def _read_only(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.read_only = "the session is open elsewhere"


def _rewound(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.context.rewrite("revert", 8)
    session.context.rewrite("clear", 8)
    session.context._backups[0].pinned = True


@_scene("empty", "Say what should be done", "Ask, or / for commands", "ready", fill=_nothing)
async def _empty(made: Stage) -> None:
    pass


@_scene("busy", "pnpm test --filter web", "running bash", "Enter: at the next step", "stop")
async def _busy(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        said.TextDelta("I will look at the command first.\n\n"),
        said.ToolStarted("c1", "bash", "pnpm test --filter web"),
        said.ToolProgress("c1", "ran 12 of 40\n"),
    )
    await made.type("also mention it in the README")


@_scene("streaming", "What changes", "def report(", "answering")
async def _streaming(made: Stage) -> None:
    code.warm()
    made.session.begin("explain")
    half = ANSWER[: ANSWER.index("    return")]
    made.session.emit(said.ThinkingDelta("The rows are dataclasses."), said.TextDelta(half))


@_scene("failed", "prompt is too long", "/revert", "ready")
async def _failed(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        said.RequestFailed(
            "overflow",
            "prompt is too long: 212,000 tokens do not fit 200,000",
            ("go back to an earlier checkpoint (/revert)", "elide the largest item in the inspector"),
        )
    )
    made.session.end("failed")


@_scene("retrying", "try 2/5 in 3 s", "overloaded")
async def _retrying(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(said.RetryWaiting(2, 5, 3.0, "overloaded"))


@_scene("not_saved", "not saved", "no space left")
async def _not_saved(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        changes.LogFailed("no space left on the device", ("free some space", "then send again"))
    )
    made.session.end("failed")


@_scene("read_only", "read-only", fill=_read_only)
async def _only_read(made: Stage) -> None:
    pass


@_scene("demo", "demo model - no AI", fill=_demo)
async def _with_demo(made: Stage) -> None:
    pass


@_scene("demo_answering", "demo model - no AI", "2 to answer", fill=_demo)
async def _demo_answering(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    made.session.ask(body="git push")
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("tour", "tour 1/6", "skips", fill=_demo)
async def _tour(made: Stage) -> None:
    from tui_agent.ui.tour import WORDS, Tour

    await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))


@_scene("long_history", "new lines below", "question 55", fill=_many)
async def _long_history(made: Stage) -> None:
    await made.press("pageup", "pageup")
    made.session.begin("explain")
    made.session.emit(said.TextDelta(ANSWER), said.ReplyEnded("r99", "end_turn", ANSWER))
    made.session.end()


@_scene("answer", "What changes", "a table", "as_json", "1.", "2.")
async def _answer(made: Stage) -> None:
    code.warm()
    made.session.begin("explain")
    made.session.emit(said.TextDelta(ANSWER), said.ReplyEnded("r99", "end_turn", ANSWER))
    made.session.end()


ANSWER = """## What changes

1. `report` gets a flag `--json`; the rows are printed as one JSON document.
2. The table stays the default.

| flag | prints |
|---|---|
| (none) | a table |
| `--json` | one document |

```python
def report(rows: list[Row], *, as_json: bool = False) -> str:
    return json.dumps([asdict(row) for row in rows]) if as_json else table(rows)
```
"""

CJK = """报告命令现在可以用 `--json` 打印。表格仍然是默认的输出方式,所以不会影响已有的脚本和其他程序。

- 변경된 파일은 두 개입니다
- 変更されたファイルは二つです 🎉 👩‍👩‍👧 👍🏽

| 名前 | 値 |
|---|---|
| 幅 | 二倍の文字 |
| é́ | 🇩🇪 flag |
"""


@_scene("cjk_and_emoji", "报告命令", "二倍の文字")
async def _cjk(made: Stage) -> None:
    made.session.begin("用中文回答:报告命令有什么变化?")
    made.session.emit(said.TitleChanged("报告命令和它的新标志,以及相关的测试与文档"))
    made.session.emit(said.TextDelta(CJK), said.ReplyEnded("r99", "end_turn", CJK))
    made.session.emit(
        said.ToolStarted("c9", "bash", "echo 报告" + "命令" * 60), said.ToolProgress("c9", "好\n")
    )
    await made.type("再加一个测试")


DIFF = """--- a/src/report.py
+++ b/src/report.py
@@ -1,4 +1,4 @@
-def report():
+def report(as_json=False):
     rows = read()
-    print(table(rows))
+    print(dump(rows) if as_json else table(rows))
     return rows
"""


def _images(session: FakeSession) -> None:
    source = {"type": "blob", "sha256": "ab" * 32, "media_type": "image/png", "bytes": 34_816}
    source |= {"width": 1280, "height": 720}
    conversation(session.context, 1)
    session.context.mark_turn("what is wrong here?")
    session.context.say("user", {"type": "image", "source": source}, text_block("what is wrong here?"))
    thinking = {"type": "thinking", "thinking": "The margin.\nIt is too wide.", "signature": "s"}
    call = {"type": "tool_use", "id": "c7", "name": "bash", "input": {"command": "git diff --stat"}}
    session.context.say("assistant", thinking, text_block("The margin is too wide."), call)
    failed = tool_result("c7", "fatal: not a git repository\n", error=True)
    session.context.say("user", failed, origin="tool")


@_scene("images", "[image png 1280x720", "fatal: not a git repository", fill=_images)
async def _with_images(made: Stage) -> None:
    await made.press("ctrl+o")


@_scene("diff_open", "src/report.py", "as_json=False", "+1")
async def _diff_open(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        said.ToolStarted("c1", "edit_file", "src/report.py"),
        said.ToolEnded(
            "c1", "edit_file", "src/report.py", "ok", "+2 -2", "edited", 6, 0.0, diff=DIFF, record="r90"
        ),
    )
    made.session.end()
    await made.until(lambda: "+2 -2" in made.text)
    if "as_json=False" not in made.text:
        await made.press("ctrl+o")


@_scene("output_open", "line 20", "line 5")
async def _output_open(made: Stage) -> None:
    text = "".join(f"line {number} of the output\n" for number in range(1, 21))
    made.session.begin("run it")
    made.session.emit(
        said.ToolStarted("c2", "bash", "rm -rf build"),
        said.ToolEnded("c2", "bash", "rm -rf build", "denied", "not now", "the user said no", 16, 0.1),
        said.ToolStarted("c1", "bash", "pnpm test"),
        said.ToolEnded("c1", "bash", "pnpm test", "ok", "", text, len(text), 1.5, record="r90"),
    )
    made.session.end()
    await made.until(lambda: "pnpm test" in made.text)
    await made.press("ctrl+o")


@_scene("selection", "add a --json flag to the report command")
async def _selection(made: Stage) -> None:
    await made.press("shift+tab")
    await made.pilot.click("#transcript", offset=(4, 5))
    made.app.set_focus(made.chat.transcript)
    await made.settle()
    await made.press("shift+up", "shift+up")


# --- writing


@_scene("completion", "/restore BACKUP", "/resume")
async def _completion(made: Stage) -> None:
    await made.type("/res")


def _sent_before(session: FakeSession) -> None:
    _some(session)
    for text in ("fix the report command", "write tests", "fix the parser\nand its tests"):
        append_history(session.folder.path.parent / HISTORY, Prompt(text))


@_scene("history_search", "fix the parser", "older", fill=_sent_before)
async def _history_search(made: Stage) -> None:
    await made.press("ctrl+r")
    await made.until(lambda: made.chat.composer.searching, "the search")
    await made.type("fix")


@_scene("long_draft", "the last line of a draft")
async def _long_draft(made: Stage) -> None:
    lines = [*(f"line {number} of a draft" for number in range(12)), "the last line of a draft"]
    made.chat.composer.add("\n".join(lines))


@_scene("queue_held", "waits, paused", "then this")
async def _queue_held(made: Stage) -> None:
    made.session.paused = True
    made.session.emit(
        said.QueueChanged((said.QueuedPrompt("p1", "then this"), said.QueuedPrompt("p2", "x")), True)
    )


@_scene("todo", "write the flag", "say it in the README")
async def _todo(made: Stage) -> None:
    made.session.todos = [
        Todo("read the command", "done"),
        Todo("write the flag", "active"),
        Todo("say it in the README"),
    ]
    made.session.emit(said.StateChanged("todo", None))
    await made.press("ctrl+t")


@_scene("find", "hit", "find")
async def _find(made: Stage) -> None:
    await made.press("ctrl+f")
    await made.type("rows as json")
    await made.until(lambda: made.chat.search is not None and made.chat.search.words == "rows as json")
    await made.until(lambda: not made.chat.search or not made.chat.search.busy)


@_scene("letters", "sessions", "settings", "jump back")
async def _letters(made: Stage) -> None:
    await made.press("ctrl+x")


# --- the context made smaller


_STARTED = changes.CompactionStarted("auto", "summary", 19_938, "estimated", 200_000, 19_000)
_SUMMARY = """## Goal and current request

Add a `--json` flag to the report command, and say so in the README.

## Done

- `report.py` prints its rows as JSON

## In progress

The tests of the new flag.
"""
_COMPACTED = replace(
    COMPACTED,
    text=_SUMMARY,
    kept=("your last 2 requests", "1 pinned message", "the call that is open"),
)


@_scene("compacting", "compacting 0 s", "summarising (2 of 5)", "waits, when the summary is there", "stop")
async def _compacting(made: Stage) -> None:
    made.session.busy = True
    made.session.emit(_STARTED, changes.CompactionStage("summarising (2 of 5)"))
    made.session.emit(said.QueueChanged((said.QueuedPrompt("p1", "then write the tests"),)))
    await made.type("and mention it")


@_scene("compacted", "73% less", "word for word", "[u] undo", "[k] keep more", "Tab or click to answer")
async def _compacted(made: Stage) -> None:
    made.session.emit(_STARTED, _COMPACTED)
    await made.until(lambda: "[k] keep more" in made.text)


@_scene("compacted_doubts", "the log says otherwise", "[u] undo", "k keep more")
async def _compacted_doubts(made: Stage) -> None:
    doubts = ("it says that all tests pass; `pnpm test` ended with exit code 1",)
    made.session.emit(_STARTED, replace(_COMPACTED, doubts=doubts, lost=2))
    await made.until(lambda: "[k] keep more" in made.text)
    await made.press("tab")
    await made.until(lambda: made.chat.transcript.result is not None)


@_scene("compacted_open", "Goal and current request", "[u] undo")
async def _compacted_open(made: Stage) -> None:
    await _compacted(made)
    await made.press("tab")
    await made.until(lambda: made.chat.transcript.result is not None)
    await made.press("enter")
    await made.until(lambda: "Goal and current request" in made.text)


@_scene("compacted_undo", "undo the compaction?", "with what was said since", "1 turn was said since")
async def _compacted_undo(made: Stage) -> None:
    session = made.session
    session.context.heads = [
        SimpleNamespace(index=len(session.context.records) - 1, op="compaction", figures={})
    ]
    session.context.can_undo = True
    session.emit(_STARTED, _COMPACTED)
    session.context.mark_turn("and now the tests")
    session.context.say("user", text_block("and now the tests"))
    await made.press("ctrl+x", "u")
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("compaction_failed", "Compaction failed after 31 s", "(/model)", "ready")
async def _compaction_failed(made: Stage) -> None:
    ways = ("choose another model (/model)", "try again (/compact)")
    made.session.emit(_STARTED, changes.CompactionFailed("auto", "summary", "overloaded", 31.0, ways))


@_scene("compaction_blocked", "Not compacted: not before the tests are green", "(/settings)")
async def _compaction_blocked(made: Stage) -> None:
    made.session.emit(_STARTED, changes.CompactionSkipped("auto", "hook", "not before the tests are green"))


@_scene("compaction_held", "auto-compaction held: /compact", "Nothing is compacted by itself now")
async def _compaction_held(made: Stage) -> None:
    made.session.emit(changes.CompactionHeld(True))


@_scene("shortened", "shortened  2 old items", "bash pnpm test, 9,120 characters", "[b] bring back")
async def _shortened(made: Stage) -> None:
    items = ("read_file src/report.py, 2,061 characters", "bash pnpm test, 9,120 characters")
    why = "frees 20,900 of 101,000 tokens; a summary would be due in about 5 requests"
    made.session.emit(changes.MicroCompacted("e9", items, 101_000, 80_100, why))
    await made.until(lambda: "shortened" in made.text)
    made.chat.set_focus(made.chat.transcript)
    await made.settle()
    await made.press("enter")
    await made.until(lambda: "[b] bring back" in made.text)


def _summarised(session: FakeSession) -> None:
    context = session.context
    conversation(context)
    kept, context.history = context.history, []
    context.say("user", text_block(_SUMMARY), origin="summary", id="s1")
    context.history += kept
    figures = {"summary": "s1", "tokens": 150_212, "after": 41_300, "replaced": 34, "seconds": 12.4}
    context.heads = [
        SimpleNamespace(
            index=len(context.records) - 1, op="compaction", backup="context_3.jsonl", at="", figures=figures
        )
    ]


@_scene("resumed_summary", "summary of what came before  ~150,212 -> ~41,300", fill=_summarised)
async def _resumed_summary(made: Stage) -> None:
    await made.press("ctrl+home")


@_scene("review", "41,300 tokens with this summary?", "Doubtful: it says", "[r] discard", "more lines below")
async def _review(made: Stage) -> None:
    body = "It stands for 34 messages of 120,300 tokens.\nDoubtful: it says that all tests pass."
    title = "Compact from 150,212 to about 41,300 tokens with this summary?"
    question = said.Question("q1", "review", title, body, editable=_SUMMARY)
    made.session.emit(_STARTED, changes.CompactionStage("waiting for your review"), said.Asked(question))
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("review_edit", "as edited by you", "[a] accept")
async def _review_edit(made: Stage) -> None:
    await _review(made)
    await made.press("e")
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes)
    await made.type("Tests first.")
    await made.press("enter")
    await made.until(lambda: "as edited by you" in made.text)


# --- cards


_PLAN = """# Add a --json flag

The report prints a table only.

## Steps

1. Print the rows as JSON
2. Test it
"""


@_scene(
    "plan",
    "accept this plan?",
    "# Add a --json flag",
    "  plan  ",
    "[a] accept  [e] edit",
    "[s] then auto-edit",
)
async def _plan(made: Stage) -> None:
    made.session.plans.mode.now = "plan"
    made.chat.tell_todo()
    made.session.begin("add a --json flag")
    made.session.emit(
        said.Asked(said.Question("q1", "plan", "accept this plan?", rule="ask", editable=_PLAN))
    )
    await made.until(lambda: made.chat.dock.has_keys)


@_scene(
    "plan_steps", "plan  1 of 2 done  Add a --json flag", "[>] 2. Test it", "  auto-edit  ", "mode auto-edit"
)
async def _plan_steps(made: Stage) -> None:
    await _plan(made)
    await made.press("s")
    await made.until(lambda: "then files of the workspace are edited without asking" in made.text)
    await made.press("a")
    await made.until(lambda: "the plan is accepted" in made.text)
    made.session.plans.mode.now, made.session.plans.now = (
        "auto-edit",
        SimpleNamespace(title="Add a --json flag"),
    )
    made.session.todos = [Todo("Print the rows as JSON", "done", 1), Todo("Test it", "active", 2)]
    made.session.emit(said.StateChanged("todo", None))
    await made.press("ctrl+t")
    await made.until(lambda: "1 of 2 done" in made.text)


@_scene("approval", "run this command?", "2 to answer", "answer 1 of 2", "[y] once")
async def _approval(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    made.session.ask(body="git push")
    await made.until(lambda: "answer 1 of 2" in made.text)


@_scene("approval_unfocused", "Tab to answer", "a draft")
async def _approval_unfocused(made: Stage) -> None:
    made.session.begin("add a --json flag")
    await made.type("a draft")
    made.session.ask()
    await made.until(lambda: "Tab to answer" in made.text)


@_scene("approval_edit", "edit")
async def _approval_edit(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)
    await made.press("e")
    await made.until(lambda: "[y] once" not in made.text)


@_scene("approval_rule", "bash:pnpm test*", "save and run")
async def _approval_rule(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)
    await made.press("w")
    await made.until(lambda: "save and run" in made.text)


@_scene("approval_diff", "write this file?", "outside of the workspace")
async def _approval_diff(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask(
        title="write this file?",
        body="/etc/hosts",
        tool="edit_file",
        diff=DIFF,
        editable="",
        warning="outside of the workspace",
    )
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("approval_long", "run this command?", "more lines below")
async def _approval_long(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask(body="\n".join(f"echo line {number}" for number in range(40)))
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("question", "which package manager?", "pnpm", "yarn")
async def _question(made: Stage) -> None:
    made.session.begin("add a --json flag")
    choices = ("npm", "pnpm, as the lock file says", "yarn")
    title = "which package manager?"
    made.session.emit(said.Asked(said.Question("q1", "choice", title, "Both are there.", choices=choices)))
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("question_text", "what is it called?")
async def _question_text(made: Stage) -> None:
    made.session.begin("add a --json flag")
    question = said.Question("q1", "text", "what is it called?", "The new flag needs a name.")
    made.session.emit(said.Asked(question))
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("jump", "go back to before", "your words", "Enter goes back", place="jump")
async def _jump(made: Stage) -> None:
    await made.press("f6")
    await made.until(lambda: made.chat.jump is not None and "messages leave the chat" in made.text)


# --- the inspector


# --- memories


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


@_scene(
    "memory_asked", "remember?", "after reading README.md", "- Conventional", "to answer", fill=_proposing
)
async def _memory_asked(made: Stage) -> None:
    await made.until(lambda: "+ Conventional Commits with a scope." in made.text)
    await made.press("ctrl+x", "a")
    await made.until(lambda: made.chat.results.current is not None)


@_scene("memory_folded", "more, 1 that only tells how the work stands", "reject all", fill=_remembering)
async def _memory_folded(made: Stage) -> None:
    with on_a_day():
        events = [proposal(made.session, f"fact {number}", key=f"key.{number}") for number in range(6)]
        events.append(proposal(made.session, "All tests passed.", key="status"))
    await proposed(made, *events)
    await made.press("ctrl+end")


@_scene("memory_edit", "remember in this workspace", "Enter gives it", fill=_proposing)
async def _memory_edit(made: Stage) -> None:
    await _memory_asked(made)
    await made.press("e")
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.writes)


@_scene("memory_decided", "remembered  workspace  push", fill=_remembering)
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


@_scene("memory", "Kept", "for you, everywhere", "commit.style", "e edit", fill=_proposing)
async def _memory(made: Stage) -> None:
    await _sidebar(made)


@_scene("memory_empty", "Nothing is remembered yet", fill=_nothing)
async def _memory_empty(made: Stage) -> None:
    await _sidebar(made)


@_scene("memory_open", "Long ones.", "changed", "m goes to", fill=_remembering)
async def _memory_open(made: Stage) -> None:
    with on_a_day():
        event = proposal(made.session, "Short ones.", key="branches", outside=("README.md",))
        made.session.memories.store.accept(event.id)
        made.session.memories.store.edit(event.id, body="Long ones.")
    await _sidebar(made, "down", "down", "down", "enter")
    await made.until(lambda: "changed" in made.text)


@_scene("memory_inbox", "Inbox 3", "status: All", "a accept", fill=_proposing)
async def _memory_inbox(made: Stage) -> None:
    await _sidebar(made, "right")


@_scene("memory_search", "german", "language", fill=_proposing)
async def _memory_search(made: Stage) -> None:
    await _sidebar(made, "slash")
    await made.type("german")


@_scene("memory_new", "new memory", "(*) workspace", "Enter saves", fill=_proposing)
async def _memory_new(made: Stage) -> None:
    await _sidebar(made, "n")
    await made.type("quotes")
    await made.press("enter")
    await made.type("Double ones, everywhere.")


@_scene("memory_share", "into MEMORY.md?", "### ", "do it", fill=_remembering)
async def _memory_share(made: Stage) -> None:
    await _sidebar(made, "w")
    await made.until(lambda: made.chat.dock.has_keys)


@_scene("memory_inspector", "Records", fill=_proposing)
async def _memory_inspector(made: Stage) -> None:
    await _sidebar(made)
    await made.press("ctrl+x", "i")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)


def _damaged(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.context.line(b'{"role": "user", "content": [', damaged="it is not a JSON object")


async def _inspect(made: Stage, tab: int = 0) -> None:
    await made.press("ctrl+x", "i")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
    for _ in range(tab):
        await made.press("right")
        await made.settle()


@_scene("records", "Records", "damaged", "it is not a", "filter", fill=_damaged)
async def _records(made: Stage) -> None:
    await _inspect(made)


@_scene("record_open", "as it is on disk", "as it reads", fill=_damaged)
async def _record_open(made: Stage) -> None:
    await _inspect(made)
    await made.press("up", "enter")
    await made.until(lambda: "as it reads" in made.text)


def _picked(session: FakeSession) -> None:
    context = session.context
    conversation(context, 3)
    messages = [record.id for record in context.records if not record.role.startswith("_")]
    context._marks[messages[-1]] = {"pinned": True, "priority": 75}
    context._elided[messages[-2]] = [
        Elision("e1", 0, 0, "[truncated: read_file result, 2061 chars]", "auto", "micro")
    ]
    context._elided[messages[-3]] = [Elision("e2", 0, None, None, "user", "drop")]


@_scene("records_picked", "pinned", "shortened", "dropped", "unpin", fill=_picked)
async def _records_picked(made: Stage) -> None:
    await _inspect(made)


@_scene("record_shortened", "by itself:", "bring back", fill=_picked)
async def _record_shortened(made: Stage) -> None:
    await _inspect(made)
    await made.press("up", "enter")
    await made.until(lambda: "by itself:" in made.text)


@_scene("records_filtered", "json flag", "filter", fill=_damaged)
async def _records_filtered(made: Stage) -> None:
    await _inspect(made)
    await made.press("slash")
    await made.type("json flag")
    await made.until(lambda: made.chat.panel is not None and len(made.chat.panel.tab.rows) == 1)


@_scene("records_empty", "Nothing is on disk yet", fill=_nothing)
async def _records_empty(made: Stage) -> None:
    await _inspect(made)


@_scene("checkpoints", "3 turns, 3 steps", "add a --json flag")
async def _checkpoints(made: Stage) -> None:
    await _inspect(made, 1)
    await made.until(lambda: "3 turns" in made.text)
    await made.press("space")
    await made.until(lambda: "model: I" in made.text)


@_scene("backups", "2 backups", "clear", fill=_rewound)
async def _backups(made: Stage) -> None:
    await _inspect(made, 2)
    await made.until(lambda: "2 backups" in made.text)


@_scene("backup_open", "context_2.jsonl", "question 1", fill=_rewound)
async def _backup_open(made: Stage) -> None:
    await _inspect(made, 2)
    await made.until(lambda: "2 backups" in made.text)
    await made.press("enter")
    await made.settle()


@_scene("tokens", "Tokens", "18,734", "what fills it")
async def _tokens(made: Stage) -> None:
    await _inspect(made, 3)
    await made.until(lambda: "what fills it" in made.text)


def _saved(session: FakeSession) -> None:
    _summarised(session)
    session.context.heads[-1].index = 1
    session.context.heads[-1].figures |= {"input": 149_800, "output": 1_204, "cache_read": 140_000}
    session.context.line({"role": "_elide", "id": "e1", "before": 90_000, "after": 70_000, "items": []})


@_scene("tokens_saved", "what makes room next", "shortening", "summary", fill=_saved)
async def _tokens_saved(made: Stage) -> None:
    await _inspect(made, 3)
    await made.until(lambda: "what fills it" in made.text)
    assert made.chat.panel is not None
    rows = made.chat.panel.tab.rows
    rows.move(0)


_TRACE = (
    {"at": "2024-03-05T12:00:00.100Z", "event": "turn_started", "number": 4, "prompt": 17},
    {"at": "2024-03-05T12:00:00.200Z", "event": "step_started", "step": 1},
    {"at": "2024-03-05T12:00:04.000Z", "event": "tool_ended", "tool": "bash", "outcome": "error"}
    | {"title": 9, "size": 2100, "seconds": 3.1},
    {
        "at": "2024-03-05T12:00:05.000Z",
        "event": "turn_ended",
        "reason": "end_turn",
        "steps": 1,
        "seconds": 4.9,
    },
)


@_scene("events", "Events", "tool ended")
async def _events(made: Stage) -> None:
    made.session.folder.events_path.write_text("".join(json.dumps(event) + "\n" for event in _TRACE))
    await _inspect(made, 5)
    await made.until(lambda: "tool ended" in made.text)


# --- the exact request


def _requested(session: FakeSession) -> None:
    conversation(session.context, 3)
    goal = "<system-reminder>\nThe goal: reports as JSON.\n</system-reminder>"
    session.context.say("user", text_block(goal), origin="injection")
    session.requests.send(4, turn=0, read=0)
    session.requests.send(8, turn=2, predicted=16_900)
    session.requests.send(10, turn=4, predicted=17_010)
    for name, kind, reason in (
        ("read_file", "result", "shortened: to make room"),
        ("bash", "result", "shortened: to make room"),
        ("style", "memory", "no room: newer memories fill what they may take"),
    ):
        tokens = Tokens(690, "estimated")
        session.requests.left.append(Item("messages", kind, name, tokens, kept=False, reason=reason))  # type: ignore[arg-type]


async def _request(made: Stage, *keys: str) -> None:
    await made.press("ctrl+x", "v")
    await made.until(lambda: made.chat.panel is not None and "what is sent" in made.text)
    if keys:
        await made.press(*keys)


@_scene("request", "the next request", "your words", "left out", "framing", fill=_requested)
async def _request_tree(made: Stage) -> None:
    await _request(made)


@_scene("request_found", "hit 1 of 3", "claude-sonnet-5-5", fill=_requested)
async def _request_found(made: Stage) -> None:
    await _request(made, "j")
    await made.until(lambda: "as JSON" in made.text)
    await made.type("/system")
    await made.until(lambda: "hit 1 of 3" in made.text)


@_scene("request_older", "request 2", "17,000 read", "cache 95%", "the endpoint counts", fill=_requested)
async def _request_older(made: Stage) -> None:
    await _request(made, "o", "o")
    await made.until(lambda: "request 2" in made.text)
    await made.press("x")
    await made.until(lambda: "the endpoint counts" in made.text)


@_scene("requests", "every request of this session", "3 requests", "95%", fill=_requested)
async def _requests(made: Stage) -> None:
    await _request(made, "l")
    await made.until(lambda: "every request" in made.text)


@_scene("request_diff", "what differs", "request 2 ->", "added", fill=_requested)
async def _request_diff(made: Stage) -> None:
    await _request(made, "o", "o")
    await made.until(lambda: "request 2" in made.text)
    await made.press("m", "n")
    await made.until(lambda: "request 3" in made.text)
    await made.press("n")
    await made.until(lambda: "the next request" in made.text)
    await made.press("d")
    await made.until(lambda: "what differs" in made.text)


def _too_full(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.window = 19_000
    session.requests.ways = (
        "compact (/compact)",
        "elide the largest item, record 12 (bash, about 1,400 tokens less) (/elide 12)",
        "switch to a model with a window of 20,962 tokens or more (/model)",
    )
    session.requests.stays = {session.context.history[-1].id: "newest words"}


@_scene("request_too_large", "does not fit", "ways out", "/compact", fill=_too_full)
async def _request_too_large(made: Stage) -> None:
    await made.press("ctrl+x", "v")
    await made.until(lambda: "ways out" in made.text)


# --- places over the chat


@_scene("help", "keys and commands", "Esc closes", place="over")
async def _help(made: Stage) -> None:
    await made.press("f1")
    await made.until(lambda: "keys and commands" in made.text)


@_scene("palette", "jump back", place="palette")
async def _palette(made: Stage) -> None:
    await made.press("ctrl+p")
    await made.type("ju")
    await made.until(lambda: "jump back" in made.text)


@_scene("queue", "first", "next step", "drop", place="over")
async def _queue(made: Stage) -> None:
    made.session.begin("add a --json flag")
    for prompt in (
        "first",
        "second, which is a good deal longer than the first one was: it goes on and on",
        "第三",
    ):
        made.chat.composer.add(prompt)
        await made.press("enter")
        await made.settle()
    await _over(made, "ctrl+x", "w")


@_scene("queue_empty", "Nothing waits", place="over")
async def _queue_empty(made: Stage) -> None:
    await _over(made, "ctrl+x", "w")


async def _over(made: Stage, *keys: str) -> None:
    await made.press(*keys)
    await made.until(lambda: made.app.screen is not made.chat, "the place")
    await made.settle()


async def _list(made: Stage) -> None:
    await _over(made, "f4")
    await made.until(lambda: "reading" not in made.lines[1] and "looking" not in made.lines[1], "all read")


def _session(made: Stage, *words: str, age: float) -> SessionFolder:
    """A session on the disk, last used `age` seconds ago."""
    return command.session(made.app.wanted.workspace, *words, age=age)


@_scene("sessions_empty", "what you say begins one", place="over")
async def _sessions_empty(made: Stage) -> None:
    await _list(made)


@_scene("sessions", "add a --json flag", "damaged", place="over")
async def _sessions(made: Stage) -> None:
    await _many_sessions(made)
    await _list(made)
    await made.until(lambda: "checkpoint" in made.text)


async def _many_sessions(made: Stage) -> None:
    for number in range(30):
        _session(made, f"question {number}", f"the last words of {number}", age=3600.0 * (number + 3))
    _session(
        made,
        "add a --json flag to the report command, and say so in the README",
        "and now the tests",
        age=100,
    )
    broken = _session(made, "broken one", age=200)
    log = broken.context_path
    log.write_bytes(log.read_bytes() + b"{broken\n")
    os.utime(log, (0, time.time() - 200))
    _session(made, "会话选择器的错误在这里" * 4, "🎉", age=300)


@_scene("sessions_rename", "question 0", place="over")
async def _sessions_rename(made: Stage) -> None:
    _session(made, "question 0", "the last words", age=3600)
    await _list(made)
    await made.press("r")
    await made.until(lambda: isinstance(made.app.focused, Input))


@_scene("sessions_search", "load_user_name", "said", place="over")
async def _sessions_search(made: Stage) -> None:
    _session(made, "plain", "the middle says load_user_name", "end", age=100)
    _session(made, "third user", "x", age=200)
    _session(made, "other", "x", age=300)
    await _list(made)
    await made.press("slash")
    await made.type("load_user")
    await made.until(lambda: "said " in made.text)


@_scene("settings", "durability", "default", place="over")
async def _settings(made: Stage) -> None:
    await _over(made, "ctrl+x", "comma")
    await made.until(lambda: "durability" in made.text)


@_scene("settings_wrong", "allowed: a number from 0.1 to 0.99", place="over")
async def _settings_wrong(made: Stage) -> None:
    await _over(made, "ctrl+x", "comma")
    await made.until(lambda: "durability" in made.text)
    place: Any = made.app.screen
    place.rows.move(next(i for i, item in enumerate(place._items) if item.key == "compaction.trigger_ratio"))
    await made.press("enter")
    await made.until(lambda: isinstance(made.app.focused, Input))
    await made.press("ctrl+u")
    await made.type("2")
    await made.until(lambda: "allowed: a number" in made.text)


@_scene("themes", "as the terminal is", "nord", place="over")
async def _themes(made: Stage) -> None:
    made.app.looks._folder = Path("/no/themes")
    await _over(made, "ctrl+x", "t")
    await made.until(lambda: "nord" in made.text)


@_scene("models", "claude", "now", place="over")
async def _models(made: Stage) -> None:
    await _over(made, "f9")
    await made.until(lambda: " now " in made.text)


@_scene("connect", "Anthropic", "no AI", place="over")
async def _connect(made: Stage) -> None:
    await _over(made, "ctrl+x", "o")
    await made.until(lambda: "no AI" in made.text)


@_scene("connect_form", "test and save", "address", place="over")
async def _connect_form(made: Stage) -> None:
    await _connect(made)
    await made.press("enter")
    await made.until(lambda: "test and save" in made.text)


@_scene("connect_key", "the key (shown as dots", "•••", place="over")
async def _connect_key(made: Stage) -> None:
    await _connect_form(made)
    await _at_field(made, "key")
    await made.press("enter")
    await made.until(lambda: isinstance(made.app.focused, Input))
    await made.type("sk-test")


@_scene("connect_models", "newest", "type another name", "claude-opus-5", place="over")
async def _connect_models(made: Stage) -> None:
    await _connect_form(made)
    place: Any = made.app.screen
    place._found = [
        Offered("claude-opus-5", 200_000),
        Offered("claude-sonnet-5-5", 1_000_000),
        Offered("tiny"),
    ]
    place._models()


@_scene("connect_failed", "not saved", place="over")
async def _connect_failed(made: Stage) -> None:
    await _connect_form(made)
    await made.press("enter")
    await made.until(lambda: "not saved" in made.text)


async def _at_field(made: Stage, name: str) -> None:
    place: Any = made.app.screen
    place.rows.move([field.name for field in FIELDS].index(name))
    await made.settle()
