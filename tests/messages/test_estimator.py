"""Estimates of whole requests are near what a tokenizer counts; tests/benchmarks/estimator prints how near."""

from __future__ import annotations

import pytest

from tests.benchmarks.estimator import MEDIAN, P95, UNTAUGHT, WORST, Errors, broken, measure, percentile
from tests.support.conversations import KINDS, MIXED, VOCABULARIES

CHARACTERS = 75_000
LARGE = ("o200k_base", "cl100k_base")


@pytest.mark.parametrize("vocabulary", LARGE)
def test_estimates_of_whole_requests_keep_their_bounds(vocabulary: str) -> None:
    by_kind = {kind: measure(kind, vocabulary, [1], CHARACTERS) for kind in KINDS}
    assert all(errors.taught for errors in by_kind.values())
    assert {kind: broken(errors) for kind, errors in by_kind.items() if broken(errors)} == {}
    assert max(max(errors.elsewhere) for errors in by_kind.values()) <= WORST


def test_a_bound_that_does_not_hold_is_said() -> None:
    errors = Errors([UNTAUGHT + 0.01], [MEDIAN + 0.01, WORST + 0.01], [0.0])
    assert len(broken(errors)) == 4
    assert percentile([*([0.0] * 95), *([1.0] * 5)], 0.95) == 0.0 < P95
    assert percentile([*([0.0] * 94), *([1.0] * 6)], 0.95) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", LARGE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_an_unknown_name_keeps_the_bounds_too(kind: str, vocabulary: str) -> None:
    assert broken(measure(kind, vocabulary, range(3), model="scripted-1")) == []


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_text_keeps_the_bounds_in_every_vocabulary(kind: str, vocabulary: str) -> None:
    errors = measure(kind, vocabulary, range(2, 6))
    assert broken(errors) == []
    assert kind == MIXED or max(errors.elsewhere) <= WORST
