"""What a scene is, and all of them by their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage

Reach = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """A state of the screen. `place` is where it is: chat, jump, over (a screen over the chat) or palette."""

    name: str
    reach: Reach
    words: tuple[str, ...]
    place: str = "chat"
    fill: Callable[[FakeSession], None] = lambda session: conversation(session.context, 3)
    """Puts into the session what it holds."""
    settings: Mapping[str, Any] = field(default_factory=dict)


SCENES: dict[str, Scene] = {}


def scene(name: str, *words: str, **more: Any) -> Callable[[Reach], Reach]:
    """This function reaches the scene; `words` are on the screen then."""

    def taken(reach: Reach) -> Reach:
        SCENES[name] = Scene(name, reach, words, **more)
        return reach

    return taken


def nothing(session: FakeSession) -> None:
    """A session that has just begun."""
