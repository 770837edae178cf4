"""`tools/call` through the gateway: judged, approved where somebody must be asked, forwarded, recorded.

call ─▶ judge ─┬─ deny ──────────────────────▶ a result that says why
               ├─ ask ─▶ elicitation, or by id ─▶ judge again
               └─ allow ─▶ server ─▶ record ─▶ its result, as it is
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, Final, Protocol

from msgspec import json
from msgspec.structs import replace

from rightcall.base.text import escaped, rename_hint
from rightcall.executor.door import Door
from rightcall.executor.messages import tell_passage, tell_waiting
from rightcall.executor.passage import Passage
from rightcall.executor.toolbox import full_name
from rightcall.mcp.approvals import Approver, Said, is_ours, read_answer
from rightcall.mcp.gateway.forward import (
    MARK,
    NO_ANSWERS,
    Continuations,
    Errand,
    KeptCall,
    Pending,
    asks,
    binding_of,
    era_of,
    forward,
    question_result,
    responses_of,
)
from rightcall.mcp.gateway.names import LONGEST_NAME, Meant, Naming, Table, Unsure
from rightcall.mcp.gateway.tasks import Tasks
from rightcall.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MOST_ROUNDS,
    Answer,
    Refused,
    ToolCall,
    complete,
    failed_result,
    mapping,
    mirrored,
    mismatch,
    outcome_of,
    refusal,
    success,
    tool_call,
    value,
    with_note,
)
from rightcall.mcp.serving import Exchange
from rightcall.mcp.session import ServerGone, ServerSlow, describe_loss
from rightcall.mcp.spans import tell_result, tell_tool
from rightcall.mcp.upstream import Upstream
from rightcall.policy.types import PAUSED

# ── judgement ──
# Judging for many clients at once on one event loop: what takes long (the first call of a server's tools, which are
# made ready then, and large calls) is done in a thread, so that nobody else waits for it.

BIG: Final = 64_000
"""Bytes of a request from which on it is looked at in a thread."""
_MOST: Final = 1_000
Ready = tuple[int, str]


class Judging:
    """Used within one event loop."""

    def __init__(self, door: Door, table: Table) -> None:
        self._door = door
        self._table = table
        self._few = asyncio.Semaphore(2)
        self._ready: dict[tuple[str, str], Ready] = {}
        self.recorded = 0
        """Calls of which there is a record."""
        self._under_way: dict[tuple[str, str, Ready], asyncio.Task[None]] = {}

    async def read(self, exchange: Exchange) -> ToolCall | None:
        if len(bytes(exchange.line)) <= BIG:
            return tool_call(exchange.line)
        async with self._few:
            return await asyncio.to_thread(tool_call, exchange.line)

    async def judge(self, meant: Meant, call: ToolCall, exchange: Exchange) -> Passage:
        caller, space, context = exchange.caller, meant.entry.space, exchange.client.context
        since = self._door.telemetry.now()
        ready = self._table.version, self._door.policy_as_seen.digest
        if self._ready.get((caller, space)) != ready:
            await self._made_ready(caller, space, ready)
        if len(bytes(exchange.line)) <= BIG:
            passage = await self._door.ajudge(meant.name, call.arguments, caller=caller, space=space, context=context)
        else:
            async with self._few:
                passage = await asyncio.to_thread(
                    self._door.judge, meant.name, call.arguments, caller=caller, space=space, context=context
                )
        if passage.message:
            passage = replace(passage, message=self._as_listed(passage, space))
        if exchange.span.is_live:
            tell_tool(exchange.span, self._table.wire(space, passage.name) or passage.name)
            tell_passage(exchange.span, passage, since, self._door.redactor)
        self._count(passage.call)
        return passage

    async def refuse_unknown(self, call: ToolCall, exchange: Exchange) -> None:
        """A call of a tool that no server has is recorded as well. It is no question for a person, whatever is allowed:
        a yes could run nothing."""
        if not self._door.offers(call.name, caller=exchange.caller):
            await self.judge_unknown(call, exchange)
            return
        await self.refuse_unjudged(call.name, "no server has this tool", exchange)

    async def judge_unknown(self, call: ToolCall, exchange: Exchange) -> Passage:
        """By which rule it is refused."""
        caller, context = exchange.caller, exchange.client.context
        passage = await self._door.ajudge(call.name, call.arguments, caller=caller, context=context)
        self._count(passage.call)
        return passage

    async def refuse_unjudged(self, name: str, why: str, exchange: Exchange, space: str = "") -> None:
        """Record the refusal of a call that is answered without a judgement."""
        caller, context = exchange.caller, exchange.client.context
        self._count(
            await asyncio.to_thread(self._door.refuse_unjudged, name, why, space=space, caller=caller, context=context)
        )

    def _count(self, record: int) -> None:
        """`record` is the record's number, 0 where the store could not take it."""
        self.recorded += record > 0

    def _as_listed(self, passage: Passage, space: str) -> str:
        """What the model reads, with the tool called as it is in the client's list, which is all that the model can
        call it by."""
        call = passage.verdict.call or passage.verdict.found
        name = call.name if call is not None else passage.name
        wire = self._table.wire(space, name)
        if wire is None:
            return passage.message
        whole, listed = (escaped(one, 100) for one in (full_name(space, name), wire))
        return rename_hint(passage.message, name, wire).replace(f"'{whole}'", f"'{listed}'", 1)

    async def _made_ready(self, caller: str, space: str, now: Ready) -> None:
        """The tools of one server for one caller; all calls that need them wait for the same work."""
        key = caller, space, now
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.get_running_loop().create_task(self._make_ready(caller, space, now))
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        await asyncio.shield(task)

    async def _make_ready(self, caller: str, space: str, now: Ready) -> None:
        await asyncio.to_thread(self._door.gate, caller, space)
        if len(self._ready) >= _MOST:
            self._ready.clear()
        self._ready[caller, space] = now


_QUESTIONS = 3
"""For one call: about a definition that has changed, about the call itself, and once more."""
_USED_UP = "requestState is used up, too old, or of another call: make the call anew"
_NOT_OFFERED = "This tool is not offered here."
_CHANGED = "The policy has changed while this call waited for answers, and does not let it go on: make the call anew"
_MOVED = "The server of this call is no longer the one that it began with: make the call anew"
_TOO_OFTEN = f"This call has asked {MOST_ROUNDS} times for more, and still wants more: make the call anew"
_OURS = ("name", "arguments", "_meta", "inputResponses", "requestState")


class Servers(Protocol):
    def upstream(self, name: str) -> Upstream | None: ...

    def upstreams(self) -> list[Upstream]: ...


class Calls:
    """The calls of all clients."""

    def __init__(self, door: Door, table: Table, servers: Servers, kept: Continuations, tasks: Tasks) -> None:
        self._door = door
        self._tasks = tasks
        self._table = table
        self._servers = servers
        self._kept = kept
        self._approver = Approver(door)
        self._judging = Judging(door, table)
        self.naming = Naming(door, table)
        self.finding: Callable[[str], str] = lambda _: ""
        """What a caller is told who asks for a tool that nobody has."""

    @property
    def recorded(self) -> int:
        """Calls of which there is a record."""
        return self._judging.recorded

    async def call(self, exchange: Exchange) -> Answer:
        call = await self.read(exchange)
        meant = await self.naming.find(call.name)
        if isinstance(meant, Unsure):
            await self._judging.refuse_unknown(call, exchange)
            return _refused(self._may_mean(call, meant, exchange), exchange)
        if meant is None and (awaited := self._awaiting_login(call, exchange)) is not None:
            try:
                await awaited.ready()  # somebody may have logged in just now
            except ServerGone as gone:
                await self._judging.refuse_unknown(call, exchange)
                return _refused(describe_loss(awaited.name, gone), exchange)
            meant = await self.naming.find(call.name)
        upstream = self._servers.upstream(meant.entry.space) if isinstance(meant, Meant) else None
        if not isinstance(meant, Meant) or upstream is None:
            return await self._unknown(call, exchange)
        wrong = _mismatch(call, meant, exchange)
        if wrong is not None and self._door.offers(meant.entry.name, meant.entry.space, exchange.caller):
            await self._judging.refuse_unjudged(meant.entry.name, wrong, exchange, meant.entry.space)
            raise Refused(HEADER_MISMATCH, wrong)
        if call.state is not None and call.state.startswith(MARK) and wrong is None:
            return await self._continued(call.state, call, meant, upstream, exchange)
        passage = await self._judged(call, meant, exchange)
        if isinstance(passage, Answer):
            return passage
        if wrong is not None:
            self._door.ended(passage, ok=False, error=wrong)
            raise Refused(HEADER_MISMATCH, wrong)
        if not upstream.server.offers(passage.name):  # it is let through where calls are only watched
            self._door.ended(passage, ok=False, error=_NOT_OFFERED)
            return _refused(_NOT_OFFERED, exchange)
        return await self._run(passage, call, meant, upstream, exchange)

    async def read(self, exchange: Exchange) -> ToolCall:
        """Raises Refused for what is no call, or can be read in two ways. That it has a name was seen before."""
        call = await self._judging.read(exchange)
        if call is None or not isinstance(call.name, str):
            raise Refused(INVALID_PARAMS, "params.name must be the name of a tool")
        if call.ambiguous:
            raise Refused(INVALID_PARAMS, "a key appears twice in this request, or almost, so the request is ambiguous")
        return call

    async def made_here(self, exchange: Exchange, work: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """A call of a tool of our own, which may have to ask the client in the middle of it."""
        if not exchange.peer.stateless:
            return await work()
        call = await self.read(exchange)
        if call.state is None:
            return await self._until_asked(Pending(exchange, work), None, None, exchange)
        if self._kept.look(call.state, *_bound(exchange)) is None:
            raise Refused(INVALID_PARAMS, _USED_UP)
        if await asyncio.to_thread(self._door.is_paused):  # it waits until calls may run again
            return _refused((await self._judging.judge_unknown(call, exchange)).message, exchange)
        kept = self._kept.take(call.state, *_bound(exchange))
        if kept is None or kept.pending is None:
            raise Refused(INVALID_PARAMS, _USED_UP)
        if kept.digest != self._door.policy.digest or kept.rounds >= MOST_ROUNDS:
            kept.forget()
            return _refused(_CHANGED if kept.rounds < MOST_ROUNDS else _TOO_OFTEN, exchange)
        kept.pending.answer(call.responses, exchange)
        return await self._until_asked(kept.pending, None, None, exchange, kept.rounds)

    # ── may it run? ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _judged(self, call: ToolCall, meant: Meant, exchange: Exchange) -> Passage | Answer:
        if call.state is not None and not is_ours(call.state):
            raise Refused(INVALID_PARAMS, "requestState is none of ours: make the call without it")
        passage = await self._judging.judge(meant, call, exchange)
        for _ in range(_QUESTIONS):
            if passage.action != "ask":
                break
            word = self._approver.heard(passage, call)
            if word is None:
                word = await self._ask(passage, call, exchange)
            if isinstance(word, Answer):
                return word
            counts = await asyncio.to_thread(self._approver.answer, passage, word, exchange.peer)
            if word == "denied":
                return _refused("A person was asked, and said no to this call.", exchange)
            if not counts:
                break
            passage = await self._judging.judge(meant, call, exchange)
        if passage.action == "allow":
            return passage
        if passage.decision.rule == "unknown_tool":
            return _refused(self._no_such(call, exchange), exchange)
        is_dry = passage.decision.kind == "dry_run"
        return _refused(passage.message, exchange) if not is_dry else _answer_text(passage.message, exchange)

    async def _ask(self, passage: Passage, call: ToolCall, exchange: Exchange) -> Answer | Said:
        """What a person says through the client; or the result that asks, or that says how to answer elsewhere."""
        if passage.decision.rule.startswith("definition:") and not exchange.client.decides_for_all:
            return _refused(passage.message, exchange)
        if exchange.peer.stateless:
            asked = await asyncio.to_thread(self._approver.question, passage, call, exchange.peer)
            return success(asked) if asked is not None else _refused(passage.message, exchange)
        form = await asyncio.to_thread(self._approver.form, passage, exchange.peer)
        if form is None:
            return _refused(passage.message, exchange)
        since = self._door.telemetry.now()
        answer = await exchange.ask("elicitation/create", form)
        tell_waiting(exchange.span, passage.approval or "", "answered", since, self._door.telemetry.now())
        word = read_answer(value(answer.result or b""))
        return word if word is not None else _refused(passage.message, exchange)

    async def _unknown(self, call: ToolCall, exchange: Exchange) -> Answer:
        """Recorded like any refusal; the hint names only what this caller may use."""
        await self._judging.refuse_unknown(call, exchange)
        return _refused(self._no_such(call, exchange), exchange)

    def _may_mean(self, call: ToolCall, unsure: Unsure, exchange: Exchange) -> str:
        names = self.naming.known(unsure.names, exchange.caller)
        if not names:
            return self._no_such(call, exchange)
        told = " or ".join(escaped(name, 128) for name in names)
        return f"Unknown tool {escaped(call.name, 100)!r}; the name is ambiguous. Did you mean {told}?"

    def _awaiting_login(self, call: ToolCall, exchange: Exchange) -> Upstream | None:
        """The server that a tool seems to be of, where nobody knows its tools before a login."""
        for one in self._servers.upstreams():
            prefix = one.name if one.server.prefix is None else one.server.prefix
            begins = call.name.casefold().startswith((f"{prefix}_".casefold(), f"{prefix}/".casefold()))
            if one.awaits_login and prefix and begins:
                return one if self._door.offers(call.name[len(prefix) + 1 :], one.name, exchange.caller) else None
        return None

    def _no_such(self, call: ToolCall, exchange: Exchange) -> str:
        near = self.naming.near(call.name, exchange.caller)
        hint = f" Did you mean {' or '.join(near)}?" if near else f" {self.finding(exchange.caller)}"
        return f"Unknown tool {escaped(call.name, 100)!r}.{hint}"

    # ── it runs ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run(
        self, passage: Passage, call: ToolCall, meant: Meant, upstream: Upstream, exchange: Exchange
    ) -> Answer:
        params = self._params(passage, call, upstream, exchange)
        if call.state is None and era_of(upstream) != "old":  # which a server may ask for without a state of its own
            params |= responses_of(exchange)
        errand = self._errand(passage, call, meant, upstream, params, exchange)
        if not exchange.peer.stateless or era_of(upstream) == "new":
            return await self._made(errand, exchange)

        pending = Pending(exchange, lambda: self._made(errand, exchange))
        return await self._until_asked(pending, passage, upstream, exchange)

    def _params(self, passage: Passage, call: ToolCall, upstream: Upstream, exchange: Exchange) -> dict[str, Any]:
        """What the server gets: the very arguments that were judged, and whatever else the client wrote. A task is
        another thing in the other era, so that it is asked for only in its own."""
        rest = {key: raw for key, raw in exchange.params.items() if key not in _OURS}
        if "task" in rest and exchange.peer.stateless is not (era_of(upstream) == "new"):
            del rest["task"]
        own = self._approver.restored(call)[0]
        return {"name": passage.name, **_arguments(passage, call, exchange), **rest, **own}

    async def _continued(
        self, token: str, call: ToolCall, meant: Meant, upstream: Upstream, exchange: Exchange
    ) -> Answer:
        kept = self._kept.look(token, *_bound(exchange))
        has_moved = kept is not None and kept.upstream is not upstream
        is_due = kept is not None and kept.rounds >= MOST_ROUNDS
        barred = None
        if kept is not None and not has_moved:
            barred = await self._barred(kept.digest, call, meant, exchange, is_due=is_due)
        if barred is not None and barred.decision.rule == PAUSED.rule:  # it waits until calls may run again
            return _refused(barred.message, exchange)
        kept = self._kept.take(token, *_bound(exchange))  # once, also where two requests came with it
        if kept is None or kept.passage is None:
            raise Refused(INVALID_PARAMS, _USED_UP)
        if has_moved or barred is not None:
            kept.forget()
            return _refused(_MOVED, exchange) if barred is None else self._not_on(barred, kept.digest, exchange)
        passage = kept.passage
        rounds = 0 if is_due else kept.rounds
        if kept.pending is not None:
            kept.pending.answer(call.responses, exchange)
            return await self._until_asked(kept.pending, passage, upstream, exchange, rounds)
        params = self._params(passage, ToolCall(call.name, call.arguments), upstream, exchange)
        params |= {"inputResponses": call.responses} if call.responses else {}
        params |= {"requestState": kept.state} if kept.state is not None else {}
        errand = self._errand(passage, call, meant, upstream, params, exchange)
        return await self._made(replace(errand, rounds=rounds), exchange)

    async def _barred(
        self, digest: str, call: ToolCall, meant: Meant, exchange: Exchange, *, is_due: bool = False
    ) -> Passage | None:
        """Why a call that was let through may not go on, also where a person would have to be asked first; None where
        it may. Under the policy that let it through it is not judged twice, unless all calls are paused, or it
        `is_due` since its server has asked so often."""
        is_same = digest == self._door.policy.digest
        if is_same and not is_due and not await asyncio.to_thread(self._door.is_paused):
            return None
        again = await self._judging.judge(meant, call, exchange)
        if again.action != "allow":
            return again
        self._door.ended(again, summary="It was judged anew, and goes on as it began.")
        return None

    def _not_on(self, barred: Passage, digest: str, exchange: Exchange) -> Answer:
        is_same = digest == self._door.policy.digest
        return _refused(barred.message if is_same or barred.decision.rule == PAUSED.rule else _CHANGED, exchange)

    def _errand(
        self, passage: Passage, call: ToolCall, meant: Meant, upstream: Upstream, params: dict[str, Any],
        exchange: Exchange,
    ) -> Errand:  # fmt: skip
        entry = self._table.of(upstream.name).get(passage.name, meant.entry)
        headers = mirrored(entry.mirrors, mapping(passage.arguments)) if entry.mirrors else {}

        def forget() -> None:
            self._door.ended(passage, ok=False, error=NO_ANSWERS)

        digest = self._door.policy_as_seen.digest

        async def barred() -> Answer | None:
            again = await self._barred(digest, call, meant, exchange)
            return None if again is None else self._not_on(again, digest, exchange)

        return Errand(
            upstream, "tools/call", params, passage.name, headers, passage, forget, digest, barred=barred,
        )  # fmt: skip

    async def _until_asked(
        self, pending: Pending, passage: Passage | None, upstream: Upstream | None, exchange: Exchange, rounds: int = 0
    ) -> Answer:
        """The result, or the questions that a server of the old era has put in the middle of it."""
        found = await pending.result_or_questions()
        if isinstance(found, Answer):
            return found
        digest = self._door.policy.digest
        kept = KeptCall(_bound(exchange)[0], passage, None, pending, pending.cancel, upstream, digest, rounds + 1)
        return question_result(found, self._kept.keep(kept, exchange.caller))

    async def _made(self, errand: Errand, exchange: Exchange) -> Answer:
        began = monotonic()
        passage = errand.passage
        assert passage is not None
        try:
            answer = await forward(errand, exchange, self._kept)
        except (ServerGone, ServerSlow) as gone:
            told = describe_loss(errand.upstream.name, gone)
            self._door.ended(passage, ok=False, error=told, seconds=monotonic() - began)
            return _refused(told, exchange)
        except asyncio.CancelledError:
            self._door.ended(passage, ok=False, error=exchange.why_cut_off, seconds=monotonic() - began)
            raise
        if exchange.peer.stateless and asks(answer):  # to others what only looks like a question is the result
            return answer
        if (task := self._tasks.begun(answer, errand, exchange)) is not None:
            return task
        tell_result(exchange.span, answer, passage.arguments, self._door.redactor)
        outcome = outcome_of(answer.result, answer.error)
        self._door.ended(
            passage, ok=outcome.ok, summary=outcome.summary, error=outcome.error, seconds=monotonic() - began,
            answer=outcome.answer,
        )  # fmt: skip
        if answer.result is None or not passage.message:
            return answer
        return Answer(with_note(answer.result, passage.message))


def _bound(exchange: Exchange) -> tuple[str, str]:
    """What a call that goes on must share with the one before it, and whose it is."""
    return binding_of(exchange.caller, exchange.method, exchange.params), exchange.caller


def _mismatch(call: ToolCall, meant: Meant, exchange: Exchange) -> str | None:
    """How the headers of a call tell of other arguments than it has. That names arguments of the tool, so it is only
    for callers who may know of it."""
    if not meant.entry.mirrors or exchange.headers is None:
        return None
    return mismatch(meant.entry.mirrors, mapping(call.arguments), exchange.headers)


def called_by(exchange: Exchange) -> str:
    """The name in a call. Raises Refused; nothing looks for one that is no name."""
    name = value(exchange.params.get("name", b""))
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise Refused(INVALID_PARAMS, f"params.name must be the name of a tool, of {LONGEST_NAME} characters at most")
    return name


def _arguments(passage: Passage, call: ToolCall, exchange: Exchange) -> dict[str, Any]:
    """As the client wrote them where nothing has been repaired, so that numbers keep their digits; where calls are only
    watched, whatever they are."""
    written = exchange.params.get("arguments")
    if written is None and (passage.observed or not passage.arguments):
        return {}
    if passage.observed:
        return {"arguments": written}
    as_written = written is not None and bytes(written)[:1] == b"{" and not passage.changed
    is_same = passage.arguments is call.arguments
    if as_written and (is_same or json.encode(call.arguments) == json.encode(passage.arguments)):  # 1 is not true
        return {"arguments": written}
    return {"arguments": passage.arguments}


def _refused(text: str, exchange: Exchange) -> Answer:
    """For the model to read. Who wants a task can take no result in its place, but an error."""
    if _wants_task(exchange):
        return failed_result(INVALID_PARAMS, text)
    return success(refusal(text, exchange.peer))


def _wants_task(exchange: Exchange) -> bool:
    return "task" in exchange.params and not exchange.peer.stateless


def _answer_text(text: str, exchange: Exchange) -> Answer:
    if _wants_task(exchange):
        return failed_result(INVALID_PARAMS, text)
    return success(complete({"content": [{"type": "text", "text": text}]}, exchange.peer))
