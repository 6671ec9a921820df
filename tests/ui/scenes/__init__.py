"""Every screen and state of the program, each reached by the keys that a person presses.

A scene says what the session holds (`fill`), how the state is come to (`reach`) and which words have to be there. They
are shown over a fake session; nothing in them depends on the clock, on this machine or on where the tests run.
"""

from tests.ui.scenes import cards, chat, compaction, inspector, memory, places, request, writing
from tests.ui.scenes.scene import SCENES, Scene

__all__ = [
    "SCENES",
    "Scene",
    "cards",
    "chat",
    "compaction",
    "inspector",
    "memory",
    "places",
    "request",
    "writing",
]
