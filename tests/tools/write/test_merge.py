"""A merge: approved by others, checked, and then all at once; a failure changes nothing and says why."""

import os
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.policy.settings import Check
from rightcall.tools.write.branches import branch_record
from rightcall.tools.write.changes import Moved
from rightcall.tools.write.checkout import checkout_steps
from rightcall.tools.write.merge import MergeArguments, approved_plan, merge_plan
from support.desks import Checks, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.approved()
    return made


def unmerged(project: Project, before: str, status: str = "") -> None:
    """Nothing of a merge was done: the branch, the files and what git says of them are as before."""
    assert project.tip() == before
    assert project.status() == status
    assert (project.root / "app.py").read_text() == "print('one')\n"
    assert project.record().status == "open"
    assert os.listdir(os.path.join(project.desk.folder, "begun")) == []


@pytest.mark.promise("W-04", "W-02")
def test_an_approved_and_checked_request_is_merged_into_branch_checkout_and_record(project: Project) -> None:
    before, head, checks = project.tip(), project.tip("fix"), Checks()
    told = project.merge(checks)
    assert project.tip() == told.commit
    assert project.git("log", "-1", "--format=%P%n%an%n%B").split("\n")[:3] == [
        f"{before} {head}", "teacher", "Merge pull request #1 from fix",
    ]  # fmt: skip
    assert "Reviewed-by: helper <helper@rightcall.invalid>" in project.git("log", "-1", "--format=%B")
    assert (project.root / "app.py").read_text() == "print('two')\n"
    assert project.status() == ""
    assert (told.approved_by, told.checks, told.checkout, told.status) == (("helper",), "passed", True, "merged")
    record = project.record()
    assert (record.status, record.merge, record.before, record.head) == ("merged", told.commit, before, head)
    assert (record.checks[-1].ok, record.discussion[-1].kind) == (True, "merge")
    branch = branch_record(project.desk, "fix")
    assert branch is not None
    assert branch.merged == told.commit
    assert checks.seen == [{"app.py": b"print('two')\n", "notes.txt": b"a\nb\nc\n", "lib/util.py": b"X = 1\n"}]
    assert os.listdir(os.path.join(project.desk.folder, "checks")) == []


@pytest.mark.promise("W-04")
def test_red_checks_change_nothing_and_the_record_tells_the_author_why(project: Project) -> None:
    before = project.tip()
    with pytest.raises(ToolFailure, match=r"exit status 3.*Nothing was merged") as raised:
        project.merge(Checks(3, b"x" * 100_000 + b"\n1 failed: \x1b[31mlogin\n"), caller="helper")
    assert "1 failed: \\u001b[31mlogin" in str(raised.value)
    assert "\x1b" not in str(raised.value)
    unmerged(project, before)
    record = project.record()
    assert (record.checks[-1].ok, record.checks[-1].exit, len(record.checks[-1].tail) < 9_000) == (False, 3, True)
    assert record.discussion[-1].kind == "check"
    assert "exit status 3" in record.discussion[-1].text
    assert project.merge(Checks(0)).status == "merged"  # the approval still holds: nothing of the branch has changed


@pytest.mark.promise("W-04", "W-05")
def test_a_merge_can_be_undone_whole_also_after_git_has_written_its_index_again(project: Project) -> None:
    before = project.tip()
    told = project.merge()
    project.write({"other.txt": "mine"})
    project.git("add", "other.txt")
    with project.desk.working() as worker:
        worker.undo(told.change, by="Joel")
    assert "other.txt" in project.status()
    unmerged(project, before, project.status())
    assert "app.py" not in project.status()
    assert project.merge().status == "merged"


@pytest.mark.promise("W-03", "W-04")
def test_what_may_not_be_merged_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    project, checks = Project(tmp_path), Checks()
    project.branch()
    project.open()
    before = project.tip()

    def refused(match: str, **settings: Any) -> None:
        usual = {name: getattr(project.desk.settings, name) for name in settings}
        project.with_settings(**settings)
        with pytest.raises(ToolFailure, match=match):
            project.merge(checks)
        project.with_settings(**usual)

    refused(r"needs 1 approval\(s\) by others and has 0")
    project.review("reject", "no")
    refused("has rejected")
    project.review()
    refused("frozen", frozen=("m*",))
    refused("needs 2 approval", reviews=2)
    refused(r"No check command is set.*\[write\.check\]", check=type(project.desk.settings.check)())
    refused("no tool may change.*app.py", locked=("*.py",))
    project.commit({"app.py": "print('other')\n"}, "main", "Person")
    project.git("reset", "-q", "--hard")
    refused("both changed the same lines of app.py")
    project.git("update-ref", "refs/heads/main", before)
    project.git("reset", "-q", "--hard")
    project.git("update-ref", "-d", "refs/heads/fix")
    refused("no such branch: fix")
    assert checks.jobs == []


@pytest.mark.promise("W-04", "P-06")
def test_two_branches_do_not_make_a_repository_of_git_together(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.git("checkout", "-q", "--detach")
    project.branch(files={"r/HEAD": "ref: refs/heads/x\n", "r/objects/x": "x"})
    project.commit({"r/refs/x": "x"}, "main", "Person")
    project.open()
    project.review()
    with pytest.raises(ToolFailure, match="with this git would take r for a repository"):
        project.merge()


@pytest.mark.promise("W-02")
def test_a_base_that_moves_during_the_checks_makes_them_run_again_once(project: Project) -> None:
    moves = iter(("one", "two", "three"))

    def move() -> None:
        project.commit({"lib/more.py": next(moves)}, "main", "Person")
        project.git("reset", "-q", "--hard")

    once = Checks(meanwhile=lambda: move() if len(once.jobs) == 1 else None)
    told = project.merge(once)
    assert [seen.get("lib/more.py") for seen in once.seen] == [None, b"one"]
    assert project.git("show", f"{told.commit}:lib/more.py") == "one"

    project.branch("again", files={"notes.txt": "again\n"})
    project.open(branch="again")
    project.review(id="2")
    always = Checks(meanwhile=move)
    with pytest.raises(ToolFailure, match="moved again while the checks ran"):
        project.merge(always, id="2")
    assert len(always.jobs) == 2
    assert project.record("2").status == "open"


@pytest.mark.promise("P-06", "W-05")
def test_what_is_merged_is_what_was_approved(project: Project) -> None:
    asked = MergeArguments(id="1", caller="teacher")
    state = merge_plan(project.desk, asked.id).state()
    shown = merge_plan(project.desk, asked.id).shown()
    for part in ("fix into main", "approved by: helper", "python3 check.py", "+print('two')"):
        assert part in shown
    project.commit({"app.py": "# new\nprint('one')\n"}, "main", "Person")
    project.git("reset", "-q", "--hard")
    checks = Checks()
    with pytest.raises(ToolFailure, match=r"same lines|would not merge what was looked at"):
        project.merge(checks, expected=state)
    assert checks.jobs == []


@pytest.mark.promise("P-06", "W-04")
def test_an_approval_of_a_merge_is_void_once_anything_that_was_shown_with_it_changes(project: Project) -> None:
    asked, checks = MergeArguments(id="1", caller="teacher"), Checks()
    state = merge_plan(project.desk, asked.id).state()
    usual = project.desk.settings.check
    project.with_settings(check=Check(command=("true",)))
    with pytest.raises(Moved, match="the check command has changed since"):
        project.merge(checks, expected=state)
    project.with_settings(check=usual)
    for word in ("comment", "approve"):
        project.review(word, "wait for me", caller="third")
        with pytest.raises(Moved, match="what was said about it"):
            project.merge(checks, expected=state)
        state = merge_plan(project.desk, asked.id).state()
    written = Path(project.desk.folder, "pulls/1.json")
    for old, new in (('"Say two"', '"Say three"'), ('"author":"teacher"', '"author":"somebody"')):
        written.write_text(written.read_text().replace(old, new))
        with pytest.raises(Moved):
            project.merge(checks, expected=state)
        state = merge_plan(project.desk, asked.id).state()
    assert checks.jobs == []
    assert project.merge(checks, expected=state).status == "merged"


@pytest.mark.promise("P-06", "W-04")
def test_a_word_during_the_checks_stops_the_merge_and_the_next_one_goes_on(project: Project) -> None:
    before = project.tip()
    with pytest.raises(Moved, match="Something was said about pull request 1 while the checks ran"):
        project.merge(Checks(meanwhile=lambda: project.review("comment", "wait", caller="third")))
    unmerged(project, before)
    assert project.merge().status == "merged"


@pytest.mark.promise("P-06", "W-03")
def test_what_a_person_approves_and_merges_at_once_is_what_was_shown(project: Project) -> None:
    shown = merge_plan(project.desk, "1", approving="Joel")
    project.review(caller="Joel")
    assert approved_plan(project.desk, shown, "Joel").state() == merge_plan(project.desk, "1").state()
    shown = merge_plan(project.desk, "1")
    project.review("comment", "wait", caller="third")
    project.review(caller="Ann")
    with pytest.raises(Moved, match="what was said about it"):
        approved_plan(project.desk, shown, "Ann")


@pytest.mark.promise("W-04")
def test_checks_that_cannot_be_started_are_told_in_the_record(project: Project) -> None:
    before = project.tip()
    project.with_settings(check=Check(command=("no-such-program",)))
    with pytest.raises(ToolFailure, match="`no-such-program` was not found"):
        project.merge(caller="helper")
    unmerged(project, before)
    said = project.record().discussion[-1]
    assert (said.by, said.kind) == ("helper", "check")
    assert said.text.startswith(
        "The checks could not be run: The check command cannot be run: `no-such-program` was not found"
    )
    assert project.record().checks == ()


@pytest.mark.promise("P-06", "W-05")
def test_a_base_that_changes_the_result_during_the_checks_is_shown_anew_instead_of_merged(project: Project) -> None:
    def move() -> None:  # the same file, but not the same lines: it merges, to something nobody has seen
        project.commit({"notes.txt": "0\na\nb\nc\n"}, "main", "Person")
        project.git("reset", "-q", "--hard")

    project.branch("notes", files={"notes.txt": "a\nb\nc\nd\n"})
    project.open(branch="notes")
    project.review(id="2")
    with pytest.raises(Moved, match="has changed since"):
        project.merge(Checks(meanwhile=move), id="2")
    assert project.record("2").status == "open"


@pytest.mark.promise("W-03", "W-04")
def test_a_commit_or_a_rejection_during_the_checks_stops_the_merge(project: Project) -> None:
    before = project.tip()
    with pytest.raises(ToolFailure, match="has rejected"):
        project.merge(Checks(meanwhile=lambda: project.review("reject", "wait", caller="third")))
    project.review(caller="third")
    with pytest.raises(ToolFailure, match="approved an earlier commit"):
        project.merge(Checks(meanwhile=lambda: project.commit({"app.py": "print('evil')\n"})))
    unmerged(project, before)
    assert project.record().discussion[-1].text.startswith("Merging failed after the checks had passed")


@pytest.mark.promise("W-04", "W-05")
def test_a_file_that_comes_in_the_way_after_the_checks_rolls_back_and_the_record_says_why(project: Project) -> None:
    before = project.tip()
    with pytest.raises(ToolFailure, match=r"uncommitted changes in the way.*app\.py"):
        project.merge(Checks(meanwhile=lambda: project.write({"app.py": "print('mine')\n"})))
    assert (project.root / "app.py").read_text() == "print('mine')\n"
    project.git("checkout", "-q", "app.py")
    unmerged(project, before)
    assert "app.py" in project.record().discussion[-1].text


@pytest.mark.promise("W-05")
def test_a_fault_in_the_middle_of_the_change_leaves_nothing_of_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = project.tip()

    def racing(*given: Any) -> Any:
        planned = checkout_steps(*given)
        project.git("update-ref", "refs/heads/main", project.commit({"x.py": "x"}, "elsewhere", "Person"))
        return planned

    monkeypatch.setattr("rightcall.tools.write.merge.checkout_steps", racing)
    with pytest.raises(Moved, match="somebody else has changed it"):
        project.merge()
    project.git("update-ref", "refs/heads/main", before)
    unmerged(project, before)


@pytest.mark.promise("W-04")
def test_two_merges_at_once_merge_once(project: Project) -> None:
    inner = Checks()
    with pytest.raises(ToolFailure, match="is merged: nothing more"):
        project.merge(Checks(meanwhile=lambda: project.merge(inner) if not inner.jobs else None))
    assert project.git("rev-list", "--count", "--merges", "main").strip() == "1"


@pytest.mark.promise("W-04")
def test_a_base_that_nobody_has_checked_out_is_merged_without_touching_any_file(project: Project) -> None:
    project.git("switch", "-q", "-c", "person")
    told = project.merge()
    assert told.checkout is False
    assert project.tip() == told.commit
    assert (project.root / "app.py").read_text() == "print('one')\n"
    assert project.status() == ""


@pytest.mark.promise("W-04")
def test_a_base_in_another_worktree_or_in_a_rebase_is_left_alone(project: Project, tmp_path: Path) -> None:
    project.git("switch", "-q", "-c", "person")
    project.git("worktree", "add", "-q", str(tmp_path / "other"), "main")
    with pytest.raises(ToolFailure, match="checked out in another worktree"):
        merge_plan(project.desk, "1")
    project.git("worktree", "remove", str(tmp_path / "other"))
    held = project.root / ".git/rebase-merge"
    held.mkdir()
    (held / "head-name").write_text("refs/heads/main\n")
    with pytest.raises(ToolFailure, match="is being rebased"):
        merge_plan(project.desk, "1")
