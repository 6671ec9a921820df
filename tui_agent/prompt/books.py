"""What the log says of the items of a request: what each is and weighs, and what of the log is not sent and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.messages.tokens import Tokens
from tui_agent.messages.wellformed import is_blank
from tui_agent.prompt import injections, remembered
from tui_agent.prompt.manifest import About, Item

if TYPE_CHECKING:
    from tui_agent.context.elisions import Elision
    from tui_agent.context.reading import Shown
    from tui_agent.prompt.system import Layer

_WHY = {
    "micro": "to make room",
    "budget": "to fit the budget",
    "retry": "a new try took its place",
    "drop": "the model refused",
    "ttl": "its time was up",
}
"""What the reasons of `_elide` records mean."""


class LogBooks:
    """The books of one log. `layers` are those of the system prompt that a new log lacks; `unsent` gives injections
    that were due and are not in the log.
    """

    def __init__(
        self,
        context: Shown,
        *,
        layers: Sequence[Layer] = (),
        unsent: Callable[[], Iterable[Item]] = tuple,
    ) -> None:
        self._context = context
        self._fresh = layers if context.system_prompt is None else ()
        self._unsent = unsent

    def tokens(self, record: str) -> Tokens:
        """What a record weighs as it is sent.

        Raises:
            ValueError: there is none.
        """
        return self._context.tokens(record)

    def message(self, record: str) -> About:
        """What the message of a record is.

        Raises:
            ValueError: there is none.
        """
        return about(self._context.record(record).body, record)

    def layers(self) -> list[About]:
        """What each block of the system prompt is, in order; blank ones are not sent."""
        if self._fresh:
            return [About("layer", layer.layer, layer.source) for layer in self._fresh if layer.text.strip()]
        record = self._context.prompt_record
        return [
            About("layer", str(layer["layer"]) or "system prompt", str(layer["source"]), record)
            for layer in self._context.system_layers
            if not is_blank(layer["text"])
        ]

    def tools(self) -> About:
        """The record of the tool set."""
        return About("tool", "", record=self._context.tools_record)

    def memories(self) -> Sequence[Mapping[str, Any]]:
        """Every memory that is told."""
        if self._fresh:
            return [entry for layer in self._fresh for entry in layer.memories if not entry.get("left")]
        return remembered.sent(self._context)

    def left_out(self) -> Iterator[Item]:
        """What was elided or shortened, memories without room, and injections that were not appended."""
        for record, elisions, saved in self._context.elisions():
            what = about(self._context.record(record).body, record)
            yield _missing(what, _reason(elisions), saved)
        yield from self._memories_left()
        yield from self._unsent()

    def _memories_left(self) -> Iterator[Item]:
        sent = {entry.get("id") for entry in self.memories()}
        for entry in self._memories_named():
            if entry.get("left") and entry.get("id") not in sent:
                scope, key = str(entry.get("scope", "")), str(entry.get("key") or entry.get("id"))
                yield _missing(
                    About("memory", key, scope), "no room: newer memories fill what they may take", 0
                )

    def _memories_named(self) -> Iterator[Mapping[str, Any]]:
        if self._fresh:
            for layer in self._fresh:
                yield from layer.memories
            return
        yield from self._context.system_memories or ()
        told = injections.newest(self._context, remembered.SOURCE)
        yield from (
            entry for entry in (told[1].get("memories") or () if told else ()) if isinstance(entry, dict)
        )


def about(body: Mapping[str, Any], record: str) -> About:
    """What a message is, by the body of its record."""
    origin = body.get("origin")
    if body.get("role") == "assistant":
        return About("answer", "answer", str(body.get("model") or ""), record)
    match origin:
        case None:
            return About("words", "your words", record=record)
        case "tool":
            meta = body.get("meta")
            tool = meta.get("tool") if isinstance(meta, Mapping) else None
            return About("result", str(tool or "tool"), record=record)
        case "injection":
            sources = body.get("sources")
            named = [str(s["name"]) for s in sources or () if isinstance(s, Mapping) and s.get("name")]
            return About("injection", ", ".join(named) or "injection", ", ".join(named), record)
        case "summary":
            return About("summary", "summary", record=record)
        case "repair":
            return About("repair", "repair", record=record)
    return About("note", str(origin), record=record)


def _missing(what: About, reason: str, tokens: int) -> Item:
    return Item(
        "system" if what.kind == "memory" else "messages",
        what.kind,
        what.name,
        Tokens(tokens, "estimated"),
        source=what.source,
        record=what.record,
        kept=False,
        reason=reason,
    )


def _reason(elisions: Sequence[Elision]) -> str:
    """Why a record is not sent as it was written, by its newest elision."""
    newest = next((one for one in reversed(elisions) if one.block is None), elisions[-1])
    what = "elided" if newest.placeholder is None else "shortened"
    if newest.by == "user":
        what = "edited" if newest.reason == "edit" else what
        return f"{what} by you"
    return f"{what}: {_WHY.get(newest.reason, newest.reason or 'by the program')}"
