"""What can be asked of MCP servers: what there is and what it costs, to start one anew, to use one or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.literal import one_line
from tui_agent.tools.selection import SELECT, weights
from tui_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.tools.mcp.server import Server
    from tui_agent.tools.mcp.servers import Servers

_NAME = 24
"""Characters of a server's name."""
_MOST_PROMPTS = 20
"""Of one server, in the list."""
_NONE = (
    "no MCP servers are configured. Settings name them in [mcp.servers.NAME] (command and args, or url); the .mcp.json "
    "of a workspace is read too"
)


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    commands.add(Command("mcp", mcp, "[restart, enable or disable NAME; prompt NAME WORDS]"))


async def mcp(session: Session, *words: str) -> Outcome:
    """Show the MCP servers, their state and what their tools cost; restart, enable or disable one; call a prompt"""
    servers = session.servers
    if servers is None:
        return Outcome(_NONE, {"servers": []})
    if not words:
        return _listed(session, servers)
    verb, name = words[0], " ".join(words[1:])
    if verb == "prompt" and name:
        return await _prompt(session, servers, *words[1:])
    if verb not in ("restart", "enable", "disable") or not name:
        raise CommandError("usage: /mcp, or /mcp restart, enable or disable NAME, or /mcp prompt NAME WORDS")
    server = servers.find(name)
    if server is None:
        known = ", ".join(one.spec.name for one in servers.all)
        raise CommandError(f"there is no MCP server {name!r}; there are: {known}")
    if verb == "restart":
        return await _restart(server)
    if verb == "disable":
        await server.disable()
        return Outcome(
            f"{name} is not used in this session any more", {"server": name, "state": server.state}
        )
    session.beside(servers.enable(server), "mcp")
    return Outcome(f"{name} is used in this session", {"server": name, "state": server.state})


async def _prompt(session: Session, servers: Servers, name: str, *rest: str) -> Outcome:
    prompt = await servers.prompt(name)
    if prompt is None:
        there = ", ".join(one.name for one in servers.prompts())
        raise CommandError(f"there is no prompt {name!r}; there are: {there or 'none'}")
    try:
        called = await prompt.call(" ".join(rest))
    except ToolError as error:
        raise CommandError(str(error)) from error
    servers.called.append(called)
    await session.submit(called.words)
    return Outcome(data={"prompt": called.name, "server": called.server})


async def _restart(server: Server) -> Outcome:
    try:
        await server.again()
    except ToolError as error:
        raise CommandError(str(error)) from error
    found = {"server": server.spec.name, "state": server.state, "tools": len(server.tools)}
    return Outcome(f"{server.spec.name} runs again, with {len(server.tools)} tools", found)


def _listed(session: Session, servers: Servers) -> Outcome:
    in_force = {str(tool.get("name")) for tool in session.context.tools or ()}
    rows: list[dict[str, Any]] = []
    for server in servers.all:
        tools = servers.tools_of(server)
        full, by_name = weights(tools, session.context.model, session.context.factor)
        rows.append(
            {
                "name": server.spec.name,
                "origin": server.spec.origin,
                "state": server.state,
                "error": server.error or server.offers.fault,
                "tools": len(tools),
                "resources": server.offers.resources,
                "prompts": [one.usage for one in servers.prompts() if one.server is server],
                "in_full": sum(tool.name in in_force for tool in tools),
                "tokens": {"in_full": full, "by_name": by_name},
                "log": str(server.log) if server.log.exists() else "",
            }
        )
    width = max((len(one_line(row["name"], _NAME)) for row in rows), default=0)
    lines = [_line(row, width) for row in rows]
    held_back = SELECT in in_force
    if held_back:
        count = sum(row["in_full"] for row in rows)
        lines.append(f"descriptions are held back, {count or 'none'} in full; select_tools gives the others")
    return Outcome("\n".join(["MCP servers:", *lines]), {"servers": rows, "held_back": held_back})


def _line(row: dict[str, Any], width: int) -> str:
    cost = row["tokens"]
    count = f"{row['tools']:>3} tool" + ("s" if row["tools"] != 1 else " ")
    text = f"  {one_line(row['name'], _NAME):<{width}}  {row['state']:<13}  {count}"
    if row["tools"]:
        text += f"  ~{cost['in_full']:,} tokens, ~{cost['by_name']:,} by name"
    if row["resources"]:
        text += "  has resources"
    text += "".join(f"\n    {one_line(usage)}" for usage in row["prompts"][:_MOST_PROMPTS])
    if (more := len(row["prompts"]) - _MOST_PROMPTS) > 0:
        text += f"\n    and {more} more prompts"
    if row["error"]:
        text += f"\n    last error: {one_line(row['error'], 300)}"
        text += f"\n    its standard error: {one_line(row['log'])}" if row["log"] else ""
    return text.rstrip()
