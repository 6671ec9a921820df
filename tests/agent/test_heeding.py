"""A settings file that is changed by hand while a session is open."""

from __future__ import annotations

from pathlib import Path

from tests.support.engine import engine
from tests.support.server import Hold, Reply, ScriptedServer
from tui_agent.events import Notice
from tui_agent.settings.load import load


def write(file: Path, server: ScriptedServer, more: str = "") -> None:
    profile = f'model = "scripted-1"\nbase_url = "{server.url}"\nauth = "none"\ncontext_window = 200_000\n'
    file.write_text(f'profile = "scripted"\n[profiles.scripted]\nprovider = "anthropic"\n{profile}{more}')


async def test_what_is_changed_by_hand_is_in_force_with_the_next_words(tmp_path: Path) -> None:
    file, workspace = tmp_path / "settings.toml", tmp_path / "work"
    workspace.mkdir()
    async with ScriptedServer() as server:
        server.always(Reply.text("yes"))
        write(file, server)
        async with engine(workspace, settings=load(file)) as run:

            def told() -> str:
                return str(server.requests[-1]["messages"][-1]["content"])

            def notices() -> list[str]:
                return [one.text for one in run.all(Notice) if one.source == "settings"]

            await run.say("one")
            write(file, server, '[prompt]\nrules = ["Never touch vendor."]\n')
            await run.say("two")
            assert "Never touch vendor." in told()
            assert notices() == ["settings.toml was changed: it holds from now on"]
            write(file, server, "[prompt]\nrules = nonsense\n")
            await run.say("three")
            assert "three" in told() and "taken the rules out" not in told()
            assert len(notices()) == 2 and "settings.toml:9" in notices()[1]
            await run.say("four")
            assert len(notices()) == 2, "what is wrong is said once"
            write(file, server)
            await run.say("five")
            assert "taken the rules out" in told()


async def test_a_file_that_was_written_anew_and_says_the_same_is_no_news(tmp_path: Path) -> None:
    file, workspace = tmp_path / "settings.toml", tmp_path / "work"
    workspace.mkdir()
    async with ScriptedServer() as server:
        server.always(Reply.text("yes"))
        write(file, server)
        async with engine(workspace, settings=load(file)) as run:
            write(file, server, "\n# a remark\n")
            await run.say("one")
            assert not [one for one in run.all(Notice) if one.source == "settings"]


async def test_it_is_in_force_for_words_that_come_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    file, workspace, hold = tmp_path / "settings.toml", tmp_path / "work", Hold()
    workspace.mkdir()
    async with ScriptedServer() as server:
        server.script(Reply.text("yes").holding(hold), Reply.text("and yes"))
        write(file, server)
        async with engine(workspace, settings=load(file)) as run:
            await run.session.submit("one")
            await hold.reached.wait()
            write(file, server, '[prompt]\nrules = ["Never touch vendor."]\n')
            await run.session.submit("two")
            hold.release.set()
            await run.session.until_idle()
            assert "Never touch vendor." in str(server.requests[1]["messages"][-1])
