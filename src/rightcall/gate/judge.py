"""The slow path of the gate: one call that is not plainly right, taken through reading, normalising and validating.

Pure: what a judgement depends on is in its arguments, so that any decision can be replayed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from msgspec import json
from msgspec.structs import replace

from rightcall.base.json.find import read_value
from rightcall.base.json.marks import RULES, is_list, is_object, repairs_of, used
from rightcall.base.json.reader import Read
from rightcall.base.json.shape import ANY, Shape
from rightcall.base.json.strict import NO_JSON, attempt, decode, duplicate_keys, opened, unsound
from rightcall.base.text import escaped, invalid_call
from rightcall.catalog.catalog import Catalog, may_name_tool
from rightcall.catalog.schema import RESERVED_KEYS
from rightcall.catalog.tool import NameMatch, Tool
from rightcall.errors import Unreadable
from rightcall.gate.examples import can_retry, deprecated_hint, got, hint, nameless_hint, unknown_tool_hint
from rightcall.gate.explain import problems
from rightcall.gate.repair.arguments import ToolRepair, normalise
from rightcall.gate.repair.choices import Log
from rightcall.gate.repair.values import conforms
from rightcall.policy.settings import Policy
from rightcall.types import Batch, Call, Problem, ProblemCode, Repair, StrategyName, Verdict

# ── reading ──
# The arguments of a call, whatever they came as: a dict, JSON, broken JSON, Python, tags, bytes, nothing.


class ArgumentsRead(NamedTuple):
    """The arguments as they were read: the value, what reading needed, and what is wrong with it already."""

    value: Any
    repairs: tuple[Repair, ...] = ()
    problems: tuple[Problem, ...] = ()
    truncated: bool = False
    readable: bool = True
    cut_inside: bool = False
    """The text ends inside a value: what else is missing or wrong cannot be told."""
    callee: str = ""
    """The name before the brackets, where the arguments were written as a call."""


def read_arguments(
    arguments: Any, shape: Shape | None, strategies: frozenset[StrategyName], policy: Policy
) -> ArgumentsRead:
    """Read arguments for a tool of this shape; None is a tool that nobody knows."""
    if arguments is None:
        return ArgumentsRead({})
    if type(arguments) is ArgumentsRead:
        return arguments  # recovering has read them already
    kind: type[object] = type(cast("object", arguments))
    if issubclass(kind, (bytes, bytearray)):
        try:
            arguments = bytes(arguments).decode()
        except UnicodeDecodeError as error:
            return _unreadable(Problem("text", "", f"The arguments are not valid UTF-8 (byte {error.start})"))
        kind = str
    if issubclass(kind, str):
        return _read_text(str.__str__(arguments), shape, strategies, policy)
    if issubclass(kind, Mapping) and not issubclass(kind, dict):
        return ArgumentsRead(dict(cast("Mapping[str, Any]", arguments)))
    return ArgumentsRead(arguments)


def _read_text(text: str, shape: Shape | None, strategies: frozenset[StrategyName], policy: Policy) -> ArgumentsRead:
    if len(text) > policy.max_text:
        message = f"The arguments have {len(text)} characters, more than the {policy.max_text} allowed"
        return _unreadable(Problem("too_large", "", message))
    if not text.strip():
        return ArgumentsRead({})
    try:
        if not strategies:
            value = decode(text)
            read = Read(value, len(text), {}, "", duplicate_keys(text, value))
        else:
            read = read_value(text, shape or ANY, max_depth=policy.max_depth)
    except Unreadable as error:
        return _unreadable(Problem(fault_code(str(error)), "", f"The arguments could not be read: {error}"))
    repairs, forbidden = repairs_of(read.marks, text, strategies=strategies, value=read.value)
    refused = tuple(Problem("unreadable", "", f"disabled by the policy: {rule.what}") for rule in forbidden)
    return ArgumentsRead(
        read.value, repairs, (*refused, *_faults(read)), bool(read.cut), not refused, read.cut == "value", read.callee
    )


def fault_code(why: str) -> ProblemCode:
    """The code of what could not be read: `too_large` beyond a limit of size or nesting."""
    return "too_large" if "nested deeper" in why or "longer than" in why else "unreadable"


def _unreadable(problem: Problem) -> ArgumentsRead:
    return ArgumentsRead(None, problems=(problem,), readable=False)


def _faults(read: Read) -> tuple[Problem, ...]:
    faults = [Problem("duplicate_key", path, f"`{escaped(path, 120)}` is given twice") for path in read.duplicates[:20]]
    if read.cut == "value":
        faults.append(Problem("truncated", "", "The arguments are truncated inside a value; resend the complete call"))
    return tuple(faults)


CERTAIN = 0.7
"""A call whose least certain repair is below this is refused: another reading is nearly as likely."""

MOST_PROBLEMS = 20
MANY_ARGUMENTS = 500
_BATCH_DEPTH = 3


_LOSSY = re.compile(r"\d\.\d*0(?![\d])|\d[eE][-+]?\d")
"""A number whose digits Python does not keep."""


class Terms(NamedTuple):
    """Under which terms calls are judged: tools, policy, host, and the strategies the provider may need."""

    catalog: Catalog
    inside: Catalog
    """The tools that a batch may run: those, and others that only rules are known of."""
    policy: Policy
    host: str | None
    strategies: frozenset[StrategyName]
    repairs: Mapping[str, ToolRepair]


def judge(name: Any, arguments: Any, terms: Terms, call_id: str | None = None, depth: int = 0) -> Verdict:
    """The verdict on one call."""
    if name is None:
        return _nameless("", arguments, terms, call_id)
    if not issubclass(type(name), str):
        verdict = _unknown(f"a {type(name).__name__}", NameMatch("none", None), arguments, terms, call_id)
        if type(arguments) is str and arguments in terms.catalog.tools:
            swapped = "The name of the tool comes first: `check(name, arguments)`"
            return replace(verdict, problems=(Problem("unknown_tool", "", swapped),))
        return verdict
    name = str.__str__(name)  # a subclass may do anything when it is compared
    match = terms.catalog.find(name)
    tool = match.tool
    if tool is None:
        if not may_name_tool(name):
            return _nameless(name, arguments, terms, call_id)
        if not terms.catalog.tools or terms.policy.unknown_tool_for(terms.host) == "pass":
            return _without_tool(name, arguments, terms, call_id)
        return _unknown(name, match, arguments, terms, call_id)
    written = Call(name, arguments, call_id)
    found = read_arguments(arguments, tool.shape, _strategies(tool, terms), terms.policy)
    unknown = tool.rules.unknown_argument or terms.policy.unknown_argument_for(tool.name, terms.host)
    log = Log(unknown, _strategies(tool, terms))
    log.lossy = isinstance(arguments, str) and _LOSSY.search(arguments) is not None
    if match.kind != "exact":
        strategy: StrategyName = "manual_repair" if match.kind == "alias" else "structure"
        log.add("", name, tool.name, f"tool_{match.kind}", match.confidence, strategy)
        if strategy not in log.strategies:
            log.problem("unknown_tool", "", f"Unknown tool `{escaped(name, 120)}`; use `{tool.name}`")
    log.repairs.extend(found.repairs)
    log.problems.extend(found.problems)
    called = terms.catalog.find(found.callee).tool if found.callee else None
    if called is not None and called is not tool:
        log.problem("ambiguous_name", "", f"The arguments belong to another tool, `{called.name}`")
    if tool.deprecated:
        return _judge_deprecated(written, tool, found, log, terms, depth)
    value = found.value
    faults = unsound(value, terms.policy.max_depth, _reserved(tool)) if found.readable else ()
    log.problems.extend(faults)
    if found.readable and not faults and not found.cut_inside:
        value = _brought_into_shape(tool, value, log, terms)
        if value is not found.value:
            log.problems.extend(unsound(value, terms.policy.max_depth, _reserved(tool)))
        value = _inner_calls(tool, value, terms, log, depth)
        _validate(tool, value, log)
    return _verdict(written, tool, value, found, log, terms)


def _strategies(tool: Tool, terms: Terms) -> frozenset[StrategyName]:
    own = tool.rules.strategies
    return terms.strategies if own is None else terms.strategies & frozenset(own)


def _brought_into_shape(tool: Tool, value: Any, log: Log, terms: Terms) -> Any:
    """Repair only what fails: arguments that fit come back as they are."""
    if fits(tool, value):
        return value
    return normalise(tool, value, log, terms.repairs.get(tool.name))


def fits(tool: Tool, value: Any) -> bool:
    """`tool.accepts`, and what a schema cannot say: that a text holds JSON, and what JSON."""
    try:
        accepted = tool.fits(value)
    except ValueError:  # a subclass of a plain type that the validator does not take for one
        return False
    return accepted and all(_content_fits(tool, name, value.get(name)) for name in tool.rules.json_text)


def _content_fits(tool: Tool, name: str, text: Any) -> bool:
    if not isinstance(text, str):
        return True
    inside = attempt(text)
    content = tool.shape.props.get(name, ANY).text_content
    return inside is not NO_JSON and not duplicate_keys(text, inside) and (content is None or conforms(inside, content))


def _validate(tool: Tool, value: Any, log: Log) -> None:
    """Add what is wrong to the log. Here is the one place where `accepts` has the last word."""
    if log.problems and is_object(value) and len(value) > MANY_ARGUMENTS:
        return  # to explain each of thousands of strangers would take long and help nobody
    known = {problem.path for problem in log.problems}
    if not fits(tool, value):
        found = problems(tool, value, unknown=log.unknown) or _content_problems(tool, value, log)
        log.problems.extend(problem for problem in found if problem.path not in known or not problem.path)
        if not log.problems:
            log.problem("schema", "", "The arguments do not match the schema")
    if log.problems:
        return
    unsure = min(log.repairs, key=lambda repair: repair.confidence, default=None)
    if unsure is not None and unsure.confidence < CERTAIN:
        what = unsure.note if unsure.rule in RULES else f"{unsure.path} by the rule {unsure.rule}"
        log.problem("unreadable", unsure.path, f"The arguments are ambiguous ({what})")


def _content_problems(tool: Tool, value: dict[str, Any], log: Log) -> tuple[Problem, ...]:
    """What is wrong inside a text that holds JSON, said as if it stood there itself."""
    for name in tool.rules.json_text:
        if _content_fits(tool, name, value.get(name)):
            continue
        inside = attempt(value[name])
        if inside is NO_JSON:
            return (Problem("value", name, f"`{name}` must be JSON text"),)
        wrong = problems(tool, {**value, name: inside}, unknown=log.unknown)
        return wrong or (Problem("value", name, f"the JSON in `{name}` is not what the tool expects"),)
    return ()


def _reserved(tool: Tool) -> frozenset[str]:
    return frozenset(RESERVED_KEYS) - tool.shape.props.keys()


def _inner_calls(tool: Tool, value: Any, terms: Terms, log: Log, depth: int) -> Any:
    """A tool that runs other tools: every inner call is judged by that tool's own rules."""
    batch = tool.rules.batch
    if batch is None or not is_object(value):
        return value
    if depth >= _BATCH_DEPTH:
        log.problem("inner_call", batch.list, f"batches are nested deeper than {_BATCH_DEPTH} levels")
        return value
    outer = value
    written = outer.get(batch.list)
    calls = _batched(tool, outer, batch.list, log)
    result: list[Any] = []
    for at, call in enumerate(calls):
        result.append(_inner_call(call, f"{batch.list}[{at}]", batch, terms, log, depth))
    wrapped = is_object(written) and bool(calls)
    if not wrapped and all(new is old for new, old in zip(result, calls, strict=True)):
        return value
    return {**outer, batch.list: json.encode(result).decode() if isinstance(written, str) else result}


def _batched(tool: Tool, outer: dict[str, Any], key: str, log: Log) -> list[Any]:
    """The calls of a batch, also where the list is JSON text, or one call stands in its place. What is no list is a
    problem even where no schema says so: nobody could tell which calls it would run."""
    written = outer.get(key)
    calls = opened(written)
    if is_list(calls):
        return calls
    if is_object(written) and log.led and fits(tool, {**outer, key: [written]}):
        log.add(key, written, [written], "wrapped_in_list", 0.95)
        return [written]
    if key in outer and fits(tool, outer):  # else the schema, or a rule, says what is wrong with it
        log.problem("type", key, f"`{key}` must be a list, got {got(written)}")
    return []


def _inner_call(call: Any, path: str, batch: Batch, terms: Terms, log: Log, depth: int) -> Any:
    if not is_object(call):
        log.problem("inner_call", path, f"`{path}` must be a call: an object with a tool and its arguments")
        return call
    inner = call
    name_key = next((key for key in batch.name if isinstance(inner.get(key), str)), None)
    if name_key is None:
        log.problem("inner_call", path, f"`{path}` has no tool name; pass it in `{batch.name[0]}`")
        return call
    match = terms.inside.find(inner[name_key])
    if match.tool is None or (match.kind == "typo" and match.tool.name not in terms.catalog.tools):
        return call  # a tool we have no rules for
    argument_key = next((key for key in batch.arguments if key in inner), batch.arguments[0])
    terms = terms._replace(catalog=terms.inside)
    verdict = judge(inner[name_key], inner.get(argument_key, {}), terms, None, depth + 1)
    for problem in verdict.problems:
        here = f"{path}.{problem.path}" if problem.path else path
        log.problem("inner_call", here, f"in `{path}` ({escaped(inner[name_key], 80)}): {problem.message}")
    log.repairs.extend(
        Repair(
            f"{path}.{repair.path}".rstrip("."),
            repair.before,
            repair.after,
            repair.strategy,
            repair.rule,
            repair.confidence,
            repair.note,
        )
        for repair in verdict.repairs
    )
    if verdict.call is None or not verdict.ok or not verdict.repairs:
        return call
    return {**inner, name_key: verdict.call.name, argument_key: verdict.call.arguments}


def _judge_deprecated(written: Call, tool: Tool, found: ArgumentsRead, log: Log, terms: Terms, depth: int) -> Verdict:
    """A deprecated tool: mapped to its replacement where the arguments allow, else the model is told of it."""
    target = terms.catalog.find(tool.rules.replaced_by or "").tool
    as_read = Call(written.name, found.value, written.id)
    mapped = None
    mode = tool.rules.mode or terms.policy.mode_for(tool.name, terms.host)
    may_map = mode != "observe" and "manual_repair" in log.strategies
    if target is not None and may_map and found.readable and is_object(found.value) and not target.deprecated:
        renamed = {tool.rules.replacement_arguments.get(key, key): item for key, item in found.value.items()}
        if len(renamed) == len(found.value):  # else two arguments would become one
            mapped = judge(target.name, renamed, terms, written.id, depth + 1)
    if mapped is not None and mapped.ok and not mapped.problems and not log.problems:
        log.add("", tool.name, cast("Tool", target).name, "tool_replaced", 0.95, "manual_repair")
        repairs = (*log.repairs, *mapped.repairs)
        return Verdict(
            ok=True, call=mapped.call, found=as_read, repairs=repairs,
            confidence=_confidence(repairs), truncated=found.truncated, strategy="manual_repair", mode=mapped.mode,
        )  # fmt: skip
    text = deprecated_hint(tool, target)
    problem = Problem("deprecated_tool", "", f"`{tool.name}` is replaced by `{tool.rules.replaced_by}`")
    inner = mapped.problems if mapped is not None else ()
    return Verdict(
        ok=mode != "block", call=written if mode == "observe" else as_read, found=as_read, repairs=tuple(log.repairs),
        problems=_few([problem, *log.problems, *inner]), hint=text, confidence=0.0, truncated=found.truncated,
        strategy="failed", mode=mode, retry=True,
    )  # fmt: skip


def _without_tool(name: str, arguments: Any, terms: Terms, call_id: str | None) -> Verdict:
    """No tool to hold it against: a well-formed call is reported, its arguments as they were written."""
    found = read_arguments(arguments, None, terms.strategies, terms.policy)
    faults = found.problems or unsound(found.value, terms.policy.max_depth, RESERVED_KEYS)
    if not faults and not is_object(found.value):
        faults = (Problem("type", "", "the arguments must be an object"),)
    unsure = min(found.repairs, key=lambda repair: repair.confidence, default=None)
    if not faults and unsure is not None and unsure.confidence < CERTAIN:
        faults = (Problem("unreadable", "", f"The arguments are ambiguous ({unsure.note})"),)
    value = arguments if is_object(arguments) else found.value
    call = Call(name, value, call_id)
    if not faults:
        return Verdict(
            ok=True, call=call, found=call, repairs=found.repairs, confidence=_confidence(found.repairs),
            truncated=found.truncated, strategy=used(found.repairs),
        )  # fmt: skip
    reasons = ". ".join(fault.message for fault in faults)
    text = f"{invalid_call(name)} {reasons}."
    return Verdict(
        ok=False, call=call if found.readable else None, found=call if found.readable else None, repairs=found.repairs,
        problems=faults, hint=text, confidence=0.0, truncated=found.truncated, strategy="failed",
        retry=can_retry(faults),
    )  # fmt: skip


def _nameless(name: str, arguments: Any, terms: Terms, call_id: str | None) -> Verdict:
    """A call whose name is a part of the envelope, an index or nothing: no host has such a tool, so none passes."""
    verdict = _unknown(name, NameMatch("none", None), arguments, terms, call_id)
    message = f"Invalid tool name `{escaped(name, 120)}`" if name.strip() else "The call names no tool"
    return replace(verdict, problems=(Problem("unknown_tool", "", message),), hint=nameless_hint(terms.catalog.names))


def _unknown(name: str, match: NameMatch, arguments: Any, terms: Terms, call_id: str | None) -> Verdict:
    """No such tool. The call stays in the verdict, with its arguments as far as they can be read."""
    found = read_arguments(arguments, None, terms.strategies, terms.policy)
    suggestions = match.suggestions if terms.policy.unknown_tool_for(terms.host) == "suggest" else ()
    problem = Problem("unknown_tool", "", f"Unknown tool `{escaped(name, 120)}`")
    call = Call(name, found.value, call_id)
    mode = terms.policy.mode_for(name, terms.host)
    return Verdict(
        ok=mode != "block", call=Call(name, arguments, call_id) if mode == "observe" else call,
        found=call if found.readable else None, repairs=found.repairs, problems=(problem,),
        hint=unknown_tool_hint(name, suggestions, terms.catalog.names), confidence=0.0, truncated=found.truncated,
        strategy="failed", mode=mode, retry=True,
    )  # fmt: skip


def _verdict(written: Call, tool: Tool, value: Any, found: ArgumentsRead, log: Log, terms: Terms) -> Verdict:
    mode = tool.rules.mode or terms.policy.mode_for(tool.name, terms.host)
    repairs, faults = tuple(log.repairs), _few(log.problems)
    ok = not faults
    call = Call(tool.name, value, written.id) if found.readable else None
    passes = ok or mode == "warn"
    if mode == "observe" or (not ok and not terms.policy.fail_on_normalization_failure):
        call, passes = written, True
    elif call is None and passes:
        call = Call(tool.name, written.arguments, written.id)  # what cannot be read runs as it is, with a warning
    return Verdict(
        ok=passes,
        call=call,
        found=Call(written.name, found.value, written.id) if found.readable else None,
        repairs=repairs,
        problems=faults,
        hint=None if ok else hint(tool, faults, given=Call(tool.name, value) if found.readable else None),
        confidence=_confidence(repairs) if ok else 0.0,
        truncated=found.truncated,
        strategy=used(repairs) if ok else "failed",
        mode=mode,
        retry=not ok and can_retry(faults),
        unread=None if ok else _unread(written, tool, faults),
    )


def _unread(written: Call, tool: Tool, faults: tuple[Problem, ...]) -> Call | None:
    """The text of arguments that could not be read with certainty."""
    if type(written.arguments) is not str or not any(fault.code == "unreadable" for fault in faults):
        return None
    return Call(tool.name, written.arguments, written.id)


def _few(faults: list[Problem]) -> tuple[Problem, ...]:
    """No more problems than a model can read."""
    if len(faults) <= MOST_PROBLEMS:
        return tuple(faults)
    more = Problem("schema", "", f"There are {len(faults) - MOST_PROBLEMS} more problems")
    return (*faults[:MOST_PROBLEMS], more)


def _confidence(repairs: tuple[Repair, ...]) -> float:
    return min((repair.confidence for repair in repairs), default=1.0)


def written_calls(verdict: Verdict) -> set[tuple[str, bytes]]:
    """A call as it was found and as it would run, in bytes: 1 is not true."""
    written: set[tuple[str, bytes]] = set()
    for call in (verdict.found, verdict.call):
        if call is not None and is_object(call.arguments):
            try:
                written.add((call.name, json.encode(call.arguments, order="sorted")))
            except (TypeError, ValueError, RecursionError):  # what no JSON can say is no other call's twin
                continue
    return written
