"""Gives memory that is free back to the system.

The C library keeps what was freed between things in use. A long context is copied and written out for each request, so
that what is kept grows with it; and much is read and compiled once, when a session opens.
"""

from __future__ import annotations

import sys


def trim() -> None:
    """Give back what is free; some milliseconds, so call it in a thread. Only glibc can (`malloc_trim`)."""
    if sys.platform != "linux":
        return
    import ctypes  # not needed before the first frame

    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)
