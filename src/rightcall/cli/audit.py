"""Look into the audit: the last calls, everything about one, whether anybody changed a record; take it out, or let the
oldest records go."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, get_args

from rightcall.cli import OK, REFUSED
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.persons import person_option
from rightcall.cli.store_options import look_into, open_store, store_options
from rightcall.cli.terminal import say, style_for
from rightcall.errors import ConfigError, StoreError
from rightcall.text.escape import escaped
from rightcall.types_running import Status

if TYPE_CHECKING:
    from rightcall.cli.store_options import Looking

EXAMPLES = """\
examples:
  rightcall audit tail -n 50 --as teacher
  rightcall audit tail --follow --status refused
  rightcall audit show 12
  rightcall audit head > anchor.txt
  rightcall audit verify --anchor "$(cat anchor.txt)"
  rightcall audit export audit.jsonl --since 2026-01-01
  rightcall audit prune --older-than 90d
  rightcall audit adopt --reason "restored from Monday's backup"
"""

FORMATS = ("jsonl", "csv")
STATUSES = (*get_args(Status), "proxied")


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str) -> ArgumentParser:
        return actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )

    tail = action("tail", "the last calls, the newest at the end")
    tail.add_argument("-n", type=_count, default=20, metavar="N", help="how many (default: %(default)s)")
    tail.add_argument("--follow", "-f", action="store_true", help="go on with every new call, until Ctrl-C")
    tail.add_argument("--tool", metavar="TOOL", help="only calls of this tool")
    tail.add_argument("--status", choices=STATUSES, metavar="STATUS", help=f"one of {_words(STATUSES)}")
    tail.add_argument("--context", metavar="ID", help="only calls of this context")
    tail.add_argument("--step", metavar="ID", help="only calls of this step")
    tail.add_argument("--json", action="store_true", help="print each call as a JSON line")
    show = action("show", "everything about one call, or one record of another kind")
    show.add_argument("id", metavar="ID", help="the number of its record, as `tail` shows it")
    json_option(show, "the record")
    verify = action("verify", "whether a record was changed, removed or moved; exit code 1 when one was")
    verify.add_argument("--anchor", metavar="SEQ:HASH", help="what `head` printed once: then a cut tail is found too")
    json_option(verify, "the result")
    action("head", "number and hash of the last record, to be kept elsewhere as an anchor")
    export = action("export", "every record with its hash, so that anybody can verify it")
    export.add_argument("file", nargs="?", default="-", metavar="FILE", help="where to (default: standard output)")
    export.add_argument("--format", choices=FORMATS, default="jsonl", help="default: %(default)s")
    for one in (tail, export):
        one.add_argument("--as", dest="caller", metavar="CALLER", help="only what this caller did")
        one.add_argument("--since", metavar="WHEN", help="from a date on (2026-01-31), or from so long ago (12h)")
    prune = action("prune", "remove the oldest records; a checkpoint stays, with which the rest verifies")
    prune.add_argument("--before", metavar="DATE", help="records before this date")
    prune.add_argument("--older-than", metavar="TIME", help="records older than this, such as 30d")
    prune.add_argument("--keep", type=_count, metavar="N", help="all but the last N records")
    prune.add_argument("--yes", action="store_true", help="do not ask")
    person_option(prune)
    json_option(prune, "what was removed")
    adopt = action("adopt", "go on with the file that is there now, where it is empty, gone, another or an older copy")
    adopt.add_argument("--reason", metavar="TEXT", default="", help="why, for the record")
    adopt.add_argument("--yes", action="store_true", help="do not ask")
    person_option(adopt)
    json_option(adopt, "what holds now")
    for one in actions.choices.values():
        store_options(one)


def run(options: Namespace) -> int:
    if options.action == "prune":
        from rightcall.cli.audit_prune import prune_records

        store = open_store(options)
        try:
            return prune_records(store, options)
        finally:
            store.close()
    if options.action == "adopt":
        from rightcall.cli.audit_adopt import adopt_audit

        return adopt_audit(options)
    looking = look_into(options)
    try:
        if options.action != "verify":
            _warn_of_another(looking)
        return _ACTIONS[options.action](looking, options)
    finally:
        looking.close()


def _warn_of_another(store: "Looking") -> None:
    """What is shown of a copy that was put back is not the whole story."""
    from rightcall.trust.telling import speak_on_stderr, warn

    speak_on_stderr()
    with suppress(StoreError):  # whoever reads on is told
        if problem := store.look(store.strangeness):
            warn(f"{escaped(str(store.path))} is not the audit that was written here last: {escaped(problem, 300)}")


def _tail(store: "Looking", options: Namespace) -> int:
    from rightcall.cli.audit_tail import tail

    return tail(store, options)


def _show(store: "Looking", options: Namespace) -> int:
    from rightcall.cli.audit_show import find_view, record_of, whole

    seq = number(options.id)
    view = store.look(lambda tables: find_view(tables, seq))
    if view is None:
        raise ConfigError(f"there is no record {seq} in the audit; `rightcall audit tail` shows the last calls")
    say(*([_json(record_of(view))] if options.json else whole(view, style_for(sys.stdout))))
    return OK


def _verify(store: "Looking", options: Namespace) -> int:
    from rightcall.cli.audit_verify import anchor_of, check, lines, record_of

    anchor = None if options.anchor is None else anchor_of(options.anchor)
    result = check(store, anchor)
    say(*([_json(record_of(result, anchor))] if options.json else lines(result, anchor, style_for(sys.stdout))))
    return OK if result.ok else REFUSED


def _head(store: "Looking", _options: Namespace) -> int:
    from rightcall.cli.audit_verify import anchor_text

    say(anchor_text(store.look(lambda tables: tables.head())))
    return OK


def _export(store: "Looking", options: Namespace) -> int:
    from rightcall.cli.audit_export import export

    return export(store, options)


_ACTIONS = {"tail": _tail, "show": _show, "verify": _verify, "head": _head, "export": _export}


def number(text: str) -> int:
    """A record's number, as people write it."""
    digits = text.strip().removeprefix("#")
    if not digits.isdecimal() or len(digits) > 18:
        raise ConfigError(f"ID: {escaped(text, 40)!r} is no number of a record; `rightcall audit tail` shows them")
    return int(digits)


def _count(text: str) -> int:
    from argparse import ArgumentTypeError

    if not text.isdecimal() or len(text) > 12:
        raise ArgumentTypeError(f"{escaped(text, 40)!r} is no number of records; give 0 or more")
    return int(text)


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(words)


def _json(record: dict[str, object]) -> str:
    return json_text(record, ascii_only=not is_unicode(sys.stdout))
