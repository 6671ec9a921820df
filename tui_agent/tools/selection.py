"""With many tools their descriptions are held back: the model is told names, and selects those it needs.

What is described in full stays as it is while the log's tool set is in force, so that the request's beginning does.
`select_tools` gives descriptions in its result, which changes nothing before it; `use_tool` calls a tool with the
approvals of that tool. When the tool set is written anew, those used last are described in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from tui_agent.literal import one_line
from tui_agent.messages.blocks import USE_TOOL, tool_called
from tui_agent.messages.tokens import Estimator
from tui_agent.tools.arguments import Arguments
from tui_agent.tools.tool import Need, Output, Progress, Tool, ToolError, definition

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.settings.serving import Tools
    from tui_agent.tools.tool import Call
    from tui_agent.tools.toolbox import Toolbox

SELECT, USE = "select_tools", USE_TOOL
MOST_IN_FULL = 8
"""Of the tools used last, when the tool set is written anew."""
MOST_SELECTED = 20
_MOST_LOOKED_AT = 2_000
"""Messages in which tools used last are looked for."""
_LINE = 110
"""Characters of a tool's line in a list."""
_ALIKE = 0.75
"""How much of a name must be as it was written to be meant perhaps."""
_WORD = re.compile(r"[^\W_]+")


class Selection:
    """Decides what is described in full. `settings` and `window` (tokens) are those of now.

    `more_come`: tools of which nothing is known yet are being asked for. They will be told by name, so that they can
    be called when they are there.
    """

    def __init__(
        self,
        context: Context,
        settings: Callable[[], Tools],
        window: Callable[[], int],
        more_come: Callable[[], bool] = lambda: False,
    ) -> None:
        self._context = context
        self._settings = settings
        self._window = window
        self._more_come = more_come

    def tools(self, toolbox: Toolbox) -> list[Tool]:
        """The tools by which the model selects and calls others."""
        return [SelectTools(toolbox), UseTool(toolbox)]

    def choose(self, own: Sequence[Tool], served: Sequence[Tool], *, anew: bool) -> list[Tool]:
        """The tools to describe in full, in order."""
        in_force = [str(tool.get("name")) for tool in self._context.tools or ()]
        if in_force and not anew:
            deferred = SELECT in in_force
            full = in_force
        else:
            deferred = self._is_due(served)
            full = list(islice(used_last(self._context, {tool.name for tool in served}), MOST_IN_FULL))
        if not deferred:
            return [tool for tool in own if tool.name not in (SELECT, USE)] + list(served)
        by_name = {tool.name: tool for tool in served}
        return [*own, *(by_name[name] for name in full if name in by_name)]

    def _is_due(self, served: Sequence[Tool]) -> bool:
        """Whether descriptions are to be held back."""
        settings = self._settings()
        if settings.defer != "off" and self._more_come():
            return True
        if settings.defer != "auto" or not served:
            return settings.defer == "on" and bool(served)
        if settings.defer_above >= 1:
            return len(served) > settings.defer_above
        tokens = Estimator(self._context.model).count([definition(tool) for tool in served])
        return tokens > settings.defer_above * self._window()


def used_last(context: Shown, names: set[str]) -> Iterator[str]:
    """Which of these tools were called, the one called last first."""
    seen = set()
    for message in islice(reversed(context.history), _MOST_LOOKED_AT):
        if message.role != "assistant":
            continue
        for block in reversed(message.content):
            if block.get("type") == "tool_use" and (name := tool_called(block)) in names and name not in seen:
                seen.add(name)
                yield name


def weights(tools: Sequence[Tool], model: str, factor: float = 1.0) -> tuple[int, int]:
    """What tools cost in estimated tokens, described in full and told by name; `factor` corrects the estimate."""
    estimator = Estimator(model)
    full = estimator.weigh([definition(tool) for tool in tools])
    by_name = estimator.weigh("\n".join(map(line, tools)))
    return round(full * factor), round(by_name * factor)


def line(tool: Tool) -> str:
    """A tool in a list of names."""
    return f"- {tool.name}: {one_line(tool.description, _LINE)}"


def described(tool: Tool) -> str:
    """A tool in full, as text."""
    schema = json.dumps(tool.schema, ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}\n{tool.description}\narguments: {schema}"


class SelectTools:
    """Gives the descriptions of tools that were held back."""

    name = SELECT
    read_only = True
    description = (
        "Get the descriptions and arguments of tools of which you know only the name: by their names, or all that fit "
        f"words of a query. At most {MOST_SELECTED} at once. Call them with {USE}."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "description": "names as they were listed",
            },
            "query": {"type": "string", "description": "words that say what you look for"},
        },
        "additionalProperties": False,
    }

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """Nothing that has to be allowed."""
        names, query = self._parse(arguments)
        return Need("none", one_line(", ".join([*names, *([query] if query else [])]), 200))

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Look them up."""
        names, query = self._parse(arguments)
        served = {tool.name: tool for tool in self._toolbox.served}
        found = {name: served[name] for name in names if name in served}
        unknown = [name for name in names if name not in served]
        matches = [tool for tool in _matching(served.values(), query) if tool.name not in found]
        room = max(0, MOST_SELECTED - len(found))
        chosen = [*found.values(), *matches[:room]][:MOST_SELECTED]
        parts = [described(tool) for tool in chosen]
        if len(matches) > room:
            parts.append(f"{len(matches) - room} more fit: {', '.join(tool.name for tool in matches[room:])}")
        parts += [_unknown(name, served) for name in unknown]
        if not parts:
            parts = [f"no tool fits {query!r}" + (f"; there are: {', '.join(served)}" if served else "")]
        count = f"{len(chosen)} tool" + ("" if len(chosen) == 1 else "s")
        return Output("\n\n".join(parts), count, error=not chosen)

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[list[str], str]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        query = given.text("query", "").strip()
        names = arguments.get("names") or []
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ToolError("'names' must be a list of texts")
        if not names and not query:
            raise ToolError("give names, or a query")
        return list(dict.fromkeys(names)), query


class UseTool:
    """Calls another tool: whatever is asked, allowed and shown is that tool's. See `Toolbox.resolve`."""

    name = USE
    read_only = False
    description = (
        f"Call a tool that is not described here, by its name, with arguments as {SELECT} describes them."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the tool's name"},
            "arguments": {"type": "object", "description": "its arguments"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def stands_for(self, call: Call) -> Call:
        """The call of the tool that is named; the same call where that is none, to be refused by `needs`."""
        try:
            tool, arguments = self._parse(call.arguments)
        except ToolError:
            return call
        return replace(call, tool=tool.name, arguments=arguments)

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """What the other tool needs.

        Raises:
            ToolError: there is no such tool, or its arguments are not usable.
        """
        tool, inner = self._parse(arguments)
        return tool.needs(inner)

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Call the other tool."""
        tool, inner = self._parse(arguments)
        return await tool.call(inner, progress)

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[Tool, dict[str, Any]]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        name = given.text("name").strip()
        inner = arguments.get("arguments")
        if isinstance(inner, str):
            inner = _object(inner)
        if inner is None:
            inner = {}
        if not isinstance(inner, Mapping):
            raise ToolError("'arguments' must be an object")
        tool = self._toolbox.find(name)
        if tool is None or tool.name in (SELECT, USE):
            raise ToolError(_unknown(name, {tool.name: tool for tool in self._toolbox.served}))
        return tool, dict(inner)


def _object(text: str) -> Any:
    """What a text says in JSON; some models write the object as a text."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(f"'arguments' is no JSON object: {error}") from error


def _matching(tools: Any, query: str) -> list[Tool]:
    """The tools that hold a word of the query, those with the most of them first."""
    wanted = {word.casefold() for word in _WORD.findall(query)}
    scored = []
    for tool in tools:
        words = {word.casefold() for word in _WORD.findall(f"{tool.name} {tool.description}")}
        exact = len(wanted & words)
        begun = sum(any(word.startswith(one) for word in words) for one in wanted - words)
        if exact or begun:
            scored.append((2 * exact + begun, tool))
    return [tool for _, tool in sorted(scored, key=lambda pair: -pair[0])]


def _unknown(name: str, served: Mapping[str, Tool]) -> str:
    import difflib  # not needed before something fails

    near = difflib.get_close_matches(name, served, 3, _ALIKE)
    return f"there is no tool {one_line(name, 80)!r}" + (f"; did you mean {', '.join(near)}?" if near else "")
