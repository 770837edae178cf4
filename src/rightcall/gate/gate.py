"""The gate: given a tool and whatever a model wrote as arguments, a call that fits the tool, or a refusal.

    direct: the arguments fit ─▶ the same object comes back, nothing else happens
    judge:  reading ─▶ normalise ─▶ validate, in `judge.py`

Synchronous, without I/O, and it never raises because of what a model wrote.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec
from msgspec.structs import replace

from rightcall import LateLog, suggest_keywords
from rightcall.base.json.marks import NAMES, REPAIRING
from rightcall.base.json.strict import duplicate_keys, is_plain, unsound
from rightcall.base.text import escaped
from rightcall.catalog.catalog import Catalog, build_catalog
from rightcall.catalog.packs import load_pack, packs_about
from rightcall.catalog.schema import RESERVED_KEYS
from rightcall.catalog.sources import flatten
from rightcall.catalog.tool import Pack, PackTool, Tool
from rightcall.errors import ConfigError, RightCallError, ToolError
from rightcall.policy.settings import HostSettings, Policy
from rightcall.policy.watch import load_policy
from rightcall.types import Call, Event, Place, Problem, Reading, ReasoningMode, Rules, StrategyName, Verdict

if TYPE_CHECKING:
    from rightcall.base.telemetry import Telemetry
    from rightcall.gate.judge import Terms
    from rightcall.gate.last_resort import Attempt, LastResort
    from rightcall.gate.recover.window import Format
    from rightcall.gate.repair.arguments import ToolRepair
    from rightcall.gate.stream import Stream

# ── stats ──
# Counts of calls by strategy, in the shape that the argument normaliser's design gives them.

Counter = list[int]
"""One number per strategy, in their order."""


def statistics(provider: str, counters: Mapping[str, Counter]) -> dict[str, Any]:
    """The figures of all tools together, and under `tools` of each one that was called."""
    total = [sum(column) for column in zip(*counters.values(), strict=True)] or [0] * len(NAMES)
    tools = {name: _figures(counter) for name, counter in counters.items() if any(counter)}
    return {"provider": provider, **_figures(total), "tools": tools}


def _figures(counter: Counter) -> dict[str, Any]:
    calls, failures = sum(counter), counter[-1]
    return {
        "total_calls": calls,
        "normalizations": {name: n for name, n in zip(NAMES, counter, strict=True) if n or name != "llm"},
        "failures": failures,
        "success_rate": (calls - failures) / max(calls, 1) * 100 if calls else 100.0,
    }


log = LateLog()

_decode = msgspec.json.decode
_RESERVED = frozenset(RESERVED_KEYS)
_INFO = 20  # as `logging` has it
_UNREAD = "⚠️ The output could not be read, and no call of it ran. Do not repeat it. Tell the user."
_SHALLOW = 2
"""Levels below the arguments that are looked at the quick way."""


class Gate:
    """Checks tool calls against a catalogue of tools.

    >>> gate = Gate([{"name": "forecast", "parameters": {"type": "object", "required": ["city"],
    ...     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}])
    >>> gate.check("forecast", "{'city': 'Bern', 'days': 'three',}").call.arguments
    {'city': 'Bern', 'days': 3}
    >>> gate.check("forecast", {"days": 3}).hint
    '⚠️ Invalid forecast call. Missing required fields: city. Example: {"city": "<city>", "days": 3}'

    `tools` are dicts in the shape of OpenAI, Anthropic or MCP, Python functions, models, or a TOML file; `policy` a
    path, a dict of the same shape, or None; `packs` names of rule packs, paths or loaded ones; `provider` whose
    settings hold.
    `on_event` receives every `Event`; `repairs` maps a tool's name to a function that mends its arguments.
    `reasoning="open"` says that the prompt ends inside of the model's reasoning, so that calls before its closing tag
    do not count; without it the policy's word on the `model` and the provider holds.
    `last_resort`, such as `rightcall.models.RepairModel()`, asks the model of `[gate.llm]` about calls that no strategy
    can repair. Only `acheck`, `aread` and `rescue` use it.

    A gate can be copied and pickled: the other one has the same tools, policy and rules, and counts from zero.
    """

    @suggest_keywords
    def __init__(
        self,
        tools: Iterable[Any] | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        policy: str | os.PathLike[str] | Mapping[str, Any] | Policy | None = None,
        packs: Iterable[str | Pack] = (),
        provider: str | None = None,
        *,
        host: str | None = None,
        on_event: Callable[[Event], object] | None = None,
        repairs: Mapping[str, ToolRepair] | None = None,
        formats: Iterable[Format] = (),
        reasoning: ReasoningMode | None = None,
        model: str | None = None,
        last_resort: LastResort | None = None,
    ) -> None:
        self.policy = load_policy(policy)
        self.provider = provider or "unknown"
        self.reasoning: ReasoningMode = _reasoning(reasoning) or self.policy.reasoning_for(provider, model)
        self.host = host
        given = (packs,) if isinstance(packs, str) else tuple(packs)
        names = dict.fromkeys((*self.policy.packs, *(pack for pack in given if not isinstance(pack, Pack))))
        loaded = (*map(load_pack, names), *(pack for pack in given if isinstance(pack, Pack)))
        here = self.policy.hosts.get(host or "") or HostSettings()
        overlays = tuple(_under(here, tool) for pack in loaded for tool in pack.tools)
        unknown = here.unknown_argument or self.policy.unknown_argument
        defined = [tool if isinstance(tool, dict) else tool[0] for tool in flatten(tools)]
        self.catalog: Catalog = build_catalog(
            defined, (*overlays, *self.policy.tools.values()), unknown_argument=unknown
        )
        self._given: dict[str, Any] = {
            "tools": defined, "packs": given, "provider": provider, "host": host, "reasoning": reasoning,
            "model": model,
        }  # fmt: skip
        self.inside: Catalog = self.catalog
        """What calls inside a batch are held against: a door knows rules of more tools than are listed to it."""
        self._max_text = self.policy.max_text
        self._on_event = on_event
        self.last_resort = last_resort
        self._repairs = dict(repairs or {})
        self.formats = _formats(formats)
        self._open_stream: Callable[[bool], Stream] | None = None
        self._counters: dict[str, Counter] = {}
        self.plain: dict[str, tuple[Callable[[Any], bool], Counter, bool]] = {}
        """By tool: the check of arguments that need nothing, the counts, and whether more has to be looked for."""
        self._uncompiled: dict[str, Tool] = {}
        for name, tool in self.catalog.tools.items():
            if tool.is_decidable:
                self._counter(name)
                if tool.check.is_made:
                    self._make_ready(tool)
                else:
                    self._uncompiled[name] = tool

    @cached_property
    def telemetry(self) -> Telemetry:
        """What follows the functions that run after its check; as policy and environment said at the first of them."""
        from rightcall.base.telemetry.spans import telemetry_for  # late: checking needs none

        return telemetry_for(self.policy.telemetry.enabled)

    def check(self, name: str, arguments: Any, *, call_id: str | None = None) -> Verdict:
        """The verdict on one call. `arguments` may be a dict, JSON or broken text; whatever it is, nothing is raised.

        >>> Gate().check("anything", '{"a": 1}').ok
        True
        """
        try:
            accepts, counter, is_open = self.plain[name]
            if type(arguments) is dict:
                if accepts(arguments) and (not is_open or self.is_sound(arguments)):
                    counter[0] += 1
                    call = Call(name, arguments, call_id)
                    return Verdict(True, call, call)
            elif type(arguments) is str and len(arguments) <= self._max_text:
                value = _decode(arguments)
                if (
                    accepts(value)
                    and (arguments.count(":") == len(value) or not duplicate_keys(arguments, value))
                    and (not is_open or self.is_sound(value))
                ):
                    counter[0] += 1
                    call = Call(name, value, call_id)
                    return Verdict(True, call, call)
        except Exception:  # noqa: BLE001 - not plainly right: the slow path finds out why, and says it
            pass
        return self._judged(name, arguments, call_id)

    def read(self, message: Any, finish_reason: str | None = None) -> Reading:
        """Every call in a text or in a native message, in order, each with its verdict; and the prose that is left.

        >>> reading = Gate().read('On it. <tool_call>{"name": "forecast", "arguments": {"city": "Bern"}}</tool_call>')
        >>> reading.text, reading.calls[0].call.arguments
        ('On it. ', {'city': 'Bern'})

        `finish_reason` is what the model's API said of the end; `length` means that the token limit cut it off.
        """
        if type(message) is str:
            return self.stream().read(message, finish_reason)
        from rightcall.gate.stream import read_message

        return read_message(self.stream, self.check, message, finish_reason)

    async def acheck(self, name: str, arguments: Any, *, call_id: str | None = None) -> Verdict:
        """As `check`; where no strategy helps, the last resort is asked."""
        return await self.rescue(self.check(name, arguments, call_id=call_id))

    async def aread(self, message: Any, finish_reason: str | None = None) -> Reading:
        """As `read`; where no strategy helps, the last resort is asked about the call."""
        reading = self.read(message, finish_reason)
        if self.last_resort is None or all(verdict.ok for verdict in reading.calls):
            return reading
        return replace(reading, calls=tuple([await self.rescue(verdict) for verdict in reading.calls]))

    async def rescue(self, verdict: Verdict, hear: Callable[[Attempt], object] | None = None) -> Verdict:
        """The verdict on the same call after the last resort was asked; the same one where there is none, or where it
        does not help. `hear` is told of an attempt, for the record."""
        policy, asking = self.policy, self.last_resort
        if verdict.ok or asking is None or policy.llm is None or not policy.for_provider(self.provider).enabled:
            return verdict
        from rightcall.gate.last_resort import rescue_call  # late: nearly every call is repaired or refused before it

        better, attempt = await rescue_call(verdict, self.catalog, policy, asking, self._judge_quietly)
        if attempt is not None and hear is not None:
            hear(attempt)
        if better is not verdict and better.call is not None:
            counter = self._counter(better.call.name)
            counter[NAMES.index("failed")] -= counter[NAMES.index("failed")] > 0
            counter[NAMES.index("llm")] += 1
            self._tell(better.call.name, better, better.call.id)
        return better

    def _judge_quietly(self, name: str, arguments: Any, call_id: str | None) -> Verdict:
        """The verdict on an answer of the last resort, which is no call of its own."""
        from rightcall.gate.judge import judge

        return judge(name, arguments, self._terms(), call_id)

    def read_many(self, messages: Iterable[Any], finish_reason: str | None = None) -> list[Reading]:
        """What `read` says of each text or message, in order. One that cannot be read does not stop the others: its
        reading holds a refusal with the problem `fault`.

        >>> [len(reading.calls) for reading in Gate().read_many(["Hello.", '{"name": "add", "arguments": {}}'])]
        [0, 1]
        """
        return [self._read_one(message, finish_reason) for message in several(messages)]

    def stream(self, reasoning: ReasoningMode | None = None) -> Stream:
        """The same for a text that is still coming: `push` each piece, then `close`.

        >>> feed = Gate().stream()
        >>> feed.push("The sky is ") + feed.push("blue.") + feed.close()
        ['The sky is ', 'blue.']

        `reasoning` has the last word on whether this text begins inside of the model's reasoning.
        """
        if self._open_stream is None:
            from rightcall.gate.stream import streams  # late: a gate that only checks never needs it

            self._open_stream = streams(
                self.formats, self.catalog, self.policy, self.check, self._strategies, self._report
            )
        return self._open_stream((reasoning or self.reasoning) == "open")

    def repair(self, tool: str) -> Callable[[ToolRepair], ToolRepair]:
        """Register a repair for one tool: a function from its arguments to the mended ones.

        >>> gate = Gate([{"name": "cut", "parameters": {"type": "object", "properties": {"cm": {"type": "integer"}}}}])
        >>> @gate.repair("cut")
        ... def metres(arguments):
        ...     return {"cm": arguments["metres"] * 100} if "metres" in arguments else None
        >>> gate.check("cut", {"metres": 2}).call.arguments
        {'cm': 200}
        """

        def register(function: ToolRepair) -> ToolRepair:
            self._repairs[tool] = function
            return function

        return register

    def stats(self) -> dict[str, Any]:
        """Counts by strategy, for all calls and for each tool, in the shape of the argument normaliser's design.

        >>> Gate(provider="ollama").stats()["success_rate"]
        100.0
        """
        return statistics(self.provider, self._counters)

    def __copy__(self) -> Gate:
        return type(self)(**self._arguments())

    def __deepcopy__(self, memo: dict[int, Any]) -> Gate:
        from copy import deepcopy

        arguments = self._arguments()
        return type(self)(**arguments | {"tools": deepcopy(arguments["tools"], memo)})

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self._arguments()
        if self.inside is not self.catalog:
            raise TypeError(
                "the Gate of a host's integration cannot be pickled: pickle one that you built with Gate(…)"
            )
        callables = {"on_event": self._on_event, **{f"repairs[{name!r}]": one for name, one in self._repairs.items()}}
        for what, function in callables.items():
            if function is not None and not _is_importable(function):
                raise TypeError(
                    f"a Gate with `{what}` = {function!r:.80} cannot be pickled: another process cannot import that "
                    "function. Define it with `def` at the top of a module, or build the Gate in the other process"
                )
        if self.last_resort is not None:
            raise TypeError("a Gate with `last_resort` cannot be pickled: build it in the other process")
        if self.formats:
            names = ", ".join(one.name for one in self.formats)
            raise TypeError(f"a Gate with `formats` ({names:.80}) cannot be pickled: build it in the other process")
        return _rebuild, (type(self), arguments)

    def _arguments(self) -> dict[str, Any]:
        """What makes the same gate again. The policy is the one in force, not the file as it is by now."""
        callables = {
            "on_event": self._on_event, "repairs": dict(self._repairs), "formats": self.formats,
            "last_resort": self.last_resort,
        }  # fmt: skip
        return {**self._given, "policy": self.policy, **callables}

    def is_sound(self, arguments: Any) -> bool:
        """Where the schema leaves a place open, what no argument may hold has to be looked for."""
        deepest = self.policy.max_depth
        return is_plain(arguments, min(deepest, _SHALLOW), _RESERVED) or not unsound(arguments, deepest, _RESERVED)

    def count_direct(self, tool: Any) -> None:
        """Count a call that goes on as it came, without a look at it."""
        known = isinstance(tool, str) and tool in self.catalog.tools
        self._counter(tool if known else "(unknown)")[0] += 1

    @property
    def counters(self) -> Mapping[str, Counter]:
        """The counts themselves, by tool, for whoever adds up several gates."""
        return self._counters

    def _counter(self, tool: str) -> Counter:
        return self._counters.setdefault(tool, [0] * len(NAMES))

    def _make_ready(self, tool: Tool) -> None:
        if tool.decides is not None:
            self.plain[tool.name] = tool.decides, self._counter(tool.name), tool.open

    def _judged(self, name: Any, arguments: Any, call_id: str | None) -> Verdict:
        if issubclass(type(name), str):
            name = str.__str__(name)
            late = self._uncompiled.pop(name, None) if self._uncompiled else None
            if late is not None:
                with suppress(Exception):  # what goes wrong does so again below, and is told there
                    self._make_ready(late)
                    return self.check(name, arguments, call_id=call_id)
        from rightcall.gate.judge import judge  # late: a call that fits never needs it

        try:
            verdict = judge(name, arguments, self._terms(), call_id)
        except Exception as error:  # an error of ours must not become the host's
            label = name[:80] if isinstance(name, str) else type(name).__name__
            log.exception("rightcall: checking a call to %s failed", label)
            fault = Problem("fault", "", f"The call could not be checked: {type(error).__name__}")
            hint = f"⚠️ The call to {label} could not be checked and did not run. Do not repeat it. Tell the user."
            verdict = Verdict(False, None, problems=(fault,), hint=hint, confidence=0.0, strategy="failed")
        tool = verdict.call.name if verdict.call is not None else name if isinstance(name, str) else type(name).__name__
        counted = tool if tool in self.catalog.tools else "(unknown)"
        self._counter(counted)[NAMES.index(verdict.strategy)] += 1
        self._tell(tool, verdict, call_id)
        return verdict

    def _read_one(self, message: Any, finish_reason: str | None) -> Reading:
        try:
            return self.read(message, finish_reason)
        except Exception as error:  # an error of ours, or of an object that somebody hands in, is about it alone
            log.exception("rightcall: reading one of many texts failed")
            fault = Problem("fault", "", f"The text could not be read: {type(error).__name__}")
            verdict = Verdict(False, None, problems=(fault,), hint=_UNREAD, confidence=0.0, strategy="failed")
            self._report("", verdict)
            text = message if isinstance(message, str) else ""
            return Reading((verdict,), text, places=(Place(0, len(text), "fault"),))

    def _report(self, name: str, verdict: Verdict) -> None:
        """A refusal of what could not even be checked is counted and told like any other."""
        self._counter(name if name in self.catalog.tools else "(unknown)")[NAMES.index("failed")] += 1
        self._tell(name, verdict, None)

    def _terms(self) -> Terms:
        from rightcall.gate.judge import Terms

        return Terms(self.catalog, self.inside, self.policy, self.host, self._strategies(None), self._repairs)

    def _strategies(self, tool: Tool | None) -> frozenset[StrategyName]:
        """The strategies that the provider may need, for a tool with its own say."""
        settings = self.policy.for_provider(self.provider)
        allowed = REPAIRING if settings.strategies is None else frozenset(settings.strategies) & REPAIRING
        own = tool.rules.strategies if tool is not None else None
        if not settings.enabled:
            return frozenset()
        return allowed if own is None else allowed & frozenset(own)

    def _tell(self, tool: str, verdict: Verdict, call_id: str | None) -> None:
        """A warning event for a call that does not fit, an info event for every repair that was made."""
        from rightcall.base.text import escaped  # late: a call that fits tells nothing

        if verdict.problems:
            text = "; ".join(problem.message for problem in verdict.problems)
            places = ", ".join(f"{problem.path} {problem.code}".strip() for problem in verdict.problems)
            extra = {"event": "tool_validation_failed", "tool": tool, "problems": verdict.problems, "call_id": call_id}
            # no values: one may be a secret; and a name that a model wrote must not forge a line
            log.warning("tool_validation_failed: %s: %s", escaped(tool, 200), escaped(places, 2000), extra=extra)
            event = Event("tool_validation_failed", "warning", tool, call_id, self.provider, text, verdict.problems)
            self._send(replace(event, repairs=verdict.repairs, mode=verdict.mode))
        if verdict.ok and verdict.repairs:
            text = f"Normalized {tool} arguments via {verdict.strategy} (provider={self.provider})"
            if self.policy.log_normalizations and log.isEnabledFor(_INFO):
                log.info(escaped(text), extra={"event": "tool_call_repaired", "tool": tool, "call_id": call_id})
            event = Event("tool_call_repaired", "info", tool, call_id, self.provider, text, mode=verdict.mode)
            for repair in verdict.repairs:
                self._send(replace(event, repairs=(repair,)))

    def _send(self, event: Event) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:  # a listener of the host's must not decide over a call
            log.exception("rightcall: the event callback failed")


def _reasoning(given: ReasoningMode | None) -> ReasoningMode | None:
    if given is not None and given not in get_args(ReasoningMode):
        raise ConfigError(f"invalid `reasoning` {given!r:.60}: expected one of {', '.join(get_args(ReasoningMode))}")
    return given


def several(given: Iterable[Any]) -> Iterable[Any]:
    """What was given where many texts or messages belong. Raises TypeError for a single one, which would be read letter
    by letter, or key by key."""
    if isinstance(given, (str, bytes, Mapping)):
        kind = type(given).__name__  # pyright: ignore[reportUnknownArgumentType]
        raise TypeError(f"expected a list of texts or messages, not one {kind}: pass [it], or use `Gate.read`")
    return given


def _rebuild(kind: type[Gate], arguments: dict[str, Any]) -> Gate:
    return kind(**arguments)


def _is_importable(function: Any) -> bool:
    """Whether another process finds the same function under its name. A bound method is not: it would bring a copy of
    its object along, and whatever it is told there would be lost."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for name in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is function


def _formats(given: Iterable[Format]) -> tuple[Format, ...]:
    formats = tuple(given)
    if any(not hasattr(one, "opens") for one in formats):
        raise ConfigError("`formats` takes a list of formats: formats=[tagged('mine', '<<', '>>')]")
    return formats


def _under(host: HostSettings, tool: PackTool) -> PackTool:
    """A pack's word gives way to the policy's word on the host."""
    rules = tool.rules
    if (host.mode is None or rules.mode is None) and (host.unknown_argument is None or rules.unknown_argument is None):
        return tool
    return replace(
        tool,
        rules=replace(
            rules,
            mode=None if host.mode else rules.mode,
            unknown_argument=None if host.unknown_argument else rules.unknown_argument,
        ),
    )


# ── offering ──
# The tools that somebody else offers: a client of the proxy, a server, a framework. What of their definitions can be
# checked against, and which packs and rules of the policy are about them.

ASKED_FOR = frozenset({"guardrail"})
"""Packs that are stricter than their tools' schemas, and so hold only where somebody asks for them."""


def suited(policy: Policy, offered: Mapping[str, frozenset[str]]) -> tuple[Policy, list[Pack]]:
    """The policy and the packs, as far as they are about these tools; `offered` has the arguments of each by name."""
    automatic = (name for name in packs_about(offered) if name not in ASKED_FOR)
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
