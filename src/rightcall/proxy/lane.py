"""One block of text while it comes: what is prose flows on, calls in it are taken out.

Positions are counted in characters from the beginning of the block. Everything before `decided` is known to be prose or
a call; what lies in `gaps` was lifted and is left out of what is written.
"""

from __future__ import annotations

from collections import deque

from rightcall.proxy.events import DROP, SAME, Delta, Kind
from rightcall.proxy.settle import Did, Fate, Settler
from rightcall.recovering import Stream
from rightcall.types import Verdict


class Lane:
    """Feed it with TEXT deltas, end it with `close`. `did` is what it found."""

    def __init__(self, settler: Settler, *, hold: bool) -> None:
        self.settler = settler
        self.hold = hold
        """Whether a call that cannot be read keeps back what follows, since the model may be asked again."""
        self.stream: Stream | None = settler.stream()
        self.offset = 0  # where this stream began
        self.at = 0
        self.decided = 0
        self.gaps: list[tuple[int, int]] = []
        self.waiting: deque[Delta] = deque()
        self.pieces: list[str] = []  # the text from `kept` on, as far as it may still be needed
        self.kept = 0
        self.cut = False  # something was lifted out of it, or is replaced
        self.found: deque[tuple[str | Verdict, int, int]] = deque()  # prose and calls that were not looked at yet
        self.region: list[tuple[Verdict, int, int]] = []  # calls since the last prose
        self.blank = True  # nothing but white space so far, which goes where a call beside it goes
        self.marks: list[Delta] = []  # OPEN and SHUT
        self.did: list[Did] = []
        self.broken: list[Verdict] = []
        self.stuck = False
        self.ahead: list[str | Verdict] | None = None  # what the stream made of a piece that is pushed next

    # ── feeding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def push(self, delta: Delta) -> None:
        text = delta.text
        stream = self.stream
        if stream is None:
            stream = self.stream = self.settler.stream()
            self.offset = self.at
        delta.start = self.at
        self.at = delta.end = self.at + len(text)
        events = self.ahead
        if events is None:
            events = stream.push(text)
        self.ahead = None
        if not self.waiting and not self.blank and not self.region and len(events) == 1 and events[0] == text:
            self.decided = self.kept = self.at
            delta.decide()
            return
        self.waiting.append(delta)
        self.pieces.append(text)
        self._apply(events, stream.starts)
        self._settle()

    def passes(self, text: str) -> bool:
        """Whether a further piece is prose that nothing holds back. Then it was taken; else it has to be pushed."""
        stream = self.stream
        if stream is None or self.waiting or self.blank or self.region or self.found:
            return False
        events = stream.push(text)
        if len(events) != 1 or events[0] != text:
            self.ahead = events
            return False
        self.at += len(text)
        self.decided = self.kept = self.at
        return True

    def pause(self) -> None:
        """A native call begins: the text before it is over, and more may follow."""
        if self.stream is not None:
            self._finish(self.stream)
            self.stream = None

    def close(self) -> None:
        """The block is over."""
        self.pause()
        if self.stuck:
            return
        if self.blank:
            self._settle_blank()
        for mark in self.marks:
            if not mark.done:
                mark.decide()

    def release(self) -> None:
        """What a broken call kept back is passed on after all."""
        self.stuck = self.hold = False
        self.broken = []
        self._look()
        self._to_the_end()
        self.close()

    def discard(self) -> None:
        """What a broken call kept back is replaced by something else."""
        self._leave_out(self.decided, self.at)
        self.found.clear()
        self.region = []
        self.stuck = self.hold = False
        self.decided = self.at
        self._settle()
        self.close()

    def partly(self) -> tuple[Delta, str] | None:
        """A delta whose first part is decided, if there is one, with that part: it need not wait for the rest."""
        if not self.waiting or self.blank:
            return None
        first = self.waiting[0]
        if not first.start < self.decided < first.end:
            return None
        return first, self._kept_text(first.start, self.decided)

    def rest(self, first: Delta, second: Delta) -> None:
        """`second` stands for what is left of `first`, whose beginning was written."""
        second.start, second.end = self.decided, first.end
        second.text = first.text[self.decided - first.start :]
        self.waiting[0] = second

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _finish(self, stream: Stream) -> None:
        self._apply(stream.close(), stream.starts)
        self._to_the_end()

    def _to_the_end(self) -> None:
        if not self.stuck and self._close_region(self.at):
            self.decided = self.at
        self._settle()

    def _apply(self, events: list[str | Verdict], starts: list[int]) -> None:
        stream = self.stream
        assert stream is not None
        nth = len(stream.places) - sum(1 for event in events if not isinstance(event, str))
        for event, start in zip(events, starts, strict=True):
            if isinstance(event, str):
                self.found.append((event, start + self.offset, start + self.offset + len(event)))
            else:
                place = stream.places[nth]
                nth += 1
                self.found.append((event, place.start + self.offset, place.end + self.offset))
        self._look()

    def _look(self) -> None:
        """Go on through what was found, up to a call that keeps back the rest."""
        while self.found and not self.stuck:
            event, start, end = self.found[0]
            if isinstance(event, str):
                if not self._close_region(start):
                    return
                self.decided = end
                self.blank = self.blank and event.isspace()
            else:
                self.region.append((event, start, end))
            self.found.popleft()

    def _close_region(self, until: int) -> bool:
        """The calls between two pieces of prose: those that can be lifted leave the text, markup and all. One that
        cannot stays as it was written; False where it keeps back the rest."""
        if not self.region:
            return True
        bad = [found for found in self.region if not self.settler.liftable(found[0])]
        if self.hold and any(verdict.retry for verdict, _, _ in bad):
            self.broken = [verdict for verdict, _, _ in bad]
            self.stuck = True
            return False
        stays = [found for found in self.region if found in bad or self.settler.observes(found[0])]
        self.did += [self._did("left" if found in bad else "lifted", found) for found in self.region]
        if stays:
            self.blank = False
        if len(stays) < len(self.region):
            at = self.decided
            for _, start, end in stays:
                self._leave_out(at, start)
                at = max(at, end)
            self._leave_out(at, until)
        self.region = []
        self.decided = until
        return True

    def _leave_out(self, start: int, end: int) -> None:
        if end > start:
            self.gaps.append((start, end))
            self.cut = True

    def _did(self, fate: Fate, found: tuple[Verdict, int, int]) -> Did:
        verdict, start, end = found
        call = verdict.found or verdict.call
        return Did(fate, verdict, call.name if call is not None else "", self._raw(start, end))

    def _settle(self) -> None:
        if self.blank:
            return
        while self.waiting and self.waiting[0].end <= self.decided:
            delta = self.waiting.popleft()
            if self.gaps:
                kept = self._kept_text(delta.start, delta.end)
                delta.decide(SAME if kept == delta.text else kept)
            else:
                delta.decide()
        for mark in self.marks:
            if mark.kind is Kind.OPEN and not mark.done:
                mark.decide()
        self._forget()

    def _settle_blank(self) -> None:
        """A block of nothing but white space: beside calls that were lifted out of it, nobody needs it."""
        for delta in self.waiting:
            delta.decide("" if self.cut else SAME)
        self.waiting.clear()
        for mark in self.marks:
            mark.decide(DROP if self.cut else SAME)

    # ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _raw(self, start: int, end: int) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0][max(0, start - self.kept) : max(0, end - self.kept)] if self.pieces else ""

    def _kept_text(self, start: int, end: int) -> str:
        pieces: list[str] = []
        for gap_start, gap_end in self.gaps:
            if gap_end <= start or gap_start >= end:
                continue
            pieces.append(self._raw(start, max(start, gap_start)))
            start = max(start, gap_end)
        if start < end:
            pieces.append(self._raw(start, end))
        return "".join(pieces)

    def _forget(self) -> None:
        needed = self.waiting[0].start if self.waiting else self.decided
        if needed > self.kept:
            self.pieces = [left] if (left := self._raw(needed, self.at)) else []
            self.kept = needed
            self.gaps = [gap for gap in self.gaps if gap[1] > needed]
