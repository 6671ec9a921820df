"""What an entry says in words, for its line on the screen and for whoever copies it.

What is copied is the source: of an answer its Markdown, of a person's words the words, of output the output, of a
diff the diff. Of what is folded it is the line that is shown, with nothing of it cut off. Checkpoints say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_agent.literal import one_line
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.transcript.entries import (
    GOAL,
    Answer,
    Aside,
    Entry,
    Failure,
    Mark,
    Note,
    Result,
    Retry,
    Thinking,
    ToolCall,
    Words,
    human_size,
    human_time,
    short_time,
)

WORTH_TELLING_S = 1.0
"""Seconds of thinking that are told."""
OUTPUT = 3
"""The section of a call's output."""
TITLE_CHARACTERS = 400
"""Characters of a title or a text that a line shows at most."""
GAP = 2
"""Blanks between a call's words and its state."""
_COMMAND = re.compile(r"(?:^|\()((/[a-z]+)(?: \d+)?)(?=\)|\s|$)")
_OF_RECORDS = ("/record", "/elide", "/drop", "/edit", "/refresh")
_COMMANDS = frozenset((*(f"/{action.slash}" for action in ACTIONS if action.slash), *_OF_RECORDS))
"""Those that a way out may name; a record's number may stand behind one."""
STATES = {
    "writing": ("writing", ".transcript--dim"),
    "waiting": ("waiting", ".transcript--dim"),
    "running": ("running", ".transcript--busy"),
    "asks": ("asks you", ".transcript--busy"),
    "ok": ("ok", ".transcript--ok"),
    "error": ("error", ".transcript--error"),
    "denied": ("denied", ".transcript--warning"),
    "cancelled": ("stopped", ".transcript--warning"),
    "interrupted": ("no result", ".transcript--warning"),
}
"""A call's state in words, and in which style."""


def sections(entry: Entry) -> tuple[str, ...]:
    """The source of an entry, in sections: the places of a selection are offsets in one of them.

    Of what folds, section 0 is its line. Of a call, 1 is its argument, 2 its diff, 3 its output, 4 the call with all
    arguments; of thinking and of what stands aside, 1 is the text, of a result 2 are its facts; of a failure, 1 are
    the ways out.
    """
    match entry:
        case Answer():
            return (entry.body.source,)
        case Words():
            return (plain_text(entry.text),)
        case ToolCall():
            words, figures = call_words(entry)
            line = words + " " * GAP + figures
            texts = (entry.title, entry.diff, entry.text, entry.written)
            return line, *map(plain_text, texts)
        case Thinking() | Aside():
            facts = ("\n".join(fact for fact, _ in entry.told),) if isinstance(entry, Result) else ()
            return "".join(fold_words(entry)), plain_text(entry.text), *facts
        case Failure():
            return plain_text(entry.text.strip() or "no reason given"), "\n".join(way_lines(entry.ways))
        case Note():
            return (plain_text(entry.text.strip() or "no reason given"),)
        case Retry():
            return (plain_text(retry_words(entry)),)
        case _:
            return ()


def beginning(entry: Entry, section: int) -> int:
    """The place of a section's first character."""
    return entry.begins if isinstance(entry, ToolCall) and section == OUTPUT else 0


def copied_sections(entry: Entry) -> tuple[int, ...]:
    """The sections that a selection takes which goes over the whole entry: those that are shown, none of them twice."""
    match entry:
        case ToolCall():
            argument = (4,) if entry.written else (1,) if "\n" in entry.title else ()
            diff = (2,) if entry.diff else ()
            text = (3,) if entry.shows_text else ()
            return (0, *argument, *diff, *text) if entry.opened else (0,)
        case Thinking() | Aside():
            facts = (2,) if isinstance(entry, Result) and entry.shows_facts and entry.told else ()
            return (0, *facts, 1) if entry.opened and entry.text else (0, *facts)
        case Failure():
            return (0, 1) if entry.ways else (0,)
        case Mark():
            return ()
        case _:
            return (0,)


def call_words(entry: ToolCall) -> tuple[str, str]:
    """A call's line, nothing cut off: its name and argument; its state, size and time."""
    name = one_line(entry.tool or "tool", 40)
    size = human_size(entry.size) if entry.size else ""
    time = "" if entry.seconds is None or entry.state == "running" else short_time(entry.seconds)
    figures = (STATES[entry.state][0], one_line(entry.summary) or size, time)
    return f"{name} {one_line(entry.title)}" if entry.title else name, "  ".join(filter(None, figures))


def fold_words(entry: Thinking | Aside) -> tuple[str, str]:
    """The line that opens to more: its label; a few words and, while it is folded, the beginning of the text."""
    label = entry.label if isinstance(entry, Aside) else "thinking ..." if entry.open else "thinking"
    rest = ""
    if isinstance(entry, Thinking):
        size = human_size(len(entry.text.encode("utf-8", "replace"))) if entry.text else "not shown"
        time = (
            short_time(entry.seconds)
            if entry.seconds is not None and entry.seconds >= WORTH_TELLING_S
            else ""
        )
        rest = "".join(f"  {words}" for words in (size, time) if words)
    if isinstance(entry, Result):
        rest = f"  {one_line(entry.figures)}" if entry.figures else ""
    elif entry.text and not entry.opened:
        beginning = entry.text[:TITLE_CHARACTERS]
        if label == GOAL:
            beginning = beginning.partition("\n\n")[0]  # how far it is; what follows is the same each time
        rest += "  " + one_line(" ".join(beginning.split()))
    return one_line(label, 60), rest


def retry_words(entry: Retry) -> str:
    """What is said about a request that is sent again."""
    when = "asked again" if entry.over else f"asking again in {human_time(entry.seconds)}"
    if entry.stopped:
        when = "stopped before an answer"
    return f"{when} ({entry.attempt} of {entry.attempts}): {entry.reason}"


def way_lines(ways: Sequence[str]) -> list[str]:
    """The ways out of a failure, each on one line."""
    return [" ".join(way.split()) for way in ways]


def way_command(way: str) -> tuple[int, int] | None:
    """Where in a way out a command of the screen stands, `choose another model (/model)`; None if in none."""
    match = _COMMAND.search(way)
    return match.span(1) if match is not None and match[2] in _COMMANDS else None


def plain_text(text: str) -> str:
    """A text as it is cut into lines: they end in newlines, and the last one in nothing."""
    return text.replace("\r\n", "\n").removesuffix("\n")
