"""The attacks on approvals, each through the page: a real console on a real store, and requests as a browser, an agent
or another site would send them. Whatever is tried, only the call that a person was shown may run, once; the question
stays one question; and every answer is recorded with the person and the console (P-06, H-10).

The same attacks at the terminal and in a program are in tests/executor/approvals.
"""

import re
import socket
from collections.abc import Callable, Iterator
from html import unescape
from threading import Barrier, Thread
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from msgspec.structs import replace

from rightcall.base.letters import visible
from rightcall.console.access import Address
from rightcall.console.people import add_person, enter, make_link, people, revoke_person
from rightcall.policy.settings import CallerSettings, Policy
from rightcall.policy.types import Approval
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock, read_answer
from rightcall.server.access import TokenRequest, make_token
from support.approval_attacks import DISPLAY, FORGED, HERE, OTHER_CONTEXTS, OTHER_SERVERS, PLACES, SHOWN, SWAPS, origin
from support.approvals import SETTINGS, START, Desk, approval_of, canonical, digest, say
from support.consoles import HERE as OURS
from support.consoles import Answer, Browser, opened, session
from support.every import every
from support.stores import NOON

pytestmark = pytest.mark.promise("P-06", "H-10")

CALLERS = {"root-agent": CallerSettings()}


class Office(Desk):
    """A desk whose person answers in the browser. Each attack has a question of its own, when all others are over."""

    def __init__(self, clock: ManualClock, store: MemoryStore, address: Address) -> None:
        super().__init__(store)
        self.clock = clock
        self.address = address
        self.ann = Browser(address, session(store, "ann"))
        self.number = 0

    def next(self) -> dict[str, Any]:
        self.clock.advance(700)
        self.number += 1
        return SHOWN | {"n": self.number}

    def read(self, which: str, browser: Browser | None = None) -> Answer:
        """A question, and the time to read it."""
        page = (browser or self.ann).get(f"/inbox/{which}")
        self.clock.advance(1)
        return page

    def answer(self, which: str, word: str = "approve") -> Answer:
        return self.ann.post(f"/inbox/{which}", form_of(self.read(which), answer=word))

    def approved(self, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        asked = self.ask(arguments, **more)
        assert self.answer(asked).status == 303
        return asked

    def found(self, which: str) -> Approval:
        found = self.store.look(lambda tables: tables.approval(which))
        assert found is not None
        return found

    def answers(self) -> list[tuple[str, str, str]]:
        """Who said what, and where; the newest first."""
        said = [read_answer(one.body) for one in self.store.look(lambda tables: tables.newest(10_000, ("answer",)))]
        return [(one.by, one.status, one.through) for one in said if one.status != "expired"]


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    clock = ManualClock(START, NOON)
    store = MemoryStore(clock)
    with opened(store, replace(Policy(), settings=replace(SETTINGS, callers=CALLERS))) as address:
        yield Office(clock, store, address)


def form_of(page: Answer, **more: object) -> dict[str, object]:
    return {name: page.field(name) for name in ("drawn", "seal", "digest")} | more


def holds(office: Office, arguments: dict[str, Any], approval: str, before: int, **more: Any) -> None:
    """The yes was not lost, counts once, and was given by a person in the console."""
    assert office.ran() == before
    assert office.try_(arguments, approval=approval, **more).decision.kind == "allow"
    assert office.ran() == before + 1
    assert office.try_(arguments, approval=approval, **more).decision.kind == "deny"
    assert office.found(approval).status == "used"
    assert office.answers()[0] == ("ann", "approved", "console")


# ── another call, conversation or server than was shown ──


@every("swap", SWAPS.values(), ids=SWAPS.keys(), parts=2)
@pytest.mark.parametrize("named", [False, True], ids=["", "and names the approval"])
def test_after_a_yes_on_the_page_only_the_call_that_was_shown_may_run(
    office: Office, swap: dict[str, Any], named: bool
) -> None:
    shown = office.next()
    before, approval = office.ran(), office.approved(shown)
    attempt = swap | {"arguments": swap["arguments"] | {"n": office.number}}
    decision = office.try_(**attempt, approval=approval if named else None).decision
    assert decision.kind in ("ask", "deny")
    assert decision.approval != approval
    holds(office, shown, approval, before)


@every("given", OTHER_CONTEXTS.values(), ids=OTHER_CONTEXTS.keys(), parts=2)
@pytest.mark.parametrize("named", [False, True], ids=["", "and names the approval"])
def test_a_yes_on_the_page_counts_in_the_conversation_it_names_and_nowhere_else(
    office: Office, given: dict[str, Any], named: bool
) -> None:
    shown = office.next()
    before, approval = office.ran(), office.approved(shown, context=HERE)
    attempt = {"arguments": shown} | given
    attempt["arguments"] = attempt["arguments"] | {"n": office.number}
    decision = office.try_(**attempt, approval=approval if named else None).decision
    assert decision.kind == ("deny" if named else "ask")
    assert decision.approval != approval
    holds(office, shown, approval, before, context=HERE)


@every("ways", OTHER_SERVERS.values(), ids=OTHER_SERVERS.keys(), parts=2)
def test_a_server_that_was_exchanged_asks_and_the_page_shows_both_before_it_is_accepted(
    office: Office, ways: tuple[Any, Any]
) -> None:
    shown = office.next()
    was, now = (origin(way, f"wrap:files-{office.number}") for way in ways)
    before, approval = office.ran(), office.approved(shown, origin=was)
    assert office.try_(shown, origin=was, approval=approval).decision.kind == "allow"  # the first use pins it
    other = shown | {"more": 1}
    waits = office.approved(other, origin=was)
    for named in (None, waits):
        decision = office.try_(other, origin=now, approval=named).decision
        assert (decision.kind, decision.rule) == ("ask", "definition:server")
    assert office.ran() == before + 1
    assert decision.approval is not None
    page = office.read(decision.approval)
    assert "What has changed" in page.text
    assert "hunter2" not in page.text
    assert office.ann.post(f"/inbox/{decision.approval}", form_of(page, answer="approve")).status == 303
    again = office.try_(other, origin=now, approval=waits).decision
    assert again.rule == "approval:mismatch"  # that yes was for a call of the other server
    assert office.try_(other, origin=was).decision.rule == "definition:server"  # and there is no way back
    assert office.ran() == before + 1


def test_there_are_enough_of_them() -> None:
    assert len(OTHER_CONTEXTS) + len(OTHER_SERVERS) >= 44
    assert len(SWAPS) + len(FORGED) + len(ANSWERS) + len(WHO) + len(FROM_ELSEWHERE) >= 100


# ── ids and answers that are not what the page offered ──


@every("id", FORGED.values(), ids=FORGED.keys())
@every("word", ["approve", "deny", "grant"])
def test_a_forged_id_is_answered_nowhere(office: Office, id: str, word: str) -> None:
    which = office.ask(office.next())
    form = form_of(office.read(which), answer=word, uses="1", seconds="3600")
    path = f"/inbox/{quote(id.encode('utf-8', 'surrogatepass')[:50_000], safe='')}"
    if id:
        assert office.ann.post(path, form).status in (404, 409)
        assert "\x1b" not in office.ann.get(path).text
    else:
        assert office.ann.post("/inbox/", form).status in (307, 404, 405)
    assert office.found(which).status == "waiting"


def of_another(office: Office, which: str) -> dict[str, object]:
    """The whole form of another question that waits."""
    assert office.found(which).status == "waiting"
    return form_of(office.read(office.ask({"path": "another", "n": office.number})))


def of_a_past_one(office: Office, which: str) -> dict[str, object]:
    """A form that was drawn for the same call, whose question is over since."""
    form = form_of(office.read(which))
    office.clock.advance(601)
    return form


def of_another_browser(office: Office, which: str) -> dict[str, object]:
    link = office.store.transact(lambda tables: make_link(tables, "ann", "ann"))
    found = office.store.transact(lambda tables: enter(tables, link, "link"))
    assert found is not None
    return form_of(office.read(which, Browser(office.address, found[1])))


def of_another_person(office: Office, which: str) -> dict[str, object]:
    return form_of(office.read(which, Browser(office.address, session(office.store, f"eve{office.number}"))))


def of_now(office: Office, which: str) -> dict[str, object]:
    """As it was drawn this very moment, before anybody could read it."""
    return form_of(office.ann.get(f"/inbox/{which}"))


def changed(**more: Callable[[str], object]) -> Callable[[Office, str], dict[str, object]]:
    """The right form, but for one field, which may have been given twice."""

    def form(office: Office, which: str) -> dict[str, object]:
        found = form_of(office.read(which))
        return found | {name: change(str(found.get(name, ""))) for name, change in more.items()}

    return form


ANSWERS: dict[str, Callable[[Office, str], dict[str, object]]] = {
    "a wrong digest": changed(digest=lambda _: "0" * 64),
    "too little of the digest": changed(digest=lambda one: one[:7]),
    "what the terminal takes of the digest": changed(digest=lambda one: one[:8]),
    "no digest": changed(digest=lambda _: ""),
    "the digest of another call": changed(digest=lambda _: digest(canonical("file/save", {"path": "another"}))),
    "the digest and something more": changed(digest=lambda one: one + "0"),
    "the end of the digest": changed(digest=lambda one: one[-8:]),
    "a pattern as a digest": changed(digest=lambda _: "********"),
    "the digest in capitals": changed(digest=str.upper),
    "the digest in full width": changed(digest=lambda one: chr(0xFF10) + one[1:]),
    "two digests": changed(digest=lambda one: [one, "0" * 64]),
    "no seal": changed(seal=lambda _: ""),
    "a seal of zeros": changed(seal=lambda _: "0" * 64),
    "a seal that is no ASCII": changed(seal=lambda _: "\u00e9" * 64),
    "a seal of a megabyte": changed(seal=lambda _: "a" * 90_000),
    "two seals": changed(seal=lambda one: [one, one]),
    "a seal with a NUL": changed(seal=lambda one: f"{one}\0"),
    "drawn earlier than it was": changed(drawn=lambda one: str(int(one) - 10**9)),
    "drawn in the future": changed(drawn=lambda one: str(int(one) + 10**12)),
    "drawn never": changed(drawn=lambda _: ""),
    "drawn in other digits": changed(drawn=lambda one: one.translate({48 + n: 0x660 + n for n in range(10)})),
    "drawn before the beginning": changed(drawn=lambda one: f"-{one}"),
    "drawn in a number without end": changed(drawn=lambda _: "9" * 5000),
    "another word than the buttons have": changed(answer=lambda _: "approved"),
    "a button pressed twice": changed(answer=lambda _: ["approve", "approve"]),
    "yes and no in one": changed(answer=lambda _: ["approve", "deny"]),
    "no word": changed(answer=lambda _: ""),
    "the form of another question": of_another,
    "the form of a question that is over": of_a_past_one,
    "the form that was drawn in another browser": of_another_browser,
    "the form that was drawn for another person": of_another_person,
    "pressed before anybody could read it": of_now,
}  # fmt: skip


@pytest.mark.parametrize("attack", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("word", ["approve", "grant"])
def test_an_answer_to_something_else_than_was_shown_is_not_taken(
    office: Office, attack: Callable[[Office, str], dict[str, object]], word: str
) -> None:
    shown = office.next()
    before, said = office.ran(), len(office.answers())
    which = office.ask(shown)
    form = {"answer": word, "uses": "1", "seconds": "3600"} | attack(office, which)
    taken = office.ann.post(f"/inbox/{which}", form)
    assert taken.status in (400, 409), taken.text[:300]
    assert office.store.look(lambda tables: tables.all_grants()) == []
    assert len(office.answers()) == said
    assert office.try_(shown).decision.kind == "ask"
    assert office.ran() == before


def test_the_form_of_an_old_question_does_not_answer_the_same_call_asked_again(office: Office) -> None:
    shown = office.next()
    first = office.ask(shown)
    form = form_of(office.read(first), answer="approve")
    office.clock.advance(601)
    second = office.ask(shown)
    assert second != first
    for which in (first, second):
        assert office.ann.post(f"/inbox/{which}", form).status == 409
    assert office.found(second).status == "waiting"


@pytest.mark.parametrize("word", ["approve", "deny", "grant"])
@pytest.mark.parametrize("end", ["approved", "denied", "used", "expired"])
def test_what_is_over_takes_no_other_answer(office: Office, end: str, word: str) -> None:
    shown = office.next()
    which = office.ask(shown)
    form = form_of(office.read(which), answer=word, uses="1", seconds="3600")
    if end == "expired":
        office.clock.advance(601)
    else:
        assert office.answer(which, "deny" if end == "denied" else "approve").status == 303
    if end == "used":
        assert office.try_(shown).decision.kind == "allow"
    before, said = office.found(which), len(office.answers())
    assert office.ann.post(f"/inbox/{which}", form).status == 409
    assert office.found(which).status in (before.status, "expired")
    assert len(office.answers()) == said
    assert office.store.look(lambda tables: tables.all_grants()) == []


def test_a_call_or_a_preview_that_the_page_does_not_show_whole_is_not_approved_with_a_seal_of_before(
    office: Office,
) -> None:
    which = office.ask(office.next())
    form = form_of(office.read(which), answer="approve")
    swapped = replace(office.found(which), canonical='{"arguments":{"path":"/etc/passwd"},"name":"file/save"}')
    office.store.transact(lambda tables: tables.put_approval(swapped))
    assert office.ann.post(f"/inbox/{which}", form).status == 409
    assert office.read(which).field("digest") == ""
    assert office.found(which).status == "waiting"


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


@pytest.mark.parametrize("who", WHO.values(), ids=WHO.keys())
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


@pytest.mark.parametrize("headers", FROM_ELSEWHERE.values(), ids=FROM_ELSEWHERE.keys())
def test_an_answer_from_another_place_is_not_taken(office: Office, headers: dict[str, str]) -> None:
    which = office.ask(office.next())
    form = urlencode(form_of(office.read(which), answer="approve"))
    sent = {name: value.replace("PORT", str(office.address.port)) for name, value in headers.items()}
    assert office.ann.ask("POST", f"/inbox/{which}", sent, form).status in (400, 403, 415, 421)
    assert office.found(which).status == "waiting"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "post"])
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


# ── what is shown ──

HIDES = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u3164\u115f\u2800\U000e0000-\U000e007f]"
)
_OF_THE_CALL = re.compile(r'(?:name="(?:drawn|seal|digest)" value|title)="[^"]*"|<input type="checkbox"[^>]*>')


def skeleton(page: str) -> list[str]:
    """The parts of a page that are ours: headings, labels, forms, fields and buttons."""
    return re.findall(r"<(?:h[12]|form|input|button|section)[^>]*>", _OF_THE_CALL.sub("", page))


@pytest.mark.parametrize("text", DISPLAY.values(), ids=DISPLAY.keys())
def test_no_text_of_a_call_moves_hides_or_imitates_what_the_page_shows(office: Office, text: str) -> None:
    office.next()
    for place, put in PLACES.items():
        shown, plain = row(office, put(text)), row(office, put("plain"))
        assert HIDES.search(unescape(shown.text)) is None, place
        assert skeleton(shown.text) == skeleton(plain.text), place


def row(office: Office, given: dict[str, Any]) -> Answer:
    """The page of a question that stands in the store as an attacker would have it."""
    approval = approval_of(**given, asked_at=office.now, expires_at=office.now + 600 * 10**9)
    office.store.transact(lambda tables: tables.put_approval(approval))
    page = office.ann.get("/inbox/3f9a1c2e")
    assert page.status == 200
    assert page.field("digest") == approval.digest
    return page


def test_the_visible_form_of_a_text_is_all_that_leaves_the_page(office: Office) -> None:
    """Copied from the page, a hostile value is as harmless as it looks."""
    which = office.ask(office.next() | {"path": DISPLAY["turns the reading direction"]})
    assert visible("\u202e") in office.read(which).text
