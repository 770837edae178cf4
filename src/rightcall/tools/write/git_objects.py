"""Where git makes what is to be written: objects lie in a folder of ours until they are put into the store of the
repository, by names that we have opened and never through a link, each whole and on the disk before anything refers to
it."""

import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from msgspec.structs import replace

from rightcall.base.files.write import describe_error
from rightcall.base.globs import path_matches, plain_forms
from rightcall.base.letters import has_unseen, skeleton, with_plain_signs
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.policy.settings import WriteSettings
from rightcall.tools.git.layout import OWN, Files, Layout, Pins
from rightcall.tools.git.private import Private, only_in, private_for
from rightcall.tools.git.repository import Repository, small_file
from rightcall.tools.git.run import git_in, output_of
from rightcall.tools.process import Finished, run_program

_SECONDS = 60.0
_MOST = 100_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CONFIG = (
    "core.bigFileThreshold=512m", "core.fsync=committed", "core.protectHFS=true", "core.protectNTFS=true",
    "merge.renames=true", "merge.directoryRenames=false",
)  # fmt: skip
"""Beside the configuration of the private directory: objects are never streamed into packs, refs reach the disk, no
name counts that any system takes for `.git`, and a merge puts no file where neither side had one."""


class Bench:
    """Git in the private directory of a repository, with room of its own for objects and indexes."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.private: Private = private_for(repository)  # held: our room lies inside it
        self._room = tempfile.mkdtemp(prefix="write-", dir=os.path.join(self.private.path, OWN))
        self._objects = os.path.join(self._room, "objects")
        os.mkdir(self._objects)
        weakref.finalize(self, shutil.rmtree, self._room, ignore_errors=True)

    def git(
        self, *arguments: str, index: str = "", stdin: bytes | None = None, most: int = _MOST,
        holding: Sequence[int] = (), unless: Callable[[Layout], str | None] = lambda _: None,
    ) -> Finished:  # fmt: skip
        """Run git: it reads the repository and our room, and writes objects into our room only. Where the system can
        see to it, it writes nowhere but there and in the git directory, whatever links are put in there meanwhile.
        `unless` says why it must not run in the directory as it is just then."""
        config = [word for setting in _CONFIG for word in ("-c", setting)]
        private = private_for(self.repository)
        if why := unless(private.layout):
            raise ToolFailure(why)
        files = Files(index or os.path.join(self._room, "none"), objects=self._objects)
        program = git_in(private, [*config, *arguments], stdin=stdin, files=files)
        only_here = only_in(private.tops, private.path, self.private.path)
        # a lock among those it holds is held until it has ended, also when we are killed before
        return run_program(replace(program, fds=(*program.fds, *holding), first=only_here), seconds=_SECONDS, most=most)

    def blobs(self, contents: Sequence[bytes]) -> list[str]:
        """The ids of contents, which are kept in our room. Git makes them, since it refuses contents that were crafted
        to have the id of another one."""
        if not contents:
            return []
        folder = tempfile.mkdtemp(prefix="contents-", dir=self._room)
        try:
            names = [os.path.join(folder, str(number)) for number in range(len(contents))]
            for name, content in zip(names, contents, strict=True):
                with open(name, "xb") as file:
                    file.write(content)
            told = "".join(f"{name}\n" for name in names).encode()
            made = self.git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=told, most=100 * len(names))
            return output_of(made).decode().split()
        except OSError as error:
            raise ToolFailure("There is no room for the files of the commit") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def index(self, content: bytes | None = None) -> Generator[str]:
        """The path of an index of ours, empty or with a content, for as long as this lasts."""
        folder = tempfile.mkdtemp(prefix="index-", dir=self._room)
        try:
            path = os.path.join(folder, "index")
            if content is not None:
                with open(path, "xb") as file:
                    file.write(content)
            yield path
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def moved_index(self, content: bytes, old: str, new: str) -> bytes:
        """See `Writer.index_moved`."""
        listed = output_of(self.git("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new, most=64 << 20))
        parts = listed.split(b"\0")
        with self.index(content) as index:
            there = _staged(output_of(self.git("ls-files", "-s", "-z", index=index, most=256 << 20)))
            lines: list[bytes] = []
            for about, path in zip(parts[::2], parts[1::2], strict=False):
                was_mode, mode, was, oid, _ = about.removeprefix(b":").split(b" ")
                was_there = None if was_mode == b"000000" else (was_mode, was)
                if there.get(path) == was_there:
                    lines.append(b"0 %s\t%s\0" % (b"0" * len(oid), path))
                    if mode != b"000000":
                        lines.append(b"%s %s\t%s\0" % (mode, oid, path))
            if lines:
                output_of(self.git("update-index", "-z", "--index-info", index=index, stdin=b"".join(lines)))
            with open(index, "rb") as file:
                return file.read()

    def publish(self) -> None:
        """Put everything in our room into the repository's store."""
        pins = Pins(self.repository)
        try:
            self._publish(pins.open_common("objects"))
        except OSError as error:
            raise ToolFailure(f"The repository's objects cannot be written: {describe_error(error)}") from error
        finally:
            pins.close()

    def _publish(self, objects: int) -> None:
        """Into the open folder, which is closed afterwards."""
        try:
            for fan in sorted(os.listdir(self._objects)):
                mine = os.path.join(self._objects, fan)
                if len(fan) != 2:
                    continue
                names = os.listdir(mine)
                if names:
                    _put(objects, fan, mine, names)
            os.fsync(objects)
        finally:
            os.close(objects)


def _staged(listed: bytes) -> dict[bytes, tuple[bytes, bytes] | None]:
    """Mode and id by path; what a merge has left in several versions is like nothing else."""
    found: dict[bytes, tuple[bytes, bytes] | None] = {}
    for line in listed.split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        mode, oid, stage = about.split(b" ")
        found[path] = (mode, oid) if stage == b"0" else (b"unmerged", oid)
    return found


def _put(objects: int, fan: str, mine: str, names: Sequence[str]) -> None:
    """The objects of one fan-out folder."""
    owner = os.fstat(objects)
    with suppress(FileExistsError):
        os.mkdir(fan, 0o777, dir_fd=objects)
        _give(owner, fan, objects)
    folder = os.open(fan, _FOLDER, dir_fd=objects)
    try:
        for name in names:
            if not _is_there(folder, name):
                _copy(os.path.join(mine, name), folder, name, owner)
            os.unlink(os.path.join(mine, name))
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_there(folder: int, name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _copy(source: str, folder: int, name: str, owner: os.stat_result) -> None:
    """Under a name that git's own cleaning removes should we be killed here."""
    passing = f"tmp_obj_{os.urandom(6).hex()}"
    with open(source, "rb") as old:
        fd = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444, dir_fd=folder)
        try:
            with os.fdopen(fd, "wb") as new:
                shutil.copyfileobj(old, new)
                new.flush()
                os.fsync(new.fileno())
            _give(owner, passing, folder)
            os.rename(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(passing, dir_fd=folder)
            raise


def _give(owner: os.stat_result, name: str, folder: int) -> None:
    """What root writes into somebody's repository is theirs, or they could not use it any more."""
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


# ── names ──
# Names of branches that tools make: each means this branch and nothing else, to git and to whoever reads it.
#
# A name that git also knows in another way (a tag, a branch of a remote, a commit's number) would let a person merge
# what nobody has reviewed; so would one that only looks like a protected name.

_LONGEST: Final = 200
_SHOWN: Final = 200
_MOST_REFS: Final = 64 << 20
_LARGEST_CONFIG: Final = 1_000_000
_LIKE_A_REF: Final = ("refs/", "heads/", "remotes/", "tags/", "worktrees/", "main-worktree/")
_LIKE_A_COMMIT: Final = re.compile(r"(?:.*-g)?[0-9a-f]{7,64}", re.IGNORECASE)
"""Or the number of one, which git takes at any length, also behind the name of a tag."""
_MAYBE_A_COMMIT: Final = re.compile(r"(?:.*-g)?([0-9a-f]{4,6})", re.IGNORECASE)
_LIKE_A_HEAD: Final = re.compile(r"@|(?:[A-Z_]+_)?HEAD|AUTO_MERGE|BISECT_EXPECTED_REV", re.IGNORECASE)
_USUAL_REMOTES: Final = ("origin", "upstream")
_REMOTE: Final = re.compile(rb'^[ \t]*\[[ \t]*remote[ \t]+"((?:[^"\\\n]|\\.)+)"', re.IGNORECASE | re.MULTILINE)
_RIGHT: Final = "A name such as fix-login would be right"


def check_name(bench: Bench, name: str, argument: str = "name") -> None:
    """Raises ToolFailure for what is no good name of a new branch."""
    shown = escaped(name, _SHOWN)
    if not name or len(name) > _LONGEST:
        raise ToolFailure(f"{argument}: the name of a branch has 1 to {_LONGEST} characters, this one {len(name)}")
    if name.startswith("-") or not _sayable(name):
        raise ToolFailure(f"{argument}: {shown} is no name that a branch can have. {_RIGHT}")
    if has_unseen(name):
        raise ToolFailure(f"{argument}: {name!a} holds a character that cannot be seen. {_RIGHT}")
    if _LIKE_A_HEAD.fullmatch(name) or name.casefold().startswith(_LIKE_A_REF) or _LIKE_A_COMMIT.fullmatch(name):
        raise ToolFailure(f"{argument}: {shown} would be taken for something else than a branch. {_RIGHT}")
    finished = bench.git("check-ref-format", "--branch", name)
    if finished.code != 0 or finished.out.rstrip(b"\n") != name.encode():
        raise ToolFailure(f"{argument}: git does not allow a branch to be called {shown}. {_RIGHT}")


def guard_name(settings: WriteSettings, name: str, argument: str = "branch") -> None:
    """Raises ToolFailure for a branch that no tool creates, commits to, moves or deletes, or one that looks like it."""
    for patterns, why in (
        (settings.frozen, "is frozen: nothing changes it"),
        (settings.protected, "is protected: it changes by a reviewed merge only, code/pull-request asks for one"),
    ):
        for pattern in patterns:
            if path_matches(pattern, name):
                raise ToolFailure(f"{argument}: the branch {escaped(name, _SHOWN)} {why}")
            if _looks_like(name, pattern):
                raise ToolFailure(
                    f"{argument}: the branch {escaped(name, _SHOWN)} looks like {escaped(pattern, _SHOWN)}, which {why}"
                )


def check_only_meaning(bench: Bench, name: str, argument: str = "branch") -> None:
    """Raises ToolFailure where git takes the name of a branch for something else as well, now or after a fetch."""
    first = name.partition("/")[0]
    known = _refs(bench, f"refs/{name}", f"refs/tags/{name}", "refs/remotes")
    for other in (f"refs/{name}", f"refs/tags/{name}", f"refs/remotes/{name}", f"refs/remotes/{name}/HEAD"):
        if other in known:
            raise _ambiguous(argument, name, f"git knows {escaped(other, _SHOWN)} by the same name")
    remotes = {ref.split("/")[2] for ref in known if ref.startswith("refs/remotes/")} | set(_remotes(bench))
    if any(skeleton(first) == skeleton(one) for one in remotes if skeleton(one)) or first in remotes:
        raise _ambiguous(argument, name, f"{escaped(first, _SHOWN)} is, or looks like, the name of a remote")
    number = _MAYBE_A_COMMIT.fullmatch(name)
    if number is not None and output_of(bench.git("rev-parse", f"--disambiguate={number[1]}")):
        raise _ambiguous(argument, name, "a commit or file has a number that begins so")


def _refs(bench: Bench, *names: str) -> set[str]:
    """The refs with these names, and below them."""
    listed = output_of(bench.git("for-each-ref", "--format=%(refname)", *names, most=_MOST_REFS))
    return {os.fsdecode(line) for line in listed.split(b"\n") if line}


def _remotes(bench: Bench) -> Iterable[str]:
    """Those that are set up, whether or not something was fetched from them."""
    settings = small_file(os.path.join(bench.repository.common_dir, "config"), _LARGEST_CONFIG) or b""
    return (*_USUAL_REMOTES, *(os.fsdecode(found[1]) for found in _REMOTE.finditer(settings)))


def _ambiguous(argument: str, name: str, why: str) -> ToolFailure:
    return ToolFailure(
        f"{argument}: {escaped(name, _SHOWN)} would be taken for something else than this branch: {why}. {_RIGHT}"
    )


def _looks_like(name: str, pattern: str) -> bool:
    """The same rule as for names, on what is left of both when look-alikes count as one."""
    looks = map(_bare, plain_forms(pattern))
    return any(bool(one.strip("*?/")) and path_matches(one, _bare(name)) for one in looks)


def _bare(text: str) -> str:
    """Part by part, the signs of patterns kept."""
    pieces = re.split(r"([*?/])", with_plain_signs(text))
    return "".join(piece if piece in ("*", "?", "/") else skeleton(piece) for piece in pieces)


def _sayable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable()
