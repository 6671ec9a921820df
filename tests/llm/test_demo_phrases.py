"""Which words become which work."""

from __future__ import annotations

import pytest

from tui_agent.llm.demo.phrases import tasks
from tui_agent.llm.demo.tasks import AddLine, List, Parallel, Read, Replace, Run, Search, Task, Write


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Read greeting.txt.", Read("greeting.txt")),
        ("please read `my file.txt`", Read("my file.txt")),
        ("show me README.md please", Read("README.md")),
        ("what does notes.md say?", Read("notes.md")),
        ("Read src/app.py lines 3 to 9", Read("src/app.py", 3, 9)),
        ("read a.txt, b.txt and c/d.txt", Parallel((Read("a.txt"), Read("b.txt"), Read("c/d.txt")))),
        ("list files", List("*")),
        ("What files are there?", List("*")),
        ("list the files in src", List("*", "src")),
        ("find files matching **/*.md", List("**/*.md")),
        ("search for foo.bar() in src", Search(r"foo\.bar\(\)", "src")),
        ('grep "def main" in *.py', Search("def main", glob="*.py")),
        ("where is Estimator defined?", Search("Estimator")),
        ("search for todo ignoring case", Search("todo", ignore_case=True)),
        ("edit greeting.txt: replace hello with hi", Replace("greeting.txt", "hello", "hi")),
        ("in X.txt change A to B", Replace("X.txt", "A", "B")),
        ("replace the word `a b` by 'c d' in n.md", Replace("n.md", "a b", "c d")),
        ("add a line saying good night to a.txt", AddLine("a.txt", "good night")),
        ("edit a.txt: add a line bye", AddLine("a.txt", "bye")),
        ("append foo to notes.md", AddLine("notes.md", "foo")),
        ("create notes.md with hello world", Write("notes.md", "hello world\n")),
        ("write hello to out.txt", Write("out.txt", "hello\n")),
        ("create f.py:\n```python\nprint(1)\n```", Write("f.py", "print(1)\n")),
        ("create an empty file x.txt", Write("x.txt", "")),
        ("run ls -la", Run("ls -la")),
        ("run `read a.txt, then b`", Run("read a.txt, then b")),
        ("`pwd`", Run("pwd")),
        ("$ git status", Run("git status")),
    ],
)
def test_one_thing(words: str, expected: Task) -> None:
    assert tasks(words, []) == [expected]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Read a.txt. Run ls.", [Read("a.txt"), Run("ls")]),
        ("read a.txt, then run `ls -l; pwd`", [Read("a.txt"), Run("ls -l; pwd")]),
        ("1. read a.txt\n2. run ls", None),
        ("- read a.txt\n- run ls", None),
        ("replace a with b in c.txt and run `cat c.txt`", [Replace("c.txt", "a", "b"), Run("cat c.txt")]),
        ("read a.txt and run ls at once", [Parallel((Read("a.txt"), Run("ls")))]),
    ],
)
def test_several_things(words: str, expected: list[Task] | None) -> None:
    assert tasks(words, []) == (expected or [Read("a.txt"), Run("ls")])


@pytest.mark.parametrize("words", ["", "read", "run", "run the tests", "read a.txt and then fly to the moon"])
def test_what_is_not_understood_as_a_whole_is_not_done_in_part(words: str) -> None:
    assert tasks(words, []) == []


@pytest.mark.parametrize(
    "words",
    [
        "x" + "\n" * 9_000 + "y",
        "in " * 6_000,
        "replace " + "with in " * 70,
        "``" * 9_000,
        "'a " * 6_000,
        "search for " + "in " * 180,
        "read a.txt, " * 1_600,
    ],
)
def test_pasted_nonsense_is_answered_soon(words: str) -> None:
    # A backtracking pattern would run into the suite's time limit here.
    tasks(words, [])
