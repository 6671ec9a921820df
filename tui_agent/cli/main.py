"""The command line: arguments to one of the commands below, errors to one line and an exit code.

    tui-agent [DIR]                    the screen, or lines instead of it (--plain)
    tui-agent -p PROMPT                one prompt, no screen
    tui-agent [DIR] sessions | inspect | context | memory | mcp | doctor ...

Exit codes: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted. What a command needs is imported when it
runs, so that the screen never waits for the reports, nor the reports for the screen.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.cli.arguments import COMMANDS, parse
from tui_agent.cli.failures import CommandLineError, Failed, Usage

if TYPE_CHECKING:
    import argparse

    from tui_agent.settings.schema import Settings

_INTERRUPTED = 130
_WINDOWS = os.name == "nt"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `tui-agent` with these arguments (default: the process's) and return the exit code."""
    if _WINDOWS:
        sys.stderr.write("tui-agent: Windows is not supported (no process groups, no file locks); use WSL\n")
        return Failed.code
    _settle_streams()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        code = Failed.code
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            raise
        sys.stderr.write(f"tui-agent: {error.strerror}\n")
        code = Failed.code
    finally:
        _end_children()
    if code:
        _let_go()
    return code


def _end_children() -> None:
    """Whatever went wrong on the way: no program that was started here outlives this one."""
    process = sys.modules.get("tui_agent.process")
    if process is not None:  # else none was started
        process.kill_all()


def _settle_streams() -> None:
    """Output that cannot be encoded is escaped; streams that were closed before we began lead nowhere."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _let_go() -> None:
    """Make sure that the flush at exit neither fails nor waits, if our output cannot be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str]) -> int:
    place, argv = _split(argv)
    command = argv[0] if argv and argv[0] in COMMANDS else None
    try:
        options = parse(command, argv if command is None else argv[1:])
    except SystemExit as end:  # argparse has printed what it had to say
        return int(end.code or 0)
    try:
        workspace = _workspace(options.dir if command is None else place)
        if command is None:
            return _talk(options, workspace)
        if command == "sessions":
            from tui_agent.cli import sessions

            return sessions.run(options, workspace)
        if command == "inspect":
            return _inspect(options)
        if command == "context":
            from tui_agent.cli import context

            return context.run(options, workspace)
        if command == "memory":
            from tui_agent.cli import memory

            return memory.run(options, workspace)
        if command == "mcp":
            from tui_agent.cli import mcp

            return mcp.run(options, workspace)
        from tui_agent.cli import doctor

        return doctor.run(options, workspace)
    except CommandLineError as error:
        from tui_agent.cli.report import complain

        hint = f" (tui-agent {command + ' ' if command else ''}--help)" if isinstance(error, Usage) else ""
        complain(f"{error}{hint}")
        return error.code


def _split(argv: list[str]) -> tuple[str | None, list[str]]:
    """`DIR COMMAND ...` taken apart. A folder that is called like a command is written `./sessions`."""
    if len(argv) > 1 and argv[0] not in COMMANDS and argv[1] in COMMANDS and Path(argv[0]).is_dir():
        return argv[0], argv[1:]
    return None, argv


def _workspace(place: str | None) -> Path:
    try:
        folder = Path(place).expanduser() if place is not None else Path.cwd()
        folder = folder.resolve(strict=True)
    except FileNotFoundError as error:
        if place is None:
            raise Failed("the folder you are in does not exist any more; change to another one") from error
        known = ", ".join(COMMANDS)
        raise Usage(f"there is no folder {place!r}; commands ({known}) come before their options") from error
    except OSError as error:
        raise Failed(f"{place}: {error.strerror}") from error
    if not folder.is_dir():
        raise Usage(f"{place} is not a folder")
    return folder


def _talk(options: argparse.Namespace, workspace: Path) -> int:
    """The screen, or one prompt without it."""
    if options.prompt is None:
        for name in ("output_format", "allow", "goal"):
            if getattr(options, name):
                raise Usage(f"--{name.replace('_', '-')} goes with -p PROMPT")
    plain = options.plain or _is_dumb()
    tour = options.demo and options.dir is None and options.prompt is None and not plain
    tour = tour and not options.resume_latest and options.resume is None and sys.stdin.isatty()
    if tour and sys.stdout.isatty():
        return _tour(options)
    return _talk_in(options, workspace)


def _tour(options: argparse.Namespace) -> int:
    """The guided demo, in a scratch folder that holds all it makes."""
    from tui_agent.ui.tour import scratch

    _settings(options)  # faults are told of the person's own file, not of the copy the tour works with
    try:
        made = scratch()
    except OSError as error:
        raise Failed(f"no scratch folder for the demo: {error.filename}: {error.strerror}") from error
    code = _talk_in(options, made.workspace, tour=True)
    sys.stdout.write(f"The demo's files, settings and session are in {made.root}; remove it when you like.\n")
    sys.stdout.write("To work on something of yours: tui-agent, in its folder.\n")
    return code


def _settings(options: argparse.Namespace) -> Settings:
    """The settings, with the profile that was asked for in them."""
    from tui_agent.settings.load import load, way_back
    from tui_agent.settings.rules import SettingsError

    try:
        settings = load()
    except SettingsError as error:
        raise Failed(f"{error}. {way_back(error)}") from error
    try:
        settings.find_profile(options.profile)
    except SettingsError as error:
        raise Failed(str(error)) from error
    return settings


def _talk_in(options: argparse.Namespace, workspace: Path, **how: bool) -> int:
    settings = _settings(options)
    resume = "latest" if options.resume_latest else options.resume
    if options.prompt is not None:
        from tui_agent.cli import headless

        return headless.run(options, workspace, settings, resume)
    if not options.plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Usage("the screen needs a terminal; without one use -p PROMPT, or --plain")
    return _runner(plain=options.plain or _is_dumb())(
        **how,
        workspace=workspace,
        settings=settings,
        resume=resume,
        profile=options.profile,
        demo=options.demo,
        append_system=options.append_system,
        mode=options.mode,
    )


def _is_dumb() -> bool:
    """True for a terminal that cannot move its cursor."""
    return os.environ.get("TERM", "") in ("", "dumb")


def _runner(*, plain: bool) -> Callable[..., int]:
    """What runs the conversation: the screen, or lines without one."""
    if plain:
        from tui_agent.ui import plain as lines

        return lines.run
    gc.disable()  # a tenth of the time to the first frame; on again when the session is open
    from tui_agent.ui import app

    return app.run


def _inspect(options: argparse.Namespace) -> int:
    if not Path(options.path).exists():
        raise Failed(f"{options.path} does not exist")
    if not options.json and sys.stdin.isatty() and sys.stdout.isatty() and not _is_dumb():
        from tui_agent.ui import inspect

        return inspect.run(Path(options.path))
    from tui_agent.cli import context

    return context.inspect(options)
