"""The keys of a provider: which are taken, when it is asked again, and what counts while it cannot be asked."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from rightcall.errors import IdentityError
from rightcall.identity.tokens import FRESH, KEPT, MOST_KEYS, PAUSE, Key, Keys, Unreachable, choose_key, read_keys
from support.every import every
from support.openid import b64, key_of, public

EC: dict[str, Any] = public(key_of("ES256"), kid="ec")
RSA: dict[str, Any] = public(key_of("RS256"), kid="rsa")


class Provider:
    """What the provider publishes, and how often it was asked."""

    def __init__(self, *keys: Any) -> None:
        self.keys: Any = list(keys)
        self.asked = 0
        self.now = 1000.0
        self.is_gone = False

    async def load(self) -> dict[str, Any]:
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_gone:
            raise IdentityError("gone")
        return {"keys": self.keys}

    def run(self, work: Callable[[Keys], Coroutine[Any, Any, Any]]) -> Any:
        async def doing() -> Any:
            return await work(Keys(self.load, lambda: self.now))

        return asyncio.run(doing())


def test_the_provider_is_asked_once_for_all_who_come_at_once() -> None:
    provider = Provider(EC)

    async def work(keys: Keys) -> list[Key | None]:
        return await asyncio.gather(*(keys.find("ec", "ES256") for _ in range(50)))

    found = provider.run(work)
    assert provider.asked == 1
    assert all(one is not None and one.id == "ec" for one in found)


def test_a_new_key_is_found_at_once_and_invented_ones_cause_no_more_questions() -> None:
    provider = Provider(EC)

    async def work(keys: Keys) -> None:
        assert await keys.find("ec", "ES256") is not None
        provider.now += PAUSE
        provider.keys = [EC, RSA]
        assert await keys.find("rsa", "RS256") is not None
        assert (provider.asked, keys.generation) == (2, 2)
        for number in range(100):
            assert await keys.find(f"invented-{number}", "ES256") is None
        assert provider.asked == 2
        provider.now += PAUSE
        assert await keys.find("invented", "ES256") is None
        assert await keys.find("invented", "ES256") is None
        assert (provider.asked, keys.generation) == (3, 2)

    provider.run(work)


def test_a_key_that_was_taken_back_ends() -> None:
    provider = Provider(EC, RSA)

    async def work(keys: Keys) -> None:
        assert await keys.find("ec", "ES256") is not None
        provider.keys = [RSA]
        provider.now += FRESH
        assert await keys.find("ec", "ES256") is not None  # asks the provider, and waits for nobody
        for _ in range(5):
            await asyncio.sleep(0)
        provider.now += 1
        assert await keys.find("ec", "ES256") is None
        assert await keys.find("rsa", "RS256") is not None

    provider.run(work)


def test_keys_outlive_a_provider_that_cannot_be_reached_for_a_day() -> None:
    provider = Provider(EC)

    async def work(keys: Keys) -> None:
        assert await keys.find("ec", "ES256") is not None
        provider.is_gone = True
        provider.now += KEPT - 1
        assert await keys.find("ec", "ES256") is not None
        await asyncio.sleep(0)
        provider.now += PAUSE
        with pytest.raises(Unreachable):
            await keys.find("ec", "ES256")
        provider.is_gone = False
        provider.now += PAUSE
        assert await keys.find("ec", "ES256") is not None

    provider.run(work)


def test_a_provider_that_was_never_reached_is_asked_now_and_then() -> None:
    provider = Provider(EC)
    provider.is_gone = True

    async def work(keys: Keys) -> None:
        for _ in range(20):
            with pytest.raises(Unreachable):
                await keys.find("ec", "ES256")
        assert provider.asked == 1
        provider.now += PAUSE
        provider.is_gone = False
        assert await keys.find("ec", "ES256") is not None

    provider.run(work)


def test_a_broken_key_set_leaves_the_keys_that_are_known() -> None:
    provider = Provider(EC)

    async def work(keys: Keys) -> None:
        assert await keys.find("ec", "ES256") is not None
        provider.keys = "nothing"
        provider.now += PAUSE
        assert await keys.find("new", "ES256") is None
        assert await keys.find("ec", "ES256") is not None

    provider.run(work)


def _weak() -> dict[str, Any]:
    numbers = rsa.generate_private_key(65537, 1024).public_key().public_numbers()
    return {"kty": "RSA", "n": b64(numbers.n.to_bytes(128)), "e": "AQAB", "kid": "x"}


HOSTILE: dict[str, Any] = {
    "no list": {"keys": {"0": EC}},
    "no keys": {},
    "an empty list": {"keys": []},
    "null": {"keys": None},
    "too many": {"keys": [EC] * (MOST_KEYS + 1)},
    "keys that are texts": {"keys": ["key"]},
    "a shared secret": {"keys": [OctKey.generate_key(256).as_dict(private=True)]},
    "a private key": {"keys": [key_of("ES256").as_dict(private=True)]},
    "a private RSA key": {"keys": [key_of("RS256").as_dict(private=True)]},
    "for encrypting": {"keys": [EC | {"use": "enc"}]},
    "a use that nobody knows": {"keys": [EC | {"use": ["sig"]}]},
    "operations without checking": {"keys": [EC | {"key_ops": ["sign"]}]},
    "operations as a text": {"keys": [EC | {"key_ops": "verify"}]},
    "a kind that nobody knows": {"keys": [EC | {"kty": "PQC"}]},
    "a kind that is a list": {"keys": [EC | {"kty": ["EC"]}]},
    "an RSA key said to be for a secret": {"keys": [RSA | {"alg": "HS256"}]},
    "a key said to be for nothing": {"keys": [RSA | {"alg": "none"}]},
    "an algorithm of another kind": {"keys": [RSA | {"alg": "ES256"}]},
    "an algorithm that is a list": {"keys": [RSA | {"alg": ["RS256"]}]},
    "another curve": {"keys": [public(ECKey.generate_key("secp256k1"))]},
    "a curve for agreeing on keys": {"keys": [public(OKPKey.generate_key("X25519"))]},
    "a point that is not on the curve": {"keys": [EC | {"y": EC["x"]}]},
    "a point without its half": {"keys": [{name: value for name, value in EC.items() if name != "y"}]},
    "a modulus that is a number": {"keys": [RSA | {"n": 7}]},
    "a modulus that is not base64": {"keys": [RSA | {"n": "!" * 342}]},
    "a weak RSA key": {"keys": [_weak()]},
    "an RSA key that is a little too large": {"keys": [RSA | {"n": b64(b"\xff" * 1100)}]},
    "a huge RSA key": {"keys": [RSA | {"n": b64(b"\xff" * 2048)}]},
    "an exponent that costs too much": {"keys": [RSA | {"e": b64(b"\xff" * 200 + b"\x01")}]},
    "an exponent of one": {"keys": [RSA | {"e": "AQ"}]},
    "an even exponent": {"keys": [RSA | {"e": "Ag"}]},
    "a kid that is a number": {"keys": [EC | {"kid": 1}]},
    "a kid that is long": {"keys": [EC | {"kid": "k" * 301}]},
}


@pytest.mark.promise("I-05")
@every("name", HOSTILE)
def test_a_hostile_key_set_gives_no_key(name: str) -> None:
    found: tuple[Any, ...] = ()
    with suppress(IdentityError):
        found = read_keys(HOSTILE[name])
    assert found == ()


@pytest.mark.promise("I-05")
@pytest.mark.parametrize("left", [[], [EC | {"use": "enc"}], [{"kty": "oct", "k": "AAAA"}]])
def test_a_provider_that_takes_its_last_key_back_is_believed(left: list[Any]) -> None:
    provider = Provider(EC)

    async def work(keys: Keys) -> None:
        assert await keys.find("ec", "ES256") is not None
        provider.keys = left
        provider.now += FRESH
        await keys.find("ec", "ES256")
        for _ in range(5):
            await asyncio.sleep(0)
        assert await keys.find("ec", "ES256") is None

    provider.run(work)


@every("name", [one for one in HOSTILE if isinstance(HOSTILE[one].get("keys"), list)][2:])
def test_a_good_key_beside_a_hostile_one_counts(name: str) -> None:
    found = read_keys({"keys": [*HOSTILE[name]["keys"], RSA | {"kid": "good"}]})
    assert [one.id for one in found] == ["good"]


def test_a_key_may_do_what_its_kind_is_made_for() -> None:
    found = read_keys({"keys": [EC, RSA, RSA | {"alg": "RS256", "kid": "one"}, public(key_of("Ed25519"), kid="ed")]})
    assert {one.id: sorted(one.algorithms) for one in found} == {
        "ec": ["ES256"], "rsa": ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"], "one": ["RS256"],
        "ed": ["Ed25519", "EdDSA"],
    }  # fmt: skip
    assert isinstance(found[1].jose, RSAKey)


def test_a_token_has_a_key_only_where_there_is_one() -> None:
    keys = read_keys({"keys": [EC, RSA, RSA | {"kid": "second"}]})
    assert choose_key(keys, None, "ES256") is keys[0]
    assert choose_key(keys, None, "RS256") is None  # which of the two?
    assert choose_key(keys, "rsa", "ES256") is None
    assert choose_key(keys, "ec", "ES256") is keys[0]
    assert choose_key((*keys, keys[0]), "ec", "ES256") is None
