"""A request to the model: what is sent, word for word, and where each part of it came from.

`Request.make` is the only way to one, and it lints: no request exists that the API would refuse for its form. Media
stay references to blobs; the provider puts the bytes in when it sends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tui_agent.messages import wellformed
from tui_agent.messages.frozen import freeze, thaw
from tui_agent.messages.lint import Change
from tui_agent.messages.named import named
from tui_agent.messages.prepared import Prepared, canonical, prepare
from tui_agent.messages.spans import BEHIND, HEAD, SYSTEM, TAIL, TOOLS, Spans

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message

Breakpoint = tuple[Literal["tool", "system"], int] | tuple[Literal["message"], int, int]
"""Where a cache_control goes: a tool, a system block, or block `j` of message `i`."""

MAX_BREAKPOINTS = 4

_MADE = object()
_EPHEMERAL = {"type": "ephemeral"}


class Request:
    """What is sent to a model. Immutable, and so is what its properties give back; `body` gives a copy to change.

    `prints` tell in this process whether messages are the same as those of another request, one number each.
    `changes` is what lint did; `sources` holds for each message the ids of the records it was made from, `blocks`
    for each of its blocks the record's id (`""` for a block that lint put in).
    """

    __slots__ = ("_body", "_breakpoints", "_prepared", "changes")

    changes: tuple[Change, ...]
    _body: dict[str, Any]
    _breakpoints: tuple[Breakpoint, ...]
    _prepared: Prepared

    def __init__(
        self,
        made: object,
        body: dict[str, Any],
        prepared: Prepared,
        *,
        changes: tuple[Change, ...],
        breakpoints: tuple[Breakpoint, ...] = (),
    ) -> None:
        """Not for callers: a Request comes from `Request.make`.

        Raises:
            TypeError: it was called from elsewhere.
        """
        if made is not _MADE:
            raise TypeError("a Request is made by Request.make(...), which lints the history")
        fields = {"_body": body, "_prepared": prepared, "changes": changes, "_breakpoints": breakpoints}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Request does not change; make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Request does not change; make another one")

    def __repr__(self) -> str:
        return f"Request({self.model!r}, {len(self.messages)} messages, {len(self.tools)} tools)"

    @classmethod
    def make(
        cls,
        *,
        model: str,
        system: Sequence[Block],
        history: Iterable[Message],
        max_tokens: int,
        tools: Sequence[Mapping[str, Any]],
        thinking: Mapping[str, Any] | None = None,
        last: Request | None = None,
    ) -> Request:
        """Lint the history, the system prompt and the tools, and make the request of them.

        What comes out of a log makes a request whatever it holds; `changes` says what was mended. Any cache_control is
        left out; `marked` sets it. `thinking` is the API's setting (None: not sent). Messages that are as in the `last`
        request are taken from it; the outcome is the same without it.

        Raises:
            ValueError: `max_tokens` is under 1.
        """
        if max_tokens < 1:
            raise ValueError(f"max_tokens is {max_tokens}; at least 1 token must be left for the answer")
        prepared = prepare(history, model=model, last=None if last is None else last._prepared)
        changes: list[Change] = []
        body = {
            "model": wellformed.encodable(model),
            "max_tokens": max_tokens,
            "system": _system(system, changes),
            "messages": prepared.messages,
            "tools": _tools(tools, changes),
            "thinking": None if thinking is None else wellformed.encodable(dict(thinking)),
        }
        return cls(_MADE, freeze(body), prepared, changes=(*changes, *prepared.changes))

    @property
    def model(self) -> str:
        return str(self._body["model"])

    @property
    def max_tokens(self) -> int:
        """The longest answer, in tokens."""
        return int(self._body["max_tokens"])

    @property
    def system(self) -> tuple[Block, ...]:
        return tuple(self._body["system"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self._body["messages"]
        return messages

    @property
    def tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = self._body["tools"]
        return tools

    @property
    def thinking(self) -> dict[str, Any] | None:
        setting: dict[str, Any] | None = self._body["thinking"]
        return setting

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """Where cache_control stands."""
        return self._breakpoints

    @property
    def prints(self) -> Sequence[int]:
        """A number for each message: the same, in this process, for messages that are."""
        return self._prepared.prints

    @property
    def sources(self) -> tuple[tuple[str, ...], ...]:
        """For each message the ids of the records it was made from."""
        return self._prepared.sources

    @property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        """For each message the record of each of its blocks, `""` for one that lint put in."""
        return self._prepared.blocks

    @property
    def pieces(self) -> Sequence[bytes]:
        """Each message in canonical JSON."""
        return self._prepared.pieces

    @property
    def spans(self) -> Spans:
        """Where each part lies in `encode()`, worked out when asked."""
        return Spans(self.messages, self.pieces, self._params(), self.system, self.tools)

    def encode(self) -> bytes:
        """The request in canonical JSON (sorted keys, no spaces, UTF-8), without cache_control and stream.

        Its parts are tools, system, messages and params (model, max_tokens, thinking). Two requests are the same if
        these bytes are.
        """
        return b"".join(self._parts())

    @property
    def sha256(self) -> str:
        """The hash of `encode()`, in hex."""
        found = hashlib.sha256()
        for part in self._parts():
            found.update(part)
        return found.hexdigest()

    def _parts(self) -> Iterator[bytes]:
        yield HEAD
        for number, piece in enumerate(self.pieces):
            if number:
                yield b","
            yield piece
        yield from (BEHIND, self._params(), SYSTEM)
        yield canonical(list(self.system))[1:-1]
        yield TOOLS
        yield canonical(self.tools)[1:-1]
        yield TAIL

    def _params(self) -> bytes:
        params = {key: self._body[key] for key in ("model", "max_tokens", "thinking")}
        return b'"params":' + canonical(params)

    def marked(self, breakpoints: Iterable[Breakpoint]) -> Request:
        """The same request with a cache_control at these places and no other.

        Raises:
            ValueError: more than 4 places, one that is not there, or thinking, which takes none.
        """
        places = tuple(dict.fromkeys(breakpoints))
        if len(places) > MAX_BREAKPOINTS:
            raise ValueError(f"{len(places)} cache breakpoints; the API takes {MAX_BREAKPOINTS}")
        for place in places:
            if self._place(self._body, place).get("type") in wellformed.SIGNED:
                raise ValueError(f"no cache breakpoint on thinking: {place}")
        return Request(_MADE, self._body, self._prepared, changes=self.changes, breakpoints=places)

    def body(self) -> dict[str, Any]:
        """The arguments of the API call, as a copy: model, max_tokens, messages, and where there are any system,
        tools and thinking; with cache_control."""
        body: dict[str, Any] = thaw(self.wire())
        return body

    def wire(self) -> dict[str, Any]:
        """What `body` gives, to be written out at once: most of it is no copy, and does not change."""
        body = {key: thaw(value) if key != "messages" else list(value) for key, value in self._body.items()}
        body = {key: value for key, value in body.items() if value or key == "messages"}
        for index in {place[1] for place in self._breakpoints if place[0] == "message"}:
            body["messages"][index] = thaw(body["messages"][index])
        for place in self._breakpoints:
            self._place(body, place)["cache_control"] = dict(_EPHEMERAL)
        return body

    def records_named(self, error: str) -> tuple[str, ...]:
        """The ids of the records that an API error means by `messages.N` or `messages.N.content.M`."""
        found: list[str] = []
        for place in named(error):
            if place.part != "messages" or place.index >= len(self.sources):
                continue
            records = self.sources[place.index]
            if place.block is not None and place.block < len(self.blocks[place.index]):
                records = (self.blocks[place.index][place.block],)
            found.extend(record for record in records if record)
        return tuple(dict.fromkeys(found))

    def _place(self, body: Mapping[str, Any], place: Breakpoint) -> dict[str, Any]:
        try:
            match place:
                case ("tool", int(i)) if i >= 0:
                    found = body["tools"][i]
                case ("system", int(i)) if i >= 0:
                    found = body["system"][i]
                case ("message", int(i), int(j)) if i >= 0 and j >= 0:
                    found = body["messages"][i]["content"][j]
                case _:
                    raise IndexError
        except (IndexError, KeyError):
            raise ValueError(f"there is no {place} to set a cache breakpoint on") from None
        block: dict[str, Any] = found
        return block


def _system(blocks: Iterable[Block], changes: list[Change]) -> list[Block]:
    """The text blocks of a system prompt that are not blank."""
    found = []
    for block in blocks:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text" and not wellformed.is_blank(block.get("text")):
            found.append({"type": "text", "text": wellformed.encodable(block["text"])})
        else:
            changes.append(Change("system", "", f"a {kind!s:.40} block of the system prompt is left out"))
    return found


def _tools(tools: Iterable[object], changes: list[Change]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        kept = wellformed.definition(tool, found, lambda rule, text: changes.append(Change(rule, "", text)))
        if kept is not None:
            found[kept["name"]] = kept
    return list(found.values())
