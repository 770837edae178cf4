"""What a server is called in policy and audit, and what its tools are called where several servers share one list."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct

from rightcall.door_tools import full_name, other_names
from rightcall.text.alike import skeleton
from rightcall.text.escape import escaped
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
_ALLOWED: Final = re.compile(r"[A-Za-z0-9_./-]{1,128}")
"""What the protocol allows as a tool's name."""
IsTaken = Callable[[str], bool]
spelling_of = lru_cache(maxsize=20_000)(skeleton)
"""Of the names that tools have, which are few; what clients write is not kept."""


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


Pair = tuple[str, str]
"""A server, and what it calls its tool."""


class Clash(Struct, frozen=True):
    """A name that more than one tool would have in a list, and what they are called there instead."""

    name: str
    tools: tuple[Pair, ...]
    """Those that did not get it."""
    holder: Pair | None = None
    """The one that has it: a tool under its own server's name."""
    is_ours: bool = False
    """Whether it is the name of one of RightCall's own tools."""


class WireNames(Struct, frozen=True):
    names: Mapping[str, Pair]
    clashes: tuple[Clash, ...] = ()


def wire_names(tools: Iterable[Pair]) -> Mapping[str, Pair]:
    """From what each tool is called in a list that several servers share to (server, tool): letters, digits, `_` and
    `-`, at most 64 of them, no name twice, and the same names whatever the order.

    >>> wire_names([("files", "read_file")])
    {'files_read_file': ('files', 'read_file')}
    """
    return name_tools(tools).names


def name_tools(
    tools: Iterable[Pair], prefixes: Mapping[str, str] = MappingProxyType({}), is_taken: IsTaken = lambda _: False
) -> WireNames:
    """The same, where some servers have another prefix than their name: none (`""`) leaves the names as they are.

    Nobody takes a name from another. Tools under their server's own name come first, so that a server without a prefix
    renames no tool of theirs. Two that want the same name have it neither: they are listed under their servers' names.
    A name that another server's is easily taken for (`Wiki.Read`) is the same name here.

    >>> name_tools([("files", "read"), ("files", "wiki_read"), ("wiki", "read")], {"files": ""}).names
    {'wiki_read': ('wiki', 'read'), 'read': ('files', 'read'), 'files_wiki_read': ('files', 'wiki_read')}
    """
    naming = _Naming(is_taken)
    pairs = sorted(set(tools))
    naming.place({pair: _usual(pair) for pair in pairs if pair[0] not in prefixes})
    naming.place_beside({pair: _wanted(pair, prefixes[pair[0]]) for pair in pairs if pair[0] in prefixes})
    return WireNames(naming.found, tuple(naming.clashes))


class _Wish(NamedTuple):
    name: str
    is_whole: bool
    """Whether nothing of it was cut off."""


class _Naming:
    def __init__(self, is_taken: IsTaken) -> None:
        self.found: dict[str, Pair] = {}
        self.clashes: list[Clash] = []
        self._is_taken = is_taken

    def place(self, wishes: Mapping[Pair, _Wish]) -> None:
        """First those that get the name they want, so that no replacement is another's wish."""
        self._place(wishes, _grouped(wishes, lambda wish: wish.name), self.found.get)

    def place_beside(self, wishes: Mapping[Pair, _Wish]) -> None:
        """The same for names that are their servers' choice: none is like the whole name of another server's tool."""
        held: dict[str, dict[str, Pair]] = {}
        whole = [(name, pair) for pair in wishes for name in _whole_names(pair)]
        whole += [(name, pair) for wire, pair in self.found.items() for name in (wire, *_whole_names(pair))]
        for name, pair in whole if wishes else ():
            held.setdefault(spelling_of(name), {}).setdefault(pair[0], pair)
        groups: dict[str, list[Pair]] = {}
        for pairs in _grouped(wishes, lambda wish: spelling_of(wish.name)).values():
            several = len({space for space, _ in pairs}) > 1
            for pair in pairs:
                groups.setdefault(wishes[pairs[0] if several else pair].name, []).append(pair)

        def holder(name: str) -> Pair | None:
            spaces = {space for space, _ in groups[name]}
            others = held.get(spelling_of(name), {})
            return self.found.get(name) or next((others[space] for space in others if space not in spaces), None)

        self._place(wishes, groups, holder)

    def _place(
        self, wishes: Mapping[Pair, _Wish], groups: Mapping[str, list[Pair]], holder: Callable[[str], Pair | None]
    ) -> None:
        left: list[Pair] = []
        wanted = {wish.name for wish in wishes.values()}
        for name, pairs in groups.items():
            if len(pairs) > 1 or holder(name) is not None or self._is_taken(name):
                self.clashes.append(Clash(name, tuple(pairs), holder(name), self._is_taken(name)))
                left += pairs
            elif wishes[pairs[0]].is_whole:
                self.found[name] = pairs[0]
            else:
                left += pairs
        for pair in left:
            self.found[self._instead(pair, wanted)] = pair

    def _instead(self, pair: Pair, wanted: Container[str]) -> str:
        usual = _usual(pair)
        if usual.is_whole and usual.name not in wanted and not self._is_used(usual.name):
            return usual.name
        marks = (told_apart(usual.name, pair, count) for count in itertools.count())
        return next(one for one in marks if one not in wanted and not self._is_used(one))

    def _is_used(self, name: str) -> bool:
        return name in self.found or self._is_taken(name)


def _grouped(wishes: Mapping[Pair, _Wish], key: Callable[[_Wish], str]) -> dict[str, list[Pair]]:
    groups: dict[str, list[Pair]] = {}
    for pair, wish in wishes.items():
        groups.setdefault(key(wish), []).append(pair)
    return groups


def _whole_names(pair: Pair) -> tuple[str, ...]:
    """What it is called with its server's name: its bare name is for anybody to have."""
    return full_name(*pair), *other_names(*pair)[1:]


def _usual(pair: Pair) -> _Wish:
    return _wish(full_name(*pair))


def _wanted(pair: Pair, prefix: str) -> _Wish:
    """A name that the protocol allows stays as it is, also where a model's API would want another."""
    tool = pair[1]
    if not prefix:
        return _Wish(tool, True) if _ALLOWED.fullmatch(tool) else _wish(tool)
    return _wish(f"{prefix}{tool}" if prefix[-1] in "_-" else f"{prefix}_{tool}")


def _wish(written: str) -> _Wish:
    return _Wish(wire_name(written), len(written) <= LONGEST)


def clash_words(clash: Clash, wire: Callable[[str, str], str | None]) -> str:
    """What a person reads of a name that several tools would have; `wire` says what a server's tool is called."""
    whose = " and ".join(_told_name(pair) for pair in clash.tools)
    listed = " and ".join(escaped(wire(*pair) or "", 70) for pair in clash.tools)
    name, verb = f"`{escaped(clash.name, 70)}`", "is" if len(clash.tools) == 1 else "are"
    if clash.holder is None and not clash.is_ours:
        return f"{name} would be the name of {whose}; they are listed as {listed}"
    holder = "a tool of RightCall itself" if clash.holder is None else _told_name(clash.holder)
    return f"{name} is the name of {holder}; {whose} {verb} listed as {listed}"


def _told_name(pair: Pair) -> str:
    return f"{escaped(pair[0], 40)}/{escaped(pair[1], 60)}"


def told_apart(name: str, pair: Pair, count: int = 0) -> str:
    """The same name with a few letters behind it that only this tool has."""
    told = "\0".join((*pair, *([str(count)] if count else [])))
    mark = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - len(mark) - 1]}_{mark}"
