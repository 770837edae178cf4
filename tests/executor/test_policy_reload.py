"""The policy file is watched: a good edit holds from the next call on, a bad one changes nothing and says why."""

import os
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.record.entries import read_note

pytestmark = pytest.mark.promise("P-09")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "rightcall.toml"
    found.write_text("version = 1\n")
    return found


def opened(file: Path) -> Any:
    executor = Executor.open_sync(file.parent, file, store="memory")

    @executor.tool(effects=["read"])
    def add(a: int) -> int:
        return a

    return executor


def notes(executor: Any) -> list[str]:
    entries = executor.store.look(lambda tables: list(tables.entries()))
    return [read_note(entry.body).what for entry in entries if entry.kind == "policy"]


def test_an_edit_holds_from_the_next_call_on(file: Path) -> None:
    with opened(file) as executor:
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok
        file.write_text('version = 1\n[policy]\ndeny = ["add"]\n')
        outcome = executor.run({"name": "add", "arguments": {"a": 2}})
        assert outcome.decision.rule == "policy:deny"
        file.write_text("version = 1\n")
        assert executor.run({"name": "add", "arguments": {"a": 3}}).ok
        assert notes(executor) == ["loaded", "loaded", "loaded"]


@pytest.mark.parametrize(
    "edit",
    ["version = 1\n[policy]\nstage = 'everything'\n", "version = 1\n[policy\n", "version = 2\n", "\xff", None],
    ids=["wrong word", "no TOML", "another version", "no UTF-8", "deleted"],
)
def test_a_bad_edit_keeps_the_old_policy_and_says_why(file: Path, edit: str | None) -> None:
    file.write_text('version = 1\n[policy]\ndeny = ["add"]\n')
    with opened(file) as executor:
        if edit is None:
            file.unlink()
        else:
            file.write_bytes(edit.encode("latin-1"))
        outcome = executor.run({"name": "add", "arguments": {"a": 1}})
        assert outcome.decision.rule == "policy:deny"
        assert "rightcall.toml" in executor.policy_problem
        assert notes(executor) == ["loaded", "kept"]
        file.write_text("version = 1\n")
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok
        assert executor.policy_problem is None


def test_an_edit_of_the_same_length_at_the_same_moment_is_seen(file: Path) -> None:
    one, other = '[policy]\ndeny = ["add"]\n', '[policy]\ndeny = ["adx"]\n'
    file.write_text(one)
    with opened(file) as executor:
        assert not executor.run({"name": "add", "arguments": {"a": 1}}).ok
        before = os.stat(file)
        with file.open("r+") as opened_file:
            opened_file.write(other)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok


def test_a_process_that_finds_the_policy_of_the_one_before_notes_nothing(file: Path) -> None:
    from rightcall import MemoryStore

    store = MemoryStore()
    for text in ("version = 1\n", "version = 1\n", "[policy]\nrepeats = 0\n"):
        file.write_text(text)
        with Executor.open_sync(file.parent, file, store=store):
            pass
    kinds = [entry.kind for entry in store.look(lambda tables: list(tables.entries()))]
    assert kinds == ["policy", "policy"]


def test_every_record_names_the_policy_that_decided(file: Path) -> None:
    from rightcall.record.entries import read_call

    with opened(file) as executor:
        executor.run({"name": "add", "arguments": {"a": 1}})
        first = executor.policy.digest
        file.write_text("version = 1\n[policy]\nrepeats = 0\n")
        executor.run({"name": "add", "arguments": {"a": 1}})
        begun = [read_call(e.body) for e in executor.store.look(lambda t: list(t.entries())) if e.kind == "begin"]
        assert [body.policy for body in begun] == [first, executor.policy.digest]
        assert first != executor.policy.digest
