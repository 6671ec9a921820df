from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui_agent.sessions.folder import SessionError, SessionFolder, bucket


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_session_lies_under_its_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / "My Shop!"
    workspace.mkdir()
    folder = SessionFolder.create(workspace, root=tmp_path / "sessions", title="First")
    assert folder.path.parent.parent == tmp_path / "sessions"
    assert folder.path.parent.name == bucket(workspace)
    assert folder.path.parent.name.startswith("My-Shop-")
    assert len(folder.id) == 26
    assert folder.meta.title == "First"
    assert folder.meta.workspace == str(workspace)
    assert folder.meta.created
    assert mode(folder.path) == mode(folder.path.parent) == mode(tmp_path / "sessions") == 0o700
    assert mode(folder.path / "session.toml") == 0o600
    assert folder.context_path == folder.path / "context.jsonl"
    assert not folder.context_path.exists()


def test_a_link_to_a_workspace_is_the_workspace(tmp_path: Path) -> None:
    for name in ("real", "other/real", "x" * 200):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert bucket(tmp_path / "link") == bucket(tmp_path / "real")
    assert bucket(tmp_path / "real") != bucket(tmp_path / "other" / "real")
    assert bucket("/").startswith("root-")
    assert len(bucket(tmp_path / ("x" * 200))) < 60


def test_a_working_tree_is_one_workspace(tmp_path: Path) -> None:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (tmp_path / "tree" / "inner").mkdir()
    assert bucket(tmp_path / "tree" / "inner") == bucket(tmp_path / "tree")


def test_changes_of_the_meta_data_are_kept_with_what_other_versions_wrote(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s")
    file = folder.path / "session.toml"
    file.write_text(file.read_text() + 'colour = "red"\n[later]\nx = 1\n')
    folder.save_meta(title="Zwei \ud800 'quoted' \"x\"\n", pinned=("context_3.jsonl",), archived=True)
    meta = SessionFolder(folder.path).meta
    assert meta.title == "Zwei \ufffd 'quoted' \"x\"\n"
    assert meta.pinned == ("context_3.jsonl",)
    assert meta.archived
    assert meta.workspace == str(tmp_path)
    assert meta.unknown == {"colour": "red", "later": {"x": 1}}
    assert not meta.damage


@pytest.mark.parametrize("data", [b"title = ", b"\xff\xfe", b"a = " + b"[" * 3000])
def test_a_broken_meta_file_says_why_and_is_kept_when_a_new_one_is_written(
    tmp_path: Path, data: bytes
) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s")
    (folder.path / "session.toml").write_bytes(data)
    assert "session.toml" in folder.meta.damage
    assert folder.meta.title == ""
    folder.save_meta(title="New")
    assert folder.meta.title == "New"
    assert not folder.meta.damage
    assert (folder.path / "session.toml.broken").read_bytes() == data


def test_a_missing_meta_file_is_no_damage(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s")
    (folder.path / "session.toml").unlink()
    assert (folder.meta.title, folder.meta.damage) == ("", "")


def test_values_of_the_wrong_type_are_left_out_and_named(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s")
    (folder.path / "session.toml").write_text(
        'title = 5\narchived = true\npinned = "x"\ncreated = 2026-11-01T10:00:00Z\n'
    )
    meta = folder.meta
    assert (meta.title, meta.archived, meta.pinned, meta.created[:10]) == ("", True, (), "2026-11-01")
    assert "title" in meta.damage


def test_the_meta_data_of_a_session_that_is_gone_does_not_bring_its_folder_back(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s")
    folder.path.rename(tmp_path / "elsewhere")
    with pytest.raises(SessionError, match="is gone"):
        folder.save_meta(title="x")
    assert not folder.path.exists()


def test_a_session_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="no session can be made"):
        SessionFolder.create(tmp_path, root=tmp_path / "file")


def test_another_programs_log_is_copied_and_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "blobs").mkdir(parents=True)
    (other / "blobs" / ("a" * 64)).write_bytes(b"image")
    log = other / "context.jsonl"
    log.write_bytes(b'{"role":"user","content":"hi"}\n')
    log.chmod(0o400)
    folder = SessionFolder.adopt(log, tmp_path, root=tmp_path / "s")
    assert folder.context_path.read_bytes() == log.read_bytes()
    assert mode(folder.context_path) == 0o600
    assert (folder.path / "blobs" / ("a" * 64)).read_bytes() == b"image"
    assert folder.meta.forked_from == str(log)
    assert sorted(path.name for path in other.iterdir()) == ["blobs", "context.jsonl"]


def test_a_log_that_cannot_be_copied_leaves_no_session(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be copied"):
        SessionFolder.adopt(tmp_path / "none.jsonl", tmp_path, root=tmp_path / "s")
    assert [p for p in (tmp_path / "s").rglob("*") if not p.is_dir()] == []


def test_blobs_and_outputs_lie_in_the_folder(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s")
    digest = folder.blobs.put(b"image")
    name = folder.outputs.put_text("long")
    assert (folder.path / "blobs" / digest).read_bytes() == b"image"
    assert (folder.path / "outputs" / name).read_text() == "long"


def test_a_session_in_which_nothing_was_said_is_removed_whole(tmp_path: Path) -> None:
    unused, other = (SessionFolder.create(tmp_path, root=tmp_path / "s") for _ in range(2))
    unused.events_path.write_text("{}")
    unused.remove_if_unused()
    assert not unused.path.exists()
    other.remove_if_unused()
    assert not other.path.parent.exists()
    other.remove_if_unused()


@pytest.mark.parametrize("name", ["context.jsonl", "context_1.jsonl", "draft.json", "blobs", "anything"])
def test_a_session_that_holds_anything_is_kept_as_it_is(tmp_path: Path, name: str) -> None:
    folder = SessionFolder.create(tmp_path, root=tmp_path / "s", title="Kept")
    (folder.path / name).touch()
    folder.remove_if_unused()
    assert (folder.path / name).exists()
    assert folder.meta.title == "Kept"
