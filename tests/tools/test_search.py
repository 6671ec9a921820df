"""glob and grep, with ripgrep and without it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import hostile
from tests.tools.test_files import text_of, use
from tui_agent.tools import search
from tui_agent.tools.grepping import GlobFilter, braces
from tui_agent.tools.search import Glob, Grep
from tui_agent.tools.tool import Tool, ToolError
from tui_agent.workspace import walk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


def plant(root: Path, contents: dict[str, str | bytes]) -> None:
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture(params=["ripgrep", "python"])
def grep(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> Grep:
    if request.param == "python":
        monkeypatch.setattr(shutil, "which", lambda program: None)
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return Grep(root)


@pytest.fixture
def glob(root: Path) -> Glob:
    return Glob(root)


def test_they_are_tools(root: Path) -> None:
    assert isinstance(Glob(root), Tool) and Glob(root).read_only
    assert isinstance(Grep(root), Tool) and Grep(root).read_only


# --- grep --------------------------------------------------------------------------------------------------------


async def test_matches_come_with_path_and_line(root: Path, grep: Grep) -> None:
    plant(root, {"b.py": "x = 1\ny = 2\n", "a/c.py": "\n\nx = 3", "a.txt": "nothing"})
    output = await use(grep, pattern=r"^x = \d")
    assert output.content == "a/c.py:3:x = 3\nb.py:1:x = 1"
    assert output.summary == "2 in 2 files"
    assert output.meta == {"tool": "grep", "read": [], "changed": []}
    assert not output.error


async def test_no_match_is_said(root: Path, grep: Grep) -> None:
    plant(root, {"a": "x"})
    output = await use(grep, pattern="zzz")
    assert (output.content, output.summary, output.error) == ("no line matches 'zzz'", "no match", False)


async def test_lines_around_a_match_are_shown(root: Path, grep: Grep) -> None:
    plant(root, {"a": "".join(f"{n}\n" for n in range(1, 31)), "b": "x\n10\n"})
    assert await text_of(grep, pattern="^(10|13|20)$", context=1) == "\n".join(
        [
            "a-9-9",
            "a:10:10",
            "a-11-11",
            "a-12-12",
            "a:13:13",
            "a-14-14",
            "--",
            "a-19-19",
            "a:20:20",
            "a-21-21",
            "--",
            "b-1-x",
            "b:2:10",
        ]
    )


async def test_a_folder_or_a_file_can_be_searched(root: Path, grep: Grep) -> None:
    plant(root, {"a/x": "hit", "a/b/y": "hit", "c": "hit"})
    assert await text_of(grep, pattern="hit", path="a") == "a/b/y:1:hit\na/x:1:hit"
    assert await text_of(grep, pattern="hit", path="a/x") == "a/x:1:hit"
    assert await text_of(grep, pattern="hit", path="a/../c") == "c:1:hit"


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", "a.py src/b.py src/deep/c.py"),
        ("src/*.py", "src/b.py"),
        ("src/**", "src/b.py src/deep/c.py src/deep/d.md"),
        ("**/deep/*", "src/deep/c.py src/deep/d.md"),
        ("*.{py,md}", "a.py e.md src/b.py src/deep/c.py src/deep/d.md"),
        ("!*.py", "e.md src/deep/d.md"),
        ("/a.py", "a.py"),
        ("[ab].py", "a.py src/b.py"),
        ("nothing", ""),
    ],
)
async def test_files_can_be_chosen_by_name(root: Path, grep: Grep, glob: str, files: str) -> None:
    plant(root, dict.fromkeys(("a.py", "src/b.py", "src/deep/c.py", "src/deep/d.md", "e.md"), "hit"))
    text = await text_of(grep, pattern="hit", glob=glob)
    assert [row.partition(":")[0] for row in text.split("\n") if row.endswith(":hit")] == files.split()


async def test_case_can_be_ignored(root: Path, grep: Grep) -> None:
    plant(root, {"a": "Hit\nhIT\nmiss"})
    assert await text_of(grep, pattern="hit", ignore_case=True) == "a:1:Hit\na:2:hIT"
    assert (await use(grep, pattern="hit")).summary == "no match"


async def test_what_is_ignored_is_not_searched(root: Path, grep: Grep) -> None:
    plant(
        root,
        {
            ".gitignore": "*.log\nbuild/\n",
            "a.log": "hit",
            "build/b": "hit",
            ".git/config": "hit",
            ".github/ci.yml": "hit",
            "web/.gitignore": "!a.log\n",
            "web/a.log": "hit",
        },
    )
    assert await text_of(grep, pattern="hit") == ".github/ci.yml:1:hit\nweb/a.log:1:hit"
    assert await text_of(grep, pattern="hit", path="web") == "web/a.log:1:hit"


async def test_an_ignored_folder_or_file_named_as_the_path_is_searched(root: Path, grep: Grep) -> None:
    plant(
        root,
        {
            ".gitignore": "build/\n*.log\n",
            "build/b/c": "hit",
            "a.log": "hit",
            ".git/HEAD": "ref: refs/heads/x",
        },
    )
    assert await text_of(grep, pattern="hit", path="build") == "build/b/c:1:hit"
    assert await text_of(grep, pattern="hit", path="a.log") == "a.log:1:hit"


async def test_links_are_not_followed(root: Path, grep: Grep) -> None:
    plant(root.parent, {"beyond/key": "hit"})
    plant(root, {"a": "hit"})
    (root / "out").symlink_to(root.parent / "beyond")
    (root / "key").symlink_to(root.parent / "beyond" / "key")
    os.mkfifo(root / "pipe")
    assert await text_of(grep, pattern="hit") == "a:1:hit"


async def test_binary_files_are_passed_over(root: Path, grep: Grep) -> None:
    plant(root, {"a": b"\0\x01hit\n", "b": b"hit\n" + b"x" * 10 + b"\0", "c": "hit"})
    assert await text_of(grep, pattern="hit") == "c:1:hit"


async def test_text_of_other_kinds_is_searched(root: Path, grep: Grep) -> None:
    plant(
        root,
        {
            "crlf": b"a\r\nhit\r\n",
            "latin": b"caf\xe9 hit\n",
            "mark": b"\xef\xbb\xbfhit\n",
            "wide": "a\nhit 日\n".encode("utf-16"),
            "uni": "日本 hit\n",
        },
    )
    assert await text_of(grep, pattern="hit") == "\n".join(
        ["crlf:2:hit", "latin:1:caf\ufffd hit", "mark:1:hit", "uni:1:日本 hit", "wide:2:hit 日"]
    )
    assert await text_of(grep, pattern="日.*hit") == "uni:1:日本 hit"


async def test_a_long_line_is_cut(root: Path, grep: Grep) -> None:
    plant(root, {"a": "hit" + "x" * 10_000})
    assert await text_of(grep, pattern="hit") == f"a:1:hit{'x' * 497} [... 9503 more characters]"


async def test_many_matches_are_capped_and_counted(root: Path, grep: Grep) -> None:
    plant(root, {"a": "hit\n" * 500, "b": "hit\n" * 500})
    output = await use(grep, pattern="hit")
    assert isinstance(output.content, str)
    *rows, note = output.content.split("\n")
    assert rows == [f"a:{n}:hit" for n in range(1, 201)]
    assert (
        note == "[the first 200 of 1000 matches in 2 files; narrow the pattern, path or glob to see others]"
    )


async def test_a_result_fits_into_what_is_stored(root: Path, grep: Grep) -> None:
    plant(root, {"a": ("hit" + "x" * 400 + "\n") * 190})
    text = await text_of(grep, pattern="hit", context=5)
    assert len(text) <= 30_000
    assert "of 190 matches in 1 file; narrow" in text


async def test_a_line_of_megabytes_ends_the_search_and_stops_nothing_else(grep: Grep, root: Path) -> None:
    plant(root, {"one.json": "[1]," * 750_000})
    output = await use(grep, pattern="1")
    assert output.summary == "ended early"
    assert "[the search was ended early: it found too much" in output.content


async def test_a_flood_is_ended(root: Path, grep: Grep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_READ_CHARACTERS", 100_000)
    plant(root, {f"f{n}": "hit and some more text on the line\n" * 20_000 for n in range(3)})
    output = await use(grep, pattern="hit")
    assert isinstance(output.content, str)
    assert "[the search was ended early: it found too much" in output.content
    assert re.fullmatch(r"\d+\+ in 1 file", output.summary)


async def test_a_pattern_that_is_none_is_explained(root: Path, grep: Grep) -> None:
    plant(root, {"a": "x"})
    with pytest.raises(ToolError, match=r"(?s)the search failed: .*(unclosed|unterminated)"):
        await use(grep, pattern="(a")
    for pattern, words in (("", "'pattern' is empty"), ("a\nb", "line break"), ("a\0b", "NUL")):
        with pytest.raises(ToolError, match=words):
            await use(grep, pattern=pattern)
    with pytest.raises(ToolError, match=r"is no glob: a \{ is not closed"):
        await use(grep, pattern="x", glob="*.{py")


async def test_what_ripgrep_cannot_express_is_searched_all_the_same(root: Path, grep: Grep) -> None:
    plant(root, {"a": "foobar\nfoobaz\nxx\n"})
    assert await text_of(grep, pattern="foo(?!bar)") == "a:2:foobaz"
    assert await text_of(grep, pattern=r"(x)\1") == "a:3:xx"


async def test_an_odd_pattern_does_not_spoil_the_output(root: Path, grep: Grep) -> None:
    plant(root, {"a": "hit [[a] || b\n"})
    assert await text_of(grep, pattern=r"[\[x]\[a\] \|\|") == "a:1:hit [[a] || b"
    assert await text_of(grep, pattern="[[x]") == "a:1:hit [[a] || b"


async def test_a_ripgrep_that_does_not_work_is_done_without(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\necho \"error: Found argument '--no-require-git' which wasn't expected\" >&2; exit 2\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    plant(root, {"a": "hit"})
    assert await text_of(Grep(root), pattern="hit") == "a:1:hit"
    with pytest.raises(ToolError, match="Found argument"):
        await use(Grep(root), pattern="(a")


async def test_a_search_that_crashes_is_no_search_without_a_match(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setattr(
        search, "command", lambda asked: [sys.executable, "-c", "raise SystemError('gone wrong')"]
    )
    plant(root, {"a": "hit"})
    with pytest.raises(ToolError, match=r"(?s)the search failed: .*gone wrong"):
        await use(Grep(root), pattern="hit")


@pytest.mark.parametrize("pattern", ["-x", "--files", "-e", "'; id; '", "$(id)", "a b"])
async def test_a_pattern_is_never_an_option_or_a_command(root: Path, grep: Grep, pattern: str) -> None:
    plant(root, {"a": "-x --files -e '; id; ' a b\n"})
    text = await text_of(grep, pattern=pattern.replace("$(", r"\$\(").replace(")", r"\)"))
    assert text.startswith("a:1:") == (pattern != "$(id)")


async def test_hostile_names_are_searched(root: Path, grep: Grep) -> None:
    plant(root, {f"./{name}": f"x\nhit {number}\n" for number, name in enumerate(hostile.NAMES)})
    expected = [f"{name}:2:hit {number}" for number, name in enumerate(hostile.NAMES)]
    text = await text_of(grep, pattern="hit")
    assert sorted(re.split(r"(?<=:2:hit \d)\n|(?<=:2:hit \d\d)\n", text)) == sorted(expected)
    for name in ("new\nline", "--help", "~", "[bold]x[/].txt", "c1\x9b31m", "e\u0301.txt"):
        assert (await text_of(grep, pattern="hit", path=f"./{name}")).startswith(f"{name}:2:hit")


@pytest.mark.parametrize("name", hostile.SMALL)
async def test_hostile_patterns_are_searched(root: Path, name: str) -> None:
    plant(root, {"a": hostile.SMALL[name].encode("utf-8", "replace")})
    try:
        await use(Grep(root), pattern=hostile.SMALL[name])
    except ToolError as error:
        str(error).encode()


async def test_a_place_that_cannot_be_searched_is_said(root: Path, grep: Grep) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="there is no gone"):
        await use(grep, pattern="x", path="gone")
    with pytest.raises(ToolError, match="pipe is a named pipe"):
        await use(grep, pattern="x", path="pipe")


async def test_leaving_the_workspace_is_said(root: Path, grep: Grep, glob: Glob) -> None:
    plant(root.parent, {"beyond/a": "hit"})
    need = grep.needs({"pattern": "hit", "path": "../beyond"})
    assert (need.kind, need.outside) == ("read", True)
    assert need.warning == f"outside the workspace: {root.parent / 'beyond'}"
    assert await text_of(grep, pattern="hit", path="../beyond") == f"{root.parent}/beyond/a:1:hit"
    assert glob.needs({"pattern": "*", "path": ".."}).outside
    assert not grep.needs({"pattern": "x"}).outside
    assert grep.needs({"pattern": "x"}).title == "x"
    assert grep.needs({"pattern": "x", "path": "sub"}).title == "x in sub"


async def test_the_workspace_cannot_slip_code_into_the_search(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    mark = root.parent / "was-run"
    bad = f"open({str(mark)!r}, 'w')\n"
    plant(
        root,
        dict.fromkeys(("re.py", "json.py", "tui_agent/__init__.py", "sitecustomize.py", "os.py"), bad),
    )
    plant(root, {"a": "hit"})
    monkeypatch.chdir(root)
    assert await text_of(Grep(root), pattern="hit") == "a:1:hit"
    assert not mark.exists()


async def test_a_pattern_that_takes_for_ever_can_be_cancelled(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    plant(root, {"a": "a" * 5000 + "b"})
    task = asyncio.create_task(use(Grep(root), pattern="(a+)+$"))
    me = psutil.Process()
    while not (children := me.children()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


async def test_searches_side_by_side_do_not_mix(root: Path, grep: Grep) -> None:
    plant(root, {f"f{n}": f"word{n}\n" for n in range(8)})
    texts = await asyncio.gather(*(text_of(grep, pattern=f"word{n}") for n in range(8)))
    assert texts == [f"f{n}:1:word{n}" for n in range(8)]


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
async def test_settings_of_ripgrep_do_not_change_the_output(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text("--json\n--follow\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    plant(root, {"a": "hit"})
    assert await text_of(Grep(root), pattern="hit") == "a:1:hit"


def test_searching_loads_nothing_heavy() -> None:
    heavy = ("anthropic", "textual", "rich", "PIL")
    code = f"import sys, tui_agent.tools.grepping; sys.exit(any(m in sys.modules for m in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- glob --------------------------------------------------------------------------------------------------------


def age(root: Path, *names: str) -> None:
    """Make the files older, the first the newest."""
    for number, name in enumerate(names):
        os.utime(root / name, (1_700_000_000 - number, 1_700_000_000 - number))


async def test_files_come_newest_first(root: Path, glob: Glob) -> None:
    plant(root, dict.fromkeys(("a.py", "src/b.py", "src/deep/c.py", "d.md"), ""))
    age(root, "src/b.py", "d.md", "src/deep/c.py", "a.py")
    output = await use(glob, pattern="**/*.py")
    assert output.content == "src/b.py\nsrc/deep/c.py\na.py"
    assert output.summary == "3 files"
    assert output.meta == {"tool": "glob", "read": [], "changed": []}


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.py", "a.py src/b.py src/deep/c.py"),
        ("src/*.py", "src/b.py"),
        ("./src/*.py", "src/b.py"),
        ("src/**/*.py", "src/b.py src/deep/c.py"),
        ("**/*.{py,md}", "a.py d.md src/b.py src/deep/c.py"),
        ("**/*", "a.py d.md src/b.py src/deep/c.py"),
        ("src", "src/b.py src/deep/c.py"),
        ("?.md", "d.md"),
        ("[ad].*", "a.py d.md"),
        ("nothing*", ""),
    ],
)
async def test_patterns_name_files(root: Path, glob: Glob, pattern: str, files: str) -> None:
    plant(root, dict.fromkeys(("a.py", "src/b.py", "src/deep/c.py", "d.md"), ""))
    text = await text_of(glob, pattern=pattern)
    if files:
        assert sorted(text.split("\n")) == files.split()
    else:
        assert text == f"no file matches {pattern} (what git ignores is not looked at)"


async def test_a_whole_path_is_a_pattern_too(root: Path, glob: Glob) -> None:
    plant(root, {"src/a.py": ""})
    assert await text_of(glob, pattern=f"{root}/**/*.py") == "src/a.py"
    assert await text_of(glob, pattern="*.py", path=str(root / "src")) == "src/a.py"


async def test_many_files_are_capped_and_counted(root: Path, glob: Glob) -> None:
    plant(root, {f"{n}.txt": "" for n in range(250)})
    age(root, *(f"{n}.txt" for n in range(250)))
    output = await use(glob, pattern="*.txt")
    assert isinstance(output.content, str)
    *rows, note = output.content.split("\n")
    assert rows == [f"{n}.txt" for n in range(200)]
    assert note == "[the newest 200 of 250 files; narrow the pattern to see others]"


async def test_long_names_fit_into_what_is_stored(root: Path, glob: Glob) -> None:
    plant(root, {f"{'x' * 240}/{n:03}": "" for n in range(200)})
    text = await text_of(glob, pattern="**/*")
    assert len(text) <= 30_000
    assert "of 200 files" in text


async def test_what_is_ignored_is_left_out(root: Path, glob: Glob) -> None:
    plant(root, {".gitignore": "*.log\n", "a.log": "", "b": ""})
    assert sorted((await text_of(glob, pattern="*")).split("\n")) == [".gitignore", "b"]


async def test_a_file_removed_while_it_is_looked_for_is_left_out(
    root: Path, glob: Glob, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(root, {"a": ""})
    monkeypatch.setattr(walk, "names", lambda folder: iter(["a", "gone"]))
    assert await text_of(glob, pattern="*") == "a"


async def test_a_walk_that_takes_too_long_is_ended(
    root: Path, glob: Glob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_WALK_SECONDS", -1.0)
    plant(root, {"a": ""})
    assert "[stopped after half a minute" in await text_of(glob, pattern="*")


async def test_what_cannot_be_looked_in_is_said(root: Path, glob: Glob) -> None:
    plant(root, {"a": ""})
    for arguments, words in (
        ({"pattern": "*", "path": "gone"}, "there is no folder gone"),
        ({"pattern": "*", "path": "a"}, "a is no folder"),
        ({"pattern": ""}, "'pattern' is empty"),
        ({"pattern": "{a"}, "is no glob"),
        ({"pattern": "[a"}, "is no glob"),
        ({"pattern": "{a,b}" * 20}, "more than 200"),
        ({"pattern": "*", "path": 3}, "must be a text"),
    ):
        with pytest.raises(ToolError, match=words):
            await use(glob, **arguments)


@pytest.mark.parametrize("name", hostile.NAMES)
async def test_hostile_names_are_found(root: Path, glob: Glob, name: str) -> None:
    plant(root, {f"./{name}": ""})
    assert await text_of(glob, pattern="*") == name


@pytest.mark.parametrize(
    ("pattern", "expanded"),
    [
        ("a", ["a"]),
        ("{a,b}", ["a", "b"]),
        ("x{a,b{c,d}}y", ["xay", "xbcy", "xbdy"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a}", ["a"]),
        ("{}", [""]),
        ("a,b", ["a,b"]),
        ("\\{a,b\\}", ["\\{a,b\\}"]),
        ("a}", ["a}"]),
    ],
)
def test_braces_stand_for_several(pattern: str, expanded: list[str]) -> None:
    assert sorted(braces(pattern)) == expanded


def test_a_folder_in_a_glob_takes_what_is_in_it() -> None:
    assert GlobFilter("src/").takes("src/a/b")
    assert not GlobFilter("src").takes("lib/a")
    assert not GlobFilter("!src").takes("src/a")
