"""Backup and restore: what was put back verifies, and whoever goes on with more than it has notices."""

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from rightcall.errors import StoreError
from rightcall.record.postgres import PostgresStore
from rightcall.record.postgres.schema import TABLES
from rightcall.record.postgres.store import prepare_days
from rightcall.record.sqlite import SqliteStore
from rightcall.record.verify import heads_of, verify_audit
from support.postgres import ON_SERVERS, Server, binaries_of
from support.stores import add, not_opened, records


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


def copied(source: Path, target: Path) -> None:
    """As `cp -a` does, with owner and rights."""
    shutil.copytree(source, target)
    owner = source.stat()
    for one in (target, *target.rglob("*")):
        os.chown(one, owner.st_uid, owner.st_gid)
    target.chmod(0o700)


@pytest.mark.long
@pytest.mark.promise("S-02")
@pytest.mark.parametrize("kind", ON_SERVERS)
def test_a_server_that_was_put_back_verifies_and_a_node_that_goes_on_notices(kind: str) -> None:
    with Server.started(binaries_of(kind)) as server:
        server.run("CREATE DATABASE kept")
        with closing(opened(server.url("kept"))) as running:
            for _ in range(3):
                running.transact(add())
            server.stop()
            copied(server.data, server.folder / "backup")
            server.start()
            with suppress(StoreError):  # the connection of before
                running.transact(add())
            running.transact(add())
            heads = running.look(heads_of)
            server.stop()
            shutil.rmtree(server.data)
            (server.folder / "backup").rename(server.data)
            server.start()
            server.run("UPDATE rightcall.nodes SET until = '-infinity'", "kept")  # its lease is over by then
            faults = set[str]()
            for _ in range(3):
                with pytest.raises(StoreError) as raised:
                    running.transact(add())
                faults.add(raised.value.fault)
            assert raised.value.fault == "replaced", faults
            assert faults <= {"replaced", "unreachable"}
        with closing(opened(server.url("kept"))) as again:
            assert again.look(verify_audit).ok
            again.transact(add())
            found = again.look(lambda tables: verify_audit(tables, heads=heads))
            assert not found.ok


@pytest.mark.promise("S-02")
def test_a_logical_copy_verifies_in_another_database(server: Server, url: str) -> None:
    with closing(opened(url)) as store:
        for _ in range(5):
            store.transact(add())
        before, key = records(store), store.key()
    with server.database() as other:
        prepare_days(other, 2)
        with psycopg.connect(url) as source, psycopg.connect(other) as target:
            for table in TABLES:
                target.execute(f"DELETE FROM rightcall.{table}".encode())
                with (
                    source.cursor().copy(f"COPY (SELECT * FROM rightcall.{table}) TO STDOUT".encode()) as out,
                    target.cursor().copy(f"COPY rightcall.{table} FROM STDIN".encode()) as into,
                ):
                    for data in out:
                        into.write(data)
            (last,) = source.execute("SELECT last_value FROM rightcall.numbers").fetchone() or (1,)
            target.execute("SELECT setval('rightcall.numbers', %s)", (last,))
        with closing(opened(other)) as store:
            assert (records(store), store.key()) == (before, key)
            store.transact(add())
            assert store.look(verify_audit).ok


def test_a_copy_of_a_file_is_made_while_it_is_in_use_and_verifies(tmp_path: Path) -> None:
    file, copy = tmp_path / "audit.db", tmp_path / "backup" / "audit.db"
    copy.parent.mkdir()
    with closing(SqliteStore(file)) as store:
        for _ in range(3):
            store.transact(add())
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        shutil.copy(f"{file}.key", f"{copy}.key")
        store.transact(add())
    with closing(SqliteStore(copy)) as restored:
        assert len(records(restored)) == 3
        assert restored.look(verify_audit).ok
    file.unlink()
    shutil.copy(copy, file)
    assert "it is an older copy" in not_opened(file, "replaced")
    with closing(SqliteStore(file, adopting=("ann", "restored"))) as store:
        assert store.look(verify_audit).ok
