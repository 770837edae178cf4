"""The tools that write: what was changed, and how it can be taken back."""

from collections.abc import Callable, Mapping
from typing import Any

from rightcall.present.fields import Fields, changes, number, own, records, text
from rightcall.present.registry import Losses, View


def _saved(result: Fields) -> str:
    if "files" in result:  # on a branch
        return _edited(result)
    done = "Created" if result["created"] is True else "Saved" if text(result, "change") else "Left unchanged"
    return f"{done} {text(result, 'path')}, {number(result, 'bytes')} bytes"


def _branched(result: Fields) -> str:
    base = text(result, "base")
    return f"Created branch {text(result, 'branch')} at {text(result, 'commit')[:12]}" + (f" of {base}" if base else "")


def _edited(result: Fields) -> str:
    files = records(result, "files")
    first = f" ({text(files[0], 'path')})" if len(files) == 1 else ""
    return f"Changed {_files(len(files))}{first} on branch {text(result, 'branch')}"


def _committed(result: Fields) -> str:
    files = _files(number(result, "filesChanged"))
    return f"Committed {text(result, 'shortHash')} on {text(result, 'branch')}: {files}, {changes(result)}"


def _opened(result: Fields) -> str:
    about = f"{_files(number(result, 'filesChanged'))}, {changes(result)}"
    return f"Opened pull request {text(result, 'id')}: {text(result, 'branch')} into {text(result, 'base')}, {about}"


def _reviewed(result: Fields) -> str:
    count = f"{number(result, 'approvals')} of {number(result, 'needed')} approvals"
    return f"Reviewed pull request {text(result, 'id')}: {text(result, 'decision')}, {count}"


def _merged(result: Fields) -> str:
    where = f"{text(result, 'branch')} into {text(result, 'base')} as {text(result, 'commit')[:12]}"
    return f"Merged pull request {text(result, 'id')}: {where} ({text(result, 'sandbox')})"


def _files(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


_SUMMARIES: Mapping[str, Callable[[Fields], str]] = {
    "file/save": _saved,
    "code/create-branch": _branched,
    "code/create-test": _edited,
    "code/edit": _edited,
    "code/commit": _committed,
    "code/pull-request": _opened,
    "code/review": _reviewed,
    "code/merge": _merged,
}


def _view(tool: str, told: Callable[[Fields], str]) -> View:
    def summary(result: Any) -> str:
        change = own(result).get("change")
        return told(own(result)) + (f" [{change}]" if isinstance(change, str) and change else "")

    def shape(result: Any) -> dict[str, Any]:
        return {"summary": told(own(result)), **{key: own(result)[key] for key in own(result) if key != "success"}}

    def note(_cut: dict[str, Any], losses: Losses) -> str | None:
        return "the diff is shown in part: code/diff shows the branch" if ("diff",) in losses else None

    return View(tool, shape, summary, note, first=("summary", "change", "undo"))


VIEWS = tuple(_view(tool, told) for tool, told in _SUMMARIES.items())
