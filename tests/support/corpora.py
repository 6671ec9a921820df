"""Text of many kinds, made the same every time: English, code in three languages, JSON, logs, Chinese, Japanese.

    corpus("json", seed=3).take(4000)     # about so many characters, always others, always the same for a seed

English is this Python's own documentation. Python is its standard library; JavaScript and Go are made of that token by
token, in the spelling, the layout and the words of those languages. JSON and logs are records of invented services.
Chinese and Japanese sentences are put together of words that a developer says.
"""

from __future__ import annotations

import inspect
import io
import json
import keyword
import random
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module

from tests.support import words

MODULES = (
    "argparse", "ast", "asyncio.base_events", "asyncio.tasks", "calendar", "configparser", "csv", "dataclasses",
    "difflib", "email.message", "fractions", "gettext", "heapq", "http.client", "http.cookiejar", "imaplib",
    "ipaddress", "json.decoder", "locale", "logging", "mailbox", "pathlib", "pickle", "pprint", "random", "sched",
    "shlex", "shutil", "statistics", "subprocess", "tarfile", "tempfile", "textwrap", "threading", "traceback",
    "typing", "urllib.parse", "urllib.request", "uuid", "zipfile",
)  # fmt: skip


class Corpus:
    """One kind of text. Each `take` goes on where the last one ended."""

    def __init__(self, name: str, pieces: Iterator[str]) -> None:
        self.name = name
        self._pieces = pieces

    def take(self, characters: int) -> str:
        """So many characters, to the end of the piece in which they end."""
        taken: list[str] = []
        length = 0
        while length < characters:
            taken.append(next(self._pieces))
            length += len(taken[-1])
        return "".join(taken)


def corpus(name: str, seed: int = 0) -> Corpus:
    """A corpus by its name (see `NAMES`)."""
    return Corpus(name, _KINDS[name](random.Random(f"{name} {seed}")))


# --- English and code ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _paragraphs() -> tuple[str, ...]:
    """Paragraphs of the documentation that are prose."""
    texts = [str(text) for text in import_module("pydoc_data.topics").topics.values()]
    found = [part for text in texts for part in textwrap.dedent(text).split("\n\n")]
    prose = [re.sub(r"[ \n]+", " ", part).strip() for part in found if not part.startswith((" ", "   >>>"))]
    return tuple(part for part in prose if 200 < len(part) < 900 and part.count(" ") * 9 > len(part))


def _english(chance: random.Random) -> Iterator[str]:
    while True:
        yield f"{chance.choice(_paragraphs())}\n\n"


@lru_cache(maxsize=1)
def _functions() -> tuple[str, ...]:
    """Functions, methods and classes of the standard library."""
    found = []
    for name in MODULES:
        source = inspect.getsource(import_module(name))
        found += re.split(r"\n(?=(?: {4})?(?:def|class|async def) )", source)[1:]
    return tuple(textwrap.dedent(part).rstrip() + "\n\n" for part in found if 150 < len(part) < 6000)


def _python(chance: random.Random) -> Iterator[str]:
    while True:
        yield chance.choice(_functions())


def _javascript(chance: random.Random) -> Iterator[str]:
    while True:
        yield _translated(chance.choice(_functions()), _JS, indent="  ", name=_camel)


def _go(chance: random.Random) -> Iterator[str]:
    while True:
        yield _translated(chance.choice(_functions()), _GO, indent="\t", name=_camel)


_JS = {
    "def": "function", "self": "this", "None": "null", "True": "true", "False": "false", "and": "&&", "or": "||",
    "not": "!", "is": "===", "elif": "} else if", "else": "} else", "except": "} catch", "finally": "} finally",
    "raise": "throw new", "pass": "", "lambda": "=>", "import": "import", "from": "from", "in": "of", "with": "using",
    "==": "===", "!=": "!==", "del": "delete", "#": "//",
}  # fmt: skip
_GO = {
    "def": "func", "self": "s", "None": "nil", "True": "true", "False": "false", "and": "&&", "or": "||", "not": "!",
    "is": "==", "elif": "} else if", "else": "} else", "except": "if err :=", "finally": "defer", "raise": "return",
    "pass": "", "lambda": "func", "import": "import", "from": "package", "in": ":= range", "with": "defer",
    "class": "type", "while": "for", "try": "", "=": ":=", "#": "//", "str": "string", "len": "len",
}  # fmt: skip


def _camel(name: str) -> str:
    head, *rest = name.split("_") if not name.startswith("_") and not name.isupper() else [name]
    return head + "".join(part.capitalize() for part in rest)


def _translated(source: str, spelling: dict[str, str], *, indent: str, name: Callable[[str], str]) -> str:
    """Python in the looks of a language with braces; what a reader sees of it, not what a compiler does."""
    lines: list[str] = []
    line: list[str] = []
    depth = 0
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError):
        return source
    for token in tokens:
        match token.type:
            case tokenize.INDENT:
                depth += 1
            case tokenize.DEDENT:
                depth -= 1
                lines.append(indent * depth + "}")
            case tokenize.NEWLINE:
                text = "".join(line).strip()
                opens = text.endswith(":")
                lines.append(indent * depth + (text[:-1].rstrip() + " {" if opens else text + ";"))
                line = []
            case tokenize.NL:
                lines.append((indent * depth + "".join(line).strip()) if line else "")
                line = []
            case tokenize.COMMENT:
                line.append(" //" + token.string[1:])
            case tokenize.STRING if token.string.lstrip("rbuf").startswith(('"""', "'''")):
                doc = token.string.strip("rbuf").strip("\"'").strip()
                line.append("/* " + doc.replace("\n", "\n" + indent * depth + " * ") + " */")
            case tokenize.STRING:
                line.append(token.string.lstrip("rbuf"))
            case tokenize.NAME:
                text = spelling.get(token.string, token.string)
                text = text if token.string in spelling or keyword.iskeyword(token.string) else name(text)
                line.append(f" {text}" if _spaced(line) else text)
            case tokenize.OP:
                text = spelling.get(token.string, token.string)
                line.append(f" {text} " if token.string in _SPREAD else text + (" " if text == "," else ""))
            case _:
                line.append(token.string)
    return re.sub(r"(?<=\S) +(?=[ ;,)])", "", "\n".join(lines)).strip() + "\n\n"


_SPREAD = frozenset({"=", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "+=", "-=", "->"})


def _spaced(line: list[str]) -> bool:
    return bool(line) and line[-1][-1:].isalnum()


# --- JSON and logs -------------------------------------------------------------------------------------------------


class Dice:
    """Picks words, names, numbers and times."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.pick, self.number, self.random = chance.choice, chance.randint, chance.random

    def noun(self) -> str:
        """The name of a thing that services deal with."""
        return self.pick(words.NOUNS)

    def verb(self) -> str:
        """What is done to it."""
        return self.pick(words.VERBS)

    def name(self) -> str:
        """A person's name."""
        return self.pick(words.NAMES)

    def some(self, least: int, most: int) -> str:
        """So many words in no order."""
        return " ".join(self.pick((*words.NOUNS, *words.VERBS)) for _ in range(self.number(least, most)))

    def hex(self, digits: int) -> str:
        """A hexadecimal number."""
        return f"{self._chance.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """A random UUID."""
        return "-".join(self.hex(digits) for digits in (8, 4, 4, 4, 12))

    def clock(self) -> str:
        """A time of day."""
        return f"{self.number(0, 23):02}:{self.number(0, 59):02}:{self.number(0, 59):02}"

    def time(self) -> str:
        """A moment."""
        return f"202{self.number(2, 6)}-{self.number(1, 12):02}-{self.number(1, 28):02}T{self.clock()}"

    def address(self) -> str:
        """An IPv4 address."""
        return ".".join(str(self.number(1, 254)) for _ in range(4))

    def path(self) -> str:
        """The path of a file."""
        parts = [self.noun() for _ in range(self.number(2, 4))]
        return "/".join(parts) + self.pick((".py", ".ts", ".go", ".json", ".yaml", ".md", ""))

    def key(self) -> str:
        """The name of a field."""
        parts = [self.noun() for _ in range(self.pick((1, 1, 2, 2, 3)))]
        return "_".join(parts) if self.random() < 0.5 else _camel("_".join(parts))

    def decimal(self) -> float:
        """A number with some digits behind its point."""
        return round(self._chance.uniform(-1000, 1000), self.number(1, 6))


def _value(dice: Dice, depth: int) -> object:
    if depth and dice.random() < 0.3:
        if dice.random() < 0.5:
            return [_value(dice, depth - 1) for _ in range(dice.number(1, 4))]
        return {dice.key(): _value(dice, depth - 1) for _ in range(dice.number(2, 6))}
    scalars: tuple[object, ...] = (
        dice.number(0, 10 ** dice.number(1, 9)),
        dice.decimal(),
        dice.random() < 0.5,
        None,
        dice.time() + dice.pick(("Z", "+02:00", ".123Z")),
        dice.uuid(),
        f"{dice.name()} {dice.name()}",
        f"{dice.name().lower()}@{dice.noun()}.example.org",
        f"https://{dice.noun()}.example.org/{dice.path()}?{dice.key()}={dice.number(1, 999)}",
        dice.some(2, 9),
        dice.some(4, 12).capitalize() + ".",
        dice.noun(),
        dice.noun().upper(),
    )
    return dice.pick(scalars)


def _json(chance: random.Random) -> Iterator[str]:
    dice = Dice(chance)
    while True:
        keys = [dice.key() for _ in range(dice.number(4, 12))]
        rows = [{key: _value(dice, 2) for key in keys} for _ in range(dice.number(1, 6))]
        yield json.dumps(rows if len(rows) > 1 else rows[0], indent=dice.pick((None, 2, 2, 4))) + "\n"


def _logs(chance: random.Random) -> Iterator[str]:
    dice = Dice(chance)
    while True:
        shape = dice.pick((_service_line, _access_line, _system_line, _build_line, _trace_line))
        for _ in range(dice.number(8, 40)):
            yield shape(dice) + "\n"


def _service_line(dice: Dice) -> str:
    level = dice.pick(("INFO ", "INFO ", "DEBUG", "WARN ", "ERROR"))
    head = f"{dice.time()}.{dice.number(0, 999):03}Z {level} [{dice.noun()}-{dice.number(1, 16)}]"
    tail = f"{dice.noun()}_id={dice.hex(12)} attempt={dice.number(1, 5)} took={dice.number(1, 9000)}ms"
    return f"{head} {dice.verb()} {dice.noun()} {tail}"


def _access_line(dice: Dice) -> str:
    when = f"{dice.number(1, 28):02}/{dice.pick(('Jan', 'Mar', 'Jun', 'Oct'))}/2026:{dice.clock()} +0000"
    what = f"{dice.pick(('GET', 'GET', 'POST', 'PUT'))} /api/v{dice.number(1, 3)}/{dice.path()} HTTP/1.1"
    agent = dice.pick(
        ("curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
    )
    status = dice.pick((200, 200, 201, 304, 404, 500))
    return f'{dice.address()} - - [{when}] "{what}" {status} {dice.number(90, 90000)} "-" "{agent}"'


def _system_line(dice: Dice) -> str:
    what = (
        f"Started {dice.noun()}-{dice.noun()}.service.",
        f"Accepted publickey for {dice.name().lower()} from {dice.address()} port {dice.number(1024, 65000)} ssh2",
        f"segfault at {dice.hex(12)} ip {dice.hex(16)} sp {dice.hex(16)} error {dice.number(4, 15)}",
        f"oom-kill: Killed process {dice.number(100, 60000)} ({dice.noun()}) total-vm:{dice.number(1000, 9999999)}kB",
    )
    who = f"{dice.noun()}-{dice.number(1, 20):02} {dice.pick(('systemd[1]', 'kernel', 'sshd[4121]'))}"
    return f"Nov {dice.number(1, 30):2} {dice.clock()} {who}: {dice.pick(what)}"


def _build_line(dice: Dice) -> str:
    name, version = (
        f"{dice.noun()}-{dice.noun()}",
        f"{dice.number(0, 9)}.{dice.number(0, 20)}.{dice.number(0, 30)}",
    )
    test = f"tests/test_{dice.noun()}.py::test_{dice.verb()}_{dice.noun()}"
    place = f"src/{dice.path()}:{dice.number(1, 900)}:{dice.number(1, 99)}"
    entry = f"-rw-r--r-- 1 root root {dice.number(10, 999999):>8} Nov {dice.number(1, 30):2} 10:{dice.number(10, 59)}"
    lines = (
        f"   Compiling {name} v{version}",
        f"{test} PASSED [{dice.number(1, 100):3}%]",
        f"{test} FAILED [{dice.number(1, 100):3}%]",
        f"npm warn deprecated {name}@{version}: use {dice.noun()} instead",
        f"{place}: error: expected `{dice.noun()}`, found `{dice.noun()}`",
        f"{entry} {dice.noun()}.{dice.pick(('txt', 'log', 'c', 'h'))}",
    )
    return dice.pick(lines)


def _trace_line(dice: Dice) -> str:
    kind = dice.noun().capitalize() + dice.noun().capitalize()
    where = f"org.example.{dice.noun()}.{dice.noun()}.{kind}.{dice.verb()}{dice.noun().capitalize()}"
    return f"\tat {where}({kind}.java:{dice.number(10, 900)})"


# --- Chinese and Japanese ------------------------------------------------------------------------------------------


def _sentences(
    chance: random.Random, frames: Sequence[str], things: Sequence[str], acts: Sequence[str]
) -> Iterator[str]:
    while True:
        said = ""
        for _ in range(chance.randint(2, 6)):
            filled = {place: chance.choice(things) for place in "xyzw"} | {
                place: chance.choice(acts) for place in "abc"
            }
            said += chance.choice(frames).format(n=chance.randint(1, 12), **filled)
        yield said + chance.choice(("\n", "\n\n"))


def _chinese(chance: random.Random) -> Iterator[str]:
    return _sentences(chance, words.ZH_FRAMES, words.ZH_THINGS, words.ZH_ACTS)


def _japanese(chance: random.Random) -> Iterator[str]:
    return _sentences(chance, words.JA_FRAMES, words.JA_THINGS, words.JA_ACTS)


_KINDS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "English": _english,
    "Python": _python,
    "JavaScript": _javascript,
    "Go": _go,
    "JSON": _json,
    "logs": _logs,
    "Chinese": _chinese,
    "Japanese": _japanese,
}
NAMES = tuple(_KINDS)
