"""Cards: approvals, questions, plans, the way back."""

from __future__ import annotations

from types import SimpleNamespace

from tests.ui.fake import Todo
from tests.ui.scenes.chat import DIFF
from tests.ui.scenes.scene import scene
from tests.ui.stage import Stage
from tui_agent import events as said

_PLAN = """# Add a --json flag

The report prints a table only.

## Steps

1. Print the rows as JSON
2. Test it
"""


@scene(
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


@scene(
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


@scene("approval", "run this command?", "2 to answer", "answer 1 of 2", "[y] once")
async def _approval(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    made.session.ask(body="git push")
    await made.until(lambda: "answer 1 of 2" in made.text)


@scene("approval_unfocused", "Tab to answer", "a draft")
async def _approval_unfocused(made: Stage) -> None:
    made.session.begin("add a --json flag")
    await made.type("a draft")
    made.session.ask()
    await made.until(lambda: "Tab to answer" in made.text)


@scene("approval_edit", "edit")
async def _approval_edit(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)
    await made.press("e")
    await made.until(lambda: "[y] once" not in made.text)


@scene("approval_rule", "bash:pnpm test*", "save and run")
async def _approval_rule(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)
    await made.press("w")
    await made.until(lambda: "save and run" in made.text)


@scene("approval_diff", "write this file?", "outside of the workspace")
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


@scene("approval_long", "run this command?", "more lines below")
async def _approval_long(made: Stage) -> None:
    made.session.begin("add a --json flag")
    made.session.ask(body="\n".join(f"echo line {number}" for number in range(40)))
    await made.until(lambda: made.chat.dock.has_keys)


@scene("question", "which package manager?", "pnpm", "yarn")
async def _question(made: Stage) -> None:
    made.session.begin("add a --json flag")
    choices = ("npm", "pnpm, as the lock file says", "yarn")
    title = "which package manager?"
    made.session.emit(said.Asked(said.Question("q1", "choice", title, "Both are there.", choices=choices)))
    await made.until(lambda: made.chat.dock.has_keys)


@scene("question_text", "what is it called?")
async def _question_text(made: Stage) -> None:
    made.session.begin("add a --json flag")
    question = said.Question("q1", "text", "what is it called?", "The new flag needs a name.")
    made.session.emit(said.Asked(question))
    await made.until(lambda: made.chat.dock.has_keys)


@scene("jump", "go back to before", "your words", "Enter goes back", place="jump")
async def _jump(made: Stage) -> None:
    await made.press("f6")
    await made.until(lambda: made.chat.jump is not None and "messages leave the chat" in made.text)
