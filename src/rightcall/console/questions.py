"""A question to a person, laid out for a page: everything that the terminal shows (`executor/question.py`), and under
the same rule. What the caller wrote stands in numbered lines inside its own box, spelled out; nothing is left out,
and the digest that an answer needs is there only where that is so (P-06).
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeVar, cast

from msgspec import Struct

from rightcall.base.letters import right_to_left_words, visible
from rightcall.executor.question import (
    DEEPEST,
    Number,
    Paper,
    arguments_of,
    changes,
    compact,
    details_of,
    fits_digest,
    folder_of,
    is_cut_off,
    named_items,
    size_of,
    state_of,
    value_of,
    warnings_of,
)
from rightcall.policy.types import SECOND, Approval

_PAPER: Final = Paper(10_000)
_EMPTY: Final = 3
"""Empty lines in a row that are drawn; more are counted, so that nothing is pushed out of sight."""
_BLANKS: Final = re.compile(" {41,}")
HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_EFFECTS: Final = {
    "write": "change files", "execute": "run a program", "network": "use the network", "read": "read",
    "send": "send something", "destroy": "delete something",
}  # fmt: skip
_FRAME: Final = 60
"""Characters that a page has around each line."""
MOST_SHOWN: Final = 5_000_000
"""Characters that a page may have of one question. The largest call that may wait by default, in lines of the usual
length, has half of that."""
_LONG: Final = 60
"""Characters of a text that stands beside its label; a longer one gets lines of its own."""
_SCREENS: Final = 80
"""Rows and lines, each of up to"""
_WIDTH: Final = 100
"""characters, of a question that a person sees whole with a glance and a scroll."""
_TOLD_IN_A_LINE: Final = ("rule", "strategy", "confidence", "path")


class Piece(Struct, frozen=True):
    """A part of a line; `ours`: not from the value, such as how many blanks stand there."""

    text: str
    ours: bool = False


class TextLine(Struct, frozen=True):
    """One line of a text. `number` is 0 for a line of ours."""

    number: int
    pieces: list[Piece]
    words: str = ""
    """Those that are written from the right, once more as they are."""
    mark: Literal["", "+", "-"] = ""
    """Of a difference: whether the line is new or gone."""


class Row(Struct, frozen=True):
    """A value behind its label: a short text, or lines."""

    label: str
    depth: int
    value: str = ""
    lines: list[TextLine] = []
    note: str = ""
    """How long the text is."""


class Question(Struct, frozen=True, kw_only=True):
    """All that a page shows of one approval."""

    approval: Approval
    sentence: str
    state: str
    is_waiting: bool
    seconds_left: int
    folder: str
    rule: str
    why: str
    effects: str
    confidence: str
    arguments: list[Row]
    size: int
    changes: list[TextLine]
    """Of a changed definition or server, against what was known."""
    repairs: list[Row]
    preview: list[Row]
    besides: list[Row]
    warnings: list[str]
    digest: str
    """Empty where not everything is shown, or where it is not the digest of what is: then there is no yes."""
    obstacle: str
    """Why it cannot be approved from here."""
    is_too_long: bool = False
    """For a page, which then shows nothing of it."""

    @property
    def is_long(self) -> bool:
        """Whether its end is far below: then the yes is only there, behind everything."""
        shown = (*self.arguments, *self.preview, *self.besides)
        lines = [*self.changes, *(line for row in shown for line in row.lines)]
        drawn = len(shown) + sum(1 + sum(len(one.text) for one in line.pieces) // _WIDTH for line in lines)
        return drawn > _SCREENS


def lay_out(approval: Approval, before: str, now: int) -> Question:
    """`before` is the definition that a changed one replaces, where it is known."""
    details, value = details_of(approval), value_of(approval.canonical)
    left = max(0, (approval.expires_at - now) // SECOND)
    waits = approval.status == "waiting" and approval.expires_at > now
    rule, _, why = approval.why.partition(": ")
    effects = [str(one) for one in _listed(details.pop("effects", ()))]
    confidence = details.pop("confidence", None)
    repairs, preview = details.pop("repairs", None), details.pop("preview", None)
    too_long = _length([value, before, repairs, preview, details]) > MOST_SHOWN
    obstacle = _obstacle(approval) or (_TOO_LONG.format(id=visible(approval.id)) if too_long else "")
    kept = bool(approval.canonical) and not too_long
    return Question(
        approval=approval,
        sentence=_sentence(approval, value, effects),
        state=state_of(approval, now),
        is_waiting=waits,
        seconds_left=left,
        folder=folder_of(value),
        rule=visible(rule),
        why=visible(why),
        effects=visible(", ".join(effects)),
        confidence="" if confidence is None else visible(str(confidence)),
        arguments=list(rows_of(arguments_of(value, approval), "as it is")) if kept else [],
        size=len(approval.canonical),
        changes=_difference(before, approval) if approval.kind != "call" and kept else [],
        repairs=[] if too_long else [row for one in _listed(repairs or ()) for row in _repair(one)],
        preview=list(rows("", preview, is_diff=True)) if preview and not too_long else [],
        besides=list(rows_of(details, "")) if details and not too_long else [],
        warnings=warnings_of(approval, value),
        digest="" if obstacle else approval.digest,
        obstacle=obstacle,
        is_too_long=too_long,
    )


_TOO_LONG: Final = (
    "It is too long for a page. Read it with `rightcall approvals show {id} --full` and answer it at the terminal, or "
    "deny it."
)


def _length(value: Any) -> int:
    """About how many characters a page would have of a value; found before it is laid out."""
    left, length = [value], 0
    while left:
        one = left.pop()
        if isinstance(one, dict):
            items = cast("dict[str, Any]", one)
            length += 2 * _FRAME * len(items) + sum(map(len, items))
            left += items.values()
        elif isinstance(one, list):
            left += cast("list[Any]", one)
            length += 2 * _FRAME * len(cast("list[Any]", one))
        elif isinstance(one, str):
            length += len(one) + _FRAME * one.count("\n")
    return length


def _obstacle(approval: Approval) -> str:
    if not approval.canonical:
        return "The call is no longer kept, so it cannot be approved. Deny it, then the call can be made again."
    if not fits_digest(approval):
        return "The digest is not that of what is shown: somebody has changed the store. Deny it."
    if is_cut_off(approval):
        return "The preview leaves something out, so an approval would cover what is not shown. Deny it."
    return ""


def _sentence(approval: Approval, value: Any, effects: list[str]) -> str:
    """What will happen, in one sentence."""
    tool, caller = visible(approval.tool), visible(approval.caller)
    if approval.kind == "server":
        return f"The server {tool} is reached in another way than before; accept the change for all callers."
    if approval.kind == "definition":
        return f"The definition of {tool} has changed; accept the new one for all callers."
    words = [_EFFECTS.get(one, one) for one in effects if one != "read"]
    can = f" It can {' and '.join(map(visible, words))}." if words else ""
    given = arguments_of(value, approval)
    count = len(cast("dict[str, Any]", given)) if isinstance(given, dict) else 1
    which = "this argument" if count == 1 else f"these {count} arguments"
    how = f"with exactly {which}" if count else "without arguments"
    return f"{caller} wants to run {tool} once, {how}.{can}"


def describe_answer(approval: Approval, count: int | None, now: int) -> str:
    """What was answered, in one sentence; `count` is how many arguments the call had, where that is known."""
    tool, caller, by = visible(approval.tool), visible(approval.caller), visible(approval.by)
    if approval.kind != "call":
        what = f"the new {'way to reach' if approval.kind == 'server' else 'definition of'} {tool}"
        said = {"used": f"{by} accepted {what} for all callers.", "denied": f"{by} did not accept {what}."}
        return said.get(approval.status, f"Nobody answered in time whether to accept {what}.")
    given = "" if count is None else " (1 argument)" if count == 1 else f" ({count or 'no'} arguments)"
    what = f"one call of {tool} by {caller}{given}"
    if not by:
        return f"Nobody answered {what} in time."
    late = " It was not made in time." if approval.status == "expired" or approval.expires_at <= now else ""
    ends = {"denied": "", "used": "", "approved": late or " It has not been made again yet.", "expired": late}
    return f"{by} {'denied' if approval.status == 'denied' else 'approved'} {what}.{ends[approval.status]}"


def _difference(before: str, approval: Approval) -> list[TextLine]:
    found: list[TextLine] = []
    for row in changes(before, approval.canonical, _PAPER):
        mark = row[0] if row[:2] in ("+ ", "- ") else ""
        pieces = [Piece(row[2:] if mark else row.strip(" ─"), ours=not mark)]
        found.append(TextLine(len(found) + 1, pieces, mark=cast('Literal["", "+", "-"]', mark)))
    return found


def rows(label: str, value: Any, depth: int = 0, *, is_diff: bool = False) -> Iterator[Row]:
    """A label (already spelled out) and its value, with everything below it."""
    if isinstance(value, (dict, list)) and value:
        items = cast("dict[str, Any] | list[Any]", value)
        if depth >= DEEPEST:
            text = compact(items)
            yield Row(label, depth, lines=text_lines(text), note=f"deeper levels, as JSON: {size_of(text)}")
            return
        if label:
            yield Row(label, depth, note=f"{len(items)} {'entry' if len(items) == 1 else 'entries'}")
        for name, item in named_items(items, _PAPER):
            yield from rows(name, item, depth + bool(label), is_diff=is_diff)
    elif isinstance(value, str) and not isinstance(value, Number):
        if "\n" not in value and len(value) <= _LONG:
            yield Row(label, depth, value=_PAPER.quoted(value))
        else:
            yield Row(label, depth, lines=text_lines(value, is_diff=is_diff), note=size_of(value))
    else:
        yield Row(label, depth, value=compact(value))


def _repair(repair: Any) -> Iterator[Row]:
    """A repair: what was done in its own words, how, and both sides; any other key that it has comes after them."""
    if not isinstance(repair, dict):
        yield from rows("repair", repair)
        return
    left = dict(cast("dict[str, Any]", repair))
    plain = {name: left.pop(name) for name in ("note", *_TOLD_IN_A_LINE) if _is_plain(left.get(name))}
    note = str(plain.pop("note", "")) or "repair"
    told = [f"{name} {value}" for name, value in plain.items() if str(value)]
    yield Row(visible(note), 0, note=visible(", ".join(told)))
    for name in ("before", "after", *left):
        if name in left:
            yield from rows(visible(name), left.pop(name), 1)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float, Number)) or (isinstance(value, str) and len(value) <= _LONG)


def rows_of(value: Any, label: str) -> Iterator[Row]:
    """The entries of a value, or under this label the value itself."""
    if isinstance(value, (dict, list)):
        for name, item in named_items(cast("dict[str, Any]", value), _PAPER):
            yield from rows(name, item)
    else:
        yield from rows(label, value)


def text_lines(text: str, *, is_diff: bool = False) -> list[TextLine]:
    """All lines of a text, numbered; those of a hunk as in the file. Many empty ones, and many blanks, are counted
    instead of drawn."""
    found: list[TextLine] = []
    empty: list[int] = []
    lines = text.split("\n")
    places = hunk_places(lines) if is_diff else None
    for at, line in enumerate((*lines, None)):
        number, inside = places[at] if places and line is not None else (at + 1, False)
        if line == "":
            empty.append(number)
            continue
        if len(empty) > _EMPTY:
            found.append(TextLine(0, [Piece(f"{len(empty):,} empty lines", ours=True)]))
        else:
            found += [TextLine(one, []) for one in empty]
        empty = []
        if line is not None:
            sign = Piece(line[0])
            pieces = [sign, *line_pieces(line[1:])] if inside else line_pieces(line)
            found.append(TextLine(number, pieces, " · ".join(right_to_left_words(line)), _mark(line, is_diff, inside)))
    return found


def hunk_places(lines: list[str]) -> list[tuple[int, bool]] | None:
    """Of each line of a diff the number that it has in the file, and whether it stands in a hunk; 0 for what is around
    hunks. None where there is no hunk."""
    found: list[tuple[int, bool]] = []
    old = new = at_old = at_new = 0
    for line in lines:
        sign = line[:1]
        if (old > 0 or new > 0) and sign in ("", " ", "+", "-"):
            found.append((max(1, at_old if sign == "-" else at_new), True))
            at_old, at_new = at_old + (sign != "+"), at_new + (sign != "-")
            old, new = old - (sign != "+"), new - (sign != "-")
            continue
        found.append((0, False))
        if sign != "\\":
            old = new = 0
        if (hunk := HUNK.match(line)) is not None:
            at_old, at_new = int(hunk[1]), int(hunk[3])
            old, new = int(hunk[2] or 1), int(hunk[4] or 1)
    return found if any(inside for _, inside in found) else None


def line_pieces(line: str) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for gap in _BLANKS.finditer(line):
        found += [Piece(visible(line[at : gap.start()]))] if gap.start() > at else []
        found.append(Piece(f"{gap.end() - gap.start():,} blanks", ours=True))
        at = gap.end()
    return [*found, Piece(visible(line[at:]))] if at < len(line) else found


def json_lines(text: str) -> list[TextLine]:
    """The same of a JSON text: its own escapes stay as they are, and what hides is spelled as one."""
    return [TextLine(number, [Piece(json_visible(line))]) for number, line in enumerate(text.split("\n"), 1)]


def value_lines(value: Any) -> list[TextLine]:
    """A value as JSON in one line; a text of several lines as it is."""
    if isinstance(value, str) and "\n" in value:
        return text_lines(value)
    return json_lines(plain_json(value))


def plain_json(value: Any, indent: int | None = None) -> str:
    """JSON text of whatever a model can have written; what JSON has no word for becomes text."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, default=str, indent=indent)
    except (ValueError, RecursionError):
        return json.dumps(str(value)[:1000])


def json_visible(text: str) -> str:
    """
    >>> json_visible('{"a\\n": "b\u202e"}')
    '{"a\\\\n": "b\\\\u202e"}'
    """
    return "\\".join(visible(f"{part}.")[:-1] for part in text.split("\\"))


def _mark(line: str, is_diff: bool, inside: bool) -> Literal["", "+", "-"]:
    if not is_diff or (not inside and line.startswith(("+++", "---"))):
        return ""
    return "+" if line.startswith("+") else "-" if line.startswith("-") else ""


def _listed(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]


def plain_arguments(approval: Approval) -> dict[str, Any]:
    """The arguments that a grant can be bound to exactly: short values; no text with `*`, which would be a pattern."""
    given = arguments_of(_decoded(approval.canonical), approval)
    if approval.kind != "call" or not isinstance(given, dict) or is_cut_off(approval):
        return {}
    return {
        name: value
        for name, value in cast("dict[str, Any]", given).items()
        if value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and "*" not in value and "\n" not in value and len(value) <= 200)
    }


def _decoded(text: str) -> Any:
    import json  # with the numbers as a grant compares them

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# ── room ──
# What a page has room for. A record may hold megabytes in any of its fields, and a page of them would keep a browser
# busy for minutes. Each text is shown up to a length, and all of them up to another. Where something is left out, a
# line of ours says so, and the page says where the whole is. A question to a person is never answered cut: one that
# does not fit cannot be approved from a page.

T = TypeVar("T")

MOST_TEXT: Final = 100_000
"""Characters of one text, as the page has them, and"""
MOST_PAGE: Final = 600_000
"""of all texts of a page."""
_MOST_LINES: Final = MOST_TEXT // _FRAME


class Room:
    """Of one page; `is_cut` says whether something did not fit."""

    def __init__(self, most: int = MOST_PAGE) -> None:
        self._left = most
        self._parts = 0
        self.is_cut = False

    def start(self, text: str) -> str:
        """The beginning of a text, before it is laid out: what is behind it could not fit."""
        rows = text[:MOST_TEXT].split("\n", _MOST_LINES)
        begun = "\n".join(rows[:_MOST_LINES])
        if len(begun) == len(text):
            return text
        self.is_cut = True
        return f"{begun}\n…"

    def value(self, value: Any) -> Any:
        """A value whose texts are beginnings, and which has no more parts than a page could show."""
        self._parts = _MOST_LINES
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.start(value)
        if isinstance(value, dict):
            kept = self._some(list(cast("dict[str, Any]", value).items()))
            return {self.start(name): self._value(item) for name, item in kept}
        if isinstance(value, list):
            return [self._value(item) for item in self._some(cast("list[Any]", value))]
        return value

    def _some(self, items: list[T]) -> list[T]:
        kept = items[: max(0, self._parts)]
        self._parts -= len(items)
        self.is_cut = self.is_cut or len(kept) < len(items)
        return kept

    def lines(self, lines: list[TextLine]) -> list[TextLine]:
        """As many of them as fit; the first one is cut within."""
        most = left = min(self._left, MOST_TEXT)
        for at, line in enumerate(lines):
            left -= length_of(line)
            if left < 0:
                self.is_cut = True
                self._left -= most
                return [*(lines[:at] or _begun(line, most)), _told(len(lines) - at, "line")]
        self._left -= most - left
        return lines

    def rows(self, rows: list[Row]) -> list[Row]:
        found: list[Row] = []
        for at, row in enumerate(rows):
            self._left -= length_of_rows([row]) - sum(map(length_of, row.lines))
            if self._left < 0:
                self.is_cut, self._left = True, 0
                return [*found, Row("…", 0, lines=[_told(len(rows) - at, "value")])]
            found.append(Row(row.label, row.depth, row.value, self.lines(row.lines), row.note) if row.lines else row)
        return found


def _begun(line: TextLine, most: int) -> list[TextLine]:
    """The beginning of a line that is longer than a text may be."""
    text = next((one.text for one in line.pieces if not one.ours), "")
    return [TextLine(line.number, [Piece(text[: most // 2])], mark=line.mark)]


def _told(count: int, what: str) -> TextLine:
    return TextLine(0, [Piece(f"{count:,} more {what}{'' if count == 1 else 's'}: not shown, or not whole", ours=True)])


def length_of(line: TextLine) -> int:
    """About how many characters a page has of it."""
    return _FRAME + len(line.words) + sum(_escaped(one.text) for one in line.pieces)


def length_of_rows(rows: list[Row]) -> int:
    return sum(
        2 * _FRAME + sum(map(_escaped, (one.label, one.value, one.note))) + sum(map(length_of, one.lines))
        for one in rows
    )


def _escaped(text: str) -> int:
    return len(text) + 4 * (text.count('"') + text.count("'") + text.count("<") + text.count("&"))
