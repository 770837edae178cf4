"""Approvals: what waits for a person, one question whole, and the answer to it.

An answer is given under the same rules as at the terminal: it carries the digest that was shown, is compared with the
one question that waits, is given once, and stands in the record with the person's name. The form also carries a seal of
when it was drawn, for whom: what was pressed before anybody could read it does not count.
"""

from asyncio import to_thread
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from secrets import token_hex
from typing import Any, Final, Literal, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rightcall.base.secrets import Redactor
from rightcall.console.access import Visitor, visitor_of
from rightcall.console.changes import find_change
from rightcall.console.page import Form, Page, Site, look, not_found, read_form, render, site_of
from rightcall.console.people import still_counts
from rightcall.console.questions import Question, describe_answer, lay_out, plain_arguments
from rightcall.errors import AnswerError
from rightcall.executor.question import is_cut_off, state_of, time_left
from rightcall.policy.settings import Policy
from rightcall.policy.types import SECOND, Approval, Grant
from rightcall.record.admission import (
    Reply,
    answer,
    approval_of,
    earlier_definition,
    give_grant,
    may_be_taken_back,
    require_answerable,
)
from rightcall.record.calls import call
from rightcall.record.tables import Tables

_FIRST_GLANCE: Final = SECOND // 2
"""Nanoseconds in which nobody has read a question: an answer that comes sooner was not meant for it."""
_MOST_ANSWERED: Final = 20
_MOST_LOGINS: Final = 50
LONGEST_REASON: Final = 500
LENGTHS: Final = {"600": "10 minutes", "3600": "1 hour", "28800": "8 hours", "86400": "1 day", "604800": "7 days"}
USES: Final = ("1", "5", "20", "100")


class Listed(Struct, frozen=True):
    """One question in the list."""

    approval: Approval
    state: str
    left: str
    why: str
    may_be_taken_back: bool


async def show_all(request: Request) -> Response:
    now = site_of(request).store.clock.now()

    def work(tables: Tables) -> tuple[list[Listed], list[Listed]]:
        waiting = [one for one in tables.approvals("waiting") if one.expires_at > now]
        done = tables.approvals("approved", "denied", "used", "expired")[-_MOST_ANSWERED:]
        return [_listed(one, now) for one in waiting], [_listed(one, now) for one in reversed(done)]

    waiting, done = await look(request, work)
    logins = await to_thread(_missing_logins, site_of(request).policy())
    return render(request, "inbox", waiting=waiting, done=done, logins=logins)


class MissingLogin(Struct, frozen=True):
    """A server of the policy that nobody can call before somebody logs in."""

    server: str
    caller: str
    why: str
    command: str


def _missing_logins(policy: Policy) -> list[MissingLogin]:
    """Those that calls of this user have met."""
    urls = {one.url for one in policy.servers.values() if one.url}
    if not urls:
        return []
    from rightcall.identity.logins import describe_want  # late: few consoles have such servers
    from rightcall.identity.vault import Vault

    found = [one for one in Vault().wants() if one.url in urls][:_MOST_LOGINS]
    return [MissingLogin(one.server, one.caller, describe_want(one), one.command) for one in found]


def _listed(one: Approval, now: int) -> Listed:
    rule, _, why = one.why.partition(": ")
    return Listed(one, state_of(one, now), time_left(one.expires_at, now), why or rule, may_be_taken_back(one, now))


async def show_one(request: Request) -> Response:
    return await _show(request, request.path_params["id"])


async def _show(request: Request, id: str, problem: str = "", status: int = 200) -> Response:
    site, visitor = site_of(request), visitor_of(request)
    now = site.store.clock.now()

    def work(tables: Tables) -> tuple[Question, int, Grant | None] | None:
        approval = tables.approval(id)
        if approval is None:
            return None
        before = "" if approval.kind == "call" else earlier_definition(tables, approval.tool, approval.kind)
        question, record = lay_out(approval, before, now), _record_of(tables, approval)
        if question.is_waiting:
            return question, record, None
        question = replace(question, sentence=describe_answer(approval, _count(tables, approval, record), now))
        return question, record, next((one for one in tables.all_grants() if one.note == _from(approval)), None)

    found = await look(request, work)
    if found is None:
        return not_found(request, "No such approval", "It is not kept any more, or it was never asked.")
    question, record, grant = found
    number = question.approval.used_by
    ran = await look(request, lambda tables: call(tables, number)) if number else None
    done = None if ran is None else await to_thread(find_change, site, ran)
    return render(
        request, "question", status, question=question, problem=problem, seal=_seal(site, visitor, question, now),
        drawn=now, terms=plain_arguments(question.approval), lengths=LENGTHS, uses=USES, record=record,
        back=may_be_taken_back(question.approval, now), grant=grant,
        until="" if grant is None else time_left(grant.expires_at, now),
        left=time_left(question.approval.expires_at, now), ran=ran, done=done,
    )  # fmt: skip


def _record_of(tables: Tables, approval: Approval) -> int:
    """The record of the call that asked, among the newest."""
    for entry in tables.newest(500, ("waiting",)):
        if approval.id.encode() in entry.body:
            return entry.seq
    return 0


def _count(tables: Tables, approval: Approval, record: int) -> int | None:
    """How many arguments an answered call had: those are erased here, and stand in the records."""
    number = approval.used_by or record
    found = call(tables, number) if number else None
    given: Any = None if found is None else found.params
    return len(cast("dict[str, Any]", given)) if isinstance(given, dict) else None


def _from(approval: Approval) -> str:
    """The note of a grant that was given with an answer."""
    return f"from approval {approval.id}"


def _seal(site: Site, visitor: Visitor, question: Question, drawn: int) -> str:
    """Binds a form to the question, the digest that stood below it, who saw it and when."""
    bound = "\0".join((question.approval.id, question.digest, visitor.session.id, str(drawn)))
    return hmac(site.store.key(), b"console form\0" + bound.encode(), sha256).hexdigest()


def _is_sealed(site: Site, visitor: Visitor, question: Question, said: "Said") -> bool:
    return compare_digest(_seal(site, visitor, question, said.drawn).encode(), said.seal.encode())


class Said(NamedTuple):
    """What a form says."""

    word: Literal["approved", "denied"]
    digest: str
    reason: str
    drawn: int
    seal: str
    grant: bool
    uses: str
    seconds: str
    where: list[str]
    """Numbers of the arguments that must stay as they are: a name may hold what no page shows."""
    takes_back: bool
    """A no to a yes that was given before: only who presses that button means it."""


def _read(form: Form) -> Said:
    word, drawn = form.one("answer"), form.one("drawn")
    return Said(
        "denied" if word in ("deny", "take back") else "approved", form.one("digest"),
        form.one("reason").strip()[:LONGEST_REASON],
        int(drawn) if drawn.isascii() and drawn.isdecimal() and len(drawn) < 25 else 0, form.one("seal"),
        word == "grant", form.one("uses"), form.one("seconds"), form.all("where"), word == "take back",
    )  # fmt: skip


async def answer_one(request: Request) -> Response:
    """Approve or deny; then the receipt."""
    wanted: str = request.path_params["id"]
    site, visitor = site_of(request), visitor_of(request)
    if not visitor.may_approve:
        told = "You may look, but not answer. Ask for it: rightcall people add NAME --may approve"
        return await _show(request, wanted, told, 403)
    form = await read_form(request)
    if form.one("answer") not in ("approve", "deny", "grant", "take back"):
        return await _show(request, wanted, "Nothing was answered: press one of the buttons.", 400)
    said = _read(form)
    try:
        await site.store.atransact(partial(_answer, site=site, visitor=visitor, id=wanted, said=said))
    except AnswerError as error:
        return await _show(request, wanted, f"Not answered: {error}", 409)
    return RedirectResponse(f"/inbox/{wanted}", 303)


def _answer(tables: Tables, *, site: Site, visitor: Visitor, id: str, said: Said) -> None:
    """In one transaction: the same question, as it was shown, by somebody who could read it and may answer now."""
    if not still_counts(tables, visitor.session):
        raise AnswerError("your session has ended, or you may not answer any more")
    settings, now = site.policy().settings, tables.now()
    approval = approval_of(tables, id)
    if said.takes_back and approval.status == "used":
        raise AnswerError(f"the call has run meanwhile, as record {approval.used_by}, so nothing can be taken back")
    if approval.by and not (said.takes_back and may_be_taken_back(approval, now)):
        word = "denied" if approval.status == "denied" else "approved"
        raise AnswerError(f"{approval.by} has already {word} it, and an answer is given once")
    if not said.takes_back:
        require_answerable(approval, now)
    if said.word == "approved":
        _check_shown(site, visitor, approval, said, now)
    hide = Redactor(site.store.key(), settings.audit.redact).value
    reply = Reply(said.word, visitor.name, said.digest, said.reason, hide, "console", said.takes_back)
    callers = tuple(settings.callers)
    answer(tables, id, reply, settings.approval.expires, callers)
    if said.grant:
        give_grant(tables, _grant(approval, visitor, said, now, tables.wall()), callers, hide)


def _check_shown(site: Site, visitor: Visitor, approval: Approval, said: Said, now: int) -> None:
    """Raises AnswerError where the form was not drawn for this person and this digest, or is older than the question
    can wait, or younger than anybody reads."""
    question = lay_out(approval, "", now)
    if not question.digest or is_cut_off(approval):
        raise AnswerError("the page does not show all of it, so it cannot be approved from here; deny it")
    if said.digest != approval.digest or not _is_sealed(site, visitor, question, said):
        raise AnswerError("this is not the question that was shown to you; read it again below")
    if not now - said.drawn >= _FIRST_GLANCE:
        raise AnswerError("the answer came before anybody could read the question; read it, then press again")


def _grant(approval: Approval, visitor: Visitor, said: Said, now: int, wall: str) -> Grant:
    if approval.kind != "call":
        raise AnswerError("only calls can be granted in advance")
    if said.uses not in USES or said.seconds not in LENGTHS:
        raise AnswerError("a grant needs a number of uses and a time, as the form offers them")
    exact = plain_arguments(approval)
    offered = {str(at): name for at, name in enumerate(exact)}
    if any(one not in offered for one in said.where):
        raise AnswerError("the grant names an argument that this call does not have")
    where: dict[str, Any] = {offered[one]: exact[offered[one]] for one in said.where}
    return Grant(
        token_hex(4), approval.caller, approval.tool, where, int(said.uses), now + int(said.seconds) * SECOND,
        visitor.name, wall, _from(approval),
    )  # fmt: skip


PAGE = Page(
    "inbox", "Inbox", "inbox", "/inbox",
    [
        Route("/inbox", show_all),
        Route("/inbox/{id}", show_one, methods=["GET"]),
        Route("/inbox/{id}", answer_one, methods=["POST"]),
    ],
)  # fmt: skip
