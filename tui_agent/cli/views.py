"""What `tui-agent context` and `inspect` show: data for programs and text for people, from the same figures."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from tui_agent import paths
from tui_agent.cli.describe import checkpoints_of, items_of, message_json, record_json, who, words_of
from tui_agent.cli.report import Column, facts, size, table, tokens, when

if TYPE_CHECKING:
    from tui_agent.context import Backup, Context

View = tuple[Any, str]
"""What a command shows: data for `--json`, and text for people."""

_LARGEST_SHOWN = 20
"""Items in the table of what fills the context."""


@dataclass(frozen=True, slots=True)
class Target:
    """The log a command is about. `session` is its id, empty for a file that is no session of ours."""

    path: Path
    session: str

    @property
    def ours(self) -> bool:
        """It lies among our sessions, as the copy of another program's log does that was resumed."""
        return self.path.resolve().parent.parent.parent == paths.sessions_dir().resolve()

    @property
    def label(self) -> str:
        """How it is called in messages."""
        return f"session {self.session}" if self.session else str(self.path)

    @property
    def option(self) -> str:
        """How it is named on a command line."""
        return f"--session {self.session}" if self.session else f"--path {shlex.quote(str(self.path))}"


def _figures(context: Context, target: Target) -> dict[str, Any]:
    weight = context.weigh()
    return {
        "session": target.session,
        "path": str(target.path),
        "tokens": {
            "total": weight.total,
            "exact": weight.exact,
            "pending": weight.pending,
            "mark": weight.mark,
        },
        "records": len(context.records),
        "messages": len(context.history),
        "checkpoints": context.n_checkpoints,
        "backups": len(context.backups()),
        "prompt": [
            {"layer": layer["layer"], "source": layer["source"], "bytes": _bytes(layer)}
            for layer in context.system_layers
        ],
        "damaged": [asdict(damage) for damage in context.damage],
        "can_undo": context.can_undo,
        "can_redo": context.can_redo,
    }


def _summary(context: Context, target: Target) -> str:
    weight = context.weigh()
    backups = context.backups()
    undo = "undo, redo" if context.can_undo and context.can_redo else ""
    undo = undo or ("undo" if context.can_undo else "redo" if context.can_redo else "nothing to undo")
    pairs: list[tuple[str, object]] = [("session", target.session)] if target.session else []
    pairs += [
        ("file", f"{target.path} ({size(target.path.stat().st_size)})"),
        (
            "tokens",
            f"{tokens(weight.total, weight.mark)}: "
            + (
                f"{weight.exact:,} as the model counted, {weight.pending:+,} estimated since"
                if weight.exact
                else "estimated, since the model counted nothing of it yet"
            ),
        ),
        (
            "holds",
            f"{len(context.records):,} records, {len(context.history):,} messages, {context.n_checkpoints} checkpoints",
        ),
        ("prompt", _layers(context) or "none yet"),
        ("backups", f"{len(backups)} ({size(sum(backup.bytes for backup in backups))}); {undo}"),
    ]
    damage = context.damage
    if damage:
        lines = ", ".join(str(item.line) for item in damage[:10]) + (", …" if len(damage) > 10 else "")
        pairs.append(("damaged", f"{len(damage)} lines (kept, not used): {lines}"))
    return facts(pairs)


def _layers(context: Context) -> str:
    """The layers of the system prompt, each with its size."""
    sized = [(layer["source"] or "of another program", _bytes(layer)) for layer in context.system_layers]
    return ", ".join(f"{source} ({size(count)})" for source, count in sized)


def _bytes(layer: Mapping[str, Any]) -> int:
    return len(str(layer["text"]).encode("utf-8", "replace"))


def _show(context: Context, target: Target) -> View:
    messages = list(context.history)
    data = {
        **_figures(context, target),
        "history": [message_json(context, message) for message in messages],
    }
    rows = []
    for message in messages:
        marks = context.marks(message.id)
        remark = "pinned" if marks.get("pinned") else ""
        if context.elided(message.id):
            remark = f"{remark} elided".strip()
        weight = context.tokens(message.id)
        rows.append(
            (
                context.record(message.id).line,
                who(message.role, message.origin),
                tokens(weight.count, weight.mark),
                remark,
                words_of(message.content),
            )
        )
    columns: list[Column | str] = [
        Column("LINE", "right"),
        "WHO",
        Column("TOKENS", "right"),
        "MARKS",
        Column("WORDS", shrink=True),
    ]
    return data, _summary(context, target) + "\n\n" + (table(columns, rows) if rows else "no messages yet")


def _checkpoints(context: Context, target: Target) -> View:
    found = checkpoints_of(context)
    if not found:
        return found, "no checkpoints yet"
    columns: list[Column | str] = [
        Column("N", "right"),
        "KIND",
        "TIME",
        Column("LINE", "right"),
        Column("TOKENS", "right"),
        Column("WORDS", shrink=True),
    ]
    rows = [(c["id"], _kind(c), when(c["at"]), c["line"], _amount(c["tokens"]), c["words"]) for c in found]
    return found, table(
        columns, rows
    ) + f"\n\nback before one of them: tui-agent context revert N {target.option}"


def _kind(checkpoint: Mapping[str, Any]) -> str:
    """Who began what follows a checkpoint: a person's turn, a turn of the goal in which nobody spoke, or a step."""
    if not checkpoint["turn"]:
        return "step"
    return "turn" if checkpoint["words"] else "goal"


def _backups(context: Context, target: Target) -> View:
    found = context.backups()
    data = [{**asdict(backup), "path": str(target.path.parent / backup.name)} for backup in found]
    if not found:
        return (
            data,
            "no backups yet: each rewrite of the history (compact, revert, clear, restore, undo) keeps one",
        )
    columns: list[Column | str] = [
        "NAME",
        "MADE BY",
        "TIME",
        Column("SIZE", "right"),
        Column("RECORDS", "right"),
        Column("TOKENS", "right"),
        "",
    ]
    rows = [
        (b.name, b.op, when(b.at), size(b.bytes), b.records, _amount(b.tokens), _backup_remark(b))
        for b in found
    ]
    total = size(sum(backup.bytes for backup in found))
    return (
        data,
        table(columns, rows)
        + f"\n\n{len(found)} backup{'s' * (len(found) > 1)}, {total}; tui-agent context restore NAME {target.option}",
    )


def _backup_remark(backup: Backup) -> str:
    return ", ".join((["pinned"] if backup.pinned else []) + ([] if backup.exists else ["no longer kept"]))


def _tokens(context: Context, target: Target) -> View:
    weight = context.weigh()
    items = items_of(context)
    data = {**_figures(context, target), "unattributed": context.unattributed, "items": items}
    total = max(weight.total, 1)
    largest = sorted(items, key=lambda item: -item["tokens"])[:_LARGEST_SHOWN]
    rows = [
        (
            tokens(item["tokens"], item["mark"]),
            f"{100 * item['tokens'] / total:.0f} %",
            item["line"],
            item["who"],
            item["words"],
        )
        for item in largest
    ]
    columns: list[Column | str] = [
        Column("TOKENS", "right"),
        Column("SHARE", "right"),
        Column("LINE", "right"),
        "WHO",
        Column("WORDS", shrink=True),
    ]
    rest = sum(item["tokens"] for item in items) - sum(item["tokens"] for item in largest)
    closing = [("largest", f"{sum(item['tokens'] for item in largest):,}")]
    if len(items) > len(largest):
        closing.append((f"{len(items) - len(largest):,} others", f"{rest:,}"))
    closing += [("unattributed", f"{context.unattributed:,}"), ("total", tokens(weight.total, weight.mark))]
    text = "\n\n".join([_summary(context, target), table(columns, rows), facts(closing)])
    return data, text + "\n\nbare: as the model counted; ≃ a share of that; ~ estimated"


def everything(context: Context, target: Target) -> View:
    """Every line of the log, damaged ones in their place."""
    records = list(context.records)
    data = {
        **_figures(context, target),
        "log": [record_json(context, record) for record in records],
        "bookmarks": checkpoints_of(context),
        "kept": [asdict(backup) for backup in context.backups()],
    }
    rows = []
    for item in data["log"]:
        remark = f"! {item['damaged']}" if item["damaged"] else "elided" if item["elided"] else ""
        rows.append(
            (
                item["line"],
                item["who"],
                when(item["at"]),
                size(item["bytes"]),
                _amount(item["tokens"], item["mark"]),
                remark or ("pinned" if item["pinned"] else ""),
                item["words"],
            )
        )
    columns: list[Column | str] = [
        Column("LINE", "right"),
        "WHO",
        "TIME",
        Column("SIZE", "right"),
        Column("TOKENS", "right"),
        Column("MARKS", shrink=True),
        Column("WORDS", shrink=True),
    ]
    return data, _summary(context, target) + "\n\n" + table(columns, rows)


def _amount(count: int | None, mark: str = "exact") -> str:
    return tokens(count, mark) if count else ""


VIEWS: dict[str, Callable[[Context, Target], View]] = {
    "show": _show,
    "checkpoints": _checkpoints,
    "backups": _backups,
    "tokens": _tokens,
}
