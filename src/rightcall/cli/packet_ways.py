"""How a packet that has not ended goes on: the commands, ready to be typed, as `packet show`, `ask` and `route` show
them."""

from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.route.types import Packet

DEFAULT_CALLER = "default"
_PLACES = ("policy", "root", "db")
_MODELS = ("url", "model", "key_env")


def places(options: Namespace) -> str:
    """The options that say where the audit is, as they were given."""
    return _repeat_options(options, _PLACES)


def models(options: Namespace) -> str:
    """The options that say which model is asked and what there is to choose from, as they were given."""
    tools = "".join(f" --tools {quote(escaped(one))}" for one in getattr(options, "tools", ()))
    return tools + _repeat_options(options, _MODELS)


def approval_ways(id: str, more: str = "") -> list[str]:
    word = quote(escaped(id, 80))
    return [f"rightcall approvals show {word}{more}", f"rightcall approvals approve {word}{more}   or: deny {word}"]


def ways_on(packet: "Packet", more: str = "") -> list[str]:
    """One line: what goes on with it; none for a packet that has ended."""
    command = resume_command(packet, more)
    match packet.status.state, packet.tool_routing.execution_status:
        case "waiting", "awaiting_approval":
            return [f"{command}   once it is approved"]
        case "waiting", "awaiting_confidence":
            return [f"{command} yes   or: no, or in words what is meant"]
        case "waiting", _:
            return [f'{command} "…"   with what is missing']
        case "received" | "processing", _:
            return [command]
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


def _repeat_options(options: Namespace, names: tuple[str, ...]) -> str:
    """What holds by itself is not said again."""
    values = {name: getattr(options, name, None) for name in names}
    told = {name: value for name, value in values.items() if value and (name, value) != ("root", ".")}
    return "".join(f" --{name.replace('_', '-')} {quote(escaped(value))}" for name, value in told.items())
