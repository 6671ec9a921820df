"""Where a growing Markdown text is code: in fences and in code spans, as CommonMark 0.31 defines them.

Fences of backticks and tildes, in quotes and lists too, and code spans of any number of backticks are followed line by
line. Whether backticks begin a code span is known only when as many come again before the paragraph ends, so there is
a third answer besides "code" and "text": "maybe". A `Trial` reads ahead and decides it. Indented code is text here, for
a list that is written a little differently looks the same; other HTML, links and tables are not looked at.

    code.feed(text)                 # all that comes before a `<`
    code.settle()                   # what this `<` is in
    trial = Trial(code)             # if that is "maybe": what follows, the `<` among it
    trial.feed(text)
    code.decide(trial)              # once `trial.fate` is known, or after `trial.end()`
"""

from __future__ import annotations

import copy
import re
from typing import Literal, NamedTuple

from tui_agent.memory.spans import Spans, State

_DEEPEST = 64
"""Quotes and list items inside each other."""

_QUOTE = 0
"""A block quote among the containers; a list item is the number of columns that its lines are indented by."""

_INDENT = 2048
"""Characters of a line in which all its containers fit; how far it is indented beyond that makes no difference."""
_BLANK = " \t"
_PLAIN = re.compile(r"[ \t]*[^\s`~#>\-+*_=\d\\]")
"""A line that begins like this opens nothing."""
_IN_QUOTE = re.compile(r" {0,3}> ?")
_BREAK = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+) *$")
_ITEM = re.compile(r"( {0,3}(?:[-+*]|(\d{1,9})[.)]))( +|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_INFO_END = re.compile(r"[`\r\n]")


class _Saved(NamedTuple):
    """What was known when a line began, and the `head` of that line."""

    head: str
    containers: list[int]
    hollow: bool
    paragraph: bool
    fence: str
    spans: Spans


class Code:
    """Follows a text. Ask `settle` for the state at the place where a `<` comes next."""

    def __init__(self) -> None:
        self._head: list[str] | None = []
        """What is known of a line whose beginning is not understood yet; None once it is."""
        self._blank = True
        self._return = False
        """True if the text ended in a CR: a newline that follows belongs to it."""
        self._containers: list[int] = []
        self._hollow = False
        """True if the last container is a list item that began with nothing in it."""
        self._paragraph = False
        self._fence = ""
        """The backticks or tildes that opened the fence which the text is in; empty if it is in none."""
        self._opening = ""
        """Those of a line that opens a fence, if no backtick comes in it any more."""
        self._sure = False
        """True if it is known that none comes."""
        self._is_inline = True
        """True if the line has text in which code spans may be."""
        self._spans = Spans()
        self._saved: _Saved | None = None
        """From before the line whose beginning was understood."""
        self._alone = False
        """True if that `<` is the first thing on its line, and nothing came since."""

    def feed(self, text: str) -> None:
        """The text goes on with this."""
        if not text:
            return
        if self._return and text[0] == "\n":
            text = text[1:]
        self._return = text.endswith("\r")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        for piece in lines[:-1]:
            self._add(piece)
            self._end_line()
        self._add(lines[-1])

    def settle(self) -> State:
        """What a `<` that comes next is in."""
        if self._head is not None:
            self._begin("".join(self._head), "<")
        self._spans.flush()
        if self._fence:
            return "code"
        if self._opening:
            return "code" if self._sure else "maybe"
        return self._spans.state if self._is_inline else "text"

    def skip(self) -> None:
        """That `<`, and what came with it, is not in the text: a line that was empty until there still is."""
        if self._alone:
            self._head, self._blank = [self._restored()[:_INDENT]], True

    def decide(self, trial: Trial) -> None:
        """Believe a trial that was made where this stands."""
        if not self._opening:
            self._spans.decide(trial.spans)
        elif trial.fate == "ended":
            self._sure = True
        else:
            self._reopen()

    def fork(self) -> Code:
        """Another one at the same place, whose spans know nothing of what came before."""
        other = copy.copy(self)
        other._head = None if self._head is None else self._head.copy()
        other._containers = self._containers.copy()
        other._spans = self._spans.fork()
        other._saved = None
        return other

    @property
    def spans(self) -> Spans:
        """The code spans of the block that the text is in."""
        return self._spans

    @property
    def may_open(self) -> bool:
        """True if the line opens a fence unless a backtick comes in it."""
        return bool(self._opening) and not self._sure

    # --- lines

    def _add(self, piece: str) -> None:
        if not piece:
            return
        self._alone = False
        if self._head is None:
            self._inline(piece)
            return
        self._head.append(piece)
        if self._blank and piece.strip(_BLANK):
            self._blank = False
            if _PLAIN.match(piece):
                self._begin("".join(self._head), "")

    def _end_line(self) -> None:
        if self._head is not None:
            self._begin("".join(self._head), "")
        self._spans.end_line()
        if self._opening:
            self._fence, self._opening, self._sure = self._opening, "", False
        elif not self._paragraph:
            self._end_block()
        self._head, self._blank, self._saved = [], True, None

    def _begin(self, head: str, following: str) -> None:
        """Understand the beginning of a line, which goes on with `following`."""
        containers = self._containers.copy()
        self._saved = _Saved(head, containers, self._hollow, self._paragraph, self._fence, self._spans)
        self._head, self._is_inline = None, True
        content = self._open((head + following).expandtabs(4))
        self._alone = content.strip(" ") == following == "<"
        self._inline(content[: len(content) - len(following)])

    def _reopen(self) -> None:
        """The line that might have opened a fence has a backtick later on, so that it opens none."""
        self._opening = ""
        self._begin(self._restored(), "<`")
        self._spans.flush()

    def _restored(self) -> str:
        """Go back to where the line began; returns its head."""
        assert self._saved is not None
        head, self._containers, self._hollow, self._paragraph, self._fence, self._spans = self._saved
        return head

    def _inline(self, text: str) -> None:
        if self._opening and "`" in text:
            self._reopen()
        if self._is_inline and not self._opening:
            self._spans.feed(text)

    def _end_block(self) -> None:
        self._spans.end()
        self._spans = Spans()

    def _end_paragraph(self) -> None:
        self._paragraph = False
        self._end_block()

    # --- containers

    def _open(self, line: str) -> str:
        """Go into the blocks that the line is in or begins; returns its inline text."""
        matched, at = self._match(line)
        whole = matched == len(self._containers)
        if self._fence:
            if whole:
                self._in_fence(line[at:])
                return ""
            self._fence = ""
        at, fresh = self._enter(line, at, matched)
        self._hollow = fresh and not line[at:].strip(" ")
        return self._begin_leaf(line[at:], matched, fresh=fresh)

    def _match(self, line: str) -> tuple[int, int]:
        """How many of the open containers the line is in, and where its own text begins."""
        at = 0
        for number, container in enumerate(self._containers):
            if container == _QUOTE:
                if (found := _IN_QUOTE.match(line, at)) is None:
                    return number, at
                at = found.end()
            elif not line[at:].strip(" "):
                if self._hollow and number + 1 == len(self._containers):
                    return number, at
            elif _indent(line, at) >= container:
                at += container
            else:
                return number, at
        return len(self._containers), at

    def _enter(self, line: str, at: int, matched: int) -> tuple[int, bool]:
        """Go into the containers that the line opens; returns where its text begins, and whether there were any."""
        fresh, whole = False, matched == len(self._containers)
        while _indent(line, at) < 4 and len(self._containers) < _DEEPEST:
            rest = line[at:]
            if found := _IN_QUOTE.match(rest):
                opened, size = _QUOTE, found.end()
            elif item := self._item(rest, interrupts=self._paragraph and whole and not fresh):
                opened, size = item
            else:
                break
            if not fresh:
                del self._containers[matched:]
                self._end_paragraph()
            self._containers.append(opened)
            at, fresh = at + size, True
        return at, fresh

    def _item(self, rest: str, *, interrupts: bool) -> tuple[int, int] | None:
        """The columns of a list item that begins here, and the characters of its marker."""
        found = _ITEM.match(rest)
        if found is None or _BREAK.match(rest):
            return None
        marker, number, spaces = found.groups()
        empty = not rest[found.end() :]
        if interrupts and (empty or (number and int(number) != 1)):
            return None
        width = len(marker) + 1 if empty or len(spaces) > 4 else found.end()
        return width, min(width, len(rest))

    # --- what is in them

    def _begin_leaf(self, rest: str, matched: int, *, fresh: bool) -> str:
        whole = matched == len(self._containers)
        if self._paragraph and not fresh and not self._interrupts(rest, whole=whole):
            return rest
        is_underline = self._paragraph and not fresh and bool(_UNDERLINE.match(rest))
        if not fresh:
            del self._containers[matched:]
            self._end_paragraph()
        if is_underline:
            return rest
        if _indent(rest, 0) >= 4:
            self._is_inline = False
        elif found := _FENCE.match(rest):
            self._opening = found[1]
            self._sure = found[1][0] == "~"
            return ""
        else:
            self._paragraph = bool(rest.strip(" ")) and not (_HEADING.match(rest) or _BREAK.match(rest))
        return rest

    def _interrupts(self, rest: str, *, whole: bool) -> bool:
        """True if the line ends the paragraph before it."""
        if not rest.strip(" "):
            return True
        if whole and _UNDERLINE.match(rest):
            return True
        return any(pattern.match(rest) for pattern in (_FENCE, _HEADING, _BREAK))

    def _in_fence(self, rest: str) -> None:
        closing = rest.strip(" ")
        if _indent(rest, 0) < 4 and len(closing) >= len(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            self._is_inline = False


class Trial:
    """Reads ahead from where a "maybe" stands, as if all of it were text, until that is decided."""

    def __init__(self, code: Code) -> None:
        self._in_line = code.may_open
        self._over: Literal["", "closed", "ended"] = ""
        self._code = code.fork()
        self.spans = self._code.spans

    @property
    def fate(self) -> Literal["", "closed", "ended"]:
        """What came first: backticks that close a code span (or that do not let the line open a fence), or its end."""
        return self._over or ("" if self._in_line else self.spans.fate)

    def feed(self, text: str) -> None:
        """The text goes on with this."""
        if not self._in_line:
            self._code.feed(text)
        elif not self._over and (found := _INFO_END.search(text)):
            self._over = "closed" if found[0] == "`" else "ended"

    def end(self) -> None:
        """Nothing comes any more, or nothing that matters."""
        self._code.feed("\n")
        self.spans.end()
        self._over = self._over or "ended"


def _indent(line: str, at: int) -> int:
    """The spaces that begin there."""
    return len(line) - at - len(line[at:].lstrip(" "))
