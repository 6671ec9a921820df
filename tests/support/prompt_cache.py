"""The provider's prompt cache, simulated from the Messages API's rules alone.

    server.caching(clock=lambda: now)    # the scripted server answers with its figures from here on
    server.cache.figures                 # what each answered request read, wrote and left

A request is a row of blocks: tools, system, messages. A block with a cache_control is a breakpoint. What is before it,
and itself, becomes an entry, if it has the model's least tokens; a later request reads the longest entry that it finds
by going back at most 20 blocks from one of its own breakpoints. An entry is kept five minutes (or an hour) after it was
written or read. Other tools or another model part everything; another system prompt what stands behind the change;
another `thinking` or `tool_choice`, and the first picture or the loss of the last, all messages.

It shares no code with the program, so that a mistake there does not excuse itself here; its count of tokens is its
own too.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LOOK_BACK = 20
MAX_BREAKPOINTS = 4
LIFETIMES = {"5m": 300.0, "1h": 3_600.0}
"""Seconds, by the ttl of a cache_control."""

_LEASTS = (
    ("claude-opus-4-5", 4_096),
    ("claude-opus-4-6", 4_096),
    ("claude-haiku-4-5", 4_096),
    ("claude-3-haiku", 2_048),
    ("claude-3-5-haiku", 2_048),
    ("", 1_024),
)
_PIECES = re.compile(r"[^\W\d_]+|\d+|\n+|[^\w\s]|_")
_PICTURE = 1_500
_FRAME = 3
"""What each block costs beside its text."""


class Figures(NamedTuple):
    """What one request cost, in tokens: `read` from the cache, `written` to it, and `input`, which is neither."""

    read: int
    written: int
    input: int

    @property
    def total(self) -> int:
        return self.read + self.written + self.input

    def usage(self) -> dict[str, int]:
        """As the API tells them."""
        return {
            "input_tokens": self.input,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.written,
        }


class _Block(NamedTuple):
    """One block of a request: the digest of all up to it, the tokens of all up to it, and its ttl if it has one."""

    digest: bytes
    tokens: int
    ttl: str | None


class PromptCache:
    """The cache of one endpoint.

    Attributes:
        figures: of each request so far.
        least: the tokens that a prefix needs, for every model; None: by the model's name.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, least: int | None = None) -> None:
        self.figures: list[Figures] = []
        self.least = least
        self._clock = clock
        self._lapses: dict[bytes, tuple[float, float]] = {}
        """When an entry lapses, and how long its life is, by the digest of its prefix."""
        self._known: dict[bytes, int] = {}

    def __len__(self) -> int:
        """How many entries there are that have not lapsed."""
        now = self._clock()
        return sum(lapses >= now for lapses, _ in self._lapses.values())

    def begin(self, body: Mapping[str, Any]) -> Figures:
        """An answer to this request begins: what was read and written, as its usage says."""
        blocks, now = list(self._blocks(body)), self._clock()
        marked = [at for at, block in enumerate(blocks) if block.ttl is not None]
        assert len(marked) <= MAX_BREAKPOINTS, f"{len(marked)} breakpoints"
        least = self.least if self.least is not None else _least(str(body["model"]))
        read = self._read(blocks, marked, now)
        for at in marked:
            if blocks[at].tokens >= least:
                life = LIFETIMES[blocks[at].ttl or "5m"]
                self._lapses[blocks[at].digest] = (now + life, life)
        total = blocks[-1].tokens if blocks else 0
        cached = blocks[marked[-1]].tokens if marked and blocks[marked[-1]].tokens >= least else 0
        found = Figures(read, max(0, cached - read), total - max(cached, read))
        self.figures.append(found)
        return found

    def _read(self, blocks: Sequence[_Block], marked: Sequence[int], now: float) -> int:
        """The tokens of the longest entry in reach; it lives on."""
        for at in sorted({back for mark in marked for back in range(max(0, mark - LOOK_BACK + 1), mark + 1)})[
            ::-1
        ]:
            lapses, life = self._lapses.get(blocks[at].digest, (-math.inf, 0.0))
            if lapses >= now:
                self._lapses[blocks[at].digest] = (now + life, life)
                return blocks[at].tokens
        return 0

    def _blocks(self, body: Mapping[str, Any]) -> Iterator[_Block]:
        tools = list(body.get("tools") or ())
        chain = hashlib.sha256(_plain([body["model"], tools]))
        tokens = 0
        for tool in tools:
            # one digest for all tools: no part of them is served when another one changed
            tokens += self._count(tool)
            whole = tool is tools[-1]
            yield _Block(chain.digest() if whole else b"", tokens, _ttl(tool) if whole else None)
        for block in _list(body.get("system")):
            chain.update(b"system" + _plain(block))
            tokens += self._count(block)
            yield _Block(chain.digest(), tokens, _ttl(block))
        messages = body["messages"]
        pictures = any(_has_picture(block) for message in messages for block in _list(message["content"]))
        chain.update(_plain([body.get("thinking"), body.get("tool_choice"), pictures]))
        for message in messages:
            for block in _list(message["content"]):
                chain.update(message["role"].encode() + _plain(block))
                tokens += self._count(block)
                yield _Block(chain.digest(), tokens, _ttl(block))

    def _count(self, block: Mapping[str, Any]) -> int:
        plain = _plain(block)
        key = hashlib.sha256(plain).digest()
        if key not in self._known:
            self._known[key] = _FRAME + tokens_of(json.loads(plain))
        return self._known[key]


def tokens_of(value: Any) -> int:
    """The tokens of any part of a request, by fixed rules: a word has one for each five letters, a number one for each
    three digits, every other sign one; a character beyond Latin one too."""
    if isinstance(value, str):
        return sum(_piece(piece) for piece in _PIECES.findall(value))
    if isinstance(value, dict):
        if value.get("type") == "image":
            return _PICTURE
        if value.get("type") in ("text", "thinking", "tool_result"):
            return tokens_of(value.get("text", "")) + tokens_of([value.get("thinking"), value.get("content")])
        return tokens_of(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return sum(map(tokens_of, value))
    return 0 if value is None else 1


def _piece(piece: str) -> int:
    if piece.isdigit():
        return math.ceil(len(piece) / 3)
    if piece.isascii():
        return math.ceil(len(piece) / 5) if piece[0].isalpha() else 1
    return len(piece)


def _least(model: str) -> int:
    return next(least for start, least in _LEASTS if model.startswith(start))


def _list(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def _ttl(block: Mapping[str, Any]) -> str | None:
    mark = block.get("cache_control")
    return None if mark is None else str(mark.get("ttl", "5m"))


def _plain(value: Any) -> bytes:
    """What is compared: without cache_control."""

    def bare(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: bare(item) for key, item in part.items() if key != "cache_control"}
        return [bare(item) for item in part] if isinstance(part, list) else part

    return json.dumps(bare(value), ensure_ascii=False, sort_keys=True).encode()


def _has_picture(block: Mapping[str, Any]) -> bool:
    content = block.get("content") if block.get("type") == "tool_result" else None
    return block.get("type") == "image" or (isinstance(content, list) and any(map(_has_picture, content)))
