"""What is known of models, and what endpoints' lists say."""

from __future__ import annotations

import pytest

from tui_agent.llm.models import Limits, default_output, known, listed, newest, thinking


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        ("claude-sonnet-5-5", Limits(1_000_000, 128_000)),
        ("claude-haiku-4-5-20251001", Limits(200_000, 64_000)),
        ("claude-opus-4-1-20250805", Limits(200_000, 32_000)),
        ("anthropic/claude-sonnet-4.6", Limits(1_000_000, 128_000)),
        ("Claude-3-5-Haiku-latest", Limits(200_000, 8_192)),
        ("deepseek/deepseek-v4-pro", Limits(1_000_000)),
        ("kimi-k2.6", Limits(262_144)),
        ("glm-5.1", Limits(200_000)),
        ("glm-5.2", Limits(1_048_576)),
        ("qwen3-coder:30b", Limits()),
        ("", Limits()),
    ],
)
def test_names_find_their_limits_whatever_their_spelling(model: str, limits: Limits) -> None:
    assert known(model) == limits


@pytest.mark.parametrize(
    ("entry", "limits"),
    [
        ({"max_input_tokens": 200_000, "max_tokens": 64_000}, Limits(200_000, 64_000)),
        (
            {"context_length": 131_072, "top_provider": {"max_completion_tokens": 8_192}},
            Limits(131_072, 8_192),
        ),
        ({"max_model_len": 32_768}, Limits(32_768)),
        ({"meta": {"n_ctx": 4_096, "n_ctx_train": 131_072}}, Limits(4_096)),
        ({"max_input_tokens": None, "max_tokens": "many", "context_length": True}, Limits()),
        ({}, Limits()),
    ],
)
def test_lists_of_many_endpoints_are_read(entry: dict[str, object], limits: Limits) -> None:
    assert listed(entry) == limits


def test_the_newest_is_by_date_else_the_first() -> None:
    assert newest([{"id": "a", "created": 5}, {"id": "b", "created": 9}, {"id": "c", "created": 9}]) == "b"
    assert newest([{"id": "a"}, {"id": "b", "created_at": "never"}]) == "a"
    assert newest([{"id": "old", "lifecycle": "deprecated"}, {"name": "no id"}]) is None
    assert newest([]) is None


def test_the_longest_answer_leaves_room_for_the_question() -> None:
    assert default_output(128_000, 1_000_000) == 128_000
    assert default_output(64_000, 200_000) == 50_000
    assert default_output(None, 8_000) == 2_000


@pytest.mark.parametrize(
    ("level", "model", "tokens", "expected"),
    [
        ("off", "claude-sonnet-5-5", 16_000, None),
        ("high", "claude-sonnet-5-5", 16_000, {"type": "adaptive"}),
        ("low", "claude-opus-4-7", 16_000, {"type": "adaptive"}),
        ("low", "claude-opus-4-10", 16_000, {"type": "adaptive"}),
        ("low", "claude-opus-4-20250514", 16_000, {"type": "enabled", "budget_tokens": 4_096}),
        ("high", "claude-haiku-4-5", 16_000, {"type": "enabled", "budget_tokens": 14_976}),
        ("medium", "kimi-k2.6", 2_000, None),
    ],
)
def test_thinking_is_asked_for_as_each_model_takes_it(
    level: str, model: str, tokens: int, expected: dict[str, object] | None
) -> None:
    assert thinking(level, model, tokens) == expected
