"""The sections of a summary: their names, how they are found in a text, and what is put under them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

GOAL = "Goal and current request"
DONE = "Done"
IN_PROGRESS = "In progress"
DECISIONS = "Decisions and why"
FAILED = "Failed approaches"
QUESTIONS = "Open questions"
FILES = "Files and their state"

SECTIONS = (GOAL, DONE, IN_PROGRESS, DECISIONS, FAILED, QUESTIONS, FILES)
"""In their order. They are in English in every language, since they are looked for."""

_HEADING = re.compile(r"^#{1,4}[ \t]+(?:\d+[.)][ \t]+)?\**(.+?)\**:?[ \t]*#*[ \t]*$", re.MULTILINE)
_NOTHING = re.compile(r"\A[-*]?\s*\(?(?:none|nothing|n/a|无|なし)\b[^\n]{0,20}\Z", re.IGNORECASE)


def heading(section: str) -> str:
    """The line a section begins with."""
    return f"## {section}"


def line(entry: str) -> str:
    """An entry of a list."""
    return "- " + entry.strip().replace("\n", "\n  ")


def sections(summary: str) -> Mapping[str, str]:
    """The text under each heading that is known, without the heading."""
    found = _found(summary)
    return {name: summary[start:stop].strip() for name, _, start, stop in found}


def entries(section: str) -> list[str]:
    """The entries of a section's list, as they were given to `composed`; text that is no list is one entry."""
    found: list[str] = []
    for text in section.strip().split("\n"):
        if text.startswith("- ") or not found:
            found.append(text.removeprefix("- "))
        else:
            found[-1] += "\n" + text.removeprefix("  ")
    return [entry for entry in found if entry.strip()]


def composed(parts: Mapping[str, Sequence[str]]) -> str:
    """A summary of these entries, a list under each heading; `None.` where there are none."""
    texts = []
    for name in SECTIONS:
        entries = [entry for entry in parts.get(name, ()) if entry.strip()]
        texts.append(f"{heading(name)}\n" + ("\n".join(line(entry) for entry in entries) or "None."))
    return "\n\n".join(texts)


def placed(summary: str, pending: Sequence[str]) -> str:
    """The summary with everything that is not done under `In progress`, in its own words."""
    missing = [entry for entry in pending if not mentions(sections(summary).get(IN_PROGRESS, ""), entry)]
    if not missing:
        return summary
    lines = "\n".join(line(entry) for entry in missing)
    place = next((found for found in _found(summary) if found[0] == IN_PROGRESS), None)
    if place is None:
        return f"{summary.rstrip()}\n\n{heading(IN_PROGRESS)}\n{lines}"
    _, _, start, stop = place
    said = summary[start:stop].strip()
    body = lines if is_nothing(said) else f"{said}\n{lines}"
    rest = summary[stop:].lstrip("\n")
    return f"{summary[:start].rstrip()}\n{body}" + (f"\n\n{rest}" if rest else "")


def is_nothing(text: str) -> bool:
    """A section's text says that there is nothing to say."""
    return not text.strip() or _NOTHING.match(text.strip()) is not None


def mentions(text: str, words: str) -> bool:
    """The words stand in the text, however their spaces, case and quotes are."""
    return plain(words) in plain(text)


def plain(text: str) -> str:
    """The text without what may differ where the same is meant: spaces, case, quotes."""
    return " ".join(text.replace("`", "").replace('"', "").split()).casefold()


def _found(summary: str) -> list[tuple[str, int, int, int]]:
    """The known headings in order: name, where the heading begins, where its text begins and ends."""
    known = {name.casefold(): name for name in SECTIONS}
    matches = [match for match in _HEADING.finditer(summary) if match[1].strip().casefold() in known]
    starts = [*(match.start() for match in matches), len(summary)]
    return [
        (known[match[1].strip().casefold()], match.start(), match.end(), starts[place + 1])
        for place, match in enumerate(matches)
    ]
