"""What a screen of ours writes to a terminal, read strictly: everything that we did not mean to write is named.

`foreign(data)` takes all bytes of a program from its start to its end. It may move the cursor to a place, colour in
true colours, name a link to the web, set its own title and the pointer's shape, and ring; modes are set at the start
and reset at the end, each so many times and no more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tests.support.hostile import acts

_SEQUENCE = re.compile(
    r"\x1b(?:\[([<-?]*[0-9;:]*[ -/]*)([@-~])|\]([^\x07\x1b]*)(?:\x07|\x1b\\)|(.?))", re.DOTALL
)
_PLACE = re.compile(r"[1-9]\d*;[1-9]\d*")
_STYLE = r"(?:[1-9]|[34]8;2;\d{1,3};\d{1,3};\d{1,3}|[34]9|2[1-9]|53|0)"
_STYLES = re.compile(f"{_STYLE}(?:;{_STYLE})*")
_LONGEST = 80
"""Characters of a colour and all attributes together."""
_LINK = re.compile(r"8;[A-Za-z0-9=:._-]*;(?:https?://[!-~]+)?")
_POINTER = re.compile(r"22;[a-z-]+")


def foreign(data: bytes, *, titles: Iterable[str] = (), copies: int = 0) -> list[str]:
    """What in all that a program wrote it did not mean to write; empty if nothing.

    Args:
        titles: beginnings of the titles that it sets.
        copies: how often it filled the clipboard.
    """
    found: list[str] = []
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        found.append(f"no UTF-8: {error.object[error.start : error.start + 8]!r}")
        text = data.decode("utf-8", "replace")
    modes: Counter[str] = Counter()
    clipboard = 0
    place = 0
    for match in _SEQUENCE.finditer(text):
        found += _plain(text[place : match.start()])
        place = match.end()
        parameters, final, osc, other = match.groups()
        if osc is not None:
            if osc.startswith("52;c;"):
                clipboard += 1
            elif not _known_osc(osc, titles):
                found.append(repr(match[0])[:60])
        elif other is not None:
            found.append(repr(match[0])[:60])
        elif final in "hl" or (final in "umtp" and parameters[:1] in ("?", "<", ">")) or final == "t":
            modes[parameters + final] += 1
        elif not _known_csi(parameters, final):
            found.append(repr(match[0])[:60])
    found += _plain(text[place:])
    if clipboard != copies:
        found.append(f"the clipboard was filled {clipboard} times, not {copies}")
    return found + _wrong_modes(modes)


def _plain(text: str) -> list[str]:
    return [f"{code} in {text[:40]!r}" for code in acts(text, allowed="\r\n\x07")]


def _known_csi(parameters: str, final: str) -> bool:
    if final == "H":
        return _PLACE.fullmatch(parameters) is not None
    if final != "m":
        return False
    return len(parameters) <= _LONGEST and _STYLES.fullmatch(parameters) is not None


def _known_osc(osc: str, titles: Iterable[str]) -> bool:
    if osc.startswith("2;"):
        return any(osc[2:].startswith(title) for title in titles) and not acts(osc)
    return osc == "11;?" or _LINK.fullmatch(osc) is not None or _POINTER.fullmatch(osc) is not None


_ONCE = Counter(
    {
        "?1049h": 1, "?1049l": 1, "?25l": 1, "?25h": 1, "?1004h": 1, "?1004l": 1, "?2004h": 1, "?2004l": 1,
        "?7l": 1, "?7h": 1, "?2026$p": 1, "?2048$p": 1, ">25u": 1, "<u": 1, ">4;1m": 1, ">4;0m": 1,
        "22;2t": 1, "23;2t": 1,
        **{f"?{mouse}{switch}": 2 for mouse in (1000, 1003, 1015, 1006) for switch in "hl"},
    }
)  # fmt: skip
"""What is set at the start and reset at the end, and how often."""


def _wrong_modes(modes: Counter[str]) -> list[str]:
    return [
        f"{mode} was written {modes[mode]} times, not {_ONCE[mode]}"
        for mode in sorted(modes | _ONCE)
        if modes[mode] != _ONCE[mode]
    ]
