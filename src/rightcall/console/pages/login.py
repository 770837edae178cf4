"""Coming in and going out: a login link that counts once, a person's own credential, and the end of a session.

A link is opened by GET, which shows a button and touches nothing: whatever previews links must not use one up. The
button posts to the same address, so that the secret never stands in a page.
"""

import asyncio
import logging
from typing import Final

from msgspec.json import encode
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rightcall.base.text import escaped
from rightcall.console.access import local_path, visitor_of
from rightcall.console.page import Page, Site, read_form, render, site_of
from rightcall.console.people import SESSION_SECONDS, EntryKind, enter, is_known, leave, link_by_credential
from rightcall.console.remote import ASKED_AS, Made
from rightcall.policy.types import Credential

log = logging.getLogger("rightcall")

_USED: Final = (
    "This link does not work here: it was used already, is older than ten minutes, or belongs to another console. "
    "Run `rightcall console link` in the folder where this console was started."
)
_WRONG: Final = "That credential is wrong or revoked. Ask whoever runs this console, or use a login link."


async def show_login(request: Request) -> Response:
    """The form; whoever is logged in goes on at once."""
    target = local_path(request.query_params.get("next", "/"))
    if "rightcall.visitor" in request.scope:
        return RedirectResponse(target, 303)
    # A strict cookie does not come with a link from another site: asked for again by this page itself, it does.
    again = request.headers.get("sec-fetch-site") == "cross-site"
    return render(request, "login", target=target, problem="", again=str(request.url.path) if again else "")


async def log_in(request: Request) -> Response:
    """With a person's own credential."""
    form = await read_form(request)
    target, secret = local_path(form.one("next")), form.one("credential").strip()
    if request.headers.get("accept") == ASKED_AS:
        return await _linked(request, secret)
    found = await _enter(site_of(request), secret, "person")
    if found is None:
        return render(request, "login", 401, target=target, problem=_WRONG, again="")
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
        return render(request, "login", 401, target="/", problem=_USED, again="")
    return _entered(request, *found, "/")


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


def _entered(request: Request, session: Credential, secret: str, target: str) -> Response:
    address = site_of(request).address()
    response = RedirectResponse(target, 303)
    response.set_cookie(
        address.cookie, secret, max_age=SESSION_SECONDS, path="/", httponly=True, samesite="strict",
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
        Route("/enter/{secret}", show_link, methods=["GET"]),
        Route("/enter/{secret}", use_link, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ],
)  # fmt: skip
