"""Run one tool call: repair it, check it, decide by the policy, run the tool and record the call."""

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from difflib import get_close_matches
from shlex import quote
from typing import Any, cast

from msgspec import Struct

from rightcall.base.text import escaped, render_json
from rightcall.catalog.tool import Tool
from rightcall.cli import OK, REFUSED
from rightcall.cli.code_report import code_lines
from rightcall.cli.options import (
    SHARED,
    InputError,
    Parser,
    json_option,
    load_tools,
    open_store,
    places,
    policy_file,
    read_argument,
    store_options,
)
from rightcall.cli.terminal import (
    Style,
    Whole,
    harmless_lines,
    labelled,
    repair_lines,
    style_for,
    tell,
    text_lines,
    value_text,
)
from rightcall.executor.messages import Outcome
from rightcall.gate.records import call_record, repair_record
from rightcall.policy.effects import line_to_add

EXAMPLES = """\
examples:
  rightcall run code/read --path README.md --endLine 20
  rightcall run code/search --pattern TODO --filePattern '**/*.py' --contextLines 3
  rightcall run code/diff --base main --split
  rightcall run code/list --help
  rightcall run code/search '{pattern: "TODO"}' --root ~/project
  rightcall run word_count '{"text": "to be or not"}' --tools examples.mytools:TOOLS --as teacher
  rightcall run word_count "{'txt': 'to be'}" --tools examples.mytools:TOOLS --as teacher --explain
  rightcall run append_note @arguments.json --tools examples.mytools:TOOLS --as teacher --json
  rightcall run append_note @arguments.json --tools examples.mytools:TOOLS --as teacher --wait 120

exit code 1: the call was refused, waits for a person, or the tool failed.
"""


_LONGEST_WAIT = 7 * 86_400


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help="Name of the tool")
    parser.add_argument(
        "args", nargs="?", default="{}", metavar="ARGS",
        help="Arguments as the model wrote them; @FILE reads a file, - standard input; "
        "or pass them as options (see `rightcall run TOOL --help`)",
    )  # fmt: skip
    parser.add_argument("--as", dest="caller", default="default", metavar="CALLER", help=SHARED["--as"])
    parser.add_argument(
        "--tools", action="append", default=[], metavar="MODULE:NAME",
        help="Python functions beside the tools that ship with us, as module:attribute (imports it); repeatable",
    )  # fmt: skip
    parser.add_argument("--context", metavar="ID", help="Group records by this ID, such as a chat or a task")
    parser.add_argument("--step", metavar="ID", help="Record the step of a plan that the call belongs to")
    parser.add_argument("--approval", metavar="ID", help="Use this approval")
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="Wait up to SECONDS for approval")
    parser.add_argument(
        "--explain", action="store_true", help="Also print the call, the rule, and the time of each stage"
    )
    parser.add_argument(
        "--split", action="store_true", help="Show changes of code/diff, code/show and code/log side by side"
    )
    json_option(parser)
    store_options(parser)


def run(options: Namespace) -> int:

    from rightcall.base.telemetry.sdk import start_exporting
    from rightcall.cli.trust import offer_trust
    from rightcall.executor.executor import Executor
    from rightcall.executor.pipeline import answered, nobody_answered
    from rightcall.models import RepairModel
    from rightcall.record.premises import existing_folder

    if not 0 <= options.wait <= _LONGEST_WAIT:
        raise InputError(f"--wait takes seconds from 0 to {_LONGEST_WAIT}")
    written = read_argument(options.args)
    existing_folder(options.root)
    offer_trust(options)
    with redirect_stdout(sys.stderr), _refusals_told():  # what a tool prints must not mix with what we print
        tools = load_functions(options.tools)
        with (
            closing(open_store(options, create=True)) as store,
            Executor.open_sync(
                options.root, policy_file(options), tools=tools, store=store, code=True, last_resort=RepairModel()
            ) as executor,
        ):
            start_exporting(executor.telemetry)
            call = {"name": options.tool, "arguments": written}
            words = {"context": options.context, "step": options.step, "approval": options.approval}
            outcome = executor.run(call, options.caller, **words)
            question = outcome.decision.approval if outcome.status == "waiting" and outcome.decision else None
            if question is not None and options.wait:
                answer = f"rightcall approvals approve {question}{places(options)}"
                sys.stderr.write(f"waiting up to {options.wait:g} s for a person. To approve it: {answer}\n")
                said, _ = executor.wait_for(lambda one: answered(one, question, None, options.wait))
                if said == "answered":  # it is made again then, and not before: a call that waits has one record
                    outcome = executor.run(call, options.caller, **words)
                elif said == "expired":
                    outcome = nobody_answered(outcome)
            line = _line(executor.gate.catalog.tools.get(outcome.tool), outcome)
            if line and executor.policy.standing == "tightened":  # it may say so already
                trust = f"rightcall trust {quote(executor.policy.source)}"
                line = f"nobody has trusted the policy, so it permits nothing: `{trust}`. If it still refuses, {line}"
    style = style_for(sys.stdout, split=options.split)
    tell(
        options,
        outcome_record(outcome, line),
        lambda _: report(outcome, style, places(options), explain=options.explain, line=line),
    )
    return OK if outcome.ok else REFUSED


@contextmanager
def _refusals_told() -> Generator[None]:
    """What the log says of a store that cannot record a call goes to standard error: the outcome is for models, too,
    and leaves out what is wrong with a server."""
    import logging  # late: help needs neither

    from rightcall.executor.calls import REFUSED_BY_STORE

    logger, handler = logging.getLogger("rightcall"), logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: record.getMessage().startswith(REFUSED_BY_STORE))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _line(tool: Tool | None, outcome: Outcome) -> str:
    """What to add to the policy so that the call runs; empty where that is not what is missing."""
    if tool is None or outcome.decision is None:
        return ""
    return line_to_add(outcome.decision.rule, tool.name, tool.effects)


def load_functions(sources: list[str]) -> list[Any]:
    """The functions that `--tools` names. Raises InputError."""

    if any(":" not in source for source in sources):
        raise InputError("--tools takes functions as MODULE:NAME, such as --tools examples.mytools:TOOLS")
    return load_tools(sources)


# ── the report ──
# An outcome for people and for programs: what ran, what came of it, and with --explain everything that led to it.

_KINDS = {"allow": "allowed", "dry_run": "only rehearsed", "ask": "has to be asked for", "deny": "denied"}


def outcome_record(outcome: Outcome, line: str = "") -> dict[str, Any]:
    """The plain object that `--json` prints."""
    decision, metadata = outcome.decision, outcome.metadata
    return {
        "ok": outcome.ok,
        "success": outcome.ok,
        "status": outcome.status,
        "tool": outcome.tool,
        "call": call_record(outcome.call),
        "result": outcome.result,
        "content": outcome.content,
        "error": outcome.error,
        "hint": outcome.hint,
        "summary": outcome.summary,
        "decision": None
        if decision is None
        else {
            "kind": decision.kind,
            "rule": decision.rule,
            "reason": decision.reason,
            "retry_after": decision.retry_after,
            "approval": decision.approval,
            "grant": decision.grant,
            "to_allow": line or None,
        },
        "repairs": [repair_record(repair) for repair in outcome.repairs],
        "metadata": {
            "executionTime": metadata.execution_time,
            "tokenEstimate": metadata.token_estimate,
            "cached": metadata.cached,
            "record": metadata.call,
            "recorded": metadata.recorded,
            "stages": dict(metadata.stages),
        },
    }


def report(outcome: Outcome, style: Style, where: str = "", *, explain: bool = False, line: str = "") -> list[str]:
    """Line by line."""
    lines = [_headline(outcome, style)]
    asked: dict[str, Any] = outcome.call.arguments if outcome.call is not None else {}
    shown = code_lines(outcome.tool, outcome.result, style, asked, where) if outcome.ok else None
    if shown is not None:
        lines += shown
    elif outcome.ok:
        text = outcome.result if isinstance(outcome.result, str) else value_text(outcome.result)
        lines += labelled("result", text_lines(text) or [""], style)
    else:
        lines += labelled("error", harmless_lines(outcome.error or ""), style)
    if outcome.hint:
        lines += labelled("hint", harmless_lines(outcome.hint), style)
    if outcome.status == "waiting" and outcome.decision is not None and outcome.decision.approval:
        answer = f"rightcall approvals approve {outcome.decision.approval}{where}"
        lines += labelled("to approve it", [Whole(answer)], style)
    if line:
        lines += labelled("to allow it", [line], style)
    elif outcome.decision is not None and outcome.decision.rule == "unknown_tool":
        lines += labelled(
            "next", ["`rightcall tools` lists the tools; `--tools MODULE:NAME` adds your functions"], style
        )
    if outcome.repairs:
        lines += labelled("repairs", repair_lines(outcome.repairs), style)
    if outcome.metadata.call:
        record = outcome.metadata.call
        lines += labelled("record", [Whole(f"{record}  (rightcall audit show {record}{where})")], style)
    if not outcome.metadata.recorded and outcome.ok:
        lines += labelled("not recorded", ["it ran, but its outcome is not in the audit yet"], style)
    return lines + (_explained(outcome, style) if explain else [])


def _headline(outcome: Outcome, style: Style) -> str:
    name, taken = escaped(outcome.tool, 100), f"{outcome.metadata.execution_time:.1f} ms"
    if outcome.decision is not None and outcome.decision.kind == "dry_run":
        return style.tint(f"○ {name} was rehearsed: a dry run, nothing was changed", "yellow", "bold")
    match outcome.status:
        case "success":
            cached = ", from the cache" if outcome.metadata.cached else ""
            return style.tint(f"✓ {name} ran in {taken}{cached}", "green", "bold")
        case "waiting":
            return style.tint(f"… {name} waits for a person", "yellow", "bold")
        case "failed":
            return style.tint(f"✗ {name} failed after {taken}", "red", "bold")
        case _:
            return style.tint(f"✗ {name} was refused", "red", "bold")


def _explained(outcome: Outcome, style: Style) -> list[str]:
    lines: list[str] = []
    if outcome.call is not None:
        lines += labelled("what ran" if outcome.ok else "the call", [value_text(outcome.call.arguments)], style)
    if not outcome.repairs:
        lines += labelled("repairs", ["nothing"], style)
    if outcome.decision is not None:
        decided = f"{_KINDS[outcome.decision.kind]} by rule {outcome.decision.rule}"
        if outcome.decision.approval:
            decided += f", approval {outcome.decision.approval}"
        lines += labelled("decision", [decided], style)
    lines += labelled("tokens", [f"about {outcome.metadata.token_estimate}"], style)
    stages = [f"{stage} {taken:.2f} ms" for stage, taken in outcome.metadata.stages.items()]
    return lines + labelled("stages", ["  ".join(stages)], style)


# ── options ──
# The arguments of a tool as options of `rightcall run`, made from its schema.
#
#     rightcall run code/read --path README.md --startLine 3
#
# Text becomes what the schema wants: a number, true or false, one of the choices, a list where an option is repeated,
# an object from JSON. What this leaves open, such as ranges, the gate checks as it does for any call. `--start-line`
# and `--start_line` are `--startLine` too. An argument that has the name of an option of the command itself, or a
# name that no option can have, is given as JSON.

_HELP = ("-h", "--help")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_BEFORE = "argument "
"""Where a tool's argument is kept among the options: no option of ours has a blank in it."""
_KINDS_OPTIONS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list as JSON, or the option once for each item",
    "object": "an object as JSON",
    "null": "null",
}
_PLACES = {"integer": "N", "number": "NUMBER", "boolean": "true|false", "object": "JSON"}


class ToolOption(Struct, frozen=True):
    """One argument of a tool. `kinds` are the JSON types it may have, without any where the schema does not say."""

    name: str
    about: str
    kinds: tuple[str, ...]
    choices: tuple[Any, ...]
    items: "ToolOption | None"
    required: bool

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def is_switch(self) -> bool:
        return "boolean" in self.kinds

    @property
    def placeholder(self) -> str:
        """What stands for the value in the help."""
        one = self.items or self
        if one.choices:
            return "{" + ",".join(_plain(choice) for choice in one.choices) + "}"
        return next((_PLACES[kind] for kind in one.kinds if kind in _PLACES), "TEXT")


def parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    """The options of a call. Where arguments of the tool are among them, `args` is those as JSON. Raises InputError,
    and SystemExit as argparse does."""
    asks_help = any(word in _HELP for word in arguments)
    plain = [word for word in arguments if word not in _HELP]
    if asks_help and not plain:
        parser.parse_args(["--help"])
    own = frozenset(flag for action in parser._actions for flag in action.option_strings)
    known, unknown = parser.parse_known_args(list(_without_values(plain, own)))
    if not unknown and not asks_help:
        return known
    try:
        tool = _tool(known)
    except InputError as missing:
        # it may be why the tool is missing; where a tool is near, it is that tool's argument
        if "did you mean" not in str(missing) and (misspelt := parser.suggest_flag()):
            raise InputError(misspelt) from missing
        raise
    options = {option.name: option for option in tool_options(tool.schema, own)}
    _add(parser, tool, options)
    if asks_help:
        sys.stdout.write(parser.format_whole_help())
        raise SystemExit(OK)
    spelled = _spelled(plain, options, own)
    _, left = parser.parse_known_args(list(_without_values(spelled, own | {one.flag for one in options.values()})))
    if left:
        raise InputError(_unknown(left[0], tool, options, own))
    found = parser.parse_args(spelled)
    if found.args != parser.get_default("args"):
        raise InputError(
            f"unexpected argument {render_json(found.args, 60)}: give the arguments of `{tool.name}` as one JSON text "
            "or as options, not both"
        )
    found.args = json.dumps(_values(found, tool, options), ensure_ascii=False)
    return found


def _without_values(words: Sequence[str], own: frozenset[str]) -> Iterator[str]:
    """The words, with nothing behind `=` of an option that is none of these: argparse takes a word with a blank in it
    for no option at all."""
    for at, word in enumerate(words):
        if word == "--":
            yield from words[at:]
            return
        flag, equals, _ = word.partition("=")
        yield f"{flag}=" if equals and flag.startswith("--") and " " not in flag and flag not in own else word


def tool_options(schema: Mapping[str, Any], taken: frozenset[str] = frozenset()) -> Iterator[ToolOption]:
    """The arguments that can be options: in the order of the schema, but those that are required first."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = schema.get("required") or ()
    for name in sorted(properties, key=lambda name: name not in required):
        if _NAME.fullmatch(name) and f"--{name}" not in taken:
            yield _option(name, properties[name], schema, required=name in required)


def _option(name: str, part: Any, schema: Mapping[str, Any], *, required: bool) -> ToolOption:
    forms = list(_forms(part, schema))
    items = next((form["items"] for form in forms if isinstance(form.get("items"), dict)), None)
    return ToolOption(
        name,
        next((form["description"] for form in forms if isinstance(form.get("description"), str)), ""),
        tuple(dict.fromkeys(kind for form in forms for kind in _types(form))),
        tuple(choice for form in forms for choice in form.get("enum") or ([form["const"]] if "const" in form else [])),
        None if items is None else _option(name, items, schema, required=False),
        required,
    )


def _forms(part: Any, schema: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """A schema and those it is made of, as far as they are here."""
    if not isinstance(part, dict) or depth > 3:
        return
    form = cast("dict[str, Any]", part)
    yield form
    reference = form.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        shared: dict[str, Any] = schema.get("$defs") or {}
        yield from _forms(shared.get(reference[len("#/$defs/") :]), schema, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        for inner in form.get(key) or ():
            yield from _forms(inner, schema, depth + 1)


def _types(form: Mapping[str, Any]) -> Sequence[str]:
    kind = form.get("type")
    return [kind] if isinstance(kind, str) else cast("list[str]", kind) if isinstance(kind, list) else []


def _tool(known: Namespace) -> "Tool":
    """The tool of that name, as the policy and the packs in force define it."""

    from rightcall.executor.executor import Executor

    with redirect_stdout(sys.stderr):  # what a module prints when it is loaded must not mix with what we print
        executor = Executor.open(
            known.root, policy_file(known), tools=load_functions(known.tools), store="memory", code=True
        )
        match = executor.gate.catalog.find(known.tool)
        if match.kind in ("typo", "none") and executor.has_servers:  # it may be a tool of a server
            executor.start()
            with closing(executor):
                match = executor.gate.catalog.find(known.tool)
    if match.tool is None:
        near = match.suggestions[:1]
        hint = f"did you mean `{near[0]}`?" if near else "run `rightcall tools --pack code` to see those that ship"
        raise InputError(f"unknown tool `{escaped(known.tool, 60)}`: {hint}")
    return match.tool


def _add(parser: ArgumentParser, tool: "Tool", options: Mapping[str, ToolOption]) -> None:
    others = [escaped(name, 60) for name in tool.schema.get("properties") or () if name not in options]
    about = escaped(tool.description, 300) + (f" Only as JSON: {', '.join(others)}." if others else "")
    group = parser.add_argument_group(f"arguments of {tool.name}", about.replace("%(prog", "% (prog"))
    for option in options.values():
        about = f"{escaped(option.about, 300)}{' (required)' if option.required else ''}".replace("%", "%%")
        repeatable = "; repeatable" if option.items is not None or "array" in option.kinds else ""
        group.add_argument(
            option.flag,
            dest=_BEFORE + option.name,
            action="append",
            metavar=option.placeholder,
            help=about + repeatable,
        )


def _spelled(words: Sequence[str], options: Mapping[str, ToolOption], own: frozenset[str]) -> list[str]:
    """The words with the options of the tool as the schema spells them; one that is on or off gets its value."""
    by_fold = {_folded(name): option for name, option in options.items()}
    found: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return found + list(words[at:])
        flag, equals, value = word.partition("=")
        option = by_fold.get(_folded(flag[2:])) if flag.startswith("--") and flag not in own else None
        if option is None:
            found.append(word)
            continue
        alone = option.is_switch and not equals and words[at + 1 : at + 2] not in (["true"], ["false"])
        found.append(f"{option.flag}=true" if alone else f"{option.flag}{equals}{value}")
    return found


def _folded(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


def _values(found: Namespace, tool: "Tool", options: Mapping[str, ToolOption]) -> dict[str, Any]:
    given: dict[str, list[str] | None] = {name: getattr(found, _BEFORE + name) for name in options}
    for name, option in options.items():
        if option.required and given[name] is None:
            about = f" ({escaped(option.about, 100).rstrip('.')})" if option.about else ""
            raise InputError(
                f"missing option `{option.flag}` of `{tool.name}`{about}; "
                f"run `rightcall run {tool.name} --help` to see all of them"
            )
    return {name: _value(options[name], texts) for name, texts in given.items() if texts is not None}


def _value(option: ToolOption, texts: list[str]) -> Any:
    if "array" in option.kinds and ("string" not in option.kinds or len(texts) > 1):
        if len(texts) == 1 and texts[0].lstrip().startswith("["):
            value = _as_kind("array", texts[0])
            if value is _UNFIT:
                raise InputError(
                    f"invalid value {render_json(texts[0], 60)} for `{option.flag}`: expected {_KINDS_OPTIONS['array']}"
                )
            return value
        one = option.items or ToolOption(option.name, "", (), (), None, required=False)
        return [_scalar(one, text) for text in texts]
    if len(texts) > 1:
        raise InputError(f"option `{option.flag}` is given {len(texts)} times; it takes one value")
    return _scalar(option, texts[0])


def _scalar(option: ToolOption, text: str) -> Any:
    if option.choices:
        return _choice(option, text)
    if "string" in option.kinds:
        return text
    if not option.kinds:
        try:
            return json.loads(text)
        except ValueError:
            return text
    for kind in option.kinds:
        value = _as_kind(kind, text)
        if value is not _UNFIT:
            return value
    wanted = " or ".join(_KINDS_OPTIONS[kind] for kind in option.kinds if kind in _KINDS_OPTIONS and kind != "null")
    raise InputError(f"invalid value {render_json(text, 60)} for `{option.flag}`: expected {wanted}")


def _choice(option: ToolOption, text: str) -> Any:
    by_text = {_plain(choice): choice for choice in option.choices}
    if text in by_text:
        return by_text[text]
    near = get_close_matches(text.casefold(), by_text, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(by_text)}"
    raise InputError(f"invalid value {render_json(text, 60)} for `{option.flag}`: {hint}")


_UNFIT: Any = object()
_PYTHON: dict[str, tuple[type, ...]] = {"number": (int, float), "object": (dict,), "array": (list,)}
_WORDS = {"boolean": {"true": True, "false": False}, "null": {"null": None}}


def _as_kind(kind: str, text: str) -> Any:
    try:
        if kind in _WORDS:
            return _WORDS[kind].get(text.casefold(), _UNFIT)
        if kind == "integer":
            return int(text) if re.fullmatch(r"[+-]?\d{1,100}", text.strip(), re.ASCII) else _UNFIT
        value = json.loads(text)
    except ValueError:
        return _UNFIT
    return value if type(value) in _PYTHON.get(kind, ()) else _UNFIT


def _plain(choice: Any) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)


def _unknown(word: str, tool: "Tool", options: Mapping[str, ToolOption], own: frozenset[str]) -> str:
    """What is wrong with a word that is no option, and what was probably meant."""
    flag = word.partition("=")[0]
    if not flag.startswith("-"):
        return f"unexpected argument {render_json(word, 60)}: an option takes one value; repeat the option for a list"
    name = flag.lstrip("-")
    meant = tool.rules.aliases.get(name)
    if meant not in options:
        by_fold = {_folded(one): one for one in (*options, *(flag.lstrip("-") for flag in own))}
        near = get_close_matches(_folded(name), by_fold, n=1)
        meant = by_fold[near[0]] if near else None
    hint = f"did you mean `--{meant}`?" if meant else f"run `rightcall run {tool.name} --help` to see its options"
    return f"unknown option `{escaped(flag, 60)}` for `{tool.name}`: {hint}"
