"""Approvals from the page, under the rules of the terminal: what was shown is what is approved, by a person, once."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.base.text import with_left_out
from rightcall.console.access import Address
from rightcall.identity.vault import Vault, Want
from rightcall.policy.settings import CallerSettings, Policy, Server
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock, read_answer, read_note
from support.approvals import SETTINGS, request_of, say, try_call
from support.consoles import Answer, Browser, opened, session


def asked(store: MemoryStore, arguments: dict[str, Any] | None = None, details: str = "{}", **more: Any) -> str:
    """The id of a new question."""
    found = try_call(store, request_of(arguments, **more), details=details).decision.approval
    assert found is not None
    return found


def status_of(store: MemoryStore, which: str) -> str:
    found = store.look(lambda tables: tables.approval(which))
    assert found is not None
    return found.status


def form_of(page: Answer, **more: object) -> dict[str, object]:
    return {name: page.field(name) for name in ("drawn", "seal", "digest")} | more


def read(browser: Browser, which: str, clock: ManualClock) -> Answer:
    """Open a question, and take the time to read it."""
    page = browser.get(f"/inbox/{which}")
    clock.advance(2)
    return page


@pytest.mark.promise("P-06", "H-10")
def test_an_approval_counts_for_exactly_this_call_and_names_the_person(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    which = asked(store)
    page = read(ann, which, clock)
    done = ann.post(f"/inbox/{which}", form_of(page, answer="approve", reason="it is fine"))
    assert (done.status, done.location) == (303, f"/inbox/{which}")
    assert status_of(store, which) == "approved"
    entry = store.look(lambda tables: tables.newest(1, ("answer",)))[0]
    said = read_answer(entry.body)
    assert (said.by, said.through, said.reason) == ("ann", "console", "it is fine")
    used = try_call(store, request_of(at=clock.now()))
    assert used.decision.kind == "allow"
    receipt = ann.get(f"/inbox/{which}").text
    link = f'<a href="/calls/{used.call}">record {used.call}</a>'
    assert f"ann approved one call of file/save by teacher (2 arguments). It runs as {link}." in receipt
    assert "0 characters" not in receipt
    assert try_call(store, request_of(at=clock.now())).decision.kind == "ask"


def test_a_call_that_asked_says_what_became_of_it_and_only_open_ones_wait(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    ids = {name: asked(store, {"path": name}) for name in ("used", "approved", "denied", "expired")}
    for name in ("used", "approved"):
        say(store, ids[name], by="ann")
    say(store, ids["denied"], "denied", by="ann")
    used = try_call(store, request_of({"path": "used"}, at=clock.now())).call
    shown = dict(rows_of(ann.get("/live")))
    assert [word for word, text in shown.items() if "waiting" in text] == ["expired"]
    clock.advance(86_400)
    open_one = asked(store, {"path": "open"}, at=clock.now())
    live = dict(rows_of(ann.get("/live")))
    assert ["denied" in live["denied"], "by ann" in live["denied"], "expired" in live["expired"]] == [True] * 3
    assert f"used as record {used}" in live["used"]
    assert [name for name, _ in rows_of(ann.get("/live?status=waiting"))] == ["open"]
    numbers = {name: _number(ann, which) for name, which in (ids | {"open": open_one}).items()}
    pages = {name: ann.get(f"/calls/{number}").text for name, number in numbers.items()}
    assert f'It ran as <a href="/calls/{used}">record {used}</a>, once ann had approved it.' in pages["used"]
    assert "It did not run: it was denied by ann." in pages["denied"]
    assert "It did not run: the question expired." in pages["expired"]
    assert "It waits for a person." in pages["open"]


def rows_of(page: Answer) -> list[tuple[str, str]]:
    """Of Live: the path that a call asked for, and its row."""
    rows = re.findall(r'<li class="call".*?</li>', page.text, re.DOTALL)
    return [(re.findall(r"path&#34;: &#34;(\w+)", one)[0], one) for one in rows if "waiting" in one or "status" in one]


def _number(browser: Browser, which: str) -> int:
    """The record of the call that asked."""
    return int(re.findall(r'<dt>Record</dt><dd><a href="/calls/(\d+)"', browser.get(f"/inbox/{which}").text)[0])


def test_a_denial_needs_no_digest_and_is_recorded_with_its_reason(ann: Browser, store: MemoryStore) -> None:
    which = asked(store)
    assert ann.post(f"/inbox/{which}", {"answer": "deny", "reason": "not on a Friday"}).status == 303
    assert status_of(store, which) == "denied"
    said = read_answer(store.look(lambda tables: tables.newest(1, ("answer",)))[0].body)
    assert (said.by, said.status, said.reason) == ("ann", "denied", "not on a Friday")


@pytest.mark.promise("H-10")
def test_who_may_look_cannot_answer(bob: Browser, store: MemoryStore, clock: ManualClock) -> None:
    which = asked(store)
    page = read(bob, which, clock)
    assert "You may look, but not answer" in page.text
    assert "1 call waits for a person</h2>" in bob.get("/").text
    assert '<form method="post" action="/inbox/' not in page.text
    for word in ("approve", "deny", "grant"):
        assert bob.post(f"/inbox/{which}", form_of(page, answer=word)).status == 403
    assert status_of(store, which) == "waiting"


@pytest.mark.parametrize(
    "change",
    [
        {"digest": ""}, {"digest": "0" * 64}, {"seal": ""}, {"seal": "0" * 64}, {"drawn": "1"}, {"drawn": ""},
        {"drawn": "x"}, {"answer": "yes"}, {"answer": ""}, {"digest": "SHORT"}, {"answer": ["approve", "approve"]},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.promise("P-06")
def test_a_form_that_was_not_drawn_approves_nothing(
    ann: Browser, store: MemoryStore, clock: ManualClock, change: dict[str, Any]
) -> None:
    which = asked(store)
    form = form_of(read(ann, which, clock), answer="approve") | change
    if form["digest"] == "SHORT":
        found = store.look(lambda tables: tables.approval(which))
        form["digest"] = found.digest[:8] if found else ""
    assert ann.post(f"/inbox/{which}", form).status in (400, 409)
    assert status_of(store, which) == "waiting"


@pytest.mark.promise("P-06")
def test_what_was_pressed_before_anybody_could_read_does_not_count(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    which = asked(store)
    page = ann.get(f"/inbox/{which}")
    early = ann.post(f"/inbox/{which}", form_of(page, answer="approve"))
    assert (early.status, "before anybody could read" in early.text) == (409, True)
    assert status_of(store, which) == "waiting"
    clock.advance(1)
    assert ann.post(f"/inbox/{which}", form_of(early, answer="approve")).status == 303


@pytest.mark.promise("P-06")
def test_the_form_of_one_question_does_not_answer_another(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    one, other = asked(store), asked(store, {"path": "docs/b.md", "content": "rm"})
    page = read(ann, one, clock)
    assert ann.post(f"/inbox/{other}", form_of(page, answer="approve")).status == 409
    assert (status_of(store, one), status_of(store, other)) == ("waiting", "waiting")


@pytest.mark.promise("P-06")
def test_the_form_of_one_person_is_nothing_in_the_hands_of_another(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    which = asked(store)
    page = read(ann, which, clock)
    eve = Browser(ann.address, session(store, "eve"))
    assert eve.post(f"/inbox/{which}", form_of(page, answer="approve")).status == 409
    assert status_of(store, which) == "waiting"


def test_an_answer_is_given_once(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    which = asked(store)
    form = form_of(read(ann, which, clock), answer="approve")
    assert ann.post(f"/inbox/{which}", form).status == 303
    again = ann.post(f"/inbox/{which}", form)
    assert (again.status, "already approved" in again.text) == (409, True)
    assert ann.post(f"/inbox/{which}", {"answer": "deny"}).status == 409


@pytest.mark.promise("P-06", "H-10")
def test_an_approval_that_nothing_has_used_is_taken_back_and_both_answers_are_recorded(
    ann: Browser, bob: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    which = asked(store)
    assert "Take it back" not in ann.get(f"/inbox/{which}").text
    ann.post(f"/inbox/{which}", form_of(read(ann, which, clock), answer="approve"))
    assert 'value="take back"' in ann.get(f"/inbox/{which}").text
    assert f'<a href="/inbox/{which}#back">take back</a>' in ann.get("/inbox").text
    assert "take back" not in bob.get(f"/inbox/{which}").text + bob.get("/inbox").text
    assert bob.post(f"/inbox/{which}", {"answer": "take back"}).status == 403
    assert status_of(store, which) == "approved"
    done = ann.post(f"/inbox/{which}", {"answer": "take back", "reason": "too early"})
    assert (done.status, status_of(store, which)) == (303, "denied")
    newest = store.look(lambda tables: tables.newest(2, ("answer",)))
    said = [read_answer(one.body) for one in newest]
    assert [(one.status, one.by, one.through, one.reason) for one in said] == [
        ("denied", "ann", "console", "too early"), ("approved", "ann", "console", ""),
    ]  # fmt: skip
    assert "denied" in ann.get(f"/inbox/{which}").text
    assert try_call(store, request_of(at=clock.now())).decision.kind != "allow"


def test_what_was_used_or_has_ended_cannot_be_taken_back(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    which = asked(store)
    ann.post(f"/inbox/{which}", form_of(read(ann, which, clock), answer="approve"))
    used = try_call(store, request_of(at=clock.now()))
    page = ann.post(f"/inbox/{which}", {"answer": "take back"})
    assert (page.status, status_of(store, which)) == (409, "used")
    assert f"the call has run meanwhile, as record {used.call}" in page.text
    assert 'value="take back"' not in page.text
    ended = asked(store, {"path": "b"}, at=clock.now())
    ann.post(f"/inbox/{ended}", form_of(read(ann, ended, clock), answer="approve"))
    clock.advance(3600)
    assert "take back" not in ann.get(f"/inbox/{ended}").text
    assert ann.post(f"/inbox/{ended}", {"answer": "take back"}).status == 409


def test_whoever_comes_second_is_told_who_has_answered(
    ann: Browser, store: MemoryStore, address: Address, clock: ManualClock
) -> None:
    which = asked(store)
    root = Browser(address, session(store, "root"))
    form = form_of(read(root, which, clock), answer="approve")
    assert 'data-phase="waiting"' in root.get(f"/inbox/{which}").text
    assert ann.post(f"/inbox/{which}", {"answer": "deny"}).status == 303
    late = root.post(f"/inbox/{which}", form)
    assert (late.status, "ann has already denied it" in late.text) == (409, True)
    assert 'data-phase="denied over"' in late.text  # the script then replaces all of an open page, its form too


def test_an_expired_question_cannot_be_answered(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    which = asked(store)
    form = form_of(read(ann, which, clock), answer="approve")
    clock.advance(601)
    assert ann.post(f"/inbox/{which}", form).status == 409
    assert ann.post(f"/inbox/{which}", {"answer": "deny"}).status == 409


def test_a_preview_that_leaves_something_out_cannot_be_approved(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    from msgspec.json import encode

    which = asked(store, details=encode({"preview": with_left_out("the diff is too long.", "+ a")}).decode())
    page = read(ann, which, clock)
    assert page.field("digest") == ""
    assert 'value="approve"' not in page.text
    found = store.look(lambda tables: tables.approval(which))
    assert found is not None
    assert ann.post(f"/inbox/{which}", form_of(page, answer="approve") | {"digest": found.digest}).status == 409
    assert ann.post(f"/inbox/{which}", {"answer": "deny"}).status == 303


def test_a_call_that_somebody_changed_in_the_store_cannot_be_approved(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    which = asked(store)

    def swap(tables: Any) -> None:
        tables.put_approval(replace(tables.approval(which), canonical='{"name":"file/save","arguments":{}}'))

    form = form_of(read(ann, which, clock), answer="approve")
    store.transact(swap)
    page = ann.get(f"/inbox/{which}")
    assert "somebody has changed the store" in page.text
    assert ann.post(f"/inbox/{which}", form).status == 409
    assert status_of(store, which) == "waiting"


@pytest.mark.parametrize("name", ["teacher", "Teacher", "root-agent"])
def test_a_caller_cannot_answer_also_under_a_name_that_looks_like_one(
    store: MemoryStore, clock: ManualClock, name: str
) -> None:
    settings = replace(SETTINGS, callers={"root-agent": CallerSettings()})
    with opened(store, replace(Policy(), settings=settings)) as address:
        eve = Browser(address, session(store, name))
        which = asked(store)
        assert eve.post(f"/inbox/{which}", form_of(read(eve, which, clock), answer="approve")).status == 409
    assert status_of(store, which) == "waiting"


@pytest.mark.promise("H-10")
def test_a_grant_has_the_terms_that_were_ticked(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    which = asked(store)
    page = read(ann, which, clock)
    form = form_of(page, answer="grant", uses="5", seconds="600", where=["1"])
    assert ann.post(f"/inbox/{which}", form).status == 303
    (grant,) = store.look(lambda tables: tables.all_grants())
    assert (grant.caller, grant.tool, dict(grant.where), grant.uses, grant.by) == (
        "teacher", "file/save", {"path": "docs/a.md"}, 5, "ann",
    )  # fmt: skip
    assert grant.expires_at == clock.now() + 600 * 10**9
    assert "With it, ann granted further calls: 5 more within 10 min" in ann.get(f"/inbox/{which}").text
    note = read_note(store.look(lambda tables: tables.newest(1, ("grant",)))[0].body)
    assert (note.what, note.by) == ("made", "ann")
    other = request_of({"path": "docs/a.md", "content": "another text"}, at=clock.now())
    assert try_call(store, other).decision.kind == "allow"
    elsewhere = request_of({"path": "docs/b.md", "content": "hello"}, at=clock.now())
    assert try_call(store, elsewhere).decision.kind == "ask"


@pytest.mark.parametrize(
    "terms",
    [
        {"uses": "0"}, {"uses": "1000000"}, {"seconds": "999999999"}, {"seconds": ""}, {"where": ["2"]},
        {"where": ["path"]}, {"uses": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_grant_with_other_terms_than_the_form_offers_is_refused_with_the_approval(
    ann: Browser, store: MemoryStore, clock: ManualClock, terms: dict[str, Any]
) -> None:
    which = asked(store)
    form = form_of(read(ann, which, clock), answer="grant", uses="1", seconds="3600") | terms
    assert ann.post(f"/inbox/{which}", form).status == 409
    assert (status_of(store, which), store.look(lambda tables: tables.all_grants())) == ("waiting", [])


def test_a_value_that_would_be_a_pattern_cannot_be_a_term(ann: Browser, store: MemoryStore) -> None:
    which = asked(store, {"path": "docs/*.md", "content": "x" * 300, "mode": 3})
    text = ann.get(f"/inbox/{which}").text
    assert re.findall(r'name="where" value="(\d+)" checked> <code>(\w+)</code>', text) == [("0", "mode")]


def test_the_question_says_what_happens_who_asks_and_why(ann: Browser, store: MemoryStore) -> None:
    which = asked(store, details='{"effects": ["write"], "preview": "+new line\\n-old line"}', context="session-7")
    text = ann.get(f"/inbox/{which}").text
    for words in (
        "teacher wants to run file/save once, with exactly these 2 arguments. It can change files.",
        "approval:write", "session-7", "docs/a.md", "10 min 0 s", "What would happen", "+new line",
    ):  # fmt: skip
        assert words in text
    assert '<li class="new">' in text
    assert '<li class="gone">' in text


def test_an_unknown_question_is_a_page_that_says_so(ann: Browser) -> None:
    assert (ann.get("/inbox/nothing").status, "No such approval" in ann.get("/inbox/nothing").text) == (404, True)
    assert ann.post("/inbox/nothing", {"answer": "deny"}).status == 404


def test_the_inbox_lists_what_waits_and_what_was_answered(
    ann: Browser, address: Address, store: MemoryStore, clock: ManualClock
) -> None:
    assert "Nothing waits" in ann.get("/inbox").text
    which = asked(store)
    assert f'href="/inbox/{which}"' in ann.get("/inbox").text
    ann.post(f"/inbox/{which}", form_of(read(ann, which, clock), answer="approve"))
    assert "approved" in ann.get("/inbox").text


def test_the_inbox_tells_desktop_notices_the_id_the_tool_and_the_caller_and_nothing_of_the_call(
    ann: Browser, store: MemoryStore
) -> None:
    which = asked(store, {"path": "a-secret-name"}, caller='eve" onload="x\u202e')
    page = ann.get("/inbox").text
    (row,) = re.findall(r"<li ([^>]*)>", page[page.index('id="inbox"') :])
    told = dict(re.findall(r'data-(\w+)="([^"]*)"', row))
    assert (told["id"], set(told)) == (which, {"id", "tool", "caller"})
    assert "\u202e" not in row
    assert "onload=" not in re.sub(r'"[^"]*"', "", row)
    assert "a-secret-name" not in row
    assert '<button type="button" id="notices" class="quiet small" hidden></button>' in page


def test_the_words_of_an_answered_question_are_past(ann: Browser, store: MemoryStore) -> None:
    waits = try_call(store, request_of()).decision.approval
    assert "Nothing was answered yet." in ann.get("/inbox").text
    assert "wants to run" in ann.get(f"/inbox/{waits}").text
    ann.post(f"/inbox/{waits}", {"answer": "deny", "reason": "not on a Friday"})
    page = ann.get(f"/inbox/{waits}").text
    assert "ann denied one call of file/save by teacher (2 arguments)." in page
    assert ("wants to run" in page, "0 characters" in page) == (False, False)


def test_the_page_of_a_used_approval_tells_of_no_other_state_and_leads_to_what_ran(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    which = asked(store, details='{"preview": "+new line"}')
    assert "What would happen" in ann.get(f"/inbox/{which}").text
    ann.post(f"/inbox/{which}", form_of(read(ann, which, clock), answer="approve"))
    approved = ann.get(f"/inbox/{which}").text
    assert ('data-phase="approved"' in approved, "Nothing has used this approval yet" in approved) == (True, True)
    used = try_call(store, request_of(at=clock.now())).call
    page = ann.get(f"/inbox/{which}").text
    assert 'data-phase="used over"' in page
    assert f'It is running: <a href="/calls/{used}">record {used}</a>' in page
    assert [one for one in ("Nothing has used", "Take it back", "would happen") if one in page] == []


@pytest.mark.promise("I-03")
def test_a_server_that_wants_a_login_is_shown_with_the_command_and_nothing_it_wrote_is_markup(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    url = "https://notes.example/mcp"
    scopes = ("notes:write", "<b>write</b>")
    Vault().note_want(Want(server="notes", url=url, caller="ann o'hara", reason="scopes", scopes=scopes, metadata=url))
    Vault().note_want(Want(server="other", url="https://other.example/mcp"))  # of another policy
    policy = Policy(servers={"notes": Server("notes", url=url)})
    with opened(store, policy) as address:
        page = Browser(address, session(store, "ann")).get("/inbox").text
    assert "rightcall login notes --as &#39;ann o&#39;&#34;&#39;&#34;&#39;hara&#39;" in page
    assert "notes:write" in page
    assert ("<b>write" in page, "&lt;b&gt;" in page) == (False, False)  # what is not a scope's word is only counted
    assert "other.example" not in page
    assert "rightcall login other" not in page
