"""The events of a Messages API stream, folded into deltas and at the end a Reply.

Blocks are kept as they came: unknown block types, unknown fields, signatures. Only the arguments of a tool call are
parsed here, at the end, so that malformed ones survive as text. Events and deltas of unknown types are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tui_agent.llm.provider import Reply, Text, Thinking, ToolUse, Usage

if TYPE_CHECKING:
    from tui_agent.llm.provider import Delta
    from tui_agent.messages.blocks import Block

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(slots=True)
class _Open:
    """A block being streamed: its head, and the pieces of its text, thinking or arguments."""

    block: Block
    index: int
    pieces: list[str] = field(default_factory=list)
    held: str = ""
    """The first half of a surrogate pair whose second half is in the next delta."""
    size: int = 0
    closed: bool = False

    @property
    def kind(self) -> str:
        kind = self.block.get("type")
        return kind if isinstance(kind, str) else "unknown"


class Assembly:
    """One reply as it comes. `feed` its events in order, then ask for `reply()`, or `partial()` if it broke off."""

    def __init__(self, model: str) -> None:
        self.begun = False
        """The reply has begun: `message_start` came."""
        self.ended = False
        """`message_stop` came."""
        self.stop_reason: str | None = None
        self._model = model
        self._blocks: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}

    @property
    def complete(self) -> bool:
        """Nothing is missing: the reply said why it stopped, or at least that it is over.

        Some endpoints leave out message_stop after the stop reason, some the stop reason; without both it was cut off.
        """
        return self.ended or self.stop_reason is not None

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """Take one event; yield what it adds."""
        match event.get("type"):
            case "message_start":
                self.begun = True
                message = _mapping(event.get("message"))
                model = message.get("model")
                if isinstance(model, str) and model:
                    self._model = model
                self._count(_mapping(message.get("usage")))
            case "content_block_start":
                yield from self._start(_index(event), _mapping(event.get("content_block")))
            case "content_block_delta":
                yield from self._delta(_index(event), _mapping(event.get("delta")))
            case "content_block_stop":
                yield from self._stop(_index(event))
            case "message_delta":
                reason = _mapping(event.get("delta")).get("stop_reason")
                if isinstance(reason, str) and reason:
                    self.stop_reason = reason
                self._count(_mapping(event.get("usage")))
            case "message_stop":
                self.ended = True
            case _:
                pass

    def reply(self) -> Reply:
        """The whole reply. A stop reason that never came is `tool_use` if there are calls, else `end_turn`."""
        content: list[Block] = []
        malformed: dict[str, str] = {}
        taken: set[str] = set()
        opened = self._in_order()
        for place, block in enumerate(opened):
            finished, raw = _finish(block)
            if block.kind == "tool_use":
                _identify(finished, taken)
                cut = self.stop_reason == "max_tokens" and place == len(opened) - 1
                if raw is None and cut and not block.size and not finished["input"]:
                    raw = ""
                if raw is not None:
                    malformed[finished["id"]] = raw
            content.append(finished)
        calls = any(block.kind == "tool_use" for block in opened)
        return Reply(
            content=content,
            stop_reason=self.stop_reason or ("tool_use" if calls else "end_turn"),
            model=self._model,
            usage=self._figures(),
            malformed=malformed,
        )

    def partial(self) -> tuple[list[Block], list[str]]:
        """What is worth keeping of a reply that broke off, and in words what is not.

        Kept: text as far as it came, and with it finished signed thinking and finished blocks of other kinds. Dropped:
        unsigned thinking, and calls, finished or not: an answer that did not end is not acted on.
        """
        kept: list[Block] = []
        dropped: list[str] = []
        for block in self._in_order():
            finished, _ = _finish(block)
            keep = block.closed
            match block.kind:
                case "text":
                    keep = bool(finished["text"].strip())
                case "thinking":
                    keep = block.closed and bool(finished.get("signature"))
                    what = f"thinking {len(finished.get('thinking', ''))} chars"
                case "tool_use":
                    keep = False
                    what = f"tool_use {finished.get('name') or 'unnamed'} {block.size} chars"
                case kind:
                    what = kind
            if keep:
                kept.append(finished)
            elif block.kind != "text":
                dropped.append(what)
        if not any(block.get("type") == "text" for block in kept):
            dropped[:0] = [f"{block.get('type')} (finished)" for block in kept]
            kept = []
        return kept, dropped

    def _in_order(self) -> Sequence[_Open]:
        return [self._blocks[index] for index in sorted(self._blocks) if "type" in self._blocks[index].block]

    def _start(self, index: int, block: Mapping[str, Any]) -> Iterator[Delta]:
        opened = self._blocks[index] = _Open(dict(block), index)
        match opened.kind:
            case "text" | "thinking" as kind:
                first = opened.block.get(kind)
                if isinstance(first, str) and first:
                    yield from self._add(opened, first)
            case "tool_use":
                yield _progress(opened)
            case _:
                pass

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        opened = self._blocks.get(index)
        match delta.get("type"):
            case "text_delta" | "thinking_delta" as name:
                kind = name.removesuffix("_delta")
                if opened is None:
                    opened = self._blocks[index] = _Open({"type": kind, kind: ""}, index)
                text = delta.get(kind)
                if isinstance(text, str) and opened.kind == kind:
                    yield from self._add(opened, text)
            case "signature_delta" if opened is not None:
                signature = opened.block.get("signature") or ""
                opened.block["signature"] = f"{signature}{delta.get('signature') or ''}"
            case "input_json_delta" if opened is not None:
                piece = delta.get("partial_json")
                if isinstance(piece, str) and piece:
                    opened.pieces.append(piece)
                    opened.size += len(piece.encode("utf-8", "surrogatepass"))
                    if opened.kind == "tool_use":
                        yield _progress(opened)
            case "citations_delta" if opened is not None:
                citations = opened.block.get("citations")
                opened.block["citations"] = [*(citations or []), delta.get("citation")]
            case _:
                pass

    def _stop(self, index: int) -> Iterator[Delta]:
        opened = self._blocks.get(index)
        if opened is None:
            return
        opened.closed = True
        if opened.held:
            yield from self._add(opened, "", last=True)

    def _add(self, opened: _Open, text: str, *, last: bool = False) -> Iterator[Delta]:
        text = opened.held + text
        opened.held = ""
        if not last and text and "\ud800" <= text[-1] <= "\udbff":
            text, opened.held = text[:-1], text[-1]
        text = _whole(text)
        if not text:
            return
        opened.pieces.append(text)
        yield (Text if opened.kind == "text" else Thinking)(text, opened.index)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Later figures count (they are cumulative), but a zero does not undo a figure."""
        for key in _USAGE:
            value = usage.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self._usage[key] = value or self._usage.get(key, 0)

    def _figures(self) -> Usage | None:
        if not self._usage:
            return None
        return Usage(
            input=self._usage.get("input_tokens", 0),
            output=self._usage.get("output_tokens", 0),
            cache_read=self._usage.get("cache_read_input_tokens", 0),
            cache_write=self._usage.get("cache_creation_input_tokens", 0),
        )


def _finish(opened: _Open) -> tuple[Block, str | None]:
    """The block with its pieces in place, and the arguments as text if they are not a JSON object."""
    block = dict(opened.block)
    joined = "".join(opened.pieces)
    if opened.kind in ("text", "thinking"):
        block[opened.kind] = joined
        return block, None
    if opened.kind in _CALLS:
        given = block.get("input")
        block["input"] = given if isinstance(given, dict) else {}
        if joined.strip():
            try:
                arguments = json.loads(joined, parse_constant=_refuse)
            except (ValueError, RecursionError):
                arguments = None
            if not isinstance(arguments, dict):
                block["input"] = {}
                return block, _whole(joined)
            block["input"] = arguments
    return block, None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _identify(block: Block, taken: set[str]) -> None:
    """Give a call an id if the endpoint gave none, or one that another call of this reply has; and a name."""
    identity = block.get("id")
    if not isinstance(identity, str) or not identity or identity in taken:
        identity = f"toolu_{uuid4().hex[:24]}"
    block["id"] = identity
    taken.add(identity)
    if not isinstance(block.get("name"), str) or not block["name"]:
        block["name"] = "unnamed"


def _progress(opened: _Open) -> ToolUse:
    return ToolUse(
        call=str(opened.block.get("id") or ""), tool=str(opened.block.get("name") or ""), size=opened.size
    )


def _whole(text: str) -> str:
    """Surrogate pairs joined; halves without a partner become U+FFFD, as UTF-8 cannot hold them."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
