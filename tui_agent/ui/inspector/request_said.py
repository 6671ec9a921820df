"""What the Request tab says of a request beside its items: which it is, its figures, and the sums that close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector.grouping import percent
from tui_agent.ui.inspector.request_rows import Differing, History, Listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_agent.agent.requests import Built
    from tui_agent.prompt.difference import Difference, What
    from tui_agent.ui.inspector.request_tree import Tree

_MODEL = 40
"""Characters of a model's name."""
_KINDS: list[tuple[str, tuple[What, ...]]] = [
    ("added", ("added",)),
    ("gone", ("gone",)),
    ("shortened", ("shortened",)),
    ("changed", ("longer", "changed", "moved")),
]


def name(built: Built) -> str:
    """Which request it is."""
    return "the next request" if built.sent is None else f"request {built.sent.n:,}"


def title(view: Listed, tree: Tree | None, many: int, *, fault: str, marked: bool) -> Content:
    """What is listed, or why there is none; `many` requests were sent, and the one shown may be `marked` for a diff."""
    if isinstance(view, History):
        return Content.styled("every request of this session", "bold")
    if isinstance(view, Differing):
        names = [name(one.built) for one in (view.before, view.after)]
        return Content.assemble(("what differs: ", "bold"), f"{names[0]} -> {names[1]}")
    if tree is None:
        said = literal.visible(fault)
        return Content.styled(said, "$text-error") if said else Content.styled("the request", "bold")
    sent, parts = tree.built.sent, []
    if sent is not None:
        parts = [f"of {many:,}", "" if sent.turn is None else f"turn {sent.turn}", words.clock(sent.at)]
    said = "  ".join([*filter(None, parts), literal.one_line(tree.built.request.model, _MODEL)])
    refused = ("  refused: it does not fit", "bold $text-error") if tree.refusal is not None else ""
    return Content.assemble(
        (name(tree.built), "bold"), refused, f"  {said}", ("  *marked", "$text-warning") if marked else ""
    )


def figures(built: Built, counted: str) -> list[Content]:
    """The figures of a request, and what the endpoint said of it."""
    manifest, sent = built.manifest, built.sent
    if sent is None:
        total = words.number(manifest.total.count, manifest.total.mark)
        window = words.window(manifest.window, guessed=manifest.guessed)
        of = f" of {window}" if manifest.window else ""
        said = f"{total}{of}, {manifest.reserve:,} for the answer"
        if built.refusal is not None:
            excess = words.number(built.refusal.excess, manifest.total.mark)
            said = f"{excess} too many: {total} and {manifest.reserve:,} for the answer, of {window}"
    else:
        foreseen = "" if sent.predicted is None else f" ({sent.predicted:,} foreseen)"
        said = (
            f"cache {percent(sent.cache_read, sent.total_input)}: {sent.cache_read:,} read{foreseen}, "
            f"{sent.cache_write:,} written, {sent.input:,} plain; {sent.output:,} answered"
        )
    lines = [Content.styled(said, "$text-muted")]
    if sent is not None and sent.uncached:
        lines.append(Content.styled(literal.one_line(sent.uncached), "$text-warning"))
    return [*lines, Content.styled(literal.one_line(counted), "$text-secondary")] if counted else lines


def sums(tree: Tree, now: int | None) -> Content:
    """The sections, which sum up to the total; with what it weighs `now`, where that may have changed since."""
    total = tree.total.count
    parts = [f"{tokens.count:+,} {section}" for section, tokens in tree.sums()]
    if now is not None and now != total:
        parts.append(f"{now - total:+,} since")
        total = now
    said = f"{' '.join(parts).lstrip('+')} = {words.number(total, tree.total.mark)}"
    return Content(said if tree.refusal is None else f"{said}, too many")


def legend() -> Content:
    """What the letters of the cache mean, where there is no room for words."""
    return Content.styled("c: all of it cached, p: a part", "$text-muted")


def many(count: int) -> Content:
    """How many requests there are."""
    return Content(f"{count:,} request{'' if count == 1 else 's'}, newest first" if count else "")


def ways_out(ways: Sequence[str]) -> list[Content]:
    """What can be done where there is no request."""
    head = [Content.styled("ways out", "bold $text-primary")] if ways else []
    return head + [Content(f"  {literal.one_line(str(way))}") for way in ways]


def difference(found: Difference) -> Content:
    """What a diff adds up to: the weights of both requests, and what led from one to the other."""
    there = {change.what for change in found.changes}
    parts = [f"{found.tokens(*kinds):+,} {said}" for said, kinds in _KINDS if there.intersection(kinds)]
    if found.counted_anew:
        parts.append(f"{found.counted_anew:+,} counted anew")
    before, after = found.before, found.after
    said = f"{words.number(before.count, before.mark)} {' '.join(parts)} = {words.number(after.count, after.mark)}"
    return Content(f"{said}; {found.same:,} the same")
