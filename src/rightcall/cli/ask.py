"""Ask a question about this folder: a model looks around with the code tools, under the policy, until it can answer.
Each step is shown on standard error, the answer on standard output. With --route one tool at a time is selected,
reviewed by a second question and decided by the threshold; at a terminal you are asked what only a person can say, and
every such request is saved as a packet that can go on later."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack, aclosing
from typing import TYPE_CHECKING, Self

from msgspec.json import decode

from rightcall.base.text import escaped, render_json
from rightcall.cli import INTERRUPTED, OK, REFUSED
from rightcall.cli.approvals import NO
from rightcall.cli.options import InputError, json_option, policy_of, store_options
from rightcall.cli.packet import approval_ways, commands, models, places, ways_on
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
from rightcall.cli.terminal import Style, harmless, labelled, say, say_json, style_for
from rightcall.errors import AnswerError

if TYPE_CHECKING:
    from asyncio import Runner

    from rightcall.cli.routing import Desk
    from rightcall.record.tables import Store
    from rightcall.router.router import AnswerStream, Router
    from rightcall.router.types import Packet


EXAMPLES = """\
examples:
  rightcall ask "where do we compute taxes?"
  rightcall ask --continue "and in the tests?"
  rightcall ask "what changed last week?" --url http://127.0.0.1:11434/v1 --model qwen3:4b
  echo "where is the retry limit set?" | rightcall ask - --json
  rightcall ask --route "show me docs/design.md"
  rightcall ask --resume last

exit code 1: there is no whole answer, or it waits for a person.
"""


def arguments(parser: ArgumentParser) -> None:
    from rightcall.cli.routing import caller_option, model_options, tools_option

    parser.add_argument("words", nargs="*", metavar="REQUEST", help="what is wanted; - reads standard input")
    parser.add_argument(
        "--continue", dest="go_on", action="store_true",
        help="go on from the last question and answer here, of the same --root, --as and --session",
    )  # fmt: skip
    parser.add_argument("--route", action="store_true", help="select, review and run one tool at a time, as a packet")
    parser.add_argument(
        "--resume", metavar="ID",
        help="go on with a saved packet of --route (`rightcall packet list`), or with `last`; REQUEST is then yes, no, "
        "or what more there is to say",
    )  # fmt: skip
    tools_option(parser)
    parser.add_argument("--session", default="", metavar="ID", help="groups requests: a chat, a task")
    caller_option(parser)
    person_option(parser)
    json_option(parser, "the answer with its steps, or with its packet")
    model_options(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    from asyncio import Runner

    from rightcall.cli.investigate import investigate
    from rightcall.cli.routing import RouterAsGiven, given_model, has_model, no_model, open_desk, runnable_tools
    from rightcall.cli.trust import offer_trust
    from rightcall.executor.stores import existing_folder

    existing_folder(options.root)
    offer_trust(options)
    text = _text(options)
    settings = policy_of(options).router
    model = given_model(options, settings)
    if not has_model(options, settings):
        from rightcall.models.endpoint import find_local

        with Runner() as runner:
            raise no_model(options, "ask", runner.run(find_local()))
    if not options.route and options.resume is None:
        return investigate(options, text, settings)
    with open_desk(options, runnable_tools(options)) as desk, Runner() as runner:
        router = RouterAsGiven(desk.executor, model, instead={}, caller=options.caller, packets=desk.packets)
        _ = router.models  # a key that is missing is told before anything is saved
        return Asking(options, desk, router, runner).whole(text)


def _text(options: Namespace) -> str:
    from rightcall.cli.routing import refuse_too_long, text_of

    text = text_of(options.words)
    if not text.strip() and (options.words or options.resume is None):
        empty = "an empty request" if options.words else "no request"
        raise InputError(f'{empty} was given; say what you want, as in: rightcall ask "where do we compute taxes?"')
    if options.go_on and (options.route or options.resume is not None):
        raise InputError("--continue goes on with a session; a packet of --route goes on with --resume ID")
    if options.resume is not None and options.session:
        raise InputError("--session is for a new request; a packet that goes on stays in its own")
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
        if self._options.json:
            self._print_json(packet)
        else:
            tell_why_not_whole(packet)
            say(*closing_lines(packet, self._options, style_for(sys.stdout), person=self._person))
        return OK if packet.status.state == "answered" else REFUSED

    def _print_json(self, packet: Packet) -> None:
        from rightcall.router.packets import to_json

        record = {
            "answer": packet.content.answer or "",
            "state": packet.status.state,
            "why": packet.status.why,
            "commands": commands(packet, self._options),
            "packet": decode(to_json(packet)),
        }
        say_json(record)


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
        lines.append(style.tint(f"rightcall packet show {packet.header.packet_id}{where}", "dim"))
    return lines


def tell_why_not_whole(packet: Packet) -> None:
    """Why there is no whole answer, on standard error, unless the answer says so itself."""
    why = escaped(" ".join(packet.status.why.split()), _LONGEST_CALL)
    if packet.status.state == "failed" and why and why not in (packet.content.answer or ""):
        sys.stdout.flush()
        sys.stderr.write(f"rightcall: {why}\n")


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
