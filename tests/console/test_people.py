"""People: credentials and links that count once or until they are revoked, kept as hashes in every store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.console.people import (
    LINK_SECONDS,
    MOST_SESSIONS,
    SESSION_SECONDS,
    EntryKind,
    Identified,
    add_person,
    end_identified,
    enter,
    enter_identified,
    identified_people,
    live_sessions,
    local_person,
    make_link,
    people,
    revoke_person,
    session_of,
    still_counts,
)
from rightcall.errors import ConfigError
from rightcall.identity.callers import console_lines
from rightcall.policy.settings import IdentityRule, IdentitySettings
from rightcall.record.tables import Store, read_note
from support.stores import KINDS, Diary, opened


@pytest.fixture(params=KINDS)
def diary(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Diary]:
    with opened(request.param, tmp_path) as found:
        yield found


def added(store: Store, name: str = "ann", **more: object) -> str:
    return store.transact(lambda tables: add_person(tables, name, "approve", "root", **more))[1]  # type: ignore[arg-type]


def link(store: Store, name: str = "ann") -> str:
    return store.transact(lambda tables: make_link(tables, name, "root"))


def come(store: Store, secret: str, kind: EntryKind) -> str | None:
    found = store.transact(lambda tables: enter(tables, secret, kind))
    return None if found is None else found[1]


def is_in(store: Store, secret: str | None) -> bool:
    return secret is not None and store.look(lambda tables: session_of(tables, secret)) is not None


@pytest.mark.promise("H-10")
def test_a_link_counts_once(diary: Diary) -> None:
    added(diary.store)
    secret = link(diary.store)
    assert is_in(diary.store, come(diary.store, secret, "link"))
    assert come(diary.store, secret, "link") is None


def test_a_link_counts_for_a_while_only(diary: Diary) -> None:
    added(diary.store)
    secret = link(diary.store)
    diary.clock.advance(LINK_SECONDS)
    assert come(diary.store, secret, "link") is None


def test_a_credential_counts_until_it_is_revoked(diary: Diary) -> None:
    secret = added(diary.store)
    assert is_in(diary.store, come(diary.store, secret, "person"))
    assert is_in(diary.store, come(diary.store, secret, "person"))
    diary.store.transact(lambda tables: revoke_person(tables, "ann", "root"))
    assert come(diary.store, secret, "person") is None


def test_one_kind_of_secret_is_not_another(diary: Diary) -> None:
    credential, secret = added(diary.store), link(diary.store)
    assert come(diary.store, credential, "link") is None
    assert come(diary.store, secret, "person") is None
    assert not is_in(diary.store, credential)
    assert not is_in(diary.store, secret)


@pytest.mark.promise("H-10")
def test_revoking_ends_everything_of_a_person_and_nothing_of_others(diary: Diary) -> None:
    store = diary.store
    for name in ("ann", "bob"):
        added(store, name)
    hers, his, left = come(store, link(store), "link"), come(store, link(store, "bob"), "link"), link(store)
    store.transact(lambda tables: revoke_person(tables, "ann", "root"))
    assert (is_in(store, hers), is_in(store, his), come(store, left, "link")) == (False, True, None)
    assert len(store.look(live_sessions)) == 1
    assert [one.person for one in store.look(people)] == ["bob"]


def test_a_new_credential_replaces_the_old_one_and_its_sessions(diary: Diary) -> None:
    old = added(diary.store)
    session = come(diary.store, old, "person")
    new = added(diary.store)
    assert not is_in(diary.store, session)
    assert come(diary.store, old, "person") is None
    assert is_in(diary.store, come(diary.store, new, "person"))


def test_a_session_ends_by_itself(diary: Diary) -> None:
    session = come(diary.store, added(diary.store), "person")
    diary.clock.advance(SESSION_SECONDS - 1)
    assert is_in(diary.store, session)
    diary.clock.advance(1)
    assert not is_in(diary.store, session)


def test_a_person_has_so_many_sessions_and_the_oldest_goes(diary: Diary) -> None:
    secret = added(diary.store)
    sessions = [come(diary.store, secret, "person") for _ in range(MOST_SESSIONS + 1)]
    assert (is_in(diary.store, sessions[0]), is_in(diary.store, sessions[1])) == (False, True)


@pytest.mark.promise("H-10")
def test_no_secret_is_kept_anywhere(diary: Diary, tmp_path: Path) -> None:
    credential = added(diary.store)
    secret = link(diary.store)
    session = come(diary.store, link(diary.store), "link") or ""
    rows = repr(diary.store.look(lambda tables: (tables.credentials(), list(tables.entries()))))
    files = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for one in (credential, secret, session):
        assert one not in rows
        assert one.encode() not in files


def test_who_was_added_and_revoked_is_recorded(diary: Diary) -> None:
    come(diary.store, added(diary.store), "person")
    diary.store.transact(lambda tables: revoke_person(tables, "ann", "root"))
    notes = [read_note(one.body) for one in diary.store.look(lambda tables: list(tables.entries()))]
    assert [(one.what, one.by) for one in notes] == [
        ("person added", "root"), ("logged in", "ann"), ("person revoked", "root"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", " ann", "a*", "an\u200bn", "\u0430nn", "ANN", "teacher", "x" * 101, "a\nb"])
def test_a_name_that_could_be_taken_for_another_is_refused(diary: Diary, name: str) -> None:
    added(diary.store)
    with pytest.raises(ConfigError, match="invalid person"):
        added(diary.store, name, callers=("teacher",))


def test_an_unknown_person_gets_no_link_and_cannot_be_revoked(diary: Diary) -> None:
    with pytest.raises(ConfigError, match="unknown person 'eve'"):
        link(diary.store, "eve")
    with pytest.raises(ConfigError, match="unknown person 'eve'"):
        diary.store.transact(lambda tables: revoke_person(tables, "eve", "root"))


def test_the_first_person_of_a_store_is_its_user_and_nobody_else_by_default(diary: Diary) -> None:
    first = diary.store.transact(lambda tables: local_person(tables, "root"))
    assert first is not None
    assert (first.person, first.may, first.digest) == ("root", "approve", "")
    assert come(diary.store, "", "person") is None
    assert diary.store.transact(lambda tables: local_person(tables, "mallory")) is None
    added(diary.store)
    diary.store.transact(lambda tables: revoke_person(tables, "root", "ann"))
    assert diary.store.transact(lambda tables: local_person(tables, "root")) is None


@pytest.mark.parametrize("secret", ["", "x" * 10_000, "\u00e9", "rcp_", "0" * 64])
def test_no_odd_secret_comes_in(diary: Diary, secret: str) -> None:
    added(diary.store)
    for kind in ("person", "link"):
        assert come(diary.store, secret, kind) is None


# ── by an identity provider ──

ISSUER = "https://login.example.org"
PROVIDERS = (IdentitySettings(ISSUER, ("gateway",), client_id="console", map=(IdentityRule("any", may="approve"),)),)
LINE = next(iter(console_lines(PROVIDERS[0])))
ANNA = Identified("anna@example.org", "approve", ISSUER, "a-1", 3600, LINE)


def identified(store: Store, who: Identified = ANNA, login: str = "login-1") -> str | None:
    found = store.transact(lambda tables: enter_identified(tables, who, login, ("robot",)))
    return None if found is None else found[1]


@pytest.mark.promise("I-08")
def test_somebody_of_an_identity_provider_has_a_session_and_no_row_of_their_own(diary: Diary) -> None:
    store = diary.store
    secret = identified(store)
    found = store.look(lambda tables: session_of(tables, secret or ""))
    assert found is not None
    assert (found.person, found.may) == ("anna@example.org", "approve")
    assert store.look(lambda tables: still_counts(tables, found))
    assert store.look(lambda tables: (people(tables), live_sessions(tables, PROVIDERS))) == ([], {found.id})
    assert store.look(live_sessions) == frozenset()  # under a policy that names no provider
    assert [one.person for one in store.look(identified_people)] == ["anna@example.org"]
    diary.clock.advance(3601)
    assert not is_in(store, secret)
    assert store.look(lambda tables: (identified_people(tables), live_sessions(tables, PROVIDERS))) == ([], frozenset())
    assert not store.look(lambda tables: still_counts(tables, found))


@pytest.mark.promise("I-08")
def test_a_login_counts_once_in_every_store(diary: Diary) -> None:
    assert identified(diary.store) is not None
    assert identified(diary.store) is None
    assert identified(diary.store, login="login-2") is not None


@pytest.mark.promise("I-08")
@pytest.mark.parametrize("name", ["ann", "ANN", "robot", "r0bot", "anna@example.org ", "аnna", "*", "a\u200bnna"])
def test_a_name_of_somebody_else_or_like_it_is_refused(diary: Diary, name: str) -> None:
    added(diary.store)
    with pytest.raises(ConfigError):
        identified(diary.store, Identified(name, "approve", ISSUER, "x", 3600, LINE))


def test_a_person_of_the_name_who_is_added_later_ends_the_session(diary: Diary) -> None:
    secret = identified(diary.store)
    added(diary.store, "anna@example.org")
    assert not is_in(diary.store, secret)


def test_whoever_may_not_come_in_any_more_loses_all_sessions_and_nobody_else_does(diary: Diary) -> None:
    store = diary.store
    own = [identified(store, login=f"login-{number}") for number in range(3)]
    ben = identified(store, Identified("ben", "look", ANNA.issuer, "b-2", 3600, LINE), "login-9")
    store.transact(lambda tables: end_identified(tables, ANNA.issuer, ANNA.subject))
    assert [is_in(store, one) for one in (*own, ben)] == [False, False, False, True]
    store.transact(lambda tables: revoke_person(tables, "ben", "root"))
    assert not is_in(store, ben)


def test_one_identity_has_so_many_sessions_at_most(diary: Diary) -> None:
    first = identified(diary.store)
    for number in range(MOST_SESSIONS):
        last = identified(diary.store, login=f"more-{number}")
    assert (is_in(diary.store, first), is_in(diary.store, last)) == (False, True)
