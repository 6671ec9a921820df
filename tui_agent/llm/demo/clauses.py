"""A prompt cut into clauses ("read a.txt, then run `ls`"), with what is quoted in it kept whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Pieces of patterns. In a clause a quoted piece is a number between two NULs.
NAME = r"(?:\x00\d+\x00|[^\s,;:\x00]+)"
FILE = (
    r"(?:\x00\d+\x00|[\w.~@+-]*(?:/[\w.@+-]+)+/?|[\w@+-][\w.@+-]*\.\w+|\.\w[\w.-]*"
    r"|Makefile|Dockerfile|README|LICENSE)"
)
ANY = r"(.+?)"

_VERBS = (
    "read|open|show|print|cat|display|view|look|list|ls|glob|search|grep|find|where|edit|replace|change|rename|add"
    "|append|write|create|make|save|run|execute|exec|remember|memorize|memorise|think|todo|fail|be|do|tell|what|in"
)
_POLITE = r"(?:(?:please|now|next|finally|also|first|can you|could you|would you|i want you to)\s+)*"
_NEXT = rf"(?={_POLITE}(?:{_VERBS})\b)"
_BETWEEN = re.compile(
    rf"(?:\s*,?\s+(?:and\s+)?then\s+|\s*[;.\n]+\s*(?:[-*]\s+|\d+[.)]\s+)?{_NEXT}"
    rf"|,\s*(?:and\s+)?{_NEXT}|\s+and\s+{_NEXT})",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"```[^\n`]*\n.*?(?:```|\Z)|``.+?``|`[^`\n]+`|\"[^\"\n]+\"|(?<!\w)'[^'\n]+'(?!\w)|“[^”\n]+”|«[^»\n]+»",
    re.DOTALL,
)
_BULLET = re.compile(r"\A(?:[-*]|\d+[.)])\s+")
_HELD = re.compile("\x00(\\d+)\x00")
_TOGETHER = re.compile(
    r"\b(?:all |both )?(?:at once|at the same time|in parallel|simultaneously)\b", re.IGNORECASE
)
_LONGEST = 600
_LONGEST_PROMPT = 20_000
"""Characters of a clause (quoted pieces aside) and of a prompt: the patterns are not for prose and pasted logs."""


class Clause:
    """A clause, its quoted pieces replaced by marks, and the way back to them."""

    def __init__(self, text: str, held: Sequence[str]) -> None:
        text = text.strip().rstrip(".!?").strip()
        if text.lower().endswith((" please", ",please")):
            text = text[: -len("please")].rstrip(" ,")
        self.text = text
        self._held = held

    def match(self, pattern: str) -> re.Match[str] | None:
        """The whole clause, courtesies aside, against a pattern."""
        if len(self.text) > _LONGEST:
            return None
        return re.fullmatch(_POLITE + pattern, self.text, re.IGNORECASE | re.DOTALL)

    def bare(self, piece: str | None) -> str:
        """A piece as it was meant: marks replaced, the quotes around a piece that is wholly quoted taken off."""
        piece = (piece or "").strip()
        mark = _HELD.fullmatch(piece)
        if mark:
            return _unquoted(self._held[int(mark.group(1))])
        return _HELD.sub(lambda found: self._held[int(found.group(1))], piece)

    def quoted(self, piece: str) -> bool:
        """The piece is one quotation."""
        return _HELD.fullmatch(piece.strip()) is not None


def clauses(words: str) -> tuple[list[Clause], bool]:
    """The clauses of a prompt, and whether they are to be done at once."""
    if len(words) > _LONGEST_PROMPT:
        return [Clause(words, ())], False
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found.group(0))
        return f"\x00{len(held) - 1}\x00"

    text = _QUOTED.sub(hold, words.replace("\x00", " "))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    text = _BULLET.sub("", "\n".join(line for line in lines if line))
    together = _TOGETHER.search(text)
    if together:
        text = (text[: together.start()] + text[together.end() :]).strip().strip(":,").strip()
    return list(_cut(text, held)), together is not None


def _cut(text: str, held: Sequence[str]) -> Iterator[Clause]:
    for piece in _BETWEEN.split(text):
        clause = Clause(piece, held)
        if clause.text:
            yield clause


def _unquoted(text: str) -> str:
    fence = re.fullmatch(r"```[^\n`]*\n(.*?)(?:```)?", text, re.DOTALL)
    if fence:
        return fence.group(1)
    if text.startswith("``") and text.endswith("``") and len(text) > 4:
        return text[2:-2].strip()
    return text[1:-1]
