"""The chat, and what happens in it."""

from __future__ import annotations

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.scenes.scene import nothing, scene
from tests.ui.stage import Stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.messages.blocks import text_block, tool_result
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.transcript import code


def _many(session: FakeSession) -> None:
    conversation(session.context, 60)


def _demo(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.demo, session.model, session.profile = True, "demo model - no AI", "demo"


def _read_only(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.read_only = "the session is open elsewhere"


@scene("empty", "Say what should be done", "Ask, or / for commands", "ready", fill=nothing)
async def _empty(made: Stage) -> None:
    pass


@scene("busy", "pnpm test --filter web", "running bash", "Enter: at the next step", "stop")
async def _busy(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        said.TextDelta("I will look at the command first.\n\n"),
        said.ToolStarted("c1", "bash", "pnpm test --filter web"),
        said.ToolProgress("c1", "ran 12 of 40\n"),
    )
    await made.type("also mention it in the README")


@scene("streaming", "What changes", "def report(", "answering")
async def _streaming(made: Stage) -> None:
    code.warm()
    made.session.begin("explain")
    half = ANSWER[: ANSWER.index("    return")]
    made.session.emit(said.ThinkingDelta("The rows are dataclasses."), said.TextDelta(half))


@scene("failed", "prompt is too long", "/revert", "ready")
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


@scene("retrying", "try 2/5 in 3 s", "overloaded")
async def _retrying(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(said.RetryWaiting(2, 5, 3.0, "overloaded"))


@scene("not_saved", "not saved", "no space left")
async def _not_saved(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.emit(
        changes.LogFailed("no space left on the device", ("free some space", "then send again"))
    )
    made.session.end("failed")


@scene("read_only", "read-only", fill=_read_only)
async def _only_read(made: Stage) -> None:
    pass


@scene("demo", "demo model - no AI", fill=_demo)
async def _with_demo(made: Stage) -> None:
    pass


@scene("demo_answering", "demo model - no AI", "2 to answer", fill=_demo)
async def _demo_answering(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    made.session.ask(body="git push")
    await made.until(lambda: made.chat.dock.has_keys)


@scene("tour", "tour 1/6", "skips", fill=_demo)
async def _tour(made: Stage) -> None:
    from tui_agent.ui.tour import WORDS, Tour

    await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))


@scene("long_history", "new lines below", "question 55", fill=_many)
async def _long_history(made: Stage) -> None:
    await made.press("pageup", "pageup")
    made.session.begin("explain")
    made.session.emit(said.TextDelta(ANSWER), said.ReplyEnded("r99", "end_turn", ANSWER))
    made.session.end()


@scene("answer", "What changes", "a table", "as_json", "1.", "2.")
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


@scene("cjk_and_emoji", "报告命令", "二倍の文字")
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


@scene("images", "[image png 1280x720", "fatal: not a git repository", fill=_images)
async def _with_images(made: Stage) -> None:
    await made.press("ctrl+o")


@scene("diff_open", "src/report.py", "as_json=False", "+1")
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


@scene("output_open", "line 20", "line 5")
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


@scene("selection", "add a --json flag to the report command")
async def _selection(made: Stage) -> None:
    await made.press("shift+tab")
    await made.pilot.click("#transcript", offset=(4, 5))
    made.app.set_focus(made.chat.transcript)
    await made.settle()
    await made.press("shift+up", "shift+up")
