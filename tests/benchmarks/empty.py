"""The least that a program with an editor can be in Textual: what the screen's times are measured against.

`python -m tests.benchmarks.empty` shows a line, an editor that has the focus, and a footer. ctrl+q ends it.
"""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Footer, Static, TextArea


class Empty(App[None]):
    """A line, an editor, a footer."""

    AUTO_FOCUS = "TextArea"

    def compose(self) -> ComposeResult:
        yield Static("empty")
        yield TextArea()
        yield Footer()


if __name__ == "__main__":
    Empty().run()
