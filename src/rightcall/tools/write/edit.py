"""Changing files on a branch: all of a call or nothing of it, in the branch's own worktree.

`FileEdit` is one such call; `code/edit`, `code/create-test` and, with a branch, `file/save` are made of it. What is
there is read from the worktree, or from the branch's commit as long as there is no worktree: looking makes nothing.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from msgspec import Struct
from msgspec.json import encode

from rightcall.base.files.sight import (
    as_git_reads,
    folded,
    names_by_folder,
    no_repository,
    open_beneath,
    repository_among,
)
from rightcall.base.files.write import Seen, closing, failure, missing_folders, opened_tree, seen_file
from rightcall.base.globs import path_matches
from rightcall.base.text import MOST_SHOWN, bounded, cut_lines, escaped
from rightcall.errors import ToolFailure
from rightcall.tools.diff import content_diff, one_line, shown_text
from rightcall.tools.write.branches import BranchRecord, branch_for, dirty_step, exists, prepare, tidy
from rightcall.tools.write.changes import LARGEST, NO_GIT, FileStep, GitScope, Moved
from rightcall.tools.write.plumbing import Writer, guard_name
from rightcall.tools.write.refs import is_bad_name

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk, Worker


# ── paths ──
# Which paths a tool may write on a branch: as a model writes them, counted from the root, by the same rules as for
# reading, and without what is locked.

_SUBMODULE, _LINK, _FOLDER = 0o160000, 0o120000, 0o040000


def branch_path(desk: "Desk", writer: Writer, written: str, argument: str = "path") -> str:
    """A path as the repository names it. Raises ToolFailure that names the rule it breaks."""
    shown = escaped(written, _SHOWN)
    path = written
    for root in (desk.sight.root, writer.repository.root):
        if path.startswith(root.rstrip("/") + "/"):
            path = path[len(root.rstrip("/")) + 1 :]
            break
    parts = [part for part in path.split("/") if part != "."]
    if not path or path.startswith("/") or len(path) > 1_000 or any(part in ("", "..") for part in parts):
        raise ToolFailure(f"{argument}: {shown} is not a file path below the root; use one such as src/app.py")
    path = "/".join(parts)
    if not path.isprintable() or any(is_bad_name(part) for part in parts):
        raise ToolFailure(f"{argument}: {shown} is not a file name that tools may write")
    check_names(parts, argument, shown)
    outside = writer.repository.outside(path)
    check_rules(desk, outside, {path, outside}, argument, shown)
    return path


def check_rules(desk: "Desk", path: str, names: set[str], argument: str, shown: str) -> None:
    """Raises ToolFailure for a path that may not be seen, or that is locked by one of its names."""
    if not desk.sight.sees(path):
        raise ToolFailure(f"{argument}: {shown} is a name that tools neither read nor write ([policy.paths])")
    if any(path_matches(pattern, name) for pattern in desk.settings.locked for name in names):
        raise ToolFailure(f"{argument}: {shown} is locked: no tool writes it ([write] locked)")


def check_names(parts: list[str], argument: str, shown: str) -> None:
    """Raises ToolFailure for a name that other systems write as another one, and for a folder that is named as git's
    own are."""
    if any(part.endswith((" ", ".")) for part in parts):
        raise ToolFailure(
            f"{argument}: {shown} has a name that ends with a blank or a dot: some systems leave that away, and it "
            "would be another file there"
        )
    if any(as_git_reads(part).endswith(".git") for part in parts[:-1]):
        raise ToolFailure(f"{argument}: {shown} lies in a folder that is named as git's own are, where no tool writes")


def check_apart(paths: list[str], argument: str) -> None:
    """Raises ToolFailure where one call means the same file twice, or a file and something below it."""
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise ToolFailure(f"{argument}: {escaped(path, _SHOWN)} is there twice; each file only once in a call")
        seen.add(path)
    for folder, names in names_by_folder(paths).items():
        _no_twins(names, (), folder, argument)
    for path in paths:
        parts = path.split("/")
        for length in range(1, len(parts)):
            if "/".join(parts[:length]) in seen:
                raise ToolFailure(
                    f"{argument}: {escaped(path, _SHOWN)} lies below another file of the same call; use two calls"
                )


def check_ways(writer: Writer, commit: str, paths: list[str], tree: str | None) -> None:
    """Raises ToolFailure for a path that leads through a link or a submodule of the commit, or is one; and for one that
    leads through a file or is a folder, in the worktree or, where there is none, in the commit."""
    above = {"/".join(parts[:length]) for parts in (p.split("/") for p in paths) for length in range(1, len(parts) + 1)}
    for path, (mode, _) in writer.entries(commit, sorted(above)).items():
        shown = escaped(path, _SHOWN)
        if mode == _SUBMODULE:
            raise ToolFailure(f"path: {shown} is a submodule, a repository of its own: tools do not write into it")
        if mode == _LINK:
            raise ToolFailure(f"path: {shown} is a link, and tools write neither links nor through them")
        if tree is None and mode != _FOLDER and path not in paths:
            raise ToolFailure(f"path: {shown} is a file: nothing can lie below it")
        if tree is None and mode == _FOLDER and path in paths:
            raise ToolFailure(f"path: {shown} is a folder; only files are written")
    if tree is not None:
        for path in paths:
            try:
                missing_folders(tree, path)
            except OSError as error:
                raise failure(error, path) from error
    _check_neighbours(writer, commit, paths, tree)


def _check_neighbours(writer: Writer, commit: str, paths: list[str], tree: str | None) -> None:
    """Raises ToolFailure for a new name that is the same as another one elsewhere, and for one that makes a repository
    of a folder: with what the commit has, and with what is in the worktree."""
    wanted = names_by_folder(paths)
    committed = writer.names(commit, wanted)
    for folder, names in wanted.items():
        there = known = committed.get(folder, set[str]())
        if tree is not None:
            known = set(_listed(tree, folder))
            there = there | known
        if repository_among({folder: names}, {folder: there}) is not None:
            raise no_repository(folder, "path: ")
        _no_twins(names - known, known, folder, "path")


def refuse_repositories(writer: Writer, tree: str, paths: list[str]) -> None:
    """ToolFailure where files that a tree has lie in a folder that git would take for a repository."""
    wanted = names_by_folder(paths)
    there = writer.names(tree, wanted)
    if (folder := repository_among(wanted, there)) is not None:
        raise no_repository(folder)


def _listed(tree: str, folder: str) -> list[str]:
    way = os.O_RDONLY | os.O_DIRECTORY
    with suppress(OSError), opened_tree(tree) as top, closing(open_beneath(top, folder, way)) as fd:
        return os.listdir(fd)
    return []


def _no_twins(new: Collection[str], known: Iterable[str], folder: str, argument: str) -> None:
    """Raises ToolFailure where one of the new names of a folder is the same file as another one, on some systems."""
    seen = {folded(name): name for name in known}
    for name in sorted(new):
        other = seen.setdefault(folded(name), name)
        if other != name:
            here, there = (escaped(f"{folder}/{one}" if folder else one, _SHOWN) for one in (name, other))
            raise ToolFailure(
                f"{argument}: {here} and {there} differ only in capitals or accents, and are one file on some systems; "
                "choose another name"
            )


# ── state ──
# One word for all that a change is written onto: whoever approved it approved exactly that.


def digest(*parts: object) -> str:
    """Differs whenever a part does. Bytes and names that are no text count too.

    >>> digest("a", None) == digest("a", None), digest("a", b"1") == digest("a", b"2")
    (True, False)
    """
    return sha256(encode([_plain(part) for part in parts])).hexdigest()[:32]


def identify_file(seen: Seen | None) -> tuple[object, ...] | None:
    """What counts of a file: its bytes, and whether it can be run. All else depends on who has checked it out."""
    return None if seen is None else (seen.content, bool(seen.mode & 0o100))


class Plan(Protocol):
    """What a call would do, onto what is found now."""

    def state(self) -> str: ...
    def shown(self) -> str: ...


def must_be(expected: str | None, plan: Plan) -> None:
    """Raises Moved with what would be done now, unless the state is the one in which the call was judged."""
    if expected is not None and expected != plan.state():
        now = plan.shown()
        raise Moved("The files have changed since they were checked; nothing was written. It would now be:", now)


class DeskWork(Struct, frozen=True):
    """What every tool that works at a desk is made of: what it would do, onto what; and doing it."""

    arguments: type[Struct]
    plan: Callable[["Desk", Any], Plan]
    run: Callable[["Desk", Any], Any]
    look: Callable[["Desk", Any], Any] | None = None
    """A part of the plan that is enough for its state."""

    def preview(self, desk: "Desk", asked: Any) -> str:
        """What it would do, if what it would write onto is in the state that is expected."""
        plan = self.plan(desk, asked)
        must_be(asked.expected, plan)
        return plan.shown()

    def state(self, desk: "Desk", asked: Any) -> str:
        return (self.look or self.plan)(desk, asked).state()


def _plain(part: object) -> object:
    if isinstance(part, bytes):
        return ["bytes", sha256(part).hexdigest()]
    if isinstance(part, str):
        return ["text", sha256(part.encode(errors="surrogatepass")).hexdigest()]
    if isinstance(part, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", part)]
    return part


Kind = Literal["modify", "insert", "delete", "save"]
_SHOWN = 200
_MOST_SUMMARY = 3


class Operation(Struct, frozen=True):
    """`save` is for whoever does not mind whether the file is there."""

    type: Kind
    path: str
    content: str | None = None


class FileChange(Struct, frozen=True):
    path: str
    status: Literal["added", "modified", "deleted", "unchanged"]
    insertions: int
    deletions: int


class EditResult(Struct, frozen=True, kw_only=True):
    success: bool = True
    branch: str
    files: list[FileChange]
    change: str
    undo: str
    diff: str


class Item(Struct, frozen=True):
    """A file: where it lies, what a model and a person know it by, what it holds now and what it will."""

    tree: str
    path: str
    shown: str
    before: Seen | None
    after: bytes | None

    @property
    def content(self) -> bytes | None:
        return None if self.before is None else self.before.content

    @property
    def changes(self) -> bool:
        return self.after != self.content

    @property
    def diff(self) -> str:
        return content_diff(self.shown, self.content, self.after)

    def told(self) -> FileChange:
        lines = self.diff.split("\n")[2:]
        plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        if self.before is None:
            return FileChange(self.shown, "added", plus, minus)
        if self.after is None:
            return FileChange(self.shown, "deleted", plus, minus)
        return FileChange(self.shown, "modified" if plus or minus or self.changes else "unchanged", plus, minus)


class Tip(Struct, frozen=True):
    """A branch at a commit."""

    writer: Writer
    record: BranchRecord
    commit: str


class EditPlan(Struct, frozen=True):
    """What an edit comes to, on what was found: on a branch, or without one below the folders that are meant for it."""

    items: tuple[Item, ...]
    on: Tip | None = None

    def state(self) -> str:
        if self.on is None:
            return digest("edit", tuple((one.tree, one.path, identify_file(one.before)) for one in self.items))
        found = tuple((one.path, identify_file(one.before)) for one in self.items)
        return digest("edit", self.on.record.name, self.on.commit, found)

    def shown(self) -> str:
        head = [f"On the branch {one_line(self.on.record.name)} at {self.on.commit[:12]}:"] if self.on else []
        files = (f"  {one.status} {one_line(one.path)}  +{one.insertions} -{one.deletions}" for one in self.told())
        return bounded(head, files, self._diff(), "Change fewer files at a time", MOST_SHOWN)

    def told(self) -> list[FileChange]:
        return [item.told() for item in self.items]

    def apply(self, worker: "Worker", tool: str, caller: str) -> EditResult:
        desk, changed, scope = worker.desk, [item for item in self.items if item.changes], NO_GIT
        more = f" and {len(changed) - _MOST_SUMMARY} more" if len(changed) > _MOST_SUMMARY else ""
        summary = f"change {', '.join(item.shown for item in changed[:_MOST_SUMMARY])}{more}"
        steps = [FileStep(item.tree, item.path, item.content, item.after) for item in changed]
        if self.on is not None:
            record = self.on.record
            tidy(desk, self.on.writer)
            prepare(desk, self.on.writer, record)
            marks = [dirty_step(desk, record, item.path, True) for item in changed]
            steps += [mark for mark in marks if mark is not None]
            summary, scope = f"{summary} on {record.name}", GitScope(record.repository, record.name)
        change = worker.apply(tool=tool, caller=caller, summary=summary, files=steps, scope=scope)
        return EditResult(
            branch=scope.branch, files=self.told(), change=change.id, undo=f"rightcall undo {change.id}",
            diff=cut_lines(shown_text(self._diff()), 50_000),
        )  # fmt: skip

    def _diff(self) -> str:
        return "\n".join(item.diff for item in self.items)


class FileEdit(Struct, frozen=True):
    """One call of a tool that changes files. `argument` is what its errors name."""

    desk: "Desk"
    tool: str
    caller: str
    plan: Callable[[], EditPlan]
    argument: str = "operations"

    def apply(self, expected: str | None) -> EditResult:
        with self.desk.working() as worker:
            plan = self.plan()
            must_be(expected, plan)
            if not any(item.changes for item in plan.items):
                raise ToolFailure(f"{self.argument}: the files are so already; there is nothing to change")
            return plan.apply(worker, self.tool, self.caller)


def edit_on_branch(
    desk: "Desk", tool: str, caller: str, branch: str | None, operations: Sequence[Operation],
    argument: str = "operations",
) -> FileEdit:  # fmt: skip
    """In the worktree of a branch; None: of the only one that the caller has."""
    return FileEdit(desk, tool, caller, partial(_plan_on_branch, desk, caller, branch, operations, argument), argument)


def _plan_on_branch(
    desk: "Desk", caller: str, branch: str | None, operations: Sequence[Operation], argument: str
) -> EditPlan:
    writer = Writer(desk.sight)
    record = branch_for(desk, caller, branch, writer)
    guard_name(desk.settings, record.name)
    tip = writer.tip(record.name)
    assert tip is not None  # or `branch_for` would have said so
    named = [f"operations[{at}].path" if argument == "operations" else argument for at in range(len(operations))]
    paths = [branch_path(desk, writer, one.path, name) for one, name in zip(operations, named, strict=True)]
    check_apart(paths, argument)
    there = exists(writer, record)
    check_ways(writer, tip, paths, record.tree if there else None)
    items: list[Item] = []
    for path, one, name in zip(paths, operations, named, strict=True):
        before = seen_file(record.tree, path) if there else _committed(writer, tip, path)
        items.append(Item(record.tree, path, path, before, content_after(one, before is not None, name)))
    return EditPlan(tuple(items), Tip(writer, record, tip))


def _committed(writer: Writer, tip: str, path: str) -> Seen | None:
    found = writer.blob(tip, path)
    return None if found is None else Seen(found[0], 0o755 if found[1] & 0o100 else 0o644)


def content_after(one: Operation, there: bool, argument: str) -> bytes | None:
    shown = escaped(one.path, _SHOWN)
    if one.type == "insert" and there:
        how = "type modify" if argument.startswith("operations") else "code/edit"
        raise ToolFailure(f"{argument}: {shown} is there already; {how} changes it")
    if one.type in ("modify", "delete") and not there:
        advice = "; type insert makes one" if one.type == "modify" else ", so there is nothing to delete"
        raise ToolFailure(f"{argument}: no such file on the branch: {shown}{advice}")
    if one.type == "delete":
        if one.content:
            raise ToolFailure(f"{argument}: {shown} is to be deleted and has a content: leave one of them out")
        return None
    if one.content is None:
        if one.type == "insert":
            return b""
        raise ToolFailure(f"{argument}: {shown} needs its new whole content (an empty text makes it empty)")
    try:
        content = one.content.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{argument}: the content for {shown} contains a lone surrogate (half a character)") from None
    if len(content) > LARGEST:
        raise ToolFailure(f"{argument}: the content for {shown} has {len(content):,} bytes; at most {LARGEST:,} fit")
    return content
