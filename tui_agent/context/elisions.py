"""Elisions: what an `_elide` record does to the blocks it names when they are sent. The originals stay on disk."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.messages.blocks import Block, text_block


@dataclass(frozen=True, slots=True)
class Elision:
    """One item of an `_elide` record in force: `block` None is the whole record, `placeholder` None drops it."""

    elide: str
    item: int
    block: int | None
    placeholder: str | None
    by: str
    reason: str


def elide(blocks: list[Block], elisions: tuple[Elision, ...]) -> list[Block]:
    """`blocks` as they are sent: the newest elision of a block counts, one of the whole record before all."""
    newest = _newest(elisions)
    if None in newest:
        whole = newest[None]
        return [] if whole is None else _shorten_all(blocks, whole)
    kept = []
    for place, block in enumerate(blocks):
        if place not in newest:
            kept.append(block)
        elif (text := newest[place]) is not None:
            kept.append(_placeholder(block, text))
    return kept


def leaves_nothing(elisions: tuple[Elision, ...], blocks: int) -> bool:
    """True if a message of so many blocks has none left."""
    newest = _newest(elisions)
    if None in newest:
        return newest[None] is None
    return sum(placeholder is None for placeholder in newest.values()) >= blocks


def _newest(elisions: tuple[Elision, ...]) -> dict[int | None, str | None]:
    """The placeholder in force of each block; under None that of the whole record, which goes before its blocks."""
    newest: dict[int | None, str | None] = {}
    for elision in elisions:
        newest[elision.block] = elision.placeholder
    return newest


def _shorten_all(blocks: list[Block], text: str) -> list[Block]:
    """A whole record behind one placeholder: calls and results stay paired, the rest becomes one text."""
    paired = [_placeholder(block, text) for block in blocks if block.get("type") in _PAIRED]
    return paired or [text_block(text)]


_PAIRED = ("tool_result", "tool_use")


def _placeholder(block: Block, text: str) -> Block:
    match block.get("type"):
        case "tool_result":
            return {**block, "content": text}
        case "tool_use":
            return {**block, "input": {"elided": text}}
    return text_block(text)
