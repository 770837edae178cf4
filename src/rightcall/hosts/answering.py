"""What a person answered in a framework, for the adapters: it counts for the very call that they were asked about.

A call is judged under its id in the framework (`step` of the record). The history between a question and its answer is
the program's, and may have changed: only where that very call was asked about under that id does a yes hold for it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal

from rightcall.errors import AnswerError
from rightcall.record.asking import Reply, answer
from rightcall.record.entries import read_call

if TYPE_CHECKING:
    from rightcall.door import Door
    from rightcall.door_passage import Passage
    from rightcall.record.entries import CallBody
    from rightcall.record.tables import Tables

log = logging.getLogger("rightcall")

MOST_WAITING = 200
"""Questions that are looked through for those about a call."""


def settle(door: "Door", passage: "Passage", said: Literal["approved", "denied"]) -> bool:
    """Hand on what a person answered in the framework; False when the question is no longer open."""
    try:
        door.answer(passage, said, by=_person(door))
    except AnswerError as error:
        log.warning("an answer to approval %s came to nothing: %s", passage.approval, error)
        return False
    return True


async def asettle(door: "Door", passage: "Passage", said: Literal["approved", "denied"]) -> bool:
    """The same from an event loop, which does not wait for the disk."""
    return await asyncio.to_thread(settle, door, passage, said)


def was_asked(door: "Door", passage: "Passage", call_id: str | None) -> bool:
    """Whether this very call was asked about under this id before it was judged just now."""
    questions = door.store.look(lambda tables: list(_questions(tables, door.host)))
    return any(
        body.step == call_id and body.approval == passage.approval and seq < passage.call
        for seq, body in questions
        if body.step and body.approval
    )


async def awas_asked(door: "Door", passage: "Passage", call_id: str | None) -> bool:
    return await asyncio.to_thread(was_asked, door, passage, call_id)


def refuse(door: "Door", refused: "Callable[[CallBody], bool]") -> None:
    """A person said no to calls that wait: nobody can say yes to them afterwards."""
    door.store.transact(partial(_refuse, door=door, refused=refused))


async def arefuse(door: "Door", refused: "Callable[[CallBody], bool]") -> None:
    await asyncio.to_thread(refuse, door, refused)


def _refuse(tables: "Tables", door: "Door", refused: "Callable[[CallBody], bool]") -> None:
    settings = door.policy.settings
    now, expires = door.store.clock.now(), settings.approval.expires
    for body in [body for _, body in _questions(tables, door.host) if refused(body)]:
        about = tables.approval(body.approval or "")
        if about is not None and about.status == "waiting" and about.expires_at > now:
            answer(tables, about.id, Reply("denied", _person(door)), now, expires, tuple(settings.callers))


def _questions(tables: "Tables", host: str) -> "Iterator[tuple[int, CallBody]]":
    found = ((entry.seq, read_call(entry.body)) for entry in tables.newest(MOST_WAITING, ("waiting",)))
    return ((seq, body) for seq, body in found if body.wire == host)


def _person(door: "Door") -> str:
    return f"a person, asked by {door.host}"
