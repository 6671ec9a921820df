from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Inside, command, conversation, environment, session, write
from tests.memory.made import proposed
from tests.support.hostile import TEXTS, acts
from tests.support.script import Reply
from tests.support.served import Served
from tests.support.validity import check
from tui_agent import paths
from tui_agent.context.lease import Lease
from tui_agent.memory.store import MemoryStore
from tui_agent.prompt.system import Layer, record

KIMI: list[dict[str, Any]] = [
    {"role": "_system_prompt", "content": "You help."},
    {"role": "user", "content": "hello from another program"},
    {"role": "assistant", "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": "hi"}]},
]


def kimi(path: Path) -> Path:
    """A log as Kimi CLI writes it."""
    write(path, KIMI)
    return path


def test_show_names_the_session_and_lists_its_messages(run: Inside, shop: Path) -> None:
    made = session(shop, "first words", "second words")
    out = run("context", "show").out
    assert made.id in out
    lines = [line.split() for line in out.splitlines()]
    assert ["3", "user"] in [line[:2] for line in lines]
    for words in (
        "first words",
        "answer to first words",
        "second words",
        "7 records, 4 messages, 2 checkpoints",
    ):
        assert words in out
    data = run("context", "show", "--json").data
    assert [m["id"] for m in data["history"]] == ["U0", "A0", "U1", "A1"]
    assert data["history"][0]["content"] == [{"type": "text", "text": "first words"}]
    assert (data["session"], data["records"], data["damaged"]) == (made.id, 7, [])


def test_show_lists_the_layers_of_the_prompt_with_their_sizes(run: Inside, tmp_path: Path) -> None:
    log = tmp_path / "context.jsonl"
    layers = [Layer("builtin", "tui-agent", "You are."), Layer("workspace", "a\x1b[2J.md", "Rules: é")]
    write(log, [{"role": "_system_prompt", **record(layers)}])
    shown = run("context", "show", "--path", str(log))
    assert "tui-agent (10 B), a␛[2J.md (10 B)" in shown.out
    data = run("context", "show", "--path", str(log), "--json").data
    assert [(one["source"], one["bytes"]) for one in data["prompt"]] == [
        ("tui-agent", 10),
        ("a\x1b[2J.md", 10),
    ]


def test_a_session_is_named_by_its_beginning_or_its_file(run: Inside, shop: Path, tmp_path: Path) -> None:
    first = session(shop, "the first", age=100)
    session(shop, "the last")
    assert "the last" in run("context", "show").out
    assert "the first" in run("context", "show", "--session", first.id[:14].lower()).out
    for path in (first.path, first.context_path):
        assert "the first" in run("context", "show", "--path", str(path)).out
    os.chdir(tmp_path)
    assert run("context", "show").code == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "there is no session in"),
        (("--session", "01ARZ3NDEK"), "there is no session '01ARZ3NDEK'"),
        (("--path", "nowhere"), "does not exist"),
        (("--path", "empty.jsonl"), "is empty"),
        (("--path", "folder"), "does not exist"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    run: Inside, shop: Path, argv: tuple[str, ...], words: str
) -> None:
    (shop / "empty.jsonl").write_text("")
    (shop / "folder").mkdir()
    for action in ("show", "undo"):
        ended = run("context", action, *argv)
        assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
        assert words in ended.err


def test_checkpoints_with_their_words(run: Inside, shop: Path) -> None:
    session(shop, "first words", "second words")
    data = run("context", "checkpoints", "--json").data
    assert [(c["id"], c["turn"], c["words"]) for c in data] == [
        (0, True, "first words"),
        (1, True, "second words"),
    ]
    assert "second words" in run("context", "checkpoints").out
    write(session(shop).context_path, [{"role": "user", "content": "x"}])
    assert "no checkpoints" in run("context", "checkpoints").out


def test_what_an_answer_proposed_follows_its_turn(run: Inside, shop: Path) -> None:
    made = session(shop, "first words", "second words")
    store = MemoryStore(paths.memory_db())
    for key in ("U0", "A1"):
        store.propose(proposed(key, record=key, source_session=made.id))

    def statuses() -> dict[str, str]:
        return {memory.key: memory.status for memory in store.list()}

    run("context", "revert", "1")
    assert statuses() == {"U0": "proposed", "A1": "suspended"}
    run("context", "undo")
    assert statuses() == {"U0": "proposed", "A1": "proposed"}


def test_revert_undo_redo_restore_and_clear(run: Inside, shop: Path) -> None:
    made = session(shop, "first words", "second words", "third words")
    before = made.context_path.read_bytes()
    told = run("context", "revert", "1", "--json").data
    assert (told["op"], told["messages"], told["words"]) == ("revert", 2, "second words")
    assert (made.path / told["backup"]).read_bytes() == before
    history = [m["id"] for m in run("context", "show", "--json").data["history"]]
    assert history == ["U0", "A0"]
    assert "undone" in run("context", "undo").out
    assert made.context_path.read_bytes().startswith(before)
    assert "made again" in run("context", "redo").out
    assert len(run("context", "show", "--json").data["history"]) == 2
    assert "is the history again" in run("context", "restore", told["backup"]).out
    assert len(run("context", "show", "--json").data["history"]) == 6
    assert "the history is empty" in run("context", "clear").out
    after = run("context", "show", "--json").data
    assert (after["history"], after["can_undo"]) == ([], True)
    backups = run("context", "backups", "--json").data
    assert len(backups) == 5
    assert (backups[-1]["name"], backups[-1]["op"]) == (told["backup"], "revert")
    out = run("context", "backups").out
    assert "5 backups" in out and told["backup"] in out


def test_backups_are_pruned_only_if_settings_say_so_and_then_it_is_told(
    run: Inside, shop: Path, home: Path
) -> None:
    made = session(shop, *(f"words {n}" for n in range(6)))
    for number in (5, 4, 3):
        assert run("context", "revert", str(number), "--json").data["pruned"] == []
    (home / "config").mkdir(mode=0o700)
    (home / "config" / "settings.toml").write_text("[backups]\nkeep = 2\n")
    told = run("context", "revert", "2").out
    assert "no longer kept, as settings say" in told
    assert sorted(path.name for path in made.path.glob("context_*")) == ["context_3.jsonl", "context_4.jsonl"]
    (home / "config" / "settings.toml").write_text("x = 1")
    ended = run("context", "revert", "1")
    assert (ended.code, "unknown key x" in ended.err) == (0, True)
    assert len(list(made.path.glob("context_*"))) == 3


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("revert", "7"), "0"),
        (("revert", "-1"), "-1"),
        (("revert", "x"), "not a checkpoint number"),
        (("restore", "context_9.jsonl"), "context_9.jsonl"),
        (("restore", "../../etc/passwd"), "passwd"),
        (("undo",), "undo"),
        (("redo",), "redo"),
        (("pin", "nothing"), "no record"),
        (("elide", "nothing"), "no record"),
        (("unelide", "U0"), "not left out"),
        (("edit", "A0", "other words"), "unchanged or not at all"),
        (("edit", "U0", " "), "blank"),
    ],
)
def test_what_cannot_be_done_changes_no_byte(
    run: Inside, shop: Path, argv: tuple[str, ...], words: str
) -> None:
    made = session(shop, "first words")
    before = made.context_path.read_bytes()
    ended = run("context", *argv)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert words in ended.err
    assert made.context_path.read_bytes() == before
    assert not list(made.path.glob("context_*"))


def test_records_are_pinned_elided_and_brought_back(run: Inside, shop: Path) -> None:
    session(shop, "first words", "second words")
    assert run("context", "pin", "U0").code == 0
    assert run("context", "elide", "A0", "--json").data["record"] == "A0"
    shown = {r["id"]: r for r in run("inspect", str(latest(shop)), "--json").data["log"]}
    assert (shown["U0"]["pinned"], shown["A0"]["elided"]) == (True, True)
    body = run("context", "request").data
    assert "answer to first words" not in json.dumps(body)
    assert run("context", "unelide", "A0").code == 0
    assert "answer to first words" in json.dumps(run("context", "request").data)
    assert run("context", "unpin", "#3").code == 0
    shown = {r["id"]: r for r in run("inspect", str(latest(shop)), "--json").data["log"]}
    assert (shown["U0"]["pinned"], shown["A0"]["elided"]) == (False, False)


def test_another_text_is_sent_in_place_of_a_prompts(run: Inside, shop: Path) -> None:
    session(shop, "first words")
    assert run("context", "edit", "U0", "other words").code == 0
    body = json.dumps(run("context", "request").data)
    assert "other words" in body and "first words" not in body.replace("answer to first words", "")
    assert run("context", "unelide", "U0").code == 0
    assert "other words" not in json.dumps(run("context", "request").data)


def latest(workspace: Path) -> Path:
    from tui_agent.sessions.catalog import Catalog

    entry = Catalog().latest(workspace)
    assert entry is not None
    return entry.path / "context.jsonl"


def test_the_request_is_valid_and_holds_the_history(run: Inside, shop: Path) -> None:
    session(shop, "first words", "second words")
    ended = run("context", "request", "--session", run("sessions", "--json").data[0]["id"])
    body = ended.data
    assert not check(body)
    assert body["messages"][0]["content"][0]["text"] == "first words"
    assert "You help." in json.dumps(body["system"])
    assert {"read_file", "bash"} <= {tool["name"] for tool in body["tools"]}


def test_reading_a_log_changes_nothing_in_its_folder(run: Inside, shop: Path) -> None:
    made = session(shop, "first words")
    before = {path: path.read_bytes() for path in made.path.iterdir()}
    for action in ("show", "checkpoints", "backups", "tokens", "request"):
        assert run("context", action).code == 0
    assert run("inspect", str(made.context_path)).code == 0
    assert run("doctor", made.id).code == 0
    assert {path: path.read_bytes() for path in made.path.iterdir()} == before


def test_the_sum_of_tokens_closes(run: Inside, shop: Path) -> None:
    made = session(shop)
    records = conversation("first words", "second words " * 200)
    usage = {"role": "_usage", "token_count": 5000, "exact": True, "through": "U0", "produced": "A0"}
    write(made.context_path, [*records[:4], usage, *records[4:]])
    data = run("context", "tokens", "--json").data
    assert sum(item["tokens"] for item in data["items"]) + data["unattributed"] == data["tokens"]["total"]
    out = run("context", "tokens").out
    assert f"{data['tokens']['total']:,}" in out
    assert "unattributed" in out


def test_a_session_that_is_written_says_by_whom_and_can_be_read(run: Inside, shop: Path) -> None:
    made = session(shop, "first words")
    lease = Lease(made.lock_path)
    lease.acquire()
    try:
        assert "first words" in run("context", "show").out
        for argv in (("clear",), ("pin", "U0"), ("revert", "0")):
            ended = run("context", *argv)
            assert ended.code == 1
            assert f"process {os.getpid()}" in ended.err
    finally:
        lease.release()
    assert run("context", "clear").code == 0


def test_a_clear_keeps_the_mode_and_says_what_went(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    states = {"goal": {"text": "go"}, "todo": [{"text": "x", "status": "pending"}], "mode": "plan"}
    with made.context_path.open("a") as log:
        for key, value in states.items():
            log.write(json.dumps({"role": "_state", "key": key, "value": value}) + "\n")
    out = run("context", "clear").out
    assert "the history is empty; with it went the goal and the todo list; the mode is still plan" in out
    kept = [json.loads(line) for line in made.context_path.read_text().splitlines()]
    assert [(one["key"], one["value"]) for one in kept if one["role"] == "_state"] == [("mode", "plan")]


def test_another_programs_file_is_read_and_never_written(run: Inside, shop: Path) -> None:
    file = kimi(shop / "context.jsonl")
    before = file.read_bytes()
    assert "hello from another program" in run("context", "show", "--path", str(file)).out
    assert not check(run("context", "request", "--path", str(file)).data)
    ended = run("context", "clear", "--path", str(file))
    assert (ended.code, "goes on with a copy" in ended.err) == (1, True)
    assert file.read_bytes() == before
    assert [path.name for path in shop.iterdir()] == ["context.jsonl"]


def test_the_copy_of_another_programs_log_is_ours_and_changes_like_any_session(
    run: Inside, shop: Path, tmp_path: Path, server: Served
) -> None:
    file = kimi(tmp_path / "context.jsonl")
    before = file.read_bytes()
    server.script(Reply.text("hello"))
    assert run("-p", "go on", "--resume", str(file), "--profile", "scripted").code == 0
    assert run("context", "pin", "2").code == 0
    assert run("context", "clear").code == 0
    assert run("context", "undo").code == 0
    assert "nothing would be gained" in run("context", "compact", "--strategy", "extractive").err
    assert file.read_bytes() == before


def test_inspect_reports_every_line_damaged_ones_in_their_place(run: Inside, shop: Path) -> None:
    file = shop / "some.jsonl"
    write(file, conversation("first words"))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b'{"role": "user", "cont\n', *lines[2:]]))
    out = run("inspect", str(file)).out
    assert "damaged" in out and '{"role": "user", "cont' in out
    data = run("inspect", str(file), "--json").data
    assert [record["line"] for record in data["log"]] == [1, 2, 3, 4, 5]
    assert [bool(record["damaged"]) for record in data["log"]] == [False, False, True, False, False]
    assert [damage["line"] for damage in data["damaged"]] == [3]
    assert run("inspect", str(shop / "none.jsonl")).code == 1


def test_inspect_takes_the_samples_of_another_program(run: Inside, shop: Path) -> None:
    kimi(shop / "context.jsonl")
    out = run("inspect", str(shop)).out
    assert "hello from another program" in out


def test_hostile_texts_are_shown_literally(run: Inside, shop: Path) -> None:
    made = session(shop, *(text for text in TEXTS.values() if text.strip()))
    shown = [run("context", action) for action in ("show", "checkpoints", "tokens")]
    for ended in (*shown, run("inspect", str(made.path))):
        assert (ended.code, ended.err, acts(ended.out)) == (0, "", [])


def test_hostile_texts_make_a_valid_request_that_no_terminal_obeys(run: Inside, shop: Path) -> None:
    session(shop, *(text for text in TEXTS.values() if text.strip() and len(text) < 2000))
    ended = run("context", "request")
    assert not check(ended.data)
    assert not set(ended.out) & {chr(c) for c in [*range(10), *range(11, 32), *range(127, 160), 0x202E]}


def test_a_request_that_does_not_fit_is_said_with_its_numbers(run: Inside, shop: Path) -> None:
    session(shop, "word " * 500_000)
    ended = run("context", "request")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "200,000" in ended.err


def test_the_real_command_does_the_same(shop: Path) -> None:
    made = session(shop, "first words", "second words")
    assert command("context", "revert", "1", cwd=shop).code == 0
    assert command("context", "undo", cwd=shop).code == 0
    assert len(command("context", "show", "--json", cwd=shop).data["history"]) == 4
    assert sorted(path.name for path in made.path.glob("context*")) == [
        "context.jsonl",
        "context_1.jsonl",
        "context_2.jsonl",
    ]


INTERRUPTED_AT = """
import os, signal, sys
from tui_agent.cli.main import main

def interrupt(event, arguments):
    if event == sys.argv[1] and ".jsonl" in str(arguments):
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(interrupt)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("event", ["open", "os.link", "os.rename"])
def test_an_interrupt_inside_a_rewrite_leaves_the_log_before_or_after(
    run: Inside, shop: Path, event: str
) -> None:
    made = session(shop, *(f"words {n}" for n in range(50)))
    argv = [sys.executable, "-c", INTERRUPTED_AT, event, "context", "revert", "25"]
    done = subprocess.run(argv, cwd=shop, env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")
    assert len(run("context", "show", "--json").data["history"]) in (100, 50)
    assert run("context", "pin", "U0").code == 0
    assert not [path for path in made.path.iterdir() if path.name.endswith(".tmp")]
