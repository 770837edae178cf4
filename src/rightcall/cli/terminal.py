"""What the commands need to know of the terminal: colours, width, columns that line up, text that cannot harm it. And a
verdict on it: the input, the repaired call, each repair with its reason, the problems and the hint.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from types import FrameType
from typing import IO, Any, Literal, TextIO

from msgspec import Struct

from rightcall.base.json.marks import RULES
from rightcall.base.text import cut_counted, escaped, render_json
from rightcall.gate.records import json_text
from rightcall.types import Problem, Repair, Verdict

Tint = Literal["red", "green", "yellow", "cyan", "dim", "bold"]
_CODES: dict[Tint, str] = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
_ANSI = re.compile("\x1b\\[[0-9;]*m")
FALLBACK_WIDTH = 100


class Style(Struct, frozen=True):
    """How one command writes: with colours or without, how wide, and changes side by side or below each other."""

    colour: bool = False
    width: int = FALLBACK_WIDTH
    split: bool = False

    def tint(self, text: str, *tints: Tint) -> str:
        if not self.colour or not text:
            return text
        return "".join(f"\x1b[{_CODES[tint]}m" for tint in tints) + text + "\x1b[0m"


def wants_colour(stream: IO[str], environment: Mapping[str, str]) -> bool:
    """NO_COLOR forbids, FORCE_COLOR demands, otherwise a terminal that is not dumb has colours."""
    if environment.get("NO_COLOR"):
        return False
    forced = environment.get("FORCE_COLOR", "")
    if forced:
        return forced != "0"
    return stream.isatty() and environment.get("TERM") != "dumb"


def style_for(stream: IO[str], *, plain: bool = False, split: bool = False) -> Style:
    """The style for a stream, from the environment of this process."""
    colour = not plain and wants_colour(stream, os.environ)
    return Style(colour=colour, width=max(40, min(_columns(stream), 160)), split=split)


def _columns(stream: IO[str]) -> int:
    """As `shutil.get_terminal_size`, whose module would cost 3 ms."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(stream.fileno()).columns or FALLBACK_WIDTH
    except (OSError, ValueError):  # no terminal
        return FALLBACK_WIDTH


def make_writable(stream: TextIO) -> None:
    """A character that the stream's encoding lacks is written as an escape instead of ending the command."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def harmless(text: str) -> str:
    """A text as it is, but for what a terminal would obey or hide.

    >>> harmless("one\\r\\ntwo\\x1b[31m")
    'one\\ntwo\\\\u001b[31m'
    """
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(escaped, lines))


def harmless_lines(text: str, *, most: int = 40) -> list[str]:
    """The lines of a text, each escaped; what is beyond `most` lines is only counted."""
    lines = text.replace("\r\n", "\n").split("\n", most)
    rest = lines[most].count("\n") + 1 if len(lines) > most else 0
    shown = [escaped(line.replace("\t", "    ")) for line in lines[:most]]
    return [*shown, f"… and {rest} more lines"] if rest else shown


def visible_width(text: str) -> int:
    """How many columns a text takes: colours take none, wide characters two, combining marks none."""
    text = _ANSI.sub("", text)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # a lookup table, loaded only when a text needs it

    return sum(0 if combining(c) or c == "\ufe0f" else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def many(number: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def count(things: Sequence[object], word: str) -> str:
    """The same of things that are at hand."""
    return many(len(things), word)


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - visible_width(text))


def wrap(text: str, width: int) -> list[str]:
    """Breaks one line into pieces of at most `width` columns, at blanks where that is possible."""
    pieces: list[str] = []
    while visible_width(text) > width:
        cut = _fitting(text, width)
        blank = text.rfind(" ", width // 2, cut + 1)
        end = blank + 1 if blank > 0 else cut
        pieces.append(text[:end].rstrip(" "))
        text = text[end:]
    return [*pieces, text]


def hang(head: str, text: str, style: Style) -> list[str]:
    """The text after its head, wrapped; its further lines stand below the first."""
    indent = visible_width(head)
    first, *more = wrap(text, max(20, style.width - indent))
    return [head + first, *(" " * indent + piece for piece in more)]


def _fitting(text: str, width: int) -> int:
    """How many characters from the start fit into `width` columns; at least one."""
    cut = min(len(text), width)
    while cut > 1 and visible_width(text[:cut]) > width:
        cut -= 1
    return cut


def fold(text: str, width: int) -> list[str]:
    """Breaks one line into pieces of at most `width` columns, wherever that falls: nothing is lost at the breaks.

    >>> fold("one two", 3), fold("\u6f22\u5b57", 3)
    (['one', ' tw', 'o'], ['\u6f22', '\u5b57'])
    """
    if visible_width(text) <= width:
        return [text]
    pieces: list[str] = []
    start = used = 0
    for at, character in enumerate(text):
        columns = visible_width(character)
        if used + columns > width and at > start:
            pieces.append(text[start:at])
            start, used = at, 0
        used += columns
    return [*pieces, text[start:]]


def beside(left: Sequence[str], right: Sequence[str], width: int) -> list[str]:
    """Two blocks of lines side by side, each wrapped into half the width."""
    half = (width - 3) // 2
    lefts = [piece for line in left for piece in wrap(line, half)]
    rights = [piece for line in right for piece in wrap(line, half)]
    height = max(len(lefts), len(rights))
    lefts += [""] * (height - len(lefts))
    rights += [""] * (height - len(rights))
    return [f"{pad(one, half)} │ {other}".rstrip() for one, other in zip(lefts, rights, strict=True)]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], style: Style, *, left: int = 1) -> list[str]:
    """Columns that line up: the first `left` to the left, the others (figures) to the right."""
    widths = [max(visible_width(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        pairs = zip(cells, widths, strict=True)
        out = [pad(c, w) if i < left else " " * (w - visible_width(c)) + c for i, (c, w) in enumerate(pairs)]
        return "  ".join(out).rstrip()

    return [style.tint(line(header), "bold"), *(line(row) for row in rows)]


def say(*lines: str) -> None:
    """Writes lines to standard output; `print` by another name, so that a test can see that nothing else writes."""
    for line in lines:
        sys.stdout.write(line + "\n")


# ── output ──
# JSON as the commands print it: always valid, one line unless asked otherwise, and escaped on a terminal.


def say_json(value: Any, *, guarded: bool = False) -> None:
    """One line of JSON on standard output; `guarded`: on a terminal in ASCII alone, where nothing can be drawn in
    another order."""
    say(json_text(value, ascii_only=(guarded and sys.stdout.isatty()) or not is_unicode(sys.stdout)))


def tell(options: Any, record: Any, lines: Callable[[Style], Iterable[str]], *, guarded: bool = False) -> None:
    """The answer of a command: the record for a program (`--json`), else the lines for a person."""
    if options.json:
        say_json(record, guarded=guarded)
    else:
        say(*lines(style_for(sys.stdout)))


def effect_words(effects: Iterable[str] | None) -> str:
    """`read, write`; a tool that declares nothing counts as doing everything."""
    return "any effect (none declared)" if effects is None else ", ".join(sorted(effects)) or "no effects"


def print_stats(stats: dict[str, Any]) -> None:
    """Statistics go to standard error, beside what is printed."""
    sys.stderr.write(json_text(stats) + "\n")


def program() -> str:
    """How this program was started, for commands that a user can copy: `rightcall`, where that is found."""
    from shutil import which

    started = sys.argv[0]
    if which("rightcall") is not None:
        return "rightcall"
    if os.path.basename(started).startswith("rightcall"):
        return started if os.path.dirname(started) else f"./{started}"
    return f"{sys.executable} -P -m rightcall"


def is_unicode(stream: TextIO) -> bool:
    """Whether every character can be written to the stream as it is."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf16", "utf32")


# ── ending ──
# When somebody ends the program from outside, with SIGTERM, or by closing its terminal: it stops as it does for Ctrl-C
# and leaves nothing behind, neither a program that works for it nor a temporary folder.

_PATIENCE = 5.0
"""Seconds in which a further signal means the same end: a terminal that closes tells twice. Whoever asks again later
means it."""


class Ended(KeyboardInterrupt):
    """Everything that ends well for Ctrl-C ends well for this too."""


class Ending:
    """Listens for the signals, from `listen` on. `code` is the exit code once one of them has come."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._since: float | None = None
        self._tidying = False

    def listen(self) -> None:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # not with `nohup`
                signal.signal(number, self._heard)

    def tidying(self) -> None:
        """The work is done and what it has left is removed: a signal need not hurry that any more."""
        self._tidying = True

    def _heard(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._since is not None:
            if monotonic() - self._since > _PATIENCE:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            return
        self._since = monotonic()
        if not self._tidying:
            self.code = 128 + number
            raise Ended


NO_TOOLS = "no tools were given, so no name and no argument was checked"
ADD_TOOLS = "Pass `--tools FILE` or `--pack NAME`; `rightcall packs` lists the packs"

_LABEL = 16  # columns of the left label, "what the model …"
_LONGEST = 4000  # of one value; more than this is only counted


def headline(verdict: Verdict, name: str, style: Style) -> str:
    """The verdict in one line."""
    called = escaped(verdict.call.name if verdict.call else name)
    if not verdict.ok:
        return style.tint(f"✗ {called} is refused", "red", "bold")
    if verdict.mode == "observe" and (verdict.repairs or verdict.problems):
        return style.tint(f"○ {called} passes as it is (mode observe); what would have happened:", "yellow", "bold")
    if verdict.problems:
        return style.tint(f"! {called} runs with a warning (mode {verdict.mode})", "yellow", "bold")
    if verdict.repairs:
        return style.tint(f"✓ {called} may run, repaired ({confidence(verdict.confidence)})", "green", "bold")
    return style.tint(f"✓ {called} may run, untouched", "green", "bold")


def confidence(number: float) -> str:
    return "certain" if number >= 1 else f"confidence {number:.2f}"


def report(verdict: Verdict, name: str, written: str, style: Style) -> list[str]:
    """Everything about one verdict, line by line."""
    return [
        headline(verdict, name, style),
        *labelled("input", written_lines(written), style),
        *outcome(verdict, style),
        *reasons(verdict, style),
        *advice(verdict, style),
        *(labelled("trying again", [retry_text(verdict)], style) if not verdict.ok else []),
    ]


def outcome(verdict: Verdict, style: Style) -> list[str]:
    """The arguments that come out; of a refused call those that were read."""
    lines: list[str] = []
    if verdict.ok and verdict.call is not None:
        lines += labelled("repaired" if verdict.repairs else "arguments", [value_text(verdict.call.arguments)], style)
    elif verdict.found is not None:
        lines += labelled("what was read", [value_text(verdict.found.arguments)], style)
    if verdict.truncated:
        lines += labelled("truncated", ["the text ends before the call does"], style)
    return lines


def reasons(verdict: Verdict, style: Style) -> list[str]:
    """Every repair and every problem."""
    return [
        *labelled("repairs" if verdict.ok else "tried", repair_lines(verdict.repairs), style),
        *labelled("problems", problem_lines(verdict.problems), style),
    ]


def advice(verdict: Verdict, style: Style) -> list[str]:
    """What the model should read."""
    return labelled("hint", harmless_lines(verdict.hint), style) if verdict.hint else []


class Whole(str):
    """A line of ours that is never broken, whatever the width: with a command to paste."""

    __slots__ = ()


def labelled(label: str, lines: Sequence[str], style: Style) -> list[str]:
    """A label on the left and its lines, wrapped, on the right; nothing for no lines."""
    width = max(20, style.width - _LABEL - 3)
    pieces = [piece for line in lines for piece in ([line] if isinstance(line, Whole) else wrap(line, width))]
    heads = [label] + [""] * (len(pieces) - 1) if pieces else []
    return [
        f"  {style.tint(pad(head, _LABEL), 'dim')} {piece}".rstrip() for head, piece in zip(heads, pieces, strict=True)
    ]


def written_lines(text: str) -> list[str]:
    """What the model wrote, line by line as it stands."""
    return harmless_lines(cut_counted(text.rstrip("\r\n"), _LONGEST) or "(nothing)")


def text_lines(text: str | None) -> list[str]:
    """The lines of a text that somebody wrote, cut where it is very long; none for no text."""
    return harmless_lines(cut_counted(text, _LONGEST)) if text else []


def value_text(value: Any) -> str:
    return cut_counted(json_text(value), _LONGEST)


def brief(value: Any) -> str:
    """A value in few characters."""
    return render_json(value, 60)


def repair_lines(repairs: tuple[Repair, ...]) -> list[str]:
    """One line per repair: where, what, and by which rule."""
    places = [escaped(repair.path, 40) or "(the call)" for repair in repairs]
    width = min(24, max((len(place) for place in places), default=0))
    return [
        f"{pad(place, width)}  {change(repair)}  [{why(repair)}]" for place, repair in zip(places, repairs, strict=True)
    ]


LEFT_OUT = frozenset(("dropped_argument", "null_optional"))
"""Repairs that take an argument away: what is there afterwards is nothing, not null."""


def change(repair: Repair) -> str:
    """What was done, in words where a text was read leniently, otherwise as before and after."""
    if repair.rule in RULES:  # the reader's repairs quote the place in the text, which stands above in full
        return repair.note
    if repair.rule in LEFT_OUT:
        return f"{brief(repair.before)} left out{': unknown argument' if repair.rule == 'dropped_argument' else ''}"
    return f"{brief(repair.before)} → {brief(repair.after)}"


def why(repair: Repair) -> str:
    return f"{repair.rule}, {repair.strategy}, {confidence(repair.confidence)}"


def problem_lines(problems: tuple[Problem, ...]) -> list[str]:
    return [f"{escaped(problem.message)}  [{problem.code}]" for problem in problems]


def retry_text(verdict: Verdict) -> str:
    if verdict.retry:
        return "can help, if the model corrects what the hint names"
    return "will not help"
