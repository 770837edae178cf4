"""Who answers an approval, from where, and many at once: whoever may not does not, however right the form is, and of
all answers one counts (P-06, H-10)."""

import socket
from collections.abc import Callable, Iterator
from threading import Barrier, Thread
from urllib.parse import urlencode

import pytest

from rightcall.console.people import add_person, make_link, people, revoke_person
from rightcall.record.tables import read_answer
from rightcall.server.access import TokenRequest, make_token
from support.approval_pages import Office, form_of, office_opened
from support.approvals import say
from support.consoles import HERE as OURS
from support.consoles import Browser, session
from support.every import every

pytestmark = pytest.mark.promise("P-06", "H-10")


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    with office_opened() as found:
        yield found


# ── who answers ──


def nobody(office: Office) -> Browser:
    return Browser(office.address)


def looker(office: Office) -> Browser:
    return Browser(office.address, session(office.store, f"bob{office.number}", "look"))


def agent(office: Office) -> Browser:
    """With the token of the caller whose call waits."""
    _, token = office.store.transact(lambda tables: make_token(tables, TokenRequest("teacher", "root")))
    return Browser(office.address, token)


def revoked(office: Office) -> Browser:
    name = f"rita{office.number}"
    found = Browser(office.address, session(office.store, name))
    office.store.transact(lambda tables: revoke_person(tables, name, "root"))
    return found


def logged_out(office: Office) -> Browser:
    found = Browser(office.address, session(office.store, f"lea{office.number}"))
    assert found.post("/logout").status == 303
    return found


def of_a_link(office: Office) -> Browser:
    """The secret of a login link is not a session."""
    return Browser(office.address, office.store.transact(lambda tables: make_link(tables, "ann", "ann")))


def of_a_credential(office: Office) -> Browser:
    """Nor is a person's own."""
    name = f"cleo{office.number}"
    return Browser(office.address, office.store.transact(lambda tables: add_person(tables, name, "approve", "x"))[1])


def of_a_used_link(office: Office) -> Browser:
    """A second login with the same link gives no session."""
    link = office.store.transact(lambda tables: make_link(tables, "ann", "ann"))
    assert nobody(office).post(f"/enter/{link}").status == 303
    again = nobody(office).post(f"/enter/{link}")
    assert (again.status, "set-cookie" in again.headers) == (401, False)
    return Browser(office.address, link)


def planted(office: Office) -> Browser:
    """A second cookie beside the right one."""
    return Browser(office.address, f"{office.ann.secret}; {office.address.cookie}=planted")


def expired(office: Office) -> Browser:
    """Two weeks later. Everybody else logs in again."""
    old = office.ann
    office.clock.advance(14 * 86_400)
    office.ann = Browser(office.address, session(office.store, "ann"))
    return old


def new_credential(office: Office) -> Browser:
    """Who got a new credential has to come in with it."""
    name = f"nina{office.number}"
    found = Browser(office.address, session(office.store, name))
    office.store.transact(lambda tables: add_person(tables, name, "approve", "root"))
    return found


def of_a_caller(name: str) -> Callable[[Office], Browser]:
    """Who got into the store before the policy named the caller."""

    def come(office: Office) -> Browser:
        known = office.store.look(lambda tables: [one.person for one in people(tables)])
        for other in {"teacher", "Teacher", "root-agent", "r00t-agent"} & set(known):
            office.store.transact(lambda tables, other=other: revoke_person(tables, other, "root"))
        return Browser(office.address, session(office.store, name))

    return come


WHO: dict[str, Callable[[Office], Browser]] = {
    "nobody": nobody,
    "somebody who may look": looker,
    "the agent, with its token as a cookie": agent,
    "a person who was revoked": revoked,
    "a person who has logged out": logged_out,
    "the secret of a link as a cookie": of_a_link,
    "a person's credential as a cookie": of_a_credential,
    "a link that was used before": of_a_used_link,
    "a second cookie": planted,
    "a session of long ago": expired,
    "a session from before a new credential": new_credential,
    "a person of the caller's name": of_a_caller("teacher"),
    "a person of the caller's name in capitals": of_a_caller("Teacher"),
    "a person of another caller's name": of_a_caller("root-agent"),
    "a person who looks like another caller": of_a_caller("r00t-agent"),
}


@every("who", WHO.values(), ids=WHO.keys())
def test_who_may_not_answer_does_not_answer_even_with_the_right_form(
    office: Office, who: Callable[[Office], Browser]
) -> None:
    shown = office.next()
    browser, before, said = who(office), office.ran(), len(office.answers())
    which = office.ask(shown)
    right, own = form_of(office.read(which)), form_of(office.read(which, browser))
    for form in (right, own):
        for word in ("approve", "deny", "grant"):
            given = browser.post(f"/inbox/{which}", form | {"answer": word, "uses": "1", "seconds": "3600"})
            assert given.status in (401, 403, 409), (word, given.text[:300])
    assert office.found(which).status == "waiting"
    assert (office.ran(), len(office.answers())) == (before, said)
    assert office.answer(which).status == 303


@pytest.mark.parametrize("end", ["revoked", "may only look now", "logged out"])
def test_who_sends_an_answer_slowly_and_loses_the_right_meanwhile_has_not_answered(office: Office, end: str) -> None:
    which = office.ask(office.next())
    name = f"slow{office.number}"
    slow = Browser(office.address, session(office.store, name))
    body = urlencode(form_of(office.read(which, slow), answer="approve")).encode()
    head = (
        f"POST /inbox/{which} HTTP/1.1\r\nhost: 127.0.0.1:{office.address.port}\r\nsec-fetch-site: same-origin\r\n"
        f"cookie: {office.address.cookie}={slow.secret}\r\ncontent-length: {len(body)}\r\nexpect: 100-continue\r\n"
        "content-type: application/x-www-form-urlencoded\r\nconnection: close\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", office.address.port), timeout=5) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the form is being read: it was let in
        if end == "logged out":
            assert slow.post("/logout").status == 303
        else:
            office.store.transact(lambda tables: revoke_person(tables, name, "root"))
        if end == "may only look now":
            office.store.transact(lambda tables: add_person(tables, name, "look", "root"))
        connection.sendall(body)
        answer = connection.makefile("rb").read()
    assert answer.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403")), answer[:200]
    assert office.found(which).status == "waiting"


# ── where an answer comes from ──

OWN = "http://127.0.0.1:PORT"
FROM_ELSEWHERE: dict[str, dict[str, str]] = {
    "no word of where from": {},
    "another site": {"sec-fetch-site": "cross-site"},
    "another port of this machine": {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:4141"},
    "another origin": {"origin": "https://evil.example"},
    "no origin, as a sandboxed frame says": {"origin": "null"},
    "our own origin, said by another site": {"sec-fetch-site": "cross-site", "origin": OWN},
    "another origin behind our own site": {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    "an origin that begins like ours": {"origin": f"{OWN}.evil.example"},
    "our origin with another scheme": {"origin": OWN.replace("http:", "https:")},
    "a referrer alone": {"referer": f"{OWN}/inbox"},
    "a frame of another site": {"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"},
    "two words for the site": {"sec-fetch-site": "same-origin, cross-site"},
    "a name that was made to point here": OURS | {"host": "evil.example:PORT"},
    "a name that was made to point here, with its origin": {
        "host": "evil.example:PORT", "origin": "http://evil.example:PORT",
    },
    "a name behind a proxy that we did not ask for": {"x-forwarded-host": "127.0.0.1:PORT", "origin": "http://evil"},
    "a name with our name before it": OURS | {"host": "127.0.0.1:PORT.evil.example"},
    "an upgrade to a socket": OURS | {"connection": "upgrade", "upgrade": "websocket", "content-type": "text/plain"},
    "a form of another kind": OURS | {"content-type": "multipart/form-data; boundary=x"},
    "a form as text, as other sites can send it": OURS | {"content-type": "text/plain"},
    "JSON": OURS | {"content-type": "application/json"},
}  # fmt: skip


@every("headers", FROM_ELSEWHERE.values(), ids=FROM_ELSEWHERE.keys())
def test_an_answer_from_another_place_is_not_taken(office: Office, headers: dict[str, str]) -> None:
    which = office.ask(office.next())
    form = urlencode(form_of(office.read(which), answer="approve"))
    sent = {name: value.replace("PORT", str(office.address.port)) for name, value in headers.items()}
    assert office.ann.ask("POST", f"/inbox/{which}", sent, form).status in (400, 403, 415, 421)
    assert office.found(which).status == "waiting"


@every("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "post"])
def test_no_other_method_answers(office: Office, method: str) -> None:
    which = office.ask(office.next())
    form = urlencode(form_of(office.read(which), answer="approve"))
    for more in ({}, {"x-http-method-override": "POST"}, {"x-method-override": "POST"}):
        for path in (f"/inbox/{which}?{form}", f"/inbox/{which}?_method=POST&{form}"):
            office.ann.ask(method, path, OURS | more, None if method in ("GET", "HEAD") else form)
    assert office.found(which).status == "waiting"


def test_a_body_or_a_reason_without_end_answers_nothing_or_is_cut(office: Office) -> None:
    which = office.ask(office.next())
    form = form_of(office.read(which), answer="approve")
    assert office.ann.post(f"/inbox/{which}", form | {"reason": "x" * 100_001}).status == 413
    assert office.ann.post(f"/inbox/{which}", form | {f"f{n}": "" for n in range(300)}).status == 400
    assert office.found(which).status == "waiting"
    assert office.ann.post(f"/inbox/{which}", form | {"reason": "r" * 90_000}).status == 303
    said = read_answer(office.store.look(lambda tables: tables.newest(1, ("answer",)))[0].body)
    assert said.reason == "r" * 500


# ── at once ──


def at_once(*works: Callable[[], int]) -> list[int]:
    start = Barrier(len(works))
    results = [0] * len(works)

    def run(number: int) -> None:
        start.wait()
        results[number] = works[number]()

    threads = [Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("words", [("approve",) * 8, ("approve", "deny") * 4, ("grant", "deny") * 3], ids=str)
def test_many_tabs_and_people_at_once_are_one_answer(office: Office, words: tuple[str, ...]) -> None:
    shown = office.next()
    before, said = office.ran(), len(office.answers())
    which = office.ask(shown)
    eve = Browser(office.address, session(office.store, f"eve-at-once{office.number}"))
    forms = [(one, form_of(office.read(which, one), uses="1", seconds="600")) for one in (office.ann, eve)]
    posts = [
        lambda word=word, one=forms[at % 2]: one[0].post(f"/inbox/{which}", one[1] | {"answer": word}).status
        for at, word in enumerate(words)
    ]
    statuses = at_once(*posts)
    assert sorted(statuses) == [303] + [409] * (len(words) - 1)
    word = words[statuses.index(303)]
    assert office.found(which).status == ("denied" if word == "deny" else "approved")
    assert len(office.answers()) == said + 1
    assert office.answers()[0][2] == "console"
    grants = office.store.look(lambda tables: tables.all_grants())
    assert len(grants) == (word == "grant")
    kinds = [office.try_(shown).decision.kind for _ in range(2)]
    assert kinds.count("allow") == {"deny": 0, "approve": 1, "grant": 2}[word]
    assert office.ran() == before + kinds.count("allow")


def test_the_terminal_and_the_page_at_once_are_one_answer(office: Office) -> None:
    for _ in range(5):
        which = office.ask(office.next())
        form = form_of(office.read(which), answer="approve")

        def at_the_terminal(one: str = which) -> int:
            try:
                say(office.store, one, "denied", by="tom")
            except Exception:  # noqa: BLE001  whatever it says, it was not taken
                return 409
            return 303

        statuses = at_once(lambda one=which, form=form: office.ann.post(f"/inbox/{one}", form).status, at_the_terminal)
        assert sorted(statuses) == [303, 409]
        assert office.found(which).status == ("approved" if statuses[0] == 303 else "denied")


def test_one_link_that_many_press_at_once_lets_one_of_them_in(office: Office) -> None:
    link = office.store.transact(lambda tables: make_link(tables, "ann", "ann"))
    statuses = at_once(*[lambda: nobody(office).post(f"/enter/{link}").status] * 12)
    assert sorted(statuses) == [303] + [401] * 11


def test_there_are_enough_of_them() -> None:
    assert len(WHO) + len(FROM_ELSEWHERE) >= 35
