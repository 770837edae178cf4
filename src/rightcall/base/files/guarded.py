"""RightCall's own files, which no call may touch, by whatever name: the policy, the record with what lies beside it,
and the user's folder of what lasts. What its subjects can write is no policy, and no record.

Only the standard library, and little of it: a hook loads this with every call that a host makes.
"""

import errno
import os
import re
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import BinaryIO

POLICY_FILE = "rightcall.toml"


def state_folder() -> str:
    """The user's own folder for what lasts: trust, the record of calls in projects without a policy, and sockets."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    else:
        base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # from the folder that one happens to be in it would be that folder's word
        return os.path.abspath(usual_state_folder())
    return os.path.join(os.path.abspath(base), "rightcall")


def state_folders() -> tuple[str, ...]:
    """The state folder, and the usual one where a variable names another. OSError where there is none."""
    found = [state_folder()]
    with suppress(OSError):
        found.append(os.path.abspath(usual_state_folder()))
    return tuple(dict.fromkeys(found))


def usual_state_folder() -> str:
    """Where it would be if no variable named another: the same for all that runs with one home folder."""
    if sys.platform == "win32":
        return os.path.join(os.path.expanduser("~\\AppData\\Local"), "rightcall")
    believed = os.path.isabs(os.environ.get("HOME", os.sep))
    return os.path.join(os.path.expanduser("~") if believed else _home(), ".local", "state", "rightcall")


def _home() -> str:
    """The home folder as the system knows it."""
    if sys.platform != "win32":
        import pwd  # late: hardly anybody needs it

        try:
            if os.path.isabs(home := pwd.getpwuid(os.getuid()).pw_dir):
                return home
        except KeyError:
            pass
    raise OSError("HOME is not an absolute path, and this user has no home folder; set HOME to one")


def identity(policy: str) -> str:
    """What a policy file is known by: its name in its real folder. A link to it in another project is another policy,
    since the record lies beside the link."""
    folder, name = os.path.split(os.path.abspath(policy))
    return os.path.join(os.path.realpath(folder), name)


def packets_folder(database: str) -> str:
    """Where the router keeps its packets."""
    return os.path.join(os.path.dirname(database), "packets")


def desks_folder(database: str) -> str:
    """Where all that belongs to writing is kept, beside the audit."""
    return os.path.join(os.path.dirname(database), "desk")


def true_place(folder: str) -> str:
    """A folder by its name in the true folder above it, whether it is there yet or not."""
    above, name = os.path.split(os.path.abspath(folder))
    return os.path.join(os.path.realpath(above), name)


def leaves_folder(path: str) -> bool:
    """Whether a path that counts from a folder says, as it is written, that it leads out of it.

    >>> [leaves_folder(path) for path in (".rightcall/audit.db", "/var/audit.db", "a/../../audit.db", ".")]
    [False, True, True, True]
    """
    plain = os.path.normpath(path.replace("\\", "/"))
    outside = os.path.isabs(plain) or os.path.splitdrive(path)[0] or plain.split("/")[0] in ("..", "~")
    return bool(outside) or plain == "." or "\0" in path


def guarded_files(policy: str | None, *databases: str | None) -> tuple[str, ...]:
    """As whole paths, after every link; a folder ends with a separator, and all that is in it is meant."""
    files = [policy, *databases]
    folders = list(state_folders())
    for database in databases:
        if database is not None:
            folders += [packets_folder(database), desks_folder(database)]
    found = [os.path.realpath(file) for file in files if file is not None]
    return tuple(dict.fromkeys((*found, *(os.path.join(os.path.realpath(folder), "") for folder in folders))))


def program_places() -> tuple[str, ...]:
    """Where this very program runs from, in the form of `guarded_files`: its package, its script, and the environment
    that it is installed in, as a whole. A call that changes these changes its own guard."""
    return _program_at(sys.prefix, sys.base_prefix)


@lru_cache(4)
def _program_at(prefix: str, base: str) -> tuple[str, ...]:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folders = [package] if prefix == base else [package, prefix]
    script = os.path.join(prefix, "Scripts" if sys.platform == "win32" else "bin", "rightcall")
    named = [script, *(os.path.join(one, "") for one in folders)]
    return tuple(dict.fromkeys((*named, *(os.path.join(os.path.realpath(one), "") for one in folders))))


def is_guarded(path: str, guarded: Iterable[str]) -> bool:
    """Whether a whole path is one of these files, is named after one (`audit.db-wal`, `audit.db.key`), or lies in one
    of these folders. Some systems make no difference between capital and small letters, so none is made here.

    >>> is_guarded("/srv/Audit.db-wal", ["/srv/audit.db"]), is_guarded("/srv/desk.py", ["/srv/desk/"])
    (True, False)
    """
    low = path.casefold()
    files, beginnings = _folded(tuple(guarded))
    return low in files or f"{low}{os.sep}".startswith(beginnings)


@lru_cache(64)
def _folded(guarded: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names of files, and how everything begins that belongs to a file or lies in a folder."""
    low = [one.casefold() for one in guarded]
    files = frozenset(one for one in low if not one.endswith(os.sep))
    return files, (*(one for one in low if one.endswith(os.sep)), *(one + end for one in files for end in "-."))


def is_another_name(path: str, guarded: Iterable[str]) -> bool:
    """Whether a path is a second name of one of these files, or of one beside it: such a name tells nothing."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    if found.st_nlink < 2 or stat.S_ISDIR(found.st_mode):  # links have been followed, so it has no other name
        return False
    return (found.st_dev, found.st_ino) in set(_identities(guarded))


def _identities(guarded: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Of the files, of those beside them, and of all in the folders."""
    for one in guarded:
        for file in _files_in(one) if one.endswith(os.sep) else _files_beside(one):
            try:
                found = os.stat(file, follow_symlinks=False)
            except OSError:
                continue
            yield found.st_dev, found.st_ino


def _files_beside(file: str) -> Iterator[str]:
    folder, name = os.path.split(file)
    yield file
    try:
        beside = [one.path for one in os.scandir(folder) if one.name.startswith((f"{name}-", f"{name}."))]
    except OSError:
        return
    for path in beside:
        yield path
        yield from _files_in(path)


def _files_in(folder: str) -> Iterator[str]:
    for inside, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(inside, name)


# ── readings ──
# What a written path may mean to whoever opens it. Nobody knows how somebody else's program reads a path: it may take
# it as the kernel does, leave out `x/..` by the names alone, decode an address, expand `~`, or run on a system where a
# backslash separates and a dot at the end is nothing. So each reading is followed, and the strictest judgement holds.
#
#     a path as written ─▶ every spelling it can be turned into ─▶ where each leads, by names and by links

LONGEST = 4096
"""Characters; no system opens a longer path, and following it would hold up everybody else."""
_MOST = 64
"""Readings of one path. A real one has a few; what has more was made to have them."""
_ORDINARY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+=,()/.-"
"""What most paths are written with; a dot at their end is no such sign."""
# these are compiled when first needed, which is hardly ever
_ADDRESS = r"(?i:(?:[a-z0-9.-]+\+)?file|netdoc|unix):(?://[^/?#]*)?([^?#]*)"
_ADDRESS_FROM_HERE = r"(?i:(?:[a-z0-9.-]+\+)?file|netdoc|unix)://(?=[^/\\])"
_ENCODED = rb"%([0-9A-Fa-f]{2})"
_VARIABLE = r"(?a:(?:\A|/)(?:\$\w+|\$\{\w+\}|%\w+%)(?=/|\Z))"
_ANY_VARIABLE = r"(?a:\$\{\w+:?[-=+]([^{}]*)\}|(?:(?<=[^/])(?:\$\{\w+\}|\$\w+)|\$\{\w+\}(?=[^./])))"
_FIRST_VARIABLE = r"(?a:(?:\$\w+|\$\{\w+\}|%\w+%)/+)"
_LINK = r"!?\[[^\]]*\]\(\s*<?([^)>]+)>?\s*\)"
_EDITOR = r"[A-Za-z][A-Za-z0-9+.-]*://(?:file|open|vscode-remote/[^/]+)(/.*)"
_PROCESS = r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/(cwd|root|exe|(?:fd|map_files|ns)/[^/]+)"
_MOST_LINKS = 40
"""As the system counts."""
_QUOTES = "\"'`<>"


_AS_A_NAME: int = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0  # Linux
"""Open nothing but the name: no pipe is waited for, no device touched."""
_NAMES_UNKNOWN = 2
_TRUE: dict[str, tuple[int, int]] = {}
"""Folders to which no link led when they were looked at, by name: device and number."""
_MOST_TRUE = 100
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
    if not written or written[-1] == "." or written.strip(_ORDINARY):
        return False
    return ".." not in written and "./" not in written and "//" not in written


def names_if_straight(root: str, written: str, held: tuple[tuple[str, int, int], ...] = ()) -> int:
    """How many names the file has to which a path leads, where the path has one reading and leads from the root to just
    where its names say: 1 where nothing is there. Then the root is its own true folder too, and need not be followed:
    most paths. 0 for any other. `held`: folders, with device and number, of which whoever asks sees to it afterwards
    that they are still the same."""
    if written[:1] == "/" or len(written) > LONGEST or not _is_ordinary(written):
        return 0
    whole = f"{root}/{written}"
    if whole[:6] == "/proc/":
        return 0
    try:
        found = os.open(whole, _AS_A_NAME | os.O_NOFOLLOW) if _AS_A_NAME else -1
    except FileNotFoundError:
        return 1 if _is_straight_above(root, whole, held) else 0
    except (OSError, ValueError):
        found = -1
    if found < 0:
        return _NAMES_UNKNOWN if follow(whole) == whole else 0
    try:
        seen = os.fstat(found)
        if stat.S_ISLNK(seen.st_mode) or os.readlink(f"/proc/self/fd/{found}") != whole:
            return 0
    except OSError:
        return 0
    finally:
        os.close(found)
    return 1 if stat.S_ISDIR(seen.st_mode) else seen.st_nlink


def _is_straight_above(root: str, whole: str, held: tuple[tuple[str, int, int], ...]) -> bool:
    """The same for the folders above what is not there, of which the lower ones may not be there either. This is what a
    name costs that a model has made up, so the system is asked as little as can be."""
    above = whole.rpartition("/")[0]
    while len(above) > len(root):
        try:
            found = os.open(above, _AS_A_NAME | os.O_NOFOLLOW | os.O_DIRECTORY)
        except FileNotFoundError:
            above = above.rpartition("/")[0]
            continue
        except (OSError, ValueError):  # a link, perhaps to nowhere
            return follow(whole) == whole
        try:
            return os.readlink(f"/proc/self/fd/{found}") == above
        except OSError:
            return False
        finally:
            os.close(found)
    seen = _TRUE.get(root)
    return (seen is not None and (root, *seen) in held) or _is_true(root)


def _is_true(folder: str) -> bool:
    """Whether no link leads to a folder by this name. Once that was seen, it holds for as long as the name leads to the
    same folder."""
    try:
        seen = os.stat(folder)
        if _TRUE.get(folder) == (seen.st_dev, seen.st_ino):
            return True
        found = os.open(folder, _AS_A_NAME)
    except (OSError, ValueError):
        return follow(folder) == folder
    try:
        seen = os.fstat(found)
        if os.readlink(f"/proc/self/fd/{found}") != folder:
            return False
    except OSError:
        return False
    finally:
        os.close(found)
    if len(_TRUE) >= _MOST_TRUE:
        _TRUE.clear()
    _TRUE[folder] = seen.st_dev, seen.st_ino
    return True


def destinations(base: str, written: str) -> list[str]:
    """Where a path leads from a true folder: as the system follows it, and as somebody does who first leaves out `x/..`
    by the names. Whole paths, without links. Raises Unjudged."""
    if "\0" in written or len(written) > LONGEST:
        raise Unjudged("it holds a NUL character" if "\0" in written else f"it is longer than {LONGEST:,} characters")
    whole = os.path.join(base, written)
    to = _follow_surely(whole)
    if to == whole and to[:6] != "/proc/":  # no link, and nothing to leave out
        return [to]
    found = {to: None}
    ways = [whole]
    if ".." in written:
        ways.append(os.path.normpath(whole))
        found[_follow_surely(ways[1])] = None
    found |= dict.fromkeys(there for way in ways if (there := _of_another_process(way, base)))
    return list(found)


def _follow_surely(path: str) -> str:
    if (to := follow(path)) == NOWHERE:
        raise Unjudged("it leads through what cannot be looked into")
    return to


def _of_another_process(path: str, base: str) -> str | None:
    """Where a path leads that goes through the folder or the root of a process: whoever opens it starts in the base,
    and not where we do. None for every other path. Raises Unjudged for one through an open file."""
    to, met = _walk(path, base)
    return to if met else None


def _walk(path: str, base: str | None = None) -> tuple[str, bool]:
    """Where a whole path leads, name by name, whether or not anything is there. With a base also through the folder and
    the root of a process, and whether it does. Raises Unjudged where nobody can say whether a name is a link."""
    at, todo, links, gone, met = "", path.split("/")[::-1], 0, 0, False
    while todo:
        name = todo.pop()
        if name == "..":
            at = at.rpartition("/")[0]
            gone = gone if len(at) >= gone else 0
        if name in ("", ".", ".."):
            continue
        above, at = at, f"{at}/{name}"
        if base is not None and at.startswith("/proc/") and (through := re.fullmatch(_PROCESS, at)) is not None:
            met, gone = True, 0
            if through[1] == "cwd":
                at = base
            elif through[1] == "root":
                at = ""
            elif todo:
                raise Unjudged("it leads through an open file of a process")
            continue
        to = None if gone else _link_at(above, name)
        if to is None:  # nor is there anything below it
            gone = gone or len(at)
        elif to:
            links += 1
            if links > _MOST_LINKS:
                raise Unjudged("it leads through too many links")
            at = "" if to.startswith("/") else above
            todo += to.split("/")[::-1]
    return at or "/", met


def _link_at(above: str, name: str) -> str | None:
    """Where a link leads, "" for what is none, None where nothing is. Raises Unjudged where the system does not say:
    somebody who starts in a lower folder, or may see more than we do, may open it all the same."""
    try:
        return os.readlink(f"{above}/{name}")
    except OSError as error:
        if error.errno == errno.EINVAL:
            return ""
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        if error.errno == errno.ENAMETOOLONG and _is_no_name(above or "/", name):
            return None
        raise Unjudged("a folder in it cannot be looked into") from error


def _is_no_name(folder: str, name: str) -> bool:
    """Whether nothing in a folder can have a name as long as this."""
    try:
        return len(os.fsencode(name)) > os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError):
        return False


def follow(path: str) -> str:
    """Where a path leads, after every link, whether or not anything is there; NOWHERE where nobody can say it. Like
    `os.path.realpath`, which takes what it may not look at for no link, and several times as quick where the kernel
    tells."""
    if not _AS_A_NAME:
        return _resolve(path)
    try:
        return _ask_kernel(path) or _resolve(path)
    except FileNotFoundError:
        return _follow_new(path) or _resolve(path)
    except (OSError, ValueError):
        return _resolve(path)


def _ask_kernel(path: str) -> str:
    """The kernel's name of what is there; empty where it has none."""
    found = os.open(path, _AS_A_NAME)
    try:
        told = os.readlink(f"/proc/self/fd/{found}")
    except OSError:
        return ""
    finally:
        os.close(found)
    # of what was removed meanwhile the kernel adds a word to the name
    return told if told[:1] == "/" and not told.endswith(" (deleted)") else ""


def _follow_new(path: str) -> str:
    """The same for a name that is not there, nor perhaps the folders above it; empty for a link to nowhere, and for
    everything that has no such name."""
    above, rest = path, ""
    for _ in range(_MOST_LINKS):
        folder, _, name = above.rpartition("/")
        if not folder or name in ("", ".", "..") or os.path.lexists(above):
            return ""
        above, rest = folder, f"/{name}{rest}"
        try:
            told = _ask_kernel(above)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return ""
        return told and told.rstrip("/") + rest
    return ""


def _resolve(path: str) -> str:
    try:
        if sys.platform == "win32":
            return os.path.realpath(path)
        return _walk(path if path[:1] == "/" else os.path.join(os.getcwd(), path))[0]
    except (OSError, ValueError):
        return NOWHERE


def _bare(path: str) -> str:
    """Without what people and models put around a path."""
    return path.strip().strip(_QUOTES).strip().removeprefix("@")


def _expanded(path: str) -> str:
    """`~` and `~user`, and variables that are a whole name: `$HOME.txt` is a file."""
    return os.path.expandvars(os.path.expanduser(path)) if path[:1] == "~" or re.search(_VARIABLE, path) else path


def _from_here(path: str) -> str:
    """`$PWD/x`: a variable may stand for the folder that paths count from, whatever it is here."""
    found = re.match(_FIRST_VARIABLE, path) if path[:1] in "$%" else None
    return path if found is None else path[found.end() :]


def _without_variables(path: str) -> str:
    """`.e${x}nv` and `${x:-.env}`, where a variable is empty; `$HOME.txt` is a file."""
    return re.sub(_ANY_VARIABLE, lambda found: found[1] or "", path) if "$" in path else path


def _unmarked(path: str) -> str:
    """Without what points into a file (`x#L1`, `x?raw=1`) and what is around a link to one (`[x](y)`)."""
    linked = re.fullmatch(_LINK, path, re.DOTALL) if path[:1] in "[!" else None
    if linked is not None:
        return linked[1]
    above, slash, name = path.rpartition("/")
    return above + slash + re.split("[?#]", name, maxsplit=1)[0]


def _cut(path: str) -> str:
    """What stands before a query or a fragment of an address, wherever that begins: `x#L1/`."""
    return re.split("[?#]", path, maxsplit=1)[0] if "?" in path or "#" in path else path


def _opened_by_editor(path: str) -> str:
    """`vscode://file/srv/x` is `/srv/x`."""
    found = re.fullmatch(_EDITOR, path, re.DOTALL) if "://" in path else None
    return path if found is None else found[1]


def _addressed(path: str) -> str:
    """`file:///srv/x?y` is `/srv/x`."""
    found = re.fullmatch(_ADDRESS, path.partition("#")[0].partition("?")[0]) if ":" in path else None
    return path if found is None else found[1]


def _joined(path: str) -> str:
    """An address without the lines and tabs in it, which whoever reads addresses leaves out."""
    plain = re.sub("[\t\r\n]", "", path)
    return plain if plain != path and re.match(_ADDRESS, plain.lstrip()) else path


def _addressed_from_here(path: str) -> str:
    """`file://private/x` is `private/x` to whoever only takes the scheme away."""
    found = re.match(_ADDRESS_FROM_HERE, path) if ":" in path else None
    return path if found is None else path[found.end() :]


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    raw = re.sub(_ENCODED, lambda found: bytes((int(found[1], 16),)), path.encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "replace")


def _separated(path: str) -> str:
    """As where a backslash separates, and drives and devices stand before a path."""
    plain = path.replace("\\", "/")
    return path if plain == path else re.sub(r"\A[A-Za-z]:", "", re.sub(r"\A//[?.]/+(?i:unc/+)?", "", plain))


def _trimmed(path: str) -> str:
    """As where dots and blanks at the end of a name are nothing, and a stream of a file is the file."""
    return "/".join(map(_trimmed_name, path.split("/")))


def _trimmed_name(name: str) -> str:
    plain = name.strip()
    return plain if plain in (".", "..") else plain.partition(":")[0].rstrip(" .")


def _in_plain_signs(path: str) -> str:
    """In plain letters and signs, without what cannot be seen: also not what steers a terminal."""
    if path.isascii():
        return path if path.isprintable() else re.sub("[\x01-\x09\x0b-\x1f\x7f]", "", path)  # lines are `in_one_line`'s
    from rightcall.base.letters import as_signs  # late: hardly any path needs it

    return as_signs(path)


_WAYS = (
    _bare, _expanded, _from_here, _without_variables, _joined, _addressed, _addressed_from_here, _opened_by_editor,
    _unmarked, _cut, _decoded, _separated, _trimmed, _in_plain_signs,
)  # fmt: skip


_WAYS_WITHOUT_CUTS = tuple(way for way in _WAYS if way not in (_unmarked, _cut, _trimmed))
_MOST_ROUNDS = 4
_CLIMBS = r"\A/*(?:\.\./)+"


def drop_padding(written: str) -> str:
    """What a text that is too long for a path may be all the same, to somebody who decodes it and leaves out what leads
    nowhere: itself where that makes a path of it, which nobody will judge; else what stands before a sign that may end
    a path. Empty where nobody can open it: data, and prose.

    >>> drop_padding("%2e/" * 2000 + "x")[:8], drop_padding("Why? " + "it is long " * 500), drop_padding("A/b+" * 2000)
    ('%2e/%2e/', 'Why', '')
    """
    one = _read_on(written)
    if len(_shortest(one)) <= LONGEST:
        return written
    cut = _shortest(_trimmed(_unmarked(one)))
    return cut if len(cut) <= LONGEST else ""


def in_one_line(written: str) -> str:
    """A text of several lines as somebody reads it who leaves out `x/..` by the names. Empty where lines are left.

    >>> in_one_line("x\\n/../.env"), in_one_line("../a\\n../b")
    ('.env', '')
    """
    plain = os.path.normpath(_read_on(written)) if ".." in written or "%" in written else written
    return "" if "\n" in plain else plain


def _read_on(written: str) -> str:
    one = written
    for _ in range(_MOST_ROUNDS):
        before = one
        for read in _WAYS_WITHOUT_CUTS:
            one = read(one) or one
        if one == before:
            break
    return one


def _shortest(path: str) -> str:
    """Without what leads nowhere, from a folder as high as the path climbs."""
    plain = os.path.normpath(path)
    return plain if len(plain) <= LONGEST else re.sub(_CLIMBS, "/", plain)


# ── whole ──
# Files that are replaced in one step: whoever reads sees the old one or the new one, also after a crash. What took the
# place of one and is no file is not read.


@contextmanager
def whole_file(path: str, beside: str) -> Generator[BinaryIO]:
    """What the block writes takes the place of `path` when the block ends; nothing is left where it fails. It is
    written to `beside`, which must not be there and which only its owner can read."""
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    settle(os.path.dirname(path) or ".")


def plain_file(path: str, flags: int) -> int:
    """An opener for `open`. Nobody waits for the other end of a pipe: what is no file raises OSError."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0), 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return handle


def settle(folder: str | os.PathLike[str]) -> None:
    """A name that is not on the disk is lost in a power cut, whatever was written under it."""
    if os.name == "posix":  # elsewhere folders cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ── lock ──
# A lock on an open file, which the system lets go when the process ends, however it ends.


def take_lock(fd: int) -> bool:
    """Whether the lock is now ours; nobody waits for it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    import fcntl  # late: not every hook takes a lock

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
