"""Check a policy file, or explain what it decides for a caller and a tool. Nothing is run and nothing recorded."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing
from difflib import get_close_matches
from shlex import quote
from types import MappingProxyType
from typing import Any, BinaryIO

from msgspec import MsgspecError, Struct, json, to_builtins
from msgspec.structs import replace

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.catalog.toml import dotted
from rightcall.cli import OK
from rightcall.cli.options import (
    SHARED,
    InputError,
    Parser,
    bounded_lines,
    given_text,
    is_server,
    json_option,
    load_tools,
    open_store,
    policy_file,
    policy_of,
    policy_path,
    read_argument,
    standard_input,
    store_options,
    subcommands,
)
from rightcall.cli.terminal import Style, Tint, effect_words, hang, say, say_json, style_for, tell
from rightcall.errors import ConfigError
from rightcall.executor.door import Door
from rightcall.executor.explain import (
    Beside,
    Explanation,
    Limit,
    Served,
    Step,
    SupposedCall,
    find_served,
    find_tool,
    toolbox_of,
)
from rightcall.executor.explain import explain as explain_call
from rightcall.executor.toolbox import Toolbox
from rightcall.hosts.hooks.wires import hosted
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import (
    STAGES,
    Limits,
    Policy,
    Window,
)
from rightcall.policy.types import DecisionKind
from rightcall.policy.watch import load_policy
from rightcall.record.memory import MemoryStore
from rightcall.record.premises import store_path

EXAMPLES = """\
examples:
  rightcall policy check
  rightcall policy check my-project/rightcall.toml --json
  rightcall policy explain --as teacher code/execute/python
  rightcall policy explain my-project/rightcall.toml --as teacher code/read '{"path": ".env"}'
  rightcall policy explain --as teacher save_note --tools mytools:TOOLS --live --json
  rightcall policy command 'git push --force'
  rightcall policy quarantine list
  rightcall policy quarantine release teacher 5d41402a
  rightcall policy quarantine release --all
"""


class _AnyOrder(Parser):
    """Options may stand between FILE and TOOL. argparse can do that, but not by itself below another parser."""

    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._mixing or self.is_group:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            found, rest = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False
        command: str | None = getattr(found, "command", None)
        if rest and command is not None:  # without quotes it falls apart into words, of which only the first is known
            words = quote(" ".join([command, *rest]))
            self.error(f"quote the command line, so that it is one argument: rightcall policy command {words}")
        return found, rest


def arguments(parser: ArgumentParser) -> None:
    make, _ = subcommands(parser, parser_class=_AnyOrder)

    def action(name: str, about: str) -> ArgumentParser:
        made = make(name, about)
        json_option(made)
        return made

    check = action("check", "Check a policy file and report every mistake with its line")
    check.add_argument("file", nargs="?", metavar="FILE", help=f"Policy file (default: {POLICY_FILE} here)")
    _explain_arguments(action("explain", "Explain the decision for a caller and a tool"))
    _command_arguments(action("command", "Explain the decision for a command line or a URL"))
    from rightcall.cli.approvals import arguments_quarantine

    arguments_quarantine(make("quarantine", "List or release the calls that were refused too often"))


def _explain_arguments(parser: ArgumentParser) -> None:
    parser.usage = "rightcall policy explain [FILE] [--as CALLER] TOOL [ARGS] [options]"
    parser.add_argument(
        "words", nargs="+", metavar="[FILE] TOOL [ARGS]",
        help="Policy file (*.toml), tool, arguments; @FILE reads a file, - standard input",
    )  # fmt: skip
    parser.add_argument("--as", dest="caller", default="default", metavar="CALLER", help=SHARED["--as"])
    parser.add_argument(
        "--tools", action="append", default=[], metavar="FILE",
        help=SHARED["--tools"],
    )  # fmt: skip
    parser.add_argument(
        "--pack", action="append", default=[], metavar="NAME", help="Use this rule pack besides `code`; repeatable"
    )
    parser.add_argument("--live", action="store_true", help="Count the calls and answers of the audit log")
    store_options(parser)


def _command_arguments(parser: ArgumentParser) -> None:
    parser.usage = "rightcall policy command [COMMAND] [--url] [--policy FILE] [--root DIR] [--json]"
    parser.add_argument(
        "command", nargs="?", metavar="COMMAND", type=given_text,
        help='Quoted command line; @FILE reads a file, - standard input; without it JSON lines: {"command": "…"}, …',
    )  # fmt: skip
    parser.add_argument("--url", action="store_true", help="COMMAND is a URL")
    parser.add_argument("--policy", metavar="FILE", help=SHARED["--policy"])
    parser.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])


def run(options: Namespace) -> int:
    if options.action in ("list", "release"):
        from rightcall.cli.approvals import run_quarantine

        return run_quarantine(options)
    if options.action == "check":
        from rightcall.cli.policy_check import check

        return check(options.file, json=options.json)
    return run_command(options) if options.action == "command" else run_explain(options)


# ── policy explain ──
# What would be decided for a caller and a tool, by which rule, and what every other policy says.

_SAID: dict[DecisionKind, tuple[str, str, Tint]] = {
    "allow": ("✓", "would run", "green"),
    "dry_run": ("○", "would be a dry run", "yellow"),
    "ask": ("?", "would wait for a person", "yellow"),
    "deny": ("✗", "would be refused", "red"),
}
_WORDS: dict[DecisionKind, str] = {"allow": "passes", "dry_run": "dry run", "ask": "asks", "deny": "denied"}
_PERIODS = {"minute": "a minute", "hour": "an hour", "burst": "a second"}
_LABEL = 12
_UNSEEN = "the tools of the server {server} are known once it has run (`rightcall hook learn --name {server}`)"


def run_explain(options: Namespace) -> int:
    found = explain(options)
    tell(options, record(found, policy_path(options)), lambda style: report(found, policy_path(options), style))
    return OK


def explain(options: Namespace) -> Explanation:
    """Raises ConfigError for a wrong file or name, StoreError when there is no store to look into."""
    name, written = _words(options)
    toolbox = toolbox_of(
        policy_of(options), policy_path(options), options.root, load_tools(options.tools), options.pack
    )
    asked = SupposedCall(options.caller, name, None if written is None else read_argument(written))
    with closing(open_store(options) if options.live else MemoryStore()) as store:
        try:
            served = _served(toolbox, name, options)
            return explain_call(toolbox, asked, store, options.root, live=options.live, served=served)
        except ConfigError as error:
            raise InputError(str(error)) from None


def _served(toolbox: Toolbox, name: str, options: Namespace) -> Served | None:
    """The host's or server's tool of this name; None for every other tool that is known. Raises ConfigError for the
    rest."""
    policy, file = toolbox.policy, policy_path(options)
    hosts = hosted(name)
    if options.caller in hosts and not options.tools:
        return Served("", name, hosts[options.caller], options.caller)
    if name in toolbox.tools:
        return None
    if hosts:
        whose = " or ".join(f"`--as {host}`" for host in hosts)
        raise InputError(f"`{escaped(name, 100)}` is a tool of {' and '.join(hosts)}: ask with {whose}")
    named = None if options.store is None or is_server(options.store) else options.store
    path = named or store_path(policy, file and os.path.abspath(file), os.path.abspath(options.root))
    served = find_served(policy, name, Beside(path))
    if served is None:
        server = next((one for one in policy.servers if name.startswith(f"{one}/")), None)
        find_tool(toolbox, name, _UNSEEN.format(server=server) if server else "add others with `--tools` or `--pack`")
    return served


def _words(options: Namespace) -> tuple[str, str | None]:
    """TOOL and ARGS; a policy file before them is put where `--policy` would."""
    words: list[str] = list(options.words)
    if len(words) > 1 and words[0].endswith(".toml"):
        if options.policy is not None:
            raise InputError("the policy file is named twice: as FILE and by --policy")
        options.policy = words.pop(0)
    if len(words) > 2:
        raise InputError('explain takes [FILE] TOOL [ARGS]; quote ARGS, as in \'{"path": "src"}\'')
    if options.store is not None and not options.live:
        raise InputError("`--store` needs `--live`")
    if not options.caller.strip() or not options.caller.isprintable():
        raise InputError("--as needs the name of a caller")
    return words[0], words[1] if len(words) > 1 else None


def record(found: Explanation, file: str | None) -> dict[str, Any]:
    """The plain object that `--json` prints."""
    tool = found.tool.tool
    return {
        "caller": found.caller,
        "tool": tool.name,
        "decision": {name: getattr(found.decision, name) for name in ("kind", "rule", "reason", "hint", "retry_after")},
        "policies": [
            {
                "policy": step.policy,
                "says": "no opinion" if step.word is None else _WORDS[step.word.kind],
                "rule": step.word.rule if step.word else None,
                "reason": (step.word.reason or None) if step.word else None,
                "decides": step.decides,
            }
            for step in found.steps
        ],
        "limits": [{"rule": limit.rule, "calls": limit.calls, "used": limit.used} for limit in found.limits],
        "budgets": {key: getattr(found.budgets, key) for key in found.budgets.__struct_fields__},
        "stage": found.rights.stage,
        "effects": sorted(tool.effects),
        "effects_declared": tool.effects_declared,
        "file": file,
        "digest": found.policy.digest,
        "named": found.named,
        "live": found.live,
    }


def report(found: Explanation, file: str | None, style: Style) -> list[str]:
    """Line by line."""
    tool, decision, budgets = found.tool.tool, found.decision, found.budgets
    mark, words, tint = _SAID[decision.kind]
    effects = effect_words(tool.effects if tool.effects_declared else None)
    unjudged = "no arguments were given, so nothing that depends on them: paths, repeats"
    rows = [
        ("rule", decision.rule),
        ("reason", escaped(decision.reason)),
        _advice(found),
        ("policy", _source(found, file)),
        ("caller", _caller(found)),
        ("tool", f"{escaped(tool.source)}; {effects}"),
        *_labelled("policies", (_step(step, style) for step in found.steps)),
        *_labelled("limits", (f"{limit.rule:<20}  {_limit(limit)}" for limit in found.limits)),
        ("budgets", f"{budgets.seconds:g} s, {budgets.tokens} tokens shown, {budgets.output} bytes kept"),
        ("not judged", unjudged if found.verdict is None else ""),
    ]
    headline = f"{mark} {escaped(tool.name, 100)}, called by `{escaped(found.caller, 100)}`, {words}"
    lines = [style.tint(headline, tint, "bold")]
    return lines + [line for label, text in rows if text for line in hang(f"  {label:<{_LABEL}}  ", text, style)]


def _labelled(label: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The label stands before the first."""
    return (("" if number else label, text) for number, text in enumerate(texts))


def _source(found: Explanation, file: str | None) -> str:
    if file is None:
        return "the defaults: no rightcall.toml here"
    return f"{escaped(file)} ({found.policy.digest})"


def _caller(found: Explanation) -> str:
    stage = f"stage {found.rights.stage}" if found.rights.stage else "only what its own list names"
    if found.named:
        return f"has a table of its own; {stage}"
    near = get_close_matches(found.caller, found.policy.settings.callers, n=1)
    hint = f" (did you mean {escaped(near[0], 60)}?)" if near else ""
    return f"not named in the policy{hint}, so what holds for everybody; {stage}"


def _advice(found: Explanation) -> tuple[str, str]:
    """How to allow what only a list or a word on its effects forbids."""
    name = found.tool.tool.name
    line = line_to_add(found.decision.rule, name, found.tool.tool.effects)
    if line and (found.rights.stage or found.decision.rule != "allowlist"):
        return "to allow it", escaped(line)
    if found.decision.rule != "allowlist":
        return "hint", escaped(found.decision.hint or "")
    stage = next((stage for stage, tools in STAGES.items() if name in tools), None)
    by_stage = f'stage = "{stage}" has it; ' if stage and found.rights.stage else ""
    key = "allow" if found.rights.stage else "only"
    table = escaped(dotted(("callers", found.caller)))
    return "to allow it", f'{by_stage}{key} = ["{escaped(name, 100)}"] in [{table}]'


def _step(step: Step, style: Style) -> str:
    said = "no opinion" if step.word is None else _WORDS[step.word.kind]
    rule = f"  {step.word.rule}" if step.word else ""
    text = f"{step.policy:<10}  {said:<10}{rule}{'  ◀ decides' if step.decides else ''}"
    return text if step.word else style.tint(text, "dim")


def _limit(limit: Limit) -> str:
    words = f"{limit.calls} {_PERIODS[limit.rule.rpartition(':')[2]]}"
    return words if limit.used is None else f"{words}, {limit.used} used"


# ── policy command ──
# What the policy says of a command line or an address, by which rule, and why. The door
# that hooks use judges it; nothing runs, and nothing is recorded.

_MARKS: dict[str, tuple[str, Tint]] = {"allow": ("✓", "green"), "ask": ("?", "yellow"), "deny": ("✗", "red")}
_TOOLS: list[dict[str, Any]] = [
    {"name": name, "parameters": {"type": "object", "properties": {name: {}}, "required": [name]}}
    for name in ("command", "url")
]


class AnswerCommand(Struct, frozen=True):
    """What is said of one line."""

    command: Any
    answer: str
    rule: str | None
    why: str | None


def run_command(options: Namespace) -> int:
    """Exit code 0, whatever the answer: it is printed."""
    with _door(load_policy(policy_file(options)), options.root) as door:
        lines = iter([(options.command, "url" if options.url else "command")]) if options.command is not None else None
        for number, (value, kind) in enumerate(lines or _lines(standard_input())):
            answer = judge_line(door, value, kind, f"line-{number}")
            if options.json or lines is None:
                say_json(to_builtins(answer))
            else:
                say(*_report_command(answer, style_for(sys.stdout)))
    return OK


def judge_line(door: Door, value: Any, kind: str, caller: str) -> AnswerCommand:
    """The answer of a door to a tool with one argument of that name. Each line has a caller of its own: only so many
    questions of one caller may wait."""
    passage = door.judge(kind, {kind: value}, caller=caller)
    if passage.action == "allow":
        return AnswerCommand(value, "allow", None, None)
    why = passage.decision.reason.removesuffix(". A person must approve this call first")
    return AnswerCommand(value, passage.action, passage.decision.rule, why)


def _door(policy: Policy, root: str) -> Door:
    """One that counts nothing: the same line may be asked about again and again."""
    settings = replace(
        policy.settings, repeats=0, quarantine=0, limits=Limits(Window(), Window(), MappingProxyType({})),
    )  # fmt: skip
    return Door.open(
        "policy", replace(policy, settings=settings), tools=_TOOLS, root=root, store="memory", mode="block"
    )


def _lines(stream: BinaryIO) -> Iterator[tuple[Any, str]]:
    for number, raw in bounded_lines(stream):
        if raw is None or not raw.strip():
            continue
        try:
            value: Any = json.decode(raw)
        except MsgspecError:
            raise InputError(f'line {number} is not JSON; write a text in quotes, or {{"command": "…"}}') from None
        if isinstance(value, dict) and "url" in value and "command" not in value:
            yield value["url"], "url"
        elif isinstance(value, dict) and "command" in value:
            yield value["command"], "command"
        elif isinstance(value, str | list):
            yield value, "command"
        else:
            raise InputError(f'line {number} has no command; write a text in quotes, or {{"command": "…"}}')


def _report_command(answer: AnswerCommand, style: Style) -> list[str]:
    mark, tint = _MARKS[answer.answer]
    lines = [f"{style.tint(mark, tint)} {escaped(str(answer.command), 200)}", f"  answer  {answer.answer}"]
    if answer.rule is not None:
        lines += [f"  rule    {answer.rule}", *hang("  why     ", answer.why or "", style)]
    return lines
