"""Patches as agents write them: which files one would touch. The envelope of `apply_patch` and unified, context and git
diffs are read; nothing is applied, and a name too many is better than one too few."""

import re
from collections.abc import Iterator

_ENVELOPE = re.compile(
    r"\*\*\*\s*(?:(?:Add|Update|Delete|Create|Modify|Remove)\s+File|(?:Move|Rename)\s+to)\s*:\s*(.*)", re.IGNORECASE
)
_GIT = re.compile(r"(?:rename|copy) (?:from|to) (.+)|Index:\s*(.+)")
_BOTH = re.compile(r"diff --git (.+)")
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_STAMP = re.compile(r"\t.*|\s\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*")
_NOTHING = ("/dev/null", "NUL")


def paths_in_patch(text: str) -> list[str]:
    """The paths that a patch names, each once, in order. Those of a diff stand with and without their first folder,
    since `patch` and `git apply` may take it off.

    >>> paths_in_patch("*** Begin Patch\\n*** Update File: a.py\\n*** Move to: b.py\\n@@\\n-x\\n+y\\n*** End Patch")
    ['a.py', 'b.py']
    >>> paths_in_patch("--- a/src/x.py\\n+++ b/src/x.py\\n@@ -1 +1 @@\\n-x\\n+y\\n")
    ['a/src/x.py', 'src/x.py', 'b/src/x.py']
    """
    return list(dict.fromkeys(path for path in _found(text) if path and path not in _NOTHING))


def _found(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines()]
    for before, line, after in zip(("", *lines), lines, (*lines[1:], ""), strict=False):
        if line[:3] == "***":
            if (named := _ENVELOPE.match(line)) is not None:
                yield _plain(named[1])
            elif after.startswith("--- "):  # the head of a context diff
                yield from _either(line[3:])
        elif line.startswith("--- "):
            if after.startswith(("+++ ", "@@ ", "***")) or before.startswith("*** "):
                yield from _either(line[4:])
        elif line.startswith("+++ "):
            if before.startswith("--- ") or after.startswith("@@ "):
                yield from _either(line[4:])
        elif (git := _GIT.match(line)) is not None:
            yield _plain(git[1] or git[2])
        elif (both := _BOTH.match(line)) is not None:
            yield from _pair(both[1])


def _either(written: str) -> Iterator[str]:
    path = _plain(_STAMP.sub("", written.strip()))
    yield path
    _, slash, rest = path.lstrip("/").partition("/")
    if slash and path not in _NOTHING:
        yield rest


def _pair(written: str) -> Iterator[str]:
    """`a/x b/x`: a name may have blanks in it, and then both are the same."""
    first = _QUOTED.match(written)
    if first is not None:
        halves = [first[0], written[first.end() :]]
    elif written.endswith('"'):
        head, _, tail = written.partition(' "')
        halves = [head, f'"{tail}']
    else:
        first_half, _, second = written.partition(" b/")
        halves = [first_half, f"b/{second}"] if second else [first_half]
    for half in halves:
        yield from _either(half)


def _plain(written: str) -> str:
    """Without the quotes that git puts around a name with odd characters."""
    written = written.strip()
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return written
    return _ESCAPE.sub(_byte, quoted[1].encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _byte(found: re.Match[bytes]) -> bytes:
    said = found[1]
    if len(said) == 3:
        return bytes([int(said, 8) & 0xFF])
    return {b"t": b"\t", b"n": b"\n", b"r": b"\r"}.get(said, said)
