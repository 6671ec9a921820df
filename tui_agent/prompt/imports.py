"""The files that a text of instructions imports: `@path` at the beginning of a word, outside of code.

    See @docs/style.md, and @README.

Whether a word names a file is not known before it is looked for: `@alice` and `@types/node` are none. Code spans and
fences are Markdown's (CommonMark 0.31, sections 4.5 and 6.1); a blank in a path is written `\\ `.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

_NAME = re.compile(r"""(?:(?<=[\s(\["'])|^)@((?:\\ |[^\s\\])+)""", re.MULTILINE)
_BEHIND = ".,;:!?)]}>'\"*_`"
"""What may follow a path without being a part of it."""
_LIST = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile(r"`+")
_BREAK = re.compile(r"\n[ \t]*\n")
_TEXT = (".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc", ".json", ".toml", ".yaml", ".yml")


class Named(Struct, frozen=True):
    """A word that may name a file: as the paths that it may mean, the likeliest first.

    `meant`: a person must have meant a file by it, so that one that is missing is missed.
    """

    paths: tuple[str, ...]
    meant: bool


def names(text: str) -> Iterator[Named]:
    """The words of a text that may import a file, in order, each once."""
    seen = set()
    for line in _prose(text).split("\n"):
        for found in _NAME.finditer(line):
            word = found[1].replace("\\ ", " ")
            bare = word.rstrip(_BEHIND)
            if not bare or bare in seen:
                continue
            seen.add(bare)
            alone = _LIST.sub("", line, count=1).strip() == f"@{found[1]}"
            meant = bare.lower().endswith(_TEXT) or (alone and ("/" in bare or "." in bare))
            yield Named((word, bare) if word != bare else (bare,), meant)


def _prose(text: str) -> str:
    """The text with blanks in the place of code."""
    lines, fence = [], ""
    for line in text.split("\n"):
        if fence:
            closing = line.strip(" \t>")
            if closing and set(closing) == {fence[0]} and len(closing) >= len(fence):
                fence = ""
            lines.append("")
        elif (opened := _FENCE.match(line)) is not None:
            fence = opened[1]
            lines.append("")
        else:
            lines.append(line)
    return "\n\n".join(map(_without_spans, _BREAK.split("\n".join(lines))))


def _without_spans(paragraph: str) -> str:
    """A paragraph with blanks in the place of its code spans: from a run of backticks to the next as long."""
    runs = [(run.start(), run.end()) for run in _TICKS.finditer(paragraph)]
    following: dict[int, int] = {}
    ends: dict[int, int] = {}
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        if length in following:
            ends[at] = following[length]
        following[length] = at
    parts, done, at = [], 0, 0
    while at < len(runs):
        start = runs[at][0]
        if at in ends and paragraph[start - 1 : start] != "\\":
            parts += [paragraph[done:start], " "]
            at = ends[at]
            done = runs[at][1]
        at += 1
    return "".join([*parts, paragraph[done:]])
