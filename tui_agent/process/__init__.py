"""Run a program in its own process group: stream what it prints, time it out, kill it with its children.

`run` is for commands that take as long as they like, `capture` for a short helper program whose whole output is
wanted. Neither gives the child a terminal; `run` may give it an input that is known beforehand.
"""

from tui_agent.process.command import capture, run
from tui_agent.process.job import OUTPUT_LIMIT, ProcessError, Result
from tui_agent.process.output import SPOOL_LIMIT
from tui_agent.process.session import Left, kill_all

__all__ = ["OUTPUT_LIMIT", "SPOOL_LIMIT", "Left", "ProcessError", "Result", "capture", "kill_all", "run"]
