"""Where a running server listens, as other commands of the same user find it."""

import os
from pathlib import Path

import pytest

from rightcall.server.whereabouts import announced, running_at

ADDRESS = "http://127.0.0.1:40211"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_server_is_found_for_as_long_as_it_runs(tmp_path: Path) -> None:
    database = str(tmp_path / "audit.db")
    assert running_at(database) is None
    with announced(database) as tell:
        assert running_at(database) is None
        tell(ADDRESS)
        assert running_at(database) == ADDRESS
        assert running_at(str(tmp_path / "other.db")) is None
    assert running_at(database) is None


def test_of_two_servers_on_one_audit_log_the_first_is_told_of(tmp_path: Path) -> None:
    database = str(tmp_path / "audit.db")
    with announced(database) as first, announced(database) as second:
        first(ADDRESS)
        second("http://127.0.0.1:1")
        assert running_at(database) == ADDRESS


def test_what_a_killed_server_left_is_not_taken_for_one_that_listens(tmp_path: Path, state: Path) -> None:
    database = str(tmp_path / "audit.db")
    with announced(database) as tell:
        tell(ADDRESS)
    left = next((state / "rightcall" / "serving").iterdir())
    left.write_text(ADDRESS)
    assert running_at(database) is None


@pytest.mark.parametrize("address", ["", "nonsense", "http://user:secret@127.0.0.1:1"])
def test_what_is_not_an_address_is_not_told(tmp_path: Path, address: str) -> None:
    database = str(tmp_path / "audit.db")
    with announced(database) as tell:
        tell(address)
        assert running_at(database) is None


def test_a_state_folder_that_cannot_be_written_stops_no_server(tmp_path: Path, state: Path) -> None:
    state.write_text("a file")
    with announced(os.fspath(tmp_path / "audit.db")) as tell:
        tell(ADDRESS)
    assert running_at(os.fspath(tmp_path / "audit.db")) is None
