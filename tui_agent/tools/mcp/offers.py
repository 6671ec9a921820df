"""What a server has beside tools, as it tells it: whether it has resources to read, and prompts for a person to call.

As with tools a stranger wrote it, so it is checked, and kept on disk for the next session. What resources there are is
asked each time: they may be many, and others a moment later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from tui_agent import paths
from tui_agent.literal import one_line
from tui_agent.messages.wellformed import encodable
from tui_agent.tools.mcp import content

if TYPE_CHECKING:
    import mcp

MOST_PROMPTS = 200
"""Prompts of one server; what comes behind is left out."""
MOST_RESOURCES = 500
"""Resources that are listed."""
_MOST_PAGES = 50
_LINE = 300
"""Characters of a line that a server's words take."""
_MOST_ARGUMENTS = 20


class Argument(Struct, frozen=True):
    """An argument of a prompt: a text."""

    name: str
    required: bool = False


class Prompt(Struct, frozen=True):
    """A prompt of a server as it was listed."""

    name: str
    description: str = ""
    arguments: tuple[Argument, ...] = ()


class Offers(Struct, frozen=True):
    """What a server has. `fault` says why its resources or prompts are not known."""

    resources: bool = False
    prompts: tuple[Prompt, ...] = ()
    fault: str = ""


async def resourceful(client: mcp.Client) -> bool:
    """Whether the server has resources. Many a one says so and lists none, such as those of the `mcp` package."""
    if not (client.server_capabilities and client.server_capabilities.resources):
        return False
    async for _ in _all(client.list_resources, "resources"):
        return True
    async for _ in _templates(client):
        return True
    return False


async def prompts(client: mcp.Client) -> tuple[Prompt, ...]:
    """The prompts that the server lists, each name once."""
    if not (client.server_capabilities and client.server_capabilities.prompts):
        return ()
    found: dict[str, Prompt] = {}
    async for prompt in _all(client.list_prompts, "prompts"):
        name = str(encodable(prompt.name))
        if name.strip() and len(found) < MOST_PROMPTS:
            found.setdefault(name, _prompt(name, prompt))
    return tuple(found.values())


def _prompt(name: str, prompt: Any) -> Prompt:
    arguments = [
        Argument(one_line(str(encodable(one.name)), _LINE), bool(one.required))
        for one in (prompt.arguments or [])[:_MOST_ARGUMENTS]
    ]
    return Prompt(
        name, one_line(str(encodable(prompt.description or prompt.title or "")), _LINE), tuple(arguments)
    )


async def resources(client: mcp.Client) -> list[str]:
    """The resources and the templates of resources that the server lists, each on a line."""
    lines = []
    async for one in _all(client.list_resources, "resources"):
        size = f", {one.size:,} bytes" if one.size is not None else ""
        lines.append(_line(str(one.uri), one, size))
        if len(lines) >= MOST_RESOURCES:
            return [*lines, "(more are not listed)"]
    lines += [
        _line(one.uri_template, one, ", a template: fill in what is in braces")
        async for one in _templates(client)
    ]
    return lines[:MOST_RESOURCES]


def _line(address: str, one: Any, more: str) -> str:
    about = ", ".join(filter(None, (one.title or one.name, one.mime_type)))
    said = f": {one.description}" if one.description else ""
    return one_line(str(encodable(f"{address}  ({about}{more}){said}")), _LINE)


async def _templates(client: mcp.Client) -> AsyncIterator[Any]:
    from mcp import MCPError
    from mcp.types import METHOD_NOT_FOUND

    try:
        async for one in _all(client.list_resource_templates, "resource_templates"):
            yield one
    except MCPError as error:
        if error.code != METHOD_NOT_FOUND:  # many a server with resources knows of none
            raise


async def _all(ask: Callable[..., Awaitable[Any]], field: str) -> AsyncIterator[Any]:
    """What a server lists in pages."""
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await ask(cursor=cursor, cache_mode="bypass")
        for one in getattr(page, field):
            yield one
        cursor = page.next_cursor
        if not cursor:
            return


async def read(client: mcp.Client, uri: str) -> content.Given:
    """Read a resource."""
    from mcp import types

    request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=str(encodable(uri))))
    return await content.of_resource(await client.session.send_request(request, types.ReadResourceResult))


async def prompt(client: mcp.Client, name: str, arguments: dict[str, str]) -> str:
    """The text of a prompt."""
    from mcp import types

    params = types.GetPromptRequestParams(name=name, arguments={**arguments} or None)
    request = types.GetPromptRequest(params=params)
    return await content.of_prompt(await client.session.send_request(request, types.GetPromptResult))


def load(folder: Path, key: str) -> Offers | None:
    """What was kept of a configuration; None if there is nothing that can be read."""
    try:
        return msgspec.json.decode((folder / "offers" / f"{key}.json").read_bytes(), type=Offers)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


def save(folder: Path, key: str, found: Offers) -> None:
    """Keep it for the next session.

    Raises:
        OSError: it cannot be written.
    """
    paths.write_private(folder / "offers" / f"{key}.json", msgspec.json.encode(found))
