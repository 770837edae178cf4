"""`audit show`: everything that is recorded about one call, or the content of a record of another kind."""

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from secrets import token_hex
from typing import Any, TextIO

from msgspec import Struct, to_builtins

from rightcall.base.files.guarded import whole_file
from rightcall.base.text import escaped, invalid_call, render_json
from rightcall.cli import OK
from rightcall.cli.options import InputError, Looking
from rightcall.cli.persons import fit_columns, moment
from rightcall.cli.terminal import (
    LEFT_OUT,
    Style,
    Tint,
    Whole,
    brief,
    confidence,
    labelled,
    many,
    pad,
    text_lines,
    value_text,
    visible_width,
    written_lines,
)
from rightcall.executor.guesses import LOOP, how_to_allow
from rightcall.gate.records import json_text
from rightcall.policy.effects import line_to_add
from rightcall.policy.types import Approval
from rightcall.record.calls import CallRecord, call, neighbours
from rightcall.record.export import (
    COLUMNS,
    Exported,
    RecordFilter,
    csv_line,
    csv_row,
    entry_record,
    exported,
    json_line,
    value_of,
)
from rightcall.record.tables import START, AuditEntry, Tables
from rightcall.record.verify import is_erased
from rightcall.router.packets import is_packet_id

# ── one line per call ──
# One call of the audit as one line, and the marks and words that `tail` and `show` share. Everything is escaped.

TINTS: Mapping[str, Tint] = {
    "success": "green", "failed": "red", "refused": "yellow", "waiting": "cyan", "pending": "dim",
    "interrupted": "red", "damaged": "red", "proxied": "cyan", "would-refuse": "yellow", "would-ask": "cyan",
}  # fmt: skip

_STATUS, _TIME = 11, 8
_LEAST_CALLER, _LEAST_TOOL = 6, 10
_MOST_CALLER, _MOST_TOOL = 20, 28
_DETAIL = 400
_WIDE, _NARROW = 100, 70
"""Columns of a terminal below which lines go without the date, and without the time a call took."""


class Table:
    """Lines for calls, one below the other. The columns are as wide as the widest name so far."""

    def __init__(self, style: Style, records: Iterable[CallRecord] = ()) -> None:
        self._style = style
        self._dated, self._timed = style.width >= _WIDE, style.width >= _NARROW
        self._status, self._caller, self._tool = _STATUS, _LEAST_CALLER, _LEAST_TOOL
        for record in records:
            self._widen(record)

    def header(self) -> str:
        when = pad("time (UTC)", 14) if self._dated else pad("UTC", 8)
        words = f"{'record':>6}  {when}  {pad('status', self._status)}  {pad('caller', self._caller)}  "
        return self._style.tint(f"{words}{pad('tool', self._tool)}  {self._took('took')}what", "bold")

    def line(self, record: CallRecord) -> str:
        """Number, time, how it went, who, what, how long, and what with or why not."""
        self._widen(record)
        word = record.would or record.status
        status = self._style.tint(pad(word, self._status), TINTS[word])
        when = escaped(record.timestamp[5 if self._dated else 11 : 19], 14)
        start = (
            f"{record.id:>6}  {when}  {status}  {column(record.caller, self._caller)}  "
            f"{column(record.tool, self._tool)}  {self._took(took(record))}"
        )
        room = max(6, self._style.width - visible_width(start))
        return (start + fit_columns(detail(record), room)).rstrip()

    def _took(self, text: str) -> str:
        return f"{text:>{_TIME}}  " if self._timed else ""

    def _widen(self, record: CallRecord) -> None:
        self._status = max(self._status, len(record.would or ""))
        self._caller = min(_MOST_CALLER, max(self._caller, visible_width(escaped(record.caller, 200))))
        self._tool = min(_MOST_TOOL, max(self._tool, visible_width(escaped(record.tool, 200))))


def call_lines(records: list[CallRecord], style: Style) -> list[str]:
    table = Table(style, records)
    return [table.line(record) for record in records]


def detail(record: CallRecord) -> str:
    """What a line has room for: the reason where it did not go well, else the arguments and what came of them. Of a
    call that was only observed, first the rule that would have stopped it."""
    return f"{escaped(record.would_by, 80)}: {_describe_course(record)}" if record.would else _describe_course(record)


def _describe_course(record: CallRecord) -> str:
    if record.status in ("failed", "refused", "interrupted", "damaged"):
        return escaped(f"{record.rule}: {record.error}" if record.status == "refused" else record.error or "", _DETAIL)
    if record.status == "waiting":
        return escaped(f"for approval {record.approval}", _DETAIL)
    if record.status == "proxied":
        return _passed(record)
    is_gone = record.params is None and not record.digest  # as `erase` leaves it
    given = "content erased" if is_gone else render_json(record.params, _DETAIL)
    return f"{given} → {escaped(record.summary, _DETAIL)}" if record.summary else given


def _passed(record: CallRecord) -> str:
    """What the proxy did about a call, the name it had, and what the client got of it."""
    fate = record.rule.removeprefix("proxy:")
    name = f" from {render_json(record.written, 60)}" if record.written else ""
    # the line names the tool already: what is wrong with the call comes first
    reason = record.reason.removeprefix(f"{invalid_call(record.tool)} ")
    told = render_json(record.params, _DETAIL) if fate != "left" else escaped(reason, _DETAIL)
    return f"{escaped(fate, 40)}{name}: {told}"


def records(number: int) -> str:
    return many(number, "record")


def took(record: CallRecord) -> str:
    time = record.execution_time
    if time is None:
        return ""
    return f"{time:.1f} ms" if time < 1000 else f"{time / 1000:.1f} s"


def column(text: str, width: int) -> str:
    return pad(fit_columns(escaped(text, 200), width), width)


class View(Struct, frozen=True):
    """What was found under a number."""

    entry: AuditEntry
    """Of a call, the record with which it was decided."""
    before: bytes | None
    """The hash of the record before it; None when that was pruned."""
    record: CallRecord | None
    """None for a record that is no call's."""
    belonging: list[AuditEntry]
    approval: "Approval | None"
    near: list[CallRecord]


def find_view(tables: Tables, seq: int) -> View | None:
    record = call(tables, seq)
    entry = tables.entry(seq if record is None else record.id)
    if entry is None:
        return None
    previous = tables.entry(entry.seq - 1)
    before = START if entry.seq == 1 else None if previous is None else previous.hash
    approval = None if record is None or record.approval is None else tables.approval(record.approval)
    near = [] if record is None else neighbours(tables, record)
    return View(entry, before, record, tables.belonging(entry.seq), approval, near)


def record_of_view(view: View) -> dict[str, Any]:
    """As `--json` prints it."""
    record: dict[str, Any] = {} if view.record is None else to_builtins(view.record)
    return {
        **record,
        "records": [entry_record(entry) for entry in (view.entry, *view.belonging)],
        "prev": None if view.before is None else view.before.hex(),
        "answer": None if view.approval is None else _answer_record(view.approval),
        "neighbours": [one.id for one in view.near],
    }


def _answer_record(approval: "Approval") -> dict[str, Any]:
    """Without the call itself, which is not redacted there."""
    return {
        "id": approval.id, "status": approval.status, "why": approval.why, "asked": approval.asked,
        "by": approval.by, "answered": approval.answered or None, "used_by": approval.used_by or None,
    }  # fmt: skip


def whole(view: View, style: Style, where: str = "") -> list[str]:
    """For people."""
    if view.record is None:
        return _other(view, style)
    record = view.record
    said = f"record {record.id}: {escaped(record.tool, 80)} for {escaped(record.caller, 80)}, {record.status}"
    lines = [style.tint(said, TINTS[record.status], "bold")]
    for label, texts in _sections(view, record, where):
        lines += labelled(label, texts, style)
    if view.near:
        lines += ["", style.tint(f"beside it in context {escaped(record.context or '', 80)}:", "dim")]
        lines += call_lines(view.near, style)
    return lines


def _sections(view: View, record: CallRecord, where: str) -> Iterator[tuple[str, list[str]]]:
    yield "when", [_times(record)]
    yield "identity", _as_lines(record.identity and " at ".join(escaped(one, 300) for one in record.identity[::-1]))
    yield "context", _as_lines(record.context and _context(record))
    saved = Whole(f"rightcall requests show {record.context}{where}")
    yield "saved request", [saved] if is_packet_id(record.context) else []
    yield "model", _as_lines(_describe_model(record))
    yield "through", _as_lines("" if record.status == "proxied" else escaped(record.wire, 40))
    yield "arguments", ["content erased"] if is_erased(view.entry) else [value_text(record.params)]
    yield "name as written", _as_lines(record.written and escaped(record.written, 200))
    yield "input", _emission(record)
    yield "repairs", [_repair(one) for one in record.repairs]
    yield "problems", [f"{_word(one.get('message'), 500)}  [{_word(one.get('code'))}]" for one in record.problems]
    yield "decision", [_decision(record)]
    yield "reason", text_lines(record.reason)
    yield "effects", _as_lines(", ".join(escaped(one) for one in record.effects))
    yield "approval", _approval(view, record)
    yield "grant", _as_lines(record.grant and escaped(record.grant))
    yield "earlier", _as_lines(record.earlier and f"the same call as record {record.earlier}")
    yield "to allow it", _as_lines(record.rule == LOOP and how_to_allow(record.tool))
    yield "to allow it", _as_lines(line_to_add(record.rule, record.tool, record.effects))
    yield "outcome", _outcome(record)
    yield "error", text_lines(record.error if record.error != record.reason else None)
    yield "digest", _as_lines(escaped(record.digest))
    yield "decided with", _as_lines(_basis(record))
    yield "hash", [view.entry.hash.hex()]
    yield "hash before", [view.before.hex() if view.before is not None else "pruned"]


def _as_lines(text: object) -> list[str]:
    return [str(text)] if text else []


def _word(value: Any, longest: int = 80) -> str:
    return escaped(str(value), longest)


def _times(record: CallRecord) -> str:
    start = f"{escaped(record.timestamp)} UTC"
    return f"{start}, ended {escaped(record.ended)} after {took(record)}" if record.ended else start


def _context(record: CallRecord) -> str:
    step = f", step {escaped(record.step, 200)}" if record.step is not None else ""
    return f"{escaped(record.context or '', 200)}{step}"


def _emission(record: CallRecord) -> list[str]:
    if record.emission is None:
        return []
    text = record.emission if isinstance(record.emission, str) else json_text(record.emission)
    return written_lines(text)


def _repair(repair: Mapping[str, Any]) -> str:
    after = "left out" if repair.get("rule") in LEFT_OUT else f"→ {brief(repair.get('after'))}"
    change = f"{brief(repair.get('before'))} {after}"
    sure = repair.get("confidence")
    how = confidence(float(sure)) if isinstance(sure, (int, float)) else "?"
    place = _word(repair.get("path") or "(the call)")
    note = repair.get("note")
    change += f" ({_word(note)})" if note else ""
    return f"{place}  {change}  [{_word(repair.get('rule'))}, {_word(repair.get('strategy'))}, {how}]"


def _decision(record: CallRecord) -> str:
    parts = [f"{escaped(record.decision)} by {escaped(record.rule)}"]
    parts += [f"{record.would.replace('-', ' ')}: {escaped(record.would_by, 80)}"] if record.would else []
    if record.strategy == "failed":
        parts.append("could not be repaired")
    elif record.strategy != "direct" or record.confidence < 1:
        parts.append(f"read by {escaped(record.strategy)}, {confidence(record.confidence)}")
    if record.truncated:
        parts.append("truncated")
    if record.retry_after is not None:
        parts.append(f"may be tried again after {record.retry_after:g} s")
    return "; ".join(parts)


def _approval(view: View, record: CallRecord) -> list[str]:
    approval = view.approval
    if approval is None:
        return _as_lines(record.approval and f"{escaped(record.approval)} (no longer kept)")
    said = f"{approval.id}, asked {approval.asked} UTC because of {escaped(approval.why, 300)}"
    by = f" by {escaped(approval.by, 80)} on {approval.answered} UTC" if approval.by else ""
    used = f", used by record {approval.used_by}" if approval.used_by else ""
    return [said, f"{approval.status}{by}{used}"]


def _describe_model(record: CallRecord) -> str:
    """Of a call that passed through the proxy: which model wrote it, and what it took."""
    if not record.wire or record.status != "proxied":
        return ""
    retried = f", asked again {many(record.retries, 'time')}" if record.retries else ""
    taught = ", told of the tools in its prompt" if record.taught else ""
    return f"{escaped(record.model, 200) or '(not named)'} over {escaped(record.wire, 40)}{retried}{taught}"


def _outcome(record: CallRecord) -> list[str]:
    if record.status == "proxied":
        return ["passed on to the client; the result is unknown here"]
    if record.ended is None:
        return [record.status]
    parts = [record.status]
    parts += [f"{record.tokens:,} tokens"] if record.tokens else []
    parts += ["from the cache"] if record.cached else []
    parts += [f"sandbox {escaped(record.sandbox)}"] if record.sandbox else []
    return [", ".join(parts), *text_lines(record.summary)]


def _basis(record: CallRecord) -> str:
    named = {
        "policy": record.policy, "rights": record.rights, "definition": record.definition, "state": record.state,
        "origin": record.origin, "provider": record.provider,
    }  # fmt: skip
    return ", ".join(f"{name} {escaped(value, 80)}" for name, value in named.items() if value)


def _other(view: View, style: Style) -> list[str]:
    entry = view.entry
    return [
        style.tint(f"record {entry.seq}: {escaped(entry.kind, 40)}", "bold"),
        *labelled("when", [f"{escaped(entry.at, 40)} UTC"], style),
        *labelled("belongs to", _as_lines(entry.call and f"record {entry.call}"), style),
        *labelled("content", [value_text(value_of(entry))], style),
        *labelled("hash", [entry.hash.hex()], style),
        *labelled("hash before", [view.before.hex() if view.before is not None else "pruned"], style),
    ]


# ── audit export ──
# `audit export`: every record with its hash and the hash before it, as JSON lines or CSV, ASCII throughout.
#
# A file appears whole or not at all: it is written beside its place and then renamed, so that Ctrl-C loses nothing.


def export(store: "Looking", options: Namespace) -> int:
    since = None if options.since is None else moment(options.since, "--since")
    write = _csv if options.format == "csv" else _jsonl
    if os.path.isfile(options.file) and not options.force:
        raise InputError("this file exists, and nothing was written; pass `--force` to replace it", source=options.file)
    with _target(options.file) as stream:
        wanted = RecordFilter(caller=options.caller, since=since)
        count = store.look(lambda tables: write(stream, exported(tables, wanted)))
    if options.file != "-":
        sys.stderr.write(f"{records(count)} written to {options.file}\n")
    return OK


def _jsonl(stream: TextIO, records: Iterator[Exported]) -> int:
    count = 0
    for entry, before in records:
        stream.write(json_line(entry, before))
        count += 1
    return count


def _csv(stream: TextIO, records: Iterator[Exported]) -> int:
    stream.write(csv_line(COLUMNS))
    count = 0
    for entry, before in records:
        stream.write(csv_row(entry, before))
        count += 1
    return count


@contextmanager
def _target(path: str) -> Generator[TextIO, None, None]:
    """Where to write: standard output, something special like a pipe, or a file that appears when all is written."""
    if path == "-":
        yield sys.stdout
        return
    try:
        if _is_special(path):
            with open(path, "w", encoding="ascii") as stream:
                yield stream
            return
        with _whole_text(path) as stream:
            yield stream
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=path) from error


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _whole_text(path: str) -> Generator[TextIO, None, None]:
    target = os.path.realpath(path)  # behind a link, so that the link stays
    with whole_file(target, os.path.join(os.path.dirname(target), f".rightcall-{token_hex(6)}")) as stream:
        text = TextIOWrapper(stream, encoding="ascii", newline="")
        try:
            yield text
        finally:
            text.detach()
