"""`web/search`: asks the SearXNG-compatible server that the policy names.

Its address is the policy's own word, and so may be one of a private network; nothing that it answers is followed. What
it answers was written by anybody: texts are cut, other addresses than those of pages left out.
"""

from typing import Any, Final
from urllib.parse import urlencode

from msgspec import DecodeError, Struct
from msgspec.json import decode

from rightcall.base.http.client import look_up
from rightcall.config_hands import WebSettings
from rightcall.errors import ToolFailure
from rightcall.parse.kinds import is_list, is_object
from rightcall.text.escape import cut_end, escaped
from rightcall.trust.telling import warn
from rightcall.web.client import Page, StatusFailure, ask_server, within
from rightcall.web.targets import Target, read_target
from rightcall.web.tools import SearchArguments

MOST: Final = 20
"""Results of one answer."""
LONGEST_QUERY: Final = 500
_TITLE, _SNIPPET, _URL = 200, 500, 2000
_LOOKED_AT = 200
"""Results of the server that are looked at."""
_FORBIDDEN: Final = 403
_NEEDS_JSON: Final = "; SearXNG does that until its settings.yml allows json: search: formats: [html, json]"


class Hit(Struct, frozen=True, omit_defaults=True):
    title: str
    url: str
    snippet: str = ""
    published: str = ""


class Searched(Struct, frozen=True, kw_only=True):
    success: bool = True
    query: str
    results: list[Hit]
    untrusted: bool = True
    """Anybody may have written it."""


async def search(asked: SearchArguments, settings: WebSettings) -> Searched:
    """Raises ToolFailure."""
    query = " ".join(asked.query.split())
    if not query:
        raise ToolFailure("`query` is empty. Pass the words to search for.")
    if len(query) > LONGEST_QUERY:
        raise ToolFailure(f"`query` has {len(query):,} characters. Pass at most {LONGEST_QUERY}.")
    words = urlencode({"q": query, "format": "json", "pageno": max(asked.page, 1)})
    target = read_target(f"{settings.search}/search?{words}")
    page = await within(settings.seconds, _ask_engine(target, settings))
    return Searched(query=query, results=_results(page, min(max(asked.limit, 1), MOST)))


async def _ask_engine(target: Target, settings: WebSettings) -> Page:
    try:
        at = await look_up(target.host, target.port)
    except (OSError, UnicodeError):
        raise _failure("its name cannot be found", target) from None
    try:
        found = await ask_server(target, at, settings.bytes, "application/json")
    except StatusFailure as failed:
        hint = _NEEDS_JSON if failed.status == _FORBIDDEN else ""
        raise _failure(f"it answered with the status {failed.status}{hint}", target) from None
    except ToolFailure as failed:
        raise _failure(str(failed).rstrip(".").replace(target.address.authority, "it", 1), target) from None
    if isinstance(found, str):
        whither = escaped(found.partition("?")[0], 200)
        raise _failure(
            f"it redirects to {whither}, which is not followed; set `search` in [web] to its address", target
        )
    return found


def _failure(why: str, target: Target) -> ToolFailure:
    """The operator is told why, in the log or on standard error; a model could do nothing about it."""
    warn(f"web/search got no results from {escaped(target.address.authority, 100)}: {why}")
    return ToolFailure(
        "The search server gave no answer that can be used. Go on without searching, or try again later."
    )


def _results(page: Page, limit: int) -> list[Hit]:
    kind = escaped((page.content_type or "no type").partition(";")[0], 60)
    try:
        answer: Any = decode(page.body)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        raise _failure(f"it answered with {kind} that is not JSON{_NEEDS_JSON}", page.target) from None
    listed: Any = answer.get("results") if is_object(answer) else None
    if not is_list(listed):
        raise _failure("its JSON has no list of `results`, so it may be no SearXNG-compatible server", page.target)
    found: dict[str, Hit] = {}
    for one in listed[:_LOOKED_AT]:
        hit = _hit(one)
        if hit is not None:
            found.setdefault(hit.url, hit)
        if len(found) == limit:
            break
    return list(found.values())


def _hit(one: Any) -> Hit | None:
    """None: it has no address that could be fetched."""
    if not is_object(one):
        return None
    url = one.get("url")
    if not isinstance(url, str) or len(url) > _URL:
        return None
    try:
        target = read_target(url)
    except ToolFailure:
        return None
    return Hit(
        _line(one.get("title"), _TITLE) or target.host,
        str(target),
        _line(one.get("content"), _SNIPPET),
        _line(one.get("publishedDate"), 40),
    )


def _line(text: Any, most: int) -> str:
    if not isinstance(text, str):
        return ""
    return cut_end(" ".join(text[: most * 4].split()), most)
