"""The processes of a command, found and ended by the session it was started in.

A command gets a session of its own, and its children stay in it whatever process group they make for themselves (as
`timeout` does, and shells with job control); only what detaches itself as a daemon does leaves it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from msgspec import Struct

TERM_SECONDS = 2.0
"""How long processes may take to end after SIGTERM before they get SIGKILL."""
GIVE_UP_SECONDS = 5.0
"""How long a process may survive SIGKILL (it hangs in the kernel) before it is left to itself."""
POLL_SECONDS = 0.02
"""How often to look whether a process has ended where the system does not tell."""

_HAS_PROC = Path("/proc/self/stat").exists()
_begun: set[int] = set()
"""Sessions that were begun here, as long as nothing tells that all of their processes have ended."""


class Left(Struct, frozen=True):
    """Processes that a command left running: their session, and each one's pid and start time as seen at its end."""

    session: int
    members: frozenset[tuple[int, str]]

    @property
    def pids(self) -> list[int]:
        """The processes seen, ascending."""
        return sorted(pid for pid, _ in self.members)

    def alive(self) -> bool:
        """True while one of them runs. A number that was given to another process since does not count."""
        return not self.members.isdisjoint(members(self.session))

    def end(self) -> None:
        """End them: SIGTERM, and SIGKILL for what is left after two seconds. Blocks as long."""
        if not self.alive():
            over(self.session)
            return
        ending = Ending(self.session, time.monotonic())
        while not ending.over(time.monotonic(), hard=False):
            time.sleep(POLL_SECONDS)


class Ending:
    """The end of a session's processes, from SIGTERM to the last one gone."""

    def __init__(self, session: int, now: float) -> None:
        self._session = session
        self._kill_at = now + TERM_SECONDS
        self._give_up_at = self._kill_at + GIVE_UP_SECONDS
        signal_session(session, signal.SIGTERM)

    def over(self, now: float, *, hard: bool) -> bool:
        """True when none of them is left, or when SIGKILL did not help for seconds."""
        if not members(self._session) or now >= self._give_up_at:
            over(self._session)
            return True
        if hard or now >= self._kill_at:
            signal_session(self._session, signal.SIGKILL)
        return False


def begun(session: int) -> None:
    """A session was begun here, and `kill_all` is to end it."""
    _begun.add(session)


def over(session: int) -> None:
    """All processes of a session have ended, so that its number may be another's from now on."""
    _begun.discard(session)


def kill_all() -> None:
    """Kill at once whatever was started here: for a program that must end and cannot wait."""
    for session in tuple(_begun):
        signal_session(session, signal.SIGKILL)


def signal_session(session: int, number: int) -> None:
    """Send a signal to every process of a session, whatever group it made for itself (as `timeout` and `set -m` do)."""
    groups: set[int] = set()
    for pid, _ in members(session):
        try:
            groups.add(os.getpgid(pid))
        except ProcessLookupError:
            continue
    for group in groups:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            continue  # gone meanwhile, or it took another user's rights


def members(session: int) -> frozenset[tuple[int, str]]:
    """The living processes of a session, each with its start time."""
    if _HAS_PROC:
        found = set()
        with os.scandir("/proc") as entries:
            pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
        for pid in pids:
            if _session_of(pid) == session:
                start = _start_time(pid)
                if start is not None:
                    found.add((pid, start))
        return frozenset(found)
    listing = subprocess.run(
        ["ps", "-axo", "pid=,stat=,lstart="], capture_output=True, text=True, check=False
    ).stdout
    rows = (line.split(None, 2) for line in listing.splitlines())
    return frozenset(
        (int(row[0]), row[2])
        for row in rows
        if len(row) == 3 and not row[1].startswith("Z") and _session_of(int(row[0])) == session
    )


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _start_time(pid: int) -> str | None:
    """When a Linux process started (ticks since boot), None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # the name in parentheses may hold anything; behind it come the state and, 19 fields later, the start time
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]
