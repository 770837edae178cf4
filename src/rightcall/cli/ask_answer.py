"""An answer at the command line while it comes, and what is said after it. What a model wrote is shown escaped."""

import sys
from argparse import Namespace
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from rightcall.cli.packet_ways import approval_ways, models, places, ways_on
from rightcall.cli.render import labelled
from rightcall.cli.terminal import Style, style_for
from rightcall.cli.waiting import waiting
from rightcall.text.escape import escaped, render_json

if TYPE_CHECKING:
    from rightcall.route.streams import AnswerStream
    from rightcall.route.types import Packet

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

    def __init__(self, stream: "AnswerStream") -> None:
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


def harmless(text: str) -> str:
    """A text as it is, but for what a terminal would obey or hide.

    >>> harmless("one\\r\\ntwo\\x1b[31m")
    'one\\ntwo\\\\u001b[31m'
    """
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(escaped, lines))


def call_line(packet: "Packet") -> str:
    """The call that a packet waits with, in one line."""
    selected = packet.tool_routing.selected_tool
    return (
        "" if selected is None else f"{escaped(selected.tool_name, 200)} {render_json(selected.params, _LONGEST_CALL)}"
    )


def closing_lines(packet: "Packet", options: Namespace, style: Style, *, person: bool) -> list[str]:
    """How a packet that waits goes on; somebody at a terminal is also told where the story is."""
    where, approval = places(options), packet.tool_routing.approval
    lines: list[str] = []
    if packet.status.state == "waiting":
        lines += labelled("approval", approval_ways(approval, where) if approval else [], style)
        lines += labelled("to go on", ways_on(packet, models(options) + where), style)
    if person:
        lines.append(style.tint(f"rightcall packet show {packet.header.packet_id}{where}", "dim"))
    return lines


def tell_why_not_whole(packet: "Packet") -> None:
    """Why there is no whole answer, on standard error, unless the answer says so itself."""
    why = escaped(" ".join(packet.status.why.split()), _LONGEST_CALL)
    if packet.status.state == "failed" and why and why not in (packet.content.answer or ""):
        sys.stdout.flush()
        sys.stderr.write(f"rightcall: {why}\n")
