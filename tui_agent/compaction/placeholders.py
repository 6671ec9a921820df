"""What stands in place of what is elided, and the texts that say nothing of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui_agent.messages.blocks import result_text
from tui_agent.messages.shorten import shorten, truncated
from tui_agent.messages.wellformed import is_blank

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

_KEPT_CHARACTERS, _KEPT_LINES = 1_200, 12
"""What stays of a long result: so many lines at each end, in so many characters."""
_ACKNOWLEDGEMENT_CHARACTERS = 120
_YES = (
    r"ok(?:ay)?|sure(?: thing)?|certainly|of course|got it|understood|great|perfect|alright|all right|right|done|yes"
    r"|good|thanks|thank you|d'accord|bien|klar|gut|vale"
    r"|好的?|明白了?|了解(?:です|しました)?|はい|わかりました|承知(?:しました)?"
)
_INTENDS = r"let me|let's|i'll|i will|i'm going to|i am going to|i need to|让我|我来|我将|我会|ich werde|je vais|voy a"
_SEQUENCE = r"now|next|first|then|现在|接下来|首先|次に|まず|では|jetzt|maintenant|ahora"
_ACKNOWLEDGES = re.compile(
    rf"(?:(?:{_YES})[\s,.!，。、！…-]*)*"
    rf"(?:(?:(?:{_SEQUENCE})[\s,，、]*)?(?:{_INTENDS})(?:[^.:;?!。：；？！\n]|\.(?=\w))*)?"
    r"[\s.:!…。：！]*",
    re.IGNORECASE,
)
_REASONS = re.compile(
    r"\b(?:because|since|instead|but|not|so that|why|however|rather|fails?|failed|weil|sondern|parce|porque)\b"
    r"|n't\b|\d|因为|不|而|ない|ため",
    re.IGNORECASE,
)
"""What says more than that something is about to be done: a reason, a refusal, a figure."""
_BLANK_RUN = re.compile(r"\n(?:[ \t\r]*\n){3,}")
_NOTE = "[shortened: all "
_NOTES = re.compile(r"\n?\[shortened: all [\d,]+ bytes are in [^\n]*?outputs/[0-9a-f]{64}\.txt;[^\n\]]*\]")
"""Where the whole of a result lies that was too long to store, as it is said when it is stored (agent/calls)."""


def is_nothing(block: Block) -> bool:
    """True for a block that is never sent: blank text, thinking without a signature."""
    kind = block.get("type")
    if kind == "text":
        return is_blank(block.get("text"))
    return kind == "thinking" and is_blank(block.get("signature"))


def acknowledges(block: Block) -> bool:
    """True for a short text that says no more than that something is understood or about to be done."""
    text = block.get("text") if block.get("type") == "text" else None
    if not isinstance(text, str):
        return False
    said = text.strip().replace("’", "'")
    if not said or len(said) > _ACKNOWLEDGEMENT_CHARACTERS or "`" in said:
        return False
    return _ACKNOWLEDGES.fullmatch(said) is not None and _REASONS.search(said) is None


def squeezed(text: str) -> str:
    """A text without its runs of blank lines: one of each stays."""
    # Most texts have no blank line, which is quicker to see than to search for.
    may_have = any(ending in text for ending in ("\n\n", " \n", "\t\n", "\r\n"))
    return _BLANK_RUN.sub("\n\n", text) if may_have else text


def shortened(tool: str, block: Block, long: int, record: str) -> str:
    """What stands for an earlier result; of one longer than `long` characters the first and last lines stay.

    It ends with the way to the whole: the file that holds it, or the record.
    """
    text = result_text(block)
    notes = [note.strip() for note in _NOTES.findall(text)] if _NOTE in text else []
    way = "\n".join(notes) or f"(in full: record {record})"
    kept = ""
    if len(text) > long:
        plain = (_NOTES.sub("", text) if notes else text).rstrip("\n")
        kept = shorten(plain, _KEPT_CHARACTERS, head=_KEPT_LINES, tail=_KEPT_LINES) + "\n"
    return f"{_marker(tool, block, len(text))}\n{kept}{way}"


def _marker(tool: str, block: Block, size: int) -> str:
    content = block.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    spoken = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    media = len(parts) - len(spoken)
    if not media:
        return truncated(tool, size)
    pictures = f"{media} image{'' if media == 1 else 's'}"
    if any(part.get("type") != "image" for part in parts if not isinstance(part.get("text"), str)):
        pictures = f"{media} media"
    return f"{truncated(tool, sum(map(len, spoken)))[:-1]}, {pictures}]"
