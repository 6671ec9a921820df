"""What the doctor finds of MCP servers: their configuration as it would be used here. None is started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.cli.findings import Finding
from tui_agent.literal import one_line
from tui_agent.settings import secrets
from tui_agent.tools.mcp import config, listing
from tui_agent.tools.mcp.server import MISSING, PACKAGE
from tui_agent.workspace.root import find_root

if TYPE_CHECKING:
    from tui_agent.settings.schema import Settings
    from tui_agent.tools.mcp.config import Spec


def findings(settings: Settings, workspace: Path) -> Iterator[Finding]:
    """The servers of settings and of the workspace's file; nothing where none are configured. Reads files."""
    found = config.configured(settings.mcp, workspace, find_root(workspace), secrets.variables(settings))
    for fault in found.faults:
        yield Finding("bad", "mcp", fault)
    for note in found.notes:
        yield Finding("note", "mcp", note)
    if any(spec.enabled for spec in found.specs) and find_spec(PACKAGE) is None:
        yield Finding("bad", "mcp", MISSING)
    agreed = settings.mcp.workspace == "always" or config.is_agreed(found.digest)
    for spec in found.specs:
        yield _server(spec, agreed=agreed or spec.origin == "settings")


def _server(spec: Spec, *, agreed: bool) -> Finding:
    subject = f"mcp {one_line(spec.name, 40)}"
    if not spec.enabled:
        return Finding("note", subject, "disabled")
    if spec.fault:
        return Finding("bad", subject, spec.fault)
    if not spec.url and shutil.which(spec.command, path=spec.env.get("PATH")) is None:
        return Finding("bad", subject, f"there is no program {spec.command}")
    what = secrets.redact(spec.written.splitlines()[0])
    if not agreed:
        return Finding("note", subject, f"{what}; nobody has agreed yet to start what the workspace names")
    known = listing.load(config.folder(), spec.key)
    count = "never asked what it offers" if known is None else f"{len(known)} tools when it was asked last"
    return Finding("ok", subject, f"{what}; {count}")
