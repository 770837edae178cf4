"""Learn from the audit log what models get wrong, and propose a rule pack. It is written only if you agree.

Every proposal was corrected by at least two callers in two contexts, and was tried on the whole history."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from difflib import unified_diff
from itertools import islice
from secrets import token_hex
from typing import Any, BinaryIO, Final, cast, get_args

from msgspec import to_builtins

from rightcall.base.files.guarded import plain_file, whole_file
from rightcall.base.text import escaped, render_json
from rightcall.catalog.packs import read_pack_text
from rightcall.catalog.tool import PackTool
from rightcall.cli import INTERRUPTED, OK, REFUSED
from rightcall.cli.options import (
    SHARED,
    InputError,
    bounded_lines,
    json_option,
    load_tools,
    look_into,
    open_lines,
    policy_of,
    policy_path,
    store_options,
)
from rightcall.cli.persons import agrees, at_a_terminal, moment, waiting
from rightcall.cli.terminal import Style, Whole, labelled, many, say, style_for, table, tell, visible_width, wrap
from rightcall.errors import ConfigError, PackError
from rightcall.learn.bench import Bench
from rightcall.learn.emissions import LONGEST_LINE, History, logged, recorded
from rightcall.learn.history import Definitions, Span
from rightcall.learn.learner import Learned, learn
from rightcall.learn.packfile import MARK, pack_text
from rightcall.learn.proposals import Proposal
from rightcall.learn.safety import Safety, names_in
from rightcall.types import Effect

EXAMPLES = """\
examples:
  rightcall learn
  rightcall learn --since 30d --all
  rightcall learn --explain alias-3fa2c1
  rightcall learn --write learned.toml
  rightcall learn --from calls.jsonl --tools tools.json --write learned.toml --yes

a JSON line: {"text": …} or {"message": {…}} or {"messages": […]} or {"name": …, "arguments": {…}}, and as far as known
"caller", "context", "model", "ok" and "tools". To use a pack: [gate] packs = ["./learned.toml"]
"""

WORDS: Final = {
    "name": "tool name", "alias": "argument", "value": "value", "default": "default", "form": "form",
    "format": "format", "missing": "missing tool", "switch": "description", "unclear": "description",
}  # fmt: skip
_LONGEST: Final = 60
_MOST_ROWS: Final = 100
_MOST_SKIPPED: Final = 5
_COPIED: Final = 1 << 20
_LOOKED_AT: Final = 1000


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--since", metavar="WHEN", help="Only calls since a date (2026-01-31) or a time ago (30d)")
    parser.add_argument("--from", dest="lines", metavar="FILE", help="Learn from JSON lines instead of the audit log")
    parser.add_argument("--explain", metavar="ID", help="Show the evidence of one proposal")
    parser.add_argument(
        "--all", action="store_true", help="Also list what was seen and is not proposed, with the reason"
    )
    parser.add_argument("--write", metavar="FILE", help="Write the rules to this pack, if you agree")
    parser.add_argument("--yes", action="store_true", help=SHARED["--yes"])
    parser.add_argument("--tools", action="append", default=[], metavar="FILE|MODULE:NAME", help=SHARED["--tools"])
    parser.add_argument("--pack", action="append", default=[], metavar="NAME", help=SHARED["--pack"])
    json_option(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    _refuse_contradictions(options)
    before = "" if options.write is None else _earlier(options.write)
    counted = _Counted()
    try:
        with waiting(counted.line), _history(options, counted) as (history, bench):
            safety = Safety(bench, names_in(policy_of(options)))
            learned = learn(history, bench, safety, counted.at)
    except KeyboardInterrupt:
        sys.stderr.write("rightcall: interrupted; nothing was written\n")
        return INTERRUPTED
    counted.tell_skipped()
    if options.lines is not None and learned.callers < 2:
        missing = "no line names a caller" if not learned.callers else "all lines name the same caller"
        sys.stderr.write(f'rightcall: {missing}: add "caller" and "context" to each; one source cannot teach\n')
    if options.explain is not None:
        return _explain(learned, options)
    text = pack_text(learned.rules, _pack_name(options.write), before) if learned.rules else ""
    changes = "" if options.write is None and not text else _difference(before, text or before, options.write)
    record = _record(learned) | {"pack": text, "diff": changes}
    if options.write is None or options.json:
        tell(options, record, lambda style: report(learned, options, changes, style))
    else:
        say(*report(learned, options, changes, style_for(sys.stdout)))
    return OK if options.write is None else _write(options, text, changes)


def _refuse_contradictions(options: Namespace) -> None:
    if options.lines is not None and options.since is not None:
        raise InputError("`--since` is for the audit log; lines of `--from` have no time that could be trusted")
    if options.explain is not None and options.write is not None:
        raise InputError("`--explain` and `--write` cannot be combined")
    if options.yes and options.write is None:
        raise InputError("`--yes` needs `--write FILE`")
    if options.write is not None and not options.write.endswith(".toml"):
        raise InputError(f"a pack ends in .toml: pass `--write {escaped(options.write, 80)}.toml`")
    if options.write is not None and not options.yes and (options.json or not at_a_terminal()):
        raise InputError("cannot prompt without a terminal; pass `--yes`")


# ── the history ──


class _Counted:
    """How far it is, and which lines could not be used."""

    def __init__(self) -> None:
        self._what, self._done, self._skipped, self._times = "Reading", 0, dict[int, str](), 0

    def at(self, what: str, done: int) -> None:
        self._what, self._done = what, done

    def line(self, seconds: float) -> str:
        return f"{self._what}: {many(self._done, 'call')}, {seconds:.0f} s"

    def skip(self, number: int, why: str) -> None:
        if len(self._skipped) < 100_000:
            self._skipped.setdefault(number, why)

    def tell_skipped(self) -> None:
        for number, why in list(self._skipped.items())[:_MOST_SKIPPED]:
            sys.stderr.write(f"rightcall: line {number} was left out: {escaped(why, 200)}\n")
        if len(self._skipped) > _MOST_SKIPPED:
            sys.stderr.write(f"rightcall: {many(len(self._skipped) - _MOST_SKIPPED, 'more line')} left out\n")


@contextmanager
def _history(options: Namespace, counted: _Counted) -> Generator[tuple[History, Bench]]:
    """What is learned from, and the tools that its calls are checked against."""
    policy, packs, given = policy_of(options), tuple(options.pack), load_tools(options.tools) if options.tools else []
    if options.lines is not None:
        bench = Bench(given, policy, packs)
        with _lines_again(options.lines) as stream:
            _require_tools(stream, bench)

            def lines() -> Iterator[Any]:
                stream.seek(0)
                return logged(bounded_lines(stream, LONGEST_LINE), bench, counted.skip)

            yield lines, bench
        return
    span = Span(None if options.since is None else moment(options.since, "--since"))
    with closing(look_into(options)) as store:
        bench = Bench(_tools(given, Definitions.of(store), options), policy, packs)
        yield (lambda: recorded(store, span, bench)), bench


def _require_tools(stream: BinaryIO, bench: Bench) -> None:
    """Without any tools every call would pass, and nothing could be learned."""
    if bench.gate_for("").catalog.tools:
        return
    for _, line in islice(bounded_lines(stream, LONGEST_LINE), _LOOKED_AT):
        if line is not None and b'"tools"' in line:
            return
    raise InputError(
        "no tools are known, so no call can be checked; pass `--tools FILE`, or put `tools` into the lines"
    )


@contextmanager
def _lines_again(path: str) -> Generator[BinaryIO]:
    """Lines that can be read several times; what comes through a pipe is copied first."""
    with open_lines(path) as stream:
        if path != "-" and stream.seekable():
            yield stream
            return
        from tempfile import TemporaryFile  # late: most logs are files

        with TemporaryFile() as copy:
            while piece := stream.read(_COPIED):
                copy.write(piece)
            yield copy


def _tools(given: list[Any], known: Definitions, options: Namespace) -> list[Any]:
    """Every tool that may be in the record: those that were named, those of the policy, and those on record."""
    from rightcall.executor.explain import toolbox_of

    file = policy_path(options)
    here = toolbox_of(policy_of(options), None if file is None else os.path.abspath(file), options.root)
    bench = Bench(given, policy_of(options))
    found: dict[str, Any] = dict(bench.gate_for("").catalog.tools)
    for name, one in known.tools().items():
        if name not in found and name not in here.gate.catalog.tools:
            found[name] = _recorded_tool(name, one.about)
    for name, one in here.gate.catalog.tools.items():
        found.setdefault(name, one)
    return list(found.values())


def _recorded_tool(name: str, about: Mapping[str, Any]) -> PackTool:
    schema: Any = about.get("parameters", about.get("inputSchema"))
    effects: Any = about.get("effects")
    declared = tuple(one for one in get_args(Effect) if one in effects) if isinstance(effects, list) else None
    described = cast("dict[str, Any]", schema) if isinstance(schema, dict) else None
    return PackTool(name, str(about.get("description", "")), described, cast("tuple[Effect, ...] | None", declared))


# ── what is shown ──


def report(learned: Learned, options: Namespace, changes: str, style: Style) -> list[str]:
    """The proposals as a table, then what would be written."""
    head = (
        f"{many(learned.calls, 'call')}, {learned.refused:,} refused or failed, {learned.corrected:,} corrected by a "
        "later call"
    )
    lines = [style.tint(head, "bold"), ""]
    rules, advice = learned.rules, [one for one in learned.proposed if not one.is_rule]
    if not learned.proposed:
        lines += wrap("Nothing to propose. A rule needs corrections by two callers in two contexts.", style.width)
    if rules:
        lines += ["Rules for a pack:", *_rule_table(rules, style), ""]
    if advice:
        lines += ["Advice for whoever writes the tools:", *_advice_lines(advice, style), ""]
    aside = [one for one in learned.found if one.refused]
    if aside and options.all:
        lines += ["Not proposed:", *_aside_lines(aside, style), ""]
    elif aside:
        lines += [style.tint(f"{many(len(aside), 'more pattern')} not proposed: `--all` lists them", "dim")]
    if rules:
        lines += [style.tint("`rightcall learn --explain ID` shows the evidence of one.", "dim")]
    if changes:
        lines += ["", *_diff_lines(changes, style)]
    return lines


def _rule_table(rules: Sequence[Proposal], style: Style) -> list[str]:
    header = ("id", "kind", "tool", "rule", "side effects", "seen", "sources", "saved", "changed")
    rows = [
        (
            one.id, WORDS[one.kind], escaped(one.tool, 40), _rule(one), ", ".join(one.effects) or "none",
            f"{one.seen:,}", f"{one.sources}", f"{one.measured.saved} of {one.measured.tested}",
            f"{one.measured.changed}",
        )
        for one in rules[:_MOST_ROWS]
    ]  # fmt: skip
    whole = table(header, rows, style, left=5)
    if max(map(visible_width, whole)) <= style.width:
        return whole
    lines: list[str] = []
    for name, kind, tool, rule, effects, seen, sources, saved, changed in rows:
        figures = f"seen {seen}, sources {sources}, saved {saved}, changed {changed}, side effects: {effects}"
        lines += [style.tint(name, "bold"), *(f"  {line}" for line in wrap(f"{tool}: {rule}", style.width - 2))]
        lines += [style.tint(f"  {line}", "dim") for line in wrap(f"{kind}; {figures}", style.width - 2)]
    return lines


def _rule(one: Proposal) -> str:
    """A rule in a few words."""
    meant = render_json(one.meant, _LONGEST)
    said = {
        "name": f"{_name(one.given)} means this tool",
        "alias": f"{_name(one.given)} means {_name(one.place)}",
        "value": f"{_name(one.place)}: {_name(one.given)} means {meant}",
        "default": f"{_name(one.place)} is {meant} where it is missing",
        "form": f"{_name(one.place)}: {_name(str(one.meant))}",
    }
    return said[one.kind]


def _name(text: str) -> str:
    return escaped(text, _LONGEST)


def advice_of(one: Proposal) -> str:
    """What somebody could do about it."""
    if one.kind == "missing":
        takes = f" with {_name(one.shown[0])}" if one.shown else ""
        return (
            f"models call a tool `{_name(one.given)}`{takes} that does not exist; add it, or name what to use instead"
        )
    if one.kind == "format":
        return f"models write calls as {escaped(one.given, 120)}, which is not read; see `rightcall formats`"
    if one.kind == "switch":
        return (
            f"models call {_name(one.given)} and then {_name(str(one.meant))}; say in the description which does what"
        )
    values = ", ".join(_name(text) for text in one.shown[:3])
    return (
        f"models pass different wrong values for `{_name(one.place)}` of {_name(one.tool)}, such as {values}; "
        "say in its description what it takes"
    )


def _advice_lines(advice: Iterable[Proposal], style: Style) -> list[str]:
    found: list[str] = []
    for one in advice:
        seen = f"{many(one.seen, 'call')}, {many(one.sources, 'source')}"
        found += labelled(one.id, [f"{WORDS[one.kind]}: {advice_of(one)} ({seen})"], style)
    return found


def _aside_lines(aside: Iterable[Proposal], style: Style) -> list[str]:
    found: list[str] = []
    for one in aside:
        what = _rule(one) if one.is_rule else advice_of(one)
        found += labelled(one.id, [f"{escaped(one.tool, 40)} {what}".strip(), f"because {escaped(one.refused)}"], style)
    return found


def _diff_lines(changes: str, style: Style) -> list[str]:
    tints: Mapping[str, Any] = {"+": "green", "-": "red", "@": "cyan"}
    return [style.tint(line, tints[line[0]]) if line[:1] in tints else line for line in changes.splitlines()]


def _record(learned: Learned) -> dict[str, Any]:
    return {
        "calls": learned.calls, "refused": learned.refused, "corrected": learned.corrected,
        "left_out": learned.left_out, "proposals": [record_of(one) for one in learned.proposed],
        "not_proposed": [record_of(one) for one in learned.found if one.refused],
    }  # fmt: skip


def record_of(one: Proposal) -> dict[str, Any]:
    """A proposal as `--json` prints it."""
    told: dict[str, Any] = to_builtins(one)
    del told["parts"]  # only the trial needs them
    told["rule"] = _rule(one) if one.is_rule else advice_of(one)
    told["examples"] = [example._asdict() for example in one.examples]
    return told


# ── one proposal ──


def _explain(learned: Learned, options: Namespace) -> int:
    found = next((one for one in learned.found if one.id == options.explain), None)
    if found is None:
        known = ", ".join(one.id for one in learned.found[:8])
        raise ConfigError(f"unknown proposal {escaped(options.explain, 60)!r}: " + (f"there are {known}" if known else
                          "there are none"))  # fmt: skip
    tell(options, record_of(found), lambda style: explained(found, style))
    return OK


def explained(one: Proposal, style: Style) -> list[str]:
    """Everything that is known of one proposal."""
    what = _rule(one) if one.is_rule else advice_of(one)
    models = ", ".join(f"{escaped(name or 'unknown', 40)} {count:,}" for name, count in one.models.items())
    named = ", ".join(escaped(name, 40) for name in one.callers) + (
        ", …" if one.caller_count > len(one.callers) else ""
    )
    callers = f"{many(one.caller_count, 'caller')} ({named})"
    made_up = f"; {many(one.made_up, 'caller')} did nothing else, and no such caller counts" if one.made_up else ""
    told = {
        "not proposed": [escaped(one.refused)] if one.refused else [],
        "seen": [f"{many(one.seen, 'time')}, {one.counted:,} count (at most 5 of each caller and context)"],
        "sources": [f"{one.sources} independent", f"{many(one.contexts, 'context')}, {callers}{made_up}"],
        "models": [models],
        "values": [", ".join(_name(text) for text in one.shown[:8])] if one.shown else [],
        **(_measurements(one) if one.is_rule else {}),
    }
    for example in one.examples:
        told[f"record {example.failed}"] = [render_json(example.written, 400)]
        if example.corrected:
            told[f"record {example.corrected}"] = [render_json(example.meant, 400)]
    head = style.tint(f"{one.id}  {escaped(one.tool, 60)}  {what}", "bold")
    return [head, *(line for label, said in told.items() for line in labelled(label, said, style))]


def _measurements(one: Proposal) -> dict[str, list[str]]:
    result = one.measured
    return {
        "otherwise": [f"{many(one.otherwise, 'correction')} of the same mistake mean something else"],
        "held out": [f"{result.saved} of {result.tested} retries saved, where the rule was not learned from"],
        "conflicts": [
            f"{many(result.changed, 'call')} that worked would change",
            f"{many(result.wrong, 'correction')} would have become another call",
            f"{many(result.also, 'refused call')} that nobody corrected would also pass",
        ],
        "side effects": [", ".join(one.effects) or "none"],
    }


# ── the pack ──


def _earlier(path: str) -> str:
    """The text of a pack that this command wrote before; empty where there is none. Raises for anybody else's."""
    try:
        with open(path, "rb", opener=plain_file) as file:
            text = file.read().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as wrong:
        raise InputError(f"cannot be read: {wrong}", source=path) from wrong
    if not text.startswith(MARK):
        raise InputError("is not a learned pack; nothing was written. Pass another file to `--write`", source=path)
    try:
        read_pack_text(text, path)
    except PackError as wrong:
        raise InputError(f"{wrong}; nothing was written") from wrong
    return text


def _pack_name(path: str | None) -> str:
    return "learned" if path is None else os.path.basename(path).removesuffix(".toml")[:60] or "learned"


def _difference(before: str, after: str, path: str | None) -> str:
    name = escaped(path or "learned.toml", 120)
    found = unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=2)
    return "\n".join(escaped(line) if not line.isprintable() else line for line in found)


def _write(options: Namespace, text: str, changes: str) -> int:
    if not changes:
        say("Nothing to write.") if not options.json else None
        return OK
    read_pack_text(text, options.write)  # what is written can be loaded
    if not options.yes and not agrees(f"Write {escaped(options.write, 120)}? [y/N] ", "Nothing was written."):
        return REFUSED
    folder = os.path.dirname(os.path.abspath(options.write))
    with whole_file(os.path.abspath(options.write), os.path.join(folder, f".{token_hex(8)}.toml")) as file:
        file.write(text.encode())
    if not options.json:
        told = f'Wrote {escaped(options.write, 120)}. To use it: [gate] packs = ["{escaped(options.write, 120)}"]'
        say(*wrap(Whole(told), style_for(sys.stdout).width))
    return OK
