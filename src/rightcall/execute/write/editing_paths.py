"""Which paths a tool may write on a branch: as a model writes them, counted from the root, by the same rules as for
reading, and without what is locked."""

from typing import TYPE_CHECKING

from rightcall.errors import ToolFailure
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_checkout import is_bad_name
from rightcall.fs.globs import path_matches
from rightcall.fs.spots import failure
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
    outside = writer.repository.outside(path)
    check_rules(desk, outside, {path, outside}, argument, shown)
    return path


def check_rules(desk: "Desk", path: str, names: set[str], argument: str, shown: str) -> None:
    """Raises ToolFailure for a path that may not be seen, or that is locked by one of its names."""
    if not desk.sight.sees(path):
        raise ToolFailure(f"{argument}: {shown} is a name that tools neither read nor write ([policy.paths])")
    if any(path_matches(pattern, name) for pattern in desk.settings.locked for name in names):
        raise ToolFailure(f"{argument}: {shown} is locked: no tool writes it ([write] locked)")


def check_apart(paths: list[str], argument: str) -> None:
    """Raises ToolFailure where one call means the same file twice, or a file and something below it."""
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise ToolFailure(f"{argument}: {escaped(path, _SHOWN)} is there twice; each file only once in a call")
        seen.add(path)
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
    if tree is None:
        return
    for path in paths:
        try:
            missing_folders(tree, path)
        except OSError as error:
            raise failure(error, path) from error
