"""`rightcall store`, and what `rightcall audit` does with content and heads."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall.record import erasure
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner
from support.postgres import ON_SERVERS, shared
from support.stores import Diary, add, tamper


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "audit.db"
    with closing(SqliteStore(path)) as store:
        diary = Diary(store)
        for caller in ("ada", "bob"):
            call = diary.begin(caller, emission="a private text")
            diary.end(call, summary="a private text")
    return path


@pytest.mark.parametrize("kind", ON_SERVERS)
def test_a_store_is_moved_and_what_to_do_next_is_said(kind: str, run: Runner, file: Path) -> None:
    with shared(kind).database() as url:
        would = run("store", "migrate", str(file), url, "--dry-run", "--json")
        assert would.json == {"records": 4, "left": 4, "resumed": False, "done": False}
        done = run("store", "migrate", str(file), url, "--by", "ann")
        assert done.code == 0, done.err
        assert "Moved 5 records; each was read back and compared." in done.out
        assert "rightcall audit verify --store" in done.out
        assert run("audit", "verify", "--store", url).code == 0
        assert "nothing to do" in run("store", "migrate", str(file), url).out
        assert "nothing to do" in run("store", "migrate", str(file), url, "--dry-run").out


@pytest.mark.postgres
def test_an_interrupted_move_says_how_to_go_on(run: Runner, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rightcall.record.postgres.migration import Migration

    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    with shared("postgres18").database() as url:
        with monkeypatch.context() as patch:
            patch.setattr(Migration, "_copy", stops)
            done = run("store", "migrate", str(file), url)
        assert (done.code, "To continue, run the same command again" in done.err) == (130, True), done.err
        assert run("store", "migrate", str(file), url).code == 0


def test_a_server_of_another_kind_is_not_taken_for_a_file(run: Runner) -> None:
    done = run("audit", "tail", "--store", "mysql://ann@db.example/x")
    assert done.code == 2
    assert "mysql:// is not supported: expected a file or postgresql://USER@HOST/DATABASE" in done.err
    done = run("audit", "tail", "--store", "memory")
    assert (done.code, os.path.exists("memory")) == (2, False)
    assert "`memory` keeps nothing, and is for Python alone: name a file, such as /tmp/trial.db" in done.err


def test_a_url_with_one_slash_is_not_taken_for_a_file(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for wrong in ("postgresql:/ann@db.example/x", "postgres:/x"):
        done = run("run", "ping", "{}", "--store", wrong)
        assert (done.code, "write postgresql://USER@HOST/DATABASE" in done.err) == (2, True), done.err
    assert not [one for one in os.listdir() if one.startswith("postgres")]


def test_the_order_of_file_and_server_is_said(run: Runner, file: Path) -> None:
    done = run("store", "migrate", "postgresql://ann@db.example/x", str(file))
    assert done.code == 2
    assert "expected a SQLite file and then a URL" in done.err


def test_what_is_no_database_is_not_moved_and_nobody_is_told_to_adopt_it(run: Runner, tmp_path: Path) -> None:
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0\n" * 100)
    done = run("store", "migrate", str(other), "postgresql://ann@127.0.0.1:9/x")
    assert done.code == 2
    assert f"{other} is not a SQLite file; name the audit log that is to be moved" in done.err
    assert "adopt" not in done.err


def test_a_command_that_ends_does_not_say_that_it_continues(run: Runner) -> None:
    done = run("audit", "tail", "--store", "postgresql://ann@127.0.0.1:9/x")
    assert done.code == 2
    assert "Run the command again once the server is back." in done.err
    assert "continues" not in done.err


def test_content_is_erased_after_a_question_and_verify_says_so(run: Runner, file: Path) -> None:
    where = ("--store", str(file))
    asked = run("audit", "erase", "--as", "ada", *where)
    assert (asked.code, "pass `--yes`" in asked.err) == (2, True)
    done = run("audit", "erase", "--as", "ada", "--yes", "--by", "ann", "--json", *where)
    assert done.json == {"records": 2, "calls": 1, "spared": 0}
    assert "Content erased, as records of that say: 2 records." in run("audit", "verify", *where).out
    assert "content erased" in run("audit", "show", "1", *where).out
    assert "a private text" in run("audit", "show", "3", *where).out
    assert "There is nothing to erase." in run("audit", "erase", "--as", "ada", "--yes", "--by", "ann", *where).out
    assert "digest" not in run("audit", "show", "1", *where).out
    (erased,) = [line for line in run("audit", "tail", "--as", "ada", *where).out.splitlines() if " ada " in line]
    assert erased.endswith("content erased")


@pytest.mark.parametrize("name", ["Ada", "", "nobody"])
def test_a_misspelt_caller_does_not_look_erased(run: Runner, file: Path, name: str) -> None:
    done = run("audit", "erase", "--as", name, "--yes", "--by", "ann", "--store", str(file))
    assert (done.code, f"no call of {name!r} is recorded" in done.err) == (2, True), done.err


def test_an_interrupted_erasure_says_what_is_gone_and_goes_on(
    run: Runner, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteStore(file)) as store:
        diary = Diary(store)
        for _ in range(2):
            diary.end(diary.begin("bob"), summary="a private text")
    where = ("--as", "bob", "--yes", "--by", "ann", "--store", str(file))
    monkeypatch.setattr(erasure, "STEP", 1)
    transact = SqliteStore.transact

    def interrupted(store: SqliteStore, work: Any) -> Any:
        if len(store.look(lambda tables: tables.newest(3, ("erase",)))) == 2:
            raise KeyboardInterrupt
        return transact(store, work)

    with monkeypatch.context() as now:
        now.setattr(SqliteStore, "transact", interrupted)
        stopped = run("audit", "erase", *where)
    assert (stopped.code, stopped.out) == (130, "")
    assert "Interrupted: the content of 1 call (2 records) is gone." in stopped.err
    assert "run the same command again" in stopped.err
    assert "Erased the content of 2 calls (4 records)" in run("audit", "erase", *where).out
    assert "Content erased, as records of that say: 6 records." in run("audit", "verify", *where[-2:]).out


def test_a_pruned_record_is_told_as_such_and_is_not_counted(run: Runner, file: Path) -> None:
    where = ("--store", str(file))
    assert run("audit", "prune", "--keep", "0", "--yes", "--by", "ann", *where).code == 0
    assert "record 1 was pruned; run" in run("audit", "show", "1", *where).err
    assert "unknown record 50; run" in run("audit", "show", "50", *where).err
    (store,) = [one for one in run("doctor", "--json", *where).json["checks"] if one["name"] == "store"]
    assert store["text"].endswith(": 1 record")


@pytest.mark.promise("A-03")
def test_kept_heads_show_that_the_end_was_cut_off(run: Runner, file: Path, tmp_path: Path) -> None:
    where, heads = ("--store", str(file)), str(tmp_path / "heads.json")
    assert "1 node" in run("audit", "heads", "--out", heads, *where).out
    (head,) = json.loads(Path(heads).read_text())["heads"]
    assert (head["node"], head["seq"]) == (0, 4)
    assert json.loads(run("audit", "heads", *where).out)["heads"] == [head]
    assert run("audit", "verify", "--heads", heads, *where).code == 0
    tamper(file, "DELETE FROM audit WHERE seq = 4")
    found = run("audit", "verify", "--heads", heads, *where)
    assert (found.code, "the tail is truncated" in found.out) == (1, True), found.out
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    assert "was not written by `rightcall audit heads" in run("audit", "verify", "--heads", str(wrong), *where).err


def test_pruning_makes_the_file_smaller(run: Runner, file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        for _ in range(50):
            store.transact(
                lambda tables: [add("message", 0, b'{"what":"%s"}' % (b"x" * 4000))(tables) for _ in range(20)]
            )
    before = file.stat().st_size
    assert run("audit", "prune", "--keep", "5", "--yes", "--by", "ann", "--store", str(file)).code == 0
    assert file.stat().st_size < before / 5


@pytest.mark.postgres
def test_the_doctor_flags_a_server_that_can_lose_what_it_confirmed(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from rightcall.cli import doctor
    from rightcall.record.postgres import PostgresStore

    monkeypatch.setattr(doctor, "_servers", list)

    def told(url: str) -> str:
        return next(
            one["text"] for one in run("doctor", "--json", "--store", url).json["checks"] if one["name"] == "store"
        )

    with shared("postgres18").database() as url:
        PostgresStore(url, silent_seconds=30, busy_seconds=30).close()
        assert "fsync is off" in told(url)
        name = url.partition("@/")[2].partition("?")[0]
        shared("postgres18").run(f"ALTER DATABASE {name} SET synchronous_commit = off")
        assert "synchronous_commit is off" in told(url)
        shared("postgres18").run(f"ALTER DATABASE {name} SET synchronous_commit = on")
        assert "asynchronous" not in told(url)
        standby = psycopg.pq.PGconn.connect(f"{url}&replication=true".encode())
        try:
            position = standby.exec_(b"IDENTIFY_SYSTEM").get_value(0, 2) or b"0/0"
            standby.exec_(b"START_REPLICATION PHYSICAL " + position)
            assert "replication is asynchronous" in told(url)
        finally:
            standby.finish()


@pytest.mark.postgres
def test_verify_on_a_server_advises_the_heads_of_all_nodes(run: Runner, tmp_path: Path) -> None:
    from rightcall.record.postgres import PostgresStore

    heads = str(tmp_path / "heads.json")
    with shared("postgres18").database() as url:
        with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
            store.transact(add())
        found = run("audit", "verify", "--store", url).out
        assert "Without `--heads`, removed newest records cannot be detected." in found
        assert run("audit", "heads", "--out", heads, "--store", url).code == 0
        assert "Without" not in run("audit", "verify", "--heads", heads, "--store", url).out


@pytest.mark.postgres
def test_an_export_as_csv_names_the_node(run: Runner) -> None:
    from rightcall.record.postgres import PostgresStore

    with shared("postgres18").database() as url:
        with (
            closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as one,
            closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as two,
        ):
            one.transact(add())
            two.transact(add())
        header, *rows = run("audit", "export", "--format", "csv", "--store", url).out.splitlines()
        assert header.endswith(",hash,node")
        assert {row.rpartition(",")[2] for row in rows} == {"0", "1"}
