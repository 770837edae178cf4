"""The executor, which also runs the tools: functions that read only."""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from contract.cases import Case, Definition, policy_for
from contract.doors.library import drive as library
from contract.outcomes import Ran, Seen
from rightcall import Executor, tool


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return _guarded(cases, tools) if guarded else library(cases, tools, guarded=False)


def _guarded(cases: Sequence[Case], tools: tuple[Definition, ...]) -> list[Seen | None]:
    seen: list[Seen | None] = []
    ran = Ran()
    with TemporaryDirectory() as root, Executor.open_sync(root, policy_for(tools), store="memory") as executor:
        executor.register(*(tool(ran.function(one), effects=["read"]) for one in tools))
        for case in cases:
            outcomes = executor.run_all(case.message, finish_reason=case.finish)
            asked = any(one.status == "waiting" for one in outcomes)
            seen.append(Seen(ran.taken(), "\n".join(one.content for one in outcomes), asked))
    return seen
