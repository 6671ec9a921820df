"""Is this text a summary of that source? What fails here must never stand in for a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent.compaction.sections import SECTIONS, is_nothing, sections
from tui_agent.compaction.strategy import CompactionFailed

if TYPE_CHECKING:
    from tui_agent.compaction.source import Item
    from tui_agent.compaction.strategy import Model, Source

WAYS = (
    "try again (/compact)",
    "compact without a model: set compaction.strategy to extractive",
    "go on as it is",
)

_LEAST, _LEAST_OF_MUCH = 8, 60
"""Tokens a summary has at least: a two-hundredth of what it replaces, within these bounds."""
_LONG = 1_200
"""Characters from which on a text is not taken for an error because of how it begins."""
_SHORT = 200
"""Characters that an acknowledgement has at most."""
_OTHER_SCRIPT = 0.6
"""Difference of the shares of a script from which on two texts are in different languages."""
_PASTED = 10_000
_SHOWN = 80

_ACKNOWLEDGED = re.compile(
    r"(?:\W*(?:ack\w*|ok(?:ay)?|done|yes|sure|understood|noted|got it|roger|certainly|of course|thanks?|thank you|"
    r"received|acknowledged|i(?:'ll| will| have| am|'m)\b[^.!\n]{0,60}"
    r"|好的?|明白了?|收到|知道了|はい|了解\w*|承知\w*)){1,4}\W*",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\s*(?:```\w*\s*)?(?:"
    r"<!doctype|<html|<\?xml|\{\s*\"?(?:error|type\"?\s*:\s*\"error|detail|message)\b"
    r"|(?:api |http |internal |server |upstream |gateway |fatal |runtime |stream )*"
    r"(?:error|exception|failure)\b\s*[:(\d-]"
    r"|\d{3} (?:bad|too many|internal|service|gateway|unauthori[sz]ed|forbidden|not found|payment|request)\b"
    r"|(?:too many requests|rate limit|service unavailable|bad gateway|gateway time-?out|upstream connect error"
    r"|request timed out|connection (?:refused|reset|error)|overloaded|context length exceeded|prompt is too long"
    r"|traceback \(most recent call last\))"
    r"|i(?:'m| am) (?:sorry|afraid|unable)\b|sorry[,.]|i (?:cannot|can't|can not|won't|will not|am not able)\b"
    r"|as an ai\b|抱歉|对不起|我无法|申し訳|すみません)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![\w/.-])(?:[\w@~.+-]*/)*[\w@+-][\w@+.-]+\.[A-Za-z]\w{0,7}\b(?![\w/])")
"""What looks like the path of a file; not `e.g.` and the like."""
_WEB = re.compile(r"https?://\S+")
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+|[A-Za-z]+\d\w*)\b")
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4,}")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_COMMON_WORDS = (
    "about after again also another answer anything asked asks back because been before being both call called calls "
    "change changed changes code could current decided decision does done each else error errors every everything "
    "exactly failed file files find first following from further give goal good have here into just keep know last "
    "like line lines list look made make many message more most much must name names need needed needs never newest "
    "next none nothing now only open other over part please project question questions read request result results "
    "said same says should show since some something state step still such summary sure take tell test tests text "
    "than that their them then there these they thing things this those through time today tool tools tried under "
    "until update user using very want wanted wants was well were what when where which while will with without word "
    "words work working would write written wrong your"
)
"""Words of four letters and more that any two conversations share."""
_COMMON = frozenset(_COMMON_WORDS.split())
_NAMES_CHECKED = 3
"""So many foreign names of files make a summary foreign."""
_WORDS_NEEDED = 5
"""With fewer telling words on either side they are not compared."""


def check(text: str, source: Source, found: Sequence[Item], model: Model) -> None:
    """Let pass what may stand for the source, whose items are `found`.

    Raises:
        CompactionFailed: it may not; says why.
    """
    fault = _fault(text, source, found, model)
    if fault:
        raise CompactionFailed(f"the summary was not used: {fault}", ways=WAYS)


def check_form(text: str) -> None:
    """Let pass what is a text about something: neither nothing, nor an error, nor an acknowledgement.

    Raises:
        CompactionFailed: it is none; says what it is.
    """
    fault = _form(text)
    if fault:
        raise CompactionFailed(f"the summary was not used: {fault}", ways=WAYS)


def remarks(text: str, found: Sequence[Item]) -> list[str]:
    """What a person should know of a summary that may be used."""
    said = []
    there = sections(text)
    if missing := [name for name in SECTIONS if name not in there]:
        said.append(f"the summary has no section: {', '.join(missing)}")
    if _in_another_language(text, found):
        said.append("the summary is not in the language that you write in")
    return said


def _in_another_language(text: str, found: Sequence[Item]) -> bool:
    """The user wrote in a script without spaces and the summary does not, or the other way round."""
    asked = _asked(found)
    return abs(_wide_share(asked) - _wide_share(text)) > _OTHER_SCRIPT and len(asked) > _SHORT


def _asked(found: Sequence[Item]) -> str:
    """What a person said; of what they pasted the beginning."""
    return "\n".join(item.text[:_PASTED] for item in found if item.words)


def _wide_share(text: str) -> float:
    """How much of its letters are of scripts that part no words; one of them says as much as three others."""
    wide = 3 * sum(map(len, _WIDE.findall(text)))
    return wide / max(1, wide + sum(map(len, _WORD.findall(text))))


def _fault(text: str, source: Source, found: Sequence[Item], model: Model) -> str:
    if fault := _form(text):
        return fault
    size = model.count(text)
    if size >= source.tokens.count:
        return f"it is larger ({size:,} tokens) than what it was to replace ({source.tokens.count:,})"
    least = min(_LEAST_OF_MUCH, max(_LEAST, source.tokens.count // 200))
    if size < least:
        return f"it has {size} tokens, too few for {source.tokens.count:,}: {_start(text)}"
    return _foreign(text, found, source)


def _form(text: str) -> str:
    if not text.strip():
        return "the model gave no text"
    if len(text) < _SHORT and _ACKNOWLEDGED.fullmatch(text.strip()):
        return f"it only acknowledges: {_start(text)}"
    if _ERROR.match(text) and len(text) < _LONG and not sections(text):
        return f"it is an error, not a summary: {_start(text)}"
    if (parts := sections(text)) and all(is_nothing(part) for part in parts.values()):
        return "there is nothing under its headings"
    return ""


def _foreign(text: str, found: Sequence[Item], source: Source) -> str:
    """Why the text seems to be of another conversation, as far as that can be told; or nothing."""
    known = "\n".join([*(item.text for item in found), *_around(source)])
    folded = known.casefold()
    names = list(dict.fromkeys(match.casefold() for match in _NAME.findall(_WEB.sub(" ", text))))
    strange = [name for name in names if name not in folded and name.rsplit("/", 1)[-1] not in folded]
    if len(strange) >= _NAMES_CHECKED and len(strange) * 2 > len(names):
        return f"it is about something else: it names {', '.join(strange[:3])}, which occur nowhere in the conversation"
    if len(strange) < len(names) or any(name in known for name in set(_IDENTIFIER.findall(text))):
        return ""
    asked = _asked(found)
    for telling in (_words, _pairs):
        theirs, ours = telling(asked), telling(text)
        if min(len(theirs), len(ours)) >= _WORDS_NEEDED:
            return "" if theirs & ours else f"it has no word of what the user asked for: {_start(text)}"
    return ""


def _around(source: Source) -> Iterator[str]:
    """What a summary may speak of besides what it replaces."""
    yield source.ledger
    yield source.instruction
    yield from source.pending
    for block in source.system:
        yield str(block.get("text", ""))
    for message in source.kept:
        yield str(message.content)


def _words(text: str) -> set[str]:
    """Its words that are not common to all conversations, in scripts that part words."""
    return {word for word in (found.casefold() for found in _WORD.findall(text)) if word not in _COMMON}


def _pairs(text: str) -> set[str]:
    """Its neighbouring characters, in scripts that part no words."""
    return {run[at : at + 2] for run in _WIDE.findall(text) for at in range(len(run) - 1)}


def _start(text: str) -> str:
    return repr(" ".join(text.split())[:_SHOWN])
