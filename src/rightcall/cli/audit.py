"""Show the last calls or one record, verify that no record was changed, export the audit log, or prune old records."""

import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import takewhile
from shlex import quote
from time import sleep
from typing import Any, get_args

from msgspec import MsgspecError, Struct, json, to_builtins
from msgspec.structs import replace

from rightcall.base.files.guarded import plain_file, whole_file
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.audit_report import Table, export, find_view, record_of_view, records, whole
from rightcall.cli.options import (
    SHARED,
    Looking,
    database_of,
    found_in,
    given_text,
    json_option,
    look_into,
    open_store,
    places,
    pointed,
    read_text,
    server_of,
    store_options,
    subcommands,
    whole_number,
)
from rightcall.cli.pause import paused_line
from rightcall.cli.persons import ago, agrees, at_a_terminal, moment, person_option, who
from rightcall.cli.terminal import Style, many, say, style_for, tell, wrap
from rightcall.errors import AnswerError, ConfigError, StoreError
from rightcall.gate.records import json_text
from rightcall.policy.trust import recall, speak_on_stderr, warn
from rightcall.policy.types import Status
from rightcall.record.admission import require_person
from rightcall.record.calls import CALLS, WORDS, CallFilter, CallRecord, Would, call, find_calls, rule_of
from rightcall.record.erasure import Erasable, Erased, erase, find_erasable
from rightcall.record.identity import counts_whole, lost, note_adoption, own, was_adopted
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import NoteBody, Store, Tables, encode
from rightcall.record.verify import (
    Anchor,
    Cut,
    Pruned,
    Verification,
    anchor_text,
    heads_of,
    note_verified,
    plan,
    prune_in_steps,
    read_anchor,
    verify_audit,
)
from rightcall.router.packets import is_packet_id

EXAMPLES = """\
examples:
  rightcall audit tail -n 50 --as teacher
  rightcall audit tail --follow --status refused
  rightcall audit tail --status would-refuse   # what mode observe let run
  rightcall audit show 12
  rightcall audit show last
  rightcall audit head > anchor.txt
  rightcall audit verify --anchor "$(cat anchor.txt)"
  rightcall audit heads --out heads.json
  rightcall audit verify --heads heads.json
  rightcall audit export audit.jsonl --since 2026-01-01
  rightcall audit prune --older-than 90d
  rightcall audit erase --as teacher --before 2026-01-01
  rightcall audit adopt --reason "restored from Monday's backup"
"""

FORMATS = ("jsonl", "csv")
STATUSES = (*get_args(Status), "proxied", *WORDS, *get_args(Would))


def arguments(parser: ArgumentParser) -> None:
    action, every = subcommands(parser)
    tail = action("tail", "Show the last calls, newest at the end")
    tail.add_argument(
        "-n",
        "--limit",
        type=whole_number("records"),
        default=20,
        metavar="N",
        help="Show at most N (default: %(default)s)",
    )
    tail.add_argument("--follow", "-f", action="store_true", help="Show new calls until Ctrl-C")
    tail.add_argument("--tool", metavar="TOOL", help="Show only calls of this tool")
    tail.add_argument("--status", choices=STATUSES, metavar="STATUS", help=f"Show only {', '.join(STATUSES)}")
    tail.add_argument("--context", metavar="ID", help="Show only calls of this context")
    tail.add_argument("--step", metavar="ID", help="Show only calls of this step")
    tail.add_argument("--json", action="store_true", help="Print each call as a JSON line")
    show = action("show", "Show one call or record in full")
    show.add_argument("id", nargs="?", default="last", metavar="ID", help="Number of the record (default: last)")
    json_option(show)
    verify = action("verify", "Verify that no record was changed, removed or moved")
    verify.add_argument("--anchor", metavar="SEQ:HASH", help="Also find removed newest records, by an earlier `head`")
    verify.add_argument("--heads", metavar="FILE", help="The same for every node, by an earlier `heads`")
    json_option(verify)
    json_option(action("head", "Print number and hash of the last record, to keep elsewhere"))
    heads = action("heads", "Print the last record of every node as JSON, to keep elsewhere")
    heads.add_argument("--out", metavar="FILE", help="Write to FILE (default: standard output)")
    export = action("export", "Export every record with its hash")
    export.add_argument("file", nargs="?", default="-", metavar="FILE", help="File to write (default: standard output)")
    export.add_argument("--force", action="store_true", help="Replace an existing file")
    export.add_argument("--format", choices=FORMATS, default="jsonl", help="Format (default: %(default)s)")
    for one in (tail, export):
        one.add_argument("--as", dest="caller", metavar="CALLER", help="Only records of this caller")
        one.add_argument("--since", metavar="WHEN", help="Only records since a date (2026-01-31) or a time ago (12h)")
    prune = action("prune", "Remove the oldest records; the rest still verifies")
    prune.add_argument("--before", metavar="DATE", help="Remove records before this date")
    prune.add_argument("--older-than", metavar="TIME", help="Remove records older than this, such as 30d")
    prune.add_argument("--keep", type=whole_number("records"), metavar="N", help="Remove all but the last N records")
    prune.add_argument("--yes", action="store_true", help=SHARED["--yes"])
    person_option(prune)
    json_option(prune)
    erase = action("erase", "Remove what a caller wrote and was answered; its records stay and verify")
    erase.add_argument("--as", dest="caller", required=True, metavar="CALLER", help="Erase content of this caller")
    erase.add_argument("--before", metavar="DATE", help="Erase only from records before this date")
    erase.add_argument("--yes", action="store_true", help=SHARED["--yes"])
    person_option(erase)
    json_option(erase)
    adopt = action("adopt", "Continue with a store that was replaced, restored or emptied")
    adopt.add_argument("--reason", type=given_text, metavar="TEXT", default="", help="Record this reason (@FILE, -)")
    adopt.add_argument("--yes", action="store_true", help=SHARED["--yes"])
    person_option(adopt)
    json_option(adopt)
    for one in every.values():
        store_options(one)


def run(options: Namespace) -> int:
    if options.action == "prune":
        with closing(open_store(options)) as store:
            return prune_records(store, options)
    if options.action == "erase":
        with closing(open_store(options)) as store:
            return erase_content(store, options)
    if options.action == "adopt":
        return adopt_audit(options)
    with closing(look_into(options)) as looking:
        if options.action != "verify":
            _warn_of_another(looking)
        return _ACTIONS[options.action](looking, options)


def _warn_of_another(store: "Looking") -> None:
    """What is shown of a copy that was put back is not the whole story."""
    speak_on_stderr()
    with suppress(StoreError):  # whoever reads on is told
        if problem := store.look(store.strangeness):
            warn(f"{escaped(store.path)} is not the audit that was written here last: {escaped(problem, 300)}")


def _show(store: "Looking", options: Namespace) -> int:
    seq = _last_call(store) if options.id.strip().lower() == "last" else number(options.id)
    view = store.look(lambda tables: find_view(tables, seq))
    if view is None:
        oldest = store.look(lambda tables: tables.oldest())
        why = f"record {seq} was pruned" if 0 < seq < oldest else f"unknown record {seq}"
        raise ConfigError(f"{why}; run `rightcall audit tail` to see the last calls")
    tell(options, record_of_view(view), lambda style: whole(view, style, places(options)))
    return OK


def _last_call(store: "Looking") -> int:
    newest = store.look(lambda tables: tables.newest(1, CALLS))
    if not newest:
        raise ConfigError("no call is recorded here yet")
    return newest[0].seq


def _verify(store: "Looking", options: Namespace) -> int:
    anchor = None if options.anchor is None else anchor_of(options.anchor)
    heads = None if options.heads is None else heads_in(options.heads)
    result = check(store, anchor, heads)
    if result.ok or (anchor is None and heads is None):  # a wrong anchor says nothing of the records
        note_verified(store, result, store.look(lambda tables: tables.wall()))
    advised = "" if anchor is not None or heads is not None else _cut_option(store)
    tell(options, record_of(result, anchor), lambda style: lines(result, anchor, style, advised, heads is not None))
    return OK if result.ok else REFUSED


def _cut_option(store: "Looking") -> str:
    """With which removed newest records are found, however many nodes write."""
    return "--anchor" if store.look(lambda tables: tables.chains()) is None else "--heads"


def _head(store: "Looking", options: Namespace) -> int:
    head = store.look(lambda tables: tables.head())
    tell(options, {"seq": head[0], "anchor": anchor_text(head)}, lambda _: [anchor_text(head)])
    return OK


def _heads(store: "Looking", options: Namespace) -> int:
    taken, found = store.look(lambda tables: (tables.wall(), [_head_of(tables, *one) for one in _ends(tables)]))
    text = json_text({"version": 1, "store": str(store.path), "taken": taken, "heads": found}) + "\n"
    if options.out is None:
        sys.stdout.write(text)
    else:
        with whole_file(options.out, f"{options.out}.new") as stream:
            stream.write(text.encode())
        say(f"Wrote the heads of {many(len(found), 'node')} to {escaped(options.out)}. Keep the file elsewhere.")
    return OK


def _ends(tables: "Tables") -> list[tuple[int, Anchor]]:
    return sorted((node, head) for node, head in heads_of(tables).items() if head[0])


def _head_of(tables: "Tables", node: int, head: Anchor) -> dict[str, Any]:
    entry = tables.entry(head[0])
    return {"node": node, "seq": head[0], "hash": head[1].hex(), "at": None if entry is None else entry.at}


def heads_in(path: str) -> dict[int, Anchor]:
    """What `audit heads` wrote."""
    try:
        told = json.decode(read_text(path), type=_HeadsFile)
        return {one.node: (one.seq, bytes.fromhex(one.hash)) for one in told.heads}
    except (MsgspecError, ValueError) as error:
        raise ConfigError(f"{escaped(path)} was not written by `rightcall audit heads`: {error}") from None


class _HeadLine(Struct, frozen=True):
    node: int
    seq: int
    hash: str


class _HeadsFile(Struct, frozen=True):
    heads: tuple[_HeadLine, ...]


def number(text: str) -> int:
    """A record's number, as people write it."""
    digits = text.strip().removeprefix("#")
    if not digits.isdecimal() or len(digits) > 18:
        raise ConfigError(
            f"invalid record {escaped(text, 40)!r}: expected a number; run `rightcall audit tail` to see them"
        )
    return int(digits)


# ── audit prune ──
# `audit prune`: says what would go, asks, and removes it.


_BECAUSE = {
    "running": "a call that still runs",
    "overlapping": "a call whose end is among those that stay",
    "waiting": "a question that still waits for a person",
}


def prune_records(store: "Store", options: Namespace) -> int:
    before, keep = _before(options), options.keep
    cut = store.look(lambda tables: plan(tables, before=before, keep=keep, now=store.clock.now()))
    if not cut.count:
        _tell(Pruned(0, 0), cut, options)
        return OK
    if not options.yes and not _agreed(cut, options):
        return REFUSED
    done = prune_in_steps(store.transact, cut, who(options), store.clock.now)
    with suppress(StoreError):  # somebody writes: then the pages are used for what comes next
        give_space_back(store)
    _tell(done, cut, options)
    return OK


def give_space_back(store: "Store") -> None:
    compact = getattr(store, "compact", None)  # a store in memory has none
    if compact is not None:
        compact()


def _before(options: Namespace) -> str | None:
    given = [word for word in ("before", "older_than", "keep") if getattr(options, word) is not None]
    if not given:
        raise ConfigError("say what is old: --before DATE, --older-than 30d or --keep N")
    if "before" in given and "older_than" in given:
        raise ConfigError("--before and --older-than are two words for one thing: give one of them")
    if options.before is not None:
        return moment(options.before, "--before")
    return None if options.older_than is None else ago(options.older_than, "--older-than")


def _agreed(cut: Cut, options: Namespace) -> bool:
    most = "at most " if cut.at_once else ""  # numbers may be missing there
    would = f"this would remove {most}{records(cut.count)} for good, {cut.first:,} to {cut.through:,}."
    return _agreed_to(would, "remove them? [y/N] ", options, *_spared(cut))


def _tell(done: Pruned, cut: Cut, options: Namespace) -> None:
    if options.json:
        say(json_text(to_builtins(done)))
    elif done.removed:
        gone = f"Removed {records(done.removed)}, up to {done.through:,}; record {done.checkpoint:,} says so."
        say(gone, *(_spared(cut) if options.yes else ()))
        say(pointed("Older anchors no longer work. Take a new one with `rightcall audit head`.", options))
    else:
        say("Nothing is old enough to be removed." if not cut.spared else "Nothing can be removed now.", *_spared(cut))
    sys.stdout.flush()


def _spared(cut: Cut) -> list[str]:
    if not cut.spared:
        return []
    first = cut.through + 1 if cut.count else cut.first
    return [f"Old enough, but kept: {records(cut.spared)}. From {first:,} on there is {_BECAUSE[cut.because]}."]


# ── audit erase ──
# `audit erase`: what a caller wrote goes, the records of it stay.


def erase_content(store: "Store", options: Namespace) -> int:
    before = None if options.before is None else moment(options.before, "--before")
    found = store.look(lambda tables: find_erasable(tables, options.caller, before))
    spared = [f"Kept, because they run or wait for a person: {many(found.spared, 'call')}."] if found.spared else []
    done = Erased()
    if not found.records and not found.spared:
        _require_known(store, options.caller)
    if found.records:
        would = f"this would remove the content of {many(found.calls, 'call')} of {escaped(options.caller)} for good."
        if not options.yes and not _agreed_to(would, "Remove it? [y/N] ", options):
            return REFUSED
        done = _erase(store, found, before, options)
    record = {"records": done.records, "calls": done.calls, "spared": found.spared}
    told = (
        [f"Erased the content of {many(done.calls, 'call')} ({records(done.records)}), as a record of it says.",
         pointed("Backups, exports and saved requests still hold it. See `rightcall docs audit`.", options)]
        if done.records else ["There is nothing to erase."]
    )  # fmt: skip
    tell(options, record, lambda _: [*told, *spared])
    return OK


def _require_known(store: "Store", caller: str) -> None:
    """A misspelt name must not look like one whose content is gone."""
    if not store.look(lambda tables: find_calls(tables, CallFilter(caller), limit=1)):
        raise ConfigError(f"no call of {escaped(caller)!r} is recorded; run `rightcall audit tail` to see the callers")


def _erase(store: "Store", found: Erasable, before: str | None, options: Namespace) -> Erased:
    """What is gone is gone: whoever interrupts it is told how far it came."""
    watched = sys.stderr.isatty()
    done, left = Erased(), ""

    def progress(so_far: Erased) -> None:
        nonlocal done
        done = so_far
        if watched:
            sys.stderr.write(f"\r\x1b[KErased {done.records:,} of {records(len(found.records))} …")
            sys.stderr.flush()

    try:
        erase(store, found, options.caller, who(options), before, progress)
    except KeyboardInterrupt:
        gone = f"the content of {many(done.calls, 'call')} ({records(done.records)}) is gone"
        left = f"Interrupted: {gone}. To erase the rest, run the same command again.\n"
        raise
    finally:
        sys.stderr.write(("\r\x1b[K" if watched else "") + left)
        if done.records:
            give_space_back(store)
            forget_figures(store)
    return done


def forget_figures(store: "Store") -> None:
    """What was counted holds the texts of errors; it is counted again."""
    path = getattr(store, "path", None)
    if isinstance(path, str):
        for end in ("-rollup", "-rollup-wal", "-rollup-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + end)
    else:
        store.look(lambda tables: tables.rollup().clear())


def _agreed_to(would: str, question: str, options: Namespace, *more: str) -> bool:
    if options.json or not at_a_terminal():
        raise ConfigError(f"{would} Cannot prompt without a terminal; pass `--yes`")
    say(would[0].upper() + would[1:], *more)
    return agrees(question, "Nothing was removed.")


# ── audit verify ──
# `audit verify` and `audit head`: anchors as people keep them, progress, and the result in words.


def anchor_of(text: str) -> Anchor:
    """An anchor as `audit head` prints it."""
    found = read_anchor(text)
    if found is None:
        right = "expected a number, a colon and 64 hexadecimal digits, as `rightcall audit head` prints"
        raise ConfigError(f"invalid value {escaped(text, 90)!r} for `--anchor`: {right}")
    return found


def check(store: "Looking", anchor: Anchor | None, heads: dict[int, Anchor] | None = None) -> Verification:
    """Checks everything; somebody who waits at a terminal is told how far it is."""
    watched = sys.stderr.isatty()

    def progress(checked: int) -> None:
        sys.stderr.write(f"\r{records(checked)} are right so far …")
        sys.stderr.flush()

    def work(tables: "Tables") -> Verification:
        found = verify_audit(tables, anchor, progress if watched else None, heads)
        problem = store.strangeness(tables) if found.ok else ""
        return replace(found, ok=False, problem=f"The chain is whole, but {problem}.") if problem else found

    try:
        return store.look(work)
    finally:
        if watched:
            sys.stderr.write("\r\x1b[K")


def lines(result: Verification, anchor: Anchor | None, style: Style, advised: str, kept: bool) -> list[str]:
    """`advised`: the option without which nobody sees a cut, where none was given."""
    if not result.ok:
        found = [style.tint("✗ the audit is not as it was written", "red", "bold"), *wrap(result.problem, style.width)]
        return [*found, f"Right before that: {records(result.checked)}."] if result.first_wrong else found
    whole = f"✓ {records(result.checked)}, none changed" if result.checked else "✓ the audit is empty"
    said = [style.tint(whole, "green", "bold")]
    if result.pruned:
        said += wrap(f"Records up to {result.pruned:,} were pruned, as the record of that says.", style.width)
    if result.erased:
        said.append(f"Content erased, as records of that say: {records(result.erased)}.")
    if anchor is not None:
        said.append(f"No record up to the anchor, {anchor[0]:,}, is missing or was replaced.")
    if kept:
        said.append("No record up to the heads you kept is missing or was replaced.")
    if advised:
        said += wrap(f"Without `{advised}`, removed newest records cannot be detected.", style.width)
    return [*said, f"head {anchor_text(result.head)}"]


def record_of(result: Verification, anchor: Anchor | None) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "checked": result.checked,
        "first_wrong": result.first_wrong,
        "problem": result.problem or None,
        "head": anchor_text(result.head),
        "pruned": result.pruned or None,
        "erased": result.erased or None,
        "anchor": None if anchor is None else anchor_text(anchor),
    }


# ── audit tail ──
# `audit tail`: the last calls, and with --follow every call as it is decided and as it ends.

EVERY = 0.25
"""Seconds between two looks."""

_MOST_PACKETS = 5


def tail(store: "Looking", options: Namespace) -> int:
    """Prints the last calls; with --follow it goes on until Ctrl-C, which is how following ends and so no failure."""
    since = None if options.since is None else moment(options.since, "--since")
    head, found, held = store.look(lambda tables: (tables.head()[0], _last(tables, options, since), tables.paused()))
    table = Table(style_for(sys.stdout), found)
    if not options.json:
        _open(table, found, options)
    _print(found, table, options)
    told = _tell_packets(found, frozenset(), options)
    if not options.json:
        say(*(pointed(line, options) for line in paused_line(held)))
    try:
        while options.follow:
            sys.stdout.flush()
            sleep(EVERY)
            before = held
            (head, found), held = store.look(lambda tables, last=head: (_news(tables, last, options), tables.paused()))
            if held != before and not options.json:
                say(*(pointed(line, options) for line in paused_line(held) or ["Calls may run again."]))
            _print(found, table, options)
            told = _tell_packets(found, told, options)
    except KeyboardInterrupt:
        pass
    return OK


def _open(table: Table, found: list[CallRecord], options: Namespace) -> None:
    if found or options.follow:
        say(table.header())
    else:
        choosy = any((options.caller, options.tool, options.status, options.context, options.step, options.since))
        say("No such call is recorded here." if choosy else "No call is recorded here yet.")


def _last(tables: "Tables", options: Namespace, since: str | None) -> list[CallRecord]:
    return find_calls(tables, _wanted(options, since), limit=options.limit)[::-1]


def _wanted(options: Namespace, since: str | None = None) -> CallFilter:
    fate = options.status in WORDS
    status, rule = ("proxied", rule_of(options.status)) if fate else (options.status, None)
    return CallFilter(options.caller, options.tool, status, options.context, options.step, since, rule=rule)


def _news(tables: "Tables", last: int, options: Namespace) -> tuple[int, list[CallRecord]]:
    """What came after a record: each call once it has ended, and those that still run as well."""
    head = tables.head()[0]
    page = takewhile(lambda entry: entry.seq <= head, tables.entries(last))
    entries = [entry for entry in page if entry.kind in CALLS or entry.kind == "end"]
    ended = {entry.call for entry in entries if entry.kind == "end"}
    found = [call(tables, entry.seq) for entry in entries if not (entry.kind == "begin" and entry.seq in ended)]
    wanted = _wanted(options)
    return head, [record for record in found if record is not None and wanted.has(record)]


def _print(records: list[CallRecord], table: Table, options: Namespace) -> None:
    for record in records:
        tell(options, to_builtins(record), lambda _, record=record: [table.line(record)])


def _tell_packets(records: list[CallRecord], told: frozenset[str], options: Namespace) -> frozenset[str]:
    """Says once of each packet where its story is, of many the latest. Returns what was told by now."""
    packets = [record.context for record in records if record.context and is_packet_id(record.context)]
    new = [packet for packet in dict.fromkeys(packets) if packet not in told]
    if not options.json:
        say(*(f"request: rightcall requests show {packet}{places(options)}" for packet in new[-_MOST_PACKETS:]))
    return told.union(new)


# ── audit adopt ──
# `audit adopt`: take the file that is there now for the audit, or begin a new one, on purpose and on record.

_BESIDE = ("", "-wal", "-shm")


def adopt_audit(options: Namespace) -> int:
    if server_of(options):
        raise ConfigError("`audit adopt` is for a store in a file; one on a server is restored by its operator")
    path = os.path.realpath(database_of(options))
    if not os.path.exists(path) and not lost(path):
        raise ConfigError(f"no audit log at {escaped(path)}; nothing was changed. Check `--store`")
    if not lost(path) and not _was_a_store(path):
        raise ConfigError(f"{escaped(path)} is not an audit log; nothing was changed. Check `--store`")
    problem = _problem(path, found=found_in(options) is not None)
    if problem is None:
        return _make_it_ones_own(path, options)
    by = who(options)
    require_person(by, "", ())
    empties = problem.fault == "corrupt" and not _is_whole(path)
    loses = (
        "Tokens, approvals and grants in the lost audit log do not hold in the new one."
        if empties or lost(path)
        else "What was paused, approved, granted or revoked after this copy was made does not hold in it."
    )
    if not options.json:
        say(str(problem).partition(" Nothing was run.")[0], loses)
    if not _confirmed(options):
        return REFUSED
    aside = _move_aside(path) if problem.fault == "corrupt" else []
    with closing(SqliteStore(path, adopting=(by, options.reason))) as store:
        (entry,) = store.look(lambda tables: tables.newest(1, ("store",))) or [None]
        held = store.look(lambda tables: tables.paused())
        tokens = len(store.look(lambda tables: tables.tokens()))
    note_adoption(path)
    begun = entry is None or entry.seq == 1
    record = {
        "adopted": True, "new": begun, "record": None if entry is None else entry.seq, "aside": aside,
        "paused": held is not None, "tokens": tokens,
    }  # fmt: skip
    moved = [f"The damaged file is now {name}." for name in aside]
    tell(options, record, lambda _: [*moved, *_after(path, record)])
    return OK


def _make_it_ones_own(path: str, options: Namespace) -> int:
    """A store that is in order. One that came from elsewhere counts whole once its user has named it."""
    if counts_whole(path):
        same = "The audit is the one that was there before. Nothing was changed."
        tell(options, {"adopted": False}, lambda _: [same])
        return OK
    command = f"rightcall audit adopt --store {quote(path)}"
    if options.store is None and was_adopted(path):
        already = "The audit is adopted already. Nothing was changed."
        whole = f"Approvals, grants, tokens and people that came with it do not count. If they are yours: {command}"
        tell(options, {"adopted": False}, lambda _: [already, escaped(whole)])
        return OK
    if options.store is None:
        raise ConfigError(
            f"{escaped(path)} was not made by you here. If it is yours, name it: `{escaped(command)}`. "
            "Nothing was changed"
        )
    by = who(options)
    require_person(by, "", ())
    if not options.json:
        say("This audit log was made elsewhere. Its approvals, grants, tokens and people will count here.")
    if not _confirmed(options):
        return REFUSED
    with closing(SqliteStore(path)) as store:
        told = encode(NoteBody("adopted", by, {"why": "made elsewhere", "reason": options.reason}))
        number = store.transact(lambda tables: tables.append("store", 0, told))
        tokens = len(store.look(lambda tables: tables.tokens()))
        held = store.look(lambda tables: tables.paused())
    own(path)
    record: dict[str, Any] = {
        "adopted": True, "new": False, "record": number, "aside": [], "paused": held is not None, "tokens": tokens,
    }  # fmt: skip
    tell(options, record, lambda _: _after(path, record))
    return OK


def _confirmed(options: Namespace) -> bool:
    if options.yes:
        return True
    if options.json or not at_a_terminal():
        raise AnswerError("cannot prompt without a terminal; pass --yes")
    return agrees("Go on with what is there now, and record that? [y/N] ", "Nothing was changed.")


def _after(path: str, record: dict[str, Any]) -> list[str]:
    """What is in force now, and what to do where that is not what was."""
    where = f"--store {escaped(quote(path))}"
    if record["new"]:
        return [
            "A new audit was begun.",
            f"It is {'still' if record['paused'] else 'not'} paused and holds no tokens, approvals or grants.",
            *([] if record["paused"] else [f"If calls were paused, pause them again: rightcall pause {where}"]),
            f"For each client make a token again: rightcall token new --as CALLER {where}",
        ]
    return [
        f"Adopted, as record {record['record']} says.",
        f"Calls are {'paused' if record['paused'] else 'not paused'}; {many(record['tokens'], 'token')} can be used.",
        *([] if record["paused"] else [f"If calls were paused since, pause them again: rightcall pause {where}"]),
        f"Check the tokens, a revoked one may be back: rightcall token list {where}",
    ]


def _problem(path: str, *, found: bool) -> StoreError | None:
    """What is wrong with it, where that is for a person to decide; any other fault is raised."""
    try:
        SqliteStore(path, found=found).close()
    except StoreError as error:
        if error.fault in ("replaced", "corrupt"):
            return error
        raise
    return None


def _was_a_store(path: str) -> bool:
    """Whether a file is, or was, one of ours: a database, or a file with a key or a note of ours."""
    beside = any(os.path.exists(f"{path}{end}") for end in (".key", "-head"))
    if beside or recall("stores", path) is not None:
        return True
    with open(path, "rb", opener=plain_file) as file:
        return file.read(16) == b"SQLite format 3\0"


def _move_aside(path: str) -> list[str]:
    """A file that cannot be read is kept under another name, and so is a key that is none."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    moved: list[str] = []
    key = f"{path}.key"
    files = [f"{path}{end}" for end in _BESIDE if not _is_whole(path)]
    files += [key] if os.path.exists(key) and os.path.getsize(key) != 32 else []
    for file in files:
        if os.path.exists(file):
            other = f"{file}.before-{moment}"
            os.rename(file, other)
            moved.append(os.path.basename(other))
    return moved


def _is_whole(path: str) -> bool:
    """Whether it is the key beside it that is damaged, and not the database."""
    try:
        with closing(Looking(path, found=True)) as looking:
            looking.look(lambda tables: tables.head())
    except StoreError:
        return False
    return True


_ACTIONS = {"tail": tail, "show": _show, "verify": _verify, "head": _head, "heads": _heads, "export": export}
