"""What is filled in to connect to a model: a draft of a profile, its fields, and what each may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from tui_agent.llm.connect import PRESETS
from tui_agent.settings.edit import typed
from tui_agent.settings.load import quote
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import SETTINGS, Auth, Profile, builtin_profiles

if TYPE_CHECKING:
    from tui_agent.llm.connect import Report
    from tui_agent.settings.schema import Settings


@dataclass(frozen=True, slots=True)
class Field:
    """A row of the form."""

    name: str
    title: str
    help: str
    choices: tuple[Auth, ...] = ()


FIELDS: tuple[Field, ...] = (
    Field("base_url", "address", "The endpoint's address, without /v1."),
    Field("model", "model", "Enter lists what the endpoint has; a name can be typed too."),
    Field("key", "key", "Typed here it goes to the system's keyring, and into no file."),
    Field("api_key_env", "key variable", "The environment variable that holds the key."),
    Field("auth", "key is sent as", "bearer, x-api-key, or none is sent.", ("bearer", "x-api-key", "none")),
    Field("name", "profile", "The name in settings; one that is there is changed."),
    Field("default", "start with it", "Whether new sessions begin with this profile."),
)

_RULES = {
    setting.key.rpartition(".")[2]: setting.rule
    for setting in SETTINGS
    if ".*." in setting.key and setting.key.startswith("profiles")
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile before it is tested. `key` is one that was typed; it is never part of what is shown or saved."""

    title: str
    words: str
    name: str
    base_url: str = ""
    auth: Auth = "none"
    api_key_env: str = ""
    model: str = ""
    default: bool = True
    demo: bool = False
    key: str = field(default="", repr=False)

    def profile(self) -> Profile:
        """The profile that is tested and saved."""
        return Profile(
            name=self.name,
            base_url=self.base_url.rstrip("/"),
            auth=self.auth,
            api_key_env="" if self.auth == "none" else self.api_key_env,
            model=self.model,
        )

    def with_key(self, key: str, *, for_keyring: bool) -> Draft:
        """The draft with a key that was typed; without a keyring a variable is named for the next time."""
        if not key:
            return replace(self, key="")
        variable = self.api_key_env if self.api_key_env or for_keyring else f"{_variable(self.name)}_API_KEY"
        return replace(self._sending(), key=key, api_key_env=variable)

    def with_variable(self, name: str) -> Draft:
        """The draft with the variable that holds its key."""
        return replace(self._sending() if name else self, api_key_env=name)

    def _sending(self) -> Draft:
        return replace(self, auth=self.auth if self.auth != "none" else "bearer")

    def changes(self, settings: Settings) -> dict[str, Any]:
        """What is written: the profile's own keys; those of one that is there and fits another model are taken out."""
        profile, place = self.profile(), f"profiles.{quote(self.name)}"
        found: dict[str, Any] = {
            f"{place}.provider": "anthropic",
            f"{place}.base_url": profile.base_url,
            f"{place}.auth": profile.auth,
            f"{place}.api_key_env": profile.api_key_env or None,
            f"{place}.model": profile.model or None,
        }
        before = settings.profiles.get(self.name)
        if before is not None and (before.model, before.base_url) != (profile.model, profile.base_url):
            found |= {f"{place}.context_window": None, f"{place}.max_output_tokens": None}
        if self.default:
            found["profile"] = self.name
        return found


def beginnings(settings: Settings) -> list[Draft]:
    """What can be begun from: each known endpoint, the profiles of settings, any other endpoint, the demo."""
    presets = {preset.name: preset for preset in PRESETS}
    found = []
    for name, preset in presets.items():
        known = Draft(
            preset.title,
            preset.words,
            name,
            preset.base_url,
            preset.auth,
            preset.api_key_env,
            preset.model,
        )
        saved = settings.profiles.get(name)
        mine = saved is not None and saved != builtin_profiles().get(name)
        found.append(_saved(known, saved, settings) if saved is not None and mine else known)
    for name, profile in settings.profiles.items():
        if name not in presets and profile.provider != "demo":
            found.append(_saved(Draft(name, "a profile of your settings", name), profile, settings))
    free = next(name for name in _names() if name not in settings.profiles)
    other = Draft("another endpoint", "any address that speaks like it", free, "http://localhost:8000")
    demo = Draft("demo", "answers by rules; drives the real machinery, offline", "demo", demo=True)
    return [*found, other, demo]


def _saved(draft: Draft, profile: Profile, settings: Settings) -> Draft:
    """The draft as a profile of settings has it."""
    return replace(
        draft,
        base_url=profile.base_url,
        auth=profile.auth,
        api_key_env=profile.api_key_env,
        model=profile.model,
        default=settings.profile == profile.name,
    )


def _names() -> Iterator[str]:
    yield "mine"
    yield from (f"mine{number}" for number in count(2))


def _variable(name: str) -> str:
    """The name of a profile as it can begin an environment variable's."""
    letters = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
    return letters if letters[:1].isalpha() else f"KEY_{letters}".strip("_")


def ways(report: Report, draft: Draft) -> tuple[str, ...]:
    """What can be done in the form after a test that failed."""
    if report.kind == "auth":
        if draft.auth == "none":
            return ("it wants a key: type one, or name the variable that holds it",)
        other = "x-api-key" if draft.auth == "bearer" else "bearer"
        return ("check the key", f"let the key be sent as {other}")
    return tuple(way.replace("base_url", "the address") for way in report.ways)


def check(name: str, text: str) -> str:
    """What is wrong with a field's text; empty if nothing is."""
    if name == "name":
        if text.strip() == "demo":
            return "demo is the name of the offline model; allowed: any other"
        return "" if text.strip() else "a profile has a name"
    try:
        typed(_RULES[name], text.strip(), name)
    except SettingsError as error:
        return f"{error.problem}; allowed: {error.allowed}"
    return ""
