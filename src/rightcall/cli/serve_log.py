"""The lines that a server writes for people on standard error: each call, what was repaired or why it was left alone,
and whether the upstream answers. And its log.

    2026-11-17 08:31:07 repaired weather (llama3.2): days "3" → 3 [number_text]
    2026-11-17 08:31:09 left     weather (llama3.2): `city` is missing; passed on unchanged

    say ─▶ queue, bounded ─▶ one thread ─▶ the terminal

A terminal that was stopped, or a pipe that nobody reads any more, must hold up no answer: what finds no room is counted
and left out, and once nobody is there any more nothing is written.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from queue import SimpleQueue
from time import sleep, time
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import Struct

from rightcall.base.json.marks import RULES
from rightcall.base.secrets import Redactor
from rightcall.base.text import REDACTED, escaped, render_json
from rightcall.cli.terminal import LEFT_OUT, Style, Tint, harmless_lines, many
from rightcall.gate.records import json_text
from rightcall.proxy.gates import CALLER, Did, Provenance, lighten, notes, word_for
from rightcall.record.tables import CallBody
from rightcall.types import Verdict

if TYPE_CHECKING:
    from rightcall.server.recording import Facts

MOST_WAITING = 1000
MOST_BYTES = 16_000_000
"""Of what the lines that wait are made from."""
_ENDING = 1.0
"""Seconds in which what waits is still written at the end."""
_LONGEST_LOG = 80
"""Lines of one entry of the log, the way to an error included."""
_WORD = 8
"""Columns of the word that an entry begins with."""

Work = Callable[[], str]


class Form(Struct, frozen=True):
    """How an entry is written: bare, with its time (`timed`), or as one JSON object with its time."""

    style: Style = Style()
    timed: bool = False
    as_json: bool = False
    """Only with `timed`."""
    now: Callable[[], float] = time

    def entry(self, when: float, word: str, text: str, fields: dict[str, Any] | None = None) -> str:
        """One entry. `text` must be harmless; JSON escapes by itself, so it takes the `fields` as they are."""
        if self.as_json:
            stamp = datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")
            return json_text({"time": stamp, "event": word, **(fields or {"text": text})}, ascii_only=True)
        if not self.timed:
            return text
        stamp = datetime.fromtimestamp(when).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        tint: Tint = _TINTS.get(word, "green")
        return f"{self.style.tint(stamp, 'dim')} {self.style.tint(word.ljust(_WORD), tint)} {text}".rstrip()


_TINTS: dict[str, Tint] = {
    "left": "yellow", "unknown": "yellow", "warning": "yellow", "would-repair": "yellow", "would-lift": "yellow",
    "right": "dim", "note": "dim", "upstream": "cyan", "failed": "red", "error": "red",
}  # fmt: skip


class Lines:
    """`say` and `make` never wait and never raise."""

    def __init__(self, stream: TextIO, most: int = MOST_WAITING, form: Form | None = None) -> None:
        self.form = form or Form()
        self._stream = stream
        self._most = most
        self._queue: SimpleQueue[tuple[Work, int] | None] = SimpleQueue()
        self._bytes = self._left_out = 0
        self._lock = threading.Lock()
        self._gone = False
        self._thread = threading.Thread(target=self._write_all, name="rightcall lines", daemon=True)
        self._thread.start()

    def say(self, text: str, word: str = "note") -> None:
        """Leave an entry to be written."""
        when = self.form.now()
        self.make(lambda: self.form.entry(when, word, text), len(text))

    def make(self, work: Work, weight: int) -> None:
        """Leave lines to be made in the thread, and written; `weight` is about how many bytes they are made from."""
        with self._lock:
            if self._gone:
                return
            if self._queue.qsize() >= self._most or self._bytes + weight > MOST_BYTES:
                self._left_out += 1
                return
            self._bytes += weight
        self._queue.put((work, weight))

    def close(self, timeout: float = _ENDING) -> None:
        """Write what waits, for as long as this at most."""
        self._queue.put(None)
        self._thread.join(timeout)

    def _write_all(self) -> None:
        while (found := self._queue.get()) is not None:
            work, weight = found
            self._write(self._make_line(work))
            with self._lock:
                self._bytes -= weight
                left_out, self._left_out = self._left_out, 0
            if left_out:
                lines = "1 line was" if left_out == 1 else f"{left_out} lines were"
                self._write(self._own(f"{lines} left out: they came faster than they could be written"))

    def _make_line(self, work: Work) -> str:
        try:
            return work()
        except Exception as error:  # noqa: BLE001  a line that cannot be made must not end the others
            return self._own(f"a line could not be made ({type(error).__name__})")

    def _own(self, text: str) -> str:
        shown = text if self.form.timed else f"rightcall: {text}"
        return self.form.entry(self.form.now(), "warning", shown)

    def _write(self, text: str) -> None:
        if self._gone or not text:
            return
        try:
            self._put(f"{text}\n")
        except (OSError, ValueError):  # the other end, or the stream, is closed
            self._gone = True

    def _put(self, text: str) -> None:
        try:
            number = self._stream.fileno()
        except (OSError, ValueError, AttributeError):
            number = -1
        if number < 0:  # no file behind it, as in tests
            self._stream.write(text)
            self._stream.flush()
        else:  # past Python's own buffer, whose lock would be held, at the end of the program too, while this waits
            _write_to(number, text.encode(self._stream.encoding or "utf-8", "backslashreplace"))


def _write_to(number: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(number, data) :]
        except BlockingIOError:  # somebody else who has this terminal does not want to wait for it
            sleep(0.05)


class _Log(logging.Handler):
    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines
        self._format = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        form = self._lines.form
        if form.timed and getattr(record, "event", "") == "tool_validation_failed":
            return  # the call has a line of its own
        try:
            text = self._format.format(record).removeprefix("rightcall: ")
        except Exception as error:  # noqa: BLE001  what is wrong with an entry of the log is no reason to fail
            text = f"an entry of the log cannot be read ({type(error).__name__})"
        shown = text if form.timed else f"rightcall: {text}"
        word = "error" if record.levelno >= logging.ERROR else "warning"
        self._lines.say("\n".join(harmless_lines(shown, most=_LONGEST_LOG)), word)


@contextmanager
def lines_and_log(stream: TextIO, form: Form | None = None) -> Generator[Lines]:
    """Lines to this stream, where the log goes as well for as long as the `with` lasts."""
    lines = Lines(stream, form=form)
    handler = _Log(lines)
    loggers = [logging.getLogger(name) for name in ("rightcall", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield lines
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        lines.close()


# ── the calls ──
# One line for each call of an answer, and one for a request that failed.
#
# The values in it go the way of the audit's: what is secret by its name or its shape is not shown.

_MOST = 20
"""Calls of one answer that have a line, and repairs of one call that are named in it."""
_LONGEST_VALUE = 40
_RIGHT = Verdict(True, None)

_FAULTS = {
    "internal": "RightCall itself failed; the lines before this one say more",
    "stopped": "the server was stopped before the answer was complete",
    "refused": "it cannot be passed on, so it was refused",
    "paused": "all calls are paused; `rightcall resume{}` lets them run again",
}
"""Faults that are none of the upstream's."""
_UPSTREAM = {
    "unreachable": "cannot be reached",
    "timeout": "did not answer in time",
    "broken": "sent an answer that is broken or stops in the middle",
    "too_large": "sent an answer that is too large",
}


def teller(lines: Lines, redactor: Callable[[], Redactor], where: str = "") -> Callable[[Facts], None]:
    """Tells people what was done. `redactor` gives the one of this moment; `where` are options for further commands."""
    from rightcall.server.recording import weight_of

    def tell(facts: Facts) -> None:
        fault = facts.fault if facts.fault != "gone" else ""
        if not facts.did and not fault:
            return
        calls = [lighten(_without_arguments(one), redactor()) for one in facts.did[:_MOST]]
        told = _Told(
            lines.form.now(), facts.wire, facts.model[:400], facts.caller, facts.stream, facts.observe, calls,
            len(facts.did) - _MOST, fault, where, facts.retries, facts.taught, facts.upstream,
        )  # fmt: skip
        lines.make(lambda: _render(told, lines.form, redactor()), sum(map(weight_of, calls)))

    return tell


class _Told(Struct, frozen=True):
    """What is kept of a request until its lines are made."""

    when: float
    wire: str
    model: str
    caller: str
    stream: bool
    observe: bool
    did: list[Did]
    more: int
    fault: str
    where: str
    retries: int
    taught: bool
    upstream: str


def _without_arguments(did: Did) -> Did:
    """Of a call that was right only the name is told, so nothing else of it waits."""
    if did.fate != "right":
        return did
    call = did.verdict.call
    return Did("right", _RIGHT, did.written if call is None else call.name)


def _render(told: _Told, form: Form, redactor: Redactor) -> str:
    came = Provenance(told.wire, told.model, "", told.caller or CALLER, observe=told.observe)
    entries = [
        _entry(one, body, told, form) for one, body in zip(told.did, notes(told.did, redactor, came), strict=True)
    ]
    if told.more > 0:
        text = f"{told.more} more calls in this answer; `rightcall audit tail{told.where}` lists them"
        entries.append(form.entry(told.when, "note", f"… and {text}", {"more_calls": told.more}))
    if told.fault:
        known = _FAULTS.get(told.fault)
        host = escaped(told.upstream, 100) or "the upstream"
        text = known.format(told.where) if known else f"{host} {_UPSTREAM.get(told.fault, told.fault)}"
        about = f"request ({escaped(told.model, 40)})" if told.model else "request"
        fields = {"fault": told.fault, "wire": told.wire, "model": escaped(told.model, 200), "upstream": told.upstream}
        entries.append(form.entry(told.when, "failed", f"{about}: {text}", fields))
    return "\n".join(entries)


def _entry(did: Did, body: CallBody, told: _Told, form: Form) -> str:
    word = word_for(did, observe=told.observe)
    if form.as_json:
        return form.entry(told.when, word, "", _fields(did, body, told))
    who = [escaped(body.model, 40)] if body.model else []
    who += [f"as {escaped(body.caller, 40)}"] if body.caller != CALLER else []
    who += [f"asked again {many(told.retries, 'time')}"] if told.retries else []
    who += ["tools in its prompt"] if told.taught else []
    about = escaped(body.tool, 60) or "(no name)"
    about += f" ({', '.join(who)})" if who else ""
    why = _why(did, body, told)
    return form.entry(told.when, word, f"{about}: {form.style.tint(why, 'dim')}" if why else about)


def _fields(did: Did, body: CallBody, told: _Told) -> dict[str, Any]:
    """The same for a program."""
    return {
        "tool": body.tool, "written": body.written or body.tool, "repairs": body.repairs, "problems": body.problems,
        "reason": _reason(did, body, told), "confidence": body.confidence, "model": body.model, "caller": body.caller,
        "wire": told.wire, "stream": told.stream, "retries": told.retries, "taught": told.taught,
    }  # fmt: skip


def _why(did: Did, body: CallBody, told: _Told) -> str:
    if did.fate in ("repaired", "lifted") and body.repairs:
        changes = _changes(body)
        more = len(changes) - _MOST
        return "; ".join([*changes[:_MOST], *([f"and {many(more, 'more repair')}"] if more > 0 else [])])
    return _reason(did, body, told)


def _reason(did: Did, body: CallBody, told: _Told) -> str:
    """Why a call was left as it is, or what else there is to say of it."""
    if did.fate == "left" and body.problems:
        shown = "; ".join(escaped(_problem(one), 100) for one in body.problems[:3])
        return f"{shown}; passed on unchanged"
    return did.why(observe=told.observe)


def _problem(problem: dict[str, str]) -> str:
    """Where all of the message is secret, what remains to be said."""
    message = problem["message"]
    return f"{problem['path']}: {problem['code']}" if REDACTED.fullmatch(message) else message


def _changes(body: CallBody) -> list[str]:
    """One for each argument; all that was wrong with the text of the call is one change of that text."""
    of_text = [one for one in body.repairs if one["rule"] in RULES and not one["path"]]
    found: list[str] = []
    for one in body.repairs:
        if one not in of_text:
            found.append(_change(one, one["before"], [one["rule"]]))
        elif one is of_text[0]:
            written = body.emission if isinstance(body.emission, str) else one["before"]
            found.append(_change(one, written, [each["rule"] for each in of_text]))
    return found


def _change(repair: dict[str, Any], before: Any, rules: list[Any]) -> str:
    path = escaped(str(repair["path"]), _LONGEST_VALUE) or "call"
    after = "left out" if repair["rule"] in LEFT_OUT else f"→ {render_json(repair['after'], _LONGEST_VALUE)}"
    return f"{path} {render_json(before, _LONGEST_VALUE)} {after} [{escaped(', '.join(map(str, rules)), 120)}]"
