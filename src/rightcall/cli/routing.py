"""The router of `route` and `ask` on this folder, what it needs to run calls, and its decision on the terminal."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from rightcall.base.files.guarded import POLICY_FILE, packets_folder
from rightcall.base.text import cut_counted, escaped, estimate
from rightcall.catalog.tool import ALL_EFFECTS
from rightcall.cli.options import (
    EXAMPLE_URL,
    SHARED,
    InputError,
    database_of,
    follow_up,
    load_tools,
    open_store,
    places,
    policy_file,
    policy_path,
    read_argument,
    redactor_of,
    server_of,
)
from rightcall.cli.requests import (
    alternative_lines,
    approval_ways,
    chosen_lines,
    commands,
    confidence_lines,
    intent_lines,
    models,
    result_lines,
    resume_command,
    review_lines,
    tools_lines,
    ways_on,
)
from rightcall.cli.terminal import Style, Tint, Whole, harmless_lines, labelled, pad, text_lines, visible_width
from rightcall.errors import ConfigError, RightCallError
from rightcall.executor.request import canonical
from rightcall.gate.records import json_text
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import RouterSettings
from rightcall.policy.types import DecisionKind
from rightcall.record.tables import Store
from rightcall.router.lexical import tool_texts
from rightcall.router.packet import Candidate, Packet, SelectedTool, request_of, results_of
from rightcall.router.packets import PacketStore, packets_of
from rightcall.router.respond import what_is_missing
from rightcall.router.router import Router
from rightcall.router.trip import NOBODY
from rightcall.tools.functions import LocalTool, local_tool

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor
    from rightcall.models.endpoint import Endpoint, LocalServer


class RouterAsGiven(Router):
    """A router whose settings are the policy's, but for what the command line says otherwise. It may take in fewer
    results than the policy allows, never more."""

    def __init__(
        self, tools: Any = None, models: Any = None, *, instead: dict[str, Any], written_for: str = "", **options: Any
    ) -> None:
        """`written_for`: a folder for tools that have none, as an executor's have."""
        self._instead = instead
        super().__init__(tools, models, **options)
        if written_for:
            self._tools.take_written(written_for)

    @property
    def settings(self) -> RouterSettings:
        own = super().settings
        fewer = min(own.reinjections, self._instead.get("reinjections", own.reinjections))
        return replace(own, **(self._instead | {"reinjections": fewer}))


class Desk(Struct, frozen=True):
    """What a router needs to run calls here, and to keep its packets."""

    store: Store
    executor: Executor
    packets: PacketStore


@contextmanager
def open_desk(options: Namespace, functions: list[Any] | None = None) -> Generator[Desk]:
    """The store, the executor with the code tools, or with these functions instead, and the packets."""
    from rightcall.base.telemetry.sdk import start_exporting

    with closing(open_store(options, create=True)) as store:
        executor = folder_executor(options, functions, store)
        executor.start()
        start_exporting(executor.telemetry)
        with closing(executor):
            packets = packets_of(store, packets_folder(database_of(options)), redactor_of(options, store))
            yield Desk(store, executor, packets)


def folder_executor(
    options: Namespace, functions: list[Any] | None = None, store: Store | Literal["memory"] | None = None
) -> Executor:
    """Not open yet, which is enough to see the tools that run here."""
    from rightcall.executor.executor import Executor
    from rightcall.models import RepairModel

    own = functions is not None
    return Executor.open(
        options.root, policy_file(options), tools=functions or (), store=store, code=not own, servers=not own,
        last_resort=RepairModel(),
    )  # fmt: skip


@contextmanager
def listed_executor(options: Namespace) -> Generator[Executor]:
    """The executor on this folder, to see all its tools and to run none: servers start only where there are any."""
    executor = folder_executor(options, store="memory")
    if executor.has_servers:
        executor.start()
    with closing(executor):
        yield executor


# ── options ──
# The options of `route` and `ask`, and the model that is asked.

_MOST_MODELS = 5
_LEAST_SECONDS = 120.0
"""For one question: a small model on this machine needs its time."""


def tools_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tools", action="append", default=[], metavar="FILE",
        help="Use these tools instead of the code tools (only MODULE:NAME can run); repeatable",
    )  # fmt: skip


def caller_option(parser: ArgumentParser) -> None:
    parser.add_argument("--as", dest="caller", default="default", metavar="CALLER", help=SHARED["--as"])


def text_of(words: list[str]) -> str:
    """The request: words, a file (`@FILE`) or standard input (`-`). Empty when there is none."""
    text = read_argument(words[0]) if len(words) == 1 else " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("the request is not UTF-8 text") from None
    return text


def refuse_too_long(text: str, settings: RouterSettings) -> None:
    """Said before anybody is asked: with so long a request no question to a model would fit."""
    tokens = estimate(text)
    if tokens >= settings.tokens:
        raise InputError(
            f"the request has about {tokens:,} tokens, but a whole request may take {settings.tokens:,}: "
            "shorten it, or raise `tokens` in [router] of the policy"
        )


def given_model(options: Namespace, settings: RouterSettings) -> Endpoint | None:
    """The endpoint of the command line; None where the policy says which, or where there is none."""
    if options.upstream is None:
        alone = next((name for name in ("model", "key_env") if getattr(options, name) is not None), None)
        if alone is not None:
            raise InputError(f"--{alone.replace('_', '-')} needs `--upstream URL`")
        return None
    from rightcall.models.endpoint import Endpoint

    key = os.environ.get(options.key_env, "").strip() if options.key_env else None
    if key == "":
        raise InputError(f"environment variable {escaped(options.key_env, 100)} is missing or empty (`--key-env`)")
    return Endpoint(options.upstream, options.model or "", key=key, seconds=settings.model_seconds)


def has_model(options: Namespace, settings: RouterSettings) -> bool:
    return options.upstream is not None or settings.light is not None or settings.prime is not None


def asked_model(options: Namespace, settings: RouterSettings, command: str) -> Endpoint:
    """The model of a command that asks one alone. ConfigError with what to do where none is named."""
    from rightcall.models.endpoint import Endpoint, find_local

    model, named = given_model(options, settings), settings.prime or settings.light
    if model is None and named is not None:
        model = Endpoint.of(named, seconds=settings.model_seconds)
    if model is None:
        from asyncio import run

        raise no_model(options, command, run(find_local()))
    model.seconds = max(model.seconds, _LEAST_SECONDS)
    return model


def no_model(options: Namespace, command: str, found: Sequence[LocalServer] = ()) -> ConfigError:
    """What to do where no model is named; `found` are servers that run on this machine."""
    here = [
        f"  {server.name}: rightcall {command} … --upstream {server.url} --model {escaped(model, 100)}"
        for server in found
        for model in server.models[:_MOST_MODELS]
    ]
    running = "\n".join(("Running on this machine:\n", *here, "", "")) if here else ""
    return ConfigError(f"no model to ask. {running}{how_to_configure(options, command)}")


def how_to_configure(options: Namespace, command: str) -> str:
    """Complete, so that it can be copied."""
    path = policy_path(options) or os.path.join(options.root, POLICY_FILE)
    if _is_ignored(options):
        command = f"rightcall trust {quote(path)}"
        return f"The one that {escaped(path)} names counts once you trust the file: {escaped(command)}"
    return (
        f"Name one in {escaped(path)}:\n\n"
        "  [router.prime]\n"
        f'  url = "{EXAMPLE_URL}"\n'
        '  model = "qwen3-4b"\n'
        '  #key_env = "MODEL_KEY"   # where the server wants a key: the variable that holds it\n\n'
        f"or on the command line: rightcall {command} … --upstream {EXAMPLE_URL} --model qwen3-4b"
    )


def _is_ignored(options: Namespace) -> bool:
    """Whether the policy that was found names a model, and nobody has trusted it."""
    from rightcall.cli.policy_check import examine

    file = policy_file(options)
    return file is not None and any(key.startswith("router.prime.") for key in examine(file).ignored)


def loaded_tools(options: Namespace) -> list[Any] | None:
    """What --tools names; None where it was not given."""
    return None if not options.tools else load_tools(options.tools)


def runnable_tools(options: Namespace) -> list[Any] | None:
    """The same for who wants to run them."""

    tools = loaded_tools(options)
    for one in tools or ():
        if not isinstance(one, LocalTool) and (not callable(one) or isinstance(one, type)):
            raise InputError(
                "--tools: nobody here can run a tool of which only the definition is known. Give functions, as "
                "--tools MODULE:NAME, or leave --tools out for the code tools on this folder"
            )
    return tools


# ── interrupted ──
# Ctrl-C in the middle of a request: where it stands is saved, and how it goes on is told.


def tell_interrupted(packet: Packet, packets: PacketStore, options: Namespace) -> None:
    if packet.header.packet_id in packets.ids():
        command = resume_command(packet, models(options) + places(options))
        sys.stderr.write(f"\nrightcall: interrupted; the request is saved as it stood, and goes on with: {command}\n")
    else:
        sys.stderr.write("\nrightcall: interrupted, before anything of the request was saved\n")


# ── what the policy would say ──
# What would become of the chosen call, before it is tried: the policies that would decide are asked.


class Expected(Struct, frozen=True):
    """The call as it would run, and what would be decided of it."""

    call: str
    kind: DecisionKind
    rule: str
    reason: str = ""


def foresee(options: Namespace, packet: Packet) -> Expected | None:
    """None where no tool is chosen."""
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return None
    call = _canonical(selected)
    if options.tools and not _are_functions(options):
        return Expected(call, "deny", "tools", NOBODY)
    from rightcall.cli.policy import explain

    live = bool(server_of(options)) or os.path.exists(database_of(options))
    asked = Namespace(
        words=[selected.tool_name, json_text(selected.params)], caller=options.caller, policy=options.policy,
        root=options.root, store=options.store if live else None, live=live, tools=options.tools, pack=[],
    )  # fmt: skip
    try:
        found = explain(asked)
    except InputError as error:
        return Expected(call, "deny", "unknown", str(error))
    decision = found.decision
    line = line_to_add(decision.rule, found.tool.tool.name, found.tool.tool.effects)
    return Expected(call, decision.kind, decision.rule, decision.reason or line)


def not_allowed(options: Namespace) -> tuple[str, ...]:
    """Of the functions that were given, those that the policy does not let this caller use."""
    if not options.tools or not _are_functions(options):
        return ()

    try:
        executor = folder_executor(options, load_tools(options.tools))
    except RightCallError:  # definitions are among them, which nobody here runs
        return ()
    usable = {one.name for one in tool_texts(executor.definitions(options.caller, "mcp"))}
    return tuple(name for name in executor.gate.catalog.tools if name not in usable)


_LIKELY = 0.3
"""From here on it is worth saying that a tool may be needed which the policy forbids."""


def why_nothing_done(packet: Packet, options: Namespace) -> str:
    """Why a request that has ended came to nothing; empty where something was done, or nothing had to be."""
    routing = packet.tool_routing
    if packet.status.state == "waiting" or any(one.get("success") for one in results_of(packet)):
        return ""
    forbidden = not_allowed(options)
    if routing.execution_status == "failed":
        why = packet.status.why or "no tool could be used"
        named = next((name for name in forbidden if f"`{name}`" in why), None)
        return why if named is None else f"{why}: {_forbidden(named, options)}"
    if routing.selected_tool is not None or not forbidden:
        return ""
    judge = Router(load_tools(options.tools))
    text = request_of(packet)
    nearest = judge.candidates(text, 1)
    if judge.needs_tool(text).probability < _LIKELY or not nearest or nearest[0].name not in forbidden:
        return ""
    return f"{nearest[0].name} may be what this needs, but {_forbidden(nearest[0].name, options)}"


def _forbidden(name: str, options: Namespace) -> str:
    """That the policy does not allow one of the given functions, and what would."""
    declared = {one.name: one.effects for one in map(local_tool, load_tools(options.tools))}
    line = line_to_add("allowlist", name, declared.get(name) or ALL_EFFECTS)
    return f"the policy does not allow it{f'; {line}' if line else ''}"


def _are_functions(options: Namespace) -> bool:
    return all(":" in source and not os.path.exists(source) for source in options.tools)


def _canonical(selected: SelectedTool) -> str:
    try:
        return canonical(selected.tool_name, selected.params).raw.decode("utf-8", "replace")
    except (TypeError, ValueError, OverflowError, RecursionError):  # shown all the same; such a call is refused
        return json_text({"arguments": selected.params, "name": selected.tool_name})


_NAME = 40
_WOULD: dict[str, tuple[str, str, Tint]] = {
    "allow": ("✓", "would run", "green"),
    "dry_run": ("○", "would only be rehearsed: a dry run", "yellow"),
    "ask": ("…", "would wait for a person's approval", "yellow"),
    "deny": ("✗", "would be refused", "red"),
}
_DID: dict[str, tuple[str, str, Tint]] = {
    "executed": ("✓", "ran", "green"),
    "awaiting_approval": ("…", "waits for a person's approval", "yellow"),
    "awaiting_confidence": ("?", "is not sure enough: you are asked", "yellow"),
    "user_denied": ("✗", "was refused by a person", "red"),
    "failed": ("✗", "failed, or was not run", "red"),
}


class Shown(Struct, frozen=True):
    """Everything that is shown of a decision."""

    packet: Packet
    candidates: tuple[Candidate, ...]
    settings: RouterSettings
    asks: bool
    """Whether there is a model to ask."""
    ran: bool
    """Whether it went on from the decision, with --run."""
    expected: Expected | None = None
    not_allowed: tuple[str, ...] = ()
    """Tools that were given, but that the policy does not let this caller use."""

    @property
    def margin(self) -> float | None:
        """How far the first candidate is ahead of the second."""
        if len(self.candidates) < 2:
            return None
        return self.candidates[0].confidence - self.candidates[1].confidence


def report(shown: Shown, options: Namespace, style: Style) -> list[str]:
    """Line by line."""
    mark, words, tint = headline(shown)
    lines = [style.tint(f"{mark} {words}", tint, "bold")]
    for label, texts in _sections(shown, options):
        lines += labelled(label, texts, style)
    return lines if shown.asks else [*lines, "", *_no_model(options)]


def headline(shown: Shown) -> tuple[str, str, Tint]:
    """The decision in few words."""
    packet, routing = shown.packet, shown.packet.tool_routing
    found = packet.intent.detected
    if not shown.settings.enabled:
        return "–", "the router is switched off: [router] enabled = false", "yellow"
    if not packet.context.available_mcp_tools:
        return (
            "–",
            "the policy allows none of the tools" if shown.not_allowed else "no tool to choose from",
            "yellow",
        )
    if packet.intent.user_intent == "ask_back":
        return "?", _asked_back(packet), "yellow"
    if found is not None and packet.intent.user_intent != "tool_routing":
        of_fewer = shown.ran and shown.not_allowed
        return "–", "no tool that the policy allows is needed" if of_fewer else "no tool is needed", "cyan"
    if not shown.asks:
        if found is not None and not found.sure:
            return "?", "too close to tell: a model would decide whether a tool is needed", "yellow"
        likeliest = f": most likely {escaped(shown.candidates[0].name, 100)}" if shown.candidates else ""
        return "✓", f"a tool is needed{likeliest}", "green"
    if routing.selected_tool is None:
        if routing.execution_status == "failed":
            return "✗", "no tool was chosen", "red"
        return "–", "the model wants no tool", "cyan"
    mark, words, tint = _of_the_chosen(shown)
    return mark, f"{escaped(routing.selected_tool.tool_name, 100)} {words}", tint


def _asked_back(packet: Packet) -> str:
    if packet.tool_routing.selection_reasoning:
        return f"the model has to know more: {escaped(packet.tool_routing.selection_reasoning, 300)}"
    missing = ", ".join(escaped(one, _NAME) for one in what_is_missing(packet))
    return f"a tool is needed, and a value seems to be missing: {missing or 'the request does not say enough'}"


def _not_allowed(names: tuple[str, ...], options: Namespace) -> list[str]:
    if not names:
        return []
    few = ", ".join(escaped(name, _NAME) for name in names[:8])
    are = "is" if len(names) == 1 else "are"
    return [
        f"{few}{', …' if len(names) > 8 else ''}",
        f"{are} not whitelisted for {escaped(options.caller, 100)}: [policy] allow of the policy says which may run",
    ]


def _of_the_chosen(shown: Shown) -> tuple[str, str, Tint]:
    routing = shown.packet.tool_routing
    status = routing.execution_status
    if status == "skipped":
        if routing.execution_result is not None:
            return "○", "was only rehearsed: a dry run, nothing was changed", "yellow"
        return "–", "is not sure enough: it is left out", "yellow"
    if shown.ran:
        return _DID.get(status, _DID["failed"])
    if status == "awaiting_confidence" and shown.expected is None:
        return "?", "is not sure enough: you would be asked", "yellow"
    return _WOULD[shown.expected.kind] if shown.expected is not None else _DID["failed"]


def _sections(shown: Shown, options: Namespace) -> Iterator[tuple[str, list[str]]]:
    packet, routing = shown.packet, shown.packet.tool_routing
    waits = packet.status.state == "waiting" and shown.ran
    yield "why", text_lines(packet.status.why)
    yield "intent", intent_lines(packet)
    yield "tools", tools_lines(packet.context.available_mcp_tools)
    yield "not allowed", _not_allowed(shown.not_allowed, options)
    yield "candidates", _candidates(shown)
    yield "chosen", chosen_lines(routing)
    yield "alternatives", [line for tool in routing.alternative_tools for line in alternative_lines(tool)]
    yield "review", review_lines(routing)
    yield "confidence", confidence_lines(routing, shown.settings.threshold) if routing.selected_tool else []
    yield "would run", _expected(shown.expected) if shown.expected else []
    yield "result", result_lines(routing)
    yield "approval", approval_ways(routing.approval, places(options)) if routing.approval else []
    yield "to go on", ways_on(packet, models(options) + places(options)) if waits else []
    saved = Whole(follow_up(f"requests show {packet.header.packet_id}", options))
    yield "saved request", [saved] if shown.ran else []


def _candidates(shown: Shown) -> list[str]:
    found = shown.candidates
    width = min(_NAME, max((visible_width(escaped(one.name, _NAME)) for one in found), default=0))
    lines = [
        f"{pad(escaped(one.name, _NAME), width)}  {one.confidence:.2f}  score {one.score:.2f}  "
        f"{escaped('; '.join(one.why), 300)}".rstrip()
        for one in found
    ]
    return lines if shown.margin is None else [*lines, f"margin between the first two: {shown.margin:.2f}"]


def _expected(expected: Expected) -> list[str]:
    _, words, _ = _WOULD[expected.kind]
    why = f": {escaped(expected.reason, 300)}" if expected.reason else ""
    return [escaped(cut_counted(expected.call, 4000)), f"{words}, by rule {escaped(expected.rule, 100)}{why}"]


def _no_model(options: Namespace) -> list[str]:
    said = "No model is configured, so none has chosen a tool and nothing was reviewed. "
    return harmless_lines(said + how_to_configure(options, "route"))


def record(shown: Shown, options: Namespace) -> dict[str, Any]:
    """The plain object that `--json` prints."""
    packet, routing = shown.packet, shown.packet.tool_routing
    reviewed = routing.review_approved is not None or bool(routing.review_reasoning)
    found: dict[str, Any] = {
        "text": packet.content.original_prompt,
        "outcome": headline(shown)[1],
        "why": packet.status.why,
        "intent": to_builtins(packet.intent.detected),
        "final": packet.intent.detected is not None and packet.intent.detected.final,
        "not_allowed": list(shown.not_allowed),
        "candidates": to_builtins(shown.candidates),
        "margin": shown.margin,
        "model": shown.asks,
        "selected": _plain(routing.selected_tool),
        "none_because": routing.selection_reasoning,
        "alternatives": [_plain(one) for one in routing.alternative_tools],
        "review": {
            "approved": routing.review_approved,
            "confidence": routing.review_confidence,
            "reasoning": routing.review_reasoning,
        } if reviewed else None,
        "confidence": routing.confidence if routing.selected_tool else None,
        "evidence": dict(routing.evidence),
        "threshold": shown.settings.threshold,
        "status": routing.execution_status,
        "would_run": _plain(shown.expected),
    }  # fmt: skip
    if shown.ran:
        found |= {
            "packet": packet.header.packet_id,
            "state": packet.status.state,
            "result": _plain(routing.execution_result),
            "approval": routing.approval,
            "commands": commands(packet, options),
        }
    return found


def _plain(thing: Struct | None) -> dict[str, Any] | None:
    """One level only: what a model or a tool gave stays as it is, `json_text` carries anything."""
    return None if thing is None else {name: getattr(thing, name) for name in thing.__struct_fields__}
