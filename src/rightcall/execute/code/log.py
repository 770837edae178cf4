"""`code/log`: the commits of a repository, or those that changed a file or folder."""

from time import time

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.asking import in_time, line_of, must_be_there, named_paths, pathspecs, run_log, unreadable
from rightcall.execute.code.changes import GitCommit, View
from rightcall.execute.code.diff_reading import LOG_OPTIONS, MERGES, Garbled, Room, read_commits
from rightcall.execute.code.git.dates import seconds_of
from rightcall.execute.code.git.refs import commit_of
from rightcall.execute.code.git.repository import repository_for
from rightcall.execute.code.git.state import history_state
from rightcall.execute.code.tool import CodeTool
from rightcall.execute.state import Untold
from rightcall.fs.sight import Sight

_SECONDS = 10.0
_MOST_COMMITS = 100
_MOST_OUTPUT = 32 << 20
_LARGEST = 50 * 1024
"""Bytes of changes in all."""
_NARROWER = "ask for fewer commits with limit, for another time with since and until, or for one path"


class LogArguments(Struct, frozen=True, rename="camel", kw_only=True):
    path: str | None = None
    limit: int = 20
    since: str | None = None
    until: str | None = None
    author: str | None = None
    grep: str | None = None
    include_diff: bool = False


class LogResult(Struct, frozen=True, rename="camel", kw_only=True):
    """`total_commits` is how many were found; when there are more commits than were asked for, at least one more. So
    `truncated` with as many as there are means that something of their changes is left out."""

    success: bool = True
    commits: list[GitCommit]
    total_commits: int
    truncated: bool


def log(sight: Sight, asked: LogArguments) -> LogResult:
    """The newest commits first. `author` and `grep` are looked for as they are written, in any case of letters:
    they are no expressions."""
    written = named_paths(sight, () if asked.path is None else (asked.path,))
    repository = repository_for(sight, written)
    limit = max(1, min(asked.limit, _MOST_COMMITS))
    command = ["log", f"--max-count={limit + 1}", *LOG_OPTIONS, *_filters(asked)]
    if asked.path is None:
        command.append(MERGES)  # with a path it would bring in merges that have not changed it
    about = ["--end-of-options", "HEAD", "--", *pathspecs(repository, written)]
    finished, told = run_log(
        repository, command, about, patch=asked.include_diff, seconds=_SECONDS, most=_MOST_OUTPUT
    )  # fmt: skip
    if finished.code:
        commit_of(repository, "HEAD")  # it says best that there is none
    output = in_time(finished, _SECONDS, _NARROWER)
    room = Room(_LARGEST) if told else None
    try:
        found = read_commits(output, View(sight, repository.folder), most=limit, room=room, whole=not finished.full)
    except Garbled:
        raise unreadable() from None
    if not found.commits and not found.whole:
        raise ToolFailure(f"The newest of these commits is too large to be read with its changes; {_NARROWER}")
    if not found.commits and asked.path is not None and not _filters(asked):
        must_be_there(sight, asked.path)  # it is not in the history
    return LogResult(
        commits=found.commits,
        total_commits=len(found.commits) + (not found.whole),
        truncated=found.cut or not found.whole or told != asked.include_diff,
    )


def _filters(asked: LogArguments) -> list[str]:
    filters: list[str] = []
    now = time()
    if asked.since is not None:
        filters.append(f"--max-age={seconds_of(asked.since, now, argument='since')}")
    if asked.until is not None:
        filters.append(f"--min-age={seconds_of(asked.until, now, argument='until')}")
    if asked.author and not asked.author.isspace():  # models write "" for what they leave out
        filters.append(f"--author={line_of(asked.author, 'author')}")
    if asked.grep and not asked.grep.isspace():
        filters.append(f"--grep={line_of(asked.grep, 'grep')}")
    return [*filters, "--fixed-strings", "--regexp-ignore-case"] if filters else []


def _state(sight: Sight, asked: LogArguments) -> object:
    for text, argument in ((asked.since, "since"), (asked.until, "until")):
        if text is None:
            continue
        if seconds_of(text, 0.0, argument=argument) != seconds_of(text, 1e9, argument=argument):
            raise Untold(f"{argument} depends on when it is asked")
    return history_state(sight, repository_for(sight, named_paths(sight, () if asked.path is None else (asked.path,))))


TOOL = CodeTool("code/log", LogArguments, log, _SECONDS, _state)
