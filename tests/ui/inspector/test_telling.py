"""What the filter of the records finds: every word of every record, names of fields not."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support import sessions
from tests.ui.inspector.logs import write
from tui_agent.context import Context, Record
from tui_agent.ui.inspector.telling import holding


def _records(path: Path) -> list[Record]:
    async def read() -> list[Record]:
        context = Context(path, read_only=True)
        await context.restore()
        return list(context.records)

    return asyncio.run(read())


def _found(records: list[Record], words: str) -> list[int]:
    holds = holding(lambda: records, words)
    assert holds is not None
    return [record.line for index, record in enumerate(records) if holds(index)]


LOG = [
    {"role": "_system_prompt", "content": "You are an agent."},
    {"role": "user", "content": [{"type": "text", "text": 'Say "Grüße" to C:\\temp'}], "id": "u1"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "cat src/a.py"}}],
        "id": "a1",
    },
    {"role": "_usage", "token_count": 18734, "output": 120},
    b"{torn Line",
    b'{"role": "user", "id": "u2", "content": "\\u4f1a\\u8bdd and src\\/b.py"}',
    {"role": "user", "id": "u3", "content": [{"type": "thinking", "thinking": "", "signature": "zebra"}]},
]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("bash", [3]),
        ("cat SRC/a.py", [3]),
        ("src/", [3, 6]),
        ("grüsse", [2]),
        ('"grüße"', [2]),
        ("c:\\temp", [2]),
        ("会话", [6]),
        ("18,734", [4]),
        ("18734 120", [4]),
        ("torn", [5]),
        ("damaged line", [5]),
        ("usage", [4]),
        ("agent prompt", [1]),
        ("token_count", []),
        ("content", []),
        ("command", []),
        ("zebra", []),
        ("a1 model", [3]),
    ],
)
def test_words_are_found_in_values_and_not_in_names_of_fields(
    words: str, lines: list[int], tmp_path: Path
) -> None:
    assert _found(_records(write(tmp_path / "context.jsonl", LOG)), words) == lines


def test_without_words_nothing_is_filtered() -> None:
    assert holding(list, "  ") is None


@pytest.mark.parametrize(
    "words", ["holds", "会话", "lease file", "toolu_00000017", "SELF._SIZE", "0.731", "path"]
)
def test_what_is_found_is_what_a_plain_look_at_every_value_finds(words: str, tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    sessions.write(path, 300, seed=5)

    def values(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for key, inner in value.items() if key != "signature" for text in values(inner)]
        if isinstance(value, list):
            return [text for inner in value for text in values(inner)]
        return [] if value is None or isinstance(value, bool) else [str(value)]

    expected = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = "\n".join(values(json.loads(line))).casefold()
        if all(word in text for word in words.casefold().split()):
            expected.append(number)
    assert expected or words == "path"
    assert _found(_records(path), words) == expected
