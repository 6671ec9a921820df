"""What lines mean: elisions, marks, bookmarks, damage, other programs' records."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.context.compare import call, check, everything, fresh, result, talk, text
from tui_agent.context import Context

SAMPLES = Path(__file__).parent / "samples" / "kimi-cli"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "context.jsonl"


async def opened(path: Path, *lines: bytes | dict[str, Any]) -> Context:
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in data))
    context = Context(path)
    await context.restore()
    return context


# --- elisions ---------------------------------------------------------------------------------------------------


async def test_an_elision_puts_its_text_where_the_block_can_hold_it(path: Path) -> None:
    context = Context(path)
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "words"},
        call("t", command="ls"),
        {"type": "image", "source": {"type": "blob", "sha256": "0" * 64}},
        {"type": "unheard_of", "x": 1},
    ]
    [record] = await context.append_message({"role": "assistant", "content": blocks})
    await context.elide(
        [{"record": record.id, "block": place, "as": f"[{place}]"} for place in range(5)],
        by="user",
        reason="drop",
    )
    assert context.history[0].content == [
        {"type": "text", "text": "[0]"},
        {"type": "text", "text": "[1]"},
        {**call("t"), "input": {"elided": "[2]"}},
        {"type": "text", "text": "[3]"},
        {"type": "text", "text": "[4]"},
    ]
    assert context.records[0].body["content"] == blocks
    await check(context)


async def test_an_elided_result_keeps_its_call_and_its_error(path: Path) -> None:
    context = Context(path)
    block = {**result("t", "long")["content"][0], "is_error": True}
    [record] = await context.append_message({"role": "user", "content": [block]})
    await context.elide([{"record": record.id, "block": 0, "as": "[truncated]"}], by="auto", reason="micro")
    assert context.history[0].content == [{**block, "content": "[truncated]"}]
    assert [(e.by, e.reason, e.block) for e in context.elided(record.id)] == [("auto", "micro", 0)]


async def test_a_whole_record_can_be_dropped_or_stand_behind_one_text(path: Path) -> None:
    context = Context(path)
    [answer] = await context.append_message(
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, call("t", x=1)]}
    )
    [results] = await context.append_message(
        {
            "role": "user",
            "content": [
                *result("t", "one")["content"],
                *result("u", "two")["content"],
                text("x")["content"][0],
            ],
        }
    )
    [words] = await context.append_message({"role": "user", "content": "bare"})
    await context.elide(
        [{"record": record.id, "as": "[gone]"} for record in (answer, results, words)],
        by="user",
        reason="drop",
    )
    assert [message.content for message in context.history] == [
        [{**call("t"), "input": {"elided": "[gone]"}}],
        [*result("t", "[gone]")["content"], *result("u", "[gone]")["content"]],
        [{"type": "text", "text": "[gone]"}],
    ]
    drop = await context.elide([{"record": words.id}], by="user", reason="drop")
    assert [message.id for message in context.history] == [answer.id, results.id]
    await check(context)
    await context.restore_elided(drop.id)
    assert context.history[-1].text == "[gone]"
    await check(context)


async def test_a_message_all_of_whose_blocks_are_dropped_is_left_out_until_one_comes_back(path: Path) -> None:
    context = Context(path)
    await context.append_message(text("first"))
    [record] = await context.append_message({"role": "user", "content": [*text("a")["content"]] * 2})
    await context.append_message(text("last"))
    elide = await context.elide(
        [{"record": record.id, "block": place, "as": None} for place in (0, 1)], by="user", reason="drop"
    )
    assert len(context.history) == 2
    assert context.tokens(record.id).count == 0
    await check(context)
    await context.restore_elided(elide, [1])
    assert [len(message.content) for message in context.history] == [1, 1, 1]
    await check(context)
    await context.restore_elided(elide)
    assert context.elided(record.id) == []
    await check(context)


async def test_what_was_brought_back_is_remembered_by_block(path: Path) -> None:
    context = Context(path)
    records = await context.append_message([text("one"), text("two"), text("three")])
    items: list[dict[str, Any]] = [
        {"record": records[0].id, "as": None},
        {"record": records[1].id, "block": 0, "as": "short"},
        {"record": records[2].id, "as": None},
    ]
    elide = await context.elide(items, by="auto", reason="micro", before=9, after=4)
    assert (elide.body["before"], elide.body["after"]) == (9, 4), "figures are kept"
    assert [context.brought_back(record.id) for record in records] == [frozenset()] * 3
    await context.restore_elided(elide, [0])
    bookmark = await context.checkpoint()
    await context.restore_elided(elide, [1])
    await context.elide(items[:1], by="user", reason="drop")
    assert [context.brought_back(record.id) for record in records] == [{None}, {0}, frozenset()]
    with pytest.raises(ValueError):
        context.brought_back("nobody")
    await check(context)
    await context.revert_to(bookmark)
    assert [context.brought_back(record.id) for record in records] == [{None}, frozenset(), frozenset()]
    await check(context)
    await context.close()


async def test_an_estimate_foretells_what_an_elision_does_to_the_weight(path: Path) -> None:
    context = Context(path)
    first, second = await context.append_message([text("one " * 200), text("two " * 200)])
    before = context.weigh().total
    foreseen = context.estimated(first.id) - context.estimated(first.id, {0: "short"})
    foreseen += context.estimated(second.id) - context.estimated(second.id, {None: None})
    items: list[dict[str, Any]] = [
        {"record": first.id, "block": 0, "as": "short"},
        {"record": second.id, "as": None},
    ]
    await context.elide(items, by="user", reason="drop")
    assert before - context.weigh().total == foreseen > 0
    assert context.estimated(second.id) == 0
    await context.close()


async def test_the_newest_elision_of_a_block_counts_and_the_one_before_when_it_is_brought_back(
    path: Path,
) -> None:
    context = Context(path)
    [record] = await context.append_message({"role": "user", "content": "bare"})
    await context.elide([{"record": record.id, "block": 0, "as": "[one]"}], by="user", reason="drop")
    second = await context.elide([{"record": record.id, "block": 0, "as": "[two]"}], by="user", reason="drop")
    assert context.history[0].text == "[two]"
    await context.restore_elided(second.id)
    assert context.history[0].text == "[one]"
    await check(context)


@pytest.mark.parametrize(
    "item",
    [
        {"record": "nobody", "as": None},
        {"as": None},
        {"record": "words", "block": 1, "as": None},
        {"record": "words", "block": -1, "as": None},
        {"record": "words", "block": True, "as": None},
        {"record": "words", "block": 0, "as": 5},
        {"record": "mark", "as": None},
    ],
)
async def test_an_elision_of_what_is_not_there_is_a_value_error(path: Path, item: dict[str, Any]) -> None:
    context = Context(path)
    await context.append({"role": "_checkpoint", "id": 0, "uid": "mark"})
    await context.append_message({**text("x"), "id": "words"})
    size = path.stat().st_size
    with pytest.raises(ValueError):
        await context.elide([{"record": "words", "as": None}, item], by="user", reason="drop")
    with pytest.raises(ValueError):
        await context.elide([], by="user", reason="drop")
    assert path.stat().st_size == size


async def test_bringing_back_what_was_not_elided_is_a_value_error(path: Path) -> None:
    context = Context(path)
    [words] = await context.append_message(text("x"))
    elide = await context.elide([{"record": words.id, "as": None}], by="user", reason="drop")
    for name, items in (
        ("nobody", None),
        (words.id, None),
        (elide.id, [1]),
        (elide.id, [-1]),
        (elide.id, [True]),
    ):
        with pytest.raises(ValueError):
            await context.restore_elided(name, items)
    await check(context)


async def test_unusable_items_of_an_elision_in_a_file_are_passed_over(path: Path) -> None:
    items = [
        "x",
        None,
        {"record": 5, "as": None},
        {"record": "later", "as": None},
        {"record": "w", "block": 7, "as": None},
        {"record": "w", "block": 0, "as": ["x"]},
        {"record": "w", "block": 0, "as": "[ok]"},
    ]
    context = await opened(
        path,
        {**text("x"), "id": "w"},
        {"role": "_elide", "items": items},
        {**text("later"), "id": "later"},
        {"role": "_restore_elided", "elide": "nobody"},
    )
    assert [message.text for message in context.history] == ["[ok]", "later"]
    assert context.damage == []
    elide = context.records[1]
    assert elide.id.startswith("L")
    await context.restore_elided(elide)
    assert context.history[0].text == "x"
    await check(context)


# --- marks, state, bookmarks ------------------------------------------------------------------------------------


async def test_marks_begin_with_the_record_and_change_one_by_one(path: Path) -> None:
    context = Context(path)
    [record] = await context.append_message(text("x"), priority=75, ttl=20, compressible=False, other=1)
    assert dict(context.marks(record.id)) == {"priority": 75, "ttl": 20, "compressible": False}
    await context.mark(record.id, pinned=True)
    await context.mark(record, priority=0, by="auto")
    assert dict(context.marks(record.id)) == {
        "priority": 0,
        "ttl": 20,
        "compressible": False,
        "pinned": True,
        "by": "auto",
    }
    for wrong in (
        context.mark("nobody", pinned=True),
        context.mark(record.id),
        context.mark(record.id, by="user"),
    ):
        with pytest.raises(ValueError):
            await wrong
    with pytest.raises(ValueError, match="nobody"):
        context.marks("nobody")
    await check(context)


async def test_state_holds_any_value_and_null_is_one(path: Path) -> None:
    context = Context(path)
    for value in ({"a": [1]}, None, 3.5, "x", False):
        await context.set_state("goal", value)
        assert dict(context.state) == {"goal": value}
        await check(context)
    with pytest.raises(TypeError):
        context.state["goal"] = 1  # type: ignore[index]


async def test_checkpoints_tell_the_words_of_their_turn(path: Path) -> None:
    context = Context(path)
    assert context.checkpoints() == []
    await context.checkpoint(turn=True)
    await context.append_message(text("reminder"), origin="injection")
    await context.append_message(text("fix\n  the   bug " + "x" * 500))
    await context.checkpoint()
    await context.append_message(text("ok", "assistant"))
    await context.update_token_count(700)
    await context.checkpoint()
    await context.append_message(text("steer"))
    await context.checkpoint(turn=True)
    marks = context.checkpoints()
    assert [(mark.id, mark.turn, mark.line, mark.tokens) for mark in marks] == [
        (0, True, 1, 0),
        (1, False, 4, 0),
        (2, False, 7, 700),
        (3, True, 9, 700),
    ]
    assert marks[0].words.startswith("fix the bug xxx") and len(marks[0].words) == 200
    assert [mark.words for mark in marks[1:]] == ["", "", ""]
    assert context.words_after(0) == "fix\n  the   bug " + "x" * 500
    assert context.words_after(marks[1].uid) == ""
    assert marks[-1].at and len(marks) == context.n_checkpoints == 4
    await check(context)


# --- damage -----------------------------------------------------------------------------------------------------

GOOD = b'{"role":"user","content":"good","id":"g%d"}'
DAMAGED = {
    "not json": b"hello",
    "half": b'{"role":"user","content":"hal',
    "list": b"[1, 2]",
    "string": b'"user"',
    "null": b"null",
    "no role": b'{"content":"x"}',
    "role of another type": b'{"role":5,"content":"x"}',
    "joined": b'{"role":"user","content":"a","id":"x"}{"role":"user","content":"b","id":"y"}',
    "bad utf-8": b'{"role":"user","content":"\xff\xfe","id":"x"}',
    "bad utf-8 in what the header skips": b'{"role":"user","content":[{"type":"text","text":"\xe4\xb8"}],"id":"x"}',
    "overlong utf-8": b'{"role":"user","content":"\xc0\xaf","id":"x"}',
    "surrogate in utf-8": b'{"role":"user","content":"\xed\xa0\x80","id":"x"}',
    "NUL run": b"\x00" * 500,
    "NUL tail": b'{"role":"user","content":"x","id":"x"}\x00\x00',
    "content a number": b'{"role":"user","content":5,"id":"x"}',
    "content an object": b'{"role":"user","content":{"type":"text"},"id":"x"}',
    "block without a type": b'{"role":"user","content":[{"text":"x"}],"id":"x"}',
    "block that is text": b'{"role":"user","content":["x"],"id":"x"}',
    "block type a number": b'{"role":"user","content":[{"type":5}],"id":"x"}',
    "nested 100 000 deep": b'{"role":"user","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested in content": b'{"role":"user","content":[{"type":"t","x":'
    + b'{"a":' * 100_000
    + b"1"
    + b"}" * 100_002,
    "5000 digits": b'{"role":"user","content":"x","id":"x","n":' + b"9" * 5000 + b"}",
    "-5000 digits": b'{"role":"user","content":"x","id":"x","n":-' + b"9" * 4301 + b"}",
    "id of a checkpoint": b'{"role":"_checkpoint","id":1e999}',
    "tokens": b'{"role":"_usage","token_count":' + b"9" * 400 + b"}",
    "tokens a fraction": b'{"role":"_usage","token_count":1.5}',
    "tokens true": b'{"role":"_usage","token_count":true}',
}


@pytest.mark.parametrize("name", DAMAGED)
async def test_a_damaged_line_is_counted_with_its_place_and_stops_nothing(path: Path, name: str) -> None:
    damaged = DAMAGED[name]
    context = await opened(path, GOOD % 1, damaged, GOOD % 2)
    assert [message.id for message in context.history] == ["g1", "g2"]
    [damage] = context.damage
    offset = len(GOOD % 1) + 1
    assert (damage.line, damage.offset, damage.length) == (2, offset, len(damaged))
    assert damage.reason
    record = context.records[1]
    assert (record.damaged, record.role, record.raw, record.body) == (damage.reason, "", damaged, {})
    await check(context)
    await context.append_message(text("next"))
    await context.checkpoint()
    await check(context)
    backup = await context.revert_to(0)
    assert context.damage == []
    assert damaged in (path.parent / backup.name).read_bytes()
    assert [message.text for message in context.history] == ["good", "good", "next"]
    await check(context)
    await context.undo()
    assert [damage.line for damage in context.damage] == [2]
    await check(context)


ODD = {
    "control characters in strings": (b'{"role":"user","content":"a\tb\x01c","id":"x"}', "a\tb\x01c"),
    "lone surrogate": (b'{"role":"user","content":"a\\ud800b","id":"x"}', "a\ufffdb"),
    "lone surrogate in a block": (
        b'{"role":"user","content":[{"type":"text","text":"\\udc00"}],"id":"x"}',
        "\ufffd",
    ),
    "NaN": (b'{"role":"user","content":"nan","id":"x","n":NaN}', "nan"),
    "1e999": (b'{"role":"user","content":"inf","id":"x","n":1e999}', "inf"),
    "many digits in a text": (b'{"role":"user","content":"' + b"7" * 6000 + b'","id":"x"}', "7" * 6000),
    "a fraction of many digits": (b'{"role":"user","content":"x","id":"x","n":0.' + b"1" * 4000 + b"}", "x"),
    "900 levels": (b'{"role":"user","content":"deep","id":"x","n":' + b"[" * 900 + b"]" * 900 + b"}", "deep"),
    "carriage return": (b'{"role":"user","content":"crlf","id":"x"}\r', "crlf"),
    "spaces around": (b' \t{"role" : "user", "content": "spaced", "id": "x"}  ', "spaced"),
    "keys twice": (b'{"role":"x","role":"user","content":"last","id":"x"}', "last"),
    "escaped keys": (b'{"r\\u006fle":"user","c\\u006fntent":"escaped","id":"x"}', "escaped"),
    "id a number": (b'{"role":"user","content":"numbered","id":12}', "numbered"),
    "id an object": (b'{"role":"user","content":"odd id","id":{}}', "odd id"),
    "origin a number": (b'{"role":"user","content":"odd origin","origin":5,"id":"x"}', "odd origin"),
    "line separators": ('{"role":"user","content":"a\u2028b\u0085c","id":"x"}'.encode(), "a\u2028b\u0085c"),
}


@pytest.mark.parametrize("name", ODD)
async def test_a_line_that_is_only_odd_is_read(path: Path, name: str) -> None:
    line, words = ODD[name]
    context = await opened(path, GOOD % 1, line, GOOD % 2)
    assert context.damage == []
    assert [message.text for message in context.history] == ["good", words, "good"]
    json.dumps(context.records[1].body, allow_nan=False)
    await check(context)
    await context.checkpoint()
    await context.revert_to(0)
    assert line in path.read_bytes()
    await check(context)


async def test_blank_lines_are_nothing_but_count_as_lines(path: Path) -> None:
    context = await opened(path, b"", GOOD % 1, b"  \t\r", b"", GOOD % 2, b"x")
    assert [record.line for record in context.records] == [2, 5, 6]
    assert [damage.line for damage in context.damage] == [6]
    [record] = await context.append_message(text("next"))
    assert record.line == 7
    await check(context)
    await context.write_system_prompt("front")
    assert [record.line for record in context.records] == [1, 2, 3, 4, 5]
    await check(context)


async def test_a_byte_order_mark_is_passed_over(path: Path) -> None:
    context = await opened(path, b"\xef\xbb\xbf" + GOOD % 1, GOOD % 2)
    assert (len(context.history), context.damage) == (2, [])
    assert (context.records[0].offset, context.records[0].raw) == (3, GOOD % 1)
    await check(context)
    await context.checkpoint()
    await context.revert_to(0)
    assert path.read_bytes().startswith(GOOD % 1)
    await check(context)


@pytest.mark.parametrize(
    "tail", [b'{"role":"user","content":"torn', b"\x00\x00", b"x", b" ", GOOD % 9, b"\xe4"]
)
async def test_a_torn_last_line_is_closed_before_the_next_append(path: Path, tail: bytes) -> None:
    context = await opened(path, GOOD % 1)
    await context.close()
    path.write_bytes(path.read_bytes() + tail)
    await context.restore()
    await check(context)
    before = len(context.history)
    assert before == 1 + (tail == GOOD % 9)
    [record] = await context.append_message(text("next"))
    assert record.line == 3
    assert path.read_bytes().startswith(GOOD % 1 + b"\n" + tail + b"\n{")
    assert len(context.history) == before + 1
    await check(context)


@pytest.mark.parametrize("tail", [b'{"role":"user","content":"torn', GOOD % 9])
async def test_a_torn_last_line_is_safe_in_a_rewrite_too(path: Path, tail: bytes) -> None:
    context = await opened(path, GOOD % 1)
    await context.close()
    path.write_bytes(path.read_bytes() + tail)
    await context.restore()
    await context.write_system_prompt("front")
    assert len(context.history) == 1 + (tail == GOOD % 9)
    await check(context)
    await context.undo()
    assert path.read_bytes().startswith(GOOD % 1 + b"\n" + tail + b"\n{")
    await check(context)


async def test_every_cut_of_the_last_record_leaves_the_others_and_later_ones(tmp_path: Path) -> None:
    source = Context(tmp_path / "source" / "context.jsonl")
    await talk(source, 1)
    await source.append_message(text("世界 end"))
    data = source.path.read_bytes()
    last = source.records[-1].offset
    for size in range(last, len(data)):
        path = tmp_path / f"{size}" / "context.jsonl"
        path.parent.mkdir()
        path.write_bytes(data[:size])
        context = Context(path)
        await context.restore()
        whole = size == len(data) - 1
        assert len(context.history) == 4 + whole
        assert len(context.damage) == (0 if whole or size == last else 1)
        await context.append_message(text("later"))
        assert context.history[-1].text == "later"
        assert everything(context)["history"] == everything(await fresh(path))["history"]
        await context.close()


async def test_records_of_unknown_roles_are_kept_and_shown(path: Path) -> None:
    unknown = b'{"role":"_future","content":{"any":["thing"]},"id":"f"}'
    stranger = b'{"role":"system","content":"x","id":"s"}'
    context = await opened(path, GOOD % 1, unknown, stranger, {"role": "_checkpoint", "id": 0, "uid": "c"})
    assert context.damage == []
    assert [record.role for record in context.records][1:3] == ["_future", "system"]
    assert context.record("f").body["content"] == {"any": ["thing"]}
    await context.revert_to(0)
    assert path.read_bytes().startswith(GOOD % 1 + b"\n" + unknown + b"\n" + stranger)
    await check(context)


async def test_unknown_blocks_are_kept(path: Path) -> None:
    block = {"type": "container_upload", "file_id": "f", "deep": {"x": [None, 1.5]}}
    context = await opened(path, {"role": "assistant", "content": [block], "id": "a"})
    assert context.history[0].content == [block]


async def test_a_message_without_content_is_a_record_and_not_part_of_the_history(path: Path) -> None:
    context = await opened(
        path,
        {"role": "user", "id": "a"},
        {"role": "user", "content": None, "id": "b"},
        {"role": "user", "content": [], "id": "c"},
        {"role": "user", "content": "", "id": "d"},
    )
    assert [record.id for record in context.records] == ["a", "b", "c", "d"]
    assert [(message.id, message.text) for message in context.history] == [("d", "")]
    await check(context)


async def test_lines_that_are_there_twice_are_two_records(path: Path) -> None:
    line = GOOD % 1
    elide = {"role": "_elide", "id": "e", "items": [{"record": "g1", "as": "[short]"}]}
    context = await opened(path, line, line, elide, elide)
    stem = f"L{sha256(line).hexdigest()[:12]}"
    assert [record.id for record in context.records][:2] == ["g1", f"{stem}-1"]
    assert [message.text for message in context.history] == ["[short]", "good"]
    await context.restore_elided("e")
    assert context.history[0].text == "[short]"
    await check(context)


async def test_records_without_ids_get_ones_that_last(path: Path) -> None:
    line = b'{"role":"user","content":"again"}'
    context = await opened(path, b"damaged", line, line, {"role": "_usage", "token_count": 5}, GOOD % 1)
    stem = f"L{sha256(line).hexdigest()[:12]}"
    ids = [record.id for record in context.records]
    assert ids[1:3] == [f"{stem}-1", f"{stem}-2"]
    assert ids[3].endswith("-4")
    assert all(context.record(name).id == name for name in ids)
    for wrong in (f"{stem}-3", "L000000000000-4", "L-", "L" + "9" * 30 + "-" + "9" * 30, ids[3][:-1] + "²"):
        with pytest.raises(ValueError, match="no record"):
            context.record(wrong)
    await context.elide([{"record": ids[2], "as": None}], by="user", reason="drop")
    await context.checkpoint()
    await context.revert_to(0)
    assert [record.id for record in context.records][:2] == ids[1:3]
    assert [message.id for message in context.history] == [ids[1], "g1"]
    await check(context)


# --- Kimi CLI ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sample", sorted(SAMPLES.glob("*/*.jsonl")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
async def test_sessions_of_kimi_cli_restore_and_go_on(tmp_path: Path, sample: Path) -> None:
    path = tmp_path / "context.jsonl"
    shutil.copy(sample, path)
    path.chmod(0o600)
    data = path.read_bytes()
    context = Context(path)
    assert await context.restore()
    seen = await check(context)
    assert path.read_bytes() == data
    assert (seen["damage"], context.system_prompt) == ([], "You are a coding agent — use the tools.")
    assert context.weigh().exact == json.loads(data.splitlines()[-1]).get("token_count", context.token_count)
    await context.append_message(text("go on"))
    await context.elide([{"record": context.history[0].id, "as": None}], by="user", reason="drop")
    await check(context)
    await context.revert_to(1)
    kept = data[: data.index(b'{"role": "_checkpoint", "id": 1}')]
    assert path.read_bytes()[: len(kept)] == kept
    assert path.read_bytes()[len(kept) :].count(b"\n") == 1
    await check(context)
    await context.undo()
    await check(context)


async def test_a_kimi_session_is_shown_in_api_form(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    shutil.copy(SAMPLES / "plain" / "context.jsonl", path)
    context = await fresh(path)
    assert [(message.role, message.origin) for message in context.history] == [
        ("user", None),
        ("assistant", None),
        ("user", "tool"),
        ("user", "tool"),
        ("assistant", None),
        ("user", None),
        ("assistant", None),
    ]
    answer, first = context.history[1], context.history[2]
    use = next(answer.blocks("tool_use"))
    assert use["input"] == {"command": "printf 'héllo 世界\\n'"}
    assert first.content[0]["tool_use_id"] == use["id"]
    marks = context.checkpoints()
    assert [(mark.id, mark.turn, mark.words) for mark in marks] == [
        (0, True, "list files"),
        (1, False, ""),
        (2, False, ""),
        (3, True, "what is in this image?"),
        (4, False, ""),
    ]
    assert (context.n_checkpoints, context.token_count, context.weigh().mark) == (5, 6712, "exact")


async def test_words_kimi_cli_wrote_itself_are_not_a_persons(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    shutil.copy(SAMPLES / "dmail" / "context.jsonl", path)
    context = await fresh(path)
    assert [message.origin for message in context.history if message.role == "user"] == [
        "checkpoint",
        None,
        "checkpoint",
        "dmail",
        "checkpoint",
    ]
    assert [mark.words for mark in context.checkpoints()] == ["count to five", "", ""]
