"""Foreign text made safe to store (`clean`), to show (`visible`, `one_line`) and to paste elsewhere (`inert`).

Text from a model, a tool or a file may hold anything: escape sequences that a terminal obeys, bidi controls that
turn a line around, characters nobody sees, half characters that no encoder takes. Nothing here interprets such
text and nothing is silently lost: what could act or hide becomes a sign that can be read.
"""

from __future__ import annotations

import re
from functools import cache

_MARKS = 4
"""Combining marks shown on one character; more of them are counted instead (they would grow over other rows)."""

_ZWJ_PARTS = 7
"""Parts dropped behind an emoji without a word; the longest sequence that Unicode recommends has fewer."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_CONTROL = "\x00-\x08\x0b-\x1f\x7f"
"""C0 without newline and tab, and DEL."""

_HIDDEN = (
    "\x80-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""C1, bidi controls, line and paragraph separators, and what takes no room: joiners, selectors, fillers, tags."""

_SELECTOR = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SKIN = "\U0001f3fb-\U0001f3ff"
_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINING = (
    "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u1800-\u180a\u1820-\u18af\ufb50-\ufdff\ufe70-\ufefc"
)
"""Letters that Persian, Urdu and the scripts of India really join or part with ZWJ and ZWNJ."""
_VARIED = "\u1000-\u109f\u1820-\u18af\u2200-\u2aff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Letters and signs with registered variants: Myanmar, Mongolian, mathematics, ideographs."""
_MARK = "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"

_CONTROLS = re.compile(f"[{_CONTROL}\x80-\x9f]")

_ASCII_UNSAFE = re.compile(f"[{_CONTROL}]")

_SIGNS = {code: chr(0x2400 + code) for code in range(32) if code not in (0x09, 0x0A)} | {0x7F: "\u2421"}
"""The control pictures of Unicode, one narrow cell each."""

_FLAG_TAGS = "\U000e0030-\U000e0039\U000e0061-\U000e007a"


_Pair = tuple[re.Pattern[str], re.Pattern[str]]
"""Patterns are compiled for the first text that needs them, since that takes milliseconds."""


@cache
def _unsafe_and_tower() -> _Pair:
    """What is looked for in text that is not ASCII."""
    return (
        re.compile(f"[{_CONTROL}{_HIDDEN}{_SKIN}\ud800-\udfff]"),
        re.compile(f"[{_MARK}]{{{_MARKS + 1},}}"),
    )


@cache
def _dropped_and_run() -> _Pair:
    """What is dropped, and what is named, in text that holds something unsafe."""
    return (
        re.compile(
            # the tags of a flag such as Scotland's: up to six letters and digits behind a black flag, and the end tag
            f"(?<=\U0001f3f4)[{_FLAG_TAGS}]{{1,6}}\U000e007f"
            # an emoji's style, skin tone and the parts joined to it
            f"|(?<=[{_EMOJI}])[{_SELECTOR}{_SKIN}]{{0,2}}(?:\u200d[{_EMOJI}][{_SELECTOR}{_SKIN}]{{0,2}})+"
            # text or emoji style behind a character that is shown; other variants only where a script has them
            f"|(?<=[^\\s{_CONTROL}{_HIDDEN}])[\ufe0e\ufe0f](?![{_SELECTOR}])"
            f"|(?<=[{_VARIED}])[{_SELECTOR}](?![{_SELECTOR}])"
            # a joiner between two letters of a script that needs it
            f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
            f"|[{_SKIN}]"
        ),
        re.compile(f"([{_HIDDEN}])\\1*"),
    )


def clean(text: str) -> str:
    """`text` fit to be encoded as UTF-8: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """`text` fit to be written to a terminal: no character in it acts, hides or shifts what stands beside it.

    Newline and tab stay. Other C0 controls and DEL become the control pictures (ESC is `␛`, CR is `␍`); C1 and bidi
    controls, U+2028 and U+2029 and characters without width become `<U+202E>`, a run of one `<U+200B x12>`. Variation
    selectors, skin tones and the joined tail of an emoji are dropped, since terminals disagree about their width;
    so are the joiners inside words of scripts that use them. Marks above or below one character are shown up to
    four. Lone surrogates become U+FFFD. Doing it twice changes nothing more.
    """
    if text.isascii():
        return text if _ASCII_UNSAFE.search(text) is None else text.translate(_SIGNS)
    unsafe, tower = _unsafe_and_tower()
    if unsafe.search(text) is not None:
        dropped, run = _dropped_and_run()
        text = run.sub(_sign, dropped.sub(_dropped, clean(text))).translate(_SIGNS)
    return text if tower.search(text) is None else tower.sub(_fewer, text)


def inert(text: str) -> str:
    """`text` fit to be pasted into a terminal: control characters are their signs, line ends newlines.

    Everything else stays as it is, characters that nobody sees among it: they are part of the words and do nothing.
    """
    return _CONTROLS.sub(_inert, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int | None = None) -> str:
    """`visible(text)` on one line: newlines `␤`, tabs a space; longer than `limit`, it ends in `⋯`."""
    cut = limit is not None and len(text) > limit
    # cut before the work, so that a title out of megabytes costs nothing
    line = visible(text[:limit] if cut else text).replace("\n", "␤").replace("\t", " ")
    if limit is not None and (cut or len(line) > limit):
        line = line[: max(limit - 1, 0)] + "⋯"
    return line


def _inert(match: re.Match[str]) -> str:
    return visible(match[0])


def _sign(match: re.Match[str]) -> str:
    code, count = ord(match[1]), len(match[0])
    return f"<U+{code:04X}>" if count == 1 else f"<U+{code:04X} x{count}>"


def _dropped(match: re.Match[str]) -> str:
    parts = match[0].count("\u200d")
    return "" if parts <= _ZWJ_PARTS else f"<+{parts} joined>"


def _fewer(match: re.Match[str]) -> str:
    marks = match[0]
    return f"{marks[:_MARKS]}<+{len(marks) - _MARKS} marks>"
