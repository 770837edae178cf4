"""Whether both evaluators say the same of a random case."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from rightcall.policy.decide import decide
from rightcall.policy.settings import Settings, rights_of
from support.naive_policy import verdict
from support.policy_worlds import START, ours, policy, request, settings_of, tables_of, world


class Case(NamedTuple):
    policy: dict[str, Any]
    settings: Settings
    """The same policy as the package reads it."""
    request: dict[str, Any]
    world: dict[str, Any]


def rounds(chance: random.Random, *, policies: int, requests: int) -> Iterator[Case]:
    for _ in range(policies):
        rules = policy(chance)
        settings = settings_of(rules)
        asked = [request(chance) for _ in range(requests)]
        for one in asked:
            yield Case(rules, settings, one, world(chance, asked, one))


def disagreement(case: Case) -> str | None:
    """What they say, where that differs."""
    tables = tables_of(case.world, case.settings)
    decision = decide(ours(case.request, rights_of(case.settings, case.request["caller"]), START), tables)
    expected = verdict(case.policy, case.request, case.world)
    if (decision.kind, decision.rule) == expected:
        return None
    return f"the package says {decision.kind} by {decision.rule}, the obvious one {expected}: {case}"
