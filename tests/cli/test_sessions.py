from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.cli.command import Inside, session
from tests.support.hostile import TEXTS, acts
from tui_agent.context.lease import Lease
from tui_agent.sessions.catalog import Catalog


def test_the_sessions_of_a_workspace_are_a_table(run: Inside, shop: Path, tmp_path: Path) -> None:
    session(shop, "the older one", age=100)
    newest = session(shop, "the newest one")
    session(tmp_path, "elsewhere")
    ended = run("sessions")
    lines = ended.out.splitlines()
    assert lines[0].split() == ["ID", "USED", "SIZE", "TITLE"]
    assert lines[1].startswith(newest.id[:12])
    assert ["the newest one" in lines[1], "the older one" in lines[2], len(lines)] == [True, True, 3]
    everywhere = run("sessions", "list", "--all").out
    assert "elsewhere" in everywhere
    assert str(tmp_path) in everywhere


def test_json_holds_what_programs_need(run: Inside, shop: Path) -> None:
    made = session(shop, "first", "last")
    (entry,) = run("sessions", "--json").data
    assert entry["id"] == made.id
    assert (entry["title"], entry["first"], entry["last"]) == ("first", "first", "last")
    assert entry["path"] == str(made.path)
    assert entry["workspace"] == str(shop)
    assert entry["damaged"] == ""


def test_an_empty_list_says_where_there_are_others(run: Inside, tmp_path: Path) -> None:
    assert "no sessions in" in run("sessions").out
    session(tmp_path, "elsewhere")
    assert "1 elsewhere" in run("sessions").out
    assert run("sessions", "--json").data == []


def test_archive_and_back(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    assert made.id in run("sessions", "archive", made.id[:12]).out
    assert "1 elsewhere or archived" in run("sessions").out
    assert "archived" in run("sessions", "--all").out
    assert run("sessions", "unarchive", made.id).code == 0
    assert "words" in run("sessions").out


def test_rename(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    assert "A new title" in run("sessions", "rename", made.id[:12], "A new", "title").out
    assert [entry["title"] for entry in run("sessions", "--json").data] == ["A new title"]
    ended = run("sessions", "rename", made.id)
    assert (ended.code, "ID TITLE" in ended.err) == (2, True)


def test_search_finds_any_script_and_parts_of_names_and_says_what_is_wrong_with_the_index(
    run: Inside, shop: Path, home: Path
) -> None:
    one, two = session(shop, "x", "我们修复了会话选择器的错误"), session(shop, "y", "getUserName fails")
    assert [hit["id"] for hit in run("sessions", "--search", "选择器", "--json").data] == [one.id]
    assert [hit["id"] for hit in run("sessions", "--search", "user_name", "--json").data] == [two.id]
    (home / "data" / "sessions.db").write_bytes(b"no database " * 50)
    ended = run("sessions", "--search", "user_name", "--json")
    assert [hit["id"] for hit in ended.data] == [two.id]
    assert "was broken" in ended.err


def test_what_is_in_use_and_an_estimate_are_marked(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    with made.context_path.open("a") as log:
        log.write('{"role": "_usage", "token_count": 18734, "exact": false}\n')
    lease = Lease(made.lock_path)
    lease.acquire()
    try:
        out = run("sessions").out
    finally:
        lease.release()
    assert "~18,734" in out
    assert "in use" in out


def test_delete_and_back(run: Inside, shop: Path) -> None:
    one, two = session(shop, "one"), session(shop, "two")
    ended = run("sessions", "delete", one.id, two.id, "--json")
    assert [entry["id"] for entry in ended.data] == [one.id, two.id]
    assert not one.path.exists()
    assert "one" in run("sessions", "undelete").out
    assert f"undeleted {one.id}" in run("sessions", "undelete", one.id).out
    assert one.path.exists()
    assert [entry["id"] for entry in run("sessions", "undelete", "--json").data] == [two.id]


def test_what_cannot_be_done_is_one_line_and_code_1(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    lease = Lease(made.lock_path)
    lease.acquire()
    try:
        for argv in (("delete", made.id), ("delete", "01ARZ3NDEKTS"), ("undelete", "01ARZ3NDEKTS")):
            ended = run("sessions", *argv)
            assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    finally:
        lease.release()
    assert made.path.exists()


def test_search_shows_where(run: Inside, shop: Path, tmp_path: Path) -> None:
    made = session(shop, "first", "the needle is here")
    session(tmp_path, "another needle")
    out = run("sessions", "--search", "NEEDLE").out
    assert "the needle is here" in out
    assert "another needle" not in out
    assert "another needle" in run("sessions", "--all", "--search", "needle").out
    (hit,) = run("sessions", "--search", "needle", "--json").data
    assert (hit["id"], hit["line"]) == (made.id, 6)
    assert "no session says" in run("sessions", "--search", "nowhere").out


def test_search_shows_an_answer_as_it_was_shown_and_the_words_looked_for(
    run: Inside, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = session(shop, "first")
    told = "<system-reminder>\nthe pelican is told\n</system-reminder>"
    marker = '<memory scope="user" key="bird">a heron</memory>'
    called = {"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "echo '<memory>stork'"}}
    with (made.path / "context.jsonl").open("a") as file:
        for record in (
            {"role": "user", "origin": "injection", "content": [{"type": "text", "text": told}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"I keep it. {marker} {'x ' * 40}see [red]\x1b[31m the gannet"},
                    called,
                ],
            },
        ):
            file.write(json.dumps(record) + "\n")
    monkeypatch.setenv("COLUMNS", "60")
    assert run("sessions", "--search", "pelican").out.splitlines()[1].endswith(": the pelican is told")
    assert "see [red]␛[31m the gannet" in run("sessions", "--search", "gannet").out
    assert "<memory>stork" in run("sessions", "--search", "stork").out, "what was called is shown as it is"
    kept = run("sessions", "--search", "keep").out
    assert "I keep it." in kept
    assert "<memory" not in kept
    for hidden in ("heron", "bird"):
        assert "no session says" in run("sessions", "--search", hidden).out


def test_nothing_is_cleared_away_without_a_yes(run: Inside, shop: Path) -> None:
    gone = session(shop, "gone")
    Catalog().delete(gone.id)
    assert "nothing to clear away" in run("sessions", "gc").out
    listed = run("sessions", "gc", "--all")
    assert (listed.code, gone.id in listed.out, "nothing was deleted" in listed.out) == (0, True, True)
    assert [c["kind"] for c in run("sessions", "gc", "--all", "--json").data] == ["trash"]
    assert len(Catalog().deleted()) == 1
    assert "deleted 1" in run("sessions", "gc", "--all", "--yes").out
    assert Catalog().deleted() == []
    assert run("sessions", "gc", "--yes", "--json").data == {"deleted": [], "bytes": 0}


def test_a_week_old_deletion_is_listed_by_itself(run: Inside, shop: Path) -> None:
    gone = session(shop, "gone")
    moved = Catalog().delete(gone.id)
    old = time.time() - 8 * 86_400
    os.utime(moved.path, (old, old))
    assert "deleted 8 days ago: gone" in run("sessions", "gc").out


def test_damage_is_marked(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    made.context_path.write_bytes(made.context_path.read_bytes() + b"{broken\n")
    (made.path / "session.toml").write_text("= x")
    out = run("sessions").out
    assert "session.toml is not TOML" in out
    assert "words" in out


def test_hostile_words_and_titles_are_shown_literally(run: Inside, shop: Path) -> None:
    for text in TEXTS.values():
        session(shop, text or "-", title=text)
    for argv in ((), ("--all",), ("--search", "a"), ("--json",)):
        out = run("sessions", *argv).out
        assert not set(out) & {chr(c) for c in [*range(10), *range(11, 32), 127, *range(128, 160)]}
        assert not set(out) & set("\u202e\u2066\u200b\u2028")
    assert not acts(run("sessions").out)
