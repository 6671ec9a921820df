"""What a rule would allow, in words, before it is saved."""

from __future__ import annotations

import re

_RULE = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)(?::(.+))?")
_STAR = re.compile(r"(?<!\\)\*")


def meaning(rule: str, tool: str) -> str | None:
    """What `rule` lets calls of `tool` do without asking; None if it is no rule for that tool."""
    match = _RULE.fullmatch(rule.strip())
    if match is None or (match[2] is not None and not match[2].strip()):
        return None
    if tool.startswith("mcp__") and match[2] is None:
        server = "__".join(tool.split("__")[:2])
        every = {
            tool: f"every call of {tool}",
            server: f"every call of every tool of the server {server[5:]}",
        }
        return f"{every[match[1]]}, whatever its arguments" if match[1] in every else None
    if match[1] != tool:
        return None
    commands = tool == "bash"
    if tool.endswith(("mcp_resource", "mcp_resources")):
        return f"every call of {tool}, " + (
            f"of {match[2].strip()} only" if match[2] else "whatever the server"
        )
    if match[2] is None:
        return "every command, whatever it does" if commands else f"every call of {tool} inside the workspace"
    pieces = [piece.replace(r"\*", "*") for piece in _STAR.split(match[2].strip())]
    of = "commands that" if commands else f"{tool} of paths that"
    if len(pieces) == 1:
        return f"only the command {pieces[0]}" if commands else f"{tool} of {pieces[0]} only"
    if len(pieces) == 2 and not pieces[1]:
        begin = pieces[0]
        if not begin:
            return (
                "every command, whatever it does"
                if commands
                else f"every call of {tool} inside the workspace"
            )
        if begin.endswith(" "):
            return f"{begin.rstrip()} alone, or with anything behind it"
        return f"all {of} begin with {begin}"
    return f"all {of} read {' ... '.join(piece.strip() or '' for piece in pieces).strip()}"
