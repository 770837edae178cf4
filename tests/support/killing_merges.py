"""Merges to be killed at every step (`killing.py`): what is there before, what is done, and what counts of it."""

from pathlib import Path

from rightcall.base.files.sight import Sight
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.pulls import pull_of
from support.merge_requests import Checks, Project

CHANGES = {"app.py": "print('two')\n", "lib/util.py": None, "new/file.py": "NEW = 1\n"}


def approved(root: Path) -> None:
    """A request that can be merged, and a person at work in the checkout: staged, unstaged and untracked."""
    project = Project(root, within=True)
    project.approved(files=CHANGES)
    project.write({"notes.txt": "staged\n"})
    project.git("add", "notes.txt")
    project.write({"notes.txt": "unstaged\n", "untracked.txt": "mine\n"})


def merged(root: Path) -> None:
    approved(root)
    Project(root, within=True).merge()


def merge(_: Desk, root: Path) -> None:
    Project(root, within=True).merge()


def red(_: Desk, root: Path) -> None:
    """The checks fail, and that is noted: nothing else may change."""
    try:
        Project(root, within=True).merge(Checks(1))
    except Exception as error:  # anything else than a refusal shows in what is there afterwards
        if "Nothing was merged" not in str(error):
            raise


def merge_view(root: Path) -> dict[str, bytes]:
    """The person's files, each file of the index, the branch, and what the record says."""
    project = Project(root, within=True)
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.relative_to(root).as_posix().startswith((".rightcall/", ".git/"))
    }
    for line in project.git("ls-files", "--stage").splitlines():
        about, _, path = line.partition("\t")
        found[f"staged {path}"] = about.encode()
    record = pull_of(Desk(project.desk.folder, Sight(root), project.desk.settings), 1)
    found["main"] = project.git("log", "--first-parent", "--format=%s", "--name-status", "main").encode()
    found["record"] = f"{record.status} {[one.kind for one in record.discussion]}".encode()
    return found
