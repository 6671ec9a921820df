"""Finding one's way in the transcript: words, turns, the output of a call, all of it in a pager.

The words stand in a `FindBar` above the composer. The search goes through the log a slice at a time beside the keys,
and goes on while the log grows. `Finding` is the floor of the chat screen that does it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from tui_agent.ui import footer
from tui_agent.ui.chat.places import Places

if TYPE_CHECKING:
    from tui_agent.events import Emit
    from tui_agent.ui import bindings
    from tui_agent.ui.chat.find_bar import FindBar
    from tui_agent.ui.transcript.search import Hit, Search
    from tui_agent.ui.transcript.view import Transcript

_TELL_S = 0.1
"""Seconds between two reports of a search that goes on."""
_PAGER = ("less", "-R")


class Finding(Places):
    """A screen that finds words, turns and outputs in its transcript."""

    def __init__(self, keys: bindings.Keys, tell: Emit) -> None:
        super().__init__(keys, tell)
        self.find_bar: FindBar | None = None
        self.search: Search | None = None
        self._looking: Search | None = None
        """The search that goes on."""
        self._hit: Hit | None = None
        self._hidden = self._wrapped = False
        self._from = -1
        """The message that was at the top of the screen when the search began."""
        self.acts |= {
            "find": self.open_find,
            "earlier_turn": partial(self._turn, -1),
            "later_turn": partial(self._turn, 1),
            "output": self._open_output,
            "pager": self._page_through,
        }

    def slash(self, text: str) -> bool:
        name, _, words = text.strip().partition(" ")
        if name == "/find" and words.strip():
            self.open_find(words.strip())
            return True
        return super().slash(text)

    # --- words

    def open_find(self, words: str = "") -> None:
        """Open the bar, or go to it; begin with these words. The next key is already for it."""
        if self.session is None:
            self.expect(self._find_later(words), "find")
            return
        if self.covered:
            self.work(self._find_instead(words), "find")
            return
        if self.find_bar is None:
            from tui_agent.ui.chat.find_bar import FindBar  # not needed before the first frame

            self.find_bar = FindBar()
            self._from = self._top()
            self.query_one("#chat").mount(self.find_bar, before="#prompt")
        self.set_focus(self.find_bar.words)
        if words:
            self.find_bar.words.value = words
        self.find_bar.words.action_select_all()
        self.show_keys()

    async def _find_later(self, words: str) -> None:
        if await self.opened("find"):
            self.open_find(words)

    async def _find_instead(self, words: str) -> None:
        await self.uncover()
        self.open_find(words)

    async def close_find(self) -> None:
        """Close the bar; the view stays where it is."""
        bar, self.find_bar, self.search, self._hit = self.find_bar, None, None, None
        if bar is not None:
            self.transcript.leave_hits()
            self.set_focus(self.composer)
            await bar.remove()
            self.show_keys()

    def on_find_bar_edited(self, event: FindBar.Edited) -> None:
        event.stop()
        self._begin(event.words)

    def on_find_bar_stepped(self, event: FindBar.Stepped) -> None:
        event.stop()
        self.step(event.by)

    def on_transcript_hit_wanted(self, event: Transcript.HitWanted) -> None:
        event.stop()
        if event.by:
            self.step(event.by)
        elif self.find_bar is not None:
            self.set_focus(self.find_bar.words)

    def find_again(self) -> None:
        """The history is another one: look through it anew."""
        if self.search is not None:
            self._from = self._top()
            self._begin(self.search.words)

    def find_more(self) -> None:
        """The log has grown."""
        if self.search is not None and self.session is not None:
            self.search.grow(self.session.context.shown)
            self._look_on()

    def _top(self) -> int:
        """The message at the top of the screen; what was added since the history was loaded counts as its end."""
        assert self.session is not None
        place = self.transcript.message_at_top()
        return place if place >= 0 else len(self.session.context.history)

    def _begin(self, words: str) -> None:
        from tui_agent.ui.transcript.search import Search  # not needed before the first frame

        assert self.session is not None
        self.search, self._hit = Search(words, self.session.context.shown, self._from), None
        self._hidden = self._wrapped = False
        self.transcript.mark(self.search.pattern, len(words))
        self._tell_found()
        self._look_on()

    def _look_on(self) -> None:
        if self.search is not None and self.search.busy and self._looking is not self.search:
            self._looking = self.search
            self.work(self._look(self.search), "find")

    async def _look(self, search: Search) -> None:
        """Look through the history, a slice at a time, until it is done or other words are wanted."""
        due = 0.0
        while search is self.search and search.busy:
            search.look()
            if self._hit is None and (first := search.first()) is not None:
                self._go(first)
            if (now := monotonic()) >= due:
                self._tell_found()
                due = now + _TELL_S
            await asyncio.sleep(0)
        if search is self.search:
            self._looking = None
            self._tell_found()

    def step(self, by: int) -> None:
        """Go to the next hit (1) or the one before (-1); after the last comes the first."""
        search, hit = self.search, self._hit
        if search is None or hit is None:
            return
        beside = search.beside(hit, by)
        self._wrapped = (beside <= hit) if by > 0 else (beside >= hit)
        self._go(beside)
        self._tell_found()

    def _go(self, hit: Hit) -> None:
        assert self.search is not None and self.session is not None
        found = self.search.find(hit)
        self._hit, self._from = hit, hit.message
        if found is None:
            return
        seen = self.transcript.visit(found, hit.message)
        if seen is None and not self.session.active:
            # nothing on the screen is that message: show what the log holds; it is the one that was searched
            search, self.search = self.search, None
            self.reload()
            self.search = search
            seen = self.transcript.visit(found, hit.message)
        self._hidden = not seen

    def reload(self) -> None:
        """Read the history anew."""
        raise NotImplementedError

    def _tell_found(self) -> None:
        if self.find_bar is not None and self.search is not None:
            self.find_bar.say(self._found_words(self.search))

    def _found_words(self, search: Search) -> str:
        if search.pattern is None:
            return ""
        exact = "" if search.ignores_case else ", case as written"
        if search.busy:
            count = f"{search.total:,} so far" if search.total else "looking"
            return f"{count}, {search.share:.0%}{exact}"
        if self._hit is None:
            return f"no hit{exact}"
        where = ", from the other end" if self._wrapped else ""
        where += ", in what is not shown" if self._hidden else ""
        return f"hit {search.number(self._hit):,} of {search.total:,}{where}{exact}"

    def find_entries(self) -> list[footer.Entry]:
        """What can be pressed while words are looked for."""
        return [
            footer.Entry("Enter", "next hit", "screen.find_step(1)", rank=0),
            footer.Entry("Up", "hit before", "screen.find_step(-1)", rank=0),
            footer.Entry("Tab", "n N in the chat", "screen.focus_chat", rank=2),
            footer.Entry("Esc", "close", "screen.leave", right=True, rank=0),
        ]

    def action_find_step(self, by: int) -> None:
        """Go to a hit, clicked in the footer."""
        self.step(by)

    def action_focus_chat(self) -> None:
        """Give the chat the keys."""
        self.set_focus(self.transcript)

    # --- turns and outputs

    async def _turn(self, by: int) -> None:
        if not await self.transcript.go_to_turn(by):
            self.notify("no earlier turn" if by < 0 else "no later turn", markup=False, timeout=2)

    def _open_output(self) -> None:
        if not self.transcript.open_output():
            self.notify("no call of a tool is on the screen", markup=False, timeout=2)

    # --- the pager

    async def _page_through(self) -> None:
        """Show the whole transcript in the person's pager."""
        if not await self.opened("the pager") or self.session is None:
            return
        if not len(self.session.context.history):
            self.say("there is nothing to read in a pager yet")
            return
        from tempfile import TemporaryFile  # these are not needed before the first frame

        from tui_agent.ui.outside import run_outside
        from tui_agent.ui.transcript.paper import write

        argv = shlex.split(os.environ.get("PAGER", "")) or list(_PAGER)
        if shutil.which(argv[0]) is None:
            self.say(f"the pager {argv[0]} is not here: set PAGER to one that is", "error")
            return
        # without a name: nothing of it is left, however this program ends
        with TemporaryFile("w+", encoding="utf-8") as text:
            await asyncio.to_thread(write, self.session.context.shown, text)
            code = await run_outside(self.app, argv, stdin=text)
        if code:
            self.say(f"{argv[0]} ended with {code}", "warning")
