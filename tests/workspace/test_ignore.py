"""What a .gitignore says of a name."""

from __future__ import annotations

import re

import pytest

from tui_agent.workspace.ignore import Ignore, glob_regex


@pytest.mark.parametrize(
    ("patterns", "path", "said"),
    [
        ("a", "a", True),
        ("a", "x/a", True),
        ("a", "b", None),
        ("/a", "x/a", None),
        ("x/a", "y/x/a", None),
        ("a/", "a", None),
        ("*\n!a", "a", False),
        ("!a\n*", "a", True),
        ("*.log", "x/y.log", True),
        ("*.log", ".log", True),
        ("a*b*c", "axxbyyc", True),
        ("a*b*c", "axxbyy", None),
        ("a*b", "a/b", None),
        ("?", "/", None),
        ("[!a]", "b", True),
        ("[^a]", "a", None),
        ("[]a]", "]", True),
        ("[a-c]x", "bx", True),
        ("[z-a]", "z", None),
        ("[[:digit:]]x", "7x", True),
        ("[\\]]", "]", True),
        ("a[", "a[", None),
        ("a\\", "a\\", None),
        ("\\*", "*", True),
        ("\\*", "x", None),
        ("\\!a", "!a", True),
        ("\\#a", "#a", True),
        ("#a", "#a", None),
        ("a ", "a", True),
        ("a\\ ", "a ", True),
        ("a\r", "a", True),
        ("**/a", "a", True),
        ("**/a", "x/y/a", True),
        ("a/**", "a", None),
        ("a/**", "a/b/c", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b/**/c", "a/b/x/b/c", True),
        ("**/x*y/**/z", "xy/x1y/q/z", True),
        ("a**b", "axxb", True),
        ("a**b", "a/b", None),
        ("日*", "日本", True),
        (".", "a", None),
        ("a.b", "axb", None),
        ("(a|b)+", "(a|b)+", True),
    ],
)
def test_the_last_pattern_that_matches_decides(patterns: str, path: str, said: bool | None) -> None:
    assert Ignore(patterns).says(path, folder=False) is said


def test_a_pattern_with_a_slash_at_its_end_is_about_folders() -> None:
    assert Ignore("a/").says("a", folder=True)
    assert Ignore("a/\n!a").says("a", folder=True) is False
    assert Ignore("!a/\na").says("a", folder=False)


def test_a_file_without_patterns_is_empty() -> None:
    assert not Ignore("# x\n\n  \n/\n!\n")
    assert Ignore("a")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "b", "a" * 255),
        ("**/a/" * 20 + "b", "a/" * 1000 + "c"),
        ("**/*a*a/" * 10 + "b", "aaaa/" * 400 + "c"),
        ("[a-z]*" * 30 + "0", "a" * 255),
    ],
)
def test_a_pattern_made_to_take_for_ever_does_not(pattern: str, path: str) -> None:
    assert Ignore(pattern).says(path, folder=False) is None
    assert re.fullmatch(glob_regex(pattern), path) is None
