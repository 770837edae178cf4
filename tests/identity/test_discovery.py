"""From a challenge to who gives logins: what is looked for, where, and what is refused on the way."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.errors import IdentityError
from rightcall.identity.discovery import (
    Challenge,
    Provider,
    Reach,
    Resource,
    covers,
    discover_issuer,
    discover_provider,
    discover_resource,
    is_same_issuer,
    read_challenge,
    read_provider,
)
from support.every import every
from support.web_site import Site, answered, moved, open_site


@pytest.fixture(name="site")
def _site() -> Iterator[Site]:
    with open_site() as site:
        yield site


def publish(site: Site, path: str, **document: Any) -> None:
    site.pages[path] = answered(json.dumps(document).encode(), "application/json")


def resource(site: Site, challenge: Challenge | None = None) -> Resource:
    url = site.url("/mcp")
    return asyncio.run(discover_resource(url, challenge or Challenge(), Reach.of([url])))


def issuer(site: Site, path: str = "", *, openid: bool = False) -> Provider:
    return asyncio.run(discover_issuer(site.url(path), Reach.of([site.url()]), openid=openid))


def paths(site: Site) -> list[str]:
    return [one.split(" ")[1] for one in site.asked]


@every(
    ("header", "expected"),
    [
        (b"Bearer", Challenge("bearer")),
        (b'bearer realm="x, y=\\"z\\"", scope="a  b"', Challenge("bearer", "", ("a", "b"), "", True)),
        (
            b'Basic realm="r", Bearer error="insufficient_scope", scope=w',
            Challenge("bearer", "", ("w",), "insufficient_scope", True),
        ),
        (b'Negotiate YIIabc==, DPoP algs="ES256"', Challenge("dpop")),
        (
            b'Bearer resource_metadata="https://a.example/m", resource_metadata="https://b.example/m"',
            Challenge("bearer", "https://a.example/m"),
        ),
        (b'Bearer scope=""', Challenge("bearer", "", (), "", True)),
        (b"Basic realm=x", Challenge()),
        (b"", Challenge()),
        (b'"""===,,,Bearer', Challenge()),
    ],
)
def test_a_challenge_is_read(header: bytes, expected: Challenge) -> None:
    assert read_challenge([(b"content-type", b"x"), (b"www-authenticate", header)]) == expected


def test_a_long_challenge_takes_no_time_and_gives_few_scopes() -> None:
    header = b'Bearer scope="' + b" ".join(b"s%d" % n for n in range(5_000)) + b'"'
    assert read_challenge([(b"www-authenticate", header)]).scopes == ()  # it has no end within what is read
    header = b'Bearer scope="' + b" ".join(b"s%d" % n for n in range(200)) + b'"'
    assert len(read_challenge([(b"www-authenticate", header)]).scopes) == 60
    assert read_challenge([(b"www-authenticate", b"Bearer " + b'a="\\' * 50_000)]).scheme == "bearer"


def test_the_metadata_that_a_challenge_names_is_the_only_one_asked_for(site: Site) -> None:
    publish(
        site, "/custom", resource=site.url("/mcp"), authorization_servers=["https://a.example"], scopes_supported=["x"]
    )
    found = resource(site, Challenge("bearer", site.url("/custom")))
    assert (found, paths(site)) == (Resource(site.url("/mcp"), ("https://a.example",), ("x",)), ["/custom"])
    with pytest.raises(IdentityError, match="not there"):
        resource(site, Challenge("bearer", site.url("/elsewhere")))


def test_without_a_challenge_the_path_comes_before_the_root(site: Site) -> None:
    publish(
        site, "/.well-known/oauth-protected-resource", resource=site.url(), authorization_servers=["https://a.example"]
    )
    found = resource(site)
    assert found.resource == site.url()
    assert paths(site) == ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]


def test_a_server_without_metadata_is_its_own_provider(site: Site) -> None:
    site.pages["/.well-known/oauth-protected-resource"] = moved("/welcome")
    site.pages["/.well-known/oauth-protected-resource/mcp"] = answered(b"<html>", "text/html")
    found = resource(site)
    assert (found.is_told, found.issuers) == (False, (site.url("").rstrip("/"),))
    provider = asyncio.run(discover_provider(found, found.issuers[0], Reach.of([site.url()])))
    assert (provider.is_told, provider.token_endpoint) == (False, site.url("/token"))


@pytest.mark.promise("I-01")
@pytest.mark.parametrize("said", ["https://evil.example/mcp", "", "http://127.0.0.1:1/mcp", 5, "{}/mcp/other", "{}/mc"])
def test_metadata_of_another_resource_is_refused(site: Site, said: object) -> None:
    here = site.url("").rstrip("/")
    value = said.replace("{}", here) if isinstance(said, str) else said
    publish(
        site, "/.well-known/oauth-protected-resource/mcp", resource=value, authorization_servers=["https://a.example"]
    )
    with pytest.raises(IdentityError, match="for another server"):
        resource(site)


def test_a_resource_covers_what_is_below_it_on_its_origin() -> None:
    assert covers("https://a.example/mcp/", "https://A.example:443/mcp")
    assert not covers("https://a.example.evil.example", "https://a.example/mcp")
    assert not covers("http://a.example/mcp", "https://a.example/mcp")
    assert not covers("https://a.example:8443", "https://a.example/mcp")


@pytest.mark.parametrize(
    ("path", "at"),
    [
        ("", "/.well-known/oauth-authorization-server"),
        ("", "/.well-known/openid-configuration"),
        ("/t", "/.well-known/oauth-authorization-server/t"),
        ("/t", "/.well-known/openid-configuration/t"),
        ("/t", "/t/.well-known/openid-configuration"),
    ],
)
def test_the_metadata_of_a_provider_is_found_in_every_spelling(site: Site, path: str, at: str) -> None:
    publish(
        site, at, issuer=site.url(path), token_endpoint=site.url("/token"), code_challenge_methods_supported=["S256"]
    )
    site.pages["/.well-known/oauth-authorization-server"] = site.pages.get(
        "/.well-known/oauth-authorization-server", answered(b"<html>", "text/html")
    )
    found = issuer(site, path)
    assert (found.token_endpoint, found.challenge_methods) == (site.url("/token"), ("S256",))
    if path:
        assert not {"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} & set(paths(site))


def test_openids_own_place_comes_first_where_it_is_wanted(site: Site) -> None:
    publish(site, "/t/.well-known/openid-configuration", issuer=site.url("/t"), jwks_uri=site.url("/keys"))
    assert issuer(site, "/t", openid=True).jwks_uri == site.url("/keys")
    assert paths(site) == ["/t/.well-known/openid-configuration"]


@pytest.mark.promise("I-01")
@pytest.mark.parametrize("said", ["https://evil.example", "", None, "{}/t/", "{}/T", "{}"])
def test_metadata_of_another_issuer_is_refused_and_nothing_else_is_tried(site: Site, said: str | None) -> None:
    here = site.url("").rstrip("/")
    publish(
        site,
        "/.well-known/oauth-authorization-server/t",
        issuer=said and said.replace("{}", here),
        token_endpoint="https://x.example",
    )
    publish(site, "/t/.well-known/openid-configuration", issuer=site.url("/t"))
    with pytest.raises(IdentityError, match="of another issuer"):
        issuer(site, "/t")
    assert len(site.asked) == 1


def test_an_issuer_without_metadata_gives_no_logins(site: Site) -> None:
    with pytest.raises(IdentityError, match="publishes no metadata"):
        issuer(site)


def test_only_a_host_alone_may_end_in_a_slash_or_not() -> None:
    assert is_same_issuer("http://localhost:9000/", "http://localhost:9000")
    assert not is_same_issuer("https://a.example//", "https://a.example/x")
    assert not is_same_issuer("", "")


@pytest.mark.promise("I-01")
@every("key", ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "jwks_uri"])
@every(
    "url", ["http://auth.example/x", "javascript:alert(1)", "file:///etc/passwd", "/token", "https://u:p@a.example/"]
)
def test_an_endpoint_that_is_no_https_address_is_refused(key: str, url: str) -> None:
    with pytest.raises(IdentityError, match="https://"):
        read_provider({"issuer": "https://a.example", key: url}, "https://a.example")
