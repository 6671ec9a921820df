"""What a workspace remembers, in the MEMORY.md of a team: shown first, then written or read back, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import Run, engine
from tui_agent.changes import MemoryChanged
from tui_agent.commands import CommandError, Outcome
from tui_agent.workspace.root import find_root

SECTION = """# Notes

<!-- tui-agent memory -->
## Memory

### release
Tag it.

<!-- /tui-agent memory -->

The end.
"""


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    async with engine(tmp_path) as opened:
        await opened.session.perform("remember", "workspace", "build: make -j2")
        await opened.session.perform("remember", "user", "indent: tabs")
        yield opened


def file(run: Run) -> Path:
    return find_root(run.session.workspace) / "MEMORY.md"


async def agreed(run: Run, name: str) -> Outcome:
    """Look at the change, and have it made."""
    plan = await run.session.perform(name)
    return await run.session.perform(name, plan.data["mark"])


async def test_the_change_is_shown_and_nothing_is_written_before_a_person_agrees(run: Run) -> None:
    plan = await run.session.perform("share")
    assert "+### build" in plan.data["diff"] and "tabs" not in plan.text
    assert plan.data["title"] == "write 1 memory into MEMORY.md?"
    assert not file(run).exists()
    assert (await run.session.perform("share", plan.data["mark"])).text == "1 memory written into MEMORY.md"
    assert "### build\nmake -j2\n" in file(run).read_text()
    assert (await run.session.perform("share")).text == "MEMORY.md says so already"


async def test_what_others_wrote_stays(run: Run) -> None:
    file(run).write_text(SECTION)
    await agreed(run, "share")
    text = file(run).read_text()
    assert text.startswith("# Notes\n\n") and text.endswith("\nThe end.\n")
    assert text.index("### build") < text.index("### release\nTag it.")


@pytest.mark.parametrize("change", ["memory", "file"])
async def test_a_change_that_was_not_shown_is_not_made(change: str, run: Run) -> None:
    file(run).write_text(SECTION)
    mark = (await run.session.perform("share")).data["mark"]
    if change == "memory":
        await run.session.perform("remember", "workspace", "build: make -j4")
    else:
        file(run).write_text(SECTION.replace("Tag", "Sign"))
    before = file(run).read_text()
    with pytest.raises(CommandError, match="look at it again with /share"):
        await run.session.perform("share", mark)
    assert file(run).read_text() == before


async def test_what_a_team_wrote_is_remembered_as_text_from_outside(run: Run) -> None:
    file(run).write_text(SECTION)
    plan = await run.session.perform("adopt")
    assert "+Tag it." in plan.data["diff"]
    assert [m.key for m in run.session.memories.list() if m.scope == "workspace"] == ["build"]
    await run.session.perform("adopt", plan.data["mark"])
    made = next(m for m in run.session.memories.list() if m.key == "release")
    assert (made.scope, made.body, made.tainted, made.outside) == (
        *("workspace", "Tag it.", True),
        ("MEMORY.md",),
    )
    assert run.all(MemoryChanged)[-1].key == "release"
    assert (await run.session.perform("adopt")).text == "all that MEMORY.md says is remembered already"


async def test_a_text_of_ours_is_replaced_only_by_what_was_shown(run: Run) -> None:
    file(run).write_text(SECTION.replace("release", "build"))
    mark = (await run.session.perform("adopt")).data["mark"]
    file(run).write_text(SECTION.replace("release", "build").replace("Tag", "rm -rf"))
    with pytest.raises(CommandError, match="/adopt"):
        await run.session.perform("adopt", mark)
    assert [m.body for m in run.session.memories.list() if m.key == "build"] == ["make -j2"]


async def test_a_damaged_section_and_none_are_said(run: Run) -> None:
    assert (await run.session.perform("adopt")).text == "MEMORY.md has no section of memories"
    file(run).write_text("<!-- tui-agent memory -->\n### build\n")
    for name in ("share", "adopt"):
        with pytest.raises(CommandError, match="damaged"):
            await run.session.perform(name)


async def test_what_stands_in_the_file_anyhow_is_not_written_twice(run: Run) -> None:
    file(run).write_text(SECTION)
    await run.session.perform("remember", "workspace", "notes: x")
    store, recall = run.session.memories.store, run.session.memories
    store.add("workspace", "MEMORY.md: release", "Tag it.", workspace=recall.workspace)
    plan = await run.session.perform("share")
    assert "MEMORY.md: release" not in plan.data["diff"]
    assert (await run.session.perform("adopt")).text == "all that MEMORY.md says is remembered already"
