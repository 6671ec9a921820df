"""An injection is told exactly once per change, and again where it was lost; and one source never harms another."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.context import Context, NothingToUndo
from tui_agent.context.compacted import Replacement
from tui_agent.events import Event, Notice
from tui_agent.messages.blocks import text_block
from tui_agent.prompt.extensions import HIGHEST, Extension, offered
from tui_agent.prompt.injections import ALWAYS, Collected, Injections, Moment, Told
from tui_agent.prompt.likeness import Likeness, fingerprint

LONG = " ".join(f"word{number}" for number in range(100))


class Source:
    """Tells what it is given; a function is called with the moment."""

    def __init__(self, name: str, tells: Any = "", priority: int = 50) -> None:
        self.name = name
        self.priority = priority
        self.tells = tells
        self.compacted = 0

    def generate(self, moment: Moment) -> Any:
        return self.tells(moment) if callable(self.tells) else self.tells

    def on_compacted(self) -> None:
        self.compacted += 1


class Talk:
    """A log in which somebody speaks, and sources that tell."""

    def __init__(self, path: Path, *sources: Source, limit: float = 20.0, more: Any = None) -> None:
        self.context = Context(path)
        self.sources = sources
        self.heard: list[Event] = []
        self.injections = Injections(self.context, sources, emit=self.heard.append, limit=limit, more=more)

    async def say(self, words: str = "go on", *, room: int | None = None) -> Collected:
        await self.context.checkpoint(turn=True)
        await self.context.append_message({"role": "user", "content": [text_block(words)]})
        return await self.injections.collect(Moment(self.context, words, room=room))

    async def told(self, words: str = "go on") -> list[str]:
        return [put.text for put in (await self.say(words)).told]

    def notices(self) -> list[str]:
        return [event.text for event in self.heard if isinstance(event, Notice)]

    def sent(self) -> list[str]:
        return [message.text for message in self.context.history if message.origin == "injection"]


Make = Callable[..., Talk]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[Talk] = []

    def make(*sources: Source, **options: Any) -> Talk:
        made.append(Talk(tmp_path / str(len(made)) / "context.jsonl", *sources, **options))
        made[-1].context.path.parent.mkdir()
        return made[-1]

    yield make
    for one in made:
        await one.context.close()


# --- once per change ---------------------------------------------------------------------------------------------


async def test_a_change_is_told_once_also_back_to_what_it_was(talk: Make) -> None:
    source = Source("rules", "A")
    run = talk(source)
    seen = []
    for source.tells in ("A", "A", "B", "B", "A", "A"):
        seen.append(await run.told())
    assert seen == [["A"], [], ["B"], [], ["A"], []]
    record = run.context.record(next(iter(run.context.newest_of("injection"))).id)
    assert record.body["sources"] == [{"name": "rules", "fp": fingerprint("A")}]


async def test_what_does_not_hold_any_more_is_taken_back_once_and_only_if_it_was_told(talk: Make) -> None:
    source = Source("rules", Told("", "no rules"))
    run = talk(source)
    assert await run.told() == []
    source.tells = Told("be brief", "no rules")
    assert await run.told() == ["be brief"]
    source.tells = Told("", "no rules")
    assert [await run.told(), await run.told()] == [["no rules"], []]
    source.tells = Told("be brief", "no rules")
    assert await run.told() == ["be brief"]


async def test_nothing_to_say_leaves_all_as_it_was_told(talk: Make) -> None:
    source = Source("rules", "A")
    run = talk(source)
    await run.say()
    for source.tells in (None, "", " \n", Told(""), []):
        assert await run.told() == []
    source.tells = "A"
    assert await run.told() == []


async def test_what_is_told_in_the_same_words_is_told_again_by_its_version(talk: Make) -> None:
    source = Source("files", Told("a.py changed", version="1"))
    run = talk(source)
    assert [await run.told(), await run.told()] == [["a.py changed"], []]
    source.tells = Told("a.py changed", version="2")
    assert [await run.told(), await run.told()] == [["a.py changed"], []]
    source.tells = Told("a.py changed", version="1")
    assert await run.told() == ["a.py changed"]


async def test_what_the_log_says_of_a_source_is_not_for_it_to_say(talk: Make) -> None:
    fields = {"name": "goal", "fp": "x", "version": "2", "level": 3}
    run = talk(Source("rules", Told("A", fields=fields)), Source("goal", "G", 100))
    assert await run.told() == ["G", "A"] and await run.told() == []
    record = run.context.record(next(iter(run.context.newest_of("injection"))).id)
    assert record.body["sources"] == [{"name": "rules", "fp": fingerprint("A"), "level": 3}]


async def test_what_a_source_tells_of_several_things_is_told_each_by_itself(talk: Make) -> None:
    source = Source("skills", [Told("list"), Told("text of pdf", about="pdf")])
    run = talk(source)
    assert await run.told() == ["list", "text of pdf"]
    source.tells = [Told("another list"), Told("text of pdf", about="pdf"), Told("of doc", about="doc")]
    assert await run.told() == ["another list", "of doc"]
    source.tells = [Told("", "pdf is gone", about="pdf")]
    assert await run.told() == ["pdf is gone"]


@pytest.mark.parametrize("how", ["revert", "undo", "elision", "compaction", "restart", "backup"])
async def test_what_was_lost_is_told_again_and_what_was_not_is_not(talk: Make, how: str) -> None:
    """Also where the source has moved on, back or not at all in between."""
    lost, kept = Source("lost", "A"), Source("kept", "K")
    run = talk(lost, kept)
    await run.say("one")
    lost.tells = "B"
    turn = run.context.n_checkpoints
    await run.say("two")
    newest = next(iter(run.context.newest_of("injection"))).id
    match how:
        case "revert":
            await run.context.revert_to(turn)
        case "undo":  # of the revert, which lost it: it is there again
            await run.context.revert_to(turn)
            await run.context.undo()
        case "elision":
            await run.context.elide([{"record": newest, "as": None}], by="user", reason="drop")
        case "compaction":
            stays = [m.id for m in run.context.history if m.text == "K"]
            await compact(run.context, stays)
        case "backup":
            await run.context.revert_to(turn)
            backup = run.context.backups()[0].name
            await run.context.revert_to(0)
            await run.context.restore_backup(backup)
        case "restart":
            await run.context.close()
            again = Talk(run.context.path, lost, kept)
            await again.context.restore()
            run.context, run.injections = again.context, again.injections
    stands = how in ("undo", "backup", "restart")
    assert await run.told() == ([] if stands else ["B"])
    lost.tells = "A"
    assert await run.told() == ["A"]
    assert run.sent().count("K") == 1


async def compact(context: Context, kept: Sequence[str]) -> None:
    summary = {
        "role": "user",
        "content": [text_block("what was")],
        "origin": "summary",
        "id": f"s{context.size}",
    }
    change = Replacement(summary=summary, kept=kept, until=context.size, generation=context.generation)
    await context.compact(change, figures={})


OPS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.integers(0, 2), st.sampled_from(["", "A", "B", "C"])),
        st.tuples(st.sampled_from(["say", "undo", "redo", "restart"]), st.just(0), st.just("")),
        st.tuples(
            st.sampled_from(["revert", "elide", "unelide", "compact", "restore"]),
            st.integers(0, 9),
            st.just(""),
        ),
    ),
    max_size=14,
)


@settings(max_examples=25)
@given(OPS)
def test_after_any_history_exactly_what_the_model_lacks_is_told(ops: list[tuple[str, int, str]]) -> None:
    asyncio.run(_history(ops))


@pytest.mark.slow
@settings(max_examples=1500)
@given(OPS)
def test_after_many_histories_exactly_what_the_model_lacks_is_told(ops: list[tuple[str, int, str]]) -> None:
    asyncio.run(_history(ops))


async def _history(ops: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sources = [Source(f"s{number}", Told(""), 10 * number) for number in range(3)]
        run = Talk(Path(folder) / "context.jsonl", *sources)
        try:
            for what, which, text in [*ops, ("say", 0, "")]:
                if what == "tell":
                    name = sources[which].name
                    sources[which].tells = Told(f"{name} {text}" if text else "", f"{name} none")
                elif what == "say":
                    await _says(run)
                else:
                    await _does(run, what, which)
        finally:
            await run.context.close()


async def _says(run: Talk) -> None:
    """Somebody speaks: the model then knows of every source what it tells now, of what it knew nothing was repeated."""
    before = _known(run.context)
    told = await run.told()
    expected = []
    for source in sorted(run.sources, key=lambda one: -one.priority):
        due = source.tells.text or (source.tells.withdrawn if before.get(source.name) else "")
        if due and before.get(source.name) != due:
            expected.append(due)
    assert told == expected
    fresh = Context(run.context.path, read_only=True)
    await fresh.restore()
    after = _known(fresh)
    for source in run.sources:
        assert after.get(source.name, f"{source.name} none") == (source.tells.text or f"{source.name} none")


def _known(context: Context) -> dict[str, str]:
    """What the model has been told last by each source, by what is sent."""
    return {m.text.split()[0]: m.text for m in context.history if m.origin == "injection"}


async def _does(run: Talk, what: str, which: int) -> None:
    context = run.context
    injected = [m.id for m in context.history if m.origin == "injection"]
    try:
        match what:
            case "revert" if context.checkpoints():
                await context.revert_to(context.checkpoints()[which % len(context.checkpoints())].uid)
            case "elide" if injected:
                item = {"record": injected[which % len(injected)], "as": None}
                await context.elide([item], by="user", reason="drop")
            case "unelide" if context.batches:
                await context.restore_elided(context.batches[which % len(context.batches)].id)
            case "compact" if len(context.history):
                await compact(context, [m.id for m in context.history][-which:] if which else [])
            case "restore" if context.backups():
                await context.restore_backup(context.backups()[which % len(context.backups())].name)
            case "undo":
                await context.undo()
            case "redo":
                await context.redo()
            case "restart":
                await context.close()
                again = Talk(context.path, *run.sources)
                await again.context.restore()
                run.context, run.injections = again.context, again.injections
    except NothingToUndo:
        pass


# --- the same twice ----------------------------------------------------------------------------------------------


def test_what_counts_as_the_same() -> None:
    assert fingerprint("Be  brief\n") == fingerprint("be BRIEF") != fingerprint("be brief", "2")
    assert Likeness("Be brief").is_like(Likeness("be\nbrief"))
    assert Likeness(LONG).is_like(Likeness(LONG.replace("word50", "other")))
    assert not Likeness(LONG).is_like(Likeness(LONG.replace("word50", "other").replace("word20", "more")))
    assert not Likeness("use tabs").is_like(Likeness("use spaces"))
    assert not Likeness("").is_like(Likeness(LONG))
    assert Likeness(LONG).is_like(Likeness(LONG + " and two more"))


async def test_of_two_that_tell_nearly_the_same_the_higher_priority_stays(talk: Make) -> None:
    low, high = Source("low", LONG, 10), Source("high", LONG.replace("word50", "other"), 60)
    run = talk(low, high)
    seen = await run.say()
    assert [put.name for put in seen.told] == ["high"]
    assert [(left.name, left.why) for left in seen.left] == [("low", "high tells it already")]
    # and as long as that is sent, it is not told either
    assert [left.name for left in (await run.say()).left] == ["low"]
    high.tells = "something else entirely"
    assert [put.name for put in (await run.say()).told] == ["high", "low"]


async def test_what_amends_the_own_words_is_told_however_much_it_is_like_them(talk: Make) -> None:
    source = Source("goal", LONG)
    run = talk(source)
    await run.say()
    source.tells = [Told(LONG), Told(LONG.replace("word50", "other"), about="news")]
    assert [left.why for left in (await run.say()).left] == ["goal tells it already"]
    source.tells = [Told(LONG), Told(LONG.replace("word50", "other"), about="news", own=True)]
    assert [put.name for put in (await run.say()).told] == ["goal:news"]


async def test_what_another_has_told_before_is_told_where_the_own_word_since_was_different(
    talk: Make,
) -> None:
    one, two = Source("one", "use tabs"), Source("two", "use spaces")
    run = talk(one, two)
    await run.say()
    one.tells = None
    two.tells = "nothing of tabs"
    assert await run.told() == ["nothing of tabs"]
    two.tells = "use tabs"  # `one` said so before `two` said otherwise
    assert await run.told() == ["use tabs"]


async def test_what_a_source_takes_back_is_never_said_by_another(talk: Make) -> None:
    one, two = Source("one", Told("A", "it is as at first")), Source("two", Told("B", "it is as at first"))
    run = talk(one, two)
    await run.say()
    one.tells = two.tells = Told("", "it is as at first")
    assert await run.told() == ["it is as at first"] * 2


# --- the order, and what is left out -----------------------------------------------------------------------------


async def test_what_another_takes_back_now_does_not_tell_it_any_more(talk: Make) -> None:
    one, other = Source("one", None), Source("other", LONG)
    run = talk(one, other)
    assert await run.told() == [LONG]
    one.tells, other.tells = LONG, Told("", "it does not hold")
    assert await run.told() == [LONG, "it does not hold"]
    assert await run.told() == []


async def test_what_no_log_can_hold_is_told_once_all_the_same(talk: Make) -> None:
    run = talk(Source("one", Told("half a character \ud800", version="\udc00")))
    assert await run.told() == ["half a character \ufffd"]
    assert await run.told() == []


async def test_the_highest_priority_comes_first_each_as_a_record_of_its_own(talk: Make) -> None:
    run = talk(Source("c", "C", 10), Source("a", "A", 90), Source("b", "B", 90), Source("d", "D", 50))
    assert await run.told() == ["A", "B", "D", "C"]
    records = [m for m in run.context.history if m.origin == "injection"]
    assert [len(m.content) for m in records] == [1, 1, 1, 1]


async def test_where_the_window_is_tight_what_matters_least_is_left_out_until_there_is_room(
    talk: Make,
) -> None:
    run = talk(
        Source("goal", LONG, ALWAYS),
        Source("high", "H", 70),
        Source("big", LONG + " big big", 60),
        Source("low", "L", 10),
    )
    run.sources[2].tells = " ".join(f"other{number}" for number in range(100))
    tight = await run.say(room=300)
    assert [put.name for put in tight.told] == ["goal"]
    assert [left.name for left in tight.left] == ["high", "big", "low"]
    assert "no room: about" in tight.left[1].why and tight.left[1].tokens > 100
    some = await run.say(room=20)
    assert [put.name for put in some.told] == ["high", "low"] and [left.name for left in some.left] == ["big"]
    assert [put.name for put in (await run.say(room=100_000)).told] == ["big"]


async def test_what_does_not_hold_any_more_is_taken_back_also_where_there_is_no_room(talk: Make) -> None:
    source = Source("memory", Told("A", "no memory"), 10)
    run = talk(source)
    await run.say()
    source.tells = Told("", "no memory")
    assert [put.text for put in (await run.say(room=0)).told] == ["no memory"]


async def test_what_is_told_takes_room_from_what_comes_behind_it(talk: Make) -> None:
    run = talk(Source("a", LONG, 60), Source("b", LONG.replace("word", "more"), 50))
    first = await run.say(room=2000)
    need = first.told[0].tokens
    assert len(first.told) == 2 and need > 100
    other = talk(Source("a", LONG, 60), Source("b", LONG.replace("word", "more"), 50))
    assert [put.name for put in (await other.say(room=2 * need - 1)).told] == ["a"]


# --- sources that fail -------------------------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[Moment], str]:
    def generate(moment: Moment) -> str:
        raise error

    return generate


async def test_a_source_that_raises_is_left_out_with_one_notice_for_each_fault(talk: Make) -> None:
    bad, good = Source("bad", raising(ValueError("no network"))), Source("good", "G")
    run = talk(bad, good)
    assert [await run.told(), await run.told()] == [["G"], []]
    assert run.notices() == ["reminders of bad are left out: ValueError: no network"]
    bad.tells = raising(SystemExit(3))
    await run.say()
    assert len(run.notices()) == 2 and "SystemExit: 3" in run.notices()[1]
    bad.tells = "back again"
    assert await run.told() == ["back again"]


async def test_a_source_that_hangs_is_left_out_and_not_asked_again_before_it_has_answered(talk: Make) -> None:
    release, asked = threading.Event(), []

    def hang(moment: Moment) -> str:
        asked.append(moment.words)
        release.wait()
        return "late"

    run = talk(Source("slow", hang), Source("good", "G"), limit=0.05)
    try:
        assert [await run.told("one"), await run.told("two")] == [["G"], []]
        assert asked == ["one"]
        assert run.notices() == ["reminders of slow are left out: no answer within 0.05 s"]
    finally:
        release.set()
    while (told := await run.told("more")) == []:
        pass  # the thread has to come to its end first
    assert told == ["late"]


async def test_an_interrupted_turn_does_not_lose_a_source(talk: Make) -> None:
    release = threading.Event()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(moment: Moment) -> str:
        loop.call_soon_threadsafe(started.set)
        release.wait()
        return "here"

    run = talk(Source("slow", wait))
    turn = asyncio.create_task(run.say())
    await started.wait()
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    release.set()
    assert await run.told() == ["here"]
    assert run.notices() == []


WRONG = {
    "a number": (7, "gave int, not a text"),
    "bytes": (b"x", "gave bytes, not a text"),
    "a list of texts": (["x"], "gave list, not a text"),
    "a number as text": (Told(3), "gave something that is not a text"),  # type: ignore[arg-type]
    "fields": (Told("x", fields={"a": object()}), "gave fields that the log cannot hold"),
    "one thing twice": ([Told("x"), Told("y")], "tells of one thing twice"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_is_no_text_is_left_out_and_said(talk: Make, what: str) -> None:
    answer, words = WRONG[what]
    run = talk(Source("bad", answer), Source("good", "G"))
    assert await run.told() == ["G"]
    (notice,) = run.notices()
    assert words in notice


async def test_everybody_hears_of_a_compaction_also_behind_one_that_fails(
    talk: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = Source("bad"), Source("good")
    monkeypatch.setattr(bad, "on_compacted", [].pop)
    run = talk(bad, good)
    run.injections.on_compacted()
    assert good.compacted == 1
    assert run.notices() == ["reminders of bad are left out: IndexError: pop from empty list"]


# --- sources of installed packages -------------------------------------------------------------------------------

_WEATHER = """
import sys
sys.weather_imported = True

class Weather:
    priority = 99

    def generate(self, moment):
        return f"It rains. You said {moment.words!r}."

class Broken:
    def __init__(self):
        raise RuntimeError("no barometer")

class Mute:
    pass
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that offers sources, on the path that programs look for packages on."""
    site = tmp_path / "site"
    info = site / "weather-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "weather_of_tests.py").write_text(_WEATHER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.2\n")
    offers = [
        "weather = weather_of_tests:Weather",
        "broken = weather_of_tests:Broken",
        "mute = weather_of_tests:Mute",
    ]
    offers += ["goal = weather_of_tests:Weather", "gone = weather_of_others:Weather"]
    offers += ["skills:pdf = weather_of_tests:Weather"]
    (info / "entry_points.txt").write_text("\n".join(["[tui_agent.injections]", *offers, ""]))
    monkeypatch.syspath_prepend(str(site))
    yield site
    for name in ("weather_of_tests",):
        sys.modules.pop(name, None)
    if hasattr(sys, "weather_imported"):
        del sys.weather_imported


async def test_an_installed_package_brings_a_source_and_broken_ones_are_said_once(
    talk: Make, package: Path
) -> None:
    run = talk(Source("goal", "G", 100), more=offered)
    assert not hasattr(sys, "weather_imported")
    ours, theirs = await run.told("hello")
    assert ours == "G" and "\nIt rains. You said 'hello'.\n" in theirs
    assert theirs.startswith("<system-reminder>\nFrom a package that the person has installed:\n")
    assert await run.told("hello") == []
    found = sorted(run.notices())
    assert [text.split(" cannot be used: ")[0] for text in found] == [
        f"reminders of {name} (the package weather 1.2)"
        for name in ("broken", "goal", "gone", "mute", "skills:pdf")
    ]
    assert "RuntimeError: no barometer" in found[0] and "another source of that name" in found[1]
    assert "ModuleNotFoundError" in found[2] and "has no generate" in found[3]
    assert "a name has letters" in found[4]
    (extension,) = offered(frozenset({"goal"}), lambda text: None)
    assert extension.priority == HIGHEST


async def test_of_a_package_that_tells_too_much_nothing_is_told(talk: Make) -> None:
    run = talk(
        Source("ours", "x" * 70_000), more=lambda known, report: [Extension("long", Source("", LONG * 200))]
    )
    assert await run.told() == ["x" * 70_000]
    (notice,) = run.notices()
    assert (
        notice
        == f"reminders of long are left out: gave {len(LONG * 200):,} characters; at most 65,536 are told"
    )


async def test_packages_that_hang_when_they_are_imported_do_not_hold_a_turn_up(talk: Make) -> None:
    release = threading.Event()

    def more(known: frozenset[str], report: Callable[[str], None]) -> Sequence[Source]:
        release.wait()
        return [Source("late", "L")]

    run = talk(Source("good", "G"), limit=0.05, more=more)
    try:
        assert [await run.told(), await run.told()] == [["G"], []]
        assert run.notices() == ["reminders of installed packages were not ready within 0.05 s"]
    finally:
        release.set()
    while not (told := await run.told()):
        pass  # the thread has to come to its end first
    assert told == ["L"]
