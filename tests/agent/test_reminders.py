"""What changes during a session reaches the model at the end of a person's message, and the prefix stays."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.agent.test_compaction import SUMMARY, compacted, settings, talked
from tests.support.engine import Run, engine, scripted_settings
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import paths
from tui_agent.agent.past import requests
from tui_agent.commands import CommandError
from tui_agent.events import Asked, Notice, Reminded, TurnEnded, TurnStarted
from tui_agent.memory.store import MemoryStore


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        scripted.always(Reply.text("yes"))
        yield scripted


def store() -> MemoryStore:
    return MemoryStore(paths.memory_db())


def bare(value: Any) -> Any:
    """A part of a request without its cache breakpoints."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key != "cache_control"}
    return [bare(item) for item in value] if isinstance(value, list) else value


def extends(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """True if a provider that has the first request in its cache serves all of it for the second."""
    if any(bare(before[part]) != bare(after[part]) for part in ("system", "tools", "model")):
        return False
    *old, last = bare(before["messages"])
    new = bare(after["messages"])
    gained = new[len(old)]["content"][: len(last["content"])] == last["content"]
    return bool(new[: len(old)] == old and gained)


def last_words(body: dict[str, Any]) -> list[str]:
    """The texts of the newest message of a person."""
    return [block["text"] for block in body["messages"][-1]["content"]]


async def test_memories_stand_in_the_prompt_and_changes_follow_the_words(
    tmp_path: Path, server: ScriptedServer
) -> None:
    store().add("user", "indent", "Uses tabs.")
    async with engine(tmp_path, server) as run:
        await run.say("one")
        assert "[user] indent: Uses tabs." in server.requests[-1]["system"][-1]["text"]
        assert last_words(server.requests[-1]) == ["one"]
        await run.session.perform("amend", "indent", "Uses spaces.")
        await run.say("two")
        words, told = last_words(server.requests[-1])
        assert words == "two" and "[user] indent: Uses spaces." in told
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]
        await run.session.perform("unmemory", "indent")
        await run.say("four")
        assert "exactly as it is listed" in last_words(server.requests[-1])[1]
        bodies = server.requests
        assert all(extends(*pair) for pair in pairwise(bodies))
        assert not [n for n in run.all(Notice) if n.source == "cache"]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_words_delivered_in_the_middle_of_a_turn_bring_what_is_new(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server, allow=["bash"]) as run:

        async def meanwhile(body: dict[str, Any]) -> Reply:
            store().add("user", "indent", "Uses tabs.")
            await run.session.submit("and this")
            return Reply.tools(("bash", {"command": "echo hello"}))

        server.script(meanwhile)
        await run.say("go")
        result, words, told = server.requests[-1]["messages"][-1]["content"]
        assert (result["type"], words["text"]) == ("tool_result", "and this")
        assert "Uses tabs." in told["text"]
        assert all(extends(*pair) for pair in pairwise(server.requests))


async def test_another_session_is_told_at_its_next_turn(tmp_path: Path, server: ScriptedServer) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with engine(tmp_path / "a", server) as first, engine(tmp_path / "b", server) as second:
        await second.say("begun before")
        await first.session.perform("remember", "indent: Uses tabs.")
        await first.session.perform("remember", "workspace build: make")
        await second.say("what do you know?")
        told = last_words(server.requests[-1])[1]
        assert "[user] indent: Uses tabs." in told and "make" not in told


async def test_what_a_revert_took_from_the_model_is_told_again(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.say("one")
        await run.session.perform("remember", "indent: Uses tabs.")
        await run.say("two")
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        await run.say("two again")
        assert "Uses tabs." in last_words(server.requests[-1])[1]
    async with engine(tmp_path, server, resume="latest") as run:
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]


async def test_a_file_that_changes_is_told_with_the_next_words_and_the_prompt_stays(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    async with engine(tmp_path, server) as run:
        await run.say("one")
        (tmp_path / "AGENTS.md").write_text("new rules")
        await run.say("two")
        assert "new rules" in last_words(server.requests[-1])[1]
        (reminded,) = run.all(Reminded)
        assert [(one.source, one.short) for one in reminded.told] == [("instructions", "AGENTS.md")]
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]
        (tmp_path / "AGENTS.md").write_text("old rules")
        await run.say("four")
        assert "again as they are at the beginning" in last_words(server.requests[-1])[1]
        assert all(extends(*pair) for pair in pairwise(server.requests))


async def test_a_file_that_instructions_import_is_a_layer_and_followed_as_they_are(
    tmp_path: Path, server: ScriptedServer
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (tmp_path / "key.md").write_text("SECRET")
    (shop / "CLAUDE.md").write_text("Read @style.md, @late.md and @../key.md.\n")
    (shop / "style.md").write_text("use tabs")
    write = Reply.tools(("write_file", {"path": "late.md", "content": "obey"}))
    server.script(*[Reply.text("yes")] * 3, write, Reply.text("done"))
    async with engine(shop, server) as run:
        await run.say("one")
        texts = [block["text"].strip() for block in server.requests[-1]["system"]]
        assert "Instructions of this project, from style.md, which CLAUDE.md imports:\n\nuse tabs" in texts
        shown = (await run.session.perform("prompt")).data["layers"]
        assert [one["source"] for one in shown if one["layer"] == "workspace"] == ["CLAUDE.md", "style.md"]
        items = [item for item in (await run.session.manifest()).items if item.source == "style.md"]
        assert len(items) == 1 and items[0].tokens.count > 0
        (shop / "style.md").write_text("use spaces")
        await run.say("two")
        assert "use spaces" in last_words(server.requests[-1])[1]
        (shop / "style.md").unlink()
        await run.say("three")
        assert "style.md is gone" in last_words(server.requests[-1])[1]
        said = [notice.text for notice in run.all(Notice) if "imports" in notice.text]
        assert said == [
            "CLAUDE.md imports @late.md: there is no such file",
            f"CLAUDE.md imports @../key.md: not read, what lies outside of {shop} takes your consent; ask for it in "
            "your words",
            "CLAUDE.md imports @style.md, @late.md: there is no such file",
        ]
        await run.session.perform("mode", "auto-edit")
        await run.say("write it")
        assert [asked.question.tool for asked in run.all(Asked)] == ["write_file"], (
            "it would be an instruction"
        )


async def test_a_session_that_is_resumed_says_what_it_is_told_next(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    async with engine(tmp_path, server) as run:
        await run.say("one")
    store().add("user", "indent", "Uses tabs.")
    async with engine(tmp_path, server, resume="latest") as run:
        assert not [n for n in run.all(Notice) if "instructions" in n.text]
    (tmp_path / "AGENTS.md").write_text("new rules")
    async with engine(tmp_path, server, resume="latest") as run:
        (notice,) = [n.text for n in run.all(Notice) if "instructions" in n.text]
        assert "(AGENTS.md); the model is told next" in notice
        await run.say("two")
        words, rules, memories = last_words(server.requests[-1])
        assert words == "two" and "new rules" in rules and "Uses tabs." in memories
    async with engine(tmp_path, server, resume="latest") as run:
        (notice,) = [n.text for n in run.all(Notice) if "instructions" in n.text]
        assert "(AGENTS.md); the model has been told" in notice
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]


async def test_a_file_that_grows_too_long_is_cut_and_said_once(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.say("one")
        (tmp_path / "CODEBUDDY.md").write_text("a rule\n" * 10_000)
        await run.say("two")
        await run.say("three")
        assert len(last_words(server.requests[1])[1]) < 40_000
        assert len([n for n in run.all(Notice) if "CODEBUDDY.md is longer" in n.text]) == 1


async def test_however_much_the_instructions_change_it_is_told(
    tmp_path: Path, server: ScriptedServer
) -> None:
    names = ("AGENTS.md", "CLAUDE.md", "CODEBUDDY.md")
    async with engine(tmp_path, server) as run:
        await run.say("one")
        for name in names:
            (tmp_path / name).write_text(f"{name} is long.\n" * 1_700)
        await run.say("two")
        assert all(f"{name} is long." in str(server.requests[-1]["messages"][-1]) for name in names)


async def test_the_manifest_names_every_memory_that_is_sent(tmp_path: Path, server: ScriptedServer) -> None:
    for key in ("indent", "tests", "tone"):
        store().add("user", key, f"about {key}")
    async with engine(tmp_path, server) as run:
        await run.say("one")

        async def named() -> list[tuple[str, int]]:
            memories = (await run.session.manifest()).memories
            return sorted((str(entry["key"]), int(entry["rev"])) for entry in memories)

        assert await named() == [("indent", 1), ("tests", 1), ("tone", 1)]
        await run.session.perform("forget", "tests")
        await run.session.perform("amend", "tone", "short")
        await run.session.perform("remember", "colour: none")
        assert await named() == [("indent", 1), ("tests", 1), ("tone", 1)]
        await run.say("two")
        assert await named() == [("colour", 1), ("indent", 1), ("tone", 2)]


async def test_a_store_that_cannot_be_read_is_said_once_and_the_turn_goes_on(
    tmp_path: Path, server: ScriptedServer
) -> None:
    paths.private_folder(paths.memory_db().parent)
    async with engine(tmp_path, server) as run:
        await run.say("one")
        paths.memory_db().mkdir()
        await run.say("two")
        await run.say("three")
        assert len([n for n in run.all(Notice) if "memories cannot be used" in n.text]) == 1
        assert len(server.requests) == 3


async def test_a_compaction_takes_what_is_remembered_into_the_prompt(tmp_path: Path) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        await talked(run, scripted)
        await run.session.perform("remember", "indent: Uses tabs.")
        scripted.script(Reply.text("yes"), Reply.text(SUMMARY), Reply.text("on"), Reply.text("and on"))
        await run.say("before")
        assert "Uses tabs." in last_words(scripted.requests[-1])[1]
        await compacted(run)
        await run.say("after")
        assert "Uses tabs." in scripted.requests[-1]["system"][-1]["text"]
        told = last_words(scripted.requests[-1])
        await run.session.perform("forget", "indent")
        await run.say("and then")
        assert "no longer: [user] indent" in str(scripted.requests[-1]["messages"][-1])
        assert not [text for text in told if "Uses tabs." in text]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_what_came_before_a_compaction_stays_when_what_follows_is_undone(tmp_path: Path) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        scripted.script(Reply.text('<memory scope="user" key="old">old</memory>'))
        await run.say("first")
        await talked(run, scripted)
        scripted.script(Reply.text('<memory scope="user" key="kept">kept</memory>'), Reply.text(SUMMARY))
        await run.say("last")
        await compacted(run)
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        statuses = {memory.key: memory.status for memory in store().list()}
        assert statuses == {"old": "proposed", "kept": "suspended"}
        await run.session.perform("undo")
        await run.session.perform("undo")
        assert {memory.status for memory in store().list()} == {"proposed"}
        await run.session.perform("redo")
        await run.session.perform("redo")
        assert {memory.key: memory.status for memory in store().list()} == statuses


async def test_an_answer_behind_a_summary_says_that_it_is_not_known_what_was_read(tmp_path: Path) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        await talked(run, scripted)
        marker = '<memory scope="user" key="k">v</memory>'
        calls = [Reply.tools(("bash", {"command": f"echo {number}"})) for number in range(3)]
        scripted.script(*calls, Reply.overflow(), Reply.text(SUMMARY), Reply.text(marker))
        await run.say("go")
        (memory,) = store().list()
        assert memory.tainted and memory.outside


# --- what else is told -------------------------------------------------------------------------------------------


def whole(body: dict[str, Any]) -> str:
    """Every text that the newest message of a request has."""
    return "\n".join(str(block.get("text", "")) for block in body["messages"][-1]["content"])


def ruled(run: Run, *rules: str) -> None:
    """Settings with these rules are in force from now on."""
    settings = run.session.settings
    run.session.take_settings(replace(settings, prompt=replace(settings.prompt, rules=rules)))


async def test_rules_of_settings_are_told_and_a_change_of_them_with_the_next_words(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        ruled(run, "Answer in German.")
        await run.say("one")
        await run.say("two")
        assert "- Answer in German." in last_words(server.requests[0])[1]
        assert last_words(server.requests[1]) == ["two"]
        ruled(run, "Answer in French.")
        await run.say("three")
        ruled(run)
        await run.say("four")
        assert "- Answer in French." in whole(server.requests[2]) and "German" not in whole(
            server.requests[2]
        )
        assert "do not hold any more" in whole(server.requests[3])
        assert all(extends(*pair) for pair in pairwise(server.requests))
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_what_a_compaction_took_is_told_again_and_not_after_its_undo(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        ruled(run, "Answer in German.")
        await talked(run, scripted)
        assert "Answer in German." in str(scripted.requests[-1]["messages"][0])
        scripted.script(Reply.text("yes"), Reply.text(SUMMARY), *[Reply.text("on")] * 4)
        await run.say("before")
        await compacted(run)
        await run.say("after")
        assert "Answer in German." in whole(scripted.requests[-1])
        assert "Answer in German." not in str(scripted.requests[-1]["messages"][:-1])
        await run.say("and on")
        assert last_words(scripted.requests[-1]) == ["and on"]
        await run.session.perform("undo")
        await run.say("once more")
        assert last_words(scripted.requests[-1]) == ["once more"]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_a_skill_is_listed_and_its_text_is_sent_with_the_words_that_call_it(
    tmp_path: Path, server: ScriptedServer
) -> None:
    file = tmp_path / ".claude/skills/release-notes/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: release-notes\ndescription: Write notes.\n---\nList the commits first.\n")
    async with engine(tmp_path, server) as run:
        await run.say("hello")
        assert "- release-notes (.claude/skills/release-notes/SKILL.md): Write notes." in whole(
            server.requests[0]
        )
        outcome = await run.session.perform("skill")
        assert outcome.data["skills"][0]["name"] == "release-notes"
        await run.session.perform("skill", "Release-Notes", "for", "1.2")
        await run.session.until_idle()
        words, told = last_words(server.requests[1])
        assert words == "/skill release-notes for 1.2" and "List the commits first." in told
        assert [one.short for one in run.all(Reminded)[-1].told] == ["skill release-notes (you called it)"]
        await run.session.perform("release-notes", "of 1.1:\n  - one\n  - two")
        await run.session.until_idle()
        assert last_words(server.requests[2]) == ["/skill release-notes of 1.1:\n  - one\n  - two"]
        with pytest.raises(CommandError, match="there are: release-notes"):
            await run.session.perform("skill", "other")
        settings = run.session.settings
        run.session.take_settings(replace(settings, prompt=replace(settings.prompt, skills=False)))
        await run.say("go on")
        assert "There are no skills any more" in whole(server.requests[3])
        with pytest.raises(CommandError, match="skills are off"):
            await run.session.perform("skill", "release-notes")


async def test_skills_of_the_home_folder_are_listed_with_their_origin_and_a_setting_leaves_them_out(
    tmp_path: Path, server: ScriptedServer
) -> None:
    file = Path.home() / ".claude/skills/notes/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: notes\ndescription: Write notes.\n---\nList the commits first.\n")
    async with engine(tmp_path, server) as run:
        listed = await run.session.perform("skill")
        assert listed.text == "notes  Write notes.  (~/.claude: ~/.claude/skills/notes/SKILL.md)"
        await run.session.perform("notes", "now")
        await run.session.until_idle()
        told = last_words(server.requests[0])[-1]
        assert "List the commits first." in told and "the person's own" in told
        settings = run.session.settings
        run.session.take_settings(replace(settings, prompt=replace(settings.prompt, claude_skills=False)))
        assert "there are none" in (await run.session.perform("skill")).text


async def test_a_file_that_changes_behind_the_model_is_told_and_our_own_writes_are_not(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "b.py").write_text("one")
    async with engine(tmp_path, server, allow=["write_file"]) as run:
        reads = [("read_file", {"path": name}) for name in ("a.py", "b.py")]
        server.script(Reply.tools(*reads), Reply.tools(("write_file", {"path": "b.py", "content": "two"})))
        await run.say("read them")
        await run.say("go on")
        assert last_words(server.requests[-1]) == ["go on"]
        (tmp_path / "a.py").write_text("two")
        await run.say("and on")
        assert "- a.py\n" in whole(server.requests[-1]) and "b.py" not in whole(server.requests[-1])
        assert [one.short for one in run.all(Reminded)[-1].told] == ["a.py changed"]
    (tmp_path / "b.py").write_text("three")
    async with engine(tmp_path, server, resume="latest") as run:
        await run.say("in another run")
        assert "- a.py\n- b.py\n" in whole(server.requests[-1])
        await run.say("go on")
        assert last_words(server.requests[-1]) == ["go on"]
        await run.session.perform("revert", str(run.session.timeline.turns()[-2].id))
        await run.say("once more")
        assert "- a.py\n- b.py\n" in whole(server.requests[-1])


async def test_after_a_clear_no_file_is_told_that_was_read_before_it_and_an_undo_brings_it_back(
    tmp_path: Path, server: ScriptedServer
) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\n")
    async with engine(tmp_path, server) as run:
        server.script(Reply.tools(("read_file", {"path": "a.py"})))
        await run.say("read it")
        await run.session.perform("clear")
        file.write_text("two\n")
        await run.say("anew")
        assert last_words(server.requests[-1]) == ["anew"]
        await run.session.perform("undo")
        await run.say("again")
        words, told = last_words(server.requests[-1])
        assert words == "again" and "- a.py\n" in told


async def test_how_full_the_context_is_is_told_where_a_summary_comes_near(
    tmp_path: Path, server: ScriptedServer
) -> None:
    limits = scripted_settings(server, context_window=20_000, max_output_tokens=1_000)
    async with engine(tmp_path, server, settings=limits) as run:
        await run.say("hello")
        trigger = run.session.shrinking.due[1]
        await run.say("words " * (trigger // 2))
        assert f"over 50 % of the {trigger:,} tokens" in whole(server.requests[-1])


async def test_where_there_is_no_room_what_matters_less_is_left_out_and_said(
    tmp_path: Path, server: ScriptedServer
) -> None:
    file = tmp_path / ".claude/skills/long/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: long\ndescription: d\n---\n" + "so many words\n" * 1_500)
    limits = scripted_settings(server, context_window=8_000, max_output_tokens=1_000)
    async with engine(tmp_path, server, settings=limits) as run:
        ruled(run, "Answer in German.")
        await run.say("/skill long")
        (told,) = run.all(Reminded)
        assert [one.source for one in told.told] == ["rules", "skills"]
        ((source, why, tokens),) = [(one.source, one.why, one.tokens) for one in told.left]
        assert source == "skills:long" and "no room" in why and tokens > 4_000
        assert "so many words" not in whole(server.requests[-1])
        lacks = [item for item in (await run.session.manifest()).left_out if item.kind == "injection"]
        assert [(item.name, item.reason, item.tokens.count) for item in lacks] == [(source, why, tokens)]
        await run.say("go on")
        assert len([one for one in run.all(Reminded) if one.left]) == 1, "it is said once"


async def test_what_is_told_is_an_event_behind_the_words_and_a_record_of_its_own(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        ruled(run, "Answer in German.")
        store().add("user", "indent", "Uses tabs.")
        await run.say("one")
        kinds = [type(event).__name__ for event in run.heard]
        assert kinds.index("TurnStarted") < kinds.index("Reminded") < kinds.index("StepStarted")
        (reminded,) = run.all(Reminded)
        (one,) = reminded.told
        assert (one.source, one.short) == ("rules", "1 rule") and one.tokens > 5
        message = run.context.message(one.record)
        assert message is not None and message.text == one.text and message.origin == "injection"


_SLOW = """
import sys

class Weather:
    def generate(self, moment):
        sys.weather_asked.set()
        sys.weather_release.wait()
"""

_WEATHER = """
class Weather:
    priority = 30
    def generate(self, moment):
        return f"It rains on {moment.context.path.name}."
"""


def install(site: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str) -> None:
    """A package whose class `Weather` is a source."""
    info = site / "rain-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rain\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tui_agent.injections]\nrain = {module}:Weather\n")
    monkeypatch.syspath_prepend(str(site))


async def test_words_are_shown_that_are_interrupted_while_a_source_is_waited_for(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, release = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "weather_asked", asked, raising=False)
    monkeypatch.setattr(sys, "weather_release", release, raising=False)
    install(tmp_path / "site", monkeypatch, "slow_rain_of_tests", _SLOW)
    (tmp_path / "w").mkdir()
    async with engine(tmp_path / "w", server) as run:
        await run.session.submit("hello")
        await asyncio.to_thread(asked.wait)
        await run.session.cancel()
        release.set()
        started = [type(one) for one in run.heard if isinstance(one, (TurnStarted, TurnEnded))]
        assert started == [TurnStarted, TurnEnded]
        (begun,) = run.all(TurnStarted)
        assert begun.prompt == "hello" and run.all(TurnEnded)[0].reason == "cancelled"
        assert [message.text for message in run.context.history] == ["hello"]


async def test_a_package_that_is_installed_tells_the_model_in_its_request(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", monkeypatch, "rain_of_tests", _WEATHER)
    (tmp_path / "w").mkdir()
    async with engine(tmp_path / "w", server) as run:
        await run.say("hello")
        await run.say("again")
        words, told = last_words(server.requests[0])
        assert words == "hello" and "It rains on context.jsonl." in told
        assert last_words(server.requests[1]) == ["again"]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
