"""`file/save`: a whole file, below the folders that are meant for it, or in the worktree of a branch. And the tools
that edit files there: `code/edit`, `code/create-test`."""

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rightcall.base.files.guarded import is_another_name, is_guarded
from rightcall.base.files.sight import in_git_directory, no_repository, repository_made
from rightcall.base.files.write import Seen, opened_tree, seen_file
from rightcall.base.globs import path_matches
from rightcall.base.text import MOST_SHOWN, bounded, cut_lines, escaped
from rightcall.errors import ToolFailure
from rightcall.tools.diff import content_diff, one_line, shown_text
from rightcall.tools.write.branches import open_branches
from rightcall.tools.write.changes import LARGEST, FileStep
from rightcall.tools.write.edit import (
    DeskWork,
    EditPlan,
    EditResult,
    FileEdit,
    Item,
    Operation,
    Plan,
    branch_path,
    check_apart,
    check_names,
    check_rules,
    content_after,
    digest,
    edit_on_branch,
    identify_file,
    must_be,
)
from rightcall.tools.write.plumbing import Writer
from rightcall.tools.write.refs import is_bad_name

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk


# ── places ──
# Where `file/save` may save: below the configured folders, by the names as they are written. No link is followed on
# the way there, so those names are the true ones.

_SHOWN = 200


class Place(Struct, frozen=True):
    """A file that may be saved. `shown` is what a model and a person know it by."""

    tree: str
    path: str
    shown: str


def place_for(desk: "Desk", written: str, guarded: Sequence[str]) -> Place:
    """Raises ToolFailure that names the rule which a path breaks. `guarded` are the true paths of files, wherever they
    are, that no tool writes."""
    shown = escaped(written, _SHOWN)
    root = os.path.realpath(desk.sight.root)
    whole = _whole(written, desk.sight.root, root, shown)
    below = _below(whole, root)
    place = _inside(desk, root, below, shown) if below is not None else _outside(desk, whole, shown)
    check_names(place.path.split("/"), "path", shown)
    true = os.path.join(place.tree, place.path)
    kept = os.path.dirname(os.path.realpath(desk.folder))
    if below is None and (os.path.dirname(true) == kept or _below(true, os.path.realpath(desk.folder)) is not None):
        raise _unwritable(shown)
    if is_guarded(true, guarded) or is_another_name(true, guarded):
        raise _unwritable(shown)
    check_rules(desk, place.path, {place.path}, "path", shown)
    with opened_tree(place.tree) as tree:
        if in_git_directory(tree, place.path):
            raise ToolFailure(f"path: {shown} lies in a directory of git's own, where no tool writes")
        if (folder := repository_made(tree, [place.path])) is not None:
            raise no_repository(place.shown.removesuffix(place.path) + folder, "path: ")
    return place


def _whole(written: str, given: str, root: str, shown: str) -> str:
    """The path from the top, of plain names. A place in the root can be written by any path of the root."""
    parts = [part for part in written.split("/") if part not in ("", ".")]
    wrong = not parts or written.endswith(("/", "/.")) or len(written) > 4_000 or not written.isprintable()
    if wrong or any(is_bad_name(part) or len(os.fsencode(part)) > 255 for part in parts):
        raise ToolFailure(f"path: {shown} is not a file path; use one such as experimental/notes.md")
    if not written.startswith("/"):
        return os.path.join(root, *parts)
    whole = "/" + "/".join(parts)
    inside = _below(whole, given)
    return whole if inside is None else os.path.join(root, inside)


def _inside(desk: "Desk", root: str, path: str, shown: str) -> Place:
    folders = [folder.strip("/") for folder in desk.settings.folders if not folder.startswith("/")]
    if path in folders:
        raise _folder_itself(shown)
    if not any(path.startswith(f"{folder}/") for folder in folders):
        raise ToolFailure(f"path: {shown} is not below {_or(desk)}, where file/save saves ([write] folders)")
    return Place(root, path, path)


def _outside(desk: "Desk", whole: str, shown: str) -> Place:
    """Below one of the folders that begin with `/`; where that folder truly lies must not be the root after all."""
    for folder in desk.settings.folders:
        if whole == folder.rstrip("/"):
            raise _folder_itself(shown)
        path = _below(whole, folder.rstrip("/")) if folder.startswith("/") else None
        if path:
            tree = os.path.realpath(folder)
            inside = _below(os.path.join(tree, path), os.path.realpath(desk.sight.root))
            if inside is not None:
                return _inside(desk, os.path.realpath(desk.sight.root), inside, shown)
            if not os.path.isdir(tree):
                raise ToolFailure(f"path: the folder {escaped(folder, _SHOWN)} is not there ([write] folders)")
            return Place(tree, path, whole)
    raise ToolFailure(f"path: {shown} is not below {_or(desk)}, where file/save saves ([write] folders)")


def _folder_itself(shown: str) -> ToolFailure:
    return ToolFailure(f"path: {shown} is the folder itself; name a file in it, such as {shown}/notes.md")


def _unwritable(shown: str) -> ToolFailure:
    return ToolFailure(f"path: {shown} is a name that tools neither read nor write")


def _or(desk: "Desk") -> str:
    return " or ".join(escaped(folder, _SHOWN) for folder in desk.settings.folders) or "any folder at all"


def _below(whole: str, folder: str) -> str | None:
    top = folder.rstrip("/") + "/"
    return whole[len(top) :] if whole.startswith(top) else None


# ── edits without a branch ──
# The same as `edit.py` where no branch is meant: several files below the folders of `[write] folders`, all or none.


def _edit_in_folders(desk: "Desk", caller: str, operations: Sequence[Operation], guarded: Sequence[str]) -> FileEdit:
    plan = partial(_plan_in_folders, desk, operations, guarded)
    plan()  # what cannot be done at all needs no desk
    return FileEdit(desk, EDIT, caller, plan)


def _plan_in_folders(desk: "Desk", operations: Sequence[Operation], guarded: Sequence[str]) -> EditPlan:
    places = [place_for(desk, one.path, guarded) for one in operations]
    check_apart([place.shown for place in places], "operations")
    # each file may pass alone, and all of them together make a folder a repository of git's
    with opened_tree(places[0].tree) as tree:
        if (folder := repository_made(tree, [place.path for place in places])) is not None:
            raise no_repository(folder, "operations: ")
    items: list[Item] = []
    for at, (place, one) in enumerate(zip(places, operations, strict=True)):
        before = seen_file(place.tree, place.path)
        after = content_after(one, before is not None, f"operations[{at}].path")
        items.append(Item(place.tree, place.path, place.shown, before, after))
    return EditPlan(tuple(items))


def _is_for_folders(desk: "Desk", caller: str, operations: Sequence[Operation], guarded: Sequence[str]) -> bool:
    """Whether a call that names no branch means the folders: all its files lie there, and the caller has no branch."""
    root = os.path.realpath(desk.sight.root)
    try:
        if not all(place_for(desk, one.path, guarded).tree == root for one in operations):
            return False
    except ToolFailure:
        return False
    try:
        return not open_branches(desk, Writer(desk.sight), caller)
    except ToolFailure:  # no repository
        return True


# ── tools that edit ──
# The tools that work on branches: `code/create-branch`, `code/edit`, `code/create-test` and `code/commit`.

_PATTERNS = 6
EDIT, CREATE_TEST = "code/edit", "code/create-test"


class EditArguments(Struct, frozen=True, kw_only=True):
    operations: list[Operation]
    branch: str | None = None
    caller: str = ""
    expected: str | None = None


class CreateTestArguments(Struct, frozen=True, kw_only=True):
    path: str
    content: str
    branch: str | None = None
    caller: str = ""
    expected: str | None = None


def edit_work(guarded: Sequence[str]) -> DeskWork:
    """`code/edit`; `guarded` are the true paths of files that no tool writes."""
    return DeskWork(
        EditArguments,
        lambda desk, asked: _edit(desk, asked, guarded).plan(),
        lambda desk, asked: _edit(desk, asked, guarded).apply(asked.expected),
    )


def create_test_work() -> DeskWork:
    """`code/create-test`."""
    return DeskWork(
        CreateTestArguments,
        lambda desk, asked: _test(desk, asked).plan(),
        lambda desk, asked: _test(desk, asked).apply(asked.expected),
    )


def _edit(desk: "Desk", asked: EditArguments, guarded: Sequence[str]) -> FileEdit:
    if not asked.operations:
        raise ToolFailure("operations: at least one is needed")
    if any(one.type == "save" for one in asked.operations):
        raise ToolFailure("operations: type is modify, insert or delete")
    if asked.branch is None and _is_for_folders(desk, asked.caller, asked.operations, guarded):
        return _edit_in_folders(desk, asked.caller, asked.operations, guarded)
    return edit_on_branch(desk, EDIT, asked.caller, asked.branch, asked.operations)


def _test(desk: "Desk", asked: CreateTestArguments) -> FileEdit:
    path = branch_path(desk, Writer(desk.sight), asked.path)
    if not any(path_matches(pattern, path) for pattern in desk.settings.tests):
        tests = desk.settings.tests
        more = f" and {len(tests) - _PATTERNS} more" if len(tests) > _PATTERNS else ""
        patterns = ", ".join(escaped(pattern, 200) for pattern in tests[:_PATTERNS]) + more
        raise ToolFailure(
            f"path: {escaped(path, 200)} is not a test file. Test files match [write] tests: {patterns}; "
            "code/edit changes other files"
        )
    inserted = [Operation("insert", path, asked.content)]
    return edit_on_branch(desk, CREATE_TEST, asked.caller, asked.branch, inserted, "path")


NAME: Final = "file/save"
_MOST_DIFF = 4_000
"""Characters of the diff in a result: whoever saved it knows what it holds."""


class SaveArguments(Struct, frozen=True, kw_only=True):
    path: str
    content: str
    branch: str | None = None
    caller: str = ""
    expected: str | None = None


class SaveResult(Struct, frozen=True, kw_only=True):
    success: bool = True
    path: str
    bytes: int
    created: bool
    change: str
    """Empty when the file was so already."""
    undo: str
    diff: str


class _Plan(Struct, frozen=True):
    place: Place
    seen: Seen | None
    content: bytes

    @property
    def before(self) -> bytes | None:
        return None if self.seen is None else self.seen.content

    def state(self) -> str:
        return digest("save", self.place.tree, self.place.path, identify_file(self.seen))

    def shown(self) -> str:
        diff = content_diff(self.place.shown, self.before, self.content)
        listed = [f"  {one_line(self.place.shown)}"]
        return bounded((), listed, diff, "Its new content is among the arguments", MOST_SHOWN)


def save_work(guarded: Sequence[str] = ()) -> DeskWork:
    """`file/save`; `guarded` as above."""

    def plan(desk: "Desk", asked: SaveArguments) -> Plan:
        return _planned(desk, guarded, asked) if asked.branch is None else _on_branch(desk, asked).plan()

    return DeskWork(SaveArguments, plan, partial(save, guarded=guarded))


def save(desk: "Desk", asked: SaveArguments, guarded: Sequence[str] = ()) -> SaveResult | EditResult:
    """Save it, if what is there is what was judged."""
    if asked.branch is not None:
        return _on_branch(desk, asked).apply(asked.expected)
    _planned(desk, guarded, asked)  # what cannot be done at all needs no desk
    with desk.working() as worker:
        plan = _planned(desk, guarded, asked)
        must_be(asked.expected, plan)
        change = ""
        if plan.before != plan.content:
            step = FileStep(plan.place.tree, plan.place.path, plan.before, plan.content)
            summary = f"save {plan.place.shown}"
            change = worker.apply(tool=NAME, caller=asked.caller, summary=summary, files=[step]).id
    diff = shown_text(plan.shown())
    return SaveResult(
        path=plan.place.shown, bytes=len(plan.content), created=plan.seen is None, change=change,
        undo=f"rightcall undo {change}" if change else "",
        diff=cut_lines(diff, _MOST_DIFF),
    )  # fmt: skip


def _on_branch(desk: "Desk", asked: SaveArguments) -> FileEdit:
    """In the worktree of a branch, whether the file is there or not."""
    operation = Operation("save", asked.path, asked.content)
    return edit_on_branch(desk, NAME, asked.caller, asked.branch, [operation], "path")


def _planned(desk: "Desk", guarded: Sequence[str], asked: SaveArguments) -> _Plan:
    place = place_for(desk, asked.path, guarded)
    return _Plan(place, seen_file(place.tree, place.path), _content(asked.content))


def _content(written: str) -> bytes:
    try:
        content = written.encode()
    except UnicodeEncodeError:
        raise ToolFailure("content: it contains a lone surrogate (half a character), which no file can") from None
    if len(content) > LARGEST:
        raise ToolFailure(f"content: it has {len(content):,} bytes; at most {LARGEST:,} fit")
    return content
