"""The user's keys: where they come from, and that they are written nowhere.

A key comes from the environment variable that a profile names, else from the system's keyring (the `keyring` extra;
service `tui-agent`, user name the profile's name); one that was typed for this run alone goes before both. Before text
is written or shown, the values of all of them are replaced by `[redacted NAME]`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tui_agent.settings.rules import SettingsError

if TYPE_CHECKING:
    from tui_agent.settings.schema import Profile, Settings

SERVICE = "tui-agent"
"""The service name under which the system's keyring holds keys."""

LEAST_SECRET = 8
"""Characters: a shorter value is no key, and replacing it would tear ordinary words."""

_T = TypeVar("_T")
_lent: dict[str, str] = {}


def api_key(profile: Profile) -> str | None:
    """The profile's key from its environment variable or the system's keyring; None if there is none.

    A key from the keyring is redacted by `redact` from then on. The keyring may block while it asks the user: call
    this in a thread. A keyring that cannot be opened counts as empty.
    """
    if profile.provider == "demo" or profile.auth == "none":
        return None
    if profile.name in _lent:
        return _lent[profile.name]
    if profile.api_key_env and (value := os.environ.get(profile.api_key_env, "").strip()):
        return value
    stored = _from_keyring(profile.name) if profile.name else None
    if stored:
        _watched.add(profile.api_key_env or profile.name, stored)
    return stored


def conceal(name: str, value: str) -> None:
    """Let `redact` replace a value that is in no variable, as `[redacted NAME]`."""
    _watched.add(name, value)


def lend(profile: Profile, key: str) -> None:
    """Use a key for a profile until the program ends. It is in no file and in no other program's environment."""
    _lent[profile.name] = key.strip()
    conceal(profile.api_key_env or profile.name, key)


def take_back(profile: Profile) -> None:
    """Use no lent key for a profile any more."""
    _lent.pop(profile.name, None)


def has_keyring() -> bool:
    """Whether there is a keyring that keeps keys. It may block: call it in a thread."""
    try:
        keyring = importlib.import_module("keyring")
        return float(keyring.get_keyring().priority) > 0
    except (ImportError, RuntimeError, TypeError, ValueError):
        return False


def keep(profile: Profile, key: str) -> None:
    """Keep a profile's key in the system's keyring. It may block while it asks the user: call it in a thread.

    Raises:
        SettingsError: there is no keyring, or it refuses.
    """
    conceal(profile.api_key_env or profile.name, key)
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError as error:
        raise SettingsError("there is no keyring: install tui-agent[keyring]") from error
    try:
        keyring.set_password(SERVICE, profile.name, key.strip())
    except errors.KeyringError as error:
        # a backend may repeat what it was given
        raise SettingsError(f"the keyring refuses: {redact(str(error))}") from error


def variables(settings: Settings) -> list[str]:
    """The environment variables that settings name as holding a key, each once."""
    named = [profile.api_key_env for profile in settings.profiles.values()]
    named += [base.api_key_env for base in settings.knowledge_bases.values()]
    return list(dict.fromkeys(name for name in named if name))


class Redactor:
    """Replaces the values of secret environment variables in text, by `[redacted NAME]`.

    Values are read when text is redacted, so a variable that changes is followed. `environment` stands in for the
    process's own.
    """

    def __init__(self, names: Iterable[str] = (), *, environment: Mapping[str, str] | None = None) -> None:
        self._names = dict.fromkeys(names)
        self._environment = environment
        self._values: dict[str, str] = {}

    @classmethod
    def of(cls, settings: Settings) -> Redactor:
        """A redactor for every variable that settings name."""
        return cls(variables(settings))

    def watch(self, names: Iterable[str]) -> None:
        """Redact the values of these variables too."""
        self._names.update(dict.fromkeys(names))

    def add(self, name: str, value: str) -> None:
        """Redact a value that is in no variable, as `[redacted NAME]`."""
        if len(value.strip()) >= LEAST_SECRET:
            self._values[value.strip()] = name

    def redact(self, value: _T) -> _T:
        """The text, or the nested lists and mappings of blocks, without secrets; the same object if there were none.

        A signed block (thinking with its signature, redacted_thinking) is left as it is: altered, the API would
        refuse it.
        """
        secrets = self._secrets()
        return cast(_T, _redact(value, secrets)) if secrets else value

    def _secrets(self) -> list[tuple[str, str]]:
        """Values with their names, the longest first, so that a value inside another leaves no rest."""
        environment = os.environ if self._environment is None else self._environment
        found = dict(self._values)
        for name in self._names:
            value = environment.get(name, "").strip()
            if len(value) >= LEAST_SECRET:
                found.setdefault(value, name)
        return sorted(found.items(), key=lambda item: -len(item[0]))


_watched = Redactor()


def watch(settings: Settings) -> None:
    """Let `redact` replace the values of every variable that these settings name."""
    _watched.watch(variables(settings))


def redact(value: _T) -> _T:
    """The text or block structure without the secrets of any settings that were loaded in this process."""
    return _watched.redact(value)


class Stream:
    """Redacts text that comes in pieces: what may be the beginning of a secret is held back until it is decided."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or _watched
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that may be shown now, without secrets."""
        secrets = self._redactor._secrets()
        text = _redact(self._held + text, secrets)
        keep = max((_overlap(text, secret) for secret, _ in secrets), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was held back, at the end."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, secret: str) -> int:
    """How many characters at the end of the text are the beginning of the secret."""
    for length in range(min(len(secret) - 1, len(text)), 0, -1):
        if text.endswith(secret[:length]):
            return length
    return 0


def _redact(value: Any, secrets: list[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for secret, name in secrets:
            if secret in value:
                value = value.replace(secret, f"[redacted {name}]")
        return value
    if isinstance(value, Mapping):
        if _signed(value):
            return value
        changed = {_redact(key, secrets): _redact(item, secrets) for key, item in value.items()}
        same = (
            all(a is b for a, b in zip(changed.values(), value.values(), strict=False)) and changed == value
        )
        return value if same else changed
    if isinstance(value, list | tuple):
        items = [_redact(item, secrets) for item in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    return value


def _signed(block: Mapping[Any, Any]) -> bool:
    return block.get("type") == "redacted_thinking" or (
        block.get("type") == "thinking" and bool(block.get("signature"))
    )


def _from_keyring(user: str) -> str | None:
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError:
        return None
    try:
        value: str | None = keyring.get_password(SERVICE, user)
    except errors.KeyringError:
        return None
    return value.strip() or None if value else None
