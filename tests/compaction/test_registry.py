"""Strategies by name: those that ship, and those that installed packages bring."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.asked import GOOD, asking, source, talk
from tests.support.script import Reply
from tui_agent.compaction.registry import Guarded, fault_of, strategies, strategy
from tui_agent.compaction.strategy import Compaction, CompactionFailed, CompactionResult
from tui_agent.messages.tokens import Tokens

_REPOSITORY = Path(__file__).parents[2]


# --- packages --------------------------------------------------------------------------------------------------------

_HEADER = """\
from tui_agent.compaction.strategy import CompactionFailed, CompactionResult
from tui_agent.messages.tokens import Tokens

def result(source, model, summary, preserved=None):
    kept = tuple(m.id for m in source.kept) if preserved is None else preserved
    return CompactionResult(summary, kept, source.tokens, Tokens(model.count(summary), "estimated"))

"""
_GOOD = """\
class Shout:
    name = "shout"
    async def compact(self, source, model):
        model.say("shouting")
        texts = [message.text for message in source.replaced if message.text]
        return result(source, model, texts[0].upper()[:60])
"""
_ANY = "class Shout:\n    name = 'any'\n    async def compact(self, source, model):\n        {}\n"

WRONG = {
    "text": ("return 'a summary'", "it gave a str, not a CompactionResult"),
    "nothing": ("return None", "it gave a NoneType"),
    "bytes": ("return CompactionResult(b'x', (), source.tokens, source.tokens)", "its summary is a bytes"),
    "figures": ("return CompactionResult('x', (), 7, 8)", "its figures are not Tokens"),
    "empty": ("return result(source, model, '  ')", "its summary is empty"),
    "larger": ("return result(source, model, 'long ' * 9000)", "is larger"),
    "unheard": ("return result(source, model, 'x', ('m0005', 'm0006', 'zz'))", "no message of the history"),
    "unhashable": ("return result(source, model, 'x', ([], {}))", "no message of the history"),
    "lossy": ("return result(source, model, 'x', ('m0006',))", "it drops 1 of the 2 messages"),
    "disordered": ("return result(source, model, 'x', ('m0006', 'm0005'))", "not in the order"),
    "raising": ("raise ZeroDivisionError('by zero')", "it raised ZeroDivisionError: by zero"),
    "not-async": ("return source.no_such_field", "AttributeError"),
}
"""What a strategy does, and what is said of it."""

NO_STRATEGY = {
    "without-compact": ("class Shout:\n    name = 'shout'\n", "Shout has no name and no compact"),
    "a-number": ("Shout = 7\n", "TypeError"),
    "unimportable": ("import nothing_of_that_name\n", "ModuleNotFoundError"),
    "absent": ("", "AttributeError"),
    "with-arguments": ("class Shout:\n    def __init__(self, x): pass\n", "TypeError"),
}
"""What a package offers, and what is said of it."""

_DRIVER = """\
import asyncio, json, sys, tempfile
from pathlib import Path
from tests.compaction.asked import asking, source, talk
from tests.compaction.running import compacted, compacting, talked
from tests.support.engine import engine
from tests.support.server import ScriptedServer
from tui_agent.compaction import registry
from tui_agent.compaction.strategy import CompactionFailed

async def acted(name, asked):
    try:
        chosen = await asyncio.to_thread(registry.strategy, name)
        result = await chosen.compact(source(talk().messages, asked), asked.model)
        return {"summary": result.summary, "preserved": list(result.preserved), "stages": asked.stages}
    except CompactionFailed as error:
        return {"failed": str(error), "ways": error.ways}

async def in_session(name):
    async with ScriptedServer() as server:
        folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
        async with engine(folder, server, settings=compacting(server, strategy=name), allow=["bash"]) as run:
            await talked(run, server)
            before = run.context.path.read_bytes()
            ended = await compacted(run)
            same = run.context.path.read_bytes() == before
            return {
                "event": type(ended).__name__,
                "said": getattr(ended, "text", "") or getattr(ended, "reason", ""),
                "same": same,
                "first": run.context.history[0].text,
            }

async def main():
    names = sorted(registry.strategies())
    imported = [name for name in names if name.replace("-", "_") in sys.modules]
    async with asking() as asked:
        done = {name: await acted(name, asked) for name in names if name != "summary"}
    sessions = {name: await in_session(name) for name in ("shout", "lossy", "unimportable")}
    print(json.dumps({"imported": imported, "done": done, "sessions": sessions}))

asyncio.run(main())
"""


def wheel(folder: Path, package: str, code: str, *, name: str = "") -> Path:
    """A wheel with one module and one entry point, called as the package unless `name` says otherwise."""
    module = package.replace("-", "_")
    info = f"{module}-1.2.dist-info"
    path = folder / f"{module}-1.2-py3-none-any.whl"
    files = {
        f"{module}.py": _HEADER + code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[tui_agent.compaction]\n{name or package} = {module}:Shout\n",
    }
    record = f"{info}/RECORD"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(record, "".join(f"{file},,\n" for file in [*files, record]))
    return path


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every strategy does in a program into which all these packages were installed, without a network."""
    folder = tmp_path_factory.mktemp("packages")
    wheels = [wheel(folder, "shout", _GOOD)]
    wheels += [wheel(folder, package, _ANY.format(does)) for package, (does, _) in WRONG.items()]
    wheels += [wheel(folder, package, code) for package, (code, _) in NO_STRATEGY.items()]
    wheels += [wheel(folder, package, _GOOD, name="twice") for package in ("one", "two")]
    wheels.append(wheel(folder, "usurper", _GOOD, name="extractive"))
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*pip, *map(str, wheels)], check=True, capture_output=True, timeout=100)
    env = {**os.environ, "PYTHONPATH": f"{_REPOSITORY}{os.pathsep}{site}"}
    env["TUI_AGENT_HOME"] = str(folder / "home")
    ran = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(folder)], env=env, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def test_an_installed_package_brings_a_strategy_that_acts(acted: dict[str, Any]) -> None:
    done = acted["done"]["shout"]
    assert done["summary"].startswith("PARSER.PY DROPS THE LAST LINE")
    assert done["preserved"] == ["m0005", "m0006"]
    assert "shouting" in done["stages"]


def test_it_acts_in_a_session_when_settings_name_it(acted: dict[str, Any]) -> None:
    done = acted["sessions"]["shout"]
    assert done["event"] == "CompactionCompleted", done["said"]
    assert done["said"].startswith("ALPHA.PY PART 0: THE PARSER READS") and done["said"] in done["first"]


@pytest.mark.parametrize("package", ["lossy", "unimportable"])
def test_in_a_session_a_wrong_one_changes_no_byte_and_is_named(acted: dict[str, Any], package: str) -> None:
    done = acted["sessions"][package]
    assert done["event"] == "CompactionFailed"
    assert f"the strategy '{package}' of the package {package} 1.2" in done["said"]
    assert done["same"]


def test_nothing_of_a_package_is_imported_before_it_is_chosen(acted: dict[str, Any]) -> None:
    assert {"shout", *WRONG, *NO_STRATEGY} <= acted["done"].keys()
    assert acted["imported"] == []


@pytest.mark.parametrize("package", WRONG)
def test_a_wrong_result_is_refused_with_the_name_of_who_gave_it(acted: dict[str, Any], package: str) -> None:
    done = acted["done"][package]
    assert WRONG[package][1] in done["failed"]
    assert f"the strategy '{package}' of the package {package} 1.2 failed" in done["failed"]
    assert any("summary or extractive" in way for way in done["ways"])


@pytest.mark.parametrize("package", NO_STRATEGY)
def test_what_is_no_strategy_is_refused_with_the_name_of_the_package(
    acted: dict[str, Any], package: str
) -> None:
    done = acted["done"][package]
    assert NO_STRATEGY[package][1] in done["failed"]
    assert f"the strategy '{package}' of the package {package} 1.2 cannot be used" in done["failed"]


def test_a_package_replaces_no_strategy_that_ships_and_two_of_a_name_are_refused(
    acted: dict[str, Any],
) -> None:
    assert acted["done"]["extractive"]["summary"].startswith("## Goal and current request")
    assert "more than one installed package" in acted["done"]["twice"]["failed"]


# --- those that ship -------------------------------------------------------------------------------------------------


def test_three_strategies_ship() -> None:
    assert set(strategies()) >= {"summary", "extractive", "none"}
    for name in ("summary", "extractive", "none"):
        made = strategy(name)
        assert isinstance(made, Compaction) and made.name == name


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        CompactionFailed, match="no compaction strategy 'sumary'; there are: extractive, none, summary"
    ):
        strategy("sumary")


async def test_none_changes_nothing_and_asks_nobody() -> None:
    async with asking() as asked:
        given = source(talk().messages, asked)
        result = await strategy("none").compact(given, asked.model)
        assert result.summary == ""
        assert list(result.preserved) == [message.id for message in given.history]
        assert result.before == result.after == given.tokens
        assert fault_of(result, given, asked.model) == ""
        assert asked.server.requests == []


async def test_every_strategy_that_ships_gives_a_result_without_fault() -> None:
    for name in ("summary", "extractive", "none"):
        async with asking() as asked:
            asked.server.always(Reply.text(GOOD))
            given = source(talk().messages, asked)
            result = await strategy(name).compact(given, asked.model)
            assert fault_of(result, given, asked.model) == ""


async def test_a_strategy_may_keep_more_than_it_must() -> None:
    async with asking() as asked:
        given = source(talk().messages, asked)
        preserved = ("m0001", "m0005", "m0006")
        more = CompactionResult("short", preserved, given.tokens, Tokens(2, "estimated"))
        assert fault_of(more, given, asked.model) == ""


async def test_cancelling_a_packages_strategy_is_no_failure_of_it() -> None:
    class Slow:
        name = "slow"

        async def compact(self, source: Any, model: Any) -> CompactionResult:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    started = asyncio.Event()
    async with asking() as asked:
        given = source(talk().messages, asked)
        task = asyncio.create_task(Guarded(Slow(), "slow", "a package").compact(given, asked.model))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
