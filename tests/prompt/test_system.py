"""The system prompt's layers: named, ordered, sized, and the same blocks again from what is stored."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.prompt.guides import MAX_FILE_BYTES
from tui_agent.prompt.remembered import Listed
from tui_agent.prompt.system import (
    OPTION,
    SETTING,
    Layer,
    SystemPrompt,
    joined,
    pieces,
    record,
)


def test_layers_go_from_the_general_to_the_particular(tmp_path: Path) -> None:
    inner = tmp_path / "packages" / "web"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("root rules")
    (tmp_path / "packages" / "CLAUDE.md").write_text("package rules")
    (inner / "AGENTS.md").write_text("web rules")
    profile = tmp_path / "profile.md"
    profile.write_text("likes tests")
    prompt = SystemPrompt(
        root=tmp_path, folder=inner, profile=profile, own=lambda: {OPTION: "be brief", SETTING: "  "}
    )
    layers = prompt.layers()
    assert [(layer.layer, layer.source) for layer in layers] == [
        ("builtin", "tui-agent"),
        ("workspace", "AGENTS.md"),
        ("workspace", "packages/CLAUDE.md"),
        ("workspace", "packages/web/AGENTS.md"),
        ("profile", "profile.md"),
        ("session", "--append-system"),
    ]
    assert not prompt.notices


def test_a_long_file_is_cut_at_a_line_and_said(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("a line of rules\n" * 10_000)
    prompt = SystemPrompt(root=tmp_path, folder=tmp_path)
    layer = prompt.layers()[1]
    assert len(layer.text) < MAX_FILE_BYTES + 200
    assert layer.text.endswith("a line of rules")
    assert "AGENTS.md" in prompt.notices[0]


def test_what_cannot_be_read_is_said_and_not_fatal(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    (tmp_path / "CLAUDE.md").write_bytes(b"bad \xff bytes")
    layers = SystemPrompt(root=tmp_path, folder=tmp_path).layers()
    assert [layer.source for layer in layers] == ["tui-agent", "CLAUDE.md"]
    assert "bad � bytes" in layers[1].text


def test_a_pipe_in_the_place_of_a_file_is_said_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    prompt = SystemPrompt(root=tmp_path, folder=tmp_path)
    assert [layer.source for layer in prompt.layers()] == ["tui-agent"]
    assert prompt.notices == ["AGENTS.md was not read: it is a named pipe, not a file"]


def test_a_link_that_leads_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "key").write_text("secret")
    (root / "AGENTS.md").symlink_to(tmp_path / "key")
    prompt = SystemPrompt(root=root, folder=root)
    assert "secret" not in joined(prompt.layers())[0]
    assert "leads out" in prompt.notices[0]


def test_what_two_files_say_alike_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("use tabs")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "MEMORY.md").write_text("use tabs\n")
    prompt = SystemPrompt(root=tmp_path, folder=tmp_path)
    assert [layer.source for layer in prompt.layers()] == ["tui-agent", "AGENTS.md"]
    (tmp_path / "MEMORY.md").write_text("use spaces")
    assert [layer.source for layer in prompt.layers()] == ["tui-agent", "AGENTS.md", "MEMORY.md"]


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules")
    prompt = SystemPrompt(root=tmp_path, folder=tmp_path)
    assert joined(prompt.layers()) == joined(prompt.layers())


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_the_recorded_places_cut_the_prompt_into_its_layers(texts: list[str]) -> None:
    layers = [Layer("session", str(index), text) for index, text in enumerate(texts)]
    text, blocks = joined(layers)
    data = text.encode("utf-8", "replace")
    cut = [data[slice(*block["bytes"])].decode() for block in blocks]  # type: ignore[misc]
    assert [piece.encode("utf-8", "replace").decode() for piece in pieces(layers)] == cut
    assert "".join(cut) == data.decode()


def test_another_agent_has_a_first_layer_of_its_own_over_the_same_workspace(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("root rules")
    own = {OPTION: "be brief", SETTING: "be kind"}
    prompt = SystemPrompt(
        root=tmp_path, folder=tmp_path, own=lambda: own, memories=lambda: Listed("remembered", [{"id": "1"}])
    )
    agent = prompt.for_agent("explorer", "You look for things.")
    assert [(layer.layer, layer.source) for layer in agent.layers()] == [
        ("builtin", "explorer"),
        ("workspace", "AGENTS.md"),
        ("session", OPTION),
        ("session", SETTING),
    ]
    assert agent.layers()[0].text == "You look for things." and not record(agent.layers())["memories"]
    knows = prompt.for_agent("helper", "You help.", memories=True)
    assert [layer.text for layer in knows.layers()][-1] == "remembered"
    assert prompt.layers()[0].source == "tui-agent" and record(knows.layers())["memories"] == [{"id": "1"}]


def test_instructions_of_settings_are_read_each_time(tmp_path: Path) -> None:
    own = {SETTING: " one "}
    prompt = SystemPrompt(root=tmp_path, folder=tmp_path, own=lambda: own)
    assert prompt.layers()[-1].text == "one"
    own[SETTING] = ""
    assert [layer.layer for layer in prompt.layers()] == ["builtin"]
