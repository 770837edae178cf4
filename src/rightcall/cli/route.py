"""Show how a request would be routed, with the evidence: whether it needs a tool, which ones may be the right ones, and
with a model which one it chooses, what the review says of it, how sure that is, and what would run. Nothing runs
without --run."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from rightcall.cli import INTERRUPTED, OK, REFUSED
from rightcall.cli.lines import LineError, answer_each, value_of
from rightcall.cli.options import (
    InputError,
    json_option,
    model_options,
    number_within,
    open_lines,
    policy_file,
    policy_of,
    store_options,
)
from rightcall.cli.terminal import tell
from rightcall.errors import RightCallError
from rightcall.gate.records import json_text
from rightcall.policy.settings import Policy
from rightcall.router.choose import with_question
from rightcall.router.packet import Packet, log_step, start_step, with_state
from rightcall.router.respond import plain_answer, question_for, waiting_for, what_is_missing
from rightcall.router.router import Router

if TYPE_CHECKING:
    from rightcall.cli.routing import RouterAsGiven


EXAMPLES = """\
examples:
  rightcall route "show me docs/design.md"
  rightcall route "what is the weather in Oslo?" --tools tools.json --limit 3
  rightcall route "show me docs/design.md" --upstream http://127.0.0.1:8080/v1 --model qwen3-4b
  rightcall route "show me docs/design.md" --run
  rightcall route "hello there" --tools tools.json --mode keywords --json
  rightcall route --jsonl requests.jsonl --tools tools.json > judgements.jsonl

a JSON line: {"id": …, "text": …}, and optionally the tools of that line alone: "tools": […] in any shape; [] or null
judges by the text alone. With --jsonl no model is asked.
"""

MOST_CANDIDATES = 1000


def arguments(parser: ArgumentParser) -> None:
    from rightcall.cli.routing import caller_option, tools_option

    parser.add_argument(
        "words", nargs="*", metavar="REQUEST", help="Your request; @FILE reads a file, - standard input"
    )
    tools_option(parser)
    parser.add_argument(
        "--run", action="store_true", help="Also run the chosen tool, if the confidence suffices and the policy permits"
    )
    parser.add_argument("--jsonl", action="store_true", help="Read requests as JSON lines; judge each in one line")
    parser.add_argument(
        "--mode",
        choices=("learned", "keywords", "regex"),
        help="Detect the need for a tool this way (default: the policy's)",
    )
    parser.add_argument(
        "-n",
        "--limit",
        type=number_within(1, MOST_CANDIDATES),
        default=5,
        metavar="N",
        help="Show at most N candidates (default: %(default)s)",
    )
    caller_option(parser)
    json_option(parser)
    model_options(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    from rightcall.record.premises import existing_folder

    existing_folder(options.root)
    if options.jsonl:
        return _judge_lines(options)
    from rightcall.cli.trust import offer_trust

    offer_trust(options)
    from rightcall.cli.routing import given_model, has_model, loaded_tools, no_model, refuse_too_long, text_of

    text = text_of(options.words)
    if not text.strip():
        raise InputError("route needs a request, or --jsonl; `rightcall route --help` shows examples")
    settings = policy_of(options).router
    asks = has_model(options, settings)
    model = given_model(options, settings)
    if asks:
        refuse_too_long(text, settings)
    elif options.run:
        raise no_model(options, "route")
    if options.run:
        return _run(options, text, model)
    with ExitStack() as opened:
        router = _router(options, opened, loaded_tools(options), model)
        if asks:
            from asyncio import run as waiting_for

            packet = waiting_for(_decide_only(router, text))
        else:
            packet = router.find(router.detect(router.open(text)))
        _tell(options, router, packet, asks=asks)
    failed = asks and packet.tool_routing.execution_status == "failed"
    return REFUSED if failed else OK


def _run(options: Namespace, text: str, model: Any) -> int:
    """The way as it is in `ask`, but for the answer: that is what came of the call, in plain words."""
    from asyncio import run as waiting_for

    from rightcall.cli.routing import RouterAsGiven, open_desk, runnable_tools, tell_interrupted

    functions = runnable_tools(options)
    with open_desk(options, functions) as desk:
        router = RouterAsGiven(
            desk.executor, model, instead=_instead(options) | {"reinjections": 1}, caller=options.caller,
            packets=desk.packets, respond=plainly,
        )  # fmt: skip
        stream = router.stream(text)
        try:
            packet = waiting_for(stream.whole()).packet
        except KeyboardInterrupt:
            tell_interrupted(stream.packet, desk.packets, options)
            return INTERRUPTED
        _tell(options, router, packet, asks=True)
    return OK if packet.tool_routing.execution_status == "executed" else REFUSED


async def _decide_only(router: RouterAsGiven, text: str) -> Packet:
    """Every step up to the decision, and none after it."""
    packet = router.find(router.detect(router.open(text)))
    if router.settings.enabled and packet.tool_routing.routing_requested and packet.tool_routing.candidates:
        packet = await router.select(packet)
        if packet.tool_routing.routing_requested:
            return router.decide(await router.review(packet))
        if packet.tool_routing.execution_status != "failed":  # else that is what must be told here
            packet = with_question(packet)
    return packet


def _tell(options: Namespace, router: RouterAsGiven, packet: Packet, *, asks: bool) -> None:
    from rightcall.cli.routing import Shown, foresee, not_allowed, record, report

    would = None
    if not options.run and packet.tool_routing.execution_status in ("approved", "awaiting_confidence"):
        would = foresee(options, packet)
        if would is not None and packet.tool_routing.execution_status != "approved" and would.kind != "deny":
            would = None  # a person decides first; the policy counts only where it leaves nothing to decide
    candidates = router.candidates(packet.content.original_prompt, options.limit)
    shown = Shown(packet, tuple(candidates), router.settings, asks, options.run, would, not_allowed(options))
    tell(options, record(shown, options), lambda style: report(shown, options, style))


def _router(
    options: Namespace, opened: ExitStack, tools: list[Any] | None, model: Any = None, policy: Policy | None = None
) -> RouterAsGiven:
    """Of the tools that were given, else of those that the executor on this folder has, which `opened` closes."""
    from rightcall.cli.routing import RouterAsGiven, listed_executor

    more: dict[str, Any] = {"instead": _instead(options), "caller": options.caller}
    if tools is None:
        return RouterAsGiven(opened.enter_context(listed_executor(options)), model, **more)
    return RouterAsGiven(tools, model, policy=policy or policy_file(options), written_for=options.root, **more)


def _instead(options: Namespace) -> dict[str, Any]:
    return {} if options.mode is None else {"mode": options.mode}


def _judge_lines(options: Namespace) -> int:
    from rightcall.cli.routing import RouterAsGiven, loaded_tools

    if len(options.words) > 1:
        raise InputError("--jsonl takes one file (or nothing for standard input), the requests stand in its lines")
    contrary = next((name for name in ("run", "upstream", "model", "key_env") if getattr(options, name)), None)
    if contrary is not None:
        raise InputError(f"--jsonl asks no model and runs nothing; it does not go with --{contrary.replace('_', '-')}")
    given, policy = loaded_tools(options), policy_of(options)
    opened = ExitStack()
    of_all = None if given is None else _router(options, opened, given, policy=policy)

    def made(tools: list[Any] | None) -> RouterAsGiven:
        if tools == []:  # nothing is known of the tools: the text alone is judged
            return RouterAsGiven(None, policy=policy, instead=_instead(options), caller=options.caller)
        return of_all if tools is None and of_all is not None else _router(options, opened, tools, policy=policy)

    named: str = options.words[0] if options.words else "-"
    with opened, open_lines(named.removeprefix("@")) as stream:
        answer_each(stream, sys.stdout, line_judge(LineRouters(made), options.limit), limit=LONGEST_LINE)
    return OK


# ── JSON lines ──
# `rightcall route --jsonl`: requests in, judgements out, one line each, in order, with bounded memory.
#
# No model is asked. A router is kept for each of the last sets of tools, so that many requests to the same tools build
# one index; a line's tools are not even decoded where they are known already.

LONGEST_LINE = 32 * 1024 * 1024
"""Of one line: thousands of tools may stand in it."""
MOST_ROUTERS = 16
_SMALL = 1000
"""Bytes of tools up to which a line is simply read whole."""


class _Tools(msgspec.Struct):
    """Of a line, its tools alone, as they are written."""

    tools: msgspec.Raw = msgspec.Raw()


_tools_alone = msgspec.json.Decoder(_Tools)


class LineRouters:
    """The routers that a run needs: `made` makes one of some tools, of those of the command line for None, and one that
    judges the text alone for []."""

    def __init__(self, made: Callable[[list[Any] | None], Router]) -> None:
        self._made = made
        self._kept: OrderedDict[bytes, Router] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def router_for(self, tools: Written | None) -> Router:
        key = b"" if tools is None else tools.digest
        router = self._kept.get(key)
        if router is None:
            router = self._kept[key] = self._made(None if tools is None else tools.read())
            if len(self._kept) > MOST_ROUTERS:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return router


class Written(msgspec.Struct, frozen=True):
    """The tools of a line as they stand there."""

    raw: bytes

    @property
    def digest(self) -> bytes:
        return blake2b(self.raw, digest_size=20).digest()

    def read(self) -> list[Any]:
        """Raises ValueError. null and [] are the same: nothing is known of the tools."""
        tools: Any = value_of(self.raw)
        if tools is not None and not isinstance(tools, list):
            raise ValueError('"tools" is a list of tools, or null where they are not known')
        return cast("list[Any]", tools or [])


def line_judge(routers: LineRouters, limit: int) -> Callable[[bytes], dict[str, Any]]:
    """What answers a line."""

    def judge(line: bytes) -> dict[str, Any]:
        fields, tools = taken_apart(line)
        line_id, text = fields.get("id"), fields.get("text")
        if not isinstance(text, str):
            raise LineError('the line needs "text": the request, a string', line_id)
        try:
            router = routers.router_for(tools)
            return {"id": line_id, **judge_request(router, text, limit)}
        except (RightCallError, TypeError, ValueError, RecursionError) as error:
            raise LineError(str(error), line_id) from error

    return judge


def judge_request(router: Router, text: str, limit: int) -> dict[str, Any]:
    """What can be said of a request without a model, as a plain object."""
    found = router.needs_tool(text)
    return {
        "intent": msgspec.to_builtins(found),
        "final": found.final,
        "candidates": msgspec.to_builtins(router.candidates(text, limit)),
    }


def taken_apart(line: bytes) -> tuple[dict[str, Any], Written | None]:
    """The members of a line without its tools, and these as they are written, None where the line has none.

    >>> taken_apart(b'{"id": 1, "text": "hi", "tools": []}')
    ({'id': 1, 'text': 'hi'}, Written(raw=b'[]'))
    """
    try:
        raw = bytes(_tools_alone.decode(line).tools)
    except (msgspec.MsgspecError, RecursionError):  # the lenient reader knows more of it, or better what is wrong
        raw = b""
    rest = line.replace(raw, b"null", 1) if len(raw) > _SMALL else line
    value = value_of(rest)
    if not isinstance(value, dict):
        raise LineError('a line is an object with "text", and optionally "id" and "tools"')
    fields = cast("dict[str, Any]", value)
    if "tools" not in fields:
        return fields, None
    tools = fields.pop("tools")
    return fields, Written(raw or json_text(tools, ascii_only=True).encode())


# ── the plain answer ──
# The last step of `route --run`: no model is asked for an answer, what came of the call is said plainly.

_WAITS = ("awaiting_confidence", "awaiting_approval")


def plainly(packet: Packet) -> Packet:
    taken, status = start_step(), packet.tool_routing.execution_status
    if status in _WAITS:
        said, packet = waiting_for(packet), with_state(packet, "waiting", packet.status.why)
    elif packet.intent.user_intent == "ask_back":
        missing = what_is_missing(packet)
        said = question_for(missing)
        packet = with_state(packet, "waiting", f"waits for what is missing: {', '.join(missing) or 'details'}")
    elif not packet.tool_routing.needs_tool:
        said, packet = "", with_state(packet, "answered", "no tool was needed, and no answer was asked for")
    else:
        state = "failed" if status == "failed" else "answered"
        said, packet = plain_answer(packet, ""), with_state(packet, state, packet.status.why)
    packet = replace(packet, content=replace(packet.content, answer=said))
    return log_step(packet, "response", "Reported the result, without a model", taken)
