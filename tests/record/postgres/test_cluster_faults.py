"""What `make cluster-faults` does at length, a few times each: nodes and servers that die, hang, or are cut off leave
nothing that ran without a record, nothing twice, and no confirmed record lost."""

from collections.abc import Iterator

import pytest

from support import cluster_faults as faults
from support.postgres import POSTGRES, Server, binaries_of

pytestmark = [pytest.mark.promise("A-01", "A-04", "S-02"), pytest.mark.postgres, pytest.mark.long]
LEASE = 2.0
"""Seconds, instead of ten."""


@pytest.fixture(autouse=True)
def a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What must be within half a second is given more where many tests run at once; `make cluster-faults` is strict."""
    for name in ("SOON", "LATE", "HEARD"):
        monkeypatch.setattr(faults, name, getattr(faults, name) + 4.0)


def good(row: faults.Row) -> None:
    assert row.ok, f"{row.fault}: must be {row.must}; measured: {row.measured}"


@pytest.fixture(params=POSTGRES)
def own(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that may be killed."""
    with Server.started(binaries_of(request.param), "synchronous_commit=on", "max_connections=30") as made:
        yield made


def test_nodes_killed_in_a_call_leave_one_end_for_each_begin(server: Server) -> None:
    good(faults.kill_nodes(server, times=len(faults.STAGES), lease=LEASE))


@pytest.mark.promise("P-02")
def test_nodes_paused_beyond_their_lease_are_fenced(server: Server) -> None:
    good(faults.pause_nodes(server, times=1, lease=LEASE))


@pytest.mark.promise("P-02")
def test_limits_and_leases_hold_where_clocks_are_wrong_by_an_hour(server: Server) -> None:
    good(faults.skew_clocks(server, times=2))


def test_a_server_that_is_killed_again_and_again_loses_nothing_that_was_confirmed(own: Server) -> None:
    good(faults.kill_server(own, times=2))


def test_a_failover_to_a_synchronous_standby_loses_nothing_that_was_confirmed(own: Server) -> None:
    good(faults.fail_over(own, times=1))


def test_a_cancelled_wait_for_the_standby_is_a_doubt(own: Server) -> None:
    good(faults.cancel_waits(own, times=1))


def test_a_server_without_a_free_connection_is_a_store_fault_within_half_a_second(own: Server) -> None:
    good(faults.exhaust_connections(own, times=1))


@pytest.mark.promise("P-06")
def test_an_answer_is_seen_where_nothing_is_heard_of_it(server: Server) -> None:
    good(faults.kill_listeners(server, times=2))
