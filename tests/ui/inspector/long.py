"""Looks through a long log as a person would, and says what was found and what memory it took, as JSON.

`python -m tests.ui.inspector.long FOLDER LINE ...` filters the records of FOLDER/context.jsonl for the id of each line.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import psutil

from tests.ui.inspector.logs import TABS, looking


async def look(path: Path, lines: list[int]) -> dict[str, object]:
    """Filter for each line, then open every tab."""
    memory = psutil.Process().memory_info
    found = {}
    async with looking(path) as made:
        records, rows = made.panel.tab.context.records, made.panel.tab.rows
        before = memory().rss
        for line in lines:
            await made.press("slash")
            await made.type(records[line - 1].id.lower())
            await made.press("enter")
            while rows.filtering:
                await made.pilot.pause(0.05)
            found[line] = [records[rows._sieve.index(at)].line for at in range(min(len(rows), 9))]
            await made.press("escape")
        filtered = memory().rss - before
        for _ in TABS[1:]:
            await made.press("right")
            await made.settle()
            while any(worker.is_running for worker in made.app.workers):
                await made.pilot.pause(0.05)
        opened = memory().rss - before
    return {"found": found, "filtered": filtered, "opened": opened}


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    print(json.dumps(asyncio.run(look(Path(folder) / "context.jsonl", [int(number) for number in numbers]))))
