"""`web/fetch`: a page or a text file, as a model reads it. And `web/search`."""

import codecs
import re
from asyncio import run
from collections.abc import Iterator
from html import unescape
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode, urljoin

from msgspec import DecodeError, Struct
from msgspec.json import decode

from rightcall.base.http.client import look_up
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import cut_end, escaped
from rightcall.errors import ToolFailure
from rightcall.policy.commands import UrlRules
from rightcall.policy.settings import WebSettings
from rightcall.policy.trust import warn
from rightcall.tools.functions import Work
from rightcall.tools.pages import Page, Rules, StatusFailure, Target, ask_server, fetch_page, read_target, within


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
        hint = _NEEDS_JSON if failed.status == 403 else ""
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


# ── HTML as text ──
# A page of HTML as text that a model reads: headings, lists, tables, links; without scripts, styles and what a browser
# would not show.
#
# Pages are written by anybody. Every character is looked at a fixed number of times, whatever the page: the parser of
# the standard library takes minutes for some that were made for it.

_END = re.compile(r"[>\"']")
_NAME = re.compile(r"/?[A-Za-z][^\s/>]{0,40}")
_ATTRIBUTE = re.compile(r"([^\s=/\"'<>]{1,60})(?:\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_HIDDEN = re.compile(r"display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_LINES = re.compile(r"\n{3,}")
_EMPTY_COMMENT, _COMMENT_END = re.compile(r"<!---?>"), re.compile(r"--!?>")
_RAW: Final = frozenset(("script", "style", "textarea", "iframe", "noembed", "noframes", "xmp"))
"""Until their own end nothing in them is a tag."""
_UNSEEN: Final = frozenset(("template", "noscript", "svg", "math", "object", "canvas", "select", "dialog"))
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_BLOCKS: Final = frozenset(
    ("address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
     "figure", "footer", "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tr",
     "ul")
)  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_LISTS: Final = frozenset(("ul", "ol", "menu"))
_ROWS: Final = frozenset(("tr", "thead", "tbody", "tfoot"))
_CELLS: Final = frozenset(("td", "th"))
_LONGEST_ATTRIBUTES, _LONGEST_LINK = 8000, 1000
_LEAST_MAIN = 200
"""Characters from which the main part of a page counts as the whole."""


class _Ends(NamedTuple):
    """What ends an element whose end tag may be left out, unless that lies in another `around` within it: the start of
    one of `next`, the end of one of `around` or `outer`."""

    next: frozenset[str]
    around: frozenset[str]
    outer: frozenset[str] = frozenset()


def _left_out_ends() -> Iterator[tuple[str, _Ends]]:
    table, described, choices = frozenset(("table",)), frozenset(("dt", "dd")), frozenset(("option", "optgroup"))
    blocks = _BLOCKS | _LISTS | _ROWS | _CELLS | described | {*_HEADINGS, "caption", "center", "dialog", "hgroup", "li"}
    yield "p", _Ends(blocks, frozenset(), blocks)
    yield "li", _Ends(frozenset(("li",)), _LISTS)
    yield "tr", _Ends(_ROWS, table, _ROWS - {"tr"})
    yield from ((name, _Ends(_ROWS - {"tr"}, table)) for name in ("thead", "tbody", "tfoot"))
    yield from ((name, _Ends(_CELLS | _ROWS, table, _ROWS)) for name in _CELLS)
    yield from ((name, _Ends(described, frozenset(("dl",)))) for name in described)
    yield "option", _Ends(choices, frozenset(("select", "datalist")), frozenset(("optgroup",)))


_LEFT_OUT: Final = dict(_left_out_ends())


class Readable(Struct, frozen=True):
    title: str
    text: str


class _Tag(NamedTuple):
    name: str
    closing: bool
    attributes: str


def read_html(html: str, url: str) -> Readable:
    """`url` is where it came from, which links in it count from."""
    page = _Page(url)
    for token in _tokens(html):
        if isinstance(token, str):
            page.text(token)
        else:
            page.tag(token)
    return page.result()


def _tokens(html: str) -> Iterator[str | _Tag]:
    """Texts and tags, in turns. Comments, and what is inside of scripts and styles, are left out."""
    at, absent = 0, set[str]()
    while (start := html.find("<", at)) >= 0:
        if start > at:
            yield html[at:start]
        if html.startswith("<!--", start):
            ended = _EMPTY_COMMENT.match(html, start) or _COMMENT_END.search(html, start + 4)
            end = at = -1 if ended is None else ended.end()
        elif html.startswith(("<!", "<?"), start):
            end = html.find(">", start)
            at = end + 1
        else:
            named = _NAME.match(html, start + 1)
            if named is None:
                yield "<"
                at = start + 1
                continue
            end = _tag_end(html, named.end(), absent)
            at = end + 1
            tag = _tag(named[0], html[named.end() : min(end, named.end() + _LONGEST_ATTRIBUTES)])
            if end >= 0:
                yield tag
            if end >= 0 and tag.name in _RAW and not tag.closing:
                close = re.compile(rf"</{tag.name}(?=[\s/>])", re.IGNORECASE).search(html, at)
                end = at = -1 if close is None else close.start()
        if end < 0:  # it never ends: a browser shows nothing of it
            return
    if at < len(html):
        yield html[at:]


def _tag_end(html: str, at: int, absent: set[str]) -> int:
    """Where the tag ends, past `>` in quotes; -1 where it does not. `absent` remembers quotes that never come again."""
    while (found := _END.search(html, at)) is not None:
        sign = found[0]
        if sign == ">":
            return found.start()
        at = found.end()
        if sign not in absent:
            closed = html.find(sign, at)
            if closed < 0:
                absent.add(sign)
            else:
                at = closed + 1
    return -1


def _tag(name: str, attributes: str) -> _Tag:
    return _Tag(name.lstrip("/").lower(), name.startswith("/"), attributes)


def attributes_in(text: str) -> dict[str, str]:
    """By their names in lower case; the first of a name counts.

    >>> attributes_in(" href='a&amp;b' HIDDEN href=c")
    {'href': 'a&b', 'hidden': ''}
    """
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        found.setdefault(match[1].lower(), plain(match[2] or match[3] or match[4] or ""))
    return found


def plain(text: str) -> str:
    """Without entities."""
    if "&" not in text:
        return text
    try:
        return unescape(text)
    except ValueError:  # a number of thousands of digits
        return text


class _Page:
    def __init__(self, url: str) -> None:
        self._url = url
        self._parts: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._main: tuple[int, int] | None = None
        self._main_from = -1
        self._hidden = ""
        """The tag that began what is not shown, and"""
        self._depth = 0
        """how many of its name are open in it; of one whose end may be left out, how many around others of it."""
        self._in_cell = False
        self._open_link: tuple[str, int] | None = None
        """Where it leads, and where its text begins. There is one at a time, as in browsers."""
        self._preformatted = 0

    def text(self, text: str) -> None:
        if self._in_title:
            self._title.append(plain(text))
        elif not self._hidden:
            words = plain(text)
            self._parts.append(words if self._preformatted else _BLANKS.sub(" ", words))

    def tag(self, tag: _Tag) -> None:
        if tag.name == "title":
            self._in_title = not tag.closing and not self._title
            return
        if self._hidden:
            self._tag_in_hidden(tag)
        elif not tag.closing and self._is_unseen(tag):
            if tag.name not in _VOID and not (tag.attributes.endswith("/") and tag.name in ("svg", "math")):
                self._hidden, self._depth = tag.name, 1
                self._parts.append("\n\n" if tag.name in _BLOCKS and tag.name != "tr" else "")
        else:
            self._shown(tag)

    def _tag_in_hidden(self, tag: _Tag) -> None:
        ends = _LEFT_OUT.get(self._hidden)
        if ends is not None:
            self._tag_in_left_out(tag, ends)
            return
        if tag.name == self._hidden:
            self._depth += -1 if tag.closing else 1
        if self._depth == 0:
            self._hidden = ""

    def _tag_in_left_out(self, tag: _Tag, ends: _Ends) -> None:
        if tag.name in ends.around:
            self._depth += -1 if tag.closing else 1
        if self._depth > 1:
            return
        if tag.closing and tag.name == self._hidden:
            self._hidden = ""
        elif self._depth == 0 or tag.name in (ends.outer if tag.closing else ends.next):
            self._hidden = ""
            self.tag(tag)  # it belongs to what comes after

    def _is_unseen(self, tag: _Tag) -> bool:
        if tag.name in _UNSEEN or tag.name in _RAW:
            return True
        if tag.name == "head":  # of what belongs there nothing is shown, and what does not belong there ends it
            return False
        text = tag.attributes
        if "idden" not in text and "isplay" not in text.lower() and "HIDDEN" not in text:
            return False
        told = attributes_in(text)
        return (
            "hidden" in told or told.get("aria-hidden") == "true" or _HIDDEN.search(told.get("style", "")) is not None
        )

    def _shown(self, tag: _Tag) -> None:
        name, parts = tag.name, self._parts
        if name in _HEADINGS:
            parts.append("\n" if tag.closing else f"\n\n{_HEADINGS[name]} ")
        elif name == "a":
            self._link(tag)
        elif name == "br":
            parts.append("\n")
        elif name == "li":
            parts.append("" if tag.closing else "\n- ")
        elif name in _CELLS:
            parts.append(" | " if tag.closing or self._in_cell else "")
            self._in_cell = not tag.closing
        elif name == "img" and (told := attributes_in(tag.attributes).get("alt", "").strip()):
            parts.append(f"[image: {_BLANKS.sub(' ', told)[:200]}]")
        elif name in _BLOCKS:
            self._block(tag)

    def _block(self, tag: _Tag) -> None:
        if tag.name == "pre":
            self._preformatted = max(0, self._preformatted + (-1 if tag.closing else 1))
        if tag.name == "main":
            self._mark_main(tag.closing)
        if tag.name in ("tr", "table"):
            self._parts.append(" | " if self._in_cell and (tag.closing or tag.name == "tr") else "")
            self._in_cell = False
        self._parts.append("\n" if tag.name == "tr" else "\n\n")

    def _mark_main(self, closing: bool) -> None:
        if not closing and self._main_from < 0:
            self._main_from = len(self._parts)
        elif closing and self._main is None and self._main_from >= 0:
            self._main = self._main_from, len(self._parts)

    def _link(self, tag: _Tag) -> None:
        """`[text](address)`, where there is a text and an address that could be fetched."""
        if not tag.closing:
            address = self._address(attributes_in(tag.attributes).get("href", ""))
            self._open_link = address, len(self._parts)
            return
        if self._open_link is None:
            return
        (address, start), self._open_link = self._open_link, None
        words = "".join(self._parts[start:])
        if address and words.strip() and len(words) < _LONGEST_LINK:
            del self._parts[start:]
            self._parts.append(f"[{words.strip()}]({address})")
            if self._main_from > len(self._parts):
                self._main_from = len(self._parts)

    def _address(self, written: str) -> str:
        if not written or written.startswith("#") or len(written) > _LONGEST_LINK:
            return ""
        try:
            whole = urljoin(self._url, written.strip())
        except ValueError:
            return ""
        fits = whole.startswith(("http://", "https://")) and whole.isprintable() and len(whole) <= _LONGEST_LINK
        return whole.replace(" ", "%20").replace(")", "%29").replace("(", "%28") if fits else ""

    def result(self) -> Readable:
        first, last = self._main or (0, 0)
        main = _tidy("".join(self._parts[first:last]))
        text = main if len(main) >= _LEAST_MAIN else _tidy("".join(self._parts))
        return Readable(_BLANKS.sub(" ", "".join(self._title)).strip()[:300], text)


def _tidy(text: str) -> str:
    lines = (line.rstrip() if line[:1] in " \t" and line.strip() else line.strip() for line in text.split("\n"))
    return _LINES.sub("\n\n", "\n".join(lines)).strip()
