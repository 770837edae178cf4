"""For whom tokens of an identity provider speak, with a real provider on loopback."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from time import monotonic, time
from typing import Any

import pytest

from rightcall import load_policy
from rightcall.errors import ConfigError
from rightcall.identity.callers import Refusal
from rightcall.identity.discovery import places_of
from rightcall.identity.speakers import OF_PROVIDER, Speaker, Speakers
from support.openid import GATEWAY, OpenId


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
        ("/jwks", {"keys": []}),
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


def test_many_who_ask_for_metadata_are_one_question_also_while_the_provider_is_away(provider: OpenId) -> None:
    async def many(found: Speakers) -> list[bytes | None]:
        asked = (found.document(OF_PROVIDER, "https://gateway.example.org") for _ in range(20))
        return await asyncio.gather(*asked)

    provider.documents = dict.fromkeys(places_of_metadata(provider), 500)
    assert asyncio.run(many(speakers(provider))) == [None] * 20
    assert len(provider.asked) == len({*provider.asked})
    provider.asked, provider.documents = [], {}
    assert None not in asyncio.run(many(speakers(provider)))
    assert len(provider.asked) == 1


def places_of_metadata(provider: OpenId) -> list[str]:
    return [one.removeprefix(provider.issuer) for one in places_of(provider.issuer)]


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
