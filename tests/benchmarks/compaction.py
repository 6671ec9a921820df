"""How long compaction works before a model is asked, against one pass of `json.loads` over the same file.

`python -m tests.benchmarks.compaction` prints the medians of interleaved rounds, each figure from a fresh process:

- micro, plan: what to elide of a session of 10 000 messages, found and weighed; again: the same a second time.
- micro, written: the same until the batch is in the log; event loop: the longest that the loop stood still meanwhile,
  which is judged in a session of 200 000 tokens.
- source: a session of 200 000 tokens looked at and made ready for a summary: what stays chosen, the ledger computed,
  the rest as a text in chunks.

`--messages N`, `--tokens N` and `--rounds N` choose; the exit code is 1 if a figure is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.log import Row, show

Figures = dict[str, float]

_FULL = 0.55
"""So much of the window is full, so that a batch is due."""
_TOKENS_A_MESSAGE = 370
"""Of a session of `tests.support.sessions`, about."""


def loads(path: Path) -> Figures:
    """Seconds to read the file and `json.loads` each line, nothing kept."""
    started = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return {"seconds": time.perf_counter() - started}


def micro(path: Path) -> Figures:
    """Seconds to plan a batch, at first and again, and what it frees."""
    from tui_agent.compaction.micro import plan
    from tui_agent.compaction.policy import Policy
    from tui_agent.context import Context
    from tui_agent.settings.schema import Compaction

    async def run() -> Figures:
        context = Context(path, read_only=True)
        await context.restore()
        total, times = context.weigh().total, []
        for _ in range(2):
            started = time.perf_counter()
            found = plan(context, Policy(Compaction()), total=total, window=round(total / _FULL))
            times.append(time.perf_counter() - started)
        first, again = times
        return {
            "seconds": first,
            "again": again,
            "items": len(found.items),
            "freed": found.freed / total,
            "total": total,
        }

    return asyncio.run(run())


def batch(path: Path) -> Figures:
    """Seconds until a batch is in the log, and the longest time the loop stood still meanwhile."""
    from tui_agent.compaction.micro import Micro
    from tui_agent.compaction.policy import Policy
    from tui_agent.context import Context
    from tui_agent.settings.schema import Compaction

    async def run() -> Figures:
        context = Context(path)
        await context.restore()
        total, longest = context.weigh().total, 0.0
        # The session's figures tell of a cache, for which so large a batch may not pay: this is about its speed.
        keys = Compaction(trigger_ratio=_FULL, micro_ratio=0.5, reserved_tokens=0)
        made = Micro(context=context, policy=lambda: Policy(keys), emit=lambda event: None)
        started = time.perf_counter()
        task = asyncio.create_task(made.relieve(total, round(total / _FULL)))
        while not task.done():
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before)
        seconds = time.perf_counter() - started
        assert await task > 0
        await context.close()
        return {"seconds": seconds, "longest": longest}

    return asyncio.run(run())


def source(path: Path) -> Figures:
    """Seconds to look at a session and to make of it what a model summarises."""
    from tui_agent.compaction.making import Wanted, look
    from tui_agent.compaction.policy import Policy
    from tui_agent.compaction.source import chunks, items, rendered
    from tui_agent.context import Context
    from tui_agent.messages.tokens import Estimator
    from tui_agent.settings.schema import Compaction

    async def run() -> Figures:
        context = Context(path, read_only=True)
        await context.restore()
        total = context.weigh().total
        started = time.perf_counter()
        found = look(context, Wanted("manual"), Policy(Compaction()), window=200_000, thinking=None)
        looked = time.perf_counter() - started
        started = time.perf_counter()
        texts = [
            rendered(part) for part in chunks(items(found.source.replaced), 100_000, Estimator("").count)
        ]
        return {
            "look": looked,
            "text": time.perf_counter() - started,
            "total": total,
            "chunks": len(texts),
        }

    return asyncio.run(run())


PARTS: dict[str, Callable[[Path], Figures]] = {part.__name__: part for part in (loads, micro, batch, source)}


def measure(messages: int, tokens: int, rounds: int, seed: int) -> list[Row]:
    """Every part once a round, in turn; the medians of the rounds."""
    results: dict[str, list[Figures]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        long, short = (
            _written(Path(name), "long", messages, seed),
            _written(Path(name), "short", tokens // _TOKENS_A_MESSAGE, seed),
        )
        plan = [
            ("loads long", "loads", long),
            ("micro", "micro", long),
            ("batch", "batch", long),
            ("loads short", "loads", short),
            ("batch short", "batch", short),
            ("source", "source", short),
        ]
        for _ in range(rounds):
            for label, part, path in plan:
                results.setdefault(label, []).append(_run(part, path))

    def median(label: str, figure: str = "seconds") -> float:
        return statistics.median(figures[figure] for figures in results[label])

    items, freed = median("micro", "items"), median("micro", "freed")
    print(
        f"micro: {messages} messages, {median('micro', 'total'):,.0f} tokens; {items:,.0f} items free {freed:.0%}"
    )
    print(f"source: {median('source', 'total'):,.0f} tokens, {median('source', 'chunks'):.0f} chunks")
    long_floor, short_floor = median("loads long"), median("loads short")
    whole = median("source", "look") + median("source", "text")
    return [
        Row("micro, plan", median("micro"), long_floor, "s", 8, relative=True),
        Row("micro, plan again", median("micro", "again"), long_floor, "s", 8, relative=True),
        Row("micro, written", median("batch"), long_floor, "s", 10, relative=True),
        Row("micro, event loop", median("batch", "longest") * 1000, None, "ms", None, relative=False),
        Row("event loop, 200 k", median("batch short", "longest") * 1000, None, "ms", 50, relative=False),
        Row("source, looked at", median("source", "look"), short_floor, "s", None, relative=True),
        Row("source, as a text", median("source", "text"), short_floor, "s", None, relative=True),
        Row("source", whole, short_floor, "s", 12, relative=True),
    ]


def _written(folder: Path, name: str, messages: int, seed: int) -> Path:
    path = folder / name / "context.jsonl"
    path.parent.mkdir()
    generator = [sys.executable, "-m", "tests.support.sessions", str(path)]
    subprocess.run(
        [*generator, "--messages", str(messages), "--seed", str(seed)], check=True, stdout=subprocess.DEVNULL
    )
    return path


def _run(part: str, path: Path) -> Figures:
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        copy = Path(name) / path.name
        copy.write_bytes(path.read_bytes())
        command = [sys.executable, "-m", "tests.benchmarks.compaction", "--part", part, str(copy)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("path", type=Path, nargs="?", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(PARTS[arguments.part](arguments.path)))
        return 0
    rows = measure(arguments.messages, arguments.tokens, arguments.rounds, arguments.seed)
    show(rows)
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
