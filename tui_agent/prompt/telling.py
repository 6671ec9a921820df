"""What a source of injections is, what it may go by, and what it tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.context.reading import Shown
    from tui_agent.prompt.manifest import Total


class Told(Struct, frozen=True):
    """What a source has to tell: its text, empty if nothing. `withdrawn` is said if it had told something before.

    `fields` go into the record beside the name. `version` tells apart what is told in the same words. `about` is what
    it tells of, where a source tells of several things, each by itself. `short` says it in a few words for a person.
    `own`: however much it is like what was told under another name, it is told.
    """

    text: str
    withdrawn: str = ""
    fields: Mapping[str, Any] = {}
    version: str = ""
    about: str = ""
    short: str = ""
    own: bool = False


class Moment(Struct, frozen=True):
    """What a source may go by: the log as it stands behind a person's words, and figures in tokens.

    `words` are those said since sources were asked last, "" where nobody spoke. `total` is the weight of what would be
    sent without injections, `window` the model's, `trigger` the weight at which a summary is due (0: not known), `room`
    what may be told before the request is too large (None: not known).
    """

    context: Shown
    words: str = ""
    total: Total | None = None
    window: int = 0
    trigger: int = 0
    room: int | None = None


class InjectionSource(Protocol):
    """Something that changes from turn to turn. `priority` is 0 to 100, higher first; third parties have 60 at most."""

    @property
    def name(self) -> str:
        """What it is called in the log and on the screen; no two have the same."""
        ...

    @property
    def priority(self) -> int:
        """How much it matters: what has the highest is told first, and what has a low one may be left out."""
        ...

    def generate(self, moment: Moment) -> str | Told | Sequence[Told] | None:
        """What there is to tell now; None where it cannot say or nothing is new: all stays as it was told.

        Runs in a thread and may block for as long as the limit.
        """
        ...

    def on_compacted(self) -> None:
        """The history was compacted: what it goes by may be gone."""
        ...


_OWN = re.compile(r"<(?=\s*/?\s*(?:system-reminder|skill)\b)", re.IGNORECASE)


def reminder(*parts: str) -> str:
    """What the program says to the model, marked so that it is not taken for the person's words."""
    return "\n".join(["<system-reminder>", *parts, "</system-reminder>"])


def fenced(text: str) -> str:
    """Text from elsewhere: nothing in it looks like the end of what tells it, or the beginning of another."""
    return _OWN.sub("&lt;", text)
