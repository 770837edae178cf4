"""What one look sees while several nodes write: numbers that are missing may still come, and the clock goes on."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from rightcall.record.analytics import read_analytics
from rightcall.record.calls import calls_since
from rightcall.record.postgres import PostgresReader, PostgresStore, connection
from rightcall.record.tables import Tables
from rightcall.record.verify import heads_of, verify_audit
from support.postgres import Server
from support.postgres_calls import begin, end
from support.stores import add

pytestmark = [pytest.mark.postgres, pytest.mark.promise("S-01")]

PASSES = """
CREATE FUNCTION rightcall.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
SELECT pg_catalog.now() + interval '0.7 seconds' * set_config('test.looks',
    (coalesce(nullif(current_setting('test.looks', true), ''), '0')::int + 1)::text, false)::int $$
"""
"""A clock that goes on by 0.7 seconds whenever somebody looks at it."""


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


@contextmanager
def two_nodes(url: str) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    """One of them has taken a number in between, and may still write it."""
    with closing(opened(url)) as one, closing(opened(url)) as two:
        one.transact(add())
        two.transact(add())
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT nextval('rightcall.numbers') FROM generate_series(1, 100)")
        for number in range(3):
            end(one, begin(one, number))
            end(two, begin(two, number))
        yield one, two


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch, url: str) -> Iterator[PostgresReader]:
    """Looks at what two nodes write, with a clock that passes on between any two questions."""
    with two_nodes(url):
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(PASSES)
        asked = "search_path = rightcall, pg_catalog;"
        monkeypatch.setattr(connection, "_SETTINGS", connection._SETTINGS.replace("search_path = rightcall;", asked))
        with closing(PostgresReader(url)) as reader:
            yield reader


@pytest.mark.promise("A-03")
def test_an_audit_that_others_write_to_verifies_however_long_that_takes(passing: PostgresReader) -> None:
    def work(tables: Tables) -> tuple[str, int, int]:
        found = verify_audit(tables, heads=heads_of(tables))
        return found.problem, found.checked, found.head[0]

    problem, checked, head = passing.look(work)
    assert problem == ""
    assert checked == passing.look(lambda tables: len(list(tables.entries())))
    assert head == passing.look(lambda tables: tables.newest(1))[0].seq


def test_one_look_has_one_head_and_whoever_follows_goes_on_from_there(passing: PostgresReader) -> None:
    def work(tables: Tables) -> tuple[set[int], int, int]:
        heads = {tables.head()[0] for _ in range(20)}
        return heads, len(calls_since(tables, 0)), tables.newest(1)[0].seq

    heads, calls, newest = passing.look(work)
    assert (len(heads), calls) == (1, 0)
    assert heads.pop() < newest - 6


def test_a_number_that_may_still_come_is_waited_for_however_much_is_written_since(url: str) -> None:
    with two_nodes(url) as (one, _):
        gap = one.look(lambda tables: tables.head())

        def much(tables: Tables) -> None:
            for _ in range(6_000):
                tables.append("message", 0, b"{}")

        one.transact(much)
        assert one.look(lambda tables: tables.head()) == gap


def test_a_number_that_is_missing_for_long_is_no_longer_waited_for(url: str) -> None:
    with two_nodes(url) as (one, _), psycopg.connect(url, autocommit=True) as other:
        assert one.look(lambda tables: tables.head()[0] < tables.newest(1)[0].seq)
        other.execute(
            "UPDATE rightcall.audit SET at = to_char(at::timestamp - interval '6 s', 'YYYY-MM-DD HH24:MI:SS.MS')"
        )
        assert one.look(lambda tables: tables.head()[0] == tables.newest(1)[0].seq)


def test_statistics_have_the_newest_calls(server: Server, url: str) -> None:
    assert server.port
    with two_nodes(url) as (one, _):
        found = one.look(lambda tables: read_analytics(tables, period="1hour", now=tables.wall()))
        assert (found.total_calls, found.succeeded) == (6, 6)
