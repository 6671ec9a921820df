"""The simulated prompt cache, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.prompt_cache import Figures, PromptCache, tokens_of

WORDS = "word " * 600
"""Some 600 tokens."""


class Clock:
    """A time that the test moves, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> PromptCache:
    return PromptCache(clock=clock, least=100)


def text(words: str, *, mark: bool | str = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": words}
    if mark:
        block["cache_control"] = {"type": "ephemeral"} | ({"ttl": mark} if isinstance(mark, str) else {})
    return block


def tool(name: str, *, mark: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "description": WORDS, "input_schema": {"type": "object"}}
    return made | ({"cache_control": {"type": "ephemeral"}} if mark else {})


def body(*messages: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A request whose messages are of the user and the model by turns."""
    roles = ("user", "assistant")
    made = [{"role": roles[at % 2], "content": content} for at, content in enumerate(messages)]
    return {
        "model": "scripted-1",
        "max_tokens": 9,
        "tools": [tool("bash", mark=True)],
        "system": [text(WORDS, mark=True)],
        "messages": made,
        **changes,
    }


def test_what_was_written_at_a_breakpoint_is_read_by_a_longer_request(cache: PromptCache) -> None:
    first = cache.begin(body([text(WORDS, mark=True)]))
    assert first.read == 0 and first.input == 0 and first.written > 1_800
    second = cache.begin(body([text(WORDS)], [text("yes")], [text(WORDS, mark=True)]))
    assert second.read == first.written and 600 < second.written < 630 and second.input == 0
    assert cache.figures == [first, second]


def test_the_same_request_again_is_read_whole(cache: PromptCache) -> None:
    first = cache.begin(body([text("hello", mark=True)]))
    assert cache.begin(body([text("hello", mark=True)])) == Figures(first.written, 0, 0)


def test_without_breakpoints_nothing_is_cached(cache: PromptCache) -> None:
    plain = body([text(WORDS)], tools=[tool("bash")], system=[text(WORDS)])
    assert cache.begin(plain).input == cache.begin(plain).total
    assert not len(cache)


def test_what_stands_behind_the_last_breakpoint_is_plain_input(cache: PromptCache) -> None:
    figures = cache.begin(body([text("hello", mark=True), text(WORDS)]))
    assert 600 < figures.input < 630


def test_figures_are_a_sum_whatever_is_cached(cache: PromptCache) -> None:
    shorter, longer = body([text("a", mark=True)]), body([text("a")], [text("b")], [text("c", mark=True)])
    alone = PromptCache(least=10**6)
    assert cache.begin(shorter).total == alone.begin(shorter).total
    assert cache.begin(longer).total == alone.begin(longer).total == alone.figures[-1].input


@pytest.mark.parametrize(("behind", "is_found"), [(18, True), (19, True), (20, False)])
def test_the_look_back_is_twenty_blocks_with_the_breakpoint_itself(
    cache: PromptCache, behind: int, is_found: bool
) -> None:
    written = cache.begin(body([text(WORDS, mark=True)])).written
    added = [text(str(number)) for number in range(behind)]
    added[-1] |= {"cache_control": {"type": "ephemeral"}}
    read = cache.begin(body([text(WORDS), *added])).read
    assert (read == written) is is_found
    assert read > 1_200  # tools and system have breakpoints of their own


def test_entries_are_made_at_breakpoints_alone(cache: PromptCache) -> None:
    cache.begin(body([text(WORDS), text("more", mark=True)]))
    system = cache.begin(body([text(WORDS, mark=True)])).read
    assert system == cache.begin(body([text("other", mark=True)])).read


@pytest.mark.parametrize(
    ("model", "least"),
    [("scripted-1", 1_024), ("claude-opus-4-5", 4_096), ("claude-3-5-haiku-20241022", 2_048)],
)
def test_below_the_models_minimum_nothing_is_cached_and_nothing_said(model: str, least: int) -> None:
    cache = PromptCache()

    def of(words: int) -> dict[str, Any]:
        return body([text("w " * words, mark=True)], model=model, tools=[], system=[])

    short, long = of(least - 10), of(least + 10)
    assert cache.begin(short).input == cache.begin(short).total < least
    assert cache.begin(long).written and cache.begin(long).read >= least


def test_a_part_of_a_prompt_can_be_too_small_while_the_whole_is_not() -> None:
    cache = PromptCache(least=1_000)
    cache.begin(body([text(WORDS, mark=True)]))
    assert len(cache) == 2  # not the tools
    assert cache.begin(body([text("other", mark=True)], system=[text("another", mark=True)])).read == 0


def test_an_entry_lapses_after_five_minutes_and_reading_keeps_it(cache: PromptCache, clock: Clock) -> None:
    request = body([text("hello", mark=True)])
    whole = cache.begin(request).written
    for _ in range(3):
        clock.now += 299
        assert cache.begin(request).read == whole
    clock.now += 301
    assert cache.begin(request) == Figures(0, whole, 0)


def test_an_entry_can_be_kept_an_hour(cache: PromptCache, clock: Clock) -> None:
    request = body([text(WORDS, mark="1h")], tools=[], system=[])
    whole = cache.begin(request).written
    clock.now += 3_500
    assert cache.begin(request).read == whole
    clock.now += 3_601
    assert cache.begin(request).read == 0


def test_other_tools_part_everything(cache: PromptCache) -> None:
    cache.begin(body([text(WORDS, mark=True)]))
    assert (
        cache.begin(body([text(WORDS, mark=True)], tools=[tool("bash"), tool("read", mark=True)])).read == 0
    )
    assert cache.begin(body([text(WORDS, mark=True)], model="another")).read == 0


def test_another_system_prompt_leaves_the_tools(cache: PromptCache) -> None:
    cache.begin(body([text(WORDS, mark=True)]))
    read = cache.begin(body([text(WORDS, mark=True)], system=[text("changed " * 600, mark=True)])).read
    assert 500 < read < 700


@pytest.mark.parametrize(
    "change",
    [
        {"thinking": {"type": "adaptive"}},
        {"tool_choice": {"type": "any"}},
    ],
)
def test_thinking_and_tool_choice_part_the_messages_alone(cache: PromptCache, change: dict[str, Any]) -> None:
    cache.begin(body([text(WORDS, mark=True)]))
    read = cache.begin(body([text(WORDS, mark=True)], **change)).read
    assert 1_200 < read < 1_300


def test_the_first_picture_parts_the_messages_and_the_next_do_not(cache: PromptCache) -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    asked = [[text(WORDS)], [text("a")], [picture, text("b", mark=True)]]
    cache.begin(body([text(WORDS, mark=True)]))
    first = cache.begin(body(*asked))
    assert 1_200 < first.read < 1_300
    more = [{"type": "tool_result", "tool_use_id": "c", "content": [picture]}, text("c", mark=True)]
    assert cache.begin(body(*asked, [text("d")], more)).read == first.read + first.written


def test_a_changed_message_leaves_what_stands_before_it(cache: PromptCache) -> None:
    first = cache.begin(body([text(WORDS, mark=True)]))
    cache.begin(body([text(WORDS, mark=True)], [text("a")], [text("b", mark=True)]))
    changed = body([text(WORDS, mark=True)], [text("changed")], [text("b", mark=True)])
    assert cache.begin(changed).read == first.written


def test_more_than_four_breakpoints_are_a_mistake(cache: PromptCache) -> None:
    with pytest.raises(AssertionError, match="5 breakpoints"):
        cache.begin(body([text(str(number), mark=True) for number in range(3)]))


def test_tokens_are_counted_by_words_numbers_and_signs() -> None:
    assert tokens_of("word") == 1 and tokens_of("another") == 2
    assert tokens_of("1234") == 2 and tokens_of("a, b!") == 4 and tokens_of("漢字") == 2
    assert tokens_of([{"type": "text", "text": "a b"}, None]) == 2
