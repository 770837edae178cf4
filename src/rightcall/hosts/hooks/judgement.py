"""What is said to a host's event, with the whole engine: in the hook's own process, or in the server's.

event ─▶ what happened ─┬─ before ─▶ Door.judge ─▶ the host's own words
                        ├─ after  ─▶ the record is completed
                        ├─ over   ─▶ what never ended is recorded as interrupted
                        └─ trial  ─▶ Door.preview ─▶ nothing, or why calls cannot be judged
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.text import escaped
from rightcall.errors import StoreError
from rightcall.executor.door import Door, host_result
from rightcall.executor.passage import Passage
from rightcall.hosts.hooks.place import record_without_policy
from rightcall.hosts.hooks.wires import (
    CANNOT_JUDGE,
    GEMINI,
    WIRES,
    Happened,
    WrongEvent,
    as_called,
    builtin_tools,
    denies_unjudged,
    is_unjudged,
)
from rightcall.policy.settings import HostSettings
from rightcall.policy.trust import FoundPolicy
from rightcall.record.admission import finish
from rightcall.record.notes import folder_beside, remembered_servers, remembered_tools, shelf_of
from rightcall.record.tables import EndBody, Tables, read_call
from rightcall.types import Mode

log = LateLog()

_ABOUT_INPUT = ("validation", "unknown_tool", "loop")
"""Rules that say nothing of a call whose input could not be read."""
INSTALLED: Mode = "block"
"""What a hook does that was installed without a mode."""
_LOST = EndBody("interrupted", error="The host never reported the outcome.")


class Hook(Struct, frozen=True):
    """How the hook was started: for which host, under which policy file (empty for none), in which project."""

    host: str
    policy: str = ""
    root: str = "."
    mode: Mode | None = None
    caller: str | None = None
    found: bool = False
    """Whether nobody named the policy: it lay in the project."""


class Failed(Exception):
    """The event could not be judged. `answer` is what the host is told, as it is configured; empty to let it pass."""

    def __init__(self, why: str, answer: str) -> None:
        super().__init__(why)
        self.answer = answer


class Hooks:
    """One door of one host in one project, and what hooks are told at it. Thread-safe, as the door is."""

    def __init__(self, hook: Hook, *, every_tool: bool, store: Any = None) -> None:
        """`every_tool`: this one lives on, so that all that is known is prepared; else only what is called."""
        self._host = hook.host
        self._wire = WIRES[hook.host]
        self._every = every_tool
        self._seen: dict[str, object] = {}
        tools = builtin_tools(hook.host) if every_tool else ()
        self.door = Door.open(
            self._wire.HOST, policy_source(hook), tools=tools, caller=hook.caller, root=hook.root, mode=hook.mode,
            store=store if hook.policy or store is not None else _own_store(), fixed_names=True, elsewhere=True,
        )  # fmt: skip

    def close(self) -> None:
        self.door.close()

    @property
    def deadline(self) -> float:
        return self._settings.deadline

    @property
    def _settings(self) -> HostSettings:
        return self.door.policy.hosts.get(self._wire.HOST) or HostSettings()

    def answer(self, event: bytes, *, can_ask: bool = True) -> str:
        """What to print, empty for nothing. Raises Failed. `can_ask`: somebody may sit at the host's terminal."""
        happened: Happened | None = None
        try:
            happened = self._happened(json.decode(event))
            return self._told(happened, can_ask)
        except (WrongEvent, MsgspecError, RecursionError, UnicodeDecodeError) as fault:
            why = f"the event that it was sent cannot be read: {escaped(str(fault), 200)}"
            failed = self._failed(why)
            if failed.answer or happened is not None:
                raise failed from fault
            return self._by_its_name(event, failed, can_ask)
        except Failed:
            raise
        except Exception as fault:
            log.warning("rightcall: a hook failed", exc_info=fault)
            if happened is not None and happened.kind not in ("before", "trial"):
                return ""  # what has run has run
            raise self._failed(escaped(str(fault), 300) or type(fault).__name__) from fault

    def _by_its_name(self, event: bytes, failed: Failed, can_ask: bool) -> str:
        """Nothing stops what cannot be read here; what the policy says of the tool itself holds all the same."""
        from rightcall.hosts.hooks.lenient import lenient  # late: hosts write what can be read

        try:
            happened = self._happened(lenient(event))
        except WrongEvent:
            raise failed from None
        passage = self._judged(happened) if happened.kind == "before" else None
        if passage is None or passage.action == "allow" or passage.decision.rule in _ABOUT_INPUT:
            raise failed
        if passage.action == "ask":
            passage = replace(passage, changed=False)  # what was read is not what the host has
        return _text(self._wire.answer_before(passage, can_ask))

    def _happened(self, read: Any) -> Happened:
        if not isinstance(read, dict):
            raise WrongEvent("it is not a JSON object")
        servers = {*self.door.policy.servers, *remembered_servers(self.door.store)}
        event = cast("dict[str, Any]", read)
        cwd: Any = event.get("cwd")  # all hosts call it that
        happened = self._wire.read(event, servers)
        is_there = isinstance(cwd, str) and os.path.isabs(cwd) and "\0" not in cwd
        return replace(happened, cwd=cwd) if is_there else happened

    def _told(self, happened: Happened, can_ask: bool) -> str:
        if happened.kind == "before":
            return self._before(happened, can_ask)
        if happened.kind == "after":
            return self._after(happened)
        if happened.kind == "trial":
            return self._tried(happened)
        if happened.kind == "over" and happened.context is not None:
            context, host = happened.context, self.door.host
            self.door.store.transact(lambda tables: _end_open(tables, context, host))
        return ""

    def _before(self, happened: Happened, can_ask: bool) -> str:
        passage = self._judged(happened)
        vouched = self.door.policy.standing != "tightened"
        return _text(self._wire.answer_before(passage, can_ask, vouched=vouched))

    def _judged(self, happened: Happened) -> Passage:
        self._know(happened)
        step = happened.step or self._step(happened, self._fitted(happened))
        passage = self.door.judge(
            happened.tool, happened.arguments, context=happened.context, step=step or None, call_id=step or None,
            space=happened.space, cwd=happened.cwd,
        )  # fmt: skip
        if is_unjudged(passage.decision.rule) and not passage.observed:
            raise self._failed(passage.decision.reason)
        return replace(passage, message=as_called(passage.message, happened)) if passage.message else passage

    def _tried(self, happened: Happened) -> str:
        decision = self.door.preview(happened.tool, happened.arguments, cwd=happened.cwd)
        if is_unjudged(decision.rule):
            raise self._failed(decision.reason)
        return ""

    def _after(self, happened: Happened) -> str:
        step = happened.step or self._step(happened, happened.arguments)
        if step:
            result = host_result(happened.ok, happened.error, happened.seconds)
            self.door.ended_elsewhere(happened.context, step, result, summary=happened.summary, answer=happened.answer)
        if self._wire is not GEMINI or self._mode_of(happened) != "warn":
            return ""
        self._know(happened)
        verdict = self.door.gate(space=happened.space).check(happened.tool, happened.arguments)
        told = verdict.hint or "" if verdict.problems else ""
        return _text(GEMINI.answer_after(as_called(told, happened)))

    def _fitted(self, happened: Happened) -> Any:
        """The input that a call will run with: what its end will be known by, where the host numbers no calls."""
        gate = self.door.gate(space=happened.space)
        if self._mode_of(happened) == "observe" or gate.catalog.get(happened.tool) is None:
            return happened.arguments
        verdict = gate.check(happened.tool, happened.arguments)
        return verdict.call.arguments if verdict.ok and verdict.call is not None else happened.arguments

    def _mode_of(self, happened: Happened) -> Mode:
        return self.door.policy.mode_for(happened.tool, self.door.host)

    def _step(self, happened: Happened, arguments: Any) -> str:
        from hashlib import sha256

        try:
            text = json.encode([happened.space, happened.tool, arguments], order="deterministic")
        except (TypeError, ValueError, RecursionError):
            return ""
        return f"{self._wire.HOST}-{sha256(text).hexdigest()[:24]}"

    def _know(self, happened: Happened) -> None:
        """Tell the door of the tool that is called, or of all of its server's."""
        if not happened.space:
            if not self._every:
                self.door.know(builtin_tools(self._host, happened.tool))
            return
        if happened.reached is not None:
            self._locate(happened.space, happened.reached)
        stamp = _stamp(self.door.store, happened.space)
        if happened.space in self._seen and self._seen[happened.space] == stamp:
            return
        self._seen[happened.space] = stamp
        tools = remembered_tools(self.door.store, happened.space)
        self.door.know(
            tools if self._every else [tool for tool in tools if tool.get("name") == happened.tool], happened.space
        )

    def _locate(self, space: str, told: Mapping[str, Any]) -> None:
        from rightcall.executor.toolbox import way_told  # late: most events are of a host's own tools

        way = way_told(told)
        if way.is_known:
            self.door.locate(space, way)

    def _failed(self, why: str) -> Failed:
        denies = denies_unjudged(self._settings.on_failure, self._settings.mode)
        return Failed(why, _text(self._wire.deny(CANNOT_JUDGE)) if denies else "")


def policy_source(hook: Hook) -> str | FoundPolicy | None:
    """Its policy, for whoever loads it: one that was found is at least as strict as what was installed."""
    if not hook.policy:
        return None
    return FoundPolicy(hook.policy, hook.mode or INSTALLED, quiet=True) if hook.found else hook.policy


def _own_store() -> Any:
    from rightcall.record.sqlite import SqliteStore

    return SqliteStore(record_without_policy())


def _stamp(store: object, server: str) -> object:
    folder, shelf = folder_beside(store), shelf_of(store, "tools")
    try:
        if shelf is not None:
            return server, dict(shelf.saved()).get(server)
        found = os.stat(folder or "") if folder else None
    except (OSError, StoreError):
        return None
    return server, None if found is None else (found.st_ino, found.st_mtime_ns)


def _end_open(tables: Tables, context: str, host: str) -> None:
    for seq in tables.running():
        entry = tables.entry(seq)
        body = None if entry is None else read_call(entry.body)
        if body is not None and body.context == context and body.wire == host:
            finish(tables, seq, _LOST, body.digest if set(body.effects) - {"read"} else None)


def _text(output: dict[str, Any] | None) -> str:
    return "" if output is None else json.encode(output).decode()
