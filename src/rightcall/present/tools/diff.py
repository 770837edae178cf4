"""`code/diff`: what changed, file by file."""

from typing import Any

from rightcall.present.changes import file_list, lost_changes
from rightcall.present.fields import changes, fields, number, own, records, text
from rightcall.present.view import Losses, View


def shape(result: Any) -> dict[str, Any]:
    whole = result
    result = own(result)
    totals = fields(result, "totalChanges")
    return {
        "summary": f"{number(totals, 'filesChanged')} files: {changes(totals)}",
        "files": file_list(records(result, "diffs")),
        "fullDiff": whole,
    }


def summary(result: Any) -> str:
    result = own(result)
    totals = fields(result, "totalChanges")
    counts = f"{number(totals, 'filesChanged')} files: {changes(totals)}"
    return f"Compared {text(result, 'base')} with {text(result, 'compare')}: {counts}"


def note(_cut: dict[str, Any], losses: Losses) -> str | None:
    lost = lost_changes(losses, ("fullDiff", "diffs"))
    return lost and f"{lost}: call code/diff with the paths you need, or with contextLines=0"


VIEW = View("code/diff", shape, summary, note, first=("summary", "files"))
