"""The meta-reasoning gate of Agent Zero: corrects tool arguments before they run, warns, and never blocks.

Usable without Agent Zero: any object with `context.log.log(type=…, content=…)` and `hist_add_warning(text)` is an
agent. Secrets are already unmasked when this hook runs, so no text made here shows a value that came from the model,
other than the words of a declared value map (`bash`).
"""

import atexit
import contextlib
import inspect
import logging
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from msgspec.json import encode

from rightcall.base.text import escaped
from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import PackTool
from rightcall.errors import ConfigError, RightCallError
from rightcall.executor.door import Door
from rightcall.executor.passage import Passage
from rightcall.gate.gate import Gate
from rightcall.hosts.adapter import beginning
from rightcall.hosts.hooks.wires import denies_unjudged, is_unjudged
from rightcall.types import Problem, Repair, Verdict

logger = logging.getLogger(__name__)

POLICY: dict[str, Any] = {"gate": {"mode": "warn", "unknown_tool": "pass", "unknown_argument": "keep"}}
"""Warn only; leave tools and arguments alone that nobody declared: Agent Zero's tools take any keyword."""

CUT_OFF = "was truncated and did not run. Resend the complete request, shorter if needed."

SURE = 0.9
"""From here on a name is another one's; below, a person would have to say so."""


def agent_zero_gate() -> "Gate":
    """A gate with the rules of pack `agent-zero`, as `MetaReasoningGate` makes one. Keep it: it counts."""

    return Gate(packs=["agent-zero"], policy=POLICY)


class MetaReasoningGate:
    """What Agent Zero's `tool_execute_before` calls. It lives for one call there, so give it a gate that lives longer.

    >>> import asyncio
    >>> arguments = {"language": "bash", "command": "ls"}
    >>> asyncio.run(MetaReasoningGate(agent=None).execute(arguments, "code_execution_tool"))
    >>> arguments
    {'runtime': 'terminal', 'code': 'ls', 'session': 0, 'reset': False}
    """

    def __init__(self, agent: Any = None, gate: "Gate | None" = None) -> None:
        self.agent = agent
        self._gate = gate

    async def execute(self, tool_args: dict[str, Any] | None = None, tool_name: str = "", **_kwargs: Any) -> None:
        """Correct `tool_args` in place. Whatever goes wrong in here, the call goes on as it was."""
        try:
            if tool_args and tool_name:
                await self._check(tool_args, tool_name)
        except Exception as error:  # noqa: BLE001  warn-only means that no fault of ours may stop a tool
            self.passed(error)

    async def _check(self, tool_args: dict[str, Any], tool_name: str) -> None:
        if self._gate is None:
            self._gate = agent_zero_gate()
        tool = self._gate.catalog.get(tool_name)
        if tool is None:
            return  # only exact names: Agent Zero has already chosen the tool, we cannot rename it
        given = dict(tool_args)
        verdict = self._gate.check(tool_name, given)
        aside = undeclared_arguments(verdict)
        if aside:
            given = {key: value for key, value in given.items() if key not in aside}
            verdict = self._gate.check(tool_name, given)
        for fault in (problem for problem in verdict.problems if problem.code == "fault"):
            raise RuntimeError(fault.message)
        if verdict.call is not None and verdict.call.arguments is not given:
            put_in_place(tool_args, {**verdict.call.arguments, **{key: tool_args[key] for key in aside}})
        await self.tell(tool_name, verdict, tool.rules.aliases)

    async def tell(self, tool_name: str, verdict: Verdict, aliases: Mapping[str, str]) -> None:
        """What was corrected, for the log; what is wrong, also into the history, where the model reads it."""
        order = {name: place for place, name in enumerate(aliases)}  # that of the rules, as the gate's design has it
        for repair in sorted(verdict.repairs, key=lambda repair: order.get(repair.path, len(order))):
            self._log("info", f"[MetaGate] Auto-corrected {_correction(repair)}")
        for log_line, warning in _warnings(aliases, verdict.problems):
            self._log("warning", f"[MetaGate] Tool '{tool_name}' {log_line}")
            added = self.agent.hist_add_warning(escaped(f"Tool '{tool_name}' {warning}"))
            if inspect.isawaitable(added):  # a later Agent Zero may make that asynchronous
                await added

    def cut_off(self, tool_name: str) -> str:
        """Half a call, which Agent Zero's own reader has made look whole: what to tell the model."""
        self._log("warning", f"[MetaGate] Tool '{tool_name}' was cut off")
        return escaped(f"Tool '{tool_name}' {CUT_OFF}")

    def passed(self, error: object) -> None:
        """Something failed in here, and the call goes on as it was."""
        self._log("warning", f"[MetaGate] Error (passthrough): {error}")

    def _log(self, kind: str, content: str) -> None:
        try:
            self.agent.context.log.log(type=kind, content=escaped(content))
        except Exception:  # noqa: BLE001  a broken log is no reason to stop a tool either
            with contextlib.suppress(Exception):
                logger.warning("%s", escaped(content))


def undeclared_arguments(verdict: Verdict) -> frozenset[str]:
    """Arguments that nobody declared and that would be taken for others without being sure: these tools take any
    keyword, so that they stay what they are."""
    return frozenset(
        repair.path
        for repair in verdict.repairs
        if _is_renaming(repair) and repair.confidence < SURE and "." not in repair.path
    )


def put_in_place(tool_args: dict[str, Any], corrected: Mapping[str, Any]) -> None:
    """Agent Zero's tool reads the very dict that the hook was given."""
    kept = dict(corrected)
    tool_args.clear()
    tool_args.update(kept)


def _correction(repair: Repair) -> str:
    """What was corrected, in the gate's own words."""
    if repair.rule == "value_alias":
        return f"{repair.path} value '{str(repair.before).lower().strip()}' → '{repair.after}'"
    if _is_renaming(repair):
        return f"arg '{repair.before}' → '{repair.after}'"
    return f"{repair.path or 'arguments'} ({repair.rule})"


def _is_renaming(repair: Repair) -> bool:
    return isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]


def _warnings(aliases: Mapping[str, str], problems: tuple[Problem, ...]) -> Iterator[tuple[str, str]]:
    """What to say of the problems: for the log, and for the model."""
    missing = [problem.path for problem in problems if problem.code == "missing"]
    if missing:
        yield (
            f"missing required args: {missing}",
            f"is missing required arguments: {', '.join(missing)}. Check the tool usage format and retry.",
        )
    for target in missing:
        unclear = {p.path for p in problems if p.code == "ambiguous_name"}
        named = [name for name, meant in aliases.items() if meant == target and name in unclear]
        if named:
            yield (
                f"has several args for '{target}': {named}",
                f"has several arguments for {target}: {', '.join(named)}. Give only {target} and retry.",
            )
    # A name that merely might mean another is no problem here: these tools take any argument.
    wrong = [f"{p.path} ({p.code})" for p in problems if p.code not in ("missing", "ambiguous_name")]
    if wrong:
        yield (
            f"args that do not fit: {wrong}",
            f"has arguments that do not fit: {', '.join(wrong)}. Check the tool usage format and retry.",
        )


# ── the engine ──
# What the extension file in Agent Zero's folder asks of the package: every call judged by the whole engine.
#
# Without a policy file the rules of pack `agent-zero` correct and warn, as the file does alone. With one, calls are
# also recorded, and refused as it says; `[gate.hosts.agent-zero] mode` is about calls that do not fit, and `warn`
# unless the file says otherwise. What it denies, limits or wants a person for holds in every mode but `observe`.

HOST = "agent-zero"

_LONGEST_SUMMARY = 2_000
_MOST_BESIDE = 500

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
        self._end(
            agent, ok=False, error="Nothing was heard of it before the next call."
        )  # Agent Zero does not tell of a tool that raised
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
        return (
            frozenset() if space or gate.catalog.get(name) is None else undeclared_arguments(gate.check(name, written))
        )

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


# ── rules ──
# The rules of pack `agent-zero` as the extension file carries them, for where the package is not installed.
#
# `python -m rightcall.hosts.agent_zero` writes them into the file; a test fails when the two differ.

EXTENSION = Path(__file__).parent / "agent_zero_files" / "_20_meta_reasoning_gate.py"

_START = "TOOL_SCHEMAS: dict[str, dict[str, Any]] = "
_END = "# fmt: on\n"


def tool_schemas() -> dict[str, dict[str, Any]]:
    """What the pack says of each tool, in the words of the gate's design."""
    return {tool.name: _schema(tool) for tool in load_pack("agent-zero").tools}


def _schema(tool: PackTool) -> dict[str, Any]:
    rules = tool.rules
    arguments: dict[str, Any] = (tool.schema or {}).get("properties", {})
    said: dict[str, Any] = {
        "required": list(rules.required),
        "optional": [name for name in arguments if name not in rules.required],
        "conditionally_required": {
            name: {"skip_when": {other: list(values) for other, values in unless.items()}}
            for name, unless in rules.required_unless.items()
        },
        "arg_aliases": dict(rules.aliases),
        "value_aliases": {name: dict(words) for name, words in rules.values.items()},
        "defaults": dict(rules.defaults),
    }
    return {key: value for key, value in said.items() if value}


def with_rules(text: str) -> str:
    """The extension file's text, with the rules as the pack has them now."""
    start = text.index(_START) + len(_START)
    end = text.index(_END, start)
    return text[:start] + "{\n" + "".join(map(_written, tool_schemas().items())) + "}\n" + text[end:]


def _written(tool: tuple[str, dict[str, Any]]) -> str:
    name, schema = tool
    lines = wrap(f"{name!r}: {schema!r},", 118, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "".join(line + "\n" for line in lines)


if __name__ == "__main__":
    EXTENSION.write_text(with_rules(EXTENSION.read_text(encoding="utf-8")), encoding="utf-8")
