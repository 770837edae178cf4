"""The command that a host is told to run: written for the shell it uses, and recognised when it is read again.

>>> words_of("'/opt/right call/bin/rightcall' hook claude --mode observe", ())
('/opt/right call/bin/rightcall', 'hook', 'claude', '--mode', 'observe')
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.hosts.hook_place import MODES
from rightcall.text.escape import escaped
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
