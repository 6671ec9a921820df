"""The forms of words that the demo model answers without a tool: memories, thinking, long answers, failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.llm.demo.sample import long_answer
from tui_agent.llm.demo.tasks import Say
from tui_agent.llm.demo.words import code, plural

if TYPE_CHECKING:
    from tui_agent.llm.demo.clauses import Clause
    from tui_agent.messages.blocks import Block

History = Sequence[Mapping[str, Any]]

ABILITIES = """\
- **read** `FILE`, or lines 10-20 of it; **list** `*.py`; **search** for `TEXT` in `FOLDER`
- **edit** `FILE`: replace `A` with `B`; **add** a line `TEXT` to `FILE`; **create** `FILE` with `TEXT`
- **run** `COMMAND`; **todo**: one, two, three; **remember** that ...; **what do you remember**
- **think** about something; be **long**; do several things **at once**; **fail**
- several of these in a row: read `a.txt`, then run `ls`; **plan** to do them first
- **/goal** in front of them: one in each turn, until all are done"""

_DEFAULT_SECTIONS = 12
_MOST_SECTIONS = 400
_MOST_WORDS_LISTED = 20


SUMMED_UP = "<compacted>"
"""How the message begins that stands for what was summarised."""
_NOT_SAID = ("<", "(The answer above was cut off", "[The person ran this command")
"""How texts of the user's role begin that no person wrote."""


def unknown(words: str) -> str:
    """The honest answer to words that fit no form."""
    said = " ".join(words.split())
    start = f"I do not understand {code(said[:80])}. " if said else ""
    return f"{start}I am a demo model, no AI: I know a few forms of words. You can ask me to:\n\n{ABILITIES}"


def greeting(clause: Clause, before: History) -> Say | None:
    """Hello, help, thanks."""
    if clause.match(
        r"(?:hi|hello|hey|good (?:morning|evening|day)|thanks|thank you|help|what can you do|who are you)\b.*"
    ):
        return Say(
            f"Hello. I am the demo model: no AI, but real tool calls. You can ask me to:\n\n{ABILITIES}"
        )
    return None


def remember(clause: Clause, before: History) -> Say | None:
    """A memory, proposed by a marker in the text."""
    found = clause.match(
        r"(?:remember|memori[sz]e|keep in mind)\b(?:\s+for (?:this|the) (session|workspace|project))?"
        r"[\s,:]*(?:that\s+)?(.+)"
    )
    if not found:
        return None
    body = re.sub(r"</?memory[^>]*>", "", clause.bare(found.group(2)), flags=re.IGNORECASE).strip()
    if not body:
        return None
    place = (found.group(1) or "").lower()
    if place == "session":
        scope = "session"
    elif place or not re.search(r"\b(i|me|my|we|our)\b", body, re.IGNORECASE):
        scope = "workspace"
    else:
        scope = "user"
    named = re.fullmatch(r"([\w .-]{1,40}):\s+(.+)", body, re.DOTALL)
    about, body = named.groups() if named else (body, body)
    key = "-".join(re.findall(r"\w+", about.lower())[:5])[:48] or "note"
    said = {"session": "for this session", "workspace": "for this workspace", "user": "about you"}[scope]
    marker = f'<memory scope="{scope}" key="{key}">{body}</memory>'
    return Say(f"I would like to keep this in mind {said}: {body}\n\n{marker}")


def think(clause: Clause, before: History) -> Say | None:
    """Thinking, shown as such."""
    found = clause.match(
        r"(?:think|reason|ponder)\b(?:\s+(?:hard|deeply|carefully|aloud|step by step))*"
        r"(?:\s+(?:about|over|on))?\s*(.*)"
    )
    if not found:
        return None
    topic = clause.bare(found.group(1)) or "nothing in particular"
    steps = [
        f"I was asked to think about: {topic}.",
        f"It has {plural(len(topic.split()), 'word')} and {plural(len(topic), 'character')}.",
        "A real model would weigh ways here, try one against the files it has read, and discard what does not fit.",
        "I am a demo and cannot; these lines show where thinking stands and how it streams.",
        "So the honest answer is: I have no opinion.",
    ]
    answer = (
        f"I have thought about {code(topic)}, as far as a demo can: see my thinking. I have no opinion on it."
    )
    return Say(answer, thinking="\n\n".join(steps))


def long(clause: Clause, before: History) -> Say | None:
    """A long answer; a number says how many sections."""
    if not clause.match(r".*\b(?:long|lengthy|markdown)\b.*"):
        return None
    number = re.search(r"\b\d{1,6}\b", clause.text)
    sections = int(number.group(0)) if number else _DEFAULT_SECTIONS
    return Say(long_answer(max(1, min(sections, _MOST_SECTIONS))))


def fault(clause: Clause, before: History) -> Say | None:
    """A request that fails on purpose: for good, or once."""
    if clause.match(r"(?:be\s+)?overloaded"):
        return Say("The second attempt got through.", fault="overloaded")
    if clause.match(r"(?:be\s+|get\s+)?cut(?:\s+off)?"):
        return Say("This time the answer is whole, down to its last word.", fault="cut")
    if clause.match(r"fail\s+(?:the\s+|this\s+)?(?:request|answer|model)"):
        return Say("", fault="server")
    return None


def summary(clause: Clause, before: History) -> Say | None:
    """What was asked so far."""
    if not clause.match(r".*\bsummar(?:y|i[sz]e)\b.*"):
        return None
    said = [text for message in before if message.get("role") == "user" for text in _texts(message)]
    used = list(calls(before))
    names = sorted({str(call.get("name")) for call in used})
    if not said:
        return Say("There is nothing to summarise yet.")
    lines = [
        f"{place}. {code(' '.join(text.split())[:100])}"
        for place, text in enumerate(said[-_MOST_WORDS_LISTED:], max(1, len(said) - _MOST_WORDS_LISTED + 1))
    ]
    tools = f", with {plural(len(used), 'tool call')} ({', '.join(names)})" if used else ""
    return Say(f"So far you asked {plural(len(said), 'time')}{tools}:\n\n" + "\n".join(lines))


def calls(messages: History) -> Iterator[Block]:
    """The tool calls in messages, newest first."""
    for message in reversed(messages):
        for block in reversed(blocks(message)):
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                yield block


def blocks(message: Mapping[str, Any]) -> list[Block]:
    """A message's content as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def words_of(message: Mapping[str, Any]) -> str:
    """What a person wrote in a message: its text, without reminders in tags and notes on an answer cut off.

    Behind a summary it is the newest text alone: the ones before it were answered, and are kept for their wording.
    """
    if message.get("role") != "user":
        return ""
    summed_up = any(str(block.get("text", "")).startswith(SUMMED_UP) for block in blocks(message))
    return "\n".join(_texts(message)[-1:] if summed_up else _texts(message))


def _texts(message: Mapping[str, Any]) -> list[str]:
    found = (str(block.get("text", "")) for block in blocks(message) if block.get("type") == "text")
    return [text for text in found if is_words(text)]


def is_words(text: str) -> bool:
    """A text of the user's role is what a person wrote: no reminder in tags, command, or note on an answer cut off."""
    return bool(text.strip()) and not text.lstrip().startswith(_NOT_SAID)
