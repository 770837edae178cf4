"""Asking the servers that give logins: one request, one JSON answer, at an address that somebody else may have named.

The address rules are those of `web/fetch` (`tools/pages.py`): https alone, a name is looked up once, each of its
addresses is judged, and the connection goes to one that passed. What the policy names itself may be in any network;
plain http is for this machine. Redirects are not followed: a secret would follow them. Documents are small, flat and
have no key twice, since two readers could understand that in two ways.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.base.http.answers import CLOSER, Fault, Headers, HttpError, header_of, is_loopback
from rightcall.base.http.client import Request, exchange
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys
from rightcall.base.text import escaped
from rightcall.errors import IdentityError, ToolFailure
from rightcall.policy.commands import UrlRules
from rightcall.policy.commands.judgement import judge_url
from rightcall.policy.commands.places import Place
from rightcall.policy.settings import WebSettings
from rightcall.tools.pages import Rules, Target, read_target, trust, within

SECONDS: Final = 20.0
"""For one request, from looking the name up to the last byte."""
MOST_BYTES: Final = 256_000
"""Of one answer. The largest that providers send, with all their keys and languages, are a tenth of it."""
DEEPEST: Final = 12
"""Lists and objects in each other."""
_LOOPBACK: Final = ("127.0.0.0/8", "::1/128")


class Reach(Struct, frozen=True):
    """Which addresses may be asked: those of the public internet, and what the policy names or allows besides."""

    origins: frozenset[str]
    """What the policy names itself, in any network."""
    rules: Rules
    """`[web] networks` and `[policy.urls]`, for everything else."""

    @classmethod
    def of(cls, named: Iterable[str], web: WebSettings | None = None, urls: UrlRules | None = None) -> "Reach":
        """For the addresses that the policy names. Where one of them is on this machine, others here may be asked too:
        it is a word of the policy's, never of a name server's. Raises IdentityError."""
        targets = [read_url(one) for one in named]
        web = web or WebSettings()
        if any(is_loopback(one.host) for one in targets):
            web = replace(web, networks=(*web.networks, *_LOOPBACK))
        return cls(frozenset(origin_of(one) for one in targets), Rules(web, urls or UrlRules()))

    async def addresses(self, target: Target) -> list[str] | None:
        """Where to connect to; None: wherever its name leads. Raises IdentityError where nothing may be asked."""
        shown = escaped(target.address.authority, 100)
        if not target.secure and not is_loopback(target.host):
            raise IdentityError(f"{shown}: its address begins with http://; only https:// is used for logins")
        is_named = origin_of(target) in self.origins
        answer = judge_url(str(target), self.rules.urls, Place.at("/")).answer
        if answer == "deny" or (answer != "allow" and not is_named):
            raise IdentityError(f"{shown}: [policy.urls] does not allow this address")
        if is_named and target.secure:
            return None
        try:
            return await self.rules.reachable(target)
        except ToolFailure:
            told = "it is not a public internet address, or does not exist; name it in the policy to allow it"
            raise IdentityError(f"{shown}: {told}") from None


class Reply(Struct, frozen=True):
    """What a server answered, whatever its status."""

    target: Target
    status: int
    headers: Headers
    body: bytes

    @property
    def where(self) -> str:
        """For messages: the path may be somebody's, the query is left out."""
        return escaped(str(self.target).partition("?")[0], 200)

    def document(self) -> dict[str, Any]:
        """The JSON object that it is. Raises IdentityError, which repeats nothing of it."""
        try:
            text = self.body.decode("utf-8")
        except UnicodeDecodeError:
            raise IdentityError(f"{self.where} answered with something that is not JSON") from None
        found = attempt(text)
        if found is NO_JSON or not is_object(found):
            raise IdentityError(f"{self.where} answered with something that is not a JSON object")
        if _is_deeper(found, DEEPEST):
            raise IdentityError(f"{self.where} answered with JSON that is nested too deeply")
        if duplicate_keys(text, found):
            raise IdentityError(f"{self.where} answered with JSON that has a key twice")
        return found


class NoDocument(IdentityError):
    """A server answered with something else than a document: a page for whatever is missing, or a redirect."""


class Post(Struct, frozen=True):
    """What is sent, as a form or as JSON; nothing: it is only asked for."""

    form: Mapping[str, str] | None = None
    json: Mapping[str, Any] | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    is_probe: bool = False
    """Only the head of the answer counts; the rest may never end."""


async def ask(url: str, reach: Reach, post: Post | None = None) -> Reply:
    """One request: a GET, or a POST where something is sent. Raises IdentityError."""
    target = read_url(url)
    try:
        return await within(SECONDS, _asked(target, reach, post))
    except ToolFailure as late:
        raise IdentityError(f"{escaped(target.address.authority, 100)}: {str(late).rstrip('.')}") from None


async def fetch_document(url: str, reach: Reach) -> dict[str, Any] | None:
    """The JSON object at an address; None where the server says that there is none. Raises IdentityError."""
    reply = await ask(url, reach)
    if reply.status == 200:
        return reply.document()
    if 400 <= reply.status < 500:
        return None
    if 300 <= reply.status < 400:
        raise NoDocument(f"{reply.where} redirects elsewhere, which is not followed")
    raise IdentityError(f"{reply.where} answered with the status {reply.status}")


def read_url(url: str) -> Target:
    """Raises IdentityError for what is not a whole address; it never repeats it."""
    try:
        return read_target(url)
    except ToolFailure as wrong:
        raise IdentityError(str(wrong).replace("`url`", "an address").rstrip(".")) from None


def origin_of(target: Target | str) -> str:
    """Scheme, host and port, as they are compared.

    >>> origin_of("https://Auth.example:443/token?x"), origin_of("http://localhost:8080")
    ('https://auth.example', 'http://localhost:8080')
    """
    found = read_url(target) if isinstance(target, str) else target
    return f"{'https' if found.secure else 'http'}://{found.address.authority}"


def text_at(document: Mapping[str, Any], key: str) -> str:
    """A text of a document; empty where it has none."""
    found = document.get(key)
    return found if isinstance(found, str) else ""


def texts_at(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The texts of a list of a document."""
    found: Any = document.get(key)
    return tuple(one for one in found if isinstance(one, str)) if is_list(found) else ()


async def _asked(target: Target, reach: Reach, post: Post | None) -> Reply:
    at = await reach.addresses(target)
    accept = b"application/json" if post is None or not post.is_probe else b"application/json, text/event-stream"
    headers = [(b"user-agent", b"rightcall"), (b"accept", accept), (b"accept-encoding", b"identity")]
    body = b""
    if post is not None:
        if post.json is not None:
            body = json.encode(post.json)
            headers.append((b"content-type", b"application/json"))
        else:
            body = urlencode(post.form or {}).encode("ascii")
            headers.append((b"content-type", b"application/x-www-form-urlencoded"))
        headers += post.headers
    request = Request("GET" if post is None else "POST", target.path, headers, body, MOST_BYTES)
    try:
        async with exchange(target.address, request, trust() if target.secure else None, at) as response:
            kind = header_of(response.headers, b"content-type").partition(b";")[0].strip().lower()
            if response.status == 200 and post is None and not _is_json(kind):
                raise NoDocument(f"{escaped(target.address.authority, 100)} answered with something other than JSON")
            whole = b"" if post is not None and post.is_probe else await response.read_all()
            return Reply(target, response.status, response.headers, whole)
    except HttpError as error:
        raise IdentityError(_failure(target, error.fault)) from None


def _is_json(kind: bytes) -> bool:
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def _failure(target: Target, fault: Fault) -> str:
    return f"{escaped(target.address.authority, 100)} {escaped(fault.describe(CLOSER), 200)}"


def _is_deeper(value: Any, left: int) -> bool:
    if is_object(value):
        return left == 0 or any(_is_deeper(one, left - 1) for one in value.values())
    if is_list(value):
        return left == 0 or any(_is_deeper(one, left - 1) for one in value)
    return False
