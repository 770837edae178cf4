"""The tools as an executor calls them: from a branch to a merge, each on the state that was told before."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.executor.shipped import branch_tools, pull_tools
from rightcall.tools.state import state_of
from rightcall.tools.write.desk import Desk
from support.desks import Checks, Project


class Calls:
    def __init__(self, project: Project, checks: Checks) -> None:
        def desk() -> Desk:
            return project.desk

        tools = [*branch_tools(desk), *pull_tools(desk, project.desk.settings, lambda: checks, ("/opt/seen",))]  # pyright: ignore[reportArgumentType] - it does what is asked of one here
        self.tools = {tool.name: tool for tool in tools}
        self.root = str(project.root)

    def __call__(self, tool: str, caller: str, state: str | None = None, **arguments: Any) -> Any:
        given = {**arguments, "caller": caller}
        told = state or state_of(self.tools[tool], given, self.root)
        return self.tools[tool].function(**given, expected=told)

    def preview(self, name: str, caller: str, **arguments: Any) -> str:
        return self.tools[name].preview({**arguments, "caller": caller})  # type: ignore[misc]


@pytest.mark.promise("W-02", "W-03", "W-04", "P-05")
def test_from_a_branch_to_a_merge_and_its_worktree_goes_while_the_branch_stays(tmp_path: Path) -> None:
    project, checks = Project(tmp_path), Checks()
    call = Calls(project, checks)
    call("code/create-branch", "teacher", name="fix")
    modified = {"type": "modify", "path": "app.py", "content": "print('two')\n"}
    call("code/edit", "teacher", operations=[modified])
    call("code/commit", "teacher", message="Say two")
    opened = call("code/pull-request", "teacher", title="Say two")
    assert (opened["id"], opened["filesChanged"], opened["status"]) == ("1", 1, "open")
    assert "+print('two')" in call.preview("code/review", "helper", id=1, decision="approve")
    assert call("code/review", "helper", id=1, decision="approve")["approvals"] == 1
    assert project.git("worktree", "list").count("\n") == 2
    assert "Would merge pull request 1" in call.preview("code/merge", "teacher", id="#1")
    done = call("code/merge", "teacher", id="#1")
    assert (done["status"], done["approvedBy"], done["checkSeconds"]) == ("merged", ("helper",), 0.5)
    assert checks.jobs[0].visible[0] == "/opt/seen"
    assert project.git("worktree", "list").count("\n") == 1
    assert project.git("branch", "--list", "fix").strip() == "fix"
    assert project.status() == ""
    with pytest.raises(ToolFailure, match="merged already"):
        call("code/edit", "teacher", operations=[modified], branch="fix")


@pytest.mark.promise("W-05")
def test_after_a_merge_everything_can_be_taken_back_step_by_step(tmp_path: Path) -> None:
    project = Project(tmp_path)
    call = Calls(project, Checks())
    before = project.tip()
    call("code/create-branch", "teacher", name="fix")
    call("code/edit", "teacher", operations=[{"type": "modify", "path": "app.py", "content": "print('two')\n"}])
    call("code/commit", "teacher", message="Say two")
    call("code/pull-request", "teacher", title="Say two")
    call("code/review", "helper", id=1, decision="approve")
    call("code/merge", "teacher", id=1)
    done = project.desk.changes()
    with project.desk.working() as worker:
        for change in done[:4]:
            worker.undo(change.id, by="person")
    call("code/commit", "teacher", message="Say two, in other words")
    with project.desk.working() as worker:
        for change in (project.desk.changes(1)[0], *done[4:]):
            worker.undo(change.id, by="person")
    assert (project.tip(), project.status()) == (before, "")
    assert project.git("branch", "--list", "fix") == ""


@pytest.mark.promise("P-06", "W-05")
def test_a_call_whose_state_could_not_be_told_is_never_done_on_another(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.approved()
    call = Calls(project, Checks())
    for name, more in (("code/merge", {}), ("code/review", {"decision": "reject", "comment": "no"})):
        with pytest.raises(ToolFailure, match=r"Nothing was|No review was"):
            call(name, "third", "unknown-0000", id="1", **more)
    assert project.record().status == "open"
    assert len(project.record().discussion) == 2


def test_a_merge_has_the_time_that_its_checks_may_take(tmp_path: Path) -> None:
    merging = Calls(Project(tmp_path), Checks()).tools["code/merge"]
    assert (merging.timeout, merging.lasting) == (2 * 600.0 + 60.0, True)
