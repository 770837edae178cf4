"""The same as `editing` where no branch is meant: several files below the folders of `[write] folders`, all or none."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.diff import one_line
from rightcall.execute.write.branches import open_branches
from rightcall.execute.write.changes import FileStep
from rightcall.execute.write.editing import EditResult, Item, Operation, content_after, cut_diff, short_list
from rightcall.execute.write.editing_paths import check_apart
from rightcall.execute.write.editing_state import digest, identify_file, must_be
from rightcall.execute.write.git import Writer
from rightcall.execute.write.saving_places import Place, place_for
from rightcall.fs.gitdirs import no_repository, repository_made
from rightcall.fs.spots import opened_tree, seen_file
from rightcall.text.cut import MOST_SHOWN, bounded

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk


class _Plan(Struct, frozen=True):
    places: tuple[Place, ...]
    items: tuple[Item, ...]

    def state(self) -> str:
        found = tuple((place.tree, place.path, identify_file(item.before)) for place, item in self._pairs())
        return digest("edit", found)

    def shown(self) -> str:
        changes = [item.told() for item in self.items]
        files = (f"  {one.status} {one_line(one.path)}  +{one.insertions} -{one.deletions}" for one in changes)
        return bounded(
            (), files, "\n".join(item.diff for item in self.items), "Change fewer files at a time", MOST_SHOWN
        )

    def steps(self) -> list[FileStep]:
        return [
            FileStep(place.tree, place.path, None if item.before is None else item.before.content, item.after)
            for place, item in self._pairs()
            if item.changes
        ]

    def _pairs(self) -> Iterable[tuple[Place, Item]]:
        return zip(self.places, self.items, strict=True)


class FolderEdit:
    """One call that changes files below the folders that are meant for it."""

    def __init__(
        self, desk: "Desk", tool: str, caller: str, operations: Sequence[Operation], guarded: Sequence[str] = ()
    ) -> None:
        self._desk = desk
        self._tool = tool
        self._caller = caller
        self._operations = operations
        self._guarded = guarded

    def preview(self, expected: str | None = None) -> str:
        """One diff over all files, if they are in the state that is expected."""
        plan = self._planned()
        must_be(expected, plan.state(), plan.shown)
        return plan.shown()

    def state(self) -> str:
        return self._planned().state()

    def apply(self, expected: str | None) -> EditResult:
        self._planned()  # what cannot be done at all needs no desk
        with self._desk.working() as worker:
            plan = self._planned()
            must_be(expected, plan.state(), plan.shown)
            steps = plan.steps()
            if not steps:
                raise ToolFailure("operations: the files are so already; there is nothing to change")
            summary = f"change {short_list([item.path for item in plan.items if item.changes])}"
            change = worker.apply(tool=self._tool, caller=self._caller, summary=summary, files=steps)
        return EditResult(
            branch="", files=[item.told() for item in plan.items], change=change.id,
            undo=f"rightcall undo {change.id}", diff=cut_diff(plan.items),
        )  # fmt: skip

    def _planned(self) -> _Plan:
        places = tuple(place_for(self._desk, one.path, self._guarded) for one in self._operations)
        check_apart([place.shown for place in places], "operations")
        _make_no_repository(places)
        items: list[Item] = []
        for at, (place, one) in enumerate(zip(places, self._operations, strict=True)):
            before = seen_file(place.tree, place.path)
            items.append(Item(place.shown, before, content_after(one, before is not None, f"operations[{at}].path")))
        return _Plan(places, tuple(items))


def _make_no_repository(places: Sequence[Place]) -> None:
    """Each file may pass alone, and all of them together make a folder a repository of git's."""
    with opened_tree(places[0].tree) as tree:
        if (folder := repository_made(tree, [place.path for place in places])) is not None:
            raise no_repository(folder, "operations: ")


def is_for_folders(desk: "Desk", caller: str, operations: Sequence[Operation], guarded: Sequence[str] = ()) -> bool:
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
