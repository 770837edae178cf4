"""Commits on a branch of its own: what tools changed, what was shown, and nothing of a person's checkout."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import rightcall.base.files.write as writing
from rightcall.base.text import leaves_out
from rightcall.errors import ToolFailure
from rightcall.policy.settings import WriteSettings
from rightcall.tools.write.changes import Moved
from rightcall.tools.write.commit import cleaned_message
from support.desks import Place, delete, everything, insert, modify, place
from support.every import every
from support.repositories import Made

pytestmark = pytest.mark.promise("W-02")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    found = place(tmp_path)
    found.branch()
    return found


def commit(here: Place, message: str = "Do it", **more: Any) -> dict[str, Any]:
    return here.call("code/commit", message=message, **more)


def test_a_commit_holds_what_tools_changed_and_leaves_a_clean_worktree(here: Place) -> None:
    here.edit(modify("a.py", "2\n3\n"), delete("b.py"))
    here.call("code/create-test", path="tests/test_a.py", content="x\n")
    (here.tree() / "by-hand.txt").write_text("a person's own\n")
    shown = here.preview("code/commit", message="Do it\n\nfor a reason")
    head, _, diff = shown.partition("diff --git a/a.py b/a.py")
    tip = here.writer().commit_of("HEAD")
    assert head == (
        f"Would commit to fix on top of {tip[:12]}\nAuthor: ada <ada@rightcall.invalid>\n\n"
        "    Do it\n    \n    for a reason\n\n"
    )
    found = commit(here, "\n Do it  \n\nfor a reason\n\n")
    assert (found["filesChanged"], found["insertions"], found["deletions"]) == (3, 3, 2)
    assert here.made.git("rev-parse", "fix", "fix^").split() == [found["commit"], tip]
    assert str(found["commit"]).startswith(str(found["shortHash"]))
    assert here.made.git("log", "-1", "--format=%an%n%B", "fix") == "ada\n Do it\n\nfor a reason"
    patch = here.made.git("show", "--format=", "--full-index", "fix").partition("diff --git a/a.py b/a.py")[2]
    assert patch == diff
    assert Made(here.tree()).git("status", "--porcelain") == "?? by-hand.txt"
    assert here.record().dirty == ()
    with pytest.raises(ToolFailure, match="There is nothing to commit on fix: code/edit"):
        commit(here)


@pytest.mark.promise("P-06")
def test_a_preview_that_cannot_be_whole_says_so_first_and_names_every_file(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("edit", "pulls"):
        monkeypatch.setattr(f"rightcall.tools.write.{module}.MOST_SHOWN", 3_000)
    here.edit(insert("x.js", "/*\0*/ evil()\n"))
    assert "\n+/*\0*/ evil()" in here.preview("code/commit", message="m")
    large = [insert("data.json", "1,\n" * 2_000), insert("z.py", "evil()\n")]
    shown = here.preview("code/edit", operations=large)
    assert leaves_out(shown)
    assert "\n  added data.json  +2000 -0\n  added z.py  +1 -0\n" in shown
    here.edit(*large)
    shown = here.preview("code/commit", message="m")
    said = "the diff has more than 3,000 bytes, and only these are below. Commit fewer files at a time (paths)"
    assert shown.split("\n")[:6] == [
        f"NOT EVERYTHING IS SHOWN: {said}",
        "Every file that changes, with its lines:",
        "  A data.json  +2,000 -0",
        "  A x.js  +1 -0",
        "  A z.py  +1 -0",
        "",
    ]
    assert not leaves_out(here.preview("code/commit", message="m", paths=["x.js", "z.py"]))


def test_only_the_named_files_are_committed(here: Place) -> None:
    here.edit(modify("a.py", "2\n"), modify("b.py", "c\n"))
    with pytest.raises(ToolFailure, match=r"paths: no tool has changed c\.py since .*\. Those that are: a"):
        commit(here, paths=["a.py", "c.py"])
    found = commit(here, paths=["./a.py", str(here.made.folder / "a.py")])
    assert found["filesChanged"] == 1
    assert here.record().dirty == ("b.py",)
    assert Made(here.tree()).git("status", "--porcelain") == " M b.py"


def test_undoing_a_commit_leaves_the_files_as_they_are_and_not_committed(here: Place) -> None:
    here.edit(modify("a.py", "2\n"), insert("c.py", "c\n"))
    first = commit(here)
    here.edit(modify("a.py", "3\n"))
    second = commit(here, "More")
    with pytest.raises(ToolFailure, match=str(second["change"])):
        here.undo(str(first["change"]))
    here.undo(str(second["change"]))
    assert here.made.git("log", "-1", "--format=%s", "fix") == "Do it"
    assert here.record().dirty == ("a.py",)
    assert Made(here.tree()).git("status", "--porcelain") == " M a.py"
    assert commit(here, "Again")["filesChanged"] == 1


def test_what_a_person_has_staged_in_the_worktree_stays_staged(here: Place) -> None:
    here.edit(modify("a.py", "2\n"))
    tree = Made(here.tree())
    tree.write("staged.txt", "by a person\n")
    tree.git("add", "staged.txt")
    commit(here)
    assert tree.git("status", "--porcelain") == "A  staged.txt"
    tree.git("commit", "-qm", "by a person")
    here.edit(modify("b.py", "x\n"))
    commit(here)
    assert here.made.git("log", "--format=%s", "fix") == "Do it\nby a person\nDo it\nfirst"
    assert tree.git("status", "--porcelain") == ""


@pytest.mark.promise("P-06")
def test_a_commit_is_of_what_was_shown_or_not_at_all(here: Place) -> None:
    here.edit(modify("a.py", "2\n"))
    told = here.state("code/commit", message="x")
    before, target = here.made.git("rev-parse", "fix"), here.tree() / "a.py"
    target.write_text("sneaked in\n")
    with pytest.raises(Moved) as moved:
        here.call("code/commit", message="x", expected=told)
    assert moved.value.diff.endswith("-1\n+sneaked in")
    target.unlink()
    target.symlink_to("/etc/passwd")
    with pytest.raises(ToolFailure, match=r"a\.py is a link"):
        here.call("code/commit", message="x", expected=told)
    target.unlink()
    target.write_text("2\n")
    assert here.made.git("rev-parse", "fix") == before
    other = here.made.git("commit-tree", "-m", "x", "HEAD^{tree}")
    here.made.git("update-ref", "refs/heads/fix", other)
    with pytest.raises(Moved, match=f"on top of {other[:12]}"):
        here.call("code/commit", message="x", expected=told)


@every(
    ("message", "says"),
    [("", "it is empty"), (" \n\0\n", "it is empty"), ("x" * 20_001, "at most 20,000"), ("\ud800", "half a character")],
)
def test_a_message_that_says_nothing_or_cannot_be_kept_is_refused(message: str, says: str) -> None:
    with pytest.raises(ToolFailure, match=f"message: .*{says}"):
        cleaned_message(message)


def test_a_message_is_kept_as_it_was_written(here: Place) -> None:
    here.edit(modify("a.py", "2\n"))
    commit(here, "# no comment\ntree 0000\n\n-- \nSigned-off-by: x\x1b[31m")
    assert here.made.git("log", "-1", "--format=%B", "fix") == "# no comment\ntree 0000\n\n--\nSigned-off-by: x\x1b[31m"


def test_a_branch_that_became_protected_or_is_checked_out_by_a_person_is_left_alone(here: Place) -> None:
    here.edit(modify("a.py", "2\n"))
    strict = Place(here.folder, here.made, WriteSettings(protected=("FIX",)))
    with pytest.raises(ToolFailure, match="fix is protected"):
        strict.call("code/commit", message="x", expected="")
    Made(here.tree()).git("checkout", "-q", "--detach")
    with pytest.raises(ToolFailure, match="A person has something else checked out in the worktree of fix"):
        commit(here)
    here.made.git("checkout", "-q", "fix")
    with pytest.raises(ToolFailure, match="The branch fix is checked out by a person"):
        commit(here)
    here.made.git("checkout", "-q", "main")
    Made(here.tree()).git("checkout", "-q", "fix")
    assert commit(here)["filesChanged"] == 1


@pytest.mark.promise("W-05")
def test_a_commit_that_is_killed_is_there_or_not(here: Place) -> None:
    here.edit(modify("a.py", "2\n"), delete("b.py"))
    tip, tree = here.made.git("rev-parse", "fix"), Made(here.tree())
    for step in ("objects", "in place", "refs"):
        killed_at(here, step)
        with here.desk.working():
            assert here.made.git("rev-parse", "fix") == tip, step
            assert here.record().dirty == ("a.py", "b.py"), step
    killed_at(here, "committed")
    assert here.made.git("rev-parse", "fix^") == tip
    assert here.record().dirty == ()
    here.edit(modify("a.py", "3\n"))
    assert tree.git("status", "--porcelain") == " M a.py"
    assert commit(here)["filesChanged"] == 1


def killed_at(here: Place, step: str) -> None:
    """Commit, in a process that kills itself when it comes to a step."""
    process = os.fork()
    if process == 0:
        try:
            writing.hook = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == step else None
            commit(here)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL, step


@pytest.mark.promise("W-05")
def test_the_checkout_of_a_person_stays_as_it_is_byte_for_byte(tmp_path: Path) -> None:
    here = place(tmp_path, __gitattributes="*.py text eol=crlf\n")
    made = here.made
    made.write("a.py", "stashed\n")
    made.git("stash", "-q")
    made.write("b.py", "staged\n")
    made.git("add", "b.py")
    made.write("a.py", "changed and not staged\n")
    made.write("untracked.txt", "u\n")
    os.utime(made.folder / "a.py", ns=(1, 1))
    allowed = (".git/objects", ".git/worktrees", ".git/refs/heads")
    before = everything(made.folder, without=allowed)
    status = made.git("--no-optional-locks", "status", "--porcelain=v2", "--branch", "--show-stash")
    here.branch()
    here.edit(modify("a.py", "2\n"), insert("new.py", "n\n"), delete("b.py"))
    done = commit(here)
    here.edit(modify("new.py", "m\n"))
    commit(here, "more", paths=["new.py"])
    here.branch("other")
    here.undo(here.edit(modify("a.py", "3\n"), branch="other")["change"])
    here.preview("code/edit", operations=[modify("a.py", "4\n")], branch="fix")
    assert done["filesChanged"] == 3
    after = everything(made.folder, without=allowed)
    assert {name: looks for name, looks in after.items() if before.get(name) != looks} in ({}, {".git": after[".git"]})
    assert before.keys() == after.keys()
    assert made.git("--no-optional-locks", "status", "--porcelain=v2", "--branch", "--show-stash") == status
    assert sorted(os.listdir(made.git_dir / "refs/heads")) == ["fix", "main", "other"]
