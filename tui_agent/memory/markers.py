"""`<memory>` out of a stream of text: what may be shown of it, and what the model wants remembered.

    <memory scope="session|user|workspace" key="...">body</memory>

    parser = MarkerParser()
    parser.feed(delta)       -> Fed(visible, found)      # as soon as it is certain
    parser.finish()          -> Fed(visible, found)      # all that was visible together is `clean(text)`

Attributes come in any order and in single or double quotes; names and the scope in any case; attributes that are not
known are passed over. Without a scope it is `session`. Key and body mean what they say, letter for letter: entities
are not decoded, backslashes and backticks in a body are part of it, and a closing tag ends it wherever it stands. In
fences and inline code markers are text; everywhere else they are hidden, also if they cannot be stored: then a
`Malformed` says why. One that is never closed, or too large, gives its body back to the text, without the tags, as it
may be the rest of the answer. What has no attribute and is not closed (`#include <memory>`) is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.memory import tag as tags
from tui_agent.memory.code import Code, Trial
from tui_agent.memory.schema import LARGEST_BODY, Scope, StoreError, clean_body

if TYPE_CHECKING:
    from tui_agent.memory.tag import Tag

_FAR = 4096
"""Characters in which inline code around a marker has to end."""
_STEP = 128
"""Characters that are read ahead at once."""
_SHORT = 256
"""Bytes in which a tag that is none by its attributes, and may be prose, has to be closed."""

_NAME = r"<(?P<closing>/?)memory"
_MARK = re.compile(rf"(?P<whole>{_NAME}(?=[ \t\r\n/>]))|</?(?:m(?:e(?:m(?:o(?:ry?)?)?)?)?)?\Z", re.IGNORECASE)
"""The name of a tag, or what the end of the text may be of one."""
_ANY = re.compile(r"</?memory(?:[ \t\r\n/>]|\Z)", re.IGNORECASE)


class Marker(Struct, frozen=True):
    """What the model wants remembered; it stood from `start` to `end` in the raw text.

    `ordinal` counts the markers of a message, well-formed or not.
    """

    scope: Scope
    key: str
    body: str
    ordinal: int
    start: int
    end: int


class Malformed(Struct, frozen=True):
    """A marker that cannot be stored: the reason in words, and what was hidden of it, from `start` to `end`."""

    notice: str
    raw: str
    ordinal: int
    start: int
    end: int


Found = Marker | Malformed


class Fed(Struct, frozen=True):
    """Text to show, and the markers that were completed, in their order."""

    visible: str
    found: Sequence[Found] = ()


class _Open(Struct):
    """A marker whose closing tag is looked for: what was read of it, and how many bytes its body has by then."""

    tag: Tag
    read: int
    """Characters from the `<` of its tag on."""
    body: int
    """Where in them the body begins."""
    size: int = 0
    depth: int = 1
    nested: bool = False
    loose: bool = False
    """True if it may be prose: its tag may, and no closing tag came since."""


class MarkerParser:
    """Reads one text, in any pieces. `ordinal` is the number of its first marker."""

    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal
        self._held = ""
        """What is not shown yet; it begins at `_base` of the raw text."""
        self._base = 0
        self._code = Code()
        self._trial: Trial | None = None
        self._tried = 0
        self._open: _Open | None = None
        self._given_back = 0
        """Up to here in the raw text, tags belong to a marker that was given up."""
        self._given_loose = False
        self._owed = 0
        """Closing tags that may come for opening tags which were given up."""
        self._visible: list[str] = []
        self._found: list[Found] = []

    def feed(self, delta: str) -> Fed:
        """The text goes on with this."""
        if not self._held and "<" not in delta:
            self._base += len(delta)
            self._code.feed(delta)
            return Fed(delta)
        self._held += delta
        return self._advance(final=False)

    def finish(self) -> Fed:
        """The text is complete, or nothing more comes of it."""
        return self._advance(final=True)

    def _advance(self, *, final: bool) -> Fed:
        at = 0
        while at < len(self._held):
            after = self._inside(at, final=final) if self._open else self._outside(at, final=final)
            if after is None:
                break
            at = after
        self._held = self._held[at:]
        self._base += at
        fed = Fed("".join(self._visible), tuple(self._found))
        self._visible.clear()
        self._found.clear()
        return fed

    # --- outside of a marker; each step returns where it ended, or None if more has to be known

    def _outside(self, at: int, *, final: bool) -> int | None:
        found = _MARK.search(self._held, at)
        until = found.start() if found else len(self._held)
        if found is None or until > at:
            return self._show(at, until)
        if not _is_name(found, final=final):
            return self._show(at, found.end()) if final else None
        state = self._state(at, final=final)
        if state == "code":
            return self._show(at, found.end())
        return None if state is None else self._tag(at, final=final)

    def _show(self, at: int, until: int) -> int:
        text = self._held[at:until]
        self._visible.append(text)
        self._code.feed(text)
        return until

    def _state(self, at: int, *, final: bool) -> str | None:
        """What the `<` at `at` is in, "code" or "text"."""
        while (state := self._code.settle()) == "maybe":
            if self._trial is None:
                self._trial, self._tried = Trial(self._code), 0
            if not self._decided(self._trial, at, final=final):
                return None
            self._code.decide(self._trial)
            self._trial = None
        return state

    def _decided(self, trial: Trial, at: int, *, final: bool) -> bool:
        """Read ahead, until it is known whether there is inline code."""
        while not trial.fate:
            start, limit = at + self._tried, at + min(self._tried + _STEP, _FAR)
            line = self._held.find("\n", start, limit) + 1
            if piece := self._held[start : line or limit]:
                self._tried += len(piece)
                trial.feed(piece)
            elif final or self._tried == _FAR:
                trial.end()
            else:
                return False
        return True

    def _tag(self, at: int, *, final: bool) -> int | None:
        tag = tags.read(self._held, at, final=final)
        if tag is None:
            return None
        given_back = self._base + at < self._given_back
        if tag.kind == "prose":
            return self._show(at, tag.end)
        if given_back and self._given_loose:
            self._owed += 1
            return self._show(at, tag.end)
        if tag.kind == "closing":
            if not self._owed:
                self._malformed("there is no opening tag for a closing one", at, tag.end)
            self._owed = max(self._owed - 1, 0)
        elif given_back:
            self._owed += tag.kind == "opening"
        elif tag.kind == "opening":
            self._open = _Open(tag, tag.end - at, tag.end - at, loose=tag.loose)
            return self._inside(at, final=final)
        else:
            self._malformed(tag.why, at, tag.end)
            self._owed += 1
        self._code.skip()
        return tag.end

    def _malformed(self, why: str, start: int, end: int) -> None:
        raw, base = self._held[start:end], self._base
        notice = f"a <memory> marker is not stored: {why}"
        self._found.append(Malformed(notice, raw, self.ordinal, base + start, base + end))
        self.ordinal += 1

    # --- inside of one, whose tag stands at `at`

    def _inside(self, at: int, *, final: bool) -> int | None:
        marker = self._open
        assert marker is not None
        limit = _SHORT if marker.tag.loose and marker.tag.why else LARGEST_BODY
        while True:
            found = _MARK.search(self._held, at + marker.read)
            until = found.start() if found else len(self._held)
            marker.size += len(self._held[at + marker.read : until].encode(errors="replace"))
            marker.read = until - at
            if marker.size > limit:
                body = self._held[at + marker.body : until].encode(errors="replace")[:limit]
                over = at + marker.body + len(body.decode(errors="ignore"))
                return self._give_up(marker, at, over, f"its text is longer than {LARGEST_BODY:,} bytes")
            if found is None or not _is_name(found, final=final):
                if not final:
                    return None
                return self._give_up(marker, at, len(self._held), "it is not closed")
            tag = tags.read(self._held, until, final=final)
            if tag is None:
                return None
            if tag.kind == "closing":
                marker.depth, marker.loose = marker.depth - 1, False
                if not marker.depth:
                    return self._close(marker, at, until, tag)
            elif marker.loose and not tag.loose and tag.kind != "prose":
                return self._give_up(marker, at, at, "")
            else:
                marker.depth += tag.kind in ("opening", "broken")
                marker.nested |= tag.kind != "prose"
            marker.size += tag.end - until
            marker.read = tag.end - at

    def _close(self, marker: _Open, at: int, until: int, closing: Tag) -> int:
        self._open = None
        self._code.skip()
        tag = marker.tag
        why = tag.why or closing.why or ("there is another one inside" if marker.nested else "")
        try:
            body = clean_body(self._held[at + marker.body : until])
        except StoreError as error:
            why = why or str(error)
        if why:
            self._malformed(why, at, closing.end)
        else:
            start, end = self._base + at, self._base + closing.end
            self._found.append(Marker(tag.scope, tag.key, body, self.ordinal, start, end))
            self.ordinal += 1
        return closing.end

    def _give_up(self, marker: _Open, at: int, until: int, why: str) -> int:
        """It is not closed: what seemed to be its body, up to `until`, is text."""
        self._open = None
        self._given_back, self._given_loose = self._base + until, marker.loose
        self._owed += 1
        if marker.loose:
            return self._show(at, at + marker.body)
        self._malformed(why, at, at + marker.body)
        self._code.skip()
        return at + marker.body


def _is_name(found: re.Match[str], *, final: bool) -> bool:
    """True if it is the whole name of a tag."""
    return bool(found["whole"]) or (final and found[0].lower().endswith("memory"))


def may_hold(text: str) -> bool:
    """True if a whole text may have markers in it: the quick question, before it is read."""
    return _ANY.search(text) is not None


def clean(text: str) -> str:
    """A whole text as it is shown: without its markers."""
    if not may_hold(text):
        return text
    parser = MarkerParser()
    return parser.feed(text).visible + parser.finish().visible
