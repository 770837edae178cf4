"""Peer review: by somebody else, bound to the commit that was looked at."""

from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.write.apply import preview
from rightcall.tools.write.changes import Moved
from rightcall.tools.write.merge import merge_plan
from rightcall.tools.write.review import REVIEW_WORK, ReviewArguments, case_of, review
from support.desks import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.branch()
    made.open()
    return made


@pytest.mark.promise("W-03")
def test_nobody_approves_their_own_however_it_is_spelled(project: Project) -> None:
    for name in ("teacher", "Teacher", "te acher", "t\u0435acher", "teacher\u200b", "ｔｅａｃｈｅｒ", "teаcher."):
        with pytest.raises(ToolFailure, match="must come from somebody else"):
            project.review("approve", "fine", caller=name)
    assert project.record().discussion[-1].kind == "opened"


@pytest.mark.promise("W-03")
def test_a_commit_that_names_somebody_as_co_author_does_not_silence_their_no(project: Project) -> None:
    project.commit({"lib/util.py": "X = 2\n"}, message="typo\n\nCo-authored-by: carol <c@x>")
    with pytest.raises(ToolFailure, match="must come from somebody else"):
        project.review("approve", "fine", caller="carol")
    project.review("reject", "no", caller="carol")
    assert [one.by for one in case_of(project.desk, "1").now.rejected] == ["carol"]


@pytest.mark.promise("W-03")
def test_whoever_has_a_commit_on_the_branch_is_no_reviewer_of_it_even_afterwards(project: Project) -> None:
    project.review(caller="helper")
    project.commit({"lib/util.py": "X = 2\n"}, by="helper")
    for name in ("helper", "Helper"):
        with pytest.raises(ToolFailure, match="has a commit on it"):
            project.review(caller=name)
    project.commit({"lib/util.py": "X = 3\n"}, message="with\n\nCo-authored-by: Other One <o@x>")
    with pytest.raises(ToolFailure, match="has a commit on it"):
        project.review(caller="other one")
    assert project.review(caller="third").approvals == 1


@pytest.mark.promise("W-03")
def test_an_approval_is_void_after_another_commit_and_it_is_said_whose(project: Project) -> None:
    told = project.review()
    assert (told.decision, told.approvals, told.needed) == ("approve", 1, 1)
    merge_plan(project.desk, "1")
    head = project.commit({"app.py": "print('evil')\n"})
    with pytest.raises(ToolFailure, match=rf"'helper' approved an earlier commit.*{head[:10]}"):
        merge_plan(project.desk, "1")
    assert project.review().commit == head
    merge_plan(project.desk, "1")


@pytest.mark.promise("W-03")
def test_approvals_count_each_reviewer_once_and_a_rejection_stands_until_its_author_takes_it_back(
    project: Project,
) -> None:
    project.with_settings(reviews=2)
    project.review(caller="helper")
    with pytest.raises(ToolFailure, match=r"'Helper ' has approved pull request 1 at commit \w{10} already"):
        project.review(caller="Helper ")
    with pytest.raises(ToolFailure, match=r"needs 2 approval\(s\) by others and has 1"):
        merge_plan(project.desk, "1")
    project.review("reject", "no test", caller="third")
    assert project.review(caller="fourth").approvals == 2
    with pytest.raises(ToolFailure, match=r"'third' has rejected.*no test"):
        merge_plan(project.desk, "1")
    project.review("approve", caller="third")
    merge_plan(project.desk, "1")


@pytest.mark.promise("W-03")
def test_anybody_may_comment_and_a_word_without_words_is_refused(project: Project) -> None:
    told = project.review(None, "  is it tested? ", caller="teacher")
    assert (told.decision, told.approvals) == ("comment", 0)
    assert project.record().discussion[-1].text == "is it tested?"
    for decision, match in ((None, "Say something"), ("comment", "some words"), ("reject", "`comment` is required")):
        with pytest.raises(ToolFailure, match=match):
            project.review(decision)
    with pytest.raises(ToolFailure, match="Unknown pull request 8; the only one is 1"):
        project.review(id="8")
    with pytest.raises(ToolFailure, match="needs a name"):
        project.review(caller="--")


@pytest.mark.promise("P-06", "W-03")
def test_an_approval_is_of_what_was_looked_at(project: Project) -> None:
    asked = ReviewArguments(id="1", decision="approve", comment="good \x1b[31m", caller="helper")
    shown = REVIEW_WORK.preview(project.desk, asked)
    assert "+print('two')" in shown
    assert "good \x1b[31m" in shown  # as it is: whoever shows it makes it safe
    state = REVIEW_WORK.state(project.desk, asked)
    project.review("comment", "a word", caller="third")
    with pytest.raises(Moved, match="or what was said about it, has changed"):
        review(project.desk, ReviewArguments(id="1", decision="approve", caller="helper", expected=state))
    state = REVIEW_WORK.state(project.desk, asked)
    project.commit({"app.py": "print('evil')\n"})
    with pytest.raises(Moved, match=r"\+print\('evil'\)"):
        review(project.desk, ReviewArguments(id="1", decision="approve", caller="helper", expected=state))
    with pytest.raises(Moved):
        review(project.desk, ReviewArguments(id="1", decision="approve", caller="Joel"), person=True, at="0" * 40)
    assert [one.kind for one in project.record().discussion] == ["opened", "comment"]


@pytest.mark.promise("W-03")
def test_a_review_can_be_undone_whatever_was_said_since_but_not_once_it_was_merged(project: Project) -> None:
    first = project.review()
    project.review("comment", "and more", caller="teacher")
    project.review("reject", "no", caller="third")
    shown = preview(project.desk, project.desk.filed(first.change))
    assert shown == "pull request 1: without what this change did, and with what came since"
    with project.desk.working() as worker:
        back = worker.undo(first.change, by="Joel")
        assert [one.kind for one in project.record().discussion] == ["opened", "comment", "reject"]
        worker.undo(back.id, by="Joel")
    assert [one.kind for one in project.record().discussion] == ["opened", "approve", "comment", "reject"]
    project.review("approve", caller="third")
    merged = project.merge()
    with project.desk.working() as worker, pytest.raises(ToolFailure, match=f"{merged.change} has changed pull"):
        worker.undo(first.change, by="Joel")
