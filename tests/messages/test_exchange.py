"""Calls are paired with their results, and a history is cut only where no pair is parted."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from tests.messages.histories import MODEL, histories, sound_histories
from tests.support.examples import examples
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.exchange import Exchange, exchanges, open_calls, pairs, safe_cuts
from tui_agent.messages.lint import MISSING_RESULT, lint

quick = settings(examples(80), deadline=None, suppress_health_check=list(HealthCheck))


def calls(*ids: str) -> Message:
    return Message(
        "assistant", [{"type": "tool_use", "id": i, "name": "bash", "input": {}} for i in ids], model=MODEL
    )


def results(*ids: str) -> Message:
    return Message("user", [tool_result(i, f"out {i}") for i in ids], origin="tool")


def words(text: str = "hi") -> Message:
    return Message("user", [text_block(text)])


def reply(text: str = "done") -> Message:
    return Message("assistant", [text_block(text)], model=MODEL)


def ids(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["id"] for block in blocks]


def test_a_history_without_calls_may_be_cut_anywhere() -> None:
    history = [words(), reply(), words(), reply()]
    assert safe_cuts(history) == [0, 1, 2, 3, 4]
    assert exchanges(history) == [] and open_calls(history) == []


def test_parallel_calls_are_one_exchange_up_to_their_last_result() -> None:
    history = [words(), calls("a", "b"), results("b"), words("steer"), results("a"), reply()]
    assert exchanges(history) == [Exchange(1, 5, open=False)]
    assert safe_cuts(history) == [0, 1, 5, 6]


def test_calls_that_wait_are_named_and_nothing_behind_them_is_a_cut() -> None:
    history = [words(), calls("a", "b"), results("b")]
    assert ids(open_calls(history)) == ["a"]
    assert safe_cuts(history) == [0, 1]


def test_calls_over_several_records_of_one_reply_wait_together() -> None:
    history = [words(), calls("a"), calls("b"), results("a")]
    assert ids(open_calls(history)) == ["b"]
    assert exchanges(history) == [Exchange(1, 4, open=True)]


def test_a_call_left_without_a_result_further_back_is_no_longer_waited_for() -> None:
    history = [words(), calls("a"), words("never mind"), reply(), words("go on")]
    assert open_calls(history) == []
    assert safe_cuts(history) == [0, 1, 2, 3, 4, 5]


def test_an_id_used_again_in_a_later_turn_is_another_call() -> None:
    history = [words(), calls("bash:0"), results("bash:0"), reply(), words(), calls("bash:0")]
    assert ids(open_calls(history)) == ["bash:0"]
    assert [pair.result_at for pair in pairs(history)] == [2, None]
    assert safe_cuts(history) == [0, 1, 3, 4, 5]


def test_a_result_that_comes_too_late_or_twice_counts_for_no_call() -> None:
    late = [words(), calls("a"), words("wait"), reply(), results("a")]
    assert [pair.result for pair in pairs(late)] == [None]
    twice = [words(), calls("a"), results("a"), results("a")]
    assert [pair.result_at for pair in pairs(twice)] == [2]


def test_an_empty_history_has_one_cut() -> None:
    assert safe_cuts([]) == [0] and open_calls([]) == []


@quick
@given(histories())
def test_a_cut_parts_no_call_from_its_result(history: list[Message]) -> None:
    whole = pairs(history)
    for cut in safe_cuts(history):
        assert all((p.at < cut) == (p.result_at < cut) for p in whole if p.result_at is not None)
        parts = [(p.at, p.result_at) for p in pairs(history[:cut])] + [
            (p.at + cut, None if p.result_at is None else p.result_at + cut) for p in pairs(history[cut:])
        ]
        assert parts == [(p.at, p.result_at) for p in whole]


@quick
@given(sound_histories())
def test_both_sides_of_a_cut_can_be_sent_without_a_made_up_result(history: list[Message]) -> None:
    for cut in safe_cuts(history):
        for part in (history[:cut], history[cut:]):
            messages, changes = lint(part, model=MODEL)
            assert MISSING_RESULT not in str(messages)
            unpaired = ("missing_result", "orphan_result", "second_result")
            assert not [change for change in changes if change.rule in unpaired]
