"""Inspect saved requests: whether a tool was needed, which one was chosen, the confidence, and the result. Every routed
request is saved, also while it waits for a person."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from shlex import quote

from msgspec import to_builtins

from rightcall.base.files.guarded import packets_folder
from rightcall.base.secrets import Redactor
from rightcall.base.text import cut_counted, escaped, told_apart
from rightcall.cli import OK
from rightcall.cli.audit_report import TINTS, column, took
from rightcall.cli.options import (
    database_of,
    json_option,
    look_into,
    open_store,
    places,
    policy_despite,
    repeat_options,
    server_of,
    store_options,
    subcommands,
    whole_number,
    without_policy,
)
from rightcall.cli.persons import at_a_terminal, fit_columns, span
from rightcall.cli.terminal import (
    Style,
    Tint,
    Whole,
    count,
    harmless_lines,
    labelled,
    pad,
    table,
    tell,
    text_lines,
    value_text,
    visible_width,
)
from rightcall.errors import StoreError
from rightcall.gate.records import json_text
from rightcall.policy.settings import Policy
from rightcall.record.calls import CallFilter, CallRecord, find_calls
from rightcall.record.tables import Tables
from rightcall.router.packet import Candidate, Packet, ReflectionLog, SelectedTool, ToolRouting
from rightcall.router.packets import Listed, PacketStore, packets_of, story_of

EXAMPLES = """\
examples:
  rightcall requests list
  rightcall requests show last
  rightcall requests show p1k0aren3qsqae3xz --json
  rightcall requests remove p1k0aren3
  rightcall requests prune --older-than 30d
"""


def arguments(parser: ArgumentParser) -> None:
    action, every = subcommands(parser)
    show = action("show", "Show one saved request and its calls, without secrets")
    remove = action("remove", "Remove a saved request; its calls stay in the audit log")
    show.add_argument(
        "id", nargs="?", default="last", metavar="ID", help="ID from `list`, or its beginning (default: last)"
    )
    remove.add_argument("id", metavar="ID", help="ID from `list`, its beginning, or `last`")
    json_option(show)
    lists = action("list", "List the saved requests, newest first")
    lists.add_argument(
        "-n",
        "--limit",
        type=whole_number("requests"),
        default=20,
        metavar="N",
        help="Show at most N (default: %(default)s)",
    )
    json_option(lists)
    prune = action("prune", "Remove old saved requests; their calls stay in the audit log")
    prune.add_argument(
        "--older-than", required=True, metavar="TIME", help="Remove those unchanged for this long, such as 30d"
    )
    prune.add_argument(
        "--all", action="store_true", help="Also remove those that wait for a person; they cannot continue"
    )
    for one in (remove, prune):
        json_option(one)
    for one in every.values():
        store_options(one)


def run(options: Namespace) -> int:
    action = _ACTIONS[options.action]
    with without_policy():
        folder, server = packets_folder(database_of(options)), server_of(options)
    if not server:
        return action(PacketStore(folder), options)
    only_looks = options.action in ("show", "list")
    with closing(look_into(options) if only_looks else open_store(options)) as store:
        return action(packets_of(store, folder, _redactor(policy_despite(options))), options)


def _show(store: "PacketStore", options: Namespace) -> int:
    packet = store.load(store.find(options.id))
    policy = policy_despite(options)
    threshold, secret_names = policy.router.threshold, policy.settings.audit.redact

    def lines(style: Style) -> list[str]:
        told = story(packet, threshold, secret_names, style, places(options))
        return [*told, *_records(packet, options, style)]

    tell(options, to_builtins(story_of(packet, _redactor(policy))), lines)
    return OK


def _records(packet: "Packet", options: Namespace, style: Style) -> list[str]:
    if not server_of(options) and not os.path.exists(path := database_of(options)):
        return records([], f"there is none at {path} yet", style)
    try:
        with closing(look_into(options)) as looking:
            found = looking.look(lambda tables: _calls(tables, packet))
            return records(found, "", style, places(options))
    except StoreError as error:  # the story is told all the same
        return records([], str(error), style)


def _calls(tables: "Tables", packet: "Packet") -> "list[CallRecord]":
    header = packet.header
    found = find_calls(tables, CallFilter(context=header.packet_id, since=header.created or None), limit=200)
    return found[::-1]


def _list(store: "PacketStore", options: Namespace) -> int:
    on_server = bool(server_of(options))
    found = (store if on_server else PacketStore(store.folder, _redactor(policy_despite(options)))).list(options.limit)
    nothing = [f"No request is saved in {escaped(store.folder)}."]
    tell(options, {"packets": to_builtins(found)}, lambda style: listing(found, style) if found else nothing)
    return OK


def _redactor(policy: Policy) -> "Redactor":
    return Redactor(os.urandom(32), policy.settings.audit.redact)


def _remove(store: "PacketStore", options: Namespace) -> int:
    store.remove(found := store.find(options.id))
    tell(options, {"removed": [found]}, lambda _: [f"removed {found}"])
    return OK


def _prune(store: "PacketStore", options: Namespace) -> int:
    kept: list[str] = []

    def waits(id: str) -> bool:
        if options.all or not store.waits(id):
            return False
        kept.append(id)
        return True

    removed = store.prune(span(options.older_than, "--older-than") / timedelta(days=1), waits)
    left = [f"kept {count(kept, 'request')} waiting for a person; `--all` removes these too"] if kept else []
    said = [f"removed {count(removed, 'request')}", *left]
    tell(options, {"removed": removed, "kept": kept}, lambda _: said)
    return OK


_ACTIONS = {"show": _show, "list": _list, "remove": _remove, "prune": _prune}


# ── how it goes on ──
# How a packet that has not ended goes on: the commands, ready to be typed, as `requests show`, `ask` and `route` show
# them.

DEFAULT_CALLER = "default"
_MODELS = ("upstream", "model", "key_env")


def models(options: Namespace) -> str:
    """The options that say which model is asked and what there is to choose from, as they were given."""
    tools = "".join(f" --tools {quote(escaped(one))}" for one in getattr(options, "tools", ()))
    return tools + repeat_options(options, _MODELS)


def approval_ways(id: str, more: str = "") -> list[str]:
    """How a question is answered: at a terminal it is shown first; without one an answer names the call's digest."""
    word = quote(escaped(id, 80))
    if at_a_terminal():
        ways = f"rightcall approvals show {word}{more}", f"rightcall approvals approve {word}{more}   or: deny {word}"
    else:
        ways = (
            f"rightcall approvals show {word} --full{more}",
            f"rightcall approvals approve {word} --digest HEX{more}   with the digest that it shows; or: deny {word}",
        )
    return [Whole(way) for way in ways]


def ways_on(packet: "Packet", more: str = "") -> list[str]:
    """One line: what goes on with it; none for a packet that has ended."""
    command = resume_command(packet, more)
    match packet.status.state, packet.tool_routing.execution_status:
        case "waiting", "awaiting_approval":
            return [Whole(f"{command}   once it is approved, or: yes")]
        case "waiting", "awaiting_confidence":
            return [Whole(f"{command} yes   or: no, or in words what is meant")]
        case "waiting", _:
            return [Whole(f'{command} "…"   with what is missing')]
        case "received" | "processing", _:
            return [Whole(command)]
        case _:
            return []


def commands(packet: "Packet", asking: Namespace) -> dict[str, str]:
    """The same for a program: each answer that can be given, and the command that gives it."""
    where, approval = places(asking), packet.tool_routing.approval
    resume = resume_command(packet, models(asking) + where)
    match packet.status.state, packet.tool_routing.execution_status:
        case "waiting", "awaiting_approval" if approval is not None:
            word = quote(escaped(approval, 80))
            answers = {said: f"rightcall approvals {said} {word}{where}" for said in ("show", "approve", "deny")}
            return {**answers, "resume": resume}
        case "waiting", "awaiting_confidence":
            return {"yes": f"{resume} yes", "no": f"{resume} no"}
        case "answered" | "failed", _:
            return {}
        case _:
            return {"resume": resume}


def resume_command(packet: "Packet", more: str = "") -> str:
    header = packet.header
    caller = "" if header.caller == DEFAULT_CALLER else f" --as {quote(escaped(header.caller, 200))}"
    return f"rightcall ask --resume {escaped(header.packet_id, 60)}{caller}{more}"


# ── the report ──
# A packet's story for people, and packets in a list. Whatever users, models and tools said is shown escaped.

_NAME = 40
_STATES: dict[str, Tint] = {
    "received": "dim", "processing": "cyan", "waiting": "yellow", "answered": "green", "failed": "red",
}  # fmt: skip
_INTENTS = {
    "call": "a tool is needed",
    "ask": "a tool is needed, and a value seems to be missing",
    "none": "no tool is needed",
}


def story(packet: "Packet", threshold: float, secret_names: Iterable[str], style: Style, where: str = "") -> list[str]:
    """From the request to the answer, line by line. Secrets are hidden, also those that a waiting packet keeps. `where`
    are the options that a command needs to find it again."""
    packet = story_of(packet, Redactor(os.urandom(32), secret_names))
    state = packet.status.state
    lines = [style.tint(f"request {escaped(packet.header.packet_id, 60)}: {state}", _STATES[state], "bold")]
    for label, texts in _sections(packet, threshold, where):
        lines += labelled(label, texts, style)
    return lines


def _sections(packet: "Packet", threshold: float, where: str) -> Iterator[tuple[str, list[str]]]:
    routing = packet.tool_routing
    yield "request", text_lines(packet.content.original_prompt)
    yield "from", [_origin(packet)]
    yield "why", text_lines(packet.status.why)
    yield "intent", intent_lines(packet)
    yield "tools", tools_lines(packet.context.available_mcp_tools)
    yield "candidates", _candidates(routing.candidates)
    yield "chosen", chosen_lines(routing)
    yield "alternatives", [line for tool in routing.alternative_tools for line in alternative_lines(tool)]
    yield "review", review_lines(routing)
    yield "confidence", confidence_lines(routing, threshold) if routing.selected_tool else []
    yield "execution", [_status(routing)]
    yield "approval", approval_ways(routing.approval, where) if routing.approval else []
    yield "to go on", ways_on(packet, where)
    yield "result", result_lines(routing)
    yield "answer", text_lines(packet.content.answer or "")
    yield "steps", [line for one in packet.reasoning.reflection_log for line in _step(one)]


def _origin(packet: "Packet") -> str:
    header = packet.header
    session = f", session {escaped(header.session_id, 200)}" if header.session_id else ""
    return f"{escaped(header.caller, 200)}{session}, {escaped(header.created, 40)} UTC"


def intent_lines(packet: "Packet") -> list[str]:
    found = packet.intent.detected
    if found is None:
        return text_lines(packet.intent.user_intent)
    sure = "" if found.sure else ", too close to tell"
    scores = ", ".join(f"{escaped(name, 20)} {score:.2f}" for name, score in found.scores.items())
    lines = [f"{_INTENTS[found.answer]} (probability of a call {found.probability:.2f}{sure})"]
    lines += [f"scores: {scores}"] if scores else []
    lines += [f"missing: {', '.join(escaped(one, _NAME) for one in found.missing)}"] if found.missing else []
    return lines + [f"- {line}" for one in found.why for line in text_lines(one)]


def tools_lines(names: tuple[str, ...]) -> list[str]:
    if not names:
        return []
    few = ", ".join(escaped(name, _NAME) for name in names[:8])
    return [f"{count(names, 'tool')}: {few}{', …' if len(names) > 8 else ''}"]


def _candidates(found: "tuple[Candidate, ...]") -> list[str]:
    width = min(_NAME, max((visible_width(escaped(one.name, _NAME)) for one in found), default=0))
    return [
        f"{pad(escaped(one.name, _NAME), width)}  {one.confidence:.2f}  {escaped('; '.join(one.why), 300)}".rstrip()
        for one in found
    ]


def chosen_lines(routing: "ToolRouting") -> list[str]:
    tool = routing.selected_tool
    if tool is None:
        because = [f"because: {line}" for line in text_lines(routing.selection_reasoning)]
        return ["none", *because] if because else []
    lines = [f"{escaped(tool.tool_name, 200)}  {value_text(tool.params)}"]
    lines += [f"because: {line}" for line in text_lines(tool.selection_reasoning)]
    return [*lines, f"its own confidence: {tool.selection_confidence:.2f}"]


def alternative_lines(tool: "SelectedTool") -> list[str]:
    why = f": {escaped(tool.selection_reasoning, 300)}" if tool.selection_reasoning else ""
    return [f"{escaped(tool.tool_name, 200)}  {cut_counted(json_text(tool.params), 200)}{why}"]


def review_lines(routing: "ToolRouting") -> list[str]:
    if routing.review_approved is None:
        said = routing.review_reasoning or routing.review_confidence
        return ["none that counts", *text_lines(routing.review_reasoning)] if said else []
    verdict = "approved" if routing.review_approved else "not approved"
    return [f"{verdict}, confidence {routing.review_confidence:.2f}", *text_lines(routing.review_reasoning)]


def confidence_lines(routing: "ToolRouting", threshold: float) -> list[str]:
    reached = routing.confidence >= threshold
    against = "reaches" if reached else "is below"
    parts = ", ".join(f"{escaped(name, 40)} {value:.2f}" for name, value in routing.evidence.items())
    shown = told_apart(routing.confidence, threshold)
    lines = [f"{shown} {against} the threshold, which is {threshold:g} now"]
    return [*lines, f"made of: {parts}"] if parts else lines


def _status(routing: "ToolRouting") -> str:
    rounds = f"{routing.reinjection_count} of {routing.max_reinjections} reinjections"
    return f"{routing.execution_status.replace('_', ' ')}, {rounds}"


def result_lines(routing: "ToolRouting") -> list[str]:
    result = routing.execution_result
    if result is None:
        return []
    lines = [f"{'success' if result.success else 'failed'} after {result.execution_time_ms} ms"]
    lines += text_lines(result.error or "")
    if result.output is not None:
        lines += text_lines(result.output) if isinstance(result.output, str) else [value_text(result.output)]
    return lines


def _step(step: "ReflectionLog") -> list[str]:
    when = escaped(step.at[11:] or "-", 20)
    sure = f"{step.confidence:.2f}" if step.confidence is not None else "    "
    took = f"{step.milliseconds:,.1f} ms"
    first, *more = text_lines(step.summary) or [""]
    return [f"{when:<12}  {escaped(step.step, _NAME):<17}  {sure}  {took:>11}  {first}".rstrip(), *more]


def records(found: "Sequence[CallRecord]", missing: str, style: Style, where: str = "") -> list[str]:
    """The calls that belong to it; `missing` says why nobody could look."""
    if missing:
        return labelled("audit", harmless_lines(missing), style)
    if not found:
        return labelled("audit", ["no call of it is recorded"], style)
    width = min(_NAME, max(visible_width(escaped(one.tool, _NAME)) for one in found))
    return labelled("audit", [Whole(f"{_record(one, width, style)}{where}") for one in found], style)


def _record(record: "CallRecord", width: int, style: Style) -> str:
    status = style.tint(pad(record.status, 11), TINTS[record.status])
    time = took(record)
    return f"{column(record.tool, width)}  {status}  {time:>9}  rightcall audit show {record.id}"


def listing(found: "Sequence[Listed]", style: Style) -> list[str]:
    rows: list[list[str]] = []
    for one in found:
        if one.fault:
            rows.append([one.id, "", style.tint("damaged", "red"), "", fit_columns(escaped(one.fault), 60)])
        else:
            state = style.tint(one.state, _STATES[one.state])
            status = one.status.replace("_", " ")
            rows.append([one.id, escaped(one.created[:19], 19), state, status, fit_columns(escaped(one.request), 60)])
    return table(["id", "created (UTC)", "state", "tool", "request"], rows, style, left=5)
