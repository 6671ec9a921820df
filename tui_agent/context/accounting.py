"""What the context weighs, in tokens: exact figures, what is pending since, and each record's share.

Exact figures are those of `_usage` records. A record has a *reconciled* figure when it was among what was added
between two usages of requests that are otherwise the same (model, thinking, prompt, tools, elisions): the exact
difference is shared out in proportion to the estimates. A difference that is not positive, or not within half and
double of the estimates, is shared out to nobody. The correction of the estimator is learned from the newest pairs of
usages; a usage that a compaction estimated carries on what was learned before it. All of it is a function of the log
alone, so a fresh process finds the same figures.
"""

from __future__ import annotations

import math
import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.context.pairs import Pairs
from tui_agent.messages.tokens import Estimator, Mark, Tokens

if TYPE_CHECKING:
    from tui_agent.context.elisions import Elision
    from tui_agent.context.projection import Projection
    from tui_agent.context.usages import Usage

_LEARNED_FROM = 8
"""So many of the newest pairs of usages correct the estimator."""
_LOOKED_AT = 32
_KEPT_SHARES = 2048
"""Pairs of usages whose shares are kept at hand; who looks at all records goes from one pair to the next."""

_UNKNOWN: dict[int, int] = {}
_LEAST, _MOST = 0.5, 2.0
"""A difference is shared out if it is between these multiples of the estimates."""


class Weight(Struct, frozen=True):
    """What the next request weighs, in tokens: `total` = `exact` + `pending`.

    `exact` is the last exact figure, 0 if there is none since a compaction; `pending` the estimate of all that changed
    since, which may be negative. `mark` is that of `total`: exact only if nothing changed since an exact figure.
    `reduced` says that something was taken out of what `exact` counts.
    """

    total: int
    exact: int
    pending: int
    mark: Mark
    reduced: bool = False


class Accounting:
    """The figures of one projection. `model` names the weights of the estimate; "" takes the last request's.

    `factor` is the correction of the estimates as long as the log teaches no other.
    """

    def __init__(self, projection: Projection, model: str = "", *, factor: float = 1.0) -> None:
        self._log = projection
        self._pairs = Pairs(projection)
        self._given = model
        self._first_factor = factor
        self._estimator = Estimator(model)
        self._plain = array("d")
        self._shares: dict[int, dict[int, int] | None] = {}
        self._counted = -1
        self._factor = 1.0
        self._summed: tuple[int, int] = (-1, 0)
        self._weighed: tuple[int, Weight] | None = None
        self._running: tuple[tuple[object, ...], int, int, int] = ((), 0, 0, 0)
        self._lock = threading.Lock()

    # --- what is asked -------------------------------------------------------------------------------------------

    @property
    def token_count(self) -> int:
        usages = self._log.usages
        return usages[-1].count if usages else 0

    @property
    def factor(self) -> float:
        """What estimates are multiplied by: exact over estimated, as learned from the newest usages."""
        self._follow()
        return self._factor

    def weigh(self) -> Weight:
        """What the next request weighs."""
        if self._weighed is not None and self._weighed[0] == self._log.version:
            return self._weighed[1]
        self._follow()
        log = self._log
        usage = log.usages[-1] if log.usages else None
        parts = list(self._parts(usage))
        counted, pending = (usage.count if usage else 0), sum(parts)
        exact = counted if usage is not None and usage.exact else 0
        mark: Mark = "exact" if exact and not parts else "estimated"
        total = counted + pending
        weight = Weight(total, exact, total - exact, mark, any(part < 0 for part in parts))
        self._weighed = (log.version, weight)
        return weight

    def tokens(self, index: int) -> Tokens:
        """What one record weighs as it is sent now; 0 and exact for a record that is not sent."""
        self._follow()
        log = self._log
        if log.prompts and log.prompts[-1] == index:
            return self.system
        if log.tools and log.tools[-1] == index:
            return self.tools
        if not log.blocks[index]:
            return Tokens(0, "exact")
        return self._tokens(index, log.elisions.on(index))

    def _tokens(self, index: int, elisions: tuple[Elision, ...]) -> Tokens:
        """What a message weighs with these elisions: what the endpoint counted of it like that, else the estimate."""
        pair = self._pairs.first_with(index)
        if pair is not None and elisions == self._log.elisions.at(self._log.usages.boundary[pair], index):
            share = self._shares_of(pair)
            produced = self._pairs.output(pair, index)
            if produced is not None:
                return Tokens(produced, "exact")
            if share is not None and index in share:
                return Tokens(share[index], "reconciled")
        return Tokens(self._estimate(index, elisions), "estimated")

    def estimate(self, index: int, elisions: tuple[Elision, ...]) -> int:
        """What a message weighs with these elisions, as near as it is known; 0 for a line that is none."""
        self._follow()
        return self._tokens(index, elisions).count if self._log.blocks[index] else 0

    @property
    def system(self) -> Tokens:
        """What the system prompt in force weighs."""
        self._follow()
        prompts = self._log.prompts
        return Tokens(self._text(prompts[-1] if prompts else None, "content"), "estimated")

    @property
    def tools(self) -> Tokens:
        """What the tool definitions in force weigh."""
        self._follow()
        tools = self._log.tools
        return Tokens(self._text(tools[-1] if tools else None, "tools"), "estimated")

    @property
    def unattributed(self) -> int:
        """The total without what the records, the prompt and the tools account for; may be negative.

        Looks at every record the first time: up to a second for 100 000 messages.
        """
        if self._summed[0] != self._log.version:
            total = self.weigh().total
            items = sum(self.tokens(index).count for index in self._log.visible)
            self._summed = (self._log.version, total - items - self.system.count - self.tools.count)
        return self._summed[1]

    @property
    def log(self) -> Projection:
        """What it is the figures of."""
        return self._log

    def is_pending(self, index: int) -> bool:
        """True for a message that the last usage does not cover."""
        bound = self._log.usages.boundary[-1] if self._log.usages else -1
        return index > bound and index not in self._pairs.answers()

    def counted(self, since: int) -> Tokens | None:
        """What the log weighed at the line `since`, by the next request that an endpoint counted.

        Exact if that request was of the log as it was then; reconciled if messages came in between, whose estimates
        are taken off. None until there is such a request, and where more than messages came in between.
        """
        self._follow()
        log, usages = self._log, self._log.usages
        pair = next((at for at in range(usages.before(since), len(usages)) if usages[at].exact), None)
        if pair is None or (high := usages[pair].boundary) < since or self._pairs.is_reshaped(since, high):
            return None
        if any(since < head.index <= high for head in log.heads):
            return None
        produced = usages[pair].produced
        answer = self._pairs.output(pair, produced) if produced > high else 0
        messages = log.messages[bisect_right(log.messages, since) : bisect_right(log.messages, high)]
        added = [self._estimate(index, log.elisions.at(high, index)) for index in messages]
        if answer is None:
            added.append(self._estimate(produced, ()))
        count = usages[pair].count - sum(added) - (answer or 0)
        return Tokens(count, "reconciled" if added else "exact") if count > 0 else None

    # --- pending ---------------------------------------------------------------------------------------------------

    def _parts(self, usage: Usage | None) -> Iterator[int]:
        """What changed since the request of a usage, in tokens each; without one, all there is."""
        log = self._log
        bound = -1 if usage is None else self._log.usages.boundary[-1]
        produced = self._pairs.answers()
        yield from self._uncovered(bound, produced)
        touched = {
            target
            for event, name, targets in log.elisions.after(bound)
            for target, _ in (targets or log.elisions.targets(name))
        }
        for index in sorted(touched):
            if index <= bound or index in produced:
                now, then = log.elisions.on(index), log.elisions.at(bound, index)
                if now != then:
                    yield self._tokens(index, now).count - self._tokens(index, then).count
        put_in_front = any(head.op == "prompt" and head.index > bound for head in log.heads)
        yield from self._changed(log.prompts, "content", bound, fresh=put_in_front)
        yield from self._changed(log.tools, "tools", bound)

    def _uncovered(self, bound: int, produced: set[int]) -> Iterator[int]:
        """The sum of the messages behind the boundary, if there are any; only new ones are looked at."""
        log = self._log
        key = (bound, len(log.elisions.events), self._factor, self._estimator.model)
        known, at, total, count = self._running
        if known != key:
            at, total, count = bisect_right(log.visible, bound), 0, 0
        for place in range(at, len(log.visible)):
            index = log.visible[place]
            if index not in produced:
                total += self._estimate(index, log.elisions.on(index))
                count += 1
        self._running = (key, len(log.visible), total, count)
        if count:
            yield total

    def _changed(self, indices: list[int], key: str, bound: int, *, fresh: bool = False) -> Iterator[int]:
        now = indices[-1] if indices else None
        covered = bisect_right(indices, bound)
        then = indices[covered - 1] if covered and not fresh else None
        if now != then:
            yield self._text(now, key) - self._text(then, key)

    # --- estimates -------------------------------------------------------------------------------------------------

    def _estimate(self, index: int, elisions: tuple[Elision, ...]) -> int:
        return math.ceil(self._weight(index, elisions) * self._factor)

    def _weight(self, index: int, elisions: tuple[Elision, ...] = ()) -> float:
        """The uncorrected weight of a message with these elisions; nothing if they leave nothing of it."""
        if elisions:
            content = self._log.content(index, elisions)
            return self._estimator.weigh({"role": "", "content": content}) if content else 0.0
        plain = self._plain
        if len(plain) <= index:
            plain.extend(array("d", [math.nan]) * (len(self._log) - len(plain)))
        weight = plain[index]
        if weight != weight:
            content = self._log.content(index)
            weight = plain[index] = (
                self._estimator.weigh({"role": "", "content": content}) if content else 0.0
            )
        return weight

    def _text(self, index: int | None, key: str) -> int:
        if index is None:
            return 0
        return math.ceil(self._estimator.weigh(self._log.body(index).get(key)) * self._factor)

    # --- what usages teach -------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Take note of new usages: which records they cover, and what they teach the estimator."""
        if self._counted != len(self._log.usages):
            with self._lock:
                self._take_note()

    def _take_note(self) -> None:
        usages = self._log.usages
        model = self._given or (str(self._pairs.parameters(usages[-1])[0] or "") if usages else "")
        if model != self._estimator.model:
            self._estimator = Estimator(model)
            self._plain = array("d")
        self._shares.clear()
        self._summed = (-1, 0)
        self._factor = self._learn(model)
        self._counted = len(usages)

    def _learn(self, model: str) -> float:
        usages, pairs = self._log.usages, self._pairs
        found: list[tuple[float, int]] = []
        factor = self._first_factor
        for pair in range(len(usages) - 1, max(-1, len(usages) - 1 - _LOOKED_AT), -1):
            if (carried := self._carried(usages[pair], model)) is not None:
                factor = carried
                break
            if not pairs.is_extension(pair) or pairs.parameters(usages[pair])[0] not in (None, model):
                continue
            difference = usages[pair].count - usages[pair - 1].count
            weight = sum(map(self._weight, pairs.added(pair)))
            if difference > 0 and weight > 0:
                found.append((weight, difference))
            if len(found) == _LEARNED_FROM:
                break
        teacher = Estimator(model, factor=factor)
        for weight, exact in reversed(found):
            teacher.calibrate(estimated=math.ceil(weight * teacher.factor), exact=exact)
        return teacher.factor

    def _carried(self, usage: Usage, model: str) -> float | None:
        """The correction that a usage carries on from before a rewrite, if it does and is of that model."""
        if usage.exact or self._pairs.parameters(usage)[0] not in (None, model):
            return None
        factor = self._log.body(usage.index).get("factor")
        return factor if type(factor) is float and factor > 0 else None

    def _shares_of(self, pair: int) -> dict[int, int] | None:
        """The exact difference between two usages, shared out; None if it cannot be."""
        shares = self._shares.get(pair, _UNKNOWN)
        if shares is _UNKNOWN:
            if len(self._shares) >= _KEPT_SHARES:
                self._shares.clear()
            shares = self._shares[pair] = self._share_out(pair)
        return shares

    def _share_out(self, pair: int) -> dict[int, int] | None:
        if not self._pairs.is_extension(pair):
            return None
        usages = self._log.usages
        rest = usages[pair].count - usages[pair - 1].count
        weights: list[tuple[int, float]] = []
        for index in self._pairs.added(pair):
            output = self._pairs.output(pair, index)
            if output is None:
                weights.append((index, self._weight(index)))
            else:
                rest -= output
        total = sum(weight for _, weight in weights)
        estimate = total * self._factor
        if rest <= 0 or not _LEAST * estimate <= rest <= _MOST * estimate:
            return None
        shares: dict[int, int] = {}
        running, given = 0.0, 0
        for index, weight in weights:
            running += weight
            upto = round(rest * running / total)
            shares[index], given = upto - given, upto
        return shares
