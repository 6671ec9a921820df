"""Where a growing Markdown text is code: inside fences and inline code, as CommonMark 0.31 defines them.

Fences of backticks and tildes, in quotes and lists too, and code spans of any number of backticks are followed line by
line. Whether a run of backticks begins a code span is known only when the same run comes again before the paragraph
ends, so there is a third answer besides "code" and "text": "maybe". A `Trial` reads ahead and decides it. Indented
code is text here, for it takes a whole document to tell it from a list; so is what only HTML or tables part.
"""

from __future__ import annotations

import copy
import re
from typing import Literal

State = Literal["text", "code", "maybe"]
Fate = Literal["undecided", "closed", "ended", "fence", "inline"]
"""What came of a "maybe". A code span `closed`, or its paragraph `ended` first; a line that may open a fence did
(`fence`), or went on with a backtick, so that it is `inline`."""

_QUOTE = 0
"""A block quote among the containers; a list item is the number of columns that its lines are indented by."""

_PLAIN = re.compile(r"[ \t]*[^\s`~#>\-+*_=\d\\]")
"""A line that begins like this opens nothing."""
_TOKEN = re.compile(r"(`+)|(\\+)|[^`\\]+")
_IN_QUOTE = re.compile(r" {0,3}> ?")
_BREAK = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+) *$")
_ITEM = re.compile(r"( {0,3}(?:[-+*]|(\d{1,9})[.)]))( +|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")


class Trial:
    """Reads ahead from where a "maybe" stands, as if all of it were text, until that is decided."""

    def __init__(self, code: Code) -> None:
        self.fate: Fate = "undecided"
        self.after: set[int] = set()
        """The lengths of the runs of backticks read until then."""
        self._code = code.fork(self)

    def feed(self, text: str) -> Fate:
        """The text goes on with this."""
        self._code.feed(text)
        return self.fate

    def end(self) -> None:
        """Nothing comes any more, or nothing that matters."""
        self._code.feed("\n")
        self.tell("ended")

    def tell(self, fate: Fate) -> None:
        """This is what came of it, if nothing did before."""
        if self.fate == "undecided":
            self.fate = fate

    def note(self, run: int) -> None:
        """A run of so many backticks was read."""
        if self.fate == "undecided":
            self.after.add(run)


class Code:
    """Follows a text. Ask `settle` for the state at the place where a `<` comes next."""

    def __init__(self) -> None:
        self._line: list[str] | None = []
        """What is known of a line whose beginning is not understood yet; None once it is."""
        self._blank = True
        self._containers: list[int] = []
        self._fence = ""
        self._paragraph = False
        self._leaf: Literal["text", "indented", "info"] = "text"
        self._info = 0
        """Backticks that may have opened a fence, in a line that is not read to its end."""
        self._prior: tuple[int, list[tuple[int, bool]]] = (0, [])
        self._opener = 0
        """Backticks that may have begun a code span; 0 if none."""
        self._sure = False
        """True if it is known that the code span ends, or that the line opens a fence."""
        self._inner: list[tuple[int, bool]] = []
        """Runs of backticks since the opener: how many, and whether a backslash is before them."""
        self._run, self._slashes, self._escaped = 0, 0, False
        self._before: tuple[list[str], list[int], bool] | None = None
        self._trial: Trial | None = None

    def fork(self, trial: Trial) -> Code:
        """Another one at the same place, for a trial. What came before it does not matter there."""
        other = copy.copy(self)
        other._line = None if self._line is None else self._line.copy()
        other._containers = self._containers.copy()
        other._inner, other._trial = [], trial
        return other

    def feed(self, text: str) -> None:
        """The text goes on with this."""
        lines = text.split("\n")
        for piece in lines[:-1]:
            self._add(piece)
            self._end_line()
        self._add(lines[-1])

    def settle(self) -> State:
        """What a `<` that comes next is in."""
        if self._line is not None:
            head = "".join(self._line)
            saved = [head], self._containers.copy(), self._paragraph
            content = self._begin_line(f"{head}<")
            nothing = content.strip(" ") == "<"
            self._before = saved if nothing else None
            self._inline(content[:-1])
        self._end_run()
        if self._fence:
            return "code"
        if self._leaf == "info" or self._opener:
            return "code" if self._sure else "maybe"
        return "text"

    def skip(self) -> None:
        """What came next was no text at all: a line that was empty until there still is."""
        if self._before is not None:
            self._line, self._containers, self._paragraph = self._before
            self._blank = not "".join(self._line).strip()
            self._before = None

    def decide(self, trial: Trial) -> None:
        """Believe a trial that was made where this stands."""
        if trial.fate in ("closed", "fence"):
            self._sure = True
        elif trial.fate == "inline":
            self._unfence()
        else:
            self._next_opener(trial.after)

    def _next_opener(self, after: set[int]) -> None:
        """The code span does not end: perhaps one began later, with fewer or more backticks."""
        runs, self._opener = self._inner, 0
        last = {length: at for at, (length, _) in enumerate(runs)}
        at = 0
        while at < len(runs):
            length = runs[at][0] - runs[at][1]
            if last.get(length, -1) > at:
                at = next(later for later in range(at + 1, len(runs)) if runs[later][0] == length)
            elif length in after:
                self._opener, self._sure = length, True
                break
            at += 1
        self._inner = runs[at + 1 :]

    def _add(self, piece: str) -> None:
        if not piece:
            return
        self._before = None
        if self._line is None:
            self._inline(piece)
            return
        self._line.append(piece)
        if self._blank and not piece.isspace():
            self._blank = False
            if _PLAIN.match(piece):
                self._inline(self._begin_line("".join(self._line)))

    def _end_line(self) -> None:
        if self._line is not None:
            self._inline(self._begin_line("".join(self._line).rstrip("\r")))
        self._end_run()
        self._slashes = 0
        if self._leaf == "info":
            self._open_fence()
        elif not self._paragraph:
            self._end_block()
        self._leaf = "text"
        self._before = None
        self._line, self._blank = [], True

    def _open_fence(self) -> None:
        if self._trial is not None:
            self._trial.tell("fence")
        self._opener, self._sure, self._inner = 0, False, []
        self._fence = "`" * self._info

    def _unfence(self) -> None:
        """The line that might have opened a fence has more backticks in it: they are inline."""
        self._leaf, self._paragraph, self._sure = "text", True, False
        self._opener, self._inner = self._prior
        if self._trial is not None:
            self._trial.tell("inline")
        self._run, self._escaped = self._info, False
        self._end_run()

    def _end_block(self) -> None:
        if self._opener and self._trial is not None:
            self._trial.tell("ended")
        self._opener, self._sure, self._inner = 0, False, []

    # --- the beginning of a line

    def _begin_line(self, line: str) -> str:
        """Understand where a line begins, at least as far as it goes; returns its inline text."""
        self._line, self._leaf = None, "text"
        self._prior = self._opener, self._inner
        line = line.expandtabs(4)
        matched, at = self._match(line)
        whole = matched == len(self._containers)
        if self._fence:
            if whole:
                self._in_fence(line[at:])
                return ""
            self._fence = ""
        at, fresh = self._enter(line, at, matched)
        return self._begin_leaf(line[at:], matched, fresh=fresh)

    def _match(self, line: str) -> tuple[int, int]:
        """How many of the open containers the line is in, and where its own text begins."""
        at = 0
        for number, container in enumerate(self._containers):
            if container == _QUOTE:
                if (found := _IN_QUOTE.match(line, at)) is None:
                    return number, at
                at = found.end()
            elif _indent(line, at) >= container:
                at += container
            elif line[at:].strip(" "):
                return number, at
        return len(self._containers), at

    def _enter(self, line: str, at: int, matched: int) -> tuple[int, bool]:
        """Go into the containers that the line opens; returns where its text begins, and whether there were any."""
        fresh = False
        while _indent(line, at) < 4:
            rest = line[at:]
            if found := _IN_QUOTE.match(rest):
                opened, size = _QUOTE, found.end()
            elif (item := self._item(rest, interrupts=self._paragraph and not fresh)) and not _BREAK.match(
                rest
            ):
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
        if found is None:
            return None
        marker, number, spaces = found.groups()
        empty = not rest[found.end() :]
        if interrupts and (empty or (number and int(number) != 1)):
            return None
        width = len(marker) + 1 if empty or len(spaces) > 4 else found.end()
        return width, min(width, len(rest))

    def _begin_leaf(self, rest: str, matched: int, *, fresh: bool) -> str:
        blank = not rest.strip(" ")
        if (
            self._paragraph
            and not fresh
            and not self._interrupts(rest, whole=matched == len(self._containers))
        ):
            return rest
        if not fresh:
            del self._containers[matched:]
            self._end_paragraph()
        if _indent(rest, 0) >= 4:
            self._leaf = "indented"
        elif found := _FENCE.match(rest):
            return self._begin_fence(found[1], rest[found.end() :])
        else:
            self._paragraph = not (blank or _HEADING.match(rest) or _BREAK.match(rest))
        return rest

    def _interrupts(self, rest: str, *, whole: bool) -> bool:
        """True if the line ends the paragraph before it."""
        if not rest.strip(" "):
            return True
        if whole and _UNDERLINE.match(rest):
            return True
        return any(pattern.match(rest) for pattern in (_FENCE, _HEADING, _BREAK))

    def _begin_fence(self, fence: str, info: str) -> str:
        if fence[0] == "~" or not info:
            self._fence = fence
        else:
            self._leaf, self._info = "info", len(fence)
        return ""

    def _in_fence(self, rest: str) -> None:
        closing = rest.strip(" \r")
        if _indent(rest, 0) < 4 and len(closing) >= len(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            self._paragraph = False

    def _end_paragraph(self) -> None:
        self._paragraph = False
        self._end_block()

    # --- backticks

    def _inline(self, text: str) -> None:
        if self._fence or self._leaf == "indented" or not text:
            return
        if self._leaf == "info":
            if "`" not in text:
                return
            self._unfence()
        for token in _TOKEN.finditer(text):
            if token[1]:
                if not self._run:
                    self._escaped = self._slashes % 2 == 1
                self._run += len(token[1])
                self._slashes = 0
                continue
            self._end_run()
            self._slashes = self._slashes + len(token[2]) if token[2] else 0

    def _end_run(self) -> None:
        length, self._run = self._run, 0
        if not length:
            return
        if self._trial is not None:
            self._trial.note(length)
        if not self._opener:
            self._opener = length - self._escaped
        elif self._opener != length:
            self._inner.append((length, self._escaped))
        else:
            if self._trial is not None:
                self._trial.tell("closed")
            self._opener, self._sure, self._inner = 0, False, []


def _indent(line: str, at: int) -> int:
    """The spaces that begin there."""
    return len(line) - at - len(line[at:].lstrip(" "))
