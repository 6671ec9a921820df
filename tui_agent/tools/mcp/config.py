"""Which MCP servers there are: those of settings, and those that the `.mcp.json` of a workspace names.

Text in `command`, `args`, `cwd`, `env`, `url` and `headers` may name variables of the environment: `${NAME}`, or
`${NAME:-what is taken without it}`. A server whose configuration cannot be used is kept with its fault, so that the
others go on. The values of `env` and `headers` are credentials: they are redacted wherever text is written or shown.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui_agent import paths
from tui_agent.settings import secrets
from tui_agent.settings.serving import CALL_SECONDS, FILE, START_SECONDS, McpServer

if TYPE_CHECKING:
    from tui_agent.settings.serving import Mcp

_MOST_BYTES = 1_000_000
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HTTP = re.compile(r"https?://[^\s/]+(/\S*)?")
_PLACE = re.compile(r"(?:[/.~]|[A-Za-z]:\\|https?://)[^@]*")
_SECRET = re.compile(r"key|token|secret|pass|pwd|auth|credential|cookie|session|_pat\b", re.IGNORECASE)
_LOGIN = re.compile(r"\w+://[^/\s]*:[^/\s]*@")
_LEAST_RANDOM = 20
"""Characters of a value that is taken for a credential by its looks."""

Origin = Literal["settings", "workspace"]


class Spec(Struct, frozen=True):
    """One server as it is started: its variables are filled in. `written` is what was written, for a person to read.

    `key` stands for the configuration as written: what is kept of a server goes by it. `fault` says why the
    configuration cannot be used.
    """

    name: str
    origin: Origin
    key: str = ""
    written: str = ""
    fault: str = ""
    enabled: bool = True
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    timeout: int = CALL_SECONDS
    start_timeout: int = START_SECONDS
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class Configured(Struct, frozen=True):
    """The servers of a session, those of settings first. `file` is the workspace's, None without one.

    `digest` stands for that file and what it says; `faults` are what is wrong beside the servers, `notes` what is only
    worth knowing.
    """

    specs: tuple[Spec, ...] = ()
    file: Path | None = None
    digest: str = ""
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def configured(mcp: Mcp, workspace: Path, root: Path, keys: Collection[str] = ()) -> Configured:
    """The servers of settings and of the file at the root of a workspace, which is read here.

    `keys` are variables that hold keys of this program: a workspace's servers are not given them.
    """
    specs = [_spec(name, server, "settings", workspace) for name, server in mcp.servers.items()]
    file = root / FILE
    data = b"" if mcp.workspace == "never" else _read(file)
    if data is None:
        return Configured(tuple(specs), faults=(f"{file} cannot be read, or is too large",))
    if not data:
        return Configured(tuple(specs))
    servers, faults = _parsed(data, file)
    notes: list[str] = []
    for name, server in servers.items():
        if name in mcp.servers:
            notes.append(f"{file}: settings have a server {name!r} of their own, which is used")
            continue
        spec = server if isinstance(server, Spec) else _spec(name, server, "workspace", root)
        asked = [key for key in keys if f"${{{key}" in spec.written]
        specs.append(replace(spec, fault=f"it asks for {asked[0]}, a key of this program") if asked else spec)
    digest = sha256(str(root).encode("utf-8", "replace") + b"\0" + data).hexdigest()
    return Configured(tuple(specs), file, digest, tuple(faults), tuple(notes))


def is_agreed(digest: str) -> bool:
    """Whether a person agreed to start the servers of a file with this content."""
    return (_agreements() / digest).is_file()


def agree(found: Configured) -> None:
    """Remember that a person agreed to start the servers that a workspace's file names.

    Raises:
        OSError: it cannot be written.
    """
    paths.write_private(_agreements() / found.digest, f"{found.file}\n".encode("utf-8", "replace"))


def folder() -> Path:
    """Where tool lists, agreements and what servers write to their standard error are kept."""
    return paths.data_dir() / "mcp"


def _agreements() -> Path:
    return folder() / "agreed"


def _read(file: Path) -> bytes | None:
    """What the file says; empty without one, None if it cannot be read or is too large."""
    try:
        if not file.is_file():
            return b""
        data = file.read_bytes()
    except OSError:
        return None
    return data if len(data) <= _MOST_BYTES else None


def _parsed(data: bytes, file: Path) -> tuple[dict[str, McpServer | Spec], list[str]]:
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, [f"{file} is not JSON: {error}"]
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        return {}, [f'{file} names no servers: it has no object "mcpServers"']
    return {str(name): _of_file(str(name), entry) for name, entry in servers.items()}, []


def _of_file(name: str, entry: object) -> McpServer | Spec:
    """A server of the usual format."""
    if not isinstance(entry, dict):
        return Spec(name, "workspace", fault="it is no object")
    kind = entry.get("type", entry.get("transport", ""))
    if kind == "sse":
        return Spec(name, "workspace", fault="the old SSE transport is not spoken: use streamable HTTP")
    try:
        return McpServer(
            enabled=not entry.get("disabled", False),
            command=_text(entry, "command"),
            args=_texts(entry, "args"),
            cwd=_text(entry, "cwd"),
            env=_map(entry, "env"),
            url=_text(entry, "url"),
            headers=_map(entry, "headers"),
        )
    except ValueError as error:
        return Spec(name, "workspace", fault=str(error))


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key) or ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key} is no list of texts")
    return tuple(value)


def _map(entry: Mapping[str, Any], key: str) -> Mapping[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ValueError(f"{key} is no table of texts")
    return value


def _spec(name: str, server: McpServer, origin: Origin, base: Path) -> Spec:
    spec = Spec(
        name,
        origin,
        # a list is known in every workspace, but what a workspace names is its own
        _key(server, str(base) if origin == "workspace" else ""),
        _written(server),
        enabled=server.enabled,
        timeout=server.timeout,
        start_timeout=server.start_timeout,
        include=server.include_tools,
        exclude=server.exclude_tools,
    )
    if bool(server.command) == bool(server.url):
        wrong = "both a command and a url" if server.url else "neither a command nor a url"
        return replace(spec, fault=f"it has {wrong}")
    missing: list[str] = []

    def filled(text: str) -> str:
        return _VARIABLE.sub(lambda match: _value(match, missing), text)

    env = {key: filled(value) for key, value in server.env.items()}
    headers = {key: filled(value) for key, value in server.headers.items()}
    spec = replace(
        spec,
        command=filled(server.command),
        args=tuple(filled(part) for part in server.args),
        cwd=str(base / Path(filled(server.cwd)).expanduser()),
        env=env,
        url=filled(server.url),
        headers=headers,
    )
    for given, values in ((server.env, env), (server.headers, headers)):
        _conceal(name, given, values)
    if missing:
        return replace(spec, fault=f"the environment has no variable {', '.join(dict.fromkeys(missing))}")
    if server.url and not _HTTP.fullmatch(spec.url):
        return replace(spec, fault="its url does not begin with http:// or https://")
    return spec


def _value(match: re.Match[str], missing: list[str]) -> str:
    name, default = match.groups()
    value = os.environ.get(name)
    if value is None and default is None:
        missing.append(name)
    if value is not None and _is_secret(name, value):
        secrets.conceal(name, value)
    return value if value is not None else default or ""


def _key(server: McpServer, base: str) -> str:
    parts = [server.command, list(server.args), base, server.cwd, dict(server.env), server.url]
    text = json.dumps([*parts, dict(server.headers)], sort_keys=True)
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _written(server: McpServer) -> str:
    """What would be started or asked, as it is written."""
    if server.url:
        return "\n".join([server.url, *(f"  {name}: {value}" for name, value in server.headers.items())])
    at = [f"  in {server.cwd}"] if server.cwd else []
    variables = [f"  {name}={value}" for name, value in server.env.items()]
    return "\n".join([shlex.join([server.command, *server.args]), *at, *variables])


def _conceal(server: str, written: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Have credentials redacted: what is called so, here or in the environment, or looks so.

    Not everything: to replace a mode, a region or a folder wherever it stands would tear ordinary text.
    """
    for name, value in values.items():
        kind, _, token = value.partition(" ")
        secret = token if kind.lower() in ("bearer", "basic", "token") and token else value
        if _is_secret(f"{name} {written[name]}", secret):
            secrets.conceal(f"{server}.{name}", secret)


def _is_secret(names: str, value: str) -> bool:
    if _PLACE.fullmatch(value):
        return False
    if _SECRET.search(names) or _LOGIN.match(value):
        return True
    kinds = {character.isdigit() for character in value if character.isalnum()}
    return len(value) >= _LEAST_RANDOM and not any(map(str.isspace, value)) and len(kinds) == 2
