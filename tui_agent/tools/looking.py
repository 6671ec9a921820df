"""Programs and options that only look, in tables: what `readonly` goes by.

A program that is not here, and an option that is not listed with it, is taken for one that may write.
"""

from __future__ import annotations

import re

from msgspec import Struct

NUMBER = re.compile(r"-\d+")


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
        if not word.startswith("-") or word in ("-", "--") or NUMBER.fullmatch(word):
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


FREE = _set(
    "basename cat cksum cmp column comm cut df diff dirname du echo egrep expand false fgrep fold grep head hexdump id "
    "join ls md5sum nl nproc od paste ps pwd readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum "
    "sha512sum b2sum shasum stat strings sum tac tail tr true type uname unexpand uptime wc which whoami"
)
"""Programs that write nothing and run nothing, whatever they are given."""

CHECKED = {
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

FIND = _set(
    "a amin and anewer atime cmin cnewer ctime d daystart depth empty executable false follow fstype gid group H "
    "ilname iname inum ipath iregex iwholename L links lname ls maxdepth mindepth mmin mount mtime name newer newermt "
    "nogroup noleaf not nouser o or P path perm print print0 printf prune quit readable regex regextype samefile size "
    "true type uid user wholename writable xdev xtype"
)

TESTS = _set("-e -f -d -r -w -x -s -L -h -n -z -a -o -b -c -p -S -eq -ne -lt -le -gt -ge -nt -ot -ef")

SED_SCRIPT = re.compile(
    r"(?:(?:\d+|\$|/[^/\\\n]*/)(?:,(?:\+?\d+|\$|/[^/\\\n]*/))?!?[pdq=]|s/[^/\\\n]*/[^/\\\n]*/[gpI0-9]*)"
)
"""Commands of sed that print, leave out or replace in what is printed; `w` and `e` write and run."""
_AWK_NUMBER = r"NR\s*(?:==|[<>]=?)\s*\d+"
AWK_SCRIPT = re.compile(
    rf"(?:{_AWK_NUMBER}(?:\s*(?:&&|\|\|)\s*{_AWK_NUMBER})?|/[^/\\\n]*/)?\s*"
    r"(?:\{\s*print(?:\s+\$?\w+(?:\s*,\s*\$?\w+)*)?\s*\})?"
)
"""What of awk only prints lines and their fields."""
SED_FLAGS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended")

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

GIT = {
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

GIT_LISTS = {
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

GIT_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"))
"""Options of git itself, which stand before its command."""

VERSIONS = _set("gcc git java make node perl php python python3 ruby")
"""Programs that tell their version and do nothing else for it, such as fetching the one that a project names."""
