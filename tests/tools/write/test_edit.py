"""Edits on a branch: whole or not at all, in a worktree of their own, exactly what was shown."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.policy.settings import WriteSettings
from rightcall.tools.write.changes import Moved
from rightcall.tools.write.edit import Operation, edit_on_branch
from support.desks import Place, delete, insert, modify, place
from support.every import every
from support.repositories import Made

pytestmark = pytest.mark.promise("W-05")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    found = place(tmp_path)
    found.branch()
    return found


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """With links and a submodule; for tests that leave it as it is."""
    here = place(tmp_path_factory.mktemp("crowded"))
    (here.folder / "outside").mkdir()
    os.symlink(here.folder / "outside", here.made.folder / "out")
    os.symlink("a.py", here.made.folder / "link")
    here.made.git("add", "-A")
    here.made.git("update-index", "--add", "--cacheinfo", f"160000,{here.made.git('rev-parse', 'HEAD')},sub")
    here.made.git("commit", "-qm", "links")
    here.branch()
    return here


def test_an_edit_is_one_change_in_the_worktree_and_shows_one_diff(here: Place) -> None:
    operations = [modify("a.py", "2\n"), insert("c/d.py", "new"), delete("b.py"), modify("src/run.sh", "echo\n")]
    shown = here.preview("code/edit", operations=operations)
    assert not here.tree().exists()
    assert shown == (
        f"On the branch fix at {here.writer().commit_of('HEAD')[:12]}:\n"
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n"
        "--- /dev/null\n+++ b/c/d.py\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
        "--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
        "--- a/src/run.sh\n+++ b/src/run.sh\n@@ -1 +1 @@\n-#!/bin/sh\n+echo"
    )
    found = here.edit(*operations)
    assert [tuple(one.values()) for one in found["files"]] == [
        ("a.py", "modified", 1, 1), ("c/d.py", "added", 1, 0), ("b.py", "deleted", 0, 1),
        ("src/run.sh", "modified", 1, 1),
    ]  # fmt: skip
    assert found["diff"] == shown.partition("\n")[2]
    tree = here.tree()
    assert (tree / "a.py").read_text() == "2\n"
    assert (tree / "c/d.py").read_text() == "new"
    assert not (tree / "b.py").exists()
    assert (tree / "src/run.sh").stat().st_mode & 0o111  # it stays a program
    assert here.record().dirty == ("a.py", "b.py", "c/d.py", "src/run.sh")
    assert Made(tree).git("status", "--porcelain") == " M a.py\n D b.py\n M src/run.sh\n?? c/"
    here.undo(found["change"])
    assert Made(tree).git("status", "--porcelain") == ""


@pytest.mark.promise("P-06")
def test_what_was_approved_is_written_onto_what_was_shown_or_not_at_all(here: Place) -> None:
    here.edit(modify("b.py", "x\n"))
    wanted = [modify("a.py", "new\n"), insert("c.py", "c\n")]
    told = here.state("code/edit", operations=wanted)
    target, commit = here.tree() / "a.py", here.made.git("commit-tree", "-m", "x", "HEAD^{tree}")
    spoilers: list[Callable[[], object]] = [
        lambda: target.write_text("by hand\n"),
        lambda: (target.write_text("1\n"), target.chmod(0o755)),
        lambda: target.unlink(),
        lambda: target.symlink_to("b.py"),
        lambda: (target.unlink(), target.write_text("1\n"), here.made.git("update-ref", "refs/heads/fix", commit)),
    ]
    said: list[str] = []
    for spoil in spoilers:
        spoil()
        with pytest.raises(ToolFailure) as refused:
            here.call("code/edit", operations=wanted, expected=told)
        said.append(refused.value.diff if isinstance(refused.value, Moved) else str(refused.value))
        assert not (here.tree() / "c.py").exists()
        assert (here.tree() / "b.py").read_text() == "x\n"
    assert said[0].endswith("-by hand\n+new\n--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+c")
    assert said[1].startswith("On the branch fix at ")
    assert "no such file on the branch: a.py" in said[2]
    assert "a.py is a link" in said[3]
    assert said[4].startswith(f"On the branch fix at {commit[:12]}")


@every(
    ("operation", "says"),
    [
        (modify("none.py", "x"), r"operations\[1\]\.path: no such file on the branch: none.py; type insert makes"),
        (insert("b.py", "x"), "b.py is there already; type modify changes it"),
        (delete("none.py"), "no such file on the branch: none.py"),
        ({"type": "modify", "path": "b.py"}, "b.py needs its new whole content"),
        ({"type": "delete", "path": "b.py", "content": "x"}, "is to be deleted and has a content"),
        ({"type": "delete", "path": "c.py"}, "no such file on the branch: c.py, so there is nothing to delete"),
        ({"type": "save", "path": "b.py", "content": "x"}, "type is modify, insert or delete"),
        (modify("a.py", "x"), "a.py is there twice"), (modify("./a.py", "x"), "a.py is there twice"),
        (insert("a.py/x", "x"), "lies below another file of the same call"),
        (insert("b.py/x", "x"), "b.py is a file: nothing can"), (insert("src", "x"), "src is a folder"),
        (insert("../x", "x"), "not a file path below the root"), (insert("/etc/x", "x"), "not a file path below"),
        (insert("", "x"), "not a file path"), (insert("a//x", "x"), "not a file path"),
        (insert("x\ny", "x"), "not a file name"), (insert("x\u202ey", "x"), "not a file name"),
        (insert(".git/hooks/x", "x"), "not a file name"), (insert("x/.GIT/y", "x"), "not a file name"),
        (insert("git~1/x", "x"), "not a file name"), (insert(".git\u200c/x", "x"), "not a file name"),
        (insert(".env", "x"), "neither read nor write"), (insert("deploy/id_rsa", "x"), "neither read nor write"),
        (insert(".github/workflows/x.yml", "x"), "is locked"), (insert("X/.GitAttributes", "x"), "is locked"),
        (insert("RightCall.toml", "x"), "is locked"),
        (insert("x/repo.git/config", "x"), "named as git's own"), (insert("x.", "x"), "ends with a blank or a dot"),
        (insert("x /y", "x"), "ends with a blank or a dot"), (insert("A.py", "x"), "a.py and A.py differ only in cap"),
        (insert("B.py", "x"), "path: B.py and b.py differ"), (insert("SRC/x", "x"), "path: SRC and src differ only"),
        (modify("link", "x"), "link is a link"), (insert("out/x", "x"), "out is a link"),
        (insert("sub/x", "x"), "sub is a submodule"), (modify("b.py", "\ud800"), "half a character"),
        (modify("b.py", "x" * 5_000_001), "at most 5,000,000 fit"),
    ],
)  # fmt: skip
def test_one_bad_operation_and_nothing_is_done(crowded: Place, operation: dict[str, str], says: str) -> None:
    here = crowded
    with pytest.raises(ToolFailure, match=says):
        here.edit(modify("a.py", "2\n"), operation)
    assert not list((here.folder / "outside").iterdir())
    assert here.record().dirty == ()
    assert not here.tree().exists()


def test_a_link_that_was_put_into_the_worktree_is_not_written_through(here: Place, tmp_path: Path) -> None:
    here.edit(modify("b.py", "x\n"))
    (tmp_path / "outside").mkdir()
    (here.tree() / "new").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolFailure, match="a folder of its path is a link"):
        here.edit(insert("new/x.py", "x\n"))
    assert not list((tmp_path / "outside").iterdir())


def test_no_repository_of_git_is_made_on_a_branch_whatever_is_committed_of_it(here: Place) -> None:
    whole = [insert(f"r/{name}", "x\n") for name in ("HEAD", "config", "objects/x", "refs/x")]
    with pytest.raises(ToolFailure, match="with this git would take r for a repository"):
        here.edit(*whole)
    here.edit(*whole[:3])
    with pytest.raises(ToolFailure, match="with this git would take r for a repository"):
        here.edit(whole[3])
    here.call("code/commit", message="part of it")
    here.edit(delete("r/HEAD"))  # its commit has it, and a commit of the rest alone would make it whole
    with pytest.raises(ToolFailure, match="with this git would take r for a repository"):
        here.edit(whole[3])
    here.call("code/commit", message="gone")
    here.edit(whole[3], insert("r/Head.md", "x\n"))


def test_a_name_in_other_letters_comes_after_the_one_it_replaces_is_gone(here: Place) -> None:
    with pytest.raises(ToolFailure, match=r"operations: c/a\.txt and c/A\.txt differ only in capitals or accents"):
        here.edit(insert("c/A.txt", "x"), insert("c/a.txt", "y"))
    here.edit(modify("a.py", "2\n"))
    with pytest.raises(ToolFailure, match=r"path: A\.py and a\.py differ only in capitals or accents"):
        here.edit(insert("A.py", "x"))
    here.edit(delete("a.py"))
    here.edit(insert("A.py", "x"))


def test_edits_of_different_files_can_be_taken_back_in_any_order(here: Place) -> None:
    one = here.edit(modify("a.py", "2\n"))
    two = here.edit(modify("b.py", "c\n"))
    here.undo(one["change"])
    assert here.record().dirty == ("b.py",)
    assert (here.tree() / "a.py").read_text() == "1\n"
    assert (here.tree() / "b.py").read_text() == "c\n"
    here.undo(two["change"])
    assert here.record().dirty == ()


def test_nothing_to_change_is_said_to_be_nothing(here: Place) -> None:
    with pytest.raises(ToolFailure, match="the files are so already"):
        here.edit(modify("a.py", "1\n"))
    found = here.edit(modify("a.py", "1\n"), modify("b.py", "x\n"))
    assert [one["status"] for one in found["files"]] == ["unchanged", "modified"]
    assert here.record().dirty == ("b.py",)


@pytest.mark.promise("W-01")
def test_a_test_is_a_new_file_that_matches_what_tests_are(here: Place) -> None:
    found = here.call("code/create-test", path="tests/test_a.py", content="def test(): ...\n")
    assert found["files"][0]["status"] == "added"
    with pytest.raises(ToolFailure, match=r"path: tests/test_a\.py is there already; code/edit changes it"):
        here.call("code/create-test", path="tests/test_a.py", content="", expected="")
    with pytest.raises(
        ToolFailure, match=r"path: src/a.py is not a test file\. .* and 7 more; code/edit changes other files"
    ):
        here.call("code/create-test", path="src/a.py", content="", expected="")
    with pytest.raises(ToolFailure, match="not a file path"):
        here.call("code/create-test", path="tests/../src/a.py", content="", expected="")


def test_a_protected_branch_is_not_edited_even_if_it_was_made_before(tmp_path: Path) -> None:
    place(tmp_path).branch("later")
    here = Place(tmp_path, Made(tmp_path / "root"), WriteSettings(protected=("later",)))
    with pytest.raises(ToolFailure, match="later is protected"):
        here.edit(modify("a.py", "2\n"), expected="")


def test_a_file_is_saved_on_a_branch_whether_it_is_there_or_not(here: Place) -> None:
    for path in ("a.py", "notes/new.md"):
        saving = edit_on_branch(here.desk, "file/save", "ada", "fix", [Operation("save", path, "saved\n")], "path")
        saving.apply(saving.plan().state())
        assert (here.tree() / path).read_text() == "saved\n"
    assert here.record().dirty == ("a.py", "notes/new.md")


def test_the_first_edit_on_a_branch_may_be_beside_any_other_file(tmp_path: Path) -> None:
    """Before there is a worktree, what lies where is read from the commit."""
    here = place(tmp_path)
    deep = here.made.folder / "src" / "deep"
    deep.mkdir(parents=True)
    for name in ("a.py", "b.py", "deep/c.py", "deep/d.py"):
        (here.made.folder / "src" / name).write_text("1\n")
    os.symlink("a.py", here.made.folder / "src" / "link.py")
    here.made.git("add", "-A")
    here.made.git("commit", "-qm", "more")
    here.branch()
    with pytest.raises(ToolFailure, match=r"src/a\.py is a file: nothing can lie below it"):
        here.preview("code/edit", operations=[insert("src/a.py/x", "new")])
    with pytest.raises(ToolFailure, match=r"src/deep is a folder"):
        here.preview("code/edit", operations=[insert("src/deep", "new")])
    with pytest.raises(ToolFailure, match=r"src/link\.py is a link"):
        here.preview("code/edit", operations=[modify("src/link.py", "new")])
    assert not here.tree().exists()
    here.edit(modify("src/deep/d.py", "2\n"), insert("src/new.py", "3\n"), modify("src/b.py", "4\n"))
    here.edit(modify("src/deep/c.py", "5\n"))


@pytest.mark.promise("P-06")
def test_nothing_is_shown_of_another_state_than_the_one_that_is_judged(here: Place) -> None:
    """However quickly it changes back."""
    with pytest.raises(Moved, match="have changed since they were checked"):
        here.preview("code/edit", operations=[modify("a.py", "2\n")], expected="another")
    here.edit(modify("a.py", "2\n"))
    with pytest.raises(Moved, match="have changed since they were checked"):
        here.preview("code/commit", message="m", expected="another")
    with pytest.raises(Moved, match="have changed since they were checked"):
        here.preview("code/create-branch", name="other", expected="another")


@pytest.mark.promise("P-06")
def test_text_that_takes_the_place_of_a_binary_file_is_shown_before_it_is_committed(tmp_path: Path) -> None:
    here = place(tmp_path)
    (here.made.folder / "tool").write_bytes(bytes(range(256)) * 20)
    here.made.git("add", "-A")
    here.made.git("commit", "-qm", "a program")
    here.branch()
    here.edit(modify("tool", "#!/bin/sh\nevil\n"))
    assert "+evil" in here.preview("code/commit", message="m").splitlines()
