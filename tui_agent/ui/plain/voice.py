"""How something is written: labelled lines, text that comes in pieces, and a prompt at the end.

What is foreign is made visible here, so that nothing written acts on the terminal; and only what is said here begins at
the first column, so that no text passes for a question or an answer. A text that streams is written by whole
sentences or lines; whatever comes between begins a line of its own.
"""

from __future__ import annotations

import re
import sys
from typing import TextIO

from tui_agent import literal

_END = re.compile(r"(?:[.!?:;…]+[\"')\]]*(?=\s)|[。！？]|\n)\s*")
"""Where a text may be read out: after a sentence or a line."""
_LINE = re.compile(r"\n(?=[^\n])")
_LONGEST = 400
"""Characters without such a place after which a text is cut at a space."""
_TAB = 4
_INDENT = "  "


class Voice:
    """Writes to `out` (by default the standard output)."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out if out is not None else sys.stdout
        self._inside_line = False
        self._indents = False
        """The next character belongs to a further line of a text."""
        self._prompt = ""
        self._label = ""
        """Of the text that streams."""
        self._labelled = False
        self._rest = ""

    def say(self, text: str, label: str = "") -> None:
        """Write a text on lines of its own; further lines of it are indented by two."""
        self.end_piece()
        self._new_line()
        lines = _shown(text).rstrip().split("\n")
        head = f"{label}: {lines[0]}" if label else lines[0]
        self._write("\n".join([head.rstrip(), *(f"{_INDENT}{line}".rstrip() for line in lines[1:])]) + "\n")

    def piece(self, text: str, label: str) -> None:
        """More of a text that streams under a label: written as far as its last whole sentence or line."""
        if label != self._label:
            self.end_piece()
            self._label = label
        self._rest += text
        cut = max((match.end() for match in _END.finditer(self._rest)), default=0)
        if not cut and len(self._rest) > _LONGEST:
            cut = self._rest.rfind(" ") + 1 or len(self._rest)
        ready, self._rest = self._rest[:cut], self._rest[cut:]
        self._stream(ready)

    def end_piece(self) -> None:
        """The text that streamed is over."""
        rest, self._rest = self._rest, ""
        self._stream(rest)
        if self._labelled:
            self._new_line()
        self._label, self._labelled, self._indents = "", False, False

    def ask(self, prompt: str) -> None:
        """Write what an answer is typed behind, unless it stands there already."""
        if self._prompt != prompt:
            self.end_piece()
            self._new_line()
            self._write(prompt)
            self._prompt = prompt

    def answered(self) -> None:
        """A line was typed: the terminal has gone to the next one."""
        self._prompt = ""
        self._inside_line = False

    def _stream(self, text: str) -> None:
        if not self._labelled:
            text = text.lstrip()
            if text:
                self._new_line()
                self._write(f"{self._label}: ")
                self._labelled = True
        if text:
            shown = _shown(text)
            first = _INDENT if self._indents and not shown.startswith("\n") else ""
            self._write(first + _LINE.sub(f"\n{_INDENT}", shown))
            self._indents = shown.endswith("\n")

    def _new_line(self) -> None:
        if self._inside_line:
            self._write("\n")
        self._prompt = ""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._inside_line = not text.endswith("\n")


def _shown(text: str) -> str:
    return literal.visible(text.replace("\r\n", "\n").expandtabs(_TAB))
