"""Who answers a session: a profile of settings with its key, or the demo model. The providers are named here alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent.agent.speaker import Chosen
from tui_agent.commands import CommandError
from tui_agent.llm.provider import Provider, ProviderError
from tui_agent.settings import secrets
from tui_agent.settings.schema import Profile, Settings

if TYPE_CHECKING:
    from tui_agent.sessions.folder import SessionFolder

_OUTPUT_SHARE = 4
"""An answer of the demo model takes at most this part of a small window."""


@dataclass
class Choice:
    """Chooses who answers: a profile of settings, a model of one, or the demo model."""

    settings: Settings
    folder: SessionFolder

    def __post_init__(self) -> None:
        self.notices: list[str] = []
        self._profile: Profile | None = None

    def first(self, name: str | None, *, demo: bool, model: str = "") -> Chosen:
        """The provider a session starts with; the demo model where there is no key, said in `notices`.

        `model` is asked in place of the one that the profile names.
        """
        profile = self.settings.find_profile("demo" if demo else name)
        if model and profile.provider != "demo":
            profile = _with_model(profile, model)
        key = secrets.api_key(profile)
        if profile.provider != "demo" and profile.auth != "none" and key is None:
            variable = profile.api_key_env or "the key variable of the profile"
            self.notices.append(
                f"no key for {profile.base_url}: the demo model answers, which is no AI. /connect connects a model; "
                f"so does setting {variable} before the start"
            )
            profile = self.settings.profiles.get("demo", Profile(name="demo", provider="demo", auth="none"))
            key = None
        return self._connected(profile, key)

    async def named(self, name: str) -> Chosen:
        """The profile of that name, a model of one (`PROFILE MODEL`), or of the profile in force; its limits asked.

        Raises:
            CommandError: there is no key, or the endpoint does not answer.
        """
        profile = self._find(name)
        key = await asyncio.to_thread(secrets.api_key, profile)
        if profile.provider != "demo" and profile.auth != "none" and key is None:
            variable = profile.api_key_env or "the variable of the profile's key"
            raise CommandError(
                f"there is no key for {profile.base_url}: /connect asks for it, or set {variable}"
            )
        before, chosen = self._profile, self._connected(profile, key)
        try:
            await chosen.provider.prepare()
        except ProviderError as error:
            self._profile = before
            await chosen.provider.close()
            raise CommandError(f"{name} cannot be asked: {error}") from error
        except BaseException:
            self._profile = before
            raise
        return chosen

    def take(self, settings: Settings) -> None:
        """Choose from other settings from now on."""
        self.settings = settings

    def _find(self, name: str) -> Profile:
        profiles = self.settings.profiles
        if name in profiles:
            return profiles[name]
        within = [known for known in profiles if name.startswith(f"{known} ")]
        if within:
            known = max(within, key=len)
            profile, model = profiles[known], name[len(known) :].strip()
        elif self._profile is not None:
            profile, model = self._profile, name
        if (not within and self._profile is None) or profile.provider == "demo":
            raise CommandError(
                f"there is no profile {name!r} in settings; there are: {', '.join(sorted(profiles))}"
            )
        return _with_model(profile, model)

    def _connected(self, profile: Profile, key: str | None) -> Chosen:
        self._profile = profile
        provider = _provider(profile, key, self.folder.blobs.get)
        return Chosen(provider, profile.name, profile.thinking, profile.provider == "demo")


def _with_model(profile: Profile, model: str) -> Profile:
    if model == profile.model:
        return profile
    return replace(profile, model=model, context_window=None, max_output_tokens=None)


def _provider(profile: Profile, key: str | None, load_blob: Callable[[str], bytes | None]) -> Provider:
    if profile.provider == "demo":
        from tui_agent.llm.demo import DemoProvider

        window = profile.context_window or DemoProvider.WINDOW
        most = profile.max_output_tokens or min(DemoProvider.MAX_OUTPUT, window // _OUTPUT_SHARE)
        return DemoProvider(window=window, max_output_tokens=most)
    from tui_agent.llm.anthropic import AnthropicProvider

    return AnthropicProvider(profile, key, load_blob=load_blob)
