"""A shell command taken apart, as far as that can be done safely.

A rule such as `bash:git status*` must not let anything else run beside it. So a command is split at `;`, `&`, `&&`,
`|`, `||` and newlines, and whatever is not plainly words and quotes (substitutions, redirections, groups, comments,
braces, special expansions, an open quote) makes it one that only a person can judge.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

_MOST_CHARACTERS = 10_000

_OPERATORS = ("&&", "||", "|&", ";", "&", "|", "\n")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WITH_SUBCOMMANDS = _set(
    "apt brew bun bundle cargo composer conda deno docker dotnet gem gh git go gradle helm just kubectl make mise mvn "
    "nox npm npx nx pdm php pip pip3 pipenv pipx pnpm podman poetry rake rustup svn task terraform tox uv uvx yarn"
)
"""Programs whose second word says what they do."""

_RUNNERS = _set(
    "npm pnpm yarn bun npx pipenv poetry pdm uv docker podman go cargo mise nx php gh git kubectl"
)
_RUN_WORDS = _set("run exec compose mod tool x dlx tree stash pr issue repo artisan pip remote worktree")
"""Second words of theirs that say nothing without the third: `npm run build`, `docker compose up`."""

_INTERPRETERS = _set("python python3 node ruby perl php deno bun Rscript lua")

_NEVER_WIDE = _set(
    ". awk bash builtin cd chgrp chmod chown command crontab curl dash dd doas ed emacs env eval exec find fish gawk "
    "kill killall ksh less ln man mkfs mount mv nc ncat nohup nsenter parallel pkill reboot rm rmdir rsync scp sed "
    "setsid sh shutdown source ssh su sudo systemctl tar tee time timeout truncate unlink vi vim wget xargs zsh"
)
"""Programs that run others, write anywhere, reach out or destroy: a rule for one of them names the exact command."""

_VARIABLE = re.compile(r"""\$(?:[A-Za-z_][A-Za-z0-9_]*|\?|(?=[ \t\n"/:.,]|$))""")
"""`$NAME`, `$?`, or a dollar sign that stands for itself."""

_OF_THE_SHELL = re.compile(
    r"BASH.*|COMP_.*|DIRSTACK|EPOCH.*|E?UID|FUNCNAME|GROUPS|HOST(?:NAME|TYPE)|IFS|LINENO|MACHTYPE|OLDPWD|OPT(?:ARG|ERR|IND)|"
    r"OSTYPE|PIPESTATUS|PPID|PS4|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|_"
)
"""Variables that the shell sets by itself, so that our environment does not tell their values."""

_NO_EXPANSION = re.compile(r"\{[^\s'\"\\,.{}$;&|<>()`]*\}")
"""Braces that stand for themselves: `{}`, `HEAD@{1}`."""

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@%+:,./][A-Za-z0-9_@%+=:,./-]*")


class NotPlain(Exception):
    """The command holds something a rule cannot judge; the message names it."""


class Part(Struct, frozen=True):
    """One simple command: its words as written (quotes kept), and as the shell would give them to the program."""

    words: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words, one space between them: what a rule is compared with."""
        return " ".join(self.words)


def split(command: str) -> list[Part]:
    """The simple commands of a shell command, in order.

    Raises:
        NotPlain: it holds more than words, quotes and the operators that part commands, or is very long.
    """
    if len(command) > _MOST_CHARACTERS:
        raise NotPlain("more text than a rule should judge")
    return [part for part in _Scanner(command).parts() if part.words]


class _Scanner:
    def __init__(self, command: str) -> None:
        self._text = command
        self._at = 0
        self._words: list[str] = []
        self._values: list[str] = []
        self._word: list[str] = []
        self._value: list[str] = []

    def parts(self) -> Iterator[Part]:
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if character in " \t":
                self._end_word()
                self._at += 1
            elif operator := next((o for o in _OPERATORS if text.startswith(o, self._at)), None):
                yield self._end_part()
                self._at += len(operator)
                if text.startswith((";", "&", "|"), self._at):
                    raise NotPlain("operators in a row")
            elif character == "'":
                self._single()
            elif character == '"':
                self._double()
            elif character == "\\":
                self._escape()
            elif character == "$":
                self._variable()
            elif character == "#" and not self._word:
                raise NotPlain("a comment")
            elif character == "~" and not self._word and text[self._at + 1 : self._at + 2] not in _HOME_ENDS:
                raise NotPlain("the home folder of another, or one the shell remembers")
            elif character == "{" and self._word and (braces := _NO_EXPANSION.match(text, self._at)):
                self._take(braces[0])
            elif character == "{" and text.startswith("{}", self._at):
                self._take("{}")
            elif character in "{}":
                raise NotPlain("an expansion of braces, or a group")
            elif character in _FORBIDDEN:
                raise NotPlain(_FORBIDDEN[character])
            else:
                self._take(character)
        yield self._end_part()

    def _take(self, written: str, value: str | None = None) -> None:
        self._word.append(written)
        self._value.append(written if value is None else value)
        self._at += len(written)

    def _end_word(self) -> None:
        if self._word:
            self._words.append("".join(self._word))
            self._values.append("".join(self._value))
            self._word, self._value = [], []

    def _end_part(self) -> Part:
        self._end_word()
        part = Part(tuple(self._words), tuple(self._values))
        self._words, self._values = [], []
        return part

    def _single(self) -> None:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise NotPlain("an open quote")
        quoted = self._text[self._at : end + 1]
        self._take(quoted, quoted[1:-1])

    def _double(self) -> None:
        self._take('"', "")
        while not self._text.startswith('"', self._at):
            if self._at >= len(self._text):
                raise NotPlain("an open quote")
            character = self._text[self._at]
            if character == "\\":
                self._escape(quoted=True)
            elif character == "$":
                self._variable(quoted=True)
            elif character == "`":
                raise NotPlain(_FORBIDDEN["`"])
            else:
                self._take(character)
        self._take('"', "")

    def _escape(self, *, quoted: bool = False) -> None:
        escaped = self._text[self._at + 1 : self._at + 2]
        if not escaped:
            raise NotPlain("a backslash at the end")
        if escaped == "\n":
            # the shell takes both away, in the middle of a word too
            self._at += 2
        elif quoted and escaped not in '$`"\\':
            self._take(f"\\{escaped}")
        else:
            self._take(f"\\{escaped}", escaped)

    def _variable(self, *, quoted: bool = False) -> None:
        match = _VARIABLE.match(self._text, self._at)
        # outside of quotes `$"` begins a text that is translated
        if match is None or (not quoted and self._text.startswith('$"', self._at)):
            raise NotPlain("a substitution or special expansion")
        written, name = match[0], match[0][1:]
        if name in ("", "?"):
            self._take(written)
            return
        value = os.environ.get(name, "")
        if _OF_THE_SHELL.fullmatch(name) or (not quoted and any(blank in value for blank in " \t\n")):
            raise NotPlain("a variable whose value is not known, or becomes several words")
        self._take(written, value)


_HOME_ENDS = ("", "/", " ", "\t", "\n", ";", "&", "|")
"""What may follow a tilde that is the user's own home folder."""

_FORBIDDEN = {
    "`": "a substitution",
    "<": "a redirection",
    ">": "a redirection",
    "(": "a group or function",
    ")": "a group or function",
}


def proposal(command: str) -> str:
    """The pattern of a rule that would allow this command and its like; empty if none can.

    Up to three first words and `*` where they say what is done; the exact command where a wider rule would be a blank
    cheque, or where there is more than one.
    """
    try:
        parts = split(command)
    except NotPlain:
        return ""
    pattern = _proposed(command, parts) if parts else ""
    # a rule is one line of a file
    return pattern if not any(ord(character) < 32 for character in pattern) else ""


def _proposed(command: str, parts: Sequence[Part]) -> str:
    if len(parts) > 1:
        return exactly(command.strip())
    words = parts[0].words
    text = parts[0].text
    program = Path(words[0]).name
    if program in _NEVER_WIDE or not _PLAIN_WORD.fullmatch(words[0]) or "=" in words[0]:
        return exactly(text)
    plain = [bool(_PLAIN_WORD.fullmatch(word)) for word in words[:3]] + [False, False, False]
    if program in _INTERPRETERS and len(words) > 1:
        if words[1] == "-m" and plain[2]:
            return f"{' '.join(words[:3])}*"
        if not plain[1]:
            return exactly(text)
        return f"{' '.join(words[:2])}*"
    if program in _WITH_SUBCOMMANDS and len(words) > 1:
        if not plain[1]:
            return exactly(text)
        if program in _RUNNERS and words[1] in _RUN_WORDS and plain[2]:
            return f"{' '.join(words[:3])}*"
        return f"{' '.join(words[:2])}*"
    return f"{words[0]} *"


def exactly(text: str) -> str:
    """The pattern that `text` alone matches: its stars escaped."""
    return text.replace("*", "\\*")


def words(command: str) -> list[str]:
    """The arguments of a command's programs; where it cannot be taken apart, its pieces between blanks and quotes."""
    try:
        return [value for part in split(command) for value in part.values[1:]]
    except NotPlain:
        return [word for word in re.split(r"[\s'\"`;|&<>()]+", command) if word]


def places(command: str) -> list[str]:
    """The words of a command that name places by themselves: absolute, from the home folder, or upwards.

    A guess for a warning, no guarantee: a program can reach any file by other means.
    """
    found = []
    for word in words(command):
        for piece in (word, *re.split(r"[=@:,]", word)[1:], re.sub(r"^-[A-Za-z]", "", word)):
            if piece.startswith(("/", "~/")) or piece == "~" or ".." in piece.split("/"):
                found.append(piece)
                break
    return found
