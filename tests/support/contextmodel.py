"""A simple model of a session, to hold the real one against: lists of records, folded in the plainest way.

`Model` knows the files of a session as lists of records and what each operation makes of them; `project` folds one
list into what a context shows. It shares no code with the program and is as slow and as plain as it can be. Ids that
the program makes up (ULIDs) are told to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

Body = dict[str, Any]
DAMAGED = "damaged"
HEADS = ("_rewind", "_compaction")
SAID = ("user", "assistant")
ABOUT = ("_elide", "_restore_elided", "_mark")
OF_THE_FILE = (*HEADS, "_usage")
ONE = ("_system_prompt", "_tools")


@dataclass
class Shown:
    """What a context shows."""

    prompt: str | None = None
    history: list[tuple[str, str, str | None, list[Body]]] = field(default_factory=list)
    """Id, role, origin, blocks."""
    state: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, Body] = field(default_factory=dict)
    elided: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """For a record the elisions in force on it: id of the elide, index of the item."""
    checkpoints: list[tuple[int, str, bool]] = field(default_factory=list)
    tokens: int = 0
    undo: str | None = None
    redo: str | None = None
    change: Body | None = None
    """The head of the change that stands: behind an undo or a redo, that of the file they brought back."""


def project(records: list[Body]) -> Shown:
    """Fold the records of one file."""
    shown = Shown()
    messages: dict[str, Body] = {}
    elides: dict[str, list[Body]] = {}
    for record in records:
        match record["role"]:
            case "_system_prompt":
                shown.prompt = record["content"]
            case "_checkpoint":
                shown.checkpoints.append((record["id"], record["uid"], record["turn"]))
            case "_usage":
                shown.tokens = record["token_count"]
            case "_state":
                shown.state[record["key"]] = record["value"]
            case "_mark":
                marks = {key: value for key, value in record.items() if key not in ("role", "record")}
                shown.marks[record["record"]] = shown.marks.get(record["record"], {}) | marks
            case "_elide":
                elides[record["id"]] = record["items"]
                for number, item in enumerate(record["items"]):
                    shown.elided.setdefault(item["record"], []).append((record["id"], number))
            case "_restore_elided":
                items = record.get("items")
                for name, inforce in shown.elided.items():
                    shown.elided[name] = [
                        (elide, number)
                        for elide, number in inforce
                        if elide != record["elide"] or (items is not None and number not in items)
                    ]
            case "user" | "assistant":
                messages[record["id"]] = record
                shown.redo = None
            case role if role in HEADS:
                shown.undo, shown.redo = record["undo"], record["redo"]
                shown.change = record.get("stands", record)
    for name, record in messages.items():
        content = record["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        blocks = _elided(blocks, [elides[elide][number] for elide, number in shown.elided.get(name, [])])
        if blocks:
            shown.history.append((name, record["role"], record.get("origin"), blocks))
    shown.elided = {name: inforce for name, inforce in shown.elided.items() if inforce}
    return shown


def _elided(blocks: list[Body], items: list[Body]) -> list[Body]:
    """The blocks with the newest elision of each in force; one of the whole record goes before those of its blocks."""
    newest = {item.get("block"): item["as"] for item in items}
    if None in newest:
        text = newest[None]
        if text is None:
            return []
        paired = [_short(block, text) for block in blocks if block["type"] in ("tool_use", "tool_result")]
        return paired or [{"type": "text", "text": text}]
    kept = []
    for place, block in enumerate(blocks):
        if place not in newest:
            kept.append(block)
        elif newest[place] is not None:
            kept.append(_short(block, newest[place]))
    return kept


def _short(block: Body, text: str) -> Body:
    if block["type"] == "tool_result":
        return block | {"content": text}
    if block["type"] == "tool_use":
        return block | {"input": {"elided": text}}
    return {"type": "text", "text": text}


def aimed(there: list[Body], records: list[Body]) -> list[Body]:
    """The records without what speaks only of records that are neither there nor among them."""
    names, found = {body.get("id") for body in there if body.get("id")}, []
    for body in records:
        if body["role"] in ABOUT:
            targets = {body.get("record"), body.get("elide")} - {None}
            if body["role"] == "_elide":
                targets = {item["record"] for item in body["items"]}
            if not names.intersection(targets):
                continue
        names.add(body.get("id"))
        found.append(body)
    return found


def sound(records: list[Body]) -> list[Body]:
    """The records without damaged lines, which only undo and redo bring back."""
    return [record for record in records if record["role"] != DAMAGED]


@dataclass
class Model:
    """The files of a session: the current one and its backups by name. A damaged line is a record of role DAMAGED."""

    current: list[Body] = field(default_factory=list)
    backups: dict[str, list[Body]] = field(default_factory=dict)
    highest: int = 0

    @property
    def shown(self) -> Shown:
        return project(self.current)

    def append(self, *records: Body) -> None:
        self.current = [*self.current, *records]

    def rotate(
        self, kept: list[Body], *, undo: str | None = "", redo: str | None = None, op: str = "", **more: Any
    ) -> str:
        """Replace the file by what is kept and a head; returns the backup's name. `undo` "" is that backup.

        `more`: `stands` is the head of the change that stands then, None if there is none; without it, this one.
        """
        self.highest += 1
        name = f"context_{self.highest}.jsonl"
        self.backups = self.backups | {name: self.current}
        undo = name if undo == "" else undo
        head = {"role": "_rewind", "backup": name, "undo": undo, "redo": redo, "op": op, **more}
        self.current = [*kept, head]
        return name

    def revert(self, checkpoint: int) -> str:
        """What stood before the checkpoint, and the marks that a person set later on records that stay."""
        place = max(
            index
            for index, record in enumerate(self.current)
            if record["role"] == "_checkpoint" and record["id"] == checkpoint
        )
        kept = sound(self.current[:place])
        ids = {record.get("id") for record in kept if record["role"] in ("user", "assistant")}
        marks = [
            record
            for record in self.current[place:]
            if record["role"] == "_mark" and record.get("by") == "user" and record["record"] in ids
        ]
        return self.rotate(kept + marks)

    def compact(self, summary: Body, kept: set[str], uid: str, tokens: int) -> str:
        """A summary in place of what is not kept. What stands behind the last message that goes is copied whole; before
        it, kept messages, what is said of them, and the states in force there.
        """
        records = sound(self.current)
        stays = takewhile(lambda name: name in kept, (name for name, *_ in reversed(self.shown.history)))
        first = [*stays][-1:]
        end = next((at for at, body in enumerate(records) if [body.get("id")] == first), len(records))
        cut = max((at + 1 for at, body in enumerate(records[:end]) if body["role"] in SAID), default=0)
        old, rest = (
            records[:cut],
            [body for body in records[cut:] if body["role"] not in (*OF_THE_FILE, *ONE)],
        )
        prompts = [body for body in records if body["role"] == "_system_prompt"]
        picked = [body for body in old if body["role"] in SAID and body["id"] in kept]
        states = {body["key"]: body for body in old if body["role"] == "_state"}
        order = [body for body in old if body["role"] == "_state" and states[body["key"]] is body]
        new = [*prompts[-1:], {"role": "_checkpoint", "id": 0, "uid": uid, "turn": False}, summary]
        about = aimed(picked, [body for body in old if body["role"] in ABOUT] + rest)
        stamp = {"role": "_usage", "token_count": tokens}
        return self.rotate([*new, *picked, *order, *about, stamp], op="compaction")

    def take_back(self) -> str:
        """What was before the compaction that stands, and what was appended since."""
        change = self.shown.change
        at = next(place for place, body in enumerate(self.current) if body is change)
        before = sound(self.backups[self.current[at]["backup"]])
        later = [body for body in sound(self.current[at + 1 :]) if body["role"] not in OF_THE_FILE]
        return self.rotate([*before, *aimed(before, later)])

    def bring_back(self, name: str) -> str:
        """What is sound in a backup becomes the content again."""
        return self.rotate(sound(self.backups[name]))

    def undo(self) -> str:
        shown = self.shown
        assert shown.undo is not None
        content = self.backups[shown.undo]
        inside = project(content)
        other = f"context_{self.highest + 1}.jsonl"
        return self.rotate(list(content), undo=inside.undo, redo=other, stands=inside.change)

    def redo(self) -> str:
        shown = self.shown
        assert shown.redo is not None
        content = self.backups[shown.redo]
        inside = project(content)
        return self.rotate(list(content), undo=inside.undo, redo=inside.redo, stands=inside.change)
