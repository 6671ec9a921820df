"""Everything that can happen in a session, as data.

Events come up from the engine; the screen, the headless mode, the trace and the tests hear the same ones. Each
is a frozen dataclass of plain values, and none of them is an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    @property
    def name(self) -> str:
        """The event's name on a wire: `TextDelta` -> `text_delta`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def as_json(self) -> dict[str, Any]:
        """The event as a JSON-ready mapping with its name under `event`."""
        return {"event": self.name, **asdict(self)}


Emit = Callable[[Event], None]


# --- the session -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionOpened(Event):
    """The session is ready. `repaired` names, in words, what opening it had to mend."""

    session: str
    title: str
    workspace: str
    model: str
    demo: bool
    window: int
    resumed: bool
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TitleChanged(Event):
    """The session has another title."""

    title: str


@dataclass(frozen=True, slots=True)
class ModelChanged(Event):
    """The next turn asks another model."""

    model: str
    window: int
    demo: bool


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that waits: delivered at the next `step` or at the end of the `turn`."""

    id: str
    text: str
    when: Literal["step", "turn"] = "step"
    images: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueChanged(Event):
    """The prompts that wait, in order. A paused queue (after an interrupt) sends nothing by itself."""

    prompts: tuple[QueuedPrompt, ...]
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something the user should read once. `source` is the room that says it."""

    text: str
    level: Level = "info"
    source: str = ""


@dataclass(frozen=True, slots=True)
class StateChanged(Event):
    """A `_state` record changed: key goal, plan, todo, mode, tasks or ledger."""

    key: str
    value: Any


# --- a turn ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """A prompt is being worked on. `checkpoint` is the uid of the turn's checkpoint, `number` its id."""

    checkpoint: str
    number: int
    prompt: str
    images: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """The model is about to be asked; steps count from 1 in each turn."""

    step: int


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """The turn is over. `reason`: end_turn, max_tokens, refusal, cancelled, failed or another stop reason."""

    reason: str
    steps: int
    seconds: float
    error: str = ""


# --- the model's reply -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weighed(Event):
    """The weight of the next request, in tokens: `total` = `exact` + `pending`; `mark` says how sure it is."""

    total: int
    exact: int
    pending: int
    mark: Literal["exact", "reconciled", "estimated"]
    window: int


@dataclass(frozen=True, slots=True)
class TextDelta(Event):
    """More visible text of the open reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta(Event):
    """More thinking of the open reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUseDelta(Event):
    """The open reply is writing a tool call; `size` is the bytes of arguments so far."""

    call: str
    tool: str
    size: int


@dataclass(frozen=True, slots=True)
class ReplyEnded(Event):
    """The reply is on disk as `record`."""

    record: str
    stop_reason: str
    text: str
    partial: bool = False


@dataclass(frozen=True, slots=True)
class ReplyDropped(Event):
    """What was shown of the open reply is not part of the context: it failed, or is asked again."""

    reason: str


@dataclass(frozen=True, slots=True)
class UsageReported(Event):
    """The provider's exact figures for one request, in tokens. `input` is without the cache figures."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


@dataclass(frozen=True, slots=True)
class RetryWaiting(Event):
    """The request failed and is sent again in `seconds`; told once a second while it waits."""

    attempt: int
    attempts: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class RequestFailed(Event):
    """The model could not be asked. `kind`: overflow, auth, rate_limit, overloaded, connection, invalid, cut, other.

    `ways` are the ways out, in words a person can act on.
    """

    kind: str
    message: str
    ways: tuple[str, ...] = ()


# --- tools -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """A tool call is being handled (it may have to wait for an answer first). `title` is its main argument."""

    call: str
    tool: str
    title: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolProgress(Event):
    """More output of a running call."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEnded(Event):
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


@dataclass(frozen=True, slots=True)
class Question:
    """What waits for a person.

    kind `approval`: a tool call (`tool`, `call`, `body` = command or diff, `rule` = the rule that `w` would write,
    `place` = where it runs, `warning` = what is unusual, such as a path outside the workspace);
    kind `text`: a free answer; kind `choice`: one of `choices`.
    """

    id: str
    kind: Literal["approval", "text", "choice"]
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


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer.

    For an approval `verdict` is `once`, `session` (a rule for this session), `always` (a rule in settings) or `no`;
    `note` tells the model why not, `rule` is the rule as edited, `edited` replaces the question's `editable` argument.
    For text and choice `note` is the answer and `verdict` is `answer`; `dismissed` when nobody answered.
    """

    verdict: Literal["once", "session", "always", "no", "answer", "dismissed"]
    note: str = ""
    rule: str = ""
    edited: str | None = None


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """A question waits."""

    question: Question


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """A question is settled, by a person or because what asked was cancelled (`dismissed`)."""

    question: str
    answer: Answer


# --- the log ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Appended(Event):
    """A record is on disk: its role (with the underscore for meta records), id and line number from 1."""

    role: str
    record: str
    line: int


@dataclass(frozen=True, slots=True)
class Rotated(Event):
    """The history was rewritten in one step; the old file is `backup`. Whoever shows the history reads it anew.

    `op`: revert, clear, restore, undo, redo, prompt, compaction, edit; or reload, without a backup: another program had
    changed the file, and it was read again. `words` and `images` are what a person
    said at the checkpoint reverted to, for the composer.
    """

    op: str
    backup: str
    records: int
    words: str = ""
    images: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class LogFailed(Event):
    """The log could not be written; nothing was added to the context. Shown until a write succeeds."""

    message: str
    ways: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogRecovered(Event):
    """Writes succeed again."""
