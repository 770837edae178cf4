"""Ask for something: the router finds out whether that needs a tool, a model chooses one of the code tools on this
folder, another reviews the choice, and what is sure enough runs under the policy; the answer is built on what came of
it. At a terminal you are asked what only a person can say. Every request is saved as a packet and can go on later."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli import INTERRUPTED, OK, REFUSED
from rightcall.cli.lines import InputError
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.persons import at_a_terminal, person_option, who
from rightcall.cli.store_options import policy_of, store_options
from rightcall.cli.terminal import say, style_for

if TYPE_CHECKING:
    from asyncio import Runner

    from rightcall.cli.routing import Desk
    from rightcall.route.router import Router
    from rightcall.route.streams import AnswerStream
    from rightcall.route.types import Packet

EXAMPLES = """\
examples:
  rightcall ask "show me docs/design.md"
  rightcall ask "where is the retry limit set?" --root ~/project
  rightcall ask "what changed last week?" --url http://127.0.0.1:8080/v1 --model qwen3-4b
  git diff | sed '1i Explain this change:' | rightcall ask - --json
  rightcall ask --resume last
  rightcall ask --resume p1k0aren3 yes
  rightcall ask --resume p1k0aren3 "I mean the one in docs/"

exit code 1: it waits for a person, or there is no whole answer.
"""


def arguments(parser: ArgumentParser) -> None:
    from rightcall.cli.routing_options import caller_option, model_options, tools_option

    parser.add_argument("words", nargs="*", metavar="REQUEST", help="what is wanted; - reads standard input")
    parser.add_argument(
        "--resume", metavar="ID",
        help="go on with a saved packet (`rightcall packet list`), or with `last`; REQUEST is then yes, no, or what "
        "more there is to say",
    )  # fmt: skip
    tools_option(parser)
    parser.add_argument("--session", default="", metavar="ID", help="groups requests: a chat, a task")
    caller_option(parser)
    person_option(parser)
    json_option(parser, "the answer and its packet")
    model_options(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    from asyncio import Runner

    from rightcall.cli.routing import RouterAsGiven, open_desk
    from rightcall.cli.routing_options import given_model, has_model, no_model, runnable_tools
    from rightcall.cli.trust import offer_trust
    from rightcall.executor_opening import existing_folder

    existing_folder(options.root)
    offer_trust(options)
    text = _text(options)
    settings = policy_of(options).router
    model = given_model(options, settings)
    if not has_model(options, settings):
        raise no_model(options, "ask")
    with open_desk(options, runnable_tools(options)) as desk, Runner() as runner:
        router = RouterAsGiven(desk.executor, model, instead={}, caller=options.caller, packets=desk.packets)
        _ = router.models  # a key that is missing is told before anything is saved
        return Asking(options, desk, router, runner).whole(text)


def _text(options: Namespace) -> str:
    from rightcall.cli.routing_options import refuse_too_long, text_of

    text = text_of(options.words)
    if not text.strip() and (options.words or options.resume is None):
        empty = "an empty request" if options.words else "no request"
        raise InputError(f'{empty} was given; say what you want, as in: rightcall ask "show me docs/design.md"')
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
        from rightcall.cli.ask_interrupted import tell_interrupted
        from rightcall.cli.ask_questions import ask_person

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
        from rightcall.cli.ask_answer import call_line
        from rightcall.route.resuming import says_yes

        packets = self._desk.packets
        packet = packets.load(packets.find(self._options.resume))
        if not self._options.json and says_yes(packet, text):
            say(style_for(sys.stdout).tint(f"yes to: {call_line(packet)}", "dim"))
        return self._router.resuming(packet, text or None, by=who(self._options))

    async def _followed(self, stream: AnswerStream) -> None:
        """The answer is shown as it comes; of a packet with nothing left to do, what it says already."""
        from contextlib import aclosing

        from rightcall.cli.ask_answer import Printer

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
            from rightcall.cli.ask_answer import closing_lines, tell_why_not_whole

            tell_why_not_whole(packet)
            say(*closing_lines(packet, self._options, style_for(sys.stdout), person=self._person))
        return OK if packet.status.state == "answered" else REFUSED

    def _print_json(self, packet: Packet) -> None:
        from msgspec.json import decode

        from rightcall.cli.packet_ways import commands
        from rightcall.route.packets import to_json

        record = {
            "answer": packet.content.answer or "",
            "state": packet.status.state,
            "why": packet.status.why,
            "commands": commands(packet, self._options),
            "packet": decode(to_json(packet)),
        }
        say(json_text(record, ascii_only=not is_unicode(sys.stdout)))
