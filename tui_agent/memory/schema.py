"""A memory, what can happen to it, and the tables that hold both.

`memories` holds each memory as it is now. `memory_history` holds every change that was ever made, with the memory
before and after it: undo reads it, and other programs learn from it what is new. Changes made at once (a proposal that
replaces an older memory: one row goes, one gets its text) share an `act` and are taken back at once. `words` is the
full-text index. A key is unique among the accepted memories of one place: the user, a workspace, or a session.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from tui_agent import literal
from tui_agent.fulltext import TOKENIZE

if TYPE_CHECKING:
    from tui_agent.database import Schema

Scope = Literal["session", "user", "workspace"]
Status = Literal["proposed", "accepted", "rejected", "suspended"]
"""`suspended`: it came from a turn that was undone, and returns with it."""
# fmt: off
Action = Literal[
    "proposed", "added", "accepted", "replaced", "merged", "rejected", "edited", "deleted",
    "suspended", "resumed", "ended", "restored", "undone",
]
# fmt: on
"""`replaced` got the text of a proposal, which was `merged` into it; `ended` went with its session."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
STATUSES: tuple[Status, ...] = get_args(Status)

LONGEST_KEY = 128
"""Characters."""
LARGEST_BODY = 4096
"""Bytes of UTF-8."""


class StoreError(Exception):
    """Something cannot be done with memories; the message says what, and why."""


class Memory(Struct, frozen=True, kw_only=True):
    """Something remembered.

    `rev` grows with every change, an undo among them. A `user` memory has neither workspace nor session; one of a
    `session` may name its workspace. `source_session` and `source_record` name the message that proposed it, and are
    empty if a person wrote it. `tainted`: text from `outside` (in words: `README.md`, `curl ...`) had been read by
    then. Times are ISO 8601 in UTC; `approved_at` is empty until a person has agreed.
    """

    id: str
    scope: Scope
    key: str
    body: str
    status: Status = "proposed"
    rev: int = 0
    workspace_id: str | None = None
    session_id: str | None = None
    source_session: str = ""
    source_record: str = ""
    tainted: bool = False
    outside: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""
    approved_at: str = ""


class Change(Struct, frozen=True, kw_only=True):
    """A change of the memory `id`, which was `before` and became `after` (None: it was not there).

    `number` grows with every change of the store. Changes made at once have the same `act`. `undoes` is the act that
    this one took back.
    """

    number: int
    act: int
    id: str
    action: Action
    at: str
    before: Memory | None
    after: Memory | None
    undoes: int | None = None


def clean_key(text: str) -> str:
    """A key as it is stored: on one line, without spaces around it.

    Raises:
        StoreError: it is too long, or holds control characters.
    """
    key = unicodedata.normalize("NFC", " ".join(literal.clean(text).split()))
    if len(key) > LONGEST_KEY:
        raise StoreError(f"the key is {len(key)} characters long; {LONGEST_KEY} are allowed")
    if any(unicodedata.category(character) == "Cc" for character in key):
        raise StoreError(f"the key {literal.one_line(key)!r} holds control characters")
    return key


def clean_body(text: str) -> str:
    """A body as it is stored: lines end in a newline, nothing blank around it.

    Raises:
        StoreError: it is empty or too large.
    """
    body = literal.clean(text).replace("\r\n", "\n").replace("\r", "\n").strip()
    if not body:
        raise StoreError("there is nothing to remember: the text is empty")
    size = len(body.encode())
    if size > LARGEST_BODY:
        raise StoreError(f"the text has {size:,} bytes; {LARGEST_BODY:,} are allowed")
    return body


def fitted(memory: Memory) -> Memory:
    """The memory as it is stored, its key and body clean, with a place that its scope has.

    Raises:
        StoreError: a part is missing, too long or unknown.
    """
    if memory.scope not in SCOPES:
        raise StoreError(f"there is no scope {memory.scope!r}; there are {', '.join(SCOPES)}")
    key = clean_key(memory.key)
    if not key and memory.scope != "session":
        raise StoreError(f"a {memory.scope} memory needs a key")
    workspace = memory.workspace_id if memory.scope != "user" else None
    session = memory.session_id if memory.scope == "session" else None
    if memory.scope == "workspace" and not workspace:
        raise StoreError("a workspace memory needs a workspace")
    if memory.scope == "session" and not session:
        raise StoreError("a session memory needs a session")
    return replace(
        memory,
        id=literal.clean(memory.id),
        key=key,
        body=clean_body(memory.body),
        workspace_id=workspace,
        session_id=session,
        source_session=literal.clean(memory.source_session),
        source_record=literal.clean(memory.source_record),
        outside=tuple(map(literal.clean, memory.outside)),
    )


def place(memory: Memory) -> str:
    """The workspace or session that the memory belongs to; empty for the user."""
    found = {"session": memory.session_id, "workspace": memory.workspace_id}.get(memory.scope)
    return found or ""


def _one_of(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


PLACE = "coalesce(CASE scope WHEN 'session' THEN session_id WHEN 'workspace' THEN workspace_id END, '')"
"""`place` as SQL."""

COLUMNS = (
    *("id", "scope", "key", "body", "status", "rev", "workspace_id", "session_id", "source_session"),
    *("source_record", "tainted", "outside", "created_at", "updated_at", "approved_at"),
)
"""Those of `memories`, in the order of the fields of `Memory`."""

SCHEMA: Schema = (
    (
        "CREATE TABLE memories (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
        f" scope TEXT NOT NULL CHECK (scope IN ({_one_of(SCOPES)})),"
        " key TEXT NOT NULL, body TEXT NOT NULL,"
        f" status TEXT NOT NULL CHECK (status IN ({_one_of(STATUSES)})),"
        " rev INTEGER NOT NULL, workspace_id TEXT, session_id TEXT,"
        " source_session TEXT NOT NULL, source_record TEXT NOT NULL,"
        " tainted INTEGER NOT NULL, outside TEXT NOT NULL,"
        " created_at TEXT NOT NULL, updated_at TEXT NOT NULL, approved_at TEXT NOT NULL,"
        " CHECK (scope <> 'user' OR (workspace_id IS NULL AND session_id IS NULL)),"
        " CHECK (scope <> 'workspace' OR (workspace_id IS NOT NULL AND session_id IS NULL)),"
        " CHECK (scope <> 'session' OR session_id IS NOT NULL))",
        f"CREATE UNIQUE INDEX memory_keys ON memories (scope, {PLACE}, key)"
        " WHERE status = 'accepted' AND key <> ''",
        "CREATE INDEX memory_sources ON memories (source_session, source_record)",
        "CREATE TABLE memory_history (number INTEGER PRIMARY KEY AUTOINCREMENT, act INTEGER NOT NULL,"
        " id TEXT NOT NULL, rev INTEGER NOT NULL, action TEXT NOT NULL, at TEXT NOT NULL,"
        " before TEXT, after TEXT, undoes INTEGER)",
        "CREATE INDEX changes_of ON memory_history (id, number)",
        "CREATE INDEX changes_in ON memory_history (act)",
        "CREATE INDEX changes_undone ON memory_history (undoes) WHERE undoes IS NOT NULL",
        f"CREATE VIRTUAL TABLE words USING fts5(key, body, tokenize = {TOKENIZE})",
    ),
)
