"""Whole requests of many kinds, and how many tokens each really has.

    for request in requests("logs", seed=1, upto=40_000): ...     # one conversation as it grows
    tokens(request, "o200k_base")                                 # counted with that vocabulary

The truth is the request in the form that open models get it (ChatML with tool calls as JSON), cut by the vocabulary.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import quicktok

from tests.support import corpora
from tui_agent.messages.blocks import Block, Message, result_text, text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.prompt.system import BUILTIN
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.search import Grep
from tui_agent.tools.shell import Bash
from tui_agent.tools.toolbox import Toolbox
from tui_agent.workspace.reads import Reads

MIXED = "mixed"
KINDS = (*corpora.NAMES, MIXED)
VOCABULARIES = {
    "o200k_base": "gpt-5",
    "cl100k_base": "gpt-4-turbo",
    "llama3": "llama-3.1-8b",
    "qwen3": "qwen3-coder",
}
"""Each with a model that has it."""

_LONGEST = 5_000
"""Characters of a result."""
_SPOKEN = ("Chinese", "Japanese")
"""Kinds in which people and models speak, too; in the others they speak English."""


def requests(kind: str, seed: int, *, upto: int) -> Iterator[Request]:
    """The requests of one conversation about such text, each longer than the last, to about so many characters."""
    chance = random.Random(f"{kind} {seed}")
    talk = Talk(kind, chance)
    history: list[Message] = []
    size = 0
    while size < upto:
        for message in talk.turn():
            history.append(message)
            size += len(str(message.content))
        yield Request.make(
            model="counted",
            system=[text_block(BUILTIN), text_block(talk.words(3000))],
            history=history,
            max_tokens=4096,
            tools=_tools(),
        )


class Talk:
    """A conversation: words, an answer that calls a tool, what the tool brought, an answer."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self._chance = chance
        names = corpora.NAMES if kind == MIXED else (kind,)
        self._corpora = [corpora.corpus(name, chance.randrange(1 << 30)) for name in names]
        self._words = corpora.corpus(kind if kind in _SPOKEN else "English", chance.randrange(1 << 30))
        self._system = self._words.take(3000)
        self._calls = 0

    def words(self, characters: int) -> str:
        """What stands in the prompt beside the program's own words: the same each time."""
        return self._system[:characters]

    def turn(self) -> Iterator[Message]:
        """The messages of one turn."""
        chance = self._chance
        yield Message("user", [text_block(self._words.take(chance.randint(60, 500)))])
        for _ in range(chance.randint(1, 3)):
            self._calls += 1
            text = chance.choice(self._corpora).take(chance.randint(300, 3500))[:_LONGEST]
            call = f"toolu_{self._calls:06}"
            yield Message("assistant", [text_block(self._words.take(80)), self._call(call, text)])
            yield Message("user", [tool_result(call, text)], origin="tool")
        yield Message("assistant", [text_block(self._words.take(chance.randint(200, 900)))])
        yield Message("user", [text_block(self._words.take(60))])

    def _call(self, call: str, text: str) -> Block:
        path = f"src/{self._chance.choice(('core', 'web', 'jobs'))}/part_{self._calls}.txt"
        name, arguments = self._chance.choice(
            (
                ("read_file", {"path": path, "offset": self._chance.randint(0, 900)}),
                ("bash", {"command": f"tail -n {self._chance.randint(5, 200)} {path} | sort | uniq -c"}),
                ("write_file", {"path": path, "content": text[:1500]}),
            )
        )
        return {"type": "tool_use", "id": call, "name": name, "input": arguments}


@cache
def _tools() -> list[dict[str, Any]]:
    place, reads = Path("/nowhere"), Reads()
    return Toolbox([ReadFile(place, reads), WriteFile(place, reads), Grep(place), Bash(place)]).offer()


# --- the truth -----------------------------------------------------------------------------------------------------


def tokens(request: Request, vocabulary: str) -> int:
    """How many tokens the request has."""
    texts = ["\n".join(str(block["text"]) for block in request.system), *map(_json, request.tools)]
    frames = 3
    for message in request.messages:
        frames += 4  # its beginning, its role, a newline and its end
        for block in message["content"]:
            texts.append(_rendered(block))
            frames += 2 if block["type"] != "text" else 0
    return frames + sum(_count(vocabulary, text) for text in texts)


@cache
def _count(vocabulary: str, text: str) -> int:
    # a conversation's requests hold the same texts again and again
    return len(quicktok.get_encoding(vocabulary).encode_ordinary(text))


def _rendered(block: Block) -> str:
    match block["type"]:
        case "tool_use":
            return f'\n{{"name": {_json(block["name"])}, "arguments": {_json(block["input"])}}}\n'
        case "tool_result":
            return f"\n{result_text(block)}\n"
        case _:
            return str(block["text"])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
