"""Branches, pull requests and changes that tools made: looked at, reviewed, merged and taken back, as `rightcall pr`
and `rightcall undo` do. Whatever changes something is sent by a person who may approve, carries what was shown, and
stands in the record with their name before it happens.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from time import monotonic
from typing import Any, Final, TypeVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rightcall.console.access import Visitor, visitor_of
from rightcall.console.changes import (
    MOST_SHOWN,
    Done,
    FileDiff,
    call_of,
    check_seal,
    desk_of,
    diff_change,
    file_diffs,
    part_diffs,
    seal,
)
from rightcall.console.page import (
    Form,
    Page,
    Site,
    environment,
    look,
    not_found,
    number_in,
    number_of,
    read_form,
    render,
    site_of,
)
from rightcall.console.people import still_counts
from rightcall.console.questions import TextLine, text_lines
from rightcall.errors import AnswerError, ConfigError, RightCallError, ToolFailure
from rightcall.record.admission import require_person
from rightcall.record.notes import note_change
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.write.acts import Actor, close, merge_shown, say, undo_change
from rightcall.tools.write.apply import show_undo, why_not
from rightcall.tools.write.branches import BranchRecord, all_branches
from rightcall.tools.write.changes import Change, JournalEntry
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.merge import Checker, MergePlan, merge_plan
from rightcall.tools.write.pulls import CheckRun, PullRecord, all_pulls, damaged_pulls, exact_diff, pull_of
from rightcall.tools.write.review import (
    PullView,
    case_of,
    has_approved,
    refuse_second,
    require_other,
    span_of,
    view_pull,
)

T = TypeVar("T")

LIMIT: Final = 30
MOST_CHANGES: Final = 500
LONGEST_WORDS: Final = 20_000
LOOKS: Final = {"open": "waiting", "merged": "success", "closed": "refused"}
SAID: Final = {
    "opened": "opened it", "comment": "says", "approve": "approves", "reject": "rejects", "check": "ran the checks",
    "merge": "on the merge", "close": "closed it",
}  # fmt: skip
_NOWHERE: Final = "This console is opened on a store in memory, so no tool keeps changes beside it."
_MAY_NOT: Final = "You may look, but not change anything. Ask for it: rightcall people add NAME --may approve"
_HERE: Final = "<!-- here -->"


class Listing(Struct, frozen=True):
    """What the list shows."""

    pulls: list[PullRecord]
    older: str
    damaged: list[str]
    branches: list[BranchRecord]
    by_branch: dict[str, PullRecord]
    changes: list[Change]
    more: int
    """How many changes the next page asks for; 0: these are all."""


async def show_all(request: Request) -> Response:
    asked = request.query_params
    status = "all" if asked.get("status") == "all" else "open"
    before, most = number_of(asked.get("before")), min(number_of(asked.get("changes")) or LIMIT, MOST_CHANGES)
    site = site_of(request)

    def work(desk: Desk) -> Listing:
        every = all_pulls(desk)
        fits = [one for one in every if status == "all" or one.status == "open"]
        fits = [one for one in fits if before is None or int(one.id) < before]
        found = desk.changes(most + 1)
        return Listing(
            pulls=fits[:LIMIT],
            older=fits[LIMIT - 1].id if len(fits) > LIMIT else "",
            damaged=damaged_pulls(desk),
            branches=list(reversed(all_branches(desk)))[:LIMIT],
            by_branch={one.branch: one for one in reversed(every)},
            changes=found[:most],
            more=min(most + LIMIT * 3, MOST_CHANGES) if len(found) > most and most < MOST_CHANGES else 0,
        )

    listing, fault = await _at_desk(request, site, work)
    return render(
        request, "changes", listing=listing, fault=fault, which=status, before=before, looks=LOOKS,
        nowhere=_NOWHERE if listing is None and not fault else "",
    )  # fmt: skip


async def _at_desk(request: Request, site: Site, work: Callable[[Desk], T]) -> tuple[T | None, str]:
    """What a work finds on the desk, or why not; neither where there is no desk. The page's frame is read too."""
    await look(request, lambda _: None)

    def begin() -> T | None:
        desk = desk_of(site)
        return None if desk is None else work(desk)

    try:
        return await asyncio.to_thread(begin), ""
    except (ToolFailure, ConfigError) as error:
        return None, str(error)


# ── a pull request ──


class PullPage(Struct, frozen=True, kw_only=True):
    """All that a page shows of one pull request."""

    view: PullView
    body: list[TextLine]
    remarks: list[tuple[Any, list[TextLine]]]
    check: CheckRun | None
    tail: list[TextLine]
    files: list[FileDiff]
    left_out: str
    """What of the diff is not shown."""
    obstacle: str
    """Why this person cannot approve it from here."""
    needed: int
    drawn: int = 0
    seal: str = ""


async def show_pull(request: Request) -> Response:
    return await _show_pull(request)


async def _show_pull(request: Request, problem: str = "", status: int = 200) -> Response:
    return await _show_of_pull(request, "pull", _pull_page, problem, status)


async def _show_of_pull(
    request: Request, template: str, read: Callable[[Site, Visitor, Desk, str], Struct], problem: str, status: int
) -> Response:
    site, visitor, number = site_of(request), visitor_of(request), str(number_in(request))
    found, fault = await _at_desk(request, site, lambda desk: read(site, visitor, desk, number))
    if found is None:
        return not_found(request, f"No pull request {number}", fault or _NOWHERE)
    return render(request, template, status, page=found, problem=problem, looks=LOOKS, said=SAID)


def _pull_page(site: Site, visitor: Visitor, desk: Desk, number: str) -> PullPage:
    record = pull_of(desk, number)
    view = view_pull(desk, record)
    files, left_out = list[FileDiff](), ""
    if not view.missing:
        span = span_of(desk, record)
        diff = span.writer.shown(span.old, span.new, MOST_SHOWN)
        files, left_out = file_diffs(diff.text), diff.left_out
    drawn = site.store.clock.now()
    last = record.checks[-1] if record.checks else None
    return PullPage(
        view=view,
        body=text_lines(record.body) if record.body else [],
        remarks=[(one, text_lines(one.text) if one.text else []) for one in record.discussion],
        check=last,
        tail=text_lines(last.tail) if last is not None and last.tail else [],
        files=files,
        left_out=left_out,
        obstacle=_obstacle(desk, visitor, view, left_out),
        needed=desk.settings.reviews,
        drawn=drawn,
        seal=seal(site, visitor, drawn, "pull", number, view.head),
    )


def _obstacle(desk: Desk, visitor: Visitor, view: PullView, left_out: str) -> str:
    if view.missing or view.now is None:
        return view.missing or "It is not open any more."
    if left_out:
        return f"{left_out} Look at all of it with `rightcall pr diff {view.record.id}`, and approve it there."
    try:
        case = case_of(desk, view.record.id)
        require_other(visitor.name, case.people, "An approval")
        refuse_second(case.record, case.now, case.head, visitor.name)
    except ToolFailure as error:
        return str(error)
    return ""


async def show_diff(request: Request) -> Response:
    """The exact patch, as `git apply` takes it."""
    site, number = site_of(request), str(number_in(request))

    def work(desk: Desk) -> bytes:
        span = span_of(desk, pull_of(desk, number))
        return exact_diff(span.writer, span.old, span.new)

    found, fault = await _at_desk(request, site, work)
    if found is None:
        return not_found(request, f"No diff of pull request {number}", fault or _NOWHERE)
    headers = {"content-disposition": f'attachment; filename="pull-request-{int(number)}.diff"'}
    return Response(found, headers=headers, media_type="text/x-diff")


async def act_on_pull(request: Request) -> Response:
    """Comment, approve, reject or close."""
    site, visitor, number = site_of(request), visitor_of(request), str(number_in(request))
    if not visitor.may_approve:
        return await _show_pull(request, _MAY_NOT, 403)
    form = await read_form(request)
    act = form.one("act")
    if act not in ("comment", "approve", "reject", "close"):
        return await _show_pull(request, "Nothing was done: press one of the buttons.", 400)
    try:
        await asyncio.to_thread(_act, site, visitor, number, form)
    except (ToolFailure, AnswerError, ConfigError) as error:
        return await _show_pull(request, f"Not done: {error}", 409)
    return RedirectResponse(f"/changes/pulls/{int(number)}", 303)


def _act(site: Site, visitor: Visitor, number: str, form: Form) -> None:
    desk = _desk(site)
    record = pull_of(desk, number)
    who, act = _actor(site, visitor, record.author), form.one("act")
    text, commit = form.one("text").strip()[:LONGEST_WORDS], form.one("commit")
    check_seal(site, visitor, form, "pull", number, commit)
    if act == "close":
        close(desk, who, record, text)
    elif act == "comment":
        say(desk, who, record, "comment", text)
    else:
        found = _pull_page(site, visitor, desk, number)
        if act == "approve" and found.obstacle:
            raise AnswerError(found.obstacle)
        say(desk, who, record, "approve" if act == "approve" else "reject", text, commit)


def _desk(site: Site) -> Desk:
    desk = desk_of(site)
    if desk is None:
        raise ToolFailure(_NOWHERE)
    return desk


def _actor(site: Site, visitor: Visitor, author: str) -> Actor:
    """This person, recorded with where they are. Raises AnswerError for the name of a caller, and for somebody whose
    session ended meanwhile: then nothing was begun."""
    require_person(visitor.name, author, tuple(site.policy().settings.callers))
    if not site.store.look(lambda tables: still_counts(tables, visitor.session)):
        raise AnswerError("your session has ended, or what you may do has changed")

    def record(what: str, data: dict[str, Any]) -> None:
        told = data | {"through": "console"}
        site.store.transact(lambda tables: note_change(tables, what, visitor.name, told))

    return Actor(visitor.name, record)


# ── merge ──


class MergePage(Struct, frozen=True, kw_only=True):
    """What a merge would do, at this moment."""

    record: PullRecord
    plan: MergePlan | None
    why: str
    """Why it cannot be merged now."""
    approves: bool
    """Whether it needs this person's own approval, which then is given with it."""
    files: list[FileDiff] = []
    left_out: str = ""
    drawn: int = 0
    seal: str = ""


async def show_merge(request: Request) -> Response:
    return await _show_merge(request)


async def _show_merge(request: Request, problem: str = "", status: int = 200) -> Response:
    return await _show_of_pull(request, "merge", _merge_page, problem, status)


def _merge_page(site: Site, visitor: Visitor, desk: Desk, number: str) -> MergePage:
    record = pull_of(desk, number)
    try:
        plan, approves = _planned(desk, visitor.name, number)
    except ToolFailure as error:
        return MergePage(record=record, plan=None, why=str(error), approves=False)
    diff = plan.case.writer.shown(plan.case.tip, plan.tree, MOST_SHOWN)
    drawn = site.store.clock.now()
    return MergePage(
        record=record, plan=plan, why="", approves=approves, files=file_diffs(diff.text), left_out=diff.left_out,
        drawn=drawn, seal=seal(site, visitor, drawn, "merge", number, plan.state(), str(approves)),
    )  # fmt: skip


def _planned(desk: Desk, name: str, number: str) -> tuple[MergePlan, bool]:
    """The plan as it is, or else the one in which this person approves it as well."""
    try:
        return merge_plan(desk, number), False
    except ToolFailure:
        plan = merge_plan(desk, number, approving=name)
        if has_approved(plan.case.now, name):
            raise
        require_other(name, plan.case.people, "An approval")
        return plan, True


async def merge_pull(request: Request) -> Response:
    """Runs the checks while the page shows for how long, and merges. It goes on when the page is left."""
    site, visitor, number = site_of(request), visitor_of(request), str(number_in(request))
    if not visitor.may_approve:
        return await _show_merge(request, _MAY_NOT, 403)
    form = await read_form(request)
    try:
        desk, plan, approves = await asyncio.to_thread(_agreed, site, visitor, number, form)
    except (ToolFailure, AnswerError, ConfigError) as error:
        return await _show_merge(request, f"Not merged: {error}", 409)
    await look(request, lambda _: None)
    page = render(request, "merging", record=plan.case.record, command=plan.check.command)
    start, _, end = bytes(page.body).decode().partition(_HERE)
    task = asyncio.create_task(asyncio.to_thread(_merge, site, visitor, desk, plan, approves))
    body = _merging(task, start, end)
    return StreamingResponse(body, headers={"x-accel-buffering": "no"}, media_type="text/html; charset=utf-8")


def _agreed(site: Site, visitor: Visitor, number: str, form: Form) -> tuple[Desk, MergePlan, bool]:
    desk = _desk(site)
    plan, approves = _planned(desk, visitor.name, number)
    check_seal(site, visitor, form, "merge", number, form.one("state"), str(form.one("approves") == "True"))
    if form.one("state") != plan.state() or (form.one("approves") == "True") is not approves:
        raise AnswerError("something has changed since it was shown to you; look at it again below")
    if plan.case.writer.shown(plan.case.tip, plan.tree, MOST_SHOWN).left_out:
        raise AnswerError("the page does not show all of it; merge it with `rightcall pr merge`")
    return desk, plan, approves


def _merge(site: Site, visitor: Visitor, desk: Desk, plan: MergePlan, approves: bool) -> Any:
    policy = site.policy()
    sandbox = Sandbox(policy.sandbox.python, policy.sandbox.tier)
    try:
        who = _actor(site, visitor, plan.case.record.author)
        return merge_shown(desk, who, plan, Checker(lambda: sandbox, policy.sandbox.visible), approve=approves)
    finally:
        sandbox.close()


async def _merging(task: asyncio.Task[Any], start: str, end: str) -> AsyncIterator[str]:
    template = environment().get_template("merging_step.html")
    began = monotonic()
    yield start
    while not (await asyncio.wait({task}, timeout=1))[0]:
        yield template.render(seconds=round(monotonic() - began), done=None, fault=[])
    try:
        yield template.render(seconds=0, done=task.result(), fault=[])
    except RightCallError as error:
        yield template.render(seconds=0, done=None, fault=text_lines(str(error)))
    yield end


# ── undo ──


class UndoPage(Struct, frozen=True, kw_only=True):
    """One change, what it did and what taking it back would do."""

    entry: JournalEntry
    other: JournalEntry | None
    """The change that it undid, or else the one that undid it."""
    done: Done
    why_not: str
    files: list[FileDiff]
    digest: str
    drawn: int
    seal: str


async def show_change(request: Request) -> Response:
    return await _show_change(request)


async def _show_change(request: Request, problem: str = "", status: int = 200) -> Response:
    site, visitor, wanted = site_of(request), visitor_of(request), str(request.path_params["id"])
    found, fault = await _at_desk(request, site, lambda desk: _undo_page(site, visitor, desk, wanted))
    if found is None:
        return not_found(request, "No such change", fault or _NOWHERE)
    record = await look(request, lambda tables: call_of(tables, found.entry))
    return render(request, "change", status, change=found, problem=problem, record=record)


def _undo_page(site: Site, visitor: Visitor, desk: Desk, wanted: str) -> UndoPage:
    filed = desk.filed(wanted)
    why = why_not(desk, filed)
    parts = [] if why else show_undo(desk, filed)
    text = "\n".join(one.text for one in parts)
    if len(text) > MOST_SHOWN:
        why, text, parts = f"it is too long to be shown here: use `rightcall undo {filed.entry.id}`", "", []
    digest, drawn = sha256(text.encode(errors="surrogatepass")).hexdigest(), site.store.clock.now()
    return UndoPage(
        entry=filed.entry, other=_other(desk, filed.entry), done=diff_change(desk, filed), why_not=why,
        files=part_diffs(parts), digest=digest, drawn=drawn,
        seal=seal(site, visitor, drawn, "undo", filed.entry.id, digest),
    )  # fmt: skip


def _other(desk: Desk, entry: JournalEntry) -> JournalEntry | None:
    if not (other := entry.undoes or entry.undone):
        return None
    try:
        return desk.filed(other).entry
    except ToolFailure:  # newer ones needed its place
        return None


async def undo_one(request: Request) -> Response:
    site, visitor, wanted = site_of(request), visitor_of(request), str(request.path_params["id"])
    if not visitor.may_approve:
        return await _show_change(request, _MAY_NOT, 403)
    form = await read_form(request)
    if form.one("act") != "undo":
        return await _show_change(request, "Nothing was undone: press the button.", 400)
    try:
        made = await asyncio.to_thread(_undo, site, visitor, wanted, form)
    except (ToolFailure, AnswerError, ConfigError) as error:
        return await _show_change(request, f"Not undone: {error}", 409)
    return RedirectResponse(f"/changes/{made}", 303)


def _undo(site: Site, visitor: Visitor, wanted: str, form: Form) -> str:
    desk = _desk(site)
    change, shown = desk.filed(wanted).entry.id, form.one("digest")
    check_seal(site, visitor, form, "undo", change, shown)

    def still() -> bool:
        return _undo_page(site, visitor, desk, change).digest == shown

    return undo_change(desk, _actor(site, visitor, ""), change, still).change.id


PAGE = Page(
    "changes", "Changes", "branch", "/changes",
    [
        Route("/changes", show_all),
        Route("/changes/pulls/{number}", show_pull, methods=["GET"]),
        Route("/changes/pulls/{number}", act_on_pull, methods=["POST"]),
        Route("/changes/pulls/{number}/diff", show_diff),
        Route("/changes/pulls/{number}/merge", show_merge, methods=["GET"]),
        Route("/changes/pulls/{number}/merge", merge_pull, methods=["POST"]),
        Route("/changes/{id}", show_change, methods=["GET"]),
        Route("/changes/{id}", undo_one, methods=["POST"]),
    ],
)  # fmt: skip
