"""The logins of this user at servers: getting one, using it, ending it.

    log_in_at    challenge ─▶ resource ─▶ provider ─▶ client ─▶ a person or the machine says yes ─▶ vault
    Access       what the way to a server asks before each request, and when the server says no
    log_out      the provider takes the tokens back, and they are forgotten

Who gives the logins of a server is settled when somebody first logs in: later tokens come from there alone, whatever
the server says by then. Another provider needs a person, who names it (`rightcall login NAME --issuer URL`).
"""

import asyncio
import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import wait
from contextlib import suppress
from shlex import quote
from time import time
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.answers import Answer, Headers, is_loopback
from rightcall.base.http.client import in_own_thread
from rightcall.base.text import escaped
from rightcall.errors import IdentityError
from rightcall.identity import flows
from rightcall.identity.discovery import (
    Challenge,
    Post,
    Provider,
    Reach,
    Resource,
    ask,
    covers,
    discover_provider,
    discover_resource,
    is_same_issuer,
    read_challenge,
    read_url,
)
from rightcall.identity.flows import EARLY, DeviceCode, Party, Redirect, TokenAccess, TokenRefused, Tokens, token_in
from rightcall.identity.registration import Client, Means, Prover, choose_client, known_client, new_key_for
from rightcall.identity.vault import Login, Reason, Secrets, Vault, Want, key_of
from rightcall.policy.settings import Server, WebSettings

T = TypeVar("T")

RESTING: Final = 60.0
"""Seconds for which a server that refuses even a new token is left alone, and the provider with it."""
_LAST_SECONDS: Final = 5.0
"""For which a program that stops waits for a login to be kept."""
_MOST_KEY: Final = 50_000
_OVER: Final = ("invalid_grant", "invalid_client", "unauthorized_client")
"""What a provider says of a refresh token that it will not take again."""


class LoginNeeded(IdentityError):
    """Nothing is sent to a server until somebody logs in; the message says what to run."""

    def __init__(self, want: Want) -> None:
        super().__init__(f"{describe_want(want)}: run `{want.command}`")
        self.want = want


def describe_want(want: Want) -> str:
    """Why a login is needed, of `it`, the server. A model reads it too, so that words of the server's are kept from
    looking like ours."""
    plain = [one for one in want.scopes if _PLAIN_SCOPE.match(one)][:_MOST_SHOWN]
    more = len(want.scopes) - len(plain)
    return _WHY[want.reason].format(scopes=", ".join([*plain, *([f"{more} more"] if more else [])]) or "of its own")


_PLAIN_SCOPE = re.compile(r"[A-Za-z0-9._:/-]{1,100}\Z")
_MOST_SHOWN: Final = 10


_WHY: Final[dict[Reason, str]] = {
    "login": "it wants a login",
    "expired": "its login has expired",
    "scopes": "its login does not cover this; it wants the scopes {scopes}",
    "issuer": "its logins come from another provider than at the first login",
}


class IssuerChanged(IdentityError):
    """A server names another provider than the one that gave its first login."""

    def __init__(self, want: Want, before: str, now: str) -> None:
        super().__init__(
            f"{want.server} now names {escaped(now, 100)} for its logins; the first was at {escaped(before, 100)}. "
            f"If that is right, run `{want.command} --issuer {quote(escaped(now, 200))}`"
        )
        self.before = before
        self.now = now


# ── what the policy gives ──


def means_of(server: Server) -> Means:
    """Raises IdentityError where it names what is not there."""
    secret = key = ""
    if server.client_secret_env:
        secret = os.environ.get(server.client_secret_env, "")
        if not secret:
            name = server.client_secret_env
            raise IdentityError(f"[servers.{server.name}] client_secret_env: the variable {name} is not set")
    if server.private_key:
        try:
            with open(server.private_key, encoding="ascii") as file:
                key = file.read(_MOST_KEY)
        except (OSError, UnicodeDecodeError):
            raise IdentityError(f"[servers.{server.name}] private_key cannot be read as a PEM file") from None
    assertion = ""
    if server.assertion_file:
        try:
            with open(server.assertion_file, encoding="ascii") as file:  # anew each time: whoever writes it, renews it
                assertion = file.read(_MOST_KEY).strip()
        except (OSError, UnicodeDecodeError):
            raise IdentityError(f"[servers.{server.name}] assertion_file cannot be read") from None
        if not flows.is_token(assertion):
            raise IdentityError(f"[servers.{server.name}] assertion_file does not hold one token")
    return Means(server.client_id, secret, key, assertion)


def reach_of(server: Server, networks: Iterable[str] = ()) -> Reach:
    """What may be asked on the way to a login: whatever the policy names, and the public internet."""
    named = [one for one in (server.url, server.issuer, server.exchange_url) if one]
    return Reach.of(named, WebSettings(networks=(*server.networks, *networks)), server.urls)


# ── logging in ──


class Wish(Struct, frozen=True):
    """How somebody wants to log in."""

    caller: str = ""
    device: bool = False
    scopes: tuple[str, ...] = ()
    """In place of those that the server and the policy name."""
    issuer: str = ""
    """The provider that the person expects; one that has changed is accepted so."""
    seconds: float = flows.WAITING


class Shown(Struct, frozen=True):
    """What the person is shown."""

    link: Callable[[str], None]
    device: Callable[[DeviceCode], None]


async def log_in_at(server: Server, wish: Wish, reach: Reach, vault: Vault, shown: Shown) -> Login:
    """Raises IdentityError; then nothing has changed."""
    caller = wish.caller if server.per_caller else ""
    key = key_of(server.url, caller)
    before, want, first = await _apart(lambda: (vault.read(key), vault.want(key), vault.first_issuer(server.url)))
    challenge = await _challenge(server, want, reach)
    resource = await discover_resource(server.url, challenge, reach)
    if not resource.is_told and not challenge.scheme and not server.needs_login and before is None:
        vault.drop_want(key)
        raise IdentityError(f"{server.name} asks for no login")
    blank = Want(server=server.name, url=server.url, caller=caller)
    given = wish.issuer or server.issuer
    issuer = _choose_issuer(resource, given, before[0].provider.issuer if before else first, blank)
    if not given:
        _check_secret(server, issuer)
    provider = await discover_provider(resource, issuer, reach)
    if not given and server.login == "person" and not wish.device:
        flows.check_page(provider, blank.command)
    scopes = _choose_scopes(server, wish, (challenge, resource, provider), before[0] if before and want else None)
    about = Login(
        server=server.name, url=server.url, caller=caller, resource=resource.resource, provider=provider,
        client=Client(provider.issuer, ""), scopes=scopes, at=time(), machine=server.login == "machine",
        networks=reach.rules.web.networks,
    )  # fmt: skip
    if not given:
        shown = _checked(shown, provider, f"{blank.command} --device")
    proof = new_key_for(provider) if challenge.scheme == "dpop" else ""
    about, secrets = await _entered(server, about, wish, reach, shown, proof)
    async with vault.held(key):
        kept = await _written(vault, about, secrets)
        vault.pin_issuer(server.url, provider.issuer)
        vault.drop_want(key)
    return kept


def _checked(shown: Shown, provider: Provider, command: str) -> Shown:
    """Shows a code only where it is typed at the provider's own page."""

    def show(code: DeviceCode) -> None:
        flows.check_code_page(provider, code, command)
        shown.device(code)

    return Shown(shown.link, show)


async def _apart(work: Callable[[], T]) -> T:
    """In a thread of its own: a keyring may ask its user, and nobody else waits for that."""
    return await asyncio.wrap_future(in_own_thread(work, "rightcall-login"))


async def _written(vault: Vault, login: Login, secrets: Secrets) -> Login:
    """Apart, and to the end also where the program stops meanwhile: a refresh token that was used must not be lost."""
    writing = in_own_thread(lambda: vault.write(login, secrets), "rightcall-login")
    try:
        return await asyncio.shield(asyncio.wrap_future(writing))
    except asyncio.CancelledError:
        wait([writing], _LAST_SECONDS)
        raise


_HELLO: Final[dict[str, Any]] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "rightcall", "version": "1"},
    },
}


async def _challenge(server: Server, want: Want | None, reach: Reach) -> Challenge:
    """What the server says to somebody without a login: what it said last, or what it says now."""
    if want is not None and want.metadata:
        scheme = "dpop" if want.bound else "bearer"
        return Challenge(scheme, want.metadata, want.scopes, names_scopes=want.names_scopes)
    reply = await ask(server.url, reach, Post(json=_HELLO, is_probe=True))
    found = read_challenge(reply.headers) if reply.status in (401, 403) else Challenge()
    if want is not None and want.names_scopes:
        return replace(found, scheme=found.scheme or "bearer", scopes=want.scopes, names_scopes=True)
    return found


def _choose_issuer(resource: Resource, given: str, first: str, want: Want) -> str:
    """The one that a person or the policy has given, else the one of the first login, as far as the server names it.
    Raises IdentityError."""
    pinned = given or first
    if not pinned:
        return resource.issuers[0]
    for one in resource.issuers:
        if is_same_issuer(one, pinned):
            return one
    if given:
        named = ", ".join(escaped(one, 100) for one in resource.issuers[:3])
        raise IdentityError(f"{want.server} does not name {escaped(given, 100)} for its logins, but {named}")
    raise IssuerChanged(want, first, resource.issuers[0])


def _check_secret(server: Server, issuer: str) -> None:
    """A secret of the policy's is for one provider, which the policy has to name: a server could name itself, and read
    the secret. A key only signs, for that provider alone. Raises IdentityError."""
    if not server.client_secret_env and (not server.assertion_file or server.exchange_url):
        return
    key = "client_secret_env" if server.client_secret_env else "assertion_file"
    raise IdentityError(
        f"[servers.{server.name}] {key}: the policy does not say which provider it is for, and the server names "
        f'{escaped(issuer, 100)}. If that is right, write the line issuer = "{escaped(issuer, 200)}" there'
    )


def _choose_scopes(
    server: Server, wish: Wish, found: tuple[Challenge, Resource, Provider], before: Login | None
) -> tuple[str, ...]:
    """What the person or the policy says, else what the server asks for, with what a login has already. A provider that
    gives a login which lasts is asked for one."""
    challenge, resource, provider = found
    if wish.scopes:
        return wish.scopes
    asked = challenge.scopes if challenge.names_scopes else resource.scopes
    scopes = dict.fromkeys((*server.scopes, *(challenge.scopes if server.scopes else asked)))
    if before is not None and not before.is_over:
        scopes = dict.fromkeys((*before.scopes, *scopes))
    if scopes and "offline_access" in provider.scopes and server.login == "person":
        scopes["offline_access"] = None
    return tuple(scopes)


async def _entered(
    server: Server, about: Login, wish: Wish, reach: Reach, shown: Shown, proof: str
) -> tuple[Login, Secrets]:
    means = means_of(server)
    provider, bound = about.provider, about.resource if about.provider.is_told else ""
    prover = Prover(proof) if proof else None
    if about.machine:
        party = Party(provider, known_client(provider, means), bound, reach, means.key, prover)
        tokens = await _log_in_machine(server, means, party, about.scopes)
        return kept_as(about, _own_secret(server, party.client), tokens, proof)
    if not wish.device:
        flows.check_challenges(provider)
    redirect = Redirect()
    try:
        await redirect.open(server.redirect_port)
        back = "" if wish.device else redirect.uri
        client = await choose_client(provider, means, back, " ".join(about.scopes), reach)
        party = Party(provider, client, bound, reach, means.key, prover)
        if wish.device:
            tokens = await flows.log_in_by_device(party, about.scopes, shown.device)
        else:
            tokens = await flows.log_in(party, about.scopes, redirect, shown.link, wish.seconds)
    finally:
        await redirect.aclose()
    return kept_as(about, _own_secret(server, client), tokens, proof)


def _own_secret(server: Server, client: Client) -> Client:
    """The client with the secret that a provider gave it; one that the policy names is not kept a second time."""
    return replace(client, secret="") if server.client_secret_env else client


async def _log_in_machine(server: Server, means: Means, party: Party, scopes: tuple[str, ...]) -> Tokens:
    """With what the policy gives: a secret, a key, or somebody else's word for who this machine works for."""
    if not means.assertion:
        return await flows.log_in_machine(party, scopes)
    assertion = means.assertion
    if server.exchange_url:
        assertion = await flows.exchange(party, assertion, server.exchange_url, server.exchange_client_id)
    return await flows.log_in_by_assertion(party, scopes, assertion)


def kept_as(login: Login, client: Client, tokens: Tokens, proof: str) -> tuple[Login, Secrets]:
    """A login with new tokens, and its secrets apart."""
    about = replace(
        login, client=replace(client, secret=""), since=time(), until=tokens.until, who=tokens.who or login.who,
        scopes=login.scopes if tokens.scopes is None else tokens.scopes, renewable=bool(tokens.refresh), is_over=False,
    )  # fmt: skip
    return about, Secrets(tokens.access, tokens.refresh, client.secret, proof)


def party_of(server: Server, login: Login, secrets: Secrets) -> Party:
    """Who may renew a login, or end it: the client that got it, at the provider that gave it."""
    means = means_of(server)
    key = means.key if login.client.method == "private_key_jwt" else ""
    is_its_own = login.client.id == means.id and is_meant(server, login)  # the policy may name another by now
    client = replace(login.client, secret=secrets.client or (means.secret if is_its_own else ""))
    bound = login.resource if login.provider.is_told else ""
    prover = Prover(secrets.proof) if secrets.proof else None
    return Party(login.provider, client, bound, reach_of(server, login.networks), key, prover)


def is_meant(server: Server, login: Login) -> bool:
    """Whether a login is of the provider that the policy names, if it names one."""
    return not server.issuer or is_same_issuer(login.provider.issuer, server.issuer)


async def log_out(server: Server, caller: str, vault: Vault) -> tuple[Login, bool] | None:
    """The login that was ended, and whether its provider has taken it back; None: there was none. The secrets are
    forgotten whatever the provider says. Raises IdentityError."""
    key = key_of(server.url, caller if server.per_caller else "")
    async with vault.held(key):  # what another process is getting just now is taken back too
        found = vault.read(key)
        if found is None:
            vault.drop_want(key)
            return None
        login, secrets = found
        taken = False
        try:
            party = party_of(server, login, secrets)
            for token, hint in ((secrets.refresh, "refresh_token"), (secrets.access, "access_token")):
                if token:
                    taken = await flows.revoke(party, token, hint) or taken
        except IdentityError:
            taken = False
        finally:
            vault.remove(key)
    return login, taken


# ── using one ──


class Access:
    """What the way to one server asks for: the headers of a login, and what to do when the server refuses them. The
    login is read when it has changed, so that one that was just given counts with the next request."""

    def __init__(self, server: Server, caller: str = "", vault: Vault | None = None) -> None:
        self._server = server
        self._caller = caller if server.per_caller else ""
        self._vault = vault or Vault()
        self._key = key_of(server.url, self._caller)
        self._stamp: object = ()
        self._found: tuple[Login, Secrets] | None = None
        self._want: Want | None = None
        self._entering = asyncio.Lock()
        self._rejected = "", 0.0
        """A new token that the server did not take either, and until when it is not tried again."""
        self._prover: tuple[str, Prover] | None = None

    async def headers(self, method: str = "POST") -> Headers:
        """None for a server that never asked for a login. Raises LoginNeeded, and IdentityError where a login is there
        and cannot be used now."""
        if self._server.per_caller and not self._caller:  # nobody in particular asks, so nobody is told of it
            raise LoginNeeded(Want(server=self._server.name, url=self._server.url, caller="CALLER"))
        found = await self._current()
        if found is None:
            if self._want is None and not self._server.needs_login:
                return []
            raise LoginNeeded(self._want or self._wanted("login"))
        login, secrets = found
        if not covers(login.resource, self._server.url):
            raise LoginNeeded(self._wanted("login"))
        if not is_meant(self._server, login):
            raise LoginNeeded(self._wanted("issuer"))
        rejected, until = self._rejected
        if login.is_over or not secrets.access or (secrets.access == rejected and time() < until):
            raise LoginNeeded(self._wanted("expired"))
        if login.until and time() > login.until - min(EARLY, (login.until - login.since) / 2):
            if login.renewable or login.machine:
                secrets = await self._renewed(secrets.access)
            elif time() >= login.until:
                raise LoginNeeded(self._wanted("expired"))
        token = secrets.access.encode("ascii")
        if not secrets.proof:
            return [(b"authorization", b"Bearer " + token)]
        proof = self._prover_of(secrets).prove(method, self._server.url, secrets.access)
        return [(b"authorization", b"DPoP " + token), (b"dpop", proof.encode("ascii"))]

    def _prover_of(self, secrets: Secrets) -> Prover:
        if self._prover is None or self._prover[0] != secrets.proof:
            self._prover = secrets.proof, Prover(secrets.proof)
        return self._prover[1]

    async def refused(self, answer: Answer, sent: Headers, *, is_last: bool) -> bool:
        """Whether it is worth to send a request again that the server has refused with 401 or 403. Raises LoginNeeded,
        and notes for people what is needed."""
        challenge = read_challenge(answer.headers)
        used = token_in(sent)
        if answer.status == 403:
            if challenge.error == "insufficient_scope":
                raise LoginNeeded(self._wanted("scopes", challenge))
            return False
        found = await self._current()
        if found is None:
            raise LoginNeeded(self._wanted("login", challenge))
        login, secrets = found
        if secrets.proof and challenge.error == "use_dpop_nonce" and self._prover_of(secrets).heed(answer.headers):
            return not is_last  # the token is right; the server wants its own word in the proof
        if is_last:
            self._rejected = used, time() + RESTING
            raise LoginNeeded(self._wanted("expired", challenge))
        if secrets.access and secrets.access != used:
            return True
        if not login.is_over and (login.renewable or login.machine):
            await self._renewed(used, challenge)
            return True
        raise LoginNeeded(self._wanted("expired", challenge))

    async def _current(self) -> tuple[Login, Secrets] | None:
        stamp = self._vault.stamp(self._key)
        if stamp != self._stamp:
            self._found, self._want = await _apart(self._read)
            self._stamp = stamp
        if self._found is None and self._server.login == "machine":
            await self._enter()
        return self._found

    def _read(self) -> tuple[tuple[Login, Secrets] | None, Want | None]:
        return self._vault.read(self._key), self._vault.want(self._key)

    def _wanted(self, reason: Reason, challenge: Challenge | None = None) -> Want:
        """Notes it for `rightcall login`, `rightcall status` and the console; what a server has said of it stays."""
        known, told = self._want, challenge or Challenge()
        want = Want(
            server=self._server.name, url=self._server.url, caller=self._caller, reason=reason, scopes=told.scopes,
            names_scopes=told.names_scopes, metadata=told.metadata[:2000], bound=told.scheme == "dpop", at=time(),
        )  # fmt: skip
        if known is not None and (challenge is None or replace(known, at=want.at) == want):
            return known
        with suppress(IdentityError):  # the answer says it too
            self._vault.note_want(want)
        self._want = want
        self._stamp = self._vault.stamp(self._key)
        return want

    async def _renewed(self, used: str, challenge: Challenge | None = None) -> Secrets:
        """New tokens, from this process or another. Whoever stops waiting stops nothing: a refresh token that was used
        must not be lost."""
        task = asyncio.ensure_future(self._renew(used, challenge))
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # also where nobody waits any more
        return await asyncio.shield(task)

    async def _renew(self, used: str, challenge: Challenge | None) -> Secrets:
        async with self._vault.held(self._key):
            found = self._found = await _apart(lambda: self._vault.read(self._key))
            if found is None or found[0].is_over:
                raise LoginNeeded(self._wanted("expired", challenge))
            login, secrets = found
            if secrets.access != used:
                return secrets
            try:
                party = party_of(self._server, login, secrets)
                if login.machine:
                    tokens = await _log_in_machine(self._server, means_of(self._server), party, login.scopes)
                else:
                    tokens = await flows.renew(party, secrets.refresh)
            except TokenRefused as refused:
                if refused.code not in _OVER:
                    raise
                await self._keep(replace(login, is_over=True), Secrets(client=secrets.client))
                raise LoginNeeded(self._wanted("expired", challenge)) from None
            return await self._keep(*kept_as(login, _own_secret(self._server, party.client), tokens, secrets.proof))

    async def _enter(self) -> None:
        """The first login of a machine, which nobody has to approve."""

        def show(_: object) -> None: ...

        async with self._entering:
            if self._found is None:
                await log_in_at(self._server, Wish(), reach_of(self._server), self._vault, Shown(show, show))
                self._found, self._want = await _apart(self._read)
                self._stamp = self._vault.stamp(self._key)

    async def _keep(self, login: Login, secrets: Secrets) -> Secrets:
        self._found = await _written(self._vault, login, secrets), secrets
        self._stamp = self._vault.stamp(self._key)
        return secrets


def access_of(server: Server, caller: str = "") -> Access | TokenAccess | None:
    """How we are let in at a server; None: the policy's own headers say it. Raises IdentityError."""
    target = read_url(server.url)
    if (server.brings_token or server.needs_login) and not target.secure and not is_loopback(target.host):
        raise IdentityError(f"[servers.{server.name}] url begins with http://: a token is sent by https:// alone")
    if server.brings_token:
        return TokenAccess(server)
    if any(name.lower() == "authorization" for name in server.headers):
        return None
    return Access(server, caller)
