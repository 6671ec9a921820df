"""The exact text of what is sent: of one item, of one that changed, of the whole request. All of it may be long, so
everything here is called in threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.ui.inspector.telling import whole

if TYPE_CHECKING:
    from tui_agent.messages.request import Request
    from tui_agent.prompt.manifest import Item
    from tui_agent.ui.inspector.request_rows import Differing, Tree

_NOTHING = "(nothing)"


def item_text(tree: Tree, item: Item) -> str:
    """An item as it reads, and below that its JSON as it is sent."""
    if not item.kept:
        return f"{item.name} is not sent: {item.reason}"
    if not (parts := tree.parts(item)):
        return tree.built.manifest.text(item)
    read = "\n\n".join(filter(None, map(_read, parts)))
    sent = ",\n".join(map(_pretty, parts))
    return f"{read}\n\n--- as it is sent ---\n{sent}" if read else sent


def change_text(found: Differing, index: int) -> str:
    """What an item was and what it is, as it reads."""
    before, after = found.parts(index)
    return f"--- before ---\n{_all(before)}\n\n--- after ---\n{_all(after)}"


def request_json(request: Request) -> str:
    """The whole request as it goes over the wire, its cache breakpoints included, one field a line."""
    body = request.body()
    fields = []
    for name, value in body.items():
        if isinstance(value, list) and value:
            inner = ",\n".join(_indented(_pretty(each), 2) for each in value)
            fields.append(f' "{name}": [\n{inner}\n ]')
        else:
            fields.append(f' "{name}": {_indented(_pretty(value), 1).lstrip()}')
    return "{\n" + ",\n".join(fields) + "\n}"


def _all(parts: Iterable[Any]) -> str:
    return "\n\n".join(_read(part) or _pretty(part) for part in parts) or _NOTHING


def _read(part: Mapping[str, Any]) -> str:
    """What a block says; nothing for what is not made of text, such as a tool's definition."""
    return whole(part) if part.get("type") in ("text", "thinking", "tool_use", "tool_result") else ""


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()


def _indented(text: str, by: int) -> str:
    pad = " " * by
    return pad + text.replace("\n", f"\n{pad}")
