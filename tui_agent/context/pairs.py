"""Usages two by two: what was added between two requests, and whether anything else was.

A usage tells what a request weighed as the endpoint counted it. Between one that only extends the one before and that
one lies the exact weight of what was added. Nothing is weighed here; `accounting` does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_agent.context.projection import Projection
    from tui_agent.context.usages import Usage


class Pairs:
    """The usages of one projection. A pair is named by the place of its second one."""

    def __init__(self, projection: Projection) -> None:
        self._log = projection
        self._params: dict[int, tuple[object, object]] = {}

    def parameters(self, usage: Usage) -> tuple[object, object]:
        """Model and thinking of a request, where the usage names them."""
        known = self._params.get(usage.index)
        if known is None:
            params = self._log.body(usage.index).get("params")
            params = params if isinstance(params, dict) else {}
            known = self._params[usage.index] = (params.get("model"), params.get("thinking"))
        return known

    def is_extension(self, pair: int) -> bool:
        """True if the request of usage `pair` was that of the one before, with messages added behind."""
        if pair < 1:
            return False
        log = self._log
        first, second = log.usages[pair - 1], log.usages[pair]
        if not (first.exact and second.exact) or self.parameters(first) != self.parameters(second):
            return False
        return not self.is_reshaped(log.usages.boundary[pair - 1], log.usages.boundary[pair])

    def is_reshaped(self, low: int, high: int) -> bool:
        """True if more than messages came between two lines: a prompt, tools, something left out or brought back."""
        log = self._log

        def between(indices: list[int]) -> bool:
            return bisect_right(indices, low) < bisect_right(indices, high)

        return (
            between(log.prompts)
            or between(log.tools)
            or any(event[0] <= high for event in log.elisions.after(low)[:1])
            or any(head.op == "prompt" and low < head.index <= high for head in log.heads)
        )

    def added(self, pair: int) -> list[int]:
        """The messages that usage `pair` covers and the one before does not."""
        log = self._log
        low = self._log.usages.boundary[pair - 1] if pair else -1
        high = self._log.usages.boundary[pair]
        before = {usage.produced for usage in log.usages[max(0, pair - 2) : pair]}
        messages = log.messages
        added = [
            index
            for index in messages[bisect_right(messages, low) : bisect_right(messages, high)]
            if index not in before and log.blocks[index]
        ]
        produced = log.usages[pair].produced
        if produced > high and log.blocks[produced]:
            added.append(produced)
        return added

    def first_with(self, index: int) -> int | None:
        """The first usage that covers the record."""
        pair = bisect_left(self._log.usages.boundary, index)
        usages = self._log.usages
        for earlier in range(max(0, pair - 2), min(pair + 1, len(usages))):
            if usages[earlier].produced == index:
                return earlier
        return pair if pair < len(usages) else None

    def output(self, pair: int, index: int) -> int | None:
        """The exact figure of an answer, where its usage reports one."""
        usage = self._log.usages[pair]
        if usage.produced != index or not usage.exact:
            return None
        output: Any = self._log.body(usage.index).get("output")
        return output if type(output) is int and output >= 0 else None

    def answers(self) -> set[int]:
        """Answers that the newest usages cover though they lie behind the boundary."""
        usages = self._log.usages
        return (
            {usages[at].produced for at in range(max(0, len(usages) - 2), len(usages))} if usages else set()
        )
