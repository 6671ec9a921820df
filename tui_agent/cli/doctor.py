"""`tui-agent doctor`: what is wrong with this installation, or with a session, and mending it.

What `--fix` does never takes anything away that holds words: it closes calls that a killed program left open by a
record that says so, ends a torn line, removes temporary files, and takes other people's access to private folders.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent import __version__, paths
from tui_agent.cli import servers
from tui_agent.cli.checkup import examine
from tui_agent.cli.failures import Failed
from tui_agent.cli.findings import Finding, Level, private
from tui_agent.cli.report import say, size
from tui_agent.literal import one_line
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import SessionError
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.secrets import api_key

if TYPE_CHECKING:
    import argparse

    from tui_agent.settings.schema import Settings

LOW_DISK, SHORT_DISK = 200_000_000, 2_000_000_000
"""Bytes free under which the disk is a problem, and worth a remark."""


def run(options: argparse.Namespace, workspace: Path) -> int:
    """Look, say, mend with `--fix`; returns 1 if something is still wrong.

    Raises:
        Failed: there is no such session.
    """
    return asyncio.run(_run(options, workspace))


async def _run(options: argparse.Namespace, workspace: Path) -> int:
    if options.session is None:
        findings = [finding async for finding in _installation(workspace)]
    else:
        findings = [finding async for finding in examine(options.session, workspace)]
    wrong = mendable = 0
    for finding in findings:
        say(f"{finding.level:<5} {finding.subject}: {one_line(finding.text)}")
        if finding.mend is None:
            wrong += finding.level == "bad"
        elif options.fix:
            try:
                say(f"fixed {finding.subject}: {one_line(await finding.mend())}")
            except (OSError, Failed) as error:
                say(f"bad   {finding.subject}: could not be mended: {one_line(str(error))}")
                wrong += 1
        else:
            mendable += 1
    if mendable:
        again = f"tui-agent doctor {options.session or ''}".rstrip()
        say(f"{mendable} of these can be mended: {again} --fix")
    return 1 if wrong or mendable else 0


async def _installation(workspace: Path) -> AsyncIterator[Finding]:
    for finding in (*_program(), *_terminal()):
        yield finding
    settings = None
    try:
        settings = load()
        there = settings.file is not None and settings.file.exists()
        yield Finding("ok", "settings", str(settings.file) if there else "none, defaults apply")
        for notice in settings.notices:
            yield Finding("note", "settings", notice)
    except SettingsError as error:
        yield Finding("bad", "settings", str(error))
    if settings is not None:
        yield await asyncio.to_thread(_key, settings)
        for finding in await asyncio.to_thread(lambda: list(servers.findings(settings, workspace))):
            yield finding
    for finding in _folders():
        yield finding
    for finding in await asyncio.to_thread(lambda: list(_sessions())):
        yield finding


def _program() -> Iterator[Finding]:
    yield Finding("ok", "tui-agent", __version__)
    yield Finding("ok", "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for tool, without in (
        ("git", "workspaces are found by their folder alone"),
        ("rg", "grep searches with Python, which is slower"),
    ):
        place = shutil.which(tool)
        yield Finding("ok", tool, place) if place else Finding("note", tool, f"not installed: {without}")


def _terminal() -> Iterator[Finding]:
    if not sys.stdout.isatty():
        yield Finding("note", "terminal", "the output is no terminal")
    term = os.environ.get("TERM", "")
    if term in ("", "dumb"):
        yield Finding(
            "note", "terminal", "TERM is not set, or dumb: lines are written instead of the screen (--plain)"
        )
    else:
        over = " in tmux" if "TMUX" in os.environ else ""
        over += " over ssh" if "SSH_CONNECTION" in os.environ else ""
        columns, rows = shutil.get_terminal_size()
        small = "" if (columns, rows) >= (80, 24) and rows >= 24 else "; the screen wants 80x24"
        yield Finding("note" if small else "ok", "terminal", f"{term} {columns}x{rows}{over}{small}")
    encoding = (sys.stdout.encoding or "").lower()
    if encoding.replace("-", "") != "utf8":
        yield Finding(
            "note", "locale", f"the output is {encoding}, not UTF-8: other characters are shown as escapes"
        )


def _key(settings: Settings) -> Finding:
    profile = settings.find_profile()
    what = f"profile {profile.name} ({profile.base_url})"
    if profile.provider == "demo":
        return Finding("note", "model", f"profile {profile.name} is the demo model, which is no AI")
    if profile.auth == "none":
        return Finding("ok", "key", f"{what} needs none")
    if api_key(profile):
        return Finding("ok", "key", f"{what} has one ({profile.api_key_env or 'keyring'})")
    way = f"set {profile.api_key_env}" if profile.api_key_env else "name its variable in api_key_env"
    return Finding("note", "key", f"{what} has none: the demo model answers; {way}")


def _folders() -> Iterator[Finding]:
    for subject, folder in (("config", paths.config_dir()), ("data", paths.data_dir())):
        if not folder.exists():
            yield Finding("ok", subject, f"{folder} (not made yet)")
        elif not folder.is_dir():
            yield Finding("bad", subject, f"{folder} is not a folder")
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield Finding("bad", subject, f"{folder} cannot be written")
        else:
            yield private(subject, folder)
    settings = paths.settings_file()
    if settings.is_file():
        finding = private("settings", settings)
        if finding.level != "ok":
            yield finding
    there = next(place for place in (paths.data_dir(), *paths.data_dir().parents) if place.exists())
    free = shutil.disk_usage(there).free
    level: Level = "bad" if free < LOW_DISK else "note" if free < SHORT_DISK else "ok"
    yield Finding(level, "disk", f"{size(free)} free for {paths.data_dir()}")


def _sessions() -> Iterator[Finding]:
    catalog = Catalog()
    try:
        entries, deleted = catalog.list(archived=None), catalog.deleted()
    except SessionError as error:
        yield Finding("bad", "sessions", str(error))
        return
    total = size(sum(entry.bytes for entry in entries))
    trash = f"; {len(deleted)} deleted ones wait in the trash" if deleted else ""
    yield Finding("ok", "sessions", f"{len(entries)}, {total} of logs and backups{trash}")
    for entry in entries:
        if entry.damaged:
            text = f"{entry.id} ({entry.title}): {entry.damaged}; look: tui-agent doctor {entry.id}"
            yield Finding("note", "session", text)
