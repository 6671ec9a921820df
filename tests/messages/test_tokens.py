"""Estimates are near what endpoints count, count everything that is sent, and learn."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages.histories import blocks, histories
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.tokens import (
    CL100K,
    CLAUDE_NEW,
    CLAUDE_OLD,
    LLAMA,
    O200K,
    OTHERS,
    QWEN,
    Estimator,
    Mark,
    Tokens,
    family,
    image_tokens,
)

NEW, OLD, OTHER = "claude-opus-4-7", "claude-sonnet-4-5-20250929", "gpt-5"

PYTHON = '''\
def merge_sorted_lists(left: list[int], right: list[int]) -> list[int]:
    """Merge two sorted lists into one sorted list."""
    result = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            result.append(left[i])
            i += 1
        else:
            result.append(right[j])
            j += 1
    return result + left[i:] + right[j:]
'''
ENGLISH = (
    "The quick brown fox jumps over the lazy dog, while the committee considers whether the proposal should be "
    "accepted before the end of the month. Nobody had expected the meeting to last this long.\n"
)
CHINESE = "程序读取文件并返回结果,然后检查日志中没有错误。这是一个较长的中文句子,用于估算。"
RUSSIAN = "Программа читает файл и возвращает результат, после чего проверяет, что ошибок нет."
THAI = "โปรแกรมอ่านไฟล์และส่งคืนผลลัพธ์ จากนั้นตรวจสอบว่าไม่มีข้อผิดพลาด "
LOG = "2026-11-29 21:10:04 status installed libfoo-dev:amd64 1.2.3-4+deb12u1\n"


@pytest.mark.parametrize(
    ("model", "weights"),
    [
        ("claude-opus-4-7", CLAUDE_NEW),
        ("claude-sonnet-5-5", CLAUDE_NEW),
        ("claude-opus-5", CLAUDE_NEW),
        ("anthropic/claude-opus-4.7", CLAUDE_NEW),
        ("us.anthropic.claude-opus-4-7-v1:0", CLAUDE_NEW),
        ("claude-opus-4-10", CLAUDE_NEW),
        ("claude", CLAUDE_NEW),
        ("", CLAUDE_NEW),
        ("claude-opus-4-6", CLAUDE_OLD),
        ("claude-sonnet-4-5-20250929", CLAUDE_OLD),
        ("claude-sonnet-4-20250514", CLAUDE_OLD),
        ("claude-3-5-sonnet-20241022", CLAUDE_OLD),
        ("claude-3-opus-latest", CLAUDE_OLD),
        ("gpt-5", O200K),
        ("openai/gpt-4o-mini", O200K),
        ("gpt-4.1", O200K),
        ("o3-mini", O200K),
        ("gpt-4-turbo", CL100K),
        ("gpt-3.5-turbo", CL100K),
        ("meta-llama/Llama-3.1-8B-Instruct", LLAMA),
        ("qwen3-coder", QWEN),
        ("kimi-k2", OTHERS),
        ("demo", OTHERS),
    ],
)
def test_a_model_is_weighed_by_its_family(model: str, weights: object) -> None:
    assert family(model) is weights


@pytest.mark.parametrize(
    ("text", "exact", "within"),
    [
        (PYTHON, 101, 0.2),
        (ENGLISH, 37, 0.2),
        (LOG, 34, 0.1),
        (CHINESE, 27, 0.3),
        (THAI, 23, 0.2),
        (RUSSIAN, 19, 0.45),
    ],
)
def test_an_estimate_is_near_the_count_of_a_real_tokenizer(text: str, exact: int, within: float) -> None:
    """`exact` was counted with the o200k vocabulary."""
    assert Estimator(OTHER).count(text * 20) == pytest.approx(exact * 20, rel=within)


@pytest.mark.parametrize(
    ("characters", "name"),
    [
        ("abz", "lower"),
        ("AZ", "upper"),
        ("059", "digit"),
        (" \t\r", "space"),
        ("{}_-!~\x00\x7f", "punctuation"),
        ("漢字かなカナ한국、。", "cjk"),
        ("éßжЯωאبñ", "letters"),
        ("กखაក", "scripts"),
        ("—→│😀\u200b\ue000\ufeff§", "other"),
    ],
)
@pytest.mark.parametrize("model", [NEW, OLD, OTHER])
def test_every_character_weighs_what_its_class_does(characters: str, name: str, model: str) -> None:
    for character in characters:
        assert Estimator(model).weigh(character * 1000) == pytest.approx(
            1000 * getattr(family(model), name)
        ), character


@pytest.mark.parametrize("model", [NEW, OLD, OTHER])
def test_newlines_weigh_by_pairs(model: str) -> None:
    weigh, newline = Estimator(model).weigh, family(model).newline
    assert weigh("\n" * 1000) == pytest.approx(500 * newline)
    lines = weigh("a\n" * 10) - weigh("a" * 10), weigh("a\n\n" * 10) - weigh("a" * 10)
    assert lines == pytest.approx((10 * newline, 10 * newline))


def test_lone_surrogates_and_empty_texts_are_counted_too() -> None:
    assert Estimator().count("") == 0
    assert Estimator().count("\ud800") > 0


def test_images_are_counted_by_their_size_never_as_text() -> None:
    def image(**source: Any) -> dict[str, Any]:
        return {"type": "image", "source": source}

    assert image_tokens(280, 281) == 10 * 11
    assert image_tokens(1, 1) == 1
    assert image_tokens(8000, 8000) == CLAUDE_NEW.image_tokens
    assert image_tokens(8000, 80) < image_tokens(8000, 800) < image_tokens(8000, 4000)
    count = Estimator(NEW).count
    blob = image(type="blob", sha256="a" * 64, media_type="image/png", bytes=200_000, width=560, height=280)
    assert count(blob) == 20 * 10
    assert count(tool_result("t", [blob])) == count(tool_result("t", [])) + 200
    data = image(type="base64", media_type="image/png", data="A" * 4_000_000)
    assert 0 < count(data) <= CLAUDE_NEW.image_tokens
    assert count(image(type="base64", media_type="image/png", data="A" * 400)) < 10
    assert count(image(type="url", url="https://example.org/a.png")) == CLAUDE_NEW.image_tokens
    odd = image(type="blob", bytes=-1, width="9", height=None)
    assert count(odd) == CLAUDE_NEW.image_tokens
    assert Estimator(OLD).count(image(type="url")) == CLAUDE_OLD.image_tokens


def test_everything_that_is_sent_is_counted_and_signatures_are_not() -> None:
    count = Estimator(NEW).count
    big = "x" * 10_000
    assert count({"type": "tool_use", "id": "t", "name": "bash", "input": {"command": big}}) > 2700
    assert count(tool_result("t", big)) > 2700 and count(tool_result("t", [text_block(big)])) > 2700
    thinking = {"type": "thinking", "thinking": "hm " * 100, "signature": "s"}
    assert count({**thinking, "signature": big}) == count(thinking) > 50
    assert count({"type": "redacted_thinking", "data": big}) > 1000
    assert count([{"name": "bash", "description": big, "input_schema": {"type": "object"}}]) > 2700
    assert count({"type": "document", "source": {"type": "text", "data": big}}) > 2700
    assert count({"type": "document", "source": {"type": "base64", "data": big}}) > 100
    assert count({"type": "document", "source": {"type": "content", "content": [text_block(big)]}}) > 2700
    assert count({"type": "hologram", "body": big}) > 2700


def test_a_message_is_its_content_and_a_little_more() -> None:
    count = Estimator(NEW).count
    content = [text_block("words " * 50), text_block("more")]
    assert count(content) < count({"role": "user", "content": content}) < count(content) + 10
    assert count(Message("user", content)) == count({"role": "user", "content": content})
    assert count([Message("user", content)] * 2) == pytest.approx(2 * count(Message("user", content)), abs=1)
    assert count({"role": "user", "content": "words"}) > count("words")


def test_estimates_follow_what_the_endpoint_counted() -> None:
    estimator = Estimator(NEW)
    text = ENGLISH * 100
    exact = estimator.count(text) * 1.4
    for _ in range(20):
        estimator.calibrate(estimated=estimator.count(text), exact=round(exact))
    assert estimator.factor == pytest.approx(1.4, rel=0.01)
    assert estimator.count(text) == pytest.approx(exact, rel=0.01)
    assert estimator.weigh(text) * estimator.factor == pytest.approx(estimator.count(text), abs=1)


def test_one_absurd_figure_moves_little_and_many_stop_at_half_and_double() -> None:
    estimator = Estimator(NEW)
    estimator.calibrate(estimated=10, exact=1_000_000)
    assert 1 < estimator.factor < 1.5
    for exact, end in ((1_000_000, 2.0), (1, 0.5)):
        for _ in range(50):
            estimator.calibrate(estimated=1000, exact=exact)
        assert estimator.factor == end
    for estimated, exact in ((0, 5), (5, 0), (-1, 5)):
        estimator.calibrate(estimated=estimated, exact=exact)
    assert estimator.factor == 0.5


def test_many_short_messages_do_not_change_what_a_long_text_is_thought_to_weigh() -> None:
    estimator = Estimator(NEW)
    for _ in range(8):
        estimator.calibrate(estimated=20, exact=60)
    assert estimator.factor < 1.15


def test_odd_shapes_are_counted_as_far_as_they_can_be() -> None:
    count = Estimator(NEW).count
    deep: Any = "words " * 100
    for _ in range(50_000):
        deep = [deep]
    assert count(deep) > 100
    assert count({"type": "tool_use", "name": "bash", "input": {"a": deep}}) > 100
    around: list[Any] = ["words " * 100]
    around.append(around)
    assert 100 < count({"type": "tool_use", "input": around}) < 10_000
    odd: Any = {
        "type": "tool_use",
        "name": 7,
        "input": {("a",): {1, 2}, "b": object(), "n": 10**5000, "f": math.nan},
    }
    assert count(odd) > 1000
    assert count(MappingProxyType({"type": "text", "text": "words"})) == count(text_block("words"))
    for value in (
        None,
        7,
        b"bytes",
        object(),
        {},
        [],
        {"type": None},
        {"type": ["text"]},
        {"type": "text", "text": None},
    ):
        assert count(value) >= 0  # type: ignore[arg-type]


def test_a_sum_is_as_sure_as_its_less_sure_part() -> None:
    marks: list[Mark] = ["exact", "reconciled", "estimated"]
    for i, one in enumerate(marks):
        for j, other in enumerate(marks):
            assert Tokens(2, one) + Tokens(3, other) == Tokens(5, marks[max(i, j)])


@settings(max_examples=200, deadline=None)
@given(st.one_of(blocks, histories(), st.text()), st.sampled_from([NEW, OLD, OTHER]))
def test_nothing_makes_the_estimator_fail(value: Any, model: str) -> None:
    found = Estimator(model).count(value)
    assert isinstance(found, int) and found >= 0


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_a_text_weighs_what_its_parts_do(one: str, other: str) -> None:
    weigh = Estimator(NEW).weigh
    if not ("\ud800" <= one[-1:] <= "\udbff"):
        assert weigh(one + other) == pytest.approx(weigh(one) + weigh(other))
    assert weigh({"x": one}) == pytest.approx(
        weigh(json.dumps({"x": one}, ensure_ascii=False, separators=(",", ":")))
    )
