"""The place in the sidebar where one memory is written: where it counts, its key, its text.

    Editor
      .label     what is written, and the keys
      ScopeLine  Left and Right, its first letter, or a click, change it
      Field      the key
      ReplyLine  the text; Enter saves, ctrl+j is a new line
      .trouble   why it cannot be saved

Tab goes from one to the next. It posts `Saved` and `Left`; a text that was left is there again when it is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.line import Line
from tui_agent.ui.reply import ReplyLine

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult, RenderResult
    from textual.widgets import Input

    from tui_agent.memory.schema import Memory

SCOPES = ("user", "workspace", "session")
_LARGEST, _LONGEST = 4096, 128
"""Bytes of a text, and characters of a key, that can be stored."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is written."""

    scope: str = "workspace"
    key: str = ""
    body: str = ""


class ScopeLine(Widget, can_focus=True):
    """The scope, one of three."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", show=False),
        Binding("right,space", "step(1)", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.scope = SCOPES[1]

    def show(self, scope: str) -> None:
        """Have this scope chosen."""
        self.scope = scope
        self.refresh()

    def action_step(self, by: int) -> None:
        """The scope before or after."""
        self.show(SCOPES[(SCOPES.index(self.scope) + by) % len(SCOPES)])

    def on_key(self, event: events.Key) -> None:
        """A letter chooses the scope that begins with it, and is no word of a prompt."""
        if event.is_printable and event.key != "space" and not getattr(self.screen, "leading", False):
            event.stop()
            self.show(next((s for s in SCOPES if s[0] == event.character), self.scope))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        scope = event.style.meta.get("scope")
        if isinstance(scope, str):
            self.show(scope)

    def render(self) -> RenderResult:
        parts = []
        for scope in SCOPES:
            chosen = scope == self.scope
            look = ("bold reverse" if self.has_focus else "bold") if chosen else "$text-muted"
            text = Content.styled(f"{'(*)' if chosen else '( )'} {scope}", look)
            parts.append(text.stylize(Style.from_meta({"scope": scope})))
        return Content(" ").join(parts)


class Field(Line):
    """The key."""

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """After the leader key a letter is no text."""
        return not getattr(self.screen, "leading", False) and super().check_consume_key(key, character)


class Editor(Vertical):
    """One memory, written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("tab,enter", "next(1)", show=False),
        Binding("shift+tab", "next(-1)", show=False),
    ]

    @dataclass
    class Saved(Message):
        """What was written is to be stored, instead of `memory` or, without one, as a new one."""

        memory: Memory | None
        draft: Draft

    class Left(Message):
        """Nothing is to be stored after all."""

    def __init__(self) -> None:
        super().__init__(classes="memory-editor")
        self.scope = ScopeLine()
        self.key = Field(placeholder="key", select_on_focus=False)
        self.body = ReplyLine()
        self._label = Static(classes="label", markup=False)
        self._trouble = Static(classes="trouble", markup=False)
        self._memory: Memory | None = None
        self._kept: dict[str, Draft] = {}
        """What was left, by the memory's id; `""` is a new one."""

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.scope
        yield self.key
        yield self.body
        yield self._trouble

    @property
    def draft(self) -> Draft:
        """What stands there now."""
        return Draft(self.scope.scope, " ".join(self.key.value.split()), self.body.text.strip())

    def open(self, memory: Memory | None) -> None:
        """Write a memory anew, or a new one. The next key is already for it."""
        self._memory = memory
        was = Draft() if memory is None else Draft(memory.scope, memory.key, memory.body)
        draft = self._kept.pop(memory.id if memory is not None else "", was)
        self.scope.show(draft.scope)
        self.key.value = literal.one_line(draft.key)
        self.body.text = literal.visible(draft.body)
        self.body.move_cursor(self.body.document.end)
        self._label.update("new memory" if memory is None else "change it")
        self._say("Enter saves, Tab goes on, Esc leaves it", "$text-muted")
        self.display = True
        self.screen.set_focus(self.key if memory is None else self.body)

    def close(self) -> None:
        """It is stored."""
        self.display = False

    def _say(self, text: str, style: str = "$text-error") -> None:
        self._trouble.update(Content.styled(literal.visible(text), style))

    def action_leave(self) -> None:
        """Leave it; what was written is kept for the next time."""
        memory, draft = self._memory, self.draft
        was = Draft() if memory is None else Draft(memory.scope, memory.key, memory.body)
        if draft != was:
            self._kept[memory.id if memory is not None else ""] = draft
        self.close()
        self.post_message(self.Left())

    def action_next(self, by: int) -> None:
        """Go to the next part."""
        parts: list[Widget] = [self.scope, self.key, self.body]
        here = self.screen.focused
        at = parts.index(here) if here in parts else 0
        self.screen.set_focus(parts[(at + by) % len(parts)])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.body)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_reply_line_left(self, event: ReplyLine.Left) -> None:
        event.stop()
        self.action_next(1)

    def on_reply_line_dropped(self, event: ReplyLine.Dropped) -> None:
        event.stop()
        self.action_leave()

    def on_reply_line_given(self, event: ReplyLine.Given) -> None:
        event.stop()
        self.save()

    def save(self) -> None:
        """Have it stored, if it can be."""
        trouble = wrong(self.draft, new=self._memory is None)
        if trouble:
            self._say(trouble)
        else:
            self.post_message(self.Saved(self._memory, self.draft))

    def refused(self, trouble: str) -> None:
        """It could not be stored: say why, and let the person go on."""
        self._say(trouble)
        self.display = True
        self.screen.set_focus(self.body)


def wrong(draft: Draft, *, new: bool) -> str:
    """Why this cannot be stored; empty if it can."""
    if not draft.key:
        return "a memory needs a key, such as indent or commit.style"
    if new and (":" in draft.key or len(draft.key.split()) > 5):
        return "a key is up to five words without a colon"
    if len(draft.key) > _LONGEST:
        return f"the key has {len(draft.key)} characters; {_LONGEST} are allowed"
    if not draft.body:
        return "there is nothing to remember yet"
    size = len(draft.body.encode("utf-8", "replace"))
    return f"the text has {size:,} bytes; {_LARGEST:,} are allowed" if size > _LARGEST else ""
