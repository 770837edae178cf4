"""`web/fetch`: a page or a text file, as a model reads it. And `web/search`."""

import codecs
import re
from asyncio import run
from typing import Any, Final, Literal
from urllib.parse import urlencode

from msgspec import DecodeError, Struct
from msgspec.json import decode

from rightcall.base.http.client import look_up
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import cut_end, escaped
from rightcall.errors import ToolFailure
from rightcall.policy.commands import UrlRules
from rightcall.policy.ledger import warn
from rightcall.policy.settings import WebSettings
from rightcall.tools.functions import Work
from rightcall.tools.web.client import Page, Rules, StatusFailure, Target, ask_server, fetch_page, read_target, within
from rightcall.tools.web.readable import read_html


class FetchArguments(Struct, frozen=True, rename={"most": "maxLength"}):
    url: str
    format: Literal["text", "raw"] = "text"
    start: int = 0
    most: int = 20_000


class SearchArguments(Struct, frozen=True):
    query: str
    limit: int = 10
    page: int = 1


def fetch_work(settings: WebSettings, urls: UrlRules, root: str) -> Work:
    return Work(FetchArguments, lambda asked: run(fetch(asked, Rules(settings, urls, root))))


def search_work(settings: WebSettings) -> Work:
    return Work(SearchArguments, lambda asked: run(search(asked, settings)))


MOST: Final = 100_000
"""Characters of one answer."""
_ACCEPT: Final = "text/html, application/xhtml+xml, text/markdown;q=0.9, text/*;q=0.8, application/json;q=0.8"
_HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
_TEXT = re.compile(
    r"text/[\w.+-]+|application/(?:[\w.+-]+\+)?(?:json|xml|yaml|toml|ndjson)|application/(?:x-)?(?:javascript|yaml|sh)"
)
_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,80}")
_CHARSET = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_CODECS = re.compile(
    r"utf|ascii|latin|iso8859|cp(?:437|850|852|866|874|932|949|950|125\d)|koi8|big5|gb|hz|euc|shift|johab|iso2022|mac|tis",
)
"""Those that pages are written in, and that take no longer than others. Python's `punycode` and the like are not."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Fetched(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    url: str
    """Where it came from in the end."""
    redirects: tuple[str, ...]
    content_type: str
    title: str
    content: str
    start: int
    length: int
    """Characters of the whole text; `content` is those from `start` on."""
    truncated: bool
    untrusted: bool = True
    """Anybody may have written it."""


async def fetch(asked: FetchArguments, rules: Rules) -> Fetched:
    """Raises ToolFailure."""
    page = await fetch_page(asked.url, rules, _ACCEPT)
    kind = _kind(page)
    title, text = "", _decoded(page, kind)
    if kind in _HTML and asked.format == "text":
        readable = read_html(text, str(page.target))
        title, text = readable.title, readable.text
    start, most = max(asked.start, 0), min(max(asked.most, 1), MOST)
    if start and start >= len(text):
        raise ToolFailure(f"start {start} lies beyond the end; the text has {len(text):,} characters")
    content = text[start : start + most]
    return Fetched(
        url=str(page.target),
        redirects=page.redirects,
        content_type=kind,
        title=title,
        content=content,
        start=start,
        length=len(text),
        truncated=start + len(content) < len(text),
    )


def _kind(page: Page) -> str:
    """The type of the content. Raises ToolFailure for what is not text."""
    said = page.content_type.partition(";")[0].strip().lower()
    if not said or said == "application/octet-stream":
        if b"\0" in page.body[:4000] and not page.body.startswith(tuple(mark for mark, _ in _MARKS)):
            raise ToolFailure("The answer is not text. Fetch a page or a text file.")
        is_page = page.body[:200].lstrip().lower().startswith((b"<!doctype html", b"<html"))
        return "text/html" if is_page else "text/plain"
    if not _TYPE.fullmatch(said) or not _TEXT.fullmatch(said):
        told = escaped(said, 60)
        raise ToolFailure(f"The answer has the type {told}, which is not text. Fetch a page or a text file.")
    return said


def _decoded(page: Page, kind: str) -> str:
    """By its mark of byte order, its header, its own word, or as UTF-8. What cannot be read becomes a sign for that."""
    for mark, name in _MARKS:
        if page.body.startswith(mark):
            return page.body.decode(name, "replace")
    told = _CHARSET.search(page.content_type)
    if told is None and (kind in _HTML or kind.endswith("xml")):
        told = _CHARSET.search(page.body[:1024].decode("latin-1").replace("encoding=", "charset="))
    return page.body.decode(_codec(told[1]) if told is not None else "utf-8", "replace")


def _codec(name: str) -> str:
    """A codec that pages use; UTF-8 for a name that is none.

    >>> _codec("ISO-8859-1"), _codec("punycode"), _codec("nonsense"), _codec("utf-7")
    ('iso8859-1', 'utf-8', 'utf-8', 'utf-8')
    """
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return "utf-8"
    plain = found.replace("_", "").replace("-", "")
    return found if _CODECS.match(plain) and plain not in ("utf7", "utf8sig") else "utf-8"


# ── search ──
# `web/search`: asks the SearXNG-compatible server that the policy names.
#
# Its address is the policy's own word, and so may be one of a private network; nothing that it answers is followed.
# What it answers was written by anybody: texts are cut, other addresses than those of pages left out.

MOST_RESULTS: Final = 20
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
    return Searched(query=query, results=_results(page, min(max(asked.limit, 1), MOST_RESULTS)))


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
