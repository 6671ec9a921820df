"""The table of keys: complete, without clashes, and changed only by what can be used."""

from __future__ import annotations

from collections import Counter

import pytest

from tui_agent.ui import bindings
from tui_agent.ui.bindings import ACTIONS, BY_ID, resolve, short


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
    keys = resolve({bindings.LEADER: "ctrl+]"})
    assert keys.leader == "ctrl+]"
    assert keys.shown("jump") == "^] g"


def test_screen_bindings_carry_the_ids_of_the_table() -> None:
    ids = {binding.id for binding in bindings.screen_bindings() if binding.id}
    assert ids == {action.id for action in ACTIONS if not action.fixed}
    assert ids <= set(BY_ID)
