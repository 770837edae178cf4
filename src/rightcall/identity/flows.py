"""The ways to a token: a person in a browser, a person with a code on another device, a machine; and keeping it fresh.

    browser   authorisation code, PKCE (S256), state, `iss` (RFC 9207), `resource` (RFC 8707), loopback redirect
    device    RFC 8628: a link and a code, for machines without a browser
    machine   client credentials, with a secret or a signed assertion (RFC 7523)

A provider's answers are a stranger's: a token is plain ASCII or none, and of an error only its code is told, never its
description, which may hold whatever was sent.
"""

import asyncio
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from secrets import compare_digest, token_urlsafe
from shlex import quote
from time import time
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.answers import Answer, Headers
from rightcall.base.json.marks import is_object
from rightcall.base.json.strict import attempt
from rightcall.base.text import escaped
from rightcall.errors import IdentityError
from rightcall.identity.discovery import Post, Provider, Reach, Reply, ask, origin_of, read_scopes, read_url, text_at
from rightcall.identity.registration import DEVICE_GRANT, Client, Prover, prove
from rightcall.policy.settings import Server

WAITING: Final = 300.0
"""Seconds that a person has to log in."""
_TOKEN = re.compile(r"[\x21-\x7e]{1,16000}\Z")
_CODE = re.compile(r"[\x20-\x7e]{1,4000}\Z")
_ERROR = re.compile(r"[a-z_]{1,40}\Z")
_USER_CODE = re.compile(r"[A-Za-z0-9 -]{1,40}\Z")
_LONGEST_LIFE: Final = 10 * 365 * 86_400
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_GRANT_TOKEN: Final = "urn:ietf:params:oauth:token-type:id-jag"
_SHORTEST_POLL, _LONGEST_POLL = 1.0, 60.0


class Tokens(Struct, frozen=True):
    """What a provider gives."""

    access: str
    refresh: str = ""
    until: float = 0.0
    """When the access token ends, in seconds since 1970; 0: nobody says."""
    scopes: tuple[str, ...] | None = None
    """None: those that were asked for."""
    who: str = ""
    """Whose it is, where the provider says so."""


class Party(Struct, frozen=True):
    """Who asks whom for what: one client of one provider, for one resource."""

    provider: Provider
    client: Client
    resource: str
    reach: Reach
    key: str = ""
    """The client's private key (PEM)."""
    prover: Prover | None = None
    """Binds the tokens to a key of their own."""

    async def request(self, form: Mapping[str, str], url: str = "") -> Reply:
        """At the token endpoint, or another of the provider's, with the client's proof of itself."""
        audience = self.provider.issuer if self.provider.is_told else self.provider.token_endpoint
        at = url or self.provider.token_endpoint
        post = prove(self.client, (audience, self.key), form)
        if self.prover is None or url:
            return await ask(at, self.reach, post)
        reply = await ask(at, self.reach, _bound(post, self.prover.prove("POST", at)))
        if error_code(reply) == "use_dpop_nonce" and self.prover.heed(reply.headers):
            again = prove(self.client, (audience, self.key), form)  # an assertion counts once
            reply = await ask(at, self.reach, _bound(again, self.prover.prove("POST", at)))
        return reply

    async def token(self, **form: str) -> Tokens:
        """Raises IdentityError, TokenRefused."""
        if not self.provider.token_endpoint:
            raise IdentityError(f"{escaped(self.provider.issuer, 100)} has no token endpoint")
        whole = {**form, "resource": self.resource} if self.resource else form
        return read_tokens(await self.request(whole), is_bound=self.prover is not None)


def _bound(post: Post, proof: str) -> Post:
    return replace(post, headers=(*post.headers, (b"dpop", proof.encode("ascii"))))


class TokenRefused(IdentityError):
    """The provider says no. `code` is its word for why; empty where it gave none."""

    def __init__(self, where: str, code: str, status: int) -> None:
        super().__init__(f"{where} gave no token ({code or f'status {status}'})")
        self.code = code


def read_tokens(reply: Reply, *, is_bound: bool = False) -> Tokens:
    """Raises IdentityError, which repeats nothing of the answer but the code of an error; also where a token should be
    bound to a key and is not."""
    where = escaped(origin_of(reply.target), 100)
    if reply.status != 200:
        raise TokenRefused(where, error_code(reply), reply.status)
    found = reply.document()
    access, refresh = text_at(found, "access_token"), text_at(found, "refresh_token")
    if not _TOKEN.match(access) or (refresh and not _TOKEN.match(refresh)):
        raise IdentityError(f"{where} gave a token that cannot be sent")
    kind = "DPoP" if is_bound else "Bearer"
    if text_at(found, "token_type").lower() != kind.lower():
        raise IdentityError(f"{where} gave a token of a kind that is not used (expected {kind})")
    scopes = read_scopes(text_at(found, "scope")) if isinstance(found.get("scope"), str) else None
    return Tokens(access, refresh, end_of(found.get("expires_in")), scopes, _owner(text_at(found, "id_token")))


def is_token(text: str) -> bool:
    """Whether it can be sent as a token: nothing in it ends a header."""
    return _TOKEN.match(text) is not None


def error_code(reply: Reply) -> str:
    """Of an error of a token endpoint; empty where it has none."""
    with suppress(IdentityError):
        code = text_at(reply.document(), "error")
        return code if _ERROR.match(code) else ""
    return ""


def end_of(life: Any) -> float:
    """When a token ends that lives for so many seconds; some providers say it as a text."""
    seconds = int(life) if isinstance(life, str) and life.isdecimal() and len(life) < 12 else life
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return 0.0
    return time() + seconds if 0 < seconds < _LONGEST_LIFE else 0.0


def _owner(token: str) -> str:
    """The name in an id token, for people to read. It came from the provider itself, so that nothing depends on its
    signature; and nothing depends on the name."""
    body = token.split(".")[1] if token.count(".") == 2 else ""
    with suppress(ValueError):
        claims = attempt(urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("utf-8"))
        if is_object(claims):
            names = (claims.get(one) for one in ("email", "preferred_username", "name", "sub"))
            return next((escaped(one, 100) for one in names if isinstance(one, str) and one), "")
    return ""


# ── a person in a browser ──

_PAGE: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>RightCall</title>"
    "<body style='font: 1rem system-ui; margin: 4rem auto; max-width: 32rem'><p>{told}</p>"
)
_DONE: Final = "Thank you. Close this page and go back to the terminal."
_NOT_THIS: Final = "This page belongs to no login that is under way. Run <code>rightcall login</code> again."
_LONGEST_HEAD: Final = 32_000
_OURS: Final = (
    "response_type", "client_id", "redirect_uri", "state", "scope", "code_challenge", "code_challenge_method",
    "resource", "response_mode", "request", "request_uri", "nonce",
)  # fmt: skip


class Redirect:
    """Where the provider sends the browser back to: a page on this machine, which takes one answer and is gone."""

    def __init__(self) -> None:
        self.state = token_urlsafe(32)
        self.uri = ""
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def open(self, port: int = 0) -> None:
        """Raises IdentityError."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LONGEST_HEAD)
        except OSError:
            raise IdentityError(
                f"port {port} of this machine is in use, and the login needs it (redirect_port)"
            ) from None
        self.uri = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"

    async def answer(self, seconds: float) -> dict[str, str]:
        """What the provider says. Raises IdentityError where nobody came back in time."""
        try:
            async with asyncio.timeout(seconds):
                return await self._answer
        except TimeoutError:
            raise IdentityError(f"nobody logged in within {seconds:g} s") from None

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
            took = self._take(head.decode("latin-1"))
            body = _PAGE.format(told=_DONE if took else _NOT_THIS).encode()
            lines = (
                f"HTTP/1.1 {'200 OK' if took else '400 Bad Request'}", "content-type: text/html; charset=utf-8",
                f"content-length: {len(body)}", "connection: close", "cache-control: no-store",
                "referrer-policy: no-referrer", "x-content-type-options: nosniff",
                "content-security-policy: default-src 'none'; style-src 'unsafe-inline'", "", "",
            )  # fmt: skip
            writer.write("\r\n".join(lines).encode() + body)
            await writer.drain()
        writer.close()

    def _take(self, head: str) -> bool:
        """Whether it is the answer that is waited for: it has our state, and is the first one."""
        method, _, rest = head.partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        if method != "GET" or path != urlsplit(self.uri).path or self._answer.done():
            return False
        try:
            found = parse_qs(query, keep_blank_values=True, max_num_fields=50)
        except ValueError:
            return False
        if any(len(values) > 1 for values in found.values()):  # two readers could take two of them
            return False
        given = {name: values[0] for name, values in found.items()}
        if not compare_digest(given.get("state", "").encode(), self.state.encode()):
            return False
        self._answer.set_result(given)
        return True


async def log_in(
    party: Party, scopes: tuple[str, ...], redirect: Redirect, show: Callable[[str], None], seconds: float = WAITING
) -> Tokens:
    """With a person in a browser: `show` gets the link. Raises IdentityError."""
    check_challenges(party.provider)
    verifier = token_urlsafe(48)
    link = authorisation_link(party, scopes, redirect, verifier)
    await party.reach.addresses(read_url(link))  # a person is not sent where we would not go
    show(link)
    answer = await redirect.answer(seconds)
    return await party.token(
        grant_type="authorization_code", code=read_code(answer, party.provider), redirect_uri=redirect.uri,
        code_verifier=verifier,
    )  # fmt: skip


def check_challenges(provider: Provider) -> None:
    """Raises IdentityError for a provider that does not promise PKCE with S256: a code could be stolen there."""
    if provider.is_told and "S256" not in provider.challenge_methods:
        raise IdentityError(
            f"{escaped(provider.issuer, 100)} does not say that it supports PKCE with S256, which a login needs"
        )


def check_page(provider: Provider, command: str) -> None:
    """A provider whose page to log in is another's could have that one's code sent to itself (a mix-up), unless the
    answer says whose it is. Raises IdentityError; `command` is what logs in, once a person has looked."""
    page = provider.authorization_endpoint
    if page and not provider.names_itself and not _is_at_home(provider, page):
        told = f"sends people to log in at {_host(page)}, and does not say in its answers who it is"
        raise IdentityError(f"{escaped(provider.issuer, 100)} {told}. {_if_right(provider, command)}")


def check_code_page(provider: Provider, code: "DeviceCode", command: str) -> None:
    """A provider that has codes typed at another's page could have asked that one for the code, and would get the
    login that the person gives there. Raises IdentityError as `check_page` does."""
    for link in (code.link, code.whole_link):
        if link and not _is_at_home(provider, link):
            told = f"has its code typed at {_host(link)}, which is another host. Whoever asked for that code is let in"
            raise IdentityError(f"{escaped(provider.issuer, 100)} {told}. {_if_right(provider, command)}")


def _is_at_home(provider: Provider, page: str) -> bool:
    return read_url(page).host == read_url(provider.issuer).host


def _host(url: str) -> str:
    return escaped(read_url(url).host, 100)


def _if_right(provider: Provider, command: str) -> str:
    return f"If that is right, run `{command} --issuer {quote(escaped(provider.issuer, 200))}`"


def authorisation_link(party: Party, scopes: tuple[str, ...], redirect: Redirect, verifier: str) -> str:
    """Raises IdentityError."""
    asked = {"client_id": party.client.id, "redirect_uri": redirect.uri, "state": redirect.state}
    asked |= {"scope": " ".join(scopes)} if scopes else {}
    asked |= {"resource": party.resource} if party.resource else {}
    if "offline_access" in scopes:
        asked["prompt"] = "consent"  # OpenID gives no refresh token without
    return page_for(party.provider, verifier, asked)


def page_for(provider: Provider, verifier: str, asked: Mapping[str, str]) -> str:
    """Where a person logs in, to be sent back with a code that only whoever has the verifier can use. Raises
    IdentityError."""
    if not provider.authorization_endpoint:
        raise IdentityError(f"{escaped(provider.issuer, 100)} has no page to log in (authorization_endpoint)")
    base, _, query = str(read_url(provider.authorization_endpoint)).partition("?")  # in its one spelling: it is shown
    before = parse_qsl(query, keep_blank_values=True)
    if any(name in _OURS for name, _ in before):  # a provider could take its own, such as another redirect
        raise IdentityError(f"{escaped(provider.issuer, 100)}: its page to log in brings answers of its own")
    challenge = urlsafe_b64encode(sha256(verifier.encode("ascii")).digest()).decode("ascii").rstrip("=")
    proof = {"response_type": "code", "code_challenge": challenge, "code_challenge_method": "S256"}
    return f"{base}?{urlencode([*before, *proof.items(), *asked.items()])}"


def read_code(answer: Mapping[str, str], provider: Provider) -> str:
    """The code in a redirect. Raises IdentityError where it is of another provider, or of none (RFC 9207)."""
    where = escaped(provider.issuer, 100)
    said = answer.get("iss")
    if said is None and provider.names_itself:
        told = f"the answer does not say which provider it is from (iss), which {where} promises to say"
        raise IdentityError(f"{told}: another one may have mixed in. Nobody is logged in")
    if said is not None and said != provider.issuer:
        raise IdentityError(f"the answer is not from {where}: another provider may have mixed in. Nobody is logged in")
    if "error" in answer:
        code = answer["error"]
        raise IdentityError(f"{where} did not log you in ({code if _ERROR.match(code) else 'without a reason'})")
    if not _CODE.match(answer.get("code", "")):
        raise IdentityError(f"{where} sent the browser back without a code")
    return answer["code"]


# ── a person with another device ──


class DeviceCode(Struct, frozen=True):
    """What the person needs: where to go, and what to type there."""

    link: str
    code: str
    whole_link: str = ""
    """With the code in it; empty where there is none."""


async def log_in_by_device(
    party: Party,
    scopes: tuple[str, ...],
    show: Callable[[DeviceCode], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Tokens:
    """Raises IdentityError."""
    where = escaped(party.provider.issuer, 100)
    endpoint = party.provider.device_authorization_endpoint
    if not endpoint:
        raise IdentityError(f"{where} offers no login by a code; log in with a browser, without --device")
    form = {"scope": " ".join(scopes)} if scopes else {}
    form |= {"resource": party.resource} if party.resource else {}
    reply = await party.request(form, endpoint)
    if reply.status != 200:
        raise TokenRefused(where, error_code(reply), reply.status)
    found = reply.document()
    device, shown = text_at(found, "device_code"), _device_code(found)
    if not _TOKEN.match(device) or shown is None:
        raise IdentityError(f"{where} gave no code that a person could type")
    for link in (shown.link, shown.whole_link) if shown.whole_link else (shown.link,):
        await party.reach.addresses(read_url(link))
    show(shown)
    pause = _between(found.get("interval"), 5.0, _SHORTEST_POLL, _LONGEST_POLL)
    left = _between(found.get("expires_in"), WAITING, 1.0, 3600.0)
    while left > 0:
        await sleep(pause)
        left -= pause
        try:
            return await party.token(grant_type=DEVICE_GRANT, device_code=device)
        except TokenRefused as refused:
            if refused.code == "slow_down":
                pause = min(pause + 5.0, _LONGEST_POLL)
            elif refused.code != "authorization_pending":
                raise
    raise IdentityError(f"nobody typed the code at {where} in time")


def _device_code(found: Mapping[str, Any]) -> DeviceCode | None:
    code, link, whole = (text_at(found, key) for key in ("user_code", "verification_uri", "verification_uri_complete"))
    link = link or text_at(found, "verification_url")  # as one large provider spells it
    if not _USER_CODE.match(code):
        return None
    return DeviceCode(str(read_url(link)), code, str(read_url(whole)) if whole else "")


def _between(said: Any, usual: float, least: float, most: float) -> float:
    is_number = isinstance(said, (int, float)) and not isinstance(said, bool)
    return float(min(max(said, least), most)) if is_number else usual


# ── machines, and what comes after ──


async def log_in_machine(party: Party, scopes: tuple[str, ...]) -> Tokens:
    """With client credentials. Raises IdentityError."""
    if party.client.method == "none":
        raise IdentityError("a machine logs in with client_secret_env or private_key, which the policy does not name")
    return await party.token(grant_type="client_credentials", **({"scope": " ".join(scopes)} if scopes else {}))


async def log_in_by_assertion(party: Party, scopes: tuple[str, ...], assertion: str) -> Tokens:
    """With the signed word of another provider, which this one trusts (RFC 7523). Raises IdentityError."""
    more = {"scope": " ".join(scopes)} if scopes else {}
    return await party.token(grant_type=_JWT_BEARER, assertion=assertion, **more)


async def exchange(party: Party, token: str, url: str, client: str) -> str:
    """An ID token of the company's own provider for its word to the server's (RFC 8693, `id-jag`). That provider
    decides who may use which server. Raises IdentityError, TokenRefused."""
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": _GRANT_TOKEN,
        "subject_token": token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": party.provider.issuer,
        "resource": party.resource,
    }
    reply = await ask(url, party.reach, Post(form=form | ({"client_id": client} if client else {})))
    where = escaped(origin_of(reply.target), 100)
    if reply.status != 200:
        raise TokenRefused(where, error_code(reply), reply.status)
    found = reply.document()
    given = text_at(found, "access_token")
    if text_at(found, "issued_token_type") != _GRANT_TOKEN or not is_token(given):
        taker = escaped(party.provider.issuer, 100)
        raise IdentityError(f"{where} did not exchange the token for one that {taker} would take")
    return given


async def renew(party: Party, refresh: str) -> Tokens:
    """New tokens for a refresh token; where the provider gives no new one of those, it stays. Raises IdentityError."""
    found = await party.token(grant_type="refresh_token", refresh_token=refresh)
    return found if found.refresh else Tokens(found.access, refresh, found.until, found.scopes, found.who)


async def revoke(party: Party, token: str, hint: str) -> bool:
    """Whether the provider has taken a token back (RFC 7009). False: it has no way to, of this kind of token or of any.
    Raises IdentityError."""
    if not party.provider.revocation_endpoint:
        return False
    reply = await party.request({"token": token, "token_type_hint": hint}, party.provider.revocation_endpoint)
    if error_code(reply) == "unsupported_token_type":
        return False
    if reply.status != 200:
        raise IdentityError(
            f"{escaped(party.provider.issuer, 100)} did not take the token back (status {reply.status})"
        )
    return True


# ── programs ──
# Tokens that the policy brings: from the environment, or from a program that prints one (`token_env`,
# `token_command`). Nobody logs in for them, and they are kept nowhere.

EARLY: Final = 30.0
"""Seconds before its end from which on a token is renewed."""
_MOST_BYTES: Final = 50_000
_COMMAND_SECONDS: Final = 30.0
_PLAIN_SECONDS: Final = 300.0
"""For which a token counts whose program does not say how long."""


def token_in(headers: Headers) -> str:
    sent = next((value for name, value in headers if name == b"authorization"), b"")
    return sent.partition(b" ")[2].decode("ascii")


class TokenAccess:
    """A token from the environment, or from a program (`token_env`, `token_command`)."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._token = ""
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def headers(self, method: str = "POST") -> Headers:  # noqa: ARG002 # as `Access` has it
        """Raises IdentityError, which never repeats what a program printed."""
        if self._server.token_env:
            token = os.environ.get(self._server.token_env, "")
            if not token:
                name = self._server.token_env
                raise IdentityError(f"[servers.{self._server.name}] token_env: the variable {name} is not set")
        else:
            async with self._asking:
                if not self._token or time() > self._until - EARLY:
                    self._token, self._until = await self._printed()
                token = self._token
        if not is_token(token):
            raise IdentityError(f"[servers.{self._server.name}]: its token is not one line of ASCII")
        return [(b"authorization", b"Bearer " + token.encode("ascii"))]

    async def refused(self, answer: Answer, sent: Headers, *, is_last: bool) -> bool:
        """Whether to send it again: a program is asked for another token, once. Raises IdentityError."""
        used = token_in(sent)
        if answer.status == 401 and self._server.token_command and not is_last:
            if used == self._token:
                self._token = ""
            if token_in(await self.headers()) != used:
                return True
        key = "token_env" if self._server.token_env else "token_command"
        if answer.status == 401:
            raise IdentityError(f"it does not accept the token of [servers.{self._server.name}] {key}")
        return False

    async def _printed(self) -> tuple[str, float]:
        where = f"[servers.{self._server.name}] token_command"
        try:
            process = await asyncio.create_subprocess_exec(
                *self._server.token_command, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, ValueError):
            raise IdentityError(f"{where}: {escaped(self._server.token_command[0], 100)} cannot be started") from None
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                printed = await _read_some(process)
                code = await process.wait() if len(printed) <= _MOST_BYTES else 0
        except TimeoutError:
            raise IdentityError(f"{where}: it printed no token within {_COMMAND_SECONDS:g} s") from None
        finally:
            await _end(process)
        if len(printed) > _MOST_BYTES:
            raise IdentityError(f"{where}: it printed more than {_MOST_BYTES:,} bytes")
        if code:
            raise IdentityError(f"{where}: it ended with exit code {code}")
        return _read_printed(printed.decode("utf-8", "replace").strip(), where)


async def _read_some(process: asyncio.subprocess.Process) -> bytes:
    """All that it prints, or more than a token could be."""
    assert process.stdout is not None
    printed = b""
    while len(printed) <= _MOST_BYTES and (piece := await process.stdout.read(_MOST_BYTES)):
        printed += piece
    return printed


async def _end(process: asyncio.subprocess.Process) -> None:
    """Whatever it does; what it has started may hold its output open, and is not waited for."""
    assert process.stdout is not None
    with suppress(ProcessLookupError):
        process.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(2.0):
            while await process.stdout.read(_MOST_BYTES):
                pass
            await process.wait()


def _read_printed(text: str, where: str) -> tuple[str, float]:
    """A token alone, or JSON as providers answer it, and when it ends."""
    if not text.startswith("{"):
        return text, time() + _PLAIN_SECONDS + EARLY
    found = attempt(text)
    token = text_at(found, "access_token") or text_at(found, "token") if is_object(found) else ""
    if not token:
        raise IdentityError(f"{where}: it printed JSON without an access_token")
    return token, end_of(found.get("expires_in")) or time() + _PLAIN_SECONDS + EARLY
