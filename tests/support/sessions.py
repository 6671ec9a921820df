"""Realistic sessions of any length, the same for the same seed.

`python -m tests.support.sessions FILE --messages 100000 --seed 1` writes one; 100 000 messages are about 175 MB.
Turns of several steps: checkpoints, answers with calls, results of 0.2 to 8 KB, usage figures, a todo list, a mark
and an elision now and then, some Chinese and Japanese among the English, code and JSON.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

MODEL = "claude-sonnet-5-5"

_WORDS = (
    "the parser reads each line and keeps its offset so that a later record can be found without reading what came "
    "before it while the writer holds the lease a failed write is cut back to its length and the error names the file"
)
_CODE = (
    "    async def append(self, body: Body) -> Record:\n"
    '        """Write one line and return its record."""\n'
    "        line = encode(body)\n"
    "        written = os.write(self._descriptor, line)\n"
    "        if written != len(line):\n"
    '            raise LogWriteError(self._path, f"{written} of {len(line)} bytes")\n'
    "        return self._note(body, offset=self._size, length=len(line))\n\n"
)
_ROW = '{"path": "src/context/log.py", "line": 214, "text": "self._size += written", "score": 0.731, "tags": [null]}\n'
_CJK = "会话的每一个字节都在磁盘上，屏幕只是它的投影。回到检查点，撤销，再重做。検査点へ戻る。取り消し、やり直し。"
_TOOLS = ("read_file", "grep", "bash", "edit_file", "glob")
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def records(messages: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """The records of a session with so many messages (people's, the model's and tool results)."""
    return _Maker(messages, seed).run()


def write(path: Path, messages: int, seed: int = 0) -> int:
    """Write such a session to `path` and return its size in bytes."""
    encode = msgspec.json.encode
    with path.open("wb") as file:
        for record in records(messages, seed):
            file.write(encode(record))
            file.write(b"\n")
        return file.tell()


class _Maker:
    """Makes the records turn by turn, so that a session of any length takes no memory."""

    def __init__(self, messages: int, seed: int) -> None:
        self._left = messages
        self._random = random.Random(seed)
        self._seconds = 0.0
        self._checkpoint = 0
        self._call = 0
        self._tokens = 4000
        self._pending = 0
        self._last = ""
        self._results: list[tuple[str, str, int]] = []
        chance = random.Random(seed + 1)
        prose = " ".join(chance.choices(_WORDS.split(), k=20_000))
        self._pools = (prose, _CODE * 60, _ROW * 200, _CJK * 200)

    def run(self) -> Iterator[dict[str, Any]]:
        yield {"role": "_system_prompt", "content": self._text(8000, pool=0), "blocks": []}
        tools = [
            {
                "name": name,
                "description": self._text(300, pool=0),
                "input_schema": {"type": "object", "properties": {}},
            }
            for name in _TOOLS
        ]
        yield {"role": "_tools", "sha256": "0" * 64, "tools": tools}
        while self._left > 0:
            yield from self._turn()

    def _turn(self) -> Iterator[dict[str, Any]]:
        yield self._mark_place(turn=True)
        yield self._message("user", [self._text_block(self._size(40, 600))])
        for _ in range(self._random.randint(2, 9)):
            if self._left < 3:
                break
            yield from self._step()
        if self._left > 0:
            yield self._mark_place()
            yield from self._answer([self._text_block(self._size(100, 1500))], "end_turn")
        yield from self._housekeeping()

    def _step(self) -> Iterator[dict[str, Any]]:
        yield self._mark_place()
        calls = 2 if self._left > 3 and self._random.random() < 0.15 else 1
        uses = [self._use() for _ in range(calls)]
        content = [self._text_block(self._size(40, 600)), *uses]
        if self._random.random() < 0.25:
            thinking = self._text(self._size(200, 1200), pool=0)
            content.insert(0, {"type": "thinking", "thinking": thinking, "signature": self._token(200)})
        yield from self._answer(content, "tool_use")
        for use in uses:
            text = self._text(self._size(200, 8000))
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": text}
            meta = {
                "tool": use["name"],
                "exit": 0,
                "ms": self._random.randint(1, 9000),
                "read": ["src/a.py"],
                "changed": [],
            }
            record = self._message("user", [result], origin="tool", meta=meta)
            self._results = [*self._results[-20:], (record["id"], use["name"], len(text))]
            yield record

    def _answer(self, content: list[dict[str, Any]], stop: str) -> Iterator[dict[str, Any]]:
        through, covered = self._last, self._pending
        record = self._message("assistant", content, model=MODEL, stop_reason=stop)
        yield record
        output, self._pending = self._pending - covered, 0
        self._tokens += covered
        yield {
            "role": "_usage",
            "token_count": self._tokens + output,
            "exact": True,
            "through": through,
            "produced": record["id"],
            "input": 12 + covered,
            "output": output,
            "cache_read": self._tokens - covered - 12,
            "cache_write": 0,
            "params": {"model": MODEL, "max_tokens": 16000, "thinking": None},
            "request": self._token(64).lower(),
        }
        self._tokens += output

    def _housekeeping(self) -> Iterator[dict[str, Any]]:
        if self._random.random() < 0.2:
            todo = [{"text": self._text(40, pool=0), "done": self._random.random() < 0.5} for _ in range(4)]
            yield {"role": "_state", "key": "todo", "value": todo}
        if self._random.random() < 0.05:
            yield {"role": "_mark", "record": self._last, "pinned": True, "by": "user"}
        if self._random.random() < 0.1 and len(self._results) > 10:
            items = [
                {"record": record, "block": 0, "as": f"[truncated: {tool} result, {size} chars]"}
                for record, tool, size in self._results[:5]
            ]
            self._results = self._results[5:]
            yield {"role": "_elide", "id": self._ulid(), "by": "auto", "reason": "micro", "items": items}

    def _message(self, role: str, content: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
        self._left -= 1
        self._last = self._ulid()
        self._pending += len(json.dumps(content)) // 4
        return {"role": role, "content": content, "id": self._last, "at": self._at()} | fields

    def _mark_place(self, *, turn: bool = False) -> dict[str, Any]:
        record = {
            "role": "_checkpoint",
            "id": self._checkpoint,
            "uid": self._ulid(),
            "at": self._at(),
            "turn": turn,
        }
        self._checkpoint += 1
        return record

    def _use(self) -> dict[str, Any]:
        self._call += 1
        arguments = {"path": "src/context/log.py", "text": self._text(self._size(20, 400))}
        name = self._random.choice(_TOOLS)
        return {"type": "tool_use", "id": f"toolu_{self._call:08}", "name": name, "input": arguments}

    def _text_block(self, size: int) -> dict[str, Any]:
        return {"type": "text", "text": self._text(size)}

    def _text(self, size: int, *, pool: int | None = None) -> str:
        """So many bytes of text, about; one in ten is Chinese or Japanese."""
        chosen = self._pools[self._random.choices((0, 1, 2, 3), (4, 3, 2, 1))[0] if pool is None else pool]
        length = size // 3 if chosen is self._pools[3] else size
        start = self._random.randrange(len(chosen) - length)
        return chosen[start : start + length]

    def _size(self, least: int, most: int) -> int:
        """Between the two, small ones more often (log-uniform)."""
        return int(least * (most / least) ** self._random.random())

    def _token(self, length: int) -> str:
        return f"{self._random.getrandbits(length * 4):0{length}x}"

    def _ulid(self) -> str:
        value = (1_767_225_600_000 + int(self._seconds * 1000)) << 80 | self._random.getrandbits(80)
        return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))

    def _at(self) -> str:
        self._seconds += self._random.random() * 4
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._seconds)).isoformat()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a realistic session.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    size = write(arguments.file, arguments.messages, arguments.seed)
    print(f"{arguments.file}: {arguments.messages} messages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
