"""`code/read`: the lines of a file, exactly as they stand there."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from contextlib import suppress
from functools import cache, partial
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from rightcall.base.files.sight import Opened, Sight, shown_name
from rightcall.base.text import MOST_ANSWER, AnswerRoom, cut_end, escaped, json_size, text_head, utc
from rightcall.errors import ToolFailure
from rightcall.policy.settings import CodeSettings
from rightcall.tools.code import CodeTool
from rightcall.tools.code.structure import language_of, structure_of

# ── decoding ──
# Bytes of a file as text, and what encoding that was.

_MARKS = (
    (BOM_UTF32_LE, "utf-32-le"),  # before the one it begins with
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(data: bytes) -> tuple[str, str] | None:
    """The text without its byte-order mark, and the encoding's name; None for what is no text. A NUL byte means that,
    unless a mark says that NUL bytes are to be expected.

    >>> decode_text(b"caf\\xc3\\xa9"), decode_text(b"caf\\xe9"), decode_text(b"\\xff\\xfea\\0"), decode_text(b"\\x7fELF\\0")
    (('café', 'utf-8'), ('café', 'windows-1252'), ('a', 'utf-16-le'), None)
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (text := _marked(data, mark, encoding)) is not None:
            return text, encoding
    if b"\0" in data:
        return None
    # windows-1252 leaves five bytes open, the last one none
    for encoding in ("utf-8-sig" if data.startswith(BOM_UTF8) else "utf-8", "windows-1252", "iso-8859-1"):
        with suppress(UnicodeDecodeError):
            return data.decode(encoding), encoding
    return None


def _marked(data: bytes, mark: bytes, encoding: str) -> str | None:
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


MOST_LINES = 500
_MOST_STRUCTURE = MOST_ANSWER // 2
"""Bytes of a structure as JSON: the lines need room too."""
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
    found = decode_text(data)
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

    tokens, whole = tokens_of(text, path, first, last, room)
    return tokens, None if whole else f"only the first {len(tokens):,} syntax tokens are here; fewer lines have fewer"


def tool(settings: CodeSettings) -> CodeTool:
    """`code/read` as the policy wants it."""
    return CodeTool("code/read", ReadArguments, partial(read, settings=settings))


TOOL = tool(_USUAL)


# ── languages ──
# How languages look: marks of comments, quotes of strings, keywords.

# ruff: noqa: E501 - a language is one line

Style = tuple[tuple[str, ...], str, str]

_C = ("//", "/*")
STYLES: dict[str, Style] = {
    "python": (("#",), "\"\"\" ''' \" '", "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield"),
    "javascript": (_C, "\" ' `", "as async await break case catch class const continue debugger default delete do else export extends false finally for from function if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while with yield"),
    "java": (_C, '""" " \'', "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package private protected public record return short static super switch synchronized this throw throws true try var void volatile while"),
    "go": (_C, "\" ' `", "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var"),
    "rust": (_C, '"', "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while"),
    "c": (_C, "\" '", "auto bool break case char const continue default do double else enum extern false float for goto if inline int long register return short signed sizeof static struct switch true typedef union unsigned void volatile while"),
    "cpp": (_C, "\" '", "auto bool break case catch char class const constexpr continue default delete do double else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while"),
    "csharp": (_C, '""" " \'', "abstract as async await base bool break byte case catch char class const continue decimal default delegate do double else enum event false finally float for foreach get if in int interface internal is lock long namespace new null object out override params private protected public readonly record ref return sealed set short static string struct switch this throw true try typeof uint using var virtual void where while yield"),
    "ruby": (("#",), "\" ' `", "BEGIN END alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield"),
    "php": (("//", "/*", "#"), "\" '", "abstract and array as break case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global if implements include instanceof interface isset list match namespace new null or print private protected public readonly require require_once return static switch this throw trait true try unset use var while yield"),
    "kotlin": (_C, '""" " \'', "abstract as break by catch class companion const constructor continue data do else enum false final finally for fun if import in init inline interface internal is lateinit null object open operator override package private protected public return sealed super suspend this throw true try typealias val var when while"),
    "swift": (_C, '""" "', "as associatedtype async await break case catch class continue default defer do else enum extension false fileprivate final for func guard if import in init inout internal is let mutating nil open operator override private protocol public repeat rethrows return self Self static struct subscript super switch throw throws true try typealias var where while"),
    "scala": (_C, '""" " \'', "abstract case catch class def do else enum extends false final finally for given if implicit import lazy match new null object override package private protected return sealed super then this throw trait true try type using val var while with yield"),
    "lua": (("--", "--[["), "\" '", "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"),
    "bash": (("#",), "\" ' `", "break case continue do done elif else esac exit export fi for function if in local readonly return select set shift then until while"),
}  # fmt: skip
_TYPESCRIPT = " abstract any boolean declare enum implements interface keyof namespace never number private protected public readonly string type unknown"
STYLES["typescript"] = STYLES["tsx"] = (
    _C, STYLES["javascript"][1], STYLES["javascript"][2] + _TYPESCRIPT
)  # fmt: skip
OTHER: Style = ((), '"', "")


# ── syntax tokens ──
# Syntax tokens: comments, strings, numbers, keywords, identifiers and operators, for whoever wants to colour a text.
# A lexer of one expression per language. Each step takes what it has looked at, so the time is linear in the text.

MOST_TOKENS = 5_000

_BLOCKS = {"/*": "*/", "--[[": "]]"}
_OVER_LINES = frozenset(('"""', "'''", "`"))


class SyntaxToken(Struct, frozen=True):
    """Lines and columns are counted from 1, columns in characters. A long text is cut."""

    type: str
    line: int
    column: int
    text: str


def tokens_of(text: str, path: str, first: int, last: int, room: AnswerRoom) -> tuple[list[SyntaxToken], bool]:
    """The tokens in these lines, and whether that is all of them: there are so many at most, and no more than fit. The
    first may begin above the lines. The text is the whole file: whether a line lies in a comment is decided further
    up."""
    lexer, keywords = _lexer(language_of(path, text) or "")
    found: list[SyntaxToken] = []
    line, line_start, seen = 1, 0, 0
    for token in lexer.finditer(text):
        start = token.start()
        if breaks := text.count("\n", seen, start):
            line += breaks
            line_start = text.rindex("\n", seen, start) + 1
        seen = start
        if line > last:
            break
        if line >= first or line + text.count("\n", start, token.end()) >= first:
            kind, written = token.lastgroup or "", token.group()
            kind = "keyword" if kind == "identifier" and written in keywords else kind
            one = SyntaxToken(kind, line, start - line_start + 1, cut_end(written, 200))
            if len(found) == MOST_TOKENS or not room.take(one):
                return found, False
            found.append(one)
    return found, True


@cache
def _lexer(language: str) -> tuple[re.Pattern[str], frozenset[str]]:
    comments, quotes, keywords = STYLES.get(language, OTHER)
    longest_first = sorted(comments, key=len, reverse=True)
    unless = f"(?!{'|'.join(map(re.escape, comments))})" if comments else ""
    parts = {
        "comment": "|".join(_comment(mark) for mark in longest_first) or "(?!)",
        "string": "|".join(_string(quote) for quote in quotes.split()),
        "number": r"(?<!\w)\d(?:[eE][+-]|\.(?=\d)|\w)*+",
        "identifier": r"[^\W\d]\w*+[?!]?(?<=[\w?!])" if language == "ruby" else r"[$@]?[^\W\d]\w*+",
        "operator": rf"(?:{unless}[-+*/%=<>!&|^~?:.])++|[^\w\s]",
    }
    return re.compile("|".join(f"(?P<{name}>{part})" for name, part in parts.items())), frozenset(keywords.split())


def _comment(mark: str) -> str:
    if mark in _BLOCKS:
        return rf"{re.escape(mark)}(?s:.*?)(?:{re.escape(_BLOCKS[mark])}|\Z)"
    return rf"{re.escape(mark)}[^\n]*+"


def _string(quote: str) -> str:
    """Up to its end; one that is not closed ends with its line, or with the text where it may hold lines."""
    mark = re.escape(quote)
    if quote in _OVER_LINES:
        return rf"{mark}(?s:\\.|(?!{mark}).)*+(?:{mark}|\Z)"
    return rf"{mark}(?:\\(?s:.)|[^\\\n{mark}])*+(?:{mark})?"
