"""Resources of MCP servers: one tool lists them, one reads one, with the approvals of a call of the server's tools.

A rule names the tool, and behind a colon the server: `read_mcp_resource:tracker`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tui_agent.tools.arguments import title_of
from tui_agent.tools.matching import check
from tui_agent.tools.mcp import offers
from tui_agent.tools.tool import Need, Output, Progress, ToolError

if TYPE_CHECKING:
    from tui_agent.tools.mcp.server import Server

LIST, READ = "list_mcp_resources", "read_mcp_resource"

Find = Callable[[], Sequence["Server"]]
"""Gives the servers with resources, as they are now."""


def tools(servers: Sequence[Server], find: Find) -> list[ListResources | ReadResource]:
    """The two tools, described for these servers; none where no server has resources."""
    names = [server.spec.name for server in servers]
    return [ListResources(names, find), ReadResource(names, find)] if names else []


class _Resources:
    """What both tools have in common."""

    name = ""
    read_only = True

    def __init__(self, description: str, names: Sequence[str], find: Find, **more: Any) -> None:
        self.description = description
        named = {"type": "string", "enum": list(names), "description": "the server"}
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {"server": named, **more},
            "required": ["server", *more],
            "additionalProperties": False,
        }
        self._find = find

    def _need(self, arguments: Mapping[str, Any], what: str, question: str) -> Need:
        check(self.name, arguments, self.schema)
        server = str(arguments["server"])
        return Need(
            "run",
            title_of(f"{server} {what}".strip()),
            command=server,
            rule=f"{self.name}:{server}",
            body=f"{server}: {what or 'its resources'}",
            question=question,
        )

    def _server(self, arguments: Mapping[str, Any]) -> Server:
        name = str(arguments["server"])
        found = next((server for server in self._find() if server.spec.name == name), None)
        if found is None:
            raise ToolError(f"the MCP server {name} has no resources to offer now")
        return found

    def _output(self, server: Server, content: Any, summary: str = "") -> Output:
        meta = {"tool": self.name, "server": server.spec.name, "read": [], "changed": []}
        return Output(content, summary, meta=meta)


class ListResources(_Resources):
    """Lists what resources a server has."""

    name = LIST

    def __init__(self, names: Sequence[str], find: Find) -> None:
        super().__init__(
            f"List the resources of an MCP server: addresses that {READ} reads, with what its server says of them.",
            names,
            find,
        )

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To ask that server.

        Raises:
            ToolError: there is no such server.
        """
        return self._need(arguments, "", "list the resources of this MCP server?")

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Ask it; it is started if it does not run.

        Raises:
            ToolError: it does not answer, or not with a list.
        """
        server = self._server(arguments)
        lines = await server.ask(offers.resources)
        count = f"{len(lines)} resource" + ("" if len(lines) == 1 else "s")
        return self._output(server, "\n".join(lines) or "(there are none)", count)


class ReadResource(_Resources):
    """Reads a resource of a server."""

    name = READ

    def __init__(self, names: Sequence[str], find: Find) -> None:
        uri = {"type": "string", "minLength": 1, "description": "the address of the resource"}
        super().__init__(
            f"Read a resource of an MCP server by its address; {LIST} lists those there are.",
            names,
            find,
            uri=uri,
        )

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To read it from that server.

        Raises:
            ToolError: there is no such server, or no address.
        """
        return self._need(arguments, str(arguments.get("uri", "")), "read this resource of an MCP server?")

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Read it; the server is started if it does not run.

        Raises:
            ToolError: it does not answer, or has no such resource.
        """
        server = self._server(arguments)
        given = await server.ask(partial(_read, str(arguments["uri"])))
        return self._output(server, given.content)


async def _read(uri: str, client: Any) -> Any:
    return await offers.read(client, uri)
