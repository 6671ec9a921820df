"""How a command of the command line ends when it does not end well."""

from __future__ import annotations


class CommandLineError(Exception):
    """The command did not do what was asked; the message is one line for the person who gave it."""

    code = 1


class Failed(CommandLineError):
    """It could not be carried out. Exit code 1."""


class Usage(CommandLineError):
    """The command line is wrong. Exit code 2."""

    code = 2
