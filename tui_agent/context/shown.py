"""What one state of a log shows: everything that can be asked of it, of the live one and of one that was."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tui_agent.context import views
from tui_agent.context.accounting import Accounting
from tui_agent.context.table import Damage
from tui_agent.messages.blocks import text_block

if TYPE_CHECKING:
    from tui_agent.context.accounting import Weight
    from tui_agent.context.elisions import Elision
    from tui_agent.context.projection import Projection
    from tui_agent.context.records import Record
    from tui_agent.context.table import Head
    from tui_agent.messages.blocks import Block, Message
    from tui_agent.messages.tokens import Tokens


class Shown(ABC):
    """What one state of a log shows."""

    clean: Callable[[str], str] | None = None
    """Takes out of the text of answers what is not for a person's eyes."""

    @property
    @abstractmethod
    def _log(self) -> Projection: ...

    @property
    @abstractmethod
    def _figures(self) -> Accounting: ...

    def before(self, record: str) -> Past:
        """The context as it stood just before a record was appended, to see what was sent then.

        Raises:
            ValueError: there is no such record.
        """
        return Past(self._log.prefix(self._index(record)), self.clean)

    @property
    def history(self) -> Sequence[Message]:
        """The messages as they are sent: elisions applied, those with nothing left not among them.

        A lazy sequence that shows the log of now, also later. Blocks are not to be changed.
        """
        return views.history(self._log)

    @property
    def shown(self) -> Sequence[Message]:
        """The same messages as a person is shown them."""
        return views.history(self._log, self.clean)

    @property
    def records(self) -> Sequence[Record]:
        """Every line that is not blank, in the order of the file, damaged ones in their place. Lazy."""
        return views.records(self._log)

    def record(self, name: str) -> Record:
        """The record of that id (a checkpoint: its uid).

        Raises:
            ValueError: there is none.
        """
        return self._log.record(self._index(name))

    def record_at(self, offset: int) -> Record:
        """The record whose line begins at that offset in the file.

        Raises:
            ValueError: there is none.
        """
        log = self._log
        index = bisect_left(log.starts, offset)
        if index == len(log) or log.starts[index] != offset:
            raise ValueError(f"No record of this context begins at offset {offset}.")
        return log.record(index)

    def _index(self, name: str) -> int:
        return self._log.find(name)

    def message(self, record: str) -> Message | None:
        """The message of that record as it is sent; None if nothing of it is, or there is none."""
        log = self._log
        try:
            index = log.find(record)
        except ValueError:
            return None
        content = log.content(index, log.elisions.on(index)) if log.blocks[index] else []
        return views.message_at(log, index, content) if content else None

    def unshortened(self, record: str) -> Message | None:
        """The message as it would be sent had nothing of it been shortened by itself; None if nothing of it was.

        Raises:
            ValueError: there is no such record.
        """
        index = self._index(record)
        now = self._log.elisions.on(index)
        left = tuple(elision for elision in now if not elision.is_shortening)
        content = self._log.content(index, left) if len(left) < len(now) else []
        return views.message_at(self._log, index, content) if content else None

    def find(self, text: str) -> list[Record]:
        """The records a person may mean: the one of that id or line (`17`, `#17`), else all whose id begins so."""
        log = self._log
        number = text.removeprefix("#")
        if number.isdecimal() and number.isascii():
            return [record for record in views.records(log) if record.line == int(number)]
        try:
            return [log.record(log.find(text))]
        except ValueError:
            return [log.record(index) for name, index in log.index.items() if text and name.startswith(text)]

    def usages(self) -> Sequence[Mapping[str, Any]]:
        """The bodies of the `_usage` records, in order. Lazy."""
        log = self._log
        return views.View(log.usages.index_[:], log.body)

    @property
    def n_elisions(self) -> int:
        """How often something was elided or brought back since the log begins."""
        return len(self._log.elisions.events)

    @property
    def system_prompt(self) -> str | None:
        """The text of the newest system prompt; None if there is none."""
        return self._log.body(self._log.prompts[-1])["content"] if self._log.prompts else None

    @property
    def system_layers(self) -> list[dict[str, Any]]:
        """The layers of the newest system prompt as it was written: layer, source, bytes, and `text`."""
        return _layers(self._log.body(self._log.prompts[-1])) if self._log.prompts else []

    @property
    def system_blocks(self) -> list[Block]:
        """The newest system prompt as API text blocks, one a layer; [] if there is none."""
        return [text_block(layer["text"]) for layer in self.system_layers]

    @property
    def system_memories(self) -> list[dict[str, Any]] | None:
        """The memories that the newest system prompt names, as it was written with; None if it says nothing of any."""
        found = self._log.body(self._log.prompts[-1]).get("memories") if self._log.prompts else None
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else None

    @property
    def prompt_record(self) -> str:
        """The id of the record that holds the newest system prompt; "" if there is none."""
        return self._log.id(self._log.prompts[-1]) if self._log.prompts else ""

    @property
    def tools_record(self) -> str:
        """The id of the record that holds the newest tool set; "" if there is none."""
        return self._log.id(self._log.tools[-1]) if self._log.tools else ""

    def newest_of(self, origin: str) -> Iterator[Record]:
        """The records of messages of that origin, the newest first, read as they are asked for."""
        return views.newest_of(self._log, origin)

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The newest tool set; None if none was written."""
        return self._log.body(self._log.tools[-1])["tools"] if self._log.tools else None

    @property
    def state(self) -> Mapping[str, Any]:
        """The newest value of each state key (goal, plan, todo, mode, tasks, ledger)."""
        return MappingProxyType(
            {key: self._log.body(index)["value"] for key, index in self._log.state.items()}
        )

    def marks(self, record: str) -> Mapping[str, Any]:
        """The marks of a record: pinned, priority, ... as it was written with and as changed since.

        Raises:
            ValueError: there is no such record.
        """
        return MappingProxyType(self._log.effective_marks(self._index(record)))

    def elided(self, record: str) -> list[Elision]:
        """The elisions in force on a record, oldest first.

        Raises:
            ValueError: there is no such record.
        """
        return list(self._log.elisions.on(self._index(record)))

    def elisions(self) -> Iterator[tuple[str, tuple[Elision, ...], int]]:
        """Every record that is not sent as it was written, in order: its id, the elisions in force on it, and the
        tokens that they save."""
        for index, elisions in sorted(self._log.elisions.in_force.items()):
            saved = self._figures.estimate(index, ()) - self._figures.estimate(index, elisions)
            yield self._log.id(index), elisions, saved

    @property
    def batches(self) -> Sequence[Record]:
        """The `_elide` records, in order. Lazy."""
        events = self._log.elisions.events
        return views.View([index for index, _, targets in events if targets], self._log.record)

    def brought_back(self, record: str) -> frozenset[int | None]:
        """The blocks of a record that were elided at some time and brought back; None among them is all of it.

        Raises:
            ValueError: there is no such record.
        """
        return self._log.elisions.returned.get(self._index(record), frozenset())

    @property
    def damage(self) -> list[Damage]:
        """The lines that are no records, in order."""
        log = self._log
        return [
            Damage(log.lines[index], log.starts[index], log.lengths[index], reason)
            for index, reason in sorted(log.damage.items())
        ]

    @property
    def head(self) -> Head | None:
        """The newest head record: what the last rewrite did."""
        return self._log.head

    @property
    def change(self) -> Head | None:
        """The head record of what undo would undo: behind an undo or a redo, of the change that stands again."""
        return self._log.change

    @property
    def heads(self) -> Sequence[Head]:
        """All head records that this log holds, in order."""
        return tuple(self._log.heads)

    # --- tokens ----------------------------------------------------------------------------------------------------

    def weigh(self) -> Weight:
        """What the next request weighs, and how sure that is."""
        return self._figures.weigh()

    def tokens(self, record: str) -> Tokens:
        """What one record weighs as it is sent now; 0 for one that is not sent.

        Raises:
            ValueError: there is no such record.
        """
        return self._figures.tokens(self._index(record))

    def tokens_of(self, record: Record) -> Tokens:
        """The same for any record, the prompt and the tools in force included."""
        return self._figures.tokens(record.index)

    @property
    def system_tokens(self) -> Tokens:
        """What the system prompt in force weighs."""
        return self._figures.system

    @property
    def tools_tokens(self) -> Tokens:
        """What the tool definitions in force weigh."""
        return self._figures.tools

    @property
    def factor(self) -> float:
        """What estimates are multiplied by: exact over estimated, as learned from the newest usages."""
        return self._figures.factor

    # --- bookmarks -------------------------------------------------------------------------------------------------

    @property
    def n_checkpoints(self) -> int:
        """One above the highest id of a checkpoint: the id that the next one gets."""
        return self._log.next_checkpoint

    def checkpoints(self) -> Sequence[views.Checkpoint]:
        """The bookmarks in order. Lazy."""
        return views.checkpoints(self._log)

    def words_after(self, checkpoint: int | str) -> str:
        """A person's words, whole, of the turn that begins at the checkpoint (its id or uid); "" if none does.

        Raises:
            ValueError: there is no such checkpoint.
        """
        return views.words_after(self._log, views.find_checkpoint(self._log, checkpoint))

    def said_after(self, checkpoint: int | str) -> Message | None:
        """The message that begins the turn at the checkpoint (its id or uid): words and pictures; None if none does.

        Raises:
            ValueError: there is no such checkpoint.
        """
        return views.said_after(self._log, views.find_checkpoint(self._log, checkpoint))


class Past(Shown):
    """A log as it stood at some point, to see what was sent then."""

    def __init__(self, log: Projection, clean: Callable[[str], str] | None = None) -> None:
        self._then = log
        self.clean = clean

    @property
    def _log(self) -> Projection:
        return self._then

    @cached_property
    def _figures(self) -> Accounting:
        return Accounting(self._then)


def _layers(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A prompt cut into its layers; in one piece where the layers do not cover its text in order."""
    text: str = body["content"]
    data = text.encode("utf-8", "surrogatepass")
    whole = [{"layer": "", "source": "", "bytes": [0, len(data)], "text": text}] if text else []
    blocks = body.get("blocks")
    if not isinstance(blocks, list) or not blocks:
        return whole
    layers, end = [], 0
    for block in blocks:
        place = block.get("bytes") if isinstance(block, dict) else None
        if not (isinstance(place, list) and len(place) == 2 and all(type(n) is int for n in place)):
            return whole
        start, stop = place
        if not end <= start < stop <= len(data) or data[end:start].strip():
            return whole
        try:
            layers.append({"layer": "", "source": "", **block, "text": data[start:stop].decode()})
        except UnicodeDecodeError:
            return whole
        end = stop
    return layers if not data[end:].strip() else whole
