"""The trace of events: what of an event is written, and what only as a figure."""

from __future__ import annotations

import json
from pathlib import Path

from tui_agent.agent.bus import Trace
from tui_agent.changes import MicroCompacted
from tui_agent.events import Event, QueueChanged


def traced(folder: Path, event: Event) -> dict[str, object]:
    """The line that an event left, without its time."""
    trace = Trace(folder / "events.jsonl", lambda line: line)
    assert trace.write(event) == ""
    trace.close()
    (line,) = (folder / "events.jsonl").read_text().splitlines()
    return {key: value for key, value in json.loads(line).items() if key != "at"}


def test_of_a_list_of_words_the_trace_keeps_how_many_there_are(tmp_path: Path) -> None:
    event = MicroCompacted(
        "e1", ("read_file (a.txt), 3,499 characters", "bash (ls), 90 characters"), 60, 40, "why"
    )
    assert traced(tmp_path, event) == {
        "event": "micro_compacted",
        "elide": "e1",
        "items": 2,
        "before": 60,
        "after": 40,
        "arithmetic": "why",
        "whole": False,
    }


def test_an_empty_queue_is_none_in_the_trace(tmp_path: Path) -> None:
    assert traced(tmp_path, QueueChanged((), paused=False))["prompts"] == 0
