"""Ask a model a question about this folder. It uses the code tools, under the policy, until it can answer.
Each step is shown on standard error, the answer on standard output. With --route one tool at a time is selected,
reviewed by a second question and decided by the threshold; at a terminal you are asked what only a person can say, and
every such request is saved and can continue later."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack, aclosing, suppress
from hashlib import sha256
from shlex import quote
from time import time
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from msgspec import Struct
from msgspec.json import Decoder, decode, encode

from rightcall.base.files.guarded import state_folder
from rightcall.base.json.marks import is_object
from rightcall.base.text import escaped, render_json, wire_name
from rightcall.cli import INTERRUPTED, OK, REFUSED
from rightcall.cli.approvals import NO
from rightcall.cli.options import InputError, json_option, model_options, places, policy_of, redactor_of, store_options
from rightcall.cli.persons import (
    YES,
    at_a_terminal,
    give_answer,
    person_option,
    read_word,
    show_question,
    typed_text,
    waiting,
    who,
)
from rightcall.cli.requests import DEFAULT_CALLER, approval_ways, commands, models, ways_on
from rightcall.cli.terminal import Style, Whole, harmless, labelled, say, say_json, style_for
from rightcall.errors import AnswerError
from rightcall.executor.messages import Outcome
from rightcall.policy.effects import line_to_add
from rightcall.record.tables import Store
from rightcall.router.packet import Packet
from rightcall.router.packets import make_folder, read, to_json, write

if TYPE_CHECKING:
    from asyncio import Runner

    from rightcall.cli.routing import Desk
    from rightcall.executor.executor import Executor
    from rightcall.gate.gate import Gate
    from rightcall.models.endpoint import Endpoint
    from rightcall.models.loop import LoopResult
    from rightcall.router.router import AnswerStream, Router


EXAMPLES = """\
examples:
  rightcall ask "where do we compute taxes?"
  rightcall ask --continue "and in the tests?"
  rightcall ask "what changed last week?" --upstream http://127.0.0.1:11434/v1 --model qwen3:4b
  echo "where is the retry limit set?" | rightcall ask - --json
  rightcall ask --route "show me docs/design.md"
  rightcall ask --resume last

exit code 1: no complete answer, or a person must answer first.
"""


def arguments(parser: ArgumentParser) -> None:
    from rightcall.cli.routing import caller_option, tools_option

    parser.add_argument(
        "words", nargs="*", metavar="REQUEST", help="Your request; @FILE reads a file, - standard input"
    )
    parser.add_argument(
        "--continue", dest="go_on", action="store_true",
        help="Continue from the last answer of the same --root, --as and --session",
    )  # fmt: skip
    parser.add_argument("--route", action="store_true", help="Select, review and run one tool at a time")
    parser.add_argument(
        "--resume", metavar="ID",
        help="Continue a saved request of --route, or `last`; REQUEST is yes, no or more text",
    )  # fmt: skip
    tools_option(parser)
    parser.add_argument(
        "--session", default="", metavar="ID", help="Group requests by this ID, such as a chat or a task"
    )
    caller_option(parser)
    person_option(parser)
    json_option(parser)
    model_options(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    from asyncio import Runner

    from rightcall.cli.routing import RouterAsGiven, asked_model, given_model, open_desk, runnable_tools
    from rightcall.cli.trust import offer_trust
    from rightcall.record.premises import existing_folder

    existing_folder(options.root)
    offer_trust(options)
    text = _text(options)
    settings = policy_of(options).router
    model = asked_model(options, settings, "ask")
    if not options.route and options.resume is None:
        return investigate(options, text, model)
    given = given_model(options, settings)
    with open_desk(options, runnable_tools(options)) as desk, Runner() as runner:
        router = RouterAsGiven(desk.executor, given, instead={}, caller=options.caller, packets=desk.packets)
        watch(router, desk.executor, _quiet if options.json else _show)
        _ = router.models  # a key that is missing is told before anything is saved
        return Asking(options, desk, router, runner).whole(text)


def _text(options: Namespace) -> str:
    from rightcall.cli.routing import refuse_too_long, text_of

    text = text_of(options.words)
    if not text.strip() and (options.words or options.resume is None):
        empty = "an empty request" if options.words else "no request"
        raise InputError(f'{empty} was given; pass your question, such as: rightcall ask "where do we compute taxes?"')
    if options.go_on and (options.route or options.resume is not None):
        raise InputError("--continue goes on with a session; a request of --route goes on with --resume ID")
    if options.resume is not None and options.session:
        raise InputError("--session is for a new request; a request that goes on stays in its own")
    refuse_too_long(text, policy_of(options).router)
    return text


class Asking:
    """One request at the command line, and the questions that come up on its way."""

    def __init__(self, options: Namespace, desk: Desk, router: Router, runner: Runner) -> None:
        self._options = options
        self._desk, self._router, self._runner = desk, router, runner
        self._person = at_a_terminal() and not options.json

    def whole(self, text: str) -> int:
        """From the request to its answer, or to where it waits."""
        from rightcall.cli.routing import tell_interrupted

        stream = self._beginning(text)
        while True:
            try:
                self._runner.run(self._followed(stream))
                said = ask_person(stream.packet, self._desk.store, self._options) if self._person else None
            except KeyboardInterrupt:
                tell_interrupted(stream.packet, self._desk.packets, self._options)
                return INTERRUPTED
            if said is None:
                return self._ended(stream.packet)
            stream = self._router.resuming(stream.packet, said, by=who(self._options))

    def _beginning(self, text: str) -> AnswerStream:
        if self._options.resume is None:
            return self._router.stream(text, self._options.session)
        from rightcall.router.trip import says_yes

        packets = self._desk.packets
        packet = packets.load(packets.find(self._options.resume))
        if not self._options.json and says_yes(packet, text):
            say(style_for(sys.stdout).tint(f"yes to: {call_line(packet)}", "dim"))
        return self._router.resuming(packet, text or None, by=who(self._options))

    async def _followed(self, stream: AnswerStream) -> None:
        """The answer is shown as it comes; of a packet with nothing left to do, what it says already."""
        if self._options.json:
            await stream.whole()
            return
        async with aclosing(stream):  # nobody may be left to print for, in the middle of it
            with Printer(stream) as printer:
                async for piece in stream:
                    printer.push(piece)
                printer.end()

    def _ended(self, packet: Packet) -> int:
        from rightcall.cli.routing import why_nothing_done

        nothing = why_nothing_done(packet, self._options)
        if self._options.json:
            self._print_json(packet, nothing)
        else:
            tell_why_not_whole(packet, nothing)
            say(*closing_lines(packet, self._options, style_for(sys.stdout), person=self._person))
        return OK if packet.status.state == "answered" and not nothing else REFUSED

    def _print_json(self, packet: Packet, nothing: str) -> None:
        say_json(
            {
                "answer": packet.content.answer or "",
                "state": packet.status.state,
                "why": packet.status.why or nothing,
                "commands": commands(packet, self._options),
                "packet": decode(to_json(packet)),
            }
        )


# ── the answer ──
# An answer at the command line while it comes, and what is said after it. What a model wrote is shown escaped.

_LONGEST_CALL = 2000
_DOING = {
    "": "looking at the request",
    "intent_detection": "choosing a tool, or answering",
    "tool_selection": "having the choice reviewed, or answering",
    "confidence_review": "deciding",
    "tool_routing": "running the tool",
    "tool_execution": "looking at the result",
}


class Printer:
    """Writes pieces to standard output, each at once. Until the first comes, a terminal is told what is being done."""

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._waiting = ExitStack()
        self._held = ""
        """An end of line may come in two pieces."""
        self._last = ""

    def __enter__(self) -> Self:
        self._waiting.enter_context(waiting(self._doing))
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.close()

    def push(self, piece: str) -> None:
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        self._write(text.removesuffix(self._held))

    def end(self) -> None:
        """The last line ends. Where no piece came, what the packet says already is the answer."""
        self._write(self._held)
        if not self._last:
            self._write(self._stream.packet.content.answer or "")
        if self._last not in ("", "\n"):
            self._write("\n")

    def _write(self, text: str) -> None:
        if not text:
            return
        self._waiting.close()
        sys.stdout.write(harmless(text))
        sys.stdout.flush()
        self._last = text[-1]

    def _doing(self, seconds: float) -> str:
        log = self._stream.packet.reasoning.reflection_log
        return style_for(sys.stderr).tint(f"{seconds:.0f} s  {_DOING.get(log[-1].step if log else '', '')}", "dim")


def call_line(packet: Packet) -> str:
    """The call that a packet waits with, in one line."""
    selected = packet.tool_routing.selected_tool
    return (
        "" if selected is None else f"{escaped(selected.tool_name, 200)} {render_json(selected.params, _LONGEST_CALL)}"
    )


def closing_lines(packet: Packet, options: Namespace, style: Style, *, person: bool) -> list[str]:
    """How a packet that waits goes on; somebody at a terminal is also told where the story is."""
    where, approval = places(options), packet.tool_routing.approval
    lines: list[str] = []
    if packet.status.state == "waiting":
        lines += labelled("approval", approval_ways(approval, where) if approval else [], style)
        lines += labelled("to go on", ways_on(packet, models(options) + where), style)
    if person:
        lines.append(style.tint(f"rightcall requests show {packet.header.packet_id}{where}", "dim"))
    return lines


def tell_why_not_whole(packet: Packet, nothing: str = "") -> None:
    """Why there is no whole answer, on standard error, unless the answer says so itself; and why nothing was done."""
    why = escaped(" ".join(packet.status.why.split()), _LONGEST_CALL)
    if packet.status.state == "failed" and why and why not in (packet.content.answer or ""):
        sys.stdout.flush()
        sys.stderr.write(f"error: {why}\n")
        return
    told = escaped(" ".join(nothing.split()), _LONGEST_CALL)
    if told and told not in (packet.content.answer or ""):
        sys.stdout.flush()
        sys.stderr.write(f"error: nothing was done: {told}\n")


# ── questions to the user ──
# What only a person can say, asked at the terminal: whether a call may run, what was meant, what is missing.

_LEAVES = "Enter leaves it waiting"


def ask_person(packet: Packet, store: Store, options: Namespace) -> str | None:
    """What to go on with: "yes", "no" or a text. None: the packet waits for nobody here, or stays waiting."""
    if packet.status.state != "waiting":
        return None
    approval = packet.tool_routing.approval
    match packet.tool_routing.execution_status:
        case "awaiting_approval" if approval is not None:
            return _approved(store, options, approval)
        case "awaiting_confidence":
            return typed_text(f"run it? [y/n, or say what you mean; {_LEAVES}] ") or None
        case _:
            return typed_text(f"your answer [{_LEAVES}]: ") or None


def _approved(store: Store, options: Namespace, id: str) -> str | None:
    """As `approvals watch` asks: the question is shown whole, and a yes is said to exactly that."""
    try:
        approval = show_question(store, id)
        said = read_word(f"approve {id}? [y/N, {_LEAVES}] ")
        if said in YES:
            say(give_answer(store, options, id, "approved", approval.digest))
            return "yes"
        if said in NO:
            say(give_answer(store, options, id, "denied"))
            return "no"
    except AnswerError as error:
        say(f"not answered: {error}")
    return None


# ── the free loop ──
# The free loop of `ask`: a model looks around with the tools until it can answer, and each step is shown.

_SYSTEM = (
    "You answer questions about the folder that you are in. Look with the tools before you answer, as often as you "
    "need. Then answer in plain words, and say in which file and line you found it. If you cannot find it, say so."
)
_SYSTEM_OF_ANY = (
    "You help the user with the tools that you are given. Use them for what the user asks, as often as you need. Then "
    "answer in plain words: what you found, or what was done. If you cannot do it, say so."
)
_NUDGE = (
    "That was neither an answer nor a call that could run. Call a tool in the format you were given, or answer the "
    "question in plain words."
)
_WAITING = "(A call waits for a person's approval: {ids}. Once it is approved, it is made.)"
_LONGEST, _FEW_TOKENS = 200, 500
_ALL_REFUSED = "every tool call was refused, so nothing was found or done"


class Step(Struct, frozen=True):
    """One call of the loop, as it is shown."""

    tool: str
    arguments: Any
    status: str
    repaired: bool
    milliseconds: float
    summary: str
    to_allow: str = ""
    """For the person: what to write or run so that such a call is allowed."""

    @classmethod
    def of_packet(cls, packet: Packet, executor: Executor) -> Step | None:
        """The call that a packet has just been through."""
        from rightcall.executor.messages import content

        routing = packet.tool_routing
        selected, result = routing.selected_tool, routing.execution_result
        if selected is None:
            return None
        known = executor.gate.catalog.get(selected.tool_name)
        refused = known is not None and "is not whitelisted" in packet.status.why
        allow = line_to_add("allowlist", known.name, known.effects) if refused and known is not None else ""
        told, status = packet.status.why, {"awaiting_approval": "waiting"}.get(routing.execution_status, "failed")
        if result is not None and result.success:
            told, status = content(selected.tool_name, result.output, _FEW_TOKENS).summary, "success"
        took = 0.0 if result is None else float(result.execution_time_ms)
        repaired = routing.evidence.get("repairs", 0.0) > 0
        return cls(selected.tool_name, selected.params, status, repaired, took, told, allow)

    @classmethod
    def of(cls, outcome: Outcome) -> Step:
        call = outcome.call
        told = outcome.summary if outcome.ok else outcome.error or outcome.summary
        # the name that models are given (`code_search`) is no mistake of theirs
        return cls(
            outcome.tool or "(unreadable)", call.arguments if call is not None else {}, outcome.status,
            any(one.before != wire_name(outcome.tool) for one in outcome.repairs),
            round(outcome.metadata.execution_time, 1), told, "" if outcome.status == "waiting" else outcome.to_allow,
        )  # fmt: skip

    def line(self) -> str:
        mark = {"success": "✓", "waiting": "…"}.get(self.status, "✗")
        repaired = ", repaired" if self.repaired else ""
        told = escaped(" ".join(self.summary.split()), _LONGEST)
        call = f"{escaped(self.tool, _LONGEST)} {render_json(self.arguments, _LONGEST)}"
        allow = f"\n  to allow it: {escaped(self.to_allow, _LONGEST_CALL)}" if self.to_allow else ""
        return f"{mark} {call} ({self.milliseconds:.0f} ms{repaired}){f': {told}' if told else ''}{allow}"


def watch(router: Router, executor: Executor, tell: Callable[[Step], None]) -> None:
    """Show each call of a router when it has ended, or waits."""
    run = router.execute

    async def execute(packet: Packet) -> Packet:
        packet = await run(packet)
        step = Step.of_packet(packet, executor)
        if step is not None:
            tell(step)
        return packet

    router.execute = execute


class Watched:
    """An executor as the loop needs it, with somebody who watches each call."""

    def __init__(self, executor: Executor, tell: Callable[[Step], None]) -> None:
        self._executor, self._tell = executor, tell
        self.steps: list[Step] = []

    @property
    def gate(self) -> Gate:
        return self._executor.gate

    @property
    def rounds(self) -> int:
        return self._executor.rounds

    @property
    def note_turns(self) -> Callable[..., None]:
        return self._executor.note_turns

    def prompt(self, caller: str) -> str:
        return self._executor.prompt(caller)

    def definitions(self, caller: str, shape: Any) -> list[dict[str, Any]]:
        return self._executor.definitions(caller, shape)

    async def run_approved(self, ids: Any, **options: Any) -> list[Outcome]:
        return self._told(await self._executor.run_approved(ids, **options))

    async def run_all(self, message: Any, **options: Any) -> list[Outcome]:
        return self._told(await self._executor.run_all(message, **options))

    def _told(self, outcomes: list[Outcome]) -> list[Outcome]:
        for step in map(Step.of, outcomes):
            self.steps.append(step)
            self._tell(step)
        return outcomes


def investigate(options: Namespace, text: str, model: Endpoint) -> int:
    """Ask, show what is done, answer. 1 where there is no whole answer."""
    from asyncio import Runner

    from rightcall.cli.routing import open_desk, runnable_tools

    with open_desk(options, runnable_tools(options)) as desk, Runner() as runner:
        session = Session(options)
        earlier = session.load() if options.go_on else []
        tools = Watched(desk.executor, _quiet if options.json else _show)
        system = _SYSTEM if any(name.startswith("code/") for name in tools.gate.catalog.tools) else _SYSTEM_OF_ANY
        messages = [{"role": "system", "content": system}, *earlier, {"role": "user", "content": text}]
        result = runner.run(_ask(model, tools, messages, options.caller, session.context))
        why = _why_not(result, tools)
        waits = _WAITING.format(ids=", ".join(result.approvals)) if result.approvals else ""
        said = " ".join(filter(None, (result.text if not is_only_a_call(result.text, tools.gate) else "", waits)))
        kept = [*earlier, messages[-1], {"role": "assistant", "content": said}]
        if said:
            session.save(kept, desk)
        if result.approvals and not options.session:  # under a name too: the next question here is another session
            options.session = session.context[:8]
            Session(options, session.context).save(kept, desk)
    return _report(options, result, tools.steps, why)


async def _ask(model: Endpoint, tools: Watched, messages: list[Any], caller: str, context: str) -> LoopResult:
    """The loop; a model that only wrote a call down, or nothing, is told so once."""
    from rightcall.models.loop import run_loop

    async def asked(messages: list[dict[str, Any]]) -> Any:
        with waiting(lambda seconds: style_for(sys.stderr).tint(f"{seconds:.0f} s  asking the model", "dim")):
            return await model(messages)

    turn = str(uuid4())
    result = await run_loop(asked, tools, messages, caller=caller, context=context, turn=turn)
    if result.stopped != "answer" or not is_only_a_call(result.text, tools.gate):
        return result
    said = [] if result.text else [{"role": "assistant", "content": "(nothing)"}]
    again = [*result.messages, *said, {"role": "user", "content": _NUDGE}]
    return await run_loop(asked, tools, again, caller=caller, context=context, turn=turn)


def _why_not(result: LoopResult, tools: Watched) -> str:
    """Why there is no whole answer; empty where there is one."""
    match result.stopped:
        case "model":
            return result.error or "the model failed"
        case "waiting":
            return "a call needs a person's approval"
        case "rounds":
            return f"the tool rounds for one question are over ({result.rounds}); the answer may not be whole"
        case _ if not result.text:
            return "the model gave no answer"
        case _ if is_only_a_call(result.text, tools.gate):
            return "the model only wrote a tool call as text, and no answer"
        case _ if result.outcomes and all(one.status == "refused" for one in result.outcomes):
            return _ALL_REFUSED
        case _:
            return ""


_CALL = re.compile(r"```.*?```|`[^`]*`|<(\w+)\b[^>]*>.*?</\1>|[\w./-]+\(.*\)|\{.*\}", re.DOTALL)
_FEW_WORDS = 8
"""Fewer words than this beside a call are no answer."""


def is_only_a_call(text: str, gate: Gate) -> bool:
    """Whether a text is nothing, or a call of a tool and next to no words."""
    if not text.strip():
        return True
    removed = "".join(found[0] for found in _CALL.finditer(text))
    if len(_CALL.sub(" ", text).split()) >= _FEW_WORDS or not any(sign in removed for sign in "({<"):
        return False
    names = {name for tool in gate.catalog.tools for name in (tool, wire_name(tool))}
    return any(name in removed for name in names) or _is_call_object(text)


def _is_call_object(text: str) -> bool:
    try:
        value = json.loads(text.strip().strip("`").removeprefix("json"))
    except (ValueError, RecursionError):
        return False
    return is_object(value) and not value.keys().isdisjoint(("tool", "name", "function", "tool_name"))


# ── what is shown ──


def _show(step: Step) -> None:
    sys.stderr.write(style_for(sys.stderr).tint(step.line(), "dim") + "\n")
    sys.stderr.flush()


def _quiet(_: Step) -> None:
    """A program reads the steps in the JSON."""


def _report(options: Namespace, result: LoopResult, steps: list[Step], why: str) -> int:
    answer = "" if why not in ("", _ALL_REFUSED) and result.stopped == "answer" else result.text
    state = "answered" if not why else "waiting" if result.stopped == "waiting" else "failed"
    if options.json:
        say_json({
            "answer": answer, "state": state, "why": why, "rounds": result.rounds,
            "approvals": list(result.approvals), "context": result.context,
            "steps": [json.loads(encode(step)) for step in steps],
        })  # fmt: skip
        return OK if not why else REFUSED
    if answer:
        say(*harmless(answer.rstrip()).split("\n"))
    if why:
        sys.stdout.flush()
        sys.stderr.write(f"error: no complete answer: {escaped(' '.join(why.split()), 2000)}\n")
    for approval in result.approvals:
        say(*labelled("approval", approval_ways(approval, places(options)), style_for(sys.stdout)))
    if result.approvals:
        say(*labelled("to go on", [Whole(f"{_command(options)}   once it is approved")], style_for(sys.stdout)))
    return OK if not why else REFUSED


def _command(options: Namespace) -> str:
    """What goes on with this session, as it can be copied."""
    caller = "" if options.caller == DEFAULT_CALLER else f" --as {quote(escaped(options.caller))}"
    session = f" --session {quote(escaped(options.session))}" if options.session else ""
    return f'rightcall ask --continue "go on"{caller}{session}{models(options)}{places(options)}'


# ── sessions ──
# What was asked and answered, so that the next question can refer to it: texts alone, bounded, of one root, caller and
# session. They are words in a conversation like any other: the policy decides on every call anew. The context is the
# name under which the audit has the calls; an approval counts in its own alone, for the very call that was approved.

_CONTEXT = re.compile(r"[0-9a-f-]{36}")
_MOST_SESSIONS = 200
_MOST_TURNS = 20
_MOST_CHARACTERS = 40_000


class Turn(Struct, frozen=True):
    role: str
    content: str


class Kept(Struct, frozen=True):
    version: int
    at: float
    turns: list[Turn]
    context: str = ""


class Session:
    """The file of one session, in the user's own folder, which no tool may touch and no project brings along."""

    def __init__(self, options: Namespace, context: str = "") -> None:
        key = "\0".join((os.path.realpath(options.root), options.caller, options.session))
        self._folder = os.path.join(state_folder(), "sessions")
        self._path = os.path.join(self._folder, f"{sha256(key.encode(errors='replace')).hexdigest()[:32]}.session")
        self._options = options
        self.context = context or str(uuid4())

    def load(self) -> list[dict[str, str]]:
        """The turns so far, a question and an answer in turn."""
        try:
            kept = Decoder(Kept).decode(read(self._path, 1_000_000))
        except (OSError, ValueError, RecursionError):  # also one that is damaged
            raise InputError(
                "no session to continue here: ask without `--continue` first, with the same --root, --as and --session"
            ) from None
        self.context = kept.context if _CONTEXT.fullmatch(kept.context) else self.context
        turns = [{"role": one.role, "content": one.content} for one in kept.turns if one.role in ("user", "assistant")]
        return _bounded(turns)

    def save(self, turns: list[dict[str, str]], desk: Desk) -> None:
        hide = redactor_of(self._options, desk.store).text
        kept = [Turn(one["role"], hide(one["content"])) for one in _bounded(turns)]
        try:
            make_folder(self._folder)
            write(self._path, encode(Kept(1, time(), kept, self.context)))
            self._forget_oldest()
        except OSError as error:
            sys.stderr.write(f"rightcall: the session could not be kept: {error.strerror or error}\n")

    def _forget_oldest(self) -> None:
        with os.scandir(self._folder) as entries:
            kept = sorted((one.stat(follow_symlinks=False).st_mtime, one.path) for one in entries if one.is_file())
        for _, path in kept[:-_MOST_SESSIONS]:
            with suppress(OSError):
                os.remove(path)


def _bounded(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    """The last ones, beginning with a question."""
    room = _MOST_CHARACTERS
    left: list[dict[str, str]] = []
    for one in reversed(turns[-_MOST_TURNS:]):
        room -= len(one["content"])
        if room < 0:
            break
        left.insert(0, one)
    return left[1:] if left and left[0]["role"] == "assistant" else left
