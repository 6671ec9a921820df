"""Lines are read as little as needed, and what is written can be read back."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from tui_agent.context import records
from tui_agent.context.encoding import encode, ulid
from tui_agent.context.records import decode, parse
from tui_agent.context.source import Source


def test_ids_are_ulids_that_ascend() -> None:
    ids = [ulid() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert all(len(name) == 26 and set(name) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for name in ids)


def test_what_is_encoded_is_one_line_and_decodes_to_the_same() -> None:
    body = {"role": "user", "content": "a\nb\r\u2028", "n": [1, -2, 3.5, None, True, {"x": {}}]}
    line = encode(body)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode(line[:-1]) == body == json.loads(line)


@pytest.mark.parametrize("value", [object(), {1: object()}, 10**5000], ids=["object", "inside", "huge"])
def test_what_has_no_form_in_json_is_a_value_error(value: object) -> None:
    with pytest.raises(ValueError, match="'user'"):
        encode({"role": "user", "x": value})


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
def test_a_file_is_read_in_lines_whatever_the_size_of_a_read(tmp_path: Path, size: int) -> None:
    lines = [b"a", b"", "é世".encode() * 20, b"x" * 300, b"", b"last"]
    for ending in (b"\n", b""):
        path = tmp_path / "file"
        path.write_bytes(b"\n".join(lines) + ending)
        seen, offsets = [], []
        for offset, batch, is_ascii, ended in Source(path).batches(size):
            assert not is_ascii or all(line.isascii() for line in batch)
            last = ended
            for line in batch:
                seen.append(line)
                offsets.append(offset)
                offset += len(line) + 1
        assert (seen, last) == (lines, ending == b"\n")
        assert offsets == [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines))]


def test_a_source_reads_what_was_under_the_name_when_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    source = Source(path)
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "new").replace(path)
    assert (source.read(0, 3), source.read(1, 100), source.read(9, 3)) == (b"old", b"ld", b"")
    descriptor = source.descriptor
    del source
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_deep_lines_decode_from_a_deep_stack_too() -> None:
    line = b'{"role":"user","x":' + b"[" * 900 + b"]" * 900 + b"}"
    assert parse(line).role == "user"

    def nested(depth: int) -> dict[str, object]:
        return nested(depth - 1) if depth else decode(line)

    assert nested(600)["x"] == decode(line)["x"]
    assert threading.active_count() < 20


def test_long_numbers_are_found_wherever_they_stand() -> None:
    for before in (0, 1, 2047, 2048, 5000):
        for digits, damaged in ((4300, False), (4301, True)):
            line = b'{"role":"user","t":"' + b"x" * before + b'","n":' + b"9" * digits + b',"m":1}'
            if damaged:
                with pytest.raises(records.Damaged):
                    parse(line)
            else:
                assert parse(line).role == "user"
                json.dumps(decode(line))
