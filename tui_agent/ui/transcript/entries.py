"""What the transcript shows, as entries: one for each thing that was said, done or went wrong.

An entry is plain data with no looks. `history` reads the entries of a stretch of messages when that stretch comes
into view, so that a session of any length opens at once; until then a `Gap` stands for it. What happens while the
program runs becomes entries in `live`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from msgspec import Struct

from tui_agent.literal import one_line
from tui_agent.messages.blocks import result_text

if TYPE_CHECKING:
    from tui_agent.ui.transcript.stream import Splitter

Level = Literal["info", "warning", "error"]
FactLevel = Literal["info", "warning", "error", "added", "removed"]
"""How grave a fact is, or what becomes of a line of text."""
State = Literal["writing", "waiting", "running", "asks", "ok", "error", "denied", "cancelled", "interrupted"]
"""Where a tool call is. `writing`: the model still writes it; `waiting`: its turn has not come; `asks`: it waits for
a person; `interrupted`: it never came to a result."""

MAIN_ARGUMENTS = ("command", "path", "file_path", "pattern", "query", "url", "prompt", "name")
"""Arguments that tell most about a call, best first."""

_OWN_LINES = 40
"""A person's own command of so many lines at most shows what it printed."""

OUTPUT_CHARACTERS = 64_000
"""The end of a running call's output that is kept for the screen, up to twice that; its result brings the rest."""

GOAL = "goal"
"""The label of what begins a turn in which nobody spoke."""

_TOLD_CHARACTERS = 100
"""Characters of what the model was told that stand in its line."""

_STOPPED: Mapping[str, str] = {
    "max_tokens": "The answer reached the output limit and stops here.",
    "refusal": "The model refused to answer.",
    "model_context_window_exceeded": "The window was full; the answer stops here.",
}
"""Stop reasons a person should read about."""


class Entry(Struct, eq=False, kw_only=True):
    """One thing in the transcript. `opened` is set when a person unfolded it.

    `record` names the message of the log that it is a part of; "" while it is in none. `index` is that message's place
    in the history that was loaded, -1 if it came later.
    """

    opened: bool = False
    record: str = ""
    index: int = -1

    @property
    def foldable(self) -> bool:
        """True if it shows more when it is opened."""
        return False


class Gap(Entry, eq=False):
    """Messages `start` to `stop` (exclusive) of the history, not read yet, or given back.

    `rows`: as many as they took when they were given back; 0 if nobody has seen them.
    """

    start: int
    stop: int
    rows: int = 0

    def part(self, start: int, stop: int) -> Gap:
        """What is left of it from one message to another."""
        return Gap(start, stop, round(self.rows * (stop - start) / max(1, self.stop - self.start)))


class Mark(Entry, eq=False):
    """The checkpoint of a turn: its number, and when it was made (ISO 8601, or empty)."""

    number: int
    at: str = ""


class Words(Entry, eq=False):
    """What a person said; media are placeholders in it. Many lines are folded to the first of them."""

    SHOWN: ClassVar[int] = 16
    LONG: ClassVar[int] = 24

    text: str

    @property
    def foldable(self) -> bool:
        return self.text.count("\n") >= self.LONG


class Answer(Entry, eq=False):
    """The model's text, Markdown, cut into chunks as it comes. `partial`: it was cut off."""

    body: Splitter
    partial: bool = False

    @classmethod
    def begun(cls) -> Answer:
        """An answer of which nothing came yet."""
        return cls(_splitter()())

    @classmethod
    def whole(cls, text: str, *, record: str = "") -> Answer:
        """An answer that is complete."""
        return cls(_splitter().whole(text), record=record)


class Thinking(Entry, eq=False):
    """The model's thinking, folded to a line. `open`: it still goes on; `seconds`: its time, None if unknown."""

    text: str
    open: bool = False
    started: float = 0.0
    seconds: float | None = None

    @property
    def foldable(self) -> bool:
        return bool(self.text)


class ToolCall(Entry, eq=False):
    """A call of a tool: one line that opens to its output or diff. `size` is bytes, `seconds` None if unknown.

    `result` names the message of the log that brought the output. While the call runs only the end of its output is
    kept: places in it are counted from its true beginning, `begins` is that of the first character there is. While
    something in it is looked for, `written` is the call with all its arguments, or its output is shown beside a diff
    too (`whole`).
    """

    call: str
    tool: str
    title: str = ""
    state: State = "running"
    summary: str = ""
    text: str = ""
    begins: int = 0
    diff: str = ""
    size: int = 0
    seconds: float | None = None
    started: float = 0.0
    result: str = ""
    written: str = ""
    whole: bool = False

    def add_output(self, text: str) -> None:
        """It has printed more; seldom, and by many lines at once, the beginning is let go."""
        self.text += text
        if len(self.text) > 2 * OUTPUT_CHARACTERS:
            spare = len(self.text) - OUTPUT_CHARACTERS
            cut = self.text.rfind("\n", 0, spare) + 1 or spare
            self.begins += len(self.text[:cut].replace("\r\n", "\n"))
            self.text = self.text[cut:]

    @property
    def shows_text(self) -> bool:
        """Does it show its output when it is opened? A diff that could be made says the same better."""
        return bool(self.text) and (self.whole or not self.diff or self.state != "ok")

    @property
    def foldable(self) -> bool:
        return self.state not in ("writing", "waiting")


class Note(Entry, eq=False):
    """A line the program says."""

    text: str
    level: Level = "info"


class Failure(Entry, eq=False):
    """What went wrong, or was not done, and the ways out."""

    text: str
    ways: Sequence[str] = ()
    level: Level = "error"


class Retry(Entry, eq=False):
    """The request is sent again in `seconds`; `over` once it was; `stopped` if no answer was waited for."""

    attempt: int
    attempts: int
    seconds: float
    reason: str
    over: bool = False
    stopped: bool = False


class Aside(Entry, eq=False):
    """Text that neither a person nor the model said: a summary, a reminder, an answer not kept. Folded to a line."""

    label: str
    text: str

    @property
    def foldable(self) -> bool:
        return bool(self.text)


class Result(Aside, eq=False):
    """What the program did to the context by itself or when it was asked, and what can be done about it.

    Its line says `label` and `figures`. `facts` stand below it while it is open or `waits` for a person, each with how
    grave it is; so do `choices` (a letter and words each), which act on `of`: the backup that a compaction made, or the
    record of an elision. `text` is shown when it is opened, as Markdown if it is a `summary`.
    """

    figures: str = ""
    facts: Sequence[tuple[str, FactLevel]] = ()
    choices: Sequence[tuple[str, str]] = ()
    of: str = ""
    waits: bool = False
    summary: Splitter | None = None

    ABOUT: ClassVar[Literal["context", "memory"]] = "context"
    """What can be done is done to this. What waits for memory is counted as a question."""

    @property
    def shows_facts(self) -> bool:
        """Is more of it shown than its line?"""
        return self.waits or self.opened

    @property
    def told(self) -> Sequence[tuple[str, FactLevel]]:
        """The facts as they are shown now."""
        return self.facts

    @property
    def foldable(self) -> bool:
        return bool(self.text or self.facts)


def _splitter() -> type[Splitter]:
    from tui_agent.ui.transcript.stream import Splitter  # not needed before the first frame

    return Splitter


def is_short(text: str) -> bool:
    """Is the output of a person's own command shown without being asked for?"""
    return text.count("\n") < _OWN_LINES


def stopped(reason: str) -> Note | None:
    """What to say about an answer that stopped for that reason; None if there is nothing to say."""
    return Note(_STOPPED[reason], "warning") if reason in _STOPPED else None


def main_argument(arguments: Mapping[str, Any]) -> str:
    """The argument that tells most about a call: one of the usual names, else the first that is text."""
    for name in MAIN_ARGUMENTS:
        if isinstance(value := arguments.get(name), str) and value:
            return value
    return next((value for value in arguments.values() if isinstance(value, str) and value), "")


def told_words(short: str) -> str:
    """The label of a reminder: what the model was told, in a few words."""
    return f"told: {one_line(short, _TOLD_CHARACTERS)}"


def unwrapped(text: str) -> str:
    """A reminder without the tags around it."""
    begin, end = "<system-reminder>", "</system-reminder>"
    return text.removeprefix(begin).removesuffix(end).strip()


def plain(blocks: Sequence[Any]) -> str:
    """The text of blocks; media are placeholders, blocks of unknown kinds JSON."""
    return "\n".join(_plain(block) for block in blocks)


def _plain(block: Any) -> str:
    if not isinstance(block, Mapping):
        return str(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "document" as kind:
            return f"[{_media(kind, block.get('source'))}]"
        case "tool_result":
            return result_text(block)
        case _:
            import json  # not needed before the first frame

            return json.dumps(block, ensure_ascii=False, default=str, indent=1)


def _media(kind: str, source: Any) -> str:
    """`image png 1200x800 34 KB`, as far as it is known."""
    if not isinstance(source, Mapping):
        return kind
    words = [kind]
    if isinstance(media := source.get("media_type"), str):
        words.append(media.rpartition("/")[2])
    width, height = source.get("width"), source.get("height")
    if isinstance(width, int) and isinstance(height, int):
        words.append(f"{width}x{height}")
    if isinstance(size := source.get("bytes"), int):
        words.append(human_size(size))
    return " ".join(words)


def human_size(count: int) -> str:
    """Bytes in words of at most seven characters: `812 B`, `2.1 KB`, `34 KB`."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5 or unit == "TB":
            break
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:,.0f} {unit}"


def human_time(seconds: float) -> str:
    """A duration in words: `0.1 s`, `12 s`, `3 min 12 s`."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def short_time(seconds: float) -> str:
    """A duration in at most eight characters, up to 999 hours: `0.1 s`, `12 s`, `3m 12s`, `2h 5m`."""
    if seconds < 59.5:
        return human_time(seconds)
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"
