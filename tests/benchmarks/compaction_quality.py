"""What is still known after three compactions: planted facts, looked for in the next request.

`python -m tests.benchmarks.compaction_quality` lets sessions of a 200k window grow through three compactions, with what
comes by itself between them. 40 facts are planted at random depths: in a person's words, in corrections of them, in the
arguments of calls, in results, in answers, in names of changed files, in commands that fail. Afterwards a fact counts
if the next request has it: in the summary, in the ledger, or word for word. A correction whose old value alone is left
is worse than none and is counted apart.

For `summary` the model is scripted: one that quotes every fact it is shown (what the program lets a perfect one keep;
also where the live request is not taken and the history goes as text), and one that keeps none (what stands without
it). With ANTHROPIC_API_KEY in the environment and `--real MODEL` that model is asked too.

The second table says what part of the window each step freed, and of what was in it: old results elided (micro, 10-30 %
of the window are meant) and summaries (full, 50-80 %).
`--sessions N`, `--seed N` choose; the exit code is 1 if micro or full is outside on average.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.compaction.logs import begun
from tests.compaction.lone import Alone
from tests.compaction.stories import KINDS, Kind, Scripted, Story, quoting, spoken
from tui_agent.changes import CompactionCompleted, CompactionFailed, MicroCompacted
from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.summary import Summary
from tui_agent.llm.provider import ProviderError, Reply
from tui_agent.messages.request import Request
from tui_agent.settings.schema import Compaction as Keys
from tui_agent.settings.schema import Profile

if TYPE_CHECKING:
    from tui_agent.compaction.strategy import Compaction, Model
    from tui_agent.context import Context

WINDOW = 200_000
FACTS = 40
TURNS = {True: 200, False: 55}
"""So many turns, with and without micro, go into three compactions or some more; the facts are spread over them."""
PROMPT, TOOLS = "You are a coding agent. Mind the rules of this folder as they stand below. " * 260, 24
"""About 4,000 tokens of prompt, and as many of tools."""
COMPACTIONS = 3
MICRO, FULL = (0.10, 0.30), (0.50, 0.80)
"""The parts of the window that a batch and a summary are meant to free."""

EMPTY = (
    "## Goal and current request\nThe work on src/context/log.py goes on as the user asked.\n\n## Done\nSome of it: "
    "the parser reads each line and keeps its offset, the writer holds the lease, and a failed write is cut back.\n\n"
    "## In progress\nThe rest. The record is found without reading what came before it."
)
"""A summary without any fact that nobody would refuse."""


class Way(NamedTuple):
    """A strategy under its name in the table, and its model."""

    name: str
    strategy: Callable[[], Compaction]
    model: Callable[[], Model]
    micro: bool = True


class Known(NamedTuple):
    """What is left of the facts of a session, and the weights before and after each step."""

    planted: Counter[Kind]
    found: Counter[Kind]
    stale: int
    micro: list[tuple[int, int]]
    full: list[tuple[int, int]]
    after: list[int]
    asked: int
    turns: int


def planted(chance: random.Random, turns: int) -> dict[int, list[Kind]]:
    """Which facts stand in which of so many turns: as many of each kind, arguments and corrections twice as many."""
    kinds: list[Kind] = [*KINDS, "argument", "correction"]
    plan: dict[int, list[Kind]] = {}
    for number in range(FACTS):
        plan.setdefault(chance.randrange(turns), []).append(kinds[number % len(kinds)])
    return plan


async def session(folder: Path, seed: int, way: Way) -> Known:
    """A session through its compactions, and what is known at its end.

    Raises:
        RuntimeError: a compaction failed.
    """
    said, story = await begun(folder, prompt=PROMPT, tools=TOOLS), Story(seed)
    plan, model = planted(random.Random(seed), TURNS[way.micro]), way.model()
    keys = Keys(ahead="off") if way.micro else Keys(ahead="off", micro_ratio=0.99)
    alone = Alone(said.context, model, strategy=way.strategy(), keys=keys)
    turn = 0
    while turn < TURNS[way.micro] or len(alone.all(CompactionCompleted)) < COMPACTIONS:
        await story.turn(said, plan.get(turn, ()))
        await alone.relief.relieve(said.context.weigh().total)
        for failed in alone.all(CompactionFailed):
            raise RuntimeError(failed.reason)
        turn += 1
    known = _known(said.context, story, alone, model)
    await said.context.close()
    return known


def _known(context: Context, story: Story, alone: Alone, model: Model) -> Known:
    facts = story.facts
    text = spoken([message.api() for message in context.history])
    left = [fact for fact in facts if fact.word in text]
    stale = sum(fact.word not in text and fact.stale in text for fact in facts if fact.kind == "correction")
    return Known(
        planted=Counter(fact.kind for fact in facts),
        found=Counter(fact.kind for fact in left),
        stale=stale,
        micro=[(event.before, event.after) for event in alone.all(MicroCompacted)],
        full=[(event.before, event.after) for event in alone.all(CompactionCompleted)],
        after=[event.after for event in alone.all(CompactionCompleted)],
        asked=len(getattr(model, "asked", ())),
        turns=story.turns,
    )


# --- who summarises --------------------------------------------------------------------------------------------------


class AsText(Scripted):
    """An endpoint that does not take the live request: the history goes as text, what micro shortened as it was."""

    async def ask(self, request: Request) -> Reply:
        """The answer to the request's text."""
        if request.tools:
            raise ProviderError("not so", kind="invalid")
        return await super().ask(request)


def ways(real: str | None) -> list[Way]:
    """The strategies to be compared. `real` is a model to ask, if its key is set."""
    found = [
        Way("summary, a model that quotes", Summary, lambda: Scripted(quoting, window=WINDOW)),
        Way("the same without micro", Summary, lambda: Scripted(quoting, window=WINDOW), micro=False),
        Way("the same, asked by text", Summary, lambda: AsText(quoting, window=WINDOW)),
        Way("summary, one that keeps nothing", Summary, lambda: Scripted(lambda text: EMPTY, window=WINDOW)),
        Way("extractive", Extractive, lambda: Scripted(lambda text: "", window=WINDOW)),
    ]
    key = os.environ.get("ANTHROPIC_API_KEY")
    if real and key:
        found.append(Way(f"summary, {real}", Summary, lambda: _asking(real, key)))
    return found


def _asking(model: str, key: str) -> Model:
    from tui_agent.compaction.model import Asking
    from tui_agent.llm.anthropic import AnthropicProvider

    profile = Profile(name="real", model=model, context_window=WINDOW, max_output_tokens=16_000)
    return Asking(AnthropicProvider(profile, key), lambda event: None)


# --- the tables ------------------------------------------------------------------------------------------------------


async def measured(way: Way, sessions: int, seed: int) -> list[Known]:
    """Some sessions under one strategy."""
    found = []
    for number in range(sessions):
        with tempfile.TemporaryDirectory() as folder:
            found.append(await session(Path(folder), seed + number, way))
    return found


def answered(name: str, known: Sequence[Known]) -> str:
    """A row: the share of facts that are left, in all and by kind."""
    planted, found = Counter[Kind](), Counter[Kind]()
    for one in known:
        planted += one.planted
        found += one.found
    parts = [f"{found[kind] / max(planted[kind], 1):>11.0%}" for kind in KINDS]
    total = found.total() / max(planted.total(), 1)
    stale, asked = sum(one.stale for one in known), sum(one.asked for one in known) / len(known)
    after = statistics.mean(tokens for one in known for tokens in one.after)
    turns = statistics.mean(one.turns for one in known)
    return f"{name:34}{total:>6.0%}  {''.join(parts)}{stale:>7}{after:>9,.0f}{asked:>9.1f}{turns:>6.0f}"


def freed(name: str, steps: Sequence[tuple[int, int]], meant: tuple[float, float]) -> tuple[str, bool]:
    """A row: what a step freed, and whether that is on average what is meant."""
    shares = [(before - after) / WINDOW for before, after in steps] or [0.0]
    of_all = statistics.mean(1 - after / before for before, after in steps) if steps else 0.0
    low, high = meant
    fits = low <= statistics.mean(shares) <= high
    figures = (
        f"{statistics.mean(shares):>7.1%}{min(shares):>8.1%}{max(shares):>8.1%}{of_all:>10.1%}{len(steps):>7}"
    )
    return f"{name:42}{figures}   {low:.0%}-{high:.0%}{'' if fits else '   <- not as meant'}", fits


async def report(sessions: int, seed: int, real: str | None) -> bool:
    """Print both tables; True if what is freed is as meant."""
    heads = "".join(f"{kind:>11}" for kind in KINDS)
    print(
        f"{'left after three compactions':34}{'all':>6}  {heads}{'stale':>7}{'tokens':>9}{'requests':>9}{'turns':>6}"
    )
    rows, good = [], True
    for way in ways(real):
        known = await measured(way, sessions, seed)
        print(answered(way.name, known), flush=True)
        micro = [("micro", [step for one in known for step in one.micro], MICRO)] if way.micro else []
        for name, steps, meant in (*micro, ("full", [step for one in known for step in one.full], FULL)):
            row, fits = freed(f"{name}, {way.name}", steps, meant)
            rows.append(row)
            good = good and fits
    heads = f"{'mean':>7}{'least':>8}{'most':>8}{'of all':>10}{'times':>7}   meant"
    print(f"\n{'freed of the window':42}{heads}")
    print("\n".join(rows))
    return good


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", metavar="MODEL", help="a model to ask, with ANTHROPIC_API_KEY set")
    options = parser.parse_args()
    sys.exit(not asyncio.run(report(options.sessions, options.seed, options.real)))


if __name__ == "__main__":
    main()
