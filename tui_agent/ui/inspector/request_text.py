"""The exact text of what is sent: of one item, of one that changed, of the whole request; and the widget that shows it.

All of it may be long, so what makes it is called in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from textual.containers import Vertical
from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.exact import Exact
from tui_agent.ui.inspector.telling import whole
from tui_agent.ui.still import Text

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.messages.request import Request
    from tui_agent.prompt.manifest import Item, Total
    from tui_agent.ui.inspector.request_rows import Differing
    from tui_agent.ui.inspector.request_tree import Tree

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
    parts = tree.parts(item)
    read = "\n\n".join(filter(None, (*_about(tree, item), *map(_read, parts))))
    sent = ",\n".join(map(_pretty, parts)) or tree.built.manifest.text(item)
    return f"{read}\n\n--- as it is sent ---\n{sent}" if read else sent


def _about(tree: Tree, item: Item) -> Iterator[str]:
    """What its text does not say of an item: what it is for in the sum, whether it may be left out."""
    if why := tree.why_it_stays(item):
        yield f"The program never leaves it out by itself: {why}."
    elif tree.refusal is not None:
        yield "The program may leave it out to make room."
    if item.kind == "framing" and item.tokens.count:
        yield _balance(tree.total, item.tokens.count)


def _balance(total: Total, rest: int) -> str:
    """What the row is for that makes all of them sum up to the whole."""
    whole = "The endpoint counted" if total.mark == "exact" else "The request is taken to weigh"
    said = f"{whole} {words.number(total.count, total.mark)} tokens; the items above come to {total.count - rest:,}."
    if rest > 0:
        return (
            f"{said} The other {rest:,} are what joins the items, what the endpoint adds of its own, and what the "
            "estimates are too low."
        )
    return f"{said} The estimates among them are {-rest:,} too high: taken off here, so that all rows sum up to it."


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
