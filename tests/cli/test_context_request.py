"""`tui-agent context request`: any request as exact JSON, what it is made of, what differs between two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Inside, conversation, session, write
from tests.support.hostile import TEXTS, acts
from tui_agent.sessions.folder import SessionFolder

TOOLS = {
    "role": "_tools",
    "id": "T",
    "tools": [{"name": "bash", "description": "Run it.", "input_schema": {}}],
}


def _records(*words: str) -> list[dict[str, Any]]:
    """A conversation whose answers were counted."""
    records: list[dict[str, Any]] = []
    sent = 100
    for record in conversation(*words):
        records.append(record)
        if record["role"] == "_system_prompt":
            records.append(TOOLS)
        if record["role"] == "assistant":
            number = str(record["id"])[1:]
            records.append(
                {
                    "role": "_usage",
                    "token_count": sent + 7,
                    "exact": True,
                    "through": f"U{number}",
                    "produced": record["id"],
                    "input": 3,
                    "output": 7,
                    "cache_read": sent - 20,
                    "cache_write": 17,
                    "predicted": sent - 25,
                    "at": "2026-11-01T10:00:01+00:00",
                    "params": {"model": "m-1", "max_tokens": 900, "thinking": None},
                    "request": number * 64,
                }
            )
            sent += 20
    return records


@pytest.fixture
def made(shop: Path) -> SessionFolder:
    """A session of three turns."""
    folder = session(shop)
    write(folder.context_path, _records("first words", "second words", "third words"))
    return folder


def _texts(body: dict[str, Any]) -> list[str]:
    return [block["text"] for message in body["messages"] for block in message["content"]]


def test_a_request_is_printed_as_it_was_sent(run: Inside, made: SessionFolder) -> None:
    body = run("context", "request", "2").data
    assert (body["model"], body["max_tokens"]) == ("m-1", 900)
    assert _texts(body) == ["first words", "answer to first words", "second words"]
    assert [tool["name"] for tool in body["tools"]] == ["bash"]
    assert _texts(run("context", "request").data)[-2] == "answer to third words"
    assert _texts(run("context", "request", "next").data)[:1] == ["first words"]


def test_every_request_is_listed_with_its_figures(run: Inside, made: SessionFolder) -> None:
    out = run("context", "request", "--list").out
    assert len(out.splitlines()) == 4
    assert [out.splitlines()[2].split()[at] for at in (0, 1, 5, 6, 7)] == ["2", "1", "120", "83%", "79%"]
    (first, *_) = run("context", "request", "--list", "--json").data
    assert {key: first[key] for key in ("n", "turn", "model", "input", "cache_read", "total_input")} == {
        "n": 1, "turn": 0, "model": "m-1", "input": 3, "cache_read": 80, "total_input": 100,
    }  # fmt: skip
    assert [one["n"] for one in run("context", "request", "2", "--list", "--json").data] == [2]
    assert "there is no request 9" in run("context", "request", "9", "--list").err
    assert "--list is of those that were sent" in run("context", "request", "next", "--list").err


def test_what_a_request_is_made_of_closes(run: Inside, made: SessionFolder) -> None:
    out = run("context", "request", "3", "--manifest").out
    assert "request 3, turn 2" in out and "120 tokens read from the cache (115 foreseen)" in out
    assert "your words" in out and "answers" in out
    closing = dict(line.split() for line in out.splitlines()[-5:])
    total = closing.pop("total")
    assert sum(int(count) for count in closing.values()) == int(total) == 140
    data = run("context", "request", "3", "--manifest", "--json").data
    assert sum(item["tokens"] for item in data["items"]) == data["total"]["count"] == 140
    assert [item["name"] for item in data["items"]][:2] == ["bash", "system prompt"]
    spans = sorted((item["start"], item["end"]) for item in data["items"])
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]], "they tile what is sent"
    assert data["request"]["n"] == 3


def test_what_is_left_out_is_told_with_the_reason(run: Inside, made: SessionFolder) -> None:
    run("context", "drop", "A0")
    out = run("context", "request", "--manifest").out
    assert "left out" in out and "by you" in out
    (left,) = run("context", "request", "--manifest", "--json").data["left_out"]
    assert (left["record"], left["kept"]) == ("A0", False)


def test_what_does_not_fit_is_refused_and_its_manifest_shown_below_the_ways_out(
    run: Inside, shop: Path
) -> None:
    folder = session(shop)
    records = _records("first words", "word " * 260_000)
    write(folder.context_path, records[: [record.get("id") for record in records].index("U1") + 1])
    whole = run("context", "request", "--session", folder.id)
    assert (whole.code, whole.out) == (1, ""), "it is not sent, so it is not printed"
    assert "over the model's window" in whole.err
    made_of = run("context", "request", "--manifest", "--session", folder.id)
    assert made_of.code == 1 and "--profile P" in made_of.err, "the ways out, in the words of a shell"
    for words in ("refused: it does not fit", "STAYS", "always", "part", "too many"):
        assert words in made_of.out
    data = run("context", "request", "--manifest", "--json", "--session", folder.id).data
    assert data["refused"]["ways"] and data["stays"]["U1"] == "newest words"
    assert sum(item["tokens"] for item in data["items"]) == data["total"]["count"]
    assert data["refused"]["excess"] == data["total"]["count"] + 1_024 - data["window"]


def test_what_differs_between_two(run: Inside, made: SessionFolder) -> None:
    run("context", "drop", "A0")
    data = run("context", "request", "--diff", "3", "next", "--json").data
    told = [(change["what"], change["item"]["record"], change["why"]) for change in data["changes"]]
    assert ("gone", "A0", "dropped by you") in told
    assert ("added", "A2", "") in told
    moved = sum(change["after"] - change["before"] for change in data["changes"]) + data["counted_anew"]
    assert data["before"]["count"] + moved == data["after"]["count"]
    out = run("context", "request", "--diff", "3", "next").out
    assert "dropped by you" in out and "after" in out
    assert "nothing differs" in run("context", "request", "--diff", "2", "2").out


def test_requests_from_before_a_rewrite_are_found_in_its_backup(run: Inside, made: SessionFolder) -> None:
    run("context", "revert", "1")
    listed = run("context", "request", "--list", "--json").data
    assert [(one["n"], one["file"]) for one in listed] == [
        (1, ""), (2, "context_1.jsonl"), (3, "context_1.jsonl"),
    ]  # fmt: skip
    assert _texts(run("context", "request", "3").data)[-1] == "third words"
    (path,) = made.path.glob("context_1.jsonl")
    path.unlink()
    ended = run("context", "request", "3")
    assert (ended.code, ended.out) == (1, "")
    assert "there is no request 3" in ended.err


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("9",), 1, "there is no request 9: there are 1 to 3, and next"),
        (("0",), 1, "there is no request 0"),
        (("first",), 2, "'first' is no request"),
        (("--diff", "1", "x"), 2, "'x' is no request"),
    ],
)
def test_what_is_no_request_is_said_in_one_line(
    run: Inside, made: SessionFolder, argv: tuple[str, ...], code: int, words: str
) -> None:
    ended = run("context", "request", *argv)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert words in ended.err


def test_without_requests_the_list_is_empty(run: Inside, shop: Path) -> None:
    session(shop, "first words")
    assert "no request was sent yet" in run("context", "request", "--list").out
    assert run("context", "request", "--list", "--json").data == []
    assert "none was sent yet" in run("context", "request", "1").err


def test_hostile_words_act_on_no_terminal(run: Inside, shop: Path) -> None:
    folder = session(shop)
    write(folder.context_path, _records(*list(TEXTS.values())[:12], "the end"))
    for argv in (("2",), ("next", "--manifest"), ("--diff", "1", "9"), ("--list",)):
        assert not acts(run("context", "request", *argv).out), argv
