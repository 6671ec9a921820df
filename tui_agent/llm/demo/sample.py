"""A long answer, for seeing how long Markdown looks, streams and scrolls."""

from __future__ import annotations

_TOPICS = (
    ("The log", "every record is one line, written once and never changed"),
    ("Checkpoints", "a mark before each turn, to which the conversation can go back"),
    ("Backups", "the old file, whole, whenever the history is rewritten"),
    ("Tokens", "what each item costs, and how sure that number is"),
    ("Approvals", "what runs only after a person said yes"),
    ("Memory", "what is kept for later, when a person agreed"),
)

_CODE = '''\
def fibonacci(count: int) -> list[int]:
    """The first `count` Fibonacci numbers."""
    numbers = [0, 1]
    while len(numbers) < count:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers[:count]
'''


def long_answer(sections: int) -> str:
    """Markdown of so many sections: headings, paragraphs, lists, tables, quotes and code fences in turn."""
    parts = [
        "# A long answer",
        f"You asked the demo model to be long. Here are {sections} sections of Markdown, always the same.",
    ]
    for number in range(1, sections + 1):
        title, words = _TOPICS[(number - 1) % len(_TOPICS)]
        parts.append(f"## {number}. {title}")
        parts.append(
            f"**{title}** means: {words}. This paragraph is long enough to wrap on a narrow screen, has *emphasis*, "
            f"`inline code` and a word in 日本語, and says nothing else."
        )
        parts.append(_figure(number))
    parts.append("That was all. Nothing in it was thought: I am a demo, no AI.")
    return "\n\n".join(parts)


def _figure(number: int) -> str:
    match number % 4:
        case 1:
            rows = [f"| {title} | {len(words)} | {words} |" for title, words in _TOPICS]
            return "\n".join(["| Topic | Letters | Meaning |", "|:--|--:|:--|", *rows])
        case 2:
            items = [
                f"- **{title}**: {words}\n  - a second level, number {number}" for title, words in _TOPICS
            ]
            return "\n".join(items)
        case 3:
            return f"```python\n{_CODE}```"
        case _:
            steps = [f"{place}. {title}" for place, (title, _) in enumerate(_TOPICS, 1)]
            return "> A quotation, which may be\n> longer than one line.\n\n" + "\n".join(steps)
