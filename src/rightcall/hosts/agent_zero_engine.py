"""What the extension file in Agent Zero's folder asks of the package: every call judged by the whole engine.

Without a policy file the rules of pack `agent-zero` correct and warn, as the file does alone. With one, calls are also
recorded, and refused as it says; `[gate.hosts.agent-zero] mode` is about calls that do not fit, and `warn` unless the
file says otherwise. What it denies, limits or wants a person for holds in every mode but `observe`.
"""

import atexit
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from msgspec.json import encode

from rightcall.catalog import build_catalog
from rightcall.door import Door
from rightcall.door_passage import Passage
from rightcall.errors import ConfigError, RightCallError
from rightcall.hosts.adapting import beginning
from rightcall.hosts.agent_zero import CUT_OFF, MetaReasoningGate, agent_zero_gate, put_in_place, undeclared
from rightcall.hosts.hook_event import denies_unjudged, is_unjudged
from rightcall.text.escape import escaped

HOST = "agent-zero"

_LONGEST_SUMMARY = 2_000
_MOST_BESIDE = 500
_NO_LONGER = "Nothing was heard of it before the next call."

_gate = lru_cache(1)(agent_zero_gate)
_guards: dict[str, "Guard"] = {}  # Agent Zero makes a new extension object for every call; what they share lives here
_opening = threading.Lock()


class _Running(NamedTuple):
    passage: Passage
    began: float
    beside: str
    """What the tool got beside what was judged."""


async def before(
    agent: Any, tool_args: dict[str, Any], tool_name: str, *, policy: str | None = None, secrets: Any = None,
    cut: bool = False,
) -> str | None:  # fmt: skip
    """Correct `tool_args` in place. A text is why the call must not run, for the model.

    `secrets` masks and unmasks texts (`mask_values`, `replace_placeholders`): they stand in the arguments when this
    hook runs, and must not stand in a record. `cut`: the model's answer ended inside the call. Raises where the call
    cannot be judged.
    """
    if policy is None and cut:
        return MetaReasoningGate(agent).cut_off(tool_name)
    if policy is None:
        await MetaReasoningGate(agent, _gate()).execute(tool_args, tool_name)
        return None
    try:
        guard = _guard(policy)
    except ConfigError as error:  # nobody knows what it was to forbid
        return f"No tool may run: the policy cannot be used. {escaped(str(error))}"
    return await guard.before(agent, tool_args, tool_name, secrets, cut=cut)


async def after(agent: Any, response: Any, *, secrets: Any = None) -> None:
    """Complete the record of the call that this agent made last."""
    for guard in tuple(_guards.values()):
        guard.after(agent, _masked(secrets, str(getattr(response, "message", ""))))


def tool_named(name: str, known: Iterable[str]) -> str | None:
    """The one tool among `known` that a name means which none of them has; None where that is not certain."""
    try:
        found = build_catalog([{"name": tool, "parameters": {"type": "object"}} for tool in known]).find(name)
    except RightCallError:
        return None
    return None if found.tool is None else found.tool.name


def close() -> None:
    """Everything is on disk; the next call opens anew."""
    with _opening:
        while _guards:
            _guards.popitem()[1].door.close()


def _guard(policy: str) -> "Guard":
    guard = _guards.get(policy)
    if guard is None:
        with _opening:
            if policy not in _guards:
                _guards[policy] = Guard(policy)
            guard = _guards[policy]
    return guard


atexit.register(close)


class Guard:
    """One policy file in one Agent Zero: its door, and the calls that are under way."""

    def __init__(self, policy: str) -> None:
        self.door = Door.open(HOST, policy, packs=("agent-zero",), mode="warn", fixed_names=True)
        self._running: WeakKeyDictionary[Any, _Running] = WeakKeyDictionary()
        self._servers: Any = None

    async def before(
        self, agent: Any, tool_args: dict[str, Any], tool_name: str, secrets: Any, *, cut: bool = False
    ) -> str | None:
        self._end(agent, ok=False, error=_NO_LONGER)  # Agent Zero does not tell of a tool that raised
        space, name = self._place(tool_name)
        written = {key: _masked(secrets, value) for key, value in tool_args.items()}
        aside = frozenset[str]() if cut else self._undeclared(space, name, written)
        judged = {key: value for key, value in written.items() if key not in aside}
        context = getattr(getattr(agent, "context", None), "id", None)
        passage = await self.door.ajudge(
            name, beginning(written) if cut else judged, context=None if context is None else str(context), space=space
        )
        if cut and not passage.observed:
            self.door.ended(passage, ok=False, error=CUT_OFF)
            return MetaReasoningGate(agent).cut_off(tool_name)
        if passage.action != "allow":
            return self._refused(agent, passage)
        if passage.changed and not cut:
            kept = {key: tool_args[key] for key in aside}
            put_in_place(tool_args, {**_unmasked(secrets, passage.arguments, written, tool_args), **kept})
        beside = encode({key: written[key] for key in sorted(aside)}, enc_hook=str).decode() if aside else ""
        self._running[agent] = _Running(passage, time.monotonic(), beside and f"Also given: {beside[:_MOST_BESIDE]}. ")
        if not passage.observed:
            known = None if space else _gate().catalog.get(name)
            await MetaReasoningGate(agent).tell(
                tool_name, passage.verdict, {} if known is None else known.rules.aliases
            )
        return None

    def _undeclared(self, space: str, name: str, written: dict[str, Any]) -> frozenset[str]:
        """Only of Agent Zero's own tools, which take any keyword; those of servers say what they take."""
        gate = self.door.gate()
        return frozenset() if space or gate.catalog.get(name) is None else undeclared(gate.check(name, written))

    def after(self, agent: Any, answer: str) -> None:
        self._end(agent, ok=True, summary=answer[:_LONGEST_SUMMARY], answer=answer)

    def _refused(self, agent: Any, passage: Passage) -> str | None:
        """Where the call could not be recorded or judged, `on_failure` decides."""
        here = self.door.policy.hosts[HOST]
        stops = denies_unjudged(here.on_failure, here.mode)
        if is_unjudged(passage.decision.rule) and not stops:
            MetaReasoningGate(agent).passed(passage.decision.reason)
            return None
        return passage.message

    def _end(
        self, agent: Any, *, ok: bool, summary: str = "", error: str | None = None, answer: str | None = None
    ) -> None:
        last = self._running.pop(agent, None)
        if last is not None:
            seconds = time.monotonic() - last.began
            summary = last.beside + summary
            self.door.ended(last.passage, ok=ok, summary=summary, error=error, seconds=seconds, answer=answer)

    def _place(self, tool_name: str) -> tuple[str, str]:
        """Server and tool of `files.read_file`, where Agent Zero has such a server; its schema is then known too."""
        if "." not in tool_name:
            return "", tool_name
        servers = _mcp_tools()
        if servers != self._servers:
            for server, tools in servers.items():
                self.door.know(tools, space=server)
            self._servers = servers
        server, _, name = tool_name.partition(".")
        return (server, name) if any(tool["name"] == name for tool in servers.get(server, ())) else ("", tool_name)


def _mcp_tools() -> dict[str, list[dict[str, Any]]]:
    """The tools of Agent Zero's MCP servers, by server."""
    found: dict[str, list[dict[str, Any]]] = {}
    for module in ("helpers.mcp_handler", "python.helpers.mcp_handler"):
        handler: Any = sys.modules.get(module)
        if handler is None:
            continue
        for named in handler.MCPConfig.get_instance().get_tools():
            for tool in cast("dict[str, dict[str, Any]]", named).values():
                schema = tool.get("input_schema") or {"type": "object"}
                told = {"name": tool["name"], "description": tool.get("description") or "", "parameters": schema}
                found.setdefault(str(tool["server"]), []).append(told)
    return found


def _masked(secrets: Any, value: Any) -> Any:
    """As the model wrote it: Agent Zero unmasks the texts of the first level only."""
    return secrets.mask_values(value) if secrets is not None and isinstance(value, str) else value


def _unmasked(
    secrets: Any, corrected: Mapping[str, Any], written: Mapping[str, Any], tool_args: Mapping[str, Any]
) -> dict[str, Any]:
    """The corrected arguments with what the tool needs to run; what was not corrected is what it was."""
    return {
        key: tool_args[key]
        if key in written and written[key] == value and type(written[key]) is type(value)
        else secrets.replace_placeholders(value)
        if secrets is not None and isinstance(value, str)
        else value
        for key, value in corrected.items()
    }
