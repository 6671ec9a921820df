"""What a request must be for the API to take it: every rule with its name, what it demands and how lint mends it.

Names are what a `Change` carries, what `doctor` lists and what is counted when a log of another program is taken in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.messages.drafts import Change


class Rule(Struct, frozen=True):
    """A rule: its name, what has to be true, and what is done where it is not; both in words for a person."""

    name: str
    demands: str
    mended: str


class Broken(Struct, frozen=True):
    """A rule that does not hold by itself, and every change that it took."""

    rule: Rule
    changes: Sequence[Change]

    @property
    def records(self) -> list[str]:
        """The ids of the records that are meant, each once."""
        return list(dict.fromkeys(change.record for change in self.changes if change.record))

    @property
    def words(self) -> str:
        """How often, what is demanded, and what is done about it."""
        return f"{len(self.changes):,} x {self.rule.name}: {self.rule.demands}; {self.rule.mended}"


RULES = (
    Rule("roles", "a message is the user's or the assistant's", "another one is left out"),
    Rule("blocks", "a block is an object with a type", "what is none is left out"),
    Rule("empty", "a message holds something", "an empty one is left out"),
    Rule(
        "encoding", "every value can be written as JSON in UTF-8", "it is replaced, a signed block left out"
    ),
    Rule("other_model", "what only its model can read goes to no other", "it is left out"),
    Rule("unsigned", "thinking carries the signature of its model", "it is left out"),
    Rule("places", "a block stands in a message of the role that may hold it", "it is left out"),
    Rule("names", "the name of a tool is letters, digits, _ and -, at most 128", "others become _"),
    Rule("arguments", "the arguments of a call are an object", "they are put into one"),
    Rule(
        "results",
        "a result is text, or texts, images and documents; a failed one is text",
        "the rest is left out",
    ),
    Rule(
        "media",
        "images and documents are of a kind and a size that can be sent",
        "a text says why one is not",
    ),
    Rule("blank_text", "a text is more than white space", "it is left out"),
    Rule("server_calls", "a call that the endpoint ran has its result behind it", "the half is left out"),
    Rule("call_ids", "a call has an id of its own, of letters, digits, _ and -", "it is given one"),
    Rule(
        "results_first", "results stand first in their message", "what stood before them is put behind them"
    ),
    Rule(
        "missing_result", "a call has a result in the next message", "one that says it is missing is put in"
    ),
    Rule("orphan_result", "a result answers a call of the message before", "it is left out"),
    Rule("second_result", "a call has one result", "the first counts, the others are left out"),
    Rule("nothing", "a request holds a message", "the model is asked to continue"),
    Rule("begins", "the first message is the user's", "a text is put before it"),
    Rule("ends", "the last message is the user's", "a text is put behind it"),
    Rule(
        "many_images",
        "with more than 20 images none is longer than 2000 px",
        "a text says why one is not sent",
    ),
    Rule(
        "breakpoints",
        "at most 4 blocks carry a cache_control, none of them thinking",
        "the older ones lose it",
    ),
    Rule("system", "the system prompt is text that is not blank", "the rest of it is left out"),
    Rule(
        "tools", "a tool has a name of its own and a schema of an object", "it is given one, or not offered"
    ),
)
"""Every rule, in the order in which they are looked at."""

ORDER = {rule.name: place for place, rule in enumerate(RULES)}


def broken(changes: Iterable[Change]) -> list[Broken]:
    """The rules that took changes, in the order of the table."""
    by_rule: dict[str, list[Change]] = {}
    for change in changes:
        by_rule.setdefault(change.rule, []).append(change)
    return [Broken(rule, by_rule[rule.name]) for rule in RULES if rule.name in by_rule]
