from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.hostile import acts
from tui_agent.settings.load import load, locate, quote, way_back
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import SETTINGS, Settings

EXAMPLE = """\
profile = "claude"                     # the default profile
durability = "step"
[profiles.claude]
provider = "anthropic"                 # or "demo"
model = "claude-sonnet-5-5"
base_url = "https://api.anthropic.com"
auth = "bearer"
api_key_env = "ANTHROPIC_API_KEY"
context_window = 200000
max_output_tokens = 16000
thinking = "off"
[compaction]
trigger_ratio = 0.85
reserved_tokens = 50000
micro_ratio = 0.5
strategy = "summary"
auto = true
review = false
[approvals]
allow = ["read_file", "bash:git status"]
[keys]
compact = "f5"
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "settings.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refused(tmp_path: Path, text: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(written(tmp_path, text))
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_full_file_is_read(tmp_path: Path) -> None:
    settings = load(written(tmp_path, EXAMPLE))
    profile = settings.find_profile()
    assert (profile.name, profile.provider, profile.model) == ("claude", "anthropic", "claude-sonnet-5-5")
    assert (profile.context_window, profile.max_output_tokens, profile.thinking) == (200_000, 16_000, "off")
    assert (profile.auth, profile.api_key_env) == ("bearer", "ANTHROPIC_API_KEY")
    assert settings.durability == "step"
    assert settings.compaction.trigger_ratio == 0.85
    assert settings.approvals.allow == ("read_file", "bash:git status")
    assert settings.keys == {"compact": "f5"}
    assert settings.notices == ()
    assert settings.file == tmp_path / "settings.toml"


def test_without_a_file_there_are_defaults_and_the_users_file_is_the_one_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path))
    settings = load()
    assert settings.file == tmp_path / "config" / "settings.toml"
    assert settings.find_profile().api_key_env == "ANTHROPIC_API_KEY"
    assert settings.find_profile().context_window is None
    assert settings.find_profile("demo").provider == "demo"
    assert (settings.backups.keep, settings.backups.max_bytes) == (None, None)
    assert not list(tmp_path.iterdir())


def test_the_further_tables_are_read(tmp_path: Path) -> None:
    settings = load(
        written(
            tmp_path,
            '[backups]\nkeep = 20\nmax_bytes = 1_000_000\n[hooks]\npre_compact = "check"\n'
            '[prices."claude-sonnet-5.5"]\ninput = 3\noutput = 15.0\n'
            '[knowledge_bases.docs]\nkind = "markdown"\npath = "docs"\nprofile_aliases = ["claude"]\n'
            '[compaction]\nfallback = "extractive"\n',
        )
    )
    assert (settings.backups.keep, settings.backups.max_bytes) == (20, 1_000_000)
    assert settings.hooks.pre_compact == "check"
    assert settings.prices["claude-sonnet-5.5"].input == 3.0
    assert settings.knowledge_bases["docs"].profile_aliases == ("claude",)
    assert settings.compaction.fallback == "extractive"


def test_the_first_profile_of_a_file_is_the_default_when_it_names_none(tmp_path: Path) -> None:
    settings = load(
        written(tmp_path, '[profiles.local]\nbase_url = "http://127.0.0.1:8080/"\n[profiles.other]\n')
    )
    assert settings.profile == "local"
    assert settings.find_profile().base_url == "http://127.0.0.1:8080"


def test_a_profile_sets_for_itself_what_it_gives_and_takes_the_rest_from_all(tmp_path: Path) -> None:
    settings = load(
        written(
            tmp_path,
            "[compaction]\nmicro_ratio = 0.45\nauto = false\n[profiles.local.compaction]\nauto = true\n"
            'trigger_ratio = 0.7\nstrategy = "extractive"\n',
        )
    )
    own, others = settings.compaction_of("local"), settings.compaction_of("demo")
    assert (own.auto, own.trigger_ratio, own.strategy, own.micro_ratio) == (True, 0.7, "extractive", 0.45)
    assert others == settings.compaction
    assert (others.auto, others.trigger_ratio, others.micro_ratio) == (False, 0.85, 0.45)
    assert settings.compaction_of() == own, "the profile that settings choose"


def test_anthropics_key_is_not_meant_for_another_endpoint(tmp_path: Path) -> None:
    settings = load(
        written(
            tmp_path,
            '[profiles.local]\nbase_url = "http://127.0.0.1:8080"\n[profiles.mine]\nmodel = "m"\n'
            '[profiles.none]\napi_key_env = ""\n',
        )
    )
    assert settings.find_profile("local").api_key_env == ""
    assert settings.find_profile("mine").api_key_env == "ANTHROPIC_API_KEY"
    assert settings.find_profile("none").api_key_env == ""


def test_a_missing_profile_is_named_with_those_there_are(tmp_path: Path) -> None:
    error = refused(tmp_path, '\nprofile = "kimi"\n[profiles.local]\n')
    assert (error.line, error.key) == (2, "profile")
    assert "claude, demo, local" in error.allowed
    with pytest.raises(SettingsError, match="claude, demo"):
        load(written(tmp_path, "")).find_profile("kimi")


def test_unknown_tables_are_kept_and_named_with_their_line(tmp_path: Path) -> None:
    settings = load(
        written(tmp_path, '[compaction]\nauto = false\n\n[other."a b"]\nx = 1\n[[more]]\ny = 2\n')
    )
    assert settings.unknown == {"other": {"a b": {"x": 1}}, "more": [{"y": 2}]}
    assert [re.sub(r".*settings\.toml:", "", notice) for notice in settings.notices] == [
        "4: nothing uses the table [other]; it is kept",
        "6: nothing uses the table [more]; it is kept",
    ]


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("x = 1\n", 1, "x", "unknown key x"),
        (
            "\n[compaction]\n\ntriger_ratio = 0.5\n",
            4,
            "compaction.triger_ratio",
            "did you mean trigger_ratio",
        ),
        ("compaction.auto.x = 1\n", 1, "compaction.auto", "true or false"),
        ("compaction = 3\n", 1, "compaction", "[compaction]"),
        ("profiles = [1]\n", 1, "profiles", "[profiles.NAME]"),
        ("[profiles]\nclaude = 1\n", 2, "profiles.claude", "[profiles.claude]"),
        ('[profiles."a.b"]\nmodle = "x"\n', 2, 'profiles."a.b".modle', "did you mean model"),
        ("[compaction]\ntrigger_ratio = 1.5\n", 2, "compaction.trigger_ratio", "from 0.1 to 0.99"),
        ("[compaction]\ntrigger_ratio = nan\n", 2, "compaction.trigger_ratio", "from 0.1 to 0.99"),
        ("[compaction]\ntrigger_ratio = true\n", 2, "compaction.trigger_ratio", "a number"),
        ("[compaction]\nmicro_ratio = 0.9\n", 2, "compaction.micro_ratio", "below"),
        ("[compaction]\ntrigger_ratio = 0.4\n", 2, "compaction.trigger_ratio", "below"),
        ("[compaction]\nmicro_stop_ratio = 0.5\n", 2, "compaction.micro_stop_ratio", "below"),
        (
            "[compaction]\nmicro_ratio = 0.6\n[profiles.demo.compaction]\ntrigger_ratio = 0.55\n",
            4,
            "profiles.demo.compaction.trigger_ratio",
            "below",
        ),
        ("[profiles.demo.compaction]\nauto = 1\n", 2, "profiles.demo.compaction.auto", "true or false"),
        ("[compaction.priorities]\nwords = 101\n", 2, "compaction.priorities.words", "from 0 to 100"),
        ("[compaction]\nreserved_tokens = 1.5\n", 2, "compaction.reserved_tokens", "a whole number"),
        ("[compaction]\nstrategy = ' '\n", 2, "compaction.strategy", "not empty"),
        ('durability = "always"\n', 1, "durability", '"step", "record", "off"'),
        ("[approvals]\nallow = [\n  'a',\n  3,\n]\n", 2, "approvals.allow", "a list of texts"),
        ("[approvals]\nallow = 'a'\n", 2, "approvals.allow", "a list of texts"),
        ("[keys]\ncompact = 5\n", 1, "keys", "a table of texts"),
        ("[profiles.p]\nbase_url = 'localhost:80'\n", 2, "profiles.p.base_url", "http://"),
        ("[profiles.p]\nbase_url = 'https://me:word@host'\n", 2, "profiles.p.base_url", "http://"),
        ("[profiles.p]\ncontext_window = 100\n", 2, "profiles.p.context_window", "8,000"),
        ("[backups]\nkeep = 0\n", 2, "backups.keep", "from 1"),
        ("a = '''\nx = 1\n'''\n[compaction]\nauto = 1\n", 1, "a", "unknown key a"),
        (
            "[x]\nt = '''\n[compaction]\nauto = 1\n'''\n[compaction]\n# c\nauto = 1\n",
            8,
            "compaction.auto",
            "true",
        ),
    ],
)
def test_an_error_names_file_line_key_and_what_is_allowed(
    tmp_path: Path, text: str, line: int, key: str, words: str
) -> None:
    error = refused(tmp_path, text)
    assert (error.file, error.line, error.key) == (tmp_path / "settings.toml", line, key)
    assert error.allowed
    assert str(error).startswith(f"{tmp_path}/settings.toml:{line}: ")
    assert words in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "[profiles.p]\napi_key_env = 'sk-ant-0123456789'\n",
        "[profiles.p]\napi_key = 'sk-ant-0123456789'\n",
        "[profiles.p]\ntoken = 'sk-ant-0123456789'\n",
    ],
)
def test_a_key_in_settings_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    error = refused(tmp_path, text)
    assert "sk-ant" not in str(error)
    assert "variable" in str(error)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a = 1\nb = = 2\n", 2),
        (b"[x]\n[x]\n", 2),
        (b"a = '''\nopen\n", 3),
        (b"a = 1\nb = 'caf\xe9'\n", 2),
        (b"a = 1\n\x00\n", 2),
    ],
)
def test_a_file_that_is_not_toml_is_refused_with_its_line(tmp_path: Path, data: bytes, line: int) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load(file)
    assert (caught.value.file, caught.value.line) == (file, line)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path)
    with pytest.raises(SettingsError, match="too deeply"):
        load(written(tmp_path, "a = " + "[" * 5000 + "]" * 5000))


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b'\xef\xbb\xbfdurability = "off"\r\n[compaction]\r\nauto = 1\r\n')
    with pytest.raises(SettingsError) as caught:
        load(file)
    assert caught.value.line == 3


def test_every_line_of_a_file_is_located() -> None:
    text = (
        EXAMPLE + 'long = """\n[no]\nx = 1\n"""\n[a.b]\nc.d = { e = 1, f = [\n 1,\n 2 ] }\n[[list]]\nz = 1\n'
    )
    lines = text.split("\n")
    for path, begins in {
        ("profile",): "profile =",
        ("profiles",): "[profiles.claude]",
        ("profiles", "claude", "thinking"): "thinking",
        ("keys", "compact"): "compact",
        ("keys", "long"): "long",
        ("a", "b"): "[a.b]",
        ("a", "b", "c", "d", "f"): "c.d",
        ("list", "z"): "z",
    }.items():
        line = locate(text, path)
        assert line is not None
        assert lines[line - 1].startswith(begins)
    assert locate(text, ("no",)) is None


@pytest.mark.parametrize(
    "name", ["plain", "two words", "", 'a"b\\c', "esc\x1b[31m", "line\nend", "\u202e", "日本", "\U000e0069"]
)
def test_a_name_in_quotes_is_the_same_name(name: str) -> None:
    assert tomllib.loads(f"{quote(name)} = 1") == {name: 1}
    assert not acts(quote(name))


def test_every_setting_has_help_and_its_default_is_allowed(tmp_path: Path) -> None:
    assert len({setting.key for setting in SETTINGS}) == len(SETTINGS) >= 30
    for setting in SETTINGS:
        assert setting.rule.help.endswith(".")
        assert setting.rule.allowed
        assert (setting.rule.kind == "choice") == bool(setting.rule.choices)
        if setting.rule.choices and setting.default is not None:
            assert setting.default in setting.rule.choices
        if setting.default is not None and setting.rule.minimum is not None:
            assert setting.rule.minimum <= setting.default <= (setting.rule.maximum or setting.default)


def test_settings_are_values() -> None:
    settings = Settings()
    with pytest.raises(AttributeError):
        settings.profile = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        settings.profiles["x"] = settings.profiles["demo"]  # type: ignore[index]


def test_the_way_back_names_what_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("profile = ")
    with pytest.raises(SettingsError) as error:
        load(file)
    assert way_back(error.value) == "Mend it in an editor."
    file.with_name("settings.toml.bak").write_text("")
    assert "settings.toml.bak" in way_back(error.value)
