"""settings.toml -> Settings, or the file, line and key at fault with what is allowed there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec.structs import replace

from tui_agent import paths
from tui_agent.settings import secrets
from tui_agent.settings.rules import Rule, SettingsError
from tui_agent.settings.schema import ANTHROPIC_KEY, ANTHROPIC_URL, Compaction, Profile, Settings, Table

_T = TypeVar("_T", bound=Table)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_NAMES_OF_KEYS = {"api_key", "apikey", "key", "token", "auth_token", "secret", "password"}
_LONGEST_SHOWN = 60
"""Characters of a wrong value that an error repeats."""


def load(path: Path | None = None) -> Settings:
    """Read and check a settings file, by default the user's. A file that does not exist gives the defaults.

    What the file names as `api_key_env` is redacted by `secrets.redact` from then on.

    Raises:
        SettingsError: it cannot be read, or something in it is not allowed.
    """
    file = path if path is not None else paths.settings_file()
    settings = check(*read(file), file)
    secrets.watch(settings)
    return settings


def way_back(error: SettingsError) -> str:
    """What to do about a file that cannot be used, in a sentence."""
    kept = error.file.with_name(error.file.name + ".bak") if error.file is not None else None
    before = f" As somebody last wrote it, it is in {kept}." if kept and kept.exists() else ""
    return f"Mend it in an editor.{before}"


def read(file: Path) -> tuple[dict[str, Any], str]:
    """The file's tables, and its text; empty if there is no such file.

    Raises:
        SettingsError: it cannot be read or is not TOML.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", file=file) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError("is not UTF-8", file=file, line=line) from error
    import tomllib  # with `difflib` below: not needed where there is no file

    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        line = int(found.group(1)) if found else text.count("\n") + 1
        problem = _LINE.sub("", str(error)).strip()
        where = f" (column {found.group(2)})" if found else ""
        raise SettingsError(f"is not TOML: {problem}{where}", file=file, line=line) from error
    except RecursionError as error:
        raise SettingsError("is nested too deeply", file=file) from error


def check(tables: Mapping[str, Any], text: str, file: Path | None) -> Settings:
    """Settings out of TOML tables; `text` is where line numbers are looked up, `file` names it in errors.

    Raises:
        SettingsError: something in them is not allowed.
    """
    reader = _Reader(text, file)
    unknown = {
        name: value for name, value in tables.items() if name not in Settings.parts and _is_table(value)
    }
    settings = reader.table(Settings, {n: v for n, v in tables.items() if n not in unknown}, ())
    profiles = {name: _with_key(name, profile, tables) for name, profile in settings.profiles.items()}
    chosen = settings.profile
    if "profile" not in tables and tables.get("profiles"):
        chosen = next(iter(tables["profiles"]))
    if chosen not in profiles:
        raise reader.error(("profile",), f'there is no profile "{chosen}"', ", ".join(profiles))
    _check_ratios(reader, settings.compaction, ("compaction",), tables.get("compaction", {}))
    for name, profile in profiles.items():
        given = tables.get("profiles", {}).get(name, {}).get("compaction", {})
        if given:
            own = profile.compaction.over(settings.compaction)
            _check_ratios(reader, own, ("profiles", name, "compaction"), given)
    notices = tuple(
        f"{file or 'settings'}:{reader.line((name,)) or 1}: nothing uses the table [{quote(name)}]; it is kept"
        for name in unknown
    )
    return replace(
        settings,
        profile=chosen,
        profiles=profiles,
        unknown=MappingProxyType(unknown),
        notices=notices,
        file=file,
    )


def _check_ratios(
    reader: _Reader, compaction: Compaction, path: tuple[str, ...], given: Mapping[str, Any]
) -> None:
    """Where shortening stops lies below where it begins, and that below where a summary is due.

    Raises:
        SettingsError: not so; it names a key that the file gives.
    """
    for low, high in (("micro_stop_ratio", "micro_ratio"), ("micro_ratio", "trigger_ratio")):
        below, above = getattr(compaction, low), getattr(compaction, high)
        if below is not None and below >= above:
            raise reader.error(
                (*path, low if low in given else high),
                f"{_dotted((*path, low))} ({below:g}) is not below {_dotted((*path, high))} ({above:g})",
                f"a {low} below the {high}",
            )


def accept(rule: Rule, value: Any, key: str, *, file: Path | None = None) -> Any:
    """The value of one setting as the program holds it.

    Raises:
        SettingsError: the rule does not allow it; in the words of an error in the file, without a line.
    """
    return _Reader("", file).value(rule, value, (key,))


def quote(name: str) -> str:
    """A part of a key as TOML writes it: bare where that is allowed, else in quotes."""
    if _BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escaped(c) for c in escaped) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def locate(text: str, path: tuple[str, ...]) -> int | None:
    """The line (from 1) where a key or table begins in TOML text, or None if it is not there.

    A prefix of whole lines is TOML itself unless it ends inside a value that spans lines. So the first prefix that
    holds the key ends with the key's last line, and the longest readable prefix before it ends right above its first.
    """
    import tomllib

    lines = text.replace("\r\n", "\n").split("\n")

    def holds(count: int) -> tuple[bool, int]:
        """Whether the longest readable prefix of at most `count` lines holds the key, and its length in lines."""
        while count > 0:
            try:
                tables: Any = tomllib.loads("\n".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                count -= 1
                continue
            for part in path:
                if isinstance(tables, list):
                    tables = tables[-1] if tables else None
                if not isinstance(tables, dict) or part not in tables:
                    return False, count
                tables = tables[part]
            return True, count
        return False, 0

    low, high = 0, len(lines)
    if not holds(high)[0]:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle)[0] else (middle, high)
    return holds(low)[1] + 1


class _Reader:
    def __init__(self, text: str, file: Path | None) -> None:
        self._text = text
        self._file = file

    def line(self, path: tuple[str, ...]) -> int | None:
        return locate(self._text, path) if self._text else None

    def error(self, path: tuple[str, ...], problem: str, allowed: str) -> SettingsError:
        key = ".".join(quote(part) for part in path)
        return SettingsError(problem, file=self._file, line=self.line(path), key=key, allowed=allowed)

    def table(self, kind: type[_T], tables: Any, path: tuple[str, ...]) -> _T:
        """A table of the schema out of a TOML table."""
        if not isinstance(tables, dict):
            raise self.error(path, f"{_dotted(path)} is {_shown(tables)}", f"a table, [{_dotted(path)}]")
        for name in tables:
            if name not in kind.parts:
                raise self._unknown((*path, name), sorted(kind.parts))
        values: dict[str, Any] = {}
        for name, part in kind.parts.items():
            if name not in tables:
                continue
            here = (*path, name)
            if part.rule is not None:
                values[name] = self.value(part.rule, tables[name], here)
            elif part.table is not None:
                read = self._named if part.named else self.table
                values[name] = read(part.table, tables[name], here)
        return kind(**values)

    def _named(self, kind: type[_T], tables: Any, path: tuple[str, ...]) -> Mapping[str, _T]:
        if not isinstance(tables, dict):
            raise self.error(path, f"{_dotted(path)} is {_shown(tables)}", f"tables, [{_dotted(path)}.NAME]")
        return MappingProxyType(
            {name: self.table(kind, value, (*path, name)) for name, value in tables.items()}
        )

    def _unknown(self, path: tuple[str, ...], names: list[str]) -> SettingsError:
        if path[-1].lower() in _NAMES_OF_KEYS:
            problem = (
                f"unknown key {_dotted(path)}: keys never stand in settings; put the key into an environment "
                "variable and name that variable in api_key_env"
            )
        else:
            import difflib

            near = difflib.get_close_matches(path[-1], names, 1)
            problem = f"unknown key {_dotted(path)}" + (f", did you mean {near[0]}?" if near else "")
        return self.error(path, problem, ", ".join(names))

    def value(self, rule: Rule, value: Any, path: tuple[str, ...]) -> Any:
        """One value as the program holds it; `path` names it in the error of one that is not allowed."""
        allowed = _accept(rule, value)
        if allowed is None:
            # A key pasted where its variable's name belongs must not reach a screen or a log.
            shown = "not such a name" if rule.kind == "variable" else _shown(value)
            raise self.error(path, f"{_dotted(path)} is {shown}", rule.allowed)
        return allowed


def _accept(rule: Rule, value: Any) -> Any:
    """The value as the program holds it, or None if the rule does not allow it."""
    match rule.kind, value:
        case ("switch", bool()):
            return value
        case ("integer" | "number", bool()):
            return None
        case ("integer", int()) | ("number", int() | float()):
            low = rule.minimum if rule.minimum is not None else value
            high = rule.maximum if rule.maximum is not None else value
            if not low <= value <= high:
                return None
            return float(value) if rule.kind == "number" else value
        case ("text", str()):
            return value
        case ("name", str()):
            return value if value.strip() else None
        case ("choice", str()):
            return value if value in rule.choices else None
        case ("url", str()):
            return value.rstrip("/") if re.fullmatch(r"https?://[^\s/@]+(/\S*)?", value) else None
        case ("variable", str()):
            return value if not value or _VARIABLE.fullmatch(value) else None
        case ("list", list()):
            whole = all(isinstance(item, str) and item.strip() for item in value)
            return tuple(value) if whole else None
        case ("map", dict()):
            whole = all(isinstance(item, str) for item in value.values())
            return MappingProxyType(dict(value)) if whole else None
        case _:
            return None


def _with_key(name: str, profile: Profile, tables: Mapping[str, Any]) -> Profile:
    """The profile with its name, and the usual variable for Anthropic's endpoint if none is given.

    Another endpoint gets no key by default: Anthropic's key must not be sent to a stranger.
    """
    given = tables.get("profiles", {}).get(name)
    if given is None:
        return profile
    usual = profile.provider == "anthropic" and profile.base_url == ANTHROPIC_URL and profile.auth != "none"
    variable = ANTHROPIC_KEY if usual and "api_key_env" not in given else profile.api_key_env
    return replace(profile, name=name, api_key_env=variable)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(quote(part) for part in path)


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    if isinstance(value, bool):
        text = text.lower()
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
