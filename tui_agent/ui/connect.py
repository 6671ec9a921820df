"""Connecting to a model: choose an endpoint to begin from, fill in what it needs, test it, save it as a profile.

Three pages of one list: the endpoints; the form of one; the models it lists. A profile is saved only after the model
has answered a real request. A key comes from the environment; one that is typed here goes to the system's keyring and
nowhere else, or, where there is none, serves until the program ends. The running session goes on with the new model.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from tui_agent.commands import CommandError
from tui_agent.literal import one_line
from tui_agent.settings import secrets
from tui_agent.settings.rules import SettingsError
from tui_agent.ui.cells import Column
from tui_agent.ui.connect_form import FIELDS, Draft, beginnings, check, ways
from tui_agent.ui.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.worker import Worker

    from tui_agent.llm.connect import Offered, Report
    from tui_agent.ui.cells import Cell
    from tui_agent.ui.desk import Desk

_ENDPOINTS = (Column("", 16), Column("address"), Column("key", 24))
_FORM = (Column("", 16), Column(""))
_MODELS = (Column("model"), Column("window", 12, "right"))
_NEWEST = "the newest that the endpoint lists"


@dataclass(frozen=True, slots=True)
class Page:
    """What the list shows: its rows, what Enter does on each, and more about it."""

    title: str
    columns: Sequence[Column]
    cells: Callable[[int], Sequence[Cell]]
    length: int
    choose: Callable[[int], None]
    about: Callable[[int], str]
    back: Callable[[], None] | None = None


class ConnectScreen(Listing):
    """The way to a model."""

    ACTION: ClassVar[str] = "connect"
    ENTER: ClassVar[str] = "choose"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.keys, "connect", empty="nothing is listed")
        self._desk = desk
        self._drafts = beginnings(desk.settings)
        self._draft = self._drafts[0]
        self._found: list[Offered] = []
        self._page: Page | None = None
        self._busy: Worker[None] | None = None
        self._keyring = False

    # --- pages

    def load(self) -> None:
        self._endpoints()
        self.run_worker(self._look_for_keyring(), group="keyring", exit_on_error=False)

    async def _look_for_keyring(self) -> None:
        self._keyring = await asyncio.to_thread(secrets.has_keyring)

    def _turn(self, page: Page, *, cursor: int = 0) -> None:
        self._page = page
        self.headline(page.title)
        self.rows.show(page.cells, page.length, columns=page.columns)
        self.rows.move(cursor, tell=False)
        self.refresh_keys()

    def _endpoints(self) -> None:
        at = next((i for i, draft in enumerate(self._drafts) if draft.title == self._draft.title), 0)
        self._turn(
            Page(
                "what speaks the Anthropic Messages API, or the demo",
                _ENDPOINTS,
                lambda index: self._endpoint(self._drafts[index]),
                len(self._drafts),
                self._begin,
                lambda index: self._drafts[index].words,
            ),
            cursor=at,
        )

    @staticmethod
    def _endpoint(draft: Draft) -> Sequence[Cell]:
        name = Content.styled(one_line(draft.title), "bold")
        if draft.demo:
            return name, "no AI: the offline demo model", "no key"
        if draft.auth == "none":
            return name, draft.base_url, "no key"
        there = bool(os.environ.get(draft.api_key_env, "").strip())
        return name, draft.base_url, f"{draft.api_key_env}{': set' if there else ''}"

    def _begin(self, index: int) -> None:
        self._draft = self._drafts[index]
        if self._draft.demo:
            self._work(self._switch("demo"))
        else:
            self._form(cursor=len(FIELDS))

    def _form(self, *, cursor: int = 0) -> None:
        self._turn(
            Page(
                self._draft.title,
                _FORM,
                self._field,
                len(FIELDS) + 1,
                self._edit,
                self._about_field,
                back=self._endpoints,
            ),
            cursor=cursor,
        )

    def _field(self, index: int) -> Sequence[Cell]:
        if index == len(FIELDS):
            return Content.styled("test and save", "bold $text-accent"), "one small request, then it is yours"
        field = FIELDS[index]
        return field.title, self._value(field.name)

    def _value(self, name: str) -> str:
        draft = self._draft
        match name:
            case "key":
                return self._key_state()
            case "default":
                return "yes" if draft.default else "no"
            case "model":
                return draft.model or _NEWEST
            case _:
                return str(getattr(draft, name)) or "-"

    def _key_state(self) -> str:
        draft = self._draft
        if draft.auth == "none":
            return "none is sent"
        if draft.key:
            return "typed: for the keyring" if self._keyring else "typed: until the program ends"
        if draft.api_key_env and os.environ.get(draft.api_key_env, "").strip():
            return f"in {draft.api_key_env}"
        if self._keyring:
            return f"not in {draft.api_key_env}; Enter types it, for the keyring"
        return f"not in {draft.api_key_env or 'any variable'}; Enter types it, for now"

    def _about_field(self, index: int) -> str:
        if index == len(FIELDS):
            return "The model is asked to answer with one word. It costs some tokens; Esc stops it."
        if FIELDS[index].name == "key" and not self._keyring:
            variable = self._draft.api_key_env or "a variable"
            return (
                "There is no keyring here (tui-agent[keyring]). Set "
                f"{variable} before the start to keep the key; typed here it serves until the program ends."
            )
        return FIELDS[index].help

    def _edit(self, index: int) -> None:
        if index == len(FIELDS):
            self._work(self._test())
            return
        field = FIELDS[index]
        match field.name:
            case "default":
                self._set(default=not self._draft.default)
            case "auth":
                values = field.choices
                self._set(auth=values[(values.index(self._draft.auth) + 1) % len(values)])
            case "model":
                self._work(self._list_models())
            case "key":
                self.ask(
                    "the key (shown as dots, never written to settings)", "", self._typed_key, secret=True
                )
            case "api_key_env":
                self.ask(
                    field.title,
                    self._draft.api_key_env,
                    lambda text: self._change(self._draft.with_variable(text.strip())),
                    check=lambda text: check("api_key_env", text),
                )
            case name:
                text = str(getattr(self._draft, name))
                self.ask(
                    field.title,
                    text,
                    lambda text: self._set(**{name: text.strip()}),
                    check=lambda text: check(name, text),
                )

    def _set(self, **changes: object) -> None:
        self._change(replace(self._draft, **changes))  # type: ignore[arg-type]

    def _change(self, draft: Draft) -> None:
        at = self.rows.cursor
        self._draft = draft
        self._form(cursor=at)

    def _typed_key(self, text: str) -> None:
        secrets.conceal(self._draft.api_key_env or self._draft.name, text)
        self._change(self._draft.with_key(text.strip(), for_keyring=self._keyring))

    # --- models to pick from

    async def _list_models(self) -> None:
        from tui_agent.llm import connect
        from tui_agent.llm.provider import ProviderError

        self._progress(f"asking {self._draft.base_url} for its models ...")
        try:
            self._found = await connect.offered(self._draft.profile(), await self._key())
        except ProviderError as error:
            self._found = []
            self.note(f"{error}", "$text-warning")
        else:
            said = "" if self._found else f"{self._draft.base_url} lists no models: type the name"
            self.note(said, "$text-warning")
        if self._found:
            self._models()
        else:
            self._type_model()

    def _models(self) -> None:
        names = [model.name for model in self._found]
        now = names.index(self._draft.model) + 2 if self._draft.model in names else 0
        self._turn(
            Page(
                f"{self._draft.title}: {len(names)} {'model' if len(names) == 1 else 'models'}",
                _MODELS,
                self._model,
                len(names) + 2,
                self._pick,
                lambda index: "",
                back=lambda: self._form(cursor=_place("model")),
            ),
            cursor=now,
        )

    def _model(self, index: int) -> Sequence[Cell]:
        if index < 2:
            return Content.styled((_NEWEST, "type another name")[index], "$text-accent"), ""
        model = self._found[index - 2]
        return model.name, f"{model.window:,}" if model.window is not None else ""

    def _pick(self, index: int) -> None:
        if index == 1:
            self._type_model()
            return
        self._draft = replace(self._draft, model=self._found[index - 2].name if index else "")
        self._form(cursor=len(FIELDS))

    def _type_model(self) -> None:
        def done(text: str) -> None:
            self._draft = replace(self._draft, model=text.strip())
            self._form(cursor=len(FIELDS))

        self.ask("model", self._draft.model, done)

    # --- the test, and what follows

    async def _key(self) -> str | None:
        return self._draft.key or await asyncio.to_thread(secrets.api_key, self._draft.profile())

    async def _test(self) -> None:
        from tui_agent.llm import connect

        profile = self._draft.profile()
        self._progress(f"asking {profile.base_url} for an answer ... (Esc stops)")
        report = await connect.test(profile, await self._key())
        if not report.ok:
            then = "".join(f"\n  {way}" for way in ways(report, self._draft))
            self.note(f"not saved: {secrets.redact(report.error)}{then}", "$text-error")
            return
        self._progress(_answered(report))
        await self._save(report)

    async def _save(self, report: Report) -> None:
        from tui_agent.settings.save import save

        profile, kept = self._draft.profile(), ""
        try:
            if self._draft.key:
                kept = await self._keep_key()
            changes = self._draft.changes(self._desk.settings)
            settings = await asyncio.to_thread(save, self._desk.settings_path, changes)
        except SettingsError as error:
            self.note(f"it answers, but is not saved: {error}", "$text-error")
            return
        self._desk.take_settings(settings)
        said = f"{_answered(report)} Profile {profile.name} is saved{kept}."
        if self._desk.session is None:
            self.note(said)
        else:
            await self._switch(profile.name, said)

    async def _keep_key(self) -> str:
        """Put a typed key where it may be; says where."""
        profile = self._draft.profile()
        if self._keyring:
            await asyncio.to_thread(secrets.keep, profile, self._draft.key)
            secrets.take_back(profile)
            return ", its key in the keyring"
        secrets.lend(profile, self._draft.key)
        then = f", so set {profile.api_key_env} for the next time" if profile.api_key_env else ""
        return f"; its key serves until the program ends{then}"

    async def _switch(self, name: str, said: str = "") -> None:
        await self._desk.opened("the model")
        session = self._desk.session
        if session is None:
            self.note("no session is open", "$text-warning")
            return
        try:
            outcome = await session.perform("model", name)
        except CommandError as error:
            self.note(f"{said} {error}".strip(), "$text-error")
            return
        self._desk.performed(f"{said} {outcome.text}".strip())
        self.leave()

    # --- one thing at a time, which Esc stops

    def _progress(self, text: str) -> None:
        self.note(text, "$text-muted")

    def _work(self, work: Coroutine[None, None, None]) -> None:
        if self._busy is None:
            self._busy = self.run_worker(self._working(work), group="connect", exit_on_error=False)
            self.refresh_keys()
        else:
            work.close()

    async def _working(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        finally:
            self._busy = None
            if self.is_attached:
                self.refresh_keys()

    @property
    def esc(self) -> str:
        if self._busy is not None:
            return "stop"
        return "back" if self._page is not None and self._page.back is not None else super().esc

    def action_leave(self) -> None:
        """Stop what runs; else leave the line or the filter; else a page back; else close."""
        if self._busy is not None:
            self._busy.cancel()
            self.note("stopped; nothing is saved", "$text-warning")
        elif self.entry.display or self.words.display or self._page is None or self._page.back is None:
            super().action_leave()
        else:
            self.note("")
            self._page.back()

    # --- what the list asks for

    def choose(self, index: int) -> None:
        if self._page is not None and self._busy is None:
            self._page.choose(index)

    def about(self, index: int) -> Content:
        return Content(one_line(self._page.about(index))) if self._page is not None else Content("")


def _answered(report: Report) -> str:
    """What a test found, in a sentence."""
    return (
        f"{report.model} answered in {report.seconds:.1f} s; its window is {report.window:,} tokens"
        + (" (assumed)" if report.assumed else "")
        + "."
    )


def _place(name: str) -> int:
    """The row of a field."""
    return next(index for index, field in enumerate(FIELDS) if field.name == name)
