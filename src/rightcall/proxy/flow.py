"""The engine that all APIs share: events come in, each of their deltas is decided, and events leave in the same order.

    text     flows on, held back only while it may be the beginning of a call
    calls    are held until they are complete, judged, and leave as they came or written anew
    the end  brings the calls that were lifted out of the text, and the reason that fits them

Nothing here knows an API, and nothing waits: who feeds it decides when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.base.http.answers import TooLong
from rightcall.gate.judge import written_calls
from rightcall.gate.recover.native import finish_word
from rightcall.proxy.gates import Did, End, Settler, can_retry, is_wrong
from rightcall.proxy.prose import Prose
from rightcall.proxy.teaching import again_text
from rightcall.proxy.wires.common import (
    DROP,
    FIELD,
    SAME,
    Delta,
    Ending,
    Event,
    Kind,
    Redo,
    StreamWire,
    Usage,
    decode_value,
    reported,
)
from rightcall.types import Call, Verdict

# ── answer ──
# One of the answers to a request while it comes: its text, and its native calls.


class Building(Struct, eq=False):
    """A native call while its pieces come."""

    deltas: list[Delta] = []
    name: Any = None
    id: Any = None
    arguments: Any = None
    pieces: list[str] = []
    settled: bool = False
    is_twin: bool = False
    """Whether another call of the answer has the same id, so that clients could not tell their results apart."""
    _judged: tuple[Call | None, Did] | None = None

    def add(self, delta: Delta) -> None:
        self.deltas.append(delta)
        if delta.kind is Kind.CALL:
            self.name = self.name or delta.name
            self.id = self.id or delta.id
        if isinstance(delta.arguments, str):
            self.pieces.append(delta.arguments)
        else:
            self.arguments = delta.arguments

    def written(self) -> Any:
        return "".join(self.pieces) if self.arguments is None else self.arguments

    def is_open(self) -> bool:
        """Whether nothing in it shows that it is whole: it has no arguments, or text that is no JSON object."""
        written = self.written()
        if not isinstance(written, str) or not written:
            return not written
        return not isinstance(decode_value(written), dict)

    def judged(self, settler: Settler, end: End) -> tuple[Call | None, Did]:
        """The call in its place, or None where it stays; and what was done. Asked once, since every time counts."""
        if self._judged is None:
            self._judged = settler.native(self.name, self.written(), None if self.is_twin else self.id, end)
        return self._judged

    def settle(self, call: Call | None) -> None:
        self.settled = True
        for nth, delta in enumerate(self.deltas):
            if call is None:
                delta.decide()
            else:  # the first piece brings the whole call
                delta.decide(call if nth == 0 or delta.kind is Kind.DONE else DROP)

    def drop(self) -> None:
        self.settled = True
        for delta in self.deltas:
            delta.decide(DROP)


class Answer:
    """The texts and calls of one answer, in order, and what was done about the calls."""

    def __init__(self, settler: Settler, is_at_limit: Callable[[], bool]) -> None:
        self.calls: dict[Any, Building] = {}
        self.ids: set[str] = set()
        self.texts: list[Prose] = []
        self.broken: list[Verdict] = []
        self.finish: Delta | None = None
        self.did: list[Did] = []
        self.own: list[Call] = []
        """Calls that wait to be run here: the native ones first, then those in the text."""
        self.settler = settler
        self._is_at_limit = is_at_limit
        self._native: set[tuple[str, bytes]] = set()
        self._open: Building | None = None  # the last one, which is over, but perhaps not whole
        self._followed = False  # whether something came after the last call

    @property
    def waits(self) -> bool:
        """Whether a call waits for what follows it."""
        return self._open is not None

    @property
    def text(self) -> Prose | None:
        """The text that further pieces belong to."""
        return self.texts[-1] if self.texts and not self.texts[-1].over else None

    def goes_on(self, *, with_call: bool = False) -> None:
        """Something follows, so that what came before it was not cut off."""
        self._followed = not with_call
        if self._open is not None:
            self.settle(self._open, "own")
        text = self.text
        if with_call and text is not None and text.is_shut:
            text.finish(None, "own")

    @property
    def end(self) -> End:
        """What ended the answer. Some servers report every answer with a call as ended by the model, also those that
        the token limit cut off: so where the request has a limit, the tokens have to be below it."""
        if self.finish is None:
            return "unknown"
        if self.finish.text in OWN_ENDS:
            return "unknown" if self._is_at_limit() else "own"
        return "cut" if finish_word(self.finish.text) == "length" else "unknown"

    def end_of(self, building: Building) -> End:
        """What ended a call: whatever follows it shows that it was not cut off."""
        is_last = building is next(reversed(self.calls.values()), None)
        return self.end if is_last and not self._followed else "own"

    def verdict(self, building: Building) -> Verdict:
        return building.judged(self.settler, self.end_of(building))[1].verdict

    def complete(self, building: Building) -> None:
        """A call is over; but an API says so too of one that was cut off, perhaps without its arguments."""
        if building.is_open():
            self._open = building
        else:
            self.settle(building)

    def settle(self, building: Building, end: End | None = None) -> None:
        if self._open is building:
            self._open = None
        if building.settled:
            return
        call, did = building.judged(self.settler, end or self.end_of(building))
        building.settle(call)
        self.did.append(did)
        self._native |= written_calls(did.verdict)

    @property
    def has_half(self) -> bool:
        """Whether a call has no arguments yet, or only the beginning of them."""
        return any(
            not one.settled and (not one.written() or self.verdict(one).truncated) for one in self.calls.values()
        )

    def is_own(self, building: Building) -> bool:
        """Whether a native call is of a tool that is run here, whatever is wrong with it."""
        return bool(self.settler.own) and self.settler.is_own(self.verdict(building))

    def own_calls(self) -> list[Call]:
        """The calls of tools that are run here, as the model wrote them: whoever runs them puts them right."""
        native = [one for one in self.calls.values() if not one.settled and self.is_own(one)]
        written = [did.verdict for text in self.texts for did in text.did if did.fate == "lifted"]
        return [
            *(Call(str(one.name), one.written(), one.id if isinstance(one.id, str) else None) for one in native),
            *(self.settler.lifted(verdict) for verdict in written if self.settler.is_own(verdict)),
        ]

    def settle_calls(self, *, but: set[int] | None = None) -> None:
        """All native calls, in order; those whose ids are in `but` are dropped, and those that are run here."""
        for building in self.calls.values():
            if (but and id(building) in but) or self.is_own(building):
                building.drop()
            else:
                self.settle(building)

    def lifted(self) -> list[Call]:
        """The calls that left the text, without those that the answer also has natively."""
        calls: list[Call] = []
        for did in [did for text in self.texts for did in text.did]:
            if did.fate == "lifted" and self.settler.is_own(did.verdict):
                continue
            if did.fate == "lifted" and not self.is_twin(did.verdict):
                if not self.settler.observes(did.verdict):
                    calls.append(self.settler.lifted(did.verdict))
            elif did.fate == "lifted":
                did = did._replace(fate="repeated")
            self.did.append(did)
        return calls

    def is_twin(self, verdict: Verdict) -> bool:
        """Whether the answer has this call natively. Servers that lift calls sometimes leave them in the text."""
        return not self._native.isdisjoint(written_calls(verdict))


OWN_ENDS = frozenset(("stop", "tool_calls", "function_call", "end_turn", "tool_use", "stop_sequence", "completed"))
"""What the APIs call the end of an answer that the model ended itself."""

ACCEPTED = "This call is accepted. Do not send it again; only the wrong one beside it."

PASSED = "This call was handed on, and its result comes later. Do not send it again."

MOST_HELD = 32_000_000
"""Bytes of a stream that are held back for a call. The longest arguments that are read at all are a million."""

MOST_TOLD = 100_000
"""Characters of its own text that a model is told when it is asked again."""

WORTH_SENDING = 12
"""Characters of a text that leave without the rest of it, which may be the beginning of a call. A word or two can wait,
so that nearly every stream leaves as the bytes that came."""


class Flow:
    """Takes events with `take`, ends with `end`; `ready` hands out those that are decided.

    With `hold` the calls of an answer wait for its end, and one that cannot be repaired sets `broken` instead of
    passing: then `replace` or `give_up` goes on.
    """

    def __init__(self, settler: Settler, *, lift: bool = True, hold: bool = False, must_call: bool = False) -> None:
        self.settler = settler
        self.lift = lift
        self.hold = hold
        self.must_call = must_call
        """Whether the end of an answer without a call waits, since the model may have to be told of its tools."""
        self.uncalled = False
        self.limit: int | None = None
        """The most tokens that the request allows for an answer."""
        self.used: Callable[[], Usage] = Usage
        """The tokens that the server has told of so far."""
        self._also: list[Did] = []  # what was done about calls of another answer that stands in
        self._texts: list[str] = []
        self._told_length = 0
        self._queue: deque[Event] = deque()
        self._answers: dict[int, Answer] = {}
        self._split: Delta | None = None
        self._is_half = False
        self._held = 0  # bytes of events since one was held back

    @property
    def did(self) -> list[Did]:
        """What was done about each call, as far as it is decided."""
        return [did for answer in self._answers.values() for did in answer.did] + self._also

    @property
    def calls(self) -> int:
        """How many calls the client gets, or would get."""
        return sum(1 for did in self.did if did.fate in ("right", "repaired", "lifted", "unknown"))

    @property
    def reason(self) -> str | None:
        """Why the (first) answer ended, in the API's own word; None where it has not."""
        answer = self._answers.get(0)
        return answer.finish.text if answer is not None and answer.finish is not None else None

    # ── feeding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, event: Event) -> None:
        """The next event. Raises TooLong where more would have to be held back than anybody should."""
        self._queue.append(event)
        if len(self._queue) > 1:
            self._held += len(event.raw)
            if self._held > MOST_HELD:
                raise TooLong
        for delta in event.deltas:
            self._STEPS[delta.kind](self, delta)

    def skipping(self, answer: int, lane: int) -> Callable[[str], bool] | None:
        """What takes further pieces of this text, until anything else is done here; False for one that has to be taken
        as an event. None where something waits, or every piece matters."""
        known = self._answers.get(answer)
        if known is None or self._queue or self.hold:
            return None
        if not self.lift:
            return _anything
        return known.text.skipping(lane) if known.text is not None and not known.waits else None

    def end(self, *, faulty: bool = False) -> None:
        """Nothing more comes. What is still undecided passes as it came; but where the server broke down, or ended
        within a call, the calls of that answer go no further: no client should run half of one."""
        unfinished = [answer for answer in self._answers.values() if answer.finish is None]
        if not faulty and not self.settler.observe:
            faulty = self._is_half = any(answer.has_half for answer in unfinished)
        if faulty:
            self.give_up()  # an answer that has told its end is whole
        for answer in unfinished:
            answer.broken = []
            for text in answer.texts:
                text.give_back()
                answer.did += text.did
        if self.broken or self.own or (self.uncalled and not faulty):
            return
        for event in self._queue:
            for delta in event.deltas:
                if not delta.done:
                    of_call = delta.kind in (Kind.CALL, Kind.MORE, Kind.DONE)
                    delta.decide(DROP if faulty and of_call else SAME)

    def ready(self) -> list[Event]:
        """The events that can leave now, in order."""
        queue = self._queue
        ready: list[Event] = []
        if self._split is not None:
            self._hand_out_part()
        while queue and queue[0].done:
            ready.append(queue.popleft())
        if not queue:
            self._held = 0
        self._split = self._half_decided() if queue else None
        return ready

    @property
    def settled(self) -> bool:
        """Whether all events that are here can leave."""
        for event in self._queue:  # noqa: SIM110 - see Event.done
            if not event.done:
                return False
        return True

    @property
    def waiting(self) -> bool:
        """Whether an event is held back."""
        return bool(self._queue)

    @property
    def unended(self) -> bool:
        """Whether an answer never ended, and calls of it were sent to nobody: half of one, or those in its text."""
        answers = [answer for answer in self._answers.values() if answer.finish is None]
        return self._is_half or any(text.cut for answer in answers for text in answer.texts)

    # ── asking the model again ───────────────────────────────────────────────────────────────────────────────────

    @property
    def own(self) -> list[Call]:
        """Calls that are to be run here before the held answer goes on."""
        return [call for answer in self._answers.values() for call in answer.own]

    @property
    def broken(self) -> list[Verdict]:
        """What could not be repaired in an answer that is held until the model was asked again."""
        return [verdict for answer in self._answers.values() for verdict in answer.broken]

    def redo(self, results: Sequence[str] = ()) -> Redo:
        """What the model is told of its held answer; `results` are those of its calls in `own`."""
        left = list(results)
        told = [
            self._told(answer, building, left.pop(0) if left and answer.is_own(building) else None)
            for answer in self._answers.values()
            for building in answer.calls.values()
        ]
        texts = [text for answer in self._answers.values() for text in answer.texts]
        hints = [verdict.hint or "" for text in texts for verdict in text.broken]
        text = "\n\n".join([*left, *([again_text(hints)] if hints or not left else [])])
        if told and (hints or left):  # what concerns the text is said with the last result
            told[-1] = (told[-1][0], f"{told[-1][1]}\n\n{text}")
        return Redo("".join(self._texts), tuple(call for call, _ in told), tuple(hint for _, hint in told), text)

    def _told(self, answer: Answer, building: Building, result: str | None) -> tuple[Call, str]:
        verdict = answer.verdict(building)
        name = building.name if isinstance(building.name, str) else ""
        given = building.id if isinstance(building.id, str) and not building.is_twin else ""
        call_id = given or (self.settler.new_id or str)()
        call = Call(name, building.written(), call_id)
        if result is not None:
            return call, result
        if self.settler.own and not is_wrong(verdict):
            return call, PASSED
        return call, (verdict.hint or "") if is_wrong(verdict) else ACCEPTED

    def give_up(self) -> None:
        """The held answer passes as it is."""
        self.uncalled = False
        for answer in self._answers.values():
            answer.broken, answer.own = [], []
            for text in answer.texts:
                if text.stuck:
                    text.release()
            if answer.finish is not None and not answer.finish.done:
                answer.settle_calls()
                calls = answer.lifted()
                answer.finish.decide(Ending(tuple(calls)) if calls else SAME)

    def replace(self, text: str, calls: tuple[Call, ...], did: list[Did], reason: str | None = None) -> None:
        """Another answer stands in for what was broken in the held one, with the reason for which it ended. What was
        right stays, and is not said twice."""
        self.uncalled = False
        for answer in self._answers.values():
            broken = {id(one) for one in answer.calls.values() if can_retry(answer.verdict(one))}
            answer.broken, answer.own = [], []
            for prose in answer.texts:
                if prose.stuck:
                    prose.drop_broken()
            answer.settle_calls(but=broken)
            kept = answer.lifted()
            native = _native_calls(answer, broken)
            had = {(call.name, repr(call.arguments)) for call in (*kept, *native)}
            new = tuple(call for call in calls if (call.name, repr(call.arguments)) not in had)
            self._also = did
            if answer.finish is not None:
                answer.finish.decide(Ending((*kept, *new), text, reason, bool(native)))

    # ── one delta ────────────────────────────────────────────────────────────────────────────────────────────────

    def _open(self, delta: Delta) -> None:
        self._answer(delta).goes_on()
        if self._only_listens():
            delta.decide()
        if self.lift:
            self._prose(delta).open(delta)

    def _text(self, delta: Delta) -> None:
        if not delta.text:
            delta.decide()
            return
        self._answer(delta).goes_on()
        self._remember(delta.text)
        if self._only_listens():
            delta.decide()
            delta = Delta(Kind.TEXT, delta.answer, lane=delta.lane, text=delta.text)
        if self.lift:
            self._prose(delta).push(delta)

    def _shut(self, delta: Delta) -> None:
        if self._only_listens():
            delta.decide()
        if self.lift:
            self._prose(delta).shut(delta)

    def _call(self, delta: Delta) -> None:
        answer = self._answer(delta)
        building = answer.calls.get(delta.key)
        if building is None:
            answer.goes_on(with_call=True)
            building = answer.calls[delta.key] = Building(is_twin=delta.id in answer.ids)
            answer.ids |= {delta.id} if isinstance(delta.id, str) and delta.id else set()
        self._add(building, delta)

    def _more(self, delta: Delta) -> None:
        building = self._answer(delta).calls.get(delta.key)
        if building is None:
            delta.decide()
        else:
            self._add(building, delta)

    def _add(self, building: Building, delta: Delta) -> None:
        if building.settled:
            delta.decide()
            return
        building.add(delta)
        if self.settler.observe:
            delta.decide()

    def _done(self, delta: Delta) -> None:
        answer = self._answer(delta)
        building = answer.calls.get(delta.key)
        if building is None or building.settled:
            delta.decide()
            return
        building.deltas.append(delta)
        if self.settler.observe:
            delta.decide()
        if not self.hold:
            answer.complete(building)

    def _finish(self, delta: Delta) -> None:
        answer = self._answer(delta)
        if answer.finish is not None:
            delta.decide()
            return
        answer.finish = delta
        for text in answer.texts:
            text.finish(delta.text, answer.end)
        answer.own = answer.own_calls()
        answer.broken = self._unrepairable(answer) if self.hold else []
        if answer.own or answer.broken:
            return
        if self.must_call and not answer.calls and not any(text.did for text in answer.texts):
            self.uncalled = True
            return
        answer.settle_calls()
        calls = answer.lifted()
        delta.decide(Ending(tuple(calls)) if calls else SAME)

    _STEPS: Any = {  # noqa: RUF012 - read only
        Kind.OPEN: _open,
        Kind.TEXT: _text,
        Kind.SHUT: _shut,
        Kind.CALL: _call,
        Kind.MORE: _more,
        Kind.DONE: _done,
        Kind.FINISH: _finish,
    }

    def _unrepairable(self, answer: Answer) -> list[Verdict]:
        broken = [verdict for text in answer.texts for verdict in text.broken]
        natives = [answer.verdict(building) for building in answer.calls.values() if not building.settled]
        return broken + [verdict for verdict in natives if can_retry(verdict)]

    # ── text that is decided in part ─────────────────────────────────────────────────────────────────────────────

    def _half_decided(self) -> Delta | None:
        """The text at the head of the queue, if a part of it that is worth it could leave. It may wait for one more
        read: most often that decides the rest, and it leaves as the bytes that came."""
        if not self._queue or len(self._queue[0].deltas) != 1 or self._queue[0].deltas[0].kind is not Kind.TEXT:
            return None
        delta = self._queue[0].deltas[0]
        prose = None if delta.done else self._answer(delta).text
        found = prose.partly() if prose is not None else None
        return delta if found is not None and found[0] is delta and len(found[1]) >= WORTH_SENDING else None

    def _hand_out_part(self) -> None:
        delta = self._half_decided()
        prose = self._answer(delta).text if delta is not None else None
        found = prose.partly() if prose is not None else None
        if delta is None or prose is None or found is None or delta is not self._split:
            return
        event = self._queue[0]
        rest = Event(event.raw, [Delta(Kind.TEXT, delta.answer, lane=delta.lane)], event.data)
        rest.again = True
        prose.rest(delta, rest.deltas[0])
        delta.decide(found[1])
        self._queue.insert(1, rest)

    # ── who is who ───────────────────────────────────────────────────────────────────────────────────────────────

    def _remember(self, text: str) -> None:
        """For when the model is asked again, and told what it wrote."""
        if self.hold and self._told_length < MOST_TOLD:
            self._told_length += len(text)
            self._texts.append(text)

    def _is_at_limit(self) -> bool:
        """Whether the token limit may have ended the answer, whatever the server calls it."""
        tokens = self.used().completion
        return self.limit is not None and (tokens is None or tokens >= self.limit)

    def _only_listens(self) -> bool:
        """Whether nothing may change, so that nothing has to wait."""
        return self.settler.observe or not self.lift

    def _answer(self, delta: Delta) -> Answer:
        answer = self._answers.get(delta.answer)
        if answer is None:
            answer = self._answers[delta.answer] = Answer(self.settler, self._is_at_limit)
        return answer

    def _prose(self, delta: Delta) -> Prose:
        answer = self._answer(delta)
        text = answer.text
        if text is None:
            text = Prose(self.settler, hold=self.hold, first=not (answer.texts or answer.calls))
            answer.texts.append(text)
        return text


def _anything(text: str) -> bool:  # noqa: ARG001 - whatever it says
    return True


def _native_calls(answer: Answer, but: set[int]) -> list[Call]:
    """The native calls of an answer that the client gets, as they would run."""
    kept = [one for one in answer.calls.values() if id(one) not in but and not answer.is_own(one)]
    verdicts = [answer.verdict(building) for building in kept]
    return [verdict.call for verdict in verdicts if verdict.call is not None]


# ── the bytes of a stream ──

# ── plain ──
# Events that differ from an earlier one in nothing but their text: most of a stream. What they say is known without
# decoding them again.
#
#     data: {"id":"c1",…,"delta":{"content":" the"},"finish_reason":null}]}      head, text and tail of this one
#     data: {"id":"c1",…,"delta":{"content":" sky"},"finish_reason":null}]}      the same head and tail

_string = msgspec.json.Decoder(str)
_TRIES = 8
"""How often in a row we learn for nothing: some servers write the time into every event."""


class PlainText:
    """Knows the head and the tail of the last event that said a piece of text and nothing else."""

    def __init__(self, read: Callable[[bytes], Event]) -> None:
        self.answer = self.lane = 0
        self._read = read
        self._head = self._tail = b""
        self.known = False
        self._tries = _TRIES

    def text(self, raw: bytes) -> str | None:
        """The text of an event that says nothing but a piece of it, in the same answer and block as the one that was
        learned; None where that is not sure."""
        if not self.known or not raw.startswith(self._head) or not raw.endswith(self._tail):
            return None
        try:  # the decoder takes one whole string and nothing beside it
            text = _string.decode(raw[len(self._head) : len(raw) - len(self._tail)])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        self._tries = _TRIES
        return text

    def learn(self, event: Event) -> None:
        """From an event that has left as it came."""
        if len(event.deltas) != 1 or event.deltas[0].kind is not Kind.TEXT:
            return
        alike = self.known and event.raw.startswith(self._head) and event.raw.endswith(self._tail)
        if not self._tries or alike:
            return
        self._tries -= 1
        delta = event.deltas[0]
        head, found, tail = event.raw.partition(msgspec.json.encode(delta.text))
        if found and self._is_text(delta, head, tail):
            self._head, self._tail = head, tail
            self.answer, self.lane = delta.answer, delta.lane
            self.known = True

    def _is_text(self, delta: Delta, head: bytes, tail: bytes) -> bool:
        """Whether that place, and no other, holds the text: with other text in it, the wire must read just that."""
        probe = "x" + delta.text
        said = self._read(head + msgspec.json.encode(probe) + tail).deltas
        return (
            len(said) == 1
            and said[0].kind is Kind.TEXT
            and said[0].text == probe
            and (said[0].answer, said[0].lane) == (delta.answer, delta.lane)
        )


class Editor:
    """A stream of an answer. What leaves is what came, except where the flow decided otherwise."""

    def __init__(self, wire: StreamWire, flow: Flow) -> None:
        self.wire = wire
        self.flow = flow
        self.extra: Usage | None = None
        """Tokens of other tries, for the event that tells them."""
        self.report: Callable[[], str | None] | None = None
        """What was done, for the event that ends an answer; None where the client did not ask for it."""
        self.changed = False
        self._plain = PlainText(wire.read) if wire.text_alone else None
        self._skip: Callable[[str], bool] | None = None

    def feed(self, data: bytes) -> bytes:
        """More of the answer. Raises framing.TooLong."""
        alone = self._skips(data)
        if alone:
            return data
        flow, read = self.flow, self.wire.read
        out: list[bytes] = []
        for raw in self.wire.framing.feed(data) if alone is None else (data,):
            if alone is None and self._skips(raw):
                out.append(raw)
                continue
            alone = self._skip = None
            flow.take(read(raw))
            if flow.settled:
                out += [self._write(event) for event in flow.ready()]
                self._skip = self._skipping()
        if flow.waiting:
            out += [self._write(event) for event in flow.ready()]
        if not self.wire.framing.empty:
            self._skip = None
        return out[0] if len(out) == 1 else b"".join(out)

    def _skips(self, data: bytes) -> bool | None:
        """Whether this is an event with nothing but prose, which passes. False where it is one that does not: it has to
        be taken next. None where it may be anything else."""
        plain, skip = self._plain, self._skip
        text = plain.text(data) if skip is not None and plain is not None else None
        return skip(text) if skip is not None and text else None

    def _skipping(self) -> Callable[[str], bool] | None:
        plain = self._plain
        return self.flow.skipping(plain.answer, plain.lane) if plain is not None and plain.known else None

    def ready(self) -> bytes:
        """What can leave now."""
        return b"".join([self._write(event) for event in self.flow.ready()])

    def close(self) -> bytes:
        """The answer is over: what is held leaves."""
        self.flow.end()
        return self.ready() + self.wire.framing.rest()

    def break_off(self) -> bytes:
        """The server is gone: text that is held leaves, half an event and half a call do not."""
        self.flow.end(faulty=True)
        self.wire.framing.rest()
        return self.ready()

    def _write(self, event: Event) -> bytes:
        written = self.wire.write(event, self.extra)
        if not event.same:
            self.changed = True
        elif self._plain is not None and written is event.raw:
            self._plain.learn(event)
        if self.report is not None and event.deltas and event.deltas[-1].kind is Kind.FINISH:
            return self._reported(written, self.report())
        return written

    def _reported(self, written: bytes, words: str | None) -> bytes:
        if words is None and FIELD.encode() not in written:
            return written
        events = type(self.wire.framing)().feed(written)
        for at in reversed(range(len(events))):
            if (told := reported(events[at], words)) is not None:
                return b"".join([*events[:at], told, *events[at + 1 :]])
        return written


def collect_answer(event: Event) -> tuple[str, tuple[Call, ...]]:
    """The text and the calls of a whole answer, as they were decided."""
    text: list[str] = []
    calls: list[Call] = []
    for delta in event.deltas:
        if delta.kind is Kind.TEXT and delta.new is not DROP:
            text.append(delta.text if delta.new is SAME else delta.new)
        elif delta.kind is Kind.CALL and isinstance(delta.new, Call):
            calls.append(delta.new)
        elif delta.kind is Kind.CALL and delta.new is SAME:
            calls.append(Call(str(delta.name), delta.arguments, delta.id))
        elif isinstance(delta.new, Ending):
            text.append(delta.new.text)
            calls += delta.new.calls
    return "".join(text), tuple(calls)
