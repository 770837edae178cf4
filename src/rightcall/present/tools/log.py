"""`code/log`: commits."""

import re
from typing import Any

from rightcall.present.fields import Fields, changes, number, own, records, text, with_truncated
from rightcall.present.look import look
from rightcall.present.view import Losses, View

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?")


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    commits = [_commit(commit) for commit in records(result, "commits")]
    return with_truncated({"summary": _counted(result), "commits": commits}, result)


def _counted(result: Fields) -> str:
    """How many there are in all, nobody has counted: only that there is another one."""
    shown = len(records(result, "commits"))
    return f"{shown} commits, more exist" if number(result, "totalCommits") > shown else f"{shown} commits"


def _commit(commit: Fields) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "commit": text(commit, "shortHash"),
        "author": text(commit, "author"),
        "date": commit["date"],
        "message": text(commit, "message"),
    }
    if commit.get("stats") is not None:
        shaped["changes"] = changes(commit["stats"])
    return shaped | {name: commit[name] for name in ("filesChanged", "moreFiles", "diff") if commit.get(name)}


def summary(result: Any) -> str:
    return f"Showed {_counted(own(result))}"


def note(cut: dict[str, Any], losses: Losses) -> str | None:
    loss = losses.get(("commits",))
    if loss is None:
        return None
    if loss.kept == loss.total:
        return "the last commit is cut: call code/show for it"
    last = look(cut["commits"][-1].get("date")) if loss.kept else None
    dated = isinstance(last, str) and _DATE.fullmatch(last)  # else it might say anything, and a note is no data
    how = f"until={last}" if dated else "a narrower path or since"
    return f"{loss.total - loss.kept} of {loss.total} commits left out: call code/log with {how}"


VIEW = View("code/log", shape, summary, note)
