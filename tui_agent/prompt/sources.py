"""Sources of what the model is told: rules of the settings, files that changed on disk, and how full the context is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.changes import Rotated
from tui_agent.literal import one_line
from tui_agent.prompt.injections import newest
from tui_agent.prompt.telling import Moment, Told, fenced, reminder
from tui_agent.workspace import guard

if TYPE_CHECKING:
    from tui_agent.context.reading import Shown
    from tui_agent.events import Event
    from tui_agent.workspace.reads import Changed, Reads

_LISTED = 30
"""At most so many files are named."""
_LOOKED_AT = 400
"""Of a log that was begun in an earlier run so many of the newest results are looked at for what was read."""
_PATH_CHARACTERS = 300
_SHORT = 40
"""Characters of a path in the few words for a person."""

LEVELS = (75, 50)
"""Per cent of the weight at which a summary is due: from these on the model is told how full the context is."""
_SLACK = 5
"""Per cent: so far below a level what was told of it still holds, so that it is not told and taken back in turn."""

_RULES = "Rules of the person's own, from their settings. They hold until you are told otherwise:"
_NO_RULES = reminder(
    "The person has taken the rules out of their settings: those you were told do not hold any more."
)

_CHANGED = (
    "Files that you have read are different on disk by now, changed by the person or by a program. "
    "What you know of these is out of date; read them again before you rely on it. This list takes the place of any "
    "before it:"
)
_OTHER_HISTORY = frozenset({"clear", "undo", "redo", "restore", "reload"})
"""Rewrites after which the model may know other files; what a reverted turn read is known still."""
_BACK = reminder("The files that had changed on disk are again as you have read them.")

_NOT_FULL = reminder("The context is no longer as full as you were told.")


class OwnRules:
    """Tells the rules of the settings, as they are now."""

    name = "rules"
    priority = 85

    def __init__(self, rules: Callable[[], Sequence[str]]) -> None:
        self._rules = rules

    def generate(self, moment: Moment) -> Told:
        """All of them in one text."""
        rules = [" ".join(rule.split()) for rule in self._rules() if rule.strip()]
        if not rules:
            return Told("", _NO_RULES, short="rules taken back")
        count = f"{len(rules)} rule{'' if len(rules) == 1 else 's'}"
        return Told(reminder(_RULES, *(f"- {fenced(rule)}" for rule in rules)), short=count)

    def on_compacted(self) -> None:
        """They are read from the settings each time."""


class ChangedFiles:
    """Tells which of the files that the model read are different on disk: once for each change of one.

    What our own tools write counts as read. `root` is the workspace.
    """

    name = "files"
    priority = 60

    def __init__(self, reads: Reads, root: Path) -> None:
        self._reads = reads
        self._root = root
        self._looked = False

    def generate(self, moment: Moment) -> Told | None:
        """One text of all that differ; None while none does, and none was told that is back as it was read."""
        if not self._looked:
            self._looked = True
            self._look_back(moment.context)
        stale = self._reads.stale()
        told = newest(moment.context, self.name)
        if not stale:
            back = told is not None and self._is_back(_files(told[1]))
            return Told("", _BACK, short="files as they were read") if back else None
        lines = [self._line(one) for one in stale[:_LISTED]]
        if len(stale) > _LISTED:
            lines.append(f"- and {len(stale) - _LISTED} more")
        files = [{"path": str(one.path), "known": one.known, "now": one.now} for one in stale]
        only = guard.relative(self._root, stale[0].path) if len(stale) == 1 else ""
        count = f"{one_line(only, _SHORT)} changed" if only else f"{len(stale)} files changed"
        version = " ".join(f"{one['known']}-{one['now']}" for one in files)
        return Told(reminder(_CHANGED, *lines), fields={"files": files}, version=version, short=count)

    def on_compacted(self) -> None:
        """What was read is known still."""

    def hear(self, event: Event) -> None:
        """After a clear the model knows no file; what comes back with its history is looked for anew."""
        if isinstance(event, Rotated) and event.op in _OTHER_HISTORY:
            if event.op == "clear":
                self._reads.forget()
            self._looked = False

    def _line(self, one: Changed) -> str:
        name = fenced(one_line(guard.relative(self._root, one.path), _PATH_CHARACTERS))
        return f"- {name}" if one.now else f"- {name} (it is gone, or cannot be read)"

    def _is_back(self, files: Sequence[Mapping[str, Any]]) -> bool:
        """True if one of the files that were told is as the model knew it then; not if it has read it anew since."""
        return any(self._reads.content(Path(str(one.get("path")))) == one.get("known") for one in files)

    def _look_back(self, context: Shown) -> None:
        """Take over what the model read in an earlier run, the newest of each file."""
        for record in islice(context.newest_of("tool"), _LOOKED_AT):
            meta = record.body.get("meta")
            seen = meta.get("seen") if isinstance(meta, Mapping) else None
            for name, content in seen.items() if isinstance(seen, Mapping) else ():
                if isinstance(content, str) and content:
                    self._reads.note_earlier(self._root / str(name), content)
        told = newest(context, self.name)
        for one in _files(told[1]) if told is not None else ():
            self._reads.note_earlier(Path(str(one.get("path"))), str(one.get("known") or ""))


def _files(source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    files = source.get("files")
    return [one for one in files if isinstance(one, Mapping)] if isinstance(files, list) else []


class Budget:
    """Tells at a half and at three quarters of the weight at which a summary is due how full the context is."""

    name = "budget"
    priority = 40

    def generate(self, moment: Moment) -> Told | None:
        """The level that is reached; one that was told holds until the weight is clearly below it."""
        if moment.total is None or moment.trigger <= 0:
            return None
        share = 100 * moment.total.count / moment.trigger
        told = newest(moment.context, self.name)
        before = told[1].get("level") if told is not None else None
        level = next((one for one in LEVELS if share >= one - (_SLACK if one == before else 0)), 0)
        if not level:
            return Told("", _NOT_FULL, short="context less full")
        text = reminder(
            f"The context is over {level} % of the {moment.trigger:,} tokens at which the conversation is summarised. "
            "Read parts of files and search rather than read whole ones, and keep commands from printing much. What "
            "must outlive the summary belongs in files or in the todo list."
        )
        return Told(text, _NOT_FULL, {"level": level}, short=f"context over {level} %")

    def on_compacted(self) -> None:
        """The weight is looked at each time."""
