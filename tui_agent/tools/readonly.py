"""Which shell commands only look: what plan mode lets a model run.

A command is taken apart (`commandline`), and each of its parts must be a program of the table below with options that
it lists; whatever is not listed is refused, abbreviations of an option too. Refused as well are substitutions,
redirections and variables, a program called by its path, and where options matter a word that file names of the
workspace could turn into one (`*`). What remains reads files; it may still name places outside of the workspace, which
is asked about as always.

A command that reads may run what the person's own configuration names (git's external diff, a file system monitor):
the table says what a command line does, not what a configuration makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from tui_agent.tools.commandline import NotPlain, Part, split

_GLOBS = frozenset("*?[")
_NUMBER = re.compile(r"-\d+")


class Options(Struct, frozen=True):
    """The options that a program may be given.

    `flags` and `valued` are letters; after one of `valued` the rest of the word is its value. `long` are whole names,
    with a value behind `=` or without.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()

    def refusal(self, word: str) -> str:
        """Why a word may not be given, or `""`."""
        if not word.startswith("-") or word in ("-", "--") or _NUMBER.fullmatch(word):
            return ""
        if word.startswith("--"):
            return "" if word.partition("=")[0] in self.long else f"option {word} is not known to only read"
        for letter in word[1:]:
            if letter in self.valued:
                return ""
            if letter not in self.flags:
                return f"option -{letter} is not known to only read"
        return ""


def _options(flags: str = "", valued: str = "", long: str = "") -> Options:
    return Options(flags, valued, frozenset(f"--{name}" for name in long.split()))


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FREE = _set(
    "basename cat cksum cmp column comm cut df diff dirname du echo egrep expand false fgrep fold grep head hexdump id "
    "join ls md5sum nl nproc od paste ps pwd readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum "
    "sha512sum b2sum shasum stat strings sum tac tail tr true type uname unexpand uptime wc which whoami"
)
"""Programs that write nothing and run nothing, whatever they are given."""

_CHECKED = {
    "file": _options("bihkL0E", long="brief mime mime-type mime-encoding dereference no-dereference"),
    "jq": _options(
        "nrcsSMCaejR", long="arg argjson raw-output compact-output null-input slurp sort-keys raw-input"
    ),
    "rg": _options(
        "iSsnNlcvwxoqFPUuaHIL0hpb.",
        "ABCefgtTmMrdj",
        "after-context before-context context regexp file glob iglob type type-not type-list max-count max-columns "
        "replace max-depth ignore-case smart-case case-sensitive line-number no-line-number files files-with-matches "
        "files-without-match count count-matches invert-match word-regexp line-regexp only-matching quiet "
        "fixed-strings pcre2 multiline multiline-dotall hidden no-ignore no-ignore-vcs text with-filename no-filename "
        "follow null column byte-offset heading no-heading json sort sortr stats trim vimgrep color colors pretty "
        "passthru help version no-messages max-filesize one-file-system crlf unrestricted",
    ),
    "sort": _options(
        "bdfghiMnRrVsuzcCm",
        "kt",
        "key field-separator reverse numeric-sort human-numeric-sort version-sort general-numeric-sort unique stable "
        "ignore-case dictionary-order ignore-leading-blanks month-sort random-sort zero-terminated check merge",
    ),
    # its options of one letter take what follows the word, not the rest of it
    "tree": _options(
        "adfhilpsugDFrtUvcCnxNLIP", long="dirsfirst gitignore noreport du si prune help version"
    ),
}

_FIND = _set(
    "a amin and anewer atime cmin cnewer ctime d daystart depth empty executable false follow fstype gid group H "
    "ilname iname inum ipath iregex iwholename L links lname ls maxdepth mindepth mmin mount mtime name newer newermt "
    "nogroup noleaf not nouser o or P path perm print print0 printf prune quit readable regex regextype samefile size "
    "true type uid user wholename writable xdev xtype"
)

_TESTS = _set("-e -f -d -r -w -x -s -L -h -n -z -a -o -b -c -p -S -eq -ne -lt -le -gt -ge -nt -ot -ef")

_SED_SCRIPT = re.compile(
    r"(?:(?:\d+|\$|/[^/\\\n]*/)(?:,(?:\+?\d+|\$|/[^/\\\n]*/))?!?[pdq=]|s/[^/\\\n]*/[^/\\\n]*/[gpI0-9]*)"
)
"""Commands of sed that print, leave out or replace in what is printed; `w` and `e` write and run."""
_AWK_NUMBER = r"NR\s*(?:==|[<>]=?)\s*\d+"
_AWK_SCRIPT = re.compile(
    rf"(?:{_AWK_NUMBER}(?:\s*(?:&&|\|\|)\s*{_AWK_NUMBER})?|/[^/\\\n]*/)?\s*"
    r"(?:\{\s*print(?:\s+\$?\w+(?:\s*,\s*\$?\w+)*)?\s*\})?"
)
"""What of awk only prints lines and their fields."""
_SED_FLAGS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended")

_LOOKS = (
    "abbrev abbrev-commit all all-match author authors before after branches cc cherry-mark children color color-words "
    "committer count cumulative date date-order decorate diff-algorithm diff-filter diff-merges dirstat exit-code "
    "find-copies find-copies-harder find-renames first-parent follow format full-diff full-history full-index "
    "function-context graph grep heads histogram ignore-all-space ignore-blank-lines ignore-cr-at-eol "
    "ignore-space-at-eol ignore-space-change indent-heuristic inter-hunk-context invert-grep left-right "
    "max-count merge-base merges min-parents max-parents minimal name-only name-status no-abbrev-commit no-color "
    "no-decorate no-ext-diff no-merges no-notes no-patch no-prefix no-renames no-textconv not notes numstat oneline "
    "parents patch patch-with-stat patience pretty quiet raw regexp-ignore-case relative relative-date remotes reverse "
    "root shortstat show-notes show-pulls simplify-by-decoration simplify-merges since since-as-filter skip source "
    "stat staged cached summary tags text topo-order unified until walk-reflogs word-diff word-diff-regex perl-regexp "
    "fixed-strings extended-regexp basic-regexp pickaxe-all pickaxe-regex ancestry-path boundary no-walk"
)
_HISTORY = _options("pusbwzaiEFPRgmctWr", "nUSGLMCBlDX", _LOOKS)

_GIT = {
    "blame": _options(
        "bslpcewtfn", "LMCS", "root show-stats porcelain line-porcelain show-name show-number date show-email",
    ),
    "cat-file": _options("tspe", "", "batch-check"),
    "count-objects": _options("vH", "", "verbose human-readable"),
    "describe": _options(long="tags all long always abbrev match exclude contains exact-match first-parent candidates"),
    "diff": _HISTORY,
    "diff-files": _HISTORY,
    "diff-index": _HISTORY,
    "diff-tree": _HISTORY,
    "for-each-ref": _options("", "", "format sort count points-at merged no-merged contains no-contains"),
    "grep": _options(
        "ivwnlLcEGFPhHqWpzoar", "ABCefm", "cached untracked no-index ignore-case word-regexp invert-match line-number "
        "column files-with-matches name-only files-without-match count extended-regexp fixed-strings perl-regexp "
        "show-function function-context max-depth and or not all-match heading break only-matching recursive",
    ),
    "log": _HISTORY,
    "ls-files": _options(
        "codsmkituvfz", "xX", "cached others modified deleted stage ignored exclude-standard directory full-name "
        "error-unmatch unmerged killed exclude abbrev eol",
    ),
    "ls-tree": _options("drtlz", "", "long name-only name-status full-name full-tree abbrev object-only"),
    "merge-base": _options("a", "", "all octopus independent is-ancestor fork-point"),
    "name-rev": _options("", "", "tags refs all name-only always"),
    "rev-list": _HISTORY,
    "rev-parse": _options(
        "q", "", "verify quiet short abbrev-ref symbolic symbolic-full-name show-toplevel show-prefix show-cdup "
        "git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository all branches "
        "tags remotes show-superproject-working-tree is-shallow-repository",
    ),
    "shortlog": _options("nsec", "w", "numbered summary email committer group all since until no-merges author"),
    "show": _HISTORY,
    "show-ref": _options("dsq", "", "heads tags dereference hash verify quiet abbrev head"),
    "status": _options(
        "sbvz", "u", "short branch show-stash porcelain long verbose untracked-files ignored ignore-submodules column "
        "no-column ahead-behind no-ahead-behind renames no-renames find-renames",
    ),
    "whatchanged": _HISTORY,
}  # fmt: skip
"""Commands of git that only look, whatever their operands are."""

_GIT_LISTS = {
    "branch": _options(
        "avr", "", "list all remotes verbose show-current contains no-contains merged no-merged sort format color "
        "no-color points-at column no-column",
    ),
    "tag": _options("l", "n", "list contains no-contains merged no-merged sort format points-at column color"),
    "remote": _options("v", "", "verbose"),
    "stash": _HISTORY,
    "worktree": _options("v", "", "porcelain verbose"),
    "config": _options(
        "lz", "", "list get get-all get-regexp get-urlmatch show-origin show-scope local global system name-only",
    ),
    "reflog": _HISTORY,
    "submodule": _options("", "", "cached recursive"),
    "notes": _options(),
}  # fmt: skip
"""Commands of git that look or write, by their operands."""

_GIT_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"))
"""Options of git itself, which stand before its command."""

_VERSIONS = _set("gcc git java make node perl php python python3 ruby")
"""Programs that tell their version and do nothing else for it, such as fetching the one that a project names."""


def refusal(command: str) -> str:
    """Why a shell command may do more than look, in words; `""` if it only looks."""
    try:
        parts = split(command)
    except NotPlain as error:
        return f"it holds {error}"
    if not parts:
        return "there is no command in it"
    return next((why for part in parts if (why := _refusal(part))), "")


def _refusal(part: Part) -> str:
    program, given = part.values[0], part.values[1:]
    if any(map(_expands, part.words)):
        return "it holds a variable"
    if program in _FREE:
        return ""
    if program in _VERSIONS and given == ("--version",):
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


def _checked(options: Options) -> Callable[[Sequence[str]], str]:
    return lambda given: next((why for word in given if (why := options.refusal(word))), "")


def _awk(given: Sequence[str]) -> str:
    rest = list(given)
    while rest and rest[0].startswith("-F"):
        del rest[: 2 if rest[0] == "-F" else 1]
    if not rest or any(word.startswith("-") for word in rest):
        return "an option that is not known to only read"
    return (
        ""
        if rest[0].strip() and _AWK_SCRIPT.fullmatch(rest[0].strip())
        else "its script may do more than print"
    )


def _cd(given: Sequence[str]) -> str:
    return "" if len(given) == 1 and not given[0].startswith("-") else "more than one folder to go to"


def _date(given: Sequence[str]) -> str:
    fine = all(word.startswith("+") or word in ("-u", "-I", "-R", "--utc", "--iso-8601") for word in given)
    return "" if fine else "it may set the clock"


def _find(given: Sequence[str]) -> str:
    for word in given:
        if word.startswith("-") and not _NUMBER.match(word) and word[1:] not in _FIND and word != "-":
            return f"{word} is not known to only look"
    return ""


def _printf(given: Sequence[str]) -> str:
    return "an option" if given and given[0].startswith("-") else ""


def _command(given: Sequence[str]) -> str:
    return "" if len(given) >= 2 and given[0] in ("-v", "-V") else "it runs another"


def _sed(given: Sequence[str]) -> str:
    for word in given:
        if word.startswith("-") and not _SED_FLAGS.fullmatch(word):
            return f"option {word} is not known to only read"
    scripts = [word for word in given if not word.startswith("-")][:1]
    if not scripts or not all(_SED_SCRIPT.fullmatch(piece.strip()) for piece in scripts[0].split(";")):
        return "its script is not known to only print"
    return ""


def _test(given: Sequence[str]) -> str:
    for word in given:
        if word.startswith("-") and word not in _TESTS:
            return f"{word} is not known to only look"
    return ""


def _uniq(given: Sequence[str]) -> str:
    fine = all(re.fullmatch(r"-[cdDuiz]+|--(?:count|repeated|unique|ignore-case)", word) for word in given)
    return "" if fine else "what is no option may be a file that it writes"


def _git(given: Sequence[str]) -> str:
    rest = list(given)
    while rest and rest[0] in _GIT_BEFORE:
        rest.pop(0)
    if not rest:
        return "no command"
    name, words = rest[0], rest[1:]
    if name in _GIT:
        why = _checked(_GIT[name])(words)
    elif name in _GIT_LISTS:
        why = _checked(_GIT_LISTS[name])(words) or _git_operands(name, words)
    else:
        return f"{name} is not known to only read"
    return f"{name}: {why}" if why else ""


def _git_operands(name: str, words: Sequence[str]) -> str:
    """What a command of git that looks or writes may be given besides options."""
    operands = [word for word in words if not word.startswith("-")]
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
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
    **{program: _checked(options) for program, options in _CHECKED.items()},
}
