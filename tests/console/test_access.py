"""Every route with every kind of visitor: whoever is not let in learns nothing and changes nothing (H-10)."""

import re
from collections.abc import Generator

import pytest
from starlette.routing import Route

from rightcall.console.access import OPEN, Address, is_open, local_path
from rightcall.console.app import Console, build_app, check_settings
from rightcall.console.people import revoke_person
from rightcall.errors import ConfigError
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock
from rightcall.server.access import TokenRequest, make_token
from support.approvals import START, request_of, try_call
from support.consoles import HERE, Browser, opened, session
from support.every import every
from support.stores import NOON

GUEST = "guest"
SAMPLES = {"secret": "x" * 43, "id": "0000aaaa", "number": "1", "digest": "0" * 16, "name": "console.css"}


def routes() -> list[tuple[str, str]]:
    app = build_app(Console(MemoryStore(), Policy), lambda: Address("127.0.0.1", 1))
    found = [
        (method, re.sub(r"{(\w+)(:\w+)?}", lambda match: SAMPLES[match[1]], route.path))
        for route in app.routes
        if isinstance(route, Route)
        for method in sorted(route.methods or ())
        if method != "HEAD"
    ]
    assert len(found) == sum(len((one.methods or set()) - {"HEAD"}) for one in app.routes if isinstance(one, Route))
    assert len(app.routes) == len([one for one in app.routes if isinstance(one, Route)]), "a route of another kind"
    return found


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    """One for all: whoever is not let in changes nothing."""
    return MemoryStore(ManualClock(START, NOON))


@pytest.fixture(scope="module")
def address(store: MemoryStore) -> Generator[Address]:
    with opened(store) as found:
        yield found


@pytest.fixture(scope="module")
def ann(store: MemoryStore, address: Address) -> Browser:
    return Browser(address, session(store, "ann"))


@pytest.fixture(scope="module")
def nobody(address: Address) -> Browser:
    return Browser(address)


@pytest.fixture
def guest(store: MemoryStore, address: Address) -> Browser:
    """Somebody of one test alone."""
    return Browser(address, session(store, GUEST))


ROUTES = routes()
CLOSED = [(method, path) for method, path in ROUTES if not is_open(path)]


def turned_away(answer_status: int, location: str) -> bool:
    return answer_status == 401 or (answer_status == 303 and location.startswith("/login?next="))


def test_the_table_has_all_routes() -> None:
    assert {"/", "/inbox", "/live", "/events", "/logout"} <= {path for _, path in CLOSED}
    assert OPEN == ("/login", "/login/", "/enter/", "/static/")
    assert {path.split("/")[1] for method, path in ROUTES if is_open(path)} == {"login", "enter", "static"}


@every(("method", "path"), CLOSED)
@pytest.mark.promise("H-10")
def test_without_a_session_nothing_answers(nobody: Browser, store: MemoryStore, method: str, path: str) -> None:
    before = store.look(lambda tables: tables.head())
    for headers in ({}, {"accept": "text/html"}, HERE):
        found = nobody.ask(method, path, {**HERE, **headers}, "answer=approve" if method == "POST" else None)
        assert turned_away(found.status, found.location), (method, path, found)
    assert store.look(lambda tables: tables.head()) == before


@every(("method", "path"), CLOSED)
@pytest.mark.promise("H-10")
def test_an_agents_token_opens_nothing(nobody: Browser, store: MemoryStore, method: str, path: str) -> None:
    _, token = store.transact(lambda tables: make_token(tables, TokenRequest("teacher", "root")))
    body = "answer=approve" if method == "POST" else None
    cookie = {"cookie": f"{nobody.address.cookie}={token}"}
    for more in ({"x-rightcall-token": token}, {"authorization": f"Bearer {token}"}, cookie):
        found = nobody.ask(method, path, {**HERE, **more}, body)
        assert turned_away(found.status, found.location), (method, path, more)
    assert nobody.ask(method, f"/{token}{path}", HERE, body).status == 401
    assert nobody.post("/login", {"credential": token, "next": "/"}).status == 401
    assert nobody.post(f"/enter/{token}").status == 401


@pytest.mark.parametrize(("method", "path"), CLOSED)
@pytest.mark.promise("H-10")
def test_a_revoked_person_is_nobody(guest: Browser, store: MemoryStore, method: str, path: str) -> None:
    store.transact(lambda tables: revoke_person(tables, GUEST, "root"))
    found = guest.ask(method, path, HERE, "answer=approve" if method == "POST" else None)
    assert turned_away(found.status, found.location)


STRANGERS = [
    "evil.example", "127.0.0.1.evil.example", "127.0.0.1:1", "evil.example:PORT", "localhost.evil.example:PORT", "",
]  # fmt: skip


@every(("method", "path", "host"), [(*route, host) for route in ROUTES for host in STRANGERS])
@pytest.mark.promise("H-10")
def test_a_name_that_is_not_ours_is_answered_nowhere(ann: Browser, method: str, path: str, host: str) -> None:
    given = host.replace("PORT", str(ann.address.port))
    found = ann.ask(method, path, {**HERE, "host": given}, "" if method == "POST" else None)
    assert found.status in (400, 421)
    assert "text/html" not in found.headers.get("content-type", "")


ELSEWHERE: list[dict[str, str]] = [
    {},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    {"sec-fetch-site": "cross-site", "origin": "OWN"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "https://OWNHOST"},
]


@every(("path", "headers"), [(path, headers) for method, path in ROUTES if method == "POST" for headers in ELSEWHERE])
@pytest.mark.promise("H-10")
def test_a_change_from_another_page_is_refused(
    ann: Browser, store: MemoryStore, path: str, headers: dict[str, str]
) -> None:
    host = f"127.0.0.1:{ann.address.port}"
    sent = {name: value.replace("OWNHOST", host).replace("OWN", f"http://{host}") for name, value in headers.items()}
    before = store.look(lambda tables: tables.head())
    assert ann.ask("POST", path, sent, "answer=approve").status == 403
    assert store.look(lambda tables: tables.head()) == before


def test_a_change_with_the_exact_origin_is_taken_where_a_browser_sends_no_more(guest: Browser) -> None:
    assert guest.ask("POST", "/logout", {"origin": f"http://127.0.0.1:{guest.address.port}"}, "").status == 303


@every(("method", "path"), [one for one in ROUTES if one[0] == "GET" and one[1] != "/events"])
@pytest.mark.promise("H-10")
def test_looking_changes_nothing(ann: Browser, store: MemoryStore, method: str, path: str) -> None:
    try_call(store, request_of())
    before = store.look(lambda tables: (tables.head(), tables.credentials(), tables.approvals()))
    ann.get(path)
    assert store.look(lambda tables: (tables.head(), tables.credentials(), tables.approvals())) == before


@every("path", [path for method, path in ROUTES if method == "GET" and path != "/events"])
def test_every_page_says_what_a_browser_may_do_with_it(ann: Browser, path: str) -> None:
    headers = ann.get(path).headers
    policy = headers["content-security-policy"]
    for part in (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
        "form-action 'self'",
    ):  # fmt: skip
        assert part in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


def test_a_page_has_nothing_inline_and_names_no_other_origin(ann: Browser) -> None:
    text = ann.get("/").text
    assert re.search(r"<style|<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", text) is None
    assert re.search(r"(?:src|href|action)=\"(?:https?:)?//", text) is None


def test_static_files_are_kept_for_ever_under_their_digest_only(ann: Browser, nobody: Browser) -> None:
    page = ann.get("/").text
    found = re.findall(r"/static/[0-9a-f]{16}/[\w.]+", page)
    assert {one.rpartition("/")[2] for one in found} == {"console.css", "console.js", "favicon.svg", "icons.svg"}
    for path in set(found):
        answer = nobody.ask("GET", path)
        assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert nobody.ask("GET", f"/static/{'0' * 16}/console.css").status == 404
    assert nobody.ask("GET", f"{found[0].rpartition('/')[0]}/..%2fapp.py").status == 404


def test_the_first_view_is_small(ann: Browser) -> None:
    page = ann.get("/").text
    names = (
        "console.css",
        "console.js",
        "events.js",
        "keys.js",
        "live.js",
        "notices.js",
        "times.js",
        "icons.svg",
        "favicon.svg",
    )
    base = re.search(r"/static/[0-9a-f]{16}/", page)
    assert base is not None
    assert len(page) + sum(len(ann.get(base[0] + name).text) for name in names) <= 200_000


def test_two_cookies_of_one_name_open_nothing(ann: Browser) -> None:
    twice = f"{ann.address.cookie}={ann.secret}; {ann.address.cookie}=planted"
    assert ann.get("/", cookie=twice).status == 303


def test_a_session_of_another_port_is_none_of_ours(ann: Browser) -> None:
    assert ann.get("/", cookie=f"rightcall_console_1={ann.secret}").status == 303


@every(
    "path",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "",
        "x",
        "/\u202e",
    ],
)
def test_after_the_login_only_a_page_of_ours_is_opened(path: str) -> None:
    assert local_path(path) == "/"


def test_plain_http_to_others_must_be_said() -> None:
    with pytest.raises(ConfigError, match="without TLS"):
        check_settings(ConsoleSettings(host="0.0.0.0"))
    check_settings(ConsoleSettings(host="0.0.0.0", plain_http=True))
    with pytest.raises(ConfigError, match="no such file"):
        check_settings(ConsoleSettings(host="0.0.0.0", certificate="/nowhere/x.pem"))


@every(
    ("host", "ours"),
    [
        ("console.example.org", True), ("CONSOLE.example.org", True), ("console.example.org:80", False),
        ("127.0.0.1:4142", True), ("localhost:4142", True), ("[::1]:4142", True), ("10.0.0.5:4142", True),
        ("10.0.0.6:4142", False), ("evil.example:4142", False), ("console.example.org.evil", False),
    ],
)  # fmt: skip
def test_which_names_are_ours(host: str, ours: bool) -> None:
    assert Address("10.0.0.5", 4142, "https://console.example.org").names(host) is ours


def test_a_second_person_has_a_session_of_their_own(ann: Browser, guest: Browser) -> None:
    assert guest.post("/logout").status == 303
    assert (guest.get("/").status, ann.get("/").status) == (303, 200)
