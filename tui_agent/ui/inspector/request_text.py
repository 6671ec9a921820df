"""The exact text of what is sent: of one item, of one that changed, of the whole request; and the widget that shows it.

All of it may be long, so what makes it is called in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from textual.containers import Vertical
from textual.content import Content

from tui_agent import literal
from tui_agent.ui.exact import Exact
from tui_agent.ui.inspector.telling import whole
from tui_agent.ui.still import Text

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.messages.request import Request
    from tui_agent.prompt.manifest import Item
    from tui_agent.ui.inspector.request_rows import Differing, Tree

_NOTHING = "(nothing)"


class Opened(Vertical):
    """A text: what it is of and how a search in it stands, and the text."""

    DEFAULT_CSS = """
    Opened .facts { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.facts = Text(classes="facts", markup=False)
        self.exact = Exact()
        self._title = ""

    def compose(self) -> ComposeResult:
        yield self.facts
        yield self.exact

    def show(self, title: str, make: Callable[[], str], *, top: bool) -> None:
        """Show what `make` gives."""
        self._title = title
        self.tell()
        self.exact.show(make, top=top)

    def tell(self) -> None:
        """Say what it shows, and how the search stands."""
        found = self.exact.said
        title = (literal.one_line(self._title, 80), "bold")
        self.facts.update(Content.assemble(title, f"  {found}" if found else ""), layout=False)

    def on_exact_looked(self, event: Exact.Looked) -> None:
        event.stop()
        self.tell()


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
