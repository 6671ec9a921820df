"""Make any history valid for the Messages API, and say what changed.

`RULES` are applied in order; each is a small function over drafts of the messages and tells what it did by its own
name. The outcome depends on the history and the model alone, what is appended behind changes nothing before (but
for images, once there are more than twenty), and linting it again changes nothing.

What is decided here beyond the API's rules:

- Thinking, server tools, citations and block types unknown to this program are kept only in messages of the model
  that is asked (its name, without a date): others cannot read them. Unsigned thinking is never sent.
- A signed block is sent as it came or not at all.
- A history that ends with the assistant goes on with the user's `(continue)`; one that begins with it is led in by
  a text that says so. Whoever writes the log stores `repairs(history)` first, so that the next request extends
  this one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_agent.messages import wellformed
from tui_agent.messages.blocks import Block, Message, text_block, tool_result

MISSING_RESULT = (
    "[no result: the call was interrupted or its result was lost; it may have run in whole or in part]"
)
CONTINUE = "(continue)"
EARLIER = "[what came before is left out]"

_MAX_BREAKPOINTS = 4
_NOT_FROM_ASSISTANT = wellformed.FROM_USER - wellformed.PLAIN


@dataclass(frozen=True, slots=True)
class Change:
    """What a rule did to a record, in words. `record` is empty where the history as a whole is meant."""

    rule: str
    record: str
    text: str


@dataclass(frozen=True, slots=True)
class Linted:
    """A valid history: API messages; for each the records it was made from; for each block its record (or "")."""

    messages: list[dict[str, Any]]
    sources: list[tuple[str, ...]]
    blocks: list[tuple[str, ...]]
    changes: list[Change]


@dataclass(slots=True)
class _Item:
    block: Block
    record: str
    repair: Block | None = None
    """For a block that a rule put in: what to store so that it need not be put in again."""


@dataclass(slots=True)
class _Draft:
    role: str
    items: list[_Item]
    own: bool
    """The model that is asked wrote it."""


@dataclass(slots=True)
class _Work:
    drafts: list[_Draft]
    rule: str = ""
    changes: list[Change] = field(default_factory=list)

    def say(self, record: str, text: str) -> None:
        self.changes.append(Change(self.rule, record, text))


def lint(history: Iterable[Message], *, model: str) -> tuple[list[dict[str, Any]], list[Change]]:
    """The history as API messages that `model` accepts, and what had to change. Never raises, never empty."""
    done = linted(history, model=model)
    return done.messages, done.changes


def linted(history: Iterable[Message], *, model: str) -> Linted:
    """`lint`, with the records that each message and block came from."""
    work = _worked(history, model)
    return Linted(
        [{"role": d.role, "content": [i.block for i in d.items]} for d in work.drafts],
        [tuple(dict.fromkeys(i.record for i in d.items if i.record)) for d in work.drafts],
        [tuple(i.record for i in d.items) for d in work.drafts],
        work.changes,
    )


def repairs(history: Iterable[Message], *, model: str) -> list[Block]:
    """The blocks of the user message that a writer appends before it asks; none if nothing is missing.

    They are results for the calls that are still open, and `(continue)` behind a closing assistant message: what
    `lint` would put at the end. With them stored the next request extends the one that they were first sent in.
    """
    work = _worked(history, model)
    return [item.repair for item in work.drafts[-1].items if item.repair is not None]


def same_model(one: str, other: str) -> bool:
    """True if both names mean one model: with or without a date, `-latest`, a maker's prefix or a cloud's suffix."""
    return bool(one) and _bare(one) == _bare(other)


def _bare(model: str) -> str:
    name = model.lower().rsplit("/", 1)[-1]
    name = re.sub(r"^(?:[a-z]+\.)*anthropic\.", "", name)
    name = re.sub(r"(?:-v\d+(?::\d+)?)$", "", name)
    name = re.sub(r"[-@](?:20\d{6}|latest)$", "", name)
    return re.sub(r"-0$", "", name).replace(".", "-")


def _worked(history: Iterable[Message], model: str) -> _Work:
    work = _Work([])
    for message in history:
        own = message.role == "assistant" and same_model(message.model or "", model)
        work.drafts.append(_Draft(message.role, _items(message), own))
    for rule in RULES:
        work.rule = rule.__name__
        rule(work)
    return work


def _items(message: Message) -> list[_Item]:
    content: object = message.content
    if isinstance(content, str):
        content = [content]
    if not isinstance(content, (list, tuple)):
        content = list(message.content) if isinstance(content, Sequence) else []
    return [_Item(text_block(b) if isinstance(b, str) else b, message.id) for b in content]


# --- the rules, in order -------------------------------------------------------------------------------------------


def readable(work: _Work) -> None:
    """Every message is of the user or the assistant, every block a mapping with a type."""
    drafts = []
    for draft in work.drafts:
        if draft.role in ("user", "assistant"):
            drafts.append(draft)
            _keep(
                work, draft, lambda b: isinstance(b, dict) and isinstance(b.get("type"), str), "is no block"
            )
        else:
            work.say(_record(draft), f"a message of role {draft.role!r:.40} is left out")
    work.drafts = drafts


def encodable(work: _Work) -> None:
    """Every value has a form in JSON and UTF-8. A signed block is not mended: it is left out."""
    for draft in work.drafts:
        items = []
        for item in draft.items:
            block = wellformed.encodable(item.block)
            if block is not item.block:
                signed = item.block["type"] in wellformed.SIGNED
                work.say(
                    item.record, "held what cannot be encoded: " + ("left out" if signed else "replaced")
                )
                if signed:
                    continue
            items.append(_Item(block, item.record))
        draft.items = items


def other_models(work: _Work) -> None:
    """What only the model that wrote it can read is not sent to another; unsigned thinking to none."""
    for draft in work.drafts:
        if draft.role == "assistant":
            if not draft.own:
                _keep(
                    work,
                    draft,
                    lambda b: b["type"] in wellformed.PLAIN or b["type"] in wellformed.FROM_USER,
                    "is left out: another model wrote it",
                )
            _keep(work, draft, _is_signed, "is left out: it carries no signature")


def known_blocks(work: _Work) -> None:
    """Blocks stand in messages of the role that may hold them."""
    for draft in work.drafts:
        if draft.role == "user":
            _keep(
                work,
                draft,
                lambda b: b["type"] in wellformed.FROM_USER,
                "is left out: a user message cannot hold it",
            )
        else:
            _keep(
                work,
                draft,
                lambda b: b["type"] not in _NOT_FROM_ASSISTANT,
                "is left out: an assistant message cannot hold it",
            )


def shapes(work: _Work) -> None:
    """Every block has the fields that its type needs, and no field that the API refuses."""
    for draft in work.drafts:
        for item in draft.items:

            def say(text: str, record: str = item.record) -> None:
                work.say(record, text)

            block = item.block
            if block["type"] not in wellformed.SIGNED:
                block = wellformed.fields(block, verbatim=draft.own)
            match block["type"]:
                case "tool_use":
                    block = wellformed.call(block, say)
                case "tool_result":
                    block = wellformed.result(block, say)
                case "image" | "document":
                    block = wellformed.media(block, say)
            item.block = block


def blank_text(work: _Work) -> None:
    """A text is more than white space."""
    for draft in work.drafts:
        _keep(
            work,
            draft,
            lambda b: b["type"] != "text" or not wellformed.is_blank(b.get("text")),
            "is left out: blank",
        )


def one_message_a_turn(work: _Work) -> None:
    """Roles alternate: empty messages go, neighbours of one role are merged."""
    merged: list[_Draft] = []
    for draft in work.drafts:
        if not draft.items:
            continue
        if merged and merged[-1].role == draft.role:
            merged[-1] = _Draft(draft.role, merged[-1].items + draft.items, merged[-1].own and draft.own)
        else:
            merged.append(draft)
    work.drafts = merged


def calls_and_results(work: _Work) -> None:
    """Every call has an id of its own and one result, first in the next message, in the order of the calls."""
    used: set[str] = set()
    drafts: list[_Draft] = []
    calls: list[tuple[_Item, object]] = []
    for draft in work.drafts:
        if draft.role == "assistant":
            calls = _number(work, draft, used)
            drafts.append(draft)
        else:
            drafts.append(_answered(work, draft, calls))
            calls = []
    if calls:
        drafts.append(_answered(work, _Draft("user", [], own=False), calls))
    work.drafts = drafts


def server_calls(work: _Work) -> None:
    """A call that the endpoint ran itself has its one result behind it in the same message."""
    for draft in work.drafts:
        waiting: dict[object, int] = {}
        paired: set[int] = set()
        for index, item in enumerate(draft.items):
            block = item.block
            if block["type"] in wellformed.SERVER_CALLS:
                waiting.setdefault(block.get("id"), index)
            elif _is_server_result(block) and block.get("tool_use_id") in waiting:
                paired |= {index, waiting.pop(block["tool_use_id"])}
        kept = []
        for index, item in enumerate(draft.items):
            if index in paired or not (
                item.block["type"] in wellformed.SERVER_CALLS or _is_server_result(item.block)
            ):
                kept.append(item)
            else:
                work.say(item.record, f"{item.block['type']} is left out: its other half is missing")
        draft.items = kept


def ends(work: _Work) -> None:
    """The first and the last message are the user's."""
    if not work.drafts:
        work.say("", "there was nothing to send")
        work.drafts = [_synthetic(CONTINUE, None)]
    if work.drafts[0].role == "assistant":
        work.say(_record(work.drafts[0]), "a text was put before the assistant's first message")
        work.drafts.insert(0, _synthetic(EARLIER, None))
    if work.drafts[-1].role == "assistant":
        work.say(_record(work.drafts[-1]), f"{CONTINUE!r} was put behind the assistant's last message")
        work.drafts.append(_synthetic(CONTINUE, text_block(CONTINUE)))


def many_images(work: _Work) -> None:
    """With more than 20 images in a request, none is longer than 2000 px."""
    images = sum(
        1 for d in work.drafts for i in d.items for b in _with_parts(i.block) if b["type"] == "image"
    )
    if images <= wellformed.MANY_IMAGES:
        return
    for draft in work.drafts:
        for item in draft.items:
            item.block = _without_large(work, item)


def breakpoints(work: _Work) -> None:
    """At most 4 cache_control, the newest, and none on thinking."""
    left = _MAX_BREAKPOINTS
    for draft in reversed(work.drafts):
        for item in reversed(draft.items):
            parts = item.block.get("content") if item.block["type"] == "tool_result" else None
            if isinstance(parts, list) and any("cache_control" in part for part in parts):
                item.block = {**item.block, "content": [_uncached(part) for part in parts]}
            if "cache_control" not in item.block:
                continue
            if item.block["type"] in wellformed.SIGNED or not left:
                work.say(item.record, "a cache_control is left out")
                item.block = _uncached(item.block)
            else:
                left -= 1


Rule = Callable[[_Work], None]

RULES: tuple[Rule, ...] = (
    readable,
    encodable,
    other_models,
    known_blocks,
    shapes,
    blank_text,
    one_message_a_turn,
    calls_and_results,
    one_message_a_turn,
    server_calls,
    one_message_a_turn,
    ends,
    many_images,
    breakpoints,
)


# --- what the rules share ------------------------------------------------------------------------------------------


def _keep(work: _Work, draft: _Draft, good: Callable[[Any], bool], words: str) -> None:
    """Leave out the blocks that are not `good`, and say so."""
    kept = []
    for item in draft.items:
        if good(item.block):
            kept.append(item)
        else:
            kind = item.block.get("type") if isinstance(item.block, dict) else type(item.block).__name__
            work.say(item.record, f"{kind!s:.40} {words}")
    draft.items = kept


def _record(draft: _Draft) -> str:
    return next((item.record for item in draft.items if item.record), "")


def _synthetic(text: str, repair: Block | None) -> _Draft:
    return _Draft("user", [_Item(text_block(text), "", repair)], own=False)


def _is_signed(block: Block) -> bool:
    if block["type"] == "thinking":
        return not wellformed.is_blank(block.get("signature")) and isinstance(block.get("thinking"), str)
    return block["type"] != "redacted_thinking" or not wellformed.is_blank(block.get("data"))


def _is_server_result(block: Block) -> bool:
    kind: str = block["type"]
    return kind.endswith("_tool_result")


def _number(work: _Work, draft: _Draft, used: set[str]) -> list[tuple[_Item, object]]:
    """Give every call of the message an id of its own; the calls, each with the id that it had."""
    calls: list[tuple[_Item, object]] = []
    for item in draft.items:
        if item.block["type"] != "tool_use":
            continue
        had = item.block.get("id")
        base = wellformed.sanitised(had if isinstance(had, str) else "", "call")
        name, n = base, 2
        while name in used:
            name, n = f"{base}-{n}", n + 1
        if name != had:
            work.say(item.record, f"the call's id {had!r:.60} is sent as {name}")
            item.block = {**item.block, "id": name}
        used.add(name)
        calls.append((item, had))
    return calls


def _answered(work: _Work, draft: _Draft, calls: list[tuple[_Item, object]]) -> _Draft:
    """The user message behind these calls: their results first and in order, then the rest."""
    waiting: dict[object, deque[_Item]] = {}
    rest: list[_Item] = []
    for item in draft.items:
        if item.block["type"] == "tool_result":
            waiting.setdefault(_answers(item.block), deque()).append(item)
        else:
            rest.append(item)
    results: list[_Item] = []
    for call, had in calls:
        queue = waiting.get(had) if isinstance(had, str) else None
        if not queue:
            work.say(call.record, f"the call {call.block['id']} had no result: one that says so was put in")
            results.append(_missing(call.block["id"], had))
            continue
        item = queue.popleft()
        if item.block.get("tool_use_id") != call.block["id"]:
            item.block = {**item.block, "tool_use_id": call.block["id"]}
        results.append(item)
    known = [had for _, had in calls]
    for call_id, queue in waiting.items():
        for item in queue:
            why = "the call had a result already" if call_id in known else "there is no call that it answers"
            work.say(item.record, f"a tool result is left out: {why}")
    return _Draft("user", results + rest, own=False)


def _answers(block: Block) -> str | None:
    call = block.get("tool_use_id")
    return call if isinstance(call, str) else None


def _missing(call: str, had: object) -> _Item:
    repair = tool_result(had, MISSING_RESULT, error=True) if isinstance(had, str) else None
    return _Item(tool_result(call, MISSING_RESULT, error=True), "", repair)


def _with_parts(block: Block) -> list[Block]:
    parts = block.get("content") if block["type"] == "tool_result" else None
    return [block, *parts] if isinstance(parts, list) else [block]


def _without_large(work: _Work, item: _Item) -> Block:
    def small(block: Block) -> Block:
        longest = wellformed.edge(block)
        if block["type"] != "image" or longest <= wellformed.MANY_EDGE:
            return block
        fault = (
            f"its longer side is {longest:.0f} px, the limit is {wellformed.MANY_EDGE} with over 20 images"
        )
        return wellformed.left_out("image", fault, lambda text: work.say(item.record, text))

    parts = item.block.get("content") if item.block["type"] == "tool_result" else None
    if isinstance(parts, list):
        return {**item.block, "content": [small(part) for part in parts]}
    return small(item.block)


def _uncached(block: Block) -> Block:
    return {k: v for k, v in block.items() if k != "cache_control"}
