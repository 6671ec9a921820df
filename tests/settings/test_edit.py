"""Settings one by one: all of them, and values as they are typed."""

from __future__ import annotations

from typing import Any

import pytest

from tui_agent.settings.edit import WHEN, places, typed, written
from tui_agent.settings.load import check
from tui_agent.settings.rules import Rule, SettingsError
from tui_agent.settings.schema import SETTINGS, Settings

TABLES: dict[str, Any] = {
    "durability": "off",
    "profiles": {"my model": {"thinking": "high"}},
    "prices": {"big": {"input": 3}},
    "mcp": {"servers": {"big": {"command": "serve", "timeout": 5}}},
}


def by_key() -> dict[str, Any]:
    return {place.key: place for place in places(check(TABLES, "", None), TABLES)}


def test_every_setting_has_a_place_and_a_time_of_effect() -> None:
    found = by_key()
    for setting in SETTINGS:
        if setting.rule.kind == "map":
            continue
        for name in ("claude", "demo", '"my model"') if setting.key.startswith("profiles.") else ("big",):
            if "knowledge_bases" not in setting.key:
                assert setting.key.replace("*", name) in found
        assert WHEN[setting.rule.when]


def test_a_place_knows_value_default_and_whether_the_file_gives_it() -> None:
    found = by_key()
    assert (found["durability"].value, found["durability"].given) == ("off", True)
    assert (found["theme"].shown, found["theme"].given) == ("auto", False)
    mine = found['profiles."my model".thinking']
    assert (mine.value, mine.default, mine.given) == ("high", "off", True)
    assert not found["profiles.claude.thinking"].given
    assert found["prices.big.input"].shown == "3"
    server = found["mcp.servers.big.timeout"]
    assert (server.value, server.default, server.given) == (5, 60, True)


def test_a_profile_takes_from_the_table_for_all_what_it_does_not_say() -> None:
    tables = {"profiles": {"demo": {"compaction": {"auto": False}}}, "compaction": {"trigger_ratio": 0.7}}
    found = {place.key: place for place in places(check(tables, "", None), tables)}
    ratio, auto = (found[f"profiles.demo.compaction.{name}"] for name in ("trigger_ratio", "auto"))
    assert (ratio.value, ratio.inherited, ratio.given) == (None, 0.7, False)
    assert (auto.value, auto.inherited, auto.given) == (False, True, True)
    assert found["compaction.trigger_ratio"].inherited is None
    assert found["profiles.demo.model"].inherited is None


def test_every_default_reads_back_from_what_is_shown() -> None:
    for place in places(Settings(), {}):
        if place.default is not None and place.rule.kind != "name":
            value = typed(place.rule, written(place.default), place.key)
            assert value == (list(place.default) if isinstance(place.default, tuple) else place.default)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "50,000", 50_000),
        ("integer", "50_000", 50_000),
        ("number", "0.5", 0.5),
        ("switch", "off", False),
        ("list", "read_file, bash:git status", ["read_file", "bash:git status"]),
        ("list", '["bash:echo a, b"]', ["bash:echo a, b"]),
        ("list", "", []),
        ("url", " http://localhost:1/ ", "http://localhost:1"),
    ],
)
def test_values_are_read_as_people_type_them(kind: Any, text: str, value: Any) -> None:
    assert typed(Rule(kind, ""), text, "it") == value


@pytest.mark.parametrize(
    ("rule", "text", "words"),
    [
        (Rule("integer", "", minimum=1, maximum=5), "6", "it is 6; allowed: a whole number from 1 to 5"),
        (Rule("integer", ""), "many", 'it is "many"; allowed: a whole number'),
        (Rule("choice", "", choices=("a", "b")), "c", 'it is "c"; allowed: one of "a", "b"'),
        (Rule("url", ""), "localhost", "allowed: an address that begins with http:// or https://"),
        (
            Rule("variable", ""),
            "sk-ant-12345678",
            "it is not such a name; allowed: the name of an environment",
        ),
        (Rule("list", ""), "[1]", "allowed: a list of texts"),
    ],
)
def test_what_is_not_allowed_is_said_in_the_words_of_the_schema(rule: Rule, text: str, words: str) -> None:
    with pytest.raises(SettingsError) as error:
        typed(rule, text, "it")
    assert words in str(error.value)
    assert "sk-ant" not in str(error.value)
