from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from tui_agent.settings import secrets
from tui_agent.settings.load import load
from tui_agent.settings.schema import Profile
from tui_agent.settings.secrets import Redactor, api_key, redact

KEY = "sk-ant-0123456789"


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring in memory in the place of the system's."""
    kept: dict[tuple[str, str], str] = {}
    module = types.ModuleType("keyring")
    errors = types.ModuleType("keyring.errors")
    errors.KeyringError = type("KeyringError", (Exception,), {})  # type: ignore[attr-defined]

    def get_password(service: str, user: str) -> str | None:
        if user == "locked":
            raise errors.KeyringError("locked")
        return kept.get((service, user))

    module.get_password = get_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    return kept


def test_the_key_comes_from_the_profiles_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    assert api_key(Profile(name="p", api_key_env="MY_KEY")) == KEY
    assert api_key(Profile(name="p", api_key_env="MY_KEY", auth="none")) is None
    assert api_key(Profile(name="p", api_key_env="MY_KEY", provider="demo")) is None


def test_else_from_the_keyring_and_is_redacted_then(
    monkeypatch: pytest.MonkeyPatch, keyring: dict[tuple[str, str], str]
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    keyring["tui-agent", "p"] = "from-the-keyring-1"
    assert api_key(Profile(name="p", api_key_env="MY_KEY")) == "from-the-keyring-1"
    assert redact("x from-the-keyring-1 y") == "x [redacted MY_KEY] y"
    assert api_key(Profile(name="q", api_key_env="MY_KEY")) is None
    assert api_key(Profile(name="locked", api_key_env="MY_KEY")) is None


def test_without_the_keyring_package_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.delenv("MY_KEY", raising=False)
    assert api_key(Profile(name="p", api_key_env="MY_KEY")) is None


def test_loaded_settings_say_what_is_redacted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(secrets, "_watched", Redactor())
    monkeypatch.setenv("KIMI_KEY", KEY)
    monkeypatch.setenv("DOCS_KEY", "docs-key-123")
    assert redact(f"a {KEY}") == f"a {KEY}"
    (tmp_path / "s.toml").write_text(
        '[profiles.k]\napi_key_env = "KIMI_KEY"\n[knowledge_bases.d]\napi_key_env = "DOCS_KEY"\n'
    )
    load(tmp_path / "s.toml")
    assert (
        redact(f"a {KEY}, {KEY} docs-key-123")
        == "a [redacted KIMI_KEY], [redacted KIMI_KEY] [redacted DOCS_KEY]"
    )


def test_text_anywhere_in_blocks_is_redacted_but_never_in_signed_ones() -> None:
    redactor = Redactor(["A"], environment={"A": KEY})
    signed = {"type": "thinking", "thinking": f"the key is {KEY}", "signature": "abc"}
    hidden = {"type": "redacted_thinking", "data": KEY}
    blocks = [
        {"type": "text", "text": f"see {KEY}"},
        {
            "type": "tool_use",
            "id": "1",
            "name": "bash",
            "input": {"command": f"curl -H {KEY}", KEY: [1, None, KEY]},
        },
        {"type": "tool_result", "content": [{"type": "text", "text": KEY}]},
        {"type": "thinking", "thinking": KEY},
        signed,
        hidden,
    ]
    clean = redactor.redact(blocks)
    assert clean[4] is signed
    assert clean[5] is hidden
    assert KEY not in str(clean[:4])
    assert clean[1]["input"] == {"command": "curl -H [redacted A]", "[redacted A]": [1, None, "[redacted A]"]}  # type: ignore[index]
    assert blocks[0] == {"type": "text", "text": f"see {KEY}"}


def test_what_holds_no_secret_is_the_same_object() -> None:
    redactor = Redactor(["A"], environment={"A": KEY})
    value = {"a": ["x", {"b": ("c", 1.5, None)}]}
    assert redactor.redact(value) is value
    assert redactor.redact("text") == "text"


def test_short_values_are_no_secrets_and_longer_ones_go_first() -> None:
    environment = {"SHORT": "abcdefg", "LONG": "abcdefgh-ijkl", "PART": "abcdefgh", "SPACE": "  secret-8  "}
    redactor = Redactor(["SHORT", "PART", "LONG", "SPACE", "UNSET"], environment=environment)
    assert redactor.redact("abcdefg abcdefgh-ijkl abcdefgh") == "abcdefg [redacted LONG] [redacted PART]"
    assert redactor.redact("secret-8") == "[redacted SPACE]"


def test_a_variable_that_changes_is_followed() -> None:
    environment = {"A": "first-value"}
    redactor = Redactor(["A"], environment=environment)
    assert redactor.redact("second-value") == "second-value"
    environment["A"] = "second-value"
    assert redactor.redact("second-value") == "[redacted A]"
