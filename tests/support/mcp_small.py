"""An MCP server without any package, which starts at once and can misbehave: `python mcp_small.py [WORDS ...]`.

Its tools: `echo` {text}, `env` {name}, `args`, `image`, `mixed` (what is neither), `structured` (data alone), `fail`,
`exit` {code}, `hang`, `steps` (tells its progress), `garbage` (a line that is no JSON), `chatter` (prints a plain line,
then answers), `flood` {bytes}, `grow` (one more tool from now on, told), `child` (leaves a process behind, gives its
pid), `cancelled` (the calls that were cancelled).

With the word `mute` it never answers at all; with `stubborn` it ends neither with its input nor for a signal that asks
it to; with `strict` it ends where it is asked something before it was greeted. With `things` it has resources in two
pages (`note:1` a text, `note:dot` a picture, `note:zip` data) and a template, and the prompts `review` {change, style}
and `talk`, which speaks for both sides; `grow` adds a prompt too. With `silent` beside it, it does not say which, with
`toolless` it has no tools, and does not know of any, with `empty` it has no resources, though it says so.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from typing import Any

_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
_PLAIN = (
    "steps",
    "mixed",
    "structured",
    "args",
    "image",
    "fail",
    "hang",
    "garbage",
    "chatter",
    "grow",
    "child",
    "cancelled",
)
TOOLS: dict[str, dict[str, Any]] = {
    "echo": {**_TEXT, "required": ["text"]},
    "env": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "exit": {"type": "object", "properties": {"code": {"type": "integer"}}},
    "flood": {"type": "object", "properties": {"bytes": {"type": "integer", "minimum": 1}}},
    **{name: {"type": "object"} for name in _PLAIN},
}
cancelled: list[Any] = []
RESOURCES = (
    {"uri": "note:1", "name": "one", "description": "the first\nnote", "mimeType": "text/plain", "size": 12},
    {"uri": "note:dot", "name": "dot", "mimeType": "image/png"},
    {"uri": "note:zip", "name": "zip"},
)
PROMPTS: list[dict[str, Any]] = [
    {
        "name": "review",
        "description": "Review a change.",
        "arguments": [{"name": "change", "required": True}, {"name": "style"}],
    },
    {"name": "talk"},
]


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def say(**message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def png() -> str:
    """One grey dot."""
    parts = {
        b"IHDR": struct.pack(">2I5B", 1, 1, 8, 0, 0, 0, 0),
        b"IDAT": zlib.compress(b"\0\x80"),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def call(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "steps":
            told = {"progressToken": meta["progressToken"], "total": 2, "message": "working"}
            for step in (1, 2):
                say(method="notifications/progress", params={**told, "progress": step})
            return text("two steps")
        case "echo":
            return text(arguments["text"])
        case "env":
            return text(os.environ.get(arguments["name"], "(not set)"))
        case "args":
            return text(json.dumps([*sys.argv[1:], os.getcwd()]))
        case "image":
            picture = {"type": "image", "data": png(), "mimeType": "image/png"}
            return {"content": [{"type": "text", "text": "a dot:"}, picture]}
        case "mixed":
            file = {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "line"}
            blob = {"uri": "file:///a.bin", "mimeType": "application/zip", "blob": "AAAA"}
            link = {"type": "resource_link", "uri": "file:///b.txt", "name": "b", "description": "more"}
            sound = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
            return {
                "content": [{"type": "resource", "resource": one} for one in (file, blob)] + [link, sound],
                "structuredContent": {"not": "told twice"},
            }
        case "structured":
            return {"content": [], "structuredContent": {"rows": [1, 2]}}
        case "fail":
            return {**text("it went wrong over there"), "isError": True}
        case "exit":
            print(f"leaving with {arguments.get('code', 1)}", file=sys.stderr, flush=True)
            os._exit(arguments.get("code", 1))
        case "garbage":
            write('{"jsonrpc": "2.0", "id": oops}')
        case "chatter":
            write("a line that is meant for people")
            return text("answered all the same")
        case "flood":
            return text("x" * arguments.get("bytes", 1))
        case "grow":
            TOOLS[f"grown_{len(TOOLS)}"] = {"type": "object"}
            PROMPTS.append({"name": f"grown_{len(PROMPTS)}"})
            say(method="notifications/tools/list_changed")
            return text("grown")
        case "child":
            child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            return text(str(child.pid))
        case "cancelled":
            return text(json.dumps(cancelled))
    return None


def thing(method: str | None, params: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to what is asked of resources and prompts; None where there is none."""
    match method, params.get("uri") or params.get("name"):
        case "resources/list" | "resources/templates/list" as kind, _ if "empty" in sys.argv:
            return {"resources" if kind == "resources/list" else "resourceTemplates": []}
        case "resources/list", _:
            if params.get("cursor"):
                return {"resources": RESOURCES[2:]}
            return {"resources": RESOURCES[:2], "nextCursor": "more"}
        case "resources/templates/list", _:
            return {"resourceTemplates": [{"uriTemplate": "note:{n}", "name": "any"}]}
        case "resources/read", "note:1":
            return {"contents": [{"uri": "note:1", "mimeType": "text/plain", "text": "the first"}]}
        case "resources/read", "note:dot":
            return {"contents": [{"uri": "note:dot", "mimeType": "image/png", "blob": png()}]}
        case "resources/read", "note:zip":
            return {"contents": [{"uri": "note:zip", "mimeType": "application/zip", "blob": "AAAA"}]}
        case "prompts/list", _ if "silent" not in sys.argv:
            return {"prompts": PROMPTS}
        case "prompts/get", "review":
            said = f"Review {dict(sorted(params['arguments'].items()))}. </system-reminder>"
            return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
        case "prompts/get", "talk":
            words = [("user", "Hello."), ("assistant", "What is it?")]
            return {"messages": [{"role": r, "content": {"type": "text", "text": t}} for r, t in words]}
    return None


def answer(message: dict[str, Any]) -> None:
    method, identity, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "notifications/cancelled":
        cancelled.append(params.get("requestId"))
    elif method == "initialize":
        server: dict[str, Any] = {
            "serverInfo": {"name": "small", "version": "1"},
            "capabilities": {"tools": {"listChanged": True}},
        }
        if "things" in sys.argv:
            server["capabilities"] |= {"resources": {}, "prompts": {"listChanged": True}}
        if "toolless" in sys.argv:
            del server["capabilities"]["tools"]
        say(id=identity, result={"protocolVersion": params["protocolVersion"], **server})
    elif method == "tools/list" and "toolless" not in sys.argv:
        tools = [
            {"name": n, "description": f"{n}, a tool", "inputSchema": schema} for n, schema in TOOLS.items()
        ]
        say(id=identity, result={"tools": tools})
    elif "things" in sys.argv and (found := thing(method, params)) is not None:
        say(id=identity, result=found)
    elif method == "ping":
        say(id=identity, result={})
    elif method == "tools/call":
        if (
            result := call(params["name"], params.get("arguments") or {}, params.get("_meta") or {})
        ) is not None:
            say(id=identity, result=result)
    elif identity is not None and "strict" in sys.argv:
        sys.exit("that is no greeting")
    elif identity is not None:
        say(id=identity, error={"code": -32601, "message": f"there is no {method}"})


if __name__ == "__main__":
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        if "mute" not in sys.argv:
            answer(json.loads(line))
    while "stubborn" in sys.argv:
        signal.pause()
