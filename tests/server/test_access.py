"""Who is let in: by token, Host and Origin, over real sockets."""

import asyncio
import http.client
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import json
from starlette.types import Receive, Scope, Send

from rightcall.errors import ConfigError
from rightcall.server.access import PREFIX, Access, Guard, new_token
from rightcall.server.app import Entrance, build_app, running
from rightcall.server.health import Condition, Health
from rightcall.server.recording import Metrics
from support.every import every

TOKEN = "a-token_of-24-characters"
Address = tuple[str, int]


async def mirror(scope: Scope, receive: Receive, send: Send) -> None:
    """Shows the paths that reach the proxy."""
    body = json.encode([scope["path"], scope["raw_path"].decode(), scope["query_string"].decode()])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture(scope="module")
def guarded(metrics: Metrics) -> Iterator[Address]:
    access = Access(
        TOKEN, bound_to="127.0.0.1", host_names=["models.lan", "x.lan:99"], origins=["https://chat.example.com"]
    )
    with running(
        build_app(Entrance(access), metrics, Health({"version": "1"}), proxy=mirror), metrics=metrics
    ) as address:
        yield address


def ask(address: Address, path: str, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        body = response.read()
        return response.status, json.decode(body) if body[:1] in (b"{", b"[") else body.decode()
    finally:
        connection.close()


@pytest.mark.promise("H-03")
@every(
    ("path", "seen"),
    [
        (f"/{TOKEN}/v1/a%2Fb?q=%20", ["/v1/a/b", "/v1/a%2Fb", "q=%20"]),
        (f"/{TOKEN}", ["/", "/", ""]),
        (f"/{TOKEN}/", ["/", "/", ""]),
        (f"/{TOKEN}//x", ["//x", "//x", ""]),
    ],
)
def test_the_token_in_the_path_lets_in_and_is_taken_off(guarded: Address, path: str, seen: list[str]) -> None:
    assert ask(guarded, path) == (200, seen)


def test_the_token_in_its_header_lets_in(guarded: Address) -> None:
    assert ask(guarded, "/v1/models", x_rightcall_token=TOKEN) == (200, ["/v1/models", "/v1/models", ""])


@every(
    ("path", "headers"),
    [
        ("/v1/models", {}),
        ("/", {}),
        (f"/{TOKEN[:-1]}/v1", {}),
        (f"/{TOKEN}x/v1", {}),
        (f"/x/{TOKEN}/v1", {}),
        (f"//{TOKEN}/v1", {}),
        (f"/{TOKEN.upper()}/v1", {}),
        (f"/%61{TOKEN[1:]}/v1", {}),
        ("/v1", {"x_rightcall_token": TOKEN[:-1]}),
        ("/v1", {"x_rightcall_token": ""}),
        ("/v1", {"x_rightcall_token": "ü"}),
        ("/v1", {"authorization": f"Bearer {TOKEN}"}),
        ("/metrics", {}),
        ("/health/", {}),
        (f"/v1?{TOKEN}", {}),
        (f"/{TOKEN}/{TOKEN}/v1/models", {}),
        (f"/{TOKEN}/v1/%{ord(TOKEN[0]):02x}{TOKEN[1:]}", {}),
        (f"/v1/{TOKEN}", {"x_rightcall_token": TOKEN}),
        (f"/{TOKEN}/v1/{PREFIX}somebody", {}),
    ],
)
def test_without_the_right_token_nobody_gets_in(guarded: Address, path: str, headers: dict[str, str]) -> None:
    status, body = ask(guarded, path, **headers)
    assert status == 401
    assert body["type"] == "error"
    assert (body["error"]["type"], body["error"]["code"]) == ("authentication_error", "wrong_token")
    assert "x-rightcall-token" in body["error"]["message"]
    assert TOKEN not in str(body)


@every("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "localhost", "", "a b", "models.lan.evil"])
def test_a_request_for_another_host_is_refused(guarded: Address, host: str) -> None:
    status, body = ask(guarded, f"/{TOKEN}/v1", host=host.format(port=guarded[1]))
    assert (status, body["error"]["code"]) == (403, "foreign_host")


@every(
    "host",
    [
        "localhost:{port}",
        "LOCALHOST:{port}",
        "127.0.0.1:{port}",
        "[::1]:{port}",
        "models.lan",
        "models.lan:7",
        "x.lan:99",
    ],
)
def test_a_request_under_one_of_our_names_is_taken(guarded: Address, host: str) -> None:
    assert ask(guarded, f"/{TOKEN}/v1", host=host.format(port=guarded[1]))[0] == 200


@every(
    ("origin", "status"),
    [
        ("http://127.0.0.1:{port}", 200),
        ("https://chat.example.com", 200),
        ("http://chat.example.com", 403),
        ("https://evil.example", 403),
        ("http://127.0.0.1:1", 403),
        ("http://localhost:{port}", 403),  # another name than the Host of this request
        ("null", 403),
    ],
)
def test_pages_of_other_origins_are_refused(guarded: Address, origin: str, status: int) -> None:
    assert ask(guarded, f"/{TOKEN}/v1", origin=origin.format(port=guarded[1]))[0] == status


def test_two_hosts_are_none(guarded: Address) -> None:
    connection = http.client.HTTPConnection(*guarded, timeout=60)
    connection.putrequest("GET", f"/{TOKEN}/v1")
    connection.putheader("host", "evil.example")
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 403
    response.read()
    connection.close()


def test_health_needs_no_token_and_metrics_do(guarded: Address) -> None:
    status, body = ask(guarded, "/health")
    assert (status, body) == (200, {"status": "ok", "version": "1", "ready": True})
    status, body = ask(guarded, f"/{TOKEN}/health")
    assert status == 200
    assert body["uptime_seconds"] >= 0
    assert ask(guarded, "/metrics")[0] == 401
    status, text = ask(guarded, f"/{TOKEN}/metrics")
    assert status == 200
    assert "rightcall_connections_open 1\n" in text


def test_balancers_hear_whether_the_server_lives_and_whether_it_takes_work() -> None:
    state, condition = {"ready": True}, Condition()
    access = Access(TOKEN, bound_to="127.0.0.1")
    app = build_app(Entrance(access), Metrics(), Health({"version": "1"}, lambda: state, condition))
    with running(app) as address:
        assert ask(address, "/health/live") == (200, {"status": "ok"})
        assert ask(address, "/health/ready") == (200, {"status": "ready"})
        state["ready"] = False
        assert ask(address, "/health/ready") == (503, {"status": "not ready", "why": "store"})
        condition.draining = True
        assert ask(address, "/health/ready") == (503, {"status": "not ready", "why": "draining"})
        assert ask(address, "/health/live")[0] == 200


def test_refusals_are_counted_and_told_in_the_log_once(
    guarded: Address, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    before = counted(metrics, "wrong_token")
    with caplog.at_level(logging.WARNING, "rightcall"):
        for _ in range(5):
            ask(guarded, "/v1/wrong-guess")
    assert counted(metrics, "wrong_token") == before + 5
    assert len(caplog.records) <= 1
    assert "wrong-guess" not in caplog.text


def counted(metrics: Metrics, reason: str) -> int:
    lines = metrics.text().splitlines()
    return sum(int(line.split()[-1]) for line in lines if f'reason="{reason}"' in line)


def test_an_open_server_needs_no_token_but_still_the_right_host() -> None:
    app = build_app(Entrance(Access(None, bound_to="127.0.0.1")), Metrics(), Health({}))
    with running(app) as address:
        status, body = ask(address, "/v1/models")
        assert (status, body["error"]["code"]) == (404, "not_found")
        assert ask(address, "/metrics")[0] == 200
        assert ask(address, "/v1/models", host="evil.example")[0] == 403


def test_the_address_a_request_came_in_by_is_a_name_of_ours() -> None:
    access = Access(TOKEN, bound_to="0.0.0.0")
    assert access.is_host("192.168.1.5:8080", ("192.168.1.5", 8080))
    assert not access.is_host("192.168.1.6:8080", ("192.168.1.5", 8080))
    assert not access.is_host("192.168.1.5:8080", None)


@every(
    ("server", "client", "status"),
    [
        (("127.0.0.1", 80), ("127.0.0.1", 5), 200),
        (("127.0.0.1", 80), ("192.168.1.9", 5), 403),
        (("192.168.1.5", 80), ("127.0.0.1", 5), 403),
        (("127.0.0.1", 80), None, 403),
    ],
)
def test_an_open_server_answers_this_machine_only(server: Address, client: Address | None, status: int) -> None:
    sent: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message.get("status", 0))

    scope = {"type": "http", "path": "/", "raw_path": b"/", "query_string": b"", "server": server, "client": client}
    scope["headers"] = [(b"host", f"{server[0]}:{server[1]}".encode())]
    asyncio.run(Guard(mirror, Access(None, bound_to="127.0.0.1"))(scope, receive, send))
    assert sent == [status, 0]


@every("bound_to", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_open_is_for_this_machine_only(bound_to: str) -> None:
    with pytest.raises(ConfigError, match="--no-auth"):
        Access(None, bound_to=bound_to)
    assert Access(new_token(), bound_to=bound_to).token


@every(
    "wrong",
    [
        {"token": "short"},
        {"token": "has/slash/and/is/long"},
        {"token": ""},
        {"host_names": ["http://models.lan"]},
        {"host_names": [""]},
        {"origins": ["chat.example.com"]},
        {"origins": ["https://chat.example.com/path"]},
    ],
)
def test_wrong_settings_are_refused_with_their_name(wrong: dict[str, Any]) -> None:
    option = {"token": "RIGHTCALL_TOKEN", "host_names": "--allow-host", "origins": "--allow-origin"}[next(iter(wrong))]
    with pytest.raises(ConfigError, match=option):
        Access(**{"token": TOKEN, "bound_to": "127.0.0.1", **wrong})


def test_one_wrong_token_is_logged_as_one_request(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard(mirror, Access("a" * 20, bound_to="127.0.0.1"))
    here = ("127.0.0.1", 80)
    scope = {"type": "http", "path": "/", "raw_path": b"/", "query_string": b"", "server": here, "client": here}

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        del message

    asyncio.run(
        guard({**scope, "headers": [(b"host", b"127.0.0.1:80"), (b"x-rightcall-token", b"wrong")]}, receive, send)
    )
    assert caplog.messages == ["rejected 1 request with a wrong token since the last such line"]
