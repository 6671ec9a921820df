"""Make any history valid for the Messages API, and say what changed.

The rules of the table (messages/rules) are held by `PASSES`, small functions over drafts of the messages that are
applied in order and say what they changed by the name of the rule. The outcome depends on the history and the model
alone, what is appended behind changes nothing before (but for images, once there are more than twenty), and linting it
again changes nothing.

What is decided here beyond the API's rules:

- Thinking, server tools, citations and block types unknown to this program are kept only in messages of the model
  that is asked (its name, without a date): others cannot read them. Unsigned thinking is never sent.
- A signed block is sent as it came or not at all.
- A history that ends with the assistant goes on with the user's `(continue)`; one that begins with it is led in by
  a text that says so. Whoever writes the log stores `repairs(history)` first, so that the next request extends
  this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.messages import wellformed
from tui_agent.messages.blocks import text_block
from tui_agent.messages.drafts import Before, Change, Draft, Item, Work, drafts, same_model, synthetic
from tui_agent.messages.pairing import MISSING_RESULT, answered, halves, number
from tui_agent.messages.rules import ORDER, RULES

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message

__all__ = ["CONTINUE", "EARLIER", "MISSING_RESULT", "PASSES", "RULES", "Change", "Linted"]
__all__ += ["lint", "linted", "repairs", "same_model"]

CONTINUE = "(continue)"
EARLIER = "[what came before is left out]"

_MAX_BREAKPOINTS = 4
_BREAKPOINTS = ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"}, {"type": "ephemeral", "ttl": "1h"})
_NOT_FROM_ASSISTANT = wellformed.FROM_USER - wellformed.PLAIN


class Linted(Struct, frozen=True):
    """A valid history: API messages; for each the records it was made from; for each block its record (or "").

    `numbers` and `images` say what each message takes of that which is counted through (see `Before`); `crowded` that
    there are so many pictures that large ones are left out.
    """

    messages: list[dict[str, Any]]
    sources: list[tuple[str, ...]]
    blocks: list[tuple[str, ...]]
    changes: list[Change]
    numbers: list[list[tuple[str, int]]]
    images: list[int]
    crowded: bool


def lint(history: Iterable[Message], *, model: str) -> tuple[list[dict[str, Any]], list[Change]]:
    """The history as API messages that `model` accepts, and what had to change. Never raises, never empty."""
    done = linted(history, model=model)
    return done.messages, done.changes


def linted(history: Iterable[Message], *, model: str, before: Before | None = None) -> Linted:
    """`lint`, with the records that each message and block came from.

    `before` makes it the rest of a history whose beginning was linted already: what is made of both, one behind the
    other, is what would be made of the whole, if `crowded` is the same.
    """
    work = _worked(history, model, before)
    return Linted(
        [{"role": d.role, "content": [i.block for i in d.items]} for d in work.drafts],
        [tuple(dict.fromkeys(i.record for i in d.items if i.record)) for d in work.drafts],
        [tuple(i.record for i in d.items) for d in work.drafts],
        work.changes,
        [d.numbers for d in work.drafts],
        [d.images for d in work.drafts],
        work.crowded,
    )


def repairs(history: Iterable[Message], *, model: str = "") -> list[Block]:
    """The blocks of the user message that a writer appends before it asks; none if nothing is missing.

    They are results for the calls that are still open, and `(continue)` behind a closing assistant message: what
    `lint` would put at the end. With them stored the next request extends the one that they were first sent in. The
    model matters only where an answer holds nothing but its thinking or its server tools.
    """
    work = _worked(history, model)
    return [item.repair for item in work.drafts[-1].items if item.repair is not None]


def _worked(history: Iterable[Message], model: str, before: Before | None = None) -> Work:
    work = Work(drafts(history, model), before)
    for hold in PASSES:
        hold(work)
    work.changes.sort(key=lambda change: ORDER[change.rule])
    return work


# --- the passes, in order ------------------------------------------------------------------------------------------


def readable(work: Work) -> None:
    """Every message is of the user or the assistant, every block a mapping with a type."""
    kept = []
    for draft in work.drafts:
        if draft.role in ("user", "assistant"):
            kept.append(draft)
            if not draft.items:
                work.say("empty", draft.record, "a message without content is left out")
            work.keep("blocks", draft, _is_block, "is no block")
        else:
            work.say("roles", draft.record, f"a message of role {draft.role!r:.40} is left out")
    work.drafts = kept


def encodable(work: Work) -> None:
    """Every value has a form in JSON and UTF-8. A signed block is not mended: it is left out."""
    for draft in work.drafts:
        items = []
        for item in draft.items:
            block = wellformed.encodable(item.block)
            if block is not item.block:
                signed = item.block["type"] in wellformed.SIGNED
                work.say(
                    "encoding",
                    item.record,
                    "held what cannot be encoded: " + ("left out" if signed else "replaced"),
                )
                if signed:
                    continue
            items.append(Item(block, item.record))
        draft.items = items


def other_models(work: Work) -> None:
    """What only the model that wrote it can read is not sent to another; unsigned thinking to none."""
    for draft in work.drafts:
        if draft.role == "assistant":
            if not draft.own:
                work.keep(
                    "other_model",
                    draft,
                    lambda b: b["type"] in wellformed.PLAIN or b["type"] in wellformed.FROM_USER,
                    "is left out: another model wrote it",
                )
            work.keep("unsigned", draft, _is_signed, "is left out: it carries no signature")


def known_blocks(work: Work) -> None:
    """Blocks stand in messages of the role that may hold them."""
    for draft in work.drafts:
        if draft.role == "user":
            work.keep(
                "places",
                draft,
                lambda b: b["type"] in wellformed.FROM_USER,
                "is left out: a user message cannot hold it",
            )
        else:
            work.keep(
                "places",
                draft,
                lambda b: b["type"] not in _NOT_FROM_ASSISTANT,
                "is left out: an assistant message cannot hold it",
            )


def shapes(work: Work) -> None:
    """Every block has the fields that its type needs, and no field that the API refuses."""
    for draft in work.drafts:
        for item in draft.items:

            def say(rule: str, text: str, record: str = item.record) -> None:
                work.say(rule, record, text)

            block = wellformed.fields(item.block, verbatim=draft.own)
            match block["type"]:
                case "tool_use":
                    block = wellformed.call(block, say)
                case "tool_result":
                    block = wellformed.result(block, say)
                case "image" | "document":
                    block = wellformed.media(block, say)
            item.block = block


def blank_text(work: Work) -> None:
    """A text is more than white space."""
    for draft in work.drafts:
        work.keep(
            "blank_text",
            draft,
            lambda b: b["type"] != "text" or not wellformed.is_blank(b.get("text")),
            "is left out: blank",
        )


def one_message_a_turn(work: Work) -> None:
    """Roles alternate: empty messages go, neighbours of one role are merged."""
    merged: list[Draft] = []
    for draft in work.drafts:
        if not draft.items:
            continue
        if merged and merged[-1].role == draft.role:
            last = merged[-1]
            merged[-1] = Draft(
                draft.role, last.items + draft.items, last.own and draft.own, last.numbers + draft.numbers
            )
        else:
            merged.append(draft)
    work.drafts = merged


def calls_and_results(work: Work) -> None:
    """Every call has an id of its own and one result, first in the next message, in the order of the calls."""
    used = dict(work.before.used) if work.before else {}
    paired: list[Draft] = []
    calls: list[tuple[Item, object]] = []
    for draft in work.drafts:
        if draft.role == "assistant":
            calls = number(work, draft, used)
            paired.append(draft)
        else:
            paired.append(answered(work, draft, calls))
            calls = []
    if calls:
        paired.append(answered(work, Draft("user", [], own=False), calls))
    work.drafts = paired


def server_calls(work: Work) -> None:
    """A call that the endpoint ran itself has its one result behind it in the same message."""
    for draft in work.drafts:
        alone = halves(draft)
        for item in alone:
            work.say(
                "server_calls",
                item.record,
                f"{item.block['type']:.40} is left out: its other half is missing",
            )
        if alone:
            draft.items = [item for item in draft.items if not any(item is half for half in alone)]


def ends(work: Work) -> None:
    """The first and the last message are the user's."""
    if not work.drafts:
        work.say("nothing", "", "there was nothing to send")
        work.drafts = [synthetic(CONTINUE)]
    if work.drafts[0].role == "assistant" and work.before is None:
        work.say("begins", work.drafts[0].record, "a text was put before the assistant's first message")
        work.drafts.insert(0, synthetic(EARLIER))
    if work.drafts[-1].role == "assistant":
        work.say("ends", work.drafts[-1].record, f"{CONTINUE!r} was put behind the assistant's last message")
        work.drafts.append(synthetic(CONTINUE, text_block(CONTINUE)))


def many_images(work: Work) -> None:
    """With more than 20 images in a request, none is longer than 2000 px."""
    for draft in work.drafts:
        draft.images = sum(b["type"] == "image" for i in draft.items for b in _with_parts(i.block))
    images = sum(draft.images for draft in work.drafts) + (work.before.images if work.before else 0)
    work.crowded = images > wellformed.MANY_IMAGES
    if not work.crowded:
        return
    for draft in work.drafts:
        for item in draft.items:
            item.block = _without_large(work, item)


def breakpoints(work: Work) -> None:
    """At most 4 cache_control, the newest, and none on thinking or inside a result."""
    left = _MAX_BREAKPOINTS
    for draft in reversed(work.drafts):
        for item in reversed(draft.items):
            block = item.block
            parts = block.get("content") if block["type"] == "tool_result" else None
            if isinstance(parts, list) and any("cache_control" in part for part in parts):
                item.block = block = {**block, "content": [_uncached(part) for part in parts]}
            mark = block.get("cache_control")
            if mark is None:
                continue
            if left and block["type"] not in wellformed.SIGNED and mark in _BREAKPOINTS:
                left -= 1
            else:
                work.say("breakpoints", item.record, "a cache_control is left out")
                item.block = _uncached(block)


Pass = Callable[[Work], None]

PASSES: tuple[Pass, ...] = (
    readable,
    encodable,
    other_models,
    known_blocks,
    shapes,
    blank_text,
    one_message_a_turn,
    server_calls,
    one_message_a_turn,
    calls_and_results,
    one_message_a_turn,
    ends,
    many_images,
    breakpoints,
)


# --- what the passes share -----------------------------------------------------------------------------------------


def _is_block(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _is_signed(block: Block) -> bool:
    if block["type"] == "thinking":
        return not wellformed.is_blank(block.get("signature")) and isinstance(block.get("thinking"), str)
    return block["type"] != "redacted_thinking" or not wellformed.is_blank(block.get("data"))


def _with_parts(block: Block) -> list[Block]:
    parts = block.get("content") if block["type"] == "tool_result" else None
    return [block, *parts] if isinstance(parts, list) else [block]


def _without_large(work: Work, item: Item) -> Block:
    def small(block: Block) -> Block:
        longest = wellformed.edge(block)
        if block["type"] != "image" or longest <= wellformed.MANY_EDGE:
            return block
        fault = (
            f"its longer side is {longest:.0f} px, the limit is {wellformed.MANY_EDGE} with over 20 images"
        )
        return wellformed.left_out(
            "image", fault, lambda rule, text: work.say(rule, item.record, text), "many_images"
        )

    parts = item.block.get("content") if item.block["type"] == "tool_result" else None
    if isinstance(parts, list):
        return {**item.block, "content": [small(part) for part in parts]}
    return small(item.block)


def _uncached(block: Block) -> Block:
    return {k: v for k, v in block.items() if k != "cache_control"}
