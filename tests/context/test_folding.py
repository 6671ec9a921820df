"""Lines mean the same whether they are taken in bulk, one by one, or as the beginning of more."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.support import mutations, sessions
from tui_agent.context.encoding import encode
from tui_agent.context.projection import Projection
from tui_agent.context.source import Source


def meaning(projection: Projection) -> dict[str, Any]:
    usages = projection.usages
    return {
        "places": [projection.starts, projection.lengths, projection.lines],
        "kinds": [
            (projection.role(index), projection.origin(index), projection.blocks[index], projection.id(index))
            for index in range(len(projection))
        ],
        "index": projection.index,
        "damage": projection.damage,
        "messages": [projection.messages, projection.visible],
        "checkpoints": [projection.checkpoints, projection.numbers, projection.next_checkpoint],
        "usages": [usages[at] for at in range(len(usages))],
        "newest": [projection.prompts, projection.tools, projection.states, projection.state],
        "marks": [projection.marks, projection.marked],
        "elisions": [projection.elisions.events, projection.elisions.in_force],
        "heads": projection.heads,
        "end": [projection.next_line, projection.size, projection.torn],
    }


def one_by_one(path: Path) -> Projection:
    projection = Projection(Source(path))
    data = path.read_bytes()
    offset = 0
    for line in data.split(b"\n")[: None if data[-1:] not in (b"\n", b"") else -1]:
        projection.extend(line, offset)
        offset += len(line) + 1
    if data and not data.endswith(b"\n"):
        projection.size, projection.torn = len(data), True
    return projection


def far_away() -> bytes:
    """Usages that name records far away, later ones, each other's, and none."""
    chance = random.Random(7)
    bodies: list[dict[str, Any]] = []
    for number in range(300):
        kind = chance.random()
        if kind < 0.4:
            bodies.append({"role": chance.choice(("user", "assistant")), "content": "x", "id": f"m{number}"})
        elif kind < 0.7:
            through, produced = (f"m{chance.randrange(number + 20)}" for _ in range(2))
            usage = {"role": "_usage", "token_count": number, "through": through, "produced": produced}
            for field in ("through", "produced"):
                if chance.random() < 0.2:
                    del usage[field]
            bodies.append(usage)
        elif kind < 0.85:
            bodies.append({"role": "_checkpoint", "id": number, "uid": f"m{number}"})
        else:
            bodies.append({"role": "_mark", "record": f"m{chance.randrange(number + 20)}", "pinned": True})
    return b"".join(map(encode, bodies))


CASES = {
    "long": b"".join(map(encode, sessions.records(300, seed=5))),
    "far away": far_away(),
    **{f"sound {name}": data for name, data in mutations.seeds()},
    **{
        f"{number}: {kind}": data
        for number in range(60)
        for kind, data in [
            mutations.mutate(
                mutations.seeds()[number % len(mutations.seeds())][1], random.Random(9000 + number)
            )
        ]
    },
}


@pytest.mark.parametrize("case", CASES)
def test_bulk_single_lines_and_prefixes_agree(tmp_path: Path, case: str) -> None:
    path = tmp_path / "context.jsonl"
    path.write_bytes(CASES[case])
    whole = Projection.load(Source(path))
    assert meaning(one_by_one(path)) == meaning(whole)
    data = path.read_bytes()
    chance = random.Random(case)
    for count in sorted({0, len(whole), *(chance.randrange(len(whole) + 1) for _ in range(4))}):
        prefix = whole.prefix(count)
        end = prefix.size
        path.write_bytes(data[:end])
        assert meaning(prefix) == meaning(Projection.load(Source(path)))
        path.write_bytes(data)
