"""What a person is shown who has to approve a call: everything, and nothing that the call's own text could fake.

Whatever the caller or the model wrote stands behind a margin (`margined`), spelled out (`visible` of
`base/letters.py`). The digest that an answer needs stands at the very end, and only where nothing was left out: what
was shown is what is approved (P-06).
"""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Any, Final, cast

from msgspec import Struct

from rightcall.base.letters import folded, quoted, right_to_left_words, spelled, suspicions, visible
from rightcall.base.text import leaves_out
from rightcall.policy.types import SECOND, Approval

# ── rows ──
# A value as rows for a person who decides: complete, each row behind a margin that nothing in the value can draw.
#
#       │ "path": "docs/a.md"                          names and short values
#       │ "content": text, 24 characters in 2 lines
#       │   │ # Title                                  a line of a text
#       │   ╎ goes on in the next row                  the same line, too long for one row
#       │   ≈ words written from the right             once more as they are, below the row that spells them out
#       ── 300 empty lines ──                          ours: outside the margin
#
# No row is wider than the terminal, so that it never breaks one itself; what is drawn at the left edge is always ours.

DEEPEST: Final = 8
"""Levels that are laid out; what lies deeper is shown as the JSON it is."""

_MOST_LEVELS: Final = 300
_EMPTY: Final = 3
"""Empty lines in a row that are drawn; more are counted."""


class Ours(str):
    """A row that is not from the value; it stands outside its margin."""

    __slots__ = ()


class Hidden(Ours):
    """Says that something is left out."""

    __slots__ = ()


class Number(str):
    """A number as it stands in the JSON, digit by digit."""

    __slots__ = ()


class Paper(Struct, frozen=True):
    """What is written on: how wide it is, how many rows of one text it takes, whether it has only ASCII."""

    width: int
    longest: int | None = None
    """None for all of them."""
    ascii_only: bool = False

    def glyph(self, glyph: str) -> str:
        return {"│": "|", "╎": ":", "≈": "~", "──": "--"}[glyph] if self.ascii_only else glyph

    def visible(self, line: str) -> str:
        return self._typed(visible(line))

    def quoted(self, text: str) -> str:
        return self._typed(quoted(text))

    def _typed(self, text: str) -> str:
        if not self.ascii_only or text.isascii():
            return text
        return "".join(one if one.isascii() else spelled(one) for one in text)

    def margined(self, rows: Iterable[str]) -> list[str]:
        bar = f"  {self.glyph('│')} "
        return [row if isinstance(row, Ours) else (bar + row).rstrip() for row in rows]

    def said(self, words: str) -> str:
        rule = self.glyph("──")
        return f"  {rule} {words} {rule}"


def read(text: str) -> Any:
    """JSON with its numbers as they are written. Raises ValueError or RecursionError."""
    import json  # late: only where a person is asked

    value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    level, depth = [value], 0
    while level:
        level = [inner for one in level for inner in _inside(one)]
        depth += 1
        if depth > _MOST_LEVELS:
            raise ValueError("nested too deeply to be laid out")
    return value


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def value_rows(label: str, value: Any, paper: Paper, depth: int = 0) -> Iterator[str]:
    """A label (already spelled out) and its value."""
    indent = "  " * depth
    if isinstance(value, (dict, list)) and value:
        items = cast("dict[str, Any] | list[Any]", value)
        if depth >= DEEPEST:
            yield from text_rows(f"{label}: deeper levels, as JSON", compact(items), paper, depth)
            return
        yield from _wrapped(f"{indent}{label}:", indent, paper)
        for name, item in named_items(items, paper):
            yield from value_rows(name, item, paper, depth + 1)
    elif isinstance(value, str) and not isinstance(value, Number):
        inline = f'{indent}{label}: "{value}"'
        if _is_simple(value) and '"' not in value and len(inline) <= paper.width and label.isascii():
            yield inline
        else:
            yield from text_rows(f"{label}: {size_of(value)}", value, paper, depth)
    else:
        yield from _wrapped(f"{indent}{label}: {compact(value)}", indent, paper)


def named_items(value: dict[str, Any] | list[Any], paper: Paper) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((paper.quoted(name), item) for name, item in value.items())
    else:
        yield from ((f"[{number}]", item) for number, item in enumerate(value))


def text_rows(label: str, text: str, paper: Paper, depth: int = 0) -> Iterator[str]:
    """A label, and below it a text line by line."""
    indent = "  " * depth
    yield from _wrapped(indent + label, indent, paper)
    yield from cut(list(_line_rows(text, indent + "  ", paper)), paper.longest, paper)


def cut(rows: list[str], longest: int | None, paper: Paper) -> Iterator[str]:
    """Rows with their middle left out where they are too many, and a row of ours that says so."""
    if longest is None or len(rows) <= longest:
        yield from rows
        return
    first = longest * 2 // 3
    last = len(rows) - (longest - first)
    hidden = rows[first:last]
    characters = sum(len(row.lstrip(" │╎|:")) for row in hidden)
    yield from rows[:first]
    yield Hidden(
        paper.said(f"{len(hidden):,} rows with about {characters:,} characters are NOT SHOWN; --full shows all")
    )
    yield from rows[last:]


def size_of(text: str) -> str:
    lines = text.count("\n") + 1
    return f"text, {len(text):,} character{'s' * (len(text) != 1)}" + (f" in {lines:,} lines" if lines > 1 else "")


def compact(value: Any) -> str:
    """JSON in one line; numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{compact(name)}: {compact(item)}" for name, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(compact, cast("list[Any]", value))) + "]"
    import json

    return json.dumps(value, ensure_ascii=False)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value, names too, in no particular order."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield from cast("dict[str, Any]", one)
        elif isinstance(one, str) and not isinstance(one, Number):
            yield one
        left += _inside(one)


def _is_simple(text: str) -> bool:
    return text.isascii() and text.isprintable() and "\\" not in text


def _wrapped(row: str, indent: str, paper: Paper) -> Iterator[str]:
    """A row of names; where it is too long it goes on behind a broken bar."""
    first, *others = folded(row, paper.width)
    yield first
    for piece in folded("".join(others), paper.width - len(indent) - 2) if others else ():
        yield f"{indent}{paper.glyph('╎')} {piece}"


def _line_rows(text: str, indent: str, paper: Paper) -> Iterator[str]:
    empty, room, margin = 0, paper.width - len(indent) - 2, f"{indent}{paper.glyph('│')} "
    for line in text.split("\n"):
        if not line:
            empty += 1
            continue
        if empty:
            yield from _empty_rows(empty, indent, paper)
            empty = 0
        if len(line) <= room and _is_simple(line) and line[-1] != " ":
            yield margin + line
        else:
            yield from _rows_of(line, indent, paper)
    yield from _empty_rows(empty, indent, paper)


def _rows_of(line: str, indent: str, paper: Paper) -> Iterator[str]:
    room = max(8, paper.width - len(indent) - 2)
    blanks = 0
    for number, piece in enumerate(folded(paper.visible(line), room)):
        if number and not piece.strip(" "):
            blanks += len(piece)
            continue
        if blanks:
            yield Ours(paper.said(f"{blanks:,} blanks"))
            blanks = 0
        yield f"{indent}{paper.glyph('╎' if number else '│')} {piece}"
    words = [] if paper.ascii_only else right_to_left_words(line)
    for row in folded(" · ".join(words), room) if words else ():
        yield f"{indent}{paper.glyph('≈')} {row}"


def _empty_rows(count: int, indent: str, paper: Paper) -> Iterator[str]:
    if count <= _EMPTY:
        yield from [indent + paper.glyph("│")] * count
    else:
        yield Ours(paper.said(f"{count:,} empty lines"))


# ── changed definitions ──
# What has changed in a tool's definition, row by row.

_MOST_ROWS: Final = 1500
"""Rows of a definition that are compared; the comparison takes the square of it."""


def changes(before: str, now: str, paper: Paper) -> Iterator[str]:
    """The rows that are gone (`-`) and those that are new (`+`)."""
    if not before:
        yield Ours(paper.said("the earlier definition is not known any more"))
        return
    narrow = Paper(paper.width - 2, None, paper.ascii_only)
    old, new = list(_rows(before, narrow)), list(_rows(now, narrow))
    if max(len(old), len(new)) > _MOST_ROWS:
        yield Ours(paper.said(f"too long to compare: {len(old):,} rows before, {len(new):,} now"))
        return
    found = False
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found = True
            yield from (f"- {row}" for row in old[a:b])
            yield from (f"+ {row}" for row in new[c:d])
    if not found:
        yield Ours(paper.said("nothing that shows"))


def _rows(text: str, paper: Paper) -> Iterator[str]:
    try:
        value = read(text)
    except (ValueError, RecursionError):
        yield from text_rows("text", text, paper)
        return
    if isinstance(value, (dict, list)):
        for name, item in named_items(value, paper):  # pyright: ignore[reportUnknownArgumentType] - any JSON
            yield from value_rows(name, item, paper)
    else:
        yield from value_rows("value", value, paper)


_LABEL: Final = 12
LEAST_WIDTH: Final = 40
"""Columns; in fewer the margin could not be kept."""
_MARGIN: Final = 6
"""Columns of the margin, where a terminal draws each of its two bars in two."""
_BODIES: Final = {"call": "arguments", "definition": "definition", "server": "reached by"}
_LONGEST_TEXT: Final = 30
"""Rows of one text in the short view."""
_LONGEST_PART: Final = 150
"""Rows of the whole call in the short view."""


class View(Struct, frozen=True):
    """The lines, and whether they leave nothing out: only then they end with the digest."""

    lines: list[str]
    complete: bool


def question_lines(
    approval: Approval, *, now: int, width: int, full: bool = True, ascii_only: bool = False, before: str = ""
) -> list[str]:
    """The question as lines that are safe to print as they are. Not `full`: long texts lose their middle, and the
    digest is not shown where they do. `before` is the definition that a changed one replaces, where it is known."""
    return view(approval, now=now, width=width, full=full, ascii_only=ascii_only, before=before).lines


def view(
    approval: Approval, *, now: int, width: int, full: bool = True, ascii_only: bool = False, before: str = ""
) -> View:
    wide = max(LEAST_WIDTH, width)
    paper = Paper(wide - _MARGIN, None if full else _LONGEST_TEXT, ascii_only)
    details, value = details_of(approval), value_of(approval.canonical)
    cut_off = is_cut_off(approval)
    head = list(_head(approval, details, folder_of(value), now, paper))
    body = [*_call(approval, value, paper), *_changes(approval, before, paper), *_beside(details, paper)]
    complete = not any(isinstance(line, Hidden) for line in body)
    lines = [*head, *body, *_warnings(approval, value, paper), *_end(approval, complete, cut_off, paper)]
    return View([str(line) for line in lines], complete and bool(approval.canonical))


def is_cut_off(approval: Approval) -> bool:
    """Whether the tool itself could not show all that it would do: no view of it is whole."""
    return leaves_out(details_of(approval).get("preview"))


def time_left(expires_at: int, now: int) -> str:
    """How long until a moment of the monotonic clock; `expired` once it is over."""
    if expires_at <= now:
        return "expired"
    seconds = (expires_at - now) // SECOND
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    return (
        f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
    )


def state_of(approval: Approval, now: int) -> str:
    """In a few words: whether it waits, for how long, or what was answered."""
    left = time_left(approval.expires_at, now)
    if approval.status == "waiting":
        return "expired unanswered" if left == "expired" else f"waiting, {left} left"
    if approval.status == "approved":
        return "approved, but expired unused" if left == "expired" else f"approved, {left} left to use it"
    return approval.status


def folder_of(value: Any) -> str:
    """Where a call would run, if not in the root."""
    return str(cast("dict[str, Any]", value).get("folder", "")) if isinstance(value, dict) else ""


def _head(approval: Approval, details: dict[str, Any], folder: str, now: int, paper: Paper) -> Iterator[str]:
    asked = "a call" if approval.kind == "call" else f"a changed {approval.kind}"
    yield from _labelled("question", f"{paper.visible(approval.id)} about {asked}: {state_of(approval, now)}", paper)
    if approval.by:
        yield from _labelled(
            "answered", f"by {paper.quoted(approval.by)}, {paper.visible(approval.answered)} UTC", paper
        )
    yield from _labelled("asked by", paper.quoted(approval.caller), paper)
    if approval.context is not None:
        yield from _labelled("in context", paper.quoted(approval.context), paper)
    if folder:
        yield from _labelled("in folder", paper.quoted(folder), paper)
    yield from _labelled("server" if approval.kind == "server" else "tool", paper.quoted(approval.tool), paper)
    yield from _labelled("why", paper.visible(approval.why), paper)
    effects = details.pop("effects", None)
    if effects is not None:
        words = ", ".join(map(str, _listed(effects)))
        yield from _labelled("effects", paper.visible(words), paper)
    confidence = details.pop("confidence", None)
    if confidence is not None:
        repaired = "repaired, see below" if details.get("repairs") else "unchanged"
        yield from _labelled("confidence", f"{paper.visible(str(confidence))} ({repaired})", paper)
    if approval.kind == "call":
        bound = f"{paper.visible(approval.state[:16])}: an approval is void once it changes"
        yield from _labelled("state", bound if approval.state else "it touches nothing whose state is known", paper)
    yield from _labelled("asked", f"{paper.visible(approval.asked)} UTC", paper)


def _call(approval: Approval, value: Any, paper: Paper) -> Iterator[str]:
    what = _BODIES[approval.kind]
    if not approval.canonical:
        yield from _labelled(what, "no longer kept: it was answered or used, or it expired", paper)
        return
    size = f"{len(approval.canonical):,} characters as JSON"
    shown = arguments_of(value, approval)
    if isinstance(shown, (dict, list)):
        items = cast("dict[str, Any] | list[Any]", shown)
        yield from _labelled(what, f"{len(items)} ({size} in all)" if items else "none", paper)
        rows = [row for name, item in named_items(items, paper) for row in value_rows(name, item, paper)]
    else:
        yield from _labelled(what, f"{size}, which cannot be laid out", paper)
        rows = list(text_rows("as it is", approval.canonical, paper))
    yield from paper.margined(cut(rows, None if paper.longest is None else _LONGEST_PART, paper))


def arguments_of(value: Any, approval: Approval) -> Any:
    """The arguments alone where the head says the rest, otherwise everything."""
    if (
        approval.kind == "call"
        and isinstance(value, dict)
        and value.keys() - {"folder"} == {"name", "arguments"}
        and value["name"] == approval.tool
    ):
        return cast("dict[str, Any]", value)["arguments"]
    return cast("Any", value)


def _changes(approval: Approval, before: str, paper: Paper) -> Iterator[str]:
    if approval.kind != "call" and approval.canonical:
        yield from _labelled("changed", "from what was known before (-) to what it is now (+)", paper)
        yield from paper.margined(changes(before, approval.canonical, paper))


def _beside(details: dict[str, Any], paper: Paper) -> Iterator[str]:
    """Repairs, preview, and whatever else was noted."""
    repairs = details.pop("repairs", None)
    if repairs:
        yield from _labelled("repairs", "repairs made to the model output", paper)
        yield from paper.margined(row for one in _listed(repairs) for row in _repair(one, paper))
    preview = details.pop("preview", None)
    if preview:
        yield from _labelled("preview", "what would happen", paper)
        if leaves_out(preview):
            yield Hidden(paper.said("NOT EVERYTHING IS SHOWN; it cannot be approved from here"))
        yield from paper.margined(value_rows("preview", preview, paper))
    if details:
        yield from _labelled("besides", "", paper)
        rows = (row for name, item in named_items(details, paper) for row in value_rows(name, item, paper))
        yield from paper.margined(rows)


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _repair(repair: Any, paper: Paper) -> Iterator[str]:
    if not isinstance(repair, dict):
        yield from value_rows("repair", repair, paper)
        return
    said = dict(cast("dict[str, Any]", repair))
    path = said.pop("path", "")
    label = paper.quoted(path) if isinstance(path, str) and path else "the call"
    before, after = said.pop("before", None), said.pop("after", None)
    yield from value_rows(f"{label} before", before, paper)
    yield from value_rows(f"{label} after", after, paper)
    yield from value_rows(f"{label} by", {name: item for name, item in said.items() if item is not None}, paper)


def details_of(approval: Approval) -> dict[str, Any]:
    """What was noted beside the call."""
    found = value_of(approval.details)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {"details": found}


def value_of(text: str) -> Any:
    """What a JSON text says; itself where it is none, since nothing is left unshown."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text


def _warnings(approval: Approval, value: Any, paper: Paper) -> Iterator[str]:
    told = warnings_of(approval, value)
    if told:
        yield from _labelled("look closely", "", paper)
    for one in told:
        for number, row in enumerate(folded(one, paper.width)):
            yield f"  {' ' if number else '!'} {row}"


def warnings_of(approval: Approval, value: Any) -> list[str]:
    """What a person should know of the letters in a question, in plain ASCII. `value` is what its call says."""
    texts = "\n".join(texts_in(arguments_of(value, approval)))
    return [
        *_foreign("the caller's name", approval.caller),
        *_foreign("the context's name", approval.context or ""),
        *_foreign("the folder's name", folder_of(value)),
        *_foreign(f"the {'server' if approval.kind == 'server' else 'tool'}'s name", approval.tool),
        *(f"the {approval.kind} has {found}" for found in suspicions(texts)),
    ]


def _foreign(what: str, name: str) -> Iterator[str]:
    """A name is worth a warning for any letter beyond ASCII."""
    if not name.isascii():
        yield f"{what} is {Paper(0, ascii_only=True).quoted(name)}"
        yield from (f"{what} has {found}" for found in suspicions(name))


def fits_digest(approval: Approval) -> bool:
    """Whether what is shown is what the digest is of: otherwise somebody has changed the store."""
    return sha256(approval.canonical.encode("utf-8", "surrogatepass")).hexdigest() == approval.digest


def _end(approval: Approval, complete: bool, cut_off: bool, paper: Paper) -> Iterator[str]:
    if not approval.canonical:
        return
    if not fits_digest(approval):
        yield from _labelled(
            "digest", "NOT the digest of what is shown: somebody has changed the store. Deny it.", paper
        )
    elif complete:
        yield from _labelled("digest", paper.visible(approval.digest), paper)
    elif cut_off:
        yield from _labelled("digest", "none: an approval would also cover what is not shown", paper)
    else:
        yield from _labelled("digest", "only below the whole call: run the same command with `--full`", paper)


def _labelled(label: str, text: str, paper: Paper) -> Iterator[str]:
    """A line of ours. What stands in it has been spelled out; the next rows begin with a bar, so that no row of it
    can be taken for another line of ours."""
    first, *others = (folded if text.startswith('"') else _at_blanks)(text, paper.width + 4 - _LABEL)
    yield f"{label:<{_LABEL}}{first}".rstrip()
    for row in others:
        yield f"  {paper.glyph('╎')}{'':<{_LABEL - 3}}{row}"


def _at_blanks(text: str, width: int) -> list[str]:
    """As `folded`, but between words where that is possible."""
    if not text.isascii():
        return folded(text, width)
    rows: list[str] = []
    while len(text) > width:
        blank = text.rfind(" ", width // 2, width + 1)
        end = blank if blank > 0 else width
        rows.append(text[:end])
        text = text[end:].removeprefix(" ")
    return [*rows, text]
