"""Every key in one table: id, keys, words.

Each action of the screen is a row of `ACTIONS`. Most have a letter that works everywhere after the leader key
(`ctrl+x g`), some a direct key as well, some a slash command. Footer, help, palette and the screens' bindings
are read from here. `[keys]` in settings.toml changes it (`remap`): what is in force are `Keys`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field
from textual.binding import Binding

LEADER = "leader"
"""The id of the leader key itself."""

Group = Literal["Writing", "Chat", "Going back", "Places", "Cards", "Program"]


class Action(Struct, frozen=True):
    """One thing a key does.

    `words` stand in the footer and the palette, `help` in the help. `letter` is pressed after the leader key,
    `keys` directly. A `fixed` action's keys belong to the widget that has the focus and cannot be changed.
    `slash` is its command.
    """

    id: str
    words: str
    help: str
    group: Group
    letter: str = ""
    keys: tuple[str, ...] = ()
    fixed: bool = False
    slash: str = ""


ACTIONS: tuple[Action, ...] = (
    Action("send", "send", "send the words to the model", "Writing", keys=("enter",), fixed=True),
    Action(
        "newline",
        "new line",
        "a new line; \\ before Enter does the same",
        "Writing",
        keys=("ctrl+j", "alt+enter", "shift+enter"),
        fixed=True,
    ),
    Action(
        "send_last",
        "send last",
        "while the model works: send at the end of the turn (Enter: at the next step)",
        "Writing",
        keys=("ctrl+s",),
        fixed=True,
    ),
    Action(
        "earlier",
        "earlier words",
        "at the first or last line: what you sent before",
        "Writing",
        keys=("up", "down"),
        fixed=True,
    ),
    Action(
        "search_sent",
        "sent before",
        "search what you sent in this workspace; again: the next that was found",
        "Writing",
        keys=("ctrl+r",),
    ),
    Action(
        "editor",
        "editor",
        "write in $VISUAL or $EDITOR; what you save is the draft",
        "Writing",
        letter="e",
        keys=("ctrl+g",),
    ),
    Action(
        "complete",
        "complete",
        "take the marked completion of a / command or an @ file",
        "Writing",
        keys=("tab",),
        fixed=True,
    ),
    Action(
        "paste",
        "paste",
        "a picture or text off this machine's clipboard; dropped files become @path",
        "Writing",
        keys=("ctrl+v",),
        fixed=True,
    ),
    Action(
        "words",
        "by word",
        "one word to the left or right",
        "Writing",
        keys=("ctrl+left", "ctrl+right"),
        fixed=True,
    ),
    Action(
        "line_ends",
        "line ends",
        "to the line's start or end (ctrl+a, ctrl+e too)",
        "Writing",
        keys=("home", "end"),
        fixed=True,
    ),
    Action(
        "delete_word",
        "delete word",
        "the word to the left, or right",
        "Writing",
        keys=("ctrl+w", "alt+d"),
        fixed=True,
    ),
    Action(
        "delete_line",
        "delete line",
        "what is left, or right, of the cursor in the line",
        "Writing",
        keys=("ctrl+u", "ctrl+k"),
        fixed=True,
    ),
    Action(
        "undo_typing",
        "undo typing",
        "take back what you typed last, or type it again",
        "Writing",
        keys=("ctrl+underscore", "ctrl+y"),
        fixed=True,
    ),
    Action(
        "stop",
        "stop",
        "copy a selection; else stop what runs; else clear the draft; else, again, quit",
        "Chat",
        keys=("ctrl+c",),
        fixed=True,
    ),
    Action(
        "leave",
        "leave",
        "close what is on top; on a card: later; else stop what runs",
        "Chat",
        keys=("escape",),
        fixed=True,
    ),
    Action(
        "scroll",
        "scroll",
        "scroll the chat by a page, from everywhere",
        "Chat",
        keys=("pageup", "pagedown"),
        fixed=True,
    ),
    Action("top", "top", "go to the top of the chat", "Chat", keys=("ctrl+home",), fixed=True),
    Action(
        "bottom",
        "newest",
        "go to the newest line (End too, while the composer is empty)",
        "Chat",
        keys=("ctrl+end",),
        fixed=True,
    ),
    Action(
        "queue",
        "waiting",
        "the prompts that wait: edit, move, drop, change when they are delivered",
        "Chat",
        letter="w",
        slash="queue",
    ),
    Action(
        "todo",
        "todo",
        "show or hide the todo list, with the steps of the plan and the goal",
        "Chat",
        keys=("ctrl+t",),
        slash="todo",
    ),
    Action(
        "mode",
        "next mode",
        "ask before anything is written, edit files of the workspace without asking, or only look and plan",
        "Chat",
        keys=("shift+tab",),
    ),
    Action(
        "goal",
        "goal",
        "pause the work on the goal, or go on with it; without one: /goal TEXT",
        "Chat",
        letter="d",
    ),
    Action(
        "select",
        "select",
        "in the chat (Tab goes there, Esc leaves): select rows or characters (ctrl: words, all), as a drag does",
        "Chat",
        keys=("shift+up", "shift+down", "shift+left", "shift+right", "ctrl+shift+end"),
        fixed=True,
    ),
    Action(
        "caret",
        "caret",
        "in the chat: a caret from which shift+arrows select",
        "Chat",
        keys=("left", "right"),
        fixed=True,
    ),
    Action("copy", "copy answer", "copy the last answer", "Chat", letter="y", slash="copy"),
    Action(
        "mouse",
        "mouse",
        "give the mouse to the terminal, to select in its way, or take it back",
        "Chat",
        letter="s",
        slash="mouse",
    ),
    Action(
        "find",
        "find",
        "find words in the whole transcript; n and N go from hit to hit",
        "Chat",
        letter="/",
        keys=("ctrl+f",),
        slash="find",
    ),
    Action("earlier_turn", "earlier turn", "go to what you said before", "Chat", letter="k"),
    Action("later_turn", "later turn", "go to what you said next", "Chat", letter="j"),
    Action(
        "output",
        "open output",
        "open or fold the newest call on the screen, or the block under the cursor",
        "Chat",
        keys=("ctrl+o",),
    ),
    Action("pager", "pager", "read the whole transcript in your pager ($PAGER)", "Chat", letter="["),
    Action(
        "compact",
        "compact",
        "put a summary in the place of what was said; words behind it: what it is to dwell on",
        "Going back",
        letter="c",
        keys=("f5",),
        slash="compact",
    ),
    Action(
        "jump",
        "jump back",
        "go back to a checkpoint (Esc Esc too)",
        "Going back",
        letter="g",
        keys=("f6",),
        slash="revert",
    ),
    Action(
        "retry",
        "retry",
        "send the request that failed again, once its record is mended or the endpoint is back",
        "Going back",
        letter="x",
        slash="retry",
    ),
    Action("undo", "undo", "undo the last change of the context", "Going back", letter="u", slash="undo"),
    Action("redo", "redo", "redo what was undone", "Going back", letter="r", slash="redo"),
    Action(
        "inspect",
        "inspect",
        "records, checkpoints, backups, tokens, requests and events of this session",
        "Places",
        letter="i",
        keys=("f3",),
        slash="inspect",
    ),
    Action(
        "request",
        "request",
        "the exact request: all that is sent and what it weighs, what is left out, and any that was sent before",
        "Places",
        letter="v",
        slash="request",
    ),
    Action(
        "memory",
        "memory",
        "what is remembered, and what waits to be: look, search, write, undo, share",
        "Places",
        letter="b",
        keys=("f2",),
        slash="memory",
    ),
    Action(
        "sessions",
        "sessions",
        "the sessions: search what was said, open, rename, archive, delete",
        "Places",
        letter="l",
        keys=("f4",),
        slash="resume",
    ),
    Action(
        "new", "new session", "begin a new session; this one stays on disk", "Places", letter="n", slash="new"
    ),
    Action(
        "model",
        "model",
        "another model or profile from the next turn on, and how much it may think",
        "Places",
        letter="m",
        keys=("f9",),
        slash="model",
    ),
    Action(
        "connect",
        "connect",
        "connect to a model: a key, an endpoint, this machine, or the demo",
        "Places",
        letter="o",
        slash="connect",
    ),
    Action(
        "settings",
        "settings",
        "every setting: what it is, what it may be, and changing it",
        "Places",
        letter=",",
        slash="settings",
    ),
    Action("theme", "theme", "other colours, shown while you choose", "Places", letter="t", slash="theme"),
    Action(
        "inspect.tab",
        "tab",
        "in the inspector: the tab before or after",
        "Places",
        keys=("left", "right"),
        fixed=True,
    ),
    Action(
        "inspect.page",
        "page",
        "in the inspector: page the opened row, else the list (PgUp and PgDn belong to the chat)",
        "Places",
        keys=("ctrl+u", "ctrl+d"),
        fixed=True,
    ),
    Action(
        "inspect.request",
        "of a request",
        "in the inspector, at a request: older, newer, all, mark one, what differs, JSON, count, its record and back",
        "Places",
        keys=("o", "n", "l", "m", "d", "j", "x", "r"),
        fixed=True,
    ),
    Action(
        "memory.write",
        "write",
        "in the memory sidebar: a new one, edit, delete, take the last change back",
        "Places",
        keys=("n", "e", "d", "u"),
        fixed=True,
    ),
    Action(
        "memory.decide",
        "decide",
        "in the memory sidebar: accept, reject, accept all that nothing from outside came before",
        "Places",
        keys=("a", "r", "A"),
        fixed=True,
    ),
    Action(
        "memory.more",
        "scope and file",
        "in the memory sidebar: another scope, the message, write MEMORY.md, read it",
        "Places",
        keys=("s", "m", "w", "i"),
        fixed=True,
    ),
    Action(
        "card",
        "next card",
        "go to the next card that waits (Tab too, while nothing is to be completed)",
        "Cards",
        letter="a",
        keys=("f7",),
    ),
    Action("card.yes", "once", "yes, this once", "Cards", keys=("y",), fixed=True),
    Action(
        "card.write",
        "write a rule",
        "see the rule that would allow its like",
        "Cards",
        keys=("w",),
        fixed=True,
    ),
    Action(
        "card.scope",
        "scope",
        "on a rule: this session or settings; on a proposal: where it counts; on a plan: the mode that follows",
        "Cards",
        keys=("s",),
        fixed=True,
    ),
    Action("card.no", "no", "no", "Cards", keys=("n",), fixed=True),
    Action("card.tell", "tell why", "no, and tell the model why", "Cards", keys=("t",), fixed=True),
    Action(
        "card.edit",
        "edit first",
        "change the command, a plan, a summary, or what is to be remembered",
        "Cards",
        keys=("e",),
        fixed=True,
    ),
    Action(
        "card.accept",
        "accept",
        "accept a plan, or a summary as it is; on a proposal: remember it",
        "Cards",
        keys=("a",),
        fixed=True,
    ),
    Action(
        "card.reject",
        "discard",
        "reject a plan and say why; discard a summary; on a proposal: do not remember it, nor ask again",
        "Cards",
        keys=("r",),
        fixed=True,
    ),
    Action(
        "card.look",
        "look at them",
        "on proposals that were folded into one line: show them in the sidebar",
        "Cards",
        keys=("p",),
        fixed=True,
    ),
    Action(
        "card.undo",
        "undo",
        "on a compaction in the chat: the history as it was before; on a proposal: ask it again",
        "Cards",
        keys=("u",),
        fixed=True,
    ),
    Action(
        "card.more",
        "keep more",
        "on a compaction in the chat: do it again, with twice as much word for word",
        "Cards",
        keys=("k",),
        fixed=True,
    ),
    Action(
        "card.back",
        "bring back",
        "on what was shortened in the chat: send it whole again",
        "Cards",
        keys=("b",),
        fixed=True,
    ),
    Action(
        "tour",
        "end the tour",
        "end the guided demo; the session goes on",
        "Program",
        letter=".",
        slash="tour",
    ),
    Action("commands", "commands", "find a command", "Program", letter="p", keys=("ctrl+p",)),
    Action(
        "help",
        "keys",
        "this page (? too, while the composer is empty)",
        "Program",
        letter="h",
        keys=("f1",),
        slash="help",
    ),
    Action("redraw", "redraw", "draw the screen anew", "Program", keys=("ctrl+l",)),
    Action(
        "suspend",
        "suspend",
        "put the program into the background (fg brings it back)",
        "Program",
        keys=("ctrl+z",),
    ),
    Action(
        "quit",
        "quit",
        "leave; the session stays on disk",
        "Program",
        letter="q",
        keys=("ctrl+q",),
        slash="quit",
    ),
    Action(LEADER, "more", "then a letter; they are listed in the last rows", "Program", keys=("ctrl+x",)),
)

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}

SIGN_NAMES: Mapping[str, str] = {
    "!": "exclamation_mark", '"': "quotation_mark", "#": "number_sign", "$": "dollar_sign", "%": "percent_sign",
    "&": "ampersand", "'": "apostrophe", "(": "left_parenthesis", ")": "right_parenthesis", "*": "asterisk",
    "+": "plus", ",": "comma", "-": "minus", ".": "full_stop", "/": "slash", ":": "colon", ";": "semicolon",
    "<": "less_than_sign", "=": "equals_sign", ">": "greater_than_sign", "?": "question_mark", "@": "at",
    "[": "left_square_bracket", "\\": "backslash", "]": "right_square_bracket", "^": "circumflex_accent",
    "_": "underscore", "`": "grave_accent", "{": "left_curly_bracket", "|": "vertical_line",
    "}": "right_curly_bracket", "~": "tilde",
}  # fmt: skip
"""The signs of a keyboard, and the names that their keys have."""

LETTER_OF: Mapping[str, str] = {
    **{letter: letter for letter in string.ascii_letters + string.digits},
    **{name: sign for sign, name in SIGN_NAMES.items()},
}
"""A key that may come after the leader key -> the letter it stands for."""

_NO_LETTERS = (
    "escape", "enter", "tab", "space", "backspace", "delete", "up", "down", "left", "right", "home", "end",
)  # fmt: skip
"""Keys that end the waiting for a letter, and do nothing else."""

_SHORT = {
    **{name: sign for sign, name in SIGN_NAMES.items()},
    "escape": "Esc", "enter": "Enter", "tab": "Tab", "pageup": "PgUp", "pagedown": "PgDn",
    "up": "Up", "down": "Down", "home": "Home", "end": "End", "space": "Space", "backspace": "Backspace",
}  # fmt: skip


def short(key: str) -> str:
    """A key as the footer and the help write it: `ctrl+x` -> `^x`, `f6` -> `F6`, `escape` -> `Esc`."""
    *modifiers, base = key.split("+")
    text = _SHORT.get(base, base.upper() if base.startswith("f") and base[1:].isdigit() else base)
    for modifier in reversed(modifiers):
        text = f"^{text}" if modifier == "ctrl" else f"{modifier}+{text}"
    return text


class Keys(Struct, frozen=True):
    """The keys in force. `problems` say what in `[keys]` could not be used, one sentence each."""

    direct: Mapping[str, tuple[str, ...]]
    letters: Mapping[str, str]
    problems: tuple[str, ...] = ()
    keymap: Mapping[str, str] = field(default_factory=dict)

    @property
    def leader(self) -> str:
        """The leader key."""
        return self.direct[LEADER][0]

    def letter(self, action: str) -> str:
        """The letter of an action after the leader key, or `""`; the first, if it has several."""
        return next(iter(self.letters_of(action)), "")

    def letters_of(self, action: str) -> list[str]:
        """Every letter of an action after the leader key."""
        return [letter for letter, name in self.letters.items() if name == action]

    def shown(self, action: str) -> str:
        """The one key that is shown for an action: after the leader if it has a letter, else the direct one."""
        letter = self.letter(action)
        if letter:
            return f"{short(self.leader)} {letter}"
        keys = self.direct.get(action, ())
        return short(keys[0]) if keys else ""

    def all(self, action: str) -> list[str]:
        """Every key of an action that can be changed, as written for a person."""
        first = [f"{short(self.leader)} {letter}" for letter in self.letters_of(action)]
        return first + [short(key) for key in self.direct.get(action, ())]

    def of(self, action: Action) -> list[str]:
        """Every key of any action, as written for a person."""
        return [short(key) for key in action.keys] if action.fixed else self.all(action.id)


def screen_bindings() -> list[Binding]:
    """The bindings of the chat screen, one per action that can be changed, plus the letters after the leader.

    An action without a direct key has a binding too, on a key that no terminal sends: `[keys]` may give it one. They
    come before the focused widget's own keys: a text area has a meaning for F6, F7, ctrl+x and ctrl+z too.
    """
    made = _table("act")
    made += [
        Binding(key, f"after_leader('{key}')", show=False, priority=True)
        for key in (*LETTER_OF, *_NO_LETTERS)
    ]
    return made


def place_bindings() -> list[Binding]:
    """The bindings of a place over the chat: every key of the table, which says there what it says in the chat."""
    return _table("away")


def _table(verb: str) -> list[Binding]:
    """A binding for each action whose keys can be changed; `verb` is the screen's action that is given its id."""
    return [
        Binding(
            ",".join(action.keys) or f"unset+{action.id}",
            f"{verb}('{action.id}')",
            action.words,
            show=False,
            priority=True,
            id=action.id,
        )
        for action in ACTIONS
        if not action.fixed
    ]
