"""A diff as a card shows it: the file first, then what changes, with as little around it as tells where it is.

Signs, line numbers and marked words are those of the transcript. Of the lines that stay the same only the nearest one
before and behind a change is shown, none that is blank, and none before the first change: it is in view at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from textual.content import Content

from tui_agent import literal
from tui_agent.ui.transcript import diff as diffs

_MOST_LINES = 500
"""Lines of a diff that are read and laid out, before keys wait for it; a longer one says how many follow."""
_MOST_MARKED = 100
"""Lines whose changed words are looked for."""
_SIGNS = {"added": "+", "removed": "-", "same": " "}
_LOOKS = {
    "added": "$text-success on $success-muted",
    "removed": "$text-error on $error-muted",
    "same": "",
}


def diff_content(diff: str) -> Content:
    """A unified diff as lines with number, sign and colour."""
    head, rest = _head(diff)
    read = diffs.read(head)
    named = _file(diff, read)
    lines = list(_near([line for line in read if line.kind != "file" or not named]))
    digits = diffs.digits(lines)
    parts = [Content.styled(literal.one_line(named, 400), "bold")] if named else []
    parts += [_shown(line, digits, marked=number < _MOST_MARKED) for number, line in enumerate(lines)]
    if rest:
        more = f"... {rest:,} more lines"
        parts.append(Content.styled(more, "$text-warning"))
    return Content("\n").join(parts)


def _head(diff: str) -> tuple[str, int]:
    """As many lines of a diff as are shown, and how many follow."""
    lines = diff.split("\n", _MOST_LINES)
    if len(lines) <= _MOST_LINES:
        return diff, 0
    rest = lines.pop().rstrip("\n")
    return "\n".join(lines) + "\n", rest.count("\n") + 1 if rest else 0


def _file(diff: str, read: Sequence[diffs.DiffLine]) -> str:
    """The one file of a diff, and whether it is made or removed; `""` if there are several."""
    files = [line.text for line in read if line.kind == "file"]
    if len(files) != 1:
        return ""
    counts = [sum(line.startswith(sign) for line in diff.split("\n")) - 1 for sign in ("+", "-")]
    new = "  new file" if diff.startswith("--- /dev/null\n") else ""
    return f"{files[0]}{new}  +{counts[0]:,} -{counts[1]:,}"


def _near(lines: Sequence[diffs.DiffLine]) -> Iterator[diffs.DiffLine]:
    """The lines without those that are far from any change."""
    kinds = [(kind, list(run)) for kind, run in groupby(lines, key=lambda line: line.kind)]
    changed = False
    for place, (kind, run) in enumerate(kinds):
        after = kinds[place + 1][0] if place + 1 < len(kinds) else ""
        if kind == "hunk":
            # the first hunk needs no line of its own: its numbers say where it is
            if changed:
                yield diffs.DiffLine("hunk", run[-1].text)
        elif kind != "same":
            changed = changed or kind in ("added", "removed")
            yield from run
        else:
            behind = place > 0 and kinds[place - 1][0] in ("added", "removed")
            yield from _context(run, behind=behind, before=changed and after in ("added", "removed"))


def _context(run: Sequence[diffs.DiffLine], *, behind: bool, before: bool) -> Iterator[diffs.DiffLine]:
    """The lines next to the change they stand behind, and to the one they stand before."""
    if behind and before and len(run) <= 2:
        yield from run
        return
    if behind and run[0].text.strip():
        yield run[0]
    if behind and before:
        yield diffs.DiffLine("hunk", "")
    if before and run[-1].text.strip() and (not behind or len(run) > 1):
        yield run[-1]


def _shown(line: diffs.DiffLine, digits: int, *, marked: bool) -> Content:
    if line.kind not in _SIGNS:
        words = f"... {line.text}".rstrip() if line.kind == "hunk" else line.text
        return Content.styled(literal.visible(words), "bold" if line.kind == "file" else "$text-muted")
    text = _text(line.text)
    content = Content(text)
    if marked and line.other is not None:
        for begin, end in diffs.changed_words(text, _text(line.other)):
            content = content.stylize("bold underline", begin, end)
    number = f"{line.number if line.number is not None else '':>{digits}} "
    head = Content.styled(number, "$text-muted")
    return head + (Content(f"{_SIGNS[line.kind]} ") + content).stylize(_LOOKS[line.kind])


def _text(text: str) -> str:
    return literal.visible(text.expandtabs(4) if "\t" in text else text)
