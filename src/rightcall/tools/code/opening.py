"""One file after the other, as a walk has found them: by the true names that the rules have judged, without following
a link. Neighbours share their open folder, which is half the work."""

import os
import stat
from collections.abc import Callable
from functools import partial
from time import gmtime, strftime
from types import TracebackType
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import Opened, Sight, open_beneath
from rightcall.catalog.tool import PackTool
from rightcall.tools.functions import LocalTool, Work, packed_tool
from rightcall.tools.state import current_trace

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Opener:
    """Holds the root and the folder of the last file open, until it is closed."""

    def __init__(self, sight: Sight) -> None:
        self._root = sight.open_root()
        self._path: str = ""
        self._folder = -1
        self._settled: dict[str, bool] = {}

    def file(self, path: str) -> Opened | None:
        """A regular file, which the caller closes; None when it is gone, or something else by now."""
        folder, _, name = path.rpartition("/")
        try:
            file = os.open(name, _FLAGS, dir_fd=self._folder_of(folder))
        except (OSError, ValueError):
            return None
        seen = os.fstat(file)
        if stat.S_ISREG(seen.st_mode):
            return Opened(file, path, seen)
        os.close(file)
        return None

    def look(self, path: str) -> os.stat_result | None:
        """What the system tells of a file or folder without opening it; None when it is gone."""
        folder, _, name = path.rpartition("/")
        try:
            return os.stat(name, dir_fd=self._folder_of(folder), follow_symlinks=False)
        except (OSError, ValueError):
            return None

    def link(self, path: str) -> bytes | None:
        """What is written in a link, which is not followed."""
        folder, _, name = path.rpartition("/")
        try:
            return os.fsencode(os.readlink(name, dir_fd=self._folder_of(folder)))
        except (OSError, ValueError):
            return None

    def settled(self, folder: str, since: int) -> bool:
        """Whether nothing in a folder, or in one above it, has been put in the place of something else since then
        (nanoseconds; always the same for one opener)."""
        known = self._settled.get(folder)
        if known is None:
            try:
                seen = os.fstat(self._folder_of(folder))
                known = seen.st_ctime_ns < since and (not folder or self.settled(folder.rpartition("/")[0], since))
            except (OSError, ValueError):
                known = False
            self._settled[folder] = known
        return known

    def _folder_of(self, path: str) -> int:
        if self._folder < 0 or path != self._path:
            self._forget()
            self._folder = open_beneath(self._root, path, os.O_RDONLY | os.O_DIRECTORY)
            self._path = path
        return self._folder

    def _forget(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._forget()
        os.close(self._root)


# ── moments ──
# Moments as every tool tells them: ISO 8601, in UTC.

_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999; a file may claim any other."""


def utc(seconds: float) -> str:
    """Seconds since 1970 as a text.

    >>> utc(0), utc(1e300)
    ('1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z')
    """
    moment = gmtime(max(_FIRST, min(seconds, _LAST)))
    return f"{moment.tm_year:04}{strftime('-%m-%dT%H:%M:%SZ', moment)}"


# ── tool ──
# What every code tool is made of: its name, the record of its arguments, and a function of both a `Sight` and that
# record. Its schema, description and example stand in the pack `code`; what must be known of it before its code is
# loaded stands here.

SECONDS: Final = {
    "code/read": 10.0, "code/search": 10.0, "code/list": 10.0, "code/diff": 5.0, "code/log": 10.0, "code/show": 10.0,
    "code/blame": 20.0,
}  # fmt: skip
"""Each tool's deadline."""
_GRACE = 2.0
"""Seconds beyond it, at which a tool answers with what it has found so far."""
_TRACED: Final = frozenset(("code/search", "code/list"))
"""They note what they look at, by which their results can be kept; their state cannot be told before."""
_BY_PATHS: Final = frozenset(("code/read",))
"""Of these the files in their path arguments say enough of the state; any other tells its own."""


class CodeTool(Struct, frozen=True):
    """One tool. `state` says in which state what it reads is, None where the files in its path arguments say enough."""

    name: str
    arguments: type[Struct]
    run: Callable[[Sight, Any], Any]
    state: Callable[[Sight, Any], object] | None = None

    @property
    def seconds(self) -> float:
        return SECONDS[self.name]

    @property
    def traced(self) -> bool:
        return self.name in _TRACED


def local(about: PackTool, load: Callable[[], CodeTool], sight: Sight) -> LocalTool:
    """The tool on one root, as the executor runs it; `load` imports its code."""
    traced = about.name in _TRACED

    def work() -> Work:
        tool = load()
        run = partial(_run_traced, tool.run, sight) if traced else partial(tool.run, sight)
        return Work(tool.arguments, run, None if tool.state is None else partial(tool.state, sight))

    made = packed_tool(about, work, state=about.name not in _BY_PATHS)
    return replace(made, timeout=SECONDS[about.name] + _GRACE, cacheable=not traced, traced=traced, rooted=True)


def _run_traced(run: Callable[[Sight, Any], Any], sight: Sight, asked: Any) -> Any:
    result = run(sight, asked)
    if (trace := current_trace()) is not None:
        trace.finish()
    return result


def begin_trace(sight: Sight, written: str, start: Opened) -> None:
    """Note the folders above the place where a call begins."""
    trace = current_trace()
    if trace is None:
        return
    root = sight.open_root()
    try:
        trace.begin(root, written, start.path)
    finally:
        os.close(root)


# ── languages ──
# Which language a file is written in, by its name.

_ENDINGS = {
    "python": "py pyi pyw", "javascript": "js mjs cjs jsx", "typescript": "ts mts cts", "tsx": "tsx", "java": "java",
    "go": "go", "rust": "rs", "c": "c h", "cpp": "cc cpp cxx c++ hh hpp hxx", "csharp": "cs", "ruby": "rb rake gemspec",
    "php": "php", "kotlin": "kt kts", "swift": "swift", "scala": "scala sc", "lua": "lua", "bash": "sh bash",
}  # fmt: skip
_LANGUAGES = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
_NAMES = {"Rakefile": "ruby", "Gemfile": "ruby", "SConstruct": "python", ".bashrc": "bash"}
_STARTERS = {"python": "python", "node": "javascript", "ruby": "ruby", "php": "php", "lua": "lua"} | dict.fromkeys(
    ("sh", "bash", "dash", "zsh", "ksh"), "bash"
)
"""Programs that a first line may name."""


def language_of(path: str, text: str = "") -> str | None:
    """The language, None where it is none of those we know. A file without an ending may say it in its first line.

    >>> language_of("src/App.TSX"), language_of("bin/tool", "#!/usr/bin/env python3\\n"), language_of("notes.txt")
    ('tsx', 'python', None)
    """
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if dot and stem:
        return _LANGUAGES.get(ending.lower())
    if name in _NAMES:
        return _NAMES[name]
    words = text[2:200].partition("\n")[0].split() if text.startswith("#!") else []
    starters = (word.rpartition("/")[2].rstrip("0123456789.") for word in words[:2])
    return next((_STARTERS[one] for one in starters if one in _STARTERS), None)
