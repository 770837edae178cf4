"""Where an address leads, in every spelling of it, and which addresses are not part of the public internet."""

import asyncio
import socket
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import ToolFailure
from rightcall.policy.commands import UrlRules
from rightcall.policy.commands.judgement import judge_url
from rightcall.policy.commands.places import Place
from rightcall.policy.settings import WebSettings
from rightcall.tools.pages import Rules, meanings_of, read_target, why_not_public
from support.every import every

pytestmark = pytest.mark.promise("X-82")

SPELLINGS = {
    "http://example.org": "http://example.org/",
    "HTTPS://EXAMPLE.org.:443/a?b=c#d": "https://example.org/a?b=c",
    "http://example.org:8080/a b".replace(" ", "%20"): "http://example.org:8080/a%20b",
    "https://bücher.example/ü?q=ä": "https://xn--bcher-kva.example/%C3%BC?q=%C3%A4",
    "http://2130706433/": "http://127.0.0.1/",
    "http://0x7f000001/": "http://127.0.0.1/",
    "http://0177.0.0.1/": "http://127.0.0.1/",
    "http://0x7f.1/": "http://127.0.0.1/",
    "http://0x/": "http://0.0.0.0/",
    "http://127.1/": "http://127.0.0.1/",
    "http://127.0.0.1./": "http://127.0.0.1/",
    "http://%31%32%37.0.0.1/": "http://127.0.0.1/",
    "http://①②⑦.0.0.1/": "http://127.0.0.1/",
    "http://127。0。0。1/": "http://127.0.0.1/",
    "http://[::1]:80/": "http://[::1]/",
    "http://[::ffff:127.0.0.1]/": "http://[::ffff:7f00:1]/",
    "http://example.org/<>\"'`{}|^": "http://example.org/%3C%3E%22'%60%7B%7D%7C%5E",
}
WRONG = (
    "", "example.org", "//example.org", "ftp://example.org", "file:///etc/passwd", "javascript:alert(1)", "data:,x",
    "http://", "http:///x", "http://:80", "http://example.org:0", "http://example.org:99999", "http://example.org:8x",
    "http://user@example.org", "http://user:pw@example.org", "http://@example.org", "http://a:b@c@example.org",
    "http://exa mple.org", "http://example.org/\nhost: x", "http://example.org/\r\n\r\nGET /", "http://example.org\\@evil",
    "http://evil\\.example.org", "http://[::1", "http://[::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[x]/",
    "http://1.2.3.4.5/", "http://999.1.1.1/", "http://a..b/", "http://-a.b/", "http://a/" + "x" * 5000,
    "http://exam\u200bple.org\u0000", "gopher://127.0.0.1/", "http://a_b!.org/", f"http://{'a' * 64}.org/",
    f"http://{'a.' * 130}org/", "http://1.2.3.0x100/", "jar:http://example.org", "http//example.org",
    "http:example.org", "http://example%20.org", "http://example%00.org", "http://example%E2%80%83.org",
)  # fmt: skip


@every("text", sorted(SPELLINGS))
def test_an_address_is_read_in_one_way_only(text: str) -> None:
    assert str(read_target(text)) == SPELLINGS[text]


@every("text", WRONG)
def test_what_is_no_plain_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ToolFailure) as fault:
        read_target(text)
    assert "pw" not in str(fault.value)
    assert "\n" not in str(fault.value)


@given(st.text(max_size=60))
def test_whatever_the_text_there_is_a_target_or_a_refusal(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.org/{text}"):
        try:
            target = read_target(url)
        except ToolFailure:
            continue
        assert str(read_target(str(target))) == str(target)
        assert str(target).isascii()
        assert all("!" <= sign <= "~" for sign in str(target))


NOT_PUBLIC = (
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::2", "fe80::1", "febf::1", "fec0::1", "fc00::1",
    "fd00:ec2::254", "fd20:ce::254", "ff02::1", "2001::1", "2001:db8::1", "2001:0:7f00:1::", "2002:7f00:1::",
    "3fff::1", "64:ff9b:1::7f00:1", "100::1", "4000::1", "5f00::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1",
    "64:ff9b::169.254.169.254", "2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:127.0.0.1",
)  # fmt: skip
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1",
    "168.63.129.15", "169.253.1.1", "172.15.0.1", "172.32.0.1", "192.167.1.1", "198.17.1.1", "223.255.255.255",
    "2606:4700:4700::1111", "2a00:1450:4001::1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2001:4860:4860::8888",
)  # fmt: skip


def usable(address: str, **settings: Any) -> bool:
    rules = Rules(WebSettings(**settings), UrlRules())
    return rules._usable(read_target("http://example.org"), address) is not None


@every("address", NOT_PUBLIC)
def test_what_is_no_part_of_the_internet_is_refused(address: str) -> None:
    assert not usable(address)
    assert any(why_not_public(one) for one in meanings_of(ip_address(address)))


@every("address", PUBLIC)
def test_what_is_public_is_not(address: str) -> None:
    assert usable(address)


def test_the_policy_can_open_ranges_and_only_those() -> None:
    assert usable("10.1.2.3", networks=("10.1.0.0/16",))
    assert usable("::ffff:10.1.2.3", networks=("10.1.0.0/16",))
    assert not usable("10.2.0.1", networks=("10.1.0.0/16",))
    assert not usable("127.0.0.1", networks=("10.0.0.0/8", "::/0"))
    assert usable("fd00::1", networks=("fd00::/8",))
    assert not usable("::127.0.0.1", networks=("127.0.0.0/8",)), "the address around it is none of those"


def reached(
    monkeypatch: pytest.MonkeyPatch, found: list[str], url: str = "http://name.test/", **more: Any
) -> list[str]:
    def look(host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (one, port)) for one in found]

    monkeypatch.setattr(socket, "getaddrinfo", look)
    rules = Rules(WebSettings(**more), UrlRules(deny=("93.184.0.0/16",)))
    return asyncio.run(rules.reachable(read_target("http://name.test/")))


def test_of_a_name_s_addresses_those_that_passed_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reached(monkeypatch, ["8.8.8.8", "10.0.0.1", "::1", "1.1.1.1"]) == ["8.8.8.8", "1.1.1.1"]
    for found in (["127.0.0.1"], ["::1"], ["fe80::1%eth0"], ["169.254.169.254", "10.0.0.1"], ["93.184.216.34"], []):
        with pytest.raises(ToolFailure, match="not a public internet address"):
            reached(monkeypatch, found)

    def absent(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", absent)
        with pytest.raises(ToolFailure, match="not a public internet address, or does not exist"):
            asyncio.run(Rules(WebSettings(), UrlRules()).reachable(read_target("http://name.test/")))
    assert reached(monkeypatch, ["::1", "127.0.0.1"], networks=("127.0.0.0/8",)) == ["127.0.0.1"]


def test_a_denied_range_is_denied_in_every_form_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = ("93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2a00:1450::5efe:93.184.216.34")
    for form in forms:
        with pytest.raises(ToolFailure, match="not a public internet address"):
            reached(monkeypatch, [form])
    rules = Rules(WebSettings(), UrlRules(deny=("::ffff:0:0/96",)))
    assert rules._usable(read_target("http://name.test"), "::ffff:8.8.8.8") is None, "nor is its own form forgotten"


def test_what_is_judged_is_what_is_fetched() -> None:
    """Whatever stands before an address: it is refused, or the rules understand it as the client does."""
    place = Place.at("/project")
    blanks = [chr(code) for code in range(0x110000) if chr(code).isspace() or chr(code) in "\ufeff\u200b\ufe0f\"'<\\"]
    for before in (*blanks, *(blank * 3 for blank in blanks)):
        for url in (
            f"{before}http://a.test:0080/x",
            f"http://a.test:0000080/x{before}",
            f"http://a.test{before}/x",
            f"http://a.test%2541{before}/",
        ):
            try:
                target = read_target(url)
            except ToolFailure:
                continue
            rules = UrlRules(deny=(f"{target.host}:{target.port}",))
            assert judge_url(url, rules, place).answer == "deny", ascii(url)


def test_what_is_denied_is_not_fetched_and_what_asks_was_asked_before() -> None:
    target = read_target("\u2003http://name.test:00080/")
    denied = Rules(WebSettings(), UrlRules(deny=("name.test:80",)))
    for redirected in (False, True):
        with pytest.raises(ToolFailure, match=r"name\.test(, which)? may not be fetched"):
            denied.check_target(target, redirected=redirected)
    asks = Rules(WebSettings(), UrlRules(ask=("name.test",)))
    asks.check_target(target, redirected=False)
    with pytest.raises(ToolFailure, match=r"redirects to name\.test"):
        asks.check_target(target, redirected=True)


def test_ports_and_sites_are_the_policy_s() -> None:
    cases: list[tuple[str, dict[str, Any], bool]] = [
        ("http://example.org:8080/", {}, False),
        ("http://example.org:8080/", {"ports": (8080,)}, True),
        ("http://example.org/", {"ports": (8080,)}, False),
        ("http://example.org:22/", {"ports": (0,)}, True),
        ("https://docs.python.org/3/", {"sites": ("docs.python.org",)}, True),
        ("https://docs.python.org.evil.test/", {"sites": ("docs.python.org",)}, False),
        ("https://a.example.org/", {"sites": ("*.example.org",)}, True),
        ("https://example.org/", {"sites": ("*.example.org",)}, False),
        ("https://example.org/docs/../admin", {"sites": ("example.org/docs",)}, False),
    ]
    for url, settings, allowed in cases:
        rules = Rules(WebSettings(**settings), UrlRules())
        if allowed:
            rules.check_target(read_target(url), redirected=False)
        else:
            with pytest.raises(ToolFailure):
                rules.check_target(read_target(url), redirected=False)
