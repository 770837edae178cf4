"""Pull requests as models see them: rows of `data/list` and `data/read`, with why a merge was refused."""

from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.executor.shipped import small_tools
from rightcall.record.memory import MemoryStore
from support.merge_requests import Checks, Project


@pytest.mark.promise("W-02", "W-04", "C-11")
def test_a_model_finds_its_request_and_why_it_was_not_merged(tmp_path: Path) -> None:
    project, store = Project(tmp_path), MemoryStore()
    tools = {one.name: one for one in small_tools(lambda: store, str(project.root), project.desk.folder)}
    listed = tools["data/list"].function
    assert listed(collection="pull_requests")["records"] == []
    assert not Path(project.desk.folder).exists()
    project.approved()
    with pytest.raises(ToolFailure):
        project.merge(Checks(1, b"1 failed"))
    (row,) = listed(collection="pull_requests", filter={"status": "open", "author": "teacher"})["records"]
    assert (row["id"], row["title"], row["branch"]) == ("1", "Say two", "fix")
    assert listed(collection="pull_requests", filter={"status": "merged"})["records"] == []
    whole = tools["data/read"].function(collection="pull_requests", id=1)["record"]
    assert [one["kind"] for one in whole["discussion"]] == ["opened", "approve", "check"]
    assert whole["checks"][-1]["tail"] == "1 failed"
    with pytest.raises(ToolFailure, match="names no record of pull_requests"):
        tools["data/read"].function(collection="pull_requests", id="9")
    with pytest.raises(ToolFailure, match="quarantine, pull_requests"):
        listed(collection="secrets")
