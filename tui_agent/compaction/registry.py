"""The strategies by name: those that ship, and what installed packages offer as entry points.

A package offers one in the group `tui_agent.compaction`; the entry point's name is the strategy's, which settings take
(`compaction.strategy`), and it names a strategy or a callable without arguments that gives one:

    [project.entry-points."tui_agent.compaction"]
    outline = "my_package:Outline"         # name, async compact(source, model) -> CompactionResult

Nothing of a package is imported before it is used, and what it gives back is looked at before it is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.strategy import Compaction, CompactionFailed, CompactionResult
from tui_agent.compaction.summary import Summary
from tui_agent.llm.provider import ProviderError
from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from tui_agent.compaction.strategy import Model, Source

GROUP = "tui_agent.compaction"

Factory = Callable[[], Compaction]


class Nothing:
    """The strategy `none`: everything stays."""

    name = "none"

    async def compact(self, source: Source, model: Model) -> CompactionResult:
        """Change nothing."""
        everything = tuple(message.id for message in source.history)
        return CompactionResult("", everything, source.tokens, source.tokens)


SHIPPED: Mapping[str, Factory] = {"summary": Summary, "extractive": Extractive, "none": Nothing}


def strategies() -> Mapping[str, Factory]:
    """A factory for each strategy by its name; a shipped one is replaced by nobody.

    A package's factory raises CompactionFailed if it offers something that is no strategy. Reads the names of
    installed packages: call it in a thread.
    """
    found: dict[str, Factory] = dict(SHIPPED)
    for point in entry_points(group=GROUP):
        if point.name not in SHIPPED:
            twice = point.name in found
            found[point.name] = _ambiguous(point.name) if twice else _Offered(point)
    return found


def strategy(name: str) -> Compaction:
    """The strategy of that name, ready to be used. Imports a package's: call it in a thread.

    Raises:
        CompactionFailed: there is none, or what a package offers is none.
    """
    known = strategies()
    if name not in known:
        raise CompactionFailed(
            f"there is no compaction strategy {name!r}; there are: {', '.join(sorted(known))}",
            ways=("set compaction.strategy to one of them",),
        )
    return known[name]()


class Guarded:
    """A package's strategy, whose mistakes become CompactionFailed with its name."""

    def __init__(self, inner: Compaction, name: str, origin: str) -> None:
        self._inner = inner
        self._origin = origin
        self.name = name

    async def compact(self, source: Source, model: Model) -> CompactionResult:
        """Let it summarise, and look at what it gives back.

        Raises:
            CompactionFailed: it failed, in whatever way, or its result is none.
            ProviderError: the model could not answer.
        """
        try:
            result = await self._inner.compact(source, model)
        except (CompactionFailed, ProviderError):
            raise
        except Exception as error:
            raise self._failed(f"it raised {type(error).__name__}: {error}") from error
        fault = fault_of(result, source, model)
        if fault:
            raise self._failed(fault)
        return result

    def _failed(self, why: str) -> CompactionFailed:
        return CompactionFailed(
            f"the strategy {self.name!r} of {self._origin} failed: {why}",
            ways=("set compaction.strategy to summary or extractive", f"remove or update {self._origin}"),
        )


def fault_of(result: object, source: Source, model: Model) -> str:
    """What is wrong with a result, in words; empty if nothing is."""
    if not isinstance(result, CompactionResult):
        return f"it gave a {type(result).__name__}, not a CompactionResult"
    summary: object = result.summary
    figures: tuple[object, object] = (result.before, result.after)
    preserved: object = result.preserved
    if not isinstance(summary, str):
        return f"its summary is a {type(summary).__name__}, not text"
    if not all(isinstance(figure, Tokens) for figure in figures):
        return "its figures are not Tokens"
    order = {message.id: at for at, message in enumerate(source.history)}
    named = preserved if isinstance(preserved, (list, tuple)) else (None,)
    if not all(isinstance(name, str) and name in order for name in named):
        return "it preserves what is no message of the history"
    places = [order[name] for name in named]
    if places != sorted(set(places)):
        return "what it preserves is not in the order of the history"
    lost = {message.id for message in source.kept} - set(named)
    if lost:
        return f"it drops {len(lost)} of the {len(source.kept)} messages that must stay"
    if not summary.strip():
        return "" if len(named) == len(order) else "its summary is empty"
    size = model.count(summary)
    if size >= source.tokens.count:
        return f"its summary is larger ({size:,} tokens) than what it replaces ({source.tokens.count:,})"
    return ""


class _Offered:
    """Makes the strategy of an entry point."""

    def __init__(self, point: EntryPoint) -> None:
        self._point = point
        dist = point.dist
        self._origin = (
            f"the package {dist.name} {dist.version}" if dist is not None else "an installed package"
        )

    def __call__(self) -> Compaction:
        try:
            offered = self._point.load()
            made: object = (
                offered if isinstance(offered, Compaction) and not isinstance(offered, type) else offered()
            )
        except Exception as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error
        if not isinstance(made, Compaction):
            raise self._failed(f"{type(made).__name__} has no name and no compact(source, model)")
        return Guarded(made, self._point.name, self._origin)

    def _failed(self, why: str) -> CompactionFailed:
        return CompactionFailed(
            f"the strategy {self._point.name!r} of {self._origin} cannot be used: {why}",
            ways=("set compaction.strategy to summary or extractive", f"remove or update {self._origin}"),
        )


def _ambiguous(name: str) -> Factory:
    def refuse() -> Compaction:
        raise CompactionFailed(
            f"more than one installed package offers a compaction strategy {name!r}",
            ways=("remove one of them", "set compaction.strategy to summary or extractive"),
        )

    return refuse
