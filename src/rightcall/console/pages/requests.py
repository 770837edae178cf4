"""Requests that the router took, as stories: what was asked, what was thought of it, which tool was chosen and why,
what came of it, and how it goes on. Secrets are hidden, as `rightcall requests show` hides them."""

from shlex import quote
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.base.files.guarded import packets_folder
from rightcall.base.secrets import Redactor
from rightcall.console.changes import database_of
from rightcall.console.page import Page, Site, look, not_found, render, site_of
from rightcall.console.pages.live import Row, rows_of_calls
from rightcall.console.questions import Room, TextLine, rows_of, text_lines
from rightcall.console.questions import Row as ValueRow
from rightcall.errors import PacketError
from rightcall.record.calls import CallFilter, call, neighbours, page_of_calls
from rightcall.record.notes import shelf_of
from rightcall.record.tables import Tables
from rightcall.router.packet import Candidate, Packet, ReflectionLog
from rightcall.router.packets import Listed, PacketStore, is_packet_id, story_of

LIMIT: Final = 30
_LOOKED_AT: Final = 500
"""Files that one page of the list opens."""
_NEAR: Final = 50
STATES: Final = ("received", "processing", "waiting", "answered", "failed")
LOOKS: Final = {
    "received": "pending", "processing": "pending", "waiting": "waiting", "answered": "success", "failed": "failed",
}  # fmt: skip
_INTENTS: Final = {
    "call": "A tool is needed", "ask": "A tool is needed, and a value seems to be missing", "none": "No tool is needed",
}  # fmt: skip


class PlayedStep(Struct, frozen=True):
    """One step of the story, with its part of the time of all steps from 0 to 100."""

    log: ReflectionLog
    lines: list[TextLine]
    start: float
    length: float


class Story(Struct, frozen=True, kw_only=True):
    """All that a page shows of one request."""

    packet: Packet
    request: list[TextLine]
    answer: list[TextLine]
    intent: str
    candidates: list[tuple[Candidate, float]]
    arguments: list[ValueRow]
    output: list[ValueRow]
    steps: list[PlayedStep]
    threshold: float
    resume: str
    is_cut: bool
    """Whether something is too long for the page."""


def packets_of(site: Site) -> PacketStore | None:
    """The requests that are saved in the store or beside it; None for a store that lies nowhere."""
    database, shelf = database_of(site), shelf_of(site.store, "requests")
    if database is None and shelf is None:
        return None
    hide = Redactor(site.store.key(), site.policy().settings.audit.redact)
    return PacketStore(shelf or packets_folder(database or ""), hide)


async def show_all(request: Request) -> Response:
    asked = request.query_params
    state = asked.get("state", "") if asked.get("state") in STATES else ""
    before = asked.get("before", "") if is_packet_id(asked.get("before", "")) else ""
    packets = packets_of(site_of(request))
    try:
        found, older = await look(request, lambda _: _page(packets, state, before))
        fault = ""
    except PacketError as error:
        found, older, fault = list[Listed](), "", str(error)
    query = {"state": state} if state else {}
    return render(
        request, "requests", found=found, state=state, states=STATES, looks=LOOKS, fault=fault, before=before,
        older=urlencode(query | {"before": older}) if older else "", newest=urlencode(query),
    )  # fmt: skip


def _page(packets: PacketStore | None, state: str, before: str) -> tuple[list[Listed], str]:
    """Some of them, the newest first, and the id behind which older ones begin."""
    ids = [] if packets is None else [one for one in packets.ids() if not before or one < before]
    found: list[Listed] = []
    for place, one_id in enumerate(ids):
        if len(found) >= LIMIT or place >= _LOOKED_AT:
            return found, ids[place - 1]
        assert packets is not None
        one = packets.listed(one_id)
        if not state or one.state == state:
            found.append(one)
    return found, ""


async def show_one(request: Request) -> Response:
    site, wanted = site_of(request), str(request.path_params["id"])
    packets = packets_of(site)

    def work(tables: Tables) -> tuple[Story, list[Row]]:
        if packets is None or not is_packet_id(wanted):
            raise PacketError("unknown")
        packet = packets.load(wanted)
        return _story(packet, site), _calls(tables, packet, site.store.clock.now())

    try:
        story, calls = await look(request, work)
    except PacketError:
        await look(request, lambda _: None)
        return not_found(request, "No such request", "It was never saved here, or it was removed or damaged.")
    return render(request, "request", story=story, calls=calls, looks=LOOKS)


def _story(saved: Packet, site: Site) -> Story:
    policy = site.policy()
    packet = story_of(saved, Redactor(site.store.key(), policy.settings.audit.redact))
    routing, found = packet.tool_routing, packet.intent.detected
    most = max((one.confidence for one in routing.candidates), default=0) or 1
    chosen, result = routing.selected_tool, routing.execution_result
    room = Room()
    return Story(
        packet=packet,
        request=_shown(packet.content.original_prompt, room),
        answer=_shown(packet.content.answer, room) if packet.content.answer else [],
        intent="" if found is None else _INTENTS[found.answer],
        candidates=[(one, round(100 * one.confidence / most, 1)) for one in routing.candidates],
        arguments=[] if chosen is None else _values(chosen.params, "", room),
        output=[] if result is None or result.output is None else _values(result.output, "result", room),
        steps=_steps(packet.reasoning.reflection_log, room),
        threshold=policy.router.threshold,
        resume=_resume(packet),
        is_cut=room.is_cut,
    )


def _shown(text: str, room: Room) -> list[TextLine]:
    return room.lines(text_lines(room.start(text)))


def _values(value: Any, label: str, room: Room) -> list[ValueRow]:
    return room.rows(list(rows_of(room.value(value), label)))


def _steps(log: tuple[ReflectionLog, ...], room: Room) -> list[PlayedStep]:
    whole = sum(one.milliseconds for one in log) or 1.0
    found: list[PlayedStep] = []
    at = 0.0
    for one in log:
        length = 100 * one.milliseconds / whole
        found.append(PlayedStep(one, _shown(one.summary, room), round(at, 2), round(max(length, 0.4), 2)))
        at += length
    return found


def _resume(packet: Packet) -> str:
    """The command with which it goes on; empty for one that has ended, or whose caller no command line shows."""
    header, state = packet.header, packet.status.state
    if state in ("answered", "failed") or not (header.caller.isascii() and header.caller.isprintable()):
        return ""
    caller = "" if header.caller == "default" else f" --as {quote(header.caller)}"
    more = {"awaiting_approval": "", "awaiting_confidence": " yes"}.get(packet.tool_routing.execution_status, ' "…"')
    return f"rightcall ask --resume {header.packet_id}{caller}{more if state == 'waiting' else ''}"


def _calls(tables: Tables, packet: Packet, now: int) -> list[Row]:
    """The calls that were made for it: beside the one that is known, else among the newest."""
    result = packet.tool_routing.execution_result
    known = call(tables, result.call) if result is not None and result.call else None
    if known is not None and known.context == packet.header.packet_id:
        near = [*neighbours(tables, known, _NEAR), known]
        return rows_of_calls(tables, sorted(near, key=lambda one: one.id), now)
    wanted = CallFilter(context=packet.header.packet_id, since=packet.header.created or None)
    return rows_of_calls(tables, reversed(page_of_calls(tables, wanted, limit=_NEAR).calls), now)


PAGE = Page(
    "requests", "Requests", "route", "/requests",
    [Route("/requests", show_all), Route("/requests/{id}", show_one)],
)  # fmt: skip
