"""The forms of words that the demo model turns into work. What fits none of them is not understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui_agent.llm.demo import plans, talk
from tui_agent.llm.demo import tasks as work
from tui_agent.llm.demo.clauses import ANY, FILE, NAME, Clause, clauses

if TYPE_CHECKING:
    from tui_agent.llm.demo.talk import History
    from tui_agent.llm.demo.tasks import Task

_EVERYWHERE = ("here", "workspace", "project", "everything", "code", "it")


def tasks(words: str, before: History) -> list[Task]:
    """The tasks in a person's words, in order; empty if any part of them was not understood.

    Args:
        words: what the person wrote.
        before: the messages before, for what refers to them ("finish the todos").
    """
    if asked := plans.wanted(words):
        inner = tasks(asked, before)
        return plans.planned(inner, asked) if inner else []
    parts, together = clauses(words)
    found: list[Task] = []
    for clause in parts:
        task = _understood(clause, before)
        if task is None:
            return [_several()] if together and not found else []
        found.append(task)
    if not together:
        return found
    if not found:
        return [_several()]
    return found if len(found) == 1 else [work.Parallel(tuple(found))]


def _understood(clause: Clause, before: History) -> Task | None:
    for form in _FORMS:
        task = form(clause, before)
        if task is not None:
            return task
    return None


def _several() -> Task:
    return work.Parallel((work.List("*"), work.Run("pwd"), work.Search("TODO")))


def _replace(clause: Clause, before: History) -> Task | None:
    verb = r"(?:replace|change|rename)\s+(?:all\s+)?(?:the (?:word|text|line|name)\s+)?"
    to = r"\s+(?:with|by|to|into)\s+"
    start = rf"(?:edit|in|change|open|update)\s+(?:the file\s+)?({FILE})\s*(?:[:,]\s*|\s+(?:and\s+)?)"
    found = clause.match(rf"{start}{verb}{ANY}{to}(.+)")
    if found:
        path, old, new = found.groups()
    else:
        found = clause.match(rf"{verb}{ANY}{to}{ANY}\s+in\s+(?:the file\s+)?({FILE})")
        if not found:
            return None
        old, new, path = found.groups()
    return work.Replace(clause.bare(path), clause.bare(old), clause.bare(new))


def _add_line(clause: Clause, before: History) -> Task | None:
    line = (
        r"(?:add|append)\s+(?:(?:a|the|this|another)\s+)?(?:new\s+)?(?:line\b)?"
        r"(?:\s*(?:saying|with|that says|containing)\b)?\s*:?\s*"
    )
    start = rf"(?:edit|in|to|open)\s+(?:the file\s+)?({FILE})\s*(?:[:,]\s*|\s+(?:and\s+)?)"
    end = r"(?:to|in|into|at the end of|to the end of)"
    found = clause.match(rf"{start}{line}(.+)")
    if found:
        path, text = found.groups()
    else:
        found = clause.match(rf"{line}{ANY}\s+{end}\s+(?:the file\s+)?({FILE})")
        if not found:
            return None
        text, path = found.groups()
    return work.AddLine(clause.bare(path), clause.bare(text))


def _write(clause: Clause, before: History) -> Task | None:
    kind = r"(?:(?:a|an|the)\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?"
    put = r"(?:(?:and\s+)?(?:with|containing|saying|that says|put)\b\s*(?:the\s+)?(?:content|text)?)?"
    found = clause.match(rf"(?:write|create|make|save)\s+{kind}({FILE})\s*(?::|,)?\s*{put}\s*:?\s*(.+)")
    if found and found.group(2).strip():
        return work.Write(clause.bare(found.group(1)), _ended(clause.bare(found.group(2))))
    found = clause.match(rf"(?:write|save|put)\s+{ANY}\s+(?:to|into|in)\s+(?:the file\s+|a file\s+)?({FILE})")
    if found:
        return work.Write(clause.bare(found.group(2)), _ended(clause.bare(found.group(1))))
    found = clause.match(
        rf"(?:create|make|write)\s+an?\s+(?:empty|new)\s+file\s*(?:called\s+|named\s+)?({FILE})"
    )
    return work.Write(clause.bare(found.group(1)), "") if found else None


def _ended(text: str) -> str:
    """File content with a newline at its end."""
    return text if not text or text.endswith("\n") else text + "\n"


def _todo(clause: Clause, before: History) -> Task | None:
    named = r"(?:the\s+|my\s+|a\s+)?(?:todos?|to-dos?|tasks?)(?:\s+list)?"
    if clause.match(rf"(?:finish|complete|tick off|close)\s+(?:all\s+)?{named}"):
        return _finished(before)
    found = clause.match(rf"(?:(?:make|write|create|start|set|add)\s+)?{named}\s*(?::|with|of|for)\s*(.+)")
    if not found:
        return None
    parts = re.split(r"[,\n]", found.group(1))
    texts = [clause.bare(re.sub(r"^\s*(?:[-*]\s+|\d+[.)]\s+)", "", part)) for part in parts]
    return _list_of([text for text in texts if text])


def _list_of(texts: Sequence[str]) -> Task | None:
    """The list: ticked items done, the first other one active."""
    items: list[tuple[str, str]] = []
    for text in texts:
        box = re.match(r"\[([ x~])\]\s*", text, re.IGNORECASE)
        status = "done" if box is not None and box.group(1).lower() == "x" else "pending"
        if status == "pending" and not any(other == "active" for _, other in items):
            status = "active"
        items.append((text[box.end() :] if box else text, status))
    return work.Todo(tuple(items)) if items else None


def _finished(before: History) -> Task:
    for call in talk.calls(before):
        items = call["input"].get("items") if call.get("name") == "todo" else None
        if isinstance(items, list):
            texts = [str(item["text"]) for item in items if isinstance(item, dict) and "text" in item]
            return work.Todo(tuple((text, "done") for text in texts))
    return work.Say("There is no todo list in this conversation yet; try: todo: one, two, three")


def _run(clause: Clause, before: History) -> Task | None:
    found = clause.match(r"[$!]\s*(.+)")
    if not found:
        found = clause.match(r"(?:run|execute|exec)\s+(?:(?:the\s+)?(?:shell\s+)?command\s+)?:?\s*(.+)")
        vague = r"(?:the|it|this|that|my|all)\b"
        if found and not clause.quoted(found.group(1)) and re.match(vague, found.group(1), re.IGNORECASE):
            return None
    if found:
        return work.Run(clause.bare(found.group(1)))
    return work.Run(clause.bare(clause.text)) if clause.quoted(clause.text) else None


def _list(clause: Clause, before: History) -> Task | None:
    found = clause.match(
        r"(?:list|show|find|glob)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:files?\s+)?"
        rf"(?:(?:matching|like|named|called)\s+)?(\S*\*\S*|\x00\d+\x00)(?:\s+files)?(?:\s+(?:in|under)\s+({NAME}))?"
    )
    if found and "*" in clause.bare(found.group(1)):
        return work.List(clause.bare(found.group(1)), clause.bare(found.group(2)))
    found = clause.match(
        r"(?:list|ls|show|what|which)\b(?:\s+(?:me|are|is|all|the|files?|folders?|there|here|in|this|directory"
        rf"|folder|workspace|project|do we have|of))*(?:\s+({FILE}|\w+))?"
    )
    if not found or not clause.match(r"(?:(?:list|ls)\b|.*\bfiles?\b).*"):
        return None
    return work.List("*", clause.bare(found.group(1)))


def _read(clause: Clause, before: History) -> Task | None:
    found = clause.match(
        r"(?:read|open|show|print|cat|display|view|look (?:at|into)|what(?:'s| is| does)(?: in)?)\s+"
        r"(?:me\s+)?(?:the\s+)?(?:files?\s+)?"
        r"(?:lines?\s+(\d{1,9})\s*(?:-|to|–)\s*(\d{1,9})\s+(?:of|in|from)\s+)?(?:the\s+)?(?:file\s+)?(.+)"
    )
    if not found:
        return None
    first, last, rest = found.groups()
    after = re.fullmatch(r"(.+?)[\s,]+lines?\s+(\d{1,9})\s*(?:-|to|–)\s*(\d{1,9})", rest, re.IGNORECASE)
    if after:
        rest, first, last = after.groups()
    rest = re.sub(r"\s+(?:say|contain|look like|to me|for me|again)$", "", rest, flags=re.IGNORECASE)
    names = [name for name in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+", rest) if name]
    if not names or not all(re.fullmatch(FILE, name, re.IGNORECASE) for name in names):
        return None
    lines = (int(first), int(last)) if first and last else (None, None)
    reads = tuple(work.Read(clause.bare(name), *lines) for name in names)
    return reads[0] if len(reads) == 1 else work.Parallel(reads)


def _search(clause: Clause, before: History) -> Task | None:
    article = r"(?:all\s+)?(?:the\s+)?(?:files?\s+|folder\s+)?"
    place = rf"(?:\s+(?:in|under|inside)\s+{article}({NAME})(?:\s+(?:files|folder))?)?"
    found = clause.match(
        rf"(?:search|grep|look|find|where)\b(?:\s+(?:for|is|are|all|the word|the text|occurrences of))*\s+{ANY}"
        rf"(?:\s+(?:used|defined|mentioned))?(\s+ignoring case)?{place}"
    )
    if not found:
        return None
    pattern = _literally(clause.bare(found.group(1)))
    where = clause.bare(found.group(3))
    ignore = bool(found.group(2))
    if "*" in where:
        return work.Search(pattern, glob=where, ignore_case=ignore)
    return work.Search(pattern, "" if where in _EVERYWHERE else where, ignore_case=ignore)


def _literally(text: str) -> str:
    """A pattern that finds the text itself."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _fail(clause: Clause, before: History) -> Task | None:
    if not clause.match(r"fail\b.*"):
        return None
    return work.Parallel((work.Read("no-such-file.txt"), work.Run("echo this command fails; exit 3")))


_FORMS: tuple[Callable[[Clause, History], Task | None], ...] = (
    talk.remember,
    _todo,
    talk.think,
    _replace,
    _add_line,
    _run,
    _write,
    _list,
    _read,
    _search,
    talk.fault,
    _fail,
    talk.long,
    talk.summary,
    talk.greeting,
)
"""In the order they are tried."""
