"""Everything that can happen in a session, as data.

Events come up from the engine; the screen, the headless mode, the trace and the tests hear the same ones. Each
is a frozen struct of plain values, and none of them is an instruction. (Structs, since making
half a hundred dataclasses is felt before the first frame.) What becomes of the context: `changes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field, to_builtins

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

Level = Literal["info", "warning", "error"]

OWN_COMMAND = "!bash"
"""The `tool` of a command that a person ran themselves, apart from the model's calls."""


class Event(Struct, frozen=True):
    """Something that happened."""

    @property
    def name(self) -> str:
        """The event's name on a wire: `TextDelta` -> `text_delta`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def as_json(self) -> dict[str, Any]:
        """The event as a JSON-ready mapping with its name under `event`."""
        return {"event": self.name, **to_builtins(self)}


Emit = Callable[[Event], None]


# --- the session -----------------------------------------------------------------------------------------------


class SessionOpened(Event, frozen=True):
    """The session is ready. `repaired` names, in words, what opening it had to mend.

    `window` is the model's, in tokens; `guessed`: nobody has told it. So in the events that follow.
    """

    session: str
    title: str
    workspace: str
    model: str
    demo: bool
    window: int
    resumed: bool
    repaired: tuple[str, ...] = ()
    guessed: bool = False


class TitleChanged(Event, frozen=True):
    """The session has another title."""

    title: str


class ModelChanged(Event, frozen=True):
    """The next turn asks another model."""

    model: str
    window: int
    demo: bool
    guessed: bool = False


class QueuedPrompt(Struct, frozen=True):
    """A prompt that waits: delivered at the next `step` or at the end of the `turn`."""

    id: str
    text: str
    when: Literal["step", "turn"] = "step"
    images: tuple[Block, ...] = ()


class QueueChanged(Event, frozen=True):
    """The prompts that wait, in order. A paused queue (after an interrupt) sends nothing by itself."""

    prompts: tuple[QueuedPrompt, ...]
    paused: bool = False


class Notice(Event, frozen=True):
    """Something the user should read once. `source` is the room that says it."""

    text: str
    level: Level = "info"
    source: str = ""


class StateChanged(Event, frozen=True):
    """A `_state` record changed: key goal, plan, todo, mode, tasks or ledger."""

    key: str
    value: Any


# --- a turn ----------------------------------------------------------------------------------------------------


class TurnStarted(Event, frozen=True):
    """A prompt is being worked on. `checkpoint` is the uid of the turn's checkpoint, `number` its id.

    Where nobody spoke `prompt` is empty, and `goal` is what the model was told of the goal to work on. `record` is what
    begins the turn in the log, empty if it is begun again.
    """

    checkpoint: str
    number: int
    prompt: str
    images: tuple[Block, ...] = ()
    goal: str = ""
    record: str = ""


class Reminder(Struct, frozen=True):
    """What the model was told beside a person's words, as `record`: by which source, in short and in full; tokens."""

    source: str
    record: str
    short: str
    text: str
    tokens: int


class LeftOut(Struct, frozen=True):
    """What a source had to tell and the model was not told, and why."""

    source: str
    why: str
    tokens: int


class Reminded(Event, frozen=True):
    """The model was told something beside the words of the turn or of a step; sent behind what says these words."""

    told: tuple[Reminder, ...]
    left: tuple[LeftOut, ...] = ()


class StepStarted(Event, frozen=True):
    """The model is about to be asked; steps count from 1 in each turn."""

    step: int


class TurnEnded(Event, frozen=True):
    """The turn is over. `reason`: end_turn, max_tokens, refusal, cancelled, failed, budget, `denied` (a person refused
    a call), `planned` (a plan was presented where nobody is there to accept it) or another stop reason."""

    reason: str
    steps: int
    seconds: float
    error: str = ""


# --- the model's reply -----------------------------------------------------------------------------------------


class Weighed(Event, frozen=True):
    """The weight of the next request, in tokens: `total` = `exact` + `pending`; `mark` says how sure it is."""

    total: int
    exact: int
    pending: int
    mark: Literal["exact", "reconciled", "estimated"]
    window: int
    guessed: bool = False


class TextDelta(Event, frozen=True):
    """More visible text of the open reply; `block` is the number of its block there."""

    text: str
    block: int = 0


class ThinkingDelta(Event, frozen=True):
    """More thinking of the open reply; `block` is the number of its block there."""

    text: str
    block: int = 0


class ToolUseDelta(Event, frozen=True):
    """The open reply is writing a tool call; `size` is the bytes of arguments so far."""

    call: str
    tool: str
    size: int


class ReplyEnded(Event, frozen=True):
    """The reply is on disk as `record`."""

    record: str
    stop_reason: str
    text: str
    partial: bool = False


class ReplyDropped(Event, frozen=True):
    """What was shown of the open reply is not part of the context: it failed, or is asked again."""

    reason: str


class UsageReported(Event, frozen=True):
    """The provider's exact figures for one request, in tokens. `input` is without the cache figures.

    `predicted` is what was expected to be read from the cache, None where nothing was. `parted` says why the request
    did not extend the one before, "" if it did.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int
    model: str = ""
    predicted: int | None = None
    parted: str = ""


class RetryWaiting(Event, frozen=True):
    """The request failed and is sent again in `seconds`; told once a second while it waits."""

    attempt: int
    attempts: int
    seconds: float
    reason: str


class RequestFailed(Event, frozen=True):
    """The model could not be asked. `kind`: overflow, auth, rate_limit, overloaded, connection, invalid, cut, other.

    `ways` are the ways out, in words a person can act on. `records` are the ids of those that the endpoint's error
    names (`messages.3.content.1`), the prompt's and the tools' too.
    """

    kind: str
    message: str
    ways: tuple[str, ...] = ()
    records: tuple[str, ...] = ()


# --- tools -----------------------------------------------------------------------------------------------------


class ToolWaiting(Event, frozen=True):
    """A call of the reply that has ended waits until those before it are done."""

    call: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class ToolStarted(Event, frozen=True):
    """A tool call is being handled (it may have to wait for an answer first). `title` is its main argument."""

    call: str
    tool: str
    title: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class ToolProgress(Event, frozen=True):
    """More output of a running call."""

    call: str
    text: str


class ToolEnded(Event, frozen=True):
    """The call has its result. `outcome`: ok, error, denied, cancelled. `size` is bytes of full output.

    `text` is what the model was given, `diff` a unified diff if files changed, `summary` a few words for the line.
    """

    call: str
    tool: str
    title: str
    outcome: Literal["ok", "error", "denied", "cancelled"]
    summary: str
    text: str
    size: int
    seconds: float
    diff: str = ""
    record: str = ""


# --- questions -------------------------------------------------------------------------------------------------


class Question(Struct, frozen=True):
    """What waits for a person.

    kind `approval`: a tool call (`tool`, `call`, `body` = command or diff, `rule` = the rule that `w` would write,
    `place` = where it runs, `warning` = what is unusual, such as a path outside the workspace);
    kind `text`: a free answer; kind `choice`: one of `choices`;
    kind `agree`: yes (`once`) or no to all that `body` lists;
    kind `review`: a summary before it takes effect (`body` says what it stands for, `editable` is its text, `most` the
    tokens that it should have at most; 0: as many as one likes);
    kind `memory`: the text of a proposal that a person writes anew (`editable`), `warning` says what came before it;
    kind `plan`: a plan, `editable` is all of it as Markdown, `rule` the mode in which the work goes on by itself.
    Of each kind `call` is the tool call in whose course it is asked, if it is one.
    """

    id: str
    kind: Literal["approval", "text", "choice", "agree", "review", "memory", "plan", "ways"]
    title: str
    body: str = ""
    tool: str = ""
    call: str = ""
    rule: str = ""
    place: str = ""
    warning: str = ""
    diff: str = ""
    choices: tuple[str, ...] = ()
    editable: str = ""
    most: int = 0


class Answer(Struct, frozen=True):
    """A person's answer.

    For an approval `verdict` is `once`, `session` (a rule for this session), `always` (a rule in settings) or `no`;
    `note` tells the model why not, `rule` is the rule as edited, `edited` replaces the question's `editable` argument.
    For text and choice `note` is the answer and `verdict` is `answer`; `dismissed` when nobody answered. For a review
    `once` accepts (`edited` is the text in its place), `no` discards. For a plan too: `rule` is the mode in which the
    work goes on (empty: the question's), `note` why it is rejected.
    """

    verdict: Literal["once", "session", "always", "no", "answer", "dismissed"]
    note: str = ""
    rule: str = ""
    edited: str | None = None


class Asked(Event, frozen=True):
    """A question waits."""

    question: Question


class Answered(Event, frozen=True):
    """A question is settled, by a person or because what asked was cancelled (`dismissed`)."""

    question: str
    answer: Answer
