"""What a .gitignore file says, as gitignore(5) has it.

One file speaks about names below the folder it stands in: the last pattern that matches an entry itself decides.
Whoever walks a tree asks about each entry on the way down and never enters an ignored folder, so a pattern need not
match what lies below. (A matcher of whole paths has to guess that part and differs from git for `*` with `!dir/`.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class _Rule(Struct, frozen=True):
    regex: str
    ignores: bool
    folders_only: bool


class Ignore:
    """The patterns of one file, `text` being its content."""

    def __init__(self, text: str) -> None:
        rules = [rule for line in text.split("\n") if (rule := _rule(line)) is not None]
        # one alternation, the last pattern first, so that the first group that matches decides
        rules.reverse()
        self._folders = _Alternation(rules)
        self._files = _Alternation([rule for rule in rules if not rule.folders_only])

    def __bool__(self) -> bool:
        return bool(self._folders)

    def says(self, path: str, *, folder: bool) -> bool | None:
        """True: ignore the entry `path` (relative, `/` between the parts); False: do not; None: nothing about it."""
        return (self._folders if folder else self._files).says(path)


class _Alternation:
    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._verdicts = [rule.ignores for rule in rules]
        self._regex = re.compile("|".join(f"({rule.regex})" for rule in rules), re.DOTALL)

    def __bool__(self) -> bool:
        return bool(self._verdicts)

    def says(self, path: str) -> bool | None:
        match = self._regex.fullmatch(path) if self._verdicts else None
        return None if match is None or match.lastindex is None else self._verdicts[match.lastindex - 1]


def _rule(line: str) -> _Rule | None:
    line = _without_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    pattern = line if ignores else line[1:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anchored = "/" in pattern
    try:
        regex = glob_regex(pattern.removeprefix("/"))
    except ValueError:
        return None
    return _Rule(regex if anchored else f"(?:.*/)?{regex}", ignores, folders_only) if pattern else None


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if len(bare) < len(line) and escapes % 2 else bare


def glob_regex(pattern: str) -> str:
    """A glob as the source of a regular expression for a whole path.

    `*`, `?` and `[...]` stay within one part of the path, `**` as a part of its own stands for any number of them, `\\`
    takes the next character as it is. A match takes no more than quadratic time however many stars there are: what
    stands between two of them is matched where it comes first and never moved (it is atomic).

    Raises:
        ValueError: a `[` is not closed or a `\\` ends the pattern; git says that such a pattern matches nothing.
    """
    # the pattern as runs without a star, each with the star before it: "", "*" or "**"
    runs: list[tuple[str, list[str]]] = [("", [])]
    at = 0
    while at < len(pattern):
        fixed = runs[-1][1]
        character = pattern[at]
        if character == "*":
            end = at
            while pattern[end : end + 1] == "*":
                end += 1
            whole_part = end - at > 1 and (at == 0 or pattern[at - 1] == "/")
            if whole_part and end == len(pattern):
                fixed.append(".+")
            elif whole_part and pattern[end] == "/":
                runs.append(("**", []))
                end += 1
            else:
                runs.append(("*", []))
            at = end
        elif character == "?":
            fixed.append("[^/]")
            at += 1
        elif character == "[":
            regex, at = _bracket(pattern, at)
            fixed.append(regex)
        else:
            literal, at = _character(pattern, at)
            fixed.append(re.escape(literal))
    return _joined([(star, "".join(fixed)) for star, fixed in runs])


def _joined(runs: Sequence[tuple[str, str]]) -> str:
    groups: list[str] = []
    for number, (star, fixed) in enumerate(runs):
        is_last = number + 1 == len(runs)
        if star == "**" or not groups:
            groups.append("")
        if star == "*":
            fixed = f"[^/]*{fixed}" if is_last else f"(?>[^/]*?{fixed})"
        groups[-1] += fixed
    first, *others = groups
    between = "".join(f"(?>(?:[^/]+/)*?{group})" for group in others[:-1])
    return first + between + "".join(f"(?:.*/)?{group}" for group in others[-1:])


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """The `[...]` at `at` as a regular expression, and where it ends."""
    at += 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    pieces: list[str] = []
    first = at
    while True:
        if at >= len(pattern):
            raise ValueError("a [ is not closed")
        if pattern[at] == "]" and at > first:
            break
        if pattern.startswith("[:", at):
            end = pattern.find(":]", at)
            name = pattern[at + 2 : end] if end > 0 else ""
            if name not in _CLASSES:
                raise ValueError(f"there is no class of characters [:{name}:]")
            pieces.append(_CLASSES[name])
            at = end + 2
            continue
        low, at = _character(pattern, at)
        high = low
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _character(pattern, at + 1)
        if low <= high:
            pieces.append(f"{re.escape(low)}-{re.escape(high)}")
    if not pieces:
        return ("[^/]" if negated else "(?!)"), at + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(pieces)}]", at + 1


def _character(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\":
        at += 1
        if at == len(pattern):
            raise ValueError("a backslash ends the pattern")
    return pattern[at], at + 1
