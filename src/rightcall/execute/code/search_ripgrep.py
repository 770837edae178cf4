"""Ripgrep as an accelerator: it says in which files lines match, and how many. Which files those may be and what
stands in them is none of its business: it reads no ignore file, no setting and no link of its own accord, and not a
byte of what it has read is shown. Told to leave out what we leave out anyway, it may always look into more."""

import os
import re
from collections.abc import Sequence
from threading import Event, Thread

from rightcall.errors import ToolFailure
from rightcall.execute.code.ignoring import Ignoring
from rightcall.execute.code.process import SLICE, Finished, Program, run_program
from rightcall.execute.code.programs import program
from rightcall.execute.code.search_files import LEFT_OUT
from rightcall.fs.refused import REFUSED_FOLDERS
from rightcall.fs.rules import DOTFILES

_MOST_OUTPUT = 64 << 20
_MOST_TOLD = 16_000
"""Bytes of patterns that are handed over: they must fit in a pipe."""
_PLAIN = re.compile(rb"/?(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_GLOB = re.compile(r"(?:\*\*/)?(?:\*|[A-Za-z0-9_-])[A-Za-z0-9_.-]*(?:\{[A-Za-z0-9_.-]+(?:,[A-Za-z0-9_.-]+)*\})?")
_COUNTED = re.compile(rb"(?:\./)?([^\0]+)\0([0-9]+)\n")
_FAILED = 2


def _in_any_case(name: str) -> str:
    """A glob for a name in upper and lower case."""
    return "".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in name)


_SHOWN_FOLDERS = tuple(_in_any_case(pattern.split("/")[0]) for pattern in DOTFILES)
"""Hidden folders that can be seen with all that is in them."""
_SEEN = tuple(line.encode() for name in _SHOWN_FOLDERS for line in (f"!{name}/", f"!**/{name}/**"))


def ripgrep(root: str) -> str | None:
    """Where it is, by its whole path: none that lies below the root."""
    return program("rg", root)


class Counting:
    """Ripgrep at work below one open folder, while we do something else."""

    def __init__(self, program: str, folder: int, pattern: str, tell: bytes, glob: str | None, seconds: float) -> None:
        self._finished: Finished | None = None
        self._unwanted = Event()
        self._work = (program, os.dup(folder), pattern, tell, glob, seconds)  # who asked may be gone before it starts
        self._thread = Thread(target=self._run, name="rightcall-ripgrep", daemon=True)
        self._thread.start()

    def counts(self) -> tuple[dict[str, int], bool] | None:
        """How many lines match in each file that has any, by its path below the folder, and whether time ran out. None
        when ripgrep cannot do it."""
        while self._thread.is_alive():
            self._thread.join(SLICE)
        done = self._finished
        if done is None or done.full or (done.code is not None and done.code >= _FAILED and done.err):
            return None
        if done.code is not None and (done.code < 0 or done.code > _FAILED):
            return None
        found = {os.fsdecode(one[1]): int(one[2]) for one in _COUNTED.finditer(done.out)}
        return found, done.late

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self._unwanted.set()

    def _run(self) -> None:
        program, folder, pattern, tell, glob, seconds = self._work
        told, teller = os.pipe()
        try:
            os.write(teller, tell[:_MOST_TOLD])
            os.close(teller)
            command = _command(program, pattern, f"/dev/fd/{told}", glob)
            env = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
            self._finished = run_program(
                Program(command, env, _place(folder), fds=(told,)), seconds=seconds, most=_MOST_OUTPUT,
                unwanted=self._unwanted.is_set,
            )  # fmt: skip
        except (ToolFailure, OSError):
            self._finished = None
        finally:
            os.close(told)
            os.close(folder)


def _place(folder: int) -> str:
    """The folder itself, whatever its name leads to by now."""
    return f"/proc/self/fd/{folder}" if os.path.isdir("/proc/self/fd") else f"/dev/fd/{folder}"


def _command(program: str, pattern: str, told: str, glob: str | None) -> Sequence[str]:
    return [
        program, "--no-config", "--count", "--null", "--no-messages", "--color=never", "--with-filename",
        "--no-follow", "--no-mmap", "--no-ignore", "--hidden", f"--ignore-file={told}", "--case-sensitive",
        "--regex-size-limit=16M", "--dfa-size-limit=8M", "--engine=default",
        *((f"--glob={glob}",) if glob else ()), f"--regexp={pattern}", "--", "./",
    ]  # fmt: skip


def told_glob(pattern: str | None) -> str | None:
    """A glob that ripgrep reads as we do: names in any folder, nothing else."""
    return pattern if pattern is not None and _GLOB.fullmatch(pattern) else None


def told_lines(ignoring: Ignoring | None, *, as_built: bool) -> bytes:
    """What ripgrep may leave out: folders that we never go into, and of the root's ignore files (None when it starts
    further down) the plain lines that nothing takes back. `as_built`: the path rules know no exceptions."""
    lines = [b".[!.]*/", *_SEEN] if as_built else []
    lines += [name.encode() + b"/" for name in sorted(LEFT_OUT | REFUSED_FOLDERS if as_built else LEFT_OUT)]
    files = ignoring.files() if ignoring is not None else ()
    if not any(file.negates for file in files):
        for file in files:
            for line in file.lines:
                if _PLAIN.fullmatch(line.written):
                    lines.append(line.written + (b"/" if line.folder else b""))
    told = b"\n".join(lines) + b"\n"
    return told if len(told) <= _MOST_TOLD else told[: told.rindex(b"\n", 0, _MOST_TOLD) + 1]
