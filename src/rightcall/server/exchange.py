"""The proxy as an ASGI application: one request of a client, to the model's server and back.

    untouched paths      bytes in, bytes out
    requests to models   the answer goes through the engine (`rightcall.proxy`), as it comes or as a whole

Whatever goes wrong with the server reaches the client as an error of its own API, for that request alone.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from rightcall.base.http.answers import Fault, Headers, HttpError, TooLong, header_of, length_of
from rightcall.base.http.client import Incoming
from rightcall.base.telemetry.spans import NO_SPAN, OFF, Span, Telemetry
from rightcall.base.text import escaped
from rightcall.errors import CallError
from rightcall.executor.calls import Speaking
from rightcall.gate.gate import Gate
from rightcall.proxy.flow import Editor, Flow, collect_answer
from rightcall.proxy.gates import HOSTED, Did, Gates, Options, Settler, is_wrong, lifts, render_comment, render_header
from rightcall.proxy.teaching import NO_TOOLS, Pupils, has_no_place, refused_tools, teach_tools, why_ignored
from rightcall.proxy.wires import wires
from rightcall.proxy.wires.common import (
    FIELD,
    Asked,
    Budget,
    Event,
    FaultKind,
    Meter,
    Spent,
    Usage,
    Wire,
    an_object,
    decode_object,
    decode_value,
    estimate,
    plus,
    tokens_of,
    with_report,
)
from rightcall.record.notes import Rescued
from rightcall.server.access import Gone, body_of, entrance_of, error_body
from rightcall.server.addresses import OWN, REPORT, Upstream, answer_headers, request_headers, tell_upstream
from rightcall.server.own_tools import OVER, OwnTools
from rightcall.server.recording import Facts
from rightcall.server.spans import FirstEvent, tell_facts, tell_input, tell_output, tell_request, tell_usage
from rightcall.types import Call

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from rightcall.gate.last_resort import Attempt

# ── asking ──
# Asking the model: once, again with a hint, or with the tools in its prompt.

LLAMA_CPP: Final = b"llama.cpp"
"""What llama.cpp's server calls itself."""

PROPS_SECONDS = 5.0
"""How long it may take to tell of itself: the client waits."""

ENDED: Final = frozenset({"stop", "end_turn", "completed", "stop_sequence", "tool_calls", "tool_use", "None", ""})
"""Why an answer ends that says all the model had to say, over any API."""


class Way(NamedTuple):
    """How a model is asked, and what is known of those behind the same upstream."""

    wire: Wire
    upstream: Upstream
    target: str
    headers: Headers
    lift: bool
    """Whether calls in the text are lifted."""
    pupils: Pupils
    options: Options


class Own(NamedTuple):
    """The tools among those of a request that are run here."""

    tools: OwnTools
    names: frozenset[str]


class Asking:
    """One request of a client to a model, however often the model is asked."""

    def __init__(self, way: Way, asked: Asked, gate: Gate, body: bytes, facts: Facts, own: Own | None = None) -> None:
        self.wire, self._upstream, self._target, self._headers, self._lift, self._pupils, options = way
        self.asked = asked
        self.gate = gate
        self.body = body
        self.options = options
        self.facts = facts
        self.spent = Usage()
        """Tokens of tries that the client does not see."""
        self._trial = False  # the model is taught to see whether that helps
        self._tries = options.retry if asked.answers == 1 and not options.observe else 0
        self._own = own
        self._rounds = 0 if own is None else own.tools.rounds
        self._rescues = gate.last_resort is not None and asked.answers == 1 and not options.observe
        """Whether a call that cannot be repaired is put to the model of `[gate.llm]` first."""

    @property
    def may_teach(self) -> bool:
        """Whether what the server does may lead to teaching. Hosted providers tell their models themselves."""
        if self.options.teach != "auto" or self._upstream.host in HOSTED:
            return False
        return not self.facts.taught and not self.options.observe

    def flow(self, used: Callable[[], Usage], *, hold: bool | None = None) -> Flow:
        """What decides over the next answer. `used` are the tokens that its server has told of so far."""
        new_id = self.wire.new_id if self.wire.new_id() else None
        settler = Settler(self.gate, observe=self.options.observe, taught=self.facts.taught, new_id=new_id)
        settler.text_arguments = self.wire.text_arguments
        settler.reasoning = self.gate.policy.reasoning_for(self.gate.provider, self.asked.model)
        if settler.reasoning == "auto":
            if self._pupils.opens_reasoning(self.asked.model):
                settler.reasoning = "open"
            settler.closed_alone = partial(self._pupils.closed_alone, self.asked.model)
        settler.own = frozenset() if self._own is None else self._own.names
        lift = (self._lift or self.facts.taught) and self.asked.choice != "none"
        must_call = self.asked.choice == "required" and self.asked.stream and self.may_teach
        held = self._tries > 0 or self._own is not None or self._rescues if hold is None else hold
        flow = Flow(settler, lift=lift, hold=held, must_call=must_call)
        flow.limit, flow.used = self.asked.limit, used
        return flow

    async def first(self) -> Incoming:
        """The model's first answer; taught at once where that is wanted."""
        known = self.asked.model in self._pupils
        self._trial = self.may_teach and not known and self._pupils.is_suspect(self.asked.model)
        if (self.options.teach == "on" or (self.may_teach and known) or self._trial) and not self.options.observe:
            return await self.teach()
        return await self._send(self.body)

    async def teach(self) -> Incoming:
        """The same request with the tools in the prompt instead of beside it."""
        self.facts.taught = True
        self.body = msgspec.json.encode(self._taught())
        return await self._send(self.body)

    def _taught(self) -> dict[str, Any]:
        request = msgspec.json.decode(self.body)
        if self.asked.choice == "none":
            return self.wire.taught(request, NO_TOOLS)
        return teach_tools(self.wire, request, self.gate.catalog)

    async def is_untold(self, incoming: Incoming) -> bool:
        """Whether the model that begins to answer has never heard of its tools. llama.cpp drops them without a word
        where the model's template has no place for them, but says so when it is asked: once for each model."""
        server = next((value for name, value in incoming.headers if name == b"server"), b"")
        if not self.may_teach or self.asked.choice == "none" or server != LLAMA_CPP:
            return False
        if not self._pupils.is_new(self.asked.model, "/props"):
            return False
        target = f"/props?model={quote(self.asked.model, safe='')}"
        headers = [header for header in self._headers if header[0] != b"content-type"]
        try:
            async with asyncio.timeout(PROPS_SECONDS):
                props = await self._json("GET", target, headers, b"")
        except TimeoutError:
            return False
        if not has_no_place(props):
            return False
        self._pupils.add(self.asked.model, "its template has no place for tools")
        return True

    def note_refusal(self) -> None:
        """The server said itself that it knows no tools."""
        self._pupils.add(self.asked.model, "its server refuses requests with tools")

    def seems_ignored(self, flow: Flow, usage: Usage) -> bool:
        """Whether the server seems to have ignored the tools. Who writes a call, however wrong, was told of them; an
        answer that was cut off or forbidden says nothing."""
        model = self.asked.model
        if any(did.fate in ("right", "repaired") for did in flow.did) and not self.facts.taught:
            self._pupils.called(model)
        if not self.may_teach or flow.did or flow.reason not in ENDED or self._pupils.has_called(model):
            return False
        if self.asked.choice != "required" and not self._pupils.is_new(model, self.gate.catalog.digest):
            return False
        request = msgspec.json.decode(self.body)
        return why_ignored(self.asked, request, usage, wire=self.wire.name) is not None

    def heard_out(self, flow: Flow, usage: Usage) -> None:
        """A stream has said all: too late to ask otherwise now, but the next request can be taught on trial."""
        if not self.was_trial(flow) and self.seems_ignored(flow, usage):
            self._pupils.suspect(self.asked.model)

    def was_trial(self, flow: Flow) -> bool:
        """Whether the model was taught on trial; then it is known now whether that helps."""
        if self._trial and flow.reason in ENDED:
            self._pupils.tried(self.asked.model, helped=flow.calls > 0)
        return self._trial

    async def rescued(self, flow: Flow) -> bool:
        """Whether every call that was broken could be put together by the model of `[gate.llm]`, and stands in the
        answer now. All or none: half an answer helps nobody."""
        if not self._rescues or flow.own:
            return False
        did: list[Did] = []
        for verdict in flow.broken:
            better = await self.gate.rescue(verdict, self._heard)
            if better.call is None or is_wrong(better):
                return False
            said = (verdict.unread or verdict.found or better.call).arguments
            lifted = better.call.origin == "text"
            did.append(Did("lifted" if lifted else "repaired", better, better.call.name, said))
        new_id = self.wire.new_id
        calls = [replace(one.verdict.call, id=one.verdict.call.id or new_id()) for one in did if one.verdict.call]
        flow.replace("", tuple(calls), did, flow.reason)
        return True

    def _heard(self, attempt: Attempt) -> None:
        asked = attempt.rescue
        self.facts.rescues = [
            *self.facts.rescues,
            Rescued(
                self.facts.caller, None, attempt.tool, asked.model, not attempt.refused, attempt.refused,
                asked.tokens, asked.seconds, asked.cached,
            ),
        ]  # fmt: skip

    async def redone(self, flow: Flow) -> tuple[Any, Event, Flow] | None:
        """Another answer in place of one that could not be repaired, or whose calls are run here: its JSON, and what
        was decided of it. None where the model did no better, or the server none at all."""
        request = msgspec.json.decode(self.body)
        ran = False
        while flow.own or self._tries > 0:
            if flow.own:
                ran = True
                asked = request = self.wire.again(request, flow.redo(await self._run(flow.own)))
            else:
                self._tries -= 1
                self.facts.retries += 1
                asked = self.wire.again(request, flow.redo())
            answer = await self._whole(msgspec.json.encode(asked))
            event = self.wire.whole(answer) if answer is not None else None
            if event is None:
                break
            flow = self.flow(partial(self.wire.usage, answer), hold=True)
            flow.take(event)
            if not flow.broken and not flow.own:
                return answer, event, flow
            self.spent = plus(self.spent, self.wire.usage(answer))
        if ran:  # its calls have run, so the first answer cannot stand for the whole
            raise tell_upstream(self._upstream.host, Fault("other", "gave no answer after its tool calls had run"))
        return None

    async def _run(self, calls: list[Call]) -> list[str]:
        """What the model is told of its calls of tools that are run here."""
        assert self._own is not None
        self._rounds -= 1
        most = self._own.tools.rounds
        if self._rounds < -1:  # it was told, and goes on all the same
            fault = Fault("other", f"called tools again after all {most} tool rounds of this request were used up")
            raise tell_upstream(self._upstream.host, fault)
        if self._rounds < 0:
            return [OVER.format(most)] * len(calls)
        self.facts.ran += len(calls)
        with Speaking(self.facts.identity):
            return await self._own.tools.run(calls, self.facts.caller)

    async def taught_whole(self) -> tuple[Any, Event, Flow] | None:
        """The answer of the model after it was taught, in place of one in which it could not know its tools. None where
        that brings no call either: then it knew, or nothing helps."""
        asked = {**self._taught(), "stream": False}
        asked.pop("stream_options", None)  # which only a stream may have
        answer = await self._whole(msgspec.json.encode(asked))
        event = self.wire.whole(answer) if answer is not None else None
        if event is None:
            return None
        self.facts.taught = True
        flow = self.flow(partial(self.wire.usage, answer), hold=False)
        flow.take(event)
        self.facts.taught = flow.calls > 0
        self._pupils.tried(self.asked.model, helped=self.facts.taught)
        return (answer, event, flow) if self.facts.taught else None

    async def _send(self, body: bytes) -> Incoming:
        return await self._upstream.send("POST", self._target, self._headers, body)

    async def _whole(self, body: bytes) -> Any:
        return await self._json("POST", self._target, self._headers, body)

    async def _json(self, method: str, target: str, headers: Headers, body: bytes) -> Any:
        """What the server answers, None where that is no JSON or an error: what we ask beside the client's own request
        must not spoil that one."""
        try:
            incoming = await self._upstream.send(method, target, headers, body)
            try:
                raw = await incoming.read_all()
            finally:
                incoming.release()
            return None if incoming.status >= 400 else msgspec.json.decode(raw)
        except (HttpError, msgspec.MsgspecError, UnicodeError, RecursionError):
            return None


def replacement(event: Event, flow: Flow) -> tuple[str, tuple[Call, ...], list[Did], str | None]:
    """What another answer brings in place of what was broken in the first."""
    text, calls = collect_answer(event)
    return text, calls, flow.did, None if flow.reason in (None, "None", "") else flow.reason


# ── pages ──
# Pages for people where an answer of a model should be: what a gateway or a wrong address sends.

MOST = 256_000
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def is_page(incoming: Incoming) -> bool:
    kind = header_of(incoming.headers, b"content-type").partition(b";")[0].strip().lower()
    return kind in (b"text/html", b"application/xhtml+xml")


async def told_of_page(incoming: Incoming) -> str:
    """What to tell the client, with the title of the page."""
    try:
        page = (await incoming.read_all(MOST)).decode("utf-8", "replace")
    except HttpError:  # too long, or broken off: the rest says no more
        page = ""
    found = _TITLE.search(page)
    title = escaped(" ".join(html.unescape(found[1]).split()), 100) if found else "it has no title"
    status = incoming.status
    return f"the upstream answered with a web page (status {status}: {title}): is --upstream the address of an API?"


# ── answering ──
# An answer of a model on its way to the client: through the engine, as it comes or as a whole.

LARGE = 200_000
"""Bytes of an answer that is read in a thread: others must not wait for it."""

_STREAMS = (b"text/event-stream", b"application/x-ndjson", b"application/jsonl", b"application/stream+json")


class Client(Protocol):
    """Who waits for the answer."""

    send: Send
    facts: Facts
    reports: bool
    """Whether the client wants to find in the answer what was done to it."""
    span: Span

    @property
    def upstream(self) -> str: ...
    def streaming(self, change: int) -> None: ...
    async def start(self, status: int, headers: Headers) -> None: ...
    async def end(self, data: bytes = b"") -> None: ...
    async def pass_on(self, incoming: Incoming) -> None: ...


class Answering:
    def __init__(self, client: Client, asking: Asking) -> None:
        self.client = client
        self.asking = asking
        self.wire = asking.wire
        self.facts = client.facts
        self._events = 0

    async def run(self) -> None:
        incoming: Incoming | None = await self.asking.first()
        try:
            refused = incoming.status >= 400 and not is_page(incoming)
            if refused and self.asking.may_teach and self.asking.asked.choice != "none":
                incoming = await self._refused(incoming)
                if incoming is None:
                    return
            if incoming.status < 300 and await self.asking.is_untold(incoming):
                incoming.release()
                incoming = await self.asking.teach()
            kind = header_of(incoming.headers, b"content-type").partition(b";")[0].strip().lower()
            coded = header_of(incoming.headers, b"content-encoding") not in (b"", b"identity")
            if incoming.status >= 300 or coded or is_page(incoming):
                await self.client.pass_on(incoming)
            elif kind in _STREAMS:
                await self._stream(incoming)
            else:
                await self._whole(incoming)
        finally:
            if incoming is not None:
                incoming.release()

    async def _refused(self, incoming: Incoming) -> Incoming | None:
        """An error: where the server says that it knows no tools, the model is taught. None when it was passed on."""
        body = await incoming.read_all()
        incoming.release()
        if refused_tools(incoming.status, body):
            self.asking.note_refusal()
            return await self.asking.teach()
        await self.client.start(incoming.status, [*_unmeasured(incoming), length_of(body)])
        await self.client.end(body)
        return None

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    async def _whole(self, incoming: Incoming) -> None:
        raw = await incoming.read_all()
        headers = _unmeasured(incoming)
        answer = decode_value(raw)
        if answer is None and b"json" in header_of(headers, b"content-type"):
            fault = Fault("other", "sent an answer that is not valid JSON, or only a part of it")
            raise tell_upstream(self.client.upstream, fault)
        event = self.wire.whole(answer) if answer is not None else None
        if event is not None:
            raw = await self._decided(raw, answer, event)
        told = self._words(self.facts.did)
        given = an_object(answer)
        if self.client.reports and event is not None and given is not None and (told or FIELD in given):
            raw = msgspec.json.encode(with_report(decode_object(raw) or given, told))
        own = [(OWN, told.encode())] if told else []
        await self.client.start(incoming.status, [*headers, *own, length_of(raw)])
        await self.client.end(raw)

    def _words(self, did: list[Did]) -> str | None:
        facts = self.facts
        return render_header(did, retries=facts.retries, taught=facts.taught, ran=facts.ran, observe=facts.observe)

    async def _decided(self, raw: bytes, answer: Any, event: Event) -> bytes:
        """The body that the client gets: the one that came, where nothing changed."""
        flow = self.asking.flow(partial(self.wire.usage, answer))
        if len(raw) > LARGE:
            await asyncio.to_thread(flow.take, event)
        else:
            flow.take(event)
        if flow.broken or flow.own:
            if not await self.asking.rescued(flow):
                self._replace(flow, await self.asking.redone(flow))
        elif self.asking.seems_ignored(flow, self.wire.usage(answer)):
            other = await self.asking.taught_whole()
            if other is not None:
                self.asking.spent = plus(self.asking.spent, self.wire.usage(answer))
                _, event, flow = other
                raw = b""
        self.asking.was_trial(flow)
        self.facts.did = flow.did
        used = plus(self.wire.usage(answer), self.asking.spent)
        if self.facts.counted:
            self.facts.tokens = tokens_of(used) or estimate(len(self.asking.body), len(raw))
        if self.client.span.is_live:
            tell_usage(self.client.span, used, flow.reason, answer)
            tell_output(self.client.span, event, flow.reason)
        if raw and event.same and self.asking.spent == Usage():
            return raw
        return msgspec.json.encode(self.wire.with_usage(self.wire.written(event), self.asking.spent))

    def _replace(self, flow: Flow, other: tuple[Any, Event, Flow] | None) -> None:
        """Another answer in place of what is broken; None where there is none."""
        if other is None:
            flow.give_up()
            return
        answer, event, better = other
        flow.replace(*replacement(event, better))
        self.asking.spent = plus(self.asking.spent, self.wire.usage(answer))

    # ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _stream(self, incoming: Incoming) -> None:
        stream = self.wire.stream()
        editor = Editor(stream, self.asking.flow(lambda: stream.usage))
        if self.client.reports:
            editor.report = lambda: self._words(editor.flow.did)
        headers = _unmeasured(incoming)
        if self.facts.taught:
            headers.append((OWN, b"taught=1"))
        await self.client.start(incoming.status, headers)
        self.client.streaming(1)
        try:
            first = FirstEvent()
            await self._pump(incoming, editor, first.hear if self.client.span.is_live else None)
            rest = await self._ended(editor)
            self.facts.did = editor.flow.did
            if self.client.span.is_live:
                spent = plus(editor.wire.usage, self.asking.spent)
                tell_usage(self.client.span, spent, editor.flow.reason, first.answer)
            if editor.flow.unended:
                await self._break_off(rest, "broken", str(tell_upstream(self.client.upstream, Fault("half body"))))
            else:
                await self.client.end(rest + self._comment(editor))
        except HttpError as error:
            kind: FaultKind = error.kind if error.kind != "tls" else "unreachable"
            await self._break_off(editor.break_off(), kind, str(error))
        except asyncio.CancelledError as why:
            if "gone" in why.args:
                raise
            await self._break_off(editor.break_off(), "stopped", STOPPED)
        except TooLong:
            message = f"{self.client.upstream} sent an event or a call that does not end"
            await self._break_off(editor.break_off(), "too_large", message)
        finally:
            self.facts.did = editor.flow.did  # also for a client that has left
            if self.facts.counted:
                used = tokens_of(plus(editor.wire.usage, self.asking.spent))
                self.facts.tokens = used or estimate(len(self.asking.body), events=self._events)
            self.client.streaming(-1)

    async def _pump(self, incoming: Incoming, editor: Editor, hear: Callable[[bytes], None] | None) -> None:
        send, feed, read = self.client.send, editor.feed, incoming.read
        between = b"\n" if self.wire.name == "ollama" else b"\n\n"
        while data := await read():
            self._events += data.count(between)
            if hear is not None:
                hear(data)
            if out := feed(data):
                await send({"type": "http.response.body", "body": out, "more_body": True})

    async def _ended(self, editor: Editor) -> bytes:
        """What is left when the server has said all: perhaps only after the model was asked again."""
        flow = editor.flow
        if flow.broken or flow.own:
            if not await self.asking.rescued(flow):
                self._replace(flow, await self.asking.redone(flow))
            self.asking.was_trial(flow)
            editor.extra = self.asking.spent if self.asking.spent != Usage() else None
        elif flow.uncalled:
            ignored = self.asking.seems_ignored(flow, editor.wire.usage)
            self._replace(flow, await self.asking.taught_whole() if ignored else None)
            editor.extra = self.asking.spent if self.asking.spent != Usage() else None
        else:
            self.asking.heard_out(flow, editor.wire.usage)
        return editor.close()

    async def _break_off(self, rest: bytes, kind: FaultKind, message: str) -> None:
        self.facts.fault = kind
        await self.client.end(rest + self.wire.stream_error(kind, message))

    def _comment(self, editor: Editor) -> bytes:
        if not editor.changed or self.wire.name == "ollama":  # lines of JSON have no comments
            return b""
        return render_comment(self._words(self.facts.did))


def _unmeasured(incoming: Incoming) -> Headers:
    """The headers for the client, without a length, which may change."""
    return [header for header in answer_headers(incoming.headers) if header[0] != b"content-length"]


log = logging.getLogger("rightcall")

_NO_RETRY = ((b"x-should-retry", b"false"),)
"""What OpenAI's and Anthropic's own clients look for before they try again by themselves."""
_STATUS = {"timeout": 504, "internal": 500, "stopped": 503}


STOPPED = "RightCall was stopped before this answer was complete. Start it again, then repeat the request."

PAUSED = "All tool calls are paused by the operator. Do not retry; no model is asked until the operator resumes."


_ASKING_NOTHING = frozenset(("GET", "HEAD", "OPTIONS"))


class Paused(Exception):
    """The operator has paused all calls: no model is asked for one."""


class Proxy:
    """Stands between clients and one upstream. `told` hears of every request when it is over; `paused` says whether
    the operator has stopped all calls; `own` are the tools that are added to every request and run here."""

    def __init__(
        self, upstream: Upstream, gates: Gates, options: Options, *, told: Callable[[Facts], None] | None = None,
        paused: Callable[[], Awaitable[object | None]] | None = None, own: OwnTools | None = None,
    ) -> None:  # fmt: skip
        self.upstream = upstream
        self._own = own
        self.gates = gates
        self.options = options
        self.pupils = Pupils()
        self.streams = 0
        """How many are under way."""
        self.telemetry: Telemetry = OFF
        """What follows its requests."""
        self.budget: Budget | None = None
        """What its callers may use up."""
        self._told = told
        self._paused = paused
        self._lifts = lifts(options, upstream.host)
        self._wires = wires()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = monotonic()
        wire = self._wire(scope)
        observe = self.options.observe or self.gates.watches
        facts = Facts(wire.name if wire else "passed", self.gates.provider, self.upstream.host, observe=observe)
        with NO_SPAN if wire is None else self.telemetry.chat(facts.provider, scope["headers"]) as span:
            exchange = _Exchange(self, scope, receive, send, wire, facts)
            exchange.span = span
            try:
                await exchange.run()
            except Gone:
                facts.fault = "gone"
            finally:
                facts.seconds = monotonic() - began
                if span.is_live:
                    tell_facts(span, facts)
                if self._told is not None:
                    self._told(facts)

    async def aclose(self) -> None:
        await self.upstream.aclose()

    async def is_paused(self) -> bool:
        """Tools may be offered in ways that nobody reads here, and a model may write a call that nobody offered. So
        while calls are paused no model is asked anything."""
        return self._paused is not None and await self._paused() is not None

    def _wire(self, scope: Scope) -> Wire | None:
        method, path = scope["method"], scope["path"]
        return next((wire for wire in self._wires if wire.is_for(method, path)), None)

    async def asking(self, wire: Wire, body: bytes, target: str, headers: Headers, facts: Facts) -> Asking | None:
        """What is done about a request to a model; None where there is nothing to do but pass it on."""
        asked = wire.asked(body)
        if asked is None:
            return None
        facts.model, facts.stream = asked.model, asked.stream
        own: Own | None = None
        if self._own is not None and asked.answers == 1 and asked.choice != "none" and not facts.observe:
            extended = await self._own.extended(wire, body, facts.caller)
            if extended is not None:
                own, body = Own(self._own, extended.names), extended.body
                asked = wire.asked(body) or asked
        tools = asked.tools
        if len(tools) > LARGE and not self.gates.knows(tools):  # others must not wait for it
            gate = await asyncio.to_thread(self.gates.of, tools)
        else:
            gate = self.gates.of(tools)
        if gate is None:
            return None
        facts.offer = self.gates.offer(tools)
        options = replace(self.options, observe=facts.observe)
        way = Way(wire, self.upstream, target, headers, self._lifts, self.pupils, options)
        return Asking(way, asked, gate, body, facts, own)


class _Exchange:
    """One request."""

    def __init__(
        self, proxy: Proxy, scope: Scope, receive: Receive, send: Send, wire: Wire | None, facts: Facts
    ) -> None:
        self.proxy = proxy
        self.scope = scope
        self.receive = receive
        self.send = send
        self.wire = wire
        self.facts = facts
        self.reports = any(name == REPORT for name, _ in scope["headers"])
        self.span: Span = NO_SPAN
        self.begun = False

    async def run(self) -> None:
        body = await body_of(self.receive)
        watch = asyncio.ensure_future(self.receive())  # the next message is that the client has gone
        task = asyncio.current_task()
        watch.add_done_callback(lambda done: task.cancel("gone") if task and not done.cancelled() else None)
        try:
            await self._answer(body)
        except HttpError as error:
            await self._fail(error.kind if error.kind != "tls" else "unreachable", str(error))
        except Paused:
            await self._fail("refused", PAUSED, 503)
            self.facts.fault = "paused"
        except Spent as spent:
            wait = str(max(1, ceil(spent.wait))).encode()
            await self._fail("refused", str(spent), 429, [(b"retry-after", wait)])
            self.facts.fault = "budget"
        except CallError as error:
            await self._fail("refused", str(error), 400)
        except asyncio.CancelledError as why:
            if "gone" in why.args:
                raise Gone from None
            await self._fail("stopped", STOPPED)
        except Exception:  # an error of ours must not leave the client without an answer
            log.exception("rightcall: a request failed")
            await self._fail("internal", "RightCall could not handle this request; its log says more")
        finally:
            watch.cancel()

    async def _answer(self, body: bytes) -> None:
        if self.scope["method"] not in _ASKING_NOTHING and await self.proxy.is_paused():
            raise Paused
        given = self.scope["headers"]
        entered = entrance_of(self.scope)
        self.facts.caller, self.facts.identity = entered.caller, entered.identity
        budget = self.proxy.budget if self.wire is not None else None
        if budget is not None and budget.counts(self.facts.caller):
            self.facts.counted = True
            await budget.check(self.facts.caller)
        headers = self.span.headers([header for header in given if not header[0].startswith(OWN)])
        target = _target(self.scope)
        asking = None
        if self.wire is not None:
            plain = request_headers(headers, plain=True)
            asking = await self.proxy.asking(self.wire, body, target, plain, self.facts)
            if self.span.is_live:
                tell_request(self.span, self.facts, self.upstream)
                tell_input(self.span, body)
        if asking is None:
            upstream = self.proxy.upstream
            incoming = await upstream.send(self.scope["method"], target, request_headers(headers, plain=False), body)
            await self.pass_on(incoming, Meter(body) if self.facts.counted else None)
            return
        await Answering(self, asking).run()

    # ── the client ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def upstream(self) -> str:
        return self.proxy.upstream.host

    def streaming(self, change: int) -> None:
        self.proxy.streams += change

    async def start(self, status: int, headers: Headers) -> None:
        self.begun = True
        self.facts.status = status
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def end(self, data: bytes = b"") -> None:
        await self.send({"type": "http.response.body", "body": data})

    async def pass_on(self, incoming: Incoming, meter: Meter | None = None) -> None:
        """Byte for byte; but no client of a model's API can read a page for people."""
        try:
            if self.wire is not None and is_page(incoming):
                await self._fail(
                    "broken", await told_of_page(incoming), incoming.status if incoming.status > 399 else 502
                )
                return
            await self.start(incoming.status, answer_headers(incoming.headers))
            send, read = self.send, incoming.read
            while data := await read():
                if meter is not None:
                    meter.take(data)
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await self.end()
        finally:
            if meter is not None and incoming.status < 400:
                self.facts.tokens = meter.tokens()
            incoming.release()

    async def _fail(self, kind: FaultKind, message: str, status: int = 502, more: Headers | None = None) -> None:
        """The error, as clients of this API read it. In the middle of bytes that pass untouched nothing can be said:
        the connection is cut, so that nobody takes a half for the whole."""
        self.facts.fault = kind
        if not self.begun:
            status = _STATUS.get(kind, status)
            body = self.wire.error(status, kind, message) if self.wire else error_body(status, kind, message)
            headers = [(b"content-type", b"application/json"), length_of(body), *(more or ())]
            await self.start(status, [*headers, *_NO_RETRY] if message is PAUSED else headers)
            await self.end(body)
        else:  # to return without an end cuts the connection
            log.warning("rightcall: an answer was truncated: %s", message)


def _target(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string") or b""
    return (raw + b"?" + query if query else raw).decode("latin-1")
