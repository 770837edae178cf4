"""`rightcall policy command`: what the policy says of a command line or an address, by which rule, and why. The door
that hooks use judges it; nothing runs, and nothing is recorded."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, BinaryIO

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall.cli import OK
from rightcall.cli.lines import InputError, bounded_lines, standard_input
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.store_options import policy_file
from rightcall.cli.terminal import Style, Tint, hang, say, style_for
from rightcall.config import Policy
from rightcall.config_load import load_policy
from rightcall.config_settings import Limits, Window
from rightcall.door import Door
from rightcall.text.escape import escaped

_MARKS: dict[str, tuple[str, Tint]] = {"allow": ("✓", "green"), "ask": ("?", "yellow"), "deny": ("✗", "red")}
_TOOLS: list[dict[str, Any]] = [
    {"name": name, "parameters": {"type": "object", "properties": {name: {}}, "required": [name]}}
    for name in ("command", "url")
]


class Answer(Struct, frozen=True):
    """What is said of one line."""

    command: Any
    answer: str
    rule: str | None
    why: str | None


def run(options: Namespace) -> int:
    """Exit code 0, whatever the answer: it is printed."""
    with _door(load_policy(policy_file(options)), options.root) as door:
        lines = iter([(options.command, "url" if options.url else "command")]) if options.command is not None else None
        for number, (value, kind) in enumerate(lines or _lines(standard_input())):
            answer = judged(door, value, kind, f"line-{number}")
            if options.json or lines is None:
                record = {key: getattr(answer, key) for key in answer.__struct_fields__}
                say(json_text(record, ascii_only=not is_unicode(sys.stdout)))
            else:
                say(*_report(answer, style_for(sys.stdout)))
    return OK


def judged(door: Door, value: Any, kind: str, caller: str) -> Answer:
    """The answer of a door to a tool with one argument of that name. Each line has a caller of its own: only so many
    questions of one caller may wait."""
    passage = door.judge(kind, {kind: value}, caller=caller)
    if passage.action == "allow":
        return Answer(value, "allow", None, None)
    why = passage.decision.reason.removesuffix(". A person has to approve it first")
    return Answer(value, passage.action, passage.decision.rule, why)


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


def _report(answer: Answer, style: Style) -> list[str]:
    mark, tint = _MARKS[answer.answer]
    lines = [f"{style.tint(mark, tint)} {escaped(str(answer.command), 200)}", f"  answer  {answer.answer}"]
    if answer.rule is not None:
        lines += [f"  rule    {answer.rule}", *hang("  why     ", answer.why or "", style)]
    return lines
