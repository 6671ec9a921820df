"""The arguments of each command, and what `--help` says of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from tui_agent import __version__
from tui_agent.cli.failures import Usage

COMMANDS = ("sessions", "inspect", "context", "memory", "mcp", "doctor")

_EPILOG = """commands (tui-agent COMMAND --help says more):
  tui-agent sessions      list, search, rename, archive, delete and bring back sessions
  tui-agent inspect PATH  look into any context.jsonl
  tui-agent context       see and change the context of a session
  tui-agent memory        see and change what is remembered for you and this workspace
  tui-agent mcp           list the MCP servers, and what their tools cost
  tui-agent doctor        say what is wrong, and mend it

Settings and sessions lie in the folder that TUI_AGENT_HOME names, if it is set."""


def parse(command: str | None, argv: Sequence[str]) -> argparse.Namespace:
    """The options that these arguments of a command give; None: of `tui-agent` without one.

    Raises:
        SystemExit: there is nothing to run: they are wrong, or help was asked for; a person has been told.
    """
    return _PARSERS[command]().parse_args(argv)


class _Parser(argparse.ArgumentParser):
    """Errors as one line on the standard error, like every other error here."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments and end."""
        from tui_agent.cli.report import complain

        complain(f"{message} ({self.prog} --help)")
        raise SystemExit(Usage.code)


def _talk_parser() -> argparse.ArgumentParser:
    parser = _parser(
        "",
        "A terminal coding agent whose context you can see, trust and rewind.",
        usage="tui-agent [DIR] [options]\n       tui-agent -p PROMPT [options]\n       tui-agent [DIR] COMMAND ...",
        epilog=_EPILOG,
    )
    parser.add_argument("dir", metavar="DIR", nargs="?", help="the folder to work in (default: this one)")
    parser.add_argument(
        "-p", dest="prompt", metavar="PROMPT", help="answer this one prompt, without a screen; - reads it"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", dest="resume_latest", action="store_true", help="go on with the last session here"
    )
    which.add_argument(
        "--resume", metavar="ID", help="go on with a session: its id, its beginning, or a path"
    )
    parser.add_argument("--profile", metavar="P", help="the profile of settings.toml to use")
    parser.add_argument("--append-system", metavar="TEXT", default="", help="add this to the system prompt")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="no screen: labelled lines and numbered answers, for screen readers and braille",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="the offline demo model answers (no AI); without DIR: a guided tour in a scratch folder",
    )
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        help="with -p: the answer as text, one JSON object, or a line of JSON for each event",
    )
    parser.add_argument(
        "--allow",
        metavar="TOOL",
        nargs="+",
        action="extend",
        default=[],
        help="with -p: run these without asking, such as edit_file or 'bash:git status'",
    )
    parser.add_argument(
        "--mode",
        choices=("ask", "auto-edit", "plan"),
        help="begin in this mode: edit files of the workspace without asking, or only look and plan",
    )
    parser.add_argument(
        "--goal",
        metavar="BUDGET",
        nargs="+",
        help="with -p: work on the prompt as a goal, turn by turn, within a budget such as turns=10 minutes=30",
    )
    parser.add_argument("--version", action="version", version=f"tui-agent {__version__}")
    return parser


def _sessions_parser() -> argparse.ArgumentParser:
    parser = _parser("sessions", "List sessions, or rename, archive, delete, bring back and clear them away.")
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "rename", "archive", "unarchive", "delete", "undelete", "gc"),
        help="what to do (default: list)",
    )
    parser.add_argument(
        "ids",
        metavar="ID",
        nargs="*",
        help="sessions, by id or its beginning; with rename: one, and its title",
    )
    parser.add_argument(
        "--all", action="store_true", help="of every workspace, archived ones too; with gc: all deleted ones"
    )
    parser.add_argument("--search", metavar="TEXT", help="only those in which a message says all of this")
    parser.add_argument("--yes", action="store_true", help="with gc: delete without asking")
    _json(parser)
    return parser


def _inspect_parser() -> argparse.ArgumentParser:
    parser = _parser("inspect", "Look into a context.jsonl without changing it: on a screen, or as a report.")
    parser.add_argument("path", metavar="PATH", help="the file, or the folder it lies in")
    _json(parser)
    return parser


def _context_parser() -> argparse.ArgumentParser:
    from tui_agent.cli.actions import add_to  # no other command needs them

    parser = _parser("context", "See and change the context of a session.")
    add_to(parser)
    return parser


def _memory_parser() -> argparse.ArgumentParser:
    from tui_agent.cli import memory

    return memory.arguments(_parser("memory", "See and change what is remembered (default: list it)."))


def _mcp_parser() -> argparse.ArgumentParser:
    parser = _parser(
        "mcp", "List the MCP servers that a session here has, and what their tools cost; starts none."
    )
    parser.add_argument("action", nargs="?", choices=("list",), default="list", help="list them (default)")
    _json(parser)
    return parser


def _doctor_parser() -> argparse.ArgumentParser:
    parser = _parser("doctor", "Say what is wrong with this installation, or with a session.")
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="a session's id, its beginning, or a path"
    )
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without losing anything")
    return parser


_PARSERS = {
    None: _talk_parser,
    "sessions": _sessions_parser,
    "inspect": _inspect_parser,
    "context": _context_parser,
    "memory": _memory_parser,
    "mcp": _mcp_parser,
    "doctor": _doctor_parser,
}


def _parser(
    command: str, description: str, *, usage: str | None = None, epilog: str | None = None
) -> _Parser:
    return _Parser(
        prog=f"tui-agent {command}".rstrip(),
        description=description,
        usage=usage,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print data for programs")
