"""Tokens that are bound to a key, and machines that bring another provider's word."""

import asyncio
import base64
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey
from msgspec.structs import replace

from rightcall.base.http.answers import Answer
from rightcall.errors import IdentityError
from rightcall.identity.logins import Access, LoginNeeded, Shown, Wish, log_in_at, reach_of
from rightcall.identity.registration import Prover, new_key
from rightcall.identity.vault import Vault
from rightcall.policy.settings import Server
from support.authorities import Guarded, Provider, Reply, Said, Service, browse_later, guarded
from support.every import every

URL = "https://mcp.example/mcp"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


@pytest.fixture(name="pair")
def _pair() -> Iterator[tuple[Provider, Guarded]]:
    with guarded() as pair:
        yield pair


@pytest.fixture(name="vault")
def _vault(tmp_path: Path) -> Vault:
    return Vault(str(tmp_path / "state" / "logins"), lambda: None)


def server_of(guard: Guarded, **keys: Any) -> Server:
    return replace(Server("notes", url=guard.mcp), **keys)


def enter(server: Server, vault: Vault) -> None:
    shown = Shown(browse_later, lambda _: None)
    asyncio.run(log_in_at(server, Wish(seconds=3), reach_of(server), vault, shown))


def read_proof(proof: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a proof whose signature is right by its own key."""
    head = proof.split(".")[0]
    header = json.loads(base64.urlsafe_b64decode(head + "=="))
    found = jws.deserialize_compact(proof, ECKey.import_key(header["jwk"]), algorithms=["ES256"])
    return header, json.loads(found.payload)


def refused(challenge: str, **headers: str) -> Answer:
    answer = Answer(1000)
    answer.status = 401
    more = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    answer.headers = [(b"www-authenticate", challenge.encode()), *more]
    return answer


def bind(provider: Provider, guard: Guarded) -> None:
    """The server wants bound tokens, and the provider gives them."""
    provider.metadata["dpop_signing_alg_values_supported"] = ["RS256", "ES256"]
    provider.granted["token_type"] = "DPoP"
    plain = guard.challenge
    guard.challenge = lambda more="": {name: text.replace("Bearer", "DPoP") for name, text in plain(more).items()}


# ── proofs ──


def test_a_proof_names_its_request_and_its_token_and_counts_once() -> None:
    prover = Prover(new_key())
    header, claims = read_proof(prover.prove("POST", f"{URL}?x=1#top", "the-token"))
    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert "d" not in header["jwk"]
    assert (claims["htm"], claims["htu"]) == ("POST", URL)
    assert claims["ath"] == base64.urlsafe_b64encode(sha256(b"the-token").digest()).decode().rstrip("=")
    _, again = read_proof(prover.prove("POST", URL, "the-token"))
    assert claims["jti"] != again["jti"]


def test_each_login_has_a_key_of_its_own() -> None:
    assert new_key() != new_key()


@every("said", ["", "with space", "x" * 1001, 'qu"ote'])
def test_a_word_that_cannot_be_one_is_not_taken(said: str) -> None:
    prover = Prover(new_key())
    assert not prover.heed([(b"dpop-nonce", said.encode())])
    assert "nonce" not in read_proof(prover.prove("POST", URL))[1]


def test_a_word_is_taken_once() -> None:
    prover = Prover(new_key())
    assert prover.heed([(b"dpop-nonce", b"word-1")])
    assert not prover.heed([(b"dpop-nonce", b"word-1")])
    assert read_proof(prover.prove("POST", URL))[1]["nonce"] == "word-1"


# ── logins with them ──


def test_a_server_that_asks_for_it_gets_tokens_that_are_bound(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    bind(provider, guard)
    server = server_of(guard)
    enter(server, vault)
    asked = provider.asked("/token")[0]
    header, claims = read_proof(asked.headers["dpop"])
    assert (claims["htm"], claims["htu"]) == ("POST", f"{provider.url}/token")
    sent = dict(asyncio.run(Access(server, vault=vault).headers("DELETE")))
    assert sent[b"authorization"].startswith(b"DPoP access-")
    own, proof = read_proof(sent[b"dpop"].decode())
    assert own["jwk"] == header["jwk"]
    assert (proof["htm"], proof["htu"]) == ("DELETE", guard.mcp)


def test_a_token_that_is_not_bound_is_refused(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    bind(provider, guard)
    provider.granted["token_type"] = "Bearer"
    with pytest.raises(IdentityError, match="expected DPoP"):
        enter(server_of(guard), vault)
    assert vault.logins() == []


def test_a_bound_token_that_nobody_asked_for_is_refused(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    provider.granted["token_type"] = "DPoP"
    with pytest.raises(IdentityError, match="expected Bearer"):
        enter(server_of(guard), vault)


def test_a_provider_that_binds_nothing_is_said(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    bind(provider, guard)
    del provider.metadata["dpop_signing_alg_values_supported"]
    with pytest.raises(IdentityError, match="bound to a key"):
        enter(server_of(guard), vault)
    assert provider.asked("/authorize") == []


def test_the_server_s_word_is_put_into_the_next_proof(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    bind(provider, guard)
    server = server_of(guard)
    enter(server, vault)

    async def asked_again() -> tuple[bool, dict[bytes, bytes]]:
        access = Access(server, vault=vault)
        sent = await access.headers()
        wants = refused('DPoP error="use_dpop_nonce"', dpop_nonce="word-of-the-server")
        return await access.refused(wants, sent, is_last=False), dict(await access.headers())

    again, sent = asyncio.run(asked_again())
    assert again
    assert read_proof(sent[b"dpop"].decode())[1]["nonce"] == "word-of-the-server"
    assert len(provider.asked("/token")) == 1


def test_the_key_is_kept_with_the_secrets_and_renews_the_tokens(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    bind(provider, guard)
    server = server_of(guard)
    enter(server, vault)
    (login,) = vault.logins()
    assert "PRIVATE" not in repr(vault.read(login.key))

    async def renewed() -> bool:
        access = Access(server, vault=vault)
        return await access.refused(refused('DPoP error="invalid_token"'), await access.headers(), is_last=False)

    assert asyncio.run(renewed())
    first, second = (read_proof(one.headers["dpop"])[0]["jwk"] for one in provider.asked("/token"))
    assert first == second


# ── the word of another provider ──


class Company(Service):
    """Exchanges whatever it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, Any] = {"access_token": "word-to-the-other", "issued_token_type": ID_JAG}

    def answer(self, said: Said) -> Reply:
        return 200, {}, self.given


def worker(guard: Guarded, folder: Path, **keys: Any) -> Server:
    (file := folder / "assertion").write_text("word-for-the-workload\n")
    named = {"issuer": guard.provider.url, "assertion_file": str(file), **keys}
    return server_of(guard, login="machine", client_id="robot", **named)


def test_a_workload_logs_in_with_its_file_which_is_read_each_time(
    pair: tuple[Provider, Guarded], vault: Vault, tmp_path: Path
) -> None:
    provider, guard = pair
    server = worker(guard, tmp_path)

    async def twice() -> None:
        access = Access(server, vault=vault)
        sent = await access.headers()
        (tmp_path / "assertion").write_text("newer-word")
        assert await access.refused(refused("Bearer"), sent, is_last=False)

    asyncio.run(twice())
    forms = [one.form for one in provider.asked("/token")]
    assert [one["assertion"] for one in forms] == ["word-for-the-workload", "newer-word"]
    assert {one["grant_type"] for one in forms} == {"urn:ietf:params:oauth:grant-type:jwt-bearer"}
    assert {one["resource"] for one in forms} == {guard.mcp}


@pytest.mark.parametrize("text", ["", "two words", "two\nlines"])
def test_a_file_that_holds_no_token_is_said_and_not_repeated(
    text: str, pair: tuple[Provider, Guarded], vault: Vault, tmp_path: Path
) -> None:
    provider, guard = pair
    server = worker(guard, tmp_path)
    (tmp_path / "assertion").write_text(text)
    with pytest.raises(IdentityError, match="does not hold one token") as caught:
        asyncio.run(Access(server, vault=vault).headers())
    assert not text or text not in str(caught.value)
    assert provider.asked("/token") == []


def test_the_company_s_provider_is_asked_first(pair: tuple[Provider, Guarded], vault: Vault, tmp_path: Path) -> None:
    provider, guard = pair
    company = Company()
    try:
        server = worker(guard, tmp_path, exchange_url=f"{company.url}/token", exchange_client_id="rightcall")
        asyncio.run(Access(server, vault=vault).headers())
        (asked,) = company.asked("/token")
        assert asked.form["subject_token"] == "word-for-the-workload"
        assert (asked.form["audience"], asked.form["resource"]) == (provider.url, guard.mcp)
        assert (asked.form["requested_token_type"], asked.form["client_id"]) == (ID_JAG, "rightcall")
        assert provider.asked("/token")[0].form["assertion"] == "word-to-the-other"
        assert not any("word-for-the-workload" in one.body.decode() for one in provider.said)
    finally:
        company.close()


def test_another_kind_of_token_in_exchange_goes_nowhere(
    pair: tuple[Provider, Guarded], vault: Vault, tmp_path: Path
) -> None:
    provider, guard = pair
    company = Company()
    company.given["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
    try:
        server = worker(guard, tmp_path, exchange_url=f"{company.url}/token")
        with pytest.raises(IdentityError, match="did not exchange"):
            asyncio.run(Access(server, vault=vault).headers())
        assert provider.asked("/token") == []
    finally:
        company.close()


def test_a_word_that_the_provider_does_not_take_is_tried_once(
    pair: tuple[Provider, Guarded], vault: Vault, tmp_path: Path
) -> None:
    provider, guard = pair
    server = worker(guard, tmp_path)
    provider.refused.add("urn:ietf:params:oauth:grant-type:jwt-bearer")
    with pytest.raises(IdentityError, match="gave no token") as caught:
        asyncio.run(Access(server, vault=vault).headers())
    assert not isinstance(caught.value, LoginNeeded)
    assert len(provider.asked("/token")) == 1
    assert "word-for-the-workload" not in str(caught.value)
