"""The README's key table, from the table of keys: `python -m tests.readme` writes it, `--check` compares."""

from __future__ import annotations

import sys
from pathlib import Path

from tui_agent.ui.actions import ACTIONS

README = Path(__file__).parent.parent / "README.md"
START, END = "<!-- keys -->\n", "<!-- /keys -->"


def table() -> str:
    """A Markdown table: what, the key that works everywhere, other keys, the command."""
    rows = ["| what | everywhere | also | command |", "|---|---|---|---|"]
    for action in ACTIONS:
        letter = f"`ctrl+x {action.letter}`" if action.letter else ""
        also = " ".join(f"`{key}`" for key in action.keys)
        slash = f"`/{action.slash}`" if action.slash else ""
        rows.append(f"| {action.help} | {letter} | {also} | {slash} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """The README with the table of now."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + table() + END + after


def main() -> int:
    """Write, or compare."""
    text = README.read_text()
    if "--check" in sys.argv:
        return int(with_table(text) != text)
    README.write_text(with_table(text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
