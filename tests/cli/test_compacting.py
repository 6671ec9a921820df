"""`tui-agent context compact`, and what `-p` says of a compaction."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agent.test_compaction import SUMMARY
from tests.cli.command import Inside, session, write
from tests.support.script import Reply
from tests.support.served import Served

LONG = [f"mend the parser in alpha.py, part {number}: " + "it reads each line " * 200 for number in range(6)]


def test_a_session_is_compacted_without_a_model_and_undone(run: Inside, shop: Path) -> None:
    made = session(shop, *LONG)
    before = made.context_path.read_bytes()
    done = run("context", "compact", "--strategy", "extractive", "--json")
    assert (done.code, done.data["session"], done.data["strategy"]) == (0, made.id, "extractive")
    assert done.data["before"] > done.data["after"]
    assert run("context", "show", "--json").data["history"][0]["id"] == done.data["summary_record"]
    assert (made.path / done.data["backup"]).read_bytes() == before
    assert run("context", "undo").code == 0
    assert made.context_path.read_bytes().startswith(before)


def test_the_model_of_a_profile_summarises_and_is_told_what_to_dwell_on(
    run: Inside, shop: Path, server: Served
) -> None:
    session(shop, *LONG)
    server.script(Reply.text(SUMMARY))
    done = run("context", "compact", "--profile", "scripted", "--instruction", "the open questions")
    assert done.code == 0
    assert "instructions had changed" in done.err
    assert "compacted from about" in done.out
    assert "the open questions" in str(server.requests[-1]["messages"][-1])


def test_what_cannot_be_compacted_is_refused_and_stays_as_it_is(
    run: Inside, shop: Path, tmp_path: Path
) -> None:
    made = session(shop, "short")
    before = made.context_path.read_bytes()
    done = run("context", "compact", "--strategy", "extractive")
    assert (done.code, "too little to gain" in done.err) == (1, True)
    done = run("context", "compact", "--strategy", "nonsense")
    assert (done.code, made.context_path.read_bytes()) == (1, before)
    elsewhere = tmp_path / "context.jsonl"
    write(elsewhere, [{"role": "user", "content": "hi", "id": "U"}])
    done = run("context", "compact", "--path", str(elsewhere))
    assert (done.code, "--resume" in done.err) == (1, True)


def test_a_summary_that_cannot_be_used_is_refused_with_the_way_that_needs_no_model(
    run: Inside, shop: Path, server: Served
) -> None:
    made = session(shop, *LONG)
    before = made.context_path.read_bytes()
    server.script(Reply.text("ACK"))
    done = run("context", "compact", "--profile", "scripted")
    assert (done.code, made.context_path.read_bytes()) == (1, before)
    assert "it only acknowledges: 'ACK' (--strategy extractive needs no model)" in done.err
    assert run("context", "compact", "--strategy", "extractive").code == 0


def test_the_hook_after_it_has_run_when_the_command_ends(run: Inside, shop: Path, home: Path) -> None:
    (home / "config").mkdir(mode=0o700)
    (home / "config" / "settings.toml").write_text('[hooks]\npost_compact = "sleep 0.3; cat > told.json"\n')
    session(shop, *LONG)
    assert run("context", "compact", "--strategy", "extractive").code == 0
    told = json.loads((shop / "told.json").read_text())
    assert (told["hook"], told["trigger"], told["backup"]) == ("post_compact", "manual", "context_1.jsonl")


def test_the_summary_is_shown_and_replaced_and_an_undo_takes_along_what_was_said_since(
    run: Inside, shop: Path, server: Served
) -> None:
    session(shop, *LONG)
    assert run("context", "summary").code == 1
    assert run("context", "undo", "later").code == 1
    server.script(Reply.text(SUMMARY), Reply.text("and the answer"))
    run("context", "compact", "--profile", "scripted")
    assert run("context", "summary").out.strip() == SUMMARY.strip()
    assert run("context", "summary", "The parser.").code == 0
    assert run("context", "summary", "--json").data["text"] == "The parser."
    assert run("-p", "go on", "--continue", "--profile", "scripted").out == "and the answer\n"
    done = run("context", "undo", "later", "--json")
    history = [message["content"][0]["text"] for message in run("context", "show", "--json").data["history"]]
    assert (done.data["op"], done.data["messages"]) == ("undo", 14)
    assert (history[0], history[-2:]) == (LONG[0], ["go on", "and the answer"])
    assert run("context", "undo", "nonsense").code == 2


def test_a_prompt_that_does_not_fit_compacts_once_and_counts_what_that_took(
    run: Inside, shop: Path, server: Served
) -> None:
    session(shop, *LONG)
    server.script(
        Reply.overflow(),
        Reply.text(SUMMARY).using(input=1000, output=100, cache_read=4000),
        Reply.text("done").using(input=300, output=7),
    )
    done = run("-p", "go on", "--continue", "--profile", "scripted", "--output-format", "json")
    assert (done.code, done.data["text"]) == (0, "done")
    assert done.data["usage"] == {"input": 1300, "output": 107, "cache_read": 4000, "cache_write": 0}


def window_of(home: Path, tokens: int) -> None:
    """Settings by which the model that goes on has a window of that size."""
    (home / "config").mkdir(mode=0o700)
    (home / "config" / "settings.toml").write_text(f"[profiles.claude]\ncontext_window = {tokens}\n")


def test_of_an_undo_it_is_said_what_became_of_the_later_messages_and_whether_it_fits(
    run: Inside, shop: Path, home: Path
) -> None:
    window_of(home, 8000)
    made = session(shop, *LONG)
    assert run("context", "compact", "--strategy", "extractive").code == 0
    said = {"role": "user", "content": "go on", "id": "LATE", "at": "2026-11-01T10:00:01.000Z"}
    with made.context_path.open("a") as log:
        log.write(json.dumps(said) + "\n")
    done = run("context", "undo")
    assert (
        "without the message since (tui-agent context redo, then tui-agent context undo later keeps"
        in done.out
    )
    assert run("context", "redo").code == 0
    done = run("context", "undo", "later")
    assert "the history before the compaction is back, with the message since behind it" in done.out
    assert "of 8,000 tokens: it does not fit. Nothing is compacted by itself, since you took" in done.out
    assert "tui-agent context compact does" in done.out
    assert run("context", "show", "--json").data["history"][-1]["id"] == "LATE"


def test_of_a_summary_put_in_its_place_it_is_said_whether_it_fits_and_what_happens_if_not(
    run: Inside, shop: Path, home: Path
) -> None:
    window_of(home, 20_000)
    session(shop, *LONG)
    assert run("context", "compact", "--strategy", "extractive").code == 0
    assert "of 20,000 tokens: it fits" in run("context", "summary", "The parser.").out
    done = run("context", "summary", "The parser of alpha.py. " * 4000)
    assert "it does not fit. The history is summarised again before the next request" in done.out
    assert run("context", "undo").code == 0
    done = run("context", "summary", "The parser of alpha.py. " * 4000, "--json")
    assert (done.data["fits"], done.data["window"]) == (False, 20_000)
    (home / "config" / "settings.toml").write_text("[profiles.claude]\nmodel = 'of-nobody'\n")
    done = run("context", "summary", "The parser.", "--json")
    assert (done.data["fits"], done.code) == (None, 0)


def test_where_nobody_can_read_the_summary_it_is_said_that_it_takes_effect_unread(
    run: Inside, shop: Path, server: Served, home: Path
) -> None:
    with (home / "config" / "settings.toml").open("a") as file:
        file.write("[compaction]\nreview = true\n")
    for form in (["--output-format", "json"], []):
        session(shop, *LONG)
        server.script(Reply.overflow(), Reply.text(SUMMARY), Reply.text("done"))
        done = run("-p", "go on", "--continue", "--profile", "scripted", *form)
        assert (done.code, "compaction.review is on, but nobody is there" in done.err) == (0, True), done
    session(shop, *LONG)
    done = run("context", "compact", "--strategy", "extractive", "--json")
    assert (done.code, done.data["strategy"]) == (0, "extractive")
    assert "it is put in force unread" in done.err
