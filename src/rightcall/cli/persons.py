"""A person at this terminal: who answers, whether somebody sits there, and what they type. And what others wrote,
before a person who decides about it: nothing hides in it, as in approvals (`base/letters.py`)."""

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from time import monotonic
from typing import Any, Final, Literal, TextIO

from msgspec import DecodeError, Struct, json
from msgspec.structs import astuple

from rightcall.base.letters import right_to_left_words, visible
from rightcall.base.text import cut_end, escaped
from rightcall.cli.options import SHARED, policy_despite, policy_of, redactor_of
from rightcall.cli.terminal import Style, count, is_unicode, pad, say, style_for, table, visible_width, wrap
from rightcall.errors import AnswerError, ConfigError
from rightcall.executor.question import LEAST_WIDTH, Paper, View, is_cut_off, state_of, view
from rightcall.policy.types import SECOND, Approval
from rightcall.record.admission import Reply, answer, approval_of, earlier_definition, require_answerable
from rightcall.record.tables import Store, Tables, written


def spell_out(line: str, most: int | None = None) -> str:
    """One line with everything that could hide spelled out, cut to `most` characters."""
    shown = _paper().visible(line if most is None else line[: most + 1])
    return shown if most is None else cut_end(shown, most)


def spelled_lines(text: str, most: int = sys.maxsize) -> Iterator[str]:
    """The lines of a text; words that are written from the right once more as they are, behind `≈`. What is beyond
    `most` lines is only counted."""
    paper = _paper()
    lines = text.split("\n", most)
    for line in lines[:most]:
        yield paper.visible(line)
        if not paper.ascii_only and (words := right_to_left_words(line)):
            yield f"≈ {' · '.join(words)}"
    if len(lines) > most:
        yield f"… and {lines[most].count(chr(10)) + 1} more lines"


def _paper() -> Paper:
    return Paper(0, ascii_only=not is_unicode(sys.stdout))


# ── moments ──
# Moments as people type them, `2026-01-31`, `2026-01-31T12:00+02:00` or `30d` ago, as the audit writes them: UTC.

_AGO = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_RIGHT = "expected a date (2026-01-31, or 2026-01-31T12:00, in UTC) or a time ago (30m, 12h, 30d, 4w)"


def moment(text: str, option: str, now: datetime | None = None) -> str:
    """The moment that an option names.

    >>> moment("2026-01-31T12:00+02:00", "--since")
    '2026-01-31 10:00:00.000'
    """
    if _AGO.fullmatch(text.strip()):
        return ago(text, option, now)
    try:
        if not text[:4].isdigit():
            raise ValueError
        read = datetime.fromisoformat(text.strip())
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
        return written(read.timestamp())
    except (ValueError, OverflowError):
        raise ConfigError(f"invalid value {escaped(text, 40)!r} for `{option}`: {_RIGHT}") from None


def ago(text: str, option: str, now: datetime | None = None) -> str:
    """The moment so long ago.

    >>> ago("36h", "--older-than", datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-30 00:00:00.000'
    """
    back = span(text, option)
    try:
        return written(((now or datetime.now(UTC)) - back).timestamp())
    except (OverflowError, ValueError):
        raise ConfigError(f"invalid value {escaped(text, 40)!r} for `{option}`: no date is that old") from None


def span(text: str, option: str) -> timedelta:
    """A length of time, as `30d`."""
    found = _AGO.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"invalid value {escaped(text, 40)!r} for `{option}`: expected 30m, 12h, 30d or 4w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


# ── waiting ──
# A line for somebody who waits at a terminal, written anew until the work is done; nothing where nobody looks.

EVERY = 0.2
"""Seconds."""
_ANEW = "\r\x1b[K"


@contextmanager
def waiting(line: Callable[[float], str], every: float = EVERY) -> Generator[None]:
    """`line` says, after so many seconds, what is being done. At the end it is gone from the screen."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    over, began = Event(), monotonic()

    def tell() -> None:
        while not over.wait(every):
            stream.write(_ANEW + line(monotonic() - began))
            stream.flush()

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        stream.write(_ANEW)
        stream.flush()


# ── bars ──
# Small charts for the terminal: bars to eighths of a column, a line of levels, and ASCII where there is no better.

WIDEST_BAR = 20
LEAST_BAR = 6


class Signs(Struct, frozen=True):
    """What charts are drawn with."""

    full: str
    parts: str
    """A column that is partly full, from the emptiest on."""
    levels: str
    """For nothing, and then from little to most."""
    rule: str
    passed: str
    missed: str
    unknown: str
    cut: str


BLOCKS = Signs("█", "▏▎▍▌▋▊▉", "▁▂▃▄▅▆▇█", "━", "✓", "✗", "–", "…")
ASCII = Signs("#", "", "_.:-=+*#", "=", "+", "x", "-", "~")


def signs_for(stream: TextIO) -> Signs:
    """Blocks where the stream's encoding has them all."""
    try:
        "".join(astuple(BLOCKS)).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def bar(value: float, most: float, width: int, signs: Signs = BLOCKS) -> str:
    """A bar as long as the value's share of `most`. Whatever is more than nothing is seen.

    >>> bar(3, 8, 4), bar(1, 1000, 4), bar(0, 8, 4)
    ('█▌', '▏', '')
    """
    steps = len(signs.parts) + 1
    filled = 0 if most <= 0 or value <= 0 else max(1, round(width * steps * min(value / most, 1)))
    whole, part = divmod(filled, steps)
    return signs.full * whole + (signs.parts[part - 1] if part else "")


def levels(values: Sequence[float], signs: Signs = BLOCKS) -> str:
    """One sign for each value, as high as its share of the largest.

    >>> levels([0, 1, 4, 8])
    '▁▂▅█'
    """
    most = max(values, default=0)
    top = len(signs.levels) - 1
    return "".join(signs.levels[-int(-top * value // most) if value > 0 else 0] for value in values)


def fit_columns(text: str, width: int, signs: Signs = BLOCKS) -> str:
    """A text cut to so many columns, with a sign that something is missing.

    >>> fit_columns("code/search", 8)
    'code/se…'
    """
    if visible_width(text) <= width:
        return text
    while text and visible_width(text) > width - 1:
        text = text[:-1]
    return text + signs.cut


class Row(Struct, frozen=True):
    """A line of a chart; the label must be escaped already."""

    label: str
    value: float
    text: str


def chart(rows: Sequence[Row], style: Style, signs: Signs, *, indent: int = 0) -> list[str]:
    """Label, bar and text in columns; where they do not fit beside each other, the text goes below."""
    most = max((row.value for row in rows), default=0)
    label = max((visible_width(row.label) for row in rows), default=0)
    label = min(label, 28, style.width - LEAST_BAR - 2)
    text = max((visible_width(row.text) for row in rows), default=0)
    room = style.width - label - 2
    beside = room - text - 2 >= LEAST_BAR
    width = min(WIDEST_BAR, room - text - 2 if beside else room)
    lines: list[str] = []
    for row in rows:
        drawn = style.tint(pad(bar(row.value, most, width, signs), width if beside else 0), "cyan")
        line = f"{pad(fit_columns(row.label, label, signs), label)}  {drawn}"
        if beside:
            lines.append(f"{line}  {row.text}")
        else:
            lines += [line, *(" " * indent + piece for piece in wrap(row.text, style.width - indent))]
    return lines


YES: Final = ("y", "yes")


def person_option(parser: ArgumentParser) -> None:
    parser.add_argument("--by", metavar="NAME", help=SHARED["--by"])


def who(options: Namespace) -> str:
    return login_name() if options.by is None else options.by


def login_name() -> str:
    """The name of the user that this process belongs to. Not from the environment, which anybody can set."""
    try:
        import pwd
    except ImportError:  # Windows
        try:
            return os.getlogin()
        except OSError:
            return ""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # as in a container: a user without a name
        return f"uid {number}"


def at_a_terminal() -> bool:
    """Whether somebody can read what is printed and type an answer."""
    stream: TextIO | None = sys.stdin  # None when it was closed
    return stream is not None and stream.isatty() and sys.stdout.isatty()


def _forget_typed() -> None:
    try:
        import termios
    except ImportError:  # Windows
        return
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def typed_text(prompt: str) -> str:
    """What somebody types at a prompt; what was typed before it was shown does not count. Empty at the end of input."""
    sys.stdout.flush()
    _forget_typed()
    sys.stdout.write(prompt)
    sys.stdout.flush()
    return sys.stdin.readline().strip()


def read_word(prompt: str) -> str:
    """The same for a word that is one of a few: in small letters."""
    return typed_text(prompt).lower()


def agrees(question: str, otherwise: str) -> bool:
    """Whether somebody says yes; whoever does not is told what did not happen."""
    if read_word(question) in YES:
        return True
    say(otherwise)
    return False


# ── questions ──
# Questions as the command line shows them: in a list, whole, and as JSON.

MOST_LISTED = 50
"""Questions that a list shows unless it is asked for more."""
_MOST_CALLERS = 5
_NAME = 32
"""Columns for a name in a list; the question itself shows it whole."""


def found_approval(tables: "Tables", id: str) -> tuple[Approval, str]:
    """A question, and for a changed definition or server the one before."""
    approval = approval_of(tables, id)
    return approval, "" if approval.kind == "call" else earlier_definition(tables, approval.tool, approval.kind)


def waiting_ids(store: "Store", caller: str | None = None) -> list[str]:
    """The questions that can be answered now, of everybody or of one caller: the oldest of each caller first, then
    the second of each. Who asks much does not come before who asks little."""
    now = store.clock.now()
    found = store.look(lambda tables: tables.approvals("waiting"))
    waiting = [one for one in found if one.expires_at > now and caller in (None, one.caller)]
    return [one.id for one in _in_turn(waiting)]


def _in_turn(approvals: Iterable[Approval]) -> list[Approval]:
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, Approval]] = []
    for place, one in enumerate(approvals):
        turns.append((seen[one.caller], place, one))
        seen[one.caller] += 1
    return [one for _, _, one in sorted(turns, key=lambda turn: turn[:2])]


def fair_part(approvals: Sequence[Approval], most: int) -> Sequence[Approval]:
    """At most so many, in their order, of each caller as many as of any other; 0 for all."""
    if not most or len(approvals) <= most:
        return approvals
    shown = {one.id for one in _in_turn(approvals)[:most]}
    return [one for one in approvals if one.id in shown]


def whole_view(store: "Store", approval: Approval, before: str, *, full: bool) -> View:
    """The question for this terminal."""
    plain = not is_unicode(sys.stdout)
    return view(approval, now=store.clock.now(), width=columns(), full=full, ascii_only=plain, before=before)


def columns() -> int:
    """How wide a row may be: never wider than the terminal really is, which would break it and with it the margin."""
    stated = style_for(sys.stdout).width
    try:
        real = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal
        return stated
    return min(stated, real) if real else stated


def render_name(text: str) -> str:
    """A name in a list: spelled out, and cut where it is long."""
    return cut_end(visible(text[: _NAME + 1]), _NAME)


def listing(approvals: Sequence[Approval], now: int, style: Style, most: int = 0) -> list[str]:
    """One line each, for at most so many. The digest is not among it: it belongs below the whole call."""
    shown = fair_part(approvals, most)
    rows = [
        [
            one.id,
            render_name(one.caller),
            render_name(one.tool),
            state_of(one, now),
            _rule(one),
            (f"{len(one.canonical):,}" if one.canonical else "-"),
        ]
        for one in shown
    ]
    lines = table(["id", "caller", "tool", "state", "because of", "call size"], rows, style, left=5)
    return [
        *lines,
        *_left_out(approvals, shown),
        f"{count(approvals, 'question')}; `rightcall approvals show ID` shows one",
    ]


def _left_out(approvals: Sequence[Approval], shown: Sequence[Approval]) -> list[str]:
    """Whose questions are not in the list, and how many."""
    left = Counter(one.caller for one in approvals)
    left.subtract(Counter(one.caller for one in shown))
    callers = [(caller, number) for caller, number in left.most_common() if number]
    if not callers:
        return []
    some = ", ".join(f"{number:,} of {render_name(caller)}" for caller, number in callers[:_MOST_CALLERS])
    others = f" and of {len(callers) - _MOST_CALLERS:,} other callers" if len(callers) > _MOST_CALLERS else ""
    return [f"not listed: {some}{others}; `--limit 0` lists all, `approvals deny --all --as CALLER` denies a caller's"]


def _rule(approval: Approval) -> str:
    rule, separated, _ = approval.why.partition(": ")
    return render_name(rule if separated else approval.why)


def summary_record(approval: Approval, now: int) -> dict[str, Any]:
    """For a list: without the call and its digest."""
    return {
        "id": approval.id,
        "kind": approval.kind,
        "caller": approval.caller,
        "tool": approval.tool,
        "context": approval.context,
        "why": approval.why,
        "status": "expired" if approval.expires_at <= now and _is_open(approval) else approval.status,
        "seconds_left": max(0, (approval.expires_at - now) // SECOND) if _is_open(approval) else None,
        "characters": len(approval.canonical),
        "asked": approval.asked,
        "by": approval.by or None,
        "answered": approval.answered or None,
    }


def whole_record(approval: Approval, before: str, now: int) -> dict[str, Any]:
    """Everything: `call` is the exact text that the digest covers."""
    try:
        details: Any = json.decode(approval.details)
    except DecodeError:
        details = approval.details
    return summary_record(approval, now) | {
        "call": approval.canonical,
        "details": details,
        "definition": approval.definition,
        "definition_before": before or None,
        "state": approval.state,
        "used_by": approval.used_by or None,
        "digest": approval.digest,
    }


def _is_open(approval: Approval) -> bool:
    return approval.status in ("waiting", "approved")


# ── answering ──
# Answering a question: what `approvals approve`, `deny` and `watch` have in common.


def show_question(store: "Store", id: str) -> Approval:
    """Show a question that can still be answered, completely; whoever says yes says it to what this returns."""
    approval, before = store.look(lambda tables: found_approval(tables, id))
    require_answerable(approval, store.clock.now())
    if columns() < LEAST_WIDTH:
        raise AnswerError(f"the terminal has {columns()} columns: a question needs at least {LEAST_WIDTH} to be shown")
    seen = whole_view(store, approval, before, full=True)
    say(*seen.lines)
    if not seen.complete:
        raise AnswerError(f"approval {approval.id} cannot be shown as it is, so it cannot be approved; deny it")
    return approval


def _require_whole(approval: Approval) -> None:
    if is_cut_off(approval):
        raise AnswerError(
            f"approval {approval.id} cannot be approved from here: its preview leaves something out, and says what to "
            "do instead; deny it"
        )


def deny_all(store: "Store", options: Namespace, ids: Sequence[str]) -> list[str]:
    """Deny all of these that still wait, each in the record, in one transaction: all of it or nothing. What somebody
    has answered meanwhile, or has expired, stays as it is. Returns those that were denied."""
    policy = policy_despite(options)
    settings = policy.settings
    by, callers, expires = who(options), tuple(settings.callers), settings.approval.expires
    reply = Reply("denied", by, reason=options.reason, hide=redactor_of(options, store, policy).value)

    def work(tables: "Tables") -> list[str]:
        now = tables.now()
        found = (tables.approval(one) for one in ids)
        waits = [one.id for one in found if one is not None and one.status == "waiting" and one.expires_at > now]
        for one in waits:
            answer(tables, one, reply, expires, callers)
        return waits

    return store.transact(work)


def give_answer(
    store: "Store", options: Namespace, id: str, said: Literal["approved", "denied"], digest: str = "", reason: str = ""
) -> str:
    """Give the answer; returns what to tell. Raises AnswerError when it is not taken."""
    policy = policy_of(options) if said == "approved" else policy_despite(options)
    settings = policy.settings
    by, callers, expires = who(options), tuple(settings.callers), settings.approval.expires
    reply = Reply(said, by, digest, reason, redactor_of(options, store, policy).value, takes_back=said == "denied")
    before = store.look(lambda tables: approval_of(tables, id))
    if said == "approved":
        _require_whole(before)
    done = store.transact(lambda tables: answer(tables, id, reply, expires, callers))
    if done.kind != "call":
        return f"{done.id}: the changed {done.kind} is {'accepted' if said == 'approved' else 'not accepted'}."
    if said == "approved":
        return f"{done.id} is approved: the call may run once, as it was shown, within {expires} seconds."
    return f"{done.id} is denied{': its approval is taken back' if before.status == 'approved' else ''}."
