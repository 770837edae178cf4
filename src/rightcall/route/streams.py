"""An answer while it comes, and the packet once it is there."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from rightcall.route.types import Packet

if TYPE_CHECKING:
    from rightcall.route.router import Answered
    from rightcall.route.trip import Pieces, Trip


class AnswerStream:
    """`async for piece in stream:` gives the answer; `packet` is where the request stands, at any moment. When the task
    is cancelled, the packet is saved as it stands."""

    def __init__(self, trip: Trip, pieces: Pieces) -> None:
        self._trip = trip
        self._pieces = _kept(trip, pieces)

    @property
    def packet(self) -> Packet:
        return self._trip.packet

    def __aiter__(self) -> Pieces:
        return self._pieces

    async def aclose(self) -> None:
        """For whoever does not want the rest."""
        await self._pieces.aclose()

    async def whole(self) -> Answered:
        """All of it at once."""
        from rightcall.route.router import Answered

        async for _ in self._pieces:
            pass
        return Answered(self.packet.content.answer or "", self.packet)


async def _kept(trip: Trip, pieces: Pieces) -> Pieces:
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
    except BaseException:
        trip.save_now()
        raise
