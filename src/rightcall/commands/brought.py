"""What a command line brings from the network, and whether a later command of the same line runs it:
`curl -o x … && sh x`, `git clone … && cd y && make`."""

import os
import re
from collections.abc import Iterator

from msgspec import DecodeError, json

from rightcall.commands.inline import interpreter
from rightcall.commands.options import action_at, option_value
from rightcall.commands.places import Place
from rightcall.commands.runs import FETCHERS, Run, writes_to
from rightcall.commands.sending import addresses
from rightcall.commands.shell import Simple
from rightcall.commands.words import HOLE, Word
from rightcall.commands.wrappers import (
    SHELLS,
)

_UNPACKERS = frozenset(("tar", "bsdtar", "gtar", "unzip", "cpio", "7z", "unrar"))
_NAMES_BY_ADDRESS = frozenset(("wget", "fetch", "axel", "aria2c", "lwp-download"))
_BUILDS = frozenset(
    ("make", "gmake", "cmake", "ninja", "meson", "just", "task", "rake", "npm", "yarn", "pnpm", "bun", "npx", "pip",
     "pip3", "uv", "poetry", "pdm", "pipenv", "cargo", "bundle", "composer", "mvn", "gradle", "ant", "sbt", "dotnet",
     "tox", "nox", "pytest", "scons", "bazel", "invoke", "fab", "easy_install", "go", "deno", "mix", "lerna", "nx")
)  # fmt: skip
"""They run code of the folder that they stand in, or are given."""
_LOOKS = frozenset(
    ("ls", "list", "view", "info", "outdated", "audit", "--version", "-v", "--help", "help", "search", "why", "tree",
     "metadata", "show", "freeze", "config", "download", "build-help", "-n", "--dry-run", "mod", "vet", "fmt", "get")
)  # fmt: skip
_COPIES = frozenset(("hg", "svn", "bzr", "jj", "fossil", "degit", "tiged", "giget"))
_BRINGING = FETCHERS | _COPIES | {"git", "lwp-download", "rsync"}
_GIT_BRINGS = frozenset(("clone", "submodule", "pull", "FETCH_HEAD"))
_ADDRESS = re.compile(r"(?:\w[\w+.-]*://|git@|[\w.-]+@[\w.-]+:)")


class Brought:
    """Files and folders that came from the network in this very line."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.files: set[str] = set()
        self.folders: list[str] = []
        """Whole working copies of somebody else."""
        self.unpacked: list[str] = []
        """Where an archive was unpacked: what is new there is not known."""

    def __bool__(self) -> bool:
        return bool(self.files or self.folders or self.unpacked)

    def note(self, run: Run, command: Simple) -> None:
        """What a command brings."""
        if run.program not in _BRINGING and not run.fed and not self.files:
            return
        fed = not FETCHERS.isdisjoint(run.fed)
        here = run.folders[0]
        if run.program in _UNPACKERS and (fed or any(map(self.has, self._wholes(run, run.arguments)))):
            into = option_value(run.arguments, "-C", "--directory", "-d")
            folder = here if into is None else self.place.whole(here, into.value)
            (self.unpacked if folder == here or os.path.isdir(folder) else self.folders).append(folder)
        for folder in _cloned(run):
            self.folders.append(HOLE if HOLE in folder else self.place.whole(here, folder))
        operands = run.operands() if self.files and run.program in ("mv", "cp", "ln", "install") else []
        if len(operands) > 1 and self.has(self.place.whole(here, operands[0].value)):
            self.files.add(self.place.whole(here, operands[-1].value))
        if not fed and run.program not in FETCHERS and run.program != "lwp-download":
            return
        names = [*writes_to(run), *(one.target for one in command.redirects if one.writes)]
        if run.program in _NAMES_BY_ADDRESS or run.has("-O", "--remote-name"):
            names += [Word(address.path.rpartition("/")[2]) for address in addresses(run)]
        if run.program == "lwp-download":
            names += run.operands()[1:]
        if run.program in ("scp", "rsync"):
            given = [one.value for one in run.operands("-P -i -o -F -e -l -S")]
            names += [Word(f"{given[-1]}/{re.split('[:/]', one)[-1]}") for one in given[:-1] if ":" in one]
        self.files.update(self._wholes(run, names))
        self.files.update(f"${name}" for word in names if HOLE in word.value for name in word.names)

    def has(self, whole: str) -> bool:
        """Whether a path is one of those files, or in one of those folders."""
        return whole in self.files or any(whole == one or whole.startswith(f"{one}/") for one in self.folders)

    def runs(self, run: Run) -> str | None:
        """What of it a command would run; None for nothing."""
        name = run.name.value
        if "/" in name and (
            self.has(self.place.whole(run.folders[0], name)) or (self.unpacked and name.startswith("./"))
        ):
            return name
        inside = any(self.has(folder) or self._is_unpacked(folder) for folder in run.folders)
        if "/" in name and inside:
            return name
        how = interpreter(run.program)
        if run.program in SHELLS or run.program in ("source", ".") or (how is not None and not how.first):
            script = run.operands(" ".join(how.valued) if how is not None else "-o +o -O +O --rcfile")[:1]
            wholes = self._wholes(run, script)
            inside |= bool(self.unpacked) and run.program in SHELLS
            inside |= any(f"${name}" in self.files for word in script for name in word.names)
            inside |= any(self.has(one) or self._is_unpacked(os.path.dirname(one)) for one in wholes)
            if script and "-m" not in run.values and inside:
                return f"{run.program} {script[0].value}".replace(HOLE, "…")
            return None
        if run.program not in _BUILDS or not _LOOKS.isdisjoint(run.values[:2]):
            return None
        values = [Word(one.value.rpartition("=")[2]) for one in run.arguments]
        if inside or any(map(self.has, self._wholes(run, values))):
            return " ".join([run.program, *run.values[:1]])
        return None

    def _is_unpacked(self, folder: str) -> bool:
        """One below the place of an archive, which was not there before."""
        return any(folder.startswith(f"{one}/") for one in self.unpacked) and not os.path.isdir(folder)

    def _wholes(self, run: Run, words: list[Word]) -> list[str]:
        return [self.place.whole(run.folders[0], word.value) for word in words if word.value and HOLE not in word.value]


def _cloned(run: Run) -> Iterator[str]:
    """The folders that a command fills with somebody else's code."""
    if run.program == "git":
        yield from _cloned_by_git(run)
        return
    operands = [one.value for one in run.operands("-b -r --revision --depth")]
    if run.program == "gh" and operands[:2] == ["repo", "clone"] and operands[2:]:
        yield _folder_of(operands[2:4])
    elif run.program in _COPIES:
        named = run.program in ("degit", "tiged", "giget")
        brings = named or operands[:1] in (["clone"], ["co"], ["checkout"], ["export"], ["git"])
        rest = [one for one in (operands if named else operands[1:]) if one != "clone"]
        if brings and rest:
            yield _folder_of(rest)


def _cloned_by_git(run: Run) -> Iterator[str]:
    if _GIT_BRINGS.isdisjoint(run.values):
        return
    at = action_at("git", run.arguments)
    action = run.values[at] if at >= 0 else ""
    rest = Run("git", run.name, run.arguments[at + 1 :], run.folders, values=run.values[at + 1 :])
    operands = [one.value for one in rest.operands("-b --branch --depth -o --origin -c --config -j --reference")]
    if action == "submodule" and operands[:1] == ["add"]:
        action, operands = "clone", operands[1:]
    if action == "clone" and operands:
        above = option_value(run.arguments[:at], "-C")
        yield os.path.join(above.value if above is not None else "", _folder_of(operands))
    elif "FETCH_HEAD" in operands or (action == "pull" and operands and _ADDRESS.match(operands[0])):
        yield "."


def _folder_of(operands: list[str]) -> str:
    name = operands[1] if len(operands) > 1 else re.split(r"[/:]", operands[0].rstrip("/"))[-1].removesuffix(".git")
    return name or "."


# ── what is written and run in one line ─────────────────────────────────────────────────────────────────────────────

_OBEYED = {
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), ("package.json",)),
}
"""The files whose commands a program runs without being told."""


def obeyed_files(program: str) -> tuple[str, ...]:
    return _OBEYED.get(program, ())


def recipes_in(name: str, text: str) -> Iterator[str]:
    """The commands in a file for `make` or `npm`."""
    if name == "package.json":
        try:
            scripts = json.decode(text, type=dict[str, object]).get("scripts")
        except DecodeError:
            return
        if isinstance(scripts, dict):
            yield from (one for one in scripts.values() if isinstance(one, str))  # pyright: ignore[reportUnknownVariableType]
        return
    for line in text.replace("\\\n", " ").split("\n"):
        recipe = line if line.startswith("\t") else line.partition(";")[2] if ":" in line.partition(";")[0] else ""
        if recipe.strip():
            yield re.sub(r"^[\s@+-]+", "", recipe).replace("$$", "$").replace("$@", "x").replace("$<", "x")
