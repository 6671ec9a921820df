"""How soon a key shows while the context is made smaller: the real program on a pseudo-terminal, ten keys a second.

`python -m tests.benchmarks.compacting` resumes a session that fills half of a window of 200,000 tokens. A scripted
model, in a process of its own, talks at 200 tokens a second and reads three files at a time: old results are shortened,
time after time. Then it reads so much at once that a summary is due. That is asked for, streamed and put in force, and
all the while letters are typed into the prompt. How long each took from when it was due to when its bytes came is told
by what went on meanwhile, with its bound and whether it is met; `alone` is from the press on, without time in which
other programs had the processors. Then comes how long the loop's thread was at work at once, which they do not change.
`--fast` makes one round instead of three; `--rounds N` chooses. The exit code is 1 if a figure is not met.

    quiet      before anything is asked
    turn       answers stream and files are read, and nothing is made smaller: what the rest is to be seen against
    shortened  around each batch of old results
    summary    the request for the summary: looking, sending, streaming
    commit     it is put in force, the history is read anew and its card is drawn
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.program import ROOT, Program, Watched, home, percentile
from tests.benchmarks.screen import Row
from tests.support import sessions
from tests.support.script import Reply
from tui_agent.sessions.folder import SessionFolder

BOUND_MS = 50
OWN_MS = 20
"""CPU milliseconds of the loop's thread at once."""
PERIOD_S = 0.1
WINDOW = 200_000
MESSAGES = 190
"""Messages of the session that is resumed: a little less than half of the window."""
FULL = 0.55
"""The part of the window at which a summary is due: what is read at once passes it, however much was shortened."""
FILES = 60
"""Of 8 KB each."""
STEPS = 20
LARGE = 6
"""Files of 32 KB that are read in the last step; so many newest results are never shortened."""
TOKENS_A_SECOND = 200
SUMMARY_S = 10
QUIET_S = 5.0
AROUND_S = 0.5
"""A batch of old results counts for keys so shortly before and after it."""
AFTER_S = 1.0
"""How long after a summary is in force its card is still being drawn."""
LETTERS = "БГДЖЗИЙЛПФЦЧШЩЪЫЬЭЮЯ"
"""Each shows once before the line is emptied, and nowhere else."""
EMPTY_LINE = "\x15"
PHASES = ("quiet", "turn", "shortened", "summary", "commit")
ENDS = {
    "turn": b'"compaction_started"',
    "summary": b'"putting it in force"',
    "commit": b'"compaction_completed"',
}
"""What the trace says when a part of a round is over. Batches of old results are part of the turn here."""

_LINE = "the parser reads each line of the file and keeps its offset, so that it is found again. "
_SECTIONS = (
    "Goal and current request",
    "Done",
    "In progress",
    "Decisions and why",
    "Failed approaches",
    "Open questions",
    "Files and their state",
)


class Key(NamedTuple):
    """A letter: when it was due and when it showed, by the clock of the events. `alone` are the seconds since it was
    pressed, without those in which the thread of the program's loop or this one was ready and had no processor."""

    due: float
    shown: float
    alone: float


class Model:
    """What the scripted model says: a summary to who asks for one, else some words and the next files to read."""

    def __init__(self) -> None:
        self._step = 0
        self._calls = itertools.count()

    def __call__(self, body: dict[str, Any]) -> Reply:
        if f"## {_SECTIONS[0]}" in str(body["messages"][-1]["content"]):
            self._step = 0
            words = _tokens("".join(f"## {title}\n" + f"- {_LINE}\n" * 6 + "\n" for title in _SECTIONS))
            return Reply.blocks({"type": "text", "text": words}).paced(SUMMARY_S / len(words))
        self._step += 1
        names = [f"f{(3 * self._step + place) % FILES}.txt" for place in range(3)]
        calls = names if self._step <= STEPS else [f"large{place}.txt" for place in range(LARGE)]
        blocks = [{"type": "text", "text": _tokens(_LINE * 12)}, *map(self._reading, calls)]
        return Reply.blocks(*blocks, stop_reason="tool_use").paced(1 / TOKENS_A_SECOND)

    def _reading(self, name: str) -> dict[str, Any]:
        ident = f"toolu_{next(self._calls):06d}_{time.time_ns()}"
        return {"type": "tool_use", "id": ident, "name": "read_file", "input": {"path": name}}


def _tokens(text: str) -> list[str]:
    return re.findall(r"\s*\S+", text)


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """The scripted model, as the profile of the settings in a home."""
    script = folder / "script.py"
    script.write_text("from tests.benchmarks.compacting import Model\n\nscript = [Model()]\n")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.server", str(script)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = next(found[0] for line in server.stdout if (found := re.search(r"http://[\d.:]+", line)))
        (folder / "config").mkdir(mode=0o700)
        (folder / "config" / "settings.toml").write_text(
            f'[profiles.scripted]\nmodel = "scripted-1"\nbase_url = "{url}"\nauth = "none"\n'
            f"context_window = {WINDOW}\nmax_output_tokens = 8_192\n"
            f'[profiles.scripted.compaction]\nahead = "off"\ntrigger_ratio = {FULL}\nmicro_keep = {LARGE}\n'
        )
        yield
    finally:
        server.kill()
        server.wait()


class Typist:
    """Types letters, one a period, and notes when each showed."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._threads = (program.process.pid, threading.get_native_id())
        self._due = 0.0
        self.keys: list[Key] = []

    def type_until(self, done: Callable[[], bool]) -> None:
        """Go on until something is so; it is looked at between two keys."""
        self._due = time.time()
        while not done():
            self._program.read_for(max(0.0, self._due - time.time()))
            self._type(LETTERS[len(self.keys) % len(LETTERS)])
            self._due += PERIOD_S

    def _wait(self) -> float:
        """The seconds so far in which one of the threads was ready and did not run."""
        told = (Path(f"/proc/{thread}/schedstat").read_text() for thread in self._threads)
        return sum(int(line.split()[1]) for line in told) / 1e9

    def _type(self, letter: str) -> None:
        program, since = self._program, len(self._program.shown)
        waited, pressed = self._wait(), time.time()
        program.press(letter)
        program.until(lambda: letter.encode() in program.shown[since:])
        shown = time.time()
        alone = max(0.0, shown - pressed - (self._wait() - waited))
        self.keys.append(Key(self._due, shown, alone))
        if letter == LETTERS[-1]:
            program.press(EMPTY_LINE)
            program.read_for(PERIOD_S / 2)


@dataclass
class Found:
    """The keys by phase, and the milliseconds of the loop's thread at work at once by part of a round."""

    keys: dict[str, list[Key]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    own: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in ENDS})

    def rows(self) -> Iterator[Row]:
        for phase, keys in self.keys.items():
            times = [1000 * (key.shown - key.due) for key in keys]
            alone = [1000 * key.alone for key in keys]
            note = f"p50 {percentile(times, 0.5):.1f} ms, most {max(times):.1f} ms of {len(times)} keys; alone p99 "
            note += f"{percentile(alone, 0.99):.1f} ms, p50 {percentile(alone, 0.5):.1f} ms"
            yield Row(f"a key shows, {phase}: p99", percentile(times, 0.99), BOUND_MS, " ms", note)
        for part, times in self.own.items():
            note = f"most {max(times):.1f} ms"
            yield Row(f"the loop at work at once, {part}: p99", percentile(times, 0.99), OWN_MS, " ms", note)


def rounds(folder: Path, count: int) -> Found:
    """So many rounds."""
    found = Found()
    lines = [f"{line:4}: {_LINE}\n" for line in range(340)]
    for number in range(FILES):
        (folder / "workspace" / f"f{number}.txt").write_text(f"file {number}\n" + "".join(lines[:85]))
    for number in range(LARGE):
        (folder / "workspace" / f"large{number}.txt").write_text(f"large {number}\n" + "".join(lines))
    _warm(folder)
    for number in range(count):
        session = _session(folder, MESSAGES, seed=number)
        keys, asked = _typed(folder, session, found.own)
        events = _events(session)
        for key in keys:
            found.keys[_phase(key, asked, events)].append(key)
    return found


def _session(folder: Path, messages: int, seed: int = 0) -> SessionFolder:
    session = SessionFolder.create(folder / "workspace", root=folder / "data" / "sessions")
    sessions.write(session.context_path, messages, seed=seed)
    return session


def _warm(folder: Path) -> None:
    """Leave the bytecode of all that a round imports, as an installed program has it."""
    session = _session(folder, 60)
    with Program("-m", "tui_agent", "--profile", "scripted", "--resume", session.id, home=folder) as program:
        program.until("ready")
        program.press("go on\r")
        program.until(lambda: b'"tool_ended"' in session.events_path.read_bytes())
        program.press("/compact\r")
        program.until(lambda: b'"compaction_completed"' in session.events_path.read_bytes())


def _typed(folder: Path, session: SessionFolder, own: dict[str, list[float]]) -> tuple[list[Key], float]:
    """The keys of one round, and when the prompt was sent."""
    with Watched("--profile", "scripted", "--resume", session.id, home=folder) as program:
        program.until("ready")
        program.settle(1.0)
        typist, begun = Typist(program), time.time()
        typist.type_until(lambda: time.time() - begun > QUIET_S)
        program.lags()
        program.press(f"{EMPTY_LINE}go on\r")
        asked = time.time()
        program.settle(0.2)
        for part, sign in ENDS.items():
            typist.type_until(lambda: _has(session, sign))  # noqa: B023
            if part == "commit":
                rest = time.time()
                typist.type_until(lambda: time.time() - rest > AFTER_S)  # noqa: B023
            own[part] += program.lags()["busy"]
    return typist.keys, asked


def _has(session: SessionFolder, sign: bytes) -> bool:
    trace = session.events_path.read_bytes()
    assert b'"compaction_failed"' not in trace, "the summary failed"
    return sign in trace


def _events(session: SessionFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in session.events_path.read_text().splitlines()]


def _phase(key: Key, asked: float, events: list[dict[str, Any]]) -> str:
    """What went on between when a key was due and when it showed."""
    begun = done = committed = 0.0
    for event in events:
        at = datetime.fromisoformat(event["at"]).timestamp()
        match event["event"]:
            case "compaction_started":
                begun = at
            case "compaction_stage" if event["stage"] == "putting it in force":
                committed = at
            case "compaction_completed":
                done = at
            case "micro_compacted" if key.due < at + AROUND_S and key.shown > at - AROUND_S:
                return "shortened"
    if key.due < asked:
        return "quiet"
    if key.shown > committed and key.due < done + AFTER_S:
        return "commit"
    return "summary" if key.shown > begun else "turn"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure keys while the context is made smaller.")
    parser.add_argument("--fast", action="store_true", help="one round instead of three")
    parser.add_argument("--rounds", type=int, help="sessions that are compacted")
    options = parser.parse_args()
    failed = 0
    with home() as folder:
        (folder / "workspace").mkdir()
        with served(folder):
            found = rounds(folder, options.rounds or (1 if options.fast else 3))
    for row in found.rows():
        failed += not row.met
        print(row)
    print("load average", *(f"{load:.1f}" for load in os.getloadavg()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
