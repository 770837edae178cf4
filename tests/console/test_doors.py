"""Attacks at the doors of the console: requests that no page sends, floods, records and texts without end. Nothing of
it is a fault, opens anything, keeps others out, or is carried out (H-09, H-10)."""

import csv
import io
import json
import logging
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rightcall.console import bench
from rightcall.console.access import Address
from rightcall.console.app import Console, check_settings, console_running, serve_console
from rightcall.console.bench import Visits
from rightcall.console.pages.live import MOST_OF_ONE
from rightcall.console.people import add_person, make_link, revoke_person
from rightcall.console.questions import MOST_PAGE, MOST_SHOWN
from rightcall.errors import ConfigError
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.policy.tightening import tighten
from rightcall.policy.watch import load_policy
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, ManualClock, encode
from rightcall.server.app import bind
from support.approvals import request_of, try_call
from support.consoles import HERE, Browser, opened, session
from support.every import every

pytestmark = pytest.mark.promise("H-10")

HUGE = "9" * 5000
ODD_PATHS = [
    "/calls/99999999999999999999", f"/calls/{HUGE}", "/calls/99999999999999999999/raw", f"/calls/{HUGE}/raw",
    f"/changes/pulls/{HUGE}", f"/changes/pulls/{HUGE}/merge", f"/changes/pulls/{HUGE}/diff", "/calls/-1", "/calls/1e3",
    "/audit?since=0001-01-01T00:00%2B23:59", "/audit?until=9999-12-31T23:59:59-23:59", f"/audit?since={HUGE}",
    "/audit/export?since=0001-01-01T00:00%2B23:59", "/audit/export?until=9999-12-31T23:59:59-23:59",
    "/audit/export?format=..%2Fx", f"/audit/verify?anchor={HUGE}:00", "/audit?before=99999999999999999",
    f"/live?before={HUGE}", "/live?text=%00", "/live?caller=%5Cud800",
    "/live?text=(a%2B)%2B%24", "/audit?text=(%3Fi)(a%7Ca)*%24", "/live?tool=%27%20OR%20%271%27%3D%271",
    "/audit?caller=x%27%3B%20DROP%20TABLE%20audit%3B--", "/audit?kind=%25", "/live?period=x&period=y",
    "/tools?after=9:%00", f"/tools?after={HUGE}:x", "/tools/one?name=%5Cud800", "/analytics?caller=%5Cud800&by=x",
    "/analytics/export?table=..%2F..%2Fetc%2Fpasswd", f"/playground?call={HUGE}", "/requests/..", "/requests/%00",
    "/changes/%00", "/changes/..%5C..", f"/changes/{'a' * 5000}", "/inbox/%ff%ed%a0%80", f"/inbox/{'a' * 5000}",
    "/doctor/reports/%00", "/doctor/reports/x/json", "/login?next=%0d%0aset-cookie:x=1", "//evil.example", "/%2e%2e/",
    "/static/../app.py", "/static/x/..%2f..%2fapp.py", "/static/%2e%2e/%2e%2e/etc/passwd", "/enter/", "/INBOX", "/.",
]  # fmt: skip


@pytest.fixture
def ann(store: MemoryStore, address: Address) -> Browser:
    try_call(store, request_of())
    return Browser(address, session(store, "ann"))


@every("path", ODD_PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_address_that_no_page_has_is_no_fault_and_opens_nothing(ann: Browser, method: str, path: str) -> None:
    found = ann.ask(method, path, {"accept": "text/html"})
    assert found.status in (200, 303, 307, 400, 404)
    assert "\r" not in found.location
    assert not found.location.startswith(("//", "http://evil"))
    assert "set-cookie" not in found.headers
    assert "def build_app" not in found.text
    assert "root:" not in found.text


ODD_FORMS: list[tuple[str, dict[str, str]]] = [
    ("/doctor/reports", {"report": "[" * 100_000}),
    ("/doctor/reports", {"report": '{"host":"x","model":null,"total":{},"steps":[{"name":{}}]}'}),
    ("/doctor/reports", {"report": '{"host":"x","model":null,"total":5,"steps":[]}'}),
    ("/doctor/models", {"model": "http://169.254.169.254 x"}),
    ("/policy", {"caller": "x", "tool": "code/read", "arguments": "[" * 10_000}),
    ("/policy", {"caller": "\\ud800", "tool": "\\ud800", "arguments": '{"path":"\\ud800"}'}),
    ("/policy", {"caller": "x", "tool": "code/read", "arguments": '{"startLine":' + HUGE + "}"}),
    ("/policy/grants/%00/revoke", {}),
    ("/playground", {"text": "<tool_call>" * 5000, "source": "none"}),
    ("/playground", {"text": "[" * 50_000, "source": "policy"}),
    ("/playground", {"text": '{"name":"a","arguments":{"x":1e999,"y":' + HUGE + "}}", "source": "none"}),
    ("/playground", {"text": '{"name":"a","arguments":{"x":"\\ud800"}}', "source": "pack:../x"}),
    ("/playground", {"text": "x" * 200_000, "source": "none"}),
    ("/playground", {"text": '{"a":' + "[" * 5000, "source": "none", "kind": "message"}),
    ("/playground/case", {"text": '{"name":"a","arguments":{"x":"\\ud800"}}', "source": "none"}),
    *(
        (
            "/playground",
            {"text": '{"name":"a","arguments":{"x":"' + "a" * 50_000 + '!"}}', "source": "pasted", "pasted": pasted},
        )
        for pasted in (
            '[{"name":"a","parameters":{"properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}}]',
            '[{"name":"a","parameters":{"properties":{"x":{"type":"string","pattern":"^(a|a)*(?=b)$"}}}}]',
            '[{"name":"a","parameters":{"$ref":"#"}}]',
            '[{"name":"a","parameters":{"$ref":"http://127.0.0.1:9/x"}}]',
            '[{"name":"a","parameters":{"$ref":"file:///etc/passwd"}}]',
            '{"name":"\\ud800","parameters":{}}',
            '{"tools":5}',
            "[1, 2]",
        )
    ),
]


@every("form", ODD_FORMS, ids=[f"{path} {list(form.values())[-1:]}"[:80] for path, form in ODD_FORMS])
def test_a_form_that_no_page_sends_is_no_fault(ann: Browser, form: tuple[str, dict[str, str]]) -> None:
    path, fields = form
    answer = ann.post(path, fields)
    assert answer.status in (200, 303, 400, 404), answer.text[:200]
    assert "root:" not in answer.text


def test_a_paste_of_ten_megabytes_is_refused_before_it_is_read(ann: Browser) -> None:
    with socket.create_connection(("127.0.0.1", ann.address.port), timeout=5) as connection:
        head = (
            f"POST /playground HTTP/1.1\r\nhost: 127.0.0.1:{ann.address.port}\r\nsec-fetch-site: same-origin\r\n"
            f"cookie: {ann.address.cookie}={ann.secret}\r\ncontent-length: 10000000\r\n"
            "content-type: application/x-www-form-urlencoded\r\n\r\n"
        )
        connection.sendall(head.encode())
        assert connection.recv(20).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\nhost: HOST\r\ncookie: " + "a=b; " * 20_000 + "\r\n\r\n",
        "GET /live?text=" + "a" * 100_000 + " HTTP/1.1\r\nhost: HOST\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: HOST\r\n" + "x: y\r\n" * 500 + "\r\n",
        "GET / HTTP/1.1\r\nhost: HOST\r\nhost: HOST\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\n\r\n",
        "POST /login HTTP/1.1\r\nhost: HOST\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /events HTTP/1.1\r\nhost: HOST\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        "CONNECT evil.example:443 HTTP/1.1\r\nhost: HOST\r\n\r\n",
        "\x00\x01\x02\r\n\r\n",
    ],
    ids=["cookies", "query", "headers", "two hosts", "as a proxy", "two lengths", "a socket", "a tunnel", "no HTTP"],
)
def test_a_head_that_no_browser_sends_is_answered_with_no_page(ann: Browser, head: str) -> None:
    with socket.create_connection(("127.0.0.1", ann.address.port), timeout=5) as connection:
        connection.sendall(head.replace("HOST", f"127.0.0.1:{ann.address.port}").encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert re.match(rb"HTTP/1.1 (101|200)|$", answer) is None or answer == b""
    assert ann.get("/inbox").status == 200


def test_clients_that_send_nothing_keep_nobody_out(ann: Browser) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", ann.address.port), timeout=5))
            one.sendall(b"POST /login HTTP/1.1\r\nhost: x")
        assert ann.get("/inbox").status == 200


def test_a_page_that_fails_has_the_headers_of_all_pages_and_logs_no_link(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Policy:
        raise ZeroDivisionError("broken")

    with console_running(Console(store, broken), ConsoleSettings(port=0)) as address:
        browser = Browser(address, session(store, "ann"))
        failed = browser.get("/policy")
        link = store.transact(lambda tables: make_link(tables, "ann", "ann"))
        monkeypatch.setattr("rightcall.console.pages.login.enter", lambda *_: broken())
        assert browser.post(f"/enter/{link}").status == 500
    assert failed.status == 500
    assert "frame-ancestors 'none'" in failed.headers["content-security-policy"]
    assert failed.headers["cache-control"] == "no-store"
    assert "/policy" in caplog.text
    assert link not in caplog.text


# ── logging in ──


def test_guessing_fills_neither_the_log_nor_the_audit_and_locks_nobody_out(
    nobody: Browser, store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    _, secret = store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    before = store.look(lambda tables: (tables.head(), tables.credentials()))
    with caplog.at_level(logging.INFO, "rightcall"):
        for number in range(100):
            assert nobody.post("/login", {"credential": f"rcp_{number}", "next": "/"}).status == 401
            assert nobody.post(f"/enter/{number:043d}").status == 401
    assert store.look(lambda tables: (tables.head(), tables.credentials())) == before
    assert len(caplog.records) == 1
    assert "rcp_" not in caplog.text
    assert nobody.post("/login", {"credential": secret, "next": "/"}).status == 303


def test_guessing_takes_no_lock_that_calls_need(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with closing(SqliteStore(path, busy_seconds=0.1)) as store, opened(store) as address:
        nobody = Browser(address)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert nobody.post("/login", {"credential": "rcp_wrong", "next": "/"}).status == 401
            assert nobody.post(f"/enter/{'x' * 43}").status == 401
            other.execute("ROLLBACK")


def test_a_link_is_over_after_ten_minutes(nobody: Browser, store: MemoryStore, clock: ManualClock) -> None:
    store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    link = store.transact(lambda tables: make_link(tables, "ann", "root"))
    clock.advance(600)
    assert nobody.post(f"/enter/{link}").status == 401


def test_a_session_that_somebody_planted_before_the_login_is_not_the_one_after_it(
    nobody: Browser, store: MemoryStore
) -> None:
    store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    link = store.transact(lambda tables: make_link(tables, "ann", "root"))
    eve = session(store, "eve")
    for planted in ("fixed", eve):
        nobody.secret = planted
        assert nobody.get(f"/enter/{link}").status == 200
    entered = nobody.post(f"/enter/{link}")
    assert entered.status == 303
    assert eve not in entered.headers["set-cookie"]
    assert "fixed" not in entered.headers["set-cookie"]


@every(
    ("settings", "fits"),
    [
        (ConsoleSettings(public_url="http://console.example.org"), False),
        (ConsoleSettings(public_url="http://console.example.org", plain_http=True), True),
        (ConsoleSettings(public_url="https://console.example.org"), True),
        (ConsoleSettings(public_url="http://localhost:4142"), True),
    ],
)
def test_a_public_address_in_plain_http_must_be_said(settings: ConsoleSettings, fits: bool) -> None:
    if fits:
        check_settings(settings)
    else:
        with pytest.raises(ConfigError, match="plain HTTP"):
            check_settings(settings)
    address = Address("127.0.0.1", 1, settings.public_url)
    assert address.cookie.startswith("__Host-") is address.secure is settings.public_url.startswith("https")


@pytest.mark.promise("P-13")
@every(
    "table",
    [
        {"host": "0.0.0.0", "plain_http": True}, {"public_url": "https://evil.example"}, {"port": 80},
        {"certificate": "/tmp/evil.pem", "private_key": "/tmp/evil.key"},
    ],
    ids=str,
)  # fmt: skip
def test_a_policy_that_was_found_cannot_open_the_console_or_move_its_links(table: dict[str, Any]) -> None:
    found = tighten(load_policy({"console": table, "approvals": {"notify": ["sh", "-c", "evil"]}}))
    assert found.console == ConsoleSettings()
    assert found.settings.approvals.notify == ()


# ── streams ──


@contextmanager
def streams(browser: Browser, count: int) -> Iterator[list[int]]:
    """Event streams of one browser, and the status of each."""
    head = (
        f"GET /events HTTP/1.1\r\nhost: 127.0.0.1:{browser.address.port}\r\n"
        f"cookie: {browser.address.cookie}={browser.secret}\r\n\r\n"
    )
    with ExitStack() as stack:
        found: list[int] = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", browser.address.port), timeout=5))
            one.sendall(head.encode())
            lines = stack.enter_context(one.makefile("rb"))
            found.append(int(lines.readline().split()[1]))
            while found[-1] == 200 and not lines.readline().startswith(b"retry:"):
                pass
        yield found


def test_one_session_takes_no_stream_from_others(ann: Browser, store: MemoryStore) -> None:
    eve = Browser(ann.address, session(store, "eve", "look"))
    with streams(eve, MOST_OF_ONE + 5) as found:
        assert found == [200] * MOST_OF_ONE + [503] * 5
        with streams(ann, 1) as mine:
            assert mine == [200]


def test_streams_that_break_off_at_once_leave_room_for_others(ann: Browser) -> None:
    for _ in range(3):
        with streams(ann, MOST_OF_ONE - 2):
            pass
        for _ in range(100):
            with streams(ann, 1) as found:
                pass
            if found == [200]:
                break
        assert found == [200]


def test_a_head_request_of_the_stream_ends(ann: Browser) -> None:
    assert ann.ask("HEAD", "/events").status == 200


def test_an_export_breaks_off_when_its_person_is_revoked(tmp_path: Path) -> None:
    body = encode(CallBody("ada", "file/save", {"content": "x" * 2000}, "d" * 64, "allow", "stage:full"))

    def write(tables: Any) -> None:
        for _ in range(9000):
            tables.append("begin", 0, body)

    with closing(SqliteStore(tmp_path / "audit.db")) as store, opened(store) as address:
        eve = Browser(address, session(store, "eve", "look"))
        store.transact(write)
        with socket.create_connection(("127.0.0.1", address.port), timeout=5) as connection:
            head = (
                f"GET /audit/export HTTP/1.1\r\nhost: 127.0.0.1:{address.port}\r\n"
                f"cookie: {address.cookie}={eve.secret}\r\n\r\n"
            )
            connection.sendall(head.encode())
            begun = connection.recv(1000)
            store.transact(lambda tables: revoke_person(tables, "eve", "root"))
            rest = connection.makefile("rb").read()
    assert begun.startswith(b"HTTP/1.1 200")
    assert not rest.endswith(b"0\r\n\r\n")  # it does not look whole
    assert rest.count(b'"kind"') < 9000


def test_verifications_without_end_leave_threads_for_approvals(ann: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = bench.Bench()
    assert [shelf.begin_long() for _ in range(3)] == [True, True, False]
    shelf.end_long()
    assert shelf.begin_long()
    monkeypatch.setattr(bench, "_LONG_AT_ONCE", 0)
    assert "Others verify all records" in ann.get("/audit/verify").text
    monkeypatch.undo()
    for _ in range(4):
        assert "Intact" in ann.get("/audit/verify").text


# ── records without end ──

LONG = "x\u202e<'\"&" * 20_000
"""Each part of it is spelled out longer on a page."""


def test_a_record_without_end_in_every_field_is_cut_and_says_where_the_whole_is(
    ann: Browser, store: MemoryStore
) -> None:
    repair = {
        "path": LONG,
        "before": LONG,
        "after": LONG,
        "rule": LONG,
        "strategy": LONG,
        "confidence": 0.5,
        "note": LONG,
    }
    problem = {"code": LONG, "path": LONG, "message": LONG}
    body = CallBody(
        caller=LONG, tool=LONG, params={"a": LONG, LONG: 1, "lines": "a\n" * 150_000, "list": [1] * 50_000}, digest="d",
        decision="deny", rule=LONG, reason=LONG, emission=LONG, model=LONG, context=LONG, repairs=(repair,) * 3,
        problems=(problem,) * 3, strategy=LONG,
    )  # fmt: skip
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    for path in (f"/calls/{number}", "/live", "/", "/audit", "/tools", "/analytics"):
        page = ann.get(path)
        assert page.status == 200
        assert len(page.text.encode()) < 3 * MOST_PAGE, path
    page = ann.get(f"/calls/{number}").text
    assert "too long for a page" in page
    assert f'href="/calls/{number}/raw"' in page
    assert len(ann.get(f"/calls/{number}/raw").text) > 2_000_000
    other = store.transact(lambda tables: tables.append("message", 0, encode({"text": LONG})))
    page = ann.get(f"/calls/{other}").text
    assert len(page.encode()) < 3 * MOST_PAGE
    assert "too long for a page" in page


def test_a_question_that_is_too_long_for_a_page_is_answered_at_the_terminal(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    asked = try_call(store, request_of({"text": "a\n" * 100_000, "rm": "-rf"}, at=clock.now())).decision.approval
    page = ann.get(f"/inbox/{asked}")
    clock.advance(1)
    assert len(page.text) < 2 * MOST_PAGE < MOST_SHOWN
    assert f"rightcall approvals show {asked} --full" in page.text
    assert page.field("digest") == ""
    assert 'value="approve"' not in page.text
    found = store.look(lambda tables: tables.approval(str(asked)))
    assert found is not None
    form = {"drawn": page.field("drawn"), "seal": page.field("seal"), "digest": found.digest, "answer": "approve"}
    assert ann.post(f"/inbox/{asked}", form).status == 409
    assert ann.post(f"/inbox/{asked}", {"answer": "deny"}).status == 303


# ── what leaves ──

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://evil","x")')


def test_no_cell_of_an_export_is_a_formula_and_no_line_is_two(ann: Browser, store: MemoryStore) -> None:
    for words in FORMULAS:
        text = f'{words}\n{{"seq": 1}}\u2028\x1b[2J,\'"'
        body = CallBody(words, words, {words: text}, "d" * 64, "deny", words, reason=text)
        store.transact(lambda tables, body=body: tables.append("refused", 0, encode(body)))
    last = store.look(lambda tables: tables.head()[0])
    rows = list(csv.reader(io.StringIO(ann.get("/audit/export?format=csv").text)))
    assert len(rows) == last + 1
    cells = [cell for row in rows for cell in row]
    cells += [
        cell
        for table in ("by-caller", "calls-caller", "errors", "metrics")
        for row in csv.reader(io.StringIO(ann.get(f"/analytics/export?by=caller&table={table}").text))
        for cell in row
        if not re.fullmatch(r"-?[\d.]+", cell)
    ]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    assert all(cell.isprintable() and cell.isascii() for cell in cells)
    lines = ann.get("/audit/export?format=jsonl").text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, last + 1))
    one = quote(FORMULAS[0])
    assert len(list(csv.reader(io.StringIO(ann.get(f"/audit/export?format=csv&caller={one}").text)))) == 2


# ── others ──


CHECKS = {"ok": True, "checks": [], "next": {"command": "rightcall demo", "why": "it works"}}


def test_a_report_is_compared_with_reports_alone(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Visits.find

    def guess(self: Visits, id: str) -> Any:
        return next(iter(self.all("checks"))) if id == "guessed" else found(self, id)

    monkeypatch.setattr(Visits, "find", guess)
    with console_running(Console(store, Policy, checks=lambda: CHECKS), ConsoleSettings(port=0)) as address:
        ann = Browser(address, session(store, "ann"))
        report = '{"host": "x", "model": "m", "total": {}, "steps": []}'
        place = ann.post("/doctor/reports", {"report": report}).location
        assert ann.post("/doctor/checks").status == 303
        assert ann.get(f"{place}?with=guessed").status == 200


def test_a_console_that_cannot_check_the_machine_says_so_and_goes_on(ann: Browser) -> None:
    assert ann.post("/doctor/checks").status == 404
    assert ann.get("/doctor").status == 200


def test_a_store_that_is_gone_lets_nobody_in_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store" / "audit.db"
    path.parent.mkdir()
    with closing(SqliteStore(path, busy_seconds=0.1)) as store, opened(store) as address:
        browser = Browser(address, session(store, "ann"))
        assert browser.get("/").status == 200
        for file in path.parent.iterdir():
            if file.is_file():
                file.unlink()
        for found in (browser.get("/"), browser.get("/inbox"), browser.post("/inbox/x", {"answer": "deny"})):
            assert found.status in (200, 404, 503), found.text[:300]
        assert Browser(address).get("/").status == 303
        assert Browser(address).post("/login", {"credential": "rcp_x"}, **HERE).status in (401, 503)


def test_a_port_that_is_taken_is_told_with_the_key_that_changes_it(store: MemoryStore) -> None:
    with bind("127.0.0.1", 0) as taken:
        settings = ConsoleSettings(port=taken.getsockname()[1])
        told = r"\[console\] port: \d+ is in use already.*port = 0.*--no-console"
        with pytest.raises(ConfigError, match=told), console_running(Console(store, Policy), settings):
            raise AssertionError("it must not start")
        with pytest.raises(ConfigError, match=r"--port: \d+ is in use already.*--port 0"):
            serve_console(Console(store, Policy), settings, lambda _: None)
