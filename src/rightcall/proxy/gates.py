"""A gate for the tools of each request. Clients send the same tools again and again: it is built once for each set."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from rightcall.catalog import PackTool, build_catalog
from rightcall.config import HostSettings, Policy
from rightcall.errors import RightCallError, ToolError
from rightcall.gate import Gate
from rightcall.packs import Pack, available_packs, load_pack
from rightcall.stats import Counter, statistics
from rightcall.text.escape import escaped

log = logging.getLogger("rightcall")

HOST = "proxy"
"""What the policy file calls this door: `[gate.hosts.proxy]`."""

MOST = 128
"""Gates that are kept."""
MOST_BYTES = 8_000_000
"""Of the definitions of their tools. What is compiled from them takes some thirty times as much."""
MOST_NAMES = 1000
"""Tools of gates that are gone, whose calls are still counted by name."""

ASKED_FOR = frozenset({"guardrail"})
"""Packs that are stricter than their tools' schemas, and so hold only where somebody asks for them."""


class Gates:
    """The gates of one upstream."""

    def __init__(self, policy: Policy, provider: str, *, pass_unknown: bool = True) -> None:
        self.watches = watches(policy)
        """Whether nothing may be changed, as the policy says of this door."""
        self.policy = _for_proxy(policy, pass_unknown=pass_unknown)
        self.provider = provider
        self._kept: OrderedDict[bytes, Gate | None] = OrderedDict()
        self._bytes = 0
        self._past: dict[str, Counter] = {}
        self._lock = threading.Lock()

    def of(self, tools: bytes) -> Gate | None:
        """The gate for a list of tools, as it stood in a request; None where there is nothing to check against: no
        tools, or definitions that nobody can read, which are the client's and the server's affair."""
        with self._lock:
            if tools in self._kept:
                self._kept.move_to_end(tools)
                return self._kept[tools]
        gate = self._build(tools)
        with self._lock:
            if tools in self._kept:  # somebody else was faster
                return self._kept[tools]
            self._kept[tools] = gate
            self._bytes += len(tools)
            while len(self._kept) > MOST or (self._bytes > MOST_BYTES and len(self._kept) > 1):
                oldest, gone = self._kept.popitem(last=False)
                self._bytes -= len(oldest)
                self._remember(gone)
        return gate

    def knows(self, tools: bytes) -> bool:
        """Whether the gate for these tools is at hand; else it has to be built."""
        return tools in self._kept

    def stats(self) -> dict[str, Any]:
        """The counts of all gates together, those that are gone included."""
        with self._lock:
            total = {name: list(counter) for name, counter in self._past.items()}
            for gate in self._kept.values():
                _add(total, gate)
        return statistics(self.provider, total)

    def _remember(self, gate: Gate | None) -> None:
        _add(self._past, gate)
        for name in list(self._past)[MOST_NAMES:]:
            kept = self._past.setdefault("(other)", [0] * len(self._past[name]))
            if name != "(other)":
                gone = self._past.pop(name)
                self._past["(other)"] = [one + more for one, more in zip(kept, gone, strict=True)]

    def _build(self, tools: bytes) -> Gate | None:
        try:
            given = functions(msgspec.json.decode(tools)) if tools else []
            if not given:
                return None
            offered = {_name(tool): _arguments(tool) for tool in given}
            policy = replace(self.policy, packs=(), tools=_offered(self.policy.tools, offered))
            packs = [pack for name in (*_automatic(), *self.policy.packs) if (pack := _fitting(name, offered)).tools]
            try:
                return Gate(given, policy, packs, self.provider, host=HOST)
            except RightCallError:
                readable = _readable(given)
                return Gate(readable, policy, packs, self.provider, host=HOST) if readable else None
        except (RightCallError, msgspec.MsgspecError, UnicodeError, ValueError, TypeError, RecursionError) as fault:
            log.warning(
                "rightcall: the tools of a request cannot be read, so its calls pass unchecked: %s", told(fault)
            )
            return None


def told(fault: Exception) -> str:
    """An error in a line that nothing a client wrote can break."""
    return escaped(f"{type(fault).__name__}: {fault}", 300)


def _readable(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that can be checked against. The others are unknown to the gate: their calls pass. Of two with one name
    nobody can say which is meant."""
    names = [_name(tool) for tool in given]
    readable: list[dict[str, Any]] = []
    for tool, name in zip(given, names, strict=True):
        try:
            if names.count(name) > 1:
                raise ToolError("two tools have this name")
            build_catalog([tool])
            readable.append(tool)
        except RightCallError as fault:
            log.warning("rightcall: calls of %s pass unchecked: %s", escaped(name, 60), told(fault))
    return readable


def functions(tools: Any) -> list[dict[str, Any]]:
    """The tools that are functions of the client's. What a provider runs itself has no schema to check against.

    >>> functions([{"type": "web_search"}, {"name": "add", "input_schema": {"type": "object"}}])
    [{'name': 'add', 'input_schema': {'type': 'object'}}]
    """
    given = cast("list[Any]", tools) if isinstance(tools, list) else []
    found = [cast("dict[str, Any]", tool) for tool in given if isinstance(tool, dict)]
    return [tool for tool in found if _name(tool) and _schema(tool) is not None]


def _inner(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return cast("dict[str, Any]", function) if isinstance(function, dict) else tool


def _name(tool: Mapping[str, Any]) -> str:
    name = _inner(tool).get("name")
    return name if isinstance(name, str) else ""


def _schema(tool: Mapping[str, Any]) -> Any:
    inner = _inner(tool)
    if inner is not tool or inner.get("type") == "function":
        return inner.get("parameters") or inner.get("input_schema") or {}  # a function without parameters takes none
    return inner.get("input_schema", inner.get("parameters"))


def _arguments(tool: Mapping[str, Any]) -> frozenset[str]:
    schema = _schema(tool)
    properties = cast("dict[str, Any]", schema).get("properties") if isinstance(schema, dict) else None
    return frozenset(cast("dict[str, Any]", properties)) if isinstance(properties, dict) else frozenset()


def _automatic() -> tuple[str, ...]:
    return tuple(name for name in available_packs() if name not in ASKED_FOR)


def _fitting(name: str, offered: Mapping[str, frozenset[str]]) -> Pack:
    """What a pack says of the tools that are offered. Another tool of the same name has other arguments: one counts
    as the pack's only if it has all that the pack's own schema requires."""
    pack = load_pack(name)
    return replace(pack, tools=tuple(tool for tool in pack.tools if _is_offered(tool, offered)))


def _is_offered(tool: PackTool, offered: Mapping[str, frozenset[str]]) -> bool:
    arguments = offered.get(tool.name)
    if arguments is None:
        return False
    schema = tool.schema or {}
    required = cast("list[str]", schema.get("required") or [])
    return arguments.issuperset((*required, *tool.rules.required))


def _offered(tools: Mapping[str, PackTool], offered: Mapping[str, frozenset[str]]) -> Mapping[str, PackTool]:
    return {name: tool for name, tool in tools.items() if tool.name in offered}


def watches(policy: Policy) -> bool:
    """Whether the policy says of the proxy what `--observe` says."""
    here = policy.hosts.get(HOST) or HostSettings()
    return (here.mode or policy.mode) == "observe"


def _for_proxy(policy: Policy, *, pass_unknown: bool) -> Policy:
    """The policy, with this door's default for tools that nobody knows: they pass, unless the file says otherwise.
    Where it only watches, calls are judged as if it did not: what would have been done is to be told."""
    here = policy.hosts.get(HOST) or HostSettings()
    if watches(policy):
        here = replace(here, mode="block")
    if here.unknown_tool is None and pass_unknown:
        here = replace(here, unknown_tool="pass")
    return replace(policy, hosts={**policy.hosts, HOST: here})


def _add(total: dict[str, Counter], gate: Gate | None) -> None:
    for name, counter in gate.counters.items() if gate is not None else ():
        kept = total.setdefault(name, [0] * len(counter))
        for at, number in enumerate(counter):
            kept[at] += number
