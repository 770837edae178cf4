"""The history of a repository: `code/log` lists commits, `code/show` shows one, `code/blame` says who wrote a line."""

from functools import partial
from itertools import takewhile
from time import time

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from rightcall.base.files.sight import Sight, Unseen, shown_name
from rightcall.base.text import MOST_ANSWER, AnswerRoom, cut_end, escaped, json_size, text_head, utc
from rightcall.errors import ToolFailure
from rightcall.policy.settings import CodeSettings
from rightcall.tools.code import SECONDS, CodeTool
from rightcall.tools.code.diff import in_time, line_of, must_be_there, named_paths, pathspecs, run_log, unreadable
from rightcall.tools.code.patch import (
    LOG_OPTIONS,
    MERGES,
    SHORT_HASH,
    Commits,
    Garbled,
    GitCommit,
    Room,
    View,
    read_commits,
    text_of,
)
from rightcall.tools.code.read import decode_text
from rightcall.tools.git.refs import commit_of, seconds_of, split_path
from rightcall.tools.git.repository import Repository, repository_for
from rightcall.tools.git.run import history_state, run_git
from rightcall.tools.process import Finished
from rightcall.tools.state import Untold

_SECONDS = SECONDS["code/log"]
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
    limit = max(1, min(asked.limit, 100))
    command = ["log", f"--max-count={limit + 1}", *LOG_OPTIONS, *_filters(asked)]
    if asked.path is None:
        command.append(MERGES)  # with a path it would bring in merges that have not changed it
    about = ["--end-of-options", "HEAD", "--", *pathspecs(repository, written)]
    finished, told = run_log(
        repository, command, about, patch=asked.include_diff, seconds=_SECONDS, most=_MOST_OUTPUT
    )  # fmt: skip
    if finished.code:
        commit_of(repository, "HEAD")  # it says best that there is none
    found = _commits_in(finished, View(sight, repository.folder), limit, told, _NARROWER)
    if not found.commits and not found.whole:
        raise ToolFailure(f"The newest of these commits is too large to be read with its changes; {_NARROWER}")
    if not found.commits and asked.path is not None and not _filters(asked):
        must_be_there(sight, asked.path)  # it is not in the history
    return LogResult(
        commits=found.commits,
        total_commits=len(found.commits) + (not found.whole),
        truncated=found.cut or not found.whole or told != asked.include_diff,
    )


def _commits_in(finished: Finished, view: View, most: int, with_changes: bool, narrower: str) -> Commits:
    output = in_time(finished, _SECONDS, narrower)
    room = Room(_LARGEST) if with_changes else None
    try:
        return read_commits(output, view, most=most, room=room, whole=not finished.full)
    except Garbled:
        raise unreadable() from None


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


LOG = CodeTool("code/log", LogArguments, log, _state)


# ── show ──
# `code/show`: one commit with what it changed, or a file as it was then (`commit:path`).

_USUAL = CodeSettings()
_NARROWER_SHOW = "ask without includeDiff, or for single files with code/diff and paths"


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
    found = _commits_in(finished, View(sight, repository.folder), 1, told, _NARROWER_SHOW)
    if not found.commits:
        raise ToolFailure(f"The commit is too large to be read; {_NARROWER_SHOW}") if finished.full else unreadable()
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
    found = decode_text(in_time(finished, _SECONDS, "ask for the commit alone"))
    if found is None:
        raise ToolFailure(f"{escaped(written, 200)} is a binary file; code/show shows text only")
    return found


def _state_show(sight: Sight, asked: ShowArguments) -> object:
    if "@{" in asked.commit:
        raise Untold("what this names depends on when it is asked")
    return history_state(sight, repository_for(sight))


def tool(settings: CodeSettings) -> CodeTool:
    """`code/show` as the policy wants it."""
    return CodeTool("code/show", ShowArguments, partial(show, settings=settings), _state_show)


SHOW = tool(_USUAL)


# ── blame ──
# `code/blame`: who wrote each line of a file, and in which commit. Git is given the content that we have read: it
# opens no file itself.

_SECONDS_BLAME = SECONDS["code/blame"]
_LARGEST_BLAME = 5 << 20
_MOST_LINES = 500
"""Without a range."""
_LONGEST_WORDS = 1_000
"""Characters of an author, and of a message: they come with every line."""
_NOT_YET = "Not committed yet"
_NARROWER_BLAME = (
    "ask for fewer lines with startLine and endLine, or run `rightcall warm` once to make histories faster"
)


class BlameArguments(Struct, frozen=True, rename="camel", kw_only=True):
    path: str
    start_line: int | None = None
    end_line: int | None = None
    include_content: bool = True


class BlameCommit(Struct, frozen=True, rename="camel"):
    """`message` is the first line of it; cut where it is very long."""

    hash: str
    short_hash: str
    author: str
    date: str
    message: str


class BlameLine(Struct, frozen=True, rename="camel", omit_defaults=True):
    line_number: int
    commit: BlameCommit
    content: str | None = None


class BlameResult(Struct, frozen=True, rename="camel", kw_only=True):
    """`truncated`: more lines were meant than are here; `note`: a single line is too long for an answer, and is cut."""

    success: bool = True
    path: str
    lines: list[BlameLine]
    total_lines: int
    truncated: bool
    note: str | UnsetType = UNSET


class _File(Struct, frozen=True):
    """What is blamed. `seconds` is when it was changed last; `committed`: it is the file as git holds it."""

    path: str
    content: bytes
    seconds: int
    committed: bool


def blame(sight: Sight, asked: BlameArguments) -> BlameResult:
    """The file as it is now; in a bare repository as it is at HEAD."""
    named = named_paths(sight, (asked.path,))
    repository = repository_for(sight, named)
    file = _at_head(repository, named[0], asked.path) if repository.bare else _opened(sight, asked.path)
    if b"\0" in file.content:
        raise ToolFailure(f"{escaped(asked.path, 200)} is binary: it has no lines to blame")
    total = file.content.count(b"\n") + (file.content != b"" and not file.content.endswith(b"\n"))
    first, last, truncated = _range(asked, total)
    lines: list[BlameLine] = []
    if last >= first:
        lines = _lines(_blamed(repository, file, first, last), file, with_content=asked.include_content)
        if len(lines) != last - first + 1:
            raise unreadable()
    return _fitting(shown_name(file.path), lines, total, truncated=truncated)


def _fitting(path: str, lines: list[BlameLine], total: int, *, truncated: bool) -> BlameResult:
    """As many of the lines as one answer holds; of a single one that it does not, the beginning."""
    room = AnswerRoom()
    room.take(path)
    kept, note = list(takewhile(room.take, lines)), UNSET
    if lines and not kept:
        first = lines[0]
        whole = first.content or ""
        head = text_head(whole, MOST_ANSWER - json_size(path) - json_size(replace(first, content="…")) - 1)
        kept = [replace(first, content=f"{head}…")]
        note = f"line {first.line_number} is cut after {len(head):,} of {len(whole):,} characters"
    return BlameResult(
        path=path, lines=kept, total_lines=total, truncated=truncated or len(kept) < len(lines), note=note
    )


def _opened(sight: Sight, path: str) -> _File:
    with sight.file(path) as file:
        content = file.read(_LARGEST_BLAME + 1)
        if len(content) > _LARGEST_BLAME:
            raise _too_large(path)
        return _File(file.path, content, int(file.stat.st_mtime), committed=False)


def _at_head(repository: Repository, path: str, written: str) -> _File:
    inside = repository.inside(path)
    finished = run_git(repository, ["cat-file", "blob", f"HEAD:{inside}"], seconds=_SECONDS_BLAME, most=_LARGEST_BLAME)
    if finished.full:
        raise _too_large(written)
    if finished.code != 0 and not finished.late:
        raise Unseen(written)
    return _File(path, in_time(finished, _SECONDS_BLAME, _NARROWER_BLAME), 0, committed=True)


def _too_large(path: str) -> ToolFailure:
    return ToolFailure(f"{escaped(path, 200)} is larger than 5 MB; code/log shows the commits that changed it")


def _range(asked: BlameArguments, total: int) -> tuple[int, int, bool]:
    """The first and the last line to look at, and whether more were meant."""
    first = 1 if asked.start_line is None else asked.start_line
    wanted = total if asked.end_line is None else asked.end_line
    if first < 1 or (asked.end_line is not None and wanted < first):
        raise ToolFailure("startLine and endLine count from 1, and endLine is not before startLine")
    if asked.start_line is not None and first > total:
        raise ToolFailure(f"startLine is {first}, but the file has {total} lines")
    end = min(wanted, total)
    last = min(end, first + (_MOST_LINES if asked.end_line is None else 5000) - 1)
    return first, last, last < end


def _blamed(repository: Repository, file: _File, first: int, last: int) -> bytes:
    command = ["blame", "--porcelain", "--encoding=UTF-8", f"-L{first},{last}"]
    command += ["HEAD"] if file.committed else ["--contents", "-"]
    finished = run_git(
        repository,
        [*command, "--", repository.inside(file.path)],
        seconds=_SECONDS_BLAME,
        most=_MOST_OUTPUT,
        stdin=None if file.committed else file.content,
    )
    if finished.full:
        raise ToolFailure(f"The lines are too long for one answer; {_NARROWER_BLAME}")
    if b"no such path" in finished.err:
        raise ToolFailure(f"{escaped(shown_name(file.path), 200)} is in no commit yet: nobody can be blamed for it")
    if finished.code:
        commit_of(repository, "HEAD")  # it says best that there is none
    return in_time(finished, _SECONDS_BLAME, _NARROWER_BLAME)


def _lines(output: bytes, file: _File, *, with_content: bool) -> list[BlameLine]:
    """Each line has a head with its commit and number, what is known of the commit where that comes first, and its
    content behind a tab."""
    lines: list[BlameLine] = []
    commits: dict[bytes, BlameCommit] = {}
    rest = iter(output.split(b"\n"))
    for head in rest:
        if not head:
            break
        words = head.split(b" ")
        about: dict[bytes, bytes] = {}
        content = b""
        for line in rest:
            if line.startswith(b"\t"):
                content = line[1:]
                break
            key, _, value = line.partition(b" ")
            about[key] = value
        if len(words) < 3 or not words[2].isdigit():
            raise unreadable()
        if b"author" in about:
            commits[words[0]] = _commit(words[0].decode(), about, file)
        if words[0] not in commits:
            raise unreadable()
        lines.append(BlameLine(int(words[2]), commits[words[0]], text_of(content) if with_content else None))
    return lines


def _commit(full: str, about: dict[bytes, bytes], file: _File) -> BlameCommit:
    if not full.strip("0"):
        return BlameCommit(full, full[:SHORT_HASH], _NOT_YET, utc(file.seconds), _NOT_YET)
    seconds = about.get(b"author-time", b"")
    date = utc(int(seconds) if seconds.isdigit() else 0)
    message = cut_end(text_of(about.get(b"summary", b"")), _LONGEST_WORDS)
    return BlameCommit(full, full[:SHORT_HASH], cut_end(text_of(about[b"author"]), _LONGEST_WORDS), date, message)


def _state_blame(sight: Sight, asked: BlameArguments) -> object:
    repository = repository_for(sight, named_paths(sight, (asked.path,)))
    history = history_state(sight, repository)
    if repository.bare:
        return history
    with sight.file(asked.path) as file:
        seen = file.stat
    return history, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


BLAME = CodeTool("code/blame", BlameArguments, blame, _state_blame)
