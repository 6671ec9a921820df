"""The settings of tools: the MCP servers that give some, and when their descriptions are held back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tui_agent.settings.table import EMPTY, Table, rule, tables

FILE = ".mcp.json"
"""At the root of a workspace: the servers that it names, in the format that other programs read too."""
DEFER_ABOVE = 20.0
CALL_SECONDS = 60
START_SECONDS = 30


class McpServer(Table, frozen=True):
    """An MCP server: a program that is started (`command`), or an address (`url`)."""

    enabled: bool = rule(True, "switch", "Whether the server is used.")
    command: str = rule("", "text", "The program that is started, spoken to over its input and output.")
    args: tuple[str, ...] = rule((), "list", "Its arguments.")
    cwd: str = rule("", "text", "The folder it is started in; left out: the workspace.")
    env: Mapping[str, str] = rule(
        EMPTY, "map", 'Variables it gets, such as TOKEN = "${TOKEN}"; of the program\'s own it gets few.'
    )
    url: str = rule(
        "", "text", "The address of a server that is reached by streamable HTTP, in place of command."
    )
    headers: Mapping[str, str] = rule(
        EMPTY, "map", 'Headers it is sent, such as Authorization = "Bearer ${TOKEN}".'
    )
    timeout: int = rule(
        CALL_SECONDS,
        "integer",
        "How long a call may take.",
        minimum=1,
        maximum=3600,
        unit="seconds",
    )
    start_timeout: int = rule(
        START_SECONDS,
        "integer",
        "How long the start, and the list of its tools, may take.",
        minimum=1,
        maximum=3600,
        unit="seconds",
    )
    include_tools: tuple[str, ...] = rule(
        (), "list", "Only these of its tools are used (* stands for any text); left out: all."
    )
    exclude_tools: tuple[str, ...] = rule((), "list", "These of its tools are not used.")


class Mcp(Table, frozen=True):
    """Servers that speak the Model Context Protocol."""

    workspace: Literal["ask", "always", "never"] = rule(
        "ask",
        "choice",
        "Servers that the .mcp.json of a workspace names: asked about once per content of the file (with -p: not "
        "started), always or never started.",
        choices=("ask", "always", "never"),
    )
    servers: Mapping[str, McpServer] = tables(McpServer)


class Tools(Table, frozen=True):
    """How tools are offered to the model."""

    defer: Literal["auto", "on", "off"] = rule(
        "auto",
        "choice",
        "Hold back the descriptions of MCP tools until the model selects them: with many (auto), always, or never.",
        choices=("auto", "on", "off"),
    )
    defer_above: float = rule(
        DEFER_ABOVE,
        "number",
        "With auto: hold back above so many tools; a number below 1 is the part of the window they would take.",
        minimum=0.001,
        maximum=10_000,
    )
