"""A real MCP server, written with the `mcp` package: `python -m tests.support.mcp_real NAME [--http]`.

It has thirty tools named after NAME. `echo` gives its words back, `crash` ends the program, `hang` never answers, `log`
writes to the standard error. Over HTTP it prints its address first.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOLS = 30
TOPICS = (
    "issue",
    "branch",
    "release",
    "label",
    "invoice",
    "customer",
    "calendar",
    "weather",
    "photo",
    "sensor",
)
VERBS = ("list", "create", "delete")
SPECIAL = {"echo": "Give words back.", "crash": "End the server.", "hang": "Never answer."}
_WORDS = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}


def listed(name: str) -> list[types.Tool]:
    """The tools of a server of that name."""
    special = [types.Tool(name=tool, description=text, input_schema=_WORDS) for tool, text in SPECIAL.items()]
    names = [f"{verb}_{topic}" for topic in TOPICS for verb in VERBS][: TOOLS - len(special)]
    plain = [
        types.Tool(
            name=tool, description=f"{tool.replace('_', ' ').capitalize()} of {name}.", input_schema=_WORDS
        )
        for tool in names
    ]
    return [*special, *plain]


def server(name: str) -> Server[Any]:
    """A server of that name."""

    async def tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed(name))

    async def call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        words = str((params.arguments or {}).get("words", ""))
        if params.name == "crash":
            print("the server falls over", file=sys.stderr, flush=True)
            os._exit(3)
        if params.name == "hang":
            await asyncio.Event().wait()
        text = words if params.name == "echo" else f"{name} did {params.name}: {words}"
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server(name, on_list_tools=tools, on_call_tool=call)


async def _over_pipes(name: str) -> None:
    async with stdio_server() as (read, write):
        one = server(name)
        await one.run(read, write, one.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_over_pipes(sys.argv[1]))
