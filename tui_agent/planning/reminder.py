"""A text that no person wrote, as the model is sent it: between tags that nothing in it can close."""

from __future__ import annotations

import re

_TAG = re.compile(r"[<＜﹤‹⟨](?=\s*/?\s*(?:system-reminder|plan)\b)", re.IGNORECASE)


def reminder(*parts: str) -> str:
    """Paragraphs between the tags of a reminder."""
    text = "\n\n".join(parts)
    return f"<system-reminder>\n{text}\n</system-reminder>"


def inert(text: str) -> str:
    """Words of a model, a person or a file in which no tag of a reminder begins or ends."""
    return _TAG.sub("[", text)
