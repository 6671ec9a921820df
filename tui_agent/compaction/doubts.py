"""A summary held against what is certain: where it says the contrary of the log, a person is told.

Only what can be seen without a model: claims about files, commands and todos that are named as the log names them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

from tui_agent.compaction.sections import DONE, FAILED, GOAL, IN_PROGRESS, QUESTIONS, plain, sections
from tui_agent.literal import one_line

Kind = Literal["changed", "read", "passed", "failed", "open", "done"]

_SAMPLE = 20
"""So many facts of each kind, the newest, are held against a summary."""
_SHOWN = 120
_WISHES = (GOAL, QUESTIONS)
"""Sections that say what is wanted, not what is."""

_PASSED = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succe(?:ed(?:s|ed)?|ss\w*)|exit(?:ed|s)?(?: with)?(?: code| status)? 0|green|"
    r"(?:runs?|ran|works?|worked) (?:fine|cleanly|well))\b|通过|成功|通った|通る",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken|exit(?:ed|s)?(?: with)?(?: code| status)? [1-9]\d*|red)\b"
    r"|失败|报错|失敗|エラー",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|no|never|cannot|without|un\w+|yet|should|must|until|if|once|to|make|let|get|wants?)\b|n't\b|未|没|不|ない|ません"
)
_UNCHANGED = re.compile(
    r"\b(?:(?:not|never)(?: yet)?(?: been)? (?:changed|modified|edited|touched|written)|unchanged|untouched|unmodified|"
    r"only (?:read|looked at)|read,? not changed|no changes?)\b|未修改|没有修改|変更なし|変更していない",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:(?:was|were|been|is|are) (?:changed|modified|edited|rewritten|created|deleted|removed|renamed|added)|"
    r"(?:edited|rewrote|rewritten|modified|created|deleted))\b",
    re.IGNORECASE,
)
_NONE_CHANGED = re.compile(
    r"\bno (?:files?|code) (?:was|were|has been|have been|is|are)(?: yet)? (?:changed|modified|edited|written)\b|"
    r"\bnothing (?:was|has been)(?: yet)? (?:changed|edited|modified)\b",
    re.IGNORECASE,
)
_TESTS_PASS = re.compile(
    r"\b(?:(?:all|the|every)\b.{0,20}\btests?\b.{0,20}\bpass(?:es|ed|ing)?|tests? (?:now |all )?pass(?:es|ed)?"
    r"|test suite (?:is green|passes|passed))\b|测试(?:全部|都)?通过|テストは?(?:すべて|全て)?(?:通|成功)",
    re.IGNORECASE,
)
_ALL_DONE = re.compile(
    r"\b(?:nothing (?:is |remains )?(?:left|open|to do|to be done)|(?:everything|all(?: of it| work| tasks| todos)?) "
    r"(?:is|are|was|were|has been|have been) (?:done|finished|complete|completed))\b|全部完成|すべて完了",
    re.IGNORECASE,
)


class Fact(Struct, frozen=True):
    """Something that is certain, in words. `kind` says of what; `subject` is the path, the command or the todo."""

    kind: Kind
    subject: str
    words: str


def contradictions(summary: str, facts: Iterable[Fact]) -> list[str]:
    """Where a summary says otherwise than the facts, given newest first."""
    parts = sections(summary) or {"": summary}
    sample = list(_sample(facts))
    found = [doubt for fact in sample for doubt in islice(_against(fact, parts), 1)]
    return [*found, *_against_all(list(_claims(parts)), sample)]


def _sample(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The newest facts of each kind."""
    counted = Counter[Kind]()
    for fact in facts:
        counted[fact.kind] += 1
        if counted[fact.kind] <= _SAMPLE:
            yield fact


def _claims(parts: Mapping[str, str], passed_over: Sequence[str] = ()) -> Iterator[str]:
    """The lines that say what is, not what is wanted."""
    for name, text in parts.items():
        if name not in _WISHES and name not in passed_over:
            yield from filter(None, map(str.strip, text.splitlines()))


def _against(fact: Fact, parts: Mapping[str, str]) -> Iterator[str]:
    """What the summary says against one fact."""
    if fact.kind in ("open", "done"):
        wrong = DONE if fact.kind == "open" else IN_PROGRESS
        if any(_is_entry(line, fact.subject) for line in parts.get(wrong, "").splitlines()):
            yield f'"{_short(fact.subject)}" stands under "{wrong}", but {fact.words}'
        return
    # what passes now may well have failed before, and is then told there
    passed_over = (FAILED,) if fact.kind == "passed" else ()
    for line in _claims(parts, passed_over):
        if _names(line, fact.subject) and _CONTRARY[fact.kind](_without(line, fact.subject)):
            yield _says(line, fact)


def _against_all(lines: Iterable[str], facts: Sequence[Fact]) -> Iterator[str]:
    """What the summary says of all files, tests or todos, against what the log has of one."""
    changed = [fact for fact in facts if fact.kind == "changed"]
    tests = [
        fact for fact in facts if fact.kind in ("passed", "failed") and "test" in fact.subject.casefold()
    ]
    failing = [] if any(fact.kind == "passed" for fact in tests) else tests
    left = [fact for fact in facts if fact.kind == "open"]
    for line in lines:
        if changed and _NONE_CHANGED.search(line):
            yield _says(line, changed[0])
        elif failing and _TESTS_PASS.search(line) and not _NOT.search(line):
            yield _says(line, failing[0])
        elif left and _ALL_DONE.search(line):
            yield _says(line, left[0])


def _says(line: str, fact: Fact) -> str:
    return f'the summary says "{_short(line)}", but of `{_short(fact.subject)}` {fact.words}'


def _claims_pass(line: str) -> bool:
    return bool(_PASSED.search(line)) and not _FAILED.search(line) and not _NOT.search(line)


def _claims_failure(line: str) -> bool:
    return (
        bool(_FAILED.search(line)) and not _PASSED.search(line) and not _NOT.search(line) and not _past(line)
    )


def _claims_unchanged(line: str) -> bool:
    return bool(_UNCHANGED.search(line)) and not _CHANGED.search(_UNCHANGED.sub(" ", line))


def _claims_change(line: str) -> bool:
    return bool(_CHANGED.search(line)) and not _UNCHANGED.search(line) and not _NOT.search(line)


_CONTRARY: Mapping[str, Callable[[str], bool]] = {
    "failed": _claims_pass,
    "passed": _claims_failure,
    "changed": _claims_unchanged,
    "read": _claims_change,
}


def _past(line: str) -> bool:
    """The line speaks of what was before: a command that passes now may well have failed then."""
    return bool(
        re.search(
            r"\b(?:was|were|had|first|before|earlier|initially|previously|until|then)\b|之前|最初|前に", line
        )
    )


def _is_entry(line: str, subject: str) -> bool:
    """The line is about the todo and nothing else."""
    bare = plain(re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?", "", line)).strip(" .;:")
    return bare == plain(subject).strip(" .;:")


def _names(line: str, subject: str) -> bool:
    """The line names the thing itself, not another whose name holds it."""
    return re.search(rf"(?<![\w/.-]){re.escape(plain(subject))}(?![\w/-]|\.\w)", plain(line)) is not None


def _without(line: str, subject: str) -> str:
    """The line without the subject's own words, which may sound like a claim (`test_failed.py`)."""
    return plain(line).replace(plain(subject), " ")


def _short(text: str) -> str:
    return one_line(text, _SHOWN)
