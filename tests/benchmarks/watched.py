"""The program with its event loop watched: `python -m tests.benchmarks.watched FILE [ARGUMENTS OF tui-agent]`.

A timer on the loop notes how late it comes, and how long the loop's thread was busy meanwhile. SIGUSR1 writes what was
noted since the last time to FILE, as JSON: `late` and `busy`, in milliseconds, and forgets it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path

INTERVAL_S = 0.005


class _Policy(asyncio.DefaultEventLoopPolicy):
    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.call_soon(_Watch(loop, self._file).begin)
        return loop


class _Watch:
    def __init__(self, loop: asyncio.AbstractEventLoop, file: Path) -> None:
        self._loop = loop
        self._file = file
        self._due = 0.0
        self._spent = 0.0
        self._late: list[float] = []
        self._busy: list[float] = []

    def begin(self) -> None:
        self._loop.add_signal_handler(signal.SIGUSR1, self._tell)
        self._next()

    def _tick(self) -> None:
        self._late.append(1000 * (self._loop.time() - self._due))
        self._busy.append(1000 * (time.thread_time() - self._spent))
        self._next()

    def _next(self) -> None:
        self._spent = time.thread_time()
        self._due = self._loop.time() + INTERVAL_S
        self._loop.call_at(self._due, self._tick)

    def _tell(self) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps({"late": self._late, "busy": self._busy}))
        draft.replace(self._file)
        self._late, self._busy = [], []


def main() -> int:
    file, *argv = sys.argv[1:]
    asyncio.set_event_loop_policy(_Policy(Path(file)))
    from tui_agent.cli.main import main as run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
