"""Whether a token of an identity provider counts here: a JWT, checked against the terms of the policy.

    bytes ─▶ read_token ─▶ header and claims, of which nothing is believed
                 │              which key?
                 ▼
          check_token ─▶ signature, kind, issuer, audience, time ─▶ Claims, or a Refusal

The algorithm comes from the policy's list and must be one that the key is made for: the token's own word only chooses
among those. Keys and addresses of keys in a token are not looked at. A refusal says which check failed and nothing of
the token; whoever presents it may be told.
"""

import asyncio
import logging
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Collection, Mapping
from time import monotonic, time
from typing import Any, Final, Literal, NamedTuple

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.registry import Header
from msgspec import DecodeError, Struct, json

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.json.strict import duplicate_keys
from rightcall.base.letters import has_unseen
from rightcall.base.text import escaped
from rightcall.errors import IdentityError
from rightcall.identity.callers import LONGEST_TOKEN, Refusal, Why
from rightcall.identity.discovery import Provider, Reach, discover_issuer, fetch_document
from rightcall.policy.settings import IdentitySettings, Policy

# ── keys ──
# The public keys of one identity provider: read from its key set, kept, and looked for again when it has new ones.
#
#     find(kid, algorithm) ─▶ kept? ─▶ the key
#                               └ no ─▶ ask the provider, once for all who wait, and not again for a while
#
# A key set is a stranger's document. Only keys that can check a signature are taken, each for the algorithms that its
# kind is made for; a secret among them, or a key that is weak or costs too much to use, is left out. A key that is not
# in the set any more has been taken back, be it the last one. While the provider cannot be reached, what is known of
# its keys counts for a day.

log = logging.getLogger("rightcall")

MOST_KEYS: Final = 100
"""Of one provider. The largest ones have about ten."""
LONGEST_ID: Final = 300
FRESH: Final = 600.0
"""Seconds after which the provider is asked again, while what is known still counts: so long a key may count that it
has taken back."""
KEPT: Final = 86_400.0
"""Seconds for which keys count while the provider cannot be reached."""
PAUSE: Final = 30.0
"""Seconds between two questions to the provider: whoever sends tokens with invented keys causes no more than that."""
_LEAST_BITS, _MOST_BITS, _MOST_EXPONENT = 2048, 8192, 1 << 32

Jose = RSAKey | ECKey | OKPKey
_RSA: Final = frozenset(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
_CURVES: Final = {"P-256": frozenset(("ES256",)), "P-384": frozenset(("ES384",)), "P-521": frozenset(("ES512",))}
_EDWARDS: Final = {"Ed25519": frozenset(("EdDSA", "Ed25519"))}
_PARTS: Final = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
"""What is read of a key, by its kind. Certificates and addresses beside it are not looked at."""
_SECRETS: Final = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


class Key(NamedTuple):
    """One key, and what it may check: a token cannot choose another way to use it."""

    id: str
    algorithms: frozenset[str]
    jose: Jose


class Unreachable(IdentityError):
    """The provider's keys are not known, and it cannot be asked for them."""


class Keys:
    """Used within one event loop. `load` asks the provider, and raises IdentityError."""

    def __init__(self, load: Callable[[], Awaitable[Mapping[str, Any]]], now: Callable[[], float] = monotonic) -> None:
        self._load = load
        self.now = now
        self._keys: tuple[Key, ...] = ()
        self._loaded: float | None = None
        self._asked: float | None = None
        self._asking: asyncio.Task[None] | None = None
        self.generation = 0
        """Grows whenever other keys are found: what was decided by the old ones is decided again."""

    @property
    def is_fresh(self) -> bool:
        """Whether the provider was asked lately: what was decided by its keys need not be decided again."""
        return self._loaded is not None and self.now() - self._loaded < FRESH

    @property
    def is_asking(self) -> bool:
        return self._asking is not None and not self._asking.done()

    async def find(self, id: str | None, algorithm: str) -> Key | None:
        """The key that a token names, for the algorithm that it names; None where the provider has no such key. Raises
        Unreachable."""
        age = None if self._loaded is None else self.now() - self._loaded
        if age is None or age >= KEPT:
            await self._ask()
            if self._loaded is None or self.now() - self._loaded >= KEPT:
                raise Unreachable("the identity provider cannot be reached, and its keys are not known")
        elif age >= FRESH:
            self._ask_soon()
        found = choose_key(self._keys, id, algorithm)
        if found is None and await self._ask():
            found = choose_key(self._keys, id, algorithm)
        return found

    async def _ask(self) -> bool:
        """Whether the provider was asked just now; whoever comes meanwhile waits for the same answer."""
        asking = self._ask_soon()
        if asking is None:
            return False
        await asyncio.shield(asking)
        return True

    def _ask_soon(self) -> asyncio.Task[None] | None:
        if self.is_asking:
            return self._asking
        if self._asked is not None and self.now() - self._asked < PAUSE:
            return None
        self._asked = self.now()
        self._asking = asyncio.get_running_loop().create_task(self._take())
        return self._asking

    async def _take(self) -> None:
        try:
            keys = read_keys(await self._load())
        except IdentityError as error:
            log.warning("identity: the keys of the provider could not be read: %s", escaped(str(error), 300))
            return
        if not keys:
            log.warning("identity: the provider publishes no key that can check a signature, so no token of it counts")
        self._loaded = self.now()
        if [(one.id, one.algorithms, one.jose.as_dict()) for one in keys] != [
            (one.id, one.algorithms, one.jose.as_dict()) for one in self._keys
        ]:
            self._keys = keys
            self.generation += 1


def choose_key(keys: tuple[Key, ...], id: str | None, algorithm: str) -> Key | None:
    """The one key of this id that may be used so. A token without an id has a key only where there is no choice."""
    fitting = [one for one in keys if algorithm in one.algorithms and (id is None or one.id == id)]
    return fitting[0] if len(fitting) == 1 else None


def read_keys(document: Mapping[str, Any]) -> tuple[Key, ...]:
    """The keys of a key set that can check a signature, if any. Raises IdentityError for what is no key set."""
    listed: Any = document.get("keys")
    if not is_list(listed) or len(listed) > MOST_KEYS:
        raise IdentityError(f"the key set needs a list of at most {MOST_KEYS} keys")
    return tuple(key for one in listed if is_object(one) and (key := _read_key(one)) is not None)


def _read_key(one: Mapping[str, Any]) -> Key | None:
    kind, use, operations, name = one.get("kty"), one.get("use"), one.get("key_ops"), one.get("kid", "")
    if not isinstance(kind, str) or kind not in _PARTS or any(part in one for part in _SECRETS):
        return None
    if use not in (None, "sig") or not (operations is None or (is_list(operations) and "verify" in operations)):
        return None
    parts = {part: one.get(part) for part in _PARTS[kind]}
    if not isinstance(name, str) or len(name) > LONGEST_ID or not all(_is_short(part) for part in parts.values()):
        return None
    try:
        jose, algorithms = _imported(kind, parts)
    except (JoseError, ValueError, TypeError, KeyError, OverflowError):
        return None
    own = one.get("alg")
    algorithms = algorithms if own is None else algorithms & {own if isinstance(own, str) else ""}
    return Key(name, algorithms, jose) if algorithms else None


def _imported(kind: str, parts: Mapping[str, Any]) -> tuple[Jose, frozenset[str]]:
    made: Any = {"kty": kind, **parts}
    if kind == "RSA":
        if len(parts["n"]) * 6 < _LEAST_BITS:
            raise ValueError("the modulus is too short")
        rsa = RSAKey.import_key(made)
        numbers = rsa.public_key.public_numbers()
        fits = _LEAST_BITS <= rsa.public_key.key_size <= _MOST_BITS and numbers.e <= _MOST_EXPONENT
        return rsa, _RSA if fits else frozenset()
    if kind == "EC":
        return ECKey.import_key(made), _CURVES.get(parts["crv"], frozenset())
    return OKPKey.import_key(made), _EDWARDS.get(parts["crv"], frozenset())


def _is_short(part: object) -> bool:
    return isinstance(part, str) and 0 < len(part) <= _MOST_BITS // 4


LONGEST_SUBJECT: Final = 255
KNOWN_SECONDS: Final = 60.0
"""How long the metadata of a provider is used again."""
FAILED_SECONDS: Final = 5.0
"""How long a provider is left alone that could not be asked for it."""
_MOST_AUDIENCES: Final = 50
_LATEST: Final = 253_402_300_800
"""The end of the year 9999, in seconds since 1970."""

Kind = Literal["access", "id"]
"""What a token is for: calling us, or telling the console who logged in."""


class Terms(Struct, frozen=True):
    """What a token must be."""

    issuer: str
    audience: frozenset[str]
    algorithms: frozenset[str]
    leeway: float = 30.0
    """Seconds by which the clocks may differ."""
    kind: Kind = "access"
    nonce: str = ""
    """Of the login that an ID token must belong to."""


class Written(Struct, frozen=True):
    """A token as it was read. Nothing in it is believed yet."""

    signature: jws.CompactSignature
    algorithm: str
    key: str | None
    claims: Mapping[str, Any]

    @property
    def issuer(self) -> object:
        return self.claims.get("iss")


class Claims(Struct, frozen=True):
    """What a token says that was found to count."""

    issuer: str
    subject: str
    expires: float
    """Seconds since 1970."""
    all: Mapping[str, Any]

    @property
    def scopes(self) -> frozenset[str]:
        """Of `scope`, or of `scp` as some providers have it."""
        given: Any = self.all.get("scope", self.all.get("scp", ""))
        listed = given.split(" ") if isinstance(given, str) else given if is_list(given) else []
        return frozenset(one for one in listed if isinstance(one, str) and one)


class _Allowed(jws.JWSRegistry):
    """Which algorithm is used, and what else a header may say, is decided before: by `read_token` and the key."""

    max_header_length = 4096
    max_payload_length = LONGEST_TOKEN
    max_signature_length = 1400

    def get_alg(self, name: str) -> JWSAlgModel:
        return self.algorithms[name]

    def check_header(self, header: Header) -> None:
        pass


_REGISTRY: Final = _Allowed(strict_check_header=False)
_TYPES: Final[Mapping[Kind, frozenset[str]]] = {
    "access": frozenset(("", "jwt", "at+jwt")),
    "id": frozenset(("", "jwt", "id+jwt", "id_token+jwt")),
}
_OF_ID_TOKENS: Final = ("nonce", "at_hash", "c_hash", "s_hash")
_MOMENTS: Final = (("exp", None), ("nbf", 0), ("iat", 0))
_OTHER_USES: Final = frozenset(("id", "refresh", "offline", "logout"))
"""What some providers call, in `typ` or `token_use` of the claims, a token that is not for calling anybody."""


def read_token(token: bytes, algorithms: Collection[str]) -> Written | Refusal:
    """A token taken apart. What its header says is only compared with what is allowed."""
    if len(token) > LONGEST_TOKEN:
        return Refusal("too_large")
    try:
        signature = jws.extract_compact(token, registry=_REGISTRY)
        claims: Any = json.decode(signature.payload)
        header: Any = signature.headers()
        has_twice = _has_twice(_decoded(token.partition(b".")[0]), header) or _has_twice(signature.payload, claims)
    except (JoseError, DecodeError, ValueError, TypeError, RecursionError):
        return Refusal("malformed")
    if has_twice or not is_object(header) or not is_object(claims):
        return Refusal("malformed")
    algorithm, key = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        return Refusal("algorithm")
    if "crit" in header or "b64" in header or not (key is None or (isinstance(key, str) and len(key) <= LONGEST_ID)):
        return Refusal("header")
    return Written(signature, algorithm, key, claims)


def _decoded(part: bytes) -> bytes:
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def _has_twice(part: bytes, found: Any) -> bool:
    """Whether something is said twice: whoever signed it may have meant the first, and we would read the last."""
    return bool(duplicate_keys(part.decode("utf-8"), found))


def check_token(written: Written, key: Key, terms: Terms, now: float) -> Claims | Refusal:
    """What a token says, where it counts; `key` is what its issuer has under the name that it gives."""
    if written.algorithm not in terms.algorithms or written.algorithm not in key.algorithms:
        return Refusal("algorithm")
    try:
        genuine = jws.validate_compact(written.signature, key.jose, registry=_REGISTRY)
    except (JoseError, ValueError, TypeError):
        genuine = False
    if not genuine:
        return Refusal("signature")
    claims = written.claims
    why = _kind_fault(written, terms) or _place_fault(claims, terms) or _time_fault(claims, terms.leeway, now)
    if why is not None:
        return Refusal(why)
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not _is_seen(subject):
        return Refusal("claims")
    return Claims(terms.issuer, subject, float(claims["exp"]), claims)


def _is_seen(subject: str) -> bool:
    """All of it: records name people by it."""
    return subject.isprintable() and subject == subject.strip() and not has_unseen(subject)


def _kind_fault(written: Written, terms: Terms) -> Why | None:
    """An ID token tells one client who logged in; whoever has seen one must not call with it. A token that is bound to
    its client's key counts for nothing without a proof of that key, which nobody asks for here."""
    claims, kind = written.claims, written.signature.headers().get("typ", "")
    if not isinstance(kind, str) or kind.lower().removeprefix("application/") not in _TYPES[terms.kind]:
        return "kind"
    if terms.kind == "id":
        return None
    uses = (claims.get("token_use"), claims.get("typ"))
    if any(isinstance(one, str) and one.lower() in _OTHER_USES for one in uses):
        return "kind"
    if "cnf" in claims or "events" in claims or any(one in claims for one in _OF_ID_TOKENS):
        return "kind"
    return None


def _place_fault(claims: Mapping[str, Any], terms: Terms) -> Why | None:
    if claims.get("iss") != terms.issuer:
        return "issuer"
    given: Any = claims.get("aud")
    audiences: list[Any] = given if is_list(given) else [given]
    if len(audiences) > _MOST_AUDIENCES or not all(isinstance(one, str) for one in audiences):
        return "audience"
    if not terms.audience.intersection(audiences):
        return "audience"
    if terms.kind == "access":
        return None
    party = claims.get("azp")  # for whom it was made, where it names several
    if (len(audiences) > 1) if party is None else (not isinstance(party, str) or party not in terms.audience):
        return "audience"
    return None if terms.nonce and claims.get("nonce") == terms.nonce else "nonce"


def _time_fault(claims: Mapping[str, Any], leeway: float, now: float) -> Why | None:
    expires, begins, made = (_moment(claims.get(name, usual)) for name, usual in _MOMENTS)
    if expires is None or begins is None or made is None:
        return "claims"
    if now >= expires + leeway:
        return "expired"
    return "not_yet" if now < begins - leeway or now < made - leeway else None


def _moment(value: object) -> float | None:
    """Seconds since 1970; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        return None
    return float(value)


# ── one provider ──


def _life(found: Provider | IdentityError) -> float:
    return FAILED_SECONDS if isinstance(found, IdentityError) else KNOWN_SECONDS


class Issuer:
    """One provider of the policy. Its metadata and its keys are asked for when somebody first needs them."""

    def __init__(self, settings: IdentitySettings, policy: Policy) -> None:
        self.settings = settings
        self.reach = Reach.of([settings.issuer], policy.web, policy.settings.urls)
        self.keys = Keys(self._load)
        self._metadata: tuple[float, Provider | IdentityError] | None = None
        self._asking = asyncio.Lock()
        self.terms = Terms(
            settings.issuer, frozenset(settings.audience), frozenset(settings.algorithms), settings.leeway
        )

    async def metadata(self) -> Provider:
        """As it was a minute ago at most: whoever begins logins without end causes no more questions than that. Raises
        IdentityError, for a few seconds the same one."""
        async with self._asking:
            known = self._metadata
            if known is None or self.keys.now() - known[0] >= _life(known[1]):
                try:
                    found = await discover_issuer(self.settings.issuer, self.reach, openid=True)
                except IdentityError as error:
                    found = error
                known = self._metadata = (self.keys.now(), found)
        if isinstance(known[1], IdentityError):
            raise IdentityError(str(known[1]))
        return known[1]

    async def _load(self) -> dict[str, Any]:
        address = (await self.metadata()).jwks_uri
        found = await fetch_document(address, self.reach) if address else None
        if found is None:
            raise IdentityError("the identity provider publishes no keys (jwks_uri)")
        return found

    async def check(self, written: Written, terms: Terms | None = None, now: float | None = None) -> Claims | Refusal:
        """What a token says, where it counts for this provider."""
        try:
            key = await self.keys.find(written.key, written.algorithm)
        except IdentityError:
            return Refusal("unavailable")
        if key is None:
            return Refusal("unknown_key")
        return check_token(written, key, terms or self.terms, time() if now is None else now)
