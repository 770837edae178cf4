"""The text of an answer while it comes: what is prose flows on, calls in it are taken out.

One text may come in several blocks, which APIs begin anywhere; it is read as one, as `Gate.read` reads it. Positions
are counted in characters from its beginning. Everything before `decided` is known to be prose or a call; what lies in
`gaps` was taken out and is not written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from rightcall.gate.stream import Stream
from rightcall.proxy.gates import Did, End, Settler, can_retry, settle_end
from rightcall.proxy.wires.common import DROP, SAME, Delta
from rightcall.types import Verdict

Found = tuple[Verdict, int, int]
"""A call in the text, and where it stood."""


_MANY = 256
"""Pieces that are skipped before they are read: enough to be cheap, and few enough to be forgotten soon."""


class Block(Struct, eq=False):
    """One block of the text. One of nothing but white space goes where the call beside it goes."""

    lane: int
    marks: list[Delta] = []  # its OPEN and its SHUT
    blank: bool = True
    cut: bool = False  # something was taken out of it
    pending: list[tuple[Delta, str]] = []  # white space that waits for something else
    end: int | None = None

    def decide(self, delta: Delta, kept: str) -> None:
        self.cut = self.cut or kept != delta.text
        if self.blank and (not kept or kept.isspace()):
            self.pending.append((delta, kept))
            return
        self.show()
        delta.decide(SAME if kept == delta.text else kept)

    def show(self) -> None:
        """There is something in it: what waited leaves."""
        if not self.blank:
            return
        self.blank = False
        for mark in self.marks:
            mark.decide()
        for delta, kept in self.pending:
            delta.decide(SAME if kept == delta.text else kept)
        self.pending.clear()

    def close(self) -> None:
        """It is over, and all of it decided."""
        if self.blank and self.cut:
            for delta, _ in self.pending:
                delta.decide("")
            for mark in self.marks:
                mark.decide(DROP)
            return
        self.show()
        for mark in self.marks:
            mark.decide()


class Prose:
    """Feed it with OPEN, TEXT and SHUT; `finish` when the text is over. `did` is what it found."""

    def __init__(self, settler: Settler, *, hold: bool, first: bool = True) -> None:
        self.settler = settler
        self._first = first
        self.hold = hold
        """Whether a call that cannot be repaired keeps back what follows, since the model may be asked again."""
        self.did: list[Did] = []
        self.broken: list[Verdict] = []
        self.stuck = False
        self.cut = False
        """Whether something was taken out."""
        self.over = False
        self._stream: Stream = settler.stream(first=first)
        self._blocks: deque[Block] = deque()
        self._waiting: deque[tuple[Delta, Block]] = deque()
        self._at = 0
        self._decided = 0
        self._gaps: list[tuple[int, int]] = []
        self._pieces: list[str] = []  # the text from `_kept` on, as far as it may still be needed
        self._kept = 0
        self._found: deque[tuple[str | Verdict, int, int]] = deque()  # prose and calls that were not looked at yet
        self._region: list[Found] = []  # calls since the last prose
        self._lifts = True
        self._drops = False  # a broken call is left out, since another one comes in its place
        self._skipped: list[str] = []  # plain prose that was passed on before it was read
        self._finds: Callable[[str], object] | None = None
        self._ahead: list[str | Verdict] | None = None  # what the stream made of a piece that is pushed next

    # ── feeding ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_shut(self) -> bool:
        """Whether its last block has ended."""
        return bool(self._blocks) and self._blocks[-1].end is not None

    def skipping(self, lane: int) -> Callable[[str], bool] | None:
        """What takes further pieces of this block, as long as they are prose that nothing holds back; one that it does
        not take has to be pushed next. None where something is held back already."""
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.lane != lane or block.blank or not self._is_clear():
            return None
        self._finds = self._stream.beginnings
        return self._skip

    def _skip(self, text: str) -> bool:
        """The way most pieces go, so it does next to nothing: plain prose is read later, many pieces at a time."""
        if self._finds is not None and self._finds(text) is None:
            self._skipped.append(text)
            if len(self._skipped) >= _MANY:
                self._catch_up()
            return True
        self._catch_up()
        events = self._stream.push(text)
        self._finds = self._stream.beginnings
        if len(events) != 1 or events[0] != text:
            self._ahead = events
            return False
        self._at += len(text)
        self._decided = self._kept = self._at
        return True

    def _catch_up(self) -> None:
        """Read what was skipped."""
        if self._skipped:
            text = "".join(self._skipped)
            self._skipped.clear()
            self._stream.push(text)
            self._at += len(text)
            self._decided = self._kept = self._at

    def open(self, delta: Delta) -> None:
        self._catch_up()
        self._block(delta.lane).marks.append(delta)

    def shut(self, delta: Delta) -> None:
        self._catch_up()
        block = self._block(delta.lane)
        block.marks.append(delta)
        block.end = self._at
        self._settle()

    def push(self, delta: Delta) -> None:
        self._catch_up()
        text = delta.text
        block = self._block(delta.lane)
        delta.start = self._at
        self._at = delta.end = self._at + len(text)
        events, self._ahead = self._ahead, None
        if events is None:
            events = self._stream.push(text)
        if not block.blank and self._is_clear() and len(events) == 1 and events[0] == text:
            self._decided = self._kept = self._at
            delta.decide()
            return
        self._waiting.append((delta, block))
        self._pieces.append(text)
        self._apply(events)
        self._settle()

    def finish(self, reason: str | None, end: End = "unknown") -> None:
        """The text is over, for this reason where there is one: what the token limit cut off is no call."""
        if self.over:
            return
        self._catch_up()
        self.over = True
        last = self._stream.close(reason)
        self._apply([one if isinstance(one, str) else settle_end(one, end) for one in last])
        if self._first and self._stream.closes_alone and self.settler.closed_alone is not None:
            self.settler.closed_alone()
        self._to_the_end()

    def give_back(self) -> None:
        """What was not taken out yet stays in the text: nobody will be sent it otherwise."""
        self._lifts = False
        self._let_go()

    def release(self) -> None:
        """What a broken call kept back is passed on after all."""
        self._let_go()

    def drop_broken(self) -> None:
        """What a broken call kept back is passed on without it."""
        self._drops = True
        self._let_go()

    # ── a delta that is decided in part ──────────────────────────────────────────────────────────────────────────

    def partly(self) -> tuple[Delta, str] | None:
        """A delta whose first part is decided, if there is one, with that part: it need not wait for the rest."""
        if not self._waiting:
            return None
        first, block = self._waiting[0]
        if not first.start < self._decided < first.end:
            return None
        kept = self._kept_text(first.start, self._decided)
        return None if block.blank and (not kept or kept.isspace()) else (first, kept)

    def rest(self, first: Delta, second: Delta) -> None:
        """`second` stands for what is left of `first`, whose beginning was written."""
        second.start, second.end = self._decided, first.end
        second.text = first.text[self._decided - first.start :]
        block = self._waiting[0][1]
        block.show()
        self._waiting[0] = (second, block)

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_clear(self) -> bool:
        return not self._waiting and not self._region and not self._found

    def _block(self, lane: int) -> Block:
        if not self._blocks or self._blocks[-1].lane != lane:
            if self._blocks and self._blocks[-1].end is None:
                self._blocks[-1].end = self._at
            self._blocks.append(Block(lane))
        return self._blocks[-1]

    def _let_go(self) -> None:
        self.stuck = self.hold = False
        self.broken = []
        if not self.over:
            self.finish(None)
            return
        self._look()
        self._to_the_end()

    def _to_the_end(self) -> None:
        if not self.stuck and self._close_region(self._at):
            self._decided = self._at
            for block in self._blocks:
                block.end = self._at if block.end is None else block.end
        self._settle()

    def _apply(self, events: list[str | Verdict]) -> None:
        stream = self._stream
        nth = len(stream.places) - sum(1 for event in events if not isinstance(event, str))
        for event, start in zip(events, stream.starts, strict=True):
            if isinstance(event, str):
                self._found.append((event, start, start + len(event)))
            else:
                place = stream.places[nth]
                nth += 1
                self._found.append((event, place.start, place.end))
        self._look()

    def _look(self) -> None:
        """Go on through what was found, up to a call that keeps back the rest."""
        while self._found and not self.stuck:
            event, start, end = self._found[0]
            if isinstance(event, str):
                if not self._close_region(start):
                    return
                self._decided = end
            else:
                self._region.append((event, start, end))
            self._found.popleft()

    def _close_region(self, until: int) -> bool:
        """The calls between two pieces of prose: those that can be lifted leave the text, markup and all. One that
        cannot stays as it was written; False where it keeps back the rest."""
        if not self._region:
            return True
        bad = [found for found in self._region if not self._lifts or not self.settler.liftable(found[0])]
        broken = [verdict for verdict, _, _ in bad if can_retry(verdict)]
        if self.hold and broken:
            self.broken = broken
            self.stuck = True
            return False
        stays = [found for found in self._region if self._stays(found, bad)]
        for found in self._region:
            self._note(found, is_bad=found in bad)
        if len(stays) < len(self._region):
            at = self._decided
            for _, start, end in stays:
                self._leave_out(at, start)
                at = max(at, end)
            self._leave_out(at, until)
        self._region = []
        self._decided = until
        return True

    def _stays(self, found: Found, bad: list[Found]) -> bool:
        if found in bad:
            return not (self._drops and can_retry(found[0]))
        return self.settler.observes(found[0])

    def _note(self, found: Found, *, is_bad: bool) -> None:
        verdict, start, end = found
        call = verdict.found or verdict.call
        if is_bad and self._drops and can_retry(verdict):
            return  # what came in its place is told instead
        self.did.append(Did("left" if is_bad else "lifted", verdict, call.name if call else "", self._raw(start, end)))

    def _leave_out(self, start: int, end: int) -> None:
        if end > start:
            self._gaps.append((start, end))
            self.cut = True

    def _settle(self) -> None:
        while self._waiting and self._waiting[0][0].end <= self._decided:
            delta, block = self._waiting.popleft()
            block.decide(delta, self._kept_text(delta.start, delta.end) if self._gaps else delta.text)
        while self._blocks and (end := self._blocks[0].end) is not None and end <= self._decided:
            if self._waiting and self._waiting[0][1] is self._blocks[0]:
                break
            if len(self._blocks) == 1 and not self.over and not self._is_clear():
                break
            block = self._blocks[0]
            block.close()
            if len(self._blocks) == 1:
                break  # the last one tells whether more may follow
            self._blocks.popleft()
        self._forget()

    # ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _raw(self, start: int, end: int) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0][max(0, start - self._kept) : max(0, end - self._kept)] if self._pieces else ""

    def _kept_text(self, start: int, end: int) -> str:
        pieces: list[str] = []
        for gap_start, gap_end in self._gaps:
            if gap_end <= start or gap_start >= end:
                continue
            pieces.append(self._raw(start, max(start, gap_start)))
            start = max(start, gap_end)
        if start < end:
            pieces.append(self._raw(start, end))
        return "".join(pieces)

    def _forget(self) -> None:
        needed = self._waiting[0][0].start if self._waiting else self._decided
        if needed > self._kept:
            self._pieces = [left] if (left := self._raw(needed, self._at)) else []
            self._kept = needed
            self._gaps = [gap for gap in self._gaps if gap[1] > needed]
