"""The program itself: a script in the interpreter that is running already, or another program in its place."""

from __future__ import annotations

import builtins
import ctypes
import importlib.machinery
import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType

_OURS = "rightcall"


def set_environment(env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)


def reset_signals(*, warm: bool) -> None:
    """As a new process has them: Python ignores two for itself, which another program would inherit."""
    if warm:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def prepared(path: str, argv: list[str], started_with: frozenset[str]) -> Callable[[], int]:
    """What runs a Python file as `python FILE` does: by the interpreter's own function for it, which also tells of
    whatever the file raises. It then returns something other than 0. `started_with` are the modules that every
    interpreter has loaded when it starts."""
    _new_streams()
    _new_main()
    folder = os.path.dirname(path)
    _forget_modules(folder, started_with)
    sys.argv = list(argv)
    sys.orig_argv = [sys.executable, path, *argv[1:]]
    sys.path.insert(0, folder)
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        sys.exit(2)
    fopen, run = ctypes.CDLL(None).fopen, ctypes.pythonapi.PyRun_SimpleFileExFlags
    fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(fopen(os.fsencode(path), b"rb"))
    return partial(run, file, os.fsencode(path), ctypes.c_int(1), ctypes.c_void_p())


def lend_packages(packages: dict[str, str]) -> None:
    """Let the script import these by name, behind everything that the interpreter has itself. The folder that they lie
    in may hold others, and is not on the path: where nothing can be mounted it cannot even be listed."""
    if packages:
        sys.meta_path.append(_LentFinder(packages))


class _LentFinder:
    def __init__(self, packages: dict[str, str]) -> None:
        self._packages = packages

    def find_spec(
        self, name: str, path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        place = self._packages.get(name)
        if path is not None or place is None:
            return None
        from importlib.util import spec_from_file_location

        first = os.path.join(place, "__init__.py")
        if os.path.exists(first):
            return spec_from_file_location(name, first, submodule_search_locations=[place])
        if not os.path.isdir(place):
            return spec_from_file_location(name, place)
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec


def was_interrupted() -> bool:
    """Whether it ended by Ctrl-C: the interpreter knows that, and ends by that signal itself."""
    return getattr(sys, "last_type", None) is KeyboardInterrupt


def _new_main() -> None:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins  # in the first module it is the module itself, elsewhere its names
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    for name in ("__main__", "__mp_main__"):
        if name in sys.modules:
            sys.modules[name] = main


def _forget_modules(folder: str, started_with: frozenset[str]) -> None:
    """Our own, and those of the library, loaded beforehand, that the program has modules of the same name for."""
    ours = {_OURS}
    beside: set[str] = set()
    with suppress(OSError):
        beside = {name.partition(".")[0] for name in os.listdir(folder)}
    for name in beside - started_with:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec is not None and spec.has_location:  # else it is the interpreter's own, which nothing comes before
            other = importlib.machinery.PathFinder.find_spec(name, [folder])
            if other is not None and other.loader is not None:
                ours.add(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        del sys.modules[name]


def _new_streams() -> None:
    """Buffered as pipes are, in UTF-8."""
    stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "rb", False)), "utf-8", "surrogateescape")
    stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "wb", False)), "utf-8", "surrogateescape")
    stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "wb", False)), "utf-8", "backslashreplace", line_buffering=True
    )
    for stream, name, mode in ((stdin, "stdin", "r"), (stdout, "stdout", "w"), (stderr, "stderr", "w")):
        setattr(stream, "mode", mode)  # noqa: B010  (it is declared as a property)
        stream.buffer.raw.name = f"<{name}>"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
