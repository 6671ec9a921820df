"""The blocks of the Messages API and the message that holds them.

A block stays the mapping the API sent or takes (`{"type": "text", "text": ...}`), so that what is stored and
sent again is what came; unknown block types pass through. The one deviation is media, whose source is
`{"type": "blob", "sha256": ..., "media_type": ..., "bytes": ...}` until it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

Block = dict[str, Any]
"""One content block in API form."""

Role = Literal["user", "assistant"]


class Message(Struct, frozen=True):
    """One message of the projected history.

    `content` is always a list of blocks (a bare string on disk is one text block). `id` names the record it
    came from. `origin` is None for a person's words and the model's answers, else who wrote it: tool, summary,
    injection, dmail, checkpoint, background, command, repair, or another program's word. `model` names who answered.
    """

    role: Role
    content: Sequence[Block]
    id: str = ""
    origin: str | None = None
    model: str | None = None
    at: str | None = None
    stop_reason: str | None = None
    partial: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    def api(self) -> dict[str, Any]:
        """The message in API form: role and content alone."""
        return {"role": self.role, "content": list(self.content)}

    @property
    def is_words(self) -> bool:
        """True for what a person typed: titles, previews and the re-edit after a jump go by it."""
        return self.role == "user" and self.origin is None

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(
            b["text"] for b in self.content if b.get("type") == "text" and isinstance(b.get("text"), str)
        )

    def blocks(self, kind: str) -> Iterator[Block]:
        """The blocks of one type, in order."""
        return (block for block in self.content if block.get("type") == kind)


def text_block(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def tool_result(call: str, content: str | Sequence[Block], *, error: bool = False) -> Block:
    """A tool_result block for the tool_use whose id is `call`; `is_error` is set only when it is one."""
    block: Block = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": content if isinstance(content, str) else list(content),
    }
    if error:
        block["is_error"] = True
    return block


USE_TOOL = "use_tool"
"""The tool that calls another one, whose description was held back."""


def tool_called(block: Mapping[str, Any]) -> str:
    """The tool that a tool_use calls, also where it calls it through `USE_TOOL`."""
    name, arguments = str(block.get("name", "")), block.get("input")
    if name == USE_TOOL and isinstance(arguments, Mapping) and isinstance(arguments.get("name"), str):
        return str(arguments["name"])
    return name


def result_text(block: Mapping[str, Any]) -> str:
    """The text of a tool_result block, whether its content is a string or blocks; media as `[image]`."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, dict):
            text = part.get("text")
            parts.append(text if isinstance(text, str) else f"[{part.get('type', 'unknown')}]")
    return "\n".join(parts)
