"""An answer of a model on its way to the client: through the engine, as it comes or as a whole."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import msgspec
from starlette.types import Send

from rightcall.base.http.addresses import Headers, header_of, length_of
from rightcall.base.http.client import Incoming
from rightcall.base.http.errors import Fault, HttpError
from rightcall.proxy import report
from rightcall.proxy.answering import Editor
from rightcall.proxy.events import Event
from rightcall.proxy.flow import Flow
from rightcall.proxy.ignored import refused_tools
from rightcall.proxy.wire import FaultKind, Usage
from rightcall.proxy.wires.common import plus
from rightcall.serve.addresses import OWN, answered
from rightcall.serve.asking import Asking, replacement
from rightcall.serve.facts import Facts
from rightcall.serve.pages import is_page
from rightcall.serve.upstream import tell_upstream
from rightcall.text.framing import TooLong

NO_END = "ended its answer without the end that its API has"

LARGE = 200_000
"""Bytes of an answer that is read in a thread: others must not wait for it."""

_STREAMS = (b"text/event-stream", b"application/x-ndjson", b"application/jsonl", b"application/stream+json")


class Client(Protocol):
    """Who waits for the answer."""

    send: Send
    facts: Facts

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
        answer = _decoded(raw)
        if answer is None and b"json" in header_of(headers, b"content-type"):
            fault = Fault("other", "sent an answer that is no JSON, or only a part of it")
            raise tell_upstream(self.client.upstream, fault)
        event = self.wire.whole(answer) if answer is not None else None
        if event is not None:
            raw = await self._decided(raw, answer, event)
        facts = self.facts
        told = report.header(facts.did, retries=facts.retries, taught=facts.taught, observe=facts.observe)
        own = [(OWN, told.encode())] if told else []
        await self.client.start(incoming.status, [*headers, *own, length_of(raw)])
        await self.client.end(raw)

    async def _decided(self, raw: bytes, answer: Any, event: Event) -> bytes:
        """The body that the client gets: the one that came, where nothing changed."""
        flow = self.asking.flow()
        if len(raw) > LARGE:
            await asyncio.to_thread(flow.take, event)
        else:
            flow.take(event)
        if flow.broken:
            self._replace(flow, await self.asking.redone(flow))
        elif self.asking.seems_ignored(flow, self.wire.usage(answer)):
            other = await self.asking.taught_whole()
            if other is not None:
                self.asking.spent = plus(self.asking.spent, self.wire.usage(answer))
                _, event, flow = other
                raw = b""
        self.asking.was_trial(flow)
        self.facts.did = flow.did
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
        editor = Editor(self.wire.stream(), self.asking.flow())
        headers = _unmeasured(incoming)
        if self.facts.taught:
            headers.append((OWN, b"taught=1"))
        await self.client.start(incoming.status, headers)
        self.client.streaming(1)
        try:
            await self._pump(incoming, editor)
            rest = await self._ended(editor)
            self.facts.did = editor.flow.did
            if editor.flow.unended:
                await self._break_off(rest, "broken", f"{self.client.upstream} {NO_END}")
            else:
                await self.client.end(rest + self._comment(editor))
        except HttpError as error:
            kind: FaultKind = error.kind if error.kind != "tls" else "unreachable"
            await self._break_off(editor.break_off(), kind, str(error))
        except TooLong:
            message = f"{self.client.upstream} sent an event or a call that does not end"
            await self._break_off(editor.break_off(), "too_large", message)
        finally:
            self.facts.did = editor.flow.did  # also for a client that has left
            self.client.streaming(-1)

    async def _pump(self, incoming: Incoming, editor: Editor) -> None:
        send, feed, read = self.client.send, editor.feed, incoming.read
        while data := await read():
            if out := feed(data):
                await send({"type": "http.response.body", "body": out, "more_body": True})

    async def _ended(self, editor: Editor) -> bytes:
        """What is left when the server has said all: perhaps only after the model was asked again."""
        flow = editor.flow
        if flow.broken:
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
        facts = self.facts
        return report.comment(facts.did, retries=facts.retries, taught=facts.taught, observe=facts.observe)


def _unmeasured(incoming: Incoming) -> Headers:
    """The headers for the client, without a length, which may change."""
    return [header for header in answered(incoming.headers) if header[0] != b"content-length"]


def _decoded(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
