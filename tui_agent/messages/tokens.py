"""How many tokens something is, and how sure that number is.

Three kinds of number are never mixed: `exact` (the endpoint counted it), `reconciled` (a share of an exact number)
and `estimated`. The estimate weighs characters by class, with weights per model family, and is corrected for each
model by what the endpoint later reports.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeGuard

from msgspec import Struct

from tui_agent.messages.blocks import Message

Mark = Literal["exact", "reconciled", "estimated"]

_SURENESS: tuple[Mark, ...] = ("exact", "reconciled", "estimated")


class Tokens(Struct, frozen=True):
    """A count in tokens and how sure it is. A sum is as sure as its less sure part."""

    count: int
    mark: Mark

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.count + other.count, max(self.mark, other.mark, key=_SURENESS.index))


class Weights(Struct, frozen=True):
    """Tokens per character of each class, and what an image costs at most. Two newlines, one behind the other, are one.

    `letters` is for the two-byte scripts (accented Latin, Greek, Cyrillic, Hebrew, Arabic), `scripts` for those of
    South and South-East Asia, `cjk` for Chinese, Japanese and Korean, `other` for symbols, emoji and the rest.
    `image_edge` is the long side in pixels to which the endpoint scales an image down.
    """

    lower: float
    upper: float
    digit: float
    newline: float
    space: float
    punctuation: float
    cjk: float
    letters: float
    scripts: float
    other: float
    image_edge: int
    image_tokens: int


# Claude's are fitted on nine corpora (English, Python, JSON, paths, Chinese, ...) against exact counts: within 10 %
# there, within 25 % on others; `letters` and `scripts`, which are not in the fit, are set to the safe side. The other
# families are fitted on prose, code in five languages, JSON, logs, diffs and lists of paths against the vocabulary
# itself: within 10 % on most, 25 % on minified code; base64 is a third too low. The last four classes were measured on
# sentences in nine languages, emoji and box drawings. tests/benchmarks/estimator.py measures them on requests.
CLAUDE_NEW = Weights(0.274, 1.38, 1.073, 0.034, 0.194, 0.815, 0.845, 0.845, 1.4, 3.62, 2576, 4784)
"""Claude from 4.7 on, whose tokenizer is finer."""
CLAUDE_OLD = Weights(0.185, 0.916, 0.987, 0.207, 0.233, 0.621, 0.899, 0.7, 1.0, 2.56, 1568, 1568)
"""Claude up to 4.6."""
O200K = Weights(0.211, 0.47, 0.82, 1.5, 0.053, 0.42, 0.68, 0.35, 0.4, 0.9, 2048, 1568)
"""gpt-4o, gpt-4.1, gpt-5, gpt-oss and the o series."""
CL100K = Weights(0.208, 0.46, 0.82, 1.5, 0.068, 0.4, 1.02, 0.8, 1.15, 1.0, 2048, 1568)
"""gpt-3.5 and the first gpt-4."""
LLAMA = Weights(0.208, 0.46, 0.82, 1.5, 0.068, 0.4, 0.69, 0.5, 0.6, 0.9, 2048, 1568)
"""Llama from 3 on."""
QWEN = Weights(0.202, 0.53, 1.15, 1.2, 0.074, 0.47, 0.58, 0.5, 0.9, 0.8, 2048, 1568)
"""Qwen from 2 on, which takes each digit by itself."""
OTHERS = Weights(0.209, 0.47, 0.86, 1.45, 0.062, 0.42, 0.755, 0.5, 0.6, 0.9, 2048, 1568)
"""The guess for every other name: between the vocabularies above."""

_PATCH = 28
"""An image costs one token for each patch of this many pixels a side."""

_PER_MESSAGE = 4
_PER_CALL = 8
"""What role markers and the frame of a call or result cost beside their text, about."""

_ALPHA = 0.3
"""How much the newest exact figure moves the correction; the first ones more, so that they count alike."""
_TELLING = 500
"""Tokens: of less text than this the frame of its messages says more than the text, so it moves it by as much less."""
_LEAST, _MOST = 0.5, 2.0

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = bytes(range(ord("A"), ord("Z") + 1))
_DIGIT = b"0123456789"
_SPACE = b" \t\r\f\v"
_NEWLINE = b"\n"
# In UTF-8 the first byte of a character tells its range: E3-ED is U+3000 to U+D7FF (Chinese, Japanese, Korean),
# C3-DF is U+00C0 to U+07FF (the two-byte scripts), E0-E1 is U+0800 to U+1FFF (Indic, Thai, Khmer, Ethiopic, ...).
_CONTINUATION = bytes(range(0x80, 0xC0))
_CJK = bytes(range(0xE3, 0xEE))
_LETTERS = bytes(range(0xC3, 0xE0))
_SCRIPTS = b"\xe0\xe1"
_BEYOND_ASCII = bytes(range(0x80, 0x100))


_FAMILIES = (
    (re.compile(r"gpt-(?:4o|4\.[1-9]|[5-9]|oss)|chatgpt|(?:^|/)o[1-9](?!\d)"), O200K),
    (re.compile(r"gpt-(?:4|3\.5)"), CL100K),
    (re.compile(r"llama-?[3-9]"), LLAMA),
    (re.compile(r"qw(?:en|q)"), QWEN),
)
"""What stands in the name of a model, and its weights; the first that fits."""


def family(model: str) -> Weights:
    """The weights for a model by its name.

    A Claude whose version is not in its name, and no name at all, get the newest weights: they count the most.
    """
    name = model.lower()
    if not name:
        return CLAUDE_NEW
    if "claude" not in name:
        return next((weights for pattern, weights in _FAMILIES if pattern.search(name)), OTHERS)
    version = re.search(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", name.split("claude", 1)[1])
    if version is None:
        return CLAUDE_NEW
    return CLAUDE_NEW if (int(version[1]), int(version[2] or 0)) >= (4, 7) else CLAUDE_OLD


def image_tokens(width: float, height: float, weights: Weights = CLAUDE_NEW) -> int:
    """What an image of that size in pixels costs: ceil(w/28) * ceil(h/28), after the endpoint scaled it down."""
    scale = min(1.0, weights.image_edge / max(width, height, 1))
    patches = math.ceil(max(width, 1) * scale / _PATCH) * math.ceil(max(height, 1) * scale / _PATCH)
    return min(patches, weights.image_tokens)


class Estimator:
    """Counts tokens without a network, for one model.

    `count` is the weight by character class times `factor`; `calibrate` moves the factor towards what the endpoint
    counted (the mean at first, then one in which newer figures weigh more). `factor` is the correction to begin with.
    """

    def __init__(self, model: str = "", *, factor: float = 1.0) -> None:
        self.model = model
        self._weights = family(model)
        self._factor = min(_MOST, max(_LEAST, factor))
        self._learned = 0.0 if factor == 1.0 else 1 / _ALPHA
        """How many figures taught it; one of a small request is a part of one."""

    @property
    def factor(self) -> float:
        """The correction in force: exact over estimated, as seen so far; 0.5 to 2."""
        return self._factor

    def count(self, value: str | Mapping[str, Any] | Sequence[Any] | Message) -> int:
        """Tokens of a text, a block, a message, tool definitions, or a list of any of these. Never raises."""
        return math.ceil(self.weigh(value) * self._factor)

    def weigh(self, value: object) -> float:
        """The same without the correction and unrounded: for who keeps it and multiplies by `factor` later."""
        try:
            return self._weigh(value)
        except RecursionError:
            return self._flat(value)

    def calibrate(self, *, estimated: int, exact: int) -> None:
        """Learn from a request: `count` said `estimated` of it (with the factor of now), the endpoint `exact`.

        Figures that are not positive teach nothing, small ones little. One figure counts for at most half or double.
        """
        if estimated <= 0 or exact <= 0:
            return
        ratio = min(_MOST, max(_LEAST, exact / estimated))
        told = min(1.0, estimated / _TELLING)
        self._learned += told
        share = told * max(_ALPHA, told / max(1.0, self._learned))
        self._factor = min(_MOST, max(_LEAST, self._factor * (1 + share * (ratio - 1))))

    # --- weights ---------------------------------------------------------------------------------------------

    def _weigh(self, value: object) -> float:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, Message):
            return _PER_MESSAGE + self._weigh(value.content)
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return sum(self._weigh(item) for item in value)
        return 0.0 if value is None else self._json(value)

    def _text(self, text: str) -> float:
        w = self._weights
        rest = text.encode("utf-8", "surrogatepass")
        total = 0.0
        if not text.isascii():
            rest = rest.translate(None, _CONTINUATION)
            rest, cjk = _take(rest, _CJK)
            rest, letters = _take(rest, _LETTERS)
            rest, scripts = _take(rest, _SCRIPTS)
            total += cjk * w.cjk + letters * w.letters + scripts * w.scripts
        rest, lower = _take(rest, _LOWER)
        rest, space = _take(rest, _SPACE)
        rest, newline = _take(rest, _NEWLINE)
        newline -= text.count("\n\n")
        rest, digit = _take(rest, _DIGIT)
        rest, upper = _take(rest, _UPPER)
        total += lower * w.lower + space * w.space + newline * w.newline + digit * w.digit + upper * w.upper
        punctuation, symbols = _take(rest, _BEYOND_ASCII)
        return total + len(punctuation) * w.punctuation + symbols * w.other

    def _json(self, value: object) -> float:
        try:
            return self._text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        except (TypeError, ValueError, RecursionError):
            return self._flat(value)

    def _flat(self, value: object) -> float:
        """What JSON cannot hold or is nested too deeply: its texts and numbers, and a sign for each container."""
        total, seen, stack = 0.0, set[int](), [value]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                total += self._text(item)
            elif isinstance(item, int):
                total += self._weights.digit * (1 + item.bit_length() * math.log10(2))
            elif not isinstance(item, (Mapping, Sequence)) or isinstance(item, (bytes, bytearray)):
                total += 1
            elif id(item) not in seen:
                seen.add(id(item))
                total += 2 * self._weights.punctuation
                stack.extend(item)
                if isinstance(item, Mapping):
                    stack.extend(item.values())
        return total

    def _mapping(self, value: Mapping[str, Any]) -> float:
        if "role" in value and "content" in value:
            return _PER_MESSAGE + self._weigh(value["content"])
        kind = value.get("type")
        match kind:
            case "text":
                return self._weigh(value.get("text"))
            case "thinking":
                return self._weigh(value.get("thinking"))
            case "redacted_thinking":
                # An encrypted text of about 3/4 of its base64, about four characters a token.
                return len(str(value.get("data", ""))) * 3 / 16
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                return _PER_CALL + self._weigh(value.get("name")) + self._json(value.get("input"))
            case "tool_result":
                return _PER_CALL + self._weigh(value.get("content"))
            case "image":
                return self._image(value.get("source"))
            case "document":
                return self._document(value)
        return self._json(value)

    def _image(self, source: object) -> float:
        if not isinstance(source, Mapping):
            return 0.0
        width, height = source.get("width"), source.get("height")
        if _is_size(width) and _is_size(height):
            return image_tokens(width, height, self._weights)
        size = _source_bytes(source)
        if size is None:
            return self._weights.image_tokens
        # A compressed picture takes about a third of a byte for each pixel.
        edge = math.sqrt(size * 3)
        return image_tokens(edge, edge, self._weights)

    def _document(self, block: Mapping[str, Any]) -> float:
        source = block.get("source")
        total = self._weigh(block.get("title")) + self._weigh(block.get("context"))
        if not isinstance(source, Mapping):
            return total
        if source.get("type") == "text":
            return total + self._weigh(source.get("data"))
        if source.get("type") == "content":
            return total + self._weigh(source.get("content"))
        # A page of a PDF is about 50 kB and 2 000 tokens, read as text and as a picture.
        return total + (_source_bytes(source) or 50_000) / 25


def _take(data: bytes, kind: bytes) -> tuple[bytes, int]:
    """What is left of `data` without the bytes of one class, and how many those were."""
    rest = data.translate(None, kind)
    return rest, len(data) - len(rest)


def _is_size(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e12


def _source_bytes(source: Mapping[str, Any]) -> float | None:
    """The size in bytes of a media source, where it is known."""
    size = source.get("bytes")
    if _is_size(size):
        return size
    data = source.get("data")
    return len(data) * 3 / 4 if isinstance(data, str) else None
