"""From a server that wants a login to who gives it: the challenge, the server's metadata, the provider's metadata.

    401 ─▶ WWW-Authenticate ─▶ RFC 9728: /.well-known/oauth-protected-resource ─▶ issuer
        ─▶ RFC 8414: /.well-known/oauth-authorization-server, OpenID: /.well-known/openid-configuration

What the revisions of the MCP specification ask for, of each: the newest way first, and at the end that of 2025-03-26,
where the server is its own provider and its endpoints may have fixed names. A document must name the place that it was
asked for: a server's its `resource`, a provider's its `issuer`. One that names another is refused, and nothing else is
tried in its stead.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
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

# ── documents ──
# Asking the servers that give logins: one request, one JSON answer, at an address that somebody else may have named.
#
# The address rules are those of `web/fetch` (`tools/pages.py`): https alone, a name is looked up once, each of its
# addresses is judged, and the connection goes to one that passed. What the policy names itself may be in any network;
# plain http is for this machine. Redirects are not followed: a secret would follow them. Documents are small, flat and
# have no key twice, since two readers could understand that in two ways.

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


# ── the challenge ──

MOST_SCOPES: Final = 60
"""Of one login."""
_LONGEST: Final = 8000
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}\Z")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(
    rf"[\s,]*(?:(?P<name>{_TOKEN})\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<bare>{_TOKEN}))"
    rf"|(?P<scheme>{_TOKEN})(?:[ \t]+(?P<token68>[A-Za-z0-9._~+/-]+=*)(?=[\s,]*(?:,|\Z)))?)"
)


class Challenge(Struct, frozen=True):
    """What a server says with a 401 or a 403: a stranger's word, of which nothing is used unread."""

    scheme: str = ""
    """`bearer` or `dpop`; empty: it said nothing of either."""
    metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""
    names_scopes: bool = False
    """Whether it says which scopes it wants, be it none."""


def read_challenge(headers: Iterable[tuple[bytes, bytes]]) -> Challenge:
    """The first challenge for a token, in all its headers.

    >>> read_challenge([(b"www-authenticate", b'Basic realm="x", Bearer scope="a b", error=insufficient_scope')])
    Challenge(scheme='bearer', metadata='', scopes=('a', 'b'), error='insufficient_scope', names_scopes=True)
    """
    for name, value in headers:
        if name == b"www-authenticate":
            for scheme, given in _challenges(value[:_LONGEST].decode("latin-1")):
                if scheme in ("bearer", "dpop"):
                    scopes = read_scopes(given.get("scope", ""))
                    error = given.get("error", "")[:60]
                    return Challenge(scheme, given.get("resource_metadata", ""), scopes, error, "scope" in given)
    return Challenge()


def read_scopes(text: str) -> tuple[str, ...]:
    """Each once, in order; what cannot be a scope is left out.

    >>> read_scopes('mcp:read  mcp:write mcp:read "quoted"')
    ('mcp:read', 'mcp:write')
    """
    found = dict.fromkeys(one for one in text.split() if _SCOPE.match(one))
    return tuple(found)[:MOST_SCOPES]


def _challenges(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Schemes in lower case with their parameters; the first of a name counts. What cannot be read ends it."""
    scheme, given, at = "", dict[str, str](), 0
    while at < len(text) and (part := _PART.match(text, at)) is not None:
        at = part.end()
        if part["scheme"] is not None:
            if scheme:
                yield scheme, given
            scheme, given = part["scheme"].lower(), {}
        else:
            quoted = part["quoted"]
            value = part["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            given.setdefault(part["name"].lower(), value)
    if scheme:
        yield scheme, given


# ── the server ──


class Resource(Struct, frozen=True):
    """What a server says of itself."""

    resource: str
    """What a token for it is bound to (RFC 8707)."""
    issuers: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    is_told: bool = True
    """False: it says nothing, as in the revision 2025-03-26."""


async def discover_resource(url: str, challenge: Challenge, reach: Reach) -> Resource:
    """Raises IdentityError, where it names another resource or nobody who gives logins."""
    if challenge.metadata:
        found = await fetch_document(challenge.metadata, reach)
        if found is None:
            raise IdentityError(f"{origin_of(url)} names metadata of its own that is not there")
        return _resource(found, url)
    parts = read_url(url)
    path = parts.path.partition("?")[0].rstrip("/")
    for at in dict.fromkeys((path, "")):
        found = await _found(f"{origin_of(parts)}/.well-known/oauth-protected-resource{at}", reach)
        if found is not None:
            return _resource(found, url)
    return Resource(resource_of(url), (origin_of(parts),), is_told=False)


def _resource(document: dict[str, Any], url: str) -> Resource:
    resource = text_at(document, "resource")
    if not covers(resource, url):
        told = escaped(resource, 100) if resource else "nothing"
        raise IdentityError(f"{origin_of(url)}: its metadata is for another server ({told}), so nobody is logged in")
    issuers = texts_at(document, "authorization_servers")[:20]
    if not issuers:
        raise IdentityError(f"{origin_of(url)}: its metadata names nobody who gives logins (authorization_servers)")
    return Resource(resource, issuers, read_scopes(" ".join(texts_at(document, "scopes_supported"))))


def resource_of(url: str) -> str:
    """The resource that a server's address is, without a fragment or a slash at its end.

    >>> resource_of("https://MCP.example:443/mcp/?x=1#top"), resource_of("https://mcp.example/")
    ('https://mcp.example/mcp', 'https://mcp.example')
    """
    target = read_url(url)
    return origin_of(target) + target.path.partition("?")[0].rstrip("/")


@lru_cache(256)
def covers(resource: str, url: str) -> bool:
    """Whether a token for the resource is one for this address: the same, or above it on the same origin. Kept for
    those seen last: it is asked with every request.

    >>> covers("https://a.example", "https://a.example/mcp"), covers("https://a.example/m", "https://a.example/mcp")
    (True, False)
    """
    try:
        wide, narrow = resource_of(resource), resource_of(url)
    except IdentityError:
        return False
    return narrow == wide or narrow.startswith(f"{wide}/")


# ── the provider ──


class Provider(Struct, frozen=True, kw_only=True):
    """What a provider of logins says of itself: RFC 8414, and what OpenID adds."""

    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    device_authorization_endpoint: str = ""
    jwks_uri: str = ""
    scopes: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] = ()
    """How a client may prove itself at the token endpoint; empty: it does not say."""
    challenge_methods: tuple[str, ...] = ()
    """Of PKCE."""
    proof_algorithms: tuple[str, ...] = ()
    """With which tokens can be bound to a key of the client's (DPoP)."""
    names_itself: bool = False
    """It says who it is in the redirect (RFC 9207)."""
    takes_client_documents: bool = False
    """A client's id may be the address of a document about it."""
    is_told: bool = True
    """False: it has no metadata, and its endpoints are those of the revision 2025-03-26."""


_ENDPOINTS: Final = (
    "authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint",
    "device_authorization_endpoint", "jwks_uri",
)  # fmt: skip


async def discover_issuer(issuer: str, reach: Reach, *, openid: bool = False) -> Provider:
    """Its metadata; `openid` asks for OpenID's document first. Raises IdentityError where there is none."""
    found = await _discovered(issuer, reach, places_of(issuer, openid=openid))
    if found is None:
        raise IdentityError(f"{escaped(issuer, 100)} publishes no metadata, so nobody can log in there")
    return found


async def discover_provider(resource: Resource, issuer: str, reach: Reach) -> Provider:
    """Who gives the logins for a resource. Raises IdentityError."""
    if resource.is_told:
        return await discover_issuer(issuer, reach)
    found = await _discovered(issuer, reach, places_of(issuer))
    return found or Provider(
        issuer=issuer,
        authorization_endpoint=f"{issuer}/authorize",
        token_endpoint=f"{issuer}/token",
        registration_endpoint=f"{issuer}/register",
        is_told=False,
    )


def places_of(issuer: str, *, openid: bool = False) -> tuple[str, ...]:
    """Where the metadata of an issuer may be, in the order in which it is looked for.

    >>> for place in places_of("https://auth.example/tenant"): print(place)
    https://auth.example/.well-known/oauth-authorization-server/tenant
    https://auth.example/.well-known/openid-configuration/tenant
    https://auth.example/tenant/.well-known/openid-configuration
    """
    target = read_url(issuer)
    if "?" in target.path or "#" in issuer:
        raise IdentityError("an issuer's address has no query and no fragment")
    origin, path = origin_of(target), target.path.rstrip("/")
    own = f"{origin}/.well-known/oauth-authorization-server{path}"
    inserted = f"{origin}/.well-known/openid-configuration{path}"
    behind = f"{origin}{path}/.well-known/openid-configuration"
    return tuple(dict.fromkeys((behind, own, inserted) if openid else (own, inserted, behind)))


async def _discovered(issuer: str, reach: Reach, places: Iterable[str]) -> Provider | None:
    failed: IdentityError | None = None
    for place in places:
        try:
            found = await fetch_document(place, reach)
        except IdentityError as error:  # a page for everything that is missing, say; the next place may have it
            failed = failed or error
            continue
        if found is not None:
            return read_provider(found, issuer)
    if failed is not None:
        raise failed
    return None


def read_provider(document: dict[str, Any], issuer: str) -> Provider:
    """Raises IdentityError where it is another issuer's, or has an endpoint that nobody may be sent to."""
    said = text_at(document, "issuer")
    if not is_same_issuer(said, issuer):
        told = escaped(said, 100) if said else "nobody"
        raise IdentityError(f"{escaped(issuer, 100)}: its metadata is of another issuer ({told})")
    endpoints: dict[str, Any] = {key: _endpoint(document, key, issuer) for key in _ENDPOINTS}
    return Provider(
        issuer=said,
        scopes=read_scopes(" ".join(texts_at(document, "scopes_supported"))),
        grants=texts_at(document, "grant_types_supported"),
        auth_methods=texts_at(document, "token_endpoint_auth_methods_supported"),
        challenge_methods=texts_at(document, "code_challenge_methods_supported"),
        proof_algorithms=texts_at(document, "dpop_signing_alg_values_supported"),
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
        takes_client_documents=document.get("client_id_metadata_document_supported") is True,
        **endpoints,
    )


def _endpoint(document: dict[str, Any], key: str, issuer: str) -> str:
    url = text_at(document, key)
    if not url:
        return ""
    try:
        target = read_url(url)
    except IdentityError:
        raise IdentityError(f"{escaped(issuer, 100)}: its {key} is not an https:// address") from None
    if not target.secure and not is_loopback(target.host):
        raise IdentityError(f"{escaped(issuer, 100)}: its {key} begins with http://; only https:// is used for logins")
    return url


def is_same_issuer(said: str, issuer: str) -> bool:
    """Letter by letter, as RFC 8414 wants it; only a host alone may end in a slash or not, which means the same.

    >>> is_same_issuer("https://a.example/", "https://a.example")
    True
    >>> is_same_issuer("https://a.example/x/", "https://a.example/x")
    False
    """
    if said == issuer or not said:
        return bool(said)
    return said.rstrip("/") == issuer.rstrip("/") == "/".join(issuer.split("/")[:3])


async def _found(url: str, reach: Reach) -> dict[str, Any] | None:
    """A document that need not be there."""
    try:
        return await fetch_document(url, reach)
    except NoDocument:
        return None
