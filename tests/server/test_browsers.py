"""What a hostile upstream sends cannot act as a page of ours, and a page of somebody else cannot ask: real sockets."""

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from rightcall import load_policy
from rightcall.proxy.gates import Options
from rightcall.server.access import Access
from rightcall.server.addresses import answer_headers
from rightcall.server.app import assemble
from support.every import every
from support.proxies import Got, Rig, request, serving
from support.scripted.server import Answer, Raw, ScriptedUpstream, Text
from support.wires.chat import TOOLS

pytestmark = pytest.mark.promise("P-14")

PAGE = b"<!doctype html><script>fetch('/v1/models')</script>"
ALLOWED = "https://chat.example.com"
CHAT = "/v1/chat/completions"
FILE = {"content-type": "application/octet-stream", "content-disposition": "attachment"}
ACTING = {
    "set-cookie": "a=b", "service-worker-allowed": "/", "refresh": "0; url=https://evil.example",
    "clear-site-data": '"*"',
    "access-control-allow-origin": "*", "access-control-allow-credentials": "true", "alt-svc": 'h3=":443"',
    "link": "</x.js>; rel=preload", "content-security-policy": "default-src *", "x-content-type-options": "sniff",
    "content-location": "https://evil.example/", "report-to": "{}", "cross-origin-resource-policy": "cross-origin",
    "strict-transport-security": "max-age=9", "speculation-rules": '"/rules.json"', "sourcemap": "/x.map",
}  # fmt: skip


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """As `serve --no-auth` is, in front of a hostile upstream."""
    access = Access(None, bound_to="127.0.0.1", origins=[ALLOWED])
    with ScriptedUpstream() as upstream:
        service = assemble(upstream.address, load_policy(), Options(), access)
        with serving(service.app) as address:
            yield Rig(upstream, address, upstream.address)


def got(rig: Rig, reply: Raw, path: str = "/v1/files/x/content", **headers: str) -> Got:
    rig.upstream.play([]).routes[path] = reply
    return request("GET", rig.address, path, headers={name.replace("_", "-"): one for name, one in headers.items()})


def guarded(headers: dict[str, str]) -> bool:
    return headers["x-content-type-options"] == "nosniff" and headers["content-security-policy"].startswith("sandbox;")


@every(
    "kind",
    [
        "application/json", "application/json; charset=utf-8", "Application/JSON", "text/event-stream",
        "application/x-ndjson", "text/plain; charset=utf-8", "audio/mpeg", "audio/wav", "video/mp4", "image/png",
        "text/vtt", "application/octet-stream", "application/problem+json",
    ],
)  # fmt: skip
def test_what_models_apis_return_passes_as_it_is(rig: Rig, kind: str) -> None:
    answer = got(rig, Raw(PAGE, content_type=kind, headers={"content-disposition": "inline; filename=a.mp3"}))
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, PAGE, kind)
    assert answer.headers["content-disposition"] == "inline; filename=a.mp3"
    assert guarded(answer.headers)


@every(
    "kind",
    [
        "text/html", "TEXT/HTML; charset=utf-7", "application/xhtml+xml", "image/svg+xml", "text/xml",
        "application/xml", "application/pdf", "text/javascript", "application/javascript", "text/css",
        "application/wasm", "text/xsl", "multipart/x-mixed-replace; boundary=x", "application/json, text/html",
        "application/json;,text/html",
        "x", "",
        "text/plain;\ttext/html,text/html", "message/rfc822", "text/cache-manifest", "application/x-shockwave-flash",
    ],
)  # fmt: skip
def test_what_a_browser_could_run_is_delivered_as_a_file(rig: Rig, kind: str) -> None:
    answer = got(rig, Raw(PAGE, content_type=kind, headers={"content-disposition": "inline"}))
    assert (answer.status, answer.body) == (200, PAGE), "the bytes are the upstream's"
    assert {name: answer.headers[name] for name in FILE} == FILE
    assert guarded(answer.headers)


def test_two_types_are_none() -> None:
    found = answer_headers([(b"content-type", b"application/json"), (b"x-a", b"1"), (b"content-type", b"text/html")])
    assert found == [
        (b"x-a", b"1"),
        (b"content-type", b"application/octet-stream"),
        (b"content-disposition", b"attachment"),
    ]


def test_headers_that_act_on_a_browser_do_not_pass(rig: Rig) -> None:
    kept = {"retry-after": "7", "x-ratelimit-remaining": "3", "openai-version": "2020", "cache-control": "no-store"}
    answer = got(rig, Raw(b"{}", headers=ACTING | kept))
    assert {name: answer.headers.get(name) for name in kept} == kept
    assert not {name for name in ACTING if name in answer.headers} - {
        "content-security-policy",
        "x-content-type-options",
    }
    assert guarded(answer.headers)


@every(
    ("where", "passes"),
    [
        ("/v1/other", True), ("other?x=http://a", True), ("https://evil.example/", False), ("//evil.example/", False),
        ("/\\evil.example", False), ("\\\\evil.example", False), ("javascript:alert(1)", False), (" HTTP://a", False),
        ("data:text/html,x", False),
    ],
)  # fmt: skip
def test_a_redirect_stays_on_this_server(rig: Rig, where: str, passes: bool) -> None:
    answer = got(rig, Raw(b"{}", status=302, headers={"location": where}))
    assert (answer.status, answer.headers.get("location")) == (302, where if passes else None)


def test_answers_of_models_have_the_same_protection_whole_streamed_or_failed(rig: Rig) -> None:
    body = b'{"model": "m", "stream": %b, "messages": [], "tools": ' + TOOLS + b"}"
    for streamed in (b"false", b"true"):
        rig.upstream.play([Answer([Text("Hi")])])
        answer = request("POST", rig.address, CHAT, body % streamed, {"content-type": "application/json"})
        assert answer.status == 200
        assert guarded(answer.headers)
    rig.upstream.play([Raw(PAGE, content_type="text/html", status=502)])
    failed = request("POST", rig.address, CHAT, body % b"false", {"content-type": "application/json"})
    assert (failed.status, failed.headers["content-type"]) == (502, "application/json")
    assert guarded(failed.headers)


def test_our_own_answers_have_it_too(rig: Rig) -> None:
    for path, headers, status in (("/health", {}, 200), ("/metrics", {}, 200), ("/x", {"host": "evil.example"}, 403)):
        answer = request("GET", rig.address, path, headers=headers)
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) in (
            (status, "application/json"), (status, "text/plain"),
        )  # fmt: skip
        assert guarded(answer.headers)
    where = urlsplit(rig.address)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=60) as raw:
        raw.sendall(b"no request\r\n\r\n")
        head = raw.makefile("rb").read()
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nx-content-type-options: nosniff\r\ncontent-security-policy: sandbox;" in head


@every(
    ("headers", "code"),
    [
        ({}, None),
        ({"sec-fetch-mode": "cors"}, None),  # Node's own fetch
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, None),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "origin": ALLOWED}, None),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty"}, "foreign_origin"),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}, "foreign_origin"),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, "foreign_origin"),
        ({"sec-fetch-site": "odd"}, "foreign_origin"),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, "foreign_origin"),
        ({"origin": "null"}, "foreign_origin"),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, "navigation"),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}, "navigation"),
        ({"sec-fetch-site": "same-origin", "sec-fetch-dest": "iframe"}, "navigation"),
        ({"sec-fetch-site": "same-origin", "sec-fetch-dest": "script"}, "navigation"),
        ({"sec-fetch-site": "same-origin", "sec-fetch-dest": "serviceworker"}, "navigation"),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "origin": ALLOWED}, "navigation"),
    ],
)  # fmt: skip
def test_browsers_say_who_asks_and_what_for(rig: Rig, headers: dict[str, str], code: str | None) -> None:
    rig.upstream.play([]).routes["/v1/models"] = Raw(b"{}")
    answer = request("GET", rig.address, "/v1/models", headers=headers)
    assert answer.status == (200 if code is None else 403)
    assert code is None or answer.json["error"]["code"] == code
    assert len(rig.upstream.requests) == (code is None)


def test_a_person_may_open_our_own_pages_and_no_other_site_may(rig: Rig) -> None:
    typed = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert request("GET", rig.address, "/health", headers=typed).status == 200
    assert request("GET", rig.address, "/health", headers=typed | {"sec-fetch-site": "cross-site"}).status == 403


def test_an_allowed_page_is_answered_by_us_and_not_as_the_upstream_likes(rig: Rig) -> None:
    asks = {"origin": ALLOWED, "access-control-request-method": "POST", "sec-fetch-site": "cross-site"}
    more = {
        "access-control-request-headers": "authorization, content-type",
        "access-control-request-private-network": "true",
    }
    rig.upstream.play([])
    preflight = request("OPTIONS", rig.address, CHAT, headers=asks | more)
    assert preflight.status == 204
    assert rig.upstream.requests == []
    allowed: Any = {name: one for name, one in preflight.headers.items() if name.startswith("access-control-allow")}
    assert allowed == {
        "access-control-allow-origin": ALLOWED, "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type", "access-control-allow-private-network": "true",
    }  # fmt: skip
    reply = Raw(b"{}", headers={"access-control-allow-origin": "https://evil.example"})
    read = got(rig, reply, origin=ALLOWED, sec_fetch_site="cross-site")
    assert (read.status, read.headers["access-control-allow-origin"], read.headers["vary"]) == (200, ALLOWED, "origin")
    assert "access-control-allow-origin" not in got(rig, reply).headers
    refused = request("OPTIONS", rig.address, CHAT, headers=asks | {"origin": "https://evil.example"})
    assert refused.status == 403
    assert "access-control-allow-origin" not in refused.headers
