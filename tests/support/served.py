"""A scripted model in a thread of its own, for tests that run real commands."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.script import Hold
from tests.support.server import ScriptedServer

SECONDS = 60


class Served(ScriptedServer):
    """A scripted model in a thread of its own, so that commands can run in this one."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="server")

    def begin(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), self._loop).result(SECONDS)

    def end(self) -> None:
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait(self, event: asyncio.Event) -> None:
        """Until the server has set it."""
        asyncio.run_coroutine_threadsafe(event.wait(), self._loop).result(SECONDS)

    def let_go(self, hold: Hold) -> None:
        self._loop.call_soon_threadsafe(hold.release.set)


@contextmanager
def served(home: Path, more: str = "") -> Iterator[Served]:
    """A scripted model, as the profile `scripted` of the settings in a home; `more` is further TOML before it."""
    server = Served()
    server.begin()
    try:
        (home / "config").mkdir(mode=0o700)
        (home / "config" / "settings.toml").write_text(
            f'{more}\n[profiles.scripted]\nmodel = "scripted-1"\nbase_url = "{server.url}"\nauth = "none"\n'
            "context_window = 200_000\nmax_output_tokens = 4_096\n"
            # A script says what is asked; a summary that is prepared unasked would take an answer out of it.
            '[profiles.scripted.compaction]\nahead = "off"\n'
        )
        yield server
    finally:
        server.end()
    server.check()
