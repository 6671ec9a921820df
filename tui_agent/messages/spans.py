"""Where each part of a request lies in its canonical form, in bytes.

The form is `{"messages":[..],"params":{..},"system":[..],"tools":[..]}`. The comma behind a part belongs to it, and so
do the brackets and the role around the blocks of a message: to its first and its last block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from tui_agent.messages.prepared import canonical

HEAD, BEHIND, SYSTEM, TOOLS, TAIL = b'{"messages":[', b"],", b',"system":[', b'],"tools":[', b"]}"
"""What stands in front of each part, and at the end."""
_CONTENT = len(b'{"content":[')


class Frame(NamedTuple):
    """A piece that is of no tool, layer or message: the parameters, or what stands between the parts."""

    start: int
    end: int
    params: bool


class Spans:
    """The offsets of one request. `messages`, `system` and `tools` hold where each begins, and where the last ends."""

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        pieces: Sequence[bytes],
        params: bytes,
        system: Iterable[object],
        tools: Iterable[object],
    ) -> None:
        self._messages = messages
        self.messages = _row(len(HEAD), map(len, pieces))
        first = self.messages[-1] + len(BEHIND)
        second = first + len(params)
        self.system = _row(second + len(SYSTEM), (len(canonical(block)) for block in system))
        self.tools = _row(self.system[-1] + len(TOOLS), (len(canonical(tool)) for tool in tools))
        self.frame = [
            Frame(0, len(HEAD), params=False),
            Frame(self.messages[-1], first, params=False),
            Frame(first, second, params=True),
            Frame(second, self.system[0], params=False),
            Frame(self.system[-1], self.tools[0], params=False),
            Frame(self.tools[-1], self.tools[-1] + len(TAIL), params=False),
        ]

    def blocks(self, message: int) -> list[int]:
        """Where the share of each block of a message begins, and where the last one ends."""
        start, end = self.messages[message], self.messages[message + 1]
        content = self._messages[message]["content"]
        inside = _row(start + _CONTENT, (len(canonical(block)) for block in content))
        return [start, *inside[1:-1], end] if content else [start]


def _row(start: int, sizes: Iterable[int]) -> list[int]:
    """Where each of a list begins, with a comma between two, and where the last one ends."""
    found = list(accumulate((size + 1 for size in sizes), initial=start))
    if len(found) > 1:
        found[-1] -= 1
    return found
