"""The keys of the table as they are in force, as they are written for a person, and as a screen binds them.

`[keys]` in settings.toml changes the table (`remap`): what is in force are `Keys`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping

from msgspec import Struct, field
from textual.binding import Binding

from tui_agent.ui.actions import ACTIONS, LEADER, Action

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
