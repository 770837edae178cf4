"""The worktree of a branch: real to git, made when needed, gone with its branch, finished after a kill."""

import os
import shutil
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.write.branches import all_branches, follow, prepare, tidy
from rightcall.tools.write.desk import adopt
from support.desks import Place, insert, modify, place
from support.repositories import Made

pytestmark = pytest.mark.promise("W-02")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    found = place(tmp_path)
    found.branch("fix/it")
    return found


def worktrees(here: Place) -> list[str]:
    listed = here.made.git("worktree", "list", "--porcelain").split("\n")
    return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]


def test_git_knows_the_worktree_and_a_person_can_use_it(here: Place) -> None:
    here.edit(modify("a.py", "2\n"))
    tree = here.tree("fix/it")
    assert worktrees(here) == [str(here.made.folder), str(tree)]
    assert Made(tree).git("rev-parse", "--abbrev-ref", "HEAD") == "fix/it"
    assert Made(tree).git("diff", "--stat").startswith(" a.py | 2 +-")
    here.made.git("worktree", "prune")
    here.made.git("fsck")
    assert worktrees(here)[1:] == [str(tree)]
    assert tree.stat().st_uid == os.geteuid()
    assert Path(here.desk.folder).stat().st_mode & 0o077 == 0


def test_a_worktree_goes_with_its_branch_and_what_is_a_persons_is_kept(here: Place) -> None:
    change = here.edit(modify("a.py", "2\n"))["change"]
    here.branch("other")
    here.edit(modify("a.py", "2\n"), branch="other")
    tree, other = here.tree("fix/it"), here.tree("other")
    here.undo(change)
    (other / "mine.txt").write_text("a person's\n")
    here.made.git("update-ref", "-d", "refs/heads/fix/it")
    here.made.git("update-ref", "-d", "refs/heads/other")
    follow(here.desk)
    assert not tree.exists()
    assert not other.exists()
    assert worktrees(here) == [str(here.made.folder)]
    assert not (here.made.git_dir / "worktrees").exists()
    (kept,) = (Path(here.desk.folder) / "trees").iterdir()
    assert (kept / "mine.txt").read_text() == "a person's\n"


@pytest.mark.promise("W-05")
@pytest.mark.parametrize("left", ["nothing registered", "no mark", "half a checkout", "registration only", "old index"])
def test_what_a_killed_process_left_is_finished(here: Place, left: str) -> None:
    here.edit(modify("a.py", "2\n"))
    tree = here.tree("fix/it")
    registration = here.made.git_dir / "worktrees" / tree.name
    if left == "nothing registered":
        shutil.rmtree(registration)
    elif left == "no mark":
        (registration / "rightcall").unlink()
        (registration / "index").unlink()
    elif left == "half a checkout":
        (tree.parent / ".new-fix").mkdir()
        (tree.parent / ".new-fix" / "a.py").write_text("half\n")
    elif left == "registration only":
        shutil.rmtree(tree)
    else:
        index = (registration / "index").read_bytes()
        here.call("code/commit", message="x")
        (registration / "index").write_bytes(index)
        (registration / "rightcall").write_text(here.made.git("rev-parse", "main") + "\n")
        assert Made(tree).git("status", "--porcelain") == "MM a.py"
    with here.desk.working():
        tidy(here.desk, here.writer())
        prepare(here.desk, here.writer(), here.record("fix/it"))
    wanted = " M a.py" if left not in ("registration only", "old index") else ""
    assert Made(tree).git("status", "--porcelain") == wanted
    assert worktrees(here)[1:] == [str(tree)]
    assert [path.name for path in tree.parent.iterdir()] == [tree.name]


def test_a_registration_of_somebody_else_is_not_taken(here: Place, tmp_path: Path) -> None:
    record = here.record("fix/it")
    here.made.git("worktree", "add", "-q", "-b", "theirs", str(tmp_path / record.slug))
    with pytest.raises(ToolFailure, match="A person has something else checked out"):
        here.edit(modify("a.py", "2\n"))
    assert here.made.git("-C", str(tmp_path / record.slug), "status", "--porcelain") == ""


def test_a_link_in_the_place_of_the_registrations_is_not_followed(here: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (here.made.git_dir / "worktrees").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolFailure, match="no worktree can be registered"):
        here.edit(modify("a.py", "2\n"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_branch_of_a_linked_worktree_as_the_root_works(tmp_path: Path) -> None:
    main = place(tmp_path / "one")
    main.made.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    here = Place(tmp_path / "two", Made(tmp_path / "side"))
    assert here.branch()["base"] == "side"
    here.edit(modify("a.py", "2\n"))
    here.call("code/commit", message="x")
    assert main.made.git("show", "fix:a.py") == "2"
    assert len(worktrees(here)) == 3
    assert here.made.git("status", "--porcelain") == ""


def test_a_project_that_is_moved_keeps_its_open_branches(tmp_path: Path) -> None:
    here = place(tmp_path / "one")
    here.branch()
    here.edit(modify("a.py", "2\n"))
    Made(here.tree()).git("rm", "-q", "--cached", "b.py")  # what a person has staged stays
    for folder in (tmp_path / "two", tmp_path / "one"):
        here.folder.rename(folder)
        here = Place(folder, Made(folder / "root"))
        name = f"{folder.name}.py"
        here.edit(insert(name, "x\n"))
        assert {"a.py", name} <= set(here.record().dirty)
        assert worktrees(here)[1:] == [str(here.tree())]
        assert "D  b.py" in Made(here.tree()).git("status", "--porcelain")
    here.call("code/commit", message="moved twice")
    assert here.made.git("show", "fix:two.py") == "x"
    assert [path.name for path in here.tree().parent.iterdir()] == [here.tree().name]


def test_a_copy_of_a_project_works_on_its_own_files(tmp_path: Path) -> None:
    first = place(tmp_path / "one")
    first.branch()
    first.edit(modify("a.py", "2\n"))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    copy = Place(tmp_path / "two", Made(tmp_path / "two/root"))
    adopt(copy.desk.folder)
    copy.edit(modify("a.py", "3\n"))
    assert ((first.tree() / "a.py").read_text(), (copy.tree() / "a.py").read_text()) == ("2\n", "3\n")
    assert worktrees(copy)[1:] == [str(copy.tree())]
    first.edit(modify("a.py", "4\n"))
    assert (copy.tree() / "a.py").read_text() == "3\n"


def test_a_branch_that_is_made_again_after_a_move_is_the_new_one(tmp_path: Path) -> None:
    here = place(tmp_path / "one")
    here.branch()
    here.edit(modify("a.py", "2\n"))
    here.folder.rename(tmp_path / "two")
    here = Place(tmp_path / "two", Made(tmp_path / "two/root"))
    here.made.git("worktree", "prune")
    here.made.git("branch", "-D", "fix")
    here.branch()
    here.edit(modify("b.py", "3\n"))
    assert here.record().dirty == ("b.py",)
    assert [record.dirty for record in all_branches(here.desk)] == [("b.py",)]
