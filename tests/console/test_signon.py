"""Logging into the console with an identity provider, from the button to the session; and every way to cheat at it."""

import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from html import unescape
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from msgspec import json
from msgspec.structs import replace

from rightcall import load_policy
from rightcall.console.app import Console, console_running
from rightcall.console.people import add_person, live_sessions, revoke_person
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock, read_note
from support.consoles import Browser, opened
from support.openid import GATEWAY, OpenId, key_of, sign

MAP: dict[str, Any] = {
    "group:agents": {"caller": "agents"},
    "group:oncall": {"may": "approve"},
    "claim:email=*@example.org": {"may": "look", "caller": "staff/{email}"},
}


@pytest.fixture
def provider() -> Iterator[OpenId]:
    with OpenId() as found:
        found.people["anna"] = {"email": "anna@example.org", "email_verified": True, "groups": ["oncall"]}
        found.people["ben"] = {"email": "ben@example.org", "email_verified": True}
        yield found


def policy_for(provider: OpenId, **more: Any) -> Policy:
    table = {"issuer": provider.issuer, "audience": GATEWAY, "client_id": "console", "map": MAP, "name": "Example"}
    return load_policy({"identity": table | more, "callers": {"robot": {"stage": "read-only"}}})


class Back(NamedTuple):
    """What the console answers when the provider has sent the browser back."""

    status: int
    location: str
    text: str
    cookies: dict[str, str]


class Desk(NamedTuple):
    """A browser before a console."""

    browser: Browser
    provider: OpenId
    store: MemoryStore

    def begin(self, target: str = "/live") -> tuple[str, str]:
        """Where the browser is sent, and its cookie."""
        sent = self.browser.get(f"/login/with/0?{urlencode({'next': target})}")
        assert sent.status == 303, sent.text
        return sent.location, sent.headers["set-cookie"].partition(";")[0]

    def visit(self, where: str) -> str:
        """The provider sends the browser back: the path at the console."""
        parts = urlsplit(where)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        try:
            connection.request("GET", f"{parts.path}?{parts.query}")
            back = urlsplit(connection.getresponse().headers["location"] or "")
        finally:
            connection.close()
        return f"{back.path}?{back.query}"

    def come_back(self, path: str, cookie: str) -> Back:
        connection = HTTPConnection("127.0.0.1", self.browser.address.port, timeout=20)
        try:
            sent = {"accept": "text/html", "cookie": cookie, "sec-fetch-site": "cross-site"}
            connection.request("GET", path, headers=sent)
            found = connection.getresponse()
            given = [one.partition(";")[0].partition("=") for one in found.headers.get_all("set-cookie") or ()]
            text = unescape(found.read().decode())
            return Back(found.status, found.headers["location"] or "", text, {name: value for name, _, value in given})
        finally:
            connection.close()

    def log_in(self, who: str = "anna") -> Back:
        self.provider.visitor = who
        where, cookie = self.begin()
        return self.come_back(self.visit(where), cookie)


@pytest.fixture
def desk(provider: OpenId) -> Iterator[Desk]:
    store = MemoryStore()
    with opened(store, policy_for(provider)) as address:
        yield Desk(Browser(address), provider, store)


def entered(desk: Desk, answer: Back) -> Browser:
    assert (answer.status, answer.location) == (303, "/live"), answer.text
    address = desk.browser.address
    assert answer.cookies[f"{address.cookie}_login"] == '""'  # the login's own cookie is over
    return Browser(address, answer.cookies[address.cookie])


def refused(desk: Desk, answer: Back) -> str:
    """Nobody has come in: what the page says."""
    assert answer.status == 401
    assert desk.browser.address.cookie not in answer.cookies
    assert [one for one in desk.store.look(lambda tables: tables.credentials()) if one.kind == "session"] == []
    return answer.text


def notes(desk: Desk) -> list[Any]:
    return [read_note(one.body) for one in desk.store.look(lambda tables: tables.newest(20, ("change",)))]


@pytest.mark.promise("I-08")
def test_a_person_logs_in_with_the_provider_and_comes_to_the_page_that_was_wanted(desk: Desk) -> None:
    page = desk.browser.get("/login?next=%2Flive")
    assert "Log in with Example" in page.text
    assert 'href="/login/with/0?next=/live"' in page.text
    anna = entered(desk, desk.log_in())
    home = anna.get("/")
    assert (home.status, "anna@example.org" in home.text, "may look" in home.text) == (200, True, False)
    said = notes(desk)[0]
    assert (said.what, said.by) == ("logged in", "anna@example.org")
    assert said.data == {
        "person": "anna@example.org", "with": "identity", "issuer": desk.provider.issuer, "subject": "anna",
        "may": "approve",
    }  # fmt: skip
    assert anna.post("/logout").location == "/login"
    assert anna.get("/").status == 303


@pytest.mark.promise("I-08")
def test_what_the_provider_is_asked_has_state_nonce_and_pkce_and_our_exact_address(desk: Desk) -> None:
    where, cookie = desk.begin()
    asked = {name: values[0] for name, values in parse_qs(urlsplit(where).query).items()}
    assert where.startswith(f"{desk.provider.issuer}/authorize?")
    assert asked["redirect_uri"] == f"{desk.browser.address.origin}/login/back"
    assert (asked["response_type"], asked["client_id"], asked["scope"]) == ("code", "console", "openid profile email")
    assert asked["code_challenge_method"] == "S256"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert not any(asked[name] in cookie for name in ("state", "nonce"))  # sealed
    again = parse_qs(urlsplit(desk.begin()[0]).query)
    assert again["state"][0] != asked["state"]


def test_the_cookie_of_a_login_is_for_this_host_and_short(desk: Desk) -> None:
    given = desk.browser.get("/login/with/0").headers["set-cookie"].lower()
    assert all(word in given for word in ("httponly", "samesite=lax", "path=/", "max-age=600"))


def test_the_right_of_a_person_is_that_of_the_first_line_that_fits(desk: Desk) -> None:
    ben = entered(desk, desk.log_in("ben"))
    assert "may look" in ben.get("/").text


@pytest.mark.promise("I-08")
def test_whom_the_map_does_not_name_comes_in_nowhere_and_loses_what_was_left(desk: Desk) -> None:
    anna = entered(desk, desk.log_in())
    desk.provider.people["anna"] = {"email": "anna@elsewhere.example", "email_verified": True}
    answer = desk.log_in()
    assert answer.status == 401
    assert "does not let you in" in answer.text
    assert anna.get("/").status == 303


def test_a_session_ends_when_the_policy_says(provider: OpenId) -> None:
    clock = ManualClock(wall=time.time())
    store = MemoryStore(clock)
    with opened(store, policy_for(provider, session=3600)) as address:
        desk = Desk(Browser(address), provider, store)
        anna = entered(desk, desk.log_in())
        clock.advance(3599)
        assert anna.get("/").status == 200
        clock.advance(2)
        assert anna.get("/").status == 303


@pytest.mark.promise("I-08")
@pytest.mark.parametrize("left", [None, {"client_id": ""}, {"issuer": "https://other.example"}])
def test_a_session_ends_with_the_provider_that_the_policy_no_longer_names(
    desk: Desk, left: dict[str, str] | None
) -> None:
    anna = entered(desk, desk.log_in())
    assert anna.get("/").status == 200
    later = load_policy({}) if left is None else policy_for(desk.provider)
    if left is not None:
        later = replace(later, identity=(replace(later.identity[0], **left),))
    with opened(desk.store, later) as address:
        assert Browser(address, anna.secret).get("/").status == 303
    with opened(desk.store, policy_for(desk.provider)) as address:
        assert Browser(address, anna.secret).get("/").status == 200


@pytest.mark.promise("I-08")
def test_a_session_ends_when_no_line_of_the_map_gives_its_right(provider: OpenId) -> None:
    rules = [policy_for(provider)]
    store = MemoryStore()
    with console_running(Console(store, lambda: rules[-1]), ConsoleSettings(port=0)) as address:
        desk = Desk(Browser(address), provider, store)
        anna, ben = (entered(desk, desk.log_in(who)) for who in ("anna", "ben"))
        rules.append(policy_for(provider, map={key: one for key, one in MAP.items() if key != "group:oncall"}))
        assert (anna.get("/").status, ben.get("/").status) == (303, 200)
        assert len(store.look(lambda tables: live_sessions(tables, rules[-1].identity))) == 1


MAIL = "claim:email=*@example.org"
NARROWED: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "nothing": (MAP, (200, 200)),
    "a line below": (MAP | {"group:guests": {"may": "look"}}, (200, 200)),
    "a line about calls alone": ({"group:other": {"caller": "other"}, **MAP}, (200, 200)),
    "another group": ({"group:lead": {"may": "approve"}, MAIL: MAP[MAIL]}, (303, 303)),
    "a group less": ({MAIL: MAP[MAIL]}, (303, 200)),
    "fewer addresses": (
        {"group:oncall": MAP["group:oncall"], "claim:email=*@eng.example.org": {"may": "look"}}, (200, 303)),
    "a right less": (MAP | {"group:oncall": {"may": "look"}}, (303, 303)),
    "another name": (MAP | {"group:oncall": {"may": "approve", "person": "{sub}"}}, (303, 303)),
    "a line before both": ({"subject:anna": {"may": "look"}, **MAP}, (303, 303)),
    "a line between": (
        {"group:oncall": MAP["group:oncall"], "subject:ben": {"may": "look"}, MAIL: MAP[MAIL]}, (200, 303),
    ),
    "the other order": (dict(reversed(MAP.items())), (303, 200)),
}  # fmt: skip


@pytest.mark.promise("I-08")
@pytest.mark.parametrize("name", NARROWED)
def test_a_session_ends_for_whoever_may_have_lost_its_right(provider: OpenId, name: str) -> None:
    lines, expected = NARROWED[name]
    rules = [policy_for(provider)]
    store = MemoryStore()
    with console_running(Console(store, lambda: rules[-1]), ConsoleSettings(port=0)) as address:
        desk = Desk(Browser(address), provider, store)
        anna, ben = (entered(desk, desk.log_in(who)) for who in ("anna", "ben"))
        rules.append(policy_for(provider, map=lines))
        assert (anna.get("/").status, ben.get("/").status) == expected
        living = store.look(lambda tables: live_sessions(tables, rules[-1].identity))
        assert len(living) == expected.count(200)
        rules.append(policy_for(provider, groups="roles"))  # groups are read from elsewhere
        assert anna.get("/").status == 303


def test_an_operator_can_end_the_sessions_of_somebody_who_came_by_the_provider(desk: Desk) -> None:
    anna = entered(desk, desk.log_in())
    desk.store.transact(lambda tables: revoke_person(tables, "anna@example.org", "root"))
    assert anna.get("/").status == 303


def test_a_secret_of_the_console_is_sent_to_the_provider_and_nowhere_else(
    provider: OpenId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONSOLE_SECRET", "s3cret/of the console")
    store = MemoryStore()
    with opened(store, policy_for(provider, client_secret_env="CONSOLE_SECRET")) as address:
        desk = Desk(Browser(address), provider, store)
        entered(desk, desk.log_in())
        basic = b64encode(b"console:s3cret%2Fof%20the%20console").decode()
        assert provider.forms[-1]["authorization"] == f"Basic {basic}"
        monkeypatch.delenv("CONSOLE_SECRET")
        answer = desk.log_in()
        assert "the variable CONSOLE_SECRET is not set" in answer.text


# ── cheating ──


@pytest.mark.promise("I-08")
def test_a_login_counts_once(desk: Desk) -> None:
    where, cookie = desk.begin()
    path = desk.visit(where)
    entered(desk, desk.come_back(path, cookie))
    desk.provider.codes[parse_qs(urlsplit(path).query)["code"][0]] = {
        name: values[0] for name, values in parse_qs(urlsplit(where).query).items()
    }  # a provider that takes a code twice
    answer = desk.come_back(path, cookie)
    assert (answer.status, desk.browser.address.cookie in answer.cookies) == (401, False)
    assert "was used already" in answer.text


@pytest.mark.promise("I-08")
def test_a_login_that_was_begun_long_ago_is_over(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    where, cookie = desk.begin()
    path, later = desk.visit(where), time.time() + 601
    monkeypatch.setattr("rightcall.console.signon.time", lambda: later)
    assert "too long ago" in refused(desk, desk.come_back(path, cookie))


@pytest.mark.promise("I-08")
@pytest.mark.parametrize("what", ["no cookie", "other cookie", "two cookies", "made up", "empty", "other console"])
def test_a_login_is_finished_in_the_browser_that_began_it(desk: Desk, what: str) -> None:
    where, cookie = desk.begin()
    path = desk.visit(where)
    name = cookie.partition("=")[0]
    given = {
        "no cookie": "",
        "other cookie": desk.begin()[1],
        "two cookies": f"{cookie}; {desk.begin()[1]}",
        "made up": f"{name}={sign({'alg': 'ES256'}, {}, key_of('ES256'))}",
        "empty": f"{name}=",
        "other console": f"{name}_x={cookie.partition('=')[2]}",
    }[what]
    assert "Log in again" in refused(desk, desk.come_back(path, given))
    assert desk.provider.forms == []  # the code was not even used


@pytest.mark.promise("I-08")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"state": "x" * 43}, "not begun in this browser"),
        ({"state": ""}, "not begun in this browser"),
        ({"iss": "https://evil.example"}, "does not come from the identity provider"),
        ({"iss": None}, "does not come from the identity provider"),
        ({"code": ""}, "did not log you in"),
        ({"code": "x" * 5000}, "did not log you in"),
        ({"error": "access_denied"}, "did not log you in"),
        ({"code": "made-up"}, "did not say who you are"),
        ({"state": ["a", "b"]}, "not begun in this browser"),
        ({"code": ["a", "b"]}, "not begun in this browser"),
    ],
)
def test_an_answer_of_the_provider_that_was_tampered_with_is_refused(desk: Desk, change: Any, told: str) -> None:
    where, cookie = desk.begin()
    path, _, query = desk.visit(where).partition("?")
    asked = {name: values[0] for name, values in parse_qs(query).items()} | change
    asked = {name: value for name, value in asked.items() if value is not None}
    said = refused(desk, desk.come_back(f"{path}?{urlencode(asked, doseq=True)}", cookie))
    assert told in said
    assert "evil.example" not in said


@pytest.mark.promise("I-08")
@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"nonce": "another"}, "belongs to another login"),
        ({"nonce": None}, "belongs to another login"),
        ({"aud": "another-client"}, "meant for another audience"),
        ({"aud": ["console", "another-client"]}, "meant for another audience"),
        ({"aud": ["console", "x"], "azp": "x"}, "meant for another audience"),
        ({"azp": "x"}, "meant for another audience"),
        ({"aud": GATEWAY}, "meant for another audience"),
        ({"iss": "https://evil.example"}, "comes from another issuer"),
        ({"exp": 1}, "has expired"),
        ({"iat": 4102444800}, "not valid yet"),
        ({"sub": ""}, "lacks a claim"),
        ({"sub": 7}, "lacks a claim"),
        ({"email_verified": False, "groups": []}, "does not let you in"),
        ({"email_verified": "true", "groups": []}, "does not let you in"),
        ({"email": "robot", "email_verified": True}, "somebody else"),
        ({"email": "agents", "email_verified": True}, "somebody else"),
        ({"email": "Agents", "email_verified": True}, "can be mistaken for"),
        ({"email": "аnna@example.org"}, "does not let you in"),
        ({"email": "anna@example.org\u200b"}, "does not let you in"),
        ({"email": "x/anna"}, "does not let you in"),
        ({"email": ["anna@example.org"]}, "does not let you in"),
    ],
)
def test_an_id_token_that_says_something_else_lets_nobody_in(desk: Desk, claims: dict[str, Any], told: str) -> None:
    desk.provider.change = lambda said: {n: v for n, v in (said | claims).items() if v is not None}
    assert told in refused(desk, desk.log_in())


@pytest.mark.promise("I-08")
def test_an_access_token_in_the_place_of_the_id_token_lets_nobody_in(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = desk.provider.grant

    def access_token(form: Any, authorization: str) -> Any:
        found = made(form, authorization)
        body = json.decode(b64decode(found["id_token"].split(".")[1] + "=="))
        header = {"alg": "ES256", "kid": "key-1", "typ": "at+jwt"}
        return found | {"id_token": sign(header, body, desk.provider.key)}

    monkeypatch.setattr(desk.provider, "grant", access_token)
    assert "of another kind" in refused(desk, desk.log_in())


@pytest.mark.promise("I-08")
def test_an_id_token_of_another_key_lets_nobody_in(desk: Desk) -> None:
    desk.provider.documents["/jwks"] = {"keys": [key_of("ES256", 9).as_dict(private=False) | {"kid": "key-1"}]}
    assert "signature" in refused(desk, desk.log_in())


@pytest.mark.promise("I-08")
@pytest.mark.parametrize(
    ("methods", "secret", "status"),
    [
        (["S256"], "", 303), (["plain", "S256"], "", 303), (["plain"], "", 502), (["plain"], "CONSOLE_SECRET", 502),
        (["s256"], "CONSOLE_SECRET", 502), (None, "", 502), ([], "", 502), (None, "CONSOLE_SECRET", 303),
    ],
)  # fmt: skip
def test_a_provider_that_does_not_list_pkce_needs_the_secret_of_the_console(
    provider: OpenId, monkeypatch: pytest.MonkeyPatch, methods: Any, secret: str, status: int
) -> None:
    monkeypatch.setenv("CONSOLE_SECRET", "s3cret")
    provider.documents["/.well-known/openid-configuration"] = provider.metadata | {
        "code_challenge_methods_supported": methods
    }
    keys = {"client_secret_env": secret} if secret else {}
    with opened(MemoryStore(), policy_for(provider, **keys)) as address:
        answer = Browser(address).get("/login/with/0")
    assert answer.status == status
    assert "code_challenge_method=S256" in answer.location if status == 303 else "PKCE" in answer.text


@pytest.mark.promise("I-08")
@pytest.mark.parametrize(
    "page",
    [
        "{}/authorize?redirect_uri=https://evil.example", "{}/authorize?state=theirs", "{}/authorize?nonce=theirs",
        "{}/authorize?response_type=id_token", "{}/authorize?code_challenge_method=plain", "javascript:alert(1)",
        "http://login.example/authorize", "https://a:b@login.example/authorize", "",
    ],
)  # fmt: skip
def test_a_page_of_the_provider_that_could_cheat_is_not_opened(desk: Desk, page: str) -> None:
    desk.provider.documents["/.well-known/openid-configuration"] = desk.provider.metadata | {
        "authorization_endpoint": page.replace("{}", desk.provider.issuer)
    }
    answer = desk.browser.get("/login/with/0")
    assert (answer.status, answer.location) == (502, "")


def test_a_name_that_somebody_has_is_not_given_away(desk: Desk) -> None:
    desk.store.transact(lambda tables: add_person(tables, "anna@example.org", "look", "root"))
    assert "is somebody else" in refused(desk, desk.log_in())


def test_two_subjects_cannot_be_the_same_person(desk: Desk) -> None:
    anna = entered(desk, desk.log_in())
    desk.provider.people["eve"] = {"email": "anna@example.org", "email_verified": True, "groups": ["oncall"]}
    answer = desk.log_in("eve")
    assert (answer.status, "is somebody else" in answer.text) == (401, True)
    assert anna.get("/").status == 200


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "/" + "x" * 5000])
def test_a_login_with_the_provider_leads_nowhere_else(desk: Desk, target: str) -> None:
    where, cookie = desk.begin(target)
    assert desk.come_back(desk.visit(where), cookie).location == "/"


@pytest.mark.parametrize("path", ["/login/with/1", "/login/with/x", "/login/with/-1", "/login/with/99999999999999999"])
def test_a_provider_that_is_not_there_is_said_so(desk: Desk, path: str) -> None:
    answer = desk.browser.get(path)
    assert (answer.status in (404, 502), "set-cookie" in answer.headers) == (True, False)


def test_without_a_provider_an_answer_of_one_is_refused_and_needs_no_library(
    provider: OpenId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    with opened(MemoryStore()) as address:
        desk = Desk(Browser(address), provider, MemoryStore())
        answer = desk.come_back("/login/back?state=a&code=b", f"{address.cookie}_login=made-up")
        assert (answer.status, "Log in again." in answer.text) == (401, True)


def test_without_a_client_of_the_console_there_is_no_such_login(provider: OpenId) -> None:
    store = MemoryStore()
    table = {"issuer": provider.issuer, "audience": GATEWAY, "map": MAP}
    with opened(store, load_policy({"identity": table})) as address:
        browser = Browser(address)
        assert "Log in with" not in browser.get("/login").text
        assert browser.get("/login/with/0").status == 502


@pytest.mark.promise("I-08")
def test_no_secret_of_a_login_is_in_a_log_a_record_or_a_page(
    provider: OpenId, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("CONSOLE_SECRET", "s3cret-of-the-console")
    store, pages, secrets = MemoryStore(), [], {"s3cret-of-the-console"}
    with opened(store, policy_for(provider, client_secret_env="CONSOLE_SECRET")) as address:
        desk = Desk(Browser(address), provider, store)
        for number in range(20):
            provider.visitor = ("anna", "ben", "nobody")[number % 3]
            where, cookie = desk.begin()
            back = desk.visit(where)
            asked = parse_qs(urlsplit(where).query) | parse_qs(urlsplit(back).query)
            answer = desk.come_back(f"{back}{'&error=x' if number % 7 == 5 else ''}", cookie)
            secrets |= {asked[name][0] for name in ("state", "nonce", "code")} | {cookie.partition("=")[2]}
            if own := answer.cookies.get(address.cookie):
                secrets.add(own)
                pages += [Browser(address, own).get(path).text for path in ("/", "/audit", "/live")]
            pages.append(answer.text)
        secrets |= {form[name] for form in provider.forms for name in ("code", "code_verifier")}
    records = [one.body.decode() for one in store.look(lambda tables: list(tables.entries()))]
    assert len(secrets) > 80
    told = "\n".join([caplog.text, *pages, *records])
    assert [one for one in secrets if one in told] == []
