"""A request that is made upon the last one is, byte for byte, what it would be without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages.histories import MODEL, blocks, histories, sound_histories
from tests.support.examples import examples
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request

quick = settings(examples(60), deadline=None, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=2500, deadline=None, suppress_health_check=list(HealthCheck))


class Lasting(list[Message]):
    """A history that tells how far it is the same as another, and counts the messages that are read of it."""

    read = 0

    def shared(self, other: object) -> int:
        pairs = zip(self, other if isinstance(other, list) else [], strict=False)
        return next(
            (at for at, (a, b) in enumerate(pairs) if repr(a) != repr(b)), min(len(self), _len(other))
        )

    def __getitem__(self, at: Any) -> Any:
        part = super().__getitem__(at)
        self.read += len(part) if isinstance(at, slice) else 1
        return part


def _len(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def request(history: Sequence[Message], last: Request | None = None, model: str = MODEL) -> Request:
    return Request.make(
        model=model, system=[text_block("be good")], history=history, max_tokens=100, tools=[], last=last
    )


def held(made: Request) -> tuple[Any, ...]:
    """All that a request says, but for what it says of cache_control, of which it sends nothing."""
    told = [change for change in made.changes if change.rule != "breakpoints"]
    return made.encode(), made.sha256, made.sources, made.blocks, list(made.prints), told


def follows(chain: Sequence[tuple[list[Message], str]]) -> None:
    last = None
    for history, model in chain:
        last = request(Lasting(history), last, model)
        assert held(last) == held(request(history, model=model))


@st.composite
def chains(draw: st.DrawFn, base: st.SearchStrategy[list[Message]]) -> list[tuple[list[Message], str]]:
    """A history and what becomes of it: appended to, shortened somewhere, cut, asked of another model."""
    history = draw(base)
    model = MODEL
    found = [(list(history), model)]
    for number in range(draw(st.integers(1, 5))):
        match draw(st.sampled_from(["append", "append", "append", "change", "drop", "cut", "model"])):
            case "append":
                history = history + [renamed(more, f"{more.id}.{number}") for more in draw(base)]
            case "change" if history:
                at = draw(st.integers(0, len(history) - 1))
                old = history[at]
                new = Message(old.role, draw(st.lists(blocks, max_size=3)), id=old.id, model=old.model)
                history = [*history[:at], new, *history[at + 1 :]]
            case "drop" if history:
                at = draw(st.integers(0, len(history) - 1))
                history = history[:at] + history[at + 1 :]
            case "cut" if history:
                history = history[: draw(st.integers(0, len(history)))]
            case "model":
                model = draw(st.sampled_from([MODEL, "other-model"]))
        found.append((list(history), model))
    return found


def renamed(message: Message, name: str) -> Message:
    return Message(message.role, message.content, id=name, origin=message.origin, model=message.model)


@quick
@given(chains(histories(6)))
def test_any_history_made_upon_the_last_is_as_made_from_nothing(
    chain: list[tuple[list[Message], str]],
) -> None:
    follows(chain)


@quick
@given(chains(sound_histories(3)))
def test_a_sound_history_made_upon_the_last_is_as_made_from_nothing(
    chain: list[tuple[list[Message], str]],
) -> None:
    follows(chain)


@pytest.mark.slow
@thorough
@given(st.one_of(chains(histories(8)), chains(sound_histories(4))))
def test_any_history_made_upon_the_last_is_as_made_from_nothing_thoroughly(
    chain: list[tuple[list[Message], str]],
) -> None:
    follows(chain)


def exchange(number: int, call: str = "") -> list[Message]:
    """A call and its result."""
    name = call or f"toolu_{number}"
    use = {"type": "tool_use", "id": name, "name": "bash", "input": {}}
    return [
        Message("assistant", [use], id=f"a{number}", model=MODEL),
        Message("user", [tool_result(name, "ok")], id=f"r{number}", origin="tool"),
    ]


def picture(edge: int, number: int) -> Message:
    source = {
        "type": "blob", "sha256": "a" * 64, "media_type": "image/png", "bytes": 9, "width": edge, "height": 9
    }  # fmt: skip
    return Message("user", [{"type": "image", "source": source}], id=f"p{number}")


def test_an_appended_step_reads_the_last_step_alone() -> None:
    words = Message("user", [text_block("begin")], id="u")
    history = [words, *(message for number in range(500) for message in exchange(number))]
    last = request(Lasting(history))
    longer = Lasting([*history, *exchange(500)])
    made = request(longer, last)
    assert longer.read == 4  # the last step, which may have gone on, and the new one
    assert held(made) == held(request(list(longer)))
    anew = [at for at, (a, b) in enumerate(zip(last.pieces, made.pieces, strict=False)) if a is not b]
    assert anew == [len(last.pieces) - 2, len(last.pieces) - 1]


def test_ids_of_calls_that_come_again_are_told_apart_as_from_the_beginning() -> None:
    history = [Message("user", [text_block("begin")], id="u")]
    last = None
    for number in range(6):
        history = [*history, *exchange(number, "bash:0")]
        last = request(Lasting(history), last)
        assert held(last) == held(request(history))
    assert last is not None
    names = [block["id"] for m in last.messages for block in m["content"] if block["type"] == "tool_use"]
    assert len(set(names)) == 6


def test_a_picture_too_many_changes_those_before_it() -> None:
    history = [picture(3000, 0)]
    for number in range(19):
        history += [*exchange(number), picture(40, number + 1)]
    last = request(Lasting(history))
    assert "left out" not in str(last.messages[0])
    crowded = [*history, *exchange(19), picture(40, 20)]
    made = request(Lasting(crowded), last)
    assert held(made) == held(request(crowded))
    assert "left out" in str(made.messages[0])
    back = request(Lasting(history), made)
    assert held(back) == held(last)


def test_an_answer_that_is_no_longer_sent_is_no_place_to_begin_at() -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    history = [
        Message("user", [text_block("begin")], id="u"),
        Message("assistant", [call], id="a1", model=MODEL),
        Message("assistant", [found], id="a2", model=MODEL),
    ]
    last = request(Lasting(history))
    assert len(last.messages) == 3
    made = request(Lasting(history[:2]), last)
    assert held(made) == held(request(history[:2]))
    assert len(made.messages) == 1
