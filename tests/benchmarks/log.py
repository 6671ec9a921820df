"""How fast the log is, against floors measured in the same run.

`python -m tests.benchmarks.log` prints, for sessions of 1 000, 10 000 and 100 000 messages, the medians of interleaved
rounds: restore, append, checkpoint, revert to the middle, and the memory of a process that has restored. Each figure
comes from a fresh process. The floors: `json.loads` of each line; a copy of the kept bytes with fsync, rename and fsync
of the folder; one `os.write` of a line. `--messages N` and `--rounds N` choose; the exit code is 1 if a figure for
100 000 messages is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SIZES = (1_000, 10_000, 100_000)
JUDGED = 100_000
"""The figures are promised for a session of so many messages; smaller ones are shown to compare."""
APPENDS = 2_000
LINE_BYTES = 2_000

Figures = dict[str, float]


# --- measured in a fresh process each ---------------------------------------------------------------------------


def loads(folder: Path) -> Figures:
    """Seconds to read the file and `json.loads` each line, nothing kept."""
    started = time.perf_counter()
    with (folder / "context.jsonl").open("rb") as file:
        for line in file:
            json.loads(line)
    return {"seconds": time.perf_counter() - started, "peak_mb": _memory("VmHWM")}


def restore(folder: Path) -> Figures:
    """Seconds to restore, and the memory at its peak and afterwards; then the newest messages are read."""
    from tui_agent.context import Context

    async def run() -> Figures:
        context = Context(folder / "context.jsonl")
        started = time.perf_counter()
        await context.restore()
        seconds = time.perf_counter() - started
        history = context.history
        for index in range(max(0, len(history) - 100), len(history)):
            assert history[index].content is not None
        figures = {"seconds": seconds, "peak_mb": _memory("VmHWM"), "rss_mb": _memory("VmRSS")}
        await context.close()
        return figures

    return asyncio.run(run())


def write(folder: Path) -> Figures:
    """Median microseconds of a bare `os.write` of a line to an O_APPEND descriptor."""
    line = b"x" * (LINE_BYTES - 1) + b"\n"
    descriptor = os.open(folder / "context.jsonl", os.O_WRONLY | os.O_APPEND)
    times = []
    for _ in range(APPENDS):
        started = time.perf_counter_ns()
        os.write(descriptor, line)
        times.append(time.perf_counter_ns() - started)
    os.close(descriptor)
    return {"micros": statistics.median(times) / 1000}


def append(folder: Path) -> Figures:
    """Median microseconds to append a record of 2 KB, and a checkpoint, without fsync."""
    from tui_agent.context import Context

    message = {"role": "assistant", "content": [{"type": "text", "text": "word " * (LINE_BYTES // 5 - 30)}]}

    async def run() -> Figures:
        context = Context(folder / "context.jsonl", durability="off")
        await context.restore()
        appends, checkpoints = [], []
        for _ in range(APPENDS):
            started = time.perf_counter_ns()
            await context.append_message(message)
            between = time.perf_counter_ns()
            await context.checkpoint()
            checkpoints.append(time.perf_counter_ns() - between)
            appends.append(between - started)
        await context.close()
        return {
            "micros": statistics.median(appends) / 1000,
            "checkpoint_micros": statistics.median(checkpoints) / 1000,
            "p99_micros": statistics.quantiles(appends, n=100)[98] / 1000,
        }

    return asyncio.run(run())


def revert(folder: Path) -> Figures:
    """Seconds to revert a restored session to its middle checkpoint, and the bytes it kept."""
    from tui_agent.context import Context

    async def run() -> Figures:
        context = Context(folder / "context.jsonl")
        await context.restore()
        started = time.perf_counter()
        await context.revert_to(context.n_checkpoints // 2)
        seconds = time.perf_counter() - started
        await context.close()
        return {"seconds": seconds, "kept": float((folder / "context.jsonl").stat().st_size)}

    return asyncio.run(run())


def copy(folder: Path) -> Figures:
    """Seconds to copy as many bytes as stand in the file `kept`, with fsync, rename and fsync of the folder."""
    left = int((folder / "kept").read_text())
    source = os.open(folder / "context.jsonl", os.O_RDONLY)
    started = time.perf_counter()
    target = os.open(folder / "copy.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    while left > 0:
        left -= os.sendfile(target, source, None, left)
    os.fsync(target)
    os.replace(folder / "copy.tmp", folder / "copy")
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    return {"seconds": time.perf_counter() - started}


PARTS: dict[str, Callable[[Path], Figures]] = {
    part.__name__: part for part in (loads, restore, write, append, revert, copy)
}


def _memory(field: str) -> float:
    """A figure of /proc/self/status in MB (VmRSS: now, VmHWM: at its peak)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1000
    raise LookupError(field)


# --- the run ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, its floor, and what is to be reached (None: nothing promised)."""

    what: str
    ours: float
    floor: float | None
    unit: str
    limit: float | None
    relative: bool

    @property
    def met(self) -> bool | None:
        if self.limit is None:
            return None
        value = self.ours / self.floor if self.relative and self.floor else self.ours
        return value <= self.limit

    def cells(self) -> list[str]:
        ratio = f"{self.ours / self.floor:.2f}x" if self.floor else ""
        target = "" if self.limit is None else f"<= {self.limit:g}{'x' if self.relative else ' ' + self.unit}"
        verdict = {True: "met", False: "NOT MET", None: ""}[self.met]
        floor = f"{self.floor:.3f} {self.unit}" if self.floor is not None else ""
        return [self.what, f"{self.ours:.3f} {self.unit}", floor, ratio, target, verdict]


def measure(messages: int, rounds: int, seed: int) -> list[Row]:
    """The table of one size: every part once a round, in turn, and the medians of the rounds."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        base = Path(name) / "base"
        base.mkdir()
        generator = [sys.executable, "-m", "tests.support.sessions", str(base / "context.jsonl")]
        subprocess.run(
            [*generator, "--messages", str(messages), "--seed", str(seed)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        size = (base / "context.jsonl").stat().st_size
        results: dict[str, list[Figures]] = {part: [] for part in PARTS}
        for _ in range(rounds):
            kept = 0.0
            for part in PARTS:
                with _fresh(base) as folder:
                    (folder / "kept").write_text(str(int(kept)))
                    figures = _run(part, folder)
                kept = figures.get("kept", kept)
                results[part].append(figures)
    print(f"\n{messages} messages, {size / 1e6:.1f} MB, {rounds} rounds")
    rows = _rows(results)
    return rows if messages >= JUDGED else [replace(row, limit=None) for row in rows]


def _rows(results: dict[str, list[Figures]]) -> list[Row]:
    def median(part: str, figure: str) -> float:
        return statistics.median(figures[figure] for figures in results[part])

    return [
        Row("restore", median("restore", "seconds"), median("loads", "seconds"), "s", 0.6, relative=True),
        Row(
            "memory, peak",
            median("restore", "peak_mb"),
            median("loads", "peak_mb"),
            "MB",
            150,
            relative=False,
        ),
        Row("memory, restored", median("restore", "rss_mb"), None, "MB", 150, relative=False),
        Row(
            "revert to the middle",
            median("revert", "seconds"),
            median("copy", "seconds"),
            "s",
            2,
            relative=True,
        ),
        Row(
            "append of 2 KB", median("append", "micros"), median("write", "micros"), "us", 30, relative=False
        ),
        Row("append of 2 KB, p99", median("append", "p99_micros"), None, "us", None, relative=False),
        Row("checkpoint", median("append", "checkpoint_micros"), None, "us", None, relative=False),
    ]


@contextmanager
def _fresh(base: Path) -> Iterator[Path]:
    """A copy of the session in a folder of its own, on disk and in the page cache."""
    with tempfile.TemporaryDirectory(dir=base.parent) as name:
        folder = Path(name)
        shutil.copyfile(base / "context.jsonl", folder / "context.jsonl")
        os.sync()
        yield folder


def _run(part: str, folder: Path) -> Figures:
    command = [sys.executable, "-m", "tests.benchmarks.log", "--part", part, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def show(rows: list[Row]) -> None:
    """Print a table of figures, their floors and whether they are met."""
    table = [["", "median", "floor", "ratio", "to reach", ""], *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(6)]
    for line in table:
        cells: list[Any] = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, action="append", help="may be given more than once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path, nargs="?", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(PARTS[arguments.part](arguments.folder)))
        return 0
    missed = False
    for messages in arguments.messages or SIZES:
        rows = measure(messages, arguments.rounds, arguments.seed)
        show(rows)
        missed = missed or any(row.met is False for row in rows)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
