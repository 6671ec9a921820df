"""Plans: presented by the model, accepted by a person, and kept in the log as `_state` with their steps.

The steps of an accepted plan become items of the todo list, which is the one list there is: it says how far they are,
and a later list of the model does not lose them (see `todo`). A plan is edited as Markdown: a heading, its text, and
the steps as a numbered list under `## Steps`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from tui_agent import literal
from tui_agent.events import Emit, Question, StateChanged
from tui_agent.planning import mode as modes
from tui_agent.planning import todo as todos
from tui_agent.planning.reminder import inert, reminder
from tui_agent.prompt.injections import Told
from tui_agent.tools.tool import Need, Output, Progress, ToolError

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.events import Answer
    from tui_agent.prompt.injections import Moment
    from tui_agent.tools.permission import Mode

STATE_KEY = "plan"
MAX_TITLE_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 20_000
MAX_STEPS = 30

_STEPS = "## Steps"
_STEP = re.compile(r"\s*(?:\d+[.)]|[-*])\s+(.*)")
_WITHDRAWN = reminder("There is no accepted plan any more; earlier ones do not count.")
_DONE = reminder("All steps of the accepted plan are done: it asks nothing any more.")
_TOLD = (
    "The person accepted this plan. Keep to it, and its steps in the todo list up to date; if it has to change, "
    "present another one."
)

Ask = Callable[[Question], Awaitable["Answer"]]
"""Asks a person and waits for the answer."""


class Plan(Struct, frozen=True):
    """What is to be done, and in which steps."""

    title: str
    text: str
    steps: tuple[str, ...] = ()

    def document(self) -> str:
        """The plan as Markdown, as it is shown and edited."""
        parts = [f"# {self.title}", self.text]
        if self.steps:
            steps = "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, 1))
            parts += [_STEPS, steps]
        return "\n\n".join(filter(None, parts))

    @classmethod
    def read(cls, document: str, *, title: str = "") -> Plan:
        """The plan that a document says; `title` where it has no heading. What is too long or too many is left out."""
        lines = document.strip().split("\n")
        if lines[0].startswith("# "):
            title = lines.pop(0)[2:]
        at = max(
            (at for at, line in enumerate(lines) if line.strip().casefold() == _STEPS.casefold()),
            default=None,
        )
        steps = _steps(lines[at + 1 :]) if at is not None else []
        return cls(
            _line(title, MAX_TITLE_CHARACTERS) or "plan",
            literal.clean("\n".join(lines[:at])).strip()[:MAX_TEXT_CHARACTERS],
            tuple(_line(step, todos.MAX_ITEM_CHARACTERS) for step in steps[:MAX_STEPS]),
        )


def _steps(lines: list[str]) -> list[str]:
    """A list of Markdown, one text for each of its points; a line that begins none goes on with the one before."""
    steps: list[str] = []
    for line in filter(str.strip, lines):
        point = _STEP.fullmatch(line)
        if point is not None or not steps:
            steps.append(point[1] if point is not None else line)
        else:
            steps[-1] += f" {line}"
    return [step for step in steps if step.strip()]


def _line(text: str, most: int) -> str:
    return " ".join(literal.clean(text).split())[:most]


def read(context: Shown) -> Plan | None:
    """The accepted plan as the log has it; None if there is none, or what another program wrote is none."""
    value = context.state.get(STATE_KEY)
    if not isinstance(value, Mapping):
        return None
    title, text, steps = value.get("title"), value.get("text"), value.get("steps")
    if not isinstance(title, str) or not isinstance(text, str) or not isinstance(steps, list):
        return None
    return Plan(title, text, tuple(step for step in steps if isinstance(step, str)))


def steps_of(plan: Plan, context: Shown) -> list[todos.Item]:
    """The steps of a plan, and how far each is by the todo list."""
    known = {item.step: item.status for item in todos.read(context) if item.step}
    return [todos.Item(text, known.get(at, "pending"), at) for at, text in enumerate(plan.steps, 1)]


class Plans:
    """The accepted plan of one session, with the mode and the todo list that go with it.

    `ask` asks a person and waits for the answer; None where nobody is there. `redact` takes our own credentials out of
    what is stored.
    """

    def __init__(
        self,
        context: Context,
        todo: todos.TodoList,
        *,
        emit: Emit,
        ask: Ask | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._context = context
        self._emit = emit
        self._redact = redact
        self.ask = ask
        self.todo = todo
        self.mode = modes.Modes(context)

    @property
    def now(self) -> Plan | None:
        """The accepted plan."""
        return read(self._context)

    def progress(self) -> list[todos.Item]:
        """The steps of the plan and how far each is."""
        plan = self.now
        return steps_of(plan, self._context) if plan is not None else []

    async def accept(self, plan: Plan, mode: Mode) -> None:
        """Put a plan in force: its steps are the todo list from now on, and the work goes on in `mode`.

        Raises:
            ContextError: it could not be written, and nothing is changed.
        """
        steps = [self._redact(step) for step in plan.steps]
        items = [todos.Item(step, "pending", at) for at, step in enumerate(steps, 1)]
        value = {"title": self._redact(plan.title), "text": self._redact(plan.text), "steps": steps}
        changed = await self.mode.set(mode, {STATE_KEY: value, todos.STATE_KEY: todos.values(items)})
        self._tell(changed, value, items)

    async def clear(self) -> Plan | None:
        """Take the accepted plan away, and its steps out of the todo list; gives it back.

        Raises:
            ContextError: it could not be written, and nothing is changed.
        """
        plan = self.now
        if plan is not None:
            items = [item for item in self.todo.items() if not item.step]
            await self._context.set_states({STATE_KEY: None, todos.STATE_KEY: todos.values(items)})
            self._tell(None, None, items)
        return plan

    def _tell(self, mode: StateChanged | None, plan: Any, items: list[todos.Item]) -> None:
        if mode is not None:
            self._emit(mode)
        self._emit(StateChanged(STATE_KEY, plan))
        self._emit(StateChanged(todos.STATE_KEY, todos.values(items)))


class PresentPlan:
    """The model's way to have a plan accepted. Where nobody is there to accept it, it ends the turn."""

    name = "present_plan"
    read_only = False
    description = (
        "Present a plan to the person and wait: they accept it, change it, or reject it and say why. Use it in plan "
        "mode once you know what is to be done, or when you are asked for a plan. The steps of an accepted plan become "
        "your todo list."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "what is to be reached, in a few words"},
            "text": {"type": "string", "description": "the plan as Markdown: what, why, what could go wrong"},
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_STEPS,
                "items": {"type": "string"},
                "description": "what will be done, one thing each, in order",
            },
        },
        "required": ["title", "text", "steps"],
        "additionalProperties": False,
    }

    def __init__(self, plans: Plans) -> None:
        self._plans = plans

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """Nothing that has to be allowed: it asks the person itself."""
        return Need("none", parse(arguments).title)

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Present it, and put it in force if it is accepted."""
        plan = parse(arguments)
        after = self._plans.mode.after_plan
        question = Question(
            "", "plan", "accept this plan?", tool=self.name, rule=after, editable=plan.document()
        )
        answer = await self._plans.ask(question) if self._plans.ask is not None else None
        if answer is None or answer.verdict == "dismissed":
            return Output(_NOBODY, "presented", meta=_meta("presented"), ends="planned")
        if answer.verdict == "no":
            return _rejected(answer.note.strip(), planning=self._plans.mode.now == "plan")
        changed = answer.edited is not None and answer.edited.strip() != plan.document()
        if changed:
            plan = Plan.read(answer.edited or "", title=plan.title)
        wanted: Mode = next((mode for mode in modes.MODES if mode == (answer.rule or after)), "ask")
        await self._plans.accept(plan, wanted)
        told = f"{_ACCEPTED}\n\nThe person changed it. This is what was accepted:\n\n{plan.document()}"
        return Output(told if changed else _ACCEPTED, "accepted", meta=_meta("accepted"))


_NOBODY = "presented. Nobody is there to accept it, so the turn ends here: the plan is the answer."
_ACCEPTED = (
    "accepted: do it now, step by step. The todo list holds the steps; send it with `todo` whenever one begins or is "
    "done."
)


def _meta(outcome: str) -> dict[str, Any]:
    return {"plan": outcome, "read": [], "changed": []}


def _rejected(why: str, *, planning: bool) -> Output:
    if not why:
        return Output(
            "rejected, without a reason: the person speaks next.", "rejected", ends="denied", error=True
        )
    still = "Plan mode stays on: change" if planning else "Change"
    return Output(
        f"rejected: {why}\n\n{still} the plan and present it again.",
        "rejected",
        meta=_meta("rejected"),
        error=True,
    )


def parse(arguments: Mapping[str, Any]) -> Plan:
    """The plan of a tool call.

    Raises:
        ToolError: it is none; says which argument is wrong and why.
    """
    title, text, steps = arguments.get("title"), arguments.get("text", ""), arguments.get("steps")
    if not isinstance(title, str) or not title.strip():
        raise ToolError("'title' must be a text that is not empty")
    if not isinstance(text, str) or len(text) > MAX_TEXT_CHARACTERS:
        raise ToolError(f"'text' must be a text of at most {MAX_TEXT_CHARACTERS:,} characters")
    if not isinstance(steps, list) or not steps:
        raise ToolError("'steps' must be a list of texts, at least one")
    if len(steps) > MAX_STEPS:
        raise ToolError(f"{len(steps)} steps are too many: present at most {MAX_STEPS}")
    for number, step in enumerate(steps, 1):
        if not isinstance(step, str) or not step.strip():
            raise ToolError(f"step {number} must be a text that is not empty")
        if len(step) > todos.MAX_ITEM_CHARACTERS:
            raise ToolError(f"step {number} is longer than {todos.MAX_ITEM_CHARACTERS} characters")
    return Plan(
        _line(title, MAX_TITLE_CHARACTERS),
        literal.clean(text).strip(),
        tuple(_line(step, todos.MAX_ITEM_CHARACTERS) for step in steps),
    )


class PlanSource:
    """Tells the model of the accepted plan: how far it is stands in the todo list."""

    name = STATE_KEY
    priority = 95

    def generate(self, moment: Moment) -> Told:
        """The plan in force."""
        plan = read(moment.context)
        if plan is None:
            return Told("", _WITHDRAWN)
        if plan.steps and all(item.status == "done" for item in steps_of(plan, moment.context)):
            return Told("", _DONE)
        text = reminder(_TOLD, f"<plan>\n{inert(plan.document())}\n</plan>")
        return Told(text, _WITHDRAWN, short="the accepted plan")

    def on_compacted(self) -> None:
        """Nothing is kept here."""
