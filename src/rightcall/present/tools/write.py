"""The tools that write: what was changed, and how it can be taken back."""

from collections.abc import Callable, Mapping
from typing import Any

from rightcall.present.fields import Fields, changes, many, number, own, records, text
from rightcall.present.view import Losses, View


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
    branch = text(result, "branch")
    return f"Changed {many(len(files), 'file')}{first}" + (f" on branch {branch}" if branch else "")


def _committed(result: Fields) -> str:
    files = many(number(result, "filesChanged"), "file")
    return f"Committed {text(result, 'shortHash')} on {text(result, 'branch')}: {files}, {changes(result)}"


def _opened(result: Fields) -> str:
    about = f"{many(number(result, 'filesChanged'), 'file')}, {changes(result)}"
    return f"Opened pull request {text(result, 'id')}: {text(result, 'branch')} into {text(result, 'base')}, {about}"


def _reviewed(result: Fields) -> str:
    count = f"{number(result, 'approvals')} of {number(result, 'needed')} approvals"
    return f"Reviewed pull request {text(result, 'id')}: {text(result, 'decision')}, {count}"


def _merged(result: Fields) -> str:
    where = f"{text(result, 'branch')} into {text(result, 'base')} as {text(result, 'commit')[:12]}"
    return f"Merged pull request {text(result, 'id')}: {where} ({text(result, 'sandbox')})"


_CHANGED = {"change": str, "undo": str}
_COUNTED = {"filesChanged": int, "insertions": int, "deletions": int, **_CHANGED}
_EDITED = {"branch": str, "files": list, "diff": str, **_CHANGED}
_SAVED = {"path": str, "bytes": int, "created": bool, "diff": str, **_CHANGED}

_Form = tuple[Callable[[Fields], str], Mapping[str, type]]
_FORMS: Mapping[str, _Form] = {
    "file/save": (_saved, _SAVED),
    "code/create-branch": (
        _branched, {"branch": str, "base": str, "commit": str, "worktree": str, **_CHANGED},
    ),
    "code/create-test": (_edited, _EDITED),
    "code/edit": (_edited, _EDITED),
    "code/commit": (_committed, {"commit": str, "shortHash": str, "branch": str, **_COUNTED}),
    "code/pull-request": (
        _opened,
        {
            "id": str, "title": str, "branch": str, "base": str, "commits": int, "status": str, "uncommitted": list,
            **_COUNTED,
        },
    ),
    "code/review": (
        _reviewed,
        {"id": str, "decision": str, "commit": str, "status": str, "approvals": int, "needed": int, **_CHANGED},
    ),
    "code/merge": (
        _merged,
        {
            "id": str, "title": str, "branch": str, "base": str, "commit": str, "approvedBy": list, "checks": str,
            "sandbox": str, "checkout": bool, "status": str, **_COUNTED,
        },
    ),
}  # fmt: skip
"""How each is summed up, and the fields that its result has."""


def _known(result: Any, form: Mapping[str, type]) -> Fields:
    """A result of the tool's own form. A file that is saved on a branch is an edit."""
    found = own(result)
    if form is _SAVED and "branch" in found:
        form = _EDITED
    for name, kind in form.items():
        value = found.get(name)
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise LookupError(name)
    return found


def _view(tool: str, form: _Form) -> View:
    told, kinds = form

    def summary(result: Any) -> str:
        found = _known(result, kinds)
        return told(found) + (f" [{found['change']}]" if found["change"] else "")

    def shape(result: Any) -> dict[str, Any]:
        found = _known(result, kinds)
        return {"summary": told(found), **{key: value for key, value in found.items() if key != "success"}}

    def note(_cut: dict[str, Any], losses: Losses) -> str | None:
        return "the diff is shown in part: code/diff shows the branch" if ("diff",) in losses else None

    return View(tool, shape, summary, note, first=("summary", "change", "undo"))


VIEWS = tuple(_view(tool, form) for tool, form in _FORMS.items())
