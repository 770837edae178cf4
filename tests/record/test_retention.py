"""`[audit] keep`: what is too old goes by itself, the rest verifies, and the space is given back."""

from contextlib import closing
from pathlib import Path

import pytest

from rightcall.errors import PolicyError
from rightcall.policy.trust import FoundPolicy
from rightcall.policy.watch import load_policy
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, read_note
from rightcall.record.verify import prune, retain, verify_audit
from support.postgres import ON_SERVERS, shared
from support.stores import KINDS, Diary, add, approval, opened, records

DAY = 86_400.0
LEFT = "SELECT relname FROM pg_class WHERE relname LIKE 'gone%' AND relkind = 'r'"


def aged(diary: Diary, days: int = 12) -> None:
    """Some calls a day."""
    for _ in range(days):
        diary.ran()
        diary.ran()
        diary.clock.advance(DAY)


def kept(diary: Diary, days: int) -> None:
    while not diary.store.transact(lambda tables: retain(tables, days, diary.clock.now())):
        """There is more."""


@pytest.mark.promise("S-04")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_older_goes_and_the_rest_verifies(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        aged(diary)
        before = records(diary.store)
        kept(diary, 8)
        after = records(diary.store)
        gone = [entry for entry in before if entry not in after]
        assert {entry.at[:10] for entry in gone} == {"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"}
        (note,) = [read_note(entry.body) for entry in after if entry.kind == "prune"]
        assert note.by == "[audit] keep"
        found = diary.store.look(verify_audit)
        assert (found.ok, found.pruned) == (True, gone[-1].seq), found.problem
        kept(diary, 8)
        assert records(diary.store) == after


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_cut_still_knows_every_chain(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        aged(diary)
        kept(diary, 9)
        kept(diary, 7)
        diary.ran()
        assert diary.store.look(verify_audit).ok


@pytest.mark.parametrize("kind", KINDS)
def test_what_still_runs_or_waits_stays_and_everything_after_it(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        aged(diary, 2)
        call = diary.begin()
        diary.store.transact(lambda tables: tables.begun(call))
        asked = diary.now
        aged(diary, 10)
        kept(diary, 7)
        assert diary.store.look(lambda tables: tables.oldest()) == call
        diary.end(call)
        diary.store.transact(lambda tables: tables.ended(call))
        waiting = approval(asked=asked, asked_at=diary.clock.now(), expires_at=diary.clock.now() + 10**9)
        diary.store.transact(lambda tables: tables.put_approval(waiting))
        kept(diary, 7)
        assert diary.store.look(lambda tables: tables.oldest()) == call
        diary.clock.advance(2)
        kept(diary, 7)
        assert diary.store.look(lambda tables: tables.oldest()) > call
        assert diary.store.look(verify_audit).ok


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_over_the_cut_may_lose_its_beginning(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        first = diary.begin()
        for _ in range(12):  # there is always one under way
            diary.clock.advance(DAY)
            following = diary.begin()
            diary.end(first)
            first = following
        kept(diary, 7)
        assert len(records(diary.store)) < 24
        assert diary.store.look(verify_audit).ok


def test_a_store_in_a_file_does_it_by_itself_and_only_every_hour(tmp_path: Path) -> None:
    clock = ManualClock(wall=1_767_268_800.0)
    with closing(SqliteStore(tmp_path / "audit.db", clock)) as store:
        aged(Diary(store, clock))
    with closing(SqliteStore(tmp_path / "audit.db", clock, keep=8)) as store:
        store.transact(add())
        oldest = store.look(lambda tables: tables.entry(tables.oldest()))
        assert oldest is not None
        assert oldest.at[:10] == "2026-01-05"
        clock.advance(600)
        store.transact(add())
        assert len([one for one in records(store) if one.kind == "prune"]) == 1


@pytest.mark.parametrize("kind", ON_SERVERS)
def test_on_a_server_days_go_with_their_partition(kind: str) -> None:
    from rightcall.record.postgres import PostgresStore

    clock = ManualClock(wall=1_767_268_800.0)
    server = shared(kind)
    with server.database() as url:
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store:
            aged(Diary(store, clock))
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30, keep=8)) as store:
            store.transact(add())
            assert store.look(verify_audit).ok
        name = url.partition("@/")[2].partition("?")[0]
        days = server.run("SELECT relname FROM pg_class WHERE relname ~ '^audit_2026....$' ORDER BY 1", name)
        assert days[0] == ("audit_20260105",)
        assert server.run(LEFT, name) == []


@pytest.mark.parametrize("kind", ON_SERVERS)
def test_a_day_of_very_many_records_is_cut_off_without_counting_them(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rightcall.record.postgres import PostgresStore, tables

    monkeypatch.setattr(tables, "_MANY", 3)
    asked: list[str] = []
    do = tables.PostgresTables._do
    monkeypatch.setattr(
        tables.PostgresTables, "_do", lambda self, what, *values: (asked.append(what), do(self, what, *values))[1]
    )
    clock = ManualClock(wall=1_767_268_800.0)
    with (
        shared(kind).database() as url,
        closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store,
    ):
        aged(Diary(store, clock))
        done = store.transact(lambda tables: prune(tables, before="2026-01-03", by="ann", now=clock.now()))
        assert (done.removed, store.look(verify_audit).pruned) == (8, done.through)
        counted = [one for one in asked if one.startswith("SELECT count(*) FROM audit")]
        assert counted == []


@pytest.mark.parametrize("kind", ON_SERVERS)
def test_the_files_of_a_day_go_beside_the_calls_and_those_that_a_killed_process_left_with_the_next_day(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rightcall.record.postgres import PostgresStore, writer

    clock = ManualClock(wall=1_767_268_800.0)
    server = shared(kind)
    with server.database() as url, monkeypatch.context() as killed:
        name = url.partition("@/")[2].partition("?")[0]
        killed.setattr(writer, "drop_tables", lambda *_: None)
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store:
            aged(Diary(store, clock))
            first = store.transact(lambda tables: prune(tables, before="2026-01-02", by="ann", now=clock.now()))
        assert (first.removed, server.run(LEFT, name)) == (4, [("gone_4",)])
        killed.undo()
        with closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store:
            store.transact(lambda tables: prune(tables, before="2026-01-03", by="ann", now=clock.now()))
            assert store.look(verify_audit).ok
        assert server.run(LEFT, name) == []


def test_removed_records_give_their_space_back(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    body = b'{"what": "' + b"x" * 4000 + b'"}'
    with closing(SqliteStore(path)) as store:
        for _ in range(20):
            store.transact(lambda tables: [tables.append("message", 0, body) for _ in range(100)])
        store.compact()
        before = path.stat().st_size
        store.transact(lambda tables: prune(tables, keep=10, by="ann"))
        store.compact()
        assert path.stat().st_size < before / 10
        assert store.look(verify_audit).ok


@pytest.mark.parametrize(
    ("said", "problem"),
    [("6d", 'from "7d"'), ("0d", 'from "7d"'), ("1h", "days or weeks"), ("400", "days or weeks"), ("", "")],
)
def test_a_span_that_is_too_small_is_refused(said: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(f'version = 1\n[audit]\nkeep = "{said}"\n')
    if problem:
        with pytest.raises(PolicyError, match=problem):
            load_policy(file)
    else:
        assert load_policy(file).settings.audit.keep_days == 0


def test_a_policy_that_was_only_found_removes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('version = 1\n[audit]\nkeep = "52w"\n')
    assert load_policy(file).settings.audit.keep_days == 364
    assert load_policy(FoundPolicy(str(file), quiet=True)).settings.audit.keep_days == 0
