"""For whom tokens of an identity provider speak, with a real provider on loopback."""

import asyncio
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from time import monotonic, time
from typing import Any

import pytest

from rightcall import load_policy
from rightcall.errors import ConfigError
from rightcall.identity.callers import LONGEST_TOKEN, Refusal
from rightcall.identity.speakers import OF_PROVIDER, Speaker, Speakers
from rightcall.identity.tokens import FAILED_SECONDS, FRESH
from support.openid import GATEWAY, OpenId, unsigned


@pytest.fixture
def provider() -> Iterator[OpenId]:
    with OpenId() as found:
        yield found


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.at = int(time())

    def now(self) -> float:
        return self.at


def speakers(provider: OpenId, now: Callable[[], float] = time, **more: Any) -> Speakers:
    table = {"issuer": provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "guest"}}, **more}
    policy = load_policy({"identity": table})
    return Speakers(lambda: policy, now)


def ask(found: Speakers, *tokens: str) -> list[str]:
    """The caller of each, or why there is none."""

    async def all_of_them() -> list[str]:
        said = [await found.of(token.encode()) for token in tokens]
        return [one.why if isinstance(one, Refusal) else one.caller for one in said]

    return asyncio.run(all_of_them())


def test_a_token_speaks_for_the_caller_of_its_group(provider: OpenId) -> None:
    found = speakers(provider, map={"group:platform": {"caller": "platform"}, "*": {"caller": "guest"}})
    tokens = provider.token(groups=["x", "platform"]), provider.token(groups=["x"]), provider.token()
    assert ask(found, *tokens) == ["platform", "guest", "guest"]
    speaker = asyncio.run(found.of(tokens[0].encode()))
    assert isinstance(speaker, Speaker)
    assert speaker.identity == (provider.issuer, "anna")


def test_a_token_that_counted_is_not_checked_again_while_it_lasts(provider: OpenId) -> None:
    found, token = speakers(provider), provider.token()
    assert ask(found, token, token, token) == ["guest"] * 3
    assert provider.asked == ["/.well-known/openid-configuration", "/jwks"]
    clock = Clock()
    later = speakers(provider, now=clock.now)
    short = provider.token(exp=clock.at + 60)
    assert ask(later, short) == ["guest"]
    clock.at += 89
    assert ask(later, short) == ["guest"]
    clock.at += 2
    assert ask(later, short) == ["expired"]


def test_a_new_key_of_the_provider_is_found_and_one_that_it_took_back_ends(provider: OpenId) -> None:
    found, old = speakers(provider), provider.token()
    assert ask(found, old) == ["guest"]
    provider.rotate("Ed25519", "key-2")
    new = provider.token()
    keys = next(iter(found.issuers().values())).keys
    assert ask(found, new) == ["unknown_key"]  # it was asked a moment ago
    keys.now = lambda: monotonic() + 31
    assert ask(found, new, old) == ["guest", "unknown_key"]


def test_another_policy_counts_at_once(provider: OpenId) -> None:
    table = {"issuer": provider.issuer, "audience": GATEWAY}
    policies = [
        load_policy({"identity": table | {"map": {"*": {"caller": "guest"}}}}),
        load_policy({"identity": table | {"map": {"group:x": {"caller": "x"}}}}),
        load_policy({}),
    ]
    found, token = Speakers(lambda: policies[0]), provider.token()
    assert ask(found, token) == ["guest"]
    del policies[0]
    assert ask(found, token) == ["unmapped"]
    del policies[0]
    assert ask(found, token) == ["algorithm"]  # no provider, no algorithm
    assert not found.is_held_in(token.encode())


def test_another_policy_that_says_the_same_of_providers_keeps_their_keys() -> None:
    with OpenId() as provider:
        table = {"issuer": provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "guest"}}}
        policies = [load_policy({"identity": table}), load_policy({"identity": table, "policy": {"rounds": 7}})]
        found = Speakers(lambda: policies[0])
        assert ask(found, provider.token()) == ["guest"]
    del policies[0]
    assert ask(found, provider.token(sub="ben")) == ["guest"]  # nobody could be asked for keys


def test_a_long_answer_ends_with_its_token(provider: OpenId) -> None:
    clock = Clock()
    found = speakers(provider, now=clock.now)
    still = found.still(provider.token(exp=clock.at + 60).encode())
    assert asyncio.run(still()) is True
    clock.at += 91
    assert asyncio.run(still()) is False


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("/.well-known/openid-configuration", 500),
        ("/.well-known/openid-configuration", b"<html>"),
        ("/.well-known/openid-configuration", b'{"issuer": "x", "issuer": "y"}'),
        ("/.well-known/openid-configuration", {"issuer": "https://evil.example", "jwks_uri": "https://evil.example/k"}),
        ("/.well-known/openid-configuration", {"jwks_uri": "{}/jwks"}),
        ("/.well-known/openid-configuration", {"issuer": "{}"}),
        ("/.well-known/openid-configuration", {"issuer": "{}", "jwks_uri": "file:///etc/passwd"}),
        ("/.well-known/openid-configuration", {"issuer": "{}", "jwks_uri": "http://192.168.1.1/jwks"}),
        ("/.well-known/openid-configuration", {"issuer": "{}", "jwks_uri": "https://169.254.169.254/jwks"}),
        ("/.well-known/openid-configuration", {"issuer": "{}", "jwks_uri": ["{}/jwks"]}),
        ("/.well-known/openid-configuration", {"issuer": "{}/", "jwks_uri": "{}/jwks", "x": "y" * 300_000}),
        ("/jwks", 404),
        ("/jwks", 302),
        ("/jwks", b"[" * 100_000),
        ("/jwks", b'{"keys": [' + b"[" * 50 + b"]" * 50 + b"]}"),
        ("/jwks", {"keys": ["x" * 300_000]}),
    ],
)
@pytest.mark.promise("I-05")
def test_a_provider_whose_documents_are_wrong_lets_nobody_in(provider: OpenId, path: str, document: Any) -> None:
    def filled(value: Any) -> Any:
        return value.replace("{}", provider.issuer) if isinstance(value, str) else value

    plain = isinstance(document, dict)
    provider.documents[path] = {name: filled(one) for name, one in document.items()} if plain else document
    assert ask(speakers(provider), provider.token()) == ["unavailable"]


def test_a_provider_that_is_gone_lets_nobody_new_in() -> None:
    with OpenId() as provider:
        found, known, token = speakers(provider), provider.token(), provider.token(sub="ben")
        assert ask(found, known) == ["guest"]
    assert ask(found, token, known) == ["guest", "guest"]  # its keys are known for a while
    assert ask(speakers(provider), token) == ["unavailable"]


def test_an_issuer_with_a_path_has_its_documents_below_it() -> None:
    with OpenId(path="/realms/team") as provider:
        assert ask(speakers(provider), provider.token()) == ["guest"]
        assert provider.asked == ["/realms/team/.well-known/openid-configuration", "/realms/team/jwks"]


def test_without_the_library_the_policy_says_what_to_install(provider: OpenId, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    for name in [one for one in sys.modules if one.startswith(("joserfc.", "rightcall.identity"))]:
        monkeypatch.delitem(sys.modules, name)
    from rightcall.identity.speakers import Speakers as Fresh

    policy = load_policy(
        {"identity": {"issuer": provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "guest"}}}}
    )
    with pytest.raises(ConfigError, match=r"pip install 'rightcall\[auth\]'"):
        Fresh(lambda: policy).issuers()


def test_scopes_are_needed_all(provider: OpenId) -> None:
    found = speakers(provider, scopes=["a", "b"])
    tokens = [provider.token(scope="a b"), provider.token(scp=["b", "a", "c"]), provider.token(scope="a"),
              provider.token(), provider.token(scope=["a b"]), provider.token(scope="A B")]  # fmt: skip
    assert ask(found, *tokens) == ["guest", "guest", "scope", "scope", "scope", "scope"]


@pytest.mark.promise("I-05")
def test_a_key_that_was_taken_back_ends_also_for_tokens_that_are_remembered(provider: OpenId) -> None:
    found, token = speakers(provider), provider.token()
    keys = next(iter(found.issuers().values())).keys

    async def later() -> list[str]:
        said: list[str] = []
        for _ in range(4):
            one = await found.of(token.encode())
            said.append(one.why if isinstance(one, Refusal) else one.caller)
            while keys.is_asking:
                await asyncio.sleep(0.005)
        return said

    assert asyncio.run(later()) == ["guest"] * 4
    provider.rotate("Ed25519", "key-2")
    keys.now = lambda: monotonic() + FRESH + 1
    assert asyncio.run(later()) == ["guest", "unknown_key", "unknown_key", "unknown_key"]


def test_a_provider_is_asked_once_however_many_ask_and_left_alone_while_it_fails(provider: OpenId) -> None:
    found = speakers(provider)

    async def crowd() -> set[bool]:
        said = await asyncio.gather(*(found.document(OF_PROVIDER, "http://127.0.0.1") for _ in range(20)))
        return {one is None for one in said}

    async def story() -> None:
        provider.documents["/.well-known/openid-configuration"] = 503
        assert await crowd() == {True}
        asked = len(provider.asked)
        assert asked <= 3
        assert await crowd() == {True}
        assert len(provider.asked) == asked
        del provider.documents["/.well-known/openid-configuration"]
        keys = next(iter(found.issuers().values())).keys
        keys.now = lambda: monotonic() + FAILED_SECONDS + 1
        assert await crowd() == {False}
        assert len(provider.asked) == asked + 1

    asyncio.run(story())


@pytest.mark.promise("I-07")
@pytest.mark.parametrize(
    "header", [{"crit": ["x"]}, {"b64": False}, {"kid": "k" * 400}, {"x5c": ["A" * 5000]}, {"alg": "none"}, {"kid": 7}]
)
def test_a_token_of_ours_is_known_whatever_its_header_says(provider: OpenId, header: dict[str, Any]) -> None:
    token = unsigned({"alg": "ES256", **header}, provider.claims())
    assert speakers(provider).is_held_in(token.encode() + b"c2ln")


@pytest.mark.promise("I-07")
def test_a_token_of_ours_is_known_however_long_it_is_and_however_it_is_written(provider: OpenId) -> None:
    found, token = speakers(provider), provider.token(groups=["g" * 50] * 600)
    assert len(token) > LONGEST_TOKEN
    assert found.is_held_in(token.encode())
    short = provider.token()
    for text in (
        f"x={short}",
        f"x={short.replace('.', '%2E')}",
        f"x=%65{short[1:]}",
        f"a; t={short}; b",
        f"{short[:-9]}",
    ):
        assert found.is_held_in(text.encode()), text
    for scheme in (b"Basic ", b"basic\t"):
        assert found.is_held_in(scheme + b64encode(b"user:" + short.encode()))
    for text in (b"Basic " + b64encode(b"user:password"), b"Basic e", b"Basic %%%", b"Bearer %"):
        assert not found.is_held_in(text)
    assert not found.is_held_in(unsigned({"alg": "none"}, {"iss": "https://other.example"}, "c2ln").encode())
    assert not found.is_held_in(b"eyJhbGciOiJub25lIn0.bm90IGpzb24.c2ln")
