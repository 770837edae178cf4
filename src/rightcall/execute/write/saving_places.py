"""Where `file/save` may save: below the configured folders, by the names as they are written. No link is followed on
the way there, so those names are the true ones."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.write.editing_paths import check_names, check_rules
from rightcall.execute.write.git_checkout import is_bad_name
from rightcall.fs.gitdirs import in_git_directory, no_repository, repository_made
from rightcall.fs.guarded import is_another_name, is_guarded
from rightcall.fs.spots import opened_tree
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

_SHOWN = 200
_LONGEST = 4_000
_LONGEST_NAME = 255


class Place(Struct, frozen=True):
    """A file that may be saved. `shown` is what a model and a person know it by."""

    tree: str
    path: str
    shown: str


def outside_folders(desk: "Desk") -> tuple[str, ...]:
    """The true paths of the configured folders outside the root."""
    return tuple(os.path.realpath(folder) for folder in desk.settings.folders if folder.startswith("/"))


def place_for(desk: "Desk", written: str, guarded: Sequence[str] = ()) -> Place:
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
    wrong = not parts or written.endswith(("/", "/.")) or len(written) > _LONGEST or not written.isprintable()
    if wrong or any(is_bad_name(part) or len(os.fsencode(part)) > _LONGEST_NAME for part in parts):
        raise ToolFailure(f"path: {shown} is no path of a file; one such as experimental/notes.md would be right")
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
