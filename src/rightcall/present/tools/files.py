"""`code/list`: files and folders."""

from typing import Any

from rightcall.present.fields import Fields, number, own, records, text, with_truncated
from rightcall.present.view import Losses, View


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    files = [_entry(entry) for entry in records(result, "files")]
    shaped = {"summary": f"{len(files)} files ({number(result, 'totalFiles')} total)", "files": files}
    return with_truncated(shaped, result)


def _entry(entry: Fields) -> Fields:
    """Without the name, which the path ends with; and whether it is a folder only where it is one."""
    text(entry, "path")
    left_out = {"name"} if entry.get("isDirectory") is True else {"name", "isDirectory"}
    return {key: value for key, value in entry.items() if key not in left_out}


def summary(result: Any) -> str:
    result = own(result)
    return f"Listed {len(records(result, 'files'))} of {number(result, 'totalFiles')} files"


def note(_cut: dict[str, Any], losses: Losses) -> str | None:
    loss = losses.get(("files",))
    if loss is None:
        return None
    return f"{loss.total - loss.kept} of {loss.total} files left out: use a narrower pattern or directory"


VIEW = View("code/list", shape, summary, note)
