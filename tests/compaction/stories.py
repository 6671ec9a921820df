"""Sessions of any length with facts planted in them, the same for the same seed; and a model that finds the facts.

A fact is a word that occurs nowhere else (`Kestrel4711`). It is planted where a coding session has such things: in a
person's words, in a correction of something said before, in the arguments of a call, in a result, in an answer, in
the name of a changed file, in a command that fails. After a compaction one can ask whether it is still there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from tests.compaction.logs import Said
from tui_agent.llm.provider import Reply, Usage
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator

Kind = Literal["words", "correction", "argument", "result", "answer", "file", "failure"]
KINDS: tuple[Kind, ...] = get_args(Kind)

FACT = re.compile(r"\b[A-Z][a-z]+[0-9]{4}\b")
"""What a planted word looks like."""

_BEGINNING = re.compile(r"(?:Done with r|R)equest \d+")
_BIRDS = (
    "Kestrel",
    "Plover",
    "Heron",
    "Siskin",
    "Dunlin",
    "Avocet",
    "Merlin",
    "Pipit",
    "Osprey",
    "Curlew",
    "Lapwing",
)
_PROSE = (
    "the parser reads each line and keeps its offset so that a later record can be found without reading what came "
    "before it while the writer holds the lease a failed write is cut back to its length and the error names the file"
)
_WORDS = tuple(_PROSE.split())
_CODE = (
    "    async def append(self, body: Body) -> Record:\n        line = encode(body)\n"
    "        written = os.write(self._descriptor, line)\n        return self._note(body, length=len(line))\n\n"
)
_ROW = '{"path": "src/context/log.py", "line": 214, "text": "self._size += written", "score": 0.731}\n'


class Fact(NamedTuple):
    """A planted word, where it stands, and what it took the place of (of a correction)."""

    kind: Kind
    word: str
    stale: str = ""


class _Action(NamedTuple):
    """A call: its tool, its path or command, a line of its output, and its exit code."""

    tool: str
    subject: str
    line: str = ""
    exit: int = 0


def _asked(fact: Fact) -> str:
    """What a person says of a fact; nothing of most."""
    if fact.kind == "words":
        return f"The key of the release is {fact.word}."
    return f"No, not {fact.stale}: use {fact.word} from now on." if fact.kind == "correction" else ""


def _action(fact: Fact) -> _Action | None:
    """The call that a fact stands in, if it stands in one."""
    match fact.kind:
        case "argument":
            return _Action("bash", f"deploy --ticket {fact.word} --now")
        case "result":
            return _Action("bash", "make build", f"build finished, artifact {fact.word}")
        case "file":
            return _Action("edit_file", f"src/{fact.word}.py")
        case "failure":
            return _Action("bash", f"pytest tests/{fact.word}", exit=1)
    return None


class Story:
    """A session as it goes on. `facts` are those planted so far."""

    def __init__(
        self, seed: int = 0, *, steps: tuple[int, int] = (2, 6), result: tuple[int, int] = (200, 6000)
    ) -> None:
        self._random = random.Random(seed)
        self._steps = steps
        self._result = result
        self._used: set[str] = set()
        self.turns = 0
        self.facts: list[Fact] = []

    async def turn(self, said: Said, plant: Sequence[Kind] = ()) -> list[Fact]:
        """One turn of the session, with a fact of each kind given in it; returns these facts."""
        new = [self._fact(kind) for kind in plant]
        self.turns += 1
        await said.words(
            " ".join([f"Request {self.turns}: {self._prose(30)}.", *filter(None, map(_asked, new))])
        )
        searches = [
            _Action("bash", f"grep -rn {self._prose(2)} src")
            for _ in range(self._random.randint(*self._steps))
        ]
        actions = [*searches, *(action for fact in new if (action := _action(fact)) is not None)]
        self._random.shuffle(actions)
        for action in actions:
            await self._act(said, action)
        chosen = [
            f"I decided for {fact.word}, since nothing else works." for fact in new if fact.kind == "answer"
        ]
        await said.answer(" ".join([f"Done with request {self.turns}. {self._prose(20)}.", *chosen]))
        self.facts += new
        return new

    async def _act(self, said: Said, action: _Action) -> None:
        tool, subject = action.tool, action.subject
        if tool == "edit_file":
            arguments = {"path": subject, "old": self._text(120), "new": self._text(120)}
            await said.act(tool, arguments, "edited", title=subject, changed=[subject])
            return
        half = self._random.randint(*self._result) // 2
        output = f"{self._text(half)}\n{action.line}\n{self._text(half)}"
        if action.exit:
            output += f"\nE   AssertionError: in {subject}\n[exit code {action.exit}]"
        await said.act(tool, {"command": subject}, output, title=subject, exit=action.exit)

    def _fact(self, kind: Kind) -> Fact:
        stale = ""
        if kind == "correction":
            earlier = [fact.word for fact in self.facts if fact.kind == "words"]
            stale = self._random.choice(earlier) if earlier else self._word()
        return Fact(kind, self._word(), stale)

    def _word(self) -> str:
        while True:
            word = f"{self._random.choice(_BIRDS)}{self._random.randint(1000, 9999)}"
            if word not in self._used:
                self._used.add(word)
                return word

    def _prose(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words))

    def _text(self, size: int) -> str:
        """So many characters, about, of code, rows or prose."""
        piece = self._random.choice((_CODE, _ROW, _PROSE + "\n"))
        return (piece * (size // len(piece) + 1))[:size]


class Scripted:
    """A model as strategies see it, which answers by a function of the request's text.

    `asked` are the requests that came, `usage` their summed figures.
    """

    def __init__(
        self,
        answer: Callable[[str], str],
        *,
        window: int = 200_000,
        max_output: int = 16_000,
        name: str = "claude-sonnet-5-5",
    ) -> None:
        self.name, self.window, self.max_output = name, window, max_output
        self._answer = answer
        self._estimator = Estimator(name)
        self.asked: list[Request] = []
        self.usage: Usage | None = None

    def count(self, value: Any) -> int:
        """As the estimator does."""
        return self._estimator.count(value)

    def say(self, stage: str) -> None:
        """Nobody listens."""

    async def ask(self, request: Request) -> Reply:
        """The answer to the request's text."""
        self.asked.append(request)
        text = self._answer(spoken(request.body()))
        return Reply([{"type": "text", "text": text}], "end_turn", self.name, Usage(input=1000, output=100))


def spoken(value: Any) -> str:
    """All text in a request's body or a part of it, arguments of calls among it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(
            spoken(item) for key, item in value.items() if key not in ("type", "id", "tool_use_id")
        )
    if isinstance(value, Sequence):
        return "\n".join(map(spoken, value))
    return ""


def quoting(text: str, *, most: int = 200) -> str:
    """A summary in a fixed way: the pieces of a request's text that hold planted words, then the beginnings of requests
    and answers, the newest first, up to `most` in all; each once."""
    pieces = [piece.strip()[:200] for piece in re.split(r"(?<=[.:;])\s|\n", text)]
    found: dict[str, int] = {}
    for telling in (FACT, _BEGINNING):
        seen: set[str] = set()
        for at in range(len(pieces) - 1, -1, -1):
            new = set(telling.findall(pieces[at])) - seen
            if new and len(found) < most:
                seen |= new
                found.setdefault(pieces[at], at)
    listed = "\n".join(f"- {piece}" for piece in sorted(found, key=found.__getitem__)) or "None."
    return f"## Goal and current request\n{listed}\n\n## Done\nNone.\n\n## In progress\nNone."
