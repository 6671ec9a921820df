"""The settings screen: every setting, changed and written; a file that others change, and one that is broken."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.ui.stage import Stage, stage
from tui_agent.settings.load import load
from tui_agent.settings.schema import SETTINGS
from tui_agent.ui import settings
from tui_agent.ui.settings import SettingsScreen


@pytest.fixture(autouse=True)
def _looks_only_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is looked at by the tests themselves."""
    monkeypatch.setattr(settings, "LOOK_S", 3600.0)


FILE = 'durability = "off"\n\n[mine]\nkept = 1\n\n[keys]\njump = "f8"\nnothing = "f5"\n'


@asynccontextmanager
async def opened(
    tmp_path: Path, text: str | None = FILE, *, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[Stage, SettingsScreen, Path]]:
    """The settings screen over a file."""
    file = tmp_path / "settings.toml"
    if text is not None:
        file.write_text(text)
    async with stage(tmp_path, size=size, settings=load(file)) as made:
        await made.press("ctrl+x", "comma")
        await made.until(lambda: isinstance(made.app.screen, SettingsScreen))
        place = made.app.screen
        assert isinstance(place, SettingsScreen)
        await made.until(lambda: place._items, "the settings")
        yield made, place, file


async def go(made: Stage, place: SettingsScreen, key: str) -> None:
    """Put the cursor on a setting."""
    place.rows.move(next(index for index, item in enumerate(place._items) if item.key == key))
    await made.settle()


def said(file: Path) -> dict[str, object]:
    return tomllib.loads(file.read_text())


async def test_every_setting_is_listed_with_value_default_allowed_values_and_help(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, _):
        keys = [item.key for item in place._items]
        for setting in SETTINGS:
            if setting.rule.kind != "map" and "*" not in setting.key:
                assert setting.key in keys
        assert {"profiles.claude.model", "profiles.demo.thinking", "keys.jump", "[mine]"} <= set(keys)
        for item in place._items:
            about = place.about(place._items.index(item)).plain
            assert about, item.key
            if item.place is not None:
                allowed = "one of claude, demo" if item.key == "profile" else item.place.rule.allowed
                assert item.place.rule.help in about and allowed in about
        await go(made, place, "durability")
        assert "durability" in made.text and "off" in made.text and "step" in made.text
        assert 'one of "step", "record", "off"' in made.text
        assert "in the next session" in made.text


async def test_a_choice_takes_its_next_value_and_the_default_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "durability")
        await made.press("enter")
        await made.until(lambda: said(file)["durability"] == "step")
        await made.until(lambda: "Written to" in made.text)
        assert said(file)["mine"] == {"kept": 1}, "what nothing knows is kept"
        await made.press("x")
        await made.until(lambda: "durability" not in said(file))
        await made.until(lambda: "is the default again" in made.text)


async def test_a_number_is_typed_and_what_is_wrong_with_it_is_said_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "compaction.trigger_ratio")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.focused, Input))
        await made.press("ctrl+u")
        await made.type("2")
        await made.until(lambda: "allowed: a number from 0.1 to 0.99" in made.text)
        await made.press("enter")
        await made.settle()
        assert "compaction" not in said(file)
        await made.press("ctrl+u")
        await made.type("0.3")
        await made.until(lambda: "is not below" in made.text, "what other settings say of it")
        await made.press("ctrl+u")
        await made.type("0.7")
        await made.press("enter")
        await made.until(lambda: said(file).get("compaction") == {"trigger_ratio": 0.7})


async def test_a_profile_sets_for_itself_when_it_compacts(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "profiles.demo.compaction.fallback")
        assert "ask as for all" in made.text and "50,000 as for all" in made.text, "what counts meanwhile"
        assert "⋯demo.compaction.micro_stop_ratio " in made.text, "the end of a long name tells more"
        await made.press("enter")
        await made.until(lambda: said(file).get("profiles") == {"demo": {"compaction": {"fallback": "ask"}}})
        await made.press("enter")
        await made.until(lambda: "extractive" in str(said(file)["profiles"]))
        await made.press("x")
        await made.until(lambda: "extractive" not in str(said(file)["profiles"]))
        await go(made, place, "profiles.demo.compaction.trigger_ratio")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.focused, Input))
        await made.type("0.3")
        await made.until(lambda: "is not below" in made.text, "what all profiles are told stands against it")


async def test_esc_leaves_the_line_then_the_screen(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "approvals.allow")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.focused, Input))
        await made.type("bash:ls")
        await made.press("escape")
        await made.until(lambda: made.app.focused is place.rows)
        assert file.read_text() == FILE
        await made.press("escape")
        await made.until(lambda: made.app.screen is made.chat)


async def test_what_can_take_effect_at_once_does(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, _):
        assert "╌" in made.text or "─" in made.text
        await go(made, place, "glyphs")
        await made.press("enter")
        await made.until(lambda: made.text.isascii(), "a screen of ASCII")
        await go(made, place, "motion")
        await made.press("enter")
        await made.until(lambda: made.app.animation_level == "none")
        assert made.app.settings.motion == "reduced"
        assert made.session.settings.glyphs == "ascii", "the session knows too"


async def test_keys_are_listed_with_their_problems_and_changed_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "keys.nothing")
        assert "there is no such action" in made.text
        await go(made, place, "keys.theme")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.focused, Input))
        await made.press("ctrl+u")
        await made.type("f8")
        await made.until(lambda: "f8 belongs to" in made.text)
        await made.press("ctrl+u")
        await made.type("ctrl+x z")
        await made.press("enter")
        await made.until(lambda: said(file)["keys"] == {"jump": "f8", "nothing": "f5", "theme": "ctrl+x z"})
        await made.until(lambda: made.app.keys.letters.get("z") == "theme")
        await made.press("escape")
        await made.until(lambda: made.app.screen is made.chat)
        await made.press("ctrl+x", "z")
        await made.until(lambda: type(made.app.screen).__name__ == "ThemeScreen", "the themes, by a new key")


async def test_another_programs_change_is_noticed_and_not_lost(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "durability")
        file.write_text(FILE.replace("kept = 1", "kept = 2"))
        await made.press("enter")
        await made.until(lambda: "Written to" in made.text)
        assert said(file)["durability"] == "step" and said(file)["mine"] == {"kept": 2}
        assert "is kept" in made.text
        file.write_text(file.read_text().replace('"step"', '"record"'))
        await made.press("enter")
        await made.until(lambda: "was changed by another program, to record" in made.text)
        assert said(file)["durability"] == "record", "nothing was written over it"


async def test_comments_are_said_to_be_kept_beside_the_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        file.write_text("# mine\n" + FILE)
        place._look()
        await go(made, place, "durability")
        await made.press("enter")
        await made.until(lambda: "with comments, it is settings.toml.bak" in " ".join(made.text.split()))
        await made.press("enter")
        await made.until(lambda: "Written to settings.toml" in made.text and ".bak" not in made.text)
        assert file.with_name("settings.toml.bak").read_text() == "# mine\n" + FILE


async def test_a_look_at_the_file_shows_what_changed(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        file.write_text('durability = "record"\n')
        place._look()
        await made.until(lambda: "was changed by another program" in made.text)
        await go(made, place, "durability")
        assert place._items[place.rows.cursor].value == "record"


async def test_a_broken_file_is_shown_with_its_line_and_left_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        broken = 'durability = "off"\nprofile = \n'
        file.write_text(broken)
        place._look()
        await made.until(lambda: "cannot be used" in made.text)
        assert "settings.toml:2" in made.text.replace("\n", "")
        await made.press("enter", "x")
        await made.settle()
        assert file.read_text() == broken
        assert made.app.settings.durability == "off", "what was in force stays"
        file.write_text('durability = "record"\n')
        await made.press("r")
        await made.until(lambda: place._items)
        assert "cannot be used" not in made.text


async def test_without_a_file_one_is_made_and_a_table_that_nothing_uses_cannot_be_changed(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, None) as (made, place, file):
        await go(made, place, "compaction.auto")
        await made.press("enter")
        await made.until(file.exists)
        await made.until(lambda: said(file) == {"compaction": {"auto": False}})
    async with opened(tmp_path) as (made, place, file):
        await go(made, place, "[mine]")
        assert "kept as it is" in made.text
        await made.press("x", "enter")
        await made.settle()
        assert file.read_text() == FILE


async def test_the_theme_leads_to_the_list_of_themes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, _):
        await go(made, place, "theme")
        await made.press("enter")
        await made.until(lambda: type(made.app.screen).__name__ == "ThemeScreen")


async def test_a_value_with_control_characters_is_shown_as_signs(tmp_path: Path) -> None:
    text = '[profiles."a\\u001b[31m"]\nmodel = "x\\u001b]52;c;aGk=\\u0007"\n'
    async with opened(tmp_path, text) as (made, place, _):
        await go(made, place, place._items[[i.value for i in place._items].index("x\x1b]52;c;aGk=\x07")].key)
        assert "\x1b" not in made.text and "\x07" not in made.text
        assert "x␛]52" in made.text
