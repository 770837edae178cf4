"""`code/read`: the lines of a file, exactly as they stand there."""

from functools import partial
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from rightcall.config_hands import CodeSettings
from rightcall.errors import ToolFailure
from rightcall.execute.code.decoding import decoded
from rightcall.execute.code.moments import utc
from rightcall.execute.code.tool import CodeTool
from rightcall.fs.names import shown_name
from rightcall.fs.sight import Opened, Sight
from rightcall.text.cut import MOST_ANSWER, AnswerRoom, json_size, text_head
from rightcall.text.escape import escaped

MOST_LINES = 500
_MOST_STRUCTURE = MOST_ANSWER // 2
"""Bytes of a structure as JSON: the lines need room too."""
SECONDS = 10.0
_AROUND = 4
"""Bytes around a line in a list: quotes, a comma, a blank."""
_USUAL = CodeSettings()


class ReadArguments(Struct, frozen=True, rename="camel", kw_only=True):
    """Lines are counted from 1, both ends belong to the range."""

    path: str
    start_line: int | None = None
    end_line: int | None = None
    max_lines: int = MOST_LINES
    syntax_highlight: bool = False
    include_metadata: bool = True
    include_lines: bool = False
    include_structure: bool | None = None
    """None: as the policy says."""


class ReadMetadata(Struct, frozen=True, rename="camel", kw_only=True):
    """`end_line` is the last line returned: there is more when it is below `total_lines`. An empty file has no lines,
    and its range is 0 to 0."""

    total_lines: int
    lines_returned: int
    start_line: int
    end_line: int
    last_modified: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    encoding: str | UnsetType = UNSET
    """Left out with the rest only where it is UTF-8: what was decoded otherwise cannot be written back as it stands."""


class ReadResult(Struct, frozen=True, rename="camel", kw_only=True):
    """The design's result; `structure` comes when it was asked for."""

    success: bool = True
    path: str
    content: str
    lines: list[str] | UnsetType = UNSET
    """The same without line ends, where they were asked for."""
    metadata: ReadMetadata
    syntax_tokens: list[Any] | UnsetType = UNSET
    structure: Any = UNSET
    note: str | UnsetType = UNSET
    """Why there is no structure, that a line is cut, or that not all tokens are here."""


def read(sight: Sight, asked: ReadArguments, settings: CodeSettings = _USUAL) -> ReadResult:
    """The lines that were asked for. Raises ToolFailure. What stands in the file as a whole comes into the answer
    first, then as many lines as fit, then the tokens in them."""
    with sight.file(asked.path) as file:
        text, encoding = _text(file, asked.path, settings.largest_file)
    total = line_count(text)
    first, last = _range(asked, total)
    path, room = shown_name(file.path), AnswerRoom()
    room.take(path)
    structure, no_structure = _structure(asked, settings, text, file.path, room)
    content, last, cut = _fitting(_lines(text, first, last, total), first, last, room, twice=asked.include_lines)
    tokens, no_tokens = _tokens(asked, text, file.path, first, last, room)
    told = asked.include_metadata
    metadata = ReadMetadata(
        total_lines=total,
        lines_returned=last - first + 1 if total else 0,
        start_line=first,
        end_line=last,
        last_modified=utc(file.stat.st_mtime) if told else UNSET,
        size=file.stat.st_size if told else UNSET,
        encoding=encoding if told or encoding != "utf-8" else UNSET,
    )
    note = "; ".join(one for one in (no_structure, cut, no_tokens) if one)
    return ReadResult(
        path=path, content=content, lines=bare_lines(content) if asked.include_lines else UNSET, metadata=metadata,
        syntax_tokens=tokens, structure=structure, note=note or UNSET,
    )  # fmt: skip


def _text(file: Opened, written: str, largest: int) -> tuple[str, str]:
    size = file.stat.st_size
    data = file.read(size + 1) if size <= largest else b""
    if len(data) > size:  # it has grown since we looked
        data = file.read(largest + 1)
    if len(data) > largest or size > largest:
        raise ToolFailure(
            f"{escaped(written, 200)} has {max(size, len(data)):,} bytes, code/read takes at most {largest:,}; "
            "code/search finds lines in it"
        )
    found = decoded(data)
    if found is None:
        raise ToolFailure(f"{escaped(written, 200)} is a binary file ({size:,} bytes); code/read shows text only")
    return found


def line_count(text: str) -> int:
    """A line break at the end begins no other line."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _range(asked: ReadArguments, total: int) -> tuple[int, int]:
    first = 1 if asked.start_line is None else asked.start_line
    last = total if asked.end_line is None else asked.end_line
    if first < 1 or asked.max_lines < 1:
        raise ToolFailure("startLine and maxLines must be 1 or more; lines are counted from 1")
    if asked.end_line is not None and last < first:
        raise ToolFailure(f"endLine {last} lies before startLine {first}; the file has {total:,} lines")
    if not total and first == 1:
        return 0, 0
    if first > total:
        raise ToolFailure(f"startLine {first} lies beyond the end; the file has {total:,} lines")
    return first, min(last, total, first + min(asked.max_lines, MOST_LINES) - 1)


def _lines(text: str, first: int, last: int, total: int) -> str:
    if first <= 1 and last == total:
        return text
    start = _line_start(text, first - 1, 0)
    return text[start : _line_start(text, last - first + 1, start)]


def bare_lines(content: str) -> list[str]:
    """The lines of a text, one by one and without their ends.

    >>> bare_lines("one\\r\\ntwo\\n"), bare_lines("")
    (['one', 'two'], [])
    """
    return [line.removesuffix("\r") for line in content.removesuffix("\n").split("\n")] if content else []


def _fitting(content: str, first: int, last: int, room: AnswerRoom, *, twice: bool) -> tuple[str, int, str | None]:
    """As many of the lines as fit into an answer, `twice` where each is told by itself too, and the last of them; of a
    single one that does not, the beginning, and a note that says so."""
    head = text_head(content, (room.left - MOST_LINES * _AROUND) // 2 if twice else room.left)
    room.left -= json_size(head) + (json_size(bare_lines(head)) if twice else 0)
    if len(head) == len(content):
        return content, last, None
    if head.endswith("\n"):
        return head, first + head.count("\n") - 1, None
    line = content.find("\n") + 1 or len(content)
    return head, first, f"line {first} is cut after {len(head):,} of {line:,} characters"


def _line_start(text: str, breaks: int, start: int) -> int:
    """The place after so many line breaks from `start` on, the end where there are fewer. A few are stepped over;
    for many the place is closed in on by halves, so that a file of nothing but line breaks costs no more."""
    if breaks <= MOST_LINES:
        for _ in range(breaks):
            start = text.find("\n", start) + 1
            if not start:
                return len(text)
        return start
    low, high = start, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        here = text.count("\n", low, middle)
        if here >= breaks:
            high = middle
        else:
            low, breaks = middle, breaks - here
    return high


def _structure(
    asked: ReadArguments, settings: CodeSettings, text: str, path: str, room: AnswerRoom
) -> tuple[Any, str | None]:
    """The structure where it was asked for, or why there is none. Where only the policy asks for it, a file without any
    needs no words."""
    wanted = settings.structure if asked.include_structure is None else asked.include_structure
    if not wanted:
        return UNSET, None
    from rightcall.execute.code.structure import structure_of

    structure, note = structure_of(text, path)
    size = json_size(structure)
    if size > _MOST_STRUCTURE:
        structure, note, size = None, "no structure: it is too large for one answer", 0
    room.left -= size
    return structure, note if asked.include_structure else None


def _tokens(
    asked: ReadArguments, text: str, path: str, first: int, last: int, room: AnswerRoom
) -> tuple[list[Any] | UnsetType, str | None]:
    """The tokens where they were asked for, and what to say when they are not all here."""
    if not asked.syntax_highlight:
        return UNSET, None
    from rightcall.execute.code.tokens import tokens_of

    tokens, whole = tokens_of(text, path, first, last, room)
    return tokens, None if whole else f"only the first {len(tokens):,} syntax tokens are here; fewer lines have fewer"


def tool(settings: CodeSettings) -> CodeTool:
    """`code/read` as the policy wants it."""
    return CodeTool("code/read", ReadArguments, partial(read, settings=settings), seconds=SECONDS)


TOOL = tool(_USUAL)
