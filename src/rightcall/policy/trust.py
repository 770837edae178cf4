"""What this user trusts, and what this user has stopped, in the user's own state folder: one small file for each policy
file, store and stop.

    <state>/rightcall/trust/policies/<digest of the path>.json     {"path": …, "sha256": …, "at": …}
    <state>/rightcall/trust/stores/<digest of the path>.json       {"path": …, "token": …, "approvals": …, "grants": …}

Nothing of it lies beside what it speaks of. A folder that somebody else can write is not believed.

A policy file as it is found: its bytes, read once, and whether this user trusts them.

    named (--policy, a program's argument) ──────────────────────────▶ the policy as it is written
    found ─▶ these bytes are trusted, by this user, at this path ────▶ the policy as it is written
          └▶ they are not ─▶ the defaults, with what makes them stricter; the rest is ignored, and that is said

Whatever has the file's name and is no file (a pipe, a device, a folder) is neither opened nor waited for. One that
others may write is refused. One that was found and leads out of its folder is somebody else's file: unless it is
trusted, nothing of it is parsed, so that no error can show what is in it.
"""

import os
import stat
import sys
from contextlib import suppress
from shlex import quote
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall.base.files.guarded import identity, plain_file, state_folder, state_folders
from rightcall.base.text import escaped
from rightcall.errors import ConfigError, PolicyError
from rightcall.policy.types import Pause
from rightcall.types import Mode

if TYPE_CHECKING:
    from rightcall.policy.settings import Policy
    from rightcall.policy.tightening import Beyond

# ── modes ──
# Who besides its owner may write a file: everybody, or a group in which others are. Root may anyway.

_WITHOUT_MODES: Final = frozenset(
    ("vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "9p", "drvfs", "cifs", "smb3", "smbfs", "vboxsf", "prl_fs")
)
"""File systems on which every file shows the same mode, whoever may write it."""


def others_may_write(found: os.stat_result) -> bool:
    """Whether the modes let somebody else write: the world, or a group that has another member."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and _has_others(found.st_gid)


def modes_mean_nothing(found: os.stat_result) -> bool:
    """Whether the modes of a file say nothing of who may write it, as on Windows and on many shared folders."""
    return sys.platform == "win32" or _file_system(found.st_dev) in _WITHOUT_MODES


def _has_others(gid: int) -> bool:
    """Whether a group has a member who is neither this user nor root. One of which the system knows nothing has none;
    one that is named like its user is that user's own."""
    try:
        import grp
        import pwd
    except ImportError:  # Windows
        return False
    try:
        group = grp.getgrgid(gid)
        own = {"root", pwd.getpwuid(os.geteuid()).pw_name}
    except KeyError:
        return False
    if any(name not in own for name in group.gr_mem):
        return True
    if group.gr_name in own:
        return False
    return any(one.pw_gid == gid and one.pw_name not in own for one in pwd.getpwall())


def _file_system(device: int) -> str:
    """The kind of the file system with this number; empty where the system does not tell."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                before, _, after = line.partition(" - ")
                if before.split(" ")[2:3] == [number]:
                    return after.split(" ")[0]
    except OSError:
        return ""
    return ""


# ── stops ──
# Emergency stops in the user's own state folder, where no `git clean` and no other project reaches them.
#
#     <state>/rightcall/stops/everywhere.json      `rightcall pause --everywhere`: every process of this user refuses
#     <state>/rightcall/stops/<digest>.json        the store of a path is paused: one that is made anew there begins so
#
# The stop everywhere also lies in the folder that would be the state folder if `XDG_STATE_HOME` named no other, and
# every process looks there too. A stop that is there and cannot be read still stops, also one that is a link to
# nowhere.

EVERYWHERE = ""
"""In the place of a store's path."""
_SERVES = 0.01
"""Seconds for which a look that found no stop is believed."""
_UNREADABLE = Pause("unknown", "", "the stop in the state folder cannot be read")


def stopped(store: str = EVERYWHERE) -> Pause | None:
    """The stop that holds for all processes of this user; or that of the store of a path."""
    return stop_at(*places_of(store))


def places_of(*stores: str) -> tuple[str, ...]:
    """The files that stop; none where this user has no home."""
    try:
        folders = state_folders()
    except OSError:
        return ()
    return tuple([os.path.join(folder, "stops", _stop_name(store)) for store in stores for folder in folders])


def folder_stop(folder: str) -> str:
    """The name under which the stop of a folder is kept: in the place of a store's path."""
    return os.path.join(os.path.realpath(folder), "")


def stops_of_folders(folder: str) -> "Stops":
    """Those of a folder and of all above it: what is paused there is paused below."""
    found = [folder_stop(folder)]
    while (above := os.path.dirname(found[-1].rstrip(os.sep))) and os.path.join(above, "") != found[-1]:
        found.append(os.path.join(above, ""))
    return Stops(*found)


def stops_above(store: str) -> dict[str, Pause]:
    """The stops of the folders above a store, by the names that `folder_stop` gives them."""
    found: dict[str, Pause] = {}
    at, above = store, os.path.dirname(os.path.realpath(store))
    while above != at:
        if (held := stopped(folder_stop(above))) is not None:
            found[folder_stop(above)] = held
        at, above = above, os.path.dirname(above)
    return found


class Stops:
    """Asked before every call whether one of some stops holds. A look that finds none serves for a few milliseconds;
    whoever puts a stop waits them out, so that no call begins after that."""

    def __init__(self, *stores: str) -> None:
        self._files = places_of(*stores)
        self._next_look = 0.0

    def standing(self) -> Pause | None:
        now = monotonic()
        if now < self._next_look:
            return None
        if (found := stop_at(*self._files)) is None:
            self._next_look = now + _SERVES
        return found


def stop_at(*files: str) -> Pause | None:
    for file in files:
        try:
            os.lstat(file)
        except (OSError, ValueError):
            continue
        if (found := _read_stop(file)) is not None:
            return found
    return None


def put_stop(pause: Pause | None, store: str = EVERYWHERE) -> None:
    """Keep it, or let calls go on. OSError where that cannot be done in one of its places; the others have it. That of
    a store or a folder needs the first of them alone."""
    from rightcall.base.files.guarded import whole_file

    faults: list[OSError] = []
    state_folder()  # which raises where there is no place at all, and says why
    for count, file in enumerate(places_of(store)):
        try:
            if pause is None:
                with suppress(FileNotFoundError, NotADirectoryError):
                    os.unlink(file)
                continue
            folder = os.path.dirname(file)
            for one in (os.path.dirname(folder), folder):
                os.makedirs(one, mode=0o700, exist_ok=True)
            with whole_file(file, f"{file}.{os.urandom(6).hex()}") as opened:
                opened.write(json.encode(pause))
        except OSError as fault:
            if store == EVERYWHERE or count == 0:
                faults.append(fault)
    if pause is not None:
        sleep(_SERVES)
    if faults:
        raise faults[0]


def _read_stop(file: str) -> Pause | None:
    from rightcall.base.files.guarded import plain_file

    try:
        with open(file, "rb", opener=plain_file) as opened:
            return json.decode(opened.read(10_000), type=Pause)
    except FileNotFoundError:  # it has just ended, or it is a link to nowhere
        return _UNREADABLE if os.path.lexists(file) else None
    except (OSError, MsgspecError):
        return _UNREADABLE


def _stop_name(store: str) -> str:
    return "everywhere.json" if store == EVERYWHERE else _name(store)


# ── telling ──
# What a person should know of something that was found, said once: in the log, and at a command line on stderr.

_said: set[str] = set()
_aloud = False
"""Whether a command line listens: its user has configured no log."""


def warn(text: str) -> None:
    """Once in a process, however often it is found. The text is one line, escaped."""
    if text in _said:
        return
    _said.add(text)
    if not _aloud:
        from logging import getLogger  # late: hardly any process has something to say, and a hook pays for it

        getLogger("rightcall.policy.trust").warning("rightcall: %s", text)
        return
    with suppress(OSError, ValueError):  # nobody is left to be told
        sys.stderr.write(f"rightcall: {text}\n")
        sys.stderr.flush()


def speak_on_stderr() -> None:
    """For a command line, from here on."""
    global _aloud
    _aloud = True


Kind = Literal["policies", "stores"]

_MOST_BYTES = 100_000


def recall(kind: Kind, path: str) -> dict[str, Any] | None:
    """What is noted of a path; None for nothing, or nothing that can be believed."""
    folder = _folder(kind)
    if not os.path.isdir(folder):
        return None
    if problem := _disbelief(folder):
        warn(f"{problem}; nothing counts as trusted")
        return None
    found = _read(os.path.join(folder, _name(path)))
    return found if found is not None and found.get("path") == path else None


def note(kind: Kind, path: str, about: dict[str, Any]) -> None:
    """Keeps what is to be known of a path, in place of what was. ConfigError where it cannot be kept."""
    from json import dumps

    from rightcall.base.files.guarded import whole_file

    folder = _folder(kind)
    text = dumps({"version": 1, "path": path, **about}, ensure_ascii=True).encode()
    if len(text) > _MOST_BYTES:
        raise ConfigError(f"trust in {escaped(path)} cannot be kept: its note would exceed {_MOST_BYTES:,} bytes")
    try:
        for one in (state_folder(), os.path.dirname(folder), folder):
            os.makedirs(one, mode=0o700, exist_ok=True)
        if problem := _disbelief(folder):
            raise ConfigError(problem)
        file = os.path.join(folder, _name(path))
        with whole_file(file, f"{file}.{os.urandom(6).hex()}") as opened:
            opened.write(text)
    except OSError as fault:
        raise ConfigError(f"trust cannot be kept in {folder}: {fault.strerror or fault}") from None


def stamp(kind: Kind, path: str) -> object:
    """Differs when something else is noted of a path."""
    try:
        found = os.stat(os.path.join(_folder(kind), _name(path)))
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def forget(kind: Kind, path: str) -> bool:
    """Whether there was something to forget."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(_folder(kind), _name(path)))
        return True
    return False


def listed(kind: Kind) -> list[dict[str, Any]]:
    """All that is noted, in the order of the paths."""
    folder = _folder(kind)
    if not os.path.isdir(folder):
        return []
    if problem := _disbelief(folder):
        raise ConfigError(problem)
    with os.scandir(folder) as files:
        found = [_read(file.path) for file in files if file.name.endswith(".json")]
    return sorted((one for one in found if one is not None), key=lambda one: str(one.get("path", "")))


def _folder(kind: Kind) -> str:
    return os.path.join(state_folder(), "trust", kind)


def _name(path: str) -> str:
    from hashlib import sha256

    return f"{sha256(os.fsencode(path)).hexdigest()[:32]}.json"


def _disbelief(folder: str) -> str:
    """Why what lies in a folder may be somebody else's; empty: it is this user's alone."""
    if sys.platform == "win32":
        return ""  # the profile's folder has its own protection, which no mode tells
    for one in (state_folder(), os.path.dirname(folder), folder):
        found = os.lstat(one)
        if not stat.S_ISDIR(found.st_mode):
            return f"{one} is not a folder"
        if found.st_uid != os.geteuid():
            return f"{one} belongs to another user"
        if others_may_write(found):
            return f"{one} can be written by others: run `chmod go-w {one}`"
    return ""


def _disbelief_in_note(file: str, found: os.stat_result) -> str:
    """Why one note may be somebody else's: it may have been moved here, or written before its folder was closed."""
    if sys.platform == "win32":
        return ""
    if not stat.S_ISREG(found.st_mode):
        return f"{file} is not a file"
    if found.st_uid not in (os.geteuid(), 0):
        return f"{file} belongs to another user"
    if others_may_write(found):
        return f"{file} can be written by others: run `chmod go-w {file}`"
    return ""


def _read(file: str) -> dict[str, Any] | None:
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as opened:
            if problem := _disbelief_in_note(file, os.fstat(handle)):
                warn(f"{problem}; it does not count")
                return None
            found = _decoded(opened.read(_MOST_BYTES))
    except (OSError, ValueError, MsgspecError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _decoded(text: bytes) -> Any:
    if b"\\ud" not in text:
        return json.decode(text)
    from json import loads  # late: only a path that is no UTF-8 has half a character in it

    return loads(text)


# ── policy files as they are found ────────────────────────────────────────────────────────────────────────────────────

MOST_BYTES = 1_000_000
"""Of a policy file. People do not write longer ones."""
_STRANGE = "not a regular file, or a link to nothing"


class FoundPolicy(Struct, frozen=True):
    """A policy file that nobody named, in place of its path: whoever loads it loads what may be believed of it."""

    path: str
    least: Mode = "block"
    """What happens to a wrong call here, as somebody set it up: what was found is never milder than that."""

    quiet: bool = False
    """A hook is started for every call: what it ignores it does not tell each time."""

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def absolute(self) -> "FoundPolicy":
        return FoundPolicy(os.path.abspath(self.path), self.least, self.quiet)


class PolicyText(Struct, frozen=True):
    """The bytes of a policy file, and what the file system says of it."""

    raw: bytes
    shared: bool
    """Whether nobody can tell who may write it: then naming it is not enough."""


def read_text(file: str) -> PolicyText:
    """Raises PolicyError for what is no file, cannot be read, is too long, or can be written by others."""
    try:
        _refuse_strange(os.stat(file), file)  # before it is opened: a device may act on that alone
        with open(file, "rb", opener=plain_file) as opened:
            found = os.fstat(opened.fileno())
            raw = opened.read(MOST_BYTES + 1)
    except PolicyError:
        raise
    except (OSError, ValueError) as fault:  # ValueError: a NUL in the path
        nothing = isinstance(fault, FileNotFoundError) and os.path.islink(file)
        raise _unreadable(file, _STRANGE if nothing else str(getattr(fault, "strerror", None) or fault)) from None
    if len(raw) > MOST_BYTES:
        raise _unreadable(file, f"it is longer than {MOST_BYTES:,} bytes")
    if not others_may_write(found):
        return PolicyText(raw, shared=False)
    if modes_mean_nothing(found):
        return PolicyText(raw, shared=True)
    raise PolicyError(
        "other users may write this policy file, so it cannot be relied on; "
        f"run `chmod go-w {quote(os.path.abspath(file))}`",
        source=file,
    )


def _refuse_strange(found: os.stat_result, file: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _unreadable(file, "Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise _unreadable(file, _STRANGE)


def digest_of(raw: bytes) -> str:
    from hashlib import sha256

    return sha256(raw).hexdigest()


def is_trusted(file: str, raw: bytes) -> bool:
    """Whether this user has trusted these very bytes at this path."""
    known = recall("policies", identity(file))
    return known is not None and known.get("sha256") == digest_of(raw)


def refuse_leaving_link(file: str) -> None:
    """Raises PolicyError for a file that is a link out of its folder."""
    if os.path.islink(file) and os.path.dirname(os.path.realpath(file)) != os.path.realpath(os.path.dirname(file)):
        raise PolicyError(
            "this policy is a link that leads out of its folder, and was only found there, so it is not read; "
            "name the file that it leads to with --policy, if it is yours",
            source=file,
        )


def _unreadable(file: str, why: str) -> PolicyError:
    return PolicyError(f"the policy cannot be read: {why}", source=file)


# ── trust ──
# What a file that was found may say, and how a person's trust is given and taken back.

_MOST_KEYS = 8
_MOST_MARKS = 3_500
"""Requests that are known again one by one: of more, the note would be too long to be read back."""


def load_file(policy: str | os.PathLike[str]) -> "Policy":
    """The policy in a file: as it is written where it was named, or is trusted; else what makes the defaults stricter.
    Raises PolicyError."""
    from rightcall.policy.reader import read_bytes  # late: a file that is only looked at is not read as a policy

    file = os.fspath(policy)
    text = read_text(file)
    found = policy if isinstance(policy, FoundPolicy) else FoundPolicy(file) if text.shared else None
    if found is None:
        return read_bytes(file, text.raw)
    if text.shared and not isinstance(policy, FoundPolicy):
        warn(f"{file}: modes mean nothing on this file system, so anybody may have written it")
    if is_trusted(file, text.raw):
        return replace(read_bytes(file, text.raw), standing="trusted")
    refuse_leaving_link(file)
    from rightcall.policy.tightening import tighten

    said = read_bytes(file, text.raw)
    tight = tighten(said, found.least)
    if not found.quiet:
        _tell_ignored(file, said, tight)
    return tight


def _tell_ignored(file: str, said: "Policy", tight: "Policy") -> None:
    from rightcall.policy.tightening import ignored_keys

    keys = ignored_keys(said, tight)
    if not keys:
        return
    shown = ", ".join(escaped(key, 60) for key in keys[:_MOST_KEYS])
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    warn(
        f"{escaped(identity(file))} is not trusted, so it can only make things stricter. Ignored: {shown}{more}. "
        f"To read and trust it: rightcall trust {escaped(quote(os.path.abspath(file)))}"
    )


class TrustOffer(Struct, frozen=True):
    """A policy file as a person is asked to trust it: these bytes, and what they ask for."""

    file: str
    digest: str
    requests: "tuple[Beyond, ...]"
    trusted: bool
    known: frozenset[str] | None
    """The requests that were there when the file was last trusted; None: it never was."""

    def is_new(self, request: "Beyond") -> bool:
        """Whether it has come since."""
        return self.known is not None and _mark(request) not in self.known


def offer(file: str) -> TrustOffer:
    """What there is to trust. Raises PolicyError for a file that cannot be used."""
    from rightcall.policy.tightening import requests_of  # late: who only loads a policy shows nobody what is in it

    raw = read_text(file).raw
    before = recall("policies", identity(file))
    marks = None if before is None else before.get("requests")
    known = None if before is None else frozenset(map(str, cast("list[object]", marks) if marks else ()))
    return TrustOffer(file, digest_of(raw), tuple(requests_of(file, raw)), is_trusted(file, raw), known)


def give(offered: TrustOffer) -> None:
    """The bytes that were shown are trusted, and no others. Raises ConfigError where that cannot be kept."""
    _note(offered.file, offered.digest, [_mark(one) for one in offered.requests])


def give_to_own(file: str, raw: bytes) -> None:
    """A command of ours has written the whole file."""
    from rightcall.policy.tightening import requests_of

    _note(file, digest_of(raw), [_mark(one) for one in requests_of(file, raw)])


def take_back(file: str) -> bool:
    """Whether it was trusted."""
    return forget("policies", identity(file))


def _note(file: str, digest: str, marks: list[str]) -> None:
    from datetime import UTC, datetime

    if len(marks) > _MOST_MARKS:
        marks = []  # then all of them are shown as new next time, which is the stricter
    at = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
    note("policies", identity(file), {"sha256": digest, "at": at, "requests": marks})


def _mark(request: "Beyond") -> str:
    return digest_of(f"{request.key} = {request.value}".encode())[:16]


def state_of(entry: dict[str, object]) -> str:
    """Whether what was trusted is still there: `trusted`, `changed` or `gone`."""
    path = str(entry.get("path", ""))
    try:
        return "trusted" if entry.get("sha256") == digest_of(read_text(path).raw) else "changed"
    except PolicyError:
        return "changed" if os.path.lexists(path) else "gone"
