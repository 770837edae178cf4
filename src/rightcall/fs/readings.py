"""What a written path may mean to whoever opens it. Nobody knows how somebody else's program reads a path: it may take
it as the kernel does, leave out `x/..` by the names alone, decode an address, expand `~`, or run on a system where a
backslash separates and a dot at the end is nothing. So each reading is followed, and the strictest judgement holds.

    a path as written ─▶ every spelling it can be turned into ─▶ where each leads, by names and by links
"""

import os
import re

LONGEST = 4096
"""Characters; no system opens a longer path, and following it would hold up everybody else."""
_MOST = 64
"""Readings of one path. A real one has a few; what has more was made to have them."""
_ORDINARY = re.compile(r"[A-Za-z0-9_+=,#()/.-]*[A-Za-z0-9_+=,#()/-]")
_ADDRESS = r"(?i:file:)(?://[^/\\?#]*)?([^?#]*)"  # these are compiled when first needed, which is hardly ever
_ENCODED = rb"%([0-9A-Fa-f]{2})"
_DEVICE = r"\A//[?.]/+(?i:unc/+)?"
_DRIVE = r"\A[A-Za-z]:"
_VARIABLE = r"(?a:(?:\A|/)(?:\$\w+|\$\{\w+\}|%\w+%)(?=/|\Z))"
_PROCESS = r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/(cwd|root|exe|(?:fd|map_files|ns)/[^/]+)"
_MOST_LINKS = 40
"""As the system counts."""
_QUOTES = "\"'`<>"


_AS_A_NAME: int = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0  # Linux
"""Open nothing but the name: no pipe is waited for, no device touched."""
NOWHERE = "\0"
"""Where a path leads of which nobody can say it. No path holds this."""


class Unjudged(ValueError):
    """A path of which nobody can say what it means; the text says why."""


def spellings(written: str) -> list[str]:
    """A path as it is written, and as others may read it. Raises Unjudged.

    >>> spellings("src/app.py"), spellings("x\\\\..\\\\.env")
    (['src/app.py'], ['x\\\\..\\\\.env', 'x/../.env'])
    """
    if len(written) > LONGEST:
        raise Unjudged(f"it is longer than {LONGEST:,} characters")
    if _is_ordinary(written):
        return [written]
    found = {written: None}
    todo = [written]
    while todo:
        one = todo.pop()
        if "\0" in one:
            raise Unjudged("it holds a NUL character")
        for read in _WAYS:
            other = read(one)
            if other and other not in found:
                found[other] = None
                todo.append(other)
        if len(found) > _MOST:
            raise Unjudged("it can be read in too many ways")
    return list(found)


def _is_ordinary(written: str) -> bool:
    """Whether there is no other reading: most paths."""
    return bool(_ORDINARY.fullmatch(written) and ".." not in written and "./" not in written and "//" not in written)


def is_straight(root: str, written: str) -> bool:
    """Whether a path has one reading, and leads from the root to just where its names say. Then the root is its own
    true folder too, and need not be followed: most paths."""
    if written[:1] == "/" or len(written) > LONGEST or not _is_ordinary(written):
        return False
    whole = f"{root}/{written}"
    return follow(whole) == whole and whole[:6] != "/proc/"


def destinations(base: str, written: str) -> list[str]:
    """Where a path leads from a true folder: as the system follows it, and as somebody does who first leaves out `x/..`
    by the names. Whole paths, without links. Raises Unjudged."""
    if "\0" in written or len(written) > LONGEST:
        raise Unjudged("it holds a NUL character" if "\0" in written else f"it is longer than {LONGEST:,} characters")
    whole = os.path.join(base, written)
    to = follow(whole)
    if to == whole and to[:6] != "/proc/":  # no link, and nothing to leave out
        return [to]
    found = {to: None}
    ways = [whole]
    if ".." in written:
        ways.append(os.path.normpath(whole))
        found[follow(ways[1])] = None
    found |= dict.fromkeys(there for way in ways if (there := _of_another_process(way, base)))
    return list(found)


def _of_another_process(path: str, base: str) -> str | None:
    """Where a path leads that goes through the folder or the root of a process: whoever opens it starts in the base,
    and not where we do. None for every other path. Raises Unjudged for one through an open file."""
    at, todo, links, met = "", path.split("/")[::-1], 0, False
    while todo:
        name = todo.pop()
        if name == "..":
            at = at.rpartition("/")[0]
        if name in ("", ".", ".."):
            continue
        at = f"{at}/{name}"
        if at.startswith("/proc/") and (through := re.fullmatch(_PROCESS, at)) is not None:
            met = True
            if through[1] == "cwd":
                at = base
            elif through[1] == "root":
                at = ""
            elif todo:
                raise Unjudged("it leads through an open file of a process")
            continue
        try:
            to = os.readlink(at)
        except (OSError, ValueError):
            continue
        links += 1
        if links > _MOST_LINKS:
            raise Unjudged("it leads through too many links")
        at = "" if to.startswith("/") else at.rpartition("/")[0]
        todo += to.split("/")[::-1]
    return (at or "/") if met else None


def follow(path: str) -> str:
    """Where a path leads, after every link, whether or not anything is there: `os.path.realpath`, and several times as
    quick where the kernel tells."""
    if not _AS_A_NAME:
        return _real(path)
    try:
        found = os.open(path, _AS_A_NAME)
    except (OSError, ValueError):
        return _real(path)
    try:
        told = os.readlink(f"/proc/self/fd/{found}")
    except OSError:
        told = ""
    finally:
        os.close(found)
    # of what was removed meanwhile the kernel adds a word to the name
    return told if told[:1] == "/" and not told.endswith(" (deleted)") else _real(path)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except PermissionError:  # a link of a process that is not ours
        return os.path.abspath(path)


def _bare(path: str) -> str:
    """Without what people and models put around a path."""
    return path.strip().strip(_QUOTES).strip().removeprefix("@")


def _expanded(path: str) -> str:
    """`~` and `~user`, and variables that are a whole name: `$HOME.txt` is a file."""
    return os.path.expandvars(os.path.expanduser(path)) if path[:1] == "~" or re.search(_VARIABLE, path) else path


def _addressed(path: str) -> str:
    """`file:///srv/x?y` is `/srv/x`."""
    found = re.fullmatch(_ADDRESS, path.partition("#")[0].partition("?")[0]) if path[:5].lower() == "file:" else None
    return path if found is None else found[1]


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    raw = re.sub(_ENCODED, lambda found: bytes((int(found[1], 16),)), path.encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "replace")


def _separated(path: str) -> str:
    """As where a backslash separates, and drives and devices stand before a path."""
    plain = path.replace("\\", "/")
    return path if plain == path else re.sub(_DRIVE, "", re.sub(_DEVICE, "", plain))


def _trimmed(path: str) -> str:
    """As where dots and blanks at the end of a name are nothing, and a stream of a file is the file."""
    return "/".join(map(_trimmed_name, path.split("/")))


def _trimmed_name(name: str) -> str:
    plain = name.strip()
    return plain if plain in (".", "..") else plain.partition(":")[0].rstrip(" .")


def _in_plain_signs(path: str) -> str:
    if path.isascii():
        return path
    from rightcall.text.alike import as_signs  # late: hardly any path needs it

    return as_signs(path)


_WAYS = (_bare, _expanded, _addressed, _decoded, _separated, _trimmed, _in_plain_signs)
