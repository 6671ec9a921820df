"""Models: the profiles of settings, and the models their endpoints list. Enter switches; the session stays.

The models of the profile in force are asked for at once, those of another one with `l`. While a turn runs, the model
that was chosen answers from the next turn on. `t` changes how much the model may think.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from tui_agent.commands import CommandError
from tui_agent.events import ModelChanged
from tui_agent.literal import one_line
from tui_agent.settings import secrets
from tui_agent.settings.schema import LEVELS
from tui_agent.ui.cells import Column
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.worker import Worker

    from tui_agent.events import Event
    from tui_agent.llm.connect import Offered
    from tui_agent.settings.schema import Profile
    from tui_agent.ui.cells import Cell
    from tui_agent.ui.desk import Desk

_COLUMNS = (Column("", 4), Column("profile", 16), Column("model"), Column("window", 12, "right"))
_NOT_OPEN = "no session is open"


@dataclass(frozen=True, slots=True)
class Row:
    """A profile, or a model that its endpoint lists (`listed`). Windows are in tokens, None where nobody told."""

    profile: Profile
    model: str
    window: int | None
    listed: bool = False

    @property
    def name(self) -> str:
        """As `/model` takes it."""
        return f"{self.profile.name} {self.model}" if self.listed else self.profile.name


class ModelScreen(Listing):
    """The list of profiles and models."""

    ACTION: ClassVar[str] = "model"
    ENTER: ClassVar[str] = "switch"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.keys, "model", empty="no profiles")
        self._desk = desk
        self._list: list[Row] = []
        self._offered: dict[str, list[Offered]] = {}
        self._switching: Worker[None] | None = None

    # --- what is listed

    def load(self) -> None:
        self.rows.show(self._cells, 0, columns=_COLUMNS)
        self._show()
        self._to_now()
        session = self._desk.session
        if session is not None and session.profile in self._desk.settings.profiles:
            self._list_models(self._desk.settings.profiles[session.profile])

    def _show(self) -> None:
        self._list = []
        for profile in self._desk.settings.profiles.values():
            self._list.append(Row(profile, profile.model, profile.context_window))
            self._list += [
                Row(profile, model.name, model.window, listed=True)
                for model in self._offered.get(profile.name, ())
            ]
        self.rows.show(
            self._cells,
            len(self._list),
            key=lambda index: self._list[index].name,
            text=lambda index: self._list[index].name,
        )
        self._head_line()
        self.refresh_keys()

    def _to_now(self) -> None:
        """Put the cursor on the model in force."""
        now = next((index for index in range(len(self._list)) if self._mark(index)), 0)
        self.rows.move(now, tell=False)
        self.refresh_keys()

    def _head_line(self) -> None:
        session = self._desk.session
        if session is None:
            self.headline("the session is not open yet")
            return
        later = f", then {session.next_model}" if session.next_model else ""
        self.headline(f"{session.model}{later}   thinking: {session.thinking}")

    def _cells(self, index: int) -> Sequence[Cell]:
        row = self._list[index]
        window = f"{row.window:,}" if row.window is not None else ""
        mark = Content.styled(self._mark(index), "bold $text-success")
        if row.listed:
            return mark, "", row.model, window
        model = row.model or ("no AI" if row.profile.provider == "demo" else "the newest it lists")
        return mark, Content.styled(one_line(row.profile.name), "bold"), model, window

    def _mark(self, index: int) -> str:
        """Whether a row is the model in force: the listed one, else its profile."""
        session, row = self._desk.session, self._list[index]
        if session is None or row.profile.name != session.profile:
            return ""
        if row.listed:
            return "now" if row.model == session.model else ""
        others = [model.name for model in self._offered.get(row.profile.name, ())]
        return "" if session.model in others else "now"

    def about(self, index: int) -> Content:
        row = self._list[index]
        profile = row.profile
        if profile.provider == "demo":
            return Content("the offline demo model: no AI, but the real machinery")
        key = f"key in {profile.api_key_env}" if profile.auth != "none" else "no key"
        return Content(one_line(f"{profile.base_url}   {key}   thinking {profile.thinking}"))

    def offered(self) -> Sequence[Key]:
        keys = [Key("t", "thinking", "think"), Key("o", "connect", "connect")]
        if self.rows.cursor >= 0 and self._list and self._list[self.rows.cursor].profile.provider != "demo":
            keys.insert(0, Key("l", "list models", "list_models"))
        return keys

    # --- what an endpoint lists

    def action_list_models(self) -> None:
        """Ask the endpoint of the profile under the cursor for its models."""
        if self.rows.cursor >= 0:
            self._list_models(self._list[self.rows.cursor].profile)

    def _list_models(self, profile: Profile) -> None:
        if profile.provider != "demo":
            self.run_worker(self._listing(profile), group="list", exclusive=True, exit_on_error=False)

    async def _listing(self, profile: Profile) -> None:
        from tui_agent.llm import connect
        from tui_agent.llm.provider import ProviderError

        self.note(f"asking {profile.base_url} for its models ...", "$text-muted")
        try:
            key = await asyncio.to_thread(secrets.api_key, profile)
            found = await connect.offered(profile, key)
        except ProviderError as error:
            self.note(f"its models are not known: {error}", "$text-warning")
            return
        on_it = bool(self._mark(self.rows.cursor)) if self.rows.cursor >= 0 else False
        self._offered[profile.name] = found
        self.note("" if found else f"{profile.base_url} lists no models", "$text-muted")
        self._show()
        if on_it:
            self._to_now()

    # --- switching

    def heard(self, event: Event) -> None:
        if isinstance(event, ModelChanged):
            self._show()

    def choose(self, index: int) -> None:
        if self._switching is None:
            row = self._list[index]
            self.note(
                f"asking {row.profile.base_url if row.profile.provider != 'demo' else row.name} ...",
                "$text-muted",
            )
            self._switching = self.run_worker(self._switch(row.name), group="switch", exit_on_error=False)

    async def _switch(self, name: str) -> None:
        try:
            if not await self._desk.opened("the model") or self._desk.session is None:
                self.note(_NOT_OPEN, "$text-warning")
                return
            outcome = await self._desk.session.perform("model", name)
        except CommandError as error:
            self.note(str(error), "$text-error")
            return
        finally:
            self._switching = None
        self._desk.performed(outcome.text)
        self.leave()

    def action_leave(self) -> None:
        """Stop asking, if a model is being asked; else close."""
        if self._switching is not None:
            self._switching.cancel()
            self.note("stopped: the model is the one it was", "$text-warning")
        else:
            super().action_leave()

    def action_connect(self) -> None:
        """Connect to another endpoint."""
        self.leave("connect")

    def action_think(self) -> None:
        """The next level of thinking."""
        self.run_worker(self._think(), group="think", exit_on_error=False)

    async def _think(self) -> None:
        await self._desk.opened("thinking")
        session = self._desk.session
        if session is None:
            self.note(_NOT_OPEN, "$text-warning")
            return
        levels: tuple[str, ...] = LEVELS
        level = levels[(levels.index(session.thinking) + 1) % len(levels)]
        outcome = await session.perform("thinking", level)
        self.note(outcome.text)
        self._head_line()
