"""What was written can be taken back, while nothing newer depends on it."""

import os
from pathlib import Path
from shutil import rmtree

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.diff import shown_line
from rightcall.tools.write.apply import preview, why_not
from rightcall.tools.write.changes import Change, FileStep
from rightcall.tools.write.commit import OpenArguments, open_pull
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.merge import MergeArguments, merge
from rightcall.tools.write.review import ReviewArguments, review
from support.desks import SETTINGS, Checks, insert, modify, place
from support.killing_writes import desk_of, files_of

pytestmark = pytest.mark.promise("W-05")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("b\n")
    return desk_of(tmp_path)


def change(desk: Desk, *files: tuple[str, bytes | None, bytes | None], summary: str = "change") -> Change:
    steps = [FileStep(desk.sight.root, *one) for one in files]
    with desk.working() as worker:
        return worker.apply(tool="file/save", caller="ada", summary=summary, files=steps)


def undo(desk: Desk, id: str) -> Change:
    with desk.working() as worker:
        return worker.undo(id, by="anna")


def refusal(desk: Desk, id: str) -> str:
    with pytest.raises(ToolFailure) as caught:
        undo(desk, id)
    why = why_not(desk, desk.filed(id))
    assert str(caught.value) == f"{id} cannot be undone: {shown_line(why)}"
    return why


def test_an_undo_puts_back_files_their_permissions_and_the_folders(desk: Desk, tmp_path: Path) -> None:
    os.chmod(tmp_path / "b.txt", 0o640)
    done = change(desk, ("a.txt", b"one\n", b"two\n"), ("new/er/c.txt", None, b"c"), ("b.txt", b"b\n", None))
    assert preview(desk, desk.filed(done.id)) == (
        "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n"
        "--- a/new/er/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n\\ No newline at end of file\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one"
    )
    back = undo(desk, done.id)
    assert files_of(tmp_path) == {"a.txt": b"one\n", "b.txt": b"b\n"}
    assert not (tmp_path / "new").exists()
    assert os.stat(tmp_path / "b.txt").st_mode & 0o777 == 0o640
    assert (back.undoes, back.caller, back.summary) == (done.id, "anna", f"undo {done.id}: change")
    assert [(one.id, one.status, one.undone) for one in desk.changes()] == [
        (back.id, "done", ""), (done.id, "undone", back.id)
    ]  # fmt: skip


def test_an_undo_can_be_undone_and_so_on(desk: Desk, tmp_path: Path) -> None:
    first = change(desk, ("a.txt", b"one\n", b"two\n"), ("x/c.txt", None, b"c"))
    back = undo(desk, first.id)
    assert refusal(desk, first.id) == f"it was undone already, by {back.id}"
    again = undo(desk, back.id)
    assert files_of(tmp_path) == {"a.txt": b"two\n", "b.txt": b"b\n", "x/c.txt": b"c"}
    assert [one.status for one in desk.changes()] == ["done", "undone", "done"]
    assert refusal(desk, back.id) == f"it was undone already, by {again.id}"
    last = undo(desk, first.id)  # it holds again, so it can be taken back again
    assert files_of(tmp_path) == {"a.txt": b"one\n", "b.txt": b"b\n"}
    assert desk.change(first.id).undone == last.id
    assert not (tmp_path / "x").exists()


def test_a_later_change_of_the_same_file_is_named_and_once_it_is_undone_the_first_can_be(desk: Desk) -> None:
    first = change(desk, ("a.txt", b"one\n", b"two\n"))
    other = change(desk, ("b.txt", b"b\n", b"bb\n"))
    second = change(desk, ("a.txt", b"two\n", b"three\n"), summary="save\x1b[2J a.txt")
    assert refusal(desk, first.id) == f"{second.id} has changed a.txt since (ada: save\x1b[2J a.txt)"
    undo(desk, other.id)
    undo(desk, second.id)
    undo(desk, first.id)
    assert Path(desk.sight.root, "a.txt").read_text() == "one\n"


def test_what_was_changed_or_removed_by_hand_is_said(desk: Desk, tmp_path: Path) -> None:
    done = change(desk, ("a.txt", b"one\n", b"two\n"), ("b.txt", b"b\n", None))
    (tmp_path / "a.txt").write_text("mine\n")
    (tmp_path / "b.txt").write_text("mine\n")
    assert refusal(desk, done.id) == "a.txt was changed by hand since; b.txt was changed by hand since"
    assert files_of(tmp_path) == {"a.txt": b"mine\n", "b.txt": b"mine\n"}
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").symlink_to("b.txt")
    assert refusal(desk, done.id) == "a.txt is a link; only regular files are written"


def test_an_id_that_nobody_has_is_said_to_be_none(desk: Desk) -> None:
    change(desk, ("a.txt", b"one\n", b"two\n"))
    with pytest.raises(ToolFailure, match="Unknown change c-00000000; `rightcall undo` lists the last ones"):
        undo(desk, "c-00000000")


def test_contents_that_were_damaged_are_not_put_back(desk: Desk, tmp_path: Path) -> None:
    done = change(desk, ("a.txt", b"one\n", b"two\n"))
    contents = Path(desk.filed(done.id).folder, "contents")
    contents.write_bytes(contents.read_bytes().replace(b"one", b"bad"))
    with pytest.raises(ToolFailure, match="What was kept of a change is damaged"):
        undo(desk, done.id)
    assert (tmp_path / "a.txt").read_text() == "two\n"


def test_records_at_the_desk_go_back_with_the_change(desk: Desk) -> None:
    with desk.working() as worker:
        first = worker.apply(tool="t", caller="ada", summary="s", files=[desk.document_step("pulls", "7", b"open")])
    with desk.working() as worker:
        second = worker.apply(tool="t", caller="ada", summary="s", files=[desk.document_step("pulls", "7", b"merged")])
    assert refusal(desk, first.id) == f"{second.id} has changed pull request 7 since (ada: s)"
    undo(desk, second.id)
    assert desk.document("pulls", "7") == b"open"
    undo(desk, first.id)
    assert desk.document("pulls", "7") is None


def test_a_commit_stays_while_a_merge_rests_on_it_and_what_a_merge_has_tidied_away_is_said(tmp_path: Path) -> None:
    here = place(tmp_path, SETTINGS)
    here.branch()
    edit = here.edit(modify("a.py", "2\n"), insert("c.py", "c\n"))["change"]
    commit = here.call("code/commit", message="Do it")["change"]
    open_pull(here.desk, OpenArguments(title="Do it", caller="ada"))
    review(here.desk, ReviewArguments(id=1, decision="approve", caller="bob"))
    merged = merge(here.desk, MergeArguments(id=1, caller="ada"), Checks().checker()).change
    assert refusal(here.desk, commit) == f"pull request 1 has merged it into main: undo {merged} first"
    why = refusal(here.desk, edit)
    assert why.count("the worktree of the branch fix was tidied away when it was merged") == 1
    assert "by hand" not in why
    here.undo(merged)
    here.undo(commit)
    assert why_not(here.desk, here.desk.filed(edit)) == ""
    here.undo(edit)
    assert (here.tree() / "a.py").read_text() == "1\n"


def test_files_of_a_worktree_that_is_gone_were_not_changed_by_hand(tmp_path: Path) -> None:
    here = place(tmp_path)
    here.branch()
    edit = here.edit(modify("a.py", "2\n"))["change"]
    rmtree(here.tree())
    assert refusal(here.desk, edit) == "the worktree of the branch fix is gone"
