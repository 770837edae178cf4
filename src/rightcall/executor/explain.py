"""What a policy would decide of a call, by which rule, and what every other policy says. The very policies that decide
are asked, with the very request that an executor would build; nothing runs and nothing is recorded.

    toolbox_of (the tools as an executor has them) ─▶ explain ─▶ Explanation
    find_served (a server's tool, as the store remembers it) ─┘
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.executor.calls import Written
from rightcall.executor.door import Door, DoorSettings
from rightcall.executor.passage import request_of
from rightcall.executor.request import Ground, Occasion, build_request, canonical
from rightcall.executor.rights import door_rights, known_tools, tool_name
from rightcall.executor.shipped import Hands, shipped_tools
from rightcall.executor.toolbox import Equipped, Toolbox, build_toolbox, full_name, other_names
from rightcall.policy.decide import POLICIES, decide, may_use
from rightcall.policy.settings import Budgets, Policy
from rightcall.policy.types import Decision, Facts, Request, Rights, count_since
from rightcall.policy.watch import place_policy
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import remembered_tools
from rightcall.record.premises import Premises, store_path
from rightcall.record.tables import Store
from rightcall.tools.functions import LocalTool, local_tool
from rightcall.types import Call, Verdict

KNOWN_PACK = "code"
"""The pack whose tools can always be asked about."""


class Step(Struct, frozen=True):
    """What one policy says; None for nothing."""

    policy: str
    word: Decision | None
    decides: bool


class Limit(Struct, frozen=True):
    """A window that counts this call; `used` is how full it is, None when nobody looked."""

    rule: str
    calls: int
    used: int | None


class Explanation(Struct, frozen=True):
    """Everything that `explain` can say."""

    policy: Policy
    caller: str
    named: bool
    """Whether the policy has a table for this caller."""
    tool: Equipped
    rights: Rights
    decision: Decision
    steps: tuple[Step, ...]
    limits: tuple[Limit, ...]
    budgets: Budgets
    verdict: Verdict | None
    """What the gate says of the arguments; None when there were none."""
    live: bool
    """Whether the limits and approvals of a store were looked at."""


class SupposedCall(Struct, frozen=True):
    """A call that nobody makes: who would, which tool, and with what; `arguments` as they are written, None where only
    the tool is asked about."""

    caller: str
    tool: str
    arguments: str | None = None


class Served(Struct, frozen=True):
    """A tool that a door judges: of a server that the policy names, as that server listed it when it was last seen; or
    of a host itself (`server` is empty), as its hooks know it."""

    server: str
    tool: str
    tools: list[Any]
    """All of the server, or of the host."""
    host: str = "gateway"


class Beside(Struct, frozen=True):
    """A store that need not be opened: what it remembers of servers lies beside it."""

    path: str


def served_tools(policy: Policy, store: object) -> Iterator[Served]:
    """The tools of the policy's servers that a store remembers, by the servers' own names."""
    for server in policy.servers:
        tools = known_tools(remembered_tools(store, server))
        yield from (Served(server, tool_name(tool), tools) for tool in tools)


def find_served(policy: Policy, name: str, store: object) -> Served | None:
    """By its whole name, or as the gateway or a host calls it."""
    for one in served_tools(policy, store):
        prefix = policy.servers[one.server].prefix
        listed = one.tool if prefix == "" else f"{prefix or one.server}_{one.tool}"
        if name in (full_name(one.server, one.tool), listed, *other_names(one.server, one.tool)[1:]):
            return one
    return None


def toolbox_of(
    policy: Policy, file: str | None, root: str, given: Iterable[Any] = (), packs: Iterable[str] = ()
) -> Toolbox:
    """Functions and definitions that were given, the policy's packs, and the tools that ship with us as an executor
    has them: known by the same digest, and kept from the same files."""
    tools = list(given)
    ours = [one for one in tools if isinstance(one, LocalTool) or (callable(one) and not isinstance(one, type))]
    others = [one for one in tools if not any(one is other for other in ours)]
    used = tuple(dict.fromkeys((KNOWN_PACK, *packs)))
    root = os.path.abspath(root)
    policy = place_policy(policy, file, root)
    premises = Premises(root, file, store_path(policy, file, root))
    shipped = shipped_tools(premises, policy, MemoryStore, (*policy.packs, *used), Hands())
    own = {one.name: one for one in map(local_tool, ours)}
    box = build_toolbox(policy, (shipped | own).values(), others, premises.protected, packs=used)
    return replace(box, guarded=premises.guarded)


def explain(
    toolbox: Toolbox, asked: SupposedCall, store: Store, root: str, *, live: bool, served: Served | None = None
) -> Explanation:
    """`live`: limits, approvals and grants of the store count. `served`: the tool is a server's or a host's. Raises
    ConfigError for a tool that is not known and for arguments that are not JSON, StoreError when the store cannot be
    read."""
    if served is not None:
        return _explain_served(toolbox, asked, store, root, live=live, served=served)
    tool = find_tool(toolbox, asked.tool)
    verdict = None if asked.arguments is None else toolbox.gate.check(asked.tool, asked.arguments)
    rights = toolbox.rights_of(asked.caller)
    request = _request(toolbox, tool, verdict, rights, store, root)
    decision, steps, limits = store.look(lambda facts: _judged(request, facts, live=live))
    if (
        verdict is not None
        and not verdict.ok
        and may_use(rights, tool.tool.name, own=tool.own, effects=tool.tool.effects)
    ):
        decision = _invalid(verdict)
        steps = (Step("arguments", decision, True), *(Step(one.policy, one.word, False) for one in steps))
    return Explanation(
        policy=toolbox.policy,
        caller=asked.caller,
        named=asked.caller in toolbox.policy.settings.callers,
        tool=tool,
        rights=rights,
        decision=decision,
        steps=steps,
        limits=limits,
        budgets=rights.budgets_of_tools.get(tool.tool.name, rights.budgets),
        verdict=verdict,
        live=live,
    )


def _explain_served(
    toolbox: Toolbox, asked: SupposedCall, store: Store, root: str, *, live: bool, served: Served
) -> Explanation:
    """As the gateway decides, which runs the tools of the policy's servers; or as a host's hook does."""
    policy, strict = toolbox.policy, bool(served.server)
    setup: DoorSettings = {"root": root, "store": "memory", "strict": strict, "fixed_names": not strict}
    with closing(Door.open(served.host, policy, **setup)) as door:
        door.know(served.tools, served.server)
        box, here = door.box(served.server), door.here(asked.caller, served.server)
        rights = door_rights(
            door.policy, asked.caller, host=served.host, server=policy.servers.get(served.server), strict=strict,
            protected=toolbox.protected,
        )  # fmt: skip
    here, tool = replace(here, rights=rights), box.tools[served.tool]
    whole = full_name(served.server, served.tool)
    verdict = None if asked.arguments is None else box.gate.check(served.tool, asked.arguments)
    nothing = Call(served.tool, {})
    written = Written(verdict or Verdict(True, nothing, nothing), whole)
    request = request_of(here, written, tool, served.tool, Occasion(store.clock.now()))
    steps, limits = tuple[Step, ...](), tuple[Limit, ...]()
    if isinstance(request, Decision):
        decision, steps = request, (Step("arguments" if request.rule == "validation" else "tool", request, True),)
    else:
        decision, steps, limits = store.look(lambda facts: _judged(request, facts, live=live))
    return Explanation(
        policy=policy,
        caller=asked.caller,
        named=asked.caller in policy.settings.callers,
        tool=replace(
            tool,
            tool=replace(
                tool.tool, name=whole, source=f"server:{served.server}" if served.server else f"host:{served.host}"
            ),
        ),
        rights=rights.rights,
        decision=decision,
        steps=steps,
        limits=limits,
        budgets=rights.rights.budgets_of_tools.get(whole, rights.rights.budgets),
        verdict=verdict,
        live=live,
    )


def find_tool(toolbox: Toolbox, name: str, others: str = "") -> Equipped:
    """By any of its names. `others` says how to ask about tools that are not there. Raises ConfigError."""
    match = toolbox.gate.catalog.find(name)
    if match.tool is not None:
        return toolbox.tools[match.tool.name]
    near = " or ".join(f"`{escaped(one, 100)}`" for one in match.suggestions)
    told = f"did you mean {near}?" if near else ""
    more = f" ({others})" if told and others else others
    raise ConfigError(f"unknown tool `{escaped(name, 100)}`" + (f": {told}{more}" if told or more else ""))


def _request(
    toolbox: Toolbox, tool: Equipped, verdict: Verdict | None, rights: Rights, store: Store, root: str
) -> Request:
    """The request as the executor builds it; arguments that are not known, or not right, count as none."""
    call = verdict.call if verdict is not None and verdict.ok else None
    given: Any = {} if call is None else call.arguments
    try:
        exact = canonical(tool.tool.name, cast("dict[str, Any]", given) if isinstance(given, dict) else {})
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise ConfigError(f"the arguments are no JSON: {fault}") from None
    found = verdict or Verdict(True, None)
    ground = Ground(toolbox, os.path.abspath(root))
    return build_request(tool, exact, rights, found, ground, Occasion(store.clock.now()))


def _judged(request: Request, facts: Facts, *, live: bool) -> tuple[Decision, tuple[Step, ...], tuple[Limit, ...]]:
    """The decision, the word of each policy beside it, and the limits that count the call."""
    decision = decide(request, facts)
    words = [(name, policy(request, facts)) for name, policy in POLICIES]
    deciding = next((name for name, word in words if word == decision and word is not None), None)
    steps = tuple(Step(name, word, name == deciding) for name, word in words)
    return decision, steps, tuple(_limits(request, facts, live=live))


def _limits(request: Request, facts: Facts, *, live: bool) -> Iterator[Limit]:
    for scope in request.scopes:
        for calls, length, rule in scope.windows:
            used = count_since(facts, scope.name, request.at - length, calls) if live else None
            yield Limit(rule, calls, used)


def _invalid(verdict: Verdict) -> Decision:
    problems = "; ".join(problem.message for problem in verdict.problems) or "the arguments cannot be read"
    return Decision("deny", "validation", f"Validation failed: {problems}", verdict.hint)
