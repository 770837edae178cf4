"""What `.gitignore`, `.ignore` and `.git/info/exclude` leave out, as git reads such lines: from the root down, nothing
above it and no file of the user's own. A nearer file beats one further up, a later line an earlier one, `.ignore` beats
`.gitignore`, and nothing below a folder that is left out comes back.

The files belong to whoever wrote the repository: they are opened without following links, large ones are not read, and
lines become expressions of an engine that never goes back (re2).
"""

import os
import re
import stat
from collections.abc import Callable, Sequence
from importlib import import_module
from time import monotonic
from typing import Any

from msgspec import Struct

from rightcall.base.files.beneath import open_beneath
from rightcall.base.files.spots import closing
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
_POSIX = frozenset((b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct", b"space",
                    b"upper", b"xdigit"))  # fmt: skip


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
            found |= _posix(named[1])
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


def _posix(name: bytes) -> set[int]:
    tests = {
        b"alnum": str.isalnum, b"alpha": str.isalpha, b"digit": str.isdigit, b"lower": str.islower,
        b"upper": str.isupper, b"space": str.isspace, b"print": str.isprintable,
    }  # fmt: skip
    letters = [chr(code) for code in range(128)]
    if name in tests:
        return {ord(one) for one in letters if tests[name](one) and one not in "\x1c\x1d\x1e\x1f"}
    if name == b"blank":
        return {0x20, 0x09}
    if name == b"cntrl":
        return {*range(0x20), 0x7F}
    if name == b"xdigit":
        return {ord(one) for one in "0123456789abcdefABCDEF"}
    visible = set(range(0x21, 0x7F))
    return visible if name == b"graph" else {code for code in visible if not chr(code).isalnum()}


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
