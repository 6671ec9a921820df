"""What lint does to a broken history, rule by rule, and what it says about it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.messages.histories import wire
from tests.support import validity
from tui_agent.messages.blocks import Block, Message, text_block, tool_result
from tui_agent.messages.lint import (
    CONTINUE,
    EARLIER,
    MISSING_RESULT,
    RULES,
    Change,
    lint,
    linted,
    repairs,
    same_model,
)

MODEL = "claude-sonnet-5-5"
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def user(*content: Any, id: str = "u", origin: str | None = None) -> Message:
    return Message(
        "user", [text_block(c) if isinstance(c, str) else c for c in content], id=id, origin=origin
    )


def assistant(*content: Any, id: str = "a", model: str | None = MODEL) -> Message:
    return Message(
        "assistant", [text_block(c) if isinstance(c, str) else c for c in content], id=id, model=model
    )


def call(id: Any = "t1", name: Any = "bash", arguments: Any = None) -> Block:
    return {
        "type": "tool_use",
        "id": id,
        "name": name,
        "input": {"command": "ls"} if arguments is None else arguments,
    }


def image(width: int, height: int = 9, **more: Any) -> Block:
    source = {
        "type": "blob",
        "sha256": "a" * 64,
        "media_type": "image/png",
        "bytes": 100,
        "width": width,
        "height": height,
    }
    return {"type": "image", "source": {**source, **more}}


def sent(*history: Message) -> tuple[list[list[Block]], list[Change]]:
    """The contents of the messages that are sent (they are valid), and the changes."""
    messages, changes = lint(history, model=MODEL)
    assert validity.check(wire(messages)) == []
    return [m["content"] for m in messages], changes


def said(changes: list[Change]) -> list[tuple[str, str]]:
    return [(change.rule, change.text) for change in changes]


def test_a_sound_history_is_sent_as_it_is_and_nothing_is_said() -> None:
    blocks = [THINKING, text_block("I look."), call()]
    contents, changes = sent(user("hi"), assistant(*blocks), user(tool_result("t1", "out")))
    assert contents == [[text_block("hi")], blocks, [tool_result("t1", "out")]]
    assert changes == []


def test_every_rule_says_what_it_demands_and_what_is_done() -> None:
    assert all(rule.name.islower() and rule.demands and rule.mended for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_records_of_one_role_become_one_message_with_results_first_in_the_order_of_their_calls() -> None:
    contents, changes = sent(
        user("hi"),
        user("reminder", origin="injection"),
        assistant(call("t1"), call("t2")),
        user("steer"),
        user(tool_result("t2", "two")),
        user(tool_result("t1", "one")),
    )
    assert contents[0] == [text_block("hi"), text_block("reminder")]
    assert contents[2] == [tool_result("t1", "one"), tool_result("t2", "two"), text_block("steer")]
    assert said(changes) == [("results_first", "what stood before a tool result was put behind it")]


def test_blank_text_is_dropped_and_a_message_left_empty_is_left_out() -> None:
    contents, changes = sent(user("a"), assistant("\n\n"), user(" ", "b"))
    assert contents == [[text_block("a"), text_block("b")]]
    assert said(changes) == [("blank_text", "text is left out: blank")] * 2
    assert [change.record for change in changes] == ["a", "u"]


def test_a_call_without_a_result_gets_an_error_that_says_so() -> None:
    contents, changes = sent(
        user("hi"), assistant(call("t1"), call("t2")), user("go on"), assistant("ok"), user("x")
    )
    assert contents[2] == [
        tool_result("t1", MISSING_RESULT, error=True),
        tool_result("t2", MISSING_RESULT, error=True),
        text_block("go on"),
    ]
    assert [c.record for c in changes] == ["a", "a"] and "no result" in changes[0].text


def test_a_result_without_a_call_is_dropped_and_the_first_of_two_wins() -> None:
    contents, changes = sent(
        user(tool_result("t9", "lost"), "hi"),
        assistant(call()),
        user(tool_result("t1", "first"), tool_result("t1", "second")),
        assistant("ok"),
        user(tool_result("t1", "late"), "go"),
    )
    assert contents == [
        [text_block("hi")],
        [call()],
        [tool_result("t1", "first")],
        [text_block("ok")],
        [text_block("go")],
    ]
    assert said(changes) == [
        ("orphan_result", "a tool result is left out: there is no call that it answers"),
        ("orphan_result", "a tool result is left out: there is no call that it answers"),
        ("second_result", "a tool result is left out: the call had a result already"),
    ]


def test_ids_used_again_are_told_apart_on_both_sides() -> None:
    turn = [assistant(call("bash:0")), user(tool_result("bash:0", "out"))]
    contents, changes = sent(user("hi"), *turn, *turn, *turn)
    assert [content[0]["id"] for content in contents[1::2]] == ["bash_0", "bash_0-2", "bash_0-3"]
    assert [content[0]["tool_use_id"] for content in contents[2::2]] == ["bash_0", "bash_0-2", "bash_0-3"]
    assert changes[0].text == "the call's id 'bash:0' is sent as bash_0"


def test_two_calls_of_one_id_in_one_message_take_the_results_in_order() -> None:
    contents, _ = sent(
        user("hi"), assistant(call("t1"), call("t1")), user(tool_result("t1", "1"), tool_result("t1", "2"))
    )
    assert contents[2] == [tool_result("t1", "1"), tool_result("t1-2", "2")]


def test_a_repaired_id_never_takes_one_that_came_before() -> None:
    contents, _ = sent(
        user("hi"),
        assistant(call("a_b"), call("a:b"), call("a_b-2")),
        user(*[tool_result(i, i) for i in ("a:b", "a_b")]),
    )
    assert [block["id"] for block in contents[1]] == ["a_b", "a_b-2", "a_b-2-2"]
    assert [block["content"] for block in contents[2]] == ["a_b", "a:b", MISSING_RESULT]


@pytest.mark.parametrize(
    ("name", "good"),
    [("my tool!", "my_tool_"), ("", "unknown_tool"), (None, "unknown_tool"), ("x" * 200, "x" * 128)],
)
def test_names_of_tools_are_brought_into_the_apis_alphabet(name: Any, good: str) -> None:
    contents, changes = sent(user("hi"), assistant(call(name=name)), user(tool_result("t1", "")))
    assert contents[1][0]["name"] == good
    assert [change.rule for change in changes] == ["names"]


@pytest.mark.parametrize(
    ("arguments", "good"),
    [
        ('{"command": "ls"}', {"command": "ls"}),
        ('{"command": "l', {"malformed": '{"command": "l'}),
        ([1], {"malformed": [1]}),
    ],
)
def test_arguments_that_are_no_object_are_kept_in_one(arguments: Any, good: Any) -> None:
    contents, changes = sent(user("hi"), assistant(call(arguments=arguments)), user(tool_result("t1", "")))
    assert contents[1][0]["input"] == good
    assert said(changes) == [("arguments", "the arguments of bash were not an object")]


def test_arguments_are_data_whatever_their_fields_are_called() -> None:
    data = {"cache_control": "no-store", "index": 1, "empty": None}
    contents, _ = sent(user("hi"), assistant(call(arguments=data)), user(tool_result("t1", "")))
    assert contents[1][0]["input"] == data


def test_thinking_of_another_model_is_stripped_and_of_this_one_kept() -> None:
    contents, changes = sent(
        user("a"), assistant(THINKING, "x", model="gpt-9"), user("b"), assistant(THINKING, model="gpt-9"), user("c"),
        assistant(THINKING, "y", model=MODEL + "-20260901"), user("d"), assistant(THINKING, "z", model=None), user("e"),
    )  # fmt: skip
    assert contents[1:4] == [
        [text_block("x")],
        [text_block("b"), text_block("c")],
        [THINKING, text_block("y")],
    ]
    assert contents[5] == [text_block("z")]
    assert said(changes) == [("other_model", "thinking is left out: another model wrote it")] * 3


def test_thinking_without_a_signature_is_never_sent() -> None:
    unsigned = {"type": "thinking", "thinking": "hm", "signature": ""}
    contents, changes = sent(user("a"), assistant(unsigned, "x"), user("b"))
    assert contents[1] == [text_block("x")]
    assert changes[0].text == "thinking is left out: it carries no signature"


def test_what_the_model_itself_sent_goes_back_to_it_and_to_no_other() -> None:
    new = {"type": "hologram", "data": None}
    cited = {**text_block("x"), "citations": [{"type": "char_location"}], "flavour": 1}
    history = (user("a"), assistant(new, cited), user("b"))
    assert sent(*history)[0][1] == [new, cited]
    messages, changes = lint(history, model="claude-opus-5-5")
    assert messages[1]["content"] == [text_block("x")]
    assert said(changes) == [("other_model", "hologram is left out: another model wrote it")]


def test_what_a_client_library_added_is_not_sent_back() -> None:
    parsed = {**text_block("x"), "citations": None, "parsed_output": None, "index": 0}
    assert sent(user("a"), assistant(parsed), user("b"))[0][1] == [text_block("x")]


def test_blocks_stand_only_where_the_api_takes_them() -> None:
    contents, changes = sent(
        user("a", THINKING, call(), {"type": "hologram"}),
        assistant("x", image(9, 9), tool_result("t1", "")),
        user("b"),
    )
    assert contents == [[text_block("a")], [text_block("x")], [text_block("b")]]
    assert [text for _, text in said(changes)] == [
        "thinking is left out: a user message cannot hold it",
        "tool_use is left out: a user message cannot hold it",
        "hologram is left out: a user message cannot hold it",
        "image is left out: an assistant message cannot hold it",
        "tool_result is left out: an assistant message cannot hold it",
    ]


def test_a_server_tool_without_its_other_half_is_left_out() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    assert sent(user("a"), assistant(search, found, "x"), user("b"))[0][1] == [search, found, text_block("x")]
    assert sent(user("a"), assistant(search), assistant(found, "x"), user("b"))[0][1] == [
        search,
        found,
        text_block("x"),
    ]
    contents, changes = sent(user("a"), assistant(found, "x", search), user("b"))
    assert contents[1] == [text_block("x")]
    assert [change.text.split()[0] for change in changes] == ["web_search_tool_result", "server_tool_use"]


def test_a_history_that_ends_or_begins_with_the_assistant_is_completed() -> None:
    contents, changes = sent(assistant("x"))
    assert contents == [[text_block(EARLIER)], [text_block("x")], [text_block(CONTINUE)]]
    assert [change.rule for change in changes] == ["begins", "ends"]


@pytest.mark.parametrize("history", [(), (user(),), (user(" "), assistant("\n"))])
def test_a_history_of_nothing_is_still_a_request(history: tuple[Message, ...]) -> None:
    contents, changes = sent(*history)
    assert contents == [[text_block(CONTINUE)]]
    assert changes[-1].text == "there was nothing to send"
    assert repairs(history, model=MODEL) == []


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("\n", ""),
        ([], ""),
        ([text_block(" "), text_block("x")], [text_block("x")]),
        (["x"], [text_block("x")]),
        (text_block("x"), [text_block("x")]),
        ({"stdout": "x"}, '{"stdout": "x"}'),
        (7, "7"),
        ([{"type": "audio"}, text_block("x")], [text_block("x")]),
    ],
)
def test_the_content_of_a_result_is_a_text_or_blocks(content: Any, kept: Any) -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": None}
    contents, _ = sent(user("a"), assistant(call()), user(block))
    assert contents[2] == [{"type": "tool_result", "tool_use_id": "t1", "content": kept}]


def test_images_in_results_are_kept_but_not_in_failed_ones() -> None:
    block = tool_result("t1", [text_block("x"), image(9, 9)])
    assert sent(user("a"), assistant(call()), user(block))[0][2] == [block]
    contents, changes = sent(user("a"), assistant(call()), user({**block, "is_error": True}))
    assert contents[2][0]["content"] == [text_block("x"), text_block("[image left out]")]
    assert "only text may stand there" in changes[0].text


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"height": 9000}, "its longer side is 9000 px, the limit is 8000"),
        ({"bytes": 11_000_000}, "it has 11000000 bytes, the limit is 10485760"),
        ({"media_type": "image/tiff"}, "'image/tiff' cannot be sent"),
        ({"sha256": ""}, "its source has no sha256"),
        ({"type": "hologram"}, "its source is of no known kind"),
        ({"type": "base64", "data": "AAA"}, "its data is no base64"),
        ({"type": "url", "url": "file:///a.png"}, "its address is not on the web"),
    ],
)
def test_an_image_that_cannot_be_sent_becomes_a_text_that_says_why(source: dict[str, Any], why: str) -> None:
    contents, changes = sent(user("see", image(9, **source)))
    assert contents == [[text_block("see"), text_block(f"[image left out: {why}]")]]
    assert said(changes) == [("media", f"the image is left out: {why}")]


def test_with_more_than_twenty_images_the_large_ones_become_texts() -> None:
    large = [image(2001, 9), tool_result("t1", [image(9, 3000)])]
    history = [user(*[image(2000, 9)] * 18), assistant(call()), user(*reversed(large))]
    assert image(2001, 9) in sent(*history)[0][2]
    contents, changes = sent(*history, assistant("x"), user(image(9, 9)))
    assert "the limit is 2000 with over 20 images" in contents[2][0]["content"][0]["text"]
    assert contents[2][1]["type"] == "text"
    assert [change.rule for change in changes] == ["many_images", "many_images"]


def test_at_most_four_breakpoints_are_kept_the_newest() -> None:
    marked = [{**text_block(f"{n}"), "cache_control": {"type": "ephemeral"}} for n in range(6)]
    inside = tool_result("t1", [{**text_block("x"), "cache_control": {"type": "ephemeral"}}])
    contents, changes = sent(
        user(*marked), assistant({**THINKING, "cache_control": {"type": "ephemeral"}}, call()), user(inside)
    )
    assert ["cache_control" in block for block in contents[0]] == [False, False, True, True, True, True]
    assert contents[1][0] == THINKING and contents[2] == [tool_result("t1", [text_block("x")])]
    assert {change.rule for change in changes} == {"breakpoints"}


def test_what_json_or_utf8_has_no_form_for_is_replaced_but_never_in_signed_blocks() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    odd = {"n": float("nan"), "i": 10**400, "b": b"x", "deep": deep, "k\ud800": "\ud83d\ude00"}
    contents, changes = sent(
        user("a\ud800b"), assistant({**THINKING, "thinking": "\udfff"}, call(arguments=odd))
    )
    assert contents[0] == [text_block("a\ufffdb")]
    assert len(contents[1]) == 1
    arguments = contents[1][0]["input"]
    assert (arguments["n"], arguments["i"], arguments["b"]) == ("nan", "[number too large]", "b'x'")
    assert arguments["k\ufffd"] == "\U0001f600" and "[nested too deeply]" in str(arguments["deep"])
    assert [c.text for c in changes if c.rule == "encoding"] == [
        "held what cannot be encoded: replaced",
        "held what cannot be encoded: left out",
        "held what cannot be encoded: replaced",
    ]


def test_content_of_any_shape_is_read_as_far_as_it_can_be() -> None:
    broken: Any = ["words", None, 7, {"text": "no type"}, text_block("x"), {"type": "text", "text": 3}]
    contents, _ = sent(Message("user", broken), Message("user", "bare"), Message("user", None))  # type: ignore[arg-type]
    assert contents == [[text_block("words"), text_block("x"), text_block("bare")]]
    contents, changes = sent(user("a"), Message("system", [text_block("no")]))  # type: ignore[arg-type]
    assert contents == [[text_block("a")]] and changes[0].rule == "roles"


def test_hostile_text_is_sent_as_it_is() -> None:
    hostile = "\x00\x1b]52;c;aGk=\x07[bold]x[/bold]\u202e\u200b"
    assert sent(user(hostile))[0] == [[text_block(hostile)]]


def test_the_records_of_every_message_and_block_are_known() -> None:
    history = [user("a", id="r1"), user("b", id="r2"), assistant(call(), "x", id="r3"), user("c", id="r4")]
    done = linted(history, model=MODEL)
    assert done.sources == [("r1", "r2"), ("r3",), ("r4",)]
    assert done.blocks == [("r1", "r2"), ("r3", "r3"), ("", "r4")]


def test_stored_repairs_stand_where_lint_puts_them() -> None:
    history = [user("a"), assistant(call("bash:0"), call("t2")), user(tool_result("t2", "out"))]
    blocks = repairs(history, model=MODEL)
    assert blocks == [tool_result("bash:0", MISSING_RESULT, error=True)]
    stored = [*history, Message("user", blocks, id="repair", origin="repair")]
    assert lint(stored, model=MODEL)[0] == lint(history, model=MODEL)[0]
    assert repairs([user("a"), assistant("x")], model=MODEL) == [text_block(CONTINUE)]
    assert repairs([user("a")], model=MODEL) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("claude-sonnet-4-0", "claude-sonnet-4-20250514", True),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219", True),
        ("us.anthropic.claude-opus-4-7-v1:0", "claude-opus-4-7", True),
        ("anthropic/claude-opus-4.7", "claude-opus-4-7", True),
        ("claude-opus-4-5@20251101", "claude-opus-4-5", True),
        ("claude-opus-4-7", "claude-opus-4-6", False),
        ("claude-sonnet-4-5", "claude-opus-4-5", False),
        ("gpt-4o-2024-08-06", "gpt-4o", False),
        ("", "", False),
    ],
)
def test_a_model_is_known_under_its_names(one: str, other: str, same: bool) -> None:
    assert same_model(one, other) is same
