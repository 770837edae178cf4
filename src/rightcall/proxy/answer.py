"""One of the answers to a request while it comes: its text, and its native calls."""

from __future__ import annotations

from typing import Any

from rightcall.proxy.events import DROP, Delta, Kind
from rightcall.proxy.prose import Prose
from rightcall.proxy.settle import Did, Settler, can_retry
from rightcall.recover.native_parts import finish_word
from rightcall.recovering_messages import written_calls
from rightcall.types import Call, Verdict


class Building:
    """A native call while its pieces come."""

    __slots__ = ("_judged", "arguments", "deltas", "id", "name", "pieces", "settled")

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.name: Any = None
        self.id: Any = None
        self.arguments: Any = None
        self.pieces: list[str] = []
        self.settled = False
        self._judged: tuple[Call | None, Did] | None = None

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

    def judged(self, settler: Settler, *, cut: bool = False) -> tuple[Call | None, Did]:
        """The call in its place, or None where it stays; and what was done. Asked once, since every time counts."""
        if self._judged is None:
            self._judged = settler.native(self.name, self.written(), self.id, cut=cut)
        return self._judged

    def broken(self, settler: Settler) -> Verdict | None:
        """Why the model has to be asked again, if it has to."""
        verdict = self.judged(settler)[1].verdict
        return verdict if can_retry(verdict) else None

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

    def __init__(self, settler: Settler) -> None:
        self.calls: dict[Any, Building] = {}
        self.texts: list[Prose] = []
        self.broken: list[Verdict] = []
        self.finish: Delta | None = None
        self.did: list[Did] = []
        self.settler = settler
        self._native: set[tuple[str, bytes]] = set()
        self._bare: Building | None = None  # the last one, complete and without arguments
        self._followed = False  # whether something came after the last call

    @property
    def waits(self) -> bool:
        """Whether a call waits for what follows it."""
        return self._bare is not None

    @property
    def text(self) -> Prose | None:
        """The text that further pieces belong to."""
        return self.texts[-1] if self.texts and not self.texts[-1].over else None

    def goes_on(self, *, with_call: bool = False) -> None:
        """Something follows, so that what came before it was not cut off."""
        self._followed = not with_call
        if self._bare is not None:
            self.settle(self._bare)
        text = self.text
        if with_call and text is not None and text.is_shut:
            text.finish(None)

    def complete(self, building: Building) -> None:
        """A call is complete; but an API that lost the arguments of one that was cut off says that there are none."""
        if building.written() in ("", {}):
            self._bare = building
        else:
            self.settle(building)

    def settle(self, building: Building, *, cut: bool = False) -> None:
        if self._bare is building:
            self._bare = None
        if building.settled:
            return
        call, did = building.judged(self.settler, cut=cut)
        if cut and not self.settler.cuts and did.verdict.ok and (not building.written() or did.verdict.truncated):
            call, did = None, did._replace(fate="left")
        building.settle(call)
        self.did.append(did)
        self._native |= written_calls(did.verdict)

    def settle_calls(self, *, but: set[int] | None = None) -> None:
        """All native calls, in order; those whose ids are in `but` are dropped."""
        cut = self.finish is not None and finish_word(self.finish.text) == "length" and not self._followed
        last = next(reversed(self.calls.values()), None)
        for building in self.calls.values():
            if but and id(building) in but:
                building.drop()
            else:
                self.settle(building, cut=cut and building is last)

    def lifted(self) -> list[Call]:
        """The calls that left the text, without those that the answer also has natively."""
        calls: list[Call] = []
        for did in [did for text in self.texts for did in text.did]:
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
