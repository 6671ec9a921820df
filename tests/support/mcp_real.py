"""A real MCP server, written with the `mcp` package: `python -m tests.support.mcp_real NAME`.

It has thirty tools. `echo` gives its words back, `crash` ends the program, `hang` never answers, `grow` adds a tool and
tells it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

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
SPECIAL = {
    "echo": "Give words back.",
    "crash": "End the server.",
    "hang": "Never answer.",
    "grow": "Have one more.",
}
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

    there, bus = listed(name), InMemorySubscriptionBus()

    async def tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=there)

    async def call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        words = str((params.arguments or {}).get("words", ""))
        if params.name == "crash":
            print("the server falls over", file=sys.stderr, flush=True)
            os._exit(3)
        if params.name == "hang":
            await asyncio.Event().wait()
        if params.name == "grow":
            there.append(types.Tool(name=f"grown_{len(there)}", input_schema=_WORDS))
            await bus.publish(ToolsListChanged())
        text = words if params.name == "echo" else f"{name} did {params.name}: {words}"
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server(name, on_list_tools=tools, on_call_tool=call, on_subscriptions_listen=ListenHandler(bus))


async def _over_pipes(name: str) -> None:
    async with stdio_server() as (read, write):
        one = server(name)
        await one.run(read, write, one.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_over_pipes(sys.argv[1]))
