"""Which shell commands only look: what plan mode lets a model run.

A command is taken apart (`commandline`), and each of its parts must be a program of the tables (`looking`) with options
that are listed there; whatever is not is refused, abbreviations of an option too. Refused as well are substitutions,
variables and redirections (but for errors to nowhere or to the output), a program called by its path, and where options
matter a word that file names of the workspace could turn into one (`*`). What remains reads files; it may still name
places outside of the workspace, which is asked about as always.

A command that reads may run what the person's own configuration names (git's external diff, a file system monitor):
the tables say what a command line does, not what a configuration makes of it. What a repository's own configuration
has git run is another's (see `repository`), and there git is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tui_agent.tools import looking, repository
from tui_agent.tools.commandline import NotPlain, Part, split
from tui_agent.workspace import guard

_GLOBS = frozenset("*?[")
_SILENCED = re.compile(r"2>(?:&1|[ \t]?/dev/null)(?=[\s;|&]|$)")
"""Redirections that write no file: errors go where the output goes, or nowhere."""
_BEFORE_A_WORD = frozenset(" \t\n;|&")
_MOST_FOLDERS = 8
"""That a command with git in it may be run in."""
_TAKES_NEXT = frozenset(("--format", "--sort", "--points-at"))
"""Options that take the next word for their value: `git branch --format --list new` makes a branch."""


def refusal(command: str, folder: str = "") -> str:
    """Why a shell command may do more than look, in words; `""` if it only looks. `folder` is where it would run."""
    try:
        parts = split(_unsilenced(command))
    except NotPlain as error:
        return f"it holds {error}"
    if not parts:
        return "there is no command in it"
    refused = next((why for part in parts if (why := _refusal(part))), "")
    return refused or (_shadowed(parts, folder) or _configured(parts, folder) if folder else "")


def _shadowed(parts: Sequence[Part], folder: str) -> str:
    """Which program is none of the system's: the search path finds it in the folder, which a repository may fill."""
    if os.path.realpath(folder) == os.sep:
        return ""
    search = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for name in sorted({part.values[0] for part in parts}):
        # an empty entry is the folder itself
        found = (os.path.join(folder, entry) for entry in search)  # noqa: PTH118
        first = next((place for place in found if os.path.exists(os.path.join(place, name))), "")  # noqa: PTH110, PTH118
        if first and guard.inside(folder, first):
            return f"{name} would be that of the workspace, in {first}"
    return ""


def _configured(parts: Sequence[Part], folder: str) -> str:
    """What a repository would have git run, in any of the folders that a command may have gone to before."""
    folders, clear = {folder}, True
    for part in parts:
        program, given = part.values[0], part.values[1:]
        if program == "git":
            if not clear or len(folders) > _MOST_FOLDERS:
                return "git: it is not plain in which folder it runs"
            if why := next(filter(None, map(repository.program, sorted(folders))), ""):
                return f"git: {why}"
        elif program == "cd":
            clear = clear and _GLOBS.isdisjoint(given[0])
            to = str(Path.home()) + given[0][1:] if given[0] == "~" or given[0].startswith("~/") else given[0]
            # as bash takes it: `..` behind a link leads back to where the link lies
            folders |= {os.path.normpath(os.path.join(place, to)) for place in folders}  # noqa: PTH118 - see above
    return ""


def _unsilenced(command: str) -> str:
    """The command without the redirections that write no file, where they stand by themselves and outside of quotes."""
    kept, quote, at, begins = list[str](), "", 0, True
    while at < len(command):
        character = command[at]
        if not quote and begins and (found := _SILENCED.match(command, at)):
            at = found.end()
            continue
        if character == "\\" and quote != "'":
            kept.append(command[at : at + 2])
            at, begins = at + 2, False
            continue
        if character == quote:
            quote = ""
        elif character in "'\"" and not quote:
            quote = character
        kept.append(character)
        at, begins = at + 1, not quote and character in _BEFORE_A_WORD
    return "".join(kept)


def _refusal(part: Part) -> str:
    program, given = part.values[0], part.values[1:]
    if any(map(_expands, part.words)):
        return "it holds a variable"
    if program in looking.FREE:
        return ""
    if program in looking.VERSIONS and given == ("--version",):
        return ""
    rule = _RULES.get(program)
    if rule is None:
        return f"{program} is not known to only read"
    if any(_may_become_option(word) for word in part.words[1:]):
        return f"a word of {program} begins with a wildcard, which a file name may turn into an option"
    why = rule(given)
    return f"{program}: {why}" if why else ""


def _expands(word: str) -> bool:
    """True if the shell puts the value of a variable into a word."""
    quote, at = "", 0
    while at < len(word):
        character = word[at]
        if character == "\\" and quote != "'":
            at += 1
        elif character == quote:
            quote = ""
        elif character in "'\"" and not quote:
            quote = character
        elif character == "$" and quote != "'":
            return True
        at += 1
    return False


def _may_become_option(word: str) -> bool:
    """True if the shell may find file names for a word that begin with a dash."""
    quote, leading, at = "", True, 0
    while at < len(word):
        character = word[at]
        if character == "\\" and quote != "'":
            leading = leading and word[at + 1 : at + 2] == "-"
            at += 1
        elif character == quote:
            quote = ""
        elif character in "'\"" and not quote:
            quote = character
        elif character in _GLOBS and not quote and leading:
            return True
        else:
            leading = leading and character == "-"
        at += 1
    return False


def _checked(options: looking.Options) -> Callable[[Sequence[str]], str]:
    return lambda given: next((why for word in given if (why := options.refusal(word))), "")


def _awk(given: Sequence[str]) -> str:
    rest = list(given)
    while rest and rest[0].startswith("-F"):
        del rest[: 2 if rest[0] == "-F" else 1]
    if not rest or any(word.startswith("-") for word in rest):
        return "an option that is not known to only read"
    return (
        ""
        if rest[0].strip() and looking.AWK_SCRIPT.fullmatch(rest[0].strip())
        else "its script may do more than print"
    )


def _cd(given: Sequence[str]) -> str:
    return "" if len(given) == 1 and not given[0].startswith("-") else "more than one folder to go to"


def _date(given: Sequence[str]) -> str:
    fine = all(word.startswith("+") or word in ("-u", "-I", "-R", "--utc", "--iso-8601") for word in given)
    return "" if fine else "it may set the clock"


def _find(given: Sequence[str]) -> str:
    for word in given:
        if (
            word.startswith("-")
            and not looking.NUMBER.match(word)
            and word[1:] not in looking.FIND
            and word != "-"
        ):
            return f"{word} is not known to only look"
    return ""


def _printf(given: Sequence[str]) -> str:
    return "an option" if given and given[0].startswith("-") else ""


def _command(given: Sequence[str]) -> str:
    return "" if len(given) >= 2 and given[0] in ("-v", "-V") else "it runs another"


def _sed(given: Sequence[str]) -> str:
    for word in given:
        if word.startswith("-") and not looking.SED_FLAGS.fullmatch(word):
            return f"option {word} is not known to only read"
    scripts = [word for word in given if not word.startswith("-")][:1]
    if not scripts or not all(looking.SED_SCRIPT.fullmatch(piece.strip()) for piece in scripts[0].split(";")):
        return "its script is not known to only print"
    return ""


def _test(given: Sequence[str]) -> str:
    for word in given:
        if word.startswith("-") and word not in looking.TESTS:
            return f"{word} is not known to only look"
    return ""


def _uniq(given: Sequence[str]) -> str:
    fine = all(re.fullmatch(r"-[cdDuiz]+|--(?:count|repeated|unique|ignore-case)", word) for word in given)
    return "" if fine else "what is no option may be a file that it writes"


def _git(given: Sequence[str]) -> str:
    rest = list(given)
    while rest and rest[0] in looking.GIT_BEFORE:
        rest.pop(0)
    if not rest:
        return "no command"
    name, words = rest[0], rest[1:]
    if name in looking.GIT:
        why = _checked(looking.GIT[name])(words)
    elif name in looking.GIT_LISTS:
        why = _checked(looking.GIT_LISTS[name])(words) or _git_operands(name, words)
    else:
        return f"{name} is not known to only read"
    return f"{name}: {why}" if why else ""


def _git_operands(name: str, words: Sequence[str]) -> str:
    """What a command of git that looks or writes may be given besides options."""
    operands = [word for word in words if not word.startswith("-")]
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    if apart := _TAKES_NEXT.intersection(words):
        return f"the value of {min(apart)} must stand behind a `=`, or the next option may be taken for it"
    match name:
        case "branch":
            fine = not operands or any(
                o in options for o in ("--list", "--contains", "--merged", "--no-merged")
            )
        case "tag":
            fine = not operands or any(o in options for o in ("--list", "-l", "--contains", "--merged"))
        case "config":
            reads = ("--list", "-l", "--get", "--get-all", "--get-regexp", "--get-urlmatch")
            fine = any(o in options for o in reads) or words[:1] in (["get"], ["list"])
        case "remote":
            fine = not operands or words[0] == "get-url"
        case "reflog":
            fine = not operands or words[0] == "show"
        case "submodule":
            fine = words[:1] == ["status"]
        case _:
            fine = words[:1] in (["list"], ["show"])  # behind an option it would be a file to stash
    return "" if fine else "what it is given may change the repository"


_RULES: dict[str, Callable[[Sequence[str]], str]] = {
    "[": _test,
    "awk": _awk,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "find": _find,
    "git": _git,
    "printf": _printf,
    "sed": _sed,
    "test": _test,
    "uniq": _uniq,
    **{program: _checked(options) for program, options in looking.CHECKED.items()},
}
