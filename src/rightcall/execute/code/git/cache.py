"""Where commit graphs of our own are kept: outside every repository, in the user's cache, believed only if they are
ours."""

import os
import stat
from hashlib import sha256

from rightcall.execute.code.git.repository import Repository


def graph_folder(repository: Repository) -> str:
    """The folder for the graph of a repository: another one when the repository has moved or has been made anew."""
    objects = os.path.join(repository.common_dir, "objects")
    try:
        seen = os.lstat(objects)
        key = f"{seen.st_dev}:{seen.st_ino}:{objects}"
    except OSError:
        key = objects
    return os.path.join(_graphs(), sha256(key.encode(errors="surrogateescape")).hexdigest()[:40])


def graph_file(repository: Repository) -> str:
    return os.path.join(graph_folder(repository), "commit-graph")


def is_ours(graph: str) -> bool:
    """Whether a graph is a real file that nobody but us can have written, in folders for which the same holds."""
    folder = os.path.dirname(graph)
    graphs = os.path.dirname(folder)
    return _ours(graph, stat.S_IFREG) and all(
        _ours(path, stat.S_IFDIR) for path in (folder, graphs, os.path.dirname(graphs))
    )


def _ours(path: str, kind: int) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return stat.S_IFMT(seen.st_mode) == kind and seen.st_uid == os.geteuid() and not seen.st_mode & 0o022


def _graphs() -> str:
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "rightcall", "graphs")
