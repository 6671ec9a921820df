"""Hooks: real commands, what they are told, what their answer does, and that a broken one stops nothing."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path

import pytest

from tests.support.hostile import acts
from tui_agent.compaction.hooks import Hooks, Verdict
from tui_agent.settings.schema import Hooks as Commands

FACTS = {"trigger": "manual", "tokens": 170_000, "instruction": "dwell on 日本 'quotes' \ud800"}


def hooks(folder: Path, pre: str = "", post: str = "", timeout: float = 20.0) -> Hooks:
    return Hooks(Commands(pre_compact=pre, post_compact=post), folder, timeout=timeout)


async def test_without_a_command_nothing_runs_and_nothing_is_said(tmp_path: Path) -> None:
    none = hooks(tmp_path, "  ")
    assert not none.has("pre_compact") and not none.has("post_compact")
    assert await none.before(FACTS) == await none.after(FACTS) == Verdict()


@pytest.mark.parametrize("moment", ["pre_compact", "post_compact"])
async def test_a_hook_reads_the_facts_as_json_in_the_workspace(tmp_path: Path, moment: str) -> None:
    command = "cat > told.json; pwd > where"
    one = hooks(tmp_path, pre=command, post=command)
    verdict = await (one.before(FACTS) if moment == "pre_compact" else one.after(FACTS))
    assert verdict == Verdict()
    assert json.loads((tmp_path / "told.json").read_text("utf-8")) == {
        "hook": moment,
        "workspace": str(tmp_path),
        **FACTS,
        "instruction": "dwell on 日本 'quotes' \ufffd",
    }
    assert Path((tmp_path / "where").read_text().strip()).samefile(tmp_path)


async def test_exit_code_2_blocks_with_what_went_to_standard_error(tmp_path: Path) -> None:
    one = hooks(tmp_path, "echo not this >&1; echo 'a release is being cut' >&2; exit 2")
    assert await one.before(FACTS) == Verdict(blocked="a release is being cut")


async def test_a_block_without_a_reason_is_a_block(tmp_path: Path) -> None:
    verdict = await hooks(tmp_path, "exit 2").before(FACTS)
    assert verdict.blocked == "it gave no reason, only exit code 2" and not verdict.notice


async def test_the_reason_is_safe_to_show_and_not_endless(tmp_path: Path) -> None:
    noise = "printf '\\033[2J\\033]0;x\\007'; head -c 1000000 /dev/zero | tr '\\0' x"
    verdict = await hooks(tmp_path, f"{{ {noise}; }} >&2; exit 2").before(FACTS)
    assert not acts(verdict.blocked)
    assert "left out" in verdict.blocked
    assert len(verdict.blocked) < 3_000


async def test_after_a_compaction_nothing_can_be_blocked(tmp_path: Path) -> None:
    verdict = await hooks(tmp_path, post="echo late >&2; exit 2").after(FACTS)
    assert verdict == Verdict(notice="the post_compact hook failed (exit code 2): late")


async def test_another_exit_code_goes_on_and_is_said(tmp_path: Path) -> None:
    verdict = await hooks(tmp_path, "echo oops >&2; exit 1").before(FACTS)
    assert verdict == Verdict(notice="the pre_compact hook failed (exit code 1): oops")


async def test_a_command_that_no_shell_understands_goes_on_and_is_said(tmp_path: Path) -> None:
    verdict = await hooks(tmp_path, "no-such-command-anywhere --now").before(FACTS)
    assert not verdict.blocked
    assert "exit code 127" in verdict.notice and "no-such-command-anywhere" in verdict.notice


async def test_a_hang_is_ended_and_goes_on(tmp_path: Path) -> None:
    verdict = await hooks(tmp_path, "echo busy >&2; exec sleep 600", timeout=0.05).before(FACTS)
    assert not verdict.blocked
    assert "0.05 s" in verdict.notice


async def test_a_hook_that_ends_with_2_because_it_was_ended_does_not_block(tmp_path: Path) -> None:
    command = "trap 'exit 2' TERM; : > ready; while :; do sleep 0.01; done"
    assert not (await hooks(tmp_path, command, timeout=0.3).before(FACTS)).blocked


async def test_a_folder_that_is_gone_goes_on_and_is_said(tmp_path: Path) -> None:
    verdict = await hooks(tmp_path / "gone", "exit 2").before(FACTS)
    assert not verdict.blocked
    assert "its folder is not there" in verdict.notice


async def test_a_hook_that_does_not_read_holds_nothing_up(tmp_path: Path) -> None:
    long = {"text": "x" * 1_000_000}
    assert await hooks(tmp_path, "exit 0").before(long) == Verdict()


async def test_cancelling_ends_the_hook_with_its_children(tmp_path: Path) -> None:
    ready, never = tmp_path / "ready", tmp_path / "never"
    command = f"mkfifo gate; echo > ready; read x < gate; echo > {shlex.quote(str(never))}"
    task = asyncio.create_task(hooks(tmp_path, command).before(FACTS))
    while not ready.exists():
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not never.exists()
