"""Check tool definitions for what makes models and providers fail: names, descriptions, schemas, costs, injection.
Reads files (OpenAI, Anthropic, MCP, JSON lines, TOML packs), Python modules, packs and running MCP servers."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from inspect import isfunction
from typing import TYPE_CHECKING, Any, cast

from rightcall import suggest
from rightcall.base.files.guarded import whole_file
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import (
    SHARED,
    InputError,
    import_from_here,
    json_option,
    load_tools,
    look_into,
    policy_of,
    policy_path,
    read_text,
    store_options,
)
from rightcall.cli.terminal import Style, Tint, hang, many, say, say_json, style_for, wrap
from rightcall.errors import ConfigError, PolicyError, StoreError
from rightcall.gate.records import json_text

if TYPE_CHECKING:
    from rightcall.catalog.tool import PackTool
    from rightcall.lint.definitions import Document
    from rightcall.lint.findings import Finding, Severity
    from rightcall.lint.fixes import Fix
    from rightcall.lint.history import Misnaming
    from rightcall.lint.linter import Choice
    from rightcall.lint.rules import Rule
    from rightcall.policy.settings import Server

EXAMPLES = """\
examples:
  rightcall lint tools.json
  rightcall lint --pack agent-zero --notes
  rightcall lint --module mytools
  rightcall lint -- npx -y @modelcontextprotocol/server-filesystem .
  rightcall lint tools.json --fix
  rightcall lint tools.json --sarif > lint.sarif
  rightcall lint --rules RC301
"""

_TINTS: "dict[Severity, Tint]" = {"error": "red", "warning": "yellow", "note": "cyan"}
_ALL = "all"
_PROVIDERS = ("openai", "openai-strict", "anthropic", "anthropic-strict", "gemini", "ollama", "llama.cpp")


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="File of tool definitions: JSON, JSON lines or TOML")
    add("command", nargs="*", metavar="-- COMMAND", help="Start this MCP server and check its tools")
    source = parser.add_argument_group("Other sources").add_argument
    source("--pack", action="append", default=[], metavar="NAME", help="Check this rule pack; repeatable")
    source(
        "--module", action="append", default=[], metavar="MODULE[:NAME]",
        help="Import this module, check its TOOLS or its functions; repeatable",
    )  # fmt: skip
    source(
        "--server", action="append", default=[], metavar="NAME",
        help="Check this server of the policy, or `all` in one list",
    )  # fmt: skip
    source("--url", metavar="URL", help="Check the MCP server at this address")
    rules = parser.add_argument_group("Rules").add_argument
    rules(
        "--select", action="append", default=[], metavar="RULE[:TOOL]",
        help="Only these rules, such as RC3 or RC301:get_*",
    )  # fmt: skip
    rules("--ignore", action="append", default=[], metavar="RULE[:TOOL]", help="Skip these rules")
    rules(
        "--provider", action="append", default=[], choices=_PROVIDERS, metavar="NAME",
        help="Of RC5xx, only the rules of this provider; repeatable",
    )  # fmt: skip
    rules("--notes", action="store_true", help="Also print notes: advice that may not apply")
    rules("--rules", nargs="?", const="all", metavar="RULE", help="List the rules, or explain one")
    fixing = parser.add_argument_group("Fixes").add_argument
    fixing("--fix", action="store_true", help="Correct what needs no judgement; show the difference and ask")
    fixing("--output", metavar="FILE", help="With --fix: write the corrected definitions to this new file")
    fixing("--yes", action="store_true", help=SHARED["--yes"])
    add(
        "--fail-on", choices=("error", "warning", "note", "never"), default="warning", metavar="LEVEL",
        help="Exit with 1 at this level or above (default: warning)",
    )  # fmt: skip
    add("--sarif", action="store_true", help="Print SARIF 2.1.0, for code scanning")
    json_option(parser)
    store_options(parser)


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """What stands behind `--` is the command of a server, whatever it looks like."""
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.command = words[at + 1 :]
    return options


def run(options: Namespace) -> int:
    from rightcall.cli.persons import waiting
    from rightcall.lint.linter import Choice, lint
    from rightcall.lint.rules import require_known, severity_of

    if options.rules is not None:
        return _show_rules(options)
    _require_one(options)
    select, ignore = _entries(options.select), _entries(options.ignore)
    require_known([*select, *ignore])
    misnamings = _from_audit(options)
    choice = Choice(select, ignore, frozenset(options.provider), options.notes or options.fail_on == "note", misnamings)
    doing = ["reading the tools"]

    def progress(part: str) -> None:
        doing[0] = f"checking {part}"

    with waiting(lambda seconds: f"{doing[0]} … {seconds:.0f} s"):
        checked = [(document, lint(document, choice, progress)) for document in _documents(options)]
    if options.fix:
        return _fix(options, checked, choice)
    _tell(options, checked)
    failing = {severity_of(one) for _, findings in checked for one in findings} & _failing(options.fail_on)
    return REFUSED if failing else OK


def _failing(level: str) -> "set[Severity]":
    from rightcall.lint.findings import SEVERITIES

    return set() if level == "never" else set(SEVERITIES[SEVERITIES.index(cast("Severity", level)) :])


def _entries(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(one.strip() for entry in given for one in entry.split(",") if one.strip())


def _require_one(options: Namespace) -> None:
    if options.json and options.sarif:
        raise InputError("`--json` and `--sarif` cannot be combined")
    if options.fix and (options.json or options.sarif):
        raise InputError(
            f"`--fix` and `{'--json' if options.json else '--sarif'}` cannot be combined: `--fix` shows a difference"
        )
    if options.output is not None and not options.fix:
        raise InputError("`--output` needs `--fix`")
    given = (options.files, options.pack, options.module, options.server, options.url, options.command)
    if not any(given):
        raise InputError(
            "nothing to check: give a file, `--pack NAME`, `--module MODULE`, `--server NAME`, `--url URL` or "
            "`-- COMMAND`"
        )
    if options.url and not options.url.lower().startswith(("http://", "https://")):
        raise InputError("invalid value for `--url`: expected an address such as http://127.0.0.1:8000/mcp")


# ── sources ──


def _documents(options: Namespace) -> "Iterator[Document]":
    from rightcall.lint.definitions import LARGEST, read_file

    for path in options.files:
        name = "standard input" if path == "-" else path
        yield read_file(name, read_text(path, limit=LARGEST))
    for name in options.pack:
        yield _pack(name)
    for name in options.module:
        yield _module(name)
    for server in _servers(options):
        yield _server(server)
    if _ALL in options.server:
        yield _gateway(options)


def _pack(name: str) -> "Document":
    from rightcall.catalog.packs import is_pack_path, load_pack
    from rightcall.lint.definitions import Document, read_file, view_tools

    if is_pack_path(name):
        return read_file(name, read_text(name))
    pack = load_pack(name)
    raws = map(_written, pack.tools)
    return Document(name, "pack", view_tools([((number,), raw) for number, raw in enumerate(raws)], ruled=True))


def _written(tool: "PackTool") -> dict[str, Any]:
    described = {} if tool.schema is None else {"parameters": tool.schema}
    return {"name": tool.name, "description": tool.description, **described}


def _module(name: str) -> "Document":
    """The functions of a module, or what it calls its tools. This imports it, so it must be asked for by name."""
    from rightcall.lint.definitions import Document, view_tools

    found = load_tools([name]) if ":" in name else _functions(name)
    raws = [cast("dict[str, Any]", one) if isinstance(one, dict) else _definition(one) for one in found]
    if not raws:
        raise InputError("no public function is defined there", source=name)
    return Document(name, "python", view_tools([((number,), raw) for number, raw in enumerate(raws)]))


def _definition(thing: Any) -> dict[str, Any]:
    """Of anything Python, as its author declared it."""
    from rightcall.catalog.functions import from_python
    from rightcall.catalog.tool import declared_tool

    declared = declared_tool(thing)
    return from_python(thing) if declared is None else _written(declared)


def _functions(name: str) -> list[Any]:
    module = import_from_here(name, name)
    listed = getattr(module, "TOOLS", None)
    if isinstance(listed, (list, tuple)):
        return list(cast("list[Any]", listed))
    return [
        one
        for key, one in vars(module).items()
        if not key.startswith("_") and isfunction(one) and one.__module__ == module.__name__
    ]


def _servers(options: Namespace) -> "Iterator[Server]":
    from rightcall.mcp.gateway.names import server_name
    from rightcall.policy.settings import Server

    if options.url:
        yield Server(options.url, url=options.url)
    if options.command:
        yield Server(server_name(options.command), command=tuple(options.command))
    for name in options.server:
        if name != _ALL:
            yield _of_policy(options, name)


def _of_policy(options: Namespace, name: str) -> "Server":
    policy = policy_of(options)
    known = policy.servers.get(name)
    if known is None:
        raise ConfigError(f"[servers.{escaped(name, 60)}] is not in the policy{suggest(name, list(policy.servers))}")
    if policy.standing == "tightened":
        raise ConfigError(
            f"the servers of {escaped(policy.source)} are not started: you have not trusted that file. Read it, "
            "then run `rightcall trust`"
        )
    return known


def _server(server: "Server") -> "Document":
    from rightcall.lint.definitions import Document, view_tools
    from rightcall.mcp.links import learn_twice

    first, second, instructions = learn_twice(server)
    places = [((number,), raw) for number, raw in enumerate(first)]
    return Document(server.name, "server", view_tools(places), again=tuple(second), instructions=instructions)


def _gateway(options: Namespace) -> "Document":
    """The tools of all servers, under the names that the gateway lists them by."""
    from rightcall.lint.definitions import Document, view_tools
    from rightcall.mcp.gateway.names import name_tools
    from rightcall.mcp.links import NoTools, learn_twice

    enabled = [server for server in policy_of(options).servers.values() if server.enabled]
    if not enabled:
        raise ConfigError("the policy has no servers: add a table [servers.NAME]")
    learned: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = {}
    for server in enabled:
        with suppress(NoTools):  # it may have prompts and resources alone
            learned[server.name] = learn_twice(_of_policy(options, server.name))
    if not learned:
        raise ConfigError("no tool definitions found: no server of the policy lists a tool")
    pairs = [(name, str(raw.get("name"))) for name, (first, _, _) in learned.items() for raw in first]
    prefixes = {server.name: server.prefix for server in enabled if server.prefix is not None}
    wires = {pair: wire for wire, pair in name_tools(pairs, prefixes).names.items()}

    def listed(lists: Iterable[tuple[str, Sequence[dict[str, Any]]]]) -> list[dict[str, Any]]:
        return [
            {**raw, "name": wires.get((name, str(raw.get("name"))), str(raw.get("name")))}
            for name, tools in lists for raw in tools
        ]  # fmt: skip

    first = listed((name, tools) for name, (tools, _, _) in learned.items())
    again = listed((name, tools) for name, (_, tools, _) in learned.items())

    return Document(
        "gateway",
        "server",
        view_tools([((number,), raw) for number, raw in enumerate(first)]),
        again=tuple(again),
        instructions="\n\n".join(told for *_, told in learned.values() if told),
    )


def _from_audit(options: Namespace) -> "tuple[Misnaming, ...]":
    """What the audit log knows, where there is one. Only a store that was named must be there."""

    from rightcall.lint.history import look_up

    if options.store is None and policy_path(options) is None:
        return ()
    try:
        with closing(look_into(options)) as store:
            return tuple(store.look(look_up))
    except (PolicyError, StoreError):
        if options.store is not None:
            raise
        return ()


# ── output ──


def _tell(options: Namespace, checked: "Sequence[tuple[Document, Sequence[Finding]]]") -> None:
    from rightcall.lint.reports import document_record, sarif_log

    if options.sarif:
        say(json_text(sarif_log(checked), indent=2))
    elif options.json:
        say_json({"documents": [document_record(document, findings) for document, findings in checked]})
    else:
        style = style_for(sys.stdout)
        for document, findings in checked:
            say(*_lines(document, findings, style))


def _lines(document: "Document", findings: "Sequence[Finding]", style: Style) -> list[str]:
    """By tool; what many tools have in common is told once."""
    from rightcall.lint.reports import spread_out, tell_once
    from rightcall.lint.rules import load_rules

    findings = tell_once(findings)
    single, many_tools = spread_out(findings)
    lines: list[str] = []
    for number in dict.fromkeys(one.number for one in single):
        group = [one for one in single if one.number == number]
        lines.append(
            style.tint(escaped(group[0].tool, 80) or "the whole list", "bold") + _place(document, group[0], style)
        )
        for one in group:
            lines += _finding_lines(one, style)
        lines.append("")
    for rule, group in many_tools.items():
        names = {place.tool for one in group for place in (one, *one.also)}
        lines.append(style.tint(f"{len(names)} tools: {load_rules()[rule].summary}", "bold"))
        for one in group[:3]:
            lines += _finding_lines(one, style, named=True)
        rest = ", ".join(dict.fromkeys(escaped(one.tool, 40) for told in group[3:] for one in (told, *told.also)))
        if rest:
            lines += ["  " + line for line in wrap(f"the same in {rest}", max(40, style.width - 2))]
        lines.append("")
    return [*lines, _summary(document, findings, style)]


def _place(document: "Document", finding: "Finding", style: Style) -> str:
    if not finding.tool:
        return ""
    place = f"{escaped(document.source, 120)}:{finding.line}" if finding.line else escaped(document.source, 120)
    return "  " + style.tint(place, "dim")


def _finding_lines(finding: "Finding", style: Style, *, named: bool = False) -> list[str]:
    from rightcall.lint.reports import also_in
    from rightcall.lint.rules import severity_of

    level = severity_of(finding)
    whose = f"{escaped(finding.tool, 60)}: " if named else ""
    where = f" (line {finding.line})" if finding.line else ""
    head = f"  {style.tint(finding.rule, _TINTS[level])} {level:<7} "
    return [
        *hang(head, f"{whose}{finding.message}{where}{also_in(finding)}", style),
        *hang("                fix: ", finding.remedy, style),
    ]


def _summary(document: "Document", findings: "Sequence[Finding]", style: Style) -> str:
    from rightcall.lint.lists import cost_of
    from rightcall.lint.reports import count_levels

    counts = count_levels(findings)
    tokens = sum(cost_of(tool) for tool in document.tools)
    told = ", ".join(many(number, level) for level, number in counts.items() if number) or "nothing found"
    return style.tint(
        f"{escaped(document.source, 120)}: {many(len(document.tools), 'tool')}, about {tokens:,} tokens in every "
        f"request; {told}",
        "bold",
    )


def _show_rules(options: Namespace) -> int:
    from rightcall.lint.reports import rule_record
    from rightcall.lint.rules import load_rules, require_known

    wanted = options.rules
    if wanted != "all":
        require_known([wanted])
    shown = [rule for rule in load_rules().values() if rule.means(wanted)]
    if options.json:
        say_json({"rules": [rule_record(rule) for rule in shown]})
        return OK
    style = style_for(sys.stdout)
    for rule in shown:
        say(*(_rule_line(rule, style) if wanted == "all" else _rule_page(rule, style)))
    return OK


def _rule_line(rule: "Rule", style: Style) -> list[str]:
    return hang(f"{style.tint(rule.id, _TINTS[rule.severity])} {rule.severity:<7} ", rule.summary, style)


def _rule_page(rule: "Rule", style: Style) -> list[str]:
    """Everything about one rule, with its examples."""
    lines = [style.tint(f"{rule.id} {rule.name} ({rule.severity})", "bold")]
    lines += [*wrap(f"{rule.summary} {rule.why}", style.width), *hang("fix: ", rule.remedy, style)]
    lines += ["`--fix` does it."] if rule.fixable else []
    lines += [f"source: {rule.source} (read on {rule.checked})"] if rule.source else []
    for label, example in (("bad:", rule.bad), ("good:", rule.good)):
        if example:
            lines += [label, *("  " + line for line in example.strip().splitlines())]
    return [*lines, ""]


# ── fixes ──


def _fix(options: Namespace, checked: "Sequence[tuple[Document, Sequence[Finding]]]", choice: "Choice") -> int:
    """Correct what is mechanical, in place or into a new file."""
    from rightcall.lint.fixes import fix_document
    from rightcall.lint.linter import lint

    every = type(choice)(("RC",), choice.ignore, choice.providers, notes=True)
    narrow = options.notes or options.select
    whole = checked if narrow else [(document, lint(document, every)) for document, _ in checked]
    plans = [(document, fix_document(document, findings)) for document, findings in whole]
    left = sum(len(lint(_corrected(document, fixes), choice)) for document, fixes in plans)
    if not any(fixes for _, fixes in plans):
        say(
            "Nothing to correct mechanically.",
            *([f"{many(left, 'finding')} for a person: run the command without `--fix`"] if left else []),
        )
        return OK
    code = OK
    for document, fixes in plans:
        if fixes and not _write(options, document, fixes):
            code = REFUSED
    if left:
        say(f"{many(left, 'finding')} left for a person: run the command without `--fix`")
    return code


def _write(options: Namespace, document: "Document", fixes: "list[Fix]") -> bool:
    from rightcall.cli.persons import agrees, at_a_terminal
    from rightcall.lint.fixes import write_fixes
    from rightcall.tools.diff import unified_diff

    in_place = document.kind in ("json", "jsonl") and document.source != "standard input"
    if options.output is None and not in_place:
        raise InputError(
            "cannot be corrected in place; pass `--output FILE` to write the corrected definitions as JSON",
            source=document.source,
        )
    target = options.output or document.source
    new = write_fixes(document, fixes) if in_place else _as_list(document, fixes)
    old = document.text if in_place else ""
    say(*(escaped(line) for line in unified_diff(document.source, target, old, new).splitlines()))
    rules = sorted({rule for fix in fixes for rule in fix.rules})
    say(f"{many(len(fixes), 'tool')} corrected: {', '.join(rules)}. Every call that was valid stays valid")
    if not options.yes:
        if not at_a_terminal():
            raise InputError("cannot prompt without a terminal; pass `--yes`. Nothing was written", source=target)
        if not agrees(f"Write {escaped(target)}? [y/N] ", "Nothing was written."):
            return False
    _replace(target, new, old if options.output is None else None)
    say(f"Wrote {escaped(target)}.")
    return True


def _as_list(document: "Document", fixes: "list[Fix]") -> str:
    return json_text([tool.raw for tool in _corrected(document, fixes).tools], indent=2) + "\n"


def _corrected(document: "Document", fixes: "list[Fix]") -> "Document":
    """The definitions as they will be: a fix may leave something for a person, such as an argument to describe."""
    from rightcall.lint.definitions import Document, view_tool

    changed = {
        fix.tool.number: view_tool(fix.fixed, fix.tool.path, fix.tool.number, ruled=fix.tool.ruled) for fix in fixes
    }
    return Document(document.source, document.kind, tuple(changed.get(one.number, one) for one in document.tools))


def _replace(path: str, text: str, before: str | None) -> None:
    """In one step; a file that was changed meanwhile, or that is there already, is left alone."""
    if before is None and os.path.lexists(path):
        raise InputError("exists already; choose another name for `--output`", source=path)
    if before is not None and read_text(path, limit=1 << 30) != before.removeprefix("\ufeff"):
        raise InputError("changed during the check; nothing was written. Run the command again", source=path)
    mode = os.stat(path).st_mode & 0o777 if before is not None else 0o644
    try:
        with whole_file(os.path.realpath(path), f"{os.path.realpath(path)}.{os.getpid()}.new") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(text.encode())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}. Nothing was changed", source=path) from error
