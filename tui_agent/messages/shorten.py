"""Long text cut down to what is worth sending: head and tail, and a line that says what is missing.

Cuts fall between lines where that costs little, and never inside what a reader sees as one character.
"""

from __future__ import annotations

import unicodedata

_HEAD_LINES = 200
_TAIL_LINES = 100
_STEPS = 64
"""How far a cut is moved to spare a character; longer runs of marks are cut."""
_ZWJ = "\u200d"


def shorten(text: str, limit: int, *, head: int = _HEAD_LINES, tail: int = _TAIL_LINES) -> str:
    """`text` in at most `limit` characters: its first `head` and last `tail` lines, as far as they fit.

    Between them stands `[... N lines, M characters left out ...]`, where N counts lines missing in whole or in part.
    Text within the limit comes back as it is. One giant line is cut too. The room is shared in proportion to `head` and
    `tail`; what one side does not need the other gets. Where not even the note fits, the start of the text is given.
    """
    if len(text) <= limit:
        return text
    head, tail = max(head, 0), max(tail, 0)
    # The note is longest when everything is left out.
    room = limit - len(_note(text, 0, len(text))) - 2
    if room <= 0 or head + tail == 0:
        note = _note(text, 0, len(text))
        return note if len(note) <= limit else text[: _boundary(text, max(limit, 0))]
    share = room * head // (head + tail)
    first, last = _line_end(text, head), _line_start(text, tail)
    if first <= share:
        share = first
    elif len(text) - last < room - share:
        share = room - (len(text) - last)
    start = _head_cut(text, min(first, share))
    stop = _tail_cut(text, max(last, len(text) - (room - start), start))
    pieces = (text[:start].removesuffix("\n"), _note(text, start, stop), text[stop:])
    return "\n".join(piece for piece in pieces if piece)


def truncated(tool: str, characters: int) -> str:
    """What stands for the result of an earlier call that is no longer sent."""
    return f"[truncated: {tool} result, {characters} chars]"


def _note(text: str, start: int, stop: int) -> str:
    lines = text.count("\n", start, stop) + (0 if text[stop - 1 : stop] == "\n" else 1)
    return f"[... {lines} {_plural('line', lines)}, {stop - start} {_plural('character', stop - start)} left out ...]"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else word + "s"


def _line_end(text: str, lines: int) -> int:
    """The index behind the first `lines` lines."""
    at = 0
    for _ in range(lines):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _line_start(text: str, lines: int) -> int:
    """The index of the first of the last `lines` lines."""
    at = len(text) - 1 if text.endswith("\n") else len(text)
    for _ in range(lines):
        at = text.rfind("\n", 0, at)
        if at == -1:
            return 0
    return at + 1 if lines else len(text)


def _head_cut(text: str, at: int) -> int:
    """Where the head ends, at most `at`: behind a line unless that gives up more than half."""
    newline = text.rfind("\n", 0, at) + 1
    return newline if newline * 2 > at else _boundary(text, at)


def _tail_cut(text: str, at: int) -> int:
    """Where the tail begins, at least `at`: at a line's start unless that gives up more than half."""
    if at == 0 or text[at - 1] == "\n":
        return at
    newline = text.find("\n", at) + 1
    if newline and (len(text) - newline) * 2 > len(text) - at:
        return newline
    return _boundary(text, at, step=1)


def _boundary(text: str, at: int, *, step: int = -1) -> int:
    """The nearest index from `at` on, in the direction of `step`, that parts no character a reader sees."""
    moved = at
    for _ in range(_STEPS):
        if moved <= 0 or moved >= len(text) or not _joined(text, moved):
            return min(max(moved, 0), len(text))
        moved += step
    return _off_surrogates(text, at, step)


def _off_surrogates(text: str, at: int, step: int) -> int:
    return at + step if _is_pair(text[at - 1], text[at]) else at


def _joined(text: str, at: int) -> bool:
    """True if the characters before and at `at` are seen as one."""
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        return False
    if _is_flag(before) and _is_flag(after):
        return _flags_before(text, at) % 2 == 1
    return (
        _ZWJ in (before, after)
        or unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or _is_pair(before, after)
    )


def _is_flag(character: str) -> bool:
    """True for the letters that make a flag, two by two."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    start = at
    while start and _is_flag(text[start - 1]):
        start -= 1
    return at - start


def _is_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
