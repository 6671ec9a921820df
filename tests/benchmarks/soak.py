"""A long day at the screen, shortened: does it stay quick, and does its memory stay where it is?

`python -m tests.benchmarks.soak --minutes 60` types ten keys a second, sends a prompt every two seconds to a model on
loopback that reads files and answers, and resizes the terminal every five seconds. The model's window is one of today,
so that old results are shortened and the log is summarised time after time, as on a long day; the model writes the
summaries. At the end it prints how many records were appended, the slope of the memory over the last two thirds beyond
what the index of the log in force takes (measured on the longest log there was, in a bare process), how late keys
echoed, and what exceptions were shown. The exit code is 1 if a bound is not held.

`--window 100_000_000 --lines 8` is a window that never fills, with small results: one log takes all records, and each
request holds the whole of it. What a request takes is measured in the bare process too and told beside the slope,
which has it in it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.program import ROOT, Program, home, percentile
from tests.support.script import Reply
from tests.support.served import Served, served
from tui_agent.compaction.instructions import OPENING
from tui_agent.compaction.sections import DECISIONS, DONE, FAILED, FILES, GOAL, IN_PROGRESS, composed

KEY_S, PROMPT_S, RESIZE_S, ECHO_S, MEMORY_S = 0.1, 2.0, 5.0, 0.7, 1.0
"""Seconds between two keys, prompts, resizes, measured echoes and looks at the memory; no two alike."""
SIZES = ((80, 24), (120, 36), (200, 50), (100, 30), (148, 40))
MOST_SLOPE_MB, MOST_ECHO_MS = 0.2, 100.0
RECORDS_A_MINUTE = 20_000 / 60
WINDOW, LINES, NOTES = 200_000, 120, 40
"""Tokens of the model's window; lines of each file that is read, and how many files there are."""

_ERROR = re.compile(rb"Traceback|\b[A-Z]\w*(?:Error|Exception)\b")
_SIGNS = [
    chr(code)
    for begin, end in ((0x410, 0x450), (0x531, 0x557), (0x10D0, 0x10F1))
    for code in range(begin, end)
]
"""Keys that stand nowhere else: Cyrillic, Armenian, Georgian letters, one after the other."""
_BATCH = b'{"role":"_elide"'
"""How the record of a batch of shortened results begins."""
_CARRY = 64
"""Bytes that are looked at again, since a name may have been cut there."""


@dataclass(frozen=True)
class Written:
    """What the log and its backups hold: lines that differ, all lines, rewrites, and batches of shortened results."""

    once: int = 0
    lines: int = 0
    rewrites: int = 0
    batches: int = 0

    @classmethod
    def of(cls, files: Sequence[Path]) -> Written:
        """Count them."""
        seen: set[bytes] = set()
        lines = batches = 0
        for path in files:
            with path.open("rb") as file:
                for line in file:
                    lines += 1
                    name = hashlib.blake2b(line, digest_size=12).digest()
                    batches += name not in seen and line.startswith(_BATCH)
                    seen.add(name)
        return cls(len(seen), lines, len(files) - 1, batches)


@dataclass
class Soak:
    """What was seen: memory and records of the log in force by the second, echoes in milliseconds."""

    memory: list[tuple[float, float, int]] = field(default_factory=list)
    written: Written = Written()
    index: float = 0.0
    """MB that the index of the log takes for a record: places, sizes, weights, figures of a call."""
    request: float = 0.0
    """MB that a request of the whole log takes for a record of it, while its answer is waited for."""
    echoes: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    trail: Path | None = None

    def look(self, at: float, megabytes: float, records: int) -> None:
        """Keep what the memory and the log are at that second."""
        self.memory.append((at, megabytes, records))
        if self.trail is not None:
            with self.trail.open("a") as file:
                file.write(f"{at:.0f} {megabytes:.1f} {records}\n")

    @property
    def records(self) -> int:
        """The records that were appended, each counted once however often a rewrite copied it."""
        return self.written.once

    @property
    def slope(self) -> float:
        """MB a minute over the last two thirds, without the index's own growth."""
        return self.slope_beyond(self.index)

    def slope_beyond(self, record: float) -> float:
        """MB a minute over the last two thirds, without so many MB for each record."""
        late = self.memory[len(self.memory) // 3 :]
        return _slope([(at / 60, megabytes - records * record) for at, megabytes, records in late])

    def told(self) -> Iterator[str]:
        """What stands beside the bounds."""
        written, rest = self.written, self.slope_beyond(self.index + self.request)
        yield f"{written.lines:,} lines in the log and its backups, with what {written.rewrites} rewrites copied"
        yield f"{written.batches} batches of old results were shortened"
        yield f"memory as it is {self.slope_beyond(0):.2f} MB/min, at the end {self.memory[-1][1]:.0f} MB"
        yield f"beyond a request too {rest:.2f} MB/min  (a request: {1e6 * self.request:.0f} bytes a record)"


def _slope(points: list[tuple[float, float]]) -> float:
    """The slope of the line through the points that is nearest to them."""
    if len(points) < 2:
        return 0.0
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else 0.0


@dataclass
class _Model:
    """Three requests with two reads each, then an answer with a list, a table and code; and summaries."""

    chance: random.Random = field(default_factory=lambda: random.Random(2))

    def reply(self, body: dict[str, Any]) -> Reply:
        if OPENING in str(body["messages"][-1]["content"]):
            return Reply.text(_SUMMARY)
        calls = 0
        for message in reversed(body["messages"]):
            blocks = message["content"] if isinstance(message["content"], list) else []
            if message["role"] == "user" and not any(block["type"] == "tool_result" for block in blocks):
                break
            calls += message["role"] == "assistant"
        if calls < 3:
            reads = [("read_file", {"path": _note(number)}) for number in self.chance.sample(range(NOTES), 2)]
            return Reply.tools(*reads, text="I look.", thinking="What is there?")
        return Reply.text(
            "Done.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint('done')\n```\n"
            + "words " * 20
        )


def _note(number: int) -> str:
    return f"notes-{number}.txt"


_SUMMARY = composed(
    {
        GOAL: ["The user types letters and wants to hear what stands in the notes. " * 4],
        DONE: [
            f"{_note(number)} was read; it holds lines of notes and nothing else." for number in range(NOTES)
        ],
        IN_PROGRESS: ["The notes are read two at a time, three times a turn."],
        DECISIONS: ["Notes are read anew each time, since they may have changed. " * 4],
        FAILED: ["Nothing was tried that failed, but for prompts that say nothing."],
        FILES: [f"{_note(number)}: notes, unchanged" for number in range(NOTES)],
    }
)


def run(
    seconds: float,
    folder: Path,
    *,
    window: int = WINDOW,
    lines: int = LINES,
    trail: Path | None = None,
) -> Soak:
    """Keep the program busy for so long, with a model of this window, in tokens, that reads files of so many lines."""
    soak = Soak(trail=trail)
    with served(folder) as server:
        settings = folder / "config" / "settings.toml"
        settings.write_text(settings.read_text().replace("200_000", str(window)))
        workspace = folder / "workspace"
        workspace.mkdir(exist_ok=True)
        for number in range(NOTES):
            (workspace / _note(number)).write_text("a line of notes\n" * lines)
        server.always(_Model().reply)
        with Program("-m", "tui_agent", "--profile", "scripted", home=folder) as program:
            program.until("ready")
            _keep_busy(program, server, soak, seconds, folder)
            program.press("\x11")
            if code := program.end():
                soak.errors.append(f"exit code {code}")
    files = list((folder / "data").rglob("context*.jsonl"))
    soak.written = Written.of(files)
    longest = max(files, key=lambda path: path.read_bytes().count(b"\n"))
    command = [sys.executable, "-m", __spec__.name, "--index", str(longest)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    soak.index, soak.request = map(float, told.split())
    return soak


class _Clock:
    """Says what is due: each thing at its own interval, none made up for if it is late."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self._next: dict[float, float] = {}

    @property
    def now(self) -> float:
        return time.perf_counter() - self.began

    def due(self, interval: float) -> bool:
        if self.now < self._next.get(interval, interval):
            return False
        self._next[interval] = self.now + interval
        return True


def _keep_busy(program: Program, server: Served, soak: Soak, seconds: float, folder: Path) -> None:
    chance, clock, signs = random.Random(1), _Clock(), itertools.cycle(_SIGNS)
    waiting, pressed, carry, seen = b"", 0.0, b"", 0.0
    while clock.now < seconds and program.process.poll() is None:
        if clock.due(KEY_S):
            if not waiting and clock.now - seen > ECHO_S:
                sign = next(signs)
                waiting, pressed = sign.encode(), clock.now
                program.press(sign)
            else:
                # a key that is waited for is neither taken back nor sent away before it was seen
                program.press(chance.choice("abcdefgh " if waiting else "abcdefgh \x7f"))
        if not waiting and clock.due(PROMPT_S):
            program.press("\r")
        if clock.due(RESIZE_S):
            program.resize(*chance.choice(SIZES))
        if clock.due(MEMORY_S):
            soak.look(clock.now, program.memory, _records(folder))
            server.requests.clear()
            server.headers.clear()
        program.read(0.02)
        new = carry + bytes(program.shown)
        program.shown.clear()
        if waiting and waiting in new:
            soak.echoes.append(1000 * (clock.now - pressed))
            waiting, seen = b"", clock.now
        soak.errors += [match.decode() for match in _ERROR.findall(new)]
        carry = new[-_CARRY:]


def _records(folder: Path) -> int:
    """The records of the log in force."""
    count = 0
    for path in (folder / "data").rglob("context.jsonl"):
        with path.open("rb") as file:
            count += sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    return count


async def _index(log: Path) -> tuple[float, float]:
    """MB that this process needs more for each record of a log when it has read and weighed it, and for a request."""
    from tui_agent.agent.building import assemble
    from tui_agent.context import Context
    from tui_agent.llm.heap import trim
    from tui_agent.prompt.assembler import Limits

    first = log.with_name("first.jsonl")
    first.write_bytes(log.read_bytes().partition(b"\n")[0] + b"\n")
    for path in (first, log):  # the first brings the code in
        before, context = _memory(), Context(path, read_only=True)
        await context.restore()
        context.weigh()
        read = _memory()
        request, _ = assemble(context, Limits("scripted-1", 100_000_000, 4096))
        sent = json.dumps(request.wire()).encode()
        trim()
        held = _memory() if sent else read
    return (read - before) / len(context.records), (held - read) / len(context.records)


def _memory() -> float:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description="Keep the screen busy and watch its memory.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--window", type=int, default=WINDOW, help="tokens of the model's window")
    parser.add_argument("--lines", type=int, default=LINES, help="lines of each file that is read")
    parser.add_argument(
        "--trail", type=Path, metavar="FILE", help="write seconds, MB and records as they come"
    )
    parser.add_argument("--index", type=Path, metavar="LOG", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.index is not None:
        print(*asyncio.run(_index(options.index)))
        return 0
    with home() as folder:
        soak = run(
            60 * options.minutes, folder, window=options.window, lines=options.lines, trail=options.trail
        )
    echo = percentile(soak.echoes, 0.99)
    least = RECORDS_A_MINUTE * options.minutes
    met = {
        f"records           {soak.records:>12,}     >= {least:,.0f}": soak.records >= least,
        f"memory beyond index {soak.slope:>10.2f} MB/min <= {MOST_SLOPE_MB}  "
        f"(the index: {1e6 * soak.index:.0f} bytes a record)": soak.slope <= MOST_SLOPE_MB,
        f"echo p99          {echo:>12.0f} ms  <= {MOST_ECHO_MS:g}": echo <= MOST_ECHO_MS,
        f"exceptions        {len(soak.errors):>12}     <= 0": not soak.errors,
    }
    for line, holds in met.items():
        print(f"{line:<80} {'met' if holds else 'not met'}")
    for line in soak.told():
        print(f"  {line}")
    for error in sorted(set(soak.errors)):
        print(f"  {error}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
