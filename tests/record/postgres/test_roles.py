"""Roles with fewer rights: a node that can only append works, and the server itself refuses to change a record."""

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple
from uuid import uuid4

import psycopg
import pytest

from rightcall.console.people import (
    EntryKind,
    Identified,
    add_person,
    end_identified,
    enter,
    enter_identified,
    leave,
    make_link,
    revoke_person,
    session_of,
)
from rightcall.errors import ConfigError, StoreError
from rightcall.record.postgres import PostgresReader, PostgresStore
from rightcall.record.postgres.schema import TABLES, roles_sql
from rightcall.record.verify import prune, verify_audit
from support.approvals import START, request_of, say, try_call
from support.cli import Runner
from support.postgres import Server
from support.stores import add, records

pytestmark = pytest.mark.postgres


class Roles(NamedTuple):
    owner: str
    append: str
    read: str


@pytest.fixture
def roles(server: Server, url: str, run: Runner) -> Iterator[Roles]:
    """A database that its owner has prepared, and the two other roles."""
    short = uuid4().hex[:8]
    append, read = f"append_{short}", f"read_{short}"
    prepared = run("store", "prepare", url, "--ahead", "3")
    assert prepared.code == 0, prepared.err
    sql = run("store", "roles", "--append", append, "--read", read)
    database = url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.out.encode())
    yield Roles(url, server.url(database, append), server.url(database, read))
    with psycopg.connect(url, autocommit=True) as connection:
        for name in (append, read):
            connection.execute(f"DROP OWNED BY {name}".encode())
            connection.execute(f"DROP ROLE {name}".encode())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(capsys, monkeypatch)


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


@pytest.mark.promise("S-01")
def test_with_the_role_that_appends_calls_run_and_are_answered(roles: Roles) -> None:
    with closing(opened(roles.append)) as store:
        asked = try_call(store, request_of(at=store.clock.now()))
        assert asked.decision.kind == "ask"
        assert asked.decision.approval is not None
        say(store, asked.decision.approval)
        made = try_call(store, request_of(at=store.clock.now()))
        assert made.decision.kind == "allow"
        store.transact(
            lambda tables: (tables.append("end", made.call, b'{"status":"success"}'), tables.ended(made.call))
        )
        store.transact(lambda tables: tables.spend("teacher", 1, 5))
        assert START
    with closing(opened(roles.append)) as store:  # the next node goes on with its chain
        store.transact(add())
        assert store.look(verify_audit).ok


def test_people_whom_the_owner_added_log_in_and_out_of_a_node_that_appends(roles: Roles, run: Runner) -> None:
    with closing(opened(roles.owner)) as store:
        _, own = store.transact(lambda tables: add_person(tables, "ann", "approve", "owner"))
    made = run("console", "link", "--as", "ann", "--port", "4142", "--store", roles.append)
    assert made.code == 0, made.err
    with closing(opened(roles.append)) as store:
        link = store.transact(lambda tables: make_link(tables, "ann", "ann"))
        ways: list[tuple[str, EntryKind]] = [(own, "person"), (link, "link")]
        for secret, kind in ways:
            entered = store.transact(lambda tables, secret=secret, kind=kind: enter(tables, secret, kind))
            assert entered is not None
            session, cookie = entered
            assert store.look(lambda tables, cookie=cookie: session_of(tables, cookie)) == session
            store.transact(lambda tables, session=session: leave(tables, session))
            store.transact(lambda tables, session=session: leave(tables, session))  # it has ended meanwhile
            assert store.look(lambda tables, cookie=cookie: session_of(tables, cookie)) is None
        assert store.transact(lambda tables: enter(tables, link, "link")) is None
        with pytest.raises(StoreError, match="this role may not do that"):
            store.transact(lambda tables: add_person(tables, "bob", "approve", "bob"))
        with pytest.raises(StoreError, match="this role may not do that"):
            store.transact(lambda tables: revoke_person(tables, "ann", "bob"))


@pytest.mark.promise("I-08")
def test_people_of_an_identity_provider_log_in_at_one_node_and_are_known_at_the_next(roles: Roles) -> None:
    anna = Identified("anna@example.org", "approve", "https://login.example.org", "a-1", 3600, "5eed")
    with closing(opened(roles.append)) as store:
        entered = store.transact(lambda tables: enter_identified(tables, anna, "login-1"))
        assert entered is not None
    with closing(opened(roles.append)) as store:
        found = store.look(lambda tables: session_of(tables, entered[1]))
        assert found is not None
        assert (found.person, found.may) == ("anna@example.org", "approve")
        assert store.transact(lambda tables: enter_identified(tables, anna, "login-1")) is None
        store.transact(lambda tables: end_identified(tables, anna.issuer, anna.subject))
        assert store.look(lambda tables: session_of(tables, entered[1])) is None


@pytest.mark.promise("S-01")
def test_the_server_refuses_to_change_or_remove_a_record_with_it(roles: Roles) -> None:
    with closing(opened(roles.append)) as store:
        store.transact(add())
    with psycopg.connect(roles.append, autocommit=True) as connection:
        for statement in (
            "UPDATE rightcall.audit SET body = '{}'", "DELETE FROM rightcall.audit", "TRUNCATE rightcall.audit",
            "DROP TABLE rightcall.audit", "UPDATE rightcall.meta SET value = '9'", "DELETE FROM rightcall.tokens",
            "UPDATE rightcall.meta SET name = 'zz' WHERE name = 'paused'",
            "INSERT INTO rightcall.meta VALUES ('migrating', '{}')", "DELETE FROM rightcall.meta",
            "INSERT INTO rightcall.credentials (id, doc) VALUES ('x', '{}')", "DELETE FROM rightcall.credentials",
            "UPDATE rightcall.sessions SET doc = '{}'",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
        (day,) = connection.execute(
            "SELECT min(c.oid)::regclass::text FROM pg_class c WHERE relispartition"
        ).fetchone() or ("",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):  # nor behind the back of the table
            connection.execute(f"DELETE FROM {day}".encode())
    with closing(opened(roles.append)) as store:
        for _ in range(3):
            store.transact(add())
        with pytest.raises(StoreError, match="this role may not do that") as raised:
            store.transact(lambda tables: prune(tables, keep=0, by="ann"))
        assert raised.value.fault == "denied"
        assert len(records(store)) >= 3


@pytest.mark.promise("A-03")
def test_a_head_of_another_node_that_was_changed_with_it_is_found(roles: Roles, run: Runner) -> None:
    with closing(opened(roles.append)) as store:
        for _ in range(2):
            store.transact(add())
    assert run("audit", "verify", "--store", roles.read).code == 0
    with psycopg.connect(roles.append, autocommit=True) as connection:
        connection.execute("UPDATE rightcall.nodes SET hash = '\\x00'")
    assert run("audit", "verify", "--store", roles.read).code == 1
    with closing(opened(roles.append)) as store:  # nor does going on hide it
        store.transact(add())
    found = run("audit", "verify", "--store", roles.read)
    assert found.code == 1, found.out
    assert "may change the row of any node" in run("store", "roles").out


@pytest.mark.promise("S-01")
def test_with_the_role_that_reads_commands_show_everything_and_a_write_is_refused(roles: Roles, run: Runner) -> None:
    with closing(opened(roles.owner)) as store:
        try_call(store, request_of(at=store.clock.now()))
    commands = (
        ("audit", "tail"), ("audit", "verify"), ("audit", "export"), ("audit", "heads"), ("stats",),
        ("approvals", "list"), ("approvals", "show"), ("grants", "list"), ("policy", "quarantine", "list"),
        ("token", "list"), ("people", "list"),
    )  # fmt: skip
    for words in commands:
        done = run(*words, "--store", roles.read)
        assert done.code == 0, (words, done.err)
    (listed,) = run("approvals", "list", "--store", roles.read, "--json").json["approvals"]
    assert 0 < listed["seconds_left"] < 86_400, listed
    with closing(PostgresReader(roles.read)) as reader:
        assert reader.look(lambda tables: len(tables.approvals("waiting"))) == 1
    refused = run("pause", "--store", roles.read, "--by", "ann")
    assert (refused.code, "this role may not do that" in refused.err) == (2, True), refused.err
    with psycopg.connect(roles.read, autocommit=True) as connection:
        for statement in ("SELECT * FROM rightcall.secrets", "INSERT INTO rightcall.locks VALUES ('x')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_an_owner_who_may_create_roles_runs_the_sql_and_is_told_so_in_it(server: Server, run: Runner) -> None:
    short = uuid4().hex[:8]
    owner, append, read = f"owner_{short}", f"append_{short}", f"read_{short}"
    server.run(f"CREATE ROLE {owner} LOGIN")
    server.run(f"CREATE DATABASE {owner} OWNER {owner}")
    sql = run("store", "roles", "--append", append, "--read", read).out
    assert sql.startswith("-- Run it as a superuser, or as a role with CREATEROLE that owns the tables.")
    try:
        assert run("store", "prepare", server.url(owner, owner), "--ahead", "1").code == 0
        with psycopg.connect(server.url(owner, owner), autocommit=True) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="create role"):
                connection.execute(sql.encode())
            server.run(f"ALTER ROLE {owner} CREATEROLE")
            connection.execute(sql.encode())
        with closing(opened(server.url(owner, append))) as store:
            store.transact(add())
    finally:
        server.run(f"DROP DATABASE {owner} WITH (FORCE)")
        for name in (append, read, owner):
            server.run(f"DROP ROLE IF EXISTS {name}")


def test_a_day_that_nobody_prepared_is_told_with_the_command(roles: Roles) -> None:
    with psycopg.connect(roles.owner, autocommit=True) as connection:
        days = connection.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relispartition AND relkind = 'r'"
        ).fetchall()
        for (day,) in days:
            connection.execute(f"DROP TABLE {day}".encode())
    with closing(opened(roles.append)) as store, pytest.raises(StoreError, match="rightcall store prepare") as raised:
        store.transact(add())
    assert raised.value.fault == "denied"


def test_tables_that_are_not_there_cannot_be_made_with_it(roles: Roles, server: Server) -> None:
    with psycopg.connect(roles.owner, autocommit=True) as connection:
        connection.execute("UPDATE rightcall.meta SET value = '1' WHERE name = 'version'")
    with pytest.raises(StoreError, match="rightcall store prepare"):
        opened(roles.append)
    assert server.port


def test_the_roles_know_every_table(roles: Roles) -> None:
    with psycopg.connect(roles.owner) as connection:
        found = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'rightcall'::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition"
        ).fetchall()
    assert {name for (name,) in found} == set(TABLES)
    with pytest.raises(ConfigError, match="invalid role"):
        roles_sql("x; DROP TABLE audit", "read", [])
