"""A tool of an MCP server, with the same approvals as any other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.tools.arguments import title_of
from tui_agent.tools.matching import check
from tui_agent.tools.tool import Need, Output, Progress

if TYPE_CHECKING:
    from tui_agent.tools.mcp.listing import Listed
    from tui_agent.tools.mcp.server import Server


_ONE_LINE = 200
"""Characters of arguments that a person is shown on one line; longer ones on a line each."""


class McpTool:
    """One tool. Whatever its server says of it, a call is like running a command: a rule or a person allows it."""

    read_only = False

    def __init__(self, name: str, server: Server, listed: Listed) -> None:
        self.name = name
        self.server = server
        self.description = listed.description or f"{listed.name}, a tool of the MCP server {server.spec.name}"
        self.schema = listed.schema
        self._tool = listed.name

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To call it with these arguments.

        Raises:
            ToolError: the arguments do not fit its schema.
        """
        check(self.name, arguments, self.schema)
        short = json.dumps(dict(arguments), ensure_ascii=False)
        whole = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
        shown = f" {short}" if len(short) <= _ONE_LINE else f"\n{whole}"
        return Need(
            "run",
            title_of(short) if arguments else "",
            rule=self.name,
            body=f"{self.server.spec.name}: {self._tool}{shown}",
            question="call this tool of an MCP server?",
        )

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Call it; the server is started if it does not run.

        Raises:
            ToolError: the server does not answer, or not with a result.
        """
        given = await self.server.call(self._tool, dict(arguments), progress)
        return Output(
            given.content,
            "failed" if given.error else "",
            meta={"tool": self.name, "server": self.server.spec.name, "read": [], "changed": []},
            error=given.error,
        )
