"""Where the settings of each host are, and the command that a host is told to run: written for the shell it uses, and
recognised when it is read again.

>>> words_of("'/opt/right call/bin/rightcall' hook claude --mode observe", ())
('/opt/right call/bin/rightcall', 'hook', 'claude', '--mode', 'observe')
"""

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal

from msgspec import Struct

from rightcall import suggest
from rightcall.base.files.guarded import plain_file, whole_file
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.hosts.hooks.place import MODES
from rightcall.hosts.install.edits import NotReadable, block_of
from rightcall.types import Mode

_OURS = re.compile(r"(?:^|[\\/])rightcall(?:\.exe)?$", re.IGNORECASE)
_AS_MODULE = ("-P", "-m", "rightcall")
"""`-P`: else Python takes what lies in the folder it is started in for ours, and that is a project of anybody's."""
_MODULES = (_AS_MODULE, _AS_MODULE[1:], ("-P", "-m", "rightcall.cli"), ("-m", "rightcall.cli"))
_HOSTS = {"claude-code": "claude"}
"""As `rightcall hook` calls a host, where that is not our own name for it."""


class Wish(Struct, frozen=True):
    """What is to be installed. None leaves a setting as it is installed already, or as it is by itself."""

    program: tuple[str, ...]
    mode: Mode | None = None
    policy: str | None = None
    only: tuple[str, ...] = ()
    windows: bool = False


def program() -> tuple[str, ...]:
    """How this very program is started from anywhere: the command if it is one, else the module of this Python."""
    started = sys.argv[0]
    if _OURS.search(started) and os.path.isfile(started) and os.access(started, os.X_OK):
        return (os.path.abspath(started),)
    found = shutil.which("rightcall")
    if found is not None and os.path.dirname(os.path.abspath(found)) == os.path.dirname(sys.executable):
        return (os.path.abspath(found),)
    return (sys.executable, *_AS_MODULE)


def is_passing(words: Sequence[str]) -> bool:
    """Whether a program lies where a cache may be emptied, as with `uvx` and `pipx run`."""
    parts = re.split(r"[\\/]", words[0])
    return "archive-v0" in parts or ("pipx" in parts and ".cache" in parts) or "_npx" in parts


def hook_handler(host: str, wish: Wish, mode: Mode, policy: str | None, more: Sequence[str] = ()) -> dict[str, Any]:
    """The part of a handler that starts us: `command`, and `args` where the host needs no shell. `more` are options
    that somebody added by hand."""
    policies = ("--policy", policy) if policy else ()
    words = (*wish.program, "hook", _HOSTS.get(host, host), "--mode", mode, *policies, *more)
    refuse_odd(host, words)
    if not wish.windows:
        return {"command": shlex.join(words)}
    if host == "claude-code":
        return {"command": words[0], "args": list(words[1:])}
    if host == "gemini":  # which starts PowerShell
        quoted = ("'" + word.replace("'", "''") + "'" if re.search(r"[^\w.:\\/-]", word) else word for word in words)
        return {"command": "& " + " ".join(quoted)}
    return {"command": subprocess.list2cmdline(words)}


def refuse_odd(host: str, words: Sequence[str]) -> None:
    """Raises ConfigError for a path that would not come out of the settings as it went in."""
    for word in words:
        if not word.isprintable():
            raise ConfigError(f"{escaped(word)!r} has characters that settings cannot carry; move it to another path")
        if host == "gemini" and "$" in word:
            raise ConfigError(f"{escaped(word)!r} has a $, which Gemini CLI would replace; move it to another path")


def words_of(command: object, args: object) -> tuple[str, ...]:
    """The words of a handler's command; nothing for what is none."""
    if not isinstance(command, str):
        return ()
    if isinstance(args, list | tuple) and args:
        return (command, *(one if isinstance(one, str) else "" for one in args))  # pyright: ignore[reportUnknownVariableType]
    text = command.removeprefix("& ")
    windows = "\\" in text and "'" not in text
    try:
        words = shlex.split(text, posix=not windows)
    except ValueError:  # a quotation that never ends: not written by us
        return ()
    return tuple(word.strip('"') for word in words) if windows else tuple(words)


def after_us(words: Sequence[str]) -> tuple[str, ...]:
    """What follows the name of our program; nothing where it is another's."""
    if words and _OURS.search(words[0]):
        return tuple(words[1:])
    if not words or "python" not in re.split(r"[\\/]", words[0])[-1].lower():
        return ()
    start = next((one for one in _MODULES if tuple(words[1 : len(one) + 1]) == one), None)
    return () if start is None else tuple(words[len(start) + 1 :])


def is_misled(words: Sequence[str]) -> bool:
    """Whether a command of ours would run what a project calls by our name: an older version wrote it so."""
    return bool(after_us(words)) and words[1] == "-m"


def is_our_hook(host: str, words: Sequence[str]) -> bool:
    ours = after_us(words)
    return len(ours) > 1 and ours[0] == "hook" and ours[1] in (host, _HOSTS.get(host, host))


def option(words: Sequence[str], name: str) -> str | None:
    """The value of an option among words."""
    for at, word in enumerate(words):
        if word == "--":
            return None
        if word == name and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(name + "="):
            return word.removeprefix(name + "=")
    return None


def other_options(words: Sequence[str]) -> tuple[str, ...]:
    """The options of a hook that are neither its mode nor its policy."""
    rest, left = list[str](), list(after_us(words)[2:])
    while left:
        word = left.pop(0)
        if word in ("--mode", "--policy"):
            del left[:1]
        elif not word.startswith(("--mode=", "--policy=")):
            rest.append(word)
    return tuple(rest)


def means_the_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two commands of a hook differ in nothing but the order of their options."""
    return _meant(one) == _meant(other)


def _meant(words: Sequence[str]) -> tuple[object, ...]:
    started = tuple(words[: len(words) - len(after_us(words))])
    return started, mode_of(words), option(words, "--policy"), other_options(words)


def mode_of(words: Sequence[str]) -> Mode | None:
    found = option(words, "--mode")
    return found if found in MODES else None


# ── changed settings ──
# What the editing of one file comes to: the new text, or why there is none.


class Cannot(NotReadable):
    """The text can be read, and not be edited safely."""


class Made(Struct, frozen=True):
    """What an edit made besides the entries themselves, so that it can be undone to the last byte: objects and lists
    (`made`, by path), the blanks that stood in empty ones (`hollow`), the servers that were wrapped."""

    made: tuple[str, ...] = ()
    hollow: Mapping[str, str] = {}
    wrapped: tuple[str, ...] = ()


# ── files ──
# Settings files on the disk: read with care, replaced in one step, through links and with their rights kept.

MAX_BYTES = 8 * 1024 * 1024


def real_file(path: str) -> str:
    """The file itself, behind links. Raises ConfigError for what is no file, or not ours to replace."""
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except FileNotFoundError:
        return real
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=path) from None
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError("is not a file", source=path)
    return real


def contents(path: str) -> bytes | None:
    """All bytes of a file; None where there is none."""
    real = real_file(path)
    try:
        with open(real, "rb", opener=plain_file) as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=path) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"holds more than {MAX_BYTES:,} bytes, too much for settings", source=path)
    return data


def text_of(data: bytes, source: str) -> str:
    """Settings as text, their byte order mark included. Raises ConfigError for another encoding."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ConfigError("is UTF-16, which the host may not read either; save it as UTF-8", source=source)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", source=source, line=line) from None


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def refuse_unwritable(path: str) -> None:
    """A file that its owner protected, that belongs to somebody else or that has several names stays as it is."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise ConfigError("is read-only; if that is not on purpose, make it writable first", source=path)
    if found.st_nlink > 1:
        raise ConfigError(f"has {found.st_nlink} names (hard links), and one of them would get lost", source=path)
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise ConfigError("belongs to another user", source=path)


def replace(path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Writes a whole file in one step: whoever reads sees the old one or the new one, also after a crash. One that is
    there keeps its owner, rights and attributes; a new one gets `mode`."""
    beside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{token_hex(6)}.rightcall")
    with whole_file(path, beside) as stream:
        stream.write(data)
        stream.flush()
        _like(path, stream.fileno(), beside, mode)


def _like(path: str, handle: int, beside: str, mode: int) -> None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        os.chmod(beside, mode)
        return
    made = os.fstat(handle)
    if hasattr(os, "fchown") and (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
        with suppress(PermissionError):  # a group that is not one of ours any more
            os.fchown(handle, found.st_uid, found.st_gid)
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # a file system without attributes
            for name in os.listxattr(path):
                os.setxattr(handle, name, os.getxattr(path, name))
    os.chmod(beside, stat.S_IMODE(found.st_mode))


def make_folders(folder: str, mode: int = 0o777) -> tuple[str, ...]:
    """Makes a folder and those above it; returns the ones that were not there, the innermost first."""
    missing: list[str] = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    made: list[str] = []
    for one in reversed(missing):
        with suppress(FileExistsError):  # somebody else was quicker
            os.mkdir(one, mode)
            made.insert(0, one)
    return tuple(made)


def remove_empty(folders: tuple[str, ...]) -> None:
    """Removes folders that we made, as far as they are empty."""
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            return


# ── places ──
# The hosts, where they keep their settings, and which of their events we listen to.

Kind = Literal["hooks", "servers", "files"]
Scope = Literal["user", "project", "local"]


class Host(Struct, frozen=True):
    """A host. `events` has the seconds that the host should wait for us, per event; `unit` is what its own timeouts
    count, as parts of a second; `filters` are the events that take a pattern of tool names."""

    name: str
    title: str
    kind: Kind
    events: Mapping[str, int] = {}
    unit: int = 1
    filters: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ("user", "project")
    after: str = ""


_TOOLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")

HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude-code", "Claude Code", "hooks",
            {"PreToolUse": 30, "PostToolUse": 30, "PostToolUseFailure": 30, "SessionEnd": 10},
            filters=_TOOLS, scopes=("user", "project", "local"),
            after="Restart open sessions of Claude Code; /hooks shows the hooks there.",
        ),
        Host(
            "gemini", "Gemini CLI", "hooks",
            {"BeforeTool": 30, "AfterTool": 30, "SessionEnd": 10}, unit=1000,
            after="Restart open sessions of Gemini CLI; /hooks shows the hooks there.",
        ),
        Host(
            "codex", "Codex", "hooks",
            {"PreToolUse": 30, "PostToolUse": 30, "SessionEnd": 3}, filters=_TOOLS,
            after="Codex runs no hook that you have not trusted: start `codex` and choose to trust them, or type "
            "/hooks there. Every change of them, also of their mode, asks for that again. `rightcall status` says "
            "whether they are trusted.",
        ),
        Host("claude-desktop", "Claude Desktop", "servers", scopes=("user",), after="Start Claude Desktop again."),
        Host("cursor", "Cursor", "servers", after="Restart the MCP servers in Cursor."),
        Host("agent-zero", "Agent Zero", "files", scopes=("user",), after="Start Agent Zero again."),
    )
}  # fmt: skip


def host_named(name: str) -> Host:
    host = HOSTS.get(name) or HOSTS.get({"claude": "claude-code", "gemini-cli": "gemini"}.get(name, ""))
    if host is None:
        hint = suggest(name, HOSTS) or f": the hosts are {', '.join(HOSTS)}"
        raise ConfigError(f"unknown host {name!r}{hint}")
    return host


def settings_file(
    host: Host, scope: Scope, folder: str, environment: Mapping[str, str], platform: str = sys.platform
) -> str:
    """Where a host reads its settings: for all work of the user, or in the project's folder."""
    if scope not in host.scopes:
        raise ConfigError(_no_such_scope(host))
    if host.name == "claude-desktop":
        return os.path.join(_desktop(environment, platform), "claude_desktop_config.json")
    if host.name == "claude-code":
        name = "settings.local.json" if scope == "local" else "settings.json"
        return os.path.join(_folder(".claude", "CLAUDE_CONFIG_DIR", scope, folder, environment), name)
    if host.name == "gemini":
        return os.path.join(_gemini(scope, folder, environment), "settings.json")
    if host.name == "cursor":
        return os.path.join(folder if scope == "project" else _home(environment), ".cursor", "mcp.json")
    return _codex(_folder(".codex", "CODEX_HOME", scope, folder, environment))


def _no_such_scope(host: Host) -> str:
    if "project" in host.scopes:
        return f"{host.title} has no settings that a project keeps to one person: --project instead of --local"
    return f"{host.title} has no settings of its own in a project: leave --project and --local out"


def _codex(folder: str) -> str:
    """Hooks may stand in a file of their own or among the settings; in both at once Codex complains."""
    own, settings = os.path.join(folder, "hooks.json"), os.path.join(folder, "config.toml")
    if os.path.lexists(own) and not _has_our_block(settings):
        return own
    return settings if _has_inline_hooks(settings) else own


def _has_our_block(file: str) -> bool:
    try:
        return block_of(_text(file)) is not None
    except ConfigError:
        return False


def _has_inline_hooks(file: str) -> bool:
    hooks = toml_settings(file).get("hooks")
    # `state` is where Codex itself notes which hooks are trusted
    return bool(hooks) and (not isinstance(hooks, dict) or set(hooks) != {"state"})  # pyright: ignore[reportUnknownArgumentType]


def toml_settings(file: str) -> dict[str, Any]:
    """What a TOML file holds; nothing where it cannot be read."""
    try:
        return read_toml(file)
    except ConfigError:
        return {}


def read_toml(file: str) -> dict[str, Any]:
    """What a TOML file holds; nothing where there is none. Raises ConfigError."""
    try:
        return tomllib.loads(_text(file).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not valid TOML: {error}", source=file) from None


def _text(file: str) -> str:
    return text_of(contents(file) or b"", file)


def _folder(name: str, variable: str, scope: Scope, folder: str, environment: Mapping[str, str]) -> str:
    if scope == "user":
        return environment.get(variable) or os.path.join(_home(environment), name)
    return os.path.join(folder, name)


def _gemini(scope: Scope, folder: str, environment: Mapping[str, str]) -> str:
    home = folder if scope == "project" else environment.get("GEMINI_CLI_HOME") or _home(environment)
    return os.path.join(home, ".gemini")


def _desktop(environment: Mapping[str, str], platform: str) -> str:
    home = _home(environment)
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "Claude")
    if platform == "win32":
        return os.path.join(environment.get("APPDATA") or os.path.join(home, "AppData", "Roaming"), "Claude")
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "Claude")


def _home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")
