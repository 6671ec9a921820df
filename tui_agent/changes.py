"""What becomes of the context of a session, as events: records written, history rewritten, memories, compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tui_agent.events import Event

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

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
    which settings demand it; `instruction` is what the person wants the summary to dwell on. `guessed`: nobody has told
    that window."""

    trigger: Trigger
    strategy: str
    tokens: int
    mark: Literal["exact", "reconciled", "estimated"]
    window: int
    limit: int
    instruction: str = ""
    guessed: bool = False


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
    kept (what stays word for word is), cut (it failed, and cutting long results was enough), no_progress, hook (it
    said no), cancelled, superseded (the history was changed meanwhile), declined (at the review).
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
