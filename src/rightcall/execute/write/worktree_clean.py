"""Whether a folder holds the files of a commit and nothing else: then it can go without a loss."""

import os
import stat
from hashlib import sha1, sha256

from rightcall.errors import ToolFailure
from rightcall.execute.write.git import Writer

_SHORT_ID = 40
_LINK, _SUBMODULE = 0o120000, 0o160000


def is_clean(writer: Writer, commit: str, folder: str) -> bool:
    """Says no wherever it cannot tell."""
    try:
        entries = dict(writer.paths(commit))
        found = _files(folder)
    except (ToolFailure, OSError):
        return False
    wanted = {path: entry for path, entry in entries.items() if entry[0] != _SUBMODULE}
    if found != wanted.keys():
        return False
    try:
        return all(_blob(os.path.join(folder, path), entry) for path, entry in wanted.items())
    except OSError:
        return False


def _files(folder: str) -> set[str]:
    found: set[str] = set()
    for here, folders, names in os.walk(folder, onerror=_raise):
        inside = os.path.relpath(here, folder)
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in (*names, *links):
            if inside == "." and name == ".git":
                continue
            found.add(name if inside == "." else f"{inside}/{name}")
    return found


def _raise(error: OSError) -> None:
    raise error


def _blob(path: str, entry: tuple[int, str]) -> bool:
    """Whether a file is the blob that a commit names."""
    mode, oid = entry
    kind = os.lstat(path).st_mode
    if mode == _LINK:
        if not stat.S_ISLNK(kind):
            return False
        content = os.fsencode(os.readlink(path))
    else:
        if not stat.S_ISREG(kind) or bool(kind & 0o100) != bool(mode & 0o100):
            return False
        with open(path, "rb") as file:
            content = file.read()
    whole = b"blob %d\0" % len(content) + content
    made = sha1(whole, usedforsecurity=False) if len(oid) == _SHORT_ID else sha256(whole)
    return made.hexdigest() == oid
