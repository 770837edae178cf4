"""Coming in and going out: a login link that counts once, a person's own credential, a login with the identity
provider of the policy, and the end of a session.

A link is opened by GET, which shows a button and touches nothing: whatever previews links must not use one up. The
button posts to the same address, so that the secret never stands in a page.
"""

import asyncio
import logging
from typing import Any, Final

from msgspec.json import encode
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rightcall.base.text import escaped
from rightcall.console.access import cookies_named, local_path, visitor_of
from rightcall.console.page import Page, Site, number_of, read_form, render, site_of
from rightcall.console.people import (
    ASKED_AS,
    SESSION_SECONDS,
    EntryKind,
    Made,
    end_identified,
    enter,
    enter_identified,
    is_known,
    leave,
    link_by_credential,
)
from rightcall.console.signon import BACK, Finished, SignOnError, choices, cookie_name
from rightcall.console.signon import SECONDS as SIGNON_SECONDS
from rightcall.errors import ConfigError
from rightcall.policy.types import Credential
from rightcall.record.tables import Tables

log = logging.getLogger("rightcall")

_USED: Final = (
    "This link does not work here: it was used already, is older than ten minutes, or belongs to another console. "
    "Run `rightcall console link` in the folder where this console was started."
)
_NOT_HERE: Final = "Nobody can log in with this provider here."
_NOT_BEGUN: Final = "This login was not begun in this browser, was used already, or began too long ago. Log in again."
_NOT_LET_IN: Final = "You are logged in at the provider, and the policy of this console does not let you in."
_WRONG: Final = "That credential is wrong or revoked. Ask whoever runs this console, or use a login link."


async def show_login(request: Request) -> Response:
    """The form; whoever is logged in goes on at once."""
    target = local_path(request.query_params.get("next", "/"))
    if "rightcall.visitor" in request.scope:
        return RedirectResponse(target, 303)
    # A strict cookie does not come with a link from another site: asked for again by this page itself, it does.
    again = request.headers.get("sec-fetch-site") == "cross-site"
    return _form(request, target, again=again)


def _form(request: Request, target: str, problem: str = "", status: int = 200, *, again: bool = False) -> Response:
    known = choices(site_of(request).policy().identity)
    return render(request, "login", status, target=target, problem=problem, again=again, providers=known)


async def log_in(request: Request) -> Response:
    """With a person's own credential."""
    form = await read_form(request)
    target, secret = local_path(form.one("next")), form.one("credential").strip()
    if request.headers.get("accept") == ASKED_AS:
        return await _linked(request, secret)
    found = await _enter(site_of(request), secret, "person")
    if found is None:
        return _form(request, target, _WRONG, 401)
    return _entered(request, *found, target)


async def _linked(request: Request, secret: str) -> Response:
    """For `rightcall console URL`: a link for a browser, in which the credential need not be typed."""
    site = site_of(request)
    link = None
    if await _is_known(site, secret, "person"):
        link = await site.store.atransact(lambda tables: link_by_credential(tables, secret))
    if link is None:
        return PlainTextResponse(f"{_WRONG}\n", 401)
    return Response(encode(Made(link)), media_type=ASKED_AS)


async def show_link(request: Request) -> Response:
    return render(request, "enter")


async def use_link(request: Request) -> Response:
    secret: str = request.path_params["secret"]
    found = await _enter(site_of(request), secret, "link")
    if found is None:
        return _form(request, "/", _USED, 401)
    return _entered(request, *found, "/")


# ── with an identity provider ──


async def begin_signon(request: Request) -> Response:
    """Off to the provider. Nothing is changed here: the browser keeps what the way back needs."""
    site, number = site_of(request), number_of(request.path_params["number"])
    if site.signon is None or number is None:
        return _form(request, "/", _NOT_HERE, 404)
    target = local_path(request.query_params.get("next", "/"))
    try:
        where, cookie = await site.signon.begin(number, target, _redirect(site))
    except SignOnError as error:
        return _form(request, target, str(error), 502)
    response = RedirectResponse(where, 303)
    response.set_cookie(**_kept_login(site), value=cookie, max_age=SIGNON_SECONDS)
    return response


async def finish_signon(request: Request) -> Response:
    """Back from the provider: with the right cookie, once."""
    site, given = site_of(request), request.query_params.multi_items()
    cookies = cookies_named(request, cookie_name(site.address().cookie))
    try:
        if site.signon is None or len(cookies) != 1 or len(dict(given)) != len(given):
            raise SignOnError(_NOT_BEGUN)
        done = await site.signon.finish(dict(given), cookies[0], _redirect(site))
        found = await site.store.atransact(lambda tables: _enter_identified(tables, done, site))
        if found is None or done.who is None:
            raise SignOnError(_NOT_BEGUN if done.who is not None else _NOT_LET_IN)
    except (SignOnError, ConfigError) as error:
        site.guesses.tell()
        response = _form(request, "/", str(error), 401)
        response.delete_cookie(**_kept_login(site))
        return response
    response = _entered(request, *found, done.login.target, done.who.seconds)
    response.delete_cookie(**_kept_login(site))
    return response


def _enter_identified(tables: Tables, done: Finished, site: Site) -> tuple[Credential, str] | None:
    if done.who is None:
        end_identified(tables, done.claims.issuer, done.claims.subject)
        return None
    policy = site.policy()
    mapped = (rule.caller for one in policy.identity for rule in one.map if rule.caller)
    return enter_identified(tables, done.who, done.login.state, (*policy.settings.callers, *mapped))


def _redirect(site: Site) -> str:
    return f"{site.address().origin}{BACK}"


def _kept_login(site: Site) -> dict[str, Any]:
    """The cookie of a login: the browser sends it along when the provider leads it back, which is another site."""
    address = site.address()
    return {
        "key": cookie_name(address.cookie), "path": "/", "httponly": True, "samesite": "lax", "secure": address.secure,
    }  # fmt: skip


async def _enter(site: Site, secret: str, kind: EntryKind) -> tuple[Credential, str] | None:
    if not await _is_known(site, secret, kind):
        return None
    return await site.store.atransact(lambda tables: enter(tables, secret, kind))


async def _is_known(site: Site, secret: str, kind: EntryKind) -> bool:
    """A wrong secret only reads: whoever guesses neither keeps calls from being recorded nor fills the log."""
    if await asyncio.to_thread(site.store.look, lambda tables: is_known(tables, secret, kind)):
        return True
    site.guesses.tell()
    return False


def _entered(
    request: Request, session: Credential, secret: str, target: str, seconds: int = SESSION_SECONDS
) -> Response:
    address = site_of(request).address()
    response = RedirectResponse(target, 303)
    response.set_cookie(
        address.cookie, secret, max_age=seconds, path="/", httponly=True, samesite="strict",
        secure=address.secure,
    )  # fmt: skip
    log.info("console: %s logged in", escaped(session.person, 100))
    return response


async def log_out(request: Request) -> Response:
    session = visitor_of(request).session
    await site_of(request).store.atransact(lambda tables: leave(tables, session))
    response = RedirectResponse("/login", 303)
    address = site_of(request).address()
    response.delete_cookie(address.cookie, path="/", httponly=True, samesite="strict", secure=address.secure)
    return response


PAGE = Page(
    "login", "Log in", "person", "",
    [
        Route("/login", show_login, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/login/with/{number}", begin_signon, methods=["GET"]),
        Route(BACK, finish_signon, methods=["GET"]),
        Route("/enter/{secret}", show_link, methods=["GET"]),
        Route("/enter/{secret}", use_link, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ],
)  # fmt: skip
