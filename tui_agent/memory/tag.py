"""The tags of a `<memory>` marker: where one ends, and what its attributes say."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tui_agent.literal import one_line
from tui_agent.memory.schema import SCOPES, Scope, StoreError, clean_key

LONGEST = 512
"""Characters of a tag."""
_SHOWN = 40
"""Characters of what a notice quotes."""

_SPACE = r"[ \t\r\n]"
_BLANK = r"\n(?=[ \t\r]*\n)"
_GAP = rf"(?>(?!{_BLANK}){_SPACE})*+"
_STOP = rf"</?memory|{_BLANK}"
_OPEN_VALUE = rf"={_GAP}(?:\"(?>(?!{_STOP})[^\"])*+|'(?>(?!{_STOP})[^'])*+)"
"""A value without its last quote: no other marker is in it, nor an empty line."""
_VALUE = rf"={_GAP}(?:\"(?>(?!{_STOP})[^\"])*+\"|'(?>(?!{_STOP})[^'])*+')"
_INSIDE = re.compile(rf"<memory(?>{_VALUE}|=(?!{_GAP}[\"'])|(?!{_BLANK})[^<>=])*+", re.IGNORECASE)
"""A tag without its last character: a `>` in a value is part of that."""
_REST = re.compile(_OPEN_VALUE, re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rf"{_SPACE}*([a-z_][\w:.-]*){_SPACE}*={_SPACE}*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE
)
_ATTRIBUTES = re.compile(rf"(?>{_SPACE}*[a-z_][\w:.-]*{_SPACE}*{_VALUE})*+{_SPACE}*+", re.IGNORECASE)
_BEGUN = re.compile(rf"(?:[a-z_][\w:.-]*{_SPACE}*+(?:{_OPEN_VALUE}|=?{_SPACE}*+)|/)?\Z", re.IGNORECASE)
"""The beginning of one more attribute, or of the end."""
_CLOSING = re.compile(rf"</memory{_SPACE}{{0,64}}(>?)", re.IGNORECASE)
_NAME = len("<memory")


class Tag(Struct, frozen=True):
    """A tag that ends at `end`. `why` says what is wrong with it, or is empty.

    `broken` has no end of its own; `single` ends in `/>`; `prose` is none. `loose`: it has no attribute with a value,
    so that it may be prose too if it is never closed.
    """

    kind: Literal["opening", "closing", "single", "broken", "prose"]
    end: int
    why: str = ""
    scope: Scope = "session"
    key: str = ""
    loose: bool = False


def read(text: str, at: int, *, final: bool) -> Tag | None:
    """The tag whose name stands at `at`; None if more of the text has to be known. `final`: no more comes."""
    if text.startswith("</", at):
        return _closing(text, at, final=final)
    limit = min(at + LONGEST, len(text))
    inside = _INSIDE.match(text, at, limit)
    assert inside is not None
    until = inside.end()
    if until < limit and text[until] == ">":
        return _judged(text[at + _NAME : until], until + 1)
    if rest := _REST.match(text, until, limit):
        until = rest.end()
    cut = until == len(text) < at + LONGEST
    if cut and not final:
        return None
    return _faulty(text, at, until, cut=cut)


def _closing(text: str, at: int, *, final: bool) -> Tag | None:
    found = _CLOSING.match(text, at)
    assert found is not None
    if found[1]:
        return Tag("closing", found.end())
    if found.end() == len(text) and not final:
        return None
    return Tag("closing", found.end(), "its closing tag is broken")


def _faulty(text: str, at: int, until: int, *, cut: bool) -> Tag:
    """A tag that something ends which cannot be in it; `cut`: that is the end of the text."""
    if (end := text.find(">", at, until)) >= 0:
        return Tag("opening", end + 1, "a quote in it does not end")
    attributes = _ATTRIBUTES.match(text, at + _NAME, until)
    assert attributes is not None
    begun = _BEGUN.match(text, attributes.end(), until)
    end = begun.end() if begun else attributes.end()
    if (cut and begun) or "=" in text[at:end]:
        return Tag("broken", end, "it is cut off" if cut else "its tag does not end")
    return Tag("prose", at + _NAME)


def _judged(inside: str, end: int) -> Tag:
    """What stands between the name and the `>`."""
    given: dict[str, str] = {}
    at = 0
    why = ""
    while found := _ATTRIBUTE.match(inside, at):
        name = found[1].lower()
        if name in given:
            why = f"it has {name} twice"
        given[name] = found[2] if found[2] is not None else found[3]
        at = found.end()
    rest = inside[at:].strip()
    if rest == "/":
        return Tag("single", end, "it closes itself, so there is nothing to remember")
    loose = "=" not in inside
    if rest:
        words = "a value needs straight quotes" if "=" in rest else "something in its tag is no attribute"
        return Tag("opening", end, f"{words}: {one_line(rest, _SHOWN)}", loose=loose)
    named = given.get("scope", "session").strip().lower()
    scope = next((each for each in SCOPES if each == named), None)
    if scope is None:
        why = why or f"there is no scope {one_line(named, _SHOWN)!r}; there are {', '.join(SCOPES)}"
    try:
        key = clean_key(given.get("key", ""))
    except StoreError as error:
        key, why = "", why or str(error)
    if not key and scope not in (None, "session"):
        why = why or f"a {scope} memory needs a key"
    return Tag("opening", end, why, scope or "session", key, loose)
