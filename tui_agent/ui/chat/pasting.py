"""What is pasted into the composer: words, files that were dropped, pictures off the clipboard.

What is typed meanwhile waits, so that it stands behind.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.commands import CommandError
from tui_agent.ui.chat import dropped

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.ui.chat.composer import Composer

_DISK_PATIENCE = 2.0
"""Seconds the disk may take to say whether pasted paths exist; then they are text."""
_MOST_SEARCHED = 200
"""Characters of a paste that are searched for."""


async def paste(composer: Composer, text: str) -> None:
    """Put what was pasted where the cursor is: paths of files as `@path` or as pictures, else the words."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if composer.searching:
        composer.write(" ".join(text[:_MOST_SEARCHED].split()))
        return
    files: list[dropped.Dropped] = []
    if dropped.may_be_dropped(text):
        try:
            async with asyncio.timeout(_DISK_PATIENCE):
                files = await asyncio.to_thread(dropped.dropped, text, composer.workspace)
        except TimeoutError:
            files = []
    if not files:
        composer.write_paste(text)
    for file in files:
        row, column = composer.cursor_location
        if composer.document.get_line(row)[:column][-1:].strip():
            composer.write(" ")
        if not (file.is_picture and await _drop_picture(composer, file.path)):
            composer.write(f"{file.mention} ")


async def paste_clipboard(composer: Composer) -> None:
    """Put what the clipboard holds where the cursor is: a picture, else words."""
    try:
        held = await asyncio.to_thread(dropped.clipboard)
    except dropped.NoClipboard as error:
        held = composer.app.clipboard
        if not held:
            _say(composer, str(error))
    else:
        if not held:
            _say(composer, "the clipboard holds neither a picture nor text")
    if isinstance(held, bytes):
        await _take_picture(composer, held, "the picture on the clipboard")
    elif held:
        await paste(composer, held)


async def _drop_picture(composer: Composer, path: Path) -> bool:
    if composer.picture is None:
        return False
    try:
        data = await asyncio.to_thread(dropped.read_picture, path)
    except OSError as error:
        _say(composer, str(error))
        return False
    return await _take_picture(composer, data, path.name)


async def _take_picture(composer: Composer, data: bytes, name: str) -> bool:
    if composer.picture is None:
        _say(composer, "a picture can be added once the session is open")
        return False
    try:
        image = await composer.picture(data, name)
    except CommandError as error:
        _say(composer, str(error))
        return False
    composer.write_image(image)
    return True


def _say(composer: Composer, text: str) -> None:
    composer.post_message(composer.Trouble(text))
