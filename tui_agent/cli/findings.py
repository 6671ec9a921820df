"""What a check-up finds, and how it is mended."""

from __future__ import annotations

import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `mend` repairs it and says in words what it did."""

    level: Level
    subject: str
    text: str
    mend: Callable[[], Awaitable[str]] | None = None


def private(subject: str, path: Path) -> Finding:
    """Whether other users can look into a file or folder; mended by taking their access."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & 0o077:
        return Finding("ok", subject, str(path))

    async def mend() -> str:
        path.chmod(mode & 0o700)
        return f"{path} is for you alone now ({mode & 0o700:o})"

    return Finding("bad", subject, f"other users can look into {path} (mode {mode:o})", mend)
