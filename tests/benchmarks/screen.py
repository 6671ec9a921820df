"""How fast the screen is, against the least app that Textual can be (`tests.benchmarks.empty`), in the same run.

`python -m tests.benchmarks.screen [NAME ...]` runs the real program on a pseudo-terminal and prints a table: value,
bound, and whether it is met. Times against the empty app are medians of the ratios of interleaved pairs. `--fast` looks
for a shorter time; `--rounds N` chooses. The exit code is 1 if a figure is not met.

    start    key and last line at the start, against the first frame of the empty app
    memory   before and after the model library is loaded
    stream   200 tokens a second under 10 000 messages, inspector open, a selection held: prose, list, table, fence
    slow     the same, read at 20 KB a second
    keys     CPU of a key, of a change of focus, of opening a block, inspector or help, under 10 000 messages
    resume   key echoed, last message shown, PgUp shows the page before: 10 000 and 100 000 messages
    idle     nothing happens: composer focused, a card waits, inspector open
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.benchmarks.program import Moment, Program, Watched, home, percentile
from tests.support import sessions
from tests.support.script import Reply
from tests.support.served import Served, served
from tui_agent.sessions.folder import SessionFolder
from tui_agent.ui.attention import AWAY_S

KEY = "Ж"
"""A key that stands nowhere else on the screen."""
LEADER, ESCAPE, PAGE_UP, TAB = "\x18", "\x1b", "\x1b[5~", "\t"
RIGHT, HELP = "\x1b[C", "\x1bOP"
SHORT = 200
"""Messages of the session whose start is compared with the empty app's."""
TURNS = 60
"""Short turns at the end of each session, numbered."""
TOKENS_A_SECOND = 200
SLOW_BYTES_A_SECOND = 20_000
WIDE = (160, 45)

_WORDS = (
    "the",
    "parser",
    "reads",
    "each",
    "line",
    "and",
    "keeps",
    "its",
    "offset",
    "so",
    "that",
    "it",
    "is",
    "found",
)
_HEAD = {"fence": ["```python\n"], "table": ["| name | size |", "\n", "|---|---|", "\n"]}
_MARK = re.compile(r"\bmark (\d{3})\b")


@dataclass(frozen=True)
class Row:
    """A line of the table. `note` says more than is judged."""

    name: str
    value: float
    bound: float
    unit: str
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.bound

    def __str__(self) -> str:
        verdict = "met" if self.met else "not met"
        number = f"{self.value:.2f}{self.unit}"
        return f"{self.name:<44} {number:>12}  <= {self.bound:g}{self.unit:<8} {verdict:<8} {self.note}"


@dataclass(frozen=True)
class Bench:
    """Where it runs, how often and how long."""

    home: Path
    rounds: int
    seconds: float
    idle_seconds: float

    def session(self, messages: int) -> str:
        """The id of a realistic session of so many messages, with numbered turns at its end."""
        folder = SessionFolder.create(self.home / "workspace", root=self.home / "data" / "sessions")
        sessions.write(folder.context_path, messages - 2 * TURNS, seed=messages)
        with folder.context_path.open("ab") as file:
            for record in _turns():
                file.write(msgspec.json.encode(record) + b"\n")
        return folder.id


def _turns() -> Iterator[dict[str, object]]:
    for number in range(TURNS):
        at = f"2026-12-01T10:{number:02}:0"
        yield {
            "role": "_checkpoint",
            "id": 10**6 + number,
            "uid": f"C{number}",
            "at": f"{at}0Z",
            "turn": True,
        }
        said = {"content": [{"type": "text", "text": f"turn {number}"}], "id": f"U{number}", "at": f"{at}1Z"}
        yield {"role": "user", **said}
        text = [{"type": "text", "text": f"mark {number:03}"}]
        answer = {"role": "assistant", "content": text, "id": f"A{number}", "at": f"{at}2Z"}
        yield {**answer, "model": sessions.MODEL, "stop_reason": "end_turn"}


LAST = f"mark {TURNS - 1:03}"


# --- the start --------------------------------------------------------------------------------------------------


def start(bench: Bench) -> Iterator[Row]:
    ident = bench.session(SHORT)
    pairs: list[tuple[Moment, Moment, Moment]] = []
    for number in range(bench.rounds + 1):
        with Program("-m", "tests.benchmarks.empty", home=bench.home, early=KEY) as empty:
            frame = empty.until("empty")
        with Program("-m", "tui_agent", "--demo", "--resume", ident, home=bench.home, early=KEY) as program:
            echo = program.until(KEY)
            last = program.until(LAST)
        if number:  # the first pair warms up
            pairs.append((frame, echo, last))
    frames = [frame.seconds for frame, _, _ in pairs]
    for name, place, bound in (("a key typed at launch echoes", 1, 1.3), ("the last line shows", 2, 1.6)):
        times = [pair[place].seconds / pair[0].seconds for pair in pairs]
        costs = [pair[place].cpu / pair[0].cpu for pair in pairs]
        seconds = statistics.median(pair[place].seconds for pair in pairs)
        note = f"{seconds:.3f} s of {statistics.median(frames):.3f} s; CPU {statistics.median(costs):.2f}x"
        yield Row(name, statistics.median(times), bound, "x", note)


# --- memory -----------------------------------------------------------------------------------------------------


def memory(bench: Bench) -> Iterator[Row]:
    with Program("-m", "tui_agent", ".", "--demo", home=bench.home) as program:
        program.until("ready")
        program.settle()
        yield Row("memory before the model library", program.memory, 60, " MB")
    with _served(bench) as server:
        server.always(Reply.text("heard you"))
        with Program("-m", "tui_agent", "--profile", "scripted", home=bench.home) as program:
            program.until("ready")
            program.press("go\r")
            program.until("heard you")
            program.settle(1.0)
            yield Row("memory after a turn with it", program.memory, 140, " MB")


# --- streams ----------------------------------------------------------------------------------------------------


def _tokens(kind: str, count: int) -> list[str]:
    """So many tokens of Markdown of a kind."""
    made = list(_HEAD.get(kind, ()))
    number = 0
    while len(made) < count:
        made += [token for token in _token(kind, number) if token]
        number += 1
    return [*made, "\n```\n"] if kind == "fence" else made


def _token(kind: str, number: int) -> list[str]:
    word = _WORDS[number % len(_WORDS)]
    match kind:
        case "list":
            return ["- " if number % 12 == 0 else "", f"{word} ", "\n" if number % 12 == 11 else ""]
        case "table":
            return ["| ", f"{word} ", "| ", f"{number} ", "|\n"]
        case "fence":
            return [f"value_{number % 7} = ", f"compute({number}, ", f"'{word}')", "\n"]
        case _:
            return [f"{word} ", "\n\n" if number % 90 == 89 else ""]


@contextmanager
def _served(bench: Bench) -> Iterator[Served]:
    """A scripted model whose window takes any session."""
    with served(bench.home) as server:
        settings = bench.home / "config" / "settings.toml"
        settings.write_text(settings.read_text().replace("200_000", "100_000_000"))
        try:
            yield server
        finally:
            shutil.rmtree(bench.home / "config")


@dataclass
class _Streamed:
    """What a stream cost. `busy` is the share of a core for 200 tokens a second, `rate` how many came in truth."""

    busy: float
    late: float
    own: float
    echo: float
    rate: float


def _stream(bench: Bench, kind: str, ident: str, *, rate: int = 0) -> _Streamed:
    """Stream tokens into a long session with the inspector open and a selection held."""
    count = int((bench.seconds + 6) * TOKENS_A_SECOND)
    tokens = _tokens(kind, count)
    argv = ("--profile", "scripted", "--resume", ident)
    with _served(bench) as server:
        server.script(Reply.blocks({"type": "text", "text": tokens}).paced(1 / TOKENS_A_SECOND))
        with Watched(*argv, home=bench.home, size=WIDE, rate=rate) as program:
            program.until("ready")  # the history is shown before the session is open
            program.press(f"{LEADER}i")
            program.until("Records")
            program.settle()
            program.press(ESCAPE)
            program.read_for(0.6)
            program.press("go\r")
            program.until(lambda: len(server.requests) > 0)
            program.read_for(2.0)
            program.press("\x1b[<0;10;6M\x1b[<32;30;8M\x1b[<32;50;12M")  # held: the button is not let go
            program.read_for(1.0)
            program.lags()
            before, came, began = program.cpu, server.deltas, time.perf_counter()
            program.read_for(bench.seconds)
            tokens_came = server.deltas - came
            spent, seconds = program.cpu - before, time.perf_counter() - began
            found = program.lags()
            echo = _echo(program)
            program.press("\x1b[<0;50;12m")
    return _Streamed(
        busy=100 * spent / tokens_came * TOKENS_A_SECOND,
        late=percentile(found["late"], 0.99),
        own=percentile(found["busy"], 0.99),
        echo=echo,
        rate=tokens_came / seconds,
    )


def _echo(program: Program) -> float:
    """Seconds from a key to its echo."""
    began, since = time.perf_counter(), len(program.shown)
    program.press(KEY)
    program.until(lambda: KEY.encode() in program.shown[since:])
    return time.perf_counter() - began


def stream(bench: Bench) -> Iterator[Row]:
    ident = bench.session(10_000)
    for kind in ("prose", "list", "table", "fence"):
        found = _stream(bench, kind, ident)
        yield Row(f"{TOKENS_A_SECOND} tokens/s of {kind}: a core", found.busy, 25, " %", _came(found))
        yield Row(
            f"{TOKENS_A_SECOND} tokens/s of {kind}: lag p99", found.late, 20, " ms", f"own {found.own:.1f} ms"
        )


def _came(found: _Streamed) -> str:
    return f"{found.rate:.0f} tokens/s came"


def slow(bench: Bench) -> Iterator[Row]:
    ident = bench.session(10_000)
    found = _stream(bench, "prose", ident, rate=SLOW_BYTES_A_SECOND)
    note = f"own {found.own:.1f} ms; {_came(found)}"
    yield Row("read at 20 KB/s: lag p99", found.late, 20, " ms", note)
    yield Row("read at 20 KB/s: echo", found.echo, 2, " s")


# --- keys -------------------------------------------------------------------------------------------------------


def keys(bench: Bench) -> Iterator[Row]:
    with Program(
        *("-m", "tui_agent", "--demo", "--resume", bench.session(10_000)), home=bench.home, size=WIDE
    ) as program:
        program.until(LAST)
        program.settle(1.0)
        yield Row("a key under 10 000 messages", _cost(program, ["a"] * 20), 30, " ms CPU")
        first = _cost(program, [f"{LEADER}i"])
        tabs = [_cost(program, [RIGHT]) for _ in range(5)]
        again = [_cost(program, [f"{LEADER}i"]) for _ in range(6)]
        note = f"closed {statistics.median(again[::2]):.0f}; the first time {first:.0f}"
        yield Row("the inspector, opened again", statistics.median(again[1::2]), 30, " ms CPU", note)
        note = f"the first time, with all that they read, at most {max(tabs):.0f}"
        yield Row("another tab of it", _cost(program, [RIGHT] * 10), 30, " ms CPU", note)
        helps = [(_cost(program, [HELP]), _cost(program, [ESCAPE])) for _ in range(3)]
        note = f"closed {statistics.median(closed for _, closed in helps):.0f}"
        yield Row("the help", statistics.median(opened for opened, _ in helps), 30, " ms CPU", note)
        yield Row("a key that lists the letters", _cost(program, [LEADER, ESCAPE] * 5), 30, " ms CPU")
        click = "\x1b[<0;135;12M\x1b[<0;135;12m"
        yield Row("a change of focus", _cost(program, [click, ESCAPE] * 5), 30, " ms CPU")
        program.press(ESCAPE)
        program.settle()
        row = _foldable(program)
        click = f"\x1b[<0;8;{row}M\x1b[<0;8;{row}m"
        yield Row("a block opened or folded", _cost(program, [click] * 6), 30, " ms CPU")


def _cost(program: Program, presses: list[str]) -> float:
    """The median CPU milliseconds of these, one after the other."""
    costs = []
    for press in presses:
        before = program.cpu
        program.press(press)
        program.settle(0.6)
        costs.append(1000 * (program.cpu - before))
    return statistics.median(costs)


def _foldable(program: Program) -> int:
    """The row (from 1) of a tool call on the screen, scrolled to."""
    for _ in range(20):
        for number, line in enumerate(program.display(), 1):
            if re.search(r"\b(read_file|grep|bash|edit_file|glob)\b.*\bok\b", line):
                return number
        program.press(PAGE_UP)
        program.settle()
    raise AssertionError("no tool call came into view")


# --- resume -----------------------------------------------------------------------------------------------------


def resume(bench: Bench) -> Iterator[Row]:
    for messages, bound in ((10_000, 1.0), (100_000, 2.0)):
        ident = bench.session(messages)
        times: list[tuple[Moment, Moment, float]] = []
        for number in range(max(2, bench.rounds // 2) + 1):
            with Program(
                "-m", "tui_agent", "--demo", "--resume", ident, home=bench.home, early=KEY
            ) as program:
                echo, last = program.until(KEY), program.until(LAST)
                shown = _marks(program)
                program.press(PAGE_UP)
                # the page before: what was on top is at its bottom now, and nothing between is left out
                program.until(lambda: f"mark {min(shown) - 2:03}".encode() in program.shown)  # noqa: B023
                page = program.now().seconds
                program.settle()
                before = _marks(program)
                assert before == set(range(min(before), max(before) + 1)), "the page before has holes"
                assert max(before) >= min(shown) - 1, "the page before is another one"
            if number:
                times.append((echo, last, page))
        page = statistics.median(time for _, _, time in times)
        note = (
            f"echo {statistics.median(e.seconds for e, _, _ in times):.2f} s, "
            f"last {statistics.median(m.seconds for _, m, _ in times):.2f} s, "
            f"CPU {statistics.median(m.cpu for _, m, _ in times):.2f} s"
        )
        yield Row(f"resume {messages:,} messages, to the page before", page, bound, " s", note)


def _marks(program: Program) -> set[int]:
    return {int(number) for number in _MARK.findall("\n".join(program.display()))}


# --- idle -------------------------------------------------------------------------------------------------------


def idle(bench: Bench) -> Iterator[Row]:
    with _served(bench) as server:
        server.script(Reply.tools(("bash", {"command": "make everything"})))
        with Program("-m", "tui_agent", "--profile", "scripted", home=bench.home, size=WIDE) as program:
            program.until("ready")
            program.press(f"{LEADER}i")
            program.until("Records")
            program.settle()
            program.press(ESCAPE)
            program.read_for(0.6)
            program.press("go\ra draft")  # so that the card does not take the focus
            program.until("make everything")
            program.read_for(AWAY_S + 5.0)  # the bell rings once for the card
            before = program.cpu
            written = program.read_for(bench.idle_seconds)
            busy = 100 * (program.cpu - before) / bench.idle_seconds
    yield Row(f"idle for {bench.idle_seconds:g} s: written", written, 0, " bytes")
    yield Row(f"idle for {bench.idle_seconds:g} s: a core", busy, 0.3, " %")


FIGURES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "start": start,
    "memory": memory,
    "stream": stream,
    "slow": slow,
    "keys": keys,
    "resume": resume,
    "idle": idle,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the screen.")
    parser.add_argument("names", metavar="NAME", nargs="*", choices=[[], *FIGURES], help=", ".join(FIGURES))
    parser.add_argument("--fast", action="store_true", help="a quick look: fewer rounds, shorter streams")
    parser.add_argument("--rounds", type=int, help="pairs that are compared (11, or 5 with --fast)")
    options = parser.parse_args()
    rounds = options.rounds or (5 if options.fast else 11)
    failed = 0
    for name in options.names or FIGURES:
        with home() as folder:
            (folder / "workspace").mkdir()
            bench = Bench(folder, rounds, 5 if options.fast else 15, 10 if options.fast else 60)
            for row in FIGURES[name](bench):
                failed += not row.met
                print(row, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
