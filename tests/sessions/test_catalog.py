from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tui_agent.context.lease import Lease
from tui_agent.sessions import garbage
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import SessionError, SessionFolder

DAY = 86_400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def write(path: Path, *records: object) -> None:
    path.write_bytes(b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records))


def make(root: Path, workspace: Path, *words: str, age: float = 0, title: str = "") -> SessionFolder:
    """A session in which each of the words was answered, last used `age` seconds ago."""
    folder = SessionFolder.create(workspace, root=root, title=title)
    records: list[object] = [{"role": "_system_prompt", "content": "You are."}]
    for number, text in enumerate(words):
        records += [
            {"role": "user", "content": [{"type": "text", "text": text}], "id": f"u{number}"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": f"re: {text}"}],
                "model": "m-1",
                "id": f"a{number}",
            },
            {"role": "_usage", "token_count": 100 * (number + 1)},
        ]
    write(folder.context_path, *records)
    moment = time.time() - age
    os.utime(folder.context_path, (moment, moment))
    return folder


def old(folder: Path, days: float) -> None:
    moment = time.time() - days * DAY
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (moment, moment))


def test_sessions_are_listed_the_newest_first_with_what_was_said(
    root: Path, shop: Path, tmp_path: Path
) -> None:
    make(root, shop, "old words", age=50)
    make(root, shop, "first words\nmore", "last words", age=10)
    make(root, tmp_path, "elsewhere", age=30, title="Named")
    catalog = Catalog(root)
    assert [entry.title for entry in catalog.list()] == ["first words", "Named", "old words"]
    assert [entry.title for entry in catalog.list(shop)] == ["first words", "old words"]
    entry = catalog.list(shop)[0]
    assert (entry.first, entry.last) == ("first words\nmore", "last words")
    assert (entry.tokens, entry.model, entry.messages) == (200, "m-1", 4)
    assert (entry.workspace, entry.damaged, entry.archived) == (str(shop), "", False)
    assert entry.bytes == entry.folder.context_path.stat().st_size
    assert json.loads(json.dumps(entry.as_json()))["title"] == "first words"


def test_no_sessions_are_an_empty_list(root: Path, shop: Path) -> None:
    catalog = Catalog(root)
    assert catalog.list() == []
    assert catalog.latest(shop) is None
    assert catalog.deleted() == []
    assert catalog.gc_candidates() == []


def test_the_latest_session_is_the_last_used_of_the_workspace(root: Path, shop: Path, tmp_path: Path) -> None:
    wanted = make(root, shop, "wanted", age=20)
    make(root, shop, "older", age=30)
    make(root, tmp_path, "elsewhere")
    make(root, shop, "archived", age=5).save_meta(archived=True)
    make(root, shop)
    latest = Catalog(root).latest(shop)
    assert latest is not None
    assert latest.id == wanted.id


def test_a_session_in_which_nothing_was_said_is_left_out_unless_a_draft_waits(root: Path, shop: Path) -> None:
    empty = make(root, shop)
    (SessionFolder.create(shop, root=root).path / "draft.json").write_text("{}")
    assert len(Catalog(root).list()) == 1
    assert Catalog(root).find(empty.id).empty


def test_an_id_is_found_by_its_beginning_in_any_case(root: Path, shop: Path) -> None:
    one = make(root, shop, "one")
    catalog = Catalog(root)
    assert catalog.find(one.id).title == "one"
    assert catalog.find(one.id[:12].lower()).id == one.id
    with pytest.raises(SessionError, match="there is no session"):
        catalog.find("01ARZ3NDEK")
    with pytest.raises(SessionError, match="there is no session"):
        catalog.find(one.id[:3])
    with pytest.raises(SessionError, match="there is no session"):
        catalog.find("")


def test_a_beginning_that_fits_two_is_refused_with_both(root: Path, shop: Path) -> None:
    one, two = make(root, shop, "one"), make(root, shop, "two")
    with pytest.raises(SessionError) as caught:
        Catalog(root).find(one.id[:6])
    assert one.id in str(caught.value)
    assert two.id in str(caught.value)


def test_rename_and_archive(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    catalog = Catalog(root)
    assert catalog.rename(session.id, "  A new\n title ").title == "A new title"
    assert catalog.rename(session.id, "").title == "words"
    assert catalog.archive(session.id).archived
    assert catalog.list() == []
    assert [entry.id for entry in catalog.list(archived=True)] == [session.id]
    assert [entry.id for entry in catalog.list(archived=None)] == [session.id]
    assert not catalog.unarchive(session.id).archived
    assert [entry.id for entry in catalog.list()] == [session.id]


def test_delete_is_undone_byte_for_byte(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    before = session.context_path.read_bytes()
    catalog = Catalog(root)
    gone = catalog.delete(session.id)
    assert not session.path.exists()
    assert gone.path.is_relative_to(root.parent / "trash")
    assert catalog.list() == []
    assert [entry.id for entry in catalog.deleted()] == [session.id]
    with pytest.raises(SessionError, match="undelete"):
        catalog.find(session.id)
    assert catalog.undelete(session.id[:12]).path == session.path
    assert session.context_path.read_bytes() == before
    assert catalog.deleted() == []
    with pytest.raises(SessionError, match="there is no deleted session"):
        catalog.undelete(session.id)


def test_a_session_in_use_is_not_deleted(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    lease = Lease(session.lock_path)
    lease.acquire()
    try:
        with pytest.raises(SessionError, match="in use"):
            Catalog(root).delete(session.id)
    finally:
        lease.release()
    Catalog(root).delete(session.id)


def test_undelete_never_overwrites(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    catalog = Catalog(root)
    catalog.delete(session.id)
    session.path.mkdir(parents=True)
    with pytest.raises(SessionError, match="something of that name"):
        catalog.undelete(session.id)
    assert len(catalog.deleted()) == 1


def test_damage_is_marked_and_hides_nothing(root: Path, shop: Path) -> None:
    toml, line, folder, lost = (make(root, shop, f"words {n}", age=n) for n in range(4))
    (toml.path / "session.toml").write_text("= broken")
    line.context_path.write_bytes(line.context_path.read_bytes() + b"{broken\n{too\n")
    folder.context_path.unlink()
    folder.context_path.mkdir()
    lost.context_path.rename(lost.path / "context_1.jsonl")
    entries = {entry.id: entry for entry in Catalog(root).list()}
    assert "session.toml is not TOML" in entries[toml.id].damaged
    assert entries[toml.id].title == "words 0"
    assert entries[line.id].damaged == "2 damaged lines"
    assert "cannot be read" in entries[folder.id].damaged
    assert "missing" in entries[lost.id].damaged


def test_without_its_meta_file_a_session_still_knows_its_workspace_by_its_neighbours(
    root: Path, shop: Path
) -> None:
    lost = make(root, shop, "lost")
    (lost.path / "session.toml").unlink()
    assert Catalog(root).find(lost.id).workspace == "shop"
    make(root, shop, "neighbour")
    assert Catalog(root).find(lost.id).workspace == str(shop)


def test_what_is_no_session_folder_is_passed_over(root: Path, shop: Path) -> None:
    make(root, shop, "words")
    (root / "file").write_text("")
    (next(root.glob("shop-*")) / "file").write_text("")
    assert len(Catalog(root).list()) == 1


@pytest.mark.parametrize(
    "text", ["straße", "STRASSE ä", "Éé", "/", "\\", 'the "quoted" \\ path', "東京", "new\nline", "two words"]
)
def test_search_finds_words_in_messages_whatever_their_case(root: Path, shop: Path, text: str) -> None:
    session = make(root, shop, "something", f"before {text.swapcase() if text.isascii() else text} after")
    make(root, shop, "nothing of the kind")
    hits = Catalog(root).search(text)
    assert [hit.entry.id for hit in hits] == [session.id]
    assert hits[0].line == 5
    assert "before" in hits[0].excerpt


def test_search_reads_results_and_arguments_but_not_keys_ids_and_media(root: Path, shop: Path) -> None:
    session = make(root, shop, "hello")
    write(
        session.context_path,
        {"role": "_system_prompt", "content": "needle-prompt"},
        {"role": "user", "content": "hello", "id": "needle-id"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "needle-call",
                    "name": "bash",
                    "input": {"command": ["needle-input"]},
                }
            ],
        },
        {
            "role": "user",
            "origin": "tool",
            "content": [
                {
                    "type": "tool_result",
                    "content": [{"type": "text", "text": "x " * 250 + "needle-result" + " y" * 250}],
                }
            ],
        },
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "needledata"}}]},
        {"role": "tool", "content": [{"type": "text", "text": "kimi-result"}], "tool_call_id": "needle-kimi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "f", "arguments": '{"a": "kimi-needle"}'}}],
        },
    )
    catalog = Catalog(root)
    assert [hit.line for hit in catalog.search("needle-input")] == [3]
    found = catalog.search("NEEDLE-RESULT")[0]
    assert found.line == 4
    assert len(found.excerpt) < 200
    assert [hit.line for hit in catalog.search("kimi-result")] == [6]
    assert [hit.line for hit in catalog.search("kimi-needle")] == [7]
    for hidden in (
        "needle-prompt",
        "needle-id",
        "needle-call",
        "needledata",
        "needle-kimi",
        "role",
        "tool_use_id",
    ):
        assert catalog.search(hidden) == []


def test_search_finds_titles_and_archived_sessions_and_keeps_to_a_workspace(
    root: Path, shop: Path, tmp_path: Path
) -> None:
    session = make(root, shop, "words", title="The Blue Title")
    session.save_meta(archived=True)
    hits = Catalog(root).search("blue title")
    assert [(hit.line, hit.excerpt) for hit in hits] == [(0, "The Blue Title")]
    assert Catalog(root).search("blue", archived=False) == []
    assert Catalog(root).search("blue", tmp_path) == []
    assert Catalog(root).search("  ") == []


def test_what_has_no_words_is_looked_for_as_it_stands(root: Path, shop: Path) -> None:
    session = make(root, shop, "a line", "an arrow -> there")
    assert [(hit.entry.id, hit.line) for hit in Catalog(root).search("->")] == [(session.id, 5)]
    assert Catalog(root).search("=>") == []


def test_search_without_a_usable_index_is_slower_but_finds_the_same(root: Path, shop: Path) -> None:
    session = make(root, shop, "hello", "a needle")
    (root.parent / "sessions.db").mkdir()
    catalog = Catalog(root)
    assert [(hit.entry.id, hit.line, hit.excerpt) for hit in catalog.search("needle")] == [
        (session.id, 5, "a needle")
    ]
    assert "without an index" in catalog.index.notice


def test_the_best_hit_comes_first_after_titles(root: Path, shop: Path) -> None:
    weak = make(root, shop, "one", "a needle in " + "much hay " * 300)
    strong = make(root, shop, "two", "needle needle", age=50)
    titled = make(root, shop, "else", title="My needle", age=99)
    assert [hit.entry.id for hit in Catalog(root).search("needle")] == [titled.id, strong.id, weak.id]


def test_an_entry_says_who_writes_it_and_how_sure_its_tokens_are(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    with session.context_path.open("a") as log:
        log.write('{"role": "_usage", "token_count": 7, "exact": false}\n')
    lease = Lease(session.lock_path)
    lease.acquire()
    try:
        entry = Catalog(root).find(session.id)
        assert (entry.tokens, entry.exact) == (7, False)
        assert f"process {os.getpid()}" in entry.in_use
    finally:
        lease.release()
    assert Catalog(root).find(session.id).in_use == ""


def test_search_survives_damaged_lines(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    data = session.context_path.read_bytes()
    session.context_path.write_bytes(
        b'{"needle\n\xff needle\n[1, "needle"]\n' + data + b'{"role":"user","content":"needle\x01"}\n'
    )
    assert Catalog(root).search("needle")[0].line == 8


def test_only_what_nothing_needs_is_listed_for_clearing(root: Path, shop: Path) -> None:
    catalog = Catalog(root)
    session = make(root, shop, "words")
    kept = session.blobs.put(b"kept by a record")
    in_backup = session.blobs.put(b"kept by a backup")
    in_draft = session.blobs.put(b"kept by a draft")
    orphan = session.blobs.put(b"orphan")
    output = session.outputs.put_text("named by nothing")
    with session.context_path.open("a") as log:
        log.write(
            json.dumps({"role": "user", "content": [{"type": "image", "source": {"sha256": kept}}]}) + "\n"
        )
    write(session.path / "context_1.jsonl", {"role": "user", "content": f"see {in_backup}"})
    (session.path / "draft.json").write_text(json.dumps({"images": [in_draft]}))
    (session.path / ".x.tmp").write_text("half")
    empty = SessionFolder.create(shop, root=root)
    empty.events_path.write_text('{"event":"session_opened"}\n')
    deleted, recent = make(root, shop, "deleted"), make(root, shop, "recent")
    catalog.delete(deleted.id)
    old(catalog.trash, 8)
    catalog.delete(recent.id)
    assert [c.kind for c in catalog.gc_candidates()] == ["trash"]  # the rest is younger than an hour
    old(root, 1)
    found = {str(c.path.relative_to(root.parent)): c for c in catalog.gc_candidates()}
    base = session.path.relative_to(root.parent)
    assert set(found) == {
        f"trash/{base.parent.name}/{deleted.id}",
        f"sessions/{base.parent.name}/{empty.id}",
        f"{base}/.x.tmp",
        f"{base}/blobs/{orphan}",
        f"{base}/outputs/{output}",
    }
    assert all(c.bytes > 0 and c.why for c in found.values())
    assert {c.kind for c in catalog.gc_candidates(trash_days=0)} == {"trash", "empty", "leftover", "orphan"}
    for candidate in catalog.gc_candidates(trash_days=0):
        garbage.remove(candidate)
        assert not candidate.path.exists()
    assert catalog.gc_candidates(trash_days=0) == []
    assert sorted(path.name for path in (session.path / "blobs").iterdir()) == sorted(
        [kept, in_backup, in_draft]
    )
    assert [entry.id for entry in catalog.list()] == [session.id]


def test_nothing_of_a_session_in_use_is_cleared(root: Path, shop: Path) -> None:
    session = make(root, shop, "words")
    session.blobs.put(b"orphan")
    old(root, 1)
    catalog = Catalog(root)
    (candidate,) = catalog.gc_candidates()
    lease = Lease(session.lock_path)
    lease.acquire()
    try:
        assert catalog.gc_candidates() == []
        with pytest.raises(SessionError, match="in use"):
            garbage.remove(candidate)
    finally:
        lease.release()
    assert candidate.path.exists()


def test_the_users_own_catalog_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shop: Path
) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "home"))
    session = SessionFolder.create(shop)
    assert session.path.is_relative_to(tmp_path / "home" / "data" / "sessions")
    write(session.context_path, {"role": "user", "content": "hello"})
    assert [entry.title for entry in Catalog().list(shop)] == ["hello"]
    Catalog().delete(session.id)
    assert [p.name for p in (tmp_path / "home" / "data" / "trash").iterdir()] == [session.path.parent.name]
