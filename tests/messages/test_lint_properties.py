"""Whatever a history holds, what is sent of it is valid, and nothing a person wrote is lost."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages.histories import MODEL, histories, sound_histories, wire
from tests.support import validity
from tests.support.examples import examples
from tui_agent.messages.blocks import Message
from tui_agent.messages.lint import lint, linted, repairs

quick = settings(examples(50), deadline=None, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))


def again(messages: Sequence[dict[str, Any]]) -> list[Message]:
    """What was sent, as the history of a session with the same model."""
    return [Message(m["role"], m["content"], model=MODEL) for m in messages]


def user_texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [b["text"] for m in messages if m["role"] == "user" for b in m["content"] if b["type"] == "text"]


def holds_for(history: list[Message]) -> None:
    before = copy.deepcopy(history)
    messages, _ = lint(history, model=MODEL)
    assert history == before or repr(history) == repr(before)
    assert validity.check(wire(messages)) == []

    second, changes = lint(again(messages), model=MODEL)
    assert second == messages
    assert changes == []

    sent = user_texts(messages)
    for message in history:
        for block in message.content if message.role == "user" else ():
            if isinstance(block, dict) and str(block.get("text", "")).startswith("words-"):
                assert block["text"] in sent


def extends_at(history: list[Message], cut: int) -> None:
    """What would be sent at `cut` is a prefix of what is sent of the whole, if nothing had to be put in there."""
    earlier = linted(history[:cut], model=MODEL)
    messages, _ = lint(history, model=MODEL)
    asked_as_it_stood = earlier.sources[-1] and not repairs(history[:cut], model=MODEL)
    if asked_as_it_stood and str(messages).count("'image'") <= 20:
        assert validity.extends(wire(earlier.messages), wire(messages)) == []


def repairs_for(history: list[Message]) -> None:
    mended = [*history]
    if blocks := repairs(history, model=MODEL):
        mended.append(Message("user", blocks, id="repair", origin="repair"))
    assert lint(mended, model=MODEL)[0] == lint(history, model=MODEL)[0]
    assert repairs(mended, model=MODEL) == []


@quick
@given(histories())
def test_any_history_becomes_valid_stays_so_and_keeps_the_users_words(history: list[Message]) -> None:
    holds_for(history)


@quick
@given(histories())
def test_signed_blocks_are_sent_as_they_came_or_not_at_all(history: list[Message]) -> None:
    def signed(block: Any) -> dict[str, Any]:
        return {k: v for k, v in block.items() if k in ("type", "thinking", "signature", "data")}

    kinds = ("thinking", "redacted_thinking")
    came = [signed(b) for m in history for b in m.content if isinstance(b, dict) and b.get("type") in kinds]
    messages, _ = lint(history, model=MODEL)
    assert all(b == signed(b) and b in came for m in messages for b in m["content"] if b["type"] in kinds)


@quick
@given(histories())
def test_every_sent_block_names_the_record_it_came_from(history: list[Message]) -> None:
    done = linted(history, model=MODEL)
    known = {m.id for m in history}
    for message, sources, blocks in zip(done.messages, done.sources, done.blocks, strict=True):
        assert len(blocks) == len(message["content"])
        assert set(sources) == set(blocks) - {""}
        assert set(sources) <= known
    assert {change.record for change in done.changes} <= known | {""}


@quick
@given(histories(), st.data())
def test_what_is_appended_leaves_what_was_sent_before_as_it_was(
    history: list[Message], data: st.DataObject
) -> None:
    extends_at(history, data.draw(st.integers(0, len(history))))


@quick
@given(histories())
def test_stored_repairs_send_what_was_sent_without_them(history: list[Message]) -> None:
    repairs_for(history)


@quick
@given(sound_histories())
def test_a_sound_history_is_only_merged_and_its_results_ordered(history: list[Message]) -> None:
    messages, changes = lint(history, model=MODEL)
    assert validity.check(wire(messages)) == []
    assert {change.rule for change in changes} <= {"blank_text"}
    assert sum(len(m["content"]) for m in messages) == sum(len(m.content) for m in history) - len(changes)


@quick
@given(sound_histories(), st.data())
def test_a_damaged_record_in_a_sound_history_costs_only_itself(
    history: list[Message], data: st.DataObject
) -> None:
    lost = data.draw(st.integers(0, len(history) - 1))
    left = history[:lost] + history[lost + 1 :]
    messages, _ = lint(left, model=MODEL)
    assert validity.check(wire(messages)) == []
    for message in left:
        if message.is_words:
            assert message.text in user_texts(messages)


@pytest.mark.slow
@thorough
@given(histories(max_size=25))
def test_long_histories_hold_all_of_it(history: list[Message]) -> None:
    holds_for(history)
    repairs_for(history)
    for cut in range(len(history) + 1):
        extends_at(history, cut)
