"""Code in colours. The lexers are loaded by `warm` in a thread; until then code shows plain."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content

from tui_agent.literal import visible

if TYPE_CHECKING:
    from textual.highlight import HighlightTheme

LONGEST = 16_000
"""Characters of code that are coloured at once; longer code stays plain."""

_COMMON = ("python", "bash", "json", "diff", "javascript", "typescript", "toml", "yaml")

_warm = False
_wanted = False


def warm() -> None:
    """Load the highlighter and the usual lexers: 0.2 s, so call it in a thread. Until it returns, code shows plain."""
    global _warm
    if _warm:
        return
    from textual.highlight import highlight

    for language in _COMMON:
        highlight("x = 1\n", language=language, theme=_colours())
    _warm = True


def wants_warming() -> bool:
    """True if code was shown plain because the highlighter is not loaded."""
    return _wanted and not _warm


def highlighted(text: str, language: str) -> Content:
    """The code as content, coloured if its language is known and the highlighter is loaded."""
    global _wanted
    shown = visible(text.expandtabs(4) if "\t" in text else text)
    if not language or len(shown) > LONGEST:
        return Content(shown)
    if not _warm:
        _wanted = True
        return Content(shown)
    from textual.highlight import highlight

    content = highlight(shown, language=language, theme=_colours())
    # the highlighter splits lines at more characters than newlines; its text must be what was given
    return content if content.plain == shown else Content(shown)


@lru_cache(1)
def _colours() -> type[HighlightTheme]:
    from pygments.token import Token  # type: ignore[import-untyped]
    from textual.highlight import HighlightTheme

    class Colours(HighlightTheme):
        """Only colours that our themes promise can be read."""

        STYLES = {  # noqa: RUF012 - the base class declares it without ClassVar
            Token.Comment: "$text-muted italic",
            Token.Error: "",
            Token.Generic.Deleted: "$text-error",
            Token.Generic.Inserted: "$text-success",
            Token.Generic.Heading: "bold",
            Token.Generic.Subheading: "$text-accent",
            Token.Generic.Strong: "bold",
            Token.Generic.Emph: "italic",
            Token.Keyword: "$text-accent",
            Token.Keyword.Constant: "$text-warning",
            Token.Literal.Number: "$text-warning",
            Token.Literal.String: "$text-success",
            Token.Name.Attribute: "$text-secondary",
            Token.Name.Builtin: "$text-secondary",
            Token.Name.Class: "bold $text-primary",
            Token.Name.Decorator: "$text-secondary",
            Token.Name.Function: "$text-primary",
            Token.Name.Tag: "$text-primary",
            Token.Operator.Word: "$text-accent",
        }

    return Colours
