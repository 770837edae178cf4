"""`audit show`: everything that is recorded about one call, or the content of a record of another kind."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct, json, to_builtins

from rightcall.cli.audit_lines import TINTS, call_lines, took
from rightcall.cli.output import json_text
from rightcall.cli.render import brief, confidence, labelled, value_text, written_lines
from rightcall.cli.terminal import Style, harmless_lines, many
from rightcall.executor_repeats import LOOP, how_to_allow
from rightcall.record.chain import START
from rightcall.record.reading import CallRecord, call, neighbours
from rightcall.record.tables import AuditEntry, Tables
from rightcall.route.packet_ids import is_packet_id
from rightcall.text.escape import cut_counted, escaped

if TYPE_CHECKING:
    from rightcall.types_running import Approval

_LONGEST = 4000


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


def record_of(view: View) -> dict[str, Any]:
    """As `--json` prints it."""
    record: dict[str, Any] = {} if view.record is None else to_builtins(view.record)
    return {
        **record,
        "records": [_entry_record(entry) for entry in (view.entry, *view.belonging)],
        "prev": None if view.before is None else view.before.hex(),
        "answer": None if view.approval is None else _answer_record(view.approval),
        "neighbours": [one.id for one in view.near],
    }


def _entry_record(entry: AuditEntry) -> dict[str, Any]:
    return {
        "seq": entry.seq, "kind": entry.kind, "call": entry.call, "at": entry.at, "hash": entry.hash.hex(),
        "body": _body(entry),
    }  # fmt: skip


def _body(entry: AuditEntry) -> Any:
    try:
        return json.decode(entry.body)
    except DecodeError:  # somebody else wrote it
        return entry.body.decode("utf-8", "backslashreplace")


def _answer_record(approval: "Approval") -> dict[str, Any]:
    """Without the call itself, which is not redacted there."""
    return {
        "id": approval.id, "status": approval.status, "why": approval.why, "asked": approval.asked,
        "by": approval.by, "answered": approval.answered or None, "used_by": approval.used_by or None,
    }  # fmt: skip


def whole(view: View, style: Style) -> list[str]:
    """For people."""
    if view.record is None:
        return _other(view, style)
    record = view.record
    said = f"record {record.id}: {escaped(record.tool, 80)} for {escaped(record.caller, 80)}, {record.status}"
    lines = [style.tint(said, TINTS[record.status], "bold")]
    for label, texts in _sections(view, record):
        lines += labelled(label, texts, style)
    if view.near:
        lines += ["", style.tint(f"beside it in context {escaped(record.context or '', 80)}:", "dim")]
        lines += call_lines(view.near, style)
    return lines


def _sections(view: View, record: CallRecord) -> Iterator[tuple[str, list[str]]]:
    yield "when", [_times(record)]
    yield "context", _as_lines(record.context and _context(record))
    yield "packet", _as_lines(is_packet_id(record.context) and f"rightcall packet show {record.context}")
    yield "model", _as_lines(_describe_model(record))
    yield "through", _as_lines("" if record.status == "proxied" else escaped(record.wire, 40))
    yield "arguments", [value_text(record.params)]
    yield "name as written", _as_lines(record.written and escaped(record.written, 200))
    yield "the model wrote", _emission(record)
    yield "repaired", [_repair(one) for one in record.repairs]
    yield "problems", [f"{_word(one.get('message'), 500)}  [{_word(one.get('code'))}]" for one in record.problems]
    yield "decision", [_decision(record)]
    yield "reason", harmless_lines(cut_counted(record.reason, _LONGEST)) if record.reason else []
    yield "effects", _as_lines(", ".join(escaped(one) for one in record.effects))
    yield "approval", _approval(view, record)
    yield "grant", _as_lines(record.grant and escaped(record.grant))
    yield "earlier", _as_lines(record.earlier and f"the same call as record {record.earlier}")
    yield "to allow it", _as_lines(record.rule == LOOP and how_to_allow(record.tool))
    yield "outcome", _outcome(record)
    yield (
        "error",
        harmless_lines(cut_counted(record.error, _LONGEST)) if record.error and record.error != record.reason else [],
    )
    yield "digest", [escaped(record.digest)]
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
    change = f"{brief(repair.get('before'))} → {brief(repair.get('after'))}"
    sure = repair.get("confidence")
    how = confidence(float(sure)) if isinstance(sure, (int, float)) else "?"
    place = _word(repair.get("path") or "(the call)")
    return f"{place}  {change}  [{_word(repair.get('rule'))}, {_word(repair.get('strategy'))}, {how}]"


def _decision(record: CallRecord) -> str:
    parts = [f"{escaped(record.decision)} by {escaped(record.rule)}"]
    if record.strategy != "direct" or record.confidence < 1:
        parts.append(f"read by {escaped(record.strategy)}, {confidence(record.confidence)}")
    if record.truncated:
        parts.append("cut off")
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
        return ["passed on to the client; what came of it is not known here"]
    if record.ended is None:
        return [record.status]
    parts = [record.status]
    parts += [f"{record.tokens:,} tokens"] if record.tokens else []
    parts += ["from the cache"] if record.cached else []
    parts += [f"sandbox {escaped(record.sandbox)}"] if record.sandbox else []
    return (
        [", ".join(parts), *harmless_lines(cut_counted(record.summary, _LONGEST))]
        if record.summary
        else [", ".join(parts)]
    )


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
        *labelled("content", [value_text(_body(entry))], style),
        *labelled("hash", [entry.hash.hex()], style),
        *labelled("hash before", [view.before.hex() if view.before is not None else "pruned"], style),
    ]
