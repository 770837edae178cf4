"""`code/blame`: who wrote each line of a file, and in which commit. Git is given the content that we have read: it
opens no file itself."""

from itertools import takewhile

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.execute.code.asking import in_time, named_paths, unreadable
from rightcall.execute.code.changes import SHORT_HASH, text_of
from rightcall.execute.code.git.refs import commit_of
from rightcall.execute.code.git.repository import Repository, repository_for
from rightcall.execute.code.git.run import run_git
from rightcall.execute.code.git.state import history_state
from rightcall.execute.code.moments import utc
from rightcall.execute.code.tool import CodeTool
from rightcall.fs.names import shown_name
from rightcall.fs.sight import Sight, Unseen
from rightcall.text.cut import MOST_ANSWER, AnswerRoom, json_size, text_head
from rightcall.text.escape import cut_end, escaped

_SECONDS = 20.0
_LARGEST = 5 << 20
_MOST_LINES = 500
"""Without a range."""
_MOST_ASKED = 5000
_MOST_OUTPUT = 32 << 20
_LONGEST_WORDS = 1_000
"""Characters of an author, and of a message: they come with every line."""
_NOT_YET = "Not committed yet"
_NARROWER = "ask for fewer lines with startLine and endLine, or run `rightcall warm` once to make histories faster"


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
        content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise _too_large(path)
        return _File(file.path, content, int(file.stat.st_mtime), committed=False)


def _at_head(repository: Repository, path: str, written: str) -> _File:
    inside = repository.inside(path)
    finished = run_git(repository, ["cat-file", "blob", f"HEAD:{inside}"], seconds=_SECONDS, most=_LARGEST)
    if finished.full:
        raise _too_large(written)
    if finished.code != 0 and not finished.late:
        raise Unseen(written)
    return _File(path, in_time(finished, _SECONDS, _NARROWER), 0, committed=True)


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
    last = min(end, first + (_MOST_LINES if asked.end_line is None else _MOST_ASKED) - 1)
    return first, last, last < end


def _blamed(repository: Repository, file: _File, first: int, last: int) -> bytes:
    command = ["blame", "--porcelain", "--encoding=UTF-8", f"-L{first},{last}"]
    command += ["HEAD"] if file.committed else ["--contents", "-"]
    finished = run_git(
        repository,
        [*command, "--", repository.inside(file.path)],
        seconds=_SECONDS,
        most=_MOST_OUTPUT,
        stdin=None if file.committed else file.content,
    )
    if finished.full:
        raise ToolFailure(f"The lines are too long for one answer; {_NARROWER}")
    if b"no such path" in finished.err:
        raise ToolFailure(f"{escaped(shown_name(file.path), 200)} is in no commit yet: nobody can be blamed for it")
    if finished.code:
        commit_of(repository, "HEAD")  # it says best that there is none
    return in_time(finished, _SECONDS, _NARROWER)


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


def _state(sight: Sight, asked: BlameArguments) -> object:
    repository = repository_for(sight, named_paths(sight, (asked.path,)))
    history = history_state(sight, repository)
    if repository.bare:
        return history
    with sight.file(asked.path) as file:
        seen = file.stat
    return history, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


TOOL = CodeTool("code/blame", BlameArguments, blame, _SECONDS, _state)
