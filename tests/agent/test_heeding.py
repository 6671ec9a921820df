"""A settings file that is changed by hand while a session is open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import Run, engine
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.events import Notice
from tui_agent.settings.load import load


class Opened:
    """A session whose settings are read from a file, and the server that answers it."""

    def __init__(self, file: Path, server: ScriptedServer) -> None:
        self.server = server
        self._file = file
        self.run: Run

    def write(self, more: str = "") -> None:
        """Write the settings, and these lines behind them."""
        profile = (
            f'model = "scripted-1"\nbase_url = "{self.server.url}"\nauth = "none"\ncontext_window = 200_000\n'
        )
        self._file.write_text(
            f'profile = "scripted"\n[profiles.scripted]\nprovider = "anthropic"\n{profile}{more}'
        )

    def told(self) -> str:
        """The newest message that was sent."""
        return str(self.server.requests[-1]["messages"][-1]["content"])

    def notices(self) -> list[str]:
        return [one.text for one in self.run.all(Notice) if one.source == "settings"]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    workspace = tmp_path / "work"
    workspace.mkdir()
    async with ScriptedServer() as server:
        server.always(Reply.text("yes"))
        made = Opened(tmp_path / "settings.toml", server)
        made.write()
        async with engine(workspace, settings=load(tmp_path / "settings.toml")) as made.run:
            yield made


RULES = '[prompt]\nrules = ["Never touch vendor."]\n'


async def test_what_is_changed_by_hand_is_in_force_with_the_next_words(opened: Opened) -> None:
    await opened.run.say("one")
    opened.write(RULES)
    await opened.run.say("two")
    assert "Never touch vendor." in opened.told()
    assert opened.notices() == ["settings.toml was changed: it holds from now on"]
    opened.write()
    await opened.run.say("three")
    assert "taken the rules out" in opened.told()


async def test_one_that_cannot_be_used_changes_nothing_and_is_said_once(opened: Opened) -> None:
    opened.write(RULES)
    await opened.run.say("one")
    opened.write("[prompt]\nrules = nonsense\n")
    await opened.run.say("two")
    assert "two" in opened.told() and "taken the rules out" not in opened.told()
    assert len(opened.notices()) == 2 and "settings.toml:9" in opened.notices()[1]
    await opened.run.say("three")
    assert len(opened.notices()) == 2


async def test_one_that_was_written_anew_and_says_the_same_is_no_news(opened: Opened) -> None:
    opened.write("\n# a remark\n")
    await opened.run.say("one")
    assert opened.notices() == []


async def test_it_is_in_force_for_words_that_come_in_the_middle_of_a_turn(opened: Opened) -> None:
    hold = Hold()
    opened.server.script(Reply.text("yes").holding(hold))
    await opened.run.session.submit("one")
    await hold.reached.wait()
    opened.write(RULES)
    await opened.run.session.submit("two")
    hold.release.set()
    await opened.run.session.until_idle()
    assert "Never touch vendor." in opened.told()


async def test_it_is_in_force_for_a_prompt_that_is_asked_for_anew(opened: Opened) -> None:
    await opened.run.say("one")
    opened.write('[prompt]\nappend_system = "Answer in rhyme."\n')
    assert "/refresh" in (await opened.run.session.perform("prompt")).text
    assert (await opened.run.session.perform("refresh")).data["changed"] == ["prompt"]
    await opened.run.say("two")
    assert "Answer in rhyme." in str(opened.server.requests[-1]["system"])
