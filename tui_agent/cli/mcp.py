"""`tui-agent mcp`: the MCP servers that a session here would have, and what their tools cost. None is started.

What a server offers is known from the time when it was last asked, by the first session that could use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_agent.cli.failures import Failed
from tui_agent.cli.report import Column, complain, say, say_json, table
from tui_agent.settings import secrets
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.tools.mcp import config
from tui_agent.tools.mcp.servers import Servers
from tui_agent.tools.selection import weights
from tui_agent.workspace.root import find_root

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from tui_agent.tools.mcp.server import Server

_NONE = "no MCP servers: settings name them in [mcp.servers.NAME], the .mcp.json of a workspace in mcpServers"


def run(options: argparse.Namespace, workspace: Path) -> int:
    """List them; returns the exit code.

    Raises:
        Failed: settings cannot be used.
    """
    try:
        settings = load()
        model = settings.find_profile().model
    except SettingsError as error:
        raise Failed(str(error)) from error
    found = config.configured(settings.mcp, workspace, find_root(workspace), secrets.variables(settings))
    servers = Servers(found, lambda event: None, always=settings.mcp.workspace == "always")
    rows = [_row(servers, server, model) for server in servers.all]
    for remark in (*found.faults, *found.notes):
        complain(remark)
    if options.json:
        say_json(rows)
    else:
        say(_shown(rows) if rows else _NONE)
    return 0


def _row(servers: Servers, server: Server, model: str) -> dict[str, Any]:
    """What there is to say of a server; figures are None where it was never asked what it offers."""
    tools = servers.tools_of(server)
    full, by_name = weights(tools, model)
    known = server.usable and server.known
    return {
        "name": server.spec.name,
        "origin": server.spec.origin,
        "state": server.state,
        "error": server.error,
        "starts": secrets.redact(server.spec.written.partition("\n")[0]),
        "tools": [tool.name for tool in tools] if known else None,
        "resources": server.offers.resources if known else None,
        "prompts": [one.usage for one in servers.prompts() if one.server is server] if known else None,
        "tokens": {"in_full": full, "by_name": by_name} if known else None,
        "log": str(server.log) if server.log.exists() else "",
    }


def _shown(rows: list[dict[str, Any]]) -> str:
    columns: list[Column | str] = ["SERVER", "FROM", "STATE"]
    columns += [Column(title, "right") for title in ("TOOLS", "TOKENS", "BY NAME", "PROMPTS")]
    columns += [Column("ABOUT", shrink=True)]
    return table(columns, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    figures = ["?", "", "", ""]
    if (tokens := row["tokens"]) is not None:
        figures = [str(len(row["tools"])), f"~{tokens['in_full']:,}", f"~{tokens['by_name']:,}"]
        figures.append(str(len(row["prompts"])) if row["prompts"] else "")
    return [row["name"], row["origin"], row["state"], *figures, row["error"] or row["starts"]]
