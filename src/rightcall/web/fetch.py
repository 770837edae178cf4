"""`web/fetch`: a page or a text file, as a model reads it."""

import codecs
import re
from typing import Final

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.text.escape import escaped
from rightcall.web.client import Page, fetch_page
from rightcall.web.readable import read_html
from rightcall.web.targets import Rules
from rightcall.web.tools import FetchArguments

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
