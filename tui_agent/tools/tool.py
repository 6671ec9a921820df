"""A tool: what it is called, what it needs, what it gives back.

Tools say what they need and never ask: rules or a person decide before `call` runs (agent/approvals).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from msgspec import Struct, field

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

Progress = Callable[[str], None]
"""Takes output of a running call as it comes; must not block."""


class ToolError(Exception):
    """The call failed in a way the model should read and react to; the message becomes the error result."""


class Need(Struct, frozen=True):
    """What a call would do, said before it does it.

    `kind`: `none` (harmless), `read`, `write` or `run`. `title` is the main argument for one line of the screen.
    `paths` are resolved (links followed). `outside` says that one of them lies outside the workspace: such a call
    always asks. `rule` is the rule that would allow its like from now on (`bash:pnpm test*`, `edit_file`); `""`: no
    rule can. `body` is what a person reads before they decide (the command), `diff` a unified diff of the change.
    `place` is the working folder. `editable` names the argument a person may edit first (`command`), or `""`.
    `question` is what a person is asked in place of the usual words.
    """

    kind: Literal["none", "read", "write", "run"]
    title: str
    paths: Sequence[Path] = ()
    outside: bool = False
    command: str = ""
    rule: str = ""
    body: str = ""
    diff: str = ""
    place: str = ""
    warning: str = ""
    editable: str = ""
    question: str = ""


class Output(Struct, frozen=True):
    """What a call gave.

    `content` goes to the model: text, or blocks where there are images (image blocks carry
    `"source": {"type": "base64", ...}`; the session stores them as blobs). It may be long: whoever stores it caps it.
    `summary` is a few words for the tool's line (`2.1 KB`, `+6 -1`, `exit 1`). `meta` goes into the record:
    `exit`, `read` and `changed` (workspace-relative paths). `error` marks a failed call. `ends` says why the turn is
    over with this call, as `TurnEnded` tells it; empty: the model goes on.
    """

    content: str | list[Block]
    summary: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    diff: str = ""
    error: bool = False
    ends: str = ""


class Call(Struct, frozen=True):
    """A tool_use of a reply. `malformed` is the raw text of arguments that were not a JSON object.

    `cut` says why a call that the output limit may have cut in two must not run.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    malformed: str | None = None
    cut: str = ""


@runtime_checkable
class Tool(Protocol):
    """One thing the model can do."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        ...

    @property
    def read_only(self) -> bool:
        """True if a call changes nothing: the log need not reach the disk before it runs."""
        ...

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """What this call would do.

        Raises:
            ToolError: the arguments are not usable; the message says which and why.
        """
        ...

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Do it. Cancellation stops whatever was started, with its children.

        Raises:
            ToolError: it could not be done.
        """
        ...


def definition(tool: Tool) -> dict[str, Any]:
    """The tool as the Messages API takes it."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
