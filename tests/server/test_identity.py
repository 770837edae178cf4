"""Tokens of an identity provider at the proxy and at `/mcp`: who comes in, what is recorded, what nobody passes on."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, json

from rightcall.record.tables import read_call
from support.callers import HELLO, META, OWN, POLICY, Got, Site, site_of
from support.every import sampled
from support.openid import GATEWAY, OpenId

MAP: dict[str, Any] = {
    "group:platform": {"caller": "platform"},
    "claim:email=*@example.org": {"caller": "staff/{email}"},
}


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenId]:
    with OpenId() as found:
        yield found


def policy(provider: OpenId, **more: Any) -> dict[str, Any]:
    return POLICY | {"identity": {"issuer": provider.issuer, "audience": GATEWAY, "map": MAP, **more}}


@pytest.fixture
def site(provider: OpenId, tmp_path: Path) -> Iterator[Site]:
    with site_of("sqlite", tmp_path, policy=policy(provider)) as found:
        yield found


def call(site: Site, token: str, tool: str = "r_echo", **headers: str) -> Got:
    """A call of the new era at /mcp."""
    params = {"name": tool, "arguments": {"text": "hi"}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    routed = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
    sent = {"content-type": "application/json", "authorization": f"Bearer {token}", **routed, **headers}
    return site.ask("POST", "/mcp", sent, message)


def recorded(site: Site) -> list[Any]:
    kinds = ("begin", "refused", "waiting", "proxied")
    return [read_call(one.body) for one in site.store.look(lambda tables: tables.newest(20, kinds))]


@pytest.mark.promise("I-05")
def test_a_call_at_the_gateway_is_recorded_with_the_identity_behind_the_caller(site: Site, provider: OpenId) -> None:
    mail = {"email": "anna@example.org", "email_verified": True}
    assert call(site, provider.token(groups=["platform"])).status == 200
    assert call(site, provider.token(sub="b-7", **mail)).status == 200
    newest = recorded(site)[:2]
    assert [(one.caller, one.identity) for one in newest] == [
        ("staff/anna@example.org", (provider.issuer, "b-7")), ("platform", (provider.issuer, "anna")),
    ]  # fmt: skip


@pytest.mark.promise("I-05")
def test_a_refused_call_is_recorded_with_the_identity(site: Site, provider: OpenId) -> None:
    call(site, provider.token(groups=["platform"]), tool="r_nothing")
    assert [(one.decision, one.identity) for one in recorded(site)[:1]] == [("deny", (provider.issuer, "anna"))]


def test_a_token_of_our_own_still_counts_and_has_no_identity(site: Site) -> None:
    assert call(site, site.tokens["ada"]).status == 200
    assert [(one.caller, one.identity) for one in recorded(site)[:1]] == [("ada", ("", ""))]
    assert call(site, OWN).status == 200
    assert recorded(site)[0].caller == "gateway"


@pytest.mark.promise("I-06")
def test_a_client_without_a_token_is_told_where_to_log_in(site: Site, provider: OpenId) -> None:
    got = site.ask("POST", "/mcp", {"content-type": "application/json"}, {"jsonrpc": "2.0", "id": 0, "method": "ping"})
    here = f"http://127.0.0.1:{site.address[1]}"
    assert got.status == 401
    metadata = f"{here}/.well-known/oauth-protected-resource/mcp"
    assert got.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}"'
    for path in ("", "/mcp"):
        told = site.ask("GET", f"/.well-known/oauth-protected-resource{path}")
        assert (told.status, told.headers["content-type"]) == (200, "application/json")
        assert told.json == {
            "resource": f"{here}/mcp",
            "resource_name": "RightCall",
            "authorization_servers": [provider.issuer],
            "bearer_methods_supported": ["header"],
        }
    assert site.ask("GET", "/.well-known/oauth-protected-resource/other").status == 401
    assert site.ask("POST", "/.well-known/oauth-protected-resource").status == 401


@pytest.mark.promise("I-06")
def test_a_client_that_asks_the_server_who_gives_logins_is_told(site: Site, provider: OpenId) -> None:
    got = site.ask("GET", "/.well-known/oauth-authorization-server")
    assert got.status == 200
    told = got.json
    assert (told["issuer"], told["token_endpoint"]) == (provider.issuer, f"{provider.issuer}/token")
    assert told["code_challenge_methods_supported"] == ["S256"]
    assert "registration_endpoint" not in told
    assert site.ask("GET", "/.well-known/oauth-authorization-server/other").status == 401


@pytest.mark.promise("I-06")
def test_a_wrong_token_is_challenged_with_what_is_wrong_and_nothing_of_it(site: Site, provider: OpenId) -> None:
    got = call(site, provider.token(aud="https://other.example.org", sub="nobody-you-know"))
    assert (got.status, got.code) == (401, "wrong_token")
    said = got.headers["www-authenticate"]
    assert 'error="invalid_token", error_description="the token is meant for another audience"' in said
    assert "nobody-you-know" not in said + got.body.decode()


@pytest.mark.promise("I-06")
def test_a_token_without_a_scope_is_asked_to_step_up(provider: OpenId, tmp_path: Path) -> None:
    public = "https://gateway.example.org/team/mcp"
    asked = policy(provider, scopes=["mcp", "tools"], resource=public)
    with site_of("memory", tmp_path, policy=asked) as site:
        got = call(site, provider.token(groups=["platform"], scope="mcp other"))
        assert (got.status, got.code) == (403, "insufficient_scope")
        metadata = "https://gateway.example.org/.well-known/oauth-protected-resource/team/mcp"
        assert got.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", error_description="the token lacks a scope that is needed", '
            f'resource_metadata="{metadata}", scope="mcp tools"'
        )
        told = site.ask("GET", "/.well-known/oauth-protected-resource/team/mcp").json
        assert (told["resource"], told["scopes_supported"]) == (public, ["mcp", "tools"])
        assert call(site, provider.token(groups=["platform"], scope="tools mcp")).status == 200


@pytest.mark.promise("I-05")
def test_whoever_the_map_does_not_name_is_refused_and_not_sent_to_log_in_again(site: Site, provider: OpenId) -> None:
    got = call(site, provider.token(groups=["sales"]))
    assert (got.status, got.code) == (403, "unknown_identity")
    assert "www-authenticate" not in got.headers


def test_a_client_cannot_name_another_caller_than_its_token_does(site: Site, provider: OpenId) -> None:
    token = provider.token(groups=["platform"])
    assert call(site, token, **{"x-rightcall-caller": "ada"}).code == "wrong_caller"
    assert call(site, token, **{"x-rightcall-caller": "platform"}).status == 200


def test_two_tokens_that_speak_for_two_callers_are_refused(site: Site, provider: OpenId) -> None:
    token = provider.token(groups=["platform"])
    assert call(site, token, **{"x-rightcall-token": site.tokens["ada"]}).status == 401
    assert call(site, token, **{"x-rightcall-token": token}).status == 200
    other = provider.token(groups=["platform"], sub="ben")  # the same caller, and somebody else
    assert call(site, token, **{"x-rightcall-token": other}).status == 401


@pytest.mark.promise("I-05")
def test_a_session_belongs_to_one_identity_also_where_a_caller_is_shared(site: Site, provider: OpenId) -> None:
    anna, ben = (provider.token(groups=["platform"], sub=name) for name in ("anna", "ben"))
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    got = site.ask("POST", "/mcp", {"authorization": f"Bearer {anna}", "content-type": "application/json"}, hello)
    session = got.headers["mcp-session-id"]
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    own = [
        site.ask("POST", "/mcp", {"authorization": f"Bearer {one}", "mcp-session-id": session}, ping).status
        for one in (anna, ben)
    ]
    assert own == [200, 404]


@pytest.mark.promise("I-07")
@pytest.mark.parametrize(
    ("header", "form"),
    [("authorization", "Bearer {}"), ("authorization", "bearer  {}"), ("x-api-key", "{}"), ("x-rightcall-token", "{}")],
)
def test_a_token_for_us_lets_into_the_proxy_and_is_not_passed_on(
    site: Site, provider: OpenId, header: str, form: str
) -> None:
    token = provider.token(groups=["platform"])
    got = site.ask("GET", "/v1/models", {header: form.format(token)})
    assert got.status == 200
    sent = site.upstream.requests[-1]
    assert token not in repr(sent)
    assert header not in {name.lower() for name, _ in sent.headers}


@pytest.mark.promise("I-07")
@pytest.mark.parametrize("where", ["x-forwarded-access-token", "cookie", "x-auth", "api-key"])
def test_a_token_for_us_beside_another_credential_is_not_passed_on(site: Site, provider: OpenId, where: str) -> None:
    token = provider.token(groups=["platform"])
    form = f"session={token}; a=b" if where == "cookie" else token
    headers = {where: form, "x-rightcall-token": token, "x-other": "kept"}
    assert site.ask("GET", "/v1/models", headers).status == 200
    sent = site.upstream.requests[-1]
    assert token not in repr(sent)
    assert {name.lower(): value for name, value in sent.headers}["x-other"] == "kept"


@pytest.mark.promise("I-07")
@pytest.mark.parametrize("path", ["/v1/models?access_token={}", "/{}/v1/models", "/v1/{}/models"])
def test_a_token_for_us_in_an_address_is_refused(site: Site, provider: OpenId, path: str) -> None:
    token = provider.token(groups=["platform"])
    before = len(site.upstream.requests)
    got = site.ask("GET", path.format(token), {"x-rightcall-token": token})
    assert (got.status, len(site.upstream.requests)) == (401, before)


@pytest.mark.promise("I-07")
@pytest.mark.parametrize(
    "where", sampled(["authorization", "x-api-key", "api-key", "cookie", "x-other", "proxy-authorization"], 2)
)
@pytest.mark.parametrize("form", ["{}", "Bearer {}", "a=b; t={}", "t{}"])
def test_a_token_of_our_own_beside_the_one_in_the_path_is_not_passed_on(site: Site, where: str, form: str) -> None:
    for token in (OWN, site.tokens["ada"]):
        for written in (form.format(token), f"Basic {b64encode(f'user:{token}'.encode()).decode()}"):
            got = site.ask("GET", f"/{token}/v1/models", {where: written, "x-more": "kept"})
            sent = site.upstream.requests[-1]
            assert got.status == 200
            assert [value for name, value in sent.headers if token in value or value == written] == []
            assert "kept" in repr(sent)


@pytest.mark.promise("I-07")
def test_a_token_of_our_own_in_an_address_is_refused(site: Site) -> None:
    for token in (OWN, site.tokens["ada"]):
        before = len(site.upstream.requests)
        for path in (f"/v1/models?key={token}", f"/v1/{token}/models", f"/v1/models?key=%{ord(token[0]):x}{token[1:]}"):
            assert site.ask("GET", f"/{token}{path}").status == 401
        assert len(site.upstream.requests) == before


def _escaped(token: str) -> bytes:
    return b'"' + b"".join(b"\\u%04x" % ord(one) for one in token) + b'"'


BODIES: dict[str, Any] = {
    "as it is": lambda token: json.encode(token),
    "within a text": lambda token: json.encode(f"use {token}, please"),
    "after a word": lambda token: json.encode(f"token{token}"),
    "escaped": _escaped,
    "partly escaped": lambda token: json.encode(token).replace(b".", b"\\u002E").replace(b"_", b"\\u005f"),
    "as a name": lambda token: json.encode({token: 1}),
    "in a list": lambda token: json.encode(["a", ["b", token]]),
    "within JSON in a text": lambda token: json.encode(json.encode({"t": token}).decode()),
    "without its signature": lambda token: json.encode(token.rpartition(".")[0] + "." if "." in token else token),
}


@pytest.mark.promise("I-07")
@pytest.mark.parametrize("name", sampled(BODIES, 3))
@pytest.mark.parametrize("whose", ["provider", "store", "server"])
def test_a_token_for_us_in_a_body_is_passed_on_to_nobody(site: Site, provider: OpenId, name: str, whose: str) -> None:
    tokens = {"provider": provider.token(groups=["platform"]), "store": site.tokens["ada"], "server": OWN}
    token = tokens[whose]
    part = BODIES[name](token).decode()
    routed = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "r_echo"}
    meta = json.encode(META).decode()
    messages = {
        "/mcp": f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
        f'{{"name": "r_echo", "arguments": {{"text": {part}}}, "_meta": {meta}}}}}',
        "/v1/chat/completions": f'{{"model": "m", "messages": [{{"role": "user", "content": {part}}}]}}',
        "/v1/anything": f"before {part} after",
    }
    before = len(site.upstream.requests)
    for path, body in messages.items():
        headers = {"content-type": "application/json", "x-rightcall-token": token, **routed}
        got = site.ask("POST", path, headers, Raw(body.encode()))
        assert (got.status, got.code) == (400, "token_in_body"), path
        assert token not in got.body.decode()
    assert len(site.upstream.requests) == before
    assert "tools/call" not in [one.get("method") for link in site.links.values() for one in link.sent]


@pytest.mark.promise("I-07")
def test_an_answer_to_a_server_and_a_notification_pass_no_token_on(site: Site, provider: OpenId) -> None:
    token = provider.token(groups=["platform"])
    sent = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    sent["mcp-session-id"] = site.ask("POST", "/mcp", sent, hello).headers["mcp-session-id"]
    answer = {"jsonrpc": "2.0", "id": "q", "result": {"action": "accept", "content": {"key": token}}}
    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": token}}
    batch = [{"jsonrpc": "2.0", "id": 3, "method": "ping"}, told]
    for body in (answer, told, batch):
        assert site.ask("POST", "/mcp", sent, body).code == "token_in_body"
    assert site.ask("POST", "/mcp", sent, batch[:1]).status == 200


def test_a_token_of_our_provider_for_somebody_else_may_be_talked_about(site: Site, provider: OpenId) -> None:
    other = provider.token(aud=["https://other.example.org", "https://third.example.org"])
    site.ask("POST", "/v1/anything", {"x-rightcall-token": OWN, "content-type": "text/plain"}, other)
    assert other in repr(site.upstream.requests[-1])


@pytest.mark.promise("I-07")
def test_an_expired_token_for_us_is_not_taken_for_a_key_of_the_upstream(site: Site, provider: OpenId) -> None:
    stale = provider.token(groups=["platform"], iat=1, exp=2)
    before = len(site.upstream.requests)
    got = site.ask("GET", "/v1/models", {"authorization": f"Bearer {stale}", "x-rightcall-token": OWN})
    assert (got.status, len(site.upstream.requests)) == (401, before)


def test_a_key_of_the_upstream_passes_even_if_it_is_a_token_of_somebody_else(site: Site) -> None:
    with OpenId() as other:
        key = f"Bearer {other.token()}"
    assert site.ask("GET", "/v1/models", {"authorization": key, "x-rightcall-token": OWN}).status == 200
    assert {name.lower(): value for name, value in site.upstream.requests[-1].headers}["authorization"] == key


@pytest.mark.promise("I-07")
def test_a_token_for_us_never_reaches_an_mcp_server(site: Site, provider: OpenId) -> None:
    token = provider.token(groups=["platform"])
    assert call(site, token, **{"x-also": token}).status == 200
    assert token not in json.encode([link.sent for link in site.links.values()]).decode()


def test_without_an_identity_provider_such_a_token_is_a_key_like_any_other(provider: OpenId, tmp_path: Path) -> None:
    with site_of("memory", tmp_path) as site:
        token = provider.token()
        assert "www-authenticate" not in call(site, token).headers
        assert site.ask("GET", "/.well-known/oauth-protected-resource").status == 401
        assert site.ask("GET", "/v1/models", {"authorization": token, "x-rightcall-token": OWN}).status == 200
        assert token in repr(site.upstream.requests[-1])


def test_a_proxied_call_is_recorded_with_the_identity(site: Site, provider: OpenId) -> None:
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    answer = {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    from support.scripted.server import Raw as Whole

    site.upstream.routes["/v1/chat/completions"] = Whole(
        json.encode({"choices": [{"index": 0, "message": {"role": "assistant", "content": None, **answer}}]}),
        headers={"content-type": "application/json"},
    )
    body = {"model": "m", "messages": [], "tools": [{"type": "function", "function": function}]}
    token = provider.token(groups=["platform"])
    got = site.ask(
        "POST", "/v1/chat/completions", {"x-rightcall-token": token, "content-type": "application/json"}, body
    )
    assert got.status == 200
    while not (found := [one for one in recorded(site) if one.decision == "passed"]):
        pass
    assert (found[0].caller, found[0].identity) == ("platform", (provider.issuer, "anna"))


@pytest.mark.promise("I-05")
def test_no_token_is_in_a_log_a_record_or_an_answer(
    site: Site, provider: OpenId, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    tokens = [provider.token(groups=["platform"], sub=f"person-{number}") for number in range(10)]
    tokens += [provider.token(groups=["sales"]), provider.token(aud="x"), provider.token(exp=1), "ey.ey.ey"]
    answers = [call(site, token) for token in tokens]
    answers += [site.ask("GET", "/v1/models", {"x-rightcall-token": token}) for token in tokens]
    answers += [site.ask("GET", f"/v1/models?key={token}", {"x-rightcall-token": OWN}) for token in tokens[:3]]
    records = [one.body.decode() for one in site.store.look(lambda tables: list(tables.entries()))]
    told = "\n".join([caplog.text, *records, *(f"{one.headers} {one.body!r}" for one in answers)])
    parts = {part for token in tokens[:-1] for part in token.split(".")[1:]}
    assert [one for one in parts if one in told] == []
