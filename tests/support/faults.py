"""Faults inside this process: a call of the system that fails, or after which nothing more reaches the disk.

For property tests that try thousands of them; real processes are struck in tests/support/crash.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CHANGING = (
    "write",
    "pwrite",
    "sendfile",
    "fsync",
    "fdatasync",
    "ftruncate",
    "link",
    "replace",
    "rename",
    "unlink",
)
"""Functions of `os` that change what is on the disk; and `open`, where it creates or cuts."""


class Crash(BaseException):
    """The process died here. Nothing that happens afterwards changes the disk."""


class Faults:
    """Counts the changing calls; `fired` tells whether the one to strike was reached."""

    def __init__(self, strike: Callable[[int], None]) -> None:
        self._strike = strike
        self._lock = threading.Lock()
        self.calls = 0

    def pass_by(self) -> None:
        with self._lock:
            self.calls += 1
            number = self.calls
        self._strike(number)


@contextmanager
def crash_at(number: int) -> Iterator[Faults]:
    """Die at the `number`-th changing call (from 1), before it is made."""

    def strike(call: int) -> None:
        if call >= number:
            raise Crash(f"at call {number}")

    with _striking(strike) as faults:
        yield faults


@contextmanager
def fail_at(number: int, *, code: int = errno.ENOSPC, lasting: bool = False) -> Iterator[Faults]:
    """Let the `number`-th changing call fail (from 1), and with `lasting` all after it but those that make room."""

    def strike(call: int) -> None:
        if call == number or (lasting and call > number):
            raise OSError(code, os.strerror(code))

    with _striking(strike, spared=("unlink", "ftruncate") if lasting else ()) as faults:
        yield faults


@contextmanager
def _striking(strike: Callable[[int], None], spared: tuple[str, ...] = ()) -> Iterator[Faults]:
    faults = Faults(strike)
    originals = {name: getattr(os, name) for name in (*CHANGING, "open")}

    def watched(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            flags = arguments[1] if name == "open" and len(arguments) > 1 else os.O_CREAT
            if name not in spared and flags & (os.O_CREAT | os.O_TRUNC):
                faults.pass_by()
            return originals[name](*arguments, **options)

        return call

    try:
        for name in originals:
            setattr(os, name, watched(name))
        yield faults
    finally:
        for name, original in originals.items():
            setattr(os, name, original)
