"""`audit prune`: says what would go, asks, and removes it."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from msgspec import to_builtins

from rightcall.cli import OK, REFUSED
from rightcall.cli.audit_lines import records
from rightcall.cli.moments import ago, moment
from rightcall.cli.output import json_text
from rightcall.cli.persons import at_a_terminal, typed, who
from rightcall.cli.terminal import say
from rightcall.errors import ConfigError
from rightcall.record.prune import Cut, Pruned, plan, prune_in_steps

if TYPE_CHECKING:
    from rightcall.record.tables import Store

YES = ("y", "yes")

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
    _tell(prune_in_steps(store.transact, cut, who(options), store.clock.now), cut, options)
    return OK


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
    would = f"this would remove {records(cut.count)} for good, {cut.first:,} to {cut.through:,}."
    if options.json or not at_a_terminal():
        raise ConfigError(f"{would} There is no terminal to ask at: say --yes")
    say(would[0].upper() + would[1:], *_spared(cut))
    if typed("remove them? [y/N] ") in YES:
        return True
    say("Nothing was removed.")
    return False


def _tell(done: Pruned, cut: Cut, options: Namespace) -> None:
    if options.json:
        say(json_text(to_builtins(done)))
    elif done.removed:
        gone = f"Removed {records(done.removed)}, up to {done.through:,}; record {done.checkpoint:,} says so."
        say(gone, *(_spared(cut) if options.yes else ()))
        say("Anchors up to there can no longer be compared: take a new one with `rightcall audit head`.")
    else:
        say("Nothing is old enough to be removed." if not cut.spared else "Nothing can be removed now.", *_spared(cut))
    sys.stdout.flush()


def _spared(cut: Cut) -> list[str]:
    if not cut.spared:
        return []
    first = cut.through + 1 if cut.count else cut.first
    return [f"Old enough, but kept: {records(cut.spared)}. From {first:,} on there is {_BECAUSE[cut.because]}."]
