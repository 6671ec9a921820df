"""What can be asked of the system prompt and of skills: to see what stands in it, to put in force what changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tui_agent.agent.commands.travel import arrived
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.literal import one_line
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.skills import FILE, FOLDERS, OF_HOME, named
from tui_agent.timeline.timeline import Travelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui_agent.agent.session import Session
    from tui_agent.context import Context


_NAMED = 40
"""Characters of the name of a layer's source."""
_SAID = {"": "", "changed": "changed since", "gone": "gone since", "new": "new, not in it yet"}


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    commands.add(Command("prompt", prompt))
    commands.add(Command("refresh", refresh))
    commands.add(Command("skill", skill, "[NAME [WORDS]]", names=("skills",)))


async def prompt(session: Session) -> Outcome:
    """Show the layers of the system prompt: where each is from, its size, and whether it is another one by now"""
    context = session.context
    await session.heeding.heed()
    now = await asyncio.to_thread(session.premises.layers)
    fresh = {(layer.layer, layer.source): layer.text.strip() for layer in now}
    stored = {
        (str(layer["layer"]), str(layer["source"])): str(layer["text"]).strip()
        for layer in context.system_layers
    }
    rows = [_row(context, name, text, fresh.get(name)) for name, text in (stored or fresh).items()]
    new = [name for name in fresh if stored and name not in stored]
    total = context.system_tokens.count if stored else sum(row["tokens"] for row in rows)
    which = "in force" if stored else "that your first words will bring"
    lines = [f"the system prompt {which}, ~{total:,} tokens:", *_table(rows, new)]
    if new or any(row["now"] for row in rows):
        lines.append("/refresh puts in force what has changed")
    data = {"tokens": total, "layers": rows, "new": [source for _, source in new]}
    return Outcome("\n".join(lines), data)


def _row(context: Context, name: tuple[str, str], text: str, fresh: str | None) -> dict[str, Any]:
    """A layer with its size, and what has become of it since it was written: `changed`, `gone`, or nothing."""
    return {
        "layer": name[0],
        "source": name[1],
        "bytes": len(text.encode("utf-8", "replace")),
        "tokens": round(Estimator(context.model).weigh(text) * context.factor),
        "now": "gone" if fresh is None else "changed" if fresh != text else "",
    }


def _table(rows: Sequence[Mapping[str, Any]], new: Sequence[tuple[str, str]]) -> list[str]:
    names = [one_line(str(row["source"]), _NAMED) for row in rows]
    added = [one_line(source, _NAMED) for _, source in new]
    width = max(map(len, [*names, *added]), default=0)
    lines = [
        f"  {row['layer']:<9}  {name:<{width}}  {row['bytes']:>7,} bytes  ~{row['tokens']:,} tokens  "
        + _SAID[row["now"]]
        for row, name in zip(rows, names, strict=True)
    ]
    lines += [
        f"  {layer:<9}  {name:<{width}}  {_SAID['new']}" for (layer, _), name in zip(new, added, strict=True)
    ]
    return [line.rstrip() for line in lines]


async def refresh(session: Session) -> Outcome:
    """Put the system prompt and the tools of now in force; the provider's cache begins anew, and /undo takes it back"""
    if session.read_only:
        raise CommandError(session.read_only)
    if session.context.system_prompt is None:
        return Outcome("nothing was said yet: the prompt is written with your first words", {"changed": []})
    await session.heeding.heed()
    fresh = await session.premises.fresh()
    changed = {"prompt": fresh.prompt, "tools": fresh.tools}
    bodies = {name: body for name, body in changed.items() if body is not None}
    if not bodies:
        return Outcome("the prompt and the tools in force are those of now", {"changed": []})
    async with session.between_turns():
        backup = await session.context.renew(list(bodies.values()), renewed=list(bodies))
    verb = "are" if "tools" in bodies else "is"
    text = f"the {' and the '.join(bodies)} of now {verb} in force"
    done = await arrived(session, Travelled("refresh", backup.name), text)
    return Outcome(done.text, {**done.data, "changed": list(bodies)})


async def skill(session: Session, *words: str) -> Outcome:
    """List the skills, or say something to the model with the text of one: /skill NAME WORDS"""
    await session.heeding.heed()
    found = await asyncio.to_thread(session.premises.skills)
    if not words:
        lines = [f"{one.name}  {one.description}  ({one.origin}: {one.place})" for one in found.skills] or [
            _no_skills(session)
        ]
        data = [
            {"name": s.name, "description": s.description, "place": s.place, "origin": s.origin}
            for s in found.skills
        ]
        return Outcome("\n".join([*lines, *found.notices]), {"skills": data, "notices": list(found.notices)})
    called = named(found.skills, words[0])
    if called is None:
        names = ", ".join(one.name for one in found.skills)
        raise CommandError(
            f"there is no skill {words[0]!r}; " + (f"there are: {names}" if names else _no_skills(session))
        )
    await session.submit(" ".join(["/skill", called.name, *words[1:]]))
    return Outcome()


def _no_skills(session: Session) -> str:
    if not session.settings.prompt.skills:
        return "skills are off (prompt.skills in settings)"
    places = ", ".join(FOLDERS)
    return (
        f"there are none: a skill is a folder with a {FILE} in {places} here, in skills beside settings.toml, or in "
        f"~/{OF_HOME}"
    )
