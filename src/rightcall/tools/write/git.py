"""Git for writing: commits, merges and branches of a repository, made by plumbing alone.

Git runs as it does for the reading tools: in the private directory, with a configuration of our own, no hooks, no
filters. What it makes lands in a folder of ours first and is put into the repository's own store by us (`git_objects`);
refs move by git's own compare-and-swap, and files are written by us (both in `git_refs`). Nothing here touches the
files, the index or the HEAD of anybody's checkout.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from time import time

from msgspec import Struct

from rightcall.base.files.sight import Sight, names_by_folder
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import NoRepository, Repository, repository_for
from rightcall.tools.git.run import failure_of, output_of
from rightcall.tools.write.changes import RefStep
from rightcall.tools.write.git_objects import Bench, check_name, check_only_meaning
from rightcall.tools.write.git_refs import (
    HEADS,
    Diff,
    check_out,
    current_branch,
    diff_of,
    in_the_way,
    patch,
    set_refs,
    tips,
    unwritable,
)

Author = tuple[str, str]
"""Name and mail address."""
Entries = Mapping[str, tuple[int, str]]
"""Mode and object id by path."""
_FOLDER = 0o040000
_MOST_LISTED = 64 << 20
_MOST_CONTENT = 64 << 20
_MOST_DIFF = 2_000_000
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


class Writer:
    """The repository of a folder below the root, to be written to. Raises ToolFailure where there is none that can be.

    Not for several threads at once. What `merged` makes is seen by this object alone until a commit takes it up.
    """

    def __init__(self, sight: Sight, folder: str = "") -> None:
        try:
            self.repository: Repository = repository_for(sight, (folder,) if folder else ())
        except NoRepository as none:
            raise ToolFailure(f"{none.why}. Branches, edits on branches and commits need one") from None
        if self.repository.bare:
            raise ToolFailure("The root is a bare git repository: branches are written only where files can be too")
        self._bench = Bench(self.repository)
        if why := unwritable(self._bench.private.layout):
            raise ToolFailure(why)

    @property
    def folder(self) -> str:
        """The repository's work tree below the root; `""` is the root itself."""
        return self.repository.folder

    def head(self) -> str:
        """The commit that the user's checkout is at."""
        return self.commit_of("HEAD")

    def branch(self) -> str | None:
        """The branch that is checked out in the user's checkout, also when it has no commit yet; None: none is."""
        return current_branch(self.repository.git_dir)

    def commit_of(self, ref: str) -> str:
        """The commit that a name means, as a model or a person writes it."""
        return commit_of(self.repository, ref)

    def tip(self, branch: str) -> str | None:
        """The commit that a branch is at; None where there is no such branch."""
        return tips(self._bench, [HEADS + branch])[0]

    def tip_or_none(self, branch: str) -> str | None:
        """The same for a name that may be anything: None for what is no branch."""
        try:
            return self.tip(branch)
        except ToolFailure:
            return None

    def check_name(self, name: str) -> None:
        """Raises ToolFailure for what is no good name of a new branch."""
        check_name(self._bench, name)

    def check_only_meaning(self, name: str, argument: str = "branch") -> None:
        """Raises ToolFailure where git takes the name of a branch for something else as well."""
        check_only_meaning(self._bench, name, argument)

    def in_the_way(self, name: str) -> str | None:
        """A branch that cannot be beside a new one: `a` and `a/b` would be a file and a folder of the same name."""
        return in_the_way(self._bench, name)

    def subject(self, commit: str) -> str:
        """The first line of a commit's message."""
        finished = self._bench.git("log", "--no-walk", "--max-count=1", "--format=%s", commit, "--")
        return output_of(finished).decode(errors="backslashreplace").rstrip("\n")

    def blob(self, commit: str, path: str) -> tuple[bytes, int] | None:
        """The content and mode of a file (or link) in a commit; None: no such file."""
        entry = self._listed(commit, path).get(path)
        if entry is None or not 0o100000 <= entry[0] < 0o130000:
            return None
        finished = self._bench.git("cat-file", "blob", entry[1], most=_MOST_CONTENT)
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
        return {path: listed.get(path) or (_FOLDER, "") for path in paths if path in listed or path in opened}

    def names(self, commit: str, folders: Iterable[str]) -> dict[str, set[str]]:
        """What a commit or tree has in each of these folders; `""` is its top."""
        return names_by_folder(self._listed(commit, *(f"{folder or '.'}/" for folder in folders), deep=False))

    def commit(
        self, parents: Sequence[str], changes: Mapping[str, tuple[int, bytes] | None], message: str, author: Author,
    ) -> str:  # fmt: skip
        """A commit whose tree is that of the first parent with these files in it (None: without); mode 0o644, 0o755 or
        as git says it. No branch moves."""
        return self.commit_tree(self.tree(parents[0], changes), parents, message, author)

    def tree(self, commit: str, changes: Mapping[str, tuple[int, bytes] | None]) -> str:
        """The tree of a commit with these files in it; kept here until a commit takes it up."""
        names = [path for path, change in changes.items() if change is not None]
        contents = [change[1] for change in changes.values() if change is not None]
        found = dict(zip(names, self._bench.blobs(contents), strict=True))
        digits = len(commit)
        lines = [b"0 %s\t%s\0" % (b"0" * digits, os.fsencode(path)) for path in changes]
        for path, change in changes.items():
            if change is not None:
                lines.append(b"%o %s\t%s\0" % (_git_mode(change[0]), found[path].encode(), os.fsencode(path)))
        with self._bench.index() as index:
            read = self._bench.git("read-tree", f"{commit}^{{tree}}", index=index)
            if read.code != 0 and b"invalid path" in read.err:
                raise ToolFailure("The commit holds a file whose name git itself refuses: nothing can be built on it")
            output_of(read)
            told = self._bench.git("update-index", "-z", "--index-info", index=index, stdin=b"".join(lines))
            if told.code != 0 and (path := _refused(told.err, changes)):
                raise ToolFailure(f"git cannot hold a file named {escaped(path, 200)} there: another one is in its way")
            output_of(told)
            return output_of(self._bench.git("write-tree", "--missing-ok", index=index)).decode().strip()

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return output_of(self._bench.git("rev-parse", "--verify", f"{commit}^{{tree}}")).decode().strip()

    def commit_tree(self, tree: str, parents: Sequence[str], message: str, author: Author) -> str:
        """A commit of a tree, with everything that belongs to it, in the repository's own store. No branch moves."""
        by = f"{author[0]} <{author[1]}> {int(time())} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {by}", f"committer {by}"]
        text = "\n".join(lines) + "\n\n" + message.rstrip("\n") + "\n"
        made = self._bench.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode(errors="replace"))
        commit = output_of(made).decode().strip()
        self._bench.publish()
        return commit

    def merged(self, ours: str, theirs: str) -> Merged:
        """Both together, as `git merge` would do it; nothing is written to the repository."""
        finished = self._bench.git(
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
        set_refs(self._bench, steps, author_of(by), holding)

    def diff(self, old: str, new: str, paths: Sequence[str] = (), *, most: int = _MOST_DIFF) -> str:
        """What differs between two commits or trees, unified, as git writes it: to be escaped by whoever shows it."""
        text, full = patch(self._bench, old, new, paths, most=most)
        return f"{text}\n… cut here: the whole is larger than {most:,} bytes" if full else text

    def shown(self, old: str, new: str, most: int) -> Diff:
        """The same for whoever decides: with every file named, and what is no text told by its size and id."""
        return diff_of(self._bench, old, new, most)

    def changed(self, old: str, new: str) -> list[tuple[str, str]]:
        """Path and status (A, M, D, T) of every file that differs."""
        command = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", "--end-of-options", old, new]
        parts = output_of(self._bench.git(*command, most=_MOST_LISTED)).split(b"\0")
        return [(os.fsdecode(path), kind.decode()) for kind, path in zip(parts[::2], parts[1::2], strict=False)]

    def difference(self, old: str, new: str) -> str:
        """A digest over every file that differs between two commits or trees, as it was and as it is."""
        command = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--end-of-options", old, new]
        finished = self._bench.git(*command, most=_MOST_LISTED)
        if finished.full:
            raise ToolFailure("The two differ in too many files to be compared")
        return sha256(output_of(finished)).hexdigest()

    def is_ancestor(self, a: str, b: str) -> bool:
        """Whether a commit is in the history of another, or that one itself."""
        finished = self._bench.git("merge-base", "--is-ancestor", a, b)
        if finished.code not in (0, 1):
            raise failure_of(finished)
        return finished.code == 0

    def checkout(self, commit: str, folder: str) -> None:
        """The files of a commit or tree, byte for byte, in an empty folder (which is made if it is not there)."""
        check_out(self._bench, self._listed(commit), folder)

    def index_of(self, commit: str) -> bytes:
        """An index for a commit, as git keeps it beside a checkout."""
        with self._bench.index() as index:
            output_of(self._bench.git("read-tree", f"{commit}^{{tree}}", index=index))
            with open(index, "rb") as file:
                return file.read()

    def index_moved(self, index: bytes, old: str, new: str) -> bytes:
        """An index after a checkout has gone from one commit to another: entries that are as in the old one become
        those of the new one; what somebody has staged stays."""
        return self._bench.moved_index(index, old, new)

    def _listed(self, commit: str, *paths: str, deep: bool = True) -> dict[str, tuple[int, str]]:
        depth = ["-r"] if deep else []
        finished = self._bench.git("ls-tree", *depth, "-z", "--full-tree", commit, "--", *paths, most=_MOST_LISTED)
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


def _refused(said: bytes, paths: Mapping[str, object]) -> str | None:
    return next((path for path in paths if os.fsencode(path) in said), None)
