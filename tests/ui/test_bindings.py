"""The table of keys: complete, without clashes, and changed only by what can be used."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import BindingsMap

from tests.support.examples import examples
from tui_agent.ui import bindings
from tui_agent.ui.actions import ACTIONS, BY_ID, LEADER
from tui_agent.ui.bindings import short
from tui_agent.ui.remap import canonical, resolve


def test_ids_letters_and_keys_are_unique() -> None:
    assert max(Counter(action.id for action in ACTIONS).values()) == 1
    letters = Counter(action.letter for action in ACTIONS if action.letter)
    assert max(letters.values()) == 1
    free = Counter(key for action in ACTIONS if not action.fixed for key in action.keys)
    assert max(free.values()) == 1


def test_nothing_exists_only_on_a_function_key_or_ctrl_p() -> None:
    for action in ACTIONS:
        only_second = all(key.startswith("f") or key in ("ctrl+p", "ctrl+j") for key in action.keys)
        if action.keys and only_second and not action.fixed:
            assert action.letter, f"{action.id} has a letter after the leader key"


def test_every_action_has_words_and_help() -> None:
    for action in ACTIONS:
        assert action.words and action.help
        assert len(action.words) <= 14


def test_a_key_that_terminals_mistake_for_another_is_not_used() -> None:
    used = {key for action in ACTIONS for key in action.keys}
    assert not used & {"ctrl+b", "ctrl+a", "ctrl+h", "ctrl+i", "ctrl+m"}
    assert not any(key.startswith("alt+") and key[4:].isdigit() for key in used)


def test_without_changes_the_table_is_in_force() -> None:
    keys = resolve({})
    assert keys.problems == ()
    assert keys.letters["g"] == "jump"
    assert keys.shown("jump") == "^x g"
    assert keys.all("jump") == ["^x g", "F6"]


def test_a_direct_key_is_changed() -> None:
    keys = resolve({"inspect": "f12"})
    assert keys.problems == ()
    assert keys.direct["inspect"] == ("f12",)
    assert keys.keymap == {"inspect": "f12"}
    assert keys.shown("inspect") == "^x i", "the letter stays"


def test_a_letter_and_direct_keys_are_changed_together() -> None:
    keys = resolve({"jump": "ctrl+x z, f6, alt+j"})
    assert keys.problems == ()
    assert keys.letters["z"] == "jump"
    assert "g" not in keys.letters
    assert keys.direct["jump"] == ("f6", "alt+j")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"compakt": "f5"}, "[keys] compakt: there is no such action"),
        ({"send": "f5"}, "[keys] send: its keys cannot be changed"),
        ({"jump": "g"}, "[keys] jump: g types a character"),
        ({"jump": "shift+g"}, "[keys] jump: shift+g types a character"),
        ({"jump": "ctrl+c"}, "[keys] jump: ctrl+c belongs to stop"),
        ({"jump": "f3"}, "[keys] jump: f3 belongs to inspect"),
        ({"jump": "ctrl+x i"}, "[keys] jump: i after the leader key belongs to inspect"),
        ({"jump": "ctrl+x up"}, "[keys] jump: after the leader key comes one character"),
    ],
)
def test_what_cannot_be_used_is_said_and_leaves_the_key_as_it_was(
    changes: dict[str, str], words: str
) -> None:
    keys = resolve(changes)
    assert any(problem.startswith(words) for problem in keys.problems), keys.problems
    assert keys.all("jump") == ["^x g", "F6"]


def test_an_unknown_id_names_the_known_ones() -> None:
    (problem,) = resolve({"nothing": "f5"}).problems
    assert "jump" in problem and "inspect" in problem


def test_two_actions_given_the_same_key_are_a_clash() -> None:
    keys = resolve({"jump": "f8", "inspect": "f8"})
    assert any("f8 belongs to" in problem for problem in keys.problems)
    given = [name for name, direct in keys.direct.items() if "f8" in direct]
    assert len(given) <= 1


def test_keys_are_written_for_people() -> None:
    written = {"ctrl+x": "^x", "f6": "F6", "escape": "Esc", "alt+enter": "alt+Enter", "pageup": "PgUp"}
    assert {key: short(key) for key in written} == written


def test_the_leader_key_itself_can_be_changed() -> None:
    keys = resolve({LEADER: "ctrl+]"})
    assert keys.leader == "ctrl+right_square_bracket", "as the screen names it"
    assert keys.shown("jump") == "^] g"


def test_letters_are_given_after_the_leader_key_in_force_whatever_stands_first() -> None:
    for changes in (
        {"jump": "ctrl+] z", "leader": "ctrl+]"},
        {"leader": "ctrl+]", "jump": "ctrl+right_square_bracket z"},
    ):
        keys = resolve(changes)
        assert keys.problems == ()
        assert keys.shown("jump") == "^] z"
    keys = resolve({"leader": "f12", "jump": "ctrl+x z"})
    assert keys.problems == ("[keys] jump: ctrl+x z: the leader key is f12",)
    assert keys.all("jump") == ["F12 g", "F6"]


def test_a_leader_that_another_action_has_needs_that_one_moved() -> None:
    keys = resolve({"leader": "ctrl+g"})
    assert keys.problems == ("[keys] leader: ctrl+g belongs to editor",)
    assert keys.leader == "ctrl+x"
    keys = resolve({"leader": "ctrl+g", "editor": "f8"})
    assert keys.problems == ()
    assert (keys.shown("jump"), keys.all("editor")) == ("^g g", ["^g e", "F8"])


def test_two_actions_change_places() -> None:
    keys = resolve({"jump": "ctrl+x i, f3", "inspect": "ctrl+x g, f6"})
    assert keys.problems == ()
    assert (keys.all("jump"), keys.all("inspect")) == (["^x i", "F3"], ["^x g", "F6"])


def test_what_an_action_gets_back_is_nobody_elses() -> None:
    keys = resolve({"card": "f6", "jump": "f3"})
    assert keys.problems == ("[keys] jump: f3 belongs to inspect", "[keys] card: f6 belongs to jump")
    assert (keys.direct["jump"], keys.direct["card"]) == (("f6",), ("f7",))


def test_every_sign_may_be_a_letter_and_capitals_are_their_own() -> None:
    for sign in (*bindings.SIGN_NAMES, "G"):
        keys = resolve(
            {"jump": f"ctrl+x {sign}", "settings": "ctrl+x 9", "find": "ctrl+x 8"}
            | ({"pager": "ctrl+x 7", "tour": "ctrl+x 6"})
        )
        assert keys.problems == (), sign
        assert keys.letters[sign] == "jump"
        assert "g" not in keys.letters
    keys = resolve({"settings": "ctrl+x ,, f12"})
    assert (keys.problems, keys.all("settings")) == ((), ["^x ,", "F12"])


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("Ctrl+Shift+End", "ctrl+shift+end"),
        ("shift+ctrl+end", "ctrl+shift+end"),
        ("ctrl+]", "ctrl+right_square_bracket"),
        ("ctrl++", "ctrl+plus"),
        ("F6", "f6"),
        ("pgup", ""),
        ("f25", ""),
        ("strg+x", ""),
        ("ctrl+ctrl+x", ""),
        ("ctrl+ü", ""),
        ("", ""),
        ("+", "plus"),
    ],
)
def test_a_key_is_known_by_any_spelling_or_not_at_all(key: str, named: str) -> None:
    assert canonical(key) == named


_UNCHANGEABLE = [action.id for action in ACTIONS if action.fixed]
_CHANGEABLE = [action.id for action in ACTIONS if not action.fixed]
_BASES = st.one_of(
    st.sampled_from([f"f{number}" for number in range(1, 14)]),
    st.sampled_from("abcdefgxyz,]+;?ü"),
    st.sampled_from(["up", "pageup", "enter", "space", "escape", "banana", "left_square_bracket"]),
)
_KEY = st.builds(
    lambda modifiers, base: "+".join([*modifiers, base]),
    st.lists(st.sampled_from(["ctrl", "alt", "shift", "Ctrl", "strg"]), max_size=2),
    _BASES,
)
_LETTER = st.builds(
    lambda leader, letter: f"{leader} {letter}",
    st.sampled_from(["ctrl+x", "ctrl+g", "f12"]),
    st.one_of(st.sampled_from("abgijkG,;?/["), st.just("up"), st.just("")),
)
_TABLES = st.dictionaries(
    st.sampled_from([*_CHANGEABLE, *_UNCHANGEABLE[:3], "compakt"]),
    st.one_of(st.lists(st.one_of(_KEY, _LETTER), max_size=4).map(", ".join), st.text(max_size=12)),
    max_size=8,
)


@examples(150)
@given(_TABLES)
def test_whatever_keys_says_every_action_stays_reachable(table: dict[str, str]) -> None:
    keys = resolve(table)
    assert len(keys.problems) == len(set(keys.problems)), "each is said once"
    for name in _CHANGEABLE:
        assert keys.all(name), f"{name} has no key"
    held = [key for direct in keys.direct.values() for key in direct]
    assert len(held) == len(set(held)), "a key means one thing"
    fixed = {key for action in ACTIONS if action.fixed for key in action.keys if len(key) > 1}
    assert not fixed & set(held)
    bound = BindingsMap(bindings.screen_bindings())
    bound.apply_keymap(keys.keymap)
    for name, direct in keys.direct.items():
        for key in direct:
            assert canonical(key) == key
            assert [binding.id for binding in bound.key_to_bindings[key]] == [name]
    letters = {letter for key, letter in bindings.LETTER_OF.items() if key in bound.key_to_bindings}
    assert set(keys.letters) <= letters, "a letter is bound after the leader key"
    assert set(table) - set(BY_ID) <= {problem.split()[1].rstrip(":") for problem in keys.problems}


@pytest.mark.parametrize("name", _CHANGEABLE)
def test_every_action_can_be_given_other_keys(name: str) -> None:
    keys = resolve({name: "f12, alt+j"})
    assert keys.problems == ()
    assert keys.direct[name] == ("f12", "alt+j")
    if name != LEADER:
        assert resolve({name: "ctrl+x z"}).letters["z"] == name


def test_screen_bindings_carry_the_ids_of_the_table() -> None:
    ids = {binding.id for binding in bindings.screen_bindings() if binding.id}
    assert ids == {action.id for action in ACTIONS if not action.fixed}
    assert ids <= set(BY_ID)
