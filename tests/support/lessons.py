"""Small histories for the learner: corrections by named callers in named contexts, as JSON lines."""

from collections.abc import Iterable
from typing import Any

from msgspec import json

from rightcall.learn.bench import Bench
from rightcall.learn.emissions import logged
from rightcall.learn.learner import Learned, learn
from rightcall.learn.proposals import Proposal
from rightcall.learn.safety import Safety, names_in
from rightcall.policy.settings import DEFAULT_POLICY, Policy

TOOLS: list[dict[str, Any]] = [
    {
        "name": "send_note",
        "description": "Send a note.",
        "parameters": {
            "type": "object",
            "required": ["subject", "folder", "urgency"],
            "properties": {
                "subject": {"type": "string"},
                "folder": {"type": "string"},
                "urgency": {"enum": ["low", "high", "now"]},
                "confirm": {"type": "boolean"},
                "api_key": {"type": "string"},
                "copies": {"type": "integer"},
                "command": {"type": "string"},
            },
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]
RIGHT = {"subject": "a", "folder": "b", "urgency": "low"}
Line = dict[str, Any]


def call(caller: str, context: str, name: str, arguments: Any, ok: bool | None = None, model: str = "m") -> Line:
    line = {"caller": caller, "context": context, "model": model, "name": name, "arguments": arguments}
    return line if ok is None else {**line, "ok": ok}


def corrected(
    caller: str, context: str, wrong: Any, right: Any, tool: str = "send_note", model: str = "m"
) -> list[Line]:
    """A call that was refused, and the one that followed; `wrong` may be a pair of another name and arguments."""
    name, arguments = wrong if isinstance(wrong, tuple) else (tool, wrong)
    return [call(caller, context, name, arguments, False, model), call(caller, context, tool, right, True, model)]


def working(*callers: str) -> list[Line]:
    """Calls that show that somebody does more than make one mistake."""
    return [call(caller, f"work-{caller}", "ping", {}, True) for caller in callers]


def headlines(sources: Iterable[tuple[str, str]], wrong: str = "cargo", right: str = "subject") -> list[Line]:
    """The same argument misnamed, with another text each time."""
    lines: list[Line] = []
    for number, (caller, context) in enumerate(sources):
        meant = {**RIGHT, "subject": f"text {number}", "folder": f"box {number % 7}"}
        written = {(wrong if name == right else name): value for name, value in meant.items()}
        lines += corrected(caller, context, written, meant)
    return lines


def taught(lines: list[Line], tools: list[Any] = TOOLS, policy: Policy = DEFAULT_POLICY) -> Learned:
    raw = [json.encode(line) for line in lines]
    bench = Bench(tools, policy)
    return learn(lambda: logged(enumerate(raw, 1), bench, _unexpected), bench, Safety(bench, names_in(policy)))


def _unexpected(number: int, why: str) -> None:
    raise AssertionError(f"line {number} was left out: {why}")


def rules(learned: Learned) -> list[tuple[str, str, str, Any]]:
    return [(one.kind, one.place, one.given, one.meant) for one in learned.rules]


def only(learned: Learned, kind: str) -> Proposal:
    found = [one for one in learned.found if one.kind == kind]
    assert len(found) == 1, found
    return found[0]
