"""The keys in force: the table of keys as `[keys]` in settings.toml changes it.

`[keys]` names an action and its keys, several separated by commas: `jump = "ctrl+x j, f6"`. After the leader key
stands a letter, everything else is pressed directly. Both are settled in the same way: a key that another action keeps
is not given away, and an action that is left with none of what it was given has its own again. So every action stays
reachable, whatever `[keys]` says, and what could not be used is said once, in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from tui_agent.ui.actions import ACTIONS, BY_ID, LEADER
from tui_agent.ui.bindings import LETTER_OF, SIGN_NAMES, Keys

_MODIFIERS = frozenset(("alt", "ctrl", "hyper", "meta", "shift", "super"))
_NAMED = frozenset(
    (
        *(f"f{number}" for number in range(1, 25)),
        *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"),
        *("backspace", "enter", "tab", "space", "escape"),
    )
)
_TYPING = frozenset((*SIGN_NAMES.values(), "space", "enter", "tab", "backspace", "delete"))
_MISTAKEN = {
    "ctrl+h": "Backspace",
    "ctrl+i": "Tab",
    "ctrl+left_square_bracket": "Esc",
    "ctrl+m": "Enter",
}
"""Keys that most terminals send as another one."""
_ALSO_FIXED = {
    "super+c": "stop",
    "super+v": "paste",
    "super+z": "undo_typing",
    "ctrl+a": "line_ends",
    "ctrl+e": "line_ends",
    **dict.fromkeys(("shift+home", "shift+end", "ctrl+shift+home"), "select"),
    **dict.fromkeys(("ctrl+shift+left", "ctrl+shift+right"), "select"),
}
"""Keys of fixed actions beside those of the table."""
_ALWAYS = {"ctrl+q": "quit"}
"""Keys that an action has wherever one is, and whatever else it is given."""


_COMMA = re.compile(r"(?<=\S) ,(?=\s*(?:,|$))")
"""A comma that is a letter: it stands where one is expected."""


class _Letter(NamedTuple):
    """A letter of `[keys]`, and the key before it."""

    leader: str
    letter: str


class _Wish(Struct):
    """What `[keys]` asks for one action, as far as it can be read."""

    direct: list[str] = field(default_factory=list)
    letters: list[_Letter] = field(default_factory=list)


def resolve(changes: Mapping[str, str] | None = None) -> Keys:
    """The keys in force after `[keys]`: action id -> keys, several separated by commas."""
    problems: list[str] = []
    wishes = {name: _read(name, value, problems) for name, value in (changes or {}).items()}
    usual = {action.id: action.keys for action in ACTIONS if not action.fixed}
    direct = _settle(usual, {name: wish.direct for name, wish in wishes.items()}, problems)
    usual_letters = {action.id: tuple(action.letter) for action in ACTIONS if not action.fixed}
    wanted = {
        name: _letters(name, wish, direct[LEADER], problems) for name, wish in wishes.items() if wish.letters
    }
    settled = _settle(usual_letters, wanted, problems, " after the leader key")
    return Keys(
        direct=direct,
        letters={letter: name for name, letters in settled.items() for letter in letters},
        problems=tuple(dict.fromkeys(problems)),
        keymap={name: ",".join(keys) for name, keys in direct.items() if keys != usual[name]},
    )


def canonical(key: str) -> str:
    """A key as the screen names it, whatever its spelling: `ctrl+]`, `Shift+Ctrl+End`; empty if there is none."""
    stem, sign = (key[:-1], "+") if key.endswith("+") else (key, "")
    *modifiers, base = [part.strip().lower() for part in stem.split("+")]
    base = SIGN_NAMES.get(sign or base, base)
    if len(base) == 1 and not (base.isascii() and base.isalnum()):
        return ""
    if len(base) > 1 and base not in _NAMED and base not in LETTER_OF:
        return ""
    if not _MODIFIERS.issuperset(modifiers) or len(set(modifiers)) != len(modifiers):
        return ""
    return "+".join([*sorted(modifiers), base])


def _read(name: str, value: str, problems: list[str]) -> _Wish:
    """What is wanted for an action; what cannot be read is said."""
    wish = _Wish()
    action = BY_ID.get(name)
    if action is None:
        problems.append(f"[keys] {name}: there is no such action; known are {_known()}")
        return wish
    if action.fixed:
        problems.append(f"[keys] {name}: its keys cannot be changed")
        return wish
    parts = _COMMA.sub(f" {SIGN_NAMES[',']}", value).split(",")
    for part in filter(None, (part.strip() for part in parts)):
        lead, _, letter = part.partition(" ")
        key = canonical(lead)
        if letter.strip() and key:
            wish.letters.append(_Letter(key, LETTER_OF.get(letter.strip(), letter.strip())))
        elif problem := f"there is no key {part}" if not key else _unfit(name, key):
            problems.append(f"[keys] {name}: {problem}")
        elif key not in wish.direct:
            wish.direct.append(key)
    return wish


def _unfit(name: str, key: str) -> str:
    """Why an action cannot have a key; empty if it can."""
    if _types(key):
        return f"{key} types a character; use ctrl, alt or a function key"
    if key in _MISTAKEN:
        return f"{key} is {_MISTAKEN[key]} in most terminals"
    owner = _fixed().get(key) or (_ALWAYS.get(key) if _ALWAYS.get(key) != name else None)
    return f"{key} belongs to {owner}" if owner is not None else ""


def _letters(name: str, wish: _Wish, leaders: Sequence[str], problems: list[str]) -> list[str]:
    """The letters wanted for an action that can be used."""
    found: list[str] = []
    for leader, letter in wish.letters:
        if name == LEADER:
            problem = "the leader key is one key; letters come after it"
        elif leader not in leaders:
            problem = f"{leader} {letter}: the leader key is {leaders[0]}"
        elif letter not in LETTER_OF.values():
            problem = f"after the leader key comes one character, not {letter}"
        else:
            found += [letter] if letter not in found else []
            continue
        problems.append(f"[keys] {name}: {problem}")
    return found


def _settle(
    usual: Mapping[str, tuple[str, ...]],
    wanted: Mapping[str, Sequence[str]],
    problems: list[str],
    where: str = "",
) -> dict[str, tuple[str, ...]]:
    """Give each action the keys that are wanted for it, as far as no other keeps them.

    An action that nothing is wanted for keeps its own; of two that want the same, the first one gets it.
    """
    given = dict(usual)
    changed = [name for name, keys in wanted.items() if keys and name in usual]
    given |= {name: tuple(wanted[name]) for name in changed}
    while (clash := _clash(given, changed)) is not None:
        name, key, owner = clash
        problems.append(f"[keys] {name}: {key}{where} belongs to {owner}")
        given[name] = tuple(other for other in given[name] if other != key)
        if not given[name]:
            given[name] = usual[name]
            changed.remove(name)
    return given


def _clash(given: Mapping[str, tuple[str, ...]], changed: Sequence[str]) -> tuple[str, str, str] | None:
    """A changed action, a key that it cannot have, and whose that is."""
    held = {key: name for name, keys in given.items() if name not in changed for key in keys}
    for name in changed:
        for key in given[name]:
            if key in held:
                return name, key, held[key]
        held |= dict.fromkeys(given[name], name)
    return None


def _types(key: str) -> bool:
    """True for a key that types a character when pressed alone."""
    *modifiers, base = key.split("+")
    return not (set(modifiers) - {"shift"}) and (len(base) == 1 or base in _TYPING)


def _fixed() -> dict[str, str]:
    """Whose the keys are that cannot be given away."""
    of_table = {key: action.id for action in ACTIONS if action.fixed for key in action.keys if len(key) > 1}
    return _ALSO_FIXED | of_table


def _known() -> str:
    return ", ".join(sorted(action.id for action in ACTIONS if not action.fixed))
