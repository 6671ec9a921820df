"""What the model answered, on its way into the log: whole, cut off, refused, or given up for another try."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.agent.proposing import Visible
from tui_agent.events import Emit, Notice, ReplyDropped, ReplyEnded
from tui_agent.memory.markers import clean
from tui_agent.messages.blocks import Block, text_block
from tui_agent.tools.tool import Call

if TYPE_CHECKING:
    from tui_agent.agent.proposing import Proposing
    from tui_agent.context import Context
    from tui_agent.llm.provider import ProviderError, Reply, Text

_CUT_BY_LIMIT = (
    "not run: the answer reached its output limit while writing this call, so its arguments are cut off. "
    "Write less at once, in several calls."
)
_INTERRUPTED = "(The answer above was cut off: the person interrupted it.)"
_BROKE_OFF = "(The answer above was cut off: the connection to the model failed.)"


class Stored(Struct, frozen=True):
    """A reply that is on disk: why the model stopped, and the calls that want a result."""

    stop_reason: str
    calls: Sequence[Call]
    text: str


class Answers:
    """The answers of one session, one at a time: of `model`. `proposing` takes what they want remembered."""

    def __init__(self, context: Context, emit: Emit, proposing: Proposing, model: Callable[[], str]) -> None:
        self._context = context
        self._model = model
        self._emit = emit
        self._proposing = proposing
        self._seen = Visible(emit)

    # --- while it comes ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The next answer is about to come."""
        self._seen.begin()

    def feed(self, delta: Text) -> None:
        """Show some of its text."""
        self._seen.feed(delta.text, delta.block)

    def end_block(self) -> None:
        """A block of text is complete."""
        self._seen.end_block()

    # --- what becomes of it ------------------------------------------------------------------------------------------

    async def append(self, reply: Reply) -> str:
        """Put a whole answer into the log; its record's id, "" if there is nothing in it.

        Raises:
            ContextError: the log could not be written.
        """
        if not reply.content:
            return ""
        fields: dict[str, Any] = {"stop_reason": reply.stop_reason}
        if reply.malformed:
            fields["meta"] = {"malformed": reply.malformed}
        return await self._append(reply.content, **fields)

    async def end(self, reply: Reply, produced: str) -> Stored:
        """Tell of the answer that stands in the record `produced`, and take what it wants remembered.

        Raises:
            ContextError: the log could not be written.
        """
        refused = reply.stop_reason == "refusal"
        if refused:
            await self._refused(produced)
        text = "\n".join(clean(str(b.get("text", ""))) for b in reply.content if b.get("type") == "text")
        self._emit(ReplyEnded(produced, reply.stop_reason, text))
        if refused:
            self._proposing.ignored(self._seen.found, "the model refused to answer")
        elif produced:
            await self._proposing.take(produced)
        # What is left out of the history is not acted on either.
        return Stored(reply.stop_reason, [] if refused else _calls(reply), text)

    async def broke_off(self, error: ProviderError) -> None:
        """Keep what had arrived when the connection failed.

        Raises:
            ContextError: the log could not be written.
        """
        self._seen.end_block()
        await self._keep(error.partial, _BROKE_OFF)
        self._note_dropped(error)
        self._proposing.ignored(self._seen.found, "the answer was cut off")

    async def interrupted(self) -> None:
        """Keep what had arrived when a person stopped it.

        Raises:
            ContextError: the log could not be written.
        """
        self._seen.end_block()
        text = "".join(self._seen.raw)
        await self._keep([text_block(text)] if text.strip() else [], _INTERRUPTED)
        self._proposing.ignored(self._seen.found, "the answer was interrupted")

    async def superseded(self, error: ProviderError) -> None:
        """A step is about to be asked again: what had arrived stays on disk, out of the projection.

        Raises:
            ContextError: the log could not be written.
        """
        self._seen.begin()
        self._note_dropped(error)
        if not error.partial:
            return
        record = await self._append(error.partial, partial=True)
        await self._context.elide([{"record": record, "as": None}], by="auto", reason="retry")

    async def _keep(self, partial: Sequence[Block], note: str) -> None:
        """Keep a half answer, and tell the model on its next turn that it is one."""
        if not partial:
            self._emit(ReplyDropped("nothing of the answer had arrived"))
            return
        record = await self._append(partial, partial=True)
        await self._context.append_message({"role": "user", "content": [text_block(note)]}, origin="repair")
        self._emit(ReplyEnded(record, "cut", "", partial=True))

    def _note_dropped(self, error: ProviderError) -> None:
        for what in error.dropped:
            self._emit(Notice(f"not kept of the half answer: {what}", "info", "model"))

    async def _append(self, content: Sequence[Block], *, partial: bool = False, **fields: Any) -> str:
        if partial:
            fields["partial"] = True
        message = {"role": "assistant", "content": list(content)}
        (record,) = await self._context.append_message(message, model=self._model(), **fields)
        return record.id

    async def _refused(self, produced: str) -> None:
        if produced:
            await self._context.elide([{"record": produced, "as": None}], by="auto", reason="drop")
        self._emit(
            Notice(
                "the model refused to answer; its refusal is left out of what is sent next. Go back before the "
                "request (/revert) or put it differently",
                "warning",
                "model",
            )
        )


def _calls(reply: Reply) -> list[Call]:
    uses: list[Mapping[str, Any]] = [block for block in reply.content if block.get("type") == "tool_use"]
    calls = []
    for index, block in enumerate(uses):
        # An output limit cuts the last call only: the API writes them one after another.
        cut = _CUT_BY_LIMIT if reply.stop_reason == "max_tokens" and index == len(uses) - 1 else ""
        identity = str(block.get("id", ""))
        arguments = block.get("input")
        malformed = reply.malformed.get(identity)
        if malformed is None and not isinstance(arguments, dict):
            malformed = repr(arguments)
        calls.append(
            Call(
                identity,
                str(block.get("name", "")),
                arguments if isinstance(arguments, dict) else {},
                malformed,
                cut,
            )
        )
    return calls
