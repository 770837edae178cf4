"""Tokens that must not count, each for one reason; beside each the same one without that flaw, which counts."""

import asyncio
import hmac
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import json
from msgspec.structs import replace

from rightcall import load_policy
from rightcall.identity.callers import TOLD, Refusal, Why, looks_like_token
from rightcall.identity.speakers import Speaker, Speakers
from rightcall.identity.tokens import Claims, Key, Terms, Written, check_token, read_token
from support.every import every
from support.openid import GATEWAY, OpenId, b64, key_of, public, sign, unsigned

pytestmark = pytest.mark.promise("I-05")


class World(NamedTuple):
    """Two providers that the policy names, and a third that it does not."""

    provider: OpenId
    second: OpenId
    stranger: OpenId
    speakers: Speakers

    def ask(self, token: str | bytes) -> str:
        """The caller, or why there is none."""
        found = asyncio.run(self.speakers.of(token if isinstance(token, bytes) else token.encode()))
        return found.why if isinstance(found, Refusal) else found.caller


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with OpenId() as provider, OpenId("RS256") as second, OpenId() as stranger:
        second.kid = "key-2"
        stranger.rotate("ES256", "key-9", 9)
        policy = load_policy(
            {
                "identity": [
                    {"issuer": one.issuer, "audience": [GATEWAY, "api://gateway"], "map": {"*": {"caller": caller}}}
                    for one, caller in ((provider, "first"), (second, "second"))
                ]
            }
        )
        yield World(provider, second, stranger, Speakers(lambda: policy))


def test_a_right_token_counts_for_its_provider(world: World) -> None:
    assert world.ask(world.provider.token()) == "first"
    assert world.ask(world.second.token()) == "second"
    assert world.ask(world.provider.token(aud=["x", GATEWAY])) == "first"
    assert world.ask(world.provider.token(header={"typ": "JWT"})) == "first"
    assert world.ask(world.provider.token(header={"typ": None})) == "first"
    assert world.ask(world.provider.token(header={"typ": "application/at+jwt"})) == "first"
    assert world.ask(world.provider.token(header={"kid": None})) == "first"  # it has one key only
    assert world.ask(world.provider.token(header={"x5t": "abc", "nonce": "n", "custom": 1})) == "first"


NOW = int(time.time())


def now() -> int:
    return int(time.time())


def _swapped(token: str, at: int, part: str) -> str:
    parts = token.split(".")
    parts[at] = part
    return ".".join(parts)


def _hmac(world: World, secret: bytes) -> str:
    """By hand: the library refuses to make one with such a secret."""
    text = unsigned({"alg": "HS256", "kid": "key-1"}, world.provider.claims()).rpartition(".")[0]
    return f"{text}.{b64(hmac.digest(secret, text.encode(), 'sha256'))}"


def _embedded(world: World, **header: Any) -> str:
    """Signed with a key of the attacker's own, which the token brings along or says where to find."""
    named = {"alg": "ES256", "kid": "key-1", **header}
    return sign({n: v for n, v in named.items() if v is not None}, world.provider.claims(), world.stranger.key)


def _flipped(token: str) -> str:
    head, body, signature = token.split(".")
    return f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


PEM = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
DER = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
HOSTILE: dict[str, tuple[Callable[[World], str | bytes], Why]] = {
    # the algorithm
    "alg none": (lambda w: unsigned({"alg": "none"}, w.provider.claims()), "algorithm"),
    "alg None in capitals": (lambda w: unsigned({"alg": "NoNe"}, w.provider.claims()), "algorithm"),
    "alg none with a signature": (
        lambda w: _swapped(w.provider.token(), 0, b64(b'{"alg":"none","kid":"key-1"}')), "algorithm"),
    "alg empty": (lambda w: unsigned({"alg": ""}, w.provider.claims()), "algorithm"),
    "alg a number": (lambda w: unsigned({"alg": 256}, w.provider.claims()), "algorithm"),
    "alg a list": (lambda w: unsigned({"alg": ["ES256"]}, w.provider.claims()), "algorithm"),
    "no alg": (lambda w: unsigned({"kid": "key-1"}, w.provider.claims()), "malformed"),
    "HS256 with the public key as PEM": (
        lambda w: _hmac(w, w.second.key.public_key.public_bytes(*PEM)), "algorithm"),
    "HS256 with the public key as DER": (
        lambda w: _hmac(w, w.provider.key.public_key.public_bytes(*DER)), "algorithm"),
    "HS256 with the published key": (lambda w: _hmac(w, json.encode(public(w.provider.key))), "algorithm"),
    "HS256 with an empty secret": (lambda w: unsigned({"alg": "HS256"}, w.provider.claims(), "AA"), "algorithm"),
    "an algorithm outside the list": (
        lambda w: unsigned({"alg": "RS512", "kid": "key-1"}, w.provider.claims(), "AA"), "algorithm"),
    "RS256 said of a key for ES256": (
        lambda w: unsigned({"alg": "RS256", "kid": "key-1"}, w.provider.claims(), "AA"), "unknown_key"),
    "PS256 said of a key for RS256": (
        lambda w: sign({"alg": "PS256", "kid": "key-2"}, w.second.claims(), w.second.key), "unknown_key"),
    # the key
    "another's key under our kid": (lambda w: _embedded(w), "signature"),
    "key in the header": (lambda w: _embedded(w, jwk=public(w.stranger.key)), "signature"),
    "key in the header without a kid": (lambda w: _embedded(w, kid=None, jwk=public(w.stranger.key)), "signature"),
    "address of keys in the header": (lambda w: _embedded(w, jku=f"{w.stranger.issuer}/jwks"), "signature"),
    "address of a certificate in the header": (lambda w: _embedded(w, x5u=f"{w.stranger.issuer}/x"), "signature"),
    "certificate in the header": (lambda w: _embedded(w, x5c=["AAAA"]), "signature"),
    "unknown kid": (lambda w: _embedded(w, kid="key-9"), "unknown_key"),
    "kid that is a path": (lambda w: _embedded(w, kid="../../dev/null"), "unknown_key"),
    "kid that is SQL": (lambda w: _embedded(w, kid="' OR 1=1 --"), "unknown_key"),
    "kid that is a number": (lambda w: _embedded(w, kid=1), "header"),
    "kid that is long": (lambda w: _embedded(w, kid="k" * 301), "header"),
    "kid of the other provider": (
        lambda w: sign({"alg": "RS256", "kid": "key-2"}, w.provider.claims(), w.second.key), "unknown_key"),
    "the other provider speaks for this one": (
        lambda w: sign({"alg": "RS256", "kid": "key-1"}, w.provider.claims(), w.second.key), "unknown_key"),
    # the header
    "crit that nobody knows": (lambda w: w.provider.token(header={"crit": ["exp"], "exp": 1}), "header"),
    "crit that is empty": (lambda w: w.provider.token(header={"crit": []}), "header"),
    "payload that is not encoded": (lambda w: w.provider.token(header={"b64": True}), "header"),
    "a logout token": (lambda w: w.provider.token(header={"typ": "logout+jwt"}), "kind"),
    "a proof of a key": (lambda w: w.provider.token(header={"typ": "dpop+jwt"}), "kind"),
    "a type that is a number": (lambda w: w.provider.token(header={"typ": 1}), "kind"),
    "a security event": (lambda w: w.provider.token(header={"typ": "secevent+jwt"}), "kind"),
    # the signature
    "no signature": (lambda w: w.provider.token().rpartition(".")[0] + ".", "signature"),
    "half a signature": (lambda w: w.provider.token()[:-44], "signature"),
    "another signature": (lambda w: _flipped(w.provider.token()), "signature"),
    "signature of zeros": (lambda w: _swapped(w.provider.token(), 2, b64(bytes(64))), "signature"),
    "claims changed after signing": (
        lambda w: _swapped(w.provider.token(), 1, b64(json.encode(w.provider.claims(sub="root")))), "signature"),
    "header changed after signing": (
        lambda w: _swapped(w.provider.token(), 0, b64(b'{"alg":"ES256","kid":"key-1"}')), "signature"),
    # its place
    "a stranger's token": (lambda w: w.stranger.token(), "issuer"),
    "issuer with a slash behind it": (lambda w: w.provider.token(iss=f"{w.provider.issuer}/"), "issuer"),
    "issuer in capitals": (lambda w: w.provider.token(iss=w.provider.issuer.upper()), "issuer"),
    "issuer as a list": (lambda w: w.provider.token(iss=[w.provider.issuer]), "issuer"),
    "no issuer": (lambda w: w.provider.token(iss=None), "issuer"),
    "a prefix of the issuer": (lambda w: w.provider.token(iss=w.provider.issuer[:-1]), "issuer"),
    "another audience": (lambda w: w.provider.token(aud="https://other.example.org/mcp"), "audience"),
    "audience with a slash behind it": (lambda w: w.provider.token(aud=f"{GATEWAY}/"), "audience"),
    "a prefix of the audience": (lambda w: w.provider.token(aud="https://gateway.example.org"), "audience"),
    "audience with more behind it": (lambda w: w.provider.token(aud=f"{GATEWAY}.evil.example"), "audience"),
    "audiences as one text": (lambda w: w.provider.token(aud=f"x {GATEWAY}"), "audience"),
    "audience as an object": (lambda w: w.provider.token(aud={GATEWAY: True}), "audience"),
    "audience among numbers": (lambda w: w.provider.token(aud=[1, GATEWAY]), "audience"),
    "audience in a list in a list": (lambda w: w.provider.token(aud=[[GATEWAY]]), "audience"),
    "too many audiences": (lambda w: w.provider.token(aud=[*"abcdefghijklmnopqrstuvwxyz" * 3, GATEWAY]), "audience"),
    "no audience": (lambda w: w.provider.token(aud=None), "audience"),
    # its kind
    "an ID token with its nonce": (lambda w: w.provider.token(header={"typ": "JWT"}, nonce="n"), "kind"),
    "an ID token with the hash of its access token": (
        lambda w: w.provider.token(header={"typ": "JWT"}, at_hash="x"), "kind"),
    "an ID token as Keycloak marks it": (lambda w: w.provider.token(header={"typ": "JWT"}, typ="ID"), "kind"),
    "a refresh token as Keycloak marks it": (lambda w: w.provider.token(header={"typ": "JWT"}, typ="Refresh"), "kind"),
    "an ID token as Cognito marks it": (lambda w: w.provider.token(header={"typ": "JWT"}, token_use="id"), "kind"),
    "a token that is bound to a key": (lambda w: w.provider.token(cnf={"jkt": "x"}), "kind"),
    "a logout token without its type": (lambda w: w.provider.token(events={}), "kind"),
    # its time
    "expired": (lambda w: w.provider.token(exp=now() - 31), "expired"),
    "expired long ago": (lambda w: w.provider.token(exp=0), "expired"),
    "never expires": (lambda w: w.provider.token(exp=None), "claims"),
    "expires at a text": (lambda w: w.provider.token(exp=str(now() + 600)), "claims"),
    "expires at true": (lambda w: w.provider.token(exp=True), "claims"),
    "expires at null": (lambda w: sign({"alg": "ES256", "kid": "key-1"}, w.provider.claims() | {"exp": None},
                                       w.provider.key), "claims"),
    "expires after the end of time": (lambda w: w.provider.token(exp=10**18), "claims"),
    "expires before the beginning": (lambda w: w.provider.token(exp=-1), "claims"),
    "not valid yet": (lambda w: w.provider.token(nbf=now() + 120), "not_yet"),
    "not valid before a text": (lambda w: w.provider.token(nbf="0"), "claims"),
    "made in the future": (lambda w: w.provider.token(iat=now() + 120), "not_yet"),
    # whom it is about
    "no subject": (lambda w: w.provider.token(sub=None), "claims"),
    "an empty subject": (lambda w: w.provider.token(sub=""), "claims"),
    "a subject that is a number": (lambda w: w.provider.token(sub=7), "claims"),
    "a subject with a line break": (lambda w: w.provider.token(sub="a\nb"), "claims"),
    "a long subject": (lambda w: w.provider.token(sub="s" * 256), "claims"),
    # no token at all
    "empty": (lambda w: "", "malformed"),
    "dots": (lambda w: "..", "malformed"),
    "two parts": (lambda w: w.provider.token().rpartition(".")[0], "malformed"),
    "five parts, as an encrypted token has": (lambda w: "eyJhbGciOiJkaXIifQ.a.b.c.d", "malformed"),
    "too long": (lambda w: w.provider.token(pad="x" * 16_384), "too_large"),
    "not base64": (lambda w: _swapped(w.provider.token(), 1, "!!!"), "malformed"),
    "padded base64": (lambda w: w.provider.token() + "=", "signature"),
    "header that is no JSON": (lambda w: _swapped(w.provider.token(), 0, b64(b"{")), "malformed"),
    "header that is a list": (lambda w: _swapped(w.provider.token(), 0, b64(b"[]")), "malformed"),
    "claims that are no JSON": (lambda w: _swapped(w.provider.token(), 1, b64(b"{'a': 1}")), "malformed"),
    "claims that are a list": (
        lambda w: sign({"alg": "ES256", "kid": "key-1"}, b"[1]", w.provider.key), "malformed"),
    "claims nested deeply": (
        lambda w: sign({"alg": "ES256", "kid": "key-1"}, b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}", w.provider.key),
        "malformed"),
    "claims with half a character": (
        lambda w: sign({"alg": "ES256", "kid": "key-1"}, b'{"sub": "\xff"}', w.provider.key), "malformed"),
    "bytes": (lambda w: b"\xff\xfe.\x00.\x00", "malformed"),
    "blanks around it": (lambda w: f" {w.provider.token()}", "malformed"),
    "a line break behind it": (lambda w: f"{w.provider.token()}\n", "signature"),
}  # fmt: skip


@every("name", HOSTILE)
def test_a_hostile_token_does_not_count(world: World, name: str) -> None:
    make, why = HOSTILE[name]
    assert world.ask(make(world)) == why


def test_there_are_many_hostile_tokens() -> None:
    assert len(HOSTILE) >= 60


@every(
    ("claims", "counts"),
    [
        ({"exp": NOW - 20}, True),
        ({"exp": NOW - 40}, False),
        ({"nbf": NOW + 20}, True),
        ({"nbf": NOW + 45}, False),
        ({"iat": NOW + 20}, True),
        ({"iat": NOW + 45}, False),
        ({"exp": NOW + 600.5, "nbf": NOW - 0.5}, True),
    ],
)
def test_clocks_may_differ_by_a_little(world: World, claims: dict[str, Any], counts: bool) -> None:
    policy = load_policy(
        {"identity": {"issuer": world.provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "first"}}}}
    )
    found = asyncio.run(
        Speakers(lambda: policy, lambda: NOW).of(world.provider.token(**{"iat": NOW, **claims}).encode())
    )
    assert isinstance(found, Speaker) is counts


@every("kind", ["RS256", "PS256", "ES256", "Ed25519"])
def test_each_kind_of_key_can_sign(kind: str) -> None:
    with OpenId(kind) as provider:
        policy = load_policy(
            {"identity": {"issuer": provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "c"}}}}
        )
        found = asyncio.run(Speakers(lambda: policy).of(provider.token().encode()))
        assert isinstance(found, Speaker)


def test_the_older_name_of_ed25519_counts_too() -> None:
    with OpenId("Ed25519") as provider:
        provider.documents["/jwks"] = {"keys": [public(provider.key, kid="key-1")]}
        policy = load_policy(
            {"identity": {"issuer": provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "c"}}}}
        )
        token = provider.token(header={"alg": "EdDSA"})
        assert isinstance(asyncio.run(Speakers(lambda: policy).of(token.encode())), Speaker)


def test_what_is_told_of_a_token_holds_nothing_of_it(world: World) -> None:
    for name, (make, why) in HOSTILE.items():
        token = make(world)
        found = asyncio.run(world.speakers.of(token if isinstance(token, bytes) else token.encode()))
        assert isinstance(found, Refusal), name
        assert found.told == TOLD[why]


@every("text", [b"sk-abc", b"", b"ey", b"a.b.c", b"rct_x.y.z"])
def test_a_key_of_an_upstream_is_not_taken_for_a_token(text: bytes) -> None:
    assert not looks_like_token(text)


def test_whose_a_token_is_can_be_seen_without_believing_it(world: World) -> None:
    assert world.speakers.is_held_in(b"Bearer " + _embedded(world).encode())
    assert world.speakers.is_held_in(b"a=1&t=" + unsigned({"alg": "none"}, world.provider.claims()).encode())
    assert not world.speakers.is_held_in(world.stranger.token().encode())
    assert not world.speakers.is_held_in(b"ey" * 30_000 + b"." * 100)


def test_a_key_is_used_for_nothing_but_what_it_is_made_for(world: World) -> None:
    """Even if somebody looks the wrong key up."""
    token = sign({"alg": "PS256", "kid": "key-2"}, world.second.claims(), world.second.key)
    written = read_token(token.encode(), ["PS256"])
    assert isinstance(written, Written)
    terms = Terms(world.second.issuer, frozenset((GATEWAY,)), frozenset(("PS256", "RS256")))
    key = Key("key-2", frozenset(("RS256",)), world.second.key)
    assert check_token(written, key, terms, time.time()) == Refusal("algorithm")
    whole = key._replace(algorithms=frozenset(("PS256",)))
    assert isinstance(check_token(written, whole, terms, time.time()), Claims)
    assert check_token(written, whole, replace(terms, algorithms=frozenset()), time.time()) == Refusal("algorithm")


def test_the_keys_that_sign_differ() -> None:
    assert key_of("ES256", 9) is not key_of("ES256")


@pytest.mark.promise("I-05")
@every(
    ("before", "after"),
    [
        (b"", b',"sub":"root"'),
        (b"", b',"groups":["platform"],"groups":[]'),
        (b'"iss":"https://evil.example",', b""),
        (b'"exp":1,', b""),
        (b'"a":{"b":1,"b":2},', b""),
        (b"", b',"\\u0073ub":"root"'),
    ],
)
def test_a_token_that_says_something_twice_is_refused(world: World, before: bytes, after: bytes) -> None:
    whole = json.encode(world.provider.claims())
    claims = b"{" + before + whole[1:-1] + after + b"}"
    token = sign({"alg": world.provider.kind, "kid": world.provider.kid}, claims, world.provider.key)
    assert asyncio.run(world.speakers.of(token.encode())) == Refusal("malformed")


@pytest.mark.promise("I-05")
@every("subject", ["  ", " anna", "anna ", "an\u3164na", "an\u115fna"])
def test_a_subject_that_cannot_be_seen_whole_is_nobody(world: World, subject: str) -> None:
    token = world.provider.token(sub=subject)
    assert asyncio.run(world.speakers.of(token.encode())) == Refusal("claims")
