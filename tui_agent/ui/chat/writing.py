"""What is written and sent: the composer's messages become prompts, its completions, its draft on disk.

Prompts go to the session one after the other. Until it is attached they wait, and so do drafts and pictures.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Literal

from textual import work

from tui_agent.commands import CommandError
from tui_agent.events import QueuedPrompt
from tui_agent.ui import words as figures
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.completion import Candidate, Completion, Word, matching_commands
from tui_agent.ui.chat.ladders import Ladders
from tui_agent.ui.chat.queue import QueueLine
from tui_agent.ui.commands import listed

if TYPE_CHECKING:
    from pathlib import Path

    from textual import events
    from textual.timer import Timer

    from tui_agent.agent.session import Session
    from tui_agent.changes import Rotated
    from tui_agent.events import Emit
    from tui_agent.ui import bindings
    from tui_agent.ui.chat.composer import Composer
    from tui_agent.ui.chat.files import Files
    from tui_agent.ui.chat.keep import Keep
    from tui_agent.ui.commands import Listed

_KEEP_AFTER = 1.0
"""Seconds after a change until the draft is written."""
_MOST_VALUES = 60
"""Checkpoints or backups that are looked through for an argument."""


class Writing(Ladders):
    """A screen with a composer that sends to its session."""

    def __init__(self, keys: bindings.Keys, workspace: Path, tell: Emit) -> None:
        super().__init__(keys, tell)
        self.queue_line = QueueLine(id="queue")
        self.composer.workspace = workspace
        self._keep: Keep | None = None
        self._keep_timer: Timer | None = None
        self._given = Prompt()
        """What going back put into the composer."""
        self._sending = asyncio.Lock()
        self._outside: Path | None = None
        """The file in which an editor has the draft."""
        self.acts |= {"search_sent": self._want_search, "editor": self._edit_outside}

    @cached_property
    def _files(self) -> Files:
        """The files of the workspace, looked for when the first is to be completed."""
        from tui_agent.ui.chat.files import Files

        return Files(self.composer.workspace)

    # --- the session comes

    async def offer_draft(self, session: Session) -> None:
        """Offer what was written last time and not sent; from now on it is kept."""
        from tui_agent.ui.chat.keep import Keep  # not needed before the first frame

        self.composer.picture = session.picture
        keep = Keep(session.folder, lambda text: self.say(text, "warning"))
        entries, draft = await keep.load()
        self._keep = keep
        self.keep_soon()  # something may have been written meanwhile
        self.composer.past.extend_before(entries)
        if not draft:
            return
        count = len(draft.queue) + bool(draft.prompt)
        what = (
            f"{count} unsent prompts" if count > 1 else "unsent words" if draft.prompt else "an unsent prompt"
        )
        if self.composer.is_blank:
            self.composer.show(draft.whole)
            self.say(f"{what} of last time: in the composer again; Enter sends, ctrl+c clears")
        else:
            self.composer.past.add(draft.whole)
            self.say(f"{what} of last time: Up brings them back")

    async def send_early(self) -> None:
        """Send what was written before the session was open, and begin what was asked for, in their order."""
        self.opening = False
        early, self._early = self._early, []
        for each in early:
            if not isinstance(each, asyncio.Future):
                await self._submit(*each)
            elif not each.done():
                each.set_result(True)
                await asyncio.sleep(0)  # who waited goes on
                await asyncio.sleep(0)  # and what it may have given to a worker begins

    def words_back(self, event: Rotated) -> None:
        """What was said at the checkpoint gone back to is offered anew; an undo takes it back."""
        if event.op == "undo" and self._given and self.composer.draft == self._given:
            # the words of the turn are back in the chat
            self.composer.take(remember=False)
        self._given = Prompt()
        if event.words and event.op == "revert":
            said = self.composer.past.folded(event.words, event.images)
            if self.composer.is_blank:
                self.composer.offer(said)
                self._given = self.composer.draft
            else:
                self.composer.past.add(said)
                self.say("the words of that turn: Up brings them back")

    # --- sending

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        event.stop()
        prompt = event.prompt
        if self._keep is not None:
            self.work(self._keep.sent(prompt), "keep")
        called = bool(prompt.pictures) and prompt.words.startswith("/skill ")  # a command would lose them
        if not called and (self.slash(prompt.words) or self.bang(prompt.words)):
            return
        if self.session is None:
            self._early.append((prompt, event.when))
            early = [each for each in self._early if not isinstance(each, asyncio.Future)]
            waiting = [
                QueuedPrompt(f"early{number}", prompt.words, when)
                for number, (prompt, when) in enumerate(early)
            ]
            self.queue_line.show(waiting, starting=True)
        else:
            self.work(self._submit(prompt, event.when), "submit")
        self.transcript.action_scroll_end()

    async def _submit(self, prompt: Prompt, when: Literal["step", "turn"]) -> None:
        assert self.session is not None
        try:
            async with self._sending:
                was_busy = self.session.busy
                await self.session.submit(prompt.words, when=when, images=prompt.pictures)
                if not was_busy and self.session.busy and self.status.facts.since is None:
                    # the turn is told of once its words are on disk, which waits for servers that are slow to start
                    self.status.begin("starting")
        except CommandError as error:
            self.say(str(error), "error")
            if self.composer.is_blank:
                self.composer.show(prompt)

    def take_back(self, waiting: QueuedPrompt) -> None:
        """Put a prompt that waited into the composer; a draft that is there is kept behind Up."""
        if not self.composer.is_blank:
            self.composer.take()
            self.say("the draft that was in the composer: Up brings it back")
        self.composer.show(self.composer.past.folded(waiting.text, waiting.images))
        self.set_focus(self.composer)

    # --- the composer

    def on_composer_edited(self, event: Composer.Edited) -> None:
        event.stop()
        if self.leading and event.pressed > self.led:  # else it was typed before the leader key
            self.lead(False)
        writing = bool(self.composer.text) and not self.composer.searching
        self.queue_line.write(writing and self.session is not None and self.session.busy)
        self.keep_soon()
        self._complete()
        self._fit()

    @work(group="complete", exclusive=True, exit_on_error=False)
    async def _complete(self) -> None:
        composer = self.composer
        word = composer.word()
        if word is None:
            self.completion.close()
        elif word.kind == "command":
            await self._complete_command(word)
        elif word.kind == "argument":
            usage = next((c for c in self._listed() if word.command in (c.name, *c.names)), None)
            values = await self._values(usage.argument, word.typed) if usage is not None else []
            if composer.word() != word:
                return
            if values:
                self.completion.offer(word, values)
            else:
                self.completion.tell(word, usage)
        elif word.kind == "file":
            found = await self._files.match(word.typed)
            if composer.word() == word:
                self.completion.offer(word, found)
        else:
            sent = await asyncio.to_thread(composer.past.search, word.typed)
            if composer.word() == word:
                found = [Candidate("", prompt.text.strip(), prompt=prompt) for prompt in sent]
                self.completion.offer(word, found, empty="nothing that you sent here has these words")
        composer.found()
        self.show_keys()

    async def _complete_command(self, word: Word) -> None:
        """Offer commands, and skills as soon as they are read: before them if no command begins so."""
        commands = self._listed()
        found = matching_commands(word.typed, commands)
        self.completion.offer(word, found)
        names = {name for command in commands for name in (command.name, *command.names)}
        skills = [
            Candidate(f"/{name} ", f"/{name} [WORDS]", words, names=(name,))
            for name, words in (await self._skills(word.typed) if word.typed else ())
            if name not in names
        ]
        if skills and self.composer.word() == word and not self.completion.moved:
            begins = any(name.startswith(word.typed) for name in names)
            self.completion.offer(word, [*found, *skills] if begins else [*skills, *found])

    async def _values(self, argument: str, typed: str) -> list[Candidate]:
        """What can stand for an argument: turns to go back to and backups to restore, newest first; skills by name."""
        if self.session is None:
            return []
        context = self.session.context
        match argument:
            case "CHECKPOINT":
                turns = (
                    point for point in reversed(context.checkpoints()) if str(point.id).startswith(typed)
                )
                newest = (turn for turn in islice(turns, _MOST_VALUES) if turn.turn)
                found = [(str(turn.id), figures.said_at(turn.words)) for turn in newest]
            case "BACKUP":
                kept = [backup for backup in context.backups() if backup.name.startswith(typed)]
                found = [
                    (backup.name, f"{backup.op}, {figures.clock(backup.at)}, {figures.size(backup.bytes)}")
                    for backup in kept[:_MOST_VALUES]
                ]
            case "[NAME [WORDS]]":
                begun = typed.casefold()
                skills = (await asyncio.to_thread(self.session.premises.skills)).skills
                found = [
                    (one.name, one.description) for one in skills if one.name.casefold().startswith(begun)
                ]
            case _ if argument.startswith("[TEXT or pause"):
                from tui_agent.ui.chat.goal import WORDS  # not needed before the first frame

                found = [(word, words) for word, words in WORDS if word.startswith(typed)]
            case _:
                return []
        return [Candidate(value, value, words, True, (value,)) for value, words in found]

    async def _skills(self, typed: str) -> list[tuple[str, str]]:
        """The skills and the servers' prompts whose names begin so, and what each is for."""
        if self.session is None:
            return []
        skills = (await asyncio.to_thread(self.session.premises.skills)).skills
        found = [(one.name, one.description) for one in skills]
        if self.session.servers is not None:
            found += [(one.name, one.description) for one in self.session.servers.prompts()]
        begun = typed.casefold()
        return [(name, words) for name, words in found if name.casefold().startswith(begun)]

    def _listed(self) -> list[Listed]:
        return listed(self.session.commands if self.session is not None else ())

    def on_completion_taken(self, event: Completion.Taken) -> None:
        event.stop()
        self.composer.complete(event.candidate)
        self.set_focus(self.composer)

    def on_composer_wanted(self, event: Composer.Wanted) -> None:
        event.stop()
        self.act(event.action)

    def on_composer_trouble(self, event: Composer.Trouble) -> None:
        event.stop()
        self.say(event.text, "warning")

    def on_paste(self, event: events.Paste) -> None:
        """A paste that nobody wanted is the composer's."""
        event.stop()
        self.composer.post_message(event)

    def _want_search(self) -> None:
        self.expect(self._search_sent(), "act-search_sent")

    async def _search_sent(self) -> None:
        if self.jump is not None:
            await self.close_jump()
        await self.uncover()
        self.set_focus(self.composer)
        self.composer.search()
        self.show_keys()

    def action_take_found(self) -> None:
        """Take the marked one of what was sent before, clicked in the footer."""
        if self.completion.candidate is not None:
            self.composer.complete(self.completion.candidate)

    async def _edit_outside(self) -> None:
        from tui_agent.ui.chat import editor  # not needed before the first frame

        composer = self.composer
        taken = asyncio.Event()
        composer.call_later(taken.set)
        await taken.wait()  # keys that are on their way to the composer
        composer.leave_search()
        before = composer.prompt
        try:
            text = await editor.edited(self.app, before.unfolded, self._edits_in)
        except editor.NotEdited as reason:
            self.say(str(reason), "warning")
            return
        finally:
            self._edits_in(None)
        now = composer.prompt
        if now != before:
            composer.past.add(now)
            self.say("what came into the composer meanwhile: Up brings it back")
        composer.show(before.rewritten(text))
        self.set_focus(composer)

    def _edits_in(self, path: Path | None) -> None:
        self._outside = path

    # --- the draft on disk

    def keep_soon(self) -> None:
        """Write the draft a moment from now."""
        if self._keep is not None and self._keep_timer is None:
            self._keep_timer = self.set_timer(_KEEP_AFTER, self._keep_now)

    async def _keep_now(self) -> None:
        self._keep_timer = None
        await self.keep()

    async def keep(self) -> None:
        """Write the draft and the queue now."""
        if self._keep is not None:
            from tui_agent.ui.chat.history import Draft

            past = self.composer.past
            waiting = tuple(past.folded(p.text, p.images) for p in self.queue_line.prompts)
            await self._keep.draft(Draft(self._draft(), waiting))

    def _draft(self) -> Prompt:
        """What is being written; in an editor, what was saved there: the program may end before it does."""
        draft = self.composer.draft
        if self._outside is None:
            return draft
        from tui_agent.ui.chat import editor

        text = ""
        with contextlib.suppress(OSError):
            text = editor.saved(self._outside)  # not in a thread: the editor's end takes the file away
        return draft.rewritten(text) if text.strip() else draft  # an empty one may be about to be written

    def _fit(self) -> None:
        """Share the rows out again."""
        raise NotImplementedError
