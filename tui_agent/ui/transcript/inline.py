"""The inside of a line of Markdown: emphasis, code, links, as Textual `Content`.

Text goes through `visible`; a link is only active if it leads to the web, and what else it says is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from textual.content import Content, Span
from textual.style import Style

from tui_agent.literal import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

_LONGEST_LINK = 2000
"""Characters; some terminals drop longer ones."""

_WEB = re.compile(r"https?://[^\s<>\"'`\x00-\x20]+")
_TRAILING = ".,;:!?)]}*_"
_URL_SAFE = "!#$%&'()*+,/:;=?@[]~"


def web_link(target: str) -> str | None:
    """The target as a terminal may be told it, or None if it does not lead to the web.

    Only http and https, only printable ASCII: everything else in it is percent-encoded.
    """
    if not target.lower().startswith(("http://", "https://")) or len(target) > _LONGEST_LINK:
        return None
    cleaned = quote(target, safe=_URL_SAFE, errors="replace")
    return cleaned if len(cleaned) <= _LONGEST_LINK else None


def link_style(target: str) -> Style:
    """How an active link is told to the terminal (OSC 8) and to whoever hears the click."""
    return Style(link=target) + Style.from_meta({"link": target})


def inline(token: Token) -> Content:
    """The content of an inline token; where what each child shows ends is left in `token.meta["edges"]`."""
    parts: list[str] = []
    edges: list[int] = []
    spans: list[Span] = []
    styles: list[tuple[int, str | Style]] = []
    length = 0

    def add(text: str) -> None:
        nonlocal length
        parts.append(text)
        length += len(text)

    def close() -> None:
        start, style = styles.pop()
        if length > start:
            spans.append(Span(start, length, style))

    target = ""
    for child in token.children or ():
        match child.type:
            case "text":
                text = _shown(child.content)
                spans += _bare_links(text, length) if not target else ()
                add(text)
            case "code_inline":
                text = _shown(child.content)
                spans.append(Span(length, length + len(text), ".transcript--inline"))
                add(text)
            case "softbreak":
                add(" ")
            case "hardbreak":
                add("\n")
            case "strong_open" | "em_open" | "s_open":
                styles.append((length, _EMPHASIS[child.tag]))
            case "strong_close" | "em_close" | "s_close":
                close()
            case "link_open":
                target = str(child.attrs.get("href", ""))
                link = web_link(target)
                styles.append((length, ".transcript--link"))
                styles.append((length, link_style(link) if link else ""))
            case "link_close":
                said = "".join(parts)[styles[-1][0] :]
                close()
                close()
                if web_link(target) is None and target not in ("", said):
                    add(f" ({_shown(target)})")
                target = ""
            case "image":
                add(_shown(f"[image {child.content} {child.attrs.get('src', '')}]"))
            case _:
                add(_shown(child.content))
        edges.append(length)
    token.meta["edges"] = edges
    return Content("".join(parts), spans)


def _shown(text: str) -> str:
    return visible(text).replace("\t", "    ")


_EMPHASIS: Mapping[str, str] = {"strong": "bold", "em": "italic", "s": "strike"}


def _bare_links(text: str, offset: int) -> Iterator[Span]:
    """Addresses that stand in the text without being marked as links."""
    for match in _WEB.finditer(text) if "://" in text else ():
        found = match[0].rstrip(_TRAILING)
        link = web_link(found)
        if link is not None:
            start = offset + match.start()
            yield Span(start, start + len(found), ".transcript--link")
            yield Span(start, start + len(found), link_style(link))
