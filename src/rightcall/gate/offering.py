"""The tools that somebody else offers: a client of the proxy, a server, a framework. What of their definitions can be
checked against, and which packs and rules of the policy are about them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar, cast

from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.packs import available_packs, load_pack
from rightcall.catalog.tool import Pack, PackTool
from rightcall.errors import RightCallError, ToolError
from rightcall.policy.settings import Policy
from rightcall.types import Rules

log = logging.getLogger("rightcall")

ASKED_FOR = frozenset({"guardrail"})
"""Packs that are stricter than their tools' schemas, and so hold only where somebody asks for them."""


def suited(policy: Policy, offered: Mapping[str, frozenset[str]]) -> tuple[Policy, list[Pack]]:
    """The policy and the packs, as far as they are about these tools; `offered` has the arguments of each by name."""
    automatic = (name for name in available_packs() if name not in ASKED_FOR)
    packs = [pack for name in (*automatic, *policy.packs) if (pack := _fitting(name, offered)).tools]
    return replace(policy, packs=(), tools=_offered(policy.tools, offered)), packs


def demanded(tool: PackTool) -> PackTool:
    """What a pack demands of a call, for a tool whose definition nobody has seen: what must be there, and how long it
    must be. Nothing that would change the call, or say what the tool does."""
    said = tool.rules
    rules = Rules(
        required=said.required, required_any=said.required_any, required_unless=said.required_unless,
        min_length=said.min_length, example=said.example, batch=said.batch, mode=said.mode, unknown_argument="keep",
    )  # fmt: skip
    return PackTool(tool.name, rules=rules, pack=tool.pack)


def describe_fault(fault: Exception) -> str:
    """An error in a line that nothing a client wrote can break."""
    return escaped(f"{type(fault).__name__}: {fault}", 300)


def readable(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that can be checked against. The others are unknown to the gate: their calls pass. Of two with one name
    nobody can say which is meant."""
    names = [name_of(tool) for tool in given]
    readable: list[dict[str, Any]] = []
    for tool, name in zip(given, names, strict=True):
        try:
            if names.count(name) > 1:
                raise ToolError("two tools have this name")
            build_catalog([tool])
            readable.append(tool)
        except RightCallError as fault:
            log.warning("rightcall: calls to %s pass unchecked: %s", escaped(name, 60), describe_fault(fault))
    return readable


def functions(tools: Any) -> list[dict[str, Any]]:
    """The tools that are functions of the client's. What a provider runs itself has no schema to check against.

    >>> functions([{"type": "web_search"}, {"name": "add", "input_schema": {"type": "object"}}])
    [{'name': 'add', 'input_schema': {'type': 'object'}}]
    """
    given = cast("list[Any]", tools) if isinstance(tools, list) else []
    found = [cast("dict[str, Any]", tool) for tool in given if isinstance(tool, dict)]
    return [tool for tool in found if name_of(tool) and _schema(tool) is not None]


def name_of(tool: Mapping[str, Any]) -> str:
    name = _inner(tool).get("name")
    return name if isinstance(name, str) else ""


def arguments_of(tool: Mapping[str, Any]) -> frozenset[str]:
    schema = _schema(tool)
    properties = cast("dict[str, Any]", schema).get("properties") if isinstance(schema, dict) else None
    return frozenset(cast("dict[str, Any]", properties)) if isinstance(properties, dict) else frozenset()


def _inner(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return cast("dict[str, Any]", function) if isinstance(function, dict) else tool


def _schema(tool: Mapping[str, Any]) -> Any:
    inner = _inner(tool)
    if inner is not tool or inner.get("type") == "function":
        return inner.get("parameters") or inner.get("input_schema") or {}  # a function without parameters takes none
    return next((inner[key] for key in ("input_schema", "inputSchema", "parameters") if key in inner), None)


def _fitting(name: str, offered: Mapping[str, frozenset[str]]) -> Pack:
    """What a pack says of the tools that are offered. Another tool of the same name has other arguments: one counts
    as the pack's only if it has all that the pack's own schema requires."""
    pack = load_pack(name)
    return replace(pack, tools=tuple(tool for tool in pack.tools if _is_offered(tool, offered)))


def _is_offered(tool: PackTool, offered: Mapping[str, frozenset[str]]) -> bool:
    arguments = offered.get(tool.name)
    return arguments is not None and has_required(tool, arguments)


def has_required(tool: PackTool, arguments: frozenset[str]) -> bool:
    """Whether a tool with these arguments has all that a pack's tool requires."""
    required = cast("list[str]", (tool.schema or {}).get("required") or [])
    return arguments.issuperset((*required, *tool.rules.required))


def _offered(tools: Mapping[str, PackTool], offered: Mapping[str, frozenset[str]]) -> Mapping[str, PackTool]:
    return {name: tool for name, tool in tools.items() if tool.name in offered}


# ── kept results ──
# What was worked out of the tools there are, kept for whoever asks again: which of them a caller may use, say.

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 100
"""Answers that are kept. With more, all are forgotten, which costs no more than to work them out again."""


class Kept(Generic[K, V]):
    """Answers by who asks. Each holds as long as what it was made of: the very same object, or one that is equal."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._answers: dict[K, tuple[object, V]] = {}

    def has(self, key: K, of: object) -> bool:
        return self._find(key, of) is not None

    def get(self, key: K, of: object, make: Callable[[], V]) -> V:
        """The answer that is known, or the one that is made now."""
        known = self._find(key, of)
        if known is None:
            known = of, make()
            if key not in self._answers and len(self._answers) >= self._most:
                self._answers.clear()
            self._answers[key] = known
        return known[1]

    def _find(self, key: K, of: object) -> tuple[object, V] | None:
        known = self._answers.get(key)
        return known if known is not None and (known[0] is of or known[0] == of) else None
