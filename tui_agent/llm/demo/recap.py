"""The demo model's summary of a conversation, for when its history is shortened: what was asked, called and returned.

It takes the headings, the limit and what is not done from the instruction, and everything else from the conversation,
whether that is given as messages or as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_agent.llm.demo import talk
from tui_agent.llm.demo.words import code, parted, plural
from tui_agent.messages.blocks import result_text

_INSTRUCTION = re.compile(r"^<compaction>\n.*?^</compaction>", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LIMIT = re.compile(r"([\d,]+) words are the most")
_NOT_FINISHED = re.compile(r"^These are not finished\b[^\n]*\n((?:- [^\n]*\n?)+)", re.MULTILINE)
_FOCUS = re.compile(r"^<focus>\n(.*?)\n</focus>", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"starts with (#[0-9a-f]+) and says")
_CONVERSATION = re.compile(r"^<conversation>\n(.*)\n^</conversation>", re.DOTALL | re.MULTILINE)
_EARLIER = re.compile(r"^<summary(?:-so-far)?>\n(.*?)\n^</summary(?:-so-far)?>", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"\b(?:never|always|do not|don't|must|instead|only|remember|prefer)\b", re.IGNORECASE)
_PATH = re.compile(r"^(?:path|file_path): (.+)$", re.MULTILINE)
_CODE = re.compile(r"exit code (-?\d+)")

_ELIDED = "[truncated: "

_DEFAULT_WORDS = 400
_QUOTED = 160
"""Characters of a quotation."""
_MOST_ENTRIES = 24
_LEAST_ENTRIES = 2
_FOCUSED = 3
"""Entries that name what the person asked about go first, at most so many of a section."""


@dataclass(slots=True)
class _Item:
    """A piece of the conversation: who it is from, as the text form calls it, and what it says."""

    head: str
    text: str


@dataclass(slots=True)
class _Heard:
    """What the conversation holds, each oldest first."""

    asked: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    earlier: dict[str, list[str]] = field(default_factory=dict)


def wanted(messages: Sequence[Mapping[str, Any]]) -> bool:
    """The newest message ends with the instruction to summarise."""
    return bool(messages) and _INSTRUCTION.search(_last_text(messages)) is not None


def recap(messages: Sequence[Mapping[str, Any]]) -> str:
    """The summary that the newest message asks for."""
    text = _last_text(messages)
    told = list(_INSTRUCTION.finditer(text))[-1]
    given = _CONVERSATION.search(text[: told.start()])
    heard = _Heard()
    if given is not None:
        _hear_earlier(heard, text[: given.start()])
        items = _parted(given[1], text)
    else:
        items = _said(messages)
    _hear(heard, items)
    limit = _LIMIT.search(told[0])
    words = int(limit[1].replace(",", "")) if limit else _DEFAULT_WORDS
    most = _MOST_ENTRIES
    while len((written := _written(told[0], heard, most)).split()) > words and most > _LEAST_ENTRIES:
        most -= 1
    return written


def _last_text(messages: Sequence[Mapping[str, Any]]) -> str:
    blocks = talk.blocks(messages[-1])
    return str(blocks[-1].get("text", "")) if blocks else ""


# --- what was said ---------------------------------------------------------------------------------------------------


def _said(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Item]:
    """The items of messages, without the instruction at their end."""
    called: dict[str, str] = {}
    for message in [*messages[:-1], {**messages[-1], "content": talk.blocks(messages[-1])[:-1]}]:
        for block in talk.blocks(message):
            match block.get("type"):
                case "text":
                    yield _text_item(message, str(block.get("text", "")))
                case "tool_use":
                    called[str(block.get("id"))] = tool = str(block.get("name"))
                    arguments = block.get("input")
                    pairs = arguments.items() if isinstance(arguments, dict) else ()
                    yield _Item(
                        f"assistant calls {tool}", "\n".join(f"{name}: {value}" for name, value in pairs)
                    )
                case "tool_result":
                    tool = called.get(str(block.get("tool_use_id")), "a call")
                    failed = " (failed)" if block.get("is_error") else ""
                    yield _Item(f"result of {tool}{failed}", result_text(block))


def _text_item(message: Mapping[str, Any], text: str) -> _Item:
    if message.get("role") == "assistant":
        return _Item("assistant", text)
    if text.startswith(talk.SUMMED_UP):
        return _Item("earlier summary", text)
    return _Item("user" if talk.is_words(text) else "note by the program", text)


def _parted(conversation: str, told: str) -> Iterator[_Item]:
    """The items of a conversation that is given as text."""
    mark = _MARK.search(told)
    if mark is None:
        return
    for piece in re.split(rf"^{re.escape(mark[1])} ", conversation, flags=re.MULTILINE)[1:]:
        head, _, text = piece.partition("\n")
        yield _Item(head, text.strip())


# --- what it holds ---------------------------------------------------------------------------------------------------


def _hear(heard: _Heard, items: Iterator[_Item]) -> None:
    waiting: dict[str, list[str]] = {}
    for item in items:
        if item.head.partition(" (")[0] == "user":
            heard.asked.append(_quote(item.text))
            heard.rules += [_quote(line) for line in item.text.splitlines() if _RULE.search(line)]
        elif item.head == "earlier summary":
            _hear_earlier(heard, item.text)
        elif item.head.startswith("assistant calls "):
            tool = item.head.removeprefix("assistant calls ").partition(" (")[0]
            waiting.setdefault(tool, []).append(item.text)
        elif item.head.startswith("result of "):
            tool, _, rest = item.head.removeprefix("result of ").partition(" (")
            calls = waiting.get(tool) or [""]
            _hear_result(heard, tool, calls.pop(0), item.text, failed="failed" in rest)


def _hear_result(heard: _Heard, tool: str, arguments: str, text: str, *, failed: bool) -> None:
    path = _PATH.search(arguments)
    about = code((path[1] if path else arguments.partition(": ")[2].strip().partition("\n")[0])[:_QUOTED])
    lines, remark = ([], "its result is no longer sent") if text.startswith(_ELIDED) else parted(text)
    ended = _CODE.search(remark)
    came = f"exit code {ended[1]}" if ended else plural(len(lines), "line") if lines else remark or "nothing"
    if failed:
        heard.failed.append(f"{tool} {about}: {_quote((lines or [remark or 'it failed'])[-1])}")
    else:
        heard.done.append(f"{tool} {about}: {came}")
    if path and not failed:
        state = "read" if tool == "read_file" else "changed"
        if heard.files.get(path[1]) != "changed":
            heard.files[path[1]] = state


def _hear_earlier(heard: _Heard, text: str) -> None:
    found = _EARLIER.search(text)
    if found is None:
        return
    pieces = _HEADING.split(found[1])
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        lines = [line.removeprefix("- ").strip() for line in body.strip().splitlines()]
        heard.earlier.setdefault(name, []).extend(line for line in lines if line and line != "None.")


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:_QUOTED]}{"..." if len(line) > _QUOTED else ""}"'


# --- what is written of it -------------------------------------------------------------------------------------------


def _written(told: str, heard: _Heard, most: int) -> str:
    """A section for each heading of the instruction, of at most so many entries, the newest."""
    focus = _FOCUS.search(told)
    topic = focus[1].split() if focus else []
    sections = []
    for name in _HEADING.findall(told):
        # what was open then is told anew where it still is
        before = [] if name.startswith("In progress") else heard.earlier.get(name, [])
        entries = [*before, *_entries(name, heard, told)]
        chosen = _newest(list(dict.fromkeys(entries)), most, topic)
        sections.append(f"## {name}\n" + ("\n".join(f"- {entry}" for entry in chosen) or "None."))
    return "\n\n".join(sections)


def _entries(name: str, heard: _Heard, told: str) -> list[str]:
    if name.startswith("Goal"):
        return [f"the user asked: {words}" for words in heard.asked]
    if name.startswith("Done"):
        return heard.done
    if name.startswith("In progress"):
        pending = _NOT_FINISHED.search(told)
        return [line.removeprefix("- ") for line in pending[1].splitlines()] if pending else []
    if name.startswith("Decisions"):
        return [f"the user's rule: {rule}" for rule in heard.rules]
    if name.startswith("Failed"):
        return heard.failed
    if name.startswith("Files"):
        return [f"{code(path)}: {state}" for path, state in heard.files.items()]
    return []


def _newest(entries: Sequence[str], most: int, topic: Sequence[str]) -> list[str]:
    """The newest entries in their order, and before them those about the topic."""
    newest = list(entries[-most:])
    about = [entry for entry in entries[: len(entries) - len(newest)] if any(word in entry for word in topic)]
    return [*about[-_FOCUSED:], *newest]
