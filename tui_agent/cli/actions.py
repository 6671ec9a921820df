"""What `tui-agent context` can be asked: the actions and their arguments."""

from __future__ import annotations

import argparse

_READING = ("show", "checkpoints", "backups", "tokens", "request")
_WRITING = (
    "compact",
    "summary",
    "revert",
    "restore",
    "undo",
    "redo",
    "clear",
    "pin",
    "unpin",
    "elide",
    "drop",
    "edit",
    "unelide",
)
_ARGUMENT = {
    "revert": "N",
    "restore": "NAME",
    **dict.fromkeys(("pin", "unpin", "elide", "drop", "edit", "unelide"), "ID"),
}

_WHAT = {
    "show": "Show the messages that the next request holds.",
    "checkpoints": "List the checkpoints.",
    "backups": "List the backups that rewrites left.",
    "tokens": "Show what the context weighs and what fills it.",
    "request": "Print the exact JSON that the next prompt would send, or that was sent; or what it is made of.",
    "revert": "Go back to before checkpoint N; what followed is kept as a backup.",
    "restore": "Make a backup the history again; the present one is kept as a backup.",
    "undo": "Take back the last change of history.",
    "redo": "Take back the last undo.",
    "clear": "Begin anew under the same prompt; the history is kept as a backup.",
    "compact": "Summarise the history to make room; it is kept as a backup.",
    "summary": "Show the summary in force, or put another text in its place.",
    "pin": "Pin a record: it is never elided or compacted away.",
    "unpin": "Take the pin off a record.",
    "elide": "Send a few words in place of a record's content; it stays on disk.",
    "drop": "Send nothing of a record; it stays on disk.",
    "edit": "Send another text in place of a prompt's or a result's; what it was stays on disk.",
    "unelide": "Send a record again that was shortened or dropped.",
}


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add every action, with its arguments, to the parser of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name in (*_READING, *_WRITING):
        action = actions.add_parser(name, help=_WHAT[name], description=_WHAT[name], allow_abbrev=False)
        if name in _ARGUMENT:
            action.add_argument("argument", metavar=_ARGUMENT[name])
        if name == "undo":
            action.add_argument(
                "argument",
                nargs="?",
                choices=("later",),
                metavar="later",
                help="what was said since the compaction that is taken back stays behind it",
            )
        if name == "edit":
            action.add_argument("text", metavar="TEXT", help="what is sent instead")
        if name == "summary":
            action.add_argument(
                "argument", nargs="?", default="", metavar="TEXT", help="put this in its place"
            )
        which = action.add_mutually_exclusive_group()
        which.add_argument("--session", metavar="ID", help="a session (default: the last one in this folder)")
        which.add_argument("--path", metavar="FILE", help="a context.jsonl anywhere")
        action.add_argument("--json", action="store_true", help="print data for programs")
        if name in ("request", "compact"):
            action.add_argument("--profile", metavar="P", help="with this profile of settings.toml")
        if name == "compact":
            action.add_argument("--strategy", metavar="S", default="", help="not as settings say, but so")
            action.add_argument(
                "--instruction", metavar="T", default="", help="what the summary should dwell on"
            )
        if name == "request":
            _add_request_to(action)
            action.add_argument(
                "--append-system", metavar="TEXT", default="", help="with this in the system prompt"
            )


def _add_request_to(action: argparse.ArgumentParser) -> None:
    what = action.add_mutually_exclusive_group()
    action.add_argument(
        "number", metavar="N", nargs="?", default="", help="the Nth that was sent (default: the next one)"
    )
    what.add_argument(
        "--manifest", action="store_true", help="what it is made of, and what is left out and why"
    )
    what.add_argument(
        "--diff", metavar=("A", "B"), nargs=2, help="what differs between two: their numbers, or next"
    )
    what.add_argument("--list", action="store_true", help="every request that was sent, with its figures")
