"""What a compaction keeps word for word, and the proof that it did.

`retain` chooses; it changes nothing. `Contract` is what the choice promises: it looks at the log as it would be and
names what is not there. A compaction whose contract misses anything is not carried out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tui_agent.compaction.fitting import cut_words, fitted
from tui_agent.compaction.handover import summary_of
from tui_agent.compaction.priority import GUIDING, renewed_by, sources_of
from tui_agent.context.encoding import encode
from tui_agent.literal import one_line
from tui_agent.messages.exchange import exchanges, safe_cuts
from tui_agent.messages.tokens import Estimator, Tokens

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.messages.blocks import Message

NEWEST = 2
"""So many of the newest messages of a person and the model stay, with what follows them."""
BUDGET = 20_000
"""Tokens that a person's last requests may have together; the newest request stays in any case."""

Reason = Literal["newest", "request", "pinned", "fixed", "guide", "exchange", "before"]
"""Why a message stays. `fixed`: marked as not compressible; `guide`: it tells of the goal or the plan in force;
`exchange`: it belongs to a call or result that stays; `before`: it was kept when the work began."""

_NO_SUBSTANCE = frozenset({"summary", "injection", "checkpoint", "repair"})
"""Origins of messages that alone are not worth a summary: they are summed up already, or told again."""
_PAIRED = ("tool_use", "tool_result")
_SHOWN_CHARACTERS = 60


class Retained(Struct, frozen=True):
    """What goes and what stays of a history, each in order. Without `replaced` there is nothing to compact.

    `reasons` says why each message of `kept` stays, by id. `tokens` is the weight of what is replaced, `stays` that of
    what stays, as it will be. `cut` are items of an elision that shorten what is too large to stay whole.
    `upto` is how many bytes of the log were looked at; None: all.
    """

    replaced: tuple[Message, ...]
    kept: tuple[Message, ...]
    reasons: Mapping[str, Reason]
    tokens: Tokens
    cut: tuple[Mapping[str, Any], ...] = ()
    upto: int | None = None
    stays: int = 0

    @property
    def preserved(self) -> tuple[str, ...]:
        """The ids of the messages that stay."""
        return tuple(message.id for message in self.kept)

    def words(self) -> tuple[str, ...]:
        """What stays, for a person to read."""
        count = list(self.reasons.values()).count
        requests = sum(message.is_words for message in self.kept)
        found = [
            _several(requests, "request of yours", "requests of yours"),
            _several(count("newest"), "newest message", "newest messages"),
            _several(count("pinned"), "pinned", "pinned"),
            _several(count("fixed"), "marked to stay", "marked to stay"),
            _several(count("guide"), "reminder of goal or plan", "reminders of goal and plan"),
            *cut_words(self.cut),
        ]
        return tuple(filter(None, found))


def retain(
    context: Context,
    *,
    newest: int = NEWEST,
    budget: int = BUDGET,
    room: int | None = None,
    utmost: int | None = None,
    heavy: int | None = None,
    upto: int | None = None,
    also: Collection[str] = (),
    again: bool = False,
) -> Retained:
    """Choose what stays of a context's history. Reads and weighs much of it: call it in a thread.

    The newest messages of a person and the model with what follows them, the last requests, what is pinned or marked
    as not compressible, what was told last of the goal and the plan in force, the open exchange; and with a call or a
    result the whole of its exchange. With `newest` of
    0 or less, or where no more than that is there, or nothing of substance would go, all of it stays.

    Args:
        newest: how many messages of a person and the model stay at the end (results and reminders do not count).
        budget: tokens that a person's requests may have together.
        room: tokens that what stays may have together; beyond that, results are cut, the largest first.
        utmost: tokens beyond which nothing could be sent any more: then results are cut to next to nothing.
        heavy: tokens of a summary from which on it goes although nothing else would: it is summarised again.
        upto: bytes of the log to look at; by default all.
        also: ids of messages that stay in any case.
        again: results that a person brought back may be cut again.
    """
    messages = list(_before(context, upto))
    burdens = _heavy(context, messages, heavy)
    chosen = _choose(context, messages, newest, budget, also, burdens)
    replaced = tuple(message for at, message in enumerate(messages) if at not in chosen)
    if all(message.origin in _NO_SUBSTANCE for message in replaced) and burdens <= chosen.keys():
        chosen, replaced = {at: chosen.get(at, "newest") for at in range(len(messages))}, ()
    kept = tuple(messages[at] for at in sorted(chosen))
    reasons = {messages[at].id: chosen[at] for at in sorted(chosen)}
    cut, stays = fitted(context, kept, reasons, room, utmost, again=again)
    return Retained(
        replaced=replaced,
        kept=kept,
        reasons=reasons,
        tokens=sum((context.tokens(message.id) for message in replaced), Tokens(0, "exact")),
        cut=cut,
        upto=upto,
        stays=stays,
    )


# --- choosing --------------------------------------------------------------------------------------------------------


def _before(context: Context, upto: int | None) -> Iterator[Message]:
    for message in context.history:
        if upto is not None and context.record(message.id).offset >= upto:
            return
        yield message


def _choose(
    context: Context,
    messages: Sequence[Message],
    newest: int,
    budget: int,
    also: Collection[str],
    burdens: set[int],
) -> dict[int, Reason]:
    """Why each message that stays does, by its place; `burdens` are those of summaries that are too heavy."""
    start = _tail(messages, newest)
    reasons: dict[int, Reason] = {at: "newest" for at in range(start, len(messages)) if at not in burdens}
    for at in _requests(context, messages, budget):
        reasons.setdefault(at, "request")
    for at, message in enumerate(messages):
        marks = context.marks(message.id)
        if marks.get("pinned") is True:
            reasons[at] = "pinned"
        elif marks.get("compressible") is False:
            reasons[at] = "fixed"
        elif message.id in also:
            reasons.setdefault(at, "before")
    for at in _guides(context, messages):
        reasons.setdefault(at, "guide")
    _complete(messages, reasons)
    return reasons


def _guides(context: Context, messages: Sequence[Message]) -> Iterator[int]:
    """The places of what was told last of the goal, the plan and the mode, where there is one."""
    state = context.state
    wanted = {source for source, key in GUIDING.items() if _is_in_force(state.get(key))}
    for at in range(len(messages) - 1, -1, -1):
        if not wanted:
            return
        if messages[at].origin != "injection":
            continue
        body = context.record(messages[at].id).body
        if wanted & sources_of(body):
            wanted -= renewed_by(body)
            yield at


def _is_in_force(value: Any) -> bool:
    """True for the state of a goal or a plan that is there and not reached."""
    return bool(value) and not (isinstance(value, Mapping) and value.get("status") == "complete")


def _heavy(context: Context, messages: Sequence[Message], heavy: int | None) -> set[int]:
    """The places of summaries so heavy that they are worth another one."""
    if heavy is None:
        return set()
    count = Estimator(context.model, factor=context.factor).count
    summaries = ((at, summary_of(m.text)) for at, m in enumerate(messages) if m.origin == "summary")
    return {at for at, text in summaries if count(text) > heavy}


def _tail(messages: Sequence[Message], newest: int) -> int:
    """Where the newest messages begin, parting no exchange; 0 if nothing stands before them."""
    if newest <= 0:
        return 0
    said = [at for at, message in enumerate(messages) if message.origin is None]
    if len(said) <= newest:
        return 0
    return max(cut for cut in safe_cuts(messages) if cut <= said[-newest])


def _requests(context: Context, messages: Sequence[Message], budget: int) -> Iterator[int]:
    """The last requests that fit the budget, one that is too long passed over; the newest always.

    The newest takes at most half of the budget, so that no long one costs all the others.
    """
    words = [at for at in range(len(messages) - 1, -1, -1) if messages[at].is_words]
    left = max(0, budget)
    for at in words:
        weight = context.tokens(messages[at].id).count
        if at == words[0]:
            weight = min(weight, left // 2)
        if weight <= left:
            left -= weight
            yield at


def _complete(messages: Sequence[Message], reasons: dict[int, Reason]) -> None:
    """With a call or a result goes the whole of its exchange."""
    for exchange in exchanges(messages):
        members = [at for at in range(exchange.start, exchange.stop) if _is_paired(messages[at])]
        if any(at in reasons for at in members):
            for at in members:
                reasons.setdefault(at, "exchange")


def _is_paired(message: Message) -> bool:
    return any(block.get("type") in _PAIRED for block in message.content)


# --- the contract ----------------------------------------------------------------------------------------------------


class Contract:
    """What must stand in the log after a compaction: what `retain` kept, what came since, and the state.

    `state` holds values that the compaction itself writes (the ledger); every other state must be that of the log.
    `summary` is the id of the summary's record, which must come first.
    """

    def __init__(
        self, retained: Retained, *, state: Mapping[str, Any] | None = None, summary: str | None = None
    ) -> None:
        self._retained = retained
        self._state = dict(state or {})
        self._summary = summary
        self._cut = {item["record"] for item in retained.cut}

    def missing(self, after: Shown, now: Context) -> list[str]:
        """What `after`, the log as it would be, lacks of `now`, in words; [] if nothing.

        What a person elided or dropped in `now` since the choice was made is not asked for.
        """
        wanted: list[tuple[Message, str]] = []
        for name, reason in self._retained.reasons.items():
            if (message := now.message(name)) is not None:
                wanted.append((message, reason))
        wanted.extend((message, "since") for message in self._since(now))
        lacking = [
            _name(message, reason)
            for message, reason in wanted
            if not self._is_there(message, after.message(message.id))
        ]
        if not lacking and not self._is_in_order([message.id for message, _ in wanted], after):
            lacking.append("the order of what stays")
        return [*lacking, *self._states(after, now), *self._frame(after, now)]

    def _since(self, now: Context) -> list[Message]:
        """What was appended after the choice was made."""
        upto = self._retained.upto
        found: list[Message] = []
        if upto is None:
            return found
        for message in reversed(now.history):
            if now.record(message.id).offset < upto:
                break
            found.append(message)
        return found[::-1]

    def _is_there(self, message: Message, found: Message | None) -> bool:
        if found is None or (found.role, found.origin) != (message.role, message.origin):
            return False
        if message.id in self._cut:
            return _calls(found) == _calls(message)
        return list(found.content) == list(message.content)

    def _is_in_order(self, ids: Sequence[str], after: Shown) -> bool:
        wanted = set(ids)
        return [message.id for message in after.history if message.id in wanted] == list(ids)

    def _states(self, after: Shown, now: Context) -> Iterator[str]:
        there = after.state
        for key, value in {**now.state, **self._state}.items():
            if key not in there or encode({"": there[key]}) != encode({"": value}):
                yield f"the {key}"

    def _frame(self, after: Shown, now: Context) -> Iterator[str]:
        if now.system_prompt is not None and after.system_prompt is None:
            yield "the system prompt"
        if now.tools is not None and after.tools is None:
            yield "the tools"
        if self._summary is not None:
            first = next(iter(after.history), None)
            if first is None or first.id != self._summary or not first.text.strip():
                yield "the summary"


def _calls(message: Message) -> list[tuple[Any, Any]]:
    return [(block.get("type"), block.get("id") or block.get("tool_use_id")) for block in message.content]


def _name(message: Message, reason: str) -> str:
    if message.is_words:
        return f"your words {one_line(message.text, _SHOWN_CHARACTERS)!r}"
    what = "an answer of the model"
    if message.role == "user":
        what = (
            f"a {message.meta.get('tool', 'tool')} result"
            if message.origin == "tool"
            else f"a {message.origin}"
        )
    about = {"pinned": " that is pinned", "fixed": " that is marked to stay", "since": " that came meanwhile"}
    return one_line(f"{what}{about.get(reason, '')} ({message.id})")


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}" if count else ""
