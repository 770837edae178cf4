"""`code/list`: files and folders."""

from typing import Any

from rightcall.present.fields import Fields, number, own, records, text, with_truncated
from rightcall.present.view import View, left_out


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    files = [_entry(entry) for entry in records(result, "files")]
    shaped = {"summary": f"{len(files)} files ({number(result, 'totalFiles')} total)", "files": files}
    return with_truncated(shaped, result)


def _entry(entry: Fields) -> Fields:
    """Without the name, which the path ends with; and whether it is a folder only where it is one."""
    text(entry, "path")
    unsaid = {"name"} if entry.get("isDirectory") is True else {"name", "isDirectory"}
    return {key: value for key, value in entry.items() if key not in unsaid}


def summary(result: Any) -> str:
    result = own(result)
    return f"Listed {len(records(result, 'files'))} of {number(result, 'totalFiles')} files"


VIEW = View("code/list", shape, summary, left_out("files", "files left out: use a narrower pattern or directory"))
