"""What it costs to take the markers out of an answer while it comes, beside copying it.

`python -m tests.benchmarks.markers` reads answers in tokens of four characters. For each it prints CPU microseconds for
a token, how many times that is of appending the token to a list, and the part of a core that 200 tokens a second take.
Below that, texts made to be read again and again, in pieces and whole: CPU seconds for a megabyte, and how many times
those of an eighth of it that is. The exit code is 1 if an answer takes more than 1 % of a core, or if a megabyte takes
more than twelve times what its eighth does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from tests.memory.hostile import HOSTILE, repeated
from tui_agent.memory.markers import MarkerParser

TOKENS_PER_SECOND = 200
LARGEST_SHARE = 0.01
"""Of a core."""
MEGABYTE = 1_000_000
LARGEST_GROWTH = 12
ROUNDS = 5

MARKER = '<memory scope="user" key="indent">Uses tabs, asked for on Monday.</memory>\n'
PROSE = (
    "Prose of a model, with a `name` and some *words* in it, line after line.\n\n- an item\n- `another`\n\n"
)
CODE = "```python\ndef f(x: list[int]) -> bool:\n    return x[0] < 3 and `x`\n```\n\n"
ANSWERS = {
    "prose": PROSE,
    "code": CODE,
    "markers": PROSE + MARKER,
    "less-than signs": "a < b and <b>c</b> < d\n",
}


def seconds(work: Callable[[Sequence[str]], None], parts: Sequence[str], rounds: int = ROUNDS) -> float:
    """CPU seconds of the fastest of some rounds."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work(parts)
        times.append(time.process_time() - started)
    return min(times)


def pieces(text: str, size: int) -> Sequence[str]:
    """The text in pieces of so many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def read(parts: Sequence[str]) -> None:
    """Take the markers out."""
    parser = MarkerParser()
    shown = [parser.feed(part).visible for part in parts]
    shown.append(parser.finish().visible)


def copy(parts: Sequence[str]) -> None:
    """Leave them in."""
    shown = []
    for part in parts:
        shown.append(part)


def main() -> int:
    """Measure and print; returns the exit code."""
    met = True
    print(f"{'answer':<24}{'us/token':>10}{'x copy':>10}{'% of a core':>14}")
    for name, text in ANSWERS.items():
        parts = pieces(repeated(text, 400_000), 4)
        taken, floor = seconds(read, parts), seconds(copy, parts)
        share = taken / len(parts) * TOKENS_PER_SECOND
        met &= share <= LARGEST_SHARE
        print(f"{name:<24}{taken / len(parts) * 1e6:>10.2f}{taken / floor:>10.1f}{share * 100:>14.3f}")
    print(f"\n{'hostile text':<24}{'s, pieces':>10}{'growth':>10}{'s, whole':>10}{'growth':>10}")
    for name, text in HOSTILE.items():
        line = f"{name:<24}"
        for size in (7, MEGABYTE):
            small, large = (
                seconds(read, pieces(repeated(text, length), size), rounds=1)
                for length in (MEGABYTE // 8, MEGABYTE)
            )
            met &= large <= LARGEST_GROWTH * small
            line += f"{large:>10.2f}{large / small:>10.1f}"
        print(line)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
