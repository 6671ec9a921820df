"""What can be pressed where the focus is now, for the top of the help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.ui.actions import BY_ID
from tui_agent.ui.bindings import Keys
from tui_agent.ui.bindings import short as written
from tui_agent.ui.commands import Here

if TYPE_CHECKING:
    from tui_agent.ui.cards.card import Card
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.inspector.panel import Panel
    from tui_agent.ui.memory.sidebar import Sidebar

Rows = tuple[tuple[str, str], ...]

_JUMP: Rows = (
    ("Up Down", "another checkpoint; the preview shows the chat as it would be"),
    ("Enter", "go back to before the checkpoint; undo returns"),
    ("PgUp PgDn", "scroll the preview"),
    ("Esc", "stay here"),
)
_FIND: Rows = (
    ("Enter Down", "the next hit"),
    ("shift+Enter Up", "the hit before"),
    ("Tab", "into the chat, where n and N go from hit to hit"),
    ("Esc", "close the search"),
)
_REPLY: Rows = (
    ("Enter", "give these words"),
    ("^j alt+Enter", "a new line"),
    ("Esc", "back to the answers"),
)
_CARD: Rows = (
    ("Space Down", "read on"),
    ("Up Down Enter", "choose an answer"),
    ("Tab Esc", "later: back to the composer"),
)
_FILTER: Rows = (("Enter", "into the list"), ("Esc", "no filter"))
_TABS: Rows = (
    ("Up Down", "from row to row"),
    ("/", "filter the rows"),
    ("^u ^d", "page the opened row, else the list"),
    ("Left Right", "the tab before or after"),
    ("Esc", "close what is open; then back to the composer"),
)
_MEMORY: Rows = (
    ("Up Down", "from row to row; Enter on a scope folds it"),
    ("/", "search keys and texts"),
    ("^u ^d", "page the opened memory, else the list"),
    ("Left Right", "kept, inbox, refused, undone"),
    ("Esc", "close what is open; then back to the composer"),
)
_EDITOR: Rows = (
    ("Enter", "save; in the key: on to the text"),
    ("^j alt+Enter", "a new line"),
    ("Tab", "scope, key, text"),
    ("Left Right", "on the scope: another one"),
    ("Esc", "leave it; what was written is there next time"),
)
_CHAT: Rows = (
    ("Up Down", "from block to block"),
    ("Enter", "open or fold the block; on a checkpoint: go back to it"),
    ("Left Right", "a caret in the text"),
    ("shift+arrows", "select; ^c copies"),
    ("Home End", "the top, the newest line"),
    ("Esc", "back to the composer, where every other letter goes"),
)
_HITS: Rows = (("n N", "the next hit, the hit before"), ("/ Tab", "other words to find"))
_MARKED: Rows = (("Tab Enter", "take the marked one"), ("Up Down", "another one"), ("Esc", "none of them"))
_SIGNS: Rows = (
    ("/", "as the first character: a command"),
    ("@", "a file"),
    ("!", "as the first character: a command of your shell, which runs into the context"),
)
_WRITING = ("send", "newline", "send_last", "earlier", "search_sent", "editor")


def here(screen: ChatScreen) -> Here:
    """What can be pressed on the chat screen, by the place that has the focus."""
    card, panel = screen.dock.card, screen.panel
    if screen.jump is not None:
        return Here("go back", _JUMP)
    if card is not None and screen.dock.has_keys:
        return _on_card(card, reply=screen.focused is not card)
    if panel is not None and panel.has_focus_within:
        return _in_panel(panel, filters=screen.focused is not panel.tab.rows)
    if screen.sidebar is not None and screen.sidebar.has_focus_within:
        return _in_memory(screen.sidebar)
    if screen.find_bar is not None and screen.find_bar.has_focus_within:
        return Here("find", _FIND)
    if (result := screen.results.current) is not None:
        return Here("the card in the chat", (*result.choices, *_CHAT))
    if screen.transcript.has_focus:
        return Here("the chat", (_HITS if screen.find_bar is not None else ()) + _CHAT)
    if screen.composer.searching:
        again = screen.keys.shown("search_sent")
        return Here("search what you sent", (*_MARKED, (again, "the next that was found")))
    if screen.completion.is_open:
        return Here("completion", _MARKED + _writing(screen.keys))
    waits: Rows = (("Tab", "answer the card that waits"),) if screen.dock.waiting else ()
    return Here("the composer", waits + _writing(screen.keys))


def _writing(keys: Keys) -> Rows:
    """What is pressed while one writes; the keys of the text itself stand under Writing."""
    actions = tuple(("  ".join(keys.of(BY_ID[name])), BY_ID[name].help) for name in _WRITING)
    return actions + _SIGNS


def _on_card(card: Card, *, reply: bool) -> Here:
    if reply:
        return Here("your words on the card", _REPLY)
    letters = tuple((choice.letter, choice.words) for choice in card.choices() if choice.letter)
    return Here("the card", letters + _CARD)


def _in_memory(sidebar: Sidebar) -> Here:
    if sidebar.editor.display:
        return Here("a memory that is written", _EDITOR)
    told = {key for key, _ in _MEMORY}
    keys = tuple((entry.key, entry.words) for entry in sidebar.offered() if entry.key not in told)
    return Here("the memory sidebar", keys + _MEMORY)


def _in_panel(panel: Panel, *, filters: bool) -> Here:
    if filters:
        return Here(f"the filter of {panel.tab.NAME.lower()}", _FILTER)
    told = {key for key, _ in _TABS}
    keys = tuple((written(key.key), key.words) for key in panel.offered() if key.key not in told)
    return Here(f"the inspector, {panel.tab.NAME.lower()}", keys + _TABS)
