"""What the tools that write have done: one line that says it, the diff where there is one, and how to take it back."""

from collections.abc import Iterator

from rightcall.cli.code_report_text import Fields, lines_of, safe, tinted
from rightcall.cli.terminal import Style, many

_SHORT = 10


def saved(result: Fields, style: Style, arguments: Fields) -> Iterator[str]:
    if "files" in result:  # on a branch
        yield from edited(result, style, arguments)
        return
    what = (
        "created" if result["created"] else "saved" if result["change"] else "nothing was changed, it was so already:"
    )
    yield f"{what} {safe(result['path'])}, {many(result['bytes'], 'byte')}"
    yield from _diff(result, style)


def edited(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    counts = [f"{file['status']} {safe(file['path'])} +{file['insertions']} -{file['deletions']}"
              for file in result["files"]]  # fmt: skip
    where = f"on the branch {safe(result['branch'])}, not committed yet: " if result["branch"] else ""
    yield f"{where}{', '.join(counts)}"
    yield from _diff(result, style)


def branched(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    base = f"{safe(result['base'])} at " if result["base"] else ""
    yield f"created the branch {safe(result['branch'])} from {base}{result['commit'][:_SHORT]}"
    yield style.tint(f"its files: {safe(result['worktree'])}, once something is edited there", "dim")
    yield from _undo(result, style)


def committed(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    yield f"committed {safe(result['shortHash'])} to {safe(result['branch'])}: {_counts(result)}"
    yield from _undo(result, style)


def opened(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    branches = f"{safe(result['branch'])} into {safe(result['base'])}"
    counts = f"{many(result['commits'], 'commit')}, {_counts(result)}"
    yield f"opened pull request {safe(result['id'])}: {branches}, {counts}"
    if result.get("uncommitted"):
        left = ", ".join(map(safe, result["uncommitted"]))
        yield style.tint(f"not committed, and so not a part of it: {left}", "yellow")
    yield style.tint(f"to look at it: rightcall pr show {safe(result['id'])}", "dim")
    yield from _undo(result, style)


def reviewed(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    done = {"approve": "approved", "reject": "rejected"}.get(result["decision"], "commented on")
    approvals = f"{many(result['approvals'], 'approval')} of {result['needed']}"
    yield f"{done} pull request {safe(result['id'])} at commit {result['commit'][:_SHORT]}; it has {approvals}"
    yield from _undo(result, style)


def merged(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    where = "; the checkout shows it" if result.get("checkout") else ""
    yield (
        f"merged pull request {safe(result['id'])} into {safe(result['base'])} as {result['commit'][:_SHORT]}: "
        f"{_counts(result)}{where}"
    )
    yield style.tint(f"the checks passed in {result['checkSeconds']:g} s", "dim")
    yield from _undo(result, style)


def _counts(result: Fields) -> str:
    return f"{many(result['filesChanged'], 'file')}, +{result['insertions']} -{result['deletions']}"


def _diff(result: Fields, style: Style) -> Iterator[str]:
    yield from (tinted(line, style) for line in lines_of(result["diff"]))
    yield from _undo(result, style)


def _undo(result: Fields, style: Style) -> Iterator[str]:
    if result["undo"]:
        yield style.tint(f"to take it back: {safe(result['undo'])}", "dim")
