"""A gate for the tools of each request. Clients send the same tools again and again: it is built once for each set."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.config import HostSettings, Policy
from rightcall.errors import RightCallError
from rightcall.gate import Gate
from rightcall.packs import Pack, available_packs, load_pack
from rightcall.stats import Counter, statistics

HOST = "proxy"
"""What the policy file calls this door: `[gate.hosts.proxy]`."""

MOST = 128
"""Gates that are kept."""

ASKED_FOR = frozenset({"guardrail"})
"""Packs that are stricter than their tools' schemas, and so hold only where somebody asks for them."""


class Gates:
    """The gates of one upstream."""

    def __init__(self, policy: Policy, provider: str, *, pass_unknown: bool = True) -> None:
        self.policy = _for_proxy(policy, pass_unknown=pass_unknown)
        self.provider = provider
        self._kept: OrderedDict[bytes, Gate | None] = OrderedDict()
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
            self._kept[tools] = gate
            if len(self._kept) > MOST:
                self._remember(self._kept.popitem(last=False)[1])
        return gate

    def stats(self) -> dict[str, Any]:
        """The counts of all gates together, those that are gone included."""
        with self._lock:
            total = {name: list(counter) for name, counter in self._past.items()}
            for gate in self._kept.values():
                _add(total, gate)
        return statistics(self.provider, total)

    def _remember(self, gate: Gate | None) -> None:
        _add(self._past, gate)

    def _build(self, tools: bytes) -> Gate | None:
        try:
            given = functions(msgspec.json.decode(tools)) if tools else []
            if not given:
                return None
            offered = {_name(tool): _arguments(tool) for tool in given}
            policy = replace(self.policy, packs=(), tools=_offered(self.policy.tools, offered))
            packs = [pack for name in (*_automatic(), *self.policy.packs) if (pack := _fitting(name, offered)).tools]
            return Gate(given, policy, packs, self.provider, host=HOST)
        except (RightCallError, msgspec.MsgspecError, UnicodeError, ValueError, TypeError, RecursionError):
            return None


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


def _for_proxy(policy: Policy, *, pass_unknown: bool) -> Policy:
    """The policy, with this door's default for tools that nobody knows: they pass, unless the file says otherwise."""
    here = policy.hosts.get(HOST) or HostSettings()
    if here.unknown_tool is None and pass_unknown:
        here = replace(here, unknown_tool="pass")
    return replace(policy, hosts={**policy.hosts, HOST: here})


def _add(total: dict[str, Counter], gate: Gate | None) -> None:
    for name, counter in gate.counters.items() if gate is not None else ():
        kept = total.setdefault(name, [0] * len(counter))
        for at, number in enumerate(counter):
            kept[at] += number
