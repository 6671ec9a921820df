"""Sources of injections that installed packages offer.

A package offers one in the group `tui_agent.injections`; the entry point's name is the source's, and it names a source
or a callable without arguments that gives one:

    [project.entry-points."tui_agent.injections"]
    weather = "my_package:Weather"       # priority, generate(moment) -> str | Told | None, on_compacted()

Nothing of a package is imported before a turn asks for it, and one that fails is left out with a notice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui_agent.prompt.asking import Fault, tellings
from tui_agent.prompt.telling import fenced, reminder

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tui_agent.prompt.telling import InjectionSource, Moment, Told

GROUP = "tui_agent.injections"

HIGHEST = 60
"""The highest priority that a package's source may have."""
_LONGEST = 64 * 1024
"""Characters of one text; of a package that tells more nothing is told."""

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_FROM = "From a package that the person has installed:"
"""The same for all, so that two that tell the same are seen to."""


class Extension:
    """The source of a package, under the name of its entry point. What it tells is marked as what it is."""

    def __init__(self, name: str, inner: Any) -> None:
        self.name = name
        self.priority = max(0, min(HIGHEST, int(getattr(inner, "priority", 0))))
        self._inner = inner

    def generate(self, moment: Moment) -> Sequence[Told]:
        """What the package tells.

        Raises:
            Fault: it is nothing that can be told.
        """
        return [self._marked(told) for told in tellings(self._inner.generate(moment))]

    def on_compacted(self) -> None:
        """Tell the package, if it wants to hear."""
        hear = getattr(self._inner, "on_compacted", None)
        if hear is not None:
            hear()

    def _marked(self, told: Told) -> Told:
        if len(told.text) > _LONGEST:
            raise Fault(f"gave {len(told.text):,} characters; at most {_LONGEST:,} are told")
        texts = {"text": told.text, "withdrawn": told.withdrawn}
        marked = {name: reminder(_FROM, fenced(text.strip())) for name, text in texts.items() if text.strip()}
        return replace(told, **marked)


def offered(known: frozenset[str], report: Callable[[str], None]) -> Iterator[InjectionSource]:
    """The sources of installed packages, none under a name that is `known`; `report` is told of what cannot be used.

    Reads the names of installed packages and imports those that offer some: call it in a thread.
    """
    from importlib.metadata import entry_points  # takes long, and only a turn needs it

    taken = set(known)
    for point in entry_points(group=GROUP):
        try:
            if not _NAME.fullmatch(point.name):
                raise ValueError("a name has letters, digits, - . and _, at most 64 of them")
            if point.name in taken:
                raise ValueError("there is another source of that name")
            taken.add(point.name)
            yield _made(point)
        except BaseException as error:  # noqa: BLE001 - a package may raise whatever it likes
            report(
                f"reminders of {point.name} ({_origin(point)}) cannot be used: {type(error).__name__}: {error}"
            )


def _made(point: EntryPoint) -> Extension:
    found = point.load()
    inner = found() if isinstance(found, type) or not hasattr(found, "generate") else found
    if not callable(getattr(inner, "generate", None)):
        raise TypeError(f"{type(inner).__name__} has no generate(moment)")
    return Extension(point.name, inner)


def _origin(point: EntryPoint) -> str:
    return (
        f"the package {point.dist.name} {point.dist.version}"
        if point.dist is not None
        else "an installed package"
    )
