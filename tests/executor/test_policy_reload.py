"""The policy file is watched: a good edit holds from the next call on, a bad one changes nothing and says why."""

import os
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.record.tables import read_note

pytestmark = pytest.mark.promise("P-09")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "rightcall.toml"
    found.write_text("version = 1\n")
    return found


def edit(file: Path, text: str | bytes) -> None:
    """Write the file, and let it have rested for a while."""
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    rested = file.stat().st_mtime - 10
    os.utime(file, (rested, rested))


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
        edit(file, 'version = 1\n[policy]\ndeny = ["add"]\n')
        outcome = executor.run({"name": "add", "arguments": {"a": 2}})
        assert outcome.decision.rule == "policy:deny"
        edit(file, "version = 1\n")
        assert executor.run({"name": "add", "arguments": {"a": 3}}).ok
        assert notes(executor) == ["loaded", "loaded", "loaded"]


@pytest.mark.parametrize(
    "content",
    ["version = 1\n[policy]\nstage = 'everything'\n", "version = 1\n[policy\n", "version = 2\n", "\xff", "", None],
    ids=["wrong word", "no TOML", "another version", "no UTF-8", "empty", "deleted"],
)
def test_a_bad_edit_keeps_the_old_policy_and_says_why(file: Path, content: str | None) -> None:
    file.write_text('version = 1\n[policy]\ndeny = ["add"]\n')
    with opened(file) as executor:
        if content is None:
            file.unlink()
        else:
            edit(file, content.encode("latin-1"))
        outcome = executor.run({"name": "add", "arguments": {"a": 1}})
        assert outcome.decision.rule == "policy:deny"
        assert "rightcall.toml" in executor.policy_problem
        assert notes(executor) == ["loaded", "kept"]
        edit(file, "version = 1\n")
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok
        assert executor.policy_problem is None


def test_an_edit_of_the_same_length_at_the_same_moment_is_seen(file: Path) -> None:
    one, other = '[policy]\ndeny = ["add"]\n', '[policy]\ndeny = ["adx"]\n'
    edit(file, one)
    with opened(file) as executor:
        assert not executor.run({"name": "add", "arguments": {"a": 1}}).ok
        before = os.stat(file)
        with file.open("r+") as opened_file:
            opened_file.write(other)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok


def test_half_a_file_is_not_taken_for_a_policy(file: Path) -> None:
    edit(file, '[policy]\nrepeats = 0\n[callers.default]\ndeny = ["add"]\n')
    with opened(file) as executor:
        with file.open("w") as writing:  # as every editor saves: first it is empty, then it grows
            assert executor.run({"name": "add", "arguments": {"a": 1}}).decision.rule == "caller:deny"
            writing.write("[policy]\nrepeats = 0\n")
            writing.flush()
            assert executor.run({"name": "add", "arguments": {"a": 1}}).decision.rule == "caller:deny"
        assert executor.policy_problem is None
        edit(file, "[policy]\nrepeats = 0\n")
        assert executor.run({"name": "add", "arguments": {"a": 1}}).ok


def test_an_edit_that_no_gate_can_be_built_from_is_not_taken_in_part(file: Path) -> None:
    with opened(file) as executor:
        edit(file, '[policy]\ndeny = ["add"]\n[gate]\npacks = ["./missing.toml"]\n')
        for _ in range(2):
            assert executor.run({"name": "add", "arguments": {"a": 1}}).ok
            assert "missing.toml" in executor.policy_problem
        assert executor.policy.settings.deny == ()
        assert notes(executor) == ["loaded", "kept"]


def test_a_call_that_waits_is_checked_again_under_a_policy_that_changed_meanwhile(file: Path) -> None:
    edit(file, '[policy]\nallow = ["send"]\nwrite = "ask"\n')
    sent: list[str] = []

    def ask(approval: Any) -> str:
        edit(
            file,
            '[policy]\nallow = ["send"]\nwrite = "ask"\n[gate.tools.send]\nrequired = ["subject"]\n',
        )
        return "ann"

    with Executor.open_sync(file.parent, file, store="memory", ask=ask) as executor:

        @executor.tool(effects=["write"])
        def send(text: str, subject: str = "") -> str:
            sent.append(text)
            return "sent"

        outcome: Any = executor.run({"name": "send", "arguments": {"text": "hi"}})
        assert (outcome.ok, outcome.decision.rule) == (False, "validation")
        assert sent == []


def test_a_process_that_finds_the_policy_of_the_one_before_notes_nothing(file: Path) -> None:
    from rightcall import MemoryStore

    store = MemoryStore()
    for text in ("version = 1\n", "version = 1\n", "[policy]\nrepeats = 0\n"):
        edit(file, text)
        with Executor.open_sync(file.parent, file, store=store):
            pass
    kinds = [entry.kind for entry in store.look(lambda tables: list(tables.entries()))]
    assert kinds == ["policy", "policy"]


def test_every_record_names_the_policy_that_decided(file: Path) -> None:
    from rightcall.record.tables import read_call

    with opened(file) as executor:
        executor.run({"name": "add", "arguments": {"a": 1}})
        first = executor.policy.digest
        edit(file, "version = 1\n[policy]\nrepeats = 0\n")
        executor.run({"name": "add", "arguments": {"a": 1}})
        begun = [read_call(e.body) for e in executor.store.look(lambda t: list(t.entries())) if e.kind == "begin"]
        assert [body.policy for body in begun] == [first, executor.policy.digest]
        assert first != executor.policy.digest
