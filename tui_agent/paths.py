"""Where things lie: the folders of settings and data, private to their user.

The platform's own places (XDG on Linux, Library on a Mac) unless TUI_AGENT_HOME names one folder for both. These
functions only name places; `private_folder` and `write_private` make them, folders 0700 and files 0600.
"""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "TUI_AGENT_HOME"
"""The environment variable that moves settings and data to `$TUI_AGENT_HOME/config` and `$TUI_AGENT_HOME/data`."""

_NAME = "tui-agent"


def config_dir() -> Path:
    """The folder of settings.toml and profile.md. It may not exist yet."""
    home = _home()
    if home is not None:
        return home / "config"
    import platformdirs

    return platformdirs.user_config_path(_NAME, appauthor=False)


def data_dir() -> Path:
    """The folder of sessions and databases. It may not exist yet."""
    home = _home()
    if home is not None:
        return home / "data"
    import platformdirs

    return platformdirs.user_data_path(_NAME, appauthor=False)


def settings_file() -> Path:
    """settings.toml, whether it exists or not."""
    return config_dir() / "settings.toml"


def profile_file() -> Path:
    """profile.md, the user's preferences that are told to every session, whether it exists or not."""
    return config_dir() / "profile.md"


def sessions_dir() -> Path:
    """The folder that holds a folder for each workspace, which holds one for each session."""
    return data_dir() / "sessions"


def trash_dir() -> Path:
    """Where deleted sessions wait for an undo."""
    return data_dir() / "trash"


def memory_db() -> Path:
    """The database of what is remembered, shared by all sessions, whether it exists or not."""
    return data_dir() / "memory.db"


def private_folder(path: Path) -> Path:
    """Make a folder and those above it that are missing, each for its user alone (0700); return it.

    Folders that exist keep their mode.

    Raises:
        OSError: it cannot be made, or a file is in its place.
    """
    if not path.is_dir():
        if path.parent != path:
            private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def write_private(path: Path, data: bytes) -> None:
    """Write a whole file for its user alone (0600), as `swap` does; folders on the way are made.

    Raises:
        OSError: it cannot be written; the old file is untouched.
    """
    private_folder(Path(os.path.realpath(path)).parent)
    swap(path, data, 0o600)


def swap(path: Path, data: bytes, mode: int | None) -> None:
    """Write a whole file in one step: readers and a crash find the old one or the new.

    `mode` are its permissions; None gives it those of any new file. A symbolic link stays a link: what it points to is
    replaced.

    Raises:
        OSError: it cannot be written; the old file is untouched.
    """
    import secrets  # not needed before the first frame

    path = Path(os.path.realpath(path))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    made_with = 0o666 if mode is None else 0o600
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, made_with)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _home() -> Path | None:
    text = os.environ.get(HOME_VARIABLE, "").strip()
    return Path(text).expanduser().absolute() if text else None
