"""Find words in the messages of a log as a person is shown them, without opening it as a context."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tui_agent.literal import clean

_BEFORE, _AFTER = 30, 90
"""Characters shown on both sides of a hit's beginning."""

_PLAIN = re.compile(r"[ !#-.0-\[\]-~]+")
"""ASCII that stands in JSON as it is: all but quotes, slashes and backslashes."""

_WORDS = ("text", "content", "thinking", "think", "input", "arguments", "function", "tool_calls")
"""The keys under which words lie in a message; under `input` everything is words."""

Clean = Callable[[str], str]
"""Takes out of the text of answers what is not for a person's eyes."""

_TOLD = ("injection", "summary")
"""Origins of what the program says by itself, between tags."""
_TAG_LINE = re.compile(r"^</?[a-z][\w-]*>\n?", re.MULTILINE)


def first_hit(path: Path, text: str, clean_answer: Clean = str) -> tuple[int, str] | None:
    """The first line (from 1) of the log whose message contains `text` in any case, with the words around it.

    Message texts, thinking, tool arguments and results count; ids, signatures, media and meta records do not. A log
    that cannot be read has no hits. Blocks: about a second for 300 MB.
    """
    wanted = clean(text).casefold()
    may_hold = _sieve(clean(text))
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if may_hold(line) and (found := _in_message(line, wanted, clean_answer)) is not None:
                    return number, found
    except OSError:
        return None
    return None


def _sieve(text: str) -> Callable[[bytes], bool]:
    """A quick test that every line of JSON passes which holds the text: any case, characters raw or escaped."""
    plain = max(_PLAIN.findall(text), key=len, default="").lower().encode()
    if plain:
        return lambda line: plain in line.lower()
    if text.lower() == text.upper():
        raw, escaped = (
            json.dumps(text, ensure_ascii=ascii)[1:-1].lower().encode() for ascii in (False, True)
        )
        return lambda line: raw in line or escaped in line.lower()
    parts = []
    for character in text:
        forms = {character, character.lower(), character.upper()}
        written = {json.dumps(form, ensure_ascii=ascii)[1:-1] for form in forms for ascii in (True, False)}
        parts.append(b"(?:" + b"|".join(re.escape(form.encode()) for form in sorted(written)) + b")")
    pattern = re.compile(b"".join(parts), re.IGNORECASE)
    return lambda line: pattern.search(line) is not None


def texts(line: bytes, clean_answer: Clean = str) -> list[str]:
    """The words of a message as a person is shown them: text, thinking, arguments, results; none if the line is no
    message."""
    try:
        record: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        try:
            record = json.loads(line, strict=False)
        except (ValueError, RecursionError):
            return []
    if not isinstance(record, dict) or str(record.get("role", "_")).startswith("_"):
        return []
    content = record.get("content")
    if record["role"] == "assistant":
        content = _answer(content, clean_answer)
    said = _texts({"content": content, "tool_calls": record.get("tool_calls")})
    return [_TAG_LINE.sub("", text) for text in said] if record.get("origin") in _TOLD else list(said)


def _answer(content: Any, clean_answer: Clean) -> Any:
    """The content of an answer with its text cleaned, not what it thought and called."""
    if isinstance(content, str):
        return clean_answer(content)
    if not isinstance(content, list):
        return content
    return [
        clean_answer(block["text"])
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        else block
        for block in content
    ]


def _in_message(line: bytes, wanted: str, clean_answer: Clean) -> str | None:
    for text in texts(line, clean_answer):
        at = text.casefold().find(wanted)
        if at >= 0:
            start = max(0, at - _BEFORE)
            excerpt = " ".join(text[start : at + _AFTER].split())
            return ("…" if start else "") + excerpt + ("…" if at + _AFTER < len(text) else "")
    return None


def _texts(value: Any, *, every: bool = False) -> Iterator[str]:
    waiting = [(value, every)]
    while waiting:
        value, every = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting.extend((item, every) for item in reversed(value) if every or isinstance(item, str | dict))
        elif isinstance(value, dict):
            inner = [(item, every or key == "input") for key, item in value.items() if every or key in _WORDS]
            waiting.extend(reversed(inner))
