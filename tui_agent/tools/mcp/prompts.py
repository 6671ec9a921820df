"""Prompts of MCP servers: a person calls one by `/server:prompt WORDS`, and its text is fetched from its server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.messages.wellformed import sanitised
from tui_agent.tools.mcp import offers
from tui_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from tui_agent.tools.mcp.offers import Prompt
    from tui_agent.tools.mcp.server import Server


class Called(Struct, frozen=True):
    """What a person called: the words by which they did, and the text that the server gave for it."""

    words: str
    name: str
    server: str
    text: str


class ServerPrompt:
    """A prompt by the name under which it is called, `server:prompt`."""

    def __init__(self, part: str, server: Server, prompt: Prompt) -> None:
        self.name = f"{part}:{sanitised(prompt.name, 'prompt')}"
        self.description = prompt.description or f"a prompt of the MCP server {server.spec.name}"
        self.server = server
        self._prompt = prompt

    @property
    def usage(self) -> str:
        """How it is called."""
        words = [
            f"{one.name.upper()}" if one.required else f"[{one.name.upper()}]"
            for one in self._prompt.arguments
        ]
        return " ".join([f"/{self.name}", *words])

    async def call(self, rest: str) -> Called:
        """Fetch its text for what a person typed behind its name.

        Raises:
            ToolError: an argument is missing or too much, or the server does not answer with a text.
        """
        arguments = self._filled(rest.strip())
        work = partial(_fetch, self._prompt.name, dict(arguments))
        text = (await self.server.ask(work)).strip()
        if not text:
            raise ToolError(f"the MCP server {self.server.spec.name} gave nothing for {self.name}")
        words = f"/{self.name} {rest.strip()}".strip()
        return Called(words, self.name, self.server.spec.name, text)

    def _filled(self, rest: str) -> Mapping[str, str]:
        """The arguments: words in their order, the last one takes the rest; `name=word` gives one by its name."""
        known = [argument.name for argument in self._prompt.arguments]
        found: dict[str, str] = {}
        words = rest.split()
        while words and "=" in words[0] and words[0].partition("=")[0] in known:
            name, _, value = words.pop(0).partition("=")
            found[name] = value
        left = [name for name in known if name not in found]
        if words and not left:
            raise ToolError(f"it takes no more words; usage: {self.usage}")
        found |= dict(zip(left[:-1], words, strict=False))
        if words[len(left) - 1 :]:
            found[left[-1]] = " ".join(words[len(left) - 1 :])
        missing = [one.name for one in self._prompt.arguments if one.required and one.name not in found]
        if missing:
            raise ToolError(f"{', '.join(missing)} missing; usage: {self.usage}")
        return found


async def _fetch(name: str, arguments: dict[str, str], client: Any) -> str:
    return await offers.prompt(client, name, arguments)
