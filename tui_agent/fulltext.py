"""Words for full-text search in any script: what to store in an FTS5 table, and what to ask it.

FTS5's own tokenizer cuts at spaces and punctuation. That finds nothing inside a Chinese or Thai sentence, which has
no spaces, nor inside `getUserName`. So texts are prepared before they are stored and before they are looked for, in
the same way: scripts without spaces become overlapping pairs of characters, identifiers stand whole and in parts.

    CREATE VIRTUAL TABLE words USING fts5(text, tokenize = <TOKENIZE>)
    INSERT INTO words VALUES (<prepared(text)>)
    SELECT ... FROM words WHERE words MATCH <query(typed)> ORDER BY rank       -- bm25, the best hit first
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TOKENIZE = "\"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\""
"""The tokenizer of the tables, as SQL: marks belong to their letters, accents do not count."""

LONGEST = 64
"""Characters: what is longer without a break is no word (base64, hashes of hashes) and is not stored."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Korean, Japanese, Chinese: written without spaces, or with words glued to words."""

_RUN = re.compile(f"[{_UNSPACED}]+")
_HUMPED = re.compile(r"(\b(?:[A-Z]*+[a-z0-9]++[A-Z]|[A-Z]{2,}+[a-z])[^\W_]*+)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDLESS = re.compile(rf"\b[^\W_]{{{LONGEST + 1},}}+")
_QUOTED = re.compile(r'"([^"]+)"')


def prepared(text: str) -> str:
    """The words of a text as an FTS5 table with `TOKENIZE` stores them."""
    # pairs first: an endless run of Chinese is a sentence, not a hash
    text = _RUN.sub(lambda run: _pairs(run[0]), _plain_form(text))
    return _HUMPED.sub(lambda word: f"{word[0]} {_HUMP.sub(' ', word[0])}", _ENDLESS.sub(" ", text))


def query(typed: str) -> str:
    """What to ask an FTS5 table for: all of the typed words, the last one perhaps not finished yet.

    Words in quotes stand together. Nothing typed is an operator. Empty if nothing typed is a word.
    """
    asked = [phrase for part in _QUOTED.findall(typed) for phrase in _phrases(part, last=False)]
    loose = _QUOTED.sub(" ", typed).split()
    for number, part in enumerate(loose, 1):
        asked += _phrases(part, last=number == len(loose) and not typed.endswith('"'))
    return " AND ".join(asked)


def excerpt(text: str, typed: str, *, before: int = 30, after: int = 90) -> str:
    """The words of a text around the first place where something typed stands, on one line."""
    at = _first(text, typed)
    start = max(0, at - before)
    words = " ".join(text[start : at + after].split())
    return ("…" if start else "") + words + ("…" if at + after < len(text) else "")


def _pairs(run: str) -> str:
    """`日本語` -> `日本 本語 語`: every part of two is a word, every part of one begins one."""
    return " ".join(map("".join, zip(run, f"{run[1:]} ", strict=True))).rstrip()


def _plain_form(text: str) -> str:
    """One form for what looks the same, with spaces around what is written without any."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode(errors="replace").decode())
        text = _RUN.sub(r" \g<0> ", text)
    return text.replace("_", " ").replace("\0", " ")


def _phrases(typed: str, *, last: bool) -> list[str]:
    """What has to be there, as typed between two spaces: words that stand beside each other, and identifiers."""
    pieces = [piece for piece in _HUMPED.split(_plain_form(typed).replace('"', " ")) if _says(piece)]
    made = []
    for number, piece in enumerate(pieces, 1):
        star = " *" if last and number == len(pieces) else ""
        if _HUMPED.fullmatch(piece):
            made.append(f'("{_HUMP.sub(" ", piece)}"{star} OR "{piece}"{star})')
            continue
        words = _RUN.sub(_asked_pairs, piece).strip()
        # a single character is stored alone only where it ends a run
        alone = len(words) == 1 or words[-2:-1] == " "
        made.append(f'"{words}"{star or (" *" if alone and _RUN.fullmatch(words[-1]) else "")}')
    return made


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def _asked_pairs(run: re.Match[str]) -> str:
    """The pairs of a run that may go on in the text, unless something else was typed behind it."""
    goes_on = not _says(run.string[run.end() :])
    pairs = _pairs(run[0])
    return pairs[:-2] if goes_on and len(run[0]) > 1 else pairs


def _first(text: str, typed: str) -> int:
    """Where the longest of the typed words stands that is there, 0 if none is."""
    folded = _folded(text)
    parts = [*_QUOTED.findall(typed), *_QUOTED.sub(" ", typed).split()]
    for part in sorted(parts, key=len, reverse=True):
        words = re.findall(r"\w+", _HUMP.sub(" ", _plain_form(part)))
        pattern = r"[\W_]*".join(re.escape(_folded(word)) for word in words)
        if pattern and (found := re.search(pattern, folded)) is not None:
            return found.start()
    return 0


def _folded(text: str) -> str:
    """The text in small letters without accents, character for character."""
    return text.lower() if text.isascii() else "".join(map(_plain, text))


@lru_cache(4096)
def _plain(character: str) -> str:
    return (unicodedata.normalize("NFKD", character)[0].lower() or character)[0]
