"""The people who may open the console: adding and revoking them, the links and credentials they come in with, and the
sessions that these begin.

    rightcall people add ─▶ credential ─┐
                                        ├─▶ session (a cookie; only its hash is kept)
    rightcall console link ─▶ link ─────┤   a link counts once, and for a few minutes
    an identity provider ─▶ login ──────┘   its session says itself what its person may do

Every row belongs to a person. Revoking a person removes all of them, and with the next look nothing of them counts.
Whoever comes by an identity provider is no row of their own: nothing is left of them when their sessions end.
A token of a caller is none of these: an agent cannot come in, and so cannot approve its own calls.
"""

import asyncio
import re
import ssl
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Any, Final, Literal
from urllib.parse import urlencode

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from rightcall.base.http.answers import Address, HttpError, header_of, read_address
from rightcall.base.http.client import Request, exchange
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.identity.callers import check_caller, still_lets_in
from rightcall.policy.settings import IdentitySettings
from rightcall.policy.types import Credential, May
from rightcall.record.notes import note_change
from rightcall.record.tables import Tables

PREFIX: Final = "rcp_"
"""How every credential of a person begins, so that secret scanners and our own redaction know one."""
LINK_SECONDS: Final = 600
"""How long a login link counts."""
SESSION_SECONDS: Final = 14 * 86_400
"""How long somebody stays logged in."""
MOST_PEOPLE: Final = 200
MOST_SESSIONS: Final = 50
"""Of one person; the oldest ends first."""
_MOST_LINKS: Final = 20
_LONGEST_SECRET: Final = 200
BY_IDENTITY: Final = "identity:"
"""How the origin of a session begins that an identity provider vouched for: issuer, lines of the map and subject
follow."""


class Identified(Struct, frozen=True):
    """Somebody whom an identity provider has told us of."""

    name: str
    may: May
    issuer: str
    subject: str
    seconds: int
    """How long their session lasts."""
    lines: str
    """Of the map, by which they may come in (`identity/callers.py: Person`)."""

    @property
    def origin(self) -> str:
        return f"{BY_IDENTITY}{self.issuer} {self.lines} {self.subject}"

    def is_behind(self, session: Credential) -> bool:
        return _whose(session) == (self.issuer, self.subject)


def add_person(
    tables: Tables, name: str, may: May, by: str, *, callers: Collection[str] = (), secret: bool = True
) -> tuple[Credential, str]:
    """A person, and the credential to come in with (shown once; empty without a `secret`: by links alone). Whoever is
    there already gets a new credential and this right. Raises ConfigError."""
    known = people(tables)
    check_caller(name, [*callers, *(one.person for one in known)], "person")
    if name in callers:
        raise ConfigError(f"invalid person '{escaped(name, 100)}': the policy has a caller of that name; use another")
    old = next((one for one in known if one.person == name), None)
    if old is None and len(known) >= MOST_PEOPLE:
        raise ConfigError(f"{MOST_PEOPLE} people exist already; revoke some with `rightcall people revoke NAME`")
    if old is not None:
        _drop(tables, (one for one in tables.credentials() if one.person == name))
    text = PREFIX + token_urlsafe(32) if secret else ""
    made = Credential(token_hex(4), "person", name, may, _digest(text) if text else "", "", by, tables.wall())
    tables.put_credential(made)
    note_change(tables, "person added", by, {"person": name, "may": may})
    return made, text


def revoke_person(tables: Tables, name: str, by: str) -> Credential:
    """End everything of a person: credential, links, sessions, and open streams with them. Raises ConfigError."""
    found = [one for one in tables.credentials() if one.person == name]
    person = next((one for one in found if one.kind == "person" or one.by.startswith(BY_IDENTITY)), None)
    if person is None:
        raise ConfigError(f"unknown person '{escaped(name, 100)}'; `rightcall people list` shows all people")
    _drop(tables, found)
    note_change(tables, "person revoked", by, {"person": name, "may": person.may})
    return person


def people(tables: Tables) -> list[Credential]:
    """Oldest first."""
    return [one for one in tables.credentials() if one.kind == "person"]


def identified_people(tables: Tables) -> list[Credential]:
    """Those who came by an identity provider, each by one of the sessions that count."""
    now, rows = tables.wall(), [one for one in tables.credentials() if one.kind == "session"]
    found = {one.person: one for one in rows if one.by.startswith(BY_IDENTITY) and not _has_expired(one, now)}
    return list(found.values())


def person_named(tables: Tables, name: str) -> Credential | None:
    return next((one for one in people(tables) if one.person == name), None)


def local_person(tables: Tables, name: str, callers: Collection[str] = ()) -> Credential | None:
    """Whoever sits at this machine's terminal: the first person of a store is its own user. None where there are
    others and this one is not among them."""
    known = people(tables)
    if not known:
        return add_person(tables, name, "approve", name, callers=callers, secret=False)[0]
    return next((one for one in known if one.person == name), None)


def make_link(tables: Tables, name: str, by: str) -> str:
    """The secret of a login link for a person, which counts once and only for a while. Raises ConfigError."""
    person = person_named(tables, name)
    if person is None:
        shown = escaped(name, 100)
        raise ConfigError(f"unknown person '{shown}'; add them with `rightcall people add {shown}`")
    _sweep(tables)
    links = [one for one in tables.credentials() if one.kind == "link" and one.person == name]
    _drop(tables, links[: max(0, len(links) - _MOST_LINKS + 1)])
    text = token_urlsafe(32)
    tables.put_credential(_made(tables, person, "link", text, LINK_SECONDS, by))
    note_change(tables, "login link made", by, {"person": name})
    return text


def link_by_credential(tables: Tables, secret: str) -> str | None:
    """A login link for whoever has this credential; None where it is wrong or revoked."""
    found = _found(tables, secret, "person")
    return None if found is None else make_link(tables, found.person, found.person)


EntryKind = Literal["link", "person"]


def is_known(tables: Tables, secret: str, kind: EntryKind) -> bool:
    """Whether somebody can come in with this; nothing is used up."""
    return _found(tables, secret, kind) is not None


def enter(tables: Tables, secret: str, kind: EntryKind) -> tuple[Credential, str] | None:
    """A new session for who comes with a link (which is used up) or with their own credential, and its secret; None
    where the secret is wrong, used, expired or revoked."""
    found = _found(tables, secret, kind)
    person = None if found is None else person_named(tables, found.person)
    if found is None or person is None:
        return None
    if kind == "link":
        tables.drop_credential(found.id)
    _sweep(tables)
    sessions = [one for one in tables.credentials() if one.kind == "session" and one.person == person.person]
    _drop(tables, sessions[: max(0, len(sessions) - MOST_SESSIONS + 1)])
    text = token_urlsafe(32)
    session = _made(tables, person, "session", text, SESSION_SECONDS, person.person)
    tables.put_credential(session)
    note_change(tables, "logged in", person.person, {"person": person.person, "with": kind})
    return session, text


def enter_identified(
    tables: Tables, who: Identified, login: str, callers: Collection[str] = ()
) -> tuple[Credential, str] | None:
    """A new session for whom an identity provider has told us of, and its secret; None where this `login` was used
    before. Raises ConfigError where the name is somebody else's."""
    if _found(tables, login, "login") is not None:
        return None
    _sweep(tables)
    sessions = [one for one in tables.credentials() if one.kind == "session"]
    others = {one.person for one in sessions if _whose(one) is not None and not who.is_behind(one)}
    known = {one.person for one in people(tables)}
    check_caller(who.name, [*callers, *known, *others], "person")
    if who.name in {*callers, *known, *others}:
        raise ConfigError(f"the person '{escaped(who.name, 100)}' exists already, and is somebody else")
    own = [one for one in sessions if who.is_behind(one)]
    _drop(tables, own[: max(0, len(own) - MOST_SESSIONS + 1)])
    person, text = Credential("", "person", who.name, who.may, "", "", who.origin, ""), token_urlsafe(32)
    session = _made(tables, person, "session", text, who.seconds, who.origin)
    tables.put_credential(session)
    tables.put_credential(_made(tables, person, "login", login, LINK_SECONDS, who.origin))
    said = {"person": who.name, "with": "identity", "issuer": who.issuer, "subject": who.subject, "may": who.may}
    note_change(tables, "logged in", who.name, said)
    return session, text


def end_identified(tables: Tables, issuer: str, subject: str) -> None:
    """Whoever may not come in any more loses the sessions that are left."""
    found = [one for one in tables.credentials() if one.kind == "session" and _whose(one) == (issuer, subject)]
    _drop(tables, found)
    for name in dict.fromkeys(one.person for one in found):
        note_change(tables, "logged out", name, {"person": name, "issuer": issuer, "subject": subject})


def session_of(tables: Tables, secret: str) -> Credential | None:
    """The session that a cookie means, with what its person may do at this moment."""
    found = _found(tables, secret, "session")
    may = None if found is None else _right_of(tables, found)
    return None if found is None or may is None else replace(found, may=may)


def _whose(session: Credential) -> tuple[str, str] | None:
    """Issuer and subject of whom an identity provider vouched for; None: nobody had to."""
    issuer, _, rest = session.by.removeprefix(BY_IDENTITY).partition(" ")
    return (issuer, rest.partition(" ")[2]) if session.by.startswith(BY_IDENTITY) else None


def giver_of(one: Credential) -> str:
    """Who gave somebody their right, for people to read."""
    whose = _whose(one)
    return one.by if whose is None else f"{BY_IDENTITY}{' '.join(whose)}"


def is_let_in(session: Credential, providers: Iterable[IdentitySettings]) -> bool:
    """Whether the policy in force still lets in whoever has this session, where an identity provider vouched for it.
    What the provider said of the person is not kept: the session ends when the line of the map that let them in has
    changed, or another one comes before it. Whom the map still names logs in again."""
    whose = _whose(session)
    if whose is None:
        return True
    own = next((one for one in providers if one.issuer == whose[0] and one.client_id), None)
    return own is not None and still_lets_in(session.by.split(" ", 2)[1], session.may, own)


def _right_of(tables: Tables, session: Credential) -> May | None:
    """What the person of a session may do now; None: they are gone, or somebody else has the name."""
    person = person_named(tables, session.person)
    if session.by.startswith(BY_IDENTITY):
        return session.may if person is None else None
    return None if person is None else person.may


def still_counts(tables: Tables, session: Credential) -> bool:
    """Whether a session that was let in has not ended since, and its person may do what they could then."""
    alive = any(one.id == session.id and not _has_expired(one, tables.wall()) for one in tables.credentials())
    return alive and _right_of(tables, session) == session.may


def leave(tables: Tables, session: Credential) -> None:
    tables.drop_credential(session.id)
    note_change(tables, "logged out", session.person, {"person": session.person})


def live_sessions(tables: Tables, providers: Iterable[IdentitySettings] = ()) -> frozenset[str]:
    """The ids of the sessions that count now, under a policy with these identity providers."""
    providers = tuple(providers)
    now, rows = tables.wall(), tables.credentials()
    known = {one.person for one in rows if one.kind == "person"}
    return frozenset(
        one.id
        for one in rows
        if one.kind == "session"
        and (one.person in known) is not one.by.startswith(BY_IDENTITY)
        and is_let_in(one, providers)
        and not _has_expired(one, now)
    )


def _found(tables: Tables, secret: str, kind: str) -> Credential | None:
    """Every row is compared: how long it takes tells nothing."""
    if not 0 < len(secret) <= _LONGEST_SECRET or not secret.isascii():
        return None
    now, digest = tables.wall(), _digest(secret)
    found = [one for one in tables.credentials() if compare_digest(one.digest, digest)]
    return next((one for one in found if one.kind == kind and one.digest and not _has_expired(one, now)), None)


def _made(tables: Tables, person: Credential, kind: Any, text: str, seconds: int, by: str) -> Credential:
    now = tables.wall()
    moment = datetime.strptime(now, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC) + timedelta(seconds=seconds)
    expires = moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return Credential(token_hex(8), kind, person.person, person.may, _digest(text), expires, by, now)


def _sweep(tables: Tables) -> None:
    now = tables.wall()
    _drop(tables, [one for one in tables.credentials() if _has_expired(one, now)])


def _drop(tables: Tables, rows: Iterable[Credential]) -> None:
    for one in list(rows):
        tables.drop_credential(one.id)


def _has_expired(one: Credential, now: str) -> bool:
    return bool(one.expires) and one.expires <= now


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


# ── remote ──
# A console on another machine, by its address: a person's own credential is exchanged for a login link there.
#
#     rightcall console https://HOST:PORT ─▶ POST /login (the credential) ─▶ a link that logs in once
#
# The credential goes to that address and nowhere else: over TLS, or to this machine. What the other side answers is
# hostile until it proves to be a link: nothing else of it is shown.

ASKED_AS: Final = "application/json"
"""What a program accepts: the login page answers it with a link instead of a session."""
_SECONDS: Final = 15.0
_MOST: Final = 100_000
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{20,100}", re.ASCII)
_CREDENTIAL: Final = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{20,100}}", re.ASCII)


class Made(Struct, frozen=True):
    """What a console answers to a credential that is right."""

    link: str
    """The secret of the link."""


def read_console_address(url: str) -> Address:
    """Raises ConfigError for what is no address of a console, and where a credential would go there in the open."""
    address = read_address(url, "the address of a console is https://HOST:PORT", "the credential is asked for")
    if address.path:
        raise ConfigError("the address of a console is https://HOST:PORT: without a path")
    if not address.secure and not address.is_local:
        raise ConfigError(
            f"http://{address.authority} would carry your credential in the open. Use https://, or a tunnel: "
            f"`ssh -L {address.port}:127.0.0.1:{address.port} {address.host}`, then "
            f"`rightcall console http://127.0.0.1:{address.port}`"
        )
    return address


def is_credential(text: str) -> bool:
    """Whether it looks like one of a person; any other secret is not sent anywhere."""
    return bool(_CREDENTIAL.fullmatch(text))


def remote_link(address: Address, credential: str) -> str:
    """A login link of the console at an address. Raises ConfigError."""
    where = f"{'https' if address.secure else 'http'}://{address.authority}"
    try:
        status, kind, body = asyncio.run(_ask(address, where, credential))
    except TimeoutError:
        raise ConfigError(f"{where} gives no answer within {_SECONDS:g} seconds") from None
    except HttpError as fault:
        raise ConfigError(f"{fault}{_advice(fault)}") from None
    if status == 401:
        raise ConfigError(
            f"{where} does not accept this credential: it is wrong or revoked. "
            "Whoever runs that console makes a new one with `rightcall people add NAME`"
        )
    if status == 421:
        raise ConfigError(f"the console at {where} has another name: set `public_url` in its [console], or use that")
    if status == 200 and kind.startswith(ASKED_AS.encode()):
        try:
            made = json.decode(body, type=Made)
        except DecodeError:
            made = Made("")
        if _SECRET.fullmatch(made.link):
            return f"{where}/enter/{made.link}"
    raise ConfigError(
        f"{where} is not a console of RightCall (status {status}). The console has a port of its own: "
        "`rightcall console link` prints it on that machine"
    )


async def _ask(address: Address, where: str, credential: str) -> tuple[int, bytes, bytes]:
    headers = [
        (b"origin", where.encode()), (b"accept", ASKED_AS.encode()),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]  # fmt: skip
    request = Request("POST", "/login", headers, urlencode({"credential": credential}).encode(), _MOST)
    trust = ssl.create_default_context() if address.secure else None
    async with asyncio.timeout(_SECONDS), exchange(address, request, trust) as answer:
        return answer.status, header_of(answer.headers, b"content-type"), await answer.read_all()


def _advice(fault: HttpError) -> str:
    if fault.fault.code == "untrusted":
        return ". If the certificate is your own, name its file: SSL_CERT_FILE=FILE rightcall console …"
    return ". Is this the address of the console, and does it run?" if fault.kind == "unreachable" else ""
