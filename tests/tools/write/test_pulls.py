"""Pull requests are records of their own: numbered, bound to what was looked at, refused where they make no sense."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.write.changes import Moved
from rightcall.tools.write.commit import OPEN_WORK, OpenArguments, close_pull, open_pull
from rightcall.tools.write.pulls import PullRecord, Remark, all_pulls, pull_id, pull_of, with_remark
from support.desks import Project
from support.every import every


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.promise("W-02")
def test_a_pull_request_is_a_record_with_title_body_commits_and_status(project: Project) -> None:
    head = project.branch()
    told = project.open(title="  Say two ", body="It said one.\r\nNow two.")
    assert (told.id, told.title, told.branch, told.base, told.status) == ("1", "Say two", "fix", "main", "open")
    assert (told.commits, told.files_changed, told.insertions, told.deletions) == (1, 1, 1, 1)
    assert told.undo == f"rightcall undo {told.change}"
    record = project.record()
    assert (record.body, record.author, record.head) == ("It said one.\nNow two.", "teacher", head)
    assert [(one.by, one.kind, one.commit) for one in record.discussion] == [("teacher", "opened", head)]


@pytest.mark.promise("W-02", "P-05", "A-07")
def test_the_preview_holds_title_body_commits_and_diff_as_they_are_and_changes_nothing(project: Project) -> None:
    project.branch(files={"app.py": "print('\x1b[2J')\n"})
    asked = OpenArguments(title="Say \x1b[31mtwo", body="one\n\u202etwo", caller="teacher")
    shown = OPEN_WORK.preview(project.desk, asked)
    assert "Would open a pull request: fix into main" in shown
    assert "\n+print('\x1b[2J')" in shown
    assert "\ntitle: Say \x1b[31mtwo\n" in shown
    assert "\n  one\n  \u202etwo\n" in shown
    assert "a change  (teacher)" in shown
    assert all_pulls(project.desk) == []


@pytest.mark.promise("P-06", "W-05")
def test_a_branch_that_moved_after_it_was_shown_is_not_opened_and_the_new_diff_is_told(project: Project) -> None:
    project.branch()
    asked: dict[str, Any] = {"title": "Say two", "caller": "teacher"}
    state = OPEN_WORK.state(project.desk, OpenArguments(**asked))
    project.commit({"app.py": "print('three')\n"})
    with pytest.raises(Moved, match=r"\+print\('three'\)"):
        open_pull(project.desk, OpenArguments(**asked, expected=state))
    assert all_pulls(project.desk) == []


@pytest.mark.promise("W-02")
def test_requests_that_make_no_sense_are_refused_with_what_would_be_right(project: Project) -> None:
    project.branch()

    def refused(match: str, **asked: Any) -> None:
        with pytest.raises(ToolFailure, match=match):
            project.open(**asked)

    refused("title: one line", title="  ")
    refused("title: one line", title="a\nb")
    refused("at most 300", title="x" * 301)
    refused("no such branch: nowhere", base="nowhere")
    refused("is the branch itself", base="fix")
    refused("teacher's: nobody else", caller="helper", branch="fix")
    refused("You have no open branch", caller="helper")
    project.with_settings(frozen=("main",))
    refused("frozen")
    project.with_settings(frozen=())
    project.commit({}, "empty", "teacher")
    project.branch("locked", files={".github/workflows/ci.yml": "run: evil\n"})
    refused(r"no tool may change.*\.github/workflows/ci\.yml", branch="locked")
    project.branch("secret", files={"deploy/.env": "KEY=1\n"})
    refused(r"changes 1 file\(s\) that no tool may see", branch="secret")
    assert all_pulls(project.desk) == []
    project.open(branch="fix")
    refused("Pull request 1 is open for fix already", branch="fix")


@pytest.mark.promise("W-02")
def test_a_branch_whose_name_means_something_else_as_well_is_not_asked_for(project: Project) -> None:
    project.branch()
    project.git("update-ref", "refs/remotes/fix/main", "main")
    with pytest.raises(ToolFailure, match=r"branch: fix would be taken for something else .* name of a remote"):
        project.open()
    project.branch("mаin")
    with pytest.raises(ToolFailure, match=r"looks like main, which is protected"):
        project.open(branch="mаin")


@pytest.mark.promise("W-02")
def test_a_branch_without_commits_of_its_own_has_nothing_to_ask_for(project: Project) -> None:
    project.branch()
    project.git("update-ref", "refs/heads/main", project.tip("fix"))
    with pytest.raises(ToolFailure, match="no commit that main lacks"):
        project.open()


@pytest.mark.promise("W-02", "P-12")
def test_processes_that_open_at_once_get_different_numbers(project: Project) -> None:
    names = ["one", "two"]
    for name in names:
        project.branch(name)
    script = (
        "import sys; from rightcall.tools.write.desk import Desk; from rightcall.base.files.sight import Sight;"
        "from rightcall.policy.settings import WriteSettings;"
        "from rightcall.tools.write.commit import OpenArguments, open_pull;"
        "print(open_pull(Desk(sys.argv[1], Sight(sys.argv[2]), WriteSettings()),"
        "OpenArguments(title='t', branch=sys.argv[3], caller='teacher')).id)"
    )
    command = [sys.executable, "-c", script, project.desk.folder, str(project.root)]
    running = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in names]
    assert sorted(one.communicate()[0].strip() for one in running) == ["1", "2"]
    assert [one.id for one in all_pulls(project.desk)] == ["2", "1"]


@pytest.mark.promise("W-02")
def test_opening_and_closing_can_be_undone(project: Project) -> None:
    project.branch()
    opened = project.open()
    closed = close_pull(project.desk, "1", "Joel", "not now")
    assert project.record().status == "closed"
    with pytest.raises(ToolFailure, match="is closed"):
        project.review()
    with project.desk.working() as worker:
        worker.undo(closed.id, by="Joel")
        assert project.record().status == "open"
        worker.undo(opened.change, by="Joel")
    with pytest.raises(ToolFailure, match="none was opened yet"):
        project.record()


@every("given", ["", "x", "-1", "0", 0, -3, "1e9", "9" * 30, 10**30, "1/../2", "١"])
def test_what_is_no_number_names_no_pull_request(given: str | int) -> None:
    with pytest.raises(ToolFailure, match="is not a pull request"):
        pull_id(given)


def test_a_damaged_record_is_said_to_be_so_and_left_out_of_lists(project: Project) -> None:
    project.branch()
    project.open()
    Path(project.desk.folder, "pulls/1.json").write_text('{"id": "2"}')
    with pytest.raises(ToolFailure, match="damaged"):
        pull_of(project.desk, 1)
    assert all_pulls(project.desk) == []


def discussed(*remarks: Remark) -> PullRecord:
    return PullRecord(id="1", title="t", author="a", branch="b", base="main", head="0", made="", discussion=remarks)


@pytest.mark.promise("W-03")
def test_comments_have_an_end_for_each_and_for_all_and_a_rejection_always_has_room() -> None:
    own = discussed(*[Remark("author", "comment", "", "again")] * 100)
    for name in ("author", "Author "):
        with pytest.raises(ToolFailure, match=r"has made 100 comments .* An approval or a rejection always is"):
            with_remark(own, Remark(name, "comment", "", "more"))
    assert with_remark(own, Remark("other", "comment", "", "why?")).discussion[-1].by == "other"
    full = discussed(*(Remark(f"c{at}", "comment", "", "again") for at in range(500)))
    with pytest.raises(ToolFailure, match="there are 500 comments"):
        with_remark(full, Remark("other", "comment", "", "more"))
    long = discussed(*[Remark("author", "comment", "", "x" * 50_000)] * 4)
    with pytest.raises(ToolFailure, match="with 200,000 characters"):
        with_remark(long, Remark("author", "comment", "", "x"))
    for record in (own, full, long):
        told = with_remark(record, Remark("other", "reject", "", "a backdoor"))
        assert told.discussion == (*record.discussion, Remark("other", "reject", "", "a backdoor"))


@pytest.mark.promise("W-03")
def test_what_is_said_over_and_over_takes_the_place_of_its_own_oldest_and_of_nothing_else() -> None:
    record = discussed(Remark("other", "reject", "", "no"), Remark("helper", "approve", "0", "first"))
    for at in range(300):
        record = with_remark(record, Remark("author", "check", str(at), "red"))
        record = with_remark(record, Remark("helper", ("approve", "reject")[at % 2], str(at)))
    assert record.discussion[0] == Remark("other", "reject", "", "no")
    assert [one.at for one in record.discussion if one.kind == "check"] == [str(at) for at in range(200, 300)]
    assert [one.at for one in record.discussion if one.by == "helper"] == [str(at) for at in range(290, 300)]
