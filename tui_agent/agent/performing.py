"""A command carried out by its name: whose name it is, when it may run, and what goes wrong in a person's words."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.commands import CommandError, Outcome
from tui_agent.context import ContextError
from tui_agent.prompt.skills import named

if TYPE_CHECKING:
    from tui_agent.agent.session import Session


async def perform(session: Session, name: str, *arguments: str) -> Outcome:
    """Carry out a command by any of its names. One that rewrites history stops the running turn first.

    A name that is no command's but a skill's calls the skill, and that of a server's prompt the prompt.

    Raises:
        CommandError: there is no such command, or it cannot be carried out; says why.
    """
    command = session.commands.find(name)
    if command is None:
        return await _perform_other(session, name, *arguments)
    try:
        if not command.rewrites:
            return await command.perform(session, *arguments)
        session.check_writable()
        if session.busy and command.check is not None:
            command.check(session, *arguments)
        async with session.between_turns():
            return await command.perform(session, *arguments)
    except ContextError as error:
        raise CommandError(str(error)) from error
    except TypeError as error:
        # A wrong number of words, not a fault inside the command, is the person's to mend.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            usage = f"/{command.name} {command.argument}".strip()
            raise CommandError(f"usage: {usage}") from error
        raise


async def _perform_other(session: Session, name: str, *arguments: str) -> Outcome:
    """What a name calls that is no command's."""
    if named((await asyncio.to_thread(session.premises.skills)).skills, name):
        return await perform(session, "skill", name, *arguments)
    bare = name.removeprefix("/")
    if session.servers and await session.servers.prompt(bare):
        return await perform(session, "mcp", "prompt", bare, *arguments)
    near = ", ".join(f"/{c.name}" for c in session.commands.complete(name[:1]))
    raise CommandError(f"there is no command /{bare}" + (f"; there are {near}" if near else ""))
