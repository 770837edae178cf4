"""Which files a search looks into: those that may be seen, that no ignore file leaves out, and in which ripgrep, where
there is one, has found something.

`.gitignore`, `.ignore` and `.git/info/exclude` leave out what git reads such lines for: from the root down, nothing
above it and no file of the user's own. A nearer file beats one further up, a later line an earlier one, `.ignore` beats
`.gitignore`, and nothing below a folder that is left out comes back. The files belong to whoever wrote the repository:
they are opened without following links, large ones are not read, and lines become expressions of an engine that never
goes back (re2).
"""

import os
import re
import stat
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Event, Thread
from time import monotonic
from typing import Any

from msgspec import Struct

from rightcall.base.files.rules import DOTFILES, REFUSED_FOLDERS
from rightcall.base.files.sight import Opened, Sight, open_beneath
from rightcall.base.files.write import closing
from rightcall.errors import ToolFailure
from rightcall.tools.code.listing import Place, walk
from rightcall.tools.code.pattern import Pattern
from rightcall.tools.process import SLICE, Finished, Program, program, run_program
from rightcall.tools.state import current_trace

# ── lines ──
# The lines of an ignore file as expressions. Each is matched against a path between NUL bytes, as seen from the file's
# own folder; byte by byte, as git does it.

_MOST_LINES = 5_000
_LONGEST = 4_096
"""Bytes of one line: no path is longer."""
_MOST_WILD = 16
"""Signs of one line that stand for more than themselves; a line with more of them means nothing."""
_MOST_WILD_OF_ALL = 2_000
_WILD = re.compile(rb"[*?\[]")
_NAME = b"[^/\\x00]"
_ANYTHING = b"[^\\x00]"
_DEEP = b"(?:" + _ANYTHING + b"*/)?"
_SET = re.compile(rb"\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_DIGIT, _UPPER, _LOWER = (set(range(ord(first), ord(last) + 1)) for first, last in ("09", "AZ", "az"))
_GRAPH = set(range(0x21, 0x7F))
_POSIX = {
    b"alnum": _DIGIT | _UPPER | _LOWER, b"alpha": _UPPER | _LOWER, b"blank": {0x09, 0x20},
    b"cntrl": {*range(0x20), 0x7F},
    b"digit": _DIGIT, b"graph": _GRAPH, b"lower": _LOWER, b"print": _GRAPH | {0x20},
    b"punct": _GRAPH - _DIGIT - _UPPER - _LOWER, b"space": {*range(0x09, 0x0E), 0x20}, b"upper": _UPPER,
    b"xdigit": _DIGIT | set(b"abcdefABCDEF"),
}  # fmt: skip
"""The sets that are written `[[:name:]]`."""


class IgnoreLine(Struct, frozen=True):
    """One line: `written` is its pattern, `folder` whether it is only about folders, `negated` whether it keeps."""

    written: bytes
    expression: bytes
    folder: bool
    negated: bool


def ignore_lines(text: bytes) -> list[IgnoreLine]:
    """The lines that say something, in order.

    >>> [(line.written, line.folder, line.negated) for line in ignore_lines(b"# note\\n*.log\\n!keep.log\\nbuild/\\n")]
    [(b'*.log', False, False), (b'keep.log', False, True), (b'build', True, False)]
    """
    found: list[IgnoreLine] = []
    left = _MOST_WILD_OF_ALL
    for raw in text.removeprefix(b"\xef\xbb\xbf").split(b"\n", _MOST_LINES)[:_MOST_LINES]:
        line = _line(raw.removesuffix(b"\r"))
        if line is not None:
            left -= len(_WILD.findall(line.written))
            if left >= 0:
                found.append(line)
    return found


def _line(raw: bytes) -> IgnoreLine | None:
    text = _without_blanks(raw)
    if not text or text.startswith(b"#") or len(text) > _LONGEST or b"\0" in text:
        return None
    negated = text.startswith(b"!")
    text = text[negated:]
    folder = text.endswith(b"/")
    text = text[:-1] if folder else text
    if not text or len(_WILD.findall(text)) > _MOST_WILD:
        return None
    anchored = b"/" in text
    expression = _expression(text.removeprefix(b"/"))
    if expression is None:
        return None
    return IgnoreLine(text, expression if anchored else _DEEP + expression, folder, negated)


def _without_blanks(raw: bytes) -> bytes:
    """Blanks at the end count only after a backslash."""
    text = raw.rstrip(b" ")
    escapes = len(text) - len(text.rstrip(b"\\"))
    return text + b" " if escapes % 2 and len(text) < len(raw) else text


def _expression(text: bytes) -> bytes | None:
    """None for a pattern that matches nothing: a set or a backslash without an end."""
    out: list[bytes] = []
    at = 0
    while at < len(text):
        step = _stars(text, at) or _piece(text, at)
        if step is None:
            return None
        out.append(step[0])
        at += step[1]
    return b"".join(out)


def _stars(text: bytes, at: int) -> tuple[bytes, int] | None:
    """`**` as a whole component spans folders; any other run of stars is one star."""
    if text[at : at + 1] != b"*":
        return None
    end = at
    while text[end : end + 1] == b"*":
        end += 1
    begins = at == 0 or text[at - 1 : at] == b"/"
    if end - at == 2 and begins:
        if end == len(text):
            return _ANYTHING + b"+", 2
        if text[end : end + 1] == b"/":
            return _DEEP, 3
    return _NAME + b"*", end - at


def _piece(text: bytes, at: int) -> tuple[bytes, int] | None:
    one = text[at : at + 1]
    if one == b"?":
        return _NAME, 1
    if one == b"[":
        return _set(text, at)
    if one == b"\\":
        return (_plain(text[at + 1 : at + 2]), 2) if at + 1 < len(text) else None
    return _plain(one), 1


def _plain(one: bytes) -> bytes:
    return b"\\x%02x" % one[0]


def _set(text: bytes, at: int) -> tuple[bytes, int] | None:
    found = _SET.match(text, at)
    if found is None:
        return None
    members = _members(found[2])
    if members is None:
        return None
    low_to_high = sorted(members - {0, ord("/")}) if not found[1] else sorted(members | {0, ord("/")})
    if not low_to_high:
        return None
    return b"[" + (b"^" if found[1] else b"") + b"".join(b"\\x%02x" % one for one in low_to_high) + b"]", len(found[0])


def _members(body: bytes) -> set[int] | None:
    found: set[int] = set()
    at = 0
    while at < len(body):
        if named := re.compile(rb"\[:([a-z]+):\]").match(body, at):
            if named[1] not in _POSIX:
                return None
            found |= _POSIX[named[1]]
            at += len(named[0])
            continue
        low, at = _member(body, at)
        if body[at : at + 1] == b"-" and at + 1 < len(body):
            high, at = _member(body, at + 1)
            found |= set(range(low, high + 1))
        else:
            found.add(low)
    return found


def _member(body: bytes, at: int) -> tuple[int, int]:
    if body[at : at + 1] == b"\\" and at + 1 < len(body):
        return body[at + 1], at + 2
    return body[at], at + 1


# ── ignore files ──

_LARGEST = 1 << 20
"""Bytes of an ignore file; larger ones are not read."""
_MEMORY = 2 << 20
EXCLUDE = ".git/info/exclude"

_AT_ONCE = 1_000
"""Names that are looked at together."""

_Search = Callable[[bytes], object]


class OutOfTime(Exception):
    """The ignore files take too long."""


class IgnoreFile:
    """The lines of one file. Neighbours that say the same (leave out, or do not) are matched together."""

    __slots__ = ("_runs", "_suspects", "lines", "negates")

    def __init__(self, lines: Sequence[IgnoreLine]) -> None:
        self.lines = lines
        self.negates = any(line.negated for line in lines)
        runs = [(run[0].negated, run) for run in _runs(lines)]
        self._runs = [
            (
                not negated,
                _any([line.expression for line in run]),
                _any([one.expression for one in run if not one.folder]),
            )
            for negated, run in reversed(runs)
        ]
        self._suspects = _any([line.expression for line in lines if not line.negated])

    def suspects(self, paths: bytes) -> bool:
        """Whether a line could leave out one of the paths, each between NUL bytes."""
        return self._suspects(paths)

    def verdict(self, path: bytes, folder: bool) -> bool | None:
        """Whether to leave out a path, between NUL bytes, as seen from the file's own folder; None when no line is
        about it."""
        for leaves_out, for_folders, for_files in self._runs:
            if (for_folders if folder else for_files)(path):
                return leaves_out
        return None


class Ignoring:
    """All the ignore files that count in one folder. Folders without one of their own share that of the one above."""

    __slots__ = ("_asked", "_deadline", "negates_below")

    def __init__(
        self, deadline: float, asked: tuple[tuple[int, int, IgnoreFile], ...] = (), *, negates_below: bool = False
    ) -> None:
        self._deadline = deadline
        self._asked = asked
        """Kind, length of the path of its folder, and the file itself: who is asked first stands first."""
        self.negates_below = negates_below

    def below(self, path: str, folder: int, names: Sequence[str] = (".gitignore",)) -> "Ignoring":
        """What counts in a folder below, given its path, its descriptor and the names that are known to be in it."""
        _trace(path, folder)
        found = [(0, _read(folder, ".ignore"))]
        if ".gitignore" in names:
            found.append((1, _read(folder, ".gitignore")))
        if not path:
            found.append((2, _read(folder, EXCLUDE)))
        own = tuple((kind, len(_base(path)), file) for kind, file in found if file is not None)
        if not own:
            return self
        asked = sorted((*own, *self._asked), key=lambda one: (one[0], -one[1]))
        negates = self.negates_below or bool(path and any(file.negates for *_, file in own))
        return Ignoring(self._deadline, tuple(asked), negates_below=negates)

    def suspects(self, path: str, names: Sequence[str]) -> bool:
        """Whether any of the names in a folder might be left out: one look at many of them. Raises OutOfTime."""
        return bool(self._asked) and any(
            self._suspects(_base(path), os.fsencode("\0".join(names[at : at + _AT_ONCE])))
            for at in range(0, len(names), _AT_ONCE)
        )

    def _suspects(self, base: bytes, names: bytes) -> bool:
        for _, length, file in self._asked:
            if monotonic() > self._deadline:
                raise OutOfTime
            above = base[length:]
            if file.suspects(b"\0" + above + names.replace(b"\0", b"\0\0" + above) + b"\0"):
                return True
        return False

    def kept(self, path: str, names: Sequence[str], *, folders: bool) -> list[str]:
        """Those of the names in a folder that are not left out. Raises OutOfTime."""
        base = _base(path)
        return [name for name in names if not self._leaves_out(base + os.fsencode(name), folders)]

    def files(self) -> tuple[IgnoreFile, ...]:
        """The files that are asked, the last word first."""
        return tuple(file for *_, file in self._asked)

    def _leaves_out(self, path: bytes, folder: bool) -> bool:
        for _, length, file in self._asked:
            if monotonic() > self._deadline:
                raise OutOfTime
            verdict = file.verdict(b"\0" + path[length:] + b"\0", folder)
            if verdict is not None:
                return verdict
        return False


def ignoring_at(root: int, path: str, deadline: float) -> Ignoring:
    """What counts above a folder: the ignore files of the root and of every folder between. After the deadline it
    raises OutOfTime instead of an answer."""
    found = Ignoring(deadline)
    parts = path.split("/") if path else []
    for depth in range(len(parts)):
        above = "/".join(parts[:depth])
        try:
            folder = open_beneath(root, above, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        with closing(folder):
            found = found.below(above, folder)
    return found


def _read(folder: int, name: str) -> IgnoreFile | None:
    try:
        if "/" in name:
            file = open_beneath(folder, name)
        else:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode) or not 0 < seen.st_size <= _LARGEST:
            return None
        lines = ignore_lines(os.read(file, _LARGEST))
        return IgnoreFile(lines) if lines else None
    except OSError:
        return None
    finally:
        os.close(file)


def _trace(path: str, folder: int) -> None:
    """Note the files that could leave something out, and those that are not there: they may come to be."""
    trace = current_trace()
    if trace is None:
        return
    for name in (".ignore", ".gitignore", *(() if path else (".git/", ".git/info/", EXCLUDE))):
        trace.look(folder, name, f"{path}/{name}" if path else name)


def _base(path: str) -> bytes:
    return os.fsencode(path) + b"/" if path else b""


def _runs(lines: Sequence[IgnoreLine]) -> list[list[IgnoreLine]]:
    found: list[list[IgnoreLine]] = []
    for line in lines:
        if found and found[-1][0].negated == line.negated:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _any(expressions: list[bytes]) -> Callable[[bytes], bool]:
    """One question for many expressions; made when it is first asked, in parts where it is too large for one."""
    made: list[_Search] | None = None

    def ask(text: bytes) -> bool:
        nonlocal made
        if made is None:
            made = _compiled(expressions)
        return any(search(text) is not None for search in made)

    return ask


def _compiled(expressions: list[bytes]) -> list[_Search]:
    if not expressions:
        return []
    re2: Any = import_module("re2")  # late: only who searches needs it
    options: Any = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # names are bytes
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        return [re2.compile(b"\\x00(?s:" + b"|".join(expressions) + b")\\x00", options).search]
    except re2.error:
        half = len(expressions) // 2
        return _compiled(expressions[:half]) + _compiled(expressions[half:]) if half else []


# ── files ──
# Which files a search looks into: those that may be seen, that no ignore file leaves out, that lie in no folder of
# made or fetched things, and that fit the globs. The walk is ours, whichever engine searches: both see the same files.

LEFT_OUT = frozenset(("node_modules", ".git", "dist", "build"))
"""Folders that are never gone into, unless a search is told to begin in them or below."""

Globs = Callable[[str], bool]


class Listing(Struct):
    """Files by their true paths. `late` when time ran out; `negates_below` when an ignore file further down takes back
    what one above leaves out."""

    files: list[str]
    late: bool = False
    negates_below: bool = False


class Wanted(Struct, frozen=True):
    """A glob that a path must match, as it was written too, and those that it must not match; None for none."""

    included: Globs | None = None
    excluded: Globs | None = None
    written: str | None = None

    def file(self, path: str) -> bool:
        return (self.included is None or self.included(path)) and not (
            self.excluded is not None and self.excluded(path)
        )

    def folder(self, path: str) -> bool:
        return self.excluded is None or not self.excluded(path)


def files_below(sight: Sight, start: Opened, wanted: Wanted, deadline: float) -> Listing:
    """The files below an open folder, in the order of the walk."""
    with closing(sight.open_root()) as root:
        above = ignoring_at(root, start.path, deadline)
    found = Listing([])
    ignoring: dict[str, Ignoring] = {start.path: above}
    for place in walk(sight, start):
        if monotonic() > deadline:
            found.late = True
            break
        here = ignoring.pop(place.path, above).below(place.path, place.fd, place.files)
        found.negates_below = found.negates_below or here.negates_below
        try:
            _leave_out(place, here)
        except OutOfTime:
            found.late = True
            break
        top = f"{place.path}/" if place.path else ""
        if wanted.excluded is not None:
            place.folders[:] = [name for name in place.folders if wanted.folder(top + name)]
        for name in place.folders:
            ignoring[top + name] = here
        files = [top + name for name in place.files]
        found.files += files if wanted.included is wanted.excluded is None else filter(wanted.file, files)
    return found


def _leave_out(place: Place, here: Ignoring) -> None:
    if place.folders:
        place.folders[:] = [name for name in place.folders if name not in LEFT_OUT]
    if here.suspects(place.path, place.folders + place.files):
        place.folders[:] = here.kept(place.path, place.folders, folders=True)
        place.files[:] = here.kept(place.path, place.files, folders=False)


# ── candidates ──
# The files of a search, and what is known of each before it is opened: how many of its lines match, where ripgrep has
# said so. It works while we walk.

_MOST_AT_ONCE = 4
"""Folders for each of which ripgrep is worth starting."""


class Candidates(Struct, frozen=True):
    """Files in the order of their paths, each with the number of its matching lines, None where nobody has looked yet;
    those without any are left out. `searched` are all of them, in the same order."""

    files: list[tuple[str, int | None]]
    searched: list[str]
    late: bool


def candidates(
    sight: Sight, starts: list[Opened], wanted: Wanted, pattern: Pattern, deadline: float, *, by_ripgrep: bool
) -> Candidates:
    """Everything below the folders, and the files, that a search was told to begin with."""

    program = ripgrep(sight.root) if by_ripgrep and len(starts) <= _MOST_AT_ONCE else None
    known: dict[str, int | None] = {}
    late = False
    for start in starts:
        if not start.is_folder:
            if wanted.file(start.path):
                known[start.path] = None
            continue
        found, was_late = _below(sight, start, wanted, pattern, deadline, program)
        known.update(found)
        late = late or was_late
    searched = sorted(known)
    return Candidates([(path, known[path]) for path in searched if known[path] != 0], searched, late)


def _below(
    sight: Sight, start: Opened, wanted: Wanted, pattern: Pattern, deadline: float, program: str | None
) -> tuple[dict[str, int | None], bool]:
    if program is None:
        listing = files_below(sight, start, wanted, deadline)
        return dict.fromkeys(listing.files), listing.late

    root_rules = Ignoring(deadline).below("", start.fd) if not start.path else None
    in_the_open = sight.rules.as_built and "/." not in f"/{start.path}"  # below a hidden folder others can be seen
    counting = Counting(
        program, start.fd, pattern.ripgrep, ripgrep_ignores(root_rules, as_built=in_the_open),
        ripgrep_glob(wanted.written), deadline - monotonic(),
    )  # fmt: skip
    try:
        listing = files_below(sight, start, wanted, deadline)
        counted = counting.counts()
    except BaseException:
        counting.stop()
        raise
    if counted is None or listing.negates_below:
        return dict.fromkeys(listing.files), listing.late
    return _joined(listing, start.path, counted[0]), listing.late or counted[1]


def _joined(listing: Listing, folder: str, counts: dict[str, int]) -> dict[str, int | None]:
    top = f"{folder}/" if folder else ""
    found: dict[str, int | None] = dict.fromkeys(listing.files, 0)
    for path, count in counts.items():
        if top + path in found:
            found[top + path] = count
    for path in listing.files:
        if "\n" in path:  # ripgrep's globs do not always see past the end of a line
            found[path] = None
    return found


# ── ripgrep ──
# Ripgrep as an accelerator: it says in which files lines match, and how many. Which files those may be and what
# stands in them is none of its business: it reads no ignore file, no setting and no link of its own accord, and not a
# byte of what it has read is shown. Told to leave out what we leave out anyway, it may always look into more.

_MOST_TOLD = 16_000
"""Bytes of patterns that are handed over: they must fit in a pipe."""
_PLAIN = re.compile(rb"/?(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_GLOB = re.compile(r"(?:\*\*/)?(?:\*|[A-Za-z0-9_-])[A-Za-z0-9_.-]*(?:\{[A-Za-z0-9_.-]+(?:,[A-Za-z0-9_.-]+)*\})?")
_COUNTED = re.compile(rb"(?:\./)?([^\0]+)\0([0-9]+)\n")
_FAILED = 2


_SHOWN_FOLDERS = tuple(
    "".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in pattern.split("/")[0]) for pattern in DOTFILES
)
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
                Program(command, env, _place(folder), fds=(told,)), seconds=seconds, most=64 << 20,
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


def ripgrep_glob(pattern: str | None) -> str | None:
    """A glob that ripgrep reads as we do: names in any folder, nothing else."""
    return pattern if pattern is not None and _GLOB.fullmatch(pattern) else None


def ripgrep_ignores(ignoring: Ignoring | None, *, as_built: bool) -> bytes:
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
