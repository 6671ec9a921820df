"""Everything that can happen in a session, as data.

Events come up from the engine; the screen, the headless mode, the trace and the tests hear the same ones. Each
is a frozen struct of plain values, and none of them is an instruction. (Structs, since making
half a hundred dataclasses is felt before the first frame.)
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
    """The session is ready. `repaired` names, in words, what opening it had to mend."""

    session: str
    title: str
    workspace: str
    model: str
    demo: bool
    window: int
    resumed: bool
    repaired: tuple[str, ...] = ()


class TitleChanged(Event, frozen=True):
    """The session has another title."""

    title: str


class ModelChanged(Event, frozen=True):
    """The next turn asks another model."""

    model: str
    window: int
    demo: bool


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


# --- the log ---------------------------------------------------------------------------------------------------


class Appended(Event, frozen=True):
    """A record is on disk: its role (with the underscore for meta records), id and line number from 1."""

    role: str
    record: str
    line: int


class Rotated(Event, frozen=True):
    """The history was rewritten in one step; the old file is `backup`. Whoever shows the history reads it anew.

    `op`: revert, clear, restore, undo, redo, prompt, refresh, compaction, edit; or reload, without a backup: another
    program had changed the file, and it was read again. `words` and `images` are what a person
    said at the checkpoint reverted to, for the composer.
    """

    op: str
    backup: str
    records: int
    words: str = ""
    images: tuple[Block, ...] = ()


class LogFailed(Event, frozen=True):
    """The log could not be written; nothing was added to the context. Shown until a write succeeds."""

    message: str
    ways: tuple[str, ...] = ()


class LogRecovered(Event, frozen=True):
    """Writes succeed again."""


# --- memory ----------------------------------------------------------------------------------------------------


class MemoryProposed(Event, frozen=True):
    """The model proposes to remember something, and a person has to agree first.

    `record` is the answer that proposes it. `old` is the text it would replace, empty if there is none. `outside` names
    what the turn had read by then (`README.md`, `curl ...`); not empty, it is tainted. `noise`: it tells of the state
    of some work, which is not worth remembering. `refused`: a person has refused it before, so that it does not wait.
    `file` is the path of the file that would be changed, and `diff` how, where it is to stand in one.
    """

    id: str
    scope: str
    key: str
    body: str
    old: str = ""
    record: str = ""
    outside: tuple[str, ...] = ()
    noise: bool = False
    refused: bool = False
    file: str = ""
    diff: str = ""


class MemoryChanged(Event, frozen=True):
    """A memory is another one now.

    `what`: proposed, accepted, rejected, edited, deleted, undone, suspended, resumed.
    """

    id: str
    what: str
    scope: str
    key: str


# --- compaction ------------------------------------------------------------------------------------------------


Trigger = Literal["auto", "manual", "overflow", "ahead"]
"""What began a compaction: the threshold, a person, a request that did not fit, or time to spare before it is due."""


class CompactionStarted(Event, frozen=True):
    """A summary of the history is being made. `tokens` of `window` is the weight that began it, `limit` the one at
    which settings demand it; `instruction` is what the person wants the summary to dwell on."""

    trigger: Trigger
    strategy: str
    tokens: int
    mark: Literal["exact", "reconciled", "estimated"]
    window: int
    limit: int
    instruction: str = ""


class CompactionStage(Event, frozen=True):
    """What the running compaction does now, in words: waiting for the step, asking the hook, summarising (2 of 5)..."""

    stage: str


class CompactionSummary(Event, frozen=True):
    """The summary is there and checked, not yet in force; `tokens` is its weight."""

    text: str
    tokens: int


class CompactionCompleted(Event, frozen=True):
    """The summary is in force; `Rotated` is sent too.

    `before` and `after` are the weights of the next request in tokens; `seconds` is how long it took; `cost` in US
    dollars is None where no price is set. `input` (all of it), `output`, `cache_read` and `cache_write` are the exact
    figures of the requests it took to `model`, 0 where there were none. `summary` is the record of the summary and
    `text` its words; `replaced` counts the messages that went, `kept` says in words what stands word for word,
    `doubts` where the summary contradicts the log. `lost` counts marks and elisions whose record is gone. `mark` is how
    sure `before` is; `after` is an estimate in the same measure.
    """

    trigger: Trigger
    strategy: str
    before: int
    after: int
    seconds: float
    backup: str
    summary: str
    text: str
    replaced: int
    kept: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    lost: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cost: float | None = None
    cache_write: int = 0
    model: str = ""
    edited: bool = False
    mark: Literal["exact", "reconciled", "estimated"] = "estimated"


class CompactionFailed(Event, frozen=True):
    """No summary came into force; the log is as it was, byte for byte. `ways` are the ways out, in words."""

    trigger: Trigger
    strategy: str
    reason: str
    seconds: float
    ways: tuple[str, ...] = ()


class CompactionSkipped(Event, frozen=True):
    """A compaction that was due or wanted was not made. `reason` is one of the words below, `detail` says it in full.

    off (settings), held (after an undo), short (too little to gain), floor (prompt and tools alone are too large),
    kept (what stays word for word is), no_progress, hook (it said no), cancelled, superseded (the history was changed
    meanwhile), declined (at the review).
    """

    trigger: Trigger
    reason: str
    detail: str


class CompactionHeld(Event, frozen=True):
    """Compaction by itself is held (after a person undid one), or is not any more."""

    held: bool


class MicroCompacted(Event, frozen=True):
    """Old results were elided in one batch: record `elide`, which brings them all back (`/unelide`).

    `items` says of each what it was, in words. `before` and `after` are the weights of the next request in tokens;
    `arithmetic` says why it pays. `whole`: they are exchanges that are left out, so that the request can be sent.
    """

    elide: str
    items: tuple[str, ...]
    before: int
    after: int
    arithmetic: str = ""
    whole: bool = False
