"""The library: `Gate.read` in an agent loop of one's own."""

from collections.abc import Sequence

from contract.cases import Case, Definition, policy_for
from contract.outcomes import PlainClient, Ran, Seen
from rightcall import Gate


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return [_guarded(case, tools) if guarded else _alone(case, tools) for case in cases]


def _alone(case: Case, tools: tuple[Definition, ...]) -> Seen:
    ran = Ran()
    return Seen(read=PlainClient(tools, ran).take(case.message), ran=ran.taken())


def _guarded(case: Case, tools: tuple[Definition, ...]) -> Seen:
    ran = Ran()
    gate = Gate([tool.bare for tool in tools], policy_for(tools))
    read: list[str] = []
    for verdict in gate.read(case.message, case.finish).calls:
        if verdict.ok and verdict.call is not None:
            read.append(ran.note(verdict.call.name, verdict.call.arguments))
        else:
            read.append(verdict.hint or "")
    return Seen(ran.taken(), "\n".join(read))
