"""The attacks on approvals, each through the page: a real console on a real store, and requests as a browser, an agent
or another site would send them. Whatever is tried, only the call that a person was shown may run, once; the question
stays one question; and every answer is recorded with the person and the console (P-06, H-10).

The same attacks at the terminal and in a program are in tests/executor/approvals.
"""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from rightcall.base.letters import visible
from rightcall.console.people import enter, make_link
from support.approval_attacks import DISPLAY, FORGED, HERE, OTHER_CONTEXTS, OTHER_SERVERS, PLACES, SWAPS, origin
from support.approval_pages import Office, form_of, office_opened
from support.approvals import approval_of, canonical, digest
from support.consoles import Answer, Browser, session
from support.every import every

pytestmark = pytest.mark.promise("P-06", "H-10")


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    with office_opened() as found:
        yield found


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
    attempt: dict[str, Any] = swap | {"arguments": swap["arguments"] | {"n": office.number}}
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
    attempt: dict[str, Any] = {"arguments": shown} | given
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
    assert len(SWAPS) + len(FORGED) + len(ANSWERS) + len(BEYOND) + len(OTHERS) >= 80


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


@every("attack", ANSWERS.values(), ids=ANSWERS.keys())
@every("word", ["approve", "grant"])
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


@every("word", ["approve", "deny", "grant"])
@every("end", ["approved", "denied", "used", "expired"])
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


# ── grants ──

BEYOND: dict[str, dict[str, Any]] = {
    "another path": {"path": "docs/b.md"},
    "a look-alike letter": {"path": "docs/\u0430.md"},
    "another way to the same file": {"path": "docs/./a.md"},
    "a list for its only text": {"path": ["docs/a.md"]},
    "a pattern": {"path": "docs/*"},
    "true for 1": {"mode": True},
    "1.0 for 1": {"mode": 1.0},
    "0 for false": {"force": 0},
    "null for false": {"force": None},
}
OTHERS: dict[str, dict[str, Any]] = {
    "another caller": {"caller": "intern"},
    "the caller in capitals": {"caller": "TEACHER"},
    "another tool": {"tool": "file/delete"},
    "a tool of nearly that name": {"tool": "file/s\u0430ve"},
    "an uncertain repair": {"repaired": True, "confidence": 0.5},
}


def test_a_grant_of_the_page_covers_nothing_but_what_was_ticked_and_no_more_often(office: Office) -> None:
    shown = office.next()
    which = office.ask(shown)
    page = office.read(which)
    ticked = re.findall(r'name="where" value="(\d+)" checked', page.text)
    form = form_of(page, answer="grant", uses="1", seconds="600", where=ticked)
    assert office.ann.post(f"/inbox/{which}", form).status == 303
    (grant,) = office.store.look(lambda tables: tables.all_grants())
    assert dict(grant.where) == {name: shown[name] for name in ("content", "force", "mode", "n", "path")}
    before = office.ran()
    for attack, given in BEYOND.items():
        assert office.try_(shown | given).decision.kind == "ask", attack
    for attack, given in OTHERS.items():
        assert office.try_(shown | {"tags": []}, **given).decision.kind == "ask", attack
    assert office.try_(shown).decision.rule == "approval:given"  # the yes itself
    kinds = [office.try_(shown | {"tags": [str(n)]}).decision.kind for n in range(2)]
    assert kinds == ["allow", "ask"]
    assert office.ran() == before + 2


# ── what is shown ──

HIDES = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u3164\u115f\u2800\U000e0000-\U000e007f]"
)
_OF_THE_CALL = re.compile(r'(?:name="(?:drawn|seal|digest)" value|title)="[^"]*"|<input type="checkbox"[^>]*>')


def skeleton(page: str) -> list[str]:
    """The parts of a page that are ours: headings, labels, forms, fields and buttons."""
    return re.findall(r"<(?:h[12]|form|input|button|section)[^>]*>", _OF_THE_CALL.sub("", page))


@pytest.fixture(scope="module")
def plain(office: Office) -> dict[str, list[str]]:
    """The page of a call with nothing in it, for each place of one."""
    return {place: skeleton(row(office, put("plain")).text) for place, put in PLACES.items()}


@every("text", DISPLAY.values(), ids=DISPLAY.keys(), parts=2)
def test_no_text_of_a_call_moves_hides_or_imitates_what_the_page_shows(
    office: Office, plain: dict[str, list[str]], text: str
) -> None:
    office.next()
    for place, put in PLACES.items():
        shown = row(office, put(text))
        assert HIDES.search(unescape(shown.text)) is None, place
        assert skeleton(shown.text) == plain[place], place


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
