"""Which paths a tool may write on a branch: as a model writes them, counted from the root, by the same rules as for
reading, and without what is locked."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from rightcall.base.globs import path_matches
from rightcall.errors import ToolFailure
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_checkout import is_bad_name
from rightcall.fs.beneath import open_beneath
from rightcall.fs.gitdirs import as_git_reads, folded, names_by_folder, no_repository, repository_among
from rightcall.fs.spots import closing, failure, opened_tree
from rightcall.fs.writing import missing_folders
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

_SHOWN = 200
_LONGEST = 1_000
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
    if not path or path.startswith("/") or len(path) > _LONGEST or any(part in ("", "..") for part in parts):
        raise ToolFailure(
            f"{argument}: {shown} is no path of a file below the root; one such as src/app.py would be right"
        )
    path = "/".join(parts)
    if not path.isprintable() or any(is_bad_name(part) for part in parts):
        raise ToolFailure(f"{argument}: {shown} is no name for a file that tools write")
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
