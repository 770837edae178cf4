"""A merge and a person's own work in the checkout: untouched byte for byte, or in the way, named, and untouched too."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.write.merge import merge_plan
from support.desks import Checks, Project
from support.every import every

CHANGES = {"app.py": "print('two')\n", "lib/util.py": None, "new/file.py": "NEW = 1\n"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("checkout"))
    made.approved(files=CHANGES)
    return made


def clean(project: Project) -> None:
    (project.root / ".git/info/exclude").unlink(missing_ok=True)
    for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD"):
        (project.root / ".git" / name).unlink(missing_ok=True)
    project.git("reset", "-q", "--hard", "main")
    project.git("clean", "-qfdx")


def dirty(project: Project) -> None:
    project.write({"app.py": "print('mine')\n"})


def dirty_of_the_same_size(project: Project) -> None:
    project.write({"app.py": "print('6ne')\n"})


def staged(project: Project) -> None:
    project.write({"app.py": "print('mine')\n"})
    project.git("add", "app.py")
    project.write({"app.py": "print('one')\n"})


def untracked(project: Project) -> None:
    project.write({"new/file.py": "mine\n"})


def ignored(project: Project) -> None:
    (project.root / ".git/info").mkdir(exist_ok=True)
    (project.root / ".git/info/exclude").write_text("new/\n")
    untracked(project)


def folder_in_the_way(project: Project) -> None:
    project.write({"new/file.py/deep.txt": "mine\n"})


def file_for_folder(project: Project) -> None:
    project.write({"new": "mine\n"})


def link_for_folder(project: Project) -> None:
    (project.root / "elsewhere").mkdir(exist_ok=True)
    (project.root / "new").symlink_to("elsewhere")


def link_for_file(project: Project) -> None:
    (project.root / "copy.py").write_text("print('one')\n")
    (project.root / "app.py").unlink()
    (project.root / "app.py").symlink_to("copy.py")


def deleted(project: Project) -> None:
    (project.root / "lib/util.py").unlink()


def pipe(project: Project) -> None:
    (project.root / "app.py").unlink()
    os.mkfifo(project.root / "app.py")


def executable(project: Project) -> None:
    (project.root / "app.py").chmod(0o755)


def other_line_ends(project: Project) -> None:
    (project.root / "app.py").write_bytes(b"print('one')\r\n")


def intended(project: Project) -> None:
    untracked(project)
    project.git("add", "--intent-to-add", "new/file.py")


@pytest.mark.promise("W-04", "W-05")
@every(
    ("work", "named"),
    [
        (dirty, "app.py"),
        (dirty_of_the_same_size, "app.py"),
        (staged, "app.py"),
        (untracked, "new/file.py"),
        (ignored, "new/file.py"),
        (folder_in_the_way, "new/file.py"),
        (file_for_folder, "new/file.py"),
        (link_for_folder, "new/file.py"),
        (link_for_file, "app.py"),
        (deleted, "lib/util.py"),
        (pipe, "app.py"),
        (executable, "app.py"),
        (other_line_ends, "app.py"),
        (intended, "new/file.py"),
    ],
)
def test_work_that_is_in_the_way_refuses_the_merge_and_is_named(
    work: Callable[[Project], None], named: str, project: Project
) -> None:
    work(project)
    before = project.status()
    try:
        with pytest.raises(ToolFailure, match=rf"in the way of the merge: {named}\. Nothing was merged"):
            merge_plan(project.desk, "1")
        assert project.status() == before
    finally:
        clean(project)


@pytest.mark.promise("W-04")
def test_a_checkout_in_the_middle_of_something_is_left_alone(project: Project) -> None:
    clean(project)
    marker = project.root / ".git/MERGE_HEAD"
    marker.write_text(project.tip() + "\n")
    with pytest.raises(ToolFailure, match="A merge is under way in the checkout"):
        merge_plan(project.desk, "1")
    clean(project)
    project.git("update-index", "--skip-worktree", "notes.txt")
    with pytest.raises(ToolFailure, match=r"sparse.*git sparse-checkout disable"):
        merge_plan(project.desk, "1")
    project.git("update-index", "--no-skip-worktree", "notes.txt")
    merge_plan(project.desk, "1")


@pytest.mark.promise("W-04", "W-05")
def test_links_and_submodules_among_the_changes_are_refused_where_they_would_be_put_into_a_checkout(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.branch()
    project.commit({"link.py": "app.py"}, mode="120000")
    project.open()
    project.review()
    with pytest.raises(ToolFailure, match=r"links or submodules.*link\.py"):
        merge_plan(project.desk, "1")
    project.git("switch", "-q", "--detach")
    merge_plan(project.desk, "1")


@pytest.mark.promise("W-04")
@pytest.mark.parametrize(
    ("files", "named"),
    [({"app.py": None, "app.py/deep/x.py": "1\n"}, r"app\.py"), ({"lib/util.py": None, "lib": "1\n"}, "lib")],
)
def test_a_file_that_becomes_a_folder_or_the_opposite_is_refused_before_any_check_where_it_is_checked_out(
    tmp_path: Path, files: Mapping[str, str | None], named: str
) -> None:
    project, checks = Project(tmp_path), Checks()
    project.approved(files=files)
    with pytest.raises(ToolFailure, match=f"turns a file into a folder, or a folder into a file, .*: {named}. Check"):
        project.merge(checks)
    assert checks.jobs == []
    assert project.status() == ""
    project.git("switch", "-q", "--detach")
    assert project.merge(checks).checkout is False


@pytest.mark.promise("W-04", "W-05")
def test_work_that_is_not_in_the_way_is_the_same_afterwards_byte_for_byte(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.approved(files=CHANGES)
    project.write({"notes.txt": "stashed\n"})
    project.git("stash")
    project.write({"notes.txt": "staged\n", "added.txt": "added\n", "gone.txt": "x"})
    project.git("add", "notes.txt", "added.txt")
    project.write({"notes.txt": "unstaged\n", "added.txt": "more\n", "untracked.txt": "u\n", "lib/own.txt": "o\n"})
    (project.root / "untracked.txt").chmod(0o600)
    kept = ("notes.txt", "added.txt", "untracked.txt", "lib/own.txt", "gone.txt")

    def work() -> Mapping[str, object]:
        files = {name: ((project.root / name).read_bytes(), (project.root / name).stat()) for name in kept}
        looks = {
            name: (content, seen.st_mode, seen.st_ino, seen.st_mtime_ns) for name, (content, seen) in files.items()
        }
        stashed = project.git("stash", "show", "-p"), project.git("rev-parse", "stash@{0}")
        return looks | {"diff": project.git("diff"), "staged": project.git("diff", "--cached"), "stash": stashed}

    before, status = work(), project.status()
    told = project.merge()
    assert work() == before
    assert project.status() == status
    assert (project.root / "app.py").read_text() == "print('two')\n"
    assert not (project.root / "lib/util.py").exists()
    assert (project.root / "new/file.py").read_text() == "NEW = 1\n"
    with project.desk.working() as worker:
        worker.undo(told.change, by="Joel")
    assert work() == before
    assert project.status() == status
    assert not (project.root / "new").exists()
    assert (project.root / "lib/util.py").read_text() == "X = 1\n"


@pytest.mark.promise("W-04")
def test_a_file_that_becomes_executable_is_so_in_the_checkout_and_not_after_undo(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.branch(files={"notes.txt": "n\n"})
    project.commit({"app.py": "print('one')\n"}, mode="100755")
    project.open()
    project.review()
    told = project.merge()
    assert (project.root / "app.py").stat().st_mode & 0o111
    assert project.status() == ""
    with project.desk.working() as worker:
        worker.undo(told.change, by="Joel")
    assert not (project.root / "app.py").stat().st_mode & 0o111
    assert project.status() == ""


@pytest.mark.promise("W-04")
def test_an_index_that_git_is_writing_right_now_refuses_the_merge(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.approved()
    lock = project.root / ".git/index.lock"
    lock.write_bytes(b"")
    before = project.tip()
    with pytest.raises(ToolFailure, match=r"index\.lock|lock"):
        project.merge()
    assert project.tip() == before
    assert lock.exists()
    lock.unlink()
    assert (project.root / "app.py").read_text() == "print('one')\n"
    assert project.merge().status == "merged"
