"""What a server is called in policy and audit, and what its tools are called where several servers share one list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from rightcall.door_tools import full_name
from rightcall.text.wire import LONGEST, wire_name

UNNAMED: Final = "server"

_RUNNERS: Final = frozenset(
    ("npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv", "node", "deno", "tsx", "ts-node", "env",
     "cmd", "sh", "bash", "zsh", "docker", "podman", "nohup", "time", "rightcall", "py")
)  # fmt: skip
"""Programs that start the server rather than being it."""
_PYTHON: Final = re.compile(r"^(python|pypy)[\d.]*w?$")
_STEPS: Final = frozenset(("run", "exec", "x", "dlx", "tool", "start", "wrap", "create", "-c", "/c"))
"""Words by which a runner is told what to do."""
_WITH_VALUE: Final = frozenset(
    ("--from", "--with", "--python", "-p", "--package", "--directory", "--project", "--env-file", "-e", "--env", "-v",
     "--volume", "--mount", "--network", "--name", "--policy", "--caller", "--mode", "-w", "--workdir", "-u", "--user",
     "--index-url", "--registry", "--prefix", "-C", "-W", "-X", "-r", "--require", "--import", "--loader")
)  # fmt: skip
_ENDING: Final = re.compile(r"\.(py|pyz|js|mjs|cjs|ts|mts|sh|exe|cmd|bat|jar|rb)$", re.I)
_VERSION: Final = re.compile(r"(?<=.)(@[^/@]*|==.*|[<>~!]=.*|\[[^\]]*\])$")
_AFFIXES: Final = re.compile(r"^(?:mcp[-_])?server[-_](?=.)|^mcp[-_](?=.)|[-_]mcp(?:[-_]server)?$|[-_]server$", re.I)
_GENERIC: Final = frozenset(("index", "main", "__main__", "cli", "mcp", "dist", "build", "src", "bin", "lib", "out"))
_PLAIN: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def server_name(command: Sequence[str]) -> str:
    """A short name from the command that starts a server.

    >>> server_name(["npx", "-y", "@modelcontextprotocol/server-filesystem", "/x"])
    'filesystem'
    >>> server_name(["uvx", "mcp-server-git"]), server_name(["python", "-m", "my_server"])
    ('git', 'my_server')
    """
    program = _program(command)
    if program is None:
        return UNNAMED
    name, is_module = program
    if is_module:
        return _plain(name.removesuffix(".__main__").rpartition(".")[2])
    bare = _telling_part(name)
    short = _ENDING.sub("", bare)
    if short != bare:  # a file: it is called as its author called it
        return _plain(short)
    while (shorter := _AFFIXES.sub("", short, count=1)) != short and shorter:
        short = shorter
    return _plain(short)


def _program(command: Sequence[str]) -> tuple[str, bool] | None:
    """The first word that is the server itself, and whether it names a Python module."""
    runner, words = False, iter(command)
    for word in words:
        stem = _ENDING.sub("", _last_part(word)).casefold()
        python = bool(_PYTHON.match(stem))
        if not runner or python or stem in _RUNNERS:
            if not python and stem not in _RUNNERS:
                return word, False
            runner = True
        elif word == "-m":
            module = next(words, None)
            return None if module is None else (module, True)
        elif word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-") and word not in _STEPS and "=" not in word.split("==")[0]:
            inner = word.split()
            return (word, False) if len(inner) < 2 else _program(inner)
    return None


def _telling_part(name: str) -> str:
    """The last part of a path or package that says more than that it is a program."""
    parts = [
        _without_version(part).lstrip("@") for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")
    ]
    telling = [part for part in parts if _ENDING.sub("", part).casefold() not in _GENERIC]
    return telling[-1] if telling else parts[-1] if parts else UNNAMED


def _last_part(word: str) -> str:
    return PureWindowsPath(word).name if "\\" in word else PurePosixPath(word).name


def _without_version(name: str) -> str:
    return _VERSION.sub("", name).split(":")[0]


def _plain(name: str) -> str:
    return _PLAIN.sub("_", name).strip("_.-")[:LONGEST] or UNNAMED


def wire_names(tools: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, str]]:
    """From what each tool is called in a list that several servers share to (server, tool): letters, digits, `_` and
    `-`, at most 64 of them, no name twice, and the same names whatever the order.

    >>> wire_names([("files", "read_file")])
    {'files_read_file': ('files', 'read_file')}
    """
    plain: dict[str, list[tuple[str, str]]] = {}
    for pair in sorted(set(tools)):
        plain.setdefault(wire_name(full_name(*pair)), []).append(pair)
    found: dict[str, tuple[str, str]] = {}
    for name, pairs in plain.items():
        for pair in pairs:
            whole = len(pairs) == 1 and len(full_name(*pair)) <= LONGEST
            found[name if whole else told_apart(name, pair)] = pair
    return found


def told_apart(name: str, pair: tuple[str, str]) -> str:
    """The same name with a few letters behind it that only this tool has."""
    mark = sha256("\0".join(pair).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - len(mark) - 1]}_{mark}"
