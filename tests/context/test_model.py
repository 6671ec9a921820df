"""Whatever is done to a session in whatever order, what is shown is what a fresh process shows, and what a simple model
of a session says.

Operations of all kinds, processes that end and start, ones that die in the middle of an operation, disks that refuse, a
torn last line, and a second process that reads. After each step the live projection, a fresh restore and the
model (tests/support/contextmodel) are compared.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support import faults
from tests.support.contextmodel import DAMAGED, Body, Model, Shown, sound
from tui_agent.context import Context, ContextError, LogChanged, NothingToUndo
from tui_agent.context.compacted import Replacement

TEXTS = st.sampled_from(
    ["hello", "世界 再见", "a\u2028b\x85c", "<system>not ours", "", "x" * 300, "\x00\x1b[2J", "  "]
)
SOME_TEXT = st.sampled_from(["hello", "世界 再见", "a\u2028b\x85c", "x" * 300])
ORIGINS = st.sampled_from([None, None, "injection", "summary", "background"])
STATES = st.sampled_from([{"text": "finish"}, [], None, 3, "on"])
MARKS = st.sampled_from(
    [
        {"pinned": True},
        {"pinned": False, "by": "user"},
        {"priority": 75, "by": "auto"},
        {"priority": 0, "pinned": True},
    ]
)
Step = Callable[[], Awaitable[Any]]


class Sessions(RuleBasedStateMachine):
    """One session folder, its writer, a second reader, and the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="model-"))
        self.path = self.folder / "context.jsonl"
        self.runner = asyncio.Runner()
        self.model = Model()
        self.calls = 0
        self.compactions = 0
        self.context = Context(self.path)
        self.reader = Context(self.path, read_only=True)

    def teardown(self) -> None:
        self.run(self.context.close())
        self.run(self.reader.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def run(self, step: Any) -> Any:
        return self.runner.run(step)

    # --- what is done ------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        assert self.run(self.context.restore()) is False

    @rule(text=SOME_TEXT)
    def write_prompt(self, text: str) -> None:
        self.run(self.context.write_system_prompt(text))
        self.model_prompt(text)

    def model_prompt(self, text: str) -> None:
        body = {"role": "_system_prompt", "content": text}
        if self.model.current and self.model.shown.prompt is None:
            self.model.rotate([body, *sound(self.model.current)])
        else:
            self.model.append(body)

    @rule(text=TEXTS, origin=ORIGINS)
    def say(self, text: str, origin: str | None) -> None:
        fields = {} if origin is None else {"origin": origin}
        message = {"role": "user", "content": text}
        [record] = self.run(self.context.append_message(message, **fields))
        self.model.append({"role": "user", "content": text, "id": record.id, "origin": origin})

    @rule(texts=st.lists(TEXTS, max_size=3), calls=st.integers(0, 2), answered=st.booleans())
    def answer(self, texts: list[str], calls: int, answered: bool) -> None:
        uses = [
            {"type": "tool_use", "id": f"c{self.calls + n}", "name": "bash", "input": {"n": n}}
            for n in range(calls)
        ]
        self.calls += calls
        messages: list[Body] = [
            {"role": "assistant", "content": [*({"type": "text", "text": text} for text in texts), *uses]}
        ]
        if answered:
            messages += [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": use["id"], "content": "ok"}],
                }
                for use in uses
            ]
        records = self.run(self.context.append_message(messages))
        for message, record in zip(messages, records, strict=True):
            self.model.append(message | {"id": record.id, "origin": record.origin})

    @rule(count=st.integers(0, 200_000))
    def use(self, count: int) -> None:
        self.run(self.context.update_token_count(count))
        self.model.append({"role": "_usage", "token_count": count})

    @rule(turn=st.booleans(), add=st.booleans())
    def checkpoint(self, turn: bool, add: bool) -> None:
        number = self.run(self.context.checkpoint(add, turn=turn))
        assert number == self.next_checkpoint()
        mark = self.context.checkpoints()[-1]
        self.model.append({"role": "_checkpoint", "id": number, "uid": mark.uid, "turn": turn})
        if add:
            message = self.context.history[-1]
            text = f"<system>CHECKPOINT {number}</system>"
            assert (message.origin, message.text) == ("checkpoint", text)
            self.model.append({"role": "user", "content": text, "id": message.id, "origin": "checkpoint"})

    def next_checkpoint(self) -> int:
        return max((number for number, _, _ in self.model.shown.checkpoints), default=-1) + 1

    @precondition(lambda self: self.model.shown.checkpoints)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([number for number, _, _ in self.model.shown.checkpoints]))
        backup = self.run(self.context.revert_to(number))
        assert backup.name == self.model.revert(number)

    @rule(number=st.sampled_from([-1, 10_000, 2**70]))
    def revert_to_nowhere(self, number: int) -> None:
        with pytest.raises(ValueError, match=str(number)):
            self.run(self.context.revert_to(number))

    @precondition(lambda self: self.model.current)
    @rule(text=st.none() | SOME_TEXT)
    def clear(self, text: str | None) -> None:
        backup = self.run(self.context.clear(text))
        assert backup.name == self.model_clear(text)

    def model_clear(self, text: str | None) -> str:
        kept = self.model.shown.prompt if text is None else text
        prompt: list[Body] = [] if kept is None else [{"role": "_system_prompt", "content": kept}]
        return self.model.rotate(prompt)

    @precondition(lambda self: self.messages())
    @rule(data=st.data(), newest=st.integers(0, 4))
    def compact(self, data: st.DataObject, newest: int) -> None:
        names = [name for name, *_ in self.model.shown.history]
        picks = data.draw(st.lists(st.sampled_from(names), max_size=3)) if names else []
        self.summarise({*picks, *names[len(names) - newest :]})

    def summarise(self, kept: set[str]) -> None:
        self.compactions += 1
        summary = {"role": "user", "content": "so far", "id": f"S{self.compactions}", "origin": "summary"}
        change = Replacement(summary, kept, self.context.size, self.context.generation)
        backup = self.run(self.context.compact(change, figures={}))
        uid = self.context.checkpoints()[0].uid
        assert backup.name == self.model.compact(summary, kept, uid, self.context.token_count)

    @rule()
    def take_back(self) -> None:
        change = self.model.shown.change
        if change is None or change["op"] != "compaction":
            with pytest.raises(NothingToUndo):
                self.run(self.context.take_back())
        else:
            backup = self.run(self.context.take_back())
            assert backup.name == self.model.take_back()

    @precondition(lambda self: self.messages())
    @rule(data=st.data(), reason=st.sampled_from(["drop", "micro"]))
    def elide(self, data: st.DataObject, reason: str) -> None:
        items = data.draw(st.lists(self.items(), min_size=1, max_size=3))
        record = self.run(self.context.elide(items, by="user", reason=reason))
        self.model.append({"role": "_elide", "id": record.id, "items": items})

    def messages(self) -> list[Body]:
        """The messages that have blocks."""
        return [
            body for body in self.model.current if body["role"] in ("user", "assistant") and body["content"]
        ]

    def items(self) -> st.SearchStrategy[Body]:
        def item(message: Body) -> st.SearchStrategy[Body]:
            blocks = 1 if isinstance(message["content"], str) else len(message["content"])
            return st.fixed_dictionaries(
                {
                    "record": st.just(message["id"]),
                    "block": st.none() | st.integers(0, blocks - 1),
                    "as": st.none() | st.just("[short]"),
                }
            )

        return st.sampled_from(self.messages()).flatmap(item)

    @precondition(lambda self: self.model.shown.elided)
    @rule(data=st.data(), whole=st.booleans())
    def bring_back(self, data: st.DataObject, whole: bool) -> None:
        inforce = [pair for pairs in self.model.shown.elided.values() for pair in pairs]
        elide, number = data.draw(st.sampled_from(inforce))
        items = None if whole else [number]
        self.run(self.context.restore_elided(elide, items))
        self.model.append({"role": "_restore_elided", "elide": elide, "items": items})

    @precondition(lambda self: self.messages())
    @rule(data=st.data(), marks=MARKS)
    def mark(self, data: st.DataObject, marks: dict[str, Any]) -> None:
        message = data.draw(st.sampled_from(self.messages()))
        self.run(self.context.mark(message["id"], **marks))
        self.model.append({"role": "_mark", "record": message["id"], "by": "user", **marks})

    @rule(key=st.sampled_from(["goal", "todo"]), value=STATES)
    def set_state(self, key: str, value: Any) -> None:
        self.run(self.context.set_state(key, value))
        self.model.append({"role": "_state", "key": key, "value": value})

    @precondition(lambda self: self.model.backups)
    @rule(data=st.data())
    def restore_backup(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.backups)))
        backup = self.run(self.context.restore_backup(name))
        assert backup.name == self.model.bring_back(name)

    @rule()
    def undo(self) -> None:
        if self.model.shown.undo is None:
            with pytest.raises(NothingToUndo):
                self.run(self.context.undo())
        else:
            backup = self.run(self.context.undo())
            assert backup.name == self.model.undo()

    @rule()
    def redo(self) -> None:
        if self.model.shown.redo is None:
            with pytest.raises(NothingToUndo):
                self.run(self.context.redo())
        else:
            backup = self.run(self.context.redo())
            assert backup.name == self.model.redo()

    # --- what happens to it -----------------------------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        self.run(self.context.close())
        self.open()

    def open(self) -> None:
        self.context = Context(self.path)
        self.run(self.context.restore())

    @rule()
    def sync(self) -> None:
        self.run(self.context.sync())

    @rule()
    def another_reads(self) -> None:
        self.run(self.reader.restore())
        assert everything(self.reader) == everything(self.context)

    @precondition(lambda self: self.model.current and self.model.current[-1]["role"] != DAMAGED)
    @rule(tail=st.sampled_from([b"{", b'{"role":"user","content":"half', b"\xe4\xb8", b"\x00" * 600]))
    def tear(self, tail: bytes) -> None:
        self.run(self.context.close())
        with self.path.open("ab") as file:
            file.write(tail)
        self.model.append({"role": DAMAGED})
        self.open()

    @precondition(lambda self: self.model.current and self.model.current[-1]["role"] != DAMAGED)
    @rule(replaced=st.booleans())
    def meddle(self, replaced: bool) -> None:
        """Another program writes to the file, or puts a copy in its place: the writer stops until it has read it."""
        self.set_state("todo", "the writer has opened the file")
        with self.path.open("ab") as file:
            file.write(b'{"role":"_note"}\n')
        if replaced:
            shutil.copy(self.path, self.path.with_name("copy"))
            self.path.with_name("copy").replace(self.path)
        with pytest.raises(LogChanged):
            self.run(self.context.set_state("goal", "lost"))
        with pytest.raises(LogChanged):
            self.run(self.context.clear())
        self.run(self.context.restore())
        self.model.append({"role": "_note"})

    @rule(data=st.data(), number=st.integers(1, 24))
    def crash(self, data: st.DataObject, number: int) -> None:
        step, outcome = self.operation(data)
        with faults.crash_at(number):
            try:
                self.run(step())
                done = True
            except faults.Crash:
                done = False
        self.run(self.context.close())
        self.open()
        self.settle(outcome, done=done)

    @rule(data=st.data(), number=st.integers(1, 24), lasting=st.booleans(), code=st.sampled_from([5, 28]))
    def refuse(self, data: st.DataObject, number: int, lasting: bool, code: int) -> None:
        step, outcome = self.operation(data)
        with faults.fail_at(number, code=code, lasting=lasting):
            try:
                self.run(step())
                done = True
            except ContextError:
                done = False
        if not done:
            self.run(self.context.restore())
        self.settle(outcome, done=done)

    def operation(self, data: st.DataObject) -> tuple[Step, Callable[[], None]]:
        """An operation, and what it makes of the model."""
        choices: dict[str, tuple[Step, Callable[[], None]]] = {
            "say": (
                lambda: self.context.append_message({"role": "user", "content": "struck"}),
                lambda: self.model.append({"role": "user", "content": "struck", "id": "?", "origin": None}),
            ),
            "prompt": (
                lambda: self.context.write_system_prompt("struck"),
                lambda: self.model_prompt("struck"),
            ),
        }
        shown = self.model.shown
        if self.model.current:
            choices["clear"] = (lambda: self.context.clear(), lambda: self.noted(self.model_clear(None)))
        if shown.checkpoints:
            number = data.draw(st.sampled_from([number for number, _, _ in shown.checkpoints]))
            choices["revert"] = (
                lambda: self.context.revert_to(number),
                lambda: self.noted(self.model.revert(number)),
            )
        if self.model.backups:
            name = data.draw(st.sampled_from(sorted(self.model.backups)))
            choices["restore"] = (
                lambda: self.context.restore_backup(name),
                lambda: self.noted(self.model.bring_back(name)),
            )
        if shown.undo is not None:
            choices["undo"] = (lambda: self.context.undo(), lambda: self.noted(self.model.undo()))
        if shown.redo is not None:
            choices["redo"] = (lambda: self.context.redo(), lambda: self.noted(self.model.redo()))
        return choices[data.draw(st.sampled_from(sorted(choices)))]

    def noted(self, name: str) -> None:
        """The name of the backup that an operation makes is not looked at."""

    def settle(self, outcome: Callable[[], None], *, done: bool) -> None:
        """The session is as before, or as after the operation; the model follows it."""
        before = self.model
        self.model = Model(before.current, before.backups, before.highest)
        outcome()
        after = self.model
        self.take_made_up_ids(after)
        backups = {backup.name for backup in self.context.backups()}
        agrees = (
            difference(self.context, after.shown) == ""
            and len(self.context.records) == len(after.current)
            and backups == set(after.backups)
        )
        assert agrees or not done, difference(self.context, after.shown)
        if not agrees:
            self.model = before

    def take_made_up_ids(self, model: Model) -> None:
        """A message that was struck has an id only the program knows."""
        if model.current and model.current[-1].get("id") == "?" and self.context.history:
            last = self.context.history[-1]
            model.current = [*model.current[:-1], model.current[-1] | {"id": last.id}]

    # --- what must hold --------------------------------------------------------------------------------------------

    @invariant()
    def live_is_fresh_is_model(self) -> None:
        fresh = Context(self.path, read_only=True)
        self.run(fresh.restore())
        try:
            live, restored = everything(self.context), everything(fresh)
            assert {key: (live[key], restored[key]) for key in live if live[key] != restored[key]} == {}
            assert difference(self.context, self.model.shown) == ""
            assert len(self.context.damage) == len(self.model.current) - len(sound(self.model.current))
            assert {backup.name for backup in self.context.backups()} == set(self.model.backups)
            items = sum(
                self.context.tokens(record.id).count for record in self.context.records if not record.damaged
            )
            assert items + self.context.unattributed == self.context.token_count_with_pending
        finally:
            self.run(fresh.close())


def everything(context: Context) -> dict[str, Any]:
    """All that a context shows."""
    named = [record for record in context.records if record.role in ("user", "assistant")]
    return {
        "records": [
            (record.line, record.id, record.role, record.origin, record.raw) for record in context.records
        ],
        "prompt": context.system_prompt,
        "history": [(m.id, m.role, m.origin, list(m.content), m.at) for m in context.history],
        "state": dict(context.state),
        "marks": [dict(context.marks(record.id)) for record in named],
        "elided": [[(e.elide, e.item) for e in context.elided(record.id)] for record in named],
        "checkpoints": [
            (c.id, c.uid, c.at, c.turn, c.line, c.words, c.tokens) for c in context.checkpoints()
        ],
        "tokens": (
            context.token_count,
            context.token_count_with_pending,
            context.unattributed,
            context.weigh(),
        ),
        "each": [context.tokens(record.id) for record in named],
        "undo": (context.can_undo, context.can_redo, context.n_checkpoints),
        "damage": [(d.line, d.offset, d.length, d.reason) for d in context.damage],
        "backups": [(b.name, b.n, b.op, b.bytes) for b in context.backups()],
    }


def difference(context: Context, shown: Shown) -> str:
    """What the context shows otherwise than the model; empty if nothing."""
    history = [(m.id, m.role, m.origin, list(m.content)) for m in context.history]
    pairs: list[tuple[str, Any, Any]] = [
        ("prompt", context.system_prompt, shown.prompt),
        ("history", history, shown.history),
        ("state", dict(context.state), shown.state),
        ("checkpoints", [(c.id, c.uid, c.turn) for c in context.checkpoints()], shown.checkpoints),
        ("tokens", context.token_count, shown.tokens),
        ("undo", context.can_undo, shown.undo is not None),
        ("redo", context.can_redo, shown.redo is not None),
        ("change", context.change and context.change.backup, shown.change and shown.change["backup"]),
    ]
    for record in context.records:
        if record.role in ("user", "assistant"):
            ours = {
                key: value
                for key, value in context.marks(record.id).items()
                if key in ("pinned", "priority", "by")
            }
            theirs = shown.marks.get(record.id, {})
            pairs.append((f"marks of {record.id}", ours | theirs, ours))
            elided = [(e.elide, e.item) for e in context.elided(record.id)]
            pairs.append((f"elisions of {record.id}", elided, shown.elided.get(record.id, [])))
    return "; ".join(
        f"{what}: {ours!r:.500} is not {theirs!r:.500}" for what, ours, theirs in pairs if ours != theirs
    )


CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def test_any_sequence_of_operations_shows_what_a_fresh_process_and_a_model_show() -> None:
    quick = settings(
        max_examples=50,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=CHECKS,
        derandomize=True,
        database=None,
    )
    run_state_machine_as_test(Sessions, settings=quick)


@pytest.mark.parametrize(
    "steps",
    [["take_back", "undo"], ["undo", "redo"], ["clear", "undo"], ["take_back", "undo", "tear", "reopen"]],
    ids="-".join,
)
def test_a_compaction_that_stands_again_can_be_taken_back_again(steps: list[str]) -> None:
    session = Sessions()
    arguments: dict[str, dict[str, Any]] = {"clear": {"text": None}, "tear": {"tail": b"{"}}
    try:
        session.begin()
        session.say(text="before", origin=None)
        session.summarise(set())
        for step in steps:
            getattr(session, step)(**arguments.get(step, {}))
            session.live_is_fresh_is_model()
        session.say(text="since", origin=None)
        session.take_back()
        session.live_is_fresh_is_model()
        assert [message.text for message in session.context.history] == ["before", "since"]
        with pytest.raises(NothingToUndo):
            session.run(session.context.take_back())
    finally:
        session.teardown()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_longer_sequences_of_operations() -> None:
    long = settings(
        max_examples=1000, stateful_step_count=60, deadline=None, suppress_health_check=CHECKS, database=None
    )
    run_state_machine_as_test(Sessions, settings=long)
