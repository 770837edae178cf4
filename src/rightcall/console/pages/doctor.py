"""The doctor: what is well on this machine, and how good a model's tool calls are without and with RightCall. Reports
can be compared; those of `rightcall doctor --json` too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast

from msgspec import DecodeError, Struct, convert, json, to_builtins
from msgspec import ValidationError as WrongShape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rightcall.console.access import visitor_of
from rightcall.console.bench import Doing, Told, Visit
from rightcall.console.page import Page, Site, look, not_found, read_form, render, site_of
from rightcall.doctor.doctor import WAYS, Examination, Progress, Settings, advice, findings, record
from rightcall.doctor.questions import QUICK, STEPS

_MOST_FORM: Final = 900_000
_LONGEST: Final = 100
_NOT_ALLOWED: Final = "You may look, but not start anything. Ask somebody who may approve."


# ── reports ──
# As `rightcall doctor --json` writes them. One that was pasted is somebody else's word: only what has the right shape
# is read.


class Check(Struct, frozen=True):
    """One look at this machine."""

    name: str
    state: Literal["ok", "missing", "wrong"]
    text: str
    next: str = ""
    why: str = ""


class Next(Struct, frozen=True):
    command: str
    why: str


class ModelServer(Struct, frozen=True):
    name: str
    url: str
    models: list[str]


class CheckReport(Struct, frozen=True):
    ok: bool
    checks: list[Check]
    next: Next
    models: list[ModelServer] = []


class Suggestion(Struct, frozen=True):
    why: str
    setting: str | None = None


class ModelReport(Struct, frozen=True):
    """Of a model's tool calls."""

    host: str
    model: str | None
    total: dict[str, Any]
    steps: list[dict[str, Any]]
    complete: bool = True
    seconds: float = 0.0
    tries: int = 1
    stopped: str | None = None
    damage: dict[str, int] = {}
    suggestions: list[Suggestion] = []


class Cell(Struct, frozen=True):
    """What share of the calls was usable."""

    usable: int
    asked: int
    change: int | None = None
    """In percentage points, against the other report."""

    @property
    def percent(self) -> int:
        return round(100 * self.usable / self.asked) if self.asked else 0


class Line(Struct, frozen=True):
    name: str
    cells: list[Cell | None]


def lines_of(report: ModelReport, other: ModelReport | None) -> tuple[list[str], list[Line]]:
    """The ways that were tried, and for each step and all together the share that was usable in each."""
    ways = {way: label for way, label in WAYS.items() if way in report.total}
    others = {str(step.get("name")): step for step in other.steps} if other is not None else {}
    rows = [(str(step.get("name", ""))[:_LONGEST], step, others.get(str(step.get("name")))) for step in report.steps]
    rows.append(("All", report.total, other.total if other is not None else None))
    return list(ways.values()), [
        Line(name, [_cell(step.get(way), None if beside is None else beside.get(way)) for way in ways])
        for name, step, beside in rows
    ]


def _cell(value: object, other: object) -> Cell | None:
    share, beside = _share(value), _share(other)
    if share is None:
        return None
    change = None if beside is None or not beside.asked else share.percent - beside.percent
    return Cell(share.usable, share.asked, change)


def _share(value: object) -> Cell | None:
    if not isinstance(value, dict):
        return None
    share = cast("dict[str, Any]", value)
    usable, asked = share.get("usable"), share.get("asked")
    if type(usable) is not int or type(asked) is not int or not 0 <= usable <= asked <= 10**9:
        return None
    return Cell(usable, asked)


# ── the page ──


async def show(request: Request) -> Response:
    return await _show(request)


async def _show(request: Request, problem: str = "", status: int = 200) -> Response:
    visits = site_of(request).visits
    checks = visits.all("checks")
    await look(request, lambda _: None)
    running = next((one for one in checks if one.is_running), None)
    done = next((one for one in checks if not one.is_running), None)
    found = None if done is None or done.report is None else convert(to_builtins(done.report), CheckReport)
    return render(
        request, "doctor", status, problem=problem, running=running, done=done, found=found,
        reports=visits.all("model"), can_look=_can_look(site_of(request)),
    )  # fmt: skip


async def start_checks(request: Request) -> Response:
    site, visitor = site_of(request), visitor_of(request)
    if not visitor.may_approve:
        return await _show(request, _NOT_ALLOWED, 403)
    if not _can_look(site):
        return await _show(request, "This console cannot check the machine. Run `rightcall doctor` there.", 404)
    visit = Visit("checks", "This machine", site.store.clock.wall(), visitor.name)
    site.visits.start(visit, lambda _: site.checks())
    return RedirectResponse("/doctor", 303)


def _can_look(site: Site) -> bool:
    return site.checks is not dict


async def start_model(request: Request) -> Response:
    """Asks a model that the last look found on this machine: no other address can be named here."""
    site, visitor, form = site_of(request), visitor_of(request), await read_form(request)
    if not visitor.may_approve:
        return await _show(request, _NOT_ALLOWED, 403)
    url, _, model = form.one("model").partition(" ")
    if not any(server.url == url and model in server.models for server in _found_models(site)):
        told = "That model was not found on this machine. Check the machine again, then choose one."
        return await _show(request, told, 400)
    settings = Settings(url.removesuffix("/v1"), model, steps=QUICK if form.one("quick") else STEPS)
    visit = Visit("model", f"{model} at {url}", site.store.clock.wall(), visitor.name)
    started = site.visits.start(visit, lambda told: _measure(settings, told))
    return RedirectResponse(f"/doctor/reports/{started.id}", 303)


def _found_models(site: Site) -> Iterator[ModelServer]:
    for visit in site.visits.all("checks"):
        if visit.report is not None:
            yield from convert(to_builtins(visit.report), CheckReport).models


def _measure(settings: Settings, told: Told) -> Mapping[str, Any]:
    def heard(progress: Progress) -> None:
        told(Doing(progress.done, progress.of, progress.doing))

    examination = Examination(settings, heard)
    asyncio.run(examination.run())
    found = findings(examination)
    return record(examination, found, advice(examination, found))


async def add_report(request: Request) -> Response:
    """One that `rightcall doctor --json` has printed."""
    site, visitor, form = site_of(request), visitor_of(request), await read_form(request, _MOST_FORM)
    if not visitor.may_approve:
        return await _show(request, _NOT_ALLOWED, 403)
    try:
        raw = json.decode(form.one("report"), type=dict[str, Any])
        report = convert(raw, ModelReport)
    except (DecodeError, WrongShape, RecursionError):
        told = "This is not a report. Paste what `rightcall doctor --upstream URL --json` prints."
        return await _show(request, told, 400)
    title = f"{(report.model or 'a model')[:_LONGEST]} at {report.host[:_LONGEST]}, pasted"
    visit = Visit("model", title, site.store.clock.wall(), visitor.name)
    visit.report = raw
    site.visits.add(visit)
    return RedirectResponse(f"/doctor/reports/{visit.id}", 303)


async def show_report(request: Request) -> Response:
    visits = site_of(request).visits
    visit = visits.find(request.path_params["id"])
    await look(request, lambda _: None)
    if visit is None or visit.kind != "model":
        return not_found(request, "No such report", "Reports are kept as long as the console runs.")
    other = visits.find(request.query_params.get("with", ""))
    report, beside = _report(visit), None if other is None or other.kind != "model" else _report(other)
    ways, lines = lines_of(report, beside) if report is not None else ([], list[Line]())
    return render(
        request, "doctor_report", visit=visit, report=report, ways=ways, lines=lines, other=other if beside else None,
        others=[one for one in visits.all("model") if one.report is not None and one is not visit],
    )  # fmt: skip


def _report(visit: Visit) -> ModelReport | None:
    return None if visit.report is None else convert(to_builtins(visit.report), ModelReport)


async def download(request: Request) -> Response:
    visit = site_of(request).visits.find(request.path_params["id"])
    if visit is None or visit.report is None:
        await look(request, lambda _: None)
        return not_found(request, "No such report", "Reports are kept as long as the console runs.")
    headers = {"content-disposition": 'attachment; filename="doctor.json"'}
    return Response(json.format(json.encode(visit.report)), headers=headers, media_type="application/json")


PAGE = Page(
    "doctor", "Doctor", "pulse", "/doctor",
    [
        Route("/doctor", show, methods=["GET"]),
        Route("/doctor/checks", start_checks, methods=["POST"]),
        Route("/doctor/models", start_model, methods=["POST"]),
        Route("/doctor/reports", add_report, methods=["POST"]),
        Route("/doctor/reports/{id}", show_report, methods=["GET"]),
        Route("/doctor/reports/{id}/json", download, methods=["GET"]),
    ],
)  # fmt: skip
