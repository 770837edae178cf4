"""Branches of tools: whose they are, where they begin, and that nobody else's is touched."""

from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.policy.settings import WriteSettings
from rightcall.tools.write.branches import all_branches, branch_for
from rightcall.tools.write.changes import Moved
from support.desks import Place, delete, insert, modify, place

pytestmark = pytest.mark.promise("W-01")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return place(tmp_path)


def test_a_branch_begins_at_what_is_checked_out_and_makes_no_files(here: Place) -> None:
    commit = here.made.git("rev-parse", "HEAD")
    shown = here.preview("code/create-branch", name="fix/login")
    assert shown.split("\n")[:2] == [
        "Would create the branch fix/login",
        f"  from the branch main, at {commit[:12]} first",
    ]
    assert not Path(here.desk.folder).exists()  # a look makes nothing
    found = here.branch("fix/login")
    assert found["base"] == "main"
    assert found["commit"] == here.made.git("rev-parse", "fix/login") == commit
    assert found["undo"] == f"rightcall undo {found['change']}"
    assert not Path(found["worktree"]).exists()
    assert here.record("fix/login").owner == "ada"


def test_a_branch_can_begin_elsewhere(here: Place) -> None:
    first = here.made.git("rev-parse", "HEAD")
    here.made.commit("second", a__py="2\n")
    here.made.git("branch", "old", first)
    assert here.branch("one", base="old")["base"] == "old"
    assert here.branch("two", base="HEAD~1")["commit"] == first
    assert here.record("two").base == ""
    here.made.git("checkout", "-q", "--detach")
    assert here.branch("three")["base"] == ""
    with pytest.raises(ToolFailure, match="No such commit: --all"):
        here.branch("four", base="--all")


def test_an_approval_is_bound_to_the_commit_where_the_branch_begins(here: Place) -> None:
    told = here.state("code/create-branch", name="fix")
    assert told == here.state("code/create-branch", name="fix")
    moved = here.made.commit("second", a__py="2\n")
    with pytest.raises(Moved, match=f"at {moved[:12]} second"):
        here.call("code/create-branch", name="fix", expected=told)
    assert here.writer().tip("fix") is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("main", "there is a branch|is protected"), ("Release/9", "is protected"), ("locked", "is frozen"),
        ("side", "there is a branch side already"), ("side/x", "cannot be made beside the branch side"),
        ("--force", "not a valid branch name"), ("a..b", "git does not allow"), ("refs/tags/x", "taken for"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_is_refused_and_nothing_is_made(tmp_path: Path, name: str, says: str) -> None:
    here = place(tmp_path, WriteSettings(frozen=("locked",)))
    here.made.git("branch", "side")
    before = here.made.git("for-each-ref")
    with pytest.raises(ToolFailure, match=says):
        here.call("code/create-branch", name=name, expected="")
    assert here.made.git("for-each-ref") == before


@pytest.mark.promise("W-02")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("team/main", "git knows refs/remotes/team/main"), ("team", "refs/remotes/team/HEAD"), ("team/new", "a remote"),
        ("Tеam/new", "looks like, the name of a remote"), ("set-up/x", "a remote"), ("origin/x", "a remote"),
        ("v1", "git knows refs/tags/v1"), ("stash", "git knows refs/stash"), ("mаin", "looks like main"),
    ],
)  # fmt: skip
def test_a_name_that_git_or_a_person_takes_for_something_else_is_refused(tmp_path: Path, name: str, says: str) -> None:
    here = place(tmp_path)
    for ref in ("refs/tags/v1", "refs/stash", "refs/remotes/team/main", "refs/remotes/team/HEAD"):
        here.made.git("update-ref", ref, "main")
    here.made.git("config", "remote.set-up.url", "x")
    with pytest.raises(ToolFailure, match=f"^name: .*{says}"):
        here.call("code/create-branch", name=name, expected="")


@pytest.mark.promise("W-02")
def test_a_branch_whose_name_is_taken_for_a_commit_or_has_got_another_meaning_goes_no_further(here: Place) -> None:
    number = here.made.git("rev-parse", "HEAD")[:6]
    with pytest.raises(ToolFailure, match="has a number that begins so"):
        here.call("code/create-branch", name=number, expected="")
    here.branch()
    here.edit(modify("a.py", "2\n"))
    here.made.git("tag", "fix")
    with pytest.raises(ToolFailure, match=r"branch: fix would be taken .* refs/tags/fix"):
        here.call("code/commit", message="m", expected="")


def test_without_a_name_the_only_open_branch_is_meant(here: Place) -> None:
    with pytest.raises(ToolFailure, match="You have no open branch: make one with code/create-branch"):
        branch_for(here.desk, "ada", None)
    here.branch("one")
    assert branch_for(here.desk, "ada", None).name == "one"
    here.branch("two")
    with pytest.raises(ToolFailure, match=r"say which with `branch`\. Yours: one, two"):
        branch_for(here.desk, "ada", " ")
    assert branch_for(here.desk, "ada", "refs/heads/two").name == "two"
    here.made.git("update-ref", "-d", "refs/heads/two")
    assert branch_for(here.desk, "ada", None).name == "one"
    with pytest.raises(ToolFailure, match="two is gone from the repository"):
        branch_for(here.desk, "ada", "two")
    assert [record.name for record in all_branches(here.desk)] == ["one", "two"]


def test_a_branch_of_somebody_else_is_left_alone(here: Place) -> None:
    here.branch("hers")
    for branch, says in (
        ("hers", "hers is ada's: nobody else works on it"),
        ("main", "not a branch made by a tool"),
    ):
        for tool, arguments in (
            ("code/edit", {"operations": [modify("a.py", "x")]}),
            ("code/create-test", {"path": "tests/test_x.py", "content": "x"}),
            ("code/commit", {"message": "x"}),
        ):
            with pytest.raises(ToolFailure, match=says):
                here.call(tool, "bob", expected="", branch=branch, **arguments)


def test_a_branch_that_was_undone_can_be_made_again(here: Place) -> None:
    first = here.branch()
    here.undo(first["change"])
    assert here.writer().tip("fix") is None
    here.made.git("pack-refs", "--all")
    second = here.branch(caller="bob")
    here.made.git("pack-refs", "--all")
    here.undo(second["change"])
    assert all_branches(here.desk) == []
    assert here.made.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_branch_that_has_been_worked_on_is_not_undone(here: Place) -> None:
    made = here.branch()
    edited = here.edit(modify("a.py", "2\n"), insert("c.py", "c\n"), delete("b.py"))
    with pytest.raises(ToolFailure, match=edited["change"]):
        here.undo(made["change"])
    here.undo(edited["change"])
    assert here.record().dirty == ()
    here.undo(made["change"])
    assert not Path(made["worktree"]).exists()
    assert here.made.git("worktree", "list", "--porcelain").count("worktree ") == 1
