"""`code/show`: one commit with what it changed, or a file as it was then (`commit:path`)."""

from functools import partial

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from rightcall.config_hands import CodeSettings
from rightcall.errors import ToolFailure
from rightcall.execute.code.asking import in_time, run_log, unreadable
from rightcall.execute.code.changes import GitCommit, View
from rightcall.execute.code.decoding import decoded
from rightcall.execute.code.diff_reading import LOG_OPTIONS, MERGES, Commits, Garbled, Room, read_commits
from rightcall.execute.code.git.refs import commit_of, split_path
from rightcall.execute.code.git.repository import Repository, repository_for
from rightcall.execute.code.git.run import run_git
from rightcall.execute.code.git.state import history_state
from rightcall.execute.code.tool import CodeTool
from rightcall.execute.state import Untold
from rightcall.fs.names import shown_name
from rightcall.fs.sight import Sight, Unseen
from rightcall.text.cut import MOST_ANSWER, json_size, text_head
from rightcall.text.escape import escaped

_SECONDS = 10.0
_MOST_OUTPUT = 32 << 20
_LARGEST = 50 * 1024
"""Bytes of changes."""
_USUAL = CodeSettings()
_NARROWER = "ask without includeDiff, or for single files with code/diff and paths"


class ShowArguments(Struct, frozen=True, rename="camel", kw_only=True):
    commit: str
    include_diff: bool | None = None
    """As if true; for a file at a commit as if false."""


class ShowResult(Struct, frozen=True, rename="camel", kw_only=True):
    """`path`, `content` and `encoding` only where a file at that commit was asked for; `note` says how far its content
    is here when not all of it is."""

    success: bool = True
    commit: GitCommit
    truncated: bool
    path: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    encoding: str | UnsetType = UNSET
    note: str | UnsetType = UNSET


def show(sight: Sight, asked: ShowArguments, settings: CodeSettings = _USUAL) -> ShowResult:
    """The commit against the first of its parents; against nothing when it is the first of all."""
    repository = repository_for(sight)
    ref, path = split_path(sight, asked.commit, repository)
    full = commit_of(repository, ref)
    file = None if path is None else _file_at(repository, full, path, asked.commit, settings.largest_file)
    found = _commit_at(sight, repository, full, path is None if asked.include_diff is None else asked.include_diff)
    commit = found.commits[0]
    truncated = found.cut or commit.more_files > 0
    if path is None or file is None:
        return ShowResult(commit=commit, truncated=truncated)
    shown = shown_name(repository.outside(path))
    content = text_head(file[0], MOST_ANSWER - json_size(commit) - json_size(shown))
    cut = len(content) < len(file[0])
    note = f"The content is cut after {len(content):,} of {len(file[0]):,} characters." if cut else UNSET
    return ShowResult(
        commit=commit, truncated=truncated or cut, path=shown, content=content, encoding=file[1], note=note
    )


def _commit_at(sight: Sight, repository: Repository, full: str, with_diff: bool) -> Commits:
    command = ["log", "--no-walk", "--max-count=1", *LOG_OPTIONS, MERGES]
    about = ["--end-of-options", full, "--"]
    finished, told = run_log(repository, command, about, patch=with_diff, seconds=_SECONDS, most=_MOST_OUTPUT)
    output = in_time(finished, _SECONDS, _NARROWER)
    room = Room(_LARGEST) if told else None
    try:
        found = read_commits(output, View(sight, repository.folder), most=1, room=room, whole=not finished.full)
    except Garbled:
        raise unreadable() from None
    if not found.commits:
        raise ToolFailure(f"The commit is too large to be read; {_NARROWER}") if finished.full else unreadable()
    return found if told == with_diff else replace(found, cut=True)


def _file_at(repository: Repository, full: str, path: str, written: str, largest: int) -> tuple[str, str]:
    """The content of a file as it was at a commit, and its encoding."""
    finished = run_git(repository, ["cat-file", "blob", f"{full}:{path}"], seconds=_SECONDS, most=largest)
    if finished.full:
        raise ToolFailure(
            f"{escaped(written, 200)} has more than {largest:,} bytes; code/diff shows what changed in it"
        )
    if finished.code != 0 and not finished.late:
        raise Unseen(written)
    found = decoded(in_time(finished, _SECONDS, "ask for the commit alone"))
    if found is None:
        raise ToolFailure(f"{escaped(written, 200)} is a binary file; code/show shows text only")
    return found


def _state(sight: Sight, asked: ShowArguments) -> object:
    if "@{" in asked.commit:
        raise Untold("what this names depends on when it is asked")
    return history_state(sight, repository_for(sight))


def tool(settings: CodeSettings) -> CodeTool:
    """`code/show` as the policy wants it."""
    return CodeTool("code/show", ShowArguments, partial(show, settings=settings), _SECONDS, _state)


TOOL = tool(_USUAL)
