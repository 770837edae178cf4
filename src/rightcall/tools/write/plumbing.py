"""Git for writing: commits, merges and branches of a repository, made by plumbing alone.

Git runs as it does for the reading tools: in the private directory, with a configuration of our own, no hooks, no
filters. What it makes lands in a folder of ours first and is put into the repository's own store by us, by
names that we have opened and never through a link, each whole and on the disk before anything refers to it; refs move
by git's own compare-and-swap, and files are written by us (both in `refs`). Nothing here touches the files, the index
or the HEAD of anybody's checkout.
"""

import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from time import time
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import Sight, names_by_folder
from rightcall.base.files.write import closing, describe_error
from rightcall.base.globs import path_matches, plain_forms
from rightcall.base.letters import has_unseen, skeleton, with_plain_signs
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.policy.settings import WriteSettings
from rightcall.tools.git.layout import OWN, Files, Layout, Pins
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import NoRepository, Repository, repository_for, small_file
from rightcall.tools.git.run import Private, failure_of, git_in, only_in, output_of, private_for
from rightcall.tools.process import Finished, run_program
from rightcall.tools.write.changes import RefStep
from rightcall.tools.write.refs import (
    HEADS,
    Diff,
    check_out,
    current_branch,
    diff_of,
    set_refs,
    tips,
    why_unwritable,
)

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
        self, *arguments: str, index: str = "", stdin: bytes | None = None, most: int = 100_000,
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
        return run_program(replace(program, fds=(*program.fds, *holding), first=only_here), seconds=60.0, most=most)

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
            raise ToolFailure("Not enough space for the files of the commit") from error
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
        """An index after a checkout has gone from one commit to another: entries that are as in the old one become
        those of the new one; what somebody has staged stays."""
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
            with closing(pins.open_common("objects")) as objects:
                for fan in sorted(os.listdir(self._objects)):
                    mine = os.path.join(self._objects, fan)
                    if len(fan) == 2 and (names := os.listdir(mine)):
                        _put(objects, fan, mine, names)
                os.fsync(objects)
        except OSError as error:
            raise ToolFailure(f"The repository's objects cannot be written: {describe_error(error)}") from error
        finally:
            pins.close()


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
    with closing(os.open(fan, _FOLDER, dir_fd=objects)) as folder:
        for name in names:
            if not _is_there(folder, name):
                _copy(os.path.join(mine, name), folder, name, owner)
            os.unlink(os.path.join(mine, name))
        os.fsync(folder)


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
_LIKE_A_REF: Final = ("refs/", "heads/", "remotes/", "tags/", "worktrees/", "main-worktree/")
_LIKE_A_COMMIT: Final = re.compile(r"(?:.*-g)?[0-9a-f]{7,64}", re.IGNORECASE)
"""Or the number of one, which git takes at any length, also behind the name of a tag."""
_MAYBE_A_COMMIT: Final = re.compile(r"(?:.*-g)?([0-9a-f]{4,6})", re.IGNORECASE)
_LIKE_A_HEAD: Final = re.compile(r"@|(?:[A-Z_]+_)?HEAD|AUTO_MERGE|BISECT_EXPECTED_REV", re.IGNORECASE)
_REMOTE: Final = re.compile(rb'^[ \t]*\[[ \t]*remote[ \t]+"((?:[^"\\\n]|\\.)+)"', re.IGNORECASE | re.MULTILINE)
_RIGHT: Final = "A name such as fix-login would be right"


def check_name(bench: Bench, name: str) -> None:
    """Raises ToolFailure for what is no good name of a new branch."""
    shown = escaped(name, _SHOWN)
    if not name or len(name) > _LONGEST:
        raise ToolFailure(f"name: the name of a branch has 1 to {_LONGEST} characters, this one {len(name)}")
    if name.startswith("-") or not _sayable(name):
        raise ToolFailure(f"name: {shown} is not a valid branch name. {_RIGHT}")
    if has_unseen(name):
        raise ToolFailure(f"name: {name!a} holds a character that cannot be seen. {_RIGHT}")
    if _LIKE_A_HEAD.fullmatch(name) or name.casefold().startswith(_LIKE_A_REF) or _LIKE_A_COMMIT.fullmatch(name):
        raise ToolFailure(f"name: {shown} would be taken for something else than a branch. {_RIGHT}")
    finished = bench.git("check-ref-format", "--branch", name)
    if finished.code != 0 or finished.out.rstrip(b"\n") != name.encode():
        raise ToolFailure(f"name: git does not allow a branch to be called {shown}. {_RIGHT}")


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
    listed = output_of(bench.git("for-each-ref", "--format=%(refname)", *names, most=64 << 20))
    return {os.fsdecode(line) for line in listed.split(b"\n") if line}


def _remotes(bench: Bench) -> Iterable[str]:
    """Those that are set up, whether or not something was fetched from them."""
    settings = small_file(os.path.join(bench.repository.common_dir, "config"), 1_000_000) or b""
    return (*("origin", "upstream"), *(os.fsdecode(found[1]) for found in _REMOTE.finditer(settings)))


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


Author = tuple[str, str]
"""Name and mail address."""
Entries = Mapping[str, tuple[int, str]]
"""Mode and object id by path."""
_MOST_LISTED = 64 << 20
_NO_MAIL = re.compile(r"[^A-Za-z0-9._+-]+")
_MAIL_HOST = "rightcall.invalid"
"""A domain that can never exist: nobody gets mail for what a tool has committed."""


class Merged(Struct, frozen=True):
    """What two commits come to together. With `conflicts` (paths) the tree holds markers and is no result."""

    tree: str
    conflicts: tuple[str, ...] = ()


def author_of(caller: str) -> Author:
    """Who a commit is by, when a caller made it.

    >>> author_of("teacher <x>\\n")
    ('teacher x', 'teacher-x@rightcall.invalid')
    """
    name = "".join(character for character in caller if character.isprintable() and character not in "<>").strip()
    name = name.encode(errors="replace").decode()[:100].strip(" .,:;") or "unknown"
    return name, f"{_NO_MAIL.sub('-', name).strip('-.') or 'unknown'}@{_MAIL_HOST}"


class Writer(Bench):
    """The repository of a folder below the root, to be written to. Raises ToolFailure where there is none that can be.

    Not for several threads at once. What `merged` makes is seen by this object alone until a commit takes it up.
    """

    def __init__(self, sight: Sight, folder: str = "") -> None:
        try:
            repository = repository_for(sight, (folder,) if folder else ())
        except NoRepository as none:
            raise ToolFailure(f"{none.why}. Branches, edits on branches and commits need one") from None
        if repository.bare:
            raise ToolFailure("The root is a bare git repository: branches are written only where files can be too")
        super().__init__(repository)
        if why := why_unwritable(self.private.layout):
            raise ToolFailure(why)

    @property
    def folder(self) -> str:
        """The repository's work tree below the root; `""` is the root itself."""
        return self.repository.folder

    def branch(self) -> str | None:
        """The branch that is checked out in the user's checkout, also when it has no commit yet; None: none is."""
        return current_branch(self.repository.git_dir)

    def commit_of(self, ref: str) -> str:
        """The commit that a name means, as a model or a person writes it."""
        return commit_of(self.repository, ref)

    def tip(self, branch: str) -> str | None:
        """The commit that a branch is at; None where there is no such branch."""
        return tips(self, [HEADS + branch])[0]

    def tip_or_none(self, branch: str) -> str | None:
        """The same for a name that may be anything: None for what is no branch."""
        try:
            return self.tip(branch)
        except ToolFailure:
            return None

    def subject(self, commit: str) -> str:
        """The first line of a commit's message."""
        finished = self.git("log", "--no-walk", "--max-count=1", "--format=%s", commit, "--")
        return output_of(finished).decode(errors="backslashreplace").rstrip("\n")

    def blob(self, commit: str, path: str) -> tuple[bytes, int] | None:
        """The content and mode of a file (or link) in a commit; None: no such file."""
        entry = self._listed(commit, path).get(path)
        if entry is None or not 0o100000 <= entry[0] < 0o130000:
            return None
        finished = self.git("cat-file", "blob", entry[1], most=64 << 20)
        if finished.full:
            raise ToolFailure(f"{escaped(path, 200)} is larger than 64 MB")
        return output_of(finished), entry[0]

    def paths(self, commit: str) -> Entries:
        """Everything in a commit or tree."""
        return self._listed(commit)

    def entries(self, commit: str, paths: Sequence[str]) -> Entries:
        """What a commit has at these very paths, folders included (their object ids may be left out)."""
        listed = self._listed(commit, *paths, deep=False) if paths else {}
        # of a folder that is asked for beside something in it, git lists all that is in it instead of the folder
        opened = {path[:at] for path in listed for at, sign in enumerate(path) if sign == "/"}
        return {path: listed.get(path) or (0o040000, "") for path in paths if path in listed or path in opened}

    def names(self, commit: str, folders: Iterable[str]) -> dict[str, set[str]]:
        """What a commit or tree has in each of these folders; `""` is its top."""
        return names_by_folder(self._listed(commit, *(f"{folder or '.'}/" for folder in folders), deep=False))

    def tree(self, commit: str, changes: Mapping[str, tuple[int, bytes] | None]) -> str:
        """The tree of a commit with these files in it; kept here until a commit takes it up."""
        names = [path for path, change in changes.items() if change is not None]
        contents = [change[1] for change in changes.values() if change is not None]
        found = dict(zip(names, self.blobs(contents), strict=True))
        digits = len(commit)
        lines = [b"0 %s\t%s\0" % (b"0" * digits, os.fsencode(path)) for path in changes]
        for path, change in changes.items():
            if change is not None:
                lines.append(b"%o %s\t%s\0" % (_git_mode(change[0]), found[path].encode(), os.fsencode(path)))
        with self.index() as index:
            read = self.git("read-tree", f"{commit}^{{tree}}", index=index)
            if read.code != 0 and b"invalid path" in read.err:
                raise ToolFailure("The commit holds a file whose name git itself refuses: nothing can be built on it")
            output_of(read)
            told = self.git("update-index", "-z", "--index-info", index=index, stdin=b"".join(lines))
            if told.code != 0 and (path := next((path for path in changes if os.fsencode(path) in told.err), None)):
                raise ToolFailure(f"git cannot hold a file named {escaped(path, 200)} there: another one is in its way")
            output_of(told)
            return output_of(self.git("write-tree", "--missing-ok", index=index)).decode().strip()

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return output_of(self.git("rev-parse", "--verify", f"{commit}^{{tree}}")).decode().strip()

    def commit_tree(self, tree: str, parents: Sequence[str], message: str, author: Author) -> str:
        """A commit of a tree, with everything that belongs to it, in the repository's own store. No branch moves."""
        by = f"{author[0]} <{author[1]}> {int(time())} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {by}", f"committer {by}"]
        text = "\n".join(lines) + "\n\n" + message.rstrip("\n") + "\n"
        made = self.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode(errors="replace"))
        commit = output_of(made).decode().strip()
        self.publish()
        return commit

    def merged(self, ours: str, theirs: str) -> Merged:
        """Both together, as `git merge` would do it; nothing is written to the repository."""
        finished = self.git(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs, most=_MOST_LISTED
        )
        if finished.code == 129 or b"usage:" in finished.err:
            raise ToolFailure("The git that is installed is too old to merge: 2.38 or newer is needed")
        if b"unrelated histories" in finished.err:
            raise ToolFailure("The two branches have no common history: they cannot be merged")
        if finished.code not in (0, 1):
            raise failure_of(finished)
        tree, *conflicts = finished.out.split(b"\0")
        return Merged(tree.decode().strip(), tuple(dict.fromkeys(os.fsdecode(path) for path in conflicts if path)))

    def set_refs(self, steps: Sequence[RefStep], *, holding: Sequence[int] = (), by: str = "rightcall") -> None:
        """All of them or none, each only from where it is expected to be. Raises Moved, or ToolFailure. `holding`: the
        descriptors of locks that must be held until git has ended, also when we are killed before."""
        set_refs(self, steps, author_of(by), holding)

    def shown(self, old: str, new: str, most: int) -> Diff:
        """What differs between two commits or trees, for whoever decides: unified, to be escaped by whoever shows it;
        with every file named, and what is no text told by its size and id."""
        return diff_of(self, old, new, most)

    def changed(self, old: str, new: str) -> list[tuple[str, str]]:
        """Path and status (A, M, D, T) of every file that differs."""
        command = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", "--end-of-options", old, new]
        parts = output_of(self.git(*command, most=_MOST_LISTED)).split(b"\0")
        return [(os.fsdecode(path), kind.decode()) for kind, path in zip(parts[::2], parts[1::2], strict=False)]

    def difference(self, old: str, new: str) -> str:
        """A digest over every file that differs between two commits or trees, as it was and as it is."""
        command = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--end-of-options", old, new]
        finished = self.git(*command, most=_MOST_LISTED)
        if finished.full:
            raise ToolFailure("The two differ in too many files to be compared")
        return sha256(output_of(finished)).hexdigest()

    def is_ancestor(self, a: str, b: str) -> bool:
        """Whether a commit is in the history of another, or that one itself."""
        finished = self.git("merge-base", "--is-ancestor", a, b)
        if finished.code not in (0, 1):
            raise failure_of(finished)
        return finished.code == 0

    def checkout(self, commit: str, folder: str) -> None:
        """The files of a commit or tree, byte for byte, in an empty folder (which is made if it is not there)."""
        check_out(self, self._listed(commit), folder)

    def index_of(self, commit: str) -> bytes:
        """An index for a commit, as git keeps it beside a checkout."""
        with self.index() as index:
            output_of(self.git("read-tree", f"{commit}^{{tree}}", index=index))
            with open(index, "rb") as file:
                return file.read()

    def _listed(self, commit: str, *paths: str, deep: bool = True) -> dict[str, tuple[int, str]]:
        depth = ["-r"] if deep else []
        finished = self.git("ls-tree", *depth, "-z", "--full-tree", commit, "--", *paths, most=_MOST_LISTED)
        if finished.full:
            raise ToolFailure("The repository holds too many files to be listed")
        found: dict[str, tuple[int, str]] = {}
        for line in output_of(finished).split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _, oid = about.split(b" ")
            found[os.fsdecode(name)] = int(mode, 8), oid.decode()
        return found


def _git_mode(mode: int) -> int:
    """The few modes that git knows."""
    if mode >= 0o100000:
        return mode
    return 0o100755 if mode & 0o100 else 0o100644
