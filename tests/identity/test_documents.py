"""Documents of strangers: which addresses are asked, and what is taken for an answer."""

import asyncio
import socket
from collections.abc import Callable, Iterator

import pytest

from rightcall.base.http import client
from rightcall.errors import IdentityError
from rightcall.identity.discovery import Reach, fetch_document, origin_of
from rightcall.identity.logins import reach_of
from rightcall.policy import load_policy
from rightcall.policy.commands import UrlRules
from rightcall.policy.settings import WebSettings
from support.web_site import Site, answered, moved, open_site


@pytest.fixture(name="site")
def _site() -> Iterator[Site]:
    with open_site() as site:
        yield site


def local(site: Site) -> Reach:
    return Reach.of([site.url()])


def json_of(text: str, kind: str = "application/json") -> bytes:
    return answered(text.encode(), kind)


def fetch(url: str, reach: Reach) -> object:
    return asyncio.run(fetch_document(url, reach))


def test_a_document_is_read(site: Site) -> None:
    site.pages["/a"] = json_of('{"issuer": "x"}')
    site.pages["/keys"] = json_of('{"keys": []}', "application/jwk-set+json; charset=utf-8")
    assert fetch(site.url("/a"), local(site)) == {"issuer": "x"}
    assert fetch(site.url("/keys"), local(site)) == {"keys": []}
    assert fetch(site.url("/none"), local(site)) is None


@pytest.mark.promise("I-01")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (json_of("[1]"), "not a JSON object"),
        (json_of("{'a': 1}"), "not a JSON object"),
        (json_of('{"issuer": "a", "issuer": "b"}'), "a key twice"),
        (json_of('{"a": ' * 40 + "1" + "}" * 40), "nested too deeply"),
        (json_of('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"), "not a JSON object"),
        (answered(b"\xff\xfe{}", "application/json"), "not JSON"),
        (answered(b'{"a": 1}', "text/html"), "other than JSON"),
        (json_of('{"a": "' + "x" * 300_000 + '"}'), "256,000 bytes"),
        (answered(b"{}", "application/json", content_encoding="gzip"), "compressed"),
        (moved("https://elsewhere.example/"), "redirects elsewhere"),
        (moved("/b"), "redirects elsewhere"),
        (answered(b"", status="500 Oh"), "status 500"),
        (b"ho ho\r\n\r\n", "HTTP"),
    ],
)
def test_a_document_that_is_none_is_refused(site: Site, answer: bytes, told: str) -> None:
    site.pages["/a"] = answer
    site.pages["/b"] = json_of("{}")
    with pytest.raises(IdentityError, match=told):
        fetch(site.url("/a"), local(site))
    assert len(site.asked) == 1


@pytest.mark.promise("I-01")
@pytest.mark.parametrize(
    "url",
    [
        "http://auth.example/a", "https://127.0.0.1:1/a", "https://[::1]/a", "https://10.1.2.3/a", "https://192.168.0.9/a",
        "https://169.254.169.254/latest", "https://0x7f000001/a", "https://2130706433/a", "https://[::ffff:10.0.0.1]/a",
        "https://localhost/a", "https://0.0.0.0/a", "https://100.64.0.1/a", "https://[fd00::1]/a",
        "file:///etc/passwd", "ftp://auth.example/a", "https://user:pass@auth.example/a", "//auth.example/a",
        "https://auth.example\\@10.0.0.1/a", "javascript:alert(1)", "",
    ],
)  # fmt: skip
def test_an_address_that_a_stranger_names_is_not_asked(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(client, "connect", _never)
    with pytest.raises(IdentityError) as caught:
        fetch(url, Reach.of(["https://mcp.example/mcp"]))
    assert "pass" not in str(caught.value).partition("password")[0]


@pytest.mark.promise("I-01")
def test_a_name_that_leads_into_a_private_network_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _leading_to("10.0.0.7"))
    monkeypatch.setattr(client, "connect", _never)
    with pytest.raises(IdentityError, match="not a public internet address"):
        fetch("https://auth.example/a", Reach.of(["https://mcp.example/mcp"]))


def test_a_server_on_this_machine_may_name_others_here_and_no_private_network(site: Site) -> None:
    site.pages["/a"] = json_of("{}")
    assert fetch(site.url("/a", host="localhost"), Reach.of(["http://127.0.0.1:1/mcp"])) == {}
    with pytest.raises(IdentityError, match="not a public internet address"):
        fetch("https://10.0.0.7/a", Reach.of(["http://127.0.0.1:1/mcp"]))


def test_what_the_policy_names_may_be_in_any_network_and_is_then_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    reach = Reach.of(["https://sso.corp.example"], WebSettings(networks=("10.9.0.0/16",)))
    monkeypatch.setattr(client, "connect", _refusing)
    for url in ("https://sso.corp.example/a", "https://10.9.0.1/a"):
        with pytest.raises(IdentityError, match="cannot be reached"):
            fetch(url, reach)


def test_an_address_that_the_policy_denies_is_not_asked(site: Site) -> None:
    reach = Reach.of([site.url()], urls=UrlRules(deny=("127.0.0.1",)))
    with pytest.raises(IdentityError, match="does not allow this address"):
        fetch(site.url("/a"), reach)
    assert site.asked == []


@pytest.mark.promise("I-01")
def test_a_login_that_nobody_starts_obeys_the_policys_rules_of_addresses(site: Site) -> None:
    said = {"policy": {"urls": {"deny": ["127.0.0.1"]}}, "web": {"networks": ["10.1.0.0/16"]}}
    policy = load_policy({**said, "servers": {"notes": {"url": site.url(), "issuer": site.url()}}})
    reach = reach_of(policy.servers["notes"])
    with pytest.raises(IdentityError, match=r"\[policy\.urls\] does not allow"):
        fetch(site.url("/a"), reach)
    assert "10.1.0.0/16" in reach.rules.web.networks


def test_a_message_names_no_query(site: Site) -> None:
    site.pages["/a"] = answered(b"", status="500 Oh")
    with pytest.raises(IdentityError) as caught:
        fetch(site.url("/a?code=geheim"), local(site))
    assert "geheim" not in str(caught.value)


def test_origins_are_compared_in_one_spelling() -> None:
    assert origin_of("https://AUTH.example.:443/x") == origin_of("https://auth.example")
    assert origin_of("https://auth.example:8443") != origin_of("https://auth.example")


async def _never(*arguments: object) -> None:
    raise AssertionError("a connection was opened")


async def _refusing(*arguments: object) -> None:
    raise ConnectionRefusedError(111, "refused")


def _leading_to(address: str) -> Callable[..., list[object]]:
    return lambda host, port, **_: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]
