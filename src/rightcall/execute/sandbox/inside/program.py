"""The program itself: a script in the interpreter that is running already, or another program in its place."""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import os
import signal
import sys
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


def run_script(path: str, argv: list[str]) -> None:
    """Run a Python file as `python FILE` would. Returns when it is through; the interpreter then ends as usual."""
    _new_streams()
    main = _new_main(path)
    for name in [name for name in sys.modules if name == _OURS or name.startswith(_OURS + ".")]:
        del sys.modules[name]
    sys.argv = list(argv)
    sys.orig_argv = [sys.executable, path, *argv[1:]]
    sys.path.insert(0, os.path.dirname(path))
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        sys.exit(2)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        sys.exit(1)
    try:
        exec(code, main.__dict__)  # noqa: S102  (this is what the sandbox is for: nothing but it is left of us here)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  (as the interpreter itself does it)
        own = error.__traceback__
        shown = error.with_traceback(own.tb_next if own else None)
        status = 130 if isinstance(error, KeyboardInterrupt) else 1
    else:
        return
    sys.excepthook(type(shown), shown, shown.__traceback__)
    sys.exit(status)


def _new_main(path: str) -> ModuleType:
    main = ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __builtins__=builtins, __loader__=loader, __cached__=None)
    sys.modules["__main__"] = main
    return main


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
