"""Decide recorded calls again under another policy, pack or tool list, and show what would change. Nothing runs."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing
from difflib import get_close_matches
from typing import Any, Final

from rightcall.base.text import escaped, render_json
from rightcall.catalog.packs import load_pack
from rightcall.cli import INTERRUPTED, OK, REFUSED
from rightcall.cli.options import (
    SHARED,
    json_option,
    load_tools,
    look_into,
    policy_file,
    policy_of,
    policy_path,
    store_options,
)
from rightcall.cli.persons import bar, moment, signs_for, waiting
from rightcall.cli.terminal import Style, many, pad, style_for, tell, wrap
from rightcall.errors import ConfigError
from rightcall.learn.differences import KINDS, WHY, Totals
from rightcall.learn.history import Definitions, Span, count_entries, stream_entries
from rightcall.learn.replay import Replay
from rightcall.learn.rulings import Place, Rulings, ruling_of
from rightcall.learn.sites import Sites
from rightcall.learn.tally import Group, Tally
from rightcall.policy.settings import Policy
from rightcall.policy.watch import load_policy
from rightcall.record.premises import guarded_paths, store_path
from rightcall.record.tables import AuditEntry

EXAMPLES = """\
examples:
  rightcall replay --policy new.toml --since 7d
  rightcall replay --policy new.toml --fail-on loosened,refused
  rightcall replay --policy new.toml --tool save --as helper --json
  rightcall replay --pack shop.toml
  rightcall replay --tools tools.json
"""

ANY: Final = {
    "indirect": "a call is decided otherwise only because calls before it are",
    "changed": "any call is decided otherwise",
    "unknown": "a call cannot be decided again",
}
WORDS: Final = {"allow": "runs", "dry_run": "dry run", "ask": "asks", "deny": "refused", "passed": "passes"}
_BAR = 24
_MOST_GROUPS = 40
_LONGEST_PARAMS = 100


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--since", metavar="WHEN", help="Only calls since a date (2026-01-31) or a time ago (7d)")
    parser.add_argument("--until", metavar="WHEN", help="Only calls before a date or a time ago")
    parser.add_argument("--as", dest="caller", metavar="CALLER", help="Only calls of this caller")
    parser.add_argument("--tool", metavar="TOOL", help="Only calls of this tool")
    parser.add_argument(
        "--fail-on", type=_kinds, default=(), metavar="KINDS", help="Exit with 1 if one occurs: loosened,refused,…"
    )
    parser.add_argument("--tools", action="append", default=[], metavar="FILE|MODULE:NAME", help=SHARED["--tools"])
    parser.add_argument("--pack", action="append", default=[], metavar="NAME", help=SHARED["--pack"])
    json_option(parser)
    store_options(parser)


def _kinds(text: str) -> tuple[str, ...]:
    named = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    known = (*KINDS, *ANY)
    for word in named:
        if word not in known:
            near = get_close_matches(word, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"expected {', '.join(known)}"
            raise ArgumentTypeError(f"unknown kind of change {escaped(word, 40)!r}: {hint}")
    if not named:
        raise ArgumentTypeError(f"expected kinds of change: {', '.join(known)}")
    return named


def run(options: Namespace) -> int:
    span = Span(
        None if options.since is None else moment(options.since, "--since"),
        None if options.until is None else moment(options.until, "--until"), options.caller, options.tool,
    )  # fmt: skip
    place = place_of(options)
    new, tools = policy_for(options, place), tuple(plain_tools(options.tools))
    ruling = ruling_of(new, tuple(options.pack))
    for name in ruling.policy.packs:
        load_pack(name)  # without one of them no call could be decided, and `--fail-on` would find nothing
    tally, partial = Tally(), False
    with closing(look_into(place)) as store:
        known = () if place.store is not None and policy_file(place) is None else (policy_of(place),)
        rulings, definitions = Rulings(new, *known, place=_place(place)), Definitions.of(store)
        sites = Sites(definitions, store, os.path.abspath(options.root), tools)
        oldest = store.look(lambda tables: tables.oldest())
        replay = Replay(ruling, rulings, sites, span=span, given=bool(tools), pruned=oldest > 1)
        with closing(sites):
            partial = _decide_all(replay, store, tally)
    failed = tally.found(options.fail_on)
    record = tally.record(replay.totals, partial=partial) | {"policy": new.source, "failed": failed}
    tell(options, record, lambda style: report(tally, replay.totals, new, style, partial=partial, failed=failed))
    return INTERRUPTED if partial else REFUSED if failed else OK


def place_of(options: Namespace) -> Namespace:
    """Where the store is: `--policy` names the policy to try, and the one in force says where its store lies."""
    usual = Namespace(**vars(options))
    usual.policy = None
    return usual if options.store is not None or policy_file(usual) is not None else options


def _place(place: Namespace) -> Place:
    """Where the policy in force is."""
    root, file = os.path.abspath(place.root), policy_path(place)
    folder = root if file is None else os.path.dirname(os.path.abspath(file))
    policy = policy_of(place)
    protected = guarded_paths(root, None if file is None else os.path.abspath(file), store_path(policy, file, root))
    return Place(protected, root, "" if folder == root else folder)


def policy_for(options: Namespace, place: Namespace) -> Policy:
    """The policy under which calls are decided again: the one that was named, or the one in force."""
    return policy_of(place) if options.policy is None else load_policy(options.policy)


def plain_tools(sources: list[str]) -> Iterator[dict[str, Any]]:
    for one in load_tools(sources) if sources else ():
        if not isinstance(one, dict):
            raise ConfigError("`--tools` must name definitions (JSON) here; functions are known by what is on record")
        yield one


def _decide_all(replay: Replay, store: Any, tally: Tally) -> bool:
    """Whether it was interrupted: then what was found so far is told."""
    total, done = max(1, count_entries(store)), [0]

    def line(seconds: float) -> str:
        drawn = pad(bar(done[0], total, _BAR, signs_for(sys.stderr)), _BAR)
        told = f"{done[0]:,} of {many(total, 'record')}  {done[0] / max(seconds, 0.1):,.0f}/s"
        return f"{style_for(sys.stderr).tint(drawn, 'cyan')} {min(100, done[0] * 100 // total):>3} %  {told}"

    def counted(entries: Iterable[AuditEntry]) -> Iterator[AuditEntry]:
        for entry in entries:
            done[0] += 1
            yield entry

    try:
        with waiting(line):
            for again in replay.over(counted(stream_entries(store))):
                tally.add(again)
    except KeyboardInterrupt:
        return True
    return False


def report(
    tally: Tally, totals: Totals, policy: Policy, style: Style, *, partial: bool, failed: list[str]
) -> list[str]:
    """What would change, for a person."""
    unknown = sum(tally.unknown.values())
    lines: list[str] = []
    if partial:
        lines += [style.tint("Interrupted: this is what was found so far.", "yellow"), ""]
    name = escaped(policy.source, 200)
    lines += wrap(f"{many(tally.decided, 'call')} decided again under {name}", style.width)
    counts = f"{tally.unchanged:,} unchanged, {tally.changed:,} changed, {unknown:,} not replayable"
    lines.append(style.tint(counts, "bold"))
    groups = tally.groups()
    for group in groups[:_MOST_GROUPS]:
        lines += ["", *_group(group, style)]
    if len(groups) > _MOST_GROUPS:
        lines += ["", f"… and {many(len(groups) - _MOST_GROUPS, 'more group')}; `--json` lists all"]
    lines += _beside(totals)
    if unknown:
        lines += ["", style.tint("Not replayable", "bold")]
        for why, count in tally.unknown.most_common():
            lines += [
                f"  {count:>7,}  {piece}" if not at else f"           {piece}"
                for at, piece in enumerate(wrap(WHY[why], style.width - 11))
            ]
    if failed:
        lines += ["", style.tint(f"Found: {', '.join(failed)}", "red", "bold")]
    return lines


def _beside(totals: Totals) -> list[str]:
    told: list[str] = []
    if totals.questions[0] != totals.questions[1]:
        told.append(f"Questions to people: {totals.questions[0]:,} → {totals.questions[1]:,}")
    if totals.tokens[0] != totals.tokens[1]:
        told.append(f"Result tokens: {totals.tokens[0]:,} → {totals.tokens[1]:,}")
    return ["", *told] if told else []


def _group(group: Group, style: Style) -> list[str]:
    (before, was), (after, now) = group.before, group.after
    example = group.example
    if example.tokens is not None:
        head = f"{example.tokens[0]:,} → {example.tokens[1]:,} tokens"
    else:
        head = f"{WORDS.get(before, before)} → {WORDS.get(after, after)}"
    colour = {"loosened": "yellow", "tightened": "red"}.get(group.kinds[0], "cyan")
    title = f"{style.tint(head, colour, 'bold')}  {escaped(group.tool, 80)}  {many(group.count, 'call')}"  # pyright: ignore[reportArgumentType] - a tint
    kinds = ", ".join(("indirect", *group.kinds) if group.is_indirect else group.kinds)
    rules = f"  {escaped(was, 80)} → {escaped(now, 80)}  [{kinds}]"
    shown = render_json(example.before.params, _LONGEST_PARAMS)
    told = f"e.g. record {example.seq}, {example.at[:19]}, {escaped(example.caller, 60)}: {shown}"
    if example.after.params != example.before.params and example.after.params is not None:
        told += f" → {render_json(example.after.params, _LONGEST_PARAMS)}"
    return [title, rules, *(f"  {style.tint(piece, 'dim')}" for piece in wrap(told, style.width - 2))]
