"""The command line as a person or a program meets it: in this process, or as a real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tui_agent.cli.main import main
from tui_agent.sessions.folder import SessionFolder

SECONDS = 60
"""A command that takes longer has hung."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


class Inside:
    """Runs `main(argv)` in this process; its output is no terminal."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
    ) -> None:
        self._capsys = capsys
        self.folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *argv: str) -> Ended:
        self._capsys.readouterr()
        code = main(argv)
        out, err = self._capsys.readouterr()
        return Ended(code, out, err)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, changed, for a command of its own."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", **changes}


def command(*argv: str, cwd: Path, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Ended:
    """Run the real command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "tui_agent", *argv],
        cwd=cwd,
        env=dict(env) if env is not None else environment(),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=SECONDS,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def start(*argv: str, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the real command."""
    return subprocess.Popen(
        [sys.executable, "-m", "tui_agent", *argv],
        cwd=cwd,
        env=dict(env) if env is not None else environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


def write(path: Path, records: Iterable[object]) -> None:
    """Write records as lines."""
    path.write_bytes(
        b"".join(json.dumps(r, ensure_ascii=False).encode(errors="replace") + b"\n" for r in records)
    )


def conversation(*words: str) -> list[dict[str, Any]]:
    """The records of a conversation in which each of the words was answered."""
    records: list[dict[str, Any]] = [{"role": "_system_prompt", "content": "You help.", "id": "P"}]
    for number, text in enumerate(words):
        records += [
            {
                "role": "_checkpoint",
                "id": number,
                "uid": f"C{number}",
                "at": "2026-11-01T10:00:00.000Z",
                "turn": True,
            },
            {
                "role": "user",
                "content": [{"type": "text", "text": text}],
                "id": f"U{number}",
                "at": "2026-11-01T10:00:00.000Z",
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": f"answer to {text}"}],
                "id": f"A{number}",
                "at": "2026-11-01T10:00:01.000Z",
                "model": "m-1",
                "stop_reason": "end_turn",
            },
        ]
    return records


def session(workspace: Path, *words: str, age: float = 0, title: str = "") -> SessionFolder:
    """A session in the user's folder, last used `age` seconds ago."""
    folder = SessionFolder.create(workspace, title=title)
    write(folder.context_path, conversation(*words))
    moment = time.time() - age
    os.utime(folder.context_path, (moment, moment))
    return folder
