"""The message that stands for what was replaced: the summary, and what is certain by the log.

It is of the user's role, since the API knows no other, so its first words say that no person wrote it.
"""

from __future__ import annotations

import re

from tui_agent.compaction.sections import IN_PROGRESS

_NOTE = (
    "This message is from the program, not from the user. To make room, the conversation up to here was replaced by "
    "the summary below; it reports and asks nothing. Some messages from before stand behind it word for word. Where "
    "they say otherwise than the summary, they count. Those of the user are kept for their wording: what came of the "
    f'earlier ones is in the summary, and only the newest, and what stands under "{IN_PROGRESS}", may still be open.'
)
_LOG = "These facts are from the program's own log; where the summary says otherwise, they count."
_TAG = re.compile(r"<(/?(?:compacted|summary|log)\b[^<>\n]*)>", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>\n(.*)\n</summary>", re.DOTALL)


def handover(summary: str, *, ledger: str = "") -> str:
    """The text of that message. `ledger` are the facts in words. Neither can close its own part or open another."""
    parts = [_NOTE, f"<summary>\n{_closed(summary)}\n</summary>"]
    if ledger:
        parts += [_LOG, f"<log>\n{_closed(ledger)}\n</log>"]
    return "<compacted>\n{}\n</compacted>".format("\n\n".join(parts))


def summary_of(text: str) -> str:
    """The summary in such a message's text; the text itself where another program wrote it."""
    found = _SUMMARY.search(text)
    return found[1].strip() if found else text.strip()


def _closed(text: str) -> str:
    return _TAG.sub(r"[\1]", text.strip())
