"""Settings files on the disk: read with care, replaced in one step, through links and with their rights kept."""

import os
import stat
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex

from rightcall.errors import ConfigError
from rightcall.fs.whole import plain_file, whole_file

MAX_BYTES = 8 * 1024 * 1024


def real_file(path: str) -> str:
    """The file itself, behind links. Raises ConfigError for what is no file, or not ours to replace."""
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except FileNotFoundError:
        return real
    except OSError as error:
        raise ConfigError(f"cannot be looked at: {error.strerror}", source=path) from None
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError("is not a file", source=path)
    return real


def contents(path: str) -> bytes | None:
    """All bytes of a file; None where there is none."""
    real = real_file(path)
    try:
        with open(real, "rb", opener=plain_file) as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=path) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"holds more than {MAX_BYTES:,} bytes, too much for settings", source=path)
    return data


def text_of(data: bytes, source: str) -> str:
    """Settings as text, their byte order mark included. Raises ConfigError for another encoding."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ConfigError("is UTF-16, which the host may not read either; save it as UTF-8", source=source)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", source=source, line=line) from None


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def refuse_unwritable(path: str) -> None:
    """A file that its owner protected, that belongs to somebody else or that has several names stays as it is."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise ConfigError("is read-only; if that is not on purpose, make it writable first", source=path)
    if found.st_nlink > 1:
        raise ConfigError(f"has {found.st_nlink} names (hard links), and one of them would get lost", source=path)
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise ConfigError("belongs to another user", source=path)


def replace(path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Writes a whole file in one step: whoever reads sees the old one or the new one, also after a crash. One that is
    there keeps its owner, rights and attributes; a new one gets `mode`."""
    beside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{token_hex(6)}.rightcall")
    with whole_file(path, beside) as stream:
        stream.write(data)
        stream.flush()
        _like(path, stream.fileno(), beside, mode)


def _like(path: str, handle: int, beside: str, mode: int) -> None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        os.chmod(beside, mode)
        return
    made = os.fstat(handle)
    if hasattr(os, "fchown") and (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
        with suppress(PermissionError):  # a group that is not one of ours any more
            os.fchown(handle, found.st_uid, found.st_gid)
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # a file system without attributes
            for name in os.listxattr(path):
                os.setxattr(handle, name, os.getxattr(path, name))
    os.chmod(beside, stat.S_IMODE(found.st_mode))


def make_folders(folder: str, mode: int = 0o777) -> tuple[str, ...]:
    """Makes a folder and those above it; returns the ones that were not there, the innermost first."""
    missing: list[str] = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    made: list[str] = []
    for one in reversed(missing):
        with suppress(FileExistsError):  # somebody else was quicker
            os.mkdir(one, mode)
            made.insert(0, one)
    return tuple(made)


def remove_empty(folders: tuple[str, ...]) -> None:
    """Removes folders that we made, as far as they are empty."""
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            return
