"""The engine that all APIs share: events come in, each of their deltas is decided, and events leave in the same order.

    text     flows on, held back only while it may be the beginning of a call
    calls    are held until they are complete, judged, and leave as they came or written anew
    the end  brings the calls that were lifted out of the text, and the reason that fits them

Nothing here knows an API, and nothing waits: who feeds it decides when.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from rightcall.proxy.events import DROP, SAME, Delta, Ending, Event, Kind
from rightcall.proxy.lane import Lane
from rightcall.proxy.settle import Did, Settler
from rightcall.proxy.teaching import again_text
from rightcall.proxy.wire import Redo
from rightcall.recovering_messages import written_calls
from rightcall.types import Call, Verdict

NOT_RUN = "This call was right but has not run, because another one beside it was wrong. Send all of them again."


WORTH_SENDING = 12
"""Characters of a text that leave without the rest of it, which may be the beginning of a call. A word or two can wait,
so that nearly every stream leaves as the bytes that came."""


class _Building:
    """A native call while its pieces come."""

    __slots__ = ("arguments", "deltas", "id", "name", "pieces", "settled")

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.name: Any = None
        self.id: Any = None
        self.arguments: Any = None
        self.pieces: list[str] = []
        self.settled = False

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


class _Answer:
    """One of the answers to a request; nearly always the only one."""

    def __init__(self) -> None:
        self.calls: dict[Any, _Building] = {}
        self.lanes: dict[int, Lane] = {}
        self.native: set[tuple[str, bytes]] = set()
        self.broken: list[Verdict] = []
        self.finish: Delta | None = None


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
        self.did: list[Did] = []
        self._texts: list[str] = []
        self._queue: deque[Event] = deque()
        self._answers: dict[int, _Answer] = {}
        self._split: Delta | None = None

    # ── feeding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, event: Event) -> None:
        """The next event."""
        self._queue.append(event)
        for delta in event.deltas:
            self._STEPS[delta.kind](self, delta)

    def passes(self, answer: int, lane: int, text: str) -> bool:
        """Whether a piece of text can leave at once and as it came: nothing waits before it, and it is prose. Then it
        was taken; else its event has to be taken next."""
        if self._queue:
            return False
        known = self._answers.get(answer)
        block = known.lanes.get(lane) if known is not None else None
        if block is None or not block.passes(text):
            return False
        if self.hold:
            self._texts.append(text)
        return True

    def end(self, *, faulty: bool = False) -> None:
        """Nothing more comes. What is still undecided passes as it came; but where the server broke down, a call that
        has not ended goes no further: no client should run half of one."""
        for answer in self._answers.values():
            if answer.finish is None or faulty:
                answer.broken = []
                for lane in answer.lanes.values():
                    lane.release()
                    self.did += lane.did if answer.finish is None else []
        if self.broken or (self.uncalled and not faulty):
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
    def unended(self) -> bool:
        """Whether calls left the text of an answer that has not ended, so that nobody was sent them."""
        answers = [answer for answer in self._answers.values() if answer.finish is None]
        return any(lane.cut for answer in answers for lane in answer.lanes.values())

    @property
    def waiting(self) -> bool:
        """Whether an event is held back."""
        return bool(self._queue)

    @property
    def calls(self) -> int:
        """How many calls the client gets, or would get."""
        return sum(1 for did in self.did if did.fate in ("right", "repaired", "lifted", "unknown"))

    # ── asking the model again ───────────────────────────────────────────────────────────────────────────────────

    @property
    def broken(self) -> list[Verdict]:
        """What could not be repaired in an answer that is held until the model was asked again."""
        return [verdict for answer in self._answers.values() for verdict in answer.broken]

    def redo(self) -> Redo:
        """What the model is told of its held answer."""
        told = [self._told(building) for answer in self._answers.values() for building in answer.calls.values()]
        hints = [verdict.hint or "" for answer in self._answers.values() for verdict in answer.broken]
        return Redo(
            "".join(self._texts), tuple(call for call, _ in told), tuple(hint for _, hint in told), again_text(hints)
        )

    def _told(self, building: _Building) -> tuple[Call, str]:
        verdict = self.settler.native(building.name, building.written(), building.id)[1].verdict
        name = building.name if isinstance(building.name, str) else ""
        call_id = building.id if isinstance(building.id, str) and building.id else (self.settler.new_id or str)()
        return Call(name, building.written(), call_id), (verdict.hint or NOT_RUN if not verdict.ok else NOT_RUN)

    def give_up(self) -> None:
        """The held answer passes as it is."""
        self.uncalled = False
        for answer in self._answers.values():
            answer.broken = []
            for lane in answer.lanes.values():
                if lane.stuck:
                    lane.release()
            if answer.finish is not None:
                self._settle_finish(answer)

    def replace(self, text: str, calls: tuple[Call, ...], did: list[Did]) -> None:
        """Another answer stands in for the calls of the held one; prose that the client has seen stays."""
        self.did = did
        self.uncalled = False
        for answer in self._answers.values():
            answer.broken = []
            for lane in answer.lanes.values():
                if lane.stuck:
                    lane.discard()
            for building in answer.calls.values():
                for delta in building.deltas:
                    delta.decide(DROP)
            if answer.finish is not None:
                answer.finish.decide(Ending(calls, text))

    # ── one delta ────────────────────────────────────────────────────────────────────────────────────────────────

    def _open(self, delta: Delta) -> None:
        if not self.lift:
            delta.decide()
            return
        self._lane(delta).marks.append(delta)

    def _text(self, delta: Delta) -> None:
        if self.hold:
            self._texts.append(delta.text)
        if not self.lift or not delta.text:
            delta.decide()
            return
        self._lane(delta).push(delta)

    def _shut(self, delta: Delta) -> None:
        if not self.lift:
            delta.decide()
            return
        lane = self._lane(delta)
        lane.marks.append(delta)
        lane.close()

    def _call(self, delta: Delta) -> None:
        answer = self._answer(delta)
        for lane in answer.lanes.values():
            lane.pause()
        building = answer.calls.get(delta.key)
        if building is None:
            building = answer.calls[delta.key] = _Building()
        self._add(building, delta)

    def _more(self, delta: Delta) -> None:
        building = self._answer(delta).calls.get(delta.key)
        if building is None:
            delta.decide()
        else:
            self._add(building, delta)

    def _add(self, building: _Building, delta: Delta) -> None:
        if building.settled:
            delta.decide()
        else:
            building.add(delta)

    def _done(self, delta: Delta) -> None:
        answer = self._answer(delta)
        building = answer.calls.get(delta.key)
        if building is None or building.settled:
            delta.decide()
            return
        building.deltas.append(delta)
        if not self.hold:
            self._settle_call(answer, building)

    def _finish(self, delta: Delta) -> None:
        answer = self._answer(delta)
        if answer.finish is not None:
            delta.decide()
            return
        answer.finish = delta
        self._close_text(answer)
        if self.hold and (broken := self._unrepairable(answer)):
            answer.broken = broken
            return
        if self.must_call and not answer.calls and not any(lane.did for lane in answer.lanes.values()):
            self.uncalled = True
            return
        self._settle_finish(answer)

    _STEPS: Any = {  # noqa: RUF012 - read only
        Kind.OPEN: _open,
        Kind.TEXT: _text,
        Kind.SHUT: _shut,
        Kind.CALL: _call,
        Kind.MORE: _more,
        Kind.DONE: _done,
        Kind.FINISH: _finish,
    }

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _unrepairable(self, answer: _Answer) -> list[Verdict]:
        broken = [verdict for lane in answer.lanes.values() for verdict in lane.broken]
        for building in answer.calls.values():
            if not building.settled:
                verdict = self.settler.native(building.name, building.written(), building.id)[1].verdict
                if not verdict.ok and verdict.retry:
                    broken.append(verdict)
        return broken

    def _settle_call(self, answer: _Answer, building: _Building) -> None:
        call, did = self.settler.native(building.name, building.written(), building.id)
        building.settled = True
        self.did.append(did)
        answer.native |= written_calls(did.verdict)
        for nth, delta in enumerate(building.deltas):
            if call is None:
                delta.decide()
            else:  # the first piece brings the whole call
                delta.decide(call if nth == 0 or delta.kind is Kind.DONE else DROP)

    def _settle_finish(self, answer: _Answer) -> None:
        for building in answer.calls.values():
            if not building.settled:
                self._settle_call(answer, building)
        calls: list[Call] = []
        for did in [did for lane in answer.lanes.values() for did in lane.did]:
            if did.fate == "lifted" and not answer.native.isdisjoint(written_calls(did.verdict)):
                did = did._replace(fate="repeated")
            elif did.fate == "lifted" and not self.settler.observes(did.verdict):
                calls.append(self.settler.lifted(did.verdict))
            self.did.append(did)
        assert answer.finish is not None
        answer.finish.decide(Ending(tuple(calls)) if calls else SAME)

    def _close_text(self, answer: _Answer) -> None:
        for lane in answer.lanes.values():
            lane.close()

    # ── text that is decided in part ─────────────────────────────────────────────────────────────────────────────

    def _half_decided(self) -> Delta | None:
        """The text at the head of the queue, if a part of it that is worth it could leave. It may wait for one more
        event: most often that decides the rest, and it leaves as the bytes that came."""
        if not self._queue or len(self._queue[0].deltas) != 1 or self._queue[0].deltas[0].kind is not Kind.TEXT:
            return None
        delta = self._queue[0].deltas[0]
        found = None if delta.done else self._lane(delta).partly()
        return delta if found is not None and found[0] is delta and len(found[1]) >= WORTH_SENDING else None

    def _hand_out_part(self) -> None:
        delta = self._half_decided()
        if delta is None or delta is not self._split:
            return
        lane = self._lane(delta)
        found = lane.partly()
        assert found is not None
        event = self._queue[0]
        rest = Event(event.raw, [Delta(Kind.TEXT, delta.answer, lane=delta.lane)], event.data)
        rest.again = True
        lane.rest(delta, rest.deltas[0])
        delta.decide(found[1])
        self._queue.insert(1, rest)

    # ── who is who ───────────────────────────────────────────────────────────────────────────────────────────────

    def _answer(self, delta: Delta) -> _Answer:
        answer = self._answers.get(delta.answer)
        if answer is None:
            answer = self._answers[delta.answer] = _Answer()
        return answer

    def _lane(self, delta: Delta) -> Lane:
        lanes = self._answer(delta).lanes
        lane = lanes.get(delta.lane)
        if lane is None:
            lane = lanes[delta.lane] = Lane(self.settler, hold=self.hold)
        return lane
