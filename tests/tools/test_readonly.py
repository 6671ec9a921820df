"""What plan mode lets run: commands that only look, and nothing that hides in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tools import readonly

LOOKS = """
ls
ls -la src
cat README.md
cat *.py
head -n 20 a.txt
tail -5 a.txt
wc -l src/*.py
grep -rn "TODO" src
grep -E 'a|b' a.txt | sort | uniq -c
rg -n --glob '*.py' 'def main'
rg -tpy -A3 needle src
rg -g'!*.zip' -l needle
find . -name '*.py' -not -path './.git/*'
find src -type f -mtime -7 -size +10k
find . -maxdepth 2 \\( -name a -o -name b \\) -print
sed -n '1,80p' src/main.py
sed -n 10,20p a.txt
sed -n '$p;1p' a.txt
sed -E 's/a+/b/g' a.txt
awk '{print $1, $NF}' a.txt
awk -F: 'NR>=2 && NR<=5 {print $2}' a.txt
awk -F , '/needle/' a.txt
grep -rn needle . 2>/dev/null | head -5
find . -name a 2> /dev/null
ls src 2>&1 | tail -3; cat a.txt 2>&1
sort -t, -k2,2n a.txt
sort -rn a.txt | head
uniq -c
tree -L 2
file a.bin
stat a.txt
du -sh .
diff a.txt b.txt
echo 'costs $5'
cd src && ls
test -f a.txt && echo yes
[ -d src ] && ls src
jq '.scripts' package.json
command -v python3
python3 --version
git status
git status --short -uno
git --no-pager log --oneline -20
git log -p -S needle -- src/a.py
git log --since=2.weeks --author=someone --stat
git diff
git diff HEAD~1 --stat
git diff --cached -- src
git show HEAD:src/a.py
git blame -L 1,20 a.py
git branch
git branch -a -vv
git branch --contains HEAD
git tag -l 'v*'
git remote -v
git remote get-url origin
git stash list
git stash show -p
git worktree list
git config --get user.name
git config --list
git reflog -5
git rev-parse --abbrev-ref HEAD
git ls-files '*.py'
git grep -n needle
git submodule status
git cat-file -p HEAD
date +%F
""".strip().splitlines()

WRITES = r"""
rm a.txt
touch a.txt
mkdir x
mv a b
cp a b
ln -s a b
tee a.txt
dd if=/dev/zero of=a.txt
truncate -s0 a.txt
chmod +x a.sh
kill 1
xargs rm
bash a.sh
sh -c 'rm a'
./ls
/bin/ls
bin/cat a
python3 a.py
python3 -c 'open("a","w")'
node -e 1
make
npm test
awk '{print > "a"}' b
awk 'BEGIN{system("rm a")}'
awk '{print > $1}' a
awk '{print $1 > "a"}' b
awk '{print | "sh"}' b
awk '{print "rm a" | "sh"}' b
awk 'NR>1{system("rm a")}' b
awk -f prog a
awk -i inplace '{print}' a
awk -F , -f prog a
awk -v a=b '{print}' a
awk '{print $1; system("rm a")}' b
awk "{print $1}" a
awk '' a
awk
env rm a
env
nohup ls
time ls
sudo ls
exec ls
eval ls
source a.sh
. a.sh
command rm a
command -p rm a
builtin ls
vim a
less a
man ls
crontab -r
wget example.invalid
curl -o a example.invalid
ls > a.txt
ls >> a.txt
ls 2> a.txt
ls 2>/dev/null/a.txt
ls 2>/dev/nullx
ls 2>&1>a.txt
ls 2>&1 >a.txt
ls 2>/dev/null >a.txt
ls 2>/dev/null; rm a
ls 2>/dev/null && tee a
2>/dev/null rm a
ls a2>/dev/null
ls 12>/dev/null
ls \ 2>/dev/null
ls 2>/dev/null2>a
ls 2>&1a
ls >/dev/null
ls 2>&2
ls 2>>a
awk '{print 2>/dev/null}' a
awk '{print 2>&1}' a
awk "{print 2>/dev/null}" a
sed -n '1p 2>/dev/null;w out' a
sed 's/a/b/w 2>/dev/null' a
ls &> a.txt
cat < a.txt
cat <<EOF
ls >| a.txt
ls `rm a`
ls $(rm a)
ls "$(rm a)"
ls <(rm a)
(rm a)
{ rm a; }
ls; rm a
ls && rm a
ls || rm a
ls | rm a
ls | tee a
ls & rm a
ls |& tee a
! rm a
if true; then rm a; fi
for f in a; do rm a; done
while true; do rm a; done
f() { rm a; }
A=b ls
GIT_PAGER='rm a' git log
PATH=. ls
LD_PRELOAD=./a.so ls
ls $HOME
ls "$HOME"
sort ${X}
$X
ls $'\x2d'
ls # comment
sort -o a.txt b.txt
sort -oa.txt b.txt
sort -ro a.txt b.txt
sort --output=a.txt b.txt
sort --outp a.txt b.txt
sort --compress-program=./evil b.txt
sort -T /tmp b.txt
sort -S1 b.txt
sort *
sort -- *
sort -k1 *.txt
sort "-"*
uniq a.txt b.txt
uniq a.txt
uniq -- -c -d
uniq - b.txt
find . -delete
find . -exec rm {} +
find . -execdir rm {} \;
find . -ok rm {} \;
find . -okdir rm {} \;
find . -fprint a.txt
find . -fprintf a.txt %p
find . -fprint0 a.txt
find . -fls a.txt
find . "-delete"
find . -del\ete
find . '-exec' rm
find * -name a
find [a-]*
sed -i s/a/b/ a.txt
sed -i.bak s/a/b/ a.txt
sed -ni p a.txt
sed --in-place s/a/b/ a.txt
sed --in-pl s/a/b/ a.txt
sed 's/a/b/w out' a.txt
sed 's/a/b/e' a.txt
sed 's/a/rm b/e' a.txt
sed -n 'w out' a.txt
sed '1e rm a' a.txt
sed -n '1p;w out' a.txt
sed -n '/[/]w out/p' a.txt
sed 's/[/]/w out/' a.txt
sed -n '/a/w out' a.txt
sed -f script a.txt
sed -e p -e 'w out' a.txt
sed 'r /etc/passwd' a.txt
sed
tree -o a.txt
tree -R -H . -L 2
tree -Lo 2 a.txt
file -C -m magic
file -z a
rg --pre ./evil x
rg --pre=./evil x
rg --hostname-bin ./evil x
rg -z x
rg --search-zip x
rg -nz x
rg x *
jq -f prog a.json
jq --from-file prog a.json
date -s tomorrow
date 01010000
hostname evil
arch -x86_64 rm a
printf -v 'a[$(rm b)]' x
test -v 'a[$(rm b)]'
[ -v 'a[$(rm b)]' ]
[ -R a ]
git
git commit -m x
git add .
git checkout .
git restore a
git reset --hard
git stash
git stash pop
git stash -p
git stash -p list
git stash drop
git clean -fd
git push
git pull
git fetch
git merge x
git rebase x
git init
git gc
git apply a.patch
git am a
git mv a b
git rm a
git bisect start
git archive -o a HEAD
git bundle create a HEAD
git format-patch HEAD~1
git -c core.pager=./evil log
git -c alias.log='!rm a' log
git -C /tmp log
git --git-dir=evil log
git --work-tree=x status
git --exec-path=. log
git --config-env=a=b log
git -p log
git --paginate log
git diff --output=a.txt
git diff --outp=a.txt
git log --output a.txt
git show --output=a.txt
git diff --ext-diff
git log --ext-d
git show --textconv
git log --show-signature
git grep -O./evil x
git grep -nO x
git grep --open-files-in-pager=./evil x
git grep --ope=./evil x
git cat-file --filters HEAD:a
git cat-file --textconv HEAD:a
git branch x
git branch --format --list x
git branch --sort --list x
git tag --format --list x
git branch -d x
git branch -D x
git branch -m x
git branch --list -D x
git branch -u origin/x
git branch --edit-description
git tag v1
git tag -d v1
git tag -l -d v1
git tag -n v1
git remote add x y
git remote -v update
git remote show origin
git remote prune origin
git config user.name x
git config --unset user.name
git config --edit
git config set user.name x
git config --global --add x.y z
git reflog expire --all
git reflog delete x
git worktree add x
git worktree -v add x
git submodule update
git submodule foreach ls
git submodule --cached foreach ls
git notes add
git symbolic-ref HEAD refs/heads/x
git update-ref -d HEAD
git update-index --refresh
git hash-object -w a
git log *
git diff -*
git log $X
git log "--output=a.txt"
git log --out\put=a.txt
cargo --version
yarn --version
python3 --version x.py
node version
cd a b
cd -
""".strip().splitlines()


@pytest.mark.parametrize("command", LOOKS)
def test_a_command_that_looks_may_run(command: str) -> None:
    assert readonly.refusal(command) == ""


@pytest.mark.parametrize("command", WRITES)
def test_a_command_that_may_do_more_is_refused_with_a_reason(command: str) -> None:
    assert readonly.refusal(command)


@pytest.mark.parametrize(
    "command", ["", "   ", "\n", ";", "ls\nrm a", "ls\r rm", "'", '"', "\\", "ls " + "a" * 20_000]
)
def test_what_is_no_simple_command_is_refused(command: str) -> None:
    assert readonly.refusal(command)


@pytest.mark.parametrize("entry", ["", ".", "bin", "{}/bin", "sub/../bin"])
def test_a_program_that_the_workspace_brings_along_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "sub").mkdir()
    for place in (tmp_path, tmp_path / "bin"):
        (place / "cat").write_text("#!/bin/sh\n")
    usual = os.environ["PATH"]
    assert readonly.refusal("cat a; ls", str(tmp_path)) == ""
    monkeypatch.setenv("PATH", f"{entry.format(tmp_path)}{os.pathsep}{usual}")
    assert "cat would be that of the workspace" in readonly.refusal("ls; cat a", str(tmp_path))
    assert readonly.refusal("ls", str(tmp_path)) == ""
    (tmp_path / "sub" / "out").symlink_to("/usr/bin")
    monkeypatch.setenv("PATH", f"{tmp_path}/sub/out{os.pathsep}{usual}")
    assert readonly.refusal("cat a", str(tmp_path)) == ""


_HARMFUL = st.sampled_from(
    ["rm a", "tee a", "touch a", "git commit -m x", "sort -o a b", "find . -delete", "bash a"]
)
_FINE = st.sampled_from(LOOKS)


@given(
    st.lists(_FINE, max_size=3),
    _HARMFUL,
    st.lists(_FINE, max_size=3),
    st.sampled_from([";", "&&", "||", "|", "&", "\n"]),
)
def test_one_part_that_writes_refuses_the_whole(
    before: list[str], harm: str, after: list[str], joint: str
) -> None:
    assert readonly.refusal(joint.join([*before, harm, *after]))


@given(
    _FINE,
    st.sampled_from(
        ["$(rm a)", "`rm a`", "> a", ">> a", "< a", "<(rm a)", "$HOME", '"$(rm a)"', "; rm a", "&& rm a"]
    ),
)
def test_nothing_hides_behind_a_command_that_looks(command: str, more: str) -> None:
    assert readonly.refusal(f"{command} {more}")


@given(
    _FINE,
    st.sampled_from(
        ["A=b ", "PATH=. ", "env ", "sudo ", "./", "/bin/", "exec ", "command ", "eval ", "X=1 Y=2 "]
    ),
)
def test_nothing_hides_before_it(command: str, before: str) -> None:
    assert readonly.refusal(before + command)


_PROGRAMS = (
    "sort",
    "tree",
    "file",
    "rg",
    "jq",
    "uniq",
    "find",
    "sed",
    "date",
    "cut",
    "diff",
    "column",
    "stat",
    "grep",
)
_WORDS = st.one_of(
    st.sampled_from(["a", "b", "-", "--", "1", "p", "out", ".", "x", "s/a/b/w out", "w out", "-delete"]),
    st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=1, max_size=3).map(
        lambda x: f"-{x}"
    ),
    st.sampled_from(
        [
            "--output=out",
            "--outp=out",
            "--in-place",
            "--pre=touch",
            "--files0-from=a",
            "--compress-program=sh",
        ]
    ),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("looked-at")
    for name in ("a", "b"):
        (made / name).write_text("one\ntwo\n")
    return made


def _tree(place: Path) -> list[tuple[str, str]]:
    return sorted((path.name, path.read_text()) for path in place.iterdir())


def _runs(place: Path, command: str) -> None:
    """Run it where it may only look, and see that it did."""
    before = _tree(place)
    program = command.split()[0]
    if shutil.which(program) is None:
        return
    home = {**os.environ, "HOME": str(place), "TMPDIR": str(place)}
    subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
    )
    assert _tree(place) == before, f"{command} wrote"


def test_every_letter_that_is_let_through_writes_nothing(place: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    commands = [
        f"{program} -{letter} a out" for program in ("sort", "tree", "uniq", "file") for letter in letters
    ]
    let = [command for command in commands if not readonly.refusal(command)]
    assert len(let) > 40
    _runs(place, "\n".join(let))
    for command in let:
        assert readonly.refusal(command.replace(" a out", " a > out"))


@given(
    st.lists(st.tuples(st.sampled_from(_PROGRAMS), st.lists(_WORDS, max_size=4)), min_size=30, max_size=30)
)
@pytest.mark.slow
def test_whatever_is_let_through_writes_nothing(place: Path, drawn: list[tuple[str, list[str]]]) -> None:
    commands = [" ".join([program, *(f"'{word}'" for word in words)]) for program, words in drawn]
    for command in commands:
        if not readonly.refusal(command):
            _runs(place, command)
