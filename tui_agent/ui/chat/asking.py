"""What a person asks of the session by name: `/commands`, and the palette.

What is asked for while the session is still being opened waits for it, and is carried out in its order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from tui_agent.commands import CommandError, arguments
from tui_agent.ui.actions import ACTIONS, LEADER, Action, Group
from tui_agent.ui.chat.completion import Completion
from tui_agent.ui.chat.composer import Composer
from tui_agent.ui.chat.keyed import Floor
from tui_agent.ui.commands import ACTION_OF, Offer, listed

if TYPE_CHECKING:
    from textual.notifications import Notification

    from tui_agent.agent.session import Session
    from tui_agent.events import Emit, Level
    from tui_agent.ui import bindings
    from tui_agent.ui.chat.attachments import Prompt

    Early = asyncio.Future[bool] | tuple[Prompt, Literal["step", "turn"]]
    """What waits for the session: an action, which is told whether it may begin, or a prompt."""

_PALETTE: tuple[Group, ...] = ("Going back", "Places", "Cards", "Chat", "Writing", "Program")
"""The order of the palette's groups, before anything is typed."""
_MODE_TOLD = 3.0
"""Seconds for which it is told what a mode means."""


class Asking(Floor):
    """A screen that carries out commands of its session."""

    def __init__(self, keys: bindings.Keys, tell: Emit) -> None:
        super().__init__(keys, tell)
        self.session: Session | None = None
        self.opening = True
        """False once the session is open, or could not be opened."""
        self._early: list[Early] = []
        self._mode_told: Notification | None = None
        self.spoken: dict[str, Callable[[str], None]] = {}
        """Commands of the screen that take the words behind their name."""
        self.completion = Completion(id="completion")
        self.composer = Composer(self.completion, id="composer")
        self.acts |= {
            "compact": partial(self.perform, "compact"),
            "undo": partial(self.perform, "undo"),
            "redo": partial(self.perform, "redo"),
            "retry": partial(self.perform, "retry"),
            "mode": self._next_mode,
        }

    async def opened(self, what: str) -> bool:
        """Wait until the session is open; False, said in a line about `what`, if there is none."""
        if self.session is None and self.opening:
            begin: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._early.append(begin)
            await begin
        if self.session is None:
            self.say(f"{what}: no session is open", "warning")
        return self.session is not None

    def not_opened(self) -> None:
        """The session could not be opened: no action waits any more; prompts do, for another one."""
        self.opening = False
        waiting = [early for early in self._early if isinstance(early, asyncio.Future)]
        self._early = [early for early in self._early if not isinstance(early, asyncio.Future)]
        for begin in waiting:
            if not begin.done():
                begin.set_result(False)

    def bang(self, text: str) -> bool:
        """Run a `!command`; False if the words are none."""
        command = text[1:].strip()
        if not text.startswith("!"):
            return False
        if not command:
            self.say("a command goes behind the !, such as !git status", "warning")
            self.composer.put(text)
            return True
        self.work(self.perform("run", command), "own command")
        return True

    def slash(self, text: str) -> bool:
        """Carry out a `/command`; False if the words are not one, such as a path."""
        name, _, rest = text.strip().partition(" ")
        if name.startswith("/goal\n"):  # the only one whose words have lines
            name, _, rest = text.strip().partition("\n")
        if len(name) < 2 or not name.startswith("/") or "/" in name[1:] or "\n" in name:
            return False
        name = name[1:]
        if name in self.spoken and (rest.strip() or name not in ACTION_OF):
            self.spoken[name](rest.strip())
            return True
        known = self.session.commands.find(name) if self.session is not None else None
        if self.session is None and self.opening and name not in ACTION_OF:
            self.work(self._slash_later(text, name), "perform")  # it may be another name of an action
            return True
        action = ACTION_OF.get(known.name if known is not None else name)
        if action is not None and not rest.strip():
            self.act(action)
        elif action is not None and known is None and self.session is not None:
            self.say(f"/{name} takes no words behind it", "warning")
            self.composer.put(text)
        else:
            words = arguments(known.name if known is not None else "", rest)
            self.work(self.perform(name, *words), "perform")
        return True

    async def _slash_later(self, text: str, name: str) -> None:
        if await self.opened(f"/{name}"):
            self.slash(text)

    async def perform(self, name: str, *arguments: str) -> None:
        """Carry out a command of the session and say what it did."""
        if not await self.opened(f"/{name}") or self.session is None:
            return
        try:
            outcome = await self.session.perform(name, *arguments)
        except CommandError as error:
            self.performed(str(error), "error")
        else:
            self.performed(outcome.text)
        self.show_keys()

    async def _next_mode(self) -> None:
        """Go to the next mode. The status line shows it; what it means is told for a while, not in the chat."""
        if not await self.opened("/mode") or self.session is None:
            return
        try:
            outcome = await self.session.perform("mode", "next")
        except CommandError as error:
            self.performed(str(error), "error")
        else:
            from tui_agent.ui import toasts  # not needed before the first frame

            self._mode_told = toasts.instead(self.app, self._mode_told, outcome.text, _MODE_TOLD)

    def performed(self, text: str, level: Level = "info") -> None:
        """A command was carried out, or could not be: say what it did, or why not."""
        if text:
            self.say(text, level)

    def offers(self) -> Sequence[Offer]:
        """What the palette finds: every action with its key, every command with its spelling."""
        made = [
            Offer(action.words, self._keys_of(action), action.help, partial(self.act, action.id))
            for action in sorted(ACTIONS, key=lambda action: _PALETTE.index(action.group))
            if action.id in self.acts and action.id not in (LEADER, "commands")
        ]
        for command in listed(self.session.commands if self.session is not None else ()):
            if command.name not in ACTION_OF:
                spelling = f"/{command.name} {command.argument}".rstrip()
                run = partial(self._spell, command.name, command.argument)
                made.append(Offer(command.name, spelling, command.words, run))
        return made

    def _keys_of(self, action: Action) -> str:
        """The keys and the command of an action."""
        slash = [f"/{action.slash}"] if action.slash else []
        return "  ".join([*self.keys.of(action), *slash])

    def _spell(self, name: str, argument: str) -> None:
        if argument:
            self.composer.put(f"/{name} ")
            self.set_focus(self.composer)
        else:
            self.slash(f"/{name}")
