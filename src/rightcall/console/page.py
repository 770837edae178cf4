"""What every page is made with: the site it belongs to, a look into the store, and its template.

A screen is one module of `console/pages`, with its routes and its template of the same name; `pages/__init__.py` lists
them. Everything that others wrote goes through `seen` or `lines` before it is shown: no character hides in it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast
from urllib.parse import parse_qs
from weakref import WeakValueDictionary

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct, field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from rightcall import __version__
from rightcall.base.letters import right_to_left_words, visible
from rightcall.base.text import cut_end
from rightcall.console.access import STATIC, Address, Visitor
from rightcall.console.bench import Bench, Visits
from rightcall.console.people import still_counts
from rightcall.console.questions import json_visible, plain_json
from rightcall.console.signon import SignOn
from rightcall.policy.settings import Policy
from rightcall.policy.types import Pause
from rightcall.record.browse import moment
from rightcall.record.tables import Store, Tables

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from rightcall.console.pages.live import Pulse

T = TypeVar("T")

log = logging.getLogger("rightcall")


class Page(NamedTuple):
    """One screen."""

    name: str
    """Of its module and its template."""
    title: str
    icon: str
    """A symbol of `static/icons.svg`."""
    path: str
    """Where it begins; empty for a screen that is not in the navigation."""
    routes: Sequence[BaseRoute]


class Kept:
    """Figures that take long, used again for a while: however many look, and however much is recorded meanwhile, at
    most a twentieth of the time goes into one of them. Used within one event loop."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._found: dict[Hashable, tuple[Any, float]] = {}
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: Hashable, work: Callable[[], T]) -> T:
        """What `work` finds, in a thread, or what it found under this key not long ago."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            began = self._now()
            self._found = {one: kept for one, kept in self._found.items() if began < kept[1]}
            if key in self._found:
                return self._found[key][0]
            found = await asyncio.to_thread(work)
            took = self._now() - began
            if took >= _LONG:
                self._found[key] = found, self._now() + 20 * took
            return found


_LONG: Final = 0.05
"""Seconds from which on a figure takes long."""


class Guesses:
    """Logins with a wrong secret. They are logged once a minute: whoever guesses shall not fill the disk with it."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._wrong = 0
        self._told_at = -_QUIET

    def tell(self) -> None:
        self._wrong += 1
        if (now := self._now()) - self._told_at >= _QUIET:
            log.warning("console: rejected %d logins with a wrong secret since the last such line", self._wrong)
            self._wrong, self._told_at = 0, now


_QUIET: Final = 60.0


class Site(Struct, frozen=True):
    """What all pages share."""

    store: Store
    policy: Callable[[], Policy]
    """The one in force at this moment."""
    address: Callable[[], Address]
    pulse: Pulse
    kept: Kept
    pages: tuple[Page, ...] = ()
    root: str = "."
    """The folder that the policy is about."""
    state: Callable[[], Mapping[str, Any]] = dict
    """How the server is that runs beside it; empty where none does."""
    tools: Callable[[], list[tuple[str, dict[str, Any]]]] = list
    """Those of the MCP servers behind it, each with its server."""
    checks: Callable[[], Mapping[str, Any]] = dict
    """What `rightcall doctor` finds on this machine; empty where it cannot look."""
    passed: Callable[[int], list[list[dict[str, Any]]]] = lambda _: []
    """The tools of the last requests through the proxy beside it, as many sets as are asked for."""
    bench: Bench = field(default_factory=Bench)
    """What screens share that try things out."""
    visits: Visits = field(default_factory=Visits)
    """Of the doctor."""
    guesses: Guesses = field(default_factory=Guesses)
    signon: SignOn | None = None
    """Logins with the identity providers of the policy."""


def site_of(request: Request) -> Site:
    return request.app.state.site


class Glance(Struct, frozen=True):
    """What every page shows of the store, and the event stream sends."""

    head: int
    waiting: int
    paused: Pause | None = None


def glance(tables: Tables, now: int) -> Glance:
    return Glance(tables.head()[0], tables.count_waiting(now), tables.paused())


def number_in(request: Request) -> int:
    """The number in a path. Raises HTTPException for what no record can have."""
    found = number_of(request.path_params["number"])
    if found is None:
        raise HTTPException(404)
    return found


def number_of(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 18 else None


async def look(request: Request, work: Callable[[Tables], T]) -> T:
    """What a work finds in the store, read in a thread. The page's frame is read with it."""
    store = site_of(request).store

    def both(tables: Tables) -> tuple[Glance, T]:
        return glance(tables, store.clock.now()), work(tables)

    request.state.glance, found = await asyncio.to_thread(store.look, both)
    return found


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    site = site_of(request)
    visitor: Visitor | None = request.scope.get("rightcall.visitor")
    frame = {
        "visitor": visitor, "pages": [one for one in site.pages if one.path], "glance": _glance_of(request),
        "path": request.url.path, "version": __version__, "served": bool(site.state()),
    }  # fmt: skip
    return HTMLResponse(environment().get_template(f"{template}.html").render(frame | values), status)


def _glance_of(request: Request) -> Glance | None:
    return cast("Glance | None", getattr(request.state, "glance", None))


def not_found(request: Request, what: str, hint: str) -> Response:
    return render(request, "message", 404, title=what, text=hint, back=("/", "Overview"))


# ── forms ──

MOST_FORM: Final = 100_000


class Form(NamedTuple):
    """The fields of a form, each as often as it was given."""

    fields: Mapping[str, list[str]]

    def one(self, name: str) -> str:
        """Empty where it is missing, or was given twice."""
        found = self.fields.get(name, [])
        return found[0] if len(found) == 1 else ""

    def all(self, name: str) -> list[str]:
        return self.fields.get(name, [])


async def read_form(request: Request, most: int = MOST_FORM) -> Form:
    """The body of a form as browsers send it. Raises HTTPException for any other, for one of more bytes, and where the
    session ended while the body came: whoever sends slowly is not let in any longer than others."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise HTTPException(415)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise HTTPException(413)
    visitor: Visitor | None = request.scope.get("rightcall.visitor")
    if visitor is not None:
        session, store = visitor.session, site_of(request).store
        if not await asyncio.to_thread(store.look, lambda tables: still_counts(tables, session)):
            raise HTTPException(401)
    try:
        return Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=200))
    except ValueError:
        raise HTTPException(400) from None


# ── static files ──
# Read once, and served under a name that changes with any of them: a browser keeps them for ever.

_TYPES: Final = {
    ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}  # fmt: skip


class Assets(NamedTuple):
    digest: str
    files: Mapping[str, bytes]

    def url(self, name: str) -> str:
        """Raises KeyError for a file that is not there."""
        self.files[name]
        return f"{STATIC}{self.digest}/{name}"


@cache
def assets() -> Assets:
    folder = files("rightcall.console") / "static"
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    whole = sha256()
    for name in sorted(found):
        whole.update(name.encode() + b"\0" + found[name])
    return Assets(whole.hexdigest()[:16], found)


async def serve_file(request: Request) -> Response:
    """Only under the digest of now: what an old page asks for is gone, and not something else."""
    name, known = request.path_params["name"], assets()
    kind = _TYPES.get(f".{name.rpartition('.')[2]}")
    if request.path_params["digest"] != known.digest or name not in known.files or kind is None:
        return PlainTextResponse("No such file.\n", 404)
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(known.files[name], headers=headers, media_type=kind)


# ── templates ──

LONGEST_NAME: Final = 80
LONGEST_LINKED: Final = 500
"""Of a name in an address: no filter takes more."""
_MOST_LINES: Final = 20_000


@cache
def environment() -> Environment:
    folder = files("rightcall.console") / "templates"
    texts = {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir() if one.name.endswith(".html")}
    made = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters: dict[str, Any] = {"seen": seen, "name": short_name, "lines": lines, "when": when, "took": took}
    filters |= {"number": number, "percent": percent, "json": one_line, "changes": changes}
    cast("dict[str, Any]", made.filters).update(filters)  # pyright: ignore[reportUnknownMemberType] - untyped there
    cast("dict[str, Any]", made.globals).update(asset=assets().url, icon=icon)  # pyright: ignore[reportUnknownMemberType]
    return made


def seen(text: object, most: int = 0) -> str:
    """One line, with everything that could hide spelled out, cut to `most` characters."""
    line = plain_sign(str(text))
    return cut_end(visible(line[: most + 1]), most) if most else visible(line)


def plain_sign(text: str) -> str:
    """Our own warning sign, without the letter that asks for its colour: that would be spelled out."""
    return text.replace("⚠\ufe0f", "⚠")


def short_name(text: object) -> str:
    return seen(text, LONGEST_NAME)


class Line(NamedTuple):
    """One line of a text, spelled out; words that are written from the right once more as they are."""

    text: str
    words: str = ""


def lines(text: object, most: int = _MOST_LINES) -> list[Line]:
    """All lines of a text, each spelled out, so that a line the browser wraps is not taken for two."""
    found = str(text).split("\n")
    shown = [Line(visible(one), " · ".join(right_to_left_words(one))) for one in found[:most]]
    return [*shown, Line(f"… {len(found) - most:,} more lines")] if len(found) > most else shown


def when(at: str | None, style: str = "") -> Markup:
    """A moment in UTC, which a script shows in the reader's zone."""
    if not at:
        return Markup()
    plain = at.replace("T", " ", 1).removesuffix("Z")  # as the desk of the tools that write has it
    machine, shown = escape(moment(plain)), escape(seen(plain[:19]))  # by hand: Markup.format takes five times as long
    return Markup(f'<time datetime="{machine}" data-style="{style}">{shown} UTC</time>')


def changes(text: object) -> Markup:
    """A line in which each change that is named leads to its page."""
    return Markup(_CHANGE.sub(r'<a href="/changes/\1">\1</a>', str(escape(seen(text, 2000)))))


_CHANGE: Final = re.compile(r"\b(c-[0-9a-f]{8})\b")


def took(milliseconds: float | None) -> str:
    """
    >>> took(0.004), took(0.4), took(12.34), took(2500), took(None)
    ('< 0.1 ms', '0.4 ms', '12 ms', '2.5 s', '')
    """
    if milliseconds is None:
        return ""
    if 0 <= milliseconds < 0.05:
        return "< 0.1 ms"
    if milliseconds < 1000:
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s"


def number(value: float) -> str:
    return f"{value:,}"


def percent(value: float | None) -> str:
    """
    >>> percent(0.987), percent(None)
    ('98.7 %', '–')
    """
    return "–" if value is None else f"{value * 100:.1f} %"


def one_line(value: object) -> str:
    """A value as JSON, whole and spelled out."""
    return json_visible(plain_json(value))


def icon(name: str) -> Markup:
    return Markup('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>').format(
        assets().url("icons.svg"), name
    )
