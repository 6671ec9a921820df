"""What is added to a log: messages, and records of what is in force, seen, marked or left out. One verb, `append`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from tui_agent.context.encoding import encode
from tui_agent.context.reading import Reading
from tui_agent.context.records import Record
from tui_agent.messages.blocks import Message, text_block


class Appending(Reading):
    """The side of a `Context` that adds to its log; every other method here is a name for `append`."""

    assign: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    async def append(self, body: Mapping[str, Any]) -> Record:
        """Append one record: on disk when this returns (`durability` says how safely), then in the projection.

        Raises:
            ValueError: it could not be read back; nothing is written. Also for an id that is taken.
            LogWriteError: the disk refused; nothing is written.
            LogBusy, LogChanged, ReadOnlyLog: another writer, another file, no right to write.
        """
        return (await self._writer.append([body]))[0]

    async def append_message(
        self, message: Mapping[str, Any] | Message | Sequence[Mapping[str, Any] | Message], **fields: Any
    ) -> list[Record]:
        """Append messages in API form, all in one write; `fields` (origin, meta, sources, ...) go into each record.

        A record gets an id and a time unless the message or `fields` give them.

        Raises:
            ValueError: a role that is not user or assistant, or content that is neither text nor blocks.
            (and as `append`)
        """
        several = [message] if isinstance(message, (Mapping, Message)) else list(message)
        bodies = [self._message_body(item, fields) for item in several]
        return await self._writer.append(bodies) if bodies else []

    def _message_body(
        self, message: Mapping[str, Any] | Message, fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        given = dict(message) if isinstance(message, Mapping) else message.api()
        body = {**given, **fields}
        role = body.get("role")
        if role not in ("user", "assistant"):
            raise ValueError(f"A message is of role user or assistant, not {role!r}.")
        marks = self.assign(body) if self.assign is not None else {}
        return body | {name: mark for name, mark in marks.items() if name not in body}

    async def write_tools(self, tools: Sequence[Mapping[str, Any]], **fields: Any) -> Record:
        """Put a tool set in force."""
        return await self.append({**tools_body(tools), **fields})

    async def update_token_count(self, n: int, **usage: Any) -> Record:
        """Write down the size of the context, in tokens, as the endpoint counted it.

        `usage`: through (the id of the last record of the request, best the uid of its step's checkpoint; without it
        everything so far is covered), produced (the id of the answer, which is covered too), input, output,
        cache_read, cache_write, params, request; `exact=False` for an estimate.

        Raises:
            ValueError: `n` is negative or absurd.
        """
        body: dict[str, Any] = {"role": "_usage", "token_count": n, "exact": True}
        return await self.append(body | usage)

    async def checkpoint(self, add_user_message: bool = False, *, turn: bool = False) -> int:
        """Set a bookmark; returns its id. `turn`: a person's words follow.

        `add_user_message` appends, in the same write, a message that tells the model of it (origin `checkpoint`).
        """
        await self._writer.ready()
        number = self._log.next_checkpoint
        body = {"role": "_checkpoint", "id": number, "turn": turn}
        bodies: list[Mapping[str, Any]] = [body]
        if add_user_message:
            words = {"role": "user", "content": [text_block(f"<system>CHECKPOINT {number}</system>")]}
            bodies.append(self._message_body(words, {"origin": "checkpoint"}))
        await self._writer.append(bodies)
        return number

    async def elide(
        self, items: Iterable[Mapping[str, Any]], *, by: str, reason: str, **figures: Any
    ) -> Record:
        """Leave out, or shorten, what is sent; the records stay as they are.

        Each item names a `record`, its `block` (a place in its content; without it the whole record) and under `as` the
        text in its place, or None to drop it. In a result the text takes the place of its content. `figures` are kept
        in the record.

        Raises:
            ValueError: no items, or one that names no block of a message.
        """
        await self._writer.ready()
        named = [dict(item) for item in items]
        if not named:
            raise ValueError("There is nothing to elide: no items were given.")
        for item in named:
            self._check_item(item)
        return await self.append({"role": "_elide", "by": by, "reason": reason, **figures, "items": named})

    def _check_item(self, item: dict[str, Any]) -> None:
        index = self._index(str(item.get("record")))
        count, block = self._log.blocks[index], item.get("block")
        if not count:
            raise ValueError(f"Record {item['record']!r} has no content that could be elided.")
        if not (block is None or (type(block) is int and 0 <= block < count)):
            raise ValueError(f"Record {item['record']!r} has blocks 0 to {count - 1}, not {block!r}.")
        item.setdefault("as", None)
        if not (item["as"] is None or isinstance(item["as"], str)):
            raise ValueError(f"What stands in place of {item['record']!r} must be text or None.")

    async def restore_elided(self, elide: str | Record, items: Sequence[int] | None = None) -> Record:
        """Bring back what an `_elide` record (its id) left out: all, or the items at these places in it.

        Raises:
            ValueError: there is no such record, or no such item in it.
        """
        await self._writer.ready()
        name = elide.id if isinstance(elide, Record) else elide
        record = self.record(name)
        count = len(record.body.get("items", ())) if record.role == "_elide" else 0
        if not count or any(type(item) is not int or not 0 <= item < count for item in items or ()):
            raise ValueError(f"Record {name!r} elides {count} items; {items} cannot be brought back.")
        body: dict[str, Any] = {"role": "_restore_elided", "elide": name}
        return await self.append(body if items is None else {**body, "items": list(items)})

    async def mark(self, record: str | Record, **marks: Any) -> Record:
        """Mark a record: pinned, priority, ...; `by` is `user` unless it says `auto`. What a person marked stays
        marked when the log goes back to a checkpoint behind it.

        Raises:
            ValueError: there is no such record, or nothing to mark.
        """
        await self._writer.ready()
        name = record.id if isinstance(record, Record) else record
        self._index(name)
        if not marks.keys() - {"by"}:
            raise ValueError(f"No mark was given for {name!r}.")
        return await self.append({"role": "_mark", "record": name, "by": "user", **marks})

    async def set_state(self, key: str, value: Any) -> Record:
        """Put a value in force; it goes back and forth with the conversation."""
        return (await self.set_states({key: value}))[0]

    async def set_states(self, values: Mapping[str, Any]) -> list[Record]:
        """Put several values in force, by key, in one write."""
        return await self._writer.append(
            [{"role": "_state", "key": key, "value": value} for key, value in values.items()]
        )


def tools_body(tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The record that puts a tool set in force."""
    offered = [dict(tool) for tool in tools]
    canonical = encode({"tools": _sorted(offered)})[len(b'{"tools":') : -len(b"}\n")]
    return {"role": "_tools", "sha256": sha256(canonical).hexdigest(), "tools": offered}


def _sorted(value: Any) -> Any:
    """The same value with the keys of every mapping in order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, (list, tuple)) else value
