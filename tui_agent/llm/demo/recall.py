"""What the demo model says when it is asked what it remembers: what the request in front of it tells, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tui_agent.llm.demo import talk
from tui_agent.llm.demo.words import plural

_ASKED = re.compile(
    r"\W*(?:please\s+)?(?:what|tell me what|list what)\s+(?:do\s+)?you\s+(?:know|remember)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_ITEM = re.compile(
    r"^- (no longer: )?(\[(?:user|workspace|session)\])(?: \([^)\n]*\))? ([^\n]*(?:\n  [^\n]*)*)",
    re.MULTILINE,
)
_REMINDER = "<system-reminder>\nWhat is remembered"


def wanted(words: str) -> bool:
    """True if a person asks what is remembered."""
    return _ASKED.fullmatch(words.strip()) is not None


def answer(system: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]) -> str:
    """The memories that a request tells: those at its beginning, as the newest reminder corrects them."""
    found: dict[str, str] = {}
    for text in (str(block.get("text", "")) for block in system):
        found.update(_items(text.partition("What is remembered")[2]))
    for name, item in _items(next(_reminders(messages), "")):
        if item:
            found[name] = item
        else:
            found.pop(name, None)
    if not found:
        return "Nothing is remembered yet. Ask me to remember something, and agree to it."
    listed = "\n".join(f"- {item}" for item in found.values())
    return f"This request tells me {plural(len(found), 'thing')} to remember:\n\n{listed}"


def _reminders(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The reminders of memories, the newest first."""
    for message in reversed(messages):
        for block in reversed(talk.blocks(message)):
            text = str(block.get("text", ""))
            if message.get("role") == "user" and text.startswith(_REMINDER):
                yield text


def _items(text: str) -> Iterator[tuple[str, str]]:
    """Each memory by its scope and key, with its text; empty for one that is no longer remembered."""
    for gone, scope, rest in _ITEM.findall(text):
        key = rest if gone else rest.partition(": ")[0]
        yield f"{scope} {key}", "" if gone else f"{scope} {rest}"
