"""The upstream's address, how paths are joined to it, and which headers travel."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import CallError, ConfigError
from rightcall.server.addresses import Upstream, address_of, answer_headers, join_path, request_headers
from support.every import every


@every(
    ("base", "target", "asked"),
    [
        ("http://h", "/v1/models", "/v1/models"),
        ("http://h/", "/v1/models", "/v1/models"),
        ("http://h/v1", "/v1/models", "/v1/models"),
        ("http://h/v1/", "/v1/models?a=/v1/b", "/v1/models?a=/v1/b"),
        ("http://h/api/v1", "/v1/models", "/api/v1/models"),
        ("http://h/api/v1", "/api/v1/models", "/api/v1/models"),
        ("http://h/v1", "/chat/completions", "/v1/chat/completions"),
        ("http://h/v1", "/v1", "/v1"),
        ("http://h/v1", "/v1?x", "/v1?x"),
        ("http://h/v1", "/v1beta/models", "/v1/v1beta/models"),
        ("http://h/v1", "/api/chat", "/api/chat"),
        ("http://h/api/v1", "/api/chat", "/api/chat"),
        ("http://h/api", "/api/chat", "/api/chat"),
        ("http://h/openai/v1", "/v1/a%2Fb//c", "/openai/v1/a%2Fb//c"),
        ("http://h", "/", "/"),
    ],
)
def test_what_both_ends_have_in_common_is_taken_once(base: str, target: str, asked: str) -> None:
    assert join_path(address_of(base).path, target) == asked


@given(st.text("/v1ap%i?", max_size=20), st.text("/v1api%?", max_size=20))
def test_a_joined_path_ends_as_the_client_wrote_it(base: str, target: str) -> None:
    assert join_path("/" + base.strip("?/"), "/" + target).endswith("/" + target)


@every(
    ("url", "host", "authority", "local"),
    [
        ("http://localhost:11434", "localhost", "localhost:11434", True),
        ("http://127.0.0.9", "127.0.0.9", "127.0.0.9", True),
        ("http://[::1]:8080/v1", "::1", "[::1]:8080", True),
        ("https://API.example.com/v1", "api.example.com", "api.example.com", False),
        ("https://example.com:80", "example.com", "example.com:80", False),
        ("http://10.0.0.1", "10.0.0.1", "10.0.0.1", False),
        ("http://localhost.example.com", "localhost.example.com", "localhost.example.com", False),
    ],
)
def test_an_address_tells_its_host_and_whether_that_is_here(url: str, host: str, authority: str, local: bool) -> None:
    upstream = Upstream(url)
    assert (upstream.host, upstream.is_local, address_of(url).authority) == (host, local, authority)


@every(
    ("url", "words"),
    [
        ("localhost:11434", "begin with http"),
        ("ftp://h", "begin with http"),
        ("", "begin with http"),
        ("http://", "names no host"),
        ("http://h:99999", "ort"),
        ("http://h:x", "ort"),
        ("http://[::1", "IPv6"),
        ("https://user:sk-secret@h/v1", "without a user or password"),
        ("https://h/v1?key=sk-secret", "without"),
        ("https://h/ü", "ASCII"),
        ("https://h\x00", "control characters"),
        ("https://h/v1\n", "without blanks"),
        (" https://h/v1", "without blanks"),
    ],
)
def test_a_wrong_address_is_refused_without_repeating_it(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match="--upstream") as raised:
        Upstream(url)
    assert words in str(raised.value)
    assert "sk-secret" not in str(raised.value)


def test_a_path_cannot_carry_a_second_request() -> None:
    upstream = Upstream("http://h")
    for target in ("/a b", "/a\r\nx: y", "a", "/\x00"):
        with pytest.raises(CallError):
            upstream._head("GET", target, [], b"")


@pytest.mark.promise("H-03")
@every(
    "target",
    ["/../admin", "/v1/..", "/v1/%2e%2E/%2e%2e/admin", "/v1/.%2e/x", "/v1/..%2f..%2fadmin", "/v1/..\\x", "/a/..;x/b?q"],
)
def test_no_path_climbs_out_of_the_upstreams_own(target: str) -> None:
    with pytest.raises(CallError, match=r"\.\. in it could leave the path of --upstream"):
        join_path("/tenant/v1", target)
    assert join_path("", target) == target  # nothing to leave


@every("target", ["/v1/a..b/x", "/v1/...", "/v1/x?path=../y", "/v1/./x", "/v1/%252e%252e/x"])
def test_dots_that_climb_nowhere_pass(target: str) -> None:
    assert join_path("/tenant/v1", target) == f"/tenant{target}"


def test_what_an_upstream_says_in_our_name_is_dropped() -> None:
    said = [(b"x-rightcall", b"repaired=9"), (b"x-rightcall-token", b"t"), (b"x-right", b"1")]
    assert answer_headers(said) == [(b"x-right", b"1")]


def test_headers_of_one_hop_stay_there_and_keys_travel() -> None:
    given_headers = [
        (b"host", b"x"),
        (b"authorization", b"Bearer k"),
        (b"connection", b"keep-alive, X-Private"),
        (b"keep-alive", b"1"),
        (b"x-private", b"1"),
        (b"te", b"trailers"),
        (b"transfer-encoding", b"chunked"),
        (b"upgrade", b"h2c"),
        (b"proxy-authorization", b"k"),
        (b"expect", b"100-continue"),
        (b"content-length", b"7"),
        (b"accept-encoding", b"gzip"),
        (b"x-api-key", b"k"),
    ]
    kept = [(b"authorization", b"Bearer k"), (b"accept-encoding", b"gzip"), (b"x-api-key", b"k")]
    assert request_headers(given_headers, plain=False) == kept
    assert request_headers(given_headers, plain=True) == [kept[0], kept[2], (b"accept-encoding", b"identity")]
    assert answer_headers(given_headers)[-3:] == [(b"content-length", b"7"), *kept[1:]]
    assert {name for name, _ in answer_headers(given_headers)} & {
        b"connection",
        b"transfer-encoding",
        b"x-private",
    } == set()


def test_a_session_of_the_console_never_reaches_the_upstream() -> None:
    given = [
        (b"cookie", b"a=1; rightcall_console_4142=secret; b=2"),
        (b"cookie", b"rightcall_console_1=x; __Host-rightcall_console_2=y"),
        (b"x", b"y"),
    ]
    assert request_headers(given, plain=False) == [(b"cookie", b"a=1; b=2"), (b"x", b"y")]
