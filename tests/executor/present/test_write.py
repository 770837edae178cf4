"""What the audit says of writes, in one line."""

import pytest

from rightcall.executor.present.messages import summarise
from support.results import WRITTEN

SUMMARIES = {
    "file/save": "Created experimental/a.md, 900 bytes",
    "code/create-branch": "Created branch fix at 000000000000 of main",
    "code/create-test": "Changed 1 file (src/app.py) on branch fix",
    "code/edit": "Changed 1 file (src/app.py) on branch fix",
    "code/commit": "Committed 0000000 on fix: 2 files, +9/-1",
    "code/pull-request": "Opened pull request 7: fix into main, 2 files, +9/-1",
    "code/review": "Reviewed pull request 7: approve, 1 of 2 approvals",
    "code/merge": "Merged pull request 7: fix into main as 000000000000 (namespaces)",
}


@pytest.mark.parametrize("tool", WRITTEN)
@pytest.mark.promise("A-02")
def test_a_write_is_summed_up_with_the_id_of_its_change(tool: str) -> None:
    assert summarise(tool, WRITTEN[tool]) == f"{SUMMARIES[tool]} [c-7f3a9b2e]"


def test_a_file_that_is_saved_on_a_branch_is_an_edit() -> None:
    assert summarise("file/save", WRITTEN["code/edit"]).startswith("Changed 1 file (src/app.py) on branch fix")
    unchanged = WRITTEN["file/save"] | {"created": False, "change": "", "undo": ""}
    assert summarise("file/save", unchanged) == "Left unchanged experimental/a.md, 900 bytes"
