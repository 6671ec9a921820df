"""Reading markers, and texts that make a careless reader read the same again and again."""

from __future__ import annotations

from tui_agent.memory.markers import Found, MarkerParser

OPEN = '<memory scope="user" key="a">'

HOSTILE = {
    "beginnings": "<memo",
    "names": "<memory",
    "open tags": "<memory ",
    "bare": "<memory>",
    "closed": "</memory>",
    "not closed": "<memory key='a'>",
    "spaces": f"<memory{' ' * 600}",
    "equals": f"<memory{'=' * 600}",
    "quotes": '<memory key="',
    "in inline code": "`<memory>",
    "runs of backticks": "".join("`" * n + "<memory a" for n in range(1, 30)) + "a\n" * 150,
    "runs that close": "".join("`" * n + " " for n in [*range(1, 40), *range(40, 0, -1)]),
    "paragraphs": "`<memory\n\n",
    "no fences": "``` a`\n",
    "deep": "> " * 60 + "a\n" + "``` a`\n" * 60,
    "wide": "> - " * 200 + "<memory\n",
    "blank": f"</memory{' ' * 80}",
    "lines": "\n",
    "large bodies": f"<memory key='a'>{'b' * 5000}",
    "large bodies of lines": f"<memory key='a'>{chr(10) * 5000}",
    "markers": f"{OPEN}b</memory>",
    "nested": f"{OPEN}<memory/></memory>",
}


def repeated(text: str, length: int) -> str:
    """So many characters of a text that comes again and again."""
    return (text * (length // len(text) + 1))[:length]


def read(*pieces: str) -> tuple[str, list[Found]]:
    """What is visible of a text in pieces, and the markers in it."""
    parser = MarkerParser()
    fed = [*map(parser.feed, pieces), parser.finish()]
    return "".join(each.visible for each in fed), [found for each in fed for found in each.found]
