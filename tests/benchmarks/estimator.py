"""How near the estimates of whole requests are to what a tokenizer counts.

`python -m tests.benchmarks.estimator` grows conversations of every kind of text (tests/support/conversations) and
counts their requests with the vocabularies that quicktok brings. An estimator begins uncalibrated in each conversation
and learns from its first five requests, as it does from what an endpoint reports; the later requests of at least 8,000
tokens are measured. Printed for each kind, in percent of the truth: the mean error of an estimator that learned
nothing, and the median, the 95th percentile and the worst error of one that did. The last column is the worst error of
one that learned from the five requests of a mixed conversation instead. The exit code is 1 if a bound does not hold.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from tests.support.conversations import KINDS, MIXED, VOCABULARIES, requests, tokens
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator

LEAST_TOKENS = 8_000
"""Requests that are measured have at least so many."""
LESSONS = 5
CHARACTERS = 120_000
"""To which a conversation grows."""
MEDIAN, P95, WORST, UNTAUGHT = 0.05, 0.10, 0.20, 0.25
"""Bounds of the errors; the last one is that of the mean of each kind before anything was learned."""
SEEDS = range(12)


class Errors(Struct, frozen=True):
    """Relative errors of estimates: by an estimator that learned nothing, in the same talk, in another one."""

    untaught: list[float]
    taught: list[float]
    elsewhere: list[float]

    @property
    def row(self) -> tuple[float, float, float, float, float]:
        """What the table shows."""
        return (
            statistics.fmean(self.untaught),
            statistics.median(self.taught),
            percentile(self.taught, 0.95),
            max(self.taught),
            max(self.elsewhere),
        )


def estimate(estimator: Estimator, request: Request) -> int:
    """What a request weighs, its parts added up as the program does."""
    parts: list[Any] = [request.system, request.tools, *request.messages]
    return sum(map(estimator.count, parts))


def teach(estimator: Estimator, lessons: Iterable[tuple[Request, int]]) -> Estimator:
    """Let it learn from what an endpoint counted."""
    for request, exact in lessons:
        estimator.calibrate(estimated=estimate(estimator, request), exact=exact)
    return estimator


def measure(
    kind: str, vocabulary: str, seeds: Iterable[int], characters: int = CHARACTERS, *, model: str = ""
) -> Errors:
    """The errors in conversations of one kind; `model` is taken for one that has that vocabulary."""
    model = model or VOCABULARIES[vocabulary]
    found = Errors([], [], [])
    for seed in seeds:
        counted = [(r, tokens(r, vocabulary)) for r in requests(kind, seed, upto=characters)]
        mixed = [(r, tokens(r, vocabulary)) for r in requests(MIXED, seed + 1000, upto=characters)][:LESSONS]
        estimators = (
            (found.untaught, Estimator(model)),
            (found.taught, teach(Estimator(model), counted[:LESSONS])),
            (found.elsewhere, teach(Estimator(model), mixed)),
        )
        for errors, estimator in estimators:
            errors += [
                abs(estimate(estimator, request) / exact - 1)
                for request, exact in counted[LESSONS:]
                if exact >= LEAST_TOKENS
            ]
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least so many of them do not exceed."""
    return sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]


def broken(errors: Errors) -> list[str]:
    """The bounds that do not hold, in words."""
    untaught, median, p95, worst, _ = errors.row
    bounds = (
        ("uncalibrated", untaught, UNTAUGHT),
        ("median", median, MEDIAN),
        ("p95", p95, P95),
        ("worst", worst, WORST),
    )
    return [f"{name} {value:.1%} > {bound:.0%}" for name, value, bound in bounds if value > bound]


def table(first: str, second: str, seeds: Iterable[int]) -> bool:
    """Print a table of two vocabularies, a row a kind; False if a bound does not hold."""
    print(f"\n{first} / {second}, error in %\n")
    print("| text | requests | uncalibrated, mean | median | p95 | worst | worst, calibrated on mixed text |")
    print("|---|---|---|---|---|---|---|")
    holds = True
    for kind in KINDS:
        found = [measure(kind, vocabulary, seeds) for vocabulary in (first, second)]
        cells = [
            " / ".join(f"{100 * value:.1f}" for value in pair)
            for pair in zip(*(e.row for e in found), strict=True)
        ]
        many = f"{sum(len(errors.taught) for errors in found):,}"
        print("| " + " | ".join((kind, many, *cells)) + " |", flush=True)
        for vocabulary, errors in zip((first, second), found, strict=True):
            for bound in broken(errors):
                print(f"{vocabulary} {kind}: {bound}", file=sys.stderr)
                holds = False
    return holds


def main() -> int:
    """Print the tables."""
    first, second, third, fourth = VOCABULARIES
    held = [table(*pair, SEEDS) for pair in ((first, second), (third, fourth))]
    return int(not all(held))


if __name__ == "__main__":
    raise SystemExit(main())
