"""The rules that let a call run, refuse it, or leave it to a person.

A rule is a tool's name, alone or with a pattern behind a colon: `edit_file`, `edit_file:src/*`, `bash:git status`,
`bash:pnpm test*`. In a pattern `*` stands for any text and `\\*` for a star; one that ends in ` *` also takes what
stands before it alone. Patterns of file tools are compared with the path as seen from the workspace. Those of `bash`
are compared with one simple command, its words parted by single spaces; of a command made of several each must be
allowed, unless a rule names the whole of it. One with substitutions, redirections or groups always asks (see
`commandline`); so does everything that leaves the workspace or writes inside `.git`. `bash` alone allows any command.
`mcp__server__tool` allows any call of a tool of an MCP server, `mcp__server` any call of any of its tools.

The mode of a conversation comes before the rules that allow. `plan` takes away and never gives: what writes is barred,
commands too unless they only look (see `readonly`), and no rule changes that. `auto-edit` lets files of the workspace
be written without asking. Commands still ask, and so do files outside of it, in `.git`, and those that tell a model
what to do (instructions and what they import, skills, servers of tools), so that nothing which it has read settles
there unseen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui_agent.tools.commandline import NotPlain, split
from tui_agent.workspace import guard

if TYPE_CHECKING:
    from tui_agent.tools.tool import Need, Tool

Decision = Literal["allow", "ask", "deny"]
Scope = Literal["settings", "session"]
Mode = Literal["ask", "auto-edit", "plan"]
"""How much a conversation lets its model do: ask before it writes, write files, or only look and plan."""

GUIDES = frozenset(("agents.md", "claude.md", "memory.md", "codebuddy.md", ".mcp.json"))
GUIDE_FOLDERS = frozenset((".tui-agent", ".agents", ".claude"))
"""Files of a workspace, and folders in it, that tell a model what to do; in small letters."""

_SHELL = "bash"
"""The tool whose `command` is one of the shell."""

_RULE = re.compile(r"(?P<tool>[A-Za-z_][A-Za-z0-9_.-]*)(?::(?P<pattern>.+))?", re.DOTALL)


class Rule(Struct, frozen=True):
    """One rule, taken apart. `exact` is the text that a pattern without stars names, `regex` what it matches."""

    text: str
    tool: str
    regex: re.Pattern[str] | None
    exact: str | None

    @classmethod
    def parse(cls, text: str) -> Rule:
        """The rule that `text` writes.

        Raises:
            ValueError: it is none; the message says what one looks like.
        """
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"{text!r} is no rule: write a tool's name or `tool:pattern`, such as `bash:git status*`"
            )
        pattern = match["pattern"]
        if pattern is None:
            return cls(text.strip(), match["tool"], None, None)
        pattern = pattern.strip()
        if not pattern or any(ord(character) < 32 for character in pattern):
            raise ValueError(f"{text!r} is no rule: its pattern must be on one line and not empty")
        pieces = re.split(r"(?<!\\)\*", pattern)
        literals = [piece.replace(r"\*", "*") for piece in pieces]
        # `ls *` is also `ls` alone
        tail = r"(?: .*)?" if len(pieces) > 1 and not pieces[-1] and literals[-2].endswith(" ") else ""
        if tail:
            literals = [*literals[:-2], literals[-2][:-1]]
        regex = ".*".join(re.escape(literal) for literal in literals) + tail
        return cls(
            text.strip(),
            match["tool"],
            re.compile(regex, re.DOTALL),
            literals[0] if len(pieces) == 1 else None,
        )

    def names(self, tool: str) -> bool:
        """True if the rule is for this tool: it has its name, or that of its MCP server (`mcp__server`)."""
        is_server = self.tool.startswith("mcp__") and self.tool.count("__") == 1
        return self.tool == tool or (is_server and tool.startswith(f"{self.tool}__"))

    def takes(self, text: str) -> bool:
        """True if the pattern matches all of `text`; a rule without a pattern takes any."""
        return self.regex is None or self.regex.fullmatch(text) is not None


class Rules:
    """The rules of a session: those of settings and those a person gave on the way."""

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        """
        Raises:
            ValueError: one of the texts is no rule.
        """
        self._allow: dict[str, tuple[Rule, Scope]] = {rule: (Rule.parse(rule), "settings") for rule in allow}
        self._deny = [Rule.parse(rule) for rule in deny]
        self.guides: Callable[[], Collection[Path]] = tuple
        """Gives the places of further files that tell a model what to do, links followed."""

    def decide(self, tool: Tool, need: Need, mode: Mode = "ask") -> Decision:
        """Whether a call may run: `ask` means that a person decides."""
        denying = [rule for rule in self._deny if rule.names(tool.name)]
        if denying and _covers(denying, need, any_part=True):
            return "deny"
        if mode == "plan" and barred(tool, need):
            return "deny"
        if need.kind == "none":
            return "allow"
        if need.outside or (need.kind == "write" and any(map(guard.in_git, need.paths))):
            return "ask"
        if need.kind == "read":
            return "allow"
        if mode == "auto-edit" and _only_edits(need, self.guides()):
            return "allow"
        allowing = [rule for rule, _ in self._allow.values() if rule.names(tool.name)]
        return "allow" if allowing and _covers(allowing, need, any_part=False) else "ask"

    def remember(self, rule: str, scope: Scope = "session") -> None:
        """Allow from now on what `rule` names.

        Raises:
            ValueError: it is no rule.
        """
        parsed = Rule.parse(rule)
        self._allow[parsed.text] = (parsed, scope)

    def allowed(self) -> Sequence[tuple[str, Scope]]:
        """The rules that allow something, oldest first, each with where it comes from."""
        return [(rule.text, scope) for rule, scope in self._allow.values()]


def _only_edits(need: Need, guides: Collection[Path]) -> bool:
    """True for a change of files that tell no model what to do; `guides` are some that do."""
    return (
        need.kind == "write"
        and bool(need.paths)
        and not any(path in guides or _guides(need.place, path) for path in need.paths)
    )


def _guides(place: str, path: Path) -> bool:
    parts = [part.casefold() for part in Path(guard.relative(place, path) if place else path).parts]
    return not GUIDE_FOLDERS.isdisjoint(parts) or (bool(parts) and parts[-1] in GUIDES)


def barred(tool: Tool, need: Need) -> str:
    """Why a call may not run while a plan is made, or `""`: it may write. What a tool says it needs decides."""
    if need.kind in ("none", "read"):
        return ""
    if need.kind == "run" and tool.name == _SHELL and need.command:
        from tui_agent.tools import readonly  # not needed outside of plan mode

        why = readonly.refusal(need.command, need.place)
        return f"this command may do more than look: {why}" if why else ""
    return f"{tool.name} may change something"


def _covers(rules: Sequence[Rule], need: Need, *, any_part: bool) -> bool:
    """True if the rules match what is needed: each part of it, or with `any_part` at least one."""
    if any(rule.regex is None for rule in rules):
        return True
    if need.kind == "run":
        return _covers_command(rules, need.command, any_part=any_part)
    base = Path(need.place) if need.place else None
    names = [guard.relative(base, path) if base else path.as_posix() for path in need.paths]
    matched = [any(rule.takes(name) for rule in rules) for name in names]
    return any(matched) if any_part else bool(matched) and all(matched)


def _covers_command(rules: Sequence[Rule], command: str, *, any_part: bool) -> bool:
    try:
        parts = [part.text for part in split(command)]
    except NotPlain:
        # what cannot be taken apart is never allowed by a pattern; it is refused by one that fits its text
        return any_part and any(rule.takes(command.strip()) for rule in rules)
    if any(rule.exact == command.strip() for rule in rules):
        return True
    matched = [any(rule.takes(part) for rule in rules) for part in parts]
    return any(matched) if any_part else bool(matched) and all(matched)
