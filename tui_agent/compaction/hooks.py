"""Commands of the user around a compaction: `[hooks] pre_compact` and `post_compact`.

A hook is a shell command that runs in the workspace with a JSON object on its standard input. What it prints is not
read; exit code 2 of `pre_compact` prevents the compaction, with what it wrote to its standard error as the reason.
Whatever else goes wrong (it hangs, cannot be started, ends with another code) stops nothing and is said.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tui_agent.literal import clean, visible
from tui_agent.process import ProcessError, Result, run

if TYPE_CHECKING:
    from tui_agent.settings.schema import Hooks as Commands

Moment = Literal["pre_compact", "post_compact"]

TIMEOUT_SECONDS = 60.0
"""So long a hook may take; then it is ended and the work goes on."""

BLOCKS = 2
"""The exit code with which `pre_compact` says no."""

_REASON_CHARACTERS = 2_000
_QUIETLY = 'exec "$0" -c "$1" 2>&1 >/dev/null'
"""Only what it writes to its standard error is read."""


class Verdict(Struct, frozen=True):
    """What came of a hook: `blocked` is the reason if it said no, else ""; `notice` what a person should be told."""

    blocked: str = ""
    notice: str = ""


class Hooks:
    """Runs the hooks that settings name. `cwd` is the folder they run in, `timeout` in seconds."""

    def __init__(self, commands: Commands, cwd: Path, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._commands = commands
        self._cwd = cwd
        self._timeout = timeout

    def has(self, moment: Moment) -> bool:
        """True if settings name a command for it."""
        return bool(self._command(moment))

    async def before(self, facts: Mapping[str, Any]) -> Verdict:
        """Run `pre_compact`. `facts` are what it is told beside the moment and the workspace: values that JSON has."""
        return await self._run("pre_compact", facts)

    async def after(self, facts: Mapping[str, Any]) -> Verdict:
        """Run `post_compact`; it can block nothing any more, so exit code 2 is a code like any other."""
        return await self._run("post_compact", facts)

    def _command(self, moment: Moment) -> str:
        command = self._commands.pre_compact if moment == "pre_compact" else self._commands.post_compact
        return command.strip()

    async def _run(self, moment: Moment, facts: Mapping[str, Any]) -> Verdict:
        command = self._command(moment)
        if not command:
            return Verdict()
        told = {"hook": moment, "workspace": str(self._cwd), **facts}
        shell = shutil.which("bash") or "/bin/sh"
        try:
            result = await run(
                [shell, "-c", _QUIETLY, shell, command],
                cwd=self._cwd,
                timeout=self._timeout,
                limit=_REASON_CHARACTERS,
                input=clean(json.dumps(told, ensure_ascii=False)).encode() + b"\n",
            )
        except ProcessError as error:
            return Verdict(notice=f"the {moment} hook was not run: {visible(str(error))}")
        return self._judge(moment, result)

    def _judge(self, moment: Moment, result: Result) -> Verdict:
        said = visible(result.output).strip()
        if result.timed_out:
            return Verdict(
                notice=f"the {moment} hook was ended after {self._timeout:g} s: it had not come to its end"
            )
        if result.exit == BLOCKS and moment == "pre_compact":
            return Verdict(blocked=said or f"it gave no reason, only exit code {BLOCKS}")
        if result.exit:
            about = f": {said}" if said else ""
            return Verdict(notice=f"the {moment} hook failed (exit code {result.exit}){about}")
        return Verdict()
