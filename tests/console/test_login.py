"""Coming in by a link or a credential, and going out."""

import re

import pytest

from rightcall.console.people import add_person, make_link
from rightcall.record.memory import MemoryStore
from support.consoles import Browser


def cookie_of(header: str) -> tuple[str, str]:
    name, _, value = header.partition(";")[0].partition("=")
    return name, value


@pytest.mark.promise("H-10")
def test_a_link_shows_a_button_and_is_used_up_by_pressing_it(nobody: Browser, store: MemoryStore) -> None:
    store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    secret = store.transact(lambda tables: make_link(tables, "ann", "root"))
    for _ in range(3):  # a preview of the link, however often
        shown = nobody.get(f"/enter/{secret}")
        assert (shown.status, "set-cookie" in shown.headers) == (200, False)
        assert secret not in shown.text
    entered = nobody.post(f"/enter/{secret}")
    assert (entered.status, entered.location) == (303, "/")
    given = entered.headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert "path=/" in given
    name, value = cookie_of(entered.headers["set-cookie"])
    assert name == nobody.address.cookie
    assert Browser(nobody.address, value).get("/").status == 200
    again = nobody.post(f"/enter/{secret}")
    assert (again.status, "set-cookie" in again.headers) == (401, False)
    assert "was used already, is older than ten minutes, or belongs to another console" in again.text


def test_a_credential_logs_in_and_leads_on_to_the_page_that_was_wanted(nobody: Browser, store: MemoryStore) -> None:
    _, secret = store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    wanted = nobody.get("/live?tool=code%2Fread")
    assert (wanted.status, wanted.location) == (303, "/login?next=%2Flive%3Ftool%3Dcode%252Fread")
    form = nobody.get(wanted.location)
    assert form.field("next") == "/live?tool=code%2Fread"
    done = nobody.post("/login", {"credential": secret, "next": form.field("next")})
    assert (done.status, done.location) == (303, "/live?tool=code%2Fread")


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x"])
def test_a_login_leads_nowhere_else(nobody: Browser, store: MemoryStore, target: str) -> None:
    _, secret = store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    assert nobody.post("/login", {"credential": secret, "next": target}).location == "/"


def test_a_wrong_credential_says_so_and_names_nobody(nobody: Browser, store: MemoryStore) -> None:
    store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))
    answer = nobody.post("/login", {"credential": "rcp_wrong", "next": "/"})
    assert (answer.status, "set-cookie" in answer.headers, "ann" in re.sub("<[^>]*>", "", answer.text)) == (
        401,
        False,
        False,
    )


def test_who_comes_from_another_site_is_asked_again_by_our_own_page(nobody: Browser, ann: Browser) -> None:
    away = nobody.get("/login?next=%2Finbox", **{"sec-fetch-site": "cross-site"})
    assert 'http-equiv="refresh"' in away.text
    assert 'http-equiv="refresh"' not in nobody.get("/login?next=%2Finbox").text
    assert ann.get("/login?next=%2Finbox").location == "/inbox"


def test_logging_out_ends_the_session(ann: Browser) -> None:
    assert ann.get("/").status == 200
    assert ann.post("/logout").location == "/login"
    assert ann.get("/").status == 303


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=x", "--x--", 415),
        ("application/json", "{}", 415),
        ("application/x-www-form-urlencoded", "a=" + "b" * 200_000, 413),
        ("application/x-www-form-urlencoded", "a&" * 300, 400),
    ],
)
def test_a_form_of_another_kind_is_refused(nobody: Browser, kind: str, body: str, status: int) -> None:
    headers = {"sec-fetch-site": "same-origin", "content-type": kind}
    assert nobody.ask("POST", "/login", headers, body).status == status
