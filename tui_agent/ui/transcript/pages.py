"""Foreign text and diffs as pages: parts of a bounded size, however long the text is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tui_agent.ui.transcript import diff
from tui_agent.ui.transcript.lines import EMPTY, Line, literal
from tui_agent.ui.transcript.origin import line_origin
from tui_agent.ui.transcript.paint import Part, beyond
from tui_agent.ui.transcript.said import plain_text

PAGE_LINES = 200
PAGE_CHARACTERS = 12_000
"""The most of a text that is laid out at once."""


def pages(
    text: str,
    *,
    style: str = "",
    ground: str = "",
    sign: Content = EMPTY,
    bar: str = "",
    fold: bool = False,
    section: int | None = None,
    start: int = 0,
) -> Iterator[Part]:
    """Foreign text as parts of a bounded size. `fold`: it is output and not prose; `bar` stands before each line.

    `section`: of which section of its entry's source the text is (see `said.sections`), None: it cannot be selected;
    `start`: where in that section it begins.
    """
    before = Content.styled(f"{bar} ", ".transcript--dim") if bar else EMPTY

    def part(lines: list[tuple[str, int]], sign: Content) -> Part:
        def make(width: int) -> list[Line]:
            made: list[Line] = []
            for line, at in lines:
                content = literal(line, style)
                origin = None if section is None else line_origin(section, at, line, content.plain)
                head = EMPTY if made else sign
                made.append(Line(content, before, before, fold, fold, ground, head, origin))
            return made

        last, at = lines[-1]
        return Part(make, beyond(line for line, _ in lines), len(lines) - 1, section, at + len(last) + 1)

    page: list[tuple[str, int]] = []
    size = 0
    for line, at in _bounded(plain_text(text).split("\n"), start):
        if len(page) >= PAGE_LINES or size + len(line) > PAGE_CHARACTERS:
            if page:
                yield part(page, sign)
                sign = EMPTY
            page, size = [], 0
        page.append((line, at))
        size += len(line)
    yield part(page, sign)


def _bounded(lines: Sequence[str], at: int) -> Iterator[tuple[str, int]]:
    """The lines, overlong ones in pieces, and where each begins in the text, which begins `at` there."""
    for line in lines:
        for start in range(0, len(line) or 1, PAGE_CHARACTERS):
            yield line[start : start + PAGE_CHARACTERS], at + start
        at += len(line) + 1


def diff_pages(text: str) -> Iterator[Part]:
    """A unified diff as parts of a bounded size."""
    read = diff.read(text)
    if sum(line.kind == "file" for line in read) == 1:
        read = [line for line in read if line.kind != "file"]  # the call's own line names it
    digits = diff.digits(read)
    page: list[diff.DiffLine] = []
    size = 0
    for line in read:
        if page and (len(page) >= PAGE_LINES or size + len(line.text) > PAGE_CHARACTERS):
            yield _diff_page(page, digits)
            page, size = [], 0
        page.append(line)
        size += len(line.text)
    if page:
        yield _diff_page(page, digits)


def _diff_page(page: list[diff.DiffLine], digits: int) -> Part:
    return Part(
        lambda width: diff.lines(page, digits=digits), beyond(line.text for line in page), len(page) - 1
    )
